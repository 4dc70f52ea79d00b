"""Years of a campaign: tasks, runs and best values by year, as tables and line charts.

They come from a table of years (CSV or YAML), or from a coordinate ``year`` of systems in stores. If the table names
stores, their best values are compared with those of the year before.

The tables are those of Downie, Ehmann, Bay and Jones, The Music Information Retrieval Evaluation eXchange: Some
observations and insights (2010), tables 1 to 3.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

from ...analysis.combine import join_group
from ...analysis.inference import compare
from ...analysis.queries import boards_of, open_store
from ...analysis.query_options import DEFAULT_LEVEL, Query, say_level
from ...analysis.scores import coords_of, names_of
from ...errors import MirflowWarning, QueryError, UnknownNameError, UnreadableError, counted, suggest
from ...pipeline.document import read_document
from ...readers.content import read_within
from ...reports.captions import task_title
from ...reports.leaderboard import Leaderboard, RankedEvaluation, RankedSystem, leaderboard
from ...reports.tables import Entry, Table, Tabulation
from ...store.format import REFERENCES_DIFFER
from ...store.read import read_scores
from .pages import show_number

# Columns of a table of years.
COLUMNS = (
    *("year", "store", "evaluation", "task", "name", "category", "part", "metric", "runs", "best", "system"),
    *("individuals", "countries"),
)
YEAR = "year"  # the coordinate of systems with their year of participation
_MAX_BYTES = 2**20
IS_YEAR = re.compile(r"\d{4}(\.0)?")  # a text that is a year; other systems have none


@dataclass(frozen=True)
class YearOfTask:
    """A task, or a part of one, in one year."""

    year: int
    task: str  # a key, such as ``ACD``
    part: str  # key of the task or of a subtask, such as ``ACD2``
    name: str = ""  # title of the task
    metric: str = ""  # title of the primary metric
    runs: int | None = None  # number of participating systems; None if counted with another part
    best: float | None = None  # the best value
    system: str = ""  # the best system; empty if unknown
    lower: bool = False  # whether lower values are better
    store: str = ""
    evaluation: str = ""  # origin of the values; empty for results published elsewhere
    shown: str = "-"  # the best value for people; published values keep their digits
    category: str = ""  # category of the task, such as search; empty if none was given
    n: int | None = None  # number of tracks that count; None of results published elsewhere
    low: float | None = None
    high: float | None = None  # ends of the 95 % interval of the best value; None where there is none
    source: Path | None = None
    measure: str = ""  # path of the store, and the identity of the metric
    # The difference to the best system of the year before with interval and p-value, or why there is none.
    change: str = ""


@dataclass(frozen=True)
class YearsScale:
    """The years and values that a line chart has room for."""

    first: int
    last: int
    low: float
    high: float

    def place(self, year: int, value: float) -> tuple[float, float]:
        """Return the place of a value of a year, in pixels from the left and the top."""
        along = (year - self.first) / (self.last - self.first)
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        x = _MARGIN + (WIDTH - 2 * _MARGIN) * along
        return round(x, 1), round(HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * share, 1)


WIDTH, HEIGHT = 320.0, 130.0  # size of a line chart in pixels
LABEL_WIDTH = 44.0  # width of a value such as 0.1234, in pixels
_MARGIN = 34.0
_SHARE = "share: of all runs, in %"


@dataclass(frozen=True)
class Archive:
    """Years of a campaign."""

    entries: Sequence[YearOfTask]
    # Numbers of ``individuals`` and ``countries`` for some years.
    counts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    @cached_property
    def years(self) -> list[int]:
        """All years in ascending order."""
        return sorted({entry.year for entry in self.entries} | {*self.counts})

    def overview(self) -> Table:
        """Table 1: task sets, people, countries and runs by year, and their growth from the first to the last year."""
        of_year = [[entry for entry in self.entries if entry.year == year] for year in self.years]
        sets: list[int | None] = [len({(entry.task, entry.part) for entry in entries}) for entries in of_year]
        numbers: list[tuple[str, list[int | None]]] = [("Task sets", sets)]
        for name, words in (("individuals", "Individuals"), ("countries", "Countries")):
            if any(name in counted_of for counted_of in self.counts.values()):
                numbers.append((words, [self.counts.get(year, {}).get(name) for year in self.years]))
        numbers.append(("Runs", [*map(_runs, of_year)]))
        several = len(self.years) > 1
        rows: list[tuple[Entry, ...]] = []
        for words, row in numbers:
            first, last = (row[0], row[-1]) if several else (None, None)
            growth = round(100 * (last / first - 1)) if first and last is not None else None
            rows.append((words, *row, *([growth] if several else [])))
        columns = ("", *map(str, self.years), *(["growth"] if several else []))
        notes = (f"growth: from {self.years[0]} to {self.years[-1]}, in %",) if several else ()
        return Table(columns, tuple(rows), "The years", notes, keys=1)

    def categories(self) -> Table:
        """Table of runs by category and year; empty if no task has a category."""
        category = {
            task: next((entry.category for entry in entries if entry.category), "")
            for (task,), entries in self.grouped("task").items()
        }
        names = sorted({*category.values()} - {""}, key=str.casefold)
        rows: list[tuple[Entry, ...]] = []
        every = _runs(self.entries)
        for name in [*names, *([""] if names and "" in category.values() else [])]:
            entries = [entry for entry in self.entries if category[entry.task] == name]
            by_year = (_runs(entry for entry in entries if entry.year == year) for year in self.years)
            tasks, runs = sum(other == name for other in category.values()), _runs(entries)
            rows.append((name or "others", tasks, *by_year, runs, round(100 * runs / every) if every else None))
        columns = ("category", "tasks", *map(str, self.years), "all", "share")
        return Table(columns, tuple(rows), "Runs of each category", (_SHARE,), keys=1)

    def runs(self) -> Table:
        """Table 2: runs by task and year, and their share of all; a star for each part beyond the first."""
        rows: list[tuple[Entry, ...]] = []
        every = _runs(self.entries)
        for (task,), entries in self.grouped("task").items():
            cells: list[Entry] = []
            for year in self.years:
                of_year = [entry for entry in entries if entry.year == year]
                further = len({entry.part for entry in of_year}) - 1
                cells.append(f"{_runs(of_year)}{'*' * further}" if of_year else None)
            name = next((entry.name for entry in entries if entry.name), "")
            rows.append((task, name, *cells, round(100 * _runs(entries) / every) if every else None))
        stars = ("*: of two parts, **: of three, ...",) if any("*" in str(cell) for row in rows for cell in row) else ()
        columns = ("task", "name", *map(str, self.years), "share")
        return Table(columns, tuple(rows), "Runs of each task", (*stars, _SHARE), keys=1)

    def best(self) -> Table:
        """Table 3: the best value of each task, or part of one, by its primary metric."""
        rows = tuple(
            (part, metric, *(None if entry is None else entry.shown for entry in entries))
            for part, metric, entries in self.bests()
        )
        return Table(("task", "metric", *map(str, self.years)), rows, "The best of each year", keys=1)

    def scored(self) -> Table:
        """Table of the best values that stores have: how sure they are, and how they differ from the year before."""
        rows: list[tuple[Entry, ...]] = []
        for best in (
            entry for entries in self.grouped("part", "metric").values() for entry in entries if entry.n is not None
        ):
            interval = None if best.low is None else f"[{show_number(best.low)}, {show_number(best.high)}]"
            rows.append((best.part, best.year, best.system, best.shown, interval, best.n, best.change or None))
        level = say_level(DEFAULT_LEVEL)
        note = f"[ ]: {level} interval; p: permutation test of the two best systems, chosen after the fact"
        notes = (note,) if rows else ()
        columns = ("task", "year", "best system", "value", "interval", "n", "against the year before")
        return Table(columns, tuple(rows), "How sure the best are", notes, keys=3)

    def bests(self) -> list[tuple[str, str, list[YearOfTask | None]]]:
        """Rows of the best values by year with their origin: part, metric, and an entry or None per year."""
        rows = []
        for (part, metric), entries in self.grouped("part", "metric").items():
            best = {entry.year: entry for entry in entries if entry.best is not None}
            rows.append((part, metric, [best.get(year) for year in self.years]))
        return rows

    def lines(self) -> list[SimpleNamespace]:
        """Line charts of the best values by one metric, if there are two or more years.

        Returns: each with the ``part`` of a task and its ``metric``; ``points``, each with its ``entry`` and its place
          (``x``, ``y``), by year; their ``scale``, from 0 to 1 if all values lie between, so that slopes can be
          compared; ``paths``, lines through the years of each store, as different stores have different tracks; the
          points that are ``labelled``, the newest and others that do not overlap; and the chart in ``words``.
        """
        lines = []
        for part, metric, row in self.bests():
            entries = [entry for entry in row if entry and entry.best is not None and math.isfinite(entry.best)]
            if len(entries) < 2:
                continue
            values = [float(entry.best or 0.0) for entry in entries]
            least, most = (0.0, 1.0) if min(values) >= 0 and max(values) <= 1 else (min(values), max(values))
            scale = YearsScale(self.years[0], self.years[-1], least, most)
            pairs = zip(entries, values, strict=True)
            points = [
                SimpleNamespace(entry=entry, x=x, y=y)
                for entry, (x, y) in ((entry, scale.place(entry.year, value)) for entry, value in pairs)
            ]
            runs = [list(run) for _, run in groupby(points, key=lambda point: point.entry.store)]
            runs = [run for run in runs if run[0].entry.store and run[1:]]
            labelled = points[-1:]
            for point in reversed(points):
                if labelled[-1].x - point.x >= LABEL_WIDTH:
                    labelled.append(point)
            paths = [" ".join(f"{point.x:g},{point.y:g}" for point in run) for run in runs]
            words = ", ".join(f"{entry.year}: {entry.shown}" for entry in entries)
            drawn = {"points": points, "scale": scale, "paths": paths, "labelled": labelled[::-1]}
            lines.append(SimpleNamespace(part=part, metric=metric, words=words, **drawn))
        return lines

    def tabulation(self) -> Tabulation[YearOfTask]:
        """Tables for people; for programs one row per part of a task and year."""
        names = (
            *("year", "task", "part", "name", "category", "metric", "runs", "best", "system", "store", "evaluation"),
            *("n", "low", "high", "change"),
        )
        rows = tuple(tuple(getattr(entry, name) for name in names) for entry in self.entries)
        every = (self.overview(), self.categories(), self.runs(), self.best(), self.scored())
        tables = [table for table in every if table.rows]
        return Tabulation(self.entries, lambda width: tables, lambda: [Table(names, rows)])

    def grouped(self, *names: str) -> dict[tuple[str, ...], list[YearOfTask]]:
        """Group the entries by some of their values, in the order of the first one."""
        groups: dict[tuple[str, ...], list[YearOfTask]] = {}
        for entry in sorted(self.entries, key=lambda entry: str(getattr(entry, names[0])).casefold()):
            groups.setdefault(tuple(getattr(entry, name) for name in names), []).append(entry)
        return groups


def _runs(entries: Iterable[YearOfTask]) -> int:
    return sum(entry.runs or 0 for entry in entries)


def has_years(path: str | Path) -> bool:
    """True if systems of a store have a coordinate ``year``; does not read scores."""
    dated = (ds for ds in boards_of(open_store(path)).values() if YEAR in coords_of(ds, "system"))
    return any(IS_YEAR.fullmatch(text) for ds in dated for text in names_of(ds, YEAR))


def years_of(boards: Mapping[str, Leaderboard]) -> Archive:
    """Return the years of stores, by name, whose systems have a coordinate ``year``; without entries if none has."""
    entries = []
    for name, evaluation in ((name, evaluation) for name, board in boards.items() for evaluation in board.evaluations):
        by_year: dict[int, list[RankedSystem]] = {}
        for system in evaluation.systems:
            value = str(system.metadata.get(YEAR, ""))
            if IS_YEAR.fullmatch(value):
                by_year.setdefault(int(float(value)), []).append(system)
        entries += [_entry(year, name, evaluation, systems, {}) for year, systems in by_year.items()]
    return Archive(sorted(entries, key=lambda entry: entry.year))


def _entry(
    year: int, store: str, evaluation: RankedEvaluation, systems: Sequence[RankedSystem], row: Mapping[str, str]
) -> YearOfTask:
    metrics = {metric.name: metric for metric in evaluation.metrics}
    name = row.get("metric") or evaluation.headline
    if name not in metrics:
        raise UnknownNameError(f"metric of {store}, {evaluation.name}", name, metrics)
    metric = metrics[name]
    sign = -1.0 if metric.orientation == "lower" else 1.0
    values = [(system, system.scores[name].value) for system in systems]
    scored = [(system, float(value)) for system, value in values if value is not None]
    best = max(scored if metric.orientation != "none" else [], key=lambda pair: sign * pair[1], default=None)
    score = None if best is None else best[0].scores[name]
    low, high = (None, None) if score is None else (score.low, score.high)
    about: dict[str, Any] = {key: row.get(key) or evaluation.name for key in ("task", "part")}
    about |= {"name": row.get("name") or task_title(evaluation.task), "category": row.get("category", "")}
    about |= {"metric": metric.title or metric.name, "measure": name, "lower": metric.orientation == "lower"}
    about |= {"store": store, "evaluation": evaluation.name, "runs": len(systems)}
    about |= {} if best is None else {"best": best[1], "shown": show_number(best[1]), "system": best[0].name}
    about |= {key: None if end is None else float(end) for key, end in (("low", low), ("high", high))}
    return YearOfTask(year, **about, n=None if score is None else score.n)


def read_archive(path: str | Path, names: Mapping[str, str] = MappingProxyType({})) -> Archive:
    """Read a table of years: a CSV file with a header, or a YAML list of mappings.

    A row gives a ``year`` and a ``store``, whose evaluations (or a single ``evaluation``) become tasks; or results
    published elsewhere: a ``task`` with its ``runs``, ``metric`` and ``best`` value; or numbers of ``individuals`` and
    ``countries``.

    `path`: stores are relative to its folder.
    `names`: displayed names of stores by their real paths; default: names of their folders.
    """
    path = Path(path)
    entries: list[YearOfTask] = []
    counts: dict[int, dict[str, int]] = {}
    boards: dict[Path, Leaderboard] = {}
    for place, row in _rows_of(path):
        for name in row:
            if name not in COLUMNS:
                raise QueryError(f"{place}: unknown column {name!r}; {suggest(name, COLUMNS)}")
        texts = {name: text for name, text in row.items() if text}
        if not IS_YEAR.fullmatch(texts.get("year", "")):
            raise QueryError(f"{place}: invalid year {texts.get('year', '')!r}: expected a year such as 2008")
        year = int(float(texts["year"]))
        people: dict[str, int] = {
            name: _whole(place, name, texts[name]) for name in ("individuals", "countries") if name in texts
        }
        counts.setdefault(year, {}).update(people)
        if "store" in texts:
            source = path.parent / texts["store"]
            for name in ("runs", "best", "system"):
                if name in texts:
                    raise QueryError(f"{place}: {name!r} is known from the store; leave it out")
            if source not in boards:
                boards[source] = leaderboard(read_scores(source))
            evaluations = {evaluation.name: evaluation for evaluation in boards[source].evaluations}
            wanted = texts.get("evaluation")
            if wanted is not None and wanted not in evaluations:
                raise UnknownNameError(f"evaluation of {source}", wanted, evaluations)
            store = names.get(os.path.realpath(source), source.name.removesuffix(".zarr"))
            chosen = [evaluation for name, evaluation in evaluations.items() if wanted in (None, name)]
            if "part" in texts and len(chosen) > 1:
                raise QueryError(f"{place}: part {texts['part']!r} of {counted(len(chosen), 'evaluation')}; name one")
            made = (_entry(year, store, evaluation, evaluation.systems, texts) for evaluation in chosen)
            entries += [replace(entry, source=source) for entry in made]
        elif "task" in texts:
            entries.append(_published(place, year, texts))
        elif not {"individuals", "countries"} & texts.keys():
            raise QueryError(f"{place}: expected a store or a task")
    if not entries:
        raise QueryError(f"{path}: no row with a store or a task")
    entries.sort(key=lambda entry: entry.year)
    archive = Archive(entries, {year: people for year, people in counts.items() if people})
    changes: dict[int, str] = {}
    for of_metric in archive.grouped("part", "metric").values():
        stored = [entry for entry in of_metric if entry.source is not None and entry.system]
        changes |= {id(after): _change(before, after) for before, after in pairwise(stored)}
    return replace(archive, entries=[replace(entry, change=changes.get(id(entry), "")) for entry in archive.entries])


def _change(before: YearOfTask, after: YearOfTask) -> str:
    assert before.source is not None
    assert after.source is not None
    if before.measure != after.measure:
        return f"by another metric: {before.measure}, {after.measure}"
    sources = {"before": (before.source, before.evaluation), "after": (after.source, after.evaluation)}
    boards = {label: boards_of(open_store(path))[name] for label, (path, name) in sources.items()}
    tracks = [set(names_of(ds, "track")) for ds in boards.values()]
    if tracks[0] != tracks[1]:
        shared = len(tracks[0] & tracks[1])
        return f"other test sets: {len(tracks[0])} and {counted(len(tracks[1]), 'track')}, {shared} in both"
    renamed = {
        label: ds.assign_coords(system=[f"{label}/{name}" for name in names_of(ds, "system")])
        for label, ds in boards.items()
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MirflowWarning)  # of references, as is said below
            joined = join_group(after.evaluation, renamed)
            if REFERENCES_DIFFER in joined.attrs:
                return f"other references: {joined.attrs[REFERENCES_DIFFER]}"
            pair = [f"after/{after.system}", f"before/{before.system}"]
            compared = compare(joined, Query(after.measure, exact=True, system=pair))
    except QueryError as error:
        return f"not compared: {error}"
    cell = compared.sel(system=pair[0], other=pair[1]).isel(metric=0)
    difference, low, high, p = (float(cell[name]) for name in ("difference", "low", "high", "p_corrected"))
    ends = "" if math.isnan(low) else f" [{low:+.3f}, {high:+.3f}]"
    tested = "too few tracks for a test" if math.isnan(p) else f"p {'< 0.001' if p < 0.0005 else f'= {p:.3f}'}"
    return f"{difference:+.3f}{ends}, {tested}"


def _published(place: str, year: int, row: Mapping[str, str]) -> YearOfTask:
    best = None
    if "best" in row:
        try:
            best = float(row["best"])
        except ValueError:
            best = math.nan
        if not math.isfinite(best):
            raise QueryError(f"{place}: invalid best {row['best']!r}: expected a number")
    runs = _whole(place, "runs", row["runs"]) if "runs" in row else None
    name, metric, system, category = (row.get(key, "") for key in ("name", "metric", "system", "category"))
    task, shown = row["task"], row.get("best", "-")
    part = row.get("part", task)
    return YearOfTask(year, task, part, name, metric, runs, best, system, shown=shown, category=category)


def _whole(place: str, name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise QueryError(f"{place}: invalid {name} {text!r}: expected a whole number")
    return int(text)


def _rows_of(path: Path) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield the rows of a table of years, each with its place for messages."""
    if path.suffix.lower() in (".yaml", ".yml"):
        document = read_document(path)
        if document.problems:
            raise QueryError(f"{path}: {document.problems[0]}")
        rows: Any = document.data
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise QueryError(f"{path}: expected a list of rows such as - {{year: 2008, store: 2008.zarr}}")
        for number, row in enumerate(rows):
            line = document.lines.get((number,))
            place = f"{path}:{line}" if line is not None else f"{path}: row {number + 1}"
            yield place, {str(name): "" if value is None else str(value) for name, value in row.items()}
        return
    try:
        data, size = read_within(path, _MAX_BYTES)
        if size > _MAX_BYTES:
            raise QueryError(f"{path}: is larger than {_MAX_BYTES // 2**20} MB: not a table of years")
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        header: list[str] = []
        for fields in reader:
            texts = [text.strip() for text in fields]
            if not any(texts):
                continue
            if not header:
                header = texts
                continue
            if len(texts) > len(header):
                raise QueryError(f"{path}:{reader.line_num}: has {len(texts)} fields, the header {len(header)}")
            named = zip(header, texts, strict=False)
            yield f"{path}:{reader.line_num}", {name: text for name, text in named if name}
    except UnreadableError as error:
        raise QueryError(str(error)) from None
    except UnicodeDecodeError as error:
        raise QueryError(f"{path}: not UTF-8 (byte {error.start})") from None
    except csv.Error as error:
        raise QueryError(f"cannot read {path}: {error}") from None
