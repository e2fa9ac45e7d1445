"""What a Dockerfile means, the same in every engine."""

from __future__ import annotations

import os
import socket
import time

import pytest

from containers.sandbox import BuildFailure, BuiltImage, Engine, Feature, Sandbox
from generators.task import ContextFile, Image, Limits
from tests.containers.conformance.common import LIMITS, on_host, said, soon
from tests.engines import NAMES, needs
from tests.toys import dockerfile


def image(body: str, *files: ContextFile) -> Image:
    return Image(dockerfile=dockerfile(body), files=files)


def test_image_settings_reach_commands(calm: Sandbox) -> None:
    assert said(calm, "pwd; whoami; id -G").split("\n") == ["/srv/app/logs", "ada", "1000 1500"]
    assert said(calm, "echo $WORD,$MORE,$HOME,$USER,$LANG") == "hello-there,two words,/home/ada,ada,C.UTF-8"


def test_copies_keep_bytes_modes_and_owner(calm: Sandbox) -> None:
    assert said(calm, "stat -c '%a %U:%G' /srv/app/tool /srv/app/x.bin /usr/local/bin/tool; tool").split("\n") == [
        "640 ada:ada",
        "640 ada:ada",
        "755 root:root",
        "ran",
    ]
    assert calm.get("/srv/app/x.bin") == bytes(range(256))


def test_a_copy_without_a_mode_keeps_the_files_own(any_engine: Engine) -> None:
    files = (ContextFile.of("bin/run", "x", 0o755), ContextFile.of("bin/secret", "x", 0o600))
    with any_engine.start(any_engine.build(image("COPY bin /opt/deep/bin\n", *files), LIMITS), LIMITS) as sandbox:
        assert said(sandbox, "stat -c '%a %u' /opt/deep/bin/run /opt/deep/bin/secret") == "755 0\n600 0"


def test_a_copy_onto_a_folder_goes_into_it(any_engine: Engine) -> None:
    body = "RUN mkdir -p /srv/a/b && ln -s b /srv/a/c\nCOPY x/one.txt /srv/a/b\nCOPY x/two.txt /srv/a/c\n"
    files = [ContextFile.of(f"x/{name}.txt", name) for name in ("one", "two")]
    with any_engine.start(any_engine.build(image(body, *files), LIMITS), LIMITS) as sandbox:
        assert (
            said(sandbox, "cd /srv/a/b && head -c 9 *.txt && readlink ../c")
            == "==> one.txt <==\none\n==> two.txt <==\ntwob"
        )


def test_a_copy_that_cannot_be_is_the_dockerfiles_fault(any_engine: Engine) -> None:
    with pytest.raises(BuildFailure):
        any_engine.build(image("RUN touch /file\nCOPY x /file/below/x\n", ContextFile.of("x", "x")), LIMITS)
    if any_engine.name != "podman":  # whose builder lets that pass
        with pytest.raises(BuildFailure):
            any_engine.build(image("RUN touch /file\nWORKDIR /file\n"), LIMITS)


def test_the_image_says_who_runs_in_it_and_where(built: BuiltImage) -> None:
    assert (built.user, built.uid, built.gid, built.groups) == ("ada", 1000, 1000, (1500,))
    assert (built.workdir, built.home, built.env["WORD"]) == ("/srv/app/logs", "/home/ada", "hello-there")


def test_cmd_is_noted_and_not_run(built: BuiltImage, calm: Sandbox) -> None:
    assert built.notes == ("CMD is noted, not run",)
    assert said(calm, "ps -eo args | grep -c '^sleep 1$'; true") == "0"


def test_a_second_build_runs_nothing_again(any_engine: Engine) -> None:
    stamps: set[bytes] = set()
    for _ in range(2):
        built = any_engine.build(image("RUN date +%s%N > /stamp\n"), LIMITS)
        with any_engine.start(built, LIMITS) as sandbox:
            stamps.add(sandbox.get("/stamp"))
    assert len(stamps) == 1


def test_a_changed_file_changes_the_image(any_engine: Engine) -> None:
    one, two = (any_engine.build(image("COPY a /a\n", ContextFile.of("a", text)), LIMITS) for text in "12")
    assert one.digest != two.digest


def test_exec_form_and_shell(any_engine: Engine) -> None:
    body = 'RUN ["touch", "/a b"]\nSHELL ["/bin/bash", "-c"]\nRUN [[ a == a* ]] && echo $0 > /shell\n'
    with any_engine.start(any_engine.build(image(body), LIMITS), LIMITS) as sandbox:
        assert said(sandbox, "ls -d '/a b'; cat /shell") == "/a b\n/bin/bash"


def test_a_build_marked_offline_reaches_nobody(any_engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' 2>/dev/null"
        words: list[str] = []
        for mark in ("", "# termforge:offline\n"):
            body = f"RUN if {reach}; then echo reached; else echo alone; fi > /srv/word; : {len(words)}\n"
            built = any_engine.build(Image(dockerfile=mark + dockerfile(body)), LIMITS)
            with any_engine.start(built, LIMITS) as sandbox:
                words.append(said(sandbox, "cat /srv/word"))
    assert words == ["reached", "alone"]


def test_a_failing_build_says_which_step_and_why(any_engine: Engine) -> None:
    with pytest.raises(BuildFailure) as caught:
        any_engine.build(image("RUN true\nRUN echo the-reason >&2; exit 7\n"), LIMITS)
    assert caught.value.reason == "build_failed"
    assert "RUN echo the-reason >&2; exit 7" in caught.value.step
    assert "the-reason" in caught.value.output


@pytest.mark.parametrize(
    ("body", "what"), [("FROBNICATE x\n", "FROBNICATE"), ("COPY missing /x\n", "missing"), ("USER nemo\n", "nemo")]
)
def test_what_cannot_be_built_is_the_tasks_fault(any_engine: Engine, body: str, what: str) -> None:
    with pytest.raises(BuildFailure) as caught:
        any_engine.build(image(body), LIMITS)
    assert what in caught.value.step + caught.value.output


def test_a_build_that_hangs_is_ended(any_engine: Engine) -> None:
    any_engine.build(image("RUN true\n"), LIMITS)  # so that the time is the last step's alone
    step = f"sleep 60.{os.getpid()}{NAMES.index(any_engine.name)}"  # one of its own for each engine
    with pytest.raises(BuildFailure) as caught:
        soon(lambda: any_engine.build(image(f"RUN true\nRUN {step}\n"), Limits(build_seconds=2)), 60)
    assert caught.value.reason == "build_timeout" and step in caught.value.step
    needs(any_engine, Feature.BUILD_END)
    deadline = time.monotonic() + 20
    while on_host(step.replace(" ", "\0").encode()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not on_host(step.replace(" ", "\0").encode())


def test_what_a_build_step_leaves_running_does_not_hold_it_up(any_engine: Engine) -> None:
    any_engine.build(image("RUN sleep 60.25 & touch /made\n"), Limits(build_seconds=30))
