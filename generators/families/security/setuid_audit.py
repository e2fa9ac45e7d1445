"""Bring set-uid, set-gid, sticky and world-writable modes of a tree in line with a manifest, and report the changes."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

TODAY = "2025-07-01"


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `keys`: three words of the manifest's lines, then the five keys of the report."""

    root: str
    manifest: str
    report: str
    keys: tuple[str, str, str, str, str, str, str, str]


SETTINGS = (
    World("kiosk", "image builder", "kiosk image audit", "ticket", "/srv/kiosk/rootfs", "/srv/kiosk/modes.manifest",
          "/srv/kiosk/report.json", ("managed", "unmanaged", "allow", "changed", "missing", "path", "was", "now")),
    World("bastion", "security engineer", "bastion hardening", "email", "/mnt/bastion", "/root/special-bits.txt",
          "/root/special-bits.json", ("scope", "except", "permit", "fixed", "absent", "file", "before", "after")),
    World("router", "firmware maintainer", "router image check", "note", "/build/router/target", "/build/router/PERMS",
          "/build/router/perms-report.json", ("ours", "foreign", "mode", "edits", "gone", "p", "from", "to")),
    World("cluster", "HPC administrator", "compute node image", "specification", "/images/node-7/tree",
          "/images/node-7/privileged.list",
          "/images/node-7/audit.json", ("subtree", "exclude", "entry", "corrections", "not_found", "name", "old",
          "new")),
    World("museum", "exhibition technician", "gallery terminals", "chat", "/opt/gallery/system",
          "/opt/gallery/expected-modes",
          "/opt/gallery/modes.json", ("include", "skip", "expect", "touched", "lost", "where", "had", "has")),
    World("bank", "compliance officer", "teller image compliance", "runbook", "/data/teller/root",
          "/data/teller/baseline.conf",
          "/data/teller/deviations.json", ("govern", "exempt", "grant", "deviations", "unfilled", "object", "found",
          "set")),
    World("school", "school IT lead", "classroom laptop image", "email", "/home/it/laptop-image",
          "/home/it/bits.manifest",
          "/home/it/bits.json", ("check", "ignore", "require", "repairs", "nowhere", "path", "previous", "current")),
    World("satellite", "ground segment operator", "ground station image", "ticket", "/var/gs/image",
          "/var/gs/mode-table",
          "/var/gs/mode-report.json", ("controlled", "external", "row", "adjusted", "vacant", "item", "prior",
          "final")),
)  # fmt: skip
VOICES = (
    "{firm}, {scenario}. The unpacked image is {root}, what it may contain is in {manifest}. Bring the image in "
    "line.\n\n{rules}\n\n{output}\n{guard}\n",
    "Hi,\n\nour auditor found a set-uid shell in the image of {firm}. Would you go through all of {root} with "
    "{manifest} in hand and repair "
    "what deviates?\n\n{output}\n\n{rules}\n\n{guard}\n\nBest, {persona}\n",
    "{manifest} says what {root} should look like; it does not ({scenario}, {firm}). Fix the "
    "modes.\n{rules}\n{guard}\n{output}\n",
    "Mode audit, {scenario}\n\n(a) Object: {root}\n(b) Reference: {manifest}\n(c) Rules, applied to the object until "
    "it agrees:\n{rules}\n(d) {guard}\n(e) {output}\n",
)  # fmt: skip
RULES = {
    "paths": (
        "Paths in the manifest start at the image's root, so /usr/bin/su means {root}/usr/bin/su; lines that start "
        "with # and empty lines mean nothing, fields are "
        "separated by blanks.",
        "A manifest path is relative to the image ({root} plus the path). Fields are blank-separated; skip empty "
        "lines and those beginning with #.",
        "Read the manifest as blank-separated fields, without empty lines and # lines. Its absolute paths are to be "
        "taken inside {root}.",
    ),
    "scope": (
        "Lines '{managed} PATH' and '{unmanaged} PATH' divide the tree: the line with the longest path that is the "
        "entry itself or a directory above it decides, and "
        "what no line covers is unmanaged.",
        "Whether an entry is ours is decided by '{managed} PATH' and '{unmanaged} PATH' lines. Each covers PATH and "
        "all below; the most specific one wins; "
        "entries without any are not ours.",
        "'{managed} PATH' puts PATH and everything below under our control, '{unmanaged} PATH' takes it out again. "
        "The deepest path that covers an entry counts, "
        "and by default an entry is out.",
    ),
    "outside": (
        "Nothing outside the managed part is changed, whatever other lines say about it, and nothing about it is "
        "reported.",
        "Entries that are not ours keep their modes and stay out of the report even if another line names them.",
        "What is out of our control is neither changed nor mentioned, not even when a mode is stated for it.",
    ),
    "allow": (
        "'{allow} MODE PATH{until}' demands exactly the four-digit octal MODE for that file or directory.",
        "By '{allow} MODE PATH{until}' the entry PATH has to have MODE, four octal digits, no more and no less.",
        "An entry named in '{allow} MODE PATH{until}' gets precisely that MODE (octal, four digits).",
    ),
    "files": (
        "A regular file without such a line loses set-uid, set-gid, sticky and the write permission for others.",
        "Regular files not named there must have none of set-uid, set-gid, sticky, nor be writable by others; take "
        "off just these bits.",
        "From every other regular file remove the set-uid, set-gid and sticky bits and others' write permission, and "
        "nothing else.",
    ),
    "directories": (
        "A directory without such a line loses set-uid, sticky and the write permission for others, but keeps set-gid.",
        "Directories not named there keep set-gid if they have it; set-uid, sticky and write for others are taken "
        "away.",
        "From every other directory remove set-uid, sticky and others' write permission; its set-gid bit may stay.",
    ),
    "links": (
        "Symbolic links are never followed, and the links themselves do not matter.",
        "Ignore symbolic links altogether, do not act on what they point to.",
        "A symbolic link is no entry: leave it, and do not reach through it.",
    ),
}  # fmt: skip
HARD_RULES = {
    "globs": (
        "PATH in lines with {allow} may contain *, any run of characters except a slash; if several of these lines fit "
        "an entry the last one counts.",
        "An asterisk in the PATH of a line with {allow} stands for zero or more characters other than '/'. The last "
        "fitting {allow} line decides.",
        "In {allow} lines * matches within one path component (also the empty string). Later fitting lines override "
        "earlier ones.",
    ),
    "until": (
        "A line of {allow} with 'until DATE' is valid up to and including that date, afterwards it is as if it were "
        "not there. Today is {today}.",
        "Take {today} as today. {allow} lines ending in 'until DATE' count through that day and are void later.",
        "The audit date is {today}: a line of {allow} whose 'until DATE' lies before it does not exist, one of the "
        "same day does.",
    ),
}  # fmt: skip
OUTPUT = (
    "Report in {report}: a JSON object with {changed}, a list of objects {path}, {was}, {now} (path as in the "
    "manifest; modes as strings of four octal digits) for each "
    "changed entry, ascending by path, and {missing}, the ascending list of managed paths in valid {allow} lines "
    "without * at which nothing exists.",
    "Then write {report} (JSON). Its key {changed} holds one object for every entry whose mode you changed, with "
    "{path} in manifest form and the four-digit octal strings "
    "{was} and {now}, sorted by {path}; its key {missing} is the sorted list of those managed paths named by a valid "
    "{allow} line without * that do not exist.",
    "Deliver {report}, JSON: under {changed} the altered entries in order of their path, each an object of {path} "
    "(without the image's root), {was} and {now}, the modes being "
    "text of four octal digits; under {missing}, sorted, every path that a valid {allow} line without * names inside "
    "the managed part although it is not there.",
)  # fmt: skip
GUARDS = (
    "File contents, links and the manifest stay as they are.",
    "Change modes only: no content, no link, not the manifest.",
    "Neither contents nor links nor the manifest may change.",
)

TESTS = """
import hashlib
import os
from pathlib import Path

ROOT = TRUTH["root"]
CHANGED, MISSING, PATH, WAS, NOW = TRUTH["keys"]


def mode(path):
    return os.lstat(ROOT + path).st_mode & 0o7777


def test_managed_modes():
    wrong = [path for path, wanted in TRUTH["managed"].items() if mode(path) != wanted]
    assert not wrong, wrong[:5]


def test_changes_are_reported():
    got = json.loads(Path(TRUTH["report"]).read_text())[CHANGED]
    assert [[row[PATH], row[WAS], row[NOW]] for row in got] == TRUTH["rows"]
    assert all(len(row) == 3 for row in got)


def test_missing_are_reported():
    assert json.loads(Path(TRUTH["report"]).read_text())[MISSING] == TRUTH["missing"]


def test_unmanaged_modes_kept():
    wrong = [path for path, wanted in TRUTH["unmanaged"].items() if mode(path) != wanted]
    assert not wrong, wrong[:5]


def test_nothing_but_modes_changed():
    assert hashlib.sha256(Path(TRUTH["manifest"]).read_bytes()).hexdigest() == TRUTH["digest"]
    for path, target in TRUTH["links"].items():
        assert os.readlink(ROOT + path) == target
    for path in TRUTH["regular"]:
        assert Path(ROOT + path).read_text() == "#!/bin/sh\\n: " + path + "\\n"
"""
INITIAL = """
from pathlib import Path


def test_the_image_is_there_and_no_report():
    assert Path(TRUTH["manifest"]).is_file()
    assert not Path(TRUTH["report"]).exists()
    for path, wanted in TRUTH["unmanaged"].items():
        assert Path(TRUTH["root"] + path).lstat().st_mode & 0o7777 == wanted, path
"""
SETUP = """
import os
rows = [line.rstrip("\\n").split("\\t") for line in open("/setup/tree.tsv")]
root = rows[0][0]
for kind, bits, path, target in rows[1:]:
    place = root + path
    os.makedirs(place if kind == "d" else os.path.dirname(place), exist_ok=True)
    if kind == "l":
        os.symlink(target, place)
    elif kind == "f":
        with open(place, "w") as out:
            out.write("#!/bin/sh\\n: " + path + "\\n")
for kind, bits, path, target in rows[1:]:
    if kind != "l":
        os.chmod(root + path, int(bits, 8))
"""


@dataclass
class Entry:
    """A file, directory or link of the image."""

    kind: str  # f, d or l
    mode: int
    target: str = ""


@dataclass(frozen=True)
class Line:
    """An allow line."""

    mode: int
    path: str
    until: str = ""


@dataclass
class Image:
    """The tree and its manifest."""

    entries: dict[str, Entry]
    scopes: list[tuple[bool, str]]
    lines: list[Line]

    def is_managed(self, path: str) -> bool:
        """The deepest covering line decides."""
        covering = [(len(top), managed) for managed, top in self.scopes if path == top or path.startswith(top + "/")]
        return max(covering)[1] if covering else False

    def wanted(self, path: str) -> int:
        """The mode that an entry of the managed part must have."""
        entry = self.entries[path]
        found = None
        for line in self.lines:
            if not line.until or line.until >= TODAY:
                star = "*" in line.path and re.fullmatch(re.escape(line.path).replace(r"\*", "[^/]*"), path)
                found = line.mode if star or line.path == path else found
        if found is not None:
            return found
        return entry.mode & ~(0o7002 if entry.kind == "f" else 0o5002)

    def missing(self) -> list[str]:
        """Demanded but not there."""
        return sorted(
            line.path
            for line in self.lines
            if (not line.until or line.until >= TODAY)
            and "*" not in line.path
            and line.path not in self.entries
            and self.is_managed(line.path)
        )


def draw_image(draw: Draw) -> Image:
    """An image with every trap at least once."""
    hard, easy = draw.difficulty is Difficulty.HARD, draw.difficulty is Difficulty.EASY
    names = iter(
        draw.sample(
            [
                a + b
                for a in ("net", "usb", "log", "gfx", "mnt", "pkg", "dev", "aud")
                for b in (
                    "ctl",
                    "-run",
                    "tool",
                    "x",
                    "-aid",
                    "d",
                    "stat",
                    "-top",
                    "view",
                    "set",
                    "scan",
                    "pipe",
                    "man",
                    "env",
                    "key",
                    "box",
                    "sum",
                    "map",
                    "dump",
                    "port",
                    "walk",
                    "lock",
                    "sync",
                    "cat",
                    "mix",
                    "hub",
                )
            ],
            208,
        )
    )
    vendor, spool = draw.pick(("/usr/lib/vendor", "/usr/lib/oem")), draw.pick(("/var/spool", "/var/lib"))
    entries: dict[str, Entry] = {}
    lines: list[Line] = []

    def put(folder: str, mode: int, kind: str = "f", target: str = "") -> str:
        path = f"{folder}/{next(names)}"
        entries[path] = Entry(kind, mode, target)
        return path

    scopes = [(True, "/usr"), (True, "/var"), (False, vendor)]
    for folder in ("/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/var", spool, vendor, "/usr-old", "/opt", "/opt/app"):
        entries[folder] = Entry("d", 0o755)
    for _ in range(draw.by_difficulty(easy=1, medium=2, hard=3)):
        # Unlisted special bits, then listed ones that are right, lost, too wide; and what must stay.
        for bits in (0o4755, 0o2755, 0o1755, 0o6711, 0o666, 0o4777, 0o757):
            put(draw.pick(("/usr/bin", "/usr/sbin", "/usr/lib")), bits)
        for bits in (0o1777, 0o777, 0o2775, 0o2777, 0o4755, 0o1755):
            put(draw.pick((spool, "/usr/lib")), bits, "d")
        for wanted, now in ((0o4755, 0o4755), (0o4755, 0o755), (0o2755, 0o6755), (0o4711, 0o4777), (0o2711, 0o2755)):
            lines.append(Line(wanted, put(draw.pick(("/usr/bin", "/usr/sbin")), now)))
        for wanted, now in ((0o1777, 0o777), (0o1777, 0o1777), (0o3770, 0o2770)):
            lines.append(Line(wanted, put(spool, now, "d")))
        lines.append(Line(0o4755, f"/usr/bin/{next(names)}"))  # is not there
        lines.append(Line(0o4755, f"/opt/app/{next(names)}"))  # is not there and not ours
        lines.append(Line(0o755, put(vendor, 0o4755)))  # named, but not ours
        for folder in (vendor, "/usr-old", "/opt/app"):
            put(folder, 0o4755)
            put(folder, 0o777, "d")
        put("/usr/bin", 0, "l", f"../..{put('/opt/app', 0o6755)}")
        put("/usr/lib", 0, "l", "../../opt/app")
        for _ in range(3):
            put(draw.pick(("/usr/bin", spool, "/opt/app")), draw.pick((0o755, 0o644, 0o700, 0o640)))
    if not easy:
        inner = f"{vendor}/{next(names)}"
        entries[inner] = Entry("d", 0o1777)
        scopes.append((True, inner))
        lines.append(Line(0o4750, put(inner, 0o750)))
        put(inner, 0o4755)
        deepest = f"{inner}/{next(names)}"
        entries[deepest] = Entry("d", 0o2777)
        scopes.append((False, deepest))
        put(deepest, 0o4755)
    if hard:
        plug = f"/usr/lib/{next(names)}"
        lines.insert(0, Line(0o4750, f"{plug}/*/run*"))
        lines.append(Line(0o755, f"{plug}/core/run-*"))
        lines.append(Line(0o2755, f"{plug}/*x"))
        for path, bits in (("core", 0o755), ("extra", 0o755), ("extra/deep", 0o2755)):
            entries[f"{plug}/{path}"] = Entry("d", bits)
        entries[plug] = Entry("d", 0o755)
        for path, bits in (
            ("core/run-a", 0o4755),
            ("core/run", 0o755),
            ("extra/run.9", 0o4777),
            ("extra/deep/run", 0o4750),
        ):
            entries[f"{plug}/{path}"] = Entry("f", bits)
        for path, bits in (("x", 0o755), ("ax", 0o755), ("core/x", 0o2755)):
            entries[f"{plug}/{path}"] = Entry("f", bits)
        for until, bits in (("2025-06-30", 0o4755), (TODAY, 0o755), ("2026-01-31", 0o4777), ("2024-12-31", 0o2755)):
            lines.append(Line(0o4755, put("/usr/sbin", bits), until))
        lines.append(Line(0o4755, f"/usr/sbin/{next(names)}", "2025-06-30"))  # void, so not missing

    return Image(entries, lines=lines, scopes=draw.shuffled(scopes))


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
        files={"manifest": manifest, "setup/tree.tsv": f"{world.root}\n{tree}", "setup/make.py": SETUP.lstrip()},
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


PYTHON = r"""python3 - <<'PY'
import json, os, re, stat
K = json.loads('''@SPEC@''')
scopes, lines = [], []
for text in open(K["manifest"]):
    f = text.split()
    if not f or text.startswith("#"):
        continue
    if f[0] == K["allow"]:
        if len(f) < 5 or f[4] >= K["today"]:
            lines.append((re.compile("[^/]*".join(re.escape(x) for x in f[2].split("*"))), int(f[1], 8), f[2]))
    else:
        scopes.append((f[1], f[0] == K["managed"]))
def ours(path):
    found = [(len(top), mine) for top, mine in scopes if path == top or path.startswith(top + "/")]
    return bool(found) and max(found)[1]
changed = []
for folder, dirs, files in os.walk(K["root"]):
    for name in dirs + files:
        place = os.path.join(folder, name)
        path = place[len(K["root"]):]
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            continue
        old = stat.S_IMODE(mode)
        want = old & ~(0o7002 if stat.S_ISREG(mode) else 0o5002)
        for pattern, line_mode, _ in lines:
            if pattern.fullmatch(path):
                want = line_mode
        if ours(path):
            if want != old:
                os.chmod(place, want)
                changed.append({K["path"]: path, K["was"]: "%04o" % old, K["now"]: "%04o" % want})
missing = sorted(p for _, _, p in lines if "*" not in p and not os.path.lexists(K["root"] + p) and ours(p))
changed.sort(key=lambda row: row[K["path"]])
json.dump({K["changed"]: changed, K["missing"]: missing}, open(K["report"], "w"), indent=1)
PY
"""
GAWK = r"""export LC_ALL=C
find {root} -mindepth 1 ! -type l -printf '%m\t%y\t/%P\n' | sort -t "$(printf '\t')" -k3,3 > /var/tmp/entries
gawk -v root={root} '
function under(p, top) {{ return p == top || index(p, top "/") == 1 }}
function ours(p,  i, best, mine) {{ best = -1
  for (i = 1; i <= s; i++) if (under(p, top[i]) && length(top[i]) > best) {{ best = length(top[i]); mine = own[i] }}
  return best >= 0 && mine }}
function octal(t) {{ return strtonum("0" t) }}
NR == FNR {{ if ($0 ~ /^#/ || NF == 0) next
  if ($1 == "{allow}") {{ if (NF < 5 || $5 >= "{today}") {{ n++; mode[n] = octal($2); path[n] = $3; pat[n] = $3
    gsub(/\./, "[.]", pat[n]); gsub(/\*/, "[^/]*", pat[n]) }} }}
  else {{ s++; top[s] = $2; own[s] = ($1 == "{managed}") }}
  next }}
{{ split($0, f, "\t"); p = f[3]; seen[p] = 1
  if (!ours(p)) next
  old = octal(f[1]); want = f[2] == "d" ? and(old, compl(octal("5002"))) : and(old, compl(octal("7002")))
  for (i = 1; i <= n; i++) if (p ~ ("^" pat[i] "$")) want = mode[i]
  if (want != old) printf "c\t%s\t%04o\t%04o\n", p, old, want }}
END {{ for (i = 1; i <= n; i++) if (path[i] !~ /\*/ && !(path[i] in seen) && ours(path[i])) printf "m\t%s\n", path[i] }}
' {manifest} /var/tmp/entries > /var/tmp/plan
grep '^c' /var/tmp/plan | while IFS="$(printf '\t')" read -r _ p old new; do chmod "0$new" "{root}$p"; done
# chmod with numbers keeps a directory's set-gid, so clear what is not wanted by letters too
grep '^c' /var/tmp/plan | while IFS="$(printf '\t')" read -r _ p old new; do
  case $new in 0*|1*|4*|5*) chmod g-s "{root}$p";; esac
  case $new in 0*|1*|2*|3*) chmod u-s "{root}$p";; esac
done
jq -nR '[inputs | split("\t")] as $r | {{
  "{changed}": ($r | map(select(.[0] == "c") | {{"{path}": .[1], "{was}": .[2], "{now}": .[3]}})),
  "{missing}": ($r | map(select(.[0] == "m")[1]) | sort)}}' /var/tmp/plan > {report}
rm /var/tmp/entries /var/tmp/plan
"""

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
