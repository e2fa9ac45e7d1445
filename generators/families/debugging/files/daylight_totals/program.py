#!/usr/bin/env python3
"""{thing} minutes."""
import csv
import sys
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
zones = dict(csv.reader(open("{folder}/zones.csv")))
offsets = {}
for zone, since, minutes in csv.reader(open("{folder}/offsets.csv")):
    offsets.setdefault(zone, []).append((datetime.fromisoformat(since), timedelta(minutes=int(minutes))))
for table in offsets.values():
    table.sort()


def to_utc(zone, text):
    local = datetime.fromisoformat(text[:16])
    found = offsets[zone][0][1]
    for since, offset in offsets[zone]:
        if since <= local:
            found = offset
    return local - found


def main():
    totals = {}
    for site, begin, end in csv.reader(open(sys.argv[1])):
        zone = zones[site]
        minutes = (to_utc(zone, end) - to_utc(zone, begin)) // MINUTE
        {count}
    for key in sorted(totals):
        {show}


main()
