"""Several stores as one: evaluations of the same name and settings, joined along systems and tracks.

Names, statuses and what belongs to whole tracks are read at once; scores are read where they lie when they are asked
for.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MirflowWarning, QueryError
from ..status import Status
from .cautions import joined_cautions, labelled_cautions
from .classes import differing_classes
from .joined import CELL, Part, extra_dims, lazy_variable, names_of, places_of, union
from .references import DURATION, REFERENCES_DIFFER, TOLERANCE, differing_references
from .scoreboard import Array

if TYPE_CHECKING:
    import xarray as xr

STORE = "store"
"""The coordinate along tracks that says where they come from."""

_SETTINGS = ("task", "convention", "grid", "combine")


def join_trees(trees: Mapping[str, xr.DataTree], *, label: bool = False) -> xr.DataTree:
    """Stores as one tree.

    Parameters
    ----------
    trees : mapping of str to xr.DataTree
        Opened stores by name.
    label : bool
        Put the store's name before its systems, ``2013/KO1``, so that the same system may be in several.

    Returns
    -------
    xr.DataTree
        A group for each name of a group. A cell that no store has is ``not_computed``. Where stores scored the same
        track against references of different files or durations, the attribute ``references_differ`` says so, and a
        duration that differs is NaN.

    Raises
    ------
    QueryError
        If groups of the same name differ in task, convention, grid, combination, or in classes that scores depend on,
        a metric in its version, a track in a coordinate, or if two stores hold the same cell.

    Warns
    -----
    MirflowWarning
        Once for each group, where references may differ, and where only some stores have a metric.
    """
    import xarray as xr

    groups: dict[str, dict[str, xr.Dataset]] = {}
    for store, tree in trees.items():
        for node in tree.subtree:
            if "score" in node.data_vars:
                ds = node.to_dataset()
                groups.setdefault(node.path.strip("/"), {})[store] = _labelled(ds, store) if label else ds
    joined = {}
    for name, parts in groups.items():
        joined[f"/{name}"] = join_group(name, parts)
    return xr.DataTree.from_dict(joined)


def _labelled(ds: xr.Dataset, store: str) -> xr.Dataset:
    named = ds.assign_coords(system=[f"{store}/{name}" for name in names_of(ds, "system")])
    return named.assign_attrs(labelled_cautions(ds.attrs, store))


def join_group(name: str, given: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """One evaluation of several stores as one dataset; see :func:`join_trees`."""
    import xarray as xr

    _check_settings(name, given)
    labels = {dim: union(names_of(ds, dim) for ds in given.values()) for dim in CELL}
    labels["metric"], left_out = _common_metrics(name, given)
    parts = [
        Part(store, ds, {dim: places_of(names_of(ds, dim), own) for dim, own in labels.items()})
        for store, ds in given.items()
    ]
    _check_cells(name, parts, labels)
    coords: dict[str, Any] = {dim: np.array(own, dtype=str) for dim, own in labels.items()}
    for dim in labels:
        coords |= {key: (dim, values) for key, values in _coordinates(name, parts, dim, labels[dim]).items()}
    coords.setdefault(STORE, ("track", _origin(parts, len(labels["track"]))))
    variables: dict[str, Any] = {}
    for key in parts[0].ds.data_vars:
        if key in left_out or not all(key in part.ds.data_vars for part in parts):
            continue
        if set(parts[0].ds[key].dims) == {"track"}:
            values = _along_tracks(name, str(key), parts, labels["track"])
            variables[str(key)] = ("track", values, parts[0].ds[key].attrs)
        elif set(CELL) <= set(parts[0].ds[key].dims):
            variables[str(key)] = lazy_variable(str(key), parts, labels, coords, variables)
    told = {**joined_cautions({store: ds.attrs for store, ds in given.items()}), **_references(name, given)}
    same = {key: value for key, value in parts[0].ds.attrs.items() if all(p.ds.attrs.get(key) == value for p in parts)}
    return xr.Dataset(variables, coords, {**same, **told, "stores": ", ".join(given)})


def _references(name: str, given: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """What there is to say of references that differ or may do so, which is also warned of."""
    said = differing_references(given)
    if not said:
        return {}
    hint = "where they differ, score them again with the same references, or ask the stores one by one"
    warnings.warn(f"group {name!r}: {said}; {hint}", MirflowWarning, stacklevel=5)
    return {REFERENCES_DIFFER: said}


def _check_settings(name: str, given: Mapping[str, xr.Dataset]) -> None:
    (first, one), *others = given.items()
    for store, ds in others:
        for key in _SETTINGS:
            own, other = str(one.attrs.get(key, "")), str(ds.attrs.get(key, ""))
            if own != other:
                raise QueryError(
                    f"group {name!r}: {key} is {own!r} in {first} and {other!r} in {store}, so that they cannot be "
                    "opened as one; ask them one by one"
                )
    said = differing_classes({store: ds.attrs for store, ds in given.items()})
    if said:
        raise QueryError(
            f"group {name!r}: {said}, so that they cannot be opened as one; score them again by the same classes, or "
            "ask them one by one"
        )


def _common_metrics(name: str, given: Mapping[str, xr.Dataset]) -> tuple[list[str], Collection[str]]:
    """The metrics that all stores have, by the same version, and the tables that are left out; a warning names them."""
    versions: dict[str, dict[str, int]] = {}
    for store, ds in given.items():
        own = ds["version"].values.tolist() if "version" in ds.coords else [0] * ds.sizes["metric"]
        for metric, version in zip(names_of(ds, "metric"), own, strict=True):
            versions.setdefault(metric, {})[store] = version
    for metric, found in versions.items():
        if len(set(found.values())) > 1:
            told = ", ".join(f"{version} in {store}" for store, version in found.items())
            raise QueryError(f"group {name!r}: metric {metric!r} has version {told}; run the older pipeline again")
    common = [metric for metric, found in versions.items() if len(found) == len(given)]
    tables = _partly_tables(given)
    partly = [*(metric for metric in versions if metric not in common), *tables.values()]
    if partly:
        text = f"group {name!r}: not in all stores and left out: {', '.join(partly)}"
        warnings.warn(text, MirflowWarning, stacklevel=5)
    return common, tables


def _partly_tables(given: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Variables with extra dims that not all stores have over the same ones, with what to call them."""
    tables = [
        {str(key): one for key, one in ds.data_vars.items() if set(CELL) < set(one.dims) != {*CELL, "metric"}}
        for ds in given.values()
    ]
    found = {}
    for key, one in {key: one for own in tables for key, one in own.items()}.items():
        if not all(key in own and extra_dims(own[key]).keys() == extra_dims(one).keys() for own in tables):
            found[key] = str(one.attrs.get("metric", key))
    return found


def _check_cells(name: str, parts: Sequence[Part], labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse a cell that two stores hold: which one counts would be chance."""
    owner = np.full((len(labels["system"]), len(labels["track"])), -1)
    for number, part in enumerate(parts):
        held = part.ds["status"].transpose(*CELL).values != Status.not_computed
        at = np.ix_(part.places["system"], part.places["track"])
        both = held & (owner[at] >= 0)
        if both.any():
            system, track = np.argwhere(both)[0].tolist()
            one, two = parts[int(owner[at][system, track])].store, part.store
            cell = f"system {names_of(part.ds, 'system')[system]!r}, track {names_of(part.ds, 'track')[track]!r}"
            raise QueryError(
                f"group {name!r}: {cell} is in {one} and in {two} ({int(both.sum())} such cells); give the stores "
                f"labels, which are put before their systems, as in --label {one} --label {two} or "
                f"open_store({{{one!r}: ..., {two!r}: ...}}); stores are joined before any systems are chosen"
            )
        owner[at] = np.where(held, number, owner[at])


def _coordinates(name: str, parts: Sequence[Part], dim: str, labels: Sequence[str]) -> dict[str, Array]:
    """Coordinates along a dim, from all stores that have them."""
    keys = union(
        [str(key) for key, one in part.ds.coords.items() if one.dims == (dim,) and key != dim] for part in parts
    )
    found = {}
    for key in keys:
        entries: list[Any] = [None] * len(labels)
        for part in parts:
            if key not in part.ds.coords:
                continue
            for place, value in zip(part.places[dim].tolist(), part.ds[key].values.tolist(), strict=True):
                if place < 0 or value == "" or value != value:
                    continue
                if entries[place] is not None and entries[place] != value:
                    both = f"{entries[place]!r} in one store and {value!r} in {part.store}"
                    raise QueryError(f"group {name!r}: {dim} {labels[place]!r} has {key} {both}")
                entries[place] = value
        found[key] = _column(entries)
    return found


def _column(entries: Sequence[Any]) -> Array:
    """Values as one array; gaps are NaN among numbers, else empty."""
    there = {type(value) for value in entries if value is not None}
    if there and there <= {int, float}:
        whole = there == {int} and None not in entries
        return np.array(entries if whole else [np.nan if one is None else float(one) for one in entries])
    if there == {bool} and None not in entries:
        return np.array(entries)
    return np.array(["" if one is None else str(one) for one in entries], dtype=str)


def _origin(parts: Sequence[Part], count: int) -> Array:
    """The stores that each track is in."""
    names: list[list[str]] = [[] for _ in range(count)]
    for part in parts:
        for place in part.places["track"].tolist():
            names[place].append(part.store)
    return np.array([" + ".join(own) for own in names], dtype=str)


def _along_tracks(name: str, key: str, parts: Sequence[Part], tracks: Sequence[str]) -> Array:
    """Values of whole tracks, which all stores that know them have alike, but for durations of references.

    Of a duration that differs nobody can say which one counts: it is NaN, as one that is not known.
    """
    found, differing = np.full(len(tracks), np.nan), np.zeros(len(tracks), dtype=bool)
    for part in parts:
        places, values = part.places["track"], part.ds[key].values
        differ = np.abs(found[places] - values) > TOLERANCE
        if key == DURATION:  # which is 0 where no reference was usable
            differ &= (found[places] > 0) & (values > 0)
        if differ.any() and key != DURATION:
            track = tracks[int(places[np.flatnonzero(differ)[0]])]
            raise QueryError(f"group {name!r}: track {track!r} has another {key} in {part.store}")
        differing[places] |= differ
        found[places] = np.fmax(found[places], values)
    found[differing] = np.nan
    return found
