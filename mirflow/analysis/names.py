"""The words that questions are made of: aggregates and policies; light to import, as the command line offers them."""

from __future__ import annotations

AGGREGATES = {
    "mean": "plain mean over the tracks",
    "median": "median over the tracks",
    "pooled": "mean over the tracks, weighted by the metric's own weight",
    "wcsr": "mean over the tracks, weighted by their evaluated seconds",
    "wcsr_tn": "mean over the tracks, weighted by the durations of their references",
    "wcsr_total": "right seconds over the seconds of all references",
}
TABLE_AGGREGATES = {"sum": "added up over the tracks", "mean": AGGREGATES["mean"]}
"""Of what is counted along extra dims, such as a confusion matrix; the first is the standard one."""

SCORE_AGGREGATES = {name: AGGREGATES[name] for name in ("mean", "median")}
"""Of scores along extra dims, such as those of single frames or instruments."""


def table_aggregates(orientation: str) -> dict[str, str]:
    """The aggregates of a metric with extra dims: those of scores, where one way is better, or of counts."""
    return TABLE_AGGREGATES if orientation == "none" else SCORE_AGGREGATES


MISSING = {
    "raise": "none may be missing",
    "zero": "missing ones count as 0 with the weight of an empty estimate",
    "skip": "each system over the tracks that it has",
    "common": "only the tracks that every system has",
}
UNDEFINED = {
    "keep": "scores with nothing to measure count as they are",
    "skip": "scores with nothing to measure are left out",
}
