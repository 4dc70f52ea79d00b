"""The records of the pattern metrics, and the convention of the task."""

from __future__ import annotations

from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean
from .scoring import score

_TOLERANCE = Parameter("tol", 1e-5, "", help="two shifts differ by less, in quarter notes or MIDI numbers", least=0.0)
_THRESHOLD = Parameter(
    "thres", 0.75, "", help="how alike two occurrences must be for their patterns to count", least=0.0
)
_FIRST = Parameter(
    "n", 5, "patterns", help="how many of the estimated patterns are considered, in their order", least=1
)

_COLLINS = "Collins, MIREX task Discovery of Repeated Themes & Sections, 2013 and 2014"
_MEREDITH = "Meredith, COSIATEC and SIATECCompress, MIREX 2013"

_REFERENCES, _ESTIMATES = "number of reference patterns", "number of estimated patterns"
_ALIKE = "number of pairs of a reference pattern and an estimated one that are alike enough"
_TWICE = "below 1 where an occurrence has a note twice"


def _metrics(
    prefix: str,
    title: str,
    keys: tuple[str, str, str],
    summaries: tuple[str, str],
    source: str,
    parameters: tuple[Parameter, ...] = (),
    weights: tuple[str, str, str] = ("half the number of all patterns", _ESTIMATES, _REFERENCES),
    unit: str = "patterns",
    exceptions: str = _TWICE,
    most: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> tuple[Metric, ...]:
    """F-measure, precision and recall of one kind."""
    names = ("f_measure", "precision", "recall")
    titles = ("F-measure", "precision", "recall")
    whole = ("harmonic mean of the two others", *summaries)
    return tuple(
        Metric(
            f"{prefix}{name}",
            f"{title} {which}",
            summary,
            weight,
            unit,
            key=key,
            range=(0.0, largest),
            pooling="micro",
            perfect_exceptions=exceptions,
            parameters=parameters,
            literature=source,
        )
        for name, which, summary, weight, key, largest in zip(names, titles, whole, weights, keys, most, strict=True)
    )


METRICS = (
    *_metrics(
        "",
        "Standard",
        ("F", "P", "R"),
        (
            "reference patterns whose prototype, shifted at most, is an estimated one; over estimated patterns: above "
            "1 where an estimated pattern is several of the reference",
            "the same over reference patterns",
        ),
        _COLLINS,
        (_TOLERANCE,),
        exceptions="",
        # Reference patterns are what is counted, so that only recall is a share.
        most=(2.0, float("inf"), 1.0),
    ),
    *_metrics(
        "establishment_",
        "Establishment",
        ("F_est", "P_est", "R_est"),
        (
            "mean over estimated patterns of the likeness of their most alike occurrence to one of the reference",
            "mean over reference patterns of the likeness of their most alike occurrence to one of the estimate",
        ),
        _COLLINS,
    ),
    *_metrics(
        "occurrence_",
        "Occurrence",
        ("F_occ.75", "P_occ.75", "R_occ.75"),
        (
            "how well the occurrences of established patterns that were found are ones of the reference",
            "how well the occurrences of established patterns of the reference were found",
        ),
        _COLLINS,
        (_THRESHOLD,),
        (_ALIKE, _ALIKE, _ALIKE),
        "pairs of patterns",
        "below 1, or 0, where an occurrence has a note twice; 0 for a threshold above 1",
    ),
    *_metrics(
        "three_layer_",
        "Three-layer",
        ("F_3", "P_3", "R_3"),
        (
            "mean over estimated patterns of their greatest F-measure, over occurrences and, within these, notes",
            "mean over reference patterns of their greatest F-measure, over occurrences and, within these, notes",
        ),
        _MEREDITH,
    ),
    Metric(
        "first_n_three_layer_precision",
        "First-n three-layer precision",
        "three-layer precision of the first n estimated patterns",
        "number of estimated patterns considered",
        "patterns",
        key="FFP",
        pooling="micro",
        perfect_exceptions=_TWICE,
        parameters=(_FIRST,),
        literature=_COLLINS,
    ),
    Metric(
        "first_n_target_proportion_recall",
        "First-n target proportion recall",
        "establishment recall of the first n estimated patterns",
        _REFERENCES,
        "patterns",
        key="FFTP_est",
        pooling="micro",
        perfect_exceptions=f"below 1 where there are more than n patterns; {_TWICE}",
        parameters=(_FIRST,),
        literature=_COLLINS,
    ),
)

DEFAULT_MEASURES = (
    *("f_measure", "precision", "recall"),
    *("establishment_f_measure", "establishment_precision", "establishment_recall"),
    *("occurrence_f_measure@0.5", "occurrence_precision@0.5", "occurrence_recall@0.5"),
    *("occurrence_f_measure", "occurrence_precision", "occurrence_recall"),
    *("three_layer_f_measure", "three_layer_precision", "three_layer_recall"),
    *("first_n_three_layer_precision", "first_n_target_proportion_recall"),
)
"""What mir_eval's evaluate computes, in its order."""

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2 and the MIREX task, with the occurrence metrics at both thresholds",
    METRICS,
    clean,
    score,
    default_measures=DEFAULT_MEASURES,
)

TASK = Task(
    "pattern",
    "Discovery of repeated patterns",
    MappingProxyType({MIR_EVAL.name: MIR_EVAL}),
    ("three_layer_f_measure", "establishment_f_measure", "f_measure"),
)
