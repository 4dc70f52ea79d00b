"""The words that questions are made of: aggregates and policies; light to import, as the command line offers them."""

from __future__ import annotations

from collections.abc import Sequence

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


RATIO_AGGREGATES = {
    "precision": "share of what was estimated as a class or tag that is of it, over all tracks",
    "recall": "share of what is of a class or tag that was estimated as such, over all tracks",
    "f_measure": "harmonic mean of precision and recall of a class or tag, over all tracks",
    "accuracy": "share of the decisions on a class or tag that are right, over all tracks",
    "negative_accuracy": "share of what is not of a class or tag that was not estimated as such, over all tracks",
}
"""Of what is counted by class of both sides, or by outcome."""

ORDER_AGGREGATES = {
    "roc_auc": "area under the ROC curve of all tracks in order of affinity",
    "average_precision": "average precision of all tracks in order of affinity",
}
"""Of affinities; the first is the standard one."""

CLASS_AGGREGATES = {**RATIO_AGGREGATES, **ORDER_AGGREGATES}


def table_aggregates(orientation: str, dims: Sequence[str] = ()) -> dict[str, str]:
    """The aggregates of a metric with extra dims: those of scores, where one way is better, or of counts.

    Counts by class of both sides, counts by outcome, and affinities also have figures of each class or tag. Numbers of
    what was matched, and of what either side has, say nothing of what was rightly left out.
    """
    if orientation != "none":
        return SCORE_AGGREGATES
    if "side" in dims:
        return ORDER_AGGREGATES
    if "count" in dims:
        return {**TABLE_AGGREGATES, **{name: RATIO_AGGREGATES[name] for name in ("precision", "recall", "f_measure")}}
    rated = "outcome" in dims or tuple(dims) == ("ref_class", "est_class")
    return {**TABLE_AGGREGATES, **RATIO_AGGREGATES} if rated else TABLE_AGGREGATES


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


def say_undefined(policy: str, valueless: str = "") -> str:
    """What is done about scores with nothing to measure, of which some or all may be NaN.

    Parameters
    ----------
    policy : {"keep", "skip"}
    valueless : {"", "some", "all"}
        Which of them are NaN: these never count.

    Examples
    --------
    >>> say_undefined("keep", "some")
    'scores with nothing to measure count as they are, without a value not at all'
    """
    if policy == "keep" and valueless == "all":
        return "scores with nothing to measure have no value and are left out"
    return UNDEFINED[policy] + (", without a value not at all" if policy == "keep" and valueless else "")


MAX_T = "max-t"
"""Simultaneous p-values by the largest statistic of all pairs."""
_SPOKEN = {
    "permutation": "permutation test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "t": "paired t-test",
    MAX_T: "max-T",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "none": "uncorrected",
}


def say_test(test: str, correction: str) -> str:
    """A test and its correction, as they are named beside what they say.

    Examples
    --------
    >>> say_test("permutation", "max-t")
    'permutation test, max-T'
    """
    return f"{_SPOKEN.get(test, test)}, {_SPOKEN.get(correction, correction)}"
