"""Join several stores along systems and tracks, or report why they cannot be joined.

Stores whose classes or settings differ are refused. A warning names references that may differ, and metrics that only
some of the stores have, which are left out. Scores of the whole stay in the stores, and are read part by part.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MirflowWarning, QueryError, counted
from ..store.cells import FAILED_METRIC, Status
from ..store.format import (
    CLASSES,
    DECLARED_METRICS,
    IMPORTED,
    OWN_DIMS,
    REFERENCES_DIFFER,
    joined_cautions,
    labelled_cautions,
    nested_attrs,
    plain_attrs,
)
from .scores import Array, coords_of, names_of, tables_of

if TYPE_CHECKING:
    import xarray as xr


_DECIDED = ("tagging",)
"""Tasks in which each name is a decision on every track, so that scores depend on which there are."""


def differing_classes(given: Mapping[str, Mapping[str, Any]]) -> str:
    """Reason why the classes of several stores are not compatible; empty: they are.

    A list of classes that differs is none: scores depend on which tags there are, and on what errors are worth. Stores
    that do not say which classes they have agree with all others.

    Examples
    --------
    >>> from mirflow.annotations.classes import Classes
    >>> from mirflow.store.format import kept_classes
    >>> def attrs(credit):
    ...     return {"task": "classification", **kept_classes(Classes(("jazz", "pop"), (("jazz", "pop", credit),)))}
    >>> differing_classes({"a": attrs(0.5), "b": attrs(0.25)})
    "the credit for 'pop' where 'jazz' is right is 0.5 in a and 0.25 in b"
    >>> differing_classes({"a": attrs(0.5), "b": {"task": "classification"}})
    ''
    """
    classes = {store: attrs[CLASSES] for store, attrs in given.items() if CLASSES in attrs}
    decided = all(attrs.get("task") in _DECIDED for attrs in given.values())
    if not decided:  # no metric depends on credits that are not given
        classes = {store: kept for store, kept in classes.items() if kept["credits"]}
    stores = list(classes)
    for a, b in ((stores[0], store) for store in stores[1:]):
        names = {store: classes[store]["names"] for store in (a, b)}
        if decided and bool(names[a]) != bool(names[b]):
            has, lacks = (a, b) if names[a] else (b, a)
            return f"the vocabulary of tags is named in {has} and not in {lacks}"
        for has, lacks in ((a, b), (b, a)) if decided else ():
            only = next((name for name in names[has] if name not in set(names[lacks])), None)
            if only is not None:
                return f"{only!r} is in the vocabulary of tags of {has} and not in that of {lacks}"
        # The first error that is worth something else, of classes that both have.
        credits = [{(right, guess): worth for right, guess, worth in classes[store]["credits"]} for store in (a, b)]
        for right, guess in () if decided else {**credits[0], **credits[1]}:
            here, there = (worth.get((right, guess), 0.0) for worth in credits)
            if here != there and {right, guess} <= set(names[a]) & set(names[b]):
                return f"the credit for {guess!r} where {right!r} is right is {here:g} in {a} and {there:g} in {b}"
    return ""


DURATION, DIGEST = "duration", "digest"
TOLERANCE = 1e-6
"""Seconds by which the same duration may differ in two stores."""


def differing_references(given: Mapping[str, xr.Dataset]) -> str:
    """Message about tracks that several stores have, perhaps with different references; empty if there are none.

    References differ if their durations do. If only the digests of their files do, they may: the same annotation may
    have been read from a pack, or from a file of another format. A store that knows neither of a track, as one of
    imported scores, agrees with every other.

    `given`: one evaluation of each store: perhaps ``digest`` over (system, track), ``reference:estimate``, of which
    only what is needed is read, and ``duration`` over (track) in seconds.

    Examples
    --------
    >>> import xarray as xr
    >>> def scored(digest):
    ...     return xr.Dataset({"digest": (("system", "track"), [[digest, "7:1"]])}, {"track": ["x", "y"]})
    >>> differing_references({"2012": scored("4:2"), "2013": scored("5:3")}).partition(",")[0]
    "the reference of 1 of 2 shared tracks comes from different files in 2012 and 2013 (track 'x') and may differ"
    """
    holders = Counter(track for ds in given.values() for track in names_of(ds, "track"))
    shared = {track for track, stores in holders.items() if stores > 1}
    if not shared:
        return ""
    by_store = {store: reference_digests(ds, shared) for store, ds in given.items()}
    others: set[str] = set()
    involved: set[str] = set()
    for track in shared:
        digests = {store: own[track] for store, own in by_store.items() if track in own}
        if len(set(digests.values())) > 1:
            others, involved = others | {track}, involved | set(digests)
    durations: dict[str, dict[str, float]] = {}
    for store, ds in given.items():
        if DURATION in ds.data_vars:
            for track, seconds in zip(names_of(ds, "track"), ds[DURATION].values.tolist(), strict=True):
                # The duration is 0 where no reference was usable.
                if track in shared and seconds > 0:
                    durations.setdefault(track, {})[store] = seconds
    longer = {track for track, lengths in durations.items() if np.ptp(list(lengths.values())) > TOLERANCE}
    involved = involved.union(*(durations[track] for track in longer))
    differing = [track for track in holders if track in others or track in longer]
    if not differing:
        return ""
    stores = [store for store in given if store in involved]
    where = f"in {', '.join(stores[:-1])} and {stores[-1]}"
    single = len(differing) == 1
    which = "track" if single else "the first: track"
    of = f"the reference{'' if single else 's'} of {len(differing)} of {counted(len(shared), 'shared track')}"
    first = f"({which} {differing[0]!r})"
    so = "systems of different stores are held against references that differ there"
    if len(longer) == len(differing):
        return f"{of} {'is' if single else 'are'} of different durations {where} {first}, so that {so}"
    come = f"{of} {'comes' if single else 'come'} from different files {where} {first}"
    if not longer:
        may = so.replace("are held", "may be held")
        return f"{come} and may differ, so that {may}"
    return f"{come}, {len(longer)} of them of another duration, and the others may differ, so that {so}"


def reference_digests(ds: xr.Dataset, shared: set[str]) -> dict[str, str]:
    """Known digests of the references of some tracks."""
    found: dict[str, str] = {}
    if DIGEST not in ds.data_vars:
        return found
    wanted = {index: track for index, track in enumerate(names_of(ds, "track")) if track in shared}
    for system in range(ds.sizes["system"]):
        # Most often one system tells all of them.
        if len(found) == len(wanted):
            break
        digests = ds[DIGEST].variable.isel(system=system).values.tolist()
        for place, track in wanted.items():
            reference = str(digests[place]).partition(":")[0]
            if reference and track not in found:
                found[track] = reference
    return found


CELL = ("system", "track")
_FILLS: Mapping[str, object] = {"score": np.nan, "weight": np.nan, "status": 0, "repairs": 0, "stamp": 0}


@dataclass(frozen=True)
class StorePart:
    """One evaluation of one store, and where its systems, tracks and metrics are in the whole."""

    store: str
    """Its name."""
    ds: xr.Dataset
    places: Mapping[str, Array]
    """For each dim, the place in the whole of each of its labels; -1 for one that is not in it."""


def joined_variable(
    key: str,
    parts: Sequence[StorePart],
    labels: Mapping[str, Sequence[str]],
    coords: dict[str, Any],
    taken: Collection[str],
) -> xr.Variable:
    """A variable over cells that is read part by part.

    `key`: its name; all parts have it, with the same dims by the metric's own names. `labels`: those of the dims that
    all of an evaluation is about. `coords`: of the whole; it gets the labels of extra dims.
    """
    from ..lazy_array import lazy_variable

    like = parts[0].ds[key]
    named = [extra_dims(part.ds[key]) for part in parts]
    dims, whole = list[str](), list[list[str]]()
    for dim in named[0]:
        held = (names_of(part.ds, stored[dim]) for part, stored in zip(parts, named, strict=True))
        whole.append([*labels[dim]] if dim in labels else [*dict.fromkeys(chain.from_iterable(held))])
        if dim in labels:
            dims.append(dim)
            continue
        # Its own name, or with the variable's in front as in a store.
        for name in (dim, f"{key}_{dim}"):
            there = coords.get(name)
            free = name not in coords and name not in taken
            if free or (isinstance(there, np.ndarray) and there.tolist() == whole[-1]):
                coords.setdefault(name, np.array(whole[-1], dtype=str))
                dims.append(name)
                break
        else:
            raise QueryError(f"{key}: its dim {dim!r} cannot be joined, both {dim!r} and {key}_{dim} are taken")
    readers = []
    # Of a cell that several stores hold, the last one that is read counts: the first that computed it.
    by_rank = sorted(range(len(parts)), key=lambda at: (IMPORTED not in parts[at].ds.attrs, -at))
    for part, stored in ((parts[at], named[at]) for at in by_rank):
        inner = [places_of(names_of(part.ds, stored[dim]), own) for dim, own in zip(named[0], whole, strict=True)]
        extra = (stored[dim] for dim in named[0])
        readers.append(([*(part.places[dim] for dim in CELL), *inner], part.ds[key].transpose(*CELL, *extra)))
    shape = (*(len(labels[dim]) for dim in CELL), *map(len, whole))
    text = like.dtype.kind in "OTU"
    fill: object = "" if text else _FILLS.get(key, float(like.encoding.get("_FillValue", 0.0)))
    dtype = np.dtype(np.dtypes.StringDType()) if text else like.dtype
    # A cell that another store scored by other metrics lacks this score; nothing says that it has nothing to measure.
    attrs, key_is_weight = {name: value for name, value in like.attrs.items() if name != OWN_DIMS}, key == "weight"
    if dims != list(named[0]):
        attrs[OWN_DIMS] = list(named[0])

    def read(key: tuple[Any, ...]) -> Array:
        wanted = [np.atleast_1d(np.arange(size)[index]) for size, index in zip(shape, key, strict=True)]
        joined = np.full([len(labels) for labels in wanted], fill, dtype=dtype)
        for places, values in readers:
            # Where in the answer, and where in the part, are the labels that are in both.
            into, out = list[Array](), list[Array]()
            for labels, rows in zip(wanted, places, strict=True):
                row_of = np.full(max(int(labels.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1, dtype=np.int64)
                held = np.flatnonzero(rows >= 0)
                row_of[rows[held]] = held
                into.append(np.flatnonzero(row_of[labels] >= 0))
                out.append(row_of[labels][into[-1]])
            if all(map(len, into)):  # where a part has nothing, values of other parts stay
                old, new = joined[np.ix_(*into)], np.asarray(values[tuple(out)].values, dtype=dtype if text else None)
                nothing = np.isnan(new) if isinstance(fill, float) and np.isnan(fill) else new == fill
                joined[np.ix_(*into)] = np.where(nothing, old, new)
        if key_is_weight:
            joined[np.isnan(joined)] = 1.0
        scalar = (np.ndim(np.arange(size)[index]) == 0 for size, index in zip(shape, key, strict=True))
        return np.asarray(joined[tuple(0 if single else slice(None) for single in scalar)])

    return lazy_variable((*CELL, *dims), shape, dtype, read, attrs)


def extra_dims(values: xr.DataArray) -> dict[str, str]:
    """Map a metric's names of its extra dims to those in the store."""
    stored = [str(dim) for dim in values.dims if dim not in CELL]
    return dict(zip(map(str, values.attrs.get(OWN_DIMS, stored)), stored, strict=True))


def places_of(names: Sequence[str], whole: Sequence[str]) -> Array:
    """The place of each label in the whole; -1 for one that is not in it."""
    at = {name: index for index, name in enumerate(whole)}
    return np.array([at.get(name, -1) for name in names], dtype=np.int64)


STORE = "store"
"""The coordinate along tracks that says where they come from."""

_SETTINGS = ("task", "convention", "grid", "combine")


def join_trees(trees: Mapping[str, xr.DataTree], *, label: bool = False) -> xr.DataTree:
    """Stores as one tree.

    `label`: put the store's name before its systems, ``2013/KO1``, so that the same system may be in several. Returns a
    group for each name of a group. A cell that no store has is ``not_computed``. Stores that hold the same cells but
    different metrics are joined along metrics, and the status, message and digest of such a cell are those of the first
    store that computed it, or of the first one if all of them were imported. Where stores scored the same track against
    references of different files or durations, the attribute ``references_differ`` says so, and a duration that differs
    is NaN. Raises `QueryError` if groups of the same name differ in task, convention, grid, combination, or in classes
    that scores depend on, a metric in its version, a track in a coordinate, or if two stores hold the same metric of
    the same cell. A setting that a store does not know, as the grid of imported scores, agrees with any other.

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
                ds.attrs = nested_attrs(ds.attrs)
                if label:
                    ds = ds.assign_coords(system=[f"{store}/{name}" for name in names_of(ds, "system")])
                    ds = ds.assign_attrs(labelled_cautions(ds.attrs, store))
                groups.setdefault(node.path.strip("/"), {})[store] = ds
    joined = {}
    for name, parts in groups.items():
        joined[f"/{name}"] = ds = join_group(name, parts)
        ds.attrs = plain_attrs(ds.attrs)
    return xr.DataTree.from_dict(joined)


def join_group(name: str, given: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """One evaluation of several stores as one dataset; see :func:`join_trees`."""
    import xarray as xr

    settings = _settings(name, given)
    # Failures stay with their store: joined, they would be one variable with the names of all metrics.
    given = {store: ds.drop_dims(FAILED_METRIC, errors="ignore") for store, ds in given.items()}
    labels = {dim: [*dict.fromkeys(name for ds in given.values() for name in names_of(ds, dim))] for dim in CELL}
    reach = _check_cells(name, given, labels)
    labels["metric"], left_out = _kept_metrics(name, given, reach)
    parts = [
        StorePart(store, ds, {dim: places_of(names_of(ds, dim), own) for dim, own in labels.items()})
        for store, ds in given.items()
    ]
    coords: dict[str, Any] = {dim: np.array(own, dtype=str) for dim, own in labels.items()}
    for dim in labels:
        coords |= {key: (dim, values) for key, values in _coordinates(name, parts, dim, labels[dim]).items()}
    stores_of: list[list[str]] = [[] for _ in labels["track"]]
    for part in parts:
        for track in part.places["track"].tolist():
            stores_of[track].append(part.store)
    coords.setdefault(STORE, ("track", np.array([" + ".join(stores) for stores in stores_of], dtype=str)))
    variables: dict[str, Any] = {}
    for key in dict.fromkeys(str(key) for part in parts for key in part.ds.data_vars):
        having = [part for part in parts if key in part.ds.data_vars]
        if key in left_out or not all(map({part.store for part in having}.intersection, reach.values())):
            continue
        like = having[0].ds[key]
        if set(like.dims) == {"track"}:
            variables[key] = ("track", _along_tracks(name, key, having, labels["track"]), like.attrs)
        elif set(CELL) <= set(like.dims):
            variables[key] = joined_variable(key, having, labels, coords, variables)
    cautions = joined_cautions({store: ds.attrs for store, ds in given.items()})
    records: dict[str, dict[str, Any]] = {}
    for store, ds in given.items():
        for metric, record in ds.attrs.get(DECLARED_METRICS, {}).items():
            if records.setdefault(metric, record) != record:
                message = f"group {name!r}: metric {metric!r} is not defined in {store} as in the stores before it"
                warnings.warn(f"{message}; run their pipelines again", MirflowWarning, stacklevel=4)
    apart = differing_references(given)
    if apart:
        hint = "where they differ, score them again with the same references, or query the stores separately"
        warnings.warn(f"group {name!r}: {apart}; {hint}", MirflowWarning, stacklevel=4)
    cautioned: dict[str, Any] = {**cautions, **({REFERENCES_DIFFER: apart} if apart else {})}
    cautioned |= {DECLARED_METRICS: records} if records else {}
    same = {key: value for key, value in parts[0].ds.attrs.items() if all(p.ds.attrs.get(key) == value for p in parts)}
    return xr.Dataset(variables, coords, {**same, **settings, **cautioned, "stores": ", ".join(given)})


def _settings(name: str, given: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """The settings that all stores which know them have in common; raises where settings or classes differ."""
    settings: dict[str, str] = {}
    for key in _SETTINGS:
        # A table of scores that was imported says nothing of a grid.
        values = {store: str(ds.attrs[key]) for store, ds in given.items() if key in ds.attrs}
        first = next(iter(values), "")
        for store, value in values.items():
            settings[key] = values[first]
            if value != values[first]:
                imported = [side for side in (first, store) if IMPORTED in given[side].attrs]
                remedy = "query them separately"
                if imported:
                    remedy += f", or declare {key}: {values[({first, store} - {imported[0]}).pop()]} in the mapping of "
                    remedy += f"{imported[0]}, if its scores follow it"
                raise QueryError(
                    f"group {name!r}: {key} is {values[first]!r} in {first} and {value!r} in {store}, so that they "
                    f"cannot be opened as one; {remedy}"
                )
    said = differing_classes({store: ds.attrs for store, ds in given.items()})
    if said:
        raise QueryError(
            f"group {name!r}: {said}, so that they cannot be opened as one; score them again by the same classes, or "
            "query them separately"
        )
    return settings


def _kept_metrics(
    name: str, given: Mapping[str, xr.Dataset], reach: Mapping[str, set[str]]
) -> tuple[list[str], Collection[str]]:
    """The metrics, each of one version, that some systems would not lack, and the tables that are left out.

    A warning names those that only some of the stores have, unless the others hold the same cells.
    """
    versions: dict[str, dict[str, int]] = {}
    for store, ds in given.items():
        own = ds["version"].values.tolist() if "version" in ds.coords else [0] * ds.sizes["metric"]
        for metric, version in zip(names_of(ds, "metric"), own, strict=True):
            versions.setdefault(metric, {})[store] = version
    for metric, held in versions.items():
        if len(set(held.values())) > 1:
            words = ", ".join(f"{version} in {store}" for store, version in held.items())
            raise QueryError(f"group {name!r}: metric {metric!r} has version {words}; run the older pipeline again")
    metrics = [metric for metric, own in versions.items() if all(map(set(own).intersection, reach.values()))]
    # Variables with extra dims that stores lack or have over other ones, with what to call them.
    own_tables = {store: tables_of(ds) for store, ds in given.items()}
    tables = {}
    for key, table in {key: table for held in own_tables.values() for key, table in held.items()}.items():
        having = {store: extra_dims(own[key]).keys() for store, own in own_tables.items() if key in own}
        alike = all(dims == extra_dims(table).keys() for dims in having.values())
        if not (alike and all(map(set(having).intersection, reach.values()))):
            tables[key] = str(table.attrs.get("metric", key))
    partly = [*(metric for metric in versions if metric not in metrics), *tables.values()]
    if partly:
        text = f"group {name!r}: not in all stores and left out: {', '.join(partly)}"
        warnings.warn(text, MirflowWarning, stacklevel=5)
    return metrics, tables


def _check_cells(
    name: str, given: Mapping[str, xr.Dataset], labels: Mapping[str, Sequence[str]]
) -> dict[str, set[str]]:
    """Refuse a metric of a cell that two stores hold, as which one counts would be chance.

    Returns for each store itself and those that hold some of its cells, with other metrics: it lacks nothing that one
    of these has.
    """
    stores = list(given)
    shape = (len(labels["system"]), len(labels["track"]))
    owners: dict[frozenset[str], Array] = {}  # of stores with the same metrics, the one that holds a cell
    reach = {store: {store} for store in stores}
    for number, (store, ds) in enumerate(given.items()):
        held = ds["status"].transpose(*CELL).values != Status.not_computed
        at = np.ix_(*(places_of(names_of(ds, dim), labels[dim]) for dim in CELL))
        own = frozenset((*names_of(ds, "metric"), *tables_of(ds)))
        for metrics, owner in owners.items():
            both = held & (owner[at] >= 0)
            others = np.where(both, owner[at], -1)
            if metrics & own and both.any():
                system, track = np.argwhere(both)[0].tolist()
                cell = f"system {names_of(ds, 'system')[system]!r}, track {names_of(ds, 'track')[track]!r}"
                other = stores[int(others[system, track])]
                raise QueryError(
                    f"group {name!r}: {cell} is in {other} and in {store} ({both.sum()} such cells); give the stores "
                    f"labels, which are put before their systems, as in --label {other} --label {store} or "
                    f"open_store({{{other!r}: ..., {store!r}: ...}}); stores are joined before any systems are chosen"
                )
            for other in np.unique(others[both]).tolist():
                reach[store].add(stores[other])
                reach[stores[other]].add(store)
        owner = owners.setdefault(own, np.full(shape, -1))
        owner[at] = np.where(held, number, owner[at])
    return reach


def _coordinates(name: str, parts: Sequence[StorePart], dim: str, labels: Sequence[str]) -> dict[str, Array]:
    """Coordinates along a dim, from all stores that have them."""
    columns = {}
    for key in dict.fromkeys(key for part in parts for key in coords_of(part.ds, dim)):
        entries: list[Any] = [None] * len(labels)
        # Titles of a table without a convention are those of the task's first one.
        for part in sorted(parts, key=lambda part: "convention" not in part.ds.attrs) if key == "title" else parts:
            if key not in part.ds.coords:
                continue
            for place, value in zip(part.places[dim].tolist(), part.ds[key].values.tolist(), strict=True):
                if place < 0 or value == "" or value != value:
                    continue
                if entries[place] is not None and key == "title" and "convention" not in part.ds.attrs:
                    continue
                if entries[place] is not None and entries[place] != value:
                    both = f"{entries[place]!r} in one store and {value!r} in {part.store}"
                    raise QueryError(f"group {name!r}: {dim} {labels[place]!r} has {key} {both}")
                entries[place] = value
        # Values as one array; gaps are NaN among numbers, else empty.
        there = {type(value) for value in entries if value is not None}
        if there and there <= {int, float}:
            whole = there == {int} and None not in entries
            columns[key] = np.array(
                entries if whole else [np.nan if entry is None else float(entry) for entry in entries]
            )
        elif there == {bool} and None not in entries:
            columns[key] = np.array(entries)
        else:
            columns[key] = np.array(["" if entry is None else str(entry) for entry in entries], dtype=str)
    return columns


def _along_tracks(name: str, key: str, parts: Sequence[StorePart], tracks: Sequence[str]) -> Array:
    """Values of whole tracks, which all stores that know them have alike, but for durations of references.

    A duration that differs between stores is NaN, like an unknown one.
    """
    joined, differing = np.full(len(tracks), np.nan), np.zeros(len(tracks), dtype=bool)
    for part in parts:
        places, values = part.places["track"], part.ds[key].values
        differ = np.abs(joined[places] - values) > TOLERANCE
        if key == DURATION:  # which is 0 where no reference was usable
            differ &= (joined[places] > 0) & (values > 0)
        if differ.any() and key != DURATION:
            track = tracks[int(places[np.flatnonzero(differ)[0]])]
            raise QueryError(f"group {name!r}: track {track!r} has another {key} in {part.store}")
        differing[places] |= differ
        joined[places] = np.fmax(joined[places], values)
    joined[differing] = np.nan
    return joined
