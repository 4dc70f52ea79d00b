"""Which scores count: what is missing, what had nothing to measure, and what is done about either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import UnknownNameError
from ..ragged import Bool, Float
from ..status import SCORED, Status
from .names import MISSING, UNDEFINED


@dataclass(frozen=True)
class Gaps:
    """What is not a plain score among (systems, tracks, metrics).

    Parameters
    ----------
    missing : bool (systems, tracks, metrics)
        No score: the cell was not scored, or the score is NaN although there was something to measure.
    undefined : bool (systems, tracks, metrics)
        Scored, but with weight 0: there was nothing to measure.
    without_reference : bool (systems, tracks)
        Missing because the track has no usable reference, which is no system's fault.
    """

    missing: Bool
    undefined: Bool
    without_reference: Bool

    def count_cells(self) -> dict[str, int]:
        """How many cells, pairs of a system and a track, lack some metric, and have nothing to measure for some.

        A cell counts once, however many metrics it is about.
        """
        flags = {"missing_cells": self.missing, "undefined_cells": self.undefined}
        return {name: int(flag.any(axis=2).sum()) for name, flag in flags.items()}


def find_gaps(score: Float, weight: Float, status: npt.NDArray[np.int8], duration: Float) -> Gaps:
    """What is missing and what had nothing to measure.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
    status : int8 (systems, tracks)
        Values of :class:`mirflow.status.Status`.
    duration : float64 (tracks,), seconds
        Durations of the references; 0 or NaN where there is none.

    Examples
    --------
    >>> score, weight = np.array([[[1.0], [np.nan], [0.0]]]), np.array([[[9.0], [9.0], [0.0]]])
    >>> status = np.array([[Status.ok, Status.missing_estimate, Status.ok]], dtype=np.int8)
    >>> gaps = find_gaps(score, weight, status, np.array([9.0, 9.0, 9.0]))
    >>> gaps.missing.ravel().tolist(), gaps.undefined.ravel().tolist()
    ([False, True, False], [False, False, True])
    """
    scored = np.isin(status, [int(one) for one in SCORED])
    nothing = weight == 0
    missing = ~scored[..., np.newaxis] | (np.isnan(score) & ~nothing)
    bare = ~scored & nothing.all(axis=2) & ~(duration > 0)
    return Gaps(missing, nothing & ~missing, (status == Status.missing_reference) | bare)


def included_scores(score: Float, weight: Float, gaps: Gaps, missing: str, undefined: str) -> tuple[Float, Bool]:
    """The scores to aggregate and which of them count.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
    gaps : Gaps
    missing : {"raise", "zero", "skip", "common"}
        ``raise`` counts like ``skip``: whoever calls has raised before if anything is missing.
    undefined : {"keep", "skip"}

    Returns
    -------
    score : float64 (systems, tracks, metrics)
    included : bool (systems, tracks, metrics)
        A score of NaN never counts.
    """
    have = ~gaps.missing
    if missing == "common":
        have &= have.all(axis=0, keepdims=True)
    elif missing == "zero":
        score = np.where(gaps.missing, 0.0, score)
        have |= ~gaps.without_reference[..., np.newaxis]
    if undefined == "skip":
        have &= weight != 0
    return score, have & ~np.isnan(score)


def are_apart(attrs: Mapping[str, object], status: npt.NDArray[np.int8]) -> bool:
    """Whether an evaluation of several stores has no track that all systems (systems, tracks) were run on."""
    return "stores" in attrs and not (status != Status.not_computed).all(axis=0).any()


def check_policies(missing: str, undefined: str) -> None:
    """Refuse names that are no policies."""
    if missing not in MISSING:
        raise UnknownNameError("policy for missing scores", missing, MISSING)
    if undefined not in UNDEFINED:
        raise UnknownNameError("policy for undefined scores", undefined, UNDEFINED)
