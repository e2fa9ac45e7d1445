"""What the zones of dns_zone have to contain, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generators.family import Draw

Records = list[tuple[str, str, str]]  # owner and names absolute: (owner, type, data)


@dataclass(frozen=True)
class Plan:
    """What is true: hosts with addresses, aliases, and the records that are right anyway."""

    hosts: Mapping[str, str]  # relative names
    aliases: Mapping[str, str]
    fixed: Records  # NS, MX, TXT and foreign CNAMEs of parent and child


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
