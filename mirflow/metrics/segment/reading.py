"""How each measure of convention mir_eval is read off the boundaries and the contingency tables of some pairs."""

from __future__ import annotations

from collections.abc import Callable

from ...ragged import Float
from ..base.identity import Measure
from ..base.record import Value
from . import agreement as of
from .agreement import Agreement
from .boundaries import Boundaries, Scored, detect, deviate, find_boundaries
from .sampling import tabulate_sides
from .spans import Spans

Family = Callable[["Reader", dict[str, Value]], tuple[Scored, ...]]
"""What several measures come from: a reader and the parameters -> the scores of all of them."""

BETA = 1.0


class Reader:
    """Scores of some pairs; what several measures need is computed once.

    Parameters
    ----------
    references, estimates : Spans
        One row a pair, fitted to each other.
    end : float64 (pairs,), seconds
        Where the frames of both sides end.
    """

    def __init__(self, references: Spans, estimates: Spans, end: Float) -> None:
        self._sides = references, estimates
        self._end = end
        self._boundaries: dict[bool, tuple[Boundaries, Boundaries]] = {}
        self._agreements: dict[float, Agreement] = {}
        self._scores: dict[tuple[object, ...], tuple[Scored, ...]] = {}

    def read(self, measure: Measure) -> Scored:
        """Score and weight of one measure: float64 (pairs,) each."""
        family, place = READINGS[measure.metric.name]
        parameters = {"beta": BETA, **measure.parameters}
        key = (family, *sorted(parameters.items()))
        if key not in self._scores:
            self._scores[key] = family(self, parameters)
        return self._scores[key][place]

    def boundaries(self, trim: bool) -> tuple[Boundaries, Boundaries]:
        """The boundaries of both sides."""
        if False not in self._boundaries:
            self._boundaries[False] = find_boundaries(self._sides[0]), find_boundaries(self._sides[1])
        if trim not in self._boundaries:
            references, estimates = self._boundaries[False]
            self._boundaries[trim] = references.trim(), estimates.trim()
        return self._boundaries[trim]

    def agreement(self, frame_size: float) -> Agreement:
        """What is known of the labels of frames."""
        if frame_size not in self._agreements:
            table = tabulate_sides(*self._sides, self._end, frame_size)
            self._agreements[frame_size] = Agreement(table, frame_size)
        return self._agreements[frame_size]


def _detection(reader: Reader, given: dict[str, Value]) -> tuple[Scored, ...]:
    sides = reader.boundaries(bool(given["trim"]))
    return detect(*sides, float(given["window"]), float(given["beta"]), str(given["matching"]))


def _deviation(reader: Reader, given: dict[str, Value]) -> tuple[Scored, ...]:
    return deviate(*reader.boundaries(bool(given["trim"])), str(given["median"]))


def _pairwise(reader: Reader, given: dict[str, Value]) -> tuple[Scored, ...]:
    return of.pairwise(_agreement(reader, given), float(given["beta"]))


def _entropy(reader: Reader, given: dict[str, Value]) -> tuple[Scored, ...]:
    marginal, single = bool(given["marginal"]), float(given["single_label"])
    return of.conditional_entropy(_agreement(reader, given), float(given["beta"]), marginal, single)


def _v_measure(reader: Reader, given: dict[str, Value]) -> tuple[Scored, ...]:
    return of.conditional_entropy(_agreement(reader, given), float(given["beta"]), True, 0.0)


def _agreement(reader: Reader, given: dict[str, Value]) -> Agreement:
    return reader.agreement(float(given["frame_size"]))


def _alone(score: Callable[[Agreement], Scored]) -> Family:
    return lambda reader, given: (score(_agreement(reader, given)),)


READINGS: dict[str, tuple[Family, int]] = {
    "precision": (_detection, 0),
    "recall": (_detection, 1),
    "f_measure": (_detection, 2),
    "deviation_ref_to_est": (_deviation, 0),
    "deviation_est_to_ref": (_deviation, 1),
    "pairwise_precision": (_pairwise, 0),
    "pairwise_recall": (_pairwise, 1),
    "pairwise_f_measure": (_pairwise, 2),
    "rand_index": (_alone(of.rand), 0),
    "adjusted_rand_index": (_alone(of.adjusted_rand), 0),
    "mutual_information": (_alone(of.information), 0),
    "adjusted_mutual_information": (_alone(of.adjusted_information), 0),
    "normalized_mutual_information": (_alone(of.normalized_information), 0),
    "nce_over": (_entropy, 0),
    "nce_under": (_entropy, 1),
    "nce_f": (_entropy, 2),
    "v_precision": (_v_measure, 0),
    "v_recall": (_v_measure, 1),
    "v_measure": (_v_measure, 2),
}
"""The family of each metric, and its place among what the family returns."""
