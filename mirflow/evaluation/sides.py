"""Both sides of an evaluation in memory: the source of each track's reference, and of each system's estimates.

The task and the grid are found from the values. Pairs may also come as a stream, and lazy collections have lazy scores.
Datasets of aligned frames become annotations again.
"""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..annotations.annotation import Annotation, AnnotationLike, SupportsArray, to_ragged
from ..annotations.collection import Collection, RowSource
from ..annotations.collection import from_dataset as collection_from_dataset
from ..annotations.labelled import from_dataset
from ..annotations.schema import KINDS, Kind, kind_of
from ..annotations.source import Source
from ..engine.block import BLOCK, TrackWork
from ..engine.lazy import LazyCollection
from ..engine.time_grids import from_grid
from ..errors import AnnotationError, MetricError, ScoreError, suggest
from ..metrics.base import tasks
from ..metrics.melody.metrics import LAST
from ..pipeline.plan import Reference
from ..readers.annotation_files import says_namespace, tasks_meant
from ..readers.objects import (
    SYSTEM,
    TRACK,
    LongTable,
    ObjectSource,
    is_annotation,
    is_table,
    name_keys,
    table_columns,
    to_annotation,
)

if TYPE_CHECKING:
    import xarray as xr

TracksLike: TypeAlias = "Mapping[Any, AnnotationLike | None] | Collection | LazyCollection | xr.Dataset | SupportsArray"
"""Annotations of many tracks: a mapping by track, a collection or its dataset, or a data frame with a column
``track``."""
EstimatesLike: TypeAlias = "TracksLike | Mapping[Any, TracksLike]"
"""Estimates of one system, or of several: a mapping by system, or a data frame with a column ``system``."""
Plain = Annotation | Collection | LazyCollection
Sources = Mapping[str, Source]
_ONE = (str, os.PathLike, tuple, list, Annotation)  # types of one annotation
ESTIMATE = "estimate"  # the system of estimates that name none


def work_of(track: str, reference: Source | None, estimates: Mapping[str, Source | None]) -> TrackWork:
    """Return the work of one track: its reference, and the estimate of each system."""
    references = () if reference is None else (Reference(reference),)
    return TrackWork(track, references, tuple(estimates), tuple(estimates.values()), (0,) * len(estimates))


def to_plain(value: Any, task: str | None, options: Mapping[str, Any] = MappingProxyType({})) -> Plain:
    """One annotation as plain columns, or a collection; the options are those of reading."""
    if isinstance(value, Plain):
        return value
    if is_aligned(value):
        return _of_frames(value)
    if _is_collection_dataset(value):
        if "kind" not in value.attrs and task is not None:  # of the user's own
            value = value.assign_attrs(kind=kind_of(task).name)
        return collection_from_dataset(value)
    if task is None and not hasattr(value, "data_vars"):
        raise MetricError(f"the task is missing: choose from {', '.join(tasks())}")
    return to_annotation(value, str(value.attrs.get("kind")) if task is None else task, **options)


def is_aligned(value: object) -> bool:
    """True for what `align` returned."""
    return (
        hasattr(value, "data_vars") and "time" in getattr(value, "dims", ()) and "grid" in getattr(value, "attrs", ())
    )


def _of_frames(dataset: Any) -> Plain:
    """What `align` returned, as annotations whose times are those of its frames."""
    if "annotation" in dataset.dims:
        names = ", ".join(map(repr, dataset["annotation"].values.tolist()))
        raise AnnotationError(f"aligned annotations are scored one by one: select one of {names} along 'annotation'")
    unframed: Any = from_grid(dataset)
    plain: Annotation | Collection = unframed if isinstance(unframed, Collection) else from_dataset(unframed)
    if LAST not in dataset.variables:
        return plain
    rows = plain.rows if isinstance(plain, Collection) else to_ragged([plain])
    # Rounding decides whether a frame at the end of a melody counts, so one that ended behind it still has to.
    time, filled = rows.columns["time"].copy(), np.flatnonzero(rows.counts[0])
    index, last = rows.offsets[filled + 1] - 1, np.atleast_1d(dataset[LAST].to_numpy())[filled]
    time[index] += np.where(last > time[index] + _BEHIND, _BEHIND, 0.0)
    columns = {**rows.columns, "time": time}
    if isinstance(plain, Collection):
        return replace(plain, rows=replace(rows, columns=columns))
    return replace(plain, columns=columns)


_BEHIND = 1e-9  # seconds by which a last sample is moved behind its frame


def grid_of(grid: Any, *sides: Any) -> Any:
    """The grid on which sides are scored: that asked for, which is the one of those that were aligned on frames."""
    every = [one for value in sides for one in (value.values() if type(value) is dict else [value])]
    every = [one for value in every for one in (value.values() if type(value) is dict else [value])]
    hops = {float(one.attrs.get("hop", 0.0)) for one in every if is_aligned(one)}
    if not hops:
        return grid
    if 0.0 in hops:
        raise MetricError("only what was aligned on frames is scored: align with {'hop': seconds}")
    wanted = grid["hop"] if isinstance(grid, Mapping) and "hop" in grid else grid
    if len(hops) > 1 or (wanted is not None and str(float(hops.copy().pop())) != str(wanted)):
        known = ", ".join(f"{hop:g} s" for hop in sorted(hops))
        wished = "" if grid is None else f" and the grid is {grid!r}"
        raise MetricError(f"the hops of a comparison differ: annotations were aligned on frames of {known}{wished}")
    return hops.pop()


def _is_collection_dataset(value: object) -> bool:
    return hasattr(value, "data_vars") and TRACK in getattr(value, "dims", ())


def task_of(*given: Any) -> str:
    """The task that one of the values was loaded for, that JAMS names, or the only one of the kind of one of them."""
    attrs: list[Mapping[str, Any]] = [getattr(value, "attrs", {}) for value in given]
    for attr in attrs:
        if "task" in attr:
            return str(attr["task"])
    files = [value for value in given if says_namespace(value)]
    every, held = tasks_meant(files)
    meant = [task for task in every if task in tasks()]
    if files and len(meant) != 1:
        raise MetricError(
            f"the task is missing: choose from {', '.join(meant)}"
            if meant
            else f"the task is missing, and the two sides name none together: {held}"
        )
    if meant:
        return meant[0]
    kinds = [
        KINDS.get(str(getattr(value, "kind", None) or attr.get("kind")))
        for value, attr in zip(given, attrs, strict=True)
    ]
    possible = next(([task for task in kind.tasks if task in tasks()] for kind in kinds if kind is not None), [])
    if len(possible) != 1:
        raise MetricError(f"the task is missing: choose from {', '.join(possible or tasks())}")
    return possible[0]


def demand_kind(task: str, side: str, kind: str) -> None:
    """Refuse annotations of another kind than the task compares."""
    wanted = kind_of(task).name
    if kind != wanted:
        raise AnnotationError(f"the {side} holds {kind}, the task {task} compares {wanted}")


class ObjectSources(UserDict[str, Any]):
    """Sources of the objects in memory of one side, by track. Each is made when it is asked for, so that of many cells
    only those of one block have sources at a time."""

    def __init__(self, objects: dict[str, Any], task: str, side: str) -> None:
        self.data, self._task, self._side = objects, task, side

    def __getitem__(self, track: str) -> Source:
        return ObjectSource(self.data[track], self._task, f"{self._side} {track}")


def sources_of(value: Any, task: str, side: str) -> Sources:
    """Find the source of each track of one side (``reference`` or ``estimate``, for messages). The value is a
    collection, the dataset of one, a table with a column ``track``, or a mapping of tracks to annotations."""
    if is_aligned(value) or _is_collection_dataset(value):
        value = to_plain(value, task)
    if isinstance(value, LazyCollection | Collection):
        demand_kind(task, side, value.kind)
    if isinstance(value, LazyCollection):
        return dict(zip(value.tracks, value.sources, strict=True))
    if isinstance(value, Collection):
        # Small ones, as the place of a row is found by counting all items of those before it.
        parts = (value.isel(track=slice(start, start + BLOCK)) for start in range(0, len(value), BLOCK))
        shown = {track: str(value.attrs.get("source", f"{side} {track}")) for track in value.tracks}
        return {track: RowSource(part, track, shown[track]) for part in parts for track in part.tracks}
    if is_table(value):
        table = LongTable.of(value, kind_of(task))
        if table.systems:
            raise AnnotationError(
                f"the {side}s name systems: leave out the column {SYSTEM!r}, which only estimates may have"
            )
        return ObjectSources(dict(table.tracks("")), task, side)
    if not isinstance(value, Mapping):
        form = "{'track 1': ..., 'track 2': ...}"
        hint = "; mirflow.evaluate scores one pair" if isinstance(value, _ONE) or hasattr(value, "__array__") else ""
        raise AnnotationError(
            f"the {side}s are given as {type(value).__name__}, which names no tracks: pass a mapping {form}, a "
            f"collection, or a table with a column 'track'{hint}"
        )
    names = name_keys(list(value), TRACK)
    objects = {
        name: _of_frames(item) if is_aligned(item) else item
        for name, item in zip(names, value.values(), strict=True)
        if item is not None
    }
    return ObjectSources(objects, task, side)


def systems_of(value: Any, task: str, tracks: Iterable[str]) -> dict[str, Sources]:
    """Find the sources of the estimates, by system and track. Values are those of `sources_of`; a table may have a
    column ``system``, and a mapping may be one of systems to estimates. `tracks` are those of the references."""
    kind = kind_of(task)
    if is_table(value):
        table = LongTable.of(value, kind)
        return {
            system or ESTIMATE: ObjectSources(dict(table.tracks(system)), task, ESTIMATE)
            for system in table.systems or ("",)
        }
    if isinstance(value, Collection | LazyCollection) or not isinstance(value, Mapping):
        return {ESTIMATE: sources_of(value, task, ESTIMATE)}
    several = {key: holds_tracks(item, kind) for key, item in value.items() if item is not None}
    if not several or not any(several.values()):
        return {ESTIMATE: sources_of(value, task, ESTIMATE)}
    if not all(several.values()):
        system, item = (next(key for key, many in several.items() if many is wanted) for wanted in (True, False))
        raise AnnotationError(
            f"estimates are by track, or by system and track: {system!r} holds many tracks, {item!r} is one annotation"
        )
    names = name_keys(list(several), SYSTEM)
    sides = {name: sources_of(value[key], task, ESTIMATE) for name, key in zip(names, several, strict=True)}
    known = set(tracks)
    for name, sources in sides.items():
        # A misspelt column, by which the estimates of tracks look like those of systems.
        if name in known and sources and known.isdisjoint(sources):
            misspelt = next((item for item in sources if item not in kind.given_as), next(iter(sources)))
            raise AnnotationError(
                f"{name!r} is a track of the references, and {misspelt!r} is not a column of {kind.name}; "
                f"{suggest(misspelt, (*kind.required, *kind.arguments))}"
            )
    return sides


def holds_tracks(value: Any, kind: Kind) -> bool:
    """True if a value holds the annotations of many tracks instead of one."""
    if isinstance(value, Collection | LazyCollection) or _is_collection_dataset(value):
        return True
    if is_table(value):
        return TRACK in table_columns(value)
    return isinstance(value, Mapping) and not hasattr(value, "data_vars") and not is_annotation(value, kind)


def stream(pairs: Iterable[Any], task: str) -> Iterator[TrackWork]:
    """Yield the work of each pair, one after the other; None for a side that is missing. Pairs are (track, reference,
    estimate) or (track, system, reference, estimate)."""
    seen: set[tuple[str, str]] = set()
    last = "before any track"
    items = iter(pairs)
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except Exception as error:  # whatever the user's code raises
            raise ScoreError(f"the pairs could not be read on: {type(error).__name__}: {error}; {last}") from error
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) not in (3, 4):
            what = f"{len(item)} values" if isinstance(item, tuple | list) else type(item).__name__
            raise ScoreError(
                f"pairs are (track, reference, estimate) or (track, system, reference, estimate): {what}; {last}"
            )
        try:
            (track,), systems = name_keys([item[0]], TRACK), name_keys(list(item[1:-2]), SYSTEM)
        except AnnotationError as error:
            raise ScoreError(f"{error}; {last}") from None
        system, (reference, estimate) = systems[0] if systems else ESTIMATE, item[-2:]
        if (track, system) in seen:
            raise ScoreError(f"system {system!r} has two estimates of track {track!r}; {last}")
        seen.add((track, system))
        last = f"the last track is {track!r}"
        sides = [
            None if value is None else ObjectSource(value, task, f"{side} {track}")
            for side, value in (("reference", reference), (ESTIMATE, estimate))
        ]
        yield work_of(track, sides[0], {system: sides[1]})


def are_lazy(references: object, estimates: object) -> bool:
    """True if both sides are lazy collections, or the estimates lazy collections by system."""
    sides = (
        [*estimates.values()]
        if isinstance(estimates, Mapping) and not isinstance(estimates, LazyCollection)
        else [estimates]
    )
    return bool(sides) and all(isinstance(side, LazyCollection) for side in [references, *sides])
