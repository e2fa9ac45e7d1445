"""The structured style: XML-like tags with a YAML body, many small actions, five phases.

    I look at what is there first.

    <search>
    action: ls
    path: /srv
    </search>

Forms, examples and tools are made from the records of agent/actions.py (agent/forms.py), so none of them can drift from what is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from pydantic import ValidationError

from agent.actions import ACTIONS, Action, AnyAction, Bash, Malformed, with_tag
from agent.forms import as_text, example, fields, form, no_form, parameters, sentence, tool_name, written
from agent.observation import LIMIT, Observation
from agent.parser import ECHO, MAX_ACTIONS, MAX_CHARACTERS, choose, explain, one_line, read
from agent.styles.style import Said
from agent.tags import TAGS
from agent.yaml_body import Wrong
from generators.chat.model import clean

_RESULT_TAG = re.compile(rf"<(?=\s*/?\s*(?:(?:{'|'.join(TAGS)})_output|mistake|note)\b)", re.IGNORECASE)


class Structured:
    """Tags with YAML in them."""

    name = "structured"

    def system_prompt(self) -> str:
        """Phases, forms with examples, rules."""
        return _system_prompt()

    def opening(self, instruction: str) -> str:
        """The task, and a reminder of what comes first."""
        return (
            f"The task:\n\n{instruction.strip()}\n\nBegin with your plan: put the parts of this task on the todo list."
        )

    def parse(self, reply: str) -> Said:
        """Read a reply. Never raises."""
        return Said(*read(reply, form))

    def show(self, results: Sequence[Observation | Malformed], notes: Sequence[str] = ()) -> str:
        """A block per result. Text cannot close its block: tags of results in it get a backslash after the `<`."""
        blocks = [_mistake(result) if isinstance(result, Malformed) else _result(result) for result in results]
        return "\n\n".join([*blocks, *(f"<note>\n{_harmless(note)}\n</note>" for note in notes)])

    def render(self, actions: Sequence[AnyAction], thought: str = "") -> str:
        """A reply that says just this. Tags in the thought that would be actions are indented by a space.

        Raises:
            ValueError: it would be longer than what is read.
        """
        if any(item.tag for item in read(thought, no_form)[0]):
            thought = re.sub("^<", " <", thought, flags=re.MULTILINE)
        reply = "\n\n".join([*([thought] if thought else []), *map(as_text, actions)]) + "\n"
        if len(actions) > MAX_ACTIONS or len(reply) > MAX_CHARACTERS:
            raise ValueError(f"a reply has at most {MAX_ACTIONS} actions and {MAX_CHARACTERS} characters")
        return reply

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """A tool per action."""
        return tuple(
            {"name": tool_name(kind), "description": sentence(kind), "parameters": parameters(kind)} for kind in ACTIONS
        )

    def parse_call(self, name: str, values: Mapping[str, Any]) -> AnyAction | Malformed:
        """Read one tool call. Never raises; a null for a field that may be left out counts as left out."""
        kinds = tuple(kind for kind in ACTIONS if tool_name(kind) == name)
        try:
            if not isinstance(values, Mapping):
                raise Wrong(0, "the arguments are no object")
            if not kinds and name not in TAGS:
                raise Wrong(0, f"there is no tool of this name; there are {', '.join(map(tool_name, ACTIONS))}")
            kinds = kinds or (choose(name, values.get("action")),)
            return cast(AnyAction, kinds[0].model_validate(_without_nulls(kinds[0], values)))
        except ValidationError as error:
            return _call_mistake(name, values, explain(error)[1], kinds[0])
        except Wrong as wrong:
            return _call_mistake(name, values, wrong.problem, (*kinds, *with_tag(name), Bash)[0])


@cache
def _system_prompt() -> str:
    text = files("agent").joinpath("prompts", "structured.md").read_text(encoding="utf-8")
    forms = [f"{sentence(kind)} Fields: {fields(kind)}.\n{as_text(example(kind))}" for kind in ACTIONS]
    return text.replace("{{ limit }}", f"{LIMIT:,}").replace("{{ forms }}", "\n\n".join(forms)).strip()


def _harmless(text: str) -> str:
    return _RESULT_TAG.sub(r"<\\", text)


def _result(result: Observation) -> str:
    facts = {
        "exit_code": result.exit_code,
        "timed_out": "true" if result.timed_out else None,
        "failed": "true" if result.failed and result.exit_code is None and not result.timed_out else None,
        "cut_from": f"{result.chars} characters" if result.chars > LIMIT else None,
    }
    said = "".join(f' {name}="{value}"' for name, value in facts.items() if value is not None)
    text = _harmless(result.text).removesuffix("\n") or "(nothing)"
    return f"<{result.tag}_output{said}>\n{text}\n</{result.tag}_output>"


def _mistake(mistake: Malformed) -> str:
    return f"<mistake>\n{_harmless(str(mistake))}\n</mistake>"


def _without_nulls(kind: type[Action], values: Mapping[str, Any]) -> dict[str, Any]:
    optional = {name for name, info in kind.model_fields.items() if not info.is_required()}
    return {name: value for name, value in values.items() if value is not None or name not in optional}


def _call_mistake(name: str, values: Any, problem: str, kind: type[Action]) -> Malformed:
    try:
        echo = json.dumps(values, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        echo = ""
    shown = {key: value for key, value in written(example(kind)).items() if key != "action"}
    expected = f"{tool_name(kind)} {json.dumps(shown, ensure_ascii=False)}\nfields: {fields(kind)}"
    return Malformed(
        tag=clean(name)[:40],
        line=1,
        column=1,
        problem=one_line(problem, 500),
        echo=one_line(echo, ECHO),
        expected=expected,
        must_succeed=isinstance(values, Mapping) and values.get("must_succeed") is True,
    )
