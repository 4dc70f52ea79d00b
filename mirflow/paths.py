"""Two files or two folders scored without a pipeline file, and the annotation files of folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .annotations.classes import Classes
from .cells import concatenate_cells
from .errors import AnnotationError
from .evaluation import to_dataset, with_met_names
from .flow.block import score_block
from .flow.work import BlockWork, TrackWork, block_size
from .metrics.base import Grid, get_task
from .plan import Reference
from .readers.content import dangling, is_listed_file
from .readers.levels import LevelsSource, has_levels, levels_at
from .readers.meeting import call_tracks, nearest_names
from .readers.options import SUFFIXES, Reading
from .readers.read import make_reading
from .readers.sources import FileSource, Source, as_asked
from .readers.stems import SUFFIXES as SOUND
from .readers.stems import StemsSource, has_sources, sound_folders, stems_at
from .readers.tables import Key, TableSource, holds_tracks, open_table
from .store.packs import PackSource, open_pack

if TYPE_CHECKING:
    import xarray as xr

Annotators = tuple[str | int | None, str | int | None]
_SHOWN = 5
_Source = FileSource | LevelsSource | StemsSource | TableSource


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
        hint = "; of its sound files say --task separation" if suffixes & set(SOUND) else ""
        hint += "; if its .json files are JAMS, call them .jams" if ".json" in suffixes else ""
        hint += "; unpack its .zip files" if ".zip" in suffixes else ""
        raise AnnotationError(f"no annotation files ({', '.join(SUFFIXES)}) in the folder{hint}", path=folder)
    return found


def evaluate_paths(
    reference: str | Path,
    estimate: str | Path,
    task: str,
    *,
    metrics: Sequence[str] | None = None,
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
        ``{level}`` stands for the files of the levels of one hierarchy, a pack for its tracks. Of sound each
        folder is a track, and its files are the sources.
    task : str
    metrics, convention, grid, classes
        As for :func:`mirflow.evaluate`.
    annotators : (str, int or None, str, int or None)
        Of JAMS files that hold several: the reference's and the estimate's.
    **options
        How both sides are read, as for :func:`mirflow.load`.

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
    reading = make_reading(task, **options)
    for path in (left, right):
        if not path.exists() and not has_levels(str(path), reading) and not has_sources(str(path), reading):
            raise AnnotationError(dangling(path) or "no such file or folder", path=path)
    if left.is_dir() != right.is_dir():
        raise AnnotationError("give two files or two folders, not one of each", path=right)
    rules = get_task(task).convention(convention, classes)
    measures = rules.select(metrics)
    rules.demand_classes(measures)
    chosen = rules.grid(grid)
    names = tuple(map(str, measures))
    tracks = list(_tracks(left, right, reading, annotators))
    if not tracks:
        raise AnnotationError("has nothing to score, and neither has the estimate", path=left)
    single = not left.is_dir() and not _are_tables(left, right, reading)
    tracks = list(with_met_names(tracks, task, classes, single=single))
    size = block_size(task)
    blocks = [tuple(tracks[start : start + size]) for start in range(0, len(tracks), size)]
    cells = concatenate_cells(
        score_block(BlockWork("evaluate", task, rules.name, chosen, names, "", block, classes=classes))
        for block in blocks
    )
    return to_dataset(cells, measures, {"task": task, "convention": rules.name, "grid": chosen})


def _tracks(reference: Path, estimate: Path, reading: Reading, annotators: Annotators) -> Iterator[TrackWork]:
    system = (estimate.name if estimate.is_dir() else _name(estimate),)
    if not reference.is_dir() and _are_tables(reference, estimate, reading):
        own_rows, other_rows = _rows(reference, reading), _rows(estimate, reading)
        called = call_tracks(other_rows, own_rows, str(estimate))
        other_rows = {called[track]: source for track, source in other_rows.items()}
        for track in dict.fromkeys([*own_rows, *other_rows]):
            told, guessed = own_rows.get(track), other_rows.get(track)
            yield TrackWork(track, () if told is None else (Reference(told),), system, (guessed,), (0,))
        return
    if not reference.is_dir():
        own, other = _source(reference, reading, annotators[0]), _source(estimate, reading, annotators[1])
        if own == other:
            # A file against itself is a fair question here, so the two must not count as one annotator.
            own = _renamed(own, f"reference {reference}")
        yield TrackWork(_name(reference), (Reference(own),), system, (other,), (0,))
        return
    references, estimates = _by_track(reference, reading, annotators[0]), _by_track(estimate, reading, annotators[1])
    _demand_shared(reference, estimate, references, estimates)
    for track in sorted({*references, *estimates}):
        one = references.get(track)
        name = reference.name if track == "." else track  # sound in the folder itself
        yield TrackWork(name, () if one is None else (Reference(one),), system, (estimates.get(track),), (0,))


def _are_tables(reference: Path, estimate: Path, reading: Reading) -> bool:
    """Whether both are files of many tracks."""
    return all(holds_tracks(path.name, reading) for path in (reference, estimate))


def _rows(path: Path, reading: Reading) -> dict[str, TableSource]:
    """What a file of many tracks holds, by track.

    Raises
    ------
    AnnotationError
        If it holds several annotations of a track.
    """
    sources: dict[str, TableSource] = {}
    for key in open_table(str(path), reading, str(path)).keys:
        if key.track in sources:
            raise AnnotationError(f"holds several annotations of track {key.track!r}; write a pipeline", path=path)
        sources[key.track] = TableSource(str(path), Key(*key), reading, str(path))
    return sources


def _name(path: Path) -> str:
    """What to call the annotation at a path: as its file, or as the folder of the files of its sources."""
    return path.parent.name if "{" in path.stem else path.stem


def _source(path: Path, reading: Reading, annotator: str | int | None) -> _Source:
    if reading.kind == "audio":
        return stems_at(str(path), reading)
    if has_levels(str(path), reading):
        return levels_at(str(path), reading)
    return FileSource(str(path), reading, annotator)


def _renamed(source: _Source, name: str) -> _Source:
    """The same annotation under another name."""
    return replace(source, name=name) if isinstance(source, FileSource) else replace(source, path=name)


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
    """Whether a path is that of a pack."""
    return path.suffix == ".zarr" and (path / "zarr.json").is_file()


def pack_sources(path: Path, kind: str) -> Mapping[str, PackSource]:
    """What a pack holds, by track.

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
    """The files of a folder by their path in it without the suffix; of sound the folders of files by their path."""
    if is_pack(folder):
        found = pack_sources(folder, reading.kind)
        return {track: as_asked(source, reading) for track, source in found.items()}
    if reading.kind == "audio":
        folders = sound_folders(folder)
        return {one.relative_to(folder).as_posix(): stems_at(str(one), reading) for one in folders}
    sources: dict[str, FileSource] = {}
    for path in annotation_files(folder):
        track = path.relative_to(folder).with_suffix("").as_posix()
        if track in sources:
            raise AnnotationError(f"two files of track {track!r}: {Path(sources[track].path).name}", path=path)
        sources[track] = FileSource(str(path), reading, annotator)
    return sources
