"""Measure how far metrics or annotators agree on the ranking of systems, or systems on the ranking of tracks.

The agreement is Kendall's tau-b of every two rankings: 1 the same order, -1 the reverse. Between metrics these are by
default all that rank; between annotators and systems the question is about one metric, by default the headline.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.correlations.agreement`.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.query_options import Query, QueryOption
from ..errors import QueryError
from . import CHOICE, Answer, Boards, question, replicating


@question(
    "Say how far rankings agree.",
    section="systems",
    words=CHOICE | {"aggregate"},
    options={
        "between": QueryOption("What ranks.", choices=lambda: ("metric", "annotator", "system")),
        "level": QueryOption("Level of intervals of tau, between metrics. Default: none.", level=True),
    },
    helps={"metric": "Metrics by name or alias. Repeat for several. Default: all that rank, or the headline."},
    cost=replicating,
)
def agreement(
    boards: Boards, query: Query, *, between: str = "metric", level: float | None = None, cluster: str | None = None
) -> Answer:
    from ..analysis.inference.correlations import agreement as infer
    from ..analysis.lookup import headline_metric
    from ..reports.inference_tables import agreement_long_table, agreement_table
    from ..reports.tables import Tabulation

    if cluster is not None and level is None:
        raise QueryError("'cluster' is about intervals; add 'level'")
    found = []
    for name, ds in boards.items():
        if query.metric is not None:
            asked = query
        elif between == "metric":
            ranking = ds["metric"].values[ds["orientation"].values != "none"].tolist()
            asked = replace(query, metric=ranking, exact=True)
        else:
            asked = replace(query, metric=headline_metric(ds), exact=True)
        found.append(infer(ds, asked, between=between, level=level, cluster=cluster, group=name))
    return Tabulation(
        found, lambda width: list(map(agreement_table, found)), lambda: list(map(agreement_long_table, found))
    )
