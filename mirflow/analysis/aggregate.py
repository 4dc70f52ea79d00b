"""Scores of tracks -> figures of a collection, which say how they came about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ragged import Bool, Float, Int
from .answer import Answer
from .cautions import WARNINGS, told_cautions
from .choosing import CHOSEN
from .grouping import Grouping
from .part import Part, select
from .question import Names, Question
from .reduction import reduce
from .references import REFERENCES_DIFFER
from .scoreboard import Scoreboard
from .selection import as_names

_ORIGIN = ("task", "convention", "grid")
STORES = "stores"
"""The attribute of an evaluation that was joined from several stores."""

VALUELESS = "valueless"
"""The attribute of an answer that says which scores with nothing to measure are NaN: ``some`` or ``all``."""


def ask(board: Scoreboard, question: Question | None = None, group: str = "") -> Answer:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    board : Scoreboard
    question : Question or None
        None: all metrics with their standard aggregates.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    Answer

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    return answer_of(select(board, question), question.by, group)


def answer_of(part: Part, by: Names = None, group: str = "") -> Answer:
    """The figures of what was selected, one for each group that some coordinates make of the tracks.

    Raises
    ------
    QueryError
        For a coordinate that does not lie along the tracks, or durations that are not known.
    UnknownNameError
        For a coordinate that is not there, with a suggestion.
    """
    grouping = Grouping.of(part.board, part.tracks, as_names(by) or [])
    value, counts, n_tracks = _compute(part, grouping)
    policies = {"missing": part.missing, "undefined": part.undefined, "left_out": " ".join(part.left_out)}
    policies |= {name: str(count) for name, count in part.gaps.count_cells().items()}
    if part.valueless:
        policies[VALUELESS] = part.valueless
    return Answer(
        part.system_names,
        part.metric_names,
        part.kinds,
        {name: values[part.systems] for name, values in part.board.coords["system"].items()},
        {name: values[part.metrics] for name, values in part.board.coords["metric"].items()},
        grouping.values,
        value,
        counts,
        n_tracks,
        {**origin_of(part.board, group, part.system_names), **policies},
    )


def origin_of(board: Scoreboard, group: str, systems: Sequence[str] = ()) -> dict[str, str]:
    """Where the numbers of an answer about some systems come from, and what was warned of when these were scored."""
    told = (*_ORIGIN, STORES, REFERENCES_DIFFER, *CHOSEN)
    origin = {name: str(board.attrs[name]) for name in told if name in board.attrs}
    cautions = "\n".join(told_cautions(board.attrs, systems))
    return {**({"group": group} if group else {}), **origin, **({WARNINGS: cautions} if cautions else {})}


def _compute(part: Part, grouping: Grouping) -> tuple[Float, dict[str, Int], Int]:
    """Values and counts (systems, metrics, groups), and tracks (groups,)."""
    score, included = part.scores()
    flags = {"n": included, "n_missing": part.gaps.missing, "n_undefined": part.gaps.undefined}
    shape = (len(part.systems), len(part.metrics), grouping.count)
    value: Float = np.full(shape, np.nan)
    counts: dict[str, Int] = {name: np.zeros(shape, dtype=np.int64) for name in flags}
    n_tracks: Int = np.zeros(grouping.count, dtype=np.int64)
    for group, members in grouping.members().items():
        whole = len(members) == len(part.tracks)
        three = (score, part.weight, included)
        inside = three if whole else (score[:, members], part.weight[:, members], included[:, members])
        value[..., group] = reduce_kinds(*inside, part.duration[members], part.kinds)
        for name, flag in flags.items():
            counts[name][..., group] = flag[:, members].sum(axis=1)
        n_tracks[group] = len(members)
    return value, counts, n_tracks


def reduce_kinds(score: Float, weight: Float, included: Bool, duration: Float, kinds: list[str]) -> Float:
    """The aggregate of each metric over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
    included : bool (systems, tracks, metrics)
    duration : float64 (tracks,), seconds
    kinds : list of str
        The aggregate of each metric.

    Returns
    -------
    float64 (systems, metrics)
        As :func:`mirflow.analysis.reduction.reduce`.
    """
    value: Float = np.full((score.shape[0], score.shape[2]), np.nan)
    for kind in dict.fromkeys(kinds):
        chosen = [place for place, one in enumerate(kinds) if one == kind]
        whole = len(chosen) == len(kinds)
        three = (score, weight, included) if whole else _columns((score, weight, included), chosen)
        value[:, chosen] = reduce(three[0], three[1], duration, kind, three[2])
    return value


def _columns(arrays: tuple[Float, Float, Bool], chosen: list[int]) -> tuple[Float, Float, Bool]:
    """Some metrics of scores, weights and what is included, contiguous like the whole."""
    score, weight, included = arrays
    return np.ascontiguousarray(score[..., chosen]), np.ascontiguousarray(weight[..., chosen]), included[..., chosen]
