"""Merge users and groups of two hosts: person or namesake, id collisions, reserved ranges, locks, file ownership."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRST_NAMES, LAST_NAMES

NOBODY = 65534


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    stays: str  # the host that keeps its ids
    leaves: str  # the host that is folded into it
    out: str  # folder of the result
    table: str  # ownership table
    ranges: str  # file of reserved ranges
    suffix: str  # put behind a renamed account
    archive: str  # account that inherits
    groups: tuple[str, str, str, str]
    wording: int
    bullet: str
    text: str


# fmt: off
SETTINGS = (
    World("radio_station", "broadcast engineer", "two studio servers become one", "email", "/srv/merge", "studio",
          "archive-box", "result", "owners.tsv", "reserved.txt", "-b", "vault", ("sound", "editors", "hosts",
          "interns"), 0, "\n- ", "Hi,\n\non Saturday {leaves} is switched off and its people move to {stays}. I "
          "exported the account files of both into {folder}: {stays}/ and {leaves}/ each hold passwd, group and "
          "shadow in the usual formats. {folder}/{table} lists the files that come along (path, uid, gid, with "
          "tabs). Please prepare the four files for the new {stays} in {folder}/{out}: passwd, group, shadow and "
          "{table}.\n{rules}\n\n{keep}\n\nThanks!\n"),
    World("hospital", "identity administrator", "ward server consolidation", "ticket", "/data/idm", "north", "south",
          "merged", "ownership.tab", "blocked.ranges", "2", "records", ("nurses", "surgery", "lab", "students"), 1,
          "\n * ", "IDM-{number}: consolidate accounts of {leaves} into {stays}\n\nSources (read only): "
          "{folder}/{stays}/ and {folder}/{leaves}/, passwd, group and shadow each. Also {folder}/{table}, which is "
          "a listing path, uid, gid of what is copied over from {leaves}.\nDeliver to {folder}/{out}/: passwd, "
          "group, shadow, {table}, same formats.\n\nDecisions of the change board:{rules}\n{keep}\n"),
    World("shipyard", "unix administrator", "shipyard file server merge", "note", "/opt/yard/accounts", "dock1",
          "dock2", "new", "files.lst", "keepout.txt", "_old", "keeper", ("welders", "drawing", "purchase", "visitors"),
          2, "\n- ", "dock2 goes away. {folder}/{stays} + {folder}/{leaves} (passwd, group, shadow) -> "
          "{folder}/{out} (passwd, group, shadow, {table}). {folder}/{table} = path, uid, gid of the {leaves} files, "
          "tab separated.{rules}\n{keep}\n"),
    World("institute", "research computing lead", "cluster login node merge", "specification", "/home/ops/union",
          "helios", "selene", "union", "paths.tsv", "ranges.conf", "-sel", "custodian", ("physics", "chem", "theory",
          "guests"), 0, "\n\n4.x ", "Account union of the login nodes {stays} and {leaves}\n\n1. Inputs: the "
          "directories {folder}/{stays} and {folder}/{leaves} with passwd, group and shadow; the ownership table "
          "{folder}/{table} of {leaves} whose tab separated columns are path, uid and gid.\n2. Output: the directory "
          "{folder}/{out} with the files passwd, group, shadow and {table} as {stays} shall have them.\n3. "
          "Conservation: {keep}\n4. Rules.{rules}\n"),
    World("agency", "freelance sysadmin", "advertising agency takeover", "chat", "/srv/takeover", "main", "bought",
          "joined", "tree.tsv", "nogo.txt", ".bt", "legacy", ("design", "copy", "clients", "pool"), 1, "\n> ",
          "so the agency bought a smaller one and i get to join the linux boxes, and you get to help :) exports: "
          "{folder}/{stays} (ours) and {folder}/{leaves} (theirs), each passwd/group/shadow. their files: "
          "{folder}/{table} (path TAB uid TAB gid). i need {folder}/{out} with passwd, group, shadow, {table}, ready "
          "to drop on our box{rules}\n\n{keep} ok?\n"),
    World("ministry", "security officer", "office server decommissioning", "runbook", "/var/lib/decom", "ra", "rb",
          "target", "inventory.tsv", "excluded.ids", "-rb", "registry", ("desk", "audit", "legal", "temps"), 2,
          "\nR: ", "Decommissioning runbook, annex {number} (accounts)\n\nPrecondition: exports of {stays} and "
          "{leaves} lie in {folder}/{stays} and {folder}/{leaves} (passwd, group, shadow), the inventory of "
          "transferred files in {folder}/{table} (path, uid, gid; tabs).\nPostcondition: {folder}/{out} contains "
          "passwd, group, shadow and {table} for {stays}.\nRules in force:{rules}\nAlso: {keep}\n"),
    World("brewery", "IT generalist", "brewery office move", "email", "/srv/hops", "malt", "yeast", "blend",
          "barrels.tsv", "taken.txt", "-y", "cellar", ("brewers", "bottling", "shop", "summer"), 0, "\n ~ ",
          "Good morning,\n\nthe small server {leaves} is broken beyond repair, and its disk will be hung into "
          "{stays}. That means its users have to exist there, too, and that the owners of its files have to be "
          "renumbered before anybody logs in. In {folder} you find what I could save: the folders {stays} and "
          "{leaves} (passwd, group, shadow of each) and {table}, one line per file with path, uid, gid between tabs. "
          "I expect a folder {folder}/{out} with a new passwd, group, shadow and "
          "{table}.{rules}\n\n{keep}\n\nCheers\n"),
    World("school", "school network teacher", "school server merge", "ticket", "/opt/school/move", "castle", "annex",
          "both", "listing.tsv", "forbidden.txt", "x", "janitor", ("maths", "music", "sports", "exchange"), 1,
          "\n + ", "Request {number}, school network: annex closes, one login for all\n\nWhat we have: "
          "{folder}/{stays}/ (stays), {folder}/{leaves}/ (closes), both with passwd, group, shadow, and "
          "{folder}/{table} of the closing host: path, uid, gid, tabs between.\nWhat we want: {folder}/{out}/ with "
          "passwd, group, shadow and {table}, so that {stays} can serve everybody.\nAgreed:{rules}\n\n{keep}\n"),
)
# fmt: on

# fmt: off
RULES: Mapping[str, tuple[str, str, str]] = {
    "base": (
        "Every line of {stays} stays as it is, in its order, apart from what is said below; lines for what is new "
        "follow in the order of the files of {leaves}.",
        "{stays} wins: its entries keep content and order except where a rule here says otherwise, and new entries "
        "are appended in the order in which {leaves} has them.",
        "Begin with the entries of {stays} unchanged and in order (exceptions below); append the new ones in the "
        "order of {leaves}."),
    "system": (
        "Accounts of {leaves} with a uid below 1000 are not carried over; they stand for the account of the same "
        "name on {stays}, and for uid 65534 where there is none.",
        "System accounts (uid under 1000) of {leaves} are never created: their files go to the {stays} account of "
        "that name or, without one, to 65534.",
        "uid < 1000 on {leaves}: no new account. Equivalent is the account with that name on {stays}, else 65534."),
    "same": (
        "An account of {leaves} whose name exists on {stays} is the same person if the comment field up to the first "
        "comma is equal, ignoring case: then the two become the account of {stays}.",
        "Equal login and equal real name (fifth field up to its first comma, upper or lower case not mattering) "
        "means one person, who goes on with the {stays} account.",
        "If login and real name (comment field before the first comma, case-insensitive) agree on both hosts, it is "
        "one person and the {stays} account is theirs."),
    "rename": (
        "If the real names differ it is a namesake, who gets the new name NAME{suffix} everywhere, including the "
        "last part of the home directory and the private group, which is the group named like the account.",
        "A different real name under the same login is someone else: that {leaves} account becomes NAME{suffix}, as "
        "do the last component of its home and the group that bears its name.",
        "Same login but another real name: call the {leaves} account NAME{suffix}, likewise its home's last "
        "component and its private group (the one with the account's name)."),
    "ids": (
        "A new account or group keeps its number if {stays} does not use it for the same kind (uid or gid) and it is "
        "not in a range of {folder}/{ranges}; otherwise it gets the lowest number from {start} up that is used for "
        "that kind on neither host, not reserved and not yet given out.",
        "Numbers: one that is free on {stays} (uids and gids seen separately) and outside the ranges in "
        "{folder}/{ranges} is kept. All others are replaced, in the order of the {leaves} file, by the smallest "
        "number >= {start} that no host had for this kind, no range covers and nobody has received before.",
        "Uids and gids are two separate number spaces. Keep the number of something new unless {stays} has it in use "
        "or {folder}/{ranges} covers it; in that case assign the next number counting from {start}, skipping the "
        "ones in use on {stays} or {leaves}, covered by a range, or assigned already."),
    "groups": (
        "Groups (after that renaming) of the same name are one group with the gid of {stays}: its members in order, "
        "then those only {leaves} has; members are listed under their new names, once, and accounts that do not "
        "exist in the result are left out.",
        "A group name known on {stays} means the same group, which keeps the {stays} gid and gains the {leaves} "
        "members behind its own, without duplicates; in every group taken from {leaves} members appear by new name, "
        "and whoever has no account afterwards does not.",
        "Join groups by name (renamed ones by their new name): gid of {stays}, its member list first, missing "
        "{leaves} members after it. Translate the {leaves} members to final names, drop repeated ones and those "
        "without an account in the result."),
    "sysgroups": (
        "A group of {leaves} with a gid below 1000 that {stays} does not have is dropped, its gid becoming 65534.",
        "Where a group under gid 1000 exists on {leaves} only, it is not created and 65534 takes the place of its gid.",
        "Groups with gid < 1000 that only {leaves} knows vanish; use 65534 for them."),
    "locked": (
        "Locked means a password field in shadow that begins with ! or *. An account (uid 1000 or above) that is "
        "locked on {leaves} is locked in the result: the field, in the shadow line that is kept, loses any leading ! "
        "and gets exactly one; if the account is new, its shell becomes /usr/sbin/nologin.",
        "Whoever has a uid from 1000 on and is locked on {leaves} (second shadow field starting with ! or *) must be "
        "locked afterwards, which is written as exactly one ! in front of the field of the surviving shadow line, "
        "whatever number of ! it had; a new account of this sort also has /usr/sbin/nologin as its shell.",
        "An account of {leaves} with a uid of at least 1000 whose shadow password starts with ! or * remains locked: "
        "in the final shadow line exactly one ! precedes the rest of the field. New ones get the shell "
        "/usr/sbin/nologin, too."),
    "expired": (
        "An account that would be new but whose expiry date (eighth field of shadow, days) is set and below {expiry} "
        "is not created, nor is its private group; their uid is replaced by that of the account {archive} and the "
        "gid of that private group by that of the group {archive}, both of {stays}.",
        "Not created are would-be new accounts with an expiry day (shadow, field 8) lower than {expiry}, together "
        "with the group of their name. Such a uid turns into the one of user {archive}, the gid of such a group into "
        "the one of group {archive} (both exist on {stays}).",
        "Leave out new accounts that expired (field 8 of shadow filled and < {expiry}) and their private groups; "
        "user {archive} of {stays} takes the place of their uids, group {archive} of {stays} that of the gids of "
        "those groups."),
    "separate": (
        "The groups named in {folder}/separate.txt only happen to share a name: the one of {leaves} becomes "
        "NAME{suffix}.",
        "{folder}/separate.txt has group names that mean different things on the two hosts; rename the {leaves} one "
        "to NAME{suffix}.",
        "For the names in {folder}/separate.txt the {leaves} group is another group and is called NAME{suffix} from "
        "now on."),
    "table": (
        "In the new {table} every line keeps its place and path, with uid and gid replaced by the ones their owners "
        "have on the new {stays}; numbers that {leaves} does not know become 65534.",
        "{table} keeps lines, order and paths; each uid and gid is translated to its counterpart in the result, and "
        "to 65534 if it belongs to nobody on {leaves}.",
        "Rewrite uid and gid in {table} (same lines, same paths) to the final numbers; an id without an entry on "
        "{leaves} becomes 65534."),
    "keep": (
        "The exported files themselves must stay as they are.",
        "do not change any of the source files,",
        "Sources stay untouched."),
}
# fmt: on

TESTS = """
import hashlib
from pathlib import Path

FOLDER = Path(TRUTH["folder"])


def lines(name):
    return (FOLDER / TRUTH["out"] / name).read_text().rstrip("\\n").split("\\n")


def same(name, expected):
    got = lines(name)
    assert len(got) == len(expected), name + ": number of lines"
    for number, (have, want) in enumerate(zip(got, expected), start=1):
        assert have == want, f"{name}: line {number} differs"


def test_passwd():
    same("passwd", TRUTH["passwd"])


def test_group():
    same("group", TRUTH["group"])


def test_shadow():
    same("shadow", TRUTH["shadow"])


def test_ownership():
    same(TRUTH["table"], TRUTH["owners"])


def test_sources_untouched():
    for name, digest in TRUTH["sources"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_exports_are_there():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["sources"])
    assert not (folder / TRUTH["out"]).exists()
"""

PYTHON = r"""cd @F@ && mkdir -p @O@ && python3 - <<'PY'
import os
A, B, SUFFIX, START = "@A@", "@B@", "@X@", @S@
def read(path):
    return [line.rstrip("\n").split(":") for line in open(path) if line.strip()]
pa, ga, sa = (read(A + "/" + n) for n in ("passwd", "group", "shadow"))
pb, gb, sb = (read(B + "/" + n) for n in ("passwd", "group", "shadow"))
ranges = []
for line in open("@R@"):
    line = line.split("#")[0].strip()
    if line:
        low, _, high = line.partition("-")
        ranges.append((int(low), int(high or low)))
separate = set(open("separate.txt").read().split()) if os.path.exists("separate.txt") else set()
reserved = lambda n: any(l <= n <= h for l, h in ranges)
user_a = {r[0]: r for r in pa}
group_a = {r[0]: r for r in ga}
shadow_a = {r[0]: r for r in sa}
shadow_b = {r[0]: r for r in sb}
class Ids:
    def __init__(self, a, b):
        self.a, self.used = set(a), set(a) | set(b)
    def give(self, n):
        if n not in self.a and not reserved(n):
            return n
        k = START
        while k in self.used or reserved(k):
            k += 1
        self.used.add(k)
        return k
uids = Ids([int(r[2]) for r in pa], [int(r[2]) for r in pb])
gids = Ids([int(r[2]) for r in ga], [int(r[2]) for r in gb])
real = lambda r: r[4].split(",")[0].lower()
final, uid_map, gone, fresh, locked = {}, {}, set(), [], set()
for r in pb:
    name, uid = r[0], int(r[2])
    if uid < 1000:
        final[name] = name if name in user_a else None
        uid_map[uid] = int(user_a[name][2]) if name in user_a else 65534
        continue
    entry = shadow_b[name]
    lock = entry[1][:1] in ("!", "*")
    if name in user_a and real(user_a[name]) == real(r):
        final[name], uid_map[uid] = name, int(user_a[name][2])
    elif entry[7] and int(entry[7]) < @E@:
        final[name] = None
        gone.add(name)
        uid_map[uid] = int(user_a["@V@"][2])
    else:
        new = name + SUFFIX if name in user_a else name
        final[name] = new
        uid_map[uid] = uids.give(uid)
        row, srow = list(r), list(entry)
        row[0] = srow[0] = new
        row[2] = str(uid_map[uid])
        if new != name:
            row[5] = row[5].rsplit("/", 1)[0] + "/" + new
        if lock:
            row[6] = "/usr/sbin/nologin"
        fresh.append(row)
        sa.append(srow)
        shadow_a[new] = srow
    if lock and final[name]:
        e = shadow_a[final[name]]
        e[1] = "!" + e[1].lstrip("!")
gid_map = {}
for r in gb:
    name, gid = r[0], int(r[2])
    members = [final.get(m) for m in r[3].split(",") if m]
    if name in gone:
        gid_map[gid] = int(group_a["@V@"][2])
        continue
    if gid < 1000 and name not in group_a:
        gid_map[gid] = 65534
        continue
    if name in final and final[name] and gid >= 1000:
        name = final[name]
    elif name in separate:
        name += SUFFIX
    if name not in group_a:
        row = [name, r[1], str(gids.give(gid)), ""]
        group_a[name] = row
        ga.append(row)
    row = group_a[name]
    have = [m for m in row[3].split(",") if m]
    for m in members:
        if m and m not in have:
            have.append(m)
    row[3] = ",".join(have)
    gid_map[gid] = int(row[2])
for row in fresh:
    row[3] = str(gid_map[int(row[3])])
for name, rows in (("passwd", pa + fresh), ("group", ga), ("shadow", sa)):
    with open("@O@/" + name, "w") as out:
        out.writelines(":".join(row) + "\n" for row in rows)
with open("@O@/@T@", "w") as out:
    for line in open("@T@"):
        path, u, g = line.rstrip("\n").split("\t")
        out.write(f"{path}\t{uid_map.get(int(u), 65534)}\t{gid_map.get(int(g), 65534)}\n")
PY
"""
PERL = r"""cd @F@ && mkdir -p @O@ && cat > /tmp/union.pl <<'PL'
use strict; my ($A, $B, $X, $S) = ("@A@", "@B@", "@X@", @S@);
sub slurp { open my $f, "<", shift or return (); my @l = <$f>; chomp @l; @l }
sub rows { map { [split /:/, $_, -1] } grep { length } slurp(shift) }
my %n; for my $h ($A, $B) { for my $k (qw(passwd group shadow)) { $n{$h}{$k} = [rows("$h/$k")] } }
my @r = map { s/#.*//; /(\d+)(?:-(\d+))?/ ? [$1, $2 || $1] : () } slurp("@R@");
my %sep = map { ($_ => 1) } slurp("separate.txt");
sub blocked { my $v = shift; for (@r) { return 1 if $v >= $_->[0] && $v <= $_->[1] } 0 }
my (%ina, %used); for my $k (qw(passwd group)) { $ina{$k}{$_->[2]} = 1 for @{$n{$A}{$k}};
  $used{$k}{$_->[2]} = 1 for @{$n{$A}{$k}}, @{$n{$B}{$k}} }
sub number { my ($k, $v) = @_; return $v unless $ina{$k}{$v} or blocked($v);
  my $c = $S; $c++ while $used{$k}{$c} or blocked($c); $used{$k}{$c} = 1; $c }
sub index_of { my %h = map { ($_->[0] => $_) } @{$n{$_[0]}{$_[1]}}; \%h }
my ($pa, $ga, $sa) = map { index_of($A, $_) } qw(passwd group shadow); my $sb = index_of($B, "shadow");
my (%final, %u, %g, %gone, @new);
for my $p (@{$n{$B}{passwd}}) { my ($name, $uid) = @$p[0, 2]; my $old = $pa->{$name};
  if ($uid < 1000) { $final{$name} = $name if $old; $u{$uid} = $old ? $old->[2] : 65534; next }
  my $s = $sb->{$name}; my $same = $old && lc((split /,/, $old->[4], -1)[0]) eq lc((split /,/, $p->[4], -1)[0]);
  if ($same) { $final{$name} = $name; $u{$uid} = $old->[2] }
  elsif ($s->[7] ne "" && $s->[7] < @E@) { $gone{$name} = 1; $u{$uid} = $pa->{"@V@"}[2]; next }
  else { my @p = @$p; my @s = @$s; $u{$uid} = $p[2] = number("passwd", $uid);
    if ($old) { $p[0] .= $X; $p[5] =~ s{[^/]*$}{$p[0]} }
    $s[0] = $final{$name} = $p[0]; $p[6] = "/usr/sbin/nologin" if $s->[1] =~ /^[!*]/;
    push @new, \@p; push @{$n{$A}{shadow}}, \@s; $sa->{$p[0]} = \@s }
  $sa->{$final{$name}}[1] =~ s/^!*/!/ if $s->[1] =~ /^[!*]/ }
for my $q (@{$n{$B}{group}}) { my ($name, $pw, $gid, $m) = @$q;
  if ($gone{$name}) { $g{$gid} = $ga->{"@V@"}[2]; next }
  if ($gid < 1000 and !$ga->{$name}) { $g{$gid} = 65534; next }
  if ($gid >= 1000) { if ($final{$name}) { $name = $final{$name} } elsif ($sep{$name}) { $name .= $X } }
  if (!$ga->{$name}) { $ga->{$name} = [$name, $pw, number("group", $gid), ""]; push @{$n{$A}{group}}, $ga->{$name} }
  my $row = $ga->{$name}; $g{$gid} = $row->[2]; my %seen; my @keep = split /,/, $row->[3];
  $row->[3] = join ",", grep { !$seen{$_}++ } @keep, map { $final{$_} // () } split /,/, $m }
$_->[3] = $g{$_->[3]} for @new; push @{$n{$A}{passwd}}, @new;
for my $k (qw(passwd group shadow)) { open my $f, ">", "@O@/$k"; print $f join(":", @$_), "\n" for @{$n{$A}{$k}} }
open my $f, ">", "@O@/@T@"; for (slurp("@T@")) { my ($p, $x, $y) = split /\t/;
  print $f join("\t", $p, $u{$x} // 65534, $g{$y} // 65534), "\n" }
PL
perl /tmp/union.pl; rm -f /tmp/union.pl
"""


@dataclass(frozen=True)
class User:
    """An account: the fields of passwd and shadow that matter."""

    name: str
    uid: int
    gid: int
    real: str
    home: str
    shell: str
    secret: str
    expires: str = ""

    def passwd(self) -> str:
        """Its line in passwd."""
        return f"{self.name}:x:{self.uid}:{self.gid}:{self.real}:{self.home}:{self.shell}"

    def shadow(self) -> str:
        """Its line in shadow."""
        return f"{self.name}:{self.secret}:19512:0:99999:7::{self.expires}:"

    @property
    def locked(self) -> bool:
        """Whether the password field says so."""
        return self.secret[0] in "!*"


@dataclass(frozen=True)
class Group:
    """A group."""

    name: str
    gid: int
    members: tuple[str, ...]

    def line(self) -> str:
        """Its line in group."""
        return f"{self.name}:x:{self.gid}:{','.join(self.members)}"


@dataclass(frozen=True)
class Host:
    """The accounts of a host."""

    users: Sequence[User]
    groups: Sequence[Group]


@dataclass(frozen=True)
class Terms:
    """What the rules leave open."""

    suffix: str
    start: int
    ranges: Sequence[tuple[int, int]]
    expiry: int
    archive: str
    separate: Sequence[str]


def merge(stays: Host, leaves: Host, terms: Terms) -> tuple[Host, dict[int, int], dict[int, int]]:
    """The merged host, and where the uids and gids of the other host went."""
    users = {user.name: user for user in stays.users}
    groups = {group.name: group for group in stays.groups}
    names: dict[str, str] = {}
    uids: dict[int, int] = {}
    gids: dict[int, int] = {}
    orphaned: set[str] = set()
    added: list[tuple[User, str]] = []
    fresh_uid = numbering({u.uid for u in stays.users}, {u.uid for u in leaves.users}, terms)
    for user in leaves.users:
        twin = users.get(user.name)
        if user.uid < 1000:
            uids[user.uid] = twin.uid if twin else NOBODY
            names |= {user.name: user.name} if twin else {}
        elif twin and twin.real.split(",")[0].lower() == user.real.split(",")[0].lower():
            uids[user.uid], names[user.name] = twin.uid, user.name
            if user.locked:
                users[user.name] = replace(twin, secret="!" + twin.secret.lstrip("!"))
        elif user.expires and int(user.expires) < terms.expiry:
            uids[user.uid] = users[terms.archive].uid
            orphaned.add(user.name)
        else:
            name = user.name + (terms.suffix if twin else "")
            uids[user.uid], names[user.name] = fresh_uid(user.uid), name
            home = user.home.rsplit("/", 1)[0] + "/" + name if twin else user.home
            new = replace(user, name=name, uid=uids[user.uid], home=home)
            if user.locked:
                new = replace(new, shell="/usr/sbin/nologin", secret="!" + user.secret.lstrip("!"))
            added.append((new, user.name))
    fresh_gid = numbering({g.gid for g in stays.groups}, {g.gid for g in leaves.groups}, terms)
    for group in leaves.groups:
        name = names.get(group.name, group.name + terms.suffix if group.name in terms.separate else group.name)
        if group.name in orphaned:
            gids[group.gid] = groups[terms.archive].gid
        elif name not in groups and group.gid < 1000:
            gids[group.gid] = NOBODY
        else:
            own = groups.get(name) or Group(name, fresh_gid(group.gid), ())
            moved = [names[member] for member in group.members if member in names]
            groups[name] = replace(own, members=tuple(dict.fromkeys([*own.members, *moved])))
            gids[group.gid] = own.gid
    merged = [*users.values(), *(replace(user, gid=gids[user.gid]) for user, _ in added)]
    return Host(merged, list(groups.values())), uids, gids


def numbering(first: set[int], second: set[int], terms: Terms) -> Callable[[int], int]:
    """A function that gives a new entry its number."""
    used = first | second

    def blocked(number: int) -> bool:
        return any(low <= number <= high for low, high in terms.ranges)

    def give(number: int) -> int:
        if number not in first and not blocked(number):
            return number
        found = next(n for n in range(terms.start, NOBODY) if n not in used and not blocked(n))
        used.add(found)
        return found

    return give


def draw_hosts(draw: Draw, world: World, terms: Terms, people: int) -> tuple[Host, Host]:
    """Two hosts in which every rule has something to decide."""
    first, last = draw.shuffled(FIRST_NAMES), draw.shuffled(LAST_NAMES)
    persons = [f"{first[n % len(first)]} {last[(n * 7 + n // 26) % len(last)]}" for n in range(people * 2 + 20)]
    logins: list[str] = []
    for person in persons:
        base = (person[0] + person.split()[1]).lower()
        logins.append(base if base not in logins else f"{base}{len(logins)}")

    def secret(kind: str = "") -> str:
        return kind + "$6$" + "".join(draw.pick("abcdefghkmnpqrstuvwxyz23456789") for _ in range(16))

    def user(number: int, uid: int, gid: int, lock: str = "", expires: str = "", real: str = "") -> User:
        name = logins[number]
        full = (real or persons[number]) + draw.pick(("", ",,,", f",Room {draw.between(1, 40)},,"))
        return User(name, uid, gid, full, f"/home/{name}", draw.pick(("/bin/bash", "/bin/sh")), secret(lock), expires)

    system = (("root", 0), ("daemon", 1), ("www-data", 33), ("backup", 34))
    common = [User(name, uid, uid, name, f"/var/{name}", "/usr/sbin/nologin", "*") for name, uid in system]
    vault = User(world.archive, 901, 901, world.archive, "/var/keep", "/usr/sbin/nologin", "*")
    start, half = terms.start, people // 2
    mine = [user(n, 1001 + n, 1001 + n) for n in range(people)]
    mine.append(user(people, start, start))  # the first free number is already taken here
    mine[2] = replace(mine[2], secret=secret("!!"))
    theirs: list[User] = []
    for number in range(half):  # logins that exist on both hosts: persons, namesakes
        kind = number % 3
        real = persons[number].upper() if kind == 1 else persons[number + people + 3] if kind == 2 else ""
        lock = draw.pick(("", "!", "!!")) if number > 3 else ("!", "", "!!", "")[number]
        uid = 1001 + half - 1 - number if number % 2 else 1201 + number  # chains: its number means another person here
        theirs.append(user(number, uid, uid, lock, "18000" if number % 4 == 0 else "", real))
    for number in range(people + 1, people + 1 + half):  # logins that only the other host has
        kind = number - people - 1
        uid = (
            (start + 1, terms.ranges[0][0] + 1, 1001 + half + 1, 1500)[kind]
            if kind < 4
            else draw.pick((1001, 1301, 3001)) + 40 + kind
        )
        taken = {u.uid for u in theirs}
        uid = uid if uid not in taken else 4000 + kind
        expires = ("", "", "", "", "18500", str(terms.expiry))[kind % 6]
        theirs.append(user(number, uid, uid, draw.pick(("", "", "!", "*")) if kind > 1 else ("*", "!")[kind], expires))
    theirs = draw.shuffled(theirs)
    a, b, c, d = world.groups
    folk, folk2 = [u.name for u in mine], [u.name for u in theirs]
    group_a = [Group(n, g, ()) for n, g in system] + [Group("sudo", 27, (folk[0],)), Group(world.archive, 901, ())]
    group_a += [Group(u.name, u.gid, ()) for u in mine]
    group_a += [Group(a, 1900, tuple(folk[:4])), Group(b, 1901, tuple(folk[3:6])), Group(c, 1902, (folk[1],))]
    spread = draw.sample(folk2, min(len(folk2), 7))
    group_b = [Group(n, g, ()) for n, g in system] + [
        Group("sudo", 27, (spread[0],)),
        Group("scanner", 118, (spread[1],)),
    ]
    group_b += [Group(u.name, u.gid, ()) for u in theirs]
    shared = tuple(dict.fromkeys([*folk[:3], *spread[:4], theirs[0].name]))  # logins of both hosts, then others
    group_b += [
        Group(a, 1902, tuple(m for m in shared if m in folk2)),
        Group(b, 1910, tuple(spread[3:])),
        Group(d, 1901, tuple(spread[:5])),
    ]
    theirs[1] = replace(theirs[1], gid=1901)
    games = User("games", 5, 118, "games", "/usr/games", "/usr/sbin/nologin", "*")
    return Host([*common, vault, *mine], group_a), Host(
        [*common, games, *theirs], [group_b[0], *draw.shuffled(group_b[1:])]
    )


def draw_table(draw: Draw, host: Host, count: int) -> list[tuple[str, int, int]]:
    """Files of the other host: everybody owns something, and some numbers belong to nobody."""
    owners = [(user.uid, user.gid) for user in host.users] + [(0, group.gid) for group in host.groups]
    owners += [(1777, 1777), (host.users[-1].uid, 1888)]
    owners += [(draw.pick(host.users).uid, draw.pick(host.groups).gid) for _ in range(count)]
    words = ("report", "plan", "draft", "scan", "minutes", "list", "photo", "mix")
    return [(f"/data/{draw.pick(words)}/{n:03d}.dat", u, g) for n, (u, g) in enumerate(draw.shuffled(owners))]


def exported(host: Host) -> dict[str, list[str]]:
    """The three files as lines."""
    return {
        "passwd": [user.passwd() for user in host.users],
        "group": [group.line() for group in host.groups],
        "shadow": [user.shadow() for user in host.users],
    }


def joined(lines: Iterable[str]) -> str:
    """A text file."""
    return "".join(f"{line}\n" for line in lines)


def draft(draw: Draw) -> Draft:
    """One merge."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    people, start = draw.by_difficulty(medium=12, hard=30), draw.pick((2000, 2100, 2500, 3000))
    ranges = [(1495, 1520), (start + 2, start + draw.between(3, 6)), (start + 9, start + 9)]
    separate = [world.groups[1]] if hard else []
    terms = Terms(world.suffix, start, ranges, draw.between(19700, 19800) if hard else 0, world.archive, separate)
    stays, leaves = draw_hosts(draw, world, terms, people)
    merged, uids, gids = merge(stays, leaves, terms)
    table = draw_table(draw, leaves, draw.by_difficulty(medium=20, hard=60))
    files = {
        f"{name}/{key}": joined(value)
        for name, host in ((world.stays, stays), (world.leaves, leaves))
        for key, value in exported(host).items()
    }
    files[world.table] = joined(f"{path}\t{uid}\t{gid}" for path, uid, gid in table)
    files[world.ranges] = "# no new ids here\n" + joined(
        f"{low}-{high}" if low < high else str(low) for low, high in ranges
    )
    if hard:
        files["separate.txt"] = joined(separate)
    words = {
        "stays": world.stays,
        "leaves": world.leaves,
        "folder": world.folder,
        "table": world.table,
        "out": world.out,
    }
    rules = {
        key: texts[world.wording].format(
            ranges=world.ranges, suffix=world.suffix, start=start, expiry=terms.expiry, archive=world.archive, **words
        )
        for key, texts in RULES.items()
        if hard or key not in ("expired", "separate")
    }
    keep = rules.pop("keep")
    rules_text = world.bullet + world.bullet.join(rules.values())
    fill = {
        "@F@": world.folder,
        "@A@": world.stays,
        "@B@": world.leaves,
        "@O@": world.out,
        "@T@": world.table,
        "@R@": world.ranges,
        "@X@": world.suffix,
        "@S@": str(start),
        "@E@": str(terms.expiry),
        "@V@": world.archive,
    }
    goals = ["test_passwd", "test_group", "test_shadow", "test_ownership"]
    checked = {
        "system": goals[3:],
        "groups": goals[1:],
        "sysgroups": goals[1:],
        "locked": [goals[0], goals[2]],
        "table": goals[3:],
        "separate": goals[1:],
    }
    truth = {
        "folder": world.folder,
        "out": world.out,
        "table": world.table,
        **exported(merged),
        "owners": [f"{path}\t{uids.get(uid, NOBODY)}\t{gids.get(gid, NOBODY)}" for path, uid, gid in table],
        "sources": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    return Draft(
        title=f"Merge accounts: {world.scenario}",
        setting=world,
        instruction=world.text.format(number=draw.between(100, 999), rules=rules_text, keep=keep, **words),
        files=files,
        dockerfile=f"COPY {' '.join(sorted({name.split('/')[0] for name in files if '/' not in name}))} "
        f"{world.folder}/\n"
        f"COPY {world.stays} {world.folder}/{world.stays}/\nCOPY {world.leaves} "
        f"{world.folder}/{world.leaves}/\nWORKDIR {world.folder}",
        truth=truth,
        discoverable=("folder", "out", "table", "passwd", "group", "shadow", "owners", "sources"),
        tests=TESTS,
        weights={"test_passwd": 0.3, "test_group": 0.25, "test_shadow": 0.2, "test_ownership": 0.25},
        guards=["test_sources_untouched"],
        initial=INITIAL,
        solution=filled(PYTHON, fill),
        alternatives=[filled(PERL, fill)],
        misses=[
            Miss(name, why, filled(PYTHON, {old: new, **fill}), caught)
            for name, why, old, new, caught in (
                ("name_is_person", "merges namesakes", "real(user_a[name]) == real(r)", "True", goals),
                ("case_matters", "compares real names exactly", "[0].lower()", "[0]", goals[:1]),
                (
                    "free_here_only",
                    "gives out numbers that the other host uses",
                    "set(a) | set(b)",
                    "set(a)",
                    [goals[0], goals[3]],
                ),
                (
                    "ranges_ignored",
                    "hands out reserved numbers",
                    "any(l <= n <= h for l, h in ranges)",
                    "False",
                    [goals[0]],
                ),
                (
                    "locks_lost",
                    "forgets who was locked",
                    'lock = entry[1][:1] in ("!", "*")',
                    "lock = False",
                    [goals[0], goals[2]],
                ),
                ("double_lock", "puts another ! in front", '.lstrip("!")', "", goals[2:3]),
                ("old_member_names", "lists members under old names", "final.get(m)", "m", goals[1:2]),
            )
        ],
        requirements=[
            *((text, checked.get(key, goals)) for key, text in rules.items()),
            (keep, ["test_sources_untouched"]),
        ],
        knobs={"people": people, "files": len(table), "ranges": len(ranges), "expired": hard, "separate": hard},
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The script with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="account_migration",
    domain="system_administration",
    verifier=Verifier.EXACT_TEXT,
    skills=("user management", "id mapping", "merging records", "colon-separated files"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="code",
)
