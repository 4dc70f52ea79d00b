"""Find the files of an evaluation: its tracks, systems, annotators and estimates, and their problems.

The files of a side hold one track each, or many: tables, packs, stored readings, and data sets of mirdata. Campaigns
and benchmarks find the references or the estimates alone, without URLs.
"""

from __future__ import annotations

import glob
import os
import re
import warnings
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError, MirflowError, MirflowWarning, UnknownNameError, suggest
from ..readers.content import is_hidden
from ..readers.downloads import download, parse_url
from ..readers.formats import WHOLE, is_read
from ..readers.jams import annotators_of
from ..readers.names import (
    NAMED,
    ReferenceNames,
    call_alike,
    call_tracks,
    describe_clash,
    describe_unpaired,
    nearest_names,
)
from ..readers.options import Reading
from ..readers.patterns import Candidates, Match, MatchedFiles, Pattern, describe_otherwise
from ..readers.readings import open_readings
from ..readers.sources import FileSource, FoundFiles, gather, has_parts, select_from
from ..readers.tables.table import SHARD, RowKey, TableSource, holds_tracks, join_shards, open_table, spread_table
from ..store.cells import Caution, Entry
from ..theory.text_form import are_normal, normal_form
from .model import Estimates, Evaluation, Resolved, Trouble
from .plan import Reference
from .side_files import EstimateTable, find_matches, find_slip

SYSTEM = "system"
FORMAT = "format"  # the placeholder of the suffix
RUN, MODEL = "run", "model"
"""The placeholder of several runs of a system (seeds), and the coordinate with the system's name without its run."""
LONE_SYSTEM, LONE_TRACK = "estimate", "track"
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")
_SHOWN = 8

OpenPack = Callable[[str, str], Mapping[str, Source]]
"""Path and name for messages of a pack -> its sources by track."""

Found = tuple[Source, Mapping[str, str]]
"""A source, and the values of placeholders and columns that led to it."""


def is_table(side: Estimates, task: str) -> bool:
    """True if the files of one side hold many tracks each."""
    try:
        return holds_tracks(side.path, side.reading(task))
    except MirflowError:  # reported where names are resolved
        return "track" in side.columns


def is_lone(evaluation: Evaluation, tabular: Iterable[bool]) -> bool:
    """True if an evaluation has a single track: neither side has a placeholder for it or a file of many tracks."""
    if evaluation.reference.mirdata is not None or any(tabular):
        return False
    patterns = Pattern(evaluation.reference.path), Pattern(evaluation.estimates.path)
    return not any(pattern.is_pack or "track" in pattern.names for pattern in patterns)


@dataclass
class Search:
    """The search for the files of an evaluation, and what it has found."""

    evaluation: Evaluation
    resolved: Resolved
    root: str
    open_pack: OpenPack | None
    troubles: list[Trouble]  # problems, which are added
    confined: bool = False  # whether files outside of the root are refused
    scored: bool = False
    """Whether the files were scored before, so that what a plan checks and warns of is known."""
    listed: Sequence[str] = ()  # tracks in the table of the evaluation, for files on servers
    systems: list[str] = field(default_factory=list)
    tracks: list[str] = field(default_factory=list)
    references: dict[str, list[Reference]] = field(default_factory=dict)
    estimates: EstimateTable = field(default_factory=EstimateTable)
    track_meta: dict[str, dict[str, Entry]] = field(default_factory=dict)
    system_meta: dict[str, dict[str, str]] = field(default_factory=dict)
    """Values of other placeholders, by track or system; and metadata of data sets of mirdata."""
    cautions: list[Caution] = field(default_factory=list)  # warnings so far
    patches: list[Mapping[str, Any]] = field(default_factory=list)  # what patches have corrected so far
    # How files are read that depends on others: languages of lyrics from metadata, beats where others have positions.
    read_as: list[str] = field(default_factory=list)
    # Names of the reference's files, by path; and one of them for each system whose files they seem to be.
    reference_files: dict[str, str] = field(default_factory=dict)
    reference_systems: dict[str, str] = field(default_factory=dict)
    # Systems with files that match the pattern of the estimates, including those not listed.
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        sides = (
            (self.evaluation.reference, self.resolved.reference),
            (self.evaluation.estimates, self.resolved.estimates),
        )
        both = [holds_tracks(side.path, reading) for side, reading in sides]
        self.tabular = dict(zip(("reference", "estimates"), both, strict=True))
        """Whether the files of a side hold many tracks each."""
        self.lone = is_lone(self.evaluation, both)  # whether there is one track only

    def warn(self, text: str, system: str = "") -> None:
        """Warn about the scores of an evaluation, and keep the warning."""
        self.cautions.append(Caution(text, system))
        if not self.scored:
            warnings.warn(f"{self.evaluation.name}: {text}", MirflowWarning, stacklevel=3)

    def trouble(self, place: Sequence[str], message: str) -> None:
        """Add a problem at a place within the evaluation."""
        self.troubles.append((tuple(place), message))


def discover(search: Search) -> None:
    """Find the tracks, systems, references and estimates of an evaluation; problems are added to its troubles."""
    evaluation, troubles = search.evaluation, search.troubles
    by_system = evaluation.estimates.annotator == "{system}"
    # Sides of which the path, or a column of the files, says which system an annotation is of.
    named = [
        key
        for key in ("reference", "estimates")
        if SYSTEM in (*Pattern(getattr(evaluation, key).path).names, *getattr(search.resolved, key).delimited.keys)
    ]
    if named == ["reference"] and not by_system:
        message = f"names systems, and the estimates do not: {evaluation.estimates.path!r}; are both sides swapped?"
        search.trouble(("reference", "path"), message)
        return
    each, left_out = evaluation.reference.annotator in ("all", "{annotator}"), frozenset[str]()
    if evaluation.reference.mirdata is None:
        references = _find_side(search, "reference", each)
    else:
        references, left_out = _tracks_of_mirdata(search, each)
    known = list(dict.fromkeys(values["track"] for values in values_of(references) if "track" in values))
    estimates = _find_side(search, "estimates", by_system, known)
    references, estimates = _without_format(references), _without_format(estimates)
    if left_out:
        estimates = [estimate for estimate in estimates if estimate[1].get("track") not in left_out]
    if evaluation.reference.tracks is not None:
        chosen = dict.fromkeys(evaluation.reference.tracks)
        references = _chosen_references(search, references, chosen)
        estimates = [estimate for estimate in estimates if estimate[1].get("track") in chosen]
    if by_system:
        estimates = [
            (source, {"system" if name == "annotator" else name: value for name, value in values.items()})
            for source, values in estimates
        ]
    first, other = (side[0][1] if side else {} for side in (references, estimates))
    shared = [name for name in first if name in other and name not in ("track", "system", "annotator")]
    if not all(_follows(side, name, "track") for name in shared for side in (references, estimates)):
        # Several tracks have the same name; they are then named by the placeholders that both sides have.
        references, estimates = _qualified(references, shared), _qualified(estimates, shared)
    labels: dict[tuple[str, str], str] = {}
    for source, values in references:
        track, annotator = values["track"], values.get("annotator", "")
        if (track, annotator) in labels:
            both = describe_clash(labels[track, annotator], source.label, "use {annotator}")
            search.trouble(("reference", "path"), f"finds two references for track {track!r}: {both}")
            break
        labels[track, annotator] = source.label
        search.references.setdefault(track, []).append(Reference(source, annotator))
        others = {name: value for name, value in values.items() if name not in ("track", "annotator", "system")}
        if others:
            search.track_meta.setdefault(track, {}).update(others)
    _place_estimates(search, estimates, shared)
    search.systems = _choose_systems(search)
    if not (troubles or search.scored):
        _demand_common_tracks(search)
    kind = search.resolved.reference.kind
    # Undeclared classes are reported one by one, and some that differ may still earn credit.
    if not troubles and kind in NAMED and search.resolved.classes is None:
        names = ReferenceNames(kind, {track: [one.source for one in own] for track, own in search.references.items()})
        for system in search.estimates.rows:
            matched, warning = names.match(dict(search.estimates.of(system)), system)
            search.estimates.replace(system, matched)
            if warning:
                search.warn(warning, system)
    search.tracks = sorted({*search.references, *search.estimates.tracks})
    if evaluation.reference.combine is None and any(len(reference) > 1 for reference in search.references.values()):
        search.trouble(("reference", "combine"), "tracks have several references: choose from mean, max, each")


def _chosen_references(search: Search, references: Sequence[Found], tracks: Collection[str]) -> list[Found]:
    """The references of the tracks that an evaluation names; one without a reference is a problem."""
    known = {values.get("track", "") for values in values_of(references)}
    for position, track in enumerate(tracks if references else ()):
        if track not in known:
            message = f"no reference of track {track!r}; {suggest(track, known)}"
            search.troubles.append((("reference", "tracks", position), message))
    return [reference for reference in references if reference[1].get("track") in tracks]


def find_references(
    evaluation: Evaluation,
    resolved: Resolved,
    root: str,
    open_pack: OpenPack | None,
    troubles: list[Trouble],
    folders: set[str] | None = None,
    files: set[str] | None = None,
) -> list[dict[str, str]]:
    """Return the values of the placeholders of every reference of an evaluation, without looking for estimates. Add
    problems to `troubles`, the folders of the references, with links followed, to `folders`, and their paths to
    `files`."""
    search = Search(evaluation, resolved, root, open_pack, troubles)
    if _demand_folders(search):
        return []
    if evaluation.reference.mirdata is None:
        references = _find_side(search, "reference", False)
    else:
        references, _ = _tracks_of_mirdata(search, False)
    if search.evaluation.reference.tracks is not None:
        references = _chosen_references(search, references, dict.fromkeys(search.evaluation.reference.tracks))
    paths = {path for source, _ in references for path in source.paths}
    if files is not None:
        files |= paths
    if folders is not None:
        folders |= {os.path.dirname(os.path.realpath(path)) for path in paths}  # noqa: PTH120
    places = ({name: value for name, value in values.items() if name != "annotator"} for _, values in references)
    distinct = [dict(pairs) for pairs in dict.fromkeys(tuple(place.items()) for place in places)]
    column = language_column(resolved.estimates)
    for place in distinct if column else ():
        spoken = place.get(column) or search.track_meta.get(place["track"], {}).get(column)
        place |= {f"{{{column}}}": str(spoken)} if spoken else {}
    return distinct


def find_estimates(
    evaluation: Evaluation, resolved: Resolved, root: str, places: Sequence[Mapping[str, str]], troubles: list[Trouble]
) -> Sequence[Found]:
    """Find the estimates of an evaluation without its references, of which the `places` are known. Add problems to
    `troubles`. If a column of the tracks' metadata has the language, a place has its value under the name of the column
    in braces."""
    search = Search(evaluation, resolved, root, None, troubles)
    if _demand_folders(search):
        return []
    tracks = list(dict.fromkeys(place["track"] for place in places if "track" in place))
    estimates = _find_side(search, "estimates", evaluation.estimates.annotator == "{system}", tracks)
    column = language_column(resolved.estimates)
    if not column:
        return estimates
    shared = {name for name in (estimates[0][1] if estimates else ()) if places and name in places[0]}
    spoken = {tuple(place.get(name) for name in sorted(shared)): place.get(f"{{{column}}}") for place in places}
    return [
        (in_language(source, values.get(column) or spoken.get(tuple(values[name] for name in sorted(shared)))), values)
        for source, values in estimates
    ]


def _demand_folders(search: Search) -> bool:
    """Refuse URLs where campaigns look for files: what they read is confined to a machine without a network."""
    before = len(search.troubles)
    for key in ("reference", "estimates"):
        if parse_url(getattr(search.evaluation, key).path) is not None:
            search.trouble((key, "path"), "is a URL, and campaigns read files from disk; download them")
    return len(search.troubles) > before


def language_column(reading: Reading) -> str:
    """Return the column of the tracks' metadata that has the language of their lyrics; empty if none has."""
    text = (reading.language or "").strip()
    return text[1:-1] if text.startswith("{") and text.endswith("}") else ""


def in_language(source: Source, language: str | None) -> Source:
    """Give a file of lyrics its language."""
    if not isinstance(source, FileSource):
        return source
    return replace(source, reading=replace(source.reading, language=language))


def values_of(sources: Sequence[Found]) -> Iterable[Mapping[str, str]]:
    """The values that led to each source."""
    if not isinstance(sources, FoundFiles):
        return (values for _, values in sources)
    rows = zip(*sources.columns.values(), strict=True) if sources.columns else repeat((), len(sources))
    return (dict(zip(sources.columns, row, strict=True)) for row in rows)


def _qualified(sources: Sequence[Found], shared: Sequence[str]) -> list[Found]:
    return [
        (source, {**values, "track": "/".join(values[name] for name in (*shared, "track"))})
        for source, values in sources
    ]


def _without_format(sources: Sequence[Found]) -> Sequence[Found]:
    """What was found without the suffixes of files, which tell neither tracks nor systems apart."""
    if isinstance(sources, FoundFiles):
        return replace(sources, columns={name: held for name, held in sources.columns.items() if name != FORMAT})
    if all(FORMAT not in values for _, values in sources):
        return sources
    return [(source, {name: text for name, text in values.items() if name != FORMAT}) for source, values in sources]


def _follows(sources: Sequence[Found], name: str, key: str) -> bool:
    """True if a placeholder's value is always the same for the same track (or system)."""
    seen: dict[str, str] = {}
    return all(seen.setdefault(values.get(key, ""), values[name]) == values[name] for values in values_of(sources))


def _find_side(search: Search, key: str, each_annotator: bool, tracks: Sequence[str] | None = None) -> Sequence[Found]:
    """Find everything that matches one side's pattern; `tracks` are those of the other side."""
    side: Estimates = getattr(search.evaluation, key)
    reading: Reading = getattr(search.resolved, key)
    pattern = Pattern(side.path)
    slip = "" if search.scored else find_slip(pattern, key, reading.kind)
    if slip:
        search.trouble((key, "path"), slip)
        return []
    lone, tabular = search.lone, search.tabular[key]
    candidates: Candidates | None = None
    if parse_url(side.path) is not None:  # the names by which files are looked for on a server
        named, other = search.listed or tracks or (), Pattern(search.evaluation.estimates.path)
        on_disk = parse_url(other.text) is None and not search.tabular["estimates"] and not other.is_pack
        if not named and key == "reference" and on_disk and "track" in other.names:
            place = other.names.index("track")
            with suppress(AnnotationError):  # reported where the other side is looked for
                named = [match.values[place] for match in other.find(search.root)]
        part = KINDS[reading.kind].part
        values = {"track": named, SYSTEM: [*(search.evaluation.systems or ())], part: reading.levels or reading.sources}
        remedies = {
            "track": "list them in a csv file with a column track, under tracks",
            SYSTEM: "list them under systems",
            part: f"list them under {part}s of the side",
        }
        candidates = Candidates(values, remedies)
    everything = find_matches(side, key, search.root, lone or tabular, search.troubles, search.confined, candidates)
    if everything and (otherwise := describe_otherwise(everything, pattern.text)):
        search.warn(otherwise)
    matches = _choose_files(search, key, pattern, everything)
    sources: Sequence[Found] = []
    collected = pattern.is_readings or pattern.is_pack
    if collected:
        sources = _collected(search, pattern, matches, key, reading)
    elif tabular:
        sources = _rows_of_tables(search, matches, key, reading, tracks)
    elif each_annotator and reading.kind != "audio" and not has_parts(side.path, reading):
        sources = _annotated(matches, pattern.names, reading)
    elif matches:
        try:
            sources = gather(matches, pattern.text, pattern.names, reading, side.annotator)
        except AnnotationError as error:
            search.trouble((key, f"{KINDS[reading.kind].part}s"), str(error))
    if lone and not (collected or tabular):
        sources = [(source, {**values, "track": LONE_TRACK}) for source, values in sources]
    # Names are compared in one form of Unicode.
    if isinstance(sources, FoundFiles) or are_normal([*{text for _, values in sources for text in values.values()}]):
        return sources
    return [(source, {name: normal_form(text) for name, text in values.items()}) for source, values in sources]


def _tracks_of_mirdata(search: Search, each_annotator: bool) -> tuple[list[Found], frozenset[str]]:
    """Find the references in a data set of mirdata, and the tracks that are left out; keep the metadata."""
    from ..readers.mirdata import MirdataDataset

    side = search.evaluation.reference
    assert side.mirdata is not None
    assert side.annotation is not None
    home, index = (
        None if path is None else str(Path(search.root, Path(path).expanduser()))
        for path in (side.data_home, side.index)
    )
    try:
        dataset = MirdataDataset.of(side.mirdata, home, side.version, index)
        chosen = dataset.tracks(side.tracks, side.split)
        annotator = None if each_annotator else side.annotator
        sources = dataset.sources(chosen, side.annotation, search.resolved.reference, annotator)
        values, problem = dataset.metadata(tuple(sources))
        references: list[Found] = []
        for track, source in sources.items():
            names = source.annotators() if each_annotator else ()
            references += [(replace(source, annotator=name), {"track": track, "annotator": name}) for name in names]
            references += [] if names else [(source, {"track": track})]
    except (AnnotationError, UnknownNameError) as error:
        search.trouble(("reference", "mirdata"), str(error))
        return [], frozenset()
    if problem:
        search.warn(problem)
    search.track_meta.update(values)
    return references, frozenset(dataset.tracks()) - set(chosen)


def _choose_files(search: Search, key: str, pattern: Pattern, matches: MatchedFiles) -> MatchedFiles:
    """Select the matches of one side: all of the reference, and those of the listed systems of the estimates. Files of
    the reference are not estimates, unless the evaluation names the same files on both sides and distinguishes
    annotators, in the path or in the file."""
    if FORMAT in pattern.names and getattr(search.resolved, key).format is None:
        suffixes = matches.columns[pattern.names.index(FORMAT)]
        unread = {suffix for suffix in {*suffixes} if not is_read(f"a.{suffix}")}
        if unread:
            matches = matches.take([number for number, suffix in enumerate(suffixes) if suffix not in unread])
    if key == "reference":  # paths are normalised, so that two ways to one file compare equal
        search.reference_files = {os.path.normpath(match.path): match.name for match in matches}
        return matches
    if SYSTEM not in pattern.names:
        return matches
    index = pattern.names.index(SYSTEM)
    reference = search.evaluation.reference.path.replace("{annotator", f"{{{SYSTEM}")
    left: Sequence[int] = range(len(matches))
    same_pattern = os.path.normpath(reference) == os.path.normpath(pattern.text)
    if search.evaluation.estimates.annotator is None and not same_pattern:
        taken: set[int] = set()
        for number, match in enumerate(matches):
            if os.path.normpath(match.path) in search.reference_files:
                search.reference_systems.setdefault(normal_form(match.values[index]), match.name)
                taken.add(number)
        left = [number for number in left if number not in taken] if taken else left
    systems = matches.columns[index]
    systems = systems if are_normal([*{*systems}]) else [*map(normal_form, systems)]
    search.known = {systems[number] for number in left} if len(left) < len(matches) else {*systems}
    listed = search.evaluation.systems
    # A listed name with a slash has values of other placeholders in it, which are named where systems are.
    if listed is not None and not any("/" in name for name in listed):
        left = [number for number in left if systems[number] in listed]
    return matches if len(left) == len(matches) else matches.take(left)


def _rows_of_tables(
    search: Search, matches: MatchedFiles, key: str, reading: Reading, tracks: Sequence[str] | None
) -> list[Found]:
    """Make a source for each annotation in files of many tracks. A file that cannot be opened is about `tracks`, and
    fails where it is scored. Without tracks it is a trouble, as it is where a column of the file says which system a
    row is of."""
    side: Estimates = getattr(search.evaluation, key)
    names = Pattern(side.path).names
    twice = next((name for name in reading.delimited.keys if name in names), None)
    if twice is not None:
        message = f"names the column of {twice!r}, and the path has {{{twice}}}: leave one out"
        search.trouble((key, "columns"), message)
        return []
    wanted = (None, "all", "{annotator}", "{system}")
    rows: list[tuple[TableSource, dict[str, str]]] = []
    for match in matches:
        try:
            if tracks is None or reading.format_of(match.path) not in WHOLE:
                sources = spread_table(match, reading)
            else:  # of a whole matrix, only for tracks of the other side
                keys, known = open_table(match.path, reading, match.name).of_key, set(tracks)
                alike = call_alike((key.track for key in keys), tracks)
                sources = spread_table(match, reading, [listed for listed, theirs in alike.items() if theirs in known])
            if side.annotator not in wanted:
                sources = [source for source in sources if source.key.annotator == side.annotator]
            if not sources and tracks and reading.format_of(match.path) in WHOLE:
                queries = ", ".join(map(repr, tracks[:3]))
                message = f"has no row of any query of the reference ({queries}, ...): {match.name!r}"
                search.trouble((key, "path"), message)
                continue
            if not sources:
                raise AnnotationError("has no rows with a track", path=match.name)
        except AnnotationError as error:
            # The systems in a file are unknown if it cannot be opened; a placeholder would replace them all.
            if tracks is None or "system" in reading.delimited.keys or side.annotator == "{system}":
                search.trouble((key, "path"), str(error))
                continue
            stat = match.size, match.version
            sources = [TableSource(match.path, RowKey(track), reading, match.name, stat) for track in tracks]
        try:
            # As the reference calls its tracks: systems in one file may name them differently.
            by_list: dict[tuple[str, str], list[str]] = defaultdict(list)
            for source in sources:
                by_list[source.key.system, source.key.annotator].append(source.key.track)
            renamed = {labels: call_tracks(listed, tracks or (), match.name) for labels, listed in by_list.items()}
            called = {
                source.key: renamed[source.key.system, source.key.annotator][source.key.track] for source in sources
            }
        except AnnotationError as error:
            search.trouble((key, "path"), str(error))
            called = {source.key: source.key.track for source in sources}  # so that nothing else seems to be wrong
        values = dict(zip(names, match.values, strict=True))
        for source in sources:
            keyed = {name: value for name, value in source.key._asdict().items() if value}
            rows.append((source, {**values, **keyed, "track": called[source.key]}))
    return [*join_shards(rows)] if SHARD in names else [*rows]


def _collected(search: Search, pattern: Pattern, matches: MatchedFiles, key: str, reading: Reading) -> list[Found]:
    """The annotations in packs, or in files of readings."""
    if pattern.is_pack and matches and search.open_pack is None:
        search.trouble((key, "path"), f"is a pack, and packs cannot be opened here: {pattern.text!r}")
        return []
    sources: list[Found] = []
    for match in matches:
        held: Sequence[tuple[Source, Mapping[str, str]]]
        problems: Sequence[tuple[Sequence[str], str]] = ()
        try:
            if pattern.is_pack:
                assert search.open_pack is not None
                pack = search.open_pack(match.path, match.name)
                kinds = {getattr(source, "kind", reading.kind) for source in pack.values()}
                what = "is a pack"
                held = [(select_from(source, reading), {"track": track}) for track, source in pack.items()]
            else:
                readings = open_readings(match.path)
                kinds, problems, what, held = {readings.kind}, readings.problems, "holds readings", readings.sources()
        except MirflowError as error:
            search.trouble((key, "path"), str(error))
            continue
        if kinds := kinds - {reading.kind}:
            text = f"{what} of {', '.join(sorted(kinds))}, not of {reading.kind}: {match.name!r}"
            search.trouble((key, "path"), text)
            continue
        for where, why in problems:
            search.trouble(where, why)
        values = dict(zip(pattern.names, match.values, strict=True))
        sources += [(source, {**values, **extra}) for source, extra in held]
    return sources


def _annotated(matches: MatchedFiles, names: Sequence[str], reading: Reading) -> list[Found]:
    """Make a source for each annotator of each file; an unreadable file remains one, and fails when it is scored."""
    download(match.path for match in matches)
    listed: dict[Match, Sequence[str]] = {}
    unread: list[Match] = []
    for match in matches:
        try:
            listed[match] = annotators_of(match.path, reading, match.name)
        except AnnotationError:
            unread.append(match)
    everyone = sorted({name for annotators in listed.values() for name in annotators}) or [""]
    sources: list[Found] = []
    for match, annotators in (*listed.items(), *((match, everyone) for match in unread)):
        values = dict(zip(names, match.values, strict=True))
        for name in annotators:
            annotator = name if match in listed else name or None
            file = FileSource(match.path, reading, annotator, match.name, (match.size, match.version))
            sources.append((file, {**values, "annotator": name}))
    return sources


def _place_estimates(search: Search, estimates: Sequence[Found], shared: Sequence[str]) -> None:
    names = [n for n in (estimates[0][1] if estimates else ()) if n not in ("track", "system", *shared)]
    of_track = [
        n for n in names if n != RUN and not _follows(estimates, n, "system") and _follows(estimates, n, "track")
    ]
    of_system = [name for name in names if name != RUN and _follows(estimates, name, "system")]
    # Runs are always part of the name, so that it stays when a second one is added.
    added = [name for name in names if name == RUN]
    table, several = _tabulate_estimates(estimates, added)
    others = [name for name in names if name != RUN and name not in of_system and name not in of_track]
    listed = search.evaluation.systems or ()
    often = all(2 * len(tracks) >= len(table.tracks_of(system)) for system, tracks in several.items())
    if several and others and (often or any("/" in name for name in listed)):
        # Where a system has several estimates of most tracks, what tells them apart makes systems of them: KO1/take2.
        added = [name for name in names if name == RUN or name in others]
        table, several = _tabulate_estimates(estimates, added)
        others = []
    for system, tracks in several.items():
        track, index = next(iter(tracks.items()))
        first = table.row(system, [track])[0]
        remedy = "write what tells them apart into the path"
        if others:
            name = "/".join([system, *(dict(estimates[index][1])[other] for other in others)])
            remedy = f"remove one, or, if they are of two systems, list all systems as {name!r}"
        both = describe_clash(first.label if first else "", estimates[index][0].label, remedy)
        search.trouble(("estimates", "path"), f"finds two estimates of {track!r} by {system!r}: {both}")
        break
    search.estimates = table
    of_system += added
    of_track += shared
    if not (of_track or of_system):
        return
    for values in values_of(estimates):
        system = "/".join([values.get("system", LONE_SYSTEM), *(values[name] for name in added)])
        if of_track:
            search.track_meta.setdefault(values["track"], {}).update({name: values[name] for name in of_track})
        if of_system:
            search.system_meta.setdefault(system, {}).update({name: values[name] for name in of_system})
        if RUN in added:
            search.system_meta[system][MODEL] = "/".join(
                [values.get("system", LONE_SYSTEM), *(values[name] for name in added if name != RUN)]
            )


def _tabulate_estimates(
    estimates: Sequence[Found], added: Sequence[str]
) -> tuple[EstimateTable, dict[str, dict[str, int]]]:
    """The estimates of systems whose names have the values of other placeholders added, and the places of those that
    are not the first of their system and track."""
    columns: dict[str, int] = {}
    rows: dict[str, array[int]] = {}
    several: dict[str, dict[str, int]] = {}
    for index, values in enumerate(values_of(estimates)):
        system, track = values.get("system", LONE_SYSTEM), values["track"]
        if added:
            system = "/".join([system, *(values[name] for name in added)])
        column, row = columns.setdefault(track, len(columns)), rows.get(system)
        if row is None:
            row = rows[system] = array("q")
        if column == len(row):  # as nearly always, since systems have the tracks in one order
            row.append(index)
            continue
        if column > len(row):
            row.extend([-1] * (len(columns) - len(row)))
        if row[column] < 0:
            row[column] = index
        else:
            several.setdefault(system, {}).setdefault(track, index)
    return EstimateTable(estimates, columns, rows), several


def _choose_systems(search: Search) -> list[str]:
    """Return the systems to score: those that the file lists, in its order, or all that were found. Remove the
    estimates of others."""
    evaluation, listed = search.evaluation, search.evaluation.systems
    present = sorted(search.estimates.rows)
    steps = evaluation.estimates.path.split("/")
    # The steps of the pattern down to the first with the placeholder of the system; none without it.
    upper = next((steps[: index + 1] for index, step in enumerate(steps) if f"{{{SYSTEM}" in step), [])
    if listed is None:
        for system, name in search.reference_systems.items():
            message = f"{system!r} is not scored as a system: {name!r} is the reference; "
            search.warn(f"{message}list the systems that take part to say so", system)
        if not present and search.reference_systems:
            search.trouble(("estimates", "path"), f"matches only the reference: {evaluation.estimates.path!r}")
        empty: dict[str, None] = {}  # names in the place of a system: empty folders, or folders of other files
        if present and not search.scored and 0 < len(upper) < len(steps) and ":path}" not in "/".join(upper):
            pattern = Pattern("/".join(upper))
            taken = {*present, *(name.partition("/")[0] for name in present), *search.known, *search.reference_systems}
            references = {parent for path in search.reference_files for parent in Path(path).parents}
            base = Path("/") if pattern.text.startswith("/") else Path(search.root)
            for path in sorted(_places(search, upper, "*")):
                hidden = is_hidden(path.name) and not upper[-1].startswith(".")
                # Beside systems in the root itself may be anything: there only what is empty is meant.
                if hidden or not path.is_dir() or path in references or (len(upper) == 1 and any(path.iterdir())):
                    continue
                values = pattern.match(path.relative_to(base).as_posix())
                if values is not None and normal_form(values[SYSTEM]) not in taken:
                    empty[values[SYSTEM]] = None
        if empty:
            some = ", ".join(map(repr, [*empty][:_SHOWN])) + (", ..." if len(empty) > _SHOWN else "")
            message = f"left out, as nothing in their folders fits {evaluation.estimates.path!r}: {some}"
            search.warn(f"{message}; under systems: they would count as missing")
        return present
    if present == [LONE_SYSTEM] and len(listed) == 1 and SYSTEM not in Pattern(evaluation.estimates.path).names:
        (name,) = listed
        search.estimates.rows = {name: search.estimates.rows[LONE_SYSTEM]}
        search.system_meta = {name: search.system_meta.get(LONE_SYSTEM, {})}
        return [name]
    runs: dict[str, list[str]] = defaultdict(list)
    for name in present:
        if RUN in search.system_meta.get(name, {}):
            runs[search.system_meta[name][MODEL]].append(name)
    chosen = list(dict.fromkeys(other for name in listed for other in runs.get(name, [name])))
    known = {*present, *search.known}
    for name in chosen:
        if name in search.reference_systems and name not in known:
            where = search.reference_systems[name]
            message = f"is the reference of the evaluation, not a system: {where!r}; leave it out"
            search.trouble(("systems", name), message)
            continue
        several = name in search.known and any(other.startswith(f"{name}/") for other in present)
        # One without files counts as missing if its place is there, an empty folder; else its name is taken for a slip.
        if several or (known and name not in known and next(_places(search, upper, name), None) is None):
            search.trouble(("systems", name), f"no estimates of this system; {suggest(name, known - {name})}")
    kept = {*chosen}
    search.estimates.rows = {name: row for name, row in search.estimates.rows.items() if name in kept}
    return chosen


def _places(search: Search, steps: Sequence[str], system: str) -> Iterator[Path]:
    """Yield the paths in the place of a system, to which some steps of the pattern lead; ``*``: of any system."""
    if not steps or parse_url(search.evaluation.estimates.path) is not None:
        return iter(())
    text = ""
    for part in _PLACEHOLDER.split("/".join(steps)):
        if part.startswith("{"):
            is_system = part.strip("{}").partition(":")[0] == SYSTEM and system != "*"
            text += glob.escape(system) if is_system else "*"
        else:
            text += glob.escape(part)
    # A path under the root, or an absolute one.
    base = Path("/") if text.startswith("/") else Path(search.root)
    return base.glob(text.lstrip("/"))


def _demand_common_tracks(search: Search) -> None:
    """Refuse an evaluation if no estimate has a reference; warn of systems without any."""
    reference, estimates = search.evaluation.reference, search.evaluation.estimates
    systems_found = search.estimates.rows
    apart = {
        name: tracks
        for name in systems_found
        if search.references.keys().isdisjoint(tracks := search.estimates.tracks_of(name))
    }
    if not search.references:
        return
    unpaired: dict[str, list[str]] = {}
    for system in systems_found if len(unpaired) < _SHOWN else ():
        if system not in apart:
            message = describe_unpaired(search.references, search.estimates.tracks_of(system))
            unpaired.setdefault(message, []).append(system)
    for message, systems in unpaired.items():
        if message:
            search.warn(f"{', '.join(map(repr, systems[:_SHOWN]))}: {message}", systems[0] if len(systems) == 1 else "")
    for system, tracks in apart.items():
        nearest = nearest_names(search.references, tracks)
        remedy, written = "call the tracks alike on both sides", list[str]()
        if reference.mirdata is not None:
            remedy = f"call the estimates by the ids of mirdata's tracks, as {nearest.reference!r}"
        sides = (
            ("reference", reference.path, nearest.around_reference),
            ("estimates", estimates.path, nearest.around_estimate),
        )
        for key, path, around in sides if reference.mirdata is None else ():
            if around is None or "/" in "".join((*around, nearest.reference)):
                remedy = "call the files alike, or write what surrounds the names into the pattern, as in {track}_x.lab"
                written = []
                break
            filled = path
            for placeholder in ("{track}", "{track:path}"):
                filled = filled.replace(placeholder, f"{around[0]}{placeholder}{around[1]}")
            if any(around) and filled == path:
                written = []
                break
            written += [f"{key}: {filled}"] if any(around) else []
        remedy = f"write {' and '.join(written)}" if written else remedy
        message = f"{nearest}; {remedy}"
        if len(apart) == len(systems_found):
            search.trouble(("estimates", "path"), message)
            return
        search.warn(f"system {system!r} has {message}", system)


def absolute(folder: str) -> str:
    """Return a folder's absolute path with unresolved links, so that messages show familiar names."""
    return os.path.abspath(os.path.expanduser(folder))  # noqa: PTH100, PTH111 - Path.resolve would follow links
