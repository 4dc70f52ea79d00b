"""The kinds of annotation, each declared once: dims, variables, units, rules, and the tasks that use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a kind.

    Parameters
    ----------
    name, dtype : str
        ``dtype`` is ``float64``, ``str``, or ``signal`` (see :mod:`mirflow.annotations.audio`).
    long_name : str
        For people.
    units : str or None
        ``s``, ``Hz``, ``MIDI``, or None for labels and ratios.
    depth : int or None
        Which of the kind's dims it lies along, counted from 1 (the outermost); None: the innermost.
    optional : bool
        Whether an annotation may leave it out.
    """

    name: str
    dtype: str
    long_name: str
    units: str | None = None
    depth: int | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of annotation.

    Parameters
    ----------
    name : str
    dims : tuple of str
        From the outermost to the innermost; empty for kinds that hold a single record.
    variables : tuple of Variable
    tasks : tuple of str
        The tasks whose references and estimates are of this kind.
    rules : tuple of str
        What well-formed rows obey; see :mod:`mirflow.annotations.validation`.
    columns : tuple of str
        What columns of delimited text can hold; empty: such files have one layout only, or there are none.
    headings : tuple of tuple of str
        Columns that a header has to name, in one of these ways.
    usual_order : tuple of str
        Columns of a file without header, from the first.
    narrow_order : tuple of str
        Columns of rows that have no more than these; empty: as usual.
    listed : bool
        Whether an annotation is a list of names without times, of which one file usually holds many.
    """

    name: str
    dims: tuple[str, ...]
    variables: tuple[Variable, ...]
    tasks: tuple[str, ...]
    rules: tuple[str, ...] = field(default=())
    columns: tuple[str, ...] = ()
    headings: tuple[tuple[str, ...], ...] = ()
    usual_order: tuple[str, ...] = ()
    narrow_order: tuple[str, ...] = ()
    listed: bool = False

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise UnknownNameError(f"{self.name} variable", name, [v.name for v in self.variables])

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the variables that every annotation of the kind has."""
        return tuple(v.name for v in self.variables if not v.optional)

    @property
    def pitched(self) -> bool:
        """Whether it has frequencies, which files may give as MIDI numbers."""
        return any(v.units == "Hz" for v in self.variables)

    @property
    def depths(self) -> dict[str, int]:
        """Depths of the variables that do not lie along the innermost dim."""
        return {v.name: v.depth for v in self.variables if v.depth is not None}


_START = Variable("start", "float64", "start of the interval", "s")
_END = Variable("end", "float64", "end of the interval", "s")
_LABEL = Variable("label", "str", "label", optional=True)
_INTERVAL_COLUMNS = ("start", "end", "duration", "label")
_INTERVAL_HEADINGS = (("start", "end"), ("start", "duration"))

KINDS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind(
                "events",
                ("event",),
                (Variable("time", "float64", "time of the event", "s"), _LABEL),
                ("beat", "downbeat", "onset", "alignment"),
                ("finite", "in_seconds", "not_negative", "sorted", "distinct"),
                columns=("time", "label", "bar"),
                headings=(("time",),),
                usual_order=("time", "label"),
            ),
            Kind(
                "intervals",
                ("segment",),
                (_START, _END, Variable("label", "str", "label")),
                ("chord", "segment"),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive", "sorted", "no_overlap", "no_gap"),
                columns=_INTERVAL_COLUMNS,
                headings=_INTERVAL_HEADINGS,
                usual_order=("start", "end", "label"),
            ),
            Kind(
                "hierarchy",
                ("level", "segment"),
                (_START, _END, Variable("label", "str", "label")),
                ("hierarchy",),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive"),
                columns=_INTERVAL_COLUMNS,
                headings=_INTERVAL_HEADINGS,
                usual_order=("start", "end", "label"),
            ),
            Kind(
                "notes",
                ("note",),
                (
                    _START,
                    _END,
                    Variable("pitch", "float64", "fundamental frequency", "Hz"),
                    Variable("velocity", "float64", "MIDI velocity", optional=True),
                    _LABEL,
                ),
                ("transcription",),
                ("finite", "in_seconds", "not_negative", "not_reversed", "positive"),
                columns=("start", "end", "duration", "pitch", "velocity", "label"),
                headings=(("start", "end", "pitch"), ("start", "duration", "pitch")),
                usual_order=("start", "end", "pitch"),
            ),
            Kind(
                "series",
                ("time",),
                (
                    Variable("time", "float64", "time of the frame", "s"),
                    Variable("frequency", "float64", "fundamental frequency", "Hz"),
                    Variable("voicing", "float64", "degree of voicing", optional=True),
                ),
                ("melody",),
                ("finite", "in_seconds", "not_negative", "sorted"),
                columns=("time", "frequency", "voicing"),
                headings=(("time", "frequency"),),
                usual_order=("time", "frequency"),
            ),
            Kind(
                "multipitch",
                ("time", "pitch"),
                (
                    Variable("time", "float64", "time of the frame", "s", depth=1),
                    Variable("frequency", "float64", "fundamental frequency", "Hz"),
                ),
                ("multipitch",),
                ("finite", "in_seconds", "not_negative"),
            ),
            Kind(
                "patterns",
                ("pattern", "occurrence", "note"),
                (
                    Variable("onset", "float64", "onset in the score", "quarter notes"),
                    Variable("pitch", "float64", "pitch", "MIDI"),
                ),
                ("pattern",),
                ("finite",),
            ),
            Kind(
                "tempo",
                ("tempo",),
                (
                    Variable("tempo", "float64", "tempo", "1/min"),
                    Variable("salience", "float64", "relative strength", optional=True),
                ),
                ("tempo",),
                ("finite", "not_negative"),
            ),
            Kind("key", ("key",), (Variable("label", "str", "tonic and mode"),), ("key",)),
            Kind(
                "labels",
                ("item",),
                (Variable("label", "str", "class or tag"), Variable("value", "float64", "affinity", optional=True)),
                ("classification", "tagging"),
                columns=("label", "value"),
                headings=(("label",),),
                usual_order=("label", "value"),
                listed=True,
            ),
            Kind(
                "ranking",
                # In the order of rank; of references in any order.
                ("rank",),
                (
                    Variable("label", "str", "the item's name"),
                    Variable("value", "float64", "score, or relevance grade", optional=True),
                    Variable("left_out", "float64", "1 where the item is taken out of rankings", optional=True),
                    # Of lists whose items were renamed: whoever breaks ties by name needs the names they had.
                    Variable("tie", "float64", "of equal scores the largest is ahead, else names say", optional=True),
                ),
                ("retrieval",),
                columns=("label", "value", "rank"),
                headings=(("label",),),
                usual_order=("label",),
                listed=True,
            ),
            Kind(
                "judgements",
                # References hold what graders said of each candidate; estimates the candidates in the order of rank.
                ("judgement",),
                (
                    Variable("label", "str", "the candidate's name"),
                    Variable("grader", "str", "who judged", optional=True),
                    Variable("broad", "str", "broad category: NS, SS or VS", optional=True),
                    Variable("value", "float64", "fine judgement; of systems a score", optional=True),
                ),
                ("similarity",),
                columns=("label", "grader", "broad", "value", "rank"),
                headings=(("label",),),
                usual_order=("label", "grader", "broad", "value"),
                narrow_order=("label", "value"),  # the lists of systems
                listed=True,
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
                ("score_following",),
                ("finite", "in_seconds", "not_negative"),
                columns=("time", "detected", "position", "pitch"),
                headings=(("time", "position"),),
                usual_order=("time", "detected", "position", "pitch"),
                narrow_order=("time", "position", "pitch"),  # alignments without times of detection
            ),
            Kind(
                "audio",
                ("source",),
                # Samples stay where they are until they are scored: a column of signals, not of amplitudes.
                (Variable("signal", "signal", "recording"), Variable("label", "str", "source's name", optional=True)),
                ("separation",),
            ),
        )
    }
)

TASK_KINDS = MappingProxyType({task: kind.name for kind in KINDS.values() for task in kind.tasks})
TIMES = ("time", "start", "end")
LATEST = 1e9
"""Seconds, before or after 0, beyond which a number is no time of a recording: sums and products of times stay exact or
nearly so, and far from what a double can hold. Some tasks have a smaller limit of their own."""


def kind_of(task: str) -> Kind:
    """The kind of annotation that a task compares.

    Raises
    ------
    UnknownNameError
        If no kind serves the task.

    Examples
    --------
    >>> kind_of("chord").dims
    ('segment',)
    """
    if task not in TASK_KINDS:
        raise UnknownNameError("task", task, TASK_KINDS)
    return KINDS[TASK_KINDS[task]]
