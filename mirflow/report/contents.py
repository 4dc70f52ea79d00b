"""What is in a result store, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.cautions import told_cautions
from ..analysis.query import count_statuses
from ..analysis.scoreboard import Scoreboard
from ..status import Status
from .tables import Entry, Table

_SOME = 12


def overview_table(boards: Mapping[str, Scoreboard]) -> Table:
    """What a store holds: a row for each evaluation, with its numbers of systems, tracks, metrics and cells.

    Parameters
    ----------
    boards : mapping of str to Scoreboard
        By the names of their groups.
    """
    rows: list[tuple[Entry, ...]] = []
    for name, board in boards.items():
        counts = count_statuses(board).sum(axis=0)
        scored = sum(int(counts[place]) for place, status in enumerate(Status) if status.scored)
        told = (str(board.attrs.get(key, "")) or None for key in ("task", "convention"))
        more = (len(board.siblings),) if any(one.siblings for one in boards.values()) else ()
        sizes = (*map(len, (board.systems, board.tracks, board.metrics)), *more)
        rows.append((name, *told, *sizes, f"{scored} of {counts.sum()}"))
    dims = ("with dims",) if any(one.siblings for one in boards.values()) else ()
    columns = ("group", "task", "convention", "systems", "tracks", "metrics", *dims, "cells scored")
    return Table(columns, tuple(rows))


def contents_table(name: str, board: Scoreboard) -> Table:
    """What one evaluation is: its systems, tracks, metrics, coordinates, siblings and provenance.

    Parameters
    ----------
    name : str
        Of the group.
    board : Scoreboard
    """
    attrs = board.attrs
    rows = [(key, str(attrs[key])) for key in ("task", "convention", "grid", "combine", "imported") if attrs.get(key)]
    for dim in ("system", "track", "metric"):
        labels = board.names(dim)
        rows.append((f"{dim}s ({len(labels)})", _some(labels)))
        if board.coords[dim] and dim != "metric":
            rows.append((f"{dim} coordinates", ", ".join(board.coords[dim])))
    if board.siblings:
        named = (f"{key}({', '.join(one.dims)})" for key, one in board.siblings.items())
        rows.append(("more than scalars", ", ".join(named)))
    if attrs.get("created"):
        rows.append(("created", str(attrs["created"])))
    versions = attrs.get("versions")
    if isinstance(versions, Mapping):
        rows.append(("versions", ", ".join(f"{key} {value}" for key, value in versions.items())))
    rows += [("warning", text) for text in told_cautions(attrs)]
    return Table(("group", name), tuple(rows), folds=(name,))


def coverage_table(name: str, board: Scoreboard) -> Table:
    """How many cells of each system have each status, without the statuses that do not occur."""
    counts = count_statuses(board)
    occurring = [(place, status.name) for place, status in enumerate(Status) if counts[:, place].any()]
    rows: list[tuple[Entry, ...]] = [
        (name, system, *(int(own[place]) for place, _ in occurring))
        for system, own in zip(board.systems, counts, strict=True)
    ]
    return Table(("group", "system", *(status for _, status in occurring)), tuple(rows))


def _some(names: Sequence[str]) -> str:
    """All of a few names, the ends of many."""
    if len(names) <= _SOME:
        return ", ".join(names)
    return f"{', '.join(names[: _SOME // 2])}, ..., {names[-1]}"
