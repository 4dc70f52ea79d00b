"""The metrics of multiple F0 estimation: records, cleaning, scores, evidence, and kinds of errors.

The convention, the task and the functions of ``mir_eval.multipitch`` are here, too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...errors import refuse_unknown, warn_caller
from ...kernels.intervals import batches
from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, open_share, share
from ...ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from ..base import FRAMES, Convention, Grid, Pairs, Scores, Task, by_name, score_on_frames
from ..cleaning import Cleaned, drop_items, empty_rows, inspected, set_aside, usable_pair
from ..edits import RIGHT, ErrorBudget, ErrorKind, Mending, kinds_in
from ..measures import Measure, Parameter, Weight, family, metrics_in
from ..pair import PairFunctions, documented
from ..util import BOUNDED, Array, are_times, validate_events, validate_frequencies
from .kernel import FORM, Pitches, beside, count_true_positives, frame_of_estimate, matched, nearest_frame, pitches_of

MAX_TIME = 30000.0  # Latest time in seconds; later ones are taken for a wrong unit
MAX_FREQ = 5000.0  # Highest pitch in Hz; higher ones are taken for a wrong unit
MIN_FREQ = 20.0  # Lowest pitch in Hz; lower ones are taken for a wrong unit


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of frames with pitches and sort them by time.

    Flaws, indexed by frame, are times that are not finite or later than `MAX_TIME`, and frequencies outside `MIN_FREQ`
    to `MAX_FREQ`. Frequencies of 0, which some files use as padding, are dropped. Frames with such padding, and those
    that are unordered or before 0 s, are counted in `repairs`.
    """
    times, frequency = rows.columns["time"], rows.columns["frequency"]
    frames = Ragged({"time": times}, (rows.counts[0],))
    findings, problems, irregular = inspected("events", frames, counted=("negative", "unsorted"))
    filling = frequency == 0
    bad = ~((frequency >= MIN_FREQ) & (frequency <= MAX_FREQ)) & ~filling
    holder = rows_of(rows.counts[1])
    first_bad = {int(holder[item]): float(frequency[item]) for item in np.flatnonzero(bad)[::-1].tolist()}
    problems += [
        (times > MAX_TIME, lambda item: f"time is later than {MAX_TIME:.0f} s: {times[item]}"),
        (
            np.isin(np.arange(len(times)), list(first_bad)),
            lambda item: f"frequency is not from {MIN_FREQ:g} to {MAX_FREQ:g} Hz: {first_bad[item]}",
        ),
    ]
    irregular[holder[filling]] = True
    cleaned = set_aside(frames, problems, irregular)
    if filling.any():
        rows = drop_items(rows, filling)
    if cleaned.flaws:
        rows = empty_rows(rows, np.isin(np.arange(len(rows)), list(cleaned.flaws)))
    if "unsorted" in findings:
        order = np.lexsort((rows.columns["time"], rows_of(rows.counts[0])))
        first, inner = (np.cumsum(rows.counts[1]) - rows.counts[1])[order], rows.counts[1][order]
        columns = {"time": rows.columns["time"][order], "frequency": rows.columns["frequency"][ranges(first, inner)]}
        rows = Ragged(columns, (rows.counts[0], inner), rows.labels, rows.depths)
    return Cleaned(rows, cleaned.repairs, cleaned.flaws)


Counts = tuple[Float, ...]
"""Over the frames of pairs, float64 (pairs,) each: matched pitches, pitches of the reference, of the estimate, and the
smaller and the larger of both numbers of each frame."""


def count(hits: Int, reference: Int, estimate: Int, pair: Int, pairs: int) -> Counts:
    """Sum the numbers of pitches of frames, int64 (frames,) each, by pair."""
    columns = (hits, reference, estimate, np.minimum(reference, estimate), np.maximum(reference, estimate))
    return tuple(sum_by(pair, column.astype(np.float64), pairs) for column in columns)


RATIOS: Mapping[str, Callable[[Float, Float, Float, Float, Float], tuple[Float, Float]]] = MappingProxyType(
    {
        "precision": lambda hits, reference, estimate, fewer, more: (hits, estimate),
        "recall": lambda hits, reference, estimate, fewer, more: (hits, reference),
        "f_measure": lambda hits, reference, estimate, fewer, more: (hits, 0.5 * (reference + estimate)),
        "accuracy": lambda hits, reference, estimate, fewer, more: (hits, reference + estimate - hits),
        "substitution_error": lambda hits, reference, estimate, fewer, more: (fewer - hits, reference),
        "miss_error": lambda hits, reference, estimate, fewer, more: (reference - fewer, reference),
        "false_alarm_error": lambda hits, reference, estimate, fewer, more: (estimate - fewer, reference),
        "total_error": lambda hits, reference, estimate, fewer, more: (more - hits, reference),
    }
)
"""Numerators and denominators, which are the weights, from numbers of pitches as in `Counts`."""
_OVER = "over the number of pitches of the reference"
_OF_MIREX = "the accuracy of multiple F0 estimation of MIREX"
_ACCURACY = {"aliases": ("multi_f0_accuracy", "Acc"), "literature": "equation 2 of @downie2010; @dixon2000; @bay2009"}
_F_MEASURE = {"default": False, "aliases": ("f1",), "key": ""}
_SURPLUS: dict[str, Any] = {"range": (0.0, float("inf")), "surplus": True, "version": 2}
_ERROR: dict[str, Any] = {"orientation": "lower", "perfect": 0.0, "literature": "@poliner2007piano; @bay2009"}
_OF_SUBSTITUTIONS, _OF_MISSES, _OF_FALSE_ALARMS, _OF_ALL = (
    {**_ERROR, "aliases": (alias,), **more}
    for alias, more in (("e_sub", {}), ("e_miss", {}), ("e_fa", _SURPLUS), ("e_tot", _SURPLUS))
)
_NEAR = "largest distance of matched pitches"
_WINDOW = Parameter("window", 0.5, "semitone", help=_NEAR, least=0.0, mir_eval="window")


@family(
    {
        "precision": Weight("number of estimated pitches, over all frames", "pitches"),
        "f_measure": Weight("mean number of pitches of both sides, over all frames", "pitches"),
        "accuracy": Weight("true positives, false positives and false negatives, over all frames", "pitches"),
        **dict.fromkeys(
            ("recall", "substitution_error", "miss_error", "false_alarm_error", "total_error"),
            Weight("number of pitches of the reference, over all frames", "pitches"),
        ),
    },
    {
        title.lower().replace(" ", "_").replace("-", "_"): {"title": title, "summary": summary, "key": title, **about}
        for title, summary, about in (
            ("Precision", "share of the estimated pitches that are right, over all frames", {}),
            ("Recall", "share of the pitches of the reference that were found, over all frames", {}),
            ("F-measure", "harmonic mean of precision and recall, over all frames", _F_MEASURE),
            ("Accuracy", f"TP / (TP + FP + FN), summed over all frames: {_OF_MIREX}", _ACCURACY),
            (
                "Substitution Error",
                f"pitches that replace another one in their frame, {_OVER}",
                _ERROR | {"aliases": ("e_sub",)},
            ),
            ("Miss Error", f"missing pitches of frames with too few, {_OVER}", _OF_MISSES),
            ("False Alarm Error", f"surplus pitches of frames with too many, {_OVER}", _OF_FALSE_ALARMS),
            ("Total Error", f"substitutions, misses and false alarms, {_OVER}", _OF_ALL),
        )
    },
    parameters=(_WINDOW,),
    literature="@bay2009",
)
def rates(name: str, counts: Counts, measure: Measure) -> Scored:
    """Ratios of numbers of pitches over all frames."""
    part, whole = RATIOS[name](*counts)
    return open_share(part, whole) if measure.metric.surplus else share(part, whole)


CHROMA = "chroma"  # The `needs` of metrics that ignore octaves


METRICS = (
    *metrics_in(globals()),
    *(
        replace(
            metric,
            name=f"chroma_{metric.name}",
            title=f"Chroma {metric.title}",
            summary=f"{metric.summary}; ignoring octaves",
            key=metric.key and f"Chroma {metric.key}",
            aliases=tuple(f"{alias}_chroma" for alias in metric.aliases),
            needs=CHROMA,
        )
        for metric in rates
    ),
)

_BATCH = 2**15  # Frames processed at once, so that results fit into the cache

REFERENCE = "reference"
MOST_PAIRS = 2**22
TOO_MANY = f"too many pitches: {{}} and {{}} in a frame of reference and estimate (at most {MOST_PAIRS} pairs)"


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = REFERENCE) -> Scores:
    """Score pairs of multiple F0 estimates at the times of the reference: a `Scorer`.

    Scores with denominator 0 are 0. Weights are numbers of pitches: those of the estimate for precision, true and false
    positives and false negatives for accuracy, and those of the reference for all others.

    References
    ----------
    M. Bay, A. F. Ehmann and J. S. Downie, "Evaluation of multiple-F0 estimation and tracking systems", ISMIR 2009.
    """
    values = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    ways = [(float(asked["window"]), asked.metric.needs == CHROMA) for asked in measures]
    sides = pitches_of(pairs.references), pitches_of(pairs.estimates)
    for batch in batches(pairs.sizes, _BATCH):
        some = pairs[batch]
        counts, _ = some.counts
        ours = sides[0].take(ranges(pairs.references.offsets[some.reference_row], counts))
        theirs = beside(sides[1], frame_of_estimate(some))
        pair = rows_of(counts)
        large = np.flatnonzero(ours.counts * theirs.counts > MOST_PAIRS)
        for frame in large.tolist():
            refused[batch.start + int(pair[frame])] = TOO_MANY.format(ours.counts[frame], theirs.counts[frame])
        if len(large):
            mask = ~np.isin(pair, pair[large])
            ours, theirs, pair = ours.take(np.flatnonzero(mask)), theirs.take(np.flatnonzero(mask)), pair[mask]
        hits = count_true_positives(ours, theirs, list(dict.fromkeys(ways)))
        summed = {way: count(number, ours.counts, theirs.counts, pair, len(counts)) for way, number in hits.items()}
        for column, (measure, way) in enumerate(zip(measures, ways, strict=True)):
            values[:, batch, column] = measure.read(summed[way])
    values[0, list(refused)] = np.nan
    return Scores(values[0], values[1], refused=refused)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the pitches of both sides at the times of the reference with verdicts: an `Explainer`.

    Columns are ``start`` and ``end`` of the frame (seconds), ``reference_frequency`` and ``estimate_frequency`` (Hz;
    NaN if not matched), and ``verdict``: ``hit``, ``missed`` or ``extra``. Frames without pitches are left out.
    """
    pair = Pairs.in_order(*usable_pair(reference, estimate, clean, filled=1))
    ours, theirs = pitches_of(pair.references), beside(pitches_of(pair.estimates), frame_of_estimate(pair))
    way = float(measure["window"]), measure.metric.needs == CHROMA
    none = np.zeros((0, 3), dtype=np.int64)
    frame, one, other = np.vstack([none, *(np.column_stack(found) for _, found in matched(ours, theirs, [way]))]).T
    unmatched = []  # frame and index of pitches; a frame of the estimate may correspond to several of the reference
    for side, taken in ((ours, one), (theirs, other)):
        frames_of_side, place = rows_of(side.counts), ranges(side.first, side.counts)
        size = len(side.midi) + 1
        left = ~np.isin(frames_of_side * size + place, frame * size + taken)
        unmatched.append((frames_of_side[left], place[left]))
    missed, extra = unmatched
    nothing = -np.ones(max(len(missed[0]), len(extra[0])), dtype=np.int64)
    frames = np.concatenate([frame, missed[0], extra[0]])
    at_reference = np.concatenate([one, missed[1], nothing[: len(extra[0])]])
    at_estimate = np.concatenate([other, nothing[: len(missed[0])], extra[1]])
    verdict = np.repeat(["hit", "missed", "extra"], [len(frame), len(missed[0]), len(extra[0])])
    order = np.argsort(frames, kind="stable")
    times = pair.references.columns["time"]
    ends = np.append(times[1:], times[-1] + np.median(np.diff(times)) if len(times) > 1 else times[-1])
    return {
        "start": times[frames[order]],
        "end": ends[frames[order]],
        "reference_frequency": np.append(pair.references.columns["frequency"], np.nan)[at_reference[order]],
        "estimate_frequency": np.append(pair.estimates.columns["frequency"], np.nan)[at_estimate[order]],
        "verdict": verdict[order],
    }


_KINDS = (
    ErrorKind("octave", "a pitch in another octave"),
    ErrorKind("missing", "pitches of the reference without an estimate"),
    ErrorKind("extra", "estimated pitches without one of the reference"),
)
_OCTAVE, _MISSING, _EXTRA = range(len(_KINDS))


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Mending:
    """Find the edits of pitches in the frames of the reference."""
    frames = int(reference.counts[0][0])
    frame = frame_of_estimate(Pairs.in_order(reference, estimate))[:frames]
    sides = [pitches_of(reference), beside(pitches_of(estimate), frame)]
    # A frame of the estimate may be the nearest to several of the reference.
    items = [ranges(side.first, side.counts) for side in sides]
    owners = [rows_of(side.counts) for side in sides]
    kinds = [np.full(len(items[0]), _MISSING), np.full(len(items[1]), _EXTRA)]
    for kind, octaves in ((RIGHT, False), (_OCTAVE, True)):
        left = np.flatnonzero(kinds[0] == _MISSING), np.flatnonzero(kinds[1] == _EXTRA)
        lone = [
            Pitches.of(side.midi[item[own]], np.bincount(owner[own], minlength=frames).astype(np.int64))
            for side, item, owner, own in zip(sides, items, owners, left, strict=True)
        ]
        for _, (_, one, other) in matched(lone[0], lone[1], [(float(measure.parameters.get("window", 0.5)), octaves)]):
            kinds[0][left[0][one]] = kinds[1][left[1][other]] = kind
    hertz = [rows.columns["frequency"][item] for rows, item in zip((reference, estimate), items, strict=True)]
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    time, owner, frequency = reference.columns["time"], owner[order], np.concatenate(hertz)[order]
    of_reference, of_pitch = order < len(items[0]), np.concatenate(kinds)[order]

    def mend(sets: Bool) -> Ragged:
        row, item = np.nonzero(sets[:, of_pitch] == of_reference)
        counts = np.bincount(row * frames + owner[item], minlength=len(sets) * frames).astype(np.int64)
        columns = {"time": np.tile(time, len(sets)), "frequency": frequency[item]}
        return Ragged(columns, (np.full(len(sets), frames, dtype=np.int64), counts), depths={"time": 1})

    return Mending(kinds_in(*kinds), frames + len(owner), mend)


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: frames of the reference are compared with the nearest ones of the estimate",
    METRICS,
    clean,
    partial(score_on_frames, score, "multipitch", FORM),
    (REFERENCE, FRAMES),
    explain=evidence,
    literature="@raffel2014",
)

_ERRORS = ErrorBudget(_KINDS, find_errors)
TASK = Task("multipitch", "Multiple F0 estimation", by_name(MIR_EVAL), ("accuracy",), errors=_ERRORS)


_NO_REFERENCE, _NO_ESTIMATE = "Reference frequencies are all empty.", "Estimate frequencies are all empty."
_SIDES = ("ref_time", "ref_freqs", "est_time", "est_freqs")
Frequencies = Sequence[Array]  # The frequencies of each frame

_scores = PairFunctions(METRICS, MIR_EVAL.score_pair)

_ARRAYS = """
    Parameters
    ----------
    ref_time, est_time : (n,) and (m,), seconds
        Ascending.
    ref_freqs, est_freqs : sequences of n and m arrays, Hz
    times : (n,), seconds
        Ascending.
    target_times : (m,), seconds
    frequencies : sequence of arrays, Hz
    frequencies_midi : sequence of arrays, MIDI numbers
    ref_frequency : float, Hz
        Frequency of MIDI number 69.
    chroma : bool
        Whether to ignore octaves.
    true_positives, n_ref, n_est : (frames,)
        Numbers of pitches.
"""
_documented = documented(_ARRAYS, METRICS)
_checked = documented(
    f"""{_ARRAYS}
    Raises
    ------
    ValueError
        For times that are not finite, later than `MAX_TIME` or unordered, frequencies outside `MIN_FREQ` to `MAX_FREQ`,
        and different numbers of frames.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """,
    METRICS,
)


@_checked
def validate(ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies) -> None:
    """Check both sides of a pair."""
    for time in (ref_time, est_time):
        validate_events(time, MAX_TIME)
        if not are_times(time):
            raise ValueError(f"Event times {BOUNDED}")
    for time, frequencies, name in ((ref_time, ref_freqs, "Reference"), (est_time, est_freqs, "Estimated")):
        if time.size == 0:
            warn_caller(f"{name} times are empty.")
        if len(frequencies) == 0:
            warn_caller(f"{name} frequencies are empty.")
    for time, frequencies, name in ((ref_time, ref_freqs, "Reference"), (est_time, est_freqs, "Estimate")):
        if time.size != len(frequencies):
            raise ValueError(f"{name} times and frequencies have unequal lengths.")
    for frequencies in (ref_freqs, est_freqs):
        for frame in frequencies:
            validate_frequencies(frame, MAX_FREQ, MIN_FREQ, allow_negatives=False)
            if not (frame > 0).all():
                raise ValueError("Frequencies must be finite and above 0 Hz")


@_documented
def resample_multipitch(times: Array, frequencies: Frequencies, target_times: Array) -> list[Array]:
    """Take the frames nearest to other times.

    Returns
    -------
    list of m arrays
        Frequencies of each frame; empty before the first and after the last time.

    Examples
    --------
    >>> frames = [np.array([200.0]), np.array([300.0, 400.0])]
    >>> [frame.tolist() for frame in resample_multipitch(np.array([0.0, 1.0]), frames, np.array([0.4, 0.6, 2.0]))]
    [[200.0], [300.0, 400.0], []]
    """
    if not times.size or not target_times.size:
        return [np.array([])] * target_times.size
    only = np.zeros(1, dtype=np.int64)
    wanted = np.asarray(target_times, dtype=np.float64)
    place = nearest_frame(_row(times, []), only, wanted, np.array([wanted.size], dtype=np.int64))
    one = [*frequencies, np.array([])]
    return [one[index] for index in place.tolist()]


@_documented
def frequencies_to_midi(frequencies: Frequencies, ref_frequency: float = 440.0) -> list[Float]:
    """Convert frequencies to MIDI numbers with fractions.

    Returns
    -------
    list of float64 arrays

    Examples
    --------
    >>> [frame.tolist() for frame in frequencies_to_midi([np.array([220.0, 440.0]), np.array([])])]
    [[57.0, 69.0], []]
    """
    return [np.asarray(69.0 + 12.0 * np.log2(frame / ref_frequency)) for frame in frequencies]


@_documented
def midi_to_chroma(frequencies_midi: Frequencies) -> list[Float]:
    """Reduce MIDI numbers to one octave.

    Returns
    -------
    list of float64 arrays
        From 0 to 12.

    Examples
    --------
    >>> [frame.tolist() for frame in midi_to_chroma([np.array([57.0, 69.5])])]
    [[9.0, 9.5]]
    """
    return [np.mod(frame, 12) for frame in frequencies_midi]


@_documented
def compute_num_freqs(frequencies: Frequencies) -> Int:
    """Count the frequencies of each frame.

    Returns
    -------
    int64 (frames,)

    Examples
    --------
    >>> compute_num_freqs([np.array([220.0, 440.0]), np.array([])]).tolist()
    [2, 0]
    """
    return np.array([frame.size for frame in frequencies], dtype=np.int64)


@_documented
def compute_num_true_positives(
    ref_freqs: Frequencies, est_freqs: Frequencies, window: float = 0.5, chroma: bool = False
) -> Float:
    """Compute the size of a largest matching of the pitches of each frame.

    Parameters
    ----------
    ref_freqs, est_freqs : sequences of arrays, MIDI numbers

    Returns
    -------
    float64 (frames of the reference,)

    Examples
    --------
    >>> compute_num_true_positives([np.array([57.0, 60.0])], [np.array([57.4, 61.0])]).tolist()
    [1.0]
    """
    shared = min(len(ref_freqs), len(est_freqs))
    counts = np.zeros(len(ref_freqs))
    ours, theirs = (
        Pitches.of(np.concatenate([np.zeros(0), *side]).astype(np.float64), compute_num_freqs(side))
        for side in (ref_freqs[:shared], est_freqs[:shared])
    )
    counts[:shared] = count_true_positives(ours, theirs, [(window, chroma)])[window, chroma]
    return counts


@_documented
def compute_accuracy(true_positives: Array, n_ref: Array, n_est: Array) -> tuple[float, float, float]:
    """Precision, recall and accuracy from numbers of pitches.

    Returns
    -------
    precision, recall, accuracy : float
        0 if the denominator is 0.

    Warns
    -----
    MirflowWarning
        If a side has no pitch.

    References
    ----------
    equation 2 of @downie2010; @dixon2000; @bay2009

    Examples
    --------
    >>> compute_accuracy(np.array([1, 0]), np.array([2, 0]), np.array([1, 1]))
    (0.5, 0.5, 0.3333333333333333)
    """
    if not n_est.sum() > 0:
        warn_caller(_NO_ESTIMATE)
    if not n_ref.sum() > 0:
        warn_caller(_NO_REFERENCE)
    precision, recall, accuracy = _read(true_positives, n_ref, n_est, "precision", "recall", "accuracy")
    return precision, recall, accuracy


@_documented
def compute_err_score(true_positives: Array, n_ref: Array, n_est: Array) -> tuple[float, float, float, float]:
    """Substitution, miss, false alarm and total error from numbers of pitches.

    Returns
    -------
    e_sub, e_miss, e_fa, e_tot : float
        0 if the reference has no pitch.

    Warns
    -----
    MirflowWarning
        If the reference has no pitch.

    References
    ----------
    @poliner2007piano; @bay2009

    Examples
    --------
    >>> compute_err_score(np.array([1, 0]), np.array([2, 0]), np.array([1, 1]))
    (0.0, 0.5, 0.5, 1.0)
    """
    if n_ref.sum() == 0:
        warn_caller(_NO_REFERENCE)
    names = "substitution_error", "miss_error", "false_alarm_error", "total_error"
    substitution, miss, false_alarm, total = _read(true_positives, n_ref, n_est, *names)
    return substitution, miss, false_alarm, total


def _read(true_positives: Array, n_ref: Array, n_est: Array, *names: str) -> list[float]:
    counts = count(true_positives, n_ref, n_est, np.zeros(len(n_ref), dtype=np.int64), 1)
    return [float(measure.read(counts)[0][0]) for measure in MIR_EVAL.select(names)]


@_checked
def metrics(
    ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies, **kwargs: Any
) -> tuple[float, ...]:
    """Compute all fourteen scores of one estimate.

    Returns
    -------
    tuple of 14 floats
        Precision, recall, accuracy, substitution, miss, false alarm and total error; then the same for chroma.

    Warns
    -----
    MirflowWarning
        If the estimate is resampled, and if a side has no pitches.

    References
    ----------
    @bay2009; @poliner2007piano; equation 2 of @downie2010; @dixon2000

    Examples
    --------
    >>> times, reference = np.array([0.0, 0.01]), [np.array([220.0]), np.array([330.0])]
    >>> metrics(times, reference, times, [np.array([221.0]), np.array([660.0])])[:3]
    (0.5, 0.5, 0.3333333333333333)
    """
    refuse_unknown("metrics", kwargs, (*_SIDES, *_scores.parameters))
    return tuple(evaluate(ref_time, ref_freqs, est_time, est_freqs, **kwargs).values())


def _row(time: Array, frequencies: Frequencies) -> Ragged:
    """Make a ragged row of a single annotation; frames are empty without frequencies."""
    counts = compute_num_freqs(frequencies) if len(frequencies) else np.zeros(len(time), dtype=np.int64)
    pitches = np.concatenate([np.zeros(0), *frequencies]).astype(np.float64)
    columns = {"time": np.asarray(time, dtype=np.float64), "frequency": pitches}
    return Ragged(columns, (np.array([len(time)], dtype=np.int64), counts), depths={"time": 1})


@_checked
def evaluate(
    ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies, **kwargs: Any
) -> OrderedDict[str, float]:
    """Compute the scores of `metrics` by name, with its warnings.

    Examples
    --------
    >>> times, reference = np.array([0.0, 0.01]), [np.array([220.0]), np.array([330.0])]
    >>> scores = evaluate(times, reference, times, [np.array([221.0]), np.array([660.0])])
    >>> scores["Accuracy"], scores["Chroma Accuracy"]
    (0.3333333333333333, 1.0)
    """
    refuse_unknown("evaluate", kwargs, (*_SIDES, *_scores.parameters))
    validate(ref_time, ref_freqs, est_time, est_freqs)
    if est_time.size != ref_time.size or not np.allclose(est_time, ref_time):
        warn_caller("Estimate times not equal to reference times. Resampling to common time base.")
    reference, estimate = _row(ref_time, ref_freqs), _row(est_time, est_freqs)
    used = frame_of_estimate(Pairs.in_order(reference, estimate))
    if not np.append(estimate.counts[1], 0)[used].any():
        warn_caller(_NO_ESTIMATE)
    if not reference.counts[1].any():
        warn_caller(_NO_REFERENCE)
    return _scores.evaluate(reference, estimate, kwargs)
