"""Triage a break-in from auth, web and audit logs: skewed clocks, rotated files, wiped hours, a licensed tester."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from generators.families.security._intrusion_triage import (
    PERIOD,
    ZONES,
    Case,
    Host,
    Session,
    access_logs,
    background,
    fingerprint,
    number_sessions,
    plan_attack,
    render,
    sha,
    stamp,
)
from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRST_NAMES, LAST_NAMES, login


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `keys` are the names of the report's five parts."""

    folder: str
    report: str
    upload: str
    hosts: tuple[str, ...]
    keys: tuple[str, str, str, str, str]


SETTINGS = load_settings(__file__, World)
WORDS = load_words(__file__, "wordings.yaml")
VOICES = WORDS["voices"]
FACTS: dict[str, list[str]] = WORDS["facts"]
QUESTIONS: dict[str, list[str]] = WORDS["questions"]
OUTPUT = WORDS["output"]
GUARD = WORDS["guard"]
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")
PYTHON = resource(__file__, "solution.sh")
AWK = resource(__file__, "alternative.sh")


def build_case(draw: Draw, world: World) -> Case:
    """Draw the logs of all hosts and work out the answer from the plan, not from the logs."""
    count = draw.by_difficulty(medium=2, hard=3, extremely_hard=4)
    extreme = draw.difficulty is Difficulty.EXTREMELY_HARD
    start = int(datetime(2025, draw.between(1, 11), draw.between(3, 26), draw.between(17, 22), tzinfo=UTC).timestamp())
    subnet = f"10.{draw.between(10, 200)}.{draw.between(1, 200)}"
    hosts = [
        Host(name, f"{subnet}.{20 + number}", [(0, draw.pick((-1, 1)) * draw.between(240, 1100))], int(extreme))
        for number, name in enumerate(world.hosts[:count])
    ]
    if extreme:  # a forward jump makes the raw log look emptier than the wiped part
        hosts[1].steps.append((start + draw.between(13_300, 15_000), hosts[1].steps[0][1] + draw.between(5200, 7000)))
    names = [
        login(f"{first} {last}")
        for first, last in zip(draw.sample(FIRST_NAMES, 8), draw.sample(LAST_NAMES, 8), strict=True)
    ]
    office = f"198.51.{draw.between(100, 120)}"
    base, bits = draw.pick(((32, 27), (64, 26), (160, 28), (128, 26)))
    hostile = [
        f"{office}.{base + 2 ** (32 - bits) + draw.between(0, 9)}",
        f"77.{draw.between(20, 90)}.{draw.between(1, 250)}.9",
    ]
    tester = f"203.0.113.{draw.between(10, 240)}"
    staff = [(name, f"{office}.{base + draw.between(1, 14)}", fingerprint(draw)) for name in names]
    begin = start + draw.between(7400, 9000)
    acts = plan_attack(draw, hosts, begin, hostile, names[:3])
    hole_start = start + draw.between(17_400, 18_000)
    hole = (hole_start, hole_start + draw.between(2700, 4300))
    window = (start + 1800, start + 5400)
    skew = hosts[0].steps[0][1]
    # Inside the permit in true time, outside by the host's wrong clock.
    permitted = window[1] - abs(skew) // 2 if skew > 0 else window[0] + abs(skew) // 2
    tested = Session(permitted + 30, names[6], tester, fingerprint(draw), 120)
    tested.operations = [(40, "create", "/etc/cron.d/pentest-proof", "success")]
    hosts[0].sessions.append(tested)
    files = {
        "clocks.csv": "host,since,ahead_s\n",
        "networks.txt": f"{subnet}.0/24\n{office}.{base}/{bits}\n192.0.2.0/25\n",
        "tests.csv": "address,start,end\n"
        f"203.0.113.{draw.between(241, 250)},{stamp(start - 90000)},{stamp(start - 80000)}\n"
        f"{tester},{stamp(window[0])},{stamp(window[1])}\n",
    }
    for number, host in enumerate(hosts):
        background(draw, host, start, staff, hole if number == count - 1 else None)
        number_sessions(host)
        lines, audit = render(draw, host)
        cuts = (0, start + 9900, start + 22_500, start + 10 * PERIOD)
        for age, (low, high) in enumerate(pairwise(cuts)):
            ending = ("auth.log.2", "auth.log.1", "auth.log")[age]
            files[f"{host.name}/{ending}"] = "".join(
                f"{datetime.fromtimestamp(host.reading(moment), UTC):%b %e %H:%M:%S} {host.name} {text}\n"
                for moment, text in lines
                if low <= moment < high
            )
        files[f"{host.name}/audit.log"] = audit
        for since, ahead in host.steps:
            reading = since + ahead if since else start - 86_400
            files["clocks.csv"] += f"{host.name},{stamp(reading)},{ahead}\n"
    again = begin + draw.between(60, 300)
    acts += [(begin, hosts[0].name, "upload", hostile[0]), (again, hosts[0].name, "upload", hostile[0])]
    acts.sort()
    requests = [
        (permitted, tester, "POST", world.upload, 201),
        (begin - 2200, staff[0][1], "POST", world.upload, 201),
        (begin - 700, hostile[0], "POST", world.upload, 403),
        (begin - 640, hostile[0], "GET", world.upload, 200),
        (begin - 600, hostile[0], "POST", world.upload + "-preview", 200),
        (begin, hostile[0], "POST", world.upload, draw.pick((200, 201))),
        (again, hostile[0], "POST", world.upload, 201),
        (begin + 5000, staff[1][1], "POST", world.upload, 200),
    ]
    for _ in range(draw.by_difficulty(medium=60, hard=110, extremely_hard=150)):
        source = draw.pick((staff[2][1], tester, f"91.4.{draw.between(1, 250)}.8", hostile[0]))
        path = draw.pick(("/", "/login", "/help", "/.env", world.upload, "/search?q=a", "/robots.txt"))
        requests.append((start + draw.between(0, PERIOD), source, "GET", path, draw.pick((200, 200, 304, 404, 403))))
    files |= access_logs(hosts[0], sorted(requests), draw.pick(sorted(ZONES)), begin + 30)
    answer: list[object] = [
        {"time": stamp(begin), "host": hosts[0].name, "address": hostile[0]},
        sorted({act[3] for act in acts if act[2] == "login"}),
        sorted(
            [a[1], a[3]]
            for a in acts
            if a[2] == "plant" and (a[1], a[3]) not in {(r[1], r[3]) for r in acts if r[2] == "remove"}
        ),
        {"host": hosts[-1].name, "start": stamp(hole[0]), "end": stamp(hole[1])},
        [[stamp(act[0]), *act[1:]] for act in acts],
    ]
    return Case(files, answer, datetime.fromtimestamp(start, UTC).year)


def phrase(draw: Draw, table: dict[str, list[str]], fill: Callable[[str], str]) -> dict[str, str]:
    """One wording of each sentence, mixed so that no two serials nearby share more than half of them."""
    turns = (draw.serial, draw.serial // 3)
    return {name: fill(texts[turns[number % 2] % 3]) for number, (name, texts) in enumerate(table.items())}


def draft(draw: Draw) -> Draft:
    """One break-in."""
    world = draw.setting(SETTINGS)
    case = build_case(draw, world)
    packed = draw.difficulty is not Difficulty.MEDIUM
    reboots = draw.difficulty is Difficulty.EXTREMELY_HARD
    words = dict(zip("abcde", world.keys, strict=True)) | {
        "upload": world.upload,
        "report": world.report,
        "web": world.hosts[0],
        "year": str(case.year),
        "gz": ".gz" if packed else "",
        "reboot": "; session numbers begin again at 1 after a reboot" if reboots else "",
    }
    facts = phrase(draw, FACTS, lambda text: text.format(**words))
    questions = phrase(draw, QUESTIONS, lambda text: text.format(**words))
    output = OUTPUT[draw.serial // 2 % 3].format(**words)
    guard = GUARD[draw.serial % 3]
    listed = list(questions.values())
    instruction = VOICES[draw.serial % 4].format(
        case=draw.between(1000, 9999),
        folder=world.folder,
        facts=" ".join(facts.values()) if draw.serial % 3 else "\n".join(facts.values()),
        questions="\n".join(f"- {text}" for text in listed) if draw.serial % 2 else " ".join(listed),
        output=output,
        guard=guard,
        persona=world.persona,
    )
    goals = ["test_entry_point", "test_accounts", "test_persistence", "test_silence", "test_timeline"]
    old = ".2.gz" if packed else ".2"
    inputs = {(name.replace("auth.log.2", "auth.log" + old)): sha(text) for name, text in case.files.items()}
    solution = PYTHON.format_map(Script(world, case.year))
    return Draft(
        title=f"Triage: {world.scenario}",
        setting=world,
        instruction=instruction,
        files={f"logs/{name}": text for name, text in case.files.items()},
        dockerfile=f"COPY logs {world.folder}/\n"
        + (f"RUN gzip -n {world.folder}/*/auth.log.2\n" if packed else "")
        + "WORKDIR /root",
        truth={
            "folder": world.folder,
            "report": world.report,
            "names": list(world.keys),
            "answer": case.answer,
            "inputs": inputs,
        },
        discoverable=("folder", "report", "names", "answer"),
        tests=TESTS,
        weights=dict(zip(goals, (0.15, 0.15, 0.25, 0.2, 0.25), strict=True)),
        guards=["test_evidence_unchanged"],
        initial=INITIAL,
        solution=solution,
        alternatives=[AWK.format_map(Script(world, case.year))],
        misses=[
            Miss("clocks_ignored", "takes every stamp at its word", solution.replace("AHEAD = 1", "AHEAD = 0"),
                 ["test_entry_point", "test_silence", "test_timeline"]),
            Miss("current_logs_only", "does not read rotated parts", solution.replace('"auth.log*"', '"auth.log"'),
                 ["test_accounts", "test_persistence", "test_silence", "test_timeline"]),
            Miss("removed_files_kept", "lists files that were unlinked again", solution.replace("left.discard", "str"),
                 ["test_persistence"]),
            Miss("outside_only", "misses the moves from host to host", solution.replace("keys.add", "str"),
                 ["test_accounts", "test_persistence", "test_timeline"]),
        ],
        requirements=[
            *((text, goals[1:] if name in ("logins", "sessions") else goals) for name, text in facts.items()),
            *((text, [goal]) for text, goal in zip(listed, goals, strict=True)),
            (output, goals),
            (guard, ["test_evidence_unchanged"]),
        ],
        knobs={
            "hosts": draw.by_difficulty(medium=2, hard=3, extremely_hard=4),
            "clock_step": reboots,
            "reboots": reboots,
            "packed": packed,
        },
    )  # fmt: skip


class Script(dict[str, str]):
    """The blanks of the scripts."""

    def __init__(self, world: World, year: int) -> None:
        a, b, c, d, e = world.keys
        super().__init__(
            folder=world.folder, report=world.report, upload=world.upload, year=str(year), a=a, b=b, c=c, d=d, e=e
        )


FAMILY = Family(
    name="intrusion_triage",
    domain="security",
    verifier=Verifier.EXACT_TEXT,
    skills=("log analysis", "time correction", "event correlation", "CIDR matching", "json output"),
    difficulties=(Difficulty.MEDIUM, Difficulty.HARD, Difficulty.EXTREMELY_HARD),
    capacity=48,
    draft=draft,
    command_complexity="code",
)
