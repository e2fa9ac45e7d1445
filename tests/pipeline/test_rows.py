"""Tasks as parquet rows: nothing is lost, nothing edited is believed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.errors import TaskError
from generators.evidence import SUITE, Evidence, Gate, Verdict
from generators.task import ContextFile, Image
from pipeline.exchange.rows import from_row, read_parquet, to_row, write_parquet
from tests.toys import dockerfile, toy

TEXT = st.text(min_size=1, max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def evidence() -> Evidence:
    verdicts = (
        Verdict(gate=Gate.BUILD, holds=True, seconds=0.25, figures={"layers": 3}),
        Verdict(gate=Gate.ORACLE, holds=False, reason="solution_fails", detail="x\ny"),
    )
    return Evidence(
        task_id=toy().id,
        task_digest=toy().digest,
        suite=SUITE,
        engine="bubblewrap",
        base_digest="b",
        image_digest="i",
        verdicts=verdicts,
    )


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=3), TEXT, st.lists(TEXT, max_size=3), st.binary(max_size=60))
def test_any_task_survives_parquet(
    tmp_path_factory: pytest.TempPathFactory, truth: dict, title: str, other: list[str], data: bytes
) -> None:
    image = Image(dockerfile=dockerfile(), files=(ContextFile.of("numbers.txt", data, 0o751),))
    task = toy(truth=truth, title=title, alternatives=tuple(other), image=image, solution=None)
    path = tmp_path_factory.mktemp("rows") / "t.parquet"
    write_parquet([to_row(task, None, "train")], path)
    assert from_row(read_parquet(path)[0]) == (task, None)


def test_evidence_travels_with_its_task(tmp_path: Path) -> None:
    write_parquet([to_row(toy(), evidence(), "test")], tmp_path / "t.parquet")
    row = read_parquet(tmp_path / "t.parquet")[0]
    assert row["split"] == "test" and from_row(row) == (toy(), evidence())


def test_an_edited_row_is_refused() -> None:
    row = to_row(toy(), evidence(), "train") | {"instruction": "Do nothing."}
    with pytest.raises(TaskError, match="was edited"):
        from_row(row)


def test_evidence_of_another_task_is_refused() -> None:
    row = to_row(toy(instruction=toy().instruction + "Please."), evidence(), "train")
    with pytest.raises(TaskError, match="void"):
        from_row(row)


def test_other_files_are_refused_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("not parquet")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "b.parquet")
    for name, message in (("a", "cannot be read as parquet"), ("b", "has no column 'digest'")):
        with pytest.raises(TaskError, match=message) as caught:
            read_parquet(tmp_path / f"{name}.parquet")
        assert "\n" not in str(caught.value)
