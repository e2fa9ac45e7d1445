"""What kind of thing a call does: look, change, run, check, plan, note, think or finish. Shell commands are read by their words."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum

from agent.trajectory import Call


class Kind(StrEnum):
    """What a call is for. Only look, change, run and check touch the system."""

    PLAN = "plan"
    NOTE = "note"
    THINK = "think"
    LOOK = "look"  # changes nothing
    CHANGE = "change"
    RUN = "run"  # a program of which it is not known what it does
    CHECK = "check"  # runs tests, or tries something out
    FINISH = "finish"


LONGEST = 20_000  # characters of a command that are read


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


TOUCHING = frozenset({Kind.LOOK, Kind.CHANGE, Kind.RUN, Kind.CHECK})
_BY_TAG = {"todo": Kind.PLAN, "scratchpad": Kind.NOTE, "think": Kind.THINK, "finish": Kind.FINISH, "search": Kind.LOOK}
_LOOKS = _set(
    "ls cat head tail grep egrep fgrep rg zgrep find wc stat file du df ps env printenv which type pwd diff cmp sort uniq cut tr awk"
    " gawk sed tree less more nl od xxd hexdump strings test [ [[ id whoami uname hostname date free ss netstat lsof realpath"
    " readlink basename dirname sha256sum sha1sum md5sum cksum jq zcat column echo printf cd set true command man locate comm"
    " getent export pushd popd sleep wait jobs history time ldd objdump readelf nm seq paste join tac rev fold zipinfo"
)
_CHANGES = _set(
    "rm mv cp mkdir rmdir touch chmod chown chgrp ln tee install patch truncate dd kill pkill killall useradd usermod groupadd"
    " apt apt-get dpkg pip pip3 npm cargo gem systemctl service crontab unzip gzip gunzip bzip2 xz zip sync mount umount"
)
_CHECKS = _set("pytest py.test unittest shellcheck visudo nginx curl wget nc ruff mypy pyright tox nosetests")
_GIT_LOOKS = _set("log status diff show blame branch reflog ls-files rev-parse describe remote grep cat-file fsck")
_WRAPPERS = _set("sudo env nohup time timeout nice exec command stdbuf")
_REDIRECT = re.compile(r"(?<![<>=\-])\d?>{1,2}\|?\s*(?!&|/dev/(?:null|stderr|stdout)\b|>)[\w./~$\"'{-]")
_DUPLICATE = re.compile(r"\d*[<>]&\d?-?|&>>?\s*/dev/null")  # one stream into another
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)")
_SEPARATORS = re.compile(r"\|\||&&|[;\n|&]|\$\(|\bdo\b|\bthen\b|\belse\b")
_SQL_CHANGE = re.compile(r"\b(insert|update|delete|create|drop|alter|replace|vacuum)\b", re.IGNORECASE)


def kind_of(call: Call) -> Kind:
    """What a call is for."""
    if call.tag == "bash":
        return command_kind(str(call.arguments.get("cmd", "")))
    if call.tag == "file":
        return Kind.LOOK if call.arguments.get("action") in ("read", "metadata") else Kind.CHANGE
    return _BY_TAG.get(call.tag, Kind.RUN)


def command_kind(command: str) -> Kind:
    """What a shell command is for: the strongest of its parts."""
    bare = _without_documents(command[:LONGEST])
    unquoted = _QUOTED.sub("''", bare)
    kinds = {_part_kind(part) for part in _parts(bare)}
    if _REDIRECT.search(unquoted) or Kind.CHANGE in kinds:
        return Kind.CHANGE
    return next((kind for kind in (Kind.RUN, Kind.CHECK) if kind in kinds), Kind.LOOK)


def _without_documents(command: str) -> str:
    """A command without the lines that are input to a part of it."""
    kept: list[str] = []
    ends = ""
    for line in command.split("\n"):
        if not ends:
            kept.append(line)
            found = _HEREDOC.search(line)
            ends = found[1] if found else ""
        elif line.strip() == ends:
            ends = ""
    return "\n".join(kept)


def _parts(command: str) -> list[list[str]]:
    """The words of each simple command; separators inside quotes do not count."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x00{len(kept) - 1}\x00"

    hidden = _DUPLICATE.sub(" ", _QUOTED.sub(keep, command))
    parts = [re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m[1])], part) for part in _SEPARATORS.split(hidden)]
    return [words for part in parts if (words := _words(part))]


def _words(part: str) -> list[str]:
    try:
        words = shlex.split(part, comments=True)
    except ValueError:
        words = part.split()
    while words and (
        words[0] in _WRAPPERS or "=" in words[0].split("/")[0] or words[0] in ("if", "while", "for", "(", "{", "!")
    ):
        wrapper = words.pop(0)
        if wrapper == "timeout" and words:
            words.pop(0)
        if wrapper == "for":
            return []
    return [word for word in words if word not in ("}", ")", "done", "fi", "esac")]


def _part_kind(words: list[str]) -> Kind:
    name, rest = words[0].rsplit("/", 1)[-1].strip("()"), words[1:]
    if name == "sed":
        return Kind.CHANGE if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in rest) else Kind.LOOK
    if name == "find":
        return Kind.CHANGE if {"-delete", "-exec", "-execdir", "-ok"} & set(rest) else Kind.LOOK
    if name == "git":
        return Kind.LOOK if _git_command(rest) in _GIT_LOOKS else Kind.CHANGE
    if name == "tar":
        return Kind.LOOK if rest and "t" in rest[0].lstrip("-") else Kind.CHANGE
    if name in ("sqlite3", "psql", "mysql"):
        return Kind.CHANGE if _SQL_CHANGE.search(" ".join(rest)) else Kind.LOOK
    if name in _CHECKS or (name in ("python", "python3") and rest[:2] in (["-m", "pytest"], ["-m", "unittest"])):
        return Kind.CHECK
    if (name in ("bash", "sh") and rest[:1] == ["-n"]) or (name == "make" and {"test", "check"} & set(rest)):
        return Kind.CHECK
    return Kind.LOOK if name in _LOOKS or not name else Kind.CHANGE if name in _CHANGES else Kind.RUN


def _git_command(words: list[str]) -> str:
    """What git is asked for, behind options of its own."""
    left = list(words)
    while left and left[0].startswith("-"):
        del left[: 2 if left[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1]
    return left[0] if left else "status"
