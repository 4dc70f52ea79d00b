"""The records of the classification metrics, and the convention of the task."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from ...annotations.classes import Classes
from ..base.record import Metric
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import score

_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_TRACKS = "number of tracks with a class"
_METRICS = (
    Metric(
        "accuracy",
        "Accuracy",
        "1 if the estimate is the class of the reference",
        _TRACKS,
        "tracks",
        aliases=("average_accuracy", "correct"),
        literature=f"equation 1 of {_DOWNIE}",
    ),
    Metric(
        "hierarchical_accuracy",
        "Hierarchical accuracy",
        "1 for the right class, a credit for one that is near by the classes that are given",
        _TRACKS,
        "tracks",
        aliases=("discounted_accuracy",),
        default=False,
        literature=f"equation 3 of {_DOWNIE}",
    ),
    Metric(
        "confusion",
        "Confusion",
        "number of tracks by class of the reference and class of the estimate",
        _TRACKS,
        "tracks",
        orientation="none",
        range=(0.0, float("inf")),
        perfect=None,
        dims=("ref_class", "est_class"),
        literature="Kohavi and Provost, Glossary of Terms, Machine Learning 30, 1998",
    ),
)


def convention(classes: Classes | None = None) -> Convention:
    """The rules of MIREX for some classes; None: any, of which no error is worth anything."""
    credited = classes is not None and bool(classes.credits)
    return Convention(
        "mirex",
        "MIREX: the share of the tracks that are given the right class",
        _METRICS,
        partial(clean, classes=classes),
        partial(score, classes=classes),
        default_measures=("accuracy", "hierarchical_accuracy", "confusion") if credited else (),
        explain=partial(evidence, classes=classes),
        bind=convention,
        unbound=() if credited else ("hierarchical_accuracy",),
    )


TASK = Task(
    "classification", "Classification", MappingProxyType({"mirex": convention()}), ("hierarchical_accuracy", "accuracy")
)
