"""What Parquet files of many tracks hold, for drafts of pipelines: annotations, their tasks and their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..annotations.annotation import Annotation
from ..annotations.schema import KINDS, kind_of
from ..errors import AnnotationError
from ..readers.layouts import guess_task
from ..readers.nested_columns import Leaf, infer_paths
from ..readers.options import COLUMNS, MAX_BYTES, Reading
from ..readers.tables.parquet import ParquetRows, ParquetTable, track_column
from ..readers.tables.table import open_table

TASKS = (
    *("chord", "segment", "beat", "onset", "transcription", "melody", "multipitch", "key", "tempo", "pattern"),
    *("lyrics", "classification", "tagging"),
)
"""Tasks as which files are read, the likeliest first."""


@dataclass
class HeldAnnotation:
    """An annotation of each track in a Parquet file."""

    tasks: tuple[str, ...] = ()
    """Tasks that it may be for, the likeliest first."""
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    """Columns that a pipeline has to declare, by task; no entry where their names suffice."""

    def tracks_in(self, path: Path) -> list[str]:
        """The tracks in a file with these columns; none if it cannot be read."""
        task = self.tasks[0]
        with suppress(AnnotationError):
            reading = Reading.of(task, columns=self.columns.get(task, {}))
            return list(dict.fromkeys(key.track for key in open_table(str(path), reading, path.name).keys))
        return []


def annotations_in(path: Path, hint: Callable[[str], str], keys: Sequence[str] = ()) -> list[HeldAnnotation]:
    """Find the annotations of many tracks in a Parquet file; none if no column names tracks, or pyarrow is absent.

    Parameters
    ----------
    path : Path
    hint : callable
        Name of a column or struct -> the task that it suggests, or an empty text.
    keys : sequence of str
        Columns of that name are key columns: ``system`` in estimates.

    Returns
    -------
    list of HeldAnnotation
        One for each set of columns that a task can read, and that is not part of another one.
    """
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
                    held.columns |= {task: columns} if columns else {}
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
    """Put the tasks first that names and values suggest."""
    numbers = [values.tolist() for values in sample.columns.values()]
    labels = [] if sample.labels is None else [list(sample.labels)]
    rows = [[*map(str, row)] for row in zip(*numbers, *labels, strict=False)]
    likely = [task for task in (*hints, guess_task(rows)) if task in held.tasks]
    held.tasks = tuple(dict.fromkeys([*likely, *held.tasks]))
    return held
