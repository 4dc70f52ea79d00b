"""What files and tables hold, for drafts of pipelines: annotations, their tasks and columns, and scores of a few.

Where a file cannot be read for a task, the reason is found and, for text, the options with which it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.arrays import is_number
from ..annotations.schema import KINDS, TASK_KINDS, kind_of
from ..annotations.source import Source
from ..errors import AnnotationError, MirflowError, UnknownNameError, counted
from ..metrics.base import Pairs, get_task
from ..readers import read
from ..readers.audio_files import SUFFIXES as AUDIO
from ..readers.content import decode, open_file, read_within
from ..readers.delimited import number_lines, sniff, split_line
from ..readers.formats import FORMATS, TASK_OF_SUFFIX, format_named
from ..readers.jams import open_jams
from ..readers.layouts import TRACK_NAMES, find_columns, guess_task, has_only_names, heading, is_beside
from ..readers.namespaces import NAMESPACES
from ..readers.nested_columns import infer_paths
from ..readers.options import COLUMNS, MAX_BYTES, SINGLE_ROWS, Reading
from ..readers.remedies import is_plausible, options_in, with_advice
from ..readers.single_layout import ROW_HEADINGS
from ..readers.sources import parse_file
from ..readers.tables.parquet import ParquetRows, ParquetTable, track_column
from ..readers.tables.table import open_table
from ..theory.pitch import HIGHEST_MIDI
from .plan import EvaluationFiles

TASKS = (
    *("chord", "segment", "beat", "onset", "transcription", "melody", "multipitch", "key", "tempo", "pattern"),
    *("lyrics", "classification", "tagging"),
)
"""Tasks as which files are read, the likeliest first."""
LARGEST_TABLE = 2**22  # bytes of the largest delimited text that may be a table of tracks
_SLOWEST, _FASTEST = 20, 400  # beats a minute, of tempi in a table whose columns have no names


@dataclass
class HeldAnnotation:
    """An annotation of each track in a Parquet file."""

    tasks: tuple[str, ...] = ()  # tasks that it may be for, the likeliest first
    columns: dict[str, dict[str, str | int]] = field(default_factory=dict)
    """Columns that a pipeline has to declare, by task; no entry where their names suffice."""

    def tracks_in(self, path: Path) -> list[str]:
        """The tracks in a file with these columns; none if it cannot be read."""
        task = self.tasks[0]
        with suppress(AnnotationError):
            reading = Reading.of(task, columns=self.columns.get(task, {}))
            return list(dict.fromkeys(key.track for key in open_table(str(path), reading, path.name).of_key))
        return []


def annotations_in_text(
    path: Path, hint: Callable[[str], str], keys: Sequence[str] = (), *, headed: bool = False
) -> list[HeldAnnotation]:
    """Find the annotations of many tracks in delimited text; none unless it has a column of tracks. A track has one
    row, or several of which each names it. The parameters and the result are those of `annotations_in`; `headed`
    demands a header."""
    rows = rows_of_table(path)
    if not rows:
        return []
    column = place_of_tracks(rows[0]) if has_only_names([*rows[0], ""]) else None
    header = None if column is None else rows[0]
    if header is None and headed:
        return []
    track = column or 0
    names: list[str | int] = [*header] if header else [*range(len(rows[0]))]
    values = rows[bool(header) :]
    tracks = [row[track] for row in values if len(row) > track and row[track]]
    if len(tracks) < len(values) or (not header and (len({*tracks}) < len(tracks) or any(map(is_number, tracks)))):
        return []
    own_keys = {key: names[column] for key in keys for column, name in enumerate(names) if heading(str(name)) == key}
    annotations: dict[frozenset[int], HeldAnnotation] = {}
    for task in TASKS:
        columns = _columns_in(task, header, values)
        # Keys, tempi and lists of tags that cannot be read as such are no classes.
        label = str(names[columns.get("label", track)])
        if task == "classification" and header and hint(label) not in ("", task):
            continue
        shares = [
            column
            for column in range(len(rows[0]))
            if column != track
            and all(len(row) > column and is_number(row[column]) and 0 <= float(row[column]) <= 1 for row in values)
        ]
        matrix = task == "tagging" and header is not None and not columns and len(shares) > 1
        if not columns and not matrix:
            continue
        declared = {"track": names[track], **own_keys, **{name: names[column] for name, column in columns.items()}}
        declared = {} if matrix else declared
        with suppress(AnnotationError):
            table = open_table(str(path), Reading.of(task, columns=declared), path.name)
            often = matrix or len(values) > len(table.of_key)
            # Of a track with times there are several rows, and with several tags; else there is one.
            if often != bool({"time", "start"} & columns.keys() or task == "tagging") or len(table.of_key) < 1 + often:
                continue
            samples = [table.read(key)[0] for key in [*table.of_key][:3]]
            if not any(is_plausible(annotation, task) for annotation in samples if len(annotation)):
                continue
            held = annotations.setdefault(frozenset(columns.values() or shares), HeldAnnotation())
            held.tasks += (task,)
            held.columns |= {task: declared} if declared else {}
    for places, held in annotations.items():
        likely = [
            task for task in map(hint, (*(str(names[column]) for column in places), path.stem)) if task in held.tasks
        ]
        held.tasks = tuple(dict.fromkeys([*likely, *held.tasks]))
        # The labels of segments, and classes, are any text; letters may be both keys and classes.
        ambiguous = held.columns.get("key", {}).get("key") == "label"
        any_text = {"segment": "chord" in held.tasks, "classification": "key" in held.tasks and not ambiguous}
        held.tasks = tuple(task for task in held.tasks if not any_text.get(task))
        held.tasks = tuple(sorted(held.tasks, key="key".__eq__)) if ambiguous else held.tasks
    return [annotations[places] for places in annotations if not any(places < other for other in annotations)]


def rows_of_table(path: Path) -> list[list[str]]:
    """The fields of rows of delimited text; none if it is too large, or its first row is one text or numbers."""
    with suppress(AnnotationError):
        data, size = read_within(path, LARGEST_TABLE)
        lines = [] if size > LARGEST_TABLE else [line for _, line in number_lines(decode(data, path), "#")]
        separator = next((mark for mark in "\t,;" if lines and mark in lines[0]), "")
        # Files of numbers may be many and long.
        if separator and len(lines) > 1 and not all(map(is_number, split_line(lines[0], separator))):
            return [split_line(line, separator) for line in lines]
    return []


def place_of_tracks(header: Sequence[str]) -> int | None:
    """The position of the column of a header that names tracks; None without any."""
    headings = [*map(heading, header)]
    usual = [headings.index(name) for name in TRACK_NAMES if name in headings]
    words = [
        index for index, name in enumerate(headings) if {*name.split("_")} & {*TRACK_NAMES, "filepath", "recording"}
    ]
    return next(iter([*usual, *words]), None)


def _columns_in(task: str, header: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """The positions of the columns of a task in a table of tracks, by its header or its only other column."""
    kind = KINDS[kind_of(task).name]
    if header is None:
        if kind.name == "tempo":
            numbers = [float(row[1]) for row in rows if len(row) > 1 and is_number(row[1])]
            return {"tempo": 1} if len(numbers) == len(rows) and _SLOWEST < min(numbers) < _FASTEST else {}
        return {kind.name: 1} if kind.name == "key" else {"label": 1} if kind.name == "labels" else {}
    headings = [*map(heading, header)]
    if kind.name in SINGLE_ROWS:
        places = {
            column: next(headings.index(name) for name in names if name in headings)
            for column, names in ROW_HEADINGS.items()
            if column in SINGLE_ROWS[kind.name] and any(name in headings for name in names)
        }
        words = {"key"} if kind.name == "key" else {"tempo", "bpm"}
        worded = next((index for index, name in enumerate(headings) if words & {*name.split("_")}), None)
        return {kind.name: worded, **places} if worded is not None else places if kind.name in places else {}
    if kind.name not in COLUMNS:
        return {}
    places = find_columns(kind, header, keyed=True)
    track = places.pop("track", place_of_tracks(header))
    if kind.name == "labels" and "label" not in places:
        others = [index for index, name in enumerate(headings) if index != track and not is_beside(name, tracks=True)]
        if len(others) == 1 and not any(is_number(row[others[0]]) for row in rows if len(row) > others[0]):
            return {"label": others[0]}
    return places if any(places.keys() >= {*columns} for columns in kind.needed) else {}


def annotations_in(path: Path, hint: Callable[[str], str], keys: Sequence[str] = ()) -> list[HeldAnnotation]:
    """Find the annotations of many tracks in a Parquet file; none if no column names tracks, or pyarrow is absent.
    `hint`: name of a column or struct -> the task that it suggests, or an empty text. `keys`: columns of that name are
    key columns: ``system`` in estimates. Returns one for each set of columns that a task can read, and that is not part
    of another one."""
    annotations: dict[frozenset[str], HeldAnnotation] = {}
    samples: dict[frozenset[str], Annotation] = {}
    with suppress(AnnotationError):
        leaves = ParquetRows(str(path), path.name, MAX_BYTES).leaves
        own_keys = {key: key for key in keys if any(leaf.path == key and not leaf.depth for leaf in leaves)}
        for task in TASKS:
            kind = KINDS[kind_of(task).name]
            # Columns that may be declared for the task: none, or those of a struct, or those besides the keys.
            choices: list[dict[str, str]] = [] if own_keys else [{}]
            for struct in dict.fromkeys(leaf.parent for leaf in leaves if kind.name in COLUMNS):
                with suppress(AnnotationError):
                    leaf_of = infer_paths(kind, [leaf for leaf in leaves if leaf.parent == struct])
                    track = track_column({name: leaf for name, leaf in leaf_of.items() if name != "track"}, leaves)
                    named = {name: leaf.path for name, leaf in leaf_of.items() if name != "bar"}
                    choices.append({"track": track.path, **own_keys, **named})
            for columns in choices:
                with suppress(AnnotationError):
                    table = open_table(str(path), Reading.of(task, columns=columns), path.name)
                    if not isinstance(table, ParquetTable) or not table.of_key:
                        continue
                    sample = table.read(next(iter(table.of_key)))[0]
                    if not len(sample):
                        continue
                    paths = frozenset(leaf.path for leaf in table.leaves.values())
                    if paths in annotations and task in annotations[paths].tasks:
                        continue
                    held = annotations.setdefault(paths, HeldAnnotation())
                    held.tasks += (task,)
                    held.columns |= {task: {**columns}} if columns else {}
                    samples.setdefault(paths, sample)
    for paths, held in annotations.items():
        numbers = [values.tolist() for values in samples[paths].columns.values()]
        labels = samples[paths].labels
        rows = [[*map(str, row)] for row in zip(*numbers, *([] if labels is None else [labels]), strict=False)]
        likely = [task for task in (*map(hint, sorted(paths)), guess_task(rows)) if task in held.tasks]
        held.tasks = tuple(dict.fromkeys([*likely, *held.tasks]))
    return [held for paths, held in annotations.items() if not any(paths < other for other in annotations)]


Item = TypeVar("Item")
_HINTS = {
    "section": "segment",
    "structure": "segment",
    "seg": "segment",
    "note": "transcription",
    "f0": "melody",
    "genre": "classification",
    "tag": "tagging",
    **{suffix[1:].removesuffix("s"): task for suffix, task in TASK_OF_SUFFIX.items() if suffix not in AUDIO},
    **{task: task for task in TASK_KINDS},
}
"""Words in names of folders and in suffixes, without a plural s, and the tasks that they mean."""
TRIED = ("chord", "segment", "beat", "transcription", "melody", "multipitch", "key", "tempo", "pattern")
"""Tasks as which text is read whose rows alone do not show what they are."""
_ALSO = {"onset": ("beat", "onset"), "beat": ("beat", "downbeat"), "melody": ("melody", "multipitch")}
_HEAD = 2**16  # bytes of a text that are enough to see what it is
SAMPLE = 3
_DISAGREEMENT = 0.4
"""Share of the perfect score that annotators of the same recording reach at least against each other."""


def hint(name: str) -> str:
    """The task that the name of a folder, or a suffix, suggests; empty if none."""
    for word in re.split(r"[^a-z0-9]+", name.lower()):
        for name in (word, word.removesuffix("s"), word.removesuffix("lab")):  # chordlab
            if name in _HINTS:
                return _HINTS[name]
    return ""


def sample(items: Sequence[Item]) -> Sequence[Item]:
    """A few items from all over a list."""
    return items[:: max(1, len(items) // SAMPLE)][:SAMPLE]


def tasks_of(path: Path, suffix: str) -> tuple[str, ...]:
    """The possible tasks of a file, the likeliest first; `suffix` may be one of several parts, as in ``.beats.txt``."""
    last = f".{suffix.rpartition('.')[2].lower()}"
    if last == ".parquet" or last in AUDIO:
        return tuple(task for task in TRIED if holds(path, task)) if last == ".parquet" else ("separation",)
    try:
        if format_named(f"x{last}") == "jams":
            names = dict.fromkeys(choice.namespace for choice in open_jams(str(path), MAX_BYTES, str(path)).choices)
            known = (NAMESPACES[name].tasks for name in names if name in NAMESPACES)
            return tuple(dict.fromkeys(tasks[0] for tasks in known if tasks))
        meant = hint(suffix)
        if meant and holds(path, meant):
            also = _ALSO.get(meant, (meant,)) if meant != "onset" else (meant,)
            return tuple(task for task in also if task == meant or holds(path, task))
        rows = number_lines(decode(_head(path), path), "#")[:200]
    except AnnotationError:
        return ()
    fields = [split_line(line, sniff(line)) for _, line in rows]
    task = guess_task(fields) or guess_task(fields[1:])  # the first row may be a header
    if task:
        return _ALSO.get(task, (task,))
    held = tuple(task for task in TRIED if holds(path, task))
    if "chord" in held:  # the labels of segments are any text
        return tuple(task for task in held if task != "segment")
    texts = [row for row in fields if any(not is_number(field) for field in row)]
    if held[:1] == ("beat",) and len(texts) == len(fields) and holds(path, "drums"):
        return ("drums",)
    words = [word for row in fields for field in row for word in field.split()]
    are_lyrics = not held and last == ".txt" and len(words) > 2 * len(fields) and not any(map(is_number, words))
    return ("lyrics",) if are_lyrics and not any("\t" in row for _, row in rows) else held


def holds(path: Path, task: str) -> bool:
    """True if a file, or the beginning of a long text, can be read as an annotation of a task that is not empty."""
    return not why_not(path, task)


def why_not(path: Path, task: str) -> str:
    """The reason why a file cannot be read as an annotation of a task; empty if it can."""
    reading = Reading.of(task)
    format = reading.format_of(str(path))
    try:
        is_text = format in FORMATS and not FORMATS[format].parser and not FORMATS[format].table and format != "jams"
        if not is_text or reading.kind == "audio" or path.stat().st_size <= _HEAD:
            annotation = read(path, task=task)
        else:
            head = _head(path)
            try:
                annotation = parse_file(head, reading, format, str(path))
            except AnnotationError as error:
                raise with_advice(
                    error, reading, lambda changed: (parse_file(head, changed, format, str(path)), None)
                ) from None
        if not len(annotation):
            return f"{path} is empty"
        # Any text is read as a key, or as a class of drums.
        judged = reading.kind == "key" or task == "drums"
        flaws = get_task(task).convention().clean(to_ragged([annotation])).flaws if judged else {}
        return next((f"{path}: {flaw.text(annotation)}" for flaw in flaws.values()), "")
    except (AnnotationError, UnknownNameError, OSError) as error:
        return str(error)


def remedy(path: Path, task: str) -> dict[str, Any]:
    """The columns, and the unit of their times, with which a file can be read as a task, by the message without them.
    Empty unless they are all columns that a header names: a part of a table may be read as many tasks."""
    for clause in why_not(path, task).split("; ") if path.suffix.lower() in (".csv", ".tsv", ".txt", ".lab") else ():
        options = options_in(clause)
        columns = [*options.get("columns", {}).values()]
        if (
            columns
            and options.keys() <= {"columns", "time_unit", "pitch_unit"}
            and all(isinstance(column, str) for column in columns)
        ):
            header = re.split(r"[,;\t]", number_lines(decode(_head(path), path), "#")[0][1].replace('"', ""))
            # Alignments have no ends of words.
            ends = [name for name in header if task == "alignment" and "end" in heading(name).split("_")]
            left = [name.strip() for name in header if name not in ends]
            if {*columns} <= {*left} and all(name in columns or is_beside(heading(name)) for name in left):
                return options
    return {}


def in_midi(path: Path, task: str) -> bool:
    """True if the pitches of a file look like MIDI numbers, and can be read as such."""
    kind = kind_of(task)
    column = next((variable.name for variable in kind.variables if variable.units == "Hz"), "")
    with suppress(MirflowError, OSError):
        pitches = read(path, task=task).columns[column] if kind.pitched and column else np.zeros(0)
        sounding = pitches[pitches > 0]
        return len(sounding) >= SAMPLE and bool((sounding <= HIGHEST_MIDI).all() and (sounding % 1 == 0).all())
    return False


def _head(path: Path) -> bytes:
    with open_file(path) as file:
        data = file.read(_HEAD)
    return data if len(data) < _HEAD else data[: data.rfind(b"\n") + 1] or data


def try_evaluation(files: EvaluationFiles) -> tuple[str, str]:
    """Score a few tracks of an evaluation; returns why it is none, and what the scores of the estimates are. References
    are also scored against themselves, and against other annotators of the same tracks."""
    if kind_of(files.task).name == "audio":
        return "", ""
    task = get_task(files.task)
    rules = task.convention(files.convention, files.classes)
    measures = {measure.metric.name: measure for measure in rules.select()}
    names = task.headlines.get(rules.name, task.headline)
    measure = next((measures[name] for name in names if name in measures), None)

    def opened(source: Source) -> Annotation | str:
        try:
            annotation = source.read()[0]
            flaws = rules.clean(to_ragged([annotation])).flaws
            return next((f"{source.label}: {flaw.text(annotation)}" for flaw in flaws.values()), annotation)
        except MirflowError as error:
            return str(error)

    def scored(pairs: Sequence[tuple[Annotation, Annotation]]) -> list[float]:
        scores: list[float] = []
        if measure is None:
            return scores
        for sides in pairs:
            with suppress(MirflowError, ValueError):  # the run reports what cannot be scored
                rows = (rules.clean(to_ragged([side])).rows for side in sides)
                result = rules.score(Pairs.in_order(*rows), [measure], rules.grids[0])
                if result.weight[0, 0]:
                    scores.append(float(result.score[0, 0]))
        return scores

    places = sample([index for index, own in enumerate(files.references) if own])
    references = [[opened(one.source) for one in files.references[index]] for index in places]
    readable = [[one for one in own if isinstance(one, Annotation)] for own in references]
    if places and not any(readable):
        return f"no reference of {len(places)} tried can be read: {references[0][0]}", ""
    perfect = None if measure is None else measure.metric.perfect
    own = scored([(one, one) for side in readable for one in side])
    if perfect and own and perfect not in own:
        scores = f"{measure} {max(own):.4g}, not {perfect:g}"
        return f"references against themselves have {scores}: are these files of {files.task}?", ""
    others = scored([pair for side in readable for pair in product(side, side) if pair[0] is not pair[1]])
    if perfect and others and sum(others) < _DISAGREEMENT * perfect * len(others):
        agreement = f"{measure} of one against another is {sum(others) / len(others):.2g} on a few tracks"
        return f"annotators hardly agree ({agreement}): are these folders of different recordings?", ""
    estimates = [
        (side, opened(source))
        for index, side in zip(places, readable, strict=True)
        for row in sample(files.estimates)
        if (source := row[index]) is not None
    ]
    errors = [one for _, one in estimates if isinstance(one, str)]
    if estimates and len(errors) == len(estimates):
        return f"no estimate of {len(errors)} tried can be read: {errors[0]}", ""
    values = scored([(side[0], one) for side, one in estimates if side and isinstance(one, Annotation)])
    unread = f"; {counted(len(errors), 'other')} cannot be read: {errors[0]}" if errors else ""
    if not values:
        return "", unread.removeprefix("; ")
    ends = dict.fromkeys(f"{value:.3g}" for value in (min(values), max(values)))
    return "", f"{measure} {' to '.join(ends)} for {counted(len(values), 'pair')} tried{unread}"
