"""Names in a question -> positions among the systems, tracks and metrics of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from ..errors import MetricError, UnknownNameError
from ..metrics.base import Convention, Measure, get_task, parse, tasks
from .question import Names
from .scoreboard import Scoreboard


def as_names(names: Names) -> list[str] | None:
    """One name or several as a list without repetitions; None stays None."""
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(dict.fromkeys(map(str, names)))


def find_labels(board: Scoreboard, dim: str, names: Names) -> list[int]:
    """Positions of names along ``system`` or ``track``; all of them for None.

    What is no name but has ``*``, ``?`` or ``[`` is a pattern that stands for all names that match.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    known = {label: place for place, label in enumerate(board.names(dim))}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    return list(dict.fromkeys(place for name in chosen for place in _matching(dim, name, known)))


def _matching(dim: str, name: str, known: dict[str, int]) -> list[int]:
    """The position of a name, or those that match it as a pattern."""
    if name in known:
        return [known[name]]
    found = [place for label, place in known.items() if fnmatchcase(label, name)] if set("*?[") & set(name) else []
    if not found:
        raise UnknownNameError(dim, name, known)
    return found


def find_metrics(board: Scoreboard, names: Names) -> list[int]:
    """Positions of metrics along ``metric``; all of them for None.

    Parameters
    ----------
    board : Scoreboard
    names : str, sequence of str or None
        Identities as they are stored, other spellings of them (an alias, parameters that are the defaults), or a
        metric's bare name, which stands for all its stored parameters.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    known = {label: place for place, label in enumerate(board.metrics)}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    return list(dict.fromkeys(place for name in chosen for place in _places(board, name, known)))


def _places(board: Scoreboard, name: str, known: dict[str, int]) -> Iterable[int]:
    if name in known:
        return [known[name]]
    identity = _identity(board, name)
    if identity in known:
        return [known[identity]]
    family = [place for label, place in known.items() if label.startswith((f"{name}@", f"{name}("))]
    if not family:
        raise UnknownNameError("metric", name, [*known, *find_tables(board).values()])
    return family


def _identity(board: Scoreboard, name: str) -> str | None:
    """The identity that a name means under the evaluation's convention; None where it means nothing there."""
    measure = _measure(_convention(board), name)
    return None if measure is None else str(measure)


def _convention(board: Scoreboard) -> Convention | None:
    """The convention of an evaluation; None where this mirflow does not know it."""
    task = str(board.attrs.get("task", ""))
    try:
        return get_task(task).convention(board.attrs.get("convention")) if task in tasks() else None
    except UnknownNameError:
        return None


def _measure(convention: Convention | None, name: str) -> Measure | None:
    if convention is None:
        return None
    try:
        return parse(name, convention.metrics)
    except (UnknownNameError, MetricError):
        return None


def find_tables(board: Scoreboard) -> dict[str, str]:
    """The metrics with extra dims that an evaluation holds: the name of each variable and the metric's identity.

    Parameters
    ----------
    board : Scoreboard
    """
    return {variable: str(measure) for variable, measure in find_measures(board).items()}


def find_measures(board: Scoreboard) -> dict[str, Measure]:
    """The metrics with extra dims that an evaluation holds, by the names of their variables."""
    convention = _convention(board)
    if convention is None:
        return {}
    found = {}
    for variable, sibling in board.siblings.items():
        said = [str(sibling.attrs["metric"])] if "metric" in sibling.attrs else _spellings(convention, variable)
        for identity in said:
            measure = _measure(convention, identity)
            if measure is not None and measure.metric.dims and measure.variable == variable:
                found[variable] = measure
    return found


def _spellings(convention: Convention, variable: str) -> Iterable[str]:
    """What a variable may be called that does not say which metric it holds, as in a dataset of the user's own."""
    for metric in convention.metrics:
        value = variable.removeprefix(f"{metric.name}_")
        yield metric.name if value == variable else f"{metric.name}@{value}"


def split_names(board: Scoreboard, names: Names) -> tuple[list[str], list[str]]:
    """Names in a question, apart: those of metrics that are one number, and the variables of those with extra dims.

    A metric with extra dims is named by its identity, by its bare name for all its stored parameters, or by its
    variable. What is not there counts as the name of a number.
    """
    tables, convention = find_tables(board), _convention(board)
    numbers: list[str] = []
    variables: list[str] = []
    for name in as_names(names) or []:
        measure = _measure(convention, name)
        exact = [variable for variable in tables if variable in (name, measure.variable if measure else name)]
        family = [variable for variable in tables if "@" not in name and variable.startswith(f"{name}_")]
        found = [] if name in board.metrics else exact or family
        variables += found
        numbers += [] if found else [name]
    return numbers, list(dict.fromkeys(variables))
