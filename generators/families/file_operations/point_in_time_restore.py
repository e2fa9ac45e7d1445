"""Restore a tree as of a moment from full and incremental backups: gaps, damage, deletion lists, clocks, a change log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from generators.families.file_operations._point_in_time_restore import (
    Set,
    Story,
    answers,
    apply,
    draw_story,
    sha,
    stamp,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    repository: str
    info: str  # file with the facts of a set; .json, or lines of key = value
    keys: str  # id, type, parent, taken, finished, state
    kinds: str  # words for full and incremental
    fine: str  # the state of a set that was completed
    parts: str  # names of the data folder, the sums, the deletions
    log: str
    fields: str  # number, time, operation, path, text of a log entry
    verbs: str  # put, remove
    target: str
    report: str
    answers: str  # from, chain, unusable, expendable, applied
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
SETUP = resource(__file__, "build.py")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")  # the shell with date, sha256sum, cp and jq


def set_files(draw: Draw, one: Set, story: Story, world: World, written: str, ended: str) -> dict[str, str]:
    """The files of one set, by path within it, its defect included."""
    data, sums, gone = world.parts.split()
    words = world.kinds.split()
    base = {} if one.full else story.sets[one.parent].tree
    fresh = {path: text for path, text in one.tree.items() if base.get(path) != text}
    removed = sorted(set(base) - set(one.tree))
    for folder in sorted({path.rpartition("/")[0] + "/" for path in removed}):
        if draw.chance(50):  # the whole folder goes, and what is still in it comes back with the data
            removed = [path for path in removed if not path.startswith(folder)] + [folder]
            fresh |= {path: text for path, text in one.tree.items() if path.startswith(folder)}
    state = draw.pick(("failed", "running", "partial")) if one.defect == "state" else world.fine
    facts = dict(
        zip(world.keys.split(), (one.name, words[0 if one.full else 1], one.parent, written, ended, state), strict=True)
    )
    info = (
        json.dumps(facts, indent=2)
        if world.info.endswith(".json")
        else "".join(f"{key} = {value}\n" for key, value in facts.items())
    )
    listed = "".join(f"{sha(text)}  {path}\n" for path, text in sorted(fresh.items()))
    spoilt = draw.pick(sorted(fresh)) if one.defect in ("content", "absent") else ""
    stored = {path: text[:-2] + "?\n" if path == spoilt else text for path, text in fresh.items()}
    if one.defect == "absent":
        del stored[spoilt]
    files = {world.info: info, sums: listed} | {f"{data}/{path}": text for path, text in stored.items()}
    return files | ({gone: "".join(path + "\n" for path in removed)} if removed else {})


def log_files(draw: Draw, story: Story, world: World) -> dict[str, str]:
    """The change log: shuffled, some entries twice."""
    names, verbs = world.fields.split(), world.verbs.split()
    lines: list[str] = []
    for event in story.events:
        values = (
            event.number,
            stamp(draw, event.at, story, True),
            verbs[0 if event.text is not None else 1],
            event.path,
            event.text or "",
        )
        lines += [json.dumps(dict(zip(names, values, strict=True)))] * (2 if draw.chance(10) else 1)
    mixed = draw.shuffled(lines)
    return {f"{world.log}/part-{number}.jsonl": "\n".join(mixed[number::3]) + "\n" for number in range(3)}


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, moment: str, change: str, days: int, extreme: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    style = world.wording % 3
    words = dict(zip(("id", "type", "parent", "taken", "finished", "state"), world.keys.split(), strict=True))
    words |= dict(zip(("full", "incr"), world.kinds.split(), strict=True)) | dict(
        zip(("data", "sums", "gone"), world.parts.split(), strict=True)
    )
    words |= dict(zip(("put", "remove"), world.verbs.split(), strict=True))
    words |= {f"a{number}": name for number, name in enumerate(world.answers.split()) if number < 4}
    words |= {
        "repository": world.repository,
        "info": world.info,
        "fine": world.fine,
        "moment": moment,
        "target": world.target,
        "report": world.report,
        "log": world.log,
        "days": str(days),
        "number": world.fields.split()[0],
    }
    gloss = ("number", "time, written like those of the sets", "what was done", "path", "text of the file")
    words["fields"] = ", ".join(f"{name} ({what})" for name, what in zip(world.fields.split(), gloss, strict=True))
    words["local"] = WORDS["local"][style].format(change=change) if extreme else ""
    words["a4"] = WORDS["applied"][style].format(a4=world.answers.split()[4]) if extreme else ""
    parts = ["sets", "clock", "delta", "usable", "choose", *(["log"] if extreme else [])]
    parts += ["folders", "keeping", "report", "keep"]
    texts = WORDS | ({"choose": WORDS["choose_and_replay"]} if extreme else {})
    return {key: texts[key][wording(world, at)].format(**words) for at, key in enumerate(parts)}


def alternative(config: Mapping[str, object], world: World) -> str:
    """The other solution, with its words put in."""
    text, (data, sums, gone) = ALTERNATIVE, world.parts.split()
    lists = {"KEYS": world.keys, "FIELDS": world.fields, "ANSWERS": world.answers, "PUT": world.verbs.split()[0]}
    for token, value in (lists | {"DATA": data, "SUMS": sums, "GONE": gone}).items():
        text = text.replace(f"@{token}@", value)
    for key in ("repository", "change", "info", "moment", "fine", "target", "log", "days", "report"):
        text = text.replace(f"@{key.upper()}@", str(config[key]))
    return text


def draft(draw: Draw) -> Draft:
    """One incident."""
    world, extreme = draw.setting(SETTINGS), draw.difficulty == Difficulty.EXTREMELY_HARD
    early, days = draw.by_difficulty(hard=4, extremely_hard=10), draw.between(2, 3)
    story = draw_story(draw, early, draw.by_difficulty(hard=7, extremely_hard=8))
    chosen, chain, unusable, spare = answers(story, days)
    moment = stamp(draw, story.moment, story, False, draw.pick((60, 120, -240)))
    files: dict[str, str] = {}
    for one in story.sets.values():
        if one.name != story.vanished:
            # The right set looks too young to whoever compares texts, the next one too old.
            offset = 570 if one.name == chosen else None
            if story.moment < one.at < story.moment + timedelta(minutes=25):
                offset = -420
            written = stamp(draw, one.at, story, extreme, offset)
            inner = set_files(draw, one, story, world, written, stamp(draw, one.ended, story, extreme))
            files |= {f"{world.repository}/{one.name.lower()}/{path}": text for path, text in inner.items()}
    wanted = dict(story.sets[chosen].tree)
    since = [event for event in story.events if story.sets[chosen].at < event.at <= story.moment]
    if extreme:
        for event in sorted(since, key=lambda event: (event.at, event.number)):
            apply(wanted, event.path, event.text)
    inside = {path.removeprefix(world.repository + "/"): sha(text) for path, text in files.items()}
    keys = world.answers.split()
    values = dict(zip(keys, (chosen, chain, unusable, spare, len(since)), strict=True))
    truth = {
        "repository": world.repository,
        "repository_digest": sha(json.dumps(sorted(inside.items()))),
        "target": world.target,
        "report": world.report,
        "tree": {path: sha(text)[:16] for path, text in wanted.items()},
        "answers": {key: value for key, value in values.items() if extreme or key != keys[4]},
        "about_set": [*keys[:2], *(keys[4:] if extreme else [])],
        "about_unusable": keys[2],
        "about_retention": keys[3],
    }
    if extreme:
        files |= log_files(draw, story, world)
    change = story.change.isoformat().replace("+00:00", "Z")
    rules = sentences(world, moment, change, days, extreme)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        repository=world.repository,
        moment=moment,
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config: dict[str, object] = {
        "repository": world.repository,
        "info": world.info,
        "keys": world.keys.split(),
        "parts": world.parts.split(),
        "fine": world.fine,
        "moment": moment,
        "change": change,
        "target": world.target,
        "report": world.report,
        "answers": keys,
        "days": days,
        "log": world.log if extreme else "",
        "fields": world.fields.split(),
        "verbs": world.verbs.split(),
    }
    solution = SOLUTION.replace("@CONFIG@", json.dumps(config))
    tree, about, bad, retention = "test_tree", "test_set_and_chain", "test_unusable", "test_retention"
    misses = [
        Miss(
            "parents_unchecked",
            "does not ask whether the sets beneath are usable",
            solution.replace("for n in chain(name))}", "for n in [name])}").replace(
                "for name in chain(chosen):", "for name in [n for n in chain(chosen) if n in sets]:"
            ),
            [about, bad],
        ),
        Miss(
            "end_of_copying",
            "goes by the time copying ended",
            solution.replace("instant(facts[TAKEN])", "instant(facts[FINISHED])"),
            [about],
        ),
        Miss(
            "offsets_ignored",
            "compares times without their offsets",
            solution.replace("return when.astimezone(timezone.utc)", "return when.replace(tzinfo=timezone.utc)"),
            [about],
        ),
        Miss(
            "no_sums",
            "does not verify contents",
            solution.replace("            return False\n", "            pass\n"),
            [about, bad],
        ),
        Miss(
            "nothing_removed",
            "ignores deletions",
            solution.replace("            remove(line)\n", "            pass\n"),
            [tree],
        ),
        Miss(
            "ancestors_could_go",
            "lists sets that others build on",
            solution.replace("for n in chain(last[day])}", "for n in [last[day]]}"),
            [retention],
        ),
    ]
    if extreme:
        misses.append(
            Miss(
                "log_ignored",
                "stops at the set",
                solution.replace('if sets[chosen]["instant"] < instant', "if MOMENT < instant"),
                [tree, about],
            )
        )
    cited = {
        "folders": [tree],
        "keeping": [retention],
        "keep": ["test_repository_untouched"],
        "report": [about, bad, retention],
        "choose": [tree, about],
        "log": [tree, about],
        "usable": [tree, about, bad],
        "delta": [tree],
    }
    return Draft(
        title=f"Restore the {world.scenario} to a moment",
        setting=world,
        instruction=instruction,
        files={"files.json": json.dumps(files), "build.py": SETUP},
        dockerfile=f"COPY files.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.repository}",
        truth=truth,
        discoverable=[key for key in truth if key != "repository_digest"],
        tests=TESTS,
        weights={tree: 0.45, about: 0.2, bad: 0.15, retention: 0.2},
        guards=["test_repository_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[alternative(config, world)],
        misses=misses,
        requirements=[(text, cited.get(key, [tree, about, bad, retention])) for key, text in rules.items()],
        knobs={"sets": len(story.sets) - 1, "events": len(story.events), "days": days, "log_and_local_times": extreme},
    )


FAMILY = Family(
    name="point_in_time_restore",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("backup chains", "time zones", "checksums", "log replay", "retention"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
