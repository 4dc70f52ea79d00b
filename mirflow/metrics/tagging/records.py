"""The records of the tagging metrics, and the convention of the task."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from ...annotations.classes import Classes
from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import score

_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_ATC = "MIREX 2008, Audio Tag Classification"
_THRESHOLD = Parameter("threshold", 0.5, help="smallest affinity of a tag that an estimate assigns")
_RELEVANCE = Parameter("relevance", 0.5, help="smallest number of a tag that a reference has")
_DECIDED = (_THRESHOLD, _RELEVANCE)
_NOTHING = "0 where there is none to measure; thresholds that differ decide the same tags differently"


def _ratio(
    name: str, title: str, summary: str, weight: str, literature: str, aliases: tuple[str, ...] = (), pooling: str = ""
) -> Metric:
    return Metric(
        name,
        title,
        summary,
        weight,
        "tags",
        aliases=aliases,
        pooling="micro" if pooling == "micro" else "exact",
        perfect_exceptions=_NOTHING,
        parameters=_DECIDED,
        literature=literature,
    )


_RATIOS = (
    _ratio(
        "f_measure",
        "F-measure",
        "harmonic mean of precision and recall of the tags of a clip",
        "mean of the numbers of tags of both sides",
        f"equation 6 of {_DOWNIE}",
        ("f1",),
    ),
    _ratio(
        "precision",
        "Precision",
        "share of the assigned tags that the reference has",
        "number of assigned tags",
        f"equation 4 of {_DOWNIE}",
    ),
    _ratio(
        "recall",
        "Recall",
        "share of the reference's tags that are assigned: accuracy on positive examples",
        "number of the reference's tags",
        f"equation 5 of {_DOWNIE}; {_ATC}",
        ("positive_accuracy", "sensitivity"),
    ),
    _ratio(
        "accuracy",
        "Accuracy",
        "share of the tags that are rightly assigned or rightly not",
        "number of tags that are decided on",
        _ATC,
    ),
    _ratio(
        "negative_accuracy",
        "Negative accuracy",
        "share of the tags that the reference has not that are not assigned",
        "number of tags that the reference has not",
        _ATC,
        ("specificity",),
    ),
)
_ORDERED = (
    Metric(
        "roc_auc",
        "AUC-ROC",
        "chance that a tag of the reference has a higher affinity than one that it has not",
        "pairs of a tag that the reference has and one that it has not",
        "pairs",
        aliases=("auc",),
        pooling="micro",
        perfect_exceptions="NaN where the reference has all tags or none",
        parameters=(_RELEVANCE,),
        literature=f"Fawcett, An introduction to ROC analysis, 2006; {_ATC}",
    ),
    Metric(
        "average_precision",
        "Average precision",
        "mean precision at the tags of the reference, in order of affinity",
        "number of the reference's tags",
        "tags",
        pooling="micro",
        perfect_exceptions="NaN where the reference has no tags",
        parameters=(_RELEVANCE,),
        literature="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section 8.4",
    ),
    Metric(
        "precision_at",
        "Precision at k",
        "share of the reference's tags among the k of highest affinity",
        "k",
        "tags",
        pooling="exact",
        perfect=None,
        parameters=(Parameter("k", 3, least=1, help="how many tags"), _RELEVANCE),
        default=False,
        literature="MIREX 2009, Audio Tag Classification: precision at 3, 6, 9, 12 and 15",
    ),
)
_EXTRA = (
    Metric(
        "outcomes",
        "Outcomes",
        "hits, false alarms, misses and rejections by tag",
        "number of tags that are decided on",
        "tags",
        orientation="none",
        range=(0.0, float("inf")),
        perfect=None,
        parameters=_DECIDED,
        dims=("tag", "outcome"),
        literature=_ATC,
    ),
    Metric(
        "affinities",
        "Affinities",
        "relevance and affinity by tag, from which the tags' own areas under the ROC curve are computed",
        "number of tags that are decided on",
        "tags",
        orientation="none",
        range=(float("-inf"), float("inf")),
        perfect=None,
        parameters=(_RELEVANCE,),
        dims=("tag", "side"),
        default=False,
        literature=_ATC,
    ),
)


def convention(classes: Classes | None = None) -> Convention:
    """The rules of MIREX for some tags; None: in each clip those that either side lists."""
    return Convention(
        "mirex",
        "MIREX: each tag of a clip is a decision, and all of them have an order",
        (*_RATIOS, *_ORDERED, *_EXTRA),
        partial(clean, classes=classes),
        partial(score, classes=classes),
        explain=partial(evidence, classes=classes),
        bind=convention,
    )


TASK = Task("tagging", "Tagging", MappingProxyType({"mirex": convention()}), ("f_measure",))
