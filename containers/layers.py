"""Images as stacks of overlay layers: one layer per build step, cached by everything that went into it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from containers import accounts, dockerfile, rootfs
from containers.dockerfile import Instruction
from containers.sandbox import BuildFailure, BuiltImage, Engine, PutFile
from containers.state import storage
from containers.warden.client import OperationError
from generators.digest import digest_of
from generators.errors import TaskError
from generators.task import ContextFile, Image, Limits

if TYPE_CHECKING:
    from containers.engines.bubblewrap.engine import BubblewrapEngine, BubblewrapSandbox

Work = Callable[["BubblewrapSandbox"], None]
_OUTPUT_TAIL = 4000
_FORMAT = "1"  # changes whenever the same step would give another layer
PACKAGES_ONLY = re.compile(
    r"apt-get update && apt-get install -y --no-install-recommends [a-z0-9.+\- ]+ && rm -rf /var/lib/apt/lists/\*"
)
_counter = threading.local()


@dataclass(frozen=True)
class Progress:
    """Where a build stands: the layers so far and what ENV, WORKDIR, USER and SHELL have set."""

    key: str
    layers: tuple[str, ...]
    base_digest: str
    env: dict[str, str] = field(default_factory=dict[str, str])
    args: dict[str, str] = field(default_factory=dict[str, str])
    workdir: str = "/"
    user: str = "root"
    ids: accounts.Account = accounts.ROOT
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    notes: tuple[str, ...] = ()
    own_layers: tuple[str, ...] = ()

    def image(self, seconds: float = 0.0) -> BuiltImage:
        """What can be started at this point."""
        uid, gid, groups, home = self.ids
        return BuiltImage(
            digest=self.key,
            base_digest=self.base_digest,
            layers=self.layers,
            env=self.env,
            workdir=self.workdir,
            user=self.user,
            uid=uid,
            gid=gid,
            groups=groups,
            home=home,
            notes=self.notes,
            seconds=seconds,
            own_layers=self.own_layers,
        )


def build(engine: BubblewrapEngine, image: Image, limits: Limits) -> BuiltImage:
    """Run a Dockerfile's steps.

    Raises:
        BuildFailure: a step failed, took too long, or is not supported.
        EngineError: no base for its FROM.
    """
    began = time.monotonic()
    try:
        steps = dockerfile.parse(image.dockerfile)
    except TaskError as error:
        raise BuildFailure("dockerfile_unsupported", str(error), "") from error
    progress = Progress("", (), "")
    offline = dockerfile.offline(image.dockerfile)
    for step in steps:
        left = limits.build_seconds - (time.monotonic() - began)
        try:
            progress = _step(engine, progress, step, image, limits, left, offline)
        except TaskError as error:
            raise BuildFailure("dockerfile_invalid", str(error), "") from error
    return progress.image(time.monotonic() - began)


def _step(
    engine: BubblewrapEngine,
    at: Progress,
    step: Instruction,
    image: Image,
    limits: Limits,
    seconds: float,
    offline: bool,
) -> Progress:
    variables = {**at.args, **at.env}
    match step.name:
        case "FROM":
            base = rootfs.base_filesystem(
                dockerfile.expand(step.text, variables).split()[0], engine.state, engine.warden, engine.ids, engine.say
            )
            key = digest_of([_FORMAT, base.digest])
            return replace(at, key=key, layers=(str(base.folder),), base_digest=base.digest)
        case "ENV":
            return replace(at, env={**at.env, **dockerfile.assignments(step, variables)})
        case "ARG":
            name, _, default = step.text.partition("=")
            return replace(at, args={**at.args, name.strip(): dockerfile.expand(default.strip("\"'"), variables)})
        case "SHELL":
            return replace(at, shell=step.exec_form)
        case "USER":
            return _user(engine, at, dockerfile.expand(step.text, variables), limits)
        case "WORKDIR":
            folder = str(PurePosixPath(at.workdir) / dockerfile.expand(step.text, variables))
            key = digest_of([at.key, "WORKDIR", folder])
            return replace(
                _layer(engine, at, key, _placing(step, lambda box: box.make_folder(folder)), limits), workdir=folder
            )
        case "COPY":
            return _copy(engine, at, step, image, variables, limits)
        case "RUN":
            return _run(engine, at, step, variables, limits, seconds, offline)
        case _:
            return replace(at, notes=(*at.notes, f"{step.name} is noted, not run"))


def _copy(
    engine: BubblewrapEngine, at: Progress, step: Instruction, image: Image, variables: dict[str, str], limits: Limits
) -> Progress:
    copy = dockerfile.resolve_copy(step, image, at.workdir, variables)
    uid, gid = _owner(engine, at, copy.owner, limits) if copy.owner else (0, 0)
    files = [
        PutFile(path, file.data(), copy.mode or file.mode, uid, gid, _name(file) if path in copy.named else "")
        for path, file in copy.files
    ]
    content = [[path, file.content, copy.mode or file.mode] for path, file in copy.files]
    key = digest_of([at.key, "COPY", content, uid, gid])
    return _layer(engine, at, key, _placing(step, lambda box: box.put(files)), limits)


def _name(file: ContextFile) -> str:
    return PurePosixPath(file.path).name


def _placing(step: Instruction, work: Work) -> Work:
    """Work whose refusal by the file system (a folder where a file is, a read-only place) is the Dockerfile's own fault."""

    def placed(box: BubblewrapSandbox) -> None:
        try:
            work(box)
        except OperationError as error:
            raise BuildFailure(
                "build_failed", f"line {step.line}: {step.name} {step.text[:200]}", str(error)
            ) from error

    return placed


def _run(
    engine: BubblewrapEngine,
    at: Progress,
    step: Instruction,
    variables: dict[str, str],
    limits: Limits,
    seconds: float,
    offline: bool,
) -> Progress:
    argv = list(step.exec_form) or [*at.shell, step.text]
    env = {**at.args, **at.env}
    own = not PACKAGES_ONLY.fullmatch(step.text)
    network = not offline or not (own or at.own_layers)
    key = digest_of([at.key, "RUN", argv, env, at.workdir, at.user, *([] if network else ["offline"])])

    def work(box: BubblewrapSandbox) -> None:
        if not own:
            engine.say("Installing the packages of a shared image layer, once; up to a minute ...")
        result = box.exec(argv, timeout=max(1.0, seconds), env={**build_env(network), **env})
        if result.timed_out:
            raise BuildFailure("build_timeout", f"line {step.line}: RUN {step.text[:200]}", result.tail(_OUTPUT_TAIL))
        if result.exit_code:
            name = f"line {step.line}: RUN {step.text[:200]} ended with {result.exit_code}"
            raise BuildFailure("build_failed", name, result.tail(_OUTPUT_TAIL))

    return _layer(engine, at, key, work, replace_memory(limits), own, network)


def replace_memory(limits: Limits) -> Limits:
    """Limits for a build step: packages need more memory and processes than an agent."""
    return limits.model_copy(
        update={"memory_mb": max(limits.memory_mb, 2048), "pids": max(limits.pids, 1024), "cpus": 16.0}
    )


def build_env(network: bool) -> dict[str, str]:
    """What a build step finds in its environment: where there is a network, proxies and package indexes as this machine has them."""
    names = (
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "PIP_INDEX_URL",
        "PIP_CERT",
    )
    found = {name: os.environ[name] for name in names if name in os.environ}
    return {"DEBIAN_FRONTEND": "noninteractive"} | (found if network else {})


def _user(engine: BubblewrapEngine, at: Progress, name: str, limits: Limits) -> Progress:
    """Look a user up in the image: ids, groups and home."""
    name = name.split(":")[0]
    with engine.start(replace(at, ids=accounts.ROOT, user="root").image(), limits) as box:
        passwd = box.get("/etc/passwd").decode(errors="replace")
        group = box.get("/etc/group").decode(errors="replace")
    found, account = accounts.look_up(name, passwd, group)
    return replace(at, user=found, ids=account)


def _owner(engine: BubblewrapEngine, at: Progress, owner: str, limits: Limits) -> tuple[int, int]:
    if owner.replace(":", "").isdigit():
        uid, _, gid = owner.partition(":")
        return int(uid), int(gid or uid)
    uid, gid, _, _ = _user(engine, at, owner, limits).ids
    return uid, gid


def _layer(
    engine: BubblewrapEngine,
    at: Progress,
    key: str,
    work: Work,
    limits: Limits,
    own: bool = True,
    network: bool = False,
) -> Progress:
    """The layer of a step: from the cache, or by doing its work in a sandbox over the layers below."""
    folder = engine.state.folder("layers") / key[:16]
    if not (folder / "done").exists():
        with storage("building an image layer"), _locked(engine.state.folder("layers") / f".lock-{key[:16]}"):
            if not (folder / "done").exists():
                _fill(engine, at, folder, work, limits, network)
    empty = (folder / "done").read_text() == "empty"
    added = () if empty else (str(folder / "fs"),)
    return replace(at, key=key, layers=at.layers + added, own_layers=at.own_layers + (added if own else ()))


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    path.unlink(missing_ok=True)


def _fill(engine: BubblewrapEngine, at: Progress, folder: Path, work: Work, limits: Limits, network: bool) -> None:
    number = getattr(_counter, "value", 0) + 1
    _counter.value = number
    place = engine.state.folder("tmp") / f"{engine.state.owner}-layer-{threading.get_ident()}-{number}"
    upper, scratch = place / "fs", place / "work"
    for path in (place, upper, scratch):
        path.mkdir()
        if not engine.ids.helper:
            os.chown(path, engine.ids.uid0, engine.ids.gid0)
    try:
        with engine.start_for_build(at.image(), limits, upper, scratch, network) as box:
            work(box)
        rootfs.remove_tree(scratch, engine.warden, engine.ids)
        (place / "done").write_text("full" if any(upper.iterdir()) else "empty")
        if folder.exists():
            rootfs.remove_tree(folder, engine.warden, engine.ids)
        place.rename(folder)
    finally:
        if place.exists():
            rootfs.remove_tree(place, engine.warden, engine.ids)


_GIT_SCRIPT = """
find / -xdev -name HEAD -type f 2>/dev/null | while IFS= read -r head; do
  dir=$(dirname "$head")
  [ -d "$dir/objects" ] && git --git-dir="$dir" -c safe.directory='*' cat-file --batch-all-objects --batch --buffer
done
"""


def git_objects(engine: Engine, built: BuiltImage) -> Iterator[tuple[str, bytes]]:
    """The unpacked objects of every git repository in an image (unreachable ones too), as one stream."""
    with engine.start(built, Limits()) as sandbox:
        result = sandbox.exec(_GIT_SCRIPT, timeout=60, user="root", output_limit=64 << 20)
    yield "git history", result.stdout


def layer_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each cached layer."""
    sizes: dict[str, int] = {}
    for layer in sorted(path for path in folder.iterdir() if path.is_dir()):
        sizes[layer.name] = sum(file.lstat().st_size for file in layer.rglob("*") if file.is_file())
    return sizes


def clear(folder: Path, engine: BubblewrapEngine) -> None:
    """Remove every cached layer."""
    for path in folder.iterdir():
        if path.is_dir():
            rootfs.remove_tree(path, engine.warden, engine.ids)
        else:
            path.unlink(missing_ok=True)
