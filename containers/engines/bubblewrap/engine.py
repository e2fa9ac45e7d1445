"""The embedded engine: bubblewrap over overlay layers, in a user namespace whose root is nobody on the host. No daemon.

Protected: the host's files, processes, network and kernel interfaces; other sandboxes. Limits need control groups
(`doctor` says where they are missing). Not protected: a bug in the kernel itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Self

from containers import layers, probe, reaper, rootfs
from containers.engines.bubblewrap.sandbox import BubblewrapSandbox
from containers.engines.bubblewrap.slots import Slots
from containers.grading.entered import Graders
from containers.grading.groups import GraderGroups
from containers.linux import cgroups, identity
from containers.proof import leak
from containers.sandbox import DEFAULT_PATH, BuiltImage, Capability, Gap, StartOptions
from containers.state import State, default_state
from containers.stock import FolderStock
from containers.warden.client import Warden
from containers.warden.making import Making
from generators.bases import Base, preamble
from generators.digest import sha256_hex
from generators.errors import EngineError, SandboxFault
from generators.task import ContextFile, Image, Limits


class BubblewrapEngine:
    """Builds images as overlay layers and starts sandboxes over them. Safe for several threads."""

    name = "bubblewrap"

    def __init__(self, state: State | None = None, say: Callable[[str], None] = lambda _: None) -> None:
        self._prepare(state, say)
        bwrap, env = probe.install_bwrap(self.state)
        scratch = str(self.state.folder("mnt"))
        self._open(Making(str(bwrap), {"PATH": DEFAULT_PATH, **env}, scratch, 0))

    def _prepare(self, state: State | None, say: Callable[[str], None]) -> None:
        """Find the state folder, and make sure that sandbox ids can pass to it."""
        self.state, self.say = state or default_state(), say
        self.state.prepare()
        if blocked := self.state.blocked_by():
            raise EngineError(
                f"{blocked} cannot be passed by the sandbox's ids, so nothing below it can be used; set TERMFORGE_HOME to a "
                f"place whose parents all have mode o+x"
            )

    def _open(self, making: Making | None = None) -> None:
        """Start what sandboxes need, try it, and remove what a killed run left."""
        self.ids = identity.id_map()
        self.hierarchy = cgroups.detect()
        self._clock_lock = threading.Lock()
        self.graders = Graders(self.ids)
        self.groups = GraderGroups(self.hierarchy, self.state.owner)
        self._keeper: Warden | None = None
        self._keeper_lock = threading.Lock()
        self.slots = Slots(self.hierarchy, self.ids, self.state.owner, making)
        self._must_have_namespaces()
        self.reaped = reaper.reap(self.state, self.warden, self.ids, self.hierarchy)

    @property
    def warden(self) -> Warden:
        """The keeper for work that is not a sandbox's: a new one where the last one was killed."""
        with self._keeper_lock:
            if self._keeper is None or self._keeper.process.poll() is not None:
                if self._keeper is not None:
                    self._keeper.close()
                self._keeper = Warden("keeper", self.ids)
            return self._keeper

    def _must_have_namespaces(self) -> None:
        """Try a user namespace for real: only that tells."""
        try:
            code = rootfs.run_as_root(["true"], self.warden, self.ids)
        except SandboxFault as fault:
            self.close()
            remedy = next((item.remedy for item in probe.bubblewrap(self.state) if item.name == "user namespaces"), "")
            raise EngineError(
                f"user namespaces cannot be used here ({fault}); try: {remedy or probe.NAMESPACE_REMEDY}"
            ) from fault
        if code:
            raise EngineError(f"a program run in a user namespace ended with {code}; run `termforge doctor`")

    def clock_library(self) -> Path:
        """The library that shifts the wall clock (proof/clock.c); compiled in a sandbox on first use."""
        source = files("containers.proof").joinpath("clock.c").read_text()
        target = self.state.folder("tools") / f"clock-{sha256_hex(source)[:12]}.so"
        with self._clock_lock:
            if not target.exists():
                body = "COPY clock.c /\nRUN gcc -O2 -Wall -shared -fPIC -o /clock.so /clock.c\n"
                image = Image(dockerfile=preamble(Base.BUILD) + body, files=(ContextFile.of("clock.c", source),))
                with self.start(self.build(image, Limits()), Limits()) as sandbox:
                    library = sandbox.get("/clock.so")
                part = self.state.folder("tmp") / f"{self.state.owner}-clock"
                part.write_bytes(library)
                part.chmod(0o755)
                part.replace(target)
        return target

    def probe(self) -> list[Capability]:
        """What this machine can do for sandboxes."""
        return probe.bubblewrap(self.state)

    def build(self, image: Image, limits: Limits) -> BuiltImage:
        """Build an image step by step, reusing every layer that is there."""
        return layers.build(self, image, limits)

    def start(self, built: BuiltImage, limits: Limits, options: StartOptions | None = None) -> BubblewrapSandbox:
        """Start a sandbox of a built image."""
        return BubblewrapSandbox(self, built, limits, options or StartOptions()).open()

    def start_for_build(
        self, built: BuiltImage, limits: Limits, upper: Path, work: Path, network: bool
    ) -> BubblewrapSandbox:
        """A sandbox whose writable layer stays on disk; with the host's network where that is wanted."""
        sandbox = BubblewrapSandbox(self, built, limits, StartOptions(hostname="build"))
        binds = probe.network_binds() if network else ()
        return sandbox.open(network=network, persistent=(upper, work), binds=binds)

    def contents(self, built: BuiltImage) -> Iterator[tuple[str, bytes]]:
        """Names and contents of the files an image adds to the distribution's packages, in every layer."""
        for layer in built.own_layers:
            yield from leak.layer_files(rootfs.tree_as_tar(Path(layer), self.warden, self.ids))
        if any(next(Path(layer).rglob("objects"), None) for layer in built.own_layers):
            yield from layers.git_objects(self, built)

    def stock(self) -> FolderStock:
        """Layers and bases."""
        state = self.state
        return self._stock((state.folder("layers"), state.folder("rootfs")), state.folder("tmp"))

    def _stock(self, roots: Sequence[Path], trash: Path) -> FolderStock:
        return FolderStock(roots, trash, self.state.owner, lambda path: rootfs.remove_tree(path, self.warden, self.ids))

    def close(self) -> None:
        """End the wardens and every sandbox with them."""
        self.slots.close()
        if self._keeper is not None:
            self._keeper.close()
        self.graders.close()
        self.groups.close()

    def gaps(self) -> tuple[Gap, ...]:
        """Limits, where this machine gives no control groups."""
        return probe.limit_gaps(self.hierarchy)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
