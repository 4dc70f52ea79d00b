"""Evaluations against several annotators, as if each annotation of a track were a track of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ..errors import QueryError
from ..ragged import Bool, Float
from ..status import SCORED
from .scoreboard import Array, Loaded, Scoreboard, Sibling, Systems

ANNOTATOR = "annotator"
SCORE, WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables over (system, track, annotator, metric)."""


def has_annotators(board: Scoreboard) -> bool:
    """Whether an evaluation keeps the scores of each annotator."""
    return SCORE in board.siblings and WEIGHT in board.siblings


def by_annotator(board: Scoreboard, tracks: list[int]) -> Scoreboard:
    """An evaluation with a row for each annotation of some tracks, and the coordinate ``annotator`` along them.

    Parameters
    ----------
    board : Scoreboard
    tracks : list of int
        Positions of the tracks.

    Returns
    -------
    Scoreboard
        Over the annotations that any system has a score for: what nobody scored is known of the whole track only. A
        track's duration and its statuses are those of the whole track.

    Raises
    ------
    QueryError
        If the evaluation does not keep scores by annotator.
    """
    if not has_annotators(board):
        raise QueryError(f"by {ANNOTATOR!r}: this evaluation keeps no scores by annotator; run it with combine: each")
    annotators = board.siblings[SCORE].labels()[0]
    every = np.array([_exists(board, system)[tracks] for system in range(len(board.systems))])
    row, own = np.nonzero(every.any(axis=0)) if len(every) else (np.zeros(0, int), np.zeros(0, int))
    place = np.array(tracks, dtype=np.int64)[row]

    def load(systems: Systems) -> Loaded:
        _, _, status, duration = board.load(systems)
        score, weight = (_read(board, name, systems)[:, place, own] for name in (SCORE, WEIGHT))
        status = status[:, place]
        score[~np.isin(status, [int(one) for one in SCORED])] = np.nan
        return score, weight, status, duration[place]

    coords = {name: values[place] for name, values in board.coords["track"].items()}
    coords[ANNOTATOR] = np.array(annotators, dtype=str)[own]
    names = [board.tracks[one] for one in place.tolist()]

    def texts(read: Callable[[], Array]) -> Array:
        return np.broadcast_to(read(), (len(board.systems), len(board.tracks)))[:, place]

    return replace(
        board,
        tracks=names,
        coords={**board.coords, "track": coords},
        load=load,
        siblings={},
        messages=partial(texts, board.messages),
        digests=partial(texts, board.digests),
    )


def _exists(board: Scoreboard, system: int) -> Bool:
    """Whether a system has a score for an annotation: bool (tracks, annotators)."""
    score, weight = (_values(board, board.siblings[name], system) for name in (SCORE, WEIGHT))
    return np.asarray(((weight > 0) | ~np.isnan(score)).any(axis=2))


def _read(board: Scoreboard, name: str, systems: Systems) -> Float:
    sizes = (len(board.tracks), *map(len, board.siblings[name].labels()))
    values = [_values(board, board.siblings[name], system) for system in systems]
    return np.array(values).reshape(len(values), *sizes)


def _values(board: Scoreboard, sibling: Sibling, system: int) -> Array:
    """Values of a system with its metrics in the order of the evaluation: float64 (tracks, annotators, metrics)."""
    labels = sibling.labels()[1]
    values = sibling.read(system, slice(None))
    if list(labels) == board.metrics:
        return values
    return values[..., [labels.index(name) for name in board.metrics]]
