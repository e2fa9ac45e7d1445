"""The key-value store as its protocol document describes it: a model that tells every reply."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

VERBS = ("put", "get", "del", "tick", "life", "keep", "add", "list", "stop", "begin", "commit", "drop", "watch")

KEY, NUMBER, SIGNED = re.compile(r"[A-Za-z0-9_.:-]{1,32}"), re.compile(r"[0-9]{1,9}"), re.compile(r"-?[0-9]{1,18}")

COUNTS = {
    "put": (2, 3),
    "add": (2, 2),
    "list": (0, 1),
    "del": (1, 99),
    "watch": (1, 99),
    **dict.fromkeys(("begin", "commit", "drop", "stop"), (0, 0)),
}


@dataclass
class Session:
    """What the model knows of a connection."""

    queue: list[tuple[str, list[str], str]] | None = None
    spoilt: bool = False
    seen: dict[str, tuple[str, int | None] | None] = field(default_factory=dict[str, "tuple[str, int | None] | None"])


@dataclass
class Model:
    """The store as the document describes it; values are latin-1 text."""

    limit: int
    clock: int = 0
    entries: dict[str, tuple[str, int | None]] = field(default_factory=dict[str, "tuple[str, int | None]"])
    sessions: dict[int, Session] = field(default_factory=dict[int, Session])

    def live(self, key: str) -> tuple[str, int | None] | None:
        """The entry, if it exists at this clock."""
        entry = self.entries.get(key)
        return None if entry is None or (entry[1] is not None and self.clock >= entry[1]) else entry

    def request(self, client: int, verb: str, args: list[str], value: str) -> str:
        """The reply to a request (without its last newline)."""
        session = self.sessions.setdefault(client, Session())
        problem = self.problem(verb, args)
        if problem:
            session.spoilt = True
            return f"ERR {problem}"
        inside = session.queue is not None
        if (verb in ("begin", "watch") and inside) or (verb in ("commit", "drop") and not inside):
            return "ERR state"
        if verb == "begin":
            session.queue, session.spoilt = [], False
            return "OK"
        if verb == "watch":
            session.seen |= {key: self.live(key) for key in args}
            return "OK"
        if verb in ("commit", "drop"):
            self.sessions[client] = Session()
            if verb == "drop":
                return "OK"
            if session.spoilt:
                return "ERR state"
            if any(self.live(key) != entry for key, entry in session.seen.items()):
                return "NIL"
            replies = [self.execute(*request) for request in session.queue or []]
            return "\n".join([f"ARR {len(replies)}", *replies])
        if session.queue is not None:
            session.queue.append((verb, args, value))
            return "QUEUED"
        return self.execute(verb, args, value)

    def problem(self, verb: str, args: list[str]) -> str:
        """The first check that fails."""
        low, high = COUNTS.get(verb, (1, 1))
        number = NUMBER.fullmatch
        if verb not in VERBS:
            return "command"
        if not low <= len(args) <= high:
            return "arguments"
        if verb == "put" and not number(args[1]):
            return "number"
        if verb == "put" and int(args[1]) > self.limit:
            return "size"
        keys = [] if verb == "tick" else args if verb in ("del", "watch") else args[:1]
        if not all(map(KEY.fullmatch, keys)):
            return "key"
        wrong = (
            (verb == "put" and len(args) == 3 and not (number(args[2]) and int(args[2]) > 0))
            or (verb == "tick" and not number(args[0]))
            or (verb == "add" and not SIGNED.fullmatch(args[1]))
        )
        return "number" if wrong else ""

    def execute(self, verb: str, args: list[str], value: str) -> str:
        """What a request that passed the checks does."""
        key = args[0] if args else ""
        entry = self.live(key)
        if verb == "put":
            self.entries[key] = (value, self.clock + int(args[2]) if len(args) == 3 else None)
            return "OK"
        if verb == "get":
            return "NIL" if entry is None else f"VAL {len(entry[0])}\n{entry[0]}"
        if verb == "del":
            gone = {name for name in args if self.live(name)}
            self.entries = {name: e for name, e in self.entries.items() if name not in gone}
            return f"INT {len(gone)}"
        if verb == "tick":
            self.clock += int(args[0])
            return f"INT {self.clock}"
        if verb == "life":
            return "NIL" if entry is None else f"INT {-1 if entry[1] is None else entry[1] - self.clock}"
        if verb == "keep":
            if entry is None or entry[1] is None:
                return "INT 0"
            self.entries[key] = (entry[0], None)
            return "INT 1"
        if verb == "add":
            old = entry or ("0", None)
            if not SIGNED.fullmatch(old[0]):
                return "ERR number"
            self.entries[key] = (str(int(old[0]) + int(args[1])), old[1])
            return f"INT {self.entries[key][0]}"
        keys = sorted(name for name in self.entries if self.live(name) and name.startswith(key))
        return "\n".join([f"ARR {len(keys)}", *keys])

    def file(self) -> str:
        """The store file."""
        lines = [f"clock {self.clock}"]
        for key in sorted(self.entries):
            entry = self.live(key)
            if entry:
                lines.append(f"{key} {'-' if entry[1] is None else entry[1]} {entry[0].encode('latin-1').hex()}")
        return "\n".join(lines) + "\n"
