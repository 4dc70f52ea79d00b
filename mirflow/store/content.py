"""What one group of a result store holds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cells import Cells

Entry = str | float | int | bool | None
Coords = Mapping[str, Sequence[Entry]]

WRITTEN = "chunks_written"
"""Attribute of a variable of which not every chunk is written: how many are, so that a lost one shows."""


@dataclass(frozen=True)
class GroupContent:
    """One evaluation as it stands in a store.

    Parameters
    ----------
    name : str
        Name of the group, an identifier.
    systems, tracks : tuple of str
        What the group holds, in this order.
    cells : Cells
        Results of any of the (system, track) cells, in any order. The rest reads as ``not_computed``. Cells of
        other systems and tracks are left out; of a cell that is given twice the later one counts.
    metric_coords, system_coords, track_coords : mapping of str to sequence
        Further coordinates along each dim: str, float, int, bool, or None where there is no value. Those along
        ``metric`` are what :func:`mirflow.metrics.base.describe` says.
    attrs : mapping
        Attributes of the group, as JSON: task, convention, grid, parameters, pipeline, versions, signature, ...
    """

    name: str
    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    cells: Cells
    metric_coords: Coords = field(default_factory=dict)
    system_coords: Coords = field(default_factory=dict)
    track_coords: Coords = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Identities of the scalar measures."""
        return self.cells.measures
