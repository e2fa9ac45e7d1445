"""Merging the accounts of two hosts by the rules of account_migration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

NOBODY = 65534


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
