import hashlib
import os
import resource
import signal
import subprocess
import tempfile
from bisect import bisect_right, insort
from collections import deque

FOLDER = TRUTH["folder"]
DONE = []


def spent():
    """Processor time of all programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def allow(cpu):
    """Have this process ended when it has used that much processor time; a timer for fractions, a limit for the rest."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu)
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 2))


def run(events, arguments, table=None, cpu=20):
    """The program's output and the number of table rows it took."""
    with tempfile.TemporaryDirectory() as room:
        path, meter = os.path.join(room, "events"), os.path.join(room, "meter")
        with open(path, "w") as out:
            out.write(events)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "METER": meter}
        if table is not None:
            env["TABLE"] = os.path.join(room, "table")
            with open(env["TABLE"], "w") as out:
                out.write(table)
        before = spent()
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(FOLDER, TRUTH["program"]), path, *map(str, arguments)],
            env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=40,
            preexec_fn=lambda: allow(cpu),
        )
        assert done.returncode == 0 and spent() - before <= cpu, "more processor time than allowed, or an error"
        with open(meter) as source:
            return done.stdout.decode(), int(source.read())


def expected(events, table, window, last):
    known = {}
    for line in table.splitlines():
        known.setdefault(*line.split(","))
    seen, queues, sums, totals, ranks, peaks, number, out = set(), {}, {}, {}, {}, deque(), 0, []
    for line in events.splitlines():
        time, key, account, amount = line.split(",")
        time, amount = int(time), int(amount)
        if key in seen:
            continue
        seen.add(key)
        group = known.get(account, "?")
        queue = queues.setdefault(account, deque())
        queue.append((time, amount))
        sums[account] = sums.get(account, 0) + amount
        while queue and queue[0][0] <= time - window:
            sums[account] -= queue.popleft()[1]
        extra = ""
        if last:
            while peaks and peaks[-1][1] <= amount:
                peaks.pop()
            peaks.append((number, amount))
            if peaks[0][0] <= number - last:
                peaks.popleft()
            ordered = ranks.setdefault(group, [])
            extra = f" {peaks[0][1]} {len(ordered) - bisect_right(ordered, amount)}"
            insort(ordered, amount)
            number += 1
        out.append(f"{key} {group} {sums[account]}{extra}\n")
        count, total = totals.get(group, (0, 0))
        totals[group] = (count + 1, total + amount)
    return "".join(out) + "".join(f"= {group} {c} {t}\n" for group, (c, t) in sorted(totals.items()))


def large(events):
    """A day of events, always the same one: one busy account and thousands of others."""
    state, lines = TRUTH["start"], []
    for number in range(events):
        state = (state * 1103515245 + 12345) % 2**31
        account, amount = "A0", 90000 - 2 * number
        if number % 5 == 0:
            account, amount = f"A{state // 1024 % 3000}", state // 7 % 9000 + 1
        key = number - 3 if number % 50 == 49 else number
        lines.append(f"{number // 3},E{key:0120d},{account},{amount}\n")
    return "".join(lines)


def test_large_day():
    table = "".join(f"A{n},G{n % 7}\n" for n in range(0, 400, 2))
    last = 8000 if TRUTH["last"] else 0
    for count, milliseconds in TRUTH["days"]:
        events = large(count)
        output, _ = run(events, [4000, last] if last else [4000], table, milliseconds / 1000)
        assert output == expected(events, table, 4000, last), "the output of a large run differs"


def small_runs():
    """Case, output and rows taken of every small case; the program runs once for all tests."""
    if not DONE:
        DONE.extend((case, *run(case["events"], case["arguments"], case["table"])) for case in TRUTH["cases"])
    return DONE


def test_table_reads():
    for case, _, taken in small_runs():
        count = case["table"].count("\n")
        assert 0 < taken <= 2 * count, f"{taken} rows taken of a table of {count}"


def test_same_output():
    for case, output, _ in small_runs():
        assert output == case["output"], "the output differs"


def test_reader_and_table():
    for name, digest in TRUTH["inputs"].items():
        with open(os.path.join(FOLDER, name), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, name
