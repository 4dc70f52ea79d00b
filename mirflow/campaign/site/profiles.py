"""A system beside others: its difference from the leader of each evaluation, and the best of each year."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...analysis.inference.comparisons import compare
from ...analysis.query_options import Query
from ...analysis.scores import names_of
from ...errors import QueryError
from ...reports.leaderboard import Leaderboard, RankedEvaluation, RankedMetric, standings_of
from .archive import YEAR, YearsLine, join_years, years_of
from .runtimes import RUNTIME

if TYPE_CHECKING:
    import xarray as xr

FACTS = (
    "title",
    "name",
    "authors",
    "team",
    "affiliation",
    "year",
    "description",
    "paper",
    "code",
    "license",
    RUNTIME,
)
"""Coordinates of systems that a profile begins with, in this order."""


@dataclass(frozen=True)
class Gap:
    """A system beside the leader of an evaluation."""

    evaluation: str
    metric: RankedMetric
    """The headline."""
    rank: int | None
    systems: int
    leader: str
    """The best system, or the next one if it is this system; empty without ranks."""
    value: Any
    difference: float | None
    """The system's value minus the leader's."""
    low: float | None
    high: float | None
    """Ends of its interval, over paired tracks."""
    verdict: str
    """In words; empty where that was not tested."""


def gaps_of(ranked: RankedEvaluation, ds: xr.Dataset | None) -> dict[str, Gap]:
    """Compare each system of an evaluation with the leader, and the leader with the second, by the headline metric.

    Parameters
    ----------
    ds : xr.Dataset or None
        Scores of the evaluation; None, if only aggregates may be shown: without intervals.
    """
    rows = {one.system: one for one in standings_of(ranked).rows}
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    placed = [one.name for one in ranked.systems if one.rank is not None]
    bounds = _bounds_of(ranked, ds)
    found = {}
    for own in ranked.systems:
        other = next((name for name in placed if name != own.name), "") if own.rank is not None else ""
        gap = rows[own.name].value - rows[other].value if other else math.nan
        low, high = bounds(own.name, other) if bounds is not None and other else (math.nan, math.nan)
        # Where this system leads, the verdict on the second is that on the two.
        verdict = rows[other if own.rank == 1 and other else own.name].relation
        value, ends = own.scores[headline.name].value, (_known(gap), _known(low), _known(high))
        found[own.name] = Gap(ranked.name, headline, own.rank, len(ranked.systems), other, value, *ends, verdict)
    return found


def _bounds_of(ranked: RankedEvaluation, ds: xr.Dataset | None) -> Callable[[str, str], tuple[float, float]] | None:
    """Return a function of two systems: the interval of their difference, over paired tracks; None without any."""
    if ds is None or ranked.level is None or len(ranked.systems) < 2:
        return None
    try:
        compared = compare(ds, Query(metric=ranked.headline, exact=True), level=ranked.level)
    except QueryError:
        return None
    place = {name: at for at, name in enumerate(names_of(compared, "system"))}
    low, high = (compared[end].values[..., 0] for end in ("low", "high"))
    return lambda one, other: (low[place[one], place[other]], high[place[one], place[other]])


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class YearsOfEvaluation:
    """The best of each year in an evaluation, and a system among them."""

    line: YearsLine
    year: int | None
    x: float
    y: float
    """Place of the system in the chart."""


def years_beside(store: str, board: Leaderboard, ranked: RankedEvaluation, system: str) -> YearsOfEvaluation | None:
    """Return the best of each year by the headline metric, with a system on the same scale; None without two years."""
    entries = [one for one in years_of(store, board) if one.evaluation == ranked.name]
    line = next(iter(join_years(entries).lines()), None)
    own = next(one for one in ranked.systems if one.name == system)
    value, year = own.scores[ranked.headline].value, str(own.metadata.get(YEAR, ""))
    if line is None or not isinstance(value, float) or not year:
        return None
    return YearsOfEvaluation(line, int(float(year)), *line.scale.place(int(float(year)), value))
