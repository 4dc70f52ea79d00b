"""Inference about systems: intervals, comparisons, rank tests, agreement of metrics, groups that do not differ."""

from ..policies import METHODS
from .comparisons import compare
from .confidence_intervals import intervals
from .friedman import friedman
from .groups import letters, significance_groups
from .metric_agreement import agreement
from .oracles import oracle
from .paired import CORRECTIONS, TESTS, correct
from .rank_intervals import ranks

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
