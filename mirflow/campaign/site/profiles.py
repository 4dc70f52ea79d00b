"""A system beside others: its difference from the leader of each evaluation, and the best of each year."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.inference.comparisons import compare
from ...analysis.query_options import Query
from ...analysis.scores import names_of
from ...errors import QueryError
from ...reports.leaderboard import Leaderboard, RankedEvaluation, RankedMetric, standings_of
from .archive import YEAR, YearsLine, join_years, years_of
from .runtimes import RUNTIME

if TYPE_CHECKING:
    import xarray as xr

FACTS = ("title", "name", "authors", "team", "affiliation", "year", "description", "paper", "code", "license", RUNTIME)
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
    rows = {row.system: row for row in standings_of(ranked).rows}
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    placed = [system.name for system in ranked.systems if system.rank is not None]
    # The intervals of differences over paired tracks, and the place of each system in them.
    bounds, index = np.full((2, 0, 0), np.nan), dict[str, int]()
    if ds is not None and ranked.level is not None and len(ranked.systems) > 1:
        with suppress(QueryError):
            compared = compare(ds, Query(metric=ranked.headline, exact=True), level=ranked.level)
            bounds = np.stack([compared[end].values[..., 0] for end in ("low", "high")])
            index = {name: number for number, name in enumerate(names_of(compared, "system"))}
    gaps = {}
    for system in ranked.systems:
        name, others = system.name, [other for other in placed if other != system.name]
        other = others[0] if others and system.rank is not None else ""
        ends = [rows[name].value - rows[other].value if other else math.nan, math.nan, math.nan]
        if index and other:
            ends[1:] = bounds[:, index[name], index[other]].tolist()
        # Where this system leads, the verdict on the second is that on the two.
        verdict = rows[other if system.rank == 1 and other else name].relation
        gap, low, high = (end if math.isfinite(end) else None for end in ends)
        value, count = system.scores[headline.name].value, len(ranked.systems)
        gaps[name] = Gap(ranked.name, headline, system.rank, count, other, value, gap, low, high, verdict)
    return gaps


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
    entries = [entry for entry in years_of(store, board) if entry.evaluation == ranked.name]
    line = next(iter(join_years(entries).lines()), None)
    shown = next(other for other in ranked.systems if other.name == system)
    value, year = shown.scores[ranked.headline].value, str(shown.metadata.get(YEAR, ""))
    if line is None or not isinstance(value, float) or not year:
        return None
    return YearsOfEvaluation(line, int(float(year)), *line.scale.place(int(float(year)), value))
