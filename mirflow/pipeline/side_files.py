"""The files that the pattern of one side finds, on disk and on servers, and the estimates of each system by track.

Files that lead out of a confined root are refused. An estimate is held as its place in what was found; its source is
made on access.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError
from ..ragged import Int
from ..readers.downloads import parse_url
from ..readers.patterns import Candidates, Match, MatchedFiles, Pattern, describe_otherwise, find_remote, is_folder
from .model import Estimates, Trouble

OUTSIDE = "leads out of the root, where files are not read for a store from elsewhere"
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ALIKE = 0.86
"""Minimum similarity of a typo: `sytem`, `systems` and `trak` are typos, `system_run` and `subsystem` are names."""


def find_slip(pattern: Pattern, side: str, kind: str) -> str:
    """Message about a free placeholder with nearly the name of one that the pattern lacks; empty if there is none."""
    meant = ["track", "annotator", *["system"] * (side == "estimates"), *filter(None, [KINDS[kind].part])]
    lacking = [name for name in meant if name not in pattern.names]
    for name in pattern.names:
        near = difflib.get_close_matches(name.lower(), lacking, n=1, cutoff=_ALIKE) if name not in meant else []
        if near:
            return f"unknown placeholder {{{name}}} in {pattern.text!r}: did you mean {{{near[0]}}}? If not, rename it"
    return ""


def find_matches(
    side: Estimates,
    key: str,
    root: str,
    trackless: bool,
    troubles: list[Trouble],
    confined: bool = False,
    candidates: Candidates | None = None,
) -> MatchedFiles:
    """Find the files of one side's pattern, or add the reason to `troubles` if there are none. A pattern without
    ``{track}`` is one that finds nothing, unless it may be `trackless`. What leads out of the root is refused where
    files are `confined` to it. Files of servers, which cannot be listed, are looked for by the names of the
    `candidates`; without any, URLs are not looked at."""
    pattern = Pattern(side.path)
    nothing = MatchedFiles("", "", (), tuple([] for _ in pattern.names))
    if confined and leads_out(side.path, root):
        troubles.append(((key, "path"), f"{OUTSIDE}: {side.path!r}"))
        return nothing
    if not (trackless or pattern.is_pack or pattern.is_readings or "track" in pattern.names):
        troubles.append(((key, "path"), f"has no {{track}}: {side.path!r}"))
        return nothing
    if parse_url(side.path) is not None:
        if candidates is None:
            return nothing
        try:
            matches_there = find_remote(pattern, candidates)
        except AnnotationError as error:
            troubles.append(((key, "path"), str(error)))
            return nothing
        if not matches_there:
            values = candidates.values.items()
            names = [(name, texts[0]) for name, texts in values if texts and name in pattern.names]
            tried = " and ".join(f"{name} {first!r}" for name, first in names)
            on_server = side.path.lower().startswith("http") and tried
            hint = (
                f"among others for {tried}" if on_server else "check the address and the names before the placeholders"
            )
            troubles.append(((key, "path"), f"matches nothing: {side.path!r}; {hint}"))
        return matches_there
    try:
        matches = pattern.find(root)
    except AnnotationError as error:
        troubles.append(((key, "path"), str(error)))
        return nothing
    if not matches:
        hint = describe_otherwise(matches, side.path) or pattern.hint(root)
        troubles.append(((key, "path"), f"matches nothing: {side.path!r}; {hint}"))
    linked = next((link for link in _links_out(matches, root)), None) if confined else None
    if linked is not None:
        troubles.append(((key, "path"), f"{OUTSIDE}: {linked!r} is a link"))
        return nothing
    # What could not be decoded is in a name as surrogates.
    odd = {value for column in matches.columns for value in {*column} if _SURROGATE.search(value)}
    if odd:
        name = next(match.name for match in matches if not odd.isdisjoint(match.values))
        troubles.append(((key, "path"), f"finds a file name that is not UTF-8: {name!r}; rename the file"))
        return nothing
    return matches


def leads_out(path: str, root: str) -> bool:
    """True if a path is a URL or leads out of a folder: as written, or by a link in the part without placeholders."""
    steps = path.replace("\\", "/").split("/")
    if parse_url(path) is not None or ".." in steps or Path(path).is_absolute() or path.startswith("~"):
        return True
    fixed = itertools.takewhile(lambda step: not _PLACEHOLDER.search(step), steps)
    return not _is_inside(Path(root, *fixed), root)


def _links_out(matches: Sequence[Match], root: str) -> Iterator[str]:
    """Links that lead out of a folder, among files that were found and those beside them, which may hold names."""
    for folder in dict.fromkeys(Path(match.path).parent for match in matches):
        if not _is_inside(folder, root):
            yield str(folder)
        with os.scandir(folder) as entries:
            links = [entry for entry in entries if entry.is_symlink() and not is_folder(entry)]
        yield from (entry.path for entry in links if not _is_inside(entry.path, root))
    yield from (match.path for match in matches if is_folder(Path(match.path)) and not _is_inside(match.path, root))


def _is_inside(path: str | Path, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


@dataclass(eq=False, repr=False, slots=True)
class EstimateRow(Sequence[Source | None]):
    """The sources of the estimates of one system, one for each track or None, which are made on access."""

    _found: Sequence[tuple[Source, Any]]
    _places: Int
    _replaced: Mapping[int, Source] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, track: Any) -> Any:  # a source or None, of a slice several
        if isinstance(track, slice):
            return tuple(self[place] for place in range(len(self))[track])
        place = int(self._places[track])
        if place < 0:
            return None
        if self._replaced and place in self._replaced:
            return self._replaced[place]
        return self._found[place][0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        if isinstance(other, EstimateRow) and not self._replaced and not other._replaced:
            same = np.array_equal(self._places, other._places) and self._found == other._found
            if same:  # without making sources
                return True
        return all(one == another for one, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(eq=False, repr=False)
class EstimateTable:
    """Places of the estimates of systems and tracks in what was found."""

    found: Sequence[tuple[Source, Any]] = ()
    columns: dict[str, int] = field(default_factory=dict)
    """The column of each track."""
    rows: dict[str, array[int]] = field(default_factory=dict)
    """The places in each column by systems, in the order of their first estimates; -1, or the end: no estimate."""
    replaced: dict[int, Source] = field(default_factory=dict)

    @property
    def tracks(self) -> list[str]:
        """Names of the tracks of which any system has an estimate."""
        held = np.zeros(len(self.columns), dtype=np.bool_)
        for row in self.rows.values():
            held[: len(row)] |= np.frombuffer(row, dtype=np.int64) >= 0
        return [track for track, is_held in zip(self.columns, held.tolist(), strict=True) if is_held]

    def tracks_of(self, system: str) -> list[str]:
        """Names of the tracks of which a system has an estimate."""
        return [track for track, place in zip(self.columns, self.rows[system], strict=False) if place >= 0]

    def of(self, system: str) -> Iterator[tuple[str, Source]]:
        """Tracks and estimates of a system."""
        tracks = self.tracks_of(system)
        for track, source in zip(tracks, self.row(system, tracks), strict=True):
            if source is not None:
                yield track, source

    def replace(self, system: str, sources: Mapping[str, Source]) -> None:
        """Put other sources in the place of those of some tracks."""
        row = self.rows[system]
        self.replaced |= {row[self.columns[track]]: source for track, source in sources.items()}

    def row(self, system: str, tracks: Sequence[str]) -> EstimateRow:
        """The estimates of a system of some tracks."""
        places = np.append(np.frombuffer(self.rows.get(system, array("q")), dtype=np.int64), -1)
        columns = np.array([self.columns.get(track, -1) for track in tracks], dtype=np.int64)
        columns[columns >= len(places) - 1] = -1
        return EstimateRow(self.found, places[columns], self.replaced)
