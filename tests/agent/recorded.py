"""Trajectories for tests: written by hand in few words, or drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agent.observation import Observation
from agent.trajectory import Call, End, Item, Seconds, Status, Step, TestOutcome, Trajectory
from generators.chat.model import Usage


def bash(cmd: str, text: str = "", code: int | None = 0, **more: Any) -> Item:
    """A command that was run."""
    seen = Observation(tag="bash", text=text, failed=code != 0, exit_code=code, chars=len(text), **more)
    return Item(call=Call(tag="bash", arguments={"cmd": cmd}), observation=seen)


def act(tag: str, text: str = "done", **arguments: Any) -> Item:
    """Another action that was run."""
    return Item(call=Call(tag=tag, arguments=arguments), observation=Observation(tag=tag, text=text, chars=len(text)))


FINISH = act("finish", "")


def recorded(*items: Item, **fields: Any) -> Trajectory:
    """A failed run that finished, one action a turn, unless fields say otherwise."""
    usage = Usage(input_tokens=100, output_tokens=10)
    steps = tuple(Step(reply="words", items=(item,), shown="shown", usage=usage, model_seconds=1.0) for item in items)
    standard: dict[str, Any] = {
        "task_id": "sums-1",
        "task_digest": "ab" * 32,
        "family": "sums",
        "domain": "debugging",
        "skills": ("arithmetic", "shell"),
        "difficulty": "easy",
        "model": "scripted:x",
        "style": "structured",
        "system": "You act.",
        "instruction": "Write the sum.",
        "steps": steps,
        "status": Status.FAILED,
        "end": End.FINISHED,
        "seconds": Seconds(setup=0.5, model=float(len(steps)), tools=2.0),
    }
    return Trajectory(**(standard | fields))


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_wholes = st.integers(0, 2**40)
_reals = st.floats(0, 1e9)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)
_mappings = st.dictionaries(_texts, _json, max_size=3)
_observations = st.builds(
    Observation,
    tag=_texts,
    text=_texts,
    failed=st.booleans(),
    exit_code=st.none() | st.integers(-1, 255),
    timed_out=st.booleans(),
    chars=_wholes,
    seconds=_reals,
)
_items = st.builds(
    Item,
    call=st.none() | st.builds(Call, tag=_texts, arguments=_mappings),
    mistake=_texts,
    observation=st.none() | _observations,
    skipped=st.booleans(),
)
_steps = st.builds(
    Step,
    reply=_texts,
    reasoning=_texts,
    items=st.lists(_items, max_size=3).map(tuple),
    shown=_texts,
    usage=st.builds(
        Usage, **dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"), _wholes)
    ),
    cost=st.none() | _reals,
    model_seconds=_reals,
    tool_seconds=_reals,
)
trajectories = st.builds(
    Trajectory,
    **dict.fromkeys(
        (
            "task_id",
            "task_digest",
            "family",
            "domain",
            "difficulty",
            "model",
            "style",
            "engine",
            "system",
            "instruction",
            "reason",
        ),
        _texts,
    ),
    skills=st.lists(_texts, max_size=3).map(tuple),
    attempt=st.integers(0, 1000),
    steps=st.lists(_steps, max_size=3).map(tuple),
    status=st.sampled_from(Status),
    end=st.sampled_from(End),
    weighted=st.floats(0, 1),
    binary=st.integers(0, 1),
    tests=st.lists(st.builds(TestOutcome, name=_texts, passed=st.booleans(), message=_texts), max_size=2).map(tuple),
    seconds=st.builds(Seconds, setup=_reals, model=_reals, tools=_reals, grading=_reals),
    limits=_mappings,
)
