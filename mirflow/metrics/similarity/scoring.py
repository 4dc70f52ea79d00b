"""The batched kernel of graded similarity."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from ...kernels.judged import Met
from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int, Ragged, offsets_of, rows_of
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .judgements import Judged, gather, meet, stand_ahead

ADR = "average_dynamic_recall"
FINE = "fine"
SCHEMES = MappingProxyType(
    {
        "psum": (0.0, 1.0, 2.0),
        "wcsum": (0.0, 1.0, 3.0),
        "sdsum": (0.0, 1.0, 4.0),
        "greater0": (0.0, 1.0, 1.0),
        "greater1": (0.0, 0.0, 1.0),
    }
)
"""What the categories NS, SS and VS count."""
UNJUDGED = ("refuse", "zero", "skip")
_NAMED = 3
"""Unjudged candidates that a message names."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of lists of candidates by what graders said of them.

    Parameters
    ----------
    references, estimates : Ragged
        Judgements, and lists in the order of rank, as :func:`mirflow.metrics.similarity.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Lists have no time.

    Returns
    -------
    Scores
        The weight is the number of places that count. A score is NaN with weight 0 where the query has no judgements of
        the sort that it needs. Pairs whose list holds an unjudged candidate are refused unless the measure says
        otherwise, as are fine judgements outside the measure's scale.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    table 4, equations 13 and 14.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> judged = Ragged({"label": np.array([0, 1, 2]), "level": np.array([2.0, 1.0, 0.0]),
    ...                  "value": np.array([9.0, 5.0, 0.5])}, (np.array([3]),), ("x", "y", "z"))
    >>> listed = Ragged({"label": np.array([0, 1])}, (np.array([2]),), ("y", "z"))
    >>> wanted = get_task("similarity").convention().select(["fine@2", "psum@2"])
    >>> row = np.array([0])
    >>> score(judged, listed, row, row, wanted).score.tolist()
    [[0.275, 0.25]]
    """
    refuse_grid(grid, "candidates")
    judged = gather(references)
    met = meet(judged, references.labels, estimates, reference_row, estimate_row)
    listed = estimates.counts[0][estimate_row]
    shape = len(reference_row), len(measures)
    scores, weights = np.zeros(shape), np.zeros(shape)
    unknown = np.zeros(len(reference_row), dtype=np.int64)
    refused: dict[int, str] = {}
    for column, measure in enumerate(measures):
        if measure.metric.name == ADR:
            scores[:, column], weights[:, column] = _dynamic_recall(judged, met, reference_row, measure)
            continue
        worth = _worth(judged, measure)
        known = ~np.isnan(worth)
        any_judged = np.bincount(rows_of(judged.counts)[known], minlength=len(references))[reference_row] > 0
        tally = _tally(met, worth, known, listed, measure)
        scores[:, column] = np.where(any_judged, tally.score, np.nan)
        weights[:, column] = np.where(any_judged, tally.places, 0)
        missing = np.where(any_judged, tally.missing, 0)
        if measure["unjudged"] == "refuse":
            for pair in np.flatnonzero(missing).tolist():
                refused.setdefault(pair, _unjudged(estimates, int(estimate_row[pair]), met, pair, known, measure))
        else:
            unknown = np.maximum(unknown, missing)
        if measure.metric.name == FINE:
            _check_scale(judged, reference_row, measure, refused)
    scores[list(refused)] = np.nan
    return Scores(scores, weights, refused=refused, repairs=unknown)


def _worth(judged: Judged, measure: Measure) -> Float:
    """What each candidate counts, from 0 to 1; NaN if it was not judged so."""
    if measure.metric.name == FINE:
        return judged.fine / float(measure["scale"])
    weights = SCHEMES[measure.metric.name]
    return judged.broad(weights) / max(weights)


class _Tally:
    """Score, places that count, and unjudged candidates among them, of each pair."""

    def __init__(self, score: Float, places: Int, missing: Int) -> None:
        self.score, self.places, self.missing = score, places, missing


def _tally(met: Met, worth: Float, known: Bool, listed: Int, measure: Measure) -> _Tally:
    """The mean worth over the first places; places that a list does not fill count 0."""
    most = int(measure["k"])
    taken = np.minimum(listed, most) if most else listed
    counted = known[met.judged] & (met.place < taken[met.pair])
    missing = taken - np.bincount(met.pair[counted], minlength=len(listed))
    places = np.full_like(listed, most) if most else listed
    nothing = np.zeros(len(listed))
    if measure["unjudged"] == "skip":
        places = places - missing
        nothing[missing > 0] = np.nan  # where every place was left out there is nothing to measure
    total = sum_by(met.pair[counted], worth[met.judged[counted]], len(listed))
    return _Tally(np.divide(total, places, out=nothing, where=places > 0), places, missing)


def _dynamic_recall(judged: Judged, met: Met, reference_row: Int, measure: Measure) -> tuple[Float, Float]:
    """Equations 13 and 14, and the number of places of each pair.

    A candidate of the list counts from the place where it stands, but not before the first place of its group.
    """
    relevance = judged.relevance(str(measure["by"]))
    relevant = np.where(relevance > float(measure["above"]), relevance, -np.inf)
    ahead, total = stand_ahead(relevant, judged.counts)
    most = int(measure["k"])
    places = total[reference_row]
    if most:
        places = np.minimum(places, most)
    start = np.maximum(met.place, ahead[met.judged])
    counted = (ahead[met.judged] >= 0) & (start < places[met.pair])
    offsets = offsets_of(places)
    entering = np.bincount(offsets[met.pair[counted]] + start[counted], minlength=int(offsets[-1]))
    running = np.concatenate([[0], np.cumsum(entering)])
    pair = rows_of(places)
    here = np.arange(offsets[-1]) - offsets[pair] + 1
    recall = (running[1:] - running[offsets[pair]]) / here
    mean = np.divide(sum_by(pair, recall, len(places)), places, out=np.full(len(places), np.nan), where=places > 0)
    return mean, places.astype(np.float64)


def _unjudged(estimates: Ragged, row: int, met: Met, pair: int, known: Bool, measure: Measure) -> str:
    """Which of the first candidates of a list nobody judged."""
    most = int(measure["k"])
    start, stop = estimates.offsets[row : row + 2]
    codes = estimates.columns["label"][start:stop][: most or None]
    own = met.pair == pair
    judged = set(met.place[own & known[met.judged]].tolist())
    missing = [place for place in range(len(codes)) if place not in judged]
    named = ", ".join(f"{estimates.labels[codes[place]]!r} (rank {place + 1})" for place in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    what = "fine" if measure.metric.name == FINE else "broad"
    hint = f"{measure.metric.name}(unjudged=zero) counts them as not similar, unjudged=skip leaves them out"
    return f"no {what} judgement of {named}{more}; {hint}"


def _check_scale(judged: Judged, reference_row: Int, measure: Measure, refused: dict[int, str]) -> None:
    scale = float(measure["scale"])
    for side, off in ((judged.lowest, judged.lowest < 0), (judged.highest, judged.highest > scale)):
        off = off & np.isfinite(side)
        for pair in np.flatnonzero(off[reference_row]).tolist():
            found = f"a fine judgement of {side[reference_row[pair]]:g} is not from 0 to {scale:g}"
            refused.setdefault(pair, f"{found}; set the scale, as in fine(scale=100)")
