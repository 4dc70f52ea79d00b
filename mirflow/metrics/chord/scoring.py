"""The batched kernel of the conventions mir_eval and decibel: all measures of all pairs from one set of timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import MetricError
from ...ragged import Bool, Int, Ragged
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from .confusion import to_sparse
from .cutting import Axis, Side, lay_out, to_frames
from .encoding import Chords, encode_sides
from .readings import DECIBEL, MIR_EVAL, Builder, confused
from .refusals import refuse
from .totals import Totals, Wanted, add_up

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
        Columns start, end (float64, seconds) and label; rows as :func:`mirflow.metrics.chord.cleaning.clean` leaves
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
    return _score(references, estimates, reference_row, estimate_row, measures, grid, MIR_EVAL, merging=True)


def score_unmerged(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by DECIBEL's rules: as `score`, but neighbours with equal chords are not merged."""
    return _score(references, estimates, reference_row, estimate_row, measures, grid, DECIBEL, merging=False)


def _score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid,
    builders: Mapping[str, Builder],
    merging: bool,
) -> Scores:
    hop = _hop(grid)
    chords = encode_sides(references, estimates)
    refused, silent, scorable = _sort_out(references, estimates, reference_row, estimate_row, chords, merging)
    estimate_row = np.where(silent, len(estimates), estimate_row)
    sides = Side(references, chords.reference), Side(_with_empty_row(estimates), chords.estimate)
    scalars = [measure for measure in measures if not measure.metric.dims]
    matrices = [str(measure["vocabulary"]) for measure in measures if measure.metric.dims]
    readings = [builders[measure.metric.name](measure) for measure in scalars]
    needs: dict[float | None, Wanted] = {}
    for own_hop, wanted in [(one.hop, one.wanted) for one in readings] + [(None, confused(name)) for name in matrices]:
        at = hop if own_hop is None else _hop(own_hop)
        needs[at] = needs.get(at, Wanted()) | wanted
    merged = chords.merged if merging else None
    rows = reference_row[scorable], estimate_row[scorable]
    totals, axis = _totals(needs, sides, rows, chords, merged)
    values = np.zeros((2, len(reference_row), len(scalars)))
    for column, one in enumerate(readings):
        values[:, scorable, column] = one.read(totals[hop if one.hop is None else one.hop])
    values[0, list(refused)] = np.nan
    extras: dict[str, Sparse] = {}
    heard = np.array([pair not in refused for pair in scorable.tolist()], dtype=np.bool_)
    for name in matrices:
        extras[f"confusion_{name}"] = to_sparse(totals[hop].confusions[name], name, scorable, heard)
    repairs = np.zeros(len(reference_row), dtype=np.int64)
    repairs[scorable] = axis.ragged_ends
    return Scores(values[0], values[1], extras, refused, repairs)


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
    sides: tuple[Side, Side],
    rows: tuple[Int, Int],
    chords: Chords,
    merged: Int | None,
) -> tuple[dict[float | None, Totals], Axis]:
    exact = lay_out(sides, *rows, merged)
    silent_gaps = lay_out(sides, *rows, merged, carry=False) if any(hop is not None for hop in needs) else exact
    totals = {}
    for hop, wanted in needs.items():
        totals[hop] = add_up(exact if hop is None else to_frames(silent_gaps, hop), chords, wanted)
    return totals, exact
