"""Statements about systems: intervals, comparisons, rank tests, agreement of metrics, groups that do not differ."""

from .class_statistics import rate_intervals
from .comparisons import compare
from .confidence_intervals import intervals
from .friedman import Friedman, friedman
from .metric_agreement import MetricAgreement, agreement
from .paired import CORRECTIONS, TESTS, Comparison, correct, letters, significance_groups
from .resampling import METHODS

__all__ = [
    "CORRECTIONS",
    "METHODS",
    "TESTS",
    "Comparison",
    "Friedman",
    "MetricAgreement",
    "agreement",
    "compare",
    "correct",
    "friedman",
    "intervals",
    "letters",
    "rate_intervals",
    "significance_groups",
]
