"""Note transcription: reference and estimate are notes with start and end in seconds and a pitch in Hz.

Notes match if their onsets lie within 50 ms, their pitches within 50 cents and, unless it is left out, their offsets
within 20 % of the reference's duration (at least 50 ms). The functions are those of ``mir_eval.transcription``, with
the same arguments, results and errors; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``maestro``: mir_eval's rules, on notes of MIDI files that sound as long as the sustain pedal is down.
* ``mirex2015``: note tracking of MIREX 2015: times rounded down to 10 ms, no least tolerance of offsets.

Metrics
-------
* ``precision``, ``recall``, ``f_measure``, ``average_overlap_ratio`` (`precision_recall_f1_overlap`): onset, pitch and
  offset.
* ``precision_no_offset``, ``recall_no_offset``, ``f_measure_no_offset``, ``average_overlap_ratio_no_offset``: onset and
  pitch.
* ``onset_precision``, ``onset_recall``, ``onset_f_measure`` (`onset_precision_recall_f1`): onset alone.
* ``offset_precision``, ``offset_recall``, ``offset_f_measure`` (`offset_precision_recall_f1`): offset alone.
* ``velocity_precision`` and others, on request: with velocities (`mirflow.metrics.transcription_velocity`).
* ``instrument_precision`` and others, ``by_instrument``, on request: notes of each label on their own.
* ``best_overlap_ratio``, on request: of the matching with the largest overlap.

References
----------
Bay, Ehmann and Downie, ISMIR 2009; Hawthorne et al., Onsets and frames: dual-objective piano transcription, ISMIR
2018; MIREX multiple fundamental frequency estimation and tracking, 2015.
"""

from .kernel import N_DECIMALS
from .metrics import TASK
from .mir_eval import (
    average_overlap_ratio,
    evaluate,
    match_note_offsets,
    match_note_onsets,
    match_notes,
    offset_precision_recall_f1,
    onset_precision_recall_f1,
    precision_recall_f1_overlap,
    validate,
    validate_intervals,
)

__all__ = [
    "N_DECIMALS",
    "TASK",
    "average_overlap_ratio",
    "evaluate",
    "match_note_offsets",
    "match_note_onsets",
    "match_notes",
    "offset_precision_recall_f1",
    "onset_precision_recall_f1",
    "precision_recall_f1_overlap",
    "validate",
    "validate_intervals",
]
