"""Discovery of the files of an evaluation: its tracks, systems and annotators."""

from __future__ import annotations

import difflib
import glob
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ..errors import AnnotationError, MirflowError, MirflowWarning, suggest
from ..readers.audio_files import gather_stems
from ..readers.hierarchies import gather_levels, has_levels
from ..readers.jams import annotators_of
from ..readers.names import NAMED, Apart, ReferenceNames, call_alike, call_tracks, nearest_names
from ..readers.options import Reading
from ..readers.patterns import Match, Pattern, fill
from ..readers.sources import FileSource, Source, as_asked
from ..readers.tables.table import WHOLE, RowKey, TableSource, format_of, holds_tracks, open_table, spread_table
from .model import Estimates, Evaluation, Resolved, Trouble
from .plan import Caution, Reference

_MEANT = MappingProxyType({"reference": ("track", "annotator"), "estimates": ("track", "system", "annotator")})
"""What placeholders of each side stand for, whatever the kind of annotation."""
_OF_KIND: Mapping[str, Collection[str]] = MappingProxyType({"hierarchy": ("level",), "audio": ("source",)})
_ALIKE = 0.86
"""How alike a slip is: `sytem`, `systems` and `trak` are, `system_run` and `subsystem` are names of their own."""


def find_slip(pattern: Pattern, side: str, kind: str) -> str:
    """What to say of a free placeholder that is nearly called like one that the pattern lacks; empty if there is none.

    Parameters
    ----------
    pattern : Pattern
    side : {"reference", "estimates"}
    kind : str
        Of the annotations.

    Examples
    --------
    >>> find_slip(Pattern("lists/{sytem}.txt"), "estimates", "ranking")
    "{sytem} has no meaning, but is nearly {system}: correct or rename it: 'lists/{sytem}.txt'"
    >>> find_slip(Pattern("fold{fold}/{track}.lab"), "reference", "labels")
    ''
    """
    meant = (*_MEANT[side], *_OF_KIND.get(kind, ()))
    lacking = [name for name in meant if name not in pattern.names]
    for name in pattern.names:
        near = difflib.get_close_matches(name.lower(), lacking, n=1, cutoff=_ALIKE) if name not in meant else []
        if near:
            return f"{{{name}}} has no meaning, but is nearly {{{near[0]}}}: correct or rename it: {pattern.text!r}"
    return ""


SYSTEM = "system"
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")


@dataclass
class Entrants:
    """What patterns find, and what of it takes part.

    Parameters
    ----------
    evaluation : Evaluation
    root : str
    references : dict of str to str
        Names of the reference's files, by path.
    known : set of str
        Systems that the pattern of the estimates finds files of.
    reference_systems : dict of str to str
        A file of the reference for each name that stood for a system in its path.
    """

    evaluation: Evaluation
    root: str
    references: dict[str, str] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    reference_systems: dict[str, str] = field(default_factory=dict)

    def choose(self, key: str, pattern: Pattern, matches: Sequence[Match]) -> Sequence[Match]:
        """The matches of one side that count: of the reference all, of the estimates those of systems that take part.

        What is a file of the reference is no estimate, unless the evaluation means the same files on both sides.
        """
        if key == "reference":
            self.references = {_plain(match.path): match.name for match in matches}
            return matches
        if SYSTEM not in pattern.names:
            return matches
        place = pattern.names.index(SYSTEM)
        own = matches if self._means_the_same(pattern) else self._without_references(matches, place)
        self.known = {match.values[place] for match in own}
        listed = self.evaluation.systems
        # A listed name with a slash has values of other placeholders in it, which are told where systems are named.
        if listed is None or any("/" in name for name in listed):
            return own
        return [match for match in own if match.values[place] in listed]

    def _means_the_same(self, pattern: Pattern) -> bool:
        """Whether both sides find the same files on purpose: annotators are told apart, in the path or in the file."""
        reference = self.evaluation.reference.path.replace("{annotator", f"{{{SYSTEM}")
        return self.evaluation.estimates.annotator is not None or _plain(reference) == _plain(pattern.text)

    def _without_references(self, matches: Sequence[Match], place: int) -> list[Match]:
        own = []
        for match in matches:
            if _plain(match.path) in self.references:
                self.reference_systems.setdefault(match.values[place], match.name)
            else:
                own.append(match)
        return own

    def cautions(self) -> Iterable[Caution]:
        """Which systems are left out because they are the reference; who lists the systems knows."""
        if self.evaluation.systems is not None:
            return
        for system, name in self.reference_systems.items():
            message = (
                f"{system!r} is not scored as a system: {name!r} is the reference; "
                "list the systems that take part to say so"
            )
            yield Caution(message, system)

    def troubles(self, found: Sequence[str]) -> Iterable[Trouble]:
        """What is wrong with the listed systems, where there are estimates of those that were `found`.

        One without files counts as missing if its place is there, an empty folder; else its name is taken for a slip.
        """
        known = {*found, *self.known}
        for name in self.evaluation.systems or ():
            if name in self.reference_systems and name not in known:
                where = self.reference_systems[name]
                yield ("systems", name), f"is the reference of the evaluation, not a system: {where!r}; leave it out"
                continue
            several = name in self.known and any(one.startswith(f"{name}/") for one in found)
            if several or (known and name not in known and not self._stands(name)):
                yield ("systems", name), f"no estimates of this system; {suggest(name, known - {name})}"

    def _stands(self, system: str) -> bool:
        """Whether the folder or file is there that has the system's name in the pattern of the estimates."""
        return next(self._places(system), None) is not None

    def empty_folders(self, found: Sequence[str]) -> list[str]:
        """Names in the place of a system of which nothing was `found`: the folders are empty, or hold other files.

        Where that place is the root itself, anything may be beside the systems: there only what is empty is meant.
        """
        steps = self.evaluation.estimates.path.split("/")
        last = _place_of_system(steps)
        if last is None or last == len(steps) - 1 or ":path}" in "/".join(steps[: last + 1]):
            return []
        pattern = Pattern("/".join(steps[: last + 1]))
        taken = {*found, *(name.partition("/")[0] for name in found), *self.known, *self.reference_systems}
        references = {parent for path in self.references for parent in Path(path).parents}
        names: dict[str, None] = {}
        for path in sorted(self._places("*")):
            hidden = path.name.startswith(".") and not steps[last].startswith(".")
            if hidden or not path.is_dir() or path in references or (last == 0 and any(path.iterdir())):
                continue
            base = Path("/") if pattern.text.startswith("/") else Path(self.root)
            values = pattern.match(path.relative_to(base).as_posix())
            if values is not None and values[SYSTEM] not in taken:
                names[values[SYSTEM]] = None
        return list(names)

    def _places(self, system: str) -> Iterator[Path]:
        """What stands in the place of a system in the pattern of the estimates; ``*``: of any."""
        steps = self.evaluation.estimates.path.split("/")
        last = _place_of_system(steps)
        if last is None:
            return iter(())
        parts = _PLACEHOLDER.split("/".join(steps[: last + 1]))
        text = "".join(_wild(part, system) for part in parts)
        # A path under the root, or an absolute one.
        base = Path("/") if text.startswith("/") else Path(self.root)
        return base.glob(text.lstrip("/"))


def _place_of_system(steps: Sequence[str]) -> int | None:
    """The first step of a path with the placeholder of the system."""
    return next((place for place, step in enumerate(steps) if f"{{{SYSTEM}" in step), None)


def _wild(part: str, system: str) -> str:
    """A piece of a pattern for globbing: the system's name, anything for another placeholder, or the text itself."""
    if not part.startswith("{"):
        return glob.escape(part)
    filled = fill(part, {SYSTEM: system})
    return "*" if filled == part or system == "*" else glob.escape(filled)


def _plain(path: str) -> str:
    """A path without detours, so that two ways to one file compare equal."""
    return os.path.normpath(path) if "/." in path or "//" in path else path


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


def _called(sources: Sequence[TableSource], tracks: Sequence[str], name: str) -> dict[RowKey, str]:
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
        yield TableSource(match.path, RowKey(track), reading, match.name, (match.size, match.modified))


def _wanted(source: TableSource, annotator: str | int | None) -> bool:
    return annotator in (None, "all", "{annotator}", "{system}", source.key.annotator)


def _told(key: RowKey) -> dict[str, str]:
    """What a key says, without the names that the table has no column for."""
    return {name: value for name, value in key._asdict().items() if value}


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
            return "call the files alike, or write what surrounds the names into the pattern, as in {track}_x.lab"
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
    truths = ReferenceNames(
        kind, {track: [one.source for one in found] for track, found in discovery.references.items()}
    )
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
