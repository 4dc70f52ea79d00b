"""Tempo estimation: mir_eval's functions for one pair under its own names, and the batched conventions in `TASK`."""

from .pair import detection, evaluate, validate, validate_tempi
from .records import TASK

__all__ = ["TASK", "detection", "evaluate", "validate", "validate_tempi"]
