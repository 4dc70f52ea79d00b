"""Histograms of the scores of tracks, a panel for each system, perhaps over those of a baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_scores, select
from ...analysis.inference.noninferiority import baselines_of
from ...analysis.scores import names_of
from ...analysis.selection import counted_scores
from ...errors import FigureError
from ...ragged import Float
from ..drawing import BLUE, ORANGE, RED, SKY
from ..results import column_of, values_of
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
    numeral,
    one_metric,
    query_of,
    rank_systems,
    signer_of,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_PANELS, _COLUMNS, _HIGH = 24, 4, 1.05
"""Panels that a page has room for, panels in a row of a page, and inches of each."""


@figure("a histogram of the tracks for each system, perhaps before and after", place=2)
def histogram(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    baseline: str | None = None,
    bins: int = 20,
    **options: Unpack[FigureOptions],
) -> Axes:
    """How many tracks have which score, a panel for each system, the best one first.

    Parameters
    ----------
    aggregate : str or None
        What is marked of each system and orders the systems; None: the metric's standard one.
    baseline : str or None
        A system, whose histogram is the outline in every other panel; or the label of one of two stores, whose systems
        are the outlines for those of the same names.
    bins : int
        Number of bins, 2 to 200, which all panels share.
    **options
        As for :func:`mirflow.reports.figures.distributions`. Of more than 24 systems the best are shown. On given axes
        (``ax``) one system is drawn.

    Returns
    -------
    matplotlib.axes.Axes
        Of the first panel.
    """
    if not 2 <= bins <= 200:
        raise FigureError(f"a histogram has 2 to 200 bins, not {bins}")
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate)
    pairs = {} if baseline is None else dict(baselines_of(ds, query, baseline))
    if pairs:
        query = replace(query, system=list(dict.fromkeys([*pairs, *pairs.values()])))
    part = select(ds, query)
    result, systems = aggregate_scores(part, None, group), names_of(part, "system")
    score = counted_scores(part)[..., 0]
    order = [row for row in rank_systems(result) if not pairs or systems[row] in pairs]
    cut = [f"the best {_PANELS} of {len(order)} systems"] if len(order) > _PANELS else []
    frame = frame_of(options, "page")
    order = order[:_PANELS]
    if not order or not np.isfinite(score).any():
        raise FigureError("no systems or no scores to show")
    if frame.ax is not None and len(order) > 1:
        raise FigureError(f"each of {len(order)} systems has a panel; to draw on given axes, choose one (system)")
    columns = min(len(order), max(1, round(_COLUMNS * frame.inches / 7.16)))
    rows = -(-len(order) // columns)
    with sheet(frame, 0.35 + _HIGH * rows) as page:
        # Edges of the bins: from 0 to 1 for ratios, else from the smallest to the largest score.
        finite = score[np.isfinite(score)]
        low, high = float(finite.min()), float(finite.max())
        if not column_of(result, "unit")[0] and low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        if not high > low:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1)
        panels = _panels(page, rows, columns, len(order))
        for ax, row in zip(panels, order, strict=True):
            before = systems.index(pairs[systems[row]]) if pairs else None
            own = score[row][np.isfinite(score[row])]
            ax.hist(own, edges.tolist(), color=SKY, alpha=0.7, edgecolor=BLUE, linewidth=0.4)
            if before is not None:
                other = score[before][np.isfinite(score[before])]
                ax.hist(other, edges.tolist(), histtype="step", color=ORANGE, linewidth=1.2)
            ax.set_xlim(edges[0], edges[-1])
            ax.grid(axis="y")
            _mark(ax, result, row, before)
            ax.set_title(label(systems[row]), fontsize=7.5, loc="left", pad=2)
        highest = max(ax.get_ylim()[1] for ax in panels)
        for place, ax in enumerate(panels):
            ax.set_ylim(0, highest)
            ax.tick_params(labelbottom=place + columns >= len(order), labelleft=place % columns == 0)
        _name(page, panels, label(axis_name(result), 60))
        title = f"{label(axis_name(result), 60)}: histograms of the tracks"
        page.head(title, _describe(result, pairs, score, cut), signer_of(ds, query, result))
    return page.ax


def _panels(page: Sheet, rows: int, columns: int, count: int) -> list[Axes]:
    if page.frame.ax is not None:
        return [page.ax]
    grid = page.figure.add_gridspec(rows, columns)
    page.ax.set_subplotspec(grid[0, 0])
    return [page.ax, *(page.figure.add_subplot(grid[divmod(place, columns)]) for place in range(1, count))]


def _mark(ax: Axes, result: xr.Dataset, row: int, before: int | None) -> None:
    """Mark the aggregates on the axis, and write them in the corner where most panels are empty."""
    value = values_of(result)[:, 0, 0]
    shown = []
    look: dict[str, Any] = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.5, "clip_on": False}
    for place, colour in ((before, ORANGE), (row, RED)):
        if place is not None and np.isfinite(value[place]):
            ax.plot(value[place], 0, "D", color=colour, zorder=5, **look)
            shown.append(numeral(result, float(value[place])))
    left = np.isfinite(value[row]) and value[row] > float(np.mean(ax.get_xlim()))
    align: Literal["left", "right"] = "left" if left else "right"
    ax.text(
        0.03 if left else 0.97,
        0.95,
        " from ".join(reversed(shown)),
        transform=ax.transAxes,
        ha=align,
        va="top",
        fontsize=6.5,
        color="#444444",
    )


def _name(page: Sheet, panels: list[Axes], title: str) -> None:
    """Name the axes once for all panels."""
    if page.frame.ax is None and len(panels) > 1:
        page.figure.supxlabel(title, fontsize=7.5)
        page.figure.supylabel("tracks", fontsize=7.5)
        return
    panels[0].set_xlabel(title)
    panels[0].set_ylabel("tracks")


def _describe(result: xr.Dataset, pairs: dict[str, str], score: Float, cut: list[str]) -> str:
    kind = aggregate_in_words(column_of(result, "aggregate")[0])
    names = list(dict.fromkeys(pairs.values()))
    whose = names[0] if len(names) == 1 else "the baseline of each"
    outline = f"; outline: {label(whose)}" if pairs else ""
    notes = [*cut, *infinite(score)]
    return f"{describe(result, notes=notes)}. Bars: numbers of tracks{outline}; diamonds: {kind}"
