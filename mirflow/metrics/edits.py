"""Kinds of errors of a task, and edits that mend them: of items, and of labels over time.

An `ErrorBudget` joins the kinds of a task with the function that finds such edits, and makes a measure of the losses by
each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import MetricError
from ..ragged import Bool, Column, Float, Int, Ragged, concatenate, rows_of
from .measures import Measure, Parameter

RIGHT = -1  # Kind of items that no mending changes
LOST, KIND, OF = "lost", "kind", "of"
"""Name of the metric that is the loss by a kind of errors, and its parameters: the kind, and the metric that is
split."""


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A kind of errors of a task."""

    name: str
    summary: str  # What such an error is


@dataclass(frozen=True)
class Mending:
    """The edits that turn an estimate into its reference, each of one kind of error."""

    present: Int  # The kinds that occur, ascending
    size: int  # Number of items of a mended estimate, at most
    mend: Callable[[Bool], Ragged]
    """Sets of kinds, bool (sets, kinds of the task + 1), whose last column, for `RIGHT`, is False -> a row for each."""
    items: tuple[Bool, Float, Int] | None = None
    """Of items at times: whether each is the reference's, its time, and its kind."""


def kinds_in(*kinds: Int) -> Int:
    """The kinds that occur among those of items, ascending: int64 (kinds,)."""
    every = np.concatenate(kinds)
    return np.asarray(np.unique(every[every >= 0]))


@dataclass(frozen=True)
class Edits:
    """Edits of items: mending a kind removes the estimate's items of that kind and inserts the reference's."""

    reference: Ragged
    estimate: Ragged  # One row each, with the same columns
    inserted: Int
    """Kind of each item of the reference, as an index; `RIGHT`: an item of the estimate that stays is equal to it."""
    removed: Int  # Kind of each item of the estimate; `RIGHT`: it always stays
    partner: Int | None = None  # Item of the reference for each item of the estimate that stays; any for others
    changed: Mapping[str, Int] = field(default_factory=dict)
    """Columns in which items of the estimate that stay may be wrong: kind of each item of the estimate. Mending takes
    the value of the partner."""
    order: tuple[Column, Column] | None = None  # Place of each item, for both sides; None: its time or start
    origin: tuple[Int, Int] | None = None
    """Of pieces of intervals: number of the interval of each piece, for both sides. Pieces that meet are joined."""

    @property
    def present(self) -> Int:
        """The kinds that occur, ascending."""
        return kinds_in(self.inserted, self.removed, *self.changed.values())

    @property
    def size(self) -> int:
        """Number of items of both sides."""
        return len(self.inserted) + len(self.removed)

    def mend(self, kinds: Bool) -> Ragged:
        """Mend sets of kinds: a row for each set; see `Mending`."""
        both = concatenate([self.reference, self.estimate])
        count = len(self.inserted)
        of_reference = np.arange(int(both.counts[0].sum())) < count
        by = "time" if "time" in both.columns else "start"
        places = both.columns[by] if self.order is None else np.concatenate(self.order)
        order = np.argsort(places, kind="stable")
        mask = (kinds[:, np.concatenate([self.inserted, self.removed])] == of_reference)[:, order]
        row, column = np.nonzero(mask)
        item = order[column]
        columns = {name: values[item] for name, values in both.columns.items()}
        items = np.flatnonzero(item >= count)
        for name, kind in self.changed.items():
            assert self.partner is not None
            wrong = items[kinds[row[items], kind[item[items] - count]]]
            columns[name][wrong] = both.columns[name][self.partner[item[wrong] - count]]
        if by in self.changed:
            order = np.lexsort((columns[by], row))
            columns = {name: values[order] for name, values in columns.items()}
        if self.origin is not None:
            # Join pieces of the same interval that meet.
            first = np.ones(len(row), dtype=np.bool_)
            for values in (row, np.concatenate(self.origin)[item], of_reference[item]):
                first[1:] &= values[1:] == values[:-1]
            first[1:] &= columns["start"][1:] == columns["end"][:-1]
            first[1:], first[:1] = ~first[1:], True
            last = np.append(first[1:], True)[: len(first)]
            joined = {name: values[last if name == "end" else first] for name, values in columns.items()}
            columns, row = joined, row[first]
        counts = np.bincount(row, minlength=len(kinds)).astype(np.int64)
        return Ragged(columns, (counts,), both.labels)


Align = Callable[[Ragged, Ragged, Measure, bool], Mending | Edits]
"""(reference, estimate, measure, exact) -> edits: both are single rows after the convention's `clean`.

If `exact`, all differences are errors; otherwise, not those within the tolerances of the measure."""


def number_texts(labels: Sequence[str]) -> Int:
    """Number labels, with equal numbers for equal texts: int64 (labels,)."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def merge_rows(rows: Ragged, number_labels: Callable[[Sequence[str]], Int], kept: Float | None = None) -> Ragged:
    """Merge intervals of each row that meet and have labels with equal numbers, but for some times at which they meet.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 3.0]), "end": np.array([1.0, 2.0, 4.0]),
    ...                "label": np.array([0, 0, 0])}, (np.array([3]),), ("A",))
    >>> merged = merge_rows(rows, number_texts)
    >>> merged.columns["start"].tolist(), merged.columns["end"].tolist(), merged.counts[0].tolist()
    ([0.0, 3.0], [2.0, 4.0], [2])
    """
    owner, start, end = rows_of(rows.counts[0]), rows.columns["start"], rows.columns["end"]
    number = np.append(number_labels(rows.labels), -1)[rows.columns["label"]]
    first = np.ones(len(owner), dtype=np.bool_)
    first[1:] = (owner[1:] != owner[:-1]) | (start[1:] != end[:-1]) | (number[1:] != number[:-1])
    first |= np.isin(start, kept) if kept is not None else False
    last = np.append(first[1:], True)[: len(first)]
    columns = {name: values[last if name == "end" else first] for name, values in rows.columns.items()}
    return Ragged(columns, (np.bincount(owner[first], minlength=len(rows)).astype(np.int64),), rows.labels)


@dataclass(frozen=True)
class LabelRows:
    """How intervals with labels are written: one label may be several intervals that meet."""

    number: Callable[[Sequence[str]], Int]
    """Numbers labels, with equal numbers for spellings of the same one: int64 (labels,)."""
    examples: tuple[tuple[str, str], ...]
    """Different labels, in two spellings each, that show whether a metric tells such intervals apart."""
    bounded: bool = False
    """Whether intervals with the same label are different ones where the other side has a boundary, too."""

    def merge(self, sides: tuple[Ragged, Ragged], number: Callable[[Sequence[str]], Int]) -> tuple[Ragged, Ragged]:
        """Both sides of a pair with each label as one interval."""
        bounds = [np.append(side.columns["start"], side.columns["end"]) if self.bounded else None for side in sides]
        return merge_rows(sides[0], number, bounds[1]), merge_rows(sides[1], number, bounds[0])


@dataclass(frozen=True)
class ErrorBudget:
    """The kinds of errors of a task, and how they are found."""

    kinds: tuple[ErrorKind, ...]
    align: Align
    rows: LabelRows | None = None  # Of intervals with labels
    version: int = 1  # Increased when shares change

    def losses(self, whole: Measure) -> tuple[Measure, ...]:
        """Losses by each kind, of the score under a measure; raise a MetricError for one that cannot be split."""
        metric, names = whole.metric, tuple(kind.name for kind in self.kinds)
        if metric.dims or metric.nominal:
            raise MetricError(f"{whole} is not one number, so its loss cannot be split; choose another metric")
        if metric.pair is not None or metric.origin:
            raise MetricError(f"{whole} is declared outside of mirflow, and only metrics of mirflow are split")
        if metric.perfect is None or metric.orientation == "none":
            raise MetricError(f"{whole} has no best value that the reference reaches, so its loss cannot be split")
        lost = "score lost by" if metric.orientation == "higher" else "part of the score that is due to"
        common = replace(
            metric,
            name=LOST,
            version=metric.version + self.version - 1,
            title="Loss",
            key="",
            aliases=(),
            mir_eval="",
            range=(-np.inf, np.inf),
            orientation="lower",
            perfect=0.0,
            perfect_exceptions="",
            parameters=(
                Parameter(KIND, "", choices=("", *names), help="the kind of errors"),
                Parameter(OF, str(whole), help="the metric whose loss is split"),
            ),
            literature="@shapley1953",
            read=None,
            itemwise=False,
            error=True,
        )
        return tuple(
            replace(common, summary=f"{lost} errors of a kind: {kind.summary}").measure(kind=kind.name)
            for kind in self.kinds
        )


Classify = Callable[[Int, Int], Int]
"""Labels of the reference and of the estimate on each piece, as codes -> kinds of errors; `RIGHT` for none."""


class LabelSpans:
    """The intervals of one side, in order of time and without overlaps; with `carry`, without gaps as well.

    `code` is a number for the label of each interval, and one more for times without an interval.
    """

    def __init__(self, rows: Ragged, code: Int, carry: bool) -> None:
        order = np.argsort(rows.columns["start"], kind="stable")
        self.start: Float = rows.columns["start"][order]
        self.end: Float = rows.columns["end"][order]
        self.label: Int = rows.columns["label"][order]
        self.code = np.append(code[:-1][order], code[-1])
        self.end[:-1] = self.start[1:] if carry else np.minimum(self.end[:-1], self.start[1:])

    def at(self, times: Float) -> Int:
        """The interval at each time; -1: none."""
        index = np.searchsorted(self.start, times, side="right") - 1
        return np.where((index >= 0) & (times < np.append(self.end, -np.inf)[index]), index, -1)


def align_pieces(
    reference: Ragged, estimate: Ragged, codes: tuple[Int, Int], classify: Classify, boundaries: int, carry: bool
) -> Edits:
    """Find the edits of labels over time.

    `codes` ((int64, int64)): numbers of the labels; see `LabelSpans`. Equal numbers are right. `boundaries`: the kind
    of wrong labels that are due to a boundary that is early or late, and of boundaries between labels that are right.
    `carry`: whether a label lasts through the gap after its interval.
    """
    own, other = LabelSpans(reference, codes[0], carry), LabelSpans(estimate, codes[1], carry)
    low, high = (own.start[0], own.end.max()) if len(own.start) else (0.0, 0.0)
    cuts = np.unique(np.clip(np.concatenate([own.start, own.end, other.start, other.end]), low, high))
    start, end = cuts[:-1], cuts[1:]
    left, right = own.at(start), other.at(start)
    kind = classify(own.code[left], other.code[right])
    # A piece at an end of an interval of the reference is displaced if the estimate has the label beyond that end, its
    # interval goes beyond the end, and the piece does not fill the reference's interval: the label would not be found.
    displaced = np.zeros(len(start), dtype=np.bool_)
    for step in (-1, 1):
        inside = (left >= 0) & (right >= 0) & (left + step >= 0) & (left + step < len(own.start))
        piece = np.flatnonzero(inside)
        interval, item = left[piece], right[piece]
        part = (start[piece] > own.start[interval]) | (end[piece] < own.end[interval])
        if step < 0:
            at_end = (start[piece] == own.start[interval]) & (other.start[item] < start[piece])
        else:
            at_end = (end[piece] == own.end[interval]) & (other.end[item] > end[piece])
        displaced[piece] |= part & at_end & (own.code[interval + step] == other.code[item])
    kind[(kind == RIGHT) | displaced] = boundaries
    same = (left >= 0) & (right >= 0) & (own.code[left] == other.code[right])
    same[same] = (own.start[left[same]] == other.start[right[same]]) & (own.end[left[same]] == other.end[right[same]])
    kind[same] = RIGHT
    pieces, kinds, origins = [], [], []
    for side, rows, item in ((own, reference, left), (other, estimate, right)):
        mask = item >= 0
        columns = {"start": start[mask], "end": end[mask], "label": side.label[item[mask]]}
        pieces.append(Ragged(columns, (np.array([mask.sum()], dtype=np.int64),), rows.labels))
        kinds.append(kind[mask])
        origins.append(item[mask])
    return Edits(pieces[0], pieces[1], kinds[0], kinds[1], origin=(origins[0], origins[1]))
