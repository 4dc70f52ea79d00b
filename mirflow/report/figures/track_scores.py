"""Scores of one metric by track, as figures show them, with their notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ...analysis.aggregation import VALUELESS, ask, select, show_span
from ...analysis.policies import MISSING, say_undefined
from ...analysis.queries import boards_of, choose_one
from ...analysis.scores import as_scores, names_of, read_store
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
from ..results import Result
from .canvas import Frame, Width

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Stored = Any
"""A result store: its path, an opened tree, or the dataset of one evaluation."""


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


def board_of(scores: Stored, metric: Names = None, group: str | None = None) -> tuple[str, xr.Dataset]:
    """The evaluation that a figure is about, and its name, which is empty for a dataset.

    Parameters
    ----------
    scores : path, xr.DataTree or xr.Dataset
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
    if isinstance(scores, str | Path):
        return choose_one(read_store(scores), metric, group)
    if hasattr(scores, "subtree"):
        return choose_one(boards_of(scores), metric, group)
    if hasattr(scores, "data_vars"):
        return group or "", as_scores(scores)
    raise FigureError(f"not scores: {type(scores).__name__}; give a store's path, its tree or a dataset of it")


def one_metric(ds: xr.Dataset, metric: str | None) -> str:
    """The identity of the metric that is meant; None: the headline of the evaluation.

    Of several parameters those of the defaults are meant.

    Raises
    ------
    FigureError
        If the name stands for several, none of which has the default parameters.
    """
    metric = headline_metric(ds) if metric is None else metric
    if metric is None:
        raise FigureError("there are no metrics here that are one number")
    if not isinstance(metric, str):
        raise FigureError(f"one metric makes this figure, not {len(metric)}: say one name")
    tables = [find_tables(ds)[variable] for variable in split_names(ds, metric)[1]]
    if tables:
        if len(tables) > 1 and metric not in tables:
            raise FigureError(f"{metric!r} stands for {len(tables)} metrics; say one of: {', '.join(tables)}")
        return metric if metric in tables else tables[0]
    try:
        return names_of(ds, "metric")[find_single(ds, metric)]
    except QueryError as error:
        raise FigureError(str(error)) from None


@dataclass(frozen=True)
class Shown:
    """The scores of one metric.

    Parameters
    ----------
    result : Result
        Its aggregates, with one metric and one group of tracks.
    tracks : list of str
    score : float64 (systems, tracks)
        NaN where it does not count under the policies.
    missing : int64 (systems, tracks)
        1 where there is no score at all.
    """

    result: Result
    tracks: list[str]
    score: Float
    missing: Int

    @property
    def systems(self) -> list[str]:
        """The systems."""
        return self.result.systems

    @property
    def value(self) -> Float:
        """The aggregate of each system: float64 (systems,)."""
        return np.asarray(self.result.value[:, 0, 0])

    @property
    def lower_is_better(self) -> bool:
        """Whether small scores are good."""
        return lower_is_better(self.result)

    @property
    def name(self) -> str:
        """The metric's identity with its unit."""
        return named(self.result)

    @property
    def axis(self) -> str:
        """The metric as the literature calls it, for an axis."""
        return axis_name(self.result)

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
    group, ds = board_of(scores, metric, options.get("group"))
    question = question_of(options, one_metric(ds, metric), aggregate)
    part = select(ds, question)
    shown = np.where(part["included"].values, part["score"].values, np.nan)
    if not shown.size:
        raise FigureError("there are no systems or no tracks to show")
    missing = part["missing"].values[..., 0].astype(np.int64)
    result = Result.of(ask(ds, question, group).to_dataset())
    return Shown(result, names_of(part, "track"), shown[..., 0], missing)


def named(result: Result, metric: int = 0) -> str:
    """A metric's identity with its unit, by which it can be asked for."""
    unit = result.units[metric]
    return f"{result.metrics[metric]} [{unit}]" if unit else result.metrics[metric]


def axis_name(result: Result, metric: int = 0) -> str:
    """A metric as the literature calls it, with its parameters and its unit."""
    unit, name, title = (own[metric] for own in (result.units, result.metrics, result.titles))
    called = title + name.removeprefix(bare_name(name)) if title else name
    return f"{called} [{unit}]" if unit else called


def lower_is_better(result: Result, metric: int = 0) -> bool:
    """Whether small scores of a metric are good."""
    return result.orientations[metric] == "lower"


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


def keep_best(result: Result, most: int) -> tuple[Result, str]:
    """The best systems of a result about one metric, where there are too many, and a note that says so."""
    count = len(result.systems)
    if count <= most:
        return result, ""
    chosen = sorted(best_first(overall(result.value[..., 0]), lower_is_better(result))[:most])
    return result.take(chosen), f"the best {most} of {count} systems"


def describe(result: Result, *, notes: Sequence[str] = (), aggregated: bool = True) -> str:
    """What has to be known to read a figure: where from, which aggregate, over how many tracks, which policies."""
    attrs, whole = result.attrs, int(result.n_tracks.sum())
    n = result.n_counted.sum(axis=1)
    over = plural(whole, "track")
    over = over if (n == whole).all() else f"{show_span(n).replace('-', ' to ')} of {over}"
    parts = [title_of(attrs), f"{', '.join(dict.fromkeys(result.aggregates))} over {over}" if aggregated else over]
    cells = whole * len(result.systems)
    nothing = say_undefined(attrs["undefined"], attrs.get(VALUELESS, ""))
    for policy, meant in (("missing", MISSING[attrs["missing"]]), ("undefined", nothing)):
        count = int(attrs[f"{policy}_cells"])
        if count or policy == "missing":
            parts.append(f"{policy} ({attrs[policy]}): " + (f"{count} of {cells} cells, {meant}" if count else "none"))
    return "; ".join([part for part in (*parts, *notes, *reference_notes(attrs)) if part])


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
