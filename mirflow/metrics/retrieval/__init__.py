"""Retrieval: rankings judged by what is relevant, for one query in plain functions and batched in `TASK`."""

from .metrics import TASK
from .pair import (
    average_precision,
    covers_in_first,
    evaluate,
    f_measure,
    hit_rate,
    ndcg,
    precision,
    r_precision,
    rank_of_first,
    recall,
    reciprocal_rank,
    validate,
)

__all__ = [
    "TASK",
    "average_precision",
    "covers_in_first",
    "evaluate",
    "f_measure",
    "hit_rate",
    "ndcg",
    "precision",
    "r_precision",
    "rank_of_first",
    "recall",
    "reciprocal_rank",
    "validate",
]
