"""Where images are made: folders for work in progress, `apptainer build`, and what a build needs of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import itertools
import os
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from containers import probe, rootfs
from containers.engines.apptainer import enclosure
from containers.engines.apptainer.definition import CONTEXT_NAME, Plan
from containers.engines.apptainer.enclosure import Enclosure
from containers.layers import build_env
from containers.sandbox import BuildFailure, PutFile
from generators.errors import EngineError
from generators.task import ContextFile

if TYPE_CHECKING:
    from containers.engines.apptainer.engine import ApptainerEngine

OUTPUT_TAIL = 4000
_MEMORY_NEEDED = 4 << 30  # bytes of free memory with which builds write there first
_CONTEXT = "/dev/shm/.termforge-context"
_numbers = itertools.count()


def run_build(
    engine: ApptainerEngine,
    text: str,
    work: Path,
    target: str,
    deadline: float,
    *,
    title: str,
    files: Iterable[ContextFile] = (),
    network: bool = True,
) -> None:
    """`apptainer build` of a definition into work/target: a directory, or a file where that ends in .sif.

    `title` says in a message what was built.

    Raises:
        BuildFailure: a step of it failed, or it took too long.
        EngineError: Apptainer failed by itself, or its base was not to be had.
    """
    (work / "definition").write_text(text)
    if staged := list(files):
        _stage(engine, work / "context", staged)
    form = ["--mksquashfs-args=-comp lz4"] if target.endswith(".sif") else ["--sandbox"]
    with Enclosure(engine.state, engine.warden, engine.ids, "100%") as held:
        alone = [] if network else ["unshare", "--net", "--"]
        entered = [*held.entering(), *alone, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(work)]
        argv = [*entered, *enclosure.command(engine.state, "build", *form, target, "definition")]
        late = threading.Timer(max(1.0, deadline - time.monotonic()), held.kill)
        late.start()
        try:
            # spython's Client.build neither returns what was said nor enters an enclosure; its runner does the rest
            run: Any = importlib.import_module("spython.utils").run_command
            ended = run(
                argv, quiet=True, environ=enclosure.environment(engine.state, _build_environment(engine, work, network))
            )
        finally:
            late.cancel()
    said = ended["message"]
    output = ("" if not said else said if isinstance(said, str) else "\n".join(said)).strip()
    if held.killed:
        raise BuildFailure("build_timeout", title, output[-OUTPUT_TAIL:])
    if ended["return_code"] and "while running %post section" in output:
        raise BuildFailure("build_failed", title, output[-OUTPUT_TAIL:])
    if ended["return_code"] or not (work / target).exists():
        fatal = next((line for line in output.splitlines() if line.startswith("FATAL")), output[-OUTPUT_TAIL:])
        raise EngineError(f"apptainer could not build an image: {fatal.removeprefix('FATAL:').strip() or 'no message'}")


def _build_environment(engine: ApptainerEngine, work: Path, network: bool) -> Mapping[str, str]:
    """Proxies and package indexes; where to write: memory, unless there is little of it or a place was named."""
    places = {name: os.environ[name] for name in ("APPTAINER_TMPDIR",) if name in os.environ}
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not places and memory < _MEMORY_NEEDED:
        _own(engine, work / "scratch")
        places = {"APPTAINER_TMPDIR": str(work / "scratch")}
    return {**build_env(network), **places}


def brought(plan: Plan) -> tuple[list[PutFile], dict[str, str]]:
    """What a build needs besides its image: the context, and what this machine says about package indexes. Files and variables.

    It all lies below /dev/shm, in the build's own memory, so that nothing of it gets into an image.
    """
    put = [PutFile(f"{_CONTEXT}/{number}", file.data(), 0o600) for number, file in enumerate(plan.files)]
    env = {**build_env(not plan.offline), CONTEXT_NAME: _CONTEXT}
    if plan.offline:
        return put, env
    found = probe.network_binds()
    pip = [source for source, target in zip(found[1::3], found[2::3], strict=True) if "pip" in target]
    for variable, sources in (("PIP_CONFIG_FILE", pip), ("PIP_CERT", [env.get("PIP_CERT", "")])):
        for source in sources:
            if os.path.isfile(source):
                env[variable] = f"/dev/shm/.termforge-{variable.lower()}"
                put.append(PutFile(env[variable], Path(source).read_bytes(), 0o644))
    return put, env


def _stage(engine: ApptainerEngine, folder: Path, files: Iterable[ContextFile]) -> None:
    """Write a context's files by their number, for the sandbox's root alone to read."""
    _own(engine, folder)
    for number, file in enumerate(files):
        path = folder / str(number)
        path.write_bytes(file.data())
        _give(engine, path)


def _own(engine: ApptainerEngine, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    _give(engine, folder)


def _give(engine: ApptainerEngine, path: Path) -> None:
    if not engine.ids.helper:
        os.chown(path, engine.ids.uid0, engine.ids.gid0)


@contextlib.contextmanager
def work_folder(engine: ApptainerEngine) -> Generator[Path]:
    """A folder of one's own, removed at the end unless it was renamed."""
    place = engine.unfinished / f"{engine.state.owner}-{next(_numbers)}"
    place.mkdir(mode=0o755)
    _give(engine, place)
    try:
        yield place
    finally:
        if place.exists():
            discard(engine, place)


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """One at a time, among all processes (and machines, where the file system is shared and can do that)."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def discard(engine: ApptainerEngine, path: Path) -> None:
    """Remove a file or folder, whoever its files belong to."""
    rootfs.remove_tree(path, engine.warden, engine.ids)
    if path.is_file():
        path.unlink(missing_ok=True)
