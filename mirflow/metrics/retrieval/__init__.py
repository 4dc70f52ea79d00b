"""Retrieval: for each query the estimate is a ranked list of items, and the reference the relevant ones.

mir_eval has no such task; the functions take one ranking and its relevant items. `TASK` holds the metrics of whole
datasets, in which a track is a query.

Conventions
-----------
* ``mirex`` (default): items in the order in which they are listed (cover songs, query by humming and tapping).
* ``trec_eval``: items in the order of their scores, ties by name, as trec_eval 9 takes them.

Metrics
-------
* ``average_precision`` (`average_precision`): mean precision at the ranks of relevant items.
* ``reciprocal_rank``, ``rank_of_first`` (`reciprocal_rank`, `rank_of_first`): of the first relevant item.
* ``precision``, ``recall``, ``hit_rate``, ``covers_in_first`` (`precision`, `recall`, `hit_rate`, `covers_in_first`):
  among the first ten.
* ``r_precision`` (`r_precision`): precision at the number of relevant items.
* ``ndcg`` (`ndcg`): normalized discounted cumulative gain at ten.
* ``f_measure`` (`f_measure`), on request: of precision and recall.

References
----------
Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8; Järvelin and Kekäläinen 2002;
Downie et al. 2010, section 3.
"""

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
