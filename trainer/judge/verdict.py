"""What a judge says of an episode, and the protocol that all judges share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from agent.trajectory import Trajectory
from generators.task import Record
from trainer.judge.rubric import Finding


class Verdict(Record):
    """A score in [0, 1] with what it rests on; or none, with the reason. None is never a 0."""

    judge: str
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None
    reason: str = ""  # why there is no score
    components: dict[str, float] = Field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    disagreements: tuple[str, ...] = ()  # what a model said against what is known exactly; overruled


@dataclass(frozen=True)
class Judged:
    """What is judged: an episode, and the Dockerfile of its task."""

    trajectory: Trajectory
    dockerfile: str = ""


class Judge(Protocol):
    """Something that scores how an agent worked."""

    @property
    def name(self) -> str:
        """The backend, as the user named it."""
        ...

    async def judge(self, judged: Judged, sample: int = 0) -> Verdict:
        """Score one episode; `sample` asks a model again. Faults of a model come back as a verdict without a score."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


async def judge_all(judge: Judge, several: Sequence[Judged]) -> list[Verdict]:
    """All at once, in order; how many at the same time is the judge's own limit."""
    return list(await asyncio.gather(*(judge.judge(one) for one in several)))
