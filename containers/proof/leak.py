"""The leak gate: is the answer, or the solution, anywhere the agent can look?

Looked for, in the truth's keys that are not declared discoverable: every string of 12 characters and more, and every number and
short code that tells enough alone or beside others of its answer (see `values`). Looked for in all keys: every compound value as
a whole, in any JSON layout. Besides, the bodies of the solution. Strings, codes and numbers are also seen as base64 or hex.

Looked through: the instruction, the Dockerfile, and each layer of the image, with archives unpacked, JSON read and git objects
too. Not found: single plain words and small numbers, and what is reworded, split over files, enciphered or drawn.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from containers.proof.values import Values, values
from generators.task import Task

MIN_STRING = 12
MIN_COMPOUND = 24
MIN_BODY = 200
MAX_FILE = 8 << 20
MAX_JSON = 1 << 20
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n(.*?)\n\s*\1\s*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Needle:
    """Something that must not be found, and what to call it in a message."""

    name: str
    forms: tuple[bytes, ...]

    def find(self, content: bytes) -> str | None:
        """Its name, if it is in a file."""
        return self.name if any(form in content for form in self.forms) else None


@dataclass(frozen=True)
class Leak:
    """A needle and the place it was found in."""

    needle: str
    place: str


def needles(task: Task) -> list[Needle | Values]:
    """All that must not be found for this task."""
    found: list[Needle | Values] = []
    for key, value in task.truth.items():
        if isinstance(value, dict | list):
            compound = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            if len(compound) >= MIN_COMPOUND and not _is_plain_list(value):
                pretty = json.dumps(value, sort_keys=True, ensure_ascii=False)
                found.append(Needle(f"truth.{key}", _forms(compound) + _forms(pretty)))
        if key not in task.discoverable:
            found += [
                Needle(f"truth.{key}", _forms(text)) for text in _strings(value) if len(text.strip()) >= MIN_STRING
            ]
    if task.solution:
        bodies = [task.solution.strip(), *(match[2].strip() for match in _HEREDOC.finditer(task.solution))]
        found += [Needle("solution", (body.encode(),)) for body in bodies if len(body) >= MIN_BODY]
    return [*found, values(task)]


def _is_plain_list(value: JsonValue) -> bool:
    """A list of a single element says no more than the element."""
    return isinstance(value, list) and len(value) < 2


def _strings(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _forms(text: str) -> tuple[bytes, ...]:
    plain = text.strip().encode()
    encoded = base64.b64encode(plain)[: len(plain) * 4 // 3 - 2]  # the last characters depend on what follows
    return plain, encoded, plain.hex().encode()


def search(wanted: Iterable[Needle | Values], places: Iterable[tuple[str, bytes]]) -> Leak | None:
    """The first needle found in any of the places."""
    todo = list(wanted)
    for place, content in places:
        for needle in todo:
            if name := needle.find(content):
                return Leak(name, place)
    return None


def texts(task: Task) -> Iterator[tuple[str, bytes]]:
    """The places outside the layers."""
    yield "instruction", task.instruction.encode()
    yield "Dockerfile", task.image.dockerfile.encode()


def layer_files(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Every regular file of a layer (given as a tar), and what is inside those that are archives."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            yield f"name of {member.name}", member.name.encode()
            if member.isfile() and member.size <= MAX_FILE:
                handle = tar.extractfile(member)
                if handle is not None:
                    yield from opened(member.name, handle.read())


def opened(name: str, content: bytes, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """A file's content and, where it is compressed or an archive, what it holds (three levels deep)."""
    yield name, content
    if (laid_out_again := _as_compound(content)) is not None:
        yield name, laid_out_again
    if depth >= 3:
        return
    try:
        inner = _unpack(content)
    except (
        OSError,
        EOFError,
        ValueError,
        zipfile.BadZipFile,
        tarfile.TarError,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
    ):
        return
    for member, data in inner:
        yield from opened(f"{name}!{member}", data, depth + 1)


def _as_compound(content: bytes) -> bytes | None:
    """JSON in the one form that compound needles have, however it is laid out; None where it is not JSON."""
    if len(content) > MAX_JSON or content.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None


def _unpack(content: bytes) -> list[tuple[str, bytes]]:
    if content[:2] == b"\x1f\x8b":
        return [("gz", gzip.GzipFile(fileobj=io.BytesIO(content)).read(MAX_FILE))]
    if content[:3] == b"BZh":
        return [("bz2", bz2.BZ2File(io.BytesIO(content)).read(MAX_FILE))]
    if content[:6] == b"\xfd7zXZ\x00":
        return [("xz", lzma.LZMAFile(io.BytesIO(content)).read(MAX_FILE))]
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as zipped:
            return [(info.filename, zipped.read(info)) for info in zipped.infolist() if info.file_size <= MAX_FILE]
    if content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            members = [member for member in tar if member.isfile() and member.size <= MAX_FILE]
            return [(member.name, cast(io.BufferedReader, tar.extractfile(member)).read()) for member in members]
    return []
