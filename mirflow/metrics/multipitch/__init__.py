"""Multiple F0 estimation: mir_eval's functions for one pair under its own names, and the convention in `TASK`."""

from .metrics import MAX_FREQ, MAX_TIME, MIN_FREQ, TASK
from .mir_eval import (
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

__all__ = [
    "MAX_FREQ",
    "MAX_TIME",
    "MIN_FREQ",
    "TASK",
    "compute_accuracy",
    "compute_err_score",
    "compute_num_freqs",
    "compute_num_true_positives",
    "evaluate",
    "frequencies_to_midi",
    "metrics",
    "midi_to_chroma",
    "resample_multipitch",
    "validate",
]
