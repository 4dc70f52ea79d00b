"""Distributions of each system's scores over the tracks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from ...analysis.scores import names_of
from ...errors import FigureError
from ...ragged import Float
from ..drawing import BLUE, RED, SKY
from ..results import column_of, values_of
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, axis_name, describe, frame_of, infinite, rank_systems, scores_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHAPES = {
    "violin": "shape: density; bar and tick: quartiles and median",
    "box": "box: quartiles and median, whiskers to 1.5 of its length",
}
_ROWS = 60
"""Systems that a page has room for."""
_MANY = 3000
"""Points of one figure beyond which they become a picture in pdf and svg, which would be slow to open otherwise."""


@figure("every track, a row for each system", place=1)
def distributions(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    style: Literal["violin", "box"] = "violin",
    **options: Unpack[FigureOptions],
) -> Axes:
    """Every track as a point, a row for each system, the best system on top.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
        A result store, or one evaluation of it.
    aggregate : str or None
        What is marked of each system and orders the systems; None: the metric's standard one.
    style : {"violin", "box"}
        The shape above the points: the estimated density, or a box from the first to the third quartile with whiskers
        to the last score within 1.5 times its length. Both mark the quartiles and the median.
    **options
        ``group``, ``system``, ``tracks``, ``where``, ``missing``, ``undefined`` as in a query; ``ax``, ``width``,
        ``height``, ``caption``, ``venue`` (whose columns: ieee, ismir, tismir) of the figure. Of more than 60 systems
        the best are shown.
    """
    if style not in _SHAPES:
        raise FigureError(f"not a style of distributions: {style!r}; say violin or box")
    result, _, score, signed = scores_of(scores, metric, aggregate, options)
    every = rank_systems(result)
    order = every[:_ROWS]
    cut = [f"the best {_ROWS} of {len(every)} systems"] if len(every) > _ROWS else []
    row = 0.32 if len(order) <= 15 else 0.18
    with sheet(frame_of(options), 0.45 + row * len(order)) as page:
        value = values_of(result)[:, 0, 0].tolist()
        for index, system in enumerate(order):
            _draw_row(page, score[system], value[system], index, style, score.size > _MANY)
        # Name the axes, and write what the figure shows.
        ax, n, systems = page.ax, values_of(result, "n")[:, 0, 0], names_of(result, "system")
        differ = len(set(n.tolist())) > 1
        names = [label(systems[place]) + (f" ({n[place]})" if differ else "") for place in order]
        ax.set_yticks(range(len(order)), names, fontsize=page.type_size(len(order)))
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(order) - 0.5, -0.55)
        ax.set_xlabel(label(axis_name(result), 60))
        ax.grid(axis="x")
        ax.spines["left"].set_visible(False)
        shape, kind = _SHAPES[style], aggregate_in_words(column_of(result, "aggregate")[0])
        page.head(
            f"{label(axis_name(result), 60)} of each track",
            f"{describe(result, notes=[*cut, *infinite(score)])}. Points: tracks; {shape}; diamond: {kind}",
            signed,
        )
    return page.ax


def _draw_row(page: Sheet, score: Float, value: float, place: int, style: str, many: bool) -> None:
    """One system: a shape above the line, the tracks below it, and marks on it."""
    ax, score = page.ax, score[np.isfinite(score)]
    if len(score):
        middle = float(np.median(score))
        first, third = np.quantile(score, (0.25, 0.75))
        if style == "violin":
            from scipy.stats import gaussian_kde

            low, high = score.min(), score.max()
            at, density = np.array([low, high]), np.ones(2)  # as shares of the largest one
            if high - low > 1e-9 * max(1.0, abs(high)):
                at = np.linspace(low, high, 160)
                density = np.asarray(gaussian_kde(score)(at), dtype=np.float64)
                density = density / density.max()
            ax.fill_between(at, place, place - 0.42 * density, color=SKY, alpha=0.55, linewidth=0)
            ax.hlines(place, first, third, color="black", linewidth=1.4)
            ax.vlines(middle, place - 0.12, place + 0.08, color="black", linewidth=1.2)
        else:
            ax.barh(place - 0.22, third - first, 0.26, first, color=SKY, alpha=0.55, edgecolor=BLUE, linewidth=0.5)
            reach = 1.5 * (third - first)
            low, high = score[score >= first - reach].min(), score[score <= third + reach].max()
            ax.hlines([place - 0.22] * 2, [low, third], [first, high], color=BLUE, linewidth=0.7)
            ax.vlines(middle, place - 0.35, place - 0.09, color="black", linewidth=1.2)
        area = 5.0 if len(score) < 50 else 1.6 if len(score) < 500 else 0.7
        # Neighbours are apart across their row, and the same each time.
        rank = np.empty(len(score), dtype=np.int64)
        rank[np.argsort(score, kind="stable")] = np.arange(len(score))
        y = place + 0.13 + 0.27 * ((rank * 0.6180339887498949) % 1.0)
        ax.scatter(score, y, s=area, color=BLUE, alpha=0.6 if len(score) < 500 else 0.3, linewidths=0, rasterized=many)
    if np.isfinite(value):
        ax.plot(value, place, marker="D", markersize=3.8, color=RED, markeredgecolor="white", markeredgewidth=0.5)
