"""Text files of a block read at once: their joined bytes are split and converted to numbers by numpy.

Only regular files are read here, which hold the same number of columns on each line, separated by blanks or tabs, in
ASCII. All others, such as those with a header, a comment, a blank line or an error, are left to `parse_delimited`,
which returns the same annotation for regular files and names the line of an error.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..annotations.annotation import Annotation, CodedLabels
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError
from ..ragged import Column, Float, Int, offsets_of
from .content import digest_of, read_bytes
from .delimited import Layout, annotation_of, doubts_of_table, find_layout, finish, row_kind
from .downloads import download
from .formats import FORMATS, LAYOUTS
from .layouts import are_numbers_of, are_plain
from .options import HARTE, DelimitedOptions, Reading
from .sources import FileSource
from .words import Words

_FEWEST = 4
"""Number of files from which reading them at once is faster."""
_MOST_BYTES = 1 << 20
"""Bytes of files that are parsed at once, unless a single one is larger."""


def read_files(sources: Iterable[Source]) -> dict[int, tuple[Annotation, str]]:
    """Read the regular text files among sources: by the id of a source, what its ``read`` would return.

    Files at URLs are downloaded, whatever their format.
    """
    sources = list(sources)
    download(path for source in sources for path in source.paths)
    groups: dict[tuple[int, str], list[FileSource]] = {}
    for source in sources:
        if type(source) is FileSource:
            groups.setdefault((id(source.reading), source.reading.format_of(source.path)), []).append(source)
    read: dict[int, tuple[Annotation, str]] = {}
    for (_, format), group in groups.items():
        reading = group[0].reading
        if len(group) >= _FEWEST and has_usual_columns(reading, format):
            for part, data in _parts(group):
                found = parse_files(data, reading, [source.name or source.path for source in part])
                for source, one, content in zip(part, found, data, strict=True):
                    if one is not None:
                        read[id(source)] = one, digest_of(content)
    return read


def has_usual_columns(reading: Reading, format: str) -> bool:
    """True for text in columns that are separated by blanks, in their usual order."""
    options, kind = reading.delimited, reading.kind
    usual = DelimitedOptions(time_unit=options.time_unit, last=options.last, pitch_unit=options.pitch_unit)
    if format not in ("lab", "txt") or kind in (*LAYOUTS, *FORMATS[format].by_kind) or options != usual:
        return False
    return row_kind(reading).numbers > 0 and not (reading.selection or "").startswith("bar")


def _parts(sources: Sequence[FileSource]) -> Iterator[tuple[list[FileSource], list[bytes]]]:
    """Sources with the bytes of their files, in parts of limited size; without files that cannot be read."""
    part: list[FileSource] = []
    data: list[bytes] = []
    size = 0
    for source in sources:
        try:
            content = read_bytes(source.path, source.reading.max_bytes, source.name or source.path)
        except (AnnotationError, OSError):
            continue
        part.append(source)
        data.append(content)
        size += len(content)
        if size >= _MOST_BYTES:
            yield part, data
            part, data, size = [], [], 0
    if part:
        yield part, data


def parse_files(data: Sequence[bytes], reading: Reading, names: Sequence[str]) -> list[Annotation | None]:
    """Parse regular files of a reading with usual columns; None for a file that `parse_delimited` has to parse.

    Examples
    --------
    >>> files = [b"0.0 1.5 C:maj\\n1.5 2.0 N\\n", b"# a comment\\n0.0 2.0 G:7\\n"]
    >>> found = parse_files(files, Reading.of("chord"), ["a.lab", "b.lab"])
    >>> found[0].columns["end"].tolist(), found[1]
    ([1.5, 2.0], None)
    """
    found: list[Annotation | None] = [None] * len(data)
    texts = [_normalized(content) for content in data]
    held = [place for place, text in enumerate(texts) if text]
    if not held:
        return found
    words = Words.of([texts[place] for place in held])
    widths = words.count[words.line[:-1]]
    for width in np.unique(widths[words.usual]).tolist():
        files = np.flatnonzero((widths == width) & words.usual)
        try:
            layout = find_layout(words.text(int(words.line[files[0]])), 1, reading, "whitespace", names[held[files[0]]])
        except InvalidAnnotationError:
            continue
        if layout.header is None:
            for file, annotation in _annotations(words, files, layout, width, [names[place] for place in held]):
                found[held[file]] = annotation
    return found


def _normalized(data: bytes) -> bytes:
    """The bytes of a file with line ends as in `decode`, without those at the end."""
    data = data.removeprefix(codecs.BOM_UTF8)
    return (data.replace(b"\r\n", b"\n") if b"\r" in data else data).rstrip()


def _annotations(
    words: Words, files: Int, layout: Layout, width: int, names: Sequence[str]
) -> Iterator[tuple[int, Annotation]]:
    """The annotations in files whose first line has `width` words, if all lines have the layout."""
    place = layout.places.get("label", width)
    labelled = place < layout.held
    whole = labelled and place == layout.splits  # the label is the rest of the line
    columns = [*_number_columns(layout).values()]
    if not columns or max(columns) >= width or (labelled and not whole and place != width - 1):
        return
    fits = words.count > place if whole else words.count == width
    if whole and (words.count > place + 1).any():
        fits &= words.without_tabs(place)
    files = files[np.logical_and.reduceat(fits, words.line[:-1])[files]]
    if not len(files):
        return
    lines, counts = words.lines(files)
    read = columns if labelled else [*range(width)]
    values, plain = words.numbers((words.first[lines, np.newaxis] + read).ravel())
    table = values.reshape(len(lines), len(read))
    kept = np.logical_and.reduceat(plain.reshape(table.shape).all(axis=1), offsets_of(counts)[:-1])
    files, table = files[kept], table[np.repeat(kept, counts)]
    lines, counts = words.lines(files)
    labels = words.labels(lines, place, whole=whole) if labelled else None
    # Where any text is a label, but for numbers, all labels are looked at once.
    kind, task = layout.kind, layout.reading.task
    plain_labels = labels is not None and kind.followed_by == "label" and are_plain(labels.vocabulary, kind, task)
    if labels is not None and plain_labels and _are_as_read(layout):
        named = {name: np.ascontiguousarray(table[:, at]) for at, name in enumerate(_number_columns(layout))}
        every = annotation_of(layout, named, labels, range(1, len(table) + 1), {})
        for file, (low, high) in zip(files.tolist(), pairwise(offsets_of(counts).tolist()), strict=True):
            cut = {name: column[low:high] for name, column in every.columns.items()}
            lined, attrs = range(1, high - low + 1), {"source": names[file]}
            yield file, Annotation(every.kind, cut, labels[low:high], lines=lined, attrs=attrs)
        return
    for file, (low, high) in zip(files.tolist(), pairwise(offsets_of(counts).tolist()), strict=True):
        own, first = replace(layout, name=names[file]), words.text(int(words.line[file])).split()
        annotation = _annotation(
            own, table[low:high], None if labels is None else labels[low:high], first, plain_labels
        )
        if annotation is not None:
            yield file, annotation


def _number_columns(layout: Layout) -> dict[str, int]:
    """The places of the columns of numbers."""
    return {name: place for name, place in layout.places.items() if name != "label"}


def _are_as_read(layout: Layout) -> bool:
    """True if the rows of a file are the items of its annotation."""
    reading, kind = layout.reading, layout.kind
    changed = kind.level or kind.listed or kind.pitched or "bar" in kind.columns or reading.kind != kind.name
    changed = changed or reading.labels is not None or reading.notation != HARTE
    return not changed and ("end" in layout.places or not kind.adjacent)


def _annotation(
    layout: Layout, table: Float, labels: CodedLabels | None, first: Sequence[str], are_labels: bool
) -> Annotation | None:
    """The annotation in the numbers and labels of a file; None unless they clearly belong to the task.

    Without labels, the table has all columns of the file, otherwise those that are read.
    """
    reading, kind, attrs = layout.reading, layout.kind, {"source": layout.name}
    names = _number_columns(layout)
    if labels is not None:
        if not are_labels and not are_plain(set(labels), kind, reading.task):
            return None
        names = {name: place for place, name in enumerate(names)}
    elif table.shape[1] > 1 and not are_numbers_of(table, kind, first):
        return None
    else:
        attrs |= doubts_of_table(table, layout)
    numbers: dict[str, Column] = {name: np.ascontiguousarray(table[:, place]) for name, place in names.items()}
    try:
        found = annotation_of(layout, numbers, labels, range(1, len(table) + 1), attrs)
        return reading.with_labels(finish(found, reading, layout.name))
    except InvalidAnnotationError:
        return None
