"""All measures of score following for one performance: the batched kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from ...annotations.annotation import Annotation, to_ragged
from ...errors import InvalidAnnotationError
from ...ragged import Ragged
from ..base.flaws import usable
from .cleaning import clean
from .records import TASK
from .scoring import score

_REFERENCE = ("time", "position", "pitch")
_ESTIMATE = ("time", "detected", "position", "pitch")


def evaluate(
    reference: npt.ArrayLike,
    estimate: npt.ArrayLike,
    *,
    threshold: float = 2.0,
    by: str = "estimated",
    tolerance: float = 0.001,
) -> OrderedDict[str, float]:
    """All scores of what a follower reported of one performance.

    Parameters
    ----------
    reference : (notes, 3)
        Onset in the performance and in the score, in seconds, and MIDI number.
    estimate : (reports, 4)
        Estimated onset in the performance, time of detection and onset in the score, in seconds, and MIDI number: the
        columns of MIREX, which are in milliseconds there.
    threshold : float, seconds
        Largest distance of a correctly aligned note.
    by : {"estimated", "detected"}
        Whether the estimated onset or the time of detection is to be so near.
    tolerance : float, seconds
        By how much positions in the score may differ.

    Returns
    -------
    OrderedDict of str to float
        By the names of the metrics; NaN for what is measured of aligned notes where there are none.

    Raises
    ------
    AnnotationError
        For arrays of another shape and times that are negative or not finite.
    MetricError
        For parameters that cannot be.

    References
    ----------
    A. Cont, D. Schwarz, N. Schnell, C. Raphael, "Evaluation of real-time audio-to-score alignment", ISMIR 2007.

    Examples
    --------
    >>> found = evaluate([[0.0, 0.0, 60], [1.0, 0.5, 62]], [[0.25, 0.5, 0.0, 60]])
    >>> found["overall_precision"], found["missed"], found["mean_offset"], found["mean_latency"]
    (0.5, 0.5, 0.5, 0.25)
    """
    own, heard = _rows(reference, _REFERENCE, "reference"), _rows(estimate, _ESTIMATE, "estimate")
    rules = TASK.convention()
    given = f"@{float(threshold)!r}(by={by},tolerance={float(tolerance)!r})"
    measures = rules.select([f"{metric.name}{given}" for metric in rules.metrics])
    only = np.zeros(1, dtype=np.int64)
    scores = score(own, heard, only, only, measures)
    for message in scores.refused.values():
        raise InvalidAnnotationError(message)
    return OrderedDict((one.metric.name, value) for one, value in zip(measures, scores.score[0].tolist(), strict=True))


def _rows(values: npt.ArrayLike, names: tuple[str, ...], side: str) -> Ragged:
    table = np.asarray(values, dtype=np.float64)
    if table.size == 0:
        table = table.reshape(0, len(names))
    if table.ndim != 2 or table.shape[1] != len(names):
        raise InvalidAnnotationError(
            f"{side}: needs the columns {', '.join(names)}, not an array of shape {table.shape}"
        )
    annotation = Annotation("following", {name: table[:, place] for place, name in enumerate(names)})
    return usable(annotation, clean(to_ragged([annotation])), side)
