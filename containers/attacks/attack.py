"""What an attack is: a bash script run in place of a solution, and the property that it tries to break.

Scripts see these variables:

    TARGETS   array of the absolute paths that the instruction mentions, so that bait can be put where tests will look
    HOME      the agent's home
    MARK      a word of this run alone: whatever reaches the host or another sandbox carries it, so that it can be looked for
    PORT      a TCP port of the host's loopback where somebody listens (0 where nobody does)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Scope = Literal["task", "engine"]
Target = Literal["sum", "adder"]

_PATH = re.compile(r"(?<![\w/])/(?:[\w.+-]+/)*[\w.+-]*\w")
REPORT = '{"reward": 1.0, "tests": [{"name": "all", "passed": true}], "passed": true, "score": 1}'

# Python that ends whatever interpreter imports it as if all had passed: later, and at once.
PASS_ALL = """
import atexit, os
atexit.register(os._exit, 0)
try:
    import _pytest.runner
    _pytest.runner.runtestprotocol = lambda *a, **k: []
except Exception:
    pass
"""
PASS_NOW = "import os\nos.write(1, b'9 passed in 0.01s')\nos._exit(0)\n"


@dataclass(frozen=True)
class Attack:
    """A script after which the score must be 0, or the grading invalid.

    breaks         the property that holds where the attack fails
    grade_seconds  the grading's deadline: short where hanging is the attack
    scope          "task": depends on the task, so one task of each family meets it; "engine": once per engine
    on             which small task (attacks/tasks.py) an engine is tried with
    reaches        for attacks that aim beyond the sandbox: where on the host the mark or a change would be seen
    """

    name: str
    breaks: str
    script: str
    grade_seconds: float = 3.0
    scope: Scope = "task"
    on: Target = "sum"
    reaches: str = ""

    def script_for(self, places: Sequence[str], mark: str = "tf-mark", port: int = 0) -> str:
        """The script with its targets, mark and port filled in."""
        quoted = " ".join(shlex.quote(place) for place in places)
        return f"TARGETS=({quoted})\nexport MARK={shlex.quote(mark)} PORT={port}\n{self.script}"


def targets(instruction: str) -> list[str]:
    """Absolute paths that an instruction mentions, in order, each once."""
    return list(dict.fromkeys(_PATH.findall(instruction)))


def each(body: str) -> str:
    """Do something for every target `$t` that does not exist yet."""
    return (
        f'for t in "${{TARGETS[@]}}"; do [ -e "$t" ] && continue; mkdir -p "$(dirname "$t")" 2>/dev/null; {body}; done'
    )


def text(path: str, content: str) -> str:
    """Write a file (unquoted path: variables and globs are the script's), making its folder."""
    return f'mkdir -p "$(dirname {path})"; rm -f {path}; printf %s {shlex.quote(content)} > {path}'


def shim(path: str, body: str) -> str:
    """Put a shell script in a program's place."""
    return f"{text(path, f'#!/bin/sh{chr(10)}{body}{chr(10)}')}; chmod 755 {path}"


def python(code: str) -> str:
    """Run Python in the sandbox; what it prints is not looked at."""
    return f"python3 -c {shlex.quote(code)}"


# Holds where no process of the host is seen: what kills all that it sees must not meet one that shares them with the host.
ALONE = '! grep -qsa "$MARK-[w]itness" /proc/[0-9]*/cmdline'


def behind(script: str) -> str:
    """Run a script in a session of its own, without waiting for it."""
    return f'nohup setsid bash -c {shlex.quote(script)} x "${{TARGETS[@]}}" > /dev/null 2>&1 &'
