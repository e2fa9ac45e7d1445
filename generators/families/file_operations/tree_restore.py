"""Restore modes, numeric owners and times of a tree from a manifest: links, special bits, odd names, overrides."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime

from generators.families.file_operations._tree_restore import (
    Entry,
    apply_overrides,
    draw_overrides,
    draw_tree,
    iso,
    list_line,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str
    notes: str  # folder of manifest, overrides, exceptions
    names: str  # file names of these three
    kind: str  # tab, jsonl or pairs
    fields: str  # words for type, mode, owner, group, time, path
    tops: str
    report: str
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
SETUP = resource(__file__, "build.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # Perl reads the lists, the usual tools do the work


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, medium: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    manifest, overrides, frozen = (f"{world.notes}/{name}" for name in world.names.split())
    fields = world.fields.split()
    words = {
        "root": world.root,
        "manifest": manifest,
        "overrides": overrides,
        "frozen": frozen,
        "report": world.report,
        "clock": "ISO 8601 with an offset from UTC" if medium else "seconds since 1970",
        "ofields": f"scope, {fields[0]}, attribute, value and {fields[5]}",
        "attributes": ", ".join(fields[1:5]),
    }
    words["form"] = WORDS[f"form_{world.kind}"].format(fields=", ".join(fields))
    parts = ["state", "last", "special", "links", "absent", "others", *(["overrides", "frozen"] if medium else [])]
    return {key: WORDS[key][wording(world, at)].format(**words) for at, key in enumerate(parts)}


def draft(draw: Draw) -> Draft:
    """One tree."""
    world, medium = draw.setting(SETTINGS), draw.difficulty == Difficulty.MEDIUM
    count = draw.by_difficulty(easy=16, medium=60)
    tops = world.tops.split()
    tree = draw_tree(draw, world.root, tops, count)
    fields = world.fields.split()
    ofields = ["scope", fields[0], "attribute", "value", fields[5]]
    manifest, overrides_file, frozen_file = (f"{world.notes}/{name}" for name in world.names.split())

    # What is there now: everything is root's, most modes are wrong; some entries are gone or of another type.
    # A missing folder, whose making alters the time of its parent.
    made = [f"{top}/zz-empty" for top in tops[: 1 + medium]]
    for path in made:
        tree[path] = Entry("d", "", 0o2750, 1200, 1300, 1_450_000_000 + draw.between(0, 1_000_000))
    files = [path for path, entry in tree.items() if entry.kind == "f" and entry.mode & 0o6000 == 0]
    gone, retyped, unlisted, *held = draw.sample(files, 3 + 2 * medium)
    present: dict[str, Entry] = {}
    for path, entry in tree.items():
        if path not in (gone, *made):
            mode = draw.pick((0o700, 0o755) if entry.kind == "d" else (0o600, 0o644, 0o666))
            present[path] = Entry(entry.kind, entry.body, mode, 0, 0, 1_700_000_000 + draw.between(0, 500))
    present[retyped] = Entry("l", "/etc/passwd", 0, 0, 0, 1_700_000_900)
    frozen = [*held, "nowhere/at all"] if medium else []
    if medium:  # a whole folder out of bounds, where no trap lies
        traps = [gone, retyped, *(path for path, entry in tree.items() if entry.mode & 0o4000)]
        folders = [path for path, entry in tree.items() if entry.kind == "d" and "/" in path and path not in made]
        frozen += [path for path in folders if not any(trap.startswith(path + "/") for trap in traps)][:1]

    lines: list[str] = []

    def clock(when: int) -> str:
        return iso(draw, when) if medium else str(when)

    for path, entry in draw.shuffled(list(tree.items())):
        if path == unlisted:
            continue
        values = [
            entry.kind,
            "-" if entry.kind == "l" else f"{entry.mode:04o}",
            str(entry.uid),
            str(entry.gid),
            clock(entry.when),
            path,
        ]
        if not lines or draw.chance(8):
            old = [entry.kind, values[1].replace("0", "1", 1), "4242", "4243", clock(entry.when - 5000), path]
            lines.append(list_line(old, fields, world.kind))
        lines.append(list_line(values, fields, world.kind))
    for number, path in enumerate(tops[:3]):
        old = ["d", "1733", f"7{number}", f"8{number}", clock(tree[path].when - 99), path]
        lines.insert(0, list_line(old, fields, world.kind))

    overrides = draw_overrides(draw, tree, tops, [*frozen, gone, retyped]) if medium else []
    wanted = {path: entry for path, entry in tree.items() if path != unlisted}
    times = {
        rule.value: int(datetime.fromisoformat(rule.value.replace("Z", "+00:00")).timestamp())
        for rule in overrides
        if rule.key == 3
    }
    apply_overrides(wanted, overrides, times)
    is_frozen = {path for path in tree for top in frozen if path == top or path.startswith(top + "/")}
    missing = sorted({gone, retyped} - is_frozen, key=str.encode)
    same = {path for path in present if path in is_frozen or path in (unlisted, retyped)}
    truth = {
        "root": world.root,
        "report": world.report,
        "wanted": {
            path: entry.attributes()
            for path, entry in wanted.items()
            if path not in is_frozen and path not in (gone, retyped)
        },
        "missing": missing,
        "same": {path: present[path].attributes() for path in sorted(same)},
        "contents": {
            path: hashlib.sha256(entry.body.encode()).hexdigest()[:16]
            for path, entry in present.items()
            if entry.kind == "f"
        },
        "inputs": [manifest, *([overrides_file, frozen_file] if medium else [])],
    }
    inputs = {"manifest": "".join(lines)}
    copies = f"COPY manifest {manifest}\n"
    if medium:
        attribute = fields[1:5]
        inputs["overrides"] = "".join(
            list_line([rule.scope, rule.kind, attribute[rule.key], rule.value, rule.path], ofields, world.kind)
            for rule in overrides
        )
        inputs["frozen"] = json.dumps(sorted(frozen), indent=1) + "\n"
        copies += f"COPY overrides {overrides_file}\nCOPY frozen {frozen_file}\n"
    spec = {
        "root": world.root,
        "report": world.report,
        "entries": [[path, entry.kind, entry.body, *entry.attributes()[1:]] for path, entry in present.items()],
    }
    rules = sentences(world, medium)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config = json.dumps(
        {
            "root": world.root,
            "report": world.report,
            "manifest": manifest,
            "overrides": overrides_file,
            "frozen": frozen_file,
            "kind": world.kind,
            "fields": fields,
            "ofields": ofields,
            "medium": medium,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    attributes = ["test_modes", "test_owners", "test_times"]
    guard = "test_nothing_else_changed"
    times_first = solution.replace(
        "    ready.append((full, entry))",
        "    ready.append((full, entry))\n    os.utime(full, (entry['when'], entry['when']), follow_symlinks=False)",
    )
    misses = [
        Miss(
            "owner_after_mode",
            "changes owners after modes, which drops setuid",
            solution.replace(
                "for full, entry in ready:\n    os.chown",
                "for full, entry in ready:\n    if entry['kind'] != 'l':\n        os.chmod(full, entry['mode'])\n    "
                "os.chown",
                1,
            ).replace('    if entry["kind"] != "l":\n        os.chmod(full, entry["mode"])\n', ""),
            ["test_modes"],
        ),
        Miss(
            "times_on_the_way",
            "sets a folder's time before it makes folders in it",
            times_first.replace(
                '    os.utime(full, (entry["when"], entry["when"]), follow_symlinks=False)\n', "    pass\n"
            ),
            ["test_times"],
        ),
        Miss(
            "first_line",
            "believes the first line of a path",
            solution.replace(
                "    wanted[path] = {", "    wanted.setdefault(path, {}) or wanted[path].update({"
            ).replace('"when": seconds(when)}', '"when": seconds(when)})'),
            attributes,
        ),
        Miss(
            "through_links",
            "changes the targets of links",
            solution.replace(
                'entry["gid"], follow_symlinks=False', 'entry["gid"], follow_symlinks=os.path.exists(full)'
            ),
            ["test_owners"],
        ),
        Miss(
            "no_type_check",
            "takes a link for the listed file",
            solution.replace("if kind != entry", "if not kind and kind != entry"),
            ["test_report", guard],
        ),
    ]
    if medium:
        misses += [
            Miss(
                "no_exceptions",
                "ignores what is out of bounds",
                solution.replace('json.load(open(C["frozen"]))', "[]"),
                [guard],
            ),
            Miss(
                "backwards",
                "lets the first override win",
                solution.replace(
                    'in rows(C["overrides"], C["ofields"])', 'in reversed(list(rows(C["overrides"], C["ofields"])))'
                ),
                ["test_owners", "test_times"],
            ),
        ]
    cited = {
        "last": attributes,
        "special": attributes,
        "links": [*attributes[1:], guard],
        "absent": [*attributes, "test_report", guard],
        "others": [guard],
        "overrides": attributes,
        "frozen": [guard, "test_report"],
    }
    return Draft(
        title=f"Restore the attributes of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={**inputs, "tree.json": json.dumps(spec), "build.py": SETUP},
        dockerfile=f"{copies}COPY tree.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.notes}",
        truth=truth,
        discoverable=("root", "report", "wanted", "missing", "same", "contents", "inputs"),
        tests=TESTS,
        weights={"test_modes": 0.3, "test_owners": 0.3, "test_times": 0.25, "test_report": 0.15},
        guards=[guard],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config)],
        misses=misses,
        requirements=[(text, cited.get(key, attributes)) for key, text in rules.items()],
        knobs={"files": count, "format": world.kind, "overrides": len(overrides), "exceptions": len(frozen)},
    )


FAMILY = Family(
    name="tree_restore",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("permissions", "ownership", "symbolic links", "time stamps", "path encoding"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
