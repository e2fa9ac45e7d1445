"""Grading by a forked interpreter that enters a sandbox's namespaces: 10 ms instead of 150, and nothing from inside is imported."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from containers.grading import runner
from containers.linux.identity import IdMap
from containers.sandbox import GradeRequest, GradeResult, TestResult
from containers.warden.client import Channel, Lane, Reply, Warden, memory_file, read_memory_file
from containers.warden.inside import FOR_GRADING
from generators.errors import SandboxFault

_LATE_SECONDS = 30.0  # beyond the tests' own deadline
_LOG_TAIL = 4000


class Seat:
    """A control group for graders, with those that have joined it: joining can cost 10 ms, so each does it once."""

    def __init__(self, procs: Sequence[str]) -> None:
        self.procs = procs
        self.graders: dict[int, Channel | Lane] = {}  # by hash seed

    def close(self) -> None:
        """Let them end."""
        for grader in self.graders.values():
            grader.close()
        self.graders.clear()


@dataclass(frozen=True)
class Place:
    """Where a grader goes: descriptors of namespaces by kind, its control group, what it finds there.

    Namespaces FOR_GRADING may be among them: new ones, that nothing else was or will be in. Else it makes its own.
    `user` (uid, gid, other groups) is who runs the programs that tests start. A seat is one grading's at a time.
    """

    namespaces: Mapping[str, int]
    seat: Seat | None = None
    max_processes: int | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    user: tuple[int, int, tuple[int, ...]] = (0, 0, ())


@dataclass(frozen=True)
class Graded:
    """Results, while what ran the tests may still be ending."""

    result: GradeResult
    _reply: Reply

    def await_end(self) -> GradeResult:
        """Wait until all that ran there has ended: before the place is used for anything else.

        Raises:
            SandboxFault: it would not end.
        """
        with self._reply:
            self._reply.await_end(_LATE_SECONDS)
        return self.result


class Graders:
    """Wardens that carry pytest and the standard library, one for each hash seed asked for. Safe for threads."""

    def __init__(self, ids: IdMap) -> None:
        self.ids = ids
        self._wardens: dict[int, Warden] = {}
        self._lock = threading.Lock()

    def grade(self, request: GradeRequest, place: Place, began: float) -> Graded:
        """Run tests in a place whose own processes have ended; `began` (monotonic) is when the grading started.

        Raises:
            SandboxFault: the warden is gone.
        """
        log, results, key = memory_file(), memory_file(), secrets.token_hex(16)
        payload = {
            "source": request.source,
            "names": list(request.names),
            "env": {**place.env, **request.env},
            "seed": request.seed,
            "timeout": request.timeout,
            "max_processes": place.max_processes,
            "user": place.user,
            "key": key,
            "kinds": list(place.namespaces),
            "isolated": place.namespaces.keys() >= set(FOR_GRADING),
        }
        hash_seed = int(request.env.get("PYTHONHASHSEED", "0"))
        try:
            reply = self._asked(place, hash_seed, payload, [results, log, *place.namespaces.values()])
            try:
                reason = reply.receive(request.timeout + _LATE_SECONDS)["reason"]
            except BaseException:
                reply.close()
                raise
            said = read_memory_file(log, _LOG_TAIL).decode(errors="replace")
            outcome = None if reason else runner.unseal(read_memory_file(results), key)
        finally:
            os.close(log)
            os.close(results)
        tests = tuple(TestResult(**test) for test in outcome["tests"]) if outcome else ()
        reason = reason or ("" if outcome else "grader_crashed")
        return Graded(GradeResult(tests, reason, said, time.monotonic() - began), reply)

    def _asked(self, place: Place, hash_seed: int, payload: Mapping[str, object], fds: Sequence[int]) -> Reply:
        """The request, given to the seat's own grader where there is a seat."""
        if place.seat is None:
            return self._warden(hash_seed).call("grade", payload, fds)
        known = place.seat.graders.get(hash_seed)
        if known is not None:
            try:
                return _sent(known, payload, fds)
            except SandboxFault:  # it was killed with its group, or ran out of memory
                known.close()
        joined = place.seat.graders[hash_seed] = self._warden(hash_seed).branch(place.seat.procs)
        return _sent(joined, payload, fds)

    def _warden(self, hash_seed: int) -> Warden:
        with self._lock:
            known = self._wardens.get(hash_seed)
            if known is not None and known.process.poll() is not None:
                known.close()
                known = None
            if known is None:
                known = self._wardens[hash_seed] = Warden("grader", self.ids, hash_seed)
            return known

    def close(self) -> None:
        """End the wardens."""
        with self._lock:
            for warden in self._wardens.values():
                warden.close()
            self._wardens.clear()


def _sent(grader: Channel | Lane, payload: Mapping[str, object], fds: Sequence[int]) -> Reply:
    return grader.grade(payload, fds) if isinstance(grader, Lane) else grader.call("grade", payload, fds)
