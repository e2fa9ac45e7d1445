"""Write a filter against log injection: control characters, bad UTF-8, terminal sequences, secrets, length caps; idempotent."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

BIDI = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: program, sample, printf forms of escaped bytes and characters, secret keys."""

    program: str
    sample: str
    forms: tuple[str, str]
    secrets: tuple[str, str, str]


SETTINGS = (
    World("gateway", "API platform engineer", "API gateway logs", "ticket", "/opt/gate/bin/logfilter",
          "/opt/gate/sample.log",
          ("\\x%02x", "\\u%04x"), ("password", "api_key", "token")),
    World("mail", "postmaster", "mail server logs", "email", "/usr/local/bin/maillog-clean", "/srv/mail/raw.sample",
          ("<%02X>", "<U+%04X>"), ("pass", "secret", "cookie")),
    World("game", "game backend developer", "chat server logs", "chat", "/home/ops/scrub", "/home/ops/chat.raw",
          ("[0x%02x]", "[u+%04x]"), ("session", "pin", "invite")),
    World("ward", "hospital IT", "ward terminal logs", "runbook", "/usr/local/sbin/wardlog", "/var/ward/yesterday.log",
          ("{%02X}", "{%04X}"), ("badge", "pwd", "ticket")),
    World("siem", "detection engineer", "SIEM forwarding", "specification", "/opt/siem/normalise",
          "/opt/siem/corpus.bin",
          ("%%%02X", "%%u%04X"), ("bearer", "passwd", "sid")),
    World("telemetry", "vehicle data engineer", "vehicle telemetry", "note", "/data/tele/sanitise",
          "/data/tele/dump.log",
          ("^%02x^", "^%04x^"), ("vin_key", "unlock", "auth")),
    World("library", "library systems librarian", "catalogue search logs", "email", "/srv/opac/tools/tidy",
          "/srv/opac/search.log",
          ("~%02X", "~u%04X"), ("card", "loan_code", "password")),
    World("casino", "fraud analyst", "betting terminal logs", "ticket", "/opt/bets/bin/launder",
          "/opt/bets/terminal.log",
          ("(%02x)", "(u%04x)"), ("wallet", "otp", "seed")),
)  # fmt: skip
VOICES = (
    "{firm} needs {program}, a filter for {scenario}: raw bytes on standard input, clean text on standard output, "
    "exit code 0, run without arguments, executable "
    "as it is. {sample} is real input to try it on.\n\n{rules}\n\n{guard}\n",
    "Hi,\n\nsomebody forged entries in the {scenario} of {firm}. Before anything reaches the archive it shall pass "
    "{program} (executable, no arguments, from "
    "standard input to standard output, exit code 0). A sample is in {sample}.\n\n{rules}\n\n{guard}\n\n{persona}\n",
    "write {program}: stdin -> stdout, no arguments, executable, exits 0. for {scenario}, raw sample: "
    "{sample}\n{rules}\n{guard}\n",
    "{program}, filter specification\n\nScope: {scenario} of {firm}. The filter is executable, has no arguments, "
    "reads standard input to its end, writes standard output, exits with 0. "
    "Sample input: {sample}.\n\n{rules}\n\n{guard}\n",
)
RULES = {
    "records": (
        "Records end at LF (a last one without LF is completed with LF); one CR directly before the LF, or at the "
        "very end of input, is dropped. Empty input gives empty output.",
        "Split the input at LF into records, the final one may lack its LF, and write each with LF. A single CR at "
        "the end of a record is removed. No input, no output.",
        "A record is what lies between line feeds; every record is written with LF at its end, also a last one that "
        "had none, and without one trailing CR. Nothing in, nothing out.",
    ),
    "decode": (
        "Decode as UTF-8 as in RFC 3629. Each byte that is not part of a valid sequence (overlong forms, surrogates, "
        "values above U+10FFFF, cut off sequences, stray "
        "continuation bytes) is written as {byte_form}.",
        "Bytes outside valid UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing past U+10FFFF, nothing "
        "incomplete, no lone continuation) become {byte_form}, one by one.",
        "The text is UTF-8 by RFC 3629; for a byte in no valid sequence, be it overlong, a surrogate, too large, "
        "incomplete or a lone continuation byte, write {byte_form}.",
    ),
    "sequences": (
        "Terminal sequences vanish before anything else is looked at: CSI, which is ESC [{c1}, then any characters "
        "0x30 to 0x3F, then any 0x20 to 0x2F, then one 0x40 to 0x7E; and OSC, which is "
        "ESC ], then anything but ESC and BEL, then BEL or ESC \\. Sequences stay within a record, go once from left "
        "to right, and incomplete ones are no sequences.",
        "First remove, in one pass from the left and inside a record only, complete terminal sequences: ESC [{c1} "
        "followed by characters of 0x30-0x3F (any number), of 0x20-0x2F (any number) and one "
        "of 0x40-0x7E; and ESC ] followed by any number of things other than ESC or BEL and ended by BEL or by ESC "
        "\\. What is incomplete is left to the later rules.",
        "Complete CSI sequences (ESC [{c1}, parameters 0x30..0x3F, intermediates 0x20..0x2F, final 0x40..0x7E; the "
        "middle parts may be empty) and OSC sequences (ESC ], no ESC and no BEL inside, closed by BEL or ESC \\) "
        "are deleted in a single left-to-right pass per record, before the other rules; a piece of one is treated "
        "like ordinary characters.",
    ),
    "tab": (
        "After that a TAB counts as a blank.",
        "Then each TAB becomes a blank.",
        "TABs are blanks from here on.",
    ),
    "secrets": (
        "The words {secrets}, in any case of letters and not right after an ASCII letter, digit or underscore, hide "
        "their value when followed by =: the value is everything up to the next blank, "
        "comma, semicolon or ampersand or the end and is replaced by ***; an empty one is left{quoted}.",
        "Replace by *** the value after {secrets} and =, whatever the case of the word, unless an ASCII letter, "
        "digit or underscore stands right before it. A value reaches to the next blank, comma, semicolon "
        "or ampersand or to the end; if it is empty nothing happens{quoted}.",
        "Where {secrets} (upper or lower case, no ASCII letter, digit or underscore directly in front) is followed "
        "by = and a value, the value becomes ***. It extends until a blank, comma, semicolon, ampersand or the "
        "end of the record; no value, no change{quoted}.",
    ),
    "controls": (
        "Remaining characters below U+0020 and U+007F are written as {byte_form}, those from U+0080 to U+009F{bidi} "
        "as {char_form}, all others, the backslash included, as they are.",
        "Write U+0000 to U+001F and U+007F as {byte_form}, and U+0080 to U+009F{bidi} as {char_form}. No other "
        "character is changed, backslashes neither.",
        "Controls that are left: {byte_form} for U+0000..U+001F and U+007F, {char_form} for U+0080..U+009F{bidi}; "
        "everything else passes, also backslashes.",
    ),
    "blanks": (
        "Blanks at the end of a record go{empty}.",
        "Strip blanks from the end of each record{empty}.",
        "Trailing blanks are cut off{empty}.",
    ),
    "cap": (
        "A result of more than {cap} characters is cut: keep as many whole units from its start as fit into {keep} "
        "characters, a unit being a character, one written form of a byte or control, or a secret word with = "
        "and its hidden value; then comes a blank and [+K], K being the number of characters dropped.",
        "If more than {cap} characters result, only the longest start of at most {keep} characters stays that splits "
        "no unit, followed by a blank and [+K] with K for the number of characters left out. Units are single "
        "characters, "
        "the written forms of bytes and controls, and a secret word together with = and hidden value.",
        "Length cap: over {cap} characters, reduce to whole units that together have at most {keep} characters "
        "(unit: a character; a form written for a byte or control; word, = and hidden value of a secret) and add a "
        "blank and [+K], "
        "where K counts the characters that were dropped.",
    ),
    "idempotent": (
        "Applied to its own output the filter changes nothing.",
        "Filtering twice gives the same as filtering once.",
        "Its output passes through it unchanged.",
    ),
}  # fmt: skip
GUARDS = (
    "The sample must stay unchanged.",
    "Leave the sample file alone.",
    "Do not modify the sample.",
)

TESTS = """
import hashlib
import subprocess
from pathlib import Path

RUNS = json.loads(TRUTH["runs"])


def clean(data):
    run = subprocess.run([TRUTH["program"]], input=data, capture_output=True, timeout=20, cwd="/")
    assert run.returncode == 0
    return run.stdout


def compare(group):
    chosen = [run for run in RUNS if run[0] == group]
    assert chosen
    for _, raw, wanted in chosen:
        got = clean(bytes.fromhex(raw))
        for number, (mine, right) in enumerate(zip(got.split(b"\\n"), bytes.fromhex(wanted).split(b"\\n"))):
            assert mine == right, (group, "record", number, mine[:200])
        assert got == bytes.fromhex(wanted), (group, "records differ in number or end")


def test_bytes_and_controls():
    compare("bytes")


def test_terminal_sequences():
    compare("sequences")


def test_secrets():
    compare("secrets")


def test_lengths_and_ends():
    compare("lengths")


def test_idempotence():
    first = {run[0]: run for run in reversed(RUNS)}
    for group, raw, wanted in first.values():
        assert clean(bytes.fromhex(raw)) == bytes.fromhex(wanted), group
        assert clean(bytes.fromhex(wanted)) == bytes.fromhex(wanted), group


def test_sample_unchanged():
    assert hashlib.sha256(Path(TRUTH["sample"]).read_bytes()).hexdigest() == TRUTH["digest"]
"""
INITIAL = """
from pathlib import Path


def test_only_the_sample_is_there():
    assert Path(TRUTH["sample"]).is_file()
    assert not Path(TRUTH["program"]).exists()
"""


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

    join("bytes", [record(draw, bytes_atoms, must) for must in draw.shuffled(bytes_atoms)], 23)
    join("sequences", [record(draw, sequence_atoms, must) for must in draw.shuffled(SEQUENCES)], 21)
    join("secrets", [secret_record(draw, spec, number) for number in draw.shuffled(range(36))], 18)
    join("lengths", [long_record(draw, spec, number) for number in draw.shuffled(range(14))], 7)
    last = record(draw, bytes_atoms, "41")
    runs += [
        ("lengths", text)
        for text in (b"", b"\n", b"\r\n", b"a\n\n  \nb", b"x\r\r\n\t\n" + last + b".\r", b"end \x1b[0m \t\n\x1b[0m\n.")
    ]
    return runs


def draft(draw: Draw) -> Draft:
    """One filter."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    cap = draw.between(60, 140)
    spec = Spec(*world.forms, world.secrets, cap, cap - 12, hard)
    runs = [(group, data.hex(), spec.filter(data).hex()) for group, data in draw_runs(draw, spec)]
    sample = b"".join(data for group, data in draw_runs(draw, spec) if group in ("bytes", "sequences"))
    one, two, three = world.secrets
    forms = [shown(form, code) for form, code in zip(world.forms, (0x1B, 0x9C), strict=True)]
    words = {
        "byte_form": f"{forms[0]} (that is for 0x1b; two hex digits in this case of letters)",
        "char_form": f"{forms[1]} (that is for U+009C; four digits)",
        "secrets": f"{one}, {two} and {three}",
        "cap": str(cap),
        "keep": str(cap - 12),
        "c1": " or U+009B" if hard else "",
        "bidi": " and likewise U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069 and U+FEFF" if hard else "",
        "empty": "; a record that is empty now is not written at all"
        if hard
        else "; empty records stay as empty lines",
        "quoted": '. A value that begins with " ends after the next ", or at the end if there is none, '
        'and is replaced by "***" with its quotes'
        if hard
        else "",
    }
    turns = (draw.serial, draw.serial // 3)
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial % 3]
    listed = [f"{number}. {text}" for number, text in enumerate(rules.values(), 1)]
    instruction = VOICES[draw.serial % 4].format(
        firm=draw.pick(FIRMS),
        program=world.program,
        scenario=world.scenario,
        sample=world.sample,
        persona=world.persona,
        guard=guard,
        rules="\n".join(listed if draw.serial % 2 else rules.values()),
    )
    raw, sequences, secrets, lengths, twice = goals = [
        "test_bytes_and_controls",
        "test_terminal_sequences",
        "test_secrets",
        "test_lengths_and_ends",
        "test_idempotence",
    ]
    checks = {
        "records": [lengths],
        "decode": [raw],
        "sequences": [sequences],
        "secrets": [secrets],
        "controls": [raw, sequences],
    }
    checks |= {"blanks": [lengths], "cap": [lengths], "idempotent": [twice], "tab": [raw, secrets]}
    solution = install(world, PYTHON, spec)
    return Draft(
        title=f"A filter for {world.scenario}",
        setting=world,
        instruction=instruction,
        files={"sample": sample},
        dockerfile=f"COPY sample {world.sample}\nRUN mkdir -p {world.program.rsplit('/', 1)[0]}\nWORKDIR /root",
        truth={
            "program": world.program,
            "sample": world.sample,
            "digest": hashlib.sha256(sample).hexdigest(),
            "runs": json.dumps(runs),
        },
        discoverable=("program", "sample"),
        tests=TESTS,
        weights={raw: 0.25, sequences: 0.2, secrets: 0.2, lengths: 0.2, twice: 0.15},
        guards=["test_sample_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[install(world, PERL, spec)],
        misses=[
            Miss(
                "replacement_characters",
                "lets the decoder replace bad bytes",
                solution.replace("surrogateescape", "replace"),
                [raw, twice],
            ),
            Miss(
                "only_colours",
                "removes colour sequences alone",
                solution.replace("[ -/]*[@-~]", "m"),
                [sequences, twice],
            ),
            Miss(
                "any_word_end",
                "hides values after longer words too",
                solution.replace("(?<![A-Za-z0-9_])", ""),
                [secrets],
            ),
            Miss(
                "cuts_anywhere",
                "cuts through written forms",
                solution.replace(
                    "units = list(cut(units))", 't = "".join(units); units = [t[:KEEP], f" [+{len(t) - KEEP}]"]'
                ),
                [lengths],
            ),
            Miss(
                "bytes_counted",
                "counts bytes instead of characters",
                solution.replace("size = sum(map(len, units))", 'size = len("".join(units).encode())'),
                [lengths],
            ),
        ],
        requirements=[*((text, checks[name]) for name, text in rules.items()), (guard, ["test_sample_unchanged"])],
        knobs={"runs": len(runs), "cap": cap, "quoted": hard, "bidi": hard, "goals": len(goals)},
    )


def shown(form: str, code: int) -> str:
    """A form filled in."""
    return form % code


def install(world: World, source: str, spec: Spec) -> str:
    """Bash that writes the program."""
    blanks = {
        "@BYTE@": spec.byte_form,
        "@CHAR@": spec.char_form,
        "@WORDS@": "|".join(spec.secrets),
        "@CAP@": str(spec.cap),
        "@KEEP@": str(spec.keep),
        "@HARD@": str(int(spec.hard)),
    }
    for blank, value in blanks.items():
        source = source.replace(blank, value)
    return f"cat > {world.program} <<'PROGRAM'\n{source}PROGRAM\nchmod 755 {world.program}\n"


PYTHON = r"""#!/usr/bin/python3
import re, sys
CAP, KEEP, HARD = @CAP@, @KEEP@, @HARD@
csi = "(?:\x1b\\[|\x9b)" if HARD else "\x1b\\["
terminal = re.compile(csi + r"[0-?]*[ -/]*[@-~]|\x1b\][^\x1b\x07]*(?:\x07|\x1b\\)")
quoted = '"[^"]*(?:"|$)|' if HARD else ""
secret = re.compile(r"(?<![A-Za-z0-9_])((?:@WORDS@)=)(" + quoted + "[^ ,;&]+)", re.I | re.A)
hidden = set(range(0x80, 0xa0))
if HARD:
    hidden |= {0x200e, 0x200f, 0xfeff, *range(0x2028, 0x202f), *range(0x2066, 0x206a)}
def written(c):
    o = ord(c)
    if 0xdc80 <= o <= 0xdcff:
        return r"@BYTE@" % (o - 0xdc00)
    return r"@BYTE@" % o if o < 32 or o == 127 else r"@CHAR@" % o if o in hidden else c
def cut(units):
    kept, size = 0, sum(map(len, units))
    for u in units:
        if kept + len(u) > KEEP:
            break
        kept += len(u)
        yield u
    yield f" [+{size - kept}]"
lines = sys.stdin.buffer.read().split(b"\n")
if lines[-1] == b"":
    lines.pop()
for line in lines:
    if line.endswith(b"\r"):
        line = line[:-1]
    text = terminal.sub("", line.decode("utf-8", "surrogateescape")).replace("\t", " ")
    units, at = [], 0
    for m in secret.finditer(text):
        units += map(written, text[at:m.start()])
        units.append(m[1] + ('"***"' if HARD and m[2].startswith('"') else "***"))
        at = m.end()
    units += map(written, text[at:])
    while units and units[-1] == " ":
        units.pop()
    if HARD and not units:
        continue
    size = sum(map(len, units))
    if size > CAP:
        units = list(cut(units))
    sys.stdout.buffer.write("".join(units).encode() + b"\n")
"""
PERL = r"""#!/usr/bin/perl
# Works on bytes; $char is one valid UTF-8 character.
use strict; use warnings;
my ($cap, $keep, $hard) = (@CAP@, @KEEP@, @HARD@);
my $char = qr/[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]
  |\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}/x;
my $csi = $hard ? qr/\e\[|\xc2\x9b/ : qr/\e\[/;
my $term = qr/(?:$csi)[0-?]*[ -\/]*[@-~]|\e\][^\e\x07]*(?:\x07|\e\\)/;
my $words = qr/(?:@WORDS@)=/i;
my $value = $hard ? qr/"[^"]*(?:"|\z)|[^ ,;&"][^ ,;&]*/ : qr/[^ ,;&]+/;
binmode STDIN; binmode STDOUT;
local $/ = undef;
my $all = <STDIN>;
exit 0 if !defined $all || $all eq '';
$all =~ s/\n\z//;
my @lines = split /\n/, $all, -1;
@lines = ('') if !@lines;
for my $line (@lines) {
    $line =~ s/\r\z//;
    my $text = '';
    # A lone 9b byte or the tail of another character must not look like U+009B: walk by characters.
    pos($line) = 0;
    while (pos($line) < length $line) {
        if ($line =~ /\G$term/gc) { next }
        elsif ($line =~ /\G($char)/gc) { $text .= $1 }
        else { $line =~ /\G(.)/gcs; $text .= $1 }
    }
    $text =~ tr/\t/ /;
    my @units; my $before = '';
    pos($text) = 0;
    while (pos($text) < length $text) {
        if ($before !~ /[A-Za-z0-9_]\z/ && $text =~ /\G($words)($value)/gc) {
            my ($w, $v) = ($1, $2);
            push @units, [$w . ($hard && $v =~ /^"/ ? '"***"' : '***')]; $before = $v;
        } elsif ($text =~ /\G($char)/gc) {
            my $c = $before = $1;
            my $o = unpack('U', do { my $d = $c; utf8::decode($d); pack('U', ord $d) });
            if ($o < 32 || $o == 127) { push @units, [sprintf('@BYTE@', $o)] }
            elsif (($o >= 0x80 && $o < 0xa0) || ($hard && ($o == 0x200e || $o == 0x200f || $o == 0xfeff || ($o >= 0x2028 && $o <= 0x202e)
                || ($o >= 0x2066 && $o <= 0x2069)))) { push @units, [sprintf('@CHAR@', $o)] }
            else { push @units, [$c, 1] }
        } else { $text =~ /\G(.)/gcs; $before = $1; push @units, [sprintf('@BYTE@', ord $1)] }
    }
    pop @units while @units && $units[-1][0] eq ' ';
    next if $hard && !@units;
    my $size = 0; $size += $_->[1] // length $_->[0] for @units;
    if ($size > $cap) {
        my ($n, @kept) = (0);
        for my $u (@units) { my $l = $u->[1] // length $u->[0]; last if $n + $l > $keep; $n += $l; push @kept, $u }
        @units = (@kept, [' [+' . ($size - $n) . ']']);
    }
    print map({ $_->[0] } @units), "\n";
}
"""

FAMILY = Family(
    name="log_sanitizer",
    domain="security",
    verifier=Verifier.FUZZ_EQUIVALENCE,
    skills=("UTF-8 decoding", "terminal sequences", "text filtering", "idempotence"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
