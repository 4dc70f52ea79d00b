"""List where systems agree with each other against the reference, the heaviest places first.

The annotations are read again. Labels of systems are weighed by how reliable each system is about each class (Dawid and
Skene); events must be those of all systems. The weight is the length, or the number of events, times the agreement.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation a dataset along ``disagreement``, the heaviest first: ``track``, ``annotator``, ``start`` and
    ``end`` in seconds, ``reference`` and ``consensus`` (labels, or times of events), the number of ``systems`` that
    agree ``of`` those with an estimate, their ``agreement``, and the ``weight``: seconds, or the number of events or
    tracks, times agreement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.query_options import Query, QueryOption
from . import Answer, question

if TYPE_CHECKING:
    from ..analysis.queries import ScoresLike
    from ..reports.origins import Roots


@question(
    "List where systems agree against the reference.",
    section="tracks",
    words=("system", "tracks"),
    options={
        "least": QueryOption("Share of the systems that must agree on a label, above 0.5."),
        "shortest": QueryOption("Length in seconds from which labels count.", least=0.0, metavar="SECONDS"),
        "worst": QueryOption("Only the N heaviest of each evaluation.", least=1, metavar="N"),
    },
)
def consensus(
    scores: ScoresLike,
    query: Query,
    *,
    group: str | None = None,
    least: float = 1.0,
    shortest: float = 0.3,
    worst: int | None = None,
    root: Roots = None,
) -> Answer:
    from ..reports.doubted_references import consensus as find_consensus

    return find_consensus(
        scores, query.system, query.tracks, group=group, least=least, shortest=shortest, worst=worst, root=root
    )
