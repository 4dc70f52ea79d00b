"""Key estimation: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from .pair import KEY_TO_SEMITONE, evaluate, split_key_string, validate, validate_key, weighted_score
from .records import TASK

__all__ = [
    "KEY_TO_SEMITONE",
    "TASK",
    "evaluate",
    "split_key_string",
    "validate",
    "validate_key",
    "weighted_score",
]
