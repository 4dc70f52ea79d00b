"""Structural segmentation: mir_eval's functions for one pair under its own names, and the batched conventions."""

from .boundary_functions import detection, deviation
from .checks import validate_boundary, validate_structure
from .label_functions import ari, mutual_information, nce, pairwise, rand_index, vmeasure
from .pair import evaluate
from .records import TASK

__all__ = [
    "TASK",
    "ari",
    "detection",
    "deviation",
    "evaluate",
    "mutual_information",
    "nce",
    "pairwise",
    "rand_index",
    "validate_boundary",
    "validate_structure",
    "vmeasure",
]
