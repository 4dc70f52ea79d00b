"""List the tracks with the worst scores of one metric, of each system or over all of them.

Scores with nothing to measure are left out by default.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.worst.extremes`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..analysis.query_options import Query, QueryOption
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question

LISTING: dict[str, Any] = {
    "section": "tracks",
    "words": CHOICE | {"sort"},
    "options": {
        "n": QueryOption("How many tracks, at most.", metavar="N", least=1),
        "overall": QueryOption("By the mean over the systems."),
    },
    "defaults": {"undefined": "skip"},
    "helps": {**HEADLINE, "undefined": "Treatment of scores with nothing to measure. Default: skip."},
    "by_track": True,
    "cost": lambda scores, systems, tracks, words: 0.0,
}
"""How questions are declared that list single tracks."""


@question("List the worst tracks.", **LISTING)
def worst(boards: Boards, query: Query, *, n: int = 10, overall: bool = False, percent: bool = False) -> Answer:
    return list_tracks(boards, query, n, overall, percent, best=False)


def list_tracks(boards: Boards, query: Query, n: int, overall: bool, percent: bool, *, best: bool) -> Answer:
    """The worst or the best tracks of each evaluation."""
    from ..analysis.worst import extremes
    from ..reports.summaries import extremes_long_table, extremes_table

    infer = partial(extremes, count=n, best=best, overall=overall)
    readable = partial(extremes_table, percent=percent)
    return each_evaluation(boards, query, infer, lambda ds: [readable(ds)], extremes_long_table)
