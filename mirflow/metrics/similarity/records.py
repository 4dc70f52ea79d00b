"""The records of the measures of graded similarity, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import ADR, FINE, UNJUDGED, score

_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_TYPKE = (
    "Typke, Veltkamp and Wiering, A measure for evaluating retrieval techniques based on partially ordered lists, 2006"
)
_BROAD = {
    "psum": ("PSum", "NS = 0, SS = 1, VS = 2", ()),
    "wcsum": ("WCsum", "NS = 0, SS = 1, VS = 3 ('World Cup')", ("WCSum",)),
    "sdsum": ("SDsum", "NS = 0, SS = 1, VS = 4 ('Stephen Downie')", ("SDSum",)),
    "greater0": ("Greater0", "NS = 0, SS = 1, VS = 1", ()),
    "greater1": ("Greater1", "NS = 0, SS = 0, VS = 1", ()),
}


def _first(k: int) -> Parameter:
    return Parameter("k", k, least=0, help="how many of a list's candidates count; 0: all")


_UNJUDGED = Parameter("unjudged", "refuse", choices=UNJUDGED, help="what becomes of candidates that nobody judged")


def _mean(k: int) -> tuple[Metric, ...]:
    """The measures of table 4, each divided by its largest value."""
    scale = Parameter("scale", 10.0, above=0.0, help="the largest fine judgement; 100 in later years")
    fine = Metric(
        FINE,
        "FINE",
        "mean of the fine judgements of the first candidates, as a share of their scale",
        "number of candidates that count",
        "candidates",
        key="FINE",
        aliases=("Fine",),
        perfect=None,
        parameters=(_first(k), scale, _UNJUDGED),
        literature=f"table 4 of {_DOWNIE}",
    )
    return fine, *(
        Metric(
            name,
            title,
            f"mean of the broad judgements of the first candidates, {counts}, as a share of the largest",
            "number of candidates that count",
            "candidates",
            key=title,
            aliases=aliases,
            perfect=None,
            parameters=(_first(k), _UNJUDGED),
            literature=f"table 4 of {_DOWNIE}",
        )
        for name, (title, counts, aliases) in _BROAD.items()
    )


def _dynamic_recall(k: int) -> Metric:
    return Metric(
        ADR,
        "Average dynamic recall",
        "mean over the places of the ground truth of the share of candidates that belong at or before a place",
        "number of places of the ground truth",
        "places",
        key="ADR",
        aliases=("adr",),
        pooling="micro",
        perfect_exceptions="judgements are in no order; the candidates from the most to the least similar give 1",
        parameters=(
            Parameter("k", k, least=0, help="the most places that count; 0: as many as there are relevant candidates"),
            Parameter("by", "broad", choices=("broad", "fine"), help="which judgements make the groups"),
            Parameter("above", 0.0, help="candidates whose mean judgement is above this are in the ground truth"),
        ),
        literature=f"{_TYPKE}; equations 13 and 14 of {_DOWNIE}",
    )


def _convention(name: str, summary: str, metrics: tuple[Metric, ...]) -> Convention:
    return Convention(name, summary, metrics, clean, score, explain=evidence)


AMS = _convention(
    "ams",
    "MIREX audio music similarity: the first 5 candidates; ADR over the whole ground truth",
    (*_mean(5), _dynamic_recall(0)),
)
SMS = _convention(
    "sms",
    "MIREX symbolic melodic similarity: average dynamic recall first, the first 10 candidates",
    (_dynamic_recall(10), *_mean(10)),
)

TASK = Task(
    "similarity",
    "Graded similarity",
    MappingProxyType({one.name: one for one in (AMS, SMS)}),
    ("fine",),
    {SMS.name: ("average_dynamic_recall", "fine")},
)
