"""Images of the Apptainer engine, cached by what goes into them.

$APPTAINER_CACHEDIR/termforge, or apptainer/ in the state folder
├── base-<key>/       image: pulled from a registry
├── packages-<key>/   image (a directory, or image.sif): a base and the packages that many tasks begin with, built once
├── task-<key>/       upper/: what a task's own steps change, an overlay over that; built.json: its settings
└── tmp/<host>/       work in progress, named after its owner; what is finished is renamed: homes can be shared
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from containers import accounts, rootfs
from containers.accounts import Account
from containers.engines.apptainer import definition
from containers.engines.apptainer.building import OUTPUT_TAIL, brought, discard, locked, run_build, work_folder
from containers.engines.apptainer.definition import PROLOGUE, Plan
from containers.sandbox import BuildFailure, BuiltImage
from containers.state import State, owner_is_alive, storage
from generators.digest import digest_of
from generators.errors import EngineError, TaskError
from generators.task import Image, Limits

if TYPE_CHECKING:
    from containers.engines.apptainer.engine import ApptainerEngine

Form = Literal["directory", "sif"]
_FORMAT = "1"  # changes whenever the same Dockerfile would give another image
_PULL_SECONDS = 600.0


@dataclass(frozen=True)
class Base:
    """What a FROM name stands for: a root file system, and a name of its content."""

    source: str
    digest: str


def home(state: State) -> Path:
    """Where images are kept."""
    named = os.environ.get("APPTAINER_CACHEDIR") or os.environ.get("SINGULARITY_CACHEDIR")
    return Path(named).absolute() / "termforge" if named else state.home / "apptainer"


def unfinished(state: State) -> Path:
    """Where this machine's work in progress is: process ids of another mean nothing here."""
    return home(state) / "tmp" / os.uname().nodename


def prepare(state: State) -> Path:
    """Make these folders, open to the ids behind a sandbox's users.

    Raises:
        EngineError: one of its parents is closed to them.
    """
    folder = home(state)
    if any(sign in str(path) for path in (folder, state.home) for sign in ":,\\"):
        raise EngineError(f"{folder}: paths of images and of the state folder can hold no colon, comma or backslash")
    with storage("preparing the folder of Apptainer images"):
        for path in (folder, folder / "tmp", unfinished(state)):
            path.mkdir(parents=True, exist_ok=True)
            if path.stat().st_uid == os.geteuid():
                path.chmod(0o755)
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
        except (EngineError, BuildFailure) as error:
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
    with storage("pulling an image"), locked(engine.images / f".lock-{key[:16]}"):
        if not folder.exists():
            with work_folder(engine) as work:
                text = definition.render("docker", name, (), Plan(name), {})
                run_build(engine, text, work, "image", time.monotonic() + _PULL_SECONDS, title=f"pulling {name}")
                discard(engine, work / "definition")
                work.rename(folder)
    return Base(str(folder / "image"), key)


def _packages(engine: ApptainerEngine, plan: Plan, base: Base, deadline: float) -> Path:
    """The image of a base and the packages that come first."""
    key = digest_of([_FORMAT, engine.form, base.digest, [step.script for step in plan.shared]])[:16]
    folder = engine.images / f"packages-{key}"
    target = "image.sif" if engine.form == "sif" else "image"
    with storage("building an image"), locked(engine.images / f".lock-{key}"):
        if not (folder / target).exists():
            if plan.shared:
                engine.say("Installing the packages of a shared image, once; up to a minute ...")
            with work_folder(engine) as work:
                labels = {"org.termforge.packages": key}
                text = definition.render("localimage", base.source, plan.shared, Plan(plan.base), labels)
                title = "; ".join(step.title for step in plan.shared) or f"FROM {plan.base}"
                run_build(engine, text, work, target, deadline, title=title)
                discard(engine, work / "definition")
                work.rename(folder)
    return folder / target


def _task(
    engine: ApptainerEngine, plan: Plan, packages: Path, base: Base, limits: Limits, deadline: float
) -> BuiltImage:
    """A task's image: the packages, and an overlay with what its own steps changed."""
    scripts = [step.script for step in plan.own]
    content = [[file.content, file.encoding] for file in plan.files]
    settings = [plan.env, plan.workdir, plan.user]
    alone = ["offline"] if plan.offline else []
    key = digest_of([_FORMAT, PROLOGUE, packages.parent.name, scripts, content, settings, *alone])
    folder = engine.images / f"task-{key[:16]}"
    start = BuiltImage(key, base.digest, (str(packages),), plan.env, plan.workdir, plan.user, notes=plan.notes)
    with storage("building an image"), locked(engine.images / f".lock-{key[:16]}"):
        if not (folder / "built.json").exists():
            with work_folder(engine) as work:
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
    files, env = brought(plan)
    with engine.start_for_steps(replace(start, workdir="/", env={}), limits, work, not plan.offline) as box:
        box.put(files)
        for step in plan.own:
            script = ["/bin/sh", "-c", PROLOGUE + step.script]
            left = max(1.0, deadline - time.monotonic())
            result = box.exec(script, timeout=left, user="root", cwd="/", env=env)
            if result.timed_out:
                raise BuildFailure("build_timeout", step.title, result.tail(OUTPUT_TAIL))
            if result.exit_code:
                title = f"{step.title} ended with {result.exit_code}"
                raise BuildFailure("build_failed", title, result.tail(OUTPUT_TAIL))
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
    with work_folder(engine) as work:
        deadline = time.monotonic() + Limits().build_seconds
        run_build(engine, text, work, target, deadline, title="the image", files=plan.files, network=not plan.offline)
        (work / target).rename(folder / target)
    return folder / target


def reap(engine: ApptainerEngine) -> int:
    """Remove unfinished work whose owner is gone; how much there was."""
    left = [path for path in sorted(engine.unfinished.iterdir()) if not owner_is_alive(path.name)]
    for path in left:
        discard(engine, path)
    return len(left)
