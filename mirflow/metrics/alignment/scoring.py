"""The batched kernel of alignment: all measures of all pairs from timestamps laid side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged, ranges
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .timing import Timestamps, mean_error, median_error, perceived_synchrony, segments, share_correct

_BATCH = 1 << 14
"""Events of one round: its arrays stay in the processor's cache."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of aligned timestamps.

    Parameters
    ----------
    references, estimates : Ragged
        Column time (float64, seconds); rows as :func:`mirflow.metrics.alignment.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        The events are compared one by one, so there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's. Pairs whose sides differ in number are refused, as mir_eval refuses them, unless the
        estimate is empty: then its errors are NaN and everything else is 0. An empty reference weighs 0.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> rows = Ragged({"time": np.array([1.0, 2.0, 1.1, 2.5])}, (np.array([2, 2]),))
    >>> wanted = get_task("alignment").convention().select(["percentage_correct", "mean_absolute_error"])
    >>> scores = score(rows, rows, np.array([0]), np.array([1]), wanted)
    >>> scores.score.round(9).tolist(), scores.weight.tolist()
    ([[0.5, 0.3]], [[2.0, 2.0]])
    """
    refuse_grid(grid, "aligned events")
    counts = references.counts[0][reference_row]
    refused = _refuse(references, estimates, reference_row, estimate_row, measures)
    fit = (estimates.counts[0][estimate_row] == counts) & (counts > 0)
    fit[list(refused)] = False
    scores = np.zeros((len(counts), len(measures)))
    scores[:, [measure.metric.orientation == "lower" for measure in measures]] = np.nan
    scores[list(refused)] = np.nan
    for pairs, stamps in _lay_out(references, estimates, reference_row, estimate_row, np.flatnonzero(fit)):
        for column, measure in enumerate(measures):
            scores[pairs, column] = READINGS[measure.metric.name](stamps, measure)
    weights = np.repeat(counts[:, np.newaxis].astype(np.float64), len(measures), axis=1)
    for column, measure in enumerate(measures):
        if measure.metric.name == SEGMENTS:
            weights[:, column] = _seconds(references, reference_row, _duration(measure))
    return Scores(scores, weights, refused=refused)


def _lay_out(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, pairs: Int
) -> Iterator[tuple[Int, Timestamps]]:
    """The given pairs, a batch at a time."""
    counts = references.counts[0][reference_row[pairs]]
    for part in batches(counts, _BATCH):
        own = counts[part]
        one, other = (
            _times(rows, row[pairs[part]], own)
            for rows, row in ((references, reference_row), (estimates, estimate_row))
        )
        yield pairs[part], Timestamps(one, other, own)


def _times(rows: Ragged, row: Int, counts: Int) -> Float:
    """The times of some rows, one after the other; those of neighbours are not copied."""
    time, starts = rows.columns["time"], rows.offsets[row]
    if (np.diff(row) == 1).all():
        return time[starts[0] : starts[-1] + counts[-1]]
    return time[ranges(starts, counts)]


def _refuse(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, measures: Sequence[Measure]
) -> dict[int, str]:
    """Why some pairs cannot be scored, by their place."""
    here, there = references.counts[0][reference_row], estimates.counts[0][estimate_row]
    comparable = (here > 0) & (there > 0)
    refused: dict[int, str] = {}
    durations = [_duration(measure) for measure in measures if measure.metric.name == SEGMENTS]
    given = [duration for duration in durations if duration is not None]
    for rows, row, side in ((estimates, estimate_row, "estimated"), (references, reference_row, "reference")):
        latest = rows.columns["time"][rows.offsets[1:][row] - 1] if given and len(rows.columns["time"]) else here * 0.0
        for pair in np.flatnonzero(comparable & (latest > min(given, default=np.inf))).tolist():
            refused[pair] = too_late(side, float(latest[pair]), min(given))
    for pair in np.flatnonzero(comparable & (here != there)).tolist():
        refused[pair] = differing(int(here[pair]), int(there[pair]))
    return refused


def differing(reference: int, estimate: int) -> str:
    """The refusal of sides that differ in number."""
    return (
        "Number of timestamps must be the same in prediction and ground truth, but found "
        f"{estimate} in prediction and {reference} in ground truth"
    )


def too_late(side: str, latest: float, duration: float) -> str:
    """The refusal of timestamps after the end of the recording."""
    return f"Expected largest {side} timestamp {latest} to not be larger than duration {duration}"


def _duration(measure: Measure) -> float | None:
    """The length of the recordings in seconds; None: it is not given."""
    return float(measure["duration"]) or None


def _seconds(references: Ragged, reference_row: Int, duration: float | None) -> Float:
    """What the overlap of segments is divided by: float64 (pairs,)."""
    filled = np.flatnonzero(references.counts[0] > 0)
    time, offsets = references.columns["time"], references.offsets
    seconds = np.zeros(len(references))
    seconds[filled] = time[offsets[filled + 1] - 1] - time[offsets[filled]] if duration is None else duration
    return np.asarray(seconds[reference_row])


def _share_of_segments(stamps: Timestamps, measure: Measure) -> Float:
    overlap, total = segments(stamps, _duration(measure))
    return np.divide(overlap, total, out=np.full_like(total, np.nan), where=total > 0)


SEGMENTS = "percentage_correct_segments"
READINGS: dict[str, Callable[[Timestamps, Measure], Float]] = {
    "percentage_correct": lambda stamps, measure: share_correct(stamps, float(measure["window"])),
    "median_absolute_error": lambda stamps, measure: median_error(stamps),
    "mean_absolute_error": lambda stamps, measure: mean_error(stamps),
    SEGMENTS: _share_of_segments,
    "karaoke_perceptual": lambda stamps, measure: perceived_synchrony(stamps),
}
"""How each measure is read off the timestamps."""
