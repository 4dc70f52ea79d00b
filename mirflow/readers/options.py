"""Options of reading: declared once, hashable and picklable, shared by the sources of a whole evaluation.

Keywords in Python, keys of pipelines and options of commands are made from the same declarations. Values are checked
here, also against the kind of annotation.
"""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ..annotations.schema import KINDS, LATEST, kind_of
from ..errors import AnnotationError, UnknownNameError, suggest
from ..plugins import READERS, declared, find
from ..ragged import Float
from .content import is_encoding
from .formats import FORMATS, TABLES, Format, format_named
from .label_maps import LabelMap, read_label_map
from .namespaces import NAMESPACES, OTHERS, namespace_kind

MAX_BYTES = 256 * 2**20
MAX_AUDIO_BYTES = 2**36
"""Default limit of audio files, which are read block by block."""
COLUMNS = {kind.name: kind.columns for kind in KINDS.values() if kind.columns}
SINGLE_ROWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"key": ("key", "mode", "label"), "tempo": ("tempo", "second", "strength")}
)
"""Columns of kinds with one row per track; see :mod:`mirflow.readers.single_layout`."""
KEYS = ("track", "system", "annotator")
"""Key columns of a file of many tracks; see :mod:`mirflow.readers.tables.table`."""
LABELLED = ("events", "intervals", "hierarchy", "notes", "labels")
"""Kinds whose labels are chosen by users, so that a label map can be applied."""
PITCHED = tuple(kind.name for kind in KINDS.values() if kind.pitched)
PitchUnit = Literal["Hz", "MIDI"]
Instrument = Literal["program", "family", "track"]
Pedal = Literal["ignore", "extend"]
ScoreLibrary = Literal["auto", "music21", "partitura"]
Select = Literal["all", "downbeat", "bar_start", "bar_end"]
Last = Literal["end", "keep"]
Decimal = Literal[".", ","]
Exclude = Literal["self", "none"]
Notation = Literal["harte", "leadsheet"]
HARTE: Notation = "harte"
Normalize = Literal["jam_alt"]
AUTO = "auto"
_KEYS = (
    *("format", "namespace", "columns", "delimiter", "header", "comment", "time_unit", "pitch_unit", "decimal"),
    *("drums", "instrument", "encoding", "last", "select", "levels", "sources", "exclude", "exclude_same", "max_bytes"),
)
"""Options in the order of the keys of a pipeline. All others come after them, and signatures of results contain them
only if they are not at their defaults, so that older results stay valid."""
_TYPED = (
    *("format", "namespace", "columns", "delimiter", "decimal", "header", "comment", "encoding", "time_unit"),
    *("pitch_unit", "select", "levels", "sources", "exclude", "exclude_same", "last", "drums", "instrument"),
)
"""Options in the order of a command; all others come after them."""
_SAMPLES = re.compile(r"samples@(\d+(?:\.\d+)?)")
_FRAMES = re.compile(r"frames@(\d*\.?\d+(?:[eE][-+]?\d+)?)(?:\+(\d*\.?\d+))?")
_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "whitespace": "whitespace",
    "blank": "whitespace",
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option of reading; see :func:`option`."""

    default: Any
    words: str
    help: str | None
    spelling: str
    listed: bool
    made_by: Callable[[str], Any] | None = None
    name: str = ""
    type: Any = None

    place: int = 0
    """Position among the options of a command."""
    choices: tuple[str, ...] = ()
    """The values of an option with a fixed set of values."""
    is_mapping: bool = False
    """Whether its value is a mapping, which is stored as pairs."""

    def keep(self, value: Any) -> Any:
        """Convert a value for the field: mappings and sequences to tuples, text by `made_by`."""
        if self.made_by is not None and isinstance(value, str | os.PathLike):
            return self.made_by(os.fspath(value))
        if self.default != ():
            return value
        return tuple(value.items() if isinstance(value, Mapping) else value or ())


def option(
    default: Any,
    words: str,
    help: str | None = "",
    *,
    spelling: str = "",
    listed: bool = False,
    made_by: Callable[[str], Any] | None = None,
) -> Any:
    """Declare an option of reading: a field of `DelimitedOptions` (text) or `Reading` (files of any format).

    The keyword arguments in Python, the keys of pipelines and their JSON Schema, and the options of commands follow.

    Parameters
    ----------
    default : Any
        An empty tuple for sequences and mappings.
    words : str
        The description in the JSON Schema and in docstrings.
    help : str or None
        The help of commands; empty: `words`; None: commands do not have the option.
    spelling : str
        The name on the command line, if it differs.
    listed : bool
        Whether the command's help lists the choices, which are those of the field's type.
    made_by : callable or None
        Converts the text that users write to the field's value; results depend on its ``repr``.
    """
    declared = Option(default, words, help, spelling, listed, made_by)
    return field(default=default, metadata={"option": declared})


def _declared(of: type) -> dict[str, Option]:
    types, declared = get_type_hints(of), dict[str, Option]()
    for column in fields(of):
        if "option" in column.metadata:
            option, type_ = column.metadata["option"], types[column.name]
            literal = [part for part in (type_, *get_args(type_)) if get_origin(part) is Literal]
            declared[column.name] = replace(
                option,
                name=column.name,
                type=str | None if option.made_by else type_,
                place=_TYPED.index(column.name) if column.name in _TYPED else len(_TYPED),
                choices=get_args(literal[0]) if literal else (),
                is_mapping=get_origin(type_) is tuple and get_origin(get_args(type_)[0]) is tuple,
            )
    return declared


class _Signed:
    """Text of the options, as stored in signatures of results."""

    __slots__ = ()

    def __repr__(self) -> str:
        values = [(item, getattr(self, item.name)) for item in fields(self) if item.init]  # type: ignore[arg-type]
        signed = [
            f"{item.name}={value!r}"
            for item, value in values
            if "option" not in item.metadata or item.name in _KEYS or value != item.default
        ]
        return f"{type(self).__name__}({', '.join(signed)})"


@dataclass(frozen=True, slots=True, repr=False)
class DelimitedOptions(_Signed):
    """Layout of delimited text; options that are not given are inferred from the file.

    Examples
    --------
    >>> DelimitedOptions(time_unit="samples@44100").divisor
    44100.0
    """

    # None: in .csv a comma, or a semicolon or tab by the first row; in .tsv the tab; otherwise blanks and tabs,
    # or a comma or semicolon if the first row has no blanks.
    delimiter: str | None = option(
        None,
        "A character, or tab, comma, semicolon, whitespace.",
        "Text: a character, or tab, comma, semicolon, whitespace. Default: inferred from the file.",
    )
    # None: it does if no field is a number and one is a known name.
    header: bool | None = option(
        None, "Whether the first row holds names of columns.", "Text: whether the first row holds names of columns."
    )
    comment: str = option(
        "#", "Lines that begin with it are skipped.", "Text: skip lines that begin with it. Default: #."
    )
    # Files of many tracks also have `track`, and perhaps `system` and `annotator`. Intervals with neither end nor
    # duration make a list of boundaries: each lasts until the next row's start. A series without a column of times
    # needs the unit frames@: one frame per row.
    columns: tuple[tuple[str, int | str], ...] = option(
        (),
        "Which column, counted from 0 or by its name, holds time, start, end, duration, label, pitch, frequency, ...; "
        "in Parquet files also the path of a field, such as chords.start.",
        "Text: contents of the columns, such as start=0,label=1. Default: inferred from the header.",
    )
    time_unit: str = option(
        AUTO,
        "auto (s, but ms in files of score following), s, ms, samples@44100, frames@0.01 (frames with that hop), or "
        "frames@0.02+0.01, whose frame 0 is at 0.01 s.",
        "Text: s, ms, samples@44100 or frames@0.01.",
    )
    encoding: str = option("utf-8", "Encoding of delimited files.", "Encoding of text. Default: utf-8.")
    last: Last = option(
        "end",
        "Meaning of the last row of a list of boundaries: the end of the row above, or an interval without length.",
        "The last row of a list of boundaries: end (of the row above), or keep.",
    )
    pitch_unit: PitchUnit = option(  # see mirflow.theory.pitch.to_hertz
        "Hz", "Unit of pitches in delimited files: Hz or MIDI.", "Unit of pitches in text. Default: Hz.", listed=True
    )
    decimal: Decimal | None = option(
        None,
        "The decimal separator; default: a point, or a comma if semicolons separate columns.",
        "Text: the decimal separator, . or ,. Default: a comma if semicolons separate columns.",
    )
    separator: str | None = field(init=False, compare=False)
    """The declared delimiter as a character or ``whitespace``."""
    keys: tuple[str, ...] = field(init=False, compare=False)
    """The declared key columns of a file of many tracks."""
    divisor: float = field(init=False, compare=False)
    """Divisor that converts numbers in the file to seconds."""
    hop: float = field(init=False, compare=False)
    """Seconds between frames if times are frame numbers; otherwise 0."""
    first_frame: float = field(init=False, compare=False)
    """Seconds of frame 0 if times are frame numbers."""

    def __post_init__(self) -> None:
        samples, frames = _SAMPLES.fullmatch(self.time_unit), _FRAMES.fullmatch(self.time_unit)
        divisor = float(samples[1]) if samples else 1000.0 if self.time_unit == "ms" else 1.0
        separator = None if self.delimiter is None else _DELIMITERS.get(self.delimiter, self.delimiter)
        object.__setattr__(self, "separator", separator)
        object.__setattr__(self, "keys", tuple(name for name, _ in self.columns if name in KEYS))
        object.__setattr__(self, "divisor", divisor)
        object.__setattr__(self, "hop", float(frames[1]) if frames else 0.0)
        object.__setattr__(self, "first_frame", float(frames[2] or 0) if frames else 0.0)
        if self.encoding != "utf-8" and not is_encoding(self.encoding):
            raise AnnotationError(f"unknown encoding {self.encoding!r}: use one such as utf-8 or latin-1")
        unit = f"invalid time_unit {self.time_unit!r}"
        if self.delimiter is not None and len(self.delimiter) != 1 and self.delimiter not in _DELIMITERS:
            words = ", ".join(_DELIMITERS)
            raise AnnotationError(f"invalid delimiter {self.delimiter!r}: expected a character or one of {words}")
        if self.time_unit not in (AUTO, "s", "ms") and not samples and not self.hop:
            raise AnnotationError(f"{unit}: expected s, ms, samples@44100, frames@0.01 or frames@0.02+0.01")
        if self.pitch_unit not in get_args(PitchUnit):
            raise AnnotationError(f"invalid pitch_unit {self.pitch_unit!r}: expected Hz or MIDI")
        if self.decimal not in (None, *get_args(Decimal)):
            raise AnnotationError(f"invalid decimal {self.decimal!r}: expected '.' or ','")
        if self.decimal == "," == self.separator:
            raise AnnotationError("commas cannot be both column and decimal separators; declare another delimiter")
        if not (0 < self.divisor < math.inf and 0 <= self.hop <= LATEST and self.first_frame <= LATEST):
            raise AnnotationError(f"{unit}: the number after @ is out of range")
        named = (*COLUMNS.values(), *SINGLE_ROWS.values(), *(kind.given_as for kind in KINDS.values()))
        known = {*chain.from_iterable(named), *KEYS}
        for name, _ in self.columns:
            if name not in known:
                raise UnknownNameError("column", name, known)
        if self.keys and "track" not in self.keys:
            raise AnnotationError(f"columns has {self.keys[0]}, but not the track")
        if self.last not in get_args(Last):
            raise AnnotationError(f"invalid last {self.last!r}: expected {' or '.join(get_args(Last))}")

    def seconds(self, times: Float, *, lengths: bool = False) -> Float:
        """Times of a file, or lengths, in seconds."""
        if self.time_unit in (AUTO, "s"):
            return times
        with np.errstate(over="ignore"):  # infinite times are reported when they are scored
            if self.hop:
                start = 0.0 if lengths else self.first_frame
                return times * self.hop + start if start else times * self.hop
            return times if self.divisor == 1.0 else times / self.divisor

    def has_decimal_commas(self, separator: str) -> bool:
        """True if commas are decimal separators in a file with that column separator.

        Examples
        --------
        >>> DelimitedOptions().has_decimal_commas(";"), DelimitedOptions(decimal=".").has_decimal_commas(";")
        (True, False)
        """
        return self.decimal == "," or (self.decimal is None and separator == ";")


@dataclass(frozen=True, slots=True, repr=False)
class Reading(_Signed):
    """Kind of annotation and options of reading a file.

    Examples
    --------
    >>> Reading.of("chord", time_unit="ms").delimited.divisor
    1000.0
    """

    kind: str
    """A name of :data:`mirflow.annotations.schema.KINDS`."""
    task: str | None = None
    """Selects the namespaces of a JAMS file that the task can read."""
    format: Format | str | None = option(
        None,
        "Format of the files; default: by their suffix.",
        "Format of the files: jams, csv, midi, ... Default: by their suffix.",
        spelling="input-format",  # --format is the format of the output
    )
    namespace: str | None = option(
        None,
        "The namespace to read from JAMS files; default: those that the task can read.",
        "The namespace to read from JAMS files.",
    )
    delimited: DelimitedOptions = field(default_factory=DelimitedOptions)
    """Layout of delimited text."""
    max_bytes: int = option(
        MAX_BYTES,
        "Larger files count as unreadable; audio files, which are read block by block, only if this is set.",
        None,
    )
    # None: the downbeats for the task downbeat, if a file has positions in the bar; otherwise all. See
    # mirflow.readers.positions.
    select: Select | None = option(
        None,
        "Beats to read: all, downbeat (position 1 in the bar), bar_start, bar_end (by bar numbers).",
        "Beats to read: all, downbeat, bar_start or bar_end.",
    )
    downbeat: tuple[str, ...] = option(
        (),
        "Marks of downbeats in the labels of beats, such as db or 384; default: position 1 in the bar.",
        "Marks of downbeats in the labels of beats: db.",
    )
    levels: tuple[str, ...] = option(
        (),
        "Values of {level}, from the coarsest to the finest, if a hierarchy has one file for each level.",
        "Values of {level} in the path, the coarsest first: upper,lower.",
    )
    drums: bool = option(
        False,
        "Whether notes of percussion are read from MIDI files.",  # channel 10
        "Include the percussion of MIDI files.",
    )
    instrument: Instrument = option(
        "program",
        "Labels of notes in MIDI files: the General MIDI name of the instrument or its family, or the track's name.",
        "Labels of notes in MIDI files: program, family or track. Default: program.",
    )
    # Empty: all sources, sorted.
    sources: tuple[str, ...] = option(
        (),
        "Values of {source} to read, in this order, if a track has one audio file for each source; default: all.",
        "Audio: the sources to read, in this order: vocals,drums.",
    )
    exclude: Exclude = option(
        "self",
        "Matrices and groups: self excludes the query from its own ranking, none keeps it.",
        "Rankings: whether a query is excluded from its own.",
        listed=True,
    )
    exclude_same: str | int | None = option(
        None,
        "Groups: a column, such as artist; items with the same value as the query are excluded from its ranking.",
        "Groups: exclude items with the same value as the query in this column, such as artist.",
    )
    # See mirflow.theory.leadsheet.
    notation: Notation = option(
        "harte",
        "Notation of chord labels: harte (A:min7/b3), or leadsheet (Am7/C), which is translated.",
        "Notation of chord labels: Harte's syntax, or lead-sheet symbols such as Am7/C.",
        listed=True,
    )
    # See mirflow.readers.sheet_music.
    score_tempo: float | None = option(
        None,
        "MusicXML and kern: quarter notes per minute, instead of the tempo marks; 60 gives times in quarter notes.",
        "Scores: quarter notes per minute, instead of the tempo marks.",
    )
    # See mirflow.readers.sheet_music.
    score_library: ScoreLibrary = option(
        "auto",
        "MusicXML: the library that reads scores, music21 or partitura; auto: the first of these that is installed.",
        "MusicXML: the library that reads scores.",
        listed=True,
    )
    # See mirflow.readers.midi.
    pedal: Pedal = option(
        "ignore",
        "MIDI files: ignore the sustain pedal, or extend notes that end under it to its release or their pitch's "
        "next onset.",
        "MIDI files: whether the sustain pedal extends notes.",
        listed=True,
    )
    hop: float | None = option(
        None,
        "Multiple pitches: read lists of notes as frames of that many seconds; default for MIDI files: 0.01.",
        "Multiple pitches: read notes as frames of that many seconds.",
    )
    labels: LabelMap | None = option(
        None,
        "A map of labels: functions7 or functions8 (functions of segments), or a YAML file of equal, contain, default.",
        "A map of labels: functions7, functions8, or a YAML file.",
        made_by=read_label_map,
    )

    language: str | None = option(
        None,
        "Lyrics: the code of the language, such as de, or a column of the tracks' metadata in braces.",
        "Lyrics: the code of the language, such as de.",
    )
    normalize: Normalize | None = option(
        None,
        "Lyrics: jam_alt formats lines by its guide: a capital first, and at the end only the marks ! ? ) and quotes.",
        "Lyrics: jam_alt formats lines by the guide of Jam-ALT.",
    )
    tier: str | None = option(
        None,
        "The tier to read from TextGrid files; default: words or lyrics, or the only one.",
        "The tier to read from TextGrid files.",
    )
    selection: Select | None = field(init=False, compare=False)
    """Selection of beats; None if it depends on the file."""

    def __post_init__(self) -> None:
        selection = "all" if self.select is None and self.task != "downbeat" else self.select
        object.__setattr__(self, "selection", selection)
        if self.kind not in KINDS:
            raise UnknownNameError("kind of annotation", self.kind, KINDS)
        if self.format is not None and self.format not in FORMATS and find(READERS, self.format) is None:
            raise UnknownNameError("format", self.format, [*FORMATS, *declared(READERS)])
        holds = self.kind if self.namespace is None else namespace_kind(self.namespace)
        if self.task is not None and self.namespace is not None and self.namespace in OTHERS:
            what = f"{self.namespace!r}, which holds {OTHERS[self.namespace]}: read it without a task"
            raise AnnotationError(f"no task reads the namespace {what}")
        if self.namespace is not None and self.kind not in NAMESPACES[self.namespace].kinds:
            message = f"namespace {self.namespace!r} holds {holds}, but {self.task or self.kind} needs {self.kind}"
            raise AnnotationError(message)
        if self.kind == "following" and self.delimited.time_unit == AUTO:
            object.__setattr__(self, "delimited", replace(self.delimited, time_unit="ms"))
        task = self.task or self.kind
        if self.format in TABLES and self.kind != "ranking":
            raise AnnotationError(f"format {self.format!r} holds rankings, which {task} does not use")
        if self.format is not None and self.kind == "audio":
            raise AnnotationError(f"audio files declare their format: omit the format {self.format!r}")
        if self.delimited.columns and self.kind not in (*COLUMNS, *SINGLE_ROWS) and self.format != "parquet":
            raise AnnotationError(f"files of kind {self.kind!r} have a fixed layout: omit columns")
        if self.delimited.columns and self.kind in SINGLE_ROWS and self.format != "parquet":
            known = (*SINGLE_ROWS[self.kind], *KEYS)
            for column, _ in self.delimited.columns:
                if column not in known:
                    raise AnnotationError(f"{self.kind} has no column {column!r}; {suggest(column, known)}")
        if self.delimited.pitch_unit != "Hz" and self.kind not in PITCHED:
            raise AnnotationError(f"pitch_unit applies to {', '.join(PITCHED)}; {self.kind} have no pitch")
        if self.exclude_same is not None and self.format != "groups":
            raise AnnotationError("exclude_same needs a column of groups: declare format: groups")
        for name, what in _CHOICES.items():
            if (value := getattr(self, name)) is not None and value not in OPTIONS[name].choices:
                raise UnknownNameError(what, value, OPTIONS[name].choices)
        if self.score_tempo is not None and not 0 < self.score_tempo < LATEST:
            raise AnnotationError(f"invalid score_tempo {self.score_tempo:g}: expected quarter notes per minute")
        if self.notation != "harte" and self.task not in (None, "chord"):
            raise AnnotationError(f"notation applies to chord labels, which {task} does not have")
        for name, kind, message in _OF_ONE_KIND:
            if self.kind not in kind.split() and getattr(self, name) != OPTIONS[name].default:
                raise AnnotationError(message.format(task=task, kind=self.kind))
        if self.labels is not None and self.kind not in LABELLED:
            raise AnnotationError(f"labels maps the labels of {', '.join(LABELLED)}; {task} has no user-defined labels")
        if self.hop is not None and not 0.001 <= self.hop <= 10:
            raise AnnotationError(f"invalid hop {self.hop}: expected seconds from 0.001 to 10")
        for part, parts in (("level", self.levels), ("source", self.sources)):
            if len(set(parts)) < len(parts):
                raise AnnotationError(f"a {part} occurs twice: {', '.join(parts)}")

    @classmethod
    def of(
        cls,
        task: str | None = None,
        *,
        kind: str | None = None,
        delimited: DelimitedOptions | None = None,
        defaults: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> Reading:
        """Build a reading from the options of `OPTIONS`; the kind follows from the task or the namespace.

        The `defaults` of a convention apply to options that are not given.
        """
        _demand_known(options)
        kept = {name: OPTIONS[name].keep(value) for name, value in {**defaults, **options}.items()}
        text = {name: kept.pop(name) for name in DELIMITED if name in kept}
        layout = DelimitedOptions(**text) if delimited is None else replace(delimited, **text)
        namespace = kept.get("namespace")
        if kind is None and task is not None:
            kind = kind_of(task).name
        if kind is None and namespace is not None:
            kind = namespace_kind(namespace)
        if kind is None:
            raise AnnotationError("the contents of the file are unknown: give a task, a kind or a namespace")
        if kind == "audio" and kept.get("max_bytes", MAX_BYTES) == MAX_BYTES:
            kept["max_bytes"] = MAX_AUDIO_BYTES
        return cls(kind, task, delimited=layout, **kept)

    def format_of(self, path: str) -> str:
        """The format of a file: the declared one, otherwise that of its suffix, otherwise text."""
        if self.format is not None:
            return self.format
        found = format_named(path)
        return "txt" if found in TABLES and self.kind != "ranking" else found


_CHOICES = MappingProxyType(
    {
        "normalize": "normalization of lyrics",
        "exclude": "value of exclude",
        "instrument": "instrument",
        "notation": "notation",
        "pedal": "value of pedal",
        "score_library": "library of scores",
        "select": "selection",
    }
)
"""Options with a fixed set of values, and what a value is in messages."""
_OF_ONE_KIND = (
    ("exclude", "ranking", "exclude applies to rankings, which {task} does not have"),
    ("drums", "notes multipitch", "drums and instrument apply to notes of MIDI files, not to {kind}"),
    ("instrument", "notes", "drums and instrument apply to notes of MIDI files, not to {kind}"),
    ("notation", "intervals", "notation applies to chord labels, which {task} does not have"),
    (
        "hop",
        "multipitch",
        "hop applies to frames of multiple pitches, not to {kind}; frames of scores are a grid, as in grid=0.01",
    ),
    ("pedal", "notes multipitch", "pedal applies to notes of MIDI files, not to {kind}"),
    ("select", "events", "select applies to beats, not to {kind}"),
    ("downbeat", "events", "downbeat applies to beats, not to {kind}"),
    ("levels", "hierarchy", "levels apply to hierarchies, which {task} does not have"),
    ("sources", "audio", "sources apply to audio, which {task} does not have"),
    ("language", "text", "language applies to lyrics, not to {task}"),
    ("normalize", "text", "normalize applies to lyrics, not to {task}"),
)
"""Options of one kind of annotation, and the error if another kind is read."""
DELIMITED = _declared(DelimitedOptions)
_EVERY = _declared(Reading) | DELIMITED
OPTIONS = {name: _EVERY[name] for name in dict.fromkeys((*_KEYS, *_EVERY))}
"""All options by name, in the order of the keys of a pipeline."""
_BESIDE = (
    *("annotator", "annotators", "classes", "convention", "grid", "kind", "metrics", "overwrite", "task", "validate"),
)
"""Other parameters of functions that take options of reading, to suggest corrections of misspelt names."""
SIDES = ("reference", "estimate")


def _demand_known(names: Iterable[str], prefix: str = "") -> None:
    """Refuse names that are not options of reading, with that prefix."""
    for name in names:
        bare = name.removeprefix(prefix)
        if bare == "annotator":
            chosen = "pass the result of mirflow.load(path, task, annotator=...) instead of the file"
            raise AnnotationError(f"{name!r} is not a parameter of this function; {chosen}")
        if bare in _BESIDE:
            raise AnnotationError(f"{name!r} is not a parameter of this function")
        if bare not in OPTIONS:
            phrase = suggest(name, [f"{prefix}{known}" for known in OPTIONS] if prefix else [*OPTIONS, *_BESIDE])
            phrase = phrase if phrase.endswith("?") else suggest(name, OPTIONS)
            raise AnnotationError(f"unknown option of reading {name!r}; {phrase}")


def split_sides(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options of reading into those of the reference and those of the estimate.

    Options apply to both sides, or to one with the prefix ``reference_`` or ``estimate_``, which has precedence.
    """
    both: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {f"{side}_": {} for side in SIDES}
    for name, value in options.items():
        prefix = next((f"{side}_" for side in SIDES if name.startswith(f"{side}_")), "")
        _demand_known([name], prefix)
        (own[prefix] if prefix else both)[name.removeprefix(prefix)] = value
    reference, estimate = ({**both, **side} for side in own.values())
    return reference, estimate


Function = TypeVar("Function", bound=Callable[..., Any])


def describe_options(function: Function) -> Function:
    """Replace ``{options}`` in a docstring with the options of reading."""
    entries = ""
    for option in OPTIONS.values():
        kind = str(getattr(option.type, "__name__", option.type)).replace("typing.", "")
        if option.choices:
            listed = ", ".join(f'"{choice}"' for choice in option.choices)
            kind = f"{{{listed}}}" + " or None" * (option.default is None)
        elif get_origin(option.type) is tuple:
            kind = "mapping of str to int or str" if option.is_mapping else "sequence of str"
        entries += f"{option.name} : {kind.replace(' | ', ' or ')}\n    {option.words}\n"
    if function.__doc__ is not None:  # python -OO strips docstrings
        # From Python 3.13 on they have no indentation.
        function.__doc__ = re.sub(
            r"^( *)\{options\}",
            lambda place: textwrap.indent(entries.rstrip(), place[1]),
            function.__doc__,
            flags=re.MULTILINE,
        )
    return function
