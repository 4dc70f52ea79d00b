"""Distributions of scores over the tracks, as points and as histograms, and of judgements within categories.

Histograms can have a baseline as an outline. The fine judgements of graders are box plots within each broad category.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_scores, select
from ...analysis.inference.noninferiority import baselines_of
from ...analysis.judgements import Judgements, all_judged, fine_within_broad
from ...analysis.scores import names_of
from ...analysis.selection import counted_scores
from ...annotations.collection import Collection
from ...errors import FigureError, counted
from ...metrics.similarity import BROAD
from ...ragged import Float
from ..drawing import BLUE, ORANGE, RED, SKY
from ..results import column_of, values_of
from ..tables import aggregate_in_words
from .canvas import Frame, Sheet, Width, figure, label, sheet
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
    scores_of,
    signer_of,
)

if TYPE_CHECKING:
    import xarray as xr
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
    high = 0.32 if len(order) <= 15 else 0.18
    with sheet(frame_of(options), 0.45 + high * len(order)) as page:
        value = values_of(result)[:, 0, 0].tolist()
        for row, system in enumerate(order):
            _draw_row(page.ax, score[system], value[system], row, style, score.size > _MANY)
        # Name the axes, and write what the figure shows.
        ax, n, systems = page.ax, values_of(result, "n")[:, 0, 0], names_of(result, "system")
        differ = len(set(n.tolist())) > 1
        page.name_rows([label(systems[row]) + (f" ({n[row]})" if differ else "") for row in order], top=-0.55)
        ax.set_xlabel(label(axis_name(result), 60))
        ax.spines["left"].set_visible(False)
        shape, kind = _SHAPES[style], aggregate_in_words(column_of(result, "aggregate")[0])
        page.head(
            f"{label(axis_name(result), 60)} of each track",
            f"{describe(result, notes=[*cut, *infinite(score)])}. Points: tracks; {shape}; diamond: {kind}",
            signed,
        )
    return page.ax


def _draw_row(ax: Axes, score: Float, value: float, row: int, style: str, many: bool) -> None:
    """One system: a shape above the line, the tracks below it, and marks on it."""
    score = score[np.isfinite(score)]
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
            ax.fill_between(at, row, row - 0.42 * density, color=SKY, alpha=0.55, linewidth=0)
            ax.hlines(row, first, third, color="black", linewidth=1.4)
            ax.vlines(middle, row - 0.12, row + 0.08, color="black", linewidth=1.2)
        else:
            ax.barh(row - 0.22, third - first, 0.26, first, color=SKY, alpha=0.55, edgecolor=BLUE, linewidth=0.5)
            reach = 1.5 * (third - first)
            low, high = score[score >= first - reach].min(), score[score <= third + reach].max()
            ax.hlines([row - 0.22] * 2, [low, third], [first, high], color=BLUE, linewidth=0.7)
            ax.vlines(middle, row - 0.35, row - 0.09, color="black", linewidth=1.2)
        area = 5.0 if len(score) < 50 else 1.6 if len(score) < 500 else 0.7
        # Neighbours are apart across their row, and the same each time.
        rank = np.empty(len(score), dtype=np.int64)
        rank[np.argsort(score, kind="stable")] = np.arange(len(score))
        y = row + 0.13 + 0.27 * ((rank * 0.6180339887498949) % 1.0)
        ax.scatter(score, y, s=area, color=BLUE, alpha=0.6 if len(score) < 500 else 0.3, linewidths=0, rasterized=many)
    if np.isfinite(value):
        ax.plot(value, row, marker="D", markersize=3.8, color=RED, markeredgecolor="white", markeredgewidth=0.5)


_PANELS, _COLUMNS, _PANEL = 24, 4, 1.05
"""Panels that a page has room for, panels in a row of a page, and inches of each."""


@figure("a histogram of the tracks for each system, perhaps before and after", place=3)
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
    with sheet(frame, 0.35 + _PANEL * rows) as page:
        # Edges of the bins: from 0 to 1 for ratios, else from the smallest to the largest score.
        finite = score[np.isfinite(score)]
        low, high = float(finite.min()), float(finite.max())
        if not column_of(result, "unit")[0] and low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        if not high > low:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1)
        before = {row: systems.index(pairs[systems[row]]) for row in order if pairs}
        panels = _draw_panels(page, result, score, order, before, edges.tolist(), columns)
        title, kind = label(axis_name(result), 60), aggregate_in_words(column_of(result, "aggregate")[0])
        if len(panels) > 1:  # the axes have one name for all panels
            page.figure.supxlabel(title, fontsize=7.5)
            page.figure.supylabel("tracks", fontsize=7.5)
        else:
            page.ax.set_xlabel(title)
            page.ax.set_ylabel("tracks")
        names = list(dict.fromkeys(pairs.values()))
        outline = f"; outline: {label(names[0] if len(names) == 1 else 'the baseline of each')}" if pairs else ""
        about = (
            f"{describe(result, notes=[*cut, *infinite(score)])}. Bars: numbers of tracks{outline}; diamonds: {kind}"
        )
        page.head(f"{title}: histograms of the tracks", about, signer_of(ds, query, result))
    return page.ax


def _draw_panels(
    page: Sheet,
    result: xr.Dataset,
    score: Float,
    order: list[int],
    before: Mapping[int, int],
    edges: list[float],
    columns: int,
) -> list[Axes]:
    """A panel for each system: bars, perhaps an outline of the one before, and marks of both aggregates."""
    panels, systems, value = [page.ax], names_of(result, "system"), values_of(result)[:, 0, 0]
    if page.frame.ax is None:
        grid = page.figure.add_gridspec(-(-len(order) // columns), columns)
        page.ax.set_subplotspec(grid[0, 0])
        panels += [page.figure.add_subplot(grid[divmod(place, columns)]) for place in range(1, len(order))]
    known = [values[np.isfinite(values)] for values in score]
    look: dict[str, Any] = {"markersize": 4, "markeredgecolor": "white", "markeredgewidth": 0.5, "clip_on": False}
    for ax, row in zip(panels, order, strict=True):
        ax.hist(known[row], edges, color=SKY, alpha=0.7, edgecolor=BLUE, linewidth=0.4)
        if row in before:
            ax.hist(known[before[row]], edges, histtype="step", color=ORANGE, linewidth=1.2)
        ax.set_xlim(edges[0], edges[-1])
        ax.grid(axis="y")
        # The aggregates on the axis, and as numbers in the corner where most panels are empty.
        shown = []
        for place, colour in ((before.get(row), ORANGE), (row, RED)):
            if place is not None and np.isfinite(value[place]):
                ax.plot(value[place], 0, "D", color=colour, zorder=5, **look)
                shown.append(numeral(result, float(value[place])))
        left = np.isfinite(value[row]) and value[row] > float(np.mean(ax.get_xlim()))
        corner: dict[str, Any] = {"transform": ax.transAxes, "va": "top", "fontsize": 6.5, "color": "#444444"}
        ax.text(0.03 if left else 0.97, 0.95, " from ".join(reversed(shown)), ha="left" if left else "right", **corner)
        ax.set_title(label(systems[row]), fontsize=7.5, loc="left", pad=2)
    highest = max(ax.get_ylim()[1] for ax in panels)
    for place, ax in enumerate(panels):
        ax.set_ylim(0, highest)
        ax.tick_params(labelbottom=place + columns >= len(order), labelleft=place % columns == 0)
    return panels


Several = Mapping[str, Judgements]
"""The judgements of several campaigns, by their names."""
_ROW, _GAP = 0.2, 0.9
"""Inches of a box, and what lies between two campaigns as a share of it."""


class Placing(TypedDict, total=False):
    """Axes and size of a figure."""

    ax: Axes | None
    width: Width
    height: float | None
    caption: bool


def graders(judgements: Judgements | Several, **placing: Unpack[Placing]) -> Axes:
    """The fine judgements within each broad category as box plots: figure 2 of the MIREX chapter.

    Parameters
    ----------
    judgements : Collection, path, or mapping of str to these
        As for :func:`mirflow.analysis.judgements.fine_within_broad`; of several campaigns, each under its name.
    **placing
        ``ax``, ``width``, ``height``, ``caption``: see :func:`mirflow.reports.figures.distributions`.

    Returns
    -------
    matplotlib.axes.Axes
        Box: quartiles and median; whiskers to the farthest judgement within 1.5 interquartile ranges of it; a cross
        for each judgement beyond; a diamond for the mean.

    Raises
    ------
    AnnotationError
        Without a judgement that has both parts, and for a grader who judged a candidate twice.
    FigureError
        If there is nothing to show.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    figure 2.
    """
    single = isinstance(judgements, Collection) or not isinstance(judgements, Mapping)
    several: Several = {"": judgements} if single else judgements  # type: ignore[dict-item, assignment]
    campaigns = []
    for name, judgements in several.items():
        judged = all_judged(judgements).once()
        known = ~np.isnan(judged.fine)
        fine = [judged.fine[known & (judged.level == level)] for level in range(len(BROAD))]
        campaigns.append((name, fine_within_broad(judgements), fine))
    if not campaigns:
        raise FigureError("no judgements to show")
    several_named = len(campaigns) > 1
    rows = len(BROAD) * len(campaigns) + _GAP * (len(campaigns) - 1)
    with sheet(Frame(**placing), 0.5 + _ROW * rows + (_ROW * _GAP if several_named else 0)) as page:
        ax = page.ax
        ticks: dict[float, str] = {}
        for number, (title, boxes, parts) in enumerate(campaigns):
            first = number * (len(BROAD) + _GAP)
            if several_named:
                name = label(title, max(6, min(60, int((page.inches * 72 - 50) / (0.64 * 7)))))
                paper: dict[str, Any] = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1}}
                paper |= {"transform": ax.get_yaxis_transform(), "fontweight": "bold", "fontsize": 7, "va": "center"}
                ax.text(0, first - 0.5 - _GAP / 2, name, **paper)
            for row, (broad, fine) in enumerate(zip(BROAD, parts, strict=True)):
                at = first + row
                ticks[at] = f"{broad} ({len(fine)})"
                if not len(fine):
                    continue
                ends = ("whisker_low", "q1", "median", "q3", "whisker_high", "mean")
                low, quarter, middle, third, high, mean = (float(boxes.sel(broad=broad)[end]) for end in ends)
                ax.barh(at, third - quarter, 0.56, quarter, color=SKY, alpha=0.55, edgecolor=BLUE, linewidth=0.5)
                ax.hlines([at] * 2, [low, third], [quarter, high], color=BLUE, linewidth=0.7)
                ax.vlines([low, high], at - 0.14, at + 0.14, color=BLUE, linewidth=0.7)
                ax.vlines(middle, at - 0.28, at + 0.28, color="black", linewidth=1.2)
                beyond = fine[(fine < low) | (fine > high)]
                ax.scatter(beyond, np.full(len(beyond), at), s=9, color=BLUE, marker="+", linewidths=0.6)
                ax.plot(mean, at, marker="D", markersize=3.4, color=RED, markeredgecolor="white", markeredgewidth=0.5)
        ax.set_yticks(list(ticks), list(ticks.values()))
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(max(ticks) + 0.5, -0.5 - (_GAP if several_named else 0))
        ax.set_xlabel("fine judgement")
        ax.grid(axis="x")
        ax.spines["left"].set_visible(False)
        total = sum(int(boxes["n"].sum()) for _, boxes, _ in campaigns)
        page.head(
            "Fine judgements within broad categories",
            f"{counted(total, 'judgement')}, in parentheses those of each category. Box: quartiles and median; "
            "whiskers: to 1.5 of its length; crosses: judgements beyond; diamond: mean",
        )
    return page.ax
