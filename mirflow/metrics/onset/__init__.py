"""Onset detection: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from ..events import MAX_TIME
from .pair import evaluate, f_measure, validate
from .records import TASK

__all__ = ["MAX_TIME", "TASK", "evaluate", "f_measure", "validate"]
