"""Note transcription: mir_eval's functions for one pair under its own names, and the batched convention in `TASK`."""

from .functions import evaluate, offset_precision_recall_f1, onset_precision_recall_f1, precision_recall_f1_overlap
from .pair import (
    average_overlap_ratio,
    match_note_offsets,
    match_note_onsets,
    match_notes,
    validate,
    validate_intervals,
)
from .records import TASK
from .rules import N_DECIMALS

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
