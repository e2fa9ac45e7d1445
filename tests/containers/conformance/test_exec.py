"""Commands: how they start, what they say, how they end."""

from __future__ import annotations

import hashlib
import os
import pty
import time

import pytest

from containers.sandbox import BuiltImage, Engine, Feature, Sandbox, StartOptions
from tests.containers.conformance.common import LIMITS, await_sleeps, on_host, said
from tests.engines import needs

STANDARD = 0x7FFFFFFF  # the signals that are not the C library's own
GONE = "while pgrep -x sleep > /dev/null; do :; done"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("exit 1", 1),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        ("no-such-program", 127),
    ],
)
def test_exit_codes(calm: Sandbox, command: str, code: int) -> None:
    assert calm.exec(command, timeout=10).exit_code == code


def test_no_signal_is_ignored(calm: Sandbox) -> None:
    ignored, blocked = (int(mask, 16) for mask in said(calm, "grep -E 'SigIgn|SigBlk' /proc/self/status").split()[1::2])
    assert (ignored & STANDARD, blocked & STANDARD) == (0, 0)
    assert said(calm, "yes | head -1; echo ${PIPESTATUS[0]}") == "y\n141"


def test_a_program_has_no_descriptor_but_its_three(calm: Sandbox) -> None:
    assert calm.exec(["/bin/ls", "/proc/self/fd"], timeout=10).stdout.split() == [
        b"0",
        b"1",
        b"2",
        b"3",
    ]  # 3: the folder


def test_streams_stay_apart(calm: Sandbox) -> None:
    result = calm.exec("echo out; echo bad >&2; exit 9", timeout=10)
    assert (result.exit_code, result.stdout, result.stderr, result.truncated) == (9, b"out\n", b"bad\n", False)


def test_input_reaches_the_program_byte_for_byte(calm: Sandbox) -> None:
    data = bytes(range(256)) * 20_000
    assert calm.exec("sha256sum", timeout=20, stdin=data).stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert calm.exec("cat", timeout=10, stdin=b"\x00\xff\r\n\x04").stdout == b"\x00\xff\r\n\x04"


def test_without_input_there_is_nothing_to_read(calm: Sandbox) -> None:
    assert calm.exec("read x; echo $?", timeout=10).stdout == b"1\n"


def test_input_that_nobody_reads_does_not_matter(calm: Sandbox) -> None:
    assert calm.exec("exit 3", timeout=10, stdin=bytes(1 << 20)).exit_code == 3


def test_a_commands_own_environment(calm: Sandbox) -> None:
    result = calm.exec("echo $WORD,$MORE,$NEW", timeout=10, env={"WORD": "changed", "NEW": "a 'b' \"c\"\n$d"})
    assert result.stdout == b"changed,two words,a 'b' \"c\" $d\n"
    assert said(calm, "echo $WORD,$NEW") == "hello-there,"


def test_nothing_of_the_hosts_environment_gets_in(calm: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMFORGE_CONFORMANCE", "from the host")
    names = {line.split("=")[0] for line in said(calm, "env").splitlines()}
    allowed = {
        "WORD",
        "MORE",
        "LANG",
        "PATH",
        "HOME",
        "USER",
        "HOSTNAME",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "TERM",
        "container",
    }
    assert names <= allowed
    assert "TERMFORGE" not in said(calm, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'", user="root")


def test_the_folder_to_run_in(calm: Sandbox) -> None:
    assert calm.exec("pwd", timeout=10, cwd="/usr/bin").stdout == b"/usr/bin\n"
    assert calm.exec("pwd", timeout=10, cwd="/no/such").exit_code == 127


def test_the_user_by_name(calm: Sandbox) -> None:
    for user, answer in ((None, "1000 /home/ada"), ("ada", "1000 /home/ada"), ("root", "0 /root"), ("0", "0 /root")):
        assert said(calm, "echo $(id -u) $HOME", user=user) == answer


def test_words_go_to_the_program_as_they_are(calm: Sandbox) -> None:
    assert calm.exec(["printf", "%s|", "$HOME", "a b", "*", "'\"", ""], timeout=10).stdout == b"$HOME|a b|*|'\"||"


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program"])
def test_a_program_that_is_not_there(calm: Sandbox, program: str) -> None:
    result = calm.exec([program], timeout=10)
    assert result.exit_code == 127 and program in result.tail()


def test_a_flood_keeps_head_and_tail(calm: Sandbox) -> None:
    result = calm.exec("echo first; head -c 10M /dev/zero; echo last", timeout=30, output_limit=10_000)
    assert result.truncated and len(result.stdout) == 10_000
    assert result.stdout.startswith(b"first\n\0") and result.stdout.endswith(b"\0last\n")


def test_floods_on_both_streams_at_once(calm: Sandbox) -> None:
    result = calm.exec("head -c 4M /dev/zero >&2 & head -c 4M /dev/zero; wait", timeout=30, output_limit=5 << 20)
    assert (len(result.stdout), len(result.stderr), result.truncated) == (4 << 20, 4 << 20, False)


def test_binary_output_arrives_byte_for_byte(sandbox: Sandbox) -> None:
    result = sandbox.exec("head -c 3000001 /dev/urandom | tee /tmp/copy", timeout=30, output_limit=4 << 20)
    assert result.stdout == sandbox.get("/tmp/copy") and len(result.stdout) == 3_000_001


def test_a_deadline_ends_children_and_grandchildren_and_keeps_what_was_said(sandbox: Sandbox) -> None:
    result = sandbox.exec("echo early; sleep 77 & bash -c 'sleep 77 & sleep 77'", timeout=0.5)
    assert (result.exit_code, result.timed_out, result.stdout) == (None, True, b"early\n")
    assert sandbox.exec(GONE, timeout=10).exit_code == 0


def test_a_deadline_ends_what_ignores_signals(sandbox: Sandbox) -> None:
    assert sandbox.exec("trap '' TERM INT HUP; sleep 77; sleep 77; sleep 77", timeout=0.5).timed_out
    assert sandbox.exec(GONE, timeout=10).exit_code == 0


def test_background_processes_do_not_hold_up_a_command_and_live_on(sandbox: Sandbox) -> None:
    result = sandbox.exec("sleep 51 & sleep 52 & echo started", timeout=15)
    assert (result.exit_code, result.stdout) == (0, b"started\n")
    assert sandbox.exec(await_sleeps(2), timeout=10).exit_code == 0


def test_orphans_are_reaped(sandbox: Sandbox) -> None:
    sandbox.exec("(sleep 0 &) ; (sleep 0 & exit) ; setsid sleep 0 & true", timeout=10)
    assert sandbox.exec("while ps -eo stat | grep -q ^Z; do :; done", timeout=10).exit_code == 0


def test_all_processes_can_be_ended_and_files_stay(sandbox: Sandbox) -> None:
    mark = f"53.{os.getpid()}"
    sandbox.exec(
        f"echo kept > /tmp/kept; setsid sleep {mark} > /dev/null 2>&1 & sleep {mark} & {await_sleeps(2)}", timeout=10
    )
    assert on_host(mark.encode())
    sandbox.end_processes()
    assert not on_host(mark.encode())
    assert sandbox.get("/tmp/kept") == b"kept\n"


def test_a_terminal(any_engine: Engine, sandbox: Sandbox) -> None:
    needs(any_engine, Feature.TERMINAL)
    ours, theirs = pty.openpty()
    try:
        argv = ["/bin/bash", "-c", "[ -t 0 ] && [ -t 1 ] && echo terminal; sleep 60"]
        with sandbox.run(argv, (theirs, theirs, theirs), tty=True) as program:
            said = b""
            while not said.endswith(b"\n"):
                said += os.read(ours, 100)
            assert said == b"terminal\r\n"
            os.write(ours, b"\x03")
            assert program.exit_code(20) == 130
    finally:
        os.close(ours)
        os.close(theirs)


def test_another_time(any_engine: Engine, built: BuiltImage) -> None:
    needs(any_engine, Feature.CLOCK_SHIFT)
    year = 366 * 86_400
    with any_engine.start(built, LIMITS, StartOptions(clock_offset=year)) as sandbox:
        for user in (None, "root"):
            assert abs(int(said(sandbox, "date +%s", user=user)) - time.time() - year) < 3600
