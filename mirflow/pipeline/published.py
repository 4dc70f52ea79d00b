"""From a mapping file and the tables that it names to scores over systems, tracks and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from ..errors import InvalidAnnotationError, MetricError, PipelineError, Problem, UnknownNameError
from ..metrics.base import Convention, Measure, Metric, describe, get_task, parse
from ..plan import Entry
from ..ragged import Float
from ..readers.content import decode, digest_of, read_bytes
from ..readers.options import MAX_BYTES
from ..readers.patterns import Match, Pattern
from ..readers.scoretables import parse_table
from ..status import Status
from .discover import absolute
from .document import Document, Place, read_document
from .forms import form_problems
from .gathering import Gathered, gather
from .load import told_of
from .mapping import ScoreColumn, ScoreGroup, TableMapping, Wide
from .metadata import MetadataError

_OF_WHOLE_REFERENCES = ("wcsr_tn", "wcsr_total")
"""Aggregates over the seconds of whole references, which a table of scores does not hold."""
_KNOWN_ONLY = ("orientation", "title", "unit")


@dataclass(frozen=True)
class PublishedScores:
    """The scores of one group of a mapping.

    Parameters
    ----------
    name, task, convention : str
        The last two empty where the mapping names no task.
    systems, tracks, measures : tuple of str
    score, weight : float64 (systems, tracks, measures)
        A weight is 1 where the tables have none.
    status : int8 (systems, tracks)
    message : list of lists of str (systems, tracks)
        Why a cell has no score.
    digest : list of lists of str (systems, tracks)
        Fingerprints of the tables' bytes.
    metric_coords, track_coords : mapping of str to sequence
        As a store has them.
    parameters : mapping of str to mapping
        For each measure its parameters.
    printed_step : mapping of str to float
        For each measure the smallest difference that its printed digits show.
    """

    name: str
    task: str
    convention: str
    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    measures: tuple[str, ...]
    score: Float
    weight: Float
    status: npt.NDArray[np.int8]
    message: list[list[str]]
    digest: list[list[str]]
    metric_coords: Mapping[str, Sequence[Any]]
    track_coords: Mapping[str, Sequence[Entry]]
    parameters: Mapping[str, Mapping[str, Any]]
    printed_step: Mapping[str, float]


@dataclass(frozen=True)
class Published:
    """Everything that a mapping file names.

    Parameters
    ----------
    name : str
        As the mapping says.
    text : str
        The mapping file, for provenance.
    root : str
        Absolute.
    groups : tuple of PublishedScores
    """

    name: str
    text: str
    root: str
    groups: tuple[PublishedScores, ...]


def read_published(path: str | Path, *, root: str | Path | None = None, table: str | Path | None = None) -> Published:
    """The scores of the tables that a mapping file names.

    Parameters
    ----------
    path : path
        A mapping file.
    root : path or None
        Instead of the file's own ``root``; relative to the working directory.
    table : path or None
        A table instead of the one that the mapping names; only for mappings of one table.

    Raises
    ------
    PipelineError
        With all problems of the mapping: of form, names that are not known, patterns that match nothing.
    AnnotationError
        For the first thing in a table that is not as the mapping says, with file and line.
    """
    document = read_document(path)
    mapping, problems = _mapping(document)
    if mapping is None:
        raise PipelineError(problems, path)
    own = Path(absolute(str(path))).parent / mapping.root
    folder = absolute(str(own if root is None else root))
    if table is not None:
        mapping, folder = _with_table(mapping, table, path), str(Path(absolute(str(table))).parent)
    problems += _twice(document, mapping)
    resolved = [_measures(group, document, ("groups", place), problems) for place, group in enumerate(mapping.groups)]
    found = [_files(group, folder, document, ("groups", place), problems) for place, group in enumerate(mapping.groups)]
    if problems:
        raise PipelineError(problems, path)
    if table is not None:
        # Its neighbours may fit the pattern too.
        found = [[[match for match in files if match.path == absolute(str(table))] for files in one] for one in found]
    groups = tuple(_scores(*one, folder) for one in zip(mapping.groups, resolved, found, strict=True))
    return Published(mapping.name, document.text, folder, groups)


def mapping_schema() -> dict[str, Any]:
    """The JSON Schema of mapping files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **TableMapping.model_json_schema()}


def _mapping(document: Document) -> tuple[TableMapping | None, list[Problem]]:
    problems = list(document.problems)
    if not isinstance(document.data, Mapping):
        return None, problems or [Problem("", "is empty; it needs name and groups")]
    if "evaluations" in document.data:
        return None, [Problem("", "is a pipeline file; a mapping has groups and says what stands in published tables")]
    try:
        return TableMapping.model_validate(document.data), problems
    except ValidationError as error:
        return None, problems + form_problems(error, document, TableMapping)


def _with_table(mapping: TableMapping, table: str | Path, path: str | Path) -> TableMapping:
    """A mapping of one table with another file in its place."""
    files = [one for group in mapping.groups for one in group.tables]
    if len(files) != 1:
        why = f"names {len(files)} tables; a file can stand in for the only one, a folder for root"
        raise PipelineError([Problem("groups", why)], path)
    name = Path(table).name
    known = Pattern(Path(files[0].path).name).match(name)
    lost = [key for key in Pattern(files[0].path).names if known is None or key not in known]
    if lost:
        why = f"{name!r} does not tell {', '.join(lost)}, which {files[0].path!r} takes from the file's name"
        raise PipelineError([Problem("groups[0].tables[0].path", why)], path)
    one = files[0].model_copy(update={"path": Path(files[0].path).name if known else name})
    return mapping.model_copy(update={"groups": [mapping.groups[0].model_copy(update={"tables": [one]})]})


def _twice(document: Document, mapping: TableMapping) -> list[Problem]:
    names = [group.name for group in mapping.groups]
    return [
        document.problem(("groups", place, "name"), f"another group has the name {name!r}; give this one its own")
        for place, name in enumerate(names)
        if name in names[:place]
    ]


def _measures(group: ScoreGroup, document: Document, place: Place, problems: list[Problem]) -> list[dict[str, Measure]]:
    """For each table of a group its metrics: as the mapping writes them, to what they mean."""
    convention: Convention | None = None
    try:
        convention = None if group.task is None else get_task(group.task).convention(group.convention)
    except UnknownNameError as error:
        key = "task" if error.what == "task" else "convention"
        problems.append(document.problem((*place, key), str(error)))
        return []
    if group.task is None and group.convention is not None:
        problems.append(document.problem((*place, "convention"), "is of no task; name the task too"))
    found: list[dict[str, Measure]] = []
    for number, one in enumerate(group.tables):
        found.append({})
        for text, declared in one.declared():
            where: Place = (*place, "tables", number, *(("metrics", text) if one.metrics else ("wide", "metric")))
            try:
                found[-1][text] = _measure(text, declared, convention)
            except (UnknownNameError, MetricError) as error:
                problems.append(document.problem(where, str(error)))
    return found


def _measure(text: str, declared: ScoreColumn | Wide, convention: Convention | None) -> Measure:
    """A metric of the convention, or one that the mapping declares."""
    told = [name for name in _KNOWN_ONLY if getattr(declared, name) is not None]
    try:
        if convention is None:
            raise UnknownNameError("metric", text, ())
        measure = parse(text, convention.metrics)
    except (UnknownNameError, MetricError) as error:
        if declared.orientation is None:
            hint = "a metric that mirflow does not know declares its orientation: higher, lower or none"
            raise MetricError(f"{error}; {hint}") from None
        if not text.strip() or any(sign in text for sign in "@() \t"):
            raise MetricError(f"{text!r} cannot be the name of a metric; write it without blanks, @ and ()") from None
        weight = "as the table says"
        foreign = Metric(text, declared.title or text, "", weight, "", pooling="micro", perfect=None)
        return Measure(replace(foreign, orientation=declared.orientation, unit=declared.unit or ""))
    if told:
        raise MetricError(f"{text!r} is known to mirflow; leave out {', '.join(told)}")
    if measure.metric.dims:
        raise MetricError(f"{text!r} is not one number for each track")
    return measure


def _files(
    group: ScoreGroup, root: str, document: Document, place: Place, problems: list[Problem]
) -> list[list[Match]]:
    """For each table of a group the files that it names."""
    found = []
    for number, one in enumerate(group.tables):
        pattern = Pattern(one.path)
        found.append(pattern.find(root))
        if not found[-1]:
            message = f"no file {one.path!r}; {pattern.hint(root)}"
            problems.append(document.problem((*place, "tables", number, "path"), message))
    return found


def _scores(
    group: ScoreGroup, measures: Sequence[Mapping[str, Measure]], files: Sequence[Sequence[Match]], root: str
) -> PublishedScores:
    """The scores of a group's tables."""
    gathered = Gathered()
    for one, known, matches in zip(group.tables, measures, files, strict=True):
        for match in matches:
            data = read_bytes(match.path, MAX_BYTES, match.name)
            table = parse_table(decode(data, match.name, one.encoding), one.layout(), match.name)
            values = dict(zip(Pattern(one.path).names, match.values, strict=True))
            gather(one, known, table, values, gathered, digest_of(data))
    if not gathered.cells:
        names = ", ".join(match.name for matches in files for match in matches[:2])
        raise InvalidAnnotationError(f"no row of the tables is a score: {names}; look at where and leave_out")
    every = dict.fromkeys(measure for known in measures for measure in known.values())
    return _gridded(group, [_weighted(one, str(one) not in gathered.unweighted) for one in every], gathered, root)


def _weighted(measure: Measure, weighted: bool) -> Measure:
    """A measure with what can be done with its scores: nothing weighs them, or nobody knows the references' length."""
    metric = measure.metric
    if weighted:
        return measure
    plain = replace(metric, pooling="none", recall=False, standard_aggregate="mean", weight="", weight_unit="")
    return Measure(plain, measure.values)


def _gridded(group: ScoreGroup, measures: Sequence[Measure], gathered: Gathered, root: str) -> PublishedScores:
    """What was gathered as arrays."""
    cells = gathered.cells
    systems = tuple(sorted({system for system, _ in cells}))
    tracks = tuple(sorted({track for _, track in cells}))
    names = tuple(map(str, measures))
    shape = (len(systems), len(tracks), len(names))
    score, weight = np.full(shape, np.nan), np.ones(shape)
    for column, name in enumerate(names):
        weight[..., column] = 1.0 if name in gathered.unweighted else 0.0
    rows, columns, places = ({name: at for at, name in enumerate(one)} for one in (systems, tracks, names))
    digest = [["" for _ in tracks] for _ in systems]
    for (system, track), scores in cells.items():
        at = rows[system], columns[track]
        digest[at[0]][at[1]] = ":" + "+".join(gathered.digests[system, track])
        for name, (value, heavy, _) in scores.items():
            score[(*at, places[name])], weight[(*at, places[name])] = value, heavy
    empty = np.isnan(score).all(axis=2)
    status = np.where(empty, np.int8(Status.missing_estimate), np.int8(Status.ok))
    message = [["the table has no score" if one else "" for one in row] for row in empty.tolist()]
    described = {name: values.tolist() for name, values in describe(measures).items() if name != "metric"}
    # Over the seconds of whole references, which a table of scores does not hold.
    described["aggregates"] = [
        " ".join(one for one in text.split() if one not in ("wcsr_tn", "wcsr_total"))
        for text in described["aggregates"]
    ]
    try:
        told = {} if group.tracks is None else told_of(group.tracks, root, tracks)
    except MetadataError as error:
        raise InvalidAnnotationError(str(error)) from None
    convention = "" if group.task is None else get_task(group.task).convention(group.convention).name
    parameters = {str(measure): measure.parameters for measure in measures}
    about = (group.name, group.task or "", convention, systems, tracks, names)
    return PublishedScores(*about, score, weight, status, message, digest, described, told, parameters, gathered.steps)
