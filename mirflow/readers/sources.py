"""Sources of annotations, small enough to be sent to a worker and read there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..annotations.annotation import Annotation, stack_levels
from ..annotations.audio import signal_column, unlike
from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from .audio_files import FileSignal, audio_files, digest_file
from .content import demand_no_json, digest_of, file_stat, mix_stats, read_bytes
from .delimited import parse_delimited
from .formats import FORMATS, load_reader
from .note_frames import HOP, frames_of
from .options import Reading
from .patterns import Match, Pattern, fill, group_by
from .positions import select_beats
from .single_layout import PARSERS

PathLike = str | os.PathLike[str]
_NUMPY = b"\x93NUMPY"
"""What an ``.npy`` begins with."""


def parse_file(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """An annotation from the bytes of a file of any format but JAMS."""
    if format not in FORMATS:
        from .user_formats import parse_user_format

        return parse_user_format(data, reading, name)
    declared = FORMATS[format]
    if declared.table:
        raise InvalidAnnotationError(f"{format} files hold many tracks: load_collection reads them", path=name)
    if reading.kind == "multipitch" and (declared.notes or reading.hop is not None):
        as_notes = replace(reading, kind="notes", task="transcription", hop=None)
        return frames_of(parse_file(data, as_notes, format, name), reading.hop or HOP)
    address = declared.by_kind.get(reading.kind, declared.parser)
    if address:
        found: Annotation = load_reader(address)(data, reading, format, name)
        return found
    if data.startswith(_NUMPY):
        many = "an array holds the tags of many tracks: load_collection reads it"
        message = many if reading.kind == "labels" else f"is an array of numpy, and {reading.kind} are read from text"
        raise InvalidAnnotationError(message, path=name)
    demand_no_json(data, name)
    return PARSERS.get(reading.kind, parse_delimited)(data, reading, format, name)


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """An annotation in a file.

    Parameters
    ----------
    path : str
        Absolute if other processes are to read it.
    annotator : str, int or None
        Of a JAMS file: an annotator's id, a position among the annotations that fit, or None where one fits.
    name : str
        Name of the file in messages; empty: its path.
    found : (int, int) or None
        Size and time of modification, where the listing of its folder has them.

    Examples
    --------
    >>> source = FileSource("/data/refs/a.lab", Reading.of(task="chord"), name="refs/a.lab")
    >>> source.label
    'refs/a.lab'
    """

    path: str
    reading: Reading
    annotator: str | int | None = None
    name: str = ""
    found: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """The file's name, with the annotator in brackets."""
        name = self.name or self.path
        return name if self.annotator is None else f"{name} [{self.annotator}]"

    def stat_now(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns."""
        return file_stat(self.path, self.name)

    def read(self) -> tuple[Annotation, str]:
        """The annotation and the digest of the file's bytes, which are read once."""
        name = self.name or self.path
        format = self.reading.format_of(self.path)
        if format == "jams":
            from .jams import open_jams

            file = open_jams(self.path, self.reading.max_bytes, name)
            return file.select(self.reading, self.annotator), file.digest
        data = read_bytes(self.path, self.reading.max_bytes, name)
        return self.reading.with_labels(parse_file(data, self.reading, format, name)), digest_of(data)


@dataclass(frozen=True, slots=True)
class FilesSource(Source):
    """A hierarchy with one file for each level, or audio with one for each source.

    Parameters
    ----------
    path : str
        Name in messages: the pattern, with the placeholder of the parts in it, or the file.
    parts : tuple of str
        Levels from the coarsest to the finest, or names of sources; empty for a single audio file.
    files : tuple of FileSource or None
        One for each part; None where there is no such file.

    Examples
    --------
    >>> FilesSource("a_{level}.txt", Reading.of("hierarchy"), ("upper", "lower"), (None, None)).label
    'a_{level}.txt'
    """

    path: str
    reading: Reading
    parts: tuple[str, ...]
    files: tuple[FileSource | None, ...]

    @property
    def label(self) -> str:
        """The pattern that its files have in common."""
        return self.path

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that there are."""
        return tuple(file.path for file in self.files if file is not None)

    def stat(self) -> tuple[int, int]:
        """Size in bytes of all files together, and a number made of their times of modification."""
        return mix_stats([(-1, 0) if file is None else file.stat() for file in self.files])

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest of the bytes of all files, of which audio is read piece by piece."""
        if self.reading.kind == "audio":
            annotation = self.open()
            digests = [digest_file(file.path, file.label) for file in self.files if file is not None]
            return annotation, digest_of("".join(digests).encode()) if self.parts else digests[0]
        names = [file.label for file in self._all()]
        read = [file.read() for file in self._all()]
        levels = [level for level, _ in read]
        whole = replace(stack_levels(levels, names), attrs={**levels[0].attrs, "source": self.path})
        return whole, digest_of("".join(digest for _, digest in read).encode())

    def open(self) -> Annotation:
        """The annotation; of audio the signals, of which only the headers are read now."""
        if self.reading.kind != "audio":
            return self.read()[0]
        names = tuple(file.label for file in self._all())
        signals = [FileSignal(file.path, file.name, self.reading.max_bytes) for file in self._all()]
        why = unlike(signals, names)
        if why is not None:
            raise InvalidAnnotationError(why, path=self.path)
        columns, labels = {"signal": signal_column(signals)}, list(self.parts) or None
        return Annotation(self.reading.kind, columns, labels, lines=(), attrs={"source": self.path}, files=names)

    def _all(self) -> list[FileSource]:
        for part, file in zip(self.parts, self.files, strict=False):
            if file is None:
                message = f"there is no file of the {KINDS[self.reading.kind].part} {part!r}"
                raise UnreadableError(message, path=self.path)
        return [file for file in self.files if file is not None]


@dataclass(frozen=True, slots=True)
class SelectedSource(Source):
    """Some of the beats of another source, such as an entry of a pack, or all that it holds under other labels.

    Parameters
    ----------
    reading : Reading
        With the selection, see :mod:`mirflow.readers.positions`, and the map of labels.
    """

    source: Source
    reading: Reading

    @property
    def paths(self) -> tuple[str, ...]:
        """The name of the other source, which also has its place in a file."""
        return (self.label,)

    @property
    def label(self) -> str:
        """The name of the other source."""
        return self.source.label

    def stat(self) -> tuple[int, int]:
        """Size and time of the other source."""
        return self.source.stat()

    def read(self) -> tuple[Annotation, str]:
        """The selected beats, and the digest of all."""
        annotation, digest = self.source.read()
        if self.reading.selection != "all":
            annotation = select_beats(annotation, self.reading.selection, self.label)
        return self.reading.with_labels(annotation), digest


def select_from(source: Source, reading: Reading) -> Source:
    """A source of the selected beats of another one, by the map of labels; the other one where there is neither."""
    as_it_is = reading.selection == "all" and reading.labels is None
    return source if as_it_is else SelectedSource(source, reading)


def has_parts(path: str, reading: Reading) -> bool:
    """True if a path has a placeholder for levels of a hierarchy or sources of audio, which have a file each."""
    part = KINDS[reading.kind].part
    return bool(part) and (f"{{{part}}}" in path or f"{{{part}:path}}" in path)


def gather(
    matches: Sequence[Match], pattern: str, names: Sequence[str], reading: Reading, annotator: str | int | None = None
) -> list[tuple[Source, Mapping[str, str]]]:
    """The files that a pattern found, as one source for each set of values of the placeholders but those of parts.

    Parameters
    ----------
    names : sequence of str
        The pattern's placeholders, in order.
    reading : Reading
        With the levels or sources; without, a track has the sources that are found, sorted by name.
    annotator : str, int or None
        As for `FileSource`.
    """
    kind, declared = KINDS[reading.kind], reading.levels or reading.sources
    if kind.part not in names:
        if reading.sources:
            raise AnnotationError(f"declares sources, but has no {{source}} in its path: {pattern!r}")
        values = [dict(zip(names, match.values, strict=True)) for match in matches]
        files = [matched_file(match, reading, annotator) for match in matches]
        if kind.part and not kind.level:
            return [(FilesSource(one.name, reading, (), (one,)), own) for one, own in zip(files, values, strict=True)]
        return list(zip(files, values, strict=True))
    groups = group_by(matches, names, kind.part)
    found = sorted({part for _, group in groups for part in group})
    if kind.level and not declared:
        raise AnnotationError(f"say the order of the levels, from the coarsest to the finest: {', '.join(found)}")
    absent = [part for part in declared if part not in found]
    if absent:
        raise AnnotationError(f"no file is of the {kind.part} {absent[0]!r}; found: {', '.join(found)}")
    sources: list[tuple[Source, Mapping[str, str]]] = []
    for own, group in groups:
        parts = declared or tuple(sorted(group))
        held = tuple(matched_file(group[part], part_reading(reading)) if part in group else None for part in parts)
        sources.append((FilesSource(fill(pattern, own), reading, parts, held), own))
    return sources


def matched_file(match: Match, reading: Reading, annotator: str | int | None = None) -> FileSource:
    """The annotation in a file that a pattern found."""
    return FileSource(match.path, reading, annotator, match.name, (match.size, match.modified))


def part_reading(reading: Reading) -> Reading:
    """The reading of one part: a level as a segmentation, a source as audio."""
    return replace(reading, kind="intervals", task="segment", levels=()) if reading.kind == "hierarchy" else reading


def source_at(
    place: PathLike | Sequence[PathLike], reading: Reading, annotator: str | int | None = None
) -> FileSource | FilesSource:
    """The annotation of a path.

    Parameters
    ----------
    place : path or list of paths
        A file, or a path with ``{level}`` for the files of a hierarchy. Of audio also a folder, a list of files, or a
        path with ``{source}``.
    annotator : str, int or None
        As for `FileSource`.
    """
    if reading.kind == "audio":
        return _audio_at(place, reading)
    path = os.fspath(place)  # type: ignore[arg-type]  # a list is refused as any other object that is no path
    if not has_parts(path, reading):
        return FileSource(path, reading, annotator)
    if not reading.levels:
        raise AnnotationError(f"say the levels, from the coarsest to the finest: levels=[...] for {path!r}")
    paths = [path.replace("{level}", level) for level in reading.levels]
    files = tuple(FileSource(one, part_reading(reading)) for one in paths)
    return FilesSource(path, reading, reading.levels, files)


def _audio_at(place: PathLike | Sequence[PathLike], reading: Reading) -> FilesSource:
    if not isinstance(place, str | os.PathLike):
        return _audio_of(place, reading)
    path = os.fspath(place)
    if os.path.isdir(path):  # noqa: PTH112  # False for a path that no file can have, at which pathlib raises
        return _audio_of(audio_files(Path(path)), reading, path)
    if not has_parts(path, reading):
        if reading.sources:
            message = "sources are those of several files: give a folder, or {source} in the path"
            raise AnnotationError(message, path=path)
        return FilesSource(path, reading, (), (FileSource(path, reading),))
    pattern = Pattern(path.lstrip("/"))
    if pattern.names != ("source",):
        raise AnnotationError(f"audio of one track needs no placeholder but {{source}}: {path!r}")
    root = "/" if path.startswith("/") else "."
    matches = [replace(match, name=match.path) for match in pattern.find(root)]
    if not matches:
        raise UnreadableError(f"there is no such file; {pattern.hint(root)}", path=path)
    ((source, _),) = gather(matches, path, pattern.names, reading)
    assert isinstance(source, FilesSource)
    return source


def _audio_of(files: Sequence[PathLike], reading: Reading, name: str = "") -> FilesSource:
    """The sources in a list of files, named as the files are without suffix; `name` is that of all of them."""
    paths = {Path(file).stem: os.fspath(file) for file in files}
    if len(paths) < len(files):
        raise AnnotationError(f"two files of one source: {', '.join(paths.values())}, ...", path=name or None)
    if not paths:
        raise AnnotationError("no sources: the list of files is empty")
    parts = reading.sources or tuple(paths if not name else sorted(paths))
    held = tuple(FileSource(paths[part], reading) if part in paths else None for part in parts)
    return FilesSource(name or ", ".join(paths.values()), reading, parts, held)
