"""Frames on disk, and how a recipe's batches come back together."""

from __future__ import annotations

import errno
import logging
from pathlib import Path

import polars as pl
import pytest
from dagster import AssetIn, AssetsDefinition, StaticPartitionMapping, StaticPartitionsDefinition, asset, materialize

from generators.errors import RecipeError, StorageError
from pipeline.batches import find_recipes
from pipeline.io import ParquetIOManager, frames_folder
from tests.pipeline.conftest import TINY

PARTS = StaticPartitionsDefinition(["one.000", "two.000", "two.001"])
WHOLES = StaticPartitionsDefinition(["one", "two"])
FAN_IN = StaticPartitionMapping({"one.000": "one", "two.000": "two", "two.001": "two"})
seen: list[object] = []


@asset(partitions_def=PARTS)
def part(context) -> pl.DataFrame:
    """A frame that knows its partition."""
    return pl.DataFrame({"key": [context.partition_key]})


@asset(partitions_def=WHOLES, ins={"part": AssetIn(partition_mapping=FAN_IN)})
def whole(part: dict[str, pl.DataFrame]) -> None:
    """Remembers what it was given."""
    seen.append({key: frame["key"].to_list() for key, frame in part.items()})


def run(folder: Path, selection: list[AssetsDefinition], partition: str) -> None:
    materialize(
        [part, whole], partition_key=partition, selection=selection, resources={"io_manager": ParquetIOManager(folder)}
    )


@pytest.mark.parametrize(
    ("partition", "parts", "expected"),
    [
        ("two", ["two.000", "two.001"], {"two.000": ["two.000"], "two.001": ["two.001"]}),
        ("two", ["two.001"], {"two.001": ["two.001"]}),
        ("one", ["one.000"], {"one.000": ["one.000"]}),
        ("one", [], {}),
    ],
)
def test_fan_in_is_a_frame_per_partition(tmp_path: Path, partition: str, parts: list[str], expected: object) -> None:
    for key in parts:
        run(tmp_path, [part], key)
    run(tmp_path, [whole], partition)
    assert seen[-1] == expected


def test_a_frame_is_a_parquet_file_per_partition(tmp_path: Path) -> None:
    run(tmp_path, [part], "two.001")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()] == [
        "part/two.001.parquet"
    ]


def test_a_write_that_fails_leaves_the_old_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, [part], "one.000")

    def half(frame: pl.DataFrame, path: Path) -> None:
        path.write_bytes(b"PAR1 and then the disk was full")
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(pl.DataFrame, "write_parquet", half)
    with pytest.raises(StorageError, match=r"keeping one\.000\.parquet: No space left"):
        run(tmp_path, [part], "one.000")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["one.000.parquet"]
    assert pl.read_parquet(files[0])["key"].to_list() == ["one.000"]


def test_frames_lie_with_the_instance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    assert frames_folder() == tmp_path / ".dagster" / "storage" / "frames"


def test_a_recipe_is_cut_into_batches(tmp_path: Path) -> None:
    catalog = find_recipes(tmp_path, [TINY])
    assert list(catalog.orders) == catalog.batch_keys("tiny") == ["tiny.000", "tiny.001"]
    recipe, orders = catalog.batch("tiny.001")
    assert recipe == TINY
    assert len(orders) == TINY.batch


def test_a_broken_recipe_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.yaml").write_text("name: good\nseed: 1\ncount: 2\n")
    (tmp_path / "b.yaml").write_text("name: [broken")
    (tmp_path / "c.yaml").write_text("name: huge\nseed: 1\ncount: 1000000\n")
    (tmp_path / "d.yaml").write_text("name: good\nseed: 2\ncount: 3\n")
    with caplog.at_level(logging.WARNING):
        catalog = find_recipes(tmp_path)
    assert list(catalog.recipes) == ["good"]
    assert catalog.recipes["good"].seed == 1
    assert [next(name for name in ("b.yaml", "c.yaml", "good") if name in text) for text in caplog.messages] == [
        "b.yaml",
        "c.yaml",
        "good",
    ]


def test_an_extra_recipe_wins_and_is_not_forgiven(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text("name: tiny\nseed: 1\ncount: 2\n")
    assert find_recipes(tmp_path, [TINY]).recipes["tiny"] == TINY
    with pytest.raises(RecipeError, match="beyond what"):
        find_recipes(tmp_path, [TINY.model_copy(update={"count": 100000})])
