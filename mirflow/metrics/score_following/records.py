"""The records of the measures of score following, and the conventions of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .evidence import evidence
from .scoring import score

_CONT = "Cont, Schwarz, Schnell and Raphael, Evaluation of real-time audio-to-score alignment, ISMIR 2007"
_NOTES = "number of notes of the reference"
_ALIGNED = "number of correctly aligned notes"
_STATISTICS = {
    "offset": "the time from an onset to the report of it",
    "error": "the estimated less the true onset",
    "latency": "the time from an estimated onset to the report of it",
}
_RATES = {
    "missed": ("Missed notes", "share of the notes that are not reported", ("miss_rate", "missed_notes")),
    "misaligned": (
        "Misaligned notes",
        "share of the notes that are reported too far from their onset",
        ("misalign_rate", "misaligned_notes", "false_positives"),
    ),
}


def _parameters(threshold: float) -> tuple[Parameter, ...]:
    return (
        Parameter("threshold", threshold, "s", least=0.0, help="largest distance of a correctly aligned note"),
        Parameter(
            "by", "estimated", choices=("estimated", "detected"), help="whether estimated onsets or reports are judged"
        ),
        Parameter("tolerance", 0.001, "s", least=0.0, help="by how much positions in the score may differ"),
    )


def _rate(name: str, parameters: tuple[Parameter, ...]) -> Metric:
    title, summary, aliases = _RATES[name]
    return Metric(
        name,
        title,
        summary,
        _NOTES,
        "notes",
        aliases=aliases,
        orientation="lower",
        perfect=0.0,
        parameters=parameters,
        literature=_CONT,
    )


def _precisions(parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    summary = "share of the notes that are reported near enough to their onset"
    return (
        Metric(
            "overall_precision",
            "Overall precision",
            f"{summary}; over all notes of the collection",
            _NOTES,
            "notes",
            aliases=("precision", "total_precision"),
            standard_aggregate="pooled",
            parameters=parameters,
            literature=_CONT,
        ),
        Metric(
            "piecewise_precision",
            "Piecewise precision",
            f"{summary}; every piece counts the same",
            "1 for each piece",
            "pieces",
            pooling="micro",
            parameters=parameters,
            literature=_CONT,
        ),
    )


def _completion(parameters: tuple[Parameter, ...]) -> Metric:
    return Metric(
        "completion",
        "Piece completion",
        "share of the notes up to the last one that is correctly aligned, after which the follower is lost",
        _NOTES,
        "notes",
        aliases=("piece_completion",),
        parameters=parameters,
        literature=_CONT,
    )


def _statistics(parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    metrics = []
    for what, meaning in _STATISTICS.items():
        mean, absolute, deviation = f"mean_{what}", f"mean_absolute_{what}", f"std_{what}"
        metrics.append(_statistic(mean, f"Mean {what}", f"mean of {meaning}", parameters))
        if what != "latency":
            metrics.append(_statistic(absolute, f"Mean absolute {what}", f"mean size of {meaning}", parameters))
        metrics.append(_statistic(deviation, f"Deviation of {what}", f"standard deviation of {meaning}", parameters))
    return tuple(metrics)


def _statistic(name: str, title: str, summary: str, parameters: tuple[Parameter, ...]) -> Metric:
    signed = not name.startswith(("mean_absolute", "std"))
    lowest = -float("inf") if signed else 0.0
    return Metric(
        name,
        title,
        f"{summary}, over the correctly aligned notes",
        _ALIGNED,
        "notes",
        aliases=("imprecision",) if name == "mean_absolute_error" else (),
        range=(lowest, float("inf")),
        orientation="none" if signed and name != "mean_latency" else "lower",
        unit="s",
        pooling="none" if name.startswith("std") else "exact",
        perfect=0.0,
        perfect_exceptions="" if name.endswith("error") else "a note is reported after its onset",
        parameters=parameters,
        literature=_CONT,
    )


def _convention(name: str, summary: str, threshold: float) -> Convention:
    parameters = _parameters(threshold)
    metrics = (
        *_precisions(parameters),
        *(_rate(rate, parameters) for rate in _RATES),
        _completion(parameters),
        *_statistics(parameters),
    )
    return Convention(name, summary, metrics, clean, score, explain=evidence)


_CONVENTIONS = (
    _convention("mirex2006", "MIREX 2006: a note that is off by more than 2000 ms is misaligned", 2.0),
    _convention("cont2007", "Cont et al. 2007: a note that is off by more than 300 ms is misaligned", 0.3),
)

TASK = Task(
    "score_following",
    "Score following",
    MappingProxyType({one.name: one for one in _CONVENTIONS}),
    ("overall_precision",),
)
