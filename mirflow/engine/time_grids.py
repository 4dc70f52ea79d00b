"""Datasets of annotations on common time grids, in memory or lazy over the tracks of a collection; and back."""

from __future__ import annotations

import functools
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import getitem
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations import grids, rolls
from ..annotations.annotation import Annotation, absent, from_ragged, intervals_of_text, texts_at, to_ragged
from ..annotations.collection import Collection, with_columns
from ..annotations.collection import from_dataset as collection_from_dataset
from ..annotations.grids import GridArrays, GridForm, GridOptions, GridSpec, TimeGrid, Variables
from ..annotations.labelled import from_dataset, to_dataset
from ..annotations.schema import KINDS, Kind
from ..errors import AnnotationError, InvalidAnnotationError
from ..metrics.base import get_task
from ..metrics.cleaning import Cleaned, error_of, inspected, set_aside
from ..metrics.melody.metrics import CURVE
from ..metrics.multipitch.kernel import FORM as PITCHES
from ..ragged import Column, Ragged
from ..theory.general_midi import PEDALS
from .block import BLOCK
from .lazy import LazyCollection, read_block

if TYPE_CHECKING:
    import xarray as xr

_MOST_VALUES = 2**27  # of one array that is laid out in memory
_CHUNK_VALUES = 2**20  # of one chunk of several tracks
_ROWS = ("annotation", "track")


FORMS: Mapping[str, GridForm] = MappingProxyType(
    {
        "events": grids.EVENTS,
        "labels": grids.LABELS,
        "levels": grids.LEVELS,
        "notes": rolls.NOTES,
        "pedals": rolls.PEDALS_DOWN,
        "curve": CURVE,
        "pitches": PITCHES,
    }
)
"""By the names in the schema."""


def align(
    annotations: Any,
    grid: GridSpec = "union",
    *,
    names: Sequence[str] | None = None,
    resampling: str = "linear",
    width: int = 0,
) -> xr.Dataset:
    """Put annotations of one kind on a common time grid: one, several, or lazily those of a collection.

    Parameters
    ----------
    annotations : xr.Dataset, Annotation, a sequence or mapping of them, Collection or LazyCollection
        Events, intervals, hierarchies, notes, pedals, series, multipitch or, as intervals, text with times; the first
        is the reference. The keys of a mapping are `names`. If a kind has only one task, items are dropped or refused
        by its first convention.
    grid : {"union", "reference"}, {"hop": seconds} or array of seconds
        ``union``: all distinct times or boundaries. ``reference``: those of the first annotation. ``hop``: frames at
        k * hop from 0 s to the end. Array: stretches that begin at the given times, the last one as long as the one
        before it. Collections support frames and arrays.
    names : sequence of str or None
        Values of the coordinate ``annotation``; None: annotators, systems or file names, otherwise numbers.
    resampling : {"linear", "nearest", "hold"}
        Interpolation of series: linear in cents, the nearest sample, or the previous one.
    width : int
        Events: number of frames on each side of an event that are also activated, decreasing with distance.

    Returns
    -------
    xr.Dataset
        Variables over ``time``, preceded by ``annotation`` or ``track`` if there are several:

        - events: ``count``, int64, in each stretch; ``activation``, float32, 1 there and ``1 - d / (width + 1)`` at a
          distance of d stretches; with labels also ``code``, that of the last one in the stretch.
        - intervals: ``code``, int32, of the label at the beginning of the stretch (on the grid ``reference``, in its
          middle), -1 for none.
        - hierarchies: ``code(level, time)``.
        - notes: ``active`` and ``onset(time, pitch)``, bool, over the MIDI numbers from 0 to 127, and ``velocity``,
          float32. A note takes the stretches from that in which it starts to before that in which it ends, and at
          least one.
        - series: ``frequency`` in Hz, 0 without a pitch, and ``voicing`` from 0 to 1; unvoiced pitch estimates have 0.
          ``last`` is the time of the last sample, whatever the grid.
          After its last sample, a melody is silent, except on the grid ``reference``, which gives the values that the
          melody metrics compare.
        - multipitch: ``active(time, pitch)`` of the nearest frame, and ``frequency(time, voice)``, its pitches in Hz.
        - pedals: ``down(time, pedal)`` at the beginning of the stretch.

        ``vocabulary`` has the texts of codes; annotations in memory also have ``label``, the texts, and ``covered``,
        whether a label exists. ``valid``: whether a stretch begins before the end of the annotation. ``end`` is the end
        of each stretch. Arrays of collections are lazy, in chunks of few tracks.

    Raises
    ------
    AnnotationError
        If nothing is given, annotations differ in kind or have no times, values are invalid, or the grid is unsuitable
        or too long.
    UnknownNameError
        For another resampling.

    Examples
    --------
    >>> a = Annotation("intervals", {"start": np.array([0.0, 1.0]), "end": np.array([1.0, 3.0])}, ["C", "G"])
    >>> b = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["C"])
    >>> both = align([a, b]); both.time.values.tolist(), both.label.values.tolist()
    ([0.0, 1.0, 2.0], [['C', 'G', 'G'], ['C', 'C', '']])
    >>> beats = Annotation("events", {"time": np.array([0.5, 1.0])})
    >>> align(beats, {"hop": 0.25}, width=1).activation.values.tolist()
    [0.0, 0.5, 1.0, 0.5, 1.0]
    """
    options = GridOptions(resampling, width)
    if hasattr(annotations, "data_vars") and "track" in annotations.dims:
        annotations = collection_from_dataset(annotations)
    if isinstance(annotations, Collection | LazyCollection):
        return _align_collection(annotations, grid, options)
    single = isinstance(annotations, Annotation) or hasattr(annotations, "data_vars") or annotations is None
    if isinstance(annotations, Mapping) and not single:
        names, annotations = list(annotations), list(annotations.values())
    plain: list[Annotation] = []
    for value in [annotations] if single else annotations:
        if not isinstance(value, Annotation) and not hasattr(value, "data_vars"):
            raise AnnotationError(f"not an annotation: {type(value).__name__}; mirflow.annotation makes one")
        annotation = value if isinstance(value, Annotation) else from_dataset(value)
        plain.append(intervals_of_text(annotation) if annotation.kind == "text" else annotation)
    if not plain:
        raise AnnotationError("nothing to align")
    kinds = sorted({item.kind for item in plain})
    if len(kinds) > 1:
        raise AnnotationError(f"annotations of one kind share a grid, not {', '.join(kinds)}")
    kind = plain[0].schema
    form = _form_of(kind, options)
    labels = grids.names_of(plain) if names is None else list(names)
    if len(labels) != len(plain):
        raise AnnotationError(f"{len(labels)} names for {len(plain)} annotations")
    cleaned = _clean(kind, to_ragged(plain))
    for row, flaw in cleaned.flaws.items():
        raise error_of(flaw, plain[row], labels[row])
    time_grid = grids.make_grid(kind, cleaned.rows, grid, form.decimals)
    rows, options = cleaned.rows, replace(options, size=form.size(cleaned.rows))
    _demand_room(form, time_grid, options.size, len(rows))
    variables = form.to_grid(rows, time_grid, options)
    if "code" in variables:
        dims, codes, _ = variables["code"]
        variables["label"] = (dims, texts_at([*rows.labels, grids.NOTHING], codes), {"long_name": "label in force"})
        if "count" not in variables:
            variables["covered"] = (dims, codes >= 0, {"long_name": "whether a label is in force"})
    variables["valid"] = (("time",), grids.valid_frames(kind, grids.extents(kind, rows), time_grid), _VALID)
    aligned = _dataset(kind, {"annotation": list(labels)}, variables, time_grid, rows.labels, options)
    tasks = {item.attrs.get("task") for item in plain}
    if len(tasks) == 1 and None not in tasks:
        aligned.attrs["task"] = tasks.pop()
    return aligned.isel(annotation=0, drop=True) if single else aligned


def _form_of(kind: Kind, options: GridOptions) -> GridForm:
    """The form of a kind; options of other kinds are refused."""
    if kind.gridded_as not in FORMS:
        having = ", ".join(other.name for other in KINDS.values() if other.gridded_as)
        raise AnnotationError(f"annotations on time grids are of kind {having}, not {kind.name}")
    if options.width and kind.gridded_as != "events":
        raise AnnotationError(f"width is that of events, and {kind.name} have none")
    if options.resampling != "linear" and kind.gridded_as != "curve":
        raise AnnotationError(f"resampling is that of series, not of {kind.name}")
    if not isinstance(options.width, int | np.integer) or options.width < 0:
        raise AnnotationError(f"width is a number of frames from 0, not {options.width!r}")
    return FORMS[kind.gridded_as]


def _clean(kind: Kind, rows: Ragged) -> Cleaned:
    """Rows fit for a grid, and the flaws of those that are not."""
    form = FORMS[kind.gridded_as]
    if not form.task:
        return set_aside(rows, inspected(kind.name, rows)[1])
    before = Cleaned(rows, np.zeros(0, dtype=np.int64))
    if kind.gridded_as == "notes":
        pitch = rows.columns["pitch"]
        describe = "pitch is not from MIDI 0 to 127: {} Hz".format
        before = set_aside(rows, [(rolls.outside(pitch), lambda item: describe(pitch[item]))])
    cleaned = get_task(form.task).convention().clean(before.rows)
    return replace(cleaned, flaws={**cleaned.flaws, **before.flaws})


_VALID = {"long_name": "whether the stretch begins before the end of the annotation"}


def _dataset(
    kind: Kind,
    names: Mapping[str, list[str]],
    variables: Variables,
    grid: TimeGrid,
    labels: Sequence[str],
    options: GridOptions,
) -> xr.Dataset:
    """Variables over the annotations or the tracks, of which `names` has the dim and the labels, and over time."""
    import xarray as xr

    dims = {dim for of_variable, _, _ in variables.values() for dim in of_variable}
    coords: dict[str, Any] = dict(names)
    coords["time"] = ("time", grid.times, {"long_name": "start of the stretch", "units": "s"})
    if "end" in kind.times:
        coords["end"] = ("time", grid.ends, {"long_name": "end of the stretch", "units": "s"})
    if "pitch" in dims:
        coords["pitch"] = ("pitch", np.arange(grids.MIDI_NUMBERS), {"long_name": "pitch", "units": "MIDI"})
    if "pedal" in dims:
        coords["pedal"] = ("pedal", list(PEDALS), {"long_name": "pedal"})
    if "code" in variables:
        coords["vocabulary"] = ("code_value", texts_at(labels), {"long_name": "text of each code"})
    attrs: dict[str, Any] = {"kind": kind.name, "grid": grid.name}
    if grid.hop:
        attrs["hop"] = grid.hop
    if kind.gridded_as == "curve":
        attrs["resampling"] = options.resampling
    if kind.gridded_as == "events":
        attrs["width"] = options.width
    laid = {name: ((*names, *inner), array, about) for name, (inner, array, about) in variables.items()}
    return xr.Dataset(laid, coords, attrs)


def _demand_room(form: GridForm, grid: TimeGrid, size: int, annotations: int = 1) -> int:
    """Number of values of the largest variable of one annotation, of which memory has room for several."""
    sizes = {"time": len(grid), "pitch": grids.MIDI_NUMBERS, "level": max(size, 1), "pedal": len(PEDALS)}
    values = math.prod(sizes[dim] for dim in form.dims)
    if annotations * values > _MOST_VALUES:
        raise AnnotationError(
            f"{annotations * values} values are more than {_MOST_VALUES}; choose a longer hop, or fewer annotations"
        )
    return values


def _align_collection(collection: Collection | LazyCollection, spec: GridSpec, options: GridOptions) -> xr.Dataset:
    """Annotations of a collection on frames or times, as lazy arrays. The files of a lazy collection are read once for
    their ends and labels, and again for what is computed."""
    import dask
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    from .lazy_scores import CulledLayer

    kind = KINDS[collection.kind]
    form = _form_of(kind, options)
    if not len(collection):
        raise AnnotationError("nothing to align: the collection has no tracks")
    if isinstance(spec, str):
        raise AnnotationError(f"a collection of {kind.name} is aligned on frames, {{'hop': seconds}}, or given times")
    if isinstance(collection, LazyCollection):
        surveyed: Iterable[Any] = dask.compute(*map(dask.delayed(_extent, pure=False), collection.blocks()))
    else:
        surveyed = [_extent(collection)]
    ends, sizes, columns, labels = zip(*surveyed, strict=True)
    present: dict[str, Column] = {name: absent(kind, name, 0) for name in dict.fromkeys(chain(*columns))}
    none = tuple(np.zeros(0, dtype=np.int64) for _ in kind.dims)
    # Empty rows with all columns and labels of the collection.
    like = Ragged(present, none, tuple(dict.fromkeys(chain(*labels))), kind.depths)
    hop = grids.hop_of(spec) if isinstance(spec, Mapping) else None
    grid = grids.make_grid(kind, like, spec) if hop is None else grids.frame_grid(kind, max(*ends, 0.0), hop)
    options = replace(options, size=max(sizes))
    values = _demand_room(form, grid, options.size)
    block = collection.block if isinstance(collection, LazyCollection) else BLOCK
    size = max(1, min(block, _CHUNK_VALUES // max(values, 1)))
    layout = form.to_grid(like, grid, options)
    layout["valid"] = (("time",), np.zeros((0, len(grid)), dtype=np.bool_), _VALID)
    # One task reads and arranges a chunk, and each variable is taken from its result.
    arrange = functools.partial(_arrange, kind, like, grid, options)
    base = f"{collection.kind}-on-grid-{uuid.uuid4().hex}"
    starts = range(0, len(collection), size)
    # Bound, not passed: dask would search an argument, with all its sources, for keys.
    tasks = {
        (base, number): (functools.partial(arrange, collection.isel(track=slice(start, start + size))),)
        for number, start in enumerate(starts)
    }
    lengths = tuple(min(size, len(collection) - start) for start in starts)
    arrays: dict[str, Any] = {}
    for name, (_, empty, _) in layout.items():
        key, rest = f"{base}-{name}", (0,) * (empty.ndim - 1)
        taken = {(key, number, *rest): (getitem, (base, number), name) for number in range(len(starts))}
        graph = HighLevelGraph({base: CulledLayer(tasks), key: CulledLayer(taken)}, {base: set(), key: {base}})
        arrays[name] = da.Array(graph, key, (lengths, *((length,) for length in empty.shape[1:])), empty.dtype)
    variables = {name: (dims, arrays[name], attrs) for name, (dims, _, attrs) in layout.items()}
    return _dataset(kind, {"track": list(collection.tracks)}, variables, grid, like.labels, options)


def _extent(block: Collection) -> tuple[float, int, tuple[str, ...], tuple[str, ...]]:
    rows = _usable(block)
    ends = grids.extents(block.schema, rows)
    size = FORMS[block.schema.gridded_as].size(rows)
    return float(ends.max(initial=-math.inf)), size, tuple(rows.columns), rows.labels


def _usable(block: Collection) -> Ragged:
    cleaned = _clean(block.schema, block.rows)
    for row, flaw in cleaned.flaws.items():
        raise InvalidAnnotationError(f"track {block.tracks[row]}: {flaw.message}")
    return cleaned.rows


def _arrange(
    kind: Kind, like: Ragged, grid: TimeGrid, options: GridOptions, chunk: Collection | LazyCollection
) -> dict[str, Column]:
    block = read_block(chunk.tracks, chunk.sources) if isinstance(chunk, LazyCollection) else chunk
    rows = with_columns(kind, _usable(block), like.columns)
    if "label" in rows.columns:
        code_of = {label: code for code, label in enumerate(like.labels)}
        codes = np.array([*(code_of[label] for label in rows.labels), -1], dtype=np.int64)
        rows = replace(rows, columns={**rows.columns, "label": codes[rows.columns["label"]]}, labels=like.labels)
    arrays = {name: array for name, (_, array, _) in FORMS[kind.gridded_as].to_grid(rows, grid, options).items()}
    return arrays | {"valid": grids.valid_frames(kind, grids.extents(kind, rows), grid)}


def from_grid(dataset: xr.Dataset) -> xr.Dataset | dict[str, xr.Dataset] | Collection:
    """Convert arrays on a time grid, such as the output of a system, to annotations; the inverse of `align`.

    Parameters
    ----------
    dataset : xr.Dataset
        With the attribute ``kind``, and over ``time`` (of hierarchies also ``level``, of pitches ``pitch``, of pedals
        ``pedal``):

        - events: ``count``, or bool, and perhaps ``code``; each is at the beginning of its stretch.
        - intervals, hierarchy: ``code``; neighbours of one label become one interval.
        - notes: ``active``, and perhaps ``onset``, without which repeated notes become one, and ``velocity``.
        - series: ``frequency`` and ``voicing``.
        - multipitch: ``active``, and perhaps ``frequency``, which has effect if it is of the active pitches.
        - pedals: ``down``.

        Codes are positions in ``vocabulary(code_value)``; pitches are the MIDI numbers of the coordinate ``pitch``, any
        subset or with fractions. Only times of series and multipitch that are ``valid`` count, if that variable exists.

    Returns
    -------
    xr.Dataset, dict of them or Collection
        A dataset without further dims, a dict for the dim ``annotation``, a collection for ``track``. Annotations whose
        times lie on the grid are restored exactly.

    Raises
    ------
    AnnotationError
        If the kind is not supported, or a variable is missing.

    Examples
    --------
    >>> beats = Annotation("events", {"time": np.array([0.5, 1.0])})
    >>> frames = align(beats, {"hop": 0.25}, width=1)
    >>> from_grid(frames).time.values.tolist()
    [0.5, 1.0]
    >>> from_grid(frames.assign(count=frames.activation > 0.4)).time.values.tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    kind = KINDS.get(str(dataset.attrs.get("kind")))
    if kind is None:
        raise AnnotationError(f"not annotations on a grid: the attribute 'kind' is {dataset.attrs.get('kind')!r}")
    form = _form_of(kind, GridOptions())
    coords = [dim for dim in form.dims if dim not in ("level", "pedal")]
    missing = [name for name in (*form.needed, *coords) if name not in dataset.variables]
    if missing:
        raise AnnotationError(f"{kind.name} on a grid need {', '.join(missing)}")
    many = next((dim for dim in _ROWS if dim in dataset[form.needed[0]].dims), None)
    values: dict[str, Column] = {}  # whose rows lie along one dim or are but one
    for name in (*form.needed, *form.optional, "valid"):
        if name not in dataset.variables:
            continue
        dims = form.other_dims.get(name, form.dims)
        variable = dataset[name].variable
        if {*variable.dims} != {*dims} | ({many} if many else set()):
            raise AnnotationError(f"{name} lies over {', '.join(map(str, variable.dims))}, not {', '.join(dims)}")
        array = variable.transpose(*([many] if many else []), *dims).to_numpy()
        values[name] = array if many else array[np.newaxis]
    times = np.asarray(dataset["time"].values, dtype=np.float64)
    values.setdefault("valid", np.ones((len(values[form.needed[0]]), len(times)), dtype=np.bool_))
    labels = tuple(str(label) for label in dataset["vocabulary"].values) if "vocabulary" in dataset.variables else ()
    codes = values.get("code")
    if codes is not None and int(codes.max(initial=-1)) >= len(labels):
        raise AnnotationError(f"code {int(codes.max())} is not in the vocabulary, which has {len(labels)} labels")
    if "end" in dataset.variables:
        ends = np.asarray(dataset["end"].values, dtype=np.float64)
    else:  # each stretch ends where the next one starts, the last is as long as before
        last = times[-1:] + (times[-1:] - times[-2:-1] if len(times) > 1 else 0.0)
        ends = np.append(times[1:], last)
    pitches = np.asarray(dataset["pitch"].values if "pitch" in form.dims else (), dtype=np.float64)
    rows = form.to_rows(GridArrays(values, times, ends, labels, pitches))
    if many == "track":
        return Collection(kind.name, tuple(str(track) for track in dataset["track"].values), rows)
    attrs = {"task": dataset.attrs["task"]} if "task" in dataset.attrs else {}
    single = [to_dataset(from_ragged(kind.name, rows, row, attrs)) for row in range(len(rows))]
    if many is None:
        return single[0]
    return {str(name): dataset_of for name, dataset_of in zip(dataset["annotation"].values, single, strict=True)}
