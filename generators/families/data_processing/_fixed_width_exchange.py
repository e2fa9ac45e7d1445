"""Fixed-width exchange files: a format, files in it with their JSON form, and files that have to be rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from generators.family import Draw, Setting

PLUS, MINUS = "{ABCDEFGHI", "}JKLMNOPQR"
DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3, "USD": 2}
NAMES = ("sender", "number", "created", "items", "ref", "day", "amount", "quantity", "text", "groups", "account")

Spec = dict[str, list[tuple[str, int, int, str]]]
Value = str | int


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: record codes, keys of the JSON in the order of NAMES, and the program's name."""

    folder: str
    program: str
    codes: tuple[str, ...]
    words: tuple[str, ...]
    partner: str
    text: str


@dataclass(frozen=True)
class Item:
    """A detail; `pieces` are its text and the continuations."""

    ref: str
    day: date
    amount: int
    quantity: int
    pieces: tuple[str, ...]
    plain: bool = False


@dataclass(frozen=True)
class Exchange:
    """A file before it is written; at the medium level there is one group."""

    number: int
    created: date
    groups: tuple[tuple[str, str, tuple[Item, ...]], ...]


def overpunched(value: int, width: int, plain: bool = False) -> str:
    """A signed field; `plain` leaves a positive last digit as it is, and makes a zero negative."""
    text = f"{abs(value):0{width}d}"
    if plain and value > 0:
        return text
    negative = value < 0 or (plain and value == 0)
    return text[:-1] + (MINUS if negative else PLUS)[int(text[-1])]


@dataclass(frozen=True)
class Format:
    """Where the fields are: code -> (name, first, last, kind)."""

    place: World
    width: int
    hard: bool
    spec: Spec

    def line(self, code: str, **values: Value) -> str:
        """A record."""
        cells = list(code.ljust(self.width))
        for name, first, last, kind in self.spec[code]:
            size, value = last - first + 1, values[name]
            text = f"{value:0{size}d}" if isinstance(value, int) else value.ljust(size)
            if kind == "signed" and isinstance(value, int):
                text = overpunched(value, size, bool(values.get("plain")))
            cells[first - 1 : last] = list(text)
        return "".join(cells)

    def lines(self, exchange: Exchange) -> list[str]:
        """The records of a file."""
        h, g, d, x, e, t = self.place.codes
        out = [self.line(h, sender=self.place.partner, number=exchange.number, created=f"{exchange.created:%Y%m%d}")]
        total = check = 0
        for account, currency, items in exchange.groups:
            if self.hard:
                out.append(self.line(g, account=account, currency=currency))
            for item in items:
                values = {
                    "ref": item.ref,
                    "day": f"{item.day:%Y%m%d}",
                    "amount": item.amount,
                    "quantity": item.quantity,
                }
                out.append(self.line(d, text=item.pieces[0], plain=item.plain, **values))
                out += [self.line(x, text=piece) for piece in item.pieces[1:]]
                check += item.quantity
            amount = sum(item.amount for item in items)
            total += amount
            if self.hard:
                out.append(self.line(e, count=len(items), total=amount))
        count = len(out) + 1 if self.hard else sum(len(items) for _, _, items in exchange.groups)
        return [*out, self.line(t, count=count, total=total, check=check % 10000)]

    def result(self, exchange: Exchange) -> dict[str, object]:
        """The JSON form."""
        w = dict(zip(NAMES, self.place.words, strict=True))
        groups: list[dict[str, object]] = []
        for account, currency, items in exchange.groups:
            shown = [
                {
                    w["ref"]: item.ref,
                    w["day"]: item.day.isoformat(),
                    w["amount"]: self.money(item.amount, currency),
                    w["quantity"]: item.quantity,
                    w["text"]: "".join([*(piece.ljust(14) for piece in item.pieces[:-1]), item.pieces[-1]]).rstrip(" "),
                }
                for item in items
            ]
            total = self.money(sum(item.amount for item in items), currency)
            groups.append({w["account"]: account, "currency": currency, "total": total, w["items"]: shown})
        body = {w["groups"]: groups} if self.hard else {w["items"]: groups[0][w["items"]]}
        return {
            w["sender"]: self.place.partner,
            w["number"]: exchange.number,
            w["created"]: exchange.created.isoformat(),
            **body,
        }

    def money(self, value: int, currency: str) -> Value:
        """An amount as the JSON has it."""
        if not self.hard:
            return value
        places = DECIMALS[currency]
        whole, rest = divmod(abs(value), 10**places)
        return f"{'-' if value < 0 else ''}{whole}" + (f".{rest:0{places}d}" if places else "")


def draw_format(draw: Draw, place: World, hard: bool) -> Format:
    """The fields of each record in an order of this draw, with filler between them."""
    h, g, d, x, e, t = place.codes
    kinds = {
        "number": 6,
        "created": 8,
        "sender": 10,
        "account": 9,
        "currency": 3,
        "ref": 8,
        "day": 8,
        "amount": 8,
        "quantity": 4,
        "text": 14,
    }
    totals = {"count": ("number", 5), "total": ("signed", 11), "check": ("number", 4)}
    plan = {
        h: [("sender", "id"), ("number", "number"), ("created", "date")],
        d: [("ref", "id"), ("day", "date"), ("amount", "signed"), ("quantity", "number"), ("text", "text")],
        t: [("count", ""), ("total", ""), ("check", "")],
    }
    if hard:
        plan |= {g: [("account", "id"), ("currency", "id")], x: [("text", "text")], e: [("count", ""), ("total", "")]}
    width = draw.between(54, 72)
    spec: Spec = {}
    for code, fields in plan.items():
        sized = [
            (name, *totals[name]) if name in totals else (name, kind, kinds[name])
            for name, kind in draw.shuffled(fields)
        ]
        spare, at = width - 2 - sum(size for _, _, size in sized), 3
        spec[code] = []
        for name, kind, size in sized:
            gap = draw.between(0, min(3, spare - 1))
            spare -= gap
            spec[code].append((name, at + gap, at + gap + size - 1, kind))
            at += gap + size
    return Format(place, width, hard, spec)


def draw_exchange(draw: Draw, hard: bool, number: int) -> Exchange:
    """A file; the first numbers have the traps at fixed places."""
    start = date(2024, draw.between(1, 12), 29 if number % 2 else 1) if number % 3 else date(2024, 2, 29)
    groups: list[tuple[str, str, tuple[Item, ...]]] = []
    for index in range(0 if hard and number == 5 else draw.between(1, 2) if hard else 1):
        items: list[Item] = []
        for row in range(0 if index == 0 and number in (3, 5) else draw.between(2, 3)):
            amount = draw.between(1, 99_999) * draw.pick((1, 1, -1)) if row else (0, -7, 5, -30)[(number + index) % 4]
            pieces = (draw.pick(("", "plain", 'say "hi"', "back\\slash", "  indented", "{A}", "ends  ", "x, y; z")),)
            if hard and row % 2 == 0:
                pieces = (pieces[0], *draw.pick((("more",), ("  and", "on"), ("", "late"), ("0123456789abcd", "!"))))
            quantity = draw.between(5000, 9999) if row < 2 else draw.between(0, 50)
            day = start - timedelta(days=draw.between(0, 60))
            items.append(
                Item(
                    f"{draw.pick('KLM')}{draw.between(10, 99)}-{draw.between(1, 999)}",
                    day,
                    amount,
                    quantity,
                    pieces,
                    row % 2 == 0,
                )
            )
        groups.append(
            (f"AC{draw.between(1000, 99999)}", ("EUR", "JPY", "KWD", "USD")[(number + index) % 4], tuple(items))
        )
    return Exchange(draw.between(1, 999_999), start, tuple(groups))


def put(lines: Sequence[str], row: int, first: int, text: str) -> list[str]:
    """The lines with other text from a position of one row."""
    line = lines[row]
    return [*lines[:row], line[: first - 1] + text + line[first - 1 + len(text) :], *lines[row + 1 :]]


def broken_files(draw: Draw, form: Format) -> list[tuple[str, str]]:
    """Files that have to be rejected, with the class of the mistake."""
    h, g, d, x, e, t = form.place.codes
    good = form.lines(replace(draw_exchange(draw, form.hard, 0)))
    row = next(number for number, line in enumerate(good) if line[:2] == d)
    at = {(code, name): (first, last) for code, fields in form.spec.items() for name, first, last, _ in fields}
    listed = {position for _, first, last, _ in form.spec[d] for position in range(first, last + 1)}
    filler = next(position for position in range(form.width, 2, -1) if position not in listed)
    amount, day, quantity, ref = at[d, "amount"], at[d, "day"], at[d, "quantity"], at[d, "ref"]
    count, total, check = at[t, "count"], at[t, "total"], at[t, "check"]
    last = len(good) - 1
    bad_total = put(good, last, total[1], "Q" if good[last][total[1] - 1] != "Q" else "P")
    bad_day = put(good, row, day[0], "20230229")
    files: list[tuple[str, Sequence[str]]] = [
        ("form", []),
        ("form", [*good[:row], good[row][:-1], *good[row + 1 :]]),
        ("form", [*good[:row], good[row] + " ", *good[row + 1 :]]),
        ("form", [*good[:row], "", *good[row:]]),
        ("form", [*bad_day[:-1], bad_day[-1] + "  "]),
        ("sequence", good[:-1]),
        ("sequence", good[1:]),
        ("sequence", [*good, good[-1]]),
        ("sequence", [good[0], *good]),
        ("sequence", put(bad_day, row, 1, "??")),
        ("field", bad_day),
        ("field", put(bad_total, row, amount[1], draw.pick("SZ-"))),
        ("field", put(good, row, amount[1] - 1, draw.pick("AJ-"))),
        ("field", put(good, row, quantity[0], " ")),
        ("field", put(good, row, ref[0], " ")),
        ("field", put(good, row, filler, draw.pick("0x"))),
        ("field", put(good, 0, at[h, "number"][0], "+")),
        ("total", bad_total),
        ("total", put(good, last, check[0], f"{(int(good[last][check[0] - 1 : check[1]]) + 1) % 10000:04d}")),
        ("total", put(good, last, count[0], f"{int(good[last][count[0] - 1 : count[1]]) + 1:05d}")),
    ]
    if form.hard:
        end = next(number for number, line in enumerate(good) if line[:2] == e)
        counted = at[e, "count"]
        group_total = at[e, "total"][1]
        files += [
            ("sequence", [*good[:end], *good[end + 1 :]]),
            ("sequence", [*good[:2], form.line(x, text="stray"), *good[2:]]),
            ("sequence", [*good[: end + 1], good[row], *good[end + 1 :]]),
            ("field", put(good, 1, at[g, "currency"][0], "XXX")),
            ("total", put(good, end, counted[0], f"{int(good[end][counted[0] - 1 : counted[1]]) + 1:05d}")),
            ("total", put(good, end, group_total, "Q" if good[end][group_total - 1] != "Q" else "P")),
        ]
    return [(name, "".join(f"{line}\n" for line in lines)) for name, lines in files]
