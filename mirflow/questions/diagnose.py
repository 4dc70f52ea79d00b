"""Say what would make low scores right: a side displaced, transposed, in another unit, of another track.

Simple transformations of one side are tried on cells with low scores, and scored by the metric's own kernel; the
annotations are read again. A cause that most systems of a track share is that of its reference or recording; one that
most tracks of a system share is the system's. Nothing is changed, and no score moves.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation a dataset along ``finding``: ``track`` and ``system`` (``*``: all), the ``side``, the ``cause``,
    ``amount`` and ``unit`` of what would make this side right (seconds to add, the factor by which to multiply,
    semitones to add), the ``metric`` with its ``score`` and what it ``would_be``, the number of ``systems`` with the
    cause ``of`` those with an estimate, the number of ``tracks``, a ``sentence``, and as ``remedy`` the options of
    reading, if there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.query_options import Query, QueryOption
from . import HEADLINE, Answer, question

if TYPE_CHECKING:
    from ..analysis.queries import ScoresLike
    from ..reports.origins import Roots


@question(
    "Say what would make low scores right.",
    section="tracks",
    place=1,
    words=("metric", "system", "tracks"),
    helps=HEADLINE,
    options={"patch": QueryOption("Write a patch for the references found wrong to this file.", metavar="FILE")},
)
def diagnose(
    scores: ScoresLike, query: Query, *, group: str | None = None, root: Roots = None, patch: str | None = None
) -> Answer:
    from ..reports.causes import diagnose_scores

    return diagnose_scores(scores, query, group=group, root=root, patch=patch)
