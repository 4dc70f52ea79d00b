"""Score against run time: the chart of an evaluation's systems whose run time is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...metrics.measures import SIGN_OF
from ...reports.leaderboard import RankedEvaluation
from ...reports.standings import ticks

RUNTIME = "runtime"
"""Coordinate of systems: seconds that each took for all tracks."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 548.0, 26.0, 218.0
"""Edges of the room for points in a chart of 560 by 250 pixels."""
_LETTER, _LINE, _DOT = 8.0, 12.0, 5.0
"""Width of a letter, height of a line and radius of a point, in pixels."""
_MOST_TICKS = 7
_ROUND_TIMES = (
    *((scale * step, f"{scale * step:g} s") for scale in (1e-3, 1e-2, 0.1, 1.0) for step in (1, 2, 5)),
    *((step, f"{step} s") for step in (10, 20)),
    *((60 * step, f"{step} min") for step in (1, 2, 5, 10, 20)),
    *((3600 * step, f"{step} h") for step in (1, 2, 5, 10)),
    *((86400 * scale * step, f"{scale * step} d") for scale in (1, 10, 100) for step in (1, 2, 5)),
)
"""Seconds that are ticks of a logarithmic axis, and their texts."""


def seconds_of(value: Any) -> float | None:
    """Read a run time in seconds; None for other texts.

    Examples
    --------
    >>> seconds_of("412"), seconds_of(0.5), seconds_of("3 h on a GPU"), seconds_of(-1)
    (412.0, 0.5, None, None)
    """
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < math.inf else None


def show_seconds(seconds: float) -> str:
    """Format a run time with three digits, and as a clock from two minutes on.

    Examples
    --------
    >>> show_seconds(0.0512), show_seconds(41.27), show_seconds(4120)
    ('0.0512 s', '41.3 s', '4120 s (1:08:40)')
    """
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
    return f"{seconds:.0f} s ({clock})"


@dataclass(frozen=True)
class RuntimePoint:
    """A system by its run time and its score, at a place in pixels from the left and the top."""

    system: str
    seconds: float
    value: float
    x: float
    y: float
    best: bool
    """Whether no other system is both better and faster."""
    label: tuple[float, float] | None
    """Middle and base line of its name, in pixels from the left and the top; None without room for it."""


@dataclass(frozen=True)
class RuntimeChart:
    """The systems of an evaluation by run time and headline metric."""

    points: Sequence[RuntimePoint]
    """From the fastest to the slowest."""
    times: Sequence[tuple[float, str]]
    values: Sequence[tuple[float, str]]
    """Ticks of the axes: pixels from the left or the top, and texts."""
    left_out: int
    """Number of systems without a run time or a score."""

    @property
    def best(self) -> list[str]:
        """Systems than which no other is both better and faster, the fastest first."""
        return [point.system for point in self.points if point.best]


def runtimes_of(ranked: RankedEvaluation) -> RuntimeChart | None:
    """Return the systems of an evaluation by run time and headline metric; None if fewer than two have both."""
    headline = next(metric for metric in ranked.metrics if metric.name == ranked.headline)
    sign = SIGN_OF.get(headline.orientation, 0)
    timed = []
    for system in ranked.systems:
        seconds, value = seconds_of(system.metadata.get(RUNTIME)), system.scores[ranked.headline].value
        if seconds is not None and isinstance(value, float) and math.isfinite(value):
            timed.append((seconds, value, system.name))
    if len(timed) < 2 or not sign:
        return None
    timed.sort(key=lambda row: (row[0], -sign * row[1], row[2]))
    first, last = math.log(timed[0][0] / 1.3), math.log(timed[-1][0] * 1.3)

    def along(seconds: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * (math.log(seconds) - first) / (last - first), 1)

    within = [(seconds, text) for seconds, text in _ROUND_TIMES if first <= math.log(seconds) <= last]
    times = [(along(seconds), text) for seconds, text in within[:: 1 + len(within) // _MOST_TICKS]]
    least, most = min(value for _, value, _ in timed), max(value for _, value, _ in timed)
    room = 0.08 * (most - least) or 0.5 * abs(most) or 1.0
    low, high = least - room, most + room

    def upwards(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)

    marks = ticks(low, high)
    decimals = max(len(f"{value:.6g}".partition(".")[2]) for value in marks)
    places = {name: (along(seconds), upwards(value)) for seconds, value, name in timed}
    best: dict[str, float] = {}
    for _, value, name in timed:
        if sign * value > max(best.values(), default=-math.inf):
            best[name] = sign * value
    labels = _labels({name: places[name] for name in [*best, *places]})
    points = [
        RuntimePoint(name, seconds, value, *places[name], name in best, labels.get(name))
        for seconds, value, name in timed
    ]
    values = [(upwards(value), f"{value:.{decimals}f}") for value in marks]
    return RuntimeChart(points, times, values, len(ranked.systems) - len(timed))


def _labels(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Places of names above, below or beside their points, where they cover neither points nor names before."""
    boxes = [(x, y, _DOT, _DOT) for x, y in places.values()]
    labels = {}
    for name, (x, y) in places.items():
        wide, high = len(name) * _LETTER / 2, _LINE / 2
        over = min(max(x, wide), _RIGHT + 10 - wide)
        for middle, base in ((over, y - 10), (over, y + 19), (x + 9 + wide, y + 4), (x - 9 - wide, y + 4)):
            centre = base - 4
            inside = wide <= middle <= _RIGHT + 10 - wide
            if inside and all(abs(centre - b) >= high + h or abs(middle - a) >= wide + w for a, b, w, h in boxes):
                boxes.append((middle, centre, wide, high))
                labels[name] = round(middle, 1), round(base, 1)
                break
    return labels
