"""Write a key-value server to a protocol document: pipelining, partial reads, a logical clock, transactions, a store file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.families.system_administration._key_value_cases import draw_cases
from generators.families.system_administration._key_value_server import VERBS
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Limits, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    document: str
    verbs: str  # the words for VERBS, in that order
    keys: tuple[str, ...]
    wording: int
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
DOCUMENT = resource(__file__, "document.txt")
TRANSACTIONS = resource(__file__, "transactions.txt")
TESTS = resource(__file__, "tests.py")
TRANSACTION_TESTS = resource(__file__, "tests_transactions.py")
GUARD_TESTS = resource(__file__, "tests_guard.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def draft(draw: Draw) -> Draft:
    """One server."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    limit = draw.between(40, 200)
    words: dict[str, str] = dict(zip(VERBS, world.verbs.split(), strict=True))
    document = DOCUMENT.format(limit=limit, more="\n" + TRANSACTIONS.format(**words) if extreme else "", **words)
    where = {"folder": world.folder, "program": world.program, "document": world.document}
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items()}
    known = words if extreme else {verb: words[verb] for verb in VERBS[:9]}
    fill = {"@P@": f"{world.folder}/{world.program}", "@V@": " ".join(known.values()), "@L@": str(limit)}
    goals = ["test_requests", "test_streams", "test_clock", "test_store"] + (["test_transactions"] if extreme else [])
    weights = (0.2, 0.2, 0.15, 0.15, 0.3) if extreme else (0.3, 0.3, 0.2, 0.2)
    variants: list[tuple[str, str, str, str, list[str]]] = [
        (
            "one_read_one_request",
            "takes what one read brings for one request",
            "while (reply := self.step()) is not None:",
            "reply = self.step()\n        self.buffer = b''\n        if reply is not None:",
            ["test_streams", "test_clock"],
        ),
        (
            "lives_one_too_long",
            "lets entries live a moment longer",
            "clock >= e[1]",
            "clock > e[1]",
            ["test_clock", "test_store"],
        ),
        ("sum_forgets_expiry", "loses the expiry when adding", "% total, until)", "% total, None)", ["test_clock"]),
        (
            "size_not_skipped",
            "leaves an oversized value in the stream",
            "if len(rest) < size + 1:",
            "if size > LIMIT:\n                self.buffer = rest\n                return b'ERR size\\n'\n         "
            "   if len(rest) < size + 1:",
            ["test_requests"],
        ),
        ("file_not_read", "starts empty", "if os.path.exists(path):", "if False:", ["test_store"]),
    ]
    if extreme:
        variants += [
            (
                "watch_is_decoration",
                "executes although an entry changed",
                "if any(find(k) != e for",
                "if any(False for",
                ["test_transactions"],
            ),
            (
                "spoilt_goes_on",
                "executes the rest of a spoilt transaction",
                "if self.spoilt:",
                "if False:",
                ["test_transactions"],
            ),
        ]
    return Draft(
        title=f"Key-value server: {world.scenario}",
        setting=world,
        instruction=world.text.format(
            number=draw.between(100, 999), firm=draw.pick(FIRMS), rules="\n".join(rules.values()), **where
        ),
        files={world.document: document},
        dockerfile=f"COPY {world.document} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "program": f"{world.folder}/{world.program}",
            "document": f"{world.folder}/{world.document}",
            "document_sum": hashlib.sha256(document.encode()).hexdigest(),
            "stop": words["stop"] + "\n",
            "cases": draw_cases(draw, world.keys, words, limit, extreme),
        },
        discoverable=("program", "document", "stop", "cases"),
        tests="\n\n".join([TESTS, *([TRANSACTION_TESTS] if extreme else []), GUARD_TESTS]),
        weights=dict(zip(goals, weights, strict=True)),
        guards=["test_document_untouched"],
        initial=INITIAL,
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {old: new, **fill}), caught) for name, why, old, new, caught in variants
        ],
        requirements=[
            *(
                (
                    text,
                    ["test_streams"] if key in ("stream", "clients") else ["test_store"] if key == "store" else goals,
                )
                for key, text in rules.items()
            ),
            (rules["protocol"], ["test_document_untouched"]),
        ],
        knobs={"limit": limit, "transactions": extreme, "cases": 6 if extreme else 4},
        limits=Limits(solve_seconds=120, grade_seconds=90),
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="key_value_server",
    domain="system_administration",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("tcp servers", "protocol implementation", "stream parsing", "persistence"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
)
