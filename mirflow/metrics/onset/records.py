"""The records of the onset metrics, and the conventions of the task."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from ..events import CLOSE, clean
from .evidence import evidence
from .scoring import score

_MIREX = "section 3.2 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_LITERATURE = f"Raffel et al., mir_eval, ISMIR 2014; {_MIREX}"
_DRUMS = "MIREX audio drum detection 2005 and drum transcription 2017: F-measure averaged over classes"

_PARAMETERS = (
    Parameter("window", 0.05, "s", help="largest distance of matched onsets", least=0.0),
    Parameter(
        "matching",
        "optimal",
        choices=("optimal", "greedy"),
        help="the largest matching, or that of the toolbox of MIREX",
    ),
)

METRICS = (
    Metric(
        "f_measure",
        "F-measure",
        "harmonic mean of precision and recall",
        "mean of the numbers of onsets of both sides",
        "onsets",
        key="F-measure",
        parameters=_PARAMETERS,
        literature=_LITERATURE,
    ),
    Metric(
        "precision",
        "Precision",
        "share of the estimated onsets that have a match within the window",
        "number of estimated onsets",
        "onsets",
        key="Precision",
        parameters=_PARAMETERS,
        literature=_LITERATURE,
    ),
    Metric(
        "recall",
        "Recall",
        "share of the reference onsets that have a match within the window",
        "number of reference onsets",
        "onsets",
        key="Recall",
        parameters=_PARAMETERS,
        literature=_LITERATURE,
    ),
    Metric(
        "class_f_measure",
        "F-measure averaged over classes",
        "mean, over the labels that occur on either side, of the F-measure of their onsets",
        "number of labels that occur on either side",
        "classes",
        pooling="micro",
        parameters=_PARAMETERS,
        default=False,
        literature=_DRUMS,
    ),
    Metric(
        "by_class",
        "Onsets by class",
        "numbers of matched, of reference and of estimated onsets of each label",
        "none",
        "onsets",
        range=(0.0, float("inf")),
        orientation="none",
        pooling="none",
        perfect=None,
        parameters=_PARAMETERS,
        dims=("class", "count"),
        default=False,
        literature=_DRUMS,
    ),
)


def _greedy(metric: Metric) -> Metric:
    changed = tuple(replace(one, default="greedy") if one.name == "matching" else one for one in metric.parameters)
    return replace(metric, parameters=changed, perfect_exceptions=CLOSE)


MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", METRICS, clean, score, explain=evidence)
MIREX = Convention(
    "mirex",
    "MIREX: as mir_eval, with greedy matching",
    tuple(_greedy(metric) for metric in METRICS),
    clean,
    score,
    explain=evidence,
)

TASK = Task(
    "onset",
    "Onset detection",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX)}),
    ("class_f_measure", "f_measure"),
)
