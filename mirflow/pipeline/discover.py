"""What files there are for an evaluation: its tracks, systems and annotators."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import AnnotationError, MirflowError, MirflowWarning
from ..plan import Caution, Reference
from ..readers.jams import annotators_of
from ..readers.levels import gather_levels, has_levels
from ..readers.meeting import NAMED, Apart, Truths, nearest_names
from ..readers.options import Reading
from ..readers.patterns import Match, Pattern
from ..readers.sources import FileSource, Source, as_asked
from ..readers.stems import gather_stems
from ..readers.tables import holds_tracks
from .entrants import SYSTEM, Entrants
from .model import Estimates, Evaluation
from .placeholders import find_slip
from .resolve import Resolved, Trouble
from .spreading import is_table, spread

OpenPack = Callable[[str, str], Mapping[str, Source]]
"""Path and name for messages of a pack -> its sources by track."""

Gather = Callable[[Sequence[Match], str, Sequence[str], Reading], Sequence[tuple[Source, Mapping[str, str]]]]
"""(matches, pattern, its placeholders, how to read) -> sources that are made of several files, with the values."""

LONE_SYSTEM = "estimate"
LONE_TRACK = "track"
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Found:
    """One source with the values of the placeholders that led to it."""

    source: Source
    values: Mapping[str, str]


@dataclass
class Discovery:
    """What exists for an evaluation.

    Parameters
    ----------
    systems, tracks : list of str
    references : mapping of str to list of Reference, by track
    estimates : mapping of (str, str) to Source, by system and track
    track_meta, system_meta : mapping of str to mapping of str to str
        Values of other placeholders, by track or system.
    cautions : list of Caution
        What was warned of.
    """

    systems: list[str] = field(default_factory=list)
    tracks: list[str] = field(default_factory=list)
    references: dict[str, list[Reference]] = field(default_factory=dict)
    estimates: dict[tuple[str, str], Source] = field(default_factory=dict)
    track_meta: dict[str, dict[str, str]] = field(default_factory=dict)
    system_meta: dict[str, dict[str, str]] = field(default_factory=dict)
    cautions: list[Caution] = field(default_factory=list)

    def warn(self, name: str, caution: Caution) -> None:
        """Say now what concerns the scores of an evaluation, and keep it."""
        self.cautions.append(caution)
        warnings.warn(f"{name}: {caution.text}", MirflowWarning, stacklevel=3)


def discover(
    evaluation: Evaluation, resolved: Resolved, root: str, open_pack: OpenPack | None, troubles: list[Trouble]
) -> Discovery:
    """The tracks, systems, references and estimates of an evaluation; what is wrong is added to `troubles`."""
    lists_all = evaluation.reference.annotator in ("all", "{annotator}")
    by_system = evaluation.estimates.annotator == "{system}"
    entrants = Entrants(evaluation, root)
    search = _Search(root, open_pack, is_lone(evaluation), entrants, troubles)
    references = search.side(evaluation.reference, "reference", resolved.reference, lists_all)
    known = list(dict.fromkeys(one.values["track"] for one in references if "track" in one.values))
    estimates = search.side(evaluation.estimates, "estimates", resolved.estimates, by_system, known)
    if by_system:
        estimates = [_Found(one.source, _renamed(one.values, "annotator", "system")) for one in estimates]
    shared = [name for name in _names(references) if name in _names(estimates)]
    if not all(_follows(side, name, "track") for name in shared for side in (references, estimates)):
        references, estimates = _qualified(references, shared), _qualified(estimates, shared)
    discovery = Discovery()
    _place_references(discovery, references, troubles)
    _place_estimates(discovery, estimates, shared, troubles)
    discovery.systems = _chosen(evaluation, discovery, entrants, troubles)
    if not troubles:
        _meet_tracks(evaluation, discovery, troubles)
    if not troubles:
        _meet_names(evaluation, resolved, discovery)
    discovery.tracks = sorted({*discovery.references, *(track for _, track in discovery.estimates)})
    several = any(len(one) > 1 for one in discovery.references.values())
    if several and evaluation.reference.combine is None:
        troubles.append((("reference", "combine"), "tracks have several references: say mean, max or each"))
    return discovery


def _qualified(found: Sequence[_Found], shared: Sequence[str]) -> list[_Found]:
    """Tracks named by the placeholders that both sides have, where the same name stands for several tracks."""
    return [
        _Found(one.source, {**one.values, "track": "/".join(one.values[name] for name in (*shared, "track"))})
        for one in found
    ]


def _names(found: Sequence[_Found]) -> list[str]:
    return [name for name in (found[0].values if found else ()) if name not in ("track", "system", "annotator")]


def _renamed(values: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    return {new if name == old else name: value for name, value in values.items()}


def is_lone(evaluation: Evaluation) -> bool:
    """Whether it has one track only: neither side's pattern has a placeholder for it, nor a file of many tracks."""
    sides = evaluation.reference, evaluation.estimates
    if any(is_table(side, evaluation.task) for side in sides):
        return False
    patterns = [Pattern(side.path) for side in sides]
    return not any(pattern.is_pack or "track" in pattern.names for pattern in patterns)


def find_matches(side: Estimates, key: str, root: str, trackless: bool, troubles: list[Trouble]) -> list[Match]:
    """What one side's pattern finds; if that is nothing, the reason is added to `troubles`.

    A pattern without ``{track}`` is one that finds nothing, unless it may be `trackless`.
    """
    pattern = Pattern(side.path)
    if not trackless and not pattern.is_pack and "track" not in pattern.names:
        troubles.append(((key, "path"), f"has no {{track}}: {side.path!r}"))
        return []
    try:
        matches = pattern.find(root)
    except AnnotationError as error:
        troubles.append(((key, "path"), str(error)))
        return []
    if not matches:
        troubles.append(((key, "path"), f"matches nothing: {side.path!r}; {pattern.hint(root)}"))
    odd = next((match.name for match in matches if not _is_text(match.name)), None)
    if odd is not None:
        troubles.append(((key, "path"), f"finds a file name that is not UTF-8: {odd!r}; rename the file"))
        return []
    return matches


@dataclass(frozen=True)
class _Search:
    """What the two sides of an evaluation have in common when they are looked for."""

    root: str
    open_pack: OpenPack | None
    lone: bool
    entrants: Entrants
    troubles: list[Trouble]

    def side(
        self, side: Estimates, key: str, reading: Reading, annotators: bool, tracks: Sequence[str] | None = None
    ) -> list[_Found]:
        """Everything that one side's pattern finds; `tracks` are those that the other side has."""
        pattern = Pattern(side.path)
        slip = find_slip(pattern, key, reading.kind)
        if slip:
            self.troubles.append(((key, "path"), slip))
            return []
        tabular = holds_tracks(side.path, reading)
        everything = find_matches(side, key, self.root, self.lone or tabular, self.troubles)
        matches = self.entrants.choose(key, pattern, everything)
        if pattern.is_pack:
            found = _packed(pattern, matches, key, reading, self.open_pack, self.troubles) if matches else []
            return [replace(one, source=as_asked(one.source, reading)) for one in found]
        names = pattern.names
        if tabular:
            rows = spread(side, key, matches, names, reading, tracks, self.troubles)
            return [_Found(*one) for one in rows]
        if has_levels(side.path, reading):
            found = _gathered(gather_levels, "levels", matches, pattern, key, reading, self.troubles)
        elif reading.kind == "audio":
            found = _gathered(gather_stems, "sources", matches, pattern, key, reading, self.troubles)
        elif annotators:
            found = _annotated(matches, names, reading)
        else:
            found = [
                _Found(_file(match, reading, side.annotator), dict(zip(names, match.values, strict=True)))
                for match in matches
            ]
        return [replace(one, values={**one.values, "track": LONE_TRACK}) for one in found] if self.lone else found


def _gathered(
    gather: Gather,
    option: str,
    matches: Sequence[Match],
    pattern: Pattern,
    key: str,
    reading: Reading,
    troubles: list[Trouble],
) -> list[_Found]:
    """One source for the files of all levels, or of all sources, of each track."""
    if not matches:
        return []
    try:
        return [_Found(*one) for one in gather(matches, pattern.text, pattern.names, reading)]
    except AnnotationError as error:
        troubles.append(((key, option), str(error)))
        return []


def _is_text(name: str) -> bool:
    """Whether a file name could be decoded; what could not stands in it as surrogates."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _file(match: Match, reading: Reading, annotator: str | int | None) -> FileSource:
    return FileSource(match.path, reading, annotator, match.name, (match.size, match.modified))


def _packed(
    pattern: Pattern,
    matches: Sequence[Match],
    key: str,
    reading: Reading,
    open_pack: OpenPack | None,
    troubles: list[Trouble],
) -> list[_Found]:
    if open_pack is None:
        troubles.append(((key, "path"), f"is a pack, and packs cannot be opened here: {pattern.text!r}"))
        return []
    found = []
    for match in matches:
        values = dict(zip(pattern.names, match.values, strict=True))
        try:
            pack = open_pack(match.path, match.name)
        except MirflowError as error:
            troubles.append(((key, "path"), str(error)))
            continue
        kinds = {getattr(source, "kind", reading.kind) for source in pack.values()} - {reading.kind}
        if kinds:
            message = f"is a pack of {', '.join(sorted(kinds))}, not of {reading.kind}: {match.name!r}"
            troubles.append(((key, "path"), message))
            continue
        found += [_Found(source, {**values, "track": track}) for track, source in pack.items()]
    return found


def _annotated(matches: Sequence[Match], names: Sequence[str], reading: Reading) -> list[_Found]:
    """One source for each annotator of each file; a file that cannot be read stays one, to fail when it is scored."""
    found: list[_Found] = []
    unread: list[Match] = []
    for match in matches:
        values = dict(zip(names, match.values, strict=True))
        try:
            listed = annotators_of(match.path, reading, match.name)
        except AnnotationError:
            unread.append(match)
            continue
        found += [_Found(_file(match, reading, name), {**values, "annotator": name}) for name in listed]
    everyone = sorted({one.values["annotator"] for one in found}) or [""]
    for match in unread:
        values = dict(zip(names, match.values, strict=True))
        found += [_Found(_file(match, reading, name or None), {**values, "annotator": name}) for name in everyone]
    return found


def _place_references(discovery: Discovery, found: Iterable[_Found], troubles: list[Trouble]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for one in found:
        track, annotator = one.values["track"], one.values.get("annotator", "")
        if (track, annotator) in seen:
            both = f"{seen[track, annotator]} and {one.source.label}"
            troubles.append(
                (("reference", "path"), f"finds two references for track {track!r}: {both}; use {{annotator}}")
            )
            return
        seen[track, annotator] = one.source.label
        discovery.references.setdefault(track, []).append(Reference(one.source, annotator))
        others = {name: value for name, value in one.values.items() if name not in ("track", "annotator", "system")}
        if others:
            discovery.track_meta.setdefault(track, {}).update(others)


def _place_estimates(
    discovery: Discovery, found: Sequence[_Found], shared: Sequence[str], troubles: list[Trouble]
) -> None:
    names = [name for name in (found[0].values if found else ()) if name not in ("track", "system", *shared)]
    of_track = [n for n in names if not _follows(found, n, "system") and _follows(found, n, "track")]
    of_system = [name for name in names if _follows(found, name, "system")]
    # Where one system has several estimates of a track, what tells them apart makes systems of them: KO1/run2.
    places = {(one.values.get("system"), one.values["track"]) for one in found}
    added = [] if len(places) == len(found) else [n for n in names if n not in of_system and n not in of_track]
    of_system += added
    of_track += shared
    for one in found:
        system = "/".join([one.values.get("system", LONE_SYSTEM), *(one.values[name] for name in added)])
        track = one.values["track"]
        if (system, track) in discovery.estimates:
            both = f"{discovery.estimates[system, track].label} and {one.source.label}"
            troubles.append((("estimates", "path"), f"finds two estimates of {track!r} by {system!r}: {both}"))
            return
        discovery.estimates[system, track] = one.source
        if of_track:
            discovery.track_meta.setdefault(track, {}).update({name: one.values[name] for name in of_track})
        if of_system:
            discovery.system_meta.setdefault(system, {}).update({name: one.values[name] for name in of_system})


def _follows(found: Sequence[_Found], name: str, key: str) -> bool:
    """Whether a placeholder's value is always the same for the same track (or system)."""
    values: dict[str, set[str]] = defaultdict(set)
    for one in found:
        values[one.values.get(key, "")].add(one.values[name])
    return all(len(several) == 1 for several in values.values())


def _name_lone(evaluation: Evaluation, discovery: Discovery) -> list[str]:
    """The one system of a pattern without ``{system}`` under the name that the file gives it."""
    (name,) = evaluation.systems or {}
    discovery.estimates = {(name, track): source for (_, track), source in discovery.estimates.items()}
    discovery.system_meta = {name: discovery.system_meta.get(LONE_SYSTEM, {})}
    return [name]


def _chosen(evaluation: Evaluation, discovery: Discovery, entrants: Entrants, troubles: list[Trouble]) -> list[str]:
    """The systems to score: those that the file names, in its order, or all that were found.

    What was found of others is left out.
    """
    for caution in entrants.cautions():
        discovery.warn(evaluation.name, caution)
    found = sorted({system for system, _ in discovery.estimates})
    if evaluation.systems is None:
        if not found and entrants.reference_systems:
            troubles.append((("estimates", "path"), f"finds the reference only: {evaluation.estimates.path!r}"))
        empty = entrants.empty_folders(found) if found else []
        if empty:
            some = ", ".join(map(repr, empty[:_SHOWN])) + (", ..." if len(empty) > _SHOWN else "")
            message = f"left out, as nothing in their folders fits {evaluation.estimates.path!r}: {some}"
            discovery.warn(evaluation.name, Caution(f"{message}; under systems: they would count as missing"))
        return list(found)
    named = SYSTEM in Pattern(evaluation.estimates.path).names
    if found == [LONE_SYSTEM] and len(evaluation.systems) == 1 and not named:
        return _name_lone(evaluation, discovery)
    troubles += entrants.troubles(found)
    listed = evaluation.systems
    discovery.estimates = {key: source for key, source in discovery.estimates.items() if key[0] in listed}
    return list(listed)


def _meet_tracks(evaluation: Evaluation, discovery: Discovery, troubles: list[Trouble]) -> None:
    """Refuse an evaluation none of whose estimates has a reference; say which systems have none of these."""
    own: dict[str, list[str]] = {}
    for system, track in discovery.estimates:
        own.setdefault(system, []).append(track)
    apart = {name: tracks for name, tracks in own.items() if discovery.references.keys().isdisjoint(tracks)}
    if not discovery.references or not apart:
        return
    for system, tracks in apart.items():
        found = nearest_names(discovery.references, tracks)
        message = f"{found}; {_remedy(evaluation, found)}"
        if len(apart) == len(own):
            troubles.append((("estimates", "path"), message))
            return
        discovery.warn(evaluation.name, Caution(f"system {system!r} has {message}", system))


def _remedy(evaluation: Evaluation, apart: Apart) -> str:
    """What to write in the pipeline, so that names meet."""
    written = []
    for key, side, around in (
        ("reference", evaluation.reference, apart.around_reference),
        ("estimates", evaluation.estimates, apart.around_estimate),
    ):
        if around is None or "/" in "".join((*around, apart.reference)):
            return "call the files alike, or write what stands around the names into the pattern, as in {track}_x.lab"
        filled = side.path
        for place in ("{track}", "{track:path}"):
            filled = filled.replace(place, f"{around[0]}{place}{around[1]}")
        if any(around):
            if filled == side.path:
                return "call the tracks alike on both sides"
            written.append(f"{key}: {filled}")
    return f"write {' and '.join(written)}" if written else "call the tracks alike on both sides"


def _meet_names(evaluation: Evaluation, resolved: Resolved, discovery: Discovery) -> None:
    """Call the items of lists as the reference does where nothing would meet else; say which systems have none of it.

    Of declared classes those that are none are told one by one, and some that differ may still be worth something.
    """
    kind = resolved.reference.kind
    if kind not in NAMED or resolved.classes is not None:
        return
    truths = Truths(kind, {track: [one.source for one in found] for track, found in discovery.references.items()})
    own: dict[str, dict[str, Source]] = {}
    for (system, track), source in discovery.estimates.items():
        own.setdefault(system, {})[track] = source
    for system, estimates in own.items():
        met, warning = truths.meet(estimates, system)
        discovery.estimates.update({(system, track): source for track, source in met.items()})
        if warning:
            discovery.warn(evaluation.name, Caution(warning, system))


def absolute(folder: str) -> str:
    """A folder's absolute path, links left as they are, so that messages show the names that people know."""
    return os.path.abspath(os.path.expanduser(folder))  # noqa: PTH100, PTH111 - Path.resolve would follow links
