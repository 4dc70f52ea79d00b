"""Evidence for a tempo score: the reference's tempi, the nearest estimate of each, and the verdict."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import MetricError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .tempi import find_hits, lay_out

_JUDGED = ("p_score", "one_correct", "both_correct")


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The tempi of the reference, with the verdict on each.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind tempo.
    measure : Measure
        ``p_score``, ``one_correct`` or ``both_correct``.

    Returns
    -------
    dict of str to array (tempi of the reference,)
        ``reference`` and ``estimate`` (the nearest one), float64, beats per minute; ``share`` of the salience;
        ``verdict``, ``right`` or ``wrong``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not judge tempi one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def tempi(*values):
    ...     return Annotation("tempo", {"tempo": np.array(values)})
    >>> measure = get_task("tempo").convention().select(["p_score"])[0]
    >>> evidence(tempi(60.0, 120.0), tempi(119.0), measure)["verdict"].tolist()
    ['wrong', 'right']
    """
    if measure.metric.name not in _JUDGED:
        raise MetricError(f"{measure} does not judge tempi one by one; ask for one of {', '.join(_JUDGED)}")
    sides = [
        lay_out(usable(annotation, clean(to_ragged([annotation])), side))
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    given = int(sides[0].given[0])
    own, heard = sides[0].tempo[0, :given], sides[1].heard[0]
    nearest = heard[np.abs(own[:, np.newaxis] - heard).argmin(axis=1)]
    hits = find_hits(sides[0].tempo, sides[1].heard, float(measure["tol"]))[0, :given]
    share = sides[0].first_share[0]
    return {
        "reference": own,
        "estimate": nearest,
        "share": np.array([share, 1 - share])[:given],
        "verdict": np.where(hits, "right", "wrong"),
    }
