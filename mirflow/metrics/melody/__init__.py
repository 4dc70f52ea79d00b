"""Melody extraction: reference and estimate are series of frequencies in Hz over time in seconds.

A frequency of 0 is unvoiced, and a negative one is a pitch guess in an unvoiced frame; a continuous voicing may be
given instead. The functions are those of ``mir_eval.melody``, with the same arguments, results and errors; `TASK` holds
the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2: estimates are interpolated at the times of the reference.
* ``mirex``: frames of 10 ms with the nearest sample, as MIREX is described in the literature.
* ``mirex_hold``: frames of 10 ms with the previous sample, as mir_eval's authors ran MIREX's evaluation.

Metrics
-------
* ``voicing_recall``, ``voicing_false_alarm`` (`voicing_measures`): shares of voiced estimates where the reference is
  voiced and where it is not.
* ``raw_pitch_accuracy`` (`raw_pitch_accuracy`): voiced frames with a pitch within 50 cents.
* ``raw_chroma_accuracy`` (`raw_chroma_accuracy`): the same, ignoring octaves.
* ``overall_accuracy`` (`overall_accuracy`): frames right in both voicing and pitch.

References
----------
Salamon, Gómez, Ellis and Richard, Melody extraction from polyphonic music signals, 2014; Poliner et al. 2007; Bittner
and Bosch, Generalized metrics for single-f0 estimation evaluation, ISMIR 2019.
"""

from typing import TYPE_CHECKING

from ...plugins import names_on_use
from .metrics import TASK

if TYPE_CHECKING:
    from .mir_eval import *

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = ["TASK", "constant_hop_timebase", "evaluate", "freq_to_voicing", "hz2cents", "overall_accuracy"]
__all__ += ["raw_chroma_accuracy", "raw_pitch_accuracy", "resample_melody_series", "to_cent_voicing", "validate"]
__all__ += ["validate_voicing", "voicing_false_alarm", "voicing_measures", "voicing_recall"]
