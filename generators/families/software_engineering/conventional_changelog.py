"""Next version and release notes from a git history: conventional headers, footers, reverts, squash merges, tags."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from generators.families.software_engineering._conventional_changelog import Entry, History, fill_history
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, full_name


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `wording` picks one of three phrasings of the rules, `line` one of three list styles."""

    repo: str
    version_file: str
    notes_file: str
    wording: int
    line: int
    titles: tuple[str, str, str, str, str]  # breaking, feat, fix, perf, revert
    scopes: str
    things: str
    text: str


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
KINDS = ("breaking", "feat", "fix", "perf", "revert")
LINES = (("- **{scope}:** {text}", "- {text}"), ("* {text} [{scope}]", "* {text}"), ("- {scope}: {text}", "- {text}"))
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


def derive(history: History, released: int, major: int, minor: int, patch: int) -> tuple[list[Entry], list[int]]:
    """The stated rules: the entries that count, and the next version."""
    fresh = history.reachable(history.refs["main"]) - history.reachable(released)
    cancelled: set[int] = set()
    entries: list[Entry] = []
    for number in sorted(fresh, reverse=True):
        commit = history.commits[number]
        if number in cancelled or len(commit.parents) > 1:
            continue
        if commit.reverts in fresh:
            cancelled.add(commit.reverts)
        else:
            entries += commit.entries
    kinds = {entry.kind for entry in entries}
    if any(entry.breaking for entry in entries):
        return entries, [major + 1, 0, 0] if major else [0, minor + 1, 0]
    return entries, [major, minor + 1, 0] if "feat" in kinds and major else [major, minor, patch + 1]


def draft(draw: Draw) -> Draft:
    """One release."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    major = 0 if hard and draw.chance(40) else draw.between(1, 6)
    minor, patch = draw.between(10, 14), draw.between(0, 6)
    survives = draw.difficulty is Difficulty.EASY or draw.chance(60)
    people = [full_name(draw.rng) for _ in range(4)]
    history = History(draw, world.scenario, world.scopes.split(), world.things.split(","), people)
    fill_history(history, major, f"{major}.{minor}.{patch}", survives)
    entries, following = derive(history, history.refs[f"tags/v{major}.{minor}.{patch}"], major, minor, patch)

    scoped, bare = LINES[world.line]
    expected: dict[str, list[str]] = {}
    titles = dict(zip(KINDS, (f"### {title}" for title in world.titles), strict=True))
    for kind, title in titles.items():
        rows = [
            (e.scope, e.breaking if kind == "breaking" else e.text)
            for e in entries
            if e.kind == kind or (kind == "breaking" and e.breaking)
        ]
        if rows:
            expected[title] = [
                (scoped if scope else bare).format(scope=scope, text=text) for scope, text in sorted(rows)
            ]
    refs = [
        f"{history.commits[at].sha} refs/{name if name.startswith('tags/') else 'heads/' + name}"
        for name, at in history.refs.items()
    ]
    refs.append(f"{history.commits[history.refs['main']].sha} HEAD")
    truth = {
        "repo": world.repo,
        "version_file": world.version_file,
        "notes_file": world.notes_file,
        "next": following,
        "changes": [titles["feat"], titles["fix"], titles["perf"]],
        "others": [titles["breaking"], titles["revert"]],
        "order": list(titles.values()),
        "expected": expected,
        "refs": hashlib.sha256("\n".join(sorted(refs)).encode()).hexdigest(),
    }
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    said = rules(world, level, major == 0)
    layout = layout_text(world, scoped, bare, level)
    keep = WORDS["keep"][world.wording]
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        number=draw.between(100, 999),
        rules=" ".join(said.values()),
        layout=layout,
        keep=keep,
        persona=world.persona,
        repo=world.repo,
        version_file=world.version_file,
        notes_file=world.notes_file,
    )
    places = {
        "@REPO@": world.repo,
        "@VERSION@": world.version_file,
        "@NOTES@": world.notes_file,
        "@TITLES@": repr(world.titles),
        "@SCOPED@": scoped,
        "@BARE@": bare,
        "@PIPED@": "|".join(world.titles),
        "@LINE@": str(world.line),
    }

    def fill(script: str, *changes: tuple[str, str]) -> str:
        for old, new in changes:
            assert old in script
            script = script.replace(old, new)
        for mark, value in places.items():
            script = script.replace(mark, value)
        return script

    misses = [
        Miss(
            "text_order_of_tags",
            "compares versions as text, so 9 is above 10",
            fill(SOLUTION, ('tuple(map(int, t[1:].split(".")))', "t")),
            ["test_changes"],
        ),
        Miss(
            "heading_with_v",
            "puts a v before the number in the heading",
            fill(SOLUTION, ('"## " +', '"## v" +')),
            ["test_layout"],
        ),
    ]
    if survives:
        misses.append(
            Miss(
                "no_breaking",
                "takes neither the exclamation mark nor the footer for breaking",
                fill(SOLUTION, ("if bang or footers:", "if False:")),
                ["test_version", "test_breaking_and_reverts", "test_layout"],
            )
        )
    if level:
        misses.append(
            Miss(
                "reverts_ignored",
                "lists changes that were taken back",
                fill(SOLUTION, ("gone.add(back[1])", "pass")),
                ["test_changes", *([] if survives else ["test_version", "test_breaking_and_reverts"])],
            )
        )
    if level == 2:
        misses.append(
            Miss(
                "squash_subject",
                "takes a squash merge's subject for its only entry",
                fill(SOLUTION, ("if squash and parts:", "if False:")),
                ["test_changes"],
            )
        )
    goals = ["test_version", "test_changes", "test_breaking_and_reverts", "test_layout"]
    return Draft(
        title=f"Release notes for the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"history.stream": "".join(history.stream)},
        dockerfile=(
            f"COPY history.stream /opt/import/\n"
            f"RUN mkdir -p {world.repo} {world.version_file.rsplit('/', 1)[0]} && git init -q -b main {world.repo} && "
            f"cd {world.repo} && git fast-import --quiet < /opt/import/history.stream "
            "&& git reset -q --hard main && git config --system --add safe.directory '*' && rm -rf "
            f"/opt/import\nWORKDIR {world.repo}"
        ),
        truth=truth,
        discoverable=("repo", "version_file", "notes_file", "changes", "others", "order", "expected"),
        tests=TESTS,
        weights={"test_version": 0.25, "test_changes": 0.4, "test_breaking_and_reverts": 0.25, "test_layout": 0.1},
        guards=["test_history_kept"],
        initial=INITIAL,
        solution=fill(SOLUTION),
        alternatives=[fill(ALTERNATIVE)],
        misses=misses,
        requirements=[
            (next(line for line in instruction.splitlines() if world.version_file in line), ["test_version"]),
            *((text, goals) for text in said.values()),
            (layout, goals[1:]),
            (keep, ["test_history_kept"]),
        ],
        knobs={"commits": len(history.commits), "major": major, "breaking_survives": survives, "level": level},
    )


def rules(world: World, level: int, zero: bool) -> dict[str, str]:
    """The sentences of one wording; a level adds its own."""
    texts = WORDS["rules"][world.wording]
    step = WORDS["step_from_zero" if zero else "step"]
    return {
        "base": texts["base"],
        "range": texts["range_with_merges" if level == 2 else "range"],
        "header": texts["header"],
        "breaking": texts["breaking"],
        **({"revert": texts["revert"]} if level else {}),
        **({"squash": texts["squash"]} if level == 2 else {}),
        "size": texts["size"].format(step=step),
    }


def layout_text(world: World, scoped: str, bare: str, level: int) -> str:
    """How the notes look."""
    titles = dict(zip(KINDS, world.titles, strict=True))
    order = WORDS["order_with_reverts" if level else "order"].format(**titles)
    line, lone = scoped.format(scope="scope", text="description"), bare.format(text="description")
    return f"{WORDS['layout'][world.wording].format(order=order)} {WORDS['entries'].format(line=line, lone=lone)}"


FAMILY = Family(
    name="conventional_changelog",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("git history", "semantic versioning", "text parsing", "release engineering"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
