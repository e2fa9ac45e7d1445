"""Building an image from a Dockerfile: by BuildKit where a command line can drive it, else by the daemon's builder API."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import docker
from docker.errors import APIError, DockerException
from urllib3.exceptions import HTTPError

from containers.engines.docker.client import LABEL
from containers.sandbox import BuildFailure
from generators.errors import SandboxFault
from generators.task import Image

_FILE = ".termforge.Dockerfile"
_OUTPUT_TAIL = 4000
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_STEP = re.compile(r"^(?:Step \d+/\d+ : |STEP \d+/\d+: |#\d+ \[[^\]]*\d+/\d+\] )(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Recipe:
    """One build: a Dockerfile's text with its context, and the tag that says what it is made from."""

    tag: str
    text: str
    image: Image
    network: bool = True


def build(address: str, flavour: str, recipe: Recipe, seconds: float, program: str | None) -> None:
    """Build and tag, by a command line that drives BuildKit where there is one.

    Raises:
        BuildFailure: a step failed or took too long.
        SandboxFault: the daemon is gone, or its disk is full.
    """
    if program:
        _with_buildkit(program, address, recipe, seconds)
    else:
        _with_sdk(address, flavour, recipe, seconds)


def _context(recipe: Recipe) -> bytes:
    """The build context as a tar; the same bytes for the same task."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, mode, data in [
            (_FILE, 0o644, recipe.text.encode()),
            *((file.path, file.mode, file.data()) for file in recipe.image.files),
        ]:
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), mode
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _arguments(recipe: Recipe) -> dict[str, str]:
    if not recipe.network:
        return {}
    names = [*_PROXIES, *(name.upper() for name in _PROXIES)]
    return {name: os.environ[name] for name in names if name in os.environ}


def _network(recipe: Recipe) -> str:
    return "host" if recipe.network else "none"


def buildkit(flavour: str) -> str | None:
    """A command line here that can drive the daemon's BuildKit (the SDK only knows the old builder)."""
    if flavour != "docker":
        return None
    folders = os.environ.get("PATH", "").split(os.pathsep)
    programs = [found for folder in dict.fromkeys(folders) if (found := shutil.which("docker", path=folder))]
    return next((program for program in programs if _drives_buildkit(program)), None)


def _drives_buildkit(program: str) -> bool:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    major = re.search(r"version (\d+)\.", said)
    if major and int(major[1]) < 23:  # later ones need a component of its own
        return True
    return subprocess.run([program, "buildx", "version"], capture_output=True, check=False).returncode == 0


def _with_buildkit(program: str, address: str, recipe: Recipe, seconds: float) -> None:
    command = [
        program,
        "build",
        "--progress",
        "plain",
        "--network",
        _network(recipe),
        "--tag",
        recipe.tag,
        "--file",
        _FILE,
    ]
    command += ["--label", f"{LABEL}=image"]
    for name, value in _arguments(recipe).items():
        command += ["--build-arg", f"{name}={value}"]
    env = {**os.environ, "DOCKER_BUILDKIT": "1", "DOCKER_HOST": address}
    env.pop("DOCKER_CONTEXT", None)
    try:
        done = subprocess.run(
            [*command, "-"], input=_context(recipe), capture_output=True, timeout=seconds, env=env, check=False
        )
    except subprocess.TimeoutExpired as error:
        said = ((error.stdout or b"") + (error.stderr or b"")).decode(errors="replace")
        raise BuildFailure("build_timeout", _step_of(said), said[-_OUTPUT_TAIL:]) from error
    if done.returncode:
        _must_be_the_tasks(done.stderr.decode(errors="replace"))


def _must_be_the_tasks(said: str) -> None:
    """A build that failed is the task's fault, unless the daemon is gone or its disk is full."""
    if "no space left on device" in said:
        raise SandboxFault("building an image: the daemon's disk is full")
    if re.search(r"Cannot connect to the Docker daemon|error during connect|connection refused", said):
        raise SandboxFault("building an image: the daemon is gone")
    raise BuildFailure("build_failed", _step_of(said), said[-_OUTPUT_TAIL:])


def _step_of(said: str) -> str:
    """The last step that began."""
    failed = re.findall(r"^ > \[[^\]]*\] (.*?):?$", said, re.MULTILINE)
    steps = failed or _STEP.findall(said)
    return str(steps[-1])[:300] if steps else "Dockerfile"


class _Alone(docker.APIClient):
    """A client whose builds have no network in Podman, which reads what Docker calls a network mode as a number (buildah's
    NetworkDisabled is 1) and takes the host's network where no namespace is asked for."""

    def post(self, url: Any, data: Any = None, json: Any = None, **options: Any) -> Any:
        """As requests has it."""
        if url.endswith("/build"):
            alone = {"networkmode": "1", "nsoptions": '[{"Name": "network", "Host": false, "Path": ""}]'}
            options["params"] = {**options.get("params", {}), **alone}
        return super().post(url, data=data, json=json, **options)


def _with_sdk(address: str, flavour: str, recipe: Recipe, seconds: float) -> None:
    """By the daemon's builder API; a silent build ends by the connection's timeout, a talking one at its next word."""
    began, said = time.monotonic(), ""
    kind = _Alone if flavour == "podman" and not recipe.network else docker.APIClient
    api: Any = kind(base_url=address, timeout=max(1, int(seconds)))
    try:
        for item in _messages(api, recipe, seconds):
            said += str(item.get("stream", ""))
            if "error" in item:
                _must_be_the_tasks(said + str(item["error"]))
            if time.monotonic() - began > seconds:
                raise BuildFailure("build_timeout", _step_of(said), said[-_OUTPUT_TAIL:])
    except APIError as error:
        _must_be_the_tasks(str(error.explanation))
    except (DockerException, HTTPError, OSError) as error:
        if time.monotonic() - began >= max(1, int(seconds)):  # the silence that was allowed
            raise BuildFailure("build_timeout", _step_of(said), said[-_OUTPUT_TAIL:]) from error
        raise SandboxFault(f"building an image: the daemon did not answer ({type(error).__name__})") from error
    finally:
        api.close()


def _messages(api: Any, recipe: Recipe, seconds: float) -> Iterator[dict[str, Any]]:
    yield from api.build(
        fileobj=io.BytesIO(_context(recipe)),
        custom_context=True,
        dockerfile=_FILE,
        tag=recipe.tag,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=max(1, int(seconds)),
        network_mode=_network(recipe),
        labels={LABEL: "image"},
        buildargs=_arguments(recipe),
    )
