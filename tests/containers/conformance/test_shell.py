"""The persistent shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from containers.sandbox import Sandbox
from containers.shell import NoShellError, Shell


@pytest.fixture
def shell(sandbox: Sandbox) -> Iterator[Shell]:
    with Shell(sandbox) as opened:
        yield opened


def test_state_lives_from_command_to_command(shell: Shell) -> None:
    shell.run("cd /srv; x=5; f() { echo f$1; }; export WORD=changed", 10)
    assert shell.run("pwd; echo $x; f 1; env | grep ^WORD", 10).stdout == b"/srv\n5\nf1\nWORD=changed\n"


def test_it_begins_as_the_images_user_in_its_folder(shell: Shell) -> None:
    assert shell.run("pwd; whoami; echo $HOME", 10).stdout == b"/srv/app/logs\nada\n/home/ada\n"


def test_programs_in_it_ignore_no_signal(shell: Shell) -> None:
    assert (
        shell.run("yes | head -1; echo ${PIPESTATUS[0]}; sh -c 'kill -INT $$'; echo $?", 10).stdout == b"y\n141\n130\n"
    )


def test_a_program_cannot_answer_in_the_shells_place(shell: Shell) -> None:
    forge = "for fd in 3 4 5 6 7 8 9 1{0..9} 255; do printf '0\\0' >&$fd; done 2>/dev/null"
    assert shell.run(f"bash -c {shlex.quote(forge)}; (exit 7)", 10).exit_code == 7
    assert shell.run("ls /proc/self/fd; (exit 8)", 10).stdout.split() == [b"0", b"1", b"2", b"3"]
    assert shell.run("(exit 9)", 10).exit_code == 9


def test_a_process_left_behind_does_not_hold_up_the_shells_end(shell: Shell) -> None:
    result = shell.run("sleep 50 & exit 3", 20)
    assert (result.exit_code, shell.restarts) == (3, 1) and result.seconds < 15


def test_it_can_be_roots(sandbox: Sandbox) -> None:
    with Shell(sandbox, user="root") as shell:
        assert shell.run("id -u; echo $HOME", 10).stdout == b"0\n/root\n"


def test_exit_codes_and_both_streams(shell: Shell) -> None:
    result = shell.run("echo out; echo err >&2; false", 10)
    assert (result.exit_code, result.stdout) == (1, b"out\nerr\n")


def test_output_cannot_pretend_to_be_the_end(shell: Shell) -> None:
    assert shell.run("printf '0\\0'; printf '0\\0' >&4; printf '0\\0' >&2; exit_code=7; (exit 7)", 10).exit_code == 7


def test_a_timeout_kills_the_command_and_the_shell_lives(shell: Shell) -> None:
    shell.run("x=kept", 10)
    assert shell.run("sleep 60 | sleep 60", 0.5).timed_out
    assert shell.run("echo $x; while pgrep -x sleep; do :; done", 10).stdout == b"kept\n"
    assert shell.restarts == 0


def test_a_shell_that_spins_is_started_again(shell: Shell) -> None:
    assert shell.run("while :; do :; done", 0.5).timed_out
    assert shell.run("echo back", 10).stdout == b"back\n"
    assert shell.restarts == 1


def test_leaving_the_shell_gives_its_code_and_a_new_one(shell: Shell) -> None:
    assert shell.run("exit 3", 10).exit_code == 3
    assert shell.run("echo back", 10).stdout == b"back\n"


def test_commands_do_not_wait_for_a_person(shell: Shell) -> None:
    assert shell.run("read answer; echo got:$answer; cat", 10).stdout == b"got:\n"


def test_a_background_process_does_not_hold_up(shell: Shell) -> None:
    assert shell.run("sleep 30 & echo started", 5).stdout == b"started\n"


def test_many_lines_quotes_and_binary(shell: Shell) -> None:
    assert shell.run("cat <<'X'\na 'b' \"c\" $d\nX\nprintf '\\377'", 10).stdout == b"a 'b' \"c\" $d\n\xff"


def test_a_syntax_error_is_a_result(shell: Shell) -> None:
    assert shell.run("if then", 10).exit_code != 0
    assert shell.run("echo ok", 10).stdout == b"ok\n"


def test_a_flood_of_output_is_cut_and_does_not_reach_the_next_command(shell: Shell) -> None:
    result = shell.run("echo first; head -c 10M /dev/zero; echo last", 30, output_limit=10_000)
    assert result.truncated and 9_900 < len(result.stdout) <= 10_000
    assert result.stdout.startswith(b"first\n\0") and result.stdout.endswith(b"\0last\n")
    assert shell.run("echo next", 10).stdout == b"next\n"


@pytest.mark.parametrize("command", ["exec > /tmp/out; echo gone", "exec 1>&- 2>&-", "exec 2> /tmp/err"])
def test_output_that_a_command_sends_away_comes_back_with_the_next(shell: Shell, command: str) -> None:
    assert shell.run(f"here=1; {command}", 10).stdout == b""
    assert shell.run("echo $here; echo 2 >&2", 10).stdout == b"1\n2\n"


def test_a_folder_that_is_gone_is_left_for_another(sandbox: Sandbox) -> None:
    with Shell(sandbox, user="root") as shell:
        shell.run("rm -rf /srv/app; exit", 10)
        assert shell.run("pwd", 10).stdout == b"/\n"


def test_where_no_shell_starts_that_is_said_and_the_sandbox_lives(sandbox: Sandbox) -> None:
    with Shell(sandbox, user="root") as shell:
        with pytest.raises(NoShellError):
            shell.run("mv /bin/bash /bin/gone; exit", 10)
        assert sandbox.exec(["/bin/gone", "-c", "echo here"], timeout=10).stdout == b"here\n"
