"""Repair a TLS service: issue a leaf from the right issuing CA and present the right chain, with names, dates and a new key."""

from __future__ import annotations

import hashlib

from generators.families.security._certificate_chain import Maker, Site, World
from generators.family import Draft, Draw, Family, Miss, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS

SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
FACTS: dict[str, list[str]] = WORDS["facts"]
RULES: dict[str, list[str]] = WORDS["rules"]
GUARDS = WORDS["guards"]
SERVICE = resource(__file__, "service.py")
START = resource(__file__, "start.sh")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
# Builds the PKI; the root's key and the issuers' working names exist during the build step only.
SETUP = resource(__file__, "setup.sh")
CNF = resource(__file__, "ca.cnf")
BY_PYTHON = resource(__file__, "alternative.sh")


def draft(draw: Draw) -> Draft:
    """One broken service."""
    world = draw.setting(SETTINGS)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    year = draw.between(2024, 2025)
    start, end = f"{year - 2}-{draw.between(1, 12):02d}-01", f"{draw.between(2033, 2036)}-{draw.between(1, 12):02d}-01"
    now = f"{year}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"
    zones = (f"svc.{world.domain}", f"adm.{world.domain}")
    # id, name, start, end, permitted names, has a key
    kinds = [
        ("good", "A", "20200101", "20441231", zones[0] if extreme else "-", True),
        ("former", "A", "20180101", "20401231", "-", False),
        ("ended", "B", "20150101", "20211231", "-", True),
        ("short", "C", "20200101", f"{draw.between(2029, 2031)}0630", "-", True),
        ("late", "D", f"{year}0115", "20471231", "-", True),
    ]
    if extreme:
        kinds += [
            ("second", "E", "20190101", "20461231", zones[1], True),
            ("foreign", "F", "20190101", "20461231", "partner.example", True),
        ]
    certs, keys = draw.sample(range(1, 20), len(kinds)), draw.sample(range(20, 40), len(kinds))
    numbers = {kind[0]: (cert, key) for kind, cert, key in zip(kinds, certs, keys, strict=True)}
    one, two, three = world.hosts
    sites = [Site(f"{one}.{zones[0]}", (f"{two}.{zones[0]}",), "main", *numbers["good"])]
    if extreme:
        sites.append(
            Site(
                f"{three}.{zones[1]}",
                (f"{three}-{draw.between(2, 9)}.{zones[1]}", f"{one}.{zones[1]}"),
                "inner",
                *numbers["second"],
            )
        )
    banner = f"{world.scenario} {draw.between(100, 999)}"
    ini = f"[service]\nport = {world.port}\nbanner = {banner}\n" + "".join(
        f"\n[site {site.file}]\nname = {site.name}\naliases = {' '.join(site.aliases)}\ncertificate = "
        f"tls/{site.file}.pem\nkey = tls/server.key\n"
        for site in sites
    )
    used = draw.between(0x1000, 0xEFFF)
    listed: list[str] = []
    for number in range(draw.between(3, 7)):
        day = f"20{draw.between(19, 23)}-0{draw.between(1, 9)}-2{draw.between(0, 8)}"
        listed.append(f"{used + number:04X},{draw.pick(world.hosts)}.{zones[0]},{day}")
    org = draw.pick(FIRMS)
    # Neither the order nor the letters of the names may tell which issuer is fit.
    letters = dict(zip("ABCDEF", draw.sample("ABCDEFGHKMNPRST", 6), strict=True))
    order = draw.shuffled(kinds)
    ids = {kind[0]: f"i{number}" for number, kind in enumerate(order)}
    table = "".join(
        f"{ids[kind]} {letters[name]} {low} {high} {permit} {numbers[kind][0]} {numbers[kind][1] if has_key else '-'}\n"
        for kind, name, low, high, permit, has_key in order
    )
    setup = SETUP.replace("@ORG@", org).replace("@FOLDER@", world.folder).replace("@TRUST@", world.trust)
    words = {
        "folder": world.folder,
        "trust": world.trust,
        "port": str(world.port),
        "next": str(world.port + 1),
        "register": world.register,
        "now": now,
        "start": start,
        "end": end,
        "constraints": ", permitted names" if extreme else "",
        "own": ", each site its own" if extreme else "",
        "names": "the site's name, its aliases in service.ini and the address 127.0.0.1",
    }
    turns = (draw.serial, draw.serial // 3)
    facts = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(FACTS.items())}
    rules = {name: options[turns[n % 2] % 3].format(**words) for n, (name, options) in enumerate(RULES.items())}
    guard = GUARDS[draw.serial % 3]
    instruction = VOICES[draw.serial % 4].format(
        firm=org,
        scenario=world.scenario,
        folder=world.folder,
        persona=world.persona,
        guard=guard,
        facts="\n".join(facts.values()) if draw.serial % 2 else " ".join(facts.values()),
        rules="\n".join(f"- {text}" for text in rules.values()) if draw.serial % 3 else " ".join(rules.values()),
    )
    connect, ordered, private, register = goals = [
        "test_clients_can_connect",
        "test_certificates_are_as_ordered",
        "test_keys_are_new_and_private",
        "test_register_is_kept",
    ]
    maker = Maker(world, sites, start, end, int(listed[-1].split(",")[0], 16) + 1, CNF)
    wrong = [Site(site.name, site.aliases, site.file, *numbers["short"]) for site in sites]
    former = f"ca/{numbers['former'][0]}.crt"
    return Draft(
        title=f"TLS of the {world.scenario}",
        setting=world,
        instruction=instruction,
        files={
            "app/service.py": SERVICE,
            "app/start.sh": (START, 0o755),
            "app/service.ini": ini,
            f"app/{world.register}": "".join(f"{line}\n" for line in listed),
            "setup/make.sh": setup,
            "setup/ca.cnf": CNF,
            "setup/issuers": table,
            "setup/sites": "".join(f"{site.name} {site.file} {ids['good']} {ids['former']}\n" for site in sites),
        },
        dockerfile=f"COPY app {world.folder}/\nCOPY setup /setup/\n"
        f"RUN mkdir -p {world.folder}/ca/keys {world.folder}/tls {world.trust} && bash /setup/make.sh && rm -r /setup\n"
        f"USER agent\nWORKDIR {world.folder}",
        truth={
            "folder": world.folder,
            "trust": world.trust,
            "port": world.port,
            "banner": banner,
            "register": world.register,
            "listed": listed,
            "start": start,
            "end": end,
            "issuers": len(kinds),
            "sites": [{"name": site.name, "aliases": list(site.aliases)} for site in sites],
            "inputs": {"service.py": digest(SERVICE), "start.sh": digest(START)},
        },
        discoverable=("folder", "trust", "banner", "register", "listed", "sites"),
        tests=TESTS,
        weights=dict(zip(goals, (0.35, 0.35, 0.15, 0.15), strict=True)),
        guards=["test_the_rest_is_unchanged"],
        initial=INITIAL,
        solution=maker.script(),
        alternatives=[maker.by_python(BY_PYTHON)],
        misses=[
            Miss(
                "former_intermediate_sent",
                "keeps the old intermediate of the same name in the chain",
                maker.script(sent=former),
                [connect],
            ),
            Miss("root_sent_too", "sends the root as well", maker.script(extra=f"{world.trust}/root.crt"), [connect]),
            Miss(
                "common_name_only",
                "gives the leaf no alternative names but the first",
                maker.script(aliases=False),
                [connect, ordered],
            ),
            Miss(
                "leaked_key_reused",
                "signs the old key again",
                maker.script(key_from=f"{world.trust}/leaked.key"),
                [private],
            ),
            Miss(
                "short_issuer",
                "takes an issuer that ends too early",
                Maker(world, wrong, start, end, maker.serial, CNF).script(),
                [ordered],
            ),
            Miss("not_registered", "does not register", maker.script(record=False), [register]),
        ],
        requirements=[
            (facts["service"], [connect]),
            (facts["ca"], [connect, ordered]),
            (facts["now"], [connect]),
            (rules["chain"], [connect]),
            (rules["names"], [connect, ordered]),
            (rules["dates"], [ordered]),
            (rules["usage"], [ordered]),
            (rules["key"], [private]),
            (rules["register"], [register]),
            (guard, ["test_the_rest_is_unchanged"]),
        ],
        knobs={"issuers": len(kinds), "sites": len(sites), "constraints": extreme},
    )


def digest(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


FAMILY = Family(
    name="certificate_chain",
    domain="security",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("x509 certificates", "certificate authority", "tls", "service configuration"),
    difficulties=(Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
)
