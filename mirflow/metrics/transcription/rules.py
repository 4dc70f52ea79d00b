"""What makes an estimated note a possible match of a reference note, and what is read off the matches."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.identity import Measure

N_DECIMALS = 4
"""Distances in time are rounded to that many decimals, in seconds, before they are compared with a tolerance."""

STEP = 0.01
"""Times may be rounded down to a multiple of that instead, in seconds."""

VELOCITY, INSTRUMENT, COUNTS, NO_OFFSET = "velocity_", "instrument_", "by_instrument", "_no_offset"
"""Beginnings and endings of the metrics' names."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The conditions under which two notes may be matched; what is None is not looked at.

    Parameters
    ----------
    onset : float or None, seconds
        Largest distance of the onsets.
    pitch : float or None, cents
        Largest distance of the pitches.
    ratio : float or None
        Largest distance of the ends, as a share of the reference note's duration.
    least : float, seconds
        That distance is at least this.
    strict : bool
        Whether distances must be smaller than their tolerance.
    chroma : bool
        Whether octaves are ignored.
    by_label : bool
        Whether the labels must be the same.
    floored : bool
        Whether times are rounded down to multiples of `STEP` and compared as they are then, or taken as they are and
        their distances rounded to `N_DECIMALS`.
    """

    onset: float | None = None
    pitch: float | None = None
    ratio: float | None = None
    least: float = 0.0
    strict: bool = False
    chroma: bool = False
    by_label: bool = False
    floored: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a measure asks for.

    Parameters
    ----------
    rule : Rule
    quantity : str
        What is read off the matches: ``f_measure``, ``precision``, ``recall`` or an overlap ratio.
    velocity : float or None
        Largest distance of the velocities, or None if they are not looked at.
    beta : float
        How many times as much recall counts.
    """

    rule: Rule
    quantity: str
    velocity: float | None
    beta: float

    @classmethod
    def of(cls, measure: Measure) -> Reading:
        """The reading of a measure, from its parameters."""
        given = measure.parameters
        numbers = {name: float(value) for name, value in given.items() if not isinstance(value, str)}
        rule = Rule(
            numbers.get("onset_tolerance"),
            numbers.get("pitch_tolerance"),
            numbers.get("offset_ratio"),
            numbers.get("offset_min_tolerance", 0.0),
            bool(given["strict"]),
            bool(given.get("chroma", False)),
            is_by_instrument(measure),
            given["rounding"] == "times",
        )
        return cls(rule, _quantity(measure), numbers.get("velocity_tolerance"), numbers.get("beta", 1.0))


def is_by_instrument(measure: Measure) -> bool:
    """Whether notes are compared within their instruments."""
    return measure.metric.name.startswith((INSTRUMENT, COUNTS))


def is_with_velocity(measure: Measure) -> bool:
    """Whether velocities are compared."""
    return measure.metric.name.startswith(VELOCITY)


def _quantity(measure: Measure) -> str:
    name = measure.metric.name.removesuffix(NO_OFFSET)
    for prefix in (VELOCITY, INSTRUMENT, "onset_", "offset_"):
        name = name.removeprefix(prefix)
    return name
