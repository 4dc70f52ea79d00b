"""The records of the metrics of retrieval, and the conventions of the task."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from ..base.record import Metric, Parameter
from ..base.task import Convention, Task
from .cleaning import clean, clean_by_score
from .evidence import evidence
from .scoring import score

_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_COVERS = "MIREX audio cover song identification, 2006-2021; Downie et al., ISMIR 2008"
_MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008"
_QUERIES, _RELEVANT = "1 for a query that has relevant items", "number of relevant items"

_LEVEL = Parameter("level", 0.0, least=0.0, help="grade from which an item is relevant; 0: any positive grade")


def _depth(default: int, *, least: int = 0) -> Parameter:
    whole = "" if least else "; 0: the whole list"
    return Parameter("k", default, "ranks", help=f"how many ranks are looked at{whole}", least=least)


METRICS = (
    Metric(
        "average_precision",
        "Average precision",
        "mean over the relevant items of the precision down to the rank of each, 0 for one that is not found",
        _RELEVANT,
        "items",
        aliases=("map", "mean_average_precision"),
        pooling="micro",
        parameters=(_depth(0), _LEVEL),
        literature=f"{_COVERS}; {_MANNING}, section 8.4",
    ),
    Metric(
        "reciprocal_rank",
        "Reciprocal rank",
        "1 / rank of the first relevant item, 0 if none is found; its mean over queries is MRR",
        _QUERIES,
        "queries",
        aliases=("mrr", "recip_rank", "mean_reciprocal_rank"),
        pooling="micro",
        parameters=(_depth(0), _LEVEL),
        literature=f"equation 7 of {_DOWNIE}; Voorhees, TREC-8 question answering track, 1999",
    ),
    Metric(
        "precision",
        "Precision at k",
        "share of the first k ranks that hold a relevant item; a shorter list has empty ranks",
        "k, or the length of the list where k is 0",
        "ranks",
        aliases=("p", "set_p"),
        pooling="micro",
        perfect=None,
        parameters=(_depth(10), _LEVEL),
        literature=f"equation 4 of {_DOWNIE}; {_MANNING}, section 8.4",
    ),
    Metric(
        "recall",
        "Recall at k",
        "share of the relevant items that stand in the first k ranks",
        _RELEVANT,
        "items",
        aliases=("set_recall",),
        pooling="micro",
        perfect=None,
        parameters=(_depth(10), _LEVEL),
        literature=f"equation 5 of {_DOWNIE}; {_MANNING}, section 8.4",
    ),
    Metric(
        "f_measure",
        "F-measure at k",
        "harmonic mean of precision and recall at k",
        "mean of k (or the length of the list) and the number of relevant items",
        "items",
        aliases=("f1", "set_f"),
        pooling="micro",
        perfect=None,
        parameters=(_depth(10), _LEVEL),
        default=False,
        literature=f"equation 6 of {_DOWNIE}",
    ),
    Metric(
        "r_precision",
        "R-precision",
        "precision at the rank that is the number of relevant items",
        _RELEVANT,
        "items",
        aliases=("rprec",),
        pooling="micro",
        parameters=(_LEVEL,),
        literature=f"{_MANNING}, section 8.4",
    ),
    Metric(
        "ndcg",
        "nDCG at k",
        "gain of the first k ranks, discounted by log2(rank + 1), over that of the ideal ranking",
        "discounted gain of the ideal ranking",
        "gain",
        pooling="micro",
        parameters=(
            _depth(10),
            Parameter("gain", "linear", choices=("linear", "exp2"), help="the grade, or 2 ** grade - 1"),
        ),
        literature="Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; exp2: Burges et al., ICML 2005",
    ),
    Metric(
        "hit_rate",
        "Hit rate at k",
        "1 if a relevant item stands in the first k ranks",
        _QUERIES,
        "queries",
        aliases=("success", "top_k"),
        pooling="micro",
        parameters=(_depth(10, least=1), _LEVEL),
        literature="MIREX query by singing/humming, 2006-2021 (top-10 hit rate)",
    ),
    Metric(
        "covers_in_first",
        "Covers in the first k",
        "number of relevant items in the first k ranks",
        _QUERIES,
        "queries",
        aliases=("covers_in_top",),
        range=(0.0, float("inf")),
        unit="items",
        pooling="micro",
        perfect=None,
        parameters=(_depth(10, least=1), _LEVEL),
        literature=_COVERS,
    ),
    Metric(
        "rank_of_first",
        "Rank of the first cover",
        "rank of the first relevant item",
        _QUERIES,
        "queries",
        aliases=("mr1", "rank_of_first_cover"),
        range=(1.0, float("inf")),
        orientation="lower",
        unit="ranks",
        pooling="micro",
        parameters=(
            Parameter("not_found", 0.0, "ranks", least=0.0, help="rank where the list has none; 0: no score"),
            _LEVEL,
        ),
        literature=_COVERS,
    ),
)

MIREX = Convention(
    "mirex",
    "rankings in the order in which they are listed, as MIREX takes them",
    METRICS,
    clean,
    score,
    explain=evidence,
)
TREC_EVAL = Convention(
    "trec_eval",
    "trec_eval 9: rankings in the order of their scores, ties by name from the last to the first",
    METRICS,
    clean_by_score,
    score,
    explain=partial(evidence, cleaner=clean_by_score),
)

TASK = Task(
    "retrieval", "Retrieval", MappingProxyType({one.name: one for one in (MIREX, TREC_EVAL)}), ("average_precision",)
)
