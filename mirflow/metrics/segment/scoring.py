"""The batched kernel of convention mir_eval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import MetricError
from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .reading import Reader
from .sampling import MOST_FRAMES, too_long
from .spans import Spans, count_misfits, encode, fit_estimate, fit_reference, take

_AT_ONCE = 1 << 13
"""How many intervals are worked on at once: what stays in the cache."""


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
        Columns start, end (float64, seconds) and label; rows as :func:`mirflow.metrics.segment.cleaning.clean` leaves
        them. An empty reference gives score 0 (a deviation NaN) and weight 0.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
        Of convention mir_eval.
    grid : "union"
        There is no other: metrics of labels have a frame size of their own.

    Returns
    -------
    Scores
        Equal to mir_eval's. A pair's numbers do not depend on what it is batched with, to the bit.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"start": np.array([0.0, 6.0]), "end": np.array([6.0, 10.0]), "label": np.array([0, 1])},
    ...                    (np.array([2]),), ("verse", "chorus"))
    >>> estimate = Ragged({"start": np.array([0.0]), "end": np.array([10.0]), "label": np.array([0])},
    ...                   (np.array([1]),), ("A",))
    >>> row, wanted = np.array([0]), get_task("segment").convention().select(["precision", "recall@3.0"])
    >>> score(reference, estimate, row, row, wanted).score.round(3).tolist()
    [[1.0, 0.667]]
    """
    refuse_grid(grid, "segments")
    values = np.zeros((2, len(reference_row), len(measures)))
    values[0][:, [measure.metric.unit == "s" for measure in measures]] = np.nan
    repairs = np.zeros(len(reference_row), dtype=np.int64)
    refused: dict[int, str] = {}
    heard = np.flatnonzero(references.counts[0][reference_row] > 0)
    codes = encode(references.labels), encode(estimates.labels)
    rows = reference_row[heard], estimate_row[heard]
    for part in batches(references.counts[0][rows[0]] + estimates.counts[0][rows[1]] + 2, _AT_ONCE):
        pairs = heard[part]
        given = take(references, rows[0][part], codes[0].of_label), take(estimates, rows[1][part], codes[1].of_label)
        end = given[0].latest()
        repairs[pairs] = count_misfits(*given, end)
        sides = fit_reference(given[0], codes[0]), fit_estimate(given[1], codes[1], end)
        values[:, pairs], of_part = read_sides(*sides, end, measures)
        refused |= {int(pairs[place]): message for place, message in of_part.items()}
    return Scores(values[0], values[1], {}, refused, repairs)


def read_sides(
    references: Spans, estimates: Spans, end: Float, measures: Sequence[Measure]
) -> tuple[Float, dict[int, str]]:
    """Scores and weights of fitted sides, float64 (2, pairs, measures), and the pairs that are refused."""
    values = np.zeros((2, len(end), len(measures)))
    sizes = {float(m["frame_size"]) for m in measures if "frame_size" in m.parameters}
    for size in sizes:
        if not 0 < size < np.inf:
            raise MetricError(f"a frame size has to be above 0: {size!r}")
    shown = {size: np.flatnonzero(too_long(end, size)) for size in sizes}
    refused = {
        int(place): f"reference: ends at {end[place]} s, too late for frames of {size} s "
        f"(more than {MOST_FRAMES}); are its times in seconds?"
        for size, places in shown.items()
        for place in places
    }
    short = end.copy()
    short[list(refused)] = 0.0
    reader = Reader(references, estimates, short)
    for column, measure in enumerate(measures):
        values[0, :, column], values[1, :, column] = reader.read(measure)
    values[0, list(refused)], values[1, list(refused)] = np.nan, 0.0
    return values, refused
