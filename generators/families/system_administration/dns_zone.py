"""Repair zones after a bad migration: final dots, alias at the apex, delegation and glue, reverse zone, serials."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier

Records = list[tuple[str, str, str]]  # owner and names absolute: (owner, type, data)


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    domain: str
    sub: str  # the delegated child
    provider: str  # a domain of others
    pattern: str  # file name of a zone
    inventory: str
    hosts: tuple[str, ...]
    wording: int
    bullet: str
    text: str


# fmt: off
SETTINGS = (
    World("print_shop", "network administrator", "zones of a print shop", "ticket", "/etc/zones", "inkwell.example",
          "press", "relay.test", "{}.zone", "machines.csv", ("plotter", "binder", "proof", "paper", "cutter"), 0,
          "\n- ", "NET-{number}: names broken since the import of {day}\n\nAn export script mangled our zones in "
          "{folder}: {forward} (parent), {child} (the delegated child) and {reverse} (addresses). Repair them in "
          "place, as valid zone files. {folder}/{inventory} is right: name below {domain}, address, aliases with "
          "spaces between.\n{rules}\n\n{keep}\n"),
    World("orchestra", "IT coordinator", "name server of an orchestra", "email", "/srv/dns", "philharmonic.example",
          "studio", "hoster.test", "db.{}", "hosts.csv", ("tuba", "oboe", "harp", "viola", "horn"), 1, "\n* ",
          "Dear colleague,\n\nour provider handed the zones back today, {day}, and they are a mess. You find them in "
          "{folder}: {forward}, its delegated part {child}, and {reverse}. What the hosts ought to be is in "
          "{folder}/{inventory} (columns: name relative to {domain}, address, blank separated aliases). Could you "
          "put the three files right, still in zone file format?{rules}\n\n{keep}\n\nMany thanks\n"),
    World("museum", "collections systems lead", "museum DNS audit", "specification", "/var/named/master",
          "fossils.example", "lab", "cloudfront.test", "master.{}", "inventory.csv", ("trilobite", "amber", "fern",
          "raptor", "shell"), 2, "\n\n* ", "Audit finding {number}: defects in the master files of {domain}, "
          "correction date {day}\n\nObject: the master files {forward}, {child} and {reverse} in {folder}. "
          "Reference: {folder}/{inventory}, whose columns hold the name (under {domain}), the address and the "
          "aliases (separated by blanks). After correction each master file is loadable and fulfils the "
          "following.{rules}\n\n{keep}\n"),
    World("farm", "agricultural IT contractor", "farm network names", "chat", "/opt/farm/dns", "greenacre.example",
          "barn", "sensors.test", "zone-{}.txt", "devices.csv", ("tractor", "silo", "milk", "gate", "drone"), 0,
          "\n> ", "names on the farm don't resolve today ({day}) and it's the zone files again, all in {folder}: "
          "{forward}, {child} for the barn, {reverse} for the numbers. please fix them where they are; "
          "{folder}/{inventory} has the devices (name under {domain}, address, aliases by spaces){rules}\n\n{keep}\n"),
    World("airline", "infrastructure engineer", "airline zone repair", "runbook", "/srv/bind/zones", "skyhop.example",
          "ops", "booking.test", "{}.db", "assets.csv", ("crew", "fuel", "slots", "cargo", "radar"), 1, "\nStep: ",
          "Zone repair, runbook {number}, change date {day}\n\nFiles (edit in place, keep the zone file format): "
          "{folder}/{forward}, {folder}/{child}, {folder}/{reverse}. Source of truth: {folder}/{inventory}; name "
          "(without {domain}), address, aliases (blank separated).{rules}\n\nOut of scope: {keep}\n"),
    World("bakery", "self-employed administrator", "bakery domain", "note", "/home/admin/zones", "sourdough.example",
          "stall", "payments.test", "{}.hosts", "boxes.csv", ("oven", "mixer", "till", "flour", "scale"), 2, "\n- ",
          "Broken: {forward}, {child}, {reverse} in {folder}. Today is {day}. Truth: {folder}/{inventory} = name "
          "(below {domain}), address, aliases (blanks). Wanted: correct zone files under the same "
          "names.{rules}\n{keep}\n"),
    World("city", "municipal network engineer", "city hall domain", "ticket", "/data/dns/primary", "rathaus.example",
          "trams", "govcloud.test", "pri.{}", "register.csv", ("permits", "taxes", "maps", "archive", "parks"), 0,
          "\n + ", "[city network] #{number} primary zones inconsistent, to be solved as of {day}\n\nThe secondary "
          "refuses our transfer. Cause are the primary zone files in {folder}: {forward}, the delegated {child}, and "
          "{reverse}. Correct these three files themselves. For hosts the register {folder}/{inventory} is binding; "
          "it gives name (to be completed by {domain}), address, and aliases divided by blanks.{rules}\n\n{keep}\n"),
    World("observatory", "observatory sysadmin", "observatory names", "email", "/opt/ns/data", "zenith.example",
          "dome", "skycam.test", "{}.master", "equipment.csv", ("mirror", "mount", "camera", "cooler", "clock"), 1,
          "\n ~ ", "Hi,\n\nafter last night's power cut somebody restored the zones from a spreadsheet. The result "
          "sits in {folder} ({forward}, {child}, {reverse}) and half of it is wrong. Please correct these files as "
          "of {day}; the list of equipment in {folder}/{inventory} is reliable: first the name under {domain}, then "
          "its address, then aliases, if any, with blanks between.\n{rules}\n\n{keep}\n\nClear nights!\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "dots": (
        "A name written without final dot that ends in {domain} or {provider} was meant to be complete, wherever it "
        "stands.",
        "In many places a complete name lost its last dot: everything that ends in {domain} or {provider} as written "
        "is meant absolute.",
        "Names which, as written, end with {domain} or {provider} are fully qualified, even where the final dot is "
        "missing."),
    "hosts": (
        "The addresses (A) are those of {inventory}, each in the zone that is responsible for the name; hosts it "
        "does not list disappear. Other types (MX, TXT, NS of {domain} and of the child) are right but for the dots.",
        "Every host of {inventory} has its A record in the proper zone, no other host has one. MX, TXT and the NS "
        "records at the top of the two zones are correct apart from lost dots.",
        "A records: exactly the hosts in {inventory}, in whichever zone the name belongs to. Beyond the dots nothing "
        "is wrong with MX and TXT records or with the NS records at the top of each zone."),
    "aliases": (
        "The aliases of {inventory}, relative to {domain} like its names, are CNAME records to their host, and there "
        "are no other CNAMEs to names inside {domain}; those to names outside stay.",
        "An alias in {inventory} (relative to {domain}, too) is a CNAME that points to its host. CNAMEs with a "
        "target outside {domain} remain, any other CNAME goes.",
        "Each alias given by {inventory}, relative to {domain} as its names are, becomes a CNAME for that host; of "
        "the existing CNAMEs only those leaving {domain} are retained."),
    "apex": (
        "Where a CNAME is impossible, at the top of a zone (alias @ means {domain} itself) or beside other records "
        "of the same name, the alias gets an A record with the address of its host instead.",
        "An alias that may not be a CNAME, since it is the top of the zone (@ stands for {domain}) or its name has "
        "other records as well, is written as an A record with its host's address.",
        "If a CNAME would collide with other records of its name, which it always does at the top of the zone "
        "({domain}, written @), write an A record holding the host's address."),
    "delegation": (
        "The parent delegates {sub}.{domain} to exactly the name servers that the child itself names, with A records "
        "(glue) for those inside the child, and holds nothing else at or below {sub}.{domain}.",
        "In the parent, {sub}.{domain} has the NS records of the child's own top, glue addresses for the servers "
        "that lie in the child, and that is all the parent says about it.",
        "NS records for {sub}.{domain} in the parent repeat those of the child; servers named inside the child have "
        "their address there as glue, and no further record of the child is in the parent."),
    "reverse": (
        "The reverse zone has one PTR for every line of {inventory}, to the full name of the host, and no others.",
        "For each address in {inventory}, and only for these, the reverse zone holds a single PTR that gives the "
        "host's full name.",
        "PTR records: one per host of {inventory}, pointing to its full name; all others are removed."),
    "serial": (
        "Each of the three zones gets the serial {stamp}01, or its old serial plus one if that is not lower than "
        "{stamp}01.",
        "Set all three serials to {stamp}01; a zone whose serial is already as high or higher counts up by one "
        "instead.",
        "New serial of the three: {stamp}01, but old serial + 1 where {stamp}01 would not be an increase."),
    "keep": (
        "{inventory} and the zone {parked} are fine and must stay untouched.",
        "please leave {inventory} and {parked} alone.",
        "No change to {inventory} nor to {parked}."),
}
# fmt: on

TESTS = """
import hashlib
import re
from pathlib import Path

FOLDER = Path(TRUTH["folder"])
TYPES = {"SOA", "NS", "A", "MX", "TXT", "CNAME", "PTR", "AAAA", "SRV"}
NAMED = {"NS": [0], "CNAME": [0], "PTR": [0], "MX": [1], "SOA": [0, 1]}


def absolute(name, origin):
    name = origin if name == "@" else name if name.endswith(".") else name + "." + origin
    return name.lower()


def parse(zone):
    # a zone file as (owner, type, data) with absolute names
    origin, owner, records, depth, row = zone, zone, [], 0, []
    for line in (FOLDER / TRUTH["files"][zone]).read_text().splitlines():
        tokens = re.findall(r'"[^"]*"|[()]|;.*|[^\\s();"]+', line)
        if not depth:
            row = [] if line[:1] not in (" ", "\\t") else [None]
        for token in tokens:
            if token.startswith(";"):
                break
            depth += {"(": 1, ")": -1}.get(token, 0)
            if token not in "()":
                row.append(token)
        if depth or not [token for token in row if token]:
            continue
        if row[0] and row[0].upper() == "$ORIGIN":
            origin = absolute(row[1], origin)
        if row[0] and row[0].startswith("$"):
            continue
        owner = owner if row[0] is None else absolute(row[0], origin)
        rest = row[1:]
        while rest and rest[0].upper() not in TYPES:
            assert rest[0].upper() == "IN" or re.fullmatch(r"(\\d+[smhdwSMHDW]?)+", rest[0]), "cannot read: " + line
            rest = rest[1:]
        kind, data = rest[0].upper(), rest[1:]
        for place in NAMED.get(kind, []):
            data[place] = absolute(data[place], origin)
        records.append((owner, kind, " ".join(data)))
    return records


def zones():
    return {zone: parse(zone) for zone in TRUTH["files"]}


def ask(data, name, kind, hops=0):
    # a resolver that knows these zones alone
    within = [zone for zone in data if name == zone or name.endswith("." + zone)]
    if not within or hops > 8:
        return []
    zone = max(within, key=len)
    here = [(t, d) for owner, t, d in data[zone] if owner == name]
    alias = [d for t, d in here if t == "CNAME"]
    if alias:
        assert len(here) == 1, "CNAME beside other records: " + name
        return alias if kind == "CNAME" else ask(data, alias[0], kind, hops + 1)
    return sorted({d for t, d in here if t == kind})


def test_answers():
    data = zones()
    for name, kind, expected in TRUTH["queries"]:
        assert ask(data, name, kind) == expected, f"{name} {kind}"
    for zone in data:
        assert sum(kind == "SOA" for _, kind, _ in data[zone]) == 1


def test_delegation():
    sub = TRUTH["child"]
    got = {record for record in parse(TRUTH["parent"]) if record[0] == sub or record[0].endswith("." + sub)}
    assert got == {tuple(record) for record in TRUTH["delegation"]}


def test_reverse():
    got = sorted((owner, data) for owner, kind, data in parse(TRUTH["reverse"]) if kind == "PTR")
    assert got == sorted(tuple(pair) for pair in TRUTH["pointers"])


def test_serials():
    for zone, serial in TRUTH["serials"].items():
        got = [data.split()[2] for _, kind, data in parse(zone) if kind == "SOA"]
        assert got == [str(serial)], zone


def test_rest_untouched():
    for name, digest in TRUTH["kept"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_zones_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in [*TRUTH["files"].values(), *TRUTH["kept"]])
"""

PYTHON = r"""cd @F@ && python3 - <<'PY'
import csv, re
D, SUB, P, R = "@D@.", "@U@.@D@.", "@P@.", "@R@"
FILES = {D: "@FD@", SUB: "@FS@", R: "@FR@"}
NAMED = {"NS": [0], "CNAME": [0], "PTR": [0], "MX": [1], "SOA": [0, 1]}
def full(name, origin):
    if name == "@":
        return origin
    if not name.endswith("."):
        for known in (D, P):
            if name == known[:-1] or name.endswith("." + known[:-1]):
                return name + "."
        name += "." + origin
    return name
def parse(zone):
    text = re.sub(r";[^\n]*", "", open(FILES[zone]).read())
    text = re.sub(r"\(([^)]*)\)", lambda m: " ".join(m[1].split()), text)
    origin = owner = zone
    out = []
    for line in text.split("\n"):
        words = re.findall(r'"[^"]*"|\S+', line)
        if not words:
            continue
        if words[0] == "$ORIGIN":
            origin = full(words[1], origin)
        if words[0][0] == "$":
            continue
        if not line[0].isspace():
            owner = full(words.pop(0), origin)
        while words[0] == "IN" or words[0].isdigit():
            words.pop(0)
        kind, data = words[0], words[1:]
        for i in NAMED.get(kind, []):
            data[i] = full(data[i], origin)
        out.append((owner, kind, data))
    return out
zones = {z: parse(z) for z in FILES}
hosts, aliases = {}, {}
for row in csv.DictReader(open("@I@")):
    name, address, more = row.values()
    hosts[name + "." + D] = address
    for a in more.split():
        aliases[D if a == "@" else a + "." + D] = name + "." + D
inside = lambda n, z: n == z or n.endswith("." + z)
zone_of = lambda n: SUB if inside(n, SUB) else D
for z in (D, SUB):
    kept = [r for r in zones[z] if r[1] in ("SOA", "MX", "TXT") or r[1] == "NS" and r[0] == z
            or r[1] == "CNAME" and not inside(r[2][0], D)]
    if z == D:
        kept = [r for r in kept if not inside(r[0], SUB)]
    kept += [(h, "A", [a]) for h, a in hosts.items() if zone_of(h) == z]
    for a, h in aliases.items():
        if zone_of(a) == z:
            busy = any(r[0] == a for r in kept)
            kept.append((a, "A", [hosts[h]]) if busy else (a, "CNAME", [h]))
    zones[z] = kept
servers = [r[2][0] for r in zones[SUB] if r[1] == "NS"]
zones[D] += [(SUB, "NS", [s]) for s in servers]
zones[D] += [(s, "A", [hosts[s]]) for s in servers if inside(s, SUB)]
keep = [r for r in zones[R] if r[1] != "PTR"]
zones[R] = keep + [(a.split(".")[3] + "." + R, "PTR", [h]) for h, a in hosts.items()]
for z, records in zones.items():
    with open(FILES[z], "w") as out:
        out.write("$TTL 3600\n")
        for owner, kind, data in records:
            if kind == "SOA":
                data[2] = str(max(int("@S@01"), int(data[2]) + 1))
            out.write(f"{owner} IN {kind} {' '.join(data)}\n")
PY
"""
PERL = r"""cd @F@ && cat > /tmp/mend.pl <<'PL'
use strict; my ($D, $U, $P, $R) = ("@D@.", "@U@.@D@.", "@P@.", "@R@"); my %file = ($D, "@FD@", $U, "@FS@", $R, "@FR@");
sub full { my ($n, $o) = @_; return $o if $n eq "@"; return $n if $n =~ /\.$/;
  return "$n." if "$n." =~ /(^|\.)(\Q$D\E|\Q$P\E)$/; "$n.$o" }
my (%soa, %rec);
for my $z (keys %file) { local $/; open my $f, "<", $file{$z}; my $t = <$f>; $t =~ s/;.*//g;
  $t =~ s/\(([^)]*)\)/join " ", split " ", $1/ge; my ($o, $own) = ($z, $z);
  for (split /\n/, $t) { next unless /\S/; if (/^\$ORIGIN\s+(\S+)/) { $o = full($1, $o); next } next if /^\$/;
    my $new = s/^(\S+)// ? full($1, $o) : undef; $own = $new if defined $new; s/^\s*((IN|\d+)\s+)*//;
    my ($k, @d) = /("[^"]*"|\S+)/g; my %at = (NS => [0], CNAME => [0], PTR => [0], MX => [1], SOA => [0, 1]);
    $d[$_] = full($d[$_], $o) for @{$at{$k} || []};
    if ($k eq "SOA") { my $s = $d[2] + 1; $s = @S@01 if $s < @S@01; $d[2] = $s; $soa{$z} = "$own IN SOA @d\n" }
    else { push @{$rec{$z}}, [$own, $k, "@d"] } } }
my (%ip, %alias); open my $f, "<", "@I@"; <$f>; while (<$f>) { chomp; s/\r//; my ($n, $a, $more) = split /,/;
  $ip{"$n.$D"} = $a; $alias{$_ eq "@" ? $D : "$_.$D"} = "$n.$D" for split " ", $more // "" }
sub home { $_[0] =~ /(^|\.)\Q$U\E$/ ? $U : $D }
my %out;
for my $z ($D, $U) { my %busy; for (@{$rec{$z}}) { my ($o, $k, $d) = @$_; next if home($o) ne $z;
    next unless $k =~ /^(MX|TXT)$/ or $k eq "NS" && $o eq $z or $k eq "CNAME" && $d !~ /(^|\.)\Q$D\E$/;
    $busy{$o} = 1; $out{$z} .= "$o IN $k $d\n"; $out{$D} .= "$o IN NS $d\n" if $z eq $U and $k eq "NS";
    $out{$D} .= "$d IN A $ip{$d}\n" if $z eq $U and $k eq "NS" and home($d) eq $U }
  $busy{$z} = 1; for (sort keys %alias) { next if home($_) ne $z;
    $out{$z} .= $busy{$_} ? "$_ IN A $ip{$alias{$_}}\n" : "$_ IN CNAME $alias{$_}\n" } }
for (sort keys %ip) { $out{home($_)} .= "$_ IN A $ip{$_}\n"; $ip{$_} =~ /(\d+)$/; $out{$R} .= "$1.$R IN PTR $_\n" }
for (@{$rec{$R}}) { my ($o, $k, $d) = @$_; $out{$R} .= "$o IN $k $d\n" if $k ne "PTR" }
for my $z (keys %file) { open my $f, ">", $file{$z}; print $f "\$TTL 3600\n$soa{$z}$out{$z}" }
PL
perl /tmp/mend.pl; rm -f /tmp/mend.pl
"""


@dataclass(frozen=True)
class Plan:
    """What is true: hosts with addresses, aliases, and the records that are right anyway."""

    hosts: Mapping[str, str]  # relative names
    aliases: Mapping[str, str]
    fixed: Records  # NS, MX, TXT and foreign CNAMEs of parent and child


def draw_plan(draw: Draw, world: World, network: str, extra: int) -> Plan:
    """Hosts and aliases with every trap."""
    domain, sub, provider = f"{world.domain}.", world.sub, f"{world.provider}."
    names = ["ns1", "mail", "web", *world.hosts, f"ns1.{sub}", f"{world.hosts[0]}.{sub}", f"{world.hosts[1]}.{sub}"]
    names += [f"{draw.pick(world.hosts)}{n}" + (f".{sub}" if draw.chance(30) else "") for n in range(10, 10 + extra)]
    numbers = draw.sample(range(2, 250), len(names))
    hosts = {name: f"{network}.{number}" for name, number in zip(names, numbers, strict=True)}
    aliases = {
        "@": "web",
        "www": "web",
        "smtp": "mail",
        "status": world.hosts[2],
        f"wiki.{sub}": f"{world.hosts[0]}.{sub}",
        "intranet": f"{world.hosts[1]}.{sub}",
    }
    aliases |= {f"alias{n}": draw.pick(names) for n in range(extra // 3)}
    fixed = [
        (domain, "NS", f"ns1.{domain}"),
        (domain, "NS", f"ns.{provider}"),
        (domain, "MX", f"10 mail.{domain}"),
        (domain, "MX", f"20 mx.{provider}"),
        (domain, "TXT", f'"v=spf1 mx ip4:{network}.0/24 -all"'),
        (f"status.{domain}", "TXT", f'"owner={world.hosts[3]}; floor {draw.between(1, 9)}"'.replace(";", ",")),
        (f"shop.{domain}", "CNAME", f"{world.hosts[4]}.{provider}"),
        (f"{sub}.{domain}", "NS", f"ns1.{sub}.{domain}"),
        (f"{sub}.{domain}", "NS", f"ns1.{domain}"),
        (f"{sub}.{domain}", "MX", f"5 mail.{domain}"),
    ]
    return Plan(hosts, aliases, fixed)


def correct(plan: Plan, domain: str, child: str) -> dict[str, Records]:
    """The records of parent and child as they have to be, without SOA."""

    def home(name: str) -> str:
        return child if name == child or name.endswith("." + child) else domain

    def whole(name: str) -> str:
        return domain if name == "@" else f"{name}.{domain}"

    zones: dict[str, Records] = {domain: [], child: []}
    for record in plan.fixed:
        zones[home(record[0])].append(record)
    busy = {owner for owner, _, _ in plan.fixed}
    for name, address in plan.hosts.items():
        zones[home(whole(name))].append((whole(name), "A", address))
    for name, host in plan.aliases.items():
        alias = (whole(name), "A", plan.hosts[host]) if whole(name) in busy else (whole(name), "CNAME", whole(host))
        zones[home(whole(name))].append(alias)
    zones[domain] += delegation(plan, domain, child)
    return zones


def delegation(plan: Plan, domain: str, child: str) -> Records:
    """What the parent has to say about the child."""
    servers = [data for owner, kind, data in plan.fixed if owner == child and kind == "NS"]
    glue = [(s, "A", plan.hosts[s.removesuffix("." + domain)]) for s in servers if s.endswith("." + child)]
    return [*((child, "NS", server) for server in servers), *glue]


def soa(zone: str, server: str, serial: int) -> list[str]:
    """Head of a zone file."""
    return [
        "; exported, please check",
        "$TTL 3600",
        f"@ IN SOA {server} hostmaster.{server.split('.', 1)[1]} (",
        f"    {serial} ; serial",
        "    7200 900",
        "    1209600 ; expire",
        f"    300 ) ; {zone}",
    ]


def broken(draw: Draw, plan: Plan, world: World, network: str, serials: Mapping[str, int]) -> dict[str, str]:
    """The three files with the faults."""
    domain, child = f"{world.domain}.", f"{world.sub}.{world.domain}."
    zones = correct(plan, domain, child)
    reverse = ".".join(reversed(network.split("."))) + ".in-addr.arpa."
    lost = {
        f"mail.{domain}": 1,
        f"mx.{world.provider}.": 1,
        f"ns.{world.provider}.": 1,
        f"ns1.{domain}": 1,
    }  # targets that lose their dot
    texts: dict[str, str] = {}
    for zone in (domain, child):
        lines = soa(zone, f"ns1.{zone}", serials[zone])
        top = [r for r in zones[zone] if r[0] == zone and r[1] != "A"]
        rest = [r for r in zones[zone] if r[0] != zone and not (zone == domain and r[0].endswith(child))]
        for _, kind, data in top:
            name = data.rsplit(" ", 1)[-1]
            lines.append(f"    IN {kind} {data[:-1] if name in lost else data}")
        if zone == domain:
            lines.append("@ IN CNAME www ; front page")
        for number, (owner, kind, data) in enumerate(draw.shuffled(rest)):
            label = owner.removesuffix("." + zone)
            if number == 1:  # a stale host and a wrong alias
                lines += [f"old{world.hosts[0]} IN A {network}.251", f"gone 600 IN CNAME {world.hosts[0]}"]
            if kind == "A" and number % 4 == 2:
                data = f"{network}.{draw.between(252, 254)}"  # not what the inventory says
            if kind == "CNAME" and owner.startswith("smtp."):
                data = world.hosts[0]
            if owner.startswith("status.") and kind == "A":
                kind, data = "CNAME", world.hosts[2]  # beside a TXT record
            if kind in ("A", "TXT") and number % 5 == 3:
                label = owner[:-1]  # owner without its dot
            if kind == "CNAME" and data.endswith(domain) and number % 2:
                data = data[:-1]
            if kind == "CNAME" and data.endswith(f".{world.provider}."):
                data = data[:-1]
            if not (kind == "A" and number % 7 == 6):  # some are missing altogether
                lines.append(f"{label}\t{'3600 ' if number % 3 == 0 else ''}IN {kind}\t{data}")
        if zone == domain:
            lines += [
                f"$ORIGIN {child[:-1]}",
                f"@ IN NS ns1.{child}",
                f"  IN NS ns9.{child} ; retired",
                f"ns1 IN A {network}.253",
                f"ns9 IN A {network}.254",
                f"{world.hosts[0]} IN A {network}.252",
            ]
        texts[zone] = "\n".join(lines) + "\n"
    lines = [*soa(reverse, f"ns1.{domain}", serials[reverse]), f"@ IN NS ns1.{domain}"]
    for number, (name, address) in enumerate(plan.hosts.items()):
        last = address.rsplit(".", 1)[1]
        target = f"{name}.{domain}"
        if number % 6 == 0:
            target = target[:-1]
        if number % 6 == 4:
            target = f"old{name}.{domain}"
        if number % 6 != 5:
            lines.append(f"{last} IN PTR {target}")
    texts[reverse] = (
        "\n".join([*lines, f"251 IN PTR old{world.hosts[0]}.{domain}", f"1 IN PTR gateway.{domain}"]) + "\n"
    )
    return texts


def queries(draw: Draw, zones: Mapping[str, Records], domain: str) -> list[list[object]]:
    """The corpus: every name with several types, and names that must not exist."""
    records = [record for zone in zones.values() for record in zone]

    def answer(name: str, kind: str, zone: str) -> list[str]:
        here = [(k, d) for o, k, d in zones[zone] if o == name]
        alias = [d for k, d in here if k == "CNAME"]
        if alias and kind != "CNAME":
            inner = [z for z in zones if alias[0] == z or alias[0].endswith("." + z)]
            return answer(alias[0], kind, max(inner, key=len)) if inner else []
        return sorted({d for k, d in here if k == kind})

    asked: list[tuple[str, str, str]] = []
    for name in dict.fromkeys(owner for owner, _, _ in records):
        zone = max((z for z in zones if name == z or name.endswith("." + z)), key=len)
        kinds = ["A", "CNAME", *(("NS", "MX", "TXT") if name in zones else draw.sample(["TXT", "MX"], 1))]
        asked += [(name, kind, zone) for kind in kinds]
    result: list[list[object]] = [[name, kind, answer(name, kind, zone)] for name, kind, zone in asked]
    for owner, _, _ in draw.sample(records, 6):
        result.append([f"{owner}{domain}", "A", []])
    return result


def draft(draw: Draw) -> Draft:
    """One repair."""
    world = draw.setting(SETTINGS)
    network = f"10.{draw.between(1, 250)}.{draw.between(1, 250)}"
    domain, child = f"{world.domain}.", f"{world.sub}.{world.domain}."
    reverse = ".".join(reversed(network.split("."))) + ".in-addr.arpa."
    plan = draw_plan(draw, world, network, draw.by_difficulty(medium=6, hard=40))
    year, month, day = 2024, draw.between(3, 12), draw.between(1, 28)
    stamp = f"{year}{month:02d}{day:02d}"
    old = {
        domain: int(f"2023{draw.between(10, 12)}0{draw.between(1, 9)}07"),
        child: int(f"{stamp}0{draw.between(1, 6)}"),
        reverse: int(f"2042{month:02d}{day:02d}{draw.between(10, 40)}"),
    }
    names = {zone: world.pattern.format(zone[:-1]) for zone in (domain, child, reverse)}
    files = {names[zone]: text for zone, text in broken(draw, plan, world, network, old).items()}
    parked = world.pattern.format(f"parked-{world.domain}")
    aliases: dict[str, list[str]] = {}
    for alias, host in plan.aliases.items():
        aliases.setdefault(host, []).append(alias)
    kept = {
        world.inventory: "name,address,aliases\n"
        + "".join(
            f"{name},{address},{' '.join(aliases.get(name, []))}\n"
            for name, address in draw.shuffled(list(plan.hosts.items()))
        ),
        parked: "\n".join([*soa("parked", f"ns1.{domain}", 2019010101), f"  IN NS ns1.{domain}"]) + "\n",
    }
    zones = correct(plan, domain, child)
    where = {
        "folder": world.folder,
        "domain": world.domain,
        "sub": world.sub,
        "provider": world.provider,
        "inventory": world.inventory,
        "parked": parked,
        "forward": names[domain],
        "child": names[child],
        "reverse": names[reverse],
        "stamp": stamp,
        "day": f"{year}-{month:02d}-{day:02d}",
    }
    rules = {key: texts[world.wording].format(**where) for key, texts in RULES.items()}
    keep = rules.pop("keep")
    instruction = world.text.format(
        number=draw.between(100, 999), rules=world.bullet + world.bullet.join(rules.values()), keep=keep, **where
    )
    fill = {
        "@FD@": names[domain],
        "@FS@": names[child],
        "@FR@": names[reverse],
        "@F@": world.folder,
        "@D@": world.domain,
        "@U@": world.sub,
        "@P@": world.provider,
        "@R@": reverse,
        "@I@": world.inventory,
        "@S@": stamp,
    }
    goals = ["test_answers", "test_delegation", "test_reverse", "test_serials"]
    return Draft(
        title=f"Repair the zones: {world.scenario}",
        setting=world,
        instruction=instruction,
        files={**files, **kept},
        dockerfile=f"COPY . {world.folder}/\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "files": names,
            "parent": domain,
            "child": child,
            "reverse": reverse,
            "queries": queries(draw, zones, domain),
            "delegation": [list(record) for record in delegation(plan, domain, child)],
            "pointers": [[f"{a.rsplit('.', 1)[1]}.{reverse}", f"{name}.{domain}"] for name, a in plan.hosts.items()],
            "serials": {zone: max(int(stamp + "01"), serial + 1) for zone, serial in old.items()},
            "kept": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in kept.items()},
        },
        discoverable=("folder", "files", "parent", "child", "reverse", "queries", "delegation", "pointers", "kept"),
        tests=TESTS,
        weights={"test_answers": 0.5, "test_delegation": 0.2, "test_reverse": 0.2, "test_serials": 0.1},
        guards=["test_rest_untouched"],
        initial=INITIAL,
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {before: after, **fill}), caught)
            for name, why, before, after, caught in (
                (
                    "own_dots_only",
                    "forgets names of the provider",
                    "for known in (D, P)",
                    "for known in (D,)",
                    goals[:1],
                ),
                (
                    "apex_alias_dropped",
                    "removes the alias at the top",
                    "if zone_of(a) == z:",
                    "if zone_of(a) == z and a != D:",
                    goals[:1],
                ),
                (
                    "alias_beside_text",
                    "keeps a CNAME beside other records",
                    "busy = any(r[0] == a for r in kept)",
                    "busy = a == D",
                    goals[:1],
                ),
                (
                    "serial_of_today",
                    "sets the date everywhere",
                    'max(int("@S@01"), int(data[2]) + 1)',
                    '"@S@01"',
                    goals[3:],
                ),
                ("stale_pointers", "only adds pointers", 'if r[1] != "PTR"]', "]", goals[2:3]),
                ("no_glue", "forgets the glue", "for s in servers if inside(s, SUB)]", "for s in []]", goals[1:2]),
            )
        ],
        requirements=[
            *(
                (text, {"delegation": goals[1:2], "reverse": goals[2:3], "serial": goals[3:]}.get(key, goals[:1]))
                for key, text in rules.items()
            ),
            (keep, ["test_rest_untouched"]),
        ],
        knobs={"hosts": len(plan.hosts), "aliases": len(plan.aliases)},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="dns_zone",
    domain="system_administration",
    verifier=Verifier.ADVERSARIAL_CORPUS,
    skills=("dns", "zone files", "delegation", "reverse lookup"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="code",
)
