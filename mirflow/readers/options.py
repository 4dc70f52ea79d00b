"""How files are to be read: declared once, hashable and picklable, shared by the sources of a whole evaluation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from ..annotations.schema import KINDS, LATEST, kind_of
from ..errors import AnnotationError, UnknownNameError
from ..ragged import Float
from .namespaces import NAMESPACES, namespace_kind

MAX_BYTES = 256 * 2**20
MAX_AUDIO_BYTES = 2**36
"""Of sound files, which are read piece by piece, where no other limit is set."""
Format = Literal["jams", "lab", "txt", "csv", "tsv", "svl", "midi", "run", "qrels", "lists", "groups", "matrix"]
FORMATS: tuple[str, ...] = get_args(Format)
SUFFIXES = (*(f".{name}" for name in FORMATS), ".mid", ".key")
"""What the names of annotation files end in; in folders the others are left alone."""
_FORMATS_BY_SUFFIX = {name: name for name in FORMATS} | {"mid": "midi", "sv": "svl", "npy": "matrix"}
TABLES: tuple[str, ...] = ("run", "qrels", "lists", "groups", "matrix")
"""Formats whose files always hold many tracks: rankings and what is relevant for queries."""
_OF_INTERVALS = ("start", "end", "duration", "label")
COLUMNS = {
    "events": ("time", "label", "bar"),
    "intervals": _OF_INTERVALS,
    "hierarchy": _OF_INTERVALS,
    "notes": ("start", "end", "duration", "pitch", "velocity", "label"),
    "series": ("time", "frequency", "voicing"),
    "labels": ("label", "value"),
    "ranking": ("label", "value", "rank"),
    "judgements": ("label", "grader", "broad", "value", "rank"),
    "following": ("time", "detected", "position", "pitch"),
}
KEYS = ("track", "system", "annotator")
"""Columns that tell the annotations of a file of many tracks apart; see :mod:`mirflow.readers.tables.table.table`."""
PITCHED = ("notes", "series", "multipitch")
PitchUnit = Literal["Hz", "MIDI"]
Instrument = Literal["program", "track"]
Select = Literal["all", "downbeat", "bar_start", "bar_end"]
SELECTIONS: tuple[str, ...] = get_args(Select)
Last = Literal["end", "keep"]
Decimal = Literal[".", ","]
Exclude = Literal["self", "none"]
AUTO = "auto"
_SAMPLES = re.compile(r"samples@(\d+(?:\.\d+)?)")
_FRAMES = re.compile(r"frames@(\d*\.?\d+(?:[eE][-+]?\d+)?)")
_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "whitespace": "whitespace",
    "blank": "whitespace",
}


@dataclass(frozen=True, slots=True)
class DelimitedOptions:
    """How delimited text is laid out; whatever is left out is found from the file.

    Parameters
    ----------
    delimiter : str or None
        A character, or one of the words ``tab``, ``comma``, ``semicolon``, ``whitespace``. None: in ``.csv`` a comma,
        or a semicolon or tab where the first row says so; the tab in ``.tsv``; else blanks and tabs, or a comma or
        semicolon where the first row has no blanks.
    header : bool or None
        Whether the first row holds column names. None: it does if no field is a number and one is a known name.
    comment : str
        Lines that begin with it are left out; empty: no comments.
    columns : tuple of (str, int or str)
        Which column, counted from 0 or by its name in the header, holds ``time`` and ``bar`` (events), ``start``,
        ``end`` or ``duration`` (intervals and notes), ``label``, ``pitch`` and ``velocity`` (notes), ``time``,
        ``frequency`` and ``voicing`` (series), ``label`` and ``value`` (labels); of a file that holds many tracks also
        ``track``, and perhaps ``system`` and ``annotator``. Intervals with neither end nor duration make a list of
        boundaries: each lasts until the next row's start. A series without a column of times needs the unit
        ``frames@``: a frame a row.
    time_unit : str
        ``auto`` (``s``, but ``ms`` in files of score following, as MIREX has them), ``s``, ``ms``, ``samples@44100``,
        or ``frames@0.01``: numbers of frames with that hop in seconds.
    encoding : str
    last : {"end", "keep"}
        What the last row of a list of boundaries is: the end of the row above, whatever its label; or one more
        interval, which has no length as nothing says where it ends.
    pitch_unit : {"Hz", "MIDI"}
        Of notes, series and multipitch; see :func:`mirflow.theory.pitch.to_hertz`.
    decimal : {".", ","} or None
        What stands before the decimals of numbers. None: a point, or a comma where columns are separated by semicolons.

    Examples
    --------
    >>> DelimitedOptions(time_unit="samples@44100").divisor
    44100.0
    """

    delimiter: str | None = None
    header: bool | None = None
    comment: str = "#"
    columns: tuple[tuple[str, int | str], ...] = ()
    time_unit: str = AUTO
    encoding: str = "utf-8"
    last: Last = "end"
    pitch_unit: PitchUnit = "Hz"
    decimal: Decimal | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1 and self.delimiter not in _DELIMITERS:
            words = ", ".join(_DELIMITERS)
            raise AnnotationError(f"not a delimiter: {self.delimiter!r}; write a character or one of {words}")
        if self.time_unit not in (AUTO, "s", "ms") and not _SAMPLES.fullmatch(self.time_unit) and not self.hop:
            raise AnnotationError(f"not a time unit: {self.time_unit!r}; write s, ms, samples@44100 or frames@0.01")
        if self.pitch_unit not in get_args(PitchUnit):
            raise AnnotationError(f"not a unit of pitch: {self.pitch_unit!r}; write Hz or MIDI")
        if self.decimal not in (None, *get_args(Decimal)):
            raise AnnotationError(f"not what stands before decimals: {self.decimal!r}; write '.' or ','")
        if self.decimal == "," == self.separator:
            raise AnnotationError("commas cannot stand between columns and before decimals; declare another delimiter")
        if not (0 < self.divisor < math.inf and 0 <= self.hop <= LATEST):
            raise AnnotationError(f"not a time unit: {self.time_unit!r}; the number after the @ is out of range")
        known = {name for names in COLUMNS.values() for name in names} | {*KEYS}
        for name, _ in self.columns:
            if name not in known:
                raise UnknownNameError("column", name, known)
        keyed = [name for name, _ in self.columns if name in KEYS]
        if keyed and "track" not in keyed:
            raise AnnotationError(f"columns names {keyed[0]}, but not the column that holds the track")
        if self.last not in get_args(Last):
            raise AnnotationError(f"the last row is {' or '.join(get_args(Last))}, not {self.last!r}")

    @property
    def divisor(self) -> float:
        """What numbers in the file are divided by to give seconds."""
        samples = _SAMPLES.fullmatch(self.time_unit)
        if samples:
            return float(samples[1])
        return 1000.0 if self.time_unit == "ms" else 1.0

    @property
    def hop(self) -> float:
        """Seconds between frames, where times are numbers of frames; else 0."""
        frames = _FRAMES.fullmatch(self.time_unit)
        return float(frames[1]) if frames else 0.0

    def seconds(self, times: Float) -> Float:
        """Times as they stand in a file, in seconds."""
        with np.errstate(over="ignore"):  # what becomes infinite is told of when it is scored
            if self.hop:
                return times * self.hop
            return times if self.divisor == 1.0 else times / self.divisor

    def has_decimal_commas(self, separator: str) -> bool:
        """Whether commas stand before decimals in a file whose columns are so separated.

        Examples
        --------
        >>> DelimitedOptions().has_decimal_commas(";"), DelimitedOptions(decimal=".").has_decimal_commas(";")
        (True, False)
        """
        return self.decimal == "," or (self.decimal is None and separator == ";")

    @property
    def separator(self) -> str | None:
        """The declared delimiter as a character or ``whitespace``."""
        return None if self.delimiter is None else _DELIMITERS.get(self.delimiter, self.delimiter)


@dataclass(frozen=True, slots=True)
class Reading:
    """What to take from a file, and how.

    Parameters
    ----------
    kind : str
        A name of :data:`mirflow.annotations.schema.KINDS`.
    task : str or None
        Chooses the namespaces of a JAMS file that serve the task.
    format : str or None
        One of :data:`FORMATS`; None: from the file's suffix, delimited text for suffixes that are not known.
    namespace : str or None
        The one namespace to take from a JAMS file.
    delimited : DelimitedOptions
    max_bytes : int
        Larger files are refused as unreadable.
    select : str or None
        Which of the beats in a file to take: see :mod:`mirflow.readers.positions`. None: the downbeats for the task
        downbeat, where a file has positions in the bar; else all.
    levels : tuple of str
        Of a hierarchy that has one file for each level: the values of ``{level}``, from the coarsest to the finest.
    drums : bool
        Whether the notes of a MIDI file's percussion (channel 10) are taken too.
    instrument : {"program", "track"}
        What labels the notes of a MIDI file: the General MIDI name of the instrument, or the name of the track.
    sources : tuple of str
        Of audio that has one file for each source: the values of ``{source}`` to take, in this order; empty: all that
        are found, sorted.
    exclude : {"self", "none"}
        Of matrices and groups: whether the query itself is left out of its ranking.
    exclude_same : str, int or None
        Of groups: the column of which items that agree with the query's own are left out of its ranking.

    Examples
    --------
    >>> Reading.of(task="chord").kind
    'intervals'
    """

    kind: str
    task: str | None = None
    format: str | None = None
    namespace: str | None = None
    delimited: DelimitedOptions = field(default_factory=DelimitedOptions)
    max_bytes: int = MAX_BYTES
    select: Select | None = None
    levels: tuple[str, ...] = ()
    drums: bool = False
    instrument: Instrument = "program"
    sources: tuple[str, ...] = ()
    exclude: Exclude = "self"
    exclude_same: str | int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("kind of annotation", self.kind, KINDS)
        if self.format is not None and self.format not in FORMATS:
            raise UnknownNameError("format", self.format, FORMATS)
        holds = self.kind if self.namespace is None else namespace_kind(self.namespace)
        if self.namespace is not None and self.kind not in NAMESPACES[self.namespace].kinds:
            raise AnnotationError(
                f"namespace {self.namespace!r} holds {holds}, but {self.task or self.kind} needs {self.kind}"
            )
        if self.kind == "following" and self.delimited.time_unit == AUTO:
            object.__setattr__(self, "delimited", replace(self.delimited, time_unit="ms"))
        self._check_layout()
        self._check_rankings()

    def _check_rankings(self) -> None:
        """Options of what is read as rankings only."""
        if self.format in TABLES and self.kind != "ranking":
            raise AnnotationError(f"format {self.format!r} holds rankings, and {self.task or self.kind} has none")
        if self.exclude not in get_args(Exclude):
            raise UnknownNameError("what is excluded", self.exclude, get_args(Exclude))
        if self.exclude != "self" and self.kind != "ranking":
            raise AnnotationError(f"exclude is for rankings, and {self.task or self.kind} has none")
        if self.exclude_same is not None and self.format != "groups":
            raise AnnotationError("exclude_same names a column of groups: declare format: groups")

    def _check_layout(self) -> None:
        """Options that this kind does not have."""
        if self.delimited.columns and self.kind not in COLUMNS:
            raise AnnotationError(f"files of kind {self.kind!r} have one layout only: declare no columns")
        if self.delimited.pitch_unit != "Hz" and self.kind not in PITCHED:
            raise AnnotationError(f"pitch_unit is that of {', '.join(PITCHED)}, and {self.kind} have no pitch")
        if (self.drums or self.instrument != "program") and self.kind != "notes":
            raise AnnotationError(f"drums and instrument are for notes of MIDI files, not for {self.kind}")
        if self.instrument not in get_args(Instrument):
            raise UnknownNameError("instrument", self.instrument, get_args(Instrument))
        if self.select is not None and self.select not in SELECTIONS:
            raise UnknownNameError("selection", self.select, SELECTIONS)
        if self.select is not None and self.kind != "events":
            raise AnnotationError(f"select takes some of the beats of a file, and {self.kind} are no beats")
        if self.levels and self.kind != "hierarchy":
            raise AnnotationError(f"levels are those of a hierarchy, and {self.task or self.kind} has none")
        if len(set(self.levels)) < len(self.levels):
            raise AnnotationError(f"a level stands twice: {', '.join(self.levels)}")
        if self.sources and self.kind != "audio":
            raise AnnotationError(f"sources are those of audio, and {self.task or self.kind} has none")
        if len(set(self.sources)) < len(self.sources):
            raise AnnotationError(f"a source stands twice: {', '.join(self.sources)}")
        if self.format is not None and self.kind == "audio":
            raise AnnotationError(f"sound files say themselves what they are: leave the format {self.format!r} out")

    @classmethod
    def of(
        cls,
        *,
        task: str | None = None,
        kind: str | None = None,
        namespace: str | None = None,
        format: str | None = None,
        delimited: DelimitedOptions | None = None,
        max_bytes: int = MAX_BYTES,
        select: Select | None = None,
        levels: Sequence[str] = (),
        drums: bool = False,
        instrument: Instrument = "program",
        sources: Sequence[str] = (),
        exclude: Exclude = "self",
        exclude_same: str | int | None = None,
    ) -> Reading:
        """A reading from whichever of task, kind and namespace is known; the kind follows from the others."""
        if kind is None and task is not None:
            kind = kind_of(task).name
        if kind is None and namespace is not None:
            kind = namespace_kind(namespace)
        if kind is None:
            raise AnnotationError("what does the file hold? name a task, a kind or a namespace")
        options = delimited or DelimitedOptions()
        if kind == "audio" and max_bytes == MAX_BYTES:
            max_bytes = MAX_AUDIO_BYTES
        some, names = tuple(levels), tuple(sources)
        of_kind = (select, some, drums, instrument, names, exclude, exclude_same)
        return cls(kind, task, format, namespace, options, max_bytes, *of_kind)

    @property
    def keys(self) -> tuple[str, ...]:
        """Which columns are declared to tell the annotations of a file of many tracks apart."""
        return tuple(name for name, _ in self.delimited.columns if name in KEYS)

    @property
    def selection(self) -> Select | None:
        """Which beats to take; None where the file decides."""
        return "all" if self.select is None and self.task != "downbeat" else self.select

    def format_of(self, suffix: str) -> str:
        """The format of a file with that suffix: the declared one, else the suffix's, else text."""
        if self.format is not None:
            return self.format
        found = _FORMATS_BY_SUFFIX.get(suffix.lstrip(".").lower(), "txt")
        return "txt" if found in TABLES and self.kind != "ranking" else found
