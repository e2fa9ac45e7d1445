"""The volume that every container of ours mounts read-only: the grader bundle, made in an image of this daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from containers.engines.docker.client import LABEL, faults
from containers.engines.docker.files import archive
from containers.grading import bundle
from containers.sandbox import PutFile
from generators.bases import Base, preamble
from generators.errors import EngineError
from generators.task import Image, Limits

if TYPE_CHECKING:
    from containers.engines.docker.engine import DockerEngine

_SECONDS = 300
_CONFLICT = 409
_ENDED = ("exited", "stopped")


def ensure(engine: DockerEngine) -> str:
    """The volume's name; it is filled by a container of an image with python3, pytest and a compiler.

    That container stays, ended: only this says that the volume is whole, whoever was killed meanwhile. One that was never
    started, or failed, is made again with its volume.
    """
    tool = engine.build(Image(dockerfile=preamble(Base.BUILD)), Limits())
    name = f"termforge-grader-{bundle.key(tool.digest)}"
    with engine.locked(name), faults("making the grader's volume"):
        maker = _known(engine, name)
        if maker is None:
            if _in_use(engine, name):  # by sandboxes, which only ever mount a whole one: somebody pruned containers
                return name
            engine.say("Making the grader's volume, once ...")
            maker = _started(engine, name, tool.layers[0])
        if maker.status in _ENDED:  # Podman waits long for one that has ended, but was not tidied up after
            return name
        code = int(maker.wait(timeout=_SECONDS)["StatusCode"])
        if code:
            said = maker.logs(tail=3).decode(errors="replace").strip()
            maker.remove(force=True)
            raise EngineError(f"the grader's volume could not be made: {said}")
    return name


def _known(engine: DockerEngine, name: str) -> Any | None:
    """The container that fills or has filled the volume."""
    try:
        maker: Any = engine.client.containers.get(name)
    except NotFound:
        return None
    if maker.status == "created" or (maker.status in _ENDED and maker.attrs["State"]["ExitCode"]):
        maker.remove(force=True)
        return None
    return maker


def _in_use(engine: DockerEngine, name: str) -> bool:
    """Whether a container mounts the volume; it is removed where none does."""
    try:
        engine.client.volumes.get(name).remove(force=True)
    except NotFound:
        return False
    except APIError as error:
        if error.status_code != _CONFLICT:
            raise
        return True
    return False


def _started(engine: DockerEngine, name: str, image: str) -> Any:
    maker: Any = engine.client.containers.create(
        image,
        command=["/bin/sh", "-c", bundle.maker(), "bundle", bundle.ROOT],
        volumes={name: {"bind": bundle.ROOT, "mode": "rw"}},
        name=name,
        network_mode="none",
        labels={LABEL: "grader"},
    )
    maker.put_archive(bundle.ROOT, archive([PutFile(path, data) for path, data in bundle.sources().items()]))
    maker.start()
    return maker
