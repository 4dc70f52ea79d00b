"""Critical-difference diagrams: values or mean ranks of systems, and bars over those that do not differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ...analysis.inference import compare, friedman
from ...analysis.query_options import DEFAULT_LEVEL, MISSING, Query
from ...errors import FigureError, UnknownNameError, counted
from ...ragged import Float
from ..captions import letters_note, origin_in_words, title_in
from ..tables import aggregate_in_words
from .canvas import Sheet, figure, label, sheet
from .track_scores import FigureOptions, Stored, board_of, frame_of, infinite, one_metric, query_of, signer_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_LONG = 10
"""Letters of a name up to which a column is wide enough."""
_ROW, _BAR = 0.155, 0.075
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
    levels = _levels(shown)
    rows = (len(shown.systems) + 1) // 2
    bars = _BAR * (1 + max((place for _, place in levels), default=-1))
    width = "page" if max(map(len, shown.systems)) > _LONG else "column"
    with sheet(frame_of(options, width), _room_above(shown) + 0.12 + bars + _ROW * rows + 0.06) as page:
        _draw(page, shown, levels, bars)
        passing = any(not _is_run(members, shown.order) for members, _ in levels)
        dots = "; dots show which systems a bar joins where it passes by others" if passing else ""
        page.head(shown.title, shown.about + dots, signer_of(ds, query, group=group))
    return page.ax


@dataclass(frozen=True)
class _Shown:
    """Places of systems on the axis, and groups without significant differences."""

    systems: list[str]
    place: Float
    """float64 (systems,). The best on the left: 1 and more are ranks, and values of which large ones are better run the
    other way."""
    order: list[int]
    """The systems from the best to the worst; those without a value are not among them."""
    groups: list[list[int]]
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
    systems = ds["system"].values.tolist()
    n, p = ds["n"].item(), ds["p"].item()
    units = counted(n, "track") if unit == "track" else f"{n} values of {unit}"
    chance = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    test = f"Friedman: chi-square({ds['dof'].item()}) = {ds['statistic'].item():.2f}, {chance}"
    if len(systems) == 2:
        test = f"Exact sign test: {chance}"
    kind = "" if unit == "track" else f" ({aggregate_in_words(ds['aggregate'].item())} within them)"
    about = f"{origin_in_words(ds.attrs)}; ranks within {units} that all systems have{kind}. {test}. {_bars(ds)}"
    return _Shown(systems, mean, order, _groups(ds, order), critical, False, 2, title, about)


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
    systems = ds["system"].values.tolist()
    kind = aggregate_in_words(ds["aggregate"].item())
    share = f"{kind} over the tracks" if unit == "track" else f"{kind} within each {unit}"
    notes = [share, MISSING[ds.attrs["missing"]], *infinite(value, "infinite value")]
    about = f"{origin_in_words(ds.attrs)}; {'; '.join(notes)}. {_bars(ds)}"
    return _Shown(systems, value, order, _groups(ds, order), np.nan, higher, decimals, title, about)


def _groups(ds: xr.Dataset, order: list[int]) -> list[list[int]]:
    letters = [re.findall(r"\(\d+\)|.", text) for text in ds["letters"].values[:, 0].tolist()]
    every = dict.fromkeys(letter for place in order for letter in letters[place])
    return [[place for place in order if letter in letters[place]] for letter in every]


def _levels(shown: _Shown) -> list[tuple[list[int], int]]:
    """The bars, and how far below the axis each has room: bars at one height do not touch."""
    place = -shown.place if shown.reverse else shown.place
    room = 0.02 * (np.ptp(place[shown.order]) if shown.reverse or np.isnan(shown.difference) else len(place))
    ends: list[float] = []
    placed = []
    for members in shown.groups:
        if len(members) < 2:
            continue
        low, high = place[members].min(), place[members].max()
        level = next((height for height, end in enumerate(ends) if end < low - room), len(ends))
        ends[level : level + 1] = [high]
        placed.append((members, level))
    return placed


def _draw(page: Sheet, shown: _Shown, levels: list[tuple[list[int], int]], bars: float) -> None:
    ax, place, order = page.ax, shown.place, shown.order
    ticks, low, high = _ticks(shown)
    room, reach = 0.04 * (high - low), 0.006 * (high - low)
    ax.plot([low, high], [0, 0], color="black", linewidth=0.8)
    ranks = np.isfinite(shown.difference)
    ax.text((low + high) / 2, -0.2, shown.title, ha="center", va="bottom", fontsize=7)
    for tick in np.arange(low, high + 1).tolist() if ranks else ticks:
        tall = tick in ticks
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
        if not _is_run(members, order):  # the bar passes by systems that are not in its set: dots say who is
            ax.plot(place[members], [at] * len(members), "o", color="black", markersize=3.2)
    half = (len(order) + 1) // 2
    small = 7 if len(order) <= 20 else 6
    # Names may take a quarter of the width on either side, the numbers beside them included.
    most = min(24, max(8, int(page.inches * 72 / 4 / (0.56 * small)) - 6))
    left_edge, right_edge = (high + room, low - room) if shown.reverse else (low - room, high + room)
    for rank, system in enumerate(order):
        left = rank < half
        row = rank if left else len(order) - 1 - rank
        at = 0.12 + bars + _ROW * (row + 0.5)
        edge = left_edge if left else right_edge
        ax.plot([place[system], place[system], edge], [0, at, at], color="black", linewidth=0.6, clip_on=False)
        text = label(shown.systems[system], most)
        number = f"{place[system]:.{shown.decimals}f}"
        both = f"{text}  {number} " if left else f" {number}  {text}"
        ax.text(edge, at, both, ha="right" if left else "left", va="center", fontsize=small)
    ax.set_xlim(left_edge, right_edge)
    ax.set_ylim(0.12 + bars + _ROW * half, -_room_above(shown))
    ax.set_axis_off()


def _room_above(shown: _Shown) -> float:
    """Inches above the axis: for its numbers and its title, and for the critical difference of ranks."""
    return 0.5 if np.isfinite(shown.difference) else 0.34


def _is_run(members: list[int], order: list[int]) -> bool:
    places = sorted(order.index(member) for member in members)
    return places[-1] - places[0] == len(places) - 1


def _ticks(shown: _Shown) -> tuple[list[float], float, float]:
    """The numbers on the axis, and its ends: of ranks whole ones, of figures steps of 1, 2 or 5."""
    values = shown.place[shown.order]
    low, high = float(values.min()), float(values.max())
    if np.isfinite(shown.difference):
        low, high = float(np.floor(low)), float(max(np.ceil(high), np.floor(low) + 1))
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if (high - low) / step <= 10)
        return [rank for rank in np.arange(low, high + 1).tolist() if rank % step == 0], low, high
    wide = (high - low) or max(abs(high), 1.0) * 0.1
    power = 10.0 ** np.floor(np.log10(wide / 6))
    step = power * next(size for size in (1, 2, 5, 10) if wide / (power * size) <= 6)
    low, high = step * np.floor(low / step), step * max(np.ceil(high / step), np.floor(low / step) + 1)
    return (step * np.arange(round(low / step), round(high / step) + 1)).tolist(), float(low), float(high)


def _bars(ds: xr.Dataset) -> str:
    note = letters_note(ds, 0).replace("systems that share a letter", "bars join systems that")
    note = note.replace("no letters", "no bars")
    return f"{note[:1].upper()}{note[1:]}"
