"""The layout of results in Zarr: dims, variables, attributes, and cells as dense arrays or sparse entries.

Attributes keep cautions and how an evaluation was scored, and are read back for people. Content that cannot be written
unchanged is refused. Chunks are cut in :mod:`mirflow.store.chunks`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations.classes import Classes
from ..errors import StoreError, counted
from ..metrics.base import Grid, Sparse, get_task
from ..metrics.measures import Measure, describe, to_record
from ..ragged import Float, Int
from .cells import CELL_ATTRS, MAX_LABEL, MAX_NAME, Caution, Cells, Entry, GroupContent, StoredResults, relabel

IMPORTED = "imported"
"""Attribute of a group whose scores come from a table: what the mapping calls itself; of a store all of them."""
PRINTED_STEP = "printed_step"
"""Attribute of a group: for each metric the smallest difference that the printed digits of a table show."""
SIGNATURES = "signatures"  # attribute of a group that keeps the signatures of its measures
WARNINGS = "warnings"
"""The attribute of an evaluation that keeps what was warned of, each with its ``text`` and its ``system``; of an answer
those that concern its systems, a line each."""


def list_cautions(attrs: Mapping[str, Any], systems: Collection[str] | None = None) -> list[str]:
    """Return warnings among the attributes of an evaluation, each once; with `systems`, those that concern one of them
    or all."""
    kept = attrs.get(WARNINGS, ())
    return list(
        dict.fromkeys(one["text"] for one in kept if systems is None or one["system"] in systems or not one["system"])
    )


def of_systems(attrs: Mapping[str, Any], systems: Collection[str]) -> dict[str, Any]:
    """Attributes of an evaluation without the warnings about other systems than some."""
    kept = [one for one in attrs.get(WARNINGS, ()) if not one["system"] or one["system"] in systems]
    return {**{name: value for name, value in attrs.items() if name != WARNINGS}, **({WARNINGS: kept} if kept else {})}


def labelled_cautions(attrs: Mapping[str, Any], store: str) -> dict[str, list[dict[str, str]]]:
    """Prefix the systems of stored warnings with the name of the store."""
    kept = [{**one, "system": one["system"] and f"{store}/{one['system']}"} for one in attrs.get(WARNINGS, ())]
    return {WARNINGS: kept} if kept else {}


def joined_cautions(given: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, str]]]:
    """Join the attribute of several stores: the warnings of each, after its name unless all stores have the same."""
    stores: dict[tuple[str, str], list[str]] = {}
    for store, attrs in given.items():
        for one in attrs.get(WARNINGS, ()):
            stores.setdefault((one["text"], one["system"]), []).append(store)
    kept = [
        {"text": text if len(own) == len(given) else f"{', '.join(own)}: {text}", "system": system}
        for (text, system), own in stores.items()
    ]
    return {WARNINGS: kept} if kept else {}


REFERENCES_DIFFER = "references_differ"
"""The attribute of an evaluation of several stores that says on which tracks their references differ or may do so."""
CLASSES = "classes"
"""The attribute of an evaluation that keeps its classes: ``names``, and ``credits`` as lists of the reference's class,
the estimate's class and what the error is worth; both empty where the pipeline names none."""


def kept_classes(classes: Classes | None) -> dict[str, dict[str, Any]]:
    """The attribute that keeps classes; None: the evaluation takes whatever occurs."""
    names, credits = (
        ([], []) if classes is None else (list(classes.names), [list(credit) for credit in classes.credits])
    )
    return {CLASSES: {"names": names, "credits": credits}}


DECLARED_METRICS = "declared_metrics"
"""The attribute of an evaluation that keeps the records of metrics from outside of mirflow, and of losses, by names."""


READING = "reading"
"""The attribute of an evaluation that keeps options of reading for each side: those that its convention has a say in,
and those that its pipeline sets to other values than the default."""


def spell_option(value: Any) -> str:
    """The value of an option of reading as text; mappings and lists as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


PATCHES = "patches"
"""The attribute of an evaluation that keeps which patches have corrected its references: file, digest, and changes with
track, author, reason and date."""


def told_patches(attrs: Mapping[str, Any]) -> list[str]:
    """The kept patches, for people."""
    told = []
    for one in attrs.get(PATCHES, ()):
        authors = ", ".join(dict.fromkeys(change["author"] for change in one["changes"]))
        told.append(f"{one['file']} ({one['digest']}): {counted(len(one['changes']), 'reference')} by {authors}")
    return told


def told_reading(attrs: Mapping[str, Any]) -> str:
    """The kept options of reading, for people; of each side where they differ.

    Examples
    --------
    >>> told_reading({"reading": {"reference": {"pedal": "extend"}, "estimates": {"pedal": "ignore"}}})
    'pedal extend (reference), ignore (estimates)'
    >>> told_reading({"reading": {"reference": {"pedal": "extend"}}})
    'pedal extend (reference)'
    """
    sides: Mapping[str, Mapping[str, Any]] = attrs.get(READING, {})
    told = []
    for name in dict.fromkeys(name for options in sides.values() for name in options):
        values = {side: spell_option(options[name]) for side, options in sides.items() if name in options}
        same = len(values) > 1 and len(set(values.values())) == 1
        each = ", ".join(f"{value} ({side})" for side, value in values.items())
        told.append(f"{name} {next(iter(values.values())) if same else each}")
    return "; ".join(told)


def kept_settings(
    task: str,
    convention: str,
    grid: Grid,
    combine: str,
    measures: Iterable[Measure],
    classes: Classes | None = None,
    cautions: Iterable[Caution] = (),
    others: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The attributes that keep how an evaluation was scored, with others behind the parameters of its metrics: those
    that are empty are left out."""
    measures = list(measures)
    declared = [measure.metric for measure in measures if measure.metric.origin or measure.metric.error]
    warned_of = [{"text": caution.text, "system": caution.system} for caution in cautions]
    return {
        "task": task,
        "convention": convention,
        "grid": grid,
        "combine": combine,
        "parameters": {str(measure): dict(measure.parameters) for measure in measures if measure.parameters},
        **{name: value for name, value in others.items() if value},
        **(kept_classes(classes) if get_task(task).convention(convention).bind else {}),
        **({DECLARED_METRICS: {metric.name: to_record(metric) for metric in declared}} if declared else {}),
        **({WARNINGS: warned_of} if warned_of else {}),
    }


def metric_coords(measures: Iterable[Measure]) -> dict[str, list[Any]]:
    """The coordinates along ``metric`` beside the identities of the scalar measures."""
    described = describe([measure for measure in measures if not measure.metric.dims])
    return {name: values.tolist() for name, values in described.items() if name != "metric"}


Array = npt.NDArray[Any]


def strings(values: Iterable[str]) -> Array:
    """Text as variable-length strings; invalid UTF-8 (stray bytes in file names) is escaped."""
    values = list(values)
    try:
        return np.array(values, dtype=np.dtypes.StringDType())
    except UnicodeEncodeError:
        escaped = [value.encode("utf-8", "backslashreplace").decode("utf-8") for value in values]
        return np.array(escaped, dtype=np.dtypes.StringDType())


def column(values: Sequence[Entry]) -> Array:
    """Entries of a coordinate as one array. All bool: bool. All int: int64. Numbers with floats or missing values:
    float64 with NaN. Everything else: text, empty where it is missing."""
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    whole = len(present) == len(values) and bool(present)
    if kinds == {bool} and whole:
        return np.array(values, dtype=np.bool_)
    if kinds == {int} and whole and all(-(2**63) <= int(value) < 2**63 for value in present):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    texts = (str(value).lower() if isinstance(value, bool) else value for value in values)
    return strings("" if text is None else str(text) for text in texts)


def usable_text(array: Array) -> Array:
    """Convert text of a store to objects, which can be joined with NaN and other text; other arrays are unchanged."""
    return array.astype(object) if array.dtype.kind == "T" else array


_UNSAFE = re.compile(r"[\s/\\\x00-\x1f]+")


def safe_name(name: str) -> str:
    """A name that can be a variable: no blanks (the CF attribute ``coordinates`` separates by them), no slashes.

    Examples
    --------
    >>> safe_name("release year"), safe_name("__x"), safe_name("..")
    ('release_year', 'x', 'unnamed')
    """
    return _UNSAFE.sub("_", name.strip()).lstrip("_.") or "unnamed"


NESTED = "json"  # the attribute that names those of the others that hold JSON


def plain_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that every format supports: nested values become JSON, and ``json`` lists their names."""
    nested = []
    for name, value in attrs.items():
        deep = isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value)
        if value is None or deep or isinstance(value, Mapping | bool):
            nested.append(name)
    plain = {name: json.dumps(value) if name in nested else value for name, value in attrs.items()}
    return {**plain, NESTED: " ".join(nested)} if nested else plain


def nested_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that :func:`plain_attrs` made plain."""
    nested = str(attrs.get(NESTED, "")).split()
    return {name: json.loads(v) if name in nested else v for name, v in attrs.items() if name != NESTED}


OWN_DIMS = "own_dims"
"""The attribute of a variable that keeps the metric's own names of its dims, where a store had to rename them."""


DIMS = ("system", "track", "metric")
DENSE: Mapping[str, tuple[str, ...]] = {
    **{name: DIMS if name in ("score", "weight") else DIMS[:2] for name in CELL_ATTRS},
    "duration": ("track",),
}
"""Dims of the variables that every evaluation has."""
FINGERPRINTS = "stamp"
"""Of the files' sizes and times: read by the next run alone, and too long for the integers of netCDF 3."""


@dataclass(frozen=True)
class StoredVariable:
    """A variable of a group: its dims, attributes, and values; a `Sparse` for a result with extra dims."""

    name: str
    dims: tuple[str, ...]
    values: Array | Sparse
    attrs: Mapping[str, Any]


def layout(content: GroupContent) -> tuple[list[StoredVariable], list[StoredVariable]]:
    """Coordinates of a group, labels of dims first, and its results with extra dims, whose entries are of `cells`."""
    names = zip(DIMS, (content.systems, content.tracks, content.measures), strict=True)
    coords = [StoredVariable(dim, (dim,), strings(values), {"long_name": dim}) for dim, values in names]
    names_taken = {*DIMS, *CELL_ATTRS, *content.cells.extras}
    folded: dict[str, str] = {}
    sides = ("metric", content.metric_coords), ("track", content.track_coords), ("system", content.system_coords)
    for side, named in sides:  # one whose name is taken, in any case, gets its dim in front
        others = set() if side == "metric" else {name.casefold() for name in names_taken}
        for original, entries in named.items():
            name = safe_name(original)
            if name in names_taken or name.casefold() in others:
                name = f"{side}_{name}"
            if name in names_taken:
                message = f"coordinate {original!r} of {side} is given twice as {name!r}"
                raise StoreError(f"group {content.name!r}: {message}")
            other = name if side == "metric" else folded.setdefault(name.casefold(), name)
            if other != name:
                message = f"coordinates {other!r} and {name!r} have the same name on some file systems; rename one"
                raise StoreError(f"group {content.name!r}: {message}")
            names_taken.add(name)
            coords.append(StoredVariable(name, (side,), column(entries), {"long_name": original}))
    extras = []
    taken = {one.name.casefold() for one in coords} | set(DENSE)
    labels = dict(zip(DIMS, (content.systems, content.tracks, content.measures), strict=True))
    for name, sparse in sorted(content.cells.extras.items()):
        dims = []
        for dim, own in zip(sparse.dims, sparse.coords, strict=True):
            # A dim of the same name with other labels gets the variable's in front.
            free = [one for one in (dim, f"{name}_{dim}") if one.casefold() not in taken or labels.get(one) == own]
            if not free:
                raise StoreError(f"{name}: cannot store dim {dim!r}: both {dim!r} and {name}_{dim} are taken")
            dims.append(free[0])
            if free[0].casefold() not in taken:
                coords.append(StoredVariable(free[0], (free[0],), strings(own), {"long_name": dim}))
            taken.add(free[0].casefold())
            labels[free[0]] = own
        renamed = {} if tuple(dims) == tuple(sparse.dims) else {OWN_DIMS: list(sparse.dims)}
        extras.append(StoredVariable(name, ("system", "track", *dims), sparse, {**sparse.attrs, **renamed}))
        taken.add(name.casefold())
    return coords, extras


def too_long(names: Iterable[str]) -> str:
    """Say that a name is longer than a page can show; empty if none is."""
    longest = max(names, key=len, default="")
    return f"the name {longest[:40]!r}... has more than {MAX_LABEL} characters" if len(longest) > MAX_LABEL else ""


def check(content: GroupContent) -> None:
    """Refuse content that would be written as something else than it says."""
    name, cells = content.name, content.cells
    if not name.isidentifier() or len(name.encode()) > MAX_NAME:
        raise StoreError(
            f"invalid group name {name!r}: expected an identifier (at most {MAX_NAME} letters, digits, underscores)"
        )
    for dim, values in zip(DIMS, (content.systems, content.tracks, content.measures), strict=True):
        if len(set(values)) != len(values):
            twice = next(value for value in values if values.count(value) > 1)
            raise StoreError(f"group {name!r}: {dim} {twice!r} is given twice")
        if longest := too_long(values):
            raise StoreError(f"group {name!r}: {longest}")
    per_cell = (cells.track, cells.status, cells.repairs, cells.message, cells.digest, cells.stamp, cells.duration)
    expected = (len(cells), len(content.measures))
    if any(len(values) != len(cells) for values in per_cell) or {cells.score.shape, cells.weight.shape} != {expected}:
        raise StoreError(f"group {name!r}: the arrays of its cells differ in length")
    if np.isnan(cells.weight).any():
        raise StoreError(f"group {name!r}: a weight is NaN; a cell without a score has weight 0 or an empty estimate's")
    sizes = (*content.shape, len(content.measures))
    for coords, size in zip((content.system_coords, content.track_coords, content.metric_coords), sizes, strict=True):
        for key, given in coords.items():
            if len(key.encode("utf-8", "replace")) > MAX_NAME:
                raise StoreError(f"group {name!r}: coordinate {key[:40]!r}... has a name of more than {MAX_NAME} bytes")
            if len(given) != size:
                raise StoreError(f"group {name!r}: coordinate {key!r} has {len(given)} values, not {size}")


def dense_cells(content: GroupContent, names: Iterable[str] = CELL_ATTRS) -> dict[str, Array]:
    """Return the cells of an evaluation as arrays over (system, track), as a store has them. ``score`` and ``weight``
    are (systems, tracks, measures); ``status``, ``repairs``, ``message``, ``digest`` and ``stamp`` (systems, tracks);
    ``duration`` (tracks,) in seconds. A cell without a result is ``not_computed``."""
    cells, shape = content.cells, content.shape
    known = content.places >= 0
    at = content.places[known]
    rows, sources = {system: row for row, system in enumerate(content.systems)}, by_source(content)
    dense: dict[str, Array] = {}
    for name in names:
        if name == "duration":
            dense[name] = stored_durations(content, at)
            np.fmax.at(dense[name], at % max(shape[1], 1), cells.duration[known])
            continue
        values = getattr(cells, name)
        values = strings(values) if name in TEXTS else np.asarray(values, TYPES[name])
        dense[name] = full = np.full((*shape, *values.shape[1:]), FILLS.get(name, 0), dtype=values.dtype)
        # Of the stored values, other tracks and measures than those of the content are left out.
        for source, systems in sources.items():
            own = np.array([rows[system] for system in systems], dtype=np.int64)
            numbers = name in ("score", "weight")
            if source.tracks == content.tracks and (not numbers or source.measures == content.measures):
                full[own] = source.read(name, systems)
                continue
            old, new = common_places(source.tracks, content.tracks)
            if numbers:
                ours, columns = common_places(source.measures, content.measures)
                full[np.ix_(own, new, columns)] = source.read(name, systems, ours.tolist())[:, old]
            else:
                full[np.ix_(own, new)] = source.read(name, systems)[:, old]
        full.reshape(shape[0] * shape[1], *values.shape[1:])[at] = values[known]
    return dense


def stored_durations(content: GroupContent, replaced: Int) -> Float:
    """The durations of tracks of which any system's result stays; `replaced` are places over (system, track)."""
    duration = np.full(len(content.tracks), np.nan)
    rows, columns = np.divmod(replaced, max(1, len(content.tracks)))
    row = {system: index for index, system in enumerate(content.systems)}
    for source, systems in by_source(content).items():
        old, new = common_places(source.tracks, content.tracks)
        stays = np.zeros(len(content.tracks), dtype=np.bool_)
        for system in systems:
            if stays[new].all():
                break
            own = np.zeros(len(stays), dtype=np.bool_)
            own[new] = source.read("status", [system])[0, old] != 0
            own[columns[rows == row[system]]] = False
            stays |= own
        duration[new] = np.fmax(duration[new], np.where(stays[new], source.durations[old], np.nan))
    return duration


def by_source(content: GroupContent) -> dict[StoredResults, list[str]]:
    """The systems of an evaluation whose results are stored, by where they are."""
    found: dict[StoredResults, list[str]] = {}
    for system in content.systems:
        if system in content.stored:
            found.setdefault(content.stored[system], []).append(system)
    return found


def common_places(some: Sequence[str], others: Sequence[str]) -> tuple[Int, Int]:
    """Places of the names that two sequences share, in each of them."""
    if some == others:
        return np.arange(len(some)), np.arange(len(some))
    place = {name: index for index, name in enumerate(some)}
    pairs = [(place[name], index) for index, name in enumerate(others) if name in place]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def extra_entries(content: GroupContent, name: str) -> Sparse:
    """A result with extra dims; the first index column is the place over (system, track), in ascending order."""
    whole = content.cells.extras[name]
    place, tracks = content.places, len(content.tracks)
    own = place[whole.index[:, 0]]
    index, values = [np.column_stack([own, whole.index[:, 1:]])[own >= 0]], [whole.value[own >= 0]]
    new = np.zeros(content.shape[0] * tracks, dtype=np.bool_)
    new[place[place >= 0]] = True
    row = {system: index for index, system in enumerate(content.systems)}
    for source, systems in by_source(content).items():
        track = np.full(len(source.tracks), -1, dtype=np.int64)
        old, at = common_places(source.tracks, content.tracks)
        track[old] = at
        for system in systems:
            entries = source.entries(name, system)
            if entries is None:
                continue
            entries = relabel(entries, whole.coords)
            column = track[entries.index[:, 0]]
            at = row[system] * tracks + column
            kept = column >= 0
            kept[kept] = ~new[at[kept]]
            index.append(np.column_stack([at, entries.index[:, 1:]])[kept])
            values.append(entries.value[kept])
    table, value = np.concatenate(index), np.concatenate(values)
    order = np.argsort(table[:, 0], kind="stable")
    return replace(whole, index=table[order], value=value[order])


def loaded(content: GroupContent) -> GroupContent:
    """An evaluation whose results are all in memory: cells with a status, system by system."""
    dense = dense_cells(content)
    extras = {name: extra_entries(content, name) for name in content.cells.extras}
    cells = cells_of_arrays(content.systems, content.tracks, content.measures, dense, extras)
    return replace(content, cells=cells, stored={})


def cells_of_arrays(
    systems: Sequence[str],
    tracks: Sequence[str],
    measures: tuple[str, ...],
    arrays: Mapping[str, Array],
    extras: Mapping[str, Sparse],
) -> Cells:
    """The cells with a status, system by system, of arrays as those of `dense_cells`, whose texts may be NaN, and of
    results with extra dims whose first index column is the place over (system, track)."""
    status = arrays["status"].ravel()
    at = np.flatnonzero(status)
    cell = np.full(len(status), -1, dtype=np.int64)
    cell[at] = np.arange(len(at))
    system, track = np.divmod(at, max(1, len(tracks)))
    columns: dict[str, Any] = {}
    for name, dtype in TYPES.items():
        values = arrays[name].reshape(len(status), *arrays[name].shape[2:])[at]
        texts = ("" if text != text else str(text) for text in values.tolist()) if name in TEXTS else ()
        columns[name] = tuple(texts) if name in TEXTS else values.astype(dtype, copy=False)
    found = {}
    for name, sparse in extras.items():
        index = np.column_stack([cell[sparse.index[:, 0]], sparse.index[:, 1:]])
        mask = index[:, 0] >= 0
        found[name] = replace(sparse, index=index[mask], value=sparse.value[mask])
    return Cells(
        system=tuple(systems[row] for row in system.tolist()),
        track=tuple(tracks[column] for column in track.tolist()),
        measures=measures,
        duration=arrays["duration"][track],
        extras=found,
        **columns,
    )


TEXTS = ("message", "digest")
TYPES: Mapping[str, np.dtype[Any]] = {
    "score": np.dtype(np.float64),
    "weight": np.dtype(np.float64),
    "status": np.dtype(np.int8),
    "repairs": np.dtype(np.int32),
    "message": np.dtype(np.dtypes.StringDType()),
    "digest": np.dtype(np.dtypes.StringDType()),
    "stamp": np.dtype(np.int64),
}
"""Types of the variables over systems and tracks."""
FILLS: Mapping[str, Any] = {"score": np.nan, "message": "", "digest": ""}
"""Values of cells without a result, where they are not 0."""
