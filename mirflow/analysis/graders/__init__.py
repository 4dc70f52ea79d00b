"""Graders: how far they agree, what they mean by their categories, and how much can be asked of them."""

from ...kernels.kappa import Agreement, fleiss_kappa, merge_categories
from .agreement import SCHEMES, grader_agreement
from .distribution import fine_within_broad
from .judged import read_judgements
from .workload import LIMIT, Workload

__all__ = [
    "LIMIT",
    "SCHEMES",
    "Agreement",
    "Workload",
    "fine_within_broad",
    "fleiss_kappa",
    "grader_agreement",
    "merge_categories",
    "read_judgements",
]
