#!/usr/bin/env python3
"""{thing} report. Arguments: file of {event}s (time,id,{account},amount; ascending time), window{more}."""
import sys

sys.path.insert(0, "{folder}")
import {reader}


def {group}_of({account}):
    # the first row counts
    for name, {group} in {reader}.rows():
        if name == {account}:
            return {group}
    return "?"


def main():
    window = int(sys.argv[2])
    {peak}last = int(sys.argv[3])
    seen, kept, totals = [], [], []
    for line in open(sys.argv[1]):
        time, key, {account}, amount = line.strip().split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.append(key)
        {group} = {group}_of({account})
        kept.append((time, {account}, {group}, amount))
        recent = sum(row[3] for row in kept if row[1] == {account} and row[0] > time - window)
        {peak}peak = max(row[3] for row in kept[-last:])
        {peak}rank = sum(1 for row in kept if row[2] == {group} and row[3] > amount)
        print(key, {group}, recent{columns})
        for total in totals:
            if total[0] == {group}:
                total[1] += 1
                total[2] += amount
                break
        else:
            totals.append([{group}, 1, amount])
    for {group}, count, amount in sorted(totals):
        print("=", {group}, count, amount)


main()
