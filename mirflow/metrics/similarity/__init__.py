"""Graded similarity (AMS, SMS): functions for one query, and the batched conventions in `TASK`."""

from .pair import average_dynamic_recall, evaluate
from .records import TASK

__all__ = ["TASK", "average_dynamic_recall", "evaluate"]
