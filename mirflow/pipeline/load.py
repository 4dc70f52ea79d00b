"""Load pipeline files into plans, with the metadata of tracks and systems; one error lists all problems.

Metadata are read from tables and small files, plug-ins are imported, and patches and languages applied to what was
found. The signature of a metric changes with the settings that its scores depend on. The files that a stored pipeline
names can be found again without a plan; for a store from elsewhere, only those below the root.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError

from ..annotations.schema import kind_of
from ..errors import AnnotationError, PipelineError, PluginError, Problem, UnreadableError, suggest
from ..metrics.measures import describe
from ..plugins import READERS, TASKS, declared, digest_of, import_module
from ..readers.beat_collections import without_positions
from ..readers.content import decode, read_bytes, read_within
from ..readers.content import digest_of as digest_of_bytes
from ..readers.delimited import find_separator
from ..readers.downloads import parse_url
from ..readers.label_maps import SHIPPED_MAPS
from ..readers.options import MAX_BYTES, OPTIONS, DelimitedOptions
from ..readers.patches import MAX_PATCH, PatchedSource, PatchedTrack, parse_patch
from ..readers.patterns import Pattern
from ..remote import parse_address
from ..store.cells import CELL_ATTRS, DEVICES, MAX_NAME, Entry
from ..theory.text_form import normal_form
from .discovery import MODEL, OpenPack, Search, absolute, discover, in_language, is_lone, is_table, language_column
from .document import Document, Place, dump_document, form_problems, read_document, schema_of, validate
from .model import Evaluation, Execution, Pipeline, Resolved, Tracks, Trouble, resolve
from .plan import EvaluationFiles, EvaluationPlan, Metadata, cell_stamps, fingerprint
from .side_files import OUTSIDE, find_matches, leads_out

Made = TypeVar("Made")
MAX_VALUE = 4096  # bytes that the file of one value may have

# Names that a store gives to its own variables and dims, folded: on some file systems Title and title are one folder.
_TAKEN = frozenset(name.casefold() for name in ("track", "system", "metric", "annotator", *CELL_ATTRS, *describe([])))
_TAKEN |= DEVICES
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,15})")


class MetadataError(ValueError):
    """A table of metadata cannot be used; the message says why."""


def column_name(name: str) -> str:
    """Return a column's name in a store: letters, digits and underscores, distinct from the store's variables. Names
    that Windows reserves for devices get a prefix, too."""
    plain = re.sub(r"\W+", "_", name.strip()).strip("_") or "column"
    return f"meta_{plain}" if plain.casefold() in _TAKEN else plain


def typed(texts: Sequence[str]) -> tuple[Entry, ...]:
    """Convert a column of texts to whole numbers, numbers, or text; empty ones to None. Leading zeros mean text."""
    texts = [text.strip() for text in texts]
    filled = [text for text in texts if text]
    if filled and all(_WHOLE.fullmatch(text) for text in filled):
        return tuple(int(text) if text else None for text in texts)
    if filled and all(_NUMBER.fullmatch(text) for text in filled):
        return tuple(float(text) if text else None for text in texts)
    return tuple(text or None for text in texts)


def _read_table(path: str | Path, key: str) -> tuple[list[str], int, dict[str, list[str]], str]:
    """The header of a csv file, the place of the column `key`, the rows by their value of it, and the separator."""
    try:
        data, size = read_within(path, MAX_BYTES)
        text = data.decode("utf-8-sig")
    except (UnreadableError, UnicodeDecodeError) as error:
        reason = error.message.removeprefix("cannot be read: ") if isinstance(error, UnreadableError) else "not UTF-8"
        raise MetadataError(f"{str(path)!r} cannot be read: {reason}") from None
    if size > MAX_BYTES:
        raise MetadataError(f"{str(path)!r} is larger than {MAX_BYTES // 2**20} MB: not a table of tracks")
    try:
        # The reader splits lines itself: other separators, such as U+2028, are text, and so are line ends in quotes.
        separator = find_separator(text, "csv", DelimitedOptions(comment="")) or ","
        table_rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [row for row in table_rows if any(field.strip() for field in row)]
    except csv.Error as error:
        raise MetadataError(f"{str(path)!r} cannot be read: {error}") from None
    header = [field.strip() for field in rows[0]] if rows else []
    if key not in header:
        raise MetadataError(f"{str(path)!r} has no column {key!r}; {suggest(key, header)}")
    named = header.index(key)
    table: dict[str, list[str]] = {}
    for row in rows[1:]:
        name = normal_form(row[named]) if named < len(row) else ""
        if name in table:
            raise MetadataError(f"{str(path)!r} has the track {name!r} twice")
        table[name] = row
    return header, named, table, separator


def read_values(pattern: str, root: str | Path, tracks: Sequence[str]) -> tuple[Entry, ...]:
    """Read a column of values from one small text file for each track; None where a track has no file."""
    texts: dict[str, str] = {}
    try:
        for match in Pattern(pattern).find(root):
            data = read_bytes(match.path, MAX_VALUE, match.name)
            texts[normal_form(match.values[0])] = " ".join(decode(data, match.name).split())
    except AnnotationError as error:
        raise MetadataError(str(error)) from None
    tracks = [*map(normal_form, tracks)]
    if tracks and not any(track in texts for track in tracks):
        raise MetadataError(f"no track has a file {pattern!r}; {Pattern(pattern).hint(root)}")
    return typed([texts.get(track, "") for track in tracks])


def tabulate(names: Sequence[str], entries: Mapping[str, Mapping[str, Entry]]) -> Metadata:
    """Turn metadata by name into columns; a column of several types becomes text."""
    keys = dict.fromkeys(key for name in names for key in entries.get(name, {}))
    columns: dict[str, tuple[Entry, ...]] = {}
    for key in keys:
        values = [entries.get(name, {}).get(key) for name in names]
        types = {type(value) for value in values if value is not None}
        if types == {int, float}:
            values = [None if value is None else float(value) for value in values]
        elif len(types) > 1:
            values = [None if value is None else str(value) for value in values]
        columns[column_name(key)] = tuple(values)
    return columns


@dataclass(frozen=True)
class PlannedPipeline:
    """A pipeline file with its evaluations."""

    pipeline: Pipeline
    plans: tuple[EvaluationPlan, ...]  # in the file's order
    text: str  # of the file, for provenance; of a model, that of an equivalent file
    root: str  # absolute
    store: str  # as seen from the working directory


def load_pipeline(path: str | Path) -> Pipeline:
    """Read a pipeline file without looking for any file that it names; raises all problems of its form at once."""
    pipeline, problems = _check_form(read_document(path), path)
    if pipeline is None or problems:
        raise PipelineError(problems, path)
    return pipeline


def find_pipelines(folder: str | Path) -> list[Path]:
    """The pipeline files in a folder, sorted: those that have evaluations and are not of a campaign; perhaps flawed."""
    pipelines = []
    for path in sorted(file for ending in ("yaml", "yml") for file in Path(folder).glob(f"[!.]*.{ending}")):
        data = read_document(path).data
        if isinstance(data, Mapping) and "evaluations" in data and "campaign" not in data:
            pipelines.append(path)
    return pipelines


def plan_pipeline(
    pipeline: str | Path | Pipeline,
    *,
    root: str | Path | None = None,
    code: str | Path | None = None,
    open_pack: OpenPack | None = None,
) -> PlannedPipeline:
    """Plan the evaluations of a pipeline, with the files that its patterns find. `pipeline`: a file, or a model, whose
    paths are relative to the working directory. `root`: instead of the file's own ``root``; relative to the working
    directory. `code`: folder that paths of Python files are relative to, instead of the file's own. `open_pack`: path
    and name for messages of a pack -> its sources by track."""
    if isinstance(pipeline, Pipeline):
        folder, named = Path(), None
        document = Document(data=pipeline.model_dump(exclude_unset=True))
        model: Pipeline | None = pipeline
        problems = _check_form(document, model=pipeline)[1]
    else:
        folder, named = Path(absolute(str(pipeline))).parent, pipeline
        document = read_document(pipeline)
        model, problems = _check_form(document, pipeline)
    written = document.data.get("root") if isinstance(document.data, Mapping) else None
    rooted = root is not None
    if root is None:
        root = Path(folder, written) if isinstance(written, str) else folder
    base = absolute(str(root))
    plans: list[EvaluationPlan] = []
    block = (model.execution if model else Execution()).block
    # Without its root nothing would be found; that is one problem, not one for each pattern.
    if rooted or all(problem.where != "root" for problem in problems):
        folder = Path(absolute(str(folder if code is None else code)))
        plugins = import_plugins(document, folder, problems)
        how = str(folder), open_pack, block, plugins
        plans = _each(document, model, problems, lambda evaluation: _plan(evaluation, base, *how))
    if model is None or problems:
        raise PipelineError(problems, named)
    # As with the root, `..` is the parent in the path as written, even behind links.
    beside = Path() if named is None else Path(named).parent
    address = parse_address(model.store)
    if address is None:
        store = os.path.normpath(beside / Path(model.store).expanduser())
    elif address.kind == "icechunk":
        store = str(address._replace(prefix=os.path.normpath(beside / Path(address.prefix).expanduser())))
    else:
        store = str(address)
    return PlannedPipeline(model, tuple(plans), document.text or dump_document(document.data), base, store)


def import_plugins(document: Document, folder: Path, problems: list[Problem]) -> dict[str, str]:
    """Import the modules of a pipeline or campaign that declare tasks and readers; failures are added to `problems`.
    Paths of Python files are relative to `folder`. Returns absolute paths of files, or names of modules, with the
    digests of their sources."""
    listed = document.data.get("plugins") if isinstance(document.data, Mapping) else None
    digests: dict[str, str] = {}
    for position, module in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(module, str):
            address = plugin_address(module, folder)
            try:
                digests[address] = digest_of(import_module(address))
            except PluginError as error:
                problems.append(document.problem(("plugins", position), str(error)))
    return digests


def plugin_address(module: str, folder: Path) -> str:
    """The absolute path of a Python file below a folder; other modules have their names."""
    return absolute(str(Path(folder, module))) if module.endswith(".py") else module


def find_files(
    document: Document,
    root: str | Path,
    *,
    open_pack: OpenPack | None = None,
    confined: bool = False,
    scored: bool = False,
) -> tuple[EvaluationFiles, ...]:
    """Find the files that a pipeline file names, such as the one that a store keeps, below a given root. Metadata of
    tracks are not read, it is not looked whether files have changed, and no Python file is run. `confined`: whether the
    document is a stranger's, and names no file outside of the root. `scored`: whether the files were scored before;
    what a plan checks and warns of was then said by the run."""
    folder = absolute(str(root))
    pipeline, problems = _check_form(document)

    def files(evaluation: Evaluation) -> EvaluationFiles | list[Trouble]:
        outside: list[Trouble] = []
        if confined and evaluation.reference.mirdata is not None:
            outside = [(("reference", "mirdata"), "data sets of mirdata are not read for a store from elsewhere")]
        elif confined:  # beside the annotations that its patterns find
            classes, tracks = evaluation.classes, evaluation.tracks
            paths: dict[Place, str | None] = {
                ("classes", "path"): classes.path if classes else None,
                ("tracks", "path"): tracks.path if tracks else None,
                **{("tracks", "files", name): pattern for name, pattern in (tracks.files if tracks else {}).items()},
                **{("reference", "patch", index): path for index, path in enumerate(evaluation.reference.patch)},
            }
            for key in ("reference", "estimates"):
                labels: str | None = getattr(getattr(evaluation, key), "labels")  # noqa: B009 - a model of options
                paths[key, "labels"] = None if labels in SHIPPED_MAPS else labels
            outside = [
                (where, f"{OUTSIDE}: {path!r}") for where, path in paths.items() if path and leads_out(path, folder)
            ]
        outcome = outside or _discover(evaluation, folder, None, open_pack, confined, scored)
        return outcome if isinstance(outcome, list) else EvaluationFiles(**_files_of(outcome))

    outcome = _each(document, pipeline, problems, files)
    if problems:
        raise PipelineError(problems)
    return tuple(outcome)


def _each(
    document: Document,
    pipeline: Pipeline | None,
    problems: list[Problem],
    make: Callable[[Evaluation], Made | list[Trouble]],
) -> list[Made]:
    """Load each evaluation of a document that can be loaded; problems of the others are added to the document's."""
    made: list[Made] = []
    listed = document.data.get("evaluations") if isinstance(document.data, Mapping) else None
    for position, values in enumerate(listed if isinstance(listed, list) else ()):
        try:  # also those that have the right form where the rest of the file has not
            outcome = make(pipeline.evaluations[position] if pipeline else Evaluation.model_validate(values))
        except ValidationError:
            continue
        if not isinstance(outcome, list):
            made.append(outcome)
            continue
        for step, why in outcome:
            place = "evaluations", position, *step
            # As written in the file, where a side may be just its path.
            short = place[-1] == "path" and place not in document.lines
            problems.append(document.problem(place[:-1] if short else place, why))
    return made


def plan_evaluation(
    evaluation: Evaluation | Mapping[str, Any],
    root: str | Path = ".",
    *,
    open_pack: OpenPack | None = None,
    block: int = 64,
) -> EvaluationPlan:
    """Plan one evaluation, as under ``evaluations`` in a pipeline file; raises all problems at once."""
    if not isinstance(evaluation, Evaluation):
        try:
            evaluation = Evaluation.model_validate(evaluation)
        except ValidationError as error:
            raise PipelineError(form_problems(error, Document(data=evaluation), Evaluation)) from None
    folder = absolute(str(root))
    outcome = _plan(evaluation, folder, folder, open_pack, block)
    if isinstance(outcome, EvaluationPlan):
        return outcome
    raise PipelineError([Document().problem(place, why) for place, why in outcome])


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of pipeline files, for editors."""
    return schema_of(Pipeline)


def _check_form(
    document: Document, path: str | Path | None = None, model: Pipeline | None = None
) -> tuple[Pipeline | None, list[Problem]]:
    """Return the model of a document if its form is valid, or the one that it was made of, and all its problems. The
    default of its name is that of its file, if the path of that is given."""
    if path is not None and isinstance(document.data, Mapping) and "name" not in document.data:
        document.data = {"name": Path(path).stem, **document.data}
    problems: list[Problem] = []
    if model is None:
        model, problems = validate(document, Pipeline, "evaluations and store")
    listed = document.data.get("evaluations") if isinstance(document.data, Mapping) else None
    seen: dict[str, str] = {}
    twice = []
    for position, values in enumerate(listed if isinstance(listed, list) else ()):
        name = values.get("name", values.get("task")) if isinstance(values, Mapping) else None
        if isinstance(name, str) and name.casefold() in seen:
            other = seen[name.casefold()]
            same = "has the name" if other == name else f"has the name {other!r}, on some file systems the same as"
            message = f"another evaluation {same} {name!r}; give this one another name"
            twice.append(document.problem(("evaluations", position, "name"), message))
        elif isinstance(name, str):
            seen[name.casefold()] = name
    count = len(document.problems)
    return model, [*problems[:count], *twice, *problems[count:]]


def _discover(
    evaluation: Evaluation,
    root: str,
    folder: str | None,
    open_pack: OpenPack | None,
    confined: bool = False,
    scored: bool = False,
) -> Search | list[Trouble]:
    """The files of an evaluation, or all that is wrong with it; `folder` is that of Python files, see `resolve`."""
    resolved = resolve(evaluation, root, folder)
    troubles: list[Trouble] = []
    if isinstance(resolved, Resolved):
        try:
            # Files on servers, which cannot be listed, are looked for by the names in the table of the tracks.
            table = None if confined else evaluation.tracks
            urls = [parse_url(side.path) for side in (evaluation.reference, evaluation.estimates)]
            remote, listed = any(url and url.kind.startswith("http") for url in urls), list[str]()
            if remote and table is not None and table.path is not None:
                listed = [name for name in _read_table(Path(root, table.path), table.key)[2] if name]
        except MetadataError as error:
            return [(("tracks",), str(error))]
        search = Search(evaluation, resolved, root, open_pack, troubles, confined, scored, listed)
        discover(search)
        if not troubles and (resolved.reference.language or resolved.estimates.language):
            _set_languages(search, troubles)
        if not troubles and not confined and evaluation.task == "downbeat":
            # Files of beats without positions are refused where other references, or files of the system, have them.
            listed_by_track = [(track, search.references.get(track, [])) for track in search.tracks]
            keyed = {(track, index): item for track, items in listed_by_track for index, item in enumerate(items)}
            bare = without_positions((key, item.source) for key, item in keyed.items())
            for (track, index), source in bare.items():
                search.references[track][index] = replace(keyed[track, index], source=source)
            names = [*map(str, bare)]
            for system in search.estimates.rows:
                lacking = without_positions(search.estimates.of(system))
                search.estimates.replace(system, lacking)
                names += [f"{system}/{track}" for track in lacking]
            search.read_as += [f"without positions: {names}"] if names else []
        if not troubles and evaluation.reference.patch:
            _apply_patches(search)
        return troubles or search
    sides = {"reference": evaluation.reference, "estimates": evaluation.estimates}
    tabular = {key: is_table(side, evaluation.task) for key, side in sides.items()}
    lone = is_lone(evaluation, tabular.values())
    for key, side in sides.items():
        if side.path:
            find_matches(side, key, root, lone or tabular[key], troubles, confined)
    return [*resolved, *troubles]


def _set_languages(search: Search, troubles: list[Trouble]) -> None:
    sides = (("reference", search.resolved.reference), ("estimates", search.resolved.estimates))
    for key, reading in sides:
        column = language_column(reading)
        if not column:
            continue
        named = {track: values.get(column) for track, values in search.track_meta.items()}
        if not any(named.values()) and search.evaluation.tracks is not None:
            try:
                table = track_metadata(search.evaluation.tracks, search.root, search.tracks)
            except MetadataError as error:
                troubles.append((("tracks",), str(error)))
                return
            named = dict(zip(search.tracks, table.get(column, ()), strict=False))
        lacking = next((track for track in search.tracks if not named.get(track)), None)
        if lacking is not None:
            troubles.append(((key, "language"), f"track {lacking!r} has no {column!r} in its metadata"))
            return
        search.read_as.append(f"{key}: {named}")
        if key == "reference":
            for track, references in search.references.items():
                spoken = str(named[track])
                references[:] = [replace(item, source=in_language(item.source, spoken)) for item in references]
            continue
        for system in search.estimates.rows:
            sources = dict(search.estimates.of(system)).items()
            spoken_in = {track: in_language(source, str(named[track])) for track, source in sources}
            search.estimates.replace(system, spoken_in)


def add_languages(evaluation: Evaluation, resolved: Resolved, root: str, places: Sequence[dict[str, str]]) -> None:
    """Add the languages of the estimates to references that lack them, from the table of the tracks."""
    column = language_column(resolved.estimates)
    key = f"{{{column}}}"
    if not column or evaluation.tracks is None or any(key in place for place in places):
        return
    named = track_metadata(evaluation.tracks, root, [place["track"] for place in places]).get(column, ())
    for place, spoken in zip(places, named, strict=False):
        place |= {key: str(spoken)} if spoken else {}


def _apply_patches(search: Search) -> None:
    """Apply the patches of an evaluation to the references that were found; problems are added to its troubles.
    References with a patch are read once, unless they were scored before: their digests and rows must be those that the
    patch names."""
    edits: dict[tuple[str, int], list[tuple[str, PatchedTrack]]] = {}
    place = "reference", "patch"
    for path in search.evaluation.reference.patch:
        try:
            data = read_bytes(Path(search.root, path), MAX_PATCH, path)
            patch = parse_patch(data, path)
            if kind_of(patch.task).name != kind_of(search.evaluation.task).name:
                wrong = f"is for references of task {patch.task}, not {search.evaluation.task}"
                raise AnnotationError(wrong, path=path)
            for correction in patch.tracks:
                track, annotator = correction.track, correction.annotator
                if track not in search.references:
                    lacking = f"track {track!r}, which has no reference; {suggest(track, search.references)}"
                    raise AnnotationError(f"the patch is for {lacking}")
                annotators = [reference.annotator for reference in search.references[track]]
                indices = [index for index, name in enumerate(annotators) if annotator in ("", name)]
                if len(indices) != 1:
                    who = f"annotator {annotator!r}" if annotator else "no annotator"
                    names = ", ".join(map(repr, annotators))
                    raise AnnotationError(f"the patch of track {track!r} names {who}: choose from {names}")
                edits.setdefault((track, indices[0]), []).append((path, correction))
        except AnnotationError as error:
            search.trouble(place, str(error))
            continue
        keys = ("track", "annotator", "author", "reason", "date")
        changes = [{**{key: getattr(edit, key) for key in keys}, "edits": len(edit.rows)} for edit in patch.tracks]
        search.patches.append({"file": path, "digest": digest_of_bytes(data), "changes": changes})
    for (track, index), corrections in edits.items():
        references = search.references[track]
        source = PatchedSource(references[index].source, tuple(corrections))
        if not search.scored:
            try:
                source.read()
            except AnnotationError as error:
                search.trouble(place, str(error))
        references[index] = replace(references[index], source=source)


def _files_of(search: Search) -> dict[str, Any]:
    """The fields of `EvaluationFiles`."""
    evaluation = search.evaluation
    return {
        "name": evaluation.name,
        "task": evaluation.task,
        "convention": search.resolved.convention.name,
        "systems": tuple(search.systems),
        "tracks": tuple(search.tracks),
        "references": tuple(tuple(search.references.get(track, ())) for track in search.tracks),
        "estimates": tuple(search.estimates.row(name, search.tracks) for name in search.systems),
        "classes": search.resolved.classes,
        "patches": tuple(search.patches),
    }


def _plan(
    evaluation: Evaluation,
    root: str,
    folder: str,
    open_pack: OpenPack | None,
    block: int,
    plugins: Mapping[str, str] = MappingProxyType({}),
) -> EvaluationPlan | list[Trouble]:
    search = _discover(evaluation, root, folder, open_pack)
    if isinstance(search, list):
        return search
    resolved, files = search.resolved, _files_of(search)
    track_meta = dict(tabulate(search.tracks, search.track_meta))
    if evaluation.tracks is not None:
        try:
            track_meta |= track_metadata(evaluation.tracks, root, search.tracks)
        except MetadataError as error:
            return [(("tracks",), str(error))]
    listed, metadata = evaluation.systems or {}, {}
    for name in search.systems:  # of their files' places, of their models, and their own
        placed = search.system_meta.get(name, {})
        metadata[name] = {**placed, **listed.get(placed.get(MODEL, ""), {}), **listed.get(name, {})}
    system_meta = tabulate(search.systems, metadata)
    seen: dict[str, str] = {}
    for key, names in (("tracks", track_meta), ("systems", system_meta)):
        long = next((name for name in names if len(name.encode()) > MAX_NAME), None)
        if long is not None:
            return [((key,), f"the column {long[:40]!r}... has a name of more than {MAX_NAME} bytes; shorten it")]
        for name in names:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                return [
                    ((key,), f"the columns {other!r} and {name!r} have the same name on some file systems; rename one")
                ]
    reading: dict[str, dict[str, Any]] = {}
    for key in ("reference", "estimates"):
        # Options that the convention has a say in, and those that the pipeline sets.
        side, options = getattr(evaluation, key), getattr(resolved, key)
        effective = {name: getattr(options, name) for name in resolved.convention.reading}
        for name, option in OPTIONS.items():
            if name not in effective and name != "max_bytes" and getattr(side, name) not in ([], {}, option.default):
                effective[name] = getattr(side, name)
        if effective.get("labels", "") not in ("", *SHIPPED_MAPS):
            effective["labels"] = repr(options.labels)  # of a file, the digest of its content
        effective |= {} if side.annotator is None else {"annotator": side.annotator}
        reading |= {key: effective} if effective else {}
    return EvaluationPlan(
        **files,
        grid=resolved.grid,
        measures=resolved.measures,
        combine=evaluation.reference.combine or "",
        track_meta=track_meta,
        system_meta=system_meta,
        stamps=cell_stamps(files["references"], files["estimates"]),
        signatures=_signatures(evaluation, search, plugins),
        on_error=evaluation.on_error,
        max_block=block,
        cautions=tuple(search.cautions),
        reading=reading,
        plugins=tuple(plugins),
    )


def _signatures(evaluation: Evaluation, search: Search, plugins: Mapping[str, str]) -> dict[str, str]:
    resolved = search.resolved
    formats = {side.format for side in (resolved.reference, resolved.estimates)}
    needing = resolved.convention.task in declared(TASKS) or not formats.isdisjoint(declared(READERS))
    shared = (
        evaluation.task,
        resolved.convention.name,
        # With the times of frames: scores on frames that begin elsewhere are others.
        f"{resolved.grid} s from 0 s" if isinstance(resolved.grid, float) else str(resolved.grid),
        repr(resolved.reference),
        repr(resolved.estimates),
        str(evaluation.reference.annotator),
        str(evaluation.estimates.annotator),
        evaluation.reference.combine or "",
        *([] if resolved.classes is None else [resolved.classes.digest]),
        *search.read_as,
        *(plugins.values() if needing else ()),
    )
    signatures = {}
    for measure in resolved.measures:
        identity, metric = str(measure), measure.metric
        source = (metric.origin, metric.digest) if metric.origin else ()
        signatures[identity] = fingerprint(*shared, identity, str(metric.version), *source)
    return signatures


def track_metadata(tracks: Tracks, root: str, names: Sequence[str]) -> Metadata:
    """Read metadata of the tracks with the given names from the table and the files that a pipeline names."""
    columns: dict[str, tuple[Entry, ...]] = {}
    if tracks.path is not None:
        path, normal = Path(root, tracks.path), [*map(normal_form, names)]
        header, named, table, separator = _read_table(path, tracks.key)
        if normal and not any(name in table for name in normal):
            example = next(iter(table), "")
            raise MetadataError(f"{str(path)!r} has none of the tracks: it has {example!r}, the files {normal[0]!r}")
        for index, title in enumerate(header):
            if index == named or not title:
                continue
            texts = [table[name][index] if index < len(table.get(name, ())) else "" for name in normal]
            if separator == ";":  # beside which numbers may have decimal commas
                points = [text.replace(",", ".").strip() for text in texts]
                texts = points if all(not text or _NUMBER.fullmatch(text) for text in points) else texts
            columns[column_name(title)] = typed(texts)
    for name, pattern in tracks.files.items():
        columns[column_name(name)] = read_values(pattern, root, names)
    return columns
