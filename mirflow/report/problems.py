"""Cells without a score, of what is empty, or with a warning: each as a table, or the kinds of reasons as lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.problems import CellProblem, group_problems
from ..errors import counted
from ..status import EMPTY
from .messages import shorten
from .tables import Table

_KINDS = 5


def problems_table(group: str, problems: Sequence[CellProblem], *, cut: bool = False) -> Table:
    """A row for each cell without a score, with that of an empty file, or with a warning; ``scored`` tells them apart.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    cut : bool
        Whether long values in messages are cut, for people.
    """
    rows = tuple(
        (group, one.system, one.track, one.status.name, one.scored, shorten(one.message) if cut else one.message)
        for one in problems
    )
    return Table(("group", "system", "track", "status", "scored", "message"), rows, folds=("message",))


def problem_lines(group: str, problems: Sequence[CellProblem]) -> list[str]:
    """The most frequent kinds of reasons, each with its number of cells and an example; behind them what has a score.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    """
    kinds = group_problems([one for one in problems if one.scored != "yes"])
    lines = []
    for kind in kinds[:_KINDS]:
        status = "without some metrics" if kind[0].status.scored else kind[0].status.name
        lines.append(_line(group, status, kind))
    if len(kinds) > _KINDS:
        rest = sum(map(len, kinds[_KINDS:]))
        kind_count = len(kinds) - _KINDS
        lines.append(f"{group}: {rest} more cells for {kind_count} other reason{'s' if kind_count != 1 else ''}")
    for state in sorted(EMPTY):
        kind = [one for one in problems if one.status == state]
        if kind:
            lines.append(_line(group, f"{state.name}, with a score", kind))
    for kind in group_problems([one for one in problems if one.warned]):
        lines.append(_line(group, "with a score", kind))
    return lines


def _line(group: str, what: str, kind: Sequence[CellProblem]) -> str:
    """One kind of reason, with an example where cells differ."""
    example = "" if len({one.message for one in kind}) == 1 else "such as "
    return f"{group}: {counted(len(kind), 'cell')}: {what}: {example}{shorten(kind[0].message)}"
