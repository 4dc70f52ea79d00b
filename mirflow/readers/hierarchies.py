"""Hierarchies that have one file for each level: ``{track}_{level}.txt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..annotations.annotation import Annotation, stack_levels
from ..errors import AnnotationError, UnreadableError
from .content import digest_of, mix_stats
from .options import Reading
from .patterns import Match, fill, group_by
from .sources import FileSource

PLACEHOLDER = "{level}"


@dataclass(frozen=True, slots=True)
class LevelsSource:
    """A hierarchy with one file for each level.

    Parameters
    ----------
    path : str
        What to call it in messages: the pattern, with ``{level}`` in it.
    levels : tuple of str
        From the coarsest to the finest.
    files : tuple of FileSource or None
        One for each level; None where there is no such file.

    Examples
    --------
    >>> LevelsSource("a_{level}.txt", ("upper", "lower"), (None, None)).label
    'a_{level}.txt'
    """

    path: str
    levels: tuple[str, ...]
    files: tuple[FileSource | None, ...]

    @property
    def label(self) -> str:
        """The pattern that its files have in common."""
        return self.path

    def stat(self) -> tuple[int, int]:
        """Size in bytes of all files together, and a number made of their times of modification."""
        return mix_stats([(-1, 0) if file is None else file.stat() for file in self.files])

    def read(self) -> tuple[Annotation, str]:
        """The levels of all files as one hierarchy, and the digest of their bytes."""
        for level, file in zip(self.levels, self.files, strict=True):
            if file is None:
                raise UnreadableError(f"there is no file of the level {level!r}", path=self.path)
        parts, digests, names = [], [], []
        for file in filter(None, self.files):
            part, digest = file.read()
            parts.append(part)
            digests.append(digest)
            names.append(file.label)
        whole = replace(stack_levels(parts, names), attrs={**parts[0].attrs, "source": self.path})
        return whole, digest_of("".join(digests).encode())


def gather_levels(
    matches: Sequence[Match], pattern: str, names: Sequence[str], reading: Reading
) -> list[tuple[LevelsSource, Mapping[str, str]]]:
    """What a pattern with ``{level}`` found, as one source for each set of the other placeholders' values.

    Parameters
    ----------
    matches : sequence of Match
    pattern : str
    names : sequence of str
        The pattern's placeholders, in order.
    reading : Reading
        With the levels.

    Raises
    ------
    AnnotationError
        If no levels are declared, or one of them is nowhere found.
    """
    place = list(names).index("level")
    found = sorted({match.values[place] for match in matches})
    if not reading.levels:
        raise AnnotationError(f"say the order of the levels, from the coarsest to the finest: {', '.join(found)}")
    absent = [level for level in reading.levels if level not in found]
    if absent:
        raise AnnotationError(f"no file is of the level {absent[0]!r}; found: {', '.join(found)}")
    groups = group_by(matches, names, "level")
    return [(_source(fill(pattern, values), group, reading), values) for values, group in groups]


def _source(name: str, group: Mapping[str, Match], reading: Reading) -> LevelsSource:
    one = _of_level(reading)
    files = [
        FileSource(match.path, one, None, match.name, (match.size, match.modified)) if match is not None else None
        for match in map(group.get, reading.levels)
    ]
    return LevelsSource(name, reading.levels, tuple(files))


def levels_at(path: str, reading: Reading) -> LevelsSource:
    """The hierarchy in the files that a path with ``{level}`` stands for.

    Raises
    ------
    AnnotationError
        If no levels are declared.
    """
    if not reading.levels:
        raise AnnotationError(f"say the levels, from the coarsest to the finest: levels=[...] for {path!r}")
    paths = [path.replace(PLACEHOLDER, level) for level in reading.levels]
    return LevelsSource(path, reading.levels, tuple(FileSource(one, _of_level(reading)) for one in paths))


def _of_level(reading: Reading) -> Reading:
    """How the file of one level is read: as a segmentation."""
    return replace(reading, kind="intervals", task="segment", levels=())


def has_levels(path: str, reading: Reading) -> bool:
    """Whether a path stands for the files of several levels."""
    return reading.kind == "hierarchy" and PLACEHOLDER in path
