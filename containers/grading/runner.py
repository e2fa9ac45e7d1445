"""Run a test module from memory: no file of it exists where code under test could read it.

The module is a pytest module of plain functions. A test passes if it returns; anything raised fails it (a skip too: what was
not checked did not pass). Tests find only modules that were loaded beforehand.
"""

from __future__ import annotations

import hmac
import json
import linecache
import os
import sys
import time
import traceback
from types import ModuleType
from typing import Any

FILENAME = "<completion tests>"
_MESSAGE_LIMIT = 400


User = tuple[int, int, list[int]]


def run(source: str, names: list[str], env: dict[str, str], seed: int, user: User = (0, 0, [])) -> dict[str, Any]:
    """Outcomes in the order of `names` (all tests of the module, where there are no names).

    Programs that tests start run as `user` (uid, gid, other groups): what an agent wrote gets no more rights than the agent.
    Returns {"tests": [{"name", "passed", "message", "seconds"}]}.
    """
    _isolate(env, seed)
    if user[0]:
        _start_programs_as(*user)
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    module = ModuleType("test_outputs")
    sys.modules["test_outputs"] = module
    try:
        exec(compile(source, FILENAME, "exec"), module.__dict__)
    except BaseException as error:
        return {"tests": [_result(name, _message(error), 0.0) for name in names or ["test_module"]]}
    if not names:
        names = [name for name, value in vars(module).items() if name.startswith("test_") and callable(value)]
    return {"tests": [_run_one(module, name) for name in names]}


def _isolate(env: dict[str, str], seed: int) -> None:
    os.environ.clear()
    os.environ.update(env)
    sys.path[:] = []
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    import random  # loaded by a grader only: it makes every fork of a keeper draw fresh random bytes

    random.seed(seed)
    time.tzset()


def _start_programs_as(uid: int, gid: int, groups: list[int]) -> None:
    """Give every `subprocess` call (and `os.system`) a user, unless it names one itself."""
    import subprocess

    original = subprocess.Popen.__init__

    def start(self: Any, *args: Any, **options: Any) -> None:
        if options.get("user") is None:
            options |= {"user": uid, "group": gid, "extra_groups": groups}
        original(self, *args, **options)

    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
    os.system = lambda command: subprocess.run(command, shell=True, check=False).returncode << 8


def _run_one(module: ModuleType, name: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        function = getattr(module, name, None)
        if function is None:
            raise LookupError(f"the module has no {name}")
        function()
        message = None
    except BaseException as error:
        message = _message(error)
    return _result(name, message, time.perf_counter() - began)


def _message(error: BaseException) -> str:
    """What failed, with the line of the tests where it did."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILENAME]
    text = "".join(traceback.format_exception_only(error)).strip()
    where = f" [line {frames[-1].lineno}: {(frames[-1].line or '').strip()}]" if frames else ""
    return f"{text[:_MESSAGE_LIMIT]}{where[:_MESSAGE_LIMIT]}"


def _result(name: str, message: str | None, seconds: float) -> dict[str, Any]:
    return {"name": name, "passed": message is None, "message": message or "", "seconds": round(seconds, 6)}


def seal(outcome: dict[str, Any], key: str) -> bytes:
    """One line that only who knows the key can write: a code over the results, and the results.

    What a test opens may be a link to this process's own descriptors, so the stream that results travel on is no secret.
    """
    return f"{_code(json.dumps(outcome), key)} {json.dumps(outcome)}\n".encode()


def unseal(said: bytes, key: str) -> dict[str, Any] | None:
    """The results, where all that was said is one sealed line; None where anything else was said as well."""
    code, _, text = said.decode(errors="replace").removesuffix("\n").partition(" ")
    return json.loads(text) if hmac.compare_digest(code.encode(), _code(text, key).encode()) else None


def _code(text: str, key: str) -> str:
    return hmac.new(key.encode(), text.encode(), "sha256").hexdigest()
