"""A sandbox of the Apptainer engine: an instance in an enclosure, entered as those of the embedded engine are."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from containers.engines.apptainer import enclosure
from containers.engines.apptainer.enclosure import Enclosure
from containers.engines.bubblewrap.sandbox import CLOCK, BubblewrapSandbox
from containers.linux.namespaces import Entrance
from containers.sandbox import BuiltImage, PutFile, StartOptions
from generators.errors import SandboxFault
from generators.task import Limits

if TYPE_CHECKING:
    from containers.engines.apptainer.engine import ApptainerEngine

_OWN_MB, _OWN_PIDS = 64, 18  # what Apptainer's own processes take of a group's limits
_ISOLATED = ("--containall", "--cleanenv", "--no-home", "--no-umask", "--no-eval", "--no-mount", "bind-paths")
_OVERLAY = 'mkdir -p "$1/upper" "$1/work" "$2" && mount -t overlay -o "$3" overlay "$2" && shift 3 && exec "$@"'
_RESOLVER = "/etc/resolv.conf"
_SIF = ".sif"
_DELETED, _REPLACED = ".wh.", (".wh..opq", ".wh..wh..opq")
_numbers = itertools.count()


class ApptainerSandbox(BubblewrapSandbox):
    """A live sandbox: an enclosure, and in it one instance over a stack of overlays."""

    engine: ApptainerEngine

    def __init__(self, engine: ApptainerEngine, built: BuiltImage, limits: Limits, options: StartOptions) -> None:
        own = limits.model_copy(update={"memory_mb": limits.memory_mb + _OWN_MB, "pids": limits.pids + _OWN_PIDS})
        super().__init__(engine, built, own, options)
        self.limits = limits
        self._enclosure: Enclosure | None = None
        self._monitor = -1
        self._born: frozenset[str] = frozenset()

    def open(
        self, *, network: bool = False, persistent: tuple[Path, Path] | None = None, binds: Sequence[str] = ()
    ) -> Self:
        """Start the instance. `persistent` (upper and work, in one folder) keeps the writable layer, for builds."""
        state = self.engine.state
        box = persistent[0].parent if persistent else state.folder("mnt") / "box"
        names = ["--bind", f"{os.path.realpath(_RESOLVER)}:{_RESOLVER}:ro"]
        options = [*_ISOLATED, "--uts", "--hostname", self.options.hostname, *binds]
        options += names if network else ["--net", "--network", "none"]
        argv = self._stack(options, box, f"{state.owner}-{next(_numbers)}")
        try:
            self._enclosure = Enclosure(state, self.slot.warden, self.engine.ids, f"{self.limits.disk_mb}m", argv)
            self._take_hold(self._enclosure)
            upper = str(persistent[0]) if persistent else str(self._enclosure.path("box/upper"))
            self._upper = os.open(upper, os.O_PATH | os.O_DIRECTORY)
            self._fds.append(self._upper)
            if self.built.layers[0].endswith(_SIF):
                self._born = frozenset(super().changed_paths())  # Apptainer prepares folders there
            if self._clock:
                self.put([PutFile(CLOCK, self._clock.read_bytes(), 0o755)])
        except BaseException:
            self.close()
            raise
        return self

    def _stack(self, options: Sequence[str], box: Path, name: str) -> list[str]:
        """The command that puts the layers together and starts the instance.

        Over a directory the overlay is ours: Apptainer's own does not know `userxattr`, without which a folder of the image can
        not be removed. Over a SIF file it is Apptainer's, by way of fuse-overlayfs.
        """
        state = self.engine.state
        image, *layers = self.built.layers
        start = enclosure.command(state, "instance", "start", *options)
        if image.endswith(_SIF):
            below = [word for layer in layers for word in ("--overlay", f"{Path(layer).parent}:ro")]
            return [*start, *below, "--overlay", str(box), image, name]
        root = str(state.folder("mnt") / "root")
        lower = ":".join([*reversed(layers), image])
        overlay = f"userxattr,lowerdir={lower},upperdir={box}/upper,workdir={box}/work"
        return ["sh", "-c", _OVERLAY, "sh", str(box), root, overlay, *start, "--writable", root, name]

    def _take_hold(self, held: Enclosure) -> None:
        """Descriptors of the instance's processes and namespaces."""
        monitor, first = held.instance()
        self._monitor = os.pidfd_open(monitor)
        self._fds.append(self._monitor)
        self._entrance = Entrance.of(first)
        if self._entrance is None:
            raise SandboxFault("the instance ended as soon as it was started")
        self._namespaces = self._entrance.namespaces

    def changed_paths(self) -> list[str]:
        """Paths that differ from the image, sorted; deleted ones too. fuse-overlayfs marks what is deleted by names."""
        found: set[str] = set()
        for path in super().changed_paths():
            folder, _, name = path.rpartition("/")
            if name.startswith(_DELETED):
                name = "" if name in _REPLACED else name.removeprefix(_DELETED)
            if name:
                found.add(f"{folder}/{name}")
        return sorted(found - self._born)

    def end_processes(self) -> None:
        """Kill the instance's first process, and with it all others in there. Its monitor goes first: it would tidy up what
        grading still needs (`instance stop` takes a second, too)."""
        if self._entrance is not None and not self._ended:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._monitor, signal.SIGKILL)
            self._entrance.end()
            self._ended = True

    def close(self) -> None:
        """Destroy it: the enclosure and all in it, descriptors, then the control group."""
        if self._closed:
            return
        self._closed = True
        ended = True
        if self._enclosure is not None:
            try:
                self._enclosure.close()
            except SandboxFault:
                ended = False
        for fd in self._fds:
            os.close(fd)
        if self._entrance is not None:
            self._entrance.close()
        self.engine.slots.give(self.slot, clean=ended)
