"""What a reader would see of a figure: its texts, where they are, and whether any lies on another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text


def figure_of(ax: Axes) -> Figure:
    return ax.get_figure(root=True)


def texts(ax: Axes) -> list[Text]:
    """Every text that is drawn."""
    figure = figure_of(ax)
    figure.canvas.draw()
    found = []
    for one in figure.findobj(Text):
        if one.get_visible() and one.get_text().strip() and one.get_window_extent().width > 0:
            found.append(one)
    return found


def words(ax: Axes) -> str:
    """All text in one line."""
    return " ".join(" ".join(one.get_text().split()) for one in texts(ax))


def cut_off(ax: Axes) -> list[str]:
    """Texts that leave the paper by more than a point."""
    figure = figure_of(ax)
    width, height = figure.get_size_inches() * figure.dpi
    slack = figure.dpi / 72
    found = []
    for one in _drawn(ax):
        box = one.get_window_extent()
        if box.x0 < -slack or box.y0 < -slack or box.x1 > width + slack or box.y1 > height + slack:
            found.append(one.get_text())
    return found


def overlapping(ax: Axes) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than a point both ways."""
    slack = figure_of(ax).dpi / 72
    boxes = [(one.get_text(), one.get_window_extent()) for one in _drawn(ax)]
    return [
        (first, second)
        for (first, a), (second, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack
    ]


def _drawn(ax: Axes) -> list[Text]:
    """Texts, without the ticks that lie beyond the ends of their axis and are not drawn."""
    shown = texts(ax)  # which is when ticks get their places
    hidden: set[Any] = set()
    for one in figure_of(ax).axes:
        for axis, (low, high) in ((one.xaxis, sorted(one.get_xlim())), (one.yaxis, sorted(one.get_ylim()))):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    return [one for one in shown if one not in hidden]
