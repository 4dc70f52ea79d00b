"""The batched kernel of melody extraction: all measures of all pairs, some pairs at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import MetricError
from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .frames import Frames, Tally, hop_counts, mean_hop, most_frames, on_hop, on_reference, unreached
from .readings import READINGS, Reading, voicing_false_alarm
from .series import Series, series_of

_BATCH = 2**17
"""Frames that are handled at once: what is computed from them stays in the cache, and outweighs the calls."""

REFERENCE = "reference"
TOO_EARLY = "the reference starts at {} s, before the estimate and before 0 s: there is nothing to compare it with"
TOO_SOON = "a melody ends at {} s, before the first frame at 0 s"
TOO_LONG = "{}: {} frames of {} samples, more than {}: are the times in seconds, and is the hop?"


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = REFERENCE,
) -> Scores:
    """Scores of pairs of melodies.

    Parameters
    ----------
    references, estimates : Ragged
        Columns time (float64, seconds), frequency (float64, Hz; 0 is silence, a negative one a guess where the melody
        is judged to be silent) and perhaps voicing; rows as :func:`mirflow.metrics.melody.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "reference" or float
        Estimates are read at the times of the reference, or both sides on frames with a hop in seconds.

    Returns
    -------
    Scores
        Equal to mir_eval's. An estimate without samples is silent throughout; without a reference all scores are 0. A
        weight is the score's denominator in seconds: frames, or the sum of the reference's voicing, times the hop, or
        the mean hop of the reference.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. Salamon, E. Gomez, D. P. W. Ellis and G. Richard, "Melody extraction from polyphonic music signals: approaches,
    applications, and challenges", IEEE Signal Processing Magazine 31(2), 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def melody(*frequencies):
    ...     columns = {"time": 0.5 * np.arange(len(frequencies)), "frequency": np.array(frequencies)}
    ...     return Ragged(columns, (np.array([len(frequencies)]),))
    >>> row, wanted = np.array([0]), get_task("melody").convention().select(["raw_pitch_accuracy", "overall_accuracy"])
    >>> scores = score(melody(220.0, 220.0, 0.0), melody(221.0, 440.0, -220.0), row, row, wanted)
    >>> scores.score.round(3).tolist(), scores.weight.tolist()
    ([[0.5, 0.667]], [[1.0, 1.5]])
    """
    hop = _hop(grid)
    ways = _ways(measures)
    tallies = {key: Tally.empty(len(reference_row)) for key in ways}
    seconds = np.zeros(len(reference_row))
    refused: dict[int, str] = {}
    filled = np.flatnonzero(references.counts[0][reference_row] > 0)
    # Pairs of one reference come together, so that it is laid out, and read on a hop, once for many of them.
    filled = filled[np.argsort(reference_row[filled], kind="stable")]
    estimates, silence = _silent_rows(estimates)
    rows = reference_row[filled], np.where(estimates.counts[0][estimate_row[filled]] > 0, estimate_row[filled], silence)
    sizes = references.counts[0][rows[0]] + estimates.counts[0][rows[1]]
    if hop is not None:
        sizes = sizes + np.maximum(_frames((references, rows[0]), (estimates, rows[1]), hop)[0], 0).sum(axis=0)
    for batch in batches(sizes, _BATCH):
        pairs = filled[batch]
        both = (references, rows[0][batch]), (estimates, rows[1][batch])
        bad = refuse(*both, hop)
        if bad:
            refused |= {int(pairs[place]): message for place, message in bad.items()}
            fit = np.setdiff1d(np.arange(len(pairs)), list(bad))
            pairs, both = pairs[fit], ((references, both[0][1][fit]), (estimates, both[1][1][fit]))
        if len(pairs):
            seconds[pairs] = _count(*both, hop, tallies, pairs)
    found = np.zeros((2, len(reference_row), len(measures)))
    for key, columns in ways.items():
        for column in columns:
            found[0, :, column], found[1, :, column] = read(measures[column], tallies[key])
    found[1] *= seconds[:, np.newaxis]
    found[0, list(refused)] = np.nan
    return Scores(found[0], found[1], refused=refused)


Side = tuple[Ragged, Int]
"""Rows, and the row of each pair."""


def _hop(grid: Grid) -> float | None:
    """Seconds between frames; None: the times of the reference."""
    if grid == REFERENCE:
        return None
    try:
        hop = float(grid)
    except ValueError:
        hop = 0.0
    if not 0 < hop < np.inf:
        raise MetricError(f"melodies are not scored on grid {grid!r}; use reference, or a hop in seconds such as 0.01")
    return hop


def _silent_rows(rows: Ragged) -> tuple[Ragged, int]:
    """The rows and one more, a silent sample at 0 s, that stands for those without samples; and which one that is."""
    if rows.counts[0].all():
        return rows, 0
    columns = {name: np.append(column, 0) for name, column in rows.columns.items()}
    return Ragged(columns, (np.append(rows.counts[0], 1),), rows.labels), len(rows)


def refuse(reference: Side, estimate: Side, hop: float | None) -> dict[int, str]:
    """Why pairs cannot be scored, by their place."""
    (references, reference_row), (estimates, estimate_row) = reference, estimate
    if hop is not None:
        return _refuse_on_hop(reference, estimate, hop)
    begin = references.columns["time"][references.offsets[reference_row]]
    before = np.flatnonzero(begin < np.minimum(0.0, estimates.columns["time"][estimates.offsets[estimate_row]]))
    if not len(before):
        return {}
    own = np.arange(len(before))
    sides = series_of(references, reference_row[before], 1.0), series_of(estimates, estimate_row[before], 1.0)
    early = before[unreached(*sides, own, own)]
    return {place: TOO_EARLY.format(begin[place]) for place in early.tolist()}


def _refuse_on_hop(reference: Side, estimate: Side, hop: float) -> dict[int, str]:
    """The same on frames from 0 s on, which each side is read on up to its own end."""
    counts, ends = _frames(reference, estimate, hop)
    samples = np.stack([rows.counts[0][row] for rows, row in (reference, estimate)])
    most = most_frames(samples)
    refused: dict[int, str] = {}
    for side, place in np.argwhere(counts > most).tolist():
        numbers = counts[side, place], samples[side, place], most[side, place]
        refused.setdefault(place, TOO_LONG.format(("reference", "estimate")[side], *numbers))
    soon = np.flatnonzero(counts.min(axis=0) < 1).tolist()
    return refused | {place: TOO_SOON.format(ends[:, place].min()) for place in soon}


def _frames(reference: Side, estimate: Side, hop: float) -> tuple[Int, Float]:
    """How many frames from 0 s on each side of each pair has, and where it ends in seconds: (2, pairs)."""
    ends = np.stack([rows.columns["time"][rows.offsets[row + 1] - 1] for rows, row in (reference, estimate)])
    return hop_counts(ends, hop), ends


Way = tuple[str, float, float]
"""Resampling, base frequency in Hz and tolerance in cents: what frames are classed by."""


def _ways(measures: Sequence[Measure]) -> dict[Way, list[int]]:
    """The ways of classing frames that some measures need, and the measures of each."""
    ways: dict[Way, list[int]] = {}
    for column, measure in enumerate(measures):
        parameters = measure.parameters
        resampling = str(parameters["resampling"])
        base = float(parameters.get("base_frequency", _any_base(measures)))
        tolerance = float(parameters.get("cent_tolerance", _any_tolerance(measures, resampling)))
        ways.setdefault((resampling, base, tolerance), []).append(column)
    return ways


def _count(reference: Side, estimate: Side, hop: float | None, tallies: Mapping[Way, Tally], pairs: Int) -> Float:
    """Count the frames of some pairs in each way; returns how long a frame of each pair is in seconds."""
    seconds = np.zeros(len(pairs))
    for resampling, base in dict.fromkeys((way[0], way[1]) for way in tallies):
        frames, seconds = compare(reference, estimate, base, hop, resampling)
        for way, tally in tallies.items():
            if way[:2] == (resampling, base):
                tally.put(pairs, Tally.of(frames, way[2]))
    return seconds


def _any_base(measures: Sequence[Measure]) -> float:
    """A base frequency for measures of voicing alone, which do not depend on it: one that is needed anyway."""
    return next((float(one["base_frequency"]) for one in measures if "base_frequency" in one.parameters), 10.0)


def _any_tolerance(measures: Sequence[Measure], resampling: str) -> float:
    """The same for the tolerance."""
    same = (one for one in measures if "cent_tolerance" in one.parameters and one["resampling"] == resampling)
    return next((float(one["cent_tolerance"]) for one in same), 50.0)


def compare(
    reference: Side, estimate: Side, base_frequency: float, hop: float | None, resampling: str
) -> tuple[Frames, Float]:
    """Pairs on common frames, and how long a frame of each pair is in seconds."""
    references, left = _series(*reference, base_frequency, hop is not None)
    estimates, right = _series(*estimate, base_frequency, True)
    if hop is None:
        return on_reference(references, estimates, left, right, resampling), mean_hop(references)[left]
    return on_hop(references, estimates, left, right, hop, resampling), np.full(len(left), hop)


def _series(rows: Ragged, row: Int, base_frequency: float, resampled: bool) -> tuple[Series, Int]:
    """The melodies of the distinct rows, and which one each pair has."""
    distinct, place = np.unique(row, return_inverse=True)
    return series_of(rows, distinct, base_frequency, resampled), place


def read(measure: Measure, tally: Tally) -> Reading:
    """A measure's scores and their denominators in frames."""
    name = measure.metric.name
    if name == "voicing_false_alarm":
        return voicing_false_alarm(tally, float(measure["of_none"]))
    return READINGS[name](tally)
