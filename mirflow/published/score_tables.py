"""Published tables of scores, read by a mapping file: as arrays over systems, tracks and metrics, or into a store.

Files of museval are read as well, with the values of sources and frames. Problems of a mapping are listed in one
error; of a table, the first entry that is not as the mapping says is named with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..errors import InvalidAnnotationError, MetricError, PipelineError, Problem, StoreError, UnknownNameError, place_of
from ..metrics.aggregates import OVER_DURATIONS, STATISTICS
from ..metrics.base import Convention, Sparse, get_task
from ..metrics.measures import Measure, Metric, describe, parse
from ..metrics.separation.metrics import median_over_frames
from ..pipeline.discovery import absolute
from ..pipeline.document import Document, Place, read_document, schema_of, validate
from ..pipeline.load import MetadataError, track_metadata
from ..ragged import Float
from ..readers.content import decode, digest_of, read_bytes
from ..readers.options import MAX_BYTES
from ..readers.patterns import Match, Pattern
from ..store.cells import CellRemark, Cells, GroupContent, Status, write_message
from ..store.format import IMPORTED, PRINTED_STEP
from ..store.write import open_writer, software_versions
from .mapping import Names, Row, ScoreColumn, ScoreFile, ScoreGroup, ScoreTable, TableMapping, Wide, read_number

_DECIMAL = re.compile(r"[+-]?\d+,\d+")

Find = Callable[[Row], str]
Column = tuple[str, str, int, float, int | None]
"""System (empty: the row's own), measure, column, scale, and the weight's column."""


@dataclass
class Gathered:
    """The scores of a group while its tables are read.

    For (system, track): for each measure the score, its weight and its place in the table; and fingerprints of the
    tables. For each measure the smallest difference that its printed digits show. Measures that a table has no weights
    of.
    """

    cells: dict[tuple[str, str], dict[str, tuple[float, float, str]]] = field(default_factory=dict)
    digests: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    unweighted: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _RowReader:
    asked: ScoreFile
    measures: Mapping[str, Measure]
    table: ScoreTable
    values: Mapping[str, str]
    gathered: Gathered

    def read(self, digest: str) -> None:
        """Gather the scores of all rows."""
        asked, place = self.asked, self.table.place
        shared = None if asked.weight is None else place(asked.weight)
        columns: list[Column] = []
        for text, declared in asked.metrics.items():
            weighed = shared if declared.weight is None else place(declared.weight)
            scale = asked.scale if declared.scale is None else declared.scale
            columns.append(("", str(self.measures[text]), place(declared.column), scale, weighed))
        if asked.wide is not None:
            taken, measure = {asked.track.column, asked.weight}, str(self.measures[asked.wide.metric])
            systems = asked.wide.systems or {name: name for name in self.table.columns if name and name not in taken}
            for name, position in systems.items():
                columns.append((asked.system.rename.get(name, name), measure, place(position), asked.scale, shared))
        conditions = [(self._finder(name), text) for name, text in self.asked.where.items()]
        track, system = self._finder("track", self.asked.track), self._finder("system", self.asked.system)
        for row in self.table.rows:
            if any(find(row) != text for find, text in conditions):
                continue
            name = track(row)
            if name in self.asked.leave_out:
                continue
            name, here = self._renamed(name, "track", self.asked.track, row), place_of(self.table.name, row.line)
            for of, measure, column, scale, weight in columns:
                owner = of or self._renamed(system(row), "system", self.asked.system, row)
                self.gathered.digests.setdefault((owner, name), {})[digest] = None
                heavy, (value, decimals) = 1.0, self._number(row, column)
                if np.isnan(value) and self.asked.nan == "zero":
                    value = 0.0
                if weight is None:
                    self.gathered.unweighted.add(measure)
                else:
                    heavy = self._number(row, weight)[0]
                    if not 0 <= heavy < np.inf:
                        text = f"a weight must be a number that is not negative, not {row.fields[weight]!r}"
                        self._refuse(row, text)
                others = self.gathered.cells.setdefault((owner, name), {})
                if measure in others:
                    self._refuse(row, f"system {owner!r}, track {name!r}, {measure} is also in {others[measure][2]}")
                # Percentages are divided by 100, which is exact where 0.01 is not.
                divisor = round(1 / scale, 6)
                value = value / divisor if divisor.is_integer() and divisor > 1 else value * scale
                others[measure] = value, heavy, here
                if np.isfinite(value):
                    step = 10.0**-decimals * scale
                    self.gathered.steps[measure] = min(step, self.gathered.steps.get(measure, np.inf))

    def _finder(self, key: str, side: Names | None = None) -> Find:
        """What a row has under a placeholder or in a column; with `side`, the name of its track or system."""
        if side is not None and side.name is not None:
            fixed = side.name
            return lambda row: fixed
        if (side is None or side.column is None) and key in self.asked.placeholders:
            return lambda row: {**self.values, **row.values}.get(key, "")
        named = key if side is None else side.column
        if named is None:
            return lambda row: ""
        column = self.table.place(named)
        return lambda row: self.table.text(row, column)

    def _renamed(self, name: str, key: str, side: Names, row: Row) -> str:
        plain = name
        if side.pattern is not None:
            match = Pattern(side.pattern).match(name)
            if match is None:
                self._refuse(row, f"{key} {name!r} is not written as {side.pattern!r} says; leave_out leaves rows out")
            plain = next(iter(match.values()))
        plain = side.rename.get(name, side.rename.get(plain, plain))
        if not plain:
            self._refuse(row, f"the row has no {key}; leave_out: [''] leaves such rows out")
        return plain

    def _number(self, row: Row, index: int) -> tuple[float, int]:
        text = self.table.text(row, index)
        try:
            return read_number(text)
        except ValueError:
            column = repr(self.table.columns[index]) if 0 <= index < len(self.table.columns) else str(index)
            hint = "; write points before decimals" if _DECIMAL.fullmatch(text) else ""
            self._refuse(row, f"column {column} is not a number: {text!r}{hint}")

    def _refuse(self, row: Row, message: str) -> NoReturn:
        raise InvalidAnnotationError(message, path=self.table.name, line=row.line)


_OF_UNKNOWN_METRICS = ("orientation", "title", "unit")


@dataclass(frozen=True)
class Published:
    """The groups of scores that a mapping file names.

    A score without a weight in its table weighs 1; digests are those of the tables' bytes.
    """

    name: str
    groups: tuple[GroupContent, ...]


def read_published(path: str | Path, *, root: str | Path | None = None, table: str | Path | None = None) -> Published:
    """Read the scores of the tables that a mapping file names.

    `root` replaces the file's ``root``, relative to the working directory; `table` the table of a mapping of one table.
    """
    document = read_document(path)
    if isinstance(document.data, Mapping) and "evaluations" in document.data:
        raise PipelineError(
            [Problem("", "is a pipeline file; a mapping has groups and describes published tables")], path
        )
    mapping, problems = validate(document, TableMapping, "name and groups")
    if mapping is None:
        raise PipelineError(problems, path)
    base = Path(absolute(str(path))).parent / mapping.root
    folder = absolute(str(base if root is None else root))
    if table is not None:
        files = [table for group in mapping.groups for table in group.tables]
        if len(files) != 1:
            why = f"names {len(files)} tables: a file can replace only a single table, a folder the root"
            raise PipelineError([Problem("groups", why)], path)
        name = Path(table).name
        match = Pattern(Path(files[0].path).name).match(name)
        lost = [key for key in Pattern(files[0].path).names if match is None or key not in match]
        if lost:
            why = f"{name!r} does not tell {', '.join(lost)}, which {files[0].path!r} takes from the file's name"
            raise PipelineError([Problem("groups[0].tables[0].path", why)], path)
        one = files[0].model_copy(update={"path": Path(files[0].path).name if match else name})
        group = mapping.groups[0].model_copy(update={"tables": [one]})
        mapping, folder = mapping.model_copy(update={"groups": [group]}), str(Path(absolute(str(table))).parent)
    return read_tables(mapping, folder, document, path, table)


def read_tables(
    mapping: TableMapping,
    folder: str | Path,
    document: Document | None = None,
    path: str | Path | None = None,
    table: str | Path | None = None,
) -> Published:
    """Read the scores of the tables that a mapping describes, in a folder; its ``root`` does not matter.

    Problems of its document and of its names are raised at once.
    """
    folder, document = absolute(str(folder)), document or Document()
    problems = list(document.problems)
    names = [group.name for group in mapping.groups]
    for index, name in enumerate(names):
        if name in names[:index]:
            message = f"another group has the name {name!r}; give this one its own"
            problems.append(document.problem(("groups", index, "name"), message))
    resolved = [_measures(group, document, ("groups", place), problems) for place, group in enumerate(mapping.groups)]
    found: list[list[Sequence[Match]]] = [
        [Pattern(table.path).find(folder) for table in group.tables] for group in mapping.groups
    ]
    for index, files in enumerate(found):
        for number, one in enumerate(mapping.groups[index].tables):
            if not files[number]:
                message = f"no file {one.path!r}; {Pattern(one.path).hint(folder)}"
                problems.append(document.problem(("groups", index, "tables", number, "path"), message))
    if problems:
        raise PipelineError(problems, path)
    if table is not None:
        # Its neighbours may fit the pattern too.
        found = [[[match for match in files if match.path == absolute(str(table))] for files in one] for one in found]
    origin = {IMPORTED: mapping.name, "mapping": document.text, "root": folder}
    groups = tuple(_scores(*group, origin) for group in zip(mapping.groups, resolved, found, strict=True))
    return Published(mapping.name, groups)


mapping_schema: Callable[[], dict[str, Any]] = partial(schema_of, TableMapping)
"""Returns the JSON Schema of mapping files, for editors."""


def _measures(group: ScoreGroup, document: Document, place: Place, problems: list[Problem]) -> list[dict[str, Measure]]:
    """For each table of a group its metrics: as the mapping writes them, to what they mean."""
    convention: Convention | None = None
    try:
        convention = None if group.task is None else get_task(group.task).convention(group.convention)
    except UnknownNameError as error:
        key = "task" if error.what == "task" else "convention"
        problems.append(document.problem((*place, key), str(error)))
        return []
    if any(table.format == MUSEVAL for table in group.tables):
        if (group.task, group.convention) != ("separation", MUSEVAL):
            problems.append(document.problem(place, "files of museval need task: separation and convention: museval"))
            return []
        return [{str(measure): measure for measure in museval_measures()} for _ in group.tables]
    if group.task is None and group.convention is not None:
        problems.append(document.problem((*place, "convention"), "needs a task: name it, too"))
    measures: list[dict[str, Measure]] = []
    for number, table in enumerate(group.tables):
        measures.append({})
        for text, declared in table.declared():
            where: Place = (*place, "tables", number, *(("metrics", text) if table.metrics else ("wide", "metric")))
            try:
                measures[-1][text] = _measure(text, declared, convention)
            except (UnknownNameError, MetricError) as error:
                problems.append(document.problem(where, str(error)))
    return measures


def _measure(text: str, declared: ScoreColumn | Wide, convention: Convention | None) -> Measure:
    """A metric of the convention, or one that the mapping declares."""
    named = [name for name in _OF_UNKNOWN_METRICS if getattr(declared, name) is not None]
    try:
        if convention is None:
            raise UnknownNameError("metric", text, ())
        measure = parse(text, convention.metrics)
    except (UnknownNameError, MetricError) as error:
        if declared.orientation is None:
            hint = "a metric that mirflow does not know declares its orientation: higher, lower or none"
            raise MetricError(f"{error}; {hint}") from None
        if not text.strip() or any(sign in text for sign in "@() \t"):
            raise MetricError(f"invalid metric name {text!r}: blanks, @ and () are not allowed") from None
        weight = "as the table says"
        foreign = Metric(text, declared.title or text, "", weight, "", pooling="micro", perfect=None)
        return Measure(replace(foreign, orientation=declared.orientation, unit=declared.unit or ""))
    if named:
        raise MetricError(f"{text!r} is known to mirflow; leave out {', '.join(named)}")
    if measure.metric.dims:
        raise MetricError(f"{text!r} is not one number for each track")
    return measure


def _scores(
    group: ScoreGroup,
    measures: Sequence[Mapping[str, Measure]],
    files: Sequence[Sequence[Match]],
    origin: Mapping[str, str],
) -> GroupContent:
    gathered, museval = Gathered(), dict[tuple[str, str], tuple[tuple[str, ...], dict[str, Float]]]()
    for one, known, matches in zip(group.tables, measures, files, strict=True):
        for match in matches:
            data = read_bytes(match.path, MAX_BYTES, match.name)
            if one.format == MUSEVAL:
                values = dict(zip(Pattern(one.path).names, match.values, strict=True))
                museval[values["system"], values["track"]] = read_museval(decode(data, match.name), match.name)
                gathered.digests.setdefault((values["system"], values["track"]), {})[digest_of(data)] = None
                continue
            table = one.parse(decode(data, match.name, one.encoding), match.name)
            values = dict(zip(Pattern(one.path).names, match.values, strict=True))
            _RowReader(one, known, table, values, gathered).read(digest_of(data))
    # The score of a track is the mean over its sources of their medians over the frames.
    for cell, (_, of_frames) in museval.items():
        medians = {name: median_over_frames(frames) for name, frames in of_frames.items()}
        gathered.cells[cell] = {name: (float(sources.mean()), 1.0, "") for name, sources in medians.items()}
        gathered.unweighted |= medians.keys()
    if not gathered.cells:
        names = ", ".join(match.name for matches in files for match in matches[:2])
        raise InvalidAnnotationError(f"no row of the tables is a score: {names}; look at where and leave_out")
    every = []
    for measure in dict.fromkeys(measure for known in measures for measure in known.values()):
        if str(measure) in gathered.unweighted:  # unweighted, or the lengths of the references are unknown
            usual = measure.metric.standard_aggregate
            usual = usual if usual in STATISTICS else "mean"
            metric = replace(measure.metric, pooling="none", recall=False, standard_aggregate=usual)
            measure = Measure(replace(metric, weight="", weight_unit=""), measure.values)
        every.append(measure)
    described = {name: values.tolist() for name, values in describe(every).items() if name != "metric"}
    # Over the seconds of whole references, which a table of scores does not hold.
    described["aggregates"] = [
        " ".join(part for part in text.split() if part not in OVER_DURATIONS) for text in described["aggregates"]
    ]
    systems = tuple(sorted({system for system, _ in gathered.cells}))
    tracks = tuple(sorted({track for _, track in gathered.cells}))
    try:
        track_coords = {} if group.tracks is None else track_metadata(group.tracks, origin["root"], tracks)
    except MetadataError as error:
        raise InvalidAnnotationError(str(error)) from None
    attrs: dict[str, Any] = {}
    if group.task is not None:
        attrs = {"task": group.task}
        if group.convention is not None:  # without one it is not known by which rules others scored
            attrs["convention"] = get_task(group.task).convention(group.convention).name
    attrs["parameters"] = {str(measure): dict(measure.parameters) for measure in every if measure.parameters}
    attrs |= {IMPORTED: origin[IMPORTED], PRINTED_STEP: gathered.steps, **origin}
    cells = _cells(systems, tracks, tuple(map(str, every)), gathered)
    cells = replace(cells, extras=_museval_extras(museval, systems, tracks))
    return GroupContent(group.name, systems, tracks, cells, described, {}, track_coords, attrs)


def _cells(systems: tuple[str, ...], tracks: tuple[str, ...], names: tuple[str, ...], gathered: Gathered) -> Cells:
    """All cells, system by system, with what was gathered of them."""
    count = len(systems) * len(tracks)
    score, weight = np.full((count, len(names)), np.nan), np.ones((count, len(names)))
    weight[:, [name not in gathered.unweighted for name in names]] = 0.0
    digest = [""] * count
    rows, columns, places = ({name: at for at, name in enumerate(labels)} for labels in (systems, tracks, names))
    for (system, track), scores in gathered.cells.items():
        cell = rows[system] * len(tracks) + columns[track]
        digest[cell] = ":" + "+".join(gathered.digests[system, track])
        for name, (value, heavy, _) in scores.items():
            score[cell, places[name]], weight[cell, places[name]] = value, heavy
    empty = np.isnan(score).all(axis=1)
    no_score = write_message([CellRemark("reason", "pair", "the table has no score")])
    return Cells(
        tuple(system for system in systems for _ in tracks),
        tracks * len(systems),
        names,
        score,
        weight,
        np.where(empty, np.int8(Status.missing_estimate), np.int8(Status.ok)),
        np.zeros(count, dtype=np.int32),
        tuple(no_score if one else "" for one in empty.tolist()),
        tuple(digest),
        np.zeros(count, dtype=np.int64),
        np.full(count, np.nan),
    )


@dataclass(frozen=True)
class ImportReport:
    """Result of an import."""

    store: str | Path
    shapes: Mapping[str, tuple[int, int, int]]
    """For each group the number of systems, tracks and metrics."""
    missing: Mapping[str, int]
    """For each group the number of (system, track) cells without a score."""


def import_scores(
    mapping: str | Path,
    store: str | Path,
    *,
    root: str | Path | None = None,
    table: str | Path | None = None,
    overwrite: bool = False,
) -> ImportReport:
    """Bring the scores of published tables into a store.

    Parameters
    ----------
    mapping : path
        A mapping file: which metric is in which column of which table.
    store : path
        A new store, or one of imported scores; groups of the same name are replaced, others stay.
    root : path or None
        Instead of that of the mapping.
    table : path or None
        A table instead of the one that the mapping names.
    overwrite : bool
        Whether a group that another mapping brought may be replaced.

    Returns
    -------
    ImportReport

    Raises
    ------
    PipelineError
        With all problems of the mapping.
    AnnotationError
        For the first thing in a table that is not as the mapping says, with file and line.
    StoreError
        If a pipeline writes the store, whose next run would remove what is imported, or it cannot be written.

    Notes
    -----
    A score without a weight in its table weighs 1, and its metric can be averaged but not pooled.
    """
    published = read_published(mapping, root=root, table=table)
    brought = {group.name: group for group in published.groups}
    with open_writer(store) as writer:
        contents = writer.contents()
        if contents and IMPORTED not in writer.attrs():
            raise StoreError(
                f"{writer.path}: holds the scores of a pipeline, whose next run would remove what is imported; "
                "name another store"
            )
        before = list(contents.values())
        for content in before if not overwrite else ():
            origin = content.attrs.get(IMPORTED)
            if content.name in brought and origin != published.name:
                message = f"group {content.name!r} was imported from {origin!r}; --overwrite replaces it"
                raise StoreError(f"{writer.path}: {message}")
        others = [content for content in before if content.name not in brought]
        mappings = sorted({str(content.attrs[IMPORTED]) for content in (*others, *brought.values())})
        attrs = {"name": ", ".join(mappings), IMPORTED: mappings, "versions": software_versions()}
        writer.publish([*others, *brought.values()], attrs)
        path = writer.path
    shapes = {group.name: (len(group.systems), len(group.tracks), len(group.measures)) for group in published.groups}
    missing = {group.name: int((group.cells.status != Status.ok).sum()) for group in published.groups}
    return ImportReport(path, shapes, missing)


MUSEVAL = "museval"
METRICS: Mapping[str, str] = {"SDR": "sdr", "ISR": "isr", "SIR": "sir", "SAR": "sar"}
"""museval's names, and ours."""


def museval_measures(prefix: str = "") -> tuple[Measure, ...]:
    """The measures of museval's files: of tracks, or with ``source_`` or ``frame_`` of sources or frames."""
    return get_task("separation").convention(MUSEVAL).select([f"{prefix}{name}" for name in METRICS.values()])


def read_museval(text: str, name: str) -> tuple[tuple[str, ...], dict[str, Float]]:
    """Read the text of one file of museval.

    Returns `sources`, `values` (dict of str to float64 (sources, frames)): by our names of the metrics, in dB; NaN
    where a file has none. Raises `InvalidAnnotationError` if the text is not such a file.

    Examples
    --------
    >>> frame = '{"time": 0.0, "duration": 1.0, "metrics": {"SDR": 5.5, "ISR": 9, "SIR": 8, "SAR": NaN}}'
    >>> sources, values = read_museval('{"targets": [{"name": "vocals", "frames": [%s]}]}' % frame, "a.json")
    >>> sources, values["sdr"].tolist()
    (('vocals',), [[5.5]])
    """
    try:
        targets = json.loads(text)["targets"]
        sources = tuple(str(target["name"]) for target in targets)
        frames = [[frame["metrics"] for frame in target["frames"]] for target in targets]
        values = {
            ours: [[_number(frame.get(theirs)) for frame in rows] for rows in frames]
            for theirs, ours in METRICS.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        message = f"is not a file of museval, {{targets: [{{name, frames: [{{metrics: {{SDR, ...}}}}]}}]}} ({why})"
        raise InvalidAnnotationError(message, path=name) from None
    if not sources or len(set(sources)) < len(sources):
        raise InvalidAnnotationError(
            f"the targets are {', '.join(sources) or 'none'}: expected distinct ones", path=name
        )
    most = max(map(len, frames))
    padded = {ours: [[*row, *[np.nan] * (most - len(row))] for row in rows] for ours, rows in values.items()}
    return sources, {
        ours: np.array(rows, dtype=np.float64).reshape(len(sources), most) for ours, rows in padded.items()
    }


def _number(value: object) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a score is not a number: {value!r}")
    return float(value)


def _museval_extras(
    files: Mapping[tuple[str, str], tuple[tuple[str, ...], dict[str, Float]]],
    systems: Sequence[str],
    tracks: Sequence[str],
) -> dict[str, Sparse]:
    """The values of sources and of frames, along the cells (systems, tracks), system by system."""
    if not files:
        return {}
    sources = tuple(dict.fromkeys(source for names, _ in files.values() for source in names))
    most = max(next(iter(values.values())).shape[1] for _, values in files.values())
    shape = len(systems) * len(tracks), len(sources), most
    found = {}
    for measure, of_sources in zip(museval_measures("frame_"), museval_measures("source_"), strict=True):
        dense = np.full(shape, np.nan)
        name = measure.metric.name.removeprefix("frame_")
        for (system, track), (names, values) in files.items():
            cell = systems.index(system) * len(tracks) + tracks.index(track)
            rows = [sources.index(source) for source in names]
            dense[cell, rows, : values[name].shape[1]] = values[name]
        coords = sources, tuple(f"{frame:06d}" for frame in range(most))
        found[measure.variable] = _sparse(measure, coords, dense)
        medians = median_over_frames(dense.reshape(-1, most)).reshape(shape[:2])
        found[of_sources.variable] = _sparse(of_sources, coords[:1], medians)
    return found


def _sparse(measure: Measure, coords: tuple[tuple[str, ...], ...], dense: Float) -> Sparse:
    index = np.argwhere(~np.isnan(dense)).astype(np.int64)
    attrs = {"long_name": measure.metric.title, "units": measure.metric.unit or "1", "metric": str(measure)}
    return Sparse(measure.metric.dims, coords, index, dense[tuple(index.T)], attrs, np.nan)
