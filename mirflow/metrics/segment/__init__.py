"""Structural segmentation: mir_eval's functions for one pair under its own names, and the batched conventions."""

from .metrics import TASK
from .mir_eval import (
    ari,
    detection,
    deviation,
    evaluate,
    mutual_information,
    nce,
    pairwise,
    rand_index,
    validate_boundary,
    validate_structure,
    vmeasure,
)

__all__ = [
    "TASK",
    "ari",
    "detection",
    "deviation",
    "evaluate",
    "mutual_information",
    "nce",
    "pairwise",
    "rand_index",
    "validate_boundary",
    "validate_structure",
    "vmeasure",
]
