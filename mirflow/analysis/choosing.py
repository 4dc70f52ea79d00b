"""What narrows a question down: tracks for which an expression holds, annotators, parameters."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.base import Measure
from ..ragged import Bool
from .annotators import ANNOTATOR, by_annotator
from .question import Parameters, Question
from .scoreboard import Scoreboard
from .selection import as_names, find_labels
from .where import holds

DURATION = "duration"
CHOSEN = ("where", "annotator", "param", "default", "over")
"""Attributes of an answer that say what narrowed it down."""

_ABOUT = ("title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit")


def choose_tracks(board: Scoreboard, question: Question) -> tuple[Scoreboard, list[int]]:
    """The tracks of a question, on a board that has a row for each annotation where annotators are asked for.

    Returns
    -------
    board : Scoreboard
        Its attributes say what narrows the question down.
    tracks : list of int

    Raises
    ------
    QueryError
        For an expression that is none, or annotators of an evaluation that does not keep their scores.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    tracks = find_labels(board, "track", question.tracks)
    wanted = as_names(question.annotator)
    grouped = ANNOTATOR in (as_names(question.by) or [])
    if (grouped or wanted is not None) and ANNOTATOR not in board.coords["track"]:
        if question.missing == "zero":
            raise QueryError(
                "by 'annotator': a missing score cannot count as 0, as the weights of empty estimates are not kept "
                "by annotator; choose missing skip or common (--missing)"
            )
        board = by_annotator(board, tracks)
        tracks = list(range(len(board.tracks)))
    if wanted is not None:
        tracks = _of_annotators(board, tracks, wanted)
    if question.where is not None:
        held = _holds(board, question.where)
        tracks = [place for place in tracks if held[place]]
    said = {
        "where": question.where,
        "annotator": wanted and ", ".join(wanted),
        "param": show_parameters(question.param),
    }
    return replace(board, attrs={**board.attrs, **{name: text for name, text in said.items() if text}}), tracks


def _holds(board: Scoreboard, expression: str) -> Bool:
    """For which tracks an expression holds."""
    columns = {"track": np.array(board.tracks, dtype=str), **board.coords["track"]}
    if DURATION in expression and DURATION not in columns:
        columns[DURATION] = board.load([])[3]
    try:
        return holds(expression, columns, len(board.tracks))
    except UnknownNameError as error:
        for dim in ("system", "metric"):
            if error.name == dim or error.name in board.coords[dim]:
                known = ", ".join(sorted(columns))
                raise QueryError(
                    f"where: {error.name!r} lies along {dim}; tracks are chosen here, by: {known}"
                ) from None
        if not difflib.get_close_matches(error.name, columns, n=1):
            raise QueryError(f"where: {error}; a text stands in quotes: {error.name!r}") from None
        raise


def _of_annotators(board: Scoreboard, tracks: list[int], wanted: Sequence[str]) -> list[int]:
    """The rows of some annotators."""
    own = [str(name) for name in board.coords["track"][ANNOTATOR].tolist()]
    for name in wanted:
        if name not in own:
            raise UnknownNameError(ANNOTATOR, name, set(own))
    return [place for place in tracks if own[place] in wanted]


def choose_metrics(board: Scoreboard, places: list[int], param: Parameters) -> list[int]:
    """The metrics among some that have the parameters of a question.

    Raises
    ------
    UnknownNameError
        For a name that is no parameter, with a suggestion.
    QueryError
        For a value that no metric has.
    """
    for name, wanted in (param or {}).items():
        known = [one for one in board.coords["metric"] if one not in _ABOUT]
        if name not in known:
            raise UnknownNameError("parameter", name, known)
        values = [board.coords["metric"][name].tolist()[place] for place in places]
        kept = [place for place, value in zip(places, values, strict=True) if _is_one_of(value, wanted)]
        if not kept:
            there = ", ".join(sorted({_show(value) for value in values if value == value and value != ""}, key=_number))
            raise QueryError(f"no metric of the question has {name} {_show(wanted)}; values there: {there or 'none'}")
        places = kept
    return places


def has_parameters(measure: Measure, param: Parameters) -> bool:
    """Whether a measure has the parameters of a question."""
    own: Mapping[str, object] = measure.parameters
    return all(name in own and _is_one_of(own[name], wanted) for name, wanted in (param or {}).items())


def show_parameters(param: Parameters) -> str:
    """The parameters of a question as text: ``window=0.05``."""
    return ", ".join(f"{name}={_show(wanted)}" for name, wanted in (param or {}).items())


def _is_one_of(value: object, wanted: object) -> bool:
    several = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    return any(_same(value, one) for one in (wanted if isinstance(wanted, Sequence) and several else [wanted]))


def _same(value: object, wanted: object) -> bool:
    """Whether a stored value is the one wanted, whichever of them is text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value) == float(str(wanted))
        except ValueError:
            return False
    return _show(value) == _show(wanted)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_show, value))
    return str(value)


def _number(text: str) -> tuple[bool, float, str]:
    """Numbers before texts, each in their order."""
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text
