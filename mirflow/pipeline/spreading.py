"""Files that hold many tracks, spread into one source for each annotation in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import AnnotationError, MirflowError
from ..readers.meeting import call_alike, call_tracks
from ..readers.options import Reading
from ..readers.patterns import Match
from ..readers.tables import WHOLE, Key, TableSource, format_of, holds_tracks, open_table, spread_table
from .model import Estimates
from .resolve import Trouble

Spread = tuple[TableSource, Mapping[str, str]]
"""A source, and the values of placeholders and columns that led to it."""


def is_table(side: Estimates, task: str) -> bool:
    """Whether the files of one side hold many tracks each."""
    try:
        return holds_tracks(side.path, side.reading(task))
    except MirflowError:  # told where names are resolved
        return "track" in side.columns


def spread(
    side: Estimates,
    key: str,
    matches: Sequence[Match],
    names: Sequence[str],
    reading: Reading,
    tracks: Sequence[str] | None,
    troubles: list[Trouble],
) -> list[Spread]:
    """One source for each annotation in the files that a pattern found.

    Parameters
    ----------
    side : Estimates
    key : str
        What the file calls the side.
    matches : sequence of Match
    names : sequence of str
        The pattern's placeholders.
    reading : Reading
    tracks : sequence of str or None
        What a file that cannot be opened is about: it then fails where it is scored. None: it is a trouble, as it is
        where a column of the file says which system a row is of.
    troubles : list
        What is wrong is added.
    """
    twice = next((name for name in reading.keys if name in names), None)
    if twice is not None:
        troubles.append(
            ((key, "columns"), f"names the column of {twice!r}, and the path has {{{twice}}}: leave one out")
        )
        return []
    found: list[Spread] = []
    for match in matches:
        values = dict(zip(names, match.values, strict=True))
        try:
            sources = [source for source in _rows(match, reading, tracks) if _wanted(source, side.annotator)]
            if not sources and tracks and format_of(match.path, reading) in WHOLE:
                asked = ", ".join(map(repr, tracks[:3]))
                troubles.append(
                    ((key, "path"), f"has no row of any query of the reference ({asked}, ...): {match.name!r}")
                )
                continue
            if not sources:
                raise AnnotationError("has no rows that name a track", path=match.name)
        except AnnotationError as error:
            # Which systems a file holds, nobody knows that cannot open it: a made-up one would replace them all.
            if tracks is None or "system" in reading.keys or side.annotator == "{system}":
                troubles.append(((key, "path"), str(error)))
                continue
            sources = list(_unopened(match, reading, tracks))
        try:
            called = _called(sources, tracks or (), match.name)
        except AnnotationError as error:
            troubles.append(((key, "path"), str(error)))
            called = {source.key: source.key.track for source in sources}  # so that nothing else seems to be wrong
        found += [(source, {**values, **_told(source.key), "track": called[source.key]}) for source in sources]
    return found


def _called(sources: Sequence[TableSource], tracks: Sequence[str], name: str) -> dict[Key, str]:
    """What the reference calls the track of each source: systems that share a file need not name tracks alike."""
    by_list: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        by_list.setdefault((source.key.system, source.key.annotator), []).append(source.key.track)
    known = {key: call_tracks(own, tracks, name) for key, own in by_list.items()}
    return {source.key: known[source.key.system, source.key.annotator][source.key.track] for source in sources}


def _rows(match: Match, reading: Reading, tracks: Sequence[str] | None) -> list[TableSource]:
    """One source for each annotation in a file; of a whole matrix for those that the other side has under any name."""
    if tracks is None or format_of(match.path, reading) not in WHOLE:
        return spread_table(match, reading)
    keys, asked = open_table(match.path, reading, match.name).keys, set(tracks)
    called = call_alike((key.track for key in keys), tracks)
    return spread_table(match, reading, [own for own, theirs in called.items() if theirs in asked])


def _unopened(match: Match, reading: Reading, tracks: Sequence[str]) -> Iterator[TableSource]:
    for track in tracks:
        yield TableSource(match.path, Key(track), reading, match.name, (match.size, match.modified))


def _wanted(source: TableSource, annotator: str | int | None) -> bool:
    return annotator in (None, "all", "{annotator}", "{system}", source.key.annotator)


def _told(key: Key) -> dict[str, str]:
    """What a key says, without the names that the table has no column for."""
    return {name: value for name, value in key._asdict().items() if value}
