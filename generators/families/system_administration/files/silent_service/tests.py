import hashlib
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
SPOOL = FOLDER / TRUTH["spool"]
JOURNAL = FOLDER / TRUTH["journal"]
SEEN = {}
SERVICE = []
SLEEP = {"x86_64": ("230", "35"), "aarch64": ("115", "101")}.get(os.uname().machine, ())  # the calls that sleep


def waits():
    """How often each thread of the service ran, if all of them sleep now; else nothing."""
    found = {}
    try:
        for status in Path(f"/proc/{SERVICE[-1].pid}/task").glob("*/status"):
            lines = status.read_text().splitlines()
            found[status] = [line for line in lines if "ctxt_switches" in line]
            if not found[status] or not any(line.startswith("State:\tS") for line in lines):
                return {}
    except OSError:
        return {}
    return found


def gave_up():
    """Whether the service could not begin to listen: it sleeps until its next try, which will see what this one saw."""
    try:
        return Path(f"/proc/{SERVICE[-1].pid}/syscall").read_text().split()[0] in SLEEP
    except (OSError, IndexError):
        return False


def ask(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=2) as link:
        link.sendall(data.encode())
        link.shutdown(socket.SHUT_WR)
        got, end, before = b"", time.monotonic() + 4, None
        while True:
            if select.select([link], [], [], 0.05)[0]:
                chunk = link.recv(4096)
                if not chunk:
                    return got.decode()
                got += chunk
                continue
            # the request lies there, and no thread has run since the last look, nor is about to: nobody will answer
            state = waits()
            if time.monotonic() > end or (state and state == before):
                raise TimeoutError("no answer")
            before = state


def http(port, verb, path, body="", token=""):
    head = f"{verb} {path} HTTP/1.1\r\nHost: x\r\nX-Token: {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = ask(port, head + body)
    head, _, text = answer.partition("\r\n\r\n")
    return int(head.split()[1]), text


def journal():
    return JOURNAL.read_text().splitlines() if JOURNAL.is_file() else []


def converse():
    token = (FOLDER / "etc/token").read_text().strip()
    known, value = TRUTH["known"]
    big = "z" * (TRUTH["health"]["limit"] + 1)
    if TRUTH["port"]:
        port = TRUTH["port"]
        SEEN["http health"] = json.loads(http(port, "GET", "/health")[1])
        got = [http(port, "GET", "/value/" + key) for key in (known, "nowhere")]
        SEEN["http values"] = got == [(200, value), (404, "")]
        pairs = (("no", "wrong"), (big, token), ("TEXT", token))
        codes = [http(port, "PUT", "/value/httpkey", *pair)[0] for pair in pairs]
        SEEN["http store"] = codes == [403, 413, 201] and http(port, "GET", "/value/httpkey") == (200, "TEXT")
    if TRUTH["line_port"]:
        port = TRUTH["line_port"]
        SEEN["line health"] = json.loads(ask(port, "HEALTH\n"))
        SEEN["line values"] = ask(port, f"GET {known}\nGET nowhere\n").splitlines() == ["VALUE " + value, "NONE"]
        puts = f"PUT linekey wrong no\nPUT linekey {token} {big}\nPUT linekey {token} TEXT\n"
        said = ask(port, puts + "GET linekey\n")
        SEEN["line store"] = said.splitlines() == ["DENIED", "TOOBIG", "STORED", "VALUE TEXT"]


def seen():
    # one run of the service serves all tests, whichever comes first
    if SEEN:
        return SEEN
    SEEN["started"] = True
    before = len(journal())
    for key in ("httpkey", "linekey"):
        if (SPOOL / key).is_file():
            (SPOOL / key).unlink()
    process = subprocess.Popen([str(FOLDER / "start")], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    SERVICE.append(process)
    try:
        end, asleep = time.monotonic() + 6, False
        while time.monotonic() < end and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", TRUTH["port"] or TRUTH["line_port"]), timeout=1).close()
                converse()
                break
            except ConnectionRefusedError:
                if asleep:
                    break
                asleep = gave_up()
                time.sleep(0 if asleep else 0.01)
    except (OSError, ValueError, IndexError) as error:
        SEEN["error"] = repr(error)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    SEEN["files"] = {key: (SPOOL / key).read_text() for key in ("httpkey", "linekey") if (SPOOL / key).is_file()}
    SEEN["journal"] = journal()[before:]
    return SEEN


def kinds():
    return [kind for kind, key in (("http", "port"), ("line", "line_port")) if TRUTH[key]]


def test_health():
    for kind in kinds():
        assert seen().get(kind + " health") == TRUTH["health"], kind


def test_values():
    for kind in kinds():
        assert seen().get(kind + " values") is True, kind


def test_store():
    for kind in kinds():
        assert seen().get(kind + " store") is True, kind
        assert seen()["files"].get(kind + "key") == "TEXT", "stored value is not in the spool directory"
    assert SPOOL.is_dir() and not SPOOL.is_symlink()


def test_journal():
    got = "\n".join(seen()["journal"])
    for kind in kinds():
        assert f"{kind} GET {TRUTH['known'][0]} " in got and f"{kind} PUT {kind}key " in got, kind


def test_delivered_files_untouched():
    for name, digest in TRUTH["files"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
