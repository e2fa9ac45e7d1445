"""What the agent's loop costs an action, beside what the sandbox itself takes for the same command."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from agent.actions import AnyAction, Bash, FileEdit, FileRead, FileWrite, Finish, Grep
from agent.episode import Episode
from agent.limits import EpisodeLimits
from agent.models import ScriptedModel
from agent.styles.structured import Structured
from containers.engines.bubblewrap.engine import BubblewrapEngine
from containers.pool import Pool
from containers.shell import Shell
from tests.toys import toy

TURNS = 100
FILE = "/srv/bench.txt"
KINDS: dict[str, AnyAction] = {
    "bash": Bash(cmd=":"),
    "read": FileRead(file_path="/srv/numbers.txt"),
    "write": FileWrite(file_path=FILE, content="one\ntwo\n", overwrite=True),
    "edit": FileEdit(file_path=FILE, old_string="two", new_string="two"),
    "grep": Grep(pattern="6008", path="/srv"),
}


def agent(engine: BubblewrapEngine) -> dict[str, Any]:
    """Milliseconds per action of an episode of one action a turn, the model's own time left out; and per bare shell command."""
    task, style = toy(), Structured()
    built = engine.build(task.image, task.limits)
    figures: dict[str, Any] = {}
    with Pool(engine, 1) as pool:
        for kind, action in KINDS.items():
            replies = [style.render([KINDS["write"]]), *[style.render([action])] * TURNS, style.render([Finish()])]
            episode = Episode(task, style, EpisodeLimits(turns=TURNS + 2, context_tokens=1_000_000))
            began = time.perf_counter()
            seen = asyncio.run(episode.run(pool, built, ScriptedModel("scripted:bench", replies)))
            spent = time.perf_counter() - began - seen.seconds.setup - seen.seconds.grading
            inside = sum(item.observation.seconds for step in seen.steps for item in step.items if item.observation)
            figures[f"{kind}_action_ms"] = round(1000 * spent / len(seen.steps), 3)
            figures[f"{kind}_loop_ms"] = round(1000 * (spent - inside) / len(seen.steps), 3)
    with engine.start(built, task.limits) as sandbox, Shell(sandbox) as shell:
        taken: list[float] = []
        for _ in range(TURNS):
            began = time.perf_counter()
            shell.run(":", 10)
            taken.append(time.perf_counter() - began)
    bare = round(1000 * statistics.median(taken), 3)
    return figures | {"bare_command_ms": bare, "overhead_ms": round(figures["bash_action_ms"] - bare, 3)}
