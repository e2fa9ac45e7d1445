"""Serves a checkpoint as an OpenAI-compatible server, so that evaluation asks the policy as it asks any model.

with served(folder, python, device="cpu") as server:
    server.base_url, server.name
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from generators.digest import sha256_hex
from generators.errors import ProviderFault, UsageError
from trainer.processes import end_group, end_with_parent
from trainer.run import RunFolder
from trainer.temporary import temporary_folder

_READY_SECONDS = 900.0


@dataclass(frozen=True)
class Server:
    """Where it answers, and by which name."""

    base_url: str
    name: str


def checkpoint_folder(run: RunFolder, step: int | None = None) -> Path:
    """A checkpoint of a run in Hugging Face's format, the last one by default.

    Raises:
        UsageError: there is none of that step, or it was saved without (`save_hf: false`).
    """
    step = run.last_checkpoint() if step is None else step
    folder = run.checkpoints / f"global_step_{step}" / "actor" / "huggingface"
    if not any(folder.glob("*.safetensors")):
        raise UsageError(f"{run.path}: no checkpoint of step {step} in Hugging Face's format (save_hf of its preset)")
    return folder


def served_name(model: Path) -> str:
    """Named by its weights, so that what one checkpoint did is never taken for another's.

    Raises:
        UsageError: there are none.
    """
    files = sorted(model.glob("*.safetensors"))
    if not files:
        raise UsageError(f"{model}: there are no weights (*.safetensors) to serve")
    return f"checkpoint-{sha256_hex(b''.join(_digest(path) for path in files))[:12]}"


def _digest(path: Path) -> bytes:
    with open(path, "rb") as weights:
        return hashlib.file_digest(weights, "sha256").digest()


@contextlib.contextmanager
def served(
    model: Path, python: str, device: str = "gpu", context: int | None = None, port: int = 0
) -> Generator[Server]:
    """A server until the end of the block; `port` 0: any free one.

    Raises:
        UsageError: the port is in use.
        ProviderFault: the server did not get ready.
    """
    port, name = _free(port), served_name(model)
    with temporary_folder() as folder:
        log = folder / "server.log"
        with open(log, "wb") as out:
            process = subprocess.Popen(
                _command(model, name, python, port, context),
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                env=_environment(device) | {"TMPDIR": str(folder)},
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        try:
            _wait(process, port, log)
            yield Server(f"http://127.0.0.1:{port}/v1", name)
        finally:
            end_group(process)


def _free(port: int) -> int:
    try:
        with socket.create_server(("127.0.0.1", port)) as free:
            return free.getsockname()[1]
    except OSError as error:
        raise UsageError(f"port {port} cannot be used ({error.strerror}); name another one, or none") from None


def _command(model: Path, name: str, python: str, port: int, context: int | None) -> list[str]:
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name", name]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    return command + (["--max-model-len", str(context)] if context else [])


def _environment(device: str) -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME", "VERL_PLATFORM")
    }
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1"}
    return kept | quiet | (cpu | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"} if device == "cpu" else {})


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.5)
    said = log.read_text(errors="replace").strip().splitlines()
    raise ProviderFault(f"the checkpoint's server did not get ready: {said[-1] if said else 'it said nothing'}", "down")
