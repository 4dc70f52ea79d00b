"""Text files of a block read at once: their joined bytes are split and converted to numbers by numpy.

Only regular files are read here, which hold the same number of columns on each line, separated by blanks or tabs, in
ASCII. All others, such as those with a header, a comment, a blank line or an error, are left to `parse_delimited`,
which returns the same annotation for regular files and names the line of an error.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from ..annotations.account import Remark
from ..annotations.annotation import Annotation, CodedLabels
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of
from ..theory.text_form import are_normal
from .content import digest_of, read_bytes
from .delimited import Layout, annotation_of, find_layout, finish, is_odd_key, remarks_on_table, row_kind
from .downloads import download
from .formats import FORMATS, LAYOUTS
from .layouts import are_numbers_of, are_plain
from .odd_numbers import may_be_odd
from .options import HARTE, DelimitedOptions, Reading
from .remedies import with_advised_remarks
from .sources import FileSource, parse_file
from .words import Words

_FEWEST = 4
"""Number of files from which reading them at once is faster."""
_MOST_BYTES = 1 << 20
"""Bytes of files that are parsed at once, unless a single one is larger."""


def read_files(sources: Sequence[Source]) -> tuple[list[tuple[Int, Ragged]], dict[int, Annotation], dict[int, str]]:
    """Read the regular text files among sources at once, as their ``read`` would.

    Files at URLs are downloaded, whatever their format.

    Returns `rows` (list of (int64 (rows,), Ragged)): places of sources, and their annotations as rows of common
    columns; the lines of a file are those of its rows. `single`: other annotations by the place of their source.
    `digests`: digests of the files of both.
    """
    download(path for source in sources for path in source.paths)
    groups: dict[tuple[int, str], list[int]] = {}
    for place, source in enumerate(sources):
        if type(source) is FileSource:
            groups.setdefault((id(source.reading), source.reading.format_of(source.path)), []).append(place)
    rows: list[tuple[Int, Ragged]] = []
    single: dict[int, Annotation] = {}
    digests: dict[int, str] = {}
    for (_, format), group in groups.items():
        files = {place: source for place in group if isinstance(source := sources[place], FileSource)}
        reading = files[group[0]].reading
        if len(group) < _FEWEST or not has_usual_columns(reading, format):
            continue
        for part, data in _parts(files):
            common, others = parse_files(data, reading, [files[place].name or files[place].path for place in part])
            places = np.array(part)
            rows += [(places[own], found) for own, found in common]
            single |= {part[own]: found for own, found in others.items()}
            read = chain(others, *(own.tolist() for own, _ in common))
            digests |= {part[own]: digest_of(data[own]) for own in read}
    return rows, single, digests


def has_usual_columns(reading: Reading, format: str) -> bool:
    """True for text in columns that are separated by blanks, in their usual order."""
    options, kind = reading.delimited, reading.kind
    usual = DelimitedOptions(time_unit=options.time_unit, last=options.last, pitch_unit=options.pitch_unit)
    if format not in ("lab", "txt") or kind in (*LAYOUTS, *FORMATS[format].by_kind) or options != usual:
        return False
    return row_kind(reading).numbers > 0 and not (reading.selection or "").startswith("bar")


def _parts(sources: Mapping[int, FileSource]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Places of sources with the bytes of their files, in parts of limited size; without files that cannot be read."""
    part: list[int] = []
    data: list[bytes] = []
    size = 0
    for place, source in sources.items():
        try:
            content = read_bytes(source.path, source.reading.max_bytes, source.name or source.path)
        except (AnnotationError, OSError):
            continue
        part.append(place)
        data.append(content)
        size += len(content)
        if size >= _MOST_BYTES:
            yield part, data
            part, data, size = [], [], 0
    if part:
        yield part, data


def parse_files(
    data: Sequence[bytes], reading: Reading, names: Sequence[str]
) -> tuple[list[tuple[Int, Ragged]], dict[int, Annotation]]:
    """Parse regular files of a reading with usual columns; the others are left to `parse_delimited`.

    Returns the places of files with their annotations as rows of common columns, and other annotations by the place of
    their file.

    Examples
    --------
    >>> files = [b"0.0 1.5 C:maj\\n1.5 2.0 N\\n", b"# a comment\\n0.0 2.0 G:7\\n"]
    >>> ((places, rows),), others = parse_files(files, Reading.of("chord"), ["a.lab", "b.lab"])
    >>> places.tolist(), rows.columns["end"].tolist(), rows.labels, others
    ([0], [1.5, 2.0], ('C:maj', 'N'), {})
    """
    rows: list[tuple[Int, Ragged]] = []
    single: dict[int, Annotation] = {}
    # With line ends as in `decode`, without those at the end.
    bare = (content.removeprefix(codecs.BOM_UTF8) for content in data)
    texts = [(content.replace(b"\r\n", b"\n") if b"\r" in content else content).rstrip() for content in bare]
    held = np.array([place for place, text in enumerate(texts) if text], dtype=np.int64)
    if not len(held):
        return rows, single
    # Whether the rows of a file are the items of its annotation.
    kind = row_kind(reading)
    changed = kind.level or kind.listed or kind.pitched or "bar" in kind.columns or reading.kind != kind.name
    as_read = not (changed or reading.labels is not None or reading.notation != HARTE)
    words = Words.of([texts[place] for place in held.tolist()])
    own_names = [names[place] for place in held.tolist()]
    widths = words.count[words.line[:-1]]
    for width in np.unique(widths[words.usual]).tolist():
        files = np.flatnonzero((widths == width) & words.usual)
        try:
            layout = find_layout(words.text(int(words.line[files[0]])), 1, reading, "whitespace", own_names[files[0]])
        except InvalidAnnotationError:
            continue
        table = _table(words, files, layout, width) if layout.header is None else None
        if table is None:
            continue
        odd = np.ones(len(table.files), dtype=bool)
        if table.plain and as_read and ("end" in layout.places or not kind.adjacent):
            odd = table.may_be_odd()
        if not odd.all():
            regular = table.ragged()
            rows.append((held[table.files[~odd]], regular.take(np.flatnonzero(~odd)) if odd.any() else regular))
        for file, found in table.annotations(words, own_names, odd):
            place = int(held[file])
            if found.account:
                found = with_advised_remarks(found, reading, partial(_read_again, data[place], names[place]))
            single[place] = found
    return rows, single


def _read_again(data: bytes, name: str, reading: Reading) -> Annotation:
    return reading.with_labels(parse_file(data, reading, reading.format or "txt", name))


@dataclass(frozen=True)
class _RegularFiles:
    """The numbers and labels of regular files of one layout."""

    layout: Layout
    files: Int
    counts: Int
    """Number of lines of each file."""
    numbers: Float
    """Of each line, the columns of the layout; all columns, if there are no labels."""
    labels: CodedLabels | None
    plain: bool
    """Whether the labels clearly are labels of the task, if any text is one but for numbers, in their normal form."""

    def may_be_odd(self) -> Bool:
        """Mask of files in which a row ends before it starts, as in one of durations, or rows may be there twice."""
        names = [*_number_columns(self.layout)]
        odd = may_be_odd(self.numbers[:, 0], self.counts)
        if {"start", "end"} <= {*names}:
            start, end = (self.numbers[:, names.index(name)] for name in ("start", "end"))
            odd |= np.logical_or.reduceat(end < start, offsets_of(self.counts)[:-1])
        return odd

    def ragged(self) -> Ragged:
        """The annotations as rows, if the rows of the files are the items of the annotations."""
        columns = {
            name: np.ascontiguousarray(self.numbers[:, at]) for at, name in enumerate(_number_columns(self.layout))
        }
        assert self.labels is not None
        every = annotation_of(self.layout, columns, self.labels, range(1, len(self.numbers) + 1), {})
        return Ragged({**every.columns, "label": self.labels.codes}, (self.counts,), self.labels.vocabulary)

    def annotations(self, words: Words, names: Sequence[str], mask: Bool) -> Iterator[tuple[int, Annotation]]:
        """The annotation of each file of a mask that clearly belongs to the task."""
        bounds = offsets_of(self.counts)
        for at in np.flatnonzero(mask).tolist():
            file, low, high = int(self.files[at]), int(bounds[at]), int(bounds[at + 1])
            own, first = replace(self.layout, name=names[file]), words.text(int(words.line[file])).split()
            labels = None if self.labels is None else self.labels[low:high]
            annotation = _annotation(own, self.numbers[low:high], labels, first, self.plain)
            if annotation is not None:
                yield file, annotation


def _table(words: Words, files: Int, layout: Layout, width: int) -> _RegularFiles | None:
    """The files whose first line has `width` words, if all lines have the layout; None without any."""
    place = layout.places.get("label", width)
    labelled = place < layout.held
    whole = labelled and place == layout.splits  # the label is the rest of the line
    columns = [*_number_columns(layout).values()]
    if not columns or max(columns) >= width or (labelled and not whole and place != width - 1):
        return None
    fits = words.count > place if whole else words.count == width
    if whole and (words.count > place + 1).any():
        fits &= words.without_tabs(place)
    files = files[np.logical_and.reduceat(fits, words.line[:-1])[files]]
    if not len(files):
        return None
    lines, counts = words.lines(files)
    read = columns if labelled else [*range(width)]
    values, plain = words.numbers((words.first[lines, np.newaxis] + read).ravel())
    numbers = values.reshape(len(lines), len(read))
    if not plain.all():
        kept = np.logical_and.reduceat(plain.reshape(numbers.shape).all(axis=1), offsets_of(counts)[:-1])
        files, numbers = files[kept], numbers[np.repeat(kept, counts)]
        lines, counts = words.lines(files)
    labels = words.labels(lines, place, whole=whole) if labelled else None
    kind, task = layout.kind, layout.reading.task
    are_labels = labels is not None and kind.followed_by == "label" and are_plain(labels.vocabulary, kind, task)
    are_labels = are_labels and labels is not None and are_normal(labels.vocabulary)
    if are_labels and task == "local_key" and labels is not None:
        are_labels = not any(map(is_odd_key, labels.vocabulary))
    return _RegularFiles(layout, files, counts, numbers, labels, are_labels)


def _number_columns(layout: Layout) -> dict[str, int]:
    """The places of the columns of numbers."""
    return {name: place for name, place in layout.places.items() if name != "label"}


def _annotation(
    layout: Layout, table: Float, labels: CodedLabels | None, first: Sequence[str], are_labels: bool
) -> Annotation | None:
    """The annotation in the numbers and labels of a file; None unless they clearly belong to the task.

    Without labels, the table has all columns of the file, otherwise those that are read.
    """
    reading, kind, attrs = layout.reading, layout.kind, {"source": layout.name}
    account: tuple[Remark, ...] = ()
    names = _number_columns(layout)
    if labels is not None:
        if not are_labels and not are_plain(set(labels), kind, reading.task):
            return None
        names = {name: place for place, name in enumerate(names)}
    elif table.shape[1] > 1 and not are_numbers_of(table, kind, first):
        return None
    else:
        account = remarks_on_table(table, layout)
    numbers: dict[str, Column] = {name: np.ascontiguousarray(table[:, place]) for name, place in names.items()}
    try:
        found = replace(annotation_of(layout, numbers, labels, range(1, len(table) + 1), attrs), account=account)
        return reading.with_labels(finish(found, reading, layout.name))
    except InvalidAnnotationError:
        return None
