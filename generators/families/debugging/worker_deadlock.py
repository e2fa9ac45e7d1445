"""Repair a thread pool that hangs, loses items or handles them twice, without changing how it is used."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
RULES: dict[str, tuple[str, ...]] = load_words(__file__, "rules.yaml")
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
MODULE = resource(__file__, "solution.py")
OTHER = resource(__file__, "alternative.py")
CALLER = resource(__file__, "example.py")
TESTS = resource(__file__, "tests.py")
TESTS_KEYS = resource(__file__, "tests_keys.py")
INITIAL = resource(__file__, "initial.py")

TESTED_BY = {
    "once": ["test_every_item_once", "test_simple_use"],
    "start": ["test_every_item_once", "test_nested"],
    "failures": ["test_every_item_once"],
    "nested": ["test_nested"],
    "drain": ["test_drain"],
    "close": ["test_close"],
    "keys": ["test_keys"],
}
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

    keys = [key for key in RULES if extreme or key != "keys"]
    sentences = {key: fill(draw.pick(RULES[key])) for key in keys}
    keep, judge = draw.pick(WORDS["keeps"]), draw.pick(WORDS["judges"])
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
        tests=fill(TESTS) + ("\n\n" + TESTS_KEYS if extreme else ""),
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
