"""Clean sensor series by stated rules: retransmissions, unit switches, stuck values, spikes, gaps, clocks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, HOST_WORDS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `standard` = (`other` - shift) * factor."""

    folder: str
    source: str  # name of the readings file
    columns: tuple[str, str, str]  # device, time, value
    standard: str
    other: str
    formula: str
    factor: float
    shift: float
    wording: int
    text: str


@dataclass(frozen=True)
class Plan:
    """What the rules say in this task."""

    step: int  # minutes between slots
    slots: int
    stuck: int
    gap: int
    low: float
    high: float
    jump: float  # 0: no spike rule
    table: bool  # unit changes are listed in a file of their own
    clocks: bool


@dataclass(frozen=True)
class Row:
    """A line of the readings file, before it is printed."""

    device: str
    slot: int
    value: int  # hundredths, as sent
    unit: str


TEXTS = (
    """Hello,

the {what} of {firm} have to go into the yearly model and nobody has cleaned them yet. {inputs}

{rules}

{outputs}

{untouched}

Best, {persona}
""",
    """[DATA-{ticket}] {firm}: cleaning run for {what}

Context: {inputs}
Acceptance:
{bullets}
Deliverables: {outputs}
Constraint: {untouched}
""",
    """todo {what}
{inputs}
{rules}
{outputs} {untouched}
""",
    """Quality control of {what}, procedure {ticket}

A. Material. {inputs}
B. Treatment. {rules}
C. Records. {outputs}
D. Custody. {untouched}
""",
)

SETTINGS = (
    World("greenhouse", "agronomist", "greenhouse temperatures", "email", "/srv/greenhouse", "probes.csv",
          ("probe", "taken_at", "reading"), "C", "F", "C = (F - 32) * 5 / 9", 5 / 9, 32.0, 0, TEXTS[0]),
    World("pipeline", "integrity engineer", "pipeline pressures", "ticket", "/data/pipeline", "pressure.csv",
          ("gauge", "stamp", "level"), "bar", "atm", "bar = atm * 1.01325", 1.01325, 0.0, 1, TEXTS[1]),
    World("river", "hydrologist", "river stages", "specification", "/opt/hydro/raw", "stage.csv",
          ("station", "observed", "height"), "dm", "in", "dm = in * 0.254", 0.254, 0.0, 2, TEXTS[3]),
    World("windpark", "turbine analyst", "wind speeds", "note", "/home/wind/scada", "anemometers.csv",
          ("mast", "utc", "speed"), "m/s", "km/h", "m/s = km/h / 3.6", 1 / 3.6, 0.0, 1, TEXTS[2]),
    World("brewery", "process chemist", "fermenter temperatures", "runbook", "/var/lib/brew", "tanks.csv",
          ("tank", "logged", "temp"), "degC", "degF", "degC = (degF - 32) * 5 / 9", 5 / 9, 32.0, 2, TEXTS[1]),
    World("livestock", "farm manager", "feed scale weights", "chat", "/srv/farm/scales", "weights.csv",
          ("scale", "at", "weight"), "kg", "lb", "kg = lb * 0.45359237", 0.45359237, 0.0, 0, TEXTS[2]),
    World("aquifer", "groundwater specialist", "well depths", "ticket", "/work/wells", "depths.csv",
          ("well", "measured_on", "depth"), "m", "ft", "m = ft * 0.3048", 0.3048, 0.0, 0, TEXTS[3]),
    World("generators", "plant electrician", "generator loads", "email", "/opt/plant/load", "load.csv",
          ("unit_no", "clock", "power"), "kW", "hp", "kW = hp * 0.7457", 0.7457, 0.0, 2, TEXTS[0]),
)  # fmt: skip

INPUTS = (
    "{path} has one line per reading with the columns {d}, {t}, {v}{unit_column}; every {d} should deliver one "
    "reading per slot, and the "
    "slots run from {first} every {step} minutes to {last}, both included.",
    "Readings: {path} (header {d},{t},{v}{unit_column_short}). Expected is a value of each {d} for {first} and "
    "then every {step} minutes, the last "
    "slot being {last}.",
    "Source is {path}, columns {d}/{t}/{v}{unit_column_slash}. The time grid starts at {first}, ends with {last} "
    "and has a slot each {step} "
    "minutes for each {d}.",
)
RULES: dict[str, tuple[str, str, str]] = {
    "clock": (
        "Clocks are off: clocks.csv in the same folder gives for each {d} the seconds its clock is ahead "
        "(negative: behind), so subtract them and "
        "then move the reading to the nearest slot.",
        "First repair the time: true time = {t} minus ahead_s of that {d} in clocks.csv next to it (may be "
        "negative), then round to the closest slot.",
        "Devices do not keep time; the corrected time is {t} less the ahead_s that clocks.csv, in the same "
        "directory, states for the {d}, and a reading "
        "belongs to the slot nearest to its corrected time.",
    ),
    "double": (
        "Where a {d} has several readings for one slot, it sent again and only the one furthest down in the file "
        "counts.",
        "Resent readings: of those of one {d} in one slot keep the last in file order, drop the others.",
        "A slot of a {d} that occurs more than once is a correction; the line that comes latest in the file "
        "replaces the earlier ones.",
    ),
    "sentinel": (
        "A {v} of -999.00 means that nothing was measured and counts as no reading at all, also when it is the "
        "line that counts.",
        "-999.00 is the device's way to say 'no reading': treat a slot whose counting line says so as empty.",
        "Should the line that counts carry -999.00, then the slot is empty (not measured).",
    ),
    "stuck": (
        "A device that repeats exactly the same {v} as sent in {stuck} or more slots in a row is stuck, and all "
        "readings of such a run are thrown "
        "away; an empty slot ends a run.",
        "Stuck = {stuck} consecutive slots or more with an identical {v} (as sent, before any conversion, an "
        "empty slot interrupts): discard the "
        "whole run including its first reading.",
        "If the {v} as sent does not change over at least {stuck} adjacent slots, the device hung: every reading "
        "of that stretch is removed, the "
        "first too. Empty slots separate stretches.",
    ),
    "unit_column": (
        "What remains is brought to {std}: readings whose unit is {oth} are converted with {formula}.",
        "Then convert {oth} to {std} ({formula}); the unit column tells which is which.",
        "Results are in {std}; a reading marked {oth} in the unit column is converted by {formula}.",
    ),
    "unit_table": (
        "What remains is brought to {std} with {formula}: changes.csv lists from which slot on (that slot "
        "included) a {d} sends which unit, until "
        "its next change; before its first change a {d} sends {std}, and the lines are in no order.",
        "Then convert {oth} to {std} ({formula}). Which unit a {d} sent is in changes.csv, unsorted: a line "
        "holds from its slot (inclusive) to the next "
        "line of that {d}; without an earlier line it is {std}.",
        "Results are in {std}, converted by {formula} where needed. changes.csv (not sorted) says which unit a "
        "{d} uses beginning with a slot; it "
        "lasts until another line of the same {d} takes over, and {std} holds until the first.",
    ),
    "range": (
        "Anything then below {low} or above {high} {std} is out of range and is thrown away too.",
        "Next drop values under {low} {std} or over {high} {std} as out of range.",
        "After that, values outside {low} to {high} {std} are removed as out of range.",
    ),
    "spike": (
        "Of the values left, one is a spike if both the slot before and the slot after hold a value and it is "
        "more than {jump} {std} above both or more "
        "than {jump} {std} below both; find all spikes first, then remove them together.",
        "Next spikes, all judged on the same data before any is removed: a value exceeding both direct "
        "neighbours by more than {jump} {std}, or "
        "lying under both by more than {jump} {std}; if a neighbouring slot is empty it is no spike.",
        "Then spikes are removed, all at the same time: a value that is higher than the values of the previous "
        "and of the next slot by more than "
        "{jump} {std} each, or lower by more than {jump} {std} each. Both these slots must hold a value.",
    ),
    "fill": (
        "Finally gaps of at most {gap} empty slots between two values are filled on the straight line between "
        "those two; longer gaps and gaps at "
        "the ends stay empty.",
        "Last step, linear interpolation over gaps of up to {gap} slots having a value on both sides. Anything "
        "longer, or at the start or end of the "
        "series, remains empty.",
        "To finish, an inner gap no longer than {gap} slots is bridged linearly from the value before it to the "
        "value after it; no other gap is filled.",
    ),
}
OUTPUTS = (
    "Write {folder}/clean.csv with the header {d},slot,value,status and a line for every {d} and slot, sorted by "
    "{d} and then slot, slots written like "
    "{first}, values in {std} with three decimals; status is ok, filled or empty, and value is blank when it is "
    "empty.",
    "clean.csv in {folder}: header {d},slot,value,status; all slots of all {d}s ordered by {d} and slot (format "
    "{first}); value to 3 decimals in {std}, "
    "nothing there if the slot is empty; status one of ok (measured), filled (interpolated), empty.",
    "The series go to {folder}/clean.csv (columns {d}, slot, value, status in this order, one line per {d} and "
    "slot, ascending by {d} then slot). Slots "
    "look like {first}; value has three decimals and is left blank for empty slots; status says ok, filled or empty.",
)
REPORTS = (
    "Also write {folder}/faults.json: an object from each {d} to an object with the numbers resent (lines "
    "replaced by a later one), stuck{range_key}{spike_key}, "
    "filled and empty (slots), and mean, the mean of all its values in clean.csv, to four decimals.",
    "Besides, faults.json there holds per {d} an object: resent (count of lines that a later line replaced), "
    "stuck{range_key}{spike_key} (readings dropped for "
    "that reason), filled, empty (slots), mean (average of the ok and filled values, 4 decimals).",
    "A summary {folder}/faults.json maps every {d} to resent, stuck{range_key}{spike_key}, filled, empty and "
    "mean: how many lines were replaced, how many readings "
    "each rule removed, how many slots ended up filled or empty, and the average over ok and filled values with "
    "four decimals.",
)
UNTOUCHED = (
    "The files that are there now must stay exactly as they are.",
    "Do not change any of the input files.",
    "Input files are archived by checksum and are not to be modified.",
)

TESTS = """
import csv
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def lines():
    with open(FOLDER / "clean.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert [cell.strip() for cell in rows[0]] == [TRUTH["device_column"], "slot", "value", "status"], rows[0]
    return [row for row in rows[1:] if row]


def test_slots_and_status():
    letters = {"ok": "o", "filled": "f", "empty": "e"}
    wanted = [(device, slot) for device in sorted(TRUTH["series"]) for slot in TRUTH["slots"]]
    got = lines()
    assert [(row[0], row[1]) for row in got] == wanted, "devices and slots"
    statuses = "".join(TRUTH["series"][device]["status"] for device in sorted(TRUTH["series"]))
    assert "".join(letters.get(row[3], "?") for row in got) == statuses, "status"


def test_values():
    wanted = [value for device in sorted(TRUTH["series"]) for value in TRUTH["series"][device]["milli"]]
    got = lines()
    assert len(got) == len(wanted), "number of lines"
    for row, milli in zip(got, wanted):
        if milli is None:
            assert row[2].strip() == "", row
        else:
            assert row[2].strip() and abs(float(row[2]) - milli / 1000) < 0.0021, row


def test_faults():
    got = json.loads((FOLDER / "faults.json").read_text())
    assert set(got) == set(TRUTH["faults"])
    for device, wanted in TRUTH["faults"].items():
        assert set(got[device]) == set(wanted), device
        for key, value in wanted.items():
            assert abs(got[device][key] - value) < (0.0021 if key == "mean" else 1e-9), (device, key)


def test_inputs_untouched():
    for name, digest in TRUTH["inputs"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_only_inputs_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "clean.csv").exists() and not (folder / "faults.json").exists()
"""

SOLUTION = """cd @FOLDER@ && python3 - <<'PY'
import csv, json, os
from datetime import datetime, timedelta, timezone
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
first = datetime.strptime("@FIRST@", FORMAT)
step, slots = @STEP@ * 60, @SLOTS@
names = [(first + timedelta(seconds=step * i)).strftime(FORMAT) for i in range(slots)]
ahead = {}
if os.path.exists("clocks.csv"):
    ahead = {r["@D@"]: int(r["ahead_s"]) for r in csv.DictReader(open("clocks.csv"))}
rows = list(csv.DictReader(open("@SOURCE@")))
devices = sorted({r["@D@"] for r in rows})
raw = {d: [None] * slots for d in devices}
unit = {d: ["@STD@"] * slots for d in devices}
resent = dict.fromkeys(devices, 0)
for r in rows:
    d = r["@D@"]
    seconds = (datetime.strptime(r["@T@"], FORMAT) - first).total_seconds() - ahead.get(d, 0)
    i = int((seconds + step / 2) // step)
    if raw[d][i] is not None:
        resent[d] += 1
    raw[d][i] = r["@V@"]
    unit[d][i] = r.get("unit", "@STD@")
if os.path.exists("changes.csv"):
    for r in sorted(csv.DictReader(open("changes.csv")), key=lambda r: r["from"]):
        for i in range(names.index(r["from"]), slots):
            unit[r["@D@"]][i] = r["unit"]
faults = {}
with open("clean.csv", "w") as out:
    out.write("@D@,slot,value,status\\n")
    for d in devices:
        f = dict.fromkeys(["stuck", "range", "spike"], 0)
        r = [None if v == "-999.00" else v for v in raw[d]]
        keep = [v is not None for v in r]
        i = 0
        while i < slots:
            j = i
            while j < slots and r[j] is not None and r[j] == r[i]:
                j += 1
            if j - i >= @STUCK@:
                f["stuck"] += j - i
                keep[i:j] = [False] * (j - i)
            i = max(j, i + 1)
        x = [None] * slots
        for i in range(slots):
            if keep[i]:
                v = float(r[i])
                x[i] = (v - @SHIFT@) * @FACTOR@ if unit[d][i] == "@OTH@" else v
                if not @LOW@ <= x[i] <= @HIGH@:
                    x[i] = None
                    f["range"] += 1
        J = @JUMP@
        bad = [i for i in range(1, slots - 1) if J and None not in x[i - 1:i + 2]
               and (x[i] - max(x[i - 1], x[i + 1]) > J or min(x[i - 1], x[i + 1]) - x[i] > J)]
        for i in bad:
            x[i] = None
        f["spike"] = len(bad)
        status = ["ok" if v is not None else "empty" for v in x]
        known = [i for i in range(slots) if x[i] is not None]
        for a, b in zip(known, known[1:]):
            if 1 < b - a <= @GAP@ + 1:
                for i in range(a + 1, b):
                    x[i] = x[a] + (x[b] - x[a]) * (i - a) / (b - a)
                    status[i] = "filled"
        for i in range(slots):
            out.write("%s,%s,%s,%s\\n" % (d, names[i], "" if x[i] is None else "%.3f" % x[i], status[i]))
        values = [v for v in x if v is not None]
        faults[d] = {"resent": resent[d], **{k: f[k] for k in "@KEYS@".split()}, "filled": status.count("filled"),
                     "empty": status.count("empty"), "mean": round(sum(values) / len(values), 4)}
json.dump(faults, open("faults.json", "w"), indent=1)
PY
"""

ALTERNATIVE = """cd @FOLDER@
for f in clocks changes; do if [ -f $f.csv ]; then cp $f.csv /tmp/$f.csv; else echo > /tmp/$f.csv; fi; done
TZ=UTC gawk -F, -v STEP=@STEP@ -v N=@SLOTS@ -v K=@STUCK@ -v G=@GAP@ \\
  -v LO=@LOW@ -v HI=@HIGH@ -v J=@JUMP@ -v KEYS="@KEYS@" '
function secs(t) { gsub(/[-T:Z]/, " ", t); return mktime(t) }
{ sub(/\\r$/, "") }
FNR == 1 { part++; next }
part == 1 { ahead[$1] = $2; next }
part == 2 { n[$1]++; at[$1, n[$1]] = secs($2); to[$1, n[$1]] = $3; next }
{ s = secs($2) - secs("@FIRST@") - ahead[$1]; i = int((s + STEP * 30) / (STEP * 60))
  known[$1]; if (($1, i) in raw) again[$1]++; raw[$1, i] = $3; unit[$1, i] = $4 }
END {
  print "@D@,slot,value,status" > "clean.csv"; printf "{" > "faults.json"
  m = asorti(known, order)
  for (o = 1; o <= m; o++) {
    d = order[o]; delete x; delete c; split("", run); filled = empty = total = count = 0
    c["stuck"] = c["range"] = c["spike"] = 0
    for (i = 0; i < N; i++) if (raw[d, i] == "-999.00") raw[d, i] = ""
    for (i = 0; i < N; i++) run[i] = (i && raw[d, i] != "" && raw[d, i] "" == raw[d, i - 1] "") ? run[i - 1] + 1 : 1
    for (i = N - 2; i >= 0; i--) if (raw[d, i] != "" && raw[d, i] "" == raw[d, i + 1] "") run[i] = run[i + 1]
    for (i = 0; i < N; i++) if (raw[d, i] != "") {
      if (run[i] >= K) { c["stuck"]++; continue }
      u = unit[d, i]; t = secs("@FIRST@") + i * STEP * 60; best = -1
      for (q = 1; q <= n[d]; q++) if (at[d, q] <= t && at[d, q] > best) { best = at[d, q]; u = to[d, q] }
      v = raw[d, i] + 0; if (u == "@OTH@") v = (v - @SHIFT@) * @FACTOR@
      if (v < LO || v > HI) c["range"]++; else x[i] = v
    }
    split("", bad)
    for (i = 1; i < N - 1; i++) if (J && (i in x) && (i - 1 in x) && (i + 1 in x)) {
      a = x[i] - x[i - 1]; b = x[i] - x[i + 1]
      if ((a > J && b > J) || (a < -J && b < -J)) bad[i]
    }
    for (i in bad) { delete x[i]; c["spike"]++ }
    last = -1
    for (i = 0; i < N; i++) {
      if (i in x) { last = i; v = x[i]; s = "ok" } else {
        for (e = i; e < N && !(e in x); e++);
        if (last >= 0 && e < N && e - last - 1 <= G) {
          v = x[last] + (x[e] - x[last]) * (i - last) / (e - last); s = "filled"; filled++
        } else { s = "empty"; empty++ }
      }
      if (s != "empty") { total += v; count++ }
      t = strftime("%Y-%m-%dT%H:%M:%SZ", secs("@FIRST@") + i * STEP * 60, 1)
      printf "%s,%s,%s,%s\\n", d, t, (s == "empty" ? "" : sprintf("%.3f", v)), s > "clean.csv"
    }
    printf "%s\\"%s\\": {\\"resent\\": %d", (o > 1 ? ", " : ""), d, again[d] > "faults.json"
    w = split(KEYS, key, " "); for (q = 1; q <= w; q++) printf ", \\"%s\\": %d", key[q], c[key[q]] > "faults.json"
    printf ", \\"filled\\": %d, \\"empty\\": %d, \\"mean\\": %.4f}", filled, empty, total / count > "faults.json"
  }
  print "}" > "faults.json"
}' /tmp/clocks.csv /tmp/changes.csv @SOURCE@
"""


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def draw_device(
    draw: Draw, device: str, plan: Plan, world: World, switched: bool
) -> tuple[list[Row], list[tuple[int, str]]]:
    """The rows of one device in file order, with every trap at a place of its own, and its unit changes."""
    count = plan.slots
    level, wave = draw.between(1600, 2200), [0]
    for _ in range(count):
        wave.append(max(-500, min(500, wave[-1] + draw.pick((-31, -23, -17, -9, 7, 12, 19, 26, 33)))))
    values: dict[int, int] = {slot: level + wave[slot] for slot in range(count)}
    places = iter(range(9, count, (count - 16) // 9))  # traps do not touch each other

    changes: list[tuple[int, str]] = []
    if switched:
        start = draw.between(count // 4, count // 2)
        changes = [(start, world.other), (start + draw.between(count // 5, count // 3), world.standard)]

    def unit(slot: int) -> str:
        return next((name for start, name in reversed(changes) if start <= slot), world.standard)

    if plan.jump:
        for sign in (1, -1):
            values[next(places)] += sign * round(plan.jump * 200)
        step_at = next(places)  # a lasting step is no spike
        for slot in range(step_at, count):
            values[slot] -= round(plan.jump * 120)
    values[next(places)] = round(plan.high * 100) + draw.between(150, 900)
    sent = {
        slot: round(value / world.factor + world.shift * 100) if unit(slot) == world.other else value
        for slot, value in values.items()
    }
    for length in (plan.stuck, plan.stuck - 1):  # stuck, and just not
        start = next(places)
        for slot in range(start, start + length):
            sent[slot] = sent[start]
        sent[start + length] = sent[start] + 11
    twice = {start: sent[start]}  # the same line again does not make the short run longer
    for length in (plan.gap, plan.gap + 1):
        start = next(places)
        for slot in range(start, start + length):
            sent.pop(slot, None)
    for slot in range(draw.between(1, 2)):
        sent.pop(slot)
    corrected = next(places)
    free = [slot for slot in sorted(sent) if 2 < slot < 8]
    twice |= {corrected: sent[corrected] + 90, free[0]: sent[free[0]] - 60}
    sent_last = dict(sent)
    if plan.table:
        twice[free[2]] = sent[free[2]]
        sent_last[free[2]] = -99900
    rows: list[Row] = []
    late: list[Row] = []
    for slot in sorted(sent):
        if slot in twice:
            rows.append(Row(device, slot, twice[slot], unit(slot)))
            late.append(Row(device, slot, sent_last[slot], unit(slot)))
        else:
            rows.append(Row(device, slot, sent_last[slot], unit(slot)))
    return rows + draw.shuffled(late), changes


def clean(rows: list[Row], plan: Plan, world: World) -> tuple[list[float | None], str, dict[str, float]]:
    """The stated rules for one device: values, a status letter per slot, and the counts."""
    sent: list[Row | None] = [None] * plan.slots
    for row in rows:
        sent[row.slot] = row
    resent = len(rows) - sum(row is not None for row in sent)
    sent = [None if row is None or row.value == -99900 else row for row in sent]
    runs: list[list[int]] = []
    for slot, row in enumerate(sent):
        before = sent[slot - 1] if slot else None
        if row and before and row.value == before.value:
            runs[-1].append(slot)
        elif row:
            runs.append([slot])
    stuck = {slot for run in runs if len(run) >= plan.stuck for slot in run}
    values: list[float | None] = [None] * plan.slots
    outside = 0
    for slot, row in enumerate(sent):
        if row is None or slot in stuck:
            continue
        value = (row.value / 100 - world.shift) * world.factor if row.unit == world.other else row.value / 100
        if plan.low <= value <= plan.high:
            values[slot] = value
        else:
            outside += 1
    spikes: list[int] = []
    for slot in range(1, plan.slots - 1):
        left, here, right = values[slot - 1 : slot + 2]
        if plan.jump and left is not None and here is not None and right is not None:
            rise = sorted((here - left, here - right))
            if rise[0] > plan.jump or rise[1] < -plan.jump:
                spikes.append(slot)
    for slot in spikes:
        values[slot] = None
    status = ["e" if value is None else "o" for value in values]
    known = [(slot, value) for slot, value in enumerate(values) if value is not None]
    for (start, left), (end, right) in pairwise(known):
        if 1 < end - start <= plan.gap + 1:
            for slot in range(start + 1, end):
                values[slot] = left + (right - left) * (slot - start) / (end - start)
                status[slot] = "f"
    final = [value for value in values if value is not None]
    counts: dict[str, float] = {"resent": resent, "stuck": len(stuck)}
    if plan.table:
        counts["range"] = outside
    if plan.jump:
        counts["spike"] = len(spikes)
    counts |= {"filled": status.count("f"), "empty": status.count("e"), "mean": round(sum(final) / len(final), 4)}
    return values, "".join(status), counts


def filled(script: str, words: Mapping[str, str]) -> str:
    """A script with its @NAMES@ replaced."""
    for name, value in words.items():
        script = script.replace(f"@{name}@", value)
    return script


def wrong(script: str, old: str, new: str) -> str:
    """A solution with one mistake."""
    if old not in script:
        raise ValueError(f"the solution does not contain {old!r}")
    return script.replace(old, new)


def draft(draw: Draw) -> Draft:
    """One cleaning run."""
    world = draw.setting(SETTINGS)
    hard, table = draw.difficulty is Difficulty.HARD, draw.difficulty is not Difficulty.EASY
    plan = Plan(
        step=draw.pick((10, 15, 20, 30)),
        slots=draw.by_difficulty(easy=100, medium=130, hard=150) + draw.between(0, 20),
        stuck=draw.between(4, 6),
        gap=draw.between(2, 4),
        low=draw.between(1, 3) + 0.005,
        high=draw.between(36, 44) + 0.005,
        jump=draw.between(2, 3) + 0.005 if table else 0,
        table=table,
        clocks=hard,
    )
    prefix = draw.pick(("", "N", "K", "row-")) + draw.pick(HOST_WORDS)
    numbers = sorted(draw.sample(range(10, 99), draw.by_difficulty(easy=2, medium=3, hard=4)))
    devices = [f"{prefix}-{number}" for number in numbers]
    origin = datetime(2024, draw.between(1, 12), draw.between(1, 28), draw.between(0, 23))

    def stamp(seconds: int) -> str:
        return (origin + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    rows: list[Row] = []
    changes: list[str] = []
    ahead = {device: draw.pick((-1, 1)) * draw.between(plan.step * 60, plan.step * 400) for device in devices}
    series: dict[str, dict[str, object]] = {}
    faults: dict[str, dict[str, float]] = {}
    for number, device in enumerate(devices):
        mine, switches = draw_device(draw, device, plan, world, switched=number != 1)
        rows += mine
        changes += [f"{device},{stamp(slot * plan.step * 60)},{unit}\n" for slot, unit in switches]
        values, status, faults[device] = clean(mine, plan, world)
        series[device] = {"milli": [None if v is None else round(v * 1000) for v in values], "status": status}
    device_column, time_column, value_column = world.columns
    source = ",".join(world.columns) + ("\n" if table else ",unit\n")
    jitter = plan.step * 60 * 2 // 5
    for row in rows:
        seconds = row.slot * plan.step * 60
        if hard:
            seconds += ahead[row.device] + draw.between(-jitter, jitter)
        source += f"{row.device},{stamp(seconds)},{row.value / 100:.2f}" + ("\n" if table else f",{row.unit}\n")
    files = {world.source: source}
    if table:
        files["changes.csv"] = f"{device_column},from,unit\n" + "".join(draw.shuffled(changes))
    if hard:
        files["clocks.csv"] = f"{device_column},ahead_s\n" + "".join(
            f"{d},{s}\n" for d, s in draw.shuffled([*ahead.items()])
        )

    slots = [stamp(slot * plan.step * 60) for slot in range(plan.slots)]
    words = {
        "folder": world.folder,
        "path": f"{world.folder}/{world.source}",
        "d": device_column,
        "t": time_column,
        "v": value_column,
        "std": world.standard,
        "oth": world.other,
        "formula": world.formula,
        "first": slots[0],
        "last": slots[-1],
        "step": plan.step,
        "stuck": plan.stuck,
        "gap": plan.gap,
        "low": f"{plan.low:.3f}",
        "high": f"{plan.high:.3f}",
        "jump": f"{plan.jump:.3f}",
        "unit_column": "" if table else " and unit",
        "unit_column_short": "" if table else ",unit",
        "unit_column_slash": "" if table else "/unit",
        "range_key": ", range" if table else "",
        "spike_key": ", spike" if table else "",
    }
    used = ["double", "stuck", "unit_table" if table else "unit_column", "range", *(["spike"] if table else []), "fill"]
    used = (["clock"] if hard else []) + used[:1] + (["sentinel"] if table else []) + used[1:]
    kind = world.wording
    rules = [RULES[key][kind].format(**words) for key in used]
    inputs, table_output = INPUTS[kind].format(**words), OUTPUTS[kind].format(**words)
    report = REPORTS[kind].format(**words)
    instruction = world.text.format(
        what=world.scenario,
        firm=draw.pick(FIRMS),
        ticket=draw.between(100, 9999),
        persona=world.persona,
        inputs=inputs,
        rules=" ".join(rules),
        bullets="\n".join(f"- {rule}" for rule in rules),
        outputs=f"{table_output} {report}",
        untouched=UNTOUCHED[kind],
    )
    solution = filled(
        SOLUTION,
        {
            "FOLDER": world.folder,
            "SOURCE": world.source,
            "FIRST": slots[0],
            "STEP": str(plan.step),
            "SLOTS": str(plan.slots),
            "D": device_column,
            "T": time_column,
            "V": value_column,
            "STD": world.standard,
            "OTH": world.other,
            "STUCK": str(plan.stuck),
            "GAP": str(plan.gap),
            "LOW": str(plan.low),
            "HIGH": str(plan.high),
            "JUMP": str(plan.jump),
            "SHIFT": repr(world.shift),
            "FACTOR": repr(world.factor),
            "KEYS": "stuck range spike" if table else "stuck",
        },
    )
    alternative = filled(
        ALTERNATIVE,
        {
            "FOLDER": world.folder,
            "SOURCE": world.source,
            "FIRST": slots[0],
            "STEP": str(plan.step),
            "SLOTS": str(plan.slots),
            "D": device_column,
            "STUCK": str(plan.stuck),
            "GAP": str(plan.gap),
            "LOW": str(plan.low),
            "HIGH": str(plan.high),
            "JUMP": str(plan.jump),
            "SHIFT": repr(world.shift),
            "FACTOR": repr(world.factor),
            "OTH": world.other,
            "KEYS": "stuck range spike" if table else "stuck",
        },
    )
    goals = ["test_slots_and_status", "test_values", "test_faults"]
    misses = [
        Miss(
            "first_line_wins",
            "keeps the first of several lines of a slot",
            wrong(solution, f'raw[d][i] = r["{value_column}"]', f'raw[d][i] = raw[d][i] or r["{value_column}"]'),
            ["test_values"],
        ),
        Miss(
            "stuck_later",
            "needs one repetition more than stated",
            wrong(solution, f"j - i >= {plan.stuck}", f"j - i > {plan.stuck}"),
            goals,
        ),
        Miss(
            "stuck_keeps_first",
            "keeps the first reading of a stuck run",
            wrong(solution, "keep[i:j] = [False] * (j - i)", "keep[i + 1:j] = [False] * (j - i - 1)"),
            goals[:2],
        ),
        Miss(
            "fills_everything",
            "interpolates every inner gap",
            wrong(solution, f"b - a <= {plan.gap} + 1", f"b - a <= {plan.slots}"),
            goals,
        ),
        Miss(
            "unit_forgotten",
            "converts nothing",
            wrong(solution, f'== "{world.other}" else', '== "?" else'),
            ["test_values", "test_faults"],
        ),
    ]
    if table:
        misses.append(
            Miss(
                "step_is_spike",
                "looks only at the slot before",
                wrong(solution, "max(x[i - 1], x[i + 1])", "x[i - 1]").replace("min(x[i - 1], x[i + 1])", "x[i - 1]"),
                goals,
            )
        )
    if hard:
        misses.append(
            Miss(
                "clock_sign",
                "adds the offset instead of subtracting it",
                wrong(solution, "- ahead.get(d, 0)", "+ ahead.get(d, 0)").replace(
                    "i = int((seconds + step / 2) // step)",
                    "i = min(slots - 1, max(0, int((seconds + step / 2) // step)))",
                ),
                goals,
            )
        )
    return Draft(
        title=f"Clean {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY {' '.join(sorted(files))} {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "device_column": device_column,
            "slots": slots,
            "series": series,
            "faults": faults,
            "inputs": {name: sha(text) for name, text in files.items()},
        },
        discoverable=("folder", "device_column", "slots"),
        tests=TESTS,
        weights={"test_slots_and_status": 0.3, "test_values": 0.45, "test_faults": 0.25},
        guards=["test_inputs_untouched"],
        initial=INITIAL,
        solution=solution,
        alternatives=[alternative],
        misses=misses,
        requirements=[
            (inputs, ["test_slots_and_status"]),
            *((rule, goals) for rule in rules),
            (table_output, goals[:2]),
            (report, ["test_faults"]),
            (UNTOUCHED[kind], ["test_inputs_untouched"]),
        ],
        knobs={
            "devices": len(devices),
            "slots": plan.slots,
            "stuck": plan.stuck,
            "gap": plan.gap,
            "table": table,
            "clocks": hard,
        },
    )


FAMILY = Family(
    name="sensor_cleaning",
    domain="data_science",
    verifier=Verifier.EXACT_TEXT,
    skills=("time series cleaning", "unit conversion", "fault detection", "interpolation"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=24,
    draft=draft,
)
