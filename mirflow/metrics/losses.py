"""Error budgets: the score that a pair loses, split by Shapley values among the kinds of errors of the estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import factorial

import numpy as np

from ..kernels.intervals import batches
from ..ragged import Bool, Float, Int, Ragged, concatenate
from .base import Convention, Grid, Pairs, Scores
from .edits import KIND, OF, LabelRows, merge_rows, number_texts
from .measures import Measure, parse

_ITEMS = 2**19  # Items of mended estimates that are scored at once
MOST_PLAYERS = 12  # All coalitions are evaluated, 4096 of so many players


def score_losses(convention: Convention, pairs: Pairs, measures: Sequence[Measure], grid: Grid) -> Scores:
    """Losses by kind: a column for each measure of :meth:`mirflow.metrics.base.Convention.losses`.

    The share of a kind is its Shapley value in the game whose players are the kinds that the pair has: the value of a
    set of kinds is the score after mending them. Shares of a pair sum to the score of the reference by itself less the
    score of the estimate. Scores of all sets are computed at once by the convention's kernel.

    Weights are those of the score that is split.

    References
    ----------
    L. S. Shapley, "A value for n-person games", 1953; D. Bolya et al., "TIDE: A general toolbox for identifying object
    detection errors", ECCV 2020, for budgets by mending one kind at a time, whose shares do not sum to the loss.
    """
    assert convention.errors is not None
    names = [kind.name for kind in convention.errors.kinds]
    arrays = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    # Give both sides the same columns, with NaN, or -1 for whole numbers, where a side has none.
    columns = {name: column.dtype for rows, _ in pairs.sides for name, column in rows.columns.items()}
    sides = []
    for rows, _ in pairs.sides:
        size = int(rows.counts[0].sum())
        blank = {
            name: np.full(size, np.nan if kind.kind == "f" else -1).astype(kind)
            for name, kind in columns.items()
            if name not in rows.columns
        }
        sides.append(replace(rows, columns={**rows.columns, **blank}))
    pairs = replace(pairs, references=sides[0], estimates=sides[1])
    wholes = [str(measure[OF]) for measure in measures]
    split = {name: parse(name, convention.metrics) for name in wholes}
    losses = {name: _split(convention, pairs, whole, grid, refused) for name, whole in split.items()}
    for column, (measure, whole) in enumerate(zip(measures, wholes, strict=True)):
        arrays[0, :, column] = losses[whole][0][:, names.index(str(measure[KIND]))]
        arrays[1, :, column] = losses[whole][1]
    return Scores(arrays[0], arrays[1], refused=refused)


def _split(
    convention: Convention, pairs: Pairs, whole: Measure, grid: Grid, refused: dict[int, str], exact: bool = False
) -> tuple[Float, Float]:
    """Losses by kind, float64 (pairs, kinds), and weights, float64 (pairs,)."""
    errors = convention.errors
    assert errors is not None
    references, estimates = pairs.references, pairs.estimates
    exact = exact or not whole.metric.itemwise or whole.parameters.get("matching", "optimal") != "optimal"
    numbering = None if errors.rows is None else _numbering(convention, errors.rows, pairs, whole, grid)
    edits = []
    for reference, estimate in zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True):
        sides = references.take([reference]), estimates.take([estimate])
        if errors.rows is not None and numbering is not None:
            sides = errors.rows.merge(sides, numbering)
        edits.append(errors.align(*sides, whole, exact))
    present = [edit.present for edit in edits]
    sizes = np.array([edit.size for edit in edits], dtype=np.int64)
    sizes = (sizes + 1) << np.array([len(kinds) for kinds in present], dtype=np.int64)
    loss, weight = np.zeros((len(pairs), len(errors.kinds))), np.zeros(len(pairs))
    sign = -1.0 if whole.metric.orientation == "lower" else 1.0
    unseen: list[int] = []
    for batch in batches(sizes, _ITEMS):
        chosen = range(*batch.indices(len(pairs)))
        parts: list[Ragged] = []
        ends = [0]
        for pair in chosen:
            # No kind and all kinds give the estimate and the reference themselves, so that shares sum to their
            # difference.
            kinds = np.zeros((max(2 ** len(present[pair]) - 2, 0), len(errors.kinds) + 1), dtype=np.bool_)
            kinds[:, present[pair]] = coalitions(len(present[pair]))[1:-1]
            parts.append(estimates.take([int(pairs.estimate_row[pair])]))
            parts += [edits[pair].mend(kinds)] if len(kinds) else []
            parts.append(references.take([int(pairs.reference_row[pair])]))
            ends.append(ends[-1] + len(kinds) + 2)
        rows, row = concatenate(parts), np.arange(ends[-1], dtype=np.int64)
        variants = np.repeat(pairs.reference_row[batch], np.diff(ends))
        mended = replace(pairs, estimates=rows, estimate_row=row, reference_row=variants)
        scores = convention.score(mended, [whole], grid)
        for pair, first, stop in zip(chosen, ends, ends[1:], strict=False):
            if reasons := [scores.refused[variant] for variant in range(first, stop) if variant in scores.refused]:
                refused[pair] = reasons[0]
            weight[pair] = scores.weight[first, 0]
            values = scores.score[first:stop, 0]
            loss[pair] = np.nan if np.isnan(values[[0, -1]]).any() else 0.0
            # Mending that leaves nothing to measure gains nothing.
            values = np.where(np.isnan(values), values[0], values)
            if len(present[pair]):
                coefficients = shapley_coefficients(len(present[pair]))
                loss[pair, present[pair]] += sign * np.tensordot(coefficients, values, axes=1)
            elif values[0] != values[1] and not exact:
                unseen.append(pair)
    if unseen:  # a matching of the metric that finds less, or another tolerance
        again: dict[int, str] = {}
        loss[unseen] = _split(convention, pairs[np.array(unseen, dtype=np.int64)], whole, grid, again, exact=True)[0]
        refused |= {unseen[pair]: reason for pair, reason in again.items()}
    return loss, weight


def _numbering(
    convention: Convention, written: LabelRows, pairs: Pairs, whole: Measure, grid: Grid
) -> Callable[[Sequence[str]], Int] | None:
    """Number labels so that a metric takes intervals that meet, and have the same number, for one; None: it does not.

    For this, two sides of which both, either or none is written in shorter intervals are scored.
    """
    count, names = len(written.examples), [name for spellings in written.examples for name in spellings]
    within = np.array([0.0, 0.23, 0.31, 0.5, 0.86])

    def write(bounds: Float, parts: int, spellings: int) -> Ragged:
        start = (bounds[:-1, np.newaxis] + np.diff(bounds)[:, np.newaxis] * within[:parts]).ravel()
        label = (2 * np.arange(count)[:, np.newaxis] + np.arange(parts) % spellings).ravel()
        columns = {"start": start, "end": np.append(start[1:], bounds[-1]), "label": label}
        return Ragged(columns, (np.array([len(start)]),), tuple(names))

    ends: tuple[Float, Float] = np.linspace(0, 20 * count, count + 1), np.linspace(0, 20 * count, count + 1)
    ends[1][1:-1] += 6.0 - 12.0 * (np.arange(count - 1) % 2)
    for number_labels in (written.number, number_texts):
        sides = pairs.references, pairs.estimates
        if all(len(merge_rows(side, number_labels).columns["start"]) == len(side.columns["start"]) for side in sides):
            continue
        respelled = number_labels is written.number and any(name != other for name, other in written.examples)
        long, short = ([write(bounds, parts, 1 + respelled) for bounds in ends] for parts in (1, len(within)))
        references, estimates = (concatenate(each) for each in zip(long, short, strict=True))
        rows = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
        score = convention.score(Pairs(references, estimates, *rows), [whole], grid).score[:, 0]
        if np.allclose(score, score[0], rtol=0, atol=1e-9):
            return cache(number_labels)  # the rows of all pairs share two vocabularies
    return None


def coalitions(players: int) -> Bool:
    """All coalitions of players, the empty one first and that of all last: bool (2 ** players, players)."""
    if players > MOST_PLAYERS:
        raise ValueError(f"{players} players have too many coalitions; the most are {MOST_PLAYERS}")
    return (np.arange(2**players)[:, np.newaxis] >> np.arange(players) & 1).astype(np.bool_)


@cache
def shapley_coefficients(players: int) -> Float:
    """Coefficients of the values of all coalitions in each player's share: float64 (players, 2 ** players).

    The share of a player is what it adds to the coalition of those before it, averaged over all orders of the players.
    The shares sum to the value of all players less that of none, and a player that never adds anything has the share 0.

    References
    ----------
    L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953, equation 12.

    Examples
    --------
    >>> (shapley_coefficients(2) @ [0.0, 1.0, 2.0, 5.0]).tolist()
    [2.0, 3.0]
    """
    members = coalitions(players)
    size = members.sum(axis=1)
    whole = factorial(players)
    joining = np.array([factorial(n) * factorial(players - 1 - n) / whole for n in range(players)] + [0.0])
    # A coalition with the player counts by the one that it joined, which has one member less.
    return np.where(members, joining[size - 1, np.newaxis], -joining[size, np.newaxis]).T
