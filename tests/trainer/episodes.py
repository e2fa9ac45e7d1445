"""Small episodes for tests of reward and judge."""

from __future__ import annotations

from typing import Any

from agent.observation import Observation
from agent.trajectory import Call, End, Item, Status, Step, Trajectory
from generators.chat.model import Usage

NOTHING = Usage(input_tokens=0, output_tokens=0)


def ran(cmd: str, out: str = "", code: int | None = 0, late: bool = False) -> Item:
    """A command that ran."""
    call = Call(tag="bash", arguments={"cmd": cmd})
    seen = Observation(
        tag="bash", text=out, failed=late or bool(code), exit_code=None if late else code, timed_out=late
    )
    return Item(call=call, observation=seen)


def did(tag: str, out: str = "", failed: bool = False, **arguments: Any) -> Item:
    """Another call."""
    return Item(call=Call(tag=tag, arguments=arguments), observation=Observation(tag=tag, text=out, failed=failed))


def planned(*texts: str) -> Item:
    """New things to do."""
    return did("todo", operations=[{"action": "add", "content": text} for text in texts])


def ticked(*numbers: int) -> Item:
    """Things done."""
    return did("todo", operations=[{"action": "complete", "task_id": number} for number in numbers])


def said(text: str, *items: Item, reasoning: str = "") -> Step:
    """A turn with these words."""
    return Step(reply=text, reasoning=reasoning, items=items, usage=NOTHING)


def episode(*steps: Step | Item, **fields: Any) -> Trajectory:
    """An episode of these turns; a lone item is a turn of its own."""
    turns = tuple(said("", step) if isinstance(step, Item) else step for step in steps)
    standard: dict[str, Any] = {
        "task_id": "task-1",
        "task_digest": "d",
        "model": "scripted:x",
        "style": "structured",
        "system": "SECRET SYSTEM",
        "instruction": "Repair /srv/app.",
        "status": Status.FAILED,
        "end": End.FINISHED,
    }
    return Trajectory(steps=turns, **(standard | fields))
