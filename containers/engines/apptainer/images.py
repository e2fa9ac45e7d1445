"""Images of the Apptainer engine, cached by what goes into them.

$APPTAINER_CACHEDIR/termforge, or apptainer/ in the state folder
├── base-<key>/       image: pulled from a registry
├── packages-<key>/   image (a directory, or image.sif): a base and the packages that many tasks begin with, built once
├── task-<key>/       upper/: what a task's own steps change, an overlay over that; built.json: its settings
└── tmp/              work in progress, named after its owner; what is finished is renamed, so a shared home needs no more
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import itertools
import json
import os
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from containers import accounts, probe, rootfs
from containers.accounts import Account
from containers.engines.apptainer import definition, enclosure
from containers.engines.apptainer.definition import CONTEXT_NAME, PROLOGUE, Plan
from containers.engines.apptainer.enclosure import Enclosure
from containers.layers import _network_env as network_env  # pyright: ignore[reportPrivateUsage]
from containers.sandbox import BuildFailure, BuiltImage, PutFile
from containers.state import State, owner_is_alive, storage
from generators.digest import digest_of
from generators.errors import EngineError, TaskError
from generators.task import ContextFile, Image, Limits

if TYPE_CHECKING:
    from containers.engines.apptainer.engine import ApptainerEngine

Form = Literal["directory", "sif"]
_FORMAT = "1"  # changes whenever the same Dockerfile would give another image
_OUTPUT_TAIL = 4000
_PULL_SECONDS = 600.0
_MEMORY_NEEDED = 4 << 30  # bytes of free memory with which builds write there first
_CONTEXT = "/dev/shm/.termforge-context"
_numbers = itertools.count()


@dataclass(frozen=True)
class Base:
    """What a FROM name stands for: a root file system, and a name of its content."""

    source: str
    digest: str


def home(state: State) -> Path:
    """Where images are kept."""
    named = os.environ.get("APPTAINER_CACHEDIR") or os.environ.get("SINGULARITY_CACHEDIR")
    return Path(named).absolute() / "termforge" if named else state.home / "apptainer"


def prepare(state: State) -> Path:
    """Make that folder, open to the ids behind a sandbox's users.

    Raises:
        EngineError: one of its parents is closed to them.
    """
    folder = home(state)
    with storage("preparing the folder of Apptainer images"):
        for path in (folder, folder / "tmp"):
            path.mkdir(parents=True, exist_ok=True)
            if path.stat().st_uid == os.geteuid():
                path.chmod(0o755)
    if any(sign in str(path) for path in (folder, state.home) for sign in ":,\\"):
        raise EngineError(f"{folder}: paths of images and of the state folder can hold no colon, comma or backslash")
    if blocked := State(folder).blocked_by():
        raise EngineError(
            f"{blocked} cannot be passed by the sandbox's ids, so no image can be kept in {folder}; set APPTAINER_CACHEDIR (or "
            f"TERMFORGE_HOME) to a place whose parents all have mode o+x"
        )
    return folder


def build(engine: ApptainerEngine, image: Image, limits: Limits) -> BuiltImage:
    """Build or find an image.

    Raises:
        BuildFailure: a step failed, took too long, or is not supported.
        EngineError: there is no base, or Apptainer itself failed.
    """
    began = time.monotonic()
    try:
        plan = definition.plan(image)
    except TaskError as error:
        raise BuildFailure("dockerfile_unsupported", str(error), "") from error
    base = _base(engine, plan.base)
    packages = _packages(engine, plan, base, began + limits.build_seconds)
    try:
        built = _task(engine, plan, packages, base, limits, began + limits.build_seconds)
    except TaskError as error:
        raise BuildFailure("dockerfile_invalid", str(error), "") from error
    return replace(built, seconds=time.monotonic() - began)


def _base(engine: ApptainerEngine, name: str) -> Base:
    """A registry's image where only a registry has it, else (or where none answers) the root file system that is made here."""
    why = None
    try:
        source = rootfs.base_source(name)
    except TaskError as error:
        source, why = None, error
    if source is None or (source.stands_in and name not in engine.unserved):
        try:
            return _pulled(engine, name)
        except EngineError as error:
            if source is None:
                raise EngineError(f"{error} ({why})") from error
            engine.unserved.add(name)
            engine.say(f"{name}: no registry answers; a minimal Debian made here ({source.suite}) stands in for it")
    made = rootfs.base_filesystem(name, engine.state, engine.warden, engine.ids, engine.say)
    return Base(str(made.folder), made.digest)


def _pulled(engine: ApptainerEngine, name: str) -> Base:
    """An image of a registry, pulled once."""
    key = digest_of([_FORMAT, "docker", name])
    folder = engine.images / f"base-{key[:16]}"
    with storage("pulling an image"), _locked(engine.images / f".lock-{key[:16]}"):
        if not folder.exists():
            with _work(engine) as work:
                text = definition.render("docker", name, (), Plan(name), {})
                run_build(engine, text, (), work, "image", time.monotonic() + _PULL_SECONDS)
                discard(engine, work / "definition")
                work.rename(folder)
    return Base(str(folder / "image"), key)


def _packages(engine: ApptainerEngine, plan: Plan, base: Base, deadline: float) -> Path:
    """The image of a base and the packages that come first."""
    key = digest_of([_FORMAT, engine.form, base.digest, [step.script for step in plan.shared]])[:16]
    folder = engine.images / f"packages-{key}"
    target = "image.sif" if engine.form == "sif" else "image"
    with storage("building an image"), _locked(engine.images / f".lock-{key}"):
        if not (folder / target).exists():
            if plan.shared:
                engine.say("Installing the packages of a shared image, once; up to a minute ...")
            with _work(engine) as work:
                labels = {"org.termforge.packages": key}
                text = definition.render("localimage", base.source, plan.shared, Plan(plan.base), labels)
                run_build(engine, text, (), work, target, deadline)
                discard(engine, work / "definition")
                work.rename(folder)
    return folder / target


def run_build(
    engine: ApptainerEngine, text: str, files: Iterable[ContextFile], work: Path, target: str, deadline: float
) -> None:
    """`apptainer build` of a definition into work/target: a directory, or a file where that ends in .sif.

    Raises:
        BuildFailure: a step of it failed, or it took too long.
        EngineError: Apptainer failed by itself, or its base was not to be had.
    """
    (work / "definition").write_text(text)
    _stage(engine, work / "context", files)
    form = ["--mksquashfs-args=-comp lz4"] if target.endswith(".sif") else ["--sandbox"]
    with Enclosure(engine.state, engine.warden, engine.ids, "100%") as held:
        entered = [*held.entering(), "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(work)]
        argv = [*entered, *enclosure.command(engine.state, "build", *form, target, "definition")]
        late = threading.Timer(max(1.0, deadline - time.monotonic()), held.kill)
        late.start()
        try:
            # spython's Client.build neither returns what was said nor enters an enclosure; its runner does the rest
            run: Any = importlib.import_module("spython.utils").run_command
            ended = run(argv, quiet=True, environ=enclosure.environment(engine.state, _build_environment(engine, work)))
        finally:
            late.cancel()
    said = ended["message"]
    output = ("" if not said else said if isinstance(said, str) else "\n".join(said)).strip()
    if held.killed:
        raise BuildFailure("build_timeout", "apptainer build", output[-_OUTPUT_TAIL:])
    if ended["return_code"] and "while running %post section" in output:
        raise BuildFailure("build_failed", "apptainer build: a step of %post failed", output[-_OUTPUT_TAIL:])
    if ended["return_code"] or not (work / target).exists():
        fatal = next((line for line in output.splitlines() if line.startswith("FATAL")), output[-_OUTPUT_TAIL:])
        raise EngineError(f"apptainer could not build an image: {fatal.removeprefix('FATAL:').strip() or 'no message'}")


def _task(
    engine: ApptainerEngine, plan: Plan, packages: Path, base: Base, limits: Limits, deadline: float
) -> BuiltImage:
    """A task's image: the packages, and an overlay with what its own steps changed."""
    scripts = [step.script for step in plan.own]
    content = [[file.content, file.encoding] for file in plan.files]
    settings = [plan.env, plan.workdir, plan.user]
    key = digest_of([_FORMAT, PROLOGUE, packages.parent.name, scripts, content, settings])
    folder = engine.images / f"task-{key[:16]}"
    start = BuiltImage(key, base.digest, (str(packages),), plan.env, plan.workdir, plan.user, notes=plan.notes)
    with storage("building an image"), _locked(engine.images / f".lock-{key[:16]}"):
        if not (folder / "built.json").exists():
            with _work(engine) as work:
                user = _run_steps(engine, plan, start, work, limits, deadline)
                (work / "built.json").write_text(json.dumps(user))
                discard(engine, work / "work")
                if folder.exists():
                    discard(engine, folder)
                work.rename(folder)
    name, (uid, gid, groups, path) = json.loads((folder / "built.json").read_text())
    added = (str(folder / "upper"),) if plan.own else ()
    found = replace(start, layers=start.layers + added, own_layers=added)
    return replace(found, uid=uid, gid=gid, groups=tuple(groups), user=name, home=path)


def _run_steps(
    engine: ApptainerEngine, plan: Plan, start: BuiltImage, work: Path, limits: Limits, deadline: float
) -> tuple[str, Account]:
    """Run a task's own steps in work/upper; who its user is."""
    brought, env = _brought(plan)
    with engine.start_for_steps(replace(start, workdir="/", env={}), limits, work) as box:
        box.put(brought)
        for step in plan.own:
            script = ["/bin/sh", "-c", PROLOGUE + step.script]
            left = max(1.0, deadline - time.monotonic())
            result = box.exec(script, timeout=left, user="root", cwd="/", env=env)
            if result.timed_out:
                raise BuildFailure("build_timeout", step.title, result.tail(_OUTPUT_TAIL))
            if result.exit_code:
                title = f"{step.title} ended with {result.exit_code}"
                raise BuildFailure("build_failed", title, result.tail(_OUTPUT_TAIL))
        if plan.user in ("root", "0"):
            return "root", accounts.ROOT
        passwd, group = (box.get(path).decode(errors="replace") for path in ("/etc/passwd", "/etc/group"))
        return accounts.look_up(plan.user, passwd, group)


def export(engine: ApptainerEngine, image: Image, folder: Path, form: Form = "sif") -> Path:
    """Build a whole image by `apptainer build`, for use by Apptainer alone: one file or one directory in `folder`.

    Apptainer does not keep what steps leave in /tmp.

    Raises:
        BuildFailure: as for `build`.
    """
    plan = definition.plan(image)
    base = _base(engine, plan.base)
    packages = _packages(engine, plan, base, time.monotonic() + Limits().build_seconds)
    text = definition.render("localimage", str(packages), plan.own, plan, {"org.termforge.base": base.digest})
    target = "image.sif" if form == "sif" else "image"
    with _work(engine) as work:
        run_build(engine, text, plan.files, work, target, time.monotonic() + Limits().build_seconds)
        (work / target).rename(folder / target)
    return folder / target


def discard(engine: ApptainerEngine, path: Path) -> None:
    """Remove a file or folder, whoever its files belong to."""
    rootfs.remove_tree(path, engine.warden, engine.ids)
    if path.is_file():
        path.unlink(missing_ok=True)


def reap(engine: ApptainerEngine) -> int:
    """Remove unfinished work whose owner is gone; how much there was."""
    left = [path for path in sorted((engine.images / "tmp").iterdir()) if not owner_is_alive(path.name)]
    for path in left:
        discard(engine, path)
    return len(left)


def _build_environment(engine: ApptainerEngine, work: Path) -> Mapping[str, str]:
    """Proxies and package indexes; where to write: memory, unless there is little of it or a place was named."""
    places = {name: os.environ[name] for name in ("APPTAINER_TMPDIR",) if name in os.environ}
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not places and memory < _MEMORY_NEEDED:
        _own(engine, work / "scratch")
        places = {"APPTAINER_TMPDIR": str(work / "scratch")}
    return {**network_env(), **places}


def _brought(plan: Plan) -> tuple[list[PutFile], dict[str, str]]:
    """What a build needs besides its image: the context, and what this machine says about package indexes. Files and variables.

    It all lies below /dev/shm, in the build's own memory, so that nothing of it gets into an image.
    """
    put = [PutFile(f"{_CONTEXT}/{number}", file.data(), 0o600) for number, file in enumerate(plan.files)]
    env = {**network_env(), CONTEXT_NAME: _CONTEXT}
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
def _work(engine: ApptainerEngine) -> Generator[Path]:
    """A folder of one's own, removed at the end unless it was renamed."""
    place = engine.images / "tmp" / f"{engine.state.owner}-{next(_numbers)}"
    place.mkdir(mode=0o755)
    _give(engine, place)
    try:
        yield place
    finally:
        if place.exists():
            discard(engine, place)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
