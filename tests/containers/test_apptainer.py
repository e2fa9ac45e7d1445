"""What is Apptainer's own: images and where they are kept, both of their forms, and what a killed run leaves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.engines.apptainer import building, images
from containers.engines.apptainer.engine import ApptainerEngine
from containers.rootfs import tree_as_tar
from containers.sandbox import BuildFailure, GradeRequest
from containers.state import State
from containers.streams import Descriptor, readable
from generators.errors import EngineError, UsageError
from generators.task import ContextFile, Image, Limits
from tests.containers.conformance.common import on_host, said
from tests.engines import open_engine

LIMITS = Limits(memory_mb=128, disk_mb=32, pids=64)
BODY = """\
FROM debian:bookworm-slim
ENV WORD="it's {{ no variable }} % $$" PLAIN=1
RUN useradd -m -u 1000 ada && mkdir /srv/old && touch /srv/old/one
COPY --chown=ada:ada --chmod=640 data/ /srv/app/
SHELL ["/bin/bash", "-c"]
WORKDIR /srv/app
USER ada
RUN [[ $WORD == it* ]] && id -un > ~/who && pwd > "$HOME/a file %"
"""
FILES = (ContextFile.of("data/{{ x }}", "x"), ContextFile.of("data/sub/y z", bytes(range(256))))
IMAGE = Image(dockerfile=BODY, files=FILES)
VICTIM = """
import sys, time
from containers.engines.apptainer.engine import ApptainerEngine
from tests.containers.test_apptainer import IMAGE, LIMITS
engine = ApptainerEngine()
sandbox = engine.start(engine.build(IMAGE, LIMITS), LIMITS)
sandbox.exec("setsid sleep 4343 > /dev/null 2>&1 & until grep -l ^sleep /proc/*/comm; do :; done", timeout=10)
(engine.unfinished / f"{engine.state.owner}-half-built").mkdir()
print(engine.state.owner, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def apptainer() -> Iterator[ApptainerEngine]:
    opened = open_engine("apptainer")
    assert isinstance(opened, ApptainerEngine)
    with opened:
        yield opened


@pytest.fixture(scope="module")
def sif(apptainer: ApptainerEngine) -> Iterator[ApptainerEngine]:
    if not next(line for line in apptainer.probe() if line.name == "SIF images").ok:
        pytest.skip("SIF images cannot be mounted on this machine; `termforge doctor` says what to do")
    with ApptainerEngine(say=print, form="sif") as opened:
        yield opened


def listing(engine: ApptainerEngine, layer: Path, below: str) -> dict[str, tuple[int, int, bytes | None]]:
    """Mode, owner and content of all that a layer holds below a folder."""
    with tarfile.open(fileobj=io.BytesIO(tree_as_tar(layer, engine.warden, engine.ids))) as tar:
        found: dict[str, tuple[int, int, bytes | None]] = {}
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if member.name.startswith(below):
                found[member.name] = (member.mode, member.uid, file.read() if file else None)
        return found


def test_apptainer_builds_the_same_files_from_the_definition(apptainer: ApptainerEngine) -> None:
    place = apptainer.unfinished / f"{apptainer.state.owner}-export"
    place.mkdir()
    try:
        whole = images.export(apptainer, IMAGE, place, "directory")
        layer = Path(apptainer.build(IMAGE, LIMITS).own_layers[0])
        for below in ("./srv/", "./home/"):
            expected = listing(apptainer, layer, below)
            assert listing(apptainer, whole, below) == expected and expected
        script = f'. {whole}/.singularity.d/env/90-environment.sh; printf %s "$WORD"'
        assert (
            subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout == "it's {{ no variable }} % $$"
        )
        assert not (whole / ".termforge-context").exists()
    finally:
        building.discard(apptainer, place)


def test_nothing_of_a_build_gets_into_its_image(apptainer: ApptainerEngine) -> None:
    built = apptainer.build(IMAGE, LIMITS)
    names = listing(apptainer, Path(built.own_layers[0]), "./")
    assert not [
        name for name in names if "termforge" in name or name.startswith(("./dev", "./etc/resolv", "./etc/pip"))
    ]


def test_folders_of_the_image_can_be_replaced(apptainer: ApptainerEngine) -> None:
    with apptainer.start(apptainer.build(IMAGE, LIMITS), LIMITS) as sandbox:
        assert said(sandbox, "rm -r /srv/old /etc/apt && mkdir /srv/old && ls -A /srv/old; echo $?", "root") == "0"


def test_a_sif_file_does_as_well(sif: ApptainerEngine) -> None:
    built = sif.build(IMAGE, LIMITS)
    assert built.layers[0].endswith(".sif")
    with sif.start(built, LIMITS) as sandbox:
        assert sandbox.changed_paths() == []
        assert said(sandbox, "id -un; pwd; cat ~/who").split() == ["ada", "/srv/app", "ada"]
        sandbox.exec("rm -r /srv/old; mkdir /srv/old; rm /srv/app/sub/*; echo 1 > /srv/new", timeout=20, user="root")
        assert {"/srv/new", "/srv/old", "/srv/app/sub/y z"} <= set(sandbox.changed_paths())
        assert not [path for path in sandbox.changed_paths() if ".wh." in path]
        test = "import os\ndef test_it():\n    assert os.listdir('/srv/old') == [] and os.path.exists('/srv/new')\n"
        assert sandbox.grade(GradeRequest(test)).tests[0].passed


def test_packages_that_do_not_exist_are_the_tasks_fault(apptainer: ApptainerEngine) -> None:
    install = "apt-get update && apt-get install -y --no-install-recommends no-such-package-here && rm -rf /var/lib/apt/lists/*"
    with pytest.raises(BuildFailure) as caught:
        apptainer.build(Image(dockerfile=f"FROM debian:bookworm-slim\nRUN {install}\n"), LIMITS)
    assert caught.value.reason == "build_failed" and "no-such-package-here" in caught.value.output
    assert not list(apptainer.unfinished.glob(f"{apptainer.state.owner}-*"))


def test_packages_that_take_too_long_are_ended(apptainer: ApptainerEngine) -> None:
    install = "apt-get update && apt-get install -y --no-install-recommends sl && rm -rf /var/lib/apt/lists/*"
    with pytest.raises(BuildFailure) as caught:
        apptainer.build(Image(dockerfile=f"FROM debian:bookworm-slim\nRUN {install}\n"), Limits(build_seconds=1))
    assert caught.value.reason == "build_timeout"
    assert not on_host(b"apt-get\0update")


def test_nothing_survives_kill_9(apptainer: ApptainerEngine) -> None:
    victim = subprocess.Popen([sys.executable, "-c", VICTIM], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    try:
        owner = victim.stdout.readline().strip()
        assert on_host(b"sleep\x004343")
        ends = [os.pidfd_open(int(pid)) for pid in on_host(b"sleep\x004343")]
    finally:
        victim.kill()
        victim.wait()
        victim.stdout.close()
    for end in ends:
        assert _ended(end)
    assert images.reap(apptainer) >= 1
    assert owner and not list(apptainer.unfinished.glob(f"{owner}-*"))


def _ended(process: int) -> bool:
    try:
        return bool(readable([Descriptor(process)], 10))
    finally:
        os.close(process)


def test_images_are_kept_where_apptainers_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert images.home(State(tmp_path)) == tmp_path / "apptainer"
    monkeypatch.setenv("APPTAINER_CACHEDIR", "/scratch/me")
    assert images.home(State(tmp_path)) == Path("/scratch/me/termforge")


def test_a_folder_that_cannot_hold_images_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("APPTAINER_CACHEDIR", str(tmp_path / "a:b"))
    with pytest.raises(EngineError, match="colon"):
        images.prepare(State(tmp_path))


def test_an_unknown_form_of_images_is_refused(apptainer: ApptainerEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMFORGE_APPTAINER_IMAGES", "tarball")
    with pytest.raises(UsageError, match="directory or sif"):
        ApptainerEngine(apptainer.state)


def test_doctor_says_what_there_is(apptainer: ApptainerEngine) -> None:
    lines = {line.name: line for line in apptainer.probe()}
    assert lines["apptainer"].ok and "version" in lines["apptainer"].detail
    assert lines["enclosure"].ok and str(apptainer.images) in lines["image cache"].detail
