"""What became of a changed file: the same annotation, another one, or told; and whether that is right."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mirflow.annotations.annotation import Annotation
from mirflow.errors import MirflowError, MirflowWarning
from mirflow.readers import Reading, read
from mirflow.readers.formats import FORMATS
from mirflow.readers.remedies import options_in
from mirflow.readers.tables.table import TableSource, open_table
from mirflow.theory.text_form import normal_form

from .changes import Change
from .documents import Example, Lines, Table

OF_LIBRARIES = ("kern", "textgrid")
"""Formats of lines that are read by other libraries, whose errors name no line."""
Content = Mapping[str, Annotation]
"""The annotation of each track; a file of one track has no name for it."""


@dataclass(frozen=True)
class Outcome:
    """What a reader returned."""

    content: Content
    remarks: frozenset[tuple[str, str]]
    """Rules and messages of the account."""
    error: MirflowError | None = None

    @property
    def size(self) -> int:
        """Number of items of all tracks, counted in the innermost dim."""
        return sum(map(_items, self.content.values()))

    @property
    def texts(self) -> str:
        """All texts of the annotations, and the names of the tracks."""
        held = [*self.content]
        for annotation in self.content.values():
            held += [*(annotation.labels or ())]
            held += [str(text) for column in annotation.columns.values() if column.dtype.kind == "U" for text in column]
        return "\n".join(held)


def _items(annotation: Annotation) -> int:
    if annotation.inner_counts:
        return int(annotation.inner_counts[-1].sum()) + len(annotation)
    return len(annotation)


def outcome_of(example: Example, data: bytes, folder: Path) -> Outcome:
    """Read the bytes of a file of the format and task of an example."""
    path = folder / (example.suffix or f"a.{example.format}")
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            if example.keyed:
                reading = Reading.of(example.task, format=example.format, **example.reading)
                keys = open_table(str(path), reading, str(path)).of_key
                content = {"/".join(key): TableSource(str(path), key, reading).read()[0] for key in keys}
            else:
                content = {"": read(path, task=example.task, format=example.format, **example.reading)}
        except MirflowError as error:
            return Outcome({}, frozenset(), error)
    remarks = frozenset((one.rule, one.message) for held in content.values() for one in held.account)
    return Outcome(content, remarks)


def are_same(one: Content, other: Content) -> bool:
    """True if annotations are the same up to the lines of their rows."""
    return one.keys() == other.keys() and all(_equal(one[track], other[track]) for track in one)


def _equal(one: Annotation, other: Annotation) -> bool:
    if one.columns.keys() != other.columns.keys() or _labels(one) != _labels(other):
        return False
    counts = zip(one.inner_counts, other.inner_counts, strict=True)
    if not all(np.array_equal(before, after) for before, after in counts):
        return False
    return all(_arrays_equal(column, other.columns[name]) for name, column in one.columns.items())


def _labels(annotation: Annotation) -> list[str]:
    """Its labels; of lyrics as metrics compare them: in the normal form, without empty lines at the end."""
    labels = list(annotation.labels or ())
    if annotation.kind != "text":
        return labels
    labels = list(map(normal_form, labels))
    while labels and not labels[-1]:
        labels.pop()
    return labels


def _arrays_equal(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=1e-12, atol=1e-12, equal_nan=True))
    return bool((one == other).all())


def vain_remedy(example: Example, error: MirflowError, data: bytes, folder: Path) -> str:
    """A remedy in an error by which the file cannot be read; empty without one."""
    for clause in str(error).split("; "):
        options = options_in(clause)
        if options and "NAME" not in str(options) and not example.keyed:
            reading = {**example.reading, **options}
            chosen = {"format": reading.pop("format", example.format)}
            if outcome_of(replace(example, options=tuple(reading.items()), **chosen), data, folder).error is not None:
                return clause
    return ""


def problem_of(example: Example, change: Change, before: Outcome, after: Outcome) -> str:
    """Why an outcome is not right; empty if it is."""
    error = after.error
    if error is not None:
        text = str(error)
        if "a." + example.format not in text and (example.suffix or "?") not in text:
            return f"an error that does not name the file: {text}"
        has_lines = isinstance(example.document, Table | Lines) and example.format not in OF_LIBRARIES
        if has_lines and change.one_line and getattr(error, "line", None) is None:
            return f"an error that does not name the line: {text}"
        return ""
    if after.remarks - before.remarks or change.effect == "any":
        return ""
    same = are_same(before.content, after.content)
    if change.effect == "none":
        return "" if same else "another annotation, though the file says the same"
    if change.effect == "order":
        return "" if after.size == before.size else f"{before.size} items have become {after.size}"
    if after.size < before.size:
        return f"a smaller annotation: {before.size} items have become {after.size}"
    if same and any(rule in FORMATS[example.format].silent for rule in change.rules):
        return ""
    if same:
        return "the same annotation, as if nothing had changed"
    if change.mark and unicodedata.normalize("NFC", change.mark) not in after.texts:
        return f"another annotation, without {change.mark!r}"
    return ""
