"""The transcription metrics: records (notes, instruments, General MIDI programs, deviations), scores, and evidence.

Cleaning and conventions mir_eval, mirex2015 and mt3 are here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...errors import AnnotationError, MetricError
from ...kernels.intervals import batches
from ...kernels.ragged_ops import medians, sum_by
from ...kernels.ratios import Scored, divide, rate
from ...ragged import Column, Float, Int, Ragged, rows_of
from ...theory.general_midi import PROGRAMS
from ..base import Convention, Grid, Pairs, Scores
from ..cleaning import NO_TIMES, Cleaned, inspected, set_aside, usable_pair
from ..events import OF_COUNTS, ClassCounts
from ..measures import Family, Measure, Metric, Parameter, Value, Weight, family, metric, metrics_in
from . import frames
from .kernel import (
    DRUMS,
    FULL,
    GRANULARITIES,
    INSTRUMENT,
    LENGTHENED,
    NO_OFFSET,
    OF_PROGRAMS,
    PITCHED,
    PROGRAM,
    PROGRAM_NAMES,
    SHOWN,
    UNNAMED,
    VELOCITY,
    NoteBatch,
    Notes,
    Parts,
    column_of,
    count_instruments,
    number_programs,
    parts_of,
    read_instruments,
    show_notes,
)

_STATISTIC = Parameter(
    "statistic",
    "mean_absolute",
    choices=("mean_absolute", "median_absolute", "standard_deviation"),
    help="statistic of differences: mean or median of their absolute values, or their standard deviation",
)


def clean(
    rows: Ragged,
    *,
    drop: bool = True,
    cut: bool = False,
    refused: Sequence[str] = (*NO_TIMES, "reversed", "negative"),
    counted: Collection[str] = ("zero_length",),
) -> Cleaned:
    """Clean rows of notes, with `cut` after ending notes at the next onset of their pitch.

    Notes that are `counted`, of zero length by default, are repairs and, with `drop`, removed; the order of notes is
    kept but irrelevant. Flaws are findings that are `refused`, by default times that are not finite, negative or too
    large for seconds, and reversed notes, and also pitches that are not finite or not above 0. Velocities are only
    checked by metrics that need them.
    """
    pitch = rows.columns["pitch"]
    if cut:
        row, key = rows_of(rows.counts[0]), frames.nearest_semitones(pitch)
        end = frames.cut_overlaps(row, key, rows.columns["start"], rows.columns["end"])
        rows = Ragged({**rows.columns, "end": end}, rows.counts, rows.labels)
    _, problems, irregular = inspected("notes", rows, refused, counted)
    problems.append((~np.isfinite(pitch), lambda item: f"pitch is not finite: {pitch[item]}"))
    problems.append((pitch <= 0, lambda item: f"pitch is not above 0 Hz: {pitch[item]}"))
    return set_aside(rows, problems, irregular, drop=drop)


_BATCH = 2**14  # Notes of both sides processed at once, so that results fit into the cache
MOST_PAIRS = 2**22
TOO_MANY = f"{{}} reference and {{}} estimated notes, of which more than {MOST_PAIRS} pairs are within the tolerance"


def score(
    pairs: Pairs,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    part: str = "",
    resolve: Callable[[Ragged], Ragged] | None = None,
) -> Scores:
    """Score pairs of transcriptions: a `Scorer`.

    Scores are 0 if a side is empty. Measures of velocities (or programs) are undefined if a note lacks a velocity (or
    program); pairs without any defined measure are refused, as are pairs with more than 2**22 pairs of notes that are
    close in time.

    `part` is the default part of the notes for measures that do not define one; empty: all notes. `resolve` makes the
    notes that are compared from clean ones; None: they are the same.
    Source: C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.
    """
    if resolve is not None:
        pairs = replace(pairs, references=resolve(pairs.references), estimates=resolve(pairs.estimates))
    scalars = [measure for measure in measures if not measure.metric.dims]
    tables = {measure: parts_of(measure, part) for measure in measures if measure.metric.dims}
    lacking = find_lacking(pairs, measures)
    refused, partly = split_lacking(lacking, measures)
    crowded = _crowded(pairs, measures)
    if crowded:
        refused |= crowded
        # An additional empty row replaces the estimates of such pairs.
        estimates, estimate_row = pairs.estimates, pairs.estimate_row.copy()
        estimate_row[list(crowded)] = len(estimates)
        more = Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels)
        pairs = replace(pairs, estimates=more, estimate_row=estimate_row)
    with_velocity = np.ones(len(pairs), dtype=np.bool_)
    with_velocity[[*lacking[VELOCITY], *refused]] = False
    labels = tuple(sorted({UNNAMED, *pairs.references.labels, *pairs.estimates.labels}))
    pairs = _prepare(pairs, measures, part, labels)
    values = np.zeros((2, len(pairs), len(scalars)))
    counted: dict[Parts, list[ClassCounts]] = {parts: [] for parts in tables.values()}
    for run in batches(pairs.sizes, _BATCH):
        ours, theirs = (Notes.of(rows, row) for rows, row in pairs[run].sides)
        block = NoteBatch(ours, theirs, with_velocity[run], part)
        for column, measure in enumerate(scalars):
            values[:, run, column] = measure.read(block)
        for parts, blocks in counted.items():
            blocks.append(count_instruments(block, parts, run.start))
    for column, measure in enumerate(scalars):
        if undefined := [*lacking.get(measure.metric.needs, ()), *refused]:
            values[0, undefined, column] = np.nan
    extras = {}
    for measure, parts in tables.items():
        names = PROGRAM_NAMES[str(measure["granularity"])] if measure.metric.needs in OF_PROGRAMS else labels
        counts = ClassCounts.join(counted[parts])
        counts = counts.take(~np.isin(counts.pair, [*lacking.get(measure.metric.needs, ())]))
        extras[measure.variable] = measure.read((counts, names))
    return Scores(values[0], values[1], extras, refused, partly=partly)


def _prepare(pairs: Pairs, measures: Sequence[Measure], part: str, labels: tuple[str, ...]) -> Pairs:
    """Add octaves and, if needed, velocities and numbers of labels and programs to both sides."""
    needs = {part, *(measure.metric.needs for measure in measures)}
    loud = any(str(measure["frames"]) == frames.LOUD for measure in measures if measure.metric.needs == frames.NEEDS)
    number = {name: index for index, name in enumerate(labels)}
    sides = []
    for side in (pairs.references, pairs.estimates):
        columns: dict[str, Column] = {name: side.columns[name] for name in ("start", "end")}
        columns["octave"] = np.log2(side.columns["pitch"])
        if VELOCITY in needs:
            columns["velocity"] = column_of(side, "velocity")
        if INSTRUMENT in needs:
            # The code -1, for no label, selects the last entry.
            codes = np.array([number[label] for label in (*side.labels, UNNAMED)], dtype=np.int64)
            columns["label"] = codes[side.columns.get("label", np.full(len(columns["start"]), -1))]
        if loud:
            columns["loudness"], columns["drum"] = column_of(side, "velocity"), column_of(side, "drum") > 0
        if not {*OF_PROGRAMS, LENGTHENED}.isdisjoint(needs):
            columns |= number_programs(side)
        sides.append(Ragged(columns, side.counts))
    return replace(pairs, references=sides[0], estimates=sides[1])


Lacking = Mapping[str, Mapping[int, str]]
"""Messages for pairs with notes that lack data, by the `needs` of the metrics that compare them, and by pair."""


def find_lacking(pairs: Pairs, measures: Sequence[Measure]) -> Lacking:
    """Find the data that measures lack."""
    lacking: dict[str, dict[int, str]] = {VELOCITY: {}, PROGRAM: {}}
    lacking[PITCHED] = lacking[PROGRAM]
    # If a side is empty, there is nothing to compare, and the score is 0.
    compared = np.minimum(*pairs.counts) > 0
    for column, needs in (("velocity", (VELOCITY,)), ("program", (PROGRAM, PITCHED))):
        wanted = [str(measure) for measure in measures if measure.metric.needs in needs]
        for side, (rows, chosen) in zip(("reference", "estimate"), pairs.sides, strict=True) if wanted else ():
            values = column_of(rows, column)
            if column == "velocity":
                lacks = {"no velocity": ~np.isfinite(values), "a negative velocity": values < 0}
            else:  # percussion without a program uses the standard kit
                pitched, missing = ~(column_of(rows, "drum") > 0), np.isnan(values)
                valid = (values >= 0) & (values < len(PROGRAMS)) & (values == np.floor(values))
                lacks = {"no program": missing & pitched, "a program outside 0 to 127": ~valid & ~missing & pitched}
            for trouble, items in lacks.items():
                bad = np.zeros(len(rows), dtype=np.bool_)
                bad[rows_of(rows.counts[0])[items]] = True
                message = f"{side}: a note has {trouble}, which {wanted[0]} compares; remove it from the metrics"
                message += ", or name the column in columns, as in velocity: 3" * (trouble == "no velocity")
                for pair in np.flatnonzero(bad[chosen] & compared).tolist():
                    lacking[needs[0]].setdefault(pair, message)
    return lacking


def split_lacking(lacking: Lacking, measures: Sequence[Measure]) -> tuple[dict[int, str], dict[int, str]]:
    """Messages of pairs for which no measure, and of pairs for which some measures, cannot be scored."""
    messages: dict[int, list[str]] = {}
    for needs in (VELOCITY, PROGRAM):
        for pair, reason in lacking[needs].items():
            messages.setdefault(pair, []).append(reason)
    nothing = set(messages).intersection(*(lacking.get(measure.metric.needs, ()) for measure in measures))
    whole, partly = dict[int, str](), dict[int, str]()
    for pair in sorted(messages):
        (whole if pair in nothing else partly)[pair] = "; ".join(messages[pair])
    return whole, partly


def _crowded(pairs: Pairs, measures: Sequence[Measure]) -> dict[int, str]:
    """Pairs with so many simultaneous notes that comparing them would need gigabytes."""
    numbers = pairs.counts
    refused: dict[int, str] = {}
    large = np.flatnonzero(numbers[0] * numbers[1] > MOST_PAIRS).tolist()
    matched = (measure for measure in measures if large and measure.metric.needs != frames.NEEDS)
    rules = {rule for measure in matched for _, rule in parts_of(measure)}
    for pair in large:
        sides = []
        for rows, row in pairs[np.array([pair])].sides:
            columns = {**rows.columns, "octave": np.log2(rows.columns["pitch"])}
            sides.append(Notes.of(Ragged(columns, rows.counts), row))
        block = NoteBatch(sides[0], sides[1])
        if any(block.most_edges(rule) > MOST_PAIRS for rule in rules):
            refused[pair] = TOO_MANY.format(numbers[0][pair], numbers[1][pair])
    return refused


def _read_rate(what: str, block: NoteBatch, measure: Measure) -> Scored:
    hits, references, estimates = np.zeros((3, len(block)), dtype=np.int64)
    for part, rule in parts_of(measure, block.usual):
        notes = block.part(part)
        hits = hits + notes.count(rule)
        references, estimates = references + notes.reference.counts, estimates + notes.estimate.counts
    return rate(what, hits, references, estimates, beta=float(measure.parameters.get("beta", 1.0)))


def _read_overlap(heaviest: bool, block: NoteBatch, measure: Measure) -> Scored:
    ((part, rule),) = parts_of(measure, block.usual)
    block = block.part(part)
    matches = block.matches(rule, heaviest)
    number = np.bincount(matches.pair, minlength=len(block)).astype(np.float64)
    ratios = block.overlap_ratios(matches.reference, matches.estimate, rule.floored)
    return divide(sum_by(matches.pair, ratios, len(block)), number), number


def evidence(
    reference: Annotation,
    estimate: Annotation,
    measure: Measure,
    *,
    part: str = "",
    keeping: Callable[[Ragged], Cleaned] = clean,
    resolve: Callable[[Ragged], Ragged] | None = None,
) -> dict[str, Column]:
    """Return the notes of both sides with verdicts: an `Explainer` for measures without dims and velocities.

    `part` and `resolve` are those of `score`, and `keeping` is the cleaner of both sides. Columns are ``reference`` and
    ``estimate`` (onsets in seconds; NaN if not matched), in order of time, ``reference_end`` and ``estimate_end``
    (seconds), ``reference_pitch`` and ``estimate_pitch`` (Hz), ``reference_program`` and ``estimate_program`` for
    measures of programs, and ``verdict``: ``hit``, ``missed`` or ``extra``. For active pitches, see `frames.evidence`.
    """
    if measure.metric.dims or measure.metric.needs == VELOCITY:
        raise MetricError(f"{measure} does not judge notes one by one; ask for f_measure or onset_recall, for example")
    rows = usable_pair(reference, estimate, keeping)
    if resolve is not None:
        rows = resolve(rows[0]), resolve(rows[1])
    pairs, shown_as = Pairs.in_order(*rows), dict(SHOWN)
    for message in split_lacking(find_lacking(pairs, [measure]), [measure])[0].values():
        raise AnnotationError(message)
    if measure.metric.needs in OF_PROGRAMS:
        shown_as["_program"] = "program"
        columns = [{**side.columns, "program": column_of(side, "program")} for side in rows]
        rows = Ragged(columns[0], rows[0].counts), Ragged(columns[1], rows[1].counts)
    sides = [Notes.of(side, row) for side, row in _prepare(pairs, [measure], part, (UNNAMED,)).sides]
    block = NoteBatch(sides[0], sides[1], usual=part)
    if measure.metric.needs == frames.NEEDS:
        return frames.evidence(block, measure)
    # Indices of matched notes, and of all notes that the measure compares.
    matched: list[tuple[Int, Int]] = []
    compared: list[tuple[Int, Int]] = []
    for name, rule in parts_of(measure, block.usual):
        notes, places = block.part(name), (block.reference.places(name), block.estimate.places(name))
        matches = notes.matches(rule, measure.metric.name.startswith("best_"))
        matched.append((places[0][matches.reference], places[1][matches.estimate]))
        compared.append(places)
    hits, every = ([np.concatenate(side) for side in zip(*parts, strict=True)] for parts in (matched, compared))
    return show_notes(rows, hits, every, shown_as)


_NOTES = "@bay2009; @mirex2015notes; @raffel2014"
_SINGING = "@molina2014"
_ONSETS = f"@raffel2014; {_SINGING}"
_VELOCITY = "@hawthorne2018; @raffel2014"
_MT3 = "@gardner2022"
_INSTRUMENTS = "@mirex2015notes, applied to the notes of each instrument"


_ONSET, _PITCH, _RATIO, _LEAST, _STRICT, _BETA, _LOUDNESS = (
    replace(parameter, mir_eval=parameter.name)
    for parameter in (
        Parameter("onset_tolerance", 0.05, "s", help="largest distance of the onsets", least=0.0),
        Parameter("pitch_tolerance", 50.0, "cents", help="largest distance of the pitches", least=0.0),
        Parameter("offset_ratio", 0.2, help="largest distance of the ends as a share of the reference note", least=0.0),
        Parameter("offset_min_tolerance", 0.05, "s", help="minimum tolerance of the ends", least=0.0),
        Parameter("strict", False, help="distances must be smaller than their tolerance"),
        Parameter("beta", 1.0, help="weight of recall relative to precision", above=0.0),
        Parameter("velocity_tolerance", 0.1, help="largest distance of the scaled velocities", least=0.0),
    )
)
_ROUNDING = Parameter(
    "rounding",
    "distances",
    choices=("distances", "times"),
    help="round distances in time to 0.1 ms, or times down to 10 ms",
)
_CHROMA = Parameter("chroma", False, help="ignore octaves")
_FULL = (_ONSET, _PITCH, _RATIO, _LEAST, _STRICT, _CHROMA, _ROUNDING)
_ONSETS_AND_PITCH = (_ONSET, _PITCH, _STRICT, _CHROMA, _ROUNDING)
RATES = {
    "precision": ("Precision", "share of the estimated notes that are matched", "number of estimated notes"),
    "recall": ("Recall", "share of the reference notes that are matched", "number of reference notes"),
    "f_measure": (
        "F-measure",
        "weighted harmonic mean of precision and recall",
        "(beta^2 * reference notes + estimated notes) / (1 + beta^2)",
    ),
}
_WEIGHTS = {name: Weight(words, "notes") for name, (_, _, words) in RATES.items()}
_OTHER_MATCH = "below 1 if notes that could match each other are matched crosswise"


def _rates(
    name: str,
    what: str,
    parameters: tuple[Parameter, ...],
    key: str = "",
    sharing: str = "",
    alias: str = "",
    **common: Any,
) -> Family:
    """Precision, recall and F-measure under one rule; `name` and mir_eval's key have a placeholder for these.

    `alias` is an alternative name of the F-measure.
    """
    members = {
        rate: {
            "name": name.format(rate),
            "title": f"{title}{sharing and ' by instrument'} ({what})",
            "summary": f"{summary}{sharing} ({what})",
            "key": key.format(title),
            "parameters": (*parameters, _BETA) if rate == "f_measure" else parameters,
            "aliases": (alias,) if alias and rate == "f_measure" else (),
        }
        for rate, (title, summary, _) in RATES.items()
    }
    fields = {"weight": _WEIGHTS, "default": bool(key), **common}
    read = read_instruments if sharing else _read_rate
    return family(fields.pop("weight"), members, **fields)(read)


_overlap: Callable[..., Callable[[Callable[..., Any]], Metric]] = partial(
    metric,
    weight=Weight("number of matched notes", "notes"),
    summary="overlap of two matched notes over the time from the first start to the last end, averaged over matched "
    "notes",
    range=(-1.0, 1.0),
    default=False,
    literature=_NOTES,
)
_counts: Callable[..., Callable[[Callable[..., Any]], Metric]] = partial(
    metric, weight=Weight("none", "notes"), dims=("instrument", "count"), default=False, **OF_COUNTS
)
_COUNTED = "numbers of matched, reference and estimated notes of each"


def _of_notes(suffix: str, what: str, parameters: tuple[Parameter, ...], alias: str) -> tuple[Metric, ...]:
    """Default metrics of whole notes, in mir_eval's order."""
    name, key = f"average_overlap_ratio{suffix}", f"Average_Overlap_Ratio{suffix}"
    return (
        *_rates(f"{{}}{suffix}", what, parameters, f"{{}}{suffix}", alias=alias, literature=f"{_NOTES}; {_SINGING}"),
        _overlap(
            f"Average overlap ratio ({what})",
            name=name,
            parameters=parameters,
            key=key,
            default=True,
            perfect_exceptions=_OTHER_MATCH,
        )(partial(_read_overlap, False)),
    )


def _on_request(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    with_velocity = f"{what}, and velocity", (*parameters, _LOUDNESS)
    common: dict[str, Any] = {"pooling": "micro", "literature": _VELOCITY, "needs": VELOCITY}
    exceptions = "below 1 if notes of other velocities are matched crosswise"
    by_instrument: dict[str, Any] = {"pooling": "none", "literature": _INSTRUMENTS, "needs": INSTRUMENT}
    return (
        _overlap(f"Best overlap ratio ({what})", name=f"best_overlap_ratio{suffix}", parameters=parameters)(
            partial(_read_overlap, True)
        ),
        *_rates(f"velocity_{{}}{suffix}", *with_velocity, perfect_exceptions=exceptions, **common),
        _overlap(
            f"Average overlap ratio ({with_velocity[0]})",
            name=f"velocity_average_overlap_ratio{suffix}",
            parameters=with_velocity[1],
            perfect_exceptions=_OTHER_MATCH,
            **common,
        )(partial(_read_overlap, False)),
        *_rates(
            f"instrument_{{}}{suffix}",
            what,
            parameters,
            sharing=", of each instrument",
            weight=Weight("none; by_instrument has the numbers of notes", "notes"),
            dims=("instrument",),
            **by_instrument,
        ),
        _counts(
            f"Notes by instrument ({what})",
            name=f"by_instrument{suffix}",
            summary=f"{_COUNTED} instrument",
            parameters=parameters,
            **by_instrument,
        )(partial(read_instruments, "counts")),
    )


_GRANULARITY = Parameter(
    "granularity",
    FULL,
    choices=GRANULARITIES,
    help="programs that count as equal: all, those of a General MIDI family, or only identical ones",
)


def _of_programs(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    """Metrics that compare General MIDI programs, and percussion by onset and pitch only."""
    parameters = (_GRANULARITY, *parameters)
    common: dict[str, Any] = {"literature": _MT3}
    with_drums, without = f"program, {what}; percussion: onset, pitch", f"program, {what}; no percussion"
    return (
        *_rates(f"program_{{}}{suffix}", with_drums, parameters, needs=PROGRAM, **common),
        *_rates(f"nondrum_program_{{}}{suffix}", without, parameters, needs=PITCHED, **common),
        _counts(
            f"Notes by program ({with_drums})",
            name=f"by_program{suffix}",
            summary=f"{_COUNTED} program, by its General MIDI name",
            parameters=parameters,
            needs=PROGRAM,
            **common,
        )(partial(read_instruments, "counts")),
    )


@family(
    Weight("number of matched notes", "notes"),
    {
        (what, signed): {
            "name": f"{word}_{noun}",
            "title": f"{word.capitalize()} {noun}",
            "summary": f"{'mean of estimate minus reference' if signed else 'deviation'} of the {plural} of notes that "
            "match in onset and pitch",
            "unit": "" if what == "velocity" else "s",
            "needs": VELOCITY if what == "velocity" else "",
            "range": (-float("inf") if signed else 0.0, float("inf")),
            "orientation": "none" if signed else "lower",
            "parameters": _ONSETS_AND_PITCH if signed else (_STATISTIC, *_ONSETS_AND_PITCH),
        }
        for what, word, plural, unsigned in (
            ("start", "onset", "onsets", "deviation"),
            ("end", "offset", "offsets", "deviation"),
            ("velocity", "velocity", "velocities", "error"),
        )
        for noun, signed in ((unsigned, False), ("bias", True))
    },
    pooling="micro",
    perfect=0.0,
    perfect_exceptions="not 0 if notes that could match each other are matched crosswise",
    default=False,
    literature="@yan2021",
)
def deviations(key: tuple[str, bool], block: NoteBatch, measure: Measure) -> tuple[Float, Float]:
    """A statistic of the differences of matched notes of each pair, NaN without matches."""
    what, signed = key
    ((part, rule),) = parts_of(measure, block.usual)
    block = block.part(part)
    matches = block.matches(rule, False)
    pair, number = matches.pair, np.bincount(matches.pair, minlength=len(block)).astype(np.int64)
    left, right = (
        getattr(side, what) if hasattr(side, what) else np.asarray(side.extra[what])
        for side in (block.reference, block.estimate)
    )
    difference = np.asarray(right[matches.estimate] - left[matches.reference], dtype=np.float64)
    weight, statistic = number.astype(np.float64), "mean" if signed else str(measure["statistic"])
    if statistic == "median_absolute":
        return medians(np.abs(difference), number), weight
    values = np.abs(difference) if statistic == "mean_absolute" else difference
    mean = divide(sum_by(pair, values, len(number)), number, np.nan)
    if statistic == "standard_deviation":
        squares = sum_by(pair, (difference - mean[pair]) ** 2, len(number))
        mean = np.sqrt(divide(squares, number, np.nan))
    return mean, weight


METRICS = (
    *_of_notes("", "onset, pitch, offset", _FULL, "COnPOff"),
    *_of_notes(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH, "COnP"),
    *_rates("onset_{}", "onset", (_ONSET, _STRICT, _ROUNDING), "Onset_{}", alias="COn", literature=_ONSETS),
    *_rates("offset_{}", "offset", (_RATIO, _LEAST, _STRICT, _ROUNDING), "Offset_{}", literature="@raffel2014"),
    *_on_request("", "onset, pitch, offset", _FULL),
    *_on_request(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
    *_of_programs("", "onset, pitch, offset", _FULL),
    *_of_programs(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
    *_rates("drum_{}", "percussion: onset, pitch", _ONSETS_AND_PITCH, needs=DRUMS, literature=_MT3),
    *frames.METRICS,
    *metrics_in({"deviations": deviations}),
)

_OF_2015: dict[str, Value] = {"rounding": "times", "offset_min_tolerance": 0.0}
"""Defaults of MIREX's program of 2015 that differ from mir_eval."""

MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", METRICS, clean, score, explain=evidence, literature="@raffel2014")
MIREX2015 = replace(
    MIR_EVAL,
    name="mirex2015",
    summary="MIREX 2015 note tracking: times rounded down to 10 ms, ends within 20 % without a minimum tolerance",
    metrics=tuple(metric.with_defaults(**_OF_2015) for metric in METRICS),
    literature="@mirex2015notes",
)

_TOLERANCE = Parameter("tolerance", 0.05, "s", help="tolerance of onsets, and minimum tolerance of ends", least=0.0)
_SWEEP = _rates(
    "tolerance_{}",
    "onset, pitch, offset; notes of at least 50 ms",
    (_TOLERANCE, _PITCH, _RATIO, _STRICT, _CHROMA, _ROUNDING),
    needs=LENGTHENED,
    literature=_MT3,
)
_COLUMNS = {
    "{}_no_offset": "Onset {0}",
    "{}": "Onset + offset {0}",
    "velocity_{}_no_offset": "Onset + velocity {0}",
    "velocity_{}": "Onset + offset + velocity {0}",
    "frame_{}": "Frame {1}",
    "program_{}": "Onset + offset + program {0}",
    "drum_{}": "Drum onset {0}",
    "nondrum_program_{}": "Nondrum onset + offset + program {0}",
    "tolerance_{}": "",  # MT3 has a different column of the same name for each tolerance
}
"""Names of MT3's columns by those of the metrics: ``{0}`` is precision, recall or F1, ``{1}`` with a capital."""
_TOLERANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def _mt3_metrics() -> tuple[tuple[Metric, ...], tuple[Measure, ...]]:
    """Metrics of MT3, with the names of its columns as aliases, and the measures in its tables."""
    named: dict[str, Metric] = {}
    for record in (*METRICS, *_SWEEP):
        loud = record.with_defaults(frames="loud")
        # MT3 shortens all notes of the estimate where the reference has only percussion, so that frames cannot be
        # joined.
        in_frames = any(parameter.name == "frames" for parameter in record.parameters)
        named[record.name] = replace(loud, pooling="micro") if in_frames else loud
    measures: list[Measure] = []
    for pattern, column in _COLUMNS.items():
        for which, short in zip(RATES, ("precision", "recall", "F1"), strict=True):
            name = pattern.format(which)
            if column:
                alias = column.format(short, short[0].upper() + short[1:])
                named[name] = replace(named[name], aliases=(*named[name].aliases, alias))
            options: list[dict[str, Value]] = [{}]
            if "program" in pattern:
                options = [{"granularity": value} for value in GRANULARITIES]
            elif "tolerance" in pattern:
                options = [{"tolerance": value} for value in _TOLERANCES]
            measures += [named[name].measure(**values) for values in options]
    return tuple(named.values()), tuple(measures)


clean_all = partial(clean, drop=False)
"""Clean rows of notes, keeping notes of zero length."""
_OF_MT3, _MT3_MEASURES = _mt3_metrics()
MT3 = Convention(
    "mt3",
    "MT3: percussion is separated from other notes, programs are compared, one tolerance for onsets and ends",
    _OF_MT3,
    clean_all,
    partial(score, part=PITCHED),
    default_measures=_MT3_MEASURES,
    explain=partial(evidence, part=PITCHED, keeping=clean_all),
    reading=MappingProxyType({"drums": True}),
    literature="@gardner2022",
)
