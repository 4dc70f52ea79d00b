"""Bars of groups of tracks: genres, years, annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import Answer, ask, select
from ...analysis.inference import intervals
from ...analysis.scoreboard import ANNOTATOR, Scoreboard
from ...analysis.selection import Names, Question
from ...errors import FigureError
from ..layout import group_labels, together
from .canvas import CYCLE, Sheet, figure, label, sheet
from .track_scores import (
    FigureOptions,
    Stored,
    axis_name,
    best_first,
    board_of,
    describe,
    frame_of,
    infinite,
    keep_best,
    lower_is_better,
    named,
    one_metric,
    overall,
    question_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = 0.088
_MOST = 600


@figure("bars of groups of tracks, with confidence intervals", place=6)
def groups(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    by: Names = None,
    level: float | None = 0.95,
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    **options: Unpack[FigureOptions],
) -> Axes:
    """The figure of each system over each group of tracks, with confidence intervals.

    Parameters
    ----------
    scores : path, xr.DataTree, xr.Dataset or Scoreboard
    metric : str or None
        None: the headline metric of the evaluation.
    aggregate : str or None
        None: the metric's standard one.
    by : str or sequence of str
        Coordinates of the tracks that make the groups; None: one group of all tracks.
    level : float or None
        Of the intervals, by bootstrap over the tracks of a group; None: no intervals.
    cluster, replicates, rng
        As for :func:`mirflow.analysis.inference.intervals`.
    **options
        As for :func:`mirflow.report.figures.distributions`. Of more than seven systems the best are shown.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FigureError
        If there is nothing to show, or far too many groups.
    QueryError, UnknownNameError
        As for any question.
    """
    group, board = board_of(scores, metric, options.get("group"))
    question = question_of(options, one_metric(board, metric), aggregate, by)
    first = ask(board, question, group)
    if not first.systems or not first.filled:
        raise FigureError("there are no systems or no tracks to show")
    if min(len(first.systems), len(CYCLE)) * len(first.filled) > _MOST:
        raise FigureError(f"{len(first.filled)} groups are too many for bars; group by something coarser")
    answer, note = keep_best(first, len(CYCLE))
    if level is not None:
        how = {"level": level, "cluster": cluster, "replicates": replicates, "rng": rng}
        answer = _with_intervals(answer, board, question, how)
    bars = len(answer.systems) * _BAR
    frame = frame_of(options)
    legend = -(-len(answer.systems) // _columns(answer, frame.inches)) if len(answer.systems) > 1 else 0
    with sheet(frame, 0.55 + len(answer.filled) * (bars + 0.08) + 0.14 * legend) as page:
        _draw(page, answer)
        told = [] if level is None else [f"{100 * level:g}\u00a0% intervals by bootstrap over {_drawn(cluster)}"]
        named_by = " and ".join(first.groupings) or "system"
        whose = f": {label(answer.systems[0])}" if len(answer.systems) == 1 else ""
        page.head(
            f"{label(named(answer), 60)} by {label(named_by, 40)}{whose}",
            describe(answer, notes=[note, *told, *infinite(answer.value, "infinite value")]),
        )
    return page.ax


def _with_intervals(answer: Answer, board: Scoreboard, question: Question, how: dict[str, Any]) -> Answer:
    """The same figures with the ends of their intervals; what is not shown is not resampled."""
    if ANNOTATOR in answer.groupings:  # which are no tracks that could be named
        return keep_best(intervals(board, question, **how), len(CYCLE))[0]
    tracks = question.tracks
    if answer.attrs["missing"] == "common":
        # Common to all systems that were asked for, whoever is shown.
        part = select(board, question)
        shared = np.flatnonzero(np.asarray(part.scores()[1].any(axis=(0, 2))))
        tracks = [part.track_names[place] for place in shared.tolist()]
    asked = replace(question, system=answer.systems, tracks=tracks, missing=answer.attrs["missing"])
    found = intervals(board, asked, **how)
    place = {found.group(group): group for group in found.filled}
    low, high = np.full_like(answer.value, np.nan), np.full_like(answer.value, np.nan)
    for group in answer.filled:
        if answer.group(group) in place and found.low is not None and found.high is not None:
            own = place[answer.group(group)]
            low[..., group], high[..., group] = found.low[..., own], found.high[..., own]
    return replace(answer, low=low, high=high)


def _drawn(cluster: str | None) -> str:
    return "tracks" if cluster in (None, "track") else f"tracks, {together(str(cluster))}"


def _columns(answer: Answer, inches: float) -> int:
    """How many names of systems stand beside each other in the legend."""
    longest = max(len(label(name, 24)) for name in answer.systems) + 7
    return max(1, min(4, len(answer.systems), int(inches * 72 / (0.56 * 6.5)) // longest))


def _draw(page: Sheet, answer: Answer) -> None:
    ax, systems = page.ax, len(answer.systems)
    order = best_first(overall(answer.value[:, 0]), lower_is_better(answer))
    low, high = (None, None) if answer.low is None or answer.high is None else (answer.low[:, 0], answer.high[:, 0])
    height = 0.82 / systems
    for place, system in enumerate(order):
        at = np.arange(len(answer.filled)) + (place - (systems - 1) / 2) * height
        value = answer.value[system, 0, answer.filled]
        value = np.where(np.isfinite(value), value, np.nan)
        ax.barh(at, value, height * 0.9, color=CYCLE[place], label=label(answer.systems[system], 24))
        if low is not None and high is not None:
            ax.hlines(at, low[system, answer.filled], high[system, answer.filled], color="white", linewidth=1.8)
            ax.hlines(at, low[system, answer.filled], high[system, answer.filled], color="#222222", linewidth=0.8)
    names = []
    for group in answer.filled:
        text = " / ".join(group_labels(answer, group)) or "all tracks"
        names.append(f"{label(text)} ({int(answer.n_tracks[group])})")
    ax.set_yticks(range(len(names)), names, fontsize=page.type_size(len(names)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x")
    ax.set_xlabel(label(f"{axis_name(answer)}, {answer.aggregates[0]}", 60))
    if not answer.units[0] and np.nanmax(answer.value, initial=0) <= 1 and np.nanmin(answer.value, initial=0) >= 0:
        ax.set_xlim(0, 1)
    if systems > 1:
        columns = _columns(answer, page.inches)
        if page.frame.ax is None:
            page.figure.legend(loc="outside lower center", ncols=columns)
        else:
            ax.legend()
