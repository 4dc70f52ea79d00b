"""Ranks of the systems by several metrics, as lines from metric to metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.inference import agreement
from ...analysis.inference.sample import settle, signs_of
from ...analysis.queries import headline_metrics
from ...analysis.query_options import Names, as_names
from ...analysis.scores import names_of
from ...errors import FigureError
from ...ragged import Float
from ..captions import metric_title
from ..drawing import PALE
from ..results import column_of, values_of
from .canvas import MOST_LOOKS, Look, Sheet, figure, label, looks, sheet
from .track_scores import FigureOptions, Stored, board_of, describe, frame_of, one_metric, query_of, signer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METRICS, _SYSTEMS, _COLOURED = 24, 60, 7
"""Metrics and systems that a page has room for, and how many of very many systems have a colour."""
_ROW, _TAU = 0.2, 20
"""Inches of a system, and points between metrics below which their agreement is written upwards."""


@figure("ranks of the systems by several metrics, as lines", place=3)
def bump(scores: Stored, metric: Names = None, aggregate: str | None = None, **options: Unpack[FigureOptions]) -> Axes:
    """Show whether the ranking of the systems depends on the metric: a line for each system, the best one on top.

    Parameters
    ----------
    metric : sequence of str or None
        Two or more metrics, from left to right; None: the headline of the evaluation, and the other metrics that its
        field reports.
    aggregate : str or None
        None: the standard one of each metric.
    **options
        As for :func:`mirflow.reports.figures.distributions`, for at most 60 systems.

    Raises
    ------
    FigureError
        For fewer than two metrics or systems, or too many.

    Notes
    -----
    Equal values share the mean of their ranks. The numbers below are Kendall's tau-b between neighbouring metrics.
    """
    asked = as_names(metric)
    group, ds = board_of(scores, asked, options)
    oriented = set(names_of(ds, "metric", np.flatnonzero(ds["orientation"].values != "none").tolist()))
    names = [one for one in headline_metrics(ds) if one in oriented] if asked is None else asked
    chosen = list(dict.fromkeys(one_metric(ds, name) for name in names))
    if not 2 <= len(chosen) <= _METRICS:
        raise FigureError(f"ranks are compared by 2 to {_METRICS} metrics, not {len(chosen)}: name others (metric)")
    query = query_of(options, chosen, aggregate)
    result = aggregate_query(ds, query, group)
    tau = agreement(ds, query, group=group)["tau"].values
    systems = names_of(result, "system")
    if len(systems) > _SYSTEMS:
        raise FigureError(f"a page has room for {_SYSTEMS} systems, not {len(systems)}: choose some (system)")
    # Ranks of values (systems, metrics) of which high ones are better; equal ones share theirs, NaN has none.
    from scipy.stats import rankdata

    rank: Float = rankdata(
        -settle(values_of(result)[:, 0] * signs_of(chosen, column_of(result, "orientation"))), axis=0, nan_policy="omit"
    )
    with sheet(frame_of(options, "page"), 0.95 + _ROW * len(systems)) as page:
        titles = [metric_title(*named) for named in zip(chosen, column_of(result, "title"), strict=True)]
        _draw(page, rank, [label(system) for system in systems], [label(title, 22) for title in titles], tau)
        known = tau[np.triu_indices(len(chosen), 1)]
        known = known[np.isfinite(known)]
        ends = f"{known.min():.2f} to {known.max():.2f}" if known.size else "not defined"
        about = f"Kendall's tau-b between neighbouring metrics below; of every two: {ends}"
        page.head("Ranks by several metrics", f"{describe(result)}. {about}", signer_of(ds, query, result))
    return page.ax


def _draw(page: Sheet, rank: Float, systems: list[str], metrics: list[str], tau: Float) -> None:
    ax, count = page.ax, len(metrics)
    at = np.arange(count)
    order = np.argsort(np.where(np.isnan(rank[:, 0]), np.inf, rank[:, 0]), kind="stable").tolist()
    coloured = len(order) if len(order) <= MOST_LOOKS else _COLOURED
    styles = [*looks(coloured), *[Look(PALE, "o", "-")] * (len(order) - coloured)]
    for row, look in reversed(list(zip(order, styles, strict=True))):
        line: dict[str, Any] = {"color": look.color, "linestyle": look.line, "linewidth": 1.6, "marker": "o"}
        ax.plot(at, rank[row], markersize=5, markeredgecolor="white", markeredgewidth=0.6, **line)
    size = page.type_size(len(order))
    for column, align, offset in ((0, "right", -7), (count - 1, "left", 7)):
        at_ranks: dict[float, list[str]] = {}
        for place, name in sorted(zip(rank[:, column].tolist(), systems, strict=True)):
            if np.isfinite(place):
                at_ranks.setdefault(place, []).append(name)
        for place, names in at_ranks.items():
            ax.annotate(
                ", ".join(names),
                (column, place),
                xytext=(offset, 0),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize=size,
                annotation_clip=False,
            )
    apart = (page.inches - 1.6) * 72 / count
    turned = apart < _TAU
    for column in range(count - 1):
        value = tau[column, column + 1]
        text = "-" if np.isnan(value) else f"{value:.2f}"
        middle: dict[str, Any] = {"xycoords": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": 6.5}
        middle |= {"textcoords": "offset points", "color": "#444444", "rotation": 90 if turned else 0}
        ax.annotate(text, (column + 0.5, 0.0), xytext=(0, 1), **middle)
    ax.set_ylim(len(order) + (1.7 if turned else 0.95), 0.5)
    ax.set_xlim(-0.25, count - 0.75)
    ax.set_yticks([])
    ax.set_xticks(at, metrics, fontsize=7)
    if max(map(len, metrics)) * 7 * 0.6 >= apart:
        angle = next((one for one in (30, 45, 60) if apart * np.sin(np.radians(one)) > 9), 90)
        for tick in ax.get_xticklabels():
            tick.set(rotation=angle, ha="right", va="center_baseline", rotation_mode="anchor")
    ax.grid(axis="x")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
