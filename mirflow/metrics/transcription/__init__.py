"""Note transcription: reference and estimate are notes with start and end in seconds and a pitch in Hz.

Notes match if their onsets differ by at most 50 ms, their pitches by 50 cents and, unless offsets are ignored, their
offsets by 20 % of the reference's duration (at least 50 ms). The functions are those of ``mir_eval.transcription``,
with the same arguments, results and errors; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``maestro``: mir_eval's rules and frames, on notes of MIDI files extended by the sustain pedal.
* ``mirex2024``: as Transkun: such notes, cut at the next onset of the same pitch; active pitches in continuous time.
* ``onsets_and_frames``: such notes decoded from labels of frames of 32 ms, and these frames.
* ``mirex2015``: note tracking of MIREX 2015: times rounded down to 10 ms, no minimum tolerance of offsets.
* ``mt3``: the columns of MT3 (Gardner et al., 2022): percussion is separated from other notes, programs are compared.
* ``madmom``: evaluation of madmom: onsets within 25 ms and equal pitch; pairs with two empty sides are right. Its
  functions are in `mirflow.metrics.transcription.madmom`.

Metrics
-------
* ``precision``, ``recall``, ``f_measure``, ``average_overlap_ratio`` (`precision_recall_f1_overlap`): onset, pitch and
  offset.
* ``precision_no_offset``, ``recall_no_offset``, ``f_measure_no_offset``, ``average_overlap_ratio_no_offset``: onset and
  pitch.
* ``onset_precision``, ``onset_recall``, ``onset_f_measure`` (`onset_precision_recall_f1`): onset only.
* ``offset_precision``, ``offset_recall``, ``offset_f_measure`` (`offset_precision_recall_f1`): offset only.
* In ``madmom``: ``precision``, ``recall``, ``f_measure``, ``accuracy``, ``mean_error`` and ``std_error`` of onsets, and
  ``counts`` and ``error_moments``, on request.
* ``velocity_precision`` and others, on request: with velocities (`mirflow.metrics.transcription_velocity`).
* ``instrument_precision`` and others, ``by_instrument``, on request: notes of each label separately.
* ``program_precision``, ``program_recall``, ``program_f_measure`` and ``by_program``, on request, by default in
  ``mt3``: General MIDI programs are compared, percussion by onset and pitch only; ``drum_precision``, ``drum_recall``,
  ``drum_f_measure``, ``nondrum_program_precision``, ``nondrum_program_recall``, ``nondrum_program_f_measure``:
  percussion, and all other notes (`mirflow.metrics.transcription_programs`).
* ``tolerance_precision``, ``tolerance_recall``, ``tolerance_f_measure``, only in ``mt3``: one tolerance for onsets and
  ends.
* ``frame_precision``, ``frame_recall``, ``frame_f_measure``, ``frame_accuracy`` and others, on request: active pitches
  (`mirflow.metrics.transcription.frames`).
* ``onset_deviation``, ``offset_deviation``, ``velocity_error``, ``onset_bias`` and others, on request: differences
  between matched notes.
* ``best_overlap_ratio``, on request: overlap ratio of the matching with the largest overlap.

References
----------
Bay, Ehmann and Downie, ISMIR 2009; Hawthorne et al., Onsets and frames: dual-objective piano transcription, ISMIR
2018; MIREX multiple fundamental frequency estimation and tracking, 2015.
"""

from typing import TYPE_CHECKING

from ...plugins import names_on_use
from .conventions import TASK
from .kernel import N_DECIMALS

if TYPE_CHECKING:
    from .mir_eval import (
        average_overlap_ratio,
        deviations,
        evaluate,
        frame_precision_recall_f1,
        match_note_offsets,
        match_note_onsets,
        match_notes,
        offset_precision_recall_f1,
        onset_precision_recall_f1,
        precision_recall_f1_overlap,
        validate,
        validate_intervals,
    )

__getattr__, __dir__ = names_on_use(__name__, "mir_eval")
__all__ = ["N_DECIMALS", "TASK", "average_overlap_ratio", "deviations", "evaluate", "frame_precision_recall_f1"]
__all__ += ["match_note_offsets", "match_note_onsets", "match_notes", "offset_precision_recall_f1"]
__all__ += ["onset_precision_recall_f1", "precision_recall_f1_overlap", "validate", "validate_intervals"]
