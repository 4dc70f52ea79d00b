"""Figures over tracks as the scores of units: those of each class, tag or source, or those of each fold."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from ...errors import QueryError, UnknownNameError, counted
from ...ragged import Float
from ..across import across, across_of
from ..class_figures import has_classes, rated_kind, rated_variable
from ..extra import ExtraAnswer, ask_extra
from ..names import RATIO_AGGREGATES
from ..question import Question
from ..ratios import CLASS, CONFUSED
from ..scoreboard import Scoreboard
from .sample import TRACK


def figures_as_units(board: Scoreboard, question: Question, unit: str) -> str | None:
    """The variable whose figures are ranked; None where the scores of tracks are, or what is made of them."""
    variable = rated_variable(board, question)
    if unit == TRACK or variable is None:
        return None
    own = unit not in board.coords["track"]
    return variable if own or rated_kind(board, question) is not None else None


def ask_units(
    board: Scoreboard, variable: str, question: Question, unit: str, group: str = ""
) -> tuple[ExtraAnswer, Float]:
    """Figures over tracks, one for each system and unit.

    Parameters
    ----------
    board : Scoreboard
    variable : str
        A metric with extra dims.
    question : Question
    unit : str
        A dim of the figures, or a coordinate along the tracks.
    group : str

    Returns
    -------
    answer : ExtraAnswer
    score : float64 (systems, units)

    Raises
    ------
    QueryError
        For fewer than two systems, further dims, groups, tracks without a value of the coordinate, and as a question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    if question.by:
        raise QueryError(f"systems are ranked on each {unit} over all tracks of a question; name those of one group")
    answer, by = ask_extra(board, variable, replace(question, across=None), group), None
    if unit not in answer.labels and unit in board.coords["track"]:
        answer, by = ask_extra(board, variable, replace(question, by=unit, across=None), group), unit
    if question.aggregate is None and rated_kind(board, question) is None and has_classes(board, variable):
        _want_aggregate(answer, unit)
    if unit not in (*answer.labels, *answer.groupings):
        raise UnknownNameError("unit", unit, [TRACK, *board.coords["track"], *answer.labels])
    if len(answer.systems) < 2:
        raise QueryError(f"{counted(len(answer.systems), 'system')} to compare; at least two are needed")
    if unit in (question.across or {}):
        raise QueryError(f"across {unit!r}: the figures of the units are ranked one by one")
    if by is not None:
        _check_values(answer, unit)
    if question.across:
        answer = cast(ExtraAnswer, across(answer, question.across))
    _check_across(answer)
    left = [dim for dim, labels in answer.labels.items() if dim != unit and (len(labels) > 1 or by is None)]
    if left:
        raise QueryError(
            f"unit {unit!r}: metric {answer.metric!r} has further dims ({', '.join(left)}); reduce them (over, across)"
        )
    return answer, answer.value.reshape(len(answer.systems), -1)


def _want_aggregate(answer: ExtraAnswer, unit: str) -> None:
    """Refuse counts where it is figures of classes or tags that are ranked."""
    if unit != CLASS and unit not in answer.labels:
        return
    own = CLASS if unit in CONFUSED else unit
    kinds = ", ".join(RATIO_AGGREGATES)
    raise QueryError(
        f"unit {unit!r}: metric {answer.metric!r} holds counts, and what is ranked is a figure of each {own}; "
        f"choose an aggregate: {kinds} (--aggregate recall --unit {own})"
    )


def _check_across(answer: ExtraAnswer) -> None:
    """Refuse several figures across the same dim, and deviations, of which neither high nor low ones are better."""
    for dim, names in across_of(answer.attrs).items():
        if len(names) > 1 or "std" in names:
            raise QueryError(
                f"across {dim!r}: systems are ranked by one figure that can be better; choose mean or median"
            )


def _check_values(answer: ExtraAnswer, unit: str) -> None:
    """Refuse tracks that are in no unit."""
    lacking = np.array([value == "" or value != value for value in answer.groupings[unit].tolist()], dtype=bool)
    lost = int(answer.n_tracks[lacking].sum())
    if lost:
        raise QueryError(f"unit {unit!r}: {counted(lost, 'track')} without a value of it; name the tracks to compare")
