"""Colours that colour-blind readers can tell apart, and how many systems get looks of their own."""

from __future__ import annotations

from dataclasses import dataclass

# The palette of Okabe and Ito (2008), without its yellow, which is too light for lines on white paper.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00"),
    *("#56B4E9", "#CC79A7", "#000000"),
)
CYCLE = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, BLACK)
GREY, PALE = "#767676", "#D9D9D9"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", (0, (4, 1.5)), (0, (1, 1)))
MOST_LOOKS = len(CYCLE) * len(_LINES)


@dataclass(frozen=True)
class Look:
    """How one of several things is drawn: no two have both colour and line, or colour and marker, in common."""

    color: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]


def looks(count: int) -> list[Look]:
    """So many looks.

    Parameters
    ----------
    count : int
        At most `MOST_LOOKS`.

    Examples
    --------
    >>> [look.color for look in looks(2)]
    ['#0072B2', '#E69F00']
    """
    if count > MOST_LOOKS:
        raise ValueError(f"there are {MOST_LOOKS} looks, not {count}")
    size = len(CYCLE)
    return [Look(CYCLE[i % size], _MARKERS[(i + i // size) % size], _LINES[i // size]) for i in range(count)]
