"""Numbers of files that are implausible as what their columns hold: told, with columns that would be plausible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..annotations.account import Remark
from ..annotations.annotation import Annotation
from ..ragged import Bool, Float, Int, offsets_of
from .options import Reading

LOWEST = 15.0
"""Hz below which pitches are implausible: they are lengths, octaves, or numbers of another unit."""
_AUDIBLE = (20.0, 5000.0)
"""Hz of plausible pitches."""
_LONGEST = 60.0
"""Seconds of a plausible note or section."""
_FEWEST = 2
_COUNTED = 4
"""Rows above which a first one that is the number of the others is no coincidence."""


def tell_odd_numbers(annotation: Annotation, reading: Reading) -> Annotation:
    """Add a remark about pitches that are too low and ends before their starts; NaN becomes unvoiced in series."""
    kind, usual, message = annotation.schema, not reading.delimited.columns, ""
    if kind.name == "series":
        frequency = annotation.columns["frequency"]
        if len(frequency) and frequency.max() >= LOWEST:  # which NaN is not
            low = frequency[(frequency > 0) & (frequency < LOWEST)]
            if len(low) < _FEWEST or low.min() < low.max():
                return annotation
            message = f"{len(low)} frames at {low[0]:g} Hz count as voiced; if they are unvoiced, write 0 for them"
        else:
            silent = np.isnan(frequency)  # trackers write it for unvoiced frames; beside zeros, it is told
            if silent.any():
                count, account = int(silent.sum()), annotation.account
                if (frequency <= 0).any():
                    text = f"frequencies of {count} frames are nan and read as unvoiced, as those of 0 are"
                    account += (Remark("unvoiced", text, annotation.line(int(np.flatnonzero(silent)[0])), count),)
                columns = {**annotation.columns, "frequency": np.where(silent, 0.0, frequency)}
                annotation = replace(annotation, columns=columns, account=account)
            message = _too_low(annotation.columns["frequency"], "frequencies")
            message = message and f"{message}: pitches are in Hz, not in octaves or another unit"
    elif kind.name == "notes":
        pitch, end = annotation.columns["pitch"], annotation.columns["end"]
        message = _lengths(annotation, "pitch") if usual else ""
        if not message and (message := _too_low(pitch, "pitches")):
            lowest, highest = _AUDIBLE
            cure = "pitches are in Hz, not in octaves or another unit"
            if usual and ((end >= lowest) & (end <= highest)).all() and ((pitch > 0) & (pitch < _LONGEST)).all():
                cure = f"the columns may be start, pitch, duration; then {_declare('start=0,pitch=1,duration=2')}"
            message = f"{message}: {cure}"
    elif kind.adjacent and usual and "end" in annotation.columns:
        message = _lengths(annotation, "label")
    remark = (Remark("odd_columns", message),) if message else ()
    return replace(annotation, account=(*annotation.account, *remark)) if message else annotation


def tell_odd_rows(annotation: Annotation) -> Annotation:
    """Add a remark if all rows are there twice, or if the first one is the number of the others."""
    times = next(iter(annotation.columns.values()))
    count = len(times)
    if count > _COUNTED and times[0] == count - 1 and annotation.kind == "events" and (times[1:] % 1).any():
        message = f"the first row may be the number of the others, {count - 1}, and no time: remove it if it is"
        remark = Remark("leading_count", message, annotation.line(0), 1)
        annotation = replace(annotation, account=(*annotation.account, remark))
    if count % 2 or count < 2 * _FEWEST:
        return annotation
    half = count // 2
    if not (times[0] == times[half] or times[0] == times[1]):
        return annotation
    parts = [(slice(half), slice(half, None))] if times[0] == times[half] else []
    parts += [(slice(0, None, 2), slice(1, None, 2))] if times[0] == times[1] else []
    labels = list(annotation.labels or ())
    for one, other in parts:
        alike = (np.array_equal(column[one], column[other]) for column in annotation.columns.values())
        if labels[one] == labels[other] and all(alike):
            line = annotation.line(range(count)[other][0])
            remark = Remark("repeated_rows", f"all {half} rows are there twice", line, half)
            return replace(annotation, account=(*annotation.account, remark))
    return annotation


def may_be_odd(times: Float, counts: Int) -> Bool:
    """Mask of joined rows with these counts that `tell_odd_rows` has to look at."""
    first = offsets_of(counts)[:-1]
    even = (counts >= 2 * _FEWEST) & (counts % 2 == 0)
    second, middle = np.where(even, first + 1, first), np.where(even, first + counts // 2, first)
    mask: Bool = even & ((times[first] == times[second]) | (times[first] == times[middle]))
    mask |= (counts > _COUNTED) & (times[first] == counts - 1)
    return mask


def _too_low(pitches: Float, name: str) -> str:
    voiced = np.abs(pitches[np.isfinite(pitches) & (pitches != 0)])
    if len(voiced) < _FEWEST or voiced.max() >= LOWEST:
        return ""
    return f"{name} of {voiced.min():g} to {voiced.max():g} Hz"


def _lengths(annotation: Annotation, last: str) -> str:
    """Evidence that the second column holds durations: many rows end before they start."""
    start, end = annotation.columns["start"], annotation.columns["end"]
    count = np.count_nonzero(end < start)
    if not count or len(start) < _FEWEST or 2 * count < len(start):
        return ""
    message = f"{count} of {len(start)} rows end before they start"
    # As lengths they are plausible if each row then ends before the next one starts, but for rounding.
    apart = (start[:-1] + end[:-1] <= start[1:] + _OVERLAP).mean() if (end > 0).all() else 0.0
    if apart < _SURE:
        return message
    return f"{message}: the second column may hold durations; then {_declare(f'start=0,duration=1,{last}=2')}"


_OVERLAP, _SURE = 0.05, 0.9
"""Seconds by which rows may overlap, and the share of rows that may not."""


def _declare(columns: str) -> str:
    spelled = columns.replace("=", ": ").replace(",", ", ")
    return f"declare columns: {{{spelled}}} (--columns {columns})"
