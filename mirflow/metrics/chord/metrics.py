"""The chord metrics: records, cleaning, scores, evidence, kinds of errors, and conventions mir_eval and decibel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, InvalidAnnotationError, MetricError
from ...kernels.intervals import frames_before
from ...kernels.ratios import Scored, divide
from ...ragged import Column, Float, Int, Ragged, offsets_of
from ...theory.chords import OCTAVE, encode_vocabulary
from ...theory.harte import NO_CHORD
from ...theory.leadsheet import not_a_chord
from ..base import GRIDS, Convention, Grid, Pairs, Scores, Sparse
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
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind, LabelRows, align_pieces
from ..measures import Measure, Parameter, Weight, family, metric, metrics_in
from .kernel import ChordSide, Cut, Totals, add_up, cut, largest_pieces, lay_out, to_frames
from .rules import RULES, VOCABULARIES, Chords, compare, encode_sides, number_chords


def clean(rows: Ragged, merging: bool = True, refused: Sequence[str] = NO_INTERVALS) -> Cleaned:
    """Clean rows of intervals for mir_eval's rules.

    Intervals of zero length are dropped and unordered rows sorted; both are counted, as are gaps. Flaws are the
    findings `refused` (by default times that are not finite, negative or reversed), labels that are not chords, and
    overlaps of intervals with different chords, or of any intervals unless `merging`.
    """
    findings, problems, irregular = inspected("intervals", rows, refused, ("zero_length", "unsorted", "gap"))
    label = rows.columns["label"]
    if invalid := list(encode_vocabulary(rows.labels).invalid):
        problems.append((np.isin(label, invalid), lambda item: not_a_chord(rows.labels[int(label[item])])))
    if findings & {"overlap", "unsorted"}:
        problems.append(find_overlaps(rows, problems, number_chords(rows.labels, [True]) if merging else None))
    cleaned = set_aside(rows, problems, irregular)
    if not findings & {"zero_length", "unsorted"}:
        return cleaned
    return replace(cleaned, rows=intervals_in_order(cleaned.rows)[0])


_RULES, _FRAGMENTATION, _CONFUSIONS = "rules", "fragmentation", "confusions"  # Needs of metrics: see `Totals`


_HARTE = "section 8.3.2 of @harte2010; @mauch2010"
_OF_SEVENTHS = "maj, min, maj7, 7, min7"
_EXCEPTIONS = {
    "majmin": "0 if no reference label is a major or minor triad or no chord, such as an all-sus reference",
    "sevenths": f"0 if no reference label is one of {_OF_SEVENTHS} and N, such as an all-dim reference",
    "mirex": "0 if every reference label is X or has fewer than three pitch classes, such as power chords",
}


_JUDGED = (
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
    ("sevenths", "Sevenths", f"same chord, where the reference is {_OF_SEVENTHS} or no chord", "Sevenths", "7ths"),
    ("sevenths_inv", "Sevenths with inversions", "as sevenths, and the same bass", "SeventhsBass", "SeventhsInv"),
)
"""Rules: title, what is right, and aliases."""


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
        for rule, title, right, *aliases in _JUDGED
    },
    needs=_RULES,
    standard_aggregate="wcsr",
    recall=True,
    literature="@raffel2014; @pauwels2013",
)
def recalls(rule: str, totals: Totals, measure: Measure) -> Scored:
    """Right seconds under a rule over comparable seconds, or over all seconds where the rule is a parameter."""
    right, comparable = totals.rules[str(measure.parameters.get("rule", rule))]
    whole = totals.seconds if "rule" in measure.parameters else comparable
    return divide(right, whole), whole


_LENGTH = Weight("length of the reference", "s")


@family(
    _LENGTH,
    {
        name: {"title": title, "summary": summary, "key": name, "aliases": tuple(aliases)}
        for name, title, summary, *aliases in (
            ("underseg", "Under-segmentation", "1 - directional Hamming distance of the estimate"),
            ("overseg", "Over-segmentation", "1 - directional Hamming distance of the reference"),
            ("seg", "Segmentation", "the smaller of overseg and underseg", "MeanSeg"),
        )
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
_VOCABULARY = Parameter("vocabulary", "majmin", choices=tuple(VOCABULARIES), help="the classes of chords")
_on_request = partial(metric, default=False)


whole_recalls = family(
    {"csr": _LENGTH, "csr_framewise": Weight("frames of the reference, in seconds", "s")},
    {
        "csr": {
            "title": "Chord symbol recall",
            "summary": "share of the reference's length on which the estimate is right; chords that cannot be compared "
            "are wrong",
            "aliases": ("CSR",),
            "parameters": (_RULE,),
            "literature": "@harte2010; equation 1 of @raffel2014; @odekerken2020",
        },
        "csr_framewise": {
            "title": "Frame-wise chord symbol recall",
            "summary": "share of all frames on which the estimate is right",
            "parameters": (_RULE, Parameter("hop", 0.01, "s", help="distance of the frames", above=0)),
            "literature": "@mirex2008chord",
        },
    },
    needs=_RULES,
    standard_aggregate="wcsr",
    recall=True,
    perfect=None,
    default=False,
)(recalls.read)


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
    parameters=(replace(_VOCABULARY, choices=("majmin", "triads", "sevenths", "tetrads")),),
    literature="@cho2014",
)
def class_recall(totals: Totals, measure: Measure) -> Scored:
    """Share of the time of each chord quality on which the estimate is right, averaged over qualities."""
    # No chord counts as a quality, and chords outside the vocabulary are left out.
    vocabulary = str(measure["vocabulary"])
    confusion, qualities = totals.confusions[vocabulary], VOCABULARIES[vocabulary].qualities
    kinds = len(qualities) + 1  # of 12 classes each, but for no chord; others are outside
    quality = np.append(np.repeat(np.arange(kinds), [OCTAVE] * len(qualities) + [1]), -1)[confusion.reference]
    # Chords outside the vocabulary are added to a separate row.
    key = np.where(quality >= 0, confusion.pair * kinds + quality, confusion.pairs * kinds)
    right, seconds = (sums[:-1] for sums in confusion.sum(key, confusion.pairs * kinds + 1))
    share = divide(right, seconds).reshape(confusion.pairs, kinds)
    number = np.count_nonzero((seconds > 0).reshape(confusion.pairs, kinds), axis=1).astype(np.float64)
    total = np.cumsum(share, axis=1)[:, -1]  # summed sequentially, whatever the number of pairs
    return divide(total, number), number


@_on_request(
    "Confusion matrix",
    Weight("none", "s"),
    needs=_CONFUSIONS,
    unit="s",
    range=(0.0, float("inf")),
    orientation="none",
    pooling="none",
    perfect=None,
    parameters=(_VOCABULARY,),
    dims=("ref_class", "est_class"),
    literature="@burgoyne2007",
)
def confusion(totals: Totals, measure: Measure) -> Sparse:
    """Time by chord class of the reference and of the estimate."""
    vocabulary = str(measure["vocabulary"])
    cells, classes = totals.confusions[vocabulary], VOCABULARIES[vocabulary].classes
    attrs = {"long_name": f"time by chord class of the reference and of the estimate ({vocabulary})", "units": "s"}
    index = np.column_stack([cells.pair, cells.reference, cells.estimate])
    return Sparse(("ref_class", "est_class"), (classes, classes), index, cells.seconds, attrs)


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
        replace(record, name=name, summary=record.summary + more, key="", aliases=(alias,))
        for record, name, alias, more in zip(
            (*segmentation[:2], replace(segmentation[2], summary="the smaller of the two")),
            ("undersegmentation", "oversegmentation", "segmentation"),
            ("UnS", "OvS", "Seg"),
            (*[", equal neighbours not merged"] * 2, ""),
            strict=True,
        )
    ),
)


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
    hop = None if grid == "union" else float(grid)
    chords = encode_sides(pairs.references, pairs.estimates)
    refused, scorable, sides, rows = sort_out(pairs, chords, merging)
    merged = chords.merged if merging else None
    exact = lay_out(sides, *rows, merged)
    scalars = [measure for measure in measures if not measure.metric.dims]
    values = np.zeros((2, len(pairs), len(scalars)))
    extras: dict[str, Sparse] = {}
    axes: dict[tuple[float | None, bool], list[Measure]] = {}
    for measure in measures:
        # Some measures define their own frames, from the reference's start on; the others use the requested grid.
        own = "hop" in measure.parameters
        axes.setdefault((float(measure["hop"]) if own else hop, own), []).append(measure)
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


def sort_out(
    pairs: Pairs, chords: Chords, merging: bool
) -> tuple[dict[int, str], Int, tuple[ChordSide, ChordSide], tuple[Int, Int]]:
    """Return refused pairs, the pairs to be scored, the intervals of both sides, and the rows of these pairs.

    Estimates are judged within the reference's span. One that cannot be compared is scored as if it were empty.
    """
    references, estimates = pairs.references, pairs.estimates
    reasons: tuple[dict[int, str], dict[int, str]] = {}, {}
    for side, (rows, row_of_pair) in enumerate(pairs.sides):
        start, end = rows.columns["start"], rows.columns["end"]
        runs = chords.merged[(chords.reference, chords.estimate)[side][:-1]] if merging else None
        items = np.flatnonzero(interval_faults(rows, runs))
        faults: dict[int, list[int]] = {}
        for row, item in zip(np.searchsorted(rows.offsets, items, side="right").tolist(), items.tolist(), strict=True):
            faults.setdefault(row - 1, []).append(item)
        faulty = np.flatnonzero(np.isin(row_of_pair, list(faults))).tolist() if faults else []
        for pair in (pair for pair in faulty if pair not in reasons[0]):
            low, high = -np.inf, np.inf
            if side:
                own = references.take(pairs.reference_row[pair : pair + 1]).columns
                low, high = (own["start"].min(), own["end"].max()) if len(own["start"]) else (0.0, 0.0)
            for item in faults[int(row_of_pair[pair])]:
                interval = f"{start[item]} to {end[item]} s"
                if end[item] < start[item]:
                    reason = f"a chord interval ends before it starts: {interval}"
                # Overlaps may vanish as the estimate is cropped to the reference's span; others do not.
                elif (
                    min(end[item], high) > max(start[item + 1], low)
                    or start[item + 1] < start[item]
                    or end[item + 1] < end[item]
                ):
                    following = f"{start[item + 1]} to {end[item + 1]} s"
                    reason = f"chord intervals must not overlap, but {interval} is followed by {following}"
                else:
                    continue
                reasons[side][pair] = f"{('reference', 'estimate')[side]}: {reason}"
                break
    scorable = pairs.counts[0] > 0
    scorable[list(reasons[0])] = False
    index = np.flatnonzero(scorable)
    # An additional empty row replaces estimates that cannot be compared.
    silence = Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels)
    estimate_row = pairs.estimate_row.copy()
    estimate_row[list(reasons[1])] = len(estimates)
    sides = ChordSide(references, chords.reference), ChordSide(silence, chords.estimate)
    return reasons[0] | reasons[1], index, sides, (pairs.reference_row[index], estimate_row[index])


Evidence = dict[str, Column]
_VERDICTS = np.array(["wrong", "right", "not comparable"])  # By their numbers: 0, 1 and -1


def evidences(
    references: Sequence[Annotation], estimates: Sequence[Annotation], measure: Measure, merging: bool = True
) -> list[Evidence | AnnotationError]:
    """Return the segments judged by a chord rule with their verdicts, for several pairs: a `ManyExplainer`.

    The measure is one of the twelve rules, a chord symbol recall on exact time by one of them, or a segmentation, whose
    right segments are the largest pieces into which one side cuts those of the other. Columns are
    ``start``, ``end`` (seconds), ``reference``, ``estimate`` (labels) and ``verdict``, one of ``right``, ``wrong`` and
    ``not comparable``. The right seconds over the comparable ones are the score. Pairs that cannot be scored have an
    AnnotationError.
    """
    name = measure.metric.name
    pieces = ("overseg", "underseg", "seg") if merging else ("oversegmentation", "undersegmentation", "segmentation")
    rule = name if name in RULES else measure.parameters.get("rule", None if merging or name != "csr" else "majmin")
    if name not in pieces and (rule is None or "hop" in measure.parameters):
        names = ", ".join((*pieces, *(RULES if merging else ())))
        raise MetricError(f"{measure} does not judge segments one by one; ask for csr, or one of {names}")

    *sides, row, errors = judgeable(partial(clean, merging=merging), references, estimates)
    chords = encode_sides(*sides)

    def judged(batch: Cut) -> Float | Int:
        if name not in pieces:
            table = chords.table
            return compare(table.take(batch.reference_chord), table.take(batch.estimate_chord), str(rule))
        # Right are the largest pieces into which one side cuts the runs of the other; of both sides, the worse one.
        over, under = largest_pieces(batch)
        outside = [np.bincount(batch.pair, batch.seconds * ~side, batch.size) for side in (over, under)]
        worse = np.where((outside[1] > outside[0])[batch.pair], under, over)
        return (over, under, worse)[pieces.index(name)].astype(np.int64)

    return segments_of(sides, row, errors, chords, judged, merging=merging)


def judgeable(
    clean: Callable[[Ragged], Cleaned], references: Sequence[Annotation], estimates: Sequence[Annotation]
) -> tuple[Ragged, Ragged, Int, dict[int, AnnotationError]]:
    """Sort out the pairs that cannot be scored.

    Return distinct references, the estimate and the row of the reference of each pair to be judged, and the errors of
    the others by pair.
    """
    distinct = {id(reference): reference for reference in references}
    row_of_id = {key: row for row, key in enumerate(distinct)}
    rows = [row_of_id[id(reference)] for reference in references]
    left, right = clean(to_ragged([*distinct.values()])), clean(to_ragged(estimates))
    errors: dict[int, AnnotationError] = {}
    for index, (row, reference, estimate) in enumerate(zip(rows, references, estimates, strict=True)):
        if row in left.flaws:
            errors[index] = error_of(left.flaws[row], reference, "reference")
        elif not left.rows.counts[0][row]:
            errors[index] = InvalidAnnotationError("the reference is empty, so there is nothing to explain")
        elif index in right.flaws:
            errors[index] = error_of(right.flaws[index], estimate, "estimate")
    judged = np.array([index for index in range(len(rows)) if index not in errors], dtype=np.int64)
    return left.rows, right.rows.take(judged), np.array(rows, dtype=np.int64)[judged], errors


def segments_of(
    sides: Sequence[Ragged],
    row: Int,
    errors: Mapping[int, AnnotationError],
    chords: Chords,
    judged: Callable[[Cut], Float | Int],
    *,
    merging: bool = True,
    stretched: bool = False,
) -> list[Evidence | AnnotationError]:
    """Return the segments of each pair with verdicts, which `judged` returns for the points of a batch.

    `row` (int64 (pairs,)): the reference of each pair. `judged`: 1: right, 0: wrong, -1: not comparable. `merging`,
    `stretched`: whether neighbours of equal chords are one, and whether the last one lasts as long as the reference
    does.
    """
    coded = ChordSide(sides[0], chords.reference), ChordSide(sides[1], chords.estimate)
    names = [np.array([*side.labels, NO_CHORD], dtype=str)[np.append(side.columns["label"], -1)] for side in sides]
    parts: list[Evidence] = []
    axis = lay_out(coded, row, np.arange(len(row), dtype=np.int64), chords.merged if merging else None)
    for batch in cut(replace(axis, stretched=stretched)):
        lasting = np.flatnonzero(batch.seconds > 0)
        start, pair = batch.times[lasting], batch.pair[lasting]
        # A segment ends where the next one of its pair begins, the last one with the pair.
        ends = offsets_of(batch.line.counts)[1:]
        last = np.append(pair[1:] != pair[:-1], True)[: len(pair)]
        end = np.where(last, batch.times[ends[pair] - 1], np.append(start[1:], 0.0)[: len(start)])
        columns: Evidence = {
            "pair": pair + batch.pairs.start,
            "start": start,
            "end": end,
            "reference": names[0][batch.reference.item[batch.line.left[lasting]]],
            "estimate": names[1][batch.estimate.item[batch.line.right[lasting]]],
            "verdict": _VERDICTS[np.asarray(judged(batch))[lasting].astype(np.int64)],
        }
        parts.append(columns)
    first: Evidence = parts[0] if parts else {}
    joined = {name: np.concatenate([part[name] for part in parts]) for name in first}
    owner = joined.pop("pair", row)
    return split_pairs(joined, owner, len(row), errors)


def split_pairs(
    columns: Evidence, pair: Int, pairs: int, errors: Mapping[int, AnnotationError]
) -> list[Evidence | AnnotationError]:
    """Split columns by their pair, which ascends, and put the errors of pairs that cannot be scored between them."""
    bounds = np.searchsorted(pair, np.arange(pairs + 1)).tolist()
    evidence: list[Evidence | AnnotationError] = [
        {name: column[first:end] for name, column in columns.items()} for first, end in pairwise(bounds)
    ]
    for number in sorted(errors):
        evidence.insert(number, errors[number])
    return evidence


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: labels continue through gaps, extended chords are merged only for segmentation",
    METRICS,
    clean,
    score,
    GRIDS,
    explain_many=evidences,
    literature="@raffel2014",
)
DECIBEL = Convention(
    "decibel",
    "DECIBEL: mir_eval's majmin, and segmentation in which neighbours with equal labels are not merged",
    _DECIBEL_METRICS,
    partial(clean, merging=False),
    partial(score, merging=False),
    GRIDS,
    ("csr",),
    explain_many=partial(evidences, merging=False),
    literature="@odekerken2020",
)


_KINDS = (
    ErrorKind("no_chord", "no chord, or a gap, where the reference has a chord, or the other way round"),
    ErrorKind("root", "a chord with another root"),
    ErrorKind("quality", "a chord with the right root and other tones"),
    ErrorKind("bass", "a chord with the right root and tones, and another bass"),
    ErrorKind("boundaries", "a change that is early or late, or none of the reference, between chords that are right"),
)
_NO_CHORD, _ROOT, _QUALITY, _BASS, _BOUNDARIES = range(len(_KINDS))


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool, carry: bool) -> Edits:
    chords = encode_sides(reference, estimate)

    def classify(references: Int, estimates: Int) -> Int:
        """The first difference of each two chords."""
        left, right = chords.table.take(references), chords.table.take(estimates)
        silent = (left.pitches == 0) != (right.pitches == 0)
        wrong = silent, left.root != right.root, left.pitches != right.pitches, left.bass != right.bass
        return np.select(wrong, [_NO_CHORD, _ROOT, _QUALITY, _BASS], RIGHT).astype(np.int64)

    return align_pieces(reference, estimate, (chords.reference, chords.estimate), classify, _BOUNDARIES, carry)


_ROWS = LabelRows(number_chords, (("C:maj", "C"), ("G:maj", "G"), ("A:min", "A:min")))
ERRORS = ErrorBudget(_KINDS, partial(_align, carry=True), _ROWS, version=2)
"""Of conventions in which a chord lasts through the gap after it."""
ERRORS_WITH_GAPS = ErrorBudget(_KINDS, partial(_align, carry=False), _ROWS, version=2)
"""Of conventions that take gaps for no chord."""
