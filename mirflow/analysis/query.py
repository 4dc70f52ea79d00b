"""Questions to a whole result store: which of its evaluations answers, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..ragged import Int
from ..status import Status
from .aggregate import ask
from .scoreboard import Scoreboard, from_dataset
from .selection import Names, as_names, find_metrics

if TYPE_CHECKING:
    import xarray as xr


def boards_of(tree: xr.DataTree) -> dict[str, Scoreboard]:
    """The evaluations of a store, by name; of a single node, that one."""
    found = {}
    for node in tree.subtree:
        if "score" in node.data_vars:
            name = node.path.strip("/") or str(node.name or "scores")
            found[name] = from_dataset(node.to_dataset())
    return found


def choose(boards: Mapping[str, Scoreboard], metric: Names = None, group: str | None = None) -> dict[str, Scoreboard]:
    """The evaluations that a question is about: the one of that name, else all that have the metrics.

    Raises
    ------
    UnknownNameError
        For a group, or a metric that no group has.
    QueryError
        If there is no evaluation at all, or none has all of the metrics.
    """
    if not boards:
        raise QueryError("there are no scores in this store")
    if group is not None:
        if group not in boards:
            raise UnknownNameError("group", group, boards)
        boards = {group: boards[group]}
    wanted = as_names(metric) or []
    for name in wanted:
        if not any(_has(board, [name]) for board in boards.values()):
            raise UnknownNameError("metric", name, {label for board in boards.values() for label in board.metrics})
    chosen = {name: board for name, board in boards.items() if _has(board, wanted)}
    if not chosen:
        raise QueryError(f"no group has all of these metrics: {', '.join(wanted)}; groups: {', '.join(boards)}")
    return chosen


def _has(board: Scoreboard, metrics: list[str]) -> bool:
    try:
        find_metrics(board, metrics)
    except UnknownNameError:
        return False
    return True


def query(
    tree: xr.DataTree,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    group: str | None = None,
    system: Names = None,
    tracks: Names = None,
    missing: str | None = None,
    undefined: str = "keep",
) -> xr.Dataset:
    """Figures over the tracks of one evaluation of a store.

    Parameters
    ----------
    tree : xr.DataTree
        An opened store.
    group : str or None
        Which evaluation; None: the only one that has the metrics.
    metric, aggregate, by, system, tracks, missing, undefined
        See :func:`mirflow.analysis.aggregate.aggregate`.

    Returns
    -------
    xr.Dataset
        As :func:`mirflow.analysis.aggregate.aggregate`, with the attribute ``group``.

    Raises
    ------
    QueryError
        If several evaluations have the metrics and `group` is None, and as
        :func:`mirflow.analysis.aggregate.aggregate`.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    chosen = choose(boards_of(tree), metric, group)
    if len(chosen) > 1:
        listed = ", ".join(f"{name!r} (convention {one.attrs.get('convention', '?')})" for name, one in chosen.items())
        raise QueryError(f"several groups answer this: {listed}; say group=")
    (name, board), *_ = chosen.items()
    return ask(
        board,
        metric,
        aggregate,
        by,
        system=system,
        tracks=tracks,
        missing=missing,
        undefined=undefined,
        group=name,
    ).to_dataset()


def count_statuses(board: Scoreboard) -> Int:
    """How many cells of each system have each status: int64 (systems, statuses)."""
    _, _, status, _ = board.load(range(len(board.systems)))
    return np.stack([(status == one).sum(axis=1) for one in Status], axis=1).astype(np.int64)


def coverage(ds: xr.Dataset) -> xr.Dataset:
    """What became of the cells of one evaluation.

    Parameters
    ----------
    ds : xr.Dataset
        A group of scores.

    Returns
    -------
    xr.Dataset
        ``cells`` int64 (system, status): how many cells of each system have each status.
    """
    import xarray as xr

    board = from_dataset(ds)
    cells = (("system", "status"), count_statuses(board), {"long_name": "number of cells"})
    return xr.Dataset({"cells": cells}, {"system": board.systems, "status": [one.name for one in Status]})


def headline_metrics(board: Scoreboard, most: int = 12) -> list[str]:
    """The metrics that a short table shows: the recalls that the field ranks by, else the first ones."""
    standard = board.texts("standard_aggregate")
    recalls = [label for label, kind in zip(board.metrics, standard, strict=True) if kind == "wcsr"]
    plain = [label for label in recalls or board.metrics if "@" not in label and "(" not in label]
    return (plain or recalls or board.metrics)[:most]
