import hashlib
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def receive(link, size):
    data = b""
    while len(data) < size:
        chunk = link.recv(size - len(data))
        if not chunk:
            break
        data += chunk
    return data


def play(case):
    # one run of the server: steps are [client, text, cuts, reply]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        if case["before"] is not None:
            store.write_text(case["before"])
        port = free_port()
        process = subprocess.Popen([TRUTH["program"], str(port), str(store)], cwd="/", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        links = {}
        try:
            end = time.monotonic() + 8
            while 0 not in links:
                try:
                    links[0] = socket.create_connection(("127.0.0.1", port), timeout=4)
                except OSError:
                    assert time.monotonic() < end and process.poll() is None, "it does not listen"
                    time.sleep(0.02)
            for number, (client, text, cuts, reply) in enumerate(case["steps"]):
                if client not in links:
                    links[client] = socket.create_connection(("127.0.0.1", port), timeout=4)
                link, data, want = links[client], text.encode("latin-1"), reply.encode("latin-1")
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for start, stop in zip([0, *cuts], [*cuts, len(data)]):
                    link.sendall(data[start:stop])
                    if stop < len(data):
                        time.sleep(0.003)
                assert receive(link, len(want)) == want, f"reply to step {number}"
            links[0].sendall(TRUTH["stop"].encode())
            assert receive(links[0], 1000) == b"BYE\n", "reply to the stop, and nothing after it"
            assert process.wait(timeout=5) == 0, "exit status"
            return store.read_text()
        finally:
            process.kill()
            process.wait()
            for link in links.values():
                link.close()


def run(kind):
    for case in TRUTH["cases"][kind]:
        assert play(case) == case["after"], "store file"


def test_requests():
    run("requests")


def test_streams():
    run("streams")


def test_clock():
    run("clock")


def test_store():
    run("store")
