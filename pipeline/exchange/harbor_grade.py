"""The grader inside an exported Harbor task, copied as tests/grade.py: it runs in the task's container, by the image's python3.

It stands alone: only the standard library, and the files beside it. Harbor grades where the agent worked, so what the agent left
is kept out: the interpreter looks at no settings and no packages (-I -S), every other process is ended before and after,
the tests are gone from the disk before a program of the agent's runs, and the reward is written last. Without a sound
grading there is no reward file, which Harbor counts as an error and not as a 0.
"""

from __future__ import annotations

import contextlib
import ctypes
import grp
import importlib
import json
import os
import pkgutil
import pwd
import resource
import shutil
import signal
import sys
import time
from types import ModuleType
from typing import Any

LOGS = "/logs/verifier"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PACKAGES = "/usr/lib/python3/dist-packages"  # the distribution's own, where pytest is; `pip` does not write there
_NOT_INHERITED = ("_", "HOSTNAME", "OLDPWD", "PWD", "SHLVL", "TERMFORGE_REWARD")
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_END_SECONDS = 10.0

User = tuple[int, int, list[int]]


def main() -> None:
    """Grade the container as it stands and write the reward."""
    folder = os.path.dirname(os.path.realpath(__file__))
    with open(f"{folder}/weights.json", encoding="utf-8") as file:
        spec: dict[str, Any] = json.load(file)
    with open(f"{folder}/test_outputs.py", encoding="utf-8") as file:
        source = file.read()
    weighted = os.environ.get("TERMFORGE_REWARD") == "weighted"
    runner = _load(f"{folder}/runner.py")
    _preload(_load(f"{folder}/modules.py"), source)
    user, env = _account(spec["user"])
    _forget(folder)
    end_others()
    _shield()
    outcome = runner.run(source, [*spec["goals"], *spec["guards"]], env, 0, user)
    end_others()
    details = judge(spec, outcome)
    for name in ("reward.txt", "reward.json", "reward-details.json"):
        _remove(f"{LOGS}/{name}")
    _write("reward-details.json", details)
    _write("reward.json", {"reward": details["weighted"] if weighted else details["binary"]})


def judge(spec: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """Both scores and each test's outcome: weights of passed goals, 0 where a guard fails; binary is 1 where all pass."""
    passed = {test["name"] for test in outcome["tests"] if test["passed"]}
    guarded = all(name in passed for name in spec["guards"])
    complete = guarded and all(name in passed for name in spec["goals"])
    total = sum((weight for name, weight in spec["goals"].items() if name in passed), 0.0)
    weighted = 1.0 if complete else (min(1.0, total) if guarded else 0.0)
    roles = {name: {"weight": weight} for name, weight in spec["goals"].items()}
    roles |= {name: {"guard": True} for name in spec["guards"]}
    tests = [test | roles.get(test["name"], {}) for test in outcome["tests"]]
    return {
        "task": spec["task"],
        "digest": spec["digest"],
        "binary": int(complete),
        "weighted": weighted,
        "guards_hold": guarded,
        "tests": tests,
    }


def end_others() -> None:
    """Kill every process of the container but this one, those that started it, and those of the container's first session.

    Where the first process is not the container's own (no namespace of processes), nothing is killed.
    """
    try:
        if not os.path.samestat(os.stat("/proc/1/root/."), os.stat("/")):
            return
    except OSError:
        return
    spared, deadline = _lineage(), time.monotonic() + _END_SECONDS
    while found := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _ends(pid, spared)]:
        if time.monotonic() > deadline:
            raise SystemExit("processes of the agent would not end: no reward")
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _lineage() -> set[int]:
    """This process and all that it descends from."""
    found, pid = {1}, os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = int((_stat(pid) or ["", "0"])[1])
    return found


def _ends(pid: int, spared: set[int]) -> bool:
    stat, first = _stat(pid), _stat(1)
    return bool(stat and first and pid not in spared and stat[0] not in "ZX" and stat[3] != first[3])


def _stat(pid: int) -> list[str]:
    """State, parent, group, session and so on of a process; empty where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _load(path: str) -> ModuleType:
    """A module from its source: no compiled file, no other folder is looked at."""
    module = ModuleType(os.path.basename(path).removesuffix(".py"))
    sys.modules[module.__name__] = module
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def _preload(modules: ModuleType, source: str) -> None:
    """Import what tests may use, as far as the image has it; pytest only where the tests speak of it."""
    sys.path.append(_PACKAGES)
    names = [name for name in modules.TEST_MODULES if name != "pytest" or "pytest" in source]
    encodings = importlib.import_module("encodings").__path__
    names += [f"encodings.{entry.name}" for entry in pkgutil.iter_modules(encodings)]
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # a test that needs it fails by itself
    " ".encode("idna")


def _account(name: str) -> tuple[User, dict[str, str]]:
    """Who runs the programs under test (the image's user, by name or number, a group after a colon), and with what settings."""
    who, _, group = name.partition(":")
    known = pwd.getpwuid(int(who)) if who.isdigit() else pwd.getpwnam(who)
    gid = known.pw_gid
    if group:
        gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    groups = [] if group else [entry.gr_gid for entry in grp.getgrall() if known.pw_name in entry.gr_mem]
    env = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    return (known.pw_uid, gid, groups), {"PATH": _PATH, **env, "HOME": known.pw_dir, "USER": known.pw_name}


def _forget(folder: str) -> None:
    """Take the tests off the disk: a program that they run could read them, and what they expect."""
    for name in os.listdir(folder):
        _remove(f"{folder}/{name}")


def _shield() -> None:
    """What the tests start must reach neither this process's streams nor its memory."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o022)
    os.chdir("/")


def _remove(path: str) -> None:
    """Whatever is there; links are not followed."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _write(name: str, value: dict[str, Any]) -> None:
    """A file that nothing was waiting for."""
    with open(os.open(f"{LOGS}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "w") as file:
        json.dump(value, file)


if __name__ == "__main__":
    main()
