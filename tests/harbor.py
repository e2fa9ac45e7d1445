"""The real `harbor` package, in an environment of its own: it needs Python 3.12, and is no dependency of ours."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from containers.engines.docker import images
from containers.engines.docker.engine import DockerEngine
from generators.digest import digest_of
from pipeline.places import project_root
from tests.engines import find_socket
from tests.small_model import cache_folder

VERSION = "0.26.0"
_NEEDS = ("editables", "aiolimiter", "httpx2", "polars", "pyarrow", "pyyaml", "tenacity")  # of ours, for agent.harbor
_PYTHONS = ("3.12", "3.13")
# Harbor's docker environment, but for the network: Docker cuts it, where Harbor has a sidecar whose image comes from a registry
ENVIRONMENT = """
from harbor.environments.docker.docker import DockerEnvironment


class Alone(DockerEnvironment):
    @staticmethod
    def _requires_egress_control(**_):
        return False

    @property
    def capabilities(self):
        return super().capabilities.model_copy(update={"disable_internet": True})
"""
OVERLAY = "services:\n  main:\n    build: {network: host}\n    network_mode: none\n"


@dataclass(frozen=True)
class Harbor:
    """Its programs."""

    folder: Path

    def run(self, *words: str, cwd: Path, seconds: float = 300, **env: str) -> subprocess.CompletedProcess[str]:
        """`harbor ...`"""
        return self._run([str(self.folder / "bin" / "harbor"), *words], cwd, seconds, env)

    def python(self, script: str, *words: str, cwd: Path, seconds: float = 300) -> str:
        """What a script says that imports it."""
        done = self._run([str(self.folder / "bin" / "python"), "-c", script, *words], cwd, seconds, {})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(
        self, command: Sequence[str], cwd: Path, seconds: float, env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        own = {**os.environ, "HARBOR_TELEMETRY": "off", "HOME": str(cwd), "NO_COLOR": "1", "COLUMNS": "200", **env}
        return subprocess.run(command, cwd=cwd, env=own, capture_output=True, text=True, timeout=seconds, check=False)


def open_harbor() -> Harbor:
    """Harbor, installed once and kept; skips the test where it cannot be."""
    python = next((found for name in _candidates() if (found := _working(name))), None)
    if python is None:
        pytest.skip(f"Harbor needs Python {' or '.join(_PYTHONS)}, and none is on PATH or among pyenv's")
    name = f"harbor-{digest_of([VERSION, python, list(_NEEDS)])[:12]}"
    tools = cache_folder()
    with open(tools / f".lock-{name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = tools / name
        if not (folder / ".ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _must([python, "-m", "venv", str(folder)])
            _pip(folder, f"harbor=={VERSION}", *_NEEDS)
            (folder / ".ready").write_text("")
        root = str(project_root())
        if (folder / ".ready").read_text() != root:
            _pip(folder, "--no-deps", "-e", root)
            (folder / ".ready").write_text(root)
    return Harbor(folder)


def _candidates() -> list[str]:
    """Programs that may be a Python that is new enough. What pyenv puts on PATH starts only the version that is chosen."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    own = [str(path) for number in _PYTHONS for path in sorted(versions.glob(f"{number}.*/bin/python"))]
    return [path for number in _PYTHONS if (path := shutil.which(f"python{number}"))] + own


def _working(path: str) -> str | None:
    """A Python's own path, if it starts."""
    done = subprocess.run(
        [path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def _pip(folder: Path, *words: str) -> None:
    _must([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *words])


def _must(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        pytest.skip(f"Harbor cannot be installed here: {last}")


def run_trials(
    harbor: Harbor, folder: Path, agent: str, *words: str, tasks: Path | None = None
) -> list[dict[str, Any]]:
    """Results of a trial of each task (of `folder`/tasks, where no others are named) by Harbor's docker environment; skips where
    that cannot be had."""
    address = _docker()
    (folder / "harbor_here.py").write_text(ENVIRONMENT)
    (folder / "overlay.yaml").write_text(OVERLAY)
    config = os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker"))
    done = harbor.run(
        *("run", "-p", str(tasks or folder / "tasks"), "-a", agent, "-e", "harbor_here:Alone", "-n", "2", "-q", "-y"),
        *("-o", "jobs", "--job-name", "job", "--extra-docker-compose", str(folder / "overlay.yaml"), *words),
        cwd=folder,
        seconds=1500,
        DOCKER_HOST=address,
        DOCKER_CONFIG=config,
        PYTHONPATH=str(folder),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in sorted((folder / "jobs" / "job").glob("*/result.json"))]
    assert [result["exception_info"] for result in results] == [None] * len(results)
    return results


def _docker() -> str:
    """Where Docker answers, with the tasks' base image; skips the test where there is no Docker, or no plugin for Harbor to call."""
    address = find_socket("docker")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("`docker compose` (version 2) is not there, by which Harbor's docker environment does everything")
    with DockerEngine(say=print, socket=address) as engine:  # no registry may serve the base under its name
        images.base(engine, "debian:bookworm-slim").tag("debian", "bookworm-slim")
    return address
