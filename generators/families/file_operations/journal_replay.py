"""Rebuild a folder from a snapshot and a journal: resent and shuffled records, transactions, damaged lines, a gap."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from generators.families.file_operations._journal_replay import Record, draw_journal, replay
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

VERBS = ("write", "append", "move", "delete", "copy", "swap", "begin", "commit", "abort")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    snapshot: str
    mark: str  # file with the last number the snapshot covers
    journal: str
    target: str
    verbs: str  # this world's words for VERBS
    fields: str  # names of number, generation, transaction, verb, path, argument, checksum
    lines: str  # json or tab
    report: str
    keys: str  # names in the report
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # on the real file system, fed by a small reader in Perl


def line_of(record: Record, world: World, hard: bool, damage: bool = False) -> str:
    """A record as the journal holds it."""
    verb = world.verbs.split()[VERBS.index(record.verb)]
    values = [str(record.number), str(record.generation), record.tx, verb, record.path, record.arg]
    total = zlib.crc32("|".join(values).encode())
    names = world.fields.split()
    if hard:
        values.append(f"{total ^ (0x10 if damage else 0):08x}")
    else:
        del values[1]
        names = [name for index, name in enumerate(names) if index not in (1, 6)]
    if world.lines == "json":
        return json.dumps(
            {
                name: int(value) if index == 0 or (hard and index == 1) else value
                for index, (name, value) in enumerate(zip(names, values, strict=True))
            }
        )
    return "\t".join(quote(value, safe="/ .") for value in values)


def segments(draw: Draw, records: Sequence[Record], world: World, hard: bool, lost: int) -> dict[str, str]:
    """The journal's files: shuffled, resent, and at the hard level damaged and with a number that never arrived."""
    lines: list[str] = []
    always = [record.number for record in records if record.verb == "append"]
    for record in records:
        good = line_of(record, world, hard)
        if record.number == lost:
            lines += [line_of(record, world, hard, damage=True), good[: len(good) // 2]]
            continue
        lines += [good] * (2 if record.number in always or draw.chance(12) else 1)
        if hard and draw.chance(8):
            lines.append(line_of(record, world, hard, damage=True))
        if hard and record.verb in ("write", "append") and (record.path == "fixed/late.txt" or draw.chance(10)):
            older = Record(record.number, record.tx, record.verb, record.path, record.arg[::-1].strip() + "\n", 0)
            lines.insert(draw.between(max(0, len(lines) - 9), len(lines)), line_of(older, world, hard))
    count = 4 if hard else 3
    parts: list[list[str]] = [[] for _ in range(count)]
    for index, text in enumerate(lines):
        parts[min(count - 1, max(0, index * count // len(lines) + draw.pick((-1, 0, 0, 1))))].append(text)
    names = draw.sample(range(7, 14), count)
    return {f"part-{name}.log": "\n".join(draw.shuffled(part)) + "\n" for name, part in zip(names, parts, strict=True)}


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, hard: bool) -> tuple[str, dict[str, str], dict[str, str]]:
    """What lies there, the rules, and what to leave: every sentence by a short name."""
    here = world.folder
    fields = world.fields.split()
    shown = fields if hard else [name for index, name in enumerate(fields) if index not in (1, 6)]
    meaning = dict(zip(("number", "gen", "tx", "op", "path", "arg", "crc"), fields, strict=True))
    glosses = {
        fields[0]: "the number",
        fields[1]: "the sender's generation",
        fields[2]: "the transaction",
        fields[3]: "what to do",
        fields[4]: "the relative path",
        fields[5]: "the text, or the second path",
        fields[6]: "a checksum",
    }
    keys = world.keys.split()
    words = (
        dict(zip(VERBS, world.verbs.split(), strict=True))
        | meaning
        | {f"k{index}": key for index, key in enumerate(keys)}
    )
    words |= {
        "snapshot": f"{here}/{world.snapshot}",
        "mark": f"{here}/{world.mark}",
        "journal": f"{here}/{world.journal}",
    }
    words |= {
        "target": world.target,
        "report": world.report,
        "fields": ", ".join(f"{name} ({glosses[name]})" for name in shown),
    }
    words["lines"] = WORDS[f"lines_{world.lines}"].format(**words)
    rules = ["order", "folders", "verbs", "skip", "tx"]
    if hard:
        rules += ["more", "atomic", "sum", "generation", "gap"]
    return (
        WORDS["layout"][wording(world, 0)].format(**words),
        {key: WORDS[key][wording(world, at + 1)].format(**words) for at, key in enumerate(rules)},
        {key: WORDS[key][wording(world, at)].format(**words) for at, key in enumerate(("report", "keep"))},
    )


def scripts(world: World, hard: bool) -> tuple[str, str]:
    """The reference solution and the alternative."""
    fields = [name for index, name in enumerate(world.fields.split()) if hard or index not in (1, 6)]
    here = world.folder
    config = {
        "snapshot": f"{here}/{world.snapshot}",
        "mark": f"{here}/{world.mark}",
        "journal": f"{here}/{world.journal}",
        "target": world.target,
        "report": world.report,
        "lines": world.lines,
        "hard": hard,
        "fields": fields,
        "verbs": world.verbs.split(),
        "meaning": VERBS,
        "keys": world.keys.split(),
    }
    other = ALTERNATIVE.replace("@FIELDS@", " ".join(fields)).replace("@HARD@", str(int(hard)))
    for key in ("snapshot", "mark", "journal", "target", "report", "lines"):
        other = other.replace(f"@{key.upper()}@", str(config[key]))
    return SOLUTION.replace("@CONFIG@", json.dumps(config)), other.replace("@KEYS@", world.keys).replace(
        "@VERBS@", world.verbs
    )


def digest(text: str) -> str:
    """The start of a hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def draft(draw: Draw) -> Draft:
    """One journal."""
    world, hard = draw.setting(SETTINGS), draw.difficulty == Difficulty.HARD
    size = draw.by_difficulty(medium=50, hard=140)
    base, last, records = draw_journal(draw, size, hard)
    lost = records[-draw.between(12, 20)].number if hard else 0
    tree, skipped, unfinished = replay(
        base, [r for r in records if r.number > last and not (hard and r.number >= lost)], hard
    )
    parts = segments(draw, records, world, hard, lost)
    listing = "".join(
        f"{hashlib.sha256(tree.files[path].encode()).hexdigest()}  {path}\n"
        for path in sorted(tree.files, key=str.encode)
    )
    here = world.folder
    truth = {
        "target": world.target,
        "report": world.report,
        "tree": {path: digest(text) for path, text in tree.files.items()},
        "keys": world.keys.split(),
        "values": [hashlib.sha256(listing.encode()).hexdigest(), len(tree.files), skipped, unfinished],
        "sources": {
            f"{here}/{world.snapshot}": {path: digest(text) for path, text in base.items()},
            f"{here}/{world.journal}": {name: digest(text) for name, text in parts.items()},
        },
    }
    layout, rules, output = sentences(world, hard)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        layout=layout,
        rules=" ".join(rules.values()),
        output="\n".join(output.values()),
    )
    goals = ["test_tree", "test_fingerprint", "test_exceptions"]
    solution, other = scripts(world, hard)
    misses = [
        Miss(
            "transactions_in_place",
            "applies changes of transactions at their own number",
            solution.replace("    elif tx:\n", "    elif tx and False:\n"),
            goals[:2],
        ),
        Miss(
            "snapshot_again",
            "replays what the snapshot already has",
            solution.replace('last = int(open(C["mark"]).read())', "last = min(best) - 1"),
            goals[:2],
        ),
        Miss(
            "aborts_count",
            "treats an abort like a commit",
            solution.replace('op == "abort"', 'op == "-"').replace('op == "commit"', 'op in ("commit", "abort")'),
            goals[:2],
        ),
        Miss(
            "no_report_of_failures",
            "drops impossible records silently",
            solution.replace("sorted(skipped)", "[]"),
            ["test_exceptions"],
        ),
    ]
    if hard:
        misses += [
            Miss(
                "gap_ignored",
                "goes on behind the missing number",
                solution.replace("if n == want]", "]"),
                ["test_exceptions"],
            ),
            Miss(
                "damaged_lines",
                "does not verify sums",
                solution.replace('row[SUM] != "%08x"', 'row[SUM] == "" and row[SUM] != "%08x"'),
                ["test_exceptions"],
            ),
            Miss(
                "first_version",
                "keeps the lowest generation",
                solution.replace("int(row[GEN]) >", "int(row[GEN]) <"),
                goals[:2],
            ),
        ]
    cited = {"report": goals[1:], "keep": ["test_sources_untouched"]}
    files = {f"tree/{path}": text for path, text in base.items()} | {
        f"journal/{name}": text for name, text in parts.items()
    }
    return Draft(
        title=f"Replay the journal of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={**files, "mark": f"{last}\n"},
        dockerfile=f"COPY tree {here}/{world.snapshot}/\nCOPY journal {here}/{world.journal}/\nCOPY mark "
        f"{here}/{world.mark}\nWORKDIR {here}",
        truth=truth,
        discoverable=("target", "report", "tree", "keys", "values", "sources"),
        tests=TESTS,
        weights={"test_tree": 0.5, "test_fingerprint": 0.25, "test_exceptions": 0.25},
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[other],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in (rules | output).items()],
        knobs={"changes": size, "format": world.lines, "damage_and_gap": hard, "atomic": hard},
    )


FAMILY = Family(
    name="journal_replay",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("log replay", "transactions", "checksums", "tree digests"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
