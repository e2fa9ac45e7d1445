"""CSV files of the wild: how they are drawn, with every trap in them, and what the stated rules make of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from generators.family import Draw, Setting
from generators.task import Difficulty


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `columns` are key, name, date, amount and note; `sources` are stems of file names."""

    folder: str
    inbox: str
    clean: str
    rejects: str
    summary: str
    columns: tuple[str, str, str, str, str]
    prefix: str
    sources: str
    lead: str
    tail: str


NAMES = (
    "José Ferrer",
    "Zoë Müller",
    "Łukasz Nowak",
    "Anna Bergström",
    "O’Brien & Sons",
    "François Dœuff",
    "Renée Škoda",
    "Bjørn Åsen",
    "Mary Ann Hill",
    "Noël Ügur",
    "Plain Smith",
    "Ines da Graça",
    "Dvořák Ltd",
    "Ole Jensen",
    "Eva König",
    "Tim Wood",
)
NARROW = [name for name in NAMES if "Ł" not in name and "ř" not in name]  # what Windows-1252 can write
NOTES = ("", "", "see letter", "5 € paid – rest later", "call back", "new", "agreed", "half now")
TRICKY = (
    'says "never again"',
    "left, then right; done",
    "first line\nsecond  line",
    'a | b\t"c", d; e',
    "  padded\r\n  text ",
)
DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y")


@dataclass
class Source:
    """One file: how it is written, its header and its rows of cells."""

    name: str
    encoding: str
    separator: str
    end: str
    form: str
    header: list[str]
    titles: list[str]
    rows: list[list[str]]


def number(cents: int, separator: str, style: int) -> str:
    """An amount as a file of this separator writes it; styles 1 and 2 are accountants' negatives, 3 skips decimals."""
    whole, rest = f"{abs(cents) // 100:,}", f"{abs(cents) % 100:02d}"
    text = whole if style == 3 and cents % 100 == 0 else f"{whole}.{rest}"
    if separator == ";":
        text = text.translate(str.maketrans(",.", ".,"))
    if cents >= 0:
        return text
    return (f"-{text}", f"{text}-", f"({text})", f"-{text}")[style]


def quoted(cell: str, source: Source, always: bool) -> str:
    """A cell as the file writes it."""
    if always or any(mark in cell for mark in (source.separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def rendered(source: Source, draw: Draw) -> bytes:
    """The bytes of a file."""
    lines = [source.separator.join(source.titles)]
    for row in source.rows:
        always = draw.chance(20)
        lines.append(source.separator.join(quoted(cell, source, always and row != source.titles) for cell in row))
        if draw.chance(6):
            lines.append("")
    text = source.end.join(lines) + (source.end if draw.chance(70) else "")
    if source.encoding == "utf-16":
        return b"\xff\xfe" + text.encode("utf-16-le")
    return text.encode(source.encoding)


def draw_sources(draw: Draw, place: World, rows: int) -> list[Source]:
    """The files with every trap planted."""
    level = draw.difficulty
    hard = level is Difficulty.HARD
    encodings = draw.by_difficulty(
        easy=["utf-8-sig", "utf-8"],
        medium=["cp1252", "utf-8", "utf-8-sig", "cp1252"],
        hard=["cp1252", "utf-16", "utf-8-sig", "utf-8", "cp1252", "utf-16", "utf-8"],
    )
    separators = draw.by_difficulty(easy=";,", medium=";,\t;", hard=";,|\t,;|")
    names = sorted(draw.sample(place.sources.split(), len(encodings)))
    sources: list[Source] = []
    serial = iter(draw.sample(range(1000, 9999), rows * len(names) + 50))
    keys: list[str] = []
    start = date(2022, draw.between(1, 12), 3)
    for index, name in enumerate(names):
        header = draw.shuffled(place.columns) if index else list(place.columns)
        if hard and index % 2:
            header.insert(draw.between(0, 5), draw.pick(("entered_by", "page", "checksum")))
        titles = [draw.pick((title, title.upper(), title.title(), f" {title} ")) for title in header]
        form = (
            DATE_FORMS[(index + (separators[index] == ";")) % (3 if hard else 2)]
            if level is not Difficulty.EASY
            else DATE_FORMS[0]
        )
        source = Source(
            f"{name}.csv", encodings[index], separators[index], draw.pick(("\n", "\r\n")), form, header, titles, []
        )
        people = NARROW if source.encoding == "cp1252" else NAMES
        for count in range(rows):
            key = f"{place.prefix}{next(serial)}"
            keys.append(key)
            note = TRICKY[count % 5] if count < 5 else draw.pick(NOTES)
            if count == 6:
                note = "5 € paid – rest later"
            cents = draw.between(100, 900_000) * (-1 if count in (2, 4) or draw.chance(10) else 1)
            style = (count // 2 if count in (2, 4) else draw.between(0, 3)) if hard else draw.pick((0, 3))
            if count == 7:  # thousands without decimals: 1.250 is not one and a quarter
                cents, style = 100 * draw.between(1100, 9800), 3
            day = start + timedelta(days=draw.between(0, 500))
            source.rows.append(
                cells(source, place, key, draw.pick(people), day, number(cents, source.separator, style), note)
            )
        sources.append(source)
    plant_duplicates(draw, sources, place, keys, start)
    if level is not Difficulty.EASY:
        plant_ragged(draw, sources, place, start, [f"{place.prefix}{next(serial)}" for _ in range(40)])
    for source in sources:
        source.rows = draw.shuffled(source.rows)
    if hard:
        for source in sources[1::2]:
            source.rows.insert(len(source.rows) // 2, list(source.titles))
    return sources


def cells(source: Source, place: World, key: str, name: str, day: date, amount: str, note: str) -> list[str]:
    """A row in the column order of its file; the columns nobody asked for get filler."""
    values = [key, name, day.strftime(source.form), amount, note]
    known = dict(zip(place.columns, values, strict=True))
    return [known.get(title, "7f") for title in source.header]


def plant_duplicates(draw: Draw, sources: list[Source], place: World, keys: list[str], start: date) -> None:
    """The same key again: newer in the earlier file, newer in the later one, a tie over files, a tie within a file."""
    pairs = [(0, 1, 700, 600), (0, 1, 610, 720), (0, 1, 650, 650), (1, 1, 640, 640), (len(sources) - 1, 0, 660, 630)]
    for count in range(draw.by_difficulty(easy=1, medium=3, hard=6)):
        for pair, (left, right, first, second) in enumerate(pairs):
            key = f"{keys[0][:-4]}{10_000 + count * 10 + pair}"
            for index, age, shape in ((left, first, key), (right, second, f" {key.lower()}")):
                source = sources[index]
                amount = number(draw.between(100, 900_000), source.separator, 0)
                source.rows.append(
                    cells(source, place, shape, f"Twin {index}", start + timedelta(days=age), amount, draw.pick(NOTES))
                )


def plant_ragged(draw: Draw, sources: list[Source], place: World, start: date, keys: list[str]) -> None:
    """Rows with too many or too few fields, and rows with a bad value; every kind occurs."""
    fresh = iter(keys)
    day_at, key_at, sum_at = 2, 0, 3
    for kind in range(draw.by_difficulty(medium=9, hard=21)):
        source = sources[kind % len(sources)]
        row = cells(
            source, place, next(fresh), "Odd one", start, number(draw.between(1000, 99_000), source.separator, 0), "odd"
        )
        at = {title: source.header.index(title) for title in place.columns}
        match kind % 9:
            case 0 | 1:
                row += ["", " "]
            case 2:
                row += ["", "stray"]
            case 3:
                row = row[: max(at[place.columns[key_at]], at[place.columns[day_at]], at[place.columns[sum_at]]) + 1]
            case 4:
                row = row[: at[place.columns[sum_at]]]
            case 5:
                row[at[place.columns[key_at]]] = "  "
            case 6:
                row[at[place.columns[day_at]]] = date(2024, 2, 11).strftime(source.form).replace("11", "31")
            case 7:
                row[at[place.columns[sum_at]]] = draw.pick(("n/a", "12x", "tbd"))
            case _:
                row[at[place.columns[day_at]]], row[at[place.columns[sum_at]]] = "soon", "none"
        if row:
            source.rows.append(row)


def squeeze(text: str) -> str:
    """White space as the rules want it."""
    return " ".join(text.split())


def read_day(text: str) -> str | None:
    """The ISO day of any of the three forms, if it exists."""
    match re.split(r"[-./]", text):
        case [a, b, c] if re.fullmatch(r"[\d./-]{10}", text):
            year, month, day = (a, b, c) if "-" in text else (c, b, a) if "." in text else (c, a, b)
            try:
                return date(int(year), int(month), int(day)).isoformat()
            except ValueError:
                return None
        case _:
            return None


def read_cents(text: str, separator: str) -> int | None:
    """Minor units of an amount, if it is one."""
    sign = -1 if text[:1] in ("-", "(") or text.endswith("-") else 1
    body = text.strip("()-")
    if separator == ";":
        body = body.translate(str.maketrans(",.", ".,"))
    if not re.fullmatch(r"[\d,]+(\.\d\d)?", body):
        return None
    whole, _, rest = body.replace(",", "").partition(".")
    return sign * (int(whole) * 100 + int(rest or 0))


def money(cents: int) -> str:
    """Two decimals after a point."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def merge(sources: list[Source], place: World) -> tuple[list[list[str]], list[list[str]], dict[str, int | str]]:
    """The stated rules on the cells as they were drawn: clean rows, rejects, figures."""
    best: dict[str, tuple[str, list[str], int]] = {}
    rejects: list[list[str]] = []
    read = good = 0
    for source in sources:
        row_number = 0
        for raw in source.rows:
            if raw == source.titles:
                continue
            row_number += 1
            read += 1
            row = [squeeze(cell) for cell in raw]
            width = len(source.header)
            values = dict(zip(source.header, row + [""] * width, strict=False))
            key, name, day_text, sum_text, note = (values[title] for title in place.columns)
            day, cents = read_day(day_text), read_cents(sum_text, source.separator)
            if any(row[width:]) or not key or day is None or cents is None:
                reason = (
                    "too_wide"
                    if any(row[width:])
                    else "no_key"
                    if not key
                    else "bad_date"
                    if day is None
                    else "bad_amount"
                )
                rejects.append([source.name, str(row_number), reason])
                continue
            good += 1
            key = key.upper()
            if key not in best or day >= best[key][0]:
                best[key] = (day, [key, name, day, money(cents), note], cents)
    clean = [best[key][1] for key in sorted(best)]
    total = money(sum(entry[2] for entry in best.values()))
    return (
        clean,
        rejects,
        {"rows": read, "superseded": good - len(best), "kept": len(best), "total": total, "rejected": len(rejects)},
    )
