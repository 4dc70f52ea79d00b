"""Discovery of repeated patterns: reference and estimate are sets of patterns with their occurrences.

An occurrence is a set of notes with onsets in quarter notes and MIDI pitches. The functions are those
of ``mir_eval.pattern``, with the same arguments, results and errors; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default and only one): mir_eval 0.8.2 and the MIREX task, with occurrence metrics at 0.5 and 0.75.

Metrics
-------
* ``precision``, ``recall``, ``f_measure`` (`standard_FPR`): prototypes found exactly, or shifted.
* ``establishment_precision``, ``establishment_recall``, ``establishment_f_measure`` (`establishment_FPR`): patterns
  with at least one found occurrence.
* ``occurrence_precision``, ``occurrence_recall``, ``occurrence_f_measure`` (`occurrence_FPR`): found occurrences of
  established patterns.
* ``three_layer_precision``, ``three_layer_recall``, ``three_layer_f_measure`` (`three_layer_FPR`): both combined.
* ``first_n_three_layer_precision`` (`first_n_three_layer_P`) and ``first_n_target_proportion_recall``
  (`first_n_target_proportion_R`): scores of the first five estimated patterns.

References
----------
Collins, Discovery of repeated themes and sections, MIREX 2013 and 2014; Meredith, COSIATEC and SIATECCompress, MIREX
2013.
"""

from typing import TYPE_CHECKING

from ...lazy_modules import names_on_use
from .metrics import TASK

if TYPE_CHECKING:
    from .mir_eval import *

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = ["TASK", "establishment_FPR", "evaluate", "first_n_target_proportion_R", "first_n_three_layer_P"]
__all__ += ["occurrence_FPR", "standard_FPR", "three_layer_FPR", "validate"]
