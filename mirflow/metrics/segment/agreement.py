"""Scores of labellings of frames, read off contingency tables."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...kernels.chance import expected_mutual_information
from ...kernels.contingency import Classes, Table
from ...kernels.sums import sum_by
from ...ragged import Bool, Float
from .boundaries import Scored, f_measure, f_weight

Three = tuple[Scored, Scored, Scored]


def _ratio(part: Float, whole: Float, otherwise: float = np.nan) -> Float:
    result: Float = np.divide(part, whole, out=np.full(len(part), otherwise), where=whole != 0)
    return result


class Agreement:
    """What the scores of all pairs have in common: sums over the tables, each computed once and when asked for.

    Parameters
    ----------
    table : Table
        References in the rows, estimates in the columns.
    hop : float64 (pairs,) or float, seconds
        How long a frame is, for weights.
    """

    def __init__(self, table: Table, hop: Float | float) -> None:
        self.table = table
        self.seconds: Float = table.frames * hop
        self.hop = hop

    def sum_classes(self, side: Classes, values: Float) -> Float:
        """Sums over the classes of one side of each pair."""
        return sum_by(side.pair, values, len(self.table.frames))

    @cached_property
    def squares(self) -> tuple[Float, Float, Float]:
        """Sums of squares of the cells, of the reference's classes and of the estimate's."""
        table = self.table
        reference, estimate = (self.sum_classes(side, side.frames**2) for side in (table.left, table.right))
        return table.sum_cells(table.count**2), reference, estimate

    @cached_property
    def pairs(self) -> tuple[Float, Float, Float, Float]:
        """Pairs of frames: of one class on both sides, on the reference's, on the estimate's, and all of them."""
        frames = self.table.frames
        both, reference, estimate = ((squares - frames) / 2 for squares in self.squares)
        return both, reference, estimate, frames * (frames - 1) / 2

    @cached_property
    def single(self) -> Bool:
        """Pairs with at most one class on each side, and the same number on both."""
        counts = self.table.left.counts, self.table.right.counts
        single: Bool = (counts[0] == counts[1]) & (counts[0] <= 1)
        return single

    @cached_property
    def distinct(self) -> Bool:
        """Pairs with as many classes as frames on both sides."""
        frames = self.table.frames
        distinct: Bool = (self.table.left.counts == frames) & (self.table.right.counts == frames)
        return distinct

    @cached_property
    def information(self) -> Float:
        """Mutual information, nats."""
        table = self.table
        rows, columns = table.left.frames[table.row], table.right.frames[table.column]
        # Grouped so that a side with one class gives exactly 0, and not what rounding leaves of it.
        frames = np.log(table.frames[table.pair])
        gain = (np.log(table.count) - np.log(rows)) + (frames - np.log(columns))
        return np.maximum(_ratio(table.sum_cells(table.count * gain), table.frames, 0.0), 0.0)

    @cached_property
    def entropies(self) -> tuple[Float, Float]:
        """Entropy of the reference's classes and of the estimate's, nats."""
        return self._entropy(self.table.left), self._entropy(self.table.right)

    def _entropy(self, side: Classes) -> Float:
        frames = self.table.frames
        surprise = np.log(frames[side.pair]) - np.log(side.frames)
        return _ratio(self.sum_classes(side, side.frames * surprise), frames, 0.0)

    @cached_property
    def conditional(self) -> tuple[Float, Float]:
        """Entropy of the reference's classes given the estimate's, and the other way round, bits."""
        table = self.table
        rows, columns = table.left.frames[table.row], table.right.frames[table.column]
        cells = np.log2(table.count)
        given = (table.sum_cells(table.count * (np.log2(of) - cells)) for of in (columns, rows))
        under, over = (_ratio(bits, table.frames, 0.0) for bits in given)
        return under, over

    @cached_property
    def expected(self) -> Float:
        """Mutual information expected by chance, nats."""
        return expected_mutual_information(self.table)


def pairwise(agreement: Agreement, beta: float, undefined: float = np.nan) -> Three:
    """Precision, recall and F-measure of pairs of frames of one class; `undefined` where a side has no such pair."""
    both, reference, estimate, _ = agreement.pairs
    precision, recall = _ratio(both, estimate, undefined), _ratio(both, reference, undefined)
    f = f_measure(precision, recall, beta)
    return (precision, estimate), (recall, reference), (f, f_weight(estimate, reference, beta))


def rand(agreement: Agreement) -> Scored:
    """The share of pairs of frames on which both sides agree whether they are of one class."""
    both, _, _, every = agreement.pairs
    frames = agreement.table.frames
    cells, reference, estimate = agreement.squares
    neither = (frames**2 - reference - estimate + cells) / 2
    return _ratio(both + neither, every), np.maximum(every, 0.0)


def adjusted_rand(agreement: Agreement) -> Scored:
    """The Rand index with what chance gives taken off."""
    both, reference, estimate, every = agreement.pairs
    chance = _ratio(reference * estimate, every, 0.0)
    reach = (reference + estimate) / 2 - chance
    trivial = agreement.single | agreement.distinct
    score = _ratio(both - chance, np.where(trivial, 0.0, reach))
    return np.where(trivial, 1.0, score), np.where(trivial, 0.0, np.maximum(reach, 0.0))


def information(agreement: Agreement) -> Scored:
    """Mutual information, nats."""
    return agreement.information, agreement.seconds


def adjusted_information(agreement: Agreement) -> Scored:
    """Mutual information with what chance gives taken off, over the most it can be."""
    reach = np.maximum(*agreement.entropies) - agreement.expected
    trivial = agreement.single | agreement.distinct
    score = _ratio(agreement.information - agreement.expected, np.where(trivial, 0.0, reach))
    weight = np.where(trivial, 0.0, np.maximum(reach, 0.0) * agreement.seconds)
    return np.where(trivial, 1.0, score), weight


def normalized_information(agreement: Agreement) -> Scored:
    """Mutual information over the geometric mean of both entropies."""
    whole = np.sqrt(agreement.entropies[0] * agreement.entropies[1])
    score = agreement.information / np.maximum(whole, 1e-10)
    return np.where(agreement.single, 1.0, score), whole * agreement.seconds


def conditional_entropy(
    agreement: Agreement, beta: float, marginal: bool, single_label: float, labels: tuple[Float, Float] | None = None
) -> Three:
    """Over-, under-segmentation and their F-measure: 1 - conditional entropy over what it can be at most.

    Parameters
    ----------
    agreement : Agreement
    beta : float
    marginal : bool
        Whether the most it can be is the entropy of the classes, or that of as many equally frequent ones.
    single_label : float
        The score where that is 0.
    labels : two float64 (pairs,) or None
        The number of labels on both sides; None: those that some frame carries.
    """
    if marginal:
        most = [entropy / np.log(2) for entropy in agreement.entropies]
    else:
        sides = (agreement.table.left, agreement.table.right)
        counts = [side.counts.astype(np.float64) for side in sides] if labels is None else list(labels)
        most = [np.log2(np.maximum(count, 1.0)) for count in counts]
    under, over = (
        np.where(bits > 0, np.maximum(1 - _ratio(given, bits, 0.0), 0.0), single_label)
        for given, bits in zip(agreement.conditional, most, strict=True)
    )
    weights = [bits * agreement.seconds for bits in most]
    f = f_measure(over, under, beta)
    return (over, weights[1]), (under, weights[0]), (f, f_weight(weights[1], weights[0], beta))
