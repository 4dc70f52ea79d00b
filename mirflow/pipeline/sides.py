"""The files of two sides below a folder, references and estimates, and the patterns that find the files of each.

Drafts of pipelines are made from them. Sides are distinguished by words in names of folders and files, and by nested
folders that both have. Files that one pattern finds form a series, with its possible tasks; series of estimates are
paired with those of references.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import eq
from pathlib import Path
from typing import Any

from ..errors import AnnotationError
from ..readers.audio_files import SUFFIXES as AUDIO
from ..readers.content import files_below
from ..readers.formats import is_annotation_file
from ..readers.names import nearest_names
from .discovery import LONE_TRACK
from .table_contents import (
    TRIED,
    HeldAnnotation,
    annotations_in,
    annotations_in_text,
    hint,
    holds,
    in_midi,
    remedy,
    sample,
    tasks_of,
)

_WORD = re.compile(r"[\w-]+")
REFERENCE = frozenset(
    _WORD.findall(
        "ref refs reference references annotation annotations gt truth gold groundtruth ground_truth ground-truth"
    )
)
"""Names of folders and parts of names of files that hold references."""
ESTIMATES = frozenset(
    _WORD.findall(
        "est ests estimate estimates estimated estimation estimations system systems pred preds prediction predictions "
        "output outputs result results detection detections submission submissions algorithm algorithms"
    )
)
"""The same of estimates."""
MAYBE_REFERENCE = REFERENCE | {*_WORD.findall("label labels target targets expected manual jams")}
"""Words in names of folders that hold references where no folder has one of these names."""
TEXT = (".csv", ".tsv", ".txt")  # suffixes of text that may be a table of tracks
_SHARD = re.compile(r"(?i)\d+-of-\d+(-[0-9a-f]+)?$|(?<=part-)\d+$|(?<=shard-)\d+$")
"""The end of a file's name that numbers the shards of a table."""
_FEW = 3
# Folders of repeated runs of a system.
_RUN = re.compile(r"(?i)(seed|run|trial|repeat|repetition)[-_ ]?\d+")


@dataclass(frozen=True)
class FoundFile:
    """A file: its folders below the root and its name without suffix, and the suffix."""

    parts: tuple[str, ...]
    suffix: str

    def __str__(self) -> str:
        return "/".join(self.parts) + self.suffix

    def path(self, root: Path) -> Path:
        """The file below a folder."""
        return root / str(self)


@dataclass(frozen=True)
class SideWords:
    """Names of folders and parts of names of files of one side, and paths of folders."""

    names: Collection[str]
    paths: Collection[tuple[str, ...]] = ()
    asked: bool = False  # whether they were asked for
    others: Collection[str] = ()
    """Words of the other side, if a word of a name such as ``Reference Annotations`` is enough; empty: all of it."""

    @classmethod
    def of(cls, asked: Collection[str], usual: Collection[str], root: Path, option: str) -> SideWords:
        """The usual words of a side, or the names and paths of folders that were asked for."""
        names: list[str] = []
        paths: list[tuple[str, ...]] = []
        for text in asked:
            inner = Path(os.path.normpath(text))
            if inner.is_absolute() or (inner.is_dir() and not (root / inner).is_dir()):  # as typed
                inner = Path(os.path.relpath(inner, root))
            is_folder = (root / inner).is_dir()
            if (root / inner).is_file() or (len(inner.parts) > 1 and not is_folder) or ".." in inner.parts:
                raise AnnotationError(f"{option} {text}: there is no such folder in {root}")
            names += inner.parts if len(inner.parts) == 1 else ()
            paths += [inner.parts] if is_folder else []
        return cls(names, paths, asked=True) if asked else cls(usual)

    def has(self, name: str) -> bool:
        """True if the name of a folder, or a word, is one of the side."""
        if name in self.names or (not self.asked and name.lower() in self.names):
            return True
        words = {*re.split(r"[^a-z]+", name.lower())} if self.others else set()
        return bool(words & {*self.names}) and not words & {*self.others} and len(words) <= _FEW

    def depth(self, file: FoundFile) -> int:
        """The number of folders down to the outermost one that names the side; 0 if none does."""
        folders = range(1, len(file.parts))
        return next((n for n in folders if self.has(file.parts[n - 1]) or file.parts[:n] in self.paths), 0)

    def mark(self, stem: str) -> tuple[str, str] | None:
        """The text around the name of a track if a word at the start or end of a file's name is one of the side."""
        start = re.match(r"([A-Za-z]+)[-_. ]*", stem)
        if start and self.has(start[1]):
            return start[0], ""
        end = re.search(r"[-_. ]+([A-Za-z]+)$", stem)
        return ("", end[0]) if end and self.has(end[1]) else None


def side_of(file: FoundFile, sides: Mapping[str, SideWords]) -> str:
    """The side of a file by the outermost folder that names one, else by its name; empty if unknown. Folders that were
    asked for come first."""
    for asked in (True, False):
        depths = {side: words.depth(file) for side, words in sides.items() if words.asked == asked}
        named = {side: depth for side, depth in depths.items() if depth}
        if named:
            return min(named, key=named.__getitem__)
    return next((side for side, words in sides.items() if words.mark(file.parts[-1])), "")


def of_estimates(path: Path) -> bool:
    """True if a folder of a path has a name of estimates, and none above it one of references."""
    sides = {"reference": SideWords(REFERENCE), "estimates": SideWords(ESTIMATES)}
    return side_of(FoundFile((*path.parts[:-1], ""), path.suffix), sides) == "estimates"


def list_files(root: Path) -> list[FoundFile]:
    """List the annotation files below a folder, sorted, without hidden ones and those of stores. What several files
    have between their names and suffixes belongs to the suffix if it names a task: ``.beats.txt``."""
    paths = [path for path in files_below(root) if is_annotation_file(path.name) or path.suffix.lower() in AUDIO]
    names = [path.relative_to(root) for path in paths]
    names = [name for name in names if not any(folder.suffix == ".zarr" for folder in name.parents)]
    counts = Counter((name.parent, Path(name.stem).suffix, name.suffix) for name in names)
    files = []
    for name in names:
        kind = Path(name.stem).suffix
        of_task = re.fullmatch(r"\.[\w-]+", kind) and hint(kind) and counts[name.parent, kind, name.suffix] > 1
        suffix = f"{kind}{name.suffix}" if of_task else name.suffix
        files.append(FoundFile((*name.parent.parts, name.name.removesuffix(suffix)), suffix))
    return files


@dataclass
class Series:
    """Files of one side that one pattern finds."""

    pattern: str  # with ``{track}``, and what else varies; without the suffix
    files: dict[tuple[str, str], FoundFile]  # by system (empty: none) and track
    tasks: tuple[str, ...] = ()  # what the files may hold, the likeliest first
    parent: tuple[str, ...] = ()  # folders above the one that names the side
    listed: bool = False  # whether the pipeline has to list the systems
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of reading that the pipeline has to declare, by task."""
    tables: tuple[FoundFile, ...] = ()  # files of many tracks
    notes: list[str] = field(default_factory=list)  # uncertainties

    @property
    def tracks(self) -> dict[str, None]:
        """Names of the tracks, in order."""
        return {track: None for _, track in self.files}

    @property
    def path(self) -> str:
        """The pattern with its suffix, or a placeholder for several."""
        suffixes = {file.suffix for file in self.files.values()}
        return self.pattern + (suffixes.pop() if len(suffixes) == 1 else ".{format}")

    def try_tasks(self, root: Path) -> None:
        """Find the possible tasks of the files by reading some of them."""
        files = sample(list(self.files.values()))
        votes = Counter(task for file in files for task in tasks_of(file.path(root), file.suffix))
        likely = tuple(task for task, count in votes.most_common() if 2 * count >= len(files))
        meant = (hint(part) for part in reversed(self.pattern.split("/")))
        hinted = hint(files[0].suffix) or next(filter(None, meant), "")
        if hinted and (hinted in likely or any(holds(file.path(root), hinted) for file in files)):
            likely = (hinted, *(task for task in likely if task != hinted))
        self.tasks = likely
        if likely and all(in_midi(file.path(root), likely[0]) for file in files):
            self.tasks, self.options = likely[:1], {likely[0]: {"pitch_unit": "MIDI"}}
            self.notes.append("pitches that are whole numbers are taken for MIDI numbers")
            return
        tried = [*likely] or [*filter(None, [hinted]), *TRIED]
        tried += ["alignment"] * (not any(holds(files[0].path(root), task) for task in likely))
        for task in dict.fromkeys(tried):
            cure = remedy(files[0].path(root), task)
            if cure and all(remedy(file.path(root), task) == cure for file in files[1:]):
                self.tasks, self.options = (task,), {**self.options, task: cure}
                return

    def within(self, around: tuple[str, str] | None) -> Series:
        """The series with the text around the names of tracks in its pattern."""
        if around is None or not any(around):
            return self
        before, behind = around
        files = {
            (system, track[len(before) : len(track) - len(behind)]): file
            for (system, track), file in self.files.items()
            if track.startswith(before) and track.endswith(behind)
        }
        return replace(self, pattern=self.pattern.replace("{track}", f"{before}{{track}}{behind}"), files=files)


@dataclass
class Sides:
    """The files of both sides below a folder, and the series that they form."""

    references: list[Series]
    estimates: list[Series]
    files: Mapping[str, Sequence[FoundFile]]
    """By side: those that were taken for it, also without a name that says so."""

    @classmethod
    def of(cls, files: Sequence[FoundFile], words: Mapping[str, SideWords], root: Path) -> Sides:
        """Group files by the words of both sides, and by what some of them hold."""
        of_references, of_estimates, unnamed = (
            [file for file in files if side_of(file, words) == side] for side in (*words, "")
        )
        assumed = bool(of_estimates and unnamed and not of_references and not words["reference"].asked)
        if assumed:
            of_references, unnamed = unnamed, []
        rest = [] if of_estimates else unnamed
        nested = list(_nested(of_references, of_estimates, words))
        for series in (series for pair in nested for series in pair):
            series.try_tasks(root)
        tables = _tables(of_references, of_estimates, unnamed, words, root)
        taken = {file for pair in nested for series in pair for file in series.files.values()}
        taken |= {file for side in tables for series in side for file in series.tables}
        left, apart = ([file for file in side if file not in taken] for side in (of_references, of_estimates or rest))
        references = _series(left, words["reference"], root, "reference") + tables[0]
        # Without a name that says so, folders beside those of references are systems.
        beside = {file.parts[: max(words["reference"].depth(file) - 1, 0)] for file in of_references} if rest else ()
        shared = {part for file in of_references for part in file.parts[:-1]}
        estimates = _series(apart, words["estimates"], root, "estimates", beside, shared) + tables[1]
        references += _merge([series for series, _ in nested if series.tasks])
        estimates += _merge([series for _, series in nested if series.tasks])
        for series in references if assumed else ():
            series.notes.append(
                "no folder is named as one of references; those beside the estimates are taken for them"
            )
        for series in estimates if rest else ():
            series.notes.append(
                "no folder is named as one of estimates; those beside the references are taken for systems"
            )
        return cls(references, estimates, {"reference": of_references, "estimates": of_estimates or rest})

    def pairs(self) -> Iterator[tuple[Series, Series, Sequence[str]]]:
        """Pair each series of estimates with the references that have most of its tracks, and their common tasks. The
        tasks are in the order in which they are tried."""
        for estimate in self.estimates:
            best: tuple[int, int, Series, Series, Sequence[str]] | None = None
            fitting: dict[str, int] = {}
            for reference in self.references:
                tasks = [task for task in estimate.tasks if task in reference.tasks]
                # One of both folders is in the other.
                if not tasks or not all(map(eq, reference.parent, estimate.parent)):
                    continue
                left, right = reference, estimate
                if not left.tracks.keys() & right.tracks.keys():
                    apart = nearest_names(left.tracks, right.tracks)
                    left, right = left.within(apart.around_reference), right.within(apart.around_estimate)
                met = len(left.tracks.keys() & right.tracks.keys())
                rank = (met, -estimate.tasks.index(tasks[0]) - reference.tasks.index(tasks[0]))
                if met:
                    fitting[left.path] = met
                if met and (best is None or rank > best[:2]):
                    best = (*rank, left, right, tasks)
            if best is not None:
                others = ", ".join(f"{path} ({met})" for path, met in fitting.items() if path != best[2].path)
                note = [f"references of the same tracks are also in {others}"] if others else []
                yield replace(best[2], notes=[*best[2].notes, *note]), *best[3:]


def _series(
    files: Sequence[FoundFile],
    words: SideWords,
    root: Path,
    side: str,
    beside: Collection[tuple[str, ...]] = (),
    shared: Collection[str] = (),
) -> list[Series]:
    """Group the files of one side into series, each with its pattern; separate those in folders `beside` others.
    Folders with a `shared` name are on the other side too, so that they name no system."""
    made: list[Series] = []
    for (fixed, *_), alike in _shapes(files, words, beside).items():
        parent = () if words.asked else fixed if beside else fixed[:-1]
        for series in _patterns(alike, len(fixed), words, side, shared):
            if not series.files:
                continue
            series = replace(series, parent=parent, listed=bool(beside))
            apart: list[Series] = []
            if "{annotator}" in series.pattern:  # folders such as chordlab and seglab are of different tasks
                of_folder: dict[str, dict[tuple[str, str], FoundFile]] = {}
                for (name, track), file in series.files.items():
                    of_folder.setdefault(name, {})["", track] = file
                apart = [Series(series.pattern.replace("{annotator}", name), of_folder[name]) for name in of_folder]
                for part in apart:
                    part.try_tasks(root)
            if (
                not apart
                or set.intersection(*({*part.tasks} for part in apart))
                or not all(part.tasks for part in apart)
            ):
                series.try_tasks(root)
                apart = [series]
            made += apart
    return _merge([part for part in made if part.tasks])


def _shapes(
    files: Iterable[FoundFile], words: SideWords, beside: Collection[tuple[str, ...]] = ()
) -> dict[tuple[tuple[str, ...], int, str], list[FoundFile]]:
    """Group files by the folders down to the one that names their side (or is `beside`), their depth and suffix."""
    shapes: dict[tuple[tuple[str, ...], int, str], list[FoundFile]] = {}
    for file in files:
        fixed: tuple[str, ...] | None = file.parts[: words.depth(file)]
        if beside:
            fixed = max((folder for folder in beside if file.parts[: len(folder)] == folder), key=len, default=None)
        if fixed is not None:
            shapes.setdefault((fixed, len(file.parts), file.suffix.lower()), []).append(file)
    return shapes


def _merge(series: Sequence[Series]) -> list[Series]:
    merged: dict[tuple[str, str], Series] = {}
    for part in series:
        key = part.pattern, part.tasks[0]
        if key in merged and not merged[key].files.keys() & part.files.keys():
            merged[key].files.update(part.files)
        elif key not in merged:
            merged[key] = part
    return list(merged.values())


def _pattern(file: FoundFile, placeholders: Mapping[int, str]) -> str:
    parts = list(file.parts)
    for level, text in placeholders.items():
        parts[level] = text
    return "/".join(parts)


def _tables(
    references: Sequence[FoundFile],
    estimates: Sequence[FoundFile],
    unnamed: Sequence[FoundFile],
    words: Mapping[str, SideWords],
    root: Path,
) -> tuple[list[Series], list[Series]]:
    """Find the series of files of many tracks of each side: one for each annotation that they hold. Many files of text
    are no tables of references, and neither are estimates unless they name tracks of references."""
    made: dict[str, list[Series]] = {}
    for side, files in (("reference", references), ("estimates", estimates)):
        parquet = [file for file in files if file.suffix.lower() == ".parquet"]
        keys = ("system",) * (side == "estimates")
        made[side] = [
            series
            for (fixed, *_), alike in _shapes(parquet, words[side]).items()
            for series in _series_of_tables(alike, annotations_in(alike[0].path(root), hint, keys), fixed, root, side)
        ]
    text, others = (
        [item for item in side if item.suffix.lower() in TEXT] for side in (references, estimates or unnamed)
    )
    for alike in _shapes(text, words["reference"]).values():
        for file in alike if len(alike) <= _FEW else ():
            held = annotations_in_text(file.path(root), hint, headed=len(alike) > 1)
            made["reference"] += _series_of_tables([file], held, file.parts[:-1], root, "reference")
    tracks = {track for item in made["reference"] for track in item.tracks}
    tracks |= {part for file in references for part in file.parts}
    for (fixed, *_), alike in _shapes(others, words["estimates"]).items():
        of_columns: dict[str, tuple[list[HeldAnnotation], list[FoundFile]]] = {}
        for file in alike:
            held = annotations_in_text(file.path(root), hint, ("system",))
            if not any(tracks & {*item.tracks_in(file.path(root))} for item in held):
                break  # the others are like it
            of_columns.setdefault(str([(item.tasks[0], item.columns) for item in held]), (held, []))[1].append(file)
        for held, those in of_columns.values():
            named = bool(side_of(those[0], words))
            folder = fixed if named else those[0].parts[:-1]
            for item in _series_of_tables(those, held, folder, root, "estimates"):
                made["estimates"].append(replace(item, parent=item.parent if named else (), listed=not named))
    return made["reference"], made["estimates"]


def _series_of_tables(
    files: Sequence[FoundFile], held: Sequence[HeldAnnotation], fixed: tuple[str, ...], root: Path, side: str
) -> Iterator[Series]:
    """Make the series of files of many tracks of equal depth, which hold the same annotations."""
    depth = len(files[0].parts)
    paths = {file: (*file.parts[:-1], _SHARD.sub("{shard}", file.parts[-1])) for file in files}
    tracks = [{file: annotation.tracks_in(file.path(root)) for file in files} for annotation in held]
    sharded = all("{shard}" in path[-1] for path in paths.values())
    # Files of one track each are no tables.
    if len(files) > 1 and not sharded and not any(len(names[files[0]]) > 1 for names in tracks):
        return
    varying = [level for level in range(depth) if len({path[level] for path in paths.values()}) > 1]
    names = {level: f"{{part{number or ''}}}" for number, level in enumerate(varying)}
    with_systems = any("system" in columns for annotation in held for columns in annotation.columns.values())
    if side == "estimates" and not with_systems and (fixed or varying):
        above = [level for level in range(len(fixed), depth) if not hint(files[0].parts[level])]
        names[min(varying, default=next(iter(above), depth - 1))] = "{system}"
    if depth - 1 in names and sharded:
        names[depth - 1] += "-{shard}"
    pattern = _pattern(FoundFile(paths[files[0]], files[0].suffix), names)
    named = {file: "/".join(path[level] for level in names) for file, path in paths.items()}
    for annotation, of_file in zip(held, tracks, strict=True):
        first = {(named[file], track): file for file in reversed(files) for track in of_file[file]}
        options = {task: {"columns": columns} for task, columns in annotation.columns.items()}
        yield Series(pattern, first, annotation.tasks, fixed[:-1], options=options, tables=tuple(files))


def _nested(
    references: Sequence[FoundFile], estimates: Sequence[FoundFile], words: Mapping[str, SideWords]
) -> Iterator[tuple[Series, Series]]:
    """Find both sides if their files are in folders of the same names, such as those of artists and albums. Such
    folders are parts of the names of tracks. Above them estimates may have folders of systems and of runs."""
    left, right = _shapes(references, words["reference"]), _shapes(estimates, words["estimates"])
    for (fixed, depth, _), alike in left.items():
        levels = range(len(fixed), depth - 1)
        varying = [level for level in levels if len({file.parts[level] for file in alike}) > 1]
        if not fixed or not varying or any(all(hint(file.parts[index]) for file in alike) for index in varying):
            continue
        folders = {tuple(file.parts[index] for index in varying) for file in alike}
        stems = Counter(file.parts[-1] for file in alike)
        for (start, other_depth, _), candidates in right.items():
            shift = other_depth - depth  # folders are counted from the file upwards
            above = len(fixed) + shift - len(start)
            if not start or not 0 <= above <= 2 or not all(map(eq, fixed[:-1], start[:-1])):
                continue
            others = {tuple(file.parts[index + shift] for index in varying) for file in candidates}
            if 2 * len(folders & others) <= len(folders):
                continue
            often = 2 * sum(count > 1 for count in stems.values()) > len(stems)
            if above == 0 and len(varying) == 1 and folders != others and often:
                names = ", ".join(sorted("/".join(part) for part in folders & others)[:3])
                odd = sorted("/".join(part) for part in folders ^ others)[0]
                raise AnnotationError(
                    f"both sides have folders named {names}, which may be parts of the collection, or annotators and "
                    f"systems: only one side has {odd}; write the patterns by hand, as ref/{{artist}}/{{track}}.lab "
                    "for parts and ref/{annotator}/{track}.lab for annotators"
                )
            pair = _nested_pair(alike, candidates, varying, shift, range(len(start), len(start) + above))
            for part, parent in zip(pair, (fixed[:-1], start[:-1]), strict=True):
                part.parent = parent
            yield pair


def _nested_pair(
    references: Sequence[FoundFile], estimates: Sequence[FoundFile], varying: Sequence[int], shift: int, above: range
) -> tuple[Series, Series]:
    """Series of files in folders that both sides have; those of systems are the folders `above`."""
    stems = [{file.parts[-1] for file in side} for side in (references, estimates)]
    # A file of one name in a folder for each track, in place of a file for each track.
    in_folder = len(stems[0]) == 1 and len(varying) > 0 and (len(stems[1]) == 1 or not above)
    track = varying[-1] if in_folder else -1
    parts = [index for index in varying if index != track]
    names = {part: f"{{part{number or ''}}}" for number, part in enumerate(parts)} | {track: "{track}"}
    systems = [index for index in above if len({file.parts[index] for file in estimates}) > 1] or [*above][:1]
    runs = systems[1:] and all(_RUN.fullmatch(file.parts[systems[1]]) for file in estimates)
    upper = {system: "{system}" if system == systems[0] else "{run}" if runs else "{version}" for system in systems}
    if in_folder and len(stems[1]) > 1:
        upper[-1] = "{system}"

    lower = {index + shift if index >= 0 else index: text for index, text in names.items()}
    left = {("", "/".join(file.parts[index] for index in names)): file for file in references}
    right = {
        ("/".join(file.parts[index] for index in upper), "/".join(file.parts[index] for index in lower)): file
        for file in estimates
    }
    note = "folders that both sides have are taken for parts of the names of tracks"
    return (
        Series(_pattern(references[0], names), left),
        Series(_pattern(estimates[0], lower | upper), right, notes=[note] if parts else []),
    )


def _patterns(
    files: Sequence[FoundFile], fixed: int, words: SideWords, side: str, shared: Collection[str] = ()
) -> Iterator[Series]:
    """Find the patterns of files of equal depth whose first folders are the same."""
    levels = [{file.parts[level] for file in files} for level in range(fixed, len(files[0].parts) - 1)]
    varying = [fixed + index for index, names in enumerate(levels) if len(names) > 1]
    kinds = [level for level in varying if all(hint(file.parts[level]) for file in files)]
    marked = fixed == 0 and all(words.mark(file.parts[-1]) for file in files)
    tasks = {hint(file.parts[kinds[0]]) for file in files} if kinds else ()
    # A folder for each task. Folders that name one task may be systems, or tracks of which all names have its name.
    if len(tasks) > 1 or (kinds and not marked and len(varying) > (side == "estimates")):
        for name in sorted({file.parts[kinds[0]] for file in files}):
            alike = [file for file in files if file.parts[kinds[0]] == name]
            yield from _patterns(alike, fixed, words, side, shared)
    elif marked:
        # ``ref01.lab``, ``01_est.lab``, ``01/reference.lab``, ``01/est_oak.lab``
        groups: dict[tuple[tuple[str, ...], str, str], list[FoundFile]] = {}
        for file in files:
            before, behind = words.mark(file.parts[-1]) or ("", "")
            folders = tuple("{track}" if index in varying else part for index, part in enumerate(file.parts[:-1]))
            groups.setdefault((folders, before, behind), []).append(file)
        for (folders, before, behind), alike in groups.items():
            names = {file: file.parts[-1].removeprefix(before).removesuffix(behind) for file in alike}
            if not varying:
                by_name = {("", name): file for file, name in names.items() if name}
                yield Series("/".join((*folders, f"{before}{{track}}{behind}")), by_name)
                for file in (file for file, name in names.items() if not name):  # of the only track
                    yield Series("/".join(file.parts), {("", LONE_TRACK): file})
            elif any(names.values()):
                by_system = {(name, file.parts[varying[0]]): file for file, name in names.items()}
                yield Series("/".join((*folders, f"{before}{{system}}{behind}")), by_system)
            else:
                by_folder = {("", file.parts[varying[0]]): file for file in alike}
                yield Series("/".join((*folders, alike[0].parts[-1])), by_folder)
    elif side == "reference":
        yield from _of_references(files, varying)
    elif varying or any(not names <= {*shared} for names in levels):
        inner = [fixed + at for at, names in enumerate(levels) if any(n not in shared and not hint(n) for n in names)]
        yield _of_systems(files, varying or inner[-1:] or [len(files[0].parts) - 2])
    else:
        yield from _of_references(files, ())


def _of_systems(files: Sequence[FoundFile], varying: Sequence[int]) -> Series:
    """Find estimates in folders that vary: of systems, or of tracks with a file for each system."""
    level = varying[0]
    by_folder: dict[str, set[str]] = {}
    for file in files:
        by_folder.setdefault(file.parts[level], set()).add(file.parts[-1])
    stems = set().union(*by_folder.values())
    # Folders of systems share names of tracks; folders of tracks share names of systems, which are fewer.
    if len(varying) == 1 and len(stems) < len(by_folder) and all(names == stems for names in by_folder.values()):
        by_system = {(file.parts[-1], file.parts[level]): file for file in files}
        note = "folders are taken for tracks, and the files in them for systems"
        return Series(_pattern(files[0], {level: "{track}", -1: "{system}"}), by_system, notes=[note])
    if len(varying) == 1 and len(by_folder) > 1 and sum(map(len, by_folder.values())) == len(stems):
        by_name = {("", file.parts[-1]): file for file in files}
        note = "no track is in two folders of estimates, so they are taken for parts of one system"
        return Series(_pattern(files[0], {level: "{part}", -1: "{track}"}), by_name, notes=[note])
    others = {other: f"{{part{number or ''}}}" for number, other in enumerate(varying[1:])}
    if len(others) == 1 and all(_RUN.fullmatch(file.parts[varying[1]]) for file in files):
        others = {varying[1]: "{run}"}
    # A system, with its run or part, is as its folders are.
    by_folders = {("/".join(file.parts[index] for index in varying), file.parts[-1]): file for file in files}
    return Series(_pattern(files[0], {level: "{system}", **others, -1: "{track}"}), by_folders)


def _of_references(files: Sequence[FoundFile], varying: Sequence[int]) -> Iterator[Series]:
    """Find references in folders that vary: of annotators, of tracks, or of parts of a collection."""
    by_name = {("", file.parts[-1]): file for file in files}
    if not varying:
        yield Series(_pattern(files[0], {-1: "{track}"}), by_name)
        return
    level = varying[0]
    by_folder: dict[str, list[FoundFile]] = {}
    for file in files:
        by_folder.setdefault(file.parts[level], []).append(file)
    names = Counter(stem for inner in by_folder.values() for stem in {file.parts[-1] for file in inner})
    if len(names) == 1:
        yield Series(_pattern(files[0], {level: "{track}"}), {("", file.parts[level]): file for file in files})
    elif len(varying) > 1:
        for inner in by_folder.values():
            below = [index for index in varying[1:] if len({file.parts[index] for file in inner}) > 1]
            yield from _of_references(inner, below)
    elif sum(count > 1 for count in names.values()) * 2 > len(names):
        note = "folders of references are taken for annotators; the scores against each are averaged"
        by_annotator = {(file.parts[level], file.parts[-1]): file for file in files}
        yield Series(_pattern(files[0], {level: "{annotator}", -1: "{track}"}), by_annotator, notes=[note])
    elif len(by_folder) <= _FEW and len(set(map(len, by_folder.values()))) == 1:  # other annotations of the same tracks
        for inner in by_folder.values():
            yield from _of_references(inner, ())
    else:
        yield Series(_pattern(files[0], {level: "{part}", -1: "{track}"}), by_name)
