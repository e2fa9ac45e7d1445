"""What a command is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.trajectory import Call
from trainer.judge.commands import Kind, command_kind, kind_of


@pytest.mark.parametrize(
    "command",
    [
        "ls -la /srv",
        "cat a b | sort | uniq -c > /dev/null",
        "grep -rn 'rm -rf' . 2>/dev/null || echo none",
        "find / -name '*.ini' 2>&1 | head",
        "git -C /work/x log --oneline | head",
        "git -c core.pager=cat diff",
        "sed -n 1,20p file",
        "awk '$1 > 3 {print}' data",
        "cd /srv && cat app.py",
        "for f in *.csv; do wc -l $f; done",
        "tar tf a.tgz",
        "sqlite3 db 'select * from t'",
        "X=1 env LANG=C ls",
        "diff <(sort a) <(sort b)",
        "timeout 5 cat file",
        "echo 'a; rm b'",
    ],
)
def test_looking(command: str) -> None:
    assert command_kind(command) is Kind.LOOK


@pytest.mark.parametrize(
    "command",
    [
        "rm -f x",
        "echo a > /etc/file",
        "cat <<'EOF' > run.sh\nls\nEOF",
        "cat >> notes <<EOF\nx\nEOF",
        "sed -i s/a/b/ file",
        "ls; mkdir /x",
        "find . -name x -delete",
        "git commit -am x",
        "sqlite3 db 'delete from t'",
        "sudo apt-get install -y x",
        "true && pip install y",
        "tar xzf a.tgz",
    ],
)
def test_changing(command: str) -> None:
    assert command_kind(command) is Kind.CHANGE


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python3 -m pytest -q", Kind.CHECK),
        ("cd /x && make test", Kind.CHECK),
        ("bash -n run.sh", Kind.CHECK),
        ("curl -s localhost", Kind.CHECK),
        ("python3 fix.py", Kind.RUN),
        ("./configure", Kind.RUN),
        ("python3 - <<'EOF'\nrm = 1\nEOF", Kind.RUN),
        ("", Kind.LOOK),
    ],
)
def test_trying_and_running(command: str, kind: Kind) -> None:
    assert command_kind(command) is kind


def test_other_calls() -> None:
    calls = {
        Kind.LOOK: Call(tag="file", arguments={"action": "read", "file_path": "/a"}),
        Kind.CHANGE: Call(tag="file", arguments={"action": "write", "file_path": "/a", "content": ""}),
        Kind.PLAN: Call(tag="todo"),
        Kind.NOTE: Call(tag="scratchpad"),
        Kind.FINISH: Call(tag="finish"),
        Kind.THINK: Call(tag="think"),
        Kind.RUN: Call(tag="of another style"),
    }
    assert {kind: kind_of(call) for kind, call in calls.items()} == {kind: kind for kind in calls}


@given(st.text() | st.text(alphabet="'\"<>|&;$(){}\\\n a-EOF"))
def test_any_text_is_of_some_kind(command: str) -> None:
    assert command_kind(command) in (Kind.LOOK, Kind.CHANGE, Kind.RUN, Kind.CHECK)
