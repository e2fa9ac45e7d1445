# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""The agent loop of verl (0.9.1): one rollout is one episode of evaluation, played by the policy in a fresh sandbox.

What infrastructure, grader or engine spoilt is played again in another sandbox, a few times; then the loop raises, and verl goes on
with the group's other rollouts: no loss, no baseline, no 0. It is registered with verl by a run's loops.yaml, which names its settings
(verl's decorator would register it without), and chosen by `agent_name` in every row.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput

from agent.episode import Episode
from agent.limits import MIN_REPLY
from agent.trajectory import End, Trajectory
from containers.sandbox import BuildFailure
from generators.errors import EngineError, SandboxFault
from generators.task import Task
from trainer.environment import Environment, environment
from trainer.judge.verdict import Judged
from trainer.records import RolloutRecord, RolloutSeconds
from trainer.reward import KEYS, reward, rewarded
from trainer.verl.tokens import Budget, Conversation, DriftError, TokenModel


class RolloutFault(Exception):
    """No try of a rollout was valid; it says nothing about the policy, and verl leaves it out of its group."""


@dataclass
class Played:
    """A try: what was done, in tokens and as a trajectory."""

    trajectory: Trajectory
    model: TokenModel
    reward: dict[str, float]
    judge_seconds: float = 0.0


@dataclass
class Progress:
    """A rollout so far."""

    began: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list[str])
    last: Played | None = None


class TerminalAgentLoop(AgentLoopBase):
    """Plays tasks of a run. `settings` is the path of its loop.json."""

    def __init__(self, *args: Any, settings: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.environment: Environment = environment(Path(settings))
        self.loop.set_default_executor(
            self.environment.threads
        )  # an episode waits in threads, more than the default has
        lengths = self.rollout_config
        context = min(lengths.prompt_length + lengths.response_length, lengths.max_model_len or 1 << 30)
        limits = self.environment.settings.limits
        self.limits = limits.model_copy(update={"context_tokens": min(context, limits.context_tokens)})
        self.budget = Budget(lengths.response_length, context, min(MIN_REPLY, limits.reply_tokens))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play, grade, reward.

        Raises:
            RolloutFault: infrastructure failed in every try.
        """
        settings, progress = self.environment.settings, Progress()
        task = self.environment.task(row["extra_info"]["task_digest"])
        try:
            async with asyncio.timeout(settings.deadline_seconds):
                played = await self._tried(task, sampling_params, row, progress)
        except TimeoutError:
            progress.faults.append(f"deadline: not done within {settings.deadline_seconds:g} s")
            played = None
        self.environment.record(self._record(task, row, progress, played))
        if played is None:
            raise RolloutFault(f"{task.id}: {progress.faults[-1]}")
        return self._output(played)

    async def _tried(
        self, task: Task, sampling: dict[str, Any], row: dict[str, Any], progress: Progress
    ) -> Played | None:
        """Try after try, each in a fresh sandbox."""
        for _ in range(self.environment.settings.tries):
            try:
                played = await self._play(task, sampling, row)
            except (BuildFailure, SandboxFault, EngineError, DriftError) as fault:
                progress.faults.append(f"{type(fault).__name__}: {fault}")
                continue
            progress.last = played
            if played.reward["valid"]:
                return played
            progress.faults.append(played.trajectory.reason or "no reward")
        return None

    async def _play(self, task: Task, sampling: dict[str, Any], row: dict[str, Any]) -> Played:
        """One try: an episode, its check, its reward."""
        env, sample = self.environment, int(row.get("session_id", 0))
        settings = env.reward_at(int(row.get("global_steps", 0)))
        conversation = Conversation(self.continuous_token_builder, self.tokenizer)
        model = TokenModel(self.server_manager, conversation, self.budget, sampling, uuid4().hex)
        built = await env.built(task)
        episode = Episode(
            task,
            env.style,
            self.limits,
            sample,
            temperature=sampling.get("temperature"),
            examples=env.settings.examples,
        )
        trajectory = await episode.run(env.pool, built, model)
        model.conversation.check()
        if not trajectory.valid or not model.conversation.mask:
            return Played(trajectory, model, reward(trajectory, None, settings) | _nothing(model))
        began = time.monotonic()
        if env.judge is None:
            values = reward(trajectory, None, settings)
        else:
            values = await rewarded(Judged(trajectory, task.image.dockerfile), env.judge, settings)
        return Played(trajectory, model, values, time.monotonic() - began)

    def _output(self, played: Played) -> AgentLoopOutput:
        """In verl's terms; mask, log probabilities and tokens have one length."""
        conversation, seconds = played.model.conversation, played.trajectory.seconds
        return AgentLoopOutput(
            prompt_ids=conversation.prompt,
            response_ids=conversation.response,
            response_mask=conversation.mask,
            response_logprobs=conversation.logprobs,
            reward_score=played.reward["reward"],
            num_turns=2 * len(played.trajectory.steps),
            metrics={  # pyright: ignore[reportArgumentType]  # pydantic makes the record of it
                "generate_sequences": played.model.seconds,
                "tool_calls": seconds.tools + seconds.setup + seconds.grading,
                "compute_score": played.judge_seconds,
            },
            extra_fields={**played.model.extra, "reward_extra_info": {key: played.reward[key] for key in KEYS}},
        )

    def _record(self, task: Task, row: dict[str, Any], progress: Progress, played: Played | None) -> RolloutRecord:
        """What the rollout leaves, also one that was given up."""
        shown = played or progress.last
        conversation = shown.model.conversation if shown else None
        trajectory = shown.trajectory if shown else None
        info = row["extra_info"]
        split: Literal["train", "validation"] = "train" if info.get("split", "train") == "train" else "validation"
        written = (
            [p for p, own in zip(conversation.logprobs, conversation.mask, strict=True) if own] if conversation else []
        )
        return RolloutRecord(
            step=int(row.get("global_steps", 0)),
            split=split,
            task_id=task.id,
            task_digest=task.digest,
            family=task.provenance.family,
            domain=task.axes.domain,
            difficulty=task.axes.difficulty.value,
            group=str(row.get("uid", "")),
            sample=int(row.get("session_id", 0)),
            reward=shown.reward if shown and played else dict.fromkeys(KEYS, 0.0),
            turns=len(trajectory.steps) if trajectory else 0,
            prompt_tokens=len(conversation.prompt) if conversation else 0,
            response_tokens=len(conversation.mask) if conversation else 0,
            written_tokens=len(written),
            end=(trajectory.end if trajectory else End.BROKEN).value,
            reason=trajectory.reason if trajectory else "",
            faults=tuple(progress.faults),
            logprob=round(sum(written) / len(written), 6) if written else None,
            seconds=self._seconds(shown, progress),
            trajectory=trajectory,
        )

    def _seconds(self, shown: Played | None, progress: Progress) -> RolloutSeconds:
        total = round(time.monotonic() - progress.began, 6)
        if shown is None:
            return RolloutSeconds(total=total)
        seconds = shown.trajectory.seconds
        return RolloutSeconds(
            model=round(shown.model.seconds, 6),
            tools=seconds.tools,
            waiting=seconds.setup,
            grading=seconds.grading,
            judge=round(shown.judge_seconds, 6),
            total=total,
        )


def _nothing(model: TokenModel) -> dict[str, float]:
    """A rollout in which the policy wrote no token cannot be trained on."""
    return {} if model.conversation.mask else {"valid": 0.0, "reward": 0.0}
