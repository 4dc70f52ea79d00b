"""Doubts about rows of text and tables: columns that are not read, repeated rows, and implausible numbers.

Unread columns without which labels may mean something else, and rows of several systems or the like, are errors; other
columns are reported. Implausible numbers are reported with the columns that would be plausible; frequencies that are
NaN are read as unvoiced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..annotations.account import Account, Remark
from ..annotations.annotation import Annotation
from ..annotations.arrays import is_number
from ..annotations.schema import HEADINGS, Kind
from ..errors import InvalidAnnotationError
from ..ragged import Float
from .layouts import SEPARATING, Rows, declare_columns, heading, is_beside, remedy_for_regions, spell
from .options import Reading

CONTENT = frozenset(
    (
        *("mode", "scale", "tonality", "modality", "quality", "type", "shorthand", "extension", "bass", "inversion"),
        *("degree", "degrees"),
    )
)
"""Names in headers of text without which a label may mean something else, as the tonic of a key without its mode."""
MODES = ("mode", "scale")
"""Names of the column with the mode of a key."""
CONFIDENCES = ("confidence", "conf")
"""Names of columns that may be degrees of voicing."""
_TONIC = frozenset(f"{letter}{sign}" for letter in "ABCDEFGabcdefg" for sign in ("", "#", "b", "##", "bb"))
_USUAL = frozenset(("velocity", "midi_velocity", "bar", "program"))
_SHOWN = 3


def separates(name: str, kind: Kind) -> bool:
    """True if the values of a column of that name separate rows of one track, such as those of several systems."""
    named = heading(name)
    return named in SEPARATING or (named == "level" and kind.adjacent)


def demand_one_subject(
    column: str, values: Iterable[tuple[int | None, str]], path: str | None, *, track: str = "", remedy: str = ""
) -> None:
    """Raise if rows that are read as one annotation differ in a column that separates annotations.

    `values` (iterable of (int or None, str)): line and value of each row. `track`: the track of the rows, if there are
    several. `remedy`: what may be done instead of keeping the rows of one value.
    """
    first: str | None = None
    for line, value in values:
        first = value if first is None else first
        if value != first:
            whose = f"rows of track {track!r}" if track else "the rows"
            cure = f"keep one of them, or {remedy}" if remedy else "keep one of them"
            message = f"{whose} are of {column} {first!r} and {value!r}; {cure}"
            raise InvalidAnnotationError(message, path=path, line=line)


def unread_places(kind: Kind, header: Sequence[str], places: Mapping[str, int], task: str | None) -> tuple[int, ...]:
    """The columns of a header that are neither read nor left out by declaration.

    Columns that separate annotations, such as systems, are among them. Declared are row numbers, tracks, confidences,
    comments, colours, columns of the task that another one determines, such as a duration beside an end, and, of tables
    of tracks, what describes the track.
    """
    usual = {**HEADINGS, **kind.headings}
    silent = {name for column in (*kind.columns, *kind.row(task)) for name in usual.get(column, ())} | _USUAL
    reported = {*SEPARATING, *(CONFIDENCES if "voicing" in kind.columns and "voicing" not in places else ())}
    others = [(place, name) for place, name in enumerate(map(heading, header)) if place not in places.values()]
    silent |= {name for _, name in others if is_beside(name, tracks="track" in places)}
    return tuple(place for place, name in others if name in reported or name not in silent)


def report_header(
    kind: Kind,
    header: Sequence[str],
    places: Mapping[str, int],
    unread: Sequence[int],
    rows: Rows,
    account: Account,
    *,
    typed: bool = True,
) -> None:
    """Report the columns of a header that are not read, in rows that hold something there.

    Text without which labels may mean something else is an error if all labels are mere tonics, and so are several
    values of a column that separates annotations. The remedies are for columns that can be declared, if `typed`.
    """
    for place in unread:
        if separates(header[place], kind):
            values = [(line, fields[place]) for line, fields in rows if place < len(fields)]
            demand_one_subject(header[place], values, account.path)
    unread = [place for place in unread if not separates(header[place], kind)]
    filled = [place for place in unread if any(place < len(fields) and fields[place] for _, fields in rows)]
    if not filled:
        return
    named = {column: header[place] for column, place in places.items()}
    label = places.get("label", -1)
    content = [place for place in filled if heading(header[place]) in CONTENT]
    if content and label >= 0 and all(label >= len(fields) or fields[label] in _TONIC for _, fields in rows):
        line, fields = rows[0]
        message = (
            f"the column {header[content[0]]!r} is not read, and {fields[label]!r} may mean something else without "
            f"it: write both into the column {named['label']!r}; or "
        )
        message += f"declare {declare_columns(named)} to leave it out" if typed else "drop it"
        account.add("content_columns", message, line=line)
    shown = ", ".join(repr(header[place]) for place in filled[:_SHOWN])
    more = f" and {len(filled) - _SHOWN} more" if len(filled) > _SHOWN else ""
    what = f"the columns {shown}{more} are" if len(filled) > 1 else f"the column {shown} is"
    remedy = "; to read one, name it in columns" if typed else ""
    degree = next((place for place in filled if heading(header[place]) in CONFIDENCES), None)
    if typed and "voicing" in kind.columns and degree is not None:
        declared = declare_columns({**named, "voicing": header[degree]})
        remedy = f"; to read it as the degree of voicing, declare {declared}"
    account.add("columns", f"{what} not read{remedy}", count=len(filled))


def report_fields(
    kind: Kind, places: Mapping[str, int], width: int, rows: Rows, account: Account, header: Sequence[str] | None = None
) -> None:
    """Report fields after the first `width` of rows: an error if they are text beside a label."""
    longer = [(line, fields) for line, fields in rows if any(fields[width:])]
    if not longer:
        return
    text = next((row for row in longer if any(field and not is_number(field) for field in row[1][width:])), None)
    if text is not None and "label" in places:
        line, fields = text
        field = next(field for field in fields[width:] if field and not is_number(field))
        chosen = {column: header[place] if header else str(place) for column, place in places.items()}
        typed = ",".join(f"{column}={where}" for column, where in chosen.items())
        leave_out = f"to leave it out, declare {declare_columns(chosen)} (--columns {typed})"
        message = f"a field after the label is not read: {field!r}; {remedy_for_regions(rows, kind) or leave_out}"
        account.add("content_columns", message, line=line)
    line, fields = longer[0]
    shown = " ".join(field for field in fields[width:] if field)
    account.add("columns", f"fields after column {width} are not read: {shown!r}", line=line, count=len(longer))


LOWEST = 15.0
"""Hz below which pitches are implausible: they are lengths, octaves, or numbers of another unit."""
_AUDIBLE = (20.0, 5000.0)
"""Hz of plausible pitches."""
_LONGEST = 60.0
"""Seconds of a plausible note or section."""
FEWEST_ROWS = 2
"""Fewest rows that are doubted, and fewest pairs of rows."""
COUNTED_ROWS = 4
"""Rows above which a first one that is the number of the others is no coincidence."""


def tell_odd_numbers(annotation: Annotation, reading: Reading) -> Annotation:
    """Add a remark about pitches that are too low and ends before their starts; NaN becomes unvoiced in series."""
    kind, usual, message = annotation.schema, not reading.delimited.columns, ""
    if kind.name == "series":
        frequency = annotation.columns["frequency"]
        if len(frequency) and frequency.max() >= LOWEST:  # which NaN is not
            low = frequency[(frequency > 0) & (frequency < LOWEST)]
            if len(low) < FEWEST_ROWS or low.min() < low.max():
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
            order = {"start": 0, "pitch": 1, "duration": 2}
            if usual and ((end >= lowest) & (end <= highest)).all() and ((pitch > 0) & (pitch < _LONGEST)).all():
                cure = f"the columns may be start, pitch, duration; then declare {spell({'columns': order})}"
            message = f"{message}: {cure}"
    elif kind.adjacent and usual and "end" in annotation.columns:
        message = _lengths(annotation, "label")
    remark = (Remark("odd_columns", message),) if message else ()
    return replace(annotation, account=(*annotation.account, *remark)) if message else annotation


def tell_odd_rows(annotation: Annotation) -> Annotation:
    """Add a remark if all rows are there twice, or if the first one is the number of the others."""
    times = next(iter(annotation.columns.values()))
    count = len(times)
    if count > COUNTED_ROWS and times[0] == count - 1 and annotation.kind == "events" and (times[1:] % 1).any():
        message = f"the first row may be the number of the others, {count - 1}, and no time: remove it if it is"
        remark = Remark("leading_count", message, annotation.line(0), 1)
        annotation = replace(annotation, account=(*annotation.account, remark))
    if count % 2 or count < 2 * FEWEST_ROWS:
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


def _too_low(pitches: Float, name: str) -> str:
    voiced = np.abs(pitches[np.isfinite(pitches) & (pitches != 0)])
    if len(voiced) < FEWEST_ROWS or voiced.max() >= LOWEST:
        return ""
    return f"{name} of {voiced.min():g} to {voiced.max():g} Hz"


def _lengths(annotation: Annotation, last: str) -> str:
    """Evidence that the second column holds durations: many rows end before they start."""
    start, end = annotation.columns["start"], annotation.columns["end"]
    count = np.count_nonzero(end < start)
    if not count or len(start) < FEWEST_ROWS or 2 * count < len(start):
        return ""
    message = f"{count} of {len(start)} rows end before they start"
    # As lengths they are plausible if each row then ends before the next one starts, but for rounding.
    apart = (start[:-1] + end[:-1] <= start[1:] + _OVERLAP).mean() if (end > 0).all() else 0.0
    if apart < _SURE:
        return message
    columns = {"start": 0, "duration": 1, last: 2}
    return f"{message}: the second column may hold durations; then declare {spell({'columns': columns})}"


_OVERLAP, _SURE = 0.05, 0.9
"""Seconds by which rows may overlap, and the share of rows that may not."""
