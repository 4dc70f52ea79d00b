"""Hierarchical structure: reference and estimate are several segmentations of one track, from coarse to fine.

A hierarchy ranks pairs of frames by the deepest level that relates them, and the metrics compare the two orders. The
functions are those of ``mir_eval.hierarchy``, with the same arguments, results and errors; `TASK` holds the metrics of
whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``frameless``: frameless-eval: L-measure with durations instead of frames.

Metrics
-------
* ``t_precision_reduced``, ``t_recall_reduced``, ``t_measure_reduced`` (`tmeasure`): frames related by a common segment,
  within 15 s, ranks that differ by one.
* ``t_precision_full``, ``t_recall_full``, ``t_measure_full`` (`tmeasure`, ``transitive=True``): the same for any two
  different ranks.
* ``l_precision``, ``l_recall``, ``l_measure`` (`lmeasure`): frames related by equal labels, over the whole track.

References
----------
McFee, Nieto and Bello, Hierarchical evaluation of segment boundary detection, ISMIR 2015; McFee, Nieto, Farbood and
Bello, Evaluating hierarchical structure in music annotations, Frontiers in Psychology, 2017.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...annotations.grids import LEVELS
from ...errors import refuse_unknown, warn_caller
from ...kernels.ratios import f_measure
from ...ragged import Ragged
from ..base import GRIDS, Convention, Grid, Pairs, Scores, Task, by_name, score_on_frames
from ..cleaning import NO_TIMES, Cleaned, inspected, set_aside
from ..measures import Family, Measure, Parameter, Weight, family
from ..pair import PairFunctions, are_close, documented
from ..util import BOUNDED, Array, adjust_intervals, are_times, intervals_to_boundaries, validate_intervals
from ..util import f_measure as f_score
from .kernel import EXACT, Ranking, RankSums, agreements, fit, hierarchies_of, read_frame_size, to_rows, too_long

__all__ = ["TASK", "evaluate", "lmeasure", "tmeasure", "validate_hier_intervals"]


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of levels and segments, dropping and counting segments of zero length.

    Levels that do not nest, gaps, overlaps and unordered segments are kept because metrics define their meaning. Flaws
    are times that are not finite, negative or reversed.
    """
    _, problems, short = inspected("hierarchy", rows, (*NO_TIMES, "negative", "reversed"), ("zero_length",))
    return set_aside(rows, problems, short, drop=True)


_AROUND = "distance around a frame in which others are compared"
_WINDOW = Parameter("window", 15.0, "s", help=_AROUND, above=0.0, mir_eval="window")
_LENGTH = "length of the frames, at most the window; exact: durations instead of frames"
_FRAME_SIZE = Parameter("frame_size", 0.1, "s", (), _LENGTH, above=0.0, mir_eval="frame_size", words=(EXACT,))
_BETA = Parameter("beta", 1.0, help="weight of recall relative to precision", least=0.0, mir_eval="beta")
_BY_SEGMENTS = "frames are ranked by the deepest segment they share"
LABELLED, NEIGHBOURS = "labels", "neighbouring ranks"
"""The `needs` of metrics: frames ranked by labels, or only neighbouring ranks compared."""

_SUMMARIES = {
    "precision": "share of the estimate's pairs of frames that the reference orders alike, averaged over frames",
    "recall": "share of the reference's pairs of frames that the estimate orders alike, averaged over frames",
    "measure": "harmonic mean of precision and recall",
}


def _read(which: str, sums: tuple[RankSums, RankSums], measure: Measure) -> tuple[float, float]:
    """Precision, recall or their harmonic mean, and seconds of frames."""
    precision, recall = sums
    frame_size = 1.0 if measure["frame_size"] == EXACT else float(measure["frame_size"])
    if which != "measure":
        side = precision if which == "precision" else recall
        return side.score, side.frames * frame_size
    beta = float(measure["beta"])
    score, frames = f_measure((precision.score, precision.frames), (recall.score, recall.frames), beta)
    return float(score), float(frames) * frame_size


def _metrics(name: str, title: str, how: str, ranks: str, frames: tuple[Parameter, ...], **common: Any) -> Family:
    """Precision, recall and F-measure of one kind; name and title have a placeholder for these."""
    weight = f"seconds of frames around which the {{}} has two frames of {ranks} rank"
    mixed = "(beta^2 * recall's weight + precision's weight) / (1 + beta^2)"
    weights = weight.format("estimate"), weight.format("reference"), mixed
    members = {
        which: {
            "name": name.format(which),
            "title": title.format(which),
            "summary": f"{summary}; {how}",
            "key": title.format(which.title()).replace(",", ""),
            "parameters": (*frames, _BETA) if which == "measure" else frames,
        }
        for which, summary in _SUMMARIES.items()
    }
    return family(
        {which: Weight(words, "s") for which, words in zip(_SUMMARIES, weights, strict=True)},
        members,
        pooling="micro",
        perfect_exceptions=f"0 if no frame has two frames of {ranks} rank around it, as in a single segment",
        **common,
    )(_read)


_NEIGHBOURING = f"{_BY_SEGMENTS}, and only neighbouring ranks are compared"
_ALL_RANKS = f"{_BY_SEGMENTS}, and all ranks are compared"
_BY_LABELS = "frames are ranked by the deepest level on which their labels are equal"
_of_segments = partial(_metrics, frames=(_WINDOW, _FRAME_SIZE), literature="@mcfee2015")
METRICS = (
    *_of_segments("t_{}_reduced", "T-{}, reduced", _NEIGHBOURING, "neighbouring", needs=NEIGHBOURS),
    *_of_segments("t_{}_full", "T-{}, full", _ALL_RANKS, "different"),
    *_metrics("l_{}", "L-{}", _BY_LABELS, "different", (_FRAME_SIZE,), literature="@mcfee2017", needs=LABELLED),
)

MOST_SEGMENTS = 2**14
"""Largest number of segments of both sides over all levels, whose pairwise comparison takes seconds."""
TOO_MANY = f"too many segments: {{}} in the reference and {{}} in the estimate (at most {MOST_SEGMENTS} in total)"


def score(
    pairs: Pairs,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    fold: Callable[[str], str] = str.lower,
    decimals: int | None = None,
    unordered: bool = False,
) -> Scores:
    """Score pairs by mir_eval's rules: a `Scorer`.

    Levels are ordered from the top, with few segments, to the bottom. References are refused if a level is empty or
    does not end with the first one, or if there are too many frames; pairs are refused if they have more than
    `MOST_SEGMENTS`. The frame size is a parameter of the measures; a MetricError is raised unless it is positive and at
    most the window. Labels are compared after `fold`; times are rounded to `decimals` if given. With `unordered`,
    frames with nothing to compare around them count as 1; otherwise they are left out.

    References
    ----------
    B. McFee, O. Nieto, M. Farbood and J. P. Bello, "Evaluating hierarchical structure in music annotations",
    Frontiers in Psychology, 2017.
    """
    rankings = []
    for measure in measures:
        needs, window = measure.metric.needs, float(measure.parameters.get("window", np.inf))
        size = measure["frame_size"]
        frame_size = read_frame_size(size if size == EXACT else float(size), window)
        rankings.append(Ranking(needs == LABELLED, needs != NEIGHBOURS, window, frame_size))
    values = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    left, right = (hierarchies_of(side, fold, decimals) for side in (pairs.references, pairs.estimates))
    faults: dict[int, str] = {}
    for row in np.unique(pairs.reference_row).tolist():
        reference = left[row]
        if not len(reference.start):
            continue
        ends = np.full(reference.depth, -np.inf)  # of levels; minus infinity without segments
        np.maximum.at(ends, reference.level, reference.end)
        too_many = (too_long(float(ends.max()), ranking.frame_size) for ranking in rankings)
        odd = np.flatnonzero(np.isinf(ends) | ~np.isclose(ends[0], ends))
        if len(odd):
            end = ends[odd[0]]
            what = "has no segments" if np.isinf(end) else f"ends at {end} s, but level 1 at {ends[0]} s"
            faults[row] = f"level {odd[0] + 1} {what}"
        elif fault := next(filter(None, too_many), ""):
            faults[row] = fault
        else:
            left[row] = fit(reference)
    for pair, (row, other) in enumerate(zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True)):
        reference = left[row]
        if row in faults:
            refused[pair] = f"reference: {faults[row]}"
            values[0, pair] = np.nan
        elif len(reference.start) + len(right[other].start) > MOST_SEGMENTS:
            refused[pair] = TOO_MANY.format(len(reference.start), len(right[other].start))
            values[0, pair] = np.nan
        elif len(reference.start):
            estimate = fit(right[other], float(reference.end.max()))
            agreed = agreements(reference, estimate, dict.fromkeys(rankings))
            for column, (measure, ranking) in enumerate(zip(measures, rankings, strict=True)):
                sums = agreed[ranking]
                if unordered:  # of all frames, or of the length in seconds without frames
                    size = ranking.frame_size
                    whole = reference.frames(size)[2] if size else float(reference.end.max())
                    # Frames with nothing to compare agree.
                    one, other = (RankSums(s.agreed + max(whole - s.frames, 0.0), whole) for s in sums)
                    sums = one, other
                values[:, pair, column] = measure.read(sums)
    return Scores(values[0], values[1], refused=refused)


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: levels are padded to begin at 0, those of the estimate also fitted to the reference's end",
    METRICS,
    clean,
    partial(score_on_frames, score, "hierarchy", LEVELS),
    GRIDS,
    tuple(record.name for record in METRICS),
    literature="@raffel2014",
)

FRAMELESS = Convention(
    "frameless",
    "frameless-eval: L-measure with durations instead of frames, times rounded to 5 decimals, case-sensitive labels, "
    "and moments around which nothing is ordered count as 1",
    tuple(
        replace(
            record.with_defaults(frame_size=EXACT),
            key="",
            literature=f"{record.literature}; @xi2025",
            perfect_exceptions="",
        )
        for record in METRICS
        if record.needs == LABELLED
    ),
    clean,
    partial(score, fold=str, decimals=5, unordered=True),
    literature="@xi2025",
)

TASK = Task("hierarchy", "Hierarchical structure", by_name(MIR_EVAL, FRAMELESS), ("l_measure", "t_measure_full"))


_scores = PairFunctions(METRICS, MIR_EVAL.score_pair)

Levels = Sequence[Array]
Labels = Sequence[Sequence[Any]]

_documented = documented(
    """
    Parameters
    ----------
    intervals_hier : sequence of (n, 2) arrays, seconds
        From the top, with few segments, to the bottom.
    reference_intervals_hier, estimated_intervals_hier : sequence of (n, 2) arrays, seconds
        Levels from the top, with few segments, to the bottom; all with the same span, starting at 0.
    ref_intervals_hier, est_intervals_hier : sequence of (n, 2) arrays, seconds
        From the top, with few segments, to the bottom. All levels are padded to begin at 0, and those of the estimate
        cropped and padded to the end of the reference.
    ref_labels_hier, est_labels_hier : sequence of sequences of str
        One label per segment for each level; case is ignored.
    reference_labels_hier, estimated_labels_hier : sequence of sequences of str
        One label per segment for each level; case is ignored.
    frame_size : float, seconds, or "exact"
        Length of the frames, at most the window; ``"exact"``: durations instead of frames.
    transitive : bool
        Whether to compare pairs of frames of any two different ranks, instead of neighbouring ranks only.
    window : float or None, seconds
        Distance around a frame in which others are compared; None: the whole track.

    Raises
    ------
    ValueError
        For levels that have negative times or empty segments, do not start at 0 or do not end with the first one (a
        single level only needs nonnegative and finite times), different spans, different numbers of labels and
        intervals, and frame sizes that are not positive or exceed the window.

    Warns
    -----
    MirflowWarning
        For each level that lacks a boundary of a higher one.
    """,
    METRICS,
)


@_documented
def validate_hier_intervals(intervals_hier: Levels) -> None:
    """Check a hierarchy of segments.

    Examples
    --------
    >>> validate_hier_intervals([np.array([[0, 30]]), np.array([[0, 15], [15, 30]])])
    """
    top, *others = (np.asarray(intervals) for intervals in intervals_hier)
    if not are_times(top):
        raise ValueError(f"Interval times {BOUNDED}")
    if (top < 0).any():
        raise ValueError("Negative interval times found")
    boundaries = set(intervals_to_boundaries(top).tolist())
    for level, intervals in enumerate(others, 1):
        for one in (top, intervals):
            validate_intervals(one)
            if not are_times(one):
                raise ValueError(f"Interval times {BOUNDED}")
            if one.size and not are_close(one.min(), 0.0):
                raise ValueError("Segment intervals do not start at 0")
        for side, one in (("Reference", top), ("Estimated", intervals)):
            if one.size == 0:
                warn_caller(f"{side} intervals are empty.")
        if top.size and intervals.size and not are_close(top.max(), intervals.max()):
            raise ValueError("End times do not match")
        own = set(intervals_to_boundaries(intervals).tolist())
        if boundaries - own:
            warn_caller(f"Segment hierarchy is inconsistent at level {level:d}")
        boundaries |= own


@_documented
def tmeasure(
    reference_intervals_hier: Levels,
    estimated_intervals_hier: Levels,
    transitive: bool = False,
    window: float | None = 15.0,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Agreement of two hierarchies on which frames share deep segments.

    Returns
    -------
    t_precision, t_recall, t_measure : float

    References
    ----------
    B. McFee, O. Nieto and J. P. Bello, "Hierarchical evaluation of segment boundary detection", ISMIR 2015.

    Examples
    --------
    >>> levels = [np.array([[0, 30]]), np.array([[0, 15], [15, 30]])]
    >>> tmeasure(levels, levels), tmeasure(levels, levels[:1])
    ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    """
    reach = np.inf if window is None else float(window)
    ranking = Ranking(False, transitive, reach, read_frame_size(frame_size, reach))
    return _measure(ranking, (reference_intervals_hier, None), (estimated_intervals_hier, None), beta)


@_documented
def lmeasure(
    reference_intervals_hier: Levels,
    reference_labels_hier: Labels,
    estimated_intervals_hier: Levels,
    estimated_labels_hier: Labels,
    frame_size: float | str = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Agreement of two hierarchies on which frames share labels on deep levels.

    Returns
    -------
    l_precision, l_recall, l_measure : float

    References
    ----------
    B. McFee, O. Nieto, M. Farbood and J. P. Bello, "Evaluating hierarchical structure in music annotations",
    Frontiers in Psychology, 2017.

    Examples
    --------
    >>> levels, labels = [np.array([[0, 30]]), np.array([[0, 15], [15, 30]])], [["A"], ["a", "b"]]
    >>> lmeasure(levels, labels, levels, [["A"], ["b", "a"]])
    (1.0, 1.0, 1.0)
    """
    reference = reference_intervals_hier, reference_labels_hier
    estimate = estimated_intervals_hier, estimated_labels_hier
    return _measure(Ranking(True, True, np.inf, read_frame_size(frame_size, np.inf)), reference, estimate, beta)


def _measure(
    ranking: Ranking, reference: tuple[Levels, Labels | None], estimate: tuple[Levels, Labels | None], beta: float
) -> tuple[float, float, float]:
    hierarchies = []
    for intervals, labels in (reference, estimate):
        validate_hier_intervals(intervals)
        if labels is not None:
            _check_labels(intervals, labels)
        hierarchies.append(hierarchies_of(to_rows(intervals, labels))[0])
    precision, recall = (one.score for one in agreements(hierarchies[0], hierarchies[1], [ranking])[ranking])
    return precision, recall, f_score(precision, recall, beta)


def _check_labels(intervals: Levels, labels: Labels) -> None:
    if len(intervals) != len(labels):
        raise ValueError(f"expected {len(intervals)} levels of labels, one per level of intervals, got {len(labels)}")
    for level, (spans, names) in enumerate(zip(intervals, labels, strict=True), 1):
        if len(spans) != len(names):
            raise ValueError(f"level {level}: expected {len(spans)} labels, one per interval, got {len(names)}")


@_documented
def evaluate(
    ref_intervals_hier: Levels,
    ref_labels_hier: Labels,
    est_intervals_hier: Levels,
    est_labels_hier: Labels,
    **kwargs: Any,
) -> OrderedDict[str, float]:
    """Compute all hierarchy scores of one estimate.

    Examples
    --------
    >>> reference = [[[0, 30], [30, 60]], [[0, 15], [15, 30], [30, 45], [45, 60]]]
    >>> estimate = [[[0, 45], [45, 60]], [[0, 15], [15, 30], [30, 45], [45, 60]]]
    >>> scores = evaluate(reference, [["A", "B"], ["a", "b", "a", "c"]], estimate, [["A", "B"], ["a", "a", "b", "b"]])
    >>> round(scores["T-Recall full"], 3), round(scores["L-Measure"], 3)
    (0.931, 0.686)
    """
    refuse_unknown("evaluate", kwargs, _scores.parameters)
    sides: list[tuple[list[Array], list[Labels]]] = []
    for given, given_labels in ((ref_intervals_hier, ref_labels_hier), (est_intervals_hier, est_labels_hier)):
        if not len(given):
            raise ValueError("A hierarchy needs at least one level")
        _check_labels(given, given_labels)
        # All levels start at 0, and those of the estimate stop at the end of the reference.
        end = max(float(one.max()) for one in sides[0][0]) if sides else None
        sides.append(([], []))
        for intervals, labels in zip(given, given_labels, strict=True):
            times = np.asarray(intervals, dtype=np.float64)
            if np.isnan(times).any():
                raise ValueError(f"Interval times {BOUNDED}")
            fitted, names = adjust_intervals(times, labels, 0.0, end)
            sides[-1][0].append(fitted)
            sides[-1][1].append(names or [])
    values = {name: np.inf if value is None else value for name, value in kwargs.items()}
    read_frame_size(values.get("frame_size", 0.1), values.get("window", 15.0))
    for levels, _ in sides:
        validate_hier_intervals(levels)
    return _scores.evaluate(to_rows(*sides[0]), to_rows(*sides[1]), values)
