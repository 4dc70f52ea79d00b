"""Types of the arguments of mirflow's functions, for annotations in your own code.

Examples
--------
>>> from mirflow.typing import MetricLike, TracksLike
>>> def report_scores(references: TracksLike, metric: MetricLike) -> None: ...
"""

from .analysis.differences import Comparable
from .analysis.evaluations import ScoresLike
from .analysis.query_options import Names
from .annotations.annotation import AnnotationLike, SupportsArray
from .metrics.base import MetricLike
from .sides import EstimatesLike, TracksLike

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
