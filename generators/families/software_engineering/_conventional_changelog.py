"""A git history in the making whose commits know what they mean for release notes."""

from __future__ import annotations

from dataclasses import dataclass, field

from generators.families.software_engineering._git import git_object, tree_of
from generators.family import Draw
from generators.vocabulary import login

VERBS = {
    "feat": "add support for|allow filtering of|introduce|show",
    "fix": "stop losing|handle missing|correct the order of|do not repeat",
    "perf": "cache|load lazily:|avoid copying",
    "docs": "describe|explain",
    "chore": "tidy|pin tools for",
    "refactor": "split|rename",
    "test": "cover|add cases for",
}


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


@dataclass
class History:
    """A repository in the making: a fast-import stream and the names git will give."""

    draw: Draw
    scenario: str
    scopes: list[str]
    things: list[str]
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
        changed = {"README.md": f"{self.scenario}\n"} if not parents else {}
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
            text = f"{self.draw.pick(VERBS[kind].split('|'))} {self.draw.pick(self.things)}"
            scope = self.draw.pick([*self.scopes, ""])
            if f"{scope}:{text}" not in self.used:
                self.used.add(f"{scope}:{text}")
                return scope, text

    def plain(self, branch: str, kind: str, breaking: str = "") -> int:
        """An ordinary conventional commit; `breaking` is '', '!' or 'footer'."""
        scope, text = self.phrase(kind)
        noun = self.draw.pick(self.things)
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
        noun = self.draw.pick(self.things)
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
        subject = f"feat: {self.draw.pick(self.things)} round {number} (#{number})"
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


def fill_history(history: History, major: int, last: str, survives: bool) -> None:
    """Commits and tags in which every trap of the difficulty occurs; `survives` means that a breaking change remains."""
    draw = history.draw
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
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
