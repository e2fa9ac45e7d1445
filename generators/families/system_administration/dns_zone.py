"""Repair zones after a bad migration: final dots, alias at the apex, delegation and glue, reverse zone, serials."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.families.system_administration._dns_zone import Plan, correct, delegation, queries
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier


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
    bullet: str  # how each rule is listed
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


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
        number=draw.between(100, 999),
        rules="".join(world.bullet.format(rule=rule) for rule in rules.values()),
        keep=keep,
        **where,
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
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {before: after, **fill}), caught)
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
