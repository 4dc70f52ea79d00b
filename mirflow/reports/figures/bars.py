"""Bars of groups of tracks: genres, years, annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query, select
from ...analysis.inference import intervals
from ...analysis.policies import say_intervals
from ...analysis.query_options import Names, Query
from ...analysis.scores import ANNOTATOR, names_of
from ...errors import FigureError
from ..drawing import CYCLE
from ..layout import group_labels, together
from ..results import column_of, group_sizes, groupings_of, groups_of, values_of
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
    signer_of,
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
        Of the intervals over the tracks of a group; None: no intervals.
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
    first = aggregate_query(ds, query, group)
    systems, groups = first.sizes["system"], len(groups_of(first))
    if not systems or not groups:
        raise FigureError("no systems or no tracks to show")
    if min(systems, len(CYCLE)) * groups > _MOST:
        raise FigureError(f"{groups} groups are too many for bars; group by something coarser")
    result, note = keep_best(first, len(CYCLE))
    if level is not None:
        how = {"level": level, "cluster": cluster, "replicates": replicates, "rng": rng}
        result = _with_intervals(result, ds, query, how)
    systems = result.sizes["system"]
    frame = frame_of(options)
    legend = -(-systems // _columns(result, frame.inches)) if systems > 1 else 0
    with sheet(frame, 0.55 + groups * (systems * _BAR + 0.08) + 0.14 * legend) as page:
        _draw(page, result)
        drawn = [] if level is None else [f"{100 * level:g}\u00a0% intervals, {_drawn(result, cluster)}"]
        named_by = " and ".join(groupings_of(first)) or "system"
        whose = f": {label(names_of(result, 'system')[0])}" if systems == 1 else ""
        page.head(
            f"{label(axis_name(result), 60)} by {label(named_by, 40)}{whose}",
            describe(result, notes=[note, *drawn, *infinite(values_of(result), "infinite value")]),
            signer_of(ds, query, first),
        )
    return page.ax


def _with_intervals(result: xr.Dataset, ds: xr.Dataset, query: Query, how: dict[str, Any]) -> xr.Dataset:
    """Add intervals to the values that are shown."""
    if ANNOTATOR in groupings_of(result):  # annotations cannot be named like tracks
        return keep_best(intervals(ds, query, **how), len(CYCLE))[0]
    tracks = query.tracks
    if result.attrs["missing"] == "common":
        # Common to all systems of the query, not only the ones shown.
        part = select(ds, query)
        tracks = names_of(part, "track", np.flatnonzero(part["_included"].values.any(axis=(0, 2))))
    asked = replace(query, system=names_of(result, "system"), tracks=tracks, missing=result.attrs["missing"])
    found = intervals(ds, asked, **how)
    like = {dim: result[dim] for dim in result["value"].dims}
    ends = {name: found[name].reindex(like) for name in ("low", "high") if name in found}
    return result.assign(ends).assign_attrs({name: found.attrs[name] for name in ("method", "replicates")})


def _drawn(result: xr.Dataset, cluster: str | None) -> str:
    return say_intervals(result.attrs, "tracks" if cluster in (None, "track") else f"tracks, {together(str(cluster))}")


def _columns(result: xr.Dataset, inches: float) -> int:
    longest = max(len(label(name, 24)) for name in names_of(result, "system")) + 7
    return max(1, min(4, result.sizes["system"], int(inches * 72 / (0.56 * 6.5)) // longest))


def _draw(page: Sheet, result: xr.Dataset) -> None:
    ax, names, value, groups = page.ax, names_of(result, "system"), values_of(result)[..., 0], groups_of(result)
    ends = [values_of(result, name)[..., 0] for name in ("low", "high") if name in result]
    order, systems = rank_systems(result), len(names)
    height = 0.82 / systems
    for index, system in enumerate(order):
        at = np.arange(len(groups)) + (index - (systems - 1) / 2) * height
        length = np.where(np.isfinite(value[system]), value[system], np.nan)
        ax.barh(at, length, height * 0.9, color=CYCLE[index], label=label(names[system], 24))
        if ends:
            low, high = (end[system] for end in ends)
            ax.hlines(at, low, high, color="white", linewidth=1.8)
            ax.hlines(at, low, high, color="#222222", linewidth=0.8)
    ticks = []
    for group, count in zip(groups, group_sizes(result).tolist(), strict=True):
        ticks.append(f"{label(' / '.join(group_labels(group)) or 'all tracks')} ({count})")
    ax.set_yticks(range(len(ticks)), ticks, fontsize=page.type_size(len(ticks)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(ticks) - 0.5, -0.5)
    ax.grid(axis="x")
    ax.set_xlabel(label(f"{axis_name(result)}, {aggregate_in_words(column_of(result, 'aggregate')[0])}", 60))
    if column_of(result, "unit") == [""] and np.nanmax(value, initial=0) <= 1 and np.nanmin(value, initial=0) >= 0:
        ax.set_xlim(0, 1)
    if systems > 1:
        columns = _columns(result, page.inches)
        if page.frame.ax is None:
            page.figure.legend(loc="outside lower center", ncols=columns)
        else:
            ax.legend()
