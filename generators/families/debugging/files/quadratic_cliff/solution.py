#!/usr/bin/env python3
"""{thing} report. Arguments: file of {event}s (time,id,{account},amount; ascending time), window{more}."""
import sys
from bisect import bisect_right, insort
from collections import deque

sys.path.insert(0, "{folder}")
import {reader}


def main():
    window = int(sys.argv[2])
    {peak}last = int(sys.argv[3])
    known = {}
    for name, {group} in {reader}.rows():
        known.setdefault(name, {group})
    seen, queues, sums, totals, ranks = set(), {}, {}, {}, {}
    peaks, number = deque(), 0
    out = []
    for line in open(sys.argv[1]):
        time, key, {account}, amount = line.strip().split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.add(key)
        {group} = known.get({account}, "?")
        queue = queues.setdefault({account}, deque())
        queue.append((time, amount))
        recent = sums.get({account}, 0) + amount
        while queue and queue[0][0] <= time - window:
            recent -= queue.popleft()[1]
        sums[{account}] = recent
        while peaks and peaks[-1][1] <= amount:
            peaks.pop()
        peaks.append((number, amount))
        {peak}if peaks[0][0] <= number - last:
        {peak}    peaks.popleft()
        number += 1
        peak = peaks[0][1]
        ordered = ranks.setdefault({group}, [])
        rank = len(ordered) - bisect_right(ordered, amount)
        insort(ordered, amount)
        out.append("%s %s %d{formats}\n" % (key, {group}, recent{columns}))
        count, total = totals.get({group}, (0, 0))
        totals[{group}] = (count + 1, total + amount)
    sys.stdout.write("".join(out))
    for {group} in sorted(totals):
        print("=", {group}, *totals[{group}])


main()
