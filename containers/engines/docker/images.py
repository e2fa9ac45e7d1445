"""Images of Docker and Podman: bases pulled or served from here, packages built once, a task's own steps on top."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException, ImageNotFound
from docker.utils import parse_repository_tag

from containers import dockerfile, rootfs
from containers.engines.docker.builder import Recipe, build
from containers.engines.docker.client import LABEL, faults
from containers.layers import PACKAGES_ONLY
from containers.linux import identity
from containers.sandbox import BuildFailure
from containers.warden.client import Warden
from generators.digest import digest_of
from generators.errors import EngineError, SandboxFault, TaskError
from generators.task import Image

if TYPE_CHECKING:
    from containers.engines.docker.engine import DockerEngine

_FORMAT = "1"


def ensure(engine: DockerEngine, image: Image, seconds: float) -> tuple[Any, int, str]:
    """The image of a task: (SDK image, how many of its layers are the task's own, digest of its base).

    Raises:
        BuildFailure: the task's own fault.
        EngineError: no base image.
    """
    deadline = time.monotonic() + seconds
    names = dockerfile.bases(image.dockerfile)
    bases = {name: base(engine, name) for name in names}
    first = next(iter(bases.values()))
    text = dockerfile.with_bases(image.dockerfile, {name: _reference(found) for name, found in bases.items()})
    identity_of_bases = [found.id for found in bases.values()]
    prefix, rest = _split(text)
    below = first
    if prefix:
        recipe = Recipe(f"termforge/packages:{digest_of([_FORMAT, identity_of_bases, prefix])[:16]}", prefix, image)
        with engine.locked(recipe.tag):
            if _find(engine, recipe.tag) is None:
                engine.say("Installing the packages of a shared image layer, once; up to a minute ...")
            below = _built(engine, recipe, deadline)
        text = f"FROM {recipe.tag}\n{rest}"
    content = [[file.path, file.content, file.mode] for file in image.files]
    tag = f"termforge/task:{digest_of([_FORMAT, identity_of_bases, image.dockerfile, content])[:16]}"
    with engine.locked(tag):
        made = _built(engine, Recipe(tag, text, image, network=not dockerfile.offline(image.dockerfile)), deadline)
    return made, len(made.attrs["RootFS"]["Layers"]) - len(below.attrs["RootFS"]["Layers"]), str(first.id)


def _split(text: str) -> tuple[str, str]:
    """A Dockerfile up to its last step that only installs packages, and what follows; ("", text) where there is none."""
    try:
        steps = dockerfile.parse(text)
    except TaskError:
        return "", text
    last = max((index for index, step in enumerate(steps) if _packages(step)), default=-1)
    if last < 0 or any(step.name not in {"FROM", "ENV", "RUN"} for step in steps[:last]):
        return "", text
    if any(step.name == "RUN" and not _packages(step) for step in steps[:last]):
        return "", text
    cut = steps[last + 1].line - 1 if last + 1 < len(steps) else len(text.splitlines())
    lines = text.splitlines(keepends=True)
    return "".join(lines[:cut]), "".join(lines[cut:])


def _packages(step: dockerfile.Instruction) -> bool:
    return step.name == "RUN" and PACKAGES_ONLY.fullmatch(step.text) is not None


def _reference(image: Any) -> str:
    return next(iter(image.tags), str(image.id))


def _find(engine: DockerEngine, tag: str) -> Any | None:
    with faults("looking for an image"):
        try:
            return engine.client.images.get(tag)
        except ImageNotFound:
            return None


def base(engine: DockerEngine, name: str) -> Any:
    """The image behind a FROM name: the daemon's own, pulled, or served from a root file system made here."""
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower())
    local = f"termforge/base:{slug}"
    with engine.locked(local):
        found = _find(engine, name) or _find(engine, local)
        return found or _pulled(engine, name) or _imported(engine, name, local)


def _pulled(engine: DockerEngine, name: str) -> Any | None:
    """From a registry; None where none answers."""
    repository, tag = parse_repository_tag(name)
    try:
        return engine.client.images.pull(repository, tag=tag or "latest")
    except ImageNotFound as error:
        if engine.flavour == "docker":
            raise BuildFailure("base_missing", f"FROM {name}: {error.explanation}", "") from error
        return None
    except (APIError, DockerException, OSError):
        return None


def _imported(engine: DockerEngine, name: str, local: str) -> Any:
    try:
        source = rootfs.base_source(name)
    except TaskError as error:
        raise EngineError(f"{name} is not here and no registry answers; {error}") from error
    ids = identity.id_map()
    warden = Warden("keeper", ids)
    tar = engine.state.folder("tmp") / f"{engine.state.owner}-{local.replace('/', '-')}.tar"
    note = ", which stands in for it" if source.stands_in else ""
    engine.say(f"No registry answers: {name} is served by a root file system made here{note}.")
    try:
        filesystem = rootfs.base_filesystem(name, engine.state, warden, ids, engine.say)
        rootfs.export(filesystem, tar, warden, ids)
        with faults("importing a base image"):
            repository, tag = local.split(":")
            label = f"LABEL {LABEL}=base"
            said = engine.client.api.import_image(str(tar), changes=[label, 'CMD ["bash"]'])
            found = engine.client.images.get(json.loads(said.strip().splitlines()[-1])["status"])
            found.tag(repository, tag)  # by itself: Podman's import ignores the name
            return engine.client.images.get(local)
    finally:
        tar.unlink(missing_ok=True)
        warden.close()


def _built(engine: DockerEngine, recipe: Recipe, deadline: float) -> Any:
    found = _find(engine, recipe.tag)
    if found is not None:
        return found
    build(engine.address, engine.flavour, recipe, max(1.0, deadline - time.monotonic()), engine.buildkit)
    with faults("looking for an image just built"):
        return engine.client.images.get(recipe.tag)


def own_files(engine: DockerEngine, image_id: str, count: int) -> Iterator[bytes]:
    """The top `count` layers of an image, each as a tar: from the daemon's own folders where they can be read, else saved."""
    if count <= 0:
        return
    with faults("reading an image"):
        data: dict[str, str] = engine.client.images.get(image_id).attrs.get("GraphDriver", {}).get("Data") or {}
    folders = [data.get("UpperDir", ""), *data.get("LowerDir", "").split(":")][:count]
    if engine.can_enter and all(folder and os.access(folder, os.R_OK | os.X_OK) for folder in folders):
        for folder in reversed(folders):
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w") as tar:
                tar.add(folder, ".")
            yield out.getvalue()
        return
    yield from _saved(engine, image_id, count)


def _saved(engine: DockerEngine, image_id: str, count: int) -> Iterator[bytes]:
    with tempfile.TemporaryFile(dir=engine.state.folder("tmp")) as file:
        with faults("reading an image"):
            for piece in engine.client.api.get_image(image_id):
                file.write(piece)
        file.seek(0)
        with faults("reading an image"), tarfile.open(fileobj=file) as saved:
            manifest = json.loads(_member(saved, "manifest.json"))
            for name in manifest[0]["Layers"][-count:]:
                yield _member(saved, name)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    handle = archive.extractfile(name)
    if handle is None:
        raise SandboxFault(f"a saved image lacks {name}")
    return handle.read()
