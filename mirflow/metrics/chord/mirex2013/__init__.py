"""The rules by which MIREX scored chord estimation in 2013; ``docs/mirex2013.md`` writes them down."""

from __future__ import annotations

from ...base.task import Convention
from .cleaning import clean
from .evidence import evidence, evidences
from .records import DEFAULT_MEASURES, METRICS
from .scoring import score

CONVENTION = Convention(
    name="mirex2013",
    summary="the official scores of MIREX 2013: spelled degrees, a fixed vocabulary per rule, gaps are no chord",
    metrics=METRICS,
    clean=clean,
    score=score,
    grids=("union",),
    default_measures=DEFAULT_MEASURES,
    explain=evidence,
    explain_many=evidences,
)

__all__ = ["CONVENTION", "DEFAULT_MEASURES", "METRICS", "clean", "evidence", "score"]
