"""A ladder for a model that begins to learn: one command does it, one or two short sentences say what, the working directory is the
folder with the files. Only recipes that name this family have it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Limits, Verifier

MODES = ("600", "640", "664", "700", "750", "755", "444", "400", "660", "440")  # none is the one that files begin with
ENDINGS = ("txt", "md", "log", "csv", "dat", "cfg")
LOWER = ("rename", "copy", "write", "remove", "mkdir")  # easy; the other operations are medium
RESULT, OTHERS = "test_result", "test_nothing_else_changed"
MAKING = ("touch", "mkdir", "write")  # need no source
_MISSED = {"r": RESULT, "o": OTHERS}


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `kept` is the sentence that protects the other files."""

    folder: str
    words: str
    kept: str


@dataclass(frozen=True)
class Step:
    """What one command works on, and what it has to leave. `source` is empty where the command makes something of nothing."""

    target: str
    kind: str  # file, empty, folder, nothing
    source: str = ""
    gone: str = ""
    contents: tuple[str, ...] = ()  # texts that count as right, without the white space around them
    mode: str = ""


SETTINGS = load_settings(__file__, World)
OPERATIONS = load_words(__file__, "operations.yaml")
TESTS, INITIAL = resource(__file__, "tests.py"), resource(__file__, "initial.py")


def draft(draw: Draw) -> Draft:
    """One step of the ladder."""
    world = draw.setting(SETTINGS)
    rungs = LOWER if draw.difficulty is Difficulty.EASY else tuple(name for name in OPERATIONS if name not in LOWER)
    name = rungs[draw.serial % len(rungs)]
    operation: Mapping[str, Any] = OPERATIONS[name]
    main, *words = own_order(draw, world)
    made = name in MAKING
    files = {
        f"{word}.{draw.pick(ENDINGS)}": lines(draw, words[7:]) for word in [words[5] if made else main, *words[:2]]
    }
    source, target = next(iter(files)), f"{main if made else words[2]}.{draw.pick(ENDINGS)}"
    count, mode = draw.between(2, 4), draw.pick(MODES)
    step = the_step(name, source, target, files[source], words[3], count, mode)
    values = {
        "folder": world.folder,
        "source": source,
        "target": step.target,
        "word": words[3],
        "count": count,
        "mode": mode,
    }
    sentence = str(draw.pick(operation["texts"])).format(**values)

    def script(text: str) -> str:
        return f"cd {world.folder}\n{text.format(**values)}\n"

    return Draft(
        title=f"{name.capitalize()} in the {world.scenario}",
        setting=world,
        instruction=f"{sentence} {world.kept}",
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth=truth(world, step, files),
        discoverable=("folder", "target", "gone"),
        tests=TESTS,
        weights={RESULT: 1.0},
        guards=[OTHERS],
        initial=INITIAL,
        solution=script(operation["solution"]),
        alternatives=[script(operation["alternative"])],
        misses=[Miss(miss, why, script(text), [_MISSED[failed]]) for miss, why, text, failed in operation["misses"]],
        requirements=[(sentence, [RESULT]), (world.kept, [OTHERS])],
        knobs={"operation": name},
        limits=Limits(solve_seconds=20, grade_seconds=20, memory_mb=256, disk_mb=64, pids=64),
    )


def own_order(draw: Draw, world: World) -> list[str]:
    """The world's words, shuffled behind the one that this serial is about: no two tasks that fit into `capacity` read the same."""
    words = world.words.split()
    turn, place = divmod(draw.serial, len(SETTINGS) * len(LOWER))
    main = words.pop((5 * place + turn) % len(words))
    return [main, *draw.shuffled(words)]


def lines(draw: Draw, words: list[str]) -> str:
    """A small file: another word in each line with a number behind it, in no order."""
    chosen = draw.sample(words, draw.between(5, 8))
    if chosen == sorted(chosen) or chosen == sorted(chosen, reverse=True):
        chosen = [chosen[1], chosen[0], *chosen[2:]]
    return "".join(f"{word} {draw.between(2, 99)}\n" for word in chosen)


def the_step(name: str, source: str, target: str, text: str, word: str, count: int, mode: str) -> Step:
    """The state that the command of this name leaves. `text` is what stands in the source."""
    rows = text.splitlines()
    match name:
        case "touch":
            return Step(target, "empty")
        case "mkdir":
            return Step(target.partition(".")[0], "folder")
        case "write":
            return Step(target, "file", contents=(word,))
        case "remove":
            return Step(source, "nothing", source, gone=source)
        case "rename":
            return Step(target, "file", source, gone=source, contents=(text,))
        case "mode":
            return Step(source, "file", source, contents=(text,), mode=mode)
        case "copy":
            return Step(target, "file", source, contents=(text,))
        case "sort":
            return Step(target, "file", source, contents=("\n".join(sorted(rows)),))
        case "head":
            return Step(target, "file", source, contents=("\n".join(rows[:count]),))
        case _:  # count; what wc prints for a file by its name is no other number
            return Step(target, "file", source, contents=(str(len(rows)), f"{len(rows)} {source}"))


def truth(world: World, step: Step, files: Mapping[str, str]) -> dict[str, Any]:
    """Contents travel as digests: a text of the image must not stand in the truth."""
    own = {step.target, step.gone}
    return {
        "folder": world.folder,
        "target": step.target,
        "kind": step.kind,
        "gone": step.gone,
        "mode": step.mode,
        "contents": [digest(text.strip()) for text in step.contents],
        "kept": {name: digest(text) for name, text in files.items() if name not in own},
    }


def digest(text: str) -> str:
    """The start of a hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


FAMILY = Family(
    name="ladder",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("files and directories", "redirection", "permissions"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=880,  # settings x operations of a level x words
    draft=draft,
    command_complexity="bash",
    by_name_only=True,
)
