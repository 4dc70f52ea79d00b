"""The records of the metrics of multiple F0 estimation, and the convention of the task."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .readings import CHROMA
from .scoring import REFERENCE, score

_BAY = "Bay, Ehmann and Downie, Evaluation of multiple-F0 estimation and tracking systems, ISMIR 2009"
_POLINER = "Poliner and Ellis, A discriminative model for polyphonic piano transcription, EURASIP JASP 2007"
_WINDOW = (Parameter("window", 0.5, "semitone", help="largest distance of matched pitches", least=0.0),)
_OF_REFERENCE = "number of pitches of the reference, over all frames"
_UNBOUNDED = (0.0, float("inf"))


def _error(
    name: str, title: str, summary: str, alias: str, range: tuple[float, float], literature: str = _POLINER
) -> Metric:
    return Metric(
        name,
        title,
        f"{summary}, over the number of pitches of the reference",
        _OF_REFERENCE,
        "pitches",
        key=title,
        aliases=(alias,),
        range=range,
        orientation="lower",
        perfect=0.0,
        parameters=_WINDOW,
        literature=f"{literature}; {_BAY}",
    )


_PLAIN = (
    Metric(
        "precision",
        "Precision",
        "share of the estimated pitches that are right, over all frames",
        "number of estimated pitches, over all frames",
        "pitches",
        key="Precision",
        parameters=_WINDOW,
        literature=_BAY,
    ),
    Metric(
        "recall",
        "Recall",
        "share of the pitches of the reference that were found, over all frames",
        _OF_REFERENCE,
        "pitches",
        key="Recall",
        parameters=_WINDOW,
        literature=_BAY,
    ),
    Metric(
        "accuracy",
        "Accuracy",
        "TP / (TP + FP + FN), summed over all frames: the accuracy of multiple F0 estimation of MIREX",
        "true positives, false positives and false negatives, over all frames",
        "pitches",
        key="Accuracy",
        aliases=("multi_f0_accuracy", "Acc"),
        parameters=_WINDOW,
        literature="equation 2 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010; "
        f"Dixon, On the computer recognition of solo piano music, 2000; {_BAY}",
    ),
    _error(
        "substitution_error",
        "Substitution Error",
        "pitches that stand for another one in their frame",
        "e_sub",
        (0.0, 1.0),
    ),
    _error("miss_error", "Miss Error", "pitches that a frame has too few", "e_miss", (0.0, 1.0)),
    _error("false_alarm_error", "False Alarm Error", "pitches that a frame has too many", "e_fa", _UNBOUNDED),
    _error("total_error", "Total Error", "substitutions, misses and false alarms", "e_tot", _UNBOUNDED),
)


def _chroma(metric: Metric) -> Metric:
    return replace(
        metric,
        name=f"{CHROMA}{metric.name}",
        title=f"Chroma {metric.title}",
        summary=f"{metric.summary}; octaves aside",
        key=f"Chroma {metric.key}",
        aliases=tuple(f"{alias}_chroma" for alias in metric.aliases),
    )


METRICS = (*_PLAIN, *(_chroma(metric) for metric in _PLAIN))

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: each frame of the reference beside the nearest one of the estimate",
    METRICS,
    clean,
    score,
    (REFERENCE,),
    explain=evidence,
)

TASK = Task("multipitch", "Multiple F0 estimation", MappingProxyType({MIR_EVAL.name: MIR_EVAL}), ("accuracy",))
