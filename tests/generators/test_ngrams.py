"""Tokens and the hashes of their runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.ngrams import N, grams, tokens

ANY = st.text(st.characters())  # lone surrogates too: JSON can carry them
GAPS = st.sampled_from([" ", "\n", ", ", " `", "` ", "\t\t", " ** ", " (", ")\n", "… ", " “"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write /srv/app/run.log, then stop.", ["write", "srv/app/run.log", "then", "stop"]),
        ("`--dry-run` of **v3.11** (see _notes_)", ["dry-run", "of", "v3.11", "see", "notes"]),
        ("Straße STRASSE \ufb01le ①", ["strasse", "strasse", "file", "1"]),
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
        ("日志 文件", ["日", "志", "文", "件"]),
        ("https://example.org/a~b a...b", ["https://example.org/a~b", "a...b"]),
        ("a ---- b -- c", ["a", "b", "c"]),
        ("", []),
        (" .,;!\ud800", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(ANY)
def test_tokens_are_their_own_tokens(text: str) -> None:
    """So a run of tokens has one hash, however it was written."""
    assert tokens(" ".join(tokens(text))) == tokens(text)


@given(ANY, ANY)
def test_what_stands_before_or_after_changes_no_token(before: str, after: str) -> None:
    assert tokens(f"{before} {after}") == tokens(before) + tokens(after)


@given(st.lists(st.from_regex(r"[a-zA-Z0-9]{1,6}", fullmatch=True), min_size=N, max_size=40), st.data())
def test_a_gram_per_run(words: list[str], data: st.DataObject) -> None:
    text = "".join(word + data.draw(GAPS) for word in words)
    runs = {tuple(word.lower() for word in words[start : start + N]) for start in range(len(words) - N + 1)}
    assert grams(text) == grams(text.upper()) == grams(" ".join(words)) and len(grams(text)) == len(runs)


def test_a_short_text_is_one_gram_and_no_text_is_none() -> None:
    assert len(grams("Fix the build.")) == 1 and grams("fix the  BUILD") == grams("Fix the build.")
    assert not grams("…") and grams("fix the build now") != grams("fix the build")


def test_hashes_are_the_same_on_any_machine() -> None:
    """An index that was made elsewhere has to fit."""
    assert grams("Write the sum of the numbers in /srv/numbers.txt to /srv/sum.txt, digits only.") == {
        4902617039553880803
    }
