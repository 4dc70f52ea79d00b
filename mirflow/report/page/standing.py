"""How sure the figures of a page are: intervals, and which systems are not told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...analysis.inference import compare, intervals
from ...analysis.question import Question
from ...analysis.scoreboard import Scoreboard
from ...errors import QueryError
from ...ragged import Float
from ..notes import NO_INTERVAL, few_notes, letters_note

INTERVALS = 20
"""Metrics of an evaluation that have intervals, the main ones first."""
REPLICATES = 2_000
"""Permutations of each test."""

_METHODS = {"bca": "BCa", "percentile": "percentiles"}


@dataclass(frozen=True)
class Standing:
    """What inference says of one metric's standard aggregate, over the tracks that all systems have.

    Parameters
    ----------
    aggregate : str
    low, high : tuple of float, one a system
        Ends of the 95 % intervals; NaN where there are too few tracks.
    letters : tuple of str, one a system
        Systems that share a letter are not told apart; empty where nothing was compared, or too few units were.
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
    letters = _letters(board, [board.metrics[place] for place in main])
    standing = {}
    for at, place in enumerate(chosen):
        value, low, high = (values[:, at, 0] for values in (found.value, found.low, found.high))
        own, tested = letters.get(board.metrics[place], ((), ""))
        if not np.isnan(value).all():
            how = " ".join(filter(None, (_how(value, low, found.attrs), tested)))
            standing[place] = Standing(found.aggregates[at], tuple(low.tolist()), tuple(high.tolist()), own, how)
    return standing


def _how(value: Float, low: Float, attrs: Mapping[str, str]) -> str:
    """How intervals came about, or why there are none."""
    few = " ".join(f"{one.removeprefix(f'{NO_INTERVAL}: ').capitalize()}." for one in few_notes(value, low, attrs))
    if np.isnan(low).all():
        return few
    level = f"{float(attrs['level']):.0%}".replace("%", " %")
    method, replicates = _METHODS[attrs["method"]], attrs["replicates"]
    return f"{level} intervals: bootstrap over tracks ({method}, {replicates} replicates). {few}".strip()


def _letters(board: Scoreboard, names: Sequence[str]) -> dict[str, tuple[tuple[str, ...], str]]:
    """For each metric the letters of the systems, none where no two can be told apart, and what they mean."""
    if len(board.systems) < 2:
        return {}
    try:
        found = compare(board, Question(list(names), exact=True), replicates=REPLICATES, sizes=False)
    except QueryError:
        return {}
    said = (letters_note(found, metric) for metric in range(len(names)))
    columns = [tuple(column) if any(column) else () for column in found.letters.T.tolist()]
    sentences = [f"{one[0].upper()}{one[1:]}." for one in said]
    return dict(zip(found.metrics, zip(columns, sentences, strict=True), strict=True))
