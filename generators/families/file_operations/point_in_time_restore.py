"""Restore a tree as of a moment from full and incremental backups: gaps, damage, deletion lists, clocks, a change log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import CITIES, FIRMS, HOST_WORDS, LAST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    repository: str
    info: str  # file with the facts of a set; .json, or lines of key = value
    keys: str  # id, type, parent, taken, finished, state
    kinds: str  # words for full and incremental
    fine: str  # the state of a set that was completed
    parts: str  # names of the data folder, the sums, the deletions
    log: str
    fields: str  # number, time, operation, path, text of a log entry
    verbs: str  # put, remove
    target: str
    report: str
    answers: str  # from, chain, unusable, expendable, applied
    wording: int  # different for each world: which of three wordings each sentence has
    text: str


# fmt: off
SETTINGS = (
    World("law_office", "legal assistant", "law office file server", "email", "/srv/backup", "set.json",
          "id kind base taken finished state", "full incr", "ok", "data sums.txt deleted.txt", "/srv/changes",
          "n at op path text", "put del", "/srv/restored", "/srv/restore.json",
          "set chain unusable expendable applied", 0,
          "Hello,\n\nsomebody at {firm} ruined the file share. We need it as it was at {moment}. The backups are in "
          "{repository}.\n\n{rules}\n\nThank you very much"),
    World("clinic_pacs", "clinic system administrator", "clinic report store", "ticket", "/data/vault", "run.info",
          "run mode parent snapshot closed status", "complete delta", "success", "files checksums removed",
          "/data/trail", "seq time what name body", "write erase", "/data/reports", "/data/outcome.json",
          "source runs broken surplus entries", 1,
          "PACS-{ticket} {firm}: report store back to {moment}\n\nVault: {repository}\n\n{rules}"),
    World("survey_bureau", "survey data engineer", "survey data share", "runbook", "/var/lib/safekeep", "job.json",
          "job level on as_of done result", "level0 level1", "clean", "tree digests gone", "/var/lib/oplog",
          "no when action file value", "set drop", "/var/lib/survey", "/var/lib/survey.json",
          "job jobs rejected disposable replayed", 2,
          "# Point in time restore ({firm})\n\nWanted: {moment}\nRepository: {repository}\n\n{rules}"),
    World("museum_office", "museum office manager", "exhibition documents", "note", "/mnt/copies", "copy.info",
          "name sort previous state_of ended condition", "whole part", "sound", "content list.sha256 dropped",
          "/mnt/edits", "nr moment deed document words", "save delete", "/srv/exhibition", "/srv/exhibition.json",
          "copy line bad removable edits", 3,
          "Exhibition documents ({firm}), state of {moment}, copies in {repository}.\n{rules}"),
    World("plant_control", "control systems engineer", "controller configuration store", "specification",
          "/opt/archive", "volume.json", "volume class prior point complete verdict", "base step", "valid",
          "payload manifest.sha deletions", "/opt/events", "index stamp verb key content", "assign unset",
          "/opt/controller", "/opt/controller.json", "volume path invalid obsolete events", 4,
          "Restoration order {ticket}, {firm}\nPoint: {moment}\nStore: {repository}\n\n{rules}"),
    World("indie_studio", "game producer", "level design share", "chat", "/home/studio/snaps", "snap.json",
          "snap type from ts end flag", "root diff", "green", "assets sha256sums trash", "/home/studio/feed",
          "i t do at blob", "upsert rm", "/home/studio/levels", "/home/studio/levels.json",
          "snap trace red prunable ops", 5,
          "omg the level share is gone. {firm} wants it exactly as of {moment}. snaps are in {repository}, rules "
          "are from the old admin:\n\n{rules}\n\nplease please"),
    World("city_registry", "municipal archivist", "registry documents", "email", "/var/registry-backup", "record.info",
          "record form successor_of effective closed mark", "total supplement", "accepted", "documents seals strikes",
          "/var/registry-diary", "entry hour act sheet wording", "enter strike", "/var/registry", "/var/registry.json",
          "record lineage void spare diary", 6,
          "Dear sir or madam,\n\nafter an incident at {firm} the registry has to be brought to its state of "
          "{moment} from {repository}.\n\n{rules}\n\nRespectfully"),
    World("saas_tenant", "support engineer", "tenant workspace", "ticket", "/mnt/tenant/points", "point.json",
          "point type parent consistent_at uploaded_at phase", "full incremental", "committed",
          "objects digests.txt tombstones", "/mnt/tenant/stream", "lsn ts op key value", "put delete",
          "/mnt/tenant/workspace", "/mnt/tenant/workspace.json", "point ancestry failed evictable stream", 7,
          "[SUP-{ticket}] tenant of {firm} asks for a workspace restore to {moment}\n\nRestore points: "
          "{repository}\n\n{rules}"),
)
# fmt: on

SETS = (
    "Every folder in {repository} is one set with {info}, which states {id}, {type} ({full} or {incr}), {parent} "
    "(the set it builds on, empty for {full}), {taken}, "
    "{finished} and {state}.",
    "Each set is a folder of {repository}; its {info} has {id}, {type} ({full}, or {incr} with the set it builds on "
    "in {parent}), {taken}, {finished} and {state}.",
    "{repository} has one folder for each set. What it is stands in its {info}: {id}, {type} ({full}, {incr}), "
    "{parent} (for {incr}, the set beneath it), {taken}, "
    "{finished}, {state}.",
)
CLOCK = (
    "A set shows the tree as of {taken}; {finished} only says when copying ended and does not matter. Times carry "
    "different offsets from UTC{local}.",
    "The content of a set is that of the instant {taken}, however long the copying went on ({finished}). Mind that "
    "offsets from UTC vary{local}.",
    "{taken} is the instant that a set's content belongs to; {finished}, the end of copying, has no bearing. Offsets "
    "from UTC differ between sets{local}.",
)
LOCAL = (
    "; a time without offset is local time of the site, which was UTC+1 before {change} and UTC+2 from then on",
    ", and where one is missing the site's local time is meant, UTC+1 until {change}, afterwards UTC+2",
    "; times without one are in the site's local time (one hour ahead of UTC before {change}, two hours from that "
    "instant)",
)
DELTA = (
    "{data} of a {full} set holds the whole tree; that of a set of type {incr} holds what is new or different since its "
    "{parent}, and {gone} the paths that are to be "
    "removed from the parent's tree before (one a line, a folder with everything in it if it ends in a slash).",
    "A {full} set has all files in {data}. For a set of type {incr} take the tree of its {parent}, remove what {gone} lists "
    "(a path a line; with a slash at the end it "
    "is a folder and all of it goes), then put the files of {data} in.",
    "To get the tree of a set of type {incr}, start from the tree of its {parent}, strike the lines of {gone} (paths, or "
    "folders with all content when a slash ends "
    "them), and after that lay {data} over it; in a {full} set {data} is everything.",
)
USABLE = (
    "A set is usable if its {state} is {fine}, every file named in {sums} (sha256 and path as sha256sum writes them) "
    "is in {data} with that content, and, for "
    "{incr}, its {parent} is there and usable too.",
    "Usable means: {state} says {fine}; all lines of {sums} (output of sha256sum for the files in {data}) are right; "
    "and a set of type {incr} has an existing, usable "
    "{parent}.",
    "Only usable sets count. These have {fine} as {state}, files in {data} that all agree with {sums} (lines of "
    "sha256 and path, as from sha256sum), none "
    "missing, and if they are {incr}, a usable {parent} that still exists.",
)
CHOOSE = {
    False: (
        "Restore to {target} the tree of the usable set whose {taken} is the latest that is not after {moment}.",
        "{target} gets the tree of the latest usable set, by {taken}, that is not younger than {moment}.",
        "Of the usable sets taken at or before {moment} (by {taken}) the latest is to be restored into {target}.",
    ),
    True: (
        "Start from the usable set whose {taken} is the latest that is not after {moment}, and build the tree of "
        "{moment} in {target}.",
        "{target} gets the tree of {moment}, built on the latest usable set, by {taken}, that is not younger than that.",
        "Of the usable sets taken at or before {moment} (by {taken}) the latest is the basis; from it the exact tree "
        "of {moment} arises in {target}.",
    ),
}
LOG = (
    "For what happened since the set, the files in {log} have one JSON object a line with {fields}: carry out the "
    "entries later than the set's {taken} and not "
    "later than {moment} by time, at equal times by {number}; {put} gives a file its text, {remove} removes a file, "
    "or a folder with everything in it if the path "
    "ends in a slash. Entries may stand in any order and more than once, each {number} counts once.",
    "Bridge the time after the set with {log}, files of JSON lines with {fields}: of each {number} one entry counts "
    "even if it was written twice, entries after the "
    "set's {taken} up to and including {moment} apply in order of time and then {number}, wherever they stand. {put} "
    "writes the text to the file, {remove} takes "
    "away the file, or all of a folder where the path has a slash at its end.",
    "The lines in the files of {log} are JSON objects with {fields}. All that are younger than the set's {taken} but "
    "not younger than {moment} are to be carried "
    "out, sorted by time and then {number}, repeated ones once. {put} replaces or makes a file with that text; "
    "{remove} deletes a file or, with a slash behind the "
    "path, a folder with its content.",
)
FOLDERS = (
    "There are no empty folders in the result.",
    "Folders without files are not to be restored.",
    "Leave no folder empty.",
)
KEEPING = (
    "To save space: for each of the last {days} UTC days with a usable set up to {moment}, its latest usable set is "
    "kept, and so is every set those build on; the "
    "other sets taken up to {moment} could go.",
    "A set taken up to {moment} could go unless it is the last usable one of its UTC day, that day being among the "
    "latest {days} days that have a usable set "
    "up to {moment}, or unless such a set builds on it directly or through others.",
    "Retention looks at sets taken up to {moment}: of the {days} latest UTC days that have usable ones, the last "
    "usable set of the day stays together with all "
    "sets beneath it, and the remaining ones are dispensable. Do not delete any.",
)
REPORT = (
    "Write {report}, a JSON object: {a0} ({id} of the set used), {a1} (list of {id} from the {full} set to that "
    "one), {a2} (sorted list of all sets that are not "
    "usable, later ones included){a4} and {a3} (sorted list of sets that could go).",
    "{report} is to be a JSON object with {a0}, the {id} of the set used; {a1}, the {id}s it is made of, {full} "
    "first; {a2}, all unusable sets of whatever time, "
    "sorted{a4}; and {a3}, the sets that could go, sorted.",
    "Give account in {report}, a JSON object with {a0} (which {id} was used), {a1} (the {id}s from the {full} set up "
    "to it, in this order), {a2} (sorted {id}s of "
    "every unusable set at any time){a4} and {a3} (sorted {id}s that are dispensable, that is, could go).",
)
APPLIED = (
    ", {a4} (how many log entries were carried out)",
    "; {a4}, the number of entries applied from the log",
    ", {a4} (count of entries carried out)",
)
KEEP = (
    "Nothing in {repository} may change.",
    "Leave {repository} itself untouched.",
    "{repository} stays as it is.",
)

SETUP = """
import json, os
for path, text in json.load(open("/setup/files.json")).items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
"""

TESTS = """
import hashlib
import os


def tree(root, length):
    found = {}
    for at, folders, names in os.walk(root):
        for name in names:
            full = os.path.join(at, name)
            with open(full, "rb") as source:
                found[os.path.relpath(full, root)] = hashlib.sha256(source.read()).hexdigest()[:length]
    return found


def report():
    with open(TRUTH["report"]) as source:
        return json.load(source)


def test_tree():
    assert tree(TRUTH["target"], 16) == TRUTH["tree"]
    for at, folders, names in os.walk(TRUTH["target"]):
        assert folders or names, "empty folder " + at


def test_set_and_chain():
    for key in TRUTH["about_set"]:
        assert report()[key] == TRUTH["answers"][key], key


def test_unusable():
    key = TRUTH["about_unusable"]
    assert report()[key] == TRUTH["answers"][key]


def test_retention():
    key = TRUTH["about_retention"]
    assert report()[key] == TRUTH["answers"][key]


def test_repository_untouched():
    total = hashlib.sha256(json.dumps(sorted(tree(TRUTH["repository"], 64).items())).encode()).hexdigest()
    assert total == TRUTH["repository_digest"]
"""

INITIAL = """
import os


def test_repository_is_there_and_nothing_restored():
    assert len(os.listdir(TRUTH["repository"])) > 8
    assert not os.path.exists(TRUTH["target"]) and not os.path.exists(TRUTH["report"])
"""

SOLUTION = r"""cat > /tmp/restore.py <<'PY'
import glob, hashlib, json, os
from datetime import datetime, timedelta, timezone
C = json.loads('''@CONFIG@''')
ID, TYPE, PARENT, TAKEN, FINISHED, STATE = C["keys"]
DATA, SUMS, GONE = C["parts"]
CHANGE = datetime.fromisoformat(C["change"].replace("Z", "+00:00"))
def instant(text):
    when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone(timedelta(hours=1)))
        if when >= CHANGE:
            when -= timedelta(hours=1)
    return when.astimezone(timezone.utc)
MOMENT = instant(C["moment"])
def read(path):
    return open(path, "rb").read()
def paths(root):
    return [os.path.relpath(os.path.join(at, n), root) for at, _, names in os.walk(root) for n in names]
sets = {}
for folder in glob.glob(C["repository"] + "/*"):
    text = open(os.path.join(folder, C["info"])).read()
    if C["info"].endswith(".json"):
        facts = json.loads(text)
    else:
        facts = dict((part.strip() for part in line.split("=", 1)) for line in text.splitlines())
    facts["folder"], facts["instant"] = folder, instant(facts[TAKEN])
    sets[facts[ID]] = facts
def own_ok(facts):
    for line in open(os.path.join(facts["folder"], SUMS)).read().splitlines():
        digest, path = line.split("  ", 1)
        full = os.path.join(facts["folder"], DATA, path)
        if not os.path.isfile(full) or hashlib.sha256(read(full)).hexdigest() != digest:
            return False
    return facts[STATE] == C["fine"]
def chain(name):
    names = []
    while name:
        names.insert(0, name)
        name = sets[name][PARENT] if name in sets else ""
    return names
own = {name: own_ok(facts) for name, facts in sets.items()}
usable = {name for name in sets if all(own.get(n, False) for n in chain(name))}
before = sorted((n for n in usable if sets[n]["instant"] <= MOMENT), key=lambda n: sets[n]["instant"])
chosen = before[-1]
files = {}
def remove(path):
    for name in [n for n in files if n == path or (path.endswith("/") and n.startswith(path))]:
        del files[name]
for name in chain(chosen):
    folder = sets[name]["folder"]
    if os.path.exists(os.path.join(folder, GONE)):
        for line in open(os.path.join(folder, GONE)).read().splitlines():
            remove(line)
    data = os.path.join(folder, DATA)
    for path in paths(data):
        files[path] = read(os.path.join(data, path))
applied = 0
if C["log"]:
    number, time, verb, path, text = C["fields"]
    entries = {}
    for part in glob.glob(C["log"] + "/*"):
        for line in open(part):
            entry = json.loads(line)
            entries[entry[number]] = entry
    for entry in sorted(entries.values(), key=lambda e: (instant(e[time]), e[number])):
        if sets[chosen]["instant"] < instant(entry[time]) <= MOMENT:
            applied += 1
            if entry[verb] == C["verbs"][0]:
                files[entry[path]] = entry[text].encode()
            else:
                remove(entry[path])
for path, body in files.items():
    full = os.path.join(C["target"], path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    open(full, "wb").write(body)
last = {sets[n]["instant"].date(): n for n in before}
kept = {n for day in sorted(last)[-C["days"]:] for n in chain(last[day])}
a = C["answers"]
report = {a[0]: chosen, a[1]: chain(chosen), a[2]: sorted(set(sets) - usable),
          a[3]: sorted(n for n, facts in sets.items() if facts["instant"] <= MOMENT and n not in kept)}
if C["log"]:
    report[a[4]] = applied
json.dump(report, open(C["report"], "w"))
PY
python3 /tmp/restore.py
"""

# Another way: the shell with date, sha256sum, cp and jq.
ALTERNATIVE = r"""
set -f; cd '@REPOSITORY@'; w=$(mktemp -d); change=$(date -u -d '@CHANGE@' +%s)
set -- @KEYS@; id=$1; parent=$3; taken=$4; state=$6
case @INFO@ in
  *.json) ls | sed 's#$#/@INFO@#' | xargs jq -r --arg a "$id" --arg b "$taken" --arg c "$state" \
    --arg d "$parent" '"\(input_filename | split("/")[0]) \(.[$a]) \(.[$b]) \(.[$c]) \(.[$d])"' ;;
  *) for folder in $(ls); do awk -v f="$folder" -v a="$id" -v b="$taken" -v c="$state" -v d="$parent" '{ v[$1] = $3 }
    END { print f, v[a], v[b], v[c], v[d] }' "$folder/@INFO@"; done ;;
esac > "$w/facts"
instants() {  # times on standard input to seconds
  sed -E 's/^(.*(Z|[+-][0-9]{2}:[0-9]{2}))$/\1 zone/; /zone$/!s/$/Z local/' > "$w/times"
  cut -d' ' -f1 "$w/times" | date -u -f - +%s | paste -d' ' - "$w/times" |
    awk -v c="$change" '{ s = $1; if ($3 == "local") { s -= 3600; if (s >= c) s -= 3600 } print s }'
}
moment=$(echo '@MOMENT@' | instants)
cut -d' ' -f3 "$w/facts" | instants | paste -d' ' - "$w/facts" > "$w/timed"
for folder in $(ls); do sed "s#^\([0-9a-f]*\)  #\1  $folder/@DATA@/#" "$folder/@SUMS@"; done > "$w/sums"
sha256sum --quiet -c "$w/sums" 2>/dev/null | cut -d/ -f1 > "$w/spoilt"
awk -v fine='@FINE@' 'NR == FNR { bad[$1] = 1; next } { print $3, $2, $1, ($5 == fine && !($2 in bad)) ? 1 : 0, $6 }' \
  "$w/spoilt" "$w/timed" > "$w/sets"
[ -s "$w/spoilt" ] || exit 1
awk '{ folder[$1] = $2; at[$1] = $3; own[$1] = $4; up[$1] = $5 }
  END { for (n in at) { line = n; good = own[n]; m = n
    while (up[m] != "") { m = up[m]; line = m " " line; if (!(m in own) || !own[m]) good = 0; if (!(m in own)) break }
    print at[n], n, good, line } }' "$w/sets" | sort -n > "$w/chains"
awk -v t="$moment" '$3 && $1 <= t' "$w/chains" > "$w/before"
chosen=$(tail -1 "$w/before" | cut -d' ' -f2)
line=$(tail -1 "$w/before" | cut -d' ' -f4-)
since=$(tail -1 "$w/before" | cut -d' ' -f1)
mkdir -p '@TARGET@'
for name in $line; do
  folder=$(awk -v n="$name" '$1 == n { print $2 }' "$w/sets")
  [ -f "$folder/@GONE@" ] && sed 's#^#@TARGET@/#' "$folder/@GONE@" | tr '\n' '\0' | xargs -0 rm -rf
  [ -d "$folder/@DATA@" ] && cp -r "$folder/@DATA@/." '@TARGET@/'
done
applied=0
if [ -n '@LOG@' ]; then
  set -- @FIELDS@
  set +f; cat '@LOG@'/* | sort -u > "$w/entries"; set -f
  jq -r --arg t "$2" '.[$t]' "$w/entries" | instants > "$w/at"
  jq -r --arg n "$1" '.[$n]' "$w/entries" | paste -d' ' "$w/at" - "$w/entries" | sort -s -n -k1,1 -k2,2 |
    awk -v a="$since" -v b="$moment" '$1 > a && $1 <= b' > "$w/todo"
  applied=$(wc -l < "$w/todo")
  cut -d' ' -f3- "$w/todo" | perl -MJSON::PP -MFile::Path=make_path,remove_tree -e '
    my ($target, $verb, $path, $text, $put) = @ARGV;
    while (<STDIN>) {
      my $e = JSON::PP->new->utf8->decode($_); my $full = "$target/$e->{$path}";
      if ($e->{$verb} eq $put) {
        make_path($full =~ s{/[^/]*$}{}r);
        open my $out, ">", $full; print $out $e->{$text};
      } elsif (-d $full) { remove_tree($full) } else { unlink $full }
    }' '@TARGET@' "$3" "$4" "$5" '@PUT@'
fi
find '@TARGET@' -type d -empty -delete
cut -d' ' -f1 "$w/before" | sed 's/^/@/' | date -u -f - +%F > "$w/days"
cut -d' ' -f4- "$w/before" | paste -d' ' "$w/days" - |
  awk '{ day = $1; $1 = ""; last[day] = $0 } END { for (d in last) print d last[d] }' |
  sort | tail -n @DAYS@ | cut -d' ' -f2- | tr ' ' '\n' | sort -u > "$w/kept"
list() { awk 'BEGIN { printf "[" } { printf "%s\"%s\"", n++ ? "," : "", $1 } END { print "]" }'; }
spare=$(awk -v t="$moment" '$1 <= t { print $2 }' "$w/chains" | sort | comm -23 - "$w/kept" | sort | list)
set -- @ANSWERS@
jq -n --arg s "$chosen" --argjson c "$(echo "$line" | tr ' ' '\n' | list)" --argjson e "$spare" --argjson n "$applied" \
  --argjson u "$(awk '!$3 { print $2 }' "$w/chains" | sort | list)" --arg a0 "$1" --arg a1 "$2" --arg a2 "$3" --arg a3 "$4" --arg a4 "$5" \
  '{($a0): $s, ($a1): $c, ($a2): $u, ($a3): $e, ($a4): $n}' > '@REPORT@'
"""


@dataclass
class Set:
    """A backup set: what it says, and the state of the tree it was taken of."""

    name: str
    full: bool
    parent: str
    at: datetime
    ended: datetime
    tree: dict[str, str]
    defect: str = ""  # state, content, absent


@dataclass(frozen=True)
class Event:
    """A change of the live tree."""

    number: int
    at: datetime
    path: str
    text: str | None  # None removes the file, or with a final slash the folder


@dataclass
class Story:
    """Everything that happened."""

    sets: dict[str, Set]
    events: list[Event]
    moment: datetime
    change: datetime
    vanished: str  # a set that something builds on, but that is gone


def apply(tree: dict[str, str], path: str, text: str | None) -> None:
    """Carry out one change."""
    if text is not None:
        tree[path] = text
        return
    for name in [name for name in tree if name == path or (path.endswith("/") and name.startswith(path))]:
        del tree[name]


TOPS = ("admin", "north/a", "north/b", "south/archive", "south/open", "two words")


def random_event(draw: Draw, tree: Mapping[str, str], number: int, at: datetime) -> Event:
    """A new file, a change, a removal, or now and then the removal of a folder."""
    kind, text = draw.between(0, 11), f"{draw.pick(LAST_NAMES)} {draw.pick(CITIES)} {draw.between(10000, 99999)}\n"
    old = draw.pick(list(tree)) if tree else "x/y"
    if kind < 5 or len(tree) < 9:
        return Event(number, at, f"{draw.pick(TOPS)}/{draw.pick(HOST_WORDS)}{draw.between(1, 30)}.txt", text)
    if kind < 8:
        return Event(number, at, old, text)
    return Event(number, at, old if kind < 11 else old.rpartition("/")[0] + "/", None)


def draw_story(draw: Draw, early: int, events_per_gap: int) -> Story:
    """A plain past, then before the moment a good set followed by sets that fail in every way."""
    year, day = draw.pick(((2022, 27), (2023, 26), (2024, 31), (2025, 30)))
    change = datetime(year, 3, day, 1, tzinfo=UTC)
    now = change - timedelta(days=5, hours=draw.between(0, 20), minutes=draw.between(0, 59))
    names = iter(f"{draw.pick('KMRST')}{number}" for number in draw.sample(range(100, 999), 40))
    story = Story({}, [], now, change, "")
    tree: dict[str, str] = {}

    def live(minutes: int) -> None:
        """Let time pass, with changes on the way."""
        nonlocal now
        for _ in range(events_per_gap):
            event = random_event(
                draw,
                tree,
                len(story.events) + 1,
                now + timedelta(minutes=draw.between(0, minutes - 1), seconds=draw.between(1, 59)),
            )
            story.events.append(event)
        story.events[-events_per_gap:] = sorted(
            story.events[-events_per_gap:], key=lambda event: (event.at, event.number)
        )
        for event in story.events[-events_per_gap:]:
            apply(tree, event.path, event.text)
        now += timedelta(minutes=minutes)

    def happen(path: str, text: str | None) -> None:
        """A change at this very instant, which a set taken now has in it."""
        story.events.append(Event(len(story.events) + 1, now, path, text))
        apply(tree, path, text)

    def save(parent: str, defect: str = "") -> str:
        name = next(names)
        ended = now + timedelta(minutes=draw.between(4, 30))
        story.sets[name] = Set(name, parent == "", parent, now, ended, dict(tree), defect)
        return name

    for number in range(14):
        apply(
            tree,
            f"{TOPS[number % len(TOPS)]}/{draw.pick(HOST_WORDS)}{number}.txt",
            f"first {draw.pick(LAST_NAMES)} {draw.between(10000, 99999)}\n",
        )
    live(60)
    past = [save("")]
    for number in range(early):
        live(draw.between(200, 5 * 24 * 60 // (early + 3)) if early < 9 else draw.between(200, 420))
        parent = "" if number in (early // 2,) else draw.pick(past[-3:])
        past.append(save(parent, draw.pick(("state", "content")) if number == early // 2 - 1 else ""))
    now = max(now, change - timedelta(hours=30))
    live(draw.between(300, 500))
    happen(f"brief/{draw.pick(HOST_WORDS)}.txt", "only for a while\n")
    one = save("")
    live(draw.between(90, 200))
    happen(story.events[-events_per_gap - 1].path, None)
    two = save(one)
    live(draw.between(90, 200))
    lost = save(two)
    live(draw.between(60, 120))
    now = max(now, change - timedelta(hours=2))
    good = save(two)
    live(draw.between(20, 45))
    save(good, "state")
    live(draw.between(20, 45))
    save(lost)
    live(draw.between(20, 45))
    damaged = save(good, draw.pick(("content", "absent")))
    live(draw.between(20, 45))
    save(damaged)
    live(draw.between(20, 45))
    story.moment = now
    story.sets[good].ended = now + timedelta(minutes=draw.between(3, 40))
    live(draw.between(6, 20))
    after = save(good)
    live(draw.between(60, 200))
    save(after, "content")
    save("")
    story.vanished = lost
    return story


def stamp(draw: Draw, at: datetime, story: Story, local: bool, minutes: int | None = None) -> str:
    """A time as written: UTC, some offset, or the site's local time without one."""
    if local and minutes is None and draw.chance(40):
        ahead = timedelta(hours=1 if at < story.change else 2)
        return (at + ahead).replace(tzinfo=None).isoformat()
    offset = draw.pick((0, 0, 60, 120, -300, 540)) if minutes is None else minutes
    return at.astimezone(timezone(timedelta(minutes=offset))).isoformat().replace("+00:00", "Z")


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def set_files(draw: Draw, one: Set, story: Story, world: World, written: str, ended: str) -> dict[str, str]:
    """The files of one set, by path within it, its defect included."""
    data, sums, gone = world.parts.split()
    words = world.kinds.split()
    base = {} if one.full else story.sets[one.parent].tree
    fresh = {path: text for path, text in one.tree.items() if base.get(path) != text}
    removed = sorted(set(base) - set(one.tree))
    for folder in sorted({path.rpartition("/")[0] + "/" for path in removed}):
        if draw.chance(50):  # the whole folder goes, and what is still in it comes back with the data
            removed = [path for path in removed if not path.startswith(folder)] + [folder]
            fresh |= {path: text for path, text in one.tree.items() if path.startswith(folder)}
    state = draw.pick(("failed", "running", "partial")) if one.defect == "state" else world.fine
    facts = dict(
        zip(world.keys.split(), (one.name, words[0 if one.full else 1], one.parent, written, ended, state), strict=True)
    )
    info = (
        json.dumps(facts, indent=2)
        if world.info.endswith(".json")
        else "".join(f"{key} = {value}\n" for key, value in facts.items())
    )
    listed = "".join(f"{sha(text)}  {path}\n" for path, text in sorted(fresh.items()))
    spoilt = draw.pick(sorted(fresh)) if one.defect in ("content", "absent") else ""
    stored = {path: text[:-2] + "?\n" if path == spoilt else text for path, text in fresh.items()}
    if one.defect == "absent":
        del stored[spoilt]
    files = {world.info: info, sums: listed} | {f"{data}/{path}": text for path, text in stored.items()}
    return files | ({gone: "".join(path + "\n" for path in removed)} if removed else {})


def chain_of(sets: Mapping[str, Set], name: str) -> list[str]:
    """From the full set to this one."""
    names: list[str] = []
    while name:
        names.insert(0, name)
        name = sets[name].parent
    return names


def answers(story: Story, days: int) -> tuple[str, list[str], list[str], list[str]]:
    """The set to use, its chain, the unusable sets and those that could go: the stated rules."""
    sets = story.sets
    bad = {name for name, one in sets.items() if one.defect or name == story.vanished}
    usable = [name for name in sets if not bad & set(chain_of(sets, name))]
    present = [name for name in sets if name != story.vanished]
    early = sorted((name for name in usable if sets[name].at <= story.moment), key=lambda name: sets[name].at)
    last = {sets[name].at.date(): name for name in early}
    kept = {name for date in sorted(last)[-days:] for name in chain_of(sets, last[date])}
    spare = sorted(name for name in present if sets[name].at <= story.moment and name not in kept)
    return early[-1], chain_of(sets, early[-1]), sorted(set(present) - set(usable)), spare


def log_files(draw: Draw, story: Story, world: World) -> dict[str, str]:
    """The change log: shuffled, some entries twice."""
    names, verbs = world.fields.split(), world.verbs.split()
    lines: list[str] = []
    for event in story.events:
        values = (
            event.number,
            stamp(draw, event.at, story, True),
            verbs[0 if event.text is not None else 1],
            event.path,
            event.text or "",
        )
        lines += [json.dumps(dict(zip(names, values, strict=True)))] * (2 if draw.chance(10) else 1)
    mixed = draw.shuffled(lines)
    return {f"{world.log}/part-{number}.jsonl": "\n".join(mixed[number::3]) + "\n" for number in range(3)}


def wording(world: World, at: int) -> int:
    """Which wording the sentence at this place has in this world; no two worlds agree in all."""
    return (world.wording + at * (world.wording // 3)) % 3


def sentences(world: World, moment: str, change: str, days: int, extreme: bool) -> dict[str, str]:
    """Every sentence that demands something."""
    style = world.wording % 3
    words = dict(zip(("id", "type", "parent", "taken", "finished", "state"), world.keys.split(), strict=True))
    words |= dict(zip(("full", "incr"), world.kinds.split(), strict=True)) | dict(
        zip(("data", "sums", "gone"), world.parts.split(), strict=True)
    )
    words |= dict(zip(("put", "remove"), world.verbs.split(), strict=True))
    words |= {f"a{number}": name for number, name in enumerate(world.answers.split()) if number < 4}
    words |= {
        "repository": world.repository,
        "info": world.info,
        "fine": world.fine,
        "moment": moment,
        "target": world.target,
        "report": world.report,
        "log": world.log,
        "days": str(days),
        "number": world.fields.split()[0],
    }
    gloss = ("number", "time, written like those of the sets", "what was done", "path", "text of the file")
    words["fields"] = ", ".join(f"{name} ({what})" for name, what in zip(world.fields.split(), gloss, strict=True))
    words["local"] = LOCAL[style].format(change=change) if extreme else ""
    words["a4"] = APPLIED[style].format(a4=world.answers.split()[4]) if extreme else ""
    parts: dict[str, tuple[str, str, str]] = {
        "sets": SETS,
        "clock": CLOCK,
        "delta": DELTA,
        "usable": USABLE,
        "choose": CHOOSE[extreme],
    }
    if extreme:
        parts["log"] = LOG
    parts |= {"folders": FOLDERS, "keeping": KEEPING, "report": REPORT, "keep": KEEP}
    return {key: texts[wording(world, at)].format(**words) for at, (key, texts) in enumerate(parts.items())}


def alternative(config: Mapping[str, object], world: World) -> str:
    """The other solution, with its words put in."""
    text, (data, sums, gone) = ALTERNATIVE, world.parts.split()
    lists = {"KEYS": world.keys, "FIELDS": world.fields, "ANSWERS": world.answers, "PUT": world.verbs.split()[0]}
    for token, value in (lists | {"DATA": data, "SUMS": sums, "GONE": gone}).items():
        text = text.replace(f"@{token}@", value)
    for key in ("repository", "change", "info", "moment", "fine", "target", "log", "days", "report"):
        text = text.replace(f"@{key.upper()}@", str(config[key]))
    return text


def draft(draw: Draw) -> Draft:
    """One incident."""
    world, extreme = draw.setting(SETTINGS), draw.difficulty == Difficulty.EXTREMELY_HARD
    early, days = draw.by_difficulty(hard=4, extremely_hard=10), draw.between(2, 3)
    story = draw_story(draw, early, draw.by_difficulty(hard=7, extremely_hard=8))
    chosen, chain, unusable, spare = answers(story, days)
    moment = stamp(draw, story.moment, story, False, draw.pick((60, 120, -240)))
    files: dict[str, str] = {}
    for one in story.sets.values():
        if one.name != story.vanished:
            # The right set looks too young to whoever compares texts, the next one too old.
            offset = (
                570
                if one.name == chosen
                else -420
                if story.moment < one.at < story.moment + timedelta(minutes=25)
                else None
            )
            written = stamp(draw, one.at, story, extreme, offset)
            inner = set_files(draw, one, story, world, written, stamp(draw, one.ended, story, extreme))
            files |= {f"{world.repository}/{one.name.lower()}/{path}": text for path, text in inner.items()}
    wanted = dict(story.sets[chosen].tree)
    since = [event for event in story.events if story.sets[chosen].at < event.at <= story.moment]
    if extreme:
        for event in sorted(since, key=lambda event: (event.at, event.number)):
            apply(wanted, event.path, event.text)
    inside = {path.removeprefix(world.repository + "/"): sha(text) for path, text in files.items()}
    keys = world.answers.split()
    values = dict(zip(keys, (chosen, chain, unusable, spare, len(since)), strict=True))
    truth = {
        "repository": world.repository,
        "repository_digest": sha(json.dumps(sorted(inside.items()))),
        "target": world.target,
        "report": world.report,
        "tree": {path: sha(text)[:16] for path, text in wanted.items()},
        "answers": {key: value for key, value in values.items() if extreme or key != keys[4]},
        "about_set": [*keys[:2], *(keys[4:] if extreme else [])],
        "about_unusable": keys[2],
        "about_retention": keys[3],
    }
    if extreme:
        files |= log_files(draw, story, world)
    change = story.change.isoformat().replace("+00:00", "Z")
    rules = sentences(world, moment, change, days, extreme)
    instruction = world.text.format(
        firm=draw.pick(FIRMS),
        ticket=draw.between(1000, 9999),
        repository=world.repository,
        moment=moment,
        rules=("\n" if world.wording % 3 == 2 else " ").join(rules.values()),
    )
    config: dict[str, object] = {
        "repository": world.repository,
        "info": world.info,
        "keys": world.keys.split(),
        "parts": world.parts.split(),
        "fine": world.fine,
        "moment": moment,
        "change": change,
        "target": world.target,
        "report": world.report,
        "answers": keys,
        "days": days,
        "log": world.log if extreme else "",
        "fields": world.fields.split(),
        "verbs": world.verbs.split(),
    }
    solution = SOLUTION.replace("@CONFIG@", json.dumps(config))
    tree, about, bad, retention = "test_tree", "test_set_and_chain", "test_unusable", "test_retention"
    misses = [
        Miss(
            "parents_unchecked",
            "does not ask whether the sets beneath are usable",
            solution.replace("for n in chain(name))}", "for n in [name])}").replace(
                "for name in chain(chosen):", "for name in [n for n in chain(chosen) if n in sets]:"
            ),
            [about, bad],
        ),
        Miss(
            "end_of_copying",
            "goes by the time copying ended",
            solution.replace("instant(facts[TAKEN])", "instant(facts[FINISHED])"),
            [about],
        ),
        Miss(
            "offsets_ignored",
            "compares times without their offsets",
            solution.replace("return when.astimezone(timezone.utc)", "return when.replace(tzinfo=timezone.utc)"),
            [about],
        ),
        Miss(
            "no_sums",
            "does not verify contents",
            solution.replace("            return False\n", "            pass\n"),
            [about, bad],
        ),
        Miss(
            "nothing_removed",
            "ignores deletions",
            solution.replace("            remove(line)\n", "            pass\n"),
            [tree],
        ),
        Miss(
            "ancestors_could_go",
            "lists sets that others build on",
            solution.replace("for n in chain(last[day])}", "for n in [last[day]]}"),
            [retention],
        ),
    ]
    if extreme:
        misses.append(
            Miss(
                "log_ignored",
                "stops at the set",
                solution.replace('if sets[chosen]["instant"] < instant', "if MOMENT < instant"),
                [tree, about],
            )
        )
    cited = {
        "folders": [tree],
        "keeping": [retention],
        "keep": ["test_repository_untouched"],
        "report": [about, bad, retention],
        "choose": [tree, about],
        "log": [tree, about],
        "usable": [tree, about, bad],
        "delta": [tree],
    }
    return Draft(
        title=f"Restore the {world.scenario} to a moment",
        setting=world,
        instruction=instruction,
        files={"files.json": json.dumps(files), "build.py": SETUP.lstrip()},
        dockerfile=f"COPY files.json build.py /setup/\nRUN python3 /setup/build.py && rm -r /setup\nWORKDIR "
        f"{world.repository}",
        truth=truth,
        discoverable=(
            "repository",
            "target",
            "report",
            "tree",
            "answers",
            "about_set",
            "about_unusable",
            "about_retention",
        ),
        tests=TESTS,
        weights={tree: 0.45, about: 0.2, bad: 0.15, retention: 0.2},
        guards=["test_repository_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[alternative(config, world)],
        misses=misses,
        requirements=[(text, cited.get(key, [tree, about, bad, retention])) for key, text in rules.items()],
        knobs={"sets": len(story.sets) - 1, "events": len(story.events), "days": days, "log_and_local_times": extreme},
    )


FAMILY = Family(
    name="point_in_time_restore",
    domain="file_operations",
    verifier=Verifier.EXACT_TEXT,
    skills=("backup chains", "time zones", "checksums", "log replay", "retention"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=24,
    draft=draft,
    command_complexity="code",
)
