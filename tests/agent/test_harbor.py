"""The agent over Harbor's environments: a workspace on an `exec` that only gives a command's output, in a real sandbox."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from agent.actions import Bash, FileEdit, FileMetadata, FileRead, FileWrite, Finish, Grep
from agent.atif import from_atif
from agent.handlers import Workspace
from agent.harbor_sandbox import HarborSandbox
from agent.styles import open_style
from agent.trajectory import End
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.sandbox import PutFile, Sandbox
from generators.errors import SandboxFault
from pipeline.exchange.harbor import write_harbor
from tests.harbor import open_harbor, run_trials
from tests.toys import SOLUTION, toy

LEFT = 60.0


@dataclass
class Answer:
    """What Harbor's ExecResult holds."""

    stdout: str | None
    stderr: str | None
    return_code: int


class Environment:
    """What Harbor's environments offer, over a sandbox of ours: text, and an error where a command takes too long."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.broken, self.commands = sandbox, False, 0

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Answer:
        if self.broken:
            raise RuntimeError("the container is gone")
        self.commands += 1
        name = None if user is None else str(user)
        result = await asyncio.to_thread(
            self.sandbox.exec, command, timeout=timeout_sec or 600, user=name, cwd=cwd, env=env, output_limit=1 << 26
        )
        if result.exit_code is None:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return Answer((result.stdout + result.stderr).decode(errors="replace"), None, result.exit_code)

    async def upload_file(self, source_path: str, target_path: str) -> None:
        await asyncio.to_thread(self.sandbox.put, [PutFile(target_path, Path(source_path).read_bytes())])


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs elsewhere, as Harbor's does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def environment(engine: BubblewrapEngine) -> Iterator[Environment]:
    with engine.start(engine.build(toy().image, toy().limits), toy().limits) as sandbox:
        yield Environment(sandbox)


@pytest.fixture
def workspace(environment: Environment, loop: asyncio.AbstractEventLoop) -> Iterator[Workspace]:
    with Workspace(HarborSandbox(environment, loop)) as opened:  # type: ignore[arg-type]
        yield opened


def test_a_shell_keeps_its_directory_and_variables(workspace: Workspace) -> None:
    assert workspace.do(Bash(cmd="cd /srv && x=7"), LEFT).exit_code == 0
    seen = workspace.do(Bash(cmd='echo "$x in $PWD"; ls; exit_with() { return 3; }; exit_with'), LEFT)
    assert seen.text == "7 in /srv\nnumbers.txt\n[exit code 3]" and seen.failed


def test_long_commands_and_long_output_come_through_whole(workspace: Workspace) -> None:
    text = "x" * 50_000
    assert workspace.do(Bash(cmd=f"printf %s {text} | wc -c"), LEFT).text.startswith("50000")
    seen = workspace.do(Bash(cmd="seq 400000"), LEFT)
    assert (
        seen.text.startswith("1\n2\n")
        and "\n400000" in seen.text
        and seen.chars == len("".join(f"{n}\n" for n in range(1, 400001)))
    )


def test_output_that_is_no_text_does_no_harm(workspace: Workspace) -> None:
    workspace.do(Bash(cmd="head -c 3000 /dev/zero; printf '\\377\\376'"), LEFT)
    assert workspace.do(Bash(cmd="echo still here"), LEFT).text == "still here"


def test_a_command_that_hangs_is_killed_and_the_shell_lives_on(workspace: Workspace) -> None:
    workspace.do(Bash(cmd="cd /srv"), LEFT)
    seen = workspace.do(Bash(cmd="echo begun; sleep 1000", timeout_secs=1), LEFT)
    assert seen.timed_out and seen.text.startswith("begun\n") and "[killed after 1 s" in seen.text
    assert workspace.do(Bash(cmd="while pgrep -x sleep > /dev/null; do :; done; pwd"), LEFT).text == "/srv"


def test_a_shell_that_was_ended_is_replaced(workspace: Workspace) -> None:
    seen = workspace.do(Bash(cmd="echo bye; exit 4"), LEFT)
    assert seen.exit_code == 4 and seen.text.startswith("bye\n") and "started" in seen.text
    assert workspace.do(Bash(cmd="echo again"), LEFT).text == "again"


def test_jobs_go_on_in_the_background(workspace: Workspace) -> None:
    seen = workspace.do(Bash(cmd="sleep 0.2; echo done", block=False), LEFT)
    assert "job 1 runs" in seen.text
    assert workspace.do(Bash(cmd="sleep 1; cat /tmp/.jobs/1.log"), LEFT).text == "done"


def test_files_are_written_read_edited_and_searched(workspace: Workspace) -> None:
    assert not workspace.do(FileWrite(file_path="/srv/a/b.txt", content="one\ntwo\n"), LEFT).failed
    large = "line of a large file\n" * 20_000
    assert "420,000 bytes" in workspace.do(FileWrite(file_path="/srv/large.txt", content=large), LEFT).text
    assert not workspace.do(FileEdit(file_path="/srv/a/b.txt", old_string="two", new_string="drei"), LEFT).failed
    assert "drei" in workspace.do(FileRead(file_path="/srv/a/b.txt"), LEFT).text
    assert "b.txt:2" in workspace.do(Grep(pattern="drei", path="/srv"), LEFT).text
    assert "420" in workspace.do(FileMetadata(file_paths=("/srv/large.txt",)), LEFT).text
    assert "no such file" in workspace.do(FileRead(file_path="/srv/none"), LEFT).text
    assert workspace.do(
        Bash(cmd="ls -d /tmp/.termforge-* | grep -vc -e '[0-9a-f]$'; find /tmp -name '.termforge-*' -type f"), LEFT
    ).text.startswith("0")


def test_a_lost_environment_is_a_fault_and_not_the_agents(
    environment: Environment, loop: asyncio.AbstractEventLoop
) -> None:
    workspace = Workspace(HarborSandbox(environment, loop))  # type: ignore[arg-type]
    workspace.do(Bash(cmd="true"), LEFT)
    environment.broken = True
    with pytest.raises(SandboxFault, match="the container is gone"):
        workspace.do(FileWrite(file_path="/srv/x", content="1"), LEFT)
    workspace.close()


def test_nothing_of_ours_is_left_behind(environment: Environment, loop: asyncio.AbstractEventLoop) -> None:
    with Workspace(HarborSandbox(environment, loop)) as workspace:  # type: ignore[arg-type]
        workspace.do(Bash(cmd="true"), LEFT)
        workspace.do(FileRead(file_path="/srv/numbers.txt"), LEFT)
    left = environment.sandbox.exec("ls -A /tmp; pgrep -fa TERMFORGE_COMMAND", timeout=10)
    assert left.stdout.decode() == ""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("style", ["structured", "minimal"])
def test_a_trial_of_the_real_harbor(tmp_path: Path, style: str) -> None:
    spoken = open_style(style)
    replies = [
        spoken.render([Bash(cmd="cd /srv && ls")]),
        spoken.render([Bash(cmd=SOLUTION)]),
        spoken.render([Finish()]),
    ]
    (tmp_path / "script.yaml").write_text(yaml.safe_dump({"replies": replies}))
    write_harbor([(toy(), None, "train")], tmp_path / "tasks")
    words = ("-m", f"scripted:{tmp_path}/script.yaml", "--ak", f"style={style}", "--ak", "turns=7")
    [result] = run_trials(open_harbor(), tmp_path, "agent.harbor:TermforgeAgent", *words)
    assert result["verifier_result"]["rewards"] == {"reward": 1}
    assert result["agent_result"]["n_output_tokens"] > 0 and result["agent_result"]["cost_usd"] == 0.0
    [path] = (tmp_path / "jobs").glob("*/*/agent/trajectory.json")
    trajectory = from_atif(json.loads(path.read_text()))
    assert trajectory.end is End.FINISHED and len(trajectory.steps) == 3
    assert trajectory.limits["turns"] == 7 and "numbers.txt" in trajectory.steps[0].shown
