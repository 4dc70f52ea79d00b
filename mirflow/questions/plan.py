"""Estimate the smallest difference that these tracks show, and how many tracks another one takes.

The scores are of systems on tracks like those of the collection that is planned. The numbers are for the permutation
test of ``compare`` between all systems of the query. From the scores of each annotator, variances between tracks and
between annotators say how many annotators a track should have.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.analysis.inference.resolution.resolution`, with `annotations` that of
    :func:`mirflow.analysis.inference.resolution.annotation_effort`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import DEFAULT_LEVEL, Query, QueryOption
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, testing

if TYPE_CHECKING:
    import xarray as xr

    from ..reports.tables import Table


_PAIR = "metric aggregate system other difference"
_TEST = "wanted power level correction critical n missing"


@question(
    "Estimate how many tracks a difference takes.",
    section="systems",
    words=CHOICE | {"aggregate"},
    options={
        "difference": QueryOption(
            "The difference to be shown, in the unit of the metric. Default: that of these systems.",
            metavar="SIZE",
            least=0.0,
        ),
        "power": QueryOption("Probability with which it is to be shown.", level=True),
        "annotations": QueryOption(
            "Tracks for 1 to N annotators of each, from scores of each annotator (combine: each).", metavar="N", least=1
        ),
        "level": QueryOption("Tests use 1 - level.", level=True),
    },
    helps={**HEADLINE, "missing": "Treatment of cells without a score. Default: common."},
    cost=testing,
)
def plan(
    boards: Boards,
    query: Query,
    *,
    difference: float | None = None,
    power: float = 0.8,
    annotations: int | None = None,
    correction: str = "auto",
    unit: str = "track",
    cluster: str | None = None,
    level: float = DEFAULT_LEVEL,
    replicates: int = 10_000,
    rng: int = 0,
    percent: bool = False,
    all_pairs: bool = False,
) -> Answer:
    from ..analysis.inference.resolution import annotation_effort, resolution
    from ..reports.inference_tables import effort_table, plan_table

    how: dict[str, Any] = {"correction": correction, "unit": unit, "cluster": cluster, "level": level, "rng": rng}
    how |= {"difference": difference, "power": power, "replicates": replicates}
    table: Any = plan_table if annotations is None else effort_table

    def tables(ds: xr.Dataset) -> list[Table]:
        return [table(ds, metric, percent=percent, all_pairs=all_pairs) for metric in range(ds.sizes["metric"])]

    if annotations is None:
        return each_evaluation(
            boards,
            query,
            partial(resolution, **how),
            tables,
            f"{_PAIR} error resolution needed {_TEST} unit_of_comparison",
        )
    columns = f"{_PAIR} track_variance annotator_variance residual_variance annotators needed_with {_TEST}"
    infer = partial(annotation_effort, annotations=annotations, **how)
    return each_evaluation(boards, query, infer, tables, columns)
