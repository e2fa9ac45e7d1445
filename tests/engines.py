"""Which engines there are to test on this machine, and why the others are not.

Docker and Podman are looked for where TERMFORGE_TEST_DOCKER and TERMFORGE_TEST_PODMAN say (`.ci/engines` installs and starts
both, and prints these), else where they usually listen. What a variable names must be there: only what is unnamed is skipped.
"""

from __future__ import annotations

import http.client
import os
import shutil
from collections.abc import Iterable

import pytest

from containers.engines import registry
from containers.health import LocalConnection
from containers.sandbox import Engine, Feature
from containers.state import default_state

NAMES = ("bubblewrap", "docker", "podman", "apptainer")
GET = 'as root on Debian, `eval "$(.ci/engines)"` installs and starts it'
_PING_SECONDS = 5.0


def flavour(address: str) -> str | None:
    """Which engine answers at `unix:///path` or `tcp://host:port`: docker, podman, or None."""
    if address.startswith("tcp://"):
        connection = http.client.HTTPConnection(address.removeprefix("tcp://"), timeout=_PING_SECONDS)
    else:
        connection = LocalConnection(address.removeprefix("unix://"), _PING_SECONDS)
    try:
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        if answer.status != 200:
            return None
        return "podman" if answer.getheader("Libpod-API-Version") else "docker"
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _usual_sockets() -> Iterable[str]:
    own = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    for variable in ("DOCKER_HOST", "CONTAINER_HOST"):
        yield os.environ.get(variable, "")
    for folder in ("/run", own):
        yield f"unix://{folder}/docker.sock"
        yield f"unix://{folder}/podman/podman.sock"


def find_socket(name: str) -> str:
    """The address at which Docker or Podman answers; skips the test where there is none."""
    variable = f"TERMFORGE_TEST_{name.upper()}"
    if named := os.environ.get(variable):
        assert flavour(named) == name, f"{variable}={named}: no {name} answers there"
        return named
    for address in _usual_sockets():
        if address.startswith("unix://") and flavour(address) == name:
            return address
    pytest.skip(f"no {name} answers on DOCKER_HOST or its usual sockets; {GET}")


def open_engine(name: str) -> Engine:
    """Open an engine; skips the test where the machine lacks it."""
    if name in ("docker", "podman"):
        from containers.engines.docker.engine import DockerEngine

        address = find_socket(name)
        return DockerEngine(default_state(), print, socket=address, flavour="docker" if name == "docker" else "podman")
    if name == "apptainer" and shutil.which("apptainer") is None:
        pytest.skip(f"there is no program `apptainer` on PATH; {GET}, where an installer for it is at hand")
    return registry.open_engine(name, say=print)


def needs(engine: Engine, feature: Feature) -> None:
    """Skip a test of a feature that the engine says it lacks here, with the reason that it gives."""
    for gap in engine.gaps():
        if gap.feature is feature:
            assert gap.why, f"{engine.name} lacks {feature} and does not say why"
            pytest.skip(f"{engine.name} declares a gap: {feature}: {gap.why}")
