"""Multiple F0 estimation: reference and estimate are frames with a time in seconds and any number of pitches in Hz.

Pitches match within half a semitone. The functions are those of ``mir_eval.multipitch``, with the same arguments,
results and errors; `TASK` holds the metrics of whole datasets, with verdicts on pitches and kinds of errors.

Conventions
-----------
* ``mir_eval`` (default and only one): mir_eval 0.8.2: each frame of the reference is compared with the nearest one of
  the estimate.

Metrics
-------
* ``precision``, ``recall``, ``accuracy`` (`compute_accuracy`), ``f_measure`` on request: shares of matched pitches.
* ``substitution_error``, ``miss_error``, ``false_alarm_error``, ``total_error`` (`compute_err_score`): errors as shares
  of the reference's pitches.
* ``chroma_precision``, ``chroma_recall``, ``chroma_accuracy``, ``chroma_substitution_error``, ``chroma_miss_error``,
  ``chroma_false_alarm_error``, ``chroma_total_error``: the same, ignoring octaves.

References
----------
Poliner and Ellis, A discriminative model for polyphonic piano transcription, 2007; Bay, Ehmann and Downie, Evaluation
of multiple-F0 estimation and tracking systems, ISMIR 2009; Downie et al. 2010, equation 2; Dixon 2000.
"""

from .scoring import (
    MAX_FREQ,
    MAX_TIME,
    MIN_FREQ,
    TASK,
    compute_accuracy,
    compute_err_score,
    compute_num_freqs,
    compute_num_true_positives,
    evaluate,
    frequencies_to_midi,
    metrics,
    midi_to_chroma,
    resample_multipitch,
    validate,
)

__all__ = ["MAX_FREQ", "MAX_TIME", "MIN_FREQ", "TASK", "compute_accuracy", "compute_err_score", "compute_num_freqs"]
__all__ += ["compute_num_true_positives", "evaluate", "frequencies_to_midi", "metrics", "midi_to_chroma"]
__all__ += ["resample_multipitch", "validate"]
