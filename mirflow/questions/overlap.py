"""Score the estimates of every system with those of every other one as the reference.

The files that the pipeline of the store names are read again. Each two systems are compared on the tracks that both
have.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation ``value`` and ``n`` over (system, other).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..analysis.query_options import Query
from . import Answer, Boards, each_evaluation, question

if TYPE_CHECKING:
    from pathlib import Path

    from ..progress import Progress


@question(
    "Score systems with each other.",
    section="systems",
    words=("metric", "aggregate", "system", "tracks", "where", "param", "undefined"),
    helps={"metric": "The metric, by name or alias. Default: the headline."},
)
def overlap(
    boards: Boards,
    query: Query,
    *,
    root: str | Path | None = None,
    percent: bool = False,
    progress: bool | Progress | None = None,
) -> Answer:
    from ..progress import progress_of
    from ..reports.inference_tables import overlap_table
    from ..reports.overlaps import overlaps

    infer = partial(overlaps, root=root, progress=progress_of(progress))
    columns = "metric aggregate system other value unit n undefined"
    return each_evaluation(boards, query, infer, lambda ds: [overlap_table(ds, percent=percent)], columns)
