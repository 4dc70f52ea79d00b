"""Text files of a block read at once: their joined bytes are split and converted to numbers by numpy.

Only regular files are read here, which hold the same number of columns on each line, separated by blanks or tabs, in
ASCII. All others, such as those with a header, a comment, a blank line or an error, are left to `parse_delimited`,
which returns the same annotation for regular files and names the line of an error.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import Annotation, CodedLabels
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError
from ..ragged import Bool, Column, Float, Int, offsets_of, ranges
from .content import digest_of, read_bytes
from .delimited import Layout, annotation_of, doubts_of_table, find_layout, finish, row_kind
from .downloads import download
from .formats import FORMATS, LAYOUTS
from .layouts import are_numbers_of, are_plain
from .options import HARTE, DelimitedOptions, Reading
from .sources import FileSource

_FEWEST = 4
"""Number of files from which reading them at once is faster."""
_MOST_BYTES = 1 << 20
"""Bytes of files that are parsed at once, unless a single one is larger."""
_TAB, _LINE_END, _BLANK, _LAST_PRINTED = 9, 10, 32, 126
_POINT = np.uint8((ord(".") - ord("0")) % 256)
_WIDTH = 18
"""Most characters of a number whose digits fit into an integer of 64 bits."""
_EXACT = 1 << 53
"""Smaller integers are exact as float64, and so are these powers of ten: one division rounds as `float` does."""
_LONGEST = 64
"""Most characters of labels that are compared as numbers, eight characters each."""
_FACTORS = np.array(
    [1, *(pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, _LONGEST // 8))], dtype=np.uint64
)
_POWERS = np.array([float(f"1e{power}") for power in range(_WIDTH)])


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
    words = _Words.of([texts[place] for place in held])
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


@dataclass(frozen=True)
class _Words:
    """The words of joined files, and the lines that hold them."""

    joined: bytes
    codes: npt.NDArray[np.uint8]
    start: Int
    end: Int
    line_end: Int
    first: Int
    """The first word of each line: int64 (lines,)."""
    count: Int
    """The number of words of each line: int64 (lines,)."""
    line: Int
    """The first line of each file, and the number of lines: int64 (files + 1,)."""
    usual: Bool
    """Whether a file is ASCII without control characters and begins with a digit, and no line of it begins or ends
    with blanks."""

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> _Words:
        """Split texts, none of which is empty."""
        joined = b"\n".join([*texts, b""])
        codes = np.frombuffer(joined, dtype=np.uint8)
        line_end = np.flatnonzero(codes == _LINE_END)
        line_start = np.append(0, line_end[:-1] + 1)
        blank = (codes == _BLANK) | (codes == _TAB) | (codes == _LINE_END)
        start = np.flatnonzero(~blank & np.append(True, blank[:-1]))
        end = np.flatnonzero(~blank[:-1] & blank[1:]) + 1
        first = np.searchsorted(start, line_start)
        ends = np.cumsum([len(text) + 1 for text in texts])
        line = np.append(0, np.searchsorted(line_end, ends))
        usual = np.logical_and.reduceat(~(blank[line_start] | blank[line_end - 1]), line[:-1])
        usual &= codes[line_start[line[:-1]]] - np.uint8(ord("0")) <= 9
        odd = np.flatnonzero(((codes < _BLANK) & ~blank) | (codes > _LAST_PRINTED))
        usual[np.searchsorted(ends, odd, side="right")] = False
        return cls(joined, codes, start, end, line_end, first, np.diff(np.append(first, len(start))), line, usual)

    def text(self, line: int) -> str:
        """The text of a line."""
        return self.joined[self.start[self.first[line]] : self.line_end[line]].decode()

    def lines(self, files: Int) -> tuple[Int, Int]:
        """The lines of files, and the number of lines of each."""
        counts = np.diff(self.line)[files]
        return ranges(self.line[files], counts), counts

    def numbers(self, words: Int) -> tuple[Float, Bool]:
        """Numbers in words as `float` reads them, and the mask of words that are numbers."""
        end = self.end[words]
        length = end - self.start[words]
        column = np.arange(min(int(length.max()), _WIDTH))
        digit = self.codes[np.maximum(end[:, np.newaxis] - 1 - column, 0)] - np.uint8(ord("0"))  # from the last one
        digit[column >= length[:, np.newaxis]] = 0
        point = digit == _POINT
        points = point.sum(axis=1)
        plain = ((digit <= 9) | point).all(axis=1) & (points <= 1) & (length > points) & (length <= _WIDTH)
        digit[point] = 0
        places = np.where(points > 0, point.argmax(axis=1), 0)
        whole, part = np.divmod(digit.astype(np.int64) @ 10**column, 10 ** (places + points))
        digits = whole * 10**places + part
        values = digits / _POWERS[places]
        plain &= digits < _EXACT
        for place in np.flatnonzero(~plain).tolist():
            text = self.joined[self.start[words[place]] : end[place]]
            if b"_" not in text:  # which only `float` accepts between digits
                try:
                    values[place] = float(text)
                except ValueError:
                    continue
                plain[place] = True
        return values, plain

    def labels(self, lines: Int, place: int, *, whole: bool) -> CodedLabels:
        """The words at a place of lines; if `whole`, with the rest of the line."""
        word = self.first[lines] + place
        start, end = self.start[word], self.line_end[lines] if whole else self.end[word]
        first, codes = self._distinct(start, end)
        bounds = zip(start[first].tolist(), end[first].tolist(), strict=True)
        known: dict[bytes, int] = {}
        place_of = [known.setdefault(self.joined[low:high], len(known)) for low, high in bounds]
        return CodedLabels(tuple(text.decode() for text in known), np.array(place_of, dtype=np.int64)[codes])

    def _distinct(self, start: Int, end: Int) -> tuple[Int, Int]:
        """Places of texts among which are all distinct ones, in order, and which of those equals each text."""
        length = end - start
        width = -(-int(length.max(initial=1)) // 8) * 8
        if width > _LONGEST:
            return np.arange(len(start)), np.arange(len(start))
        column = np.arange(width)
        characters = self.codes[np.minimum(start[:, np.newaxis] + column, len(self.codes) - 1)]
        characters[column >= length[:, np.newaxis]] = 0
        words = characters.view(np.uint64)
        # Texts of one number are mostly equal, which is checked, as two of a part may get the same.
        number = (words * _FACTORS[: words.shape[1]]).sum(axis=1)
        _, first, codes = np.unique(number, return_index=True, return_inverse=True)
        if not np.array_equal(words, words[first[codes]]):
            return np.arange(len(start)), np.arange(len(start))
        order = np.argsort(first)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return first[order], place[codes]

    def without_tabs(self, place: int) -> Bool:
        """Mask of lines without a tab after the start of the word at a place, which they have."""
        tabs = np.cumsum(self.codes == _TAB, dtype=np.int32)
        same: Bool = tabs[self.line_end] == tabs[self.start[np.minimum(self.first + place, len(self.start) - 1)]]
        return same


def _annotations(
    words: _Words, files: Int, layout: Layout, width: int, names: Sequence[str]
) -> Iterator[tuple[int, Annotation]]:
    """The annotations in files whose first line has `width` words, if all lines have the layout."""
    place = layout.places.get("label", width)
    labelled = place < layout.held
    whole = labelled and place == layout.splits  # the label is the rest of the line
    columns = [*_number_columns(layout).values()]
    if not columns or max(columns) >= width or (labelled and not whole and place != width - 1):
        return
    fits = (words.count > place) & words.without_tabs(place) if whole else words.count == width
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
