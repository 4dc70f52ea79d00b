"""Hierarchical structure: reference and estimate are several segmentations of one track, from coarse to fine.

A hierarchy ranks pairs of frames by the deepest level that relates them, and the metrics compare the two orders. The
functions are those of ``mir_eval.hierarchy``, with the same arguments, results and errors; `TASK` holds the metrics of
whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``frameless``: frameless-eval: L-measure with durations instead of frames.

Metrics
-------
* ``t_precision_reduced``, ``t_recall_reduced``, ``t_measure_reduced`` (`tmeasure`): frames related by a common segment,
  within 15 s, ranks that differ by one.
* ``t_precision_full``, ``t_recall_full``, ``t_measure_full`` (`tmeasure`, ``transitive=True``): the same for any two
  different ranks.
* ``l_precision``, ``l_recall``, ``l_measure`` (`lmeasure`): frames related by equal labels, over the whole track.

References
----------
McFee, Nieto and Bello, Hierarchical evaluation of segment boundary detection, ISMIR 2015; McFee, Nieto, Farbood and
Bello, Evaluating hierarchical structure in music annotations, Frontiers in Psychology, 2017.
"""

from typing import TYPE_CHECKING

from ...lazy_modules import names_on_use
from .metrics import TASK

if TYPE_CHECKING:
    from .mir_eval import evaluate, lmeasure, tmeasure, validate_hier_intervals

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = ["TASK", "evaluate", "lmeasure", "tmeasure", "validate_hier_intervals"]
