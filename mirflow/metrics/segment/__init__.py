"""Structural segmentation: reference and estimate are labelled intervals, such as verse and chorus.

Labels are compared within a side only, except by the metrics of functional labels. The functions are those of
``mir_eval.segment``, with the same arguments, results and errors, and further ones for other metrics; `TASK` holds the
metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2: the estimate is fitted to the reference, labels are compared at frames of
  0.1 s.
* ``mirex``: MIREX's scores: annotations are not fitted, the nearest boundaries are matched first, labels at a fixed
  number of points.
* ``mirex2025_structure``: MIREX 2025: accuracy of functional labels, such as verse and chorus, and boundaries.
* ``frameless``: frameless-eval: agreement of labels by durations instead of frames.

Metrics
-------
* ``precision``, ``recall``, ``f_measure`` (`detection`): boundaries matched within 0.5 s and 3 s.
* ``deviation_ref_to_est``, ``deviation_est_to_ref`` (`deviation`): median time to the nearest boundary.
* ``pairwise_precision``, ``pairwise_recall``, ``pairwise_f_measure`` (`pairwise`): pairs of frames with equal labels.
* ``rand_index``, ``adjusted_rand_index`` (`rand_index`, `ari`): agreement of pairs, and the same adjusted for chance.
* ``mutual_information``, ``adjusted_mutual_information``, ``normalized_mutual_information`` (`mutual_information`).
* ``nce_over``, ``nce_under``, ``nce_f`` (`nce`): normalized conditional entropies.
* ``v_precision``, ``v_recall``, ``v_measure`` (`vmeasure`): the same, normalized by marginal entropies.
* ``label_accuracy``, ``iou`` (`label_accuracy`, `iou`): time with the same functional label on both sides.
* ``by_label``, ``confusion`` (`confusion_matrix`): seconds of each functional label, and of each pair of labels.
* ``length_variation``, ``label_balance`` (`length_variation`, `label_balance`): regularity and balance of one side.

References
----------
Turnbull et al., ISMIR 2007; Levy and Sandler 2008; Lukashevich, ISMIR 2008; Rand 1971; Hubert and Arabie 1985; Strehl
and Ghosh 2002; Vinh et al. 2010; Rosenberg and Hirschberg 2007; Wang, Hung and Smith, ICASSP 2022; Kim and Nam, WASPAA
2023.
"""

from typing import TYPE_CHECKING

from ...plugins import names_on_use
from .functions import confusion_matrix, iou, label_accuracy, label_balance, length_variation
from .metrics import TASK

if TYPE_CHECKING:
    from .mir_eval import *

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = ["TASK", "ari", "confusion_matrix", "detection", "deviation", "evaluate", "iou", "label_accuracy"]
__all__ += ["label_balance", "length_variation", "mutual_information", "nce", "pairwise", "rand_index"]
__all__ += ["validate_boundary", "validate_structure", "vmeasure"]
