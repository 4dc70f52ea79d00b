"""Values of systems over groups of tracks: genres, years, annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query, select
from ...analysis.inference import intervals
from ...analysis.query_options import DEFAULT_LEVEL, Names, Query, say_intervals
from ...analysis.scores import ANNOTATOR, names_of
from ...errors import FigureError
from ..drawing import CYCLE
from ..layout import group_labels, together
from ..results import column_of, group_sizes, groupings_of, groups_of, values_of
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, looks, sheet
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

_DOT = 0.088
"""Inches between the dots of two systems."""
_MOST = 600
OTHER = "other"
"""The groups of few tracks, together."""


@figure("values over groups of tracks, with confidence intervals", place=6)
def groups(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    by: Names = None,
    least: int = 6,
    level: float | None = DEFAULT_LEVEL,
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    **options: Unpack[FigureOptions],
) -> Axes:
    """The aggregate of each system over each group of tracks, with confidence intervals.

    Parameters
    ----------
    by : str or sequence of str
        Coordinates of the tracks that make the groups; None: one group of all tracks. Groups by text are shown from the
        largest to the smallest, those by numbers in ascending order.
    least : int
        Groups by text with fewer tracks are put together as ``other``, unless all are so small.
    level : float or None
        Of the intervals over the tracks of a group; None: no intervals.
    cluster, replicates, rng
        As for :func:`mirflow.analysis.inference.intervals`.
    **options
        As for :func:`mirflow.reports.figures.distributions`. Of more than seven systems the best are shown.

    Raises
    ------
    FigureError
        If there is nothing to show, or far too many groups.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate, by)
    found = first = aggregate_query(ds, query, group)
    pooled = _pool(ds, first, least)
    if pooled is not None:
        ds, found = pooled, aggregate_query(pooled, query, group)
    systems, groups = found.sizes["system"], len(groups_of(found))
    if not systems or not groups:
        raise FigureError("no systems or no tracks to show")
    if min(systems, len(CYCLE)) * groups > _MOST:
        raise FigureError(f"{groups} groups are too many for a figure; group by something coarser")
    result, note = keep_best(found, len(CYCLE))
    if level is not None:
        how = {"level": level, "cluster": cluster, "replicates": replicates, "rng": rng}
        result = _with_intervals(result, ds, query, how)
    systems = result.sizes["system"]
    frame = frame_of(options)
    legend = -(-systems // _columns(result, frame.inches)) if systems > 1 else 0
    with sheet(frame, 0.55 + groups * (systems * _DOT + 0.08) + 0.14 * legend) as page:
        _draw(page, result, _in_order(ds, result))
        units = "tracks" if cluster in (None, "track") else f"tracks, {together(str(cluster))}"
        drawn = [] if level is None else [f"{100 * level:g}\u00a0% intervals, {say_intervals(result.attrs, units)}"]
        few = [f"{OTHER}: the groups of fewer than {least} tracks"] if pooled is not None else []
        named_by = " and ".join(groupings_of(first)) or "system"
        whose = f": {label(names_of(result, 'system')[0])}" if systems == 1 else ""
        page.head(
            f"{label(axis_name(result), 60)} by {label(named_by, 40)}{whose}",
            describe(result, notes=[note, *few, *drawn, *infinite(values_of(result), "infinite value")]),
            signer_of(ds, query, found),
        )
    return page.ax


def _pool(ds: xr.Dataset, result: xr.Dataset, least: int) -> xr.Dataset | None:
    """The scores with one group for all small ones; None where there is nothing to put together."""
    groupings, sizes = groupings_of(result), group_sizes(result)
    if not _is_nominal(ds, groupings) or not 1 < int((sizes < least).sum()) < len(sizes):
        return None
    every = zip(groups_of(result), sizes.tolist(), strict=True)
    small = {tuple(group_labels(group)) for group, size in every if size < least}
    values = [ds[name].values.astype(object) for name in groupings]
    few = np.array([tuple(group_labels(group)) in small for group in zip(*values, strict=True)])
    together = (np.where(few, OTHER, value) for value in values)
    return ds.assign_coords({name: ("track", value) for name, value in zip(groupings, together, strict=True)})


def _is_nominal(ds: xr.Dataset, groupings: list[str]) -> bool:
    """Whether groups are made by text of the tracks, which has no order."""
    return all(name in ds and ds[name].dims == ("track",) and ds[name].dtype.kind not in "iufb" for name in groupings)


def _in_order(ds: xr.Dataset, result: xr.Dataset) -> list[int]:
    """The groups from the largest to the smallest, what is put together last; those by numbers as they are."""
    groups, sizes = groups_of(result), group_sizes(result).tolist()
    if not _is_nominal(ds, groupings_of(result)):
        return list(range(len(groups)))
    return sorted(range(len(groups)), key=lambda place: (OTHER in groups[place], -sizes[place], place))


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


def _columns(result: xr.Dataset, inches: float) -> int:
    longest = max(len(label(name)) for name in names_of(result, "system")) + 7
    return max(1, min(4, result.sizes["system"], int(inches * 72 / (0.56 * 6.5)) // longest))


def _draw(page: Sheet, result: xr.Dataset, ordered: list[int]) -> None:
    ax, names, value = page.ax, names_of(result, "system"), values_of(result)[:, ordered, 0]
    ends = [values_of(result, name)[:, ordered, 0] for name in ("low", "high") if name in result]
    order, systems = rank_systems(result), len(names)
    height = 0.82 / systems
    for place in range(1, len(ordered), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="#F3F3F3", linewidth=0, zorder=0)
    for index, (system, look) in enumerate(zip(order, looks(systems), strict=True)):
        at = np.arange(len(ordered)) + (index - (systems - 1) / 2) * height
        if ends:
            ax.hlines(at, *(end[system] for end in ends), color=look.color, linewidth=1.1)
        shown = np.where(np.isfinite(value[system]), value[system], np.nan)
        ax.plot(shown, at, look.marker, color=look.color, markersize=3.6, label=label(names[system]), clip_on=False)
    groups, sizes = groups_of(result), group_sizes(result).tolist()
    ticks = []
    for place in ordered:
        parts = group_labels(groups[place])
        parts = [OTHER] if set(parts) == {OTHER} else parts
        ticks.append(f"{label(' / '.join(parts) or 'all tracks')} ({sizes[place]})")
    ax.set_yticks(range(len(ticks)), ticks, fontsize=page.type_size(len(ticks)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(ticks) - 0.5, -0.5)
    ax.grid(axis="x")
    ax.set_xlabel(label(f"{axis_name(result)}, {aggregate_in_words(column_of(result, 'aggregate')[0])}", 60))
    if systems > 1:
        columns = _columns(result, page.inches)
        if page.frame.ax is None:
            page.figure.legend(loc="outside lower center", ncols=columns)
        else:
            ax.legend()
