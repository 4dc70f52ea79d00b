"""Downbeat tracking: the beat metrics, applied to the first beats of the bars."""

from .base import Task
from .beat import *  # noqa: F403
from .beat import __all__ as __all__
from .beat.metrics import CONVENTIONS
from .beat.mir_eval import FUNCTIONS

TASK = Task("downbeat", "Downbeat tracking", CONVENTIONS, ("f_measure",))

globals().update(FUNCTIONS)
