"""Which reference meets which estimate for which cell, and what is known of a cell before it is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..plan import Reference
from ..ragged import Int
from ..readers.sources import Source
from ..status import Status
from .side import Side
from .work import BlockWork


@dataclass
class Pairs:
    """Which reference row meets which estimate row, for which cell; and what is already known of each cell."""

    cell: Int
    reference: Int
    estimate: Int
    annotator: tuple[str, ...]
    status: list[Status]
    message: list[str]


def pair_up(work: BlockWork, references: Side, estimates: Side) -> Pairs:
    """All pairs of a block that can be scored; a cell without a usable estimate meets the empty one."""
    cells: list[int] = []
    reference_rows: list[int] = []
    estimate_rows: list[int] = []
    annotators: list[str] = []
    status: list[Status] = []
    messages: list[str] = []
    for track in work.tracks:
        for system, estimate in zip(track.systems, track.estimates, strict=True):
            # An annotator is never scored against itself.
            own = [one for one in track.references if estimate is None or one.source.label != estimate.label]
            state, message = _state(track.track, system, own, estimate, references, estimates)
            good = estimate is not None and estimate not in estimates.trouble
            row = estimates.row_of[estimate] if good and estimate is not None else estimates.empty_row
            for one in own:
                if one.source not in references.trouble:
                    cells.append(len(status))
                    reference_rows.append(references.row_of[one.source])
                    estimate_rows.append(row)
                    annotators.append(one.annotator)
            status.append(state)
            messages.append(message)
    columns = [np.array(values, dtype=np.int64) for values in (cells, reference_rows, estimate_rows)]
    return Pairs(columns[0], columns[1], columns[2], tuple(annotators), status, messages)


def _state(
    track: str, system: str, own: Sequence[Reference], estimate: Source | None, references: Side, estimates: Side
) -> tuple[Status, str]:
    """What is known of a cell before it is scored."""
    if not own:
        return Status.missing_reference, f"track {track!r} has no reference"
    for one in own:
        if one.source in references.trouble:
            return references.trouble[one.source]
    if estimate is None:
        return Status.missing_estimate, f"system {system!r} has no estimate of track {track!r}"
    if estimate in estimates.trouble:
        return estimates.trouble[estimate]
    if any(len(references.annotations[references.row_of[one.source]]) == 0 for one in own):
        return Status.empty_reference, ""
    if len(estimates.annotations[estimates.row_of[estimate]]) == 0:
        return Status.empty_estimate, ""
    return Status.ok, ""
