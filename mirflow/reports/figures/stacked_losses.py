"""Stacked bars of error budgets: the score of each system, and its losses by kind of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.queries import choose_one
from ...analysis.scores import names_of
from ...errors import FigureError
from ...metrics.edits import KIND
from ..drawing import CYCLE, GREY, PALE, YELLOW
from ..results import column_of, values_of
from ..tables import aggregate_in_words
from .canvas import figure, label, sheet
from .track_scores import FigureOptions, Stored, axis_name, describe, frame_of, query_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (*CYCLE, YELLOW, GREY)
_BAR = 0.2
_MOST = 60
_SEEN = 5e-4
"""Shares that are smaller for all systems have no place in the legend."""


@figure("stacked bars of the score and of what each kind of errors costs, by system", place=9)
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
        titles, places = [axis_name(result), *kinds[1:]], np.arange(len(names))
        right, left = np.zeros(len(names)), np.zeros(len(names))
        if rising:
            right = np.nan_to_num(value[:, 0])
            ax.barh(places, right, 0.75, color=PALE, label=label(titles[0]))
        for place in range(1, value.shape[1]):
            share = np.nan_to_num(value[:, place])
            if np.abs(share).max() < _SEEN:
                continue
            start = np.where(share < 0, left, right)
            ax.barh(
                places, share, 0.75, left=start, color=_COLOURS[(place - 1) % len(_COLOURS)], label=label(titles[place])
            )
            right, left = right + np.maximum(share, 0), left + np.minimum(share, 0)
        ax.set_yticks(places, [label(name) for name in names], fontsize=page.type_size(len(names)))
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(axis="x")
        ax.set_xlabel(label(f"{titles[0]}, {aggregate_in_words(column_of(result, 'aggregate')[0])}", 60))
        columns = max(1, min(4, int(page.inches / 1.15)))
        if page.frame.ax is None:
            page.figure.legend(loc="outside lower center", ncols=columns)
        else:
            ax.legend()
        title = f"{label(axis_name(result), 60)}, and losses by kind of errors"
        page.head(title, describe(result, notes=["shares: Shapley values of mending the kinds"]))
    return page.ax
