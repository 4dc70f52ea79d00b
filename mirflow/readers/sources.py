"""Sources of annotations in files: one file, a file for each part, or selected beats; cheap to send to workers.

Sources are made from paths and from the files that a pattern finds. Files are parsed by their format, which may be one
that users declare with a function that reads its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import length_hint
from pathlib import Path
from typing import Any, TypeVar

from ..annotations.annotation import Annotation, as_items, stack_levels
from ..annotations.arrays import from_arguments, from_columns
from ..annotations.audio import unlike
from ..annotations.rolls import HOP, frames_of
from ..annotations.schema import KINDS
from ..annotations.source import DerivedSource, Source
from ..errors import AnnotationError, InvalidAnnotationError, PluginError, UnreadableError, shorten
from ..interruption import is_stop
from ..plugins import LONGEST, READERS, declare, describe_error, find
from ..theory.text_form import are_normal, normal_form
from .audio_files import FileSignal, audio_files, digest_file
from .content import demand_no_json, digest_of, file_stat, mix_stats, read_bytes
from .formats import FORMATS, LAYOUTS, load_reader
from .label_maps import in_normal_form
from .options import Reading
from .patterns import MatchedFiles, Pattern, fill, group_by
from .positions import select_beats
from .remedies import read_advised

PathLike = str | os.PathLike[str]
_Function = TypeVar("_Function", bound=Callable[[bytes], Any])
_NUMPY = b"\x93NUMPY"
"""First bytes of an ``.npy`` file."""


def parse_file(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """Parse the bytes of a file in any format except JAMS."""
    if format not in FORMATS:
        return parse_user_format(data, reading, name)
    declared = FORMATS[format]
    if declared.table and not declared.parser:
        raise InvalidAnnotationError(f"{format} files hold many tracks: read them with load_collection", path=name)
    if reading.kind == "multipitch" and (declared.notes or reading.hop is not None):
        as_notes = replace(reading, kind="notes", task="transcription", hop=None)
        return frames_of(parse_file(data, as_notes, format, name), reading.hop or HOP)
    address = declared.by_kind.get(reading.kind, declared.parser)
    if address:
        found: Annotation = load_reader(address)(data, reading, format, name)
        return found
    if data.startswith(_NUMPY):
        many = "is an array with the tags of many tracks: read it with load_collection"
        message = many if reading.kind == "labels" else f"is a numpy array; {reading.kind} are read from text"
        raise InvalidAnnotationError(message, path=name)
    demand_no_json(data, name)
    parse = load_reader(LAYOUTS.get(reading.kind, ".delimited:parse_delimited"))
    annotation: Annotation = parse(data, reading, format, name)
    return annotation


def declare_reader(format: str) -> Callable[[_Function], _Function]:
    """Declare a function that reads files of a format, for use in pipelines, Python and commands.

    The function takes the bytes of a file. It returns an `Annotation` or an argument of :func:`mirflow.annotation`: the
    arrays of one side in mir_eval's order, as a tuple if there are several, or columns by name, such as
    ``{"time": [0.5, 1.0]}``.

    Parameters
    ----------
    format : str
        Name of the format, which must differ from those of mirflow.

    Returns
    -------
    callable
        Decorator that returns the function unchanged.

    Raises
    ------
    PluginError
        If mirflow has a format of that name.

    Examples
    --------
    >>> @declare_reader("milliseconds")
    ... def read_milliseconds(data):
    ...     return {"time": [int(line) / 1000 for line in data.split()]}
    >>> from mirflow.readers.options import Reading
    >>> parse_user_format(b"500 1000", Reading.of("beat", format="milliseconds"), "a.ms").columns["time"].tolist()
    [0.5, 1.0]
    """
    if format in FORMATS:
        raise PluginError(f"mirflow already has a format {format!r}; choose another name")

    def declare_function(function: _Function) -> _Function:
        declare(READERS, format, function)
        return function

    return declare_function


def parse_user_format(data: bytes, reading: Reading, name: str | Path) -> Annotation:
    """Parse the bytes of a file with the declared reader of its format."""
    reader = find(READERS, str(reading.format))
    try:
        found = reader(data)
        columns = found.values() if isinstance(found, Mapping) else found if isinstance(found, tuple) else (found,)
        items = max((length_hint(column, 0) for column in columns), default=0)
        if 8 * items > reading.max_bytes:
            what = f"its reader returned {items:,} items, which take more than {reading.max_bytes:,} bytes"
            raise InvalidAnnotationError(f"format {reading.format!r}: {what} (max_bytes raises this limit)")
        if isinstance(found, Mapping):
            found = from_columns(KINDS[reading.kind], found)
        elif not isinstance(found, Annotation):
            found = from_arguments(KINDS[reading.kind], found if isinstance(found, tuple) else (found,))
    except AnnotationError as error:
        message = shorten(error.message, LONGEST)
        raise InvalidAnnotationError(message, path=error.path or name, line=error.line) from error
    except MemoryError:  # the file is too large, not invalid
        raise
    except BaseException as error:  # an error in the user's code affects the file, not the run
        if is_stop(error):
            raise
        raise InvalidAnnotationError(f"format {reading.format!r}: {describe_error(error)}", path=name) from error
    if found.kind != reading.kind:
        message = f"format {reading.format!r}: its reader returned {found.kind}, not {reading.kind}"
        raise InvalidAnnotationError(message, path=name)
    return found


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """An annotation in a file.

    Examples
    --------
    >>> source = FileSource("/data/refs/a.lab", Reading.of(task="chord"), name="refs/a.lab")
    >>> source.label
    'refs/a.lab'
    """

    path: str
    """Absolute if other processes read the file."""
    reading: Reading
    annotator: str | int | None = None
    """Annotation of a JAMS file: an annotator's id, a position among the matching ones, or None for the only match."""
    name: str = ""
    """Name of the file in messages; defaults to its path."""
    found: tuple[int, int] | None = field(default=None, compare=False)
    """Size and version, if known from listing its folder."""

    @property
    def label(self) -> str:
        """The file's name, with the annotator in brackets."""
        name = self.name or self.path
        return name if self.annotator is None else f"{name} [{self.annotator}]"

    def stat(self) -> tuple[int, int]:
        """Size in bytes and a number that changes with the file."""
        return file_stat(self.path, self.name) if self.found is None else self.found

    def digest_now(self) -> str:
        """The digest of the file's bytes, which are not parsed."""
        return digest_of(read_bytes(self.path, self.reading.max_bytes, self.name or self.path))

    def read(self, reading: Reading | None = None) -> tuple[Annotation, str]:
        """The annotation and the digest of the file's bytes; messages have the remedies that work.

        By a given `reading`, with which remedies are tried, messages have all of them.
        """
        if reading is None:
            return read_advised(self.read, self.reading)
        name = self.name or self.path
        if "track" in reading.delimited.keys and reading is not self.reading:  # which a remedy declares
            from .tables.table import TableSource, open_table

            key = next(iter(open_table(self.path, reading, replace(self, reading=reading).label).of_key))
            return TableSource(self.path, key, reading).read(reading)
        format = reading.format_of(self.path)
        if format == "jams":
            from .jams import open_jams

            return open_jams(self.path, reading.max_bytes, name).select_as(reading, self.annotator)
        data = read_bytes(self.path, reading.max_bytes, name)
        return in_normal_form(parse_file(data, reading, format, name), reading.labels), digest_of(data)


@dataclass(frozen=True, slots=True)
class FilesSource(Source):
    """A hierarchy with one file for each level, or audio with one for each source.

    Examples
    --------
    >>> FilesSource("a_{level}.txt", Reading.of("hierarchy"), ("upper", "lower"), (None, None)).label
    'a_{level}.txt'
    """

    path: str
    """Name in messages: the pattern with the placeholder of the parts, or the file."""
    reading: Reading
    parts: tuple[str, ...]
    """Levels from the coarsest to the finest, or names of sources; empty for a single audio file."""
    files: tuple[FileSource | None, ...]
    """One file for each part; None if it is missing."""

    name = ""  # its label is the pattern

    @property
    def paths(self) -> tuple[str, ...]:
        """The existing files."""
        return tuple(file.path for file in self.files if file is not None)

    def stat(self) -> tuple[int, int]:
        """Total size in bytes, and a number derived from the times of modification."""
        return mix_stats([(-1, 0) if file is None else file.stat() for file in self.files])

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest of the bytes of all files; audio is read block by block."""
        if self.reading.kind == "audio":
            annotation = self.open()
            digests = [digest_file(file.path, file.label) for file in self.files if file is not None]
            return annotation, digest_of("".join(digests).encode()) if self.parts else digests[0]
        names = [file.label for file in self._all()]
        read = [file.read() for file in self._all()]
        levels = [level for level, _ in read]
        about = {**levels[0].attrs, "source": self.path, "levels": ", ".join(self.parts)}
        whole = replace(stack_levels(levels, names), attrs=about)
        return whole, digest_of("".join(digest for _, digest in read).encode())

    def open(self) -> Annotation:
        """The annotation; for audio, signals of which only the headers are read now."""
        if self.reading.kind != "audio":
            return self.read()[0]
        names = tuple(file.label for file in self._all())
        signals = [FileSignal(file.path, file.name, self.reading.max_bytes) for file in self._all()]
        why = unlike(signals, names)
        if why is not None:
            raise InvalidAnnotationError(why, path=self.path)
        columns, labels = {"signal": as_items(signals)}, list(self.parts) or None
        return Annotation(self.reading.kind, columns, labels, lines=(), attrs={"source": self.path}, files=names)

    def _all(self) -> list[FileSource]:
        for part, file in zip(self.parts, self.files, strict=False):
            if file is None:
                raise UnreadableError(f"the {KINDS[self.reading.kind].part} {part!r} has no file", path=self.path)
        return [file for file in self.files if file is not None]


@dataclass(frozen=True, slots=True)
class SelectedSource(DerivedSource):
    """Selected beats of another source, such as an entry of a pack, or its annotation with mapped labels."""

    source: Source
    reading: Reading
    """Reading with the selection (see :mod:`mirflow.readers.positions`) and the map of labels."""

    path = ""  # its label takes the place, which also says where in a file the annotation is

    def stat(self) -> tuple[int, int]:
        """Size and time of the other source."""
        return self.source.stat()

    def read(self) -> tuple[Annotation, str]:
        """The selected beats, and the digest of all beats."""
        annotation, digest = self.source.read()
        if self.reading.selection != "all":
            annotation = select_beats(annotation, self.reading, self.label)
        return in_normal_form(annotation, self.reading.labels), digest


def select_from(source: Source, reading: Reading) -> Source:
    """Apply the selection of beats and the map of labels to a source, if there are any."""
    return source if reading.selection == "all" and reading.labels is None else SelectedSource(source, reading)


def has_parts(path: str, reading: Reading) -> bool:
    """True if a path has a placeholder for the files of levels of a hierarchy or sources of audio."""
    part = KINDS[reading.kind].part
    return bool(part) and (f"{{{part}}}" in path or f"{{{part}:path}}" in path)


@dataclass
class FoundFiles(Sequence[tuple[FileSource, Mapping[str, str]]]):
    """Files that match a pattern, which become sources on access, and the values of the pattern's placeholders."""

    matches: MatchedFiles
    reading: Reading
    annotator: str | int | None
    columns: Mapping[str, Sequence[str]]
    """Values of each placeholder of all files, in the form in which names are compared."""

    def __len__(self) -> int:
        return len(self.matches)

    def __getitem__(self, place: int | slice) -> Any:
        values = {name: column[place] for name, column in self.columns.items()}
        if isinstance(place, slice):
            return replace(self, matches=self.matches[place], columns=values)
        match = self.matches[place]
        return FileSource(match.path, self.reading, self.annotator, match.name, (match.size, match.version)), values


def gather(
    matches: MatchedFiles, pattern: str, names: Sequence[str], reading: Reading, annotator: str | int | None = None
) -> Sequence[tuple[Source, Mapping[str, str]]]:
    """Make sources of the files that match a pattern, combining the files of parts.

    `names` are the pattern's placeholders, in order. Unless the reading declares sources of audio, tracks have those
    that are found, sorted by name.
    """
    kind, declared = KINDS[reading.kind], reading.levels or reading.sources
    if kind.part not in names:
        if reading.sources:
            raise AnnotationError(f"sources are declared, but the path has no {{source}}: {pattern!r}")
        columns: dict[str, Sequence[str]] = {}
        for name, column in zip(names, matches.columns, strict=True):
            columns[name] = column if are_normal([*{*column}]) else [*map(normal_form, column)]
        files = FoundFiles(matches, reading, annotator, columns)
        if kind.part and not kind.level:
            return [(FilesSource(file.name, reading, (), (file,)), own) for file, own in files]
        return files
    groups = group_by(matches, names, kind.part)
    found = sorted({part for _, group in groups for part in group})
    if kind.level and not declared:
        raise AnnotationError(f"declare the levels, from the coarsest to the finest: {', '.join(found)}")
    absent = [part for part in declared if part not in found]
    if absent:
        raise AnnotationError(f"no file for the {kind.part} {absent[0]!r}; found: {', '.join(found)}")
    sources: list[tuple[Source, Mapping[str, str]]] = []
    level = replace(reading, kind="intervals", task="segment", levels=()) if kind.level else reading
    for values, group in groups:
        parts = declared or tuple(sorted(group))
        matched = map(group.get, parts)
        held = (
            match and FileSource(match.path, level, None, match.name, (match.size, match.version)) for match in matched
        )
        sources.append((FilesSource(fill(pattern, values), reading, parts, tuple(held)), values))
    return sources


def source_at(
    place: PathLike | Sequence[PathLike], reading: Reading, annotator: str | int | None = None
) -> FileSource | FilesSource:
    """The annotation of a path: a file, or a path with ``{level}`` for the files of a hierarchy.

    Audio may also be a folder, a list of files, or a path with ``{source}``.
    """
    if reading.kind == "audio" and not isinstance(place, str | os.PathLike):
        return _audio_of(place, reading)
    path = os.fspath(place)  # type: ignore[arg-type]  # a list is refused as any other object that is no path
    if reading.kind == "audio" and os.path.isdir(path):  # noqa: PTH112  # False for an invalid path, unlike in pathlib
        return _audio_of(audio_files(Path(path)), reading, path)
    if not has_parts(path, reading):
        if reading.kind != "audio":
            return FileSource(path, reading, annotator)
        if reading.sources:
            raise AnnotationError("sources need several files: give a folder, or {source} in the path", path=path)
        return FilesSource(path, reading, (), (FileSource(path, reading),))
    if reading.kind != "audio":
        if not reading.levels:
            raise AnnotationError(f"{path!r} needs the levels, from the coarsest to the finest: levels=[...]")
        paths = [path.replace("{level}", level) for level in reading.levels]
        level = replace(reading, kind="intervals", task="segment", levels=())
        files = tuple(FileSource(file, level) for file in paths)
        return FilesSource(path, reading, reading.levels, files)
    pattern = Pattern(path.lstrip("/"))
    if pattern.names != ("source",):
        raise AnnotationError(f"audio of one track supports only the placeholder {{source}}: {path!r}")
    root = "/" if path.startswith("/") else "."
    matches = pattern.find(root, whole_names=True)
    if not matches:
        raise UnreadableError(f"no such file; {pattern.hint(root)}", path=path)
    ((source, _),) = gather(matches, path, pattern.names, reading)
    assert isinstance(source, FilesSource)
    return source


def _audio_of(files: Sequence[PathLike], reading: Reading, name: str = "") -> FilesSource:
    """The sources in a list of files, named by the files without suffix; `name` is that of the list."""
    paths = {Path(file).stem: os.fspath(file) for file in files}
    if len(paths) < len(files):
        raise AnnotationError(f"two files of one source: {', '.join(paths.values())}, ...", path=name or None)
    if not paths:
        raise AnnotationError("no sources: the list of files is empty")
    parts = reading.sources or tuple(paths if not name else sorted(paths))
    held = tuple(FileSource(paths[part], reading) if part in paths else None for part in parts)
    return FilesSource(name or ", ".join(paths.values()), reading, parts, held)
