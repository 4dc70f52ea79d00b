"""Inference about systems: intervals, comparisons, rank tests, agreement of metrics, groups that do not differ."""

from ..query_options import METHODS
from .comparisons import compare
from .confidence_intervals import intervals
from .correlations import agreement
from .oracles import oracle
from .paired import CORRECTIONS, TESTS, correct, letters, significance_groups
from .rank_tests import friedman, ranks

__all__ = [
    "CORRECTIONS",
    "METHODS",
    "TESTS",
    "agreement",
    "compare",
    "correct",
    "friedman",
    "intervals",
    "letters",
    "oracle",
    "ranks",
    "significance_groups",
]
