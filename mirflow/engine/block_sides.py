"""A side of a block: its references or its estimates, read, as rows that are cleaned and scored together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.audio import seconds_of
from ..annotations.collection import Collection, join_rows, read_rows, with_columns
from ..annotations.schema import Kind
from ..annotations.source import Source
from ..annotations.validation import extents
from ..errors import AnnotationError, InvalidAnnotationError, counted, place_of
from ..metrics.base import Convention
from ..metrics.cleaning import Cleaned, emptied
from ..ragged import Bool, Float, Int, Ragged
from ..readers.file_blocks import read_files
from ..readers.object_blocks import read_objects
from ..store.cells import CellRemark, RemarkSide, Status

Trouble = tuple[Status, str]  # why an annotation cannot be scored


class BlockSide:
    """One side of a block: its distinct sources, numbered in order, and a row for each annotation that could be read.
    Sources of equal texts share a row. An empty row follows those of the annotations."""

    def __init__(self, given: Iterable[Source | None], kind: Kind) -> None:
        # By identity, not by value: the sources of a block are its own objects, and hashing their options takes time.
        numbers: dict[int, int] = {}
        self.sources: list[Source] = []
        numbered: list[int] = []
        for source in given:
            number = -1 if source is None else numbers.setdefault(id(source), len(self.sources))
            if source is not None and number == len(self.sources):
                self.sources.append(source)
            numbered.append(number)
        self.given: Int = np.array(numbered, dtype=np.int64)  # number of each given source; -1: none
        self.row: Int = np.full(len(self.sources), -1, dtype=np.int64)
        """Row of each source; -1 if it could not be read."""
        self.troubles: dict[int, Trouble] = {}  # sources that cannot be scored
        parts, single = read_objects(self.sources)
        parts += read_rows(self.sources)
        files, others_of_files, self.digests = read_files(self.sources)
        parts += files
        single |= others_of_files
        first = 0
        for places, part in parts:
            self.row[places] = np.arange(first, first + len(part))
            first += len(part)
        others: list[Annotation] = []
        known: dict[int, int] = {}
        rest = [number for number in np.flatnonzero(self.row < 0).tolist() if number not in single]
        for number in rest:
            source = self.sources[number]
            try:
                single[number], digest = source.read()
            except InvalidAnnotationError as error:
                self.troubles[number] = Status.invalid, str(error)
            except (AnnotationError, OSError) as error:
                self.troubles[number] = Status.unreadable, str(error)
            except MemoryError:
                text = f"{source.label}: too large: memory ran out while it was read"
                self.troubles[number] = Status.unreadable, text
            else:
                if digest:
                    self.digests[number] = digest
        for number, annotation in single.items():
            row = known.setdefault(id(annotation), first + len(others))
            if row == first + len(others):
                others.append(annotation)
            self.row[number] = row
        names = [""] * (first + len(others))
        for number, row in reversed([*enumerate(self.row.tolist())]):
            if row >= 0:
                names[row] = self.label(number)
        several = Counter(names)
        names = [name if several[name] == 1 else f"{name} #{row}" for row, name in enumerate(names)]
        rows = [part for _, part in parts] + ([to_ragged(others)] if others else [])
        originals = dict(enumerate(others, first))
        self.annotations = Collection(kind.name, tuple(names), join_rows(kind, rows), originals=originals)
        """As given, by the names of their sources, of which those of equal texts share one."""

    def __repr__(self) -> str:
        return f"<one side of a block: {self.annotations!r}, {counted(len(self.troubles), 'source')} in trouble>"

    @cached_property
    def spans(self) -> Float:
        """Extents of each row, as given."""
        return extents(self.annotations.schema, self._rows)

    @cached_property
    def _rows(self) -> Ragged:
        """All rows, as given."""
        kind, rows = self.annotations.schema, self.annotations.rows
        rows = Ragged(rows.columns, (np.append(rows.counts[0], 0), *rows.counts[1:]), rows.labels, rows.depths)
        return with_columns(kind, rows, ["label"]) if "label" in kind.required else rows

    def clean(self, convention: Convention) -> Cleaned:
        """Clean all rows by the convention; sources of flawed ones are in trouble."""
        rows = self._rows
        cleaned = convention.clean(rows)
        self.emptied = emptied(rows, cleaned.rows)
        for row, account in self.annotations.accounts.items():
            cleaned.repairs[row] += sum(remark.count for remark in account if remark.severity == "repair")
        for row, flaw in cleaned.flaws.items():
            annotation = self.annotations.at(row)
            for number in np.flatnonzero(self.row == row).tolist():
                path = annotation.file(flaw.item) or self.label(number)
                error = AnnotationError(flaw.text(annotation), path=path, line=annotation.line(flaw.item))
                self.troubles[number] = Status.invalid, str(error)
        return cleaned

    @cached_property
    def usable(self) -> Bool:
        """Which sources can be scored; False at the end, for no source."""
        usable = np.ones(len(self.sources) + 1, dtype=np.bool_)
        usable[[*self.troubles, -1]] = False
        return usable

    @cached_property
    def filled(self) -> Bool:
        """Which sources can be scored and have items as given; False at the end, for no source."""
        filled: Bool = self.usable & np.append(self._rows.counts[0][self.row] > 0, False)
        return filled

    def label(self, number: int) -> str:
        """Name of a source in messages; empty without one."""
        return self.sources[number].label if number >= 0 else ""

    def remarks(self, number: int, name: RemarkSide) -> list[CellRemark]:
        """What the reader of a source remarked, as remarks on the cells of this side of a pair."""
        return [
            CellRemark(one.severity, name, f"{place_of(self.label(number), one.line)}: {one.message}")
            for one in self.annotations.accounts.get(int(self.row[number]), ())
        ]

    def annotator(self, number: int) -> Any:
        """The annotator, as the annotation itself says, else as was asked for."""
        asked = getattr(self.sources[number], "annotator", None)
        return (
            self.annotations.at(int(self.row[number])).attrs.get("annotator", asked) if self.row[number] >= 0 else asked
        )

    def seconds(self, numbers: Int) -> Float:
        """Seconds from the first to the last time of some sources, or the length of audio; 0 without any."""
        if self.annotations.kind == "audio":
            read = (self.annotations.at(row) if row >= 0 else None for row in self.row[numbers].tolist())
            lengths = [0.0 if one is None else seconds_of(one.columns["signal"].tolist()) for one in read]
            return np.array(lengths, dtype=np.float64)
        first, last, _ = self.spans[self.row[numbers]].T
        return np.where(np.isnan(last - first), 0.0, last - first)
