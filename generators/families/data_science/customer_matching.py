"""Match persons of two registers: other scripts, short names, swapped fields, typos; households and namesakes as traps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.families.data_science._customer_matching import (
    FIRST,
    LAST,
    draw_faults,
    draw_person,
    relative,
    right_line,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    left: str
    right: str
    person: str
    ids: tuple[str, str]  # prefixes
    columns: tuple[str, str]  # names of the id columns
    wording: int
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
COMMON = resource(__file__, "common.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def draft(draw: Draw) -> Draft:
    """One linkage."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    count = draw.by_difficulty(hard=84, extremely_hard=126)
    people = [draw_person(draw, number) for number in range(count)]
    kinds = ("child", "namesake", "partner", "twin")
    doubles = [relative(draw, people[number * 3], kinds[number % 4]) for number in range(count // 3)]
    codes = draw.rng.sample(range(1000, 9999), count * 2)
    left = [(f"{world.ids[0]}{code}", person) for code, person in zip(codes, people, strict=False)]
    numbers = iter(draw.rng.sample(range(10000, 99999), count * 3))

    lines: list[str] = []
    links: list[list[str]] = []
    for number, (key, person) in enumerate(left):
        copies = 0 if number % 9 == 8 else 2 if number % 8 == 1 else 1
        for copy in range(copies):
            faults = draw_faults(draw, person, number + copy * 3, extreme)
            if number % 3 == 0:  # who has a double keeps a birth date
                faults.discard("undated")
            name = f"{world.ids[1]}{next(numbers)}"
            links.append([key, name])
            lines.append(f"{name},{right_line(draw, person, faults)}\n")
    for number, person in enumerate(doubles):
        faults = {"email"} if number % 5 == 1 and kinds[number % 4] != "namesake" else set[str]()
        lines.append(f"{world.ids[1]}{next(numbers)},{right_line(draw, person, faults)}\n")
    for number in range(count // 8):
        lines.append(f"{world.ids[1]}{next(numbers)},{right_line(draw, draw_person(draw, number), set())}\n")
    column_a, column_b = world.columns
    left_text = f"{column_a},first,last,born,street,zip,city,phone,email\n" + "".join(
        f"{key},{FIRST[p.origin][p.first][0]},{LAST[p.origin][p.last][0]},{p.born[0]}-{p.born[1]:02d}-{p.born[2]:02d},"
        f"{p.home[0]},{p.home[1]},{p.home[2]},0{p.phone},{p.email}\n"
        for key, p in draw.shuffled(left)
    )
    files = {
        world.left: left_text,
        world.right: f"{column_b},name,birth,address,contact\n" + "".join(draw.shuffled(lines)),
    }
    if not extreme:
        pairs = [f"{latin},{short}\n" for group in FIRST for latin, _, short in group]
        files["nicknames.csv"] = "name,short\n" + "".join(sorted(pairs))

    kind = world.wording
    precision, recall = draw.by_difficulty(hard=93, extremely_hard=94), draw.by_difficulty(hard=90, extremely_hard=92)
    words = {
        "folder": world.folder, "left": world.left, "right": world.right, "person": world.person, "a": column_a,
        "b": column_b, "precision": precision, "recall": recall, "more": "" if extreme else WORDS["nicknames"][kind],
    }  # fmt: skip
    data, hazards = WORDS["data"][kind].format(**words), WORDS["hazards"][kind].format(**words)
    output, quality = WORDS["outputs"][kind].format(**words), WORDS["quality"][kind].format(**words)
    instruction = world.text.format(
        firm=draw.pick(FIRMS), persona=world.persona, ticket=draw.between(100, 9999), person=world.person,
        left=world.left, right=world.right, data=data, hazards=hazards, output=output, quality=quality, keep=WORDS["keep"][kind],
    )  # fmt: skip
    names = {
        "COMMON": COMMON,
        "FOLDER": world.folder,
        "LEFT": world.left,
        "RIGHT": world.right,
        "A": column_a,
        "B": column_b,
    }
    solution = filled(SOLUTION, names)
    goals = ["test_precision", "test_recall"]
    return Draft(
        title=f"Link {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "columns": [column_a, column_b],
            "links": links,
            "precision": precision,
            "recall": recall,
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "columns", "links"),
        tests=TESTS,
        weights={"test_precision": 0.5, "test_recall": 0.5},
        guards=["test_registers_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[filled(ALTERNATIVE, names)],
        misses=[
            Miss(
                "exact_join",
                "joins on equal names and birth dates",
                wrong(
                    wrong(solution, "1 - distance(x, y) / max(len(x), len(y), 1) >= 0.68", "a == b"),
                    "if a == b or a == b[:4] + b[6:] + b[4:6]:",
                    "if a == b:",
                ),
                goals[1:],
            ),
            Miss(
                "names_only",
                "believes that one name is one person",
                wrong(solution, "if score == 0:", "if False:"),
                goals[:1],
            ),
            Miss(
                "households",
                "links everybody who shares a number",
                wrong(solution, "score == 2 and contact and any(f for f, _ in fits)", "contact"),
                goals[:1],
            ),
            Miss(
                "no_scripts",
                "cannot read other alphabets",
                wrong(solution, "TRANSLATE = True", "TRANSLATE = False"),
                goals[1:],
            ),
        ],
        requirements=[
            (data, goals),
            (hazards, goals),
            (output, goals),
            (quality, goals),
            (WORDS["keep"][kind], ["test_registers_unchanged"]),
        ],
        knobs={"people": count, "lines": len(lines), "extreme": extreme},
    )


FAMILY = Family(
    name="customer_matching",
    domain="data_science",
    verifier=Verifier.METRIC_THRESHOLD,
    skills=("record linkage", "fuzzy matching", "transliteration", "data cleaning"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
)
