"""What requests and answers have in common."""

from __future__ import annotations

import json
import signal
import socket
from typing import Any

Request = dict[str, Any]
# What is, or may be, ignored here (by Python, or by whoever started it: nohup), and is not to be ignored by programs.
USUAL_SIGNALS = tuple(number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP))


def answer(reply: socket.socket, value: object) -> None:
    """Answer a request."""
    reply.sendall(json.dumps(value).encode())


def namespaces_of(request: Request, fds: list[int]) -> dict[str, int]:
    """The descriptors of namespaces that came with a request, by kind."""
    return dict(zip(request["kinds"], fds, strict=True))
