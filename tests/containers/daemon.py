"""A Docker daemon of a test's own, that can be stopped, frozen and killed without disturbing any other."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from containers.engines.docker.engine import DockerEngine
from generators.bases import Base, preamble
from generators.task import Image, Limits
from tests.engines import GET, find_socket, flavour
from tests.toys import toy

_READY_SECONDS = 60.0
_DATA_BYTES = 4 << 30


class PrivateDocker:
    """dockerd with socket, data, containerd and control group of its own, below two folders that go with it."""

    def __init__(self) -> None:
        self.data = Path(tempfile.mkdtemp(prefix="termforge-daemon-", dir=_roomy()))
        self.run = Path(tempfile.mkdtemp(prefix="termforge-daemon-", dir="/run"))
        self.group = self.run.name
        self.address = f"unix://{self.run}/docker.sock"
        self.log = (self.run / "log").open("wb")
        (self.run / "docker.json").write_text("{}")
        (self.run / "containerd.toml").write_text(
            'version = 2\noom_score = 0\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        )
        self.started: list[subprocess.Popen[bytes]] = []
        self.process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Start containerd, then the daemon."""
        self._spawn(
            f"containerd --config {self.run}/containerd.toml --address {self.run}/containerd.sock "
            f"--root {self.data}/containerd --state {self.run}/containerd"
        )
        _until(lambda: (self.run / "containerd.sock").exists())
        self.start()

    def _spawn(self, command: str) -> subprocess.Popen[bytes]:
        files = {"stdin": subprocess.DEVNULL, "stdout": self.log, "stderr": self.log}
        started = subprocess.Popen(command.split(), **files, start_new_session=True)
        self.started.append(started)
        return started

    def start(self) -> None:
        """Start the daemon and wait until it answers."""
        for name in ("dockerd.pid", "docker.sock"):
            (self.run / name).unlink(missing_ok=True)  # a killed one leaves them, and none would start then
        self.process = self._spawn(
            f"dockerd --config-file {self.run}/docker.json --containerd {self.run}/containerd.sock -H {self.address} "
            f"--data-root {self.data}/docker --exec-root {self.run}/docker -p {self.run}/dockerd.pid --bridge=none "
            f"--iptables=false --ip6tables=false --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent /{self.group} "
            "--shutdown-timeout 1"
        )
        _until(lambda: flavour(self.address) == "docker")

    def send(self, number: int) -> None:
        """Send the daemon a signal; after one that ends it, wait for its end."""
        assert self.process is not None
        self.process.send_signal(number)
        if number in (signal.SIGTERM, signal.SIGKILL):
            self.process.wait(_READY_SECONDS)

    def restart(self, number: int = signal.SIGTERM) -> None:
        """End the daemon by a signal, and start another."""
        self.send(number)
        self.start()

    def fill(self) -> None:
        """Give it the images that toys are made from, from the daemon for tests that has them."""
        source = find_socket("docker")
        with DockerEngine(socket=source, say=print) as engine:
            engine.build(toy().image, Limits())
            engine.build(Image(dockerfile=preamble(Base.BUILD)), Limits())
            names = [tag for image in engine.client.images.list() for tag in image.tags if _wanted(tag)]
            target: Any = docker.APIClient(self.address)
            saving: Any = engine.client.api  # the SDK saves only one image at once: layers would come again and again
            with saving._get(saving._url("/images/get"), params={"names": names}, stream=True) as saved:
                list(target.load_image(saved.iter_content(1 << 20)))
            target.close()

    def containers(self) -> list[str]:
        """The containers that it has, whatever they do; but for the one that filled the grader's volume."""
        client: Any = docker.APIClient(self.address)
        try:
            found = client.containers(all=True)
            return [str(entry["Id"]) for entry in found if entry["Labels"].get("termforge") != "grader"]
        finally:
            client.close()

    def close(self) -> None:
        """End it, and all that it left."""
        for process in reversed(self.started):
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(_READY_SECONDS)
        mine = f"-address {self.run}/containerd.sock".encode().replace(b" ", b"\0")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mine in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
        for address in (self.run / "containerd").rglob("address"):
            Path(address.read_text().removeprefix("unix://")).unlink(missing_ok=True)
        for folder in (self.run, self.data):
            mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
            for mount in sorted((mount for mount in mounts if mount.startswith(f"{folder}/")), reverse=True):
                subprocess.run(["umount", "-l", mount], check=False)
            shutil.rmtree(folder, ignore_errors=True)
        self.log.close()
        for group in [*Path("/sys/fs/cgroup").glob(self.group), *Path("/sys/fs/cgroup").glob(f"*/{self.group}")]:
            for path in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
                path.rmdir()
            group.rmdir()


def _roomy() -> str:
    """Memory where there is plenty of it: gigabytes are written and removed."""
    return "/dev/shm" if shutil.disk_usage("/dev/shm").free > _DATA_BYTES else "/var/tmp"


def _wanted(tag: str) -> bool:
    return tag.startswith(("termforge/base:", "termforge/packages:", "debian:"))


def _until(true: Any) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not true():
        assert time.monotonic() < deadline, "a daemon of a test's own did not start"
        time.sleep(0.05)


def private_docker() -> Iterator[PrivateDocker]:
    """For a fixture: a daemon that has the toys' images; skips where no Docker can be started."""
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ("dockerd", "containerd", "runc")):
        pytest.skip(f"no Docker daemon can be started here; {GET}")
    daemon = PrivateDocker()
    try:
        daemon.open()
        daemon.fill()
        yield daemon
    finally:
        daemon.close()
