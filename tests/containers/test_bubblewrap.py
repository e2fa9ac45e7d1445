"""What a sandbox does and what it keeps from whatever runs in it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.engines.bubblewrap.engine import BubblewrapEngine, BubblewrapSandbox
from containers.sandbox import BuildFailure, BuiltImage, PutFile
from generators.task import ContextFile, Image, Limits
from tests.toys import dockerfile

LIMITS = Limits(memory_mb=128, disk_mb=32, pids=64)
BODY = """
ARG GREETING=hello
ENV WORD=$GREETING-there MORE="two words"
RUN useradd -m -u 1000 ada && groupadd -g 1500 crew && usermod -aG crew ada
COPY --chown=ada:ada --chmod=640 tool data/ /srv/app/
ADD tool /usr/local/bin/tool
WORKDIR /srv/app
WORKDIR logs
CMD ["sleep", "1"]
USER ada
"""


@pytest.fixture(scope="module")
def built(engine: BubblewrapEngine) -> BuiltImage:
    files = (
        ContextFile.of("tool", "#!/bin/sh\necho ran\n", 0o755),
        ContextFile.of("data/x.bin", bytes(range(256)), 0o600),
    )
    return engine.build(Image(dockerfile=dockerfile(BODY), files=files), LIMITS)


@pytest.fixture
def sandbox(engine: BubblewrapEngine, built: BuiltImage) -> Iterator[BubblewrapSandbox]:
    with engine.start(built, LIMITS) as opened:
        yield opened


def said(sandbox: BubblewrapSandbox, command: str, **options: str) -> str:
    return sandbox.exec(command, timeout=20, user=options.get("user")).stdout.decode().strip()


def test_image_settings_reach_commands(sandbox: BubblewrapSandbox) -> None:
    assert said(sandbox, "pwd; whoami; id -G").split("\n") == ["/srv/app/logs", "ada", "1000 1500"]
    assert said(sandbox, "echo $WORD,$MORE,$HOME") == "hello-there,two words,/home/ada"


def test_copies_keep_bytes_modes_and_owner(sandbox: BubblewrapSandbox) -> None:
    assert said(sandbox, "stat -c '%a %U' /srv/app/tool /usr/local/bin/tool; tool").split("\n") == [
        "640 ada",
        "755 root",
        "ran",
    ]
    assert sandbox.get("/srv/app/x.bin") == bytes(range(256))


def test_noted_instructions_are_said(built: BuiltImage) -> None:
    assert built.notes == ("CMD is noted, not run",)


def test_layers_are_cached(engine: BubblewrapEngine) -> None:
    image = Image(dockerfile=dockerfile("RUN date +%N > /stamp\n"))
    assert engine.build(image, LIMITS).layers == engine.build(image, LIMITS).layers


def test_changing_a_file_changes_the_image(engine: BubblewrapEngine) -> None:
    one, two = (
        engine.build(Image(dockerfile=dockerfile("COPY a /a\n"), files=(ContextFile.of("a", text),)), LIMITS)
        for text in "12"
    )
    assert one.digest != two.digest


def test_a_failing_build_says_which_step_and_why(engine: BubblewrapEngine) -> None:
    with pytest.raises(BuildFailure) as caught:
        engine.build(Image(dockerfile=dockerfile("RUN echo the-reason >&2; exit 7\n")), LIMITS)
    assert "ended with 7" in caught.value.step and "the-reason" in caught.value.output


def test_a_build_that_hangs_is_ended(engine: BubblewrapEngine) -> None:
    with pytest.raises(BuildFailure) as caught:
        engine.build(Image(dockerfile=dockerfile("RUN sleep 60\n")), Limits(build_seconds=1))
    assert caught.value.reason == "build_timeout"


def test_streams_and_exit_code(sandbox: BubblewrapSandbox) -> None:
    result = sandbox.exec("cat; echo bad >&2; exit 9", timeout=10, stdin=b"\x00\xff in")
    assert (result.exit_code, result.stdout, result.stderr) == (9, b"\x00\xff in", b"bad\n")


def test_a_flood_of_output_keeps_head_and_tail(sandbox: BubblewrapSandbox) -> None:
    result = sandbox.exec("echo first; head -c 3000000 /dev/zero; echo last", timeout=20, output_limit=10_000)
    assert result.truncated and len(result.stdout) == 10_000
    assert result.stdout.startswith(b"first") and result.stdout.endswith(b"last\n")


def test_a_timeout_kills_the_whole_process_group(sandbox: BubblewrapSandbox) -> None:
    began = time.monotonic()
    assert sandbox.exec("sleep 77 & sleep 77", timeout=0.3).timed_out
    assert time.monotonic() - began < 5
    assert said(sandbox, "pgrep -c sleep; true") == "0"


def test_background_processes_live_on_and_are_reaped(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec("nohup sleep 50 > /dev/null 2>&1 & (sleep 0 &) ; true", timeout=10)
    assert said(sandbox, "pgrep -c sleep") == "1"
    assert said(sandbox, "ps -eo stat | grep -c Z; true") == "0"


def test_put_get_and_changed_paths(sandbox: BubblewrapSandbox) -> None:
    sandbox.put([PutFile("/srv/new/deep.txt", b"x", 0o600, 1000, 1000)])
    sandbox.exec("rm /srv/app/tool; ln -s /etc/passwd /srv/link", timeout=10, user="root")
    assert said(sandbox, "stat -c '%a %U' /srv/new/deep.txt") == "600 ada"
    assert {"/srv/new/deep.txt", "/srv/app/tool", "/srv/link"} <= set(sandbox.changed_paths())


def test_sandboxes_of_one_image_do_not_share_changes(engine: BubblewrapEngine, built: BuiltImage) -> None:
    with engine.start(built, LIMITS) as one, engine.start(built, LIMITS) as two:
        one.exec("echo 1 > /tmp/mark", timeout=10)
        assert said(two, "cat /tmp/mark 2>&1; true").endswith("No such file or directory")


def test_there_is_no_network(sandbox: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "Connection refused" in said(sandbox, f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1")
    assert said(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]


def test_root_inside_is_nobody_outside(sandbox: BubblewrapSandbox, engine: BubblewrapEngine) -> None:
    sandbox.exec("touch /tmp/mine", timeout=10, user="root")
    mapped = said(sandbox, "cat /proc/self/uid_map").split()
    assert mapped[1] == str(engine.ids.uid0) and (os.geteuid() != 0 or int(mapped[1]) > 65535)


@pytest.mark.parametrize(
    "attempt",
    [
        "mount -t tmpfs none /mnt",
        "unshare -Ur true",
        "mknod /tmp/disk b 8 0",
        "echo core > /proc/sys/kernel/core_pattern",
        "dmesg",
        "chroot / unshare -m true",
        "nsenter -t 1 -m true",
        "hostname other",
        "date -s 2001-01-01",
    ],
)
def test_root_inside_cannot(sandbox: BubblewrapSandbox, attempt: str) -> None:
    assert sandbox.exec(attempt, timeout=10, user="root").exit_code != 0


def test_ordinary_users_gain_nothing_from_setuid_programs(sandbox: BubblewrapSandbox) -> None:
    sandbox.exec("cp /usr/bin/id /usr/bin/superid; chmod 4755 /usr/bin/superid", timeout=10, user="root")
    assert said(sandbox, "superid -u") == "1000"


def test_memory_is_limited(sandbox: BubblewrapSandbox, engine: BubblewrapEngine) -> None:
    if "memory" not in engine.hierarchy.roots:
        pytest.skip("no memory control group on this machine")
    assert sandbox.exec("python3 -c 'x = bytearray(400 << 20)'", timeout=30).exit_code == 137


def test_processes_are_limited(sandbox: BubblewrapSandbox) -> None:
    assert (
        "Resource temporarily unavailable"
        in sandbox.exec("for i in $(seq 99); do sleep 9 & done", timeout=30).stderr.decode()
    )


def test_disk_is_limited(sandbox: BubblewrapSandbox) -> None:
    assert "No space left" in sandbox.exec("head -c 64M /dev/zero > /tmp/big", timeout=30).stderr.decode()


def test_nothing_is_left_after_close(engine: BubblewrapEngine, built: BuiltImage) -> None:
    before = len(os.listdir("/proc/self/fd"))
    sandbox = engine.start(built, LIMITS)
    sandbox.exec("setsid sleep 99 > /dev/null 2>&1 &", timeout=10)
    sandbox.close()
    assert len(os.listdir("/proc/self/fd")) == before
    cmdlines = [Path(f"/proc/{pid}/cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
    assert not any(b"sleep\x0099" in path.read_bytes() for path in cmdlines if path.exists())
    deadline = time.monotonic() + 5
    keeper, children = {sandbox.slot.warden.process.pid}, 2  # those that wait for the next request
    while sandbox.slot.group and len(sandbox.slot.group.pids() - keeper) > children and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sandbox.slot.group is None or len(sandbox.slot.group.pids() - keeper) <= children
