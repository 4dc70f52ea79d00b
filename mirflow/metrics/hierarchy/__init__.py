"""Hierarchical structure: mir_eval's functions for one pair under its names, and the batched convention in `TASK`."""

from .pair import evaluate, lmeasure, tmeasure, validate_hier_intervals
from .records import TASK

__all__ = ["TASK", "evaluate", "lmeasure", "tmeasure", "validate_hier_intervals"]
