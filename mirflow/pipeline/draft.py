"""Draft a pipeline file from folders of references and estimates, detecting names, formats and tasks."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import AnnotationError, MirflowWarning, PipelineError, counted
from ..metrics.base import get_task
from ..readers.audio_files import SUFFIXES as AUDIO
from ..readers.content import files_below
from ..readers.formats import SUFFIXES, is_annotation_file
from ..readers.layouts import is_number
from ..readers.names import nearest_names
from ..theory.text_form import normal_form
from .discovery import LONE_TRACK
from .document import parse_document
from .load import find_files
from .table_contents import HeldAnnotation, annotations_in, annotations_in_text, place_of_tracks, rows_of_table
from .trials import TRIED, hint, holds, in_midi, remedy, sample, tasks_of, try_evaluation, why_not

REFERENCE = frozenset(
    (
        *("ref", "refs", "reference", "references", "annotation", "annotations", "gt", "truth", "gold"),
        *("groundtruth", "ground_truth", "ground-truth"),
    )
)
"""Names of folders and parts of names of files that hold references."""
ESTIMATES = frozenset(
    (
        *("est", "ests", "estimate", "estimates", "estimated", "estimation", "estimations", "system", "systems"),
        *("pred", "preds", "prediction", "predictions", "output", "outputs", "result", "results"),
        *("detection", "detections"),
        *("submission", "submissions", "algorithm", "algorithms"),
    )
)
"""The same of estimates."""
MAYBE_REFERENCE = frozenset((*REFERENCE, "label", "labels", "target", "targets", "expected", "manual", "jams"))
"""Words in names of folders that hold references where no folder has one of these names."""
_PARQUET = ".parquet"
_TEXT = (".csv", ".tsv", ".txt")
_SHARD = re.compile(r"(?i)\d+-of-\d+(-[0-9a-f]+)?$|(?<=part-)\d+$|(?<=shard-)\d+$")
"""The end of a file's name that numbers the shards of a table."""
_FEW = 3
_BY_HAND = "write the pipeline by hand, with options of reading such as columns, header and time_unit"
# Folders of repeated runs of a system.
_RUN = re.compile(r"(?i)(seed|run|trial|repeat|repetition)[-_ ]?\d+")
_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Texts that YAML takes for something else."""


@dataclass(frozen=True)
class _FoundFile:
    """A file: its folders below the root and its name without suffix, and the suffix."""

    parts: tuple[str, ...]
    suffix: str

    def __str__(self) -> str:
        return "/".join(self.parts) + self.suffix

    def path(self, root: Path) -> Path:
        return root / str(self)


@dataclass(frozen=True)
class _Words:
    """Names of folders and parts of names of files of one side, and paths of folders."""

    names: Collection[str]
    paths: Collection[tuple[str, ...]] = ()
    asked: bool = False
    """Whether they were asked for."""
    others: Collection[str] = ()
    """Words of the other side, if a word of a name such as ``Reference Annotations`` is enough; empty: all of it."""

    def has(self, name: str) -> bool:
        if name in self.names or (not self.asked and name.lower() in self.names):
            return True
        words = {*re.split(r"[^a-z]+", name.lower())} if self.others else set()
        return bool(words & {*self.names}) and not words & {*self.others} and len(words) <= _FEW

    def names_folder(self, parts: Sequence[str], place: int) -> bool:
        return self.has(parts[place]) or tuple(parts[: place + 1]) in self.paths


def _words(asked: Collection[str], usual: Collection[str], root: Path, option: str) -> _Words:
    """The words of a side: the usual ones, or the names and paths of folders that were asked for."""
    names: list[str] = []
    paths: list[tuple[str, ...]] = []
    for text in asked:
        inner = Path(os.path.normpath(text))
        if inner.is_absolute() or (inner.is_dir() and not (root / inner).is_dir()):  # as typed
            inner = Path(os.path.relpath(inner, root))
        if (root / inner).is_file() or (len(inner.parts) > 1 and not (root / inner).is_dir()) or ".." in inner.parts:
            raise AnnotationError(f"{option} {text}: there is no such folder in {root}")
        names += inner.parts if len(inner.parts) == 1 else ()
        paths += [inner.parts] if (root / inner).is_dir() else []
    return _Words(names, paths, asked=True) if asked else _Words(usual)


@dataclass
class _Series:
    """Files of one side that one pattern finds."""

    pattern: str
    """With ``{track}``, and what else varies; without the suffix."""
    files: dict[tuple[str, str], _FoundFile]
    """By system (empty: none) and track."""
    tasks: tuple[str, ...] = ()
    """What the files may hold, the likeliest first."""
    parent: tuple[str, ...] = ()
    """Folders above the one that names the side."""
    listed: bool = False
    """Whether the pipeline has to list the systems."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of reading that the pipeline has to declare, by task."""
    tables: tuple[_FoundFile, ...] = ()
    """Files of many tracks."""
    notes: list[str] = field(default_factory=list)
    """Uncertainties."""

    @property
    def tracks(self) -> dict[str, None]:
        """Names of the tracks, in order."""
        return dict.fromkeys(track for _, track in self.files)

    @property
    def path(self) -> str:
        """The pattern with its suffix, or a placeholder for several."""
        suffixes = {file.suffix for file in self.files.values()}
        return self.pattern + (suffixes.pop() if len(suffixes) == 1 else ".{format}")


def draft_pipeline(
    folder: str | Path,
    *,
    reference: Collection[str] = (),
    estimates: Collection[str] = (),
    place: str | Path | None = None,
) -> str:
    """Write the text of a pipeline file for the annotations in a folder, its root.

    The two sides are recognised by names of folders and files (``reference``, ``gt``, ``estimates``, ``systems``, ...)
    and by those given, tasks by the contents of files and names of folders. Comments name what was found and what is
    uncertain. `place` is the folder of the file; None: `folder`.
    """
    root = Path(folder)
    files = list(_list_files(root))
    if not files:
        message = f"no annotation files ({', '.join(SUFFIXES[:6])}, ...) in the folder{_not_looked_at(root)}"
        raise AnnotationError(message, path=root)
    sides = {
        "reference": _words(reference, REFERENCE, root, "--reference"),
        "estimates": _words(estimates, ESTIMATES, root, "--estimates"),
    }
    for name in (name for words in sides.values() if words.asked for name in words.names):
        if not any(name in file.parts[:-1] or _split_mark(file.parts[-1], _Words([name])) for file in files):
            folders = ", ".join(dict.fromkeys(file.parts[0] for file in files if len(file.parts) > 1))
            raise AnnotationError(f"no folder named {name!r} has annotations; those that have: {folders}", path=root)
    if not reference and not any(_side(one, sides) == "reference" for one in files):
        sides["reference"] = _Words(MAYBE_REFERENCE, others=ESTIMATES)
    own = [one for one in files if _side(one, sides) == "reference"]
    found = [one for one in files if _side(one, sides) == "estimates"]
    unnamed = [one for one in files if not _side(one, sides)]
    if found and not own and not reference:
        own, unnamed = unnamed, []
    assumed = bool(own) and not _side(own[0], sides)
    nested = list(_nested(own, found, sides))
    tables = [
        list(_tables(files, sides[side], root, side)) for side, files in (("reference", own), ("estimates", found))
    ]
    tables = _tables_of_text(own, found or unnamed, sides, root, tables)
    taken = {file for pair in nested for one in pair for file in one.files.values()}
    taken |= {file for side in tables for one in side for file in one.tables}
    references = _series([one for one in own if one not in taken], sides["reference"], root, "reference") + tables[0]
    if not references and not nested:
        raise _unrecognised(root, own, "reference", "ref, reference, annotations, gt, ...")
    rest = [] if found else unnamed
    # Without a name that says so, folders beside those of references are systems.
    beside = {one.parts[: _place(one, sides["reference"])] for one in own} if rest else ()
    apart = [one for one in found or rest if one not in taken]
    series = (
        _series(apart, sides["estimates"], root, "estimates", beside, {part for one in own for part in one.parts[:-1]})
        + tables[1]
    )
    for pair in nested:
        for one in pair:
            one.tasks = _tasks_of(one, root)
    references += _merge([one for one, _ in nested if one.tasks])
    series += _merge([one for _, one in nested if one.tasks])
    pairs = list(_pairs(references, series))
    if not pairs:
        had = f"{counted(sum(len(one.files) for one in references), 'reference')} found"
        if not found and not rest:
            remedy = "name their folder estimates, systems, ..., or pass --estimates"
            why = f"but no estimates: {remedy}{_not_looked_at(root)}"
        elif not series:
            raise _unrecognised(root, found or rest, "estimate", "estimates, systems, ...")
        else:
            said = (
                f"{one.path} ({', '.join(one.tasks[:3])}; tracks as {next(iter(one.tracks))!r})"
                for side in (references, series)
                for one in side[:1]
            )
            why = f"but no estimates of the same tracks and task: {' and '.join(said)}"
        raise AnnotationError(f"{had}, {why}", path=root)
    if rest:
        for _, one, _ in pairs:
            one.notes.append(
                "no folder is named as one of estimates; those beside the references are taken for systems"
            )
    for one, *_ in pairs if assumed else ():
        one.notes.append("no folder is named as one of references; those beside the estimates are taken for them")
    sided = {file: _side(file, sides) for file in files}
    return _write(root, pairs, sided, [*references, *series], root if place is None else Path(place))


def _unrecognised(root: Path, files: Sequence[_FoundFile], side: str, names: str) -> AnnotationError:
    """Make the error about a side without annotations: it has no files, or no task reads them."""
    option = "--reference" if side == "reference" else "--estimates"
    if not files:
        remedy = f"name their folder or files {names}, or pass {option}"
        return AnnotationError(f"no {side}s found: {remedy}{_not_looked_at(root)}", path=root)
    most = Counter((file.parts[:-1], file.suffix) for file in files).most_common(1)[0][0]
    first = next(file for file in files if (file.parts[:-1], file.suffix) == most)
    reason = _unread(first, root)
    return AnnotationError(f"no task reads the {counted(len(files), side)}: {reason}; {_BY_HAND}", path=root)


def _not_looked_at(root: Path) -> str:
    """Count the files that are no annotations by their names, for messages; empty without any."""
    others = Counter(path.suffix for path in files_below(root) if not is_annotation_file(path.name))
    files = ", ".join(f"{counted(count, 'file')} {suffix}" for suffix, count in others.most_common(3))
    scores = "; scores in JSON files are read by mirflow import" if ".json" in others else ""
    return f"; not looked at: {files}{scores}" if others else ""


def _unread(file: _FoundFile, root: Path) -> str:
    """The reason why a file cannot be read as what its name suggests."""
    rows = rows_of_table(file.path(root)) if file.suffix.lower() in _TEXT else []
    if (
        rows
        and (track := place_of_tracks(rows[0])) is not None
        and len({row[track] for row in rows[1:] if len(row) > track}) > 1
    ):
        others = ", ".join(map(repr, rows[0][:track] + rows[0][track + 1 :]))
        table = f"{file} is a table of tracks, called {rows[0][track]!r}"
        return f"{table}, but no task reads its columns {others} as they are written"
    task = next(filter(None, (hint(part) for part in (file.suffix, *reversed(file.parts)))), "beat")
    return why_not(file.path(root), task).removeprefix(f"{root}{os.sep}")


def _list_files(root: Path) -> Iterator[_FoundFile]:
    """List the annotation files below a folder, sorted, without hidden ones and those of stores.

    What several files have between their names and suffixes belongs to the suffix if it names a task: ``.beats.txt``.
    """
    names = [path.relative_to(root) for path in files_below(root) if is_annotation_file(path.name) or _is_audio(path)]
    names = [name for name in names if not any(folder.suffix == ".zarr" for folder in name.parents)]
    inner = Counter((name.parent, Path(name.stem).suffix, name.suffix) for name in names)
    for name in names:
        kind = Path(name.stem).suffix
        of_task = re.fullmatch(r"\.[\w-]+", kind) and hint(kind) and inner[name.parent, kind, name.suffix] > 1
        suffix = f"{kind}{name.suffix}" if of_task else name.suffix
        yield _FoundFile((*name.parent.parts, name.name.removesuffix(suffix)), suffix)


def _is_audio(path: Path) -> bool:
    return path.suffix.lower() in AUDIO


def _side(file: _FoundFile, sides: Mapping[str, _Words]) -> str:
    """Return the side of a file by the outermost folder that names one, else by its name; empty if unknown.

    Folders that were asked for come first.
    """
    for asked in (True, False):
        for place in range(len(file.parts) - 1):
            for side, words in sides.items():
                if words.asked == asked and words.names_folder(file.parts, place):
                    return side
    return next((side for side, words in sides.items() if _split_mark(file.parts[-1], words)), "")


def of_estimates(path: Path) -> bool:
    """True if a folder of a path has a name of estimates, and none above it one of references.

    Examples
    --------
    >>> of_estimates(Path("data/Preds/oak/a.lab")), of_estimates(Path("refs/a.lab")), of_estimates(Path("oak/a.lab"))
    (True, False, False)
    """
    sides = {"reference": _Words(REFERENCE), "estimates": _Words(ESTIMATES)}
    return _side(_FoundFile((*path.parts[:-1], ""), path.suffix), sides) == "estimates"


def _place(file: _FoundFile, words: _Words) -> int:
    """Return the position of the outermost folder that names a side; 0 if none does."""
    return next((place for place in range(len(file.parts) - 1) if words.names_folder(file.parts, place)), 0)


def _series(
    files: Sequence[_FoundFile],
    words: _Words,
    root: Path,
    side: str,
    beside: Collection[tuple[str, ...]] = (),
    shared: Collection[str] = (),
) -> list[_Series]:
    """Group the files of one side into series, each with its pattern; separate those in folders `beside` others.

    Folders with a `shared` name are on the other side too, so that they name no system.
    """
    made = []
    for (fixed, *_), own in _shapes(files, words, beside).items():
        parent = () if words.asked else fixed if beside else fixed[:-1]
        made += [
            replace(pattern, parent=parent, listed=bool(beside))
            for pattern in _patterns(own, len(fixed), words, side, shared)
        ]
    made = [part for one in made if one.files for part in _by_contents(one, root)]
    for one in made:
        one.tasks = _tasks_of(one, root)
    return _merge([one for one in made if one.tasks])


def _by_contents(series: _Series, root: Path) -> list[_Series]:
    """A series, or one for each folder of annotators if they are of different tasks, as chordlab and seglab."""
    if "{annotator}" not in series.pattern:
        return [series]
    of_folder: dict[str, dict[tuple[str, str], _FoundFile]] = {}
    for (name, track), file in series.files.items():
        of_folder.setdefault(name, {})["", track] = file
    apart = [_Series(series.pattern.replace("{annotator}", name), own) for name, own in of_folder.items()]
    tasks = [{*_tasks_of(one, root)} for one in apart]
    return [series] if set.intersection(*tasks) or not all(tasks) else apart


def _tables(files: Iterable[_FoundFile], words: _Words, root: Path, side: str) -> Iterator[_Series]:
    """Find the series of Parquet files of many tracks: one for each annotation that they hold."""
    parquet = [file for file in files if file.suffix.lower() == _PARQUET]
    for (fixed, *_), own in _shapes(parquet, words).items():
        held = annotations_in(own[0].path(root), hint, ("system",) * (side == "estimates"))
        yield from _series_of_tables(own, held, fixed, root, side)


def _series_of_tables(
    files: Sequence[_FoundFile], held: Sequence[HeldAnnotation], fixed: tuple[str, ...], root: Path, side: str
) -> Iterator[_Series]:
    """Make the series of files of many tracks of equal depth, which hold the same annotations."""
    depth = len(files[0].parts)
    paths = {file: (*file.parts[:-1], _SHARD.sub("{shard}", file.parts[-1])) for file in files}
    tracks = [{file: one.tracks_in(file.path(root)) for file in files} for one in held]
    sharded = all("{shard}" in path[-1] for path in paths.values())
    # Files of one track each are no tables.
    if len(files) > 1 and not sharded and not any(len(found[files[0]]) > 1 for found in tracks):
        return
    varying = [place for place in range(depth) if len({path[place] for path in paths.values()}) > 1]
    names = {place: f"{{part{number or ''}}}" for number, place in enumerate(varying)}
    own_systems = any("system" in columns for one in held for columns in one.columns.values())
    if side == "estimates" and not own_systems and (fixed or varying):
        above = [place for place in range(len(fixed), depth) if not hint(files[0].parts[place])]
        names[min(varying, default=next(iter(above), depth - 1))] = "{system}"
    if depth - 1 in names and sharded:
        names[depth - 1] += "-{shard}"
    pattern = _pattern(_FoundFile(paths[files[0]], files[0].suffix), names)
    named = {file: "/".join(path[place] for place in names) for file, path in paths.items()}
    for one, found in zip(held, tracks, strict=True):
        first = {(named[file], track): file for file in reversed(files) for track in found[file]}
        options = {task: {"columns": columns} for task, columns in one.columns.items()}
        yield _Series(pattern, first, one.tasks, fixed[:-1], options=options, tables=tuple(files))


def _tables_of_text(
    references: Sequence[_FoundFile],
    estimates: Sequence[_FoundFile],
    sides: Mapping[str, _Words],
    root: Path,
    tables: Sequence[list[_Series]],
) -> list[list[_Series]]:
    """Add the series of delimited text of many tracks to those of Parquet files, for each side.

    Many files of references are no tables, and neither are estimates unless they name tracks of references.
    """
    made = [list(side) for side in tables]
    for own in _shapes((file for file in references if file.suffix.lower() in _TEXT), sides["reference"]).values():
        for file in own if len(own) <= _FEW else ():
            held = annotations_in_text(file.path(root), hint, headed=len(own) > 1)
            made[0] += _series_of_tables([file], held, file.parts[:-1], root, "reference")
    tracks = {track for one in made[0] for track in one.tracks} | {part for file in references for part in file.parts}
    text = [file for file in estimates if file.suffix.lower() in _TEXT]
    for (fixed, *_), own in _shapes(text, sides["estimates"]).items():
        alike: dict[str, tuple[list[HeldAnnotation], list[_FoundFile]]] = {}
        for file in own:
            held = annotations_in_text(file.path(root), hint, ("system",))
            if not any(tracks & {*one.tracks_in(file.path(root))} for one in held):
                break  # the others are like it
            alike.setdefault(str([(one.tasks[0], one.columns) for one in held]), (held, []))[1].append(file)
        for held, those in alike.values():
            named = bool(_side(those[0], sides))
            folder = fixed if named else those[0].parts[:-1]
            found = _series_of_tables(those, held, folder, root, "estimates")
            made[1] += (replace(one, parent=one.parent if named else (), listed=not named) for one in found)
    return made


def _nested(
    references: Sequence[_FoundFile], estimates: Sequence[_FoundFile], sides: Mapping[str, _Words]
) -> Iterator[tuple[_Series, _Series]]:
    """Find both sides if their files are in folders of the same names, such as those of artists and albums.

    Such folders are parts of the names of tracks. Above them estimates may have folders of systems and of runs.
    """
    left, right = (_shapes(side, sides[name]) for side, name in ((references, "reference"), (estimates, "estimates")))
    for (fixed, depth, _), own in left.items():
        levels = range(len(fixed), depth - 1)
        varying = [level for level in levels if len({file.parts[level] for file in own}) > 1]
        if not fixed or not varying or any(all(hint(file.parts[place]) for file in own) for place in varying):
            continue
        folders = {tuple(file.parts[place] for place in varying) for file in own}
        for (start, other_depth, _), found in right.items():
            shift = other_depth - depth  # folders are counted from the file upwards
            above = len(fixed) + shift - len(start)
            if not start or not 0 <= above <= 2 or not _are_beside(fixed[:-1], start[:-1]):
                continue
            met = {tuple(file.parts[place + shift] for place in varying) for file in found}
            if 2 * len(folders & met) <= len(folders):
                continue
            if above == 0:
                _demand_parts(own, varying, folders, met)
            pair = _nested_pair(own, found, varying, shift, range(len(start), len(start) + above))
            for one, parent in zip(pair, (fixed[:-1], start[:-1]), strict=True):
                one.parent = parent
            yield pair


def _shapes(
    files: Iterable[_FoundFile], words: _Words, beside: Collection[tuple[str, ...]] = ()
) -> dict[tuple[tuple[str, ...], int, str], list[_FoundFile]]:
    """Group files by the folders down to the one that names their side (or is `beside`), their depth and suffix."""
    shapes: dict[tuple[tuple[str, ...], int, str], list[_FoundFile]] = {}
    for file in files:
        if beside:
            fixed = max((one for one in beside if file.parts[: len(one)] == one), key=len, default=None)
        else:
            place = _place(file, words)
            fixed = file.parts[: place + 1] if len(file.parts) > 1 and words.names_folder(file.parts, place) else ()
        if fixed is not None:
            shapes.setdefault((fixed, len(file.parts), file.suffix.lower()), []).append(file)
    return shapes


def _demand_parts(
    references: Sequence[_FoundFile],
    varying: Sequence[int],
    folders: set[tuple[str, ...]],
    others: set[tuple[str, ...]],
) -> None:
    """Refuse folders that could also be annotators on one side and systems on the other."""
    counts = Counter(file.parts[-1] for file in references)
    if len(varying) == 1 and folders != others and 2 * sum(count > 1 for count in counts.values()) > len(counts):
        names = ", ".join(sorted("/".join(one) for one in folders & others)[:3])
        odd = sorted("/".join(one) for one in folders ^ others)[0]
        raise AnnotationError(
            f"both sides have folders named {names}, which may be parts of the collection, or annotators and systems: "
            f"only one side has {odd}; write the patterns by hand, as ref/{{artist}}/{{track}}.lab for parts and "
            "ref/{annotator}/{track}.lab for annotators"
        )


def _nested_pair(
    references: Sequence[_FoundFile],
    estimates: Sequence[_FoundFile],
    varying: Sequence[int],
    shift: int,
    above: range,
) -> tuple[_Series, _Series]:
    """Series of files in folders that both sides have; those of systems are the folders `above`."""
    stems = [{file.parts[-1] for file in side} for side in (references, estimates)]
    # A file of one name in a folder for each track, in place of a file for each track.
    in_folder = len(stems[0]) == 1 and len(varying) > 0 and (len(stems[1]) == 1 or not above)
    track = varying[-1] if in_folder else -1
    parts = [place for place in varying if place != track]
    names = {part: f"{{part{number or ''}}}" for number, part in enumerate(parts)} | {track: "{track}"}
    systems = [place for place in above if len({file.parts[place] for file in estimates}) > 1] or [*above][:1]
    runs = systems[1:] and all(_RUN.fullmatch(file.parts[systems[1]]) for file in estimates)
    upper = {system: "{system}" if system == systems[0] else "{run}" if runs else "{version}" for system in systems}
    if in_folder and len(stems[1]) > 1:
        upper[-1] = "{system}"

    def track_of(file: _FoundFile, shift: int) -> str:
        return "/".join(file.parts[place + shift if place >= 0 else place] for place in (*parts, track))

    lower = {place + shift if place >= 0 else place: text for place, text in names.items()}
    left = {("", track_of(file, 0)): file for file in references}
    right = {("/".join(file.parts[place] for place in upper), track_of(file, shift)): file for file in estimates}
    note = "folders that both sides have are taken for parts of the names of tracks"
    return (
        _Series(_pattern(references[0], names), left),
        _Series(_pattern(estimates[0], lower | upper), right, notes=[note] if parts else []),
    )


def _patterns(
    files: Sequence[_FoundFile], fixed: int, words: _Words, side: str, shared: Collection[str] = ()
) -> Iterator[_Series]:
    """Find the patterns of files of equal depth whose first folders are the same."""
    levels = [{file.parts[place] for file in files} for place in range(fixed, len(files[0].parts) - 1)]
    varying = [fixed + index for index, names in enumerate(levels) if len(names) > 1]
    kinds = [place for place in varying if all(hint(file.parts[place]) for file in files)]
    marked = fixed == 0 and all(_split_mark(file.parts[-1], words) for file in files)
    tasks = {hint(file.parts[kinds[0]]) for file in files} if kinds else ()
    # A folder for each task. Folders that name one task may be systems, or tracks of which all names have its name.
    if len(tasks) > 1 or (kinds and not marked and len(varying) > (side == "estimates")):
        for name in sorted({file.parts[kinds[0]] for file in files}):
            own = [file for file in files if file.parts[kinds[0]] == name]
            yield from _patterns(own, fixed, words, side, shared)
    elif marked:
        yield from _marked(files, varying, words)
    elif side == "reference":
        yield from _of_references(files, varying)
    elif varying or any(not names <= {*shared} for names in levels):
        named = [
            fixed + index
            for index, names in enumerate(levels)
            if not all(name in shared or hint(name) for name in names)
        ]
        yield _of_systems(files, varying or named[-1:] or [len(files[0].parts) - 2])
    else:
        yield _Series(_pattern(files[0], {-1: "{track}"}), {("", file.parts[-1]): file for file in files})


def _of_systems(files: Sequence[_FoundFile], varying: Sequence[int]) -> _Series:
    """Find estimates in folders that vary: of systems, or of tracks with a file for each system."""
    place = varying[0]
    by_folder: dict[str, set[str]] = {}
    for file in files:
        by_folder.setdefault(file.parts[place], set()).add(file.parts[-1])
    stems = set().union(*by_folder.values())
    # Folders of systems share names of tracks; folders of tracks share names of systems, which are fewer.
    if len(varying) == 1 and len(stems) < len(by_folder) and all(own == stems for own in by_folder.values()):
        found = {(file.parts[-1], file.parts[place]): file for file in files}
        note = "folders are taken for tracks, and the files in them for systems"
        return _Series(_pattern(files[0], {place: "{track}", -1: "{system}"}), found, notes=[note])
    if len(varying) == 1 and len(by_folder) > 1 and sum(map(len, by_folder.values())) == len(stems):
        found = {("", file.parts[-1]): file for file in files}
        note = "no track is in two folders of estimates, so they are taken for parts of one system"
        return _Series(_pattern(files[0], {place: "{part}", -1: "{track}"}), found, notes=[note])
    others = {other: f"{{part{number or ''}}}" for number, other in enumerate(varying[1:])}
    if len(others) == 1 and all(_RUN.fullmatch(file.parts[varying[1]]) for file in files):
        others = {varying[1]: "{run}"}
    # A system, with its run or part, is as its folders are.
    found = {("/".join(file.parts[one] for one in varying), file.parts[-1]): file for file in files}
    return _Series(_pattern(files[0], {place: "{system}", **others, -1: "{track}"}), found)


def _pattern(file: _FoundFile, placeholders: Mapping[int, str]) -> str:
    """Return the path of a file with placeholders for some of its parts."""
    parts = list(file.parts)
    for place, text in placeholders.items():
        parts[place] = text
    return "/".join(parts)


def _of_references(files: Sequence[_FoundFile], varying: Sequence[int]) -> Iterator[_Series]:
    """Find references in folders that vary: of annotators, of tracks, or of parts of a collection."""
    if not varying:
        yield _Series(_pattern(files[0], {-1: "{track}"}), {("", file.parts[-1]): file for file in files})
        return
    place = varying[0]
    by_folder: dict[str, list[_FoundFile]] = {}
    for file in files:
        by_folder.setdefault(file.parts[place], []).append(file)
    names = Counter(stem for own in by_folder.values() for stem in {file.parts[-1] for file in own})
    by_name = {("", file.parts[-1]): file for file in files}
    if len(names) == 1:
        yield _Series(_pattern(files[0], {place: "{track}"}), {("", file.parts[place]): file for file in files})
    elif len(varying) > 1:
        for own in by_folder.values():
            yield from _of_references(own, [one for one in varying[1:] if len({file.parts[one] for file in own}) > 1])
    elif sum(count > 1 for count in names.values()) * 2 > len(names):
        note = "folders of references are taken for annotators; the scores against each are averaged"
        found = {(file.parts[place], file.parts[-1]): file for file in files}
        yield _Series(_pattern(files[0], {place: "{annotator}", -1: "{track}"}), found, notes=[note])
    elif len(by_folder) <= _FEW and len(set(map(len, by_folder.values()))) == 1:  # other annotations of the same tracks
        for own in by_folder.values():
            yield from _of_references(own, ())
    else:
        yield _Series(_pattern(files[0], {place: "{part}", -1: "{track}"}), by_name)


def _split_mark(stem: str, words: _Words) -> tuple[str, str] | None:
    """Find the text around the name of a track if a word at the start or end of file names is that of a side.

    Examples
    --------
    >>> _split_mark("ref01", _Words(REFERENCE)), _split_mark("refrain", _Words(REFERENCE))
    (('ref', ''), None)
    """
    start = re.match(r"([A-Za-z]+)[-_. ]*", stem)
    if start and words.has(start[1]):
        return start[0], ""
    end = re.search(r"[-_. ]+([A-Za-z]+)$", stem)
    return ("", end[0]) if end and words.has(end[1]) else None


def _marked(files: Sequence[_FoundFile], varying: Sequence[int], words: _Words) -> Iterator[_Series]:
    """Files whose names tell the side: ``ref01.lab``, ``01_est.lab``, ``01/reference.lab``, ``01/est_oak.lab``."""
    groups: dict[tuple[tuple[str, ...], str, str], list[_FoundFile]] = {}
    for file in files:
        before, behind = _split_mark(file.parts[-1], words) or ("", "")
        folders = tuple("{track}" if index in varying else part for index, part in enumerate(file.parts[:-1]))
        groups.setdefault((folders, before, behind), []).append(file)
    for (folders, before, behind), own in groups.items():
        inner = {file: file.parts[-1].removeprefix(before).removesuffix(behind) for file in own}
        if not varying:
            found = {("", name): file for file, name in inner.items() if name}
            yield _Series("/".join((*folders, f"{before}{{track}}{behind}")), found)
            for file in (file for file, name in inner.items() if not name):  # of the only track
                yield _Series("/".join(file.parts), {("", LONE_TRACK): file})
        elif any(inner.values()):
            found = {(name, file.parts[varying[0]]): file for file, name in inner.items()}
            yield _Series("/".join((*folders, f"{before}{{system}}{behind}")), found)
        else:
            found = {("", file.parts[varying[0]]): file for file in own}
            yield _Series("/".join((*folders, own[0].parts[-1])), found)


def _tasks_of(series: _Series, root: Path) -> tuple[str, ...]:
    """Return the possible tasks of the files of a series, the likeliest first."""
    files = sample(list(series.files.values()))
    votes = Counter(task for file in files for task in tasks_of(file.path(root), file.suffix))
    likely = tuple(task for task, count in votes.most_common() if 2 * count >= len(files))
    meant = (hint(part) for part in reversed(series.pattern.split("/")))
    hinted = hint(files[0].suffix) or next(filter(None, meant), "")
    if hinted and (hinted in likely or any(holds(file.path(root), hinted) for file in files)):
        likely = (hinted, *(task for task in likely if task != hinted))
    if likely and all(in_midi(file.path(root), likely[0]) for file in files):
        series.options = {likely[0]: {"pitch_unit": "MIDI"}}
        series.notes.append("pitches that are whole numbers are taken for MIDI numbers")
        return likely[:1]
    tried = [*likely] or [*filter(None, [hinted]), *TRIED]
    tried += ["alignment"] * (not any(holds(files[0].path(root), task) for task in likely))
    for task in dict.fromkeys(tried):
        cure = remedy(files[0].path(root), task)
        if cure and all(remedy(file.path(root), task) == cure for file in files[1:]):
            series.options = {**series.options, task: cure}
            return (task,)
    return likely


def _merge(series: Sequence[_Series]) -> list[_Series]:
    """Merge series of one pattern and task whose formats differ."""
    merged: dict[tuple[str, str], _Series] = {}
    for one in series:
        key = one.pattern, one.tasks[0]
        if key in merged and not merged[key].files.keys() & one.files.keys():
            merged[key].files.update(one.files)
        elif key not in merged:
            merged[key] = one
    return list(merged.values())


def _pairs(
    references: Sequence[_Series], estimates: Sequence[_Series]
) -> Iterator[tuple[_Series, _Series, Sequence[str]]]:
    """Pair each series of estimates with the series of references that has most of its tracks, and their common tasks.

    The tasks are in the order in which they are tried.
    """
    for estimate in estimates:
        best: tuple[int, int, _Series, _Series, Sequence[str]] | None = None
        fitting: dict[str, int] = {}
        for other in references:
            tasks = [task for task in estimate.tasks if task in other.tasks]
            if not tasks or not _are_beside(other.parent, estimate.parent):
                continue
            left, right = _aligned(other, estimate)
            met = len(left.tracks.keys() & right.tracks.keys())
            rank = (met, -estimate.tasks.index(tasks[0]) - other.tasks.index(tasks[0]))
            if met:
                fitting[left.path] = met
            if met and (best is None or rank > best[:2]):
                best = (*rank, left, right, tasks)
                chosen = left.path
        if best is not None:
            others = ", ".join(f"{path} ({met})" for path, met in fitting.items() if path != chosen)
            note = [f"references of the same tracks are also in {others}"] if others else []
            yield replace(best[2], notes=[*best[2].notes, *note]), *best[3:]


def _are_beside(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if one of two folders is in the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


def _aligned(reference: _Series, estimates: _Series) -> tuple[_Series, _Series]:
    """Both series with what surrounds the names of tracks written into the pattern, where no names match else."""
    if reference.tracks.keys() & estimates.tracks.keys():
        return reference, estimates
    apart = nearest_names(reference.tracks, estimates.tracks)
    return _within(reference, apart.around_reference), _within(estimates, apart.around_estimate)


def _within(series: _Series, around: tuple[str, str] | None) -> _Series:
    """A series with the text around the names of tracks in its pattern."""
    if around is None or not any(around):
        return series
    before, behind = around
    files = {
        (system, track[len(before) : len(track) - len(behind)]): file
        for (system, track), file in series.files.items()
        if track.startswith(before) and track.endswith(behind)
    }
    return replace(series, pattern=series.pattern.replace("{track}", f"{before}{{track}}{behind}"), files=files)


def _write(
    root: Path,
    pairs: Sequence[tuple[_Series, _Series, Sequence[str]]],
    files: Mapping[_FoundFile, str],
    series: Sequence[_Series],
    place: Path,
) -> str:
    """Write the text of the pipeline, with messages of its planning as comments; `files` have their sides."""
    taken: Counter[str] = Counter()
    entries: list[str] = []
    runs = False
    for reference, estimates, tasks in pairs:
        tried: list[tuple[list[str], bool]] = []
        for task in tasks:  # of files that cannot be read as the likeliest task, another one may be meant
            name = task if not taken[task] else f"{task}_{taken[task] + 1}"
            tried.append(_entry(root, reference, estimates, task, name))
            if tried[-1][1]:
                break
        entry, works = tried[-1] if tried[-1][1] else tried[0]
        taken[task if works else tasks[0]] += 1
        entries += entry
        runs |= works
    if not runs:
        problems = "; ".join(line.strip("# ") for line in entries if "# Problem: " in line)
        raise AnnotationError(f"{problems}; {_BY_HAND}", path=root)
    head = [
        f"# Drafted by mirflow init for {root.resolve().name}; check the comments, then: mirflow run FILE",
        f"name: {_scalar(root.resolve().name)}",
    ]
    if place.resolve() != root.resolve():
        head.append(f"root: {_scalar(os.path.relpath(root.resolve(), place.resolve()))}  # relative to this file")
    head.append("evaluations:")
    stem = re.sub(r"[^\w-]+", "-", root.resolve().name).strip("-") or "scores"
    used = {file for *sides, _ in pairs for one in sides for file in (*one.files.values(), *one.tables)}
    body = "\n".join(entries)
    left: dict[tuple[str, str], list[_FoundFile]] = {}
    for file in files:
        if file not in used and str(file) not in body:
            left.setdefault(("/".join(file.parts[:-1]) or ".", file.suffix), []).append(file)
    tail = []
    for (folder, suffix), unused in left.items():
        own = next((one for one in series if unused[0] in one.files.values()), None)
        if own is not None:
            other = "estimates" if files[unused[0]] == "reference" else "references"
            reason = f"could be {' or '.join(own.tasks[:2])}, but no {other} are left for them"
        elif files[unused[0]]:
            reason = _unread(unused[0], root) or "each needs a pipeline written by hand"
        else:
            reason = "neither their folder nor their names say that they are references or estimates"
        tail.append(f"# Not used: {folder} ({len(unused)}), files {suffix}: {reason}")
    tail += [f"store: {_scalar(f'stores/{stem}.zarr')}  # relative to this file", ""]
    return "\n".join([*head, *entries, *tail])


def _entry(root: Path, reference: _Series, estimates: _Series, task: str, name: str) -> tuple[list[str], bool]:
    """Write the lines of one evaluation, as comments if it cannot be run."""
    lines = [f"  - task: {task}"]
    if name != task:
        lines.append(f"    name: {name}")
    lines.append(f"    reference: {_side_of(reference, task, 'combine: mean' * ('{annotator}' in reference.pattern))}")
    lines.append(f"    estimates: {_side_of(estimates, task)}")
    if "{system}" not in estimates.pattern and "system" not in estimates.options.get(task, {}).get("columns", ()):
        lines.append("    systems: [estimate]  # one system: its name")
    elif estimates.listed and "{part" not in estimates.pattern:
        systems = dict.fromkeys(system for system, _ in estimates.files)
        lines.append(f"    systems: [{', '.join(map(_scalar, systems))}]")
    tables = {file.path(root) for one in (reference, estimates) for file in one.tables}
    metrics = {metric.name for metric in get_task(task).convention().metrics}
    table = _metadata(root, reference.tracks, tables, metrics)
    if table:
        lines.append(f"    tracks: {table}")
    notes = [*reference.notes, *estimates.notes]
    others = [one for one in estimates.tasks if one != task and one in reference.tasks]
    if others:
        notes.append(f"the files may also be for {' or '.join(others)}")
    for one, other, side in ((reference, estimates, "estimates"), (estimates, reference, "references")):
        if one.tasks[0] != task and one.tasks[0] not in other.tasks:
            reason = why_not(next(iter(other.files.values())).path(root), one.tasks[0]).removeprefix(f"{root}{os.sep}")
            notes.append(f"{one.path} may rather be {one.tasks[0]}, as which the {side} cannot be read: {reason}")
    comments = [f"  # Uncertain: {note}." for note in dict.fromkeys(notes)]
    findings, works = _findings(root, "\n".join(lines))
    return [*findings, *comments, *(lines if works else (f"  # {line}" for line in lines))], works


def _side_of(series: _Series, task: str, option: str = "") -> str:
    """Write the pattern of a side, with its options of reading and another one if there are any."""
    declared = dict(series.options.get(task, {}))
    columns = ", ".join(f"{name}: {_scalar(path)}" for name, path in declared.pop("columns", {}).items())
    options = [*filter(None, [option, columns and f"columns: {{{columns}}}"])]
    options += [f"{name}: {_scalar(value)}" for name, value in declared.items()]
    path = _scalar(series.path)
    return f"{{{', '.join([f'path: {path}', *options])}}}" if options else path


def _findings(root: Path, entry: str) -> tuple[list[str], bool]:
    """Write comments with the files that a run of one evaluation finds, or its problems; and whether it can be run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MirflowWarning)
        try:
            (found,) = find_files(parse_document(f"name: x\nevaluations:\n{entry}\nstore: x.zarr\n"), root)
        except PipelineError as error:
            return [f"  # Problem: {problem.message}" for problem in error.problems], False
    both = sum(bool(refs) for refs in found.references)
    cells = sum(one is not None for row in found.estimates for one in row)
    names = ", ".join(found.systems[:5]) + (", ..." if len(found.systems) > 5 else "")
    size = f"{counted(both, 'reference')}, {counted(cells, 'estimate')} of {counted(len(found.systems), 'system')}"
    problem, scores = try_evaluation(found)
    lines = [f"  # Found: {size} ({names}).", *(f"  # Warning: {one.message}" for one in caught)]
    lines += [f"  # Scores: {scores}"] if scores else []
    return [*lines, *([f"  # Problem: {problem}"] if problem else [])], not problem


def _metadata(root: Path, tracks: Iterable[str], taken: Collection[Path], metrics: Collection[str]) -> str:
    """The value of the key `tracks` for a table in the folder or a folder in it; empty if there is none.

    Tables that are annotations, and those of scores, are none.
    """
    wanted = set(tracks)
    for path in sorted({*root.glob("*.csv"), *root.glob("*/*.csv")} - {*taken}):
        rows = [[normal_form(field) for field in row] for row in rows_of_table(path)]
        if not rows or any(map(is_number, rows[0])) or not {*rows[0]}.isdisjoint(metrics):
            continue
        for index, name in enumerate(rows[0]):
            values = [row[index] for row in rows[1:] if index < len(row)]
            # A table with a track twice, such as one of results, says more than one thing about it.
            if 2 * len(wanted & {*values}) > len(wanted) and len({*values}) == len(values):
                text = _scalar(path.relative_to(root).as_posix())
                return text if name == "track" else f"{{path: {text}, key: {_scalar(name)}}}"
    return ""


def _scalar(text: str | int) -> str:
    """Write a text, or the number of a column, as YAML, quoted if necessary."""
    if isinstance(text, int):
        return str(text)
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
