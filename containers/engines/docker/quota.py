"""Limits of a container's disk, where the daemon's storage has them."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

from docker.errors import APIError

from containers.engines.docker.client import LABEL, faults
from containers.sandbox import BuiltImage
from generators.task import Limits

if TYPE_CHECKING:
    from containers.engines.docker.engine import DockerEngine

_COUNTS_THE_IMAGE = ("btrfs", "zfs")  # the limit is on all that a container sees, not only on what it adds
_DRIVERS = ("overlay2", *_COUNTS_THE_IMAGE)  # Docker's; others, and Podman, take the option and may ignore it
_TRIED = {"size": "1g"}


def is_there(engine: DockerEngine) -> bool:
    """Whether a limit is kept: tried with a container of an empty image, since what a daemon says of itself does not tell (over
    overlay2 it takes xfs, mounted with pquota).

    Raises:
        SandboxFault: the daemon is gone.
    """
    driver, status = engine.info.get("Driver"), dict(engine.info.get("DriverStatus") or [])
    if engine.flavour != "docker" or driver not in _DRIVERS:
        return False
    if driver == "overlay2" and status.get("Backing Filesystem") != "xfs":
        return False
    api = engine.client.api
    with engine.locked("quota"), faults("looking for disk limits"):
        name = f"termforge/empty:{engine.state.owner}"
        repository, _, tag = name.partition(":")
        label = [f"LABEL {LABEL}={engine.owner}"]  # by which it is found where this process is killed
        api.import_image_from_data(_nothing(), repository=repository, tag=tag, changes=label)
        try:
            made: Any = api.create_container(
                name, ["none"], labels={LABEL: engine.owner}, host_config=api.create_host_config(storage_opt=_TRIED)
            )
            api.remove_container(made["Id"], force=True)
        except APIError:
            return False
        finally:
            api.remove_image(name, force=True)
    return True


def option(engine: DockerEngine, built: BuiltImage, limits: Limits) -> dict[str, str]:
    """What a container of this image is created with."""
    room = limits.disk_mb << 20
    if engine.info.get("Driver") in _COUNTS_THE_IMAGE:
        room += engine.image_bytes(built)
    return {"size": str(room)}


def _nothing() -> bytes:
    """An archive without files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w"):
        pass
    return out.getvalue()
