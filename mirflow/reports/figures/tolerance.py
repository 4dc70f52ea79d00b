"""Curves over a parameter that was swept, such as the tolerance of a hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.lookup import convention_of
from ...analysis.scores import names_of
from ...errors import FigureError, MirflowError
from ...metrics.measures import Measure, parse
from ..drawing import CYCLE, PALE
from ..results import column_of, values_of
from .canvas import Look, figure, label, looks, sheet
from .track_scores import FigureOptions, Stored, board_of, describe, frame_of, query_of, rank_systems, signer_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_ALL = 14
"""Number of systems with colours and markers that differ; of more, only the best are drawn in colour."""


@figure("a metric over a parameter that was swept", place=5)
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
            ax.plot(
                at,
                value[system],
                color=look.color,
                linestyle=look.line,
                marker=look.marker if marks else "",
                linewidth=1.2 if place < shown else 0.7,
                label=label(systems[system]),
                zorder=2 if place < shown else 1,
            )
        ax.grid()
        handles = ax.get_legend_handles_labels()
        best = [list(reversed(handle))[:shown] for handle in handles]
        if len(order) > 1:
            columns = 1 if shown <= 7 else 2
            ax.legend(*best, ncols=columns, handlelength=2.6, labelspacing=0.3, loc="best")
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
