"""Cleaning of rows before scoring: those that cannot be scored are emptied, and their first flaw is kept.

Helpers sort items, drop them, find overlaps and bad labels or tempi, and turn flaws into errors with file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.classes import Classes
from ..annotations.schema import KINDS
from ..annotations.validation import inspect
from ..errors import AnnotationError, InvalidAnnotationError, suggest
from ..ragged import Bool, Int, Ragged, row_of_items, rows_of


@dataclass(frozen=True, slots=True)
class Flaw:
    """Reason why a row cannot be scored."""

    item: int  # Index in the original row
    message: str  # Description of the flaw
    first: int | None = field(default=None, repr=False)  # Earlier item that it contradicts, with which the message ends

    def text(self, annotation: Annotation) -> str:
        """The message, followed by the line of the earlier item if the annotation has lines."""
        line = None if self.first is None else annotation.line(self.first)
        return self.message if line is None else f"{self.message} on line {line}"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Rows cleaned for a convention."""

    rows: Ragged  # The rows, possibly with fewer items; flawed rows are empty
    repairs: Int  # Number of items that were dropped, or accepted although irregular: int64 (rows,)
    flaws: Mapping[int, Flaw] = field(default_factory=dict)  # Rows that cannot be used

    def checked(self, side: str) -> Ragged:
        """Return the rows; raise an AnnotationError for a flaw of one, naming the side."""
        for flaw in self.flaws.values():
            raise AnnotationError(f"{side}: {flaw.message}")
        return self.rows


Problem = tuple[Bool, Callable[[int], str]]
"""A mask over the items, and a function from the index of an item to a description of its problem."""


def set_aside(
    rows: Ragged, problems: Sequence[Problem], irregular: Bool | None = None, *, drop: bool = False
) -> Cleaned:
    """Empty the rows that hold a flawed item, and count irregular items of the others.

    Items are those of the innermost level. Problems are masks of flawed items with functions that return the message
    for an item, of which the first is reported. Irregular items are counted in `repairs`, and dropped if `drop`.
    """
    owner = row_of_items(rows)
    starts = np.searchsorted(owner, np.arange(len(rows)))
    flaws: dict[int, Flaw] = {}
    for mask, describe in problems:
        for item in np.flatnonzero(mask).tolist():
            row = int(owner[item])
            index = item - int(starts[row])
            if row not in flaws or index < flaws[row].item:
                flaws[row] = Flaw(index, describe(item))
    flawed = np.zeros(len(rows), dtype=np.bool_)
    flawed[list(flaws)] = True
    if irregular is None:
        irregular = np.zeros(len(owner), dtype=np.bool_)
    repaired = owner[np.flatnonzero(irregular)]
    repairs = np.bincount(repaired[~flawed[repaired]], minlength=len(rows)).astype(np.int64)
    if flaws:
        irregular = irregular[~flawed[owner]]
        rows = empty_rows(rows, flawed)
    if drop and irregular.any():
        rows = drop_items(rows, irregular)
    return Cleaned(rows, repairs, dict(sorted(flaws.items())))


def keep_first(rows: Ragged, problems: Sequence[Problem]) -> Cleaned:
    """Keep the first item of each row; other items are problems or counted in `repairs`. See `set_aside`."""
    later = np.arange(len(rows.columns["label"])) != rows.offsets[:-1][rows_of(rows.counts[0])]
    return set_aside(rows, problems, later, drop=True)


NO_TIMES = ("not_finite", "too_late")  # Findings of values that are not valid times
NO_INTERVALS = (*NO_TIMES, "negative", "reversed")  # Findings of intervals that cannot be scored


def inspected(
    kind: str, rows: Ragged, refused: Sequence[str] = NO_TIMES, counted: Collection[str] = ()
) -> tuple[set[str], list[Problem], Bool]:
    """Inspect rows: return the names of all findings, problems of the refused ones, and a mask of counted items.

    See :func:`mirflow.annotations.validation.inspect`.
    """
    findings = inspect(KINDS[kind], rows)
    wrong = (findings[name] for name in refused if name in findings)
    problems: list[Problem] = [(finding.items, partial(finding.describe, rows)) for finding in wrong]
    items = np.zeros(int(rows.counts[-1].sum()), dtype=np.bool_)
    for name in findings.keys() & set(counted):
        items |= findings[name].items
    return set(findings), problems, items


def in_order(cleaned: Cleaned) -> Cleaned:
    """Sort rows by time; simultaneous items keep their order."""
    rows = cleaned.rows
    order = np.lexsort((rows.columns["time"], rows_of(rows.counts[0])))
    columns = {name: column[order] for name, column in rows.columns.items()}
    return replace(cleaned, rows=Ragged(columns, rows.counts, rows.labels))


def interval_faults(rows: Ragged, run: Int | None) -> Bool:
    """Mask intervals that are reversed, followed by an earlier start or end, or overlapped outside of runs.

    `run` numbers the runs of neighbours, int64 (intervals,); None: there are none.
    """
    start, end, owner = rows.columns["start"], rows.columns["end"], rows_of(rows.counts[0])
    wrong, overlaps = end < start, end[:-1] > start[1:]
    if run is not None:
        overlaps &= run[1:] != run[:-1]
    wrong[:-1] |= (owner[1:] == owner[:-1]) & ((start[1:] < start[:-1]) | (end[1:] < end[:-1]) | overlaps)
    return wrong


def intervals_in_order(rows: Ragged) -> tuple[Ragged, Int]:
    """Drop intervals of zero length and sort by start; return the rows and the original index of each interval."""
    start, owner = rows.columns["start"], rows_of(rows.counts[0])
    item = np.flatnonzero(rows.columns["end"] != start)
    item = item[np.lexsort((start[item], owner[item]))]
    counts = np.bincount(owner[item], minlength=len(rows)).astype(np.int64)
    return Ragged({name: column[item] for name, column in rows.columns.items()}, (counts,), rows.labels), item


def find_overlaps(rows: Ragged, problems: Sequence[Problem], run_of_label: Int | None = None) -> Problem:
    """Find intervals that start before the previous one ends, in rows without other problems.

    Neighbours whose labels belong to one run may overlap.
    """
    owner = rows_of(rows.counts[0])
    flawed = np.any([np.zeros(len(owner), dtype=np.bool_), *(mask for mask, _ in problems)], axis=0)
    spared = np.flatnonzero(~np.isin(owner, owner[flawed]))
    ordered, item = intervals_in_order(rows.keep(~np.isin(owner, owner[flawed])))
    run = None if run_of_label is None else run_of_label[ordered.columns["label"]]
    start, end = ordered.columns["start"], ordered.columns["end"]
    messages = {
        int(spared[item[index + 1]]): f"overlaps the row before it: {start[index + 1]} s is before {end[index]} s"
        for index in np.flatnonzero(interval_faults(ordered, run)).tolist()
        if end[index] > start[index + 1]
    }
    mask = np.zeros(len(owner), dtype=np.bool_)
    mask[list(messages)] = True
    return mask, messages.__getitem__


def error_of(flaw: Flaw, annotation: Annotation, side: str) -> InvalidAnnotationError:
    """Convert a flaw of an annotation to an error with file and line."""
    path = annotation.file(flaw.item) or annotation.attrs.get("source")
    return InvalidAnnotationError(
        f"{side}: {flaw.text(annotation)}", path=None if path is None else str(path), line=annotation.line(flaw.item)
    )


def usable(annotation: Annotation, cleaned: Cleaned, side: str) -> Ragged:
    """Return the only row of a cleaned annotation; raise an error if it has a flaw."""
    for flaw in cleaned.flaws.values():
        raise error_of(flaw, annotation, side)
    return cleaned.rows


def usable_pair(
    reference: Annotation, estimate: Annotation, clean: Callable[[Ragged], Cleaned], *, filled: int = 0
) -> tuple[Ragged, Ragged]:
    """Return both annotations of a pair as cleaned rows; the first `filled` must not be empty. See `usable`."""
    rows: list[Ragged] = []
    for annotation, side in ((reference, "reference"), (estimate, "estimate")):
        rows.append(usable(annotation, clean(to_ragged([annotation])), side))
        if len(rows) <= filled and not rows[-1].counts[0][0]:
            raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
    return rows[0], rows[1]


def drop_items(rows: Ragged, dropped: Bool) -> Ragged:
    """Drop innermost items; groups that held them are kept even if they become empty."""
    mask, innermost = ~dropped, len(rows.counts)
    holder = rows_of(rows.counts[-1])[np.flatnonzero(dropped)]
    counts = rows.counts[-1] - np.bincount(holder, minlength=len(rows.counts[-1]))
    columns = {name: c[mask] if rows.depth(name) == innermost else c for name, c in rows.columns.items()}
    return Ragged(columns, (*rows.counts[:-1], counts), rows.labels, rows.depths)


def empty_rows(rows: Ragged, emptied: Bool) -> Ragged:
    """Remove all items of some rows."""
    counts = [np.where(emptied, 0, rows.counts[0])]
    mask = np.repeat(~emptied, rows.counts[0])
    masks = [mask]
    for inner in rows.counts[1:]:
        counts.append(inner[mask])
        mask = np.repeat(mask, inner)
        masks.append(mask)
    columns = {name: column[masks[rows.depth(name) - 1]] for name, column in rows.columns.items()}
    return Ragged(columns, tuple(counts), rows.labels, rows.depths)


def number_labels(
    references: Ragged, estimates: Ragged, classes: Classes | None
) -> tuple[tuple[str, ...], tuple[Int, Int]]:
    """Return all labels, and the index of each item's label on both sides.

    Without `classes`, these are the sorted labels of either side.
    """
    sides = references, estimates
    if classes is not None:
        names = classes.names
    else:
        used = ({side.labels[code] for code in np.unique(side.columns["label"]).tolist()} for side in sides)
        names = tuple(sorted(set().union(*used)))
    index = {name: number for number, name in enumerate(names)}
    of_label = (np.array([*(index.get(label, -1) for label in s.labels), -1], dtype=np.int64) for s in sides)
    left, right = (numbers[side.columns["label"]] for numbers, side in zip(of_label, sides, strict=True))
    return names, (left, right)


def label_problems(rows: Ragged, classes: Classes | None, what: str) -> list[Problem]:
    """Find labels that are empty or unknown; `what` is "class" or "tag"."""
    label = rows.columns["label"]
    texts = [*rows.labels, ""]  # the last one is for items without a label
    empty = np.array([not text for text in texts], dtype=np.bool_)[label]
    problems: list[Problem] = [(empty, lambda _: f"a {what} without a name")]
    if classes is not None:
        known = set(classes.names)
        outside: Bool = np.array([text not in known for text in texts], dtype=np.bool_)[label]
        problems.append(
            (
                outside & ~empty,
                lambda item: f"not a {what} here: {texts[label[item]]!r}; {suggest(texts[label[item]], classes.names)}",
            )
        )
    return problems
