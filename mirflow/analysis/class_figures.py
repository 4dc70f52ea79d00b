"""Figures of classes and tags in questions: whether one is about them, and what others call them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .choosing import has_parameters
from .names import CLASS_AGGREGATES, ORDER_AGGREGATES, RATIO_AGGREGATES, table_aggregates
from .question import Question
from .scoreboard import Scoreboard
from .selection import find_measures, split_names

_MEANS = frozenset(("macro", "normalised", "normalized", "balanced", "unweighted"))
_MICRO = "micro"


def rated_kind(board: Scoreboard, question: Question) -> str | None:
    """The aggregate of a question about figures that are read off all tracks together; None for any other question.

    Parameters
    ----------
    board : Scoreboard
    question : Question
        Where it names no aggregate, that of its metric counts, which of affinities is the area under the curve.
    """
    if question.aggregate is not None:
        return question.aggregate if question.aggregate in CLASS_AGGREGATES else None
    numbers, variables = split_names(board, question.metric, exact=question.exact)
    if numbers or not variables:
        return None
    measures = find_measures(board)
    kinds = {next(iter(_aggregates(board, one))) for one in variables if measures[one].metric.orientation == "none"}
    return kinds.pop() if len(kinds) == 1 and kinds <= {*ORDER_AGGREGATES} else None


def rated_variables(board: Scoreboard, question: Question) -> list[str]:
    """The variables of a question about metrics with classes or tags: those of all stored parameters, or of its own.

    Empty where it also names metrics that are one number.
    """
    numbers, variables = split_names(board, question.metric, exact=question.exact)
    measures = find_measures(board)
    return [] if numbers else [one for one in variables if has_parameters(measures[one], question.param)]


def rated_variable(board: Scoreboard, question: Question) -> str | None:
    """The one variable of such a question: where several parameters are stored that of the default ones."""
    variables = rated_variables(board, question)
    if len(variables) > 1:
        measures = find_measures(board)
        variables = [one for one in variables if str(measures[one]) == measures[one].metric.name]
    return variables[0] if len(variables) == 1 else None


def has_classes(board: Scoreboard, variable: str) -> bool:
    """Whether figures of classes or tags are read off a metric."""
    return not CLASS_AGGREGATES.keys().isdisjoint(_aggregates(board, variable))


def explain_name(name: str, boards: Iterable[Scoreboard]) -> str:
    """How to ask for what is no metric but a figure of a metric with classes or tags: of a ``balanced_accuracy``.

    Parameters
    ----------
    name : str
        As others call it: macro and micro averages, class-normalised and balanced accuracy.
    boards : iterable of Scoreboard
        What was asked.

    Returns
    -------
    str
        Empty where the name is none of these, or nothing was counted that it could be read off.
    """
    words = {word for word in re.split(r"[^a-z0-9]+", name.lower()) if word}
    kind, mean = _kind(words), bool(words & _MEANS)
    if kind is None or mean == (_MICRO in words):
        return ""
    found = [said for board in boards for said in _sayings(board, kind, words, mean)]
    return f"it is read off all tracks together: {' or '.join(dict.fromkeys(found))}" if found else ""


def _kind(words: set[str]) -> str | None:
    """The aggregate that some words are about."""
    if "auc" in words:
        return "roc_auc"
    if {"average", "precision"} <= words or "map" in words:
        return "average_precision"
    if words & {"f", "f1", "fscore", "fmeasure", "f1score"}:
        return "f_measure"
    return next((kind for kind in ("precision", "recall", "accuracy") if kind in words), None)


def _sayings(board: Scoreboard, kind: str, words: set[str], mean: bool) -> Iterable[str]:
    """The questions to one evaluation that answer."""
    for variable, measure in find_measures(board).items():
        dims = measure.metric.dims
        if kind not in _aggregates(board, variable):
            continue
        if "tag" in dims:
            reduced = "--across tag=mean" if mean else "--over tag=sum"
            if mean or kind in RATIO_AGGREGATES:
                yield f"-m {measure} -a {kind} {reduced}"
        elif mean:
            # The accuracy of a class is that of its own tracks, which is their recall.
            yield f"-m {measure} -a {'recall' if kind == 'accuracy' else kind} --across class=mean"


def _aggregates(board: Scoreboard, variable: str) -> Mapping[str, str]:
    metric = find_measures(board)[variable].metric
    return table_aggregates(metric.orientation, metric.dims)
