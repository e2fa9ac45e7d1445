"""Where in the space of tasks the next ones go: a seeded sampler that fills every axis towards its weights.

    space = load_space(folder)
    cells = sample(space, seed=7, count=24, mix={Difficulty.MEDIUM: 60, Difficulty.HARD: 40})
    more = sample(space, seed=8, count=24, mix=mix, so_far=tally(cells))     # goes on where the first batch left gaps
    print(cells[0].describe())                                               # the lines for a prompt

A value's turn comes when it is the least filled, relative to its weight, of those that fit what was drawn before it. The
first cells of a long sample are those of a short one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from generators.axis_values import Persona, Value
from generators.bases import Base
from generators.cell import IN_DOMAIN, Cell, in_domain, pair
from generators.difficulty import Rates, scaled, scales
from generators.errors import RecipeError
from generators.seeds import stream
from generators.space import COMMANDS, LEAST_SKILLS, MOST_SKILLS, Space, load_space
from generators.task import Difficulty, Verifier

__all__ = ["Cell", "Rates", "Space", "load_space", "sample", "tally"]

TRIES = 50  # redraws of a cell that was drawn before
P = TypeVar("P", bound=Persona)


def tally(cells: Iterable[Cell]) -> dict[str, dict[str, int]]:
    """How often each value of each axis occurs, pairs with the domain included: what `sample` takes as `so_far`."""
    filling = Filling()
    for cell in cells:
        filling.add(cell)
    return {axis: dict(sorted(counts.items())) for axis, counts in sorted(filling.counts.items())}


def sample(
    space: Space,
    seed: int,
    count: int,
    mix: Mapping[Difficulty, float],
    so_far: Mapping[str, Mapping[str, int]] | None = None,
    rates: Rates | None = None,
) -> list[Cell]:
    """Cells to write tasks for, no two alike. `mix` holds the shares of difficulties, `rates` what earlier batches measured.

    Raises:
        RecipeError: the mix holds no share, or a share that is no number from 0 up; or the space has too few cells.
    """
    if not all(share >= 0 and math.isfinite(share) for share in mix.values()) or not any(mix.values()):
        raise RecipeError(f"difficulty: the shares {[*mix.values()]} must be numbers from 0 up, and one above 0")
    levels = scales(space.difficulties.levels, space.difficulties.control, rates)
    filling = Filling(seed, so_far)
    seen: set[str] = set()
    cells: list[Cell] = []
    for number in range(count):
        cell = _unseen(space, number, mix, levels, filling, seen)
        filling.add(cell)
        cells.append(cell)
    return cells


class Filling:
    """How far each axis is filled, and whose turn it is."""

    def __init__(self, seed: int = 0, so_far: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self.seed = seed
        self.counts: dict[str, Counter[str]] = {axis: Counter(counts) for axis, counts in (so_far or {}).items()}
        self._parts: dict[tuple[str, str, int, int], float] = {}

    def add(self, cell: Cell) -> None:
        """Count a cell."""
        for axis, value in cell.values():
            self.counts.setdefault(axis, Counter())[value] += 1

    def of(self, axis: str, value: str, attempt: int) -> float:
        """How often a value was drawn, and a random part of its next time.

        The part is fixed until the value is drawn: each value comes at a random moment of its interval. So ties are broken,
        axes do not move in step, and values of small weight do not all come first.
        """
        count = self.counts[axis][value] if axis in self.counts else 0
        key = (axis, value, count, attempt)
        if key not in self._parts:
            self._parts[key] = stream("turn", self.seed, *key).random()
        return count + self._parts[key]

    def ordered(self, axis: str, weights: Mapping[str, float], domain: Mapping[str, float], attempt: int) -> list[str]:
        """Values by filled relative to wanted, least first; `domain` is the one to look within and its share, or empty."""

        def filled(value: str) -> float:
            overall = self.of(axis, value, attempt) / weights[value]
            within = [
                self.of(pair(axis), in_domain(name, value), attempt) / (weights[value] * share)
                for name, share in domain.items()
            ]
            return overall + sum(within)

        return sorted((value for value, weight in weights.items() if weight > 0), key=filled)


def _unseen(
    space: Space,
    number: int,
    mix: Mapping[Difficulty, float],
    levels: Mapping[Difficulty, float],
    filling: Filling,
    seen: set[str],
) -> Cell:
    """Draw until the cell is a new one."""
    for attempt in range(TRIES):
        cell = _Draw(space, filling, number, attempt).cell(mix, levels)
        key = "\n".join(sorted(value for _, value in cell.values()))
        if key not in seen:
            seen.add(key)
            return cell
    raise RecipeError(f"axes: no cell that differs from the {number} before it; add values to the axes")


class _Draw:
    """One cell being drawn, each choice among what fits the choices before it."""

    def __init__(self, space: Space, filling: Filling, number: int, attempt: int) -> None:
        self.space, self.filling, self.attempt = space, filling, attempt
        self.rng = stream("cell", filling.seed, number, attempt)
        self.domain: dict[str, float] = {}

    def ordered(self, axis: str, weights: Mapping[str, float]) -> list[str]:
        """All values, the one whose turn it is first."""
        within = self.domain if axis in IN_DOMAIN else {}
        return self.filling.ordered(axis, weights, within, self.attempt)

    def pick(self, axis: str, weights: Mapping[str, float]) -> str:
        """The value whose turn it is."""
        return self.ordered(axis, weights)[0]

    def cell(self, mix: Mapping[Difficulty, float], levels: Mapping[Difficulty, float]) -> Cell:
        """All choices, the most constraining first."""
        space = self.space
        domain = self.pick("domain", _weights(space.domains))
        self.domain = {domain: space.domains[domain].weight / sum(_weights(space.domains).values())}
        difficulty = Difficulty(self.pick("difficulty", {level.value: mix.get(level, 0.0) for level in Difficulty}))
        command = self.pick("command_complexity", _weights(space.complexities.command))
        verifier = Verifier(self.pick("verifier", space.verifiers_for(command)))
        complexity = self.pick("task_complexity", space.complexities_for(verifier, difficulty))
        fields = {
            "domain": domain,
            "difficulty": difficulty,
            "command_complexity": command,
            "verifier": verifier,
            "task_complexity": complexity,
            "fixture": self.pick("fixture", space.fixtures_for(domain, command, verifier)),
            "language": self.pick("language", space.languages_for(domain, command)),
            "category": self.pick("category", dict.fromkeys(space.domains[domain].categories, 1.0)),
            "context": self.pick("context", _weights(space.contexts)),
            "voice": self.pick("voice", _weights(space.voices)),
            "persona": self.pick("persona", _weights(_serving(space.personas, domain))),
            "anchor": self._anchor(domain),
            "skills": self._skills(domain),
            "scale": levels[difficulty],
            "knobs": self._knobs(complexity, levels[difficulty]),
        }
        return Cell.model_validate(fields | _tools(space, fields) | {"notes": _notes(space, fields)})

    def _anchor(self, domain: str) -> str | None:
        share = self.space.anchors.probability
        if self.pick("anchored", {"yes": share, "no": 1 - share}) == "no":
            return None
        return self.pick("anchor", _weights(_serving(self.space.anchors.anchors, domain)))

    def _skills(self, domain: str) -> tuple[str, ...]:
        count = self.rng.randint(LEAST_SKILLS, MOST_SKILLS)
        return tuple(self.ordered("skills", dict.fromkeys(self.space.skills[domain], 1.0))[:count])

    def _knobs(self, name: str, scale: float) -> dict[str, int]:
        complexity = self.space.complexities.task[name]
        knobs = {COMMANDS: self.rng.randint(*complexity.commands)}
        for key, knob in self.space.complexities.knobs.items():
            knobs[key] = scaled(self.rng.randint(*complexity.knobs[key]), scale, knob.least, knob.most)
        return knobs


def _weights(values: Mapping[Any, Value]) -> dict[str, float]:
    return {str(name): value.weight for name, value in values.items()}


def _serving(values: Mapping[str, P], domain: str) -> dict[str, P]:
    return {name: value for name, value in values.items() if domain in value.domains}


def _tools(space: Space, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The base, from what needs one most, and the packages to add to it."""
    language = space.languages[chosen["language"]]
    bases = (space.fixtures[chosen["fixture"]].base, language.base, space.domains[chosen["domain"]].base)
    anchor = space.anchors.anchors.get(chosen["anchor"] or "")
    packages = {*language.apt, *(anchor.apt if anchor else ())}
    return {"base": next((base for base in bases if base != Base.PYTHON), Base.PYTHON), "apt": tuple(sorted(packages))}


def _notes(space: Space, chosen: Mapping[str, Any]) -> dict[str, str]:
    """What the data say of each chosen value, and what each knob counts."""
    complexities, domain = space.complexities, space.domains[chosen["domain"]]
    of: dict[str, Mapping[Any, Any]] = {
        "domain": space.domains,
        "context": space.contexts,
        "persona": space.personas,
        "language": space.languages,
        "task_complexity": complexities.task,
        "command_complexity": complexities.command,
        "difficulty": space.difficulties.levels,
        "verifier": space.verifiers,
        "fixture": space.fixtures,
        "voice": space.voices,
        "anchor": space.anchors.anchors,
    }
    notes = {axis: str(values[chosen[axis]].say) for axis, values in of.items() if chosen[axis] is not None}
    notes["category"] = domain.categories[chosen["category"]]
    notes[COMMANDS] = "commands of somebody who knows how"
    return notes | {name: knob.say for name, knob in complexities.knobs.items()}
