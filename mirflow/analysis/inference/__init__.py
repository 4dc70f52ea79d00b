"""Statements about systems: intervals, comparisons, rank tests, agreement of metrics, groups that do not differ."""

from .agreement import Agreement, agreement
from .bootstrap import intervals
from .comparison import Comparison
from .comparisons import compare
from .corrections import CORRECTIONS, correct
from .friedman import Friedman, friedman
from .groups import letters, significance_groups
from .paired import TESTS
from .rated import rate_intervals
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
    "rate_intervals",
    "significance_groups",
]
