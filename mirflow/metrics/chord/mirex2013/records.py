"""The records of the MIREX 2013 metrics: the five rules, the columns of their official tables, and segmentation."""

from __future__ import annotations

from typing import Literal

from ...base.record import Metric, Parameter
from .vocabulary import RULES

_TOOL = "MusOOEvaluator as run for MIREX 2013"
_LEFT_OUT = "0 where no reference label is in the rule's vocabulary"
_ENHARMONIC = "less where its spelling decides its class, as of A:min7(*5,b6): an estimate is read by pitch"


def _rule(name: str, alias: str, summary: str) -> Metric:
    return Metric(
        name,
        alias,
        f"share of the evaluated time on which the estimate is right: {summary}",
        "time of the reference segments in the rule's vocabulary",
        aliases=(alias,),
        recall=True,
        standard_aggregate="wcsr",
        perfect_exceptions=f"{_LEFT_OUT}; {_ENHARMONIC}",
        literature=_TOOL,
    )


_RULE_METRICS = (
    _rule("root", "MirexRoot", "same root, or both no chord"),
    _rule("majmin", "MirexMajMin", "same triad; maj, min and no chord are evaluated"),
    _rule("majmin_inv", "MirexMajMinBass", "same triad and same bass within the triad"),
    _rule("sevenths", "MirexSevenths", "same tetrad; maj, min, 7, maj7, min7 and no chord are evaluated"),
    _rule("sevenths_inv", "MirexSeventhsBass", "same tetrad and same bass within the tetrad"),
)
_RULE = Parameter("rule", "majmin", choices=RULES, help="the rule that maps chords to its vocabulary")

Orientation = Literal["higher", "lower", "none"]


def _share(name: str, title: str, orientation: Orientation, perfect: float | None, summary: str) -> Metric:
    return Metric(
        name,
        title,
        f"share of the evaluated time on which {summary}",
        "time of the reference segments in the rule's vocabulary",
        orientation=orientation,
        standard_aggregate="pooled",
        perfect=perfect,
        perfect_exceptions="" if perfect is None else _ENHARMONIC,
        parameters=(_RULE,),
        literature=_TOOL,
    )


_SHARES = (
    _share("all_correct", "All correct", "higher", None, "the reference is a chord and the estimate is right"),
    _share("root_correct", "Root correct", "none", 0.0, "both are chords with the same root but not the same type"),
    _share("type_correct", "Type correct", "none", 0.0, "both are chords with the same type but not the same root"),
    _share("all_wrong", "All wrong", "lower", 0.0, "both are chords with different roots and different types"),
    _share("deleted", "Deleted", "lower", 0.0, "the reference is a chord and the estimate is none"),
    _share("inserted", "Inserted", "lower", 0.0, "the reference is no chord and the estimate is one"),
    _share("correct_no_chord", "Correct no-chord", "none", None, "both are no chord"),
)


def _count(name: str, title: str, side: str) -> Metric:
    return Metric(
        name,
        title,
        f"number of different mapped chords of the {side}, over the evaluated time on which both sides are chords",
        "time of the reference segments in the rule's vocabulary",
        range=(0.0, float("inf")),
        orientation="none",
        unit="chords",
        pooling="none",
        perfect=None,
        parameters=(_RULE,),
        literature=_TOOL,
    )


_COUNTS = (
    _count("n_reference_chords", "Unique reference chords", "reference"),
    _count("n_estimate_chords", "Unique estimate chords", "estimate"),
)


def _hamming(name: str, title: str, orientation: Orientation, perfect: float, summary: str) -> Metric:
    # Between 0 and 1 unless segments of one side overlap each other, which the convention takes.
    return Metric(
        name,
        title,
        summary,
        "end of the reference",
        range=(0.0, float("inf")) if orientation == "lower" else (float("-inf"), 1.0),
        orientation=orientation,
        pooling="micro",
        perfect=perfect,
        perfect_exceptions="segments that overlap each other; nothing to measure gives 0",
        literature="Mauch and Dixon 2010; MusOOEvaluator, segmentation Inner, as run for MIREX 2013",
    )


_HAMMING = (
    _hamming(
        "undersegmentation",
        "Under-segmentation",
        "lower",
        0.0,
        "directional Hamming distance: time of each estimated segment outside its best reference segment",
    ),
    _hamming(
        "oversegmentation",
        "Over-segmentation",
        "lower",
        0.0,
        "directional Hamming distance: time of each reference segment outside its best estimated segment",
    ),
    _hamming("hamming_measure", "Directional Hamming measure", "higher", 1.0, "1 - the larger of the two distances"),
)

METRICS = (*_RULE_METRICS, *_SHARES, *_COUNTS, *_HAMMING)
SHARES = tuple(metric.name for metric in _SHARES)
COUNTS = tuple(metric.name for metric in _COUNTS)
HAMMING = tuple(metric.name for metric in _HAMMING)
DEFAULT_MEASURES = (
    *RULES,
    *(f"{column}@{rule}" for rule in RULES for column in (*SHARES, *COUNTS)),
    *HAMMING,
)
