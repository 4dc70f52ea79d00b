"""Hierarchical structure: mir_eval's functions for one pair under its names, and the batched convention in `TASK`."""

from .metrics import TASK
from .mir_eval import evaluate, lmeasure, tmeasure, validate_hier_intervals

__all__ = [
    "TASK",
    "evaluate",
    "lmeasure",
    "tmeasure",
    "validate_hier_intervals",
]
