"""Correlate the scores of tracks with a covariate of theirs.

The covariate is a numeric coordinate of the tracks, ``duration`` (of the references, in seconds), ``others`` (the mean
score of all other systems, which says how easy a track is), or another metric, such as an imported one. Each track
counts once, whatever the aggregate.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.correlations.correlations`.
"""

from __future__ import annotations

from functools import partial

from ..analysis.query_options import DEFAULT_LEVEL, Query, QueryOption
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, replicating


@question(
    "Correlate scores with a property of the tracks.",
    section="tracks",
    words=CHOICE | {"sort"},
    options={"against": QueryOption("The covariate.", metavar="COORDINATE|duration|others|METRIC")},
    helps=HEADLINE,
    best_first=True,
    cost=replicating,
)
def correlate(
    boards: Boards,
    query: Query,
    *,
    against: str,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    method: str = "auto",
) -> Answer:
    from ..analysis.inference.correlations import correlations
    from ..reports.inference_tables import correlation_tables

    infer = partial(correlations, covariate=against, level=level, cluster=cluster, method=method)
    columns = "metric covariate system r low high tau n level method replicates missing undefined resampled"
    return each_evaluation(boards, query, infer, correlation_tables, columns)
