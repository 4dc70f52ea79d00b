"""Annotations from plain arrays: arguments of mir_eval's functions in order, or columns by name.

Values may be sequences or arrays of other libraries; they are converted to columns of numbers and text and checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..errors import InvalidAnnotationError, suggest
from ..ragged import Column, Float, Int
from .annotation import Annotation, as_items
from .audio import HeldSignal
from .schema import Kind

Values = dict[str, Any]
Laid = tuple[Values, tuple[Int, ...]]
"""Flat columns, and counts of the dims below the outermost."""


def from_arguments(kind: Kind, values: Sequence[Any]) -> Annotation:
    """Make an annotation from the arguments of mir_eval's functions for one side.

    Values are in the order of `Kind.arguments`; optional ones may be omitted at the end or None.

    Examples
    --------
    >>> from mirflow.annotations.schema import KINDS
    >>> from_arguments(KINDS["intervals"], [np.array([[0.0, 1.5]]), ["C:maj"]]).columns["end"].tolist()
    [1.5]
    """
    if len(values) > len(kind.arguments):
        raise InvalidAnnotationError(f"{len(values)} arguments: {kind.name} take {', '.join(kind.arguments)}")
    given = {name: value for name, value in zip(kind.arguments, values, strict=False) if value is not None}
    order = f"the arguments are {' and '.join(list(given))}, in this order"
    try:
        annotation = _of_known(kind, given)
    except InvalidAnnotationError as error:
        if error.message.startswith(f"{kind.arguments[0]} is not a number") and len(given) > 1:
            raise InvalidAnnotationError(f"{error.message}; {order}") from None
        raise
    if kind.arguments[:2] == ("time", "frequency") and not kind.dims[1:]:
        first, second = (np.diff(annotation.columns[name]) for name in ("time", "frequency"))
        if (first < 0).any() and (second > 0).all():  # frequencies would be sorted as times
            raise InvalidAnnotationError(f"time is not in order, but frequency is: {order}")
    return annotation


def from_columns(kind: Kind, given: Mapping[str, Any]) -> Annotation:
    """Make an annotation from columns by name.

    Columns are variables of the kind, or arguments such as ``intervals`` instead of these; for nested kinds also
    columns with the number of the outer item of each row (``level``; ``pattern`` and ``occurrence``). None is ignored.
    Messages count items from 1.
    """
    present = {name: value for name, value in given.items() if value is not None}
    for name in present:
        if name not in kind.given_as:
            raise InvalidAnnotationError(f"{kind.name} have no column {name!r}; {suggest(str(name), kind.given_as)}")
    return _of_known(kind, present)


def _of_known(kind: Kind, given: Values) -> Annotation:
    if kind.name == "audio":
        return _audio(given)
    columns, counts = _LAYOUTS.get(kind.name, _flat)(kind, given)
    missing = [name for name in kind.required if name not in columns]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        raise InvalidAnnotationError(f"{kind.name} need {', '.join(missing)}, which {are} missing")
    labels = texts("label", columns.pop("label")) if "label" in columns else None
    arrays: dict[str, Column] = {}
    for name, values in columns.items():
        if name in kind.texts:
            arrays[name] = np.array(texts(name, values), dtype=np.str_)
        else:  # A converted array is not shared with the caller.
            made = type(values) is np.ndarray and values is not given.get(name)
            if not made and name in kind.flags and (flags := as_array(name, values)).dtype.kind == "b":
                values = flags.astype(np.float64)
            arrays[name] = values if made else numbers(name, values)
    sizes = {len(column) for name, column in arrays.items() if name not in kind.depths}
    if len(sizes) > 1 or (labels is not None and sizes - {len(labels)}):
        innermost = {name: column for name, column in arrays.items() if name not in kind.depths}
        every: Values = innermost if labels is None else {**innermost, "label": labels}
        listed = ", ".join(f"{name} has {len(column)}" for name, column in every.items())
        raise InvalidAnnotationError(f"columns differ in length: {listed}")
    return Annotation(kind.name, arrays, labels, counts)


def as_array(name: str, value: Any) -> Column:
    """Convert a sequence, or anything with ``__array__`` or ``__dlpack__``, to an array; masked items become NaN.

    An array of lists or arrays of equal length, such as a column of pairs in a data frame, gets an additional dim.

    Examples
    --------
    >>> pairs = np.empty(2, dtype=object)
    >>> pairs[:] = [[0.0, 1.5], np.array([1.5, 2.0])]
    >>> as_array("intervals", pairs).tolist()
    [[0.0, 1.5], [1.5, 2.0]]
    """
    array = as_column(name, value)
    return as_column(name, unnested(array)) if array.dtype == object and any(map(is_several, array.flat)) else array


def is_several(item: Any) -> bool:
    """True for lists, tuples, and anything with ``__array__`` and a dim, such as a series."""
    return isinstance(item, list | tuple) or (hasattr(item, "__array__") and bool(getattr(item, "ndim", 1)))


def unnested(value: Any) -> Any:
    """Convert nested arrays of lists and arrays to lists, leaving anything else unchanged."""
    if is_several(value) and not isinstance(value, list | tuple | np.ndarray):
        value = np.asarray(value)
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object and value.ndim):
        return [unnested(item) for item in value]
    return value


def as_column(name: str, value: Any) -> Column:
    """Convert like `as_array`, but keep lists and arrays as items."""
    if isinstance(value, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(value.astype(np.float64), np.nan))
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.asarray(np.from_dlpack(value))
        array = np.asarray(value)
    except MemoryError:  # too large, not invalid
        raise
    except Exception as error:  # raised by the type of the user's object
        what = "rows differ in length" if isinstance(value, list | tuple) else f"{type(value).__name__}: {error}"
        raise InvalidAnnotationError(f"{name} is not an array: {what}") from None
    if array.dtype == object and not array.ndim:
        cure = "; pass its .numpy()" if callable(getattr(value, "numpy", None)) else ""
        raise InvalidAnnotationError(f"{name} is not an array: {type(value).__name__}{cure}")
    return array


def is_number(text: str) -> bool:
    """True for text that Python reads as a number.

    Examples
    --------
    >>> is_number("0.5"), is_number("C:maj")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers(name: str, value: Any, shape: tuple[int | None, ...] = (None,)) -> Float:
    """Convert a column of numbers to float64 of a shape, in which None means any size.

    Examples
    --------
    >>> numbers("time", [0.5, "C:maj"])
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: time is not a number: 'C:maj'
    """
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1 and shape == (None,):
        return value.copy()  # the usual case
    array = as_array(name, value)
    if array.dtype.kind not in "iuf":
        for item in value if isinstance(value, list | tuple) and array.ndim == 1 else array.ravel().tolist():
            if item is not None and (isinstance(item, bool) or not isinstance(item, Real)):
                written = isinstance(item, str) and is_number(item)
                cure = "; numbers are written as text: convert them to float" if written else ""
                raise InvalidAnnotationError(f"{name} is not a number: {item!r}{cure}")
    try:
        array = array.astype(np.float64)
    except OverflowError:
        raise InvalidAnnotationError(f"{name} contains a number that is too large for float64") from None
    if not array.size and len(shape) > 1:
        array = array.reshape([size or 0 for size in shape])
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("n" if size is None else str(size) for size in shape) + ("," if len(shape) == 1 else "")
        pairs = array.ndim == 2 and array.shape[1] == 2 and shape == (None,)
        cure = "; rows of two numbers look like intervals, of which onsets are the first column" if pairs else ""
        raise InvalidAnnotationError(f"{name} has the shape {array.shape}, not ({wanted}){cure}")
    return np.ascontiguousarray(array) if shape else array


def texts(name: str, value: Any) -> list[str]:
    """Convert a sequence to a column of text: whole numbers become text, None and NaN empty strings."""
    if isinstance(value, str | bytes) or not (isinstance(value, Sequence) or hasattr(value, "__array__")):
        raise InvalidAnnotationError(f"{name} is not a sequence of text: {value!r}")
    items = as_array(name, value).tolist() if hasattr(value, "__array__") else list(value)
    if not isinstance(items, list):
        raise InvalidAnnotationError(f"{name} is not a sequence of text: {value!r}")
    for row, item in enumerate(items) if {*map(type, items)} - {str} else ():
        if item is None or (isinstance(item, float) and math.isnan(item)):
            items[row] = ""
        elif isinstance(item, str) or (isinstance(item, Integral) and not isinstance(item, bool)):
            items[row] = str(item if isinstance(item, str) else int(item))
        else:
            raise InvalidAnnotationError(f"{name} is not text: {item!r}")
    return items


def _flat(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Columns of kinds with one dim, from columns and from arrays that contain several."""
    columns = dict(given)
    for argument in ("intervals", "notes"):
        if argument in columns:
            value = columns.pop(argument)
            names: tuple[str, ...] = ("start", "end")
            if argument == "notes":  # rows of time, (time of detection,) position and pitch
                table = as_array("notes", value)
                width = table.shape[1] if table.ndim == 2 else len(kind.narrow_order)
                names = kind.usual_order if width == len(kind.usual_order) else kind.narrow_order
            held = numbers(argument, value, (None, len(names))).T.copy()
            _demand_alone(argument, columns, names)
            columns |= dict(zip(names, held, strict=True))
    return columns, ()


def _demand_alone(argument: str, columns: Mapping[str, Any], names: Sequence[str]) -> None:
    twice = [name for name in names if name in columns]
    if twice:
        raise InvalidAnnotationError(f"{argument} and {twice[0]} are given, but the former contains the latter")


def _listed(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Names, optionally as a mapping to numbers."""
    columns = dict(given)
    label = columns.get("label")
    if isinstance(label, Mapping):
        if "value" in columns:
            raise InvalidAnnotationError("numbers are given both with the label and as value; give one of them")
        columns |= {"label": list(label), "value": list(label.values())}
    elif isinstance(label, AbstractSet):
        if kind.name == "ranking":
            raise InvalidAnnotationError("a set has no order: give a list, or items with their numbers")
        columns["label"] = sorted(label)
    elif isinstance(label, str) and kind.name == "labels":
        columns["label"] = [label]
    return columns, ()


def _entries(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Entries of an alignment of notes, in columns or as mappings; their types may follow from their notes."""
    columns = dict(given)
    entries = columns.get("score_id")
    if len(columns) == 1 and isinstance(entries, list | tuple):
        others = [one for one in entries if not isinstance(one, Mapping)]
        if others:
            wanted = "mappings with score_id and performance_id, or a column of each"
            raise InvalidAnnotationError(f"invalid entry {others[0]!r:.80}: expected {wanted}")
        columns = {name: [entry.get(name) for entry in entries] for name in kind.columns}
    if columns and "label" not in columns:
        columns["label"] = [""] * len(texts(*next(iter(columns.items()))))
    return columns, ()


def _lines(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Text, split into lines, or pieces with further columns."""
    columns, counts = _flat(kind, given)
    label = columns.get("label")
    if isinstance(label, str):
        label = columns["label"] = label.split("\n") if label else []
    if isinstance(columns.get("language"), str):
        columns["language"] = [columns["language"]] * len(label or ())
    return columns, counts


def _key(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """The key of a track, with normalised spaces, as in files."""
    label = given.get("label")
    labels = [label] if isinstance(label, str) else ([] if label is None else texts("label", label))
    return {**given, "label": [" ".join(text.split()) for text in labels]}, ()


def _tempi(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """One or two tempi, optionally with the share of the first in their total salience."""
    columns = dict(given)
    tempo = columns.get("tempo")
    if tempo is not None:
        columns["tempo"] = numbers("tempo", tempo if isinstance(tempo, list | tuple) or np.ndim(tempo) else [tempo])
    weight = columns.pop("weight", None)
    if weight is not None:
        share, count = float(numbers("weight", weight, ())), len(columns["tempo"]) if "tempo" in columns else 0
        if not 0 <= share <= 1:
            raise InvalidAnnotationError(f"weight is the share of the first tempo, from 0 to 1, got {share}")
        if "salience" in columns or count != 2:
            what = "salience is given, too" if "salience" in columns else f"there are {count}"
            raise InvalidAnnotationError(f"weight is the share of the first of two tempi, and {what}")
        columns["salience"] = np.array([share, 1 - share])
    return columns, ()


def _levels(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """A hierarchy, as one array of intervals and one list of labels per level, or as rows with levels."""
    if "intervals" not in given:
        return _nested(kind, given)
    _demand_alone("intervals", given, ("start", "end", "level"))
    levels = [numbers("intervals", level, (None, 2)) for level in _parts("intervals", given["intervals"])]
    times = np.concatenate([np.zeros((0, 2)), *levels])
    columns: Values = {"start": times[:, 0].copy(), "end": times[:, 1].copy()}
    if "label" in given:
        named = [texts("label", level) for level in _parts("label", given["label"])]
        sizes, wanted = list(map(len, named)), list(map(len, levels))
        if sizes != wanted:
            raise InvalidAnnotationError(f"levels have {wanted} intervals and {sizes} labels")
        columns["label"] = [label for level in named for label in level]
    return columns, (np.array(list(map(len, levels)), dtype=np.int64),)


def _frames(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Times with an array of frequencies each, or rows of a time and a frequency, NaN for silence."""
    given = dict(given)
    frequency = given.get("frequency")
    if "time" not in given or frequency is None:
        return given, ()
    time, frequency = numbers("time", given["time"]), _parts("frequency", frequency)
    if isinstance(frequency, Sequence) or getattr(getattr(frequency, "dtype", None), "kind", "") == "O":
        flat = any(True for _ in frequency) and all(isinstance(value, Real) for value in frequency)
    else:
        flat = as_array("frequency", frequency).ndim < 2
    if not flat:
        frames = [numbers("frequency", frame) for frame in frequency]
        if len(frames) != len(time):
            raise InvalidAnnotationError(f"columns differ in length: time has {len(time)}, frequency {len(frames)}")
        counts = np.array(list(map(len, frames)), dtype=np.int64)
        return {"time": time, "frequency": np.concatenate([np.zeros(0), *frames])}, (counts,)
    pitches = numbers("frequency", frequency)
    if len(pitches) != len(time):
        raise InvalidAnnotationError(f"columns differ in length: time has {len(time)}, frequency {len(pitches)}")
    first = np.ones(len(time), dtype=np.bool_)
    first[1:] = time[1:] != time[:-1]
    sounding = ~np.isnan(pitches)
    counts = np.bincount(np.cumsum(first)[sounding] - 1, minlength=int(first.sum())).astype(np.int64)
    return {"time": time[first], "frequency": pitches[sounding]}, (counts,)


def _patterns(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Patterns as lists of occurrences, which are lists of (onset, pitch), or as rows with both their numbers."""
    if "patterns" not in given:
        return _nested(kind, given)
    _demand_alone("patterns", given, [name for name in given if name != "patterns"])
    patterns = [list(_parts("patterns", pattern)) for pattern in _parts("patterns", given["patterns"])]
    every = [list(one) if isinstance(one, Sequence) else one for pattern in patterns for one in pattern]
    occurrences = [numbers("patterns", one, (None, 2)) for one in every]
    notes = np.concatenate([np.zeros((0, 2)), *occurrences])
    counts = (list(map(len, patterns)), list(map(len, occurrences)))
    columns = {"onset": notes[:, 0].copy(), "pitch": notes[:, 1].copy()}
    return columns, tuple(np.array(one, dtype=np.int64) for one in counts)


def _parts(name: str, value: Any) -> Sequence[Any]:
    """The parts of a nested argument: items of a sequence, or rows of an array."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__") or not getattr(value, "ndim", 1):
        raise InvalidAnnotationError(f"{name} is not a sequence: {type(value).__name__}")
    parts: Sequence[Any] = value
    return parts


def _nested(kind: Kind, given: Mapping[str, Any]) -> Laid:
    """Rows with the numbers of their outer items, sorted by these."""
    columns, outer = dict(given), kind.dims[:-1]
    missing = [name for name in (*outer, *kind.required) if name not in given]
    if missing:
        whole = f", or {kind.arguments[0]}" if kind.arguments[0] not in given else ""
        raise InvalidAnnotationError(f"{kind.name} need {', '.join(missing)}{whole}")
    keys = []
    for name in outer:  # the index of the outer item of each row
        value = columns.pop(name)
        array = as_array(name, value)
        numeric = array.dtype.kind in "iuf"
        items: list[Any] = numbers(name, array).tolist() if numeric else texts(name, value)
        empty = next((row for row, item in enumerate(items) if item == "" or item != item), None)
        if empty is not None:
            raise InvalidAnnotationError(f"row {empty + 1} has no {name}")
        # Numbers in ascending order, text in order of appearance.
        distinct = sorted({*items}) if numeric else dict.fromkeys(items)
        index = {item: place for place, item in enumerate(distinct)}
        keys.append(np.array([index[item] for item in items], dtype=np.int64))
    sizes = {len(key) for key in keys} | {np.size(as_array(name, columns[name])) for name in kind.required}
    if len(sizes) > 1:
        raise InvalidAnnotationError(f"columns differ in length: {', '.join(map(str, sorted(sizes)))} rows")
    order = np.lexsort(keys[::-1])
    path = np.column_stack(keys)[order]
    counts: list[Int] = []
    item = np.zeros(len(path), dtype=np.int64)
    for depth in range(len(outer)):
        first = np.ones(len(path), dtype=np.bool_)
        first[1:] = (path[1:, : depth + 1] != path[:-1, : depth + 1]).any(axis=1)
        if depth:
            counts.append(np.bincount(item[first]).astype(np.int64))
        item = np.cumsum(first, dtype=np.int64) - 1
    counts.append(np.bincount(item).astype(np.int64))
    return {name: [list(values)[row] for row in order] for name, values in columns.items()}, tuple(counts)


def _audio(given: Mapping[str, Any]) -> Annotation:
    """Sources as an array (sources, samples) or (sources, samples, channels) of amplitudes, and their rate in Hz."""
    missing = [name for name in ("sources", "rate") if name not in given]
    if missing:
        raise InvalidAnnotationError(f"audio needs {', '.join(missing)}: sources (n, samples) and their rate in Hz")
    array, rate = as_array("sources", given["sources"]), float(numbers("rate", given["rate"], ()))
    if array.dtype.kind != "f":
        raise InvalidAnnotationError(f"sources must be floating point, from -1 to 1, not {array.dtype}")
    if array.ndim not in (1, 2, 3):
        message = f"sources have the shape {array.shape}, not (n, samples) or (n, samples, channels)"
        raise InvalidAnnotationError(message)
    if not (math.isfinite(rate) and rate > 0):
        raise InvalidAnnotationError(f"rate must be the sampling rate in Hz, not {rate}")
    array = np.atleast_2d(array)
    channels = array[:, np.newaxis] if array.ndim == 2 else array.transpose(0, 2, 1)
    labels = texts("label", given["label"]) if "label" in given else None
    if labels is not None and len(labels) != len(array):
        raise InvalidAnnotationError(f"columns differ in length: sources has {len(array)}, label {len(labels)}")
    signals = [HeldSignal(source, rate) for source in channels]
    return Annotation("audio", {"signal": as_items(signals)}, labels, lines=())


_LAYOUTS: Mapping[str, Callable[[Kind, Mapping[str, Any]], Laid]] = {
    "hierarchy": _levels,
    "multipitch": _frames,
    "patterns": _patterns,
    "tempo": _tempi,
    "key": _key,
    "text": _lines,
    "labels": _listed,
    "ranking": _listed,
    "judgements": _listed,
    "note_alignment": _entries,
}
