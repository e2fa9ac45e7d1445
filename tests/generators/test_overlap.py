"""Near duplicates."""

from __future__ import annotations

from generators.overlap import jaccard, shingles, twins

ONE = "Reconcile the bank statement in /srv/close with the books and write a report of every line that has no match at all"


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
