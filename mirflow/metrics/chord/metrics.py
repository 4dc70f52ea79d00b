"""The chord metrics: declarations, cleaning, scores of batches, evidence, and conventions mir_eval and decibel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, InvalidAnnotationError, MetricError
from ...kernels.intervals import frames_before
from ...kernels.ratios import Scored, divide
from ...ragged import Bool, Column, Float, Int, Ragged, offsets_of
from ...theory.chords import encode_vocabulary
from ...theory.harte import NO_CHORD
from ...theory.leadsheet import not_a_chord
from ..base import Convention, Grid, Pairs, Scores, Sparse
from ..cleaning import (
    NO_INTERVALS,
    Cleaned,
    error_of,
    find_overlaps,
    inspected,
    interval_faults,
    intervals_in_order,
    set_aside,
)
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind, LabelRows
from ..interval_errors import align_pieces
from ..measures import Measure, Parameter, Weight, family, metric, metrics_in
from . import kernel
from .kernel import ChordSide, Cut, Totals, add_up, cut, largest_pieces, lay_out, to_frames
from .rules import RULES, VOCABULARIES, Chords, compare, encode_runs, encode_sides, number_chords


def refuse(pairs: Pairs, runs: tuple[Int | None, Int | None]) -> tuple[dict[int, str], dict[int, str]]:
    """Find the pairs that cannot be scored, and the reasons: those with a faulty reference, and with a faulty estimate.

    Estimates are judged within the reference's span. `runs` has, for each side, the number by which neighbours form
    runs.
    """
    (references, reference_row), (estimates, estimate_row) = pairs.sides
    by_reference: dict[int, str] = {}
    by_estimate: dict[int, str] = {}
    faults = _faults_of_rows(references, runs[0])
    for pair in _pairs_of(faults, reference_row):
        by_reference[pair] = "reference: " + _describe(references, faults[int(reference_row[pair])][0])
    faults = _faults_of_rows(estimates, runs[1])
    offsets = references.offsets
    for pair in _pairs_of(faults, estimate_row):
        if pair not in by_reference:
            own = slice(offsets[reference_row[pair]], offsets[reference_row[pair] + 1])
            start, end = references.columns["start"][own], references.columns["end"][own]
            span = (start.min(), end.max()) if len(start) else (0.0, 0.0)
            items = [item for item in faults[int(estimate_row[pair])] if _matters(estimates, item, span)]
            if items:
                by_estimate[pair] = "estimate: " + _describe(estimates, items[0])
    return by_reference, by_estimate


def _faults_of_rows(rows: Ragged, run: Int | None) -> dict[int, list[int]]:
    items = np.flatnonzero(interval_faults(rows, run))
    faulty: dict[int, list[int]] = {}
    for row, item in zip(np.searchsorted(rows.offsets, items, side="right").tolist(), items.tolist(), strict=True):
        faulty.setdefault(row - 1, []).append(item)
    return faulty


def _pairs_of(faults: dict[int, list[int]], row: Int) -> list[int]:
    return np.flatnonzero(np.isin(row, list(faults))).tolist() if faults else []


def _matters(rows: Ragged, item: int, span: tuple[float, float]) -> bool:
    """True if a fault remains after the row is cropped to a span."""
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


def clean(rows: Ragged, merging: bool = True, refused: Sequence[str] = NO_INTERVALS) -> Cleaned:
    """Clean rows of intervals for mir_eval's rules.

    Intervals of zero length are dropped and unordered rows sorted; both are counted, as are gaps. Flaws are the
    findings `refused` (by default times that are not finite, negative or reversed), labels that are not chords, and
    overlaps of intervals with different chords, or of any intervals unless `merging`.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 1.0]), "end": np.array([1.0, 1.0, 2.0]),
    ...                "label": np.array([0, 0, 1])}, (np.array([2, 1]),), ("C:maj", "H:maj"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], "not a chord: 'H:maj'; chords are written like C, A:min7/b3, F#:(1,5) or N")
    """
    findings, problems, irregular = inspected("intervals", rows, refused, ("zero_length", "unsorted", "gap"))
    label = rows.columns["label"]
    if invalid := list(encode_vocabulary(rows.labels).invalid):
        problems.append((np.isin(label, invalid), lambda item: not_a_chord(rows.labels[int(label[item])])))
    if findings & {"overlap", "unsorted"}:
        problems.append(find_overlaps(rows, problems, encode_runs(rows.labels) if merging else None))
    cleaned = set_aside(rows, problems, irregular)
    return (
        replace(cleaned, rows=intervals_in_order(cleaned.rows)[0])
        if findings & {"zero_length", "unsorted"}
        else cleaned
    )


def clean_unmerged(rows: Ragged) -> Cleaned:
    """Clean rows whose neighbours are never merged, so that overlaps of equal chords are flaws, too."""
    return clean(rows, merging=False)


_RULES, _FRAGMENTATION, _CONFUSIONS = "rules", "fragmentation", "confusions"
"""Needs of metrics: see `Totals`."""


_HARTE = "section 8.3.2 of @harte2010; @mauch2010"
_EXCEPTIONS = {
    "majmin": "0 if no reference label is a major or minor triad or no chord, such as an all-sus reference",
    "sevenths": "0 if no reference label is one of maj, min, maj7, 7, min7 and N, such as an all-dim reference",
    "mirex": "0 if every reference label is X or has fewer than three pitch classes, such as power chords",
}


@family(
    Weight("comparable seconds: reference segments inside the rule's vocabulary", "s"),
    {
        rule: {
            "title": title,
            "summary": f"share of the comparable time on which the estimate is right: {right}",
            "key": rule,
            "aliases": tuple(aliases),
            "perfect_exceptions": _EXCEPTIONS.get(rule.removesuffix("_inv"), "0 if every reference label is X"),
        }
        for rule, title, right, *aliases in (
            ("thirds", "Thirds", "same root and same kind of third"),
            ("thirds_inv", "Thirds with inversions", "same root, kind of third and bass"),
            ("triads", "Triads", "same root and same tones up to the fifth"),
            ("triads_inv", "Triads with inversions", "same root, tones up to the fifth and bass"),
            ("tetrads", "Tetrads", "same root and same tones within the octave"),
            ("tetrads_inv", "Tetrads with inversions", "same root, tones within the octave and bass"),
            ("root", "Root", "same root, or both no chord", "ChordRoot"),
            ("mirex", "MIREX 2010", "at least three pitch classes in common, or both no chord", "ChordMIREX2010"),
            ("majmin", "Major/minor", "same triad, where the reference is major, minor or no chord", "MajMin"),
            ("majmin_inv", "Major/minor with inversions", "as majmin, and the same bass", "MajMinBass", "MajMinInv"),
            (
                "sevenths",
                "Sevenths",
                "same chord, where the reference is maj, min, maj7, 7, min7 or no chord",
                "Sevenths",
                "7ths",
            ),
            (
                "sevenths_inv",
                "Sevenths with inversions",
                "as sevenths, and the same bass",
                "SeventhsBass",
                "SeventhsInv",
            ),
        )
    },
    needs=_RULES,
    standard_aggregate="wcsr",
    recall=True,
    literature="@raffel2014; @pauwels2013",
)
def recalls(rule: str, totals: Totals, measure: Measure) -> Scored:
    """Right seconds over comparable seconds under one rule."""
    right, comparable = totals.rules[rule]
    return divide(right, comparable), comparable


_LENGTH = Weight("length of the reference", "s")


@family(
    _LENGTH,
    {
        "underseg": {
            "title": "Under-segmentation",
            "summary": "1 - directional Hamming distance of the estimate",
            "key": "underseg",
        },
        "overseg": {
            "title": "Over-segmentation",
            "summary": "1 - directional Hamming distance of the reference",
            "key": "overseg",
        },
        "seg": {
            "title": "Segmentation",
            "summary": "the smaller of overseg and underseg",
            "key": "seg",
            "aliases": ("MeanSeg",),
        },
    },
    needs=_FRAGMENTATION,
    pooling="micro",
    literature=_HARTE,
)
def segmentation(name: str, totals: Totals, measure: Measure) -> Scored:
    """1 - share of the time outside the largest pieces into which one side cuts the runs of the other."""
    over, under = (1 - divide(side, totals.span) for side in totals.fragmentation)
    return {"overseg": over, "underseg": under, "seg": np.minimum(over, under)}[name], totals.span


_RULE = Parameter("rule", "majmin", choices=RULES, help="the comparison rule")


def _vocabulary(*names: str) -> Parameter:
    return Parameter("vocabulary", "majmin", choices=names, help="the classes of chords")


_on_request = partial(metric, default=False)
_of_all_seconds = partial(_on_request, needs=_RULES, standard_aggregate="wcsr", recall=True, perfect=None)


@_of_all_seconds(
    "Chord symbol recall",
    _LENGTH,
    aliases=("CSR",),
    parameters=(_RULE,),
    literature="@harte2010; equation 1 of @raffel2014; @odekerken2020",
)
def csr(totals: Totals, measure: Measure) -> Scored:
    """Share of the reference's length on which the estimate is right; chords that cannot be compared are wrong."""
    return divide(totals.rules[str(measure["rule"])][0], totals.seconds), totals.seconds


@_of_all_seconds(
    "Frame-wise chord symbol recall",
    Weight("frames of the reference, in seconds", "s"),
    parameters=(_RULE, Parameter("hop", 0.01, "s", help="distance of the frames", above=0)),
    literature="@mirex2008chord",
)
def csr_framewise(totals: Totals, measure: Measure) -> Scored:
    """Share of all frames on which the estimate is right."""
    return divide(totals.rules[str(measure["rule"])][0], totals.seconds), totals.seconds


@_on_request("Overlap score over 25 classes", _LENGTH, needs=_CONFUSIONS, literature="equation 12 of @downie2010")
def overlap_2008(totals: Totals, measure: Measure) -> Scored:
    """Share of the reference's length on which both sides have the same of 25 classes: 24 triads and no chord."""
    cells = totals.confusions["25"]
    right, seconds = cells.sum(cells.pair, cells.pairs)
    return divide(right, seconds), seconds


@_on_request(
    "Class-averaged recall",
    Weight("number of chord qualities in the reference, no chord included", "qualities"),
    aliases=("ACQA",),
    needs=_CONFUSIONS,
    pooling="micro",
    perfect_exceptions="0 if no reference label is in the vocabulary",
    parameters=(_vocabulary("majmin", "triads", "sevenths", "tetrads"),),
    literature="@cho2014",
)
def class_recall(totals: Totals, measure: Measure) -> Scored:
    """Share of the time of each chord quality on which the estimate is right, averaged over qualities."""
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
    literature="@burgoyne2007",
)
def confusion(totals: Totals, measure: Measure) -> Sparse:
    """Time by chord class of the reference and of the estimate."""
    vocabulary = str(measure["vocabulary"])
    cells, classes = totals.confusions[vocabulary], VOCABULARIES[vocabulary].classes
    name = f"time by chord class of the reference and of the estimate ({vocabulary})"
    index = np.column_stack([cells.pair, cells.reference, cells.estimate])
    return Sparse(
        ("ref_class", "est_class"), (classes, classes), index, cells.seconds, {"long_name": name, "units": "s"}
    )


METRICS = metrics_in(globals())

_DECIBEL_METRICS = (
    metric(
        "Chord symbol recall",
        Weight("comparable seconds", "s"),
        name="csr",
        summary="share of the comparable time on which the estimate is right, by rule majmin",
        aliases=("CSR",),
        needs=_RULES,
        standard_aggregate="wcsr_tn",
        recall=True,
        perfect_exceptions=_EXCEPTIONS["majmin"],
        literature="@odekerken2020",
    )(partial(recalls.read, "majmin")),
    *(
        replace(one, name=name, summary=summary, key="", aliases=(alias,))
        for one, name, alias, summary in zip(
            segmentation,
            ("undersegmentation", "oversegmentation", "segmentation"),
            ("UnS", "OvS", "Seg"),
            (
                *(f"{record.summary}, equal neighbours not merged" for record in segmentation[:2]),
                "the smaller of the two",
            ),
            strict=True,
        )
    ),
)

GRIDS = ("union", "frames")


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union", merging: bool = True) -> Scores:
    """Score pairs by mir_eval's rules: a `Scorer`.

    An empty estimate is no chord throughout; an empty reference has score 0 and weight 0. As in mir_eval, pairs with
    overlapping intervals on a side are refused. On a grid of frames, given as hop in seconds, both sides are sampled at
    multiples of the hop, gaps are no chord, and each frame counts `hop` seconds; a reference that ends before its first
    frame has score 0 and weight 0. With `merging`, neighbours with equal chords are merged for segmentation.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.
    """
    hop = _hop(grid)
    estimates = pairs.estimates
    chords = encode_sides(pairs.references, estimates)
    refused, silent, scorable = sort_out(pairs, chords, merging)
    # An additional empty row replaces estimates that cannot be compared.
    silence = Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels)
    rows = pairs.reference_row[scorable], np.where(silent, len(estimates), pairs.estimate_row)[scorable]
    sides = ChordSide(pairs.references, chords.reference), ChordSide(silence, chords.estimate)
    merged = chords.merged if merging else None
    exact = lay_out(sides, *rows, merged)
    scalars = [measure for measure in measures if not measure.metric.dims]
    values = np.zeros((2, len(pairs), len(scalars)))
    extras: dict[str, Sparse] = {}
    axes: dict[tuple[float | None, bool], list[Measure]] = {}
    for measure in measures:
        # Some measures define their own frames, from the reference's start on; the others use the requested grid.
        own = "hop" in measure.parameters
        axes.setdefault((_hop(float(measure["hop"])) if own else hop, own), []).append(measure)
    for (step, own), some in axes.items():
        axis, scored = exact, scorable
        if step is not None:
            start, low, high = exact.times[exact.low] * own, exact.times[exact.low], exact.times[exact.high]
            framed = frames_before(start, step, high) > frames_before(start, step, low)
            sampled = lay_out(sides, rows[0][framed], rows[1][framed], merged, carry=False)
            axis, scored = to_frames(sampled, step, start[framed]), scorable[framed]
        needs = {measure.metric.needs for measure in some}
        vocabularies = {str(m.parameters.get("vocabulary", "25")) for m in some if m.metric.needs == _CONFUSIONS}
        totals = add_up(axis, chords, _RULES in needs, _FRAGMENTATION in needs, vocabularies)
        for measure in some:
            if not measure.metric.dims:
                values[:, scored, scalars.index(measure)] = measure.read(totals)
            else:
                sparse: Sparse = measure.read(totals)
                index = np.column_stack([scored[sparse.index[:, 0]], sparse.index[:, 1:]])
                entries = ~np.isin(index[:, 0], list(refused))
                index = index[entries]
                extras[measure.variable] = replace(sparse, index=index, value=sparse.value[entries])
    values[0, list(refused)] = np.nan
    repairs = np.zeros(len(pairs), dtype=np.int64)
    repairs[scorable] = exact.ragged_ends
    return Scores(values[0], values[1], extras, refused, repairs)


def _hop(grid: Grid) -> float | None:
    if grid == "union":
        return None
    if isinstance(grid, str) or not 0 < grid < np.inf:
        raise MetricError(f"chords are not scored on grid {grid!r}; use union, or a hop in seconds such as 0.01")
    return float(grid)


def sort_out(pairs: Pairs, chords: Chords, merging: bool) -> tuple[dict[int, str], Bool, Int]:
    """Return refused pairs, pairs to be scored as if the estimate were empty, and pairs to be scored."""
    runs = (chords.merged[chords.reference[:-1]], chords.merged[chords.estimate[:-1]]) if merging else (None, None)
    by_reference, by_estimate = refuse(pairs, runs)
    silent = np.zeros(len(pairs), dtype=np.bool_)
    silent[list(by_estimate)] = True
    scorable = pairs.counts[0] > 0
    scorable[list(by_reference)] = False
    return by_reference | by_estimate, silent, np.flatnonzero(scorable)


Evidence = dict[str, Column]
_VERDICTS = np.array(["wrong", "right", "not comparable"])
"""By their numbers: 0, 1 and -1."""


def evidences(
    references: Sequence[Annotation], estimates: Sequence[Annotation], measure: Measure
) -> list[Evidence | AnnotationError]:
    """Return the segments judged by a chord rule with their verdicts, for several pairs: a `ManyExplainer`.

    The measure is one of the twelve rules, a chord symbol recall on exact time by one of them, or a segmentation, whose
    right segments are the largest pieces into which one side cuts those of the other. Columns are
    ``start``, ``end`` (seconds), ``reference``, ``estimate`` (labels) and ``verdict``, one of ``right``, ``wrong`` and
    ``not comparable``. The right seconds over the comparable ones are the score. Pairs that cannot be scored have an
    AnnotationError.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def chords(end, label):
    ...     return Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
    >>> measure = get_task("chord").convention().select(["majmin"])[0]
    >>> (found,) = evidences([chords(4.0, "C:7")], [chords(3.0, "C")], measure)
    >>> found["end"].tolist(), found["estimate"].tolist(), found["verdict"].tolist()
    ([3.0, 4.0], ['C', 'N'], ['right', 'wrong'])
    """
    name = measure.metric.name
    if name in _PIECES:
        return judge(clean, partial(_judge_pieces, name, True), references, estimates)
    rule = name if name in RULES else measure.parameters.get("rule")
    if rule is None or "hop" in measure.parameters:
        names = ", ".join((*_PIECES, *RULES))
        raise MetricError(f"{measure} does not judge segments one by one; ask for csr, or one of {names}")
    return judge(clean, partial(_judge_segments, str(rule)), references, estimates)


def _decibel_evidences(
    references: Sequence[Annotation], estimates: Sequence[Annotation], measure: Measure
) -> list[Evidence | AnnotationError]:
    """Return the segments of several pairs with verdicts under DECIBEL's recall or segmentation."""
    name = _DECIBEL_PIECES.get(measure.metric.name)
    if measure.metric.name != "csr" and name is None:
        names = ", ".join(_DECIBEL_PIECES)
        raise MetricError(f"{measure} does not judge segments one by one; ask for csr, {names}")
    segments = partial(_judge_segments, "majmin") if name is None else partial(_judge_pieces, name, False)
    return judge(clean_unmerged, segments, references, estimates)


def judge(
    clean: Callable[[Ragged], Cleaned],
    segments: Callable[[Ragged, Ragged, Int], Sequence[Evidence]],
    references: Sequence[Annotation],
    estimates: Sequence[Annotation],
) -> list[Evidence | AnnotationError]:
    """Return the evidence of several pairs, or the errors of those that cannot be scored.

    `segments` takes distinct references, and the estimate and the row of the reference of each pair to be judged.
    """
    distinct = {id(one): one for one in references}
    places = {key: place for place, key in enumerate(distinct)}
    rows = [places[id(one)] for one in references]
    left, right = clean(to_ragged([*distinct.values()])), clean(to_ragged(estimates))
    errors: dict[int, AnnotationError] = {}
    for index, (place, reference, estimate) in enumerate(zip(rows, references, estimates, strict=True)):
        if place in left.flaws:
            errors[index] = error_of(left.flaws[place], reference, "reference")
        elif not left.rows.counts[0][place]:
            errors[index] = InvalidAnnotationError("the reference is empty, so there is nothing to explain")
        elif index in right.flaws:
            errors[index] = error_of(right.flaws[index], estimate, "estimate")
    judged = np.array([index for index in range(len(rows)) if index not in errors], dtype=np.int64)
    found = iter(segments(left.rows, right.rows.take(judged), np.array(rows, dtype=np.int64)[judged]))
    return [errors[index] if index in errors else next(found) for index in range(len(rows))]


def single_evidence(
    explain_many: Callable[[Sequence[Annotation], Sequence[Annotation], Measure], Sequence[Evidence | AnnotationError]],
    reference: Annotation,
    estimate: Annotation,
    measure: Measure,
) -> Evidence:
    """Return the evidence of one estimate, or raise its error."""
    (evidence,) = explain_many([reference], [estimate], measure)
    if isinstance(evidence, AnnotationError):
        raise evidence
    return evidence


def _judge_segments(rule: str, references: Ragged, estimates: Ragged, row: Int) -> list[Evidence]:
    chords = encode_sides(references, estimates)
    table = chords.table
    return segments_of(
        (references, estimates),
        row,
        chords,
        lambda batch: compare(table.take(batch.reference_chord), table.take(batch.estimate_chord), rule),
    )


_PIECES = ("overseg", "underseg", "seg")
_DECIBEL_PIECES = dict(zip(("oversegmentation", "undersegmentation", "segmentation"), _PIECES, strict=True))


def _judge_pieces(name: str, merging: bool, references: Ragged, estimates: Ragged, row: Int) -> list[Evidence]:
    """Right are the largest pieces into which one side cuts the runs of the other; of both sides, the worse one."""
    chords = encode_sides(references, estimates)

    def judged(batch: Cut) -> Int:
        over, under = largest_pieces(batch)
        outside = [np.bincount(batch.pair, batch.seconds * ~one, len(batch)) for one in (over, under)]
        worse = np.where((outside[1] > outside[0])[batch.pair], under, over)
        return {"overseg": over, "underseg": under, "seg": worse}[name].astype(np.int64)

    return segments_of((references, estimates), row, chords, judged, merging=merging)


def segments_of(
    sides: tuple[Ragged, Ragged],
    row: Int,
    chords: Chords,
    judged: Callable[[Cut], Float | Int],
    *,
    merging: bool = True,
    stretched: bool = False,
) -> list[Evidence]:
    """Return the segments of each pair with verdicts, which `judged` returns for the points of a batch.

    `row` (int64 (pairs,)): the reference of each pair. `judged`: 1: right, 0: wrong, -1: not comparable. `merging`,
    `stretched`: whether neighbours of equal chords are one, and whether the last one lasts as long as the reference
    does.
    """
    coded = ChordSide(sides[0], chords.reference), ChordSide(sides[1], chords.estimate)
    names = [
        np.array([*side.labels, NO_CHORD], dtype=str)[np.append(side.columns["label"], len(side.labels))]
        for side in sides
    ]
    evidence: list[Evidence] = []
    axis = lay_out(coded, row, np.arange(len(row), dtype=np.int64), chords.merged if merging else None)
    for batch in cut(replace(axis, stretched=stretched)):
        lasting = np.flatnonzero(batch.seconds > 0)
        start, pair = batch.times[lasting], batch.pair[lasting]
        # A segment ends where the next one of its pair begins, the last one with the pair.
        ends = offsets_of(batch.line.counts)[1:]
        last = np.append(pair[1:] != pair[:-1], True)[: len(pair)]
        end = np.where(last, batch.times[ends[pair] - 1], np.append(start[1:], 0.0)[: len(start)])
        columns: Evidence = {
            "start": start,
            "end": end,
            "reference": names[0][batch.reference.item[batch.line.left[lasting]]],
            "estimate": names[1][batch.estimate.item[batch.line.right[lasting]]],
            "verdict": _VERDICTS[np.asarray(judged(batch))[lasting].astype(np.int64)],
        }
        bounds = np.searchsorted(pair, np.arange(len(batch) + 1)).tolist()
        evidence += [{name: column[first:end] for name, column in columns.items()} for first, end in pairwise(bounds)]
    return evidence


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: labels continue through gaps, extended chords are merged only for segmentation",
    METRICS,
    clean,
    score,
    GRIDS,
    explain=partial(single_evidence, evidences),
    explain_many=evidences,
    literature="@raffel2014",
)
DECIBEL = Convention(
    "decibel",
    "DECIBEL: mir_eval's majmin, and segmentation in which neighbours with equal labels are not merged",
    _DECIBEL_METRICS,
    clean_unmerged,
    partial(score, merging=False),
    GRIDS,
    ("csr",),
    explain=partial(single_evidence, _decibel_evidences),
    explain_many=_decibel_evidences,
    literature="@odekerken2020",
)


_KINDS = (
    ErrorKind("no_chord", "no chord, or a gap, where the reference has a chord, or the other way round"),
    ErrorKind("root", "a chord with another root"),
    ErrorKind("quality", "a chord with the right root and other tones"),
    ErrorKind("bass", "a chord with the right root and tones, and another bass"),
    ErrorKind(
        "boundaries",
        "a change of chords that is early or late, or none of the reference, between chords that are right",
    ),
)
_NO_CHORD, _ROOT, _QUALITY, _BASS, _BOUNDARIES = range(len(_KINDS))


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool, carry: bool) -> Edits:
    chords = encode_sides(reference, estimate)
    codes = chords.reference, chords.estimate
    return align_pieces(reference, estimate, codes, partial(_classify, chords), _BOUNDARIES, carry)


def _classify(chords: Chords, reference: Int, estimate: Int) -> Int:
    """The first difference of each two chords."""
    left, right = chords.table.take(reference), chords.table.take(estimate)
    silent = (left.pitches == 0) != (right.pitches == 0)
    wrong = silent, left.root != right.root, left.pitches != right.pitches, left.bass != right.bass
    return np.select(wrong, [_NO_CHORD, _ROOT, _QUALITY, _BASS], RIGHT).astype(np.int64)


_ROWS = LabelRows(number_chords, (("C:maj", "C"), ("G:maj", "G"), ("A:min", "A:min")))
ERRORS = ErrorBudget(_KINDS, partial(_align, carry=True), _ROWS, version=2)
"""Of conventions in which a chord lasts through the gap after it."""
ERRORS_WITH_GAPS = ErrorBudget(_KINDS, partial(_align, carry=False), _ROWS, version=2)
"""Of conventions that take gaps for no chord."""
