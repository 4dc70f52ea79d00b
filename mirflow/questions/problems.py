"""List every cell without a score, of an empty file, or with a warning, with the reason.

Tables for people group cells by their cause; csv and json have a row for each cell.

Returns
-------
Tabulation of CellProblem
    Its notes are the warnings about whole evaluations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import Query
from . import Boards, question

if TYPE_CHECKING:
    from ..reports.tables import Table


@question(
    "List cells without a score, with the reasons.",
    section="stores",
    place=2,
    words=(),
    by_track=True,
    cost=lambda scores, systems, tracks, words: 0.0,
)
def problems(boards: Boards, query: Query) -> Any:
    from ..analysis.selection import count_scored, find_problems
    from ..reports.summaries import causes_table, problems_table
    from ..reports.tables import Table, Tabulation, merge
    from ..store.format import list_cautions

    listed = {name: find_problems(ds) for name, ds in boards.items()}
    every = [problem for cells in listed.values() for problem in cells]
    warned = [f"warning: {name}: {text}" for name, ds in boards.items() for text in list_cautions(ds.attrs)]

    def for_people(width: int) -> list[Table]:
        scored = count_scored(every)
        counts = ["every cell has a score"] if all(problem.scored == "yes" for problem in every) else []
        counts += [f"scored yes: {scored}, whose scores count"] if scored else []
        if not every:
            return [Table((), (), notes=(*counts, *warned))]
        made = [causes_table(name, cells) for name, cells in listed.items()]
        return [replace(merge(made), folds=made[0].folds, notes=(*counts, *warned))]

    return Tabulation(
        every, for_people, lambda: [problems_table(name, cells) for name, cells in listed.items()], warned
    )
