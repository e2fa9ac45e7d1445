import csv, os
from datetime import date, timedelta
def read(name):
    return list(csv.DictReader(open(name))) if os.path.exists(name) else []
D = date.fromisoformat
history = read("@HISTORY@")
series = list(history[0])[1:]
seasons = sorted((D(r["from"]), r["season"]) for r in read("seasons.csv"))
special = {D(r["date"]): r["kind"] for r in read("specials.csv")}
changes = {s: sorted(D(r["date"]) for r in read("changes.csv") if r["series"] == s) for s in series}
spoilt = {(r["series"], D(r["date"])) for r in read("spoilt.csv")}
offers = {}
for r in read("offers.csv"):
    day = D(r["from"])
    while day <= D(r["to"]):
        offers[r["series"], day] = r["kind"]
        day += timedelta(days=1)
first, last = D("@FIRST@"), D("@LAST@")
future = [first + timedelta(days=i) for i in range((last - first).days + 1)]
def features(s, day):
    season = [name for start, name in seasons if start <= day][-1]
    return [("level", sum(c <= day for c in changes[s])), ("week", season, day.weekday()), ("day", special.get(day)),
            ("offer", offers.get((s, day)))]
