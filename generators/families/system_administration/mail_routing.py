"""Write a mail address resolver to a specification: aliases, plus-addresses, wildcards, loops, routes, precedence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    program: str
    document: str
    tables: str  # names of the tables: domains, aliases, mailboxes, routes
    items: str  # words for: delivery here, delivery elsewhere, failure
    domains: tuple[str, str, str]
    wording: int
    text: str


# fmt: off
SETTINGS = (
    World("choir_union", "volunteer postmaster", "mail of a choir union", "email", "/srv/mail", "resolve",
          "ROUTING.txt", "domains aliases mailboxes routes", "mailbox smtp error", ("choir.example", "alto.example",
          "bass.example"), 0, "Dear helper,\n\nthe union's mail gateway is replaced, and the part that decides where "
          "a message goes has to be written anew. How it decides is laid down in "
          "{folder}/{document}.\n\n{rules}\n\nMusical greetings, the postmaster of {firm}\n"),
    World("hosting", "mail platform engineer", "resolver of a hosting company", "ticket", "/opt/mta", "route-address",
          "SPEC.md", "local virtual boxes transport", "deliver relay fail", ("shopper.example", "brandnew.example",
          "oldname.example"), 1, "MAIL-{number}: address resolver for {firm}\n\nThe C program that we used crashes "
          "on 64 bit. Its behaviour is specified in {folder}/{document}; rewrite it.\n\n{rules}\n"),
    World("ministry", "protocol officer", "ministry mail gateway", "specification", "/var/lib/gateway", "decide",
          "decision-rules.txt", "ours.tab names.tab accounts.tab hops.tab", "store forward refuse", (
          "ministry.example", "cabinet.example", "press.example"), 2, "Gateway of {firm}, work order {number}\n\nThe "
          "decision rules are those of {folder}/{document}.\n\n{rules}\n"),
    World("school_board", "school administrator", "parents and teachers mail", "note", "/home/admin/postoffice",
          "whereto", "HOWTO", "our-domains forwards people outbound", "box out bad", ("school.example",
          "parents.example", "kita.example"), 0, "New resolver for {firm}. Rules are in "
          "{folder}/{document}.\n\n{rules}\n"),
    World("game_guild", "community server owner", "mail of a gaming guild", "chat", "/data/guild/mail", "mailmap",
          "rules.md", "homes nicks players peers", "inbox peer oops", ("guild.example", "raid.example",
          "orcs.example"), 1, "our mail relay at {firm} needs a brain :) i wrote down how names become inboxes in "
          "{folder}/{document}, can you code it?\n\n{rules}\n"),
    World("newspaper", "newsroom IT", "newsroom addresses", "runbook", "/srv/newsroom/mx", "lookup", "lookup.txt",
          "titles desks staff exits", "desk exit dead", ("gazette.example", "weekend.example", "sport.example"), 2,
          "Emergency rebuild of the address lookup, page {number} ({firm})\n\nReference on paper and in "
          "{folder}/{document}.\n\n{rules}\n"),
    World("shipping", "port communications officer", "ship and port mail", "ticket", "/opt/port/mail", "steer",
          "STEERING", "harbours crews cabins channels", "cabin channel lost", ("harbour.example", "tugs.example",
          "pilots.example"), 0, "#{number} ({firm}) satellite mail: steering program missing after restore\n\nThe "
          "description survived: {folder}/{document}. The program did not.\n\n{rules}\n"),
    World("biotech", "laboratory IT lead", "mail of a merged company", "email", "/srv/merge/mail", "expand",
          "expansion.txt", "domains.lst aliases.lst users.lst relays.lst", "user relay problem", ("genome.example",
          "cells.example", "legacy.example"), 1, "Hi,\n\nafter the merger {firm} has three domains and nobody knows "
          "which address ends where. We agreed on the rules in {folder}/{document}, now we need the "
          "tool.\n\n{rules}\n\nBest, {persona}\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "start": (
        "Write the executable {folder}/{program} (any language that is installed); `{folder}/{program} DIR` takes "
        "its tables from the directory DIR, reads addresses from standard input, one a line, and prints a line for "
        "each, in the same order.",
        "make it an executable {folder}/{program} in whatever language this box has. Called as `{folder}/{program} "
        "DIR` it loads the tables in DIR, gets addresses on standard input (one per line) and answers each with one "
        "line on standard output, in their order.",
        "To be delivered is an executable {folder}/{program}, written in a language present on this machine. "
        "Invocation: `{folder}/{program} DIR`, where DIR holds the tables; every line of standard input is an "
        "address and yields one line of output, order being preserved."),
    "rules": (
        "What it prints follows {document} exactly, for these and for any other tables of that form.",
        "it must do precisely what {document} says, with any tables, not only with ours.",
        "The output conforms to {document} in every detail and for all tables of the described form."),
    "tables": (
        "Our own tables lie in {folder}/tables, to try it out; they and {document} must not be changed.",
        "there is a set of real tables in {folder}/tables for trying; leave them and {document} as they are.",
        "The tables in force are in {folder}/tables; neither they nor {document} may be modified."),
}
# fmt: on

DOCUMENT = """How an address is resolved

Tables (text; # starts a comment, blank lines do not count, everything is compared in lower case):
  {domains}   a local domain per line; a line with two words says that the first domain is another name of the second
  {aliases}   KEY: TARGET, TARGET, ...
  {mailboxes}   a mailbox (user@domain) per line
  {routes}   PATTERN HOST:PORT

An address is turned to lower case, and a final dot of its domain is removed. If it does not consist of two non-empty parts
around exactly one @, or has white space inside, the result is {fail}:syntax. Its user part may carry a tag, which is what follows
the first + after at least one character; an empty tag is no tag. If the domain is another name, it is replaced (once).

Not local: of the routes the one whose pattern equals the domain; otherwise the longest pattern of the form .x.y that the domain
ends in; otherwise *. Result: {smtp}:HOST:PORT:ADDRESS (with its tag), or {fail}:no-route:ADDRESS.

Local: below, NAME is user@domain without the tag. The first of these that exists decides:
  1. the alias user+tag@domain
  2. the alias user@domain
  3. the alias user+tag
  4. the alias user
{wild}  {n}. the mailbox NAME: result {box}:NAME, with :TAG added if there is a tag
  {m}. the alias @domain
  otherwise {fail}:unknown:NAME
1 and 3 apply only if there is a tag. All targets of the alias are resolved in the same way, and all their results together are the
result. A target without @ belongs to the domain of NAME. With {carry} a target that has no tag of its own is given the tag of
the address; otherwise the tag is lost.

Loops: if NAME has been passed already on the way from the given address to this target, the result is {fail}:loop:NAME, except
where NAME is its own direct target: then only the mailbox counts ({fail}:unknown:NAME without one). The same NAME on
different ways is no loop.
{more}
Output: the address as given, without white space at its ends, a tab, and the results: in byte order, each once, separated by
single commas.
"""
WILD = """  5. the alias with a * in its user part, USER-PATTERN@domain, that fits NAME. The * stands for one or more characters, and $1
     in the targets for what they are. Of several the one with most characters counts, then the first in byte order.
"""
MORE = """
Depth: a target that is reached through more than {depth} names gives {fail}:deep:NAME if it is local (a loop is reported as a loop).

Special targets: :reject: gives {fail}:rejected:NAME, with the NAME whose alias it is. :include:LIST stands for the targets in the file
lists/LIST beside the tables, one per line, in the form of the tables.
"""

TESTS = """
import hashlib
import subprocess
import tempfile
from pathlib import Path


def check(kind):
    for number, group in enumerate(TRUTH["groups"]):
        cases = group["cases"][kind]
        with tempfile.TemporaryDirectory() as folder:
            for name, text in group["tables"].items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            given = "".join(address + "\\n" for address, _ in cases)
            done = subprocess.run([TRUTH["program"], folder], input=given, capture_output=True, text=True, timeout=20, cwd="/")
        assert done.returncode == 0, "exit status"
        lines = done.stdout.splitlines()
        assert len(lines) == len(cases), "number of lines"
        for (address, result), line in zip(cases, lines):
            assert line == address.strip() + "\\t" + result, f"tables {number}, {address!r}"


def test_aliases():
    check("aliases")


def test_tags():
    check("tags")


def test_loops():
    check("loops")


def test_routes():
    check("routes")


def test_given_files_untouched():
    for name, digest in TRUTH["given"].items():
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_only_the_rules_are_there():
    assert all(Path(name).is_file() for name in TRUTH["given"]) and not Path(TRUTH["program"]).exists()
"""

PYTHON = r"""cat > @P@ <<'PY'
#!/usr/bin/python3
import os, re, sys
DIR, DEPTH = sys.argv[1], @D@
BOX, SMTP, FAIL = "@I@".split()
def lines(name):
    with open(os.path.join(DIR, name)) as f:
        for line in f:
            line = line.split("#")[0].strip().lower()
            if line:
                yield line
local, renamed, aliases, routes = set(), {}, {}, {}
T = "@T@".split()
for line in lines(T[0]):
    words = line.split()
    if len(words) == 2:
        renamed[words[0]] = words[1]
    else:
        local.add(words[0])
for line in lines(T[1]):
    key, _, targets = line.partition(":")
    aliases[key.strip()] = [t.strip() for t in targets.split(",")]
boxes = set(lines(T[2]))
for line in lines(T[3]):
    pattern, hop = line.split()
    routes[pattern] = hop
def route(domain):
    if domain in routes:
        return routes[domain]
    fits = [p for p in routes if p[0] == "." and domain.endswith(p)]
    return routes[max(fits, key=len)] if fits else routes.get("*")
def wild(user, domain):
    best = None
    for key in sorted(aliases):
        if "*" in key and key.endswith("@" + domain):
            m = re.fullmatch(re.escape(key.rpartition("@")[0]).replace(r"\*", "(.+)"), user)
            if m and (best is None or len(key) > len(best[0])):
                best = (key, m[1])
    return best
def resolve(address, chain):
    user, domain = address.split("@")
    domain = domain[:-1] if domain.endswith(".") else domain
    domain = renamed.get(domain, domain)
    plus = user.find("+", 1)
    tag = ""
    base = user
    if plus > 0:
        base, tag = user[:plus], user[plus + 1:]
    full = base + ("+" + tag if tag else "")
    if domain not in local:
        hop = route(domain)
        out = f"{full}@{domain}"
        return {f"{SMTP}:{hop}:{out}" if hop else f"{FAIL}:no-route:{out}"}
    name = f"{base}@{domain}"
    mailbox = {f"{BOX}:{name}" + (":" + tag if tag else "")} if name in boxes else None
    if name in chain:
        if chain[-1] != name:
            return {f"{FAIL}:loop:{name}"}
        return mailbox or {f"{FAIL}:unknown:{name}"}
    if len(chain) > DEPTH:
        return {f"{FAIL}:deep:{name}"}
    targets, carry = None, False
    for key, keeps in ((f"{full}@{domain}", not tag), (name, True), (full, not tag), (base, True)):
        if key in aliases:
            targets, carry = aliases[key], keeps
            break
    if targets is None and DEPTH < 99:
        found = wild(base, domain)
        if found:
            targets, carry = [t.replace("$1", found[1]) for t in aliases[found[0]]], True
    if targets is None:
        if mailbox:
            return mailbox
        if "@" + domain not in aliases:
            return {f"{FAIL}:unknown:{name}"}
        targets = aliases["@" + domain]
    result = set()
    todo = list(targets)
    while todo:
        t = todo.pop()
        if t == ":reject:":
            result.add(f"{FAIL}:rejected:{name}")
            continue
        if t.startswith(":include:"):
            todo += lines("lists/" + t[9:])
            continue
        u, _, d = t.partition("@")
        if carry and tag and u.find("+", 1) in (-1, len(u) - 1):
            u = u.rstrip("+") + "+" + tag
        result |= resolve(u + "@" + (d or domain), chain + [name])
    return result
for line in sys.stdin:
    line = line.strip()
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", line):
        print(line + "\t" + FAIL + ":syntax")
    else:
        print(line + "\t" + ",".join(sorted(resolve(line.lower(), []))))
PY
chmod 755 @P@
"""
PERL = r"""cat > @P@ <<'PL'
#!/usr/bin/perl
use strict; my ($dir, $max) = ($ARGV[0], @D@); my ($box, $smtp, $fail) = split / /, "@I@"; my @t = split / /, "@T@";
sub table { open my $f, "<", "$dir/$_[0]" or return; map { s/#.*//; s/^\s+|\s+$//g; length ? lc : () } <$f> }
my (%local, %other, %alias, %route);
for (table($t[0])) { my ($a, $b) = split; if (defined $b) { $other{$a} = $b } else { $local{$a} = 1 } }
for (table($t[1])) { my ($k, $v) = split /\s*:\s*/, $_, 2; $v = $1 if /^[^:]*:\s*(.*)$/; $alias{$k} = [split /\s*,\s*/, $v] }
my %box = map { ($_ => 1) } table($t[2]); for (table($t[3])) { my ($p, $h) = split; $route{$p} = $h }
sub hop { my $d = shift; return $route{$d} if $route{$d}; my $rest = $d;
  while ($rest =~ s/^[^.]*\././) { return $route{$rest} if $route{$rest}; $rest =~ s/^\.// } $route{"*"} }
sub where { my ($addr, @way) = @_; my ($u, $d) = split /\@/, $addr; $d =~ s/\.$//; $d = $other{$d} if $other{$d};
  my ($base, $tag) = $u =~ /^(.[^+]*)\+(.*)$/ ? ($1, $2) : ($u, ""); my $full = $tag eq "" ? $base : "$base+$tag";
  if (!$local{$d}) { my $h = hop($d); return $h ? "$smtp:$h:$full\@$d" : "$fail:no-route:$full\@$d" }
  my $name = "$base\@$d"; my $mail = $box{$name} ? "$box:$name" . ($tag eq "" ? "" : ":$tag") : "";
  if (grep { $_ eq $name } @way) { return "$fail:loop:$name" if $way[-1] ne $name; return $mail || "$fail:unknown:$name" }
  return "$fail:deep:$name" if @way > $max; my ($to, $carry);
  if ($tag ne "" and $alias{"$full\@$d"}) { $to = $alias{"$full\@$d"} } elsif ($alias{$name}) { ($to, $carry) = ($alias{$name}, 1) }
  elsif ($tag ne "" and $alias{$full}) { $to = $alias{$full} } elsif ($alias{$base}) { ($to, $carry) = ($alias{$base}, 1) }
  elsif ($max < 99) { for my $k (sort { length $b <=> length $a or $a cmp $b } grep { /\*.*\@\Q$d\E$/ } keys %alias) {
    my ($l, $r) = $k =~ /^(.*)\*(.*)\@/; next unless $base =~ /^\Q$l\E(.+)\Q$r\E$/; my $x = $1;
    $to = [map { my $y = $_; $y =~ s/\$1/$x/g; $y } @{$alias{$k}}]; $carry = 1; last } }
  if (!$to) { return $mail if $mail; $to = $alias{"\@$d"} or return "$fail:unknown:$name" }
  my @r; for my $x (map { /^:include:(.*)/ ? table("lists/$1") : $_ } @$to) {
    if ($x eq ":reject:") { push @r, "$fail:rejected:$name"; next } my ($v, $e) = split /\@/, $x;
    if ($carry and $tag ne "" and $v !~ /^.[^+]*\+./) { $v =~ s/\+$//; $v .= "+$tag" }
    push @r, where("$v\@" . ($e // $d), @way, $name) } @r }
while (<STDIN>) { s/^\s+|\s+$//g; if (!/^[^@\s]+\@[^@\s]+$/) { print "$_\t$fail:syntax\n"; next }
  my %s = map { ($_ => 1) } where(lc); print "$_\t", join(",", sort keys %s), "\n" }
PL
chmod 755 @P@
"""


@dataclass
class Tables:
    """One set of tables."""

    local: list[str]
    renamed: dict[str, str]
    aliases: dict[str, list[str]]
    boxes: list[str]
    routes: dict[str, str]
    lists: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(frozen=True)
class Resolver:
    """The document, as code."""

    tables: Tables
    box: str
    smtp: str
    fail: str
    depth: int  # 0: neither depth nor wildcards
    starred: tuple[str, ...] = ()  # the keys of wildcard aliases

    def line(self, given: str) -> str:
        """The result column for an address as given."""
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", given.strip()):
            return f"{self.fail}:syntax"
        return ",".join(sorted(set(self.results(given.strip().lower(), ()))))

    def results(self, address: str, way: tuple[str, ...]) -> list[str]:
        """The results of one address that was reached through some names."""
        tables = self.tables
        user, _, domain = address.lower().partition("@")
        domain = tables.renamed.get(domain.removesuffix("."), domain.removesuffix("."))
        base, tag = split_tag(user)
        tagged = f"{base}+{tag}" if tag else base
        if domain not in tables.local:
            suffixes = [p for p in tables.routes if p.startswith(".") and domain.endswith(p)]
            pattern = domain if domain in tables.routes else max(suffixes, key=len, default="*")
            hop = tables.routes.get(pattern)
            return [f"{self.smtp}:{hop}:{tagged}@{domain}" if hop else f"{self.fail}:no-route:{tagged}@{domain}"]
        name = f"{base}@{domain}"
        mailbox = f"{self.box}:{name}{':' + tag if tag else ''}" if name in tables.boxes else ""
        if name in way:
            return [(mailbox or f"{self.fail}:unknown:{name}") if way[-1] == name else f"{self.fail}:loop:{name}"]
        if self.depth and len(way) > self.depth:
            return [f"{self.fail}:deep:{name}"]
        with_tag = [f"{tagged}@{domain}", tagged] if tag else []
        order = [*with_tag[:1], name, *with_tag[1:], base]
        key = next((k for k in order if k in tables.aliases), "")
        targets, carried = tables.aliases.get(key, []), tag if key in (name, base) else ""
        if not key and self.depth:
            key, targets = self.wildcard(base, domain)
            carried = tag
        if not key:
            if mailbox:
                return [mailbox]
            if f"@{domain}" not in tables.aliases:
                return [f"{self.fail}:unknown:{name}"]
            targets, carried = tables.aliases[f"@{domain}"], ""
        found: list[str] = []
        for target in targets:
            for single in tables.lists[target[9:]] if target.startswith(":include:") else [target]:
                if single == ":reject:":
                    found.append(f"{self.fail}:rejected:{name}")
                    continue
                to_user, _, to_domain = single.partition("@")
                to_base, to_tag = split_tag(to_user)
                suffix = to_tag or carried
                found += self.results(f"{to_base}{'+' + suffix if suffix else ''}@{to_domain or domain}", (*way, name))
        return found

    def wildcard(self, user: str, domain: str) -> tuple[str, list[str]]:
        """The wildcard alias that fits best, and its targets."""
        fits: list[tuple[int, str, str]] = []
        for key in self.starred:
            head, _, tail = key.partition("@")[0].partition("*")
            long = len(user) > len(head) + len(tail)
            if key.endswith(f"@{domain}") and long and user.startswith(head) and user.endswith(tail):
                fits.append((-len(key), key, user[len(head) : len(user) - len(tail)]))
        if not fits:
            return "", []
        _, key, part = min(fits)
        return key, [target.replace("$1", part) for target in self.tables.aliases[key]]


def split_tag(user: str) -> tuple[str, str]:
    """User and tag; a + at the very start is no separator."""
    base, _, tag = user[1:].partition("+")
    return user[0] + base, tag


def draw_tables(draw: Draw, world: World, hard: bool) -> Tables:
    """A set of tables in which every rule decides something."""
    a, b, c = world.domains
    routes = {
        "partner.test": "mx.partner.test:25",
        ".partner.test": "sub.partner.test:25",
        ".lab.partner.test": "lab.partner.test:2525",
        ".test": "gate.test:26",
    }
    if draw.chance(50):
        routes["*"] = "smart.host.test:587"
    aliases = {
        "sam": ["sam", "pat"],
        f"sam@{b}": [f"ann@{a}"],
        "ann+news": ["lists@news.test"],
        f"ann+fax@{a}": ["fax@lab.partner.test"],
        "ann": [f"ann@{a}", f"pat+own@{a}"],
        "office": ["desk", "boss"],
        "desk": ["pat"],
        "boss": ["pat", "x@a.lab.partner.test"],
        "ring1": ["ring2"],
        "ring2": ["ring3", "pat"],
        "ring3": ["ring1"],
        f"@{a}": ["office", "+odd+x"],
        f"@{b}": ["nobody"],
        "ghost": ["ghost"],
        "all": ["office", "desk"],
        "lead": ["ring1", "office", f"Sam@{c}"],
        "info": [f"info@{b}", "info+web@partner.test"],
    }
    tables = Tables(
        [a, b],
        {c: a, "chain.test": c},
        aliases,
        [f"sam@{a}", f"pat@{a}", f"pat@{b}", f"ann@{a}", f"deep@{a}", f"+odd@{a}"],
        routes,
    )
    if hard:
        aliases |= {
            f"shop-*@{a}": ["pat+$1", "$1@partner.test"],
            f"shop-*-eu@{a}": ["$1@eu.lab.partner.test"],
            f"*-team@{a}": ["$1", f"$1@{b}"],
            f"shop-*-us@{b}": [":reject:"],
            "crowd": [":include:crowd", "boss"],
            "closed": [":reject:"],
            f"s*@{b}": ["pat"],
            f"*t@{b}": ["ann"],
        }
        tables.lists["crowd"] = ["sam", f"pat@{b}", "ring2", "out+k@partner.test"]
        aliases |= {f"d{n}": [f"d{n + 1}" if n < 12 else "deep"] for n in range(1, 13)}
    people = [f"user{n}" for n in range(12 if hard else 6)]
    for person in people:
        if draw.chance(70):
            key = draw.pick((person, f"{person}@{a}", f"{person}+x", f"{person}+x@{b}"))
            pool = [
                *people,
                "pat",
                "sam",
                f"ann@{b}",
                f"{person}@{c}",
                f"{person}+y@partner.test",
                "ring2",
                "m@far.away.test",
                "k@else.where",
            ]
            aliases[key] = draw.sample(pool, draw.between(1, 3))
        if draw.chance(50):
            tables.boxes.append(f"{person}@{draw.pick((a, b))}")
    return tables


def draw_addresses(draw: Draw, world: World, hard: bool) -> dict[str, list[str]]:
    """Addresses by test."""
    a, b, c = world.domains
    chosen = [f"user{draw.between(0, 11 if hard else 5)}" for _ in range(8)]
    some = [f"{person}@{draw.pick((a, b, c))}" for person in chosen]
    groups = {
        "aliases": [
            f"sam@{a}",
            f"Sam@{b.upper()}",
            f"ann@{b}",
            f" office@{a} ",
            f"missing@{a}",
            f"missing@{b}",
            f"pat@{a}",
            f"pat@{c}",
            "two@at@x",
            f"@{a}",
            "plain",
            f"in fo@{a}",
            f"info@{a}.",
            "x@chain.test",
            *some,
        ],
        "tags": [
            f"sam+t@{a}",
            f"ann+news@{a}",
            f"ann+fax@{a}",
            f"ann+fax@{b}",
            f"ann+z@{a}",
            f"info+q@{a}",
            f"pat+@{a}",
            f"+odd@{a}",
            f"+odd+k@{a}",
            f"pat+a+b@{a}",
            f"missing+t@{a}",
            "r+T@Partner.test",
            f"office+up@{c}",
            *(f"{person}+{draw.pick(('x', 'y', 'zz'))}@{draw.pick((a, b, c))}" for person in chosen),
        ],
        "loops": [
            f"ring1@{a}",
            f"ring3@{b}",
            f"lead@{a}",
            f"all@{b}",
            f"all@{a}",
            f"lead+k@{b}",
            f"ghost@{a}",
            f"office@{b}",
            f"sam@{c}",
            f"ring2+x@{c}",
        ],
        "routes": [
            "a@partner.test",
            "b@x.partner.test",
            "c@y.lab.partner.test",
            "d@lab.partner.test",
            "e@deep.y.lab.partner.test.",
            "f@other.test",
            "g@test",
            "h@else.where",
            "k@notpartner.test",
            f"l@sub.{a}",
        ],
    }
    if hard:
        groups["aliases"] += [
            f"shop-paris-eu@{a}",
            f"shop-rome@{a}",
            f"shop-@{a}",
            f"shop-x-us@{b}",
            f"sam-team@{a}",
            f"closed@{a}",
            f"crowd@{b}",
            f"set@{b}",
            f"shop-eu@{a}",
        ]
        groups["tags"] += [f"shop-oslo+v@{a}", f"crowd+w@{a}", f"closed+r@{a}"]
        groups["loops"] += [*(f"d{n}@{a}" for n in (1, 5, 6, 7, 8)), f"crowd@{a}"]
    return groups


def written(draw: Draw, tables: Tables, names: list[str]) -> dict[str, str]:
    """The table files."""
    domains = [*tables.local, *(f"{old} {new}" for old, new in tables.renamed.items())]
    aliases = [f"{key}: {', '.join(targets)}" for key, targets in tables.aliases.items()]
    routes = [f"{pattern} {hop}" for pattern, hop in tables.routes.items()]
    files = dict(zip(names, (domains, aliases, list(dict.fromkeys(tables.boxes)), routes), strict=True))
    texts = {
        name: "# kept by hand\n\n" + "".join(f"{line}\n" for line in draw.shuffled(lines))
        for name, lines in files.items()
    }
    return texts | {f"lists/{name}": "".join(f"{line}\n" for line in lines) for name, lines in tables.lists.items()}


def draft(draw: Draw) -> Draft:
    """One resolver."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    depth = draw.between(5, 7) if hard else 0
    names, (box, smtp, fail) = world.tables.split(), world.items.split()
    document = DOCUMENT.format(
        **dict(zip(("domains", "aliases", "mailboxes", "routes"), names, strict=True)),
        box=box,
        smtp=smtp,
        fail=fail,
        wild=WILD if hard else "",
        n=6 if hard else 5,
        m=7 if hard else 6,
        carry="2, 4 and 5" if hard else "2 and 4",
        more=MORE.format(depth=depth, fail=fail) if hard else "",
    )
    groups: list[dict[str, object]] = []
    for _ in range(2):
        tables = draw_tables(draw, world, hard)
        resolver = Resolver(tables, box, smtp, fail, depth, tuple(key for key in tables.aliases if "*" in key))
        addresses = draw_addresses(draw, world, hard)
        cases = {
            kind: [[address, resolver.line(address)] for address in draw.shuffled(some)]
            for kind, some in addresses.items()
        }
        groups.append({"tables": written(draw, tables, names), "cases": cases})
    own = written(draw, draw_tables(draw, world, hard), names)
    where = {"folder": world.folder, "program": world.program, "document": world.document}
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items()}
    fill = {"@P@": f"{world.folder}/{world.program}", "@T@": world.tables, "@I@": world.items, "@D@": str(depth or 99)}
    files = {world.document: document, **{f"tables/{name}": text for name, text in own.items()}}
    goals = ["test_aliases", "test_tags", "test_loops", "test_routes"]
    return Draft(
        title=f"Address resolver: {world.scenario}",
        setting=world,
        instruction=world.text.format(
            number=draw.between(100, 999),
            firm=draw.pick(FIRMS),
            persona=world.persona,
            rules="\n".join(rules.values()),
            **where,
        ),
        files=files,
        dockerfile=f"COPY . {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "program": f"{world.folder}/{world.program}",
            "groups": groups,
            "given": {
                f"{world.folder}/{name}": hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()
            },
        },
        discoverable=("program", "groups", "given"),
        tests=TESTS,
        weights={"test_aliases": 0.3, "test_tags": 0.25, "test_loops": 0.25, "test_routes": 0.2},
        guards=["test_given_files_untouched"],
        initial=INITIAL,
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {old: new, **fill}), caught)
            for name, why, old, new, caught in (
                (
                    "user_first",
                    "prefers the bare user",
                    '((f"{full}@{domain}", not tag), (name, True), (full, not tag), (base, True))',
                    '((full, not tag), (base, True), (f"{full}@{domain}", not tag), (name, True))',
                    goals[:1],
                ),
                (
                    "catch_all_first",
                    "lets the catch-all win over mailboxes",
                    "        if mailbox:\n            return mailbox\n",
                    "        if mailbox and '@' + domain not in aliases:\n            return mailbox\n",
                    goals[:1],
                ),
                ("tag_lost", "does not carry tags on", "if carry and tag and", "if False and", goals[1:2]),
                ("last_plus", "splits at the last plus", 'user.find("+", 1)\n', 'user.rfind("+")\n', goals[1:2]),
                (
                    "seen_is_loop",
                    "remembers names over all ways",
                    'result |= resolve(u + "@" + (d or domain), chain + [name])',
                    'chain.append(name)\n        result |= resolve(u + "@" + (d or domain), chain)',
                    goals[2:3],
                ),
                ("self_is_loop", "calls every repetition a loop", "if chain[-1] != name:", "if True:", goals[2:3]),
                ("first_suffix", "takes the shortest pattern", "max(fits, key=len)", "min(fits, key=len)", goals[3:]),
            )
        ],
        requirements=[
            (rules["start"], goals),
            (rules["rules"], goals),
            (rules["tables"], ["test_given_files_untouched"]),
        ],
        knobs={"wildcards": hard, "depth": depth, "table_sets": len(groups)},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="mail_routing",
    domain="system_administration",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("mail aliases", "routing tables", "specification", "loop detection"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="code",
)
