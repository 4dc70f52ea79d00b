"""List the tracks with the best scores of one metric, of each system or over all of them.

Scores with nothing to measure are left out by default.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.worst.extremes`.
"""

from __future__ import annotations

from ..analysis.query_options import Query
from . import Answer, Boards, question
from .worst import LISTING, list_tracks


@question("List the best tracks.", **LISTING)
def best(boards: Boards, query: Query, *, n: int = 10, overall: bool = False, percent: bool = False) -> Answer:
    return list_tracks(boards, query, n, overall, percent, best=True)
