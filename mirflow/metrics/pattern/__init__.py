"""Discovery of repeated patterns: mir_eval's functions for one pair under its names, and the convention in `TASK`."""

from .metrics import TASK
from .mir_eval import (
    establishment_FPR,
    evaluate,
    first_n_target_proportion_R,
    first_n_three_layer_P,
    occurrence_FPR,
    standard_FPR,
    three_layer_FPR,
    validate,
)

__all__ = [
    "TASK",
    "establishment_FPR",
    "evaluate",
    "first_n_target_proportion_R",
    "first_n_three_layer_P",
    "occurrence_FPR",
    "standard_FPR",
    "three_layer_FPR",
    "validate",
]
