"""Two files or two folders scored without a pipeline file, and the annotation files of folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cells import concatenate_cells
from .errors import AnnotationError
from .evaluation import to_dataset
from .flow.block import score_block
from .flow.work import BlockWork, TrackWork, block_size
from .metrics.base import Grid, get_task
from .plan import Reference
from .readers.levels import LevelsSource, has_levels, levels_at
from .readers.options import SUFFIXES, Reading
from .readers.read import make_reading
from .readers.sources import FileSource
from .readers.stems import StemsSource, has_sources, sound_folders, stems_at

if TYPE_CHECKING:
    import xarray as xr

Annotators = tuple[str | int | None, str | int | None]
_Source = FileSource | LevelsSource | StemsSource


def annotation_files(folder: Path) -> list[Path]:
    """The annotation files in a folder and the folders in it, sorted.

    Raises
    ------
    AnnotationError
        If there is none.
    """
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not found:
        raise AnnotationError(f"no annotation files ({', '.join(SUFFIXES)}) in the folder", path=folder)
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
    **options: Any,
) -> xr.Dataset:
    """Scores of a file against a file, or of the files of a folder against those of the same names in another.

    Parameters
    ----------
    reference, estimate : path
        Two files or two folders; folders are searched with the folders in them, and suffixes may differ. A path with
        ``{level}`` stands for the files of the levels of one hierarchy. Of sound each folder is a track, and its files
        are the sources.
    task : str
    metrics, convention, grid
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
        If a path does not exist, or one is a file and the other a folder.

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
            raise AnnotationError("no such file or folder", path=path)
    if left.is_dir() != right.is_dir():
        raise AnnotationError("give two files or two folders, not one of each", path=right)
    rules = get_task(task).convention(convention)
    measures = rules.select(metrics)
    chosen = rules.grid(grid)
    names = tuple(map(str, measures))
    tracks = list(_tracks(left, right, reading, annotators))
    size = block_size(task)
    blocks = [tuple(tracks[start : start + size]) for start in range(0, len(tracks), size)]
    cells = concatenate_cells(
        score_block(BlockWork("evaluate", task, rules.name, chosen, names, "", block)) for block in blocks
    )
    return to_dataset(cells, measures, {"task": task, "convention": rules.name, "grid": chosen})


def _tracks(reference: Path, estimate: Path, reading: Reading, annotators: Annotators) -> Iterator[TrackWork]:
    system = (estimate.name if estimate.is_dir() else _name(estimate),)
    if not reference.is_dir():
        own, other = _source(reference, reading, annotators[0]), _source(estimate, reading, annotators[1])
        if own == other:
            # A file against itself is a fair question here, so the two must not count as one annotator.
            own = _renamed(own, f"reference {reference}")
        yield TrackWork(_name(reference), (Reference(own),), system, (other,), (0,))
        return
    references, estimates = _by_track(reference, reading, annotators[0]), _by_track(estimate, reading, annotators[1])
    for track in sorted({*references, *estimates}):
        one = references.get(track)
        name = reference.name if track == "." else track  # sound in the folder itself
        yield TrackWork(name, () if one is None else (Reference(one),), system, (estimates.get(track),), (0,))


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


def _by_track(folder: Path, reading: Reading, annotator: str | int | None) -> Mapping[str, _Source]:
    """The files of a folder by their path in it without the suffix; of sound the folders of files by their path."""
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
