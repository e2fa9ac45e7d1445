"""Restore modes, numeric owners and times of a tree from a manifest: links, special bits, odd names, overrides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str
    notes: str  # folder of manifest, overrides, exceptions
    names: str  # file names of these three
    kind: str  # tab, jsonl or pairs
    fields: str  # words for type, mode, owner, group, time, path
    tops: str
    report: str
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


# fmt: off
SETTINGS = (
    World("web_hosting", "hosting engineer", "customer web space", "ticket", "/srv/www", "/srv/notes",
          "manifest.tsv overrides.tsv frozen.json", "tab", "type mode uid gid mtime path", "shop forum static cgi",
          "/srv/notes/missing.json", 0, "HOST-{ticket} {firm}: permissions broken after restore\n\n{rules}"),
    World("render_farm", "pipeline developer", "render farm share", "chat", "/mnt/render", "/mnt/tools",
          "state.jsonl changes.jsonl skip.json", "jsonl", "kind perm user group when file",
          "scenes textures cache plugins", "/mnt/tools/lost.json", 1,
          "hi, the copy to the new filer at {firm} kept the bytes but no metadata at all, everything is root now.\n"
          "\n{rules}\n\nartists are waiting, thanks!"),
    World("mail_server", "postmaster", "mail spool", "runbook", "/var/spool/letters", "/var/lib/letters",
          "spool.spec spool.fixes spool.keep.json", "pairs", "t m u g s p", "in out queue bounced",
          "/var/lib/letters/absent.json", 2, "# After a spool restore ({firm})\n\n{rules}"),
    World("university_homes", "lab administrator", "student home folders", "email", "/home/students", "/root/restore",
          "listing.tsv amendments.tsv untouched.json", "tab", "what bits owner team changed name",
          "anna ben chloe shared", "/root/restore/gone.json", 3,
          "Hello,\n\nthe homes of {firm} academy came back from tape, yet nobody can log in properly because the "
          "attributes are wrong.\n\n{rules}\n\nMany thanks, the lab"),
    World("bank_batch", "batch operator", "batch job tree", "specification", "/opt/batch", "/opt/batch-meta",
          "baseline.jsonl deltas.jsonl locked.json", "jsonl", "node mode owner_id group_id modified path",
          "jobs lib spool bin", "/opt/batch-meta/not-found.json", 4,
          "Attribute baseline of the batch tree, {firm}, revision {ticket}\n\n{rules}"),
    World("print_shop", "prepress technician", "prepress store", "note", "/data/prepress", "/data/admin",
          "attributes.txt corrections.txt leave.json", "pairs", "type mode uid gid time path",
          "plates proofs fonts hot", "/data/admin/missing.json", 5,
          "Prepress store {firm}, attributes again:\n{rules}"),
    World("game_server", "game server host", "game server files", "ticket", "/srv/games", "/srv/games-admin",
          "files.jsonl patches.jsonl pinned.json", "jsonl", "class chmod uid gid stamp entry", "arena maps mods logs",
          "/srv/games-admin/absent.json", 6,
          "[{firm}] #{ticket} game files lost their owners when the disk was cloned\n\n{rules}\n\nPriority: before "
          "the evening peak."),
    World("library_mirror", "digital librarian", "document mirror", "email", "/srv/mirror", "/etc/mirror",
          "inventory.tsv revisions.tsv reserved.json", "tab", "sort rights holder circle date item",
          "books maps audio tools", "/etc/mirror/lacking.json", 7,
          "Dear operations,\n\na colleague at {firm} ran a recursive chmod on the mirror. Please put everything "
          "back as the inventory says.\n\n{rules}\n\nBest regards"),
)
# fmt: on

FORMS = {
    "tab": "one entry a line with the tab-separated fields {fields}, the path percent-encoded",
    "jsonl": "one JSON object a line with the keys {fields}",
    "pairs": "one entry a line of name=value pairs separated by single spaces ({fields}), in the path every unusual "
    "byte is a backslash and "
    "three octal digits",
}
STATE = (
    "{manifest} lists how the tree {root} has to look: {form}. The first is f (file), d (folder) or l (symbolic "
    "link); modes are octal, owners and "
    "groups numeric, times {clock}, paths relative to {root}, and a dot is {root} itself.",
    "The wanted state of {root} is in {manifest}, {form}: f, d or l for file, folder or symbolic link, octal mode, "
    "numeric owner and group, the "
    "modification time ({clock}) and the path relative to {root} (a dot for {root}).",
    "Bring everything below {root} into the state described by {manifest}. It has {form}; the type is f, d or l "
    "(file, folder, symbolic link), the "
    "mode octal, the ids are numbers, the times {clock}, and the paths start at {root}, which itself is a dot.",
)
LAST = (
    "If a path is listed more than once, its last line counts.",
    "Later lines of the manifest replace earlier ones for the same path.",
    "Of several lines about one path only the last is valid.",
)
SPECIAL = (
    "Set exactly these modes including setuid, setgid and sticky bits, and exactly these owners, groups and times "
    "(to the second), for folders too.",
    "At the end mode (with setuid, setgid, sticky), owner, group and modification time (whole seconds) of every "
    "listed file and folder must agree.",
    "Modes comprise the setuid, setgid and sticky bits; modes, ids and times of files and of folders must all be "
    "right when you are done.",
)
LINKS = (
    "A symbolic link gets owner, group and time itself, what it points to is not touched because of it, and its mode "
    "is - and does not matter.",
    "For symbolic links, change the link (owner, group, time; they have no mode, hence the -) and never its target.",
    "Links are meant themselves: their own owner, group and time, no mode (-), and nothing is done to the place they "
    "lead to.",
)
ABSENT = (
    "Folders that are listed but absent are created. Listed files and links that are absent, or a path at which the "
    "tree has another type, are not "
    "created or changed: write their paths as a JSON list, sorted by their UTF-8 bytes, to {report}.",
    "Create absent folders. Do not create absent files or links, nor touch an entry whose type differs from the "
    "listed one; {report} has to name "
    "those paths, decoded, in a JSON list ordered by UTF-8 bytes.",
    "A listed folder that does not exist must be made. A file or link that does not exist, and an entry of another "
    "type than listed, is left so and "
    "its decoded path goes into {report}, a JSON list in the order of the UTF-8 bytes.",
)
OTHERS = (
    "Entries that are not listed stay as they are, and no file's content changes.",
    "Leave unlisted entries and all contents alone.",
    "Whatever is not in the list remains unchanged, and so do all contents.",
)
OVERRIDES = (
    "Then {overrides} applies, from its first line to its last, on top of the manifest; its fields are {ofields}. "
    "The scope is only (that entry) or "
    "under (that entry and everything listed beneath), the type f, d, l or * selects what is meant, and the "
    "attribute ({attributes}) gets the value; "
    "a mode value with + adds bits and with - removes bits. Modes of links are never meant.",
    "On top of that come the lines of {overrides} in their order, with {ofields}: scope only means just the entry, "
    "under means it and all listed "
    "entries below; the type (f, d, l, or * for all) restricts that; the attribute is one of {attributes}. Mode "
    "values starting with + or - set or "
    "clear these bits and others replace the mode; links have no mode.",
    "{overrides} (fields: {ofields}) changes the wanted state line by line, later lines winning. Scope: only for the "
    "one entry, under for the entry "
    "with all listed ones inside it. Type: f, d, l or * for any. Attribute: {attributes}. A mode of +bits or -bits "
    "adds or takes bits, without sign "
    "it is the new mode; links stay without.",
)
FROZEN = (
    "{frozen} is a JSON list of paths: these and all beneath them are exempt, whatever the other files say, and "
    "never reported.",
    "Neither touch nor report the paths in {frozen} (a JSON list) or anything below them, even if they are listed "
    "elsewhere.",
    "What {frozen} names (JSON list of paths), with everything inside, is out of bounds, and does not belong in the "
    "report.",
)

SETUP = """
import json, os
spec = json.load(open("/setup/tree.json"))
os.makedirs(spec["root"], exist_ok=True)
os.makedirs(os.path.dirname(spec["report"]), exist_ok=True)
for path, kind, body, mode, uid, gid, when in spec["entries"]:
    full = os.path.join(spec["root"], path)
    if kind == "d":
        os.makedirs(full, exist_ok=True)
    elif kind == "l":
        os.symlink(body, full)
    else:
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as out:
            out.write(body)
for path, kind, body, mode, uid, gid, when in reversed(spec["entries"]):
    full = os.path.join(spec["root"], path)
    os.chown(full, uid, gid, follow_symlinks=False)
    if kind != "l":
        os.chmod(full, mode)
    os.utime(full, (when, when), follow_symlinks=False)
"""

TESTS = """
import hashlib
import os
import stat

KINDS = {"d": stat.S_ISDIR, "f": stat.S_ISREG, "l": stat.S_ISLNK}


def look(path, kind):
    state = os.lstat(os.path.join(TRUTH["root"], path))
    assert KINDS[kind](state.st_mode), "type of " + path
    return state


def test_modes():
    for path, (kind, mode, *_) in TRUTH["wanted"].items():
        assert kind == "l" or stat.S_IMODE(look(path, kind).st_mode) == mode, path


def test_owners():
    for path, (kind, _, uid, gid, _) in TRUTH["wanted"].items():
        state = look(path, kind)
        assert (state.st_uid, state.st_gid) == (uid, gid), path


def test_times():
    for path, (kind, _, _, _, when) in TRUTH["wanted"].items():
        assert int(look(path, kind).st_mtime) == when, path


def test_report():
    with open(TRUTH["report"]) as source:
        assert json.load(source) == TRUTH["missing"]


def test_nothing_else_changed():
    for path, (kind, mode, uid, gid, when) in TRUTH["same"].items():
        state = look(path, kind)
        got = (state.st_uid, state.st_gid, int(state.st_mtime))
        assert got == (uid, gid, when) and (kind == "l" or stat.S_IMODE(state.st_mode) == mode), path
    for path, digest in TRUTH["contents"].items():
        with open(os.path.join(TRUTH["root"], path), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest()[:16] == digest, path
    for path in TRUTH["missing"]:
        assert path in TRUTH["same"] or not os.path.lexists(os.path.join(TRUTH["root"], path)), path
"""

INITIAL = """
import os


def test_tree_and_lists_are_there():
    assert os.path.isdir(TRUTH["root"]) and not os.path.exists(TRUTH["report"])
    for path in TRUTH["inputs"]:
        assert os.path.isfile(path), path
"""

SOLUTION = """python3 - <<'PY'
import json, os, re, stat
from datetime import datetime
from urllib.parse import unquote
C = json.loads('''@CONFIG@''')
def rows(path, fields):
    for line in open(path, encoding="utf-8").read().split("\\n"):
        if not line:
            continue
        if C["kind"] == "jsonl":
            row = json.loads(line)
            row = [str(row[name]) for name in fields]
        elif C["kind"] == "tab":
            row = line.split("\\t")
            row[-1] = unquote(row[-1])
        else:
            row = [part.split("=", 1)[1] for part in line.split(" ")]
            raw = re.sub(rb"\\\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), row[-1].encode())
            row[-1] = raw.decode()
        yield row
def seconds(text):
    return int(text) if text.isdigit() else int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
def below(path, top):
    return top == "." or path == top or path.startswith(top + "/")
wanted = {}
for kind, mode, uid, gid, when, path in rows(C["manifest"], C["fields"]):
    bits = 0 if mode == "-" else int(mode, 8)
    wanted[path] = {"kind": kind, "mode": bits, "uid": int(uid), "gid": int(gid), "when": seconds(when)}
frozen = []
if C["medium"]:
    frozen = json.load(open(C["frozen"]))
    for scope, kind, name, value, top in rows(C["overrides"], C["ofields"]):
        key = dict(zip(C["fields"][1:5], ("mode", "uid", "gid", "when")))[name]
        for path, entry in wanted.items():
            if (path == top if scope == "only" else below(path, top)) and kind in ("*", entry["kind"]):
                if key == "mode":
                    bits = int(value.lstrip("+-"), 8)
                    old = entry["mode"]
                    entry["mode"] = old | bits if value[0] == "+" else old & ~bits if value[0] == "-" else bits
                else:
                    entry[key] = seconds(value) if key == "when" else int(value)
missing, ready = [], []
for path in sorted(wanted):
    entry, full = wanted[path], os.path.join(C["root"], path)
    if any(below(path, top) for top in frozen):
        continue
    if entry["kind"] == "d" and not os.path.lexists(full):
        os.makedirs(full)
    try:
        mode = os.lstat(full).st_mode
        kind = "l" if stat.S_ISLNK(mode) else "d" if stat.S_ISDIR(mode) else "f"
    except OSError:
        kind = ""
    if kind != entry["kind"]:
        missing.append(path)
        continue
    ready.append((full, entry))
for full, entry in ready:
    os.chown(full, entry["uid"], entry["gid"], follow_symlinks=False)
    if entry["kind"] != "l":
        os.chmod(full, entry["mode"])
for full, entry in ready:
    os.utime(full, (entry["when"], entry["when"]), follow_symlinks=False)
json.dump(sorted(missing, key=str.encode), open(C["report"], "w"))
PY
"""

# Another way: Perl reads the lists, the usual tools do the work.
ALTERNATIVE = r"""
cat > /tmp/restore.pl <<'PL'
use JSON::PP;
my $c = JSON::PP->new->decode($ARGV[0]); my $j = JSON::PP->new->utf8; my $deep = $c->{medium};
sub slurp { open my $f, "<:raw", $_[0] or die $_[0]; local $/; <$f> }
sub rows {
  my ($file, @fields) = @_; my @all;
  for (split /\n/, slurp($file)) {
    if ($c->{kind} eq "jsonl") {
      my $o = $j->decode($_);
      push @all, [map { my $v = "$o->{$_}"; utf8::encode($v); $v } @fields] }
    elsif ($c->{kind} eq "tab") { my @r = split /\t/; $r[-1] =~ s/%(..)/chr hex $1/ge; push @all, \@r }
    else { my @r = map { s/^[^=]*=//r } split / /; $r[-1] =~ s/\\([0-7]{3})/chr oct $1/ge; push @all, \@r }
  }
  @all
}
sub inside { my ($p, $t) = @_; $t eq "." || $p eq $t || index($p, "$t/") == 0 }
chdir $c->{root};
my (%want, @frozen, @missing);
for (rows($c->{manifest}, @{$c->{fields}})) { my @r = @$_; $want{$r[5]} = [@r[0 .. 4]] }
if ($deep) {
  @frozen = map { my $v = $_; utf8::encode($v); $v } @{$j->decode(slurp($c->{frozen}))};
  my %at; @at{@{$c->{fields}}[1 .. 4]} = (1 .. 4);
  for (rows($c->{overrides}, @{$c->{ofields}})) {
    my ($scope, $kind, $name, $value, $top) = @$_;
    for my $p (keys %want) {
      next unless ($scope eq "only" ? $p eq $top : inside($p, $top)) && ($kind eq "*" || $kind eq $want{$p}[0]);
      my $i = $at{$name};
      if ($i == 1) {
        next if $want{$p}[0] eq "l";
        my ($sign, $bits) = $value =~ /^([+-]?)(.*)/; my $old = oct $want{$p}[1];
        $value = $sign eq "+" ? $old | oct $bits : $sign eq "-" ? $old & ~oct $bits : oct $bits;
        $want{$p}[1] = sprintf "%04o", $value; $value = $$_[3];
      } else { $want{$p}[$i] = $value }
    }
  }
}
my @go;
for my $p (sort keys %want) {
  next if grep { inside($p, $_) } @frozen;
  my ($kind) = @{$want{$p}};
  system "mkdir", "-p", "--", "./$p" if $kind eq "d" && !-e $p && !-l $p;
  my $is = -l $p ? "l" : -d _ ? "d" : -f _ ? "f" : "";
  if ($is ne $kind) { push @missing, $p; next }
  push @go, $p;
}
for my $p (@go) {
  my ($kind, $mode, $uid, $gid) = @{$want{$p}};
  if ($kind eq "l") { system "chown", "-h", "$uid:$gid", "./$p" }
  else { chown $uid, $gid, "./$p"; chmod oct $mode, "./$p" }
}
for my $p (@go) {
  my $t = $want{$p}[4];
  system "touch", "-h", "-m", "-d", ($t =~ /^\d+$/ ? "\@$t" : $t), "./$p" }
open my $o, ">", $c->{report};
my @out = map { my $s = $_; utf8::decode($s); $s } @missing;
print $o JSON::PP->new->utf8->encode(\@out);
PL
perl /tmp/restore.pl '@CONFIG@'
"""


@dataclass
class Entry:
    """One entry of the tree: its type, body (content or link target) and attributes."""

    kind: str
    body: str
    mode: int
    uid: int
    gid: int
    when: int

    def attributes(self) -> list[str | int]:
        """What the tests compare."""
        return [self.kind, self.mode, self.uid, self.gid, self.when]


@dataclass(frozen=True)
class Override:
    """A line of the overrides; `key` is the index among mode, owner, group, time."""

    scope: str
    kind: str
    key: int
    value: str
    path: str


ODD_NAMES = (
    "-rf",
    "two  spaces",
    "trailing ",
    'quote\'d "name"',
    "ünïcode",
    "back\\slash",
    "star*",
    "new\nline",
    "50%41",
    "#hash",
    "a=b",
)


def draw_tree(draw: Draw, world: World, count: int) -> dict[str, Entry]:
    """The tree as it should be, before overrides; parents come first."""
    tree: dict[str, Entry] = {}
    uids = draw.sample(range(1000, 29000), 6)

    def add(path: str, kind: str, mode: int, body: str = "") -> None:
        tree[path] = Entry(
            kind, body, mode, draw.pick(uids), draw.pick(uids), 1_400_000_000 + draw.between(0, 300_000_000)
        )

    def text() -> str:
        return f"{draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.between(1000, 9999)}\n"

    add(".", "d", 0o755)
    folders: list[str] = []
    for top in world.tops.split():
        add(top, "d", draw.pick((0o755, 0o750, 0o2775, 0o711)))
        folders.append(top)
        for _ in range(1 + count // 30):
            inner = f"{top}/{draw.pick(HOST_WORDS)}{draw.between(1, 99)}"
            if inner not in tree:
                add(inner, "d", draw.pick((0o700, 0o755, 0o1777, 0o3770)))
                folders.append(inner)
    odd = draw.shuffled(ODD_NAMES)
    for number in range(count):
        stem = odd[number] if number < len(odd) else f"{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}"
        path = f"{draw.pick(folders)}/{stem}{draw.pick(('', '.dat', '.sh'))}"
        mode = (
            (0o4755, 0o2755, 0o6711)[number]
            if number < 3
            else draw.pick((0o644, 0o600, 0o640, 0o755, 0o444, 0o4750, 0o604))
        )
        if path not in tree:
            add(path, "f", mode, text())
    files = [path for path, entry in tree.items() if entry.kind == "f"]
    for number, target in enumerate(draw.sample(files, max(3, count // 9))):
        add(
            f"{draw.pick(folders)}/link{number}",
            "l",
            0,
            f"{world.root}/{target}" if number else "/etc/hostname.example",
        )
    return tree


def draw_overrides(draw: Draw, tree: dict[str, Entry], world: World, avoid: Sequence[str]) -> list[Override]:
    """Later rules, among them pairs of which the second has to win."""
    tops, files = world.tops.split(), [path for path, entry in tree.items() if entry.kind == "f"]
    one, two = draw.sample(tops, 2)
    inside = [path for path in files if path.startswith(f"{one}/") and not any(path.startswith(top) for top in avoid)]
    inner = draw.pick(inside) if inside else one
    return [
        Override("under", "*", 1, str(draw.between(30000, 31000)), one),
        Override("under", "*", 1, str(draw.between(32000, 33000)), inner),
        Override("under", "f", 0, "-0022", "."),
        Override("under", "d", 0, "+2010", two),
        Override("only", "*", 3, iso(draw, 1_300_000_000 + draw.between(0, 9_000_000)), two),
        *(Override("only", "f", 0, draw.pick(("0664", "4711", "+0002")), path) for path in draw.sample(files, 3)),
        Override("under", "l", 2, str(draw.between(34000, 35000)), "."),
        Override("under", "*", 0, "-0001", draw.pick(tops)),
        Override("only", "d", 3, iso(draw, 1_200_000_000 + draw.between(0, 9_000_000)), two),
    ]


def apply_overrides(tree: dict[str, Entry], overrides: Sequence[Override], times: dict[str, int]) -> None:
    """The stated meaning of the overrides."""
    for rule in overrides:
        for path, entry in tree.items():
            hit = path == rule.path or (
                rule.scope == "under" and (rule.path == "." or path.startswith(rule.path + "/"))
            )
            if not hit or rule.kind not in ("*", entry.kind):
                continue
            if rule.key == 0 and entry.kind != "l":
                bits = int(rule.value.lstrip("+-"), 8)
                entry.mode = {"+": entry.mode | bits, "-": entry.mode & ~bits}.get(rule.value[0], bits)
            elif rule.key == 1:
                entry.uid = int(rule.value)
            elif rule.key == 2:
                entry.gid = int(rule.value)
            elif rule.key == 3:
                entry.when = times[rule.value]


def iso(draw: Draw, when: int) -> str:
    """A time with a random offset from UTC."""
    minutes = draw.pick((0, 0, 120, -300, 330, 60))
    text = datetime.fromtimestamp(when, timezone(timedelta(minutes=minutes))).isoformat()
    return text.replace("+00:00", "Z")


def encoded(path: str, kind: str) -> str:
    """A path as the lists write it."""
    if kind == "tab":
        return quote(path, safe="/.-_")
    plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return "".join(chr(byte) if chr(byte) in plain else f"\\{byte:03o}" for byte in path.encode())


def list_line(values: Sequence[str], names: Sequence[str], kind: str) -> str:
    """A line of a list; the path is the last value."""
    if kind == "jsonl":
        return json.dumps(dict(zip(names, values, strict=True))) + "\n"
    shown = [*values[:-1], encoded(values[-1], kind)]
    if kind == "tab":
        return "\t".join(shown) + "\n"
    return " ".join(f"{name}={value}" for name, value in zip(names, shown, strict=True)) + "\n"


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, medium: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    manifest, overrides, frozen = (f"{world.notes}/{name}" for name in world.names.split())
    fields = world.fields.split()
    words = {
        "root": world.root,
        "manifest": manifest,
        "overrides": overrides,
        "frozen": frozen,
        "report": world.report,
        "clock": "ISO 8601 with an offset from UTC" if medium else "seconds since 1970",
        "ofields": f"scope, {fields[0]}, attribute, value and {fields[5]}",
        "attributes": ", ".join(fields[1:5]),
    }
    form = FORMS[world.kind].format(fields=", ".join(fields))
    parts: dict[str, tuple[str, str, str]] = {
        "state": STATE,
        "last": LAST,
        "special": SPECIAL,
        "links": LINKS,
        "absent": ABSENT,
        "others": OTHERS,
    }
    if medium:
        parts |= {"overrides": OVERRIDES, "frozen": FROZEN}
    return {key: texts[wording(world, at)].format(form=form, **words) for at, (key, texts) in enumerate(parts.items())}


def draft(draw: Draw) -> Draft:
    """One tree."""
    world, medium = draw.setting(SETTINGS), draw.difficulty == Difficulty.MEDIUM
    count = draw.by_difficulty(easy=16, medium=60)
    tree = draw_tree(draw, world, count)
    fields = world.fields.split()
    ofields = ["scope", fields[0], "attribute", "value", fields[5]]
    manifest, overrides_file, frozen_file = (f"{world.notes}/{name}" for name in world.names.split())

    # What is there now: everything is root's, most modes are wrong; some entries are gone or of another type.
    # A missing folder, whose making alters the time of its parent.
    tops, made = world.tops.split(), [f"{top}/zz-empty" for top in world.tops.split()[: 1 + medium]]
    for path in made:
        tree[path] = Entry("d", "", 0o2750, 1200, 1300, 1_450_000_000 + draw.between(0, 1_000_000))
    files = [path for path, entry in tree.items() if entry.kind == "f" and entry.mode & 0o6000 == 0]
    gone, retyped, unlisted, *held = draw.sample(files, 3 + 2 * medium)
    present: dict[str, Entry] = {}
    for path, entry in tree.items():
        if path not in (gone, *made):
            present[path] = Entry(
                entry.kind,
                entry.body,
                draw.pick((0o700, 0o755)) if entry.kind == "d" else draw.pick((0o600, 0o644, 0o666)),
                0,
                0,
                1_700_000_000 + draw.between(0, 500),
            )
    present[retyped] = Entry("l", "/etc/passwd", 0, 0, 0, 1_700_000_900)
    frozen = [*held, "nowhere/at all"] if medium else []
    if medium:  # a whole folder out of bounds, where no trap lies
        traps = [gone, retyped, *(path for path, entry in tree.items() if entry.mode & 0o4000)]
        folders = [path for path, entry in tree.items() if entry.kind == "d" and "/" in path and path not in made]
        frozen += [path for path in folders if not any(trap.startswith(path + "/") for trap in traps)][:1]

    lines: list[str] = []

    def clock(when: int) -> str:
        return iso(draw, when) if medium else str(when)

    for path, entry in draw.shuffled(list(tree.items())):
        if path == unlisted:
            continue
        values = [
            entry.kind,
            "-" if entry.kind == "l" else f"{entry.mode:04o}",
            str(entry.uid),
            str(entry.gid),
            clock(entry.when),
            path,
        ]
        if not lines or draw.chance(8):
            old = [entry.kind, values[1].replace("0", "1", 1), "4242", "4243", clock(entry.when - 5000), path]
            lines.append(list_line(old, fields, world.kind))
        lines.append(list_line(values, fields, world.kind))
    for number, path in enumerate(tops[:3]):
        old = ["d", "1733", f"7{number}", f"8{number}", clock(tree[path].when - 99), path]
        lines.insert(0, list_line(old, fields, world.kind))

    overrides = draw_overrides(draw, tree, world, [*frozen, gone, retyped]) if medium else []
    wanted = {path: entry for path, entry in tree.items() if path != unlisted}
    times = {
        rule.value: int(datetime.fromisoformat(rule.value.replace("Z", "+00:00")).timestamp())
        for rule in overrides
        if rule.key == 3
    }
    apply_overrides(wanted, overrides, times)
    is_frozen = {path for path in tree for top in frozen if path == top or path.startswith(top + "/")}
    missing = sorted({gone, retyped} - is_frozen, key=str.encode)
    same = {path for path in present if path in is_frozen or path in (unlisted, retyped)}
    truth = {
        "root": world.root,
        "report": world.report,
        "wanted": {
            path: entry.attributes()
            for path, entry in wanted.items()
            if path not in is_frozen and path not in (gone, retyped)
        },
        "missing": missing,
        "same": {path: present[path].attributes() for path in sorted(same)},
        "contents": {
            path: hashlib.sha256(entry.body.encode()).hexdigest()[:16]
            for path, entry in present.items()
            if entry.kind == "f"
        },
        "inputs": [manifest, *([overrides_file, frozen_file] if medium else [])],
    }
    inputs = {"manifest": "".join(lines)}
    copies = f"COPY manifest {manifest}\n"
    if medium:
        attribute = fields[1:5]
        inputs["overrides"] = "".join(
            list_line([rule.scope, rule.kind, attribute[rule.key], rule.value, rule.path], ofields, world.kind)
            for rule in overrides
        )
        inputs["frozen"] = json.dumps(sorted(frozen), indent=1) + "\n"
        copies += f"COPY overrides {overrides_file}\nCOPY frozen {frozen_file}\n"
    spec = {
        "root": world.root,
        "report": world.report,
        "entries": [
            [path, entry.kind, entry.body, entry.mode, entry.uid, entry.gid, entry.when]
            for path, entry in present.items()
        ],
    }
    rules = sentences(world, medium)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config = json.dumps(
        {
            "root": world.root,
            "report": world.report,
            "manifest": manifest,
            "overrides": overrides_file,
            "frozen": frozen_file,
            "kind": world.kind,
            "fields": fields,
            "ofields": ofields,
            "medium": medium,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    attributes = ["test_modes", "test_owners", "test_times"]
    guard = "test_nothing_else_changed"
    times_first = solution.replace(
        "    ready.append((full, entry))",
        "    ready.append((full, entry))\n    os.utime(full, (entry['when'], entry['when']), follow_symlinks=False)",
    )
    misses = [
        Miss(
            "owner_after_mode",
            "changes owners after modes, which drops setuid",
            solution.replace(
                "for full, entry in ready:\n    os.chown",
                "for full, entry in ready:\n    if entry['kind'] != 'l':\n        os.chmod(full, entry['mode'])\n    "
                "os.chown",
                1,
            ).replace('    if entry["kind"] != "l":\n        os.chmod(full, entry["mode"])\n', ""),
            ["test_modes"],
        ),
        Miss(
            "times_on_the_way",
            "sets a folder's time before it makes folders in it",
            times_first.replace(
                '    os.utime(full, (entry["when"], entry["when"]), follow_symlinks=False)\n',
                "    pass\n",
            ),
            ["test_times"],
        ),
        Miss(
            "first_line",
            "believes the first line of a path",
            solution.replace(
                "    wanted[path] = {", "    wanted.setdefault(path, {}) or wanted[path].update({"
            ).replace('"when": seconds(when)}', '"when": seconds(when)})'),
            attributes,
        ),
        Miss(
            "through_links",
            "changes the targets of links",
            solution.replace(
                'entry["gid"], follow_symlinks=False', 'entry["gid"], follow_symlinks=os.path.exists(full)'
            ),
            ["test_owners"],
        ),
        Miss(
            "no_type_check",
            "takes a link for the listed file",
            solution.replace("if kind != entry", "if not kind and kind != entry"),
            ["test_report", guard],
        ),
    ]
    if medium:
        misses += [
            Miss(
                "no_exceptions",
                "ignores what is out of bounds",
                solution.replace('json.load(open(C["frozen"]))', "[]"),
                [guard],
            ),
            Miss(
                "backwards",
                "lets the first override win",
                solution.replace(
                    'in rows(C["overrides"], C["ofields"])', 'in reversed(list(rows(C["overrides"], C["ofields"])))'
                ),
                ["test_owners", "test_times"],
            ),
        ]
    cited = {
        "last": attributes,
        "special": attributes,
        "links": [*attributes[1:], guard],
        "absent": [*attributes, "test_report", guard],
        "others": [guard],
        "overrides": attributes,
        "frozen": [guard, "test_report"],
    }
    return Draft(
        title=f"Restore the attributes of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={**inputs, "tree.json": json.dumps(spec), "build.py": SETUP.lstrip()},
        dockerfile=f"{copies}COPY tree.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.notes}",
        truth=truth,
        discoverable=("root", "report", "wanted", "missing", "same", "contents", "inputs"),
        tests=TESTS,
        weights={"test_modes": 0.3, "test_owners": 0.3, "test_times": 0.25, "test_report": 0.15},
        guards=[guard],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config)],
        misses=misses,
        requirements=[(text, cited.get(key, attributes)) for key, text in rules.items()],
        knobs={"files": count, "format": world.kind, "overrides": len(overrides), "exceptions": len(frozen)},
    )


FAMILY = Family(
    name="tree_restore",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("permissions", "ownership", "symbolic links", "time stamps", "path encoding"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
