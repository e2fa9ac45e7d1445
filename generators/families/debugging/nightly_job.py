"""A report job that works by hand and fails from cron: per cent signs, PATH, folder, shell, umask, time zone,
locale."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting, load_settings, load_words, resource
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRMS, FIRST_NAMES


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling. `zone` is a POSIX TZ string, `east` its offset in minutes."""

    folder: str
    script: str
    tool: str
    spool: str
    report: str
    zone: str
    east: int
    text: str


SETTINGS = load_settings(__file__, World)
WORDS: dict[str, tuple[str, ...]] = load_words(__file__, "wordings.yaml")
README = resource(__file__, "README")
PROFILE = resource(__file__, "profile.sh")
CRONTAB = resource(__file__, "crontab")
MAIL = resource(__file__, "mail")
TOOL = resource(__file__, "tool.awk")
SETTINGS_EASY = resource(__file__, "easy/settings.sh")
SETTINGS_MEDIUM = resource(__file__, "medium/settings.sh")
SCRIPT_EASY = resource(__file__, "easy/job.sh")
SCRIPT_MEDIUM = resource(__file__, "medium/job.sh")
TESTS = resource(__file__, "tests.py")
INITIAL = resource(__file__, "initial.py")

PLAIN_NAMES = ("Anders", "Bea", "Chipo", "Dora", "Emil", "Frida", "Gustav", "Hilde", "Ida Marie")
ACCENTED = ("Zoë", "Jürgen", "Ángela", "Øystein", "Łukasz", "Renée", "Çelik")
EPOCH = 1_700_006_400  # a midnight UTC
Rows = Sequence[tuple[int, str, int]]


def draw_rows(draw: Draw, count: int, east: int, minimum: int) -> list[tuple[int, str, int]]:
    """Sales of a few days, some within minutes of local or UTC midnight, some below the minimum."""
    names = [*draw.sample(PLAIN_NAMES, 3), *draw.sample(ACCENTED, 3)]
    day = EPOCH + 86_400 * draw.between(0, 300)
    rows: list[tuple[int, str, int]] = []
    for number in range(count):
        moment = day + 86_400 * draw.between(0, 3)
        if number % 4 == 0:
            moment += draw.between(-1800, 1799) - east * 60
        elif number % 4 == 1:
            moment += draw.between(-1800, 1799)
        else:
            moment += draw.between(0, 86_399)
        amount = draw.between(1, minimum) if number % 5 == 3 else draw.between(minimum, 90_000)
        rows.append((moment, names[number % 6], amount))
    return rows


def report_of(rows: Rows, east: int, minimum: int) -> str:
    """What a run by hand prints."""
    totals: dict[tuple[int, str], int] = {}
    for moment, name, cents in rows:
        if cents >= minimum:
            key = ((moment + east * 60) // 86_400, name)
            totals[key] = totals.get(key, 0) + cents
    lines = [f"{civil(day)} {name:<14} {f'{c // 100}.{c % 100:02d}':>10}\n" for (day, name), c in totals.items()]
    return "".join(sorted(lines))


def civil(days: int) -> str:
    """ISO date of a day number since 1970."""
    era, rest = divmod(days + 719_468, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    of_year = rest - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return f"{year + era * 400 + (month <= 2):04d}-{month:02d}-{of_year - (153 * shifted + 2) // 5 + 1:02d}"


def spread(draw: Draw, rows: Rows, spool: str) -> dict[str, str]:
    """The rows in a few files."""
    files: dict[str, str] = {}
    for moment, name, cents in rows:
        file = f"{spool}-{draw.between(1, 3)}.txt"
        files[file] = files.get(file, "") + f"{moment}|{name}|{cents}\n"
    return files


def draft(draw: Draw) -> Draft:
    """One job."""
    world = draw.setting(SETTINGS)
    medium = draw.difficulty is Difficulty.MEDIUM
    minimum = draw.between(50, 400)
    schedule = f"{draw.between(1, 58)} {draw.between(1, 4)} * * *"
    start = "sh " if medium else ""
    words: dict[str, object] = {
        "folder": world.folder,
        "script": world.script,
        "tool": world.tool,
        "spool": world.spool,
        "report": world.report,
        "zone": world.zone,
        "minimum": minimum,
        "schedule": schedule,
        "start": start,
        "thing": world.scenario,
        "firm": draw.pick(FIRMS),
        "ticket": draw.between(1000, 9999),
        "weeks": draw.between(3, 11),
        "persona": f"{draw.pick(FIRST_NAMES)} ({world.persona})",
        "host": world.name,
    }

    def fill(text: str) -> str:
        for key, word in words.items():
            text = text.replace(f"{{{key}}}", str(word))
        return text

    cron, want, data, hand, keep = (
        fill(draw.pick(WORDS[key])) for key in ("crons", "wants", "datas", "hands", "keeps")
    )
    told = {"cron": cron, "want": want, "data": data, "hand": hand, "keep": keep}

    size = draw.by_difficulty(easy=24, medium=60)
    rows = draw_rows(draw, size, world.east, minimum)
    inputs = spread(draw, rows, world.spool)
    nights: list[dict[str, object]] = []
    for _ in range(3):
        later = draw_rows(draw, size, world.east, minimum)
        nights.append({"files": spread(draw, later, world.spool), "report": report_of(later, world.east, minimum)})

    folder = world.folder
    by_profile = crontab_line(folder, schedule, f". {folder}/etc/profile.sh; cd {folder} && bash bin/{world.script}")
    in_script = (
        f"sed -i '1a cd {folder} || exit 1\\nPATH=$PATH:{folder}/tools\\n"
        f'export PATH TZ="{world.zone}" LC_ALL=C.UTF-8\\n'
        f"umask 022\\nmkdir -p out; rm -f out/{world.report}' {folder}/bin/{world.script}\n"
    ) + crontab_line(folder, schedule, f"umask 022; cd {folder} \\&\\& /bin/bash bin/{world.script}")
    goals = ["test_night_run", "test_later_nights", "test_readable"]
    path = f"PATH=/usr/bin:/bin:{folder}/tools"
    zone = f"export TZ={world.zone}"
    half = (
        f"{zone}; umask 022; cd {folder} && {path} bash bin/{world.script}"
        if medium
        else f"cd {folder} && umask 022 && bash bin/{world.script}"
    )
    misses = [
        Miss(
            "no_locale" if medium else "no_path",
            "pads names by bytes, without a UTF-8 locale" if medium else "cron does not find the helper",
            crontab_line(folder, schedule, half),
            goals[:2],
        ),
        Miss(
            "private_report",
            "everything but the umask",
            crontab_line(
                folder, schedule, f". {folder}/etc/profile.sh; umask 077; cd {folder} && bash bin/{world.script}"
            ),
            ["test_readable"],
        ),
        Miss("per_cent", "leaves the per cent signs unescaped", by_profile.replace("\\\\%", "%"), goals),
    ]
    if medium:
        local = f"export LC_ALL=C.UTF-8; umask 022; cd {folder} && {path} bash bin/{world.script}"
        misses.append(Miss("no_zone", "sums by UTC days", crontab_line(folder, schedule, local), goals[:2]))
    files: dict[str, str | tuple[str, int]] = {
        "etc/crontab": fill(CRONTAB),
        "etc/profile.sh": fill(PROFILE),
        "etc/settings.sh": fill(SETTINGS_MEDIUM if medium else SETTINGS_EASY),
        f"bin/{world.script}": (fill(SCRIPT_MEDIUM if medium else SCRIPT_EASY), 0o755),
        f"tools/{world.tool}": (TOOL, 0o755),
        "README": fill(README),
        "mail/latest": fill(MAIL),
        "log/.keep": "",
        "out/.keep": "",
        **{f"{world.spool}/{name}": text for name, text in inputs.items()},
    }
    return Draft(
        title=f"Make the nightly {world.scenario} job run from cron",
        setting=world,
        instruction=fill(world.text.format(**told, **words)),
        files={f"job/{name}": content for name, content in files.items()},
        dockerfile=f"COPY job/ {folder}/\nWORKDIR {folder}",
        truth={
            "folder": folder,
            "script": world.script,
            "spool": world.spool,
            "report": world.report,
            "schedule": schedule,
            "present": report_of(rows, world.east, minimum),
            "nights": nights,
            "inputs": {
                f"tools/{world.tool}": sha(TOOL),
                **{f"{world.spool}/{name}": sha(text) for name, text in inputs.items()},
            },
        },
        discoverable=("folder", "script", "spool", "report", "schedule", "nights"),
        tests=TESTS,
        weights={"test_night_run": 0.35, "test_later_nights": 0.45, "test_readable": 0.2},
        guards=["test_by_hand", "test_schedule_and_inputs"],
        initial=INITIAL,
        solution=by_profile,
        alternatives=[in_script],
        misses=misses,
        requirements=[
            (cron, goals),
            (want, goals),
            (data, ["test_later_nights"]),
            (hand, ["test_by_hand"]),
            (keep, ["test_schedule_and_inputs"]),
        ],
        knobs={"traps": 7 if medium else 4, "rows": size},
    )


def crontab_line(folder: str, schedule: str, command: str) -> str:
    """A script that replaces the job's command, escaping the per cent signs of its log."""
    command = command.replace("\\&", "&").replace("&", "\\&")
    wanted = f"{schedule} {command} >> {folder}/log/$(date +\\\\%Y-\\\\%m).log 2>\\&1"
    return f"sed -i 's#^{schedule.replace('*', '[*]')} .*#{wanted}#' {folder}/etc/crontab\n"


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


FAMILY = Family(
    name="nightly_job",
    domain="debugging",
    verifier=Verifier.EXACT_TEXT,
    skills=("cron", "shell environment", "locale and time zone", "file permissions"),
    difficulties=(Difficulty.EASY, Difficulty.MEDIUM),
    capacity=48,
    draft=draft,
    command_complexity="bash",
)
