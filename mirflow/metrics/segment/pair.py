"""All of mir_eval's segment scores for one pair: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Ragged
from ..base.arguments import refuse_unknown
from ..base.identity import Measure
from ..base.record import Value
from ..checks import BOUNDED, Array, are_times
from ..spans import adjust_intervals
from .checks import validate_structure
from .records import MIR_EVAL

_ARGUMENTS = ("frame_size", "beta", "trim", "marginal")


def evaluate(
    ref_intervals: Array, ref_labels: Sequence[Any], est_intervals: Array, est_labels: Sequence[Any], **kwargs: Any
) -> OrderedDict[str, float]:
    """All segment scores of one estimate.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        The reference is extended to time 0, the estimate cut and filled up to the reference's span.
    ref_labels, est_labels : sequence
        One for each interval.
    **kwargs
        ``frame_size``, ``beta``, ``trim`` and ``marginal``, as in the functions for single scores. Not ``window``:
        boundaries are always scored within 0.5 and 3 seconds.

    Returns
    -------
    OrderedDict of str to float
        22 scores.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        For an empty reference, labels and intervals that differ in number, times that are not finite, and intervals
        without length, also after the estimate is cut.

    Warns
    -----
    MirflowWarning
        For each side of which trimming leaves no boundary.

    Examples
    --------
    >>> times = np.array([[0.0, 9.0], [9.0, 20.0]])
    >>> scores = evaluate(times, ["verse", "chorus"], np.array([[0.0, 20.0]]), ["A"])
    >>> len(scores), scores["F-measure@3.0"], scores["NCE Over"]
    (22, 0.8, 0.0)
    """
    refuse_unknown("evaluate", kwargs, _ARGUMENTS)
    if np.isnan(est_intervals).any() or not are_times(ref_intervals):
        raise ValueError(f"Interval times {BOUNDED}")
    ref_intervals, fitted_ref = adjust_intervals(ref_intervals, ref_labels, 0.0)
    end = ref_intervals.max()
    est_intervals, fitted_est = adjust_intervals(est_intervals, est_labels, 0.0, end)
    ref_labels, est_labels = fitted_ref or [], fitted_est or []
    validate_structure(ref_intervals, ref_labels, est_intervals, est_labels)
    trim = bool(kwargs.get("trim", False))
    for side, intervals in (("Reference", ref_intervals), ("Estimated", est_intervals)):
        if trim and len(intervals) < 2:
            warnings.warn(f"{side} intervals are empty.", MirflowWarning, stacklevel=2)
    wanted = [_with(measure, kwargs) for measure in MIR_EVAL.select()]
    only = np.zeros(1, dtype=np.int64)
    found = MIR_EVAL.score(
        _row(ref_intervals, ref_labels), _row(est_intervals, est_labels), only, only, wanted, "union"
    )
    if found.refused:
        raise ValueError(found.refused[0])
    return OrderedDict((_key(measure), float(value)) for measure, value in zip(wanted, found.score[0], strict=True))


def _with(measure: Measure, given: dict[str, Value]) -> Measure:
    """A measure with the parameters that are given; the windows stay."""
    values = {name: given[name] for name in measure.parameters if name in given}
    return Measure(measure.metric, tuple({**measure.parameters, **values}.values()))


def _key(measure: Measure) -> str:
    return f"{measure.metric.key}@{measure['window']}" if "window" in measure.parameters else measure.metric.key


def _row(intervals: Array, labels: Sequence[Any]) -> Ragged:
    """One row of labelled intervals."""
    named = [str(label) for label in labels]
    vocabulary = {label: code for code, label in enumerate(dict.fromkeys(named))}
    start, end = np.asarray(intervals, dtype=np.float64).T
    codes = np.array([vocabulary[label] for label in named], dtype=np.int64)
    return Ragged({"start": start, "end": end, "label": codes}, (np.array([len(named)]),), tuple(vocabulary))
