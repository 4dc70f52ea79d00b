"""Beat tracking: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from ..events import MAX_TIME
from .metrics import TASK
from .mir_eval import (
    FUNCTIONS,
    cemgil,
    continuity,
    evaluate,
    f_measure,
    goto,
    information_gain,
    p_score,
    trim_beats,
    validate,
)

__all__ = [
    "MAX_TIME",
    "TASK",
    "cemgil",
    "continuity",
    "evaluate",
    "f_measure",
    "goto",
    "information_gain",
    "p_score",
    "trim_beats",
    "validate",
]

globals().update(FUNCTIONS)
