"""Conversations of the key-value server's tests: what clients send, in which pieces, and the replies of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from generators.families.system_administration._key_value_server import Model
from generators.family import Draw

Request = tuple[str, list[str], str]


def put(key: str, value: str, life: str = "") -> Request:
    """A request that stores."""
    return ("put", [key, str(len(value)), *([life] if life else [])], value)


def simple(verb: str, *args: str) -> Request:
    """Any other request."""
    return (verb, list(args), "")


def random_request(draw: Draw, keys: tuple[str, ...], limit: int) -> Request:
    """Anything a client may send, sometimes wrong."""
    key = f"{draw.pick(keys)}{draw.pick(('', ':1', '.x', '-Z'))}"
    value = "".join(draw.pick(("a\n", "\r\x00", " \xff", "{}9", "b")) for _ in range(draw.between(0, 6)))
    kind = draw.between(0, 99)
    if kind < 30:
        return put(key, draw.pick((value, str(draw.between(-50, 50)))), draw.pick(("", "", str(draw.between(1, 6)))))
    if kind < 45:
        return simple("get", key)
    if kind < 52:
        return simple("del", key, *draw.sample(keys, draw.between(0, 2)))
    if kind < 60:
        return simple("tick", str(draw.between(0, 3)))
    if kind < 68:
        return simple(draw.pick(("life", "keep")), key)
    if kind < 80:
        return simple("add", key, str(draw.between(-999, 999)))
    if kind < 88:
        return simple("list", *([] if draw.chance(40) else [draw.pick(keys)[:2]]))
    wrong = (
        simple("XYZZY", key),
        simple(""),
        simple("get"),
        simple("get", "a/b"),
        simple("put", key, "x1"),
        put("k" * 33, "gone"),
        put(key, "z" * (limit + 1)),
        put(key, "late", "0"),
        put(key, "later", "soon"),
        simple("tick", "-1"),
        simple("add", key, "1.5"),
        simple("life", key, key),
        simple("list", "a", "b"),
        put("b\xe4d", "get x\n"),
    )
    return draw.pick(wrong)


@dataclass
class Recorder:
    """Turns requests into the steps of a case, with the replies of the model."""

    draw: Draw
    words: Mapping[str, str]
    model: Model
    steps: list[list[object]] = field(default_factory=list[list[object]])

    def wire(self, request: Request) -> str:
        """The request as sent."""
        verb, args, value = request
        payload = f"{value}\n" if verb == "put" and len(args) > 1 and args[1].isdigit() else ""
        return " ".join([self.words.get(verb, verb), *args]) + "\n" + payload

    def send(self, client: int, requests: list[Request], cuts: int = 0) -> None:
        """One step: these requests together, sent in some pieces."""
        text = "".join(self.wire(request) for request in requests)
        reply = "".join(self.model.request(client, *request) + "\n" for request in requests)
        places = sorted(self.draw.sample(range(1, len(text)), min(cuts, len(text) - 1))) if len(text) > 1 else []
        self.steps.append([client, text, places, reply])

    def halves(self, first: int, request: Request, other: int, between: list[Request]) -> None:
        """Half a request of one client, whole ones of another, then the rest."""
        text = self.wire(request)
        middle = self.draw.between(1, len(text) - 1)
        self.steps.append([first, text[:middle], [], ""])
        self.send(other, between)
        self.steps.append([first, text[middle:], [], self.model.request(first, *request) + "\n"])


def draw_cases(
    draw: Draw, keys: tuple[str, ...], words: Mapping[str, str], limit: int, extreme: bool
) -> dict[str, list[dict[str, object]]]:
    """Cases by test, each with planned traps and random requests."""
    cases: dict[str, list[dict[str, object]]] = {}

    def record(kind: str, before: Model | None = None) -> tuple[Recorder, dict[str, object]]:
        model = Model(limit, before.clock, dict(before.entries)) if before else Model(limit)
        recorder = Recorder(draw, words, model)
        case: dict[str, object] = {"before": before.file() if before else None, "steps": recorder.steps}
        cases.setdefault(kind, []).append(case)
        return recorder, case

    tape, case = record("requests")
    tape.send(0, [put(keys[0], "two\nlines\n")])
    tape.send(0, [put(keys[1], "q" * (limit + draw.between(1, 5)))])
    tape.send(0, [simple("get", keys[0])])
    for _ in range(28):
        tape.send(0, [random_request(draw, keys, limit)])
    case["after"] = tape.model.file()

    tape, case = record("streams")
    for number in range(8):
        tape.send(
            number % 3, [random_request(draw, keys, limit) for _ in range(draw.between(1, 8))], draw.between(0, 5)
        )
        tape.halves(
            3, put(keys[2], f"half {number}\n"), number % 3, [simple("get", keys[2]), random_request(draw, keys, limit)]
        )
    case["after"] = tape.model.file()

    tape, case = record("clock")
    life = draw.between(3, 6)
    tape.send(
        0,
        [put(keys[0], "5", str(life)), put(keys[1], "x", str(life)), put(keys[1], "y"), simple("tick", str(life - 1))],
    )
    tape.send(0, [simple("add", keys[0], "3"), simple("life", keys[0]), simple("life", keys[1]), simple("tick", "1")])
    tape.send(0, [simple("get", keys[0]), simple("add", keys[0], "1"), simple("life", keys[0]), simple("list")])
    for _ in range(9):
        key = draw.pick(keys)
        tape.send(
            0,
            [
                draw.pick(
                    (
                        put(key, str(draw.between(0, 9)), str(draw.between(1, 4))),
                        simple("keep", key),
                        simple("get", key),
                    )
                )
            ],
        )
        tape.send(
            0,
            [
                simple("tick", str(draw.between(0, 2))),
                simple("life", key),
                simple("del", key, key) if draw.chance(20) else simple("list"),
            ],
        )
    case["after"] = tape.model.file()

    before = Model(limit, draw.between(5, 50))
    for number in range(draw.between(3, 6)):
        value = "".join(draw.pick("ab\n\x00\xfe") for _ in range(number))
        before.entries[f"{draw.pick(keys)}.{number}"] = (value, draw.pick((None, before.clock + draw.between(2, 9))))
    tape, case = record("store", before)
    tape.send(0, [simple("list"), simple("tick", "0")])
    tape.send(0, [put("gone", "1", "2"), put("edge", "1", "3"), put("Upper", ""), simple("tick", "2")])
    case["after"] = tape.model.file()
    for _ in range(2 if extreme else 0):
        transactions(draw, keys, limit, *record("transactions"))
    return cases


def transactions(draw: Draw, keys: tuple[str, ...], limit: int, tape: Recorder, case: dict[str, object]) -> None:
    """Queued, spoilt, given up and overtaken transactions of several clients."""
    a, b = keys[0], keys[1]
    tape.send(0, [put(a, "1", "4"), simple("watch", a, b), simple("begin"), simple("add", a, "1"), simple("get", a)])
    tape.send(1, [simple("get", a), simple("tick", "1")])  # the clock alone changes nothing
    tape.send(0, [simple("commit"), simple("commit")])
    tape.send(0, [simple("watch", a), simple("begin"), put(b, "lost")])
    tape.send(1, [put(a, "other")])
    tape.send(0, [simple("commit"), simple("get", b)])
    tape.send(0, [put(a, "s", "2"), simple("watch", a), simple("begin"), simple("list")])
    tape.send(2, [simple("tick", "2")])  # it expires meanwhile
    tape.send(
        0,
        [
            simple("commit"),
            simple("begin"),
            simple("begin"),
            simple("watch", a),
            put(a, "k"),
            simple("XYZZY"),
            simple("commit"),
            simple("get", a),
        ],
    )
    for _ in range(8):
        client = draw.between(0, 2)
        tape.send(client, [simple("watch", *draw.sample(keys, 2)), simple("begin")])
        tape.send(client, [random_request(draw, keys, limit) for _ in range(draw.between(1, 2))], draw.between(0, 3))
        tape.send((client + 1) % 3, [random_request(draw, keys, limit)])
        tape.send(client, [simple(draw.pick(("commit", "commit", "commit", "drop"))), simple("list")])
    case["after"] = tape.model.file()
