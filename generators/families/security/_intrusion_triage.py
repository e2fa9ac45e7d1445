"""Hosts with wrong clocks, sessions of staff and intruder, and the logs they leave."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

from generators.family import Draw

PERIOD = 28_800  # eight hours of logs

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

ZONES = {"+0000": 0, "+0200": 7200, "-0500": -18000, "+0530": 19800}


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


@dataclass
class Case:
    """What was drawn: files, the answer's five parts, knobs of interest."""

    files: dict[str, str]
    answer: list[object]
    year: int


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
