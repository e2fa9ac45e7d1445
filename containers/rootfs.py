"""Base root file systems, made once from the machine's own Debian mirror, where no registry serves them.

`FROM debian:bookworm-slim` is served by a minimal Debian made with mmdebstrap (Debian's own tool), unpacked so that its files
belong to the ids behind the sandbox's users. Which name is served by what: bases.yaml. A tar file of your own serves every
name where TERMFORGE_BASE_TAR names one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from containers.linux.identity import IdMap
from containers.state import State, storage
from containers.warden.client import Warden, memory_file, read_memory_file
from generators.digest import digest_of
from generators.errors import EngineError, SandboxFault, StorageError, TaskError, UsageError

_OPTIONS = (
    "--variant=minbase",
    '--aptopt=Acquire::Languages "none"',
    "--dpkgopt=force-unsafe-io",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
)
_LEFT_OUT = ("--exclude=./dev/*", "--exclude=./etc/resolv.conf", "--exclude=./etc/hostname")  # the machine's own
_NEEDED = 2 << 30
Say = Callable[[str], None]


@dataclass(frozen=True)
class BaseFilesystem:
    """An unpacked base: its folder, and a digest of the packages in it."""

    folder: Path
    digest: str


def base_filesystem(name: str, state: State, warden: Warden, ids: IdMap, say: Say) -> BaseFilesystem:
    """The base behind a FROM name, made on first use (about half a minute).

    Raises:
        TaskError: no such base here.
        EngineError: no mmdebstrap, or no mirror.
        StorageError: no room for it.
    """
    source = base_source(name)
    own_tar = str(source.tar) if source.tar else None
    key = digest_of([name, own_tar, list(_OPTIONS), ids.first, ids.uid0, *source.include])[:16]
    folder = state.folder("rootfs") / key
    with storage("making the base file system"), open(state.folder("rootfs") / f".lock-{key}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "digest").is_file():
            _make(folder, source, state, warden, ids, say)
    return BaseFilesystem(folder / "fs", (folder / "digest").read_text().strip())


class BaseSource(BaseModel):
    """What serves a base name: a suite with packages, or a tar. `stands_in` says that it is not what the name promises."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: str = ""
    include: tuple[str, ...] = ()
    tar: Path | None = None
    stands_in: bool = False


def base_source(name: str) -> BaseSource:
    """What serves this name here.

    Raises:
        TaskError: nothing does.
        UsageError: the file named by TERMFORGE_BASES is not of the form of bases.yaml.
    """
    if own_tar := os.environ.get("TERMFORGE_BASE_TAR"):
        return BaseSource(tar=Path(own_tar))
    known = _sources(files("containers").joinpath("bases.yaml").read_text(), "bases.yaml")
    if own := os.environ.get("TERMFORGE_BASES"):
        try:
            known |= _sources(Path(own).read_text(), own)
        except OSError as error:
            raise UsageError(f"TERMFORGE_BASES names {own}: {error.strerror}") from error
    if name not in known:
        names = ", ".join(sorted(known))
        raise TaskError(
            f"base image {name!r} cannot be made here (there are {names}); use an engine with a registry, or name a file "
            f"like containers/bases.yaml by TERMFORGE_BASES"
        )
    return known[name]


def _sources(text: str, where: str) -> dict[str, BaseSource]:
    try:
        return TypeAdapter(dict[str, BaseSource]).validate_python(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValidationError) as error:
        raise UsageError(f"{where} is not of the form of bases.yaml: {str(error).splitlines()[0]}") from error


def _make(folder: Path, source: BaseSource, state: State, warden: Warden, ids: IdMap, say: Say) -> None:
    own_tar, suite = source.tar, source.suite
    work = state.folder("tmp") / f"{state.owner}-rootfs"
    remove_tree(work, warden, ids)
    work.mkdir()
    tar = own_tar or work / "base.tar"
    if own_tar is None:
        say(f"Making the base file system ({suite}) from this machine's Debian mirror, once; about half a minute ...")
        _mmdebstrap(tar, source, work)
    filesystem = work / "fs"
    filesystem.mkdir()
    if not ids.helper:
        os.chown(filesystem, ids.uid0, ids.gid0)
    os.chmod(work, 0o755)
    with tar.open("rb") as archive:
        code = run_as_root(["tar", "-C", str(filesystem), "-xpf", "-", *_LEFT_OUT], warden, ids, archive.fileno())
    if code:
        raise EngineError(
            f"the base file system could not be unpacked (tar ended with {code}); is {work} on a full disk?"
        )
    packages = hashlib.sha256((filesystem / "var/lib/dpkg/status").read_bytes()).hexdigest()
    if own_tar is None:
        tar.unlink()
    (work / "digest").write_text(packages + "\n")
    work.rename(folder)


def _mmdebstrap(tar: Path, source: BaseSource, work: Path) -> None:
    program = shutil.which("mmdebstrap")
    if program is None:
        raise EngineError("mmdebstrap is missing: run `sudo apt-get install mmdebstrap` (or name a TERMFORGE_BASE_TAR)")
    mode = "--mode=root" if os.geteuid() == 0 else "--mode=unshare"
    include = [f"--include={','.join(source.include)}"] if source.include else []
    command = [program, mode, *_OPTIONS, *include, source.suite, str(tar), *_mirrors()]
    if shutil.disk_usage(work).free < _NEEDED:
        raise StorageError(
            f"making the base file system takes 2 GiB, and {work.parent} has less; free some space or move TERMFORGE_HOME"
        )
    env = {**os.environ, "TMPDIR": str(_scratch(work))}
    # a session of its own: when mmdebstrap fails it signals its whole process group
    result = subprocess.run(command, capture_output=True, text=True, env=env, start_new_session=True)
    if result.returncode:
        last = next((line for line in reversed(result.stderr.splitlines()) if line.startswith("E:")), "no message")
        raise EngineError(f"no base file system: mmdebstrap could not use this machine's Debian mirror ({last})")


def _scratch(work: Path) -> Path:
    """Memory where there is plenty of it, else the disk."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30:
        return memory
    return work


def _mirrors() -> list[str]:
    """The machine's own Debian mirror, where its sources name one; else mmdebstrap's default."""
    folder = Path("/etc/apt")
    texts = [path for pattern in ("sources.list", "sources.list.d/*") for path in sorted(folder.glob(pattern))]
    for path in texts:
        if path.suffix not in {".list", ".sources"}:
            continue
        found = re.search(
            r"^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(\S*/debian/?)(?:\s|$)", path.read_text(), re.MULTILINE
        )
        if found:
            return [found[1]]
    return []


def export(base: BaseFilesystem, target: Path, warden: Warden, ids: IdMap) -> None:
    """Write a base as a tar with the ids it has inside, for engines that import one."""
    with target.open("wb") as out:
        code = run_as_root(["tar", "-C", str(base.folder), "-cf", "-", "."], warden, ids, stdout=out.fileno())
    if code:
        raise EngineError(f"the base file system could not be read (tar ended with {code})")


def tree_as_tar(folder: Path, warden: Warden, ids: IdMap) -> bytes:
    """A layer as tar, read with the rights of the namespace's root."""
    out = memory_file()
    try:
        code = run_as_root(["tar", "-C", str(folder), "-cf", "-", "."], warden, ids, stdout=out)
        if code:
            raise SandboxFault(f"layer {folder} could not be read (tar ended with {code})")
        return read_memory_file(out)
    finally:
        os.close(out)


def run_as_root(
    argv: list[str], warden: Warden, ids: IdMap, stdin: int | None = None, stdout: int | None = None
) -> int:
    """Run a host program as root of a user namespace with our id map; its exit code."""
    null = os.open("/dev/null", os.O_RDWR)
    try:
        fds = [null if stdin is None else stdin, null if stdout is None else stdout, null]
        request = {"argv": argv, "env": {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}}
        with warden.call("as_root", request, fds) as reply:
            return int(reply.receive(3600)["exit"])
    finally:
        os.close(null)


def remove_tree(path: Path, warden: Warden, ids: IdMap) -> None:
    """Remove a tree that may hold files of mapped ids."""
    if not path.exists():
        return
    if ids.helper:
        run_as_root(["rm", "-rf", str(path)], warden, ids)
    shutil.rmtree(path, ignore_errors=True)
