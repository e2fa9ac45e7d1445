import contextlib
import hashlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

FOUND = {}


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def waits(session):
    """How often each thread of the server and its children ran, if all of them sleep now; else nothing."""
    found = {}
    try:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                for status in stat.parent.glob("task/*/status"):
                    lines = status.read_text().splitlines()
                    found[status] = [line for line in lines if "ctxt_switches" in line]
                    if not found[status] or not any(line.startswith("State:\tS") for line in lines):
                        return {}
    except (OSError, ValueError, IndexError):
        return {}
    return found


def receive(link, want, session, what):
    """Take a reply up to the first byte that is wrong; no reply is one where nothing of the server ran for a second."""
    data, before, since = b"", {}, time.monotonic()
    end = since + 5
    while len(data) < len(want):
        if select.select([link], [], [], 0.05)[0]:
            chunk = link.recv(len(want) - len(data))
            data += chunk
            assert chunk and want.startswith(data), what
            continue
        state, now = waits(session), time.monotonic()
        if not state or state != before:
            before, since = state, now
        assert now < end and now - since < 1, what + ": missing"


def play(case, port):
    # one run of the server: steps are [client, text, cuts, reply]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        if case["before"] is not None:
            store.write_text(case["before"])
        process = subprocess.Popen([TRUTH["program"], str(port), str(store)], cwd="/", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        links = {}
        try:
            end = time.monotonic() + 8
            while 0 not in links:
                try:
                    links[0] = socket.create_connection(("127.0.0.1", port), timeout=4)
                except OSError:
                    assert time.monotonic() < end and process.poll() is None, "it does not listen"
                    time.sleep(0.01)
            for number, (client, text, cuts, reply) in enumerate(case["steps"]):
                if client not in links:
                    links[client] = socket.create_connection(("127.0.0.1", port), timeout=4)
                link, data = links[client], text.encode("latin-1")
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for start, stop in zip([0, *cuts], [*cuts, len(data)]):
                    link.sendall(data[start:stop])
                    if stop < len(data):
                        time.sleep(0.003)
                receive(link, reply.encode("latin-1"), process.pid, f"reply to step {number}")
            links[0].sendall(TRUTH["stop"].encode())
            receive(links[0], b"BYE\n", process.pid, "reply to the stop")
            assert links[0].recv(1) == b"", "something after the reply to the stop"
            assert process.wait(timeout=5) == 0, "exit status"
            return store.read_text()
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for link in links.values():
                link.close()


def attempt(case, port, found):
    try:
        assert play(case, port) == case["after"], "store file"
        found.append("")
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")


def outcomes():
    """What went wrong by kind. All runs are made at once, whichever test comes first; each has a server of its own."""
    if not FOUND:
        cases = [(kind, case) for kind, several in TRUTH["cases"].items() for case in several]
        found = {kind: [] for kind, _ in cases}
        runs = [
            threading.Thread(target=attempt, args=(case, port, found[kind]))
            for (kind, case), port in zip(cases, free_ports(len(cases)))
        ]
        for thread in runs:
            thread.start()
        for thread in runs:
            thread.join()
        FOUND.update(found)
    return FOUND


def run(kind):
    assert outcomes()[kind] == [""] * len(TRUTH["cases"][kind]), outcomes()[kind]


def test_requests():
    run("requests")


def test_streams():
    run("streams")


def test_clock():
    run("clock")


def test_store():
    run("store")
