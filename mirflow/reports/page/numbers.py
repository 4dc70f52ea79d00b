"""Numbers of an evaluation for the page: scores, weights, flags of cells, and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.aggregation import STORES, reduce
from ...analysis.missing import Gaps, are_apart, find_gaps, included_scores
from ...analysis.scores import Array, arrays_of
from ...metrics.aggregates import STATISTICS
from ...ragged import Float
from ...store.cells import Status
from .embed import Parts, pack_bytes, pack_floats

if TYPE_CHECKING:
    import xarray as xr

_MISSING, _UNDEFINED, _POLICIES = 1, 2, 2
"""Bits of a cell's flags; from the third one on it counts under the first, second, ... policy."""


class EvaluationNumbers:
    """Scores of an evaluation and what follows from them, each computed when it is asked for.

    Parameters
    ----------
    scores : xr.Dataset
    groups : sequence of sequence of int
        Positions of the tracks of each group whose statistics the page shows; all tracks come before them.
    """

    def __init__(self, scores: xr.Dataset, groups: Sequence[Sequence[int]]) -> None:
        self.score, self.weight, self.status, self.duration = arrays_of(scores)
        self.policies = _policies(scores, self.status)
        self._groups = [[*range(scores.sizes["track"])], *groups]
        self._gaps = find_gaps(self.score, self.weight, self.status, self.duration)

    def put_scores(self, parts: Parts, name: str, metric: int, kinds: Sequence[str]) -> dict[str, Any]:
        """Put the scores of a metric, its weights, flags, and the aggregates that are not ratios of sums.

        Parameters
        ----------
        parts : Parts
            It grows.
        name : str
            What the names of the parts begin with.
        metric : int
            Its position.
        kinds : sequence of str
            The aggregates that the metric has.
        """
        statistics = [kind for kind in kinds if kind in STATISTICS]
        makers = {"score": self.score, "weight": self.weight}
        put = {key: parts.put(f"{name}/{key}", partial(pack_floats, of[..., metric])) for key, of in makers.items()}
        put["flags"] = parts.put(f"{name}/flags", lambda: pack_bytes(self.flags(metric)))
        own = {kind: parts.put(f"{name}/{kind}", partial(self._pack_statistic, metric, kind)) for kind in statistics}
        return {**put, "statistics": own}

    def flags(self, metric: int) -> Array:
        """Flags of the cells (systems, tracks): missing, undefined, and under which policies they count."""
        gaps = self._gaps_of([metric])
        flags = _MISSING * gaps.missing + _UNDEFINED * gaps.undefined
        for place, policy in enumerate(self.policies):
            _, included = included_scores(self.score[..., [metric]], self.weight[..., [metric]], gaps, policy, "keep")
            flags += included.astype(int) << (_POLICIES + place)
        return flags[..., 0].astype(np.uint8)

    def aggregates(self, metric: int, kinds: Sequence[str], policy: str) -> Float:
        """Aggregates over all tracks.

        Returns
        -------
        float64 (3 + aggregates, systems)
            How many scores count, are missing, and are undefined; then each aggregate.
        """
        own, gaps = [metric], self._gaps_of([metric])
        score, included = included_scores(self.score[..., own], self.weight[..., own], gaps, policy, "keep")
        counts = [part.sum(axis=1)[:, 0] for part in (included, gaps.missing, gaps.undefined)]
        values = [reduce(score, self.weight[..., own], self.duration, kind, included)[:, 0] for kind in kinds]
        return np.array([*counts, *values], dtype=np.float64)

    def _gaps_of(self, metrics: Sequence[int]) -> Gaps:
        gaps = self._gaps
        return Gaps(gaps.missing[..., metrics], gaps.undefined[..., metrics], gaps.without_reference)

    def _pack_statistic(self, metric: int, kind: str) -> bytes:
        return pack_floats(self._statistic(metric, kind))

    def _statistic(self, metric: int, kind: str) -> Float:
        """An aggregate that is not a ratio of sums, which the page does not compute (policies, groups, systems)."""
        own, gaps = [metric], self._gaps_of([metric])
        score, weight = self.score[..., own], self.weight[..., own]
        each = [included_scores(score, weight, gaps, policy, "keep") for policy in self.policies]
        # The systems of all policies at once: there may be many groups.
        score, included = (np.concatenate(parts) for parts in zip(*each, strict=True))
        found = np.empty((len(self._groups), len(score)))
        for place, tracks in enumerate(self._groups):
            found[place] = reduce(score[:, tracks], np.empty(0), np.empty(0), kind, included[:, tracks])[:, 0]
        return np.moveaxis(found.reshape(len(self._groups), len(self.policies), -1), 0, 1)


def _policies(scores: xr.Dataset, status: Array) -> list[str]:
    """Policies for missing scores, as in a query, the default first."""
    if STORES in scores.attrs and (status == Status.not_computed).any():
        # The weights of scores that no store has are not known.
        return ["skip", "common"] if are_apart(scores.attrs, status) else ["common", "skip"]
    return ["common", "skip", "zero"]
