"""What a family is: a function from a draw to a draft, and the kit it draws with.

A family is one module under `generators/families/<domain>/` that ends in `FAMILY = Family(...)`:

    def draft(draw: Draw) -> Draft:
        setting = draw.setting(SETTINGS)          # another business, vocabulary and voice for each serial
        size = draw.by_difficulty(easy=20, medium=80, hard=300)
        ...                                       # data from draw.rng, truth computed here, in Python
        return Draft(...)

Everything comes from `draw`: no clock, no salted hash, no set order, no tool of the image.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar, cast

import yaml

from generators.bases import Base
from generators.task import Difficulty, Limits, NearMiss, Verifier

T = TypeVar("T")
Content = str | bytes
Voice = Literal["ticket", "email", "note", "specification", "chat", "runbook"]


@dataclass(frozen=True)
class Draw:
    """One drawing of a family: its random stream, how hard it shall be, and its number within the family."""

    rng: Random
    difficulty: Difficulty
    serial: int

    def setting(self, settings: Sequence[T]) -> T:
        """The setting of this serial; neighbours get different ones."""
        return settings[self.serial % len(settings)]

    def by_difficulty(self, **values: T) -> T:
        """The value named after this draw's difficulty, e.g. `by_difficulty(easy=3, medium=8, hard=20)`."""
        return values[self.difficulty.value]

    def pick(self, items: Sequence[T]) -> T:
        """One item."""
        return self.rng.choice(items)

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Different items, in random order."""
        return self.rng.sample(list(items), count)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A shuffled copy."""
        return self.rng.sample(list(items), len(items))

    def chance(self, percent: int) -> bool:
        """True with this probability."""
        return self.rng.randrange(100) < percent

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self.rng.randint(low, high)


@dataclass(frozen=True)
class Setting:
    """One world a family can be told in. Families subclass it with their own words."""

    name: str
    persona: str
    scenario: str
    voice: Voice


@dataclass(frozen=True)
class Miss:
    """A plausible wrong solution: a bash script, why it is wrong, and the tests that must fail after it."""

    name: str
    why: str
    script: str
    caught_by: Sequence[str]


@dataclass(frozen=True)
class Draft:
    """What a family writes for one task.

    instruction   what the agent sees: absolute paths, exact output formats, never the commands to use
    dockerfile    the lines after the base's preamble (COPY, RUN, ENV, WORKDIR, USER)
    files         build context: path -> text or bytes, or (content, mode)
    truth         JSON values; privileged; available to the tests as the global `TRUTH`
    discoverable  keys of truth whose single values have to be in the image's data (an id found in a log); the leak gate
                  searches the image for every other string of truth, and for every compound value as a whole
    tests         source of the completion tests: plain `test_*` functions without arguments, standard library only
    weights       goal test -> weight, summing to 1
    guards        tests that hold on the untouched container and must still hold at the end
    initial       source of the initial-state tests (same rules; `TRUTH` is available too)
    solution      bash; scores 1
    alternatives  at least one other correct way, as different as it can be; bash; scores 1
    misses        at least two plausible wrong solutions
    requirements  (sentence of the instruction word for word, tests that check it)
    """

    title: str
    instruction: str
    dockerfile: str
    truth: Mapping[str, Any]
    tests: str
    weights: Mapping[str, float]
    initial: str
    solution: str
    alternatives: Sequence[str]
    misses: Sequence[Miss]
    requirements: Sequence[tuple[str, Sequence[str]]]
    setting: Setting
    files: Mapping[str, Content | tuple[Content, int]] = field(default_factory=dict[str, Content])
    guards: Sequence[str] = ()
    discoverable: Sequence[str] = ()
    knobs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Family:
    """A family and what is common to its tasks. `capacity` is how many different tasks it can give.

    `by_name_only`: a recipe has it only where it names it; `families: all` goes without.
    """

    name: str
    domain: str
    verifier: Verifier
    skills: tuple[str, ...]
    difficulties: tuple[Difficulty, ...]
    capacity: int
    draft: Callable[[Draw], Draft]
    base: Base = Base.PYTHON
    language: str = "any"
    command_complexity: Literal["bash", "code", "services"] = "code"
    fixture: Literal["text_only", "image", "audio", "video", "stripped_binary", "vendored_package", "multi_service"] = (
        "text_only"
    )
    anchor: str | None = None
    version: str = "1"
    by_name_only: bool = False


S = TypeVar("S", bound=Setting)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same result, ten times faster where libyaml is there


def resource(module: str, name: str) -> str:
    """A text file of a family: `resource(__file__, "tests.py")` reads `files/<family>/tests.py` beside the module."""
    path = Path(module)
    return (path.parent / "files" / path.stem / name).read_text(encoding="utf-8")


def load_settings(module: str, kind: type[S], name: str = "settings.yaml") -> tuple[S, ...]:
    """The settings of a family, a mapping of `kind`'s fields each, from its `settings.yaml`. Lists become tuples."""
    items = yaml.load(resource(module, name), _Loader)
    return tuple(kind(**{key: _frozen(value) for key, value in item.items()}) for item in items)


def load_words(module: str, name: str) -> dict[str, Any]:
    """A mapping from one of a family's YAML files, for sentences in several wordings. Lists become tuples."""
    return {key: _frozen(value) for key, value in yaml.load(resource(module, name), _Loader).items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in cast(list[Any], value))
    return value


def with_truth(source: str, truth: Mapping[str, Any]) -> str:
    """A test module that carries its truth, so that it needs no second file wherever it is graded."""
    text = json.dumps(truth, sort_keys=True, ensure_ascii=True)
    return f"import json\n\nTRUTH = json.loads({text!r})\n\n{source.strip()}\n"


def near_misses(misses: Sequence[Miss]) -> tuple[NearMiss, ...]:
    """The records of a draft's misses."""
    return tuple(
        NearMiss(name=miss.name, why=miss.why, script=miss.script, caught_by=tuple(miss.caught_by)) for miss in misses
    )
