"""Files of a container, running or not, by the daemon's archives."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from docker.errors import NotFound

from containers.engines.docker.client import faults
from containers.sandbox import PutFile
from generators.errors import SandboxFault

_LINKS = 8
_BLOCK = 512


def read(container: Any, path: str, limit: int = 1 << 24) -> bytes:
    """The contents of a regular file, at most `limit` bytes; links are followed.

    Raises:
        SandboxFault: there is no such file, or it is not a regular one.
    """
    for _ in range(_LINKS):
        member, data = _first(container, path, limit)
        if member.isfile():
            return data
        if not member.issym():
            break
        path = str(PurePosixPath(path).parent / member.linkname)
    raise SandboxFault(f"{path} is not a regular file")


def _first(container: Any, path: str, limit: int) -> tuple[tarfile.TarInfo, bytes]:
    """The first entry of a path's archive; no more is read than that takes."""
    with faults(f"reading {path}"):
        try:
            pieces, _ = container.get_archive(path)
        except NotFound as error:
            raise SandboxFault(f"{path} does not exist") from error
        taken = bytearray()
        for piece in pieces:
            taken += piece
            if len(taken) > limit + 64 * _BLOCK:
                break
        pieces.close()
        with tarfile.open(fileobj=io.BytesIO(bytes(taken)), mode="r|", ignore_zeros=False) as tar:
            member = tar.next()
            if member is None:
                raise SandboxFault(f"{path} could not be read")
            start = member.offset_data
            return member, bytes(taken[start : start + min(member.size, limit)])


def archive(files: Sequence[PutFile]) -> bytes:
    """A tar of these files, to be unpacked at the root."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for file in files:
            member = tarfile.TarInfo(file.path.lstrip("/"))
            member.size, member.mtime = len(file.data), int(time.time())
            member.mode = 0o644 if file.mode is None else file.mode
            member.uid, member.gid = file.uid, file.gid
            tar.addfile(member, io.BytesIO(file.data))
    return out.getvalue()
