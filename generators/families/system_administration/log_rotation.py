"""Apply a rotation policy once to a log tree: overrides by path and owner, delayed compression, keep counts, state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from generators.families.system_administration._log_rotation import Log, Section, copy_paths, effective, is_due, turned
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    policy: str  # file names below the folder
    state: str
    areas: tuple[str, str, str, str]
    teams: tuple[str, str, str]
    wording: int  # which of the three wordings of the rules
    bullet: str  # how the rules are listed
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def text_of(draw: Draw, word: str, size: int) -> str:
    """Log lines of exactly this many bytes."""
    words = ("ok", "slow", "retry", "done")
    lines = [f"{n:04d} {word} {draw.pick(words)} {draw.between(10, 99999)}" for n in range(size // 14 + 1)]
    text = "\n".join(lines)[: max(size - 1, 0)]
    return text + "\n" if size else ""


def draw_logs(draw: Draw, world: World, today: date, base: Mapping[str, str], extra: int) -> list[Log]:
    """The traps that always occur, then random logs."""
    a, b, c, d = world.areas
    team = world.teams
    days = int(base["days"])
    old_style = draw.difficulty is Difficulty.HARD

    def log(path: str, owner: str, age: int, size: int, copies: Sequence[str], packed_from: int = 2) -> Log:
        word = path.rsplit("/", 1)[1][:-4]
        made = {
            s: (text_of(draw, word, draw.between(20, 120)), place >= packed_from)
            for place, s in enumerate(copies, start=1)
        }
        mode, place = draw.pick((0o600, 0o640, 0o660)), "old" if path.startswith(d) and old_style else ""
        return Log(path, owner, today - timedelta(days=age), text_of(draw, word, size), mode, made, place)

    styled = ["-20230904", "-20231011", "-20231120", ".1"] if old_style else [".1", ".2"]
    logs = [
        log(f"{a}/main.log", team[0], 1, draw.between(700, 1500), [".1", ".2"]),  # the later section wins
        log(
            f"{a}/eu/main.log", team[0], 1, draw.between(1100, 1900), [".1", ".3"]
        ),  # * does not cross the slash; a gap
        log(f"{c}/exact.log", team[2], 1, 1024, [".1"]),  # exactly the limit
        log(f"{c}/aged.log", team[2], days, draw.between(50, 200), [".1", ".2", ".3", ".4"]),  # exactly the age
        log(f"{c}/empty.log", team[2], 90, 0, [".1"]),
        log(
            f"{b}/events.log", team[1], 30, draw.between(100, 300), [".1", ".2", ".3"]
        ),  # owner section loses against path
        log(f"{d}/daily.log", team[1], 40, draw.between(100, 300), styled, 1),
        log(f"{c}/plain.log", team[2], 60, draw.between(100, 300), [".1", ".2"], 9),
    ]
    for number in range(extra):
        area = draw.pick((a, b, c, f"{a}/eu", d))
        dated = area == d and old_style
        copies = ["-20230901", "-20231001", "-20231101"] if dated else [".1", ".2", ".3", ".4"]
        size = draw.pick((0, 1024, 2048)) if draw.chance(20) else draw.between(40, 1800)
        some = [suffix for suffix in copies if draw.chance(65)]
        path = f"{area}/{draw.pick(('api', 'task', 'sync', 'audit'))}{number}.log"
        logs.append(log(path, draw.pick(team), draw.between(0, 24), size, some))
    return logs


def draft(draw: Draw) -> Draft:
    """One rotation."""
    world = draw.setting(SETTINGS)
    a, b, c, d = world.areas
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    today = date(2024, draw.between(2, 11), draw.between(1, 28))
    base = {
        "size": "1k",
        "days": str(draw.between(9, 14)),
        "keep": str(draw.between(3, 4)),
        "compress": "later",
        "mode": "0640",
    }
    sections = [
        Section("path", f"{a}/*.log", {"size": "2k", "keep": "2"}),
        Section("path", f"{a}/main.log", {"size": str(draw.between(400, 650)), "compress": "now"}),
        Section("path", f"{b}/*.log", {"keep": "2", "mode": "0600", "days": str(draw.between(4, 7))}),
    ]
    if level:
        sections += [
            Section("owner", f"{world.teams[1][:4]}*", {"keep": "5", "compress": "never"}),
            Section("path", f"{c}/plain.*", {"compress": "never", "mode": "0604"}),
            Section("owner", world.teams[0], {"days": str(draw.between(5, 8)), "mode": "0644"}),
        ]
    if level == 2:
        sections += [
            Section("path", f"{d}/*.log", {"names": "dated", "archive": "old", "keep": "3", "compress": "later"}),
            Section("path", f"{a}/*/*.log", {"keep": "3"}),
        ]
    logs = draw_logs(draw, world, today, base, draw.by_difficulty(easy=4, medium=14, hard=30))
    policy = f"# rotation policy, {world.scenario}\n" + "".join(f"{key} {value}\n" for key, value in base.items())
    for section in sections:
        policy += f"\n[{section.kind} {section.pattern}]\n" + "".join(f"{k} {v}\n" for k, v in section.keys.items())

    others = {
        f"{a}/README": f"logs of {a}\n",
        f"{c}/unlisted.log": text_of(draw, "unlisted", 1500),
        f"{b}/events.log.bak": "saved by hand\n",
    }
    before: dict[str, tuple[str, bool, int]] = {name: (text, False, 0o644) for name, text in others.items()}
    after = dict(before)
    rotated: list[str] = []
    for log in draw.shuffled(logs):
        files = {path: (text, packed, log.mode) for path, (text, packed) in copy_paths(log, log.copies).items()}
        files[log.path] = (log.content, False, log.mode)
        before |= files
        keys = effective(log, base, sections)
        due = is_due(log, keys, today)
        rotated += [log.path] if due else []
        after |= turned(log, keys, today) if due else files
    rows = draw.shuffled([(log.path, log.last.isoformat(), log.owner) for log in logs])
    state = "".join("\t".join(row) + "\n" for row in rows)
    done = "".join("\t".join((p, today.isoformat() if p in rotated else day, owner)) + "\n" for p, day, owner in rows)

    rules = {
        key: texts[world.wording].format(day=today.isoformat(), state=world.state, policy=world.policy)
        for key, texts in RULES.items()
        if not (key == "owner" and not level) and not (key in ("dated", "archive") and level < 2)
    }
    keep = rules.pop("keep")
    instruction = world.text.format(
        number=draw.between(100, 999),
        day=today.isoformat(),
        folder=world.folder,
        policy=world.policy,
        state=world.state,
        persona=world.persona,
        keep=keep,
        rules="".join(world.bullet.format(rule=rule) for rule in rules.values()),
    )
    context: dict[str, str | tuple[str, int]] = {world.policy: policy, world.state: state}
    for path, (text, packed, mode) in before.items():
        context[f"logs/{path[:-3] + '.pack' if packed else path}"] = (text, mode)
    folder = world.folder
    fill = {"@F@": folder, "@D@": today.isoformat(), "@P@": world.policy, "@S@": world.state}
    goals = ["test_tree", "test_modes", "test_state"]
    truth = {
        "folder": folder,
        "policy": world.policy,
        "state": world.state,
        "tree": {path: [sha(text)[:16], mode] for path, (text, _, mode) in after.items()},
        "state_after": sha(done.rstrip("\n")),
        "policy_sum": sha(policy),
        "others": {name: sha(text)[:16] for name, text in others.items()},
    }
    return Draft(
        title=f"One log rotation: {world.scenario}",
        setting=world,
        instruction=instruction,
        files=context,
        dockerfile=f"COPY {world.policy} {world.state} {folder}/\nCOPY logs {folder}/logs/\n"
        f"RUN cd {folder}/logs && find . -name '*.pack' | while read -r f; do "
        'mv "$f" "${f%.pack}"; gzip -n "${f%.pack}"; done\n'
        f"WORKDIR {folder}",
        truth=truth,
        discoverable=("folder", "policy", "state", "tree", "others"),
        tests=TESTS,
        weights={"test_tree": 0.7, "test_modes": 0.15, "test_state": 0.15},
        guards=["test_rest_untouched"],
        initial=INITIAL,
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {old: new, **fill}), tests)
            for name, why, old, new, tests in (
                ("size_inclusive", "rotates at exactly the limit", "size > limit", "size >= limit", goals[:1]),
                ("age_exclusive", "waits a day too long", ".days >= int", ".days > int", [goals[0], goals[2]]),
                ("compress_at_once", "ignores the delay", '== "now" and keep', '!= "never"', goals[:1]),
                ("star_crosses_slash", "uses shell-like patterns", '"[^/]*".join', '".*".join', goals[:1]),
                (
                    "first_section_wins",
                    "the first match decides",
                    "for s in chosen:",
                    "for s in chosen[::-1]:",
                    goals[:1],
                ),
                ("default_modes", "always uses the same mode", 'int(s["mode"], 8)', "0o644", goals[1:2]),
            )
        ],
        requirements=[
            *(
                (text, {"scope": goals, "due": goals, "mode": goals[1:2], "state": goals[2:]}.get(key, goals[:1]))
                for key, text in rules.items()
            ),
            (keep, ["test_rest_untouched"]),
        ],
        knobs={
            "logs": len(logs),
            "sections": len(sections),
            "rotated": len(rotated),
            "dated": level == 2,
            "owners": level > 0,
        },
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


FAMILY = Family(
    name="log_rotation",
    domain="system_administration",
    verifier=Verifier.EXACT_TEXT,
    skills=("log rotation", "glob precedence", "compression", "permissions"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
