"""A report job that works by hand and fails from cron: per cent signs, PATH, folder, shell, umask, time zone,
locale."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from generators.family import Draft, Draw, Family, Miss, Setting
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


EMAIL = """Hello,

every evening I start the {thing} job by hand because the nightly run at {firm} produces nothing useful. By hand it
is always right. Could you
make it work at night, so that I can go home?

{cron}

{want} {data} {hand} {keep}

Many thanks, {persona}
"""
TICKET = """INC-{ticket} | {firm} | nightly {thing} job

Observed: by hand fine, from cron broken for {weeks} weeks.
Facts about our cron: {cron}
Expected: {want}
Also expected: {data}
Constraint 1: {hand}
Constraint 2: {keep}
"""
NOTE = """{thing}: {folder}/etc/crontab never gives a good report, a person at the keyboard does.
{cron}
{want}
{data}
{hand}
{keep}
"""
SPECIFICATION = """Requirements for the unattended {thing} run ({firm})

R1 {want}
R2 {data}
R3 {hand}
R4 {keep}
Environment of the run: {cron}
"""
CHAT = """{persona}: can you look at the {thing} cron job in {folder}? it is cursed, I run it myself and all is well
{persona}: ops says: {cron}
{persona}: so what I need. {want}
{persona}: {data}
{persona}: {hand}
{persona}: {keep} thanks!!
"""
RUNBOOK = """Nightly {thing} job, repair order

1. How the scheduler starts things here
   {cron}
2. Target state
   {want}
   {data}
3. What must survive
   {hand}
   {keep}
"""
REVIEW = """Retrospective, {weeks} weeks without {thing} figures at {firm}.

Cause: not known. Nobody sees what cron does at night. {cron}

Decision: fix the job, not the people. {want} {data}

Side conditions agreed with {persona}: {hand} {keep}
"""
HANDOVER = """From: {persona}
I leave you {folder}, the {thing} job. Last open problem: it only works when one of us runs it from a login shell.
- {cron}
- {want}
- {data}
- {hand}
- {keep}
"""

SETTINGS = (
    World(
        "bakery",
        "night shift baker",
        "bakery takings",
        "email",
        "/srv/bakery",
        "takings.sh",
        "daysum",
        "tills",
        "takings.txt",
        "LCL-5:45",
        345,
        EMAIL,
    ),
    World(
        "ferry",
        "ferry dispatcher",
        "ferry fares",
        "ticket",
        "/opt/ferry",
        "fares.sh",
        "fold-days",
        "gates",
        "by-day.txt",
        "FRY+3:30",
        -210,
        TICKET,
    ),
    World(
        "spa",
        "spa owner",
        "spa bookings",
        "note",
        "/home/spa/books",
        "close-day.sh",
        "sumdays",
        "desk",
        "days.txt",
        "SPA-9:30",
        570,
        NOTE,
    ),
    World(
        "museum",
        "museum treasurer",
        "museum donations",
        "specification",
        "/var/lib/museum",
        "donations.sh",
        "perday",
        "boxes",
        "donations.txt",
        "MUS-12:45",
        765,
        SPECIFICATION,
    ),
    World(
        "laundry",
        "laundry manager",
        "laundrette coins",
        "chat",
        "/data/coins",
        "coins.sh",
        "coinday",
        "machines",
        "coins.txt",
        "CNS+9:30",
        -570,
        CHAT,
    ),
    World(
        "dairy",
        "dairy accountant",
        "milk money",
        "runbook",
        "/usr/local/dairy",
        "milk.sh",
        "milkdays",
        "farms",
        "payout.txt",
        "DRY-6:30",
        390,
        RUNBOOK,
    ),
    World(
        "cinema",
        "cinema controller",
        "box office",
        "specification",
        "/srv/cinema/office",
        "office.sh",
        "tickets-by-day",
        "screens",
        "office.txt",
        "CIN+8",
        -480,
        REVIEW,
    ),
    World(
        "hostel",
        "hostel clerk",
        "hostel kiosk",
        "email",
        "/opt/hostel",
        "kiosk.sh",
        "rollday",
        "kiosk",
        "kiosk.txt",
        "HST-11",
        660,
        HANDOVER,
    ),
)
CRONS = (
    "Our cron reads {folder}/etc/crontab (user format, no user column). It starts a job as root with /bin/sh -c, "
    "in the directory /, with umask 077, nothing on "
    "standard input and only HOME, LOGNAME, SHELL=/bin/sh and PATH=/usr/bin:/bin set, plus the assignments in "
    "the crontab itself; like any cron it takes an "
    "unescaped % as the end of the command.",
    "{folder}/etc/crontab is what cron has (no user column). Jobs run as root: directory /, umask 077, empty "
    "standard input, /bin/sh -c, and an environment of HOME, LOGNAME, "
    "SHELL=/bin/sh, PATH=/usr/bin:/bin and whatever the crontab assigns. The usual rule for % applies.",
    "Jobs in {folder}/etc/crontab (minute, hour, day, month, weekday, command) are started by cron as root "
    "through /bin/sh -c from /, umask 077, without input; apart from "
    "assignments in that file they see HOME, LOGNAME, SHELL=/bin/sh and PATH=/usr/bin:/bin, no more. A % that is "
    "not escaped ends the command, as in every cron.",
)
WANTS = (
    "Started that way, the job must write {folder}/out/{report} exactly as a run by hand does, readable for "
    "everybody (mode 0644).",
    "A run under these conditions has to leave in {folder}/out/{report} the very text that a run by hand leaves, "
    "with file mode 0644.",
    "What cron starts shall give {folder}/out/{report}, mode 0644, equal to the last byte to what comes out by hand.",
)
DATAS = (
    "This holds for any files in {folder}/{spool}, not just the present ones.",
    "It has to be right for whatever lies in {folder}/{spool} on some later night as well.",
    "Next week {folder}/{spool} has other files with other names and times, which must work too.",
)
HANDS = (
    "The run by hand as described in {folder}/README must go on working.",
    "People will still do what {folder}/README says, with the same result as today.",
    "Do not break the way in {folder}/README: it is used every day.",
)
KEEPS = (
    "The crontab keeps this one job at its hour; {folder}/tools and {folder}/{spool} stay as they are.",
    "Do not change the schedule or add jobs, and leave {folder}/tools and {folder}/{spool} alone.",
    "One job, the same five time fields; nothing in {folder}/tools or {folder}/{spool} may be altered.",
)

README = """By hand:

    . {folder}/etc/profile.sh
    cd {folder}
    bash bin/{script}

The report is out/{report}: day (local), name, total, a line for each. At night cron does it, see etc/crontab.
"""
PROFILE = """# read by login shells on this machine
export PATH="$PATH:{folder}/tools"
export TZ="{zone}"
export LANG=C.UTF-8
umask 022
"""
SETTINGS_EASY = """MINIMUM={minimum}
export TZ="{zone}"
export LC_ALL=C.UTF-8
"""
SETTINGS_MEDIUM = "MINIMUM={minimum}\n"
CRONTAB = """# {thing}, nightly
MAILTO=ops
{schedule} {start}bin/{script} >> log/$(date +%Y-%m).log 2>&1
"""
MAIL = """Subject: Cron <root@{host}> {start}bin/{script} >> log/$(date +

/bin/sh: 1: Syntax error: end of file unexpected (expecting ")")
"""
SCRIPT_EASY = """#!/bin/bash
# {thing}: sums of every day and name
. etc/settings.sh
echo "run started"
{tool} -v minimum="$MINIMUM" {spool}/*.txt | sort > out/{report}
"""
SCRIPT_MEDIUM = """#!/bin/bash
# {thing}: sums of every day and name
source etc/settings.sh
files=({spool}/*.txt)
if [[ ${#files[@]} -eq 0 ]]; then
    echo "nothing to do"
    exit 0
fi
echo "run started, ${#files[@]} files"
{tool} -v minimum="$MINIMUM" "${files[@]}" | sort > out/{report}
"""
TOOL = r"""#!/usr/bin/awk -f
# epoch|name|cents in, one line per local day and name out; amounts below the minimum do not count
BEGIN { FS = "|" }
$3 >= minimum { total[strftime("%Y-%m-%d", $1) SUBSEP $2] += $3 }
END {
    for (key in total) {
        split(key, part, SUBSEP)
        printf "%s %-14s %10.2f\n", part[1], part[2], total[key] / 100
    }
}
"""

TESTS = r'''
import hashlib
import os
import re
import shutil
import subprocess

FOLDER = TRUTH["folder"]
REPORT = os.path.join(FOLDER, "out", TRUTH["report"])
SPOOL = os.path.join(FOLDER, TRUTH["spool"])


def crontab():
    """The assignments and the jobs (schedule, command) of the crontab."""
    settings, jobs = {}, []
    with open(os.path.join(FOLDER, "etc/crontab")) as source:
        for line in source:
            line = line.strip()
            given = re.match(r"(\w+)\s*=\s*(.*)$", line)
            if not line or line.startswith("#"):
                continue
            if given:
                settings[given[1]] = given[2].strip("\"'") if given[2][:1] in "\"'" else given[2]
            else:
                fields = line.split(None, 5)
                jobs.append((" ".join(fields[:5]), fields[5]))
    return settings, jobs


def as_cron():
    settings, jobs = crontab()
    env = {"HOME": "/root", "LOGNAME": "root", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", **settings}
    assert len(jobs) == 1, "there is not exactly one job"
    command, *rest = re.split(r"(?<!\\)%", jobs[0][1])
    fed = "".join(part + "\n" for part in rest).encode()
    command = command.replace("\\%", "%")
    if os.path.exists(REPORT):
        os.remove(REPORT)
    subprocess.run(
        [env["SHELL"], "-c", command], env=env, cwd="/", input=fed, capture_output=True, timeout=20, umask=0o077
    )


def text():
    assert os.path.exists(REPORT), "no report after a run from cron"
    with open(REPORT, encoding="utf-8") as source:
        return source.read()


def with_files(files, action):
    """Do something while other files are in the spool."""
    away = SPOOL + ".away"
    shutil.move(SPOOL, away)
    try:
        os.mkdir(SPOOL)
        for name, content in files.items():
            with open(os.path.join(SPOOL, name), "w", encoding="utf-8") as out:
                out.write(content)
        return action()
    finally:
        shutil.rmtree(SPOOL)
        shutil.move(away, SPOOL)


def test_night_run():
    as_cron()
    assert text() == TRUTH["present"], "the report of the present files differs"


def test_later_nights():
    for night in TRUTH["nights"]:
        with_files(night["files"], as_cron)
        assert text() == night["report"], "the report of other files differs"


def test_readable():
    as_cron()
    assert os.path.exists(REPORT), "no report after a run from cron"
    assert os.stat(REPORT).st_mode & 0o777 == 0o644
    assert text().strip(), "the report is empty"


def test_by_hand():
    env = {"HOME": "/root", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    script = ". %s/etc/profile.sh && cd %s && bash bin/%s" % (FOLDER, FOLDER, TRUTH["script"])
    command = ["/bin/bash", "-c", script]
    subprocess.run(command, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    assert text() == TRUTH["present"]


def test_schedule_and_inputs():
    jobs = crontab()[1]
    assert [schedule for schedule, _ in jobs] == [TRUTH["schedule"]]
    for path, digest in TRUTH["inputs"].items():
        with open(os.path.join(FOLDER, path), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
'''
INITIAL = """
import os


def test_job_is_there():
    for name in ("etc/crontab", "etc/profile.sh", "bin/" + TRUTH["script"], "README"):
        assert os.path.isfile(os.path.join(TRUTH["folder"], name)), name
"""

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

    cron, want, data, hand, keep = (fill(draw.pick(texts)) for texts in (CRONS, WANTS, DATAS, HANDS, KEEPS))
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
