"""A small, strict Dockerfile parser: the instructions that every engine here can honour, and one clear error for the rest.

Format: https://docs.docker.com/reference/dockerfile/ (single stage; no heredocs, mounts or multi-stage copies).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from generators.errors import TaskError
from generators.task import ContextFile, Image

_NOTED = {"ENTRYPOINT", "CMD"}
_OFFLINE = re.compile(r"\A(?:#.*\n)*#[ \t]*termforge:[ \t]*offline[ \t]*$", re.MULTILINE)
_VARIABLE = re.compile(r"\\\$|\$(\w+)|\$\{(\w+)(?::([-+])([^}]*))?\}")


@dataclass(frozen=True)
class Instruction:
    """One instruction with its line number; `exec_form` holds the words of a JSON array form."""

    name: str
    text: str
    line: int
    exec_form: tuple[str, ...] = ()


def offline(text: str) -> bool:
    """Whether the comments at the top say `# termforge:offline`: only packages that are installed before anything else come from
    a network, all other steps run without one. What a language model wrote is built like that."""
    return _OFFLINE.search(text) is not None


def _unsupported(instruction: Instruction, what: str) -> TaskError:
    return TaskError(
        f"Dockerfile line {instruction.line}: {what} is not supported by the embedded engine; use the docker engine for it"
    )


def parse(text: str) -> list[Instruction]:
    """Instructions in order; comments and continuation lines resolved.

    Raises:
        TaskError: an instruction that is unknown or cannot be honoured, with its line.
    """
    found = [_instruction(line, joined) for line, joined in _logical_lines(text)]
    if not found or next((item.name for item in found if item.name != "ARG"), "") != "FROM":
        raise TaskError("Dockerfile: the first instruction must be FROM")
    for item in [item for item in found if item.name == "FROM"][1:]:
        raise _unsupported(item, "a second FROM (multi-stage build)")
    return found


def _logical_lines(text: str) -> Iterable[tuple[int, str]]:
    start, parts = 0, list[str]()
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = raw.strip()
        if stripped.startswith("#") or (not stripped and parts):
            continue
        if not stripped:
            continue
        start = start or number
        if raw.rstrip().endswith("\\"):
            parts.append(raw.rstrip()[:-1])
            continue
        yield start, "".join([*parts, raw]).strip()
        start, parts = 0, []
    if parts:
        yield start, "".join(parts).strip()


def _instruction(line: int, text: str) -> Instruction:
    word, _, rest = text.partition(" ")
    item = Instruction(word.upper(), rest.strip(), line)
    if item.name == "ADD":
        item = Instruction("COPY", item.text, line)
        if "://" in item.text:
            raise _unsupported(item, "ADD of an address")
        if re.search(r"\.(tar|tar\.\w+|tgz|txz)\b", item.text):
            raise _unsupported(item, "ADD of an archive (it would be unpacked)")
    flag = item.text.split("=")[0] if item.text.startswith("--") else ""
    if item.name in {"RUN", "COPY"} and flag and (item.name == "RUN" or flag not in {"--chmod", "--chown"}):
        raise _unsupported(item, f"{item.name} {flag}")
    if (
        item.name in {"RUN", "COPY"}
        and "<<" in item.text.split("\n")[0]
        and re.search(r"<<-?['\"]?[A-Za-z]+['\"]?$", item.text)
    ):
        raise _unsupported(item, "a heredoc")
    if item.name not in {"FROM", "RUN", "COPY", "ENV", "ARG", "WORKDIR", "USER", "SHELL"} | _NOTED:
        raise _unsupported(item, f"instruction {item.name}")
    if not item.text:
        raise TaskError(f"Dockerfile line {line}: {item.name} says nothing")
    if item.text.startswith("["):
        try:
            words = json.loads(item.text)
        except ValueError:
            return item
        return Instruction(item.name, item.text, line, tuple(str(word) for word in words))
    return item


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $NAME, ${NAME}, ${NAME:-default} and ${NAME:+other}; unknown names become empty."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "\\$":
            return "$"
        found = variables.get(match[1] or match[2], "")
        if match[3] == "-":
            return found or match[4]
        if match[3] == "+":
            return match[4] if found else ""
        return found

    return _VARIABLE.sub(value, text)


def assignments(item: Instruction, variables: Mapping[str, str]) -> dict[str, str]:
    """The pairs of an ENV instruction, in either of its forms."""
    text = expand(item.text, variables)
    first = text.split(None, 1)
    if "=" not in first[0]:
        return {first[0]: first[1] if len(first) > 1 else ""}
    pairs: dict[str, str] = {}
    for word in shlex.split(text):
        key, equals, value = word.partition("=")
        if not equals:
            raise TaskError(f"Dockerfile line {item.line}: {item.name} {word!r} has no '='")
        pairs[key] = value
    return pairs


@dataclass(frozen=True)
class Copy:
    """A resolved COPY: files with their absolute targets; owner as written, mode where one was given."""

    files: tuple[tuple[str, ContextFile], ...]
    owner: str
    mode: int | None
    named: frozenset[str] = frozenset()  # targets that may turn out to be a folder, which the file then goes into


def resolve_copy(item: Instruction, image: Image, workdir: str, variables: Mapping[str, str]) -> Copy:
    """Which context files a COPY places where.

    Raises:
        TaskError: a source that is not in the context.
    """
    words = list(item.exec_form) or shlex.split(expand(item.text, variables))
    flags = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    *sources, target = [word for word in words if not word.startswith("--")] or [""]
    if not sources:
        raise TaskError(f"Dockerfile line {item.line}: COPY needs a source and a target")
    into = target.endswith("/") or len(sources) > 1 or target in {".", ".."}
    folder = str(PurePosixPath(workdir) / target)
    files: list[tuple[str, ContextFile]] = []
    for source in sources:
        files += _matches(item, source.strip("/"), image, folder, into)
    mode = int(flags["chmod"], 8) if "chmod" in flags else None
    named = frozenset[str]() if into else frozenset({folder})
    return Copy(tuple(files), flags.get("chown", ""), mode, named)


def _matches(item: Instruction, source: str, image: Image, folder: str, into: bool) -> list[tuple[str, ContextFile]]:
    if source.startswith("./"):
        source = source[2:]
    found: list[tuple[str, ContextFile]] = []
    for file in image.files:
        if source in (".", ""):
            found.append((f"{folder}/{file.path}", file))
        elif file.path.startswith(f"{source}/"):
            found.append((f"{folder}/{file.path[len(source) + 1 :]}", file))
        elif file.path == source or PurePosixPath(file.path).match(source):
            found.append((f"{folder}/{PurePosixPath(file.path).name}" if into else folder, file))
    if not found:
        raise TaskError(f"Dockerfile line {item.line}: COPY source {source!r} is not in the build context")
    return found


_FROM = re.compile(r"^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)(\s+AS\s+(\S+))?[ \t]*$", re.MULTILINE | re.IGNORECASE)


def bases(text: str) -> list[str]:
    """The images that a Dockerfile (of any kind) builds on, in order, each once; its own stages and `scratch` are not.

    Raises:
        TaskError: there is none.
    """
    variables = dict(re.findall(r"^\s*ARG\s+(\w+)=['\"]?([^\s'\"]*)", text, re.MULTILINE))
    stages = {match[4].lower() for match in _FROM.finditer(text) if match[4]} | {"scratch"}
    found = [expand(match[2], variables) for match in _FROM.finditer(text)]
    names = [name for name in dict.fromkeys(found) if name.lower() not in stages]
    if not names:
        raise TaskError("Dockerfile: it builds on no image (FROM)")
    return names


def with_bases(text: str, references: Mapping[str, str]) -> str:
    """The same Dockerfile with its bases replaced."""
    variables = dict(re.findall(r"^\s*ARG\s+(\w+)=['\"]?([^\s'\"]*)", text, re.MULTILINE))

    def other(match: re.Match[str]) -> str:
        name = expand(match[2], variables)
        return f"{match[1]}{references.get(name, name)}{match[3] or ''}"

    return _FROM.sub(other, text)
