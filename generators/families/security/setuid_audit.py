"""Bring set-uid, set-gid, sticky and world-writable modes of a tree in line with a manifest, and report the changes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from generators.families.security._setuid_audit import TODAY, Entry, Image, draw_image
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `keys`: three words of the manifest's lines, then the five keys of the report."""

    root: str
    manifest: str
    report: str
    keys: tuple[str, str, str, str, str, str, str, str]


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
RULES: dict[str, list[str]] = WORDS["rules"]
HARD_RULES: dict[str, list[str]] = WORDS["hard_rules"]
OUTPUT = WORDS["output"]
GUARDS = WORDS["guards"]
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SETUP = resource(__file__, "setup.py")
PYTHON = resource(__file__, "solution.sh")
GAWK = resource(__file__, "alternative.sh")


def manifest_text(image: Image, world: World, draw: Draw) -> str:
    """The manifest in the world's words."""
    managed, unmanaged, allow = world.keys[:3]
    rows = [
        "# privileged modes, reviewed",
        *(f"{managed if ours else unmanaged} {path}" for ours, path in image.scopes),
        "",
    ]
    for line in image.lines:
        rows.append(f"{allow} {line.mode:04o} {line.path}" + (f" until {line.until}" if line.until else ""))
        if draw.chance(12):
            rows.append(draw.pick(("", "# checked", f"# {allow} 4755 /usr/bin/withdrawn")))
    return "\n".join(rows) + "\n"


def draft(draw: Draw) -> Draft:
    """One audit."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    image = draw_image(draw)
    for number in range(2):  # names with blanks occur, unlisted
        image.entries[f"/usr/bin/old tool {draw.between(2, 9)}{number}"] = Entry("f", (0o4755, 0o666)[number])
    manifest = manifest_text(image, world, draw)
    paths = sorted(image.entries)
    real = [path for path in paths if image.entries[path].kind != "l"]
    ours = {path: image.wanted(path) for path in real if image.is_managed(path)}
    rows = [
        [path, f"{image.entries[path].mode:04o}", f"{mode:04o}"]
        for path, mode in ours.items()
        if mode != image.entries[path].mode
    ]
    names = ("managed", "unmanaged", "allow", "changed", "missing", "path", "was", "now")
    words = dict(zip(names, world.keys, strict=True))
    words |= {"root": world.root, "manifest": world.manifest, "report": world.report, "today": TODAY}
    words["until"] = " [until DATE]" if hard else ""
    blanks = words | {"until": ""}
    turns = (draw.serial, draw.serial // 3)
    table = RULES | (HARD_RULES if hard else {})
    rules = {name: texts[turns[n % 2] % 3].format(**words) for n, (name, texts) in enumerate(table.items())}
    output = OUTPUT[draw.serial // 2 % 3].format(**words)
    if not hard:
        output = output.replace(" valid", "").replace(" without *", "")
    guard = GUARDS[draw.serial % 3]
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        scenario=world.scenario,
        root=world.root,
        manifest=world.manifest,
        persona=world.persona,
        rules=" ".join(rules.values()) if draw.serial % 2 else "\n".join(f"- {text}" for text in rules.values()),
        output=output,
        guard=guard,
    )
    tree = "".join(
        f"{image.entries[path].kind}\t{image.entries[path].mode:o}\t{path}\t{image.entries[path].target}\n"
        for path in paths
    )
    solution = PYTHON.replace("@SPEC@", json.dumps(blanks))
    modes, changes, missing = goals = ["test_managed_modes", "test_changes_are_reported", "test_missing_are_reported"]
    kept, content = "test_unmanaged_modes_kept", "test_nothing_but_modes_changed"
    checks = {"outside": [kept, missing], "scope": [modes, changes, kept], "links": [kept, changes], "paths": [*goals]}
    return Draft(
        title=f"Audit of privileged modes: {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"manifest": manifest, "setup/tree.tsv": f"{world.root}\n{tree}", "setup/make.py": SETUP},
        dockerfile=f"COPY manifest {world.manifest}\nCOPY setup /setup/\n"
        "RUN python3 /setup/make.py && rm -r /setup\nWORKDIR /root",
        truth={
            "root": world.root,
            "manifest": world.manifest,
            "report": world.report,
            "digest": digest(manifest),
            "keys": list(world.keys[3:]),
            "managed": ours,
            "unmanaged": {path: image.entries[path].mode for path in real if path not in ours},
            "links": {path: image.entries[path].target for path in paths if path not in real},
            "regular": [path for path in paths if image.entries[path].kind == "f"],
            "rows": rows,
            "missing": image.missing(),
        },
        discoverable=("root", "manifest", "report", "keys", "links", "regular", "rows", "missing"),
        tests=TESTS,
        weights={modes: 0.5, changes: 0.35, missing: 0.15},
        guards=[kept, content],
        initial=INITIAL,
        solution=solution,
        alternatives=[GAWK.format(**blanks)],
        misses=[
            Miss(
                "whole_tree",
                "treats everything as managed",
                solution.replace("if ours(path):", "if True:"),
                [kept, changes],
            ),
            Miss(
                "prefix_as_text",
                "lets /usr cover /usr-old",
                solution.replace('startswith(top + "/")', "startswith(top)"),
                [kept],
            ),
            Miss(
                "follows_links",
                "changes what a link points to",
                solution.replace("os.lstat(place)", "os.stat(place)"),
                [kept],
            ),
            Miss(
                "drops_setgid_of_directories",
                "treats directories like files",
                solution.replace("0o5002", "0o7002"),
                [modes],
            ),
            Miss(
                "only_takes_away",
                "does not restore lost bits",
                solution.replace("want = line_mode", "want = old & line_mode"),
                [modes, changes],
            ),
            Miss(
                "lists_all_absent",
                "reports unmanaged paths as missing too",
                solution.replace("and ours(p)", ""),
                [missing],
            ),
        ],
        requirements=[
            *((text, checks.get(name, [modes, changes])) for name, text in rules.items()),
            (output, [changes, missing]),
            (guard, [content]),
        ],
        knobs={
            "entries": len(paths),
            "changes": len(rows),
            "globs": hard,
            "expiry": hard,
            "nested": len(image.scopes) > 3,
        },
    )


def digest(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


FAMILY = Family(
    name="setuid_audit",
    domain="security",
    verifier=Verifier.EXACT_TEXT,
    skills=("file permissions", "policy parsing", "tree walking", "json output"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=72,
    draft=draft,
    command_complexity="code",
)
