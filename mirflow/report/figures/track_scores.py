"""Scores of one metric by track, as figures show them, with their notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ...analysis.aggregation import VALUELESS, Answer, ask, select
from ...analysis.policies import MISSING, say_undefined
from ...analysis.queries import boards_of, choose_one
from ...analysis.scoreboard import Scoreboard, from_dataset, read_store
from ...analysis.selection import (
    Names,
    Question,
    Reductions,
    bare_name,
    find_single,
    find_tables,
    headline_metric,
    split_names,
)
from ...errors import FigureError, QueryError
from ...ragged import Float, Int
from ..captions import reference_notes
from ..layout import title_of
from .canvas import Frame, Width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Stored = Any
"""A result store: its path, an opened tree, the dataset of one evaluation, or a `Scoreboard`."""


class FigureOptions(TypedDict, total=False):
    """What every figure takes by keyword: whose scores count (as in a question), and where it is drawn."""

    group: str | None
    system: Names
    tracks: Names
    missing: str | None
    undefined: str
    over: Reductions
    where: str | None
    ax: Axes | None
    width: Width
    height: float | None
    caption: bool
    venue: str


def frame_of(options: FigureOptions, width: Width = "column") -> Frame:
    """Where a figure is drawn, out of what was said by keyword."""
    size = options.get("width", width), options.get("height")
    return Frame(options.get("ax"), *size, options.get("caption", True), options.get("venue", "ieee"))


def question_of(options: FigureOptions, metric: Names, aggregate: str | None = None, by: Names = None) -> Question:
    """The question that a figure answers about metrics as they are stored, out of what was said by keyword."""
    return Question(
        metric,
        aggregate,
        by,
        options.get("system"),
        options.get("tracks"),
        options.get("missing"),
        options.get("undefined", "keep"),
        where=options.get("where"),
        over=options.get("over"),
        exact=True,
    )


def board_of(scores: Stored, metric: Names = None, group: str | None = None) -> tuple[str, Scoreboard]:
    """The evaluation that a figure is about, and its name, which is empty for a dataset.

    Parameters
    ----------
    scores : path, xr.DataTree, xr.Dataset or Scoreboard
    metric : str, sequence of str or None
        What it must have.
    group : str or None
        Its name; None: the only one that has the metrics.

    Raises
    ------
    FigureError
        For anything else.
    QueryError
        If there are several.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    if isinstance(scores, Scoreboard):
        return group or "", scores
    if isinstance(scores, str | Path):
        return choose_one(read_store(scores), metric, group)
    if hasattr(scores, "subtree"):
        return choose_one(boards_of(scores), metric, group)
    if hasattr(scores, "data_vars"):
        return group or str(getattr(scores, "name", None) or ""), from_dataset(scores)
    raise FigureError(f"not scores: {type(scores).__name__}; give a store's path, its tree or a dataset of it")


def one_metric(board: Scoreboard, metric: str | None) -> str:
    """The identity of the metric that is meant; None: the headline of the evaluation.

    Of several parameters those of the defaults are meant.

    Raises
    ------
    FigureError
        If the name stands for several, none of which has the default parameters.
    """
    metric = headline_metric(board) if metric is None else metric
    if metric is None:
        raise FigureError("there are no metrics here that are one number")
    if not isinstance(metric, str):
        raise FigureError(f"one metric makes this figure, not {len(metric)}: say one name")
    tables = [find_tables(board)[variable] for variable in split_names(board, metric)[1]]
    if tables:
        if len(tables) > 1 and metric not in tables:
            raise FigureError(f"{metric!r} stands for {len(tables)} metrics; say one of: {', '.join(tables)}")
        return metric if metric in tables else tables[0]
    try:
        return board.metrics[find_single(board, metric)]
    except QueryError as error:
        raise FigureError(str(error)) from None


@dataclass(frozen=True)
class Shown:
    """The scores of one metric.

    Parameters
    ----------
    answer : Answer
        Its aggregates, with one metric and one group of tracks.
    tracks : list of str
    score : float64 (systems, tracks)
        NaN where it does not count under the policies.
    missing : int64 (systems, tracks)
        1 where there is no score at all.
    """

    answer: Answer
    tracks: list[str]
    score: Float
    missing: Int

    @property
    def systems(self) -> list[str]:
        """The systems."""
        return self.answer.systems

    @property
    def metric(self) -> str:
        """The metric's identity."""
        return self.answer.metrics[0]

    @property
    def value(self) -> Float:
        """The aggregate of each system: float64 (systems,)."""
        return np.asarray(self.answer.value[:, 0, 0])

    @property
    def lower_is_better(self) -> bool:
        """Whether small scores are good."""
        return lower_is_better(self.answer)

    @property
    def name(self) -> str:
        """The metric's identity with its unit."""
        return named(self.answer)

    @property
    def axis(self) -> str:
        """The metric as the literature calls it, for an axis."""
        return axis_name(self.answer)

    def best_first(self) -> list[int]:
        """The systems by their aggregates; those without one last."""
        return best_first(self.value, self.lower_is_better)


def scores_of(scores: Stored, metric: str | None, aggregate: str | None, options: FigureOptions) -> Shown:
    """The scores of one metric, and their aggregates.

    Raises
    ------
    FigureError
        If nothing is left to show.
    QueryError, UnknownNameError
        As for any question.
    """
    group, board = board_of(scores, metric, options.get("group"))
    question = question_of(options, one_metric(board, metric), aggregate)
    part = select(board, question)
    score, included = part.scores()
    if not score.size:
        raise FigureError("there are no systems or no tracks to show")
    shown = np.where(included, score, np.nan)[..., 0]
    return Shown(ask(board, question, group), part.track_names, shown, part.gaps.missing[..., 0].astype(np.int64))


def named(answer: Answer, metric: int = 0) -> str:
    """A metric's identity with its unit, by which it can be asked for."""
    unit = answer.units[metric]
    return f"{answer.metrics[metric]} [{unit}]" if unit else answer.metrics[metric]


def axis_name(answer: Answer, metric: int = 0) -> str:
    """A metric as the literature calls it, with its parameters and its unit."""
    unit, name = answer.units[metric], answer.metrics[metric]
    title = str(answer.metric_coords["title"][metric]) if "title" in answer.metric_coords else ""
    called = title + name.removeprefix(bare_name(name)) if title else name
    return f"{called} [{unit}]" if unit else called


def lower_is_better(answer: Answer, metric: int = 0) -> bool:
    """Whether small scores of a metric are good."""
    return str(answer.metric_coords["orientation"][metric]) == "lower"


def best_first(value: Float, lower: bool) -> list[int]:
    """Positions from the best value to the worst; NaN last, ties in their order."""
    order: list[int] = np.argsort(value if lower else -value, kind="stable").tolist()
    return order


def overall(value: Float) -> Float:
    """A figure of each system to order by: the mean of those it has; NaN where it has none."""
    known = ~np.isnan(value)
    number = known.sum(axis=1)
    with np.errstate(invalid="ignore"):  # infinite ones of both signs
        total = np.where(known, value, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(len(value), np.nan), where=number > 0))


def keep_best(answer: Answer, most: int) -> tuple[Answer, str]:
    """The best systems of an answer about one metric, where there are too many, and a note that says so."""
    count = len(answer.systems)
    if count <= most:
        return answer, ""
    chosen = sorted(best_first(overall(answer.value[:, 0]), lower_is_better(answer))[:most])
    part = replace(
        answer,
        systems=[answer.systems[place] for place in chosen],
        system_coords={name: values[chosen] for name, values in answer.system_coords.items()},
        value=answer.value[chosen],
        counts={name: counts[chosen] for name, counts in answer.counts.items()},
        low=None if answer.low is None else answer.low[chosen],
        high=None if answer.high is None else answer.high[chosen],
    )
    return part, f"the best {most} of {count} systems"


def describe(answer: Answer, *, notes: Sequence[str] = (), aggregated: bool = True) -> str:
    """What has to be known to read a figure: where from, which aggregate, over how many tracks, which policies."""
    parts = [title_of(answer.attrs)]
    n = answer.counts["n"].sum(axis=-1)
    whole = int(answer.n_tracks.sum())
    over = plural(whole, "track") if (n == whole).all() else f"{_span(n)} of {plural(whole, 'track')}"
    parts.append(f"{', '.join(dict.fromkeys(answer.aggregates))} over {over}" if aggregated else over)
    cells = int(answer.n_tracks.sum()) * len(answer.systems)
    nothing = say_undefined(answer.attrs["undefined"], answer.attrs.get(VALUELESS, ""))
    meant = {"missing": MISSING[answer.attrs["missing"]], "undefined": nothing}
    for policy in ("missing", "undefined"):
        count = answer.cells_with(policy)
        kind = answer.attrs[policy]
        if count or policy == "missing":
            parts.append(f"{policy} ({kind}): " + (f"{count} of {cells} cells, {meant[policy]}" if count else "none"))
    return "; ".join([part for part in (*parts, *notes, *reference_notes(answer.attrs)) if part])


def infinite(values: Float, name: str = "infinite score") -> list[str]:
    """A note on values that no axis can show."""
    count = int(np.isinf(values).sum())
    return [f"{plural(count, name)} not shown"] if count else []


def plural(count: int, name: str) -> str:
    """A number of things.

    Examples
    --------
    >>> plural(1, "track"), plural(2, "track")
    ('1 track', '2 tracks')
    """
    return f"{count} {name}" + ("s" if count != 1 else "")


def _span(counts: Int) -> str:
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low} to {high}"
