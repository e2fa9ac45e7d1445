"""Axes: data that hold together, and a sampler that fills them evenly, the same way on any machine."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.axes import Cell, Rates, load_space, sample, tally
from generators.bases import Base
from generators.difficulty import Observed
from generators.errors import RecipeError
from generators.family import Voice
from generators.procedural import all_families
from generators.recipe import DEFAULT_MIX
from generators.space import Space
from generators.task import Axes, Difficulty, Verifier

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "axes"
SPACE = load_space(FOLDER)
WANTED: dict[str, Mapping[str, float]] = {
    "domain": {name: value.weight for name, value in SPACE.domains.items()},
    "verifier": {name.value: value.weight for name, value in SPACE.verifiers.items()},
    "task_complexity": {name: value.weight for name, value in SPACE.complexities.task.items()},
    "command_complexity": {name: value.weight for name, value in SPACE.complexities.command.items()},
    "language": {name: value.weight for name, value in SPACE.languages.items()},
    "fixture": {name: value.weight for name, value in SPACE.fixtures.items()},
    "voice": {name: value.weight for name, value in SPACE.voices.items()},
    "difficulty": {level.value: share for level, share in DEFAULT_MIX.items()},
    "anchored": {"yes": 35.0, "no": 65.0},
}


@pytest.fixture(scope="module")
def thousand() -> list[Cell]:
    return sample(SPACE, 11, 1000, DEFAULT_MIX)


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def test_the_data_are_as_rich_as_promised() -> None:
    skills = [skill for own in SPACE.skills.values() for skill in own]
    assert len(SPACE.domains) >= 12 and {family.domain for family in all_families().values()} <= set(SPACE.domains)
    assert sum(len(domain.categories) for domain in SPACE.domains.values()) >= 62
    assert len(set(skills)) == len(skills) >= 280 and min(len(own) for own in SPACE.skills.values()) >= 22
    assert len(SPACE.contexts) >= 54 and len(SPACE.personas) >= 85 and len(SPACE.languages) >= 8
    assert len(SPACE.anchors.anchors) >= 40 and SPACE.anchors.probability == 0.35
    assert set(SPACE.voices) == set(get_args(Voice)) and set(SPACE.verifiers) == set(Verifier)


def test_personas_serve_every_domain_in_number() -> None:
    served = Counter(domain for persona in SPACE.personas.values() for domain in persona.domains)
    assert min(served[domain] for domain in SPACE.domains) >= 6


def test_no_two_sentences_are_alike() -> None:
    said = [
        value.say for value in (*SPACE.contexts.values(), *SPACE.personas.values(), *SPACE.anchors.anchors.values())
    ]
    said += [sentence for domain in SPACE.domains.values() for sentence in domain.categories.values()]
    words = [frozenset(sentence.lower().rstrip(".").split()) for sentence in said]
    near = [
        (said[i], said[j])
        for i in range(len(words))
        for j in range(i)
        if len(words[i] & words[j]) > 0.7 * len(words[i] | words[j])
    ]
    assert not near


@pytest.mark.parametrize("axis", sorted(WANTED))
def test_an_axis_is_filled_to_its_weights(thousand: list[Cell], axis: str) -> None:
    given_shares = shares(tally(thousand)[axis])
    for value, wanted in shares(WANTED[axis]).items():
        assert given_shares.get(value, 0) == pytest.approx(wanted, abs=0.012), value


@pytest.mark.parametrize("axis", ["verifier", "task_complexity", "command_complexity", "difficulty"])
def test_an_axis_is_filled_within_each_domain(thousand: list[Cell], axis: str) -> None:
    for domain in SPACE.domains:
        own = [cell for cell in thousand if cell.domain == domain]
        given_shares = shares(Counter(str(getattr(cell, axis)) for cell in own))
        for value, wanted in shares(WANTED[axis]).items():
            assert given_shares.get(value, 0) == pytest.approx(wanted, abs=0.06), (domain, value)


def test_categories_fill_evenly_within_their_domain(thousand: list[Cell]) -> None:
    counts = Counter(cell.category for cell in thousand)
    for domain in SPACE.domains.values():
        own = [counts[category] for category in domain.categories]
        assert min(own) > 0 and max(own) - min(own) <= 1


def test_every_value_is_used(thousand: list[Cell]) -> None:
    used = tally(thousand)
    assert set(used["context"]) == set(SPACE.contexts) and set(used["persona"]) == set(SPACE.personas)
    assert set(used["skills"]) == {skill for own in SPACE.skills.values() for skill in own}
    assert set(used["anchor"]) == set(SPACE.anchors.anchors)


def test_no_cell_comes_twice(thousand: list[Cell]) -> None:
    keys = {(cell.category, cell.context, cell.skills, cell.persona) for cell in thousand}
    assert len(keys) == len(thousand)


@pytest.mark.parametrize("axis", ["voice", "context", "language"])
def test_axes_do_not_move_in_step_with_the_domain(thousand: list[Cell], axis: str) -> None:
    """Where no rule binds an axis to the domain, no pair is far from the product of its shares."""
    used = tally(thousand)
    bound = {name for name, language in SPACE.languages.items() if language.domains or name == "any"}
    pairs = Counter((cell.domain, str(getattr(cell, axis))) for cell in thousand)
    for domain, ours in used["domain"].items():
        for value, others in used[axis].items():
            expected = ours * others / len(thousand)
            assert value in bound or abs(pairs[domain, value] - expected) <= 3.5 * expected**0.5 + 1.5, (domain, value)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(), level=st.sampled_from(sorted(Difficulty)))
def test_every_cell_fits_together(seed: int, level: Difficulty) -> None:
    for cell in sample(SPACE, seed, 12, {level: 1.0}):
        assert cell.difficulty == level and isinstance(cell.axes(), Axes)
        assert 3 <= len(cell.skills) <= 5 and set(cell.skills) <= set(SPACE.skills[cell.domain])
        assert cell.domain in SPACE.personas[cell.persona].domains
        assert cell.category in SPACE.domains[cell.domain].categories
        assert cell.anchor is None or cell.domain in SPACE.anchors.anchors[cell.anchor].domains
        verifier, fixture = SPACE.verifiers[cell.verifier], SPACE.fixtures[cell.fixture]
        assert cell.fixture in verifier.fixtures and cell.verifier.value in fixture.verifiers
        assert cell.task_complexity in verifier.task_complexities
        assert cell.command_complexity in verifier.command_complexities
        assert cell.domain in (fixture.domains or SPACE.domains)
        assert level in SPACE.complexities.task[cell.task_complexity].difficulties
        assert cell.command_complexity != "bash" or cell.language in ("bash", "any")
        assert cell.fixture != "stripped_binary" or cell.base == Base.BUILD
        assert set(SPACE.languages[cell.language].apt) <= set(cell.apt)
        for name, knob in SPACE.complexities.knobs.items():
            assert knob.least <= cell.knobs[name] <= knob.most


def test_a_short_sample_is_the_beginning_of_a_long_one() -> None:
    assert sample(SPACE, 5, 10, DEFAULT_MIX) == sample(SPACE, 5, 60, DEFAULT_MIX)[:10]
    assert sample(SPACE, 5, 10, DEFAULT_MIX) != sample(SPACE, 6, 10, DEFAULT_MIX)
    assert sample(SPACE, 5, 0, DEFAULT_MIX) == []


def test_the_order_of_the_mix_does_not_matter() -> None:
    turned = dict(reversed(DEFAULT_MIX.items()))
    assert sample(SPACE, 5, 20, DEFAULT_MIX) == sample(SPACE, 5, 20, turned)


def test_a_seed_gives_the_same_cells_on_any_machine() -> None:
    """The digest of a small space that this test writes itself, so that new data do not change it."""
    text = "\n".join(cell.canonical() for cell in sample(small_space(), 3, 20, DEFAULT_MIX))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "2c9f71398ffb515f"


def small_space() -> Space:
    """A fixed space of two domains and few values."""
    data = SPACE.model_dump(mode="json")
    kept = ["security", "debugging"]
    data["domains"] = {name: {"say": name, "categories": {f"{name} {i}": "x" for i in range(3)}} for name in kept}
    data["skills"] = {name: [f"{name} skill {i}" for i in range(7)] for name in kept}
    data["contexts"] = {f"context {i}": {"say": "x"} for i in range(3)}
    data["personas"] = {f"persona {i}": {"say": "x", "domains": kept} for i in range(3)}
    data["anchors"] = {"probability": 0.35, "anchors": {"git": {"say": "x", "domains": kept}}}
    data["voices"] = {"note": {"say": "x"}, "email": {"say": "x"}}
    data["languages"] = {"any": {"say": "x", "base": "python", "command_complexities": ["bash", "code", "services"]}}
    every = ["exact_text", "metric_threshold", "adversarial_corpus", "fuzz_equivalence", "multi_protocol"]
    fixtures, tasks = list(data["fixtures"]), list(data["complexities"]["task"])
    commands = ["bash", "code", "services"]
    fits = {"say": "x", "command_complexities": commands}
    data["verifiers"] = {name: fits | {"fixtures": fixtures, "task_complexities": tasks} for name in every}
    data["fixtures"] = {name: fits | {"verifiers": every} for name in fixtures}
    data["complexities"]["knobs"] = {"files": {"say": "x", "least": 1, "most": 9}}
    easy_to_hard = [level.value for level in Difficulty]
    data["complexities"]["task"] = {
        name: {"say": "x", "commands": [1, 9], "knobs": {"files": [1, 9]}, "difficulties": easy_to_hard}
        for name in tasks
    }
    data["complexities"]["command"] = {name: {"say": "x"} for name in commands}
    levels = {level.value: {"target": 0.5, "scale": 1.0, "say": "x"} for level in Difficulty}
    data["difficulties"] = {
        "control": {"gain": 0.5, "step": 1.5, "prior": 8, "least": 0.25, "most": 4},
        "levels": levels,
    }
    return Space.model_validate(data)


def test_later_batches_fill_what_earlier_ones_left() -> None:
    lopsided = {
        "domain": {"security": 200},
        "verifier": {"exact_text": 300},
        "language": {"rust": 90},
        "gone": {"x": 3},
    }
    used = tally(sample(SPACE, 2, 150, DEFAULT_MIX, so_far=lopsided))
    assert "security" not in used["domain"] and "rust" not in used["language"]
    assert used["verifier"].get("exact_text", 0) <= 30


def test_batches_together_are_as_even_as_one() -> None:
    cells: list[Cell] = []
    for batch in range(8):
        cells += sample(SPACE, 40 + batch, 60, DEFAULT_MIX, so_far=tally(cells))
    for axis in ("domain", "verifier", "task_complexity"):
        for value, share in shares(tally(cells)[axis]).items():
            assert share == pytest.approx(shares(WANTED[axis])[value], abs=0.012), (axis, value)


def test_a_description_says_all_that_was_drawn(thousand: list[Cell]) -> None:
    for cell in thousand[:50]:
        text = cell.describe()
        for axis, value in cell.values():
            assert value in text or axis == "anchored" or "*" in axis, axis
        assert SPACE.verifiers[cell.verifier].say in text and SPACE.contexts[cell.context].say in text
        assert all(f"{count} " in text for count in cell.knobs.values())
        assert all(package in text for package in cell.apt)


def test_cells_survive_json(thousand: list[Cell]) -> None:
    assert all(Cell.model_validate_json(cell.canonical()) == cell for cell in thousand[:50])


def test_harder_levels_have_more_of_everything() -> None:
    means: list[float] = []
    for level in Difficulty:
        cells = [cell for cell in sample(SPACE, 9, 300, {level: 1.0}) if cell.task_complexity == "moderate"]
        means.append(sum(cell.knobs["edge_cases"] for cell in cells) / len(cells))
    assert means == sorted(means) and means[0] < means[-1] / 2


def test_measured_pass_rates_change_the_knobs_and_nothing_else() -> None:
    solved = Observed(difficulty=Difficulty.HARD, tasks=200, pass_rate=0.95, scale=1.5)
    plain = sample(SPACE, 9, 60, DEFAULT_MIX)
    harder = sample(SPACE, 9, 60, DEFAULT_MIX, rates=Rates(observed=(solved,)))
    for before, after in zip(plain, harder, strict=True):
        assert before.axes() == after.axes() and after.knobs["commands"] == before.knobs["commands"]
        if before.difficulty == Difficulty.HARD:
            assert after.scale == 2.25 and all(after.knobs[name] >= count for name, count in before.knobs.items())
            assert after.knobs["lines"] > before.knobs["lines"]
        else:
            assert after == before


@pytest.mark.parametrize("mix", [{}, {Difficulty.EASY: 0.0}, {Difficulty.EASY: -1.0}, {Difficulty.EASY: float("nan")}])
def test_a_mix_without_shares_is_refused(mix: dict[Difficulty, float]) -> None:
    with pytest.raises(RecipeError, match="difficulty"):
        sample(SPACE, 1, 1, mix)


def test_a_space_too_small_says_so() -> None:
    """One domain, five skills (16 choices of at least three), 15 ways to combine the rest: 240 cells at most."""
    data = small_space().model_dump(mode="json")
    for axis in ("domains", "skills", "contexts", "personas", "voices"):
        data[axis] = dict([*data[axis].items()][:1])
    data["domains"]["security"]["categories"] = {"one": "x"}
    data["skills"]["security"] = data["skills"]["security"][:5]
    data["personas"]["persona 0"]["domains"] = ["security"]
    data["anchors"] = {"probability": 0.0, "anchors": {"git": {"say": "x", "domains": ["security"]}}}
    for name, kind in data["verifiers"].items():
        exact = name == "exact_text"
        kind["fixtures"] = [*data["fixtures"]] if exact else ["text_only"]
        kind |= {"task_complexities": ["short"], "command_complexities": ["bash"] if exact else ["code", "services"]}
    for name, fixture in data["fixtures"].items():
        fixture["verifiers"] = [*data["verifiers"]] if name == "text_only" else ["exact_text"]
    space = Space.model_validate(data)
    assert len(sample(space, 1, 60, {Difficulty.EASY: 1.0})) == 60
    with pytest.raises(RecipeError, match="add values to the axes"):
        sample(space, 1, 241, {Difficulty.EASY: 1.0})


@pytest.mark.parametrize(
    ("file", "keys", "value", "message"),
    [
        ("domains", ("security", "weight"), 0, "domains.yaml: security.weight: Input should be greater than 0"),
        ("domains", ("security", "colour"), "red", "domains.yaml: security.colour: Extra inputs"),
        ("domains", ("security", "categories"), {}, "domains.yaml: security.categories"),
        ("domains", ("knitting",), {"say": "x", "categories": {"a": "b"}}, "skills: 'knitting' is missing"),
        ("skills", ("security",), ["one"], "skills: security: 1 are given"),
        ("skills", ("security",), [f"s{i}" for i in range(5)] + ["s1"], "skills: 's1' is given twice"),
        ("personas", ("a malware analyst", "domains"), ["warfare"], "personas: a malware analyst: domains: 'warfare'"),
        ("languages", ("any", "command_complexities"), ["cloud"], "languages: any: command_complexities: 'cloud'"),
        ("languages", ("any", "base"), "fedora", "languages.yaml: any.base"),
        ("verifiers", ("exact_text", "fixtures"), ["text_only"], "exact_text do not agree"),
        ("verifiers", ("taste",), {"say": "x"}, "verifiers.yaml: taste"),
        (
            "fixtures",
            ("hologram",),
            {"say": "x", "verifiers": ["exact_text"], "command_complexities": ["code"]},
            "hologram",
        ),
        ("complexities", ("task", "short", "commands"), [9, 2], "short: commands: from 9 to 2"),
        ("complexities", ("task", "short", "knobs"), {}, "short: knobs: 'conflicts' is missing"),
        ("complexities", ("task", "intricate", "difficulties"), [], "complexities.yaml: task.intricate.difficulties"),
        ("complexities", ("knobs", "files", "most"), 0, "knobs: files: from 1 to 0"),
        ("anchors", ("probability",), 1.5, "anchors.yaml: probability"),
        ("voices", ("poem",), {"say": "x"}, "voices.yaml: poem"),
        ("difficulties", ("levels", "easy", "target"), 1.0, "difficulties.yaml: levels.easy.target"),
        ("difficulties", ("control", "least"), 9.0, "least 9 is above most 4"),
    ],
)
def test_bad_data_name_file_and_key(
    tmp_path: Path, file: str, keys: tuple[str, ...], value: object, message: str
) -> None:
    folder = copied(tmp_path)
    path = folder / f"{file}.yaml"
    data = yaml.safe_load(path.read_text())
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(RecipeError) as caught:
        load_space(folder)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [unclosed\n", "not valid YAML"),
        ("- a list\n", "must be a mapping"),
        ("", "must be a mapping"),
        ("note: {say: x}\nnote: {say: y}\n", "key 'note' is given twice"),
        ("note: {say: x, say: y}\n", "key 'say' is given twice"),
        (None, "No such file"),
    ],
)
def test_an_unreadable_file_is_said(tmp_path: Path, text: str | None, message: str) -> None:
    path = copied(tmp_path) / "voices.yaml"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(RecipeError, match=message) as caught:
        load_space(path.parent)
    assert "voices.yaml" in str(caught.value) and "\n" not in str(caught.value)


def test_a_combination_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    path = folder / "languages.yaml"
    data = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({"c": data["c"], "python": data["python"]}))
    with pytest.raises(RecipeError, match="languages: none fits bash in security"):
        load_space(folder)


def copied(target: Path) -> Path:
    """A copy of the axes to spoil."""
    return Path(shutil.copytree(FOLDER, target / "axes"))
