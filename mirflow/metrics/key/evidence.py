"""Evidence for a key score: both keys and how they are related."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError
from ...ragged import Column
from ...theory.keys import RELATIONS, UNNAMED, parse_key, relation_table
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The two keys and their relation.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind key.
    measure : Measure
        Any; all of them are read off the same relation.

    Returns
    -------
    dict of str to array (1,)
        ``reference``, ``estimate`` (labels) and ``relation``: ``same``, ``fifth_up``, ``fifth_down``, ``relative``,
        ``parallel`` or ``other``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or is empty.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("key").convention().select(["weighted_score"])[0]
    >>> found = evidence(Annotation("key", {}, ["C major"]), Annotation("key", {}, ["F major"]), measure)
    >>> found["relation"].tolist()
    ['fifth_down']
    """
    labels, codes = [], []
    for annotation, side in ((reference, "reference"), (estimate, "estimate")):
        rows = usable(annotation, clean(to_ragged([annotation])), side)
        if not len(rows.columns["label"]):
            raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
        labels.append(rows.labels[int(rows.columns["label"][0])])
        codes.append((parse_key(labels[-1]) or UNNAMED).code)
    relation = RELATIONS[relation_table()[codes[0], codes[1]]]
    return {
        "reference": np.array(labels[:1], dtype=str),
        "estimate": np.array(labels[1:], dtype=str),
        "relation": np.array([relation], dtype=str),
    }
