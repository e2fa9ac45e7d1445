"""What a task is: frozen records with one canonical JSON form and one digest.

A task's digest covers everything that changes how it behaves (instruction, truth, image, tests, solutions, limits) and
nothing that does not (id, axes, provenance). Evidence refers to the digest, so any edit voids it.
"""

from __future__ import annotations

import base64
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from generators.digest import canonical_json, digest_of

Text = Annotated[str, Field(min_length=1)]
WEIGHT_TOLERANCE = 1e-6


class Record(BaseModel):
    """A frozen record: unknown keys are refused, fields cannot be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def canonical(self) -> str:
        """The record's canonical JSON."""
        return canonical_json(self.model_dump(mode="json"))


class Difficulty(StrEnum):
    """How hard a task is meant to be; measured pass rates correct it later."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    EXTREMELY_HARD = "extremely_hard"


class Verifier(StrEnum):
    """How the end state is judged."""

    EXACT_TEXT = "exact_text"
    METRIC_THRESHOLD = "metric_threshold"
    ADVERSARIAL_CORPUS = "adversarial_corpus"
    FUZZ_EQUIVALENCE = "fuzz_equivalence"
    MULTI_PROTOCOL = "multi_protocol"


class Axes(Record):
    """Where a task lies in the space of tasks."""

    domain: Text
    skills: tuple[Text, ...]
    difficulty: Difficulty
    verifier: Verifier
    task_complexity: Literal["short", "moderate", "complex", "intricate"]
    command_complexity: Literal["bash", "code", "services"]
    scenario: Text
    persona: Text
    language: Text
    fixture: Literal["text_only", "image", "audio", "video", "stripped_binary", "vendored_package", "multi_service"]
    anchor: str | None = None


class ContextFile(Record):
    """One file of an image's build context. `mode` holds the permission bits."""

    path: Text
    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"
    mode: int = Field(default=0o644, ge=0, le=0o7777)

    @classmethod
    def of(cls, path: str, content: str | bytes, mode: int = 0o644) -> Self:
        """Text stays text; bytes that are not UTF-8 are kept as base64."""
        if isinstance(content, str):
            return cls(path=path, content=content, mode=mode)
        try:
            return cls(path=path, content=content.decode("utf-8"), mode=mode)
        except UnicodeDecodeError:
            return cls(path=path, content=base64.b64encode(content).decode(), encoding="base64", mode=mode)

    def data(self) -> bytes:
        """The file's bytes."""
        return base64.b64decode(self.content) if self.encoding == "base64" else self.content.encode()

    @model_validator(mode="after")
    def _path_stays_inside(self) -> Self:
        parts = self.path.split("/")
        if self.path.startswith("/") or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"context path {self.path!r} must be relative, without empty, '.' or '..' parts")
        return self


class Image(Record):
    """A Dockerfile and its context. The Dockerfile is canonical; other engines' formats are rendered from it."""

    dockerfile: Text
    files: tuple[ContextFile, ...] = ()


class TestSpec(Record):
    """A test function of the completion tests: a weighted goal, or a guard."""

    __test__ = False  # not a pytest class

    name: Annotated[str, Field(pattern=r"^test_[a-zA-Z0-9_]+$")]
    weight: float = Field(default=0.0, ge=0.0, le=1.0)
    guard: bool = False


class CompletionTests(Record):
    """One pytest module. Goals carry weights that sum to 1 and fail untouched; guards pass untouched."""

    source: Text
    tests: tuple[TestSpec, ...]

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        names = [test.name for test in self.tests]
        if len(set(names)) != len(names):
            raise ValueError(f"a test is named twice among {names}")
        goals = [test for test in self.tests if not test.guard]
        if not goals:
            raise ValueError("there is no goal test")
        if any(test.weight for test in self.tests if test.guard):
            raise ValueError("a guard carries a weight")
        if any(test.weight <= 0 for test in goals):
            raise ValueError("a goal carries no weight")
        total = sum(test.weight for test in goals)
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"the goals' weights sum to {total:g}, not to 1")
        return self

    @property
    def goals(self) -> tuple[TestSpec, ...]:
        """The weighted tests."""
        return tuple(test for test in self.tests if not test.guard)

    @property
    def guards(self) -> tuple[TestSpec, ...]:
        """The tests that must hold before and after."""
        return tuple(test for test in self.tests if test.guard)


class Requirement(Record):
    """A sentence of the instruction, word for word, and the tests that check it."""

    sentence: Text
    tests: tuple[Text, ...] = Field(min_length=1)


class NearMiss(Record):
    """A plausible wrong solution and the tests that must catch it."""

    name: Text
    why: Text
    script: Text
    caught_by: tuple[Text, ...] = Field(min_length=1)


class Limits(Record):
    """Budgets. Agent and grader never share one. Times in seconds, sizes in MiB."""

    build_seconds: int = Field(default=600, gt=0)
    solve_seconds: int = Field(default=60, gt=0)
    grade_seconds: int = Field(default=60, gt=0)
    memory_mb: int = Field(default=1024, gt=0)
    disk_mb: int = Field(default=512, gt=0)
    pids: int = Field(default=256, gt=0)
    cpus: float = Field(default=1.0, gt=0)


class Provenance(Record):
    """Where a task came from; enough to make it again."""

    writer: Literal["procedural", "model"]
    family: Text
    seed: int
    serial: int
    setting: Text
    knobs: dict[str, JsonValue] = {}
    version: Text


class Task(Record):
    """A terminal task with everything needed to build, grade and prove it."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    digest: Text
    title: Text
    instruction: Text
    truth: dict[str, JsonValue]
    discoverable: tuple[str, ...] = ()  # keys of truth whose single values the image's data cannot do without
    axes: Axes
    image: Image
    initial_tests: Text
    completion_tests: CompletionTests
    solution: str | None = None
    alternatives: tuple[Text, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    requirements: tuple[Requirement, ...]
    limits: Limits = Limits()
    provenance: Provenance

    @classmethod
    def create(cls, name: str, **fields: Any) -> Self:
        """Build a task from its fields, deriving `digest` and an id `<name>-<first 10 of the digest>`."""
        unsigned = cls.model_construct(id="", digest="", **fields)
        digest = unsigned.behaviour_digest()
        return cls(id=f"{name}-{digest[:10]}", digest=digest, **fields)

    def behaviour_digest(self) -> str:
        """sha256 over everything that changes how the task behaves."""
        return digest_of(self.model_dump(mode="json", exclude={"id", "digest", "title", "axes", "provenance"}))

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        known = {test.name for test in self.completion_tests.tests}
        cited = {name for requirement in self.requirements for name in requirement.tests}
        cited |= {name for miss in self.near_misses for name in miss.caught_by}
        if missing := sorted(cited - known):
            raise ValueError(f"tests are cited that do not exist: {', '.join(missing)}")
        if missing := sorted(set(self.discoverable) - set(self.truth)):
            raise ValueError(f"discoverable names keys that truth does not have: {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _digest_holds(self) -> Self:
        if self.digest != self.behaviour_digest():
            raise ValueError(f"task {self.id} was edited: its content does not have the digest it states")
        return self
