"""Figures as PNG bytes. No display, no global state: every figure is its own canvas."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BLUE, GREY, INK = "#3b6fb6", "#c9d2de", "#27313d"
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


def _png(figure: Figure, axes: Axes, title: str) -> bytes:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
    figure.tight_layout()
    target = io.BytesIO()
    FigureCanvasAgg(figure).print_figure(target, format="png", dpi=_DPI)
    return target.getvalue()
