"""The measures of graded similarity for one query: the batched kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...annotations.annotation import Annotation, to_ragged
from ...errors import InvalidAnnotationError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .records import TASK
from .scoring import score


def average_dynamic_recall(groups: Sequence[Sequence[str]], results: Sequence[str], k: int = 0) -> float:
    """The average dynamic recall of a list of results.

    Parameters
    ----------
    groups : sequence of sequences of str
        The ground truth: groups of candidates that are equally similar to the query, the most similar group first.
    results : sequence of str
        What a system returned, the best first.
    k : int
        The most places that count; 0: as many as the ground truth has candidates.

    Returns
    -------
    float
        In [0, 1]; NaN without any candidate in the ground truth.

    Raises
    ------
    AnnotationError
        If a candidate stands twice in the groups, or in the results.

    References
    ----------
    R. Typke, R. C. Veltkamp, F. Wiering, "A measure for evaluating retrieval techniques based on partially ordered
    ground truth lists", ICME 2006; equations 13 and 14 of Downie et al. 2010.

    Examples
    --------
    The groups of the chapter's example, <(1, 2), (3, 4, 5)>: the recalls are 1/1, 1/2, 2/3, 3/4 and 4/5.

    >>> round(average_dynamic_recall([["1", "2"], ["3", "4", "5"]], ["1", "3", "9", "2", "4"]), 6)
    0.743333
    """
    names = [name for group in groups for name in group]
    value = np.repeat(np.arange(len(groups), 0, -1.0), [len(group) for group in groups])
    judged = Annotation("judgements", {"value": value}, names)
    measure = TASK.convention("ams").select([f"average_dynamic_recall@{k}(by=fine)"])
    return _scores(judged, results, measure)[0]


def evaluate(
    candidates: Sequence[str],
    results: Sequence[str],
    *,
    broad: Sequence[str] | None = None,
    fine: npt.ArrayLike | None = None,
    graders: Sequence[str] | None = None,
    k: int = 5,
    scale: float = 10.0,
    unjudged: str = "refuse",
) -> OrderedDict[str, float]:
    """All scores of one list of results.

    Parameters
    ----------
    candidates : sequence of str (judgements,)
        What was judged: a candidate once for each grader.
    results : sequence of str
        What a system returned, the best first.
    broad : sequence of str (judgements,) or None
        ``NS``, ``SS`` or ``VS``.
    fine : (judgements,) or None
        From 0 to `scale`.
    graders : sequence of str (judgements,) or None
        Who judged; None: nobody in particular, and nothing is said of who judged twice.
    k : int
        How many results count; 0: all. The average dynamic recall has as many places as there are relevant candidates.
    scale : float
        The largest fine judgement.
    unjudged : {"refuse", "zero", "skip"}
        What becomes of results that nobody judged: an error; not similar; left out with their place.

    Returns
    -------
    OrderedDict of str to float
        ``FINE``, ``PSum``, ``WCsum``, ``SDsum``, ``Greater0``, ``Greater1`` and ``ADR``; NaN for what there are no
        judgements of.

    Raises
    ------
    AnnotationError
        If a grader judged a candidate twice, a result stands twice, or a result is not judged and may not be.
    UnknownNameError
        For an `unjudged` that there is not.

    Examples
    --------
    >>> found = evaluate(["a", "b", "c"], ["b", "a"], broad=["VS", "SS", "NS"], fine=[9.0, 6.0, 0.0], k=2)
    >>> {name: round(value, 4) for name, value in found.items()}
    {'FINE': 0.75, 'PSum': 0.75, 'WCsum': 0.6667, 'SDsum': 0.625, 'Greater0': 1.0, 'Greater1': 0.5, 'ADR': 0.5}
    """
    columns: dict[str, Column] = {}
    for name, values in (("grader", graders), ("broad", broad)):
        if values is not None:
            columns[name] = np.array(values, dtype=np.str_)
    if fine is not None:
        columns["value"] = np.asarray(fine, dtype=np.float64)
    given = f"{k}(unjudged={unjudged})"
    wanted = [f"fine@{k}(scale={scale!r},unjudged={unjudged})"]
    wanted += [f"{name}@{given}" for name in ("psum", "wcsum", "sdsum", "greater0", "greater1")]
    measures = TASK.convention("ams").select([*wanted, "average_dynamic_recall"])
    found = _scores(Annotation("judgements", columns, list(candidates)), results, measures)
    return OrderedDict((measure.metric.key, value) for measure, value in zip(measures, found, strict=True))


def _scores(judged: Annotation, results: Sequence[str], measures: Sequence[Measure]) -> list[float]:
    sides = (judged, "reference"), (Annotation("judgements", {}, list(results)), "estimate")
    own, lists = (usable(one, clean(to_ragged([one])), side) for one, side in sides)
    only = np.zeros(1, dtype=np.int64)
    scores = score(own, lists, only, only, measures)
    for message in scores.refused.values():
        raise InvalidAnnotationError(message)
    values: list[float] = scores.score[0].tolist()
    return values
