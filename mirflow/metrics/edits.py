"""Kinds of errors of a task, and edits that mend them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import MetricError
from ..ragged import Bool, Column, Int, Ragged, concatenate
from .measures import Measure, Parameter

RIGHT = -1
"""Kind of items that no mending changes."""
LOST, KIND, OF = "lost", "kind", "of"
"""Name of the metric that is the loss by a kind of errors, and its parameters: the kind, and the metric that is
split."""


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A kind of errors of a task."""

    name: str
    title: str
    """For tables and figures."""
    summary: str
    """What such an error is."""


@dataclass(frozen=True)
class Edits:
    """The edits that turn an estimate into its reference, each of one kind of error.

    Mending a kind removes the estimate's items of that kind and inserts the reference's.
    """

    reference: Ragged
    estimate: Ragged
    """One row each, with the same columns."""
    inserted: Int
    """Kind of each item of the reference, as an index; `RIGHT`: an item of the estimate that stays is equal to it."""
    removed: Int
    """Kind of each item of the estimate; `RIGHT`: it always stays."""
    changed: Mapping[str, tuple[Int, Column]] = field(default_factory=dict)
    """Columns in which items of the estimate that stay are wrong: kind and right value of each item of the estimate."""
    origin: tuple[Int, Int] | None = None
    """Of pieces of intervals: number of the interval of each piece, for both sides. Pieces that meet are joined."""

    @property
    def present(self) -> Int:
        """The kinds that occur, ascending."""
        kinds = np.concatenate([self.inserted, self.removed, *(kind for kind, _ in self.changed.values())])
        found: Int = np.unique(kinds[kinds >= 0])
        return found

    def mend(self, kinds: Bool) -> Ragged:
        """Mend sets of kinds, bool (sets, kinds of the task): a row for each set."""
        mended = np.column_stack([kinds, np.zeros(len(kinds), dtype=np.bool_)])  # the last column is for `RIGHT`
        both = concatenate([self.reference, self.estimate])
        count = len(self.inserted)
        of_reference = np.arange(int(both.counts[0].sum())) < count
        by = "time" if "time" in both.columns else "start"
        order = np.argsort(both.columns[by], kind="stable")
        kept = (mended[:, np.concatenate([self.inserted, self.removed])] == of_reference)[:, order]
        row, place = np.nonzero(kept)
        item = order[place]
        columns = {name: values[item] for name, values in both.columns.items()}
        for name, (kind, right) in self.changed.items():
            own = item >= count
            wrong = np.zeros(len(item), dtype=np.bool_)
            wrong[own] = mended[row[own], kind[item[own] - count]]
            columns[name][wrong] = right[item[wrong] - count]
        if by in self.changed:
            order = np.lexsort((columns[by], row))
            columns = {name: values[order] for name, values in columns.items()}
        if self.origin is not None:
            columns, row = _joined(columns, row, np.concatenate(self.origin)[item], of_reference[item])
        counts = np.bincount(row, minlength=len(kinds)).astype(np.int64)
        return Ragged(columns, (counts,), both.labels)


def _joined(
    columns: Mapping[str, Column], row: Int, interval: Int, of_reference: Bool
) -> tuple[dict[str, Column], Int]:
    """Join pieces of the same interval that meet."""
    first = np.ones(len(row), dtype=np.bool_)
    for values in (row, interval, of_reference):
        first[1:] &= values[1:] == values[:-1]
    first[1:] &= columns["start"][1:] == columns["end"][:-1]
    first[1:], first[:1] = ~first[1:], True
    last = np.append(first[1:], True)[: len(first)]
    joined = {name: values[last if name == "end" else first] for name, values in columns.items()}
    return joined, row[first]


Align = Callable[[Ragged, Ragged, Measure], Edits]
"""(reference, estimate, measure) -> edits: both are single rows after the convention's `clean`."""


@dataclass(frozen=True)
class ErrorBudget:
    """The kinds of errors of a task, and how they are found."""

    kinds: tuple[ErrorKind, ...]
    align: Align

    def losses(self, whole: Measure) -> tuple[Measure, ...]:
        """Losses by each kind, of the score under a measure; raise a MetricError for one that cannot be split."""
        refuse_unsplit(whole)
        names = tuple(kind.name for kind in self.kinds)
        lost = "score lost by" if whole.metric.orientation == "higher" else "part of the score that is due to"
        common = replace(
            whole.metric,
            name=LOST,
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
            version=1,
            read=None,
            itemwise=False,
            error=True,
        )
        return tuple(
            replace(common, title=kind.title, summary=f"{lost} errors of a kind: {kind.summary}").measure(
                kind=kind.name
            )
            for kind in self.kinds
        )


def refuse_unsplit(whole: Measure) -> None:
    """Raise a MetricError for a metric whose loss cannot be split."""
    metric = whole.metric
    if metric.dims or metric.nominal:
        raise MetricError(f"{whole} is not one number, so its loss cannot be split; choose another metric")
    if metric.pair is not None or metric.origin:
        raise MetricError(f"{whole} is declared outside of mirflow, and only metrics of mirflow are split")
    if metric.perfect is None or metric.orientation == "none":
        raise MetricError(f"{whole} has no best value that the reference reaches, so its loss cannot be split")
