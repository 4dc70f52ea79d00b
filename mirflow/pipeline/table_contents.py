"""What files of many tracks hold, for drafts of pipelines: annotations, their tasks and their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..annotations.annotation import Annotation
from ..annotations.schema import KINDS, kind_of
from ..errors import AnnotationError
from ..readers.content import decode, read_within
from ..readers.delimited import number_lines, split_line
from ..readers.layouts import TRACK_NAMES, find_columns, guess_task, has_only_names, heading, is_beside, is_number
from ..readers.nested_columns import Leaf, infer_paths
from ..readers.options import COLUMNS, MAX_BYTES, SINGLE_ROWS, Reading
from ..readers.remedies import is_plausible
from ..readers.single_rows import ROW_HEADINGS
from ..readers.tables.parquet import ParquetRows, ParquetTable, track_column
from ..readers.tables.table import open_table

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
            return list(dict.fromkeys(key.track for key in open_table(str(path), reading, path.name).keys))
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
    place = place_of_tracks(rows[0]) if has_only_names([*rows[0], ""]) else None
    header = None if place is None else rows[0]
    if header is None and headed:
        return []
    track = place or 0
    names: list[str | int] = [*header] if header else [*range(len(rows[0]))]
    values = rows[bool(header) :]
    tracks = [row[track] for row in values if len(row) > track and row[track]]
    if len(tracks) < len(values) or (not header and (len({*tracks}) < len(tracks) or any(map(is_number, tracks)))):
        return []
    own_keys = {key: names[place] for key in keys for place, name in enumerate(names) if heading(str(name)) == key}
    found: dict[frozenset[int], HeldAnnotation] = {}
    for task in TASKS:
        columns = _columns_in(task, header, values)
        # Keys, tempi and lists of tags that cannot be read as such are no classes.
        label = str(names[columns.get("label", track)])
        if task == "classification" and header and hint(label) not in ("", task):
            continue
        shares = [
            place
            for place in range(len(rows[0]))
            if place != track
            and all(len(row) > place and is_number(row[place]) and 0 <= float(row[place]) <= 1 for row in values)
        ]
        matrix = task == "tagging" and header is not None and not columns and len(shares) > 1
        if not columns and not matrix:
            continue
        declared = {"track": names[track], **own_keys, **{name: names[place] for name, place in columns.items()}}
        declared = {} if matrix else declared
        with suppress(AnnotationError):
            table = open_table(str(path), Reading.of(task, columns=declared), path.name)
            often = matrix or len(values) > len(table.keys)
            # Of a track with times there are several rows, and with several tags; else there is one.
            if often != bool({"time", "start"} & columns.keys() or task == "tagging") or len(table.keys) < 1 + often:
                continue
            samples = [table.read(key)[0] for key in [*table.keys][:3]]
            if not any(is_plausible(one, task) for one in samples if len(one)):
                continue
            held = found.setdefault(frozenset(columns.values() or shares), HeldAnnotation())
            held.tasks += (task,)
            held.columns |= {task: declared} if declared else {}
    for places, held in found.items():
        likely = [
            task for task in map(hint, (*(str(names[place]) for place in places), path.stem)) if task in held.tasks
        ]
        held.tasks = tuple(dict.fromkeys([*likely, *held.tasks]))
        # The labels of segments, and classes, are any text; letters may be both keys and classes.
        ambiguous = held.columns.get("key", {}).get("key") == "label"
        any_text = {"segment": "chord" in held.tasks, "classification": "key" in held.tasks and not ambiguous}
        held.tasks = tuple(task for task in held.tasks if not any_text.get(task))
        held.tasks = tuple(sorted(held.tasks, key="key".__eq__)) if ambiguous else held.tasks
    return [found[places] for places in found if not any(places < other for other in found)]


def rows_of_table(path: Path) -> list[list[str]]:
    """The fields of rows of delimited text; none if it is too large, or its first row is one text or numbers."""
    with suppress(AnnotationError):
        data, size = read_within(path, LARGEST_TABLE)
        lines = [] if size > LARGEST_TABLE else [line for _, line in number_lines(decode(data, path), "#")]
        separator = next((one for one in "\t,;" if lines and one in lines[0]), "")
        # Files of numbers may be many and long.
        if separator and len(lines) > 1 and not all(map(is_number, split_line(lines[0], separator))):
            return [split_line(line, separator) for line in lines]
    return []


def place_of_tracks(header: Sequence[str]) -> int | None:
    """The position of the column of a header that names tracks; None without any."""
    headings = [*map(heading, header)]
    usual = [headings.index(name) for name in TRACK_NAMES if name in headings]
    words = [
        place for place, name in enumerate(headings) if {*name.split("_")} & {*TRACK_NAMES, "filepath", "recording"}
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
        worded = next((place for place, name in enumerate(headings) if words & {*name.split("_")}), None)
        return {kind.name: worded, **places} if worded is not None else places if kind.name in places else {}
    if kind.name not in COLUMNS:
        return {}
    places = find_columns(kind, header, keyed=True)
    track = places.pop("track", place_of_tracks(header))
    if kind.name == "labels" and "label" not in places:
        others = [place for place, name in enumerate(headings) if place != track and not is_beside(name, tracks=True)]
        if len(others) == 1 and not any(is_number(row[others[0]]) for row in rows if len(row) > others[0]):
            return {"label": others[0]}
    return places if any(places.keys() >= {*columns} for columns in kind.needed) else {}


def annotations_in(path: Path, hint: Callable[[str], str], keys: Sequence[str] = ()) -> list[HeldAnnotation]:
    """Find the annotations of many tracks in a Parquet file; none if no column names tracks, or pyarrow is absent.
    `hint`: name of a column or struct -> the task that it suggests, or an empty text. `keys`: columns of that name are
    key columns: ``system`` in estimates. Returns one for each set of columns that a task can read, and that is not part
    of another one."""
    found: dict[frozenset[str], HeldAnnotation] = {}
    samples: dict[frozenset[str], Annotation] = {}
    with suppress(AnnotationError):
        leaves = ParquetRows(str(path), path.name, MAX_BYTES).leaves
        own_keys = {key: key for key in keys if any(leaf.path == key and not leaf.depth for leaf in leaves)}
        for task in TASKS:
            for columns in _ways(task, leaves, own_keys):
                with suppress(AnnotationError):
                    table = open_table(str(path), Reading.of(task, columns=columns), path.name)
                    if not isinstance(table, ParquetTable) or not table.keys:
                        continue
                    sample = table.read(next(iter(table.keys)))[0]
                    if not len(sample):
                        continue
                    paths = frozenset(leaf.path for leaf in table.leaves.values())
                    if paths in found and task in found[paths].tasks:
                        continue
                    held = found.setdefault(paths, HeldAnnotation())
                    held.tasks += (task,)
                    held.columns |= {task: {**columns}} if columns else {}
                    samples.setdefault(paths, sample)
    whole = [paths for paths in found if not any(paths < other for other in found)]
    return [_ordered(found[paths], samples[paths], [*map(hint, sorted(paths))]) for paths in whole]


def _ways(task: str, leaves: Sequence[Leaf], keys: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Columns that may be declared for a task: none, or those of a struct, or those besides the `keys`."""
    kind = KINDS[kind_of(task).name]
    if not keys:
        yield {}
    if kind.name not in COLUMNS:
        return
    for struct in dict.fromkeys(leaf.parent for leaf in leaves):
        with suppress(AnnotationError):
            chosen = infer_paths(kind, [leaf for leaf in leaves if leaf.parent == struct])
            track = track_column({name: leaf for name, leaf in chosen.items() if name != "track"}, leaves)
            yield {"track": track.path, **keys, **{name: leaf.path for name, leaf in chosen.items() if name != "bar"}}


def _ordered(held: HeldAnnotation, sample: Annotation, hints: Sequence[str]) -> HeldAnnotation:
    numbers = [values.tolist() for values in sample.columns.values()]
    labels = [] if sample.labels is None else [list(sample.labels)]
    rows = [[*map(str, row)] for row in zip(*numbers, *labels, strict=False)]
    likely = [task for task in (*hints, guess_task(rows)) if task in held.tasks]
    held.tasks = tuple(dict.fromkeys([*likely, *held.tasks]))
    return held
