"""Rankings of systems: which differ, which ranks a test does not exclude, and ranks by several metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_query
from ...analysis.inference import agreement, compare, friedman
from ...analysis.inference.rank_tests import ranks as ranks_of
from ...analysis.inference.sample import settle, signs_of
from ...analysis.queries import headline_metrics
from ...analysis.query_options import DEFAULT_LEVEL, MISSING, Names, Query, as_names
from ...analysis.scores import names_of
from ...errors import FigureError, UnknownNameError, counted
from ...ragged import Float
from ..captions import letters_note, metric_title, origin_in_words, ranks_note, title_in
from ..drawing import PALE
from ..layout import together
from ..results import column_of, values_of
from ..tables import aggregate_in_words
from .canvas import MOST_LOOKS, Look, Sheet, figure, label, looks, sheet
from .track_scores import FigureOptions, Stored, board_of, describe, frame_of, infinite, one_metric, query_of, signer_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_LONG = 10
"""Letters of a name up to which a column is wide enough."""
_NAME_ROW, _BAR = 0.155, 0.075
"""Inches between the names of systems, and between bars."""
TESTS = ("auto", "friedman")


@figure("systems on an axis, with bars over those that are not told apart", place=2)
def critical_difference(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    test: str = "auto",
    unit: str = "track",
    level: float = DEFAULT_LEVEL,
    **options: Unpack[FigureOptions],
) -> Axes:
    """Show the systems along an axis, the best on the left; a bar joins systems that do not differ significantly.

    Parameters
    ----------
    test : {"auto", "friedman"}
        ``auto``: the aggregates of the systems, and the test of :func:`mirflow.analysis.inference.compare`, whose
        letters a comparison, a table and the report have. ``friedman``: mean ranks within units, with Tukey and
        Kramer's critical difference.
    unit : str
        What counts once: ``track``, or a coordinate of the tracks such as ``genre``, within whose values tracks are
        put together by the aggregate. For values of classes and tags, which only ranks can compare, also their dim.
    level : float
        Of the simultaneous comparisons.

    Raises
    ------
    FigureError
        If no system, or nothing that all of them have, can be compared.
    QueryError, UnknownNameError
        As for :func:`mirflow.analysis.inference.compare` and :func:`mirflow.analysis.inference.friedman`.

    References
    ----------
    Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, figure 1.
    """
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate)
    shown = (_ranked if test == "friedman" else _compared)(ds, query, unit, level, group)
    # The bars, and how far below the axis each has room: bars at one height do not touch.
    at = -shown.place if shown.reverse else shown.place
    gap = 0.02 * (np.ptp(at[shown.order]) if shown.reverse or np.isnan(shown.difference) else len(at))
    letters = [re.findall(r"\(\d+\)|.", text) for text in shown.ds["letters"].values[:, 0].tolist()]
    every = dict.fromkeys(letter for system in shown.order for letter in letters[system])
    groups = [[system for system in shown.order if letter in letters[system]] for letter in every]
    ends: list[float] = []
    levels = []
    for members in groups:
        if len(members) < 2:
            continue
        level = next((height for height, end in enumerate(ends) if end < at[members].min() - gap), len(ends))
        ends[level : level + 1] = [at[members].max()]
        levels.append((members, level))
    systems = shown.ds["system"].values.tolist()
    rows = (len(systems) + 1) // 2
    bars = _BAR * len(ends)
    width = "page" if max(map(len, systems)) > _LONG else "column"
    # Above the axis stand its numbers and its title, and the critical difference of ranks.
    above = 0.5 if np.isfinite(shown.difference) else 0.34
    with sheet(frame_of(options, width), above + 0.12 + bars + _NAME_ROW * rows + 0.06) as page:
        passing = _draw_axis(page, shown, levels, bars, above)
        dots = "; dots show which systems a bar joins where it passes by others" if passing else ""
        note = letters_note(shown.ds, 0).replace("systems that share a letter", "bars join systems that")
        note = note.replace("no letters", "no bars")
        about = f"{shown.about}. {note[:1].upper()}{note[1:]}{dots}"
        page.head(shown.title, about, signer_of(ds, query, group=group))
    return page.ax


@dataclass(frozen=True)
class _Shown:
    """A comparison of systems, and their places on the axis."""

    ds: xr.Dataset
    """The comparison."""
    place: Float
    """float64 (systems,). The best on the left: 1 and more are ranks, and values of which large ones are better run the
    other way."""
    order: list[int]
    """The systems from the best to the worst; those without a value are not among them."""
    difference: float
    """From which on mean ranks are told apart; NaN for values."""
    reverse: bool
    """Whether the axis runs from large to small."""
    decimals: int
    title: str
    about: str


def _ranked(ds: xr.Dataset, query: Query, unit: str, level: float, group: str) -> _Shown:
    ds = friedman(ds, query, unit=unit, level=level, group=group)
    mean = ds["mean_rank"].values[:, 0]
    if np.isnan(mean).any():
        raise FigureError(f"nothing to rank: no {unit} has a score of every system")
    order = np.argsort(mean, kind="stable").tolist()
    title = f"Mean ranks by {label(title_in(ds), 60)}"
    critical = ds["critical_difference"].item()
    n, p = ds["n"].item(), ds["p"].item()
    units = counted(n, "track") if unit == "track" else f"{n} values of {unit}"
    chance = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    test = f"Friedman: chi-square({ds['dof'].item()}) = {ds['statistic'].item():.2f}, {chance}"
    if len(order) == 2:
        test = f"Exact sign test: {chance}"
    kind = "" if unit == "track" else f" ({aggregate_in_words(ds['aggregate'].item())} within them)"
    about = f"{origin_in_words(ds.attrs)}; ranks within {units} that all systems have{kind}. {test}"
    return _Shown(ds, mean, order, critical, False, 2, title, about)


def _compared(ds: xr.Dataset, query: Query, unit: str, level: float, group: str) -> _Shown:
    ds = compare(ds, query, unit=unit, level=level, group=group, sizes=False, all_pairs=True)
    if ds.sizes["metric"] > 1:
        dims = ds.attrs.get("along", "")
        raise FigureError(
            f"this figure shows one value per system, and the metric has {ds.sizes['metric']} along {dims}: "
            f"choose one or add them up (over, --over {dims.partition(',')[0]}=LABEL), "
            "or rank systems on each (test friedman with unit)"
        )
    value, higher = ds["value"].values[:, 0], ds["orientation"].item() != "lower"
    ranked = np.argsort(-value if higher else value, kind="stable").tolist()
    order = [place for place in ranked if np.isfinite(value[place])]
    if not order:
        why = f"no {unit} has a score of every system" if np.isnan(value).all() else "all are infinite"
        raise FigureError(f"nothing to compare: {why}")
    decimals = int(np.clip(3 - np.floor(np.log10(max(np.ptp(value[order]), 1e-9))), 2, 4)) - 1
    title = f"{label(title_in(ds), 60)}, {aggregate_in_words(ds['aggregate'].item())}"
    kind = aggregate_in_words(ds["aggregate"].item())
    share = f"{kind} over the tracks" if unit == "track" else f"{kind} within each {unit}"
    notes = [share, MISSING[ds.attrs["missing"]], *infinite(value, "infinite value")]
    about = f"{origin_in_words(ds.attrs)}; {'; '.join(notes)}"
    return _Shown(ds, value, order, np.nan, higher, decimals, title, about)


def _draw_axis(page: Sheet, shown: _Shown, levels: list[tuple[list[int], int]], bars: float, above: float) -> bool:
    """Draw the axis, the bars and the names; return whether a bar passes by systems that are not in its set."""
    ax, place, order, passing = page.ax, shown.place, shown.order, False
    low, high, ranks = float(place[order].min()), float(place[order].max()), np.isfinite(shown.difference)
    # The numbers on the axis, and its ends: of ranks whole ones, of figures steps of 1, 2 or 5.
    if ranks:
        low, high = float(np.floor(low)), float(max(np.ceil(high), np.floor(low) + 1))
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if (high - low) / step <= 10)
        ticks = np.arange(low, high + 1).tolist()
    else:
        wide = (high - low) or max(abs(high), 1.0) * 0.1
        power = 10.0 ** np.floor(np.log10(wide / 6))
        step = power * next(size for size in (1, 2, 5, 10) if wide / (power * size) <= 6)
        low, high = (
            float(step * np.floor(low / step)),
            float(step * max(np.ceil(high / step), np.floor(low / step) + 1)),
        )
        ticks = (step * np.arange(round(low / step), round(high / step) + 1)).tolist()
    room, reach = 0.04 * (high - low), 0.006 * (high - low)
    ax.plot([low, high], [0, 0], color="black", linewidth=0.8)
    ax.text((low + high) / 2, -0.2, shown.title, ha="center", va="bottom", fontsize=7)
    for tick in ticks:
        tall = not ranks or tick % step == 0
        ax.plot([tick, tick], [0, -0.06 if tall else -0.03], color="black", linewidth=0.6)
        if tall:
            ax.text(tick, -0.08, f"{tick:.0f}" if ranks else f"{tick:.6g}", ha="center", va="bottom", fontsize=7)
    if ranks:  # how far they have to be apart
        end = min(low + shown.difference, high)
        ax.plot([low, end], [-0.34, -0.34], color="black", linewidth=0.8)
        # Longer than the axis, it has no end on the right.
        for x in (low, end)[: 2 if end == low + shown.difference else 1]:
            ax.plot([x, x], [-0.31, -0.37], color="black", linewidth=0.8)
        text = f"critical difference {shown.difference:.3f}"
        ax.text((low + end) / 2, -0.38, text, ha="center", va="bottom", fontsize=6.5)
    for members, level in levels:
        at = 0.1 + _BAR * level
        ends = [place[members].min() - reach, place[members].max() + reach]
        ax.plot(ends, [at, at], color="black", linewidth=2.2, solid_capstyle="butt")
        ranked = [order.index(member) for member in members]
        if max(ranked) - min(ranked) != len(members) - 1:  # dots say which of the systems below the bar are in its set
            passing = True
            ax.plot(place[members], [at] * len(members), "o", color="black", markersize=3.2)
    half = (len(order) + 1) // 2
    small = 7 if len(order) <= 20 else 6
    # Names may take a quarter of the width on either side, the numbers beside them included.
    most = min(24, max(8, int(page.inches * 72 / 4 / (0.56 * small)) - 6))
    left_edge, right_edge = (high + room, low - room) if shown.reverse else (low - room, high + room)
    for rank, system in enumerate(order):
        left = rank < half
        row = rank if left else len(order) - 1 - rank
        at = 0.12 + bars + _NAME_ROW * (row + 0.5)
        edge = left_edge if left else right_edge
        ax.plot([place[system], place[system], edge], [0, at, at], color="black", linewidth=0.6, clip_on=False)
        text = label(shown.ds["system"].values[system], most)
        number = f"{place[system]:.{shown.decimals}f}"
        both = f"{text}  {number} " if left else f" {number}  {text}"
        ax.text(edge, at, both, ha="right" if left else "left", va="center", fontsize=small)
    ax.set_xlim(left_edge, right_edge)
    ax.set_ylim(0.12 + bars + _NAME_ROW * half, -above)
    ax.set_axis_off()
    return passing


_RANK_ROW = 0.17
"""Inches of a system."""
_MATRIX, _NUMBERS = 30, 12
"""Systems up to which there is a matrix, and up to which it has numbers."""


@figure("intervals of the systems' ranks, and chances of being better", place=4)
def ranks(
    scores: Stored,
    metric: str | None = None,
    aggregate: str | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    **options: Unpack[FigureOptions],
) -> Axes:
    """Show the ranks of each system that a test does not exclude, beside the chances of being better than others.

    Parameters
    ----------
    level, cluster, replicates, rng
        As for :func:`mirflow.analysis.inference.ranks`.
    **options
        As for :func:`mirflow.reports.figures.distributions`. The matrix of chances is left out of more than 30 systems,
        and on axes that are given.

    Returns
    -------
    matplotlib.axes.Axes
        Of the intervals.

    Raises
    ------
    FigureError
        If no system has a value.
    QueryError, UnknownNameError
        As for :func:`mirflow.analysis.inference.ranks`.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate)
    ranked = ranks_of(ds, query, level=level, cluster=cluster, replicates=replicates, rng=rng, group=group)
    rank = ranked["rank"].values[:, 0]
    order = [place for place in np.argsort(rank, kind="stable").tolist() if not np.isnan(rank[place])]
    if not order:
        raise FigureError("nothing to rank: no track has a score of every system")
    frame = frame_of(options, "page")
    better = ranked["better"].values[np.ix_(order, order)][..., 0]
    has_matrix = 1 < len(order) <= _MATRIX and frame.ax is None and not np.isnan(ranked["first"].values).all()
    with sheet(frame, 0.55 + _RANK_ROW * len(order)) as page:
        ax, rows = page.ax, np.arange(len(order))
        low, rank, high, first = (ranked[name].values[order, 0] for name in ("rank_low", "rank", "rank_high", "first"))
        size = page.type_size(len(order))
        # A rank that is the only one has some length too.
        ax.hlines(rows, low - 0.15, high + 0.15, color="black", linewidth=2.0)
        ax.plot(rank, rows, "o", color="white", markeredgecolor="black", markersize=min(4.0, size * 0.6))
        for row, (end, share) in enumerate(zip(high.tolist(), first.tolist(), strict=True)):
            text = f"  first: {100 * share:.0f} %" if share >= 0.005 else ""
            ax.text(end + 0.25, row, text, va="center", fontsize=0.9 * size, color="#444444")
        page.name_rows([label(ranked["system"].values[place]) for place in order])
        count = len(order)
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if count / step <= 12)
        ax.set_xticks(sorted({1, *range(step, count + 1, step)}))
        ax.set_xlim(0.5, count + 0.5 + max(1.0, 0.16 * count))
        ax.set_xlabel("rank")
        ax.tick_params(length=0)
        if has_matrix:
            _draw_matrix(page, better, [label(ranked["system"].values[place], 12) for place in order])
        attrs, kind = ranked.attrs, aggregate_in_words(ranked["aggregate"].item())
        bars = f"{kind} over the tracks; {MISSING[attrs['missing']]}; bars: {ranks_note(ranked, 0)}"
        clustered = f" ({together(attrs['cluster'])})" if attrs["cluster"] else ""
        drawn = f"shares of {attrs['replicates']} bootstrap replicates over tracks{clustered}"
        page.head(
            f"Ranks by {label(title_in(ranked), 60)}, {kind}",
            f"{origin_in_words(attrs)}; {bars}. First{', and matrix' if has_matrix else ''}: {drawn}",
            signer_of(ds, query, group=group),
        )
    return page.ax


def _draw_matrix(page: Sheet, better: Float, names: list[str]) -> None:
    """The shares of replicates in which the system of a row is better than that of a column."""
    grid = page.figure.add_gridspec(1, 2, width_ratios=(1.15, 1))
    page.ax.set_subplotspec(grid[0])
    ax = page.figure.add_subplot(grid[1])
    # The ends of the scale are so dark that nothing could be read on them.
    image = ax.imshow(better, cmap="RdBu", vmin=-0.25, vmax=1.25, aspect="auto", interpolation="nearest")
    size = page.type_size(len(names))
    small = min(6.0, size, 14 * page.inches / len(names))
    if len(names) <= _NUMBERS:
        for row, column in np.argwhere(~np.isnan(better)).tolist():
            text = f"{100 * better[row, column]:.0f}"
            # Three digits do not fit into narrow cells; the colour of what is certain says it.
            if text not in ("0", "100"):
                ax.text(column, row, text, ha="center", va="center", fontsize=small, color="black")
    ax.set_yticks([])
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = page.figure.colorbar(image, ax=ax, pad=0.02, fraction=0.05, aspect=18)
    bar.ax.set_ylim(0, 1)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    bar.set_label("better than the column")


_METRICS, _SYSTEMS, _COLOURED = 24, 60, 7
"""Metrics and systems that a page has room for, and how many of very many systems have a colour."""
_LINE_ROW, _TAU = 0.2, 20
"""Inches of a system, and points between metrics below which their agreement is written upwards."""


@figure("ranks of the systems by several metrics, as lines", place=5)
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
    with sheet(frame_of(options, "page"), 0.95 + _LINE_ROW * len(systems)) as page:
        titles = [metric_title(*named) for named in zip(chosen, column_of(result, "title"), strict=True)]
        _draw_lines(page, rank, [label(system) for system in systems], [label(title, 22) for title in titles], tau)
        known = tau[np.triu_indices(len(chosen), 1)]
        known = known[np.isfinite(known)]
        ends = f"{known.min():.2f} to {known.max():.2f}" if known.size else "not defined"
        about = f"Kendall's tau-b between neighbouring metrics below; of every two: {ends}"
        page.head("Ranks by several metrics", f"{describe(result)}. {about}", signer_of(ds, query, result))
    return page.ax


def _draw_lines(page: Sheet, rank: Float, systems: list[str], metrics: list[str], tau: Float) -> None:
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
            beside: dict[str, Any] = {"textcoords": "offset points", "ha": align, "va": "center", "fontsize": size}
            ax.annotate(", ".join(names), (column, place), xytext=(offset, 0), annotation_clip=False, **beside)
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
