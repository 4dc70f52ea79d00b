"""The scores that a query selects and which of them count, read a block of systems at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError, counted
from ..metrics.aggregates import AGGREGATES, NEGLIGIBLE
from ..ragged import Bool, Float, Int
from ..store.cells import Status
from .missing import are_apart, check_policies, find_gaps, has_score, included_scores
from .query_options import Query
from .scores import Array, Scores, Status8, computed, coords_of, names_of, numbers_of, numerators_of, states_of

if TYPE_CHECKING:
    import xarray as xr

CELLS = ("score", "weight", "_included", "_missing", "_undefined")
"""Variables over (system, track, metric) of selected scores: in a store no name begins with an underscore."""

STORES = "stores"
"""The attribute of an evaluation that was joined from several stores."""

EMPTY_COUNTED, UNCOUNTED, COSTLIEST = "empty_estimates", "uncounted_cells", "costliest"
"""Attributes of an answer: the number of empty estimates that count, of missing cells that do not count as 0 as their
references are not usable, and the system without which most tracks more would count, in words."""

VALUELESS = "valueless"
"""The attribute of an answer that says which scores with nothing to measure are NaN: ``some`` or ``all``."""

_FEW, _SHARE = 5, 0.1
"""Number of tracks, and their share of those that count, by which a system that costs them is named."""

_BLOCK = 2**18
"""Scores in a block, of which a query holds about ten arrays at a time."""
_SYSTEMS, _LARGEST = 8, 2**20
"""Systems in a block if there are very many tracks, as each access to a store takes a while, and scores of these."""
_BLOCK_PER_GROUP = 2**10
"""Scores in a block for each group of tracks: many groups take longer to tell apart than to add up."""


def count_scores(
    score: Float,
    weight: Float,
    status: Status8,
    missing: str,
    undefined: str,
    *,
    bare: Bool | None = None,
    shared: Bool | None = None,
) -> dict[str, Array]:
    """Find out which scores count under two policies.

    `score`, `weight` (float64 (systems, tracks, metrics)), `status` (int8 (systems, tracks)). Returns dict of str to
    array (systems, tracks, metrics): those of `CELLS`; missing scores are 0 under ``zero``.
    """
    gaps = find_gaps(score, weight, status, bare)
    score, included = included_scores(score, weight, gaps, missing, undefined, shared)
    return dict(zip(CELLS, (score, weight, included, gaps.missing, gaps.undefined), strict=True))


@dataclass(frozen=True)
class SelectedScores:
    """Scores of some metrics, which are read when they are needed."""

    scores: Scores
    """The systems and tracks of a query, with all their metrics."""
    kinds: Mapping[int, str]
    """The aggregate of each selected metric, by its position."""
    missing: str
    undefined: str
    status: Status8
    duration: Float
    first: int | None = None
    """Place, among the selected metrics, of the one whose best system comes first; None: systems keep their order."""

    @classmethod
    def of(cls, scores: Scores, kinds: Mapping[int, str], query: Query, first: int | None = None) -> SelectedScores:
        """Some metrics of an evaluation, under the policies of a query."""
        scores = computed(scores)
        status, duration = states_of(scores)
        apart = STORES in scores.attrs and are_apart(scores.attrs, status)
        missing = query.policy(len(status), apart=apart)
        check_policies(missing, query.undefined)
        return cls(scores, kinds, missing, query.undefined, status, duration, first)

    @property
    def metrics(self) -> list[int]:
        """Positions of the selected metrics."""
        return list(self.kinds)

    @property
    def aggregates(self) -> list[str]:
        """The aggregate of each selected metric."""
        return list(self.kinds.values())

    def names(self, name: str) -> list[str]:
        """Labels of systems, tracks or the selected metrics, or a coordinate of these as text."""
        return names_of(self.scores, name, None if name in ("system", "track") else self.metrics)

    def blocks(self, groups: int = 1) -> list[slice]:
        """Systems whose scores take a bounded amount of memory together; the more groups of tracks, the more."""
        systems, tracks = self.status.shape
        most = max(_BLOCK, _BLOCK_PER_GROUP * groups)
        size = max(1, tracks * len(self.kinds))
        step = max(2, most // size, min(_SYSTEMS, _LARGEST // size))
        # At least two systems, if there are as many: numpy adds up the tracks of a single one in another order.
        starts = [*range(0, systems - 1, step)] or [0]
        return [slice(*ends) for ends in zip(starts, [*starts[1:], systems], strict=True)]

    def cells(self, systems: slice | Sequence[int] = slice(None), shared: Bool | None = None) -> dict[str, Array]:
        """Read the scores of some systems.

        `systems`: neighbours, or the places of some. `shared` (bool (tracks, metrics) or None): the scores that count
        under ``common``; None: those that all of these systems have. Returns dict of str to array (systems, tracks,
        metrics): those of `CELLS`.
        """
        if not isinstance(systems, slice):
            # Places in order as slices of neighbours.
            places = np.asarray(systems, dtype=np.int64)
            runs = np.split(places, np.flatnonzero(np.diff(places, prepend=-2) != 1)[1:])
            parts = [self.cells(slice(int(run[0]), int(run[-1]) + 1), shared) for run in runs]
            if len(parts) == 1:
                return parts[0]
            return {name: np.concatenate([part[name] for part in parts]) for name in CELLS}
        # Contiguous, as sums depend on the memory layout in their last bits; xarray's own come from such arrays.
        score, weight = map(np.ascontiguousarray, numbers_of(self.scores, self.metrics, systems))
        numerator = numerators_of(self.scores, self.metrics, systems)
        if numerator is not None:
            score, weight = with_surplus(score, weight, numerator, self.aggregates)
        bare = self.bare[systems] if self.missing == "zero" else None
        return count_scores(score, weight, self.status[systems], self.missing, self.undefined, bare=bare, shared=shared)

    @cached_property
    def bare(self) -> Bool:
        """The cells of :func:`bare_cells`."""
        return bare_cells(self.scores, self.status, self.duration)

    def shared_by_status(self) -> Bool:
        """Scores that all systems have, as far as statuses say: bool (tracks, metrics)."""
        scored = np.asarray(has_score(self.status).all(axis=0))
        return np.repeat(scored[:, np.newaxis], len(self.kinds), axis=1)

    def frame(self, attrs: Mapping[str, Any]) -> xr.Dataset:
        """The coordinates of the selection, and ``_aggregate`` along its metrics."""
        from ..lazy_array import plain_dataset

        ds: Any = self.scores
        coords: dict[str, Any] = {"_aggregate": ("metric", np.array(self.aggregates, dtype=str))}
        for dim in ("system", "track", "metric"):
            own = {dim: ds[dim].values, **coords_of(ds, dim)}
            coords |= {name: (dim, one[self.metrics] if dim == "metric" else one) for name, one in own.items()}
        return plain_dataset({}, coords, {**ds.attrs, **attrs})


def with_surplus(score: Float, weight: Float, numerator: Float, kinds: Sequence[str]) -> tuple[Float, Float]:
    """Scores and weights whose products include numerators over a weight of 0, for aggregates of such products.

    All arrays are (systems, tracks, metrics); `kinds` are the aggregates of the metrics.
    """
    pooled = np.array([getattr(AGGREGATES.get(kind), "above", "") == "weight" for kind in kinds], dtype=np.bool_)
    surplus = (numerator > 0) & (weight == 0) & pooled
    return np.where(surplus, numerator / NEGLIGIBLE, score), np.where(surplus, NEGLIGIBLE, weight)


def counted_scores(part: xr.Dataset) -> Float:
    """Scores that count in selected scores, (systems, tracks, metrics); NaN elsewhere, and where nothing is measured
    although errors are counted."""
    counted = part["_included"].values & (part["weight"].values != NEGLIGIBLE)
    return np.where(counted, part["score"].values, np.nan)


def bare_cells(scores: Scores, status: Status8, duration: Float) -> Bool:
    """Mark the cells without a score whose references have neither a duration nor, by any metric, a weight.

    Weights are read a system at a time, of the systems that lack scores.
    """
    bare = np.asarray(~has_score(status) & ~(duration > 0))
    every = range(len(names_of(scores, "metric")))
    for system in np.flatnonzero(bare.any(axis=1)).tolist():
        bare[[system]] &= (numbers_of(scores, every, slice(system, system + 1))[1] == 0).all(axis=2)
    return bare


def count_unscored(ds: Scores) -> int:
    """Number of cells without a score by any metric."""
    every = dict.fromkeys(range(len(names_of(ds, "metric"))), "")
    selected = SelectedScores.of(ds, every, Query(missing="skip"))
    return sum(int(selected.cells(block)["_missing"].all(axis=2).sum()) for block in selected.blocks())


class SelectionTotals:
    """What checks and notes need to know about all scores, gathered from blocks of systems."""

    def __init__(self, selected: SelectedScores) -> None:
        tracks, metrics = selected.status.shape[1], len(selected.kinds)
        self._selected = selected
        self.shared: Bool = np.ones((tracks, metrics), dtype=np.bool_)
        """Scores that all systems have: bool (tracks, metrics)."""
        self.counting_everywhere: Bool = np.ones((tracks, metrics), dtype=np.bool_)
        """Scores that count for all systems: bool (tracks, metrics)."""
        self.counting: Bool = np.zeros((tracks, metrics), dtype=np.bool_)
        """Scores that count for any system: bool (tracks, metrics)."""
        self._lacking: Bool = np.zeros(metrics, dtype=np.bool_)
        self._incomplete: list[Bool] = []
        self._gaps = {"missing_cells": 0, "undefined_cells": 0}
        self._empty = self._uncounted = 0
        systems = len(selected.status)
        self._added, self._lacks = np.zeros(systems, dtype=np.bool_), np.zeros(systems, dtype=np.int64)
        """Whether a system was added, and how many tracks it lacks."""
        self._lacking_systems, self._last = np.zeros(tracks, dtype=np.int64), np.zeros(tracks, dtype=np.int64)
        """Of each track, how many systems lack it, and the last of them."""
        self._values = {"some": False, "none": False}

    def add(self, cells: Mapping[str, Array], systems: slice | Int = slice(None)) -> None:
        """Add the scores of some systems, given by their places in the selection; each counts once."""
        missing, undefined = cells["_missing"], cells["_undefined"]
        self.shared &= ~missing.any(axis=0)
        self.counting_everywhere &= cells["_included"].all(axis=0)
        self.counting |= cells["_included"].any(axis=0)
        self._lacking |= missing.any(axis=(0, 1))
        incomplete = np.asarray(missing.any(axis=2))
        if self._selected.missing == "raise":
            self._incomplete.append(incomplete)
        place = np.arange(len(self._added))[systems]
        new: Bool = ~self._added[place]
        self._added[place] = True
        counted_cells = cells["_included"].any(axis=2)
        self._empty += int((counted_cells & (self._selected.status[place] == Status.empty_estimate))[new].sum())
        self._uncounted += int((incomplete & ~counted_cells)[new].sum())
        self._lacks[place] = incomplete.sum(axis=1)
        self._lacking_systems += incomplete[new].sum(axis=0)
        row, track = np.nonzero(incomplete)
        self._last[track] = place[row]
        gaps: dict[str, Bool] = {"missing_cells": incomplete, "undefined_cells": np.asarray(undefined.any(axis=2))}
        for name, cell in gaps.items():
            self._gaps[name] += int(cell[new].sum())
        valued = ~np.isnan(cells["score"][undefined])
        self._values["some"] |= bool(valued.any())
        self._values["none"] |= not valued.all()

    def policies(self) -> dict[str, str]:
        """The policies as attributes, and which scores with nothing to measure are NaN."""
        attrs = {"missing": self._selected.missing, "undefined": self._selected.undefined}
        attrs |= {EMPTY_COUNTED: str(self._empty)} if self._empty else {}
        attrs |= {UNCOUNTED: str(self._uncounted)} if self._uncounted and self._selected.missing == "zero" else {}
        if self._selected.missing == "common" and len(self._added) > 1:
            # The system without which most tracks more would be common.
            alone = np.bincount(self._last[self._lacking_systems == 1], minlength=len(self._added))
            system, common = int(alone.argmax()), int((self._lacking_systems == 0).sum())
            if alone[system] >= max(_FEW, _SHARE * common):
                name, lacks = self._selected.names("system")[system], int(self._lacks[system])
                attrs[COSTLIEST] = f"{name} lacks {lacks}; without it {common + int(alone[system])} count"
        return attrs | ({VALUELESS: "some" if self._values["some"] else "all"} if self._values["none"] else {})

    def gaps(self) -> dict[str, str]:
        """Numbers of cells as attributes: a cell counts once, however many metrics it lacks."""
        return {name: str(number) for name, number in self._gaps.items()}

    def check(self) -> None:
        """Raise a QueryError if a policy does not allow what is missing, or an aggregate needs unknown durations."""
        selected = self._selected
        if selected.missing == "raise" and self._lacking.any():
            names = selected.names("system"), selected.names("track")
            raise QueryError(list_missing(*names, np.concatenate(self._incomplete), selected.status))
        if selected.missing == "zero":
            if STORES in self._selected.scores.attrs and (self._selected.status == Status.not_computed).any():
                raise QueryError(
                    "some systems and tracks are in different stores, so the weights of missing scores are "
                    "unknown; choose missing skip or common (--missing)"
                )
            for column, orientation in enumerate(self._selected.names("orientation")):
                if orientation == "lower" and self._lacking[column]:
                    raise QueryError(
                        f"metric {self._selected.names('metric')[column]!r}: lower is better, so a missing score "
                        "cannot count as 0; choose missing skip or common (--missing)"
                    )
        unknown = np.isnan(selected.duration)
        if unknown.any():
            check_durations(selected.aggregates, self.counting.any(axis=1) & unknown, selected.names("track"))


def check_durations(kinds: Sequence[str], unknown: Bool, tracks: Sequence[str]) -> None:
    """Raise a QueryError for an aggregate over durations if those of some tracks (tracks,) that count are unknown."""
    for kind in dict.fromkeys(kind for kind in kinds if AGGREGATES[kind].needs_duration):
        if unknown.any():
            track = tracks[int(np.flatnonzero(unknown)[0])]
            raise QueryError(
                f"aggregate {kind!r} needs the durations of the references, and that of track {track!r} is not "
                "known here; choose wcsr, or ask a store that holds `duration`"
            )


_SHOWN = 5


def list_missing(systems: Sequence[str], tracks: Sequence[str], missing: Bool, status: Status8) -> str:
    """List the cells (systems, tracks) without a score in a message with a remedy."""
    cells = np.argwhere(missing)
    lines = [
        f"  system {systems[s]!r}, track {tracks[t]!r}: {Status(int(status[s, t])).name}"
        for s, t in cells[:_SHOWN].tolist()
    ]
    if len(cells) > _SHOWN:
        lines.append(f"  and {len(cells) - _SHOWN} more")
    head = f"{len(cells)} of {counted(status.size, 'cell')} have no score; mend them"
    head += " or choose missing zero, skip or common (--missing)"
    return "\n".join([head, *lines])
