"""The annotations of one side of a block: read once each, cleaned together, with what went wrong kept by source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..annotations.annotation import DTYPES, Annotation, to_ragged
from ..annotations.schema import Kind
from ..errors import AnnotationError, InvalidAnnotationError
from ..metrics.base import Cleaned, Convention
from ..metrics.base.nested import emptied
from ..ragged import Bool, Column
from ..readers.sources import Source
from ..status import Status


@dataclass
class _Entry:
    """What became of one source: its row, or its trouble."""

    source: Source
    row: int
    digest: str
    trouble: tuple[Status, str] | None = None


@dataclass
class Side:
    """One row per source that could be read, and what became of the others."""

    annotations: list[Annotation] = field(default_factory=list)
    # Rows that held something, of which nothing was left when they were cleaned.
    emptied: Bool = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    # By identity, not by value: the sources of a block are its own objects, and hashing their options takes time.
    _entries: dict[int, _Entry] = field(default_factory=dict)
    _labels: list[str] = field(default_factory=list)

    def read(self, source: Source) -> None:
        """Read a source, once."""
        if id(source) in self._entries:
            return
        entry = self._entries[id(source)] = _Entry(source, -1, "")
        try:
            annotation, entry.digest = source.read()
        except InvalidAnnotationError as error:
            entry.trouble = Status.invalid, str(error)
        except (AnnotationError, OSError) as error:
            entry.trouble = Status.unreadable, str(error)
        else:
            entry.row = len(self.annotations)
            self.annotations.append(annotation)
            self._labels.append(source.label)

    def row(self, source: Source) -> int:
        """The row of a source; -1 if it could not be read."""
        return self._entries[id(source)].row

    def label(self, row: int) -> str:
        """What to call the source of a row in messages; empty for the empty row."""
        return self._labels[row] if row < len(self._labels) else ""

    def trouble(self, source: Source) -> tuple[Status, str] | None:
        """Why a source cannot be scored; None if it can."""
        return self._entries[id(source)].trouble

    def digest(self, source: Source) -> str:
        """Digest of the bytes of a source; empty if there were none."""
        return self._entries[id(source)].digest

    def annotator(self, source: Source) -> str:
        """Who annotated: as the annotation itself says, else as was asked for."""
        entry = self._entries[id(source)]
        asked = getattr(source, "annotator", None)
        said = self.annotations[entry.row].attrs.get("annotator", asked) if entry.row >= 0 else asked
        return "" if said is None else str(said)

    def clean(self, kind: Kind, convention: Convention) -> Cleaned:
        """All rows made fit for the convention, and an empty row after the last: the empty annotation."""
        nothing = empty_annotation(kind, self.annotations)
        rows = to_ragged([*self.annotations, nothing])
        cleaned = convention.clean(rows)
        self.emptied = emptied(rows, cleaned.rows)
        read = [entry for entry in self._entries.values() if entry.row >= 0]
        for row, flaw in cleaned.flaws.items():
            entry, annotation = read[row], self.annotations[row]
            path = annotation.file(flaw.item) or entry.source.label
            error = AnnotationError(flaw.told(annotation), path=path, line=annotation.line(flaw.item))
            entry.trouble = Status.invalid, str(error)
        return cleaned

    @property
    def empty_row(self) -> int:
        """The row of the empty annotation."""
        return len(self.annotations)


def empty_annotation(kind: Kind, like: Sequence[Annotation] = ()) -> Annotation:
    """An annotation without any item, with the columns of the others."""
    names = like[0].columns if like else [name for name in kind.required if kind.variable(name).dtype != "str"]
    labels: list[str] | None = [] if (like and like[0].labels is not None) or "label" in kind.required else None
    no_counts = tuple(np.zeros(0, dtype=np.int64) for _ in kind.dims[1:])
    columns: dict[str, Column] = {name: np.zeros(0, DTYPES[kind.variable(name).dtype]) for name in names}
    return Annotation(kind.name, columns, labels, no_counts)
