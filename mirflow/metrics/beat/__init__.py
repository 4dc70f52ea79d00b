"""Beat tracking: reference and estimate are sequences of beat times in seconds.

Beats before 5 s are left out on both sides (``trim``, and `trim_beats` for one pair). Scores are 0 if one side has no
beats. The functions are those of ``mir_eval.beat``, with the same arguments, results and errors; `TASK` holds the
metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``mirex``: the Beat Evaluation Toolbox used by MIREX: greedy matching, P-score on frames from 0 s, and information
  gain in bits from a histogram with end bins of half the width.
* ``madmom``: evaluation of madmom, reported for most neural trackers: all beats count, triple metrical levels,
  information gain in bits, and pairs with two empty sides are right. Its functions are in
  `mirflow.metrics.beat.madmom`.

Metrics
-------
* ``f_measure`` (`f_measure`): F-measure of beats matched within 70 ms.
* ``cemgil``, ``cemgil_best`` (`cemgil`): Gaussian error of the nearest estimate, at the annotated and at the best
  metrical level.
* ``goto`` (`goto`): 1 if a long enough section is tracked without errors, else 0.
* ``p_score`` (`p_score`): correlation of both impulse trains within 0.2 median intervals.
* ``cmlc``, ``cmlt``, ``amlc``, ``amlt`` (`continuity`): longest run and number of correct beats, at the annotated
  metrical level and at any of five.
* ``information_gain`` (`information_gain`): distance of the histogram of beat errors from a uniform one.
* In ``madmom``, additionally ``precision``, ``recall`` and ``accuracy``, ``mean_error`` and ``std_error`` of matched
  times, and ``counts``, ``error_moments`` and ``error_histogram``, on request.
* ``f_measure_best``, on request: the largest F-measure over metrical levels.

References
----------
Davies, Degara and Plumbley, Evaluation methods for musical audio beat tracking algorithms, 2009; Cemgil et al. 2001;
Goto and Muraoka 1997; McKinney et al. 2007; Hainsworth 2004; Klapuri et al. 2006; Davies et al. 2011; Nieto et al.
2019.
"""

from ..events import MAX_TIME
from .metrics import TASK
from .mir_eval import (
    FUNCTIONS,
    cemgil,
    continuity,
    evaluate,
    f_measure,
    goto,
    information_gain,
    p_score,
    trim_beats,
    validate,
)

__all__ = [
    "MAX_TIME",
    "TASK",
    "cemgil",
    "continuity",
    "evaluate",
    "f_measure",
    "goto",
    "information_gain",
    "p_score",
    "trim_beats",
    "validate",
]

globals().update(FUNCTIONS)
