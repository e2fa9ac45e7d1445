"""Grading where a container cannot be entered: it is started again, with our interpreter as its first process.

The agent's processes ended with the container's first one. The interpreter comes from the read-only volume, the request on a
new standard input, and nothing else runs: what the agent left are files.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from containers.engines.docker.client import faults
from containers.engines.docker.program import Connection
from containers.grading import bundle
from containers.sandbox import GradeRequest, GradeResult

if TYPE_CHECKING:
    from containers.engines.docker.sandbox import DockerSandbox

_START_SECONDS = 10.0  # the interpreter and what tests import
_LOG_TAIL = 4000
_MOST_RESULTS = 16 << 20  # bytes


def start(sandbox: DockerSandbox, order: bytes) -> Connection:
    """Start a container whose first process waits for an order, and give it."""
    with faults("starting a container"):
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        connection = Connection(sandbox.container.attach_socket(params=params))
        try:
            sandbox.container.start()
            connection.send(order)
        except BaseException:
            connection.close()
            raise
    return connection


def grade(
    sandbox: DockerSandbox, request: GradeRequest, user: tuple[int, int, tuple[int, ...]], began: float
) -> GradeResult:
    """Run tests over an ended sandbox's files."""
    key = secrets.token_hex(16)
    connection = start(sandbox, bundle.order_to_grade(request, sandbox.grading_environment(), user, key))
    out, deadline = {1: bytearray(), 2: bytearray()}, time.monotonic() + request.timeout + _START_SECONDS
    try:
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
            code = sandbox.exit_code()
        else:
            sandbox.end_again()
    finally:
        connection.close()
    log = bytes(out[2]).decode(errors="replace")
    return bundle.result(bytes(out[1]), key, log, code, time.monotonic() - began)
