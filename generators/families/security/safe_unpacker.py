"""Write a program that unpacks hostile tar archives: all or nothing, inside the destination, within limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from generators.families.security._safe_unpacker import (
    ALWAYS,
    MemberSpec,
    Policy,
    bad_members,
    digest,
    harmless,
    judge,
    member,
    odd_but_good,
    unpacked,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: program, the two sides, exit codes (refused, unreadable, occupied) and six reasons."""

    program: str
    old: str
    sender: str
    codes: tuple[int, int, int]
    reasons: tuple[str, str, str, str, str, str]  # type, name, link, clash, size, count


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
RULES: dict[str, list[str]] = WORDS["rules"]
GUARDS = WORDS["guards"]
OLD = resource(__file__, "old.sh")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
BY_BLOCKS = resource(__file__, "solution.py")
WITH_TARFILE = resource(__file__, "alternative.py")


def draw_cases(draw: Draw, world: World, policy: Policy) -> list[dict[str, object]]:
    """All archives with what has to happen."""
    cases: list[dict[str, object]] = []

    def add(group: str, label: str, members: list[MemberSpec], more: Mapping[str, object] | None = None) -> None:
        position, reason = judge(members, policy)
        good = not position
        case: dict[str, object] = {
            "group": group,
            "label": label,
            "members": members,
            "dest": draw.pick(("absent", "empty")),
            "format": draw.between(0, 2),
            "cut": 0,
            "raw": "",
            "gz": policy.hard and draw.chance(40),
            "missing": False,
            "code": 0 if good else world.codes[0],
            "line": "" if good else f"{position} {world.reasons[reason]}\n",
            "tree": unpacked(members) if good else {},
        }
        if any(len(str(spec["name"])) > 99 or len(str(spec["link"])) > 99 for spec in members):
            case["format"] = draw.between(1, 2)  # ustar cannot hold them
        cases.append(case | dict(more or {}))

    add("good", "odd names", odd_but_good(draw, policy))
    add("good", "odd names, shuffled", [*harmless(draw, 3), *odd_but_good(draw, policy)])
    add("good", "plain", harmless(draw, draw.between(2, 6)))
    add("good", "no members", [])
    attacks = bad_members(draw, policy)
    extra = draw.sample([label for label in attacks if label not in ALWAYS], 4 if policy.hard else 3)
    for label, members in attacks.items():
        if label not in ALWAYS and label not in extra:
            continue
        around = harmless(draw, draw.between(1, 3))
        cut = draw.between(0, len(around))
        add("unsafe", label, [*around[:cut], *members, *around[cut:]])
    full = [member(f"f/{number}", text="b", times=policy.size // 4) for number in range(4)]
    rest = policy.size - 4 * (policy.size // 4)
    add("limit", "exactly full", [*full, member("rest", text="r", times=rest)])
    add("limit", "one byte over", [*full, member("rest", text="r", times=rest + 1), member("../x", text="evil")])
    many = [member(f"m{number}", "dir") for number in range(policy.members)]
    add("limit", "all members", many)
    add("limit", "one member over", [*many, member("/over", "fifo")])
    bomb = [member("small", text="s"), member("bomb", text="0" * 64, times=40_000)]
    add("limit", "bomb", bomb, {"gz": policy.hard})
    add("limit", "deepest", [member("/".join("abcdefghijklmnop"[: policy.depth]), text="x")])
    unreadable: dict[str, object] = {"code": world.codes[1], "line": "", "tree": {}}
    add("broken", "not a tar", [], unreadable | {"raw": "this is not an archive, " * draw.between(30, 60)})
    add("broken", "missing", [], unreadable | {"missing": True})
    cut = [*harmless(draw, 2), member("cut", text="c", times=3000)]
    add("broken", "cut off", cut, unreadable | {"cut": 512 * 6, "gz": False, "format": 0})
    occupied: dict[str, object] = {"code": world.codes[2], "line": "", "tree": {}, "dest": "full"}
    add("broken", "occupied", harmless(draw, 2), occupied)
    add("broken", "occupied and bad", [member("../evil", text="evil")], occupied)
    return cases


def draft(draw: Draw) -> Draft:
    """One program to be written."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    policy = Policy(draw.between(24, 30), draw.between(9, 40) * 1000 + draw.between(1, 999), draw.between(6, 9), hard)
    words: dict[str, str | int] = dict(
        zip(("type", "name", "link", "clash", "size", "count"), world.reasons, strict=True)
    )
    words |= dict(zip(("refused", "unreadable", "occupied"), world.codes, strict=True))
    words |= {
        "program": world.program,
        "members": policy.members,
        "members_next": policy.members + 1,
        "bytes": policy.size,
        "depth": policy.depth,
        "gz": ", plain or gzip-compressed (told apart by content, not by name)" if hard else "",
        "hard_too": " or hard link" if hard else "",
        "hard_and": " and hard links" if hard else "",
        "hard_or": " or a hard link" if hard else "",
        "hard_rule": "; a hard link's target must be, by the same naming rules, an earlier regular file or hard link"
        if hard
        else "",
        "control": ", contains a control character (below 32, or 127)" if hard else "",
    }
    turns = (draw.serial, draw.serial // 3)
    rules = {name: texts[turns[number % 2] % 3].format(**words) for number, (name, texts) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial // 2 % 3].format(old=world.old)
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        sender=world.sender,
        old=world.old,
        program=world.program,
        scenario=world.scenario,
        guard=guard,
        rules="\n".join(rules.values()),
        numbered="\n".join(f"{n}. {text}" for n, text in enumerate(rules.values(), 1)),
    )
    cases = draw_cases(draw, world, policy)
    goals = [
        "test_good_archives_are_unpacked",
        "test_unsafe_archives_are_refused",
        "test_limits_hold",
        "test_broken_input_and_occupied_destination",
    ]
    good, unsafe, limit, broken = goals
    old = OLD.format(sender=world.sender)
    program = Script(world, policy)
    reference = program.install(BY_BLOCKS)
    checks = {"call": goals, "atomic": goals[1:], "codes": goals, "line": [unsafe, limit], "order": [unsafe, limit]}
    checks |= {"count": [limit], "size": [limit], "result": [good], "name": [good, unsafe], "link": [good, unsafe]}
    return Draft(
        title=f"A safe unpacker for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"old": (old, 0o755)},
        dockerfile=f"COPY old {world.old}\nRUN mkdir -p {world.program.rsplit('/', 1)[0]}\nWORKDIR /root",
        truth={"program": world.program, "old": world.old, "old_digest": digest(old), "cases": json.dumps(cases)},
        discoverable=("program", "old"),
        tests=TESTS,
        weights={good: 0.25, unsafe: 0.45, limit: 0.2, broken: 0.1},
        guards=["test_old_script_unchanged"],
        initial=INITIAL,
        solution=reference,
        alternatives=[program.install(WITH_TARFILE)],
        misses=[
            Miss(
                "old_behaviour",
                "unpacks with tar and lets it decide",
                program.install('#!/bin/sh\nmkdir -p "$2" && tar -xf "$1" -C "$2" || exit @REFUSED@\n'),
                goals,
            ),
            Miss(
                "links_by_prefix",
                "compares paths as strings, so a sibling folder passes",
                reference.replace("lead > len(path) - 1", "lead > len(path)"),
                [unsafe],
            ),
            Miss(
                "reads_links_as_files",
                "does not look for links in the parents",
                reference.replace("parents & set(others) or ", ""),
                [unsafe],
            ),
            Miss(
                "strips_names",
                "takes a leading slash off instead of refusing",
                reference.replace('name[0] == "/"', "False"),
                [unsafe],
            ),
            Miss(
                "limits_off_by_one",
                "lets one byte and one member too many pass",
                reference.replace("total > SIZE", "total > SIZE + 1").replace(
                    "number > MEMBERS", "number > MEMBERS + 1"
                ),
                [limit],
            ),
            Miss(
                "modes_from_umask", "leaves modes to the library", reference.replace("os.chmod(place, ", "str("), [good]
            ),
        ],
        requirements=[
            *((text, checks.get(name, [unsafe])) for name, text in rules.items()),
            (guard, ["test_old_script_unchanged"]),
        ],
        knobs={"cases": len(cases), "hard_links": hard, "gzip": hard},
    )


@dataclass(frozen=True)
class Script:
    """Fills a program's blanks and wraps it into the script that installs it."""

    world: World
    policy: Policy

    def install(self, source: str) -> str:
        """Bash that writes the program."""
        blanks = {
            "@REFUSED@": self.world.codes[0],
            "@UNREADABLE@": self.world.codes[1],
            "@OCCUPIED@": self.world.codes[2],
            "@MEMBERS@": self.policy.members,
            "@SIZE@": self.policy.size,
            "@DEPTH@": self.policy.depth,
            "@HARD@": self.policy.hard,
            "@REASONS@": list(self.world.reasons),
        }
        for blank, value in blanks.items():
            source = source.replace(blank, str(value))
        return f"cat > {self.world.program} <<'PROGRAM'\n{source}PROGRAM\nchmod 755 {self.world.program}\n"


FAMILY = Family(
    name="safe_unpacker",
    domain="security",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("tar format", "path traversal", "symbolic links", "atomic writes", "input validation"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
