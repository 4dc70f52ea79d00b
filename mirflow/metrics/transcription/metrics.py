"""The transcription metrics: their records, cleaning, scores of batches, instruments, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation
from ...errors import MetricError
from ...kernels.intervals import batches
from ...ragged import Column, Float, Int, Ragged, rows_of
from ..base import Convention, Grid, Pairs, Scores, Sparse, Task, refuse_grid
from ..cleaning import NO_TIMES, Cleaned, inspected, set_aside, usable_pair
from ..measures import Family, Measure, Metric, Parameter, Value, Weight, family, metric
from .kernel import INSTRUMENT, NO_OFFSET, VELOCITY, NoteBatch, Notes, Rule, rule_of


def clean(rows: Ragged) -> Cleaned:
    """Make rows of notes fit to be scored.

    Notes without length are dropped and counted in `repairs`; their order is kept, which carries no meaning. Flaws are
    times that are not finite, negative or hardly in seconds, notes that end before they start, and pitches that are not
    finite or not above 0. Velocities are looked at only by the metrics that need them.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 2.0]), "end": np.array([1.0, 1.0, 3.0]),
    ...                "pitch": np.array([440.0, 440.0, 0.0])}, (np.array([2, 1]),))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], 'pitch is not above 0 Hz: 0.0')
    """
    pitch = rows.columns["pitch"]
    _, problems, short = inspected("notes", rows, (*NO_TIMES, "reversed", "negative"), ("zero_length",))
    problems.append((~np.isfinite(pitch), lambda item: f"pitch is not finite: {pitch[item]}"))
    problems.append((pitch <= 0, lambda item: f"pitch is not above 0 Hz: {pitch[item]}"))
    return set_aside(rows, problems, short, drop=True)


COUNTED = ("matched", "reference", "estimate")
"""Counts of each instrument."""

UNNAMED = ""
"""The instrument of notes without a label."""


@dataclass(frozen=True, slots=True)
class InstrumentCounts:
    """Numbers of notes of each instrument that occurs on either side of each pair, ascending by both: int64 (n,)."""

    pair: Int
    number: Int
    matched: Int
    reference: Int
    estimate: Int


def count_instruments(block: NoteBatch, rule: Rule, first: int, names: int) -> InstrumentCounts:
    """Match the notes of each instrument, by number, of each pair of a block, under a rule that asks for equal labels.

    `first` is the number of the block's first pair in the whole call.
    """
    matches = block.matches(rule)
    sides = block.reference, block.estimate
    keys = [side.pair * names + side.extra["label"] for side in sides]
    keys.insert(0, keys[0][matches.reference])
    distinct = np.unique(np.concatenate(keys))
    counts = [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]
    return InstrumentCounts(distinct // names + first, distinct % names, *counts)


def _join(parts: Sequence[InstrumentCounts]) -> InstrumentCounts:
    """The counts of consecutive blocks as one."""
    none = np.zeros(0, dtype=np.int64)
    columns = ([none, *(getattr(part, one.name) for part in parts)] for one in fields(InstrumentCounts))
    return InstrumentCounts(*map(np.concatenate, columns))


_BATCH = 2**14
"""Notes of both sides that are handled at once, so that what is computed from them stays in the cache."""

MOST_PAIRS = 2**22
TOO_MANY = f"{{}} reference and {{}} estimated notes, of which more than {MOST_PAIRS} pairs are within the tolerance"


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Scores of pairs of transcriptions: a `Scorer`.

    Scores are 0 where a side is empty. Where a side has notes without a velocity, the measures that look at velocities
    have no score; a pair is refused if there are no others. It also is if more than 2**22 pairs of notes lie near each
    other in time.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.
    """
    refuse_grid(grid, "notes")
    scalars = [measure for measure in measures if not measure.metric.dims]
    tables = {measure: rule_of(measure) for measure in measures if measure.metric.dims}
    of_velocity = [measure.metric.needs == VELOCITY for measure in scalars]
    without = _without_velocity(pairs, measures)
    refused = dict(without) if len(of_velocity) == len(measures) and all(of_velocity) else {}
    crowded = _crowded(pairs, measures)
    if crowded:
        refused |= crowded
        # One more row, which is empty, takes the place of the estimates of such pairs.
        estimates, estimate_row = pairs.estimates, pairs.estimate_row.copy()
        estimate_row[list(crowded)] = len(estimates)
        more = Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels)
        pairs = replace(pairs, estimates=more, estimate_row=estimate_row)
    with_velocity = np.ones(len(pairs), dtype=np.bool_)
    with_velocity[[*without, *refused]] = False
    names, pairs = _prepare(pairs, {measure.metric.needs for measure in measures})
    found = np.zeros((2, len(pairs), len(scalars)))
    counted: dict[Rule, list[InstrumentCounts]] = {rule: [] for rule in tables.values()}
    for part in batches(pairs.sizes, _BATCH):
        ours, theirs = (Notes.of(rows, row) for rows, row in pairs[part].sides)
        block = NoteBatch(ours, theirs, with_velocity[part])
        for column, measure in enumerate(scalars):
            found[:, part, column] = measure.read(block)
        for rule, counts in counted.items():
            counts.append(count_instruments(block, rule, part.start, len(names)))
    found[0][np.ix_(~with_velocity, np.array(of_velocity, dtype=np.bool_))] = np.nan
    found[0, list(refused)] = np.nan
    extras = {measure.variable: measure.read((_join(counted[rule]), names)) for measure, rule in tables.items()}
    partly = {pair: message for pair, message in without.items() if pair not in refused}
    return Scores(found[0], found[1], extras, refused, partly=partly)


def _prepare(pairs: Pairs, needs: set[str]) -> tuple[tuple[str, ...], Pairs]:
    """All labels, and both sides with octaves, and with velocities and numbers of labels where these are needed."""
    names = tuple(sorted({UNNAMED, *pairs.references.labels, *pairs.estimates.labels}))
    place = {name: number for number, name in enumerate(names)}
    sides = []
    for side in (pairs.references, pairs.estimates):
        columns: dict[str, Column] = {name: side.columns[name] for name in ("start", "end")}
        columns["octave"] = np.log2(side.columns["pitch"])
        if VELOCITY in needs:
            columns["velocity"] = _velocity(side)
        if INSTRUMENT in needs:
            # A code of -1, for no label, takes the last entry.
            codes = np.array([place[name] for name in (*side.labels, UNNAMED)], dtype=np.int64)
            columns["label"] = codes[side.columns.get("label", np.full(len(columns["start"]), -1))]
        sides.append(Ragged(columns, side.counts))
    return names, replace(pairs, references=sides[0], estimates=sides[1])


def _velocity(rows: Ragged) -> Column:
    return rows.columns.get("velocity", np.full(len(rows.columns["start"]), np.nan))


def _without_velocity(pairs: Pairs, measures: Sequence[Measure]) -> dict[int, str]:
    """The pairs with notes whose velocity is needed and not known or negative, and what is wrong with them."""
    wanted = [str(measure) for measure in measures if measure.metric.needs == VELOCITY]
    found: dict[int, str] = {}
    if not wanted:
        return found
    # Where a side is empty, there is nothing to compare, and the score is 0.
    compared = np.minimum(*pairs.counts) > 0
    for side, (rows, chosen) in zip(("reference", "estimate"), pairs.sides, strict=True):
        velocity = _velocity(rows)
        for trouble, items in (("no velocity", ~np.isfinite(velocity)), ("a negative velocity", velocity < 0)):
            bad = np.zeros(len(rows), dtype=np.bool_)
            bad[rows_of(rows.counts[0])[items]] = True
            for pair in np.flatnonzero(bad[chosen] & compared).tolist():
                message = f"{side}: a note has {trouble}, which {wanted[0]} compares; leave it out of the metrics"
                found.setdefault(pair, message)
    return found


def _crowded(pairs: Pairs, measures: Sequence[Measure]) -> dict[int, str]:
    """The pairs with so many notes at the same time that comparing them would need gigabytes."""
    numbers = pairs.counts
    refused: dict[int, str] = {}
    rules = {rule_of(measure) for measure in measures}
    for pair in np.flatnonzero(numbers[0] * numbers[1] > MOST_PAIRS).tolist():
        reference, estimate = (_notes(rows, row[pair]) for rows, row in pairs.sides)
        block = NoteBatch(reference, estimate)
        if any(block.most_edges(rule) > MOST_PAIRS for rule in rules):
            refused[pair] = TOO_MANY.format(numbers[0][pair], numbers[1][pair])
    return refused


def _notes(rows: Ragged, row: int) -> Notes:
    """The notes of a single row."""
    one = rows.take([row])
    columns = {**one.columns, "octave": np.log2(one.columns["pitch"])}
    return Notes.of(Ragged(columns, one.counts), np.zeros(1, dtype=np.int64))


Read = tuple[Float, Float]
"""Score and weight of each pair, float64 (pairs,) each."""
Counted = tuple[InstrumentCounts, tuple[str, ...]]
"""Notes of each instrument, and the names of all instruments."""


def _read_rate(what: str, block: NoteBatch, measure: Measure) -> Read:
    rule, given = rule_of(measure), measure.parameters
    if measure.metric.needs == VELOCITY:
        matches = block.with_equal_velocities(rule, float(given["velocity_tolerance"]))
        hits = np.bincount(matches.pair, minlength=len(block)).astype(np.int64)
    else:
        hits = block.count(rule)
    return rate(what, hits, block.reference.counts, block.estimate.counts, float(given.get("beta", 1.0)))


def rate(what: str, hits: Int, references: Int, estimates: Int, beta: float = 1.0) -> Read:
    """Precision, recall or F-measure of numbers of notes, and its weight.

    Examples
    --------
    >>> one = np.array([1])
    >>> rate("f_measure", one, 2 * one, one)
    (array([0.66666667]), array([1.5]))
    """
    found, wanted = estimates.astype(np.float64), references.astype(np.float64)
    precision, recall = (np.divide(hits, one, out=np.zeros(len(hits)), where=hits > 0) for one in (found, wanted))
    if what == "precision":
        return precision, found
    if what == "recall":
        return recall, wanted
    product, whole = (1 + beta**2) * precision * recall, beta**2 * precision + recall
    f = np.divide(product, whole, out=np.zeros(len(hits)), where=hits > 0)
    return f, (beta**2 * wanted + found) / (1 + beta**2)


def _read_overlap(kind: str, block: NoteBatch, measure: Measure) -> Read:
    rule = rule_of(measure)
    if kind == "best":
        matches = block.heaviest(rule)
    elif measure.metric.needs == VELOCITY:
        matches = block.with_equal_velocities(rule, float(measure["velocity_tolerance"]))
    else:
        matches = block.matches(rule)
    number = np.bincount(matches.pair, minlength=len(block)).astype(np.float64)
    total = block.sum_overlaps(matches, rule.floored)
    return np.divide(total, number, out=np.zeros(len(block)), where=number > 0), number


def _sparse(counts: InstrumentCounts, names: tuple[str, ...]) -> tuple[Int, tuple[str, ...]]:
    """The places of instruments among those that occur, and the names of these."""
    used, number = np.unique(counts.number, return_inverse=True)
    return number, tuple(names[one] for one in used.tolist())


def _read_instruments(what: str, counted: Counted, measure: Measure) -> Sparse:
    """A score of each instrument over the dim ``instrument``; NaN where there is nothing to measure it on."""
    counts, names = counted
    beta = float(measure.parameters.get("beta", 1.0))
    score, weight = rate(what, counts.matched, counts.reference, counts.estimate, beta)
    number, labels = _sparse(counts, names)
    some = weight > 0
    attrs = {"long_name": "score by instrument", "units": "1"}
    index = np.column_stack([counts.pair, number])[some]
    return Sparse(("instrument",), (labels,), index, score[some], attrs, float("nan"))


def _read_counts(counted: Counted, measure: Measure) -> Sparse:
    """Numbers of matched, of reference and of estimated notes of each instrument."""
    counts, names = counted
    number, labels = _sparse(counts, names)
    value = np.column_stack([counts.matched, counts.reference, counts.estimate]).astype(np.float64).ravel()
    kinds = np.tile(np.arange(len(COUNTED), dtype=np.int64), len(number))
    index = np.column_stack([np.repeat(counts.pair, 3), np.repeat(number, 3), kinds])
    attrs = {"long_name": "notes by instrument", "units": "1"}
    return Sparse(("instrument", "count"), (labels, COUNTED), index[value > 0], value[value > 0], attrs)


_SHOWN = {"": "start", "_end": "end", "_pitch": "pitch"}


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The notes of both sides, with what became of them: an `Explainer`, for measures without dims and velocities.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (onsets, float64, seconds; NaN where the other side has no match), in order of
        time, ``reference_end`` and ``estimate_end`` (float64, seconds), ``reference_pitch`` and ``estimate_pitch``
        (float64, Hz), and ``verdict``: ``hit``, ``missed`` or ``extra``.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def notes(start, pitch):
    ...     return Annotation("notes", {"start": np.array(start), "end": np.array(start) + 1, "pitch": np.array(pitch)})
    >>> measure = get_task("transcription").convention().select(["recall"])[0]
    >>> found = evidence(notes([0.0, 1.0], [440.0, 220.0]), notes([0.02, 1.0], [441.0, 330.0]), measure)
    >>> found["verdict"].tolist(), found["estimate"].tolist()
    (['hit', 'missed', 'extra'], [0.02, nan, 1.0])
    """
    if measure.metric.dims or measure.metric.needs == VELOCITY:
        raise MetricError(f"{measure} does not judge notes one by one; ask for one like f_measure or onset_recall")
    rows = usable_pair(reference, estimate, clean)
    block, rule = NoteBatch(_notes(rows[0], 0), _notes(rows[1], 0)), rule_of(measure)
    matches = block.heaviest(rule) if measure.metric.name.startswith("best_") else block.matches(rule)
    missed = np.setdiff1d(np.arange(len(block.reference.start)), matches.reference)
    extra = np.setdiff1d(np.arange(len(block.estimate.start)), matches.estimate)
    shown: dict[str, Column] = {}
    no_reference, no_estimate = np.full(len(extra), np.nan), np.full(len(missed), np.nan)
    for ending, name in _SHOWN.items():
        one, other = (side.columns[name] for side in rows)
        shown[f"reference{ending}"] = np.concatenate([one[matches.reference], one[missed], no_reference])
        shown[f"estimate{ending}"] = np.concatenate([other[matches.estimate], no_estimate, other[extra]])
    shown["verdict"] = np.repeat(["hit", "missed", "extra"], [len(matches.pair), len(missed), len(extra)])
    order = np.argsort(np.where(np.isnan(shown["reference"]), shown["estimate"], shown["reference"]), kind="stable")
    return {name: column[order] for name, column in shown.items()}


_NOTES = "@bay2009; @mirex2015notes; @raffel2014"
_SINGING = "@molina2014"
_ONSETS = f"@raffel2014; {_SINGING}"
_VELOCITY = "@hawthorne2018; @raffel2014"
_INSTRUMENTS = "@mirex2015notes, applied to the notes of each instrument"


def _parameter(name: str, default: Value, unit: str, help: str, least: float | None = None) -> Parameter:
    """A parameter that mir_eval's functions have too, under its own name."""
    return Parameter(name, default, unit, help=help, least=least, mir_eval=name)


_ONSET = _parameter("onset_tolerance", 0.05, "s", "largest distance of the onsets", least=0.0)
_PITCH = _parameter("pitch_tolerance", 50.0, "cents", "largest distance of the pitches", least=0.0)
_RATIO = _parameter("offset_ratio", 0.2, "", "largest distance of the ends, as share of the reference note", least=0.0)
_LEAST = _parameter("offset_min_tolerance", 0.05, "s", "that distance is at least this", least=0.0)
_STRICT = _parameter("strict", False, "", "distances must be smaller than their tolerance")
_ROUNDING = Parameter(
    "rounding",
    "distances",
    choices=("distances", "times"),
    help="distances in time are rounded to 0.1 ms, or times rounded down to 10 ms",
)
_CHROMA = Parameter("chroma", False, help="octaves are ignored")
_BETA = Parameter("beta", 1.0, help="how many times as much recall counts", above=0.0, mir_eval="beta")
_LOUDNESS = _parameter("velocity_tolerance", 0.1, "", "largest distance of the scaled velocities", least=0.0)

_FULL = (_ONSET, _PITCH, _RATIO, _LEAST, _STRICT, _CHROMA, _ROUNDING)
_ONSETS_AND_PITCH = (_ONSET, _PITCH, _STRICT, _CHROMA, _ROUNDING)
_RATES = {
    "precision": ("Precision", "share of the estimated notes that are matched", "number of estimated notes"),
    "recall": ("Recall", "share of the reference notes that are matched", "number of reference notes"),
    "f_measure": (
        "F-measure",
        "weighted harmonic mean of precision and recall",
        "(beta^2 * reference notes + estimated notes) / (1 + beta^2)",
    ),
}
_WEIGHTS = {name: Weight(words, "notes") for name, (_, _, words) in _RATES.items()}
_OTHER_MATCH = "below 1 where notes that may be matched with each other are matched crosswise"


def _rates(
    name: str,
    what: str,
    parameters: tuple[Parameter, ...],
    key: str = "",
    sharing: str = "",
    alias: str = "",
    **common: Any,
) -> Family:
    """Precision, recall and F-measure under one rule; `name` and mir_eval's key have a place for which of them.

    `alias` is another name of the F-measure.
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
        for rate, (title, summary, _) in _RATES.items()
    }
    fields = {"weight": _WEIGHTS, "default": bool(key), **common}
    read = _read_instruments if sharing else _read_rate
    return family(fields.pop("weight"), members, **fields)(read)


def _overlap(name: str, kind: str, what: str, parameters: tuple[Parameter, ...], **declared: Any) -> Metric:
    return metric(
        f"{kind.capitalize()} overlap ratio ({what})",
        Weight("number of matched notes", "notes"),
        name=name,
        summary="mean, over the matched notes, of the time they share over the time from the first start to the last "
        "end",
        range=(-1.0, 1.0),
        parameters=parameters,
        **{"default": False, "literature": _NOTES, **declared},
    )(partial(_read_overlap, kind))


def _of_notes(suffix: str, what: str, parameters: tuple[Parameter, ...], alias: str) -> tuple[Metric, ...]:
    """The default metrics of whole notes, in mir_eval's order."""
    name, key = f"average_overlap_ratio{suffix}", f"Average_Overlap_Ratio{suffix}"
    return (
        *_rates(f"{{}}{suffix}", what, parameters, f"{{}}{suffix}", alias=alias, literature=f"{_NOTES}; {_SINGING}"),
        _overlap(name, "average", what, parameters, key=key, default=True, perfect_exceptions=_OTHER_MATCH),
    )


def _on_request(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    with_velocity = what + ", and velocity", (*parameters, _LOUDNESS)
    common: dict[str, Any] = {"pooling": "micro", "literature": _VELOCITY, "needs": VELOCITY}
    exceptions = "below 1 where notes of other velocities are matched crosswise"
    name = f"velocity_average_overlap_ratio{suffix}"
    by_instrument: dict[str, Any] = {"pooling": "none", "literature": _INSTRUMENTS, "needs": INSTRUMENT}
    return (
        _overlap(f"best_overlap_ratio{suffix}", "best", what, parameters),
        *_rates(f"velocity_{{}}{suffix}", *with_velocity, perfect_exceptions=exceptions, **common),
        _overlap(name, "average", *with_velocity, perfect_exceptions=_OTHER_MATCH, **common),
        *_rates(
            f"instrument_{{}}{suffix}",
            what,
            parameters,
            sharing=", of each instrument",
            weight=Weight("none; by_instrument has the numbers of notes", "notes"),
            dims=("instrument",),
            **by_instrument,
        ),
        metric(
            f"Notes by instrument ({what})",
            Weight("none", "notes"),
            name=f"by_instrument{suffix}",
            summary="numbers of matched, of reference and of estimated notes of each instrument",
            range=(0.0, float("inf")),
            orientation="none",
            perfect=None,
            parameters=parameters,
            dims=("instrument", "count"),
            default=False,
            **by_instrument,
        )(_read_counts),
    )


METRICS = (
    *_of_notes("", "onset, pitch, offset", _FULL, "COnPOff"),
    *_of_notes(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH, "COnP"),
    *_rates("onset_{}", "onset", (_ONSET, _STRICT, _ROUNDING), "Onset_{}", alias="COn", literature=_ONSETS),
    *_rates("offset_{}", "offset", (_RATIO, _LEAST, _STRICT, _ROUNDING), "Offset_{}", literature="@raffel2014"),
    *_on_request("", "onset, pitch, offset", _FULL),
    *_on_request(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
)

_OF_2015: dict[str, Value] = {"rounding": "times", "offset_min_tolerance": 0.0}
"""Defaults of MIREX's program of 2015 that differ from mir_eval."""

PEDAL = MappingProxyType({"pedal": "extend"})
"""Options of reading: notes of MIDI files sound as long as the sustain pedal is down."""
OF_PIANO = tuple(
    f"{kind}{rate}{suffix}" for kind, suffix in (("", NO_OFFSET), ("", ""), ("velocity_", "")) for rate in _RATES
)
"""What papers on piano transcription print."""

MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", METRICS, clean, score, explain=evidence)
MIREX2015 = Convention(
    "mirex2015",
    "MIREX 2015 note tracking: times rounded down to 10 ms, ends within 20 % without a least tolerance",
    tuple(metric.with_defaults(**_OF_2015) for metric in METRICS),
    clean,
    score,
    explain=evidence,
)
MAESTRO = Convention(
    "maestro",
    "mir_eval's rules, on notes that sound as long as the sustain pedal is down",
    METRICS,
    clean,
    score,
    default_measures=OF_PIANO,
    explain=evidence,
    reading=PEDAL,
)

TASK = Task(
    "transcription",
    "Note transcription",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX2015, MAESTRO)}),
    ("f_measure_no_offset", "f_measure", "velocity_f_measure"),
)
