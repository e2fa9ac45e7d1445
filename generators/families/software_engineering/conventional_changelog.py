"""Next version and release notes from a git history: conventional headers, footers, reverts, squash merges, tags."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, full_name, login


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


TICKET = """REL-{number} | {firm} | cut the next release of {repo}

The release bot died. We need what it would have produced for the branch that is checked out:
* {version_file}: nothing but the next version number, without a leading v
* {notes_file}: the release notes

{rules}

{layout} {keep}
"""
EMAIL = """Hello,

I promised {firm} a release today and the usual script is gone with the laptop it lived on. The history is in {repo}
(work from
the checked-out branch). Could you put the next version number, on its own and without a leading v, into {version_file}
and the
release notes into {notes_file}?

{rules}

{layout}

{keep} Many thanks!
{persona}
"""
NOTE = """release notes by hand, {repo}
-> {version_file} (bare number, no v) and {notes_file}
{rules}
{layout}
{keep}
"""
SPECIFICATION = """Release procedure, {firm}, applied to {repo}

Scope. The current branch. Products: {version_file} holds the next version number (no v in front) and {notes_file} the
notes.
Derivation. {rules}
Layout. {layout}
Constraint. {keep}
"""
CHAT = """{persona}: anyone free to do the release of {repo}?
you: sure, what do you need
{persona}: two files from the history of the current branch. {version_file} with just the new number (like 3.2.1, no
v), and {notes_file}
you: how do you count?
{persona}: {rules}
you: and the notes look like?
{persona}: {layout}
{persona}: oh and {keep}
"""
RUNBOOK = """RUNBOOK release-notes ({firm})

Precondition: {repo} is checked out on the branch that is released.
Step 1. Establish the next version; write the bare number (no v) to {version_file}.
Step 2. Write {notes_file}.
How to count: {rules}
How it must look: {layout}
Afterwards: {keep}
"""
REVIEW = """Audit finding {number}: the last release of {firm} was numbered by hand and wrong. Redo it from the record,
{repo} as checked
out. The auditor will open {version_file}, which is to contain the number that should follow (no v before it), and
{notes_file}.

Definitions agreed with the auditor: {rules}

Presentation: {layout} {keep}
"""
LETTER = """Dear colleague,

your first job on the release desk of {firm}: look at {repo}, at the branch it stands on, and tell us two things. What
is the
next version (the plain number, no v, in {version_file})? And what changed since the last one (in {notes_file})? House
rules follow.

{rules}

Writing it up: {layout} {keep}

Yours, {persona}
"""

LONG = ("Breaking changes", "Features", "Bug fixes", "Performance", "Reverts")
SHORT = ("Breaking", "Added", "Fixed", "Faster", "Rolled back")
PLAIN = ("Incompatible", "New", "Repaired", "Speed", "Withdrawn")
SETTINGS = (
    World("payments_api", "release manager", "payments API release", "ticket", "/srv/git/payments",
        "/srv/release/NEXT", "/srv/release/NOTES.md",
          0, 0, LONG, "api ledger refunds cards webhooks", "chargebacks,payout batches,card tokens,retry queues,fee "
              "tables,idempotency keys", TICKET),
    World("weather_station", "firmware lead", "weather station firmware", "email", "/home/fw/station",
        "/home/fw/out/version.txt", "/home/fw/out/changes.md",
          1, 1, SHORT, "radio sensor power display log", "rain gauges,wind vanes,frost alarms,battery curves,time "
              "beacons,probe offsets", EMAIL),
    World("library_catalogue", "library technician", "catalogue software", "note", "/opt/catalogue/src",
        "/opt/catalogue/next", "/opt/catalogue/news.md",
          2, 2, PLAIN, "search loans import labels kiosk", "shelf marks,overdue notices,author names,barcode "
              "sheets,reading lists,holds", NOTE),
    World("rail_planner", "platform engineer", "timetable planner", "specification", "/data/planner.git-work",
        "/data/publish/VERSION", "/data/publish/RELEASE.md",
          0, 2, SHORT, "graph timetable fares map export", "night trains,platform changes,transfer times,zone "
              "prices,stop names,detours", SPECIFICATION),
    World("game_server", "server developer", "game server patch", "chat", "/games/arena", "/games/ship/number",
        "/games/ship/patchnotes.md",
          1, 0, PLAIN, "lobby physics chat ranking store", "team rosters,replay files,spawn points,skin bundles,friend "
              "lists,match timers", CHAT),
    World("lab_pipeline", "bioinformatician", "sequencing pipeline", "runbook", "/lab/pipeline",
        "/lab/handover/next_version", "/lab/handover/changelog.md",
          2, 1, LONG, "align trim report cli qc", "read groups,adapter lists,coverage plots,sample sheets,index "
              "files,quality bins", RUNBOOK),
    World("tax_forms", "compliance officer", "tax form generator", "ticket", "/work/taxforms",
        "/work/audit/number.txt", "/work/audit/summary.md",
          0, 1, PLAIN, "forms rates pdf archive signing", "late filings,county rates,page footers,stamp images,tax "
              "classes,refund slips", REVIEW),
    World("robot_arm", "open source maintainer", "robot arm controller", "email", "/code/arm",
        "/code/release-desk/version", "/code/release-desk/history.md",
          1, 2, LONG, "motion gripper safety config bus", "joint limits,tool offsets,stop buttons,path blends,torque "
              "maps,homing marks", LETTER),
)  # fmt: skip
LINES = (("- **{scope}:** {text}", "- {text}"), ("* {text} [{scope}]", "* {text}"), ("- {scope}: {text}", "- {text}"))
VERBS = {
    "feat": "add support for|allow filtering of|introduce|show",
    "fix": "stop losing|handle missing|correct the order of|do not repeat",
    "perf": "cache|load lazily:|avoid copying",
    "docs": "describe|explain",
    "chore": "tidy|pin tools for",
    "refactor": "split|rename",
    "test": "cover|add cases for",
}

TESTS = """
import hashlib
import subprocess
from pathlib import Path


def notes():
    lines = [line.rstrip() for line in Path(TRUTH["notes_file"]).read_text().splitlines() if line.strip()]
    sections, name = {}, ""
    for line in lines:
        if line.startswith("#"):
            name = line
            assert name not in sections, "a heading occurs twice"
            sections[name] = []
        else:
            sections.setdefault(name, []).append(line)
    return sections


def test_version():
    assert Path(TRUTH["version_file"]).read_text().strip() == ".".join(map(str, TRUTH["next"]))


def test_changes():
    got = notes()
    for heading in TRUTH["changes"]:
        assert got.get(heading, []) == TRUTH["expected"].get(heading, []), heading


def test_breaking_and_reverts():
    got = notes()
    for heading in TRUTH["others"]:
        assert got.get(heading, []) == TRUTH["expected"].get(heading, []), heading


def test_layout():
    headings = list(notes())
    assert headings[0] == "## " + ".".join(map(str, TRUTH["next"]))
    assert headings[1:] == [name for name in TRUTH["order"] if name in TRUTH["expected"]]


def test_history_kept():
    run = ["/usr/bin/git", "-c", "safe.directory=*", "-C", TRUTH["repo"], "show-ref", "--head"]
    refs = subprocess.run(run, capture_output=True, timeout=20).stdout
    lines = sorted(refs.decode().splitlines())
    assert hashlib.sha256("\\n".join(lines).encode()).hexdigest() == TRUTH["refs"]
"""

INITIAL = """
from pathlib import Path


def test_repository_is_there():
    assert (Path(TRUTH["repo"]) / ".git").is_dir()
    assert not Path(TRUTH["version_file"]).exists() and not Path(TRUTH["notes_file"]).exists()
"""


@dataclass(frozen=True)
class Entry:
    """One line of the notes to be. `breaking` is the text for the breaking section, or empty."""

    kind: str
    scope: str
    text: str
    breaking: str = ""


@dataclass(frozen=True)
class Commit:
    """A commit and what it means for the notes."""

    parents: tuple[int, ...]
    message: str
    entries: tuple[Entry, ...]
    reverts: int
    files: dict[str, str]
    sha: str


def git_object(kind: str, body: bytes) -> str:
    """The name git gives to an object."""
    return hashlib.sha1(f"{kind} {len(body)}\0".encode() + body).hexdigest()


def tree_of(files: dict[str, str]) -> str:
    """The name of a tree with `src/*` and files at the top."""
    inner = b"".join(
        b"100644 " + name[4:].encode() + b"\0" + bytes.fromhex(blob)
        for name, blob in sorted(files.items())
        if "/" in name
    )
    rows = [(name, b"100644 ", blob) for name, blob in files.items() if "/" not in name] + [
        ("src", b"40000 ", git_object("tree", inner))
    ]
    return git_object(
        "tree", b"".join(mode + name.encode() + b"\0" + bytes.fromhex(blob) for name, mode, blob in sorted(rows))
    )


@dataclass
class History:
    """A repository in the making: a fast-import stream and the names git will give."""

    draw: Draw
    world: World
    people: list[str]
    commits: list[Commit] = field(default_factory=list[Commit])
    refs: dict[str, int] = field(default_factory=dict[str, int])
    stream: list[str] = field(default_factory=list[str])
    used: set[str] = field(default_factory=set[str])
    clock: int = 1_700_000_000

    def commit(
        self, branch: str, message: str, entries: tuple[Entry, ...] = (), reverts: int = -1, merge: int = -1
    ) -> int:
        """Add a commit to a branch, with a change to one file (a merge brings the other side's files)."""
        parents = tuple(p for p in (self.refs.get(branch, -1), merge) if p >= 0)
        number, self.clock = len(self.commits), self.clock + self.draw.between(600, 40_000)
        name = self.draw.pick(self.people)
        changed = {"README.md": f"{self.world.scenario}\n"} if not parents else {}
        changed[f"src/part{number:03d}.txt"] = f"{self.draw.between(10_000, 99_999)}\n"
        files = {
            **(self.commits[parents[0]].files if parents else {}),
            **(self.commits[merge].files if merge >= 0 else {}),
        }
        changes = "".join(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n" for path, text in changed.items())
        if merge >= 0:
            changes += "".join(
                f"M 100644 {blob} {path}\n"
                for path, blob in self.commits[merge].files.items()
                if path not in self.commits[parents[0]].files
            )
        files |= {path: git_object("blob", text.encode()) for path, text in changed.items()}
        person = f"{name} <{login(name)}@example.org> {self.clock} +0000"
        head = f"tree {tree_of(files)}\n" + "".join(f"parent {self.commits[p].sha}\n" for p in parents)
        sha = git_object("commit", f"{head}author {person}\ncommitter {person}\n\n{message}".encode())
        links = "".join(f"{word} :{p + 1}\n" for word, p in zip(("from", "merge"), parents, strict=False))
        self.stream.append(
            f"commit refs/heads/{branch}\nmark :{number + 1}\nauthor {person}\ncommitter {person}\n"
            f"data {len(message.encode())}\n{message}{links}{changes}\n"
        )
        self.commits.append(Commit(parents, message, entries, reverts, files, sha))
        self.refs[branch] = number
        return number

    def fork(self, branch: str, at: int) -> None:
        """Start a branch at a commit."""
        self.refs[branch] = at

    def tag(self, name: str, at: int) -> None:
        """A light tag."""
        self.refs[f"tags/{name}"] = at
        self.stream.append(f"reset refs/tags/{name}\nfrom :{at + 1}\n\n")

    def phrase(self, kind: str) -> tuple[str, str]:
        """A scope (or none) and a description that did not occur yet."""
        while True:
            text = f"{self.draw.pick(VERBS[kind].split('|'))} {self.draw.pick(self.world.things.split(','))}"
            scope = self.draw.pick([*self.world.scopes.split(), ""])
            if f"{scope}:{text}" not in self.used:
                self.used.add(f"{scope}:{text}")
                return scope, text

    def plain(self, branch: str, kind: str, breaking: str = "") -> int:
        """An ordinary conventional commit; `breaking` is '', '!' or 'footer'."""
        scope, text = self.phrase(kind)
        noun = self.draw.pick(self.world.things.split(","))
        notice = f"{noun} need a new setting since change {len(self.commits)}"
        body = {"": self.draw.pick(("", "", f"\nSeen while working on {noun}.\n")), "!": ""}.get(breaking)
        if body is None:
            body = (
                f"\nLonger story about {noun}.\n\nRefs: "
                f"T-{self.draw.between(100, 999)}\n{self.draw.pick(('BREAKING CHANGE', 'BREAKING-CHANGE'))}: "
                f"{notice}\n"
            )
        header = f"{kind}{f'({scope})' if scope else ''}{'!' if breaking == '!' else ''}: {text}"
        entry = Entry(kind, scope, text, {"": "", "!": text}.get(breaking, notice))
        return self.commit(branch, f"{header}\n{body}", (entry,))

    def decoy(self, branch: str) -> int:
        """Something that looks like an entry or a breaking change and is not."""
        noun = self.draw.pick(self.world.things.split(","))
        shape = self.draw.between(0, 4)
        if shape == 0:
            scope, text = self.phrase("docs")
            head = f"docs({scope})" if scope else "docs"
            return self.commit(
                branch,
                f"{head}: {text}\n\nThis is not a BREAKING CHANGE: only words moved.\n",
                (Entry("docs", scope, text),),
            )
        words = (f"Feat: {noun} again", f"wip {noun}", f"fix typo near {noun}", f"feature(x): {noun} draft")
        return self.commit(branch, f"{words[shape - 1]}\n")

    def revert(self, branch: str, target: int) -> int:
        """What `git revert` writes."""
        commit = self.commits[target]
        subject = commit.message.split("\n", 1)[0]
        entry = Entry("revert", "", subject)
        return self.commit(branch, f'Revert "{subject}"\n\nThis reverts commit {commit.sha}.\n', (entry,), target)

    def squash(self, branch: str, number: int) -> int:
        """A squash merge: the pull request's commits are bullets of the body."""
        parts: list[Entry] = []
        bullets = ""
        for kind in ("feat", "fix", self.draw.pick(("docs", "perf"))):
            scope, text = self.phrase(kind)
            parts.append(Entry(kind, scope, f"{text} (#{number})"))
            bullets += f"* {kind}{f'({scope})' if scope else ''}: {text}\n"
        subject = f"feat: {self.draw.pick(self.world.things.split(','))} round {number} (#{number})"
        return self.commit(branch, f"{subject}\n\n{bullets}* review remarks\n", tuple(parts))

    def reachable(self, start: int) -> set[int]:
        """A commit and all before it."""
        seen: set[int] = set()
        todo = [start]
        while todo:
            number = todo.pop()
            if number not in seen:
                seen.add(number)
                todo += self.commits[number].parents
        return seen


def make_history(draw: Draw, world: World, major: int, last: str, survives: bool) -> History:
    """A history in which every trap of its difficulty occurs."""
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    history = History(draw, world, [full_name(draw.rng) for _ in range(4)])
    history.commit("main", "chore: start\n", (Entry("chore", "", "start"),))
    old = [history.plain("main", draw.pick(("feat", "fix", "docs"))) for _ in range(2 + 3 * level)]
    history.tag(f"v{major}.9.{draw.between(0, 3)}", old[-1])
    fork = history.plain("main", "feat")
    if level == 2:  # forked before the release, merged after it
        history.fork("topic/early", fork)
        history.plain("topic/early", "fix")
        history.plain("topic/early", "feat")
    history.plain("main", "fix")
    history.tag(f"v{last}", history.plain("main", "feat"))
    released = history.refs["main"]
    steps = (
        ["feat", "fix", "fix", "perf", "docs", "decoy", "decoy"]
        + ["!"] * survives
        + ["feat"] * level
        + ["footer"] * (level * survives)
    )
    steps += [
        draw.pick(("feat", "fix", "perf", "docs", "chore", "refactor", "test", "decoy")) for _ in range(12 * level)
    ]
    steps += ["undo", "old"] * (level > 0) + ["redo", "squash", "squash", "merge", "early"] * (level == 2)
    pull = draw.between(20, 90)
    for step in draw.shuffled(steps):
        if step in VERBS:
            history.plain("main", step)
        elif step in ("!", "footer"):
            history.plain("main", draw.pick(("feat", "fix", "refactor")), step)
        elif step == "decoy":
            history.decoy("main")
        elif step in ("undo", "redo"):
            target = history.plain("main", "feat", "!" if step == "undo" and not survives else "")
            history.plain("main", draw.pick(("docs", "test")))
            gone = history.revert("main", target)
            if step == "redo":
                history.decoy("main")
                history.revert("main", gone)
        elif step == "old":
            history.revert("main", released)
        elif step == "squash":
            pull += draw.between(1, 5)
            history.squash("main", pull)
        elif step == "merge":
            history.fork("topic/late", history.refs["main"])
            for kind in ("feat", "fix", "docs"):
                history.plain("topic/late", kind)
            history.plain("main", "chore")
            history.commit("main", "feat: merge topic/late\n", merge=history.refs["topic/late"])
        else:
            history.commit("main", "Merge branch 'topic/early'\n", merge=history.refs["topic/early"])
    if level:  # a pre-release on the way, and a release that this branch does not have
        history.tag(f"v{major + 1}.0.0-rc.1", history.refs["main"])
        history.fork("next", fork)
        history.tag(f"v{major + 2}.0.0", history.plain("next", "feat"))
        history.plain("main", "fix")
    return history


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
    history = make_history(draw, world, major, f"{major}.{minor}.{patch}", survives)
    entries, following = derive(history, history.refs[f"tags/v{major}.{minor}.{patch}"], major, minor, patch)

    scoped, bare = LINES[world.line]
    expected: dict[str, list[str]] = {}
    titles = dict(
        zip(("breaking", "feat", "fix", "perf", "revert"), (f"### {title}" for title in world.titles), strict=True)
    )
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
        "repo": world.repo, "version_file": world.version_file, "notes_file": world.notes_file, "next": following,
        "changes": [titles["feat"], titles["fix"], titles["perf"]], "others": [titles["breaking"], titles["revert"]],
        "order": list(titles.values()), "expected": expected,
        "refs": hashlib.sha256("\n".join(sorted(refs)).encode()).hexdigest(),
    }  # fmt: skip
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    said = rules(world, level, major == 0)
    layout = layout_text(world, scoped, bare, level)
    keep = KEEP[world.wording]
    instruction = world.text.format(
        firm=draw.pick(FIRMS), number=draw.between(100, 999), rules=" ".join(said.values()), layout=layout, keep=keep,
            persona=world.persona,
        repo=world.repo, version_file=world.version_file, notes_file=world.notes_file,
    )  # fmt: skip
    places = {"@REPO@": world.repo, "@VERSION@": world.version_file, "@NOTES@": world.notes_file,
        "@TITLES@": repr(world.titles),
              "@SCOPED@": scoped, "@BARE@": bare, "@PIPED@": "|".join(world.titles),
                  "@LINE@": str(world.line)}  # fmt: skip

    def fill(script: str, *changes: tuple[str, str]) -> str:
        for old, new in changes:
            assert old in script
            script = script.replace(old, new)
        for mark, value in places.items():
            script = script.replace(mark, value)
        return script

    blind = Miss("no_breaking", "takes neither the exclamation mark nor the footer for breaking", fill(SOLUTION,
        ("if bang or footers:", "if False:")),
                 ["test_version", "test_breaking_and_reverts", "test_layout"])  # fmt: skip
    unreverted = Miss("reverts_ignored", "lists changes that were taken back", fill(SOLUTION, ("gone.add(back[1])",
        "pass")),
                      ["test_changes", *([] if survives else ["test_version",
                          "test_breaking_and_reverts"])])  # fmt: skip
    misses = [
        Miss("text_order_of_tags", "compares versions as text, so 9 is above 10", fill(SOLUTION,
            ("tuple(map(int, t[1:].split(\".\")))", "t")), ["test_changes"]),
        Miss("heading_with_v", "puts a v before the number in the heading", fill(SOLUTION, ('"## " +', '"## v" +')),
             ["test_layout"]),
    ]  # fmt: skip
    misses += [blind] if survives else []
    misses += [unreverted] if level else []
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
        alternatives=[fill(AWK)],
        misses=misses,
        requirements=[
            (next(line for line in instruction.splitlines() if world.version_file in line), ["test_version"]),
            *((text, goals) for text in said.values()),
            (layout, goals[1:]),
            (keep, ["test_history_kept"]),
        ],
        knobs={"commits": len(history.commits), "major": major, "breaking_survives": survives, "level": level},
    )


KEEP = (
    "The repository's branches and tags stay exactly as they are.",
    "Please do not move, add or delete any branch or tag of the repository.",
    "No commit, branch or tag may be created, moved or removed.",
)


def rules(world: World, level: int, zero: bool) -> dict[str, str]:
    """The sentences of one wording; a level adds its own."""
    low = "while the first number is 0, breaking raises the second number and everything else the third"
    usual = (
        "breaking raises the first number, otherwise a feat the second, otherwise anything listed the third; "
        "numbers to the right become 0"
    )
    size = low if zero else usual
    texts = (
        {
            "base": "The last release is the numerically highest tag of the exact form vX.Y.Z that the branch "
                    "contains; tags with a suffix or outside the branch are no releases.",
            "range": "What is new is every commit the branch has and that tag has not" + ("; merge commits themselves "
                "say nothing, the commits they bring do." if level == 2 else "."),
            "header": "A commit counts if its subject reads type(scope)!: description, where (scope) and ! may be "
                      "missing and the type is one of feat, fix, perf, docs, chore, refactor, test in lower case; all "
                      "other commits are skipped.",
            "breaking": "It is breaking, whatever its type, if it has the ! or a line of its message starts with "
                        "BREAKING CHANGE: or BREAKING-CHANGE: in capitals, in which case the text after the colon is "
                        "what the breaking section prints, and otherwise the description.",
            "revert": "A message with the line This reverts commit <hash>. takes the named commit back: if that commit "
                      "is new too, neither is listed nor counted; if it was released before, the text between the "
                      "subject's outer quotes is listed as a revert without scope. A revert that was itself taken "
                      "back has no effect.",
            "squash": "A subject ending in (#N) whose body has lines of the form * type(scope): description is a "
                      "squash merge: those lines are its entries, each with (#N) appended after a space, and the "
                      "subject is not.",
            "size": f"For the new version, {size}.",
        },
        {
            "base": "Start from the release before: among the tags that are an ancestor of the branch (or its tip) and "
                    "look like vX.Y.Z with nothing behind, take the greatest, comparing numbers as numbers.",
            "range": "Then go through the commits that have come since, meaning those reachable from the branch but "
                     "not from that tag" + (", and leave out merges as such (two parents), though not what they "
                         "merged." if level == 2 else "."),
            "header": "We write subjects as type(scope)!: description, with optional scope and optional exclamation "
                      "mark, and know the lower-case types feat, fix, perf, docs, chore, refactor and test; a subject "
                      "that does not follow this is of no interest.",
            "breaking": "An exclamation mark, or a message line beginning with BREAKING CHANGE: or BREAKING-CHANGE: "
                        "(capitals), makes any type breaking; the breaking section then shows what follows that "
                        "line's colon, or the description if there is only the mark.",
            "revert": "If a message says This reverts commit <hash>. on a line of its own, the commit meant disappears "
                      "together with the revert, provided it is not part of a release yet; if it is, the revert is "
                      "listed under reverts with the words inside the outer quotation marks of its subject and no "
                      "scope. Reverts that are reverted in turn do nothing.",
            "squash": "Squash merges have a subject that ends in (#N) and body lines such as * type(scope): "
                      "description; use these lines instead of the subject and put (#N) behind each description, "
                      "separated by a space.",
            "size": f"The number moves like this: {size}.",
        },
        {
            "base": "Base: highest vX.Y.Z tag (three plain numbers, no suffix, numeric order) in the history of the "
                    "branch; a tag elsewhere does not count.",
            "range": "Range: in the branch, not in the base" + (". Merge commits are transparent: skip them, keep what "
                "came through them." if level == 2 else "."),
            "header": "Header grammar: type, optional (scope), optional !, colon, space, description. Types: feat fix "
                      "perf docs chore refactor test, lower case only. Anything else is ignored.",
            "breaking": "Breaking, for any type: ! in the header, or a message line that begins BREAKING CHANGE: or "
                        "BREAKING-CHANGE: (upper case); print the rest of such a line in the breaking section, "
                        "without one the description.",
            "revert": "Reverts: the line This reverts commit <hash>. removes both commits when the target lies in the "
                      "range, and is an entry of the reverts section (subject text between the outer quotes, no "
                      "scope) when the target is older. A reverted revert is void.",
            "squash": "Squash: subject ends in (#N) and the body has * type(scope): description lines. Those lines "
                      "replace the subject, each description followed by a space and (#N).",
            "size": f"Step: {size}.",
        },
    )[world.wording]  # fmt: skip
    skipped = {"revert", "squash"} if level == 0 else {"squash"} if level == 1 else set[str]()
    return {name: text for name, text in texts.items() if name not in skipped}


def layout_text(world: World, scoped: str, bare: str, level: int) -> str:
    """How the notes look."""
    breaking, feat, fix, perf, revert = world.titles
    order = f"{breaking} (breaking, listed here in addition), {feat} (feat), {fix} (fix), {perf} (perf)" + (
        f", {revert} (reverts)" if level else ""
    )
    line, lone = scoped.format(scope="scope", text="description"), bare.format(text="description")
    return (
        "The notes open with '## ' and the new version, then come the sections, each headed by '### ' and its name, "
        "in this order and only if "
        f"not empty: {order}; docs, chore, refactor and test are not listed.",
        "First line: '## ' plus the version. Below it, whichever of these sections have entries, with '### ' before "
        f"the name: {order}. The "
        f"other types get no section.",
        f"'## <version>', then '### <section>' for {order}; empty sections are left out, other types have none.",
    )[world.wording] + (
        f" Entries are lines '{line}' or, without scope, '{lone}', sorted by scope (none first), then by text, in byte "
        "order; blank lines are free."
    )


SOLUTION = r"""cd @REPO@ && python3 - <<'PY'
import re, subprocess
def git(*args):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=True).stdout
tags = [t for t in git("tag", "--merged", "HEAD").split() if re.fullmatch(r"v\d+\.\d+\.\d+", t)]
base = max(tags, key=lambda t: tuple(map(int, t[1:].split("."))))
head = re.compile(r"(feat|fix|perf|docs|chore|refactor|test)(?:\(([^()]*)\))?(!?): (.+)")
log = git("log", "--topo-order", "--format=%H%x1f%P%x1f%B%x1e", base + "..HEAD")
commits = [c.strip("\n").split("\x1f") for c in log.split("\x1e") if c.strip()]
fresh = {c[0] for c in commits}
gone, entries, reverts = set(), [], []
for sha, parents, message in commits:
    if sha in gone or " " in parents:
        continue
    lines = message.split("\n")
    back = re.search(r"^This reverts commit ([0-9a-f]{40})\.$", message, re.M)
    if back:
        if back[1] in fresh:
            gone.add(back[1])
        else:
            reverts.append(("", lines[0][len('Revert "'):-1]))
        continue
    squash = re.search(r" (\(#\d+\))$", lines[0])
    parts = [m for m in (head.fullmatch(l[2:]) for l in lines[1:] if l.startswith("* ")) if m]
    if squash and parts:
        parts = [(*m.groups()[:3], m[4] + " " + squash[1]) for m in parts]
    else:
        m = head.fullmatch(lines[0])
        parts = [m.groups()] if m else []
    footers = [l.split(":", 1)[1].strip() for l in lines if re.match(r"BREAKING[ -]CHANGE:", l)]
    for kind, scope, bang, text in parts:
        breaking = None
        if bang or footers:
            breaking = footers[0] if footers else text
        entries.append((kind, scope or "", text, breaking))
a, b, c = map(int, base[1:].split("."))
broken, feats = any(e[3] for e in entries), any(e[0] == "feat" for e in entries)
if broken:
    new = (a + 1, 0, 0) if a else (a, b + 1, 0)
elif feats and a:
    new = (a, b + 1, 0)
else:
    new = (a, b, c + 1)
version = ".".join(map(str, new))
out = ["## " + version]
groups = [[(e[1], e[3]) for e in entries if e[3]]]
groups += [[(e[1], e[2]) for e in entries if e[0] == k] for k in ("feat", "fix", "perf")] + [reverts]
for title, rows in zip(@TITLES@, groups):
    if rows:
        out += ["", "### " + title, ""]
        out += [("@SCOPED@" if s else "@BARE@").format(scope=s, text=t) for s, t in sorted(rows)]
open("@NOTES@", "w").write("\n".join(out) + "\n")
open("@VERSION@", "w").write(version + "\n")
PY
"""
AWK = r"""cd @REPO@
base=$(git tag --merged HEAD | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort -V | tail -n 1)
git log --topo-order --format='%H%x1f%P%x1f%B%x1e' "$base..HEAD" > /tmp/log.$$
LC_ALL=C gawk -v base="$base" -v version_file=@VERSION@ -v titles='@PIPED@' -v style=@LINE@ '
BEGIN { RS = "\x1e"; FS = "\x1f"; split(titles, title, "|") }
FNR == NR { sub(/^\n+/, "", $1); if ($1) fresh[$1] = 1; next }
{
  sub(/^\n+/, "", $1)
  if ($1 == "" || $1 in gone || index($2, " ")) next
  n = split($3, line, "\n"); notice = ""; pull = ""; parts = 0
  for (i = 1; i <= n; i++) {
    if (match(line[i], /^This reverts commit [0-9a-f]+\.$/)) {
      target = substr(line[i], 21, 40)
      if (target in fresh) gone[target] = 1
      else { t = line[1]; sub(/^Revert "/, "", t); sub(/"$/, "", t); put(5, "", t); other = 1 }
      next
    }
    if (match(line[i], /^BREAKING[ -]CHANGE: */) && notice == "") notice = substr(line[i], RLENGTH + 1)
  }
  if (match(line[1], / \(#[0-9]+\)$/)) {
    pull = substr(line[1], RSTART)
    for (i = 2; i <= n; i++) if (substr(line[i], 1, 2) == "* ") parts += header(substr(line[i], 3), pull, notice)
  }
  if (!parts) header(line[1], "", notice)
}
function header(text, pull, notice,    m) {
  if (!match(text, /^(feat|fix|perf|docs|chore|refactor|test)(\(([^()]*)\))?(!?): (.+)$/, m)) return 0
  if (m[4] != "" || notice != "") { put(1, m[3], notice != "" ? notice : m[5] pull); broken = 1 }
  if (m[1] == "feat") { put(2, m[3], m[5] pull); feats = 1 }
  if (m[1] == "fix") put(3, m[3], m[5] pull)
  if (m[1] == "perf") put(4, m[3], m[5] pull)
  return 1
}
function put(section, scope, text) { rows[section][scope "\x01" text] = 1 }
END {
  split(substr(base, 2), v, ".")
  if (broken && v[1] > 0) next_version = (v[1] + 1) ".0.0"
  else if (broken || (feats && v[1] > 0)) next_version = v[1] "." (v[2] + 1) ".0"
  else next_version = v[1] "." v[2] "." (v[3] + 1)
  print next_version > version_file
  print "## " next_version
  for (section = 1; section <= 5; section++) if (section in rows) {
    print "### " title[section]
    count = asorti(rows[section], keys)
    for (i = 1; i <= count; i++) {
      split(keys[i], p, "\x01")
      mark = style == 1 ? "* " : "- "
      if (p[1] == "") print mark p[2]
      else if (style == 0) print mark "**" p[1] ":** " p[2]
      else if (style == 1) print mark p[2] " [" p[1] "]"
      else print mark p[1] ": " p[2]
    }
  }
}' /tmp/log.$$ /tmp/log.$$ > @NOTES@
rm -f /tmp/log.$$
"""


FAMILY = Family(
    name="conventional_changelog",
    domain="software_engineering",
    verifier=Verifier.EXACT_TEXT,
    skills=("git history", "semantic versioning", "text parsing", "release engineering"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
