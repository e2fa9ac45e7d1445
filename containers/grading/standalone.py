"""The grader as a program of its own, for sandboxes that cannot be entered: main process of a fresh verifier sandbox.

Run by the interpreter of the bundle (bundle.sh), from the bundle's own copy of this package. Standard input holds the request
(JSON: source, names, env, seed, user, key); standard output gets one sealed line, standard error what tests print.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
from typing import Any

from containers.grading import modules, runner

_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38


def main() -> None:
    """Take the request, let go of the streams that matter, run the tests, tell the results."""
    modules.preload()
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    tell = os.dup(1)  # not inheritable: no program that a test starts has it
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(2, 1)  # what tests print is for the log
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody of the same user can read its memory or its descriptors
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o022)
    os.chdir("/")
    outcome = runner.run(request["source"], request["names"], request["env"], request["seed"], request["user"])
    data = memoryview(runner.seal(outcome, request["key"]))
    while data:
        data = data[os.write(tell, data) :]
    os._exit(0)
