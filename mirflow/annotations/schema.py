"""The kinds of annotation with their dims, variables, units, rules, layouts of text, and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from ..errors import AnnotationError, PluginError, UnknownNameError
from ..plugins import TASKS, declared, find

TASK_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "chord": "intervals",
        "segment": "intervals",
        "beat": "events",
        "downbeat": "events",
        "onset": "events",
        "hierarchy": "hierarchy",
        "pattern": "patterns",
        "tempo": "tempo",
        "key": "key",
        "local_key": "intervals",
        "alignment": "events",
        "separation": "audio",
        "multipitch": "multipitch",
        "melody": "series",
        "transcription": "notes",
        "pedal": "pedals",
        "drums": "hits",
        "classification": "labels",
        "tagging": "labels",
        "retrieval": "ranking",
        "similarity": "judgements",
        "score_following": "following",
        "note_alignment": "note_alignment",
        "audio_to_score": "sheet_music",
        "lyrics": "text",
    }
)
"""Kind of references and estimates of each task, in listed order; its metrics are in the module of its name in
`mirflow.metrics`.
"""
LATEST = 1e9
"""Largest absolute time in seconds, which keeps sums and products of times (nearly) exact and far from overflow. Some
tasks have smaller limits.
"""

RANK = "rank"
"""Column by which lists of names are sorted when they are read; not a variable of annotations."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a kind."""

    name: str
    dtype: str
    """``dtype`` is ``float64``, ``str``, or ``signal`` (see :mod:`mirflow.annotations.audio`)."""
    long_name: str
    """Description."""
    units: str | None = None
    """``s``, ``Hz``, ``MIDI``, or None for labels and ratios."""
    depth: int | None = None
    """Number of its dim, counted from 1 (the outermost); None: the innermost."""
    optional: bool = False
    """Whether an annotation may leave it out."""
    flag: bool = False
    """Whether it is a flag, 1 or 0, for which text and arrays may contain truth values."""


@dataclass(frozen=True)
class Kind:
    """One kind of annotation."""

    name: str
    dims: tuple[str, ...]
    """Dims from the outermost to the innermost; empty for kinds with a single record."""
    variables: tuple[Variable, ...]
    rules: tuple[str, ...] = ()
    """Rules of well-formed rows; see :mod:`mirflow.annotations.validation`."""
    drawn_as: str = ""
    """Form in timelines, figures, the report's page and sonification: ``text`` for kinds without times, ``list`` if
    that would be too long; empty: none."""
    gridded_as: str = ""
    """Form on a time grid: ``events``, ``labels``, ``levels``, ``notes``, ``pedals``, ``pitches`` or ``curve``; empty:
    none."""
    height: str = ""
    """Variable on the vertical axis of timelines."""
    level: str = ""
    """Kind of each level of a hierarchy."""
    part: str = ""
    """Placeholder in paths, if items of the outermost dim may be in separate files."""
    listed: bool = False
    """Whether annotations are lists of names without times, many of which are usually in one file."""
    columns: tuple[str, ...] = ()
    """Possible columns of delimited text; empty: such files have a single layout or do not exist."""
    needed: tuple[tuple[str, ...], ...] = ()
    """Alternative sets of columns that a header must contain."""
    usual_order: tuple[str, ...] = ()
    """Columns of files without header, in order; empty: `columns`."""
    narrow_order: tuple[str, ...] = ()
    """Columns of rows with exactly this many columns; empty: as usual."""
    headings: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    """Names of columns in headers, in order of preference, if they differ from `HEADINGS`."""
    recognised: bool = False
    """Whether a header is enough to recognise files of this kind."""
    unclear: str = ""
    """Possible meanings of an additional column, because of which columns must be declared."""
    values: str = ""
    """Meaning of the numbers next to names, for kinds whose scores depend on them."""
    ordered_by: tuple[str, ...] = ()
    """Columns any of which defines the order of the names, so that other numbers are optional."""
    numbers: int = 0
    """Numbers at the beginning of each row."""
    followed_by: Literal["", "label", "position", "velocity", "pitches"] = ""
    """Text that follows these numbers."""
    written: bool = False
    """Whether a str in memory is the annotation itself unless it is the path of a file."""
    alike: tuple[str, ...] = ()
    """Tasks of other kinds whose rows may look the same."""
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Task -> columns of its rows in messages, if they differ from `usual_order`."""
    arguments: tuple[str, ...] = ()
    """Arguments of mir_eval's functions for one side, in order, for :mod:`mirflow.annotations.arrays`: names of
    variables, or of arrays that contain several; empty: all variables."""

    flags: frozenset[str] = field(init=False, repr=False, compare=False)
    """Names of the variables that are flags."""
    texts: frozenset[str] = field(init=False, repr=False, compare=False)
    """Names of the variables that are text."""
    required: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of the required variables."""
    times: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of the variables that are times of an item, in seconds or quarter notes."""
    depths: dict[str, int] = field(init=False, repr=False, compare=False)
    """Depths of the variables that are not along the innermost dim."""
    sizes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of the counts of items along each dim, in datasets of many tracks."""
    given_as: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of columns and arguments for arrays in memory."""
    sampled: bool = field(init=False, repr=False, compare=False)
    """Whether an annotation is a curve or pitches over time, which are compared on a grid of times."""
    pitched: bool = field(init=False, repr=False, compare=False)
    """Whether it has frequencies, which may be MIDI numbers in files."""
    adjacent: bool = field(init=False, repr=False, compare=False)
    """Whether items may last until the next one starts, so that ends are optional."""

    def __post_init__(self) -> None:
        names = tuple(variable.name for variable in self.variables)
        required = tuple(variable.name for variable in self.variables if not variable.optional)
        arguments = self.arguments or names
        outer = (*self.dims[:-1], *((RANK,) if RANK in self.columns else ()))
        vars(self).update(
            arguments=arguments,
            usual_order=self.usual_order or self.columns,
            flags=frozenset(variable.name for variable in self.variables if variable.flag),
            texts=frozenset(variable.name for variable in self.variables if variable.dtype == "str"),
            required=required,
            times=tuple(name for name in ("time", "start", "end", "onset") if name in required),
            depths={variable.name: variable.depth for variable in self.variables if variable.depth is not None},
            sizes=("row_size", *(f"{dim}_size" for dim in self.dims[1:])),
            given_as=arguments if self.name == "audio" else tuple(dict.fromkeys((*names, *arguments, *outer))),
            sampled=self.gridded_as in ("pitches", "curve"),
            pitched=any(variable.units == "Hz" for variable in self.variables),
            adjacent="no_gap" in self.rules,
        )

    def variable(self, name: str) -> Variable:
        """Return a variable by name."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise UnknownNameError(f"{self.name} variable", name, [v.name for v in self.variables])

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks whose references and estimates are of this kind."""
        more = (name for name, task in declared(TASKS).items() if getattr(task, "kind", "") == self.name)
        return (*(task for task, kind in TASK_KINDS.items() if kind == self.name), *more)

    def row(self, task: str | None) -> tuple[str, ...]:
        """Columns of a row of a task (None: the first task) in messages."""
        return self.rows.get(task or self.tasks[0], self.usual_order)


_words = str.split
HEADINGS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "time": _words("time t seconds onset start beat timestamp time_s onset_time"),
        "start": _words("start begin onset from start_time onset_time start_s time t t_start"),
        "end": _words("end stop offset to end_time offset_time end_s t_end"),
        "duration": _words("duration dur length duration_s"),
        "label": _words("label labels value chord segment section function key text name position instrument"),
        "bar": _words("bar bar_number measure"),
        # Excludes names with MIDI, for which the unit must be declared, and confidences, which are not voicing.
        "frequency": _words("frequency f0 freq hz pitch f0_hz frequency_hz"),
        "pitch": _words("pitch frequency freq f0 hz pitch_hz frequency_hz"),
        "voicing": _words("voicing voiced"),
        "velocity": _words("velocity vel midi_velocity"),
    }
)
"""Common names of columns in headers, in order of preference."""
_START = Variable("start", "float64", "start of the interval", "s")
_END = Variable("end", "float64", "end of the interval", "s")
_LABEL = Variable("label", "str", "label", optional=True)
_SPANS: Mapping[str, Any] = MappingProxyType(
    {
        "columns": ("start", "end", "duration", "label"),
        "needed": (("start", "end"), ("start", "duration")),
        "usual_order": ("start", "end", "label"),
        "numbers": 2,
        "followed_by": "label",
        "arguments": ("intervals", "label"),
    }
)
"""What kinds of labelled stretches of time have in common."""

KINDS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind(
                "events",
                ("event",),
                (Variable("time", "float64", "time of the event", "s"), _LABEL),
                ("finite", "in_seconds", "not_negative", "sorted", "distinct"),
                columns=("time", "label", "bar"),
                needed=(("time",),),
                usual_order=("time", "label"),
                headings={
                    # The number of a beat in its bar, if another column has the time.
                    "label": (*HEADINGS["label"], *_words("beat beat_number beat_position position_in_bar word"))
                },
                recognised=True,
                numbers=1,
                followed_by="position",
                rows=dict.fromkeys(("beat", "downbeat"), ("time", "position", "bar")),
                drawn_as="ticks",
                gridded_as="events",
            ),
            Kind(
                "intervals",
                ("segment",),
                (_START, _END, Variable("label", "str", "label")),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive", "sorted", "no_overlap", "no_gap"),
                **_SPANS,
                recognised=True,
                drawn_as="segments",
                gridded_as="labels",
            ),
            Kind(
                "hierarchy",
                ("level", "segment"),
                (_START, _END, Variable("label", "str", "label")),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive"),
                **_SPANS,
                drawn_as="levels",
                gridded_as="levels",
                level="intervals",
                part="level",
            ),
            Kind(
                "notes",
                ("note",),
                (
                    _START,
                    _END,
                    Variable("pitch", "float64", "fundamental frequency", "Hz"),
                    Variable("velocity", "float64", "MIDI velocity", optional=True),
                    Variable("program", "float64", "General MIDI program, from 0", optional=True),
                    Variable("drum", "float64", "whether it is percussion", optional=True, flag=True),
                    _LABEL,
                ),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive"),
                columns=("start", "end", "duration", "pitch", "velocity", "program", "drum", "label"),
                needed=(("start", "end", "pitch"), ("start", "duration", "pitch")),
                usual_order=("start", "end", "pitch"),
                recognised=True,
                numbers=3,
                followed_by="velocity",
                headings={
                    "program": _words("program midi_program program_number"),
                    "drum": _words("drum is_drum drums"),
                },
                rows={"transcription": ("start", "end", "pitch", "velocity")},
                drawn_as="notes",
                gridded_as="notes",
                height="pitch",
                arguments=("intervals", "pitch", "velocity", "label", "program", "drum"),
            ),
            Kind(
                "hits",
                ("hit",),
                (
                    Variable("time", "float64", "time of the hit", "s"),
                    Variable("label", "str", "drum: pitch of General MIDI, or name"),
                    Variable("velocity", "float64", "MIDI velocity", optional=True),
                ),
                ("finite", "in_seconds", "not_negative", "sorted"),  # several drums may be hit at the same time
                columns=("time", "label", "velocity"),
                needed=(("time", "label"),),
                usual_order=("time", "label"),
                headings={"label": _words("pitch midi_pitch midi note midi_note drum instrument class label name")},
                numbers=1,
                followed_by="label",
                alike=("beat", "melody", "segment", "transcription", "tempo"),  # a time and a number, or two
                drawn_as="drums",
            ),
            Kind(
                "pedals",
                ("stretch",),
                (_START, _END, Variable("label", "str", "pedal: sustain, sostenuto or soft, or its controller")),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive"),
                **_SPANS,
                headings={"label": _words("pedal controller control cc number label name")},
                alike=("segment", "chord", "transcription"),
                drawn_as="segments",
                gridded_as="pedals",
            ),
            Kind(
                "series",
                ("time",),
                (
                    Variable("time", "float64", "time of the frame", "s"),
                    Variable("frequency", "float64", "fundamental frequency", "Hz"),
                    Variable("voicing", "float64", "degree of voicing", optional=True),
                ),
                ("finite", "in_seconds", "not_negative", "sorted"),
                columns=("time", "frequency", "voicing"),
                needed=(("time", "frequency"),),
                usual_order=("time", "frequency"),
                recognised=True,
                numbers=2,
                drawn_as="curve",
                gridded_as="curve",
                height="frequency",
            ),
            Kind(
                "multipitch",
                ("time", "pitch"),
                (
                    Variable("time", "float64", "time of the frame", "s", depth=1),
                    Variable("frequency", "float64", "fundamental frequency", "Hz"),
                ),
                ("finite", "in_seconds", "not_negative"),
                numbers=1,
                followed_by="pitches",
                alike=("melody", "onset"),  # frames may have at most one pitch
                rows={"multipitch": ("time", "frequencies")},
                drawn_as="frames",
                gridded_as="pitches",
                height="frequency",
            ),
            Kind(
                "patterns",
                ("pattern", "occurrence", "note"),
                (
                    Variable("onset", "float64", "onset in the score", "quarter notes"),
                    Variable("pitch", "float64", "pitch", "MIDI"),
                ),
                ("finite",),
                rows={"pattern": ("onset", "pitch")},
                drawn_as="patterns",
                height="pitch",
                arguments=("patterns",),
            ),
            Kind(
                "tempo",
                ("tempo",),
                (
                    Variable("tempo", "float64", "tempo", "1/min"),
                    Variable("salience", "float64", "relative strength", optional=True),
                ),
                ("finite", "not_negative"),
                rows={"tempo": ("tempo", "tempo", "strength")},
                drawn_as="text",
                arguments=("tempo", "weight"),
            ),
            Kind(
                "key",
                ("key",),
                (Variable("label", "str", "tonic and mode"),),
                rows={"key": ("tonic", "mode")},
                drawn_as="text",
                written=True,
            ),
            Kind(
                "labels",
                ("item",),
                (Variable("label", "str", "class or tag"), Variable("value", "float64", "affinity", optional=True)),
                columns=("label", "value"),
                needed=(("label",),),
                listed=True,
                headings={
                    "label": _words(
                        "tag tags label labels class genre mood artist composer category instrument prediction name"
                    ),
                    "value": _words(
                        "value affinity score probability confidence relevance prob p likelihood activation "
                        "similarity sim present relevant rel weight degree grade"
                    ),
                },
                recognised=True,
                values="the numbers of the tags",
                ordered_by=("value",),
                rows={"classification": ("label",)},
                drawn_as="text",
                written=True,
            ),
            Kind(
                "text",
                # Lines, or words with the number of their line.
                ("piece",),
                (
                    Variable("label", "str", "text of the line or word"),
                    Variable("start", "float64", "start", "s", optional=True),
                    Variable("end", "float64", "end", "s", optional=True),
                    Variable("line", "float64", "number of the line", optional=True),
                    Variable("language", "str", "code of the language", optional=True),
                ),
                ("not_negative", "not_reversed"),
                rows={"lyrics": ("text",)},
                drawn_as="list",
                written=True,
            ),
            Kind(
                "ranking",
                # In order of rank; references are in any order.
                ("rank",),
                (
                    Variable("label", "str", "the item's name"),
                    Variable("value", "float64", "score, or relevance grade", optional=True),
                    Variable("left_out", "float64", "1 where the item is taken out of rankings", optional=True),
                    # For lists whose items were renamed: breaking ties by name requires the original names.
                    Variable("tie", "float64", "of equal scores the largest is ahead, else names say", optional=True),
                ),
                columns=("label", "value", "rank"),
                needed=(("label",),),
                usual_order=("label",),
                listed=True,
                headings={
                    "track": _words("query query_id qid topic track track_id clip file filename path id"),
                    "label": _words(
                        "item item_id candidate candidate_id document doc doc_id docid result answer label "
                        "track track_id song piece"
                    ),
                    "value": _words(
                        "score similarity relevance grade value sim confidence affinity probability prob p "
                        "likelihood activation present relevant rel weight degree"
                    ),
                    "rank": _words("rank ranking position"),
                },
                unclear="the rank, the score or the grade",
                values="the scores or grades of the items",
                ordered_by=("value", "rank"),
                rows={"retrieval": ("item",)},
                drawn_as="list",
                arguments=("label", "value"),
            ),
            Kind(
                "judgements",
                # References are judgements of candidates; estimates are candidates in order of rank.
                ("judgement",),
                (
                    Variable("label", "str", "the candidate's name"),
                    Variable("grader", "str", "who judged", optional=True),
                    Variable("broad", "str", "broad category: NS, SS or VS", optional=True),
                    Variable("value", "float64", "fine judgement; of systems a score", optional=True),
                    # For queries that are judged as others: each of their judgements was made, and counts, once.
                    Variable("judged_as", "str", "query that graders heard in its place", optional=True),
                ),
                columns=("label", "grader", "broad", "value", "rank", "judged_as"),
                needed=(("label",),),
                usual_order=("label", "grader", "broad", "value"),
                narrow_order=("label", "value"),  # the lists of systems
                listed=True,
                headings={
                    "label": _words("candidate candidate_id label result item document"),
                    "grader": _words("grader grader_id judge evaluator user"),
                    "broad": _words("broad broad_score category"),
                    "value": _words("fine fine_score value score similarity"),
                    "rank": _words("rank"),
                    "judged_as": _words("judged_as"),
                },
                values="the fine judgements",
                ordered_by=("value", "rank", "broad"),
                rows={"similarity": ("candidate", "grader", "broad", "fine")},
                drawn_as="list",
                arguments=("label", "broad", "value", "grader"),
            ),
            Kind(
                "following",
                ("note",),
                (
                    Variable("time", "float64", "onset in the performance", "s"),
                    Variable("detected", "float64", "when the onset was reported", "s", optional=True),
                    Variable("position", "float64", "onset in the score", "s"),
                    Variable("pitch", "float64", "pitch", "MIDI", optional=True),
                ),
                ("finite", "in_seconds", "not_negative"),
                columns=("time", "detected", "position", "pitch"),
                needed=(("time", "position"),),
                narrow_order=("time", "position", "pitch"),  # alignments without times of detection
                headings={
                    "time": _words("time onset onset_time estimated estimated_onset performance"),
                    "detected": _words("detected detection detection_time reported"),
                    "position": _words("position score score_time score_onset note_start"),
                    "pitch": _words("pitch midi note midi_note midi_pitch"),
                },
                alike=("transcription", "segment"),  # which have two times and a pitch, too
                drawn_as="steps",
                height="position",
                arguments=("notes",),
            ),
            Kind(
                "note_alignment",
                ("item",),
                (
                    Variable("label", "str", "match, insertion, deletion or ornament; empty: as the notes tell"),
                    Variable("score_id", "str", "note of the score; empty in insertions", optional=True),
                    Variable("performance_id", "str", "note of the performance; empty in deletions", optional=True),
                ),
                columns=("score_id", "performance_id", "label"),
                needed=(("score_id", "performance_id"),),
                narrow_order=("score_id", "performance_id"),
                headings={
                    # Of partitura, of ASAP, and of Parangonada, whose numbers of types are 0, 1 and 2.
                    "score_id": _words("score_id score xml_id partid"),
                    "performance_id": _words("performance_id performance midi_id ppartid"),
                    "label": _words("label type matchtype"),
                },
                arguments=("score_id", "performance_id", "label"),
            ),
            Kind(
                "sheet_music",
                # Notes, tatums, meters, keys and chords, as given by the label; numbers that do not apply are NaN.
                ("row",),
                (
                    Variable("time", "float64", "time; of notes the performed onset", "s"),
                    Variable("notated_start", "float64", "notated onset of a note", "s", optional=True),
                    Variable("notated_end", "float64", "notated end of a note", "s", optional=True),
                    Variable("pitch", "float64", "pitch", "MIDI", optional=True),
                    Variable("voice", "float64", "number of the voice", optional=True),
                    Variable("label", "str", "note, tatum, meter, key or chord, and which"),
                ),
                ("finite", "in_seconds"),
                drawn_as="sheet",
                height="pitch",
            ),
            Kind(
                "audio",
                ("source",),
                # Samples are only read when they are scored: a column of signals, not of amplitudes.
                (Variable("signal", "signal", "recording"), Variable("label", "str", "source's name", optional=True)),
                part="source",
                arguments=("sources", "rate", "label"),
            ),
        )
    }
)

TIMES = ("time", "start", "end")


def kind_of(task: str) -> Kind:
    """Return the kind of annotation of a task of mirflow or of a plugin.

    Examples
    --------
    >>> kind_of("chord").dims
    ('segment',)
    """
    if not isinstance(task, str):
        raise AnnotationError(f"a task is named by text, such as 'beat', not by {type(task).__name__}")
    if task in TASK_KINDS:
        return KINDS[TASK_KINDS[task]]
    registered = find(TASKS, task)
    if registered is None:
        raise UnknownNameError("task", task, [*TASK_KINDS, *declared(TASKS)])
    kind = str(getattr(registered, "kind", ""))
    if kind not in KINDS:
        raise PluginError(f"task {task!r}: unknown kind {kind!r}: choose from {', '.join(KINDS)}")
    return KINDS[kind]
