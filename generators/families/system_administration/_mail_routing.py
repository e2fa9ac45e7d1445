"""The resolver of mail_routing, as its document describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


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
