"""Combine the systems by the best one of each track: what this could reach, and which systems add most.

The oracle knows the scores, so that it is an upper bound. Its gain over the best single system has an interval.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.oracles.oracle`.
"""

from __future__ import annotations

from functools import partial

from ..analysis.query_options import DEFAULT_LEVEL, Query
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, replicating

_COLUMNS = (
    "metric aggregate system value unit best_on step together oracle gain low high n level method replicates missing "
    "undefined resampled"
)


@question(
    "Say what combining systems could reach.",
    section="systems",
    words=CHOICE | {"aggregate"},
    helps=HEADLINE,
    cost=replicating,
)
def oracle(
    boards: Boards,
    query: Query,
    *,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    method: str = "auto",
    percent: bool = False,
) -> Answer:
    from ..analysis.inference.oracles import oracle as infer
    from ..reports.inference_tables import oracle_tables

    infer = partial(infer, level=level, cluster=cluster, method=method)
    return each_evaluation(boards, query, infer, partial(oracle_tables, percent=percent), _COLUMNS)
