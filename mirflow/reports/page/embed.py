"""Annotations, evidence and labels in the compact form that the page draws, as text that can be nothing but data.

Other parts of a page are packed here as well: JSON, and numbers exact to the bit. In a page in one file, parts are
compressed, and equal ones are held once.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS
from ...errors import shorten
from ...ragged import Column, Float, offsets_of
from ...theory.chords import encode_vocabulary
from ...theory.general_midi import PEDALS, STAFF, pedal_of, staff_row
from ...theory.keys import MODES, UNNAMED, parse_key
from ..drawing import matches, sheet_notes
from ..origins import LONGEST

LEVEL = 6


def pack_json(value: Any) -> bytes:
    r"""A value as the page reads it: JSON in which no tag can be hidden, as nothing ends a script or starts a comment.

    Examples
    --------
    >>> pack_json(["</script>", float("nan")])
    b'["\\u003c/script\\u003e",null]'
    """
    try:
        text = msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:  # of a file's name that is no text
        text = json.dumps(_plain(value), separators=(",", ":"))
    if not text.isascii():
        text = re.sub(r"[^\x00-\x7f]+", lambda characters: json.dumps(characters[0])[1:-1], text)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def _plain(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not np.isfinite(value) else value


def pack_floats(values: npt.NDArray[np.float64]) -> bytes:
    """Numbers as the page reads them, exact to the bit.

    The first bytes of all numbers come first, then the second ones, and so on: signs and exponents of neighbours are
    alike, so that they are compressed much better.
    """
    plain = np.ascontiguousarray(values, dtype="<f8").ravel()
    return plain.view(np.uint8).reshape(-1, 8).T.tobytes()


def compress(data: bytes) -> str:
    """A part as the text that a page holds."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode()


class Parts(Protocol):
    """Parts of a page that it reads when they are looked at."""

    def put(self, name: str, make: Callable[[], bytes]) -> int | str:
        """Add a part by its unique name and return its key in the page."""


@dataclass
class CompressedParts:
    """The parts of a page in one file, compressed; equal ones are one.

    Examples
    --------
    >>> from functools import partial
    >>> blocks = CompressedParts()
    >>> [blocks.put(name, partial(pack_json, value)) for name, value in (("a", [1, 2]), ("b", 3), ("c", [1, 2]))]
    [0, 1, 0]
    """

    texts: dict[str, int] = field(default_factory=dict)
    """Numbers of the compressed parts, in their order."""

    def put(self, name: str, make: Callable[[], bytes]) -> int:
        """Take a part, made at once; the number of its block."""
        return self.take(compress(make()))

    def take(self, text: str) -> int:
        """Take a part as `compress` gives it; the number of its block."""
        return self.texts.setdefault(text, len(self.texts))


_TRIADS = {"major": 0b10010001, "minor": 0b10001001}
# The tonic triad of a church mode is minor where its third is.
_TRIADS |= dict.fromkeys(("lydian", "mixolydian"), _TRIADS["major"])
_TRIADS |= dict.fromkeys(("dorian", "phrygian"), _TRIADS["minor"]) | {"locrian": 0b1001001}
Entry = list[str | int]


_FAMILIES = {"chord": "chord", "key": "key", "local_key": "key"}
"""What the labels of a task are, where they have pitches."""


@dataclass
class PageLabels:
    """Labels by number: ``[text]``, or for chords and keys ``[text, root, semitones above it as bits, bass]``.

    Examples
    --------
    >>> vocabulary = PageLabels()
    >>> vocabulary.codes(["C", "N", "C"], "chord"), vocabulary.codes(["verse"], "segment")
    ([0, 1, 0], [2])
    >>> vocabulary.entries()
    [['C', 0, 145, 0], ['N', -1, 0, -1], ['verse']]
    """

    _places: dict[tuple[str, str], int] = field(default_factory=dict)

    def codes(self, labels: Sequence[str], task: str) -> list[int]:
        """Numbers of labels, which belong to a task."""
        family = _FAMILIES.get(task, "")
        places = {label: self._places.setdefault((family, label), len(self._places)) for label in dict.fromkeys(labels)}
        return [places[label] for label in labels]

    def entries(self) -> list[Entry]:
        """All labels in the order of their numbers."""
        chords = [label for family, label in self._places if family == "chord"]
        table = encode_vocabulary(chords)
        numbers = zip(table.root.tolist(), table.pitches.tolist(), table.bass.tolist(), strict=True)
        sounding = dict(zip(chords, numbers, strict=True))
        entries: list[Entry] = []
        for family, label in self._places:
            pitches: tuple[int, ...] = sounding[label] if family == "chord" else ()
            if family == "key":
                key = parse_key(label)
                named = key is not None and key is not UNNAMED
                pitches = (key.tonic, _TRIADS.get(MODES[key.mode], 0b1), 0) if key and named else (-1, 0, -1)
            entries.append([shorten(label, LONGEST), *pitches])
        return entries


Encoded = dict[str, Any]
TIMELESS = frozenset(name for name, kind in KINDS.items() if not kind.times)
"""Kinds without a time axis: shown as text."""
_LATEST = 1e7
"""Seconds beyond which nothing is drawn."""
ITEMS = 200
"""Items of an annotation without a time axis, such as a ranking, that the page shows."""
WORDS = 5000
"""Words of a text of which the page shows the edits: more than those of a song."""
_MILLI = 1000


def encode(annotation: Annotation, task: str, vocabulary: PageLabels) -> Encoded:
    """Pack one annotation without values that are not finite.

    Parameters
    ----------
    annotation : Annotation
    task : str
        Whose labels they are.
    vocabulary : PageLabels
        It grows.

    Returns
    -------
    dict
        ``k``, the form in which its kind is drawn; ``t`` times or ``s`` starts, each as the step from the one before;
        ``n`` lengths; ``p`` pitches as hundredths of MIDI numbers, negative where unvoiced, 0 where there is none;
        ``c`` counts of nested kinds; ``l`` numbers of labels; ``r`` rows of drums and pedals, and ``y`` their names or
        those of levels; ``v`` values of tempi and affinities, ``w`` shares, ``o`` how many items were left out.

    Examples
    --------
    >>> chords = Annotation("intervals", {"start": np.array([0.0, 2.0]), "end": np.array([2.0, 3.5])}, ["C", "G"])
    >>> encode(chords, "chord", PageLabels())
    {'k': 'segments', 's': [0, 2000], 'n': [2000, 1500], 'l': [0, 1]}
    """
    kind, form = annotation.kind, annotation.schema.drawn_as
    found: Encoded = {"k": form}
    if kind == "audio":
        return found
    if kind in TIMELESS:
        # Labels, values and shares, the first of many.
        for name, key in (("tempo", "v"), ("value", "v"), ("salience", "w")):
            if name in annotation.columns:
                found[key] = annotation.columns[name][:ITEMS].tolist()
        labels = annotation.labels or []
        if labels:
            found["l"] = vocabulary.codes(labels[:ITEMS], task)
        more = max([len(labels), *map(len, annotation.columns.values())], default=0) - ITEMS
        found |= {"o": more} if more > 0 else {}
    elif form == "frames":
        time, (counts,) = annotation.columns["time"], annotation.inner_counts
        fit = np.isfinite(time) & (np.abs(time) < _LATEST)
        found |= {"t": _steps(time[fit]), "c": [counts[fit].tolist()]}
        found["p"] = _cents(annotation.columns["frequency"][np.repeat(fit, counts)])
    elif form == "sheet":
        start, end, pitch = sheet_notes(annotation)
        kept = np.isfinite(start) & np.isfinite(pitch) & (np.abs(start) < _LATEST) & (end < _LATEST)
        found |= {"s": _steps(start[kept]), "n": (_milli(end) - _milli(start))[kept].tolist()}
        found["p"] = np.rint(pitch[kept] * 100).astype(np.int64).tolist()
    else:
        columns = annotation.columns
        bounded = [name for name in ("time", "start", "end", "onset") if name in columns]
        bounded += ["pitch"] if kind in ("notes", "patterns") else []
        kept = np.all([np.isfinite(columns[name]) & (np.abs(columns[name]) < _LATEST) for name in bounded], axis=0)
        if "start" in columns:
            start, end = columns["start"][kept], columns["end"][kept]
            found |= {"s": _steps(start), "n": (_milli(end) - _milli(start)).tolist()}
        else:
            found["t"] = _steps(columns["time" if "time" in columns else "onset"][kept])
        if kind == "patterns":
            found["p"] = np.rint(columns["pitch"][kept] * 100).astype(np.int64).tolist()
        elif kind == "notes":
            found["p"] = _cents(columns["pitch"][kept])
        elif kind == "series":
            pitches = columns["frequency"][kept]
            if "voicing" in columns:
                pitches = np.where(columns["voicing"][kept] > 0, np.abs(pitches), -np.abs(pitches))
            found["p"] = _cents(pitches)
        if annotation.inner_counts:
            # Of nested kinds some innermost items may have been left out.
            through = np.concatenate([[0], np.cumsum(kept)])
            innermost = np.diff(through[offsets_of(annotation.inner_counts[-1])])
            found["c"] = [*(one.tolist() for one in annotation.inner_counts[:-1]), innermost.tolist()]
        if annotation.labels is not None:
            labels = [label for label, keep in zip(annotation.labels, kept.tolist(), strict=True) if keep]
            found["l"] = vocabulary.codes(labels, task)
            # A row for each class of drums, and for each pedal.
            if kind == "hits":
                found |= {"r": [staff_row(label) for label in labels], "y": STAFF}
            elif kind == "pedals":
                found |= {"k": "levels", "r": [max(0, pedal_of(label)) for label in labels], "y": tuple(PEDALS)}
        if kind == "hierarchy" and "levels" in annotation.attrs:
            found["y"] = str(annotation.attrs["levels"]).split(", ")
    return found


def _milli(values: Float) -> Column:
    return np.rint(values * _MILLI).astype(np.int64)


def _steps(values: Float) -> list[int]:
    steps: list[int] = np.diff(_milli(values), prepend=0).tolist()
    return steps


def _cents(frequency: Float) -> list[int]:
    """Hundredths of MIDI numbers with the sign of the frequency; 0 for none."""
    size = np.abs(frequency)
    sounding = np.isfinite(size) & (size > 0)
    midi = 12 * np.log2(np.where(sounding, size, 440.0) / 440.0) + 69
    cents: list[int] = np.where(sounding, np.sign(frequency) * np.rint(midi * 100), 0).astype(np.int64).tolist()
    return cents


def encode_evidence(
    evidence: Sequence[Mapping[str, Column] | None], kind: str, verdicts: dict[str, int]
) -> list[Encoded | None]:
    """Encode the evidence of scores; None stays None.

    Returns stretches of time (``s``, ``n``, ``v``: neighbours of the same verdict as one); or marks (``r``, ``e``,
    ``v``: steps, None where a side has nothing; of notes their pitches ``p`` and ``q`` too, of drums their rows ``y``);
    or estimated pitches of frames (``m`` their times, ``n``, ``q``, ``v``); or the reference's pattern that each
    estimated one matches (``a``, ``v``); or, without a time axis, ``x``: rows of names and values as text, without
    those that are NaN, such as the rank of an item that was missed.
    """
    held = [columns for columns in evidence if columns is not None]
    sizes = [len(next(iter(columns.values()), ())) for columns in held]
    codes: Column = np.zeros(sum(sizes), dtype=np.int64)
    if held and kind not in TIMELESS:
        words = [columns.get("verdict", np.full(size, "")) for columns, size in zip(held, sizes, strict=True)]
        every, codes = np.concatenate(words), codes - 1
        # There are few different verdicts, so that all of the same are found at once.
        while len(left := np.flatnonzero(codes < 0)):
            word = every[left[0]]
            codes[every == word] = verdicts.setdefault(str(word), len(verdicts))
    lasting = kind not in TIMELESS and KINDS[kind].drawn_as != "patterns" and kind != "multipitch"
    if held and lasting and all({"start", "end", "verdict"} <= set(columns) for columns in held):
        encoded = iter(_stretches(held, codes))
    else:
        each = np.split(codes, np.cumsum(sizes)[:-1])
        encoded = (_encode_columns(*one) for one in zip(held, repeat(kind), each, strict=False))
    return [None if columns is None else next(encoded) for columns in evidence]


def _encode_columns(columns: Mapping[str, Column], kind: str, codes: Column) -> Encoded:
    if kind in TIMELESS:
        most = WORDS if kind == "text" else ITEMS
        rows = zip(*(column[:most].tolist() for column in columns.values()), strict=True)
        named = (zip(columns, row, strict=True) for row in rows)
        known = ([(name, value) for name, value in row if value == value] for row in named)
        return {
            "x": [
                [[name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in row]
                for row in known
            ]
        }
    if KINDS[kind].drawn_as == "patterns" and "verdict" in columns:
        return {"a": matches(columns).tolist(), "v": codes.tolist()}
    if kind == "multipitch" and "estimate_frequency" in columns:
        # The estimated pitches; those that are missed are the reference's own.
        there = ~np.isnan(columns["estimate_frequency"])
        start, end = columns["start"][there], columns["end"][there]
        lengths = (_milli(end) - _milli(start)).tolist()
        pitches = _cents(columns["estimate_frequency"][there])
        return {"m": _steps(start), "n": lengths, "q": pitches, "v": codes[there].tolist()}
    if "start" in columns and "end" in columns and "verdict" in columns:
        return next(_stretches([columns], codes))
    sides = [columns.get(name) for name in ("reference", "estimate")]
    if any(side is None or side.dtype.kind != "f" for side in sides):
        return {}
    found: Encoded = {}
    for key, side in zip("re", sides, strict=True):
        if side is not None:
            # The step of each mark from the one before it; None where there is none.
            finite = np.isfinite(side)
            steps = iter(_steps(side[finite]))
            found[key] = [next(steps) if there else None for there in finite.tolist()]
    if "class" in columns:
        found["y"] = [staff_row(name) for name in columns["class"].tolist()]
    if KINDS[kind].drawn_as == "sheet":
        found["q"] = np.rint(columns["pitch"] * 100).astype(np.int64).tolist()
    for key, name in (("p", "reference_pitch"), ("q", "estimate_pitch")):
        if name in columns:
            found[key] = _cents(columns[name])
    return {**found, "v": codes.tolist()}


def _stretches(evidence: Sequence[Mapping[str, Column]], codes: Column) -> Iterator[Encoded]:
    """Stretches of each pair; `codes`: the verdicts of all pairs, one after the other."""
    start, end = (np.concatenate([columns[side] for columns in evidence]) for side in ("start", "end"))
    pair = np.repeat(np.arange(len(evidence)), [len(columns["start"]) for columns in evidence])
    fit = np.isfinite(start) & np.isfinite(end)
    first, last, codes, pair = _milli(start[fit]), _milli(end[fit]), codes[fit], pair[fit]
    new = np.ones(len(codes), dtype=np.bool_)
    new[1:] = (codes[1:] != codes[:-1]) | (first[1:] != last[:-1]) | (pair[1:] != pair[:-1])
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], len(codes))[: len(begins)] - 1
    starts, bounds = first[begins], offsets_of(np.bincount(pair[begins], minlength=len(evidence)))
    steps = np.diff(starts, prepend=0)
    opens = bounds[:-1][np.diff(bounds) > 0]
    steps[opens] = starts[opens]
    columns = {"s": steps.tolist(), "n": (last[ends] - starts).tolist(), "v": codes[begins].tolist()}
    for low, high in pairwise(bounds.tolist()):
        yield {key: values[low:high] for key, values in columns.items()}
