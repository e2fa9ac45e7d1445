"""What is shown: cleaned, cut, described."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.observation import LIMIT, SMALLEST, clean, shown

PIECES = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x1b]8;;http",
        "\x1b",
        "\x9b1m",
        "\r",
        "\r\n",
        "\n",
        "\t",
        "\b",
        "\0",
        "\x7f",
        "\x85",
        "ü",
        "\ud800",
    ]
)
TEXTS = st.lists(st.text(max_size=8) | PIECES | st.text("ab\n", min_size=100, max_size=300), max_size=40).map("".join)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        (b"plain\n\ttext\n", "plain\n\ttext\n"),
        (b"\x1b[1;31mred\x1b[0m \x1b(Bnormal", "red normal"),
        (b"\x1b]0;a title\x07prompt", "prompt"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b" 10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
        (b"working\r\x1b[Kdone\r\n", "done\n"),
        (b"one\r\ntwo\r\r\n", "one\ntwo\n"),
        (b"N\bNA\bAM\bME\bE _\bx", "NAME x"),
        (b"|\b/\b-\b\b\b\bok", "ok"),
        (b"python3\0-m\0http.server\0", "python3 -m http.server "),
        (b"bell\a form\f del\x7f", "bell form del"),
        (b"\x1b]unfinished\nnext", "unfinished\nnext"),
        ("gr\u00fc\u00df".encode(), "grüß"),
        ("gr\u00fc\u00df dich".encode("latin-1"), "gr\ufffd\ufffd dich"),
        (b"", ""),
    ],
)
def test_what_a_terminal_would_be_left_with(said: bytes, seen: str) -> None:
    assert clean(said) == seen


def test_binary_is_described() -> None:
    assert shown(b"\x7fELF" + bytes(200))[0] == "[binary, 204 bytes: 7f 45 4c 46" + " 00" * 12 + " ...]"
    assert shown(bytes(range(128, 256)))[0].startswith("[binary, 128 bytes: 80 81")


def test_a_long_text_keeps_head_and_tail_at_line_ends() -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    seen, chars = shown(text)
    head, note, tail = re.split(r"(\[\.\.\..*\.\.\.\]\n)", seen)
    assert chars == len(text) and len(seen) <= LIMIT
    assert text.startswith(head) and text.endswith(tail) and head.endswith("\n") and tail.startswith("line ")
    assert note == f"[... {len(text) - len(head) - len(tail):,} characters left out of {len(text):,} ...]\n"
    assert min(len(head), len(tail)) > 4000
    assert "at least" in shown(text, more=True)[0]


def test_a_long_line_is_cut_too() -> None:
    seen, chars = shown("x" * 25_000)
    assert chars == 25_000 and LIMIT - 10 < len(seen) <= LIMIT and seen.count("\n") == 2


@given(
    TEXTS | st.binary(max_size=600) | TEXTS.map(lambda text: text.encode(errors="replace")), st.integers(SMALLEST, 1200)
)
def test_never_too_long_never_a_control_character_and_the_same_again(said: str | bytes, limit: int) -> None:
    seen, chars = shown(said, limit)
    assert len(seen) <= min(limit, chars)
    assert not CONTROL.search(seen)
    assert shown(seen, limit) == (seen, len(seen))


@pytest.mark.parametrize(
    "piece",
    [b"\r", b"\b", b"a\b", b"\x1b", b"\x1b[", b"\x1b]", b"\x1b]x", b"1%\r", b"\r\n", b"\x9b", b"a", b"\0a", b"a\r\r"],
)
def test_megabytes_of_anything_are_read_in_one_go(piece: bytes) -> None:
    seen, _ = shown(piece * (2_000_000 // len(piece)) + os.urandom(8).hex().encode())
    assert len(seen) <= LIMIT
