"""Scores of tracks as points: two systems, two metrics, or a metric over a covariate of the tracks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ...analysis.aggregation import aggregate_scores, select
from ...analysis.inference.correlations import OTHERS, correlations, covariate_values
from ...analysis.inference.sample import settle
from ...analysis.lookup import DURATION
from ...analysis.query_options import DEFAULT_LEVEL, Names, as_names, say_intervals
from ...analysis.scores import names_of
from ...analysis.selection import counted_scores
from ...errors import FigureError, counted
from ...ragged import Bool, Float
from ..drawing import BLUE, CYCLE, GREY, RED
from ..results import column_of, values_of
from ..tables import aggregate_in_words
from .canvas import MOST_LOOKS, Sheet, figure, figure_of, label, looks, sheet
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
    from matplotlib.axes import Axes

_MANY = 3000
_NAMED = 3
"""Tracks whose points have names."""


@figure("two systems, or two metrics, against each other, track by track", place=7)
def scatter(
    scores: Stored,
    metric: Names = None,
    aggregate: str | None = None,
    *,
    tie: float = 0.0,
    **options: Unpack[FigureOptions],
) -> Axes:
    """The scores of one system over those of another; above the diagonal those of the second are larger.

    The three tracks on which they differ most have names, unless they differ little.

    Of two metrics the scores of the second over those of the first, with a point for each system and track.

    Parameters
    ----------
    metric : str, sequence of two str, or None
        None: the headline metric of the evaluation. Two: across and up.
    aggregate : str or None
        What is shown of each system beside its name; None: the metric's standard one.
    tie : float
        Differences up to this one are ties.
    **options
        As for :func:`mirflow.reports.figures.distributions`. ``system`` names two, across and up; without it the two
        in the store, or the two best ones, are taken. Tracks that both have are shown. Of two metrics ``system``
        names any number; without it the seven best by the first metric are taken.

    Raises
    ------
    FigureError
        If there are not two systems, or two metrics, or no track that both have.
    """
    if metric is not None and not isinstance(metric, str):
        asked = as_names(metric) or []
        if len(asked) > 1:
            return _two_metrics(scores, asked, aggregate, tie, options)
        metric = next(iter(asked), None)
    names = as_names(options.get("system"))
    if not names:
        result, *_ = scores_of(scores, metric, aggregate, options)
        if result.sizes["system"] < 2:
            raise FigureError("this figure compares two systems, and the scores have one")
        names = names_of(result, "system", sorted(rank_systems(result)[:2]))
    if len(names) != 2:
        raise FigureError(f"this figure compares two systems, not {len(names)}: choose two (system)")
    if not tie >= 0:
        raise FigureError(f"ties cannot be differences up to {tie}; say 0 or more")
    options["system"] = names
    result, tracks, score, signed = scores_of(scores, metric, aggregate, options)
    x, y = score
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        raise FigureError(f"no track has a finite score of both {names[0]!r} and {names[1]!r}")
    frame = frame_of(options)
    with sheet(frame, frame.inches * 0.95) as page:
        ax, x, y, systems = page.ax, x[both], y[both], [label(name) for name in names_of(result, "system")]
        # As comparisons count wins: what rounding leaves behind is none.
        difference = settle(x - y if column_of(result, "orientation")[0] == "lower" else y - x)
        tied = np.abs(difference) <= tie
        for name, chosen, colour, marker in (
            (f"{systems[1]} better", ~tied & (difference > 0), BLUE, "^"),
            (f"{systems[0]} better", ~tied & (difference < 0), RED, "v"),
            ("tie", tied, GREY, "o"),
        ):
            if name != "tie" or tied.any():
                _points(page, x[chosen], y[chosen], f"{name}: {int(chosen.sum())}", colour, marker, len(x))
        low, high = _limits(column_of(result, "unit")[0], x, y)
        ax.plot([low, high], [low, high], color="#555555", linewidth=0.7, zorder=0)
        ax.set(xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.grid()
        above = ((x - low < 0.45 * (high - low)) & (high - y < 0.2 * (high - low))).sum()
        below = ((y - low < 0.2 * (high - low)) & (high - x < 0.45 * (high - low))).sum()
        _opaque_legend(page, "upper left" if above <= below else "lower right")
        called = f"{label(axis_name(result), 30)}, {aggregate_in_words(column_of(result, 'aggregate')[0])}"
        across, up = (numeral(result, value) for value in values_of(result)[:, 0, 0].tolist())
        ax.set_xlabel(f"{systems[0]}: {called} {across}")
        ax.set_ylabel(f"{systems[1]}: {called} {up}")
        _name_farthest(page, x, y, [tracks[place] for place in np.flatnonzero(both)], tie)
        notes = [f"points: {counted(int(both.sum()), 'track')} of both", *infinite(score)]
        notes += [f"ties: differences up to {tie:g}"] if tie else []
        title = f"{label(axis_name(result), 60)}: {systems[1]} against {systems[0]}"
        page.head(title, describe(result, notes=notes), signed)
    return page.ax


def _two_metrics(scores: Stored, metrics: list[str], aggregate: str | None, tie: float, options: FigureOptions) -> Axes:
    """A point for each system and track: the second metric over the first."""
    if len(metrics) != 2:
        raise FigureError(f"two metrics make this figure, not {len(metrics)} ({', '.join(metrics)})")
    if tie:
        raise FigureError("ties are defined for two systems by one metric, not for two metrics")
    group, ds = board_of(scores, metrics, options)
    chosen = [one_metric(ds, name) for name in metrics]
    if chosen[0] == chosen[1]:
        raise FigureError(f"{metrics[0]!r} and {metrics[1]!r} are the same metric, {chosen[0]}")
    query = query_of(options, chosen, aggregate)
    part = select(ds, query)
    result = aggregate_scores(part, query.by, group)
    shown = counted_scores(part)
    finite = np.asarray(np.isfinite(shown).all(axis=2))
    most = len(CYCLE) if options.get("system") is None else MOST_LOOKS
    best = rank_systems(result)[:most]
    if not finite[best].any():
        raise FigureError(f"no track has a finite score of both {chosen[0]!r} and {chosen[1]!r}")
    frame = frame_of(options)
    with sheet(frame, frame.inches * 0.95) as page:
        systems, units = names_of(result, "system"), column_of(result, "unit")
        for place, look in zip(best, looks(len(best)), strict=True):
            x, y = shown[place][finite[place]].T
            _points(page, x, y, label(systems[place]), look.color, look.marker, int(finite.sum()))
        for axis, values in ((0, page.ax.set_xlim), (1, page.ax.set_ylim)):
            own = shown[best][finite[best]][:, axis]
            values(_limits(units[axis], own, own))
        page.ax.grid()
        _opaque_legend(page, "best" if finite.sum() < _MANY else "upper left")
        page.ax.set_xlabel(label(axis_name(result, 0), 60))
        page.ax.set_ylabel(label(axis_name(result, 1), 60))
        count = len(systems)
        notes = [f"points: {counted(int(finite[best].sum()), 'score')} of a system and a track that have both metrics"]
        notes += [f"the best {most} of {count} systems by {axis_name(result, 0)}"] if count > most else []
        notes += infinite(shown)
        title = f"{label(axis_name(result, 0), 40)} against {label(axis_name(result, 1), 40)}"
        page.head(title, describe(result, notes=notes, aggregated=False), signer_of(ds, query, result))
    return page.ax


@figure("scores over a covariate of the tracks, with correlations", place=8)
def covariate(
    scores: Stored,
    metric: str | None = None,
    *,
    against: str = DURATION,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    **options: Unpack[FigureOptions],
) -> Axes:
    """The scores of the tracks over something known of each, and the correlation of each system's.

    Parameters
    ----------
    against, level, cluster
        As for :func:`mirflow.analysis.inference.correlations.correlations`.
    **options
        As for :func:`mirflow.reports.figures.distributions`. Without ``system`` the seven best are shown.

    Raises
    ------
    FigureError
        If no track has a score and a value of the covariate.
    QueryError, UnknownNameError
        As for :func:`mirflow.analysis.inference.correlations.correlations`.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric))
    found = correlations(ds, against, query, level=level, cluster=cluster, group=group)
    part = select(ds, query)
    result = aggregate_scores(part, None, group)
    # The result and its parts have the systems in one order.
    score = counted_scores(part)
    values, score = covariate_values(part, against, score)[..., 0], score[..., 0]
    finite = np.asarray(np.isfinite(score) & np.isfinite(values))
    most = len(CYCLE) if options.get("system") is None else MOST_LOOKS
    best = rank_systems(result)[:most]
    if not finite[best].any():
        raise FigureError(f"no track has a finite score and a value of {against!r}")
    systems, r = names_of(result, "system"), found["r"].values[:, 0]
    frame = frame_of(options)
    with sheet(frame, frame.inches * 0.75 + 0.13 * (len(best) + 1) // 2) as page:
        for place, look in zip(best, looks(len(best)), strict=True):
            own, ends = finite[place], [float(found[end].values[place, 0]) for end in ("low", "high")]
            words = f"{label(systems[place])}: r {'-' if np.isnan(r[place]) else f'{r[place]:z.2f}'}"
            words += "" if np.isnan(ends).any() else f" [{', '.join(f'{end:z.2f}' for end in ends)}]"
            _points(page, values[place, own], score[place, own], words, look.color, look.marker, int(finite.sum()))
        page.ax.set_ylim(_limits(column_of(result, "unit")[0], score[finite], score[finite]))
        page.ax.grid()
        # Below, as points are everywhere.
        _opaque_legend(page, "upper center", bbox_to_anchor=(0.48, -0.19), ncols=2)
        what = "mean score of all other systems" if against == OTHERS else against
        page.ax.set_xlabel(f"{label(what, 60)}{' [s]' if against == DURATION else ''}")
        page.ax.set_ylabel(label(axis_name(result), 60))
        notes = [f"points: {counted(int(finite[best].sum()), 'score')}"]
        notes += [f"r: Pearson's correlation with its {100 * level:g}\u00a0% interval ({say_intervals(found.attrs)})"]
        notes += [f"the best {most} of {len(systems)} systems"] if len(systems) > most else []
        title = f"{label(axis_name(result), 40)} against {label(what, 40)}"
        page.head(title, describe(result, notes=notes, aggregated=False), signer_of(ds, query, result))
    return page.ax


def _name_farthest(page: Sheet, x: Float, y: Float, tracks: list[str], tie: float) -> None:
    """Name the tracks on which the two differ most, beside their points, where there is room."""
    gap = np.abs(settle(y - x))
    low, high = page.ax.get_xlim()
    drawn = []
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 6.5, "color": "#444444"}
    for place in np.argsort(-gap, kind="stable")[:_NAMED]:
        if gap[place] <= max(tie, 0.1 * (high - low)):
            break
        left = x[place] < (low + high) / 2
        offset = 5 if left else -5, 0
        text = label(tracks[place], 20)
        drawn.append(page.ax.annotate(text, (x[place], y[place]), offset, ha="left" if left else "right", **style))
    legend = page.ax.get_legend()
    if legend is None:
        return
    figure_of(page.ax).draw_without_rendering()
    covered = [legend.get_window_extent().padded(6)]
    for name in drawn:
        box = name.get_window_extent().padded(2)
        if any(map(box.overlaps, covered)):
            name.remove()
        else:
            covered.append(box)


def _opaque_legend(
    page: Sheet, place: Literal["best", "upper left", "lower right", "upper center"], **how: Any
) -> None:
    legend = page.ax.legend(loc=place, handletextpad=0.2, borderpad=0.2, **how)
    for mark in legend.legend_handles:
        if mark is not None:
            mark.set_alpha(1)


def _points(page: Sheet, x: Float, y: Float, name: str, colour: str, marker: str, count: int) -> None:
    area, alpha = (14.0, 0.7) if count < 500 else (6.0, 0.45)
    page.ax.scatter(
        x, y, s=area, marker=marker, color=colour, alpha=alpha, linewidths=0, label=name, rasterized=count > _MANY
    )


def _limits(unit: str, x: Float, y: Float) -> tuple[float, float]:
    """The same for both axes of one metric; of ratios the whole range where scores fill half of it."""
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    inside: Bool = np.array([not unit, low >= 0, high <= 1, high - low > 0.5])
    if inside.all():
        low, high = 0.0, 1.0
    room = 0.02 * (high - low) or 0.02 * max(1.0, abs(high))
    return low - room, high + room
