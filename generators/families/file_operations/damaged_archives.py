"""Recover files from damaged tar, gzip and zip archives: cut off, wrong sums, lost directories, bad blocks."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES

BLOCK = 256


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str  # the archives
    catalogue: str
    kind: str  # csv, tsv or jsonl
    columns: str  # name, size, digest, sums
    out: str
    report: str
    keys: str  # names in the report
    stems: str
    ending: str
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


# fmt: off
SETTINGS = (
    World("flooded_office", "data recovery specialist", "flooded office backup disk", "email", "/mnt/rescued",
          "/mnt/catalogue.csv", "csv", "path size sha256 blocks", "/srv/recovered", "/srv/recovery.json",
          "recovered bytes lost", "invoices contracts staff/letters plans", ".txt", 0,
          "Hello,\n\nthe disk of {firm} lay in water for two days. What could be read of it is in {folder}.\n\n"
          "{rules}\n\n{output}\n\nGood luck!"),
    World("tape_library", "tape operator", "ageing tape library", "ticket", "/data/tapes", "/data/tapes.jsonl",
          "jsonl", "member length digest crcs", "/data/restored", "/data/restored.json", "good total missing",
          "run1 run2/raw run2/meta calib", ".dat", 1,
          "TAPE-{ticket}: restore of {firm} set from tapes with read errors, dumps in {folder}\n\n{rules}\n\n"
          "Result:\n{output}"),
    World("newspaper_morgue", "newspaper archivist", "newspaper text archive", "note", "/home/morgue/dumps",
          "/home/morgue/index.tsv", "tsv", "article octets checksum parts", "/home/morgue/articles",
          "/home/morgue/state.json", "saved volume gone", "1997 1998/city 1998/sport 1999", ".art", 2,
          "Text archive of {firm}. Dumps: {folder}.\n{rules}\n{output}"),
    World("research_usb", "research data manager", "thesis data on memory sticks", "chat", "/srv/sticks",
          "/srv/contents.jsonl", "jsonl", "file n hash pieces", "/srv/thesis", "/srv/thesis-status.json",
          "ok sum broken", "survey interviews/a interviews/b codebook", ".csv", 3,
          "hi! three sticks, all half dead, images unpacked to {folder} (found at {firm}, of all places).\n\n"
          "{rules}\n\n{output}\n\nyou'd save my degree"),
    World("court_evidence", "digital forensics examiner", "seized archive set", "specification", "/var/evidence",
          "/var/evidence.tsv", "tsv", "exhibit size sha256 crc32s", "/var/exhibits", "/var/exhibits.json",
          "exhibits bytes incomplete", "box1 box2/left box2/right safe", ".rec", 4,
          "Examination order {ticket}, owner {firm}\nMaterial: {folder}\n\n{rules}\n\nProduct\n{output}"),
    World("museum_mirror", "museum system administrator", "collection texts", "runbook", "/opt/salvage",
          "/opt/salvage-list.csv", "csv", "object bytes sha checks", "/opt/collection", "/opt/collection.json",
          "objects octets lost", "bronze paper/fine paper/plain stone", ".md", 5,
          "# Salvage run, {firm}\n\nSource: {folder}\n\n{rules}\n\n{output}"),
    World("factory_line", "plant engineer", "machine parameter backups", "ticket", "/mnt/plant",
          "/mnt/plant-files.csv", "csv", "name len sha256 crc", "/srv/parameters", "/srv/parameters.json",
          "files size unreadable", "press lathe/in lathe/out oven", ".ini", 6,
          "[PLANT-{ticket}] {firm}: line stands still, parameter backups in {folder} are corrupted\n\n{rules}\n\n"
          "{output}"),
    World("choir_scores", "choir secretary", "choir score collection", "email", "/home/choir/old",
          "/home/choir/list.jsonl", "jsonl", "score size sha256 sums", "/home/choir/scores", "/home/choir/result.json",
          "found bytes lost", "advent easter/mass easter/songs summer", ".ly", 7,
          "Dear helper,\n\nthe computer of {firm} choir broke and its archives in {folder} no longer open.\n\n"
          "{rules}\n\n{output}\n\nWith song"),
)
# fmt: on

LISTED = (
    "{catalogue} lists every file there was ({columns}) and can be trusted.",
    "Which files there have to be is stated by {catalogue}, with {columns}; it is correct.",
    "The list {catalogue} ({columns}) is complete and right.",
)
RULE = (
    "For each of them find a copy with exactly this content, in whatever archive below {folder}, and put it at its "
    "path below {out}.",
    "Bring every file of which the right bytes can still be had from any archive in {folder} to {out}, under its "
    "listed path.",
    "{out} shall contain, at its listed path, each file that any of the archives in {folder} still holds with the "
    "right content.",
)
STATE = (
    "The archives are tar, gzip and zip files, and many are damaged: cut off, with overwritten bytes, wrong check "
    "sums or lost directories. "
    "A damaged archive can hold intact files, a wrong check sum does not prove wrong content, and some copies are "
    "old versions.",
    "Be aware that these tar, gzip and zip archives are cut off, partly overwritten, or without their directory, "
    "that a check sum may be the only "
    "thing that is wrong, that intact members exist in front of and behind the damage, and that outdated versions "
    "occur under the same names.",
    "Expect tar, gzip and zip archives that end too early, lack their directory or have overwritten places, check "
    "sums that are wrong although the "
    "data is right, undamaged members in otherwise unreadable archives, and older versions of files.",
)
NESTED = (
    "Archives inside archives count too.",
    "An archive may be a member of another one and counts as well.",
    "That includes archives that lie inside others.",
)
BLOCKS = (
    "The last column has the CRC-32 (8 hex digits) of each piece of {block} bytes, the final piece may be shorter: a "
    "file without any intact copy "
    "can be put together from good pieces that stand at the right place in different damaged copies under its name.",
    "A file of which no copy is intact may still be assembled, because the last field gives the CRC-32 (eight hex "
    "digits) of every {block}-byte "
    "piece (the last one can be shorter) and the damaged copies of that name often have different pieces spoilt.",
    "Where all copies of a name are spoilt, combine them: the last field holds one CRC-32 (hex, 8 digits) for each "
    "{block} bytes of the file, the "
    "rest at the end included, and pieces that agree with it at their offset are good.",
)
NOTHING = (
    "Nothing else may be in {out}, so no incomplete files.",
    "{out} must not contain anything but complete, correct files.",
    "Incomplete or outdated files do not belong in {out}.",
)
REPORT = {
    False: (
        "{report} is a JSON object: {k0} (number of files recovered), {k1} (sum of their sizes) and {k2} (sorted "
        "list of the paths of the others).",
        "Write a JSON object to {report} with {k0}, how many files were recovered, {k1}, their total size in bytes, "
        "and {k2}, the sorted list of "
        "listed paths that could not be.",
        "Also write {report}, one JSON object: {k0} counts the recovered files, {k1} their bytes, and {k2} is the "
        "sorted list of paths for which "
        "there is no right copy.",
    ),
    True: (
        "{report} is a JSON object: {k0} (number of files recovered), {k1} (sum of their sizes) and {k2}, an object "
        "that gives for the path of each "
        "other file the ascending list of its pieces (counted from 0) that are nowhere good.",
        "Write a JSON object to {report} with {k0}, how many files were recovered, {k1}, their total size in bytes, "
        "and {k2}, which maps each listed "
        "path that could not be to the ascending numbers (from 0) of the pieces no copy has.",
        "Also write {report}, one JSON object: {k0} counts the recovered files, {k1} their bytes, and {k2} maps the "
        "path of every other file to "
        "the ascending indices, starting at 0, of the pieces that no copy of it has right.",
    ),
}
KEEP = (
    "The archives and the list stay exactly as they are.",
    "Do not alter the archives or the list.",
    "Neither archives nor list may change.",
)

# Packs and damages the archives. Positions are found at build time: compressed sizes depend on the zlib in use.
SETUP = r"""
import gzip, io, json, os, struct, tarfile, zipfile, zlib
spec = json.load(open("/setup/archives.json"))
TEXTS = [text.encode() for text in spec["texts"]]

def pack_tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1600000000
            tar.addfile(info, io.BytesIO(data))
    return bytearray(out.getvalue())

def pack_zip(members, stored):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as pack:
        for number, (name, data) in enumerate(members):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            pack.writestr(info, data, zipfile.ZIP_STORED if number in stored else zipfile.ZIP_DEFLATED)
    return bytearray(out.getvalue())

def overwrite(raw, good, number, count=40):
    at = raw.index(good[number * spec["block"]:][:spec["block"]]) + 16
    raw[at:at + count] = b"\0" * count

def make(a):
    members = [(name, bytes(make(text)) if isinstance(text, dict) else TEXTS[text]) for name, text in a["members"]]
    kind = a["kind"]
    if kind == "gz":
        raw = bytearray(gzip.compress(members[0][1], 6, mtime=0))
        if a["damage"] == "trailer":
            raw[-8:] = b"\xff\x00\xff\x00\x01\x02\x03\x04"
        return raw
    raw = pack_zip(members, a["stored"]) if kind == "zip" else pack_tar(members)
    for member, number in a["spoilt"]:
        overwrite(raw, members[member][1], number)
    if kind == "zip":
        if a["damage"] == "directory":
            del raw[raw.index(b"PK\1\2") + 7:]
        for member in a["crc"]:
            old = struct.pack("<L", zlib.crc32(members[member][1]))
            raw = raw.replace(old, b"\x13\x37\x13\x37")
        return raw
    starts = [info.offset_data for info in tarfile.open(fileobj=io.BytesIO(bytes(pack_tar(members)))).getmembers()]
    if a["header"] is not None:
        at = starts[a["header"]] - 512
        raw[at:at + 400] = bytes((7 * n + 129) % 256 for n in range(400))
    low = high = None
    if a["cut"] is not None:
        low, high = starts[a["cut"]] + 150, starts[a["cut"]] + len(members[a["cut"]][1]) - 150
    if kind == "tgz":
        raw = bytearray(gzip.compress(bytes(raw), 6, mtime=0))
        if low is not None:
            size = next(n for n in range(20, len(raw)) if len(zlib.decompressobj(31).decompress(bytes(raw[:n]))) > low)
            assert len(zlib.decompressobj(31).decompress(bytes(raw[:size]))) < high
            del raw[size:]
    elif low is not None:
        del raw[(low + high) // 2:]
    return raw

for a in spec["archives"]:
    os.makedirs(os.path.dirname(a["path"]), exist_ok=True)
    with open(a["path"], "wb") as out:
        out.write(make(a))
    os.utime(a["path"], (1600000000, 1600000000))
"""

TESTS = """
import hashlib
import os


def sha(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def walk(root):
    return {os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names}


def test_recovered_files():
    for path, digest in TRUTH["files"].items():
        assert sha(os.path.join(TRUTH["out"], path))[:20] == digest, path


def test_nothing_wrong_was_kept():
    assert walk(TRUTH["out"]) == set(TRUTH["files"])


def test_totals():
    assert [report()[key] for key in TRUTH["keys"][:2]] == TRUTH["totals"]


def test_losses():
    assert report()[TRUTH["keys"][2]] == TRUTH["lost"]


def test_evidence_untouched():
    assert walk(TRUTH["folder"]) == set(TRUTH["archives"])
    for path in TRUTH["archives"]:
        assert int(os.stat(os.path.join(TRUTH["folder"], path)).st_mtime) == 1600000000, path
    assert sha(TRUTH["catalogue"])[:20] == TRUTH["catalogue_digest"]
"""

INITIAL = """
import os


def test_archives_are_there_and_nothing_is_recovered():
    for path in TRUTH["archives"]:
        assert os.path.getsize(os.path.join(TRUTH["folder"], path)) > 0, path
    assert not os.path.exists(TRUTH["out"]) and not os.path.exists(TRUTH["report"])
"""

SOLUTION = r"""cat > /tmp/recover.py <<'PY'
import csv, hashlib, json, os, struct, sys, zlib
C = json.loads('''@CONFIG@''')
text = open(C["catalogue"])
if C["kind"] == "jsonl":
    rows = [list(json.loads(line).values()) for line in text]
else:
    rows = list(csv.reader(text, delimiter="," if C["kind"] == "csv" else "\t"))[1:]
def inflate(data):
    engine, out = zlib.decompressobj(-15), b""
    for at in range(0, len(data), 16):
        try:
            out += engine.decompress(data[at:at + 16])
        except zlib.error:
            break
    return out
def members(data, name):
    if data[:2] == b"\x1f\x8b":
        at = 10
        if data[3] & 8:
            at = data.index(b"\0", at) + 1
        yield from members(inflate(data[at:]), name.removesuffix(".gz"))
    elif data[:4] == b"PK\3\4":
        at = data.find(b"PK\3\4")
        while at >= 0:
            method, = struct.unpack("<H", data[at + 8:at + 10])
            size, _, length, extra = struct.unpack("<LLHH", data[at + 18:at + 30])
            start = at + 30 + length + extra
            body = data[start:start + size]
            yield from members(inflate(body) if method == 8 else body, data[at + 30:at + 30 + length].decode())
            at = data.find(b"PK\3\4", start)
    elif data[257:262] == b"ustar":
        at = 0
        while at + 512 <= len(data):
            head = data[at:at + 512]
            at += 512
            stated = int(head[148:155].strip(b" \0") or b"0", 8) if head[257:262] == b"ustar" else -1
            if stated != sum(head) - sum(head[148:156]) + 256:
                continue
            size = int(head[124:135], 8)
            yield from members(data[at:at + size], head[:100].rstrip(b"\0").decode())
            at += (size + 511) // 512 * 512
    else:
        yield name, data
copies = {}
for at, _, names in sorted(os.walk(C["folder"])):
    for name in sorted(names):
        full = os.path.join(at, name)
        for inner, data in members(open(full, "rb").read(), os.path.relpath(full, C["folder"])):
            inner = inner.removeprefix("./").removeprefix("loose/")
            copies.setdefault(inner, []).append(data)
found, total, lost = 0, 0, {}
for name, size, digest, *sums in rows:
    size = int(size)
    good = [data for data in copies.get(name, []) if hashlib.sha256(data).hexdigest() == digest]
    body, missing = good[0] if good else None, []
    if body is None and sums:
        pieces = []
        for number, want in enumerate(sums[0].split()):
            pick = [data[number * C["block"]:][:C["block"]] for data in copies.get(name, [])]
            pick = [piece for piece in pick if "%08x" % zlib.crc32(piece) == want]
            pieces += pick[:1]
            if not pick:
                missing.append(number)
        if not missing:
            body = b"".join(pieces)
    if body is None:
        lost[name] = missing
        continue
    found, total = found + 1, total + len(body)
    path = os.path.join(C["out"], name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "wb").write(body)
lost = lost if C["hard"] else sorted(lost)
json.dump(dict(zip(C["keys"], (found, total, lost))), open(C["report"], "w"))
PY
python3 /tmp/recover.py
"""

# Another way: the usual archivers with their repair options unpack what they can; a small script sorts it.
ALTERNATIVE = r"""
work=$(mktemp -d); n=0
unpack() {
  n=$((n + 1)); mkdir -p "$work/$n"
  case $1 in
    *.tar) tar -C "$work/$n" -xf "$1" 2>/dev/null ;;
    *.tar.gz|*.tgz) gzip -dc "$1" 2>/dev/null > "$work/plain.tar"
      tar -C "$work/$n" -xf "$work/plain.tar" 2>/dev/null ;;
    *.zip) unzip -qo "$1" -d "$work/$n" </dev/null >/dev/null 2>&1
      rm -f "$work/fixed.zip"; yes | zip -FF "$1" --out "$work/fixed.zip" >/dev/null 2>&1
      unzip -qo "$work/fixed.zip" -d "$work/$n" </dev/null >/dev/null 2>&1 ;;
    *.gz) rel=${1#@FOLDER@/loose/}; mkdir -p "$work/$n/$(dirname "$rel")"
      gzip -dc "$1" 2>/dev/null > "$work/$n/${rel%.gz}" ;;
  esac
}
find '@FOLDER@' -type f | sort > "$work/list"
while read -r archive; do unpack "$archive"; done < "$work/list"
find "$work" -mindepth 2 \( -name '*.zip' -o -name '*.tar' \) > "$work/nested"
while read -r archive; do unpack "$archive"; done < "$work/nested"
cat > "$work.py" <<'PY'
import collections, hashlib, json, pathlib, sys, zlib
C = json.loads(sys.argv[1])
work, out = pathlib.Path(sys.argv[2]), pathlib.Path(C["out"])
copies = collections.defaultdict(list)
for path in work.glob("[0-9]*/**/*"):
    if path.is_file():
        copies[str(pathlib.Path(*path.relative_to(work).parts[1:]))].append(path.read_bytes())
count = size = 0
lost = {}
lines = open(C["catalogue"]).read().splitlines()
for line in lines if C["kind"] == "jsonl" else lines[1:]:
    row = list(json.loads(line).values()) if C["kind"] == "jsonl" else line.split("," if C["kind"] == "csv" else "\t")
    length, want = int(row[1]), (row[3].split() if C["hard"] else [])
    body = bytearray(length)
    bad = set(range(len(want)))
    for data in copies[row[0]]:
        if hashlib.sha256(data).hexdigest() == row[2]:
            body, bad = data, set()
            break
        for number in sorted(bad):
            piece = data[number * C["block"]:(number + 1) * C["block"]]
            if zlib.crc32(piece) == int(want[number], 16):
                body[number * C["block"]:number * C["block"] + len(piece)] = piece
                bad.discard(number)
    if hashlib.sha256(body).hexdigest() == row[2]:
        (out / row[0]).parent.mkdir(parents=True, exist_ok=True)
        (out / row[0]).write_bytes(body)
        count, size = count + 1, size + length
    else:
        lost[row[0]] = sorted(bad)
lost = lost if C["hard"] else sorted(lost)
json.dump({C["keys"][0]: count, C["keys"][1]: size, C["keys"][2]: lost}, open(C["report"], "w"))
PY
python3 "$work.py" '@CONFIG@' "$work"
"""


@dataclass
class Archive:
    """One archive to pack: members are (path, number of a text or another archive)."""

    path: str
    kind: str
    members: list[tuple[str, int | Archive]]
    damage: str = ""
    cut: int | None = None
    header: int | None = None
    stored: list[int] = field(default_factory=list[int])
    spoilt: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    crc: list[int] = field(default_factory=list[int])

    def spec(self) -> dict[str, object]:
        """As the build script reads it."""
        inner = [(name, text.spec() if isinstance(text, Archive) else text) for name, text in self.members]
        return {**self.__dict__, "members": inner}


@dataclass
class Plan:
    """Texts by number (old versions included), the listed files, the archives, and the pieces that are lost."""

    texts: list[str]
    files: dict[str, int]
    archives: list[Archive]
    lost: dict[str, list[int]]


def draw_text(draw: Draw, low: int, high: int) -> str:
    """A text of whole lines, unlike any other piece by piece."""
    size, lines = draw.between(low, high), list[str]()
    while sum(map(len, lines)) < size:
        lines.append(
            f"{draw.between(10000, 99999)} {draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.pick(HOST_WORDS)} "
            f"{draw.between(1, 999)}\n"
        )
    return "".join(lines)


def draw_plan(draw: Draw, world: World, hard: bool) -> Plan:
    """Every kind of damage has a file that only patience with that kind recovers."""
    plan = Plan([], {}, [], {})
    per = 2 if hard else 1
    low, high = (900, 1700) if hard else (700, 1300)
    folders = world.stems.split()

    def new(count: int) -> list[str]:
        made: list[str] = []
        for _ in range(count):
            path = f"{draw.pick(folders)}/{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}{world.ending}"
            while path in plan.files:
                path = path.replace("-", "-7", 1)
            plan.texts.append(draw_text(draw, low, high))
            plan.files[path] = len(plan.texts) - 1
            made.append(path)
        return made

    def now(paths: Sequence[str]) -> list[tuple[str, int | Archive]]:
        return [(path, plan.files[path]) for path in paths]

    def old(paths: Sequence[str]) -> list[tuple[str, int | Archive]]:
        stale: list[tuple[str, int | Archive]] = []
        for path in paths:
            plan.texts.append(draw_text(draw, low, high))
            stale.append((path, len(plan.texts) - 1))
        return stale

    in_tar, in_tgz, in_zip, trailer, loose, plain = (
        new(1 + per),
        new(1 + per),
        new(2 + per),
        new(per),
        new(1),
        new(1 + per),
    )
    cut_tar, cut_tgz = new(1), new(1)  # cut through, but intact elsewhere
    never, spoilt = new(1), new(1)  # behind the cuts only; overwritten in every copy
    pieces = {path: -(-len(plan.texts[plan.files[path]]) // BLOCK) for path in (*never, *spoilt)}
    plan.lost = {never[0]: list(range(pieces[never[0]])), spoilt[0]: [1]}
    day = draw.between(1, 20)
    here = f"{world.folder}/{draw.pick(('set', 'vol', 'disk'))}"
    plan.archives += [
        Archive(f"{here}{day}/a.tar", "tar", now([*in_tar, *cut_tar, *never]), cut=len(in_tar)),
        Archive(
            f"{here}{day + 1}/b.{draw.pick(('tgz', 'tar.gz'))}",
            "tgz",
            now([*in_tgz, *cut_tgz, *never]),
            cut=len(in_tgz),
        ),
        Archive(
            f"{here}{day + 1}/c.zip",
            "zip",
            now([*in_zip, *spoilt]),
            "directory",
            stored=[0, len(in_zip)],
            spoilt=[(len(in_zip), 1)],
        ),
        Archive(
            f"{here}{day + 2}/d.tar",
            "tar",
            [*old([in_tar[0], in_zip[0], never[0]]), *now([*plain, *cut_tar, *cut_tgz, *spoilt])],
            spoilt=[(3 + len(plain) + 2, 1)],
        ),
        *(Archive(f"{world.folder}/loose/{path}.gz", "gz", now([path]), "trailer") for path in trailer),
        *(Archive(f"{world.folder}/loose/{path}.gz", "gz", old([path])) for path in (in_tgz[0], plain[0])),
        *(Archive(f"{world.folder}/loose/{path}.gz", "gz", now([path])) for path in loose),
    ]
    if hard:
        behind, inside, split, both = new(2), new(2), new(2), new(1)
        plan.lost[both[0]] = [2]
        nested = Archive("", "zip", now(inside), crc=[0])
        split_one, split_two = [(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 0), (2, 2), (2, 1)]
        plan.archives += [
            Archive(f"{here}{day + 3}/e.tar", "tar", now([*plain[:1], *cut_tgz, *behind]), header=1),
            Archive(
                f"{here}{day + 3}/f.tar", "tar", [(f"inner/{draw.pick(HOST_WORDS)}.zip", nested), *old(behind[:1])]
            ),
            Archive(f"{here}{day + 4}/g.tar", "tar", now([*split, *both]), spoilt=split_one),
            Archive(f"{here}{day + 5}/h.zip", "zip", now([*split, *both]), stored=[0, 1, 2], spoilt=split_two),
        ]
    return plan


def catalogue(draw: Draw, plan: Plan, world: World, hard: bool) -> str:
    """The trusted list."""
    columns = world.columns.split()[: 4 if hard else 3]
    rows: list[list[str | int]] = []
    for path, number in draw.shuffled(list(plan.files.items())):
        body = plan.texts[number].encode()
        sums = " ".join(f"{zlib.crc32(body[at : at + BLOCK]):08x}" for at in range(0, len(body), BLOCK))
        rows.append([path, len(body), hashlib.sha256(body).hexdigest(), sums][: len(columns)])
    if world.kind == "jsonl":
        return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    mark = "," if world.kind == "csv" else "\t"
    return "".join(mark.join(map(str, row)) + "\n" for row in [columns, *rows])


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, hard: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Rules and outputs by a short name."""
    columns = world.columns.split()
    meaning = ["path", "size in bytes", "sha256", "sums of its pieces"]
    shown = ", ".join(
        name if name == gloss else f"{name} ({gloss})"
        for name, gloss in list(zip(columns, meaning, strict=True))[: 4 if hard else 3]
    )
    keys = {f"k{index}": key for index, key in enumerate(world.keys.split())}
    words = {
        "catalogue": world.catalogue,
        "columns": shown,
        "folder": world.folder,
        "out": world.out,
        "report": world.report,
        "block": str(BLOCK),
    }
    rules = {"listed": LISTED, "rule": RULE, "state": STATE} | ({"nested": NESTED, "blocks": BLOCKS} if hard else {})
    output = {"nothing": NOTHING, "report": REPORT[hard], "keep": KEEP}
    return (
        {key: texts[wording(world, at)].format(**words, **keys) for at, (key, texts) in enumerate(rules.items())},
        {key: texts[wording(world, at + 1)].format(**words, **keys) for at, (key, texts) in enumerate(output.items())},
    )


def draft(draw: Draw) -> Draft:
    """One damaged set."""
    world, hard = draw.setting(SETTINGS), draw.difficulty == Difficulty.HARD
    plan = draw_plan(draw, world, hard)
    listed = catalogue(draw, plan, world, hard)
    good = {path: plan.texts[number].encode() for path, number in plan.files.items() if path not in plan.lost}
    lost = plan.lost if hard else sorted(plan.lost)
    truth = {
        "folder": world.folder,
        "catalogue": world.catalogue,
        "catalogue_digest": hashlib.sha256(listed.encode()).hexdigest()[:20],
        "archives": sorted(archive.path.removeprefix(world.folder + "/") for archive in plan.archives),
        "out": world.out,
        "report": world.report,
        "keys": world.keys.split(),
        "files": {path: hashlib.sha256(body).hexdigest()[:20] for path, body in good.items()},
        "totals": [len(good), sum(map(len, good.values()))],
        "lost": lost,
    }
    spec = {"block": BLOCK, "texts": plan.texts, "archives": [archive.spec() for archive in plan.archives]}
    rules, output = sentences(world, hard)
    joint = " " if world.wording % 3 < 2 else "\n"
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        folder=world.folder,
        rules=joint.join(rules.values()),
        output=joint.join(output.values()),
    )
    config = json.dumps(
        {
            "folder": world.folder,
            "catalogue": world.catalogue,
            "kind": world.kind,
            "out": world.out,
            "report": world.report,
            "keys": world.keys.split(),
            "hard": hard,
            "block": BLOCK,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    goals = ["test_recovered_files", "test_nothing_wrong_was_kept", "test_totals", "test_losses"]
    misses = [
        Miss(
            "first_copy",
            "takes the first copy of a name without checking it",
            solution.replace("if hashlib.sha256(data).hexdigest() == digest", "if data"),
            goals,
        ),
        Miss(
            "directories_only",
            "does not read a zip file whose directory is gone",
            solution.replace(
                'elif data[:4] == b"PK\\3\\4":',
                'elif data[:4] == b"PK\\3\\4" and b"PK\\5\\6" not in data:\n        return\n    elif data[:4] == '
                'b"PK\\3\\4":',
            ),
            [goals[0], *goals[2:]],
        ),
        Miss(
            "sums_trusted",
            "rejects gzip files whose check sum is wrong",
            solution.replace(
                "at = 10\n",
                "at = 10\n        if len(data) > 8 and data[-8:-4] == b'\\xff\\0\\xff\\0':\n            return\n",
            ),
            [goals[0], *goals[2:]],
        ),
        Miss(
            "partial_files",
            "also leaves what is incomplete",
            solution.replace(
                "        lost[name] = missing\n",
                "        lost[name] = missing\n        body = (copies.get(name) or [b''])[0]\n        "
                "os.makedirs(os.path.dirname(os.path.join(C['out'], name)), exist_ok=True)\n"
                "        open(os.path.join(C['out'], name), 'wb').write(body)\n",
            ),
            ["test_nothing_wrong_was_kept"],
        ),
    ]
    if hard:
        misses += [
            Miss(
                "stop_at_damage",
                "stops at the first bad header of a tar file",
                solution.replace("                continue\n", "                break\n", 1),
                [goals[0], *goals[2:]],
            ),
            Miss(
                "no_assembly",
                "does not combine damaged copies",
                solution.replace("if not missing:", "if False:"),
                [goals[0], goals[2]],
            ),
        ]
    cited = {"nothing": ["test_nothing_wrong_was_kept"], "report": goals[2:], "keep": ["test_evidence_untouched"]}
    return Draft(
        title=f"Recover the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"list": listed, "archives.json": json.dumps(spec), "build.py": SETUP.lstrip()},
        dockerfile=f"COPY list {world.catalogue}\nCOPY archives.json build.py /setup/\nRUN python3 /setup/build.py "
        f"&& rm -r /setup\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "catalogue", "archives", "out", "report", "keys", "files", "lost"),
        tests=TESTS,
        weights={
            "test_recovered_files": 0.45,
            "test_nothing_wrong_was_kept": 0.15,
            "test_totals": 0.15,
            "test_losses": 0.25,
        },
        guards=["test_evidence_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config).replace("@FOLDER@", world.folder)],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in (rules | output).items()],
        knobs={
            "files": len(plan.files),
            "archives": len(plan.archives),
            "lost": len(plan.lost),
            "assembly_and_nesting": hard,
        },
    )


FAMILY = Family(
    name="damaged_archives",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("archive formats", "data recovery", "checksums", "binary parsing"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
