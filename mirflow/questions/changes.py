"""List the tracks on which systems lose most against a baseline by one metric, or gain most.

The baseline is a system, or the systems of one of several labelled stores. Tracks without a loss, or without a gain,
are not listed.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.worst.changes`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..analysis.query_options import Query, QueryOption
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question

if TYPE_CHECKING:
    import xarray as xr


@question(
    "List what changed from a baseline, by track.",
    section="tracks",
    words=CHOICE,
    options={
        "baseline": QueryOption("The system, or the label of the store, to compare with.", metavar="SYSTEM|LABEL"),
        "n": QueryOption("How many tracks of each system, at most.", metavar="N", least=1),
        "gains": QueryOption("The tracks that gain most, instead of those that lose most."),
    },
    helps=HEADLINE,
    by_track=True,
    cost=lambda scores, systems, tracks, words: 0.0,
)
def changes(
    boards: Boards, query: Query, *, baseline: str, n: int = 10, gains: bool = False, percent: bool = False
) -> Answer:
    from ..analysis.inference.noninferiority import baselines_of
    from ..analysis.worst import changes as list_changes
    from ..reports.comparisons_tables import changes_long_table, changes_table

    def infer(ds: xr.Dataset, query: Query, group: str) -> xr.Dataset:
        return list_changes(ds, query, baselines_of(ds, query, baseline), n, best=gains, group=group)

    readable = partial(changes_table, percent=percent)
    return each_evaluation(boards, query, infer, lambda ds: [readable(ds)], changes_long_table)
