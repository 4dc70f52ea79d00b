"""The chord metrics: their records, how they are read off the totals, cleaning, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.schema import KINDS
from ...annotations.validation import inspect
from ...errors import AnnotationError, MetricError
from ...ragged import Bool, Column, Float, Int, Ragged, offsets_of, rows_of
from ...theory.chords import encode_vocabulary
from ...theory.harte import NO_CHORD, not_a_chord
from ..base import (
    Cleaned,
    Convention,
    Flaw,
    Grid,
    Measure,
    Metric,
    Parameter,
    Scores,
    Sparse,
    Task,
    Weight,
    metric,
    metrics_in,
)
from . import kernel, mirex2013
from .kernel import (
    ChordSide,
    ChordTimelines,
    Confusion,
    Cut,
    Totals,
    Wanted,
    add_up,
    cut,
    lay_out,
    to_frames,
    to_sparse,
)
from .rules import RULES, VOCABULARIES, Chords, compare, encode_runs, encode_sides


def _within_rows(rows: Ragged) -> Bool:
    """Neighbouring intervals of one row, as a mask over the first of each two."""
    owner = rows_of(rows.counts[0])
    return np.append(owner[1:] == owner[:-1], False) if len(owner) else np.zeros(0, dtype=np.bool_)


def disordered(rows: Ragged) -> Bool:
    """Intervals that end before they start, or after which one starts or ends earlier than they do."""
    start, end = rows.columns["start"], rows.columns["end"]
    wrong = end < start
    wrong[:-1] |= (start[1:] < start[:-1]) | (end[1:] < end[:-1])
    inner = _within_rows(rows)
    return (wrong & inner) | (end < start)


def overlapping(rows: Ragged, run: Int | None) -> Bool:
    """Intervals that end after the next one of their row starts, where the two are not of one run."""
    start, end = rows.columns["start"], rows.columns["end"]
    wrong = np.zeros(len(start), dtype=np.bool_)
    wrong[:-1] = end[:-1] > start[1:]
    if run is not None:
        wrong[:-1] &= run[1:] != run[:-1]
    return wrong & _within_rows(rows)


def refuse(
    references: Ragged, estimates: Ragged, runs: tuple[Int | None, Int | None], reference_row: Int, estimate_row: Int
) -> tuple[dict[int, str], dict[int, str]]:
    """The pairs that cannot be scored, and why.

    Parameters
    ----------
    references, estimates : Ragged
    runs : tuple of int64 (intervals,) or None
        For each side, what makes neighbours one run; None: nothing does.
    reference_row, estimate_row : int64 (pairs,)

    Returns
    -------
    by_reference, by_estimate : dict of int to str
        Pairs whose reference, or else whose estimate, is at fault. An estimate is judged within the reference's span.
    """
    by_reference: dict[int, str] = {}
    by_estimate: dict[int, str] = {}
    faults = _faults(references, runs[0])
    for pair in _pairs_of(faults, reference_row):
        by_reference[pair] = "reference: " + _describe(references, int(faults[int(reference_row[pair])][0]))
    faults = _faults(estimates, runs[1])
    for pair in _pairs_of(faults, estimate_row):
        if pair not in by_reference:
            span = _span(references, int(reference_row[pair]))
            items = [item for item in faults[int(estimate_row[pair])] if _matters(estimates, int(item), span)]
            if items:
                by_estimate[pair] = "estimate: " + _describe(estimates, int(items[0]))
    return by_reference, by_estimate


def _faults(rows: Ragged, run: Int | None) -> dict[int, Int]:
    """The items at fault of each row that has some."""
    items = np.flatnonzero(disordered(rows) | overlapping(rows, run))
    if not len(items):
        return {}
    owner = np.searchsorted(rows.offsets, items, side="right") - 1
    return {int(row): items[owner == row] for row in np.unique(owner)}


def _pairs_of(faults: dict[int, Int], row: Int) -> list[int]:
    if not faults:
        return []
    return np.flatnonzero(np.isin(row, list(faults))).tolist()


def _span(rows: Ragged, row: int) -> tuple[float, float]:
    offsets = rows.offsets
    items = slice(int(offsets[row]), int(offsets[row + 1]))
    start: Float = rows.columns["start"][items]
    return (float(start.min()), float(rows.columns["end"][items].max())) if len(start) else (0.0, 0.0)


def _matters(rows: Ragged, item: int, span: tuple[float, float]) -> bool:
    """Whether a fault is still one after the row was cut to a span."""
    start, end = rows.columns["start"], rows.columns["end"]
    if end[item] < start[item] or start[item + 1] < start[item] or end[item + 1] < end[item]:
        return True
    return bool(min(end[item], span[1]) > max(start[item + 1], span[0]))


def _describe(rows: Ragged, item: int) -> str:
    start, end = rows.columns["start"], rows.columns["end"]
    interval = f"{start[item]} to {end[item]} s"
    if end[item] < start[item]:
        return f"a chord interval ends before it starts: {interval}"
    return f"chord intervals must not overlap, but {interval} is followed by {start[item + 1]} to {end[item + 1]} s"


_IMPOSSIBLE = {"not_finite", "too_late", "negative", "reversed"}
_MENDED = {"zero_length", "unsorted", "gap"}


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for mir_eval's rules.

    Intervals without length are dropped and rows out of order sorted; both are counted, and so are gaps.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or reversed, labels that are not chords, and overlaps of
        intervals with different chords.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 1.0]), "end": np.array([1.0, 1.0, 2.0]),
    ...                "label": np.array([0, 0, 1])}, (np.array([2, 1]),), ("C:maj", "H:maj"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], "not a chord: 'H:maj'; chords are written like C, A:min7/b3, F#:(1,5) or N")
    """
    return _clean(rows, merging=True)


def clean_unmerged(rows: Ragged) -> Cleaned:
    """The same where neighbours are never merged, so that an overlap of equal chords is a flaw as well."""
    return _clean(rows, merging=False)


def _clean(rows: Ragged, merging: bool) -> Cleaned:
    owner = rows_of(rows.counts[0])
    findings = inspect(KINDS["intervals"], rows)
    flaws = _Flaws(rows.offsets)
    for name in _IMPOSSIBLE & findings.keys():
        for place in np.flatnonzero(findings[name].items).tolist():
            flaws.add(place, findings[name].describe(rows, place))
    invalid = encode_vocabulary(rows.labels).invalid
    if invalid:
        for place in np.flatnonzero(np.isin(rows.columns["label"], list(invalid))).tolist():
            flaws.add(place, not_a_chord(rows.labels[int(rows.columns["label"][place])]))
    irregular = np.zeros(len(owner), dtype=np.bool_)
    for name in _MENDED & findings.keys():
        irregular |= findings[name].items
    item = np.arange(len(owner))
    if "zero_length" in findings:
        item = item[~findings["zero_length"].items]
    item = flaws.spare(item, owner)
    if "unsorted" in findings:
        item = item[np.lexsort((rows.columns["start"][item], owner[item]))]
    if findings.keys() & {"overlap", "unsorted"}:
        _find_overlaps(flaws, rows, item, merging)
        item = flaws.spare(item, owner)
    repairs = np.bincount(owner[flaws.spare(np.flatnonzero(irregular), owner)], minlength=len(rows))
    as_read = len(item) == len(owner) and "unsorted" not in findings
    return Cleaned(rows if as_read else _only(rows, item), repairs, flaws.of_row)


class _Flaws:
    """The first flaw of each row."""

    def __init__(self, offsets: Int) -> None:
        self._offsets = offsets
        self.of_row: dict[int, Flaw] = {}

    def add(self, item: int, message: str) -> None:
        row = int(np.searchsorted(self._offsets, item, side="right")) - 1
        flaw = Flaw(item - int(self._offsets[row]), message)
        if row not in self.of_row or flaw.item < self.of_row[row].item:
            self.of_row[row] = flaw

    def spare(self, item: Int, owner: Int) -> Int:
        """The items whose rows, their owners, have no flaw."""
        return item[~np.isin(owner[item], list(self.of_row))] if self.of_row else item


def _find_overlaps(flaws: _Flaws, rows: Ragged, item: Int, merging: bool) -> None:
    """Flaws of sorted rows whose intervals still overlap."""
    ordered = _only(rows, item)
    run = encode_runs(rows.labels)[ordered.columns["label"]] if merging else None
    for place in np.flatnonzero(disordered(ordered) | overlapping(ordered, run)).tolist():
        end, start = ordered.columns["end"][place], ordered.columns["start"][place + 1]
        if end > start:
            flaws.add(int(item[place + 1]), f"overlaps the row before it: {start} s is before {end} s")


def _only(rows: Ragged, item: Int) -> Ragged:
    """The given items, grouped by row, in the given order."""
    counts = np.bincount(np.searchsorted(rows.offsets, item, side="right") - 1, minlength=len(rows))
    return Ragged({name: column[item] for name, column in rows.columns.items()}, (counts,), rows.labels)


Read = tuple[Float, Float]
"""Score and weight of each pair, float64 (pairs,) each."""

_RULES, _FRAGMENTATION, _CONFUSIONS = "rules", "fragmentation", "confusions"
"""What metrics need: see `Totals`."""


def ratio(part: Float, whole: Float) -> Float:
    """``part / whole``, and 0 where there is nothing to divide by.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, 0.0]
    """
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _recall(rule: str, totals: Totals, measure: Measure) -> Read:
    """Right seconds over comparable seconds under one rule."""
    right, comparable = totals.rules[rule]
    return ratio(right, comparable), comparable


def _kept(totals: Totals, side: int) -> Float:
    return 1 - ratio(totals.fragmentation[side], totals.span)


def _overseg(totals: Totals, measure: Measure) -> Read:
    return _kept(totals, 0), totals.span


def _underseg(totals: Totals, measure: Measure) -> Read:
    return _kept(totals, 1), totals.span


def _seg(totals: Totals, measure: Measure) -> Read:
    return np.minimum(_kept(totals, 0), _kept(totals, 1)), totals.span


_MIR_EVAL = "Raffel et al., mir_eval, ISMIR 2014"
_MCVICAR = "Pauwels and Peeters, Evaluating automatically estimated chord sequences, ICASSP 2013"
_HARTE = "Harte, PhD thesis, 2010, section 8.3.2; Mauch and Dixon, ISMIR 2010"
_UNDEFINED = "0 where every reference label is X"

_OF_RULE: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "thirds": ("Thirds", "same root and same kind of third", ()),
    "thirds_inv": ("Thirds with inversions", "same root, kind of third and bass", ()),
    "triads": ("Triads", "same root and same tones up to the fifth", ()),
    "triads_inv": ("Triads with inversions", "same root, tones up to the fifth and bass", ()),
    "tetrads": ("Tetrads", "same root and same tones within the octave", ()),
    "tetrads_inv": ("Tetrads with inversions", "same root, tones within the octave and bass", ()),
    "root": ("Root", "same root, or both no chord", ("ChordRoot",)),
    "mirex": ("MIREX 2010", "at least three pitch classes in common, or both no chord", ("ChordMIREX2010",)),
    "majmin": ("Major/minor", "same triad, where the reference is major, minor or no chord", ("MajMin",)),
    "majmin_inv": ("Major/minor with inversions", "as majmin, and the same bass", ("MajMinBass", "MajMinInv")),
    "sevenths": (
        "Sevenths",
        "same chord, where the reference is maj, min, maj7, 7, min7 or no chord",
        ("Sevenths", "7ths"),
    ),
    "sevenths_inv": ("Sevenths with inversions", "as sevenths, and the same bass", ("SeventhsBass", "SeventhsInv")),
}
_EXCEPTIONS = {
    "majmin": "0 where no reference label is a major or minor triad or no chord, such as an all-sus reference",
    "sevenths": "0 where no reference label is one of maj, min, maj7, 7, min7 and N, such as an all-dim reference",
    "mirex": "0 where every reference label is X or has fewer than three pitch classes, such as power chords",
}


def _of_rule(name: str) -> Metric:
    title, summary, aliases = _OF_RULE[name]
    return Metric(
        name,
        title,
        f"share of the comparable time on which the estimate is right: {summary}",
        "comparable seconds: reference segments inside the rule's vocabulary",
        key=name,
        aliases=aliases,
        standard_aggregate="wcsr",
        recall=True,
        perfect_exceptions=_EXCEPTIONS.get(name.removesuffix("_inv"), _UNDEFINED),
        literature=f"{_MIR_EVAL}; {_MCVICAR}",
        read=partial(_recall, name),
        needs=_RULES,
    )


def _of_segmentation(
    name: str, read: Callable[..., Read], title: str, summary: str, key: str = "", aliases: tuple[str, ...] = ()
) -> Metric:
    return Metric(
        name,
        title,
        summary,
        "length of the reference",
        key=key,
        aliases=aliases,
        pooling="micro",
        standard_aggregate="mean",
        literature=_HARTE,
        read=read,
        needs=_FRAGMENTATION,
    )


_RULE = Parameter("rule", "majmin", choices=RULES, help="the comparison rule")


def _vocabulary(*names: str) -> Parameter:
    return Parameter("vocabulary", "majmin", choices=names, help="the classes that chords fall into")


_LENGTH = Weight("length of the reference", "s")
_on_request = partial(metric, default=False)


@_on_request(
    "Chord symbol recall",
    _LENGTH,
    aliases=("CSR",),
    needs=_RULES,
    standard_aggregate="wcsr",
    recall=True,
    perfect=None,
    parameters=(_RULE,),
    literature="Harte, PhD thesis, 2010; equation 1 of Raffel et al., 2014; DECIBEL",
)
def csr(totals: Totals, measure: Measure) -> Read:
    """Share of the reference's whole length on which the estimate is right; what the rule cannot compare is wrong."""
    return ratio(totals.rules[str(measure["rule"])][0], totals.seconds), totals.seconds


@_on_request(
    "Frame-wise chord symbol recall",
    Weight("frames of the reference, in seconds", "s"),
    needs=_RULES,
    standard_aggregate="wcsr",
    recall=True,
    perfect=None,
    parameters=(_RULE, Parameter("hop", 0.01, "s", help="distance of the frames", above=0)),
    literature="MIREX audio chord estimation before 2013",
)
def csr_framewise(totals: Totals, measure: Measure) -> Read:
    """Share of all frames on which the estimate is right."""
    return ratio(totals.rules[str(measure["rule"])][0], totals.seconds), totals.seconds


@_on_request(
    "Overlap score over 25 classes",
    _LENGTH,
    needs=_CONFUSIONS,
    literature="equation 12 of Downie et al., The Music Information Retrieval Evaluation eXchange, 2010",
)
def overlap_2008(totals: Totals, measure: Measure) -> Read:
    """Share of the reference's length on which both sides are of the same of 25 classes: 24 triads and no chord."""
    right, seconds = kernel.overlap(totals.confusions["25"])
    return ratio(right, seconds), seconds


@_on_request(
    "Class-averaged recall",
    Weight("number of chord qualities in the reference, no chord included", "qualities"),
    aliases=("ACQA",),
    needs=_CONFUSIONS,
    pooling="micro",
    perfect_exceptions="0 where no reference label is in the vocabulary",
    parameters=(_vocabulary("majmin", "triads", "sevenths", "tetrads"),),
    literature="Cho, Improved techniques for automatic chord recognition from music audio signals, 2014",
)
def class_recall(totals: Totals, measure: Measure) -> Read:
    """Mean, over the chord qualities of the reference, of the share of their time on which the estimate is right."""
    vocabulary = str(measure["vocabulary"])
    return kernel.class_recall(totals.confusions[vocabulary], vocabulary)


@_on_request(
    "Confusion matrix",
    Weight("none", "s"),
    needs=_CONFUSIONS,
    unit="s",
    range=(0.0, float("inf")),
    orientation="none",
    pooling="none",
    perfect=None,
    parameters=(_vocabulary(*VOCABULARIES),),
    dims=("ref_class", "est_class"),
    literature="Burgoyne et al., A cross-validated study of modelling strategies, ISMIR 2007",
)
def confusion(totals: Totals, measure: Measure) -> Confusion:
    """Time by chord class of the reference and of the estimate."""
    return totals.confusions[str(measure["vocabulary"])]


METRICS = (
    *(_of_rule(name) for name in RULES),
    _of_segmentation(
        "underseg", _underseg, "Under-segmentation", "1 - directional Hamming distance of the estimate", "underseg"
    ),
    _of_segmentation(
        "overseg", _overseg, "Over-segmentation", "1 - directional Hamming distance of the reference", "overseg"
    ),
    _of_segmentation("seg", _seg, "Segmentation", "the smaller of overseg and underseg", "seg", ("MeanSeg",)),
    *metrics_in(globals()),
)

_DECIBEL_METRICS = (
    Metric(
        "csr",
        "Chord symbol recall",
        "share of the comparable time on which the estimate is right, by rule majmin",
        "comparable seconds",
        aliases=("CSR",),
        standard_aggregate="wcsr_tn",
        recall=True,
        perfect_exceptions=_EXCEPTIONS["majmin"],
        literature="Odekerken, Koops and Volk, DECIBEL, ISMIR 2020",
        read=partial(_recall, "majmin"),
        needs=_RULES,
    ),
    _of_segmentation(
        "undersegmentation",
        _underseg,
        "Under-segmentation",
        "1 - directional Hamming distance of the estimate, equal neighbours not merged",
        aliases=("UnS",),
    ),
    _of_segmentation(
        "oversegmentation",
        _overseg,
        "Over-segmentation",
        "1 - directional Hamming distance of the reference, equal neighbours not merged",
        aliases=("OvS",),
    ),
    _of_segmentation("segmentation", _seg, "Segmentation", "the smaller of the two", aliases=("Seg",)),
)

GRIDS = ("union", "frames")


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
        Columns start, end (float64, seconds) and label; rows as :func:`mirflow.metrics.chord.metrics.clean` leaves
        them. An empty estimate is no chord throughout; an empty reference gives score 0 and weight 0.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
        Of convention mir_eval.
    grid : "union" or float
        Exact time, or the hop of frames in seconds: then both sides are what they are at the frames' times, with no
        chord in gaps, and each frame counts `hop` seconds.

    Returns
    -------
    Scores
        Equal to mir_eval's. Pairs with a side that overlaps itself are refused, as mir_eval refuses them. A pair's
        numbers do not depend on what it is batched with, to the bit.

    Raises
    ------
    MetricError
        For a grid that chords are not scored on.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0]), "label": np.array([0, 1])},
    ...                    (np.array([2]),), ("C", "G:7"))
    >>> estimate = Ragged({"start": np.array([0.0]), "end": np.array([3.0]), "label": np.array([0])},
    ...                   (np.array([1]),), ("C",))
    >>> row, wanted = np.array([0]), get_task("chord").convention().select(["majmin", "seg"])
    >>> scores = score(reference, estimate, row, row, wanted)
    >>> scores.score.tolist(), scores.weight.tolist()
    ([[0.5, 0.75]], [[4.0, 4.0]])
    """
    return _score(references, estimates, reference_row, estimate_row, measures, grid, merging=True)


def score_unmerged(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by DECIBEL's rules: as `score`, but neighbours with equal chords are not merged."""
    return _score(references, estimates, reference_row, estimate_row, measures, grid, merging=False)


def _score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid,
    merging: bool,
) -> Scores:
    hop = _hop(grid)
    chords = encode_sides(references, estimates)
    refused, silent, scorable = _sort_out(references, estimates, reference_row, estimate_row, chords, merging)
    estimate_row = np.where(silent, len(estimates), estimate_row)
    sides = ChordSide(references, chords.reference), ChordSide(_with_empty_row(estimates), chords.estimate)
    scalars = [measure for measure in measures if not measure.metric.dims]
    needs: dict[float | None, Wanted] = {}
    for measure in measures:
        at = _hop_of(measure, hop)
        needs[at] = needs.get(at, Wanted()) | _wanted(measure)
    merged = chords.merged if merging else None
    rows = reference_row[scorable], estimate_row[scorable]
    totals, axis = _totals(needs, sides, rows, chords, merged)
    values = np.zeros((2, len(reference_row), len(scalars)))
    for column, measure in enumerate(scalars):
        values[:, scorable, column] = measure.read(totals[_hop_of(measure, hop)])
    values[0, list(refused)] = np.nan
    extras: dict[str, Sparse] = {}
    heard = np.array([pair not in refused for pair in scorable.tolist()], dtype=np.bool_)
    for measure in measures:
        if measure.metric.dims:
            extras[measure.variable] = to_sparse(measure.read(totals[hop]), str(measure["vocabulary"]), scorable, heard)
    repairs = np.zeros(len(reference_row), dtype=np.int64)
    repairs[scorable] = axis.ragged_ends
    return Scores(values[0], values[1], extras, refused, repairs)


def _hop_of(measure: Measure, hop: float | None) -> float | None:
    """The frames that a measure is defined on; without any of its own, those of the grid that was asked for."""
    return _hop(float(measure["hop"])) if "hop" in measure.parameters else hop


def _wanted(measure: Measure) -> Wanted:
    """What has to be added up for a measure."""
    needs = measure.metric.needs
    vocabularies = {str(measure.parameters.get("vocabulary", "25"))} if needs == _CONFUSIONS else set()
    return Wanted(needs == _RULES, needs == _FRAGMENTATION, frozenset(vocabularies))


def _hop(grid: Grid) -> float | None:
    """The hop of a grid of frames; None for exact time."""
    if grid == "union":
        return None
    if isinstance(grid, str) or not 0 < grid < np.inf:
        raise MetricError(f"chords are not scored on grid {grid!r}; use union, or a hop in seconds such as 0.01")
    return float(grid)


def _sort_out(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, chords: Chords, merging: bool
) -> tuple[dict[int, str], Bool, Int]:
    """The refused pairs, those to be scored as if the estimate were empty, and those to be scored at all."""
    runs = (chords.merged[chords.reference[:-1]], chords.merged[chords.estimate[:-1]]) if merging else (None, None)
    by_reference, by_estimate = refuse(references, estimates, runs, reference_row, estimate_row)
    silent = np.zeros(len(reference_row), dtype=np.bool_)
    silent[list(by_estimate)] = True
    scorable = references.counts[0][reference_row] > 0
    scorable[list(by_reference)] = False
    return by_reference | by_estimate, silent, np.flatnonzero(scorable)


def _with_empty_row(rows: Ragged) -> Ragged:
    return Ragged(rows.columns, (np.append(rows.counts[0], 0),), rows.labels)


def _totals(
    needs: Mapping[float | None, Wanted],
    sides: tuple[ChordSide, ChordSide],
    rows: tuple[Int, Int],
    chords: Chords,
    merged: Int | None,
) -> tuple[dict[float | None, Totals], ChordTimelines]:
    exact = lay_out(sides, *rows, merged)
    silent_gaps = lay_out(sides, *rows, merged, carry=False) if any(hop is not None for hop in needs) else exact
    totals = {}
    for hop, wanted in needs.items():
        totals[hop] = add_up(exact if hop is None else to_frames(silent_gaps, hop), chords, wanted)
    return totals, exact


VERDICTS = {1: "right", 0: "wrong", -1: "not comparable"}


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The segments that a chord rule judges, with the verdict on each.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        One of the twelve rules, or a chord symbol recall on exact time by one of them.

    Returns
    -------
    dict of str to array (segments,)
        ``start``, ``end`` (float64, seconds), ``reference``, ``estimate`` (labels) and ``verdict``, one of ``right``,
        ``wrong`` and ``not comparable``. The right seconds over the comparable ones are the score.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure does not judge segments one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def chords(end, label):
    ...     return Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
    >>> measure = get_task("chord").convention().select(["majmin"])[0]
    >>> found = evidence(chords(4.0, "C:7"), chords(3.0, "C"), measure)
    >>> found["end"].tolist(), found["estimate"].tolist(), found["verdict"].tolist()
    ([3.0, 4.0], ['C', 'N'], ['right', 'wrong'])
    """
    (found,) = evidences(reference, [estimate], measure)
    if isinstance(found, AnnotationError):
        raise found
    return found


def evidences(
    reference: Annotation, estimates: Sequence[Annotation], measure: Measure
) -> list[dict[str, Column] | AnnotationError]:
    """What :func:`evidence` says of several estimates of a track, computed together.

    Returns
    -------
    list of dict or AnnotationError
        An error, which is not raised, stands for an estimate that cannot be scored.
    """
    rule = measure.metric.name if measure.metric.name in RULES else measure.parameters.get("rule")
    if rule is None or "hop" in measure.parameters:
        raise MetricError(f"{measure} does not judge segments one by one; ask for one of {', '.join(RULES)}")
    cleaned = clean(to_ragged([reference]))
    for flaw in cleaned.flaws.values():
        raise _error(reference, flaw, "reference")
    if not len(cleaned.rows.columns["start"]):
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    others = clean(to_ragged(estimates))
    sides = encode_sides(cleaned.rows, others.rows)
    row = np.arange(len(estimates), dtype=np.int64)
    laid = ChordSide(cleaned.rows, sides.reference), ChordSide(others.rows, sides.estimate)
    found: list[dict[str, Column] | AnnotationError] = []
    for batch in cut(lay_out(laid, np.zeros_like(row), row, sides.merged)):
        verdict = compare(sides.table.take(batch.reference_chord), sides.table.take(batch.estimate_chord), str(rule))
        labels = (
            _labels(cleaned.rows, batch.reference.item[batch.line.left]),
            _labels(others.rows, batch.estimate.item[batch.line.right]),
        )
        bounds = offsets_of(batch.line.counts)
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found.append(_segments(batch, slice(first, end), labels, verdict))
    for place, flaw in others.flaws.items():
        found[place] = _error(estimates[place], flaw, "estimate")
    return found


def _segments(batch: Cut, points: slice, labels: tuple[Column, Column], verdict: Column) -> dict[str, Column]:
    """The segments of one pair: those of its points that last."""
    lasting = batch.seconds[points] > 0
    start = batch.times[points][lasting]
    return {
        "start": start,
        "end": np.append(start[1:], batch.times[points][-1]),
        "reference": labels[0][points][lasting],
        "estimate": labels[1][points][lasting],
        "verdict": np.array([VERDICTS[int(one)] for one in verdict[points][lasting]], dtype=str),
    }


def _error(annotation: Annotation, flaw: Flaw, side: str) -> AnnotationError:
    path = annotation.attrs.get("source")
    return AnnotationError(
        f"{side}: {flaw.message}", path=None if path is None else str(path), line=annotation.line(flaw.item)
    )


def _labels(rows: Ragged, item: Int) -> Column:
    labels = np.array([*(rows.labels[code] for code in rows.columns["label"].tolist()), NO_CHORD], dtype=str)
    return labels[item]


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the earlier label carries over a gap, extended chords are merged only for segmentation",
    METRICS,
    clean,
    score,
    GRIDS,
    explain=evidence,
    explain_many=evidences,
)
DECIBEL = Convention(
    "decibel",
    "DECIBEL: mir_eval's majmin, and segmentation in which neighbours with equal labels are not merged",
    _DECIBEL_METRICS,
    clean_unmerged,
    score_unmerged,
    GRIDS,
)

TASK = Task(
    "chord",
    "Chord estimation",
    MappingProxyType({one.name: one for one in (MIR_EVAL, DECIBEL, mirex2013.CONVENTION)}),
    ("majmin", "root"),
    {DECIBEL.name: ("csr",)},
)
