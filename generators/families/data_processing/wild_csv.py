"""Many CSV files of the wild into one clean file: encodings, quoting, ragged rows, number and date styles, "
"duplicates."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import date, timedelta

from generators.family import Content, Draft, Draw, Family, Miss, Setting, Voice
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


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


def world(row: str, voice: Voice, lead: str, tail: str) -> World:
    """A world from one line of words separated by bars."""
    name, persona, scenario, folder, inbox, clean, rejects, summary, columns, prefix, sources = row.split("|")
    a, b, c, d, e = columns.split()
    files = (folder, inbox, clean, rejects, summary)
    return World(name, persona, scenario, voice, *files, (a, b, c, d, e), prefix, sources, lead, tail)


SETTINGS = (
    world(
        "donations|fundraising officer|donor lists|/srv/donors|incoming|donors.csv|refused.csv|tally.json|"
        "donor_no donor pledged_on pledge remark|DN|gala street web church post radio shop fair",
        "email",
        "Hello,\n\nthe branches of {firm} sent their pledge lists for the year and every one of them used a different "
        "program. "
        "They lie in {inbox}/*.csv and I need one list I can mail-merge from. This is what we agreed with the "
        "branches:",
        "Many thanks\n{persona}",
    ),
    world(
        "parts|inventory clerk|stock counts|/data/stock|counts|stock.csv|bad_rows.csv|counts.json|"
        "part label counted value hint|P|hall north south yard cage dock attic lab",
        "ticket",
        "INV-{ticket} ({firm}) | merge the stock counts\n\nEvery hall exported its own CSV into {inbox}. Wanted: one "
        "sheet.\nRules of the merge:",
        "Blocker for the audit; reporter: {persona}.",
    ),
    world(
        "races|race secretary|race entries|/home/race/entries|mail|field.csv|dropped.csv|result.json|"
        "bib runner entered fee wish|R|club school army city island valley coast hill",
        "chat",
        "hey, got all the entry lists in {inbox} now, it's a zoo. can you make a single list before the draw? so:",
        "that's all, ping me when it's there",
    ),
    world(
        "claims|claims manager|claim intake|/opt/intake|drop|claims.csv|returned.csv|intake.json|"
        "claim claimant lodged sum_claimed details|CL|broker agent phone letter portal clinic garage court",
        "specification",
        "Claim intake of {firm}: consolidation of partner files\n\nScope. All files ending in .csv in {inbox}. "
        "Definitions:",
        "Owner of this document: {persona}.",
    ),
    world(
        "library|acquisitions librarian|book orders|/srv/library|orders|orders.csv|unusable.csv|overview.json|"
        "order_id title ordered price comment|BK|fiction science maps music kids law art travel",
        "note",
        "Order lists of the departments are in {inbox} (*.csv). One list out of them:",
        "-- {persona}, {firm}",
    ),
    world(
        "meters|field data analyst|meter visits|/var/lib/visits|tablets|visits.csv|quarantine.csv|stats.json|"
        "meter street visited reading observation|M|team1 team2 team3 team4 team5 team6 team7 team8",
        "runbook",
        "Runbook: nightly merge of the tablets ({firm})\n\nThe tablets have synchronised to {inbox}. The merge of all "
        "*.csv there goes by hand today:",
        "Escalation: {persona}.",
    ),
    world(
        "auction|auction house assistant|consignments|/srv/auction|consignors|lots.csv|sent_back.csv|figures.json|"
        "lot description received estimate condition|L|paris lyon basel turin vienna berne graz ulm",
        "email",
        "Dear colleague,\n\nall consignors have now handed in their lists (directory {inbox}, only the .csv files "
        "count). "
        "The catalogue of {firm} takes a single file. Conventions:",
        "Kind regards, {persona}",
    ),
    world(
        "freight|customs broker|cargo manifests|/data/manifests|raw|cargo.csv|faulty.csv|totals.json|"
        "consignment shipper loaded duty marks|CN|rail sea air road barge ferry pipe depot",
        "ticket",
        "Ticket {ticket}: harmonise manifests\nRequested by: {persona}, {firm}\nLocation of the *.csv inputs: "
        "{inbox}\nAcceptance:",
        "Close the ticket when all files exist.",
    ),
)

# every rule in three wordings; the setting decides which
WORDINGS: dict[str, tuple[str, str, str]] = {
    "utf8": (
        "All files are UTF-8, some begin with a byte-order mark, which is not part of the data.",
        "Text is UTF-8; where a byte-order mark comes first it does not belong to the first header.",
        "Encoding: UTF-8 everywhere, with a byte-order mark (to be ignored) in some files.",
    ),
    "encoding": (
        "A file beginning with a byte-order mark is in the encoding that the mark stands for (the mark is no data); "
        "of the others, those "
        "that are valid UTF-8 are UTF-8 and the rest are Windows-1252.",
        "Encodings: go by the byte-order mark where there is one and drop it; without one it is UTF-8 if the bytes "
        "decode as that, "
        "otherwise Windows-1252.",
        "Nobody noted the encodings, but there are only these cases: a byte-order mark says it (and is then removed), "
        "no mark but "
        "proper UTF-8 means UTF-8, anything else came from Windows-1252.",
    ),
    "separator": (
        "The separator is the one of comma, semicolon, tab and bar (|) that the header line contains; fields may be "
        "quoted with double "
        "quotes, inside which separators and line breaks are data and a doubled quote is a quote.",
        "Look at the header line for the separator (comma, semicolon, tab or |, never two of them); double quotes "
        "enclose fields with "
        "separators, line breaks or doubled quotes in them.",
        "Fields are split at whichever of comma, semicolon, tab or | occurs in the header; quoting is the usual one "
        "with double quotes, so "
        "a quoted field can run over several lines.",
    ),
    "columns": (
        "Columns come in any order and their titles in any case, with stray blanks; titles other than {columns} are "
        "ignored together with "
        "their column.",
        "Header titles vary in order, capitals and surrounding blanks; only {columns} matter, other columns go.",
        "Match titles without regard to case or blanks around them, in whatever order; of all columns only {columns} "
        "are kept.",
    ),
    "blanks": (
        "In every field a run of white space (line breaks too) becomes one blank, and blanks at both ends go.",
        "White space is squeezed: any run of it, line breaks included, to a single blank, none at the start or end of "
        "a field.",
        "Fields are trimmed, and inside them each stretch of blanks, tabs or line breaks turns into one blank.",
    ),
    "key": (
        "Then {key} is put in capitals.",
        "{key} is compared and written in upper case.",
        "Write every {key} in capital letters.",
    ),
    "amount": (
        "In files separated by semicolons {amount} has a decimal comma and dots between thousands, in all others a "
        "decimal point and "
        "commas between thousands; {signs}.",
        "{amount}: semicolon files use 1.234,50, the other files 1,234.50, and decimals may be missing; {signs}.",
        "The decimal sign of {amount} follows from the separator (semicolon: comma, with dots for thousands; "
        "otherwise: point, with commas "
        "for thousands); {signs}.",
    ),
    "date": (
        "{date} is given as {dates}.",
        "For {date} these forms occur: {dates}.",
        "Dates ({date}) are {dates}.",
    ),
    "ragged": (
        "A row with more fields than the header is accepted if the surplus fields are empty; missing fields at the "
        "end of a row count as "
        "empty.",
        "Too short rows are filled up with empty fields, too long ones are fine as long as what is too much is empty.",
        "If a row is shorter than the header, the rest is empty; if it is longer, the excess has to be empty and is "
        "cut.",
    ),
    "reject": (
        "A row is rejected for the first of these reasons that applies: too_wide (surplus that is not empty), no_key "
        "({key} empty), "
        "bad_date (no existing day), bad_amount (not such a number).",
        "Rejected are, checked in this order and with these codes: too_wide for surplus content, no_key for an empty "
        "{key}, bad_date for "
        "anything that is no real calendar day, bad_amount for anything that is no number of that style.",
        "Reject codes, the first that fits wins: too_wide = content beyond the header, no_key = {key} is empty, "
        "bad_date = not a day of the "
        "calendar, bad_amount = not a number as described.",
    ),
    "repeat": (
        "Some exports repeat the header between the rows; such a repetition is no row.",
        "A row that is the header once more is not counted and not taken.",
        "Pages were glued together, so the header line of a file can come again in it; skip it there.",
    ),
    "duplicate": (
        "Of several {accepted}rows with the same {key} over all files the one with the latest {date} stays; if that "
        "is a tie, the one from the "
        "file whose name sorts last, and within a file the last one.",
        "One line per {key}: newest {date} wins among {accepted}rows of all files, on equal days the alphabetically "
        "later file, then the later row.",
        "Duplicates are {accepted}rows that share {key}, in one file or in several: keep the most recent {date}; same "
        "day, keep the later file by "
        "name; same file, keep the lower row.",
    ),
    "clean": (
        "Result: {clean} in UTF-8 without byte-order mark, comma-separated with a header line and the columns "
        "{columns} in this order, "
        "{date} as YYYY-MM-DD, {amount} with a point and exactly two decimals and no thousands separators, sorted by "
        "{key} in byte order.",
        "Write {clean} (comma-separated, UTF-8, no byte-order mark). Header and column order: {columns}. Sort by "
        "{key} in byte order; {date} "
        "is YYYY-MM-DD, {amount} looks like -1234.50.",
        "The outcome is {clean}: UTF-8 with no mark at the start, commas, columns {columns} with a header, ascending "
        "{key} (byte order), ISO "
        "days in {date}, two decimals after a point and nothing between thousands in {amount}.",
    ),
    "rejects": (
        "List the rejected ones in {rejects} with the header file,row,reason, in the order of file name and row; row "
        "counts the rows of a "
        "file from 1, without header, repeated headers and empty lines.",
        "{rejects} has the columns file,row,reason (with this header), ordered by file name, then row number; rows "
        "are numbered from 1 in "
        "each file, where the header, its repetitions and empty lines have no number and a row over several lines has "
        "one.",
        "For the rest make {rejects}, header file,row,reason: the bare file name, the number of the row (first row "
        "after the header is 1; "
        "empty lines and repeated headers do not count) and the code, sorted by name and number.",
    ),
    "summary": (
        "Also write {summary}, a JSON object with the whole numbers rows (all rows read), {rejected}superseded (rows "
        "dropped as duplicates), kept, and "
        "the string total (sum of {amount} over the kept rows, two decimals).",
        "{summary} is a JSON object: rows, {rejected}superseded and kept are counts (read, {counted}dropped as "
        "duplicates, written), total is the sum "
        "of {amount} in the result as a string with two decimals.",
        "And the figures in {summary} as JSON: rows read (rows), {rejected}duplicates dropped (superseded), rows "
        "written (kept), and total, a "
        "string with two decimals, the {amount} of all written rows added up.",
    ),
    "keep": (
        "The files we received stay exactly as they are.",
        "Do not alter the inputs.",
        "The source files must not be touched.",
    ),
}

TESTS = """
import csv
import hashlib
import io
from pathlib import Path


def table(name):
    data = Path(TRUTH[name + "_file"]).read_bytes()
    assert not data.startswith(b"\\xef\\xbb\\xbf"), "byte-order mark"
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_clean():
    got, want = table("clean"), TRUTH["clean"]
    assert got[:1] == want[:1], "header"
    assert len(got) == len(want), f"{len(got)} lines"
    wrong = [a[0] if a else "" for a, b in zip(got, want) if a != b]
    assert not wrong, f"differs at {wrong[:3]}"


def test_summary():
    got = json.loads(Path(TRUTH["summary_file"]).read_text())
    assert got == TRUTH["summary"]


def test_sources_untouched():
    for path, digest in TRUTH["sources"].items():
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest, path
"""
REJECTS_TEST = """

def test_rejects():
    assert table("rejects") == TRUTH["rejects"]
"""
INITIAL = """
from pathlib import Path


def test_only_the_sources_are_there():
    assert all(Path(path).is_file() for path in TRUTH["sources"])
    assert not any(Path(TRUTH[key]).exists() for key in ("clean_file", "rejects_file", "summary_file"))
"""

PYTHON = r"""python3 - <<'PY'
import codecs, csv, io, json, re
from datetime import date
from decimal import Decimal
from pathlib import Path
COLUMNS = @COLUMNS@
KEY, _, DAY, AMOUNT, _ = COLUMNS
def text(data):
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    for mark, name in marks:
        if data.startswith(mark):
            return data.decode(name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252")
def squeeze(field):
    return " ".join(field.split())
def day(field):
    forms = ((r"(\d{4})-(\d\d)-(\d\d)", (1, 2, 3)), (r"(\d\d)\.(\d\d)\.(\d{4})", (3, 2, 1)),
             (r"(\d\d)/(\d\d)/(\d{4})", (3, 1, 2)))
    for pattern, order in forms:
        m = re.fullmatch(pattern, field)
        if m:
            try:
                return date(*(int(m[i]) for i in order)).isoformat()
            except ValueError:
                return None
    return None
def amount(field, sep):
    sign = 1
    if field.startswith("(") and field.endswith(")"):
        sign, field = -1, field[1:-1]
    elif field.endswith("-"):
        sign, field = -1, field[:-1]
    if sep == ";":
        field = field.replace(".", "").replace(",", ".")
    else:
        field = field.replace(",", "")
    return sign * Decimal(field) if re.fullmatch(r"-?\d+(\.\d+)?", field) else None
best, rejects, read, good = {}, [], 0, 0
for path in sorted(Path("@INBOX@").glob("*.csv")):
    content = text(path.read_bytes())
    first = content.splitlines()[0]
    sep = next(c for c in ",;\t|" if c in first)
    rows = [r for r in csv.reader(io.StringIO(content, newline=""), delimiter=sep) if r]
    raw = rows[0]
    head = [squeeze(h).lower() for h in raw]
    n = 0
    for row in rows[1:]:
        if row == raw:
            continue
        n += 1
        read += 1
        row = [squeeze(f) for f in row]
        if any(row[len(head):]):
            rejects.append((path.name, n, "too_wide"))
            continue
        row += [""] * (len(head) - len(row))
        rec = dict(zip(head, row))
        rec[KEY] = rec[KEY].upper()
        d, a = day(rec[DAY]), amount(rec[AMOUNT], sep)
        reason = "no_key" if not rec[KEY] else "bad_date" if d is None else "bad_amount" if a is None else None
        if reason:
            rejects.append((path.name, n, reason))
            continue
        rec[DAY], rec[AMOUNT] = d, f"{a:.2f}"
        good += 1
        old = best.get(rec[KEY])
        if old is None or d >= old[DAY]:
            best[rec[KEY]] = rec
def save(path, head, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(head)
        w.writerows(rows)
kept = [best[k] for k in sorted(best)]
save("@CLEAN@", COLUMNS, [[r[c] for c in COLUMNS] for r in kept])
out = {"rows": read, "superseded": good - len(kept), "kept": len(kept),
       "total": f"{sum(Decimal(r[AMOUNT]) for r in kept):.2f}"}
if @REJECTING@:
    save("@REJECTS@", ["file", "row", "reason"], rejects)
    out["rejected"] = len(rejects)
json.dump(out, open("@SUMMARY@", "w"))
PY
"""

PERL = r"""cat > /tmp/merge.pl <<'PL'
use strict; use warnings; use Encode; use JSON::PP; use Time::Local;
my @columns = split / /, "@SPACED@";
my ($key, undef, $day, $sum) = @columns;
sub content {
    open(my $f, "<:raw", $_[0]) or die; local $/; my $b = <$f>;
    return decode("UTF-16LE", substr($b, 2)) if $b =~ /^\xff\xfe/;
    return decode("UTF-16BE", substr($b, 2)) if $b =~ /^\xfe\xff/;
    $b =~ s/^\xef\xbb\xbf//;
    my $t = eval { decode("UTF-8", my $copy = $b, Encode::FB_CROAK) };
    return defined $t ? $t : decode("cp1252", $b);
}
sub parse {
    my ($t, $sep) = @_; my (@rows, @row); my $f = ""; my $q = 0;
    my $i = 0; my $n = length $t;
    while ($i < $n) {
        my $c = substr($t, $i, 1);
        if ($q && $c eq '"') {
            if ($i + 1 < $n && substr($t, $i + 1, 1) eq '"') { $f .= '"'; $i++ } else { $q = 0 }
        }
        elsif ($q) { $f .= $c }
        elsif ($c eq '"' && $f eq "") { $q = 1 }
        elsif ($c eq $sep) { push @row, $f; $f = "" }
        elsif ($c eq "\r") { }
        elsif ($c eq "\n") { push @rows, [@row, $f] if @row || $f ne ""; @row = (); $f = "" }
        else { $f .= $c }
        $i++;
    }
    push @rows, [@row, $f] if @row || $f ne "";
    return @rows;
}
sub squeeze { my $s = $_[0]; $s =~ s/\s+/ /g; $s =~ s/^ | $//g; return $s }
my (%best, @bad); my ($read, $good) = (0, 0);
opendir(my $dir, "@INBOX@"); 
for my $name (sort grep { /\.csv$/ } readdir $dir) {
    my $t = content("@INBOX@/$name"); my ($first) = split /\n/, $t; my ($sep) = $first =~ /([,;\t|])/;
    my @rows = parse($t, $sep); my $raw = join("\0", @{shift @rows});
    my @head = map { lc squeeze($_) } split /\0/, $raw; my $n = 0;
    for my $r (@rows) {
        next if join("\0", @$r) eq $raw;
        $n++; $read++; my @r = map { squeeze($_) } @$r;
        if (grep { $_ ne "" } @r[@head .. $#r]) { push @bad, [$name, $n, "too_wide"]; next }
        my %v; @v{@head} = @r; for (@head) { $v{$_} = "" unless defined $v{$_} }
        $v{$key} = uc $v{$key};
        if ($v{$key} eq "") { push @bad, [$name, $n, "no_key"]; next }
        my @d = $v{$day} =~ /^(\d{4})-(\d\d)-(\d\d)$/;
        @d = ($3, $2, $1) if $v{$day} =~ /^(\d\d)\.(\d\d)\.(\d{4})$/;
        @d = ($3, $1, $2) if $v{$day} =~ m{^(\d\d)/(\d\d)/(\d{4})$};
        if (!@d || !eval { timegm(0, 0, 0, $d[2], $d[1] - 1, $d[0]); 1 }) { push @bad, [$name, $n, "bad_date"]; next }
        $v{$day} = join "-", @d;
        my $a = $v{$sum}; my $neg = 0;
        if ($a =~ /^\((.*)\)$/) { $a = $1; $neg = 1 } elsif ($a =~ s/-$//) { $neg = 1 }
        if ($sep eq ";") { $a =~ tr/.//d; $a =~ tr/,/./ } else { $a =~ tr/,//d }
        if ($a !~ /^(-?)(\d+)(?:\.(\d+))?$/) { push @bad, [$name, $n, "bad_amount"]; next }
        my $cents = $2 * 100 + substr((defined $3 ? $3 : "") . "00", 0, 2);
        $cents = -$cents if $neg || $1;
        $v{$sum} = $cents; $good++;
        $best{$v{$key}} = \%v if !$best{$v{$key}} || $v{$day} ge $best{$v{$key}}{$day};
    }
}
sub money {
    my $c = $_[0];
    return sprintf("%s%d.%02d", $c < 0 ? "-" : "", int(abs($c) / 100), abs($c) % 100);
}
sub line { return join(",", map { my $f = $_; if ($f =~ /[",\n]/) { $f =~ s/"/""/g; $f = "\"$f\"" } $f } @_) . "\n" }
open(my $o, ">:encoding(UTF-8)", "@CLEAN@"); print $o line(@columns); my $total = 0;
for my $k (sort keys %best) {
    my %v = %{$best{$k}};
    $total += $v{$sum};
    $v{$sum} = money($v{$sum});
    print $o line(@v{@columns});
}
close $o;
my %out = (rows => $read, superseded => $good - keys %best, kept => scalar(keys %best), total => money($total));
if (@REJECTING@) {
    open(my $x, ">", "@REJECTS@");
    print $x "file,row,reason\n"; print $x line(@$_) for @bad; close $x; $out{rejected} = scalar @bad;
}
open(my $j, ">", "@SUMMARY@"); print $j encode_json(\%out); close $j;
PL
perl /tmp/merge.pl
rm -f /tmp/merge.pl
"""

NAMES = [
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
]
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
    """An amount as a file of this separator writes it; styles 1 and 2 are the accountants' negatives, 3 leaves "
    "decimals away."""
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
            source.rows.append(cells(source, key, draw.pick(people), day, number(cents, source.separator, style), note))
        sources.append(source)
    plant_duplicates(draw, sources, keys, start, rows)
    if level is not Difficulty.EASY:
        plant_ragged(draw, sources, place, start, [f"{place.prefix}{next(serial)}" for _ in range(40)])
    for source in sources:
        source.rows = draw.shuffled(source.rows)
    if hard:
        for source in sources[1::2]:
            source.rows.insert(len(source.rows) // 2, list(source.titles))
    return sources


def cells(source: Source, key: str, name: str, day: date, amount: str, note: str) -> list[str]:
    """A row in the column order of its file; the columns nobody asked for get filler."""
    values = [key, name, day.strftime(source.form), amount, note]
    wanted = [title for title in source.header if title not in ("entered_by", "page", "checksum")]
    order = {title: position for position, title in enumerate(ORDER[tuple(sorted(wanted))])}
    return [values[order[title]] if title in order else "7f" for title in source.header]


ORDER = {tuple(sorted(place.columns)): place.columns for place in SETTINGS}


def plant_duplicates(draw: Draw, sources: list[Source], keys: list[str], start: date, rows: int) -> None:
    """The same key again: newer in the earlier file, newer in the later one, a tie over files, a tie within a file."""
    pairs = [(0, 1, 700, 600), (0, 1, 610, 720), (0, 1, 650, 650), (1, 1, 640, 640), (len(sources) - 1, 0, 660, 630)]
    for count in range(draw.by_difficulty(easy=1, medium=3, hard=6)):
        for pair, (left, right, first, second) in enumerate(pairs):
            key = f"{keys[0][:-4]}{10_000 + count * 10 + pair}"
            for index, age, shape in ((left, first, key), (right, second, f" {key.lower()}")):
                source = sources[index]
                amount = number(draw.between(100, 900_000), source.separator, 0)
                source.rows.append(
                    cells(source, shape, f"Twin {index}", start + timedelta(days=age), amount, draw.pick(NOTES))
                )


def plant_ragged(draw: Draw, sources: list[Source], place: World, start: date, keys: list[str]) -> None:
    """Rows with too many or too few fields, and rows with a bad value; every kind occurs."""
    fresh = iter(keys)
    day_at, key_at, sum_at = 2, 0, 3
    for kind in range(draw.by_difficulty(medium=9, hard=21)):
        source = sources[kind % len(sources)]
        row = cells(
            source, next(fresh), "Odd one", start, number(draw.between(1000, 99_000), source.separator, 0), "odd"
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


def sentences(place: World, difficulty: Difficulty, wording: int) -> dict[str, str]:
    """The rules of this difficulty in one wording."""
    easy, hard = difficulty is Difficulty.EASY, difficulty is Difficulty.HARD
    skipped = (
        {"encoding", "ragged", "reject", "rejects", "repeat"} if easy else {"utf8"} if hard else {"utf8", "repeat"}
    )
    key, _, day, amount, _ = place.columns
    signs = (
        "a minus in front or behind, or parentheses around it, make it negative"
        if hard
        else (
            "a minus sign in front is possible",
            "negative numbers start with a minus",
            "there are negative ones, with a minus before them",
        )[wording]
    )
    dates = {
        Difficulty.EASY: "YYYY-MM-DD",
        Difficulty.MEDIUM: "YYYY-MM-DD or DD.MM.YYYY",
        Difficulty.HARD: "YYYY-MM-DD, DD.MM.YYYY or MM/DD/YYYY",
    }[difficulty]
    words = {
        "columns": ", ".join(place.columns),
        "key": key,
        "date": day,
        "amount": amount,
        "signs": signs,
        "dates": dates,
        "accepted": "" if easy else "accepted ",
        "rejected": "" if easy else ("rejected, ", "rejected, ", "rows rejected (rejected), ")[wording],
        "counted": "" if easy else "rejected, ",
        "clean": f"{place.folder}/{place.clean}",
        "rejects": f"{place.folder}/{place.rejects}",
        "summary": f"{place.folder}/{place.summary}",
    }
    return {name: texts[wording].format(**words) for name, texts in WORDINGS.items() if name not in skipped}


def laid_out(voice: Voice, lines: list[str]) -> str:
    """Sentences in the manner of a voice."""
    match voice:
        case "specification":
            return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
        case "runbook":
            return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))
        case "ticket":
            return "\n".join(f"* {line}" for line in lines)
        case "note":
            return "\n".join(f"- {line}" for line in lines)
        case "chat":
            return "\n".join(lines)
        case _:
            half = len(lines) // 2
            return " ".join(lines[:half]) + "\n\n" + " ".join(lines[half:])


def draft(draw: Draw) -> Draft:
    """One merge."""
    place = draw.setting(SETTINGS)
    wording = (draw.serial + draw.serial // 3) % 3
    rows = draw.by_difficulty(easy=10, medium=16, hard=24)
    sources = draw_sources(draw, place, rows)
    clean, rejects, summary = merge(sources, place)
    rejecting = draw.difficulty is not Difficulty.EASY
    if not rejecting:
        del summary["rejected"]
    inbox = f"{place.folder}/{place.inbox}"
    files: dict[str, Content] = {f"in/{source.name}": rendered(source, draw) for source in sources}
    digests = {
        f"{inbox}/{name[3:]}": hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if isinstance(data, bytes)
    }
    said = sentences(place, draw.difficulty, wording)
    lead = place.lead.format(firm=draw.pick(FIRMS), inbox=inbox, ticket=draw.between(1000, 9999), persona=place.persona)
    tail = place.tail.format(persona=place.persona, firm=draw.pick(FIRMS))
    fill = {
        "@COLUMNS@": repr(list(place.columns)),
        "@SPACED@": " ".join(place.columns),
        "@INBOX@": inbox,
        "@CLEAN@": f"{place.folder}/{place.clean}",
        "@REJECTS@": f"{place.folder}/{place.rejects}",
        "@SUMMARY@": f"{place.folder}/{place.summary}",
    }

    def script(source: str, *changes: tuple[str, str]) -> str:
        for old, new in [*changes, *fill.items()]:
            source = source.replace(old, new)
        return source.replace("@REJECTING@", ("1" if rejecting else "0"))

    goals = (
        {"test_clean": 0.6, "test_summary": 0.2, "test_rejects": 0.2}
        if rejecting
        else {"test_clean": 0.7, "test_summary": 0.3}
    )
    misses = [
        Miss(
            "first_seen_wins",
            "keeps the first row of a key",
            script(PYTHON, ("old is None or d >= old[DAY]", "old is None")),
            ["test_clean"],
        ),
        Miss(
            "keys_as_written",
            "compares keys without regard to their case rule",
            script(PYTHON, ("rec[KEY].upper()", "rec[KEY]")),
            ["test_clean", "test_summary"],
        ),
        Miss(
            "one_decimal_style",
            "takes the comma for a thousands separator everywhere",
            script(PYTHON, ('if sep == ";":', "if False:")),
            ["test_clean", "test_summary"],
        ),
    ]
    if rejecting:
        misses += [
            Miss(
                "latin_1", "decodes the old files as Latin-1", script(PYTHON, ('"cp1252"', '"latin-1"')), ["test_clean"]
            ),
            Miss(
                "surplus_cut",
                "cuts surplus fields whatever they hold",
                script(PYTHON, ("if any(row[len(head):]):", "if False:")),
                ["test_rejects", "test_summary"],
            ),
        ]
    return Draft(
        title=f"Merge wild CSV files: {place.scenario}",
        setting=place,
        instruction=f"{lead}\n\n{laid_out(place.voice, list(said.values()))}\n\n{tail}",
        files=files,
        dockerfile=f"COPY in {inbox}/\nWORKDIR {place.folder}",
        truth={
            "clean_file": fill["@CLEAN@"],
            "rejects_file": fill["@REJECTS@"],
            "summary_file": fill["@SUMMARY@"],
            "clean": [list(place.columns), *clean],
            "rejects": [["file", "row", "reason"], *rejects] if rejecting else [],
            "summary": summary,
            "sources": digests,
        },
        discoverable=("clean", "rejects", "sources", "clean_file", "rejects_file", "summary_file", "summary"),
        tests=TESTS + (REJECTS_TEST if rejecting else ""),
        weights=goals,
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=script(PYTHON),
        alternatives=[script(PERL)],
        misses=misses,
        requirements=[
            (
                text,
                ["test_sources_untouched"]
                if name == "keep"
                else [f"test_{name}"]
                if f"test_{name}" in goals
                else list(goals),
            )
            for name, text in said.items()
        ],
        knobs={"files": len(sources), "rows": summary["rows"], "wording": wording, "superseded": summary["superseded"]},
    )


FAMILY = Family(
    name="wild_csv",
    domain="data_processing",
    verifier=Verifier.EXACT_TEXT,
    skills=("csv parsing", "text encodings", "number and date formats", "deduplication"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD),
    capacity=48,
    draft=draft,
)
