"""Write a mail address resolver to a specification: aliases, plus-addresses, wildcards, loops, routes, precedence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.families.system_administration._mail_routing import Resolver, Tables
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
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


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
ADDRESSES: Mapping[str, Mapping[str, list[str]]] = load_words(__file__, "addresses.yaml")
DOCUMENT = resource(__file__, "document.txt")
WILDCARDS = resource(__file__, "wildcards.txt")
DEPTH = resource(__file__, "depth.txt")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
SOLUTION = resource(__file__, "solution.sh")
ALTERNATIVE = resource(__file__, "alternative.sh")


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

    def fixed(part: str, kind: str) -> list[str]:
        return [text.format(a=a, b=b, c=c, B=b.upper()) for text in ADDRESSES[part][kind]]

    groups = {kind: fixed("always", kind) for kind in ADDRESSES["always"]}
    groups["aliases"] += [f"{person}@{draw.pick((a, b, c))}" for person in chosen]
    groups["tags"] += [f"{person}+{draw.pick(('x', 'y', 'zz'))}@{draw.pick((a, b, c))}" for person in chosen]
    for kind in ADDRESSES["hard"] if hard else ():
        groups[kind] += fixed("hard", kind)
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
        wild=WILDCARDS if hard else "",
        n=6 if hard else 5,
        m=7 if hard else 6,
        carry="2, 4 and 5" if hard else "2 and 4",
        more="\n" + DEPTH.format(depth=depth, fail=fail) if hard else "",
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
        solution=filled(SOLUTION, fill),
        alternatives=[filled(ALTERNATIVE, fill)],
        misses=[
            Miss(name, why, filled(SOLUTION, {old: new, **fill}), caught)
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
