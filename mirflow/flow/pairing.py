"""Which reference meets which estimate for which cell, and what is known of a cell before it is scored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..plan import Reference
from ..ragged import Int
from ..readers.sources import Source
from ..status import Status
from .side import Side
from .work import BlockWork, TrackWork


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
    sides = references, estimates
    for track in work.tracks:
        for system, estimate in zip(track.systems, track.estimates, strict=True):
            own = [one for one in track.references if not work.by_annotator or not _same(one.source, estimate, sides)]
            state, message = _state(track, system, own, estimate, references, estimates)
            good = estimate is not None and estimates.trouble(estimate) is None
            row = estimates.row(estimate) if good and estimate is not None else estimates.empty_row
            for one in own:
                if references.trouble(one.source) is None:
                    cells.append(len(status))
                    reference_rows.append(references.row(one.source))
                    estimate_rows.append(row)
                    annotators.append(one.annotator)
            status.append(state)
            messages.append(message)
    columns = [np.array(values, dtype=np.int64) for values in (cells, reference_rows, estimate_rows)]
    return Pairs(columns[0], columns[1], columns[2], tuple(annotators), status, messages)


def _same(reference: Source, estimate: Source | None, sides: tuple[Side, Side]) -> bool:
    """Whether two sources are one annotation: the same files, by whatever path, and the same annotator in them."""
    if estimate is None or _files(reference) != _files(estimate):
        return False
    return sides[0].annotator(reference) == sides[1].annotator(estimate)


@lru_cache(maxsize=1 << 16)
def _real(path: str) -> str:
    return os.path.realpath(path)


def _files(source: Source) -> tuple[str, ...]:
    paths = getattr(source, "paths", None) or (getattr(source, "path", source.label),)
    return (*map(_real, paths), getattr(source, "track", ""))


def _state(
    track: TrackWork, system: str, own: Sequence[Reference], estimate: Source | None, references: Side, estimates: Side
) -> tuple[Status, str]:
    """What is known of a cell before it is scored."""
    if not own and track.references:
        return Status.missing_reference, f"system {system!r} is the reference of track {track.track!r} itself"
    if not own:
        return Status.missing_reference, f"track {track.track!r} has no reference"
    for one in own:
        trouble = references.trouble(one.source)
        if trouble is not None:
            return trouble
    if estimate is None:
        return Status.missing_estimate, f"system {system!r} has no estimate of track {track.track!r}"
    trouble = estimates.trouble(estimate)
    if trouble is not None:
        return trouble
    for one in own:
        if len(references.annotations[references.row(one.source)]) == 0:
            return Status.empty_reference, f"{one.source.label}: track {track.track!r} has an empty reference"
    if len(estimates.annotations[estimates.row(estimate)]) == 0:
        told = f"system {system!r} has an empty estimate of track {track.track!r}"
        return Status.empty_estimate, f"{estimate.label}: {told}"
    return Status.ok, ""
