"""Figures as PNG bytes. No display, no global state: every figure is its own canvas."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BLUE, GREY, INK = "#3b6fb6", "#c9d2de", "#27313d"
_SHADES = (BLUE, "#d9822b", "#7aa6d8", "#5f6f81", "#c9d2de", "#a35d13", "#2b4f80", "#e8b57e", "#8f9bab", "#27313d")
_DPI = 80


def funnel_png(stages: Sequence[tuple[str, int]], title: str = "") -> bytes:
    """The funnel as horizontal bars, first stage on top; what was lost since the stage before is grey."""
    figure = Figure(figsize=(7.5, 0.8 + 0.32 * len(stages)))
    axes = figure.add_subplot()
    names = [name for name, _ in stages]
    counts = [count for _, count in stages]
    before = [counts[0], *counts[:-1]] if counts else []
    axes.barh(names, before, color=GREY)
    bars = axes.barh(names, counts, color=BLUE)
    labels = [f"{now}" if now == was else f"{now}  (−{was - now})" for now, was in zip(counts, before, strict=True)]
    axes.bar_label(bars, labels, padding=4, color=INK, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, max(counts, default=1) * 1.15 or 1)
    return _png(figure, axes, title)


def counts_png(counts: Mapping[str, int], title: str, wanted: Mapping[str, float] | None = None) -> bytes:
    """Counts as horizontal bars in the given order; `wanted` marks what was aimed at."""
    figure = Figure(figsize=(7.5, 0.9 + 0.32 * max(1, len(counts))))
    axes = figure.add_subplot()
    bars = axes.barh(list(counts), list(counts.values()), color=BLUE)
    axes.bar_label(bars, padding=4, color=INK, fontsize=9)
    top = max([*counts.values(), *(wanted or {}).values()], default=1)
    if wanted:
        places = [index for index, name in enumerate(counts) if name in wanted]
        values = [wanted[name] for name in counts if name in wanted]
        axes.scatter(values, places, marker="|", s=260, linewidths=2.5, color="#d9822b", label="recipe", zorder=3)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.invert_yaxis()
    axes.set_xlim(0, top * 1.15 or 1)
    return _png(figure, axes, title)


def parts_png(groups: Mapping[str, Mapping[str, int]], title: str) -> bytes:
    """Counts by kind as one stacked horizontal bar per group, in the given order; kinds that occur nowhere are left out."""
    every = dict.fromkeys(kind for counts in groups.values() for kind in counts)
    shades = {
        kind: _SHADES[number % len(_SHADES)] for number, kind in enumerate(every)
    }  # the same in figures of the same kinds
    kinds = [kind for kind in every if any(counts.get(kind) for counts in groups.values())]
    figure = Figure(figsize=(7.5, 1.5 + 0.32 * max(1, len(groups))))
    axes = figure.add_subplot()
    left = [0] * len(groups)
    for kind in kinds:
        widths = [counts.get(kind, 0) for counts in groups.values()]
        axes.barh(list(groups), widths, left=left, color=shades[kind], label=kind)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, total in enumerate(left):
        axes.text(total, place, f"  {total}", va="center", color=INK, fontsize=9)
    if kinds:
        axes.legend(frameon=False, fontsize=8, ncols=4, loc="upper left", bbox_to_anchor=(0, -0.02))
    axes.invert_yaxis()
    axes.set_xlim(0, max(left, default=1) * 1.15 or 1)
    return _png(figure, axes, title)


def pairs_png(rows: Mapping[str, tuple[float | None, float | None]], names: tuple[str, str], title: str) -> bytes:
    """Two values per row as horizontal bars, one above the other; a value that is None has no bar."""
    figure = Figure(figsize=(7.5, 1.1 + 0.55 * max(1, len(rows))))
    axes = figure.add_subplot()
    for side, (name, color) in enumerate(zip(names, (GREY, BLUE), strict=True)):
        places = [place + 0.38 * side for place in range(len(rows))]
        values = [pair[side] for pair in rows.values()]
        bars = axes.barh(places, [value or 0.0 for value in values], height=0.36, color=color, label=name)
        labels = ["" if value is None else f"{value:.3g}" for value in values]
        axes.bar_label(bars, labels, padding=4, color=INK, fontsize=9)
    axes.set_yticks([place + 0.19 for place in range(len(rows))], list(rows))
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.02))
    axes.invert_yaxis()
    axes.set_xlim(0, max((value or 0.0 for pair in rows.values() for value in pair), default=1.0) * 1.2 or 1)
    return _png(figure, axes, title)


def intervals_png(rows: Mapping[str, tuple[float, float | None, float | None]], title: str) -> bytes:
    """Shares in [0, 1] as horizontal bars, with their interval (low, high) where there is one."""
    figure = Figure(figsize=(7.5, 0.9 + 0.32 * max(1, len(rows))))
    axes = figure.add_subplot()
    axes.barh(list(rows), [value for value, _, _ in rows.values()], color=BLUE)
    for place, (value, low, high) in enumerate(rows.values()):
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=INK, linewidth=1.5, zorder=3)
        axes.text(max(value, high or 0.0), place, f"  {value:.3f}", va="center", color=INK, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15)
    return _png(figure, axes, title)


def _png(figure: Figure, axes: Axes, title: str) -> bytes:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
    figure.tight_layout()
    target = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(target, format="png", dpi=_DPI)
    return target.getvalue()
