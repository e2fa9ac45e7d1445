"""Deduplicate an archive by content: who stays is decided by stated rules, the others are linked, dropped or moved."""

from __future__ import annotations

import hashlib
import json

from generators.families.file_operations._archive_deduplication import World, add_links, draw_tree, kept_first
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")  # three wordings of every rule
SETUP = resource(__file__, "build.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # find lists, perl groups by content


def sentences(world: World, difficulty: Difficulty) -> dict[str, str]:
    """Every sentence of the instruction that demands something."""
    style = world.wording
    hard, with_master = difficulty == Difficulty.HARD, difficulty != Difficulty.EASY
    rules = ["same", "empty", *(["master"] if with_master else []), "name", "oldest", "action"]
    rules += ["marker", "symlink"] if hard else []
    links = "link" if world.mode == "link" else "other"
    texts = WORDS | {"action": WORDS[f"action_{world.mode}"], "symlink": WORDS[f"symlink_{links}"]}
    parts = {key: texts[key][style] for key in rules}
    parts |= {"index": WORDS[f"index_{world.index}"], "summary": WORDS["summary"][style]}
    words = {"thing": world.thing, "root": world.root, "out": world.out, "master": world.master, "marker": world.marker}
    words |= dict(zip("abc", world.keys.split(), strict=True))
    words["first"] = WORDS["next" if with_master else "first"][style]
    return {key: text.format(**words) for key, text in parts.items()}


def scripts(world: World, with_master: bool) -> tuple[str, str]:
    """The reference solution and its alternative."""
    master = world.master if with_master else ""
    config = {
        "root": world.root,
        "out": world.out,
        "mode": world.mode,
        "marker": world.marker,
        "master": master,
        "index": world.index,
        "keys": world.keys.split(),
    }
    other = ALTERNATIVE
    for key in ("root", "out", "mode", "marker", "master", "index"):
        other = other.replace(f"@{key.upper()}@", str(config[key]))
    other = other.replace("@KEYS@", world.keys)
    return SOLUTION.replace("@CONFIG@", json.dumps(config)), other


def draft(draw: Draw) -> Draft:
    """One archive."""
    world = draw.setting(SETTINGS)
    hard, with_master = draw.difficulty == Difficulty.HARD, draw.difficulty != Difficulty.EASY
    groups = draw.by_difficulty(easy=6, medium=18, hard=45)
    singles = draw.by_difficulty(easy=8, medium=20, hard=50)
    tree = draw_tree(draw, world, groups, singles)
    sets = kept_first(tree, world, with_master)
    ends = add_links(draw, tree, sets, world.folders.split()[1], world.mode) if hard else {}
    home = {copy: paths[0] for paths in sets for copy in paths[1:]}
    kept = [paths[0] for paths in sets]
    freed = sum(len(tree.contents[tree.files[copy][0]]) for copy in home)
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in tree.contents]
    truth = {
        "root": world.root,
        "out": world.out,
        "kept": {path: list(tree.files[path]) for path in kept},
        "others": {
            path: list(state) for path, state in tree.files.items() if path not in home and path not in set(kept)
        },
        "linked": home if world.mode == "link" else {},
        "aside": {copy: tree.files[copy][0] for copy in home} if world.mode == "quarantine" else {},
        "links": ends,
        "folders": sorted({path.rpartition("/")[0] for path in tree.files}) if world.mode == "remove" else [],
        "digests": digests,
        "index": world.index,
        "pairs": sorted(([stays, copy] for copy, stays in home.items()), key=lambda pair: pair[1].encode()),
        "summary": dict(zip(world.keys.split(), (len(sets), len(home), freed), strict=True)),
    }
    archive = {"root": world.root, "out": world.out, "contents": tree.contents}
    archive |= {
        "files": [[path, *state] for path, state in draw.shuffled(list(tree.files.items()))],
        "links": list(tree.links.items()),
    }
    rules = sentences(world, draw.difficulty)
    lines = (
        [f"{number}. {text}" for number, text in enumerate(rules.values(), 1)]
        if world.numbered
        else list(rules.values())
    )
    joint = "\n" if world.numbered else " "
    instruction = world.text.format(
        firm=draw.pick(FIRMS), ticket=draw.between(1000, 9999), root=world.root, rules=joint.join(lines)
    )
    solution, other = scripts(world, with_master)
    goals = ["test_archive", "test_index", "test_summary"]
    misses = [
        Miss(
            "size_and_head",
            "calls files equal that agree in size and in their first 24 bytes",
            solution.replace('open(full, "rb").read()', 'open(full, "rb").read()[:24].ljust(os.path.getsize(full))'),
            goals[1:],
        ),
        Miss(
            "oldest_wins",
            "ignores what copies are called",
            solution.replace("(not inside, marked, ", "(not inside, "),
            goals[:2],
        ),
        Miss(
            "alphabet",
            "compares paths without regard to capitals",
            solution.replace("path.encode())", "path.lower())", 1),
            ["test_index"],
        ),
        Miss(
            "empty_too",
            "treats empty files as copies",
            solution.replace("getsize(full) > 0", "getsize(full) >= 0"),
            [*goals[1:], "test_the_rest_is_untouched"],
        ),
    ]
    if hard:
        misses.append(
            Miss(
                "marker_ignored",
                "does not stop at the marker",
                solution.replace('C["marker"] in names', "False"),
                goals[1:],
            )
        )
    cited = {
        "index": ["test_index"],
        "summary": ["test_summary"],
        "symlink": ["test_archive"],
        "action": ["test_archive", "test_the_rest_is_untouched"],
        "empty": [*goals, "test_the_rest_is_untouched"],
        "marker": [*goals, "test_the_rest_is_untouched"],
    }
    return Draft(
        title=f"Deduplicate the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"archive.json": json.dumps(archive), "build.py": SETUP},
        dockerfile="COPY archive.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\n"
        f"WORKDIR {world.root}",
        truth=truth,
        discoverable=("root", "out", "pairs", "kept", "others", "folders", "linked", "aside", "links", "index"),
        tests=TESTS,
        weights={"test_archive": 0.55, "test_index": 0.3, "test_summary": 0.15},
        guards=["test_the_rest_is_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[other],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in rules.items()],
        knobs={
            "groups": groups,
            "singles": singles,
            "mode": world.mode,
            "preferred_folder": with_master,
            "hold_and_links": hard,
        },
    )


FAMILY = Family(
    name="archive_deduplication",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("content hashing", "hard links", "ranking rules", "tree walking"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
