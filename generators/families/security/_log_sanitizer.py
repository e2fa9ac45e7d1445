"""The filter itself, and hostile input for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from generators.family import Draw

BIDI = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)


@dataclass(frozen=True)
class Spec:
    """The parameters of one filter."""

    byte_form: str
    char_form: str
    secrets: tuple[str, ...]
    cap: int
    keep: int
    hard: bool

    def units(self, record: bytes) -> list[str]:
        """A record as the units that may not be split."""
        text = record.decode("utf-8", "surrogateescape").removesuffix("\r")
        start = "(?:\x1b\\[|\x9b)" if self.hard else "\x1b\\["
        text = re.sub(start + "[0-?]*[ -/]*[@-~]|\x1b\\][^\x1b\x07]*(?:\x07|\x1b\\\\)", "", text).replace("\t", " ")
        value = '(?:"[^"]*(?:"|$)|[^ ,;&"][^ ,;&]*)' if self.hard else "[^ ,;&]+"
        pattern = re.compile(
            f"(?<![A-Za-z0-9_])((?:{'|'.join(self.secrets)})=)({value})", re.IGNORECASE | re.ASCII | re.DOTALL
        )
        units: list[str] = []
        at = 0
        for match in pattern.finditer(text):
            units += [self.written(letter) for letter in text[at : match.start()]]
            units.append(match[1] + ('"***"' if self.hard and match[2][0] == '"' else "***"))
            at = match.end()
        return units + [self.written(letter) for letter in text[at:]]

    def written(self, letter: str) -> str:
        """How one character is written."""
        code = ord(letter)
        if 0xDC80 <= code <= 0xDCFF:
            return self.byte_form % (code - 0xDC00)
        if code < 0x20 or code == 0x7F:
            return self.byte_form % code
        if 0x80 <= code < 0xA0 or (self.hard and code in BIDI):
            return self.char_form % code
        return letter

    def filter(self, data: bytes) -> bytes:
        """The whole filter."""
        records = data.split(b"\n")
        if not records[-1]:
            records.pop()
        out: list[str] = []
        for record in records:
            units = self.units(record)
            while units and units[-1] == " ":
                units.pop()
            if self.hard and not units:
                continue
            length = sum(map(len, units))
            if length > self.cap:
                kept, count = 0, 0
                while kept + len(units[count]) <= self.keep:
                    kept += len(units[count])
                    count += 1
                units = [*units[:count], f" [+{length - kept}]"]
            out.append("".join(units) + "\n")
        return "".join(out).encode()


BAD = (
    "80", "bf", "c0af", "c1bf", "e080af", "eda080", "edbfbf", "f0808080", "f4908080", "f5808080", "e282", "f09f98",
    "c3", "ff", "fe", "c32841",
)  # fmt: skip

ODD = (
    "00", "07", "08", "0b", "0c", "0d", "1b", "1f", "7f", "c285", "c29f", "c280", "e280a8", "e280ae", "e281a6",
    "efbbbf", "e2808f", "1b5c", "5c6e", "5c", "c2a0",
)  # fmt: skip

GOOD = (
    "c3a9", "e282ac", "f09f9880", "ed9fbf", "ee8080", "f48fbfbf", "cc81", "efbfbd",
)  # fmt: skip

SEQUENCES = (
    "1b5b306d", "1b5b313b33316d", "1b5b3f32356c", "1b5b2071", "1b5b4b", "1b5d303b7469746c6507", "1b5d383b3b681b5c",
    "1b5b", "1b5b3331", "1b5d30", "1b1b5b306d5b316d", "1b5b1b5b306d6d", "1b5bc3a9", "1b5b33c06d", "c29b33316d",
    "c29b", "1b5d61ff62c3a907", "1b5d611b5b306d07", "1b4d", "1b5b3a3b7e", "1b5b337f",
)  # fmt: skip

WORDS = ("login", "ok", "user", "GET /", "failed", "INFO", "retry", "x", "id 7", "host", "\u00fcber", "'q'", "a\\b")


def record(draw: Draw, atoms: tuple[str, ...], must: str) -> bytes:
    """Random words with atoms between them; `must` is one of them."""
    parts = [
        bytes.fromhex(draw.pick(atoms))
        if draw.chance(45)
        else draw.pick(WORDS).encode() + draw.pick((b" ", b"", b"\t"))
        for _ in range(draw.between(1, 7))
    ]
    parts.insert(draw.between(0, len(parts)), bytes.fromhex(must))
    return b"".join(parts)


def secret_record(draw: Draw, spec: Spec, number: int) -> bytes:
    """A record with secrets in several dresses."""
    word = draw.pick(spec.secrets)
    dressed = (word, word.upper(), word.capitalize())[number % 3]
    value = draw.pick(("hunter2", "a\x07b", "s3cr\u00e9t", "x=y", "'p q'", "***", "***x", "\u202eabc"))
    forms = (
        f"a {dressed}={value} b", f"{dressed}={value}&x=1",
        f"my{word}={value}", f"_{word}={value}", f"{word}=;{word}={value},z", f"({dressed}={value})",
        f"{word} = {value}", f"{word}={word}={value}", f'{word}="{value} two" end', f'{word}="{value}', f'{word}="" {word}="',
        f"\x1b[1m{word[:2]}\x1b[0m{word[2:]}={value}",
        f"\u00e9{word}={value} t", f"{word}=\t{value}", f"{word}:{value}", f"{word}\x1b={value}", f'{word}=a"b c"',
        f'{word}="a"{word}=b',
    )  # fmt: skip
    head, tail = f"{draw.pick(WORDS)} ", draw.pick(("", " ", " done\x7f"))
    return (head + forms[number % len(forms)] + tail).encode()


def long_record(draw: Draw, spec: Spec, number: int) -> bytes:
    """A record about the cap: plain, with units across the cut, with blanks at the end."""
    word = draw.pick(spec.secrets)
    shift = draw.between(0, 3)
    return (
        b"p" * spec.cap,
        b"p" * (spec.cap + 1),
        b"p" * (spec.keep - shift) + b"\x07" * 20,
        "\u20ac".encode() * spec.cap,
        "\U0001f600".encode() * (spec.cap + 1),
        (("q" * (spec.keep - 3 - shift)) + f" {word}=" + "v" * 300 + " tail of the record").encode(),
        b"r" * (spec.cap - 2) + b" " * 9,
        b"s" * (spec.keep + 2) + b"\x1b[31m" * 30,
        b"\xff" * (spec.cap // 4),
        b"\xff" * (spec.cap // 4 + 3),
        b"t" * spec.keep + b" " * 30 + b"u",
        b"v" * (draw.between(2, 40) * spec.cap),
        "\u0085".encode() * (spec.cap // 3),
        (f"{word}=" + "w" * 400).encode(),
    )[number % 14]


def draw_runs(draw: Draw, spec: Spec) -> list[tuple[str, bytes]]:
    """Inputs by group."""
    runs: list[tuple[str, bytes]] = []
    bytes_atoms, sequence_atoms = BAD + ODD + GOOD, SEQUENCES + ODD[:8] + GOOD[:3]

    def join(group: str, records: list[bytes], size: int) -> None:
        for at in range(0, len(records), size):
            joined = b"".join(one + draw.pick((b"\n", b"\n", b"\r\n")) for one in records[at : at + size])
            runs.append((group, joined))

    join("bytes", [record(draw, bytes_atoms, must) for must in draw.shuffled(bytes_atoms)], 45)
    join("sequences", [record(draw, sequence_atoms, must) for must in draw.shuffled(SEQUENCES)], 21)
    join("secrets", [secret_record(draw, spec, number) for number in draw.shuffled(range(36))], 36)
    join("lengths", [long_record(draw, spec, number) for number in draw.shuffled(range(14))], 14)
    last = record(draw, bytes_atoms, "41")
    runs += [
        ("lengths", text)
        for text in (b"", b"\n", b"\r\n", b"a\n\n  \nb", b"x\r\r\n\t\n" + last + b".\r", b"end \x1b[0m \t\n\x1b[0m\n.")
    ]
    return runs
