"""Make a report program linear where it is quadratic: same output, counted catalogue reads, bounded processor time."""

from __future__ import annotations

import hashlib
from bisect import bisect_right, insort
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, FIRST_NAMES

# Events and the milliseconds of processor time they may take: linear programs need a tenth, the quadratic ones several times as much.
# The small day ends the first program's run early.
DAYS = ((4_000, 300), (16_000, 800))


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    reader: str
    table: str
    event: str
    account: str
    group: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
READER = resource(__file__, "reader.py")
SLOW = resource(__file__, "program.py")
FAST = resource(__file__, "solution.py")
OTHER = resource(__file__, "alternative.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")


def draw_table(draw: Draw, accounts: int) -> list[tuple[str, str]]:
    """Accounts and groups; one account is listed twice, and the first row counts."""
    groups = draw.sample(CITIES, 4)
    rows = [(f"K{number}", draw.pick(groups)) for number in draw.sample(range(10, 999), accounts)]
    return [*rows, (rows[0][0], next(group for group in groups if group != rows[0][1]))]


def draw_events(draw: Draw, count: int, accounts: list[str]) -> list[tuple[int, str, str, int]]:
    """Events with equal times, repeated ids and unknown accounts."""
    time, events = draw.between(0, 10**6), list[tuple[int, str, str, int]]()
    for number in range(count):
        time += draw.pick((0, 0, 1, 2, 9))
        key = f"E{draw.between(0, number)}" if number % 6 == 5 else f"E{number}"
        account = "K1" if number % 9 == 4 else draw.pick(accounts)
        events.append((time, key, account, draw.between(1, 60)))
    return events


def report(events: list[tuple[int, str, str, int]], table: list[tuple[str, str]], window: int, last: int) -> str:
    """What the program prints; `last` 0 means without the two extra columns."""
    known = dict(reversed(table))
    kept: dict[str, tuple[int, str, str, int]] = {}
    ordered: dict[str, list[int]] = {}
    amounts: list[int] = []
    out = ""
    for time, key, account, amount in events:
        if key in kept:
            continue
        group = known.get(account, "?")
        kept[key] = (time, account, group, amount)
        amounts.append(amount)
        recent = sum(row[3] for row in kept.values() if row[1] == account and row[0] > time - window)
        sorted_amounts = ordered.setdefault(group, [])
        rank = len(sorted_amounts) - bisect_right(sorted_amounts, amount)
        insort(sorted_amounts, amount)
        out += f"{key} {group} {recent}" + (f" {max(amounts[-last:])} {rank}" if last else "") + "\n"
    return out + "".join(f"= {group} {len(items)} {sum(items)}\n" for group, items in sorted(ordered.items()))


def draft(draw: Draw) -> Draft:
    """One program."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    words: dict[str, object] = {
        "folder": world.folder,
        "program": world.program,
        "reader": world.reader,
        "table": world.table,
        "event": world.event,
        "account": world.account,
        "group": world.group,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "city": draw.pick(CITIES),
        "ticket": draw.between(100, 9999),
        "persona": f"{draw.pick(FIRST_NAMES)}, {world.persona}",
        "more": ", number of last rows" if hard else "",
        "columns": ", peak, rank" if hard else "",
        "formats": " %d %d" if hard else "",
        "hard": hard,
    }

    def fill(text: str) -> str:
        lines = text.splitlines(keepends=True)
        text = "".join(line.replace("{peak}", "") for line in lines if hard or "{peak}" not in line)
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", str(word))
        return text

    same, speed, reads, keep = (fill(draw.pick(WORDS[key])) for key in ("sames", "speeds", "reads", "keeps"))
    table = draw_table(draw, draw.between(20, 40))
    table_csv = "".join(f"{account},{group}\n" for account, group in table)
    cases: list[dict[str, object]] = []
    for _ in range(3):
        rows = draw_table(draw, draw.between(4, 12))
        events = draw_events(draw, draw.between(20, 60), [account for account, _ in rows])
        window, last = draw.between(1, 60), draw.between(1, 20) if hard else 0
        cases.append(
            {
                "events": "".join(f"{time},{key},{account},{amount}\n" for time, key, account, amount in events),
                "table": "".join(f"{account},{group}\n" for account, group in rows),
                "arguments": [window, last] if hard else [window],
                "output": report(events, rows, window, last),
            }
        )

    path = f"{world.folder}/{world.program}"
    slow, fast = fill(SLOW), fill(FAST)
    account, group = str(words["account"]), world.group
    listed = fast.replace("set(), {}", "[], {}", 1).replace("seen.add(", "seen.append(")
    asking = f'dict(reversed(list({world.reader}.rows()))).get({account}, "?")'
    cached = fast.replace("    known = {}\n", "    known = {}\n    asked = {}\n").replace(
        f'known.get({account}, "?")', f"asked.get({account}) or asked.setdefault({account}, {asking})"
    )
    rescans = fast.replace(
        f"        sums[{account}] = recent\n", f"        recent = sums[{account}] = sum(pair[1] for pair in queue)\n"
    )
    misses = [
        Miss("list_of_ids", "keeps the ids in a list", install(path, listed), ["test_large_day"]),
        Miss("table_per_account", "reads the table once per account", install(path, cached), ["test_table_reads"]),
        Miss("window_rescan", "adds up the whole window for every event", install(path, rescans), ["test_large_day"]),
    ]
    if hard:
        counted = fast.replace(
            "len(ordered) - bisect_right(ordered, amount)", "sum(other > amount for other in ordered)"
        )
        misses.append(Miss("rank_by_count", "counts all earlier amounts", install(path, counted), ["test_large_day"]))
    sources = {f"{world.reader}.py": fill(READER), world.table: table_csv}
    first_rows = draw_events(draw, 30, [row[0] for row in table])
    sample = "".join(f"{time},{key},{name},{amount}\n" for time, key, name, amount in first_rows)
    return Draft(
        title=f"Speed up the {world.scenario} report",
        setting=world,
        instruction=fill(world.text.format(same=same, speed=speed, reads=reads, keep=keep, **words)),
        files={**sources, world.program: slow, "example.csv": sample},
        dockerfile=f"COPY {world.reader}.py {world.table} {world.program} example.csv {world.folder}/\n"
        f"WORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "program": world.program,
            "days": [list(day) for day in DAYS],
            "last": hard,
            "start": draw.between(1, 10**6),
            "cases": cases,
            "inputs": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sources.items()},
        },
        discoverable=("folder", "program"),
        tests=TESTS,
        weights={"test_large_day": 0.6, "test_table_reads": 0.4},
        guards=["test_same_output", "test_reader_and_table"],
        initial=INITIAL,
        solution=install(path, fast),
        alternatives=[install(path, fill(OTHER))],
        misses=misses,
        requirements=[
            (same, ["test_same_output", "test_large_day"]),
            (speed, ["test_large_day"]),
            (reads, ["test_table_reads"]),
            (keep, ["test_reader_and_table"]),
        ],
        knobs={"columns": 4 if hard else 2, "group": group},
    )


def install(path: str, text: str) -> str:
    """Put a program at its path."""
    return f"cat > {path} <<'END_OF_PROGRAM'\n{text}END_OF_PROGRAM\n"


FAMILY = Family(
    name="quadratic_cliff",
    domain="debugging",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("algorithmic complexity", "data structures", "profiling", "python"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    language="python",
)
