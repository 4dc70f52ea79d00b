"""Estimates that say nothing about the music and yet score well by some metrics: a table, and doubts about such files.

A precision is 1 for an estimate that risks a single item, a recall for one that claims everything, and an error of one
kind is 0 for one that makes only the others. Such metrics are read together with their counterpart. A metric that a
constant estimate wins alone cannot rank systems by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.collection import Collection
from ..ragged import Bool, offsets_of, row_of_items
from .base import Doubt
from .measures import Measure

CONSTANTS: Mapping[str, str] = MappingProxyType(
    {
        "empty": "an empty or silent estimate",
        "one label": "a single label from beginning to end",
        "X": "X from beginning to end",
        "everything": "an estimate of everything: events, pitches or classes everywhere, segments of 1 s",
    }
)
"""Constant estimates by name."""
_RATES = ("substitution_error", "false_alarm_error")
_FULL_FRAMES: tuple[str, ...] = ("recall", "substitution_error", "miss_error")
_FULL_FRAMES += tuple(f"chroma_{name}" for name in _FULL_FRAMES)
_EMPTY_FRAMES = (*_RATES, *(f"chroma_{name}" for name in _RATES))

WINS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chord": {
            "X": ("mirex",),
            "one label": ("overseg", "oversegmentation", "deleted", "inserted", "all_wrong"),
            "empty": ("overseg", "oversegmentation", "inserted", "all_wrong"),
        },
        "segment": {
            "empty": ("precision", "deviation_est_to_ref", "pairwise_recall"),
            "one label": ("precision", "deviation_est_to_ref", "pairwise_recall"),
            "everything": ("recall", "pairwise_precision", "nce_under", "v_recall"),
        },
        "beat": {"everything": ("recall",)},
        "downbeat": {"everything": ("recall",)},
        "onset": {"everything": ("recall",)},
        "hierarchy": {"empty": ("l_precision",), "one label": ("l_precision",)},
        "multipitch": {"empty": _EMPTY_FRAMES, "everything": _FULL_FRAMES},
        "melody": {"empty": ("voicing_false_alarm",), "everything": ("voicing_recall",)},
        "transcription": {
            "empty": tuple(f"frame_{name}" for name in _EMPTY_FRAMES),
            "everything": tuple(f"frame_{name}" for name in _FULL_FRAMES),
        },
        "pedal": {"everything": ("frame_recall",)},
        "drums": {"empty": ("mean_precision",), "everything": ("recall", "mean_recall")},
        "tagging": {"empty": ("negative_accuracy",), "everything": ("recall",)},
        "score_following": {"empty": ("misaligned",)},
        "lyrics": {"empty": ("substitution_rate", "insertion_rate", "case_error_rate")},
    }
)
"""Metrics by task and constant estimate whose scores of it are within a tenth of those of a perfect estimate."""


def constants_that_win(task: str, metric: str) -> list[str]:
    """Describe the constant estimates that score within a tenth of a perfect estimate by a metric."""
    return [CONSTANTS[name] for name, metrics in WINS.get(task, {}).items() if metric in metrics]


SHARE = 0.5  # Share of the time that an estimate of chords may leave open as `X` without a warning
DISTINCT = 5  # Number of different labels that a reference has if an estimate with a single one is reported


def doubt_single_label(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Report an estimate of segments with one label throughout, if a metric is then perfect."""
    labels = set(estimate.labels or ())
    names = dict.fromkeys(measure.metric.name for measure in measures)
    won = [name for name in names if name in WINS["segment"]["one label"]]
    if len(labels) != 1 or not won or len(set(reference.labels or ())) < DISTINCT:
        return None
    return f"the estimate has the label {labels.pop()!r} throughout, which is perfect by {', '.join(won)} alone"


def suspect_single_label(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations with one label throughout."""
    rows = annotations.rows
    codes, counts = rows.columns["label"], rows.counts[0]
    mask: Bool = np.zeros(len(counts), dtype=np.bool_)
    filled = np.flatnonzero(counts)
    if len(filled):
        begins = offsets_of(counts)[:-1][filled]
        mask[filled] = np.minimum.reduceat(codes, begins) == np.maximum.reduceat(codes, begins)
    return mask


def doubt_unknown_chords(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Report an estimate that names no chord, if a metric counts that as right."""
    names = dict.fromkeys(measure.metric.name for measure in measures)
    won = [name for name in names if name in WINS["chord"]["X"]]
    seconds = estimate.columns["end"] - estimate.columns["start"]
    unknown = np.array([label in ("X", "U") for label in estimate.labels or ()], dtype=np.bool_)
    share = seconds[unknown].sum() / max(float(seconds.sum()), np.finfo(float).tiny)
    if not won or share <= SHARE:
        return None
    return f"the estimate is X for {100 * share:.0f} % of its time, which {', '.join(won)} counts as right"


def suspect_unknown_chords(measures: Sequence[Measure], annotations: Collection) -> Bool:
    """Mask annotations in which an unknown chord occurs."""
    rows = annotations.rows
    codes = [code for code, label in enumerate(rows.labels) if label in ("X", "U")]
    mask: Bool = np.zeros(len(annotations), dtype=np.bool_)
    mask[row_of_items(rows)[np.isin(rows.columns["label"], codes)]] = True
    return mask


UNKNOWN_CHORDS = Doubt(
    "unknown_chords",
    f"the estimate is `X` for more than {SHARE:.0%} of its time, which `mirex` counts as right, as mir_eval does",
    of_pair=doubt_unknown_chords,
    suspects=suspect_unknown_chords,
)
SINGLE_LABEL = Doubt(
    "constant",
    f"the estimate has one label throughout, where its reference has {DISTINCT} or more, and a metric is then "
    "perfect: precisions of boundaries, undersegmentation",
    of_pair=doubt_single_label,
    suspects=suspect_single_label,
)
