"""Annotations as labelled datasets and collections: from files, arrays, other annotations, and data sets of mirdata.

`pack` writes what a pattern finds into one file, which is read faster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..annotations.account import warn_of_accounts
from ..annotations.annotation import Annotation, AnnotationLike
from ..annotations.collection import Collection, collect
from ..annotations.labelled import to_dataset
from ..annotations.schema import KINDS, TASK_KINDS, kind_of
from ..engine.block import BLOCK
from ..engine.lazy import LazyCollection
from ..engine.plausibility import midi_numbers
from ..errors import AnnotationError, InvalidAnnotationError, MetricError, counted, problems_of, together, warn_caller
from ..ragged import Column
from ..readers import read, read_all
from ..readers.beat_collections import without_positions
from ..readers.mirdata import MirdataDataset, task_of_value
from ..readers.namespaces import NAMESPACES
from ..readers.objects import kind_named, of_columns, to_annotation
from ..readers.options import HARTE, Notation, Reading, Select, describe_options
from ..readers.patterns import Pattern, describe_otherwise
from ..readers.sources import gather, has_parts, select_from
from ..readers.tables.table import holds_tracks, spread_tables
from ..store.packs import PackSource, open_pack, opened_pack, write_pack
from .sides import TracksLike, sources_of

if TYPE_CHECKING:
    import xarray as xr

PathLike = str | os.PathLike[str]


@overload
def load(
    source: AnnotationLike,
    task: str | None = None,
    *,
    annotator: Literal["all"],
    validate: bool = False,
    **options: Any,
) -> list[xr.Dataset]: ...
@overload
def load(
    source: AnnotationLike,
    task: str | None = None,
    *,
    annotator: str | int | None = None,
    validate: bool = False,
    **options: Any,
) -> xr.Dataset: ...
@describe_options
def load(
    source: AnnotationLike,
    task: str | None = None,
    *,
    annotator: str | int | None = None,
    validate: bool = False,
    **options: Any,
) -> xr.Dataset | list[xr.Dataset]:
    """Read one annotation as a labelled dataset.

    Parameters
    ----------
    source : path, jams.JAMS or jams.Annotation
        A JAMS, lab, txt, csv or tsv file, or an object of the jams library. Of audio also a folder, a list of files or
        a path with ``{source}``: one file for each source.
    task : str or None
        What it holds, such as ``chord``; needed unless a `namespace` is given, or JAMS holds a single namespace, or a
        single one that a task reads.
    annotator : str, int or None
        Of several annotations in a JAMS file: an annotator's id, a position, or ``"all"`` for a list of datasets.
    validate : bool
        Check a JAMS file against its schemas first (slow).
    {options}

    Returns
    -------
    xr.Dataset, or a list of them
        With the dims and variables of the task's kind; with its origin as attributes.

    Raises
    ------
    AnnotationError
        With file and line, if it cannot be read or understood.

    Warns
    -----
    MirflowWarning
        If the file holds something that is not read, or was read otherwise than it is written. The attribute
        ``account`` of the dataset has all such remarks.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.lab")
    ...     _ = path.write_text("0.0 1.5 C:maj\\n1.5 2.0 N\\n")
    ...     chords = load(path, task="chord")
    >>> chords.end.values.tolist(), chords.label.values.tolist()
    ([1.5, 2.0], ['C:maj', 'N'])
    """
    if annotator == "all":
        annotations = read_all(source, task=task, **options)
        warn_of_accounts((str(one.attrs.get("source", "")), one.account) for one in annotations)
        return [_labelled(annotation, task) for annotation in annotations]
    one = read(source, task=task, annotator=annotator, validate=validate, **options)
    warn_of_accounts([(str(one.attrs.get("source", "")), one.account)])
    return _labelled(one, task)


def _labelled(annotation: Annotation, task: str | None) -> xr.Dataset:
    dataset, namespace = to_dataset(annotation), NAMESPACES.get(str(annotation.attrs.get("namespace", "")))
    if task is None and namespace is not None and len(namespace.meant) == 1:
        (meant,) = namespace.meant
        task = meant if kind_of(meant).name == annotation.kind else None
    return dataset if task is None else dataset.assign_attrs(task=task)


def annotation(task: str, *values: object, notation: Notation = HARTE, **columns: object) -> xr.Dataset:
    """Make the labelled dataset of one annotation from arrays.

    Parameters
    ----------
    task : str
        A task, such as ``chord``, or a kind of annotation, such as ``notes``.
    *values
        Arrays in the order in which mir_eval's functions take those of one side: chords and segments
        ``(intervals, labels)``, beats and onsets ``(times,)``, notes ``(intervals, pitches, velocities)``, a melody
        ``(times, frequencies, voicing)``, several pitches ``(times, list of arrays)``, a hierarchy ``(list of arrays,
        list of lists)``, patterns ``(patterns,)``, tempi ``(tempi, weight)``, a key ``("C major",)``, sources ``(array,
        rate)``. Whatever has ``__array__`` or ``__dlpack__`` is an array, so tensors in the memory of the CPU are. Or
        one object: a mapping of columns, a data frame, a dataset, an object of jams, pretty_midi
        or mirdata, a path.
    notation : {"harte", "leadsheet"}
        Notation of chord labels: Harte's syntax (``A:min7/b3``), or symbols of lead sheets (``Am7/C``).
    **columns
        Columns by name: the variables of the kind, such as ``start``, ``end`` and ``label``, and arguments as above,
        such as ``intervals``. Rows of nested kinds name their ``level``, or ``pattern`` and ``occurrence``.

    Returns
    -------
    xr.Dataset
        With the dims and variables of the kind.

    Raises
    ------
    UnknownNameError
        If the task does not exist.
    InvalidAnnotationError
        If columns are missing, differ in length, or do not hold numbers or text as they should.

    Warns
    -----
    MirflowWarning
        If the pitches look like MIDI numbers, where Hz is expected.

    Examples
    --------
    >>> import numpy as np
    >>> chords = annotation("chord", np.array([[0.0, 1.5], [1.5, 2.0]]), ["C:maj", "N"])
    >>> chords.end.values.tolist(), chords.label.values.tolist()
    ([1.5, 2.0], ['C:maj', 'N'])
    >>> annotation("chord", np.array([[0.0, 1.5]]), ["Fmaj7/C"], notation="leadsheet").label.values.tolist()
    ['F:maj7/5']
    >>> annotation("notes", start=[0.0], end=[0.5], pitch=[440.0]).sizes["note"]
    1
    """
    kind = kind_named(task)
    if columns:
        if len(values) > len(kind.arguments):
            raise InvalidAnnotationError(f"{len(values)} arguments: {kind.name} take {', '.join(kind.arguments)}")
        ordered = dict(zip(kind.arguments, values, strict=False))
        twice = next((name for name in ordered if name in columns), None)
        if twice is not None:
            raise InvalidAnnotationError(f"{twice} is given twice: by position and by name")
        values = (of_columns(kind, {**ordered, **columns}),)
    options = {} if notation == HARTE else {"notation": notation}
    made = to_annotation(values[0] if len(values) == 1 else values, task, **options)
    if kind.pitched and (doubt := midi_numbers(made)):
        warn_caller(f"{task}: {doubt}")
    warn_of_accounts([("", made.account)])
    return _labelled(made, task if task in TASK_KINDS else None)


def collection(task: str, annotations: TracksLike) -> Collection:
    """Join the annotations of many tracks in memory into one ragged collection.

    Parameters
    ----------
    task : str
    annotations : mapping, data frame, Collection or xr.Dataset of one
        A mapping of tracks to annotations, each as `annotation` takes it; or a data frame with a column ``track`` and
        the columns of the kind.

    Returns
    -------
    Collection

    Raises
    ------
    AnnotationError
        If there are no tracks, or annotations are invalid: all of them are listed.

    Examples
    --------
    >>> collection("beat", {"a": [0.5, 1.0], "b": [0.7]}).tracks
    ('a', 'b')
    """
    sources = sources_of(annotations, task, "annotation")
    problems = problems_of(sources.values(), lambda source: source.open())
    if problems:
        raise together(problems)
    found = {track: source.open() for track, source in sources.items()}
    warn_of_accounts((track, item.account) for track, item in found.items())
    return collect(found)


@overload
def load_collection(
    pattern: PathLike,
    task: str,
    *,
    annotator: str | int | None = None,
    lazy: Literal[False] = False,
    block: int = BLOCK,
    **options: Any,
) -> Collection: ...
@overload
def load_collection(
    pattern: PathLike,
    task: str,
    *,
    annotator: str | int | None = None,
    lazy: Literal[True],
    block: int = BLOCK,
    **options: Any,
) -> LazyCollection: ...
@overload
def load_collection(
    pattern: PathLike, task: str, *, annotator: str | int | None = None, lazy: bool, block: int = BLOCK, **options: Any
) -> Collection | LazyCollection: ...
def load_collection(
    pattern: PathLike,
    task: str,
    *,
    annotator: str | int | None = None,
    lazy: bool = False,
    block: int = BLOCK,
    **options: Any,
) -> Collection | LazyCollection:
    """Read the annotations of many tracks as one ragged collection.

    Parameters
    ----------
    pattern : path
        With ``{track}`` for the track's name, as ``refs/{track}.jams``; or a pack. Of a hierarchy that has one
        file for each level also with ``{level}``, of audio with one for each source with ``{source}``.
    task : str
    annotator, **options
        As for `load`.
    lazy : bool
        Find the files now and read them, through dask, when the collection is computed.
    block : int
        Most tracks that one task reads.

    Returns
    -------
    Collection or LazyCollection

    Raises
    ------
    AnnotationError
        If the pattern matches nothing, or files cannot be read: all of them are listed.
    """
    reading = Reading.of(task, **options)
    text = Path(pattern).as_posix()
    matcher = Pattern(text.lstrip("/"))
    root = "/" if text.startswith("/") else "."
    if matcher.is_pack:
        sources = {track: select_from(source, reading) for track, source in open_pack(text).items()}
    elif holds_tracks(text, reading):
        sources = dict(spread_tables(text, reading))
    else:
        inner = [KINDS[reading.kind].part] if has_parts(text, reading) else []
        if set(matcher.names) != {"track", *inner}:
            expected = "expected {track} and no other placeholder"
            raise AnnotationError(f"invalid pattern {text!r} of a collection: {expected}")
        matches = matcher.find(root, whole_names=True)
        otherwise = describe_otherwise(matches, text)
        if not matches:
            raise AnnotationError(f"the pattern {text!r} matches nothing; {otherwise or matcher.hint(root)}")
        if otherwise:
            warn_caller(otherwise)
        gathered = gather(matches, text, matcher.names, reading, annotator)
        sources = {values["track"]: source for source, values in gathered}
    sources |= without_positions(sources.items())
    collection = LazyCollection(reading.kind, tuple(sources), tuple(sources.values()), block)
    if lazy:
        return collection
    packed = {one.path if isinstance(one, PackSource) else "" for one in collection.sources}
    whole = None if packed == {""} or len(packed) != 1 else opened_pack(packed.pop()).as_collection()
    return _read(collection) if whole is None else whole


def _read(collection: LazyCollection) -> Collection:
    """Read a collection now; if that fails, the error lists the problems of all its files."""
    try:
        return collection.compute(scheduler="synchronous")
    except AnnotationError as first:
        problems = problems_of(collection.sources, lambda source: source.open())
        if len(problems) < 2:
            raise
        raise together(problems) from first


def from_mirdata(
    dataset: str | Any,
    annotation: str,
    task: str | None = None,
    *,
    data_home: PathLike | None = None,
    version: str = "default",
    index: PathLike | None = None,
    tracks: Sequence[str] | None = None,
    split: str | None = None,
    annotator: str | int | None = None,
    select: Select | None = None,
    metadata: Sequence[str] | None = None,
    lazy: bool = False,
    block: int = BLOCK,
) -> Collection | LazyCollection:
    """Read the annotations of a data set of mirdata as one ragged collection, without downloads.

    Parameters
    ----------
    dataset : str or mirdata.core.Dataset
        A name, such as ``beatles``, or what ``mirdata.initialize`` returns.
    annotation : str
        Attribute of the data set's tracks, such as ``chords``; see mirdata's documentation of the data set.
    task : str or None
        What it is used for, such as ``downbeat``. None: the usual task of its class; text, numbers and events need one.
    data_home, version, index
        Of a data set that is named: its folder, its version, and the path of an index other than that of the version.
    tracks : sequence of str or None
        Ids of some tracks; None: all.
    split : str or None
        One of the data set's splits.
    annotator : str, int or None
        Where several annotated the tracks: an id, or a position.
    select : {"all", "downbeat"} or None
        Beats to take; None: for the task ``downbeat`` those at position 1 in the bar, else all.
    metadata : sequence of str or None
        Attributes of the tracks that become metadata of the collection, such as ``artist``; None: all that are text or
        numbers and are read from no file but the data set's table.
    lazy : bool
        Read the files, through dask, when the collection is computed.
    block : int
        Most tracks that one task reads.

    Returns
    -------
    Collection or LazyCollection
        Of the tracks that have the annotation.

    Raises
    ------
    UnknownNameError
        If the data set, version, track, split or attribute does not exist.
    AnnotationError
        If files are missing, cannot be read, or hold another kind: all of them are listed.
    """
    if task is not None:
        kind_of(task)
    home, index_path = (None if path is None else os.path.expanduser(path) for path in (data_home, index))  # noqa: PTH111
    opened = MirdataDataset.of(dataset, home, version, index_path)
    names = opened.tracks(tracks, split)
    problems = []
    for source in () if task else opened.sources(names, annotation, Reading.of("beat")).values():
        try:  # the first track that can be read tells the task
            value = source.value()
        except AnnotationError as error:
            problems.append(error)
            continue
        task = task_of_value(value)
        if task is None and value is not None:
            raise MetricError(f"{annotation} of {opened.name} is {type(value).__name__}: name its task")
        if task is not None:
            break
    if task is None:
        raise together(problems) if problems else AnnotationError(f"no track of {opened.name} has {annotation}")
    sources = opened.sources(names, annotation, Reading.of(task, select=select), annotator)
    left_out = [name for name in names if name not in sources]
    if left_out:
        warn_caller(f"{counted(len(left_out), 'track')} of {opened.name} without {annotation} left out: {left_out[0]}")
    values, problem = opened.metadata(tuple(sources), metadata)
    if problem:
        warn_caller(problem)
    kind = kind_of(task)
    taken = {*kind.dims, *(variable.name for variable in kind.variables), "track"}
    columns = {
        f"meta_{name}" if name in taken else name: _column([values[track].get(name) for track in sources])
        for name in dict.fromkeys(name for of_track in values.values() for name in of_track)
    }
    collection = LazyCollection(kind.name, tuple(sources), tuple(sources.values()), block, columns)
    return collection if lazy else _read(collection)


def _column(values: Sequence[str | int | float | None]) -> Column:
    """Convert metadata of tracks to an array; several types become text, missing values NaN or empty text."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present) or any(isinstance(one, bool) for one in present):
        if len(present) == len(values) and all(isinstance(value, bool) for value in present):
            return np.array(values, dtype=np.bool_)
        return np.array(["" if value is None else str(value) for value in values])
    if len(present) == len(values) and all(isinstance(value, int) for value in present):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def pack(
    pattern: PathLike,
    out: PathLike,
    task: str,
    *,
    annotator: str | int | None = None,
    overwrite: bool = False,
    **options: Any,
) -> int:
    """Write the annotations that match a pattern as one pack, which is read many times faster than the files.

    Parameters
    ----------
    pattern, task, annotator, **options
        As for `load_collection`.
    out : path
        By custom ``*.zarr``; pipelines take a path that ends so for a pack.
    overwrite : bool
        Whether an existing pack is replaced.

    Returns
    -------
    int
        Number of tracks.

    Raises
    ------
    AnnotationError
        As `load_collection`; nothing is written then.
    """
    if kind_of(task).name == "audio":
        raise AnnotationError("audio stays in its files: it cannot be packed, and pipelines read it where it is")
    whole = load_collection(pattern, task, annotator=annotator, **options)
    assert isinstance(whole, Collection)
    attrs = {} if annotator is None else {"annotator": annotator}
    metadata = {name: values.tolist() for name, values in whole.metadata.items()}
    write_pack(Path(out), whole.kind, whole.tracks, whole.rows, attrs, metadata, overwrite=overwrite)
    return len(whole)
