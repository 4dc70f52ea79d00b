"""Local key estimation: reference and estimate are intervals with keys, for music that modulates.

The metrics are those of a single key, as shares of the time instead of shares of the tracks. mir_eval does not have
this task. Functions with the metrics' names score one pair; `TASK` holds the metrics of whole datasets, with kinds of
errors and a warning of lower-case letters without a mode.

Conventions
-----------
* ``mirex2017`` (default): the points of MIREX since 2017: fifths in both directions earn points.
* ``mirex2005``: those until 2016: only the fifth above earns points.

Metrics
-------
* ``weighted_score``: mean over the time of the points of a key: 1 for the same, 0.5 for a fifth, 0.3 for the relative
  and 0.2 for the parallel key.
* ``same``, ``fifth``, ``relative``, ``parallel``, ``relative_of_fifth``, ``other``: shares of the time, which sum to 1.

References
----------
Schreiber, Weiß and Müller, Local key estimation in classical music recordings: a cross-version study on Schubert's
Winterreise, ICASSP 2020; MIREX audio key detection, 2005 and 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.grids import LABELS
from ..kernels.intervals import merge, rank, steps_between
from ..kernels.ragged_ops import sum_by
from ..kernels.ratios import divide
from ..ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..theory.keys import OTHER, RELATIONS, SAME, key_codes, not_a_key, parse_key, relation_table
from .base import GRIDS, Convention, Pairs, Task, by_name, score_by, score_on_frames
from .cleaning import NO_INTERVALS, Cleaned, find_overlaps, inspected, intervals_in_order, set_aside, usable_pair
from .edits import Edits, ErrorBudget, ErrorKind, LabelRows, align_pieces
from .key import CLASSES, ERRORS, LOWER_CASE, codes_of, errors_of, weigh_class
from .key import METRICS as OF_TRACKS
from .measures import Measure, Weight, family
from .pair import PairFunctions, clean_row

__all__ = ["TASK"]

_BATCH = 2**14  # Intervals of both sides processed at once, so that results fit into the cache


class KeyStretches(NamedTuple):
    """Stretches of time in which the reference has a key and neither side changes, of many pairs."""

    start: Float
    end: Float  # float64 (stretches,), seconds
    reference: Int
    estimate: Int  # int64 (stretches,): index of the interval of each side; -1 if the estimate has none
    relation: Int  # int64 (stretches,): index in `RELATIONS`; other without an estimate
    pair: Int  # int64 (stretches,)


def find_stretches(references: Ragged, estimates: Ragged) -> KeyStretches:
    """Find the stretches of clean rows, one row per pair on each side."""
    common = np.full(len(references), np.inf)
    for rows in (references, estimates):
        filled = rows.counts[0] > 0
        begins = rows.columns["start"][rows.offsets[:-1][filled]]
        common[filled] = np.minimum(common[filled], begins)
    common[np.isinf(common)] = 0.0
    # The interval of a row changes at each start and end (-1: none follows), and at a start shared by both sides.
    steps, items = [], []
    for rows in (references, estimates):
        lead, item = 2 * rows.offsets[:-1], np.arange(len(rows.columns["start"]))
        time = np.column_stack([rows.columns["start"], rows.columns["end"]]).ravel()
        steps.append(np.insert(time, lead, common))
        items.append(np.insert(np.column_stack([item, np.full(len(item), -1)]).ravel(), lead, -1))
    times, (left, right) = rank(*steps)
    line = merge(left, 2 * references.counts[0] + 1, right, 2 * estimates.counts[0] + 1)
    time = times[line.rank]
    chosen = np.flatnonzero((steps_between(time, line.counts) > 0) & (items[0][line.left] >= 0))
    reference, estimate = items[0][line.left[chosen]], items[1][line.right[chosen]]
    relation = relation_table()[codes_of(references)[reference], codes_of(estimates)[estimate]].astype(np.int64)
    relation[estimate < 0] = OTHER
    return KeyStretches(time[chosen], time[chosen + 1], reference, estimate, relation, rows_of(line.counts)[chosen])


@dataclass(frozen=True, slots=True)
class KeySeconds:
    """Seconds of each relation of the keys of both sides of pairs: float64 (pairs, relations)."""

    totals: Float

    @classmethod
    def of(cls, pairs: Pairs) -> KeySeconds:
        """Compare clean rows over the time with a reference key; a missing estimate belongs to class other."""
        stretches = find_stretches(*pairs.lay_out())
        index = stretches.pair * len(RELATIONS) + stretches.relation
        seconds = sum_by(index, stretches.end - stretches.start, len(pairs) * len(RELATIONS))
        return cls(seconds.reshape(len(pairs), len(RELATIONS)))

    def weigh(self, points: Mapping[int, float]) -> tuple[Float, Float]:
        """Mean points over the time with a reference key (NaN if there is none), and that time."""
        of_relation = np.array([points.get(relation, 0.0) for relation in range(len(RELATIONS))])
        # Not a matrix product, whose order of summation depends on the number of pairs.
        scored, seconds = ((self.totals * each).cumsum(axis=1)[:, -1] for each in (of_relation, np.ones(1)))
        return divide(scored, seconds, np.nan), seconds


_LITERATURE = "equation 3 of @downie2010, over time as in @schreiber2020key"
_SECONDS = Weight("seconds with a key in the reference", "s")
_points = replace(
    OF_TRACKS[0],
    summary="mean over the time of the points of a key",
    weight=_SECONDS.words,
    weight_unit=_SECONDS.unit,
    pooling="exact",
    key="",
    mir_eval="",
    literature=_LITERATURE,
)
_classes = family(
    _SECONDS,
    {
        name: {
            **about,
            "summary": f"share of the time in which {about['summary'].format('excludes')}",
            "literature": _LITERATURE,
        }
        for name, about in sorted(CLASSES.items(), key=lambda item: item[0] == "other")  # the others before it
    },
)(partial(weigh_class, (OTHER,)))
METRICS = tuple(record.with_defaults(allow_descending_fifths=True) for record in (_points, *_classes))


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of intervals.

    Intervals of zero length are dropped and unordered rows sorted; both are counted. Flaws are times that are not
    finite, negative or reversed, labels that are not keys, and overlaps. Gaps are time without a key.
    """
    findings, problems, irregular = inspected("intervals", rows, NO_INTERVALS, ("zero_length", "unsorted"))
    label, texts = rows.columns["label"], [*rows.labels, ""]
    unknown: Bool = np.array([parse_key(text) is None for text in texts], dtype=np.bool_)[label]
    problems.append((unknown, lambda item: not_a_key(texts[label[item]])))
    if findings & {"overlap", "unsorted"}:
        problems.append(find_overlaps(rows, problems))
    cleaned = set_aside(rows, problems, irregular)
    return replace(cleaned, rows=intervals_in_order(cleaned.rows)[0]) if irregular.any() else cleaned


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the stretches of time in which neither key changes, for any measure.

    Columns are ``start`` and ``end`` (seconds), ``reference`` and ``estimate`` (labels, empty for no estimate),
    ``verdict`` (``right`` or ``wrong``) and ``relation``, one of `mirflow.theory.keys.RELATIONS`.
    """
    rows = usable_pair(reference, estimate, clean, filled=1)
    stretches = find_stretches(*rows)
    names = [np.array([*side.labels, ""], dtype=str)[np.append(side.columns["label"], -1)] for side in rows]
    return {
        "start": stretches.start,
        "end": stretches.end,
        "reference": names[0][stretches.reference],
        "estimate": names[1][stretches.estimate],
        "verdict": np.where(stretches.relation == SAME, "right", "wrong"),
        "relation": np.array(RELATIONS, dtype=str)[stretches.relation],
    }


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the edits of keys over time."""
    codes = codes_of(reference), codes_of(estimate)
    return align_pieces(reference, estimate, codes, errors_of, len(ERRORS), carry=False)


MIREX2017 = Convention(
    "mirex2017",
    "MIREX since 2017, over time: fifths in both directions earn points",
    METRICS,
    clean,
    partial(score_on_frames, partial(score_by, KeySeconds.of, at_once=_BATCH), "intervals", LABELS),
    GRIDS,
    explain=evidence,
    literature="@downie2010",
)
MIREX2005 = replace(
    MIREX2017,
    name="mirex2005",
    summary="MIREX until 2016, over time: only the ascending fifth earns points",
    metrics=tuple(record.with_defaults(allow_descending_fifths=False) for record in METRICS),
)

TASK = Task(
    "local_key",
    "Local key estimation",
    by_name(MIREX2017, MIREX2005),
    ("weighted_score",),
    doubts=(LOWER_CASE,),
    errors=ErrorBudget(
        (*ERRORS, ErrorKind("boundaries", "a change of keys that is early or late")),
        find_errors,
        LabelRows(key_codes, (("C:maj", "C major"), ("G:maj", "G major"), ("A:min", "A minor"))),
        version=2,
    ),
)


_SIDES = "Tuple of intervals, (n, 2) in seconds, and their keys."
globals().update(PairFunctions(METRICS, partial(MIREX2017.score_arrays, partial(clean_row, clean))).functions(_SIDES))
