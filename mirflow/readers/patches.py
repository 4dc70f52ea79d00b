"""Patches of references: corrections of single rows, in a JSON file beside the references, which stay as published.

Patches are read, checked and applied, and made from an original and an edited annotation. A patch names the digest of
each reference that it corrects, so that it is never applied to another version of the file.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import Kind, kind_of
from ..annotations.source import DerivedSource, Source
from ..errors import AnnotationError, InvalidAnnotationError, MirflowError, suggest
from ..ragged import Bool, Column
from .content import digest_of, read_bytes

MAX_PATCH = 2**26
"""Largest size of a patch file, in bytes."""
_NEAR = 1e-6
"""Largest difference of numbers, in their unit, with which a row of a patch is a row of the reference."""
_DIGEST = r"^[0-9a-f]{16}$"
_LINE = "line"

Row = dict[str, float | str]
"""Times and values of a row by the names of its columns, and its ``label``; of an old row perhaps its ``line``."""


class RowEdit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rows that are replaced by others: without new ones they are deleted, without old ones others are inserted."""

    old: tuple[Row, ...] = ()
    """Neighbouring rows of the reference: by line, by time and label, or by whatever is unique."""
    new: tuple[Row, ...] = ()
    """Complete rows. Without old ones, each is inserted by its time."""


class PatchedTrack(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The corrections of one reference, with who made them and why."""

    track: Annotated[str, msgspec.Meta(min_length=1)]
    """Name of the track, as in the pipeline."""
    digest: Annotated[str, msgspec.Meta(pattern=_DIGEST)]
    """Digest of the reference's file: 16 hexadecimal digits of blake2b."""
    rows: Annotated[tuple[RowEdit, ...], msgspec.Meta(min_length=1)]
    """Corrections, applied one after the other."""
    author: Annotated[str, msgspec.Meta(min_length=1)]
    """Who answers for them."""
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    """Why the reference is wrong."""
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    """Day on which they were made, as 2026-11-27."""
    annotator: str = ""
    """Annotator of the reference, if the track has several."""


class ReferencePatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A patch file: corrections of the references of one task."""

    task: str
    """Name of the task: chord, ..."""
    tracks: Annotated[tuple[PatchedTrack, ...], msgspec.Meta(min_length=1)]
    """Corrections of one reference each."""
    version: Literal[1] = 1
    """Version of this form."""


def patch_schema() -> dict[str, Any]:
    """The JSON Schema of patch files."""
    schema = msgspec.json.schema(ReferencePatch)
    for one in schema["$defs"].values():
        one["description"] = one["description"].partition("\n")[0]
    return schema


def read_patch(path: str | Path) -> ReferencePatch:
    """Read a patch file.

    Raises `AnnotationError` if it cannot be read or is invalid, with the place in the file.
    """
    return parse_patch(read_bytes(path, MAX_PATCH), os.fspath(path))


def parse_patch(data: bytes | str | Mapping[str, Any], name: str = "patch") -> ReferencePatch:
    """Parse a patch: JSON, or its values.

    Examples
    --------
    >>> parse_patch({"task": "chord", "tracks": []})
    Traceback (most recent call last):
    ...
    mirflow.errors.InvalidAnnotationError: patch: not a patch: Expected `array` of length >= 1 - at `$.tracks`
    """
    try:
        if isinstance(data, bytes | str):
            patch = msgspec.json.decode(data, type=ReferencePatch)
        else:
            patch = msgspec.convert(data, ReferencePatch)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidAnnotationError(f"not a patch: {str(error) or 'nested too deeply'}", path=name) from None
    try:
        kind = kind_of(patch.task)
    except MirflowError as error:
        raise InvalidAnnotationError(f"not a patch: {error} - at `$.task`", path=name) from None
    if len(kind.dims) > 1 or kind.name == "audio":
        raise InvalidAnnotationError(f"not a patch: references of task {patch.task} have no rows to patch", path=name)
    for place, why in _flaws(patch, kind):
        raise InvalidAnnotationError(f"not a patch: {why} - at `{place}`", path=name)
    return patch


def _flaws(patch: ReferencePatch, kind: Kind) -> Iterator[tuple[str, str]]:
    columns = [variable.name for variable in kind.variables]
    for number, track in enumerate(patch.tracks):
        try:
            datetime.date.fromisoformat(track.date)
        except ValueError:
            yield f"$.tracks[{number}].date", f"invalid date {track.date!r}"
        for place, edit in enumerate(track.rows):
            where = f"$.tracks[{number}].rows[{place}]"
            if not edit.old and not edit.new:
                yield where, "has neither old nor new rows"
            for side, rows in (("old", edit.old), ("new", edit.new)):
                for index, row in enumerate(rows):
                    at = f"{where}.{side}[{index}]"
                    if not row:
                        yield at, "names no column"
                    for name, value in row.items():
                        if name == _LINE and side == "old":
                            if not (isinstance(value, float | int) and value == int(value) and value >= 1):
                                yield at, f"invalid line {value!r}: expected a whole number from 1 on"
                        elif name not in columns:
                            yield at, f"unknown column {name[:80]!r}: {suggest(name, columns)}"
                        elif (name == "label") != isinstance(value, str):
                            expected = "text" if name == "label" else "a number"
                            yield at, f"invalid {name} {value!r:.80}: expected {expected}"
                        elif isinstance(value, float) and not math.isfinite(value):
                            yield at, f"invalid {name} {value!r}: expected a finite number"


def apply_edits(annotation: Annotation, edits: Iterable[RowEdit]) -> Annotation:
    """Apply the corrections of one reference, one after the other.

    Raises `InvalidAnnotationError` if a row is not there, or not the only one of its description, or a new one lacks a
    column.

    Examples
    --------
    >>> chords = Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0])}, ["C", "G"])
    >>> edit = RowEdit(({"start": 2.0},), ({"start": 2.0, "end": 3.0, "label": "F"},))
    >>> apply_edits(chords, [edit]).labels
    ['C', 'F']
    >>> apply_edits(chords, [RowEdit(({"start": 1.0},))])
    Traceback (most recent call last):
    ...
    mirflow.errors.InvalidAnnotationError: has no row {"start":1.0}
    """
    for edit in edits:
        rows = [_find_row(annotation, row) for row in edit.old]
        if rows and sorted(rows) != list(range(min(rows), min(rows) + len(rows))):
            message = f"the rows {_shown(edit.old)} are not next to each other: write an edit for each"
            raise InvalidAnnotationError(message)
        names = _columns_of(annotation)
        for row in edit.new:
            lacking, extra = [name for name in names if name not in row], [name for name in row if name not in names]
            if lacking or extra:
                what = f"has {', '.join(extra)}, which the reference lacks"
                what = f"lacks {', '.join(lacking)}" if lacking else what
                raise InvalidAnnotationError(f"the new row {_shown([row])} {what}")
        if rows:
            annotation = _splice(annotation, min(rows), len(rows), edit.new)
        for row in () if rows else edit.new:
            annotation = _splice(annotation, _place_by_time(annotation, row), 0, [row])
    return annotation


def _columns_of(annotation: Annotation) -> list[str]:
    return [*annotation.columns, *(["label"] if annotation.labels is not None else [])]


def _shown(rows: Sequence[Row]) -> str:
    return ", ".join(msgspec.json.encode(row).decode() for row in rows)[:300]


def _find_row(annotation: Annotation, row: Row) -> int:
    """Index of the row of a description."""
    found: Bool = np.ones(len(annotation), dtype=np.bool_)
    for name, value in row.items():
        if name == _LINE:
            found &= np.array([annotation.line(item) == value for item in range(len(annotation))], dtype=np.bool_)
        elif name == "label":
            found &= np.array([label == value for label in annotation.labels or ()] or [False] * len(found))
        elif name in annotation.columns:
            found &= np.abs(annotation.columns[name] - float(value)) <= _NEAR
        else:
            raise InvalidAnnotationError(f"has no {name}, by which {_shown([row])} is looked for")
    held = np.flatnonzero(found)
    if len(held) != 1:
        many = f"has {len(held)} rows {_shown([row])}: give the line, or more columns"
        raise InvalidAnnotationError(many if len(held) else f"has no row {_shown([row])}")
    return int(held[0])


def _place_by_time(annotation: Annotation, row: Row) -> int:
    """Index at which a row belongs by its time; at the end without one."""
    name = next((one for one in ("start", "time") if one in annotation.columns), None)
    return len(annotation) if name is None else int((annotation.columns[name] <= float(row[name])).sum())


def _splice(annotation: Annotation, first: int, count: int, rows: Sequence[Row]) -> Annotation:
    """Replace some rows by others, which have the line of the first one, or of the row before."""
    after = first + count
    columns: dict[str, Column] = {
        name: np.concatenate([column[:first], np.array([float(row[name]) for row in rows]), column[after:]])
        for name, column in annotation.columns.items()
    }
    labels = None if annotation.labels is None else list(annotation.labels)
    if labels is not None:
        labels[first:after] = [str(row["label"]) for row in rows]
    lines: list[int] | None = None
    if annotation.lines is not None or annotation.line(0) is not None:
        lines = [annotation.line(item) or 0 for item in range(len(annotation))]
        near = lines[min(first if count else max(0, first - 1), len(lines) - 1)] if lines else 1
        lines[first:after] = [near] * len(rows)
    return replace(annotation, columns=columns, labels=labels, lines=lines)


def edits_between(original: Annotation, edited: Annotation) -> tuple[RowEdit, ...]:
    """Corrections that turn an annotation into another one; empty if they have the same rows.

    Raises `InvalidAnnotationError` if they differ in their columns, or rows cannot be told apart.

    Examples
    --------
    >>> chords = Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 4.0])}, ["C", "G"])
    >>> edits_between(chords, replace(chords, labels=["C", "G:min"]))[0].new
    ({'start': 2.0, 'end': 4.0, 'label': 'G:min'},)
    """
    if len(edited) and len(original) and _columns_of(original) != _columns_of(edited):
        both = [", ".join(_columns_of(one)) for one in (original, edited)]
        raise InvalidAnnotationError(f"the edited annotation has {both[1]}, the original {both[0]}")
    sides = [_rows_of(annotation) for annotation in (original, edited)]
    keys = [[tuple(row.items()) for row in rows] for rows in sides]
    edits: list[RowEdit] = []
    changed, moved = original, 0
    for _, first, last, start, stop in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes():
        old, new, place = sides[0][first:last], sides[1][start:stop], first + moved
        if old == new:
            continue
        moved += len(new) - len(old)
        times = [float(row.get("start", row.get("time", 0.0))) for row in new]
        by_time = set() if old else {_place_by_time(changed, row) for row in new}
        if not old and (by_time != {place} or times != sorted(times)):
            # Rows that are not in the order of their times are inserted beside a neighbour.
            behind = place > 0
            place -= behind
            old = _rows_of(changed)[place : place + 1]
            if not old:
                raise InvalidAnnotationError("the original is empty, and the rows are not in the order of their times")
            new = [*old, *new] if behind else [*new, *old]
        described: list[Row] = []
        for index, row in enumerate(old, place):
            try:
                item = _find_row(changed, row)
            except InvalidAnnotationError:  # nothing but its line tells it from others
                if (line := changed.line(index)) is None:
                    raise
                row = {**row, _LINE: float(line)}
                item = _find_row(changed, row)
            if item != index:
                raise InvalidAnnotationError(f"the row {_shown([row])} cannot be told from others")
            described.append(row)
        edits.append(RowEdit(tuple(described), tuple(new)))
        changed = apply_edits(changed, edits[-1:])
    return tuple(edits)


def _rows_of(annotation: Annotation) -> list[Row]:
    names, labels = _columns_of(annotation), annotation.labels
    columns = [column.tolist() for column in annotation.columns.values()]
    values = zip(*columns, *([] if labels is None else [list(labels)]), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


@dataclass(frozen=True)
class PatchedSource(DerivedSource):
    """A reference with the corrections of patches."""

    source: Source
    edits: tuple[tuple[str, PatchedTrack], ...] = field(compare=False)
    """Names of patch files, and the corrections that they have for this reference."""
    fingerprint: str = field(init=False, repr=False)
    """Digest of the rows of all corrections."""

    def __post_init__(self) -> None:
        rows = msgspec.json.encode([(track.digest, track.rows) for _, track in self.edits])
        object.__setattr__(self, "fingerprint", digest_of(rows))

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the reference."""
        return self.source.paths

    def stat(self) -> tuple[int, int]:
        """Size of the reference, and its time of modification mixed with the corrections."""
        size, modified = self.source.stat()
        return size, modified ^ int(self.fingerprint[:15], 16)

    def read(self) -> tuple[Annotation, str]:
        """The corrected annotation, and a digest of the file with the corrections.

        Raises
        ------
        InvalidAnnotationError
            Also if the file is not the one that a patch was made for, or lacks one of its rows.
        """
        annotation, digest = self.source.read()
        for name, one in self.edits:
            if one.digest != digest:
                message = f"a patch for a reference with the digest {one.digest}, but this one has {digest}: it has "
                message += "changed since, so check it and make the patch again"
                raise InvalidAnnotationError(f"{name} is {message}", path=self.label)
            try:
                annotation = apply_edits(annotation, one.rows)
            except AnnotationError as error:
                raise InvalidAnnotationError(f"{error.message}: {name} cannot be applied", path=self.label) from None
        return annotation, digest_of(f"{digest}\0{self.fingerprint}".encode())
