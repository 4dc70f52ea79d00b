"""The loaders of `mir_eval.io`, from files to plain arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np

from ..errors import warn_caller
from ..ragged import Float
from . import key as _key
from . import tempo as _tempo
from .pair import documented
from .util import Array, validate_events, validate_intervals

__all__ = ["load_delimited", "load_events", "load_intervals", "load_key", "load_labeled_events"]
__all__ += ["load_labeled_intervals", "load_patterns", "load_ragged_time_series", "load_tempo", "load_time_series"]
__all__ += ["load_valued_intervals", "load_wav"]

_Values = TypeVar("_Values")
File = str | PathLike[str] | IO[str]

BLANKS = r"\s+"


@contextmanager
def opened(file: File) -> Iterator[IO[str]]:
    """Open a file of text; a file that is already open stays open."""
    if hasattr(file, "read"):
        yield cast(IO[str], file)
        return
    try:
        path = Path(cast(str, file))
    except TypeError as error:
        raise OSError(f"Invalid file-or-path object: {file}") from error
    with path.open(encoding="utf-8") as lines:
        yield lines


def split_lines(
    file: IO[str], delimiter: str, cuts: int, comment: str | None, header: bool = False
) -> Iterator[tuple[int, str, list[str]]]:
    """Iterate over lines with their numbers and fields, without comments and header.

    Lines are split at most `cuts` times; 0: everywhere.
    """
    split, is_comment = re.compile(delimiter).split, re.compile(f"^{comment}").match
    for number, line in enumerate(islice(file, int(header), None), 1 + header):
        if comment is not None and is_comment(line):
            continue
        stripped = line.strip()
        if delimiter == BLANKS:  # equivalent to the regular expression, but several times faster
            yield number, line, stripped.split(maxsplit=cuts or -1) or [""]
        else:
            yield number, line, split(stripped, maxsplit=cuts)


_documented = documented(
    """
    Parameters
    ----------
    filename : path or open file
    delimiter : str
        Regular expression.
    comment : str or None
        Regular expression; lines that begin with it are skipped. None: no line is skipped.

    Raises
    ------
    ValueError
        For a line with a wrong number of columns or an invalid value, with file and line.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> from io import StringIO
    """
)


@_documented
def load_delimited(
    filename: File, converters: Sequence[Callable[[str], Any]], delimiter: str = BLANKS, comment: str | None = "#"
) -> Any:
    r"""Load columns of a delimited text file.

    Parameters
    ----------
    converters : sequence of callables
        One per column. The last of several columns takes the rest of the line, including delimiters.

    Returns
    -------
    tuple of lists
        One list per column; with one converter, the list itself.

    Examples
    --------
    >>> load_delimited(StringIO("# a comment\n0.5 one\n1.0 and two"), [float, str])
    ([0.5, 1.0], ['one', 'and two'])
    """
    count = len(converters)
    rows: list[list[str]] = []
    places: list[tuple[int, str]] = []
    with opened(filename) as file:
        for number, line, row in split_lines(file, delimiter, count - 1, comment):
            if len(row) != count:
                raise ValueError(f"Expected {count} columns, got {len(row)} at {filename}:{number:d}:\n\t{line}")
            rows.append(row)
            places.append((number, line))
    columns: tuple[list[Any], ...] = tuple([] for _ in converters)
    for values, texts, converter in zip(columns, zip(*rows, strict=True), converters, strict=False):
        try:
            values.extend(map(converter, texts))  # values before a failure stay in the list, which gives the row
        except Exception as error:  # the converter is the caller's and may raise anything
            number, line = places[len(values)]
            name = getattr(converter, "__name__", repr(converter))
            raise ValueError(
                f"Couldn't convert value {texts[len(values)]} using {name} found at {filename}:{number:d}:\n\t{line}"
            ) from error
    return columns[0] if count == 1 else columns


def _checked(values: _Values, check: Callable[[_Values], None]) -> _Values:
    """Return the values, with a warning if they are invalid."""
    try:
        check(values)
    except ValueError as error:
        warn_caller(str(error))
    return values


@_documented
def load_events(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> Float:
    r"""Load event times from a file with one column.

    Returns
    -------
    float64 (n,), seconds
        Invalid times cause a warning, see `validate_events`.

    Examples
    --------
    >>> load_events(StringIO("0.5\n1.0")).tolist()
    [0.5, 1.0]
    """
    return _checked(np.array(load_delimited(filename, [float], delimiter, comment)), validate_events)


@_documented
def load_labeled_events(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> tuple[Float, list[str]]:
    r"""Load event times and labels from a file with two columns.

    Returns
    -------
    times : float64 (n,), seconds
        Invalid times cause a warning, see `validate_events`.
    labels : list of str

    Examples
    --------
    >>> load_labeled_events(StringIO("0.5 1\n1.0 2"))
    (array([0.5, 1. ]), ['1', '2'])
    """
    times, labels = load_delimited(filename, [float, str], delimiter, comment)
    return _checked(np.array(times), validate_events), labels


@_documented
def load_intervals(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> Float:
    r"""Load intervals from a file with two columns.

    Returns
    -------
    float64 (n, 2), seconds
        Invalid intervals cause a warning, see `validate_intervals`.

    Examples
    --------
    >>> load_intervals(StringIO("0.0 1.0\n1.0 2.5")).tolist()
    [[0.0, 1.0], [1.0, 2.5]]
    """
    starts, ends = load_delimited(filename, [float, float], delimiter, comment)
    return _checked(np.array([starts, ends]).T, validate_intervals)


@_documented
def load_labeled_intervals(
    filename: File, delimiter: str = BLANKS, comment: str | None = "#"
) -> tuple[Float, list[str]]:
    r"""Load intervals and labels from a file with three columns.

    Returns
    -------
    intervals : float64 (n, 2), seconds
        Invalid intervals cause a warning, see `validate_intervals`.
    labels : list of str

    Examples
    --------
    >>> load_labeled_intervals(StringIO("0.0 1.0 C:maj\n1.0 2.5 N"))[1]
    ['C:maj', 'N']
    """
    starts, ends, labels = load_delimited(filename, [float, float, str], delimiter, comment)
    return _checked(np.array([starts, ends]).T, validate_intervals), labels


@_documented
def load_valued_intervals(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> tuple[Float, Float]:
    r"""Load intervals with values from a file with three columns.

    Returns
    -------
    intervals : float64 (n, 2), seconds
        Invalid intervals cause a warning, see `validate_intervals`.
    values : float64 (n,)

    Examples
    --------
    >>> load_valued_intervals(StringIO("0.0 1.0 440\n1.0 2.5 220"))[1].tolist()
    [440.0, 220.0]
    """
    starts, ends, values = load_delimited(filename, [float, float, float], delimiter, comment)
    return _checked(np.array([starts, ends]).T, validate_intervals), np.array(values)


@_documented
def load_time_series(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> tuple[Float, Float]:
    r"""Load times and values from a file with two columns.

    Returns
    -------
    times : float64 (n,), seconds
    values : float64 (n,)

    Examples
    --------
    >>> load_time_series(StringIO("0.00 440\n0.01 0"))[1].tolist()
    [440.0, 0.0]
    """
    times, values = load_delimited(filename, [float, float], delimiter, comment)
    return np.array(times), np.array(values)


@_documented
def load_ragged_time_series(
    filename: File,
    dtype: Callable[..., Any] = float,
    delimiter: str = BLANKS,
    header: bool = False,
    comment: str | None = "#",
) -> tuple[Float, list[Array]]:
    r"""Load times with any number of values each, one time per line.

    Parameters
    ----------
    dtype : type
        Of the values.
    header : bool
        Whether to skip the first line.

    Returns
    -------
    times : float64 (n,), seconds
    values : list of arrays
        One per time, possibly empty.

    Examples
    --------
    >>> times, values = load_ragged_time_series(StringIO("0.0 220 440\n0.1\n0.2 330"))
    >>> [row.tolist() for row in values]
    [[220.0, 440.0], [], [330.0]]
    """
    times: list[float] = []
    values: list[Array] = []
    with opened(filename) as file:
        for number, line, row in split_lines(file, delimiter, 0, comment, header):
            where = f"found at {filename}:{number:d}:\n\t{line}"
            try:
                times.append(float(row[0]))
            except ValueError as error:
                raise ValueError(f"Couldn't convert value {row[0]} using float {where}") from error
            try:
                values.append(np.array(row[1:], dtype=cast(type, dtype)))
            except (TypeError, ValueError) as error:
                name = getattr(dtype, "__name__", repr(dtype))
                raise ValueError(f"Couldn't convert value {row[1:]} using {name} {where}") from error
    return np.array(times), values


@_documented
def load_key(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> str:
    r"""Load a key from a file with one row: tonic and mode.

    Returns
    -------
    str
        Tonic and mode, separated by a space. Invalid keys cause a warning, see `mirflow.metrics.key.validate_key`.

    Examples
    --------
    >>> load_key(StringIO("# a comment\nC#\tminor"))
    'C# minor'
    """
    rows = list(zip(*load_delimited(filename, [str, str], delimiter, comment), strict=True))
    if len(rows) != 1:
        raise ValueError("Key file should contain only one line.")
    label = " ".join(rows[0])
    return _checked(label, _key.validate_key)


@_documented
def load_tempo(filename: File, delimiter: str = BLANKS, comment: str | None = "#") -> tuple[Float, float]:
    r"""Load two tempi from a file with one row, in the format of MIREX.

    Parameters
    ----------
    filename : path or open file
        File with two tempi and the share of the first in the total salience.

    Returns
    -------
    tempi : float64 (2,), beats per minute
        Invalid tempi cause a warning, see `mirflow.metrics.tempo.validate_tempi`.
    weight : float
        In [0, 1].

    Raises
    ------
    ValueError
        For a weight outside [0, 1].

    Examples
    --------
    >>> load_tempo(StringIO("60.0 120.0 0.25"))
    (array([ 60., 120.]), 0.25)
    """
    rows = np.array(load_delimited(filename, [float] * 3, delimiter, comment)).T
    if len(rows) != 1:
        raise ValueError("Tempo file should contain only one line.")
    tempi, weight = rows[0, :2], float(rows[0, 2])
    _checked(tempi, _tempo.validate_tempi)
    if not 0 <= weight <= 1:
        raise ValueError(f"Invalid weight: {weight}")
    return tempi, weight


_SCALES = {"int8": 2.0**8, "int16": 2.0**16, "int32": 2.0**24}


def load_wav(path: str | PathLike[str], mono: bool = True) -> tuple[Array, int]:
    """Load the samples of a wav file, on mir_eval's scale.

    Parameters
    ----------
    path : path
    mono : bool
        Whether to average channels.

    Returns
    -------
    samples : float64 (n,) or, if not averaged, (n, channels)
        Divided by 2**16 (16 bits), which is half of the usual scale, or by 2**24 (24 and 32 bits).
    rate : int, Hz

    Raises
    ------
    ValueError
        For other types of samples, such as 8 bits or floats, and files that are not wav.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.io import wavfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.wav")
    ...     wavfile.write(path, 8000, np.array([[0, 2**14], [2**15 - 2**14, 0]], dtype=np.int16))
    ...     samples, rate = load_wav(path)
    >>> samples.tolist(), rate
    ([0.125, 0.125], 8000)
    """
    from scipy.io import wavfile

    rate, samples = wavfile.read(path)
    if samples.dtype.name not in _SCALES:
        raise ValueError(f"Got unexpected .wav data type {samples.dtype}")
    samples = samples / _SCALES[samples.dtype.name]
    return (samples.mean(axis=1) if mono and samples.ndim != 1 else samples), rate


Pattern = list[list[tuple[float, float]]]  # Occurrences of one pattern, each a list of (onset, MIDI pitch)


@_documented
def load_patterns(filename: File) -> list[Pattern]:
    r"""Load repeated patterns from a file in the format of MIREX 2013.

    Parameters
    ----------
    filename : path or open file
        File with lines ``pattern1``, ``occurrence1`` and ``onset, midi pitch``.

    Returns
    -------
    list
        Patterns, each a list of occurrences, each a list of (onset, MIDI pitch); empty ones are left out.

    Examples
    --------
    >>> load_patterns(StringIO("pattern1\noccurrence1\n0.5, 67\n1.0, 64\noccurrence2\n4.5, 65\n"))
    [[[(0.5, 67.0), (1.0, 64.0)], [(4.5, 65.0)]]]
    """
    patterns: list[Pattern] = [[[]]]
    with opened(filename) as file:
        for line in file:
            if "pattern" in line:
                patterns.append([[]])
            elif "occurrence" in line:
                patterns[-1].append([])
            else:
                onset, pitch = line.split(",")[:2]
                patterns[-1][-1].append((float(onset), float(pitch)))
    filled = ([occurrence for occurrence in pattern if occurrence] for pattern in patterns)
    return [pattern for pattern in filled if pattern]
