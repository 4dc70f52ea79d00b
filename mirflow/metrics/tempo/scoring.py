"""The batched kernel of tempo estimation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import MetricError
from ...ragged import Bool, Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .tempi import FACTORS, Tempi, find_hits, is_near, lay_out, octave_error

Reading = Callable[[Tempi, Tempi, Measure], Float]


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of tempo annotations.

    Parameters
    ----------
    references, estimates : Ragged
        Column tempo (float64, beats per minute), one or two a row, and salience if there is any; rows as
        :func:`mirflow.metrics.tempo.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Tempi have no time, so there is nothing to choose.

    Returns
    -------
    Scores
        Every weight is 1, for the track; 0 without a reference, and for `both_correct` where the reference has fewer
        than two tempi above 0. Without an estimate the errors are NaN and everything else is 0. A reference whose
        tempi are all 0 is refused, as mir_eval refuses it.

    Raises
    ------
    MetricError
        For a tolerance outside 0 to 1, and for any other grid.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"tempo": np.array([60.0, 120.0]), "salience": np.array([0.75, 0.25])}, (np.array([2]),))
    >>> estimate = Ragged({"tempo": np.array([121.0])}, (np.array([1]),))
    >>> row, wanted = np.array([0]), get_task("tempo").convention().select(["p_score", "accuracy1", "accuracy2"])
    >>> score(reference, estimate, row, row, wanted).score.tolist()
    [[0.25, 0.0, 1.0]]
    """
    refuse_grid(grid, "tempi")
    reference, estimate = lay_out(references).take(reference_row), lay_out(estimates).take(estimate_row)
    heard = reference.given > 0
    silent = heard & ~(reference.tempo > 0).any(axis=1)
    scores = np.zeros((len(reference_row), len(measures)))
    weights = np.zeros_like(scores)
    for column, measure in enumerate(measures):
        scores[:, column] = READINGS[measure.metric.name](reference, estimate, measure)
        weights[:, column] = _measurable(reference, measure.metric.name)
    scores[silent] = np.nan
    return Scores(
        scores, weights, refused={pair: _refusal(reference, pair) for pair in np.flatnonzero(silent).tolist()}
    )


def _refusal(reference: Tempi, pair: int) -> str:
    tempi = reference.tempo[pair, : int(reference.given[pair])]
    return f"reference tempi={tempi} must have one value greater than zero"


def _measurable(reference: Tempi, name: str) -> Bool:
    positive = reference.tempo > 0
    return np.asarray(positive.all(axis=1) if name == "both_correct" else positive.any(axis=1))


def _tolerance(measure: Measure) -> float:
    tol = float(measure["tol"])
    if not 0 <= tol <= 1:
        raise MetricError(f"{measure}: invalid tolerance {tol}: must lie in the range [0, 1]")
    return tol


def _hits(reference: Tempi, estimate: Tempi, measure: Measure) -> Bool:
    return find_hits(reference.tempo, estimate.heard, _tolerance(measure))


def weigh(hits: Bool, first_share: Float) -> Float:
    """The share of the salience that was hit: float64 (n,)."""
    return first_share * hits[:, 0] + (1.0 - first_share) * hits[:, 1]


def _accuracy(factors: tuple[float, ...]) -> Reading:
    def read(reference: Tempi, estimate: Tempi, measure: Measure) -> Float:
        near = is_near(reference.main, estimate.main, _tolerance(measure), factors)
        return near.astype(np.float64)

    return read


def _error(factors: tuple[float, ...], absolute: bool) -> Reading:
    def read(reference: Tempi, estimate: Tempi, measure: Measure) -> Float:
        error = octave_error(reference.main, estimate.main, factors)
        return np.abs(error) if absolute else error

    return read


_SAME = FACTORS[:1]
READINGS: dict[str, Reading] = {
    "p_score": lambda one, other, measure: weigh(_hits(one, other, measure), one.first_share),
    "one_correct": lambda one, other, measure: np.asarray(_hits(one, other, measure).any(axis=1), dtype=np.float64),
    "both_correct": lambda one, other, measure: np.asarray(_hits(one, other, measure).all(axis=1), dtype=np.float64),
    "accuracy1": _accuracy(_SAME),
    "accuracy2": _accuracy(FACTORS),
    "oe1": _error(_SAME, absolute=False),
    "oe2": _error(FACTORS, absolute=False),
    "aoe1": _error(_SAME, absolute=True),
    "aoe2": _error(FACTORS, absolute=True),
}
"""How each measure is read off the tempi of both sides."""
