"""Questions to a whole result store: which of its groups answers, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..status import Status
from .aggregate import aggregate as aggregate_group
from .selection import Names, as_names, check_group, find_metrics, labels_of

if TYPE_CHECKING:
    import xarray as xr


def groups_of(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """The evaluations of a store, by name; the root itself, named by its attributes, if the tree is a single one."""
    found = {}
    for node in tree.subtree:
        if "score" in node.data_vars:
            name = node.path.strip("/") or str(node.attrs.get("name") or node.name or "scores")
            found[name] = node.to_dataset()
    return found


def choose_groups(tree: xr.DataTree, metric: Names = None, group: str | None = None) -> dict[str, xr.Dataset]:
    """The evaluations that a question is about: the one of that name, else all that have the metrics.

    Raises
    ------
    UnknownNameError
        For a group, or a metric that no group has.
    QueryError
        If there is no evaluation at all, or none has all of the metrics.
    """
    groups = groups_of(tree)
    if not groups:
        raise QueryError("there are no scores in this store")
    if group is not None:
        if group not in groups:
            raise UnknownNameError("group", group, groups)
        groups = {group: groups[group]}
    wanted = as_names(metric) or []
    for name in wanted:
        if not any(_has(ds, [name]) for ds in groups.values()):
            raise UnknownNameError(
                "metric", name, {label for ds in groups.values() for label in labels_of(ds, "metric")}
            )
    chosen = {name: ds for name, ds in groups.items() if _has(ds, wanted)}
    if not chosen:
        raise QueryError(f"no group has all of these metrics: {', '.join(wanted)}; groups: {', '.join(groups)}")
    return chosen


def _has(ds: xr.Dataset, metrics: list[str]) -> bool:
    check_group(ds)
    try:
        find_metrics(ds, metrics)
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
    chosen = choose_groups(tree, metric, group)
    if len(chosen) > 1:
        listed = ", ".join(f"{name!r} (convention {ds.attrs.get('convention', '?')})" for name, ds in chosen.items())
        raise QueryError(f"several groups answer this: {listed}; say group=")
    (name, ds), *_ = chosen.items()
    answer = aggregate_group(
        ds, metric, aggregate, by, system=system, tracks=tracks, missing=missing, undefined=undefined
    )
    return answer.assign_attrs(group=name)


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

    check_group(ds)
    status = ds["status"].transpose("system", "track").values
    counts = np.stack([(status == one).sum(axis=1) for one in Status], axis=1).astype(np.int64)
    names = [one.name for one in Status]
    return xr.Dataset(
        {"cells": (("system", "status"), counts, {"long_name": "number of cells"})},
        {"system": labels_of(ds, "system"), "status": names},
    )


def headline_metrics(ds: xr.Dataset, most: int = 12) -> list[str]:
    """The metrics of a group that a short table shows: the recalls that its field ranks by, else the first ones."""
    labels = labels_of(ds, "metric")
    standard = ds["standard_aggregate"].values.tolist()
    recalls = [label for label, kind in zip(labels, standard, strict=True) if kind == "wcsr"]
    plain = [label for label in recalls or labels if "@" not in label and "(" not in label]
    return (plain or recalls or labels)[:most]
