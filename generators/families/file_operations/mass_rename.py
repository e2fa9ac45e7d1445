"""Rename many files by rules: collisions, chains, cycles, names that differ by case or by Unicode form only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from generators.families.file_operations._mass_rename import (
    NEW,
    NEW_MADE,
    OLD,
    WORD,
    Folder,
    World,
    draw_folder,
    renamed,
)
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
SETUP = resource(__file__, "build.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # Perl, and a copy of the tree built beside the old one

OLD_SHOWN = ("PLACE_DDMMYYYY_NUMBER.ENDING", "NUMBER PLACE DD.MM.YYYY.ENDING", "YYYYMMDD-PLACE (NUMBER).ENDING")
NEW_SHOWN = ("YYYY-MM-DD_PLACE_NUMBER.ENDING", "PLACE-YYYYMMDD-NUMBER.ENDING", "NUMBER_PLACE_YYYY-MM-DD.ENDING")


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, step: int, deep: bool, hard: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    words = {
        "root": world.root,
        "old": OLD_SHOWN[world.old],
        "new": NEW_SHOWN[world.new],
        "step": str(step),
        "given": world.given,
        "side": world.side,
        "listing": world.listing,
        "log": world.log,
        "fold": WORDS["fold"][wording(world, 3)] if deep else "",
        "maps": WORDS["maps"][wording(world, 3)] if deep else "",
    }
    parts = ["form", "raise", "other", "clash", *(["given"] if deep else [])]
    parts += [*(["unicode", "side", "listing"] if hard else []), "bytes", "log"]
    texts = WORDS | {"log": WORDS[f"log_{world.kind}"]}
    return {key: texts[key][wording(world, at)].format(**words) for at, key in enumerate(parts)}


def joined(folder: str, name: str) -> str:
    """A path below the root."""
    return f"{folder}/{name}"


def digest(text: str) -> str:
    """The start of a hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def given_csv(draw: Draw, folders: Sequence[Folder]) -> str:
    """The file of given names, with lines about files that do not exist."""
    rows = [(joined(folder.path, name), new) for folder in folders for name, new in folder.given.items()]
    rows += [(joined(folders[0].path, f"missing-{number}.dat"), f"void-{number}.dat") for number in range(3)]
    return "path,name\n" + "".join(f"{path},{name}\n" for path, name in draw.shuffled(rows))


def draft(draw: Draw) -> Draft:
    """One renaming."""
    world = draw.setting(SETTINGS)
    deep, hard = draw.difficulty != Difficulty.EASY, draw.difficulty == Difficulty.HARD
    size, step = draw.by_difficulty(easy=24, medium=42, hard=54), draw.between(1, 3)
    folders = [draw_folder(draw, world, path, size, step, deep, hard) for path in world.folders.split()[:3]]
    files: list[list[str]] = []
    for folder in folders:
        final = renamed(folder, world, step, deep, hard)
        for name, text in folder.names.items():
            if hard and name == world.listing:
                text = "\n".join(final.get(line, line) for line in text.split("\n"))
            files.append([joined(folder.path, name), joined(folder.path, final[name]), digest(text)])
    listings = {world.listing} if hard else set[str]()
    truth = {
        "root": world.root,
        "log": world.log,
        "kind": world.kind,
        "files": draw.shuffled(files),
        "kept_contents": sorted(
            digest(text) for folder in folders for name, text in folder.names.items() if name not in listings
        ),
    }
    rules = sentences(world, step, deep, hard)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        root=world.root,
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config = json.dumps(
        {
            "root": world.root,
            "old": OLD[world.old].replace("{w}", WORD),
            "new": NEW[world.new].replace("{w}", WORD),
            "made": NEW_MADE[world.new],
            "step": step,
            "given": world.given,
            "side": world.side,
            "listing": world.listing,
            "log": world.log,
            "kind": world.kind,
            "deep": deep,
            "hard": hard,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    goals, guard = ["test_names", "test_log"], "test_nothing_lost"
    in_turn = solution.replace('    os.rename(old, ".moving-%d" % number)', "    pass").replace(
        'for number, new in enumerate(plan.values()):\n    os.rename(".moving-%d" % number, new)',
        "for old in sorted(plan):\n    if os.path.exists(old):\n        os.replace(old, plan[old])",
    )
    misses = [
        Miss(
            "one_after_another",
            "renames in turn and overwrites files that have yet to move",
            in_turn,
            ["test_names", guard],
        ),
        Miss(
            "any_date",
            "does not check that dates exist",
            solution.replace("        date(int(", "        tuple, (int("),
            goals,
        ),
        Miss(
            "current_names_block",
            "regards the names at the start as taken",
            solution.replace("for name in final.values()}", "for name in names}"),
            goals,
        ),
        Miss("no_raise", "leaves new names as they are", solution.replace('else C["step"]', "else 0"), goals),
    ]
    if deep:
        misses += [
            Miss(
                "case_counts",
                "lets names differ by case only",
                solution.replace("nfc(name).casefold() if", "nfc(name) if"),
                goals,
            ),
            Miss(
                "given_ignored",
                "does not use the given names",
                solution.replace("if path in given:", "if False:"),
                goals,
            ),
        ]
    if hard:
        misses += [
            Miss(
                "forms_mixed",
                "does not compose names",
                solution.replace('unicodedata.normalize("NFC", name) if C["hard"] else name', "name"),
                goals,
            ),
            Miss(
                "listings_stale",
                "does not update the listings",
                solution.replace("final.get(line, line)", "line"),
                ["test_names"],
            ),
        ]
    cited = {"log": ["test_log"], "bytes": [guard], "listing": ["test_names"]}
    spec = {
        "root": world.root,
        "files": draw.shuffled([(joined(f.path, name), text) for f in folders for name, text in f.names.items()]),
    }
    copies = f"COPY given {world.given}\n" if deep else ""
    return Draft(
        title=f"Rename the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"files.json": json.dumps(spec), "build.py": SETUP}
        | ({"given": given_csv(draw, folders)} if deep else {}),
        dockerfile=f"{copies}COPY files.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.root}",
        truth=truth,
        discoverable=("root", "log", "kind", "files", "kept_contents"),
        tests=TESTS,
        weights={"test_names": 0.7, "test_log": 0.3},
        guards=[guard],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config).replace("@ROOT@", world.root)],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in rules.items()],
        knobs={"files": len(files), "step": step, "given_names": deep, "unicode_companions_listings": hard},
    )


FAMILY = Family(
    name="mass_rename",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("bulk renaming", "collision handling", "regular expressions", "unicode normalisation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
