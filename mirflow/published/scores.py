"""Tables of scores as others publish them, read by a mapping file: scores over systems, tracks and metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from ..cells import Entry, Status
from ..errors import InvalidAnnotationError, MetricError, PipelineError, Problem, UnknownNameError, place_of
from ..metrics.aggregates import AGGREGATES
from ..metrics.base import Convention, Measure, Metric, describe, get_task, parse
from ..pipeline.discovery import absolute
from ..pipeline.document import Document, Place, form_problems, read_document
from ..pipeline.load import MetadataError, track_metadata
from ..ragged import Float
from ..readers.content import decode, digest_of, read_bytes
from ..readers.options import MAX_BYTES
from ..readers.patterns import Match, Pattern
from ..store.format import IMPORTED, PRINTED_STEP
from .mapping import (
    Names,
    Row,
    ScoreColumn,
    ScoreFile,
    ScoreGroup,
    ScoreTable,
    TableMapping,
    Wide,
    parse_table,
    read_number,
)

_DECIMAL = re.compile(r"[+-]?\d+,\d+")

Find = Callable[[Row], str]
Column = tuple[str, str, int, float, int | None]
"""System (empty: the row's own), measure, column, scale, and the weight's column."""


@dataclass
class Gathered:
    """The scores of a group while its tables are read.

    Parameters
    ----------
    cells : dict
        (system, track) to, for each measure, the score, its weight, and where it stands.
    digests : dict
        (system, track) to the fingerprints of the tables.
    steps : dict
        For each measure the smallest difference that its printed digits show.
    unweighted : set of str
        Measures that some table has no weights of.
    """

    cells: dict[tuple[str, str], dict[str, tuple[float, float, str]]] = field(default_factory=dict)
    digests: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    unweighted: set[str] = field(default_factory=set)


def gather(
    asked: ScoreFile,
    measures: Mapping[str, Measure],
    table: ScoreTable,
    values: Mapping[str, str],
    gathered: Gathered,
    digest: str,
) -> None:
    """Add the scores of one table.

    Parameters
    ----------
    asked : ScoreFile
        What the mapping says of it.
    measures : mapping of str to Measure
        What its names of metrics mean.
    table : ScoreTable
    values : mapping of str to str
        Of the placeholders in its path.
    gathered : Gathered
    digest : str
        Fingerprint of its bytes.

    Raises
    ------
    InvalidAnnotationError
        For the first row that is not as the mapping says.
    """
    _RowReader(asked, measures, table, values, gathered).read(digest)


@dataclass(frozen=True)
class _RowReader:
    """One file's rows to scores."""

    asked: ScoreFile
    measures: Mapping[str, Measure]
    table: ScoreTable
    values: Mapping[str, str]
    gathered: Gathered

    def read(self, digest: str) -> None:
        """Gather the scores of all rows."""
        columns = list(self._columns())
        conditions = [(name, self._finder(name), text) for name, text in self.asked.where.items()]
        track, system = self._names("track", self.asked.track), self._names("system", self.asked.system)
        for row in self.table.rows:
            if any(find(row) != text for _, find, text in conditions):
                continue
            name = track(row)
            if name in self.asked.leave_out:
                continue
            name = self._renamed(name, "track", self.asked.track, row)
            for of, measure, column, scale, weight in columns:
                owner = of or self._renamed(system(row), "system", self.asked.system, row)
                self.gathered.digests.setdefault((owner, name), {})[digest] = None
                self._put(owner, name, measure, row, column, scale, weight)

    def _columns(self) -> Iterator[Column]:
        """Every score that stands in a row."""
        asked, place = self.asked, self.table.place
        shared = None if asked.weight is None else place(asked.weight)
        for text, one in asked.metrics.items():
            own = shared if one.weight is None else place(one.weight)
            scale = asked.scale if one.scale is None else one.scale
            yield "", str(self.measures[text]), place(one.column), scale, own
        if asked.wide is not None:
            taken = {asked.track.column, asked.weight}
            systems = asked.wide.systems or {name: name for name in self.table.columns if name and name not in taken}
            for system, column in systems.items():
                renamed = asked.system.rename.get(system, system)
                yield renamed, str(self.measures[asked.wide.metric]), place(column), asked.scale, shared

    def _finder(self, name: str) -> Find:
        """What stands in a row under a placeholder or column."""
        if name in self.asked.placeholders:
            return lambda row: {**self.values, **row.values}.get(name, "")
        place = self.table.place(name)
        return lambda row: self.table.text(row, place)

    def _names(self, key: str, side: Names) -> Find:
        """Which track or system a row is about, as the table writes it."""
        if side.name is not None:
            fixed = side.name
            return lambda row: fixed
        if side.column is not None:
            place = self.table.place(side.column)
            return lambda row: self.table.text(row, place)
        if key in self.asked.placeholders:
            return self._finder(key)
        return lambda row: ""

    def _renamed(self, name: str, key: str, side: Names, row: Row) -> str:
        plain = name
        if side.pattern is not None:
            found = Pattern(side.pattern).match(name)
            if found is None:
                self._refuse(row, f"{key} {name!r} is not written as {side.pattern!r} says; leave_out leaves rows out")
            plain = next(iter(found.values()))
        plain = side.rename.get(name, side.rename.get(plain, plain))
        if not plain:
            self._refuse(row, f"the row names no {key}; leave_out: [''] leaves such rows out")
        return plain

    def _put(self, system: str, track: str, name: str, row: Row, column: int, scale: float, weight: int | None) -> None:
        """Gather one score."""
        heavy = 1.0
        value, decimals = self._number(row, column)
        if np.isnan(value) and self.asked.nan == "zero":
            value = 0.0
        if weight is None:
            self.gathered.unweighted.add(name)
        else:
            heavy = self._number(row, weight)[0]
            if not 0 <= heavy < np.inf:
                self._refuse(row, f"a weight must be a number that is not negative, not {row.fields[weight]!r}")
        here = place_of(self.table.name, row.line)
        others = self.gathered.cells.setdefault((system, track), {})
        if name in others:
            self._refuse(row, f"system {system!r}, track {track!r}, {name} is also in {others[name][2]}")
        others[name] = (_scaled(value, scale), heavy, here)
        step = 10.0**-decimals * scale
        self.gathered.steps[name] = min(step, self.gathered.steps.get(name, np.inf))

    def _number(self, row: Row, place: int) -> tuple[float, int]:
        text = self.table.text(row, place)
        try:
            return read_number(text)
        except ValueError:
            column = repr(self.table.columns[place]) if 0 <= place < len(self.table.columns) else str(place)
            hint = "; write points before decimals" if _DECIMAL.fullmatch(text) else ""
            self._refuse(row, f"column {column} is not a number: {text!r}{hint}")

    def _refuse(self, row: Row, message: str) -> NoReturn:
        raise InvalidAnnotationError(message, path=self.table.name, line=row.line)


def _scaled(value: float, scale: float) -> float:
    """A number in the unit of the metric; percentages are divided by 100, which is exact where 0.01 is not."""
    divisor = round(1 / scale, 6)
    return value / divisor if divisor.is_integer() and divisor > 1 else value * scale


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

    def attrs(self, origin: str) -> dict[str, Any]:
        """What a group that holds them says of itself; `origin` is what the mapping calls itself."""
        named = {name: value for name, value in (("task", self.task), ("convention", self.convention)) if value}
        parameters = {name: dict(values) for name, values in self.parameters.items() if values}
        return {**named, "parameters": parameters, IMPORTED: origin, PRINTED_STEP: dict(self.printed_step)}


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
        return None, [Problem("", "is a pipeline file; a mapping has groups and describes published tables")]
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
        " ".join(one for one in text.split() if not AGGREGATES[one].needs_duration) for text in described["aggregates"]
    ]
    try:
        told = {} if group.tracks is None else track_metadata(group.tracks, root, tracks)
    except MetadataError as error:
        raise InvalidAnnotationError(str(error)) from None
    convention = "" if group.task is None else get_task(group.task).convention(group.convention).name
    parameters = {str(measure): measure.parameters for measure in measures}
    about = (group.name, group.task or "", convention, systems, tracks, names)
    return PublishedScores(*about, score, weight, status, message, digest, described, told, parameters, gathered.steps)
