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
