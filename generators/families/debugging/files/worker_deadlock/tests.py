import hashlib
import os
import subprocess
import tempfile
import time

DRIVER = """
import json, os, sys, threading, time
sys.path.insert(0, "{folder}")
sys.setswitchinterval(1e-5)
import {module}

Pool, Closed = {module}.{pool}, {module}.{closed}
gate = threading.Event()


def show(**found):
    print(json.dumps(found), flush=True)
    os._exit(0)


def lists(pool):
    return sorted(i for i, v in pool.{results} if v == i * 2), sorted(i for i, e in pool.{failures} if str(e) == str(i))


def simple():
    pool = Pool(1, lambda item: item * 2, capacity=50)
    for number in range(9):
        pool.{submit}(number)
    pool.{drain}()
    show(results=lists(pool)[0])


def stress(failing, nesting):
    started = []
    def start(item):
        started.append(item)
        time.sleep(0.001)
    def handle(item):
        if item < 1000 and item % nesting == 0:
            pool.{submit}(item + 1000)
        if item % failing == 3:
            raise (ValueError if item % 2 else KeyError)(item)
        return item * 2
    pool = Pool(4, handle, capacity=4, on_start=start)
    for turn in range(3):
        def produce(first):
            for item in range(first, first + 20):
                pool.{submit}(item)
        threads = [threading.Thread(target=produce, args=(turn * 60 + n * 20,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pool.{drain}()
    show(results=lists(pool)[0], failures=lists(pool)[1], started=sorted(started))


def nested():
    started = []
    def start(item):
        started.append(item)
        if item == 3:
            pool.{submit}(7000)
            pool.{submit}(7001)
    def handle(item):
        for child in range(1, 4):
            if item < 100:
                pool.{submit}(item * 10 + child)
        return item * 2
    pool = Pool(2, handle, capacity=1, on_start=start)
    for item in range(1, 5):
        pool.{submit}(item)
    pool.{drain}()
    show(results=lists(pool)[0])


def drain():
    counts = []
    def handle(item):
        gate.wait()
        if item == 1:
            pool.{submit}(5)
        if item == 5:
            time.sleep(0.1)
        return item * 2
    pool = Pool(2, handle, capacity=8)
    pool.{drain}()
    for turn in range(2):
        gate.clear()
        for item in (1, 2, 3):
            pool.{submit}(item)
        def wait():
            pool.{drain}()
            counts.append(len(pool.{results}))
        threads = [threading.Thread(target=wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        early = len(counts) - 4 * turn
        gate.set()
        for thread in threads:
            thread.join()
    show(counts=sorted(counts), early=early)


def close():
    members, said = set(), []
    def handle(item):
        members.add(threading.current_thread())
        gate.wait()
        if item == 1:
            pool.{submit}(11)
            pool.{submit}(12)
        return item * 2
    pool = Pool(2, handle, capacity=1)
    for item in (1, 2, 3):
        pool.{submit}(item)
    def late(item):
        try:
            pool.{submit}(item)
            said.append("accepted")
        except Closed:
            said.append("closed")
    threads = [threading.Thread(target=late, args=(item,)) for item in (21, 22)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    closing = threading.Thread(target=pool.{close})
    closing.start()
    time.sleep(0.1)
    early = not closing.is_alive()
    for thread in threads:
        thread.join()
    gate.set()
    closing.join()
    alive = sum(thread.is_alive() for thread in members)
    pool.{close}()
    late(23)
    show(said=said, results=lists(pool)[0], early=early, alive=alive)


def keys(turn):
    log, lock = [], threading.Lock()
    def handle(item):
        with lock:
            log.append([item, "start"])
        if item == 100:
            gate.wait()
        if item == 200:
            gate.set()
        time.sleep(0.001)
        with lock:
            log.append([item, "end"])
        if item % 10 == 4:
            raise KeyError(item)
        return item * 2
    pool = Pool(3, handle, capacity=100, key=lambda item: item // 100)
    for item in (100, 101, 102, 103, 200):
        pool.{submit}(item)
    pool.{drain}()
    for n in range(4, 12):
        for lane in (1, 2, 3, 4):
            pool.{submit}(lane * 100 + n)
    pool.{drain}()
    show(log=log, failures=lists(pool)[1])


globals()[sys.argv[1]](*map(int, sys.argv[2:]))
"""


JOBS = [("simple",), ("nested",), ("drain",), ("close",)]
JOBS += [("stress", case["failing"], case["nesting"]) for case in TRUTH["stress"]]
PATIENCE = 15  # seconds for all of them together; a sound pool takes a fraction of one
FUTEX = {"x86_64": "202", "aarch64": "98"}.get(os.uname().machine)  # what a thread calls to wait for another one
FOUND = {}


def waits(pid):
    """Each thread and how often it ran, if all of them wait for one another without a time limit; else nothing."""
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/syscall") as call, open(f"/proc/{pid}/task/{thread}/status") as status:
                words = call.read().split()
                if words[0] != FUTEX or words[4] != "0x0":
                    return {}
                found[thread] = [line for line in status if "ctxt_switches" in line]
    except (OSError, IndexError):
        return {}
    return found


def outcomes():
    """What the runs said. They are started together; one whose threads nobody can wake any more is stuck."""
    if FOUND:
        return FOUND
    running, before, end = {}, {}, time.monotonic() + PATIENCE
    for job in dict.fromkeys(JOBS):
        out, said = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        command = ["/usr/bin/python3", "-c", DRIVER, *map(str, job)]
        running[job] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=said), out, said
    while running:
        time.sleep(0.02)
        for job, (process, out, said) in list(running.items()):
            ended = process.poll() is not None
            # no thread ran between two looks, and all waited at both: at the moment between them all waited
            state = {} if ended else waits(process.pid)
            stuck = not ended and (time.monotonic() > end or state and state == before.get(job))
            before[job] = state
            if ended or stuck:
                process.kill()
                process.wait()
                del running[job]
                out.seek(0)
                said.seek(0)
                texts = [file.read().decode(errors="replace") for file in (out, said)]
                FOUND[job] = "stuck" if stuck else process.returncode, *texts
    return FOUND


def drive(*job):
    code, out, said = outcomes()[job]
    assert code == 0 and out.startswith("{"), f"{job[0]}: {said[-300:] if code != 'stuck' else code}"
    return json.loads(out)


def test_every_item_once():
    for case in TRUTH["stress"]:
        got = drive("stress", case["failing"], case["nesting"])
        assert got["started"] == case["started"], "on_start calls"
        assert got["results"] == case["results"], "results"
        assert got["failures"] == case["failures"], "failures"


def test_nested():
    assert drive("nested")["results"] == TRUTH["nested"]


def test_drain():
    got = drive("drain")
    assert got == {"counts": [4, 4, 4, 4, 8, 8, 8, 8], "early": 0}, got


def test_close():
    got = drive("close")
    assert got["said"] == ["closed"] * 3, "an outside caller was not told that the pool is closed"
    assert got["results"] == [1, 2, 3, 11, 12], "not exactly the accepted items were handled"
    assert not got["early"] and got["alive"] == 0, "returned with work or threads left"


def test_simple_use():
    assert drive("simple")["results"] == list(range(9))


def test_caller_unchanged():
    with open(TRUTH["caller"], "rb") as source:
        assert hashlib.sha256(source.read()).hexdigest() == TRUTH["caller_sha"]
