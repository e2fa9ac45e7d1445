"""Near duplicates, in words and in meaning."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generators.embeddings import VARIABLE, Embed, Vectors, open_embed, unit
from generators.errors import UsageError
from generators.overlap import Twin, jaccard, shingles, twins

ONE = "Reconcile the bank statement in /srv/close with the books and write a report of every line that has no match at all"
REMOVE = "remove old files from the mirror"
DELETE = "delete stale files from our mirror"
COUNT = "count lines in reports"
MEANINGS = {
    "remove": 0,
    "delete": 0,
    "old": 1,
    "stale": 1,
    "files": 2,
    "mirror": 3,
    "count": 4,
    "lines": 5,
    "reports": 6,
}

with_model = pytest.mark.skipif(
    importlib.util.find_spec("model2vec") is None, reason="model2vec is not installed (extra `embed`)"
)


def test_twins_are_found_and_the_earlier_one_is_kept() -> None:
    found = twins(
        {"a": ONE, "b": "Restore the tree from the journal of the backup host, oldest first", "c": ONE + " today"}, 0.8
    )
    assert list(found) == ["c"] and found["c"].other == "a" and found["c"].similarity > 0.9


def test_similarity_is_exact() -> None:
    assert jaccard(shingles("a b c d"), shingles("a b c e")) == 1 / 3
    assert jaccard(shingles(ONE), shingles(ONE.upper())) == 1


def test_a_twin_of_a_dropped_twin_is_measured_against_what_was_kept() -> None:
    assert {twin.other for twin in twins({"a": ONE, "b": ONE, "c": ONE}, 0.9).values()} == {"a"}


def lengths(texts: Sequence[str], /) -> Vectors:
    """An embedding that knows how long a text is, and nothing of an empty one."""
    return np.array([[len(text), 100 if text else 0] for text in texts], dtype=np.float32)


def test_what_the_words_do_not_show_the_vectors_do() -> None:
    texts = {"a": REMOVE, "b": DELETE, "c": ONE, "d": ONE.upper()}
    assert set(twins(texts, 0.8)) == {"d"}
    found = twins(texts, 0.8, lengths, 0.999)
    assert found["b"].other == "a" and found["b"].by == "meaning" and found["d"].by == "words"
    assert "b" not in twins(texts, 0.8, lengths, 1.0)


def test_a_text_that_a_model_does_not_know_is_nobodys_twin() -> None:
    assert twins({"a": "x y z", "b": "", "c": "p q r"}, 0.8, lambda texts: np.zeros((3, 2), np.float32), 0.1) == {}
    assert twins({}, 0.8, lengths) == {}
    assert unit(np.zeros((1, 3), np.float32)).tolist() == [[0, 0, 0]]


def static_model(folder: Path) -> Path:
    """A real model of a dozen words, saved as the library saves one."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"[UNK]": 0, **{word: number for number, word in enumerate(MEANINGS, 1)}}
    vectors = np.zeros((len(vocabulary), 8), np.float32)
    for word, meaning in MEANINGS.items():
        vectors[vocabulary[word], meaning] = 1
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(vectors=vectors, tokenizer=tokenizer, config={"normalize": True}).save_pretrained(folder)
    return folder


@with_model
def test_a_model_in_a_local_folder_finds_a_twin_in_other_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(static_model(tmp_path / "model")))
    embed = open_embed(pytest.fail)
    assert embed
    texts = {"a": REMOVE, "b": DELETE, "c": COUNT}
    assert twins(texts, 0.8) == {}
    assert twins(texts, 0.8, embed) == {"b": Twin("b", "a", 1.0, "meaning")}
    long = " ".join(["lines"] * 600 + ["mirror"] * 600)
    assert unit(embed([long]))[0].tolist() == pytest.approx([0, 0, 0, 0.5**0.5, 0, 0.5**0.5, 0, 0])


@with_model
def test_a_broken_model_is_said(tmp_path: Path) -> None:
    folder = static_model(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0not json")
    with pytest.raises(UsageError, match=r"model in .* cannot be read"):
        open_embed(pytest.fail, str(folder))


@with_model
def test_a_folder_without_a_model_is_said_and_nothing_is_fetched(tmp_path: Path) -> None:
    for name in (str(tmp_path), "someone/some-model"):
        with pytest.raises(UsageError, match=r"there is no config\.json"):
            open_embed(pytest.fail, name)


def without(monkeypatch: pytest.MonkeyPatch) -> Embed | None:
    """What opening says where the library is not installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return open_embed(print, "/some/model")


def test_what_is_lacking_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert open_embed(print) is None
    assert without(monkeypatch) is None
    unset, lacking = capsys.readouterr().out.splitlines()
    assert "MinHash alone" in unset and VARIABLE in unset
    assert "MinHash alone" in lacking and "termforge[embed]" in lacking
