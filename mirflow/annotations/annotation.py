"""Annotations of one track as plain columns, which readers return, and their conversion to ragged rows and back.

Many annotations can share a vocabulary of labels. Hierarchies are stacked from segmentations and split into them, and
texts with times become labelled intervals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ..errors import InvalidAnnotationError, place_of
from ..ragged import Column, Int, Ragged, offsets_of
from .account import ACCOUNT, Remark, read_account
from .schema import KINDS, Kind

if TYPE_CHECKING:
    import xarray as xr


@dataclass(eq=False, repr=False, slots=True)
class CodedLabels(Sequence[str]):
    """Labels as codes, for annotations that share a large vocabulary, such as rankings of one collection.

    `vocabulary` has distinct texts, and is shared by all annotations; `codes` are indices into it, int64 (n,).
    """

    vocabulary: tuple[str, ...]
    codes: Int

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return CodedLabels(self.vocabulary, self.codes[place])
        return self.vocabulary[int(self.codes[place])]

    def __iter__(self) -> Iterator[str]:
        return map(self.vocabulary.__getitem__, self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return repr(list(self))


def encode(labels: Iterable[Sequence[str]], vocabulary: dict[str, int]) -> Int:
    """Encode sequences of labels with one vocabulary, which grows, and concatenate the codes."""
    labels = list(labels)
    if not any(isinstance(texts, CodedLabels) for texts in labels):
        labels = [list(chain.from_iterable(labels))]  # many short lists at once
    known: dict[int, Int] = {}
    parts: list[Int] = []
    for texts in labels:
        distinct = texts.vocabulary if isinstance(texts, CodedLabels) else texts
        if id(distinct) not in known:
            for label in dict.fromkeys(distinct):
                vocabulary.setdefault(label, len(vocabulary))
            codes = map(vocabulary.__getitem__, distinct)
            known[id(distinct)] = np.fromiter(codes, dtype=np.int64, count=len(distinct))
        parts.append(known[id(distinct)][texts.codes] if isinstance(texts, CodedLabels) else known[id(distinct)])
    return np.concatenate(parts)


_MOST_CHARACTERS = 2**24
"""Largest number of characters of a fixed-width array of texts: 64 MB."""


def texts_at(texts: Sequence[str], places: Int | None = None) -> Column:
    """Make an array of the texts at some indices, or of all.

    Strings have a fixed width, but are objects if a single long text would make the array too large.
    """
    size = max(len(texts), 0 if places is None else places.size)
    width = max(map(len, texts), default=0)
    array: Column = np.array(texts, dtype=str if size * width <= _MOST_CHARACTERS else object)
    return array if places is None else array[places]


def as_items(values: Sequence[Any]) -> Column:
    """An array of objects, one for each value, also of lists of equal length."""
    items = np.empty(len(values), dtype=object)
    items[:] = list(values)
    return items


Attribute = str | float | int
DTYPES: Mapping[str, type] = {"float64": np.float64, "str": np.str_, "signal": object}
"""Dtypes of arrays by their names in the schema; labels are codes."""


class SupportsArray(Protocol):
    """An array of another library: a tensor, a data frame, a column of one."""

    def __array__(self) -> Any:
        """Convert the values to a numpy array."""


AnnotationLike: TypeAlias = (
    "xr.Dataset | Annotation | str | os.PathLike[str] | SupportsArray | Mapping[Any, object] | Sequence[object]"
)
"""One annotation: a dataset, a path, an array, a mapping of columns, a tuple of arrays in mir_eval's order, or an
object of jams, pretty_midi or mirdata (untyped libraries)."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation of one track, in plain columns.

    Examples
    --------
    >>> chords = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([2.0])}, ["C:maj"])
    >>> len(chords)
    1
    """

    kind: str
    """A name of :data:`mirflow.annotations.schema.KINDS`."""
    columns: Mapping[str, Column]
    """Times and values, float64, in the units of the schema; signals for audio."""
    labels: Sequence[str] | None = None
    """Text of each row, for kinds that have a ``label``: a list, or codes with a shared vocabulary."""
    inner_counts: tuple[Int, ...] = ()
    """Counts of the dims below the outermost, for nested kinds: int64 each."""
    lines: Sequence[int] | None = None
    """Line of each row in its file, counted from 1; None if rows and lines agree or the file has no lines. A row is an
    item of the dim of the times: the innermost one, or a frame in multipitch."""
    attrs: Mapping[str, Attribute] = field(default_factory=dict)
    """Provenance: ``source`` (path), ``namespace``, ``annotator``, ``duration`` [s], ``title``, ``artist``."""
    files: tuple[str, ...] = ()
    """File of each item of the outermost dim, if there are several files."""
    account: tuple[Remark, ...] = ()
    """What the reader did not take from the file, or read otherwise than it is written."""

    def __len__(self) -> int:
        if self.inner_counts:
            return len(self.inner_counts[0])
        if self.labels is not None:
            return len(self.labels)
        return len(next(iter(self.columns.values())))

    @property
    def schema(self) -> Kind:
        """The schema of its kind."""
        return KINDS[self.kind]

    @property
    def pitches(self) -> Column:
        """Frequencies of notes or frames, in Hz; empty for kinds without pitches."""
        return self.columns.get("pitch", self.columns.get("frequency", np.zeros(0)))

    def line(self, item: int) -> int | None:
        """Line of an item (of the dim of times) in its file; None if the file has no lines."""
        if self.lines is not None:
            return int(self.lines[item]) if item < len(self.lines) else None
        return None if "namespace" in self.attrs else item + 1

    def file(self, item: int) -> str | None:
        """File of an item (of the innermost dim), if the annotation was read from several files."""
        if not self.files:
            return None
        for counts in reversed(self.inner_counts):
            item = int(np.searchsorted(np.cumsum(counts), item, side="right"))
        return self.files[min(item, len(self.files) - 1)]


def empty_annotation(kind: Kind) -> Annotation:
    """An annotation without any item, with the required columns."""
    no_counts = tuple(np.zeros(0, dtype=np.int64) for _ in kind.dims[1:])
    numbers = [variable for variable in kind.variables if not variable.optional and variable.dtype != "str"]
    columns: dict[str, Column] = {variable.name: np.zeros(0, DTYPES[variable.dtype]) for variable in numbers}
    return Annotation(kind.name, columns, [] if "label" in kind.required else None, no_counts)


def to_ragged(annotations: Sequence[Annotation]) -> Ragged:
    """Convert annotations of one kind to rows with one vocabulary.

    Columns that only some have are filled with NaN or no label (-1).
    """
    vocabulary: dict[str, int] = {}
    kind = annotations[0].schema
    levels = [*zip(*(annotation.inner_counts for annotation in annotations), strict=True)]
    sizes = [[len(annotation) for annotation in annotations]]
    sizes += [[int(counts.sum()) for counts in level] for level in levels]
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for annotation in annotations for name in annotation.columns):
        depth = kind.depths.get(name, len(kind.dims))
        held = zip((annotation.columns.get(name) for annotation in annotations), sizes[depth - 1], strict=True)
        parts = [absent(kind, name, size) if column is None else column for column, size in held]
        columns[name] = np.concatenate(parts)
    labelled = [annotation.labels is not None for annotation in annotations]
    if any(labelled):
        codes = encode((annotation.labels or () for annotation in annotations), vocabulary)
        if not all(labelled):  # the items of an annotation without labels have -1
            labels, codes = codes, np.full(sum(sizes[-1]), -1, dtype=np.int64)
            codes[np.repeat(labelled, sizes[-1])] = labels
        columns["label"] = codes
    counts = (np.array(sizes[0], dtype=np.int64), *map(np.concatenate, levels))
    return Ragged(columns, counts, tuple(vocabulary), kind.depths)


def absent(kind: Kind, name: str, size: int) -> Column:
    """Make a column of missing values: NaN, empty text, or no label."""
    if name == "label":
        return np.full(size, -1, dtype=np.int64)
    return np.full(size, "" if kind.variable(name).dtype == "str" else np.nan)


def from_ragged(kind: str, rows: Ragged, row: int, attrs: Mapping[str, Attribute] | None = None) -> Annotation:
    """Convert a row of a ragged array to an annotation, dropping optional variables without values.

    An account among the attributes is that of the annotation.
    """
    single = rows.take([row])
    optional = {variable.name for variable in KINDS[kind].variables if variable.optional}
    codes = single.columns.get("label")
    if codes is not None and "label" in optional and (codes < 0).all():
        codes = None
    labels = None if codes is None else ["" if code < 0 else rows.labels[code] for code in codes.tolist()]
    columns = {name: column for name, column in single.columns.items() if name != "label"}
    for name in optional & columns.keys():
        column = columns[name]
        if len(column) and ((column == "") if column.dtype.kind == "U" else np.isnan(column)).all():
            del columns[name]
    lines = () if kind == "audio" else None
    known = dict(attrs or {})
    account = read_account(str(known.pop(ACCOUNT, "")))
    return Annotation(kind, columns, labels, single.counts[1:], lines, known, account=account)


def stack_levels(levels: Sequence[Annotation], files: Sequence[str] = ()) -> Annotation:
    """Stack segmentations, from the coarsest to the finest; without segments, the hierarchy has no levels.

    `files` has the name of each level's file for messages; empty: all levels are in one file.
    """
    start, end = (np.concatenate([level.columns[name] for level in levels]) for name in ("start", "end"))
    labels = [label for level in levels for label in level.labels or ()]
    counts = np.array([len(level) for level in levels], dtype=np.int64)
    lines = [line for level in levels for line in level.lines or range(1, len(level) + 1)]
    if not counts.any():
        counts = counts[:0]
    account = tuple(remark for level in levels for remark in level.account)
    if files:
        account = tuple(
            replace(remark, message=f"{place_of(file, remark.line)}: {remark.message}", line=None)
            for level, file in zip(levels, files, strict=True)
            for remark in level.account
        )
    columns = {"start": start, "end": end}
    return Annotation("hierarchy", columns, labels, (counts,), lines, levels[0].attrs, tuple(files), account)


def split_levels(hierarchy: Annotation) -> list[Annotation]:
    """Split a hierarchy into the segmentations of its levels, from the coarsest to the finest.

    The first one has the account of the hierarchy.
    """
    levels: list[Annotation] = []
    for first, end in pairwise(offsets_of(hierarchy.inner_counts[0]).tolist()):
        columns = {name: column[first:end] for name, column in hierarchy.columns.items()}
        labels = None if hierarchy.labels is None else hierarchy.labels[first:end]
        account = () if levels else hierarchy.account
        levels.append(Annotation(hierarchy.schema.level, columns, labels, account=account))
    return levels


def intervals_of_text(text: Annotation) -> Annotation:
    """Convert text with times to labelled intervals; lines without an end last until the next one.

    Pieces without text or length, such as the last line of an LRC file, are left out.
    """
    if "start" not in text.columns:
        source = text.attrs.get("source")
        message = "text without times has no place on a time axis"
        raise InvalidAnnotationError(message, path=None if source is None else str(source))
    start, labels = text.columns["start"], text.labels or []
    following = np.append(start[1:], start[-1:])
    end = text.columns.get("end", following)
    end = np.where(np.isnan(end), following, end)
    kept = [place for place in np.flatnonzero(end > start).tolist() if labels[place]]
    lines = None if text.lines is None else [text.lines[place] for place in kept]
    columns: dict[str, Column] = {"start": start[kept], "end": end[kept]}
    endless = [place for place in np.flatnonzero(~(end > start)).tolist() if labels[place]]
    account = text.account
    for place in endless[:1]:
        message = f"{labels[place]!r} has no end, since nothing follows it, and is left out"
        message += f" (and {len(endless) - 1} more)" if len(endless) > 1 else ""
        account += (Remark("rows", message, text.line(place), len(endless)),)
    labels = [labels[place] for place in kept]
    return Annotation("intervals", columns, labels, lines=lines, attrs=text.attrs, account=account)
