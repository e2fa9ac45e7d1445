#!/usr/bin/env python3
"""{thing} report. Arguments: file of {event}s (time,id,{account},amount; ascending time), window{more}."""
import sys
import heapq
from bisect import bisect, bisect_left

sys.path.insert(0, "{folder}")
import {reader}

window = int(sys.argv[2])
last = int(sys.argv[3]) if {hard} else 1
first = dict(reversed(list({reader}.rows())))
rows = {}
for line in open(sys.argv[1]):
    time, key, account, amount = line.strip().split(",")
    rows.setdefault(key, (int(time), account, first.get(account, "?"), int(amount)))
rows = list(zip(rows, rows.values()))
times, sums, heap, totals, ladders = {}, {}, [], {}, {}
for number, (key, (time, account, group, amount)) in enumerate(rows):
    moments, running = times.setdefault(account, []), sums.setdefault(account, [0])
    moments.append(time)
    running.append(running[-1] + amount)
    recent = running[-1] - running[bisect(moments, time - window)]
    count, total = totals.get(group, (0, 0))
    totals[group] = (count + 1, total + amount)
    if not {hard}:
        print(key, group, recent)
        continue
    heapq.heappush(heap, (-amount, -number))
    while -heap[0][1] <= number - last:
        heapq.heappop(heap)
    ladder = ladders.setdefault(group, [])  # negative amounts, ascending
    rank = bisect_left(ladder, -amount)
    ladder.insert(rank, -amount)
    print(key, group, recent, -heap[0][0], rank)
for group, pair in sorted(totals.items()):
    print("=", group, *pair)
