"""Cells without a score: every one as a table, or the kinds of reasons as lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.problems import CellProblem, group_problems
from .messages import shorten
from .tables import Table

_KINDS = 5


def problems_table(group: str, problems: Sequence[CellProblem], *, cut: bool = False) -> Table:
    """A row for each cell without a score.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    cut : bool
        Whether long values in messages are cut, for people.
    """
    rows = tuple(
        (group, one.system, one.track, one.status.name, shorten(one.message) if cut else one.message)
        for one in problems
    )
    return Table(("group", "system", "track", "status", "message"), rows, folds=("message",))


def problem_lines(group: str, problems: Sequence[CellProblem]) -> list[str]:
    """The most frequent kinds of reasons, each with its number of cells and an example.

    Parameters
    ----------
    group : str
        Name of the evaluation.
    problems : sequence of CellProblem
    """
    kinds = group_problems(problems)
    lines = []
    for kind in kinds[:_KINDS]:
        cells = f"{len(kind)} cell{'s' if len(kind) != 1 else ''}"
        example = "" if len({one.message for one in kind}) == 1 else "such as "
        status = "without some metrics" if kind[0].status.scored else kind[0].status.name
        lines.append(f"{group}: {cells}: {status}: {example}{shorten(kind[0].message)}")
    if len(kinds) > _KINDS:
        rest = sum(map(len, kinds[_KINDS:]))
        kind_count = len(kinds) - _KINDS
        lines.append(f"{group}: {rest} more cells for {kind_count} other reason{'s' if kind_count != 1 else ''}")
    return lines
