"""Downbeat tracking: the metrics of beat tracking, applied to the first beats of the bars, in seconds.

If a file has positions in the bar, only downbeats are read. The functions are those of ``mir_eval.beat``, applied to
downbeats; `TASK` holds the metrics of whole datasets, with kinds of errors and a warning of labels that count
beats of the bar.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2; beats before 5 s are left out.
* ``mirex``: the Beat Evaluation Toolbox: greedy matching, P-score on frames from 0 s, information gain in bits.
* ``madmom``: evaluation of madmom: all beats count, triple metrical levels, two empty sides are right.

Metrics
-------
* ``f_measure`` (`f_measure`): F-measure of downbeats matched within 70 ms.
* ``cemgil``, ``cemgil_best`` (`cemgil`): Gaussian error of the nearest estimate, at the annotated and the best level.
* ``goto`` (`goto`): 1 if a long enough section is tracked without errors, else 0.
* ``p_score`` (`p_score`): correlation of both impulse trains within 0.2 median intervals.
* ``cmlc``, ``cmlt``, ``amlc``, ``amlt`` (`continuity`): longest run and number of correct downbeats, at the annotated
  level and at any of five.
* ``information_gain`` (`information_gain`): distance of the histogram of errors from a uniform one.
* In ``madmom``, additionally ``precision``, ``recall`` and ``accuracy``, ``mean_error`` and ``std_error`` of matched
  times, and ``counts``, ``error_moments`` and ``error_histogram``, on request.
* ``f_measure_best``, on request: the largest F-measure over metrical levels.

References
----------
Those of `mirflow.metrics.beat`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

from ..annotations.annotation import Annotation
from .base import Doubt, Task
from .beat import *  # noqa: F403
from .beat import FUNCTIONS
from .beat import __all__ as __all__
from .beat.metrics import CONVENTIONS, doubt_tempi, suspect_labels
from .beat.metrics import DOUBTS as OF_BEATS
from .event_errors import BEATS


def doubt_positions(annotation: Annotation) -> str:
    """Report downbeats whose labels are positions in the bar, of which others than 1 count as downbeats, too."""
    labels = annotation.labels or ()
    names = set(labels)
    if not names or names == {"1"} or "1" not in names or not all(label.isdecimal() for label in names):
        return ""
    rises = sum(int(later) == int(label) + 1 for label, later in pairwise(labels))
    if 3 * rises < len(labels) - 1:  # those at the ends of bars, say, do not count up
        return ""
    other = min(names - {"1"}, key=int)
    return (
        f"labels such as {other!r} are positions in the bar, but all {len(labels)} beats count as downbeats: keep "
        "those at position 1, as is done with files"
    )


DOUBTS = (
    Doubt(
        "positions",
        "labels are positions in the bar, of which others than 1 are scored as downbeats: data in memory of all beats",
        of_side=doubt_positions,
        suspects=partial(suspect_labels, r"2\Z"),  # the second position of a bar
    ),
    # Bars may last much longer than beats, up to about 12 s.
    *(replace(doubt, of_side=partial(doubt_tempi, far=12.0)) if doubt.rule == "tempi" else doubt for doubt in OF_BEATS),
)

TASK = Task("downbeat", "Downbeat tracking", CONVENTIONS, ("f_measure",), errors=BEATS, doubts=DOUBTS)

globals().update(FUNCTIONS)
