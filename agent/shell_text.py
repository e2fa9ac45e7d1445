"""What a shell command is about, as far as its text tells: its programs, and whether it changes something.

    read("cd /srv && FOO=1 make -s | tee log")      # parts: cd, make (changes), tee (changes)

Quotes, here-documents, comments, continued lines, pipes and lists are understood; loops and substitutions only as far as the words
stand there. Never raises: text with an open quote is split at white space.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import dropwhile

_CHANGING = """
    add-apt-repository apt apt-get ar chgrp chmod chown cmake cp crontab dd fallocate git gzip gunzip install kill killall ln make
    mkdir mkfifo mv npm patch pip pip3 pkill rename rm rmdir rsync sed service shred split systemctl tar tee touch truncate unlink
    unzip useradd userdel usermod xz zip
"""
_BEFORE = "sudo env time nohup nice exec command builtin timeout xargs then do else if while until ! { }"
CHANGERS = frozenset(_CHANGING.split())  # programs whose purpose is to change files, settings or processes
_GIT_OPTIONS = r"^(?:-[Cc] \S+ |-(?![Cc] )\S+ )*"
_LOOKING = {  # forms of these that only look
    "git": re.compile(
        _GIT_OPTIONS + r"(?:status|log|diff|show|branch|blame|grep|ls-files|rev-parse|describe|reflog|fsck)\b"
    ),
    "sed": re.compile(r"^(?!.*(?:^| )(?:-[a-zA-Z]*i|--in-place))"),
    "tar": re.compile(r"^(?:-?[a-zA-Z]*t|--list)"),
    "make": re.compile(r"^(?:.* )?(?:test|check|-n)(?: |$)"),
    "systemctl": re.compile(r"^(?:-\S+ )*(?:status|list-\S+|is-\S+|show|cat)\b"),
    "service": re.compile(r"\bstatus$"),
    "unzip": re.compile(r"^-[lt]"),
    "crontab": re.compile(r"^-l"),
    "pip": re.compile(r"^(?:list|show|freeze|check)\b"),
}
_PREFIXES = frozenset(_BEFORE.split())
_BESIDE = re.compile(r"\w+=|[-\d]")  # assignments, and what a prefix is told
_ENDS = frozenset(("fi", "done", "esac"))
_HERE = re.compile(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*$")
_OPERATOR = re.compile(r"^[;&|()\n]+$")


@dataclass(frozen=True)
class Part:
    """One simple command: the program's name without its folder, and whether it changes something."""

    head: str
    changes: bool


@dataclass(frozen=True)
class Command:
    """A command line: as one line of single spaces, and its parts in their order."""

    text: str
    parts: tuple[Part, ...]

    @property
    def heads(self) -> frozenset[str]:
        """The programs it names."""
        return frozenset(part.head for part in self.parts)


def read(text: str) -> Command:
    """Read a command line, or several."""
    parts, words = list[Part](), list[str]()
    for word in [*_words(text), ";"]:
        if not _OPERATOR.match(word):
            words.append(word)
        elif words:
            parts += _part(words)
            words = []
    return Command(" ".join(text.split()), tuple(parts))


def _words(text: str) -> list[str]:
    """Words and operators."""
    text = _COMMENT.sub("", _without_documents(text.replace("\\\n", " ")))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def _without_documents(text: str) -> str:
    """The text without the lines of its here-documents; one without an end takes all that follows, as in a shell."""
    kept, ends = list[str](), list[str]()
    for line in text.split("\n"):
        if ends:
            ends = ends[1:] if line.strip() == ends[0] else ends
            continue
        ends = [match[2] for match in _HERE.finditer(line)]
        kept.append(_HERE.sub("<HERE ", line))
    return "\n".join(kept)


def _part(words: list[str]) -> list[Part]:
    """The simple command of some words; none for what is only an assignment or the end of a block."""
    plain, redirected = _redirections(words)
    plain = list(dropwhile(lambda word: word in _PREFIXES or _BESIDE.match(word), plain))
    if not plain or plain[0] in _ENDS:
        return [Part("", True)] if redirected else []
    head = plain[0].rsplit("/", 1)[-1]
    looking = _LOOKING.get({"pip3": "pip"}.get(head, head))
    changes = head in CHANGERS and not (looking and looking.search(" ".join(plain[1:])))
    return [Part(head, changes or redirected)]


def _redirections(words: list[str]) -> tuple[list[str], bool]:
    """The words without redirections, and whether output goes to a file."""
    plain, to_file, place = list[str](), False, 0
    while place < len(words):
        word = words[place]
        if not re.match(r"^[<>&|]+$", word):
            plain.append(word)
            place += 1
            continue
        if plain and re.fullmatch(r"[0-9]", plain[-1]):  # the 2 of `2>`
            plain.pop()
        target = words[place + 1] if place + 1 < len(words) else ""
        joined = word.endswith("&") and target.isdigit()  # as in `2>&1`
        to_file = to_file or (">" in word and not target.startswith("/dev/") and not joined)
        place += 2
    return plain, to_file
