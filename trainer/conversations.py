"""Conversations of a run as the model's chat template writes them: does it only ever append, and do the prompts fit?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agent.styles import open_style
from agent.styles.examples import first_messages
from generators.errors import UsageError
from trainer.dataset_folder import DataTask
from trainer.examples import worked_examples
from trainer.model_folder import Messages, ModelFolder
from trainer.presets import Preset

_THOUGHT = re.compile(r"<think>.*?</think>\s*", re.DOTALL)
_TALK = (
    ("system", "You work in a terminal."),
    ("user", "The task: list the files."),
    ("assistant", "First a look."),
    ("user", "exit code 0"),
    ("assistant", "Once more."),
    ("user", "exit code 1"),
    ("assistant", "TASK_DONE"),
)


@dataclass(frozen=True)
class Prompts:
    """The longest prompt of a data set, and how many are over the limit. Tokens."""

    task: str
    tokens: int
    over: int


def check_template(model: ModelFolder) -> list[str]:
    """What was said stays as it was when more is said: else a policy is trained on other words than it wrote and saw.

    Raises:
        UsageError: the template refuses a conversation of a system message and turns, or changes what came before.
    """
    talk: Messages = [{"role": role, "content": content} for role, content in _TALK]
    shown = [model.render(talk[:count]) for count in range(2, len(talk) + 1)]
    warnings: list[str] = []
    for count, (before, after) in enumerate(pairwise(shown), 2):
        if after.startswith(before):
            continue
        if not _THOUGHT.sub("", after).startswith(_THOUGHT.sub("", before)):
            raise UsageError(
                f"{model.path}: its chat template changes the first {count} messages when another one follows, so tokens of"
                " training would not be those of rollouts; use a template that only appends"
            )
        warnings = [
            f"{model.path}: its chat template drops thoughts of earlier turns; training keeps them as they were written"
        ]
    begun = model.render(talk[:2], reply=True)
    if not begun.startswith(shown[0]) or not _THOUGHT.sub("", shown[1]).startswith(_THOUGHT.sub("", begun)):
        raise UsageError(f"{model.path}: its chat template begins a reply in another way than it writes one down")
    if model.eos not in shown[1][len(shown[0]) :]:
        warnings.append(
            f"{model.path}: its chat template does not end a reply with {model.eos!r}; replies may run to their limit"
        )
    return warnings


def longest_prompt(preset: Preset, tasks: Sequence[DataTask], model: ModelFolder) -> Prompts | None:
    """The first prompts of all tasks, counted by the model's tokenizer; None where the library `tokenizers` is not installed."""
    count = _counter(model)
    if count is None:
        return None
    style, examples = open_style(preset.loop.style), worked_examples(preset.loop.examples)

    def told(instruction: str) -> Messages:
        return [{"role": one.role, "content": one.content} for one in first_messages(style, instruction, examples)]

    sizes = [(count(model.render(told(task.instruction), reply=True)), task.name) for task in tasks]
    tokens, name = max(sizes)
    return Prompts(name, tokens, sum(size > preset.lengths.prompt for size, _ in sizes))


def _counter(model: ModelFolder) -> Callable[[str], int] | None:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    path = model.path / "tokenizer.json"
    if not path.exists():
        return None
    try:
        tokenizer: Any = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise UsageError(f"{path}: cannot be read as a tokenizer: {error}") from None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
