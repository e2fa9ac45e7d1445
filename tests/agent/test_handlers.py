"""Actions in real sandboxes, as a user who is not root."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.actions import (
    AnyAction,
    Bash,
    FileEdit,
    FileMetadata,
    FileMultiEdit,
    FileRead,
    FileWrite,
    Finish,
    Glob,
    Grep,
    Ls,
    NoteAdd,
    NotesView,
    Replacement,
    Think,
    Todo,
    TodoAdd,
    TodoComplete,
    TodoDelete,
    TodoView,
)
from agent.handlers import Workspace
from agent.inside import MOST_BYTES
from agent.observation import LIMIT, Observation
from agent.patterns import MOST_ALTERNATIVES, matcher
from containers.pool import Pool
from containers.sandbox import Sandbox
from generators.task import ContextFile, Image, Limits
from tests.toys import dockerfile, toy

LIMITS = Limits(memory_mb=256, disk_mb=64, pids=64)
BODY = """
RUN useradd -m -u 1000 ada
COPY --chown=ada:ada notes.txt dos.ini /home/ada/work/
COPY --chmod=600 secret.txt /srv/
COPY --chmod=644 public.txt /srv/
RUN chown ada:ada /home/ada/work && chmod 640 /home/ada/work/notes.txt && mkdir -m 700 /srv/closed
WORKDIR /home/ada/work
USER ada
"""
NOTES = "".join(f"line {number}\n" for number in range(1, 31))
FILES = (
    ContextFile.of("notes.txt", NOTES),
    ContextFile.of("dos.ini", "[a]\r\nx=1\r\ny=2\r\n"),
    ContextFile.of("secret.txt", "root's own\n"),
    ContextFile.of("public.txt", "for all\n"),
)


@pytest.fixture(scope="module")
def sandbox(pool: Pool) -> Iterator[Sandbox]:
    built = pool.engine.build(Image(dockerfile=dockerfile(BODY), files=FILES), LIMITS)
    with pool.lease(built, LIMITS) as leased:
        yield leased


@pytest.fixture
def space(sandbox: Sandbox) -> Iterator[Workspace]:
    """A workspace in a clean folder, where its shell is."""
    with Workspace(sandbox, command_seconds=10) as opened:
        opened.do(Bash(cmd='cd "$(mktemp -d)" && cp -a ~/work/. .'), 60)
        yield opened


def bash(space: Workspace, cmd: str, seconds_left: float = 60.0, **options: Any) -> Observation:
    return space.do(Bash(cmd=cmd, **options), seconds_left)


def well(space: Workspace, action: AnyAction) -> str:
    """What an action that succeeds shows."""
    seen = space.do(action, 60)
    assert not seen.failed, seen.text
    return seen.text


def refused(space: Workspace, action: AnyAction) -> str:
    """What an action that fails shows."""
    seen = space.do(action, 60)
    assert seen.failed and seen.tag == action.tag, seen.text
    return seen.text


# --- commands -----------------------------------------------------------------------------------------------------------


def test_a_command_shows_its_output_and_a_code_that_is_not_0(space: Workspace) -> None:
    seen = bash(space, "echo out; echo err >&2; exit_code=1; (exit 7)")
    assert (seen.text, seen.exit_code, seen.failed) == ("out\nerr\n[exit code 7]", 7, True)
    assert bash(space, "echo fine").text == "fine"
    assert bash(space, "true").text == "[no output]"


def test_the_shell_lives_from_command_to_command_as_the_images_user(space: Workspace) -> None:
    bash(space, "cd /srv; x=5; f() { echo f$1; }")
    assert bash(space, "pwd; echo $x; f 1; whoami").text == "/srv\n5\nf1\nada"


def test_long_output_is_cut_and_its_length_said(space: Workspace) -> None:
    seen = bash(space, "seq 1 100000")
    assert len(seen.text) <= LIMIT and seen.chars == 588_895
    assert seen.text.startswith("1\n2\n") and seen.text.endswith("\n100000") and "of 588,895 ...]" in seen.text


def test_a_flood_says_that_it_was_at_least_so_long(space: Workspace) -> None:
    seen = bash(space, "head -c 20M /dev/zero | tr '\\0' 'x'; echo; echo the end")
    assert "characters left out of at least 8," in seen.text and seen.text.endswith("the end")


def test_binary_output_is_described(space: Workspace) -> None:
    assert bash(space, "head -c 4096 /dev/zero").text == "[binary, 4,096 bytes:" + " 00" * 16 + " ...]"


def test_a_command_out_of_time_is_killed_and_the_shell_lives(space: Workspace) -> None:
    bash(space, "x=kept")
    seen = bash(space, "echo begun; sleep 100 | sleep 100", timeout_secs=1)
    assert seen.timed_out and seen.failed and seen.exit_code is None
    assert seen.text.startswith("begun\n")
    assert seen.text.endswith(
        "[killed after 1 s, with all that ran in this shell; the shell and its directory are as they were]"
    )
    assert bash(space, "echo $x; pgrep -x sleep").text == "kept\n[exit code 1]"


def test_time_is_what_is_left_to_the_episode(space: Workspace) -> None:
    assert "[killed after 0.5 s" in bash(space, "sleep 100", seconds_left=0.5).text
    assert bash(space, "sleep 100", seconds_left=-3.0).timed_out


def test_a_shell_that_was_lost_is_said_to_be_and_comes_back_prepared(space: Workspace) -> None:
    seen = bash(space, "cd /srv; while :; do :; done", timeout_secs=1)
    assert seen.timed_out and seen.text.endswith(
        "the shell was started again, its directory, variables and functions are lost]"
    )
    assert bash(space, "pwd; echo $PAGER").text == "/home/ada/work\ncat"
    seen = bash(space, "set -e; false")
    assert (seen.exit_code, seen.failed) == (1, True) and "[the shell ended and was started again" in seen.text
    assert bash(space, "echo $GIT_PAGER").text == "cat"


def test_a_shell_that_was_killed_between_two_commands_is_replaced(space: Workspace, sandbox: Sandbox) -> None:
    pid = bash(space, "echo $$").text
    sandbox.exec(f"kill -9 {pid}; while kill -0 {pid}; do :; done", timeout=20)
    seen = bash(space, "echo here")
    assert seen.text.startswith("here\n[the shell ended and was started again") and not seen.failed


@pytest.mark.parametrize(
    "cmd",
    [
        "git init -q r && cd r && for i in $(seq 30); do git -c user.name=a -c user.email=a@b commit -q --allow-empty -m $i; done; git log",
        "git -C /tmp/r init -q; cd /tmp/r && git -c user.name=a -c user.email=a@b commit --allow-empty",
        "seq 100000 > long; less long",
        "python3",
        "read x; echo \"got:$x\"",
        "cat",
        "sudo ls; su -c ls; passwd",
        "vi notes.txt; nano notes.txt; $EDITOR notes.txt; sh -c \"$EDITOR notes.txt\"",
        "top",
        "ssh-keygen; openssl enc -aes128 -in notes.txt",
        "select word in a b; do echo $word; done",
        "sqlite3",
        "bash",
        "git clone https://user@localhost:1/x",
        "rm -i notes.txt; cp -i notes.txt dos.ini",
    ],
)  # fmt: skip
def test_nothing_waits_for_a_person(space: Workspace, cmd: str) -> None:
    assert not bash(space, cmd, seconds_left=100.0, timeout_secs=60).timed_out


def test_an_editor_says_what_to_do_instead(space: Workspace) -> None:
    seen = bash(space, "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty")
    assert seen.failed and "no editor can be used here" in seen.text


def test_a_background_command_outlives_timeouts_of_others(space: Workspace) -> None:
    bash(space, "export WORD=inherited; cd /srv")
    seen = bash(space, "echo $WORD from $PWD; echo 'it'\"'\"'s'; sleep 500", block=False)
    (job,) = space.jobs
    assert not seen.failed and f"process {job.pid};" in seen.text and job.output in seen.text
    assert bash(space, "sleep 100", timeout_secs=1).timed_out
    assert (
        bash(space, f"until grep -q s {job.output}; do :; done; cat {job.output}").text == "inherited from /srv\nit's"
    )
    assert bash(space, f"ps -o pid=,args= --ppid {job.pid} -p {job.pid}; jobs").text.split("\n")[0].split()[0] == str(
        job.pid
    )
    assert bash(space, f"kill -- -{job.pid}; while kill -0 {job.pid} 2>/dev/null; do :; done; echo gone").text == "gone"


def test_a_second_background_command_has_its_own_number_and_ends_by_itself(space: Workspace) -> None:
    bash(space, "(while :; do echo noise; done) & sleep 0.1")
    assert not bash(space, "sleep 500", block=False).failed
    bash(space, "kill %1")
    bash(space, "echo one; exit 3", block=False)
    first, second = space.jobs
    assert (second.number, second.output) == (2, "/tmp/.jobs/2.log") and first.pid != second.pid
    assert bash(space, f"until grep -q one {second.output}; do :; done; kill -- -{first.pid}").exit_code == 0


def test_a_background_command_that_cannot_start_says_so(space: Workspace) -> None:
    seen = bash(space, "PATH=/nowhere; true") and bash(space, "sleep 1", block=False)
    assert seen.failed and "did not start in the background" in seen.text and not space.jobs


def test_strange_texts_are_no_crash(space: Workspace) -> None:
    assert bash(space, "echo a\0b").text == "ab"
    assert "too long" in bash(space, "true " + "x" * 70_000).text
    assert bash(space, "if then").failed


# --- lists --------------------------------------------------------------------------------------------------------------


def test_todos(space: Workspace) -> None:
    assert well(space, Todo(operations=(TodoView(),))) == "nothing to do"
    well(space, Todo(operations=(TodoAdd(content="look"), TodoAdd(content="act"), TodoAdd(content="check"))))
    assert well(space, Todo(operations=(TodoComplete(task_id=1), TodoDelete(task_id=3)))) == "1. [x] look\n2. [ ] act"
    assert well(space, Todo(operations=(TodoAdd(content="again"),))).endswith("4. [ ] again")
    text = refused(space, Todo(operations=(TodoComplete(task_id=3), TodoComplete(task_id=2))))
    assert text == "complete: there is no item 3\n1. [x] look\n2. [x] act\n4. [ ] again"


def test_notes_thoughts_and_the_end(space: Workspace) -> None:
    assert well(space, NotesView()) == "no notes"
    assert well(space, NoteAdd(content="port 8080")) == "note 1 kept"
    assert well(space, NotesView()) == "1. port 8080"
    assert well(space, Think(content="hm")) == "" and well(space, Finish(message="done")) == ""


# --- files --------------------------------------------------------------------------------------------------------------


def test_reading_numbers_lines(space: Workspace) -> None:
    text = well(space, FileRead(file_path="notes.txt", offset=29))
    assert text == "notes.txt: lines 29-30 of 30\n    29\tline 29\n    30\tline 30"
    assert well(space, FileRead(file_path="notes.txt", offset=3, limit=1)).endswith("lines 3-3 of 30\n     3\tline 3")
    assert "has 30 lines, none at 31" in refused(space, FileRead(file_path="notes.txt", offset=31))


def test_paths_start_where_the_shell_is(space: Workspace) -> None:
    bash(space, "cd /srv")
    assert "for all" in well(space, FileRead(file_path="public.txt"))
    assert "line 1\n" in well(space, FileRead(file_path="~/work/notes.txt"))
    bash(
        space,
        "mkdir -p /tmp/'odd $(touch /tmp/pwned) name' && cd \"$_\" && echo hi > -n && mkdir gone && cd gone && rmdir ../gone",
    )
    assert refused(space, FileRead(file_path="x")).startswith("x: there is no such file")
    bash(space, "cd ..")
    assert "hi" in well(space, FileRead(file_path="-n"))
    assert bash(space, "ls /tmp/pwned").failed


def test_a_file_is_read_with_the_users_rights_alone(space: Workspace) -> None:
    assert refused(space, FileRead(file_path="/srv/secret.txt")) == "/srv/secret.txt: may not be read by this user"
    assert "there is no such file" in refused(space, FileRead(file_path="/srv/closed/x"))
    assert "may not be read" in refused(space, Ls(path="/srv/closed"))
    assert "root's" not in well(space, Grep(pattern="own", path="/srv"))
    assert "Permission denied" in refused(space, FileWrite(file_path="/srv/public.txt", content="x", overwrite=True))
    assert "Permission denied" in refused(space, FileWrite(file_path="/srv/new/x.txt", content="x"))
    assert "Permission denied" in refused(
        space, FileEdit(file_path="/srv/public.txt", old_string="all", new_string="x")
    )
    assert "for all" in well(space, FileRead(file_path="/srv/public.txt"))


def test_root_may_where_the_agent_is_root(sandbox: Sandbox) -> None:
    with Workspace(sandbox, user="root") as space:
        assert "root's own" in well(space, FileRead(file_path="/srv/secret.txt"))


@pytest.mark.parametrize(
    ("make", "path", "said"),
    [
        ("printf '\\177ELF\\0\\0'", "made", "made: [binary, 6 bytes: 7f 45 4c 46 00 00]"),
        ("printf ''", "made", "made: empty"),
        ("printf 'a\\nb'", "made", "made: lines 1-2 of 2; no newline at the end\n     1\ta\n     2\tb"),
        ("printf 'a\\033[1mb\\r\\n'", "made", "made: lines 1-1 of 1; line ends are CRLF\n     1\ta\u241b[1mb"),
        ("printf 'gr\\374n\\n'", "made", "made: lines 1-1 of 1\n     1\tgr\ufffdn"),
    ],
)
def test_reading_odd_files(space: Workspace, make: str, path: str, said: str) -> None:
    bash(space, f"{make} > made")
    assert well(space, FileRead(file_path=path)) == said


def test_what_cannot_be_read_says_why(space: Workspace) -> None:
    assert refused(space, FileRead(file_path="note.txt")).endswith("; near it: notes.txt")
    assert refused(space, FileRead(file_path="/srv")) == "/srv: is a folder"
    assert "neither a file nor a folder" in refused(space, FileRead(file_path="/dev/zero"))
    bash(space, "mkfifo pipe; truncate -s 9M big")
    assert "neither" in refused(space, FileRead(file_path="pipe"))
    assert refused(space, FileRead(file_path="big")).startswith("big: has 9,437,184 bytes, more than 8,388,608")
    assert "neither" in refused(space, FileWrite(file_path="pipe", content="x", overwrite=True))


def test_a_long_file_is_read_page_by_page(space: Workspace) -> None:
    bash(space, "seq -f 'this is line %.0f' 1 3000 > long; head -c 5000 /dev/zero | tr '\\0' 'y' > wide")
    seen = space.do(FileRead(file_path="long"), 60)
    first = seen.text.split("\n")[0]
    assert len(seen.text) <= LIMIT and "left out" not in seen.text
    go_on = int(first.rpartition(" ")[2])
    assert first.startswith(f"long: lines 1-{go_on - 1} of 3,000; go on with offset")
    assert f"{go_on}\tthis is line {go_on}\n" in well(space, FileRead(file_path="long", offset=go_on))
    assert well(space, FileRead(file_path="wide")).endswith("yyy [... 5,000 characters]")


def test_writing_makes_folders_and_keeps_what_exists(space: Workspace) -> None:
    assert well(space, FileWrite(file_path="a/b/c.txt", content="grün\n")) == "a/b/c.txt: written, 6 bytes, 1 lines"
    assert bash(space, "cat a/b/c.txt; stat -c %U:%a a a/b/c.txt").text == "grün\nada:755\nada:644"
    assert "exists already" in refused(space, FileWrite(file_path="notes.txt", content="x"))
    assert bash(space, "wc -l < notes.txt").text == "30"
    well(space, FileWrite(file_path="notes.txt", content="x", overwrite=True))
    assert bash(space, "cat notes.txt; echo; stat -c %U:%a notes.txt").text == "x\nada:640"
    assert refused(space, FileWrite(file_path="a", content="x", overwrite=True)) == "a: is a folder"
    assert "more than" in refused(space, FileWrite(file_path="huge", content="x" * (MOST_BYTES + 1)))


def test_a_full_disk_is_said_and_an_edit_leaves_the_file_whole(space: Workspace) -> None:
    bash(space, "printf 'a\\nb\\n' > small; cat /dev/zero > filler 2>/dev/null")
    assert "No space left" in refused(space, FileWrite(file_path="more", content="x" * 2_000_000))
    assert "No space left" in refused(space, FileEdit(file_path="small", old_string="a", new_string="x" * 2_000_000))
    assert bash(space, "rm filler more; cat small").text == "a\nb"


def test_an_edit_needs_one_place(space: Workspace) -> None:
    edit = FileEdit(file_path="notes.txt", old_string="line 7\nline 8\n", new_string="seven\n")
    assert well(space, edit) == "notes.txt: replaced at line 7"
    assert bash(space, "sed -n 6,8p notes.txt; stat -c %a notes.txt").text == "line 6\nseven\nline 9\n640"
    many = FileEdit(file_path="notes.txt", old_string="line 2", new_string="row 2")
    assert "occurs 11 times, at lines 2, 19, 20, " in refused(space, many)
    assert "replaced at lines 2" in well(space, many.model_copy(update={"replace_all": True}))
    assert bash(space, "grep -c row notes.txt").text == "11"


def test_an_edit_that_finds_nothing_shows_what_is_close(space: Workspace) -> None:
    well(space, FileWrite(file_path="code.py", content="def total(xs):\n    return sum(xs)\n\nprint(total([1]))\n"))
    text = refused(space, FileEdit(file_path="code.py", old_string="def totals(x):", new_string="y"))
    assert text == "code.py: nothing changed; old_string does not occur; the closest lines are:\n     1\tdef total(xs):"
    text = refused(space, FileEdit(file_path="code.py", old_string="def total(xs):\n\treturn sum(xs)", new_string="y"))
    assert "but for white space it stands at line 1:\n     1\tdef total(xs):\n     2\t    return sum(xs)" in text
    assert "no line is like it" in refused(space, FileEdit(file_path="code.py", old_string="@@@@", new_string="y"))
    assert "are the same" in refused(space, FileEdit(file_path="code.py", old_string="sum", new_string="sum"))


def test_edits_keep_line_ends_and_bytes_that_are_no_utf8(space: Workspace) -> None:
    well(space, FileEdit(file_path="dos.ini", old_string="x=1\ny=2", new_string="x=3\nz=4\ny=5"))
    assert bash(space, "od -c -An dos.ini | tr -d ' \\n'").text == r"[a]\r\nx=3\r\nz=4\r\ny=5\r\n"
    bash(space, "printf 'gr\\374n one\\n' > latin")
    well(space, FileEdit(file_path="latin", old_string="one", new_string="zwölf"))
    assert bash(space, "od -An -tx1 latin").text.split() == [
        "67",
        "72",
        "fc",
        "6e",
        "20",
        "7a",
        "77",
        "c3",
        "b6",
        "6c",
        "66",
        "0a",
    ]
    bash(space, "printf 'a\\0b' > bin")
    assert "is binary" in refused(space, FileEdit(file_path="bin", old_string="a", new_string="c"))


def test_several_edits_are_all_or_none(space: Workspace) -> None:
    edits = (
        Replacement(old_string="line 1\n", new_string="ONE\n"),
        Replacement(old_string="ONE\n", new_string="1st\n"),
    )
    assert well(space, FileMultiEdit(file_path="notes.txt", edits=edits)) == "notes.txt: replaced at line 1; line 1"
    again = (Replacement(old_string="line 3\n", new_string="THREE\n"), *edits)
    assert "nothing changed; edit 2 of 3: old_string does not occur" in refused(
        space, FileMultiEdit(file_path="notes.txt", edits=again)
    )
    assert bash(space, "head -3 notes.txt").text == "1st\nline 2\nline 3"


def test_an_edit_cannot_make_a_file_explode(space: Workspace) -> None:
    well(space, FileWrite(file_path="as", content="a" * 1_000_000))
    edit = FileEdit(file_path="as", old_string="a", new_string="b" * 1_000_000, replace_all=True)
    assert "would have more than" in refused(space, edit)


def test_metadata(space: Workspace) -> None:
    bash(space, "ln -s notes.txt link; mkdir d")
    lines = well(space, FileMetadata(file_paths=("notes.txt", "link", "d", "/dev/null"))).split("\n")
    assert lines[0] == "notes.txt: regular file, 231 bytes, mode 0640, owner ada:ada, 30 lines"
    assert lines[1].startswith("link: symbolic link to notes.txt, 9 bytes") and lines[2].startswith("d: directory, ")
    assert lines[3].startswith("/dev/null: character special file")
    text = refused(space, FileMetadata(file_paths=("notes.txt", "nope")))
    assert "30 lines\nnope: there is no such" in text


# --- search -------------------------------------------------------------------------------------------------------------


def test_grep(space: Workspace) -> None:
    bash(
        space,
        "mkdir -p b a; echo 'def f(x):' > b/z.py; echo '  def g(x):' > a/y.py; echo 'def h' > a/t.txt; printf 'def\\0' > a/bin.py",
    )
    assert well(space, Grep(pattern=r"def \w\(", include="*.py")) == "a/y.py:1:  def g(x):\nb/z.py:1:def f(x):"
    assert well(space, Grep(pattern="line 30", path="notes.txt")) == "notes.txt:30:line 30"
    assert well(space, Grep(pattern="-nothing-")) == "no line matches"
    assert refused(space, Grep(pattern="(open")) == "no valid extended regular expression: Unmatched ( or \\("
    assert "there is no such" in refused(space, Grep(pattern="x", path="nowhere"))
    bash(space, "seq 1 1000 > many; head -c 5000 /dev/zero | tr '\\0' 'y' > wide")
    text = well(space, Grep(pattern="[0-9]", path="many")).split("\n")
    assert len(text) == 101 and text[-1] == "[the first 100 lines; there are more]"
    assert well(space, Grep(pattern="yyy")).endswith("yyy [...]")


def test_glob(space: Workspace) -> None:
    bash(
        space,
        "mkdir -p src/deep/er .git; touch src/a.py src/deep/b.py src/deep/er/c.js .git/x.py top.py 'src/new\nline.py'",
    )
    assert well(space, Glob(pattern="**/*.py")).split("\n") == [
        "src/a.py",
        "src/deep/b.py",
        "src/new",
        "line.py",
        "top.py",
    ]
    assert well(space, Glob(pattern="*.py", path="src")).split("\n")[0] == "src/a.py"
    assert well(space, Glob(pattern="src/**/*.{js,py}")).count("\n") == 4
    assert well(space, Glob(pattern=".git/*")) == ".git/x.py"
    assert well(space, Glob(pattern="/srv/*.txt")) == "/srv/public.txt\n/srv/secret.txt"
    assert well(space, Glob(pattern="~/work/*.ini")) == "~/work/dos.ini"
    assert well(space, Glob(pattern="*.zip")) == "no file matches"
    assert refused(space, Glob(pattern="*", path="top.py")) == "top.py: is not a folder"
    assert "alternatives" in refused(space, Glob(pattern="{a,b,c}" * 9))
    bash(space, "mkdir n && cd n && touch $(seq -w 1 200)")
    assert well(space, Glob(pattern="*")).endswith("100\n[the first 100 files; there are more]")


def test_ls(space: Workspace) -> None:
    bash(space, "mkdir l && cd l && mkdir sub && printf abc > f && ln -s f link && touch .hidden x.pyc && mkfifo p")
    seen = well(space, Ls(ignore=("*.pyc",)))
    assert seen == ".hidden  0 bytes\nf  3 bytes\nlink -> f\np  (special file)\nsub/"
    assert well(space, Ls(path="sub")) == "sub: nothing is in it"
    assert refused(space, Ls(path="f")) == "f: is not a folder"


# --- robustness ---------------------------------------------------------------------------------------------------------


def test_file_work_does_not_depend_on_the_agents_shell(space: Workspace) -> None:
    bash(
        space,
        "cat() { echo fooled; }; cd() { :; }; set -u; shopt -s failglob; PATH=/nowhere; unset HOME; exec >/dev/null 2>&1",
    )
    assert "line 1\n" in well(space, FileRead(file_path="notes.txt", limit=2))
    assert well(space, Glob(pattern="*.ini")) == "dos.ini"


def test_file_work_survives_the_end_of_its_shell(space: Workspace) -> None:
    well(space, Ls())
    bash(space, "kill -9 -1")
    assert "notes.txt" in well(space, Ls(path="~/work"))
    assert bash(space, "echo back").text.endswith("back")


# --- patterns -----------------------------------------------------------------------------------------------------------

NAMES = ("a", "b.py", ".h", "ab", "c[d")
PARTS = ("**", "*", "a", "*.py", "a?", ".*", "[ab]*", "?", "[!a]*")


def test_patterns_agree_with_pythons_own_on_a_real_tree() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for one in NAMES:
            for two in NAMES:
                Path(folder, f"d{one}", f"a{two}").mkdir(parents=True)
                for three in NAMES:
                    Path(folder, f"d{one}", f"a{two}", three).touch()
                    Path(folder, f"d{one}", three).touch()
        paths = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names]
        _compare(folder, paths)


def _compare(folder: str, paths: list[str]) -> None:
    @settings(deadline=None)
    @example(["**", "a", "**"])
    @given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4))
    def same(parts: list[str]) -> None:
        pattern = "/".join(parts)
        # A name with a slash at its end means a folder; before Python 3.13 glob gives one for files too.
        found = (path for path in glob.glob(pattern, root_dir=folder, recursive=True) if not path.endswith("/"))
        expected = {os.path.normpath(path) for path in found}
        assert set(filter(matcher(pattern), paths)) == expected & set(paths)

    same()


@given(st.text("ab*?[]!{},/.-\\", max_size=30), st.text("ab./-", max_size=20))
def test_no_pattern_is_a_crash(pattern: str, path: str) -> None:
    try:
        assert matcher(pattern)(path) in (True, False)
    except ValueError as error:
        assert str(MOST_ALTERNATIVES) in str(error)


def test_a_hostile_pattern_costs_little() -> None:
    assert not matcher("/".join(["**", "*a*a*a*a*a*a*a*a*b"] * 20))("/".join(["a" * 200] * 50))


def test_an_agent_that_removes_the_shell_has_failed_no_more_than_its_actions(pool: Pool) -> None:
    task = toy()
    built = pool.engine.build(task.image, task.limits)
    with pool.engine.start(built, task.limits) as sandbox, Workspace(sandbox) as workspace:
        workspace.do(Bash(cmd="rm /bin/bash; exit"), 60)
        for action in (
            Bash(cmd="true"),
            FileRead(file_path="~/x"),
            FileRead(file_path="x"),
            Bash(cmd="true", block=False),
        ):
            seen = workspace.do(action, 60)
            assert seen.failed, seen
        assert "no shell starts" in seen.text
