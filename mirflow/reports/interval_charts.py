"""Values with intervals as small charts beside the numbers of a table: of a terminal and of a notebook."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = re.compile(r"(-?[\d.]+)\** \[(-?[\d.]+), (-?[\d.]+)\]")
WIDTH = 24
"""Characters of a chart on a terminal."""


@dataclass(frozen=True)
class Bounded:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


def bounded_values(texts: Sequence[str]) -> list[Bounded | None]:
    """Read the finite values of a column that have intervals; empty where fewer than two rows have one.

    Examples
    --------
    >>> bounded_values(["0.8 [0.7, 0.9]", "0.5 [-]", "0.6* [0.5, 0.7]"])
    [Bounded(value=0.8, low=0.7, high=0.9), None, Bounded(value=0.6, low=0.5, high=0.7)]
    >>> bounded_values(["0.8", "0.7"])
    []
    """
    matches = map(_SHOWN.fullmatch, texts)
    found = [Bounded(*map(float, match.groups())) if match else None for match in matches]
    return found if len(found) - found.count(None) > 1 else []


def text_charts(values: Sequence[Bounded | None]) -> list[str]:
    """Draw values and intervals on one scale in the characters of a terminal.

    Examples
    --------
    >>> print(*text_charts([Bounded(0.8, 0.7, 0.9), None, Bounded(0.5, 0.5, 0.7)]), sep="\\n")
               ├─────●─────┤
    <BLANKLINE>
    ●──────────┤
    """
    known = [one for one in values if one is not None]
    low, high = min(one.low for one in known), max(one.high for one in known)
    step = (high - low) / (WIDTH - 1) or math.inf
    charts = []
    for one in values:
        line = [" "] * WIDTH
        if one is not None:
            left, dot, right = (round((end - low) / step) for end in (one.low, one.value, one.high))
            line[left : right + 1] = "─" * (right + 1 - left)
            line[left], line[right] = "├", "┤"
            line[min(max(dot, 0), WIDTH - 1)] = "●"
        charts.append("".join(line).rstrip())
    return charts
