"""What graders mean by a broad category: the fine judgements that they gave with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import AnnotationError
from ...metrics.similarity.cleaning import BROAD
from ...ragged import Float
from .judged import Judgements, all_judged

if TYPE_CHECKING:
    import xarray as xr

_REACH = 1.5
"""Interquartile ranges that a whisker reaches at most."""
_ABOUT = {
    "n": "judgements",
    "mean": "mean",
    "lowest": "lowest judgement",
    "whisker_low": "lowest judgement within 1.5 interquartile ranges of the box",
    "q1": "first quartile",
    "median": "median",
    "q3": "third quartile",
    "whisker_high": "highest judgement within 1.5 interquartile ranges of the box",
    "highest": "highest judgement",
    "outliers": "judgements beyond the whiskers",
}


def fine_within_broad(judgements: Judgements) -> xr.Dataset:
    """The distribution of the fine judgements within each broad category, as the box plots of figure 2 show it.

    Parameters
    ----------
    judgements : Collection or path
        Of kind judgements, as ``mirflow.load_collection(path, "similarity")`` reads them; or that path: a file with the
        columns query, candidate, grader, broad and fine.

    Returns
    -------
    xr.Dataset
        Over ``broad`` (NS, SS, VS): ``n``, ``mean``, ``lowest``, ``whisker_low``, ``q1``, ``median``, ``q3``,
        ``whisker_high``, ``highest`` and ``outliers`` (their number), in the scale of the fine judgements; NaN where
        there are none. Quartiles are interpolated linearly.

    Raises
    ------
    AnnotationError
        Without a judgement that has both parts, and for a grader who judged a candidate twice.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    figure 2.

    Examples
    --------
    >>> from mirflow.annotations.annotation import Annotation
    >>> from mirflow.annotations.collection import collect
    >>> columns = {"broad": np.array(["NS"] * 5), "value": np.array([0.0, 1.0, 1.0, 2.0, 9.0])}
    >>> found = fine_within_broad(collect({"q1": Annotation("judgements", columns, list("abcde"))}))
    >>> {name: float(found[name].sel(broad="NS")) for name in ("median", "whisker_high", "outliers")}
    {'median': 1.0, 'whisker_high': 2.0, 'outliers': 1.0}
    """
    import xarray as xr

    judged = all_judged(judgements)
    both = ~np.isnan(judged.level) & ~np.isnan(judged.fine)
    if not both.any():
        raise AnnotationError("no judgement has both a broad and a fine part", path=judged.source or None)
    boxes = [_box(judged.fine[both & (judged.level == level)]) for level in range(len(BROAD))]
    variables = {
        name: ("broad", np.array([box[name] for box in boxes]), {"long_name": about}) for name, about in _ABOUT.items()
    }
    return xr.Dataset(variables, {"broad": list(BROAD)})


def _box(fine: Float) -> dict[str, float]:
    if not len(fine):
        return {name: 0 if name in ("n", "outliers") else float("nan") for name in _ABOUT}
    q1, median, q3 = np.quantile(fine, [0.25, 0.5, 0.75]).tolist()
    reach = _REACH * (q3 - q1)
    inside = (fine >= q1 - reach) & (fine <= q3 + reach)
    return {
        "n": len(fine),
        "mean": float(fine.mean()),
        "lowest": float(fine.min()),
        "whisker_low": float(fine[inside].min()),
        "q1": q1,
        "median": median,
        "q3": q3,
        "whisker_high": float(fine[inside].max()),
        "highest": float(fine.max()),
        "outliers": int((~inside).sum()),
    }
