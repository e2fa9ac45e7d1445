"""A converter from fixed-width exchange files to JSON: overpunched signs, filler, control totals, rejection by exit "
"status."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from generators.family import Content, Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

PLUS, MINUS = "{ABCDEFGHI", "}JKLMNOPQR"
DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3, "USD": 2}
NAMES = ("sender", "number", "created", "items", "ref", "day", "amount", "quantity", "text", "groups", "account")


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling: record codes, keys of the JSON in the order of NAMES, and the program's name."""

    folder: str
    program: str
    codes: tuple[str, ...]
    words: tuple[str, ...]
    partner: str
    text: str


def world(line: str, voice: Voice, text: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, program, codes, words, partner = line.split("|")
    return World(
        name, persona, scenario, voice, folder, program, tuple(codes.split()), tuple(words.split()), partner, text
    )


SETTINGS = (
    world(
        "bank_statements|integration developer|bank statement files|/srv/bank|statement2json|01 05 10 11 90 99|"
        "sender number created bookings ref booked amount units text accounts account|BANKNORD",
        "ticket",
        """INT-{ticket}: replace the statement converter of {firm}

Layout: {layout}. Two real files from the bank: {samples}.

{rules}
""",
    ),
    world(
        "grocery_edi|EDI coordinator|grocery orders|/opt/edi|order_convert|HD GB LN LX GE TR|"
        "buyer order_no issued lines article due price packs remark shops shop|FRESHCO",
        "email",
        """Hello,

our largest customer still sends orders as fixed-width files, and the old converter runs on a machine that {firm}
switches off on
Friday. {layout} is their layout, {samples} holds two examples.

{rules}

Thank you
{persona}
""",
    ),
    world(
        "payroll|payroll engineer|payroll exchange|/data/payroll|payfile|A0 B0 C0 C1 B9 Z9|"
        "company run made slips slip payday net hours note branches branch|PAYHOUSE",
        "note",
        """New converter for payroll files ({firm}). Layout {layout}, examples in {samples}.
{rules}
""",
    ),
    world(
        "utility_reads|metering engineer|meter reading exchange|/var/lib/reads|reads2json|10 20 30 35 80 90|"
        "operator batch exported reads meter read_on charge kwh comment grids grid|GRIDWEST",
        "specification",
        """Converter for meter reading files, {firm}

Normative layout: {layout}. Informative examples: {samples}.

{rules}

Author: {persona}
""",
    ),
    world(
        "insurance|claims developer|claims bordereau|/srv/bordereau|bordereau|FH SH CL CT ST FT|"
        "broker bordereau_no dated claims claim loss_day paid injured cause sections section|MARLOWUW",
        "chat",
        """hey, we get bordereaux as fixed-width text from a broker and the lib that read them is gone. layout is in
{layout}, two files to play
with in {samples}
{rules}
shout if unclear
""",
    ),
    world(
        "library_fees|library systems librarian|interlibrary fees|/home/lib/fees|fees_to_json|H1 G1 D1 D2 G9 T9|"
        "library list_no sent fees reader charged fee days title branches branch|CITYLIB",
        "runbook",
        """Runbook: building the fee converter ({firm})

You need {layout} (the layout) and {samples} (two lists as received). Contact: {persona}.
{rules}
""",
    ),
    world(
        "customs|customs software engineer|customs declarations|/opt/customs|declare|AA BB CC CD BZ ZZ|"
        "declarant message lodged goods tariff arrival duty pieces marks offices office|HARBOURX",
        "email",
        """Dear colleague,

the customs gateway of {firm} accepts JSON only from next month, our partners will go on with their fixed-width
messages. Please write
the converter between the two; {layout} explains the messages, and {samples} has a pair of them.

{rules}

Kind regards
{persona}
""",
    ),
    world(
        "royalties|rights administrator|royalty statements|/data/royalties|royalty_json|R1 R2 R3 R4 R8 R9|"
        "society statement period works work played royalty plays title territories territory|SOUNDSOC",
        "ticket",
        """[rights-{ticket}] convert royalty statements

{firm} receives them as described in {layout}; see {samples} for two statements. The {persona} needs JSON.
To do:
{rules}
""",
    ),
)

SENTENCES: dict[str, tuple[str, str, str]] = {
    "program": (
        "Write the executable {program}: its arguments are the paths of one or more files, and for each of them, in "
        "this order, it prints one line "
        "on standard output, a JSON object with status (0 if the file is acceptable) and document, the JSON form that "
        "the layout describes.",
        "{program} shall be an executable that takes one path or several and prints a line for each, in the same "
        "order: a JSON object whose status "
        "is 0 for an acceptable file and whose document is what the layout description calls its JSON form.",
        "What I need is an executable {program}, called with any number of paths (at least one); per path it puts one "
        "line of JSON on standard "
        "output, in order, an object of status, 0 for a good file, and document, the JSON described in the layout.",
    ),
    "reject": (
        "A file that breaks a rule is rejected as a whole: its document is null and its status that of the first "
        "class of rules it breaks: {form} "
        "form, {sequence} sequence, {field} field, {total} total.",
        "Reject any other file completely, document null; status tells the first class in this order in which "
        "something is wrong, {form} for form, "
        "{sequence} for sequence, {field} for field, {total} for total.",
        "Bad files have null as document and a status by class of mistake; classes are checked over the whole file "
        "one after the other, form "
        "({form}), sequence ({sequence}), field ({field}), total ({total}), and the first with a mistake counts.",
    ),
    "exit": (
        "The exit status is the status of the first rejected file, 0 if all were acceptable.",
        "Exit with the status of the first file that was rejected, or 0 if none was.",
        "The program itself ends with the first status other than 0 among them, otherwise with 0.",
    ),
    "keep": (
        "The samples and the layout are not changed.",
        "Layout and samples stay as they are.",
        "Do not edit the description or the samples.",
    ),
}

LAYOUT = """# Exchange files from @PARTNER@

## Form
Plain ASCII, every line has exactly @WIDTH@ characters without its end; lines end with LF or CR LF, the last line may
lack the end. There is at
least one line.

## Sequence
The first two characters are the record code. @SEQUENCE@ Other codes do not exist.

## Field
Positions count from 1, both ends included.
@TABLE@
Every position that is not listed is filler and must be blank.

id: at least one character, left-aligned, so it does not begin with a blank; blanks at the end do not belong to it.
text: anything, blanks at the end do not belong to it; may be blank.
date: YYYYMMDD, a day that exists. JSON: YYYY-MM-DD.
number: digits only. JSON: a number.
signed: digits, the last one overpunched with the sign: { A B C D E F G H I stand for a positive 0 to 9, } J K L M N
O P Q R for a negative 0 to 9;
a plain digit in the last place is positive. There is no other sign. @MONEY@

## Total
@TOTALS@

## JSON
@JSON@
"""
SEQUENCE_MEDIUM = "One @H@ record, any number of @D@ records (even none), one @T@ record, which is the last line."
SEQUENCE_HARD = """One @H@ record; then any number of groups (even none); then one @T@ record as the last line. A
group is one @G@, any number of @D@ (even
none), each followed by up to any number of its own @X@ records, and one @E@."""
MONEY_MEDIUM = "JSON: a whole number."
MONEY_HARD = """JSON: a string with as many decimals as the currency of the group has: 2 for EUR and USD, 3 for KWD,
none (and no point) for JPY;
zero has no sign. Any other currency is a field error."""
TOTALS_MEDIUM = """count of @T@ is the number of @D@ records, total the sum of their @amount@, check the sum of their
@quantity@, of which only the last
four digits are kept."""
TOTALS_HARD = """count of @E@ is the number of @D@ records of the group, total the sum of their @amount@ (in
hundredths, thousandths or units, as they
are written). count of @T@ is the number of all records of the file, itself included; check is the sum of @quantity@
over all @D@ records, of
which only the last four digits are kept; total is the sum of the totals of the groups as written, whatever the currency."""
JSON_MEDIUM = """One object: @sender@, @number@, @created@, and @items@, a list with an object for each @D@ in the
order of the file: @ref@, @day@, @amount@,
@quantity@, @text@."""
JSON_HARD = """One object: @sender@, @number@, @created@, and @groups@, a list with an object for each group in the
order of the file: @account@, currency,
total (written like the amounts) and @items@. That is a list with an object for each @D@: @ref@, @day@, @amount@,
@quantity@, @text@. @text@ is the text field
of the @D@ and of its @X@ records one after the other, blanks at the end of each piece kept where another piece
follows; only the blanks at
the very end go."""

TESTS = """
import hashlib
import subprocess
import tempfile
from pathlib import Path


def convert(contents):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, content in enumerate(contents):
            path = Path(folder, f"{number}.txt")
            path.write_bytes(content.encode())
            paths.append(str(path))
        done = subprocess.run([TRUTH["program"], *paths], capture_output=True, timeout=20, cwd="/")
    results = [json.loads(line) for line in done.stdout.decode().splitlines() if line.strip()]
    assert len(results) == len(contents), f"{len(results)} lines for {len(contents)} files"
    return done.returncode, results


def test_accepted():
    cases = [case for case in json.loads(TRUTH["cases"]) if case["status"] == 0]
    status, results = convert([case["file"] for case in cases])
    for number, (case, got) in enumerate(zip(cases, results)):
        assert got["status"] == 0, f"file {number}: status {got['status']}"
        assert got["document"] == case["json"], f"file {number}: document differs"
    assert status == 0, f"exit status {status}"


def test_rejected():
    cases = json.loads(TRUTH["cases"])
    status, results = convert([case["file"] for case in cases])
    for number, (case, got) in enumerate(zip(cases, results)):
        assert got["status"] == case["status"], f"file {number}: status {got['status']}"
        assert (got["document"] is None) == (case["status"] != 0), f"file {number}: document"
    assert status == next(case["status"] for case in cases if case["status"]), f"exit status {status}"
    for case in cases[-3:]:
        assert convert([case["file"]])[0] == case["status"]


def test_samples_unchanged():
    for path, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
"""
INITIAL = """
from pathlib import Path


def test_no_program_yet():
    assert not Path(TRUTH["program"]).exists()
    assert all(Path(path).is_file() for path in TRUTH["given"])
"""

PYTHON = r"""#!/usr/bin/python3
import json, re, sys
from datetime import date
L = json.loads('''@SPEC@''')
H, G, D, X, E, T = L["codes"]
W = L["words"]
HARD, SIGNS = L["hard"], {c: (i, 1) for i, c in enumerate("{ABCDEFGHI")} | {c: (i, -1) for i, c in enumerate("}JKLMNOPQR")}
DECIMALS = {"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3}
class Rejected(Exception):
    pass
def reject(name):
    raise Rejected(name)
def convert(path):
    lines = open(path, newline="", encoding="latin-1").read().split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    if not lines or any(len(line) != L["width"] for line in lines):
        reject("form")
    order = "".join({H: "H", G: "G", D: "D", X: "X", E: "E", T: "T"}.get(line[:2], "?") for line in lines)
    if not re.fullmatch("H(G(DX*)*E)*T" if HARD else "HD*T", order):
        reject("sequence")
    def signed(raw):
        digit, sign = SIGNS.get(raw[-1], (raw[-1], 1))
        text = raw[:-1] + str(digit)
        if not re.fullmatch("[0-9]+", text):
            reject("field")
        return sign * int(text)
    def parse(line):
        rest, out = list(line[2:]), {}
        for name, start, end, kind in L["records"][line[:2]]:
            raw = line[start - 1:end]
            rest[start - 3:end - 2] = " " * (end - start + 1)
            if kind == "id":
                value = raw.rstrip(" ")
                if not value or raw[0] == " ":
                    reject("field")
            elif kind == "text":
                value = raw
            elif kind == "signed":
                value = signed(raw)
            else:
                if not re.fullmatch("[0-9]+", raw):
                    reject("field")
                value = int(raw)
                if kind == "date":
                    try:
                        value = date(int(raw[:4]), int(raw[4:6]), int(raw[6:])).isoformat()
                    except ValueError:
                        reject("field")
            out[name] = value
        if "".join(rest).strip(" "):
            reject("field")
        if out.get("currency", "EUR") not in DECIMALS:
            reject("field")
        return out
    records = [(kind, parse(line)) for kind, line in zip(order, lines)]
    def money(value, currency):
        if not HARD:
            return value
        places = DECIMALS[currency]
        text = str(abs(value)).rjust(places + 1, "0")
        return ("-" if value < 0 else "") + (text[:-places] + "." + text[-places:] if places else text)
    head = records[0][1]
    result = {W[name]: head[name] for name in ("sender", "number", "created")}
    groups, group, total, check, bad = [], {"items": [], "currency": "EUR"}, 0, 0, False
    for kind, r in records:
        if kind == "G":
            group = {"account": r["account"], "currency": r["currency"], "items": []}
        elif kind == "D":
            group["items"].append(r)
            check += r["quantity"]
        elif kind == "X":
            group["items"][-1]["text"] += r["text"]
        elif kind == "E" or (kind == "T" and not HARD):
            amount = sum(d["amount"] for d in group["items"])
            bad |= r["count"] != len(group["items"]) or r["total"] != amount
            total += r["total"]
            items = [{W[n]: d["text"].rstrip(" ") if n == "text" else money(d[n], group["currency"]) if n == "amount" else d[n]
                      for n in ("ref", "day", "amount", "quantity", "text")} for d in group["items"]]
            if HARD:
                groups.append({W["account"]: group["account"], "currency": group["currency"],
                               "total": money(amount, group["currency"]), W["items"]: items})
    last = records[-1][1]
    if HARD:
        bad |= last["count"] != len(records) or last["total"] != total
        result[W["groups"]] = groups
    else:
        result[W["items"]] = items
    if bad or last["check"] != check % 10000:
        reject("total")
    return result
exit_status = 0
for path in sys.argv[1:]:
    try:
        document, status = convert(path), 0
    except Rejected as reason:
        document, status = None, L["status"][str(reason)]
    exit_status = exit_status or status
    print(json.dumps({"status": status, "document": document}))
sys.exit(exit_status)
"""

PERL = r"""#!/usr/bin/perl
use strict; use warnings; use JSON::PP; use Time::Local qw(timegm_modern);
my $L = decode_json('@SPEC@'); my %W = %{$L->{words}}; my $hard = $L->{hard};
my %letter; @letter{@{$L->{codes}}} = qw(H G D X E T);
my %places = (EUR => 2, USD => 2, JPY => 0, KWD => 3);
sub reject { die "$_[0]\n" }
sub field {
    my ($raw, $kind) = @_;
    if ($kind eq "text") { return $raw }
    if ($kind eq "id") { reject("field") if $raw =~ /^ /; $raw =~ s/ +$//; return $raw }
    my $sign = 1;
    if ($kind eq "signed") {
        my $c = substr($raw, -1);
        my $p = index("{ABCDEFGHI", $c); my $m = index("}JKLMNOPQR", $c);
        substr($raw, -1) = $p if $p >= 0;
        if ($m >= 0) { substr($raw, -1) = $m; $sign = -1 }
    }
    reject("field") unless $raw =~ /^[0-9]+$/;
    return $sign * $raw unless $kind eq "date";
    my @d = unpack "A4A2A2", $raw;
    reject("field") unless $d[0] > 0 && eval { timegm_modern(0, 0, 0, $d[2], $d[1] - 1, $d[0]); 1 };
    return join "-", @d;
}
sub money {
    my ($v, $c) = @_; return $v unless $hard;
    my $p = $places{$c}; my $t = abs $v; return $v < 0 ? "-$t" : "$t" unless $p;
    $t = sprintf("%0*d", $p + 1, $t); substr($t, -$p, 0) = "."; return $v < 0 ? "-$t" : $t;
}
sub shown {
    my ($c, @items) = @_; my @out;
    for my $d (@items) {
        (my $t = $d->{text}) =~ s/ +$//;
        push @out, {$W{ref} => $d->{ref}, $W{day} => $d->{day}, $W{quantity} => $d->{quantity}, $W{text} => $t,
            $W{amount} => money($d->{amount}, $c)};
    }
    return \@out;
}
sub convert {
    open(my $f, "<:raw", $_[0]) or die; local $/; my $all = <$f>; $all = "" unless defined $all;
my @lines = split /\n/, $all, -1; pop @lines if @lines && $lines[-1] eq "";
s/\r$// for @lines;
reject("form") if !@lines || grep { length != $L->{width} } @lines;
my $order = join "", map { $letter{substr($_, 0, 2)} || "?" } @lines;
reject("sequence") unless $hard ? $order =~ /^H(G(DX*)*E)*T$/ : $order =~ /^HD*T$/;
my @records;
for my $line (@lines) {
    my %r = (k => $letter{substr($line, 0, 2)}); my $rest = $line; substr($rest, 0, 2) = "  ";
    for (@{$L->{records}{substr($line, 0, 2)}}) {
        my ($name, $start, $end, $kind) = @$_; my $n = $end - $start + 1;
        $r{$name} = field(substr($line, $start - 1, $n), $kind);
        substr($rest, $start - 1, $n) = " " x $n;
    }
    reject("field") if $rest =~ /[^ ]/ || (exists $r{currency} && !exists $places{$r{currency}});
    push @records, \%r;
}
my ($bad, $check, $sum, $count, $total, @items, @groups, $g) = (0, 0, 0, 0, 0);
for my $r (@records) {
    my $k = $r->{k};
    if ($k eq "G") { $g = $r; @items = (); ($count, $sum) = (0, 0) }
    elsif ($k eq "D") { push @items, {%$r}; $check += $r->{quantity}; $sum += $r->{amount}; $count++ }
    elsif ($k eq "X") { $items[-1]{text} .= $r->{text} }
    if ($k eq "E" || ($k eq "T" && !$hard)) {
        $bad = 1 if $r->{count} != $count || $r->{total} != $sum;
        $total += $r->{total};
        next unless $hard;
        push @groups, {$W{account} => $g->{account}, currency => $g->{currency}, total => money($sum, $g->{currency}),
            $W{items} => shown($g->{currency}, @items)};
    }
}
my $last = $records[-1];
$bad = 1 if $last->{check} != $check % 10000 || ($hard && ($last->{count} != @records || $last->{total} != $total));
reject("total") if $bad;
my %out = map { $W{$_} => $records[0]{$_} } qw(sender number created);
if ($hard) { $out{$W{groups}} = \@groups } else { $out{$W{items}} = shown("", @items) }
return \%out;
}
my $exit = 0;
for my $path (@ARGV) {
    my $doc = eval { convert($path) }; my $status = 0;
    if (!$doc) { chomp(my $why = $@); $status = $L->{status}{$why} }
    $exit ||= $status;
    print encode_json({status => $status, document => $doc}), "\n";
}
exit $exit;
"""

Spec = dict[str, list[tuple[str, int, int, str]]]
Value = str | int


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


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    if voice in ("email", "chat"):
        return "\n".join(lines)
    return "\n".join(
        f"{f'{n}.' if voice in ('specification', 'runbook') else '-'} {line}" for n, line in enumerate(lines, 1)
    )


def description(form: Format) -> str:
    """LAYOUT.md."""
    words = dict(zip(NAMES, form.place.words, strict=True)) | dict(zip("HGDXET", form.place.codes, strict=True))
    rows = [
        f"{code}  {first:>2}-{last:<2}  {kind:<6}  {words.get(name, name)}"
        for code, fields in form.spec.items()
        for name, first, last, kind in fields
    ]
    text = LAYOUT.replace("@TABLE@", "\n" + "\n".join(f"    {row}" for row in rows) + "\n")
    parts = (
        (SEQUENCE_HARD, MONEY_HARD, TOTALS_HARD, JSON_HARD)
        if form.hard
        else (SEQUENCE_MEDIUM, MONEY_MEDIUM, TOTALS_MEDIUM, JSON_MEDIUM)
    )
    for name, part in zip(("SEQUENCE", "MONEY", "TOTALS", "JSON"), parts, strict=True):
        text = text.replace(f"@{name}@", part)
    for name, word in {**words, "PARTNER": form.place.partner, "WIDTH": str(form.width)}.items():
        text = text.replace(f"@{name}@", word)
    return text


def draft(draw: Draw) -> Draft:
    """One converter."""
    place = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    wording = (draw.serial + draw.serial // 3) % 3
    form = draw_format(draw, place, hard)
    numbers = sorted(draw.sample(range(3, 60), 4))
    status: dict[str, int] = dict(zip(("form", "sequence", "field", "total"), numbers, strict=True))
    cases: list[Mapping[str, object]] = []
    for number in range(8):
        exchange = draw_exchange(draw, hard, number)
        text = ("\r\n" if number == 2 else "\n").join(form.lines(exchange)) + ("" if number in (1, 4) else "\n")
        cases.append({"status": 0, "file": text, "json": form.result(exchange)})
    cases += [{"status": status[name], "file": text} for name, text in broken_files(draw, form)]
    samples = {
        f"samples/{name}.txt": "\n".join(form.lines(draw_exchange(draw, hard, number))) + "\n"
        for name, number in (("first", 6), ("second", 7))
    }
    files: dict[str, Content] = {"LAYOUT.md": description(form), **samples}

    program = f"{place.folder}/{place.program}"
    said = {name: texts[wording].format(program=program, **status) for name, texts in SENTENCES.items()}
    instruction = place.text.format(
        firm=draw.pick(FIRMS),
        persona=place.persona,
        ticket=draw.between(100, 9999),
        layout=f"{place.folder}/LAYOUT.md",
        samples=f"{place.folder}/samples",
        rules=laid_out(place.voice, list(said.values())),
    )
    spec = {
        "codes": place.codes,
        "words": dict(zip(NAMES, place.words, strict=True)),
        "hard": hard,
        "width": form.width,
        "records": form.spec,
        "status": status,
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, ("@SPEC@", json.dumps(spec))]:
            source = source.replace(old, new)
        return f"cd {place.folder}\ncat > {place.program} <<'PROGRAM'\n{source}PROGRAM\nchmod +x {place.program}\n"

    both = ["test_accepted", "test_rejected"]
    misses = [
        Miss(
            "negative_zero",
            "does not know overpunched negatives",
            script(PYTHON, ('enumerate("}JKLMNOPQR")', 'enumerate("}")')),
            both[:1],
        ),
        Miss(
            "no_filler_check",
            "does not look at the filler",
            script(PYTHON, ('if "".join(rest).strip(" "):', "if False:")),
            both[1:],
        ),
        Miss(
            "check_not_cut", "keeps all digits of the check sum", script(PYTHON, ("check % 10000", "check")), both[:1]
        ),
        Miss(
            "line_by_line",
            "does not check the form of the whole file first",
            script(PYTHON, ('reject("form")', 'reject("form" if not lines else "sequence")')),
            both[1:],
        ),
        Miss("totals_ignored", "trusts the control totals", script(PYTHON, ("if bad or", "if False and")), both[1:]),
    ]
    if hard:
        misses.append(
            Miss(
                "pieces_stripped",
                "cuts the blanks of every piece of text",
                script(PYTHON, ("value = raw\n", 'value = raw.rstrip(" ")\n')),
                both[:1],
            )
        )
    return Draft(
        title=f"Convert exchange files: {place.scenario}",
        setting=place,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY LAYOUT.md {place.folder}/\nCOPY samples {place.folder}/samples/\nWORKDIR {place.folder}",
        truth={
            "program": program,
            "cases": json.dumps(cases),
            "given": {f"{place.folder}/{name}": digest(text) for name, text in files.items()},
        },
        discoverable=("program", "given"),
        tests=TESTS,
        weights={"test_accepted": 0.5, "test_rejected": 0.5},
        guards=["test_samples_unchanged"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (said["program"], both[:1]),
            (said["reject"], both[1:]),
            (said["exit"], both),
            (said["keep"], ["test_samples_unchanged"]),
        ],
        knobs={"width": form.width, "groups": hard, "accepted": 8, "rejected": len(cases) - 8, "wording": wording},
    )


def digest(text: Content) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


FAMILY = Family(
    name="fixed_width_exchange",
    domain="data_processing",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("fixed-width records", "data validation", "control totals", "exit codes"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=40,
    draft=draft,
)
