"""Bars of groups of tracks: genres, years, annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_scores, select
from ...analysis.inference import intervals
from ...analysis.query_options import Names, Query
from ...analysis.scores import ANNOTATOR, names_of
from ...errors import FigureError
from ..drawing import CYCLE
from ..layout import group_labels, together
from ..results import Result
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import (
    FigureOptions,
    Stored,
    axis_name,
    board_of,
    describe,
    frame_of,
    infinite,
    keep_best,
    one_metric,
    query_of,
    rank_systems,
)

if TYPE_CHECKING:
    import xarray as xr
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
    """The aggregate of each system over each group of tracks, with confidence intervals.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
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
        As for :func:`mirflow.reports.figures.distributions`. Of more than seven systems the best are shown.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    FigureError
        If there is nothing to show, or far too many groups.
    QueryError, UnknownNameError
        As for any query.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate, by)
    first = Result.of(aggregate_scores(select(ds, query), query.by, group))
    if not first.systems or not first.groups:
        raise FigureError("there are no systems or no tracks to show")
    if min(len(first.systems), len(CYCLE)) * len(first.groups) > _MOST:
        raise FigureError(f"{len(first.groups)} groups are too many for bars; group by something coarser")
    result, note = keep_best(first, len(CYCLE))
    if level is not None:
        how = {"level": level, "cluster": cluster, "replicates": replicates, "rng": rng}
        result = _with_intervals(result, ds, query, how)
    bars = len(result.systems) * _BAR
    frame = frame_of(options)
    legend = -(-len(result.systems) // _columns(result, frame.inches)) if len(result.systems) > 1 else 0
    with sheet(frame, 0.55 + len(result.groups) * (bars + 0.08) + 0.14 * legend) as page:
        _draw(page, result)
        drawn = [] if level is None else [f"{100 * level:g}\u00a0% intervals by bootstrap over {_drawn(cluster)}"]
        named_by = " and ".join(first.groupings) or "system"
        whose = f": {label(result.systems[0])}" if len(result.systems) == 1 else ""
        page.head(
            f"{label(axis_name(result), 60)} by {label(named_by, 40)}{whose}",
            describe(result, notes=[note, *drawn, *infinite(result.value, "infinite value")]),
        )
    return page.ax


def _with_intervals(result: Result, ds: xr.Dataset, query: Query, how: dict[str, Any]) -> Result:
    """Add intervals to the values that are shown."""
    if ANNOTATOR in result.groupings:  # annotations cannot be named like tracks
        return keep_best(Result.of(intervals(ds, query, **how)), len(CYCLE))[0]
    tracks = query.tracks
    if result.attrs["missing"] == "common":
        # Common to all systems of the query, not only the ones shown.
        part = select(ds, query)
        tracks = names_of(part, "track", np.flatnonzero(part["_included"].values.any(axis=(0, 2))))
    asked = replace(query, system=result.systems, tracks=tracks, missing=result.attrs["missing"])
    found = Result.of(intervals(ds, asked, **how))
    place = {group: at for at, group in enumerate(found.groups)}
    ends = tuple(np.full_like(result.value, np.nan) for _ in found.ends)
    for at, group in enumerate(result.groups):
        if group in place:
            for end, own in zip(ends, found.ends, strict=True):
                end[:, at] = own[:, place[group]]
    return replace(result, ends=ends)


def _drawn(cluster: str | None) -> str:
    return "tracks" if cluster in (None, "track") else f"tracks, {together(str(cluster))}"


def _columns(result: Result, inches: float) -> int:
    longest = max(len(label(name, 24)) for name in result.systems) + 7
    return max(1, min(4, len(result.systems), int(inches * 72 / (0.56 * 6.5)) // longest))


def _draw(page: Sheet, result: Result) -> None:
    ax, systems = page.ax, len(result.systems)
    order = rank_systems(result)
    height = 0.82 / systems
    for place, system in enumerate(order):
        at = np.arange(len(result.groups)) + (place - (systems - 1) / 2) * height
        value = result.value[system, :, 0]
        value = np.where(np.isfinite(value), value, np.nan)
        ax.barh(at, value, height * 0.9, color=CYCLE[place], label=label(result.systems[system], 24))
        if result.ends:
            low, high = (end[system, :, 0] for end in result.ends)
            ax.hlines(at, low, high, color="white", linewidth=1.8)
            ax.hlines(at, low, high, color="#222222", linewidth=0.8)
    names = []
    for group, count in zip(result.groups, result.n_tracks.tolist(), strict=True):
        names.append(f"{label(' / '.join(group_labels(group)) or 'all tracks')} ({count})")
    ax.set_yticks(range(len(names)), names, fontsize=page.type_size(len(names)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x")
    ax.set_xlabel(label(f"{axis_name(result)}, {aggregate_in_words(result.aggregates[0])}", 60))
    if not result.units[0] and np.nanmax(result.value, initial=0) <= 1 and np.nanmin(result.value, initial=0) >= 0:
        ax.set_xlim(0, 1)
    if systems > 1:
        columns = _columns(result, page.inches)
        if page.frame.ax is None:
            page.figure.legend(loc="outside lower center", ncols=columns)
        else:
            ax.legend()
