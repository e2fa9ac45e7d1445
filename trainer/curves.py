"""The curves of a training run as inline SVG: from the lines of its steps, with nothing of a model's words in them."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trainer.metrics import PARTS

Lines = Sequence[Mapping[str, Any]]
Points = Sequence[tuple[float, float]]
_INK, _GRID = "#27313d", "#dfe5ec"
_SHADES = ("#3b6fb6", "#d9822b", "#5f6f81", "#2f9e78")
_PART_SHADES = (
    *("#3b6fb6", "#7aa6d8", "#2b4f80", "#5f6f81", "#d9822b", "#e8b57e"),
    *("#a35d13", "#f2d3ae", "#8f9bab", "#c9d2de"),
)
_PLOTS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Reward", (("reward/mean", "reward"), ("reward/tests", "tests"), ("reward/judge", "judge"))),
    ("Pass rate", (("pass_rate", "training"), ("val/pass_rate", "validation"))),
    ("Groups whose rewards differ", (("mixed_groups", "differ"), ("groups", "all"))),
    ("Entropy (nats a token)", (("actor/entropy", "entropy"),)),
    ("Gradient norm", (("actor/grad_norm", "actor"), ("critic/grad_norm", "critic"))),
    ("KL (nats a token)", (("actor/rollout_kl", "engine to trainer"), ("actor/kl", "within the step"))),
    ("Correlation of engine and trainer", (("actor/correlation", "correlation"),)),
    ("Tokens a rollout", (("tokens/response", "response"), ("tokens/written", "written"))),
    ("Turns", (("turns", "turns"),)),
    ("Invalid, and without their judge (shares)", (("invalid_share", "invalid"), ("reward/fallback", "no judge"))),
    ("Outside model and sync", (("time/outside_share", "share of the step"),)),
)
_FROM_ZERO = {  # titles of figures whose axis begins at 0, and how far it reaches at least
    "Pass rate": 0.05,
    "Groups whose rewards differ": 1.0,
    "Tokens a rollout": 1.0,
    "Invalid, and without their judge (shares)": 0.05,
    "Outside model and sync": 0.05,
}
_NAMES = {"time/model": "generation", "time/old_log_prob": "log probs"}
_MANY, _SPAN = 30, 10  # points from which a moving mean is drawn; of so many parts of the run
_BARS = 60  # steps up to which each has its own bar
_LARGEST = 1e12  # an axis has no room for more


def curves(lines: Lines) -> list[str]:
    """Every figure for which something was measured, then the time of the steps."""
    found = [_plot(title, lines, series) for title, series in _PLOTS if any(_points(lines, key) for key, _ in series)]
    return [*found, _times(lines)] if _points(lines, "time/step") else found


def _points(lines: Lines, key: str) -> Points:
    return [(line["step"], max(-_LARGEST, min(_LARGEST, line[key]))) for line in lines if _is_number(line.get(key))]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _figure(title: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.4, 2.5), layout="constrained")
    axes: Any = figure.subplots()
    axes.set_title(title, loc="left", fontsize=10.5, color=_INK)
    axes.tick_params(labelsize=8, colors=_INK, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_GRID)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    return figure, axes


def _plot(title: str, lines: Lines, series: Sequence[tuple[str, str]]) -> str:
    """Lines over steps; where there are many points they are faint, and their moving mean is drawn."""
    figure, axes = _figure(title)
    there = [(label, points) for key, label in series if (points := _points(lines, key))]
    for (label, points), shade in zip(there, _SHADES, strict=False):
        many = len(points) >= _MANY
        steps, values = zip(*points, strict=True)
        faint = {"alpha": 0.3, "linewidth": 0.9} if many else {"marker": "o", "markersize": 3, "linewidth": 1.6}
        axes.plot(steps, values, color=shade, label=None if many else label, **faint)
        if many:
            axes.plot(steps, _smooth(values), color=shade, label=label, linewidth=1.8)
    if len(there) > 1:
        axes.legend(fontsize=8, frameon=False, labelcolor=_INK, loc="best")
    if title in _FROM_ZERO:
        axes.set_ylim(bottom=0, top=max(_FROM_ZERO[title], axes.get_ylim()[1]))
    return _svg(figure)


def _smooth(values: Sequence[float]) -> list[float]:
    """The mean of a point and those around it."""
    reach = max(1, len(values) // _SPAN // 2)
    parts = [values[max(0, place - reach) : place + reach + 1] for place in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def _times(lines: Lines) -> str:
    """What the time of each step went to, stacked."""
    figure, axes = _figure("Seconds of a step")
    steps = [line["step"] for line in lines if _is_number(line.get("time/step"))]
    below = [0.0] * len(steps)
    for part, shade in zip(PARTS, _PART_SHADES, strict=True):
        known = dict(_points(lines, part))
        values = [max(0.0, known.get(step, 0.0)) for step in steps]
        if any(values):
            above, label = (
                [low + value for low, value in zip(below, values, strict=True)],
                _NAMES.get(part, part.removeprefix("time/")),
            )
            if len(steps) <= _BARS:
                axes.bar(steps, values, bottom=below, width=0.9, color=shade, label=label)
            else:
                axes.fill_between(steps, below, above, color=shade, linewidth=0, label=label)
            below = above
    if any(below):
        figure.legend(fontsize=7, frameon=False, labelcolor=_INK, loc="outside right center", reverse=True)
    return _svg(figure)


def _svg(figure: Figure) -> str:
    """Inline, with text as text, and the same for the same values."""
    with matplotlib.rc_context({"svg.hashsalt": "termforge", "svg.fonttype": "none"}):
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    text = out.getvalue()
    return text[text.index("<svg") :]
