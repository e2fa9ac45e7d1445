"""Our agent as Harbor runs it, so that Terminal-Bench and every other set of Harbor tasks is tried with its own harness:

    harbor run -p TASKS -a agent.harbor:TermforgeAgent -m openai/gpt-5-mini --ak style=minimal --ak turns=80

The loop is the one of evaluation and training; what differs is the sandbox, and that Harbor grades. Only Harbor imports this module:
the package `harbor` (Python 3.12) is no dependency of ours, it has to be in the environment that Termforge is installed into.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from harbor.agents.base import BaseAgent  # pyright: ignore[reportMissingImports]
from harbor.agents.capabilities import AgentCapabilities  # pyright: ignore[reportMissingImports]
from harbor.agents.options import AgentOptions  # pyright: ignore[reportMissingImports]

from agent.atif import save_atif
from agent.episode import Episode
from agent.harbor_sandbox import Environment, HarborSandbox
from agent.limits import EpisodeLimits
from agent.models import IDLE, REPLAY, SCRIPTED, player
from agent.styles import open_style
from agent.trajectory import End, Status, Trajectory
from containers.sandbox import Sandbox
from generators.chat.model import ChatModel, Usage
from generators.chat.models import open_model
from generators.chat.prices import Prices
from generators.errors import UsageError
from generators.task import Task

_LONG = 86_400.0  # seconds: Harbor ends an agent that takes too long


class TermforgeOptions(AgentOptions):
    """What `--ak name=value` may say."""

    style: str = "structured"
    native: bool = False  # act by the provider's tool calls
    turns: int = EpisodeLimits().turns
    seconds: float = _LONG  # of the agent's own budget; Harbor's comes from the task
    context_tokens: int = EpisodeLimits().context_tokens
    reply_tokens: int = EpisodeLimits().reply_tokens
    temperature: float | None = None
    endpoint: str | None = None  # base address of a server that speaks the provider's protocol


class TermforgeAgent(BaseAgent):
    """One trial. The model is what `-m` names: openai/NAME, anthropic/NAME, or a script of replies, scripted:FILE."""

    options_model: ClassVar[type[AgentOptions]] = TermforgeOptions
    capabilities: ClassVar[AgentCapabilities] = AgentCapabilities(atif=True, reasoning_effort=True)

    def __init__(self, logs_dir: Path, model_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(logs_dir=logs_dir, model_name=model_name, **kwargs)
        self.chosen = cast(TermforgeOptions, self.options)
        self.spec = model_spec(model_name)
        self.style = open_style(self.chosen.style)

    @staticmethod
    def name() -> str:
        """As Harbor's results call it."""
        return "termforge"

    def version(self) -> str:
        """Termforge's."""
        return version("termforge")

    async def setup(self, environment: Any) -> None:
        """Nothing is installed: bash and coreutils are enough."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Work on the task. Whatever ends it, the trajectory and what it cost are kept."""
        chosen = self.chosen
        limits = EpisodeLimits(
            turns=chosen.turns,
            agent_seconds=chosen.seconds,
            context_tokens=chosen.context_tokens,
            reply_tokens=chosen.reply_tokens,
        )
        task = Task.model_construct(id=str(self.session_id or "harbor"), digest="", instruction=instruction)
        trial = _Trial(task, self.style, limits, native=chosen.native, temperature=chosen.temperature)
        trial.price = _price(self.spec)
        sandbox = HarborSandbox(cast(Environment, environment), asyncio.get_running_loop())
        async with player(self.spec, self._open) as play:
            try:
                await trial.work(cast(Sandbox, sandbox), play(task, self.style))
            finally:
                trajectory = trial.record(self.spec, environment.type().value)
                save_atif(trajectory, self.logs_dir / "trajectory.json")
                _tell(trajectory, context)

    def _open(self, spec: str) -> ChatModel:
        effort = cast(Literal["low", "medium", "high"] | None, self.chosen.reasoning_effort)
        return open_model(spec, base_url=self.chosen.endpoint, reasoning=effort, say=self.logger.warning)


class _Trial(Episode):
    """An episode whose sandbox and grading are Harbor's."""

    end: End | None = None

    async def work(self, sandbox: Sandbox, model: ChatModel) -> None:
        """The agent's part.

        Raises:
            SandboxFault, ProviderFault, ...: it says nothing about the agent, and Harbor books it as an error.
        """
        try:
            self.end = await self._play(sandbox, model)
        except asyncio.CancelledError:
            self.end = End.TIME
            raise

    def record(self, model: str, engine: str) -> Trajectory:
        """What happened. The outcome stands in Harbor's result, so that here it is said to be unknown."""
        return Trajectory(
            task_id=self.task.id,
            task_digest="",
            model=model,
            style=f"{self.style.name}{'-tools' if self.native else ''}",
            engine=f"harbor:{engine}",
            system=self.messages[0].content,
            instruction=self.messages[1].content,
            steps=tuple(self.steps),
            status=Status.INVALID,
            end=self.end or End.BROKEN,
            reason="graded by Harbor: its result has the outcome" if self.end else "broken: Harbor's result says why",
            limits=self.limits.model_dump(mode="json"),
        )


def model_spec(name: str | None) -> str:
    """Harbor writes provider/model where we write provider:model.

    Raises:
        UsageError: there is no model, or one that only our own tasks can have.
    """
    if not name:
        raise UsageError(f"name a model: -m openai/NAME, anthropic/NAME, {IDLE} or {SCRIPTED}FILE")
    if name == REPLAY:
        raise UsageError("Harbor does not show an agent the reference solution: `-a oracle` replays it")
    provider, slash, rest = name.partition("/")
    return f"{provider}:{rest}" if slash and ":" not in provider else name


def _tell(trajectory: Trajectory, context: Any) -> None:
    """Tokens and cost, where Harbor looks for them."""
    context.n_input_tokens = trajectory.input_tokens
    context.n_output_tokens = trajectory.output_tokens
    context.n_cache_tokens = sum(step.usage.cached_tokens for step in trajectory.steps)
    context.cost_usd = trajectory.cost
    context.metadata = {"end": trajectory.end.value, "turns": len(trajectory.steps)}


def _price(spec: str) -> Callable[[Usage], float | None]:
    """What a usage costs; a script costs nothing."""
    if spec.startswith(SCRIPTED):
        return lambda _: 0.0
    price = Prices.load().find(spec)
    return lambda usage: price.of(usage) if price else None
