"""Fleiss's kappa of the broad categories, with all three and with two of them taken together."""

from __future__ import annotations

from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ...errors import AnnotationError
from ...kernels.kappa import fleiss_kappa, merge_categories
from ...metrics.similarity.cleaning import BROAD
from .judged import Judgements, all_judged

if TYPE_CHECKING:
    import xarray as xr

SCHEMES = MappingProxyType({"3-level": ((0,), (1,), (2,)), "2-level": ((0,), (1, 2))})
"""Which of NS, SS and VS are taken together: none, or SS and VS as similar (S)."""
_ABOUT = {
    "kappa": "Fleiss's kappa",
    "observed": "share of the pairs of graders that agree",
    "expected": "share that would agree by chance",
    "graded": "pairs of a query and a candidate with a broad judgement",
    "compared": "pairs of a query and a candidate with at least two",
    "unanimous": "share of them on which all graders agree",
    "divided": "share of them on which some graders agree",
    "scattered": "share of them on which no two graders agree",
}


def grader_agreement(judgements: Judgements) -> xr.Dataset:
    """How far graders agree on the broad categories.

    Parameters
    ----------
    judgements : Collection or path
        See :func:`mirflow.analysis.graders.fine_within_broad`.

    Returns
    -------
    xr.Dataset
        Over ``scheme`` (``3-level``: NS, SS, VS; ``2-level``: NS, S): ``kappa``, ``observed`` and ``expected``
        agreement, ``graded`` and ``compared`` (pairs of a query and a candidate with a grader, and with several), the
        shares ``unanimous``, ``divided`` and ``scattered`` of the latter, and ``strength`` in the words of Landis and
        Koch. The attributes ``least_graders`` and ``most_graders`` tell how many judged a pair.

    Raises
    ------
    AnnotationError
        Without any broad judgement, and for a grader who judged a candidate twice.

    References
    ----------
    See :func:`mirflow.kernels.kappa.fleiss_kappa`; section 4.2 and table 6 of Downie et al. 2010.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> from mirflow.annotations.collection import collect
    >>> broad = np.array(["VS", "SS", "NS", "NS"])
    >>> query = Annotation("judgements", {"broad": broad}, ["x", "x", "y", "y"])
    >>> grader_agreement(collect({"q1": query})).kappa.values.round(4).tolist()
    [0.2, 1.0]
    """
    import xarray as xr

    judged = all_judged(judgements)
    told = ~np.isnan(judged.level)
    if not told.any():
        raise AnnotationError("there is no broad judgement", path=judged.source or None)
    pairs = int(judged.pair.max()) + 1
    cell = judged.pair[told] * len(BROAD) + judged.level[told].astype(np.int64)
    counts = np.bincount(cell, minlength=pairs * len(BROAD)).reshape(pairs, len(BROAD))
    found = [fleiss_kappa(merge_categories(counts, groups)) for groups in SCHEMES.values()]
    variables = {
        name: ("scheme", np.array([asdict(one)[name] for one in found]), {"long_name": about})
        for name, about in _ABOUT.items()
    }
    strength = np.array([one.strength for one in found], dtype=str)
    graders = counts.sum(axis=1)
    graders = graders[graders > 0]
    return xr.Dataset(
        {**variables, "strength": ("scheme", strength, {"long_name": "in the words of Landis and Koch"})},
        {"scheme": list(SCHEMES)},
        {"least_graders": int(graders.min()), "most_graders": int(graders.max())},
    )
