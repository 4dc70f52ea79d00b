"""Arguments that are refused: a misspelt keyword is an error with a suggestion, never dropped in silence."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import MetricError, suggest
from .task import Grid


def refuse_unknown(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise for the first keyword argument that a function does not know.

    Parameters
    ----------
    function : str
        Its name, for the message.
    given, known : iterable of str

    Raises
    ------
    TypeError
        With the nearest known name.

    Examples
    --------
    >>> refuse_unknown("evaluate", {"windwo": 0.1}, ["window", "duration"])
    Traceback (most recent call last):
        ...
    TypeError: evaluate() got an unexpected keyword argument 'windwo'; did you mean 'window'?
    """
    known = list(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; {suggest(name, known)}")


def refuse_grid(grid: Grid, what: str) -> None:
    """Raise for any grid but the default, in tasks that compare items one by one or have no time at all.

    Parameters
    ----------
    grid : str or float
    what : str
        What is scored, for the message.

    Raises
    ------
    MetricError

    Examples
    --------
    >>> refuse_grid("union", "keys")
    """
    if grid != "union":
        raise MetricError(f"{what} are not scored on grid {grid!r}; leave the grid out")
