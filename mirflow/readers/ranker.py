"""Distances from a query to all items of a collection, as a ranking."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.coded import CodedLabels
from ..errors import InvalidAnnotationError
from ..kernels.ascending import ascending
from ..ragged import Float, Int
from .spans import SameLine


@dataclass(frozen=True)
class Ranker:
    """Rows of distances to rankings.

    Parameters
    ----------
    items : tuple of str
        The names of the columns.
    without_self : bool
        Whether an item is left out of its own ranking.
    """

    items: tuple[str, ...]
    without_self: bool
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {item: place for place, item in enumerate(self.items)})

    def rank(self, query: str, distances: Float, line: int, name: str) -> Annotation:
        """The items from the nearest to the farthest; equally far ones in the order of the columns.

        Raises
        ------
        InvalidAnnotationError
            For a distance that is not finite.
        """
        odd = np.flatnonzero(~np.isfinite(distances))
        if len(odd):
            place = int(odd[0])
            message = f"distance from {query!r} to {self.items[place]!r} is not finite: {distances[place]}"
            raise InvalidAnnotationError(message, path=name, line=line or None)
        order: Int = ascending(distances)
        own = self.places.get(query)
        if self.without_self and own is not None:
            order = order[order != own]
        lines = SameLine(line, len(order))
        return Annotation("ranking", {}, CodedLabels(self.items, order), lines=lines, attrs={"source": name})
