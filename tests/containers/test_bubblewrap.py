"""What only the embedded engine promises; what every engine does is tested in conformance/."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine, BubblewrapSandbox
from containers.engines.bubblewrap.slots import Slot
from containers.linux import cgroups
from containers.sandbox import GradeRequest, StartOptions
from containers.shell import Shell
from containers.streams import Descriptor, readable
from generators.errors import SandboxFault
from generators.task import ContextFile, Image, Limits
from tests.toys import dockerfile, toy

LIMITS = Limits(memory_mb=128, disk_mb=32, pids=64)


def test_builds_of_one_dockerfile_share_their_layers(engine: BubblewrapEngine) -> None:
    one, two = (engine.build(toy().image, LIMITS) for _ in range(2))
    assert one.layers == two.layers and len(one.layers) > 1


def test_a_sandboxs_control_group_is_empty_after_it(engine: BubblewrapEngine) -> None:
    sandbox = engine.start(engine.build(toy().image, LIMITS), LIMITS)
    sandbox.exec("setsid sleep 99 > /dev/null 2>&1 &", timeout=10)
    sandbox.close()
    emptied(sandbox.slot)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (("--no-such-option",), "Unknown option"),  # before it forks
        (("--ro-bind", "/nowhere", "/mnt"), "Can't find source path /nowhere"),  # after
    ],
)
def test_one_that_cannot_start_says_why_at_once_and_leaves_nothing(
    engine: BubblewrapEngine, wrong: tuple[str, ...], why: str
) -> None:
    sandbox = BubblewrapSandbox(engine, engine.build(toy().image, LIMITS), LIMITS, StartOptions())
    began = time.monotonic()
    with pytest.raises(SandboxFault, match=why):
        sandbox.open(binds=wrong)
    assert time.monotonic() - began < 10, "it waited for what had ended"
    if sandbox.slot.warden.process.poll() is None:  # its place is used again
        emptied(sandbox.slot)


def test_one_that_was_killed_before_it_was_asked_for_is_a_fault_and_the_next_starts(engine: BubblewrapEngine) -> None:
    built, limits = engine.build(toy().image, LIMITS), LIMITS.model_copy(update={"pids": 66})  # a place of its own
    with engine.start(built, limits) as sandbox:
        keeper, deadline = sandbox.slot.warden.process.pid, time.monotonic() + 10
        own = _bubblewraps(keeper)
    while not (waiting := _waiting(keeper) - {*own}) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in waiting:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxFault, match="bubblewrap did not start"):
        engine.start(built, limits)
    with engine.start(built, limits) as sandbox:
        assert sandbox.exec("hostname", timeout=10).stdout == b"sandbox\n"


def _waiting(keeper: int) -> set[int]:
    """What a keeper has begun of sandboxes that nobody asked for yet: they have no first process."""
    return {pid for pid in _bubblewraps(keeper) if not _children(pid)}


def _bubblewraps(keeper: int) -> list[int]:
    return [pid for pid in _children(keeper) if _name(pid) == "bwrap"]


def _children(pid: int) -> list[int]:
    return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]


def _name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return ""


def test_alike_ones_are_whole_before_they_are_asked_for_and_each_is_new(engine: BubblewrapEngine) -> None:
    built = engine.build(toy().image, LIMITS)
    look = (
        "hostname; cat /srv/left /dev/shm/left /tmp/left; echo left | tee /srv/left /dev/shm/left /tmp/left > /dev/null"
    )
    for name in ("sandbox",) * 4 + ("other",) * 3 + ("sandbox",):
        with engine.start(built, LIMITS, StartOptions(hostname=name)) as sandbox:
            assert sandbox.exec(look, timeout=10).stdout == f"{name}\n".encode()


@pytest.mark.parametrize("which", ["bubblewrap", "first process"])
def test_a_whole_one_that_was_killed_is_replaced(engine: BubblewrapEngine, which: str) -> None:
    built = engine.build(toy().image, LIMITS)
    for _ in range(3):
        with engine.start(built, LIMITS) as sandbox:
            pass
    bubblewrap = whole(sandbox.slot)
    [first] = _children(bubblewrap)
    gone = os.pidfd_open(first)
    os.kill(bubblewrap if which == "bubblewrap" else first, signal.SIGKILL)
    assert readable([Descriptor(gone)], 10)
    os.close(gone)
    with engine.start(built, LIMITS) as sandbox:
        assert sandbox.exec("hostname", timeout=10).stdout == b"sandbox\n"


def test_a_whole_one_is_not_used_where_its_image_was_made_again(engine: BubblewrapEngine) -> None:
    image, stock = Image(dockerfile=dockerfile(), files=(ContextFile.of("numbers.txt", "4711\n"),)), engine.stock()
    for _ in range(2):
        for _ in range(3):
            built = engine.build(image, LIMITS)
            with engine.start(built, LIMITS) as sandbox:
                assert sandbox.exec("cat /srv/numbers.txt", timeout=10).stdout == b"4711\n"
        whole(sandbox.slot)
        assert stock.forget(next(name for name in stock.names(built) if built.own_layers[-1].startswith(name)))


def test_a_bubblewrap_that_is_killed_while_it_begins_leaves_nothing(
    engine: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first process first waits for it, for ever."""
    monkeypatch.setattr(engine.slots, "hierarchy", cgroups.Hierarchy(1, {}))  # a group would be emptied
    built, limits = engine.build(toy().image, LIMITS), LIMITS.model_copy(update={"pids": 65})
    with ThreadPoolExecutor(1) as pool:
        for _ in range(30):
            sandbox = BubblewrapSandbox(engine, built, limits, StartOptions())
            first = pool.submit(_killed_with_a_child, sandbox.slot.warden.process.pid)
            with contextlib.suppress(SandboxFault):
                sandbox.open()
            gone = Descriptor(first.result(10))
            sandbox.close()
            assert readable([gone], 10)
            os.close(gone.fd)


def _killed_with_a_child(keeper: int) -> int:
    """Kill a keeper's bubblewrap as soon as it has a child, to be held on to by this descriptor."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in _bubblewraps(keeper):
            for child in _children(pid):
                with contextlib.suppress(ProcessLookupError):
                    first = os.pidfd_open(child)
                    os.kill(pid, signal.SIGKILL)
                    return first
    raise AssertionError("it had none")


def whole(slot: Slot) -> int:
    """The bubblewrap of a sandbox that nobody asked for yet, when its first process is there."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in _bubblewraps(slot.warden.process.pid):
            if "cat" in map(_name, _children(pid)):
                return pid
        time.sleep(0.01)
    raise AssertionError("none was made")


def emptied(slot: Slot) -> None:
    """Nothing is in a slot's group but its keeper, and what waits for work."""
    group, keeper = slot.group, {slot.warden.process.pid}
    children = 2  # of the keeper, which wait for the next request
    deadline = time.monotonic() + 5
    while group and len(group.pids() - keeper) > children and time.monotonic() < deadline:
        time.sleep(0.01)
    assert group is None or len(group.pids() - keeper) <= children


def test_a_shell_outlives_a_flood_of_processes(engine: BubblewrapEngine) -> None:
    task = toy(limits=Limits(pids=40))
    with engine.start(engine.build(task.image, task.limits), task.limits) as sandbox, Shell(sandbox) as shell:
        flood = shell.run("bomb() { bomb | bomb & }; bomb; while :; do :; done", 2)  # sleep may find no process left
        assert flood.timed_out
        assert shell.run("echo alive", 10).stdout == b"alive\n"


def groups_of(engine: BubblewrapEngine) -> set[str]:
    """Those of this process."""
    return {name for name in cgroups.find(engine.hierarchy) if name.startswith(engine.state.owner)}


def test_an_engine_that_ends_takes_the_group_of_a_grading_with_it(engine: BubblewrapEngine) -> None:
    """Also where nobody closed the sandbox."""
    if not engine.hierarchy.roots:
        pytest.skip("no control groups on this machine")
    before = groups_of(engine)
    with BubblewrapEngine(engine.state) as another:
        sandbox = another.start(another.build(toy().image, LIMITS), LIMITS)
        assert sandbox.grade(GradeRequest(toy().completion_tests.source)).valid
        assert len(groups_of(engine) - before) == 2  # its own, and that of the grading
    assert groups_of(engine) <= before
