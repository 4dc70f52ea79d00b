"""Tagging, any number of tags a clip, perhaps with affinities: one clip's figures, and the convention in `TASK`."""

from .pair import evaluate
from .records import TASK

__all__ = ["TASK", "evaluate"]
