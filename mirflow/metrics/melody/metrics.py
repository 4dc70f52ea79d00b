"""The melody metrics: records, cleaning, scores of batches, evidence, kinds of errors, and conventions.

`TASK` and the form of melodies on a time grid are here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.grids import GridForm, GridOptions, TimeGrid, Variables, series_from_grid
from ...errors import AnnotationError, UnknownNameError
from ...kernels.intervals import batches
from ...kernels.ratios import Scored, divide
from ...ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from ..base import FRAMES, Convention, Grid, Pairs, Scores, Task, by_name
from ..cleaning import Cleaned, in_order, inspected, set_aside, usable_pair
from ..edits import RIGHT, ErrorBudget, ErrorKind, Mending, kinds_in
from ..measures import Measure, Parameter, Weight, family, metrics_in
from . import kernel

_ERROR_KINDS = (
    ErrorKind("missed_voicing", "samples with a melody that the estimate calls unvoiced"),
    ErrorKind("false_voicing", "samples without a melody that the estimate calls voiced"),
    ErrorKind("octave", "a pitch in another octave, in a voiced sample"),
    ErrorKind("pitch", "another pitch, or none, in a voiced sample"),
)
_MISSED_VOICING, _FALSE_VOICING, _OCTAVE_ERROR, _PITCH_ERROR = range(len(_ERROR_KINDS))


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Mending:
    """Find the edits of a melody at the times of the reference: mending takes voicing or pitch from there."""
    graded = "voicing" in reference.columns
    only, samples = np.zeros(1, dtype=np.int64), int(reference.counts[0][0])
    if not len(estimate.columns["time"]):  # it is silent
        blank = {name: np.zeros(min(samples, 1)) for name in estimate.columns}
        estimate = Ragged(blank, (np.array([min(samples, 1)], dtype=np.int64),))
    begins = [rows.columns["time"][0] if samples else 0.0 for rows in (reference, estimate)]
    if not samples or begins[0] < min(0.0, begins[1]):  # not scored
        return Mending(only[:0], 0, lambda kinds: reference.take(np.zeros(len(kinds), dtype=np.int64)))
    series = kernel.series_of(reference, only, _BASE, False), kernel.series_of(estimate, only, _BASE)
    frames = kernel.on_reference(*series, only, only, str(measure.parameters.get("resampling", "linear")))
    classes = kernel.classes_of(frames, float(measure.parameters.get("cent_tolerance", 50.0)))
    bits = kernel.VOICED, kernel.ESTIMATED, kernel.PITCH, kernel.CHROMA
    voiced, estimated, right, chroma = (classes & bit > 0 for bit in bits)
    voicing = frames.reference_voicing, frames.estimate_voicing
    of_voicing = np.select([voiced & ~estimated, ~voiced & estimated], [_MISSED_VOICING, _FALSE_VOICING], RIGHT)
    if graded:
        apart = (voicing[0] != voicing[1]) & (of_voicing == RIGHT)
        of_voicing[apart] = np.where(voicing[0] > voicing[1], _MISSED_VOICING, _FALSE_VOICING)[apart]
    of_pitch = np.where(voiced & ~right, np.where(chroma, _OCTAVE_ERROR, _PITCH_ERROR), RIGHT)
    of_pitch[voiced & ~estimated & (frames.estimate_cents == 0)] = RIGHT
    cents = frames.reference_cents, frames.estimate_cents
    hertz = [np.where(cent == 0, 0.0, _BASE * np.exp2(cent / 1200.0)) for cent in cents]

    def mend(kinds: Bool) -> Ragged:
        degree = np.where(kinds[:, of_voicing], *voicing)
        # A sample without a pitch takes that of the reference together with its voicing.
        silent = kinds[:, of_voicing] & (hertz[1] == 0)
        frequency = np.where(kinds[:, of_pitch] | silent, *hertz)
        columns = {"time": np.tile(frames.times, len(kinds)), "frequency": frequency.ravel()}
        if graded:
            columns["voicing"] = degree.ravel()
        else:  # negative frequencies are unvoiced
            columns["frequency"] = np.where(degree > 0, frequency, -frequency).ravel()
        return Ragged(columns, (np.full(len(kinds), len(frames.times), dtype=np.int64),))

    return Mending(kinds_in(of_voicing, of_pitch), len(of_pitch), mend)


MELODIES = ErrorBudget(_ERROR_KINDS, find_errors)


MIN_FREQUENCY, MAX_FREQUENCY = 1e-9, 1e9  # Bounds of valid frequencies in Hz, beyond which cents would overflow


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of melodies and sort them by time.

    Flaws are times and frequencies that are not finite or implausible for seconds and Hz, and voicing outside [0, 1]
    (rows without voicing are all NaN). Samples that are unordered, before 0 s or simultaneous with the previous one are
    counted in `repairs`. All samples are kept; the last of several simultaneous ones is used.
    """
    frequency = rows.columns["frequency"]
    absolute = np.abs(frequency)
    implausible = (absolute > MAX_FREQUENCY) | ((absolute < MIN_FREQUENCY) & (absolute > 0))
    # The rules of events also find repeated times.
    findings, problems, irregular = inspected("events", rows, counted=("negative", "unsorted", "duplicate"))
    problems += [
        (~np.isfinite(frequency), lambda item: f"frequency is not finite: {frequency[item]}"),
        (implausible, lambda item: f"frequency is not in Hz: {frequency[item]}"),
    ]
    if "voicing" in rows.columns:
        voicing, owner = rows.columns["voicing"], rows_of(rows.counts[0])
        voiced = np.zeros(len(rows), dtype=np.bool_)
        voiced[owner[~np.isnan(voicing)]] = True
        outside = ~((voicing >= 0) & (voicing <= 1)) & voiced[owner]
        problems.append((outside, lambda item: f"voicing is not in [0, 1]: {voicing[item]}"))
    cleaned = set_aside(rows, problems, irregular)
    return in_order(cleaned) if "unsorted" in findings else cleaned


_BASE = 10.0
DECIMALS = 10  # Decimals to which times are rounded when melodies are compared


def _on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions) -> Variables:
    """Frequency in Hz, 0 without pitch, and voicing, 0 for guessed pitches, at common times, and the last time.

    Frequencies between two samples are interpolated linearly in cents, the nearest one, or held. Nothing is
    interpolated between a pitch and silence. Melodies are silent after their last sample, except that beside the
    reference's times mir_eval holds it until the last time.
    """
    times, resampling = grid.times, options.resampling
    if resampling not in kernel.RESAMPLINGS:
        raise UnknownNameError("resampling", resampling, kernel.RESAMPLINGS)
    frequency, voicing = np.zeros((2, len(rows), len(times)))
    only = np.zeros(1, dtype=np.int64)
    last, filled = np.full(len(rows), np.nan), rows.counts[0] > 0
    last[filled] = rows.columns["time"][rows.offsets[1:][filled] - 1]
    for row in np.flatnonzero(filled).tolist():
        melody = rows.take([row])
        rounded, own = np.round(times, DECIMALS), np.round(melody.columns["time"], DECIMALS)
        first = int(np.searchsorted(rounded, min(float(own[0]), 0.0)))
        stop = len(times) if grid.name == "reference" else int(np.searchsorted(rounded, own[-1], side="right"))
        series = kernel.series_of(melody, only, _BASE)
        # Use the samples themselves, as the conversion to cents would round values that are not interpolated.
        hertz = np.abs(melody.columns["frequency"])
        early = int(series.counts[0]) - len(hertz)  # one more at 0 s if the first is later
        plain = replace(series, cents=np.concatenate([hertz[:1]] * early + [hertz, np.zeros(1)]))
        for start in range(first, stop, _PIECE):  # several arrays are made per time
            piece = slice(start, min(start + _PIECE, stop))
            count = np.array([piece.stop - piece.start], dtype=np.int64)
            cents, voicing[row, piece] = kernel.resample(series, only, times[piece], count, resampling)
            held = "hold" if resampling == "linear" else resampling
            hertz, _ = kernel.resample(plain, only, times[piece], count, held)
            between = np.where(cents == 0, 0.0, _BASE * np.exp2(cents / 1200.0))
            frequency[row, piece] = np.where(kernel.to_cents(hertz, _BASE) == cents, hertz, between)
    return {
        LAST: ((), last, {"long_name": "time of the last sample", "units": "s"}),
        "frequency": (("time",), frequency, {"long_name": "fundamental frequency", "units": "Hz"}),
        "voicing": (("time",), voicing, {"long_name": "degree of voicing"}),
    }


LAST = "last"
CURVE = GridForm(_on_grid, series_from_grid, ("frequency", "voicing"), task="melody", decimals=DECIMALS)
"""The form of melodies on a time grid."""
_PIECE = 1 << 18  # Times sampled at once


_VOICED = Weight("voiced frames of the reference, in seconds", "s")
_REWARD = replace(_VOICED, words=f"{_VOICED.words}, each times its voicing")
_UNVOICED = Weight("unvoiced frames of the reference, in seconds", "s")

_CONTINUOUS = {"perfect_exceptions": "a reference with voicing other than 0 and 1"}
_SHARE = "share of the voiced frames of the reference on which the pitch is right"
_KINDS = "interpolation between samples: kind in mir_eval"
_RESAMPLING = Parameter("resampling", "linear", choices=kernel.RESAMPLINGS, help=_KINDS)
_BELOW = "deviation that right pitches stay below"
_PITCHED = (
    Parameter("cent_tolerance", 50.0, "cent", help=_BELOW, least=0.0, mir_eval="cent_tolerance"),
    _RESAMPLING,
    Parameter("base_frequency", 10.0, "Hz", help="frequency of 0 cents, which counts as no pitch", above=0.0),
)
_OF_NONE = Parameter("of_none", 0.0, choices=(0.0, 1.0), help="score if no frame of the reference is unvoiced")
_LITERATURE = "@salamon2014; @poliner2007; with continuous voicing @bittner2019"


@family(
    {
        "voicing_recall": _VOICED,
        "voicing_false_alarm": _UNVOICED,
        **dict.fromkeys(("raw_pitch_accuracy", "raw_chroma_accuracy"), _REWARD),
        "overall_accuracy": Weight("frames of the reference, in seconds", "s"),
    },
    {
        title.lower().replace(" ", "_"): {
            "title": title,
            "key": title,
            "summary": summary,
            "aliases": aliases,
            "parameters": parameters,
            **about,
        }
        for title, summary, aliases, parameters, about in (
            (
                "Voicing Recall",
                "share of the voiced frames of the reference that the estimate calls voiced",
                ("VR", "vx_recall"),
                (_RESAMPLING,),
                _CONTINUOUS,
            ),
            (
                "Voicing False Alarm",
                "share of the unvoiced frames of the reference that the estimate calls voiced",
                ("VFA", "vx_false_alarm"),
                (_RESAMPLING, _OF_NONE),
                {"orientation": "lower", "perfect": 0.0},
            ),
            ("Raw Pitch Accuracy", f"{_SHARE}, regardless of estimated voicing", ("RPA", "raw_pitch"), _PITCHED, {}),
            ("Raw Chroma Accuracy", f"{_SHARE}, ignoring octaves", ("RCA", "raw_chroma"), _PITCHED, {}),
            (
                "Overall Accuracy",
                "share of all frames that are right: voiced with the right pitch, or unvoiced on both sides",
                ("OA",),
                _PITCHED,
                _CONTINUOUS,
            ),
        )
    },
    literature=_LITERATURE,
)
def accuracies(name: str, tally: kernel.FrameTally, measure: Measure) -> Scored:
    """Shares of the frames, or of the reference's voicing, that the estimate judges alike."""
    if name in ("raw_pitch_accuracy", "raw_chroma_accuracy"):
        reward = tally.sum("reference")
        bit = kernel.PITCH if name == "raw_pitch_accuracy" else kernel.CHROMA
        return divide(tally.sum("reference", bit), reward), reward
    frames = tally.sum("frames")
    if name == "voicing_recall":
        voiced = tally.sum("frames", kernel.VOICED)
        return divide(tally.sum("estimate", kernel.VOICED), voiced, np.where(frames > 0, 1.0, 0.0)), voiced
    unvoiced, called_voiced = (tally.sum(what, unset=kernel.VOICED) for what in ("frames", "estimate"))
    if name == "voicing_false_alarm":
        return divide(called_voiced, unvoiced, np.where(frames > 0, float(measure["of_none"]), 0.0)), unvoiced
    voiced, reward = tally.sum("frames", kernel.VOICED), tally.sum("reference")
    right = divide(voiced * tally.sum("both", kernel.PITCH), reward)
    return divide(right + (unvoiced - called_voiced), frames), frames


METRICS = metrics_in(globals())


_BATCH = 2**17  # Frames processed at once: few enough for the cache, and enough to outweigh the cost of calls

REFERENCE = "reference"
TOO_EARLY = "the reference starts at {} s, before 0 s and before the estimate, so there is nothing to compare"
TOO_SOON = "a melody ends at {} s, before the first frame at 0 s"
TOO_LONG = "{}: {} frames of {} samples, more than {}: are the times in seconds, and is the hop?"


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = REFERENCE) -> Scores:
    """Score pairs of melodies: a `Scorer`.

    Frequencies are in Hz; 0 is silence, and negative ones are guesses during silence. Estimates are sampled at the
    times of the reference, or both sides on frames with a hop in seconds. An estimate without samples is silent; scores
    are 0 without a reference. Weights are denominators in seconds: the number of frames, or the sum of the reference's
    voicing, times the (mean) hop.

    References
    ----------
    J. Salamon, E. Gomez, D. P. W. Ellis and G. Richard, "Melody extraction from polyphonic music signals: approaches,
    applications, and challenges", IEEE Signal Processing Magazine 31(2), 2014.
    """
    hop = None if grid == REFERENCE else float(grid)
    ways = ways_of(measures)
    values = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    filled = np.flatnonzero(pairs.counts[0] > 0)
    # Pairs with the same reference are grouped, so that it is laid out and sampled once.
    filled = filled[np.argsort(pairs.reference_row[filled], kind="stable")]
    sounding, rows = pairs, pairs.estimates
    if not rows.counts[0].all():
        # Estimates without samples are replaced by a silent sample at 0 s, in an additional row.
        columns = {name: np.append(column, 0) for name, column in rows.columns.items()}
        more = Ragged(columns, (np.append(rows.counts[0], 1),), rows.labels)
        index = np.where(pairs.counts[1] > 0, pairs.estimate_row, len(rows))
        sounding = replace(pairs, estimates=more, estimate_row=index)
    sounding = sounding[filled]
    sizes = sounding.sizes
    if hop is not None:
        sizes = sizes + np.maximum(_frames(sounding, hop)[0], 0).sum(axis=0)
    for batch in batches(sizes, _BATCH):
        some, pair = sounding[batch], filled[batch]
        bad = refuse(some, hop)
        if bad:
            refused |= {int(pair[number]): message for number, message in bad.items()}
            fit = np.setdiff1d(np.arange(len(some)), list(bad))
            some, pair = some[fit], pair[fit]
        for resampling, base in dict.fromkeys(way[:2] for way in ways) if len(some) else ():
            frames, seconds = compare(some, base, hop, resampling)
            for way in (way for way in ways if way[:2] == (resampling, base)):
                tally = kernel.FrameTally.of(frames, way[2])
                for column in ways[way]:
                    scored, frames_counted = measures[column].read(tally)
                    values[:, pair, column] = scored, frames_counted * seconds
    values[0, list(refused)] = np.nan
    return Scores(values[0], values[1], refused=refused)


def refuse(pairs: Pairs, hop: float | None) -> dict[int, str]:
    """Reasons why pairs cannot be scored, keyed by pair."""
    (references, reference_row), (estimates, estimate_row) = pairs.sides
    if hop is not None:
        counts, ends = _frames(pairs, hop)
        samples = np.stack(pairs.counts)
        most = np.maximum(kernel.FRAMES_A_SAMPLE * samples, kernel.MOST_FRAMES)
        refused: dict[int, str] = {}
        for side, pair in np.argwhere(counts > most).tolist():
            numbers = counts[side, pair], samples[side, pair], most[side, pair]
            refused.setdefault(pair, TOO_LONG.format(("reference", "estimate")[side], *numbers))
        soon = np.flatnonzero(counts.min(axis=0) < 1).tolist()
        return refused | {pair: TOO_SOON.format(ends[:, pair].min()) for pair in soon}
    begin = references.columns["time"][references.offsets[reference_row]]
    before = np.flatnonzero(begin < np.minimum(0.0, estimates.columns["time"][estimates.offsets[estimate_row]]))
    if not len(before):
        return {}
    index = np.arange(len(before))
    left, right = (kernel.series_of(rows, row, 1.0) for rows, row in pairs[before].sides)
    starts = [np.round(side.times[side.first], DECIMALS) for side in (left, right)]
    same = kernel.is_on_grid(right, index, left.times[ranges(left.first, left.counts)], left.counts)
    return {pair: TOO_EARLY.format(begin[pair]) for pair in before[(starts[0] < starts[1]) & ~same].tolist()}


def _frames(pairs: Pairs, hop: float) -> tuple[Int, Float]:
    """Number of frames from 0 s on, and end in seconds, of each side of each pair: (2, pairs)."""
    ends = np.stack([rows.columns["time"][rows.offsets[row + 1] - 1] for rows, row in pairs.sides])
    return kernel.hop_counts(ends, hop), ends


Way = tuple[str, float, float]
"""Resampling, base frequency in Hz and tolerance in cents, which determine the classes of frames."""


def ways_of(measures: Sequence[Measure]) -> dict[Way, list[int]]:
    """Ways of classifying frames needed by measures, and the measures of each.

    Measures of voicing depend neither on the base frequency nor on the tolerance, so they share those of others.
    """
    parameters = [measure.parameters for measure in measures]
    base = next((other["base_frequency"] for other in parameters if "base_frequency" in other), 10.0)
    ways: dict[Way, list[int]] = {}
    for column, own in enumerate(parameters):
        same = (other for other in parameters if "cent_tolerance" in other and other["resampling"] == own["resampling"])
        tolerance = own.get("cent_tolerance", next(same, {"cent_tolerance": 50.0})["cent_tolerance"])
        way = str(own["resampling"]), float(own.get("base_frequency", base)), float(tolerance)
        ways.setdefault(way, []).append(column)
    return ways


def compare(pairs: Pairs, base_frequency: float, hop: float | None, resampling: str) -> tuple[kernel.Frames, Float]:
    """Sample pairs on common frames; return these and the length of a frame of each pair in seconds."""
    # The melodies of distinct rows, and their index for each pair.
    (distinct, left), (others, right) = (np.unique(row, return_inverse=True) for _, row in pairs.sides)
    references = kernel.series_of(pairs.references, distinct, base_frequency, hop is not None)
    estimates = kernel.series_of(pairs.estimates, others, base_frequency)
    if hop is None:
        span = references.times[references.last] - references.times[references.first]
        hops = divide(span, references.counts - 1)  # the mean distance of samples, 0 for a single one
        return kernel.on_reference(references, estimates, left, right, resampling), hops[left]
    return kernel.on_hop(references, estimates, left, right, hop, resampling), np.full(len(left), hop)


_RIGHT, _OCTAVE, _WRONG, _MISSED, _FALSE_ALARM, _SILENT = VERDICTS = (
    *("right", "octave", "wrong"),
    *("missed", "false alarm", "rightly unvoiced"),
)


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, hop: float | None = None
) -> dict[str, Column]:
    """Return the frames of the reference, or of a hop in seconds, with verdicts: an `Explainer` for any metric.

    Columns are ``start`` and ``end`` of each frame (seconds), ``reference_frequency`` and ``estimate_frequency`` (Hz;
    NaN for none, negative for a guess in an unvoiced frame), and ``verdict``: ``right``, ``octave``, ``wrong``,
    ``missed``, ``false alarm`` or ``rightly unvoiced``. The raw accuracies ignore the voicing of estimated pitches.
    """
    pair = Pairs.in_order(*usable_pair(reference, estimate, clean, filled=2))
    for message in refuse(pair, hop).values():
        raise AnnotationError(message)
    base = float(measure.parameters.get("base_frequency", 10.0))
    frames, length = compare(pair, base, hop, str(measure["resampling"]))
    classes = kernel.classes_of(frames, float(measure.parameters.get("cent_tolerance", 50.0)))
    voiced, estimated = classes & kernel.VOICED > 0, classes & kernel.ESTIMATED > 0
    raw = measure.metric.name in ("raw_pitch_accuracy", "raw_chroma_accuracy")
    answered = frames.estimate_cents != 0 if raw else estimated
    verdict = np.where(estimated, _FALSE_ALARM, _SILENT).astype("<U16")
    verdict[voiced] = _MISSED
    verdict[voiced & answered] = _WRONG
    verdict[voiced & answered & (classes & kernel.CHROMA > 0)] = _OCTAVE
    verdict[voiced & answered & (classes & kernel.PITCH > 0)] = _RIGHT
    evidence = {"start": frames.times, "end": np.append(frames.times[1:], frames.times[-1:] + length)}
    for side, cents, voicing in (
        ("reference", frames.reference_cents, frames.reference_voicing),
        ("estimate", frames.estimate_cents, frames.estimate_voicing),
    ):
        frequency = np.where(cents == 0, np.nan, base * 2.0 ** (cents / 1200.0))
        evidence[f"{side}_frequency"] = np.where(voicing > 0, frequency, -frequency)
    return evidence | {"verdict": verdict}


GRIDS = (REFERENCE, FRAMES)
HOP = "0.01"  # Seconds between the frames of MIREX; also the name of its default grid


_ALL_VOICED = "1 for a reference without unvoiced frames"
_OF_MIREX = [
    replace(record, perfect_exceptions=_ALL_VOICED) if record.name == "voicing_false_alarm" else record
    for record in METRICS
]
_NEAREST, _HELD = (
    tuple(record.with_defaults(resampling=resampling, of_none=1.0) for record in _OF_MIREX)
    for resampling in ("nearest", "hold")
)
_AT_REFERENCE = "mir_eval 0.8.2: estimates are interpolated at the times of the reference"
_ON_FRAMES = "frames of 10 ms with the"
_MIREX = (HOP, *GRIDS), partial(evidence, hop=float(HOP)), "@downie2010"  # what both conventions of MIREX share
MIR_EVAL, MIREX, MIREX_HOLD = (
    Convention(name, summary, metrics, clean, score, grids, explain=explain, literature=literature)
    for name, summary, metrics, grids, explain, literature in (
        ("mir_eval", _AT_REFERENCE, METRICS, GRIDS, evidence, "@raffel2014"),
        ("mirex", f"MIREX as described in the literature: {_ON_FRAMES} nearest sample", _NEAREST, *_MIREX),
        ("mirex_hold", f"MIREX as run by mir_eval's authors: {_ON_FRAMES} previous sample", _HELD, *_MIREX),
    )
)

TASK = Task("melody", "Melody extraction", by_name(MIR_EVAL, MIREX, MIREX_HOLD), ("overall_accuracy",), errors=MELODIES)
