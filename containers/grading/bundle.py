"""The grader bundle: an interpreter, pytest and the grader itself in one read-only folder, mounted at /.termforge.

For engines whose sandboxes our own grader cannot enter: a remote daemon, another user's, a cluster node. Nothing of it comes
from the task's image, and it holds neither tests nor truth: those arrive on standard input when the agent is gone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files

from containers.grading import runner
from containers.sandbox import GradeRequest, GradeResult, TestResult
from generators.digest import digest_of

ROOT = "/.termforge"
_MODULES = ("__init__.py", "runner.py", "modules.py", "standalone.py")
_LOADER = (f"{ROOT}/ld.so", "--library-path", f"{ROOT}/lib")
_PYTHON = (*_LOADER, f"{ROOT}/bin/python3", "-s", "-P", "-S", "-B")  # not -I: it would ignore the hash seed
_SEARCH = f"import sys; sys.path[:0] = ['{ROOT}/grader', '{ROOT}/lib/python3/dist-packages']; "

_KILL_SESSION = """
import os, sys
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        session = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[3]
        if session == sys.argv[1] != name:
            os.kill(int(name), 9)
    except OSError:
        pass
"""
CLOCK = f"{ROOT}/clock.so"
_DASH = (*_LOADER, f"{ROOT}/bin/dash", "-c")
_SLEEP = " ".join((*_LOADER, f"{ROOT}/bin/sleep", "2147483647"))
_WAIT = (
    f"trap '' HUP INT TERM; {_SLEEP} & while :; do wait; done"  # a shell's `wait` takes every child, adopted ones too
)
# A main process for a sandbox that waits for commands, and reaps.
WAIT = (*_DASH, _WAIT)
_GRADE = " ".join(
    map(shlex.quote, (*_PYTHON, "-c", _SEARCH + "from containers.grading.standalone import main; main()"))
)
# One that does what the first line of its input says: "wait", or "grade" (then come the hash seed and the request). Started
# again when the agent's processes are gone, the same sandbox grades itself: the image's settings do not reach the interpreter.
WAIT_OR_GRADE = (
    *_DASH,
    f"read -r what; if [ $what = wait ]; then {_WAIT}; fi; read -r PYTHONHASHSEED; "
    f"export PYTHONHASHSEED PYTHONPATH= PYTHONHOME=; unset LD_PRELOAD; exec {_GRADE}",
)


def named(argv: Sequence[str], cwd: str) -> list[str]:
    """A command that first tells its process id (a line on standard error), so that it can be killed later."""
    return [*_DASH, 'echo $$ >&2; cd -- "$1" || exit 127; shift; exec "$@"', "exec", cwd, *argv]


def kill(pid: int) -> list[str]:
    """A command that kills a process (an id inside) and its group."""
    return [*_DASH, f"kill -9 -{pid} {pid} 2>&-"]


def kill_session(session: int) -> list[str]:
    """A command that kills every process of a session but its leader."""
    return python(_KILL_SESSION, str(session))


def python(script: str, *arguments: str) -> list[str]:
    """A command that runs a script with the bundle's interpreter."""
    return [*_PYTHON, "-c", script, *arguments]


def maker() -> str:
    """The shell script that makes the bundle inside a Debian image with python3 and python3-pytest."""
    return files("containers.grading").joinpath("bundle.sh").read_text()


def sources() -> dict[str, bytes]:
    """The grader's own files, by their path in the bundle."""
    folder = files("containers.grading")
    own = {f"grader/containers/grading/{name}": folder.joinpath(name).read_bytes() for name in _MODULES}
    clock = files("containers.proof").joinpath("clock.c").read_bytes()
    return {"clock.c": clock, "grader/containers/__init__.py": b"", **own}


def key(image_digest: str) -> str:
    """Names a bundle by all that it is made from."""
    return digest_of([image_digest, maker(), {path: data.decode() for path, data in sources().items()}])[:12]


def order_to_grade(
    request: GradeRequest, env: Mapping[str, str], user: tuple[int, int, Sequence[int]], key: str
) -> bytes:
    """What WAIT_OR_GRADE reads. `user` (uid, gid, other groups) runs the programs under test; `key` seals the results."""
    value = {
        "key": key,
        "source": request.source,
        "names": list(request.names),
        "env": {**env, **request.env},
        "seed": request.seed,
        "user": [user[0], user[1], list(user[2])],
    }
    seed = int(request.env.get("PYTHONHASHSEED", "0"))
    return f"grade\n{seed}\n{json.dumps(value)}\n".encode()


def result(said: bytes, key: str, log: str, exit_code: int | None, seconds: float) -> GradeResult:
    """What the grader said, or why there is nothing: then the grading is invalid."""
    outcome = runner.unseal(said, key)
    if outcome is None or exit_code != 0:
        if exit_code is None:
            return GradeResult((), "grader_deadline", log, seconds)
        reason = f"grader_killed_{exit_code - 128}" if exit_code > 128 else "grader_crashed"
        return GradeResult((), reason, log, seconds)
    return GradeResult(tuple(TestResult(**test) for test in outcome["tests"]), "", log, seconds)
