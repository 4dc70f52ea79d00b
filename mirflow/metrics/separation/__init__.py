"""Source separation: mir_eval's functions for one pair under its own names, and the conventions in `TASK`."""

from .metrics import TASK
from .mir_eval import (
    MAX_SOURCES,
    bss_eval_images,
    bss_eval_images_framewise,
    bss_eval_sources,
    bss_eval_sources_framewise,
    evaluate,
    validate,
)

__all__ = [
    "MAX_SOURCES",
    "TASK",
    "bss_eval_images",
    "bss_eval_images_framewise",
    "bss_eval_sources",
    "bss_eval_sources_framewise",
    "evaluate",
    "validate",
]
