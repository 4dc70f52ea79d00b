"""Names in a question -> positions among the systems, tracks and metrics of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import MetricError, UnknownNameError
from ..metrics.base import get_task, parse, tasks
from .scoreboard import Scoreboard

Names = str | Sequence[str] | None


def as_names(names: Names) -> list[str] | None:
    """One name or several as a list without repetitions; None stays None."""
    if names is None:
        return None
    return [names] if isinstance(names, str) else list(dict.fromkeys(map(str, names)))


def find_labels(board: Scoreboard, dim: str, names: Names) -> list[int]:
    """Positions of names along ``system`` or ``track``; all of them for None.

    Raises
    ------
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    known = {label: place for place, label in enumerate(board.names(dim))}
    chosen = as_names(names)
    if chosen is None:
        return list(known.values())
    for name in chosen:
        if name not in known:
            raise UnknownNameError(dim, name, known)
    return [known[name] for name in chosen]


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
        raise UnknownNameError("metric", name, known)
    return family


def _identity(board: Scoreboard, name: str) -> str | None:
    """The identity that a name means under the evaluation's convention; None where it means nothing there."""
    task = str(board.attrs.get("task", ""))
    if task not in tasks():
        return None
    try:
        convention = get_task(task).convention(board.attrs.get("convention"))
        return str(parse(name, convention.metrics))
    except (UnknownNameError, MetricError):
        return None
