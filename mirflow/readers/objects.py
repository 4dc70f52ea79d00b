"""Convert objects in memory to annotations, by type: datasets, jams and MIDI objects, tables, and plain arrays.

A table may hold the annotations of many tracks and systems; each becomes a source, which is converted when it is read.
Columns of tables that are not read are reported. Types of other libraries are recognized without importing these.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, as_items
from ..annotations.arrays import as_column, from_arguments, from_columns, is_several, texts, unnested
from ..annotations.labelled import from_dataset
from ..annotations.schema import KINDS, TASK_KINDS, Kind
from ..annotations.source import MemorySource, Source
from ..errors import (
    AnnotationError,
    InvalidAnnotationError,
    UnknownNameError,
    UnreadableError,
    counted,
    suggest,
    warn_caller,
)
from ..ragged import Column, Int, group_by_key
from ..theory.general_midi import BENT, PROGRAMS, SUSTAIN
from ..theory.pitch import to_hertz
from ..theory.text_form import normal_form
from .doubts import CONTENT, demand_one_subject, report_header, unread_places
from .formats import SUFFIXES
from .jams import is_jams, open_objects
from .label_maps import in_harte, in_normal_form
from .layouts import SEPARATING, heading
from .midi import extend_ends, told_pedal
from .mirdata import convert as from_mirdata_object
from .mirdata import is_mirdata
from .nested_columns import class_names, name_classes, struct_columns
from .options import HARTE, Reading
from .ranks import order_by_score, order_names
from .sources import source_at

Convert = Callable[[Any, Reading], Annotation]
"""(object, kind and options of reading) -> annotation."""
_PLAIN = frozenset({str, tuple, list, dict, np.ndarray})
"""Types for which no test of `CONVERTERS` holds."""


def is_type(thing: object, module: str, *names: str) -> bool:
    """True for an instance of a named class of a module, or of a subclass; nothing is imported."""
    return any(one.__name__ in names and f"{one.__module__}.".startswith(f"{module}.") for one in type(thing).__mro__)


def kind_named(task: str) -> Kind:
    """The kind of a task, or the kind of that name.

    Examples
    --------
    >>> kind_named("chord").name, kind_named("notes").name
    ('intervals', 'notes')
    """
    if not isinstance(task, str):
        message = f"the first argument must be the name of a task, such as 'beat', not {type(task).__name__}"
        raise AnnotationError(message)
    if task not in TASK_KINDS and task not in KINDS:
        raise UnknownNameError("task or kind", task, {*TASK_KINDS, *KINDS})
    return KINDS[TASK_KINDS.get(task, task)]


def is_object(thing: object) -> bool:
    """True for an object of a type that holds an annotation, including tables.

    Examples
    --------
    >>> is_object(Annotation("events", {"time": np.zeros(1)})), is_object(np.zeros(1))
    (True, False)
    """
    return type(thing) not in _PLAIN and (is_table(thing) or any(test(thing) for test, _ in CONVERTERS))


VOCABULARY = ("labels", "notation")
"""Options of reading that also apply to the labels of annotations in memory."""


def in_vocabulary(annotation: Annotation, task: str | None, options: Mapping[str, Any]) -> Annotation:
    """Translate and map the labels of an annotation in memory, as those of files are."""
    own = {name: options[name] for name in VOCABULARY if options.get(name) is not None}
    if not own:
        return in_normal_form(annotation)
    reading = Reading.of(task, kind=annotation.kind, **own)
    annotation = annotation if reading.notation == HARTE else in_harte(annotation, None)
    return in_normal_form(annotation, reading.labels)


def to_annotation(thing: Any, task: str, **options: Any) -> Annotation:
    """Convert an object to an annotation of a task or a kind, by its type.

    It is an `Annotation`, xr.Dataset, object of jams, pretty_midi or mirdata, path, table, mapping of columns, tuple of
    the arguments of mir_eval's functions, or the first of these arguments. A str is a path, except for tasks whose
    annotations are text (``key``, ``classification``); in ``lyrics``, it is a path if it ends in a suffix. Options of
    reading are those of paths and objects of jams; those of `VOCABULARY` apply to all.
    """
    if not options or is_read(thing, task):
        return in_normal_form(_converted(thing, task, options))
    found = _converted(thing, task, {name: value for name, value in options.items() if name not in VOCABULARY})
    return in_vocabulary(found, task if task in TASK_KINDS else None, options)


def _converted(thing: Any, task: str, options: Mapping[str, Any]) -> Annotation:
    kind = kind_named(task)
    if type(thing) is np.ndarray:
        return _in_order(from_arguments(kind, (thing,)), thing)
    plain, of_task = type(thing) in _PLAIN, task if task in TASK_KINDS else None
    for test, convert in () if plain else CONVERTERS:
        if test(thing):
            found = convert(thing, Reading.of(of_task, kind=kind.name, **options))
            if found.kind != kind.name:
                raise InvalidAnnotationError(f"holds {found.kind}, but the task {task} compares {kind.name}")
            return found
    if is_path(thing, kind):
        return source_at(thing, Reading.of(of_task, kind=kind.name, **options)).open()
    if type(thing) is str and kind.written and "\n" not in thing and thing.lower().endswith((*SUFFIXES, ".json")):
        with suppress(OSError):  # the text is too long for a file name
            if Path(thing).is_file():
                what = f"is a file, but in the task {task} a str is the annotation itself"
                raise AnnotationError(f"{thing!r} {what}; pass pathlib.Path({thing!r}) to read the file")
    if not plain and is_table(thing):
        account = Account(None)
        return replace(of_columns(kind, _known_columns(kind, table_columns(thing), account)), account=account.remarks)
    if type(thing) is dict or (not plain and isinstance(thing, Mapping)):
        return of_columns(kind, {kind.arguments[0]: thing} if are_numbers(thing, kind) else thing)
    # A sequence of numbers or names is itself the first argument.
    plain = isinstance(thing, tuple) and len(thing) > 0 and all(isinstance(one, Real | str) for one in thing)
    several = isinstance(thing, tuple) and (kind.name == "tempo" or not plain)
    values = thing if several else (thing,)
    return _in_order(from_arguments(kind, values), values[0] if values else None)  # of a key, () is none


def of_columns(kind: Kind, columns: Mapping[str, Any]) -> Annotation:
    """Convert columns; lists of names are sorted as in files."""
    return _in_order(from_columns(kind, columns), columns.get("label"))


def _in_order(annotation: Annotation, label: Any) -> Annotation:
    """Sort a list by its ranks or scores, as in files; items with scores by name are sorted as in runs."""
    if not annotation.schema.listed:
        return annotation
    ordered = order_names(annotation, None)
    return order_by_score(ordered) if isinstance(label, Mapping) and annotation.kind == "ranking" else ordered


def is_path(thing: object, kind: Kind) -> bool:
    """True for a path; in audio tasks, also for a list of paths.

    Examples
    --------
    >>> is_path("a.lab", KINDS["intervals"]), is_path("C major", KINDS["key"])
    (True, False)
    >>> is_path("oh my love", KINDS["text"]), is_path("song.txt", KINDS["text"])
    (False, True)
    """
    if kind.name == "audio" and isinstance(thing, list | tuple):
        return bool(thing) and all(isinstance(one, str | os.PathLike) for one in thing)
    if isinstance(thing, str) and kind.name == "text":
        return "\n" not in thing and thing.lower().endswith(SUFFIXES)
    return isinstance(thing, os.PathLike) or (isinstance(thing, str) and not kind.written)


def is_read(thing: object, task: str | None) -> bool:
    """True for paths and objects of the jams package, which options of reading apply to.

    Examples
    --------
    >>> is_read("a.lab", "chord"), is_read([0.5], "beat")
    (True, False)
    """
    if task is None:
        return is_jams(thing) or isinstance(thing, str | os.PathLike)
    return is_jams(thing) or is_path(thing, kind_named(task))


def are_numbers(thing: Mapping[Any, Any], kind: Kind) -> bool:
    """True for a mapping of names to numbers, such as affinities of tags or scores of items."""
    return kind.listed and len(thing) > 0 and all(isinstance(one, Real) for one in thing.values())


def is_annotation(thing: object, kind: Kind) -> bool:
    """True for a mapping that is a single annotation: columns of the kind, or names to numbers."""
    if not isinstance(thing, Mapping) or not thing:
        return False
    columns = set(thing) <= set(kind.given_as)
    return are_numbers(thing, kind) or (columns and not any(isinstance(v, Mapping) for v in thing.values()))


def _from_dataset(thing: Any, reading: Reading) -> Annotation:
    """Convert a labelled dataset; without a kind, by its task. Other variables of its items are reported."""
    annotation = from_dataset(thing if "kind" in thing.attrs else thing.assign_attrs(kind=reading.kind))
    kind = annotation.schema
    if not kind.dims or kind.dims[1:]:
        return annotation
    read = {variable.name for variable in kind.variables}
    columns = {str(name): one.values for name, one in thing.variables.items() if one.dims == kind.dims}
    others = columns.keys() - read - {*kind.dims}
    if not others:
        return annotation
    account = Account(None)
    _report_others(kind, columns, {name: place for place, name in enumerate(columns) if name not in others}, account)
    return replace(annotation, account=(*annotation.account, *account.remarks))


def _from_pretty_midi(thing: Any, reading: Reading) -> Annotation:
    """Notes without percussion, by start and pitch, with velocities, programs and their names; or hits of percussion.

    As a channel in a file, each instrument has its own pedal.
    """
    account = Account("<pretty_midi>")
    struck = sorted((n.start, n.pitch, n.velocity) for one in thing.instruments if one.is_drum for n in one.notes)
    if reading.kind == "hits":
        others = sum(len(one.notes) for one in thing.instruments if not one.is_drum)
        if others and not struck:
            account.add("channels", f"{counted(others, 'note')} other than percussion not read", count=others)
        time, pitch, velocity = np.array(struck, dtype=np.float64).reshape(-1, 3).T
        drums = [str(int(one)) for one in pitch.tolist()]
        hits = {"time": time, "velocity": velocity}
        return Annotation("hits", hits, drums, lines=(), account=account.remarks)
    if struck and all(one.is_drum or not one.notes for one in thing.instruments):
        account.add("percussion", f"{counted(len(struck), 'note')} of percussion left out", count=len(struck))
    played = [(note, place) for place, one in enumerate(thing.instruments) if not one.is_drum for note in one.notes]
    played.sort(key=lambda one: (one[0].start, one[0].pitch))
    columns: dict[str, Column] = {}
    for name in ("start", "end", "pitch", "velocity"):
        columns[name] = np.array([getattr(note, name) for note, _ in played], dtype=np.float64)
    channel = np.array([place for _, place in played], dtype=np.int64)
    changes = [(index, change) for index, one in enumerate(thing.instruments) for change in one.control_changes]
    presses = [(float(change.time), index, int(change.value)) for index, change in changes if change.number == SUSTAIN]
    if reading.pedal == "extend":
        voice, last = channel * 128 + columns["pitch"].astype(np.int64), float(thing.get_end_time())
        columns["end"] = extend_ends(columns["start"], columns["end"], voice, channel, presses, last)
    programs = [int(thing.instruments[place].program) for _, place in played]
    columns["pitch"] = to_hertz(columns["pitch"], "notes", "MIDI")
    columns["program"] = np.array(programs, dtype=np.float64)
    columns["drum"] = np.zeros(len(played))
    labels = [PROGRAMS[program] for program in programs]
    bent = 0
    for instrument in thing.instruments:
        bends = sorted((bend.time, bend.pitch) for bend in instrument.pitch_bends)
        if bends and not instrument.is_drum:
            moved, wheel = np.array(bends, dtype=np.float64).T
            before = np.searchsorted(moved, np.array([note.start for note in instrument.notes]), side="right")
            bent += int((np.abs(np.append(0.0, wheel)[before]) >= BENT).sum())
    if bent:
        account.add("bends", f"{counted(bent, 'note')} that start bent; bends are not applied", count=bent)
    attrs, remarks = told_pedal(presses, extended=reading.pedal == "extend")
    return Annotation("notes", columns, labels, lines=(), attrs=attrs, account=(*remarks, *account.remarks))


CONVERTERS: tuple[tuple[Callable[[object], bool], Convert], ...] = (
    (lambda thing: isinstance(thing, Annotation), lambda thing, _: thing),
    (lambda thing: isinstance(thing, Source), lambda thing, _: thing.open()),
    (lambda thing: hasattr(thing, "data_vars"), _from_dataset),
    (is_jams, lambda thing, reading: open_objects(thing).select(reading, None)),
    (is_mirdata, from_mirdata_object),
    (lambda thing: is_type(thing, "pretty_midi", "PrettyMIDI"), _from_pretty_midi),
)
"""Tests of an object's type, which import nothing, and converters; the first matching test counts."""


def is_table(thing: object) -> bool:
    """True for a data frame of pandas or polars, a table of arrow or a data set of Hugging Face; nothing is imported.

    A series counts as an array, although it is a stream of arrow, as tables are.
    """
    if hasattr(thing, "__dataframe__") or is_type(thing, "datasets", "Dataset"):
        return True
    named = hasattr(thing, "columns") or hasattr(thing, "column_names")
    return hasattr(thing, "__arrow_c_stream__") and (named or not hasattr(thing, "__array__"))


def table_columns(table: Any) -> dict[str, Column]:
    """The columns of a data frame or table by name; columns of lists as arrays of lists or arrays.

    Fields of structs are columns by their paths, such as ``chords.start``, and numbers of classes are named. Levels of
    an index of pandas that have a name and several values are columns, too.
    """
    if is_type(table, "datasets", "Dataset"):
        table = table.with_format("arrow")[:]
    elif is_type(table, "pandas", "DataFrame"):
        named = [name for name in table.index.names if name is not None and name not in table.columns]
        levels = [name for name in named if table.index.get_level_values(name).nunique() > 1]
        table = table.reset_index(level=levels) if levels else table
    elif not (hasattr(table, "columns") or hasattr(table, "column_names")):  # a stream of arrow
        import pyarrow

        table = pyarrow.table(table)
    names = list(table.column_names if hasattr(type(table), "column_names") else table.columns)
    classes = class_names(getattr(table, "schema", None))
    if len(set(names)) < len(names):
        raise InvalidAnnotationError(f"the table has two columns {next(n for n in names if names.count(n) > 1)!r}")
    columns: dict[str, Column] = {}
    for name in names:
        column = table[name]
        if name in classes:
            column = name_classes(column.combine_chunks(), classes[name])
        fields = struct_columns(str(name), column)
        columns |= {path: as_items(values) for path, values in fields.items()}
        if not fields:
            columns[str(name)] = as_column(str(name), column)
    return columns


TRACK, SYSTEM = "track", "system"
_ALIKE = 0.8
"""Minimum similarity of an ignored column's name to a known one to suggest a misspelling."""
_SINGLE = frozenset({"weight", "rate", "language"})
"""Arguments that an annotation has once, regardless of its other columns."""


def _known_columns(kind: Kind, columns: Mapping[str, Column], account: Account) -> dict[str, Column]:
    """The columns of a table that the kind has; others are reported, and refused if they may be content."""
    if not (set(kind.required) <= columns.keys() or kind.arguments[0] in columns):
        # The fields of the only struct that has all that the kind needs.
        parents = dict.fromkeys(path.rpartition(".")[0] for path in columns if "." in path)
        able = [one for one in parents if all(f"{one}.{name}" in columns for name in kind.required)]
        if len(able) > 1:
            both = f"the columns {' and '.join(able)} both have {', '.join(kind.required)}"
            raise InvalidAnnotationError(f"{both}: leave only one in the table")
        fields = {f"{one}.{name}": name for one in able for name in kind.given_as}
        columns = {fields.get(path, path): column for path, column in columns.items()}
    known = {name: column for name, column in columns.items() if name in kind.given_as}
    others = [name for name in columns if name not in known]
    if TRACK in others:
        message = f"the table has a column {TRACK!r}: select one track, or pass many tracks to mirflow.score"
        raise InvalidAnnotationError(message)
    whole = {variable.name for variable in kind.variables}
    complete = kind.name == "note_alignment" and any(set(way) <= known.keys() for way in kind.needed)  # types follow
    missing = [name for name in kind.required if name not in known and not complete]
    if missing and not any(name in known for name in kind.arguments if name not in whole):
        listed = f"; rename one of {', '.join(others)}" if others else ""
        if missing == ["end"] and "duration" in others:
            listed = "; it has a 'duration': add a column 'end', which is start + duration"
        message = f"the table has no column {' or '.join(map(repr, missing))}, which {kind.name} need{listed}"
        raise InvalidAnnotationError(message)
    absent = [name for name in kind.given_as if name not in known]
    for name in others:
        near = difflib.get_close_matches(name, absent, 1, _ALIKE)
        if near:
            warn_caller(f"the column {name!r} is ignored: rename it to {near[0]!r} if it holds that of {kind.name}")
            columns = {other: column for other, column in columns.items() if other != name}
    if len(columns) > len(known) and not _holds_lists(known):
        _report_others(kind, columns, {name: index for index, name in enumerate(columns) if name in known}, account)
    held = known["label"].tolist() if "label" in known and known["label"].dtype == object else []
    if str in set(map(type, held)) and any(isinstance(value, Real) and value == value for value in held):
        account.add("mixed_columns", "the column 'label' holds texts and numbers, which are read as texts")
    return known


def _report_others(kind: Kind, columns: Mapping[str, Column], places: Mapping[str, int], account: Account) -> None:
    """Report the columns of a table that are not read."""
    names = list(columns)
    unread = unread_places(kind, names, places, None)
    wanted = [place for place in unread if heading(names[place]) in (*CONTENT, *SEPARATING)]
    texts = {
        place: ["" if not _is_given(value) else str(value) for value in columns[names[place]].tolist()]
        for place in (*wanted, *(places[name] for name in ("label",) if name in places and wanted))
    }
    filled = {place: any(map(_is_given, columns[names[place]].tolist())) for place in unread}
    size = len(next(iter(columns.values())))
    held = [texts.get(place, ["x" if filled.get(place, True) else ""] * size) for place in range(len(names))]
    rows = [(row, list(fields)) for row, fields in enumerate(zip(*held, strict=False), 1)]
    report_header(kind, names, places, unread, rows, account, typed=False)


def _holds_lists(columns: Mapping[str, Column]) -> bool:
    """True for a table with one row per track that holds lists, instead of one row per item.

    A column of pairs counts as items, and so do lists next to single numbers, such as the pitches at a time.
    """
    several = [column for name, column in columns.items() if name not in _SINGLE]
    if not several or not all(column.dtype == object for column in several):
        return False
    rows = columns.get("intervals", columns.get("notes"))
    if rows is not None and not any(is_several(unnested(row)[0]) for row in rows if is_several(row) and len(row)):
        return False
    return all(any(map(is_several, column.flat)) for column in several)


@dataclass(frozen=True)
class LongTable:
    """The annotations of many tracks in one table: one row per item, or one row of lists per track."""

    kind: Kind
    columns: Mapping[str, Column]
    rows: Mapping[tuple[str, str], Int]
    """Row numbers by system (empty if the table has none) and track."""
    systems: tuple[str, ...] = ()
    nested: bool = False
    """Whether each track has one row of lists."""

    @classmethod
    def of(cls, table: Any, kind: Kind) -> LongTable:
        """Group the rows of a table by ``track`` and, if present, ``system``."""
        columns = table_columns(table)
        if TRACK not in columns:
            raise InvalidAnnotationError(f"a table of many tracks needs a column {TRACK!r}; {suggest(TRACK, columns)}")
        keys = []
        for name in (SYSTEM, TRACK) if SYSTEM in columns else (TRACK,):
            keys.append(list(map(normal_form, texts(name, columns[name]))))
            if "" in keys[-1]:
                raise InvalidAnnotationError(f"row {keys[-1].index('') + 1} of the table has no {name}")
        groups = group_by_key(zip(*keys, strict=True))
        rows = {(key if len(key) == 2 else ("", *key)): places for key, places in groups.items()}
        systems = dict.fromkeys(system for system, _ in rows) if SYSTEM in columns else ()
        for name in columns:
            if heading(name) in SEPARATING and name != SYSTEM and not _holds_lists({name: columns[name]}):
                values = ["" if value is None else str(value) for value in columns[name].tolist()]
                role = SEPARATING[heading(name)]
                remedy = f"rename the column to {SYSTEM!r}" if role == SYSTEM and SYSTEM not in columns else ""
                for (_, track), places in rows.items():
                    several = [(place + 1, values[place]) for place in places.tolist()]
                    demand_one_subject(name, several, "the table", track=track, remedy=remedy)
        account = Account("the table")
        left = {TRACK, SYSTEM, *(name for name in columns if heading(name) in SEPARATING)}
        beside = {name: column for name, column in columns.items() if name not in left}
        own = _known_columns(kind, beside, account)
        for remark in account.remarks:
            warn_caller(f"the table: {remark.message}")
        nested = _holds_lists(own)
        twice = next((key[1] for key, places in rows.items() if len(places) > 1), None) if nested else None
        if twice is not None:
            message = f"track {twice!r} has several rows of lists: use one row per track, or one row per item"
            raise InvalidAnnotationError(message)
        return cls(kind, own, {(key[0], key[1]): row for key, row in rows.items()}, tuple(systems), nested)

    def tracks(self, system: str = "") -> Iterator[tuple[str, dict[str, Column]]]:
        """Columns of each track of a system, without optional columns that are empty there."""
        optional = [variable.name for variable in self.kind.variables if variable.optional]
        for (name, track), rows in self.rows.items():
            if name == system and self.nested:
                cells = {column: unnested(values[rows[0]]) for column, values in self.columns.items()}
                several = {column for column, cell in cells.items() if isinstance(cell, list | np.ndarray)}
                yield track, {name: cell for name, cell in cells.items() if name in several or _is_given(cell)}
            elif name == system:
                columns = {column: values[rows] for column, values in self.columns.items()}
                empty = [one for one in optional if one in columns and not any(map(_is_given, columns[one].tolist()))]
                yield track, {column: values for column, values in columns.items() if column not in empty}


def _is_given(value: Any) -> bool:
    return value is not None and value != "" and value == value


def name_keys(keys: Sequence[Any], what: str) -> list[str]:
    """Names of tracks or systems from the keys of a mapping: either text or integers.

    Examples
    --------
    >>> name_keys([3, 4], "track")
    ['3', '4']
    """
    if set(map(type, keys)) == {str}:
        names = list(map(normal_form, keys))
        alike = Counter(map(normal_form, dict.fromkeys(keys)))  # the same name twice is the caller's to refuse
        twice = next((name for name, count in alike.items() if count > 1), None)
        if twice is not None:
            both = " and ".join(repr(key) for key, name in zip(keys, names, strict=True) if name == twice)
            raise AnnotationError(f"two names of one {what}: {both} differ only in blanks or their Unicode form")
        return names
    whole = [isinstance(key, Integral) and not isinstance(key, bool) for key in keys]
    if all(whole):
        return [str(int(key)) for key in keys]
    wrong = [key for key in keys if not isinstance(key, str)]
    if wrong:
        others = " and others are text" if len(wrong) < len(keys) else ""
        raise AnnotationError(f"invalid name of a {what}: {wrong[0]!r}{others}; names must be all text or all integers")
    return [str(key) for key in keys]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectSource(MemorySource):
    """A source whose annotation is in an object in memory, which is converted when it is read."""

    thing: Any
    """Argument of `to_annotation`."""
    task: str
    name: str
    """Name in messages, if the object does not know its file."""
    options: Mapping[str, Any] | None = None
    """Options of reading, for paths and objects of jams."""

    @property
    def label(self) -> str:
        """The source that the object names, otherwise its name."""
        attrs = getattr(self.thing, "attrs", None)
        return str(attrs.get("source", self.name)) if isinstance(attrs, Mapping) else self.name

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest if the object is a source."""
        try:
            if isinstance(self.thing, Source):
                return self.thing.read()
            return to_annotation(self.thing, self.task, **(self.options or {})), ""
        except AnnotationError as error:
            if error.path is not None:
                raise
            known = type(error) if isinstance(error, UnreadableError) else InvalidAnnotationError
            raise known(error.message, path=self.label, line=error.line) from None
