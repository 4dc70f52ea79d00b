"""Scores of one pair of texts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, refuse_unknown
from ...ragged import Float, Ragged
from ..base import Convention
from ..measures import Measure
from ..pair import PairFunctions, documented
from .metrics import TASK

Lyrics = str | Iterable[str]


def _row(rules: Convention, text: Lyrics, side: str, language: str) -> Ragged:
    lines = text.split("\n") if isinstance(text, str) else list(text)
    for line in lines:
        if not isinstance(line, str):
            raise AnnotationError(f"{side}: expected a line of text, got {line!r}")
    columns = {"language": np.full(len(lines), language)}
    return rules.clean(to_ragged([Annotation("text", columns, lines)])).rows


def _score_pair(
    rules: Convention, reference: Lyrics, estimate: Lyrics, measures: Sequence[Measure], language: str = ""
) -> Float:
    one, other = _row(rules, reference, "reference", language), _row(rules, estimate, "estimate", language)
    return rules.score_pair(one, other, measures)


@documented(
    """
    Parameters
    ----------
    reference, estimate : str, or iterable of str
        The text, or its lines; an empty line ends a section.
    convention : {"plain", "alt_eval", "jiwer"}
    language : str
        Language code for tokenisation by ``alt_eval``; empty: English.
    **kwargs
        Not used; other keyword arguments are refused.
    """
)
def evaluate(
    reference: Lyrics, estimate: Lyrics, convention: str = "plain", language: str = "", **kwargs: Any
) -> OrderedDict[str, float]:
    """All scores of one pair of texts.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric; NaN if the reference has nothing to score.

    Raises
    ------
    AnnotationError
        For a line that is not a string.

    Examples
    --------
    >>> found = evaluate("Oh my love\\nwait for me", "oh my dove\\nfor me")
    >>> round(found["word_error_rate"], 4), found["line_break_f_measure"], round(found["case_error_rate"], 4)
    (0.3333, 1.0, 0.1667)
    >>> evaluate("Don't go!", "don't go", "alt_eval")["punctuation_recall"]
    0.0
    """
    refuse_unknown("evaluate", kwargs, ("reference", "estimate", "convention", "language"))
    rules = TASK.convention(convention)
    measures = [one.measure() for one in rules.metrics if not one.dims]
    scores = _score_pair(rules, reference, estimate, measures, language)
    return OrderedDict((one.metric.name, value) for one, value in zip(measures, scores.tolist(), strict=True))


_PLAIN, _MARKED = TASK.convention(), TASK.convention("alt_eval")
_SIDES = "Texts, or their lines, as for `evaluate`."
FUNCTIONS = {
    **PairFunctions(_MARKED.metrics, partial(_score_pair, _MARKED)).functions(f"{_SIDES} In English, by ``alt_eval``."),
    **PairFunctions(_PLAIN.metrics, partial(_score_pair, _PLAIN)).functions(_SIDES),
}
