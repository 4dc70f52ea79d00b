"""Evidence for a similarity score: each candidate of the list with what graders said of it."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import BROAD, clean
from .judgements import gather, meet, stand_ahead
from .scoring import ADR


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The candidates that count, in the order of rank.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind judgements.
    measure : Measure

    Returns
    -------
    dict of str to array (candidates,)
        ``estimate`` (the candidate), ``rank`` (from 1), ``NS``, ``SS`` and ``VS`` (how many graders chose them),
        ``fine`` (the mean; NaN without any) and ``verdict``, ``judged`` or ``unjudged``. Of the average dynamic recall
        also ``counts_from``, the place from which on a candidate counts (0: never), and ``verdict`` is ``relevant`` or
        ``not relevant``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> judged = Annotation("judgements", {"broad": np.array(["VS", "NS"]), "value": np.array([9.0, 1.0])}, ["x", "y"])
    >>> listed = Annotation("judgements", {}, ["y", "z"])
    >>> measure = get_task("similarity").convention().select(["fine"])[0]
    >>> found = evidence(judged, listed, measure)
    >>> found["fine"].tolist(), found["verdict"].tolist()
    ([1.0, nan], ['judged', 'unjudged'])
    """
    own, lists = (
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    judged, only = gather(own), np.zeros(1, dtype=np.int64)
    met = meet(judged, own.labels, lists, only, only)
    most = int(measure["k"])
    size = min(len(lists.columns["label"]), most or np.iinfo(np.int64).max)
    place, which = met.place[met.place < size], met.judged[met.place < size]
    columns: dict[str, Column] = {
        "estimate": np.array([lists.labels[code] for code in lists.columns["label"][:size]], dtype=str),
        "rank": np.arange(1, size + 1),
    }
    for level, name in enumerate(BROAD):
        columns[name] = np.zeros(size, dtype=np.int64)
        columns[name][place] = judged.chosen[which, level]
    columns["fine"] = np.full(size, np.nan)
    columns["fine"][place] = judged.fine[which]
    if measure.metric.name != ADR:
        known = np.isin(np.arange(size), place)
        return {**columns, "verdict": np.where(known, "judged", "unjudged")}
    relevance = judged.relevance(str(measure["by"]))
    ahead, total = stand_ahead(np.where(relevance > float(measure["above"]), relevance, -np.inf), judged.counts)
    places = min(int(total[0]), most or int(total[0]))
    start = np.maximum(place, ahead[which]) + 1
    counts_from = np.zeros(size, dtype=np.int64)
    counts_from[place] = np.where((ahead[which] >= 0) & (start <= places), start, 0)
    relevant = np.zeros(size, dtype=np.bool_)
    relevant[place] = ahead[which] >= 0
    return {**columns, "counts_from": counts_from, "verdict": np.where(relevant, "relevant", "not relevant")}
