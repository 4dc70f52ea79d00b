"""Statements about systems: intervals, comparisons, rank tests, agreement of metrics, groups that do not differ."""

from .agreement import Agreement, agreement
from .bootstrap import intervals
from .comparisons import Comparison, compare
from .corrections import CORRECTIONS, correct
from .friedman import Friedman, friedman
from .groups import letters, significance_groups
from .paired import TESTS
from .resampling import METHODS

__all__ = [
    "CORRECTIONS",
    "METHODS",
    "TESTS",
    "Agreement",
    "Comparison",
    "Friedman",
    "agreement",
    "compare",
    "correct",
    "friedman",
    "intervals",
    "letters",
    "significance_groups",
]
