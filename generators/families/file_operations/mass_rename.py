"""Rename many files by rules: collisions, chains, cycles, names that differ by case or by Unicode form only."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    root: str
    folders: str
    old: int  # number of the old form
    new: int  # number of the new form
    endings: str
    side: str  # ending of companion files
    listing: str  # name of the listings within the folders
    given: str  # the file of given names
    log: str
    kind: str  # tsv or jsonl
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


# fmt: off
SETTINGS = (
    World("photo_agency", "photo editor", "agency picture files", "email", "/srv/agency",
          "east west/coast west/hills studio", 0, 0, "JPG jpg Png", ".xmp", "contents.txt", "/srv/agency-names.csv",
          "/srv/agency-renames.tsv", "tsv", 0,
          "Hello,\n\nnew house style at {firm}: the pictures below {root} need other names by Monday.\n\n{rules}\n\n"
          "Thank you"),
    World("radio_archive", "sound archivist", "radio programme recordings", "ticket", "/data/radio",
          "am fm/day fm/night", 1, 1, "WAV mp3 Ogg", ".cue", "running-order.txt", "/data/radio.csv",
          "/data/radio.jsonl", "jsonl", 1,
          "ARCHIVE-{ticket}: uniform names for recordings of {firm} in {root}\n\n{rules}"),
    World("weather_stations", "climate technician", "weather station uploads", "runbook", "/var/lib/stations",
          "north south alpine/low alpine/high", 2, 2, "CSV dat Txt", ".meta", "manifest", "/var/lib/station-names.csv",
          "/var/lib/station-log.tsv", "tsv", 2,
          "# Name migration of station uploads ({firm})\n\nTree: {root}\n\n{rules}"),
    World("city_plans", "land registry clerk", "scanned city plans", "specification", "/opt/plans",
          "old new/inner new/outer", 0, 2, "TIF pdf Tiff", ".geo", "index.txt", "/opt/plans-exceptions.csv",
          "/opt/plans-changes.jsonl", "jsonl", 3, "Naming scheme {ticket} of {firm} for {root}\n\n{rules}"),
    World("band_demos", "band manager", "demo recordings", "chat", "/home/band/demos",
          "rehearsal live/indoor live/outdoor", 2, 0, "FLAC mp3 Wav", ".txt2", "setlist.txt", "/home/band/names.csv",
          "/home/band/renamed.tsv", "tsv", 4,
          "yo, demo names in {root} are chaos and {firm} (the label) wants their scheme\n\n{rules}\n\ncheers"),
    World("hospital_scans", "medical records officer", "scanned case sheets", "note", "/srv/sheets",
          "ward1 ward2/a ward2/b", 1, 0, "PDF tif Jpg", ".sig", "cover.lst", "/srv/sheet-names.csv",
          "/srv/sheet-renames.jsonl", "jsonl", 5, "Case sheets of {firm} in {root}, new names.\n{rules}"),
    World("auction_house", "catalogue editor", "lot pictures", "email", "/mnt/lots", "spring autumn/art autumn/wine",
          0, 1, "JPEG jpg Png", ".note", "lots.txt", "/mnt/lot-names.csv", "/mnt/lot-log.tsv", "tsv", 6,
          "Dear all,\n\n{firm} prints its catalogue from file names, hence this request for {root}.\n\n{rules}\n\n"
          "Regards, catalogue desk"),
    World("field_recordings", "ornithologist", "bird call recordings", "ticket", "/data/birds",
          "marsh forest/edge forest/deep", 1, 2, "WAV flac Mp3", ".label", "species.list", "/data/bird-names.csv",
          "/data/bird-renames.jsonl", "jsonl", 7,
          "[BIRD-{ticket}] rename the recordings below {root} (project {firm})\n\n{rules}\n\nThe analysis starts "
          "afterwards."),
)
# fmt: on

OLD = (
    r"(?P<word>{w})_(?P<d>\d\d)(?P<m>\d\d)(?P<y>\d{4})_(?P<n>\d+)\.(?P<e>[A-Za-z0-9]+)",
    r"(?P<n>\d+) (?P<word>{w}) (?P<d>\d\d)\.(?P<m>\d\d)\.(?P<y>\d{4})\.(?P<e>[A-Za-z0-9]+)",
    r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)-(?P<word>{w}) \((?P<n>\d+)\)\.(?P<e>[A-Za-z0-9]+)",
)
NEW = (
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)_(?P<word>{w})_(?P<n>\d{3,})\.(?P<e>[a-z0-9]+)",
    r"(?P<word>{w})-(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)-(?P<n>\d{3,})\.(?P<e>[a-z0-9]+)",
    r"(?P<n>\d{3,})_(?P<word>{w})_(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\.(?P<e>[a-z0-9]+)",
)
WORD = r"[^\W\d_]+(?:[ -][^\W\d_]+)*"
OLD_READ, NEW_READ = (tuple(re.compile(form.replace("{w}", WORD)) for form in forms) for forms in (OLD, NEW))
OLD_MADE = ("{word}_{d:02}{m:02}{y}_{n}.{e}", "{n} {word} {d:02}.{m:02}.{y}.{e}", "{y}{m:02}{d:02}-{word} ({n}).{e}")
NEW_MADE = (
    "{y}-{m:02}-{d:02}_{word}_{n:03}.{e}",
    "{word}-{y}{m:02}{d:02}-{n:03}.{e}",
    "{n:03}_{word}_{y}-{m:02}-{d:02}.{e}",
)
OLD_SHOWN = ("PLACE_DDMMYYYY_NUMBER.ENDING", "NUMBER PLACE DD.MM.YYYY.ENDING", "YYYYMMDD-PLACE (NUMBER).ENDING")
NEW_SHOWN = ("YYYY-MM-DD_PLACE_NUMBER.ENDING", "PLACE-YYYYMMDD-NUMBER.ENDING", "NUMBER_PLACE_YYYY-MM-DD.ENDING")

FORM = (
    "In every folder, files named {old} (PLACE is words of letters with single spaces or hyphens between, NUMBER any "
    "digits) become {new}: place and ending "
    "in lower case, spaces as hyphens, the number without its leading zeros but filled up to three digits with "
    "zeros. A date that no calendar has "
    "means that the name does not have this form.",
    "Old form: {old}, where PLACE consists of letters, the words in it parted by one space or hyphen, and NUMBER of "
    "digits. New form: {new}, with "
    "lower-case place and ending, a hyphen for each space, and a number that loses leading zeros and is then padded "
    "to at least three digits. "
    "Names with an impossible date are not of the old form. This applies in all folders.",
    "Wherever a name has the form {old} (PLACE: words made of letters, one space or hyphen between two; NUMBER: "
    "digits; the date must exist), turn it into "
    "{new}. In the new name place and ending are lower case, spaces have become hyphens, and the number has at least "
    "three digits, zeros in front "
    "only to reach these.",
)
RAISE = (
    "Files that have the new form already (in lower case) keep it, but their number is raised by {step}.",
    "Where a file already has the new form with lower-case place and ending, add {step} to its number and change "
    "nothing else.",
    "Names which are of the new form from the start, lower case, get a number higher by {step}.",
)
OTHER = (
    "All other files keep their names.",
    "Names of neither form stay.",
    "Whatever has another name keeps it.",
)
CLASH = (
    "Names must be unique within their folder{fold}: names that stay{maps} come first, then the others in byte order "
    "of their old names; a file "
    "whose new name is already given gets -2 before the ending, or -3, -4 and so on, the first that is free. Only "
    "final names count for that, not "
    "the names that files have at the start.",
    "No two files of a folder may end up with one name{fold}. Unchanged names{maps} have precedence; the remaining "
    "files choose in the byte order of "
    "their old names, and one that finds its name given away puts -2 (else -3, and so on) in front of the ending. "
    "What matters is who has a name in the "
    "end, not who has it now.",
    "If several files of a folder want one name{fold}, it goes to names that stay{maps}, next to the file whose old "
    "name is first in byte order; every "
    "later one appends the lowest free of -2, -3 and so on to the part before the ending. A name that its owner "
    "gives up is free.",
)
FOLD = (
    " without regard to upper and lower case",
    ", and capitals do not make a difference",
    " (compared without regard to case)",
)
MAPS = (" or are given", " and given names", " or is given")
GIVEN = (
    "{given} (columns path,name) gives some files (path relative to {root}) their names instead, exactly so; lines "
    "about files that do not exist "
    "are void.",
    "For the files in {given}, a CSV with path (from {root}) and name, that name is used as it stands in place of "
    "these rules; ignore lines whose "
    "file is not there.",
    "Exceptions are in {given}: path below {root} and the exact new name, under the header path,name; absent files "
    "in it mean nothing.",
)
UNICODE = (
    "Every name, also of files that otherwise keep theirs, is in Unicode form NFC at the end, and names are judged and "
    "compared in that form.",
    "All final names are in NFC, kept ones too; apply the forms to the NFC of a name, and treat names with the same "
    "NFC as the same.",
    "Convert all names to NFC (Unicode), those that stay as well, before the forms are looked at and names compared.",
)
SIDE = (
    "A file called like another one of its folder plus {side} accompanies it and takes its new name plus {side}.",
    "Companions, that is NAME{side} next to a file NAME, follow: they are called like NAME's new name plus {side}.",
    "If a file's name is that of a neighbour followed by {side}, it follows that neighbour to its new name, again "
    "followed by {side}.",
)
LISTING = (
    "The files called {listing} contain names of files of their folder, one a line: exchange these for the new names "
    "and leave other lines alone.",
    "Lines of a {listing} that are names of files in the same folder have to show the new names; its other lines and "
    "the order stay.",
    "In each {listing}, replace lines that equal the old name of a file of that folder by its new name, and nothing "
    "else.",
)
LOG = {
    "tsv": (
        "Finally, {log} lists every changed name: old and new path relative to {root}, a tab between, in byte order "
        "of the old path.",
        "Log to {log}: per changed name a line with old path, tab, new path (from {root}), sorted by the old path's "
        "bytes.",
        "{log} shall hold one line for each changed name, old path and new path below {root} separated by a tab, "
        "ordered by the bytes of the old path.",
    ),
    "jsonl": (
        "Finally, {log} lists every changed name as one JSON object a line with from and to, paths relative to "
        "{root}, in byte order of from.",
        "Log to {log}: per changed name a line with a JSON object of from and to (paths below {root}), sorted by the "
        "bytes of from.",
        "{log} shall hold a JSON object with from and to for each changed name, one a line, paths starting at "
        "{root}, ordered by the bytes of from.",
    ),
}
BYTES = (
    "No file may be lost or overwritten.",
    "Every file has to survive with its content.",
    "All contents are still there afterwards.",
)

SETUP = """
import json, os
spec = json.load(open("/setup/files.json"))
for path, text in spec["files"]:
    full = os.path.join(spec["root"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as out:
        out.write(text)
"""

TESTS = """
import hashlib
import os

ROOT = TRUTH["root"]


def digest(path):
    with open(path, "rb") as source:
        return hashlib.sha256(source.read()).hexdigest()[:12]


def walk():
    return [os.path.relpath(os.path.join(at, n), ROOT) for at, _, names in os.walk(ROOT) for n in names]


def test_names():
    wanted = {new: content for _, new, content in TRUTH["files"]}
    assert sorted(walk()) == sorted(wanted)
    for path, content in wanted.items():
        assert digest(os.path.join(ROOT, path)) == content, path


def test_log():
    with open(TRUTH["log"], encoding="utf-8") as source:
        lines = source.read().splitlines()
    if TRUTH["kind"] == "jsonl":
        got = [[row["from"], row["to"]] for row in map(json.loads, lines)]
    else:
        got = [line.split(chr(9)) for line in lines]
    changed = [[old, new] for old, new, _ in TRUTH["files"] if old != new]
    assert got == sorted(changed, key=lambda pair: pair[0].encode())


def test_nothing_lost():
    present = {digest(os.path.join(ROOT, path)) for path in walk()}
    assert set(TRUTH["kept_contents"]) <= present
"""

INITIAL = """
import os


def test_files_have_their_old_names():
    for old, _, _ in TRUTH["files"]:
        assert os.path.isfile(os.path.join(TRUTH["root"], old)), old
    assert not os.path.exists(TRUTH["log"])
"""

SOLUTION = r"""cat > /tmp/rename.py <<'PY'
import csv, json, os, re, unicodedata
from datetime import date
C = json.loads(r'''@CONFIG@''')
OLD, NEW = re.compile(C["old"]), re.compile(C["new"])
def nfc(name):
    return unicodedata.normalize("NFC", name) if C["hard"] else name
def key(name):
    return nfc(name).casefold() if C["deep"] else name
given = {}
if C["deep"]:
    given = {row["path"]: row["name"] for row in csv.DictReader(open(C["given"], encoding="utf-8", newline=""))}
plan = {}
for at, _, names in os.walk(C["root"]):
    here = os.path.relpath(at, C["root"])
    final, wishes = {}, []
    side = {n: n[:-len(C["side"])] for n in names if C["hard"] and n.endswith(C["side"])}
    side = {n: owner for n, owner in side.items() if owner in names}
    for name in names:
        old, new = OLD.fullmatch(nfc(name)), NEW.fullmatch(nfc(name))
        part = (old or new).groupdict() if old or new else {}
        try:
            date(int(part["y"]), int(part["m"]), int(part["d"]))
        except (KeyError, ValueError):
            old = new = None
        if new and part["word"] != part["word"].lower():
            new = None
        path = os.path.normpath(os.path.join(here, name))
        if name in side:
            continue
        if path in given:
            final[name] = given[path]
        elif old or new:
            number = int(part["n"]) + (0 if old else C["step"])
            word = part["word"].lower().replace(" ", "-")
            y, m, d = int(part["y"]), int(part["m"]), int(part["d"])
            wishes.append((name, C["made"].format(word=word, n=number, e=part["e"].lower(), y=part["y"], m=m, d=d)))
        else:
            final[name] = nfc(name)
    taken = {key(name) for name in final.values()}
    for name, wish in sorted(wishes, key=lambda pair: pair[0].encode()):
        stem, ending = wish.rsplit(".", 1)
        number, pick = 2, wish
        while key(pick) in taken:
            pick = "%s-%d.%s" % (stem, number, ending)
            number += 1
        taken.add(key(pick))
        final[name] = pick
    for name, owner in side.items():
        final[name] = final[owner] + C["side"]
    if C["hard"] and C["listing"] in names:
        full = os.path.join(at, C["listing"])
        lines = open(full, encoding="utf-8").read().split("\n")
        open(full, "w", encoding="utf-8").write("\n".join(final.get(line, line) for line in lines))
    for old, new in final.items():
        if old != new:
            plan[os.path.normpath(os.path.join(here, old))] = os.path.normpath(os.path.join(here, new))
os.chdir(C["root"])
for number, old in enumerate(plan):
    os.rename(old, ".moving-%d" % number)
for number, new in enumerate(plan.values()):
    os.rename(".moving-%d" % number, new)
with open(C["log"], "w", encoding="utf-8") as log:
    for old in sorted(plan, key=str.encode):
        if C["kind"] == "jsonl":
            log.write(json.dumps({"from": old, "to": plan[old]}) + "\n")
        else:
            log.write(old + "\t" + plan[old] + "\n")
PY
python3 /tmp/rename.py
"""

# Another way: Perl, and a copy of the tree built beside the old one.
ALTERNATIVE = r"""
cat > /tmp/rename.pl <<'PL'
use utf8; use feature "fc"; use open ":std", ":encoding(UTF-8)";
use JSON::PP; use Encode; use Unicode::Normalize; use Time::Local;
my $c = JSON::PP->new->utf8->decode(join "", map { encode("UTF-8", decode("UTF-8", $_)) } $ARGV[0]);
my ($root, $hard, $deep) = @{$c}{qw(root hard deep)};
my ($old, $new) = map { my $r = $c->{$_}; $r =~ s/\(\?P</(?</g; qr/^$r$/ } qw(old new);
sub nfc { $hard ? NFC($_[0]) : $_[0] }
sub key { $deep ? fc NFC($_[0]) : $_[0] }
sub e { encode("UTF-8", $_[0]) }
my %given;
if ($deep) {
  open my $f, "<:encoding(UTF-8)", $c->{given}; <$f>;
  while (<$f>) { s/\r?\n$//; my ($p, $n) = split /,/, $_, 2; s/^"|"$//g for $p, $n; $given{$p} = $n }
}
chdir $root;
my @dirs = map { chomp; decode("UTF-8", $_) } map { encode("UTF-8", $_) } `find . -type d`;
my $fresh = "$root.fresh"; mkdir $fresh;
my %log;
for my $dir (sort @dirs) {
  mkdir e("$fresh/$dir") unless $dir eq ".";
  opendir my $h, e($dir);
  my @names = map { decode("UTF-8", $_) } grep { -f e($dir) . "/$_" } readdir $h;
  my %here = map { $_ => 1 } @names; my (%final, %wish, %side, %taken);
  for my $name (@names) {
    my $path = $dir eq "." ? $name : substr($dir, 2) . "/$name";
    if ($hard && $name =~ /^(.+)\Q$c->{side}\E$/ && $here{$1}) { $side{$name} = $1; next }
    if (exists $given{$path}) { $final{$name} = $given{$path}; next }
    my $n = nfc($name); my ($is_old, %p);
    if ($n =~ $old) { %p = %+; $is_old = 1 } elsif ($n =~ $new) { %p = %+; %p = () if $p{word} ne lc $p{word} }
    if (%p && eval { timegm(0, 0, 0, $p{d}, $p{m} - 1, $p{y}); 1 }) {
      my $word = lc $p{word}; $word =~ tr/ /-/;
      my %v = (%p, word => $word, e => lc $p{e}, n => sprintf("%03d", $p{n} + ($is_old ? 0 : $c->{step})));
      ($wish{$name} = $c->{made}) =~ s/\{(\w)\w*(?::0\d)?\}/$v{$1 eq "w" ? "word" : $1}/g;
    } else { $final{$name} = $n }
  }
  $taken{key($_)} = 1 for values %final;
  for my $name (sort { e($a) cmp e($b) } keys %wish) {
    my ($stem, $end) = $wish{$name} =~ /^(.*)\.([^.]*)$/; my ($pick, $k) = ($wish{$name}, 2);
    $pick = "$stem-" . $k++ . ".$end" while $taken{key($pick)};
    $taken{key($pick)} = 1; $final{$name} = $pick;
  }
  $final{$_} = $final{$side{$_}} . $c->{side} for keys %side;
  for my $name (@names) {
    my ($from, $to) = map { $dir eq "." ? $_ : substr($dir, 2) . "/$_" } $name, $final{$name};
    $log{$from} = $to if $from ne $to;
    if ($hard && $name eq $c->{listing}) {
      open my $i, "<:encoding(UTF-8)", e($from); open my $o, ">:encoding(UTF-8)", e("$fresh/$to");
      while (<$i>) { my $l = s/\n$//; print $o exists $final{$_} ? $final{$_} : $_, $l ? "\n" : "" }
    } else { rename e($from), e("$fresh/$to") }
  }
}
open my $l, ">:encoding(UTF-8)", $c->{log};
for (sort { e($a) cmp e($b) } keys %log) {
  print $l $c->{kind} eq "tsv" ? "$_\t$log{$_}\n" : JSON::PP->new->encode({from => $_, to => $log{$_}}) . "\n";
}
PL
perl /tmp/rename.pl '@CONFIG@' && cd / && find '@ROOT@' -mindepth 1 -delete &&
  cp -a '@ROOT@.fresh/.' '@ROOT@/' && rm -r '@ROOT@.fresh'
"""


@dataclass
class Folder:
    """The names of one folder with their contents, and which are given or companions."""

    path: str
    names: dict[str, str]
    given: dict[str, str]
    sides: dict[str, str]


def parsed(pattern: re.Pattern[str], name: str) -> dict[str, str] | None:
    """The parts of a name of a form, if its date exists."""
    found = pattern.fullmatch(name)
    if found is None:
        return None
    try:
        date(int(found["y"]), int(found["m"]), int(found["d"]))
    except ValueError:
        return None
    return found.groupdict()


def renamed(folder: Folder, world: World, step: int, deep: bool, hard: bool) -> dict[str, str]:
    """The stated rules for one folder."""

    def nfc(name: str) -> str:
        return unicodedata.normalize("NFC", name) if hard else name

    def key(name: str) -> str:
        return nfc(name).casefold() if deep else name

    final: dict[str, str] = {}
    wishes: dict[str, str] = {}
    for name in folder.names:
        if name in folder.sides:
            continue
        old, new = parsed(OLD_READ[world.old], nfc(name)), parsed(NEW_READ[world.new], nfc(name))
        if new is not None and new["word"] != new["word"].lower():
            new = None
        parts = old or new
        if name in folder.given:
            final[name] = folder.given[name]
        elif parts is None:
            final[name] = nfc(name)
        else:
            wishes[name] = NEW_MADE[world.new].format(
                word=parts["word"].lower().replace(" ", "-"),
                n=int(parts["n"]) + (0 if old else step),
                e=parts["e"].lower(),
                y=parts["y"],
                m=int(parts["m"]),
                d=int(parts["d"]),
            )
    taken = {key(name) for name in final.values()}
    for name in sorted(wishes, key=str.encode):
        stem, _, ending = wishes[name].rpartition(".")
        tries = (wishes[name], *(f"{stem}-{number}.{ending}" for number in range(2, 99)))
        final[name] = next(one for one in tries if key(one) not in taken)
        taken.add(key(final[name]))
    return final | {name: final[owner] + world.side for name, owner in folder.sides.items()}


def draw_folder(draw: Draw, world: World, path: str, size: int, step: int, deep: bool, hard: bool) -> Folder:
    """Names with every trap of the level."""
    folder = Folder(path, {}, {}, {})
    endings = world.endings.split()
    words = ["São Tomé", "Zürich", "Île", "Åre"] if hard else ["San Marino", "Lower Town", "Oak-Hill", "Kiel"]

    def add(name: str) -> str:
        if name not in folder.names:
            folder.names[name] = f"{draw.pick(LAST_NAMES)} {draw.between(10**8, 10**9)}\n"
        return name

    def parts(word: str = "", number: int = 0, ending: str = "") -> dict[str, str | int]:
        return {
            "word": word or draw.pick((*words, *CITIES[:12])),
            "d": draw.between(1, 28),
            "m": draw.between(1, 12),
            "y": draw.between(2009, 2023),
            "n": number or draw.between(1, 60),
            "e": ending or draw.pick(endings),
        }

    def old(values: dict[str, str | int]) -> str:
        return add(OLD_MADE[world.old].format(**values))

    def new(values: dict[str, str | int]) -> str:
        word, ending = str(values["word"]).lower().replace(" ", "-"), str(values["e"]).lower()
        return NEW_MADE[world.new].format(**{**values, "word": word, "e": ending})

    # Two old names for one new one, an untouched name in the way, and the first way out taken too.
    one = parts(draw.pick(words[:1]), 7)
    old(one)
    old({**one, "word": str(one["word"]).upper()})
    old({**one, "word": str(one["word"]).replace(" ", "-")})
    stem, _, ending = new(one).rpartition(".")
    add(f"{stem}-2.{ending}")
    # A chain: each name of a run is wanted by the one before it.
    run = parts(draw.pick(CITIES))
    for number in range(draw.between(4, 6)):
        add(new({**run, "n": 1 + number * step}))
    old({**run, "n": 1 + step})
    old({**parts(), "d": 31, "m": draw.pick((2, 4, 6, 11))})
    old({**parts(), "d": 29, "m": 2, "y": 2023})
    old({**parts(), "n": 1000 + draw.between(0, 99)})
    add(OLD_MADE[world.old].format(**{**parts(), "n": f"00{draw.between(1, 9)}"}))
    add(f"{draw.pick(HOST_WORDS)}.txt")
    add("README")
    if deep:
        two = parts(draw.pick(CITIES))
        old(two)
        folder.names.setdefault(
            new(two).upper(), f"capitals {draw.between(10**8, 10**9)}\n"
        )  # another name only by case
        ring = [add(f"{draw.pick(HOST_WORDS)}-{draw.between(100, 999)}.{draw.pick(endings)}") for _ in range(5)]
        folder.given |= dict(zip(ring[:3], [*ring[1:3], ring[0]], strict=True))
        folder.given |= {ring[3]: ring[4], ring[4]: ring[3], "README": "ReadMe"}
        first = old(parts(draw.pick(CITIES)))
        folder.given[first] = f"Given {draw.between(100, 999)}.{draw.pick(endings)}"
    if hard:
        three = parts(words[1])
        old(three)
        old({**three, "word": unicodedata.normalize("NFD", words[1])})
        old(parts(unicodedata.normalize("NFD", words[2])))
        add(unicodedata.normalize("NFD", f"Übersicht {draw.between(10, 99)}.txt"))
        add(unicodedata.normalize("NFD", new({**parts(words[3]), "n": 900})))
    while len(folder.names) < size:
        old(parts())
    if hard:
        for name in [name for number, name in enumerate(folder.names) if number % 5 == 0]:
            folder.sides[add(name + world.side)] = name
        add("stray.jpg" + world.side)
        lines = ["# as of spring", *draw.sample(list(folder.names), 12), "no such file.jpg"]
        folder.names[world.listing] = "\n".join(lines) + "\n"
    return folder


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, step: int, deep: bool, hard: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    words = {
        "root": world.root,
        "old": OLD_SHOWN[world.old],
        "new": NEW_SHOWN[world.new],
        "step": str(step),
        "given": world.given,
        "side": world.side,
        "listing": world.listing,
        "log": world.log,
        "fold": FOLD[wording(world, 3)] if deep else "",
        "maps": MAPS[wording(world, 3)] if deep else "",
    }
    parts: dict[str, tuple[str, str, str]] = {"form": FORM, "raise": RAISE, "other": OTHER, "clash": CLASH}
    if deep:
        parts["given"] = GIVEN
    if hard:
        parts |= {"unicode": UNICODE, "side": SIDE, "listing": LISTING}
    parts |= {"bytes": BYTES, "log": LOG[world.kind]}
    return {key: texts[wording(world, at)].format(**words) for at, (key, texts) in enumerate(parts.items())}


def joined(folder: str, name: str) -> str:
    """A path below the root."""
    return f"{folder}/{name}"


def digest(text: str) -> str:
    """The start of a hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def given_csv(draw: Draw, folders: Sequence[Folder]) -> str:
    """The file of given names, with lines about files that do not exist."""
    rows = [(joined(folder.path, name), new) for folder in folders for name, new in folder.given.items()]
    rows += [(joined(folders[0].path, f"missing-{number}.dat"), f"void-{number}.dat") for number in range(3)]
    return "path,name\n" + "".join(f"{path},{name}\n" for path, name in draw.shuffled(rows))


def draft(draw: Draw) -> Draft:
    """One renaming."""
    world = draw.setting(SETTINGS)
    deep, hard = draw.difficulty != Difficulty.EASY, draw.difficulty == Difficulty.HARD
    size, step = draw.by_difficulty(easy=24, medium=42, hard=54), draw.between(1, 3)
    folders = [draw_folder(draw, world, path, size, step, deep, hard) for path in world.folders.split()[:3]]
    files: list[list[str]] = []
    for folder in folders:
        final = renamed(folder, world, step, deep, hard)
        for name, text in folder.names.items():
            if hard and name == world.listing:
                text = "\n".join(final.get(line, line) for line in text.split("\n"))
            files.append([joined(folder.path, name), joined(folder.path, final[name]), digest(text)])
    listings = {world.listing} if hard else set[str]()
    truth = {
        "root": world.root,
        "log": world.log,
        "kind": world.kind,
        "files": draw.shuffled(files),
        "kept_contents": sorted(
            digest(text) for folder in folders for name, text in folder.names.items() if name not in listings
        ),
    }
    rules = sentences(world, step, deep, hard)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        root=world.root,
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config = json.dumps(
        {
            "root": world.root,
            "old": OLD[world.old].replace("{w}", WORD),
            "new": NEW[world.new].replace("{w}", WORD),
            "made": NEW_MADE[world.new],
            "step": step,
            "given": world.given,
            "side": world.side,
            "listing": world.listing,
            "log": world.log,
            "kind": world.kind,
            "deep": deep,
            "hard": hard,
        }
    )
    solution = SOLUTION.replace("@CONFIG@", config)
    goals, guard = ["test_names", "test_log"], "test_nothing_lost"
    in_turn = solution.replace('    os.rename(old, ".moving-%d" % number)', "    pass").replace(
        'for number, new in enumerate(plan.values()):\n    os.rename(".moving-%d" % number, new)',
        "for old in sorted(plan):\n    if os.path.exists(old):\n        os.replace(old, plan[old])",
    )
    misses = [
        Miss(
            "one_after_another",
            "renames in turn and overwrites files that have yet to move",
            in_turn,
            ["test_names", guard],
        ),
        Miss(
            "any_date",
            "does not check that dates exist",
            solution.replace("        date(int(", "        tuple, (int("),
            goals,
        ),
        Miss(
            "current_names_block",
            "regards the names at the start as taken",
            solution.replace("for name in final.values()}", "for name in names}"),
            goals,
        ),
        Miss("no_raise", "leaves new names as they are", solution.replace('else C["step"]', "else 0"), goals),
    ]
    if deep:
        misses += [
            Miss(
                "case_counts",
                "lets names differ by case only",
                solution.replace("nfc(name).casefold() if", "nfc(name) if"),
                goals,
            ),
            Miss(
                "given_ignored",
                "does not use the given names",
                solution.replace("if path in given:", "if False:"),
                goals,
            ),
        ]
    if hard:
        misses += [
            Miss(
                "forms_mixed",
                "does not compose names",
                solution.replace('unicodedata.normalize("NFC", name) if C["hard"] else name', "name"),
                goals,
            ),
            Miss(
                "listings_stale",
                "does not update the listings",
                solution.replace("final.get(line, line)", "line"),
                ["test_names"],
            ),
        ]
    cited = {"log": ["test_log"], "bytes": [guard], "listing": ["test_names"]}
    spec = {
        "root": world.root,
        "files": draw.shuffled([(joined(f.path, name), text) for f in folders for name, text in f.names.items()]),
    }
    copies = f"COPY given {world.given}\n" if deep else ""
    return Draft(
        title=f"Rename the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"files.json": json.dumps(spec), "build.py": SETUP.lstrip()}
        | ({"given": given_csv(draw, folders)} if deep else {}),
        dockerfile=f"{copies}COPY files.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.root}",
        truth=truth,
        discoverable=("root", "log", "kind", "files", "kept_contents"),
        tests=TESTS,
        weights={"test_names": 0.7, "test_log": 0.3},
        guards=[guard],
        initial=INITIAL,
        solution=solution,
        alternatives=[ALTERNATIVE.replace("@CONFIG@", config).replace("@ROOT@", world.root)],
        misses=misses,
        requirements=[(text, cited.get(key, goals)) for key, text in rules.items()],
        knobs={"files": len(files), "step": step, "given_names": deep, "unicode_companions_listings": hard},
    )


FAMILY = Family(
    name="mass_rename",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("bulk renaming", "collision handling", "regular expressions", "unicode normalisation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
