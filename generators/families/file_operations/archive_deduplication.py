"""Deduplicate an archive by content: who stays is decided by stated rules, the others are linked, dropped or moved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES

Mode = Literal["link", "remove", "quarantine"]


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str  # the archive
    out: str  # where the index and the summary go
    thing: str
    master: str  # the preferred top folder
    folders: str
    endings: str
    marker: str  # a file of this name puts its folder out of bounds
    mode: Mode
    index: str  # csv, tsv or jsonl
    keys: str  # names in the summary
    wording: int
    numbered: bool
    text: str


# fmt: off
SETTINGS = (
    World("photo_studio", "studio manager", "wedding photo archive", "email", "/srv/photos", "/srv/report", "picture",
          "masters", "2019 2020 albums/spring albums/autumn phone", "jpg JPG tif", ".frozen", "remove", "csv",
          "groups copies bytes", 0, False,
          "Hello,\n\nour disk at {firm} is nearly full because everybody copied pictures around. {root} is the "
          "archive I mean. Could you tidy it up before Friday?\n\n{rules}\n\nThank you!\nThe studio"),
    World("law_firm", "records clerk", "case document archive", "ticket", "/data/cases", "/data/cases-dedup",
          "document", "signed", "inbox civil/2021 civil/2022 tax scans", "pdf txt doc", ".legal-hold", "quarantine",
          "tsv", "sets redundant freed", 1, True,
          "DOC-{ticket} | {firm} | redundant documents below {root}\n\nDescription: the retention audit found "
          "documents stored more than once.\nAcceptance criteria:\n{rules}"),
    World("museum", "collection registrar", "digitised collection", "specification", "/opt/collection",
          "/opt/collection-log", "scan", "reference", "glass paper/maps paper/letters coins", "tif png txt", ".sealed",
          "link", "jsonl", "clusters extras octets", 2, True,
          "Procedure {ticket}: single storage of scans\nScope: the tree {root} of {firm}.\n\n{rules}"),
    World("newsroom", "picture desk", "press picture store", "chat", "/home/desk/store", "/home/desk/dedup",
          "press photo", "agency", "sport politics/local politics/world culture", "jpg jpeg raw", ".embargo", "link",
          "csv", "groups linked saved", 0, False,
          "hey, you said you have time this afternoon :) the store in {root} is full of the same pictures again, "
          "{firm} pays per gigabyte. what we agreed on:\n\n{rules}\n\nping me when done"),
    World("lab_notebooks", "lab technician", "instrument exports", "runbook", "/var/lib/exports",
          "/var/lib/export-report", "export", "validated", "hplc gcms/run1 gcms/run2 scale", "csv dat txt", ".locked",
          "quarantine", "jsonl", "families surplus size", 1, False,
          "# Runbook: collapse repeated exports ({firm})\n\nWhere: {root}\nWhen: quarterly\n\n{rules}"),
    World("architects", "office administrator", "drawing archive", "note", "/srv/drawings", "/srv/drawings-index",
          "drawing", "issued", "concept tender/a tender/b site", "dwg pdf svg", ".pinned", "remove", "tsv",
          "sets dropped bytes_freed", 2, True, "To do on the plan server ({firm}), {root}:\n{rules}"),
    World("genealogy", "society archivist", "parish register scans", "email", "/home/archive/registers",
          "/home/archive/result", "page", "originals", "baptism marriage/old marriage/new burial", "png tif txt",
          ".donor-copy", "quarantine", "csv", "groups moved volume", 2, False,
          "Dear colleague,\n\nthe volunteers uploaded many register pages twice to {root}. The board of {firm} asks "
          "for one copy of each page.\n\n{rules}\n\nKind regards,\nthe archivist"),
    World("support_uploads", "storage engineer", "customer upload bucket", "ticket", "/mnt/uploads",
          "/mnt/dedup-state", "upload", "curated", "web mail/eu mail/us api", "log zip txt", ".retain", "link", "tsv",
          "buckets duplicates reclaimed", 1, False,
          "[OPS-{ticket}] Reclaim space on {root}\n\nReporter: {firm} storage on-call\n\n{rules}\n\nNo maintenance "
          "window is needed."),
)
# fmt: on

# Three wordings of every rule.
SAME = (
    "Two files are the same {thing} when their bytes are identical, whatever their names, endings or time stamps say.",
    "Files count as copies of one {thing} exactly when every byte agrees; name, suffix and modification time play no "
    "part in that.",
    "Only content decides: files with the same bytes form one group of a {thing}, and a single differing byte makes "
    "them different.",
)
EMPTY = (
    "Empty files are not copies of each other, leave every one of them alone.",
    "Zero-length files never count as copies and stay where they are.",
    "A file without content belongs to no group and is kept as it is.",
)
MASTER = (
    "Of each set of copies one is kept: anything below {root}/{master} comes before everything else.",
    "Keep one file per set; a copy below {root}/{master} is preferred to any copy elsewhere.",
    "The survivor of a group is chosen so: first, copies inside {root}/{master} win over those outside.",
)
NAME = (
    "{first}a file whose name does not look like a copy beats one that does; a name looks like a copy when the part "
    "before the last dot "
    'ends in "-copy", in " copy" or in a number in round brackets such as "(2)", capitals or not.',
    "{first}plain names beat copy names, and a copy name is one where what stands before the last dot ends with "
    '"-copy", with " copy" or '
    'with digits in round brackets like "(3)", in upper or lower case.',
    '{first}prefer names that are not marked as copies (marked means: before the last dot they end with "-copy" or " '
    'copy" in any '
    'case, or with a bracketed number, for example "(1)").',
)
FIRST = ("Of each set of copies one is kept: ", "Keep one file per set: ", "The survivor of a group is chosen so: ")
NEXT = ("Next, ", "After that, ", "Second, ")
OLDEST = (
    "If that leaves several, the oldest modification time wins, and then the path (relative to {root}) that comes "
    "first in byte order.",
    "Among those left take the earliest modification time; where that is equal too, the relative path that sorts "
    "first byte by byte.",
    "Ties go to the file modified longest ago, then to the path below {root} that is smallest when compared as bytes.",
)
ACTION = {
    "link": (
        "Every other copy becomes a hard link to the kept file, which keeps its content and modification time.",
        "Replace each remaining copy by a hard link to the chosen file, whose bytes and modification time survive.",
        "The other paths of a group stay as hard links to the survivor, whose content and time are not altered.",
    ),
    "remove": (
        "Every other copy is deleted; the kept file stays at its path with its content and modification time, and "
        "folders stay even if empty.",
        "Delete each remaining copy, but no folder, and leave the chosen file's path, bytes and modification time "
        "alone.",
        "The other paths of a group are removed; folders remain, and so do the survivor's path, content and "
        "modification time.",
    ),
    "quarantine": (
        "Every other copy moves to {out}/aside under the same relative path, and the kept file stays at its path "
        "with its content and "
        "modification time.",
        "Move each remaining copy to {out}/aside, keeping its relative path below that folder; the chosen file's "
        "path, bytes and "
        "modification time do not change.",
        "The other files of a group go to {out}/aside with the relative path they had; path, content and "
        "modification time of the survivor stay.",
    ),
}
MARKER = (
    "A folder with a file called {marker} in it is out of bounds with everything beneath: change nothing there, and "
    "do not count its files as copies.",
    "Where a folder contains {marker}, it and all its subfolders are excluded: nothing in them is touched or "
    "regarded as a copy.",
    "{marker} in a folder takes that folder and whatever lies below out of this work, both as copies and as survivors.",
)
SYMLINK = {
    "link": (
        "Symbolic links are no copies and stay as they are.",
        "A symbolic link is never a copy; leave it as it is.",
        "Symbolic links belong to no group and are not altered.",
    ),
    "other": (
        "Symbolic links are no copies, but a link that led to a copy that has gone must lead to the kept file instead.",
        "A symbolic link is never a copy; where its target leaves the archive, point it at the file that was kept.",
        "Symbolic links belong to no group; those that would break have to point to the survivor of their target's "
        "group.",
    ),
}
INDEX = {
    "csv": "{out}/index.csv: header kept,copy, then one line for each other copy with the two relative paths, in "
    "byte order of the copy.",
    "tsv": "{out}/index.tsv has, without a header, kept path, a tab and copy path (both relative to {root}) for each "
    "other copy, sorted by copy "
    "in byte order.",
    "jsonl": "{out}/index.jsonl holds one JSON object per line with kept and copy, the relative paths, one for each "
    "other copy, ordered by copy "
    "(bytes).",
}
SUMMARY = (
    "{out}/summary.json: an object with {a} (sets of two or more copies), {b} (copies that were not kept) and {c} "
    "(their total size in bytes).",
    "{out}/summary.json gets three whole numbers: {a}, the sets with more than one copy, {b}, the copies not kept, "
    "and {c}, the bytes of those.",
    "In {out}/summary.json write {a} (number of groups with at least two files), {b} (files not chosen) and {c} (sum "
    "of their sizes in bytes).",
)

SETUP = """
import json, os
spec = json.load(open("/setup/archive.json"))
root = spec["root"]
for path, content, when in spec["files"]:
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as out:
        out.write(spec["contents"][content])
    os.utime(full, (when, when))
for path, target in spec["links"]:
    os.symlink(target, os.path.join(root, path))
os.makedirs(spec["out"])
"""

TESTS = """
import csv
import hashlib
import os

ROOT, OUT = TRUTH["root"], TRUTH["out"]


def walk(root):
    return {os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names}


def digest(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()[:16]


def check(path, content, when):
    full = os.path.join(ROOT, path)
    assert os.path.isfile(full) and not os.path.islink(full), path
    assert digest(full) == TRUTH["digests"][content], path
    assert int(os.stat(full).st_mtime) == when, path


def same_file(one, other):
    # inode numbers of links differ on some overlay file systems: look whether a change of one shows in the other
    before = os.stat(one)
    os.utime(one, ns=(1, 1))
    shared = os.stat(other).st_mtime_ns == 1
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
    return shared


def test_archive():
    assert walk(ROOT) - set(TRUTH["links"]) == set(TRUTH["kept"]) | set(TRUTH["others"]) | set(TRUTH["linked"])
    for path, (content, when) in TRUTH["kept"].items():
        check(path, content, when)
        assert os.stat(os.path.join(ROOT, path)).st_nlink == 1 + list(TRUTH["linked"].values()).count(path), path
    for path, kept in TRUTH["linked"].items():
        assert same_file(os.path.join(ROOT, path), os.path.join(ROOT, kept)), path
    for path, target in TRUTH["links"].items():
        full = os.path.join(ROOT, path)
        assert os.path.islink(full) and os.path.realpath(full) == os.path.join(ROOT, target), path
    aside = os.path.join(OUT, "aside")
    assert (walk(aside) if os.path.isdir(aside) else set()) == set(TRUTH["aside"])
    for path, content in TRUTH["aside"].items():
        assert digest(os.path.join(aside, path)) == TRUTH["digests"][content], path


def test_index():
    kind = TRUTH["index"]
    with open(os.path.join(OUT, "index." + kind), newline="") as source:
        lines = source.read().splitlines()
    if kind == "jsonl":
        got = [[row["kept"], row["copy"]] for row in map(json.loads, lines)]
    else:
        got = list(csv.reader(lines, delimiter="," if kind == "csv" else chr(9)))
    assert got == ([["kept", "copy"]] if kind == "csv" else []) + TRUTH["pairs"]


def test_summary():
    with open(os.path.join(OUT, "summary.json")) as source:
        assert json.load(source) == TRUTH["summary"]


def test_the_rest_is_untouched():
    for folder in TRUTH["folders"]:
        assert os.path.isdir(os.path.join(ROOT, folder)), folder
    for path, (content, when) in TRUTH["others"].items():
        check(path, content, when)
        assert os.stat(os.path.join(ROOT, path)).st_nlink == 1, path
"""

INITIAL = """
import os


def test_archive_is_there_and_nothing_is_done():
    for path in [*TRUTH["kept"], *TRUTH["others"]]:
        assert os.path.isfile(os.path.join(TRUTH["root"], path)), path
    assert os.listdir(TRUTH["out"]) == []
"""

SOLUTION = """python3 - <<'PY'
import csv, json, os, re
C = json.loads('''@CONFIG@''')
root, out, mode = C["root"], C["out"], C["mode"]
groups, links = {}, []
for at, folders, names in os.walk(root):
    if C["marker"] in names:
        folders[:] = []
        continue
    for name in names:
        full = os.path.join(at, name)
        if os.path.islink(full):
            links.append(full)
        elif os.path.getsize(full) > 0:
            groups.setdefault(open(full, "rb").read(), []).append(os.path.relpath(full, root))
def rank(path):
    stem = os.path.basename(path).rpartition(".")[0]
    marked = re.search(r"([- ]copy|\\(\\d+\\))$", stem, re.I) is not None
    inside = path.startswith(C["master"] + "/") if C["master"] else False
    return (not inside, marked, os.stat(os.path.join(root, path)).st_mtime, path.encode())
pairs, freed, sets = [], 0, 0
for content, paths in groups.items():
    kept, *rest = sorted(paths, key=rank)
    sets += bool(rest)
    for copy in rest:
        pairs.append((copy, kept))
        freed += len(content)
home = dict(pairs)
for copy, kept in sorted(pairs):
    full = os.path.join(root, copy)
    if mode == "quarantine":
        aside = os.path.join(out, "aside", copy)
        os.makedirs(os.path.dirname(aside), exist_ok=True)
        os.system("mv '%s' '%s'" % (full, aside))
    else:
        os.remove(full)
    if mode == "link":
        os.link(os.path.join(root, kept), full)
if mode != "link":
    for link in links:
        target = os.path.relpath(os.path.join(os.path.dirname(link), os.readlink(link)), root)
        if target in home:
            os.remove(link)
            os.symlink(os.path.relpath(os.path.join(root, home[target]), os.path.dirname(link)), link)
with open(os.path.join(out, "index." + C["index"]), "w") as index:
    if C["index"] == "csv":
        index.write("kept,copy\\n")
    for copy, kept in sorted(pairs, key=lambda pair: pair[0].encode()):
        if C["index"] == "jsonl":
            index.write(json.dumps({"kept": kept, "copy": copy}) + "\\n")
        else:
            index.write(kept + ("," if C["index"] == "csv" else "\\t") + copy + "\\n")
json.dump(dict(zip(C["keys"], (sets, len(pairs), freed))), open(os.path.join(out, "summary.json"), "w"))
PY
"""

# Another way: find lists, perl groups by content.
ALTERNATIVE = """cd '@ROOT@' && find . -name '@MARKER@' -printf '%h/\\n' > /tmp/closed
find . -type l > /tmp/symlinks
find . -type f -size +0 | perl -e '
my ($out, $mode, $master, $kind, $k1, $k2, $k3) = @ARGV;
open my $f, "<", "/tmp/closed"; my @closed = <$f>; chomp @closed;
my (%group, %rank, %gone, %size);
while (my $path = <STDIN>) {
  chomp $path;
  next if grep { index($path, $_) == 0 } @closed;
  $path =~ s{^\\./}{};
  open my $in, "<:raw", $path; local $/; my $body = <$in>;
  my ($stem) = $path =~ m{([^/]*)\\.[^./]*$};
  my $outside = $master ne "" && index($path, "$master/") == 0 ? 0 : 1;
  my $marked = $stem =~ /(?:[ -]copy|[(][0-9]+[)])$/i ? 1 : 0;
  $rank{$path} = sprintf "%d%d%012d%s", $outside, $marked, (stat $path)[9], $path;
  push @{$group{$body}}, $path;
  $/ = "\\n";
}
my ($sets, $bytes) = (0, 0);
for my $body (keys %group) {
  my ($kept, @rest) = sort { $rank{$a} cmp $rank{$b} } @{$group{$body}};
  $sets++ if @rest;
  for (@rest) { $gone{$_} = $kept; $bytes += length $body }
}
if ($mode ne "link") {
  open my $l, "<", "/tmp/symlinks";
  while (my $link = <$l>) {
    chomp $link;
    my $to = readlink $link; $to =~ s{^\\.\\./}{};
    if ($gone{$to}) { unlink $link; symlink "../$gone{$to}", $link }
  }
}
open my $index, ">", "$out/index.$kind";
print $index "kept,copy\\n" if $kind eq "csv";
for my $copy (sort keys %gone) {
  my $kept = $gone{$copy};
  printf $index
    $kind eq "csv" ? "%s,%s\\n" : $kind eq "tsv" ? "%s\\t%s\\n" : qq({"kept": "%s", "copy": "%s"}\\n), $kept, $copy;
  if ($mode eq "quarantine") {
    my $at = "$out/aside"; mkdir $at;
    for ($copy =~ m{([^/]+)/}g) { $at .= "/$_"; mkdir $at }
    rename $copy, "$out/aside/$copy" or system "mv", $copy, "$out/aside/$copy";
  } else { unlink $copy }
  link $kept, $copy if $mode eq "link";
}
open my $sum, ">", "$out/summary.json";
printf $sum qq({"%s": %d, "%s": %d, "%s": %d}), $k1, $sets, $k2, scalar(keys %gone), $k3, $bytes;
' '@OUT@' '@MODE@' '@MASTER@' '@INDEX@' @KEYS@
"""


@dataclass
class Tree:
    """The archive as drawn: files as (content number, time), symbolic links, and the folder out of bounds."""

    contents: list[str]
    files: dict[str, tuple[int, int]]
    links: dict[str, str]
    closed: str


def looks_copied(path: str) -> bool:
    """The stated pattern, without a regular expression."""
    stem = path.rsplit("/", 1)[-1].rpartition(".")[0].lower()
    digits = stem[:-1].rpartition("(")[2] if stem.endswith(")") and "(" in stem else ""
    return stem.endswith(("-copy", " copy")) or digits.isdigit()


def draw_tree(draw: Draw, world: World, groups: int, singles: int) -> Tree:
    """Copies with every trap, near-equal files, empty files, files with equal names."""
    folders, endings = world.folders.split(), world.endings.split()
    hard, with_master = draw.difficulty == Difficulty.HARD, draw.difficulty != Difficulty.EASY
    tree = Tree([], {}, {}, f"{folders[-1]}/kept-{draw.pick(HOST_WORDS)}")
    serials = iter(draw.sample(range(1000, 9999), groups * 6 + singles * 3))
    start = 1_500_000_000 + draw.between(0, 9_000_000)

    def content() -> int:
        words = [draw.pick(LAST_NAMES), draw.pick(CITIES), *(draw.pick(HOST_WORDS) for _ in range(draw.between(5, 14)))]
        tree.contents.append(f"{world.thing} {next(serials)}\n{' '.join(words)}\nend {next(serials)}\n")
        return len(tree.contents) - 1

    def add(number: int, folder: str, when: int, tail: str = "", stem: str = "") -> str:
        name = stem or f"{draw.pick(('IMG', 'Scan', 'file', 'a', 'Zone'))}_{next(serials)}"
        path = f"{folder}/{name}{tail}.{draw.pick(endings)}"
        tree.files[path] = (number, when)
        return path

    tails = ("-copy", " copy", " (2)", "(1)", "-Copy", " (14)")
    for group in range(groups):
        number, when = content(), start + draw.between(0, 50_000_000)
        kind = group if group < 5 else draw.between(0, 4)
        if kind == 0:  # the oldest file has a copy's name
            add(number, draw.pick(folders), when - 86_400, draw.pick(tails))
            add(number, draw.pick(folders), when)
            add(number, draw.pick(folders), when + draw.between(1, 9000))
        elif kind == 1:  # equal times: bytes decide, and capitals sort first
            add(number, folders[0], when, stem=f"apple{next(serials)}")
            add(number, folders[0], when, stem=f"Zebra{next(serials)}")
        elif kind == 2 and with_master:  # the preferred folder has the newest one, under a copy's name
            add(number, draw.pick(folders), when)
            add(number, f"{world.master}/{draw.between(1, 3)}", when + 500_000, draw.pick(tails))
        elif kind == 3 and hard:  # one of three is out of bounds, and would have won
            add(number, tree.closed, when - 900_000)
            add(number, draw.pick(folders), when)
            add(number, draw.pick(folders), when + 60, draw.pick(tails))
        else:  # only copies' names, and misleading plain ones
            add(number, draw.pick(folders), when + draw.between(1, 9), draw.pick(tails))
            add(number, draw.pick(folders), when, draw.pick(tails))
            add(
                number, draw.pick(folders), when + 70, draw.pick(("-copyright", " copy 2-final", "(b)", "copy"))
            ) if group % 2 else None
    shared = f"{draw.pick(HOST_WORDS)}_{next(serials)}"
    for single in range(singles):
        number, when = content(), start + draw.between(0, 50_000_000)
        add(
            number,
            folders[single % len(folders)],
            when,
            draw.pick(("", "", "-copy")),
            shared if single < len(folders) else "",
        )
        if single < 4 or draw.chance(30):  # nearly the same: one byte of equally many, or a line end more
            text = tree.contents[number]
            tree.contents.append(text[:-2] + ("x" if single % 2 else "y") + "\n" if single % 3 else text + "\n")
            add(len(tree.contents) - 1, draw.pick(folders), when)
    tree.contents.append("")
    for _ in range(4):
        add(len(tree.contents) - 1, draw.pick(folders), start + draw.between(0, 99_999))
    if hard:
        tree.files[f"{tree.closed}/{world.marker}"] = (len(tree.contents) - 1, start)
    return tree


def kept_first(tree: Tree, world: World, with_master: bool) -> list[list[str]]:
    """The groups of two or more, each with its kept file first: the stated rules."""
    groups: dict[int, list[str]] = {}
    for path, (number, _) in tree.files.items():
        if tree.contents[number] and not path.startswith(tree.closed + "/"):
            groups.setdefault(number, []).append(path)

    def rank(path: str) -> tuple[bool, bool, int, bytes]:
        inside = with_master and path.startswith(world.master + "/")
        return (not inside, looks_copied(path), tree.files[path][1], path.encode())

    return [sorted(paths, key=rank) for paths in groups.values() if len(paths) > 1]


def add_links(draw: Draw, tree: Tree, groups: Sequence[Sequence[str]], folder: str, mode: Mode) -> dict[str, str]:
    """Symbolic links to files of either kind; gives where each has to lead at the end."""
    ends: dict[str, str] = {}
    for number, paths in enumerate(draw.sample(groups, 5)):
        target = paths[-1] if number < 3 else paths[0]
        link = f"{folder.split('/')[0]}/latest-{number + 1}"
        tree.links[link] = f"../{target}"
        ends[link] = target if mode == "link" else paths[0]
    return ends


def sentences(world: World, difficulty: Difficulty) -> dict[str, str]:
    """Every sentence of the instruction that demands something."""
    style = world.wording
    hard, with_master = difficulty == Difficulty.HARD, difficulty != Difficulty.EASY
    parts = {"same": SAME[style], "empty": EMPTY[style]}
    if with_master:
        parts["master"] = MASTER[style]
    parts["name"] = NAME[style].replace("{first}", NEXT[style] if with_master else FIRST[style])
    parts |= {"oldest": OLDEST[style], "action": ACTION[world.mode][style]}
    if hard:
        parts["marker"] = MARKER[style]
        parts["symlink"] = SYMLINK["link" if world.mode == "link" else "other"][style]
    a, b, c = world.keys.split()
    words = {"thing": world.thing, "root": world.root, "out": world.out, "master": world.master, "marker": world.marker}
    parts |= {"index": INDEX[world.index], "summary": SUMMARY[style]}
    return {key: text.format(a=a, b=b, c=c, **words) for key, text in parts.items()}


def scripts(world: World, with_master: bool) -> tuple[str, str]:
    """The reference solution and its alternative."""
    master = world.master if with_master else ""
    config = {"root": world.root, "out": world.out, "mode": world.mode, "marker": world.marker, "master": master}
    config |= {"index": world.index, "keys": world.keys.split()}  # type: ignore[dict-item]
    other = ALTERNATIVE
    for token, value in (
        ("@ROOT@", world.root),
        ("@OUT@", world.out),
        ("@MODE@", world.mode),
        ("@MARKER@", world.marker),
        ("@MASTER@", master),
        ("@INDEX@", world.index),
        ("@KEYS@", world.keys),
    ):
        other = other.replace(token, value)
    return SOLUTION.replace("@CONFIG@", json.dumps(config)), other


def draft(draw: Draw) -> Draft:
    """One archive."""
    world = draw.setting(SETTINGS)
    hard, with_master = draw.difficulty == Difficulty.HARD, draw.difficulty != Difficulty.EASY
    groups = draw.by_difficulty(easy=6, medium=18, hard=45)
    singles = draw.by_difficulty(easy=8, medium=20, hard=50)
    tree = draw_tree(draw, world, groups, singles)
    sets = kept_first(tree, world, with_master)
    ends = add_links(draw, tree, sets, world.folders.split()[1], world.mode) if hard else {}
    home = {copy: paths[0] for paths in sets for copy in paths[1:]}
    kept = [paths[0] for paths in sets]
    freed = sum(len(tree.contents[tree.files[copy][0]]) for copy in home)
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in tree.contents]
    truth = {
        "root": world.root,
        "out": world.out,
        "kept": {path: list(tree.files[path]) for path in kept},
        "others": {
            path: list(state) for path, state in tree.files.items() if path not in home and path not in set(kept)
        },
        "linked": home if world.mode == "link" else {},
        "aside": {copy: tree.files[copy][0] for copy in home} if world.mode == "quarantine" else {},
        "links": ends,
        "folders": sorted({path.rpartition("/")[0] for path in tree.files}) if world.mode == "remove" else [],
        "digests": digests,
        "index": world.index,
        "pairs": sorted(([stays, copy] for copy, stays in home.items()), key=lambda pair: pair[1].encode()),
        "summary": dict(zip(world.keys.split(), (len(sets), len(home), freed), strict=True)),
    }
    archive = {"root": world.root, "out": world.out, "contents": tree.contents}
    archive |= {
        "files": [[path, *state] for path, state in draw.shuffled(list(tree.files.items()))],
        "links": list(tree.links.items()),
    }
    rules = sentences(world, draw.difficulty)
    lines = (
        [f"{number}. {text}" for number, text in enumerate(rules.values(), 1)]
        if world.numbered
        else list(rules.values())
    )
    joint = "\n" if world.numbered else " "
    instruction = world.text.format(
        firm=draw.pick(FIRMS), ticket=draw.between(1000, 9999), root=world.root, rules=joint.join(lines)
    )
    solution, other = scripts(world, with_master)
    goals = ["test_archive", "test_index", "test_summary"]
    misses = [
        Miss(
            "size_and_head",
            "calls files equal that agree in size and in their first 24 bytes",
            solution.replace('open(full, "rb").read()', 'open(full, "rb").read()[:24].ljust(os.path.getsize(full))'),
            goals[1:],
        ),
        Miss(
            "oldest_wins",
            "ignores what copies are called",
            solution.replace("(not inside, marked, ", "(not inside, "),
            goals[:2],
        ),
        Miss(
            "alphabet",
            "compares paths without regard to capitals",
            solution.replace("path.encode())", "path.lower())", 1),
            ["test_index"],
        ),
        Miss(
            "empty_too",
            "treats empty files as copies",
            solution.replace("getsize(full) > 0", "getsize(full) >= 0"),
            [*goals[1:], "test_the_rest_is_untouched"],
        ),
    ]
    if hard:
        misses.append(
            Miss(
                "marker_ignored",
                "does not stop at the marker",
                solution.replace('C["marker"] in names', "False"),
                goals[1:],
            )
        )
    cited = {
        "index": ["test_index"],
        "summary": ["test_summary"],
        "symlink": ["test_archive"],
        "action": ["test_archive"],
    }
    cited["action"].append("test_the_rest_is_untouched")
    cited |= {"empty": [*goals, "test_the_rest_is_untouched"], "marker": [*goals, "test_the_rest_is_untouched"]}
    return Draft(
        title=f"Deduplicate the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"archive.json": json.dumps(archive), "build.py": SETUP.lstrip()},
        dockerfile="COPY archive.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\n"
        f"WORKDIR {world.root}",
        truth=truth,
        discoverable=("root", "out", "pairs", "kept", "others", "folders", "linked", "aside", "links", "index"),
        tests=TESTS,
        weights={"test_archive": 0.55, "test_index": 0.3, "test_summary": 0.15},
        guards=["test_the_rest_is_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[other],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in rules.items()],
        knobs={
            "groups": groups,
            "singles": singles,
            "mode": world.mode,
            "preferred_folder": with_master,
            "hold_and_links": hard,
        },
    )


FAMILY = Family(
    name="archive_deduplication",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("content hashing", "hard links", "ranking rules", "tree walking"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
