#!/usr/bin/python3
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
            match = re.fullmatch(r"(final\s+)?(\w+)\s*=\s*(.*)", line)
            if match and match[2] not in fixed:
                found[match[2]] = re.sub(r"\$\{(\w+)\}", lambda name: found.get(name[1], ""), match[3])
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
        self.data = dict(line.rstrip("\n").split("\t") for line in open(conf["data"]))
        self.lock = threading.Lock()

    def health(self):
        return {"site": self.conf["site"], "limit": int(self.conf["limit"]), "workers": int(self.conf["workers"])}

    def get(self, key):
        path = os.path.join(self.conf["spool"], key)
        if re.fullmatch(r"\w+", key) and os.path.isfile(path):
            return open(path).read()
        return self.data.get(key)

    def put(self, key, token, value):
        if token != self.token:
            return 403
        if len(value) > int(self.conf["limit"]) or not re.fullmatch(r"\w+", key):
            return 413
        with open(os.path.join(self.conf["spool"], key), "w") as out:
            out.write(value)
        return 201

    def note(self, *words):
        with self.lock, open(self.conf["journal"], "a") as out:
            out.write(" ".join(map(str, words)) + "\n")

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
        head = f"HTTP/1.1 {status} @NAME@\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
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
            stream.write((answer + "\n").encode())
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
                    out.write(f"not ready: {error}\n")
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
