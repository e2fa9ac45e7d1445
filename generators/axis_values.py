"""What stands in the files of datasets/axes: the records of each axis's values."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from generators.bases import Base
from generators.difficulty import Control, Level
from generators.task import Difficulty, Record, Text

Range = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]  # both included
Names = Annotated[tuple[Text, ...], Field(min_length=1)]


class Value(Record):
    """A value of an axis: its share relative to the others, and what a prompt says of it."""

    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    say: Text


class Domain(Value):
    """What the work is about. `base` is used where neither language nor fixture needs another."""

    categories: dict[Text, Text] = Field(min_length=1)
    base: Base = Base.PYTHON


class TaskComplexity(Value):
    """How much there is to do: `commands` from and to, and a range for each other knob."""

    commands: Range
    knobs: dict[Text, Range]
    difficulties: Annotated[tuple[Difficulty, ...], Field(min_length=1)]


class Knob(Record):
    """A number that a writer is given, and the bounds it keeps at any scale."""

    say: Text
    least: int = Field(ge=0)
    most: int


class VerifierKind(Value):
    """How the end state is judged, and what it fits."""

    fixtures: Names
    task_complexities: Names
    command_complexities: Names


class Fixture(Value):
    """The material of a task, and what it fits. No `domains` means all."""

    verifiers: Names
    command_complexities: Names
    domains: tuple[Text, ...] = ()
    base: Base = Base.PYTHON


class Language(Value):
    """What is written in. `apt` are Debian packages beyond `base`; no `domains` means all."""

    base: Base
    apt: tuple[Text, ...] = ()
    command_complexities: Names
    domains: tuple[Text, ...] = ()


class Persona(Value):
    """Who asks; `say` is how they write."""

    domains: Names


class Anchor(Persona):
    """Real software that a task is about."""

    apt: tuple[Text, ...] = ()


class Complexities(Record):
    """The file complexities.yaml."""

    knobs: dict[str, Knob]
    task: dict[str, TaskComplexity]
    command: dict[str, Value]


class Anchors(Record):
    """The file anchors.yaml: the share of tasks that have an anchor, and the anchors."""

    probability: float = Field(ge=0, lt=1)
    anchors: dict[str, Anchor]


class Difficulties(Record):
    """The file difficulties.yaml."""

    control: Control
    levels: dict[Difficulty, Level]
