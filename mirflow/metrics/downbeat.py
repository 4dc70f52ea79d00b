"""Downbeat tracking: the beat metrics, applied to the first beats of the bars."""

from .base import Task
from .beat import (
    MAX_TIME,
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
from .beat.metrics import CONVENTIONS

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

TASK = Task("downbeat", "Downbeat tracking", CONVENTIONS, ("f_measure",))
