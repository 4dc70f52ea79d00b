"""Accounts of reading: what a file holds beside its annotation, and what was read otherwise than it is written.

Each part of an input is taken into the annotation, left out by declaration of its format, an option or a convention, or
reported here. A reader adds a remark for each such part; `RULES` decides once, for all formats, whether it is an error,
a warning, a repair or a note. Accounts are written as text into datasets and read back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ..errors import AnnotationError, InvalidAnnotationError, counted, place_of, warn_caller

Severity = Literal["error", "warning", "repair", "note"]
Told = Literal["warning", "repair", "note"]
"""Severities of remarks, as rules that are errors are raised."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A part of an input that was not taken, or was read otherwise than it is written."""

    rule: str
    """A name of `RULES`."""
    message: str
    """What was not taken, and what to do if it should be; without the name of the file."""
    line: int | None = None
    """First line that it is about, counted from 1; None if it is about the whole file, or the file has no lines."""
    count: int = 1
    """Number of rows, events, columns or the like that it is about."""

    @property
    def severity(self) -> Told:
        """What it means for the annotation."""
        severity = RULES[self.rule].severity
        assert severity != "error"
        return severity


@dataclass(frozen=True, slots=True)
class RemarkRule:
    """A reason why a part of an input is reported.

    ``error``: the annotation cannot be used. ``warning``: its meaning is in doubt. ``repair``: it was changed as the
    convention or the format says. ``note``: the annotation is right, but does not hold all of the input.
    """

    severity: Severity
    summary: str
    """Description in the documentation."""


RULES: Mapping[str, RemarkRule] = MappingProxyType(
    {
        "content_columns": RemarkRule("error", "a column beside the label that holds text, such as the mode of a key"),
        "columns": RemarkRule("note", "columns that the task does not read"),
        "usual_columns": RemarkRule("note", "columns that many files have beside an annotation, such as confidences"),
        "positions": RemarkRule("note", "positions in the bar that do not count up, by which downbeats are chosen"),
        "mixed_columns": RemarkRule("note", "columns of tables in memory that hold values of several types"),
        "unvoiced": RemarkRule(
            "note", "frames whose frequency is nan in files where others are 0; both are read as unvoiced"
        ),
        "odd_columns": RemarkRule(
            "warning",
            "columns whose order or meaning is implausible: positions in the bar that begin at 0 or never return to 1, "
            "numbers from 1 where times are expected and times beside them, velocities where pitches are expected and "
            "pitches after them",
        ),
        "rows": RemarkRule("note", "rows that hold no item of the annotation"),
        "repeated_rows": RemarkRule("warning", "rows that are there twice"),
        "leading_count": RemarkRule("warning", "times of which the first is the number of the others"),
        "unmapped": RemarkRule(
            "warning",
            "a map of labels knows less than half of a side's labels, of two or more: the letters of segments, read by "
            "`functions7`",
        ),
        "text_form": RemarkRule("note", "labels or names written in another Unicode form, or with other blanks"),
        "durations": RemarkRule("repair", "items without a duration, which last until the next one"),
        "events": RemarkRule("note", "events of MIDI files that are not notes of the annotation, such as texts"),
        "bends": RemarkRule("note", "notes whose pitch is bent where they start"),
        "channels": RemarkRule("note", "notes of channels that the task does not read"),
        "percussion": RemarkRule("note", "notes of percussion, the only ones of a file, in a task of pitched notes"),
        "unended": RemarkRule("repair", "notes without an end"),
        "chunks": RemarkRule("note", "unknown chunks of a file"),
        "namespaces": RemarkRule(
            "note", "annotations of JAMS files in unknown namespaces with names like those of the task"
        ),
        "layers": RemarkRule("note", "layers, tiers, parts or annotations of a file that were not chosen"),
        "pedal": RemarkRule("note", "a sustain pedal that is ignored, so that notes end with their keys"),
    }
)
"""All reasons by name."""

ACCOUNT = "account"
"""Name of the text of an account among the attributes of datasets, and of the variable with those of many tracks."""
_LINE = re.compile(r"(\w+)(?: line ([0-9]+))?(?: x([0-9]+))?: (.*)", re.DOTALL)


def one_line(text: str) -> str:
    """Escape the line ends of a text, and the backslashes that escape; `whole_text` is the inverse."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def whole_text(line: str) -> str:
    """Replace the escapes of `one_line`."""
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], line)


def write_account(remarks: Iterable[Remark]) -> str:
    """The text of an account, a line for each remark; empty without any."""
    return "\n".join(
        remark.rule
        + ("" if remark.line is None else f" line {remark.line}")
        + ("" if remark.count == 1 else f" x{remark.count}")
        + f": {one_line(remark.message)}"
        for remark in remarks
    )


def read_account(text: str) -> tuple[Remark, ...]:
    """The remarks in a text of `write_account`.

    Raises `AnnotationError` if a line is not of that form, or names an unknown rule.
    """
    remarks = []
    for number, line in enumerate(text.split("\n") if text else (), 1):
        match = _LINE.fullmatch(line)
        if match is None or match[1] not in RULES or RULES[match[1]].severity == "error":
            raise AnnotationError(f"invalid {ACCOUNT}: line {number} is not RULE: MESSAGE: {line!r}")
        of_line = None if match[2] is None else int(match[2])
        remarks.append(Remark(match[1], whole_text(match[4]), of_line, int(match[3] or 1)))
    return tuple(remarks)


@dataclass(slots=True)
class Account:
    """The remarks of one reading; a rule that is an error is raised when it is added."""

    path: str | None
    """Name of the file in messages; None for objects in memory."""
    silent: Collection[str] = ()
    """Rules about which the format is silent by declaration."""
    remarks: tuple[Remark, ...] = ()
    """All remarks, in the order in which they were added."""

    def add(self, rule: str, message: str, *, line: int | None = None, count: int = 1) -> None:
        """Add a remark, unless the format declares that this is left out."""
        if RULES[rule].severity == "error":
            raise InvalidAnnotationError(message, path=self.path, line=line)
        if rule not in self.silent:
            self.remarks += (Remark(rule, message, line, count),)


def warn_of_accounts(accounts: Iterable[tuple[str, Sequence[Remark]]]) -> None:
    """Warn once of the remarks on some annotations, each with its name, and quote the first."""
    remarks = [(name, remark) for name, account in accounts for remark in account]
    if remarks:
        name, first = remarks[0]
        where = f"{place_of(name, first.line)}: " if name else ""
        more = f" (and {counted(len(remarks) - 1, 'more remark')}, see account)" if remarks[1:] else ""
        warn_caller(f"{where}{first.message}{more}")
