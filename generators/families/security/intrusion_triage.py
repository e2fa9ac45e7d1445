"""Triage a break-in from auth, web and audit logs: skewed clocks, rotated files, wiped hours, a licensed tester."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from generators.family import Draft, Draw, Family, Miss, Setting
from generators.task import Difficulty, Verifier
from generators.vocabulary import FIRST_NAMES, LAST_NAMES, login

PERIOD = 28_800  # eight hours of logs
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
ZONES = {"+0000": 0, "+0200": 7200, "-0500": -18000, "+0530": 19800}


@dataclass(frozen=True)
class World(Setting):
    """Words of one telling; `keys` are the names of the report's five parts."""

    folder: str
    report: str
    upload: str
    hosts: tuple[str, ...]
    keys: tuple[str, str, str, str, str]


SETTINGS = (
    World("hosting", "incident responder", "web host break-in", "ticket", "/srv/evidence", "/srv/evidence/triage.json",
          "/media/upload", ("www1", "build2", "store3", "vault4"),
          ("foothold", "accounts", "persistence", "silence", "timeline")),
    World("hospital", "information security officer", "hospital portal breach", "email", "/data/case-114",
          "/root/findings.json", "/portal/attachments", ("portal", "imaging", "archive", "pharmacy"),
          ("entry_point", "users", "implants", "quiet_span", "events")),
    World("university", "campus network admin", "campus intrusion", "note", "/home/soc/dump", "/home/soc/answer.json",
          "/courses/files", ("lms", "grades", "printsrv", "ldap"),
          ("first", "logins_as", "left_behind", "gap", "sequence")),
    World("shop", "platform engineer", "shop compromise", "specification", "/var/tmp/forensics", "/var/tmp/report.json",
          "/img/put", ("shopfront", "orders", "stock", "ledger"),
          ("initial_access", "compromised_accounts", "backdoors", "log_gap", "chronology")),
    World("newsroom", "on-call engineer", "newsroom intrusion", "chat", "/mnt/snap", "/mnt/result.json",
          "/desk/pictures", ("cms", "render", "feeds", "mailer"),
          ("beachhead", "accounts", "footholds_kept", "silence", "story")),
    World("port", "duty analyst", "port terminal incident", "runbook", "/opt/ir/logs", "/opt/ir/summary.json",
          "/berth/documents", ("gate", "crane", "customs", "yard"),
          ("entry", "identities", "planted", "hole", "log")),
    World("utility", "control room analyst", "utility operator break-in", "ticket", "/srv/ir/2231", "/srv/ir/2231.json",
          "/outage/photos", ("public", "meters", "historian", "jump"),
          ("patient_zero", "abused_accounts", "persistence", "missing_period", "trail")),
    World("publisher", "security consultant", "publisher breach", "email", "/work/acquired", "/work/conclusion.json",
          "/authors/manuscripts", ("edge", "typeset", "rights", "backup"),
          ("foothold", "who", "kept_access", "blackout", "course")),
)  # fmt: skip

VOICES = (
    "Case {case}: somebody got in. The logs we secured are under {folder}.\n\n{facts}\n\nWhat we "
    "need:\n{questions}\n\n{output}\n\n{guard}\n",
    "Hello,\n\nbefore the lawyers call at nine I need the facts of case {case}. A copy of every log lies in "
    "{folder}.\n\n{facts}\n\n"
    "{questions}\n\n{output}\n\n{guard}\n\nThank you\n{persona}\n",
    "{folder} = logs, case {case}.\n{facts}\n\n{output}\n\n{questions}\n{guard}\n",
    "Triage order {case}\n\nA. Evidence: {folder}\n{facts}\n\nB. Determinations\n{questions}\n\nC. "
    "Delivery\n{output}\n{guard}\n",
)

# Three wordings of every sentence; the serial decides which.
FACTS = {
    "layout": (
        "Each host has a directory named after it with auth.log and audit.log, older parts being auth.log.1 and "
        "auth.log.2{gz}; "
        "{web} also has access.log and access.log.1.",
        "There is a directory per host: audit.log, and auth.log with its rotated predecessors auth.log.1 and "
        "auth.log.2{gz}. Only {web} "
        "serves the web, its requests are in access.log and, earlier, access.log.1.",
        "Look per host for auth.log (rotated: auth.log.1, then auth.log.2{gz}) and audit.log, and on {web} for "
        "access.log with its older "
        "half access.log.1.",
    ),
    "stamps": (
        "auth.log is stamped in UTC without a year (it is {year}), access.log carries its zone offset, audit.log "
        "counts epoch seconds.",
        "Stamps: UTC, year {year} left out, in auth.log; with zone offset in access.log; epoch seconds in audit.log.",
        "The year missing in auth.log is {year} and its zone is UTC; web requests state their offset; audit records "
        "use the Unix epoch.",
    ),
    "clock": (
        "No clock was right: clocks.csv says by how many seconds a host's clock was ahead of true time (negative: "
        "behind), from the "
        "given reading of that same clock (UTC) on until the host's next row. This holds for all three kinds of log.",
        "Correct every stamp first. In clocks.csv ahead_s is the host's reading minus true time, valid for readings "
        "from since (as that "
        "clock showed it, UTC) up to the next row of the same host, in whichever log the stamp is.",
        "All logs of a host share its wrong clock; true time is the reading minus ahead_s of the row in clocks.csv "
        "that applies, which is "
        "the host's latest row whose since, itself a reading of that clock in UTC, is not after the stamp.",
    ),
    "hostile": (
        "An address is hostile at a given true time unless a network of networks.txt contains it or a row of "
        "tests.csv licenses it "
        "then (address, true start and end, both included).",
        "Friendly are addresses inside the networks of networks.txt, and those in tests.csv between their start and "
        "end (true time, "
        "inclusive); everything else is hostile.",
        "Treat as hostile whatever is neither in one of the networks listed in networks.txt nor, at that true time, "
        "covered by the "
        "penetration test permits of tests.csv (start and end count as covered).",
    ),
    "logins": (
        "The intruder's logins are the accepted SSH logins from a hostile address, and all accepted logins on any "
        "host with a key "
        "fingerprint that was used in one of those.",
        "Count as an intruder's login every Accepted line from a hostile address; any Accepted line showing the "
        "fingerprint of such a "
        "login is one too, wherever it comes from.",
        "A login belongs to the intruder if it was accepted from a hostile address or was made with a key "
        "(fingerprint) that such a "
        "login used, even from inside.",
    ),
    "sessions": (
        "The sshd process number ties a login to the session it opens; an audit record belongs to the session of "
        "that number which is "
        "open on the host at that moment{reboot}.",
        "Find a login's session by its sshd process number, and the session's file operations by ses in the audit "
        "log while that session "
        "is open on the host{reboot}.",
        "Accepted line and opened session share the sshd pid. Audit records name the session (ses) they happened in, "
        "on their host, "
        "between opening and closing{reboot}.",
    ),
}  # fmt: skip
QUESTIONS = {
    "entry": (
        "{a} is the intruder's first successful upload: the earliest POST to {upload} from a hostile address "
        "answered with a 2xx status.",
        "{a}: how it began, namely the hostile POST to {upload} with a 2xx answer that is earliest in true time.",
        "Under {a} put the earliest POST request for {upload} that came from a hostile address and got a status of "
        "200 to 299.",
    ),
    "accounts": (
        "{b} lists the accounts of the intruder's logins, each once, ascending.",
        "{b}: every account the intruder logged in as, sorted, without repetition.",
        "Under {b} name the accounts used in the intruder's logins (sorted, no duplicates).",
    ),
    "persistence": (
        "{c} lists what the intruder left: files written or created with success in an intruder's session below "
        "/etc/cron.d, "
        "/etc/systemd/system or /etc/sudoers.d, or named authorized_keys, unless a later successful unlink by the "
        "intruder removed them.",
        "{c}: files that survive from the intruder's sessions. Only successful write and create operations count, "
        "only below /etc/cron.d, "
        "/etc/systemd/system and /etc/sudoers.d or on files called authorized_keys, and a file the intruder "
        "successfully unlinks afterwards is gone.",
        "Under {c} give the still present plants: an operation write or create, successful, in a session of the "
        "intruder, on a path inside "
        "/etc/cron.d, /etc/systemd/system, /etc/sudoers.d or with the file name authorized_keys; not those the "
        "intruder unlinked later.",
    ),
    "silence": (
        "{d} is the longest span of true time between two neighbouring lines of one host's auth log, its parts taken "
        "together.",
        "{d}: somebody wiped lines. Find the longest true time without a line in any single host's auth log, over "
        "all its parts.",
        "Under {d} state where an auth log is silent for longest, in true time, treating a host's current and "
        "rotated parts as one log.",
    ),
    "timeline": (
        "{e} holds the intruder's acts in true order: every hostile 2xx POST to {upload} (upload), every login of "
        "the intruder (login), "
        "every such write or create, removed later or not (plant), every successful unlink of such a path in an "
        "intruder's session (remove).",
        "{e}: all of it in true order. Acts are upload (each hostile POST to {upload} answered 2xx), login (each "
        "intruder's login), plant (each "
        "successful write or create in those places, whether or not undone later) and remove (each successful unlink "
        "there by the intruder).",
        "Under {e} order by true time what the intruder did: upload for a 2xx POST to {upload} from a hostile "
        "address, login, plant for a "
        "write or create as above, also if taken away afterwards, and remove for a successful unlink of such a file.",
    ),
}  # fmt: skip
OUTPUT = (
    "Write {report}: one JSON object with the keys {a} (object: time, host, address), {b} (list of names), {c} (list "
    "of [host, path] pairs, "
    "ascending), {d} (object: host, start, end) and {e} (list of [time, host, act, object], where object is the "
    "source address of an "
    "upload, the account of a login, the path of a plant or remove). Times are true times like 2025-01-31T23:59:58Z, "
    "whole seconds "
    "(fractions cut off).",
    "The answer goes to {report} as a JSON object. {a}: object with time, host and address. {b}: list of strings. "
    "{c}: ascending list of "
    "two-element lists, host and path. {d}: object with host, start and end. {e}: list of four-element lists of "
    "time, host, act and "
    "object; the object is an address for upload, an account for login, a path for plant and remove. All times are "
    "corrected, UTC, in the form "
    "2025-01-31T23:59:58Z, with fractions of seconds dropped.",
    "{report} receives a single JSON object whose five members are {a}, an object of time, host, address; {b}, an "
    "array of account names; "
    "{c}, an array of [host, path] in ascending order; {d}, an object of host, start, end; {e}, an array of [time, "
    "host, act, object], object being "
    "what the act concerns: the uploading address, the account logged in as, the path planted or removed. Write true "
    "time as in 2025-01-31T23:59:58Z and truncate to the second.",
)  # fmt: skip
GUARD = (
    "Do not alter the evidence.",
    "Nothing of the secured logs may change.",
    "Leave every file of the acquisition as it is.",
)

TESTS = """
import gzip
import hashlib
from pathlib import Path

A = TRUTH["answer"]
NAMES = TRUTH["names"]


def part(number):
    return json.loads(Path(TRUTH["report"]).read_text())[NAMES[number]]


def test_entry_point():
    assert part(0) == A[0]


def test_accounts():
    assert part(1) == A[1]


def test_persistence():
    assert part(2) == A[2]


def test_silence():
    assert part(3) == A[3]


def test_timeline():
    assert part(4) == A[4]


def test_evidence_unchanged():
    for name, digest in TRUTH["inputs"].items():
        data = (Path(TRUTH["folder"]) / name).read_bytes()
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        assert hashlib.sha256(data).hexdigest() == digest, name
"""
INITIAL = """
from pathlib import Path


def test_logs_are_there_and_no_report():
    assert all((Path(TRUTH["folder"]) / name).is_file() for name in TRUTH["inputs"])
    assert not Path(TRUTH["report"]).exists()
"""


@dataclass
class Session:
    """An SSH session in true time; operations are (seconds after the start, op, path, result)."""

    start: int
    user: str
    source: str
    key: str
    length: int
    intruder: bool = False
    number: int = 0
    operations: list[tuple[int, str, str, str]] = field(default_factory=list[tuple[int, str, str, str]])


@dataclass
class Host:
    """A host with its logs in true time and the steps of its clock: (from which true second, seconds ahead)."""

    name: str
    address: str
    steps: list[tuple[int, int]]
    reboot: int
    sessions: list[Session] = field(default_factory=list[Session])
    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def reading(self, moment: int) -> int:
        """What its clock showed."""
        return moment + max(step for step in self.steps if step[0] <= moment)[1]


def stamp(moment: int) -> str:
    """ISO form of an epoch second."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def sha(text: str) -> str:
    """Hex sha256."""
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(draw: Draw) -> str:
    """A key fingerprint."""
    return "SHA256:" + "".join(draw.rng.choices(ALPHABET, k=43))


def background(
    draw: Draw, host: Host, start: int, users: list[tuple[str, str, str]], hole: tuple[int, int] | None
) -> None:
    """Staff sessions, cron lines and failures, never more than some ten minutes apart outside the hole."""
    moment = start + draw.between(5, 200)
    while moment < start + PERIOD:
        if not (hole and hole[0] - 320 <= moment <= hole[1]):
            kind = draw.between(0, 9)
            if kind < 4:
                user, source, key = draw.pick(users)
                session = Session(moment, user, source, key, draw.between(60, 140))
                if draw.chance(35):
                    place = draw.pick(("/etc/cron.d/", "/etc/systemd/system/", "/srv/app/", f"/home/{user}/"))
                    session.operations.append(
                        (20, draw.pick(("write", "create")), f"{place}{host.name}-{draw.between(10, 99)}", "success")
                    )
                host.sessions.append(session)
            elif kind < 7:
                host.lines.append(
                    (moment, f"CRON[{draw.between(900, 30000)}]: pam_unix(cron:session): session opened for user root")
                )
            else:
                address = f"{draw.pick(('45.9', '91.4', '193.7'))}.{draw.between(1, 250)}.{draw.between(1, 250)}"
                name = draw.pick(("root", "admin", "oracle", users[0][0]))
                host.lines.append(
                    (
                        moment,
                        f"sshd[{draw.between(900, 30000)}]: Failed password for {name} from {address} port "
                        f"{draw.between(2000, 65000)} ssh2",
                    )
                )
        moment += draw.between(190, 590)
    if hole:
        host.lines += [
            (edge, f"CRON[{draw.between(900, 30000)}]: pam_unix(cron:session): session opened for user root")
            for edge in hole
        ]


def number_sessions(host: Host) -> None:
    """Give numbers in order; they start again at the reboot. A staff session with an intruder's number plants too."""
    counter, rebooted = 0, False
    host.sessions.sort(key=lambda session: session.start)
    for session in host.sessions:
        if host.reboot and not rebooted and session.start > host.reboot:
            counter, rebooted = 0, True
        counter += 1
        session.number = counter
    taken = {session.number for session in host.sessions if session.intruder}
    for session in host.sessions:
        if not session.intruder and session.number in taken:
            session.operations.append((30, "create", f"/etc/cron.d/rotate-{session.number}", "success"))


def render(draw: Draw, host: Host) -> tuple[list[tuple[int, str]], str]:
    """The auth lines in true order and the audit log."""
    lines = list(host.lines)
    audit: list[tuple[int, str]] = []
    serial = draw.between(100, 900)
    for session in host.sessions:
        pid, end = draw.between(900, 30000), session.start + session.length
        how = f"publickey for {session.user}" if session.key else f"password for {session.user}"
        proof = f" ssh2: ED25519 {session.key}" if session.key else " ssh2"
        lines.append(
            (
                session.start,
                f"sshd[{pid}]: Accepted {how} from {session.source} port {draw.between(2000, 65000)}{proof}",
            )
        )
        lines.append((session.start + 1, f"sshd[{pid}]: session {session.number} opened for user {session.user}"))
        lines.append((end, f"sshd[{pid}]: session {session.number} closed for user {session.user}"))
        for offset, op, path, result in session.operations:
            serial += draw.between(1, 9)
            moment = session.start + offset
            head = f"type=FILE msg=audit({host.reading(moment)}.{draw.between(100, 999)}:{serial}): "
            audit.append(
                (moment, f'{head}ses={session.number} '
                 f'auid="{session.user}" op={op} name="{path}" res={result}')
            )  # fmt: skip
    lines.sort()
    return lines, "".join(f"{text}\n" for _, text in sorted(audit))


@dataclass
class Case:
    """What was drawn: files, the answer's five parts, knobs of interest."""

    files: dict[str, str]
    answer: list[object]
    year: int


def plan_attack(
    draw: Draw, hosts: list[Host], begin: int, hostile: list[str], users: list[str]
) -> list[tuple[int, str, str, str]]:
    """Put the intruder's sessions on the hosts and return the acts they amount to."""
    key = fingerprint(draw)
    acts: list[tuple[int, str, str, str]] = []
    moment = begin + draw.between(420, 800)
    places = draw.shuffled(("/etc/cron.d/", "/etc/systemd/system/", "/etc/sudoers.d/"))
    words = draw.sample(
        ("dbus-sync", "logcheck", "netprobe", "sysstat-q", "apt-poll", "tzupdate", "fwupd-x", "man-idx", "kmodd"), 9
    )
    for number, host in enumerate(hosts):
        user = users[number % len(users)]
        last = number == 3  # the fourth login comes from outside with a password
        source = hostile[0] if number == 0 else hostile[1] if last else hosts[number - 1].address
        session = Session(moment, user, source, "" if last else key, draw.between(700, 850), intruder=True)
        kept, gone = places[number % 3] + words[2 * number], places[(number + 1) % 3] + words[2 * number + 1]
        session.operations = [
            (draw.between(10, 40), "create", "/tmp/." + words[8], "success"),
            (draw.between(50, 90), "create", kept, "success"),
            (draw.between(100, 150), "write", gone, "success"),
            (draw.between(160, 200), "write", f"{places[2]}base-{number}", "failed"),
            (draw.between(300, 390), "unlink", gone, "success"),
            (draw.between(400, 480), "unlink", kept, "failed"),
        ]
        if number != 1:
            session.operations.append(
                (draw.between(210, 290), "write", f"/home/{user}/.ssh/authorized_keys", "success")
            )
        host.sessions.append(session)
        acts.append((moment, host.name, "login", user))
        for offset, op, path, result in session.operations:
            if result == "success" and not path.startswith("/tmp"):
                acts.append((moment + offset, host.name, "remove" if op == "unlink" else "plant", path))
        if host.reboot:
            host.reboot = moment - 900
            host.lines.append((host.reboot, "kernel: Linux version 6.1.0-18-amd64 booted"))
        moment += draw.between(900, 1400)
    return acts


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


def access_logs(host: Host, requests: list[tuple[int, str, str, str, int]], zone: str, cut: int) -> dict[str, str]:
    """The web log in two parts."""
    parts = {f"{host.name}/access.log.1": "", f"{host.name}/access.log": ""}
    for moment, source, verb, path, status in requests:
        local = datetime.fromtimestamp(host.reading(moment) + ZONES[zone], UTC)
        name = f"{host.name}/access.log" + (".1" if moment < cut else "")
        parts[name] += (
            f'{source} - - [{local:%d/%b/%Y:%H:%M:%S} {zone}] "{verb} {path} HTTP/1.1" {status} {moment % 7919}\n'
        )
    return parts


def phrase(draw: Draw, table: dict[str, tuple[str, str, str]], fill: Callable[[str], str]) -> dict[str, str]:
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


PYTHON = """cd {folder} && python3 - <<'PY'
import csv, glob, gzip, ipaddress, json, re
from datetime import datetime, timezone
AHEAD = 1
iso = lambda t: datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
epoch = lambda s: int(datetime.strptime(s, "%Y-%m-%dT%H:%M:%S%z").timestamp())
steps = {{}}
for r in csv.DictReader(open("clocks.csv")):
    steps.setdefault(r["host"], []).append((epoch(r["since"]), int(r["ahead_s"])))
def true(host, t):
    return t - AHEAD * max(s for s in steps[host] if s[0] <= t)[1]
nets = [ipaddress.ip_network(x.strip()) for x in open("networks.txt") if x.strip()]
permits = [(r["address"], epoch(r["start"]), epoch(r["end"])) for r in csv.DictReader(open("tests.csv"))]
def hostile(ip, t):
    return not any(ipaddress.ip_address(ip) in n for n in nets) and not any(
        ip == a and s <= t <= e for a, s, e in permits)
def lines(pattern):
    for p in glob.glob(pattern):
        with (gzip.open(p, "rt") if p.endswith(".gz") else open(p)) as f:
            yield from f
acts, logins, opened, closed, silence = [], [], {{}}, {{}}, (0,)
for host in steps:
    seen = []
    for l in lines(host + "/" + "auth.log*"):
        t = true(host, int(datetime.strptime("{year} " + l[:15] + " +0000", "%Y %b %d %H:%M:%S %z").timestamp()))
        seen.append(t)
        if m := re.search(r"sshd\\[(\\d+)\\]: Accepted \\S+ for (\\S+) from (\\S+) port \\d+ ssh2(: \\S+ (\\S+))?", l):
            logins.append((t, host, m[1], m[2], m[3], m[5]))
        elif m := re.search(r"sshd\\[(\\d+)\\]: session (\\d+) (opened|closed) ", l):
            (opened if m[3] == "opened" else closed).setdefault((host, m[1]), []).append((t, m[2]))
    seen.sort()
    for a, b in zip(seen, seen[1:]):
        silence = max(silence, (b - a, host, a, b))
keys = set()
for t, host, pid, user, ip, key in logins:
    if hostile(ip, t) and key:
        keys.add(key)
bad, accounts = [], set()
for t, host, pid, user, ip, key in logins:
    if hostile(ip, t) or key in keys:
        acts.append((t, host, "login", user))
        accounts.add(user)
        start, number = min(x for x in opened[host, pid] if x[0] >= t)
        bad.append((host, number, start, min(x for x in closed[host, pid] if x[0] >= start and x[1] == number)[0]))
left = set()
for host in steps:
    records = []
    for l in lines(host + "/audit.log*"):
        m = re.search(r'audit\\((\\d+)\\.\\d+:\\d+\\): ses=(\\d+) auid="[^"]*" op=(\\S+) name="([^"]*)" res=(\\S+)', l)
        records.append((true(host, int(m[1])), m[2], m[3], m[4], m[5]))
    for t, ses, op, path, res in sorted(records):
        if res != "success" or not any(h == host and n == ses and s <= t <= e for h, n, s, e in bad):
            continue
        if not re.match(r"/etc/(cron\\.d|systemd/system|sudoers\\.d)/|.*/authorized_keys$", path):
            continue
        if op == "unlink":
            left.discard((host, path))
        else:
            left.add((host, path))
        acts.append((t, host, "remove" if op == "unlink" else "plant", path))
for host in steps:
    for l in lines(host + "/access.log*"):
        ip, when, verb, path, status = re.match(r'(\\S+) .*\\[([^]]+)\\] "(\\S+) (\\S+) [^"]*" (\\d+)', l).groups()
        t = true(host, int(datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").timestamp()))
        if verb == "POST" and path == "{upload}" and status[0] == "2" and hostile(ip, t):
            acts.append((t, host, "upload", ip))
acts.sort()
first = [x for x in acts if x[2] == "upload"][0]
json.dump({{
    "{a}": {{"time": iso(first[0]), "host": first[1], "address": first[3]}},
    "{b}": sorted(accounts),
    "{c}": sorted([h, p] for h, p in left),
    "{d}": {{"host": silence[1], "start": iso(silence[2]), "end": iso(silence[3])}},
    "{e}": [[iso(x[0]), *x[1:]] for x in acts],
}}, open("{report}", "w"), indent=1)
PY
"""
AWK = """cd {folder}
export TZ=UTC LC_ALL=C
work=$(mktemp -d)
# one table of all stamps: host, kind, epoch reading, rest
for host in $(tail -n +2 clocks.csv | cut -d, -f1 | sort -u); do
  for f in $host/auth.log*; do zcat -f "$f"; done | sed "s|^|$host\\tauth\\t|"
  cat $host/audit.log | sed "s|^|$host\\taudit\\t|"
  cat $host/access.log* 2>/dev/null | sed "s|^|$host\\tweb\\t|"
done > $work/all
gawk -F'\\t' '
BEGIN {{ split("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", x, " "); for (i in x) mon[x[i]] = i
  while ((getline l < "clocks.csv") > 0) if (split(l, c, ",") == 3 && c[1] != "host") {{
    n++; H[n] = c[1]; S[n] = iso(c[2]); A[n] = c[3] }} }}
function iso(s) {{ gsub(/[-T:Z]/, " ", s); return mktime(s) }}
function fix(h, t,  i, best, a) {{ best = -1; for (i = 1; i <= n; i++)
  if (H[i] == h && S[i] <= t && S[i] > best) {{ best = S[i]; a = A[i] }} return t - a }}
$2 == "auth" {{ split(substr($3, 1, 15), p, /[ :]+/)
  t = mktime("{year} " mon[p[1]] " " p[2] " " p[3] " " p[4] " " p[5]) }}
$2 == "audit" {{ match($3, /audit\\(([0-9]+)/, m); t = m[1] + 0 }}
$2 == "web" {{ match($3, /\\[(..)\\/(...)\\/(....):(..):(..):(..) ([-+])(..)(..)\\]/, m)
  t = mktime(m[3] " " mon[m[2]] " " m[1] " " m[4] " " m[5] " " m[6]) - (m[7] "1") * (m[8] * 3600 + m[9] * 60) }}
{{ print fix($1, t) "\\t" $1 "\\t" $2 "\\t" $3 }}' $work/all | sort -n -s > $work/true
gawk -F'\\t' -v OFS='\\t' '
BEGIN {{ while ((getline l < "networks.txt") > 0) if (split(l, c, "/") == 2) {{
    k++; N[k] = num(c[1]); D[k] = 2 ^ (32 - c[2]) }}
  while ((getline l < "tests.csv") > 0) if (split(l, c, ",") == 3 && c[1] != "address") {{
    q++; P[q] = c[1]; F[q] = iso(c[2]); U[q] = iso(c[3]) }} }}
function iso(s) {{ gsub(/[-T:Z]/, " ", s); return mktime(s) }}
function num(s,  o) {{ split(s, o, "."); return ((o[1] * 256 + o[2]) * 256 + o[3]) * 256 + o[4] }}
function bad(ip, t,  i) {{ for (i = 1; i <= k; i++) if (int(num(ip) / D[i]) == int(N[i] / D[i])) return 0
  for (i = 1; i <= q; i++) if (P[i] == ip && F[i] <= t && t <= U[i]) return 0; return 1 }}
NR == FNR {{
  if ($3 == "auth" && match($4, /Accepted .* from ([0-9.]+) .*(SHA256:.*)/, m) && bad(m[1], $1)) key[m[2]] = 1; next }}
$3 == "auth" {{
  if (last[$2] && $1 - last[$2] > span) {{ span = $1 - last[$2]; where = $2; from = last[$2]; to = $1 }}
  last[$2] = $1
  if (match($4, /sshd\\[([0-9]+)\\]: Accepted [a-z]+ for ([^ ]+) from ([0-9.]+)/, m)) {{
    fp = match($4, /SHA256:.*/) ? substr($4, RSTART) : "-"
    if (bad(m[3], $1) || fp in key) {{ print $1, $2, "login", m[2]; mine[$2, m[1]] = 1 }} else delete mine[$2, m[1]]
  }} else if (match($4, /sshd\\[([0-9]+)\\]: session ([0-9]+) (opened|closed)/, m) && (($2, m[1]) in mine))
    {{ if (m[3] == "opened") live[$2, m[2]] = 1; else delete live[$2, m[2]] }}
}}
$3 == "audit" && / res=success$/ && match($4, /ses=([0-9]+) .* op=([a-z]+) name="([^"]*)"/, m) &&
  (($2, m[1]) in live) && m[3] ~ /^\\/etc\\/(cron\\.d|systemd\\/system|sudoers\\.d)\\/|\\/authorized_keys$/ {{
  print $1, $2, (m[2] == "unlink" ? "remove" : "plant"), m[3] }}
$3 == "web" && match($4, /^([0-9.]+) .*"POST ([^ ]+) [^"]*" 2/, m) && m[2] == "{upload}" && bad(m[1], $1) {{
  print $1, $2, "upload", m[1] }}
END {{ print from, where, "silence", to }}' $work/true $work/true > $work/acts
jq -nR '[inputs | split("\\t") | [(.[0] | tonumber), .[1], .[2], .[3]]] | (map(select(.[2] == "silence"))[0]) as $s
  | (map(select(.[2] != "silence")) | sort) as $a | ($a | map(select(.[2] == "upload"))[0]) as $f | {{
  "{a}": {{time: ($f[0] | todate), host: $f[1], address: $f[3]}},
  "{b}": ($a | map(select(.[2] == "login")[3]) | unique),
  "{c}": ([$a | map(select(.[2] == "plant" or .[2] == "remove")) | group_by([.[1], .[3]])[]
    | last | select(.[2] == "plant") | [.[1], .[3]]] | sort),
  "{d}": {{host: $s[1], start: ($s[0] | todate), end: ($s[3] | tonumber | todate)}},
  "{e}": ($a | map([(.[0] | todate), .[1], .[2], .[3]]))}}' $work/acts > {report}
rm -r $work
"""

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
