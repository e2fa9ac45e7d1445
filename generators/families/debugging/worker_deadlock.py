"""Repair a thread pool that hangs, loses items or handles them twice, without changing how it is used."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: module, class, exception, the three methods and the two lists."""

    folder: str
    module: str
    pool: str
    closed: str
    submit: str
    drain: str
    close: str
    results: str
    failures: str
    text: str


EMAIL = """Hi,

our {thing} service at {firm} freezes about twice a day and the {item}s of the last minutes are lost; once an {item}
was even processed twice. All
traces end in {path}, class {pool}. I would like that module repaired. What {pool} promises to its callers is this:

{rules}

{keep} {judge}

Best, {persona}
"""
TICKET = """BUG-{ticket} {pool} hangs ({thing}, {firm})

File: {path}
Impact: stuck threads, lost and doubled {item}s
Definition of done, every point of it:
{rules}
Note 1: {keep}
Note 2: {judge}
"""
NOTE = """{path}: {pool} deadlocks and drops {item}s ({thing}). Fix so that:
{rules}
{keep}
{judge}
"""
SPECIFICATION = """Behaviour of class {pool} in {path} ({thing})

The present code does not conform. Deliver a conforming module at the same path.

{rules}

Compatibility. {keep}
Verification. {judge}
"""
CHAT = """{persona}: anyone good with threads? {path} is driving {firm} mad
{persona}: it is the {pool} class, the {thing} process just stands still, no CPU, nothing
{persona}: this is how it is supposed to behave:
{rules}
{persona}: {keep}
{persona}: {judge}
"""
RUNBOOK = """Recurring page: {thing} is stuck

Stopgap: restart. Loses every {item} in flight.
Proper repair (wanted now): {path}, class {pool}, has to satisfy the following.

{rules}

Conditions: {keep} {judge}
"""
REVIEW = """Design review follow-up, {thing}, reviewer {persona}

I read {pool} in {path} line by line and do not trust its locking. Please turn it into something that provably keeps
these guarantees:

{rules}

{keep}
{judge}
"""
HANDOVER = """Before I go ({persona}): the {thing} stall is still open.
It is in {path}. I collected what callers at {firm} rely on when they use {pool}:

{rules}

{judge} {keep}
"""

SETTINGS = (
    World(
        "thumbnails",
        "web developer",
        "thumbnail",
        "email",
        "/srv/media/lib",
        "renderpool",
        "RenderPool",
        "PoolClosed",
        "submit",
        "drain",
        "close",
        "results",
        "failures",
        EMAIL,
    ),
    World(
        "invoices",
        "back office developer",
        "invoice mailing",
        "ticket",
        "/opt/mailer",
        "sendpool",
        "SendPool",
        "Stopped",
        "post",
        "flush",
        "stop",
        "sent",
        "bounced",
        TICKET,
    ),
    World(
        "crawler",
        "library student",
        "link check",
        "note",
        "/home/crawler/src",
        "crew",
        "Crew",
        "CrewGone",
        "enqueue",
        "settle",
        "dismiss",
        "done",
        "broken",
        NOTE,
    ),
    World(
        "readings",
        "platform engineer",
        "meter reading",
        "specification",
        "/usr/local/lib/meters",
        "gang",
        "Gang",
        "GangClosed",
        "offer",
        "quiesce",
        "shutdown",
        "accepted",
        "rejected",
        SPECIFICATION,
    ),
    World(
        "orders",
        "shop developer",
        "order import",
        "chat",
        "/srv/shop/jobs",
        "workers",
        "WorkerPool",
        "Closed",
        "add",
        "wait_idle",
        "finish",
        "handled",
        "failed",
        CHAT,
    ),
    World(
        "alerts",
        "on-call engineer",
        "alert fan-out",
        "runbook",
        "/opt/alerts/py",
        "fanout",
        "FanOut",
        "Ended",
        "push",
        "join",
        "end",
        "delivered",
        "errors",
        RUNBOOK,
    ),
    World(
        "genomes",
        "bioinformatician",
        "read alignment",
        "specification",
        "/data/align",
        "bench",
        "Bench",
        "BenchClosed",
        "feed",
        "rest",
        "clear",
        "aligned",
        "unaligned",
        REVIEW,
    ),
    World(
        "printing",
        "print shop operator",
        "print queue",
        "email",
        "/var/lib/printshop",
        "press",
        "Press",
        "PressOff",
        "load",
        "run_out",
        "switch_off",
        "printed",
        "spoiled",
        HANDOVER,
    ),
)

WORDINGS = {
    "once": (
        "Every {item} that {submit}() accepted goes to the handler exactly once, and the pair ({item}, return "
        "value) is appended to {results}.",
        "The handler gets each accepted {item} one time, no more, no less; {results} collects ({item}, return "
        "value) pairs.",
        "Nothing is lost or handled twice: what {submit}() took is passed to the handler once, with ({item}, "
        "return value) added to {results}.",
    ),
    "start": (
        "on_start, if given, is called with every {item} once, before its handler, in the same thread; it may "
        "itself take its time or call {submit}().",
        "Before the handler, in the handler's thread, on_start (when not None) sees the {item} once; being slow "
        "or calling {submit}() is allowed there.",
        "A given on_start runs once per {item}, right before the handler and in its thread, and is free to be "
        "slow or to use {submit}().",
    ),
    "failures": (
        "An exception from the handler puts ({item}, exception) into {failures} instead, and costs neither a "
        "worker nor anything else.",
        "When the handler raises, the pair ({item}, exception) goes to {failures} and the worker carries on.",
        "Handlers may raise: then {failures} gets ({item}, exception), {results} nothing, and all workers stay alive.",
    ),
    "nested": (
        "{submit}() waits while `capacity` {item}s are waiting to be taken; called by a handler or on_start it "
        "never waits, even beyond the capacity.",
        "From outside, {submit}() blocks as long as `capacity` {item}s wait; from within a handler or on_start "
        "it always returns at once, full or not.",
        "With `capacity` {item}s waiting, {submit}() holds its caller up, unless that is a handler or on_start, "
        "which must never be held up.",
    ),
    "drain": (
        "{drain}() returns as soon as no {item} is waiting or being handled, those added by handlers included; "
        "any number of threads may call it at the same time.",
        "Any threads, also several together, may call {drain}(); each call ends once nothing waits and nothing "
        "is being handled, counting what handlers added.",
        "{drain}() ends for all its callers, however many, when the last {item} has been handled, among them the "
        "ones that handlers added meanwhile.",
    ),
    "close": (
        "{close}() makes {submit}() raise {closed}, also in threads that are waiting in it at that moment (their "
        "{item}s are not accepted); only handlers and on_start can "
        "still add {item}s; it returns when all accepted {item}s are handled and all worker threads have ended, "
        "and calling it again does no harm.",
        "After {close}() was called, {submit}() raises {closed} for everybody but handlers and on_start, and so "
        "do calls that were blocked in {submit}(), without taking "
        "the {item}; {close}() comes back once every accepted {item} is handled and no worker thread is left; a "
        "second call is harmless.",
        "{close}() ends the intake: outside callers of {submit}(), waiting ones included, get {closed} and keep "
        "their {item}, while handlers and on_start may go on adding; "
        "accepted {item}s are all handled, the workers end, then it returns, the second time just as well.",
    ),
    "keys": (
        "If a key function is given, {item}s of equal key are handled one after the other in the order of "
        "acceptance, never at the same time, and an {item} whose key is "
        "busy does not keep workers from {item}s of other keys.",
        "With key=function, two {item}s of the same key never overlap and keep their order; a busy key must not "
        "occupy more than one worker or hold up other keys.",
        "key, a function or None: per key value strictly one {item} at a time, first come first served; "
        "meanwhile the remaining workers take {item}s of other keys.",
    ),
}
KEEPS = (
    "Names, parameters and attributes stay as they are, callers are not going to be changed; standard library only.",
    "Do not change the interface (class, methods, parameters, lists, exception) and add no dependencies.",
    "The interface is used in many places, so every name and parameter of it has to stay; only the standard "
    "library is available.",
)
JUDGES = (
    "We will run programs against it that provoke each of these situations; what takes longer than a few seconds "
    "counts as stuck.",
    "It is going to be exercised by programs made for these situations, each of which needs well under a second "
    "if nothing is stuck.",
    "Our load programs, one for each point, take a fraction of a second with a sound pool and are given a few seconds.",
)
TESTED_BY = {
    "once": ["test_every_item_once", "test_simple_use"],
    "start": ["test_every_item_once", "test_nested"],
    "failures": ["test_every_item_once"],
    "nested": ["test_nested"],
    "drain": ["test_drain"],
    "close": ["test_close"],
    "keys": ["test_keys"],
}

MODULE = '''"""A pool of worker threads, used for {thing}."""
import threading
from collections import deque


class {closed}(Exception):
    """The pool takes nothing any more."""


class {pool}:
    def __init__(self, workers, handler, capacity=16, on_start=None, key=None):
        self.handler, self.capacity, self.on_start, self.key = handler, capacity, on_start, key
        self.{results}, self.{failures} = [], []
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._idle = threading.Condition(self._lock)
        self._waiting = deque()
        self._pending = 0
        self._busy = set()
        self._closed = False
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def {submit}(self, item):
        key = self.key(item) if self.key else None
        inside = threading.current_thread() in self._threads
        with self._lock:
            if self._closed and not inside:
                raise {closed}()
            while not inside and not self._closed and len(self._waiting) >= self.capacity:
                self._room.wait()
            if self._closed and not inside:
                raise {closed}()
            self._waiting.append((key, item))
            self._pending += 1
            self._work.notify()

    def {drain}(self):
        with self._lock:
            while self._pending:
                self._idle.wait()

    def {close}(self):
        with self._lock:
            self._closed = True
            self._work.notify_all()
            self._room.notify_all()
        for thread in self._threads:
            thread.join()

    def _next(self):
        for entry in self._waiting:
            if entry[0] is None or entry[0] not in self._busy:
                return entry
        return None

    def _run(self):
        while True:
            with self._lock:
                entry = self._next()
                while entry is None:
                    if self._closed and not self._pending:
                        return
                    self._work.wait()
                    entry = self._next()
                self._waiting.remove(entry)
                self._busy.add(entry[0])
                self._room.notify()
            key, item = entry
            try:
                if self.on_start:
                    self.on_start(item)
                value = self.handler(item)
            except Exception as error:
                self._done(key, self.{failures}, (item, error))
            else:
                self._done(key, self.{results}, (item, value))

    def _done(self, key, where, pair):
        with self._lock:
            where.append(pair)
            self._busy.discard(key)
            self._pending -= 1
            self._work.notify_all()
            if not self._pending:
                self._idle.notify_all()
'''
# name -> (right, wrong)
BUGS = {
    "worker_dies": (
        "            except Exception as error:\n                self._done(key, self.{failures}, (item, error))\n",
        "            except ValueError as error:\n                self.{failures}.append((item, error))\n",
    ),
    "nested_waits": ("while not inside and not self._closed and len", "while not self._closed and len"),
    "one_drainer": ("self._idle.notify_all()", "self._idle.notify()"),
    "closes_asleep": ("            self._room.notify_all()\n", ""),
    "late_intake": (
        "                self._room.wait()\n            if self._closed and not inside:\n                raise "
        "{closed}()\n",
        "                self._room.wait()\n",
    ),
    "peeks": (
        """                self._waiting.remove(entry)
                self._busy.add(entry[0])
                self._room.notify()
            key, item = entry
            try:
                if self.on_start:
                    self.on_start(item)
""",
        """            key, item = entry
            try:
                if self.on_start:
                    self.on_start(item)
                with self._lock:
                    if entry in self._waiting:
                        self._waiting.remove(entry)
                    self._busy.add(key)
                    self._room.notify()
""",
    ),
    "first_or_none": ("        for entry in self._waiting:\n", "        for entry in list(self._waiting)[:1]:\n"),
    "never_busy": ("                self._busy.add(entry[0])\n", ""),
}

TESTS = '''
import hashlib
import subprocess

DRIVER = """
import json, os, sys, threading, time
sys.path.insert(0, "{folder}")
sys.setswitchinterval(1e-5)
import {module}

Pool, Closed = {module}.{pool}, {module}.{closed}
gate = threading.Event()


def show(**found):
    print(json.dumps(found), flush=True)
    os._exit(0)


def lists(pool):
    return sorted(i for i, v in pool.{results} if v == i * 2), sorted(i for i, e in pool.{failures} if str(e) == str(i))


def simple():
    pool = Pool(1, lambda item: item * 2, capacity=50)
    for number in range(9):
        pool.{submit}(number)
    pool.{drain}()
    show(results=lists(pool)[0])


def stress(failing, nesting):
    started = []
    def start(item):
        started.append(item)
        time.sleep(0.001)
    def handle(item):
        if item < 1000 and item % nesting == 0:
            pool.{submit}(item + 1000)
        if item % failing == 3:
            raise (ValueError if item % 2 else KeyError)(item)
        return item * 2
    pool = Pool(4, handle, capacity=4, on_start=start)
    for turn in range(3):
        def produce(first):
            for item in range(first, first + 20):
                pool.{submit}(item)
        threads = [threading.Thread(target=produce, args=(turn * 60 + n * 20,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pool.{drain}()
    show(results=lists(pool)[0], failures=lists(pool)[1], started=sorted(started))


def nested():
    started = []
    def start(item):
        started.append(item)
        if item == 3:
            pool.{submit}(7000)
            pool.{submit}(7001)
    def handle(item):
        for child in range(1, 4):
            if item < 100:
                pool.{submit}(item * 10 + child)
        return item * 2
    pool = Pool(2, handle, capacity=1, on_start=start)
    for item in range(1, 5):
        pool.{submit}(item)
    pool.{drain}()
    show(results=lists(pool)[0])


def drain():
    counts = []
    def handle(item):
        gate.wait()
        if item == 1:
            pool.{submit}(5)
        if item == 5:
            time.sleep(0.1)
        return item * 2
    pool = Pool(2, handle, capacity=8)
    pool.{drain}()
    for turn in range(2):
        gate.clear()
        for item in (1, 2, 3):
            pool.{submit}(item)
        def wait():
            pool.{drain}()
            counts.append(len(pool.{results}))
        threads = [threading.Thread(target=wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        early = len(counts) - 4 * turn
        gate.set()
        for thread in threads:
            thread.join()
    show(counts=sorted(counts), early=early)


def close():
    members, said = set(), []
    def handle(item):
        members.add(threading.current_thread())
        gate.wait()
        if item == 1:
            pool.{submit}(11)
            pool.{submit}(12)
        return item * 2
    pool = Pool(2, handle, capacity=1)
    for item in (1, 2, 3):
        pool.{submit}(item)
    def late(item):
        try:
            pool.{submit}(item)
            said.append("accepted")
        except Closed:
            said.append("closed")
    threads = [threading.Thread(target=late, args=(item,)) for item in (21, 22)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    closing = threading.Thread(target=pool.{close})
    closing.start()
    time.sleep(0.1)
    early = not closing.is_alive()
    for thread in threads:
        thread.join()
    gate.set()
    closing.join()
    alive = sum(thread.is_alive() for thread in members)
    pool.{close}()
    late(23)
    show(said=said, results=lists(pool)[0], early=early, alive=alive)


def keys():
    log, lock = [], threading.Lock()
    def handle(item):
        with lock:
            log.append([item, "start"])
        if item == 100:
            gate.wait()
        if item == 200:
            gate.set()
        time.sleep(0.001)
        with lock:
            log.append([item, "end"])
        if item % 10 == 4:
            raise KeyError(item)
        return item * 2
    pool = Pool(3, handle, capacity=100, key=lambda item: item // 100)
    for item in (100, 101, 102, 103, 200):
        pool.{submit}(item)
    pool.{drain}()
    for n in range(4, 12):
        for lane in (1, 2, 3, 4):
            pool.{submit}(lane * 100 + n)
    pool.{drain}()
    show(log=log, failures=lists(pool)[1])


globals()[sys.argv[1]](*map(int, sys.argv[2:]))
"""


PATIENCE = [5.0]  # seconds; a sound pool takes a fraction of one, and where one run is stuck the others get less


def drive(*words):
    command = ["/usr/bin/python3", "-c", DRIVER, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE[0])
    except subprocess.TimeoutExpired:
        PATIENCE[0] = 1.5
        raise AssertionError(words[0] + ": stuck") from None
    assert done.returncode == 0 and done.stdout.startswith("{"), words[0] + ": " + done.stderr[-300:]
    return json.loads(done.stdout)


def test_every_item_once():
    for case in TRUTH["stress"]:
        got = drive("stress", case["failing"], case["nesting"])
        assert got["started"] == case["started"], "on_start calls"
        assert got["results"] == case["results"], "results"
        assert got["failures"] == case["failures"], "failures"


def test_nested():
    assert drive("nested")["results"] == TRUTH["nested"]


def test_drain():
    got = drive("drain")
    assert got == {"counts": [4, 4, 4, 4, 8, 8, 8, 8], "early": 0}, got


def test_close():
    got = drive("close")
    assert got["said"] == ["closed"] * 3, "an outside caller was not told that the pool is closed"
    assert got["results"] == [1, 2, 3, 11, 12], "not exactly the accepted items were handled"
    assert not got["early"] and got["alive"] == 0, "returned with work or threads left"


def test_simple_use():
    assert drive("simple")["results"] == list(range(9))


def test_caller_unchanged():
    with open(TRUTH["caller"], "rb") as source:
        assert hashlib.sha256(source.read()).hexdigest() == TRUTH["caller_sha"]
'''
TESTS_KEYS = """

def test_keys():
    for _ in range(2):
        got = drive("keys")
        running, order = {}, {}
        for item, what in got["log"]:
            lane = item // 100
            if what == "start":
                assert lane not in running, "two items of a key at the same time"
                running[lane] = item
                order.setdefault(lane, []).append(item)
            else:
                assert running.pop(lane) == item
        assert sorted(sum(order.values(), [])) == TRUTH["keyed"], "not every item once"
        assert all(items == sorted(items) for items in order.values()), "order within a key"
        assert got["failures"] == [104, 204, 304, 404]
"""
INITIAL = """
import os


def test_module_is_there():
    assert os.path.isfile(TRUTH["path"]) and os.path.isfile(TRUTH["caller"])
"""
CALLER = """import {module}

pool = {module}.{pool}(4, lambda item: item * item, capacity=8)
for number in range(20):
    pool.{submit}(number)
pool.{drain}()
pool.{close}()
print(sorted(pool.{results}))
"""

OTHER = '''"""A pool of worker threads, used for {thing}."""
import threading


class {closed}(Exception):
    """The pool takes nothing any more."""


class {pool}:
    """One monitor, everybody is woken at every change."""

    def __init__(self, workers, handler, capacity=16, on_start=None, key=None):
        self.handler, self.capacity, self.on_start, self.key = handler, capacity, on_start, key
        self.{results}, self.{failures} = [], []
        self._monitor = threading.Condition()
        self._lanes, self._free, self._number = {}, [], 0
        self._queued = self._running = 0
        self._open = True
        self._local = threading.local()
        self._threads = []
        for _ in range(workers):
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def {submit}(self, item):
        worker = getattr(self._local, "worker", False)
        lane = self.key(item) if self.key else object()
        with self._monitor:
            if not worker:
                self._monitor.wait_for(lambda: not self._open or self._queued < self.capacity)
                if not self._open:
                    raise {closed}()
            if lane in self._lanes:
                self._lanes[lane].append(item)
            else:
                self._lanes[lane] = [item]
                self._free.append(lane)
            self._queued += 1
            self._monitor.notify_all()

    def {drain}(self):
        with self._monitor:
            self._monitor.wait_for(lambda: self._queued + self._running == 0)

    def {close}(self):
        with self._monitor:
            self._open = False
            self._monitor.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self):
        self._local.worker = True
        while True:
            with self._monitor:
                self._monitor.wait_for(lambda: self._free or not (self._open or self._queued + self._running))
                if not self._free:
                    return
                lane = self._free.pop(0)
                item = self._lanes[lane].pop(0)
                self._queued -= 1
                self._running += 1
                self._monitor.notify_all()
            target = self.{failures}
            try:
                if self.on_start is not None:
                    self.on_start(item)
                outcome = self.handler(item)
                target = self.{results}
            except BaseException as problem:
                outcome = problem
            with self._monitor:
                target.append((item, outcome))
                self._running -= 1
                if self._lanes[lane]:
                    self._free.append(lane)
                else:
                    del self._lanes[lane]
                self._monitor.notify_all()
'''


def stress_case(draw: Draw) -> dict[str, object]:
    """Which items fail and which add others, and what must come out."""
    failing, nesting = draw.pick((5, 7, 8, 11)), draw.pick((3, 4, 6, 9))
    items = [*range(180), *(item + 1000 for item in range(0, 180, nesting))]
    failures = [item for item in items if item % failing == 3]
    return {
        "failing": failing,
        "nesting": nesting,
        "started": items,
        "failures": failures,
        "results": [item for item in items if item not in failures],
    }


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    item = draw.pick(("item", "task", "job", "unit"))
    path = f"{world.folder}/{world.module}.py"
    words: dict[str, object] = {
        "folder": world.folder,
        "module": world.module,
        "pool": world.pool,
        "closed": world.closed,
        "submit": world.submit,
        "drain": world.drain,
        "close": world.close,
        "results": world.results,
        "failures": world.failures,
        "thing": world.scenario,
        "item": item,
        "path": path,
        "firm": draw.pick(FIRMS),
        "ticket": draw.between(100, 9999),
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
    }

    def fill(text: str) -> str:
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", str(word))
        return text

    keys = [key for key in WORDINGS if extreme or key != "keys"]
    sentences = {key: fill(draw.pick(WORDINGS[key])) for key in keys}
    keep, judge = draw.pick(KEEPS), draw.pick(JUDGES)
    mark = draw.pick(("- {}\n", "* {}\n", "{}\n", "{}\n\n"))
    rules = "".join(mark.format(sentences[key]) for key in draw.shuffled(keys)).strip()

    planted = ["worker_dies", "nested_waits", "one_drainer", "peeks"]
    planted += (
        ["closes_asleep", "late_intake", "first_or_none"] if extreme else [draw.pick(("closes_asleep", "late_intake"))]
    )
    right = fill(MODULE)
    bugs = {name: (fill(good), fill(bad)) for name, (good, bad) in BUGS.items()}
    broken = right
    for name in planted:
        broken = broken.replace(*bugs[name])

    def without(name: str) -> str:
        return install(path, right.replace(*bugs[name]))

    misses = [
        Miss("peeks", "takes the item out of the queue too late", without("peeks"), ["test_every_item_once"]),
        Miss("nested_waits", "a handler that adds waits for itself", without("nested_waits"), ["test_nested"]),
        Miss("one_drainer", "wakes only one of the waiting callers", without("one_drainer"), ["test_drain"]),
        Miss("closing", "forgets the callers that wait for room", without(planted[4]), ["test_close"]),
    ]
    goals = ["test_every_item_once", "test_nested", "test_drain", "test_close"]
    if extreme:
        misses += [
            Miss("head_of_line", "a busy key blocks all", without("first_or_none"), ["test_keys"]),
            Miss("no_exclusion", "two of a key at once", without("never_busy"), ["test_keys"]),
        ]
        goals.append("test_keys")
    caller, caller_path = fill(CALLER), f"{world.folder}/example.py"
    children = [n * 10 + child for n in range(1, 5) for child in (1, 2, 3)]
    family_tree = [1, 2, 3, 4, *children, *(n * 10 + child for n in children for child in (1, 2, 3)), 7000, 7001]
    weights = dict.fromkeys(goals, round(1 / len(goals), 2))
    return Draft(
        title=f"Repair the {world.scenario} thread pool",
        setting=world,
        instruction=world.text.format(rules=rules, keep=keep, judge=judge, **words),
        files={"module.py": broken, "example.py": caller},
        dockerfile=f"COPY module.py {path}\nCOPY example.py {caller_path}\nWORKDIR {world.folder}",
        truth={
            "path": path,
            "caller": caller_path,
            "caller_sha": hashlib.sha256(caller.encode()).hexdigest(),
            "stress": [stress_case(draw) for _ in range(2)],
            "nested": sorted(family_tree),
            "keyed": [*range(100, 112), 200, *(lane * 100 + n for lane in (2, 3, 4) for n in range(4, 12))],
        },
        discoverable=("path", "caller"),
        tests=fill(TESTS) + (TESTS_KEYS if extreme else ""),
        weights=weights,
        guards=["test_simple_use", "test_caller_unchanged"],
        initial=INITIAL,
        solution=install(path, right),
        alternatives=[install(path, fill(OTHER))],
        misses=misses,
        requirements=[
            *((sentences[key], TESTED_BY[key]) for key in keys),
            (keep, ["test_simple_use", "test_caller_unchanged"]),
            (judge, goals),
        ],
        knobs={"bugs": planted, "keys": extreme},
    )


def install(path: str, text: str) -> str:
    """Put a module at its path."""
    return f"cat > {path} <<'END_OF_MODULE'\n{text}END_OF_MODULE\n"


FAMILY = Family(
    name="worker_deadlock",
    domain="debugging",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("concurrency", "condition variables", "deadlock analysis", "python debugging"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=48,
    draft=draft,
    language="python",
)
