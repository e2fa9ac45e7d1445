"""What a training run leaves for readers: its rollouts as a table, and one page with its state, curves, tasks and some rollouts.

    rollouts_table(run)      # rollouts.parquet, trajectories included
    write_report(run)        # report.html: one file that needs nothing from outside and runs no script

A run that still goes on, was stopped, or has no step yet gives both, too. What a model wrote is hostile: it is escaped everywhere.
"""

from __future__ import annotations

import html
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from agent.observation import clean, cut
from agent.table import SCHEMA, to_row
from agent.trajectory import Trajectory
from containers.state import storage
from generators.errors import UsageError
from trainer.curves import Lines, curves
from trainer.records import RolloutRecord, RolloutSeconds
from trainer.reward import KEYS
from trainer.run import RunFolder, RunState, read_lines, write_whole

_TEXT, _REAL, _WHOLE = pa.string(), pa.float64(), pa.int64()
_NAMES = ("task_id", "task_digest", "family", "domain", "difficulty", "group", "end", "reason")
_COUNTS = ("step", "sample", "turns", "prompt_tokens", "response_tokens", "written_tokens")
TABLE = pa.schema(
    {
        **dict.fromkeys(_COUNTS, _WHOLE),
        **dict.fromkeys(("split", *_NAMES), _TEXT),
        **{key if key == "reward" else f"reward_{key}": _REAL for key in KEYS},
        "logprob": _REAL,
        **{f"seconds_{part}": _REAL for part in RolloutSeconds.model_fields},
        "faults": pa.list_(_TEXT),
        "trajectory": pa.struct(list(SCHEMA)),
    }
)
_GROUP = 256  # rows that are held at once
_TASKS, _ROLLOUTS, _CHARS = 8, 6, 3000  # that are shown; characters of a text
_LAST = 10  # steps of a mean
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1.2em;color:#27313d}
h1{font-size:1.5em;margin-bottom:.2em}h2{font-size:1.15em;margin:1.8em 0 .5em}.grey{color:#5f6f81}
.state{padding:1px 9px;border-radius:9px;background:#c9d2de;font-size:.6em;vertical-align:middle}
.finished{background:#cfe9d8}.failed{background:#f3cfcb}.stopped{background:#f6dfc3}
.reason{background:#fbefe2;border-left:4px solid #d9822b;padding:6px 12px;overflow-wrap:anywhere}
.figures{display:flex;flex-wrap:wrap;gap:10px}.figures div{background:#f4f6f9;border-radius:6px;padding:6px 12px}
.figures b{display:block;font-size:1.2em}.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(345px,1fr));gap:14px}
.plots svg{width:100%;height:auto}.side{display:flex;flex-wrap:wrap;gap:3em}table{border-collapse:collapse}
td,th{padding:2px 14px 2px 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}th{color:#5f6f81;font-weight:normal}
.n{text-align:right;white-space:nowrap}summary{cursor:pointer;padding:3px 0;overflow-wrap:anywhere}
pre{background:#f4f6f9;border-radius:4px;padding:8px 12px;margin:.4em 0;white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px}
pre.seen{background:#eef3ec}"""


def rollouts_table(run: RunFolder) -> Path:
    """Write rollouts.parquet: a row a rollout, its trajectory in the form of agent/table.py, without secrets.

    Raises:
        StorageError: it cannot be written.
    """
    records, part = read_rollouts(run), run.rollouts_table.with_name(f".rollouts.{os.getpid()}.part")
    with storage(f"writing {run.rollouts_table.name}"):
        try:
            with pq.ParquetWriter(part, TABLE, compression="zstd") as table:
                while rows := [_row(one) for one in islice(records, _GROUP)]:
                    table.write_table(pa.Table.from_pylist(rows, schema=TABLE))
            part.replace(run.rollouts_table)
        finally:
            part.unlink(missing_ok=True)
    return run.rollouts_table


def read_rollouts(run: RunFolder) -> Iterator[RolloutRecord]:
    """All rollouts of a run, one after the other; a line that is damaged or still being written is left out."""
    for path in sorted(run.rollouts.glob("*.jsonl")):
        with open(path, "rb") as lines:  # bytes: a line of text could also end at a separator that a model wrote
            for line in lines:
                try:
                    yield RolloutRecord.model_validate_json(line)
                except ValidationError:
                    continue


def write_report(run: RunFolder) -> Path:
    """Write report.html.

    Raises:
        UsageError: there is no run in this folder, or its files are damaged.
        StorageError: it cannot be written.
    """
    state, lines, seen = run.state(), _read(run.metrics), Seen()
    for record in read_rollouts(run):
        seen.add(record)
    settings = json.loads(run.settings.read_text()) if run.settings.exists() else {}
    name = str(settings.get("preset", {}).get("name") or run.path.name)
    parts = (_head(name, state), _figures(lines), _curves(lines), _tasks(seen), _samples(seen), _settings(settings))
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_safe(name)}</title><style>{_STYLE}</style>{''.join(parts)}</html>\n"
    )
    with storage(f"writing {run.report.name}"):
        write_whole(run.report, page)
    return run.report


@dataclass
class Seen:
    """What the page needs of all rollouts: passes by task, and the rollouts of the last step."""

    passed: dict[str, list[bool]] = field(default_factory=lambda: defaultdict[str, list[bool]](list))
    last: list[RolloutRecord] = field(default_factory=list[RolloutRecord])

    def add(self, one: RolloutRecord) -> None:
        """Take one in. Training counts; rollouts of validation are only shown where there are no others."""
        if one.split == "train" and one.reward.get("valid"):
            self.passed[one.task_id].append(one.reward.get("binary", 0.0) >= 1)
        if not self.last or _age(one) > _age(self.last[0]):
            self.last = []
        if one.trajectory and (not self.last or _age(one) == _age(self.last[0])):
            self.last.append(one)


def _age(one: RolloutRecord) -> tuple[bool, int]:
    return one.split == "train", one.step


def _read(path: Path) -> Lines:
    try:
        return read_lines(path)
    except ValueError as error:
        raise UsageError(f"{path}: a line of it is damaged: {error}") from None


def _row(one: RolloutRecord) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in ("split", "logprob", *_COUNTS, *_NAMES)}
    values |= {key if key == "reward" else f"reward_{key}": one.reward.get(key) for key in KEYS}
    values |= {f"seconds_{part}": value for part, value in one.seconds.model_dump().items()}
    return values | {"faults": list(one.faults), "trajectory": one.trajectory and to_row(one.trajectory)}


def _head(name: str, state: RunState) -> str:
    reason = f'<p class="reason">{_safe(state.reason)}</p>' if state.reason else ""
    status = f'<span class="state {state.status.value}">{state.status.value}</span>'
    return f'<h1>{_safe(name)} {status}</h1><p class="grey">step {state.step} of {state.steps}</p>{reason}'


def _figures(lines: Lines) -> str:
    """The run in a few numbers: first and last, and means of the last steps."""
    steps = [line for line in lines if "time/step" in line]
    shown = (
        ("reward, first → last", _ends(steps, "reward/mean", ".3f")),
        ("pass rate, first → last", _ends(steps, "pass_rate", ".0%")),
        ("validation pass rate", _ends(lines, "val/pass_rate", ".1%", span=1)),
        ("seconds a step", _late(steps, "time/step", ".1f")),
        ("outside model and sync", _late(steps, "time/outside_share", ".1%")),
        ("tokens a second, a device", _late(steps, "throughput", ".0f")),
    )
    figures = "".join(f"<div>{_safe(label)}<b>{value}</b></div>" for label, value in shown if value)
    return f'<div class="figures">{figures}</div>' if figures else ""


def _ends(lines: Lines, key: str, form: str, span: int = _LAST) -> str:
    """The mean of the first and of the last steps, of at most a third of them."""
    values = [line[key] for line in lines if key in line]
    span = max(1, min(span, len(values) // 3))
    means = [sum(part) / span for part in (values[:span], values[-span:])] if values else []
    return " → ".join(format(mean, form) for mean in means)


def _late(lines: Lines, key: str, form: str) -> str:
    values = [line[key] for line in lines if key in line][-_LAST:]
    return format(sum(values) / len(values), form) if values else ""


def _curves(lines: Lines) -> str:
    if found := curves(lines):
        return f'<h2>Curves by step</h2><div class="plots">{"".join(f"<div>{svg}</div>" for svg in found)}</div>'
    return "<p>No step is finished yet.</p>"


def _tasks(seen: Seen) -> str:
    """Pass rates by task in training: the lowest and the highest."""
    rated = sorted((sum(values) / len(values), -len(values), task) for task, values in seen.passed.items())
    if not rated:
        return ""
    number = min(_TASKS, (len(rated) + 1) // 2)
    low, high = rated[:number], rated[::-1][: len(rated) - number][:_TASKS]
    tables = _task_table("hardest", low) + (_task_table("easiest", high) if high else "")
    return f'<h2>Tasks by pass rate in training ({len(rated)} tried)</h2><div class="side">{tables}</div>'


def _task_table(title: str, rated: Sequence[tuple[float, int, str]]) -> str:
    rows = "".join(
        f'<tr><td>{_safe(task)}</td><td class="n">{rate:.0%}</td><td class="n">{-count}</td></tr>'
        for rate, count, task in rated
    )
    return f'<table><tr><th>{title}</th><th class="n">passed</th><th class="n">rollouts</th></tr>{rows}</table>'


def _samples(seen: Seen) -> str:
    """Rollouts of the last step, from the lowest reward to the highest."""
    there = sorted(seen.last, key=lambda one: (one.reward.get("reward", 0.0), one.task_id, one.group, one.sample))
    if not there:
        return ""
    number = min(_ROLLOUTS, len(there))
    drawn = [there[round(place * (len(there) - 1) / max(1, number - 1))] for place in range(number)]
    split = "" if drawn[0].split == "train" else " (validation)"
    return f"<h2>Rollouts of step {drawn[0].step}{split}</h2>{''.join(_sample(one) for one in drawn)}"


def _sample(one: RolloutRecord) -> str:
    assert one.trajectory
    reward = "not counted" if not one.reward.get("valid") else f"reward {one.reward.get('reward', 0.0):.2f}"
    turns = "1 turn" if one.turns == 1 else f"{one.turns} turns"
    head = f"{one.task_id}: {reward}, {one.end}, {turns}, {one.seconds.total:.1f} s"
    return f"<details><summary>{_safe(head)}</summary>{_faults(one)}{_episode(one.trajectory)}</details>"


def _faults(one: RolloutRecord) -> str:
    """Of tries that infrastructure spoilt."""
    return "".join(f'<p class="reason">{_text(fault)}</p>' for fault in one.faults)


def _episode(trajectory: Trajectory) -> str:
    """What was said and seen, turn by turn, and what the tests gave."""
    parts = [f'<pre class="seen">{_text(trajectory.instruction)}</pre>']
    for step in trajectory.steps:
        parts += [f"<pre>{_text(said)}</pre>" for said in (step.reasoning, step.reply) if said]
        seen = step.shown or "\n".join(item.observation.text for item in step.items if item.observation)
        parts += [f'<pre class="seen">{_text(seen)}</pre>'] if seen else []
    tests = [f"{'passed' if test.passed else 'FAILED'} {test.name} {test.message}" for test in trajectory.tests]
    said = "\n".join([f"{trajectory.status.value}; {trajectory.end.value} {trajectory.reason}", *tests])
    return "".join(parts) + f'<p class="grey">{_text(said).replace(chr(10), "<br>")}</p>'


def _settings(settings: Mapping[str, Any]) -> str:
    """What the run was started with: its plain values as a table, all of it below."""
    preset = settings.get("preset", {})
    plain = {key: value for key, value in (settings | preset).items() if isinstance(value, str | int | float)}
    rows = "".join(f"<tr><th>{_safe(key)}</th><td>{_safe(str(value))}</td></tr>" for key, value in plain.items())
    whole = html.escape(clean(json.dumps(settings, indent=1)))
    return f"<h2>Settings</h2><details open><summary>Plain values</summary><table>{rows}</table></details>" + (
        f"<details><summary>run.json</summary><pre>{whole}</pre></details>"
    )


def _safe(text: str) -> str:
    """Words on the page: no markup, no control sequences."""
    return html.escape(clean(text))


def _text(text: str) -> str:
    """The same of a long text, cut in the middle."""
    return html.escape(cut(clean(text), _CHARS))
