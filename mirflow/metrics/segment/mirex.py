"""Convention mirex: the structural segmentation scores of MIREX, as computed by the tool that MIREX used.

The tool is J. Paulus's set of MATLAB functions of 2008 and 2009. It does not pad or crop annotations, and samples them
at a fixed number of points regardless of the length of the track.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.clustering import restrict, tabulate
from ...kernels.intervals import NOTHING, Runs, batches, paint
from ...kernels.ratios import Scored, divide
from ...ragged import Float, Int, rows_of
from ..base import Grid, Pairs, Scores, computed_once
from ..measures import Measure
from . import kernel

SILENCE = ("sil", "silence", "silece", "si")  # Labels (case-sensitive) whose intervals have no boundaries


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs by MIREX's rules: a `Scorer`. With an empty side, scores are 0 and deviations NaN."""
    values = np.zeros((2, len(pairs), len(measures)))
    labels = pairs.references.labels, pairs.estimates.labels
    codes = []
    for names in labels:  # in order and case-sensitively; 0 is for no label
        number = {label: code for code, label in enumerate(sorted({*names, ""}), NOTHING + 1)}
        of_label = np.array([number[label] for label in (*names, "")], dtype=np.int64)
        codes.append(kernel.Codes(of_label, len(number) + 1, len(number) + 2))
    for part in batches(pairs.sizes + 2, 1 << 13):
        (references, row), (estimates, other) = pairs[part].sides
        sides = kernel.take(references, row, codes[0].of_label), kernel.take(estimates, other, codes[1].of_label)
        scores = _MirexScores(sides, codes, labels)
        for column, measure in enumerate(measures):
            values[:, part, column] = measure.read(scores)
    return Scores(values[0], values[1])


class _MirexScores(kernel.PairScores):
    undefined = 0.0

    def __init__(
        self,
        given: tuple[kernel.LabelledSpans, kernel.LabelledSpans],
        codes: Sequence[kernel.Codes],
        labels: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        super().__init__()
        self._given, self._codes, self._labels = given, codes, labels

    def entropy(self, given: kernel.Given) -> tuple[Scored, ...]:
        """Conditional entropies over frames covered by both sides, normalised by all labels of a side."""
        agreement = self.agreement(given)
        table = agreement.table
        covered = restrict(table, (table.left.code[table.row] != NOTHING) & (table.right.code[table.column] != NOTHING))
        labels = []
        for side in self._fitted(str(given["extent"])):
            size = int(side.code.max(initial=0)) + 1
            distinct = np.unique(rows_of(side.counts) * size + side.code) // size
            labels.append(np.bincount(distinct, minlength=len(side.counts)).astype(np.float64))
        agreement, single = kernel.LabelAgreement(covered, agreement.hop), float(given["single_label"])
        scored = kernel.conditional_entropy(agreement, 1.0, False, single, (labels[0], labels[1]))
        return tuple((np.where(covered.frames == 0, 0.0, score), weight) for score, weight in scored)

    @computed_once
    def _fitted(self, extent: str) -> tuple[kernel.LabelledSpans, kernel.LabelledSpans]:
        if extent == "given":
            return self._given
        references, estimates = self._given
        end = references.latest()
        # An estimate is not cropped to a reference of zero length.
        fitted = kernel.fit_estimate(estimates, self._codes[1], np.where(end > 0, end, estimates.latest()))
        return kernel.fit_reference(references, self._codes[0]), fitted

    def boundaries(self, given: kernel.Given) -> kernel.Both:
        """Boundaries of both sides, with or without those of silence."""
        sides = []
        for side, codes, labels in zip(self._fitted(str(given["extent"])), self._codes, self._labels, strict=True):
            if given["silence"] == "ignored":
                silent = codes.of_label[:-1][[label in SILENCE for label in labels]]
                mask = ~np.isin(side.code, silent)
                counts = np.bincount(rows_of(side.counts)[mask], minlength=len(side.counts)).astype(np.int64)
                side = kernel.LabelledSpans(side.start[mask], side.end[mask], side.code[mask], counts)
            sides.append(kernel.find_boundaries(side, None))
        return sides[0], sides[1]

    def agreement(self, given: kernel.Given | Measure) -> kernel.LabelAgreement:
        """Agreement of the labels of points, with a class for times outside all intervals."""
        return self._agreement(str(given["extent"]), int(given["points"]))

    @computed_once
    def _agreement(self, extent: str, points: int) -> kernel.LabelAgreement:
        sides = self._fitted(extent)
        # Earliest and latest time of both sides, both 0 if either side is empty.
        filled = (sides[0].counts > 0) & (sides[1].counts > 0)
        first = (kernel.extreme(np.minimum, np.minimum(side.start, side.end), side.counts, 0.0) for side in sides)
        last = (kernel.extreme(np.maximum, np.maximum(side.start, side.end), side.counts, 0.0) for side in sides)
        low, high = np.where(filled, np.minimum(*first), 0.0), np.where(filled, np.maximum(*last), 0.0)
        left, right = (sample(side, low, high, points) for side in sides)
        return kernel.LabelAgreement(tabulate(left, right), (high - low) / (points - 1))


def sample(spans: kernel.LabelledSpans, first: Float, last: Float, points: int) -> Runs:
    """Sample labels between equally spaced points; an interval covers those between the points nearest to its ends.

    There is one frame less than points (at least 2), and none if the first and last point coincide. In overlaps,
    intervals whose label first occurs later in the row take precedence.
    """
    low, high = np.repeat(first, spans.counts), np.repeat(last, spans.counts)
    start, stop = (nearest_point(time, low, high, points) for time in (spans.start, spans.end))
    owner = rows_of(spans.counts)
    over = np.zeros(len(owner), dtype=np.bool_)
    over[1:] = (start[1:] < np.maximum(stop[:-1], start[:-1])) & (owner[1:] == owner[:-1])
    code = spans.code
    if over.any():
        # In rows with overlaps, intervals are grouped by label, in order of first occurrence.
        size = int(code.max(initial=0)) + 1
        _, occurrence, label = np.unique(owner * size + code, return_index=True, return_inverse=True)
        chosen = np.isin(owner, owner[over])
        order = np.argsort(np.where(chosen, occurrence[label], np.arange(len(owner))), kind="stable")
        start, stop, code = start[order], stop[order], code[order]
    frames = np.where(last > first, points - 1, 0)
    return paint(start, np.maximum(stop, start), code, spans.counts, frames)


def nearest_point(time: Float, first: Float, last: Float, points: int) -> Int:
    """Nearest of equally spaced points to each time; the earlier of two equally near ones: int64 (n,)."""
    reach = last - first
    centre = np.clip(np.rint(divide((time - first) * (points - 1), reach)), 0, points - 1)
    candidates = np.clip(centre + np.array([[-1.0], [0.0], [1.0]]), 0, points - 1)
    distance = np.abs(first + candidates * reach / (points - 1) - time)
    return np.asarray(candidates[distance.argmin(axis=0), np.arange(len(time))], dtype=np.int64)
