"""mir_eval's onset metrics for one pair: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..base.arguments import refuse_unknown
from ..base.identity import Measure
from ..checks import Array
from ..events import one_row, validate_pair
from .records import MIR_EVAL
from .scoring import score

_MEASURES = MIR_EVAL.select()


def validate(reference_onsets: Array, estimated_onsets: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    reference_onsets, estimated_onsets : (n,) and (m,), seconds

    Raises
    ------
    ValueError
        For times that are not finite, later than `MAX_TIME` or not in order, and arrays that are not flat.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """
    validate_pair(reference_onsets, estimated_onsets, "onsets", stacklevel=2)


def f_measure(reference_onsets: Array, estimated_onsets: Array, window: float = 0.05) -> tuple[float, float, float]:
    """F-measure, precision and recall of the onsets that have a match within a window.

    Parameters
    ----------
    reference_onsets, estimated_onsets : (n,) and (m,), seconds
        In order of time.
    window : float, seconds
        Largest distance of matched onsets.

    Returns
    -------
    f_measure, precision, recall : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> f_measure(np.array([0.5, 1.0]), np.array([0.52, 0.8, 1.04, 2.0]))
    (0.6666666666666666, 0.5, 1.0)
    """
    validate_pair(reference_onsets, estimated_onsets, "onsets", stacklevel=2)
    return _scores(reference_onsets, estimated_onsets, window)


def evaluate(reference_onsets: Array, estimated_onsets: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """All onset scores of one estimate.

    Parameters
    ----------
    reference_onsets, estimated_onsets : (n,) and (m,), seconds
        In order of time.
    **kwargs
        ``window``, see `f_measure`.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `validate`, which also warns.

    Examples
    --------
    >>> dict(evaluate(np.array([0.5, 1.0]), np.array([0.52]), window=0.03))
    {'F-measure': 0.6666666666666666, 'Precision': 1.0, 'Recall': 0.5}
    """
    refuse_unknown("evaluate", kwargs, ("reference_onsets", "estimated_onsets", "window"))
    validate_pair(reference_onsets, estimated_onsets, "onsets", stacklevel=2)
    found = _scores(reference_onsets, estimated_onsets, **kwargs)
    return OrderedDict((one.metric.key, value) for one, value in zip(_MEASURES, found, strict=True))


def _scores(reference: Array, estimate: Array, window: float = 0.05) -> tuple[float, float, float]:
    only = np.zeros(1, dtype=np.int64)
    measures = [Measure(one.metric, (window, *one.values[1:])) for one in _MEASURES]
    scores = score(one_row(reference), one_row(estimate), only, only, measures)
    f, precision, recall = scores.score[0].tolist()
    return f, precision, recall
