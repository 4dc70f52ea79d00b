"""The hierarchy metrics: records, cleaning, scores of batches, and conventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...annotations.grids import LEVELS
from ...kernels.ratios import f_measure
from ...ragged import Ragged
from ..base import Convention, Grid, Pairs, Scores, Task, by_name
from ..cleaning import NO_TIMES, Cleaned, inspected, set_aside
from ..frames import GRIDS, with_frames
from ..measures import Family, Measure, Parameter, Weight, family
from .kernel import EXACT, Hierarchy, HierarchySide, Ranking, RankSums, agreements, fit, read_frame_size, too_long


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
    left, right = (HierarchySide(side, fold, decimals) for side in (pairs.references, pairs.estimates))

    @lru_cache(maxsize=64)
    def reference_of(row: int) -> tuple[Hierarchy, str]:
        reference = left[row]
        if not len(reference.start):
            return reference, ""
        ends = reference.ends()
        for level, end in enumerate(ends.tolist(), 1):
            if np.isinf(end):
                return reference, f"level {level} has no segments"
            if not np.isclose(ends[0], end):
                return reference, f"level {level} ends at {end} s, but level 1 at {ends[0]} s"
        fault = next(filter(None, (too_long(float(ends.max()), ranking.frame_size) for ranking in rankings)), "")
        return (reference if fault else fit(reference)), fault

    for pair, (row, other) in enumerate(zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True)):
        reference, fault = reference_of(row)
        if fault:
            refused[pair] = f"reference: {fault}"
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
                    size, end = ranking.frame_size, float(reference.end.max())
                    whole = reference.frames(size)[2] if size else end
                    sums = sums[0].with_others(whole), sums[1].with_others(whole)
                values[:, pair, column] = measure.read(sums)
    return Scores(values[0], values[1], refused=refused)


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: levels are padded to begin at 0, those of the estimate also fitted to the reference's end",
    METRICS,
    clean,
    with_frames(score, "hierarchy", LEVELS),
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
