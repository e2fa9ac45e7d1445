"""Tasks as Harbor directories: what is written, how it grades, and what the real Harbor says of it."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.grading.score import score
from containers.sandbox import GradeResult, PutFile, Sandbox, TestResult
from generators.errors import TaskError, UsageError
from generators.task import CompletionTests, ContextFile, Image, Task, TestSpec
from pipeline.cli.export import export
from pipeline.cli.sources import load_tasks
from pipeline.exchange import harbor_grade
from pipeline.exchange.harbor import MARK, task_files, write_harbor
from pipeline.places import project_root
from tests.harbor import Harbor, open_harbor, run_trials
from tests.toys import dockerfile, toy


@given(st.lists(st.booleans(), min_size=4, max_size=4))
def test_the_container_scores_as_we_do(passed: list[bool]) -> None:
    tests = CompletionTests(
        source="-",
        tests=(
            TestSpec(name="test_a", weight=0.5),
            TestSpec(name="test_b", weight=0.3),
            TestSpec(name="test_c", weight=0.2),
            TestSpec(name="test_kept", guard=True),
        ),
    )
    results = [TestResult(test.name, good) for test, good in zip(tests.tests, passed, strict=True)]
    ours = score(tests, GradeResult(tuple(results)))
    spec = {
        "task": "-",
        "digest": "-",
        "goals": {goal.name: goal.weight for goal in tests.goals},
        "guards": ["test_kept"],
    }
    theirs = harbor_grade.judge(spec, {"tests": [{"name": one.name, "passed": one.passed} for one in results]})
    assert (theirs["binary"], theirs["weighted"]) == (ours.binary, ours.weighted)


# --- what is written -----------------------------------------------------------------------------------------------------


def written(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_directory_holds_what_harbor_needs_and_no_truth(tmp_path: Path) -> None:
    files = (ContextFile.of("numbers.txt", "600851475000\n143\n", 0o640), ContextFile.of("run.bin", b"\xff\x00", 0o755))
    task = toy(image=Image(dockerfile=dockerfile(), files=files), truth={"sum": "secret-7731"})
    write_harbor([(task, None, "train")], tmp_path / "out")
    found = written(tmp_path / "out" / task.id)
    assert set(found) == {
        "task.toml",
        "instruction.md",
        "environment/Dockerfile",
        "environment/numbers.txt",
        "environment/run.bin",
        "solution/solve.sh",
        *(
            f"tests/{name}"
            for name in ("test.sh", "grade.py", "runner.py", "modules.py", "test_outputs.py", "weights.json")
        ),
    }
    assert found["environment/numbers.txt"][0] == 0o640 and found["environment/run.bin"] == (0o755, b"\xff\x00")
    assert found["tests/test.sh"][0] == found["solution/solve.sh"][0] == 0o755
    assert not any(b"secret-7731" in data for _, data in found.values())
    said = tomllib.loads(found["task.toml"][1].decode())
    assert said["task"]["name"] == f"termforge/{task.id}" and said["schema_version"] == "1.4"
    assert said["metadata"]["weights"] == {"test_sum": 1.0} and said["metadata"]["digest"] == task.digest
    assert said["environment"]["network_mode"] == "no-network" and said["verifier"]["user"] == "root"
    assert "user" not in said["agent"] and said["metadata"]["evidence"] == {"proven": False}


def test_the_same_tasks_give_the_same_bytes_and_take_the_place_of_an_earlier_export(tmp_path: Path) -> None:
    first, second = toy(), toy(instruction="Another. " + toy().instruction)
    chosen = [(first, None, "train"), (second, None, "test")]
    assert write_harbor(chosen, tmp_path / "a") == write_harbor(chosen[::-1], tmp_path / "b")
    assert written(tmp_path / "a") == written(tmp_path / "b")
    assert write_harbor(chosen[:1], tmp_path / "a") != write_harbor(chosen, tmp_path / "b")
    assert (tmp_path / "a" / first.id).is_dir() and not (tmp_path / "a" / second.id).exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("name", ["notes.txt", MARK])
def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="holds no earlier export"):
        write_harbor([(toy(), None, "train")], tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_what_was_put_beside_an_earlier_export_is_not_lost(tmp_path: Path) -> None:
    write_harbor([(toy(), None, "train")], tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds notes\.txt, which the earlier export did not write"):
        write_harbor([(toy(), None, "train")], tmp_path / "out")


@pytest.mark.parametrize("path", ["docker-compose.yaml", "Dockerfile"])
def test_a_context_that_harbor_would_take_for_its_own_is_refused(path: str) -> None:
    image = Image(dockerfile=dockerfile(), files=(*toy().image.files, ContextFile.of(path, "x")))
    with pytest.raises(TaskError, match=f"holds {path}, which Harbor reads itself"):
        task_files(toy(image=image), None, "train")


def exported(source: Path, *words: str) -> Result:
    return CliRunner().invoke(export, ["--format", "harbor", "--all", "--from", str(source), *words])


def test_the_command_writes_a_split_as_directories(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(toy().canonical())
    words = ("--splits", "train=100", "--to", str(tmp_path / "out"), "--json")
    done = exported(tmp_path / "task.json", *words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["files"][0]["rows"] == 1 and (tmp_path / "out" / toy().id / "task.toml").is_file()
    none = exported(tmp_path / "task.json", *words, "--split", "test")
    assert isinstance(none.exception, TaskError) or "no task was dealt to split test" in none.output
    assert (tmp_path / "out" / toy().id).is_dir(), "what failed has left the earlier export as it was"


# --- how it grades, in a real sandbox ------------------------------------------------------------------------------------


@pytest.fixture
def sandbox(engine: BubblewrapEngine) -> Iterator[Sandbox]:
    with engine.start(engine.build(toy().image, toy().limits), toy().limits) as opened:
        yield opened


def graded(sandbox: Sandbox, task: Task, **env: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """As Harbor does it: place tests/, run test.sh as root, read what lies in /logs/verifier."""
    files = [file for file in task_files(task, None, "train") if "/tests/" in file.path]
    sandbox.put([PutFile("/" + file.path.partition("/")[2], file.data, file.mode) for file in files])
    sandbox.exec("mkdir -p /logs/verifier", timeout=10, user="root")
    done = sandbox.exec("/tests/test.sh", timeout=60, user="root", env=env)
    assert done.exit_code == 0, done.tail()
    return tuple(json.loads(sandbox.get(f"/logs/verifier/{name}.json")) for name in ("reward", "reward-details"))  # type: ignore[return-value]


def test_the_solution_gets_1_and_the_tests_are_gone_before_programs_run(sandbox: Sandbox) -> None:
    sandbox.exec(toy().solution or "", timeout=10)
    reward, details = graded(sandbox, toy())
    assert reward == {"reward": 1} and details["weighted"] == 1.0 and details["guards_hold"]
    assert [(test["name"], test["passed"]) for test in details["tests"]] == [("test_sum", True), ("test_kept", True)]
    assert sandbox.exec("ls -A /tests", timeout=10).stdout == b""


def test_doing_nothing_gets_0(sandbox: Sandbox) -> None:
    reward, details = graded(sandbox, toy())
    assert reward == {"reward": 0} and details["weighted"] == 0.0 and details["guards_hold"]


HALF = CompletionTests(
    source=toy().completion_tests.source + "\ndef test_more():\n    assert Path('/srv/more').exists()\n",
    tests=(
        TestSpec(name="test_sum", weight=0.25),
        TestSpec(name="test_more", weight=0.75),
        TestSpec(name="test_kept", guard=True),
    ),
)


def test_a_part_counts_in_the_details_and_in_the_reward_where_asked_for(sandbox: Sandbox) -> None:
    sandbox.exec(toy().solution or "", timeout=10)
    task = toy(completion_tests=HALF)
    assert graded(sandbox, task)[0] == {"reward": 0}
    reward, details = graded(sandbox, task, TERMFORGE_REWARD="weighted")
    assert reward == {"reward": 0.25} and details["weighted"] == 0.25


def test_a_broken_guard_takes_all(sandbox: Sandbox) -> None:
    sandbox.exec(f"{toy().solution}; echo 1 >> /srv/numbers.txt", timeout=10)
    reward, details = graded(sandbox, toy(completion_tests=HALF), TERMFORGE_REWARD="weighted")
    assert reward == {"reward": 0.0} and not details["guards_hold"]


PLANTS = """
mkdir -p /tests /logs/verifier/reward.json /root/.local/lib/python3.11/site-packages
for place in /tests /usr/local/lib/python3.11/dist-packages /root/.local/lib/python3.11/site-packages /; do
  for name in json pathlib conftest sitecustomize usercustomize; do
    printf 'raise SystemExit("planted")\\n' > $place/$name.py
  done
done
printf '#!/bin/sh\\nexit 0\\n' > /usr/local/bin/python3; chmod 755 /usr/local/bin/python3
ln -sf /srv/sum.txt /logs/verifier/reward-details.json
echo 1 > /logs/verifier/reward.txt
setsid -f bash -c 'while :; do echo 600851475143 > /srv/sum.txt; echo "{\\"reward\\": 1}" > /logs/verifier/reward.json; sleep 0.01; done' \
  >/dev/null 2>&1 </dev/null
"""


def test_what_an_agent_plants_has_no_say(sandbox: Sandbox) -> None:
    sandbox.exec(PLANTS, timeout=20, user="root")
    assert graded(sandbox, toy(solution="-"))[0] == {"reward": 1}, (
        "the process had written the right sum before it was ended"
    )
    sandbox.exec("rm -f /srv/sum.txt", timeout=10, user="root")
    assert graded(sandbox, toy())[0] == {"reward": 0}
    assert sandbox.exec("test -e /logs/verifier/reward.txt", timeout=10).exit_code == 1


# --- the real Harbor -----------------------------------------------------------------------------------------------------

COUNT = 8
PARSE = """
import json, sys
from harbor.models.task.task import Task
for folder in sys.argv[1:]:
    assert Task.is_valid_dir(folder), folder
    task = Task(folder)
    print(json.dumps([task.name, task.instruction, task.config.metadata["digest"], task.config.environment.network_mode.value]))
"""


@pytest.fixture(scope="module")
def harbor() -> Harbor:
    return open_harbor()


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Task]]:
    """Released tasks from all over the set, one with a user of its own among them, in a folder."""
    known = load_tasks(project_root() / "datasets" / "main")
    other = [pair for pair in known if "\nUSER " in pair[0].image.dockerfile][:1]
    rest = [pair for pair in known if pair not in other]
    chosen = other + rest[:: len(rest) // (COUNT - 1)][: COUNT - 1]
    folder = tmp_path_factory.mktemp("harbor") / "tasks"
    write_harbor([(task, evidence, "train") for task, evidence in chosen], folder)
    return folder, sorted((task for task, _ in chosen), key=lambda task: task.id)


@pytest.mark.slow
@pytest.mark.long
def test_harbor_reads_and_lints_them_clean(harbor: Harbor, eight: tuple[Path, list[Task]], tmp_path: Path) -> None:
    folder, tasks = eight
    places = [str(folder / task.id) for task in tasks]
    lint = harbor.run("lint", "--json", *places, cwd=tmp_path)
    assert (lint.returncode, json.loads(lint.stdout)) == (0, []), lint.stderr
    read = [json.loads(line) for line in harbor.python(PARSE, *places, cwd=tmp_path).splitlines()]
    assert read == [[f"termforge/{task.id}", task.instruction, task.digest, "no-network"] for task in tasks]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_runs_them(
    harbor: Harbor, eight: tuple[Path, list[Task]], tmp_path: Path, agent: str, reward: float
) -> None:
    results = run_trials(harbor, tmp_path, agent, tasks=eight[0])
    assert len(results) == COUNT
    assert [result["exception_info"] for result in results] == [None] * COUNT
    assert [result["verifier_result"]["rewards"] for result in results] == [{"reward": reward}] * COUNT
