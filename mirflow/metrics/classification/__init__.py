"""Classification, one class a track: functions over lists of classes, and the batched convention in `TASK`."""

from .pair import (
    accuracy,
    confusion_matrix,
    evaluate,
    f_measure,
    hierarchical_accuracy,
    normalised_accuracy,
    precision,
    recall,
)
from .records import TASK

__all__ = [
    "TASK",
    "accuracy",
    "confusion_matrix",
    "evaluate",
    "f_measure",
    "hierarchical_accuracy",
    "normalised_accuracy",
    "precision",
    "recall",
]
