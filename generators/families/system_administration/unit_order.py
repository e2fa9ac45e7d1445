"""Unit files of a service manager: the start order, breaking ordering cycles by a stated rule, timers as cron lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier

Statement = tuple[str, str, str]  # (stating unit, "After" or "Before", other unit)


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    target: str
    rank: str  # key that says how important a unit is
    order: str  # result files
    cron: str
    words: tuple[str, ...]
    wording: int
    bullet: str
    text: str


# fmt: off
SETTINGS = (
    World("bakery_line", "automation technician", "control box of a bakery line", "note", "/opt/line", "bake",
          "X-Rank", "order.txt", "crontab.txt", ("oven", "belt", "mixer", "scale", "printer", "camera", "door",
          "cooler"), 0, "\n- ", "{folder}/units has the unit files of the old control box (systemd syntax). The new "
          "one has a tiny init and cron.{rules}\n{keep}\n"),
    World("radar", "weather service engineer", "radar station without systemd", "ticket", "/srv/radar", "scan",
          "X-Weight", "sequence.txt", "cron.lst", ("antenna", "receiver", "dsp", "mosaic", "archive", "uplink",
          "clock", "power"), 1, "\n * ", "RAD-{number}: port the boot of the radar host\n\nThe replacement image "
          "starts programs from a list and has cron. Derive what it needs from the systemd style files in "
          "{folder}/units.{rules}\n\n{keep}\n"),
    World("hospital_bed", "medical device integrator", "bed monitoring boot", "specification", "/opt/bedside", "ward",
          "X-Criticality", "boot.order", "schedule.cron", ("pulse", "oxygen", "pump", "alarm", "display", "bridge",
          "audit", "battery"), 2, "\n\n- ", "Boot sequence of the bedside computer, change {number}\n\nBasis: the "
          "unit definitions in {folder}/units, written in the style of systemd. Products: a boot sequence and a "
          "schedule.{rules}\n\n{keep}\n"),
    World("arcade", "arcade operator", "arcade cabinet start-up", "chat", "/home/op/cabinet", "play", "X-Score",
          "startup.txt", "jobs.cron", ("coin", "video", "sound", "lights", "score", "network", "input", "attract"), 0,
          "\n> ", "our cabinets get a busybox image, so no systemd any more. units are in {folder}/units, can you "
          "work out the boot for me? like this{rules}\n\n{keep}\n"),
    World("dam", "hydrology engineer", "dam control boot", "runbook", "/data/dam", "gates", "X-Level", "start.list",
          "timers.cron", ("sluice", "gauge", "siren", "valve", "logger", "modem", "plc", "solar"), 1, "\nItem: ",
          "Runbook {number}, controller swap at the dam\n\nTake the unit files below {folder}/units and prepare the "
          "swap.{rules}\nAttention: {keep}\n"),
    World("library", "library IT", "self-service terminal boot", "email", "/srv/kiosk", "kiosk", "X-Importance",
          "launch.txt", "cron.txt", ("scanner", "catalog", "session", "receipt", "rfid", "screen", "proxy", "lamp"),
          2, "\n~ ", "Dear all,\n\nthe self-service terminals hang at boot every second day, and we want to replace "
          "their service manager with a fixed list anyway. The definitions are in "
          "{folder}/units.{rules}\n\n{keep}\n\nBest wishes from the reading room\n"),
    World("ferry_bridge", "ship electrician", "bridge computer start", "email", "/opt/bridge", "sail", "X-Order",
          "turnon.txt", "watch.cron", ("gyro", "ais", "chart", "engine", "horn", "log", "radio", "rudder"), 0, "\n+ ",
          "Hello,\n\nbefore we leave port I need the bridge computer to come up in a known order. It was configured "
          "with units in {folder}/units; the spare one only knows a list and a crontab. Please prepare "
          "both.{rules}\n\n{keep}\n\nThe electrician\n"),
    World("greenhouse", "grower", "greenhouse controller", "ticket", "/var/lib/green", "grow", "X-Need", "queue.txt",
          "rounds.cron", ("water", "vents", "heater", "shade", "sensor", "dosing", "fans", "mist"), 1, "\n  - ",
          "#{number} greenhouse controller: replace service manager\n\nInput is {folder}/units (unit files like "
          "those of systemd), output goes beside it.{rules}\n\n{keep}\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "set": (
        "Started are {target}.target and everything it needs, directly or through others, by Requires= or Wants=; "
        "names without a unit file are ignored, and timers start nothing here.",
        "The set to start consists of {target}.target plus whatever is reachable from it over Requires= and Wants= "
        "(an absent unit file means the name is skipped, timers do not count).",
        "To be started: {target}.target and, transitively, the units in Requires= and Wants= of started units. A "
        "name for which there is no file is left out."),
    "install": (
        "WantedBy=X in the [Install] section of a unit counts like Wants= of it in X.",
        "A unit with WantedBy=X under [Install] is wanted by X as if X said so itself.",
        "[Install] WantedBy=X has the same effect as X naming the unit in Wants=."),
    "dropin": (
        "Files NAME.d/*.conf are read after unit NAME in the order of their names; lists grow with every assignment, "
        "and an empty one clears what was collected so far for that key.",
        "Drop-ins (NAME.d/*.conf, sorted by name) extend the unit NAME: each assignment of a list key adds to it, an "
        "empty assignment throws away its earlier entries.",
        "After a unit file its NAME.d/*.conf follow, by name. Assignments to a list accumulate; `Key=` with nothing "
        "resets that list."),
    "masked": (
        "A unit file that is a link to /dev/null is masked: the unit is not started and contributes nothing.",
        "Masked units (links to /dev/null) are neither started nor do they pull in others.",
        "A link to /dev/null instead of a unit file means: never start it."),
    "order": (
        "Write {folder}/{order}, one started unit per line, so that After= and Before= between started units hold; "
        "where several could be next, take the alphabetically first (plain byte order).",
        "{folder}/{order} lists the started units, one a line, respecting every After= and Before= among them. "
        "Whenever there is a choice the next line is the name that sorts first byte by byte.",
        "Result one is {folder}/{order}: all started units line by line in an order that satisfies their After= and "
        "Before= towards each other, always continuing with the alphabetically smallest (by bytes) of the units that "
        "may come next."),
    "cycle": (
        "Some After=/Before= form cycles among started units. While there is a cycle, delete one entry: of all "
        "entries whose two units lie on a common cycle take the one stated by the unit with the lowest {rank} (50 if "
        "it has none), then the stating unit whose name sorts first, then the entry that does; the order is that of "
        "the repaired units, which stay in {folder}/units.",
        "Ordering cycles among the units to start are to be removed in the unit files themselves, one entry at a "
        "time until none is left: candidates are the After= and Before= entries that connect two units of the same "
        "cycle, and out goes the one whose stating unit has the smallest {rank} (no {rank} means 50); ties are "
        "decided by the stating unit's name, then the named unit's. {order} is made after that.",
        "Repair {folder}/units first: as long as started units form an ordering cycle, remove a single After= or "
        "Before= entry joining two units that are on one cycle, namely that of the unit with least {rank} (default "
        "50), equal ones by name of the unit that states it and then by the name stated."),
    "cron": (
        "Write {folder}/{cron} with one line for every OnCalendar= of every timer: five cron fields (numbers, *, "
        "lists, ranges, steps), then the ExecStart= of the service that it triggers, the one in Unit= or else of the "
        "timer's name.",
        "{folder}/{cron} receives a crontab line per OnCalendar= entry of all timers, i.e. five numeric fields (with "
        "*, commas, - and / as needed) and the command, which is ExecStart= of the unit in Unit= or of the service "
        "with the timer's own name.",
        "Result two, {folder}/{cron}: for each OnCalendar= in a timer a crontab line with minute, hour, day, month, "
        "weekday in numeric cron notation and the ExecStart= of the triggered service (Unit=, if absent the same "
        "base name)."),
    "keep": (
        "Nothing else in the unit files may change.",
        "apart from that the unit files keep their settings.",
        "All other settings of the units remain."),
}
# fmt: on

TESTS = """
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
UNITS = FOLDER / "units"


def unit(name):
    # the effective settings of a unit: (section, key) -> entries
    found = {}
    for path in [UNITS / name, *sorted((UNITS / (name + ".d")).glob("*.conf"))]:
        section = ""
        for line in path.read_text().splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line[1:-1]
            elif "=" in line and line[0] not in "#;":
                key, value = (part.strip() for part in line.split("=", 1))
                entries = found.setdefault((section, key), [])
                if not value:
                    entries.clear()
                entries += value.split() if key in ("After", "Before", "Wants", "Requires") else [value] if value else []
    return found


def names():
    return sorted(path.name for path in UNITS.iterdir() if path.suffix != ".d")


def test_order():
    assert (FOLDER / TRUTH["order_file"]).read_text().split() == TRUTH["order"]


def test_entries():
    got = sorted([name, key, other] for name in names() for key in ("After", "Before") for other in set(unit(name).get(("Unit", key), [])))
    assert got == sorted(TRUTH["entries"])


def spread(text, low, high):
    values = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        else:
            first, _, last = span.partition("-")
            first, last = int(first), int(last or (high if step else first))
        assert low <= first <= last <= high, "field out of range: " + text
        values |= set(range(first, last + 1, int(step or 1)))
    return sorted(values)


def meaning(line):
    minute, hour, day, month, weekday, command = line.split(None, 5)
    days = sorted({n % 7 for n in spread(weekday, 0, 7)})
    return [spread(minute, 0, 59), spread(hour, 0, 23), spread(day, 1, 31), spread(month, 1, 12), days, command.strip()]


def test_timers():
    lines = [line for line in (FOLDER / TRUTH["cron_file"]).read_text().splitlines() if line.strip() and line[0] != "#"]
    assert sorted(map(meaning, lines)) == sorted(map(meaning, TRUTH["cron"]))


def test_other_settings_kept():
    rest = {}
    for name in names():
        for (section, key), values in unit(name).items():
            if key not in ("After", "Before") and values:
                rest[f"{name} {section} {key}"] = values
    assert hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest() == TRUTH["rest"]
"""
INITIAL = """
from pathlib import Path


def test_units_are_there():
    folder = Path(TRUTH["folder"])
    assert len(list((folder / "units").iterdir())) > 5
    assert not (folder / TRUTH["order_file"]).exists()
"""

PYTHON = r"""cd @F@ && python3 - <<'PY'
import heapq, os, re
from pathlib import Path
LISTS = ("After", "Before", "Wants", "Requires")
U = Path("units")
text, values, where = {}, {}, {}
names = sorted(p.name for p in U.iterdir() if not p.name.endswith(".d"))
masked = {n for n in names if (U / n).is_symlink()}
names = [n for n in names if n not in masked]
for n in names:
    v = values[n] = {}
    for path in [U / n, *sorted((U / (n + ".d")).glob("*.conf"))]:
        for line in path.read_text().splitlines():
            m = re.match(r"([\w-]+)\s*=\s*(.*)", line)
            if not m:
                continue
            entries = v.setdefault(m[1], [])
            if not m[2]:
                entries.clear()
            entries += m[2].split() if m[1] in LISTS else [m[2]]
pulls = {n: set(values[n].get("Wants", []) + values[n].get("Requires", [])) for n in names}
for n in names:
    for t in values[n].get("WantedBy", []):
        pulls.setdefault(t, set()).add(n)
started, todo = set(), ["@T@.target"]
while todo:
    n = todo.pop()
    if n in values and n not in started and not n.endswith(".timer"):
        started.add(n)
        todo += pulls[n]
entries = {(n, k, o) for n in started for k in ("After", "Before") for o in values[n].get(k, []) if o in started and o != n}
edge = lambda e: (e[2], e[0]) if e[1] == "After" else (e[0], e[2])
rank = lambda e: (int(values[e[0]].get("@K@", ["50"])[-1]), e[0], e[2])
def reach(edges):
    after = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)
    out = {}
    for n in started:
        seen, todo = set(), [n]
        while todo:
            for m in after.get(todo.pop(), ()):
                if m not in seen:
                    seen.add(m)
                    todo.append(m)
        out[n] = seen
    return out
while True:
    r = reach(map(edge, entries))
    bad = [e for e in entries if e[0] in r[e[2]] and e[2] in r[e[0]]]
    if not bad:
        break
    victim = min(bad, key=rank)
    entries.discard(victim)
    n, k, o = victim
    for path in [U / n, *sorted((U / (n + ".d")).glob("*.conf"))]:
        lines = []
        for line in path.read_text().splitlines():
            if re.match(k + r"\s*=", line):
                head, tail = line.split("=", 1)
                kept = [w for w in tail.split() if w != o]
                if tail.split() and not kept:
                    continue
                line = head + "=" + " ".join(kept)
            lines.append(line)
        path.write_text("\n".join(lines) + "\n")
before = {n: 0 for n in started}
edges = set(map(edge, entries))
for a, b in edges:
    before[b] += 1
heap = [n for n in started if not before[n]]
heapq.heapify(heap)
order = []
while heap:
    n = heapq.heappop(heap)
    order.append(n)
    for a, b in edges:
        if a == n:
            before[b] -= 1
            if not before[b]:
                heapq.heappush(heap, b)
Path("@O@").write_text("\n".join(order) + "\n")
DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
SHORT = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *"}
def number(field):
    field = field.replace("..", "-")
    if "/" in field:
        start, step = field.split("/")
        return "*/" + step if int(start) == 0 else start.lstrip("0") + "-59/" + step
    return re.sub(r"\b0+(\d)", r"\1", field)
def cron(when):
    if when in SHORT:
        return SHORT[when]
    week, date = "*", "*-*-*"
    for part in when.split():
        if part[0].isalpha():
            week = re.sub("[A-Z][a-z]+", lambda m: str(DAYS.index(m[0])), part).replace("..", "-")
        elif ":" in part:
            hour, minute = part.split(":")[:2]
        else:
            date = part
    _, month, day = date.split("-")
    return f"{number(minute)} {number(hour)} {number(day)} {number(month)} {week}"
with open("@C@", "w") as out:
    for n in names:
        if n.endswith(".timer"):
            service = values[n].get("Unit", [n[:-6] + ".service"])[-1]
            for when in values[n]["OnCalendar"]:
                out.write(cron(when) + " " + values[service]["ExecStart"][-1] + "\n")
PY
"""
PERL = r"""cd @F@ && cat > /tmp/boot.pl <<'PL'
use strict; my (%v, %start, %pull, @e); my %list = map { ($_ => 1) } qw(After Before Wants Requires);
sub parts { my $n = shift; ("units/$n", sort glob("units/$n.d/*.conf")) }
for my $n (map { s{units/}{}r } grep { !-d and !-l } glob("units/*")) { $v{$n} = {};
  for my $p (parts($n)) { open my $f, "<", $p; while (<$f>) { next unless /^([\w-]+)\s*=\s*(.*?)\s*$/; my ($k, $x) = ($1, $2);
    if ($x eq "") { $v{$n}{$k} = []; next } push @{$v{$n}{$k}}, $list{$k} ? split(" ", $x) : $x } } }
for my $n (keys %v) { push @{$pull{$n}}, @{$v{$n}{Wants} || []}, @{$v{$n}{Requires} || []};
  push @{$pull{$_}}, $n for @{$v{$n}{WantedBy} || []} }
my @todo = ("@T@.target"); while (@todo) { my $n = shift @todo; next if !$v{$n} or $start{$n}++ or $n =~ /timer$/;
  push @todo, @{$pull{$n} || []} } delete @start{grep { !$v{$_} or /timer$/ } keys %start};
for my $n (keys %start) { for my $k (qw(After Before)) { my %s;
  push @e, [$n, $k, $_] for grep { $start{$_} and $_ ne $n and !$s{$_}++ } @{$v{$n}{$k} || []} } }
sub ends { my $e = shift; $e->[1] eq "After" ? @$e[2, 0] : @$e[0, 2] }
sub closure { my %r; for (@e) { my ($a, $b) = ends($_); $r{$a}{$b} = 1 }
  for my $k (keys %start) { for my $i (keys %start) { next unless $r{$i}{$k}; $r{$i}{$_} = 1 for keys %{$r{$k}} } } \%r }
sub prio { my $x = $v{$_[0]}{"@K@"}; $x ? $x->[-1] : 50 }
while (1) { my $r = closure(); my @bad = grep { my ($a, $b) = ends($_); $r->{$b}{$a} } @e; last unless @bad;
  my ($x) = sort { prio($a->[0]) <=> prio($b->[0]) or $a->[0] cmp $b->[0] or $a->[2] cmp $b->[2] } @bad;
  @e = grep { $_ != $x } @e; my ($n, $k, $o) = @$x;
  for my $p (parts($n)) { open my $f, "<", $p; my @l = <$f>; close $f; my @out;
    for (@l) { if (/^$k\s*=\s*\S/) { my ($h, $t) = split /=/, $_, 2; my @w = grep { $_ ne $o } split " ", $t;
      next unless @w; $_ = "$h=@w\n" } push @out, $_ }
    open $f, ">", $p; print $f @out } }
my %need; for (@e) { my ($a, $b) = ends($_); $need{$b}{$a} = 1 } open my $f, ">", "@O@"; my %left = %start;
while (%left) { my ($n) = sort grep { my $u = $_; !grep { $left{$_} } keys %{$need{$u} || {}} } keys %left;
  print $f "$n\n"; delete $left{$n} } close $f;
my %d = (Sun => 0, Mon => 1, Tue => 2, Wed => 3, Thu => 4, Fri => 5, Sat => 6);
my %short = (hourly => "*-*-* *:00", daily => "*-*-* 00:00", weekly => "Mon *-*-* 00:00", monthly => "*-*-01 00:00");
open $f, ">", "@C@"; for my $t (sort grep { /timer$/ } keys %v) { (my $s = $t) =~ s/timer$/service/; $s = $v{$t}{Unit}[-1] if $v{$t}{Unit};
  for (@{$v{$t}{OnCalendar}}) { my $w = $short{$_} || $_; my $week = "*"; $week = $1 if $w =~ s/^([A-Z]\S+)\s+//;
    $week =~ s/([A-Z][a-z]+)/$d{$1}/g; my ($mon, $day) = $w =~ /^\S+?-(\S+)-(\S+)\s/ ? ($1, $2) : ("*", "*");
    my ($h, $m) = $w =~ /(\S+?):([^:\s]+)(?::00)?$/; my @f = ($m, $h, $day, $mon, $week);
    for (@f) { s/\.\./-/g; s{^0+/}{*/}; s{^(\d+)/}{$1-59/}; s/\b0+(?=\d)//g } print $f "@f $v{$s}{ExecStart}[-1]\n" } }
PL
perl /tmp/boot.pl; rm -f /tmp/boot.pl
"""


@dataclass
class Unit:
    """A unit as drawn. `extra` holds the lists that stand in a drop-in, `reset` keys that the drop-in clears first."""

    name: str
    rank: int | None = None
    lists: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    extra: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    reset: tuple[str, ...] = ()
    wanted_by: str = ""

    def add(self, key: str, other: str, in_extra: bool = False) -> None:
        """Put a name into a list; nothing is both before and after the same unit."""
        opposite = {"After": "Before", "Before": "After"}.get(key, "")
        for lists in (self.lists, self.extra):
            if other in lists.get(opposite, []):
                lists[opposite].remove(other)
        entries = (self.extra if in_extra else self.lists).setdefault(key, [])
        if other not in entries:
            entries.append(other)

    def entries(self, key: str) -> list[str]:
        """The effective list."""
        base = [] if key in self.reset else self.lists.get(key, [])
        return list(dict.fromkeys([*base, *self.extra.get(key, [])]))


def started(units: Mapping[str, Unit], target: str) -> set[str]:
    """What the target pulls in."""
    done: set[str] = set()
    todo = [target]
    while todo:
        name = todo.pop()
        if name in done or name not in units:
            continue
        done.add(name)
        todo += [*units[name].entries("Wants"), *units[name].entries("Requires")]
        todo += [unit.name for unit in units.values() if unit.wanted_by == name]
    return done


def ends(statement: Statement) -> tuple[str, str]:
    """First and second of the two units."""
    unit, key, other = statement
    return (other, unit) if key == "After" else (unit, other)


def reachable(statements: Iterable[Statement]) -> dict[str, set[str]]:
    """Which units come later, for each."""
    later: dict[str, set[str]] = {}
    for statement in statements:
        first, second = ends(statement)
        later.setdefault(first, set()).add(second)
    result: dict[str, set[str]] = {}
    for start in later:
        seen: set[str] = set()
        todo = [start]
        while todo:
            fresh = later.get(todo.pop(), set()) - seen
            seen |= fresh
            todo += fresh
        result[start] = seen
    return result


def break_cycles(units: Mapping[str, Unit], statements: set[Statement]) -> list[Statement]:
    """The statements to delete, in order."""
    left, removed = set(statements), list[Statement]()
    while True:
        later = reachable(left)
        bad = [s for s in left if ends(s)[0] in later.get(ends(s)[1], ())]
        if not bad:
            return removed

        def place(statement: Statement) -> tuple[int, str, str]:
            rank = units[statement[0]].rank
            return (50 if rank is None else rank, statement[0], statement[2])

        removed.append(min(bad, key=place))
        left.discard(removed[-1])


def start_order(names: set[str], statements: Iterable[Statement]) -> list[str]:
    """Alphabetical among those that may be next."""
    pairs = {ends(s) for s in statements}
    order: list[str] = []
    left = set(names)
    while left:
        blocked = {second for first, second in pairs if first in left}
        order.append(min(left - blocked))
        left.discard(order[-1])
    return order


def draw_units(draw: Draw, world: World, count: int, level: int) -> dict[str, Unit]:
    """An acyclic set of units, then what makes it interesting."""
    target = f"{world.target}.target"
    names = [
        f"{word}{number or ''}.service"
        for number in range(count // len(world.words) + 1)
        for word in draw.shuffled(world.words)
    ][:count]
    units = {name: Unit(name, draw.between(1, 9) * 10 if draw.chance(70) else None) for name in [target, *names]}
    for number, name in enumerate(names):
        parent = draw.pick([target, *names[:number]][-6:]) if number > 2 else target
        units[parent].add(draw.pick(("Wants", "Requires")), name)
        for other in draw.sample(
            names[:number], min(number, draw.between(1, 2))
        ):  # earlier in the list means earlier in time
            if draw.chance(60):
                units[name].add("After", other)
            else:
                units[other].add("Before", name)
        if draw.chance(60):
            units[target].add("After", name)
    units[target].add("Wants", "absent.service")
    a, b, c, d = names[0], names[1], names[2], names[3]
    units["spare.service"] = Unit(
        "spare.service", 1, {"Before": [a], "After": [names[-1]]}
    )  # not started: would close a cycle
    if level:  # a two-unit cycle whose lowest rank is tied, and a longer one
        units[a].rank = units[b].rank = 5
        units[b].add("After", a)
        units[a].add("After", b)
        units[c].add("After", b)
        units[d].add("After", c)
        units[b].add("After", d)
        units[d].rank, units[c].rank = 7, 9
    if level == 2:
        units[c].add("Before", d, in_extra=True)  # says the same as d does: both entries may have to go
        units[c].rank = 6
        units[names[5]].add("After", names[9])  # cleared by the drop-in
        units[names[5]].reset = ("After",)
        units[names[5]].extra["After"] = [names[4]]
        units[names[-1]].wanted_by = target
        for unit in units.values():
            for key in ("Wants", "Requires"):
                if names[-1] in unit.lists.get(key, []):
                    unit.lists[key].remove(names[-1])
        for first, second in ((6, 10), (7, 12)):
            units[names[second]].add("After", names[first])
            units[names[first]].add("After", names[second], in_extra=True)
        units[target].add("Wants", "silent.service")  # masked
    return units


TIMES = (
    ("daily", "0 0 * * *"),
    ("weekly", "0 0 * * 1"),
    ("monthly", "0 0 1 * *"),
    ("hourly", "0 * * * *"),
    ("Mon..Fri *-*-* {h:02d}:{m:02d}:00", "{m} {h} * * 1-5"),
    ("*-*-* {h:02d}:{m:02d}:00", "{m} {h} * * *"),
    ("*:0/{s}", "*/{s} * * * *"),
    ("Sat,Sun *-*-* {h:02d}:{m:02d}", "{m} {h} * * 6,0"),
    ("*-*-{d:02d} {h:02d}:{m:02d}:00", "{m} {h} {d} * *"),
    ("*-01,07-{d:02d} {h:02d}:00:00", "0 {h} {d} 1,7 *"),
    ("*-*-* 08..17:{m:02d}:00", "{m} 8-17 * * *"),
)


def draw_timers(draw: Draw, world: World, count: int, level: int) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Unit files of timers, of the services they trigger, and the cron lines."""
    timers: dict[str, str] = {}
    services: dict[str, str] = {}
    lines: list[str] = []
    for number in range(count):
        service = f"job-{draw.pick(world.words)}{number}"
        command = f"/usr/local/bin/{service} --keep {draw.between(2, 30)}"
        services[f"{service}.service"] = (
            f"[Unit]\nDescription={service}\n\n[Service]\nType=oneshot\nExecStart={command}\n"
        )
        other = number % 3 == 1
        timer = f"run-{number}" if other else service
        text = f"[Unit]\nDescription=timer {number}\n\n[Timer]\n" + (f"Unit={service}.service\n" if other else "")
        for _ in range(2 if level == 2 and number % 4 == 2 else 1):
            form, cron = TIMES[number * 2 % len(TIMES)] if number < 6 else draw.pick(TIMES)
            values = {
                "h": draw.between(0, 23),
                "m": draw.between(1, 59),
                "s": draw.pick((5, 10, 15, 20)),
                "d": draw.between(2, 28),
            }
            text += f"OnCalendar={form.format(**values)}\n"
            lines.append(f"{cron.format(**values)} {command}")
        timers[f"{timer}.timer"] = text + "Persistent=true\n"
    return timers, services, lines


def unit_text(unit: Unit, world: World) -> str:
    """The unit file."""
    text = f"[Unit]\nDescription={unit.name.split('.')[0]} of {world.scenario}\n"
    text += "" if unit.rank is None else f"{world.rank}={unit.rank}\n"
    text += "".join(f"{key}={' '.join(entries)}\n" for key, entries in unit.lists.items() if entries)
    if unit.name.endswith(".service"):
        text += f"\n[Service]\nExecStart=/usr/local/bin/{unit.name[:-8]} -f\n"
    return text + (f"\n[Install]\nWantedBy={unit.wanted_by}\n" if unit.wanted_by else "")


def other_settings(files: Mapping[str, str]) -> str:
    """A digest of all settings but After and Before, in the form the guard computes."""
    rest: dict[str, list[str]] = {}
    for path in sorted(files):
        name, section = path.split("/")[0].removesuffix(".d"), ""
        for line in files[path].splitlines():
            if line.startswith("["):
                section = line[1:-1]
            elif "=" in line and not line.startswith(("After", "Before")):
                key, value = line.split("=", 1)
                entries = value.split() if key in ("Wants", "Requires") else [value]
                rest.setdefault(f"{name} {section} {key}", []).extend(entries)
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def draft(draw: Draw) -> Draft:
    """One boot."""
    world = draw.setting(SETTINGS)
    level = draw.by_difficulty(easy=0, medium=1, hard=2)
    units = draw_units(draw, world, draw.by_difficulty(easy=8, medium=14, hard=30), level)
    timers, services, cron = draw_timers(draw, world, draw.by_difficulty(easy=4, medium=7, hard=12), level)
    target = f"{world.target}.target"
    names = started(units, target)
    every = [(u.name, key, other) for u in units.values() for key in ("After", "Before") for other in u.entries(key)]
    live = {s for s in every if s[0] in names and s[2] in names}
    removed = break_cycles(units, live)
    files = {unit.name: unit_text(unit, world) for unit in units.values()} | timers | services
    for unit in units.values():
        if unit.extra:
            lines = [f"{key}=" for key in unit.reset] + [
                f"{key}={' '.join(entries)}" for key, entries in unit.extra.items()
            ]
            files[f"{unit.name}.d/10-local.conf"] = "\n".join(["[Unit]", *lines]) + "\n"
    where = {
        "folder": world.folder,
        "target": world.target,
        "rank": world.rank,
        "order": world.order,
        "cron": world.cron,
    }
    absent = {"cycle"} if not level else set[str]()
    absent |= {"install", "dropin", "masked"} if level < 2 else set[str]()
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items() if key not in absent}
    keep = rules.pop("keep")
    instruction = world.text.format(
        number=draw.between(100, 999), rules=world.bullet + world.bullet.join(rules.values()), keep=keep, **where
    )
    fill = {"@F@": world.folder, "@T@": world.target, "@K@": world.rank, "@O@": world.order, "@C@": world.cron}
    weights = (
        {"test_order": 0.5, "test_entries": 0.25, "test_timers": 0.25}
        if level
        else {"test_order": 0.6, "test_timers": 0.4}
    )
    cited = {"cron": ["test_timers"], "cycle": ["test_order", "test_entries"]}
    variants: list[tuple[str, str, str, str, Sequence[str]]] = [
        (
            "all_units",
            "orders units that are not started",
            'todo = set(), ["@T@.target"]',
            "todo = set(), list(names)",
            ["test_order"],
        ),
        ("sunday_first", "writes the week from 1 for Sunday", '"Sun", "Mon"', '"None", "Sun", "Mon"', ["test_timers"]),
    ]
    if level:
        variants += [
            (
                "highest_goes",
                "deletes the entry of the highest rank",
                "min(bad, key=rank)",
                "max(bad, key=rank)",
                ["test_order", "test_entries"],
            ),
            (
                "files_left",
                "repairs in memory only",
                'path.write_text("\\n".join(lines) + "\\n")',
                "pass",
                ["test_entries"],
            ),
        ]
    mask = f"RUN ln -s /dev/null {world.folder}/units/silent.service\n" if level == 2 else ""
    return Draft(
        title=f"Boot order: {world.scenario}",
        setting=world,
        instruction=instruction,
        files={f"units/{name}": text for name, text in files.items()},
        dockerfile=f"COPY units {world.folder}/units/\n{mask}WORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "order_file": world.order,
            "cron_file": world.cron,
            "order": start_order(names, live - set(removed)),
            "entries": sorted(list(s) for s in set(every) - set(removed)),
            "cron": cron,
            "rest": other_settings(files),
        },
        discoverable=("folder", "order_file", "cron_file", "order", "entries"),
        tests=TESTS,
        weights=weights,
        guards=["test_other_settings_kept"] if level else ["test_other_settings_kept", "test_entries"],
        initial=INITIAL,
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {old: new, **fill}), caught) for name, why, old, new, caught in variants
        ],
        requirements=[
            *((text, cited.get(key, ["test_order"])) for key, text in rules.items()),
            (keep, ["test_other_settings_kept", "test_entries"]),
        ],
        knobs={"units": len(units), "timers": len(timers), "cycles_broken": len(removed), "drop_ins": level == 2},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="unit_order",
    domain="system_administration",
    verifier=Verifier.EXACT_TEXT,
    skills=("service units", "topological order", "cycle breaking", "cron"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
