"""Note transcription: mir_eval's functions for one pair under its own names, and the batched convention in `TASK`."""

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
