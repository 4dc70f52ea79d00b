"""The transcription metrics: their records, cleaning, scores of batches, instruments, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.schema import KINDS
from ...annotations.validation import inspect
from ...errors import MetricError
from ...kernels.intervals import batches
from ...ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..base import Cleaned, Convention, Grid, Measure, Metric, Parameter, Scores, Sparse, Task, Value, refuse_grid
from ..cleaning import Problem, set_aside, usable
from .kernel import (
    INSTRUMENT,
    NO_OFFSET,
    VELOCITY,
    Matches,
    MatchRules,
    NoteBatch,
    Notes,
    Rule,
    agree,
    is_by_instrument,
    is_with_velocity,
)

_IMPOSSIBLE = ("not_finite", "too_late", "reversed", "negative")


def clean(rows: Ragged) -> Cleaned:
    """Make rows of notes fit to be scored.

    Notes without length are dropped and counted in `repairs`; their order is kept, which carries no meaning.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds), pitch (float64, Hz), perhaps velocity and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or hardly in seconds, notes that end before they start, and
        pitches that are not finite or not above 0. Velocities are looked at only by the metrics that need them.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 2.0]), "end": np.array([1.0, 1.0, 3.0]),
    ...                "pitch": np.array([440.0, 440.0, 0.0])}, (np.array([2, 1]),))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], 'pitch is not above 0 Hz: 0.0')
    """
    findings, pitch = inspect(KINDS["notes"], rows), rows.columns["pitch"]
    found = [findings[name] for name in _IMPOSSIBLE if name in findings]
    problems: list[Problem] = [(one.items, partial(one.describe, rows)) for one in found]
    problems.append((~np.isfinite(pitch), lambda item: f"pitch is not finite: {pitch[item]}"))
    problems.append((pitch <= 0, lambda item: f"pitch is not above 0 Hz: {pitch[item]}"))
    if "zero_length" not in findings:
        return set_aside(rows, problems)
    cleaned = set_aside(rows, problems, findings["zero_length"].items)
    kept = cleaned.rows.columns["end"] > cleaned.rows.columns["start"]
    return Cleaned(cleaned.rows.keep(kept), cleaned.repairs, cleaned.flaws)


COUNTED = ("matched", "reference", "estimate")
"""What is counted of each instrument."""

UNNAMED = ""
"""The instrument of notes without a label."""


@dataclass(frozen=True, slots=True)
class InstrumentCounts:
    """Notes of each instrument that occurs on either side of each pair.

    Parameters
    ----------
    pair, number : int64 (n,)
        The pair and the instrument of each entry, in this order ascending.
    matched, reference, estimate : int64 (n,)
        How many notes there are.
    """

    pair: Int
    number: Int
    matched: Int
    reference: Int
    estimate: Int


def number_labels(references: Ragged, estimates: Ragged) -> tuple[tuple[str, ...], Ragged, Ragged]:
    """All labels of both sides, sorted, and the sides with their notes' places among them as ``label``."""
    sides = references, estimates
    names = tuple(sorted({UNNAMED, *references.labels, *estimates.labels}))
    place = {name: number for number, name in enumerate(names)}
    numbered = []
    for side in sides:
        # A code of -1, for no label, takes the last entry.
        codes = np.array([place[name] for name in (*side.labels, UNNAMED)], dtype=np.int64)
        none = np.full(len(side.columns["start"]), -1, dtype=np.int64)
        label = codes[side.columns.get("label", none)]
        numbered.append(Ragged({**side.columns, "label": label}, side.counts, side.labels))
    return names, numbered[0], numbered[1]


def count_instruments(block: NoteBatch, rule: Rule, first: int, names: int) -> InstrumentCounts:
    """Match the notes of each instrument of each pair of a block.

    Parameters
    ----------
    block : NoteBatch
        Notes with ``label``.
    rule : Rule
        That asks for equal labels.
    first : int
        The number of the block's first pair in the whole call.
    names : int
        How many labels there are.
    """
    matches = block.matches(rule)
    sides = block.reference, block.estimate
    keys = [side.pair * names + side.extra["label"] for side in sides]
    keys.insert(0, keys[0][matches.reference])
    distinct = np.unique(np.concatenate(keys))
    counts = [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]
    return InstrumentCounts(distinct // names + first, distinct % names, *counts)


def join(parts: Sequence[InstrumentCounts]) -> InstrumentCounts:
    """The counts of consecutive blocks as one."""
    if not parts:
        return InstrumentCounts(*[np.zeros(0, dtype=np.int64)] * 5)
    fields = ("pair", "number", "matched", "reference", "estimate")
    return InstrumentCounts(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def counts_to_sparse(counts: InstrumentCounts, names: tuple[str, ...]) -> Sparse:
    """The counts over the dims ``instrument`` and ``count``."""
    used, number = np.unique(counts.number, return_inverse=True)
    columns = (counts.matched, counts.reference, counts.estimate)
    value = np.column_stack(columns).astype(np.float64).ravel()
    kinds = np.arange(len(COUNTED), dtype=np.int64)
    entries = len(counts.pair)
    index = np.column_stack([np.repeat(counts.pair, 3), np.repeat(number, 3), np.tile(kinds, entries)])
    attrs = {"long_name": "notes by instrument", "units": "1"}
    labels = tuple(names[one] for one in used.tolist())
    return Sparse(("instrument", "count"), (labels, COUNTED), index[value > 0], value[value > 0], attrs)


def scores_to_sparse(counts: InstrumentCounts, names: tuple[str, ...], score: Float, weight: Float) -> Sparse:
    """A score of each instrument over the dim ``instrument``; NaN where there is nothing to measure it on."""
    used, number = np.unique(counts.number, return_inverse=True)
    index = np.column_stack([counts.pair, number])
    some = weight > 0
    labels = tuple(names[one] for one in used.tolist())
    attrs = {"long_name": "score by instrument", "units": "1"}
    return Sparse(("instrument",), (labels,), index[some], score[some], attrs, float("nan"))


_BATCH = 2**14
"""Notes of both sides that are handled at once, so that what is computed from them stays in the cache."""


MOST_PAIRS = 2**22
TOO_MANY = f"{{}} reference and {{}} estimated notes, of which more than {MOST_PAIRS} pairs are within the tolerance"


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of transcriptions.

    Parameters
    ----------
    references, estimates : Ragged
        Columns start, end (float64, seconds), pitch (float64, Hz), perhaps velocity (float64) and label; rows as
        :func:`mirflow.metrics.transcription.metrics.clean` leaves them, in any order.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Notes are compared as they are; there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's: 0 where a side is empty. Where a side has notes without a velocity, the measures that look
        at velocities have no score; a pair is refused if there are no others. It also is if more than 2**22 pairs of
        notes lie near each other in time.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def notes(start, end, pitch):
    ...     columns = {"start": np.array(start), "end": np.array(end), "pitch": np.array(pitch)}
    ...     return Ragged(columns, (np.array([len(start)]),))
    >>> reference, estimate = notes([0.0, 1.0], [1.0, 2.0], [440.0, 220.0]), notes([0.02], [0.5], [441.0])
    >>> row, wanted = np.array([0]), get_task("transcription").convention().select(["recall", "recall_no_offset"])
    >>> score(reference, estimate, row, row, wanted).score.tolist()
    [[0.0, 0.5]]
    """
    refuse_grid(grid, "notes")
    pairs = len(reference_row)
    scalars = [measure for measure in measures if not measure.metric.dims]
    tables = [measure for measure in measures if measure.metric.dims]
    unheard = _without_velocity(references, estimates, reference_row, estimate_row, measures)
    refused = dict(unheard) if all(is_with_velocity(measure) for measure in measures) else {}
    crowded = _crowded(references, estimates, reference_row, estimate_row, measures)
    if crowded:
        refused |= crowded
        estimates, estimate_row = _without(estimates, estimate_row, list(crowded))
    fit = np.ones(pairs, dtype=np.bool_)
    fit[[*unheard, *refused]] = False
    names, references, estimates = _prepare(references, estimates, measures)
    found = np.zeros((2, pairs, len(scalars)))
    counted: dict[Rule, list[InstrumentCounts]] = {MatchRules.of(measure).rule: [] for measure in tables}
    for part, block in _blocks(references, estimates, reference_row, estimate_row):
        for column, measure in enumerate(scalars):
            found[:, part, column] = measure.read(_MatchedBlock(block, fit[part]))
        for rule, counts in counted.items():
            counts.append(count_instruments(block, rule, part.start, len(names)))
    with_velocity = np.array([is_with_velocity(measure) for measure in scalars], dtype=np.bool_)
    found[0][np.ix_(~fit, with_velocity)] = np.nan
    found[0, list(refused)] = np.nan
    extras = {measure.variable: measure.read((join(counted[MatchRules.of(measure).rule]), names)) for measure in tables}
    partly = {pair: message for pair, message in unheard.items() if pair not in refused}
    return Scores(found[0], found[1], extras, refused, partly=partly)


def _prepare(
    references: Ragged, estimates: Ragged, measures: Sequence[Measure]
) -> tuple[tuple[str, ...], Ragged, Ragged]:
    """Both sides with what is computed once for each note, and without what is not looked at; and all labels."""
    needed = ["start", "end"]
    names: tuple[str, ...] = ()
    if any(is_with_velocity(measure) for measure in measures):
        needed.append("velocity")
    if any(is_by_instrument(measure) for measure in measures):
        needed.append("label")
        names, references, estimates = number_labels(references, estimates)
    sides = []
    for side in (references, estimates):
        columns: dict[str, Column] = {name: side.columns[name] for name in needed if name in side.columns}
        if "velocity" in needed:
            columns.setdefault("velocity", np.full(len(side.columns["start"]), np.nan))
        sides.append(Ragged({**columns, "octave": np.log2(side.columns["pitch"])}, side.counts))
    return names, sides[0], sides[1]


def _blocks(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int
) -> Iterator[tuple[slice, NoteBatch]]:
    sizes = references.counts[0][reference_row] + estimates.counts[0][estimate_row]
    for part in batches(sizes, _BATCH):
        yield part, NoteBatch(Notes.of(references, reference_row[part]), Notes.of(estimates, estimate_row[part]))


def _without_velocity(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, measures: Sequence[Measure]
) -> dict[int, str]:
    """The pairs with notes whose velocity is needed and not known or negative, and what is wrong with them."""
    wanted = [str(measure) for measure in measures if is_with_velocity(measure)]
    if not wanted:
        return {}
    found: dict[int, str] = {}
    # Where a side is empty, there is nothing to compare, and the score is 0.
    compared = (references.counts[0][reference_row] > 0) & (estimates.counts[0][estimate_row] > 0)
    for side, rows, chosen in (("reference", references, reference_row), ("estimate", estimates, estimate_row)):
        velocity = rows.columns.get("velocity", np.full(len(rows.columns["start"]), np.nan))
        for trouble, items in (("no velocity", ~np.isfinite(velocity)), ("a negative velocity", velocity < 0)):
            bad = np.zeros(len(rows), dtype=np.bool_)
            bad[rows_of(rows.counts[0])[items]] = True
            for pair in np.flatnonzero(bad[chosen] & compared).tolist():
                message = f"{side}: a note has {trouble}, which {wanted[0]} compares; leave it out of the metrics"
                found.setdefault(pair, message)
    return found


def _crowded(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, measures: Sequence[Measure]
) -> dict[int, str]:
    """The pairs with so many notes at the same time that comparing them would need gigabytes."""
    numbers = references.counts[0][reference_row], estimates.counts[0][estimate_row]
    refused: dict[int, str] = {}
    rules = {MatchRules.of(measure).rule for measure in measures}
    for pair in np.flatnonzero(numbers[0] * numbers[1] > MOST_PAIRS).tolist():
        sides = (references, reference_row), (estimates, estimate_row)
        columns = [
            Ragged({**rows.columns, "octave": rows.columns["pitch"]}, rows.counts).take(row[pair : pair + 1])
            for rows, row in sides
        ]
        block = NoteBatch(*(Notes.of(one, np.zeros(1, dtype=np.int64)) for one in columns))
        if any(block.most_edges(rule) > MOST_PAIRS for rule in rules):
            refused[pair] = TOO_MANY.format(numbers[0][pair], numbers[1][pair])
    return refused


def _without(estimates: Ragged, estimate_row: Int, pairs: list[int]) -> tuple[Ragged, Int]:
    """Estimates with one more row, which is empty, and stands for those of some pairs."""
    row = estimate_row.copy()
    row[pairs] = len(estimates)
    return Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels), row


@dataclass(frozen=True, slots=True)
class _MatchedBlock:
    """Pairs that are scored together, and which of them have all velocities."""

    notes: NoteBatch
    fit: Bool


def _read_rate(what: str, block: _MatchedBlock, measure: Measure) -> tuple[Float, Float]:
    rules, notes = MatchRules.of(measure), block.notes
    if rules.velocity is None:
        hits = notes.count(rules.rule)
    else:
        hits = np.bincount(_matches(block, rules).pair, minlength=len(notes)).astype(np.int64)
    return rate(what, hits, notes.reference.counts, notes.estimate.counts, rules.beta)


def _read_overlap(block: _MatchedBlock, measure: Measure) -> tuple[Float, Float]:
    rules = MatchRules.of(measure)
    return _mean_overlap(block.notes, rules, _matches(block, rules))


def _read_best_overlap(block: _MatchedBlock, measure: Measure) -> tuple[Float, Float]:
    rules = MatchRules.of(measure)
    return _mean_overlap(block.notes, rules, block.notes.heaviest(rules.rule))


def _mean_overlap(notes: NoteBatch, rules: MatchRules, matches: Matches) -> tuple[Float, Float]:
    number = np.bincount(matches.pair, minlength=len(notes)).astype(np.float64)
    total = notes.sum_overlaps(matches, rules.rule.floored)
    return np.divide(total, number, out=np.zeros(len(notes)), where=number > 0), number


def _matches(block: _MatchedBlock, rules: MatchRules) -> Matches:
    matches = block.notes.matches(rules.rule)
    if rules.velocity is None:
        return matches
    matches = matches.keep(block.fit[matches.pair])
    return matches.keep(agree(block.notes.reference, block.notes.estimate, matches, rules.velocity))


def rate(what: str, hits: Int, references: Int, estimates: Int, beta: float = 1.0) -> tuple[Float, Float]:
    """Precision, recall or F-measure of numbers of notes, and its weight.

    Examples
    --------
    >>> one = np.array([1])
    >>> rate("f_measure", one, 2 * one, one)
    (array([0.66666667]), array([1.5]))
    """
    found, wanted = estimates.astype(np.float64), references.astype(np.float64)
    precision = np.divide(hits, found, out=np.zeros(len(hits)), where=hits > 0)
    recall = np.divide(hits, wanted, out=np.zeros(len(hits)), where=hits > 0)
    if what == "precision":
        return precision, found
    if what == "recall":
        return recall, wanted
    product, whole = (1 + beta**2) * precision * recall, beta**2 * precision + recall
    f = np.divide(product, whole, out=np.zeros(len(hits)), where=hits > 0)
    return f, (beta**2 * wanted + found) / (1 + beta**2)


Counted = tuple[InstrumentCounts, tuple[str, ...]]
"""Notes of each instrument, and the names of all instruments."""


def _read_counts(counted: Counted, measure: Measure) -> Sparse:
    return counts_to_sparse(*counted)


def _read_instruments(what: str, counted: Counted, measure: Measure) -> Sparse:
    counts, names = counted
    beta = MatchRules.of(measure).beta
    score, weight = rate(what, counts.matched, counts.reference, counts.estimate, beta)
    return scores_to_sparse(counts, names, score, weight)


_SHOWN = {"": "start", "_end": "end", "_pitch": "pitch"}


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The notes of both sides, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind notes.
    measure : Measure
        Any that is one number and does not look at velocities.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (onsets, float64, seconds; NaN where the other side has no match), in order of
        time, ``reference_end`` and ``estimate_end`` (float64, seconds), ``reference_pitch`` and ``estimate_pitch``
        (float64, Hz), and ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not judge notes one by one.

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
    if measure.metric.dims or is_with_velocity(measure):
        raise MetricError(f"{measure} does not judge notes one by one; ask for one like f_measure or onset_recall")
    rows = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    only = np.zeros(1, dtype=np.int64)
    octaves = [{**side.columns, "octave": np.log2(side.columns["pitch"])} for side in rows]
    sides = [Notes.of(Ragged(columns, side.counts), only) for columns, side in zip(octaves, rows, strict=True)]
    block, rule = NoteBatch(sides[0], sides[1]), MatchRules.of(measure).rule
    matches = block.heaviest(rule) if measure.metric.read is _read_best_overlap else block.matches(rule)
    missed = np.setdiff1d(np.arange(len(sides[0].start)), matches.reference)
    extra = np.setdiff1d(np.arange(len(sides[1].start)), matches.estimate)
    shown: dict[str, Column] = {}
    for ending, name in _SHOWN.items():
        one, other = (side.columns[name] for side in rows)
        shown[f"reference{ending}"] = np.concatenate([one[matches.reference], one[missed], _nothing(extra)])
        shown[f"estimate{ending}"] = np.concatenate([other[matches.estimate], _nothing(missed), other[extra]])
    shown["verdict"] = np.repeat(["hit", "missed", "extra"], [len(matches.pair), len(missed), len(extra)])
    order = np.argsort(np.where(np.isnan(shown["reference"]), shown["estimate"], shown["reference"]), kind="stable")
    return {name: column[order] for name, column in shown.items()}


def _nothing(items: Int) -> Column:
    return np.full(len(items), np.nan)


_RAFFEL = "Raffel et al., mir_eval, ISMIR 2014"
_NOTES = f"Bay, Ehmann and Downie, ISMIR 2009; MIREX 2015 note tracking; {_RAFFEL}"
_VELOCITY = f"Hawthorne et al., Onsets and frames, ISMIR 2018; {_RAFFEL}"
_INSTRUMENTS = "MIREX 2015 note tracking, applied to the notes of each instrument"

_ONSET = Parameter("onset_tolerance", 0.05, "s", help="largest distance of the onsets", least=0.0)
_PITCH = Parameter("pitch_tolerance", 50.0, "cents", help="largest distance of the pitches", least=0.0)
_RATIO = Parameter("offset_ratio", 0.2, help="largest distance of the ends, as share of the reference note", least=0.0)
_LEAST = Parameter("offset_min_tolerance", 0.05, "s", help="that distance is at least this", least=0.0)
_STRICT = Parameter("strict", False, help="distances must be smaller than their tolerance")
_ROUNDING = Parameter(
    "rounding",
    "distances",
    choices=("distances", "times"),
    help="distances in time are rounded to 0.1 ms, or times rounded down to 10 ms",
)
_CHROMA = Parameter("chroma", False, help="octaves are ignored")
_BETA = Parameter("beta", 1.0, help="how many times as much recall counts", above=0.0)
_LOUDNESS = Parameter("velocity_tolerance", 0.1, help="largest distance of the scaled velocities", least=0.0)

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
_OVERLAP = "mean, over the matched notes, of the time they share over the time from the first start to the last end"
_OTHER_MATCH = "below 1 where notes that may be matched with each other are matched crosswise"


def _with_beta(name: str, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return (*parameters, _BETA) if name == "f_measure" else parameters


def _rates(
    before: str,
    after: str,
    what: str,
    parameters: tuple[Parameter, ...],
    literature: str,
    prefix: str = "",
    suffix: str = "",
    default: bool = True,
    exceptions: str = "",
    needs: str = "",
) -> tuple[Metric, ...]:
    """Precision, recall and F-measure under one rule; `before` and `after` go round mir_eval's key."""
    return tuple(
        Metric(
            f"{prefix}{name}{suffix}",
            f"{title} ({what})",
            f"{summary} ({what})",
            weight,
            "notes",
            key=f"{before}{title}{after}" if default else "",
            pooling="micro" if needs == VELOCITY else "exact",
            perfect_exceptions=exceptions,
            parameters=_with_beta(name, parameters),
            default=default,
            literature=literature,
            read=partial(_read_rate, name),
            needs=needs,
        )
        for name, (title, summary, weight) in _RATES.items()
    )


def _overlap(
    name: str,
    title: str,
    parameters: tuple[Parameter, ...],
    literature: str,
    key: str = "",
    exceptions: str = "",
    read: Callable[..., tuple[Float, Float]] = _read_overlap,
    needs: str = "",
) -> Metric:
    return Metric(
        name,
        title,
        _OVERLAP,
        "number of matched notes",
        "notes",
        key=key,
        range=(-1.0, 1.0),
        pooling="micro" if needs == VELOCITY else "exact",
        perfect_exceptions=exceptions,
        parameters=parameters,
        default=bool(key),
        literature=literature,
        read=read,
        needs=needs,
    )


def _of_notes(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    """The default metrics of whole notes, in mir_eval's order."""
    title, key = f"Average overlap ratio ({what})", f"Average_Overlap_Ratio{suffix}"
    return (
        *_rates("", suffix, what, parameters, _NOTES, suffix=suffix),
        _overlap(f"average_overlap_ratio{suffix}", title, parameters, _NOTES, key, _OTHER_MATCH),
    )


def _on_request(suffix: str, what: str, parameters: tuple[Parameter, ...]) -> tuple[Metric, ...]:
    heard = (*parameters, _LOUDNESS)
    loud = f"{what}, and velocity"
    exceptions = "below 1 where notes of other velocities are matched crosswise"
    name, title = f"velocity_average_overlap_ratio{suffix}", f"Average overlap ratio ({loud})"
    return (
        _overlap(
            f"best_overlap_ratio{suffix}", f"Best overlap ratio ({what})", parameters, _NOTES, read=_read_best_overlap
        ),
        *_rates("", "", loud, heard, _VELOCITY, "velocity_", suffix, False, exceptions, VELOCITY),
        _overlap(name, title, heard, _VELOCITY, exceptions=_OTHER_MATCH, needs=VELOCITY),
        *(
            Metric(
                f"instrument_{one}{suffix}",
                f"{title} by instrument ({what})",
                f"{summary}, of each instrument ({what})",
                "none; by_instrument has the numbers of notes",
                "notes",
                pooling="none",
                parameters=_with_beta(one, parameters),
                dims=("instrument",),
                default=False,
                literature=_INSTRUMENTS,
                read=partial(_read_instruments, one),
                needs=INSTRUMENT,
            )
            for one, (title, summary, _) in _RATES.items()
        ),
        Metric(
            f"by_instrument{suffix}",
            f"Notes by instrument ({what})",
            "numbers of matched, of reference and of estimated notes of each instrument",
            "none",
            "notes",
            range=(0.0, float("inf")),
            orientation="none",
            pooling="none",
            perfect=None,
            parameters=parameters,
            dims=("instrument", "count"),
            default=False,
            literature=_INSTRUMENTS,
            read=_read_counts,
            needs=INSTRUMENT,
        ),
    )


METRICS = (
    *_of_notes("", "onset, pitch, offset", _FULL),
    *_of_notes(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
    *_rates("Onset_", "", "onset", (_ONSET, _STRICT, _ROUNDING), _RAFFEL, prefix="onset_"),
    *_rates("Offset_", "", "offset", (_RATIO, _LEAST, _STRICT, _ROUNDING), _RAFFEL, prefix="offset_"),
    *_on_request("", "onset, pitch, offset", _FULL),
    *_on_request(NO_OFFSET, "onset, pitch", _ONSETS_AND_PITCH),
)

_OF_2015: dict[str, Value] = {"rounding": "times", "offset_min_tolerance": 0.0}
"""What MIREX's program of 2015 does otherwise than mir_eval."""

MIR_EVAL = Convention("mir_eval", "mir_eval 0.8.2", METRICS, clean, score, explain=evidence)
MIREX2015 = Convention(
    "mirex2015",
    "MIREX 2015 note tracking: times rounded down to 10 ms, ends within 20 % without a least tolerance",
    tuple(metric.with_defaults(**_OF_2015) for metric in METRICS),
    clean,
    score,
    explain=evidence,
)

TASK = Task(
    "transcription",
    "Note transcription",
    MappingProxyType({one.name: one for one in (MIR_EVAL, MIREX2015)}),
    ("f_measure_no_offset", "f_measure", "velocity_f_measure"),
)
