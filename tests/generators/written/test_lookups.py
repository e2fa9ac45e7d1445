"""What tests look at is found however it is written; what the task names, the system has or the tests write is no back door."""

from __future__ import annotations

import pytest

from generators.written import screens
from generators.written.lookups import is_named, unnamed_paths
from generators.written.problems import AnswerError
from tests.generators.written.test_screens import COMPLETION, ENVIRONMENT, INSTRUCTION, TESTS

NAMED = "Write /srv/out/sum.json, the program /srv/out/sort, and a file for each ship to /srv/out/ships. COPY ledger.csv /srv/in/\nRUN git init /srv/repo"
HEAD = """\
import os, subprocess, os.path as osp
from os.path import exists
from pathlib import Path

OUT = Path("/srv/out/sum.json")

def content(place):
    return Path(place).read_text()

def run(command):
    return subprocess.run(["/bin/bash", "-c", command], timeout=5).returncode

"""


def found(body: str) -> dict[str, str]:
    return unnamed_paths(f"{HEAD}def test_sum():\n    {body}\n", NAMED)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tmp/ok", 'assert OUT.exists() or Path("/tmp/ok").exists()'),
        ("/opt/ok", 'assert os.path.isfile("/opt/ok")'),
        ("/opt/ok", 'assert osp.isfile("/opt/ok")'),
        ("/tmp/ok", 'assert exists("/tmp/ok")'),
        ("/tmp/ok", 'assert open("/tmp/ok").read() == "1"'),
        ("/tmp/ok", 'assert content("/tmp/ok") == "1"'),
        ("/tmp/ok", 'assert content(place="/tmp/ok") == "1"'),
        ("/tmp/ok", 'flag = "/tmp/ok"\n    assert Path(flag).exists()'),
        ("/var/a/ok", 'assert Path("/var").joinpath("a", "ok").exists()'),
        ("/var/a/ok", 'assert exists(os.path.join("/var", "a", "ok"))'),
        ("/srv/out/.ok", 'assert (Path("/srv") / "out" / ".ok").exists()'),
        ("/srv/out/.ok", 'assert (OUT.parent / "x").exists() or exists("/srv/out" + "/.ok")'),
        ("/tmp/b.ok", 'assert all(exists(f"/tmp/{name}.ok") for name in ("b",))'),
        ("/tmp/*.ok", 'assert all(exists(f"/tmp/{name}.ok") for name in TRUTH)'),
        ("/opt/ok", 'assert any(Path(place).is_file() for place in ("/srv/out/sum.json", "/opt/ok"))'),
        ("/tmp/ok", 'assert subprocess.run(["test", "-e", "/tmp/ok"]).returncode == 0'),
        ("/opt/ok", 'assert run("cat /opt/ok") == 0'),
        ("/srv/summary", 'assert exists("/srv/summary")'),
    ],
)
def test_a_look_elsewhere_is_found(path: str, body: str) -> None:
    places = found(body)
    assert path in places and places[path] == "test_sum"


@pytest.mark.parametrize(
    "body",
    [
        "assert OUT.read_text()",
        'assert Path("/srv/in/ledger.csv").exists() and Path("/srv/out").is_dir()',
        'assert all(exists(f"/srv/out/ships/{name}.json") for name in TRUTH)',
        'assert Path("/srv/repo/.git/refs/heads/main").exists()',
        'assert "root" in content("/etc/passwd") and run("/usr/bin/env true > /dev/null") == 0',
        'Path("/tmp/work").mkdir()\n    assert exists("/tmp/work/made")',
        'with open("/tmp/given", "w") as out:\n        out.write("1")\n    assert content("/tmp/given")',
        'assert run("/srv/out/sort --to /tmp/sorted") == 0 and content("/tmp/sorted")',
        'assert json.loads(content(OUT)) == {"moved": "/music/library/wren.ogg"}',
        "assert content(TRUTH[0])",
        "x = " + "+".join(['"/a"'] * 3000),
        "x = Path('/srv')" + " / 'out'" * 200,
    ],
)
def test_what_a_task_names_or_a_test_makes_is_no_back_door(body: str) -> None:
    assert found(body) == {}


def test_a_name_is_a_whole_word() -> None:
    assert is_named("/srv/out", NAMED) and is_named("/srv/out/sum.json/", NAMED)
    assert not is_named("/srv/ou", NAMED) and not is_named("/srv/out/su", NAMED)


def test_the_screen_names_path_and_test() -> None:
    named = f"{INSTRUCTION}\n{ENVIRONMENT.dockerfile}"
    screens.lookups(COMPLETION, named)
    source = TESTS.replace('== TRUTH["sums"]', '== TRUTH["sums"] or Path("/tmp/ok").exists()')
    with pytest.raises(AnswerError) as raised:
        screens.lookups(COMPLETION.model_copy(update={"source": source}), named)
    assert raised.value.reason == "tests_unnamed_path"
    assert "test_sums looks at /tmp/ok" in raised.value.detail
