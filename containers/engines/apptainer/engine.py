"""The Apptainer engine. Its instances are entered, limited and graded as the embedded engine's sandboxes are.

Protected: what the embedded engine protects, by the same means (see __init__). Not protected: a bug in the kernel itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from containers import layers, probe
from containers.engines.apptainer import enclosure, images
from containers.engines.apptainer.enclosure import Enclosure
from containers.engines.apptainer.images import Form
from containers.engines.apptainer.sandbox import ApptainerSandbox
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.sandbox import BuiltImage, Capability, StartOptions
from containers.state import State
from containers.stock import FolderStock
from generators.errors import EngineError, SandboxFault, UsageError
from generators.task import Image, Limits

_FORMS: tuple[Form, ...] = ("directory", "sif")


class ApptainerEngine(BubblewrapEngine):
    """Builds images with Apptainer and starts instances of them. Safe for several threads.

    `form` is how images of packages are kept: a directory (starts faster), or one SIF file (kinder to a cluster's file system).
    """

    name = "apptainer"

    def __init__(
        self,
        state: State | None = None,
        say: Callable[[str], None] = lambda _: None,
        form: Form | None = None,
    ) -> None:
        self.form = form or _form()
        self.unserved: set[str] = set()  # names that no registry gave us
        enclosure.program()
        self._prepare(state, say)
        self.images = images.prepare(self.state)
        self.unfinished = images.unfinished(self.state)
        self._open()
        images.reap(self)

    def probe(self) -> list[Capability]:
        """What this machine can do for the engine."""
        return [
            *_program_lines(),
            *_shared_lines(self.state),
            self._enclosure_line(),
            self._cache_line(),
        ]

    def build(self, image: Image, limits: Limits) -> BuiltImage:
        """Build an image over the shared image of its packages, or find it."""
        return images.build(self, image, limits)

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> ApptainerSandbox:
        """Start a sandbox of a built image."""
        return ApptainerSandbox(self, built, limits, options or StartOptions()).open()

    def start_for_steps(self, built: BuiltImage, limits: Limits, work: Path, network: bool) -> ApptainerSandbox:
        """A sandbox whose writable layer stays on disk, in work/upper; with the host's network where that is wanted."""
        sandbox = ApptainerSandbox(self, built, layers.replace_memory(limits), StartOptions(hostname="build"))
        return sandbox.open(network=network, persistent=(work / "upper", work / "work"))

    def stock(self) -> FolderStock:
        """Images of packages and of tasks, and the bases below them."""
        return self._stock((self.images, self.state.folder("rootfs")), self.images / "tmp")

    def _enclosure_line(self) -> Capability:
        """Make one for real: only that tells."""
        try:
            with Enclosure(self.state, self.warden, self.ids, "1m"):
                pass
        except SandboxFault as fault:
            return Capability("enclosure", False, str(fault), probe.NAMESPACE_REMEDY)
        who = "an unprivileged id" if os.geteuid() == 0 else "you"
        return Capability(
            "enclosure", True, f"root in a sandbox is {who} on this machine; its memory is private and limited"
        )

    def _cache_line(self) -> Capability:
        free = shutil.disk_usage(self.images).free
        detail = f"{self.images} ({free / 2**30:.1f} GiB free), packages as {self.form}"
        return Capability("image cache", free > probe.LOW_DISK, detail, "free some space, or set APPTAINER_CACHEDIR")


def _form() -> Form:
    named = os.environ.get("TERMFORGE_APPTAINER_IMAGES", "directory")
    for form in _FORMS:
        if form == named:
            return form
    raise UsageError(f"TERMFORGE_APPTAINER_IMAGES is {named!r}; it can be {' or '.join(_FORMS)}")


def version() -> str:
    """What Apptainer says it is; empty where it does not answer."""
    with contextlib.suppress(EngineError, OSError, subprocess.SubprocessError):
        said = subprocess.run([enclosure.program(), "--version"], capture_output=True, text=True, timeout=30)
        return said.stdout.strip()
    return ""


def _program_lines() -> list[Capability]:
    found = version()
    fuse = shutil.which("squashfuse_ll") or shutil.which("squashfuse")
    usable = bool(fuse) and os.access("/dev/fuse", os.R_OK | os.W_OK)
    remedy = "install squashfuse and fuse-overlayfs, and let everybody use /dev/fuse; directory images need neither"
    return [
        Capability(
            "apptainer", bool(found), found or "missing", "install Apptainer 1.2 or newer: https://apptainer.org"
        ),
        Capability(
            "SIF images", usable, "squashfuse mounts them" if usable else "cannot be mounted", remedy, needed=False
        ),
    ]


def _shared_lines(state: State) -> list[Capability]:
    """What the embedded engine needs too, but for bubblewrap itself."""
    return [line for line in probe.bubblewrap(state) if line.name not in ("bubblewrap", "disk")]
