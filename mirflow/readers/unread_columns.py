"""What rows of text and tables hold beside the columns that are read: an error if it may be content, otherwise told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..annotations.account import Account
from ..annotations.schema import HEADINGS, Kind
from ..errors import InvalidAnnotationError
from .layouts import SEPARATING, Rows, declare_columns, heading, is_beside, is_number, remedy_for_regions

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
