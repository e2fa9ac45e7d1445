"""What a daemon can do for sandboxes, and what it cannot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from containers.engines.docker.client import Flavour
from containers.sandbox import Capability, Feature, Gap

if TYPE_CHECKING:
    from containers.engines.docker.engine import DockerEngine

_LIMITS = {
    "MemoryLimit": Feature.MEMORY_LIMIT,
    "PidsLimit": Feature.PROCESS_LIMIT,
    "CpuCfsQuota": Feature.CPU_LIMIT,
}
_REMEDIES = {
    Feature.ISOLATION: "run the daemon rootless as another user, or with userns-remap",
    Feature.MEMORY_LIMIT: "enable the memory controller",
    Feature.PROCESS_LIMIT: "enable the pids controller",
    Feature.CPU_LIMIT: "enable the cpu controller",
    Feature.DISK_LIMIT: "keep Docker's data on xfs mounted with pquota (overlay2); on btrfs, `btrfs quota rescan`",
    Feature.TERMINAL: "use the embedded engine for `solve --shell`",
    Feature.REGRADING: "nothing: where a second grading matters (mutants), a fresh container is made for it",
    Feature.BUILD_END: "nothing, but steps that end; the task is dropped all the same",
}


def gaps(info: Mapping[str, Any], flavour: Flavour, *, quota: bool, own: bool) -> tuple[Gap, ...]:
    """From what a daemon says of itself, whether it was seen to limit a container's disk, and whether it runs as whoever asks."""
    found: list[Gap] = []
    options: list[str] = info.get("SecurityOptions") or []
    security = " ".join(options)
    rootless = "rootless" in security or info.get("Rootless", False)  # as Docker says it, and as Podman does
    if "userns" not in security and not rootless:
        found.append(Gap(Feature.ISOLATION, "root inside a container is root outside, behind the daemon's walls"))
    elif rootless and own:
        found.append(Gap(Feature.ISOLATION, "root inside a container is you outside, behind the daemon's walls"))
    for key, feature in _LIMITS.items():
        if not info.get(key, True):
            found.append(Gap(feature, f"the daemon reports {key} as not supported"))
        elif rootless and str(info.get("CgroupVersion")) == "1":  # whatever it reports
            found.append(Gap(feature, "a rootless daemon cannot use control groups of version 1"))
    driver = info.get("Driver", "?")
    if not quota:
        found.append(Gap(Feature.DISK_LIMIT, f"the storage driver {driver} has no quota here"))
    elif driver == "btrfs":
        found.append(Gap(Feature.DISK_LIMIT, "btrfs keeps it only while its quota accounting is consistent"))
    found.append(Gap(Feature.TERMINAL, "programs get no terminal through the daemon"))
    found.append(Gap(Feature.REGRADING, "a stopped container's files are changed by another mount than the graded one"))
    if flavour == "podman":
        found.append(Gap(Feature.BUILD_END, "Podman lets the step of an abandoned build run on to its end"))
    return tuple(found)


def lines(engine: DockerEngine) -> list[Capability]:
    """For `doctor`."""
    info = engine.info
    version = f"{info.get('ServerVersion', '?')} at {engine.address}, storage {info.get('Driver', '?')}"
    builder = f"BuildKit by {engine.buildkit}" if engine.buildkit else "the daemon's own (slower)"
    entered = engine.can_enter and os.geteuid() == 0
    how = "entered from here" if entered else "by starting the container again with a mounted interpreter"
    return [
        Capability(engine.name, True, version),
        Capability("builder", True, builder, needed=False),
        Capability("grading", True, how),
        *(Capability(gap.feature, False, gap.why, _REMEDIES[gap.feature], needed=False) for gap in engine.gaps()),
    ]
