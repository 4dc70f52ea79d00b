"""Values of systems: over groups of tracks, over a swept parameter, and split into losses by kind of errors.

Values of groups can have confidence intervals. For losses the annotations of a store are read again, unless the scores
hold the losses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query, select
from ...analysis.inference import intervals
from ...analysis.lookup import convention_of
from ...analysis.queries import choose_one
from ...analysis.query_options import DEFAULT_LEVEL, Names, say_intervals
from ...analysis.scores import ANNOTATOR, names_of
from ...errors import FigureError, MirflowError
from ...metrics.edits import KIND
from ...metrics.measures import Measure, parse
from ..drawing import CYCLE, GREY, PALE, YELLOW
from ..layout import group_labels, together
from ..results import axes_of, column_of, values_of
from ..tables import aggregate_in_words
from .canvas import Look, Sheet, figure, label, looks, sheet
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
_MOST_DOTS = 600
OTHER = "other"
"""The groups of few tracks, together."""


@figure("values over groups of tracks, with confidence intervals", place=10)
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
    found = aggregate_query(ds, query, group)
    axes = axes_of(found)
    groupings, sizes = axes.groupings, axes.sizes
    # Text of the tracks has no order: its small groups are put together, and the largest come first.
    nominal = all(
        name in ds and ds[name].dims == ("track",) and ds[name].dtype.kind not in "iufb" for name in groupings
    )
    pooled = nominal and 1 < int((sizes < least).sum()) < len(sizes)
    if pooled:
        small = {tuple(group_labels(one)) for one, size in zip(axes.groups, sizes, strict=True) if size < least}
        values = [ds[name].values.astype(object) for name in groupings]
        few = np.array([tuple(group_labels(one)) in small for one in zip(*values, strict=True)])
        coords = {name: ("track", np.where(few, OTHER, own)) for name, own in zip(groupings, values, strict=True)}
        ds = ds.assign_coords(coords)
        found = aggregate_query(ds, query, group)
    systems, groups = found.sizes["system"], axes_of(found).groups
    if not systems or not groups:
        raise FigureError("no systems or no tracks to show")
    if min(systems, len(CYCLE)) * len(groups) > _MOST_DOTS:
        raise FigureError(f"{len(groups)} groups are too many for a figure; group by something coarser")
    result, note = keep_best(found, len(CYCLE))
    missing = result.attrs["missing"]
    if level is not None:
        how: dict[str, Any] = {"level": level, "cluster": cluster, "replicates": replicates, "rng": rng}
        if ANNOTATOR in groupings:  # annotations cannot be named like tracks
            result = keep_best(intervals(ds, query, **how), len(CYCLE))[0]
        else:
            tracks = query.tracks
            if missing == "common":  # to all systems of the query, not only the ones shown
                part = select(ds, query)
                tracks = names_of(part, "track", np.flatnonzero(part["_included"].values.any(axis=(0, 2))))
            asked = replace(query, system=names_of(result, "system"), tracks=tracks, missing=missing)
            drawn = intervals(ds, asked, **how)
            like = {dim: result[dim] for dim in result["value"].dims}
            result = result.assign({name: drawn[name].reindex(like) for name in ("low", "high") if name in drawn})
            result = result.assign_attrs({name: drawn.attrs[name] for name in ("method", "replicates")})
    groups, sizes = axes_of(result).groups, axes_of(result).sizes.tolist()
    ordered = list(range(len(groups)))
    if nominal:
        ordered.sort(key=lambda place: (OTHER in groups[place], -sizes[place], place))
    systems, frame = result.sizes["system"], frame_of(options)
    legend = -(-systems // _columns(result, frame.inches)) if systems > 1 else 0
    with sheet(frame, 0.55 + len(groups) * (systems * _DOT + 0.08) + 0.14 * legend) as page:
        _draw_groups(page, result, ordered)
        units = "tracks" if cluster in (None, "track") else f"tracks, {together(str(cluster))}"
        notes = [note, *([f"{OTHER}: the groups of fewer than {least} tracks"] if pooled else [])]
        notes += [] if level is None else [f"{100 * level:g}\u00a0% intervals, {say_intervals(result.attrs, units)}"]
        named_by = " and ".join(groupings) or "system"
        whose = f": {label(names_of(result, 'system')[0])}" if systems == 1 else ""
        page.head(
            f"{label(axis_name(result), 60)} by {label(named_by, 40)}{whose}",
            describe(result, notes=[*notes, *infinite(values_of(result), "infinite value")]),
            signer_of(ds, query, found),
        )
    return page.ax


def _columns(result: xr.Dataset, inches: float) -> int:
    longest = max(len(label(name)) for name in names_of(result, "system")) + 7
    return max(1, min(4, result.sizes["system"], int(inches * 72 / (0.56 * 6.5)) // longest))


def _draw_groups(page: Sheet, result: xr.Dataset, ordered: list[int]) -> None:
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
    groups, sizes = axes_of(result).groups, axes_of(result).sizes.tolist()
    ticks = []
    for place in ordered:
        parts = group_labels(groups[place])
        parts = [OTHER] if set(parts) == {OTHER} else parts
        ticks.append(f"{label(' / '.join(parts) or 'all tracks')} ({sizes[place]})")
    page.name_rows(ticks)
    ax.set_xlabel(label(f"{axis_name(result)}, {aggregate_in_words(column_of(result, 'aggregate')[0])}", 60))
    if systems > 1:
        page.legend_below(_columns(result, page.inches))


_ALL = 14
"""Number of systems with colours and markers that differ; of more, only the best are drawn in colour."""


@figure("a metric over a parameter that was swept", place=9)
def tolerance(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    parameter: str | None = None,
    **options: Unpack[FigureOptions],
) -> Axes:
    """A metric over one of its parameters, a line for each system.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
        It holds the metric for several values of the parameter, as a pipeline asks for with
        ``f_measure@[0.01:0.1:0.01]``.
    metric : str or None
        The metric, with the values of its other parameters (``f_measure(trim=0.0)``); None: the one with most values.
    parameter : str or None
        None: the metric's primary one.

    Raises
    ------
    FigureError
        If the parameter has fewer than two values, or other values than numbers.
    """
    group, ds = board_of(scores, None if metric is None else metric.partition("@")[0], options)
    families = _families(ds, parameter)
    if metric is None and not families:
        raise FigureError("no metric here has a number for a parameter")
    family = max(families, key=len) if metric is None else _same(ds, families, metric, parameter)
    name, measures = next(iter(family.values())).metric, family
    swept = parameter or name.parameters[0].name
    if len(measures) < 2:
        raise FigureError(
            f"the scores hold one value of {swept!r} of {name.name}; "
            f"compute several in the pipeline, as in {name.name}@[0.01:0.1:0.01]"
        )
    values = {identity: float(measure[swept]) for identity, measure in measures.items()}
    ordered = sorted(values, key=lambda identity: values[identity])
    query = query_of(options, ordered, aggregate)
    result = aggregate_query(ds, query, group)
    unit = next(one.unit for one in name.parameters if one.name == swept)
    with sheet(frame_of(options), 2.4) as page:
        at = np.array([values[identity] for identity in ordered])
        ax, value, systems = page.ax, values_of(result)[:, 0], names_of(result, "system")
        order = rank_systems(result, value)
        shown = len(order) if len(order) <= _ALL else len(CYCLE)
        grey = Look(PALE, "", "-")
        marks = at.size <= 15
        for place, look in reversed(list(enumerate([*looks(shown), *[grey] * (len(order) - shown)]))):
            system = order[place]
            style: dict[str, Any] = (
                {"linewidth": 1.2, "zorder": 2} if place < shown else {"linewidth": 0.7, "zorder": 1}
            )
            style |= {"color": look.color, "linestyle": look.line, "marker": look.marker if marks else ""}
            ax.plot(at, value[system], label=label(systems[system]), **style)
        ax.grid()
        handles = ax.get_legend_handles_labels()
        best = [list(reversed(handle))[:shown] for handle in handles]
        if len(order) > 1:
            ax.legend(*best, ncols=1 if shown <= 7 else 2, handlelength=2.6, labelspacing=0.3, loc="best")
        words = swept.replace("_", " ")
        page.ax.set_xlabel(f"{words} [{unit}]" if unit else words)
        called = column_of(result, "title")[0] or name.name
        page.ax.set_ylabel(label(called + (f" [{name.unit}]" if name.unit else ""), 40))
        notes = [f"grey: the other {len(order) - len(CYCLE)} systems"] if len(order) > _ALL else []
        title = f"{label(called, 60)} at several values of {words}"
        page.head(title, describe(result, notes=notes), signer_of(ds, query, result))
    return page.ax


Family = dict[str, Measure]


def _families(ds: xr.Dataset, parameter: str | None) -> list[Family]:
    convention = convention_of(ds)
    metrics = convention.metrics if convention else ()
    try:
        measures = {identity: parse(identity, metrics) for identity in names_of(ds, "metric")}
    except MirflowError as error:
        raise FigureError(f"the parameters of these metrics are not known here: {error}") from error
    families: dict[tuple[object, ...], Family] = {}
    for identity, measure in measures.items():
        names = [one.name for one in measure.metric.parameters]
        swept = parameter or next(iter(names), None)
        if swept in names and isinstance(measure[swept], int | float) and not isinstance(measure[swept], bool):
            rest = tuple((name, measure[name]) for name in names if name != swept)
            families.setdefault((measure.metric.name, rest), {})[identity] = measure
    return list(families.values())


def _same(ds: xr.Dataset, families: list[Family], metric: str, parameter: str | None) -> Family:
    """The family of a metric that is named with its other parameters, or of its bare name if that has only one."""
    convention = convention_of(ds)
    wanted = parse(metric, convention.metrics if convention else ())
    exact, bare = [], []
    for family in families:
        one = next(iter(family.values()))
        if one.metric.name == wanted.metric.name:
            bare.append(family)
            swept = parameter or one.metric.parameters[0].name
            if all(one[name] == wanted[name] for name in one.parameters if name != swept):
                exact.append(family)
    if not bare:
        raise FigureError(f"{metric!r} has no parameter{f' {parameter!r}' if parameter else ''} that is a number")
    return (exact or bare)[0] if len(exact) == 1 or len(bare) == 1 else max(bare, key=len)


_COLOURS = (*CYCLE, YELLOW, GREY)
_BAR = 0.2
_MOST = 60
_SEEN = 5e-4
"""Shares that are smaller for all systems have no place in the legend."""


@figure("stacked bars of the score and of what each kind of errors costs, by system", place=14)
def budget(
    scores: Stored, metric: str | None = None, aggregate: str | None = None, **options: Unpack[FigureOptions]
) -> Axes:
    """What each system scores, and what it loses by each kind of errors; see :func:`mirflow.budget`.

    A share below 0, of errors that hide others, is left of 0. Of a metric of which low values are better, such as an
    error rate, the shares are the parts of the score.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
        A store whose annotations can be read again, or an error budget.
    metric : str or None
        The metric whose loss is split; None: the headline metric of the evaluation.

    Raises
    ------
    MetricError
        If the loss of the metric cannot be split.
    QueryError, UnknownNameError
        As for any query, and if the annotations cannot be found.
    """
    from ..error_budgets import budgets  # which imports all that scores

    group = options.get("group")
    found = budgets(scores, metric, group=group, tracks=options.get("tracks"), where=options.get("where"))
    group, ds = choose_one(found, None, group)
    query = query_of(options, None, aggregate)
    result = aggregate_query(ds, query, group)
    if not 0 < result.sizes["system"] <= _MOST:
        raise FigureError(f"{result.sizes['system']} systems to show; a figure has room for 1 to {_MOST}")
    frame = frame_of(options)
    with sheet(frame, 0.85 + result.sizes["system"] * _BAR + 0.1 * result.sizes["metric"]) as page:
        ax, value = page.ax, values_of(result)[:, 0]
        rising = column_of(result, "orientation")[0] != "lower"
        order = np.argsort(-value[:, 0] if rising else value[:, 0], kind="stable")
        value, names = value[order], [names_of(result, "system")[place] for place in order.tolist()]
        kinds = [kind.replace("_", " ").capitalize() for kind in names_of(result, KIND)]
        titles, rows = [axis_name(result), *kinds[1:]], np.arange(len(names))
        right, left = np.zeros(len(names)), np.zeros(len(names))
        if rising:
            right = np.nan_to_num(value[:, 0])
            ax.barh(rows, right, 0.75, color=PALE, label=label(titles[0]))
        for place in range(1, value.shape[1]):
            share = np.nan_to_num(value[:, place])
            if np.abs(share).max() < _SEEN:
                continue
            start = np.where(share < 0, left, right)
            colour = _COLOURS[(place - 1) % len(_COLOURS)]
            ax.barh(rows, share, 0.75, left=start, color=colour, label=label(titles[place]))
            right, left = right + np.maximum(share, 0), left + np.minimum(share, 0)
        page.name_rows([label(name) for name in names])
        ax.set_xlabel(label(f"{titles[0]}, {aggregate_in_words(column_of(result, 'aggregate')[0])}", 60))
        page.legend_below(max(1, min(4, int(page.inches / 1.15))))
        title = f"{label(axis_name(result), 60)}, and losses by kind of errors"
        page.head(title, describe(result, notes=["shares: Shapley values of mending the kinds"]))
    return page.ax
