"""What stays outside: the network, the host, and other sandboxes."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from containers.sandbox import BuiltImage, Engine, Feature, Sandbox, StartOptions
from tests.containers.conformance.common import LIMITS, await_sleeps, on_host, said
from tests.engines import needs

DANGEROUS = {
    "SYS_ADMIN": 21,
    "SYS_MODULE": 16,
    "SYS_RAWIO": 17,
    "SYS_PTRACE": 19,
    "NET_ADMIN": 12,
    "SYS_BOOT": 22,
    "SYS_TIME": 25,
}
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)"


def test_there_is_no_interface_but_the_sandboxs_own(calm: Sandbox) -> None:
    assert said(calm, "tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]


def test_the_host_and_the_world_cannot_be_reached(calm: Sandbox) -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        for address, answer in (
            ("127.0.0.1", "refused"),
            (_address_of_host(), "unreachable"),
            ("192.0.2.1", "unreachable"),
        ):
            result = calm.exec(["python3", "-c", CONNECT, address, str(port)], timeout=10)
            assert result.exit_code == 1 and answer in result.stderr.decode(), address


def _address_of_host() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks the routing table
        except OSError:
            return "192.0.2.2"
        return probe.getsockname()[0]


def test_the_sandboxs_own_loopback_works(calm: Sandbox) -> None:
    script = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('ok')"
    assert calm.exec(["python3", "-c", script], timeout=10).stdout == b"ok\n"


def test_named_sockets_of_the_host_cannot_be_reached(calm: Sandbox) -> None:
    name = f"termforge-conformance-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        script = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])"
        assert b"refused" in calm.exec(["python3", "-c", script, name], timeout=10).stderr


def test_the_name_of_the_machine(any_engine: Engine, built: BuiltImage, calm: Sandbox) -> None:
    assert said(calm, "hostname; uname -n") == "sandbox\nsandbox"
    with any_engine.start(built, LIMITS, StartOptions(hostname="mill", env={"EXTRA": "1"})) as sandbox:
        assert said(sandbox, "hostname; echo $EXTRA") == "mill\n1"


@pytest.mark.parametrize("user", ["root", "ada"])
def test_no_privileges_are_left(calm: Sandbox, user: str) -> None:
    status = dict(line.split(":", 1) for line in said(calm, "cat /proc/self/status", user=user).splitlines())
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    for kind in (
        ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb") if user == "root" else ("CapEff", "CapPrm", "CapAmb")
    ):
        held = int(status[kind], 16)
        assert not [name for name, bit in DANGEROUS.items() if held >> bit & 1], kind
        assert user == "root" or held == 0


# Settings of a sandbox's own namespaces, which may be its root's to change.
OWN_SETTINGS = "^/proc/sys/(net|user|fs/mqueue)/|^/proc/sys/kernel/(msg|shm|sem|auto_msgmni|ns_last_pid|pid_max|hostname|domainname)"
ATTEMPTS = {
    "mount": "mount -t tmpfs none /mnt",
    "make a user namespace": "unshare -Ur true",
    "make a disk": "mknod /tmp/disk b 8 0",
    "set where cores go": "echo core > /proc/sys/kernel/core_pattern",
    "speak to the kernel": "echo h > /proc/sysrq-trigger",
    "open a setting": f"for f in $(find /sys /proc/sys -writable -type f 2> /dev/null | grep -Ev '{OWN_SETTINGS}'); "
    "do : >> $f && exit; done; exit 1",
    "read memory": "head -c 1 /proc/kcore | grep -q .",
    "read the kernel's log": "dmesg",
    "change its root": "chroot / unshare -m true",
    "enter another's namespaces": "nsenter -t 1 -m true",
    "rename the machine": "hostname other",
    "set the clock": "date -s 2001-01-01",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_root_inside_cannot(calm: Sandbox, attempt: str) -> None:
    assert calm.exec(ATTEMPTS[attempt], timeout=20, user="root").exit_code not in (0, None)


def test_programs_with_a_set_user_bit_give_nothing(calm: Sandbox) -> None:
    calm.exec("cp /usr/bin/id /usr/bin/superid; chmod 4755 /usr/bin/superid", timeout=10, user="root")
    assert said(calm, "superid -u") == "1000"


def test_sandboxes_of_one_image_share_neither_files_nor_processes(any_engine: Engine, built: BuiltImage) -> None:
    with any_engine.start(built, LIMITS) as one, any_engine.start(built, LIMITS) as two:
        one.exec(
            f"for f in /tmp /srv /dev/shm /home/ada; do echo 1 > $f/mark; done; sleep 54 & {await_sleeps(1)}",
            timeout=10,
        )
        assert said(one, "ls /tmp/mark /srv/mark /dev/shm/mark /home/ada/mark | wc -l; pgrep -xc sleep") == "4\n1"
        assert (
            said(two, "ls /tmp/mark /srv/mark /dev/shm/mark /home/ada/mark 2>/dev/null | wc -l; pgrep -xc sleep")
            == "0\n0"
        )
    with any_engine.start(built, LIMITS) as three:
        assert said(three, "ls /srv/mark /tmp/mark 2>/dev/null | wc -l") == "0"


def test_processes_of_the_host_are_not_seen(calm: Sandbox) -> None:
    mark = f"58.{os.getpid()}"
    with subprocess.Popen(["/bin/sleep", mark]) as outside:
        try:
            assert mark not in said(calm, "ps -eo args; cat /proc/[0-9]*/cmdline", user="root")
        finally:
            outside.kill()


def test_root_inside_is_nobody_outside(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.ISOLATION)
    mark = f"59.{os.getpid()}"
    sandbox.exec(f"sleep {mark} > /dev/null 2>&1 & {await_sleeps(1)}", timeout=10, user="root")
    owners = {Path(f"/proc/{pid}").stat().st_uid for pid in on_host(mark.encode())}
    assert owners and 0 not in owners  # an ordinary user's sandboxes can be nobody else: `doctor` says whom
