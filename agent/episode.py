"""One episode of evaluation: a model works on a task in a fresh sandbox, and what it leaves is graded.

    trajectory = await Episode(task, style, limits).run(pool, built, model)

Nothing raises but a stop, a ceiling of costs and wrong usage: what fails on the way makes the trajectory invalid, with a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent import calls
from agent.handlers import Workspace
from agent.limits import EpisodeLimits
from agent.session import Session, Turn
from agent.styles.examples import first_messages
from agent.styles.style import NATIVE, Style
from agent.trajectory import End, Seconds, Status, Step, TestOutcome, Trajectory
from containers.grading.score import Score, score
from containers.pool import Pool
from containers.sandbox import BuiltImage, GradeRequest, Sandbox
from containers.turns import StoppedWaitingError
from generators.chat.model import Ask, ChatModel, Message, Reply, Tag, Usage, estimate_tokens, estimate_usage
from generators.errors import AnswerFault, ProviderFault, SandboxEnded, SandboxFault
from generators.task import Task

_NOTHING = Usage(input_tokens=0, output_tokens=0)
_GRADER_TRIES = 2
_CUT = "your reply was cut off at the limit of its length; write less"


class StoppedError(Exception):
    """The run is being stopped: nothing is said about the agent, which tries again next time."""


@dataclass
class Episode:
    """A task, a way of speaking, budgets; and what has happened so far."""

    task: Task
    style: Style
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    attempt: int = 0
    native: bool = False  # act by the provider's tool calls
    temperature: float | None = None
    price: Callable[[Usage], float | None] = lambda _: None
    stop: Callable[[], bool] = lambda: False
    examples: str = ""  # worked ones, see agent/styles/examples.py
    messages: list[Message] = field(init=False)
    _system: str = field(init=False)
    steps: list[Step] = field(default_factory=list[Step])
    _used: int = 0  # tokens of the context
    _useless: int = 0  # answers in a row
    _seconds: dict[str, float] = field(default_factory=lambda: {"setup": 0.0, "grading": 0.0})

    def __post_init__(self) -> None:
        system, *others = first_messages(self.style, self.task.instruction, self.examples)
        self._system = system.content + (calls.NOTE if self.native else "")
        self.messages = [Message(role="system", content=self._system), *others]
        self._used = sum(estimate_tokens(message.content) for message in self.messages)

    async def run(self, pool: Pool, built: BuiltImage, model: ChatModel) -> Trajectory:
        """Play it to its end and grade.

        Raises:
            StoppedError: stopped.
            BudgetError, UsageError: the model may not, or cannot, be asked at all.
        """
        end, graded, reason = End.BROKEN, None, ""
        try:
            async with self._sandbox(pool, built) as sandbox:
                try:
                    end = await self._play(sandbox, model)
                except SandboxEnded:
                    end = End.ENDED
                graded = await self._grade(sandbox)
        except (SandboxFault, ProviderFault) as fault:
            reason = f"{_kind(fault)}: {fault}"
        except StoppedWaitingError:
            raise StoppedError from None
        if graded is not None and not graded.valid:
            reason = f"grader: {graded.reason}"
        return self._trajectory(model.name, pool.engine.name, end, graded, reason)

    @contextlib.asynccontextmanager
    async def _sandbox(self, pool: Pool, built: BuiltImage) -> AsyncGenerator[Sandbox]:
        """A leased sandbox; taking and giving back wait in threads, also when this task is cancelled."""
        began = time.monotonic()
        lease = pool.lease(built, self.task.limits, stop=self.stop)
        entering = asyncio.ensure_future(asyncio.to_thread(lease.__enter__))
        try:
            async with asyncio.timeout(self.limits.setup_seconds):
                sandbox = await asyncio.shield(entering)
        except BaseException as error:
            entering.add_done_callback(lambda done: None if done.cancelled() or done.exception() else _leave(lease))
            if isinstance(error, TimeoutError):
                raise SandboxFault(f"no sandbox within {self.limits.setup_seconds:g} s") from None
            raise
        self._seconds["setup"] = time.monotonic() - began
        try:
            yield sandbox
        finally:
            await asyncio.shield(asyncio.to_thread(_leave, lease))

    async def _play(self, sandbox: Sandbox, model: ChatModel) -> End:
        """The agent's part."""
        workspace = Workspace(
            sandbox,
            command_seconds=self.limits.command_seconds,
            observation_chars=self.limits.observation_chars,
        )
        try:
            session = Session(self.style, workspace, self.limits)
            while True:
                if self.stop():
                    raise StoppedError
                end = await self._turn(session, model)
                if end:
                    return end
        finally:
            await asyncio.shield(asyncio.to_thread(workspace.close))

    async def _turn(self, session: Session, model: ChatModel) -> End | None:
        """Ask, act, show."""
        written = sum(step.usage.output_tokens for step in self.steps)
        allowance = self.limits.reply_allowance(self._used, written)
        if allowance is None:
            return End.TOKENS if self.limits.reply_allowance(self._used, 0) else End.CONTEXT
        began, notes, ask = time.monotonic(), list[str](), self._next(allowance)
        try:
            async with asyncio.timeout(max(0.0, session.seconds_left)):
                reply = await model.ask(ask, Tag(f"{self.task.id}/{self.attempt}", "attempt", session.turns))
        except TimeoutError:
            return End.TIME
        except AnswerFault as fault:
            if not fault.text.strip():
                return self._useless_answer(session, fault)
            usage = fault.usage or estimate_usage(ask, fault.text)
            reply = Reply(text=fault.text, usage=usage, model=model.name, seconds=time.monotonic() - began)
            notes.append(_CUT)
        return await self._act(session, reply, notes)

    def _next(self, allowance: int) -> Ask:
        return Ask(
            messages=tuple(self.messages),
            max_tokens=allowance,
            temperature=self.temperature,
            tools=calls.tools(self.style) if self.native else (),
            sample=self.attempt,
        )

    async def _act(self, session: Session, reply: Reply, notes: Sequence[str]) -> End | None:
        """Do what a reply says; of one that was cut off, what there is of it."""
        self._useless = 0
        self._used = reply.usage.input_tokens + reply.usage.output_tokens
        turn = await asyncio.to_thread(session.act, calls.said(self.style, reply), self._used, notes)
        if reply.calls:
            self.messages += calls.messages(self.style, reply, turn, session.notes())
            self._used += estimate_tokens(turn.shown)
        else:
            self._say(reply.text, turn.shown)
        self.steps.append(self._step(reply, turn))
        return turn.end

    def _say(self, reply: str, shown: str) -> None:
        self.messages += [Message(role="assistant", content=reply), Message(role="user", content=shown or "-")]
        self._used += estimate_tokens(shown)

    def _useless_answer(self, session: Session, fault: AnswerFault) -> End | None:
        """A reply that cannot be used takes a turn; the model is told why, a few times."""
        if fault.reason == "context_overflow":
            return End.CONTEXT
        said, shown = f"({fault.reason.replace('_', ' ')})", f"Your last reply was of no use: {fault}. Reply anew."
        usage = fault.usage or _NOTHING
        self._used = max(self._used, usage.input_tokens) + estimate_tokens(said)
        self._say(said, shown)
        self.steps.append(Step(reply=said, shown=shown, usage=usage, cost=self.price(usage)))
        session.turns += 1
        self._useless += 1
        if self._useless >= self.limits.mistakes:
            return End.ANSWERS
        return End.TURNS if session.turns >= self.limits.turns else None

    def _step(self, reply: Reply, turn: Turn) -> Step:
        return Step(
            reply=reply.text,
            items=turn.items,
            shown=turn.shown,
            usage=reply.usage,
            cost=self.price(reply.usage),
            model_seconds=round(reply.seconds, 6),
            tool_seconds=round(turn.seconds, 6),
        )

    async def _grade(self, sandbox: Sandbox) -> Score:
        """Score what was left; a grading that was invalid is tried once more."""
        began, tests = time.monotonic(), self.task.completion_tests
        names = tuple(test.name for test in tests.tests)
        request = GradeRequest(tests.source, names, self.task.limits.grade_seconds)
        for left in reversed(range(_GRADER_TRIES)):
            graded = score(tests, await asyncio.to_thread(sandbox.grade, request))
            if graded.valid or not left:
                self._seconds["grading"] = time.monotonic() - began
                return graded
        raise AssertionError("unreachable")

    def invalid(self, model: str, engine: str, reason: str) -> Trajectory:
        """The trajectory of an episode that could not even begin."""
        return self._trajectory(model, engine, End.BROKEN, None, reason)

    def _trajectory(self, model: str, engine: str, end: End, graded: Score | None, reason: str) -> Trajectory:
        passed = graded is not None and graded.valid and bool(graded.binary)
        axes, valid = self.task.axes, graded is not None and graded.valid and not reason
        status = Status.INVALID if not valid else Status.PASSED if passed else Status.FAILED
        tests = graded.tests if graded else ()
        seconds: dict[str, Any] = {key: round(value, 6) for key, value in self._seconds.items()}
        return Trajectory(
            task_id=self.task.id,
            task_digest=self.task.digest,
            family=self.task.provenance.family,
            domain=axes.domain,
            skills=axes.skills,
            difficulty=axes.difficulty.value,
            model=model,
            style=self.style.name + (NATIVE if self.native else ""),
            attempt=self.attempt,
            engine=engine,
            system=self._system,
            instruction=self.style.opening(self.task.instruction),
            steps=tuple(self.steps),
            status=status,
            end=end,
            reason=reason,
            weighted=graded.weighted if graded and valid else 0.0,
            binary=graded.binary if graded and valid else 0,
            tests=tuple(TestOutcome(name=test.name, passed=test.passed, message=test.message) for test in tests),
            seconds=Seconds(
                model=round(sum(step.model_seconds for step in self.steps), 6),
                tools=round(sum(step.tool_seconds for step in self.steps), 6),
                **seconds,
            ),
            limits=self.limits.model_dump(mode="json"),
        )


def _leave(lease: contextlib.AbstractContextManager[Sandbox]) -> None:
    """End a lease; a sandbox that is lost already says so only once."""
    with contextlib.suppress(SandboxFault):
        lease.__exit__(None, None, None)


def _kind(fault: Exception) -> str:
    return f"provider {fault.reason}" if isinstance(fault, ProviderFault) else "sandbox"
