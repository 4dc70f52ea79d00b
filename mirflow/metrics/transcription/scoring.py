"""The batched kernel of note transcription."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...kernels.timeline import batches
from ...ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from .instruments import InstrumentCounts, count_instruments, counts_to_sparse, join, number_labels, scores_to_sparse
from .notes import Block, Matches, Notes
from .rules import COUNTS, Reading, Rule, is_by_instrument, is_with_velocity
from .velocities import agree

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
        :func:`mirflow.metrics.transcription.cleaning.clean` leaves them, in any order.
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
    readings = [Reading.of(measure) for measure in scalars]
    counted: dict[Rule, list[InstrumentCounts]] = {Reading.of(measure).rule: [] for measure in tables}
    for part, block in _blocks(references, estimates, reference_row, estimate_row):
        for column, reading in enumerate(readings):
            found[:, part, column] = _score(block, reading, fit[part])
        for rule, counts in counted.items():
            counts.append(count_instruments(block, rule, part.start, len(names)))
    with_velocity = np.array([reading.velocity is not None for reading in readings], dtype=np.bool_)
    found[0][np.ix_(~fit, with_velocity)] = np.nan
    found[0, list(refused)] = np.nan
    extras = {
        measure.variable: _tabulate(measure, join(counted[Reading.of(measure).rule]), names) for measure in tables
    }
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
) -> Iterator[tuple[slice, Block]]:
    sizes = references.counts[0][reference_row] + estimates.counts[0][estimate_row]
    for part in batches(sizes, _BATCH):
        yield part, Block(Notes.of(references, reference_row[part]), Notes.of(estimates, estimate_row[part]))


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
    rules = {Reading.of(measure).rule for measure in measures}
    for pair in np.flatnonzero(numbers[0] * numbers[1] > MOST_PAIRS).tolist():
        sides = (references, reference_row), (estimates, estimate_row)
        columns = [
            Ragged({**rows.columns, "octave": rows.columns["pitch"]}, rows.counts).take(row[pair : pair + 1])
            for rows, row in sides
        ]
        block = Block(*(Notes.of(one, np.zeros(1, dtype=np.int64)) for one in columns))
        if any(block.most_edges(rule) > MOST_PAIRS for rule in rules):
            refused[pair] = TOO_MANY.format(numbers[0][pair], numbers[1][pair])
    return refused


def _without(estimates: Ragged, estimate_row: Int, pairs: list[int]) -> tuple[Ragged, Int]:
    """Estimates with one more row, which is empty, and stands for those of some pairs."""
    row = estimate_row.copy()
    row[pairs] = len(estimates)
    return Ragged(estimates.columns, (np.append(estimates.counts[0], 0),), estimates.labels), row


def _score(block: Block, reading: Reading, fit: Bool) -> tuple[Float, Float]:
    """Score and weight of each pair of a block."""
    if reading.quantity.endswith("overlap_ratio"):
        best = reading.quantity.startswith("best")
        matches = block.heaviest(reading.rule) if best else _matches(block, reading, fit)
        number = np.bincount(matches.pair, minlength=len(block)).astype(np.float64)
        total = block.sum_overlaps(matches, reading.rule.floored)
        return np.divide(total, number, out=np.zeros(len(block)), where=number > 0), number
    if reading.velocity is None:
        hits = block.count(reading.rule)
    else:
        hits = np.bincount(_matches(block, reading, fit).pair, minlength=len(block)).astype(np.int64)
    return rate(reading.quantity, hits, block.reference.counts, block.estimate.counts, reading.beta)


def _matches(block: Block, reading: Reading, fit: Bool) -> Matches:
    matches = block.matches(reading.rule)
    if reading.velocity is None:
        return matches
    matches = matches.keep(fit[matches.pair])
    return matches.keep(agree(block.reference, block.estimate, matches, reading.velocity))


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


def _tabulate(measure: Measure, counts: InstrumentCounts, names: tuple[str, ...]) -> Sparse:
    if measure.metric.name.startswith(COUNTS):
        return counts_to_sparse(counts, names)
    reading = Reading.of(measure)
    score, weight = rate(reading.quantity, counts.matched, counts.reference, counts.estimate, reading.beta)
    return scores_to_sparse(counts, names, score, weight)
