"""Apply a rotation policy once to a log tree: overrides by path and owner, delayed compression, keep counts, state."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from generators.family import Draft, Draw, Family, Miss, Setting
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


# fmt: off
SETTINGS = (
    World("web_shop", "on-call engineer", "nightly rotation failed in a web shop", "ticket", "/srv/shop",
          "rotate.conf", "rotated.tsv", ("front", "cart", "mailer", "search"), ("web", "payments", "growth"), 0,
          "\n- ", "OPS-{number}: rotation timer was masked, run of {day} is missing\n\nThe nightly job on the shop "
          "host did not run. Make up for it by hand: bring the tree below {folder}/logs into the state the job would "
          "have left behind on {day}. The policy is {folder}/{policy}, what was rotated when and who owns it stands "
          "in {folder}/{state}.\n{rules}\n\n{keep}\n"),
    World("ferry", "fleet systems administrator", "log housekeeping on a ferry", "email", "/opt/ferry/data",
          "retention.ini", "history.tab", ("bridge", "engine", "tickets", "radio"), ("nautical", "machine", "sales"),
          1, " ", "Hello,\n\nour ship loses its link tonight, so the shore tool cannot tidy the logs. Could you do "
          "the turn of {day} on the box itself? Everything lives in {folder}: logs/ holds the files, {policy} says "
          "how they age, {state} remembers the last turn of each one.\n\nHow it works:{rules}\n\n{keep}\n\nMany "
          "thanks, the {persona}\n"),
    World("observatory", "instrument operator", "telescope log upkeep", "note", "/home/obs/site", "aging.conf",
          "turns.tsv", ("dome", "camera", "guider", "weather"), ("optics", "detector", "building"), 2, "\n* ",
          "Log upkeep for {day}, one pass over {folder}/logs. Policy: {folder}/{policy}. Register: "
          "{folder}/{state}.{rules}\n{keep}\n"),
    World("clinic", "hospital IT technician", "log policy in a clinic", "specification", "/var/lib/clinic",
          "policy.cfg", "register.tsv", ("ward", "lab", "imaging", "pharmacy"), ("nursing", "diagnostics", "stock"),
          0, "\n\n§ ", "Procedure LOG-{number}, single run, reference date {day}\n\nScope: the log files under "
          "{folder}/logs. Governing document: {folder}/{policy}. Register of past runs with the owning group: "
          "{folder}/{state}. The run consists of the following, and nothing else happens to the "
          "tree.{rules}\n\nEvidence: {keep}\n"),
    World("game", "backend developer", "game server disk full", "chat", "/data/arena", "logs.policy", "lastrun.tsv",
          ("lobby", "match", "chat", "store"), ("core", "social", "money"), 1, "\n> ", "hey, disk on arena is "
          "filling again because nobody ran the rotator :( can you play rotator once, as if it was {day}? tree is "
          "{folder}/logs, rules file {folder}/{policy}, bookkeeping {folder}/{state}. in short{rules}\n\noh and "
          "{keep}\n"),
    World("utility", "control room engineer", "rotation runbook of a water utility", "runbook", "/srv/water",
          "rotation.rules", "journal.tsv", ("pumps", "meters", "alarms", "billing"), ("field", "metering", "finance"),
          2, "\nStep. ", "Runbook 7.{number}: manual log turn\n\nWhen: the scheduler missed {day}. Where: "
          "{folder}/logs. Needs: {folder}/{policy} and {folder}/{state}. Outcome: the directory looks exactly as "
          "after an automatic turn on that day.{rules}\n\nDo not: {keep}\n"),
    World("newsroom", "site reliability engineer", "newspaper log rotation", "email", "/opt/news", "keep.conf",
          "seen.tsv", ("cms", "print", "feeds", "ads"), ("editorial", "press", "revenue"), 0, "\n + ",
          "Dear colleague,\n\nthe printing hall's server has to be handed to the auditors in the condition that the "
          "policy prescribes for {day}. Somebody switched the automatic turn off last week, hence this request. You "
          "will find the policy in {folder}/{policy}, the ledger of turns in {folder}/{state} and the journals "
          "themselves in {folder}/logs.{rules}\n\n{keep}\n\nWith kind regards\n"),
    World("university", "campus administrator", "campus log rotation", "ticket", "/srv/campus", "turnover.conf",
          "turnover.tsv", ("portal", "library", "exams", "wifi"), ("students", "books", "network"), 1, "\n  o ",
          "#{number} (campus-it) turnover of {day} must be redone\n\nReporter: {persona}. Affected: {folder}/logs. "
          "Configuration: {folder}/{policy}. Table of earlier turnovers: {folder}/{state}. Expected result: the "
          "turnover is carried out once, completely, for that date.{rules}\n\nRestriction: {keep}\n"),
)
# fmt: on

# Each rule in three wordings. {state}, {policy} and so on are filled in from the world.
# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "scope": (
        "Only logs listed in {state} (tab separated: path below logs/, date of the last rotation, owner) take part.",
        "The run looks at the files that {state} lists, one per line with tabs between path (relative to logs/), day "
        "of the latest turn, and owner; whatever is not listed is left alone.",
        "{state} has the columns path under logs/, last turn, owner, separated by tabs. A log it does not name is "
        "not handled."),
    "due": (
        "A log is due when it has more bytes than `size` (a suffix k means times 1024), or when its last rotation is "
        "`days` or more calendar days before {day}; an empty log is never due.",
        "Something is turned if it is larger than `size` bytes (k = 1024 bytes), exactly that size being still fine, "
        "or if at least `days` calendar days lie between its latest turn and {day}. Files without content are never "
        "turned.",
        "Turn a log whose length exceeds `size` (bytes, or units of 1024 with a k), and also one last turned `days` "
        "days before {day} or earlier; zero-length logs do not turn. A log that does not turn keeps all of its "
        "copies, too."),
    "settings": (
        "Settings come from the lines above the first section of {policy}, then from the sections that match, in the "
        "order of the file, so that a later section overrides an earlier one key by key.",
        "For its settings take what {policy} says before any section and lay every matching section over it from top "
        "to bottom: for each key the last one counts.",
        "Every key is read from {policy}: first the unsectioned lines, over them each matching section in file "
        "order, the later value of a key replacing the earlier."),
    "pattern": (
        "In a `path` section a * stands for any run of characters other than a slash, and the pattern covers the "
        "whole path below logs/.",
        "The pattern of a `path` section must fit the entire path relative to logs/; its * never crosses a /.",
        "`path` patterns are compared with the complete path under logs/ and the asterisk does not match a slash."),
    "owner": (
        "Sections headed `owner` match the owner with the same kind of pattern, and wherever they stand they are "
        "weaker than any matching `path` section.",
        "An `owner` section is matched against the owner instead; all of these are laid over the defaults before the "
        "first `path` section is, even if the file has them further down.",
        "A section marked `owner` applies to logs of an owner that fits; its values lose against those of every "
        "fitting `path` section regardless of position."),
    "number": (
        "Rotating renames copy NAME.N to NAME.(N+1), NAME.N.gz likewise, makes the log's content the copy NAME.1, "
        "and leaves no copy with a number above `keep`; gaps in the numbers stay gaps.",
        "A turn moves each copy from number N to N+1 (NAME.N or NAME.N.gz, holes in the sequence simply move along), "
        "turns the log itself into NAME.1 and deletes copies numbered higher than `keep`.",
        "When a log turns, all its copies NAME.N and NAME.N.gz go up by one, a missing number stays missing one "
        "place further, the old content becomes NAME.1, and copies beyond number `keep` disappear."),
    "dated": (
        "With `names dated` copies are called NAME-YYYYMMDD instead, the new one after {day}, nothing is renumbered, "
        "and the `keep` newest copies including the new one remain; numbered copies of such a log are neither "
        "touched nor counted.",
        "Where `names` is `dated`, the new copy is NAME-YYYYMMDD with the digits of {day}; no copy is renamed, only "
        "the latest `keep` dated ones (today's among them) survive, and leftovers with plain numbers are ignored "
        "completely.",
        "`names dated` gives the copy the suffix -YYYYMMDD for {day} in place of a number, retains the `keep` most "
        "recent dated copies, the fresh one counted, and has nothing to do with numbered copies that may still lie "
        "there."),
    "archive": (
        "If `archive` is set, the copies of the log live in the subfolder of that name beside the log.",
        "`archive X` says that a log's copies are kept in the folder X next to it, both the existing ones and the new.",
        "A value for `archive` names a folder inside the log's own folder: there its copies are found and put."),
    "compress": (
        "`compress now` gzips all plain copies of a rotated log (adding .gz), `later` all but the one just made, "
        "`never` none; copies that are compressed already stay so.",
        "After the turn the log's plain copies become NAME.N.gz style gzip files: all of them with `compress now`, "
        "all except the newest made today with `later`, and none with `never`, which does not unpack old ones either.",
        "Compression (gzip, name plus .gz) covers every uncompressed copy of a turned log under `now`, every one "
        "except today's under `later`, nothing under `never`; an existing .gz is never unpacked."),
    "mode": (
        "The log is recreated empty with the permission bits of `mode`; every copy keeps the bits of the file that "
        "it came from, also when it is compressed.",
        "Afterwards an empty file stands at the old place, its permissions being `mode` (octal), while copies retain "
        "the permissions their content had before, compressed or not.",
        "Leave an empty log behind, permissions as in `mode`. Renaming and compressing do not change the permissions "
        "of a copy."),
    "state": (
        "Finally {state} gets the date {day} for each rotated log; its other lines, their order and the format stay.",
        "In {state} the date of each turned log becomes {day}, with everything else there, order included, as before.",
        "Record the turned logs in {state} by replacing their date with {day}; do not reorder it or change other "
        "lines."),
    "keep": (
        "{policy} and files that are no part of this must not change.",
        "leave {policy} and all unlisted files exactly as they are.",
        "No edits to {policy}, none to files that are not listed logs or their copies."),
}
# fmt: on

TESTS = """
import gzip
import hashlib
from pathlib import Path

LOGS = Path(TRUTH["folder"]) / "logs"


def names():
    return sorted(str(path.relative_to(LOGS)) for path in LOGS.rglob("*") if path.is_file())


def digest(name):
    data = (LOGS / name).read_bytes()
    return hashlib.sha256(gzip.decompress(data) if name.endswith(".gz") else data).hexdigest()[:16]


def test_tree():
    assert names() == sorted(TRUTH["tree"]), "the set of files differs"
    for name, (content, _) in TRUTH["tree"].items():
        assert digest(name) == content, name + ": content differs"


def test_modes():
    for name, (_, mode) in TRUTH["tree"].items():
        assert (LOGS / name).stat().st_mode & 0o7777 == mode, name + ": permissions differ"


def test_state():
    text = (Path(TRUTH["folder"]) / TRUTH["state"]).read_text()
    assert hashlib.sha256(text.rstrip("\\n").encode()).hexdigest() == TRUTH["state_after"]


def test_rest_untouched():
    policy = Path(TRUTH["folder"]) / TRUTH["policy"]
    assert hashlib.sha256(policy.read_bytes()).hexdigest() == TRUTH["policy_sum"]
    for name, content in TRUTH["others"].items():
        assert digest(name) == content, name
"""
INITIAL = """
from pathlib import Path


def test_tree_is_there():
    folder = Path(TRUTH["folder"])
    assert (folder / TRUTH["policy"]).is_file() and (folder / TRUTH["state"]).is_file()
    assert any(path.suffix == ".gz" for path in (folder / "logs").rglob("*"))
"""

PYTHON = r"""cd @F@ && python3 - <<'PY'
import gzip, os, re, shutil
from datetime import date
DAY = date.fromisoformat("@D@")
def fits(pattern, text):
    return re.fullmatch("[^/]*".join(map(re.escape, pattern.split("*"))), text) is not None
base, sections, current = {}, [], None
for line in open("@P@"):
    line = line.strip()
    if not line or line.startswith("#"):
        continue
    if line[0] == "[":
        kind, pattern = line[1:-1].split()
        current = {}
        sections.append((kind, pattern, current))
    else:
        key, value = line.split(None, 1)
        (base if current is None else current)[key] = value
def settings(path, owner):
    out = dict(base)
    chosen = [s for s in sections if s[0] == "owner" and fits(s[1], owner)]
    chosen += [s for s in sections if s[0] == "path" and fits(s[1], path)]
    for s in chosen:
        out.update(s[2])
    return out
rows = [line.rstrip("\n").split("\t") for line in open("@S@")]
for row in rows:
    path, last, owner = row
    s = settings(path, owner)
    full = "logs/" + path
    limit = int(s["size"][:-1]) * 1024 if s["size"].endswith("k") else int(s["size"])
    size = os.path.getsize(full)
    due = size > limit or (DAY - date.fromisoformat(last)).days >= int(s["days"])
    if size == 0 or not due:
        continue
    row[1] = DAY.isoformat()
    folder, name = os.path.split(full)
    place = os.path.join(folder, s["archive"]) if "archive" in s else folder
    os.makedirs(place, exist_ok=True)
    dated = s.get("names") == "dated"
    found = []
    for item in os.listdir(place):
        m = re.fullmatch(re.escape(name) + (r"-(\d{8})" if dated else r"\.(\d+)") + r"(\.gz)?", item)
        if m:
            found.append((int(m[1]), m[2] or ""))
    keep, made = int(s["keep"]), []
    found.sort(reverse=True)
    if dated:
        today = DAY.strftime("%Y%m%d")
        for n, gz in found[max(keep - 1, 0):]:
            os.remove(f"{place}/{name}-{n}{gz}")
        plain = [f"{place}/{name}-{n}" for n, gz in found[:max(keep - 1, 0)] if not gz]
        new = f"{place}/{name}-{today}"
    else:
        plain = []
        for n, gz in found:
            if n + 1 > keep:
                os.remove(f"{place}/{name}.{n}{gz}")
            else:
                os.rename(f"{place}/{name}.{n}{gz}", f"{place}/{name}.{n + 1}{gz}")
                if not gz:
                    plain.append(f"{place}/{name}.{n + 1}")
        new = f"{place}/{name}.1"
    if keep:
        os.rename(full, new)
    else:
        os.remove(full)
    todo = plain if s["compress"] != "never" else []
    if s["compress"] == "now" and keep:
        todo.append(new)
    for item in todo:
        with open(item, "rb") as source, gzip.open(item + ".gz", "wb") as target:
            shutil.copyfileobj(source, target)
        shutil.copymode(item, item + ".gz")
        os.remove(item)
    open(full, "w").close()
    os.chmod(full, int(s["mode"], 8))
with open("@S@", "w") as out:
    out.writelines("\t".join(row) + "\n" for row in rows)
PY
"""
PERL = r"""cd @F@ && cat > /tmp/turn.pl <<'PL'
use strict; my ($policy, $state, $day) = @ARGV;
sub days { my ($y, $m, $d) = split /-/, shift; if ($m < 3) { $y--; $m += 12 }
  return 365*$y + int($y/4) - int($y/100) + int($y/400) + int((153*($m-3)+2)/5) + $d }
sub rx { my $p = quotemeta shift; $p =~ s/\\\*/[^\/]*/g; qr/^$p$/ }
my (@blocks, $now); $now = ["base", "", {}]; push @blocks, $now;
open my $f, "<", $policy or die; while (<$f>) { s/^\s+|\s+$//g; next if /^#/ or !length;
  if (/^\[(\w+) (\S+)\]$/) { $now = [$1, $2, {}]; push @blocks, $now; next }
  { my ($k, $v) = split " ", $_, 2; $now->[2]{$k} = $v } }
open $f, "<", $state or die; my @rows = map { chomp; [split /\t/] } <$f>;
for my $row (@rows) { my ($path, $last, $owner) = @$row; my %s;
  for my $pass (qw(base owner path)) { for my $b (grep { $_->[0] eq $pass } @blocks) {
    my $rx = rx($b->[1]);
    next unless $pass eq "base" or ($pass eq "owner" ? $owner : $path) =~ $rx; %s = (%s, %{$b->[2]}) } }
  my $log = "logs/$path"; my $bytes = -s $log; next unless $bytes;
  my $limit = $s{size}; $limit = $1 * 1024 if $limit =~ /^(\d+)k$/;
  next unless $bytes > $limit or days($day) - days($last) >= $s{days};
  $row->[1] = $day; my ($dir, $name) = $log =~ m{^(.*)/(.*)$}; $dir .= "/$s{archive}" if $s{archive}; mkdir $dir;
  my @plain; (my $digits = $day) =~ s/-//g; my $dated = ($s{names} || "") eq "dated";
  my $new = $dated ? "$dir/$name-$digits" : "$dir/$name.1"; my $count = 1;
  my @old = $dated ? reverse sort grep { m{^\Q$dir/$name\E-\d{8}(\.gz)?$} } glob("$dir/$name-*")
    : sort { ($b =~ /\.(\d+)(?:\.gz)?$/)[0] <=> ($a =~ /\.(\d+)(?:\.gz)?$/)[0] }
    grep { m{^\Q$dir/$name\E\.\d+(\.gz)?$} } glob("$dir/$name.*");
  for my $o (@old) { my $to = $o; my $n;
    if ($dated) { $n = ++$count }
    else { my ($k, $gz) = $o =~ /\.(\d+)(\.gz)?$/; $n = $k + 1; $to = "$dir/$name.$n" . ($gz || "") }
    if ($n > $s{keep}) { unlink $o; next } rename $o, $to; push @plain, $to unless $to =~ /\.gz$/ }
  if ($s{keep}) { rename $log, $new; push @plain, $new if $s{compress} eq "now" } else { unlink $log }
  system("gzip", "-n", "-f", @plain) if @plain and $s{compress} ne "never";
  open my $e, ">", $log or die; close $e; chmod oct($s{mode}), $log }
open $f, ">", $state or die; print $f join("\t", @$_), "\n" for @rows; close $f;
PL
perl /tmp/turn.pl @P@ @S@ @D@; rm -f /tmp/turn.pl
"""


@dataclass
class Log:
    """A log as drawn. `copies` maps a suffix such as `.2` or `-20240102` to (content, compressed)."""

    path: str
    owner: str
    last: date
    content: str
    mode: int
    copies: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    place: str = ""  # archive folder of the copies


@dataclass(frozen=True)
class Section:
    """A section of the policy: kind `path` or `owner`, pattern and keys."""

    kind: str
    pattern: str
    keys: Mapping[str, str]


def matches(pattern: str, text: str) -> bool:
    """A * does not cross a slash."""
    parts, wanted = text.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(fnmatch.fnmatchcase(a, b) for a, b in zip(parts, wanted, strict=True))


def effective(log: Log, base: Mapping[str, str], sections: Sequence[Section]) -> dict[str, str]:
    """The settings of a log: defaults, then owners, then paths."""
    keys = dict(base)
    for kind, text in (("owner", log.owner), ("path", log.path)):
        for section in sections:
            if section.kind == kind and matches(section.pattern, text):
                keys |= section.keys
    return keys


def is_due(log: Log, keys: Mapping[str, str], today: date) -> bool:
    """Too large or too old, and not empty."""
    limit = int(keys["size"].rstrip("k")) * (1024 if keys["size"].endswith("k") else 1)
    return bool(log.content) and (len(log.content) > limit or (today - log.last).days >= int(keys["days"]))


def turned(log: Log, keys: Mapping[str, str], today: date) -> dict[str, tuple[str, bool, int]]:
    """The files of a due log after its rotation: path -> (content, compressed, mode)."""
    keep, kind = int(keys["keep"]), "-" if keys.get("names") == "dated" else "."
    mine = {suffix: copy for suffix, copy in log.copies.items() if suffix[0] == kind}
    after: dict[str, tuple[str, bool]] = {}
    fresh = "-" + today.strftime("%Y%m%d") if kind == "-" else ".1"
    if kind == "-":
        after = {suffix: mine[suffix] for suffix in sorted(mine, reverse=True)[: keep - 1]}
    else:
        after = {f".{int(s[1:]) + 1}": copy for s, copy in mine.items() if int(s[1:]) < keep}
    if keys["compress"] != "never":
        after = {suffix: (text, True) for suffix, (text, _) in after.items()}
    after[fresh] = (log.content, keys["compress"] == "now")
    after |= {suffix: copy for suffix, copy in log.copies.items() if suffix[0] != kind}
    result = {path: (text, packed, log.mode) for path, (text, packed) in copy_paths(log, after).items()}
    result[log.path] = ("", False, int(keys["mode"], 8))
    return result


def copy_paths(log: Log, copies: Mapping[str, tuple[str, bool]]) -> dict[str, tuple[str, bool]]:
    """Copies by their path below logs/."""
    folder, name = log.path.rsplit("/", 1)
    folder += f"/{log.place}" if log.place else ""
    return {f"{folder}/{name}{suffix}{'.gz' if copy[1] else ''}": copy for suffix, copy in copies.items()}


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
        rules=world.bullet + world.bullet.join(rules.values()),
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
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {old: new, **fill}), tests)
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
