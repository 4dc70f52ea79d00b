"""Alignment of events to audio: mir_eval's functions for one pair under its own names, conventions in `TASK`."""

from .pair import (
    absolute_error,
    evaluate,
    karaoke_perceptual_metric,
    percentage_correct,
    percentage_correct_segments,
    validate,
)
from .records import TASK

__all__ = [
    "TASK",
    "absolute_error",
    "evaluate",
    "karaoke_perceptual_metric",
    "percentage_correct",
    "percentage_correct_segments",
    "validate",
]
