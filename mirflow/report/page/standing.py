"""How sure the figures of a page are: intervals, and which systems do not differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...analysis.inference import compare, friedman, intervals
from ...analysis.question import Question
from ...analysis.scoreboard import Scoreboard
from ...errors import QueryError

INTERVALS = 20
"""Metrics of an evaluation that have intervals, the main ones first."""
PAIRS = 45
"""Pairs of systems that are tested each on its own; more are compared by ranks, which is much faster."""
REPLICATES = 2_000
"""Permutations of each test."""

_TESTS = {
    "permutation": "permutations of the two systems' tracks",
    "wilcoxon": "Wilcoxon's test",
    "t": "a paired t test",
}
_METHODS = {"bca": "BCa", "percentile": "percentiles"}
_CORRECTIONS = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction"}


@dataclass(frozen=True)
class Standing:
    """What inference says of one metric's standard aggregate, over the tracks that all systems have.

    Parameters
    ----------
    aggregate : str
    low, high : tuple of float, one a system
        Ends of the 95 % intervals; NaN where there are too few tracks.
    letters : tuple of str, one a system
        Systems that share a letter do not differ; empty where nothing was compared.
    how : str
        The methods, for people.
    """

    aggregate: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    letters: tuple[str, ...]
    how: str

    def as_json(self) -> dict[str, Any]:
        """For the page; JSON has no infinite numbers, so that these are words."""
        ends = {name: [_end(one) for one in getattr(self, name)] for name in ("low", "high")}
        return {**ends, **{name: getattr(self, name) for name in ("aggregate", "letters", "how")}}


def _end(value: float) -> float | str:
    return f"{'-' if value < 0 else ''}Infinity" if np.isinf(value) else value


def standings(board: Scoreboard, main: Sequence[int]) -> dict[int, Standing]:
    """What inference says of the metrics of an evaluation, by their positions.

    Parameters
    ----------
    board : Scoreboard
    main : sequence of int
        Positions of the main metrics.
    """
    chosen = list(dict.fromkeys([*main, *range(len(board.metrics))]))[:INTERVALS]
    names = [board.metrics[place] for place in chosen]
    if not names or not board.systems:
        return {}
    try:
        found = intervals(board, Question(names, exact=True))
    except QueryError:
        return {}
    assert found.low is not None
    assert found.high is not None
    level = f"{float(found.attrs['level']):.0%}".replace("%", " %")
    method, replicates = _METHODS[found.attrs["method"]], found.attrs["replicates"]
    how = f"{level} intervals: bootstrap over tracks ({method}, {replicates} replicates)."
    letters, tested = _letters(board, [board.metrics[place] for place in main])
    standing = {}
    for at, place in enumerate(chosen):
        low, high = (tuple(end[:, at, 0].tolist()) for end in (found.low, found.high))
        own = letters.get(board.metrics[place], ())
        if np.isfinite(low).any():
            standing[place] = Standing(found.aggregates[at], low, high, own, f"{how} {tested}" if own else how)
    return standing


def _letters(board: Scoreboard, names: Sequence[str]) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """For each metric the letters of the systems, and how they came about."""
    pairs = len(board.systems) * (len(board.systems) - 1) // 2
    if not pairs:
        return {}, ""
    question = Question(list(names), exact=True)
    try:
        if pairs <= PAIRS:
            compared = compare(board, question, replicates=REPLICATES, sizes=False)
            test = _TESTS.get(compared.tests[0], compared.tests[0])
            correction = _CORRECTIONS.get(compared.attrs["correction"], "")
            how = f"Systems that share a letter do not differ: {test}, {correction}."
            return _by_metric(compared.metrics, compared.letters), how
        ranked = friedman(board, question)
    except QueryError:
        return {}, ""
    how = "Systems that share a letter do not differ: Friedman's test with Tukey and Kramer's on mean ranks."
    return _by_metric(ranked.metrics, ranked.letters), how


def _by_metric(metrics: Sequence[str], letters: Any) -> dict[str, tuple[str, ...]]:
    columns = np.asarray(letters, dtype=str).T.tolist()
    return {metric: tuple(column) for metric, column in zip(metrics, columns, strict=True)}
