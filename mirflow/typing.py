"""Types of the arguments of mirflow's functions, for annotations in your code.

Examples
--------
>>> from mirflow.typing import MetricLike, TracksLike
>>> def report_scores(references: TracksLike, metric: MetricLike) -> None: ...
"""

from .analysis.differences import Comparable
from .analysis.queries import ScoresLike
from .analysis.query_options import Names
from .annotations.annotation import AnnotationLike, SupportsArray
from .evaluation.sides import EstimatesLike, TracksLike
from .metrics.base import MetricLike

__all__ = [
    "AnnotationLike",
    "Comparable",
    "EstimatesLike",
    "MetricLike",
    "Names",
    "ScoresLike",
    "SupportsArray",
    "TracksLike",
]
