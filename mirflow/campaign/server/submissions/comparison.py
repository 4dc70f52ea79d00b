"""Comparison of a submission with earlier ones and with the leader: by paired tests, and track by track."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....analysis.inference.comparisons import compare
from ....analysis.query_options import Query
from ....analysis.scores import names_of
from ....analysis.selection import headline_metric
from ....annotations.annotation import Annotation
from ....errors import QueryError
from .submission_tables import Outcome

if TYPE_CHECKING:
    import xarray as xr

MISSING = "zero"
"""What a track without an estimate counts: a submission cannot choose its tracks."""


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """One system against another on a metric, over the tracks of a split."""

    metric: str
    system: str
    other: str
    outcome: Outcome
    """Of the system, at the level of 0.05."""
    difference: float | None
    """The system's value less the other's; whether that is good, the outcome says."""
    low: float | None
    high: float | None
    """Its 95 % interval over paired tracks; None for fewer than six."""
    p: float | None
    """Of the permutation test, or of the metric's own."""
    tracks: int


@dataclass(frozen=True, slots=True)
class TrackChange:
    """The scores of two systems on a track; None where one has none."""

    track: str
    score: float | None
    other: float | None

    @property
    def difference(self) -> float | None:
        """The first score less the second."""
        return None if self.score is None or self.other is None else self.score - self.other


@dataclass(frozen=True, slots=True)
class TrackChanges:
    """Changes by track between two systems: numbers of better and worse tracks, and those that changed most."""

    metric: str
    system: str
    other: str
    better: int
    worse: int
    same: int
    changes: tuple[TrackChange, ...]
    """Those with the largest differences, better and worse, the largest first."""


def compare_pair(ds: xr.Dataset, system: str, other: str, metrics: Sequence[str]) -> list[PairedComparison]:
    """Compare two systems of an evaluation on each of the metrics; without correction, as each answers one question.

    Parameters
    ----------
    ds : xr.Dataset
        Scores of an evaluation.
    metrics : sequence of str
        Identities as they are stored.
    """
    pair = ds.sel(system=[system, other])
    found: list[PairedComparison] = []
    for metric in metrics:
        try:
            compared = compare(pair, Query(metric=metric, exact=True, missing=MISSING), correction="none")
        except QueryError:
            continue  # nothing that a test could be made of, such as a single track
        cell = {name: compared[name].values[0, 1, 0] for name in ("difference", "low", "high", "p", "significant", "n")}
        difference = _number(cell["difference"])
        lower = names_of(compared, "orientation")[0] == "lower"
        outcome: Outcome = "not told apart"
        if bool(cell["significant"]) and difference:
            outcome = "better" if (difference > 0) != lower else "worse"
        ends = _number(cell["low"]), _number(cell["high"]), _number(cell["p"])
        found.append(PairedComparison(metric, system, other, outcome, difference, *ends, int(cell["n"])))
    return found


def track_changes(
    ds: xr.Dataset, system: str, other: str, metric: str | None = None, most: int = 20, tolerance: float = 1e-9
) -> TrackChanges:
    """List the tracks on which two systems differ most, by the headline metric or another one.

    Only for splits whose references are not hidden.

    Parameters
    ----------
    ds : xr.Dataset
        Scores of an evaluation.
    metric : str or None
        Identity as it is stored; None: the headline metric.
    most : int
        Number of changes to list.
    tolerance : float
        Smaller differences are none.
    """
    metric = metric or str(headline_metric(ds))
    scores = ds["score"].sel(metric=metric, system=[system, other]).transpose("system", "track").values
    lower = str(ds["orientation"].sel(metric=metric).item()) == "lower"
    gain = (scores[1] - scores[0]) if lower else (scores[0] - scores[1])
    better, worse = int(np.sum(gain > tolerance)), int(np.sum(gain < -tolerance))
    size = np.where(np.isfinite(gain), np.abs(gain), -1.0)
    order = [place for place in np.argsort(-size, kind="stable")[:most].tolist() if size[place] > tolerance]
    names = ds["track"].values.tolist()
    changes = (TrackChange(str(names[at]), _number(scores[0, at]), _number(scores[1, at])) for at in order)
    same = int(np.isfinite(gain).sum()) - better - worse
    return TrackChanges(metric, system, other, better, worse, same, tuple(changes))


def first_difference(one: Annotation, other: Annotation) -> float | None:
    """The time in seconds from which two estimates of a track say different things; None if they never do.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> one = Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0])}, ["C", "G"])
    >>> other = Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0])}, ["C", "A:min"])
    >>> later = Annotation("intervals", {"start": np.array([0.0, 3.0]), "end": np.array([3.0, 4.0])}, ["C", "G"])
    >>> first_difference(one, other), first_difference(one, later), first_difference(one, one)
    (2.0, 2.0, None)
    """
    mine, theirs = Counter(_items(one)), Counter(_items(other))
    lone = sorted((mine - theirs).elements()), sorted((theirs - mine).elements())
    first = [rows[0] for rows in lone if rows]
    if not first:
        return None
    begins = [start for start, _, _ in first]
    if len(first) == 2 and begins[0] == begins[1] and first[0][2] == first[1][2]:
        return min(end for _, end, _ in first)  # the same item ends earlier in one of them
    return min(begins)


def _items(annotation: Annotation) -> list[tuple[float, float, str]]:
    """Start, end and all else of each item; nothing of kinds without times."""
    columns = annotation.columns
    start = columns.get("start", columns.get("time"))
    if start is None:
        return []
    size, depths = len(start), {one.name: one.depth for one in annotation.schema.variables}
    end, counts = columns.get("end", start), annotation.inner_counts
    others: list[Sequence[Any]] = []
    if annotation.labels is not None and len(annotation.labels) == size:
        others.append(annotation.labels)
    for name, column in columns.items():
        if name in ("start", "end", "time"):
            continue
        if depths.get("time") is not None and depths.get(name) is None:
            # Several values at a time, such as the pitches of a frame.
            others.append([part.tolist() for part in np.split(column, np.cumsum(counts[-1])[:-1])] if size else [])
        elif len(column) == size:
            others.append(column.tolist())
    rest = map(repr, zip(*others, strict=True)) if others else [""] * size
    return [*zip(start.tolist(), end.tolist(), rest, strict=True)]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
