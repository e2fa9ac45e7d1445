"""Indexes of texts as hashes, and what is found with them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.benchmarks import Index, Overlap
from generators.errors import StorageError, UsageError
from generators.ngrams import N, tokens

TEXT = (
    "Rebuild the package index in /srv/mirror from the pool, drop every entry whose checksum differs, and write the names of "
    "the dropped ones to /srv/mirror/dropped.txt in the order of the pool."
)
GAPS = st.sampled_from([" ", "\n\n", ", ", " `", "` ", " **", "** ", "… ", " (", "; "])
ANY = st.text(st.characters())


def saved(folder: Path, **texts: str) -> Path:
    """An index named `bench` in a folder; its manifest."""
    return Index.build("bench", {name: [text] for name, text in texts.items()}).write(folder)[0]


@given(st.lists(ANY, min_size=1), st.data())
def test_thirteen_tokens_in_a_row_are_found_whatever_surrounds_them(texts: list[str], data: st.DataObject) -> None:
    own = " ".join([*texts, *(f"w{number}" for number in range(N))])
    words = tokens(own)
    start = data.draw(st.integers(0, len(words) - N))
    run = "".join(word + data.draw(GAPS) for word in words[start : start + N])
    overlap = Overlap((Index.build("bench", {"other": [TEXT], "own": [own]}),))
    found = overlap.matches(f"{data.draw(ANY)} {run} {data.draw(ANY)}")
    assert "own" in {match.task for match in found}


@given(st.integers(0, 40), st.lists(st.from_regex(r"x[a-z]{1,6}", fullmatch=True)), st.booleans())
def test_twelve_are_not(start: int, others: list[str], before: bool) -> None:
    """Two texts of which no run of 13 is the same have nothing in common."""
    words = tokens(TEXT)
    run = words[start : start + N - 1]
    text = [*others, "xx", *run] if before else [*run, "xx", *others]
    assert not Overlap((Index.build("bench", {"own": [TEXT]}),)).matches(" ".join(text))


@given(st.dictionaries(st.text(), st.lists(ANY, max_size=3), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_change_the_bytes(texts: dict[str, list[str]], rng: Random) -> None:
    items = [(name, rng.sample(own, len(own))) for name, own in texts.items()]
    rng.shuffle(items)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = Index.build("bench", texts).write(Path(one))
        second = Index.build("bench", dict(items)).write(Path(other))
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    texts = {"index": [TEXT, "Second text."], "empty": []}
    built = Index.build("bench", texts, "https://example.org/bench", "MIT", "2026-11-29")
    built.write(tmp_path)
    assert Overlap.load(tmp_path).indexes[0].manifest == built.manifest
    assert Overlap.load(tmp_path).matches(TEXT) == Overlap((built,)).matches(TEXT)
    assert built.manifest.tasks == ("empty", "index") and built.manifest.date == "2026-11-29"
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "bench.parquet"}


def test_a_match_says_where_and_how_much() -> None:
    half = TEXT[: TEXT.index(" differs")]
    overlap = Overlap((Index.build("b", {"half": [half], "whole": [TEXT]}), Index.build("c", {"whole": [TEXT]})))
    found = overlap.matches(TEXT)
    assert [(match.index, match.task) for match in found] == [("b", "whole"), ("b", "half"), ("c", "whole")]
    assert found[0].share == 1 and found[0].grams == len(tokens(TEXT)) - N + 1
    assert found[1].grams == len(tokens(half)) - N + 1 == 2 and 0 < found[1].share < 1
    assert overlap.matches("Something else") == []


def test_no_text_is_kept(tmp_path: Path) -> None:
    for path in (saved(tmp_path, own=TEXT), tmp_path / "bench.parquet"):
        assert not any(word.encode() in path.read_bytes() for word in ("mirror", "checksum", "dropped"))
    frame = pl.read_parquet(tmp_path / "bench.parquet")
    assert frame.schema == {"gram": pl.UInt64, "task": pl.UInt32} and frame["gram"].is_sorted()


def test_no_folder_and_no_text_give_no_match(tmp_path: Path) -> None:
    assert Overlap.load(tmp_path / "nowhere").matches(TEXT) == []
    assert Overlap((Index.build("bench", {"own": [TEXT]}), Index.build("none", {}))).matches("…") == []


def test_an_index_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    about = saved(tmp_path, own=TEXT)
    stated = json.loads(about.read_text())
    about.write_text(json.dumps(stated | {"scheme": "termforge-13-gram-0"}))
    with pytest.raises(UsageError, match=r"hashed by termforge-13-gram-0.*make it again"):
        Overlap.load(tmp_path)
    about.write_text(json.dumps(stated | {"digest": "0" * 64}))
    with pytest.raises(StorageError, match="does not have the digest"):
        Overlap.load(tmp_path)
    about.write_text("{}")
    with pytest.raises(StorageError, match="cannot be read"):
        Overlap.load(tmp_path)
    about.write_text(json.dumps(stated))
    (tmp_path / "bench.parquet").write_bytes(b"PAR1 and not more")
    with pytest.raises(StorageError, match="cannot be read"):
        Overlap.load(tmp_path)
    (tmp_path / "bench.parquet").unlink()
    with pytest.raises(StorageError, match="make it again"):
        Overlap.load(tmp_path)


@pytest.mark.parametrize("name", ["", "../up", "Upper", "a/b", ".hidden"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="name does not fit"):
        Index.build(name, {})


def test_an_unwritable_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="writing index bench"):
        saved(tmp_path / "file" / "below", own=TEXT)
