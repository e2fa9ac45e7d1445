"""The gate `mutants`: the outputs of the reference solution, damaged one way at a time, must not score 1.

It tries the tests themselves, where near misses try what their writer thought of: tests that look for a file, or for the names of its
keys, pass what is worth nothing. An output is a regular file that the solution made or changed and whose path stands in the instruction
(at once, or as a folder and a name in it).
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import PurePosixPath

from containers.attacks.attack import targets
from containers.proof.damage import Damage, damages
from containers.proof.gates import Bench, fails
from containers.sandbox import Feature, PutFile, Sandbox
from generators.errors import SandboxFault
from generators.evidence import Gate, Verdict
from generators.seeds import stream
from generators.task import Task

MOST_OUTPUTS = 3  # that are damaged, each after one more run of the solution
_PASSING = ("/dev/", "/proc/", "/run/", "/sys/", "/var/run/")  # what lives as long as processes do
_STATE_SECONDS = 20


@dataclass(frozen=True)
class Output:
    """A file that the solution left."""

    path: str
    data: bytes
    mode: int
    uid: int
    gid: int

    def put(self, data: bytes) -> PutFile:
        """Other bytes in its place."""
        return PutFile(self.path, data, self.mode, self.uid, self.gid)


def mutants(bench: Bench) -> Verdict | None:
    """No output can be removed, emptied or given other values without losing the score."""
    tried = outputs = again = 0
    suspects: list[tuple[Output, Damage]] = []
    at_once = all(gap.feature is not Feature.REGRADING for gap in bench.pool.engine.gaps())
    with contextlib.closing(_solved(bench)) as places:
        for sandbox, output in places:
            outputs += 1
            for damage in _damages(bench.task, output):
                tried += 1
                passed, made_again = _passes(bench, sandbox, output, damage) if at_once else (True, False)
                again += made_again
                suspects += [(output, damage)] if passed else []
    for output, damage in suspects:  # that sandbox is gone by now: whoever holds one must not wait for another
        passed, made_again = _passes_alone(bench, output, damage)
        again += made_again
        if passed:
            detail = f"{output.path}, {damage.how} after the reference solution, scores 1"
            return fails(Gate.MUTANTS, "weak_verifier", detail, output=output.path, damage=damage.how)
    figures = {"outputs": outputs, "mutants": tried, "made_again": again}
    return Verdict(gate=Gate.MUTANTS, holds=True, figures=dict(figures))


def outputs_of(task: Task, sandbox: Sandbox) -> list[str]:
    """Some of the files that a sandbox's solution made or changed and the instruction names."""
    places = frozenset(targets(task.instruction))
    changed = [path for path in sandbox.changed_paths() if not path.startswith(_PASSING)]
    paths = [path for path in changed if _named(path, task.instruction, places)]
    files = [path for path in paths if _read(sandbox, path)]
    return stream(task.digest, "mutants").sample(files, min(len(files), MOST_OUTPUTS))


def _named(path: str, instruction: str, places: frozenset[str]) -> bool:
    """Whether a text names a path, as a whole or as a folder and what lies in there."""
    if path in places:
        return True
    inside = [path.removeprefix(f"{folder}/") for folder in map(str, PurePosixPath(path).parents) if folder in places]
    return any(re.search(rf"(?<![\w./-]){re.escape(rest)}(?![\w/-]|\.\w)", instruction) for rest in inside)


def _damages(task: Task, output: Output) -> list[Damage]:
    rng = stream(task.digest, "mutants", output.path)
    return damages(output.data, output.path, bool(output.mode & 0o111), rng)


def _solved(bench: Bench) -> Generator[tuple[Sandbox, Output]]:
    """Each output in turn, in a sandbox of its own where the solution has just ended."""
    left: list[str] | None = None
    while left is None or left:
        with bench.solved() as sandbox:
            if left is None:
                left = outputs_of(bench.task, sandbox)
            if left and (output := _read(sandbox, left.pop())):
                yield sandbox, output


def _read(sandbox: Sandbox, path: str) -> Output | None:
    """A file with its mode and owner; None where it is no regular file."""
    asked = sandbox.exec(["/usr/bin/stat", "-c", "%a %u %g %F", "--", path], timeout=_STATE_SECONDS, user="root")
    state = asked.stdout.decode(errors="replace").split(maxsplit=3)
    if asked.exit_code or len(state) < 4 or not state[3].startswith("regular"):
        return None
    return Output(path, sandbox.get(path), int(state[0], 8), int(state[1]), int(state[2]))


def _passes(bench: Bench, sandbox: Sandbox, output: Output, damage: Damage) -> tuple[bool, bool]:
    """Whether the damage keeps the score of 1; and whether the tests had the file made again, so that it says nothing."""
    if damage.data is None:
        sandbox.exec(f"rm -f -- {shlex.quote(output.path)}", timeout=_STATE_SECONDS, user="root")
    else:
        sandbox.put([output.put(damage.data)])
    result = bench.graded(sandbox)
    if (
        not result.valid and result.reason != "grader_deadline"
    ):  # tests that wait for ever for what is gone have noticed it
        raise SandboxFault(f"grading was invalid: {result.reason}")
    if not result.binary:
        return False, False
    made_again = _content(sandbox, output.path) != damage.data
    return not made_again, made_again


def _passes_alone(bench: Bench, output: Output, damage: Damage) -> tuple[bool, bool]:
    """The same in a sandbox that no other grading has touched."""
    with bench.solved() as sandbox:
        return _passes(bench, sandbox, output, damage)


def _content(sandbox: Sandbox, path: str) -> bytes | None:
    try:
        return sandbox.get(path)
    except SandboxFault:
        return None
