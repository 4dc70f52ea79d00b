"""Melody extraction: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from .metrics import TASK
from .mir_eval import (
    constant_hop_timebase,
    evaluate,
    freq_to_voicing,
    hz2cents,
    overall_accuracy,
    raw_chroma_accuracy,
    raw_pitch_accuracy,
    resample_melody_series,
    to_cent_voicing,
    validate,
    validate_voicing,
    voicing_false_alarm,
    voicing_measures,
    voicing_recall,
)

__all__ = [
    "TASK",
    "constant_hop_timebase",
    "evaluate",
    "freq_to_voicing",
    "hz2cents",
    "overall_accuracy",
    "raw_chroma_accuracy",
    "raw_pitch_accuracy",
    "resample_melody_series",
    "to_cent_voicing",
    "validate",
    "validate_voicing",
    "voicing_false_alarm",
    "voicing_measures",
    "voicing_recall",
]
