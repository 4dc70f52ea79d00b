"""Scores of pairs of recordings: what is asked of a pair is worked out once, and a track's references once for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations.signal import first_not_finite
from ...errors import AnnotationError
from ...ragged import Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from .meeting import CannotMeet, Sides, meet
from .readings import MIR_EVAL, MUSEVAL, Bench, Readings


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by mir_eval's rules.

    Parameters
    ----------
    references, estimates : Ragged
        Column signal, and perhaps label: rows as :func:`mirflow.metrics.separation.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
        Of convention mir_eval.
    grid : "union"
        Samples are compared as they are; there is nothing to choose.

    Returns
    -------
    Scores
        In dB: means over the sources, with the number of sources that have a score as the weight. Pairs are refused
        whose sources do not fit together or have samples that are not finite. Nothing can be said of empty sides: NaN.

    Examples
    --------
    >>> from mirflow.annotations.signal import HeldSignal
    >>> from mirflow.metrics.base import get_task
    >>> rng = np.random.default_rng(0)
    >>> source, noise = rng.normal(size=(2, 1, 4000))
    >>> columns = np.empty((2, 1), dtype=object)
    >>> columns[:, 0] = [HeldSignal(source, 8000.0), HeldSignal(source + 0.1 * noise, 8000.0)]
    >>> sides = [Ragged({"signal": column}, (np.array([1]),)) for column in columns]
    >>> row = np.array([0])
    >>> scores = score(*sides, row, row, get_task("separation").convention().select(["image_sdr", "si_sdr"]))
    >>> scores.score.round(2).tolist(), scores.weight.tolist()
    ([[19.92, 19.93]], [[1.0, 1.0]])
    """
    return _score(references, estimates, (reference_row, estimate_row), measures, grid, MIR_EVAL, refit=False)


def score_museval(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs as museval has them: as `score`, but estimates are cut or padded to the references' length."""
    return _score(references, estimates, (reference_row, estimate_row), measures, grid, MUSEVAL, refit=True)


def _score(
    references: Ragged,
    estimates: Ragged,
    rows: tuple[Int, Int],
    measures: Sequence[Measure],
    grid: Grid,
    readings: Readings,
    refit: bool,
) -> Scores:
    refuse_grid(grid, "separated sources")
    scalars = [measure for measure in measures if not measure.metric.dims]
    extras = {measure.variable: _Extra(measure) for measure in measures if measure.metric.dims}
    pairs = len(rows[0])
    values, weights = np.full((pairs, len(scalars)), np.nan), np.zeros((pairs, len(scalars)))
    refused: dict[int, str] = {}
    repairs = np.zeros(pairs, dtype=np.int64)
    weights += references.counts[0][rows[0]][:, None]
    bench = Bench()
    # In the order of the references: what is computed of a track's is kept for its next system.
    for pair in np.argsort(rows[0], kind="stable").tolist():
        own = int(rows[0][pair]), int(rows[1][pair])
        if not references.counts[0][own[0]] or not estimates.counts[0][own[1]]:
            continue
        try:
            sides = meet(references, estimates, own, refit)
            bench.lay(sides, own[0])
            for column, measure in enumerate(scalars):
                found = readings[measure.metric.name](bench, measure)
                values[pair, column], weights[pair, column] = _mean(found)
            for extra in extras.values():
                extra.add(pair, sides, readings[extra.measure.metric.name](bench, extra.measure))
        except (CannotMeet, FloatingPointError, AnnotationError, OSError) as error:
            where = _where_not_finite(sides) if isinstance(error, FloatingPointError) else ""
            refused[pair] = where or str(error)
            values[pair], weights[pair] = np.nan, references.counts[0][own[0]]
            continue
        repairs[pair] = sides.refitted
    return Scores(values, weights, {name: one.to_sparse(refused) for name, one in extras.items()}, refused, repairs)


def _where_not_finite(sides: Sides) -> str:
    """The first source with a sample that is no number, with its file; empty if there is none."""
    for side, recording in (("reference", sides.reference), ("estimate", sides.estimate)):
        for name, signal in zip(sides.names, recording.signals, strict=True):
            wrong = first_not_finite(signal)
            if wrong is not None:
                file = getattr(signal, "name", "")  # a signal in memory has none
                told = f" ({file})" if file else ""
                place = f"sample {wrong} ({wrong / signal.rate:.3f} s)"
                return f"{side} source {name!r}{told}: {place} is not a finite number"
    return ""


def _mean(values: Float) -> tuple[float, int]:
    """The mean over the sources that have a score, and their number."""
    known = values[~np.isnan(values)]
    with np.errstate(invalid="ignore"):
        return (float(known.mean()) if len(known) else np.nan), len(known)


class _Extra:
    """Values along source, and perhaps frame, of the pairs scored so far."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self._found: list[tuple[int, tuple[str, ...], Float]] = []

    def add(self, pair: int, sides: Sides, values: Float) -> None:
        """Keep what was found of a pair."""
        self._found.append((pair, sides.names, values))

    def to_sparse(self, refused: dict[int, str]) -> Sparse:
        """What was found of all pairs that were scored."""
        metric = self.measure.metric
        orders = {own for _, own, _ in self._found}
        # In the order that was asked for, where all pairs have the same sources.
        names = orders.pop() if len(orders) == 1 else tuple(sorted({name for own in orders for name in own}))
        frames = max((values.shape[1] for _, _, values in self._found if values.ndim > 1), default=0)
        index, value = [np.empty((0, 1 + len(metric.dims)), dtype=np.int64)], [np.empty(0)]
        for pair, own, values in sorted(self._found, key=lambda one: one[0]):
            known = np.nonzero(~np.isnan(values))
            if pair not in refused:
                places = np.array([names.index(name) for name in own], dtype=np.int64)[known[0]]
                index.append(np.column_stack([np.full(len(places), pair), places, *known[1:]]).astype(np.int64))
                value.append(values[known])
        coords = (names, tuple(f"{frame:06d}" for frame in range(frames)))[: len(metric.dims)]
        attrs = {"long_name": metric.title, "units": metric.unit or "1"}
        return Sparse(metric.dims, coords, np.concatenate(index), np.concatenate(value), attrs, np.nan)
