"""What became of one cell, that is one system's estimate of one track."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Outcome of scoring one (system, track) cell, as stored.

    ``not_computed`` is 0 because unwritten cells of an integer array read as 0.
    """

    not_computed = 0
    ok = 1
    missing_estimate = 2
    missing_reference = 3
    empty_reference = 4
    empty_estimate = 5
    unreadable = 6
    invalid = 7
    failed = 8

    @property
    def scored(self) -> bool:
        """Whether the cell has a score that a mean may use."""
        return self in SCORED


EMPTY = frozenset({Status.empty_reference, Status.empty_estimate})
SCORED = frozenset({Status.ok, *EMPTY})
FAILED = frozenset(
    {Status.missing_estimate, Status.missing_reference, Status.unreadable, Status.invalid, Status.failed}
)
