"""What is committed under datasets/main is what the families write today, whole and proven."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from generators.errors import TaskError
from generators.evidence import SUITE, Gate
from generators.procedural import find_family, write_task
from generators.seeds import stream
from generators.task import Difficulty
from pipeline.exchange.rows import from_row, to_row
from pipeline.release import content_digest, load_release

MAIN = Path(__file__).resolve().parents[2] / "datasets" / "main"
SAMPLE = 60
NOT_REPRODUCED = {"split", "evidence"}  # dealt and measured, not written


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return load_release(MAIN)


def test_the_release_keeps_its_promises(rows: list[dict[str, Any]]) -> None:
    assert len(rows) >= 331
    families = Counter(row["provenance"]["family"] for row in rows)
    assert len(families) >= 40 and max(families.values()) <= 12
    assert len({row["axes"]["domain"] for row in rows}) >= 9
    assert {row["split"] for row in rows} == {"train", "validation", "test"}


def test_every_task_carries_a_whole_proof(rows: list[dict[str, Any]]) -> None:
    attacked = Counter[str]()
    for row in rows:
        task, evidence = from_row(row)
        assert evidence is not None and evidence.proven and evidence.suite == SUITE, task.id
        gates = {verdict.gate for verdict in evidence.verdicts}
        assert gates >= set(Gate) - {Gate.TAMPER}, task.id
        attacked[task.provenance.family] += Gate.TAMPER in gates
    assert min(attacked.values()) >= 1


def test_a_sample_is_written_again_byte_for_byte(rows: list[dict[str, Any]]) -> None:
    for row in stream("sample").sample(rows, SAMPLE):
        made = row["provenance"]
        task = write_task(
            find_family(made["family"]), made["seed"], made["serial"], Difficulty(row["axes"]["difficulty"])
        )
        again = to_row(task, None, row["split"])
        assert {key: again[key] for key in again if key not in NOT_REPRODUCED} == {
            key: row[key] for key in row if key not in NOT_REPRODUCED
        }


def test_others_can_read_it(rows: list[dict[str, Any]]) -> None:
    frame = pl.read_parquet(MAIN / "train.parquet")
    assert frame.height == sum(row["split"] == "train" for row in rows)
    assert frame["image"].struct.field("dockerfile").str.starts_with("FROM debian").all()


def test_the_manifest_tells_of_any_change(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    for path in MAIN.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    pl.read_parquet(tmp_path / "test.parquet").head(1).write_parquet(tmp_path / "test.parquet")
    with pytest.raises(TaskError, match="not the file that was published"):
        load_release(tmp_path)


def test_the_content_hash_knows_tasks_and_splits_only(rows: list[dict[str, Any]]) -> None:
    assert content_digest(rows) == content_digest([row | {"evidence": None} for row in reversed(rows)])
    assert content_digest(rows) != content_digest([rows[0] | {"split": "other"}, *rows[1:]])
