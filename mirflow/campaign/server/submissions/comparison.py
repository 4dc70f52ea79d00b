"""Comparison of a submission with earlier ones and with the leader, by paired tests and track by track."""

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
"""Treatment of missing estimates: a submission cannot choose its tracks."""


@dataclass(frozen=True, slots=True)
class TrackChange:
    """The scores of two systems on a track; None if missing."""

    track: str
    score: float | None
    other: float | None

    @property
    def difference(self) -> float | None:
        """The first score minus the second."""
        return None if self.score is None or self.other is None else self.score - self.other


@dataclass(frozen=True, slots=True)
class TrackChanges:
    """Changes by track between two systems: counts of better and worse tracks, and the largest changes."""

    metric: str
    system: str
    other: str
    better: int
    worse: int
    same: int
    changes: tuple[TrackChange, ...]
    """The largest differences, better or worse, in descending order."""


def compare_pair(ds: xr.Dataset, system: str, other: str, metric: str) -> dict[str, Any] | None:
    """Compare two systems by a metric, without correction since each test answers a separate question.

    `metric`: its stored identity.
    Returns: ``metric``, ``outcome`` (for the system, at the level of 0.05), ``difference`` (the system's value minus
      the other's), ``low`` and ``high`` (95 % interval over paired tracks; None for fewer than six), ``p`` (of the
      permutation test, or of the metric's own test) and ``tracks``. None if there is no test, as for a single track.
    """
    try:
        query = Query(metric=metric, exact=True, missing=MISSING)
        compared = compare(ds.sel(system=[system, other]), query, correction="none")
    except QueryError:
        return None
    cell = {name: compared[name].values[0, 1, 0] for name in ("difference", "low", "high", "p", "significant", "n")}
    numbers = {name: finite_or_none(cell[name]) for name in ("difference", "low", "high", "p")}
    outcome: Outcome = "not told apart"
    if bool(cell["significant"]) and numbers["difference"]:
        lower = names_of(compared, "orientation")[0] == "lower"
        outcome = "better" if (numbers["difference"] > 0) != lower else "worse"
    return {"metric": metric, "outcome": outcome, **numbers, "tracks": int(cell["n"])}


_MOST_TRACKS = 20
"""Changes of tracks that are listed."""
_TOLERANCE = 1e-9
"""Smaller differences of scores are none."""


def track_changes(ds: xr.Dataset, system: str, other: str, metric: str | None = None) -> TrackChanges:
    """List the tracks on which two systems differ most, by the headline metric or another one.

    Only for splits whose references are not hidden.

    `metric`: stored identity; None: the headline metric.
    """
    metric = metric or str(headline_metric(ds))
    scores = ds["score"].sel(metric=metric, system=[system, other]).transpose("system", "track").values
    lower = str(ds["orientation"].sel(metric=metric).item()) == "lower"
    gain = (scores[1] - scores[0]) if lower else (scores[0] - scores[1])
    better, worse = int(np.sum(gain > _TOLERANCE)), int(np.sum(gain < -_TOLERANCE))
    size = np.where(np.isfinite(gain), np.abs(gain), -1.0)
    order = [row for row in np.argsort(-size, kind="stable")[:_MOST_TRACKS].tolist() if size[row] > _TOLERANCE]
    names = ds["track"].values.tolist()
    changes = (TrackChange(str(names[row]), *map(finite_or_none, scores[:, row])) for row in order)
    same = int(np.isfinite(gain).sum()) - better - worse
    return TrackChanges(metric, system, other, better, worse, same, tuple(changes))


def first_difference(one: Annotation, other: Annotation) -> float | None:
    """Return the time in seconds at which two estimates of a track first differ; None if they never do.

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
        return min(end for _, end, _ in first)  # the same item ends at different times
    return min(begins)


def _items(annotation: Annotation) -> list[tuple[float, float, str]]:
    columns = annotation.columns
    start = columns.get("start", columns.get("time"))
    if start is None:
        return []
    size, depths = len(start), {variable.name: variable.depth for variable in annotation.schema.variables}
    end, counts = columns.get("end", start), annotation.inner_counts
    others: list[Sequence[Any]] = []
    if annotation.labels is not None and len(annotation.labels) == size:
        others.append(annotation.labels)
    for name, column in columns.items():
        if name in ("start", "end", "time"):
            continue
        if depths.get("time") is not None and depths.get(name) is None:
            # Several values per time, such as the pitches of a frame.
            others.append([part.tolist() for part in np.split(column, np.cumsum(counts[-1])[:-1])] if size else [])
        elif len(column) == size:
            others.append(column.tolist())
    rest = map(repr, zip(*others, strict=True)) if others else [""] * size
    return [*zip(start.tolist(), end.tolist(), rest, strict=True)]


def finite_or_none(value: float) -> float | None:
    """Return a number for a table of the database; None if it is NaN or infinite."""
    return float(value) if np.isfinite(value) else None
