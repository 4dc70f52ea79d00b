"""Annotations of a block of sources read at once: text files, and plain objects in memory.

The joined bytes of regular text files are split and converted to numbers by numpy: files in ASCII with the same number
of columns on each line, separated by blanks or tabs. All others, such as those with a header, a comment, a blank line
or an error, are left to `parse_delimited`. Arrays and lists of regular objects are joined, and checked as one array of
many tracks: arrays of numbers, lists of float and int, and lists of str, by themselves, in a tuple or in a dict, of
kinds with one row per item. All others are left to `to_annotation`. Both return the same annotation for what is
regular, and describe errors.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations.account import Remark
from ..annotations.annotation import Annotation, CodedLabels, encode
from ..annotations.schema import TASK_KINDS, Kind
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from ..theory.text_form import are_normal
from .content import digest_of, read_bytes
from .delimited import ROW_KINDS, Layout, annotation_of, find_layout, finish, is_odd_key, remarks_on_table
from .doubts import COUNTED_ROWS, FEWEST_ROWS
from .downloads import download
from .formats import FORMATS, LAYOUTS
from .label_maps import in_normal_form
from .layouts import are_numbers_of, are_plain
from .objects import VOCABULARY, ObjectSource, is_path, kind_named
from .options import HARTE, DelimitedOptions, Reading
from .remedies import advised
from .sources import FileSource, parse_file

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
    groups: dict[tuple[int, str], dict[int, FileSource]] = {}
    for place, source in enumerate(sources):
        if type(source) is FileSource:
            groups.setdefault((id(source.reading), source.reading.format_of(source.path)), {})[place] = source
    rows: list[tuple[Int, Ragged]] = []
    single: dict[int, Annotation] = {}
    digests: dict[int, str] = {}
    for (_, format), files in groups.items():
        if len(files) < _FEWEST or format not in ("lab", "txt"):
            continue
        reading = next(iter(files.values())).reading
        options, kind, bars = reading.delimited, reading.kind, (reading.selection or "").startswith("bar")
        # Only columns that are separated by blanks, in their usual order.
        usual = DelimitedOptions(time_unit=options.time_unit, last=options.last, pitch_unit=options.pitch_unit)
        if kind in (*LAYOUTS, *FORMATS[format].by_kind) or not ROW_KINDS[kind].numbers or options != usual or bars:
            continue
        part, size = dict[int, bytes](), 0  # by the place of the source
        for number, (place, file) in enumerate(files.items(), 1):
            with suppress(AnnotationError, OSError):  # without files that cannot be read
                part[place] = read_bytes(file.path, reading.max_bytes, file.name or file.path)
                size += len(part[place])
            if not part or (size < _MOST_BYTES and number < len(files)):
                continue
            names = [files[index].name or files[index].path for index in part]
            common, others = parse_files([*part.values()], reading, names)
            places = np.array([*part])
            rows += [(places[index], ragged) for index, ragged in common]
            single |= {int(places[index]): annotation for index, annotation in others.items()}
            for index in chain(others, *(index.tolist() for index, _ in common)):
                digests[int(places[index])] = digest_of(part[int(places[index])])
            part, size = {}, 0
    return rows, single, digests


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
    kind = ROW_KINDS[reading.kind]
    changed = kind.level or kind.listed or kind.pitched or "bar" in kind.columns or reading.kind != kind.name
    as_read = not (changed or reading.labels is not None or reading.notation != HARTE)
    own_texts, own_names = ([values[place] for place in held.tolist()] for values in (texts, names))
    words = Words.of(own_texts)
    widths = words.count[words.line[:-1]]
    for width in np.unique(widths[words.usual]).tolist():
        files = np.flatnonzero((widths == width) & words.usual)
        try:
            first = own_texts[files[0]].partition(b"\n")[0].decode()
            layout = find_layout(first, 1, reading, "whitespace", own_names[files[0]])
        except InvalidAnnotationError:
            continue
        table = _table(words, files, layout, width) if layout.header is None else None
        if table is None:
            continue
        odd = np.ones(len(table.files), dtype=bool)
        if table.plain and as_read and ("end" in layout.places or not kind.adjacent):
            regular, odd = table.ragged()
            if not odd.all():
                rows.append((held[table.files[~odd]], regular.take(np.flatnonzero(~odd)) if odd.any() else regular))
        for file, found in table.annotations(own_texts, own_names, odd):
            place = int(held[file])
            if found.account:

                def read_again(other: Reading, place: int = place) -> tuple[Annotation, None]:
                    parsed = parse_file(data[place], other, other.format or "txt", names[place])
                    return in_normal_form(parsed, other.labels), None

                remarks = found.account
                account = (replace(remark, message=advised(remark.message, reading, read_again)) for remark in remarks)
                found = replace(found, account=tuple(account))
            single[place] = found
    return rows, single


@dataclass(frozen=True)
class _RegularFiles:
    """The numbers and labels of regular files of one layout."""

    layout: Layout
    files: Int
    counts: Int
    """Number of lines of each file."""
    numbers: Float
    """Of each line, the columns of the layout; all columns, if there are no labels."""
    columns: Mapping[str, int]
    """Where each column of numbers of the layout is among the numbers."""
    labels: CodedLabels | None
    plain: bool
    """Whether the labels clearly are labels of the task, if any text is one but for numbers, in their normal form."""

    def ragged(self) -> tuple[Ragged, Bool]:
        """The annotations as rows, if the rows of the files are their items; and the mask of files that may be odd.

        In those a row ends before it starts, as in one of durations, or rows may be there twice.
        """
        columns: dict[str, Column] = {
            name: np.ascontiguousarray(self.numbers[:, at]) for name, at in self.columns.items()
        }
        # As in `tell_odd_rows`: the first time is there again, next to it or in the middle, or counts the others.
        times, counts, first = self.numbers[:, 0], self.counts, offsets_of(self.counts)[:-1]
        even = (counts >= 2 * FEWEST_ROWS) & (counts % 2 == 0)
        second, middle = np.where(even, first + 1, first), np.where(even, first + counts // 2, first)
        odd: Bool = even & ((times[first] == times[second]) | (times[first] == times[middle]))
        odd |= (counts > COUNTED_ROWS) & (times[first] == counts - 1)
        if {"start", "end"} <= columns.keys():
            odd |= np.logical_or.reduceat(columns["end"] < columns["start"], first)
        assert self.labels is not None
        every = annotation_of(self.layout, columns, self.labels, range(1, len(self.numbers) + 1), {})
        return Ragged({**every.columns, "label": self.labels.codes}, (self.counts,), self.labels.vocabulary), odd

    def annotations(self, texts: Sequence[bytes], names: Sequence[str], mask: Bool) -> Iterator[tuple[int, Annotation]]:
        """The annotation of each file of a mask that clearly belongs to the task."""
        bounds, reading, kind = offsets_of(self.counts), self.layout.reading, self.layout.kind
        for at in np.flatnonzero(mask).tolist():
            file, low, high = int(self.files[at]), int(bounds[at]), int(bounds[at + 1])
            layout, table = replace(self.layout, name=names[file]), self.numbers[low:high]
            account: tuple[Remark, ...] = ()
            labels = None if self.labels is None else self.labels[low:high]
            first = texts[file].partition(b"\n")[0]
            if labels is not None:
                if not self.plain and not are_plain(set(labels), kind, reading.task):
                    continue
            elif table.shape[1] > 1 and not are_numbers_of(table, kind, first.decode().split()):
                continue
            else:
                account = remarks_on_table(table, layout)
            columns: dict[str, Column] = {
                key: np.ascontiguousarray(table[:, place]) for key, place in self.columns.items()
            }
            try:
                found = annotation_of(layout, columns, labels, range(1, len(table) + 1), {"source": layout.name})
                found = finish(replace(found, account=account), reading, layout.name)
                found = in_normal_form(found, reading.labels)
            except InvalidAnnotationError:
                continue
            yield file, found


def _table(words: Words, files: Int, layout: Layout, width: int) -> _RegularFiles | None:
    """The files whose first line has `width` words, if all lines have the layout; None without any."""
    place = layout.places.get("label", width)
    labelled = place < layout.held
    whole = labelled and place == layout.splits  # the label is the rest of the line
    places = {name: place for name, place in layout.places.items() if name != "label"}
    columns = [*places.values()]
    if not columns or max(columns) >= width or (labelled and not whole and place != width - 1):
        return None
    fits = words.count > place if whole else words.count == width
    if whole and (words.count > place + 1).any():  # no tab may follow the start of the label
        tabs = np.cumsum(words.codes == _TAB, dtype=np.int32)
        start = words.start[np.minimum(words.first + place, len(words.start) - 1)]
        fits &= tabs[words.line_end] == tabs[start]
    files = files[np.logical_and.reduceat(fits, words.line[:-1])[files]]
    if not len(files):
        return None
    counts = np.diff(words.line)[files]
    lines = ranges(words.line[files], counts)
    read = columns if labelled else [*range(width)]
    values, plain = words.numbers((words.first[lines, np.newaxis] + read).ravel())
    numbers = values.reshape(len(lines), len(read))
    if not plain.all():
        kept = np.logical_and.reduceat(plain.reshape(numbers.shape).all(axis=1), offsets_of(counts)[:-1])
        rows = np.repeat(kept, counts)
        files, counts, lines, numbers = files[kept], counts[kept], lines[rows], numbers[rows]
    labels = words.labels(lines, place, whole=whole) if labelled else None
    kind, task = layout.kind, layout.reading.task
    are_labels = labels is not None and kind.followed_by == "label" and are_plain(labels.vocabulary, kind, task)
    are_labels = are_labels and labels is not None and are_normal(labels.vocabulary)
    if are_labels and task == "local_key" and labels is not None:
        are_labels = not any(map(is_odd_key, labels.vocabulary))
    at = {name: index for index, name in enumerate(places)} if labelled else places
    return _RegularFiles(layout, files, counts, numbers, at, labels, are_labels)


Eights = npt.NDArray[np.uint64]
"""Integers of eight characters."""

_TAB, _LINE_END, _BLANK, _QUOTE, _LAST_PRINTED = 9, 10, 32, 34, 126
_LONGEST = 64
"""Most characters of labels that are compared as numbers, eight at a time."""
_FACTORS = np.array(
    [1, *(pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, _LONGEST // 8))], dtype=np.uint64
)
_BUCKETS, _ROUNDS = 14, 4
"""Bits of the hash by which equal numbers are found, and how many hashes are tried."""
_PARTS = 3
"""Most eights of characters of a number."""
_HIGHEST = (2**64 - 10**16) // 10**16
"""Most of the digits before the last sixteen, so that all of them fit into 64 bits."""
_BEFORE = 8 * _PARTS
"""Characters that are added before a text, so that what precedes a word can be taken."""
_FIRST = np.array([(1 << (8 * kept)) - 1 for kept in range(9)], dtype=np.uint64)
_LAST = ~_FIRST[::-1]
"""Masks of a number of the first and of the last characters of eight."""
_ZEROS, _POINT, _NOT_NINE, _HIGH = (
    np.uint64(code * 0x0101010101010101) for code in (ord("0"), ord(".") ^ ord("0"), 0x80 - 10, 0x80)
)
_PLACES = [np.uint64(sum((8 * part + place) << (8 * place) for place in range(8))) for part in range(_PARTS)]
"""For each part of a number, the digits that follow a point: times the bit of the point, in the highest byte."""
_EXACT = 1 << 53
"""Smaller integers are exact as float64, and so are these powers of ten: one division rounds as `float` does."""
_POWERS = np.array([float(f"1e{power}") for power in range(23)])
_EXTENDED = np.finfo(np.longdouble).nmant == 63
_EXTENDED_POWERS = np.array([10**power for power in range(8 * _PARTS)], dtype=object).astype(np.longdouble)
"""Where a long double has 64 bits, as on x86, integers of 64 bits and these powers of ten are exact."""


@dataclass(frozen=True)
class Words:
    """The words of joined texts, none of which is empty, and the lines that hold them."""

    joined: bytes
    codes: npt.NDArray[np.uint8]
    eights: Eights
    """The eight characters that follow each place, from `_BEFORE` places before the text."""
    start: Int
    end: Int
    line_end: Int
    first: Int
    """The first word of each line: int64 (lines,)."""
    count: Int
    """The number of words of each line: int64 (lines,)."""
    line: Int
    """The first line of each text, and the number of lines: int64 (texts + 1,)."""
    usual: Bool
    """Whether a text is ASCII without control characters and quotes and begins with a digit, and no line of it begins
    or ends with blanks."""

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Words:
        """Split texts, none of which is empty."""
        joined = b"\n".join([*texts, b""])
        codes = np.frombuffer(joined, dtype=np.uint8)
        padded = b"".join([bytes(_BEFORE), joined, bytes(_LONGEST)])
        eights = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
        ends_line = codes == _LINE_END
        line_end = np.flatnonzero(ends_line)
        line_start = np.append(0, line_end[:-1] + 1)
        blank = (codes == _BLANK) | (codes == _TAB) | ends_line
        changes = np.flatnonzero(blank[1:] != blank[:-1]) + 1
        bounds = changes if blank[0] else np.append(0, changes)
        start, end = bounds[::2], bounds[1::2]
        last = np.flatnonzero(ends_line[end])
        each_ends_with_one = len(last) == len(line_end)
        first = np.append(0, last[:-1] + 1) if each_ends_with_one else np.searchsorted(start, line_start)
        ends = np.cumsum([len(text) + 1 for text in texts])
        line = np.append(0, np.searchsorted(line_end, ends))
        usual = np.logical_and.reduceat(~(blank[line_start] | blank[line_end - 1]), line[:-1])
        usual &= codes[line_start[line[:-1]]] - np.uint8(ord("0")) <= 9
        odd = np.flatnonzero(((codes < _BLANK) & ~blank) | (codes > _LAST_PRINTED) | (codes == _QUOTE))
        usual[np.searchsorted(ends, odd, side="right")] = False
        counts = np.diff(np.append(first, len(start)))
        return cls(joined, codes, eights, start, end, line_end, first, counts, line, usual)

    def numbers(self, words: Int) -> tuple[Float, Bool]:
        """Numbers in ASCII words as `float` reads them, and the mask of words that are numbers."""
        end = self.end[words]
        length = end - self.start[words]
        parts = min(_PARTS, max(2, -(-int(length.max(initial=1)) // 8)))
        # From the last characters to the first; what precedes a word becomes zeros.
        digits = [
            (self.eights[end + (_BEFORE - 8 * part - 8)] ^ _ZEROS) & _LAST[np.clip(length - 8 * part, 0, 8)]
            for part in range(parts)
        ]
        places, points, formed = _drop_point(digits)
        formed &= (length > points) & (length <= 8 * parts)
        values = []
        every_fourth = np.uint64(0x000000FF000000FF)
        for part in digits:  # the numbers of eight digits each
            pairs = part * np.uint64(10) + (part >> np.uint64(8))
            high = (pairs & every_fourth) * np.uint64(100 + (1_000_000 << 32))
            low = ((pairs >> np.uint64(16)) & every_fourth) * np.uint64(1 + (10_000 << 32))
            values.append((high + low) >> np.uint64(32))
        whole = values[0] + values[1] * np.uint64(10**8)
        if parts > 2:
            formed &= values[2] <= _HIGHEST
            whole += values[2] * np.uint64(10**16)
        # Divided by powers of ten; `plain` are the ones whose quotient is rounded as by `float`.
        places = np.broadcast_to(places, whole.shape)
        plain = formed & (whole < _EXACT) & (places < len(_POWERS))
        numbers = whole / _POWERS[np.minimum(places, len(_POWERS) - 1)]
        rest: Int = np.flatnonzero(formed & ~plain) if _EXTENDED else np.empty(0, dtype=np.int64)
        if len(rest):
            quotient = whole[rest].astype(np.longdouble) / _EXTENDED_POWERS[places[rest]]
            rounded = quotient.astype(np.float64)
            # Rounded to 64 bits first, what is now halfway between two numbers may have been above or below. Below a
            # power of two, numbers are half as far apart as above.
            offset, spacing = 4 * np.abs(quotient - rounded), np.spacing(rounded)
            plain[rest] = (offset != 2 * spacing) & (offset != spacing)
            numbers[rest] = rounded
        for place in np.flatnonzero(~plain).tolist():
            text = self.joined[self.start[words[place]] : end[place]]
            if b"_" not in text:  # which only `float` accepts between digits
                try:
                    numbers[place] = float(text)
                except ValueError:
                    continue
                plain[place] = True
        return numbers, plain

    def labels(self, lines: Int, place: int, *, whole: bool) -> CodedLabels:
        """The words at a place of lines; if `whole`, with the rest of the line."""
        word = self.first[lines] + place
        start, end = self.start[word], self.line_end[lines] if whole else self.end[word]
        # Places of texts among which are all distinct ones, in order, and which of those equals each text.
        first = codes = np.arange(len(start))
        length = end - start
        parts = -(-int(length.max(initial=1)) // 8)
        if 8 * parts <= _LONGEST:
            texts = [
                self.eights[start + (_BEFORE + 8 * part)] & _FIRST[np.clip(length - 8 * part, 0, 8)]
                for part in range(parts)
            ]
            number = texts[0]
            if parts > 1:
                number = np.sum([text * factor for text, factor in zip(texts, _FACTORS, strict=False)], axis=0)
            equal = _first_equal(number)
            # Texts of one number are mostly equal, which is checked, as two of a part may get the same.
            if all(np.array_equal(text, text[equal]) for text in texts):
                first = np.flatnonzero(equal == first)
                rank = np.empty(len(equal), dtype=np.int64)
                rank[first] = np.arange(len(first))
                codes = rank[equal]
        bounds = zip(start[first].tolist(), end[first].tolist(), strict=True)
        known: dict[bytes, int] = {}
        place_of = [known.setdefault(self.joined[low:high], len(known)) for low, high in bounds]
        return CodedLabels(tuple(text.decode() for text in known), np.array(place_of, dtype=np.int64)[codes])


def _drop_point(digits: list[Eights]) -> tuple[Int, Int, Bool]:
    """Move the digits before the point of each number to where the point is, in place.

    `digits` are parts of numbers, the last characters first, with the value of a digit in each byte. Returns the
    number of digits that follow the point, the number of points, and a mask of the numbers with at most one, whose
    other characters are digits; arrays of one value hold for all numbers.
    """
    places = np.zeros(1, dtype=np.uint64)
    points = np.zeros(1, dtype=np.int64)
    plain = np.ones(len(digits[0]), dtype=np.bool_)
    moved: list[Eights] = []
    for part, own in enumerate(digits):
        # The lowest bit of each byte above nine.
        odd = (((own + _NOT_NINE) | own) & _HIGH) >> np.uint64(7)
        if len(odd) and (odd == odd[0]).all():
            odd = odd[:1]  # all numbers have their point at the same place, or none here
        byte = odd * np.uint64(0xFF)
        plain &= ((odd & (odd - np.uint64(1))) == 0) & ((own & byte) == (_POINT & byte))
        places = places + ((odd * _PLACES[part]) >> np.uint64(56))
        held = odd != 0
        before = np.where(held, odd - np.uint64(1), np.where(points > 0, ~np.uint64(0), np.uint64(0)))
        points = points + held
        moved.append(own & before)
        own &= ~(before | byte)
    for part, own in enumerate(digits):
        own |= moved[part] << np.uint64(8)
        if part + 1 < len(digits):
            own |= moved[part + 1] >> np.uint64(56)
    plain &= points <= 1
    return places.astype(np.int64), points, plain


def _first_equal(numbers: Eights) -> Int:
    """The first place of an equal number, for each number.

    Examples
    --------
    >>> _first_equal(np.array([7, 5, 7, 5, 9], dtype=np.uint64)).tolist()
    [0, 1, 0, 1, 4]
    """
    first = np.empty(len(numbers), dtype=np.int64)
    left = np.arange(len(numbers))
    table = np.empty(1 << _BUCKETS, dtype=np.int64)
    for turn in range(_ROUNDS):
        own = numbers[left]
        bucket = (own * (_FACTORS[1] + np.uint64(2 * turn))) >> np.uint64(64 - _BUCKETS)
        # Of several assignments to one place the last one holds.
        table[bucket[::-1]] = left[::-1]
        found = table[bucket]
        equal = numbers[found] == own
        first[left[equal]] = found[equal]
        left = left[~equal]
        if not len(left):
            return first
    _, places, codes = np.unique(numbers[left], return_index=True, return_inverse=True)
    first[left] = left[places][codes]
    return first


_FLAT = frozenset({"events", "intervals", "notes", "hits", "pedals", "series", "tempo"})
"""Kinds with one row per item."""
_NUMBERS = frozenset({float, int, np.float64, np.float32, np.int64, np.int32})
"""Types of items of lists that are converted at once."""


def read_objects(sources: Sequence[Source]) -> tuple[list[tuple[Int, Ragged]], dict[int, Annotation]]:
    """Convert plain objects among the sources of a task at once, as their ``read`` would.

    Returns `rows` (list of (int64 (rows,), Ragged)): places of sources, and their annotations as rows of common
    columns. `single`: other annotations by the place of their source. Equal texts are the same annotation.
    """
    every = [(place, source) for place, source in enumerate(sources) if type(source) is ObjectSource]
    objects = [(place, one) for place, one in every if not (one.options and one.options.keys() & VOCABULARY)]
    if not objects or objects[0][1].task not in TASK_KINDS:
        return [], {}
    kind = kind_named(objects[0][1].task)
    single: dict[int, Annotation] = {}
    texts: dict[str, Annotation | None] = {}
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place, source in objects:
        thing = source.thing
        form = type(thing)
        if form is np.ndarray or form is list:
            forms.setdefault((form,), []).append(place)
        elif form is tuple:
            forms.setdefault((form, *map(type, thing)), []).append(place)
        elif form is dict:
            forms.setdefault((form, *thing, *map(type, thing.values())), []).append(place)
        elif form is str:
            if thing not in texts:  # a path, or what has an error, is None
                texts[thing] = None
                if kind.written and not is_path(thing, kind):
                    with suppress(AnnotationError):
                        texts[thing] = source.read()[0]
            if (annotation := texts[thing]) is not None:
                single[place] = annotation
        elif form is Annotation and thing.kind == kind.name:
            single[place] = in_normal_form(thing)
    rows: list[tuple[Int, Ragged]] = []
    for places in forms.values() if kind.name in _FLAT else ():
        things = [sources[place].thing for place in places]  # type: ignore[attr-defined]
        first = things[0]
        given: dict[str, Sequence[Any]] = {}
        if isinstance(first, dict):
            given = dict(zip(first, zip(*(thing.values() for thing in things), strict=True), strict=True))
        elif not isinstance(first, tuple):
            given = {kind.arguments[0]: things}
        elif first and type(first[0]) in (np.ndarray, list) and len(first) <= len(kind.arguments):
            given = dict(zip(kind.arguments, zip(*things, strict=True), strict=False))
        # A tuple of numbers is itself the first argument, and left out.
        if isinstance(first, tuple | dict):
            given = {name: values for name, values in given.items() if values[0] is not None}
        converted = _rows_of(kind, given)
        if converted is not None:
            regular, joined = converted
            rows.append((np.array(places, dtype=np.int64)[regular], joined))
    return rows, single


def _rows_of(kind: Kind, given: dict[str, Sequence[Any]]) -> tuple[Bool, Ragged] | None:
    """Which objects are regular, and rows of those; None if none is."""
    weight = given.pop("weight", None) if kind.name == "tempo" else None
    numbers = {one.name for one in kind.variables} - kind.texts - kind.flags
    columns: dict[str, tuple[Column, Int]] = {}
    for name, held in given.items():
        pairs = name == "intervals" and "intervals" in kind.arguments
        joined = _joined(held, pairs=pairs, texts=name == "label") if pairs or name in {*numbers, "label"} else None
        if joined is None:
            return None
        columns[name] = joined
    if not columns:
        return None
    _, size = next(iter(columns.values()))
    regular: Bool = np.logical_and.reduce([(sizes == size) & (sizes >= 0) for _, sizes in columns.values()])
    if weight is not None:
        # The share of the first of two tempi in their salience.
        regular &= [type(share) is float and 0 <= share <= 1 for share in weight]
        regular &= size == 2
    if not regular.any():
        return None
    parts: dict[str, Column] = {}
    for name, (items, sizes) in columns.items():
        known = sizes >= 0
        kept = items if regular[known].all() else items[np.repeat(regular[known], sizes[known])]
        parts |= {"start": kept[:, 0].copy(), "end": kept[:, 1].copy()} if name == "intervals" else {name: kept}
    if set(kind.required) - parts.keys() or len(parts) != len(columns) + ("intervals" in columns):
        return None
    if weight is not None:
        share = np.array([share for share, kept in zip(weight, regular.tolist(), strict=True) if kept])
        parts["salience"] = np.column_stack([share, 1 - share]).ravel()
    labels: dict[str, int] = {}
    if "label" in parts:
        parts["label"] = encode([parts["label"].tolist()], labels)
        if not are_normal([*labels]):
            return None
    rows = Ragged(parts, (size[regular],), tuple(labels))
    if kind.arguments[:2] == ("time", "frequency"):
        # Rows whose times decrease may be frequencies and times in the wrong order.
        time, owner = rows.columns["time"], rows_of(rows.counts[0])
        ordered = np.ones(len(rows), dtype=np.bool_)
        ordered[owner[1:][(time[1:] < time[:-1]) & (owner[1:] == owner[:-1])]] = False
        if not ordered.all():
            regular[np.flatnonzero(regular)[~ordered]] = False
            rows = rows.take(np.flatnonzero(ordered))
    return regular, rows


def _joined(values: Sequence[Any], *, pairs: bool, texts: bool) -> tuple[Column, Int] | None:
    """The items of the regular values as one array, and the number of items of each value, -1 for irregular ones.

    Regular are arrays with one dim, and lists, of numbers, or of `texts`; of `pairs` arrays (n, 2), and lists of lists
    or tuples of two numbers. None if the first value is of another type.
    """
    are_arrays, types = type(values[0]) is np.ndarray and not texts, frozenset({str}) if texts else _NUMBERS
    regular = [True] * len(values)
    if are_arrays:
        shape = (2,) if pairs else ()
        regular = [v.ndim == 1 + pairs and v.shape[1:] == shape and v.dtype.kind in "iuf" for v in values]
    elif type(values[0]) is not list:
        return None
    elif pairs:  # flat; None is no number
        even = [{*map(type, value)} <= {list, tuple} and {*map(len, value)} <= {2} for value in values]
        values = [[*chain.from_iterable(value)] if are else [None] for value, are in zip(values, even, strict=True)]
    if not are_arrays and not {*map(type, chain.from_iterable(values))} <= types:
        regular = [{*map(type, value)} <= types for value in values]
    sizes = np.full(len(values), -1, dtype=np.int64)
    held = values if all(regular) else [*compress(values, regular)]
    sizes[regular] = np.fromiter(map(len, held), dtype=np.int64, count=len(held))
    if are_arrays:
        empty = np.zeros((0, 2) if pairs else 0)
        return np.concatenate(held or [empty], dtype=np.float64, casting="unsafe"), sizes
    try:
        items = np.array([*chain.from_iterable(held)], dtype=object if texts else np.float64)
    except OverflowError:
        return None
    return (items.reshape(-1, 2), np.where(sizes > 0, sizes // 2, sizes)) if pairs else (items, sizes)
