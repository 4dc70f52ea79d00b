"""Critical-difference diagrams: mean ranks, and bars over systems that do not differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.inference import Friedman, friedman
from ...errors import FigureError
from ..layouts import title_of
from .canvas import Sheet, label, sheet
from .scores import Options, Stored, board_of, frame_of, one_metric, plural, question_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONG = 10
"""Letters of a name up to which a column is wide enough."""
_ROW, _BAR = 0.155, 0.075
"""Inches between the names of systems, and between bars."""


def critical_difference(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    unit: str = "track",
    level: float = 0.95,
    **options: Unpack[Options],
) -> Axes:
    """Mean ranks of the systems, the best on the left; a bar joins systems that do not differ significantly.

    Parameters
    ----------
    scores : path, xr.DataTree, xr.Dataset or Scoreboard
    metric : str or None
        None: the metric that the field looks at first.
    aggregate : str or None
        How tracks are put together within a unit; it does not matter where units are tracks.
    unit : str
        What is ranked within: ``track``, or a coordinate of the tracks such as ``genre``.
    level : float
        Of the simultaneous comparisons.
    **options
        As for :func:`mirflow.report.figures.distributions`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FigureError
        If there are fewer than two systems.
    QueryError, UnknownNameError
        As for :func:`mirflow.analysis.inference.friedman`.

    References
    ----------
    Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, figure 1.
    """
    group, board = board_of(scores, metric, options.get("group"))
    question = question_of(options, one_metric(board, metric), aggregate)
    found = friedman(board, question, unit=unit, level=level, group=group)
    if len(found.systems) < 2:
        raise FigureError("ranks need two systems or more")
    if np.isnan(found.ranks.mean_rank[:, 0]).any():
        raise FigureError(f"nothing to rank: there is no {unit} of which every system has a score")
    levels = _levels(found)
    rows = (len(found.systems) + 1) // 2
    bars = _BAR * (1 + max((place for _, place in levels), default=-1))
    width = "page" if max(map(len, found.systems)) > _LONG else "column"
    with sheet(frame_of(options, width), 0.62 + bars + _ROW * rows + 0.06) as page:
        _draw(page, found, levels, bars)
        page.head(f"Mean ranks by {label(found.metrics[0], 60)}", _describe(found, unit))
    return page.ax


def _levels(found: Friedman) -> list[tuple[list[int], int]]:
    """The bars, and how far below the axis each has room: bars at one height do not touch."""
    mean = found.ranks.mean_rank[:, 0]
    ends: list[float] = []
    placed = []
    for members in found.groups(0):
        if len(members) < 2:
            continue
        low, high = mean[members].min(), mean[members].max()
        level = next((place for place, end in enumerate(ends) if end < low - 0.02 * len(mean)), len(ends))
        ends[level : level + 1] = [high]
        placed.append((members, level))
    return placed


def _draw(page: Sheet, found: Friedman, levels: list[tuple[list[int], int]], bars: float) -> None:
    """Everything, in inches downwards from the axis."""
    ax, mean = page.ax, found.ranks.mean_rank[:, 0]
    order = found.ranked(0)
    low, high = int(np.floor(mean.min())), int(np.ceil(mean.max()))
    high = max(high, low + 1)
    room = 0.04 * (high - low)
    _axis(page, low, high, float(found.ranks.critical_difference[0]))
    for members, level in levels:
        at = 0.1 + _BAR * level
        ends = [mean[members].min() - 0.006 * (high - low), mean[members].max() + 0.006 * (high - low)]
        ax.plot(ends, [at, at], color="black", linewidth=2.2, solid_capstyle="butt")
    half = (len(order) + 1) // 2
    small = 7 if len(order) <= 20 else 6
    # Names may take a quarter of the width on either side, the numbers beside them included.
    most = max(8, int(page.inches * 72 / 4 / (0.56 * small)) - 6)
    for place, system in enumerate(order):
        left = place < half
        row = place if left else len(order) - 1 - place
        at = 0.12 + bars + _ROW * (row + 0.5)
        edge = low - room if left else high + room
        ax.plot([mean[system], mean[system], edge], [0, at, at], color="black", linewidth=0.6, clip_on=False)
        text = label(found.systems[system], most)
        said = f"{text}  {mean[system]:.2f} " if left else f" {mean[system]:.2f}  {text}"
        ax.text(edge, at, said, ha="right" if left else "left", va="center", fontsize=small)
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(0.12 + bars + _ROW * half, -0.5)
    ax.set_axis_off()


def _axis(page: Sheet, low: int, high: int, difference: float) -> None:
    """The axis of ranks, and above it how far ranks have to be apart."""
    ax = page.ax
    ax.plot([low, high], [0, 0], color="black", linewidth=0.8)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if (high - low) / step <= 10)
    for rank in range(low, high + 1):
        tall = rank % step == 0
        ax.plot([rank, rank], [0, -0.06 if tall else -0.03], color="black", linewidth=0.6)
        if tall:
            ax.text(rank, -0.08, str(rank), ha="center", va="bottom", fontsize=7)
    if np.isfinite(difference):
        end = min(low + difference, high)
        ax.plot([low, end], [-0.34, -0.34], color="black", linewidth=0.8)
        # Longer than the axis, it has no end on the right.
        for x in (low, end)[: 2 if end == low + difference else 1]:
            ax.plot([x, x], [-0.31, -0.37], color="black", linewidth=0.8)
        ax.text((low + end) / 2, -0.38, f"critical difference {difference:.3f}", ha="center", va="bottom", fontsize=6.5)


def _describe(found: Friedman, unit: str) -> str:
    ranks, n = found.ranks, int(found.ranks.n[0])
    units = plural(n, "track") if unit == "track" else f"{n} values of {unit}"
    p = float(ranks.p[0])
    chance = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    test = f"Friedman: chi-square({int(ranks.dof[0])}) = {ranks.statistic[0]:.2f}, {chance}"
    share = f"Tukey-Kramer at {100 * float(found.attrs['level']):g}\u00a0%"
    kind = "" if unit == "track" else f"{found.aggregates[0]} within them, "
    missing = found.attrs.get("missing", "common")
    return (
        f"{title_of(found.attrs)}; ranks within {units}, {kind}missing: {missing}. {test}; "
        f"bars join systems that do not differ, {share}"
    )
