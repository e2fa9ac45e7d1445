"""Instructions in the forms that other projects keep them in."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import UsageError
from pipeline.exchange.instructions import Instructions, read_instructions
from pipeline.exchange.records import NOTHING, Unreadable, records


def put(folder: Path, **files: str | bytes) -> Path:
    """Files by their path, in which `__` stands for a slash and `_dot_` for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def reasons(found: Instructions) -> dict[str, str]:
    """What was not read, by file."""
    return {unread.file: unread.reason for unread in found.unread}


def test_a_task_is_a_folder_with_its_files(tmp_path: Path) -> None:
    put(
        tmp_path,
        tasks__one__instruction_dot_md="\ufeffFix the clock.",
        tasks__one__task_dot_toml='version = "1.0"\n[metadata]\nauthor_name = "x"\n',
        tasks__one__environment__data_dot_json='{"description": "not an instruction"}',
        tasks__one__steps__two__instruction_dot_md="Then wind it.",
        tasks__two__task_dot_yaml="instruction: |-\n  Sort the mail.\ndifficulty: easy\n",
        tasks__three__task_dot_yaml="descriptions:\n- {key: base, description: Read it.}\n- {key: hard, description: All.}\n",
        tasks__four__task_dot_toml='[task]\ndescription = "Paint it."\n',
        _dot_git__task_dot_yaml="instruction: hidden",
    )
    found = read_instructions(tmp_path)
    assert found.texts == {
        "tasks/one": ["Fix the clock.", "Then wind it."],
        "tasks/two": ["Sort the mail."],
        "tasks/three": ["Read it.", "All."],
        "tasks/four": ["Paint it."],
    }
    assert found.unread == []
    assert read_instructions(tmp_path / "tasks" / "two").texts == {"two": ["Sort the mail."]}


def test_records_of_data_files(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "2?"}]
    rows: list[dict[str, Any]] = [
        {"id": "a", "instruction": "One.", "prompt": None},
        {"id": None, "instruction": "Two.", "prompt": asked},
    ]
    put(
        tmp_path,
        list_dot_json=json.dumps(rows),
        deep_dot_json=json.dumps({"version": 3, "tasks": {"x": rows[0], "y": {"task_id": 7, "description": "Y."}}}),
        lines_dot_jsonl='{"prompt": "P1"}\n\n{"other": 1}\n{"name": "p", "prompt": "P2"}\n',
    )
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    found = read_instructions(tmp_path)
    assert found.texts == {
        "deep.json#a": ["One."],
        "deep.json#7": ["Y."],
        "lines.jsonl#1": ["P1"],
        "lines.jsonl#p": ["P2"],
        "list.json#a": ["One."],
        "list.json#2": ["Two.", "2?"],
        "rows.parquet#a": ["One."],
        "rows.parquet#2": ["Two.", "2?"],
    }


def test_what_cannot_be_read_is_listed_with_a_reason(tmp_path: Path) -> None:
    put(
        tmp_path,
        good__instruction_dot_md="Good.",
        bytes__instruction_dot_md=b"\xff\xfe\x00",
        empty__instruction_dot_md=" \n",
        yaml__task_dot_yaml="instruction: [",
        toml__task_dot_toml="instruction = ",
        a_dot_json="{",
        b_dot_json="[" * 100_000,
        c_dot_json='{"name": "x"}',
        d_dot_jsonl='{"prompt": "kept"}\n{"prompt": \n{"prompt": "kept too"}\n',
        e_dot_parquet="version https://git-lfs.github.com/spec/v1\n",
    )
    pq.write_table(pa.table({"x": [1]}), tmp_path / "f.parquet")
    (tmp_path / "g.json").symlink_to("nowhere")
    os.mkfifo(tmp_path / "h.json")
    found = read_instructions(tmp_path)
    said = reasons(found)
    assert found.texts == {"good": ["Good."], "d.jsonl#1": ["kept"], "d.jsonl#3": ["kept too"]}
    assert said["bytes/instruction.md"] == "is not UTF-8" and said["empty/instruction.md"] == NOTHING
    assert said["c.json"] == said["f.parquet"] == NOTHING
    assert said["b.json"] == "is nested too deeply" and said["g.json"] == said["h.json"] == "is not a file"
    assert said["d.jsonl"] == "has 1 lines that are not JSON, the first is line 2"
    assert {"yaml/task.yaml", "toml/task.toml", "a.json", "e.parquet"} < set(said)
    assert all(reason and "\n" not in reason for reason in said.values())


def test_yaml_that_points_at_itself_ends(tmp_path: Path) -> None:
    put(tmp_path, task_dot_yaml="a: &a\n- *a\n- description: Once.\nb: *a\n")
    assert read_instructions(tmp_path).texts == {tmp_path.name: ["Once."]}


def test_a_name_that_is_not_utf_8_can_be_printed(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"task-\xff")).mkdir()
    put(tmp_path / os.fsdecode(b"task-\xff"), instruction_dot_md="Text.")
    assert json.dumps(read_instructions(tmp_path).texts, ensure_ascii=False).encode() == b'{"task-?": ["Text."]}'


def test_only_a_folder_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        read_instructions(tmp_path / "nowhere")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "name", "prompt", "instruction", "content", "x"]), inner, max_size=4)
    ),
)


@given(VALUES, st.sampled_from([".json", ".jsonl", ".yaml"]))
def test_any_value_is_read_or_refused(value: Any, suffix: str) -> None:
    texts = _read(json.dumps(value).encode(), suffix)
    assert all(text.strip() for text in texts)


@given(
    st.binary() | st.text().map(str.encode), st.sampled_from([".json", ".jsonl", ".yaml", ".toml", ".md", ".parquet"])
)
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str) -> None:
    assert all(isinstance(text, str) for text in _read(content, suffix))


def _read(content: bytes, suffix: str) -> list[str]:
    """All texts of a file with this content; none where it is refused with a reason."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        path.write_bytes(content)
        try:
            return [text for record in records(path) for text in record.texts]
        except Unreadable as refused:
            assert str(refused)
            return []
