"""Onset detection: reference and estimate are sequences of times in seconds, optionally with labels (drums).

Onsets match within 50 ms unless ``window`` is set. The functions are those of ``mir_eval.onset``, with the same
arguments, results and errors; `TASK` holds the metrics of whole datasets, with kinds of errors.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2, the largest matching.
* ``mirex``: the same with greedy matching.
* ``madmom``: evaluation of madmom: within 25 ms; pairs with two empty sides are right. Its functions are in
  `mirflow.metrics.onset.madmom`.

Metrics
-------
* ``f_measure``, ``precision``, ``recall`` (`f_measure`): shares of matched onsets.
* In ``madmom``, additionally ``accuracy``, ``mean_error`` and ``std_error`` of matched times, and ``counts`` and
  ``error_moments``, on request.
* ``class_f_measure``, on request: mean of the F-measures of the labels.
* ``by_class``, on request: counts of matched, reference and estimated onsets of each label.

References
----------
Raffel et al., mir_eval: a transparent implementation of common MIR metrics, ISMIR 2014; Downie et al., The Music
Information Retrieval Evaluation eXchange, 2010, section 3.2.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..kernels.intervals import batches
from ..kernels.ragged_ops import sum_by
from ..kernels.ratios import Scored, rate, share
from ..ragged import Int, rows_of
from . import onset_madmom as madmom
from .base import Convention, Pairs, Shared, Sparse, Task, by_name, computed_by, read_pair, score_by
from .event_errors import ONSETS
from .events import (
    CHECKS,
    CLOSE,
    MATCHINGS,
    MAX_TIME,
    OF_COUNTS,
    ClassCounts,
    clean,
    count_keys,
    events_of,
    evidence,
    rates_of,
    rows_of_times,
    validate_pair,
)
from .measures import LABELS, Measure, Parameter, Weight, family, metrics_in
from .pair import PairFunctions, documented
from .util import Array

__all__ = ["MAX_TIME", "TASK", "evaluate", "f_measure", "madmom", "validate"]
UNNAMED = ""  # Class of onsets without a label


_BATCH = 2**16  # Onsets of both sides processed at once, so that results fit into the cache


class Onsets(Shared):
    """The onsets of pairs with cached matchings."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.references, self.estimates = pairs.counts

    @computed_by("window", "matching")
    def hits(self, window: float, matching: str) -> Int:
        """Number of matched onsets of each pair: int64 (pairs,)."""
        hits = np.zeros(len(self.pairs), dtype=np.int64)
        for batch in batches(self.pairs.sizes, _BATCH):
            one, other = (events_of(rows, row) for rows, row in self.pairs[batch].sides)
            hits[batch] = MATCHINGS[matching](one.times, one.counts, other.times, other.counts, window).counts
        return hits

    @computed_by("window", "matching")
    def classes(self, window: float, matching: str) -> tuple[ClassCounts, tuple[str, ...]]:
        """Counts of the onsets of each class of each pair, and the names of all classes, sorted.

        Onsets without a label form a separate class.
        """
        sides = self.pairs.lay_out()
        names = [[*side.labels, UNNAMED] if "label" in side.columns else [UNNAMED] for side in sides]
        classes = tuple(sorted({name for side in names for name in side}))
        numbered = {name: number for number, name in enumerate(classes)}
        times, keys = [], []
        for side, labels in zip(sides, names, strict=True):
            codes = np.array([numbered[label] for label in labels], dtype=np.int64)
            # The code -1, for no label, selects the last entry.
            number = codes[side.columns.get("label", np.full(len(side.columns["time"]), -1))]
            key = rows_of(side.counts[0]) * len(classes) + number
            order = np.argsort(key, kind="stable")
            times.append(side.columns["time"][order])
            keys.append(key[order])
        distinct, counts = count_keys(keys)
        hits = MATCHINGS[matching](times[0], counts[0], times[1], counts[1], window).counts
        return ClassCounts(distinct // len(classes), distinct % len(classes), hits, *counts), classes


_MIREX = "section 3.2 of @downie2010"
_PARAMETERS = (
    Parameter("window", 0.05, "s", help="largest distance of matched onsets", least=0.0, mir_eval="window"),
    Parameter("matching", "optimal", choices=("optimal", "greedy"), help="a largest matching, or MIREX's greedy one"),
)
_WEIGHTS, _RATES = rates_of("onsets")


@family(
    _WEIGHTS,
    {name: {"title": title, "key": title, "summary": summary} for name, (title, summary) in _RATES.items()},
    parameters=_PARAMETERS,
    mir_eval="f_measure",
    itemwise=True,
    literature=f"@raffel2014; {_MIREX}",
)
def _rates(what: str, onsets: Onsets, measure: Measure) -> Scored:
    return rate(what, onsets.hits(measure), onsets.references, onsets.estimates)


@family(
    {
        "class_f_measure": Weight("number of labels that occur on either side", "classes"),
        "by_class": Weight("none", "onsets"),
    },
    {
        "class_f_measure": {
            "title": "F-measure averaged over classes",
            "summary": "f-measure of the onsets of each label, averaged over the labels of either side",
            "pooling": "micro",
        },
        "by_class": {
            "title": "Onsets by class",
            "summary": "numbers of matched, reference and estimated onsets of each label",
            "dims": ("class", "count"),
            **OF_COUNTS,
        },
    },
    parameters=_PARAMETERS,
    default=False,
    needs=LABELS,
    literature="F-measure averaged over classes in @mirex2017drums",
)
def _of_classes(name: str, onsets: Onsets, measure: Measure) -> Scored | Sparse:
    """Mean F-measure of the labels of onsets, or the counts of each."""
    (counts, names), pairs = onsets.classes(measure), len(onsets.pairs)
    if name == "by_class":
        return counts.tabulate(names, "class", "onsets")
    single, _ = rate("f_measure", counts.matched, counts.reference, counts.estimate)
    return share(sum_by(counts.pair, single, pairs), np.bincount(counts.pair, minlength=pairs))


METRICS = metrics_in(globals())
MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2",
    METRICS,
    clean,
    partial(score_by, Onsets),
    explain=partial(evidence, "onsets", METRICS),
    literature="@raffel2014",
)
MIREX = replace(
    MIR_EVAL,
    name="mirex",
    summary="MIREX: as mir_eval, with greedy matching",
    metrics=tuple(replace(record.with_defaults(matching="greedy"), perfect_exceptions=CLOSE) for record in METRICS),
    literature="@downie2010",
)

TASK = Task(
    "onset",
    "Onset detection",
    by_name(MIR_EVAL, MIREX, madmom.CONVENTION),
    ("class_f_measure", "f_measure"),
    {madmom.CONVENTION.name: ("f_measure",)},
    errors=ONSETS,
)


_documented = documented(
    f"""
    Parameters
    ----------
    reference_onsets, estimated_onsets : (n,) and (m,), seconds
        In order of time.

    {CHECKS}
    """,
    METRICS,
)
_scores = PairFunctions(
    METRICS,
    lambda reference, estimate, measures: read_pair(
        measures, Onsets(Pairs.in_order(*rows_of_times(reference, estimate)))
    ),
    lambda reference, estimate, measures: validate_pair(reference, estimate, "onsets"),
)


@_documented
def validate(reference_onsets: Array, estimated_onsets: Array) -> None:
    """Check both sides of a pair."""
    validate_pair(reference_onsets, estimated_onsets, "onsets")


@_documented
def f_measure(reference_onsets: Array, estimated_onsets: Array, window: float = 0.05) -> tuple[float, float, float]:
    """F-measure, precision and recall of the onsets that have a match within a window.

    Returns
    -------
    f_measure, precision, recall : float
        0 if a side is empty.

    Examples
    --------
    >>> f_measure(np.array([0.5, 1.0]), np.array([0.52, 0.8, 1.04, 2.0]))
    (0.6666666666666666, 0.5, 1.0)
    """
    f, precision, recall = _scores("f_measure", reference_onsets, estimated_onsets, window=window)
    return f, precision, recall


@_documented
def evaluate(reference_onsets: Array, estimated_onsets: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """Compute all onset scores of one estimate.

    Examples
    --------
    >>> dict(evaluate(np.array([0.5, 1.0]), np.array([0.52]), window=0.03))
    {'F-measure': 0.6666666666666666, 'Precision': 1.0, 'Recall': 0.5}
    """
    return _scores.evaluate(reference_onsets, estimated_onsets, kwargs, "reference_onsets", "estimated_onsets")
