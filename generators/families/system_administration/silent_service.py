"""A small service starts but never answers: includes, overrides, permissions, a missing directory, a stale socket."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    service: str  # the service, its program and its socket
    protocol: str  # of the one listener at medium
    conf: str  # main configuration file below etc/
    spool: str  # directory for stored values
    journal: str
    words: tuple[str, str, str, str, str]  # keys that the data has
    wording: int
    bullet: str
    text: str


# fmt: off
SETTINGS = (
    World("tide_table", "harbour IT lead", "tide table service does not answer", "ticket", "/opt/tides", "tided",
          "http", "tided.conf", "var/spool", "var/log/requests.log", ("north", "pier", "lock", "buoy", "quay"), 0,
          "\n- ", "HARB-{number}: {name} accepts nobody since the move\n\nAfter {firm} moved the box, {folder}/start "
          "runs without a complaint, yet no client ever gets an answer. {protocol}\n\nRequired:{rules}\n\n{keep}\n"),
    World("price_board", "store systems engineer", "price board service is silent", "chat", "/srv/prices", "boardd",
          "line", "board.ini", "store/new", "log/served.log", ("apple", "bread", "cheese", "dill", "egg"), 1, "\n> ",
          "hi, can you look at {name}? it comes up with {folder}/start and then just sits there, the boards at "
          "{firm} stay black. {protocol} after your fix{rules}\n\n{keep} thx\n"),
    World("glossary", "documentation engineer", "glossary server hangs", "email", "/home/docs/glossary", "termd",
          "http", "termd.cnf", "data/inbox", "data/access.txt", ("ablative", "bezel", "cadence", "datum", "ember"), 2,
          "\n* ", "Dear admin team,\n\nthe translators of {firm} cannot reach their glossary: {name} is running, as "
          "far as ps can tell, but nothing comes back. We start it with {folder}/start. {protocol}\n\nWhat we need "
          "from you:{rules}\n\n{keep}\n\nKind regards\n"),
    World("door_codes", "facility technician", "door code service without reply", "runbook", "/var/lib/doors",
          "doord", "line", "main.conf", "queue/in", "queue/journal", ("lobby", "cellar", "roof", "gate", "vault"), 0,
          "\nCheck: ", "Restoring {name} ({firm}), form {number}\n\nSymptom: process present after {folder}/start, "
          "controllers get no reply. Protocol: {protocol}\nThe repair is finished when the following "
          "holds.{rules}\nLimits of the repair: {keep}\n"),
    World("sample_ids", "laboratory informatician", "sample id server unresponsive", "note", "/opt/lab/samples",
          "sampled", "http", "lab.conf", "work/stored", "work/audit.log", ("blood", "tissue", "water", "soil", "air"),
          1, "\n + ", "{name} in {folder}: {folder}/start leaves a process but no answers. {protocol} Target "
          "state:{rules}\n{keep}\n"),
    World("bus_stops", "transit operations developer", "stop lookup daemon mute", "specification",
          "/srv/transit/stops", "stopd", "line", "stopd.cfg", "state/updates", "state/calls.log", ("market", "bridge",
          "school", "depot", "park"), 2, "\n\n# ", "Acceptance of the daemon {name} at {firm}\n\nScope: the "
          "installation {folder}, started by {folder}/start, which at present serves no request. Interface: "
          "{protocol}\n\nAccepted is an installation with these properties:{rules}\n\nBoundary: {keep}\n"),
    World("recipes", "kitchen IT support", "recipe service dead after upgrade", "ticket", "/data/kitchen", "reciped",
          "http", "kitchen.conf", "spool/recipes", "spool/access.log", ("soup", "stew", "tart", "salad", "roast"), 1,
          "\n  - ", "#{number} recipes missing on all tablets ({firm})\n\nSince yesterday's upgrade {name} (start "
          "script {folder}/start) is up and mute. Several people changed things, none of them wrote down what. "
          "{protocol}\nDone means{rules}\n\n{keep}\n"),
    World("telescope_targets", "observatory programmer", "target list server silent", "email", "/home/obs/targets",
          "targetd", "line", "targets.conf", "cache/pending", "cache/journal.txt", ("vega", "deneb", "rigel", "mizar",
          "algol"), 2, "\n = ", "Hello,\n\ntonight's queue cannot be loaded, since {name} does not respond. It is "
          "launched through {folder}/start and stays in the foreground, so that part works; {protocol} Before the "
          "night begins I would like to see this:{rules}\n\n{keep}\n\nClear skies, {persona}\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "http": (
        "It serves HTTP on 127.0.0.1 port {port}.",
        "http requests to 127.0.0.1:{port} are answered.",
        "The HTTP side listens at address 127.0.0.1, port {port}, and replies."),
    "line": (
        "It serves the line protocol on 127.0.0.1 port {line_port}.",
        "the line protocol works at 127.0.0.1:{line_port}.",
        "The line protocol listens at address 127.0.0.1, port {line_port}, and replies."),
    "workers": (
        "It runs {workers} workers, while site name and size limit stay what the configuration in effect gives today.",
        "number of workers: {workers}; the site name and the limit that are in effect now are still in effect "
        "afterwards.",
        "There are {workers} workers; the effective values of site and limit are the same as before the repair."),
    "spool": (
        "Values that clients store end up as files named after their key in {folder}/{spool}, which is a real "
        "directory.",
        "whatever is stored lies in {folder}/{spool} (a directory of its own, no link), one file per key.",
        "Stored values are kept in the directory {folder}/{spool} (not a link to another), a file for each key."),
    "journal": (
        "Each request that is answered adds a line to {folder}/{journal}.",
        "the log of answered requests is {folder}/{journal}, a line for each.",
        "{folder}/{journal} receives one line per answered request."),
    "survive": (
        "All that holds after every start by {folder}/start, from any working directory, without preparation.",
        "and it works whenever {folder}/start is run, wherever from, with nothing else to do first.",
        "No manual step is needed before {folder}/start, whatever directory it is called from."),
    "keep": (
        "The program in bin/, the start script, the data file and the text of the token file are not to be changed.",
        "leave bin/, the start script, the data file and the token itself alone.",
        "Program (bin/), start script, data file and the content of the token file remain as delivered."),
}
# fmt: on

PROGRAM = '''#!/usr/bin/python3
"""@NAME@: looks up values, stores new ones.

Settings: see etc/; the environment goes first (the name of the program in capitals, _ and the key in capitals).
"""
import glob
import json
import os
import queue
import re
import socket
import stat
import sys
import threading
import time

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PREFIX = "@NAME@".upper() + "_"


def load(path, found, fixed):
    """Later settings win, except over a final one. Includes are taken in the order of their names."""
    with open(path) as lines:
        for line in lines:
            line = line.split("#")[0].strip()
            if line.startswith("include "):
                for name in sorted(glob.glob(os.path.join(os.path.dirname(path), line.split(None, 1)[1]))):
                    load(name, found, fixed)
                continue
            match = re.fullmatch(r"(final\\s+)?(\\w+)\\s*=\\s*(.*)", line)
            if match and match[2] not in fixed:
                found[match[2]] = re.sub(r"\\$\\{(\\w+)\\}", lambda name: found.get(name[1], ""), match[3])
                if match[1]:
                    fixed.add(match[2])


def settings():
    found = {"log": "/dev/null"}
    load(sys.argv[1], found, set())
    for key in found:
        found[key] = os.environ.get(PREFIX + key.upper(), found[key])
    for key in ("spool", "journal", "token", "data", "control", "log"):
        found[key] = os.path.join(HOME, found[key])
    return found


def prepare(conf):
    """Check the surroundings and open what we listen on."""
    if stat.S_IMODE(os.stat(conf["token"]).st_mode) & 0o077:
        raise ValueError("token file is open to others")
    if not stat.S_ISDIR(os.stat(conf["spool"]).st_mode):
        raise ValueError("spool is no directory")
    if os.path.lexists(conf["control"]):
        if not stat.S_ISSOCK(os.lstat(conf["control"]).st_mode):
            raise ValueError("control path is in use by something that is no socket")
        os.unlink(conf["control"])
    opened = []
    try:
        for kind, key in (("http", "port"), ("line", "line_port")):
            if int(conf.get(key, "0")):
                listener = socket.socket()
                opened.append((kind, listener))
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((conf["listen"], int(conf[key])))
                listener.listen(16)
        control = socket.socket(socket.AF_UNIX)
        opened.append(("line", control))
        control.bind(conf["control"])
        control.listen(1)
    except (OSError, ValueError):
        for _, listener in opened:
            listener.close()
        raise
    return opened


class Service:
    def __init__(self, conf):
        self.conf = conf
        self.token = open(conf["token"]).read().strip()
        self.data = dict(line.rstrip("\\n").split("\\t") for line in open(conf["data"]))
        self.lock = threading.Lock()

    def health(self):
        return {"site": self.conf["site"], "limit": int(self.conf["limit"]), "workers": int(self.conf["workers"])}

    def get(self, key):
        path = os.path.join(self.conf["spool"], key)
        if re.fullmatch(r"\\w+", key) and os.path.isfile(path):
            return open(path).read()
        return self.data.get(key)

    def put(self, key, token, value):
        if token != self.token:
            return 403
        if len(value) > int(self.conf["limit"]) or not re.fullmatch(r"\\w+", key):
            return 413
        with open(os.path.join(self.conf["spool"], key), "w") as out:
            out.write(value)
        return 201

    def note(self, *words):
        with self.lock, open(self.conf["journal"], "a") as out:
            out.write(" ".join(map(str, words)) + "\\n")

    def http(self, stream):
        verb, path, _ = stream.readline().decode().split()
        headers = {}
        while (line := stream.readline().decode().strip()):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        key, body = path.rsplit("/", 1)[1], ""
        if verb == "PUT":
            status = self.put(key, headers.get("x-token"), stream.read(int(headers.get("content-length", 0))).decode())
        elif path == "/health":
            status, body = 200, json.dumps(self.health())
        else:
            body = self.get(key) if path.startswith("/value/") else None
            status, body = (404, "") if body is None else (200, body)
        self.note("http", verb, key, status)
        data = body.encode()
        head = f"HTTP/1.1 {status} @NAME@\\r\\nContent-Length: {len(data)}\\r\\nConnection: close\\r\\n\\r\\n"
        stream.write(head.encode() + data)
        stream.flush()

    def line(self, stream):
        for raw in stream:
            verb, *words = raw.decode().strip().split(" ", 3)
            if verb == "HEALTH":
                answer = json.dumps(self.health())
            elif verb == "GET" and words:
                value = self.get(words[0])
                answer = "NONE" if value is None else "VALUE " + value
            elif verb == "PUT" and len(words) == 3:
                answer = {403: "DENIED", 413: "TOOBIG", 201: "STORED"}[self.put(*words)]
            else:
                answer = "WHAT"
            self.note("line", verb, words[0] if words else "-", answer.split(" ")[0] if verb != "HEALTH" else "OK")
            stream.write((answer + "\\n").encode())
            stream.flush()

    def work(self, waiting):
        while True:
            kind, connection = waiting.get()
            try:
                with connection, connection.makefile("rwb") as stream:
                    getattr(self, kind)(stream)
            except (OSError, ValueError):
                pass


def accept(kind, listener, waiting):
    while True:
        waiting.put((kind, listener.accept()[0]))


def main():
    while True:
        log = "/dev/null"
        try:
            conf = settings()
            log = conf["log"]
            opened = prepare(conf)
            break
        except (OSError, ValueError, KeyError) as error:
            try:
                with open(log, "a") as out:
                    out.write(f"not ready: {error}\\n")
            except OSError:
                pass
            time.sleep(0.5)
    service, waiting = Service(conf), queue.Queue()
    for _ in range(int(conf["workers"])):
        threading.Thread(target=service.work, args=(waiting,), daemon=True).start()
    for kind, listener in opened:
        threading.Thread(target=accept, args=(kind, listener, waiting), daemon=True).start()
    while True:
        time.sleep(60)


main()
'''
START = """#!/bin/bash
# runs @NAME@ in the foreground
cd @F@ || exit 1
set -a
[ -f etc/default ] && . etc/default
exec /usr/bin/python3 bin/@NAME@.py etc/@C@
"""

TESTS = """
import hashlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
SPOOL = FOLDER / TRUTH["spool"]
JOURNAL = FOLDER / TRUTH["journal"]
SEEN = {}


def ask(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=2) as link:
        link.sendall(data.encode())
        link.shutdown(socket.SHUT_WR)
        got = b""
        while chunk := link.recv(4096):
            got += chunk
        return got.decode()


def http(port, verb, path, body="", token=""):
    head = f"{verb} {path} HTTP/1.1\\r\\nHost: x\\r\\nX-Token: {token}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
    answer = ask(port, head + body)
    head, _, text = answer.partition("\\r\\n\\r\\n")
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
        SEEN["line health"] = json.loads(ask(port, "HEALTH\\n"))
        SEEN["line values"] = ask(port, f"GET {known}\\nGET nowhere\\n").splitlines() == ["VALUE " + value, "NONE"]
        puts = f"PUT linekey wrong no\\nPUT linekey {token} {big}\\nPUT linekey {token} TEXT\\n"
        said = ask(port, puts + "GET linekey\\n")
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
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", TRUTH["port"] or TRUTH["line_port"]), timeout=1).close()
                converse()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
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
    got = "\\n".join(seen()["journal"])
    for kind in kinds():
        assert f"{kind} GET {TRUTH['known'][0]} " in got and f"{kind} PUT {kind}key " in got, kind


def test_delivered_files_untouched():
    for name, digest in TRUTH["files"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_installation_is_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["files"])
"""


@dataclass(frozen=True)
class Faults:
    """Which part of the configuration carries what; `wrong` maps a setting to its bad value."""

    wrong: Mapping[str, str]
    final: bool  # the journal and the address are pinned in an early file
    env: bool  # etc/default overrides a port


def protocol_text(world: World, hard: bool) -> str:
    """What clients say, in a sentence."""
    http = "GET /health, GET /value/KEY and PUT /value/KEY with an X-Token header (HTTP)"
    line = "HEALTH, GET KEY and PUT KEY TOKEN VALUE, one request per line (line protocol)"
    if hard:
        return f"Clients use {http}; others use {line}."
    return f"Clients use {http if world.protocol == 'http' else line}."


def configuration(world: World, values: Mapping[str, str], faults: Faults) -> dict[str, str]:
    """The configuration files below etc/: right values in the main file, overrides on top, in names that sort oddly."""
    right = [f"{key} = {values[key]}" for key in ("port", "line_port") if key in values]
    main = [
        "# main settings",
        "site = default site",
        "limit = 20",
        "listen = 127.0.0.1",
        f"workers = {values['workers']}",
        *right,
        f"spool = {world.spool}",
        f"journal = {world.journal}",
        "token = etc/token",
        "data = etc/values.tsv",
        f"control = run/{world.service}.sock",
        f"log = run/{world.service}.log",
        "include conf.d/*.conf",
    ]
    site = ["# on site", f"site = {values['site']}", f"limit = {values['limit']}"]
    tuning = ["# tuning, load test", "workers = 0", "limit = 7", "backlog = 64"]
    early = ["# packaged defaults", "limit = 12"]
    local = ["# local changes", "colour = green"]
    for key, value in faults.wrong.items():
        pinned = faults.final and key in ("journal", "listen")
        target = early if pinned else site if key in ("port", "line_port", "journal") else local
        target.append(("final " if pinned else "") + f"{key} = {value}")
    if faults.final:
        local.append("log = /dev/null")
        site.append("include ../extra/*.conf")
    files = {
        world.conf: main,
        "conf.d/00-package.conf": early,
        "conf.d/100-tuning.conf": tuning,
        "conf.d/20-site.conf": site,
    }
    files["extra/local.conf" if faults.final else "conf.d/90-local.conf"] = local
    result = {f"etc/{name}": "\n".join(lines) + "\n" for name, lines in files.items()}
    result["etc/default"] = "# environment of the service\nLANG=C.UTF-8\n"
    if faults.env:
        result["etc/default"] += f"{world.service.upper()}_WORKERS=0\n"
    return result


def draft(draw: Draw) -> Draft:
    """One silent installation."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    folder, port = world.folder, draw.between(21000, 29000)
    values = {
        "workers": str(draw.between(2, 6)),
        "limit": str(draw.between(30, 90)),
        "site": f"{draw.pick(FIRMS)} {draw.between(2, 99)}",
    }
    wrong = {"journal": world.journal + ".old"}
    if hard or world.protocol == "http":
        values["port"], wrong["port"] = str(port), str(port + draw.between(1, 9))
    if hard or world.protocol == "line":
        values["line_port"], wrong["line_port"] = (
            str(port + 20),
            "${port}" if hard else str(port + draw.between(21, 29)),
        )
    if hard or draw.chance(50):
        wrong["listen"] = f"192.0.2.{draw.between(2, 200)}"
    files: dict[str, str | tuple[str, int]] = dict(configuration(world, values, Faults(wrong, hard, hard)))
    marks = {"@NAME@": world.service, "@F@": folder, "@C@": world.conf}
    known = [(word, f"{draw.pick(('red', 'blue', 'tall', 'old'))} {draw.between(100, 999)}") for word in world.words]
    delivered = {
        f"bin/{world.service}.py": filled(PROGRAM, marks),
        "start": filled(START, marks),
        "etc/values.tsv": "".join(f"{key}\t{value}\n" for key, value in known),
        "etc/token": f"{draw.between(10**9, 10**10)}\n",
    }
    files |= {name: (text, 0o755 if name == "start" else 0o644) for name, text in delivered.items()}
    files[f"run/{world.service}.sock"] = "4711\n"  # left by an older version, a plain file
    files[f"{world.journal}.old"] = "http GET before 200\n"
    where = {
        "folder": folder,
        "spool": world.spool,
        "journal": world.journal,
        "name": world.service,
        "port": port,
        "line_port": port + 20,
    }
    skipped = () if hard else ("line",) if world.protocol == "http" else ("http",)
    rules = {
        k: texts[world.wording].format(workers=values["workers"], **where)
        for k, texts in RULES.items()
        if k not in skipped
    }
    keep = rules.pop("keep")
    spool_parent = world.spool.rsplit("/", 1)[0]
    setup = f"mkdir -p {spool_parent} && " + (f"ln -s /mnt/old/{world.service} {world.spool}" if hard else "true")
    goals = ["test_health", "test_values", "test_store", "test_journal"]
    main_keys = [key for key in ("port", "line_port", "listen", "workers", "journal") if key in values or key in wrong]
    instruction = world.text.format(
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        keep=keep,
        protocol=protocol_text(world, hard),
        rules=world.bullet + world.bullet.join(rules.values()),
        **where,
    )
    return Draft(
        title=f"Make it answer: {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY . {folder}/\nRUN cd {folder} && {setup}\nWORKDIR {folder}",
        truth={
            "folder": folder,
            "spool": world.spool,
            "journal": world.journal,
            "port": port if "port" in values else 0,
            "line_port": port + 20 if "line_port" in values else 0,
            "health": {"site": values["site"], "limit": int(values["limit"]), "workers": int(values["workers"])},
            "known": list(known[2]),
            "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in delivered.items()},
        },
        discoverable=("folder", "spool", "journal", "health", "known", "files"),
        tests=TESTS,
        weights={"test_health": 0.25, "test_values": 0.25, "test_store": 0.25, "test_journal": 0.25},
        guards=["test_delivered_files_untouched"],
        initial=INITIAL,
        solution=repair(world, values, main_keys),
        alternatives=[rewrite(world, values)],
        misses=[
            Miss(
                "port_only",
                "stops at the first fault",
                f"cd {folder} && sed -i '/port/d' etc/conf.d/20-site.conf",
                goals,
            ),
            Miss(
                "no_workers", "leaves the workers at none", repair(world, values, main_keys, skip="workers"), goals[:3]
            ),
            Miss(
                "journal_left",
                "does not see that the journal goes elsewhere",
                repair(world, values, main_keys, skip="journal"),
                goals[3:],
            ),
            Miss(
                "override_removed",
                "drops the overrides with everything they say",
                repair(world, values, main_keys) + f"rm -r {folder}/etc/conf.d/*\n",
                goals[:1],
            ),
            Miss(
                "spool_elsewhere",
                "points the spool to another directory",
                repair(world, values, main_keys)
                + f"echo 'spool = /var/tmp' >> {folder}/etc/{world.conf}; rm -rf {folder}/{world.spool}\n",
                goals[2:3],
            ),
            Miss(
                "token_open",
                "does not close the token file",
                repair(world, values, main_keys) + f"chmod 644 {folder}/etc/token\n",
                goals,
            ),
        ],
        requirements=[
            *(
                (text, {"spool": goals[2:3], "journal": goals[3:], "workers": goals[:1]}.get(key, goals))
                for key, text in rules.items()
            ),
            (keep, ["test_delivered_files_untouched"]),
        ],
        knobs={"faults": len(wrong) + 4 + 2 * hard, "listeners": 2 if hard else 1, "final": hard, "environment": hard},
    )


def surroundings(world: World) -> str:
    """Directory, permissions and socket path."""
    return f"rm -f {world.spool} run/{world.service}.sock; mkdir -p {world.spool}; chmod 600 etc/token\n"


def repair(world: World, values: Mapping[str, str], keys: list[str], skip: str = "") -> str:
    """Remove what overrides the right values of the main file."""
    script = f"cd {world.folder}\n"
    for key in keys:
        if key != skip:
            script += (
                f"find etc/conf.d etc/extra -name '*.conf' -exec sed -i -E '/^(final +)?{key} *=/d' {{}} + "
                f"2>/dev/null\n"
                f"sed -i '/_{key.upper()}=/d' etc/default\n"
            )
    return script + surroundings(world)


def rewrite(world: World, values: Mapping[str, str]) -> str:
    """Another way: one file that pins everything, included before all others."""
    lines = [f"final {key} = {value}" for key, value in values.items()]
    lines += ["final listen = 127.0.0.1", f"final journal = {world.journal}", f"final spool = {world.spool}"]
    return (
        f"cd {world.folder} && mkdir etc/pinned && cat > etc/pinned/all.conf <<'END'\n" + "\n".join(lines) + "\nEND\n"
        f"python3 - <<'PY'\nfrom pathlib import Path\nmain = Path('etc/{world.conf}')\n"
        "main.write_text('include pinned/all.conf\\n' + main.read_text())\nPath('etc/default').write_text('')\nPY\n"
        + surroundings(world)
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The text with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="silent_service",
    domain="system_administration",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("service diagnosis", "configuration includes", "permissions", "sockets"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
    fixture="multi_service",
)
