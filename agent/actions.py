"""What an agent can do in its sandbox: one frozen record per action.

    Bash(cmd="make -C /srv/app")        FileEdit(file_path="/etc/app.ini", old_string="a", new_string="b")

`tag` is the name an action goes by in a reply; those that share a tag are told apart by `action`. How a reply spells actions is a
style's business (agent/styles), what they do stands in agent/handlers.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from generators.task import Record

MAX_SECONDS = 600  # of one command
MAX_PATHS = 10
Path = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS)]


class Action(Record):
    """Base of all. With `must_succeed`, the actions after it in the same reply do not run if it fails, or cannot be read."""

    tag: ClassVar[str]
    must_succeed: bool = False


class Bash(Action):
    """A command in the shell that lives through the whole episode; with `block` false, in the background."""

    tag: ClassVar[str] = "bash"
    cmd: Annotated[str, Field(min_length=1)]
    block: bool = True
    timeout_secs: Seconds | None = None  # None: the episode's own


class TodoAdd(Record):
    """A new item."""

    action: Literal["add"] = "add"
    content: Annotated[str, Field(min_length=1)]


class TodoComplete(Record):
    """An item is done."""

    action: Literal["complete"] = "complete"
    task_id: int


class TodoDelete(Record):
    """An item is dropped."""

    action: Literal["delete"] = "delete"
    task_id: int


class TodoView(Record):
    """All items."""

    action: Literal["view_all"] = "view_all"


TodoOperation = Annotated[TodoAdd | TodoComplete | TodoDelete | TodoView, Field(discriminator="action")]


class Todo(Action):
    """Changes to the list of things to do, numbered from 1."""

    tag: ClassVar[str] = "todo"
    operations: Annotated[tuple[TodoOperation, ...], Field(min_length=1)]


class NoteAdd(Action):
    """A note to oneself."""

    tag: ClassVar[str] = "scratchpad"
    action: Literal["add_note"] = "add_note"
    content: Annotated[str, Field(min_length=1)]


class NotesView(Action):
    """All notes."""

    tag: ClassVar[str] = "scratchpad"
    action: Literal["view_all_notes"] = "view_all_notes"


class FileRead(Action):
    """Lines of a text file, numbered; `offset` is the first line, from 1."""

    tag: ClassVar[str] = "file"
    action: Literal["read"] = "read"
    file_path: Path
    offset: Annotated[int, Field(ge=1)] = 1
    limit: Annotated[int, Field(ge=1)] = 2000


class FileWrite(Action):
    """A whole file. One that exists is kept unless `overwrite` says otherwise."""

    tag: ClassVar[str] = "file"
    action: Literal["write"] = "write"
    file_path: Path
    content: str
    overwrite: bool = False


class Replacement(Record):
    """One text for another, over several lines too; it must occur once, or `replace_all` is set."""

    old_string: Annotated[str, Field(min_length=1)]
    new_string: str
    replace_all: bool = False


class FileEdit(Action):
    """One replacement in a text file."""

    tag: ClassVar[str] = "file"
    action: Literal["edit"] = "edit"
    file_path: Path
    old_string: Annotated[str, Field(min_length=1)]
    new_string: str
    replace_all: bool = False


class FileMultiEdit(Action):
    """Several replacements, one after the other; all or none."""

    tag: ClassVar[str] = "file"
    action: Literal["multi_edit"] = "multi_edit"
    file_path: Path
    edits: Annotated[tuple[Replacement, ...], Field(min_length=1)]


class FileMetadata(Action):
    """Kind, size, mode, owner and line count of files."""

    tag: ClassVar[str] = "file"
    action: Literal["metadata"] = "metadata"
    file_paths: Annotated[tuple[Path, ...], Field(min_length=1, max_length=MAX_PATHS)]


class Grep(Action):
    """Lines that match a regular expression, below a folder or in a file; `include` is a pattern of file names."""

    tag: ClassVar[str] = "search"
    action: Literal["grep"] = "grep"
    pattern: Annotated[str, Field(min_length=1)]
    path: Path = "."
    include: str | None = None


class Glob(Action):
    """Files whose path below a folder matches a pattern such as `**/*.py`."""

    tag: ClassVar[str] = "search"
    action: Literal["glob"] = "glob"
    pattern: Annotated[str, Field(min_length=1)]
    path: Path = "."


class Ls(Action):
    """What is in a folder, without names that match a pattern of `ignore`."""

    tag: ClassVar[str] = "search"
    action: Literal["ls"] = "ls"
    path: Path = "."
    ignore: tuple[str, ...] = ()


class Think(Action):
    """Words without effect."""

    tag: ClassVar[str] = "think"
    content: str = ""


class Finish(Action):
    """The work is done (or given up); the episode ends and is graded."""

    tag: ClassVar[str] = "finish"
    message: str = ""


AnyAction = (
    Bash
    | Todo
    | NoteAdd
    | NotesView
    | FileRead
    | FileWrite
    | FileEdit
    | FileMultiEdit
    | FileMetadata
    | Grep
    | Glob
    | Ls
    | Think
    | Finish
)
ACTIONS: tuple[type[Action], ...] = get_args(AnyAction)


def with_tag(tag: str) -> tuple[type[Action], ...]:
    """The actions that go by a tag; empty for a tag that is not known."""
    return tuple(kind for kind in ACTIONS if kind.tag == tag)


def arguments(action: Action) -> dict[str, Any]:
    """An action's own fields, without those at their defaults but with `action`, as JSON values."""
    given, fields = action.model_dump(mode="json"), type(action).model_fields
    return {name: given[name] for name in fields if name == "action" or getattr(action, name) != fields[name].default}


class Malformed(Record):
    """Something that was meant as an action and is none: where it stands in the reply, and what would have been right."""

    tag: str
    line: int  # of the reply, from 1
    column: int  # from 1
    problem: str  # one line
    echo: str = ""  # a few characters from there
    expected: str = ""  # the form, with an example
    must_succeed: bool = False  # as far as can be seen

    def __str__(self) -> str:
        place = f"<{self.tag}> " if self.tag else ""
        said = f"\nthere: {self.echo}" if self.echo else ""
        form = f"\nexpected:\n{self.expected}" if self.expected else ""
        return f"{place}line {self.line}, column {self.column}: {self.problem}{said}{form}"
