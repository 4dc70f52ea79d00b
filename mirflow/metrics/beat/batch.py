"""Some pairs of beat sequences, with what several metrics need of them computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from ...kernels.nearest import nearest
from ...kernels.searching import search_rows
from ...ragged import Int
from ..events import Events
from .levels import places_from_double, variations

_Result = TypeVar("_Result")


class Batch:
    """Pairs that have at least one beat on each side.

    Parameters
    ----------
    reference, estimate : Events
    """

    def __init__(self, reference: Events, estimate: Events) -> None:
        self.reference, self.estimate = reference, estimate
        self._known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """A result that several metrics share, computed when it is first asked for."""
        if key not in self._known:
            self._known[key] = compute()
        found: _Result = self._known[key]
        return found

    @cached_property
    def levels(self) -> dict[str, Events]:
        """The reference at every metrical level."""
        return variations(self.reference)

    @cached_property
    def _places(self) -> dict[str, Int]:
        double = self.levels["double"]
        place = search_rows(double.times, double.counts, self.estimate.times, self.estimate.counts)
        return places_from_double(place, self.estimate.pair, self.levels)

    def nearest_reference(self, level: str) -> Int:
        """The nearest beat at a level of the reference for each estimated beat; no pair's level may be empty."""
        one, estimate = self.levels[level], self.estimate
        return self.once(
            ("nearest", level),
            lambda: nearest(one.times, one.counts, estimate.times, estimate.counts, self._places[level]),
        )

    @cached_property
    def place_in_estimate(self) -> dict[str, Int]:
        """Where the annotated beats and the off-beats belong among the estimated ones."""
        estimate = self.estimate
        return {
            level: search_rows(estimate.times, estimate.counts, self.levels[level].times, self.levels[level].counts)
            for level in ("annotated", "off_beat")
        }

    def nearest_estimate(self, level: str) -> Int:
        """The nearest estimated beat for each annotated beat or off-beat."""
        one, estimate = self.levels[level], self.estimate
        return self.once(
            ("nearest estimate", level),
            lambda: nearest(estimate.times, estimate.counts, one.times, one.counts, self.place_in_estimate[level]),
        )
