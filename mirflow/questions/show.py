"""List the contents of a store: evaluations, systems, tracks, metrics, coverage and provenance.

csv and json have the numbers of cells of each system by status.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation the numbers of cells of each system by status, ``cells`` over (system, status).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.query_options import Query, QueryOption
from ..errors import QueryError
from . import Answer, Boards, question

if TYPE_CHECKING:
    from ..reports.tables import Table


@question(
    "List the contents of a store.",
    section="stores",
    place=2,
    words=(),
    options={"pipeline": QueryOption("Print only the pipeline file of the store.", local=True)},
)
def show(boards: Boards, query: Query, *, pipeline: bool = False) -> Answer:
    from ..analysis.queries import coverage
    from ..reports.summaries import all_scored, contents_table, coverage_table, store_overview_table
    from ..reports.tables import Table, Tabulation

    found = [coverage(ds).assign_attrs(group=name) for name, ds in boards.items()]
    if pipeline:
        text = next((str(ds.attrs.get("pipeline", "")) for ds in boards.values()), "")
        if not text:
            raise QueryError("the store was not made by a pipeline")
        return Tabulation(found, lambda width: [], lambda: [Table(("pipeline",), ((text,),))], text=text)

    def overview(width: int) -> list[Table]:
        tables = [store_overview_table(boards)]
        for name, ds in boards.items():
            tables += [contents_table(name, ds), *([] if all_scored(ds) else [coverage_table(name, ds)])]
        return tables

    return Tabulation(found, overview, lambda: [coverage_table(name, ds) for name, ds in boards.items()])
