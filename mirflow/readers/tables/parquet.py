"""Parquet files, such as those of data sets of Hugging Face: a row for each item, or a row of lists for each track.

Rows are grouped by track, system and annotator. Only the columns of the task are read, one row group at a time; but
columns that name the tracks or may separate annotations, and unread ones that may be content, are read whole on
opening. The rows of a track may be in several files, and a file may hold one track alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ...annotations.account import Account, Remark
from ...annotations.annotation import Annotation
from ...annotations.arrays import from_columns
from ...annotations.schema import KINDS
from ...errors import AnnotationError, InvalidAnnotationError, MirflowError, UnreadableError, counted
from ...ragged import Column, Int, group_by_key, offsets_of
from ...theory.text_form import normal_form
from ..content import open_file
from ..delimited import ROW_KINDS, Layout, annotation_of, demand_columns_of_kind, finish, has_numbers
from ..doubts import CONTENT, report_header, separates, unread_places
from ..downloads import local_path
from ..layouts import SEPARATING, TRACK_NAMES, demand_read, demand_units, heading
from ..lyrics import as_declared
from ..names import name_tracks
from ..nested_columns import (
    Leaf,
    bytes_of_texts,
    class_names,
    find_path,
    follow,
    import_arrow,
    infer_paths,
    leaves_of,
    name_classes,
    without_dictionaries,
)
from ..options import COLUMNS, KEYS, Reading
from .table import RowKey, SameLine, TrackTable, demand_one_key

HELD = 2**28
"""Limit of the memory of the row groups that a table caches, in bytes."""
_NUMBER = 8
"""Bytes of a number in memory."""
_ROWS = 4096
"""Rows that are read at once."""
_ALONE = RowKey("")
"""Key of the annotation in a file of one track."""
_SINGLE = ("key", "tempo", "text")
"""Kinds with one row per track, whose columns may be single values."""


@dataclass(eq=False)
class ParquetTable(TrackTable):
    """An open Parquet file, whose rows are grouped by key."""

    name: str
    reading: Reading
    file: ParquetRows
    leaves: Mapping[str, Leaf]
    """The leaf of each column that is read, without the keys."""
    of_key: Mapping[RowKey, Int]
    """Rows of each key, counted from 0."""
    remarks: tuple[Remark, ...] = ()
    """Remarks about the columns that are not read."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return 300 * len(self.of_key) + _NUMBER * int(self.file.starts[-1]) + self.file.held

    @property
    def whole(self) -> bool:
        """True if a track has one row."""
        return self.reading.kind in _SINGLE or any(leaf.depth for leaf in self.leaves.values())

    def data(self, key: RowKey) -> bytes:
        """The values of a key in the columns that are read."""
        self.demand(key)
        with reading_arrow(self.name):
            found = {name: values.to_pylist() for name, values in self._values(key).items()}
        return msgspec.json.encode(found, enc_hook=str)

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The annotation in the rows of a key; its lines are numbers of rows, counted from 1."""
        first = int(self.of_key[key][0]) + 1 if len(self.of_key[key]) else None
        try:
            with reading_arrow(self.name):
                found = self._annotation(key)
        except AnnotationError as error:
            line = first if error.line is None else error.line
            raise type(error)(error.message, path=self.name, line=line) from None
        return replace(found, account=(*self.remarks, *found.account))

    def _annotation(self, key: RowKey) -> Annotation:
        reading, kind, rows = self.reading, ROW_KINDS[self.reading.kind], self.of_key[key]
        if self.whole and not len(rows):
            raise UnreadableError("the file has no rows")
        if self.whole and len(rows) > 1:
            hint = "read a file of many tracks with load_collection" if key == _ALONE else "a track needs one row"
            raise InvalidAnnotationError(f"has several rows of a track; {hint}", line=int(rows[1]) + 1)
        values = self._values(key)
        values = {name: held for name, held in values.items() if held.null_count < len(held) or not len(held)}
        needed = {*chain.from_iterable(kind.needed)} or {kind.arguments[0]}
        absent = next((leaf for name, leaf in self.leaves.items() if name in needed and name not in values), None)
        if absent is not None:
            raise InvalidAnnotationError(f"the column {absent.path!r} has no value")
        if kind.name not in COLUMNS:
            given = {name: held.to_pylist() for name, held in values.items()}
            given = {name: held[0] for name, held in given.items()} if self.whole else given
            found = replace(from_columns(kind, given), attrs={"source": self.name})
            return as_declared(found, reading) if kind.name == "text" else found
        if self.whole:
            values = {name: held.flatten() for name, held in values.items()}
        sizes = {self.leaves[name].path: len(held) for name, held in values.items()}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{path} has {size}" for path, size in sizes.items())
            raise InvalidAnnotationError(f"columns differ in length: {listed}")
        numbers: dict[str, Column] = {}
        labels: list[str] | None = None
        for name, held in values.items():
            path = self.leaves[name].path
            if name == "label":
                labels = [_text(value) for value in held.to_pylist()]
            elif name in kind.texts:
                numbers[name] = np.array([_text(value) for value in held.to_pylist()], dtype=np.str_)
            else:
                arrow = import_arrow("Parquet")
                if not (_is_numeric(held.type) or arrow.types.is_boolean(held.type) or arrow.types.is_null(held.type)):
                    some = next((value for value in held.to_pylist() if value is not None), None)
                    raise InvalidAnnotationError(f"the column {path!r} holds {held.type}, not numbers: {some!r}")
                column: Column = held.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
                numbers[name] = column.astype(np.float64)
        lines: Sequence[int] = (self.of_key[key] + 1).tolist()
        if self.whole:
            lines = SameLine(lines[0], next(iter(sizes.values())))
        layout = Layout(kind, reading, self.name, "", dict.fromkeys(values, 0), -1, [])
        return finish(annotation_of(layout, numbers, labels, lines, {"source": self.name}), reading, self.name)

    def _values(self, key: RowKey) -> dict[str, Any]:
        """The Arrow array of each column in the rows of a key."""
        return {name: self.file.take(leaf.path, self.of_key[key]) for name, leaf in self.leaves.items()}

    def joined(self, others: Sequence[TrackTable], key: RowKey) -> TrackTable:
        """The rows of a key here and in other Parquet files; rows are counted through all of them."""
        parts = [self, *(one for one in others if isinstance(one, ParquetTable))]
        starts = offsets_of(np.array([int(part.file.starts[-1]) for part in parts], dtype=np.int64))
        held = [part.of_key[key] + at for part, at in zip(parts, starts, strict=False) if key in part.of_key]
        of_key = {key: np.concatenate(held)} if held else {}
        name = " and ".join(part.name for part in parts)
        return ShardedTable(name, self.reading, self.file, self.leaves, of_key, self.remarks, parts)


@dataclass(eq=False)
class ShardedTable(ParquetTable):
    """The rows of a key in several open files."""

    parts: Sequence[ParquetTable] = ()

    def demand(self, key: RowKey) -> None:
        """Raise unless one of the files has a key."""
        if key not in self.of_key:
            self.parts[0].demand(key)

    def _values(self, key: RowKey) -> dict[str, Any]:
        arrow = import_arrow("Parquet")
        found = [part._values(key) for part in self.parts if key in part.of_key]
        try:
            table = {name: arrow.concat_arrays([one[name] for one in found]) for name in self.leaves}
        except (KeyError, arrow.ArrowException):
            every = ([f"{leaf.path} ({leaf.type})" for leaf in part.leaves.values()] for part in self.parts)
            listed = "; ".join(map(", ".join, every))
            raise InvalidAnnotationError(f"the columns of the files differ: {listed}", path=self.name) from None
        return table


@contextmanager
def reading_arrow(name: str, what: str = "cannot be read") -> Iterator[None]:
    """Convert errors of pyarrow, and those in values that it gives, to errors of a file."""
    arrow = import_arrow("Parquet")
    try:
        yield
    except (MirflowError, MemoryError):
        raise
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, arrow.ArrowException) as error:
        raise UnreadableError(f"{what}: {error}", path=name) from None


class ParquetRows:
    """The columns that are read of an open file, of which a few row groups are in memory."""

    def __init__(self, source: Any, name: str, max_bytes: int) -> None:
        arrow = import_arrow("Parquet")
        self.name = name
        self.max_bytes = max_bytes
        with reading_arrow(name, "is not a Parquet file"):
            schema = arrow.parquet.read_metadata(source).schema
            self._names = [schema.column(place).path for place in range(len(schema.names))]
            # Texts are read as dictionaries, as a small file may repeat a long one very often.
            self._file = arrow.parquet.ParquetFile(source, read_dictionary=self._names)
            self.schema = self._file.schema_arrow
            self.leaves = list(leaves_of(self.schema))
            metadata = self._file.metadata
            counts = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
        if min(counts, default=0) < 0 or sum(counts) != metadata.num_rows:
            message = f"is damaged: it declares {metadata.num_rows} rows, and row groups of {counts[:8]} rows"
            raise UnreadableError(message, path=name)
        alike = len(self._names) == len(self.leaves)
        self._stored = {leaf.path: path for leaf, path in zip(self.leaves, self._names, strict=False) if alike}
        self.starts: Int = offsets_of(np.array(counts, dtype=np.int64))
        """First row of each row group, and the number of rows."""
        self.paths: Sequence[str] = ()
        """Paths of the columns that are read."""
        self._groups: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._classes = class_names(self.schema)

    @property
    def held(self) -> int:
        """Bytes of the row groups in memory."""
        return sum(array.nbytes for group in self._groups.values() for array in group.values())

    def read(self, paths: Sequence[str], groups: Sequence[int]) -> dict[str, Any]:
        """The Arrow arrays at some paths, in some row groups."""
        arrow = import_arrow("Parquet")
        bare = [path if path in self._stored else path.rpartition(".")[0] for path in paths]
        columns = [self._stored.get(path, path.partition(".")[0]) for path in bare]
        rows, size = 0, 0
        with reading_arrow(self.name):
            # The sizes of columns that the file declares are not asked for: pyarrow ends the process if they are
            # damaged.
            parts: list[dict[str, Any]] = []
            batches = self._file.iter_batches(_ROWS, list(groups), columns, use_threads=False) if len(groups) else ()
            tables = (arrow.Table.from_batches([batch]) for batch in batches)
            for table in chain([self.schema.empty_table()], tables):  # of the types, if there are no rows
                table.validate(full=True)  # offsets, and the encoding of texts
                rows += table.num_rows
                part = {path: name_classes(follow(table, path), self._classes.get(path)) for path in paths}
                size += sum(array.nbytes + bytes_of_texts(array) for array in part.values())
                if size > self.max_bytes:
                    break
                parts.append(part)
        if size > self.max_bytes:
            over = f"over {self.max_bytes / 2**20:.3g} MB of a row group"
            raise UnreadableError(f"too large: {over} (max_bytes raises the limit)", path=self.name)
        declared = sum(int(self.starts[group + 1] - self.starts[group]) for group in groups)
        if paths and rows != declared:
            raise UnreadableError(f"is damaged: {counted(rows, 'row')} where it declares {declared}", path=self.name)
        with reading_arrow(self.name):
            return {path: arrow.concat_arrays([without_dictionaries(part[path]) for part in parts]) for path in paths}

    def take(self, path: str, rows: Int) -> Any:
        """The values at a path in some rows, in ascending order."""
        arrow = import_arrow("Parquet")
        owner = np.searchsorted(self.starts, rows, side="right") - 1
        with reading_arrow(self.name):
            parts = []
            for group in dict.fromkeys(owner.tolist()):
                if group not in self._groups:
                    self._groups[group] = self.read(self.paths, [group])
                    while len(self._groups) > 1 and self.held > HELD:
                        self._groups.popitem(last=False)
                self._groups.move_to_end(group)
                parts.append(self._groups[group][path].take(arrow.array(rows[owner == group] - self.starts[group])))
            return arrow.concat_arrays(parts) if parts else arrow.array([], arrow.float64())


def open_parquet(path: str, reading: Reading, name: str) -> ParquetTable:
    """Open a Parquet file with a column of tracks."""
    with open_file(path, name):  # refuses pipes and devices, and names missing files
        file, chosen = _open(local_path(path, name), reading, name)
    keys = {column: chosen.pop(column) for column in KEYS if column in chosen}
    try:
        if "track" not in keys:
            keys = {"track": track_column(chosen, file.leaves), **keys}
        for column, leaf in keys.items():
            if leaf.depth:
                raise InvalidAnnotationError(f"the column {leaf.path!r} of the {column} holds lists")
        read = file.read([leaf.path for leaf in keys.values()], range(len(file.starts) - 1))
        held = {column: read[leaf.path].to_pylist() for column, leaf in keys.items()}
        texts = {column: [normal_form(_text(value)) for value in values] for column, values in held.items()}
        if "" in texts["track"]:
            raise InvalidAnnotationError("the row has no track", line=texts["track"].index("") + 1)
        distinct = list(dict.fromkeys(texts["track"]))
        short = dict(zip(distinct, name_tracks(distinct), strict=True))
        texts["track"] = [short[track] for track in texts["track"]]
        groups = group_by_key(zip(*texts.values(), strict=True))
        of_key = {RowKey(**dict(zip(texts, key, strict=True))): rows for key, rows in groups.items()}
        columns = {**keys, **chosen}
        for leaf in () if reading.delimited.columns else file.leaves:
            # A column that separates annotations, such as systems, of which a track has several, has to be declared.
            if heading(leaf.path) in SEPARATING and not leaf.depth and leaf not in columns.values():
                named = list(map(_text, file.read([leaf.path], range(len(file.starts) - 1))[leaf.path].to_pylist()))
                rows_of = {key: [(row + 1, named[row]) for row in own.tolist()] for key, own in of_key.items()}
                demand_one_key(leaf.path, rows_of, {name: one.path for name, one in columns.items()}, file.name)
    except InvalidAnnotationError as error:
        raise InvalidAnnotationError(error.message, path=name, line=error.line) from None
    return ParquetTable(name, reading, file, chosen, of_key, _report_unread(reading, file, columns))


def parse_parquet(data: bytes, reading: Reading, format: str, name: str | Path) -> Annotation:
    """The annotation in a Parquet file of one track: a row for each item, or one row of lists."""
    file, chosen = _open(BytesIO(data), reading, str(name))
    for leaf in file.leaves:  # whose rows would be taken for those of one track
        if not leaf.depth and heading(leaf.path) in TRACK_NAMES and not _is_numeric(leaf.type):
            count = len(file.read([leaf.path], range(len(file.starts) - 1))[leaf.path].unique())
            if count > 1:
                message = f"holds {count} tracks (column {leaf.path!r}): read it with load_collection"
                raise InvalidAnnotationError(message, path=file.name)
    rows = np.arange(file.starts[-1], dtype=np.int64)
    leaves = {column: leaf for column, leaf in chosen.items() if column not in KEYS}
    remarks = _report_unread(reading, file, chosen)
    return ParquetTable(str(name), reading, file, leaves, {_ALONE: rows}, remarks).annotation(_ALONE, b"")


def _report_unread(reading: Reading, file: ParquetRows, chosen: Mapping[str, Leaf]) -> tuple[Remark, ...]:
    """Remarks about columns beside those that are read; raises if they may be content, or separate annotations."""
    first = next((leaf for column, leaf in chosen.items() if column not in KEYS), None)
    if reading.delimited.columns or first is None:
        return ()
    beside = [leaf for leaf in file.leaves if (leaf.depth, leaf.parent) == (first.depth, first.parent)]
    names, account = [leaf.name for leaf in beside], Account(file.name)
    places = {column: beside.index(leaf) for column, leaf in chosen.items() if leaf in beside}
    apart = "track" not in chosen and not first.depth  # other rows are compared by track
    kind = ROW_KINDS[reading.kind]
    left = unread_places(kind, names, places, reading.task)
    unread = [place for place in left if apart or heading(names[place]) not in SEPARATING]
    wanted = {place for place in unread if heading(names[place]) in CONTENT or separates(names[place], kind)}
    wanted |= {places["label"]} if wanted and "label" in places else set()
    columns = [["x"] * (1 if not wanted else 0) for _ in names]
    if wanted:
        read = file.read([beside[place].path for place in wanted], range(len(file.starts) - 1))
        texts = {place: read[beside[place].path] for place in wanted}
        for place, held in texts.items():
            columns[place] = [_text(value) for value in (held.flatten() if first.depth else held).to_pylist()]
        longest = max(map(len, columns))
        columns = [column if place in wanted else ["x"] * longest for place, column in enumerate(columns)]
    rows = [(line, list(fields)) for line, fields in enumerate(zip(*columns, strict=False), 1)]
    report_header(kind, names, places, unread, rows, account)
    return account.remarks


def _open(source: Any, reading: Reading, name: str) -> tuple[ParquetRows, dict[str, Leaf]]:
    """An open file, and the leaf of each column that is read."""
    if reading.kind in ("audio", "sheet_music"):
        raise UnreadableError(f"{reading.task or reading.kind} cannot be read from Parquet", path=name)
    file = ParquetRows(source, name, reading.max_bytes)
    try:
        chosen = _choose(reading, file)
    except InvalidAnnotationError as error:
        raise InvalidAnnotationError(error.message, path=name) from None
    file.paths = [leaf.path for column, leaf in chosen.items() if column not in KEYS]
    return file, chosen


def _choose(reading: Reading, file: ParquetRows) -> dict[str, Leaf]:
    kind, leaves, options = ROW_KINDS[reading.kind], file.leaves, reading.delimited
    place = next((where for _, where in options.columns if isinstance(where, int)), None)
    if place is not None:
        raise InvalidAnnotationError(f"columns of Parquet files are declared by name, not by number: {place}")
    chosen = {column: find_path(str(where), leaves) for column, where in options.columns}
    if kind.name not in COLUMNS and chosen:
        return chosen
    if kind.name not in COLUMNS:  # by the names of arguments in memory; the first may be called as the task or kind
        named, first = {leaf.name: leaf for leaf in reversed(leaves)}, kind.arguments[0]
        chosen = {column: named[column] for column in kind.given_as if column in named}
        alias = next((name for name in (reading.task, kind.name) if name in named), None)
        if alias is not None:
            chosen.setdefault(first, named[alias])
        if first not in chosen and not {*kind.required} <= chosen.keys():
            listed = ", ".join(leaf.path for leaf in leaves)
            message = f"no column holds the {first} ({listed}); declare format: parquet and"
            raise InvalidAnnotationError(f"{message} columns: {{track: NAME, {first}: NAME}}")
        return chosen
    if chosen:
        demand_columns_of_kind(kind, chosen, options, file.name, None, keyed=True)
    else:
        chosen = infer_paths(kind, leaves)
        label = chosen.get("label")
        if label is not None and has_numbers(reading):  # of which none may be skipped because of its name
            beside = [leaf for leaf in leaves if (leaf.depth, leaf.parent) == (label.depth, label.parent)]
            places = {column: beside.index(leaf) for column, leaf in chosen.items() if leaf in beside}
            sample = ["0" if _is_numeric(leaf.type) else "text" for leaf in beside]
            demand_read(KINDS[reading.kind], [leaf.path for leaf in beside], [sample], places, file.name, 1)
        index = {column: position for position, column in enumerate(chosen)}
        demand_units([leaf.name for leaf in chosen.values()], index, reading, file.name, None)
        if not (reading.selection or "").startswith("bar"):
            chosen.pop("bar", None)
    depths = {leaf.path: leaf.depth for column, leaf in chosen.items() if column not in KEYS}
    if len(set(depths.values())) > 1 or max(depths.values()) > 1:
        listed = ", ".join(f"{path} ({counted(depth, 'list')})" for path, depth in depths.items())
        message = f"columns must be single values, with one row per item, or lists, with one row per track: {listed}"
        raise InvalidAnnotationError(message)
    return chosen


def track_column(chosen: Mapping[str, Leaf], leaves: Sequence[Leaf]) -> Leaf:
    """The column that names the tracks, besides those that are `chosen`; raise if there is none."""
    single = {heading(leaf.path): leaf for leaf in reversed(leaves) if not leaf.depth and leaf not in chosen.values()}
    for name in TRACK_NAMES:
        if name in single:
            return single[name]
    known = "".join(f", {column}: {leaf.path}" for column, leaf in chosen.items())
    listed = ", ".join(leaf.path for leaf in leaves)
    message = f"no column names the tracks ({listed}); declare columns: {{track: NAME{known}}}"
    raise InvalidAnnotationError(f"{message}, or write {{track}} into the path of files of one track each")


def _text(value: Any) -> str:
    """A label: whole numbers without a point, and nothing for a missing value."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.15g}"
    return "" if value is None else str(value)


def _is_numeric(kind: Any) -> bool:
    types = import_arrow("Parquet").types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))
