"""What figures of scores share: options, the scores of one metric by track, the order of systems, labels and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import aggregate_query, aggregate_scores, ranked, select
from ...analysis.dims import REDUCTIONS
from ...analysis.lookup import find_single, find_tables, headline_metric, split_names
from ...analysis.queries import ScoresLike, choose_one, evaluations_of
from ...analysis.query_options import MISSING, Names, Query, SelectionOptions, say_undefined
from ...analysis.scores import names_of, show_span
from ...analysis.selection import VALUELESS, counted_scores
from ...analysis.signatures import sign
from ...errors import FigureError, QueryError, UnknownNameError, counted
from ...ragged import Float
from ..captions import metric_title, origin_in_words, reference_notes
from ..results import column_of, values_of
from ..tables import NAMES, aggregate_in_words
from .canvas import Frame, Signer, Width

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Stored = ScoresLike
"""Stores by their paths, an opened tree, or the dataset of one evaluation."""


class FigureOptions(SelectionOptions, total=False):
    """Keyword arguments of every figure: selection of scores (as in a query), size and axes."""

    group: str | None
    ax: Axes | None
    width: Width
    height: float | None
    caption: bool
    venue: str
    names: str


def frame_of(options: FigureOptions, width: Width = "column") -> Frame:
    """Axes and size of a figure, from its keyword arguments."""
    given: dict[str, Any] = {"width": width, **options}
    return Frame(**{name: given[name] for name in ("ax", "width", "height", "caption", "venue") if name in given})


def query_of(options: FigureOptions, metric: Names, aggregate: str | None = None, by: Names = None) -> Query:
    """Make the query of a figure about stored metrics from its keyword arguments."""
    own = SelectionOptions.__annotations__
    given: dict[str, Any] = {name: value for name, value in options.items() if name in own}
    return Query(metric, aggregate, by, exact=True, **given)


def board_of(scores: Stored, metric: Names, options: FigureOptions) -> tuple[str, xr.Dataset]:
    """The evaluation that a figure is about, and its name, which is empty for a dataset.

    `options`: without a group it is the only evaluation that has the metrics; by identifiers the metrics have no
    titles.
    """
    group, names = options.get("group"), options.get("names", NAMES[0])
    if names not in NAMES:
        raise UnknownNameError("names", names, NAMES)
    boards = evaluations_of(scores)
    group, ds = (group or "", boards[""]) if "" in boards else choose_one(boards, metric, group)
    return group, ds.drop_vars("title", errors="ignore") if names != NAMES[0] else ds


def one_metric(ds: xr.Dataset, metric: str | None) -> str:
    """The identity of the metric that is meant; None: the headline of the evaluation.

    Of several parameters those of the defaults are meant.
    """
    metric = headline_metric(ds) if metric is None else metric
    if metric is None:
        raise FigureError("no metric of these scores has one number per track")
    if not isinstance(metric, str):
        raise FigureError(f"this figure shows one metric, not {len(metric)}: choose one")
    tables = [find_tables(ds)[variable] for variable in split_names(ds, metric)[1]]
    if tables:
        if len(tables) > 1 and metric not in tables:
            raise FigureError(f"{metric!r} matches {len(tables)} metrics; choose one of: {', '.join(tables)}")
        return metric if metric in tables else tables[0]
    try:
        return names_of(ds, "metric")[find_single(ds, metric)]
    except QueryError as error:
        raise FigureError(str(error)) from None


def signer_of(ds: xr.Dataset, query: Query, result: xr.Dataset | None = None, group: str = "") -> Signer:
    """What gives the signatures of the numbers of a query, of which the result is perhaps known."""
    return lambda: sign(ds, query, aggregate_query(ds, query, group) if result is None else result)


def scores_of(
    scores: Stored, metric: str | None, aggregate: str | None, options: FigureOptions
) -> tuple[xr.Dataset, list[str], Float, Signer]:
    """Read the scores of one metric, and aggregate them.

    Returns `result`: the result of the query. `tracks`, `score` (float64 (systems, tracks)): NaN where it does not
    count under the policies. `signed`: gives the signatures of the result.
    """
    group, ds = board_of(scores, metric, options)
    query = query_of(options, one_metric(ds, metric), aggregate)
    part = select(ds, query)
    shown = counted_scores(part)
    if not shown.size:
        raise FigureError("no systems or no tracks to show")
    result = aggregate_scores(part, query.by, group)
    return result, names_of(part, "track"), shown[..., 0], signer_of(ds, query, result)


def axis_name(result: xr.Dataset, metric: int = 0) -> str:
    """A metric as the literature calls it, with its parameters and its unit."""
    name, title, unit = (column_of(result, key)[metric] for key in ("metric", "title", "unit"))
    called = metric_title(name, title)
    return f"{called} [{unit}]" if unit else called


def rank_systems(result: xr.Dataset, value: Float | None = None) -> list[int]:
    """The systems from the best to the worst by the mean of their values, which are (systems, values)."""
    value = values_of(result)[..., 0] if value is None else value
    return ranked(REDUCTIONS["mean"](value.T), column_of(result, "orientation")[0])


def numeral(result: xr.Dataset, value: float) -> str:
    """A value of a figure as the page writes it: ratios with three decimals, others with four digits."""
    return f"{value:z.4g}" if column_of(result, "unit")[0] else f"{value:z.3f}"


def keep_best(result: xr.Dataset, most: int) -> tuple[xr.Dataset, str]:
    """The best systems of a result about one metric, where there are too many, and a note that says so."""
    count = result.sizes["system"]
    if count <= most:
        return result, ""
    chosen = sorted(rank_systems(result)[:most])
    return result.isel(system=chosen), f"the best {most} of {count} systems"


def describe(result: xr.Dataset, *, notes: Sequence[str] = (), aggregated: bool = True) -> str:
    """Description of a figure: source, aggregate, number of tracks, policies."""
    attrs, whole = result.attrs, int(result["n_tracks"].values.sum())
    n = values_of(result, "n").sum(axis=1)
    over = counted(whole, "track")
    over = over if (n == whole).all() else f"{show_span(n).replace('-', ' to ')} of {over}"
    kinds = ", ".join(map(aggregate_in_words, dict.fromkeys(column_of(result, "aggregate"))))
    parts = [f"{kinds} over {over}" if aggregated else over]
    # How many of the scores are missing, or have nothing to measure, and how these count.
    nothing = say_undefined(attrs["undefined"], attrs.get(VALUELESS, ""))
    meant = {"missing": f"missing ({MISSING[attrs['missing']]})", "undefined": f"of nothing to measure ({nothing})"}
    for policy, words in meant.items():
        if count := int(attrs[f"{policy}_cells"]):
            parts.append(f"{count} of {whole * result.sizes['system']} scores {'is' if count == 1 else 'are'} {words}")
        elif policy == "missing":
            parts.append("no score is missing")
    return f"{origin_in_words(attrs)}; {'; '.join([*parts, *filter(None, notes), *reference_notes(attrs)])}"


def infinite(values: Float, name: str = "infinite score") -> list[str]:
    """A note on values that no axis can show."""
    count = int(np.isinf(values).sum())
    return [f"{counted(count, name)} not shown"] if count else []
