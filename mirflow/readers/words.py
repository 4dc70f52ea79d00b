"""Words of joined texts, from which numpy reads numbers and labels eight characters at a time.

Eight characters that follow each other are an integer of 64 bits, the first of them in its lowest byte. Digits are
combined pairwise within such integers (Lamport, Multiple byte processing with full-word instructions, Communications
of the ACM 18, 1975), for all words of a text at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import CodedLabels
from ..ragged import Bool, Float, Int, ranges

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

    def text(self, line: int) -> str:
        """The text of a line."""
        return self.joined[self.start[self.first[line]] : self.line_end[line]].decode()

    def lines(self, texts: Int) -> tuple[Int, Int]:
        """The lines of texts, and the number of lines of each."""
        counts = np.diff(self.line)[texts]
        return ranges(self.line[texts], counts), counts

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
        values = [_combined(part) for part in digits]
        whole = values[0] + values[1] * np.uint64(10**8)
        if parts > 2:
            formed &= values[2] <= _HIGHEST
            whole += values[2] * np.uint64(10**16)
        numbers, plain = _divided(whole, places, formed)
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
        first, codes = self._distinct(start, end)
        bounds = zip(start[first].tolist(), end[first].tolist(), strict=True)
        known: dict[bytes, int] = {}
        place_of = [known.setdefault(self.joined[low:high], len(known)) for low, high in bounds]
        return CodedLabels(tuple(text.decode() for text in known), np.array(place_of, dtype=np.int64)[codes])

    def _distinct(self, start: Int, end: Int) -> tuple[Int, Int]:
        """Places of texts among which are all distinct ones, in order, and which of those equals each text."""
        length = end - start
        parts = -(-int(length.max(initial=1)) // 8)
        if 8 * parts > _LONGEST:
            return np.arange(len(start)), np.arange(len(start))
        texts = [
            self.eights[start + (_BEFORE + 8 * part)] & _FIRST[np.clip(length - 8 * part, 0, 8)]
            for part in range(parts)
        ]
        number = (
            texts[0] if parts == 1 else np.sum([one * by for one, by in zip(texts, _FACTORS, strict=False)], axis=0)
        )
        first = _first_equal(number)
        # Texts of one number are mostly equal, which is checked, as two of a part may get the same.
        if not all(np.array_equal(one, one[first]) for one in texts):
            return np.arange(len(start)), np.arange(len(start))
        places = np.flatnonzero(first == np.arange(len(first)))
        rank = np.empty(len(first), dtype=np.int64)
        rank[places] = np.arange(len(places))
        return places, rank[first]

    def without_tabs(self, place: int) -> Bool:
        """Mask of lines without a tab after the start of the word at a place, which they have."""
        tabs = np.cumsum(self.codes == _TAB, dtype=np.int32)
        same: Bool = tabs[self.line_end] == tabs[self.start[np.minimum(self.first + place, len(self.start) - 1)]]
        return same


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


def _divided(whole: Eights, places: Int, formed: Bool) -> tuple[Float, Bool]:
    """Integers divided by powers of ten, and the mask of the `formed` ones whose quotient is rounded as by `float`."""
    places = np.broadcast_to(places, whole.shape)
    exact = formed & (whole < _EXACT) & (places < len(_POWERS))
    values = whole / _POWERS[np.minimum(places, len(_POWERS) - 1)]
    rest: Int = np.flatnonzero(formed & ~exact) if _EXTENDED else np.empty(0, dtype=np.int64)
    if len(rest):
        quotient = whole[rest].astype(np.longdouble) / _EXTENDED_POWERS[places[rest]]
        rounded = quotient.astype(np.float64)
        # Rounded to 64 bits first, what is now halfway between two numbers may have been above or below. Below a power
        # of two, numbers are half as far apart as above.
        offset, spacing = 4 * np.abs(quotient - rounded), np.spacing(rounded)
        exact[rest] = (offset != 2 * spacing) & (offset != spacing)
        values[rest] = rounded
    return values, exact


def _combined(digits: Eights) -> Eights:
    """The numbers of eight digits each."""
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    every_fourth = np.uint64(0x000000FF000000FF)
    high = (pairs & every_fourth) * np.uint64(100 + (1_000_000 << 32))
    low = ((pairs >> np.uint64(16)) & every_fourth) * np.uint64(1 + (10_000 << 32))
    return (high + low) >> np.uint64(32)


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
