"""Score following (SF): all scores of one performance, and the batched conventions in `TASK`."""

from .pair import evaluate
from .records import TASK

__all__ = ["TASK", "evaluate"]
