"""Rank the systems over all tracks, and say how sure the ranks are.

Each system has the ranks that the permutation tests of ``compare`` do not exclude, the chance of being first, and of
being better than each other one.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.rank_tests.ranks`.

Examples
--------
>>> import numpy as np, mirflow
>>> times = np.arange(1.0, 9.0)
>>> references = {str(track): times + track for track in range(8)}
>>> estimates = {name: {track: own[:count] for track, own in references.items()} for name, count in
...              {"few": 3, "most": 7, "some": 5}.items()}
>>> result = mirflow.ranks(mirflow.score(references, estimates, "onset"), "f_measure")
>>> result["rank_low"].values.ravel().tolist(), result["first"].values.ravel().tolist()
([3.0, 1.0, 2.0], [0.0, 1.0, 0.0])
"""

from __future__ import annotations

from functools import partial

from ..analysis.query_options import DEFAULT_LEVEL, Query
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, testing

_COLUMNS = (
    "metric aggregate system value unit rank rank_low rank_high first other better n test level correction missing "
    "undefined resampled"
)


@question(
    "Say how sure the ranks of the systems are.",
    section="systems",
    words=CHOICE | {"aggregate", "sort"},
    helps=HEADLINE,
    cost=testing,
)
def ranks(
    boards: Boards,
    query: Query,
    *,
    level: float = DEFAULT_LEVEL,
    correction: str = "auto",
    unit: str = "track",
    cluster: str | None = None,
    replicates: int = 10_000,
    rng: int = 0,
    percent: bool = False,
) -> Answer:
    from ..analysis.inference.rank_tests import ranks as infer
    from ..reports.inference_tables import rank_tables

    infer = partial(
        infer, level=level, correction=correction, unit=unit, cluster=cluster, replicates=replicates, rng=rng
    )
    readable = partial(rank_tables, percent=percent, ranked=query.sort is None)
    return each_evaluation(boards, query, infer, readable, _COLUMNS)
