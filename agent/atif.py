"""Trajectories as ATIF 1.8, the field's JSON form, and back.

    save_atif(trajectory, Path("run.json"));  from_atif(json.loads(Path("run.json").read_text()))

Checked against the parser of harbor 0.26.0 (harbor.models.trajectories), which forbids fields it does not know but leaves `extra`
free in every record. The first two steps are the system's and the user's message; each turn is an agent's step: the reply as it
was is its message, actions are tool calls, results and mistakes are results of its observation. What the format has no field for
stands in `extra`, so that our own documents come back without loss, also after Harbor has rewritten them. Times of day are not kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.scrub import scrub
from agent.table import trajectory_id
from agent.trajectory import Item, Step, Trajectory
from containers.state import storage
from generators.errors import UsageError

SCHEMA_VERSION = "ATIF-v1.8"
_OPENING = 2  # steps before the agent's first
_OWN = ("system", "instruction", "steps", "model")  # have a place in the format; the rest goes to the root's extra


def to_atif(trajectory: Trajectory) -> dict[str, Any]:
    """The document, as JSON values, without secrets."""
    trajectory = scrub(trajectory)
    name = trajectory_id(trajectory)
    opening = [
        {"step_id": 1, "source": "system", "message": trajectory.system},
        {"step_id": 2, "source": "user", "message": trajectory.instruction},
    ]
    turns = [_step(step, number) for number, step in enumerate(trajectory.steps, _OPENING + 1)]
    rest = trajectory.model_dump(mode="json", exclude=set(_OWN))
    agent = {"name": "termforge", "version": version("termforge"), "model_name": trajectory.model}
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": name,
        "trajectory_id": name,
        "agent": agent | {"extra": {"style": trajectory.style}},
        "steps": opening + turns,
        "final_metrics": _final(trajectory),
        "extra": {"termforge": rest},
    }


def save_atif(trajectory: Trajectory, path: Path) -> None:
    """Write the document, whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage(f"writing {path.name}"):
        try:
            part.write_text(json.dumps(to_atif(trajectory), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def from_atif(document: Mapping[str, Any]) -> Trajectory:
    """The record of a document that `to_atif` made.

    Raises:
        UsageError: another program's: it does not say what task was tried and how that ended.
    """
    try:
        rest = document["extra"]["termforge"]
        system, user, *turns = document["steps"]
        steps = [_to_step(turn) for turn in turns]
        fields = {"system": system["message"], "instruction": user["message"], "model": document["agent"]["model_name"]}
        return Trajectory.model_validate(rest | fields | {"steps": steps})
    except (KeyError, TypeError, ValueError, IndexError, ValidationError) as error:
        raise UsageError(
            "not an ATIF document of Termforge: task and outcome are not in its extra.termforge"
        ) from error


def _final(trajectory: Trajectory) -> dict[str, Any]:
    cost = {} if trajectory.cost is None else {"total_cost_usd": trajectory.cost}
    return cost | {
        "total_prompt_tokens": trajectory.input_tokens,
        "total_completion_tokens": trajectory.output_tokens,
        "total_cached_tokens": sum(step.usage.cached_tokens for step in trajectory.steps),
        "total_steps": len(trajectory.steps) + _OPENING,
        "extra": {"reward": float(trajectory.binary), "valid": trajectory.valid},
    }


def _step(step: Step, number: int) -> dict[str, Any]:
    calls, results = list[dict[str, Any]](), list[dict[str, Any]]()
    for place, item in enumerate(step.items, 1):
        _add(item, place, f"{number}-{place}", calls, results)
    usage = step.usage
    metrics: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "extra": {"reasoning_tokens": usage.reasoning_tokens, "estimated": usage.estimated},
    }
    made: dict[str, Any] = {"step_id": number, "source": "agent", "message": step.reply, "llm_call_count": 1}
    made |= {"reasoning_content": step.reasoning} if step.reasoning else {}
    made |= {"tool_calls": calls} if calls else {}
    made |= {"observation": {"results": results}} if results else {}
    made["metrics"] = metrics | ({} if step.cost is None else {"cost_usd": step.cost})
    made["extra"] = {"shown": step.shown, "model_seconds": step.model_seconds, "tool_seconds": step.tool_seconds}
    return made


def _add(item: Item, place: int, name: str, calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """An item as a tool call, as results, or both; `item` in their extra is its place in the reply."""
    source = {"source_call_id": name} if item.call else {}
    where = {"item": place, "skipped": item.skipped}
    if item.call:
        arguments = item.call.model_dump(mode="json")["arguments"]
        calls.append({"tool_call_id": name, "function_name": item.call.tag, "arguments": arguments, "extra": {**where}})
    if item.mistake or not (item.call or item.observation):
        results.append(source | {"content": item.mistake, "extra": where | {"mistake": True}})
    if item.observation:
        figures = item.observation.model_dump(mode="json", exclude={"text"})
        results.append(source | {"content": item.observation.text, "extra": where | {"observation": figures}})


def _to_step(turn: Mapping[str, Any]) -> Step:
    items: dict[int, dict[str, Any]] = {}
    for call in turn.get("tool_calls") or ():
        items[call["extra"]["item"]] = {
            "call": {"tag": call["function_name"], "arguments": call["arguments"]},
            "skipped": call["extra"]["skipped"],
        }
    for result in (turn.get("observation") or {}).get("results") or ():
        extra = result["extra"]
        item = items.setdefault(extra["item"], {"skipped": extra["skipped"]})
        if extra.get("mistake"):
            item["mistake"] = result["content"]
        else:
            item["observation"] = extra["observation"] | {"text": result["content"]}
    metrics = turn["metrics"]
    usage = {"input_tokens": metrics["prompt_tokens"], "output_tokens": metrics["completion_tokens"]}
    return Step.model_validate(
        {
            "reply": turn["message"],
            "reasoning": turn.get("reasoning_content") or "",
            "items": [items[place] for place in sorted(items)],
            "usage": usage | {"cached_tokens": metrics["cached_tokens"]} | metrics["extra"],
            "cost": metrics.get("cost_usd"),
            **turn["extra"],
        }
    )
