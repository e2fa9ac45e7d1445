"""A small service starts but never answers: includes, overrides, permissions, a missing directory, a stale socket."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling."""

    folder: str
    service: str  # the service, its program and its socket
    protocol: str  # of the one listener at medium
    conf: str  # main configuration file below etc/
    spool: str  # directory for stored values
    journal: str
    words: tuple[str, str, str, str, str]  # keys that the data has
    wording: int
    bullet: str  # how each rule is listed
    text: str


SETTINGS = load_settings(__file__, World)
RULES: Mapping[str, tuple[str, str, str]] = load_words(__file__, "wordings.yaml")
PROGRAM = resource(__file__, "service.py")
START = resource(__file__, "start.sh")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")


@dataclass(frozen=True)
class Faults:
    """Which part of the configuration carries what; `wrong` maps a setting to its bad value."""

    wrong: Mapping[str, str]
    final: bool  # the journal and the address are pinned in an early file
    env: bool  # etc/default overrides a port


def protocol_text(world: World, hard: bool) -> str:
    """What clients say, in a sentence."""
    http = "GET /health, GET /value/KEY and PUT /value/KEY with an X-Token header (HTTP)"
    line = "HEALTH, GET KEY and PUT KEY TOKEN VALUE, one request per line (line protocol)"
    if hard:
        return f"Clients use {http}; others use {line}."
    return f"Clients use {http if world.protocol == 'http' else line}."


def configuration(world: World, values: Mapping[str, str], faults: Faults) -> dict[str, str]:
    """The configuration files below etc/: right values in the main file, overrides on top, in names that sort oddly."""
    right = [f"{key} = {values[key]}" for key in ("port", "line_port") if key in values]
    main = [
        "# main settings",
        "site = default site",
        "limit = 20",
        "listen = 127.0.0.1",
        f"workers = {values['workers']}",
        *right,
        f"spool = {world.spool}",
        f"journal = {world.journal}",
        "token = etc/token",
        "data = etc/values.tsv",
        f"control = run/{world.service}.sock",
        f"log = run/{world.service}.log",
        "include conf.d/*.conf",
    ]
    site = ["# on site", f"site = {values['site']}", f"limit = {values['limit']}"]
    tuning = ["# tuning, load test", "workers = 0", "limit = 7", "backlog = 64"]
    early = ["# packaged defaults", "limit = 12"]
    local = ["# local changes", "colour = green"]
    for key, value in faults.wrong.items():
        pinned = faults.final and key in ("journal", "listen")
        target = early if pinned else site if key in ("port", "line_port", "journal") else local
        target.append(("final " if pinned else "") + f"{key} = {value}")
    if faults.final:
        local.append("log = /dev/null")
        site.append("include ../extra/*.conf")
    files = {
        world.conf: main,
        "conf.d/00-package.conf": early,
        "conf.d/100-tuning.conf": tuning,
        "conf.d/20-site.conf": site,
    }
    files["extra/local.conf" if faults.final else "conf.d/90-local.conf"] = local
    result = {f"etc/{name}": "\n".join(lines) + "\n" for name, lines in files.items()}
    result["etc/default"] = "# environment of the service\nLANG=C.UTF-8\n"
    if faults.env:
        result["etc/default"] += f"{world.service.upper()}_WORKERS=0\n"
    return result


def draft(draw: Draw) -> Draft:
    """One silent installation."""
    world = draw.setting(SETTINGS)
    hard = draw.difficulty is Difficulty.HARD
    folder, port = world.folder, draw.between(21000, 29000)
    values = {
        "workers": str(draw.between(2, 6)),
        "limit": str(draw.between(30, 90)),
        "site": f"{draw.pick(FIRMS)} {draw.between(2, 99)}",
    }
    wrong = {"journal": world.journal + ".old"}
    if hard or world.protocol == "http":
        values["port"], wrong["port"] = str(port), str(port + draw.between(1, 9))
    if hard or world.protocol == "line":
        values["line_port"], wrong["line_port"] = (
            str(port + 20),
            "${port}" if hard else str(port + draw.between(21, 29)),
        )
    if hard or draw.chance(50):
        wrong["listen"] = f"192.0.2.{draw.between(2, 200)}"
    files: dict[str, str | tuple[str, int]] = dict(configuration(world, values, Faults(wrong, hard, hard)))
    marks = {"@NAME@": world.service, "@F@": folder, "@C@": world.conf}
    known = [(word, f"{draw.pick(('red', 'blue', 'tall', 'old'))} {draw.between(100, 999)}") for word in world.words]
    delivered = {
        f"bin/{world.service}.py": filled(PROGRAM, marks),
        "start": filled(START, marks),
        "etc/values.tsv": "".join(f"{key}\t{value}\n" for key, value in known),
        "etc/token": f"{draw.between(10**9, 10**10)}\n",
    }
    files |= {name: (text, 0o755 if name == "start" else 0o644) for name, text in delivered.items()}
    files[f"run/{world.service}.sock"] = "4711\n"  # left by an older version, a plain file
    files[f"{world.journal}.old"] = "http GET before 200\n"
    where = {
        "folder": folder,
        "spool": world.spool,
        "journal": world.journal,
        "name": world.service,
        "port": port,
        "line_port": port + 20,
    }
    skipped = () if hard else ("line",) if world.protocol == "http" else ("http",)
    rules = {
        k: texts[world.wording].format(workers=values["workers"], **where)
        for k, texts in RULES.items()
        if k not in skipped
    }
    keep = rules.pop("keep")
    spool_parent = world.spool.rsplit("/", 1)[0]
    setup = f"mkdir -p {spool_parent} && " + (f"ln -s /mnt/old/{world.service} {world.spool}" if hard else "true")
    goals = ["test_health", "test_values", "test_store", "test_journal"]
    main_keys = [key for key in ("port", "line_port", "listen", "workers", "journal") if key in values or key in wrong]
    instruction = world.text.format(
        number=draw.between(100, 999),
        firm=draw.pick(FIRMS),
        persona=world.persona,
        keep=keep,
        protocol=protocol_text(world, hard),
        rules="".join(world.bullet.format(rule=rule) for rule in rules.values()),
        **where,
    )
    return Draft(
        title=f"Make it answer: {world.scenario}",
        setting=world,
        instruction=instruction,
        files=files,
        dockerfile=f"COPY . {folder}/\nRUN cd {folder} && {setup}\nWORKDIR {folder}",
        truth={
            "folder": folder,
            "spool": world.spool,
            "journal": world.journal,
            "port": port if "port" in values else 0,
            "line_port": port + 20 if "line_port" in values else 0,
            "health": {"site": values["site"], "limit": int(values["limit"]), "workers": int(values["workers"])},
            "known": list(known[2]),
            "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in delivered.items()},
        },
        discoverable=("folder", "spool", "journal", "health", "known", "files"),
        tests=TESTS,
        weights={"test_health": 0.25, "test_values": 0.25, "test_store": 0.25, "test_journal": 0.25},
        guards=["test_delivered_files_untouched"],
        initial=INITIAL,
        solution=repair(world, main_keys),
        alternatives=[rewrite(world, values)],
        misses=[
            Miss(
                "port_only",
                "stops at the first fault",
                f"cd {folder} && sed -i '/port/d' etc/conf.d/20-site.conf",
                goals,
            ),
            Miss("no_workers", "leaves the workers at none", repair(world, main_keys, skip="workers"), goals[:3]),
            Miss(
                "journal_left",
                "does not see that the journal goes elsewhere",
                repair(world, main_keys, skip="journal"),
                goals[3:],
            ),
            Miss(
                "override_removed",
                "drops the overrides with everything they say",
                repair(world, main_keys) + f"rm -r {folder}/etc/conf.d/*\n",
                goals[:1],
            ),
            Miss(
                "spool_elsewhere",
                "points the spool to another directory",
                repair(world, main_keys)
                + f"echo 'spool = /var/tmp' >> {folder}/etc/{world.conf}; rm -rf {folder}/{world.spool}\n",
                goals[2:3],
            ),
            Miss(
                "token_open",
                "does not close the token file",
                repair(world, main_keys) + f"chmod 644 {folder}/etc/token\n",
                goals,
            ),
        ],
        requirements=[
            *(
                (text, {"spool": goals[2:3], "journal": goals[3:], "workers": goals[:1]}.get(key, goals))
                for key, text in rules.items()
            ),
            (keep, ["test_delivered_files_untouched"]),
        ],
        knobs={"faults": len(wrong) + 4 + 2 * hard, "listeners": 2 if hard else 1, "final": hard, "environment": hard},
    )


def surroundings(world: World) -> str:
    """Directory, permissions and socket path."""
    return f"rm -f {world.spool} run/{world.service}.sock; mkdir -p {world.spool}; chmod 600 etc/token\n"


def repair(world: World, keys: list[str], skip: str = "") -> str:
    """Remove what overrides the right values of the main file."""
    script = f"cd {world.folder}\n"
    for key in keys:
        if key != skip:
            script += (
                f"find etc/conf.d etc/extra -name '*.conf' -exec sed -i -E '/^(final +)?{key} *=/d' {{}} + "
                f"2>/dev/null\n"
                f"sed -i '/_{key.upper()}=/d' etc/default\n"
            )
    return script + surroundings(world)


def rewrite(world: World, values: Mapping[str, str]) -> str:
    """Another way: one file that pins everything, included before all others."""
    lines = [f"final {key} = {value}" for key, value in values.items()]
    lines += ["final listen = 127.0.0.1", f"final journal = {world.journal}", f"final spool = {world.spool}"]
    return (
        f"cd {world.folder} && mkdir etc/pinned && cat > etc/pinned/all.conf <<'END'\n" + "\n".join(lines) + "\nEND\n"
        f"python3 - <<'PY'\nfrom pathlib import Path\nmain = Path('etc/{world.conf}')\n"
        "main.write_text('include pinned/all.conf\\n' + main.read_text())\nPath('etc/default').write_text('')\nPY\n"
        + surroundings(world)
    )


def filled(script: str, values: Mapping[str, str]) -> str:
    """The text with each marker replaced."""
    for marker, value in values.items():
        script = script.replace(marker, value)
    return script


FAMILY = Family(
    name="silent_service",
    domain="system_administration",
    verifier=Verifier.MULTI_PROTOCOL,
    skills=("service diagnosis", "configuration includes", "permissions", "sockets"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD),
    capacity=32,
    draft=draft,
    command_complexity="services",
    fixture="multi_service",
)
