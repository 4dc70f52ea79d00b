"""How far two sets of scores are from each other: stores, their groups, and published tables."""

from .difference import Difference, compare_sides
from .differing import diff, differences
from .sides import Side, sides_of

__all__ = ["Difference", "Side", "compare_sides", "diff", "differences", "sides_of"]
