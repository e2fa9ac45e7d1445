"""Recover files from damaged tar, gzip and zip archives: cut off, wrong sums, lost directories, bad blocks."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass

from generators.families.file_operations._damaged_archives import BLOCK, Plan, draw_plan
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str  # the archives
    catalogue: str
    kind: str  # csv, tsv or jsonl
    columns: str  # name, size, digest, sums
    out: str
    report: str
    keys: str  # names in the report
    stems: str
    ending: str
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
# Packs and damages the archives. Positions are found at build time: compressed sizes depend on the zlib in use.
SETUP = resource(__file__, "build.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # the usual archivers with their repair options


def catalogue(draw: Draw, plan: Plan, world: World, hard: bool) -> str:
    """The trusted list."""
    columns = world.columns.split()[: 4 if hard else 3]
    rows: list[list[str | int]] = []
    for path, number in draw.shuffled(list(plan.files.items())):
        body = plan.texts[number].encode()
        sums = " ".join(f"{zlib.crc32(body[at : at + BLOCK]):08x}" for at in range(0, len(body), BLOCK))
        rows.append([path, len(body), hashlib.sha256(body).hexdigest(), sums][: len(columns)])
    if world.kind == "jsonl":
        return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    mark = "," if world.kind == "csv" else "\t"
    return "".join(mark.join(map(str, row)) + "\n" for row in [columns, *rows])


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, hard: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Rules and outputs by a short name."""
    columns = world.columns.split()
    meaning = ["path", "size in bytes", "sha256", "sums of its pieces"]
    shown = ", ".join(
        name if name == gloss else f"{name} ({gloss})"
        for name, gloss in list(zip(columns, meaning, strict=True))[: 4 if hard else 3]
    )
    keys = {f"k{index}": key for index, key in enumerate(world.keys.split())}
    words = {
        "catalogue": world.catalogue,
        "columns": shown,
        "folder": world.folder,
        "out": world.out,
        "report": world.report,
        "block": str(BLOCK),
    }
    rules = ["listed", "rule", "state", *(["nested", "blocks"] if hard else [])]
    texts = WORDS | ({"report": WORDS["report_pieces"]} if hard else {})
    return (
        {key: texts[key][wording(world, at)].format(**words, **keys) for at, key in enumerate(rules)},
        {
            key: texts[key][wording(world, at)].format(**words, **keys)
            for at, key in enumerate(("nothing", "report", "keep"), 1)
        },
    )


def draft(draw: Draw) -> Draft:
    """One damaged set."""
    world, hard = draw.setting(SETTINGS), draw.difficulty == Difficulty.HARD
    plan = draw_plan(draw, world.folder, world.stems.split(), world.ending, hard)
    listed = catalogue(draw, plan, world, hard)
    good = {path: plan.texts[number].encode() for path, number in plan.files.items() if path not in plan.lost}
    lost = plan.lost if hard else sorted(plan.lost)
    truth = {
        "folder": world.folder,
        "catalogue": world.catalogue,
        "catalogue_digest": hashlib.sha256(listed.encode()).hexdigest()[:20],
        "archives": sorted(archive.path.removeprefix(world.folder + "/") for archive in plan.archives),
        "out": world.out,
        "report": world.report,
        "keys": world.keys.split(),
        "files": {path: hashlib.sha256(body).hexdigest()[:20] for path, body in good.items()},
        "totals": [len(good), sum(map(len, good.values()))],
        "lost": lost,
    }
    spec = {"block": BLOCK, "texts": plan.texts, "archives": [archive.spec() for archive in plan.archives]}
    rules, output = sentences(world, hard)
    joint = " " if world.wording % 3 < 2 else "\n"
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        folder=world.folder,
        rules=joint.join(rules.values()),
        output=joint.join(output.values()),
    )
    config = json.dumps(
        {
            "folder": world.folder,
            "catalogue": world.catalogue,
            "kind": world.kind,
            "out": world.out,
            "report": world.report,
            "keys": world.keys.split(),
            "hard": hard,
            "block": BLOCK,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    goals = ["test_recovered_files", "test_nothing_wrong_was_kept", "test_totals", "test_losses"]
    misses = [
        Miss(
            "first_copy",
            "takes the first copy of a name without checking it",
            solution.replace("if hashlib.sha256(data).hexdigest() == digest", "if data"),
            goals,
        ),
        Miss(
            "directories_only",
            "does not read a zip file whose directory is gone",
            solution.replace(
                'elif data[:4] == b"PK\\3\\4":',
                'elif data[:4] == b"PK\\3\\4" and b"PK\\5\\6" not in data:\n        return\n    elif data[:4] == '
                'b"PK\\3\\4":',
            ),
            [goals[0], *goals[2:]],
        ),
        Miss(
            "sums_trusted",
            "rejects gzip files whose check sum is wrong",
            solution.replace(
                "at = 10\n",
                "at = 10\n        if len(data) > 8 and data[-8:-4] == b'\\xff\\0\\xff\\0':\n            return\n",
            ),
            [goals[0], *goals[2:]],
        ),
        Miss(
            "partial_files",
            "also leaves what is incomplete",
            solution.replace(
                "        lost[name] = missing\n",
                "        lost[name] = missing\n        body = (copies.get(name) or [b''])[0]\n        "
                "os.makedirs(os.path.dirname(os.path.join(C['out'], name)), exist_ok=True)\n"
                "        open(os.path.join(C['out'], name), 'wb').write(body)\n",
            ),
            ["test_nothing_wrong_was_kept"],
        ),
    ]
    if hard:
        misses += [
            Miss(
                "stop_at_damage",
                "stops at the first bad header of a tar file",
                solution.replace("                continue\n", "                break\n", 1),
                [goals[0], *goals[2:]],
            ),
            Miss(
                "no_assembly",
                "does not combine damaged copies",
                solution.replace("if not missing:", "if False:"),
                [goals[0], goals[2]],
            ),
        ]
    cited = {"nothing": ["test_nothing_wrong_was_kept"], "report": goals[2:], "keep": ["test_evidence_untouched"]}
    return Draft(
        title=f"Recover the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"list": listed, "archives.json": json.dumps(spec), "build.py": SETUP},
        dockerfile=f"COPY list {world.catalogue}\nCOPY archives.json build.py /setup/\nRUN python3 /setup/build.py "
        f"&& rm -r /setup\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "catalogue", "archives", "out", "report", "keys", "files", "lost"),
        tests=TESTS,
        weights={
            "test_recovered_files": 0.45,
            "test_nothing_wrong_was_kept": 0.15,
            "test_totals": 0.15,
            "test_losses": 0.25,
        },
        guards=["test_evidence_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config).replace("@FOLDER@", world.folder)],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in (rules | output).items()],
        knobs={
            "files": len(plan.files),
            "archives": len(plan.archives),
            "lost": len(plan.lost),
            "assembly_and_nesting": hard,
        },
    )


FAMILY = Family(
    name="damaged_archives",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("archive formats", "data recovery", "checksums", "binary parsing"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
