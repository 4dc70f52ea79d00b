"""Sets of sound files: the sources of one track, one file each, as ``{track}/{source}.wav``; or a track in one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..annotations.annotation import Annotation
from ..annotations.signal import signal_column, unlike
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from .audio import FileSignal, digest_file
from .content import digest_of, file_stat, is_listed_file, mix_stats
from .options import Reading
from .patterns import Match, Pattern, fill, group_by

PLACEHOLDER = "source"
SUFFIXES = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".w64", ".rf64", ".caf", ".au")
"""What the names of sound files end in; in folders the others are left alone."""


@dataclass(frozen=True, slots=True)
class Stem:
    """One sound file.

    Parameters
    ----------
    path : str
    name : str
        What to call it in messages; empty: its path.
    found : (int, int) or None
        Size and time of modification, where the listing of its folder told them.
    """

    path: str
    name: str = ""
    found: tuple[int, int] | None = field(default=None, compare=False)

    def stat(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns."""
        return file_stat(self.path, self.name) if self.found is None else self.found


@dataclass(frozen=True, slots=True)
class StemsSource:
    """The sources of one track, each in a file of its own.

    Parameters
    ----------
    path : str
        What to call the set in messages: the pattern, with ``{source}`` in it, or the file.
    sources : tuple of str
        Names; empty for a single file, whose one source has no name.
    files : tuple of Stem or None
        One for each source; None where there is no such file.
    max_bytes : int
        Of each file.

    Examples
    --------
    >>> StemsSource("a/{source}.wav", ("bass", "voice"), (None, None), 2**30).label
    'a/{source}.wav'
    """

    path: str
    sources: tuple[str, ...]
    files: tuple[Stem | None, ...]
    max_bytes: int

    @property
    def label(self) -> str:
        """What its files have in common."""
        return self.path

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that there are."""
        return tuple(file.path for file in self.files if file is not None)

    def stat(self) -> tuple[int, int]:
        """Size in bytes of all files together, and a number made of their times of modification."""
        return mix_stats([(-1, 0) if file is None else file.stat() for file in self.files])

    def open(self) -> Annotation:
        """The signals, of which only the headers are read now.

        Raises
        ------
        UnreadableError
            If a source has no file, or one that cannot be read.
        InvalidAnnotationError
            If the sources are not of one length, rate and number of channels.
        """
        signals, names = [], []
        for place, file in enumerate(self.files):
            if file is None:
                raise UnreadableError(f"there is no file of the source {self.sources[place]!r}", path=self.path)
            signals.append(FileSignal(file.path, file.name, self.max_bytes))
            names.append(file.name or file.path)
        why = unlike(signals, names)
        if why is not None:
            raise InvalidAnnotationError(why, path=self.path)
        labels = list(self.sources) if self.sources else None
        columns = {"signal": signal_column(signals)}
        return Annotation("audio", columns, labels, lines=(), attrs={"source": self.path}, files=tuple(names))

    def read(self) -> tuple[Annotation, str]:
        """The signals, and the digest of the bytes of all files, which are read piece by piece for it."""
        annotation = self.open()
        digests = [digest_file(file.path, file.name) for file in self.files if file is not None]
        return annotation, digest_of("".join(digests).encode()) if self.sources else digests[0]


def has_sources(path: str, reading: Reading) -> bool:
    """Whether a path stands for the files of several sources."""
    return reading.kind == "audio" and PLACEHOLDER in Pattern(path).names


def gather_stems(
    matches: Sequence[Match], pattern: str, names: Sequence[str], reading: Reading
) -> list[tuple[StemsSource, Mapping[str, str]]]:
    """What a pattern found, as one source for each set of the values of all placeholders but ``{source}``.

    Parameters
    ----------
    matches : sequence of Match
    pattern : str
    names : sequence of str
        The pattern's placeholders, in order.
    reading : Reading
        With the names and the order of the sources, where they are declared; else each track has those that are found,
        sorted by name.

    Raises
    ------
    AnnotationError
        If a declared source is nowhere found.
    """
    if PLACEHOLDER not in names:
        if reading.sources:
            raise AnnotationError(f"declares sources, but has no {{source}} in its path: {pattern!r}")
        values = [dict(zip(names, match.values, strict=True)) for match in matches]
        return [(_alone(match, reading), one) for match, one in zip(matches, values, strict=True)]
    groups = group_by(matches, names, PLACEHOLDER)
    found = sorted({source for _, group in groups for source in group})
    absent = [source for source in reading.sources if source not in found]
    if absent:
        raise AnnotationError(f"no file is of the source {absent[0]!r}; found: {', '.join(found)}")
    return [(_together(fill(pattern, values), group, reading), values) for values, group in groups]


def _stem(match: Match) -> Stem:
    return Stem(match.path, match.name, (match.size, match.modified))


def _alone(match: Match, reading: Reading) -> StemsSource:
    return StemsSource(match.name, (), (_stem(match),), reading.max_bytes)


def _together(name: str, group: Mapping[str, Match], reading: Reading) -> StemsSource:
    sources = reading.sources or tuple(sorted(group))
    found = map(group.get, sources)
    files = tuple(None if match is None else _stem(match) for match in found)
    return StemsSource(name, sources, files, reading.max_bytes)


def stems_in(place: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], reading: Reading) -> StemsSource:
    """The sources in a list of files, or those that a path stands for."""
    return stems_at(os.fspath(place), reading) if isinstance(place, str | os.PathLike) else stems_of(place, reading)


def stems_at(path: str, reading: Reading) -> StemsSource:
    """The sources that a path stands for: a sound file, a folder of them, or a path with ``{source}``.

    Raises
    ------
    AnnotationError
        If there is nothing, or the path has other placeholders.
    """
    if Path(path).is_dir():
        return stems_of(sound_files(Path(path)), reading, path)
    if not has_sources(path, reading):
        if reading.sources:
            raise AnnotationError(
                "sources are those of several files: give a folder, or {source} in the path", path=path
            )
        return StemsSource(path, (), (Stem(path),), reading.max_bytes)
    pattern = Pattern(path.lstrip("/"))
    if pattern.names != (PLACEHOLDER,):
        raise AnnotationError(f"one track's sound needs no placeholder but {{source}}: {path!r}")
    root = "/" if path.startswith("/") else "."
    matches = pattern.find(root)
    if not matches:
        raise UnreadableError(f"there is no such file; {pattern.hint(root)}", path=path)
    named = [replace(match, name=match.path) for match in matches]
    ((source, _),) = gather_stems(named, path, pattern.names, reading)
    return source


def stems_of(files: Sequence[str | os.PathLike[str]], reading: Reading, name: str = "") -> StemsSource:
    """The sources in a list of files, named as the files are without suffix; `name` is what to call them all.

    Raises
    ------
    AnnotationError
        If there is none, or two have one name.
    """
    paths = {Path(file).stem: os.fspath(file) for file in files}
    if len(paths) < len(files):
        raise AnnotationError(f"two files of one source: {', '.join(paths.values())}, ...", path=name or None)
    if not paths:
        raise AnnotationError("no sources: the list of files is empty")
    sources = reading.sources or tuple(paths if not name else sorted(paths))
    stems = tuple(Stem(paths[source]) if source in paths else None for source in sources)
    return StemsSource(name or ", ".join(paths.values()), sources, stems, reading.max_bytes)


def sound_files(folder: Path) -> list[Path]:
    """The sound files in a folder, not in those below it, sorted.

    Raises
    ------
    AnnotationError
        If there is none.
    """
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and is_listed_file(path))
    if not found:
        raise AnnotationError("no sound files in the folder", path=folder)
    return found


def sound_folders(folder: Path) -> list[Path]:
    """A folder and those below it, as far as they hold sound files, sorted.

    Raises
    ------
    AnnotationError
        If there is none.
    """
    found = {path.parent for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and is_listed_file(path)}
    if not found:
        raise AnnotationError(f"no sound files ({', '.join(SUFFIXES)}) in the folder", path=folder)
    return sorted(found)
