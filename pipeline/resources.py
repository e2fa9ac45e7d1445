"""What assets are given: an engine, somebody to report progress to, a place for releases."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, cast

from dagster import ConfigurableResource, InitResourceContext
from pydantic import Field, PrivateAttr, ValidationError

from agent.limits import EpisodeLimits
from agent.models import REPLAY
from containers.engines import registry
from containers.proof.store import ProofStore
from containers.sandbox import Engine
from containers.state import default_state
from generators.chat.model import Effort
from generators.errors import UsageError
from pipeline.attempting import AttemptSettings
from pipeline.places import project_root
from pipeline.stages import Report
from pipeline.writing import WriterSettings
from trainer.run import RunFolder

TRAIN_PRESET = "TERMFORGE_TRAIN_PRESET"


class EngineResource(ConfigurableResource):
    """An engine by name: opened at its first use in a run, closed when the run ends."""

    engine: str = Field(default_factory=lambda: os.environ.get("TERMFORGE_ENGINE", registry.DEFAULT))
    _opened: Engine | None = PrivateAttr(default=None)

    def open(self) -> Engine:
        """The run's engine.

        Raises:
            UsageError: there is no engine of that name.
            EngineError: this machine cannot run it.
        """
        if self._opened is None:
            self._opened = registry.open_engine(self.engine)
        return self._opened

    def store(self) -> ProofStore:
        """What this engine has proven before."""
        return ProofStore.of(default_state(), self.engine)

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Close the engine, whatever became of the run."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None


class WriterResource(ConfigurableResource):
    """Which language models write, for recipes that they write; chosen in the launchpad. See `WriterSettings`.

    `base_url` is for the writer's provider alone.
    """

    writer: str = Field(default_factory=lambda: os.environ.get("TERMFORGE_WRITER", ""))
    tester: str = ""
    solver: str = ""
    judge: str = ""
    base_url: str = ""
    max_dollars: float | None = None
    max_tokens: int | None = None
    concurrency: int = 256
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    reasoning: str = ""
    answers: str = "structured"
    prices: str = ""

    @classmethod
    def of(cls, settings: WriterSettings) -> WriterResource:
        """From settings."""
        given = {key: value for key, value in vars(settings).items() if value is not None}
        return cls.model_validate(
            {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
        )

    def settings(self) -> WriterSettings:
        """The same as settings.

        Raises:
            UsageError: a value that there is not.
        """
        if self.reasoning not in ("", "low", "medium", "high"):
            raise UsageError(f"writer: reasoning is low, medium or high, not {self.reasoning!r}")
        if self.answers not in ("structured", "tagged"):
            raise UsageError(f"writer: answers are structured or tagged, not {self.answers!r}")
        return WriterSettings(
            writer=self.writer,
            tester=self.tester,
            solver=self.solver,
            judge=self.judge,
            base_url=self.base_url or None,
            max_dollars=self.max_dollars,
            max_tokens=self.max_tokens,
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            reasoning=cast(Effort | None, self.reasoning or None),
            answers=cast(Literal["structured", "tagged"], self.answers),
            prices=Path(self.prices) if self.prices else None,
        )


class AgentResource(ConfigurableResource):
    """Who attempts tasks before they are published; chosen in the launchpad. See `AttemptSettings`."""

    model: str = Field(default_factory=lambda: os.environ.get("TERMFORGE_AGENT", REPLAY))
    k: int = 1
    mode: str = "all"
    style: str = "structured"
    native: bool = False
    base_url: str = ""
    temperature: float | None = None
    reasoning: str = ""
    max_dollars: float | None = None
    max_tokens: int | None = None
    turns: int = 50
    agent_seconds: float = 900.0
    context_tokens: int = 65_536

    def settings(self) -> AttemptSettings:
        """The same as settings.

        Raises:
            UsageError: a value that there is not.
        """
        if self.mode not in ("all", "until_pass", "adaptive"):
            raise UsageError(f"agent: mode is all, until_pass or adaptive, not {self.mode!r}")
        if self.reasoning not in ("", "low", "medium", "high"):
            raise UsageError(f"agent: reasoning is low, medium or high, not {self.reasoning!r}")
        try:
            limits = EpisodeLimits(
                turns=self.turns, agent_seconds=self.agent_seconds, context_tokens=self.context_tokens
            )
        except ValidationError as error:
            problem = error.errors()[0]
            raise UsageError(f"agent: {problem['loc'][0]}: {problem['msg']}") from error
        return AttemptSettings(
            model=self.model,
            k=self.k,
            mode=cast(Literal["all", "until_pass", "adaptive"], self.mode),
            style=self.style,
            native=self.native,
            base_url=self.base_url or None,
            temperature=self.temperature,
            reasoning=cast(Effort | None, self.reasoning or None),
            max_dollars=self.max_dollars,
            max_tokens=self.max_tokens,
            limits=limits,
        )


class TrainingResource(ConfigurableResource):
    """How a release is trained on; off until a preset and a model are named, here or in the environment. See docs/training.md."""

    preset: str = Field(default_factory=lambda: os.environ.get(TRAIN_PRESET, ""))
    model: str = Field(default_factory=lambda: os.environ.get("TERMFORGE_TRAIN_MODEL", ""))
    runs: str = Field(default_factory=lambda: os.environ.get("TERMFORGE_RUNS", str(project_root() / "runs")))
    sets: list[str] = Field(default_factory=lambda: os.environ.get("TERMFORGE_TRAIN_SET", "").split())
    ray_address: str = ""
    evaluation_k: int = 4

    def require(self) -> None:
        """That training is switched on.

        Raises:
            UsageError: it is not.
        """
        if not self.preset or not self.model:
            raise UsageError(f"training is off: name a preset and a model ({TRAIN_PRESET} and TERMFORGE_TRAIN_MODEL)")

    def run_of(self, data: Path) -> RunFolder:
        """The folder of the run on a release: named by its content, so that another version is another run.

        Raises:
            UsageError: there is no release in the folder.
        """
        try:
            digest = str(json.loads((data / "manifest.json").read_text())["digest"])
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{data} is not a release: its manifest.json cannot be read ({error})") from None
        return RunFolder(Path(self.runs) / f"{data.name}-{digest[:12]}-{Path(self.preset).stem or 'none'}")


class Progress(Protocol):
    """Makes the callable that a stage reports to. The command line gives its own, with a bar."""

    def reporter(self, say: Callable[[str], object]) -> Report:
        """A reporter for one asset of one run; `say` writes to the run's log."""
        ...


class LogProgress:
    """Says about every tenth."""

    def reporter(self, say: Callable[[str], object]) -> Report:
        """A reporter that writes a line whenever another tenth is done."""

        def report(stage: str, done: int, of: int) -> None:
            if 10 * done // of > 10 * (done - 1) // of:
                say(f"{stage}: {done} of {of}")

        return report


class ReleaseRoot(ConfigurableResource):
    """The folder below which each recipe's release has its own."""

    path: str = Field(default_factory=lambda: str(project_root() / "datasets"))

    @property
    def folder(self) -> Path:
        """The folder as a path."""
        return Path(self.path)
