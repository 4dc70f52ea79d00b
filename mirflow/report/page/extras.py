"""Metrics with extra dims, such as confusion matrices, for the page: one aggregate over the tracks for each system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis.extra import ExtraAnswer, ask_extra
from ...analysis.question import Question
from ...analysis.scoreboard import Scoreboard
from ...analysis.selection import find_measures
from ...errors import QueryError
from .blocks import Blocks

VALUES = 1_000_000
"""Values of all systems together that one metric may have to be in the page."""
LABELS = {1: 2_000, 2: 400}
"""Labels along each extra dim that can be drawn, by the number of dims, without those that nobody has a value for."""


def describe_extras(board: Scoreboard, blocks: Blocks) -> list[dict[str, Any]]:
    """The metrics with extra dims of an evaluation; their numbers go to the blocks.

    Parameters
    ----------
    board : Scoreboard
    blocks : Blocks
        It grows.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``unit``, ``aggregate``, ``missing`` (the policy), ``score`` (whether values are scores,
        not counts), ``dims`` (names and labels, without those that nobody has a value for), ``value``: the number of
        a block, or why there is none.
    """
    described = []
    for variable, measure in find_measures(board).items():
        about: dict[str, Any] = {"name": str(measure), "title": measure.metric.title, "dims": [], "unit": ""}
        sizes = [len(labels) for labels in board.siblings[variable].labels()]
        if len(sizes) not in LABELS or len(board.systems) * int(np.prod(sizes)) > VALUES:
            about["value"] = _too_many(sizes)
        else:
            try:
                about |= _figures(ask_extra(board, variable, Question()), board, blocks)
            except QueryError as error:
                about["value"] = str(error)
        described.append(about)
    return described


def _figures(answer: ExtraAnswer, board: Scoreboard, blocks: Blocks) -> dict[str, Any]:
    """One metric's figures, systems in the order of the evaluation."""
    value = answer.value[[answer.systems.index(name) for name in board.systems], 0]
    dims = []
    for axis, (name, labels) in enumerate(answer.labels.items(), start=1):
        others = tuple(one for one in range(value.ndim) if one != axis)
        told = ~np.isnan(value) if answer.is_score else np.nan_to_num(value) != 0
        kept = np.flatnonzero(told.any(axis=others))
        value = value.take(kept, axis=axis)
        dims.append([name, [labels[place] for place in kept.tolist()]])
    if max(value.shape[1:]) > LABELS[len(dims)]:
        return {"value": _too_many(value.shape[1:])}
    return {
        "dims": dims,
        "unit": answer.unit,
        "aggregate": answer.aggregate,
        "missing": answer.attrs["missing"],
        "score": answer.is_score,
        "value": blocks.add_floats(value),
    }


def _too_many(sizes: Sequence[int]) -> str:
    return f"It has {' x '.join(map(str, sizes))} values for each system, too many for this page."
