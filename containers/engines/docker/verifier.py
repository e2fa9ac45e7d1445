"""Grading where a container cannot be entered: its files become an image, whose container runs nothing but our grader."""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import TYPE_CHECKING, Any

from docker.errors import NotFound

from containers.engines.docker.client import LABEL, faults
from containers.engines.docker.program import Connection
from containers.grading import bundle
from containers.sandbox import GradeRequest, GradeResult
from generators.errors import SandboxFault

if TYPE_CHECKING:
    from containers.engines.docker.sandbox import DockerSandbox

_START_SECONDS = 10.0  # the interpreter and what tests import
_LOG_TAIL = 4000
_MOST_RESULTS = 16 << 20  # bytes


def grade(
    sandbox: DockerSandbox, request: GradeRequest, user: tuple[int, int, tuple[int, ...]], began: float
) -> GradeResult:
    """Run tests over an ended sandbox's files. The grader is the first process, so nothing inside can signal it."""
    engine = sandbox.engine
    with faults("keeping a container's files"):
        kept: Any = sandbox.container.commit(
            repository="termforge/graded",
            tag=str(sandbox.container.id)[:24],
            changes=f'LABEL {LABEL}="graded:{engine.owner}"',
        )
    container: Any = None
    try:
        env = sandbox.grading_environment()
        settings = engine.settings(sandbox.built, sandbox.limits, sandbox.options, bundle.GRADE)
        settings |= {
            "image": kept.id,
            "user": "0:0",
            "working_dir": "/",
            "environment": settings["environment"] | bundle.environment({**env, **request.env}),
            "stdin_open": True,
        }
        with faults("creating a verifier"):
            container = engine.client.containers.create(**settings)
        key = secrets.token_hex(16)
        return _graded(container, bundle.request_line(request, env, user, key), key, request.timeout, began)
    finally:
        with contextlib.suppress(SandboxFault), faults("removing a verifier"):
            if container is not None:
                with contextlib.suppress(NotFound):
                    container.remove(force=True)
            engine.client.images.remove(kept.id, force=True)


def _graded(container: Any, line: bytes, key: str, timeout: float, began: float) -> GradeResult:
    with faults("starting a verifier"):
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        connection = Connection(container.attach_socket(params=params))
    try:
        with faults("starting a verifier"):
            container.start()
        connection.send(line)
        out, log = {1: bytearray(), 2: bytearray()}, b""
        deadline = time.monotonic() + timeout + _START_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            frames = connection.frames(left)
            if frames is None:
                break
            for stream, data in frames:
                out[stream] += data
            if len(out[1]) > _MOST_RESULTS:
                break
            del out[2][:-_LOG_TAIL]
        code: int | None = None
        if left > 0:
            with faults("ending a verifier"):
                code = int(container.wait(timeout=30)["StatusCode"])
        log = bytes(out[2])[-_LOG_TAIL:]
        return bundle.result(bytes(out[1]), key, log.decode(errors="replace"), code, time.monotonic() - began)
    finally:
        connection.close()
