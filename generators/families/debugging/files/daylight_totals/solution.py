#!/usr/bin/env python3
"""{thing} minutes."""
import csv
import sys
from datetime import datetime, timedelta

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
zones = dict(csv.reader(open("{folder}/zones.csv")))
offsets = {}
for zone, since, minutes in csv.reader(open("{folder}/offsets.csv")):
    offsets.setdefault(zone, []).append((datetime.fromisoformat(since), timedelta(minutes=int(minutes))))
for table in offsets.values():
    table.sort()


def offset_at(zone, instant):
    found = offsets[zone][0][1]
    for since, offset in offsets[zone]:
        if since <= instant:
            found = offset
    return found


def to_utc(zone, text, floor):
    local = datetime.fromisoformat(text[:16])
    fits = sorted({local - offset for _, offset in offsets[zone] if offset_at(zone, local - offset) == offset})
    if not fits:
        steps = zip(offsets[zone], offsets[zone][1:])
        before = next(old for (_, old), (since, new) in steps if since + old <= local < since + new)
        return local - before
    if text[16:]:
        return fits[0] if text[16:] == "A" else fits[-1]
    return next((instant for instant in fits if floor is None or instant >= floor), fits[-1])


def pieces(zone, start, end):
    """Stretches of local time: the real time cut at changes of the offset and at full local hours."""
    while start < end:
        offset = offset_at(zone, start)
        local = start + offset
        stop = start + HOUR - timedelta(minutes=local.minute)
        stop = min([stop, end] + [since for since, _ in offsets[zone] if since > start])
        yield local, (stop - start) // MINUTE
        start = stop


def main():
    totals, previous = {}, {}
    for site, begin, end in csv.reader(open(sys.argv[1])):
        zone = zones[site]
        start = to_utc(zone, begin, previous.get(site))
        stop = previous[site] = to_utc(zone, end, start)
        {count}
    for key in sorted(totals):
        {show}


main()
