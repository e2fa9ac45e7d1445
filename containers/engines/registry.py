"""Engines by name. Each is imported when it is asked for: one does not need the packages of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from containers.sandbox import Engine
from containers.state import State
from generators.errors import UsageError

Say = Callable[[str], None]
Opener = Callable[[State | None, Say], Engine]
DEFAULT = "bubblewrap"


def _bubblewrap(state: State | None, say: Say) -> Engine:
    from containers.engines.bubblewrap.engine import BubblewrapEngine

    return BubblewrapEngine(state, say)


def _docker(state: State | None, say: Say) -> Engine:
    from containers.engines.docker.engine import DockerEngine

    return DockerEngine(state, say, flavour="docker")


def _podman(state: State | None, say: Say) -> Engine:
    from containers.engines.docker.engine import DockerEngine

    return DockerEngine(state, say, flavour="podman")


def _apptainer(state: State | None, say: Say) -> Engine:
    from containers.engines.apptainer.engine import ApptainerEngine

    return ApptainerEngine(state, say)


ENGINES: Mapping[str, Opener] = {
    DEFAULT: _bubblewrap,
    "docker": _docker,
    "podman": _podman,
    "apptainer": _apptainer,
}


def open_engine(name: str = DEFAULT, state: State | None = None, say: Say = lambda _: None) -> Engine:
    """An engine, ready for use; the caller closes it.

    Raises:
        UsageError: there is none of this name.
        EngineError: this machine cannot run it.
    """
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}; there are {', '.join(ENGINES)}")
    return ENGINES[name](state, say)
