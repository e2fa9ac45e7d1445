"""Images below a ceiling, and disks that fill: on a file system of the tests' own, so that nothing real is forgotten or full."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.housekeeping import GIB, Uses, in_use, preflight, trim
from containers.pool import Pool
from containers.proof import batch
from containers.proof.batch import prove_all
from containers.proof.store import ProofStore
from containers.sandbox import BuiltImage
from containers.state import State, start_time
from generators.errors import SandboxFault, StorageError, UsageError
from generators.task import Image, Limits
from tests.toys import SOLUTION, dockerfile, toy

BODY = "FROM debian:bookworm-slim\nRUN head -c 1000000 /dev/urandom > /{name}\n"
PACKAGES = "FROM debian:bookworm-slim\nRUN echo >> /var/lib/dpkg/status && head -c 2000000 /dev/urandom > /packages\n"


@pytest.fixture
def small(engine: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[BubblewrapEngine]:
    """An engine whose state lies on a small file system of its own, with the base that the real one has."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    monkeypatch.setenv("TERMFORGE_FREE_GIB", "0.01")
    layers = [Path(layer).parent for layer in engine.build(toy().image, Limits()).layers]
    home = Path(tempfile.mkdtemp(prefix="termforge-small-", dir="/var/tmp"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m,mode=755", "tmpfs", home], check=True)
    try:
        for folder in layers:
            (home / folder.parent.name).mkdir(exist_ok=True)
            subprocess.run(["cp", "-a", folder, home / folder.parent.name], check=True)
        engine.clock_library()
        subprocess.run(["cp", "-a", engine.state.folder("tools"), home], check=True)
        home.chmod(0o755)
        with BubblewrapEngine(State(home)) as opened:
            yield opened
    finally:
        subprocess.run(["umount", home], check=True)
        home.rmdir()


def build(engine: BubblewrapEngine, name: str) -> BuiltImage:
    return engine.build(Image(dockerfile=BODY.format(name=name)), Limits())


def use(engine: BubblewrapEngine, built: BuiltImage) -> None:
    with Pool(engine, 1) as pool, pool.lease(built, Limits()) as sandbox:
        sandbox.exec("true", timeout=10)


def are_there(engine: BubblewrapEngine, *images: BuiltImage) -> list[bool]:
    return [Path(built.layers[-1]).exists() for built in images]


# --- below a ceiling -------------------------------------------------------------------------------------------------------------


def test_the_least_recently_used_goes_first_and_comes_back_when_built_again(small: BubblewrapEngine) -> None:
    first, second, third = (build(small, name) for name in ("first", "second", "third"))
    for built in (second, third, first, small.build(toy().image, Limits())):
        use(small, built)
    kept = {image.name: image for image in small.stock().images()}
    sizes = [kept[str(Path(built.layers[-1]).parent)].bytes for built in (first, second, third)]
    assert all(1_000_000 <= size < 1_100_000 for size in sizes)
    total = sum(image.bytes for image in kept.values())
    trimmed = trim(small, total - sizes[1] - 1)
    assert (trimmed.images, trimmed.bytes, trimmed.left) == (2, sizes[1] + sizes[2], total - sizes[1] - sizes[2])
    assert are_there(small, first, second, third) == [True, False, False]
    again = build(small, "second")
    use(small, again)
    assert again.digest == second.digest and not list(small.state.folder("tmp").iterdir())


def test_bases_and_packages_stay_unless_they_alone_are_too_much(small: BubblewrapEngine) -> None:
    packages = small.build(Image(dockerfile=PACKAGES), Limits())
    task = build(small, "task")
    kept = small.stock().images()
    shared = sum(image.bytes for image in kept if image.shared)
    trim(small, shared)
    assert are_there(small, packages, task) == [True, False]
    assert trim(small, shared - 1).images >= 1
    assert trim(small, 0).left == 0 and not are_there(small, packages)[0]


def test_what_is_in_use_by_any_process_stays(small: BubblewrapEngine) -> None:
    leased, others, idle = (build(small, name) for name in ("leased", "others", "idle"))
    elsewhere = subprocess.Popen(["sleep", "60"])
    try:
        names = small.stock().names(others)
        told = small.state.folder("tmp") / f"{elsewhere.pid}-{start_time(elsewhere.pid)}-uses-0"
        told.write_text("\n".join(names))
        with Pool(small, 1) as pool, pool.lease(leased, Limits()) as sandbox:
            trim(small, 0)
            assert are_there(small, leased, others, idle) == [True, True, False]
            assert sandbox.exec("wc -c < /leased", timeout=10).stdout == b"1000000\n"
        trim(small, 0)
        assert are_there(small, leased, others) == [False, True]
    finally:
        elsewhere.kill()
        elsewhere.wait()
    assert names[0] not in in_use(small.state)
    assert trim(small, 0).left == 0


def test_leases_and_trimming_at_once_never_take_a_layer_from_a_sandbox(small: BubblewrapEngine) -> None:
    stop, wrong = threading.Event(), list[str]()

    def trimming() -> None:
        while not stop.is_set():
            trim(small, 0)

    def leasing(number: int) -> None:
        for _ in range(12):
            try:
                built = build(small, f"n{number}")
                with Pool(small, 1) as pool, pool.lease(built, Limits()) as sandbox:
                    for _ in range(5):
                        said = sandbox.exec(f"wc -c < /n{number}; ls /usr/bin | wc -l", timeout=10)
                        if said.stdout.split()[:1] != [b"1000000"] or int(said.stdout.split()[1]) < 100:
                            wrong.append(said.tail())
            except (SandboxFault, OSError):  # it went before the lease had it: built again by who retries
                continue

    keep = threading.Thread(target=trimming)
    threads = [threading.Thread(target=leasing, args=(number,)) for number in range(3)]
    base = small.build(Image(dockerfile="FROM debian:bookworm-slim\n"), Limits())
    with Uses(small).of(base):  # or it would be made again each time
        for thread in (*threads, keep):
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        keep.join()
    assert not wrong


def test_the_ceiling_is_kept_before_builds(small: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = build(small, "idle")
    shared = sum(image.bytes for image in small.stock().images() if image.shared)
    monkeypatch.setenv("TERMFORGE_IMAGES_GIB", str((shared + 500_000) / GIB))
    (proven,) = prove_all(small, [toy()], attacked=set())
    assert proven.evidence.proven, proven.evidence
    assert are_there(small, idle) == [False]
    monkeypatch.setenv("TERMFORGE_IMAGES_GIB", "much")
    with pytest.raises(UsageError, match="TERMFORGE_IMAGES_GIB is 'much'"):
        next(prove_all(small, [toy()], attacked=set()))


# --- a disk that fills -------------------------------------------------------------------------------------------------------------


def fill(engine: BubblewrapEngine) -> Path:
    """Leave 8 MiB on the engine's disk."""
    hog = engine.state.home / "hog"
    free = shutil.disk_usage(engine.state.home).free
    with hog.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - (8 << 20))
    return hog


def test_no_room_is_said_before_work_begins(small: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMFORGE_FREE_GIB", "0.05")
    preflight(small)
    fill(small)
    with pytest.raises(
        StorageError, match=r"only 0\.0 GiB are free at .*/layers \(0\.05 are needed\); free some"
    ) as raised:
        next(prove_all(small, [toy()], attacked=set()))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("freed", [True, False])
def test_a_disk_that_fills_midway_makes_tasks_wait_then_invalid_never_a_score(
    small: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, freed: bool
) -> None:
    monkeypatch.setenv("TERMFORGE_FREE_GIB", "0.05")
    monkeypatch.setattr(batch, "_PAUSE", 0.0)
    tasks, results = [toy(solution=f"{SOLUTION} # {number}") for number in range(4)], list[batch.Proven]()
    hog, timer = None, threading.Timer(3, lambda: hog and hog.unlink())
    for proven in prove_all(small, tasks, ProofStore(tmp_path), 1, attacked=set(), patience=60 if freed else 1):
        results.append(proven)
        if hog is None:
            hog = fill(small)
            if freed:
                timer.start()
    assert {proven.task.digest for proven in results} == {task.digest for task in tasks} and len(results) == 4
    invalid = [proven.evidence for proven in results if not proven.evidence.valid]
    assert not [proven for proven in results if proven.evidence.valid and not proven.evidence.proven]
    if freed:
        timer.join()
        assert not invalid
    else:
        assert invalid and all("GiB are free" in evidence.fault for evidence in invalid)
        hog.unlink()
        again = list(prove_all(small, tasks, ProofStore(tmp_path), 1, attacked=set()))
        assert all(proven.evidence.proven for proven in again)
        assert sum(not proven.cached for proven in again) == len(invalid)


def test_a_build_that_fills_the_disk_is_no_fault_of_the_task(
    small: BubblewrapEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERMFORGE_FREE_GIB", "0.001")
    monkeypatch.setattr(batch, "_PAUSE", 0.0)
    fill(small)
    body = "COPY numbers.txt /srv/\nRUN head -c 20000000 /dev/zero > /big\n"
    image = toy().image.model_copy(update={"dockerfile": dockerfile(body)})
    (proven,) = prove_all(small, [toy(image=image)], attacked=set(), patience=20)
    assert not proven.evidence.valid and proven.evidence.fault.startswith("build failed, and meanwhile ")
