"""Scores of annotations in memory, or in two files or folders, without a pipeline file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .annotations.annotation import Annotation
from .annotations.classes import Classes
from .annotations.collection import Collection
from .annotations.collection import from_dataset as collection_from_dataset
from .annotations.labelled import from_dataset
from .annotations.schema import KINDS, kind_of
from .annotations.source import HeldSource, Source
from .cells import CELL_ATTRS, Cells, Status, concatenate_cells
from .engine.block import BlockWork, TrackWork, block_size, score_block
from .engine.lazy import LazyCollection, to_arrays
from .errors import AnnotationError, InvalidAnnotationError, MetricError, MirflowWarning
from .metrics.base import Asked, Grid, get_task, tasks
from .metrics.measures import Measure, describe
from .pipeline.plan import Reference
from .readers import read
from .readers.audio_files import SUFFIXES as AUDIO
from .readers.audio_files import audio_folders
from .readers.content import dangling, is_listed_file
from .readers.jams import is_jams
from .readers.names import NAMED, ReferenceNames, RenamedSource, call_tracks, nearest_names
from .readers.options import SIDES, SUFFIXES, Reading, split_sides
from .readers.sources import FileSource, FilesSource, has_parts, select_from, source_at
from .readers.tables.table import RowKey, TableSource, holds_tracks, open_table
from .store.format import kept_metrics, plain_attrs
from .store.packs import PackSource, open_pack

if TYPE_CHECKING:
    import xarray as xr

Annotated = Any
"""An annotation or a collection: an ``xr.Dataset``, an `Annotation`, a `Collection`, a `LazyCollection`, a path or a
jams object; of audio also a list of paths."""
Plain = Annotation | Collection | LazyCollection


def evaluate(
    reference: Annotated,
    estimate: Annotated,
    task: str | None = None,
    *,
    metrics: Sequence[Asked] | None = None,
    convention: str | None = None,
    grid: Grid | None = None,
    classes: Classes | None = None,
    **options: Any,
) -> xr.Dataset:
    """Scores of an estimate against a reference, or of collections of them track by track.

    Parameters
    ----------
    reference, estimate : xr.Dataset, Annotation, Collection, LazyCollection, path or jams object
        Two annotations, or two collections; of collections the union of the tracks is scored. The files of a lazy
        collection are read block by block, and one that cannot be read is a track with that status. Of audio also a
        folder, a list of paths, or a path with ``{source}``: one file for each source.
    task : str or None
        None: the task that `load` was given, or the only one with metrics for this kind of annotation.
    metrics : sequence of str or callable, or None
        Identities such as ``majmin`` or ``csr@root``, ``my_metrics.py:name``, functions over one pair (see
        :func:`mirflow.pair_metric`); None: the convention's default ones.
    convention : str or None
        None: the task's first, which is mir_eval's.
    grid : str, float or None
        ``union`` or the hop of frames in seconds; None: the convention's default.
    classes : Classes or None
        The classes or tags that there are, for tasks that compare such.
    **options
        Options of reading of files and jams objects, as for :func:`mirflow.load`: of both sides, or of one with
        ``reference_`` or ``estimate_`` in front, such as ``estimate_time_unit="ms"``.

    Returns
    -------
    xr.Dataset
        ``score`` and ``weight`` float64 over ``metric`` (and ``track``), ``status`` and ``message`` over ``track``,
        and a variable for each metric with extra dims.

    Raises
    ------
    AnnotationError
        If one of two single annotations cannot be scored; in collections its track gets a status and a message. If an
        option of reading does not exist, or is that of a side that is not read. If two tracks of the estimate would be
        the same one of the reference without folders and suffixes.

    Examples
    --------
    >>> import numpy as np
    >>> ref = Annotation("intervals", {"start": np.array([0.0, 3.0]), "end": np.array([3.0, 4.0])}, ["C:maj", "G:7"])
    >>> est = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([4.0])}, ["C:maj"])
    >>> scores = evaluate(ref, est, "chord", metrics=["majmin", "sevenths"])
    >>> scores.score.sel(metric="majmin").item(), scores.weight.sel(metric="majmin").item()
    (0.75, 4.0)
    """
    left, right = _plain_pair(reference, estimate, task, options)
    single = isinstance(left, Annotation)
    if single != isinstance(right, Annotation):
        raise AnnotationError("evaluate two annotations or two collections, not one of each")
    task = task or _task_of(reference, left)
    _demand_kind(task, left, right)
    references, estimates = _sources(left, "reference"), _sources(right, "estimate")
    if single:  # whatever the two are called
        estimates = dict(zip(references, estimates.values(), strict=True))
    elif left.kind in NAMED:
        called = call_tracks(estimates, references)
        estimates = {called[track]: source for track, source in estimates.items()}
    tracks = [
        _work(track, references.get(track), "estimate", estimates.get(track))
        for track in dict.fromkeys([*references, *estimates])
    ]
    result = _score(tracks, task, metrics, convention, grid, classes, single=single)
    if not single:
        return result.isel(system=0, drop=True)
    result = result.isel(system=0, track=0, drop=True)
    if Status(int(result.status)) not in (Status.ok, Status.empty_estimate, Status.empty_reference):
        raise InvalidAnnotationError(str(result.message.item()))
    return result


def _work(track: str, reference: Source | None, system: str, estimate: Source | None) -> TrackWork:
    return TrackWork(track, () if reference is None else (Reference(reference),), (system,), (estimate,), (0,))


def _score(
    tracks: Sequence[TrackWork],
    task: str,
    metrics: Sequence[Asked] | None,
    convention: str | None,
    grid: Grid | None,
    classes: Classes | None,
    *,
    single: bool,
) -> xr.Dataset:
    """Scores of one system over (system, track, metric) and the extra dims."""
    rules = get_task(task).convention(convention, classes)
    measures, chosen, size = rules.select(metrics), rules.grid(grid), block_size(task)
    rules.demand_classes(measures)
    rules.demand_grid(measures, chosen)
    tracks = _with_matched_names(tracks, task, classes, single=single)
    cells = concatenate_cells(
        score_block(
            BlockWork(
                *("evaluate", task, rules.name, chosen, measures, "", tuple(tracks[start : start + size])),
                classes=classes,
            )
        )
        for start in range(0, len(tracks), size)
    )
    attrs = {"task": task, "convention": rules.name, "grid": chosen, **kept_metrics(measures)}
    return to_dataset(cells, measures, plain_attrs(attrs))


def _plain_pair(
    reference: Annotated, estimate: Annotated, task: str | None, options: Mapping[str, Any]
) -> tuple[Plain, Plain]:
    """Both sides, those that are files read by their options."""
    own, other = split_sides(options)
    read_now = [not isinstance(one, Plain) and not hasattr(one, "data_vars") for one in (reference, estimate)]
    for name in options:
        side = next((one for one in SIDES if name.startswith(f"{one}_")), None)
        if not (any(read_now) if side is None else read_now[SIDES.index(side)]):
            what = side or "annotations"
            raise AnnotationError(f"{name} is an option of reading, and the {what} in memory are not read")
    return _plain(reference, task, own), _plain(estimate, task, other)


def _plain(value: Annotated, task: str | None, options: Mapping[str, Any]) -> Plain:
    if isinstance(value, Plain):
        return value
    if hasattr(value, "data_vars"):
        if "kind" not in value.attrs and task is not None:  # a dataset of the user's own: by its task
            value = value.assign_attrs(kind=kind_of(task).name)
        return collection_from_dataset(value) if "track" in value.dims else from_dataset(value)
    several = isinstance(value, list | tuple) and task is not None and kind_of(task).name == "audio"
    if several or isinstance(value, str | os.PathLike) or is_jams(value):
        if task is None:
            raise MetricError(f"say which task to score: {', '.join(tasks())}")
        return read(value, task=task, **options)
    raise AnnotationError(f"not an annotation: {type(value).__name__}; give a path, a dataset or a JAMS object")


def _task_of(given: Annotated, plain: Plain) -> str:
    attrs: Mapping[str, Any] = getattr(given, "attrs", {})
    if "task" in attrs:
        return str(attrs["task"])
    possible = [task for task in KINDS[plain.kind].tasks if task in tasks()]
    if len(possible) != 1:
        raise MetricError(f"say which task to score: {', '.join(possible or tasks())}")
    return possible[0]


def _demand_kind(task: str, reference: Plain, estimate: Plain) -> None:
    """Refuse annotations of another kind than the task compares.

    Raises
    ------
    AnnotationError
    """
    wanted = kind_of(task).name
    for side, value in (("reference", reference), ("estimate", estimate)):
        if value.kind != wanted:
            raise AnnotationError(f"the {side} holds {value.kind}, the task {task} compares {wanted}")


def _sources(value: Plain, side: str) -> dict[str, Source]:
    """The source of each track; annotations in memory are their own."""
    if isinstance(value, LazyCollection):
        return dict(zip(value.tracks, value.sources, strict=True))
    if isinstance(value, Annotation):
        named = {str(value.attrs.get("track", "")): value}
    else:
        named = {track: value.annotation(track) for track in value.tracks}
    return {
        track: HeldSource(one, str(one.attrs.get("source", f"{side} {track}".strip()))) for track, one in named.items()
    }


def _with_matched_names(
    tracks: Sequence[TrackWork], task: str, classes: Classes | None, *, single: bool
) -> Sequence[TrackWork]:
    """The tracks of one system with its items called as in the references, where no name would match else.

    Warns of names that match nowhere. A single pair keeps its names, and is scored as it would be among others: that a
    list has nothing relevant shows little, unless files have other folders or suffixes in the reference.
    """
    kind = kind_of(task).name
    if kind not in NAMED or classes is not None or not tracks:
        return tracks
    references = ReferenceNames(kind, {track.track: [one.source for one in track.references] for track in tracks})
    estimates = {track.track: source for track in tracks for source in track.estimates if source is not None}
    matched, warning = references.match(estimates, tracks[0].systems[0])
    renamed = [source.names[0] for source in matched.values() if isinstance(source, RenamedSource)]
    if single:
        warning = "".join(
            f"no name matches: {listed!r} is listed, {true!r} is true; call items alike" for listed, true in renamed
        )
    if warning:
        warnings.warn(warning, MirflowWarning, stacklevel=4)
    return tracks if single else [replace(one, estimates=(matched.get(one.track),)) for one in tracks]


def to_dataset(cells: Cells, measures: Sequence[Measure], attrs: Mapping[str, Any]) -> xr.Dataset:
    """Results of cells as a labelled dataset over (system, track, metric) and the extra dims."""
    import xarray as xr

    systems, tracks = tuple(dict.fromkeys(cells.system)), tuple(dict.fromkeys(cells.track))
    arrays = to_arrays(cells, systems, cells.extras)
    scalars = [measure for measure in measures if not measure.metric.dims]
    cell = ("system", "track")
    dims = {"score": (*cell, "metric"), "weight": (*cell, "metric"), "duration": ("track",)}
    variables: dict[str, Any] = {
        name: (dims.get(name, cell), arrays[name], dict(CELL_ATTRS[name]))
        for name in ("score", "weight", "status", "repairs", "message", "duration")
    }
    coords: dict[str, Any] = {"system": list(systems), "track": list(tracks)}
    coords |= {name: ("metric", values) for name, values in describe(scalars).items()}
    for name, sparse in cells.extras.items():
        variables[name] = ((*cell, *sparse.dims), arrays[name], dict(sparse.attrs))
        coords |= {dim: list(labels) for dim, labels in zip(sparse.dims, sparse.coords, strict=True)}
    return xr.Dataset(variables, coords, dict(attrs))


def explain(
    reference: Annotated,
    estimate: Annotated,
    metric: str,
    task: str | None = None,
    *,
    convention: str | None = None,
    classes: Classes | None = None,
    **options: Any,
) -> xr.Dataset:
    """Verdicts on an estimate against a reference under one metric.

    Parameters
    ----------
    reference, estimate : xr.Dataset, Annotation, path or jams object
        Two single annotations.
    metric : str
        An identity such as ``majmin``.
    task, convention, classes, **options
        As for `evaluate`.

    Returns
    -------
    xr.Dataset
        For chords the segments on the common grid: ``start`` and ``end`` in seconds, both labels and the verdict.

    Raises
    ------
    MetricError
        If there is no evidence to show for the metric.
    """
    left, right = _plain_pair(reference, estimate, task, options)
    if not isinstance(left, Annotation) or not isinstance(right, Annotation):
        raise AnnotationError("explain two single annotations; of collections select one track first")
    task = task or _task_of(reference, left)
    _demand_kind(task, left, right)
    rules = get_task(task).convention(convention, classes)
    (measure,) = rules.select([metric])
    if rules.explain is None:
        raise MetricError(f"convention {rules.name!r} of task {task!r} does not explain its scores")
    return _evidence_dataset(rules.explain(left, right, measure), kind_of(task).dims[0], str(measure))


def _evidence_dataset(evidence: Mapping[str, Any], dim: str, metric: str) -> xr.Dataset:
    import xarray as xr

    seconds = {"units": "s"}
    variables = {name: (dim, values, seconds if name in ("start", "end") else {}) for name, values in evidence.items()}
    return xr.Dataset(variables, attrs={"metric": metric})


Annotators = tuple[str | int | None, str | int | None]
Readings = tuple[Reading, Reading]
_SHOWN = 5


def annotation_files(folder: Path) -> list[Path]:
    """The annotation files in a folder and the folders in it, sorted; links that lead nowhere are among them.

    Raises
    ------
    AnnotationError
        If there is none.
    """
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and is_listed_file(path))
    if not found:
        suffixes = {path.suffix.lower() for path in folder.rglob("*")}
        hint = "; of its audio files say --task separation" if suffixes & set(AUDIO) else ""
        hint += "; if its .json files are JAMS, call them .jams" if ".json" in suffixes else ""
        hint += "; unpack its .zip files" if ".zip" in suffixes else ""
        raise AnnotationError(f"no annotation files ({', '.join(SUFFIXES)}) in the folder{hint}", path=folder)
    return found


def evaluate_paths(
    reference: str | Path,
    estimate: str | Path,
    task: str,
    *,
    metrics: Sequence[Asked] | None = None,
    convention: str | None = None,
    grid: Grid | None = None,
    annotators: Annotators = (None, None),
    classes: Classes | None = None,
    **options: Any,
) -> xr.Dataset:
    """Scores of a file against a file, or of the files of a folder against those of the same names in another.

    Parameters
    ----------
    reference, estimate : path
        Two files or two folders; folders are searched with the folders in them, and suffixes may differ. A path with
        ``{level}`` is that of the files of one hierarchy, a pack that of its tracks. Of audio each
        folder is a track, and its files are the sources.
    task : str
    metrics, convention, grid, classes
        As for :func:`mirflow.evaluate`.
    annotators : (str, int or None, str, int or None)
        Of JAMS files that hold several: the reference's and the estimate's.
    **options
        Options of reading of both sides, as for :func:`mirflow.load`, or of one with ``reference_`` or ``estimate_`` in
        front.

    Returns
    -------
    xr.Dataset
        As a store's group has it: over (system, track, metric), the one system being the estimate's name.

    Raises
    ------
    AnnotationError
        If a path does not exist, one is a file and the other a folder, or two tracks of a table would be the same one
        of the reference without folders and suffixes.

    Examples
    --------
    >>> evaluate_paths("absent.lab", "absent.lab", "chord")
    Traceback (most recent call last):
    ...
    mirflow.errors.AnnotationError: absent.lab: no such file or folder
    """
    left, right = Path(reference), Path(estimate)
    own, other = split_sides(options)
    readings = Reading.of(task, **own), Reading.of(task, **other)
    for path, reading in zip((left, right), readings, strict=True):
        if not path.exists() and not has_parts(str(path), reading):
            raise AnnotationError(dangling(path) or "no such file or folder", path=path)
    if left.is_dir() != right.is_dir():
        raise AnnotationError("give two files or two folders, not one of each", path=right)
    tracks = list(_tracks(left, right, readings, annotators))
    if not tracks:
        raise AnnotationError("has nothing to score, and neither has the estimate", path=left)
    single = not left.is_dir() and not _are_tables(left, right, readings)
    return _score(tracks, task, metrics, convention, grid, classes, single=single)


def _tracks(reference: Path, estimate: Path, readings: Readings, annotators: Annotators) -> Iterator[TrackWork]:
    system = estimate.name if estimate.is_dir() else _name(estimate)
    if not reference.is_dir() and _are_tables(reference, estimate, readings):
        own_rows, other_rows = _rows(reference, readings[0]), _rows(estimate, readings[1])
        called = call_tracks(other_rows, own_rows, str(estimate))
        other_rows = {called[track]: source for track, source in other_rows.items()}
        for track in dict.fromkeys([*own_rows, *other_rows]):
            yield _work(track, own_rows.get(track), system, other_rows.get(track))
        return
    if not reference.is_dir():
        own, other = (
            source_at(path, reading, who)
            for path, reading, who in zip((reference, estimate), readings, annotators, strict=True)
        )
        if own == other:  # a file may be compared with itself, and the two must not count as one annotator
            name = f"reference {reference}"
            own = replace(own, path=name) if isinstance(own, FilesSource) else replace(own, name=name)
        yield _work(_name(reference), own, system, other)
        return
    references, estimates = (
        _by_track(folder, reading, who)
        for folder, reading, who in zip((reference, estimate), readings, annotators, strict=True)
    )
    _demand_shared(reference, estimate, references, estimates)
    for track in sorted({*references, *estimates}):
        name = reference.name if track == "." else track  # audio in the folder itself
        yield _work(name, references.get(track), system, estimates.get(track))


def _are_tables(reference: Path, estimate: Path, readings: Readings) -> bool:
    """True if both are files of many tracks."""
    return all(holds_tracks(path.name, reading) for path, reading in zip((reference, estimate), readings, strict=True))


def _rows(path: Path, reading: Reading) -> dict[str, TableSource]:
    """Sources in a file of many tracks, by track.

    Raises
    ------
    AnnotationError
        If it holds several annotations of a track.
    """
    sources: dict[str, TableSource] = {}
    for key in open_table(str(path), reading, str(path)).keys:
        if key.track in sources:
            raise AnnotationError(f"holds several annotations of track {key.track!r}; write a pipeline", path=path)
        sources[key.track] = TableSource(str(path), RowKey(*key), reading, str(path))
    return sources


def _name(path: Path) -> str:
    """The name of the annotation at a path: that of its file, or of the folder of the files of its sources."""
    return path.parent.name if "{" in path.stem else path.stem


def _demand_shared(reference: Path, estimate: Path, references: Iterable[str], estimates: Iterable[str]) -> None:
    """Refuse a folder of systems: none of its tracks is a reference's, but would be one folder further down."""
    wanted = set(references)
    below = {name.partition("/")[0] for name in estimates if name.partition("/")[2] in wanted}
    if below and wanted.isdisjoint(estimates):
        names = sorted(below)
        some = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise AnnotationError(
            f"holds no file that is called as one in {reference}, but the folders {some}: is it a folder of systems? "
            f"give one of them, {estimate / names[0]}, or write a pipeline with {{system}} in its path",
            path=estimate,
        )
    if wanted and wanted.isdisjoint(estimates):
        found = nearest_names(references, estimates)
        raise AnnotationError(
            f"{found}; call the files alike, or write a pipeline with {{track}} in its paths", path=estimate
        )


def is_pack(path: Path) -> bool:
    """True if a path is that of a pack."""
    return path.suffix == ".zarr" and (path / "zarr.json").is_file()


def pack_sources(path: Path, kind: str) -> Mapping[str, PackSource]:
    """Sources in a pack, by track.

    Raises
    ------
    AnnotationError
        If that is of another kind.
    StoreError
        If it is no pack.
    """
    sources = open_pack(path, str(path))
    other = next((source.kind for source in sources.values() if source.kind != kind), None)
    if other is not None:
        raise AnnotationError(f"is a pack of {other}, not of {kind}", path=path)
    return sources


def _by_track(folder: Path, reading: Reading, annotator: str | int | None) -> Mapping[str, Source]:
    """The files of a folder by their path in it without the suffix; of audio the folders of files by their path."""
    if is_pack(folder):
        found = pack_sources(folder, reading.kind)
        return {track: select_from(source, reading) for track, source in found.items()}
    if reading.kind == "audio":
        return {one.relative_to(folder).as_posix(): source_at(one, reading) for one in audio_folders(folder)}
    sources: dict[str, FileSource] = {}
    for path in annotation_files(folder):
        track = path.relative_to(folder).with_suffix("").as_posix()
        if track in sources:
            raise AnnotationError(f"two files of track {track!r}: {Path(sources[track].path).name}", path=path)
        sources[track] = FileSource(str(path), reading, annotator)
    return sources
