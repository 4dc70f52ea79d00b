"""Rows without those that cannot be scored: the first flaw of each, and the irregularities of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.validation import Finding
from ..errors import AnnotationError, suggest
from ..ragged import Bool, Int, Ragged, rows_of


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a row cannot be scored.

    Parameters
    ----------
    item : int
        Counted in the row as it was read.
    message : str
        What is wrong with it.
    first : int or None
        The earlier item that it is at odds with, which the message ends with.
    """

    item: int
    message: str
    first: int | None = field(default=None, repr=False)

    def told(self, annotation: Annotation) -> str:
        """The message, with the line of the earlier item where the annotation that the row was has lines."""
        line = None if self.first is None else annotation.line(self.first)
        return self.message if line is None else f"{self.message} on line {line}"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Rows made fit for a convention.

    Parameters
    ----------
    rows : Ragged
        The same rows, perhaps with fewer items; flawed rows are empty.
    repairs : int64 (rows,)
        How many items were dropped or found irregular but acceptable.
    flaws : mapping of int to Flaw
        The rows that cannot be used.
    """

    rows: Ragged
    repairs: Int
    flaws: Mapping[int, Flaw] = field(default_factory=dict)


Problem = tuple[Bool, Callable[[int], str]]
"""A mask over the items, and what is wrong with one of them, given its place among all items."""


def set_aside(rows: Ragged, problems: Sequence[Problem], irregular: Bool | None = None) -> Cleaned:
    """Empty the rows that hold a flawed item and tell why.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs, one level deep.
    problems : sequence of (bool (items,), callable)
        Where items are flawed, and the message for one. If an item has several flaws, the first of this order is told.
    irregular : bool (items,) or None
        Items that are acceptable and counted in `repairs`.

    Returns
    -------
    Cleaned
        The same rows if there is no flaw.

    Examples
    --------
    >>> rows = Ragged({"time": np.array([0.5, -1.0, 2.0])}, (np.array([2, 1]),))
    >>> cleaned = set_aside(rows, [(rows.columns["time"] < 0, lambda item: f"item {item} is negative")])
    >>> cleaned.rows.counts[0].tolist(), cleaned.flaws
    ([0, 1], {0: Flaw(item=1, message='item 1 is negative')})
    """
    owner = rows_of(rows.counts[0])
    first: dict[int, int] = {}
    message: dict[int, str] = {}
    for mask, describe in problems:
        for item in np.flatnonzero(mask).tolist():
            row = int(owner[item])
            if row not in first or item < first[row]:
                first[row], message[row] = item, describe(item)
    offsets = rows.offsets
    flaws = {row: Flaw(item - int(offsets[row]), message[row]) for row, item in sorted(first.items())}
    spared = ~np.isin(owner, list(flaws))
    counted = spared & irregular if irregular is not None else np.zeros(len(owner), dtype=np.bool_)
    repairs = np.bincount(owner[counted], minlength=len(rows)).astype(np.int64)
    return Cleaned(rows.keep(spared) if flaws else rows, repairs, flaws)


def impossible_times(findings: Mapping[str, Finding], rows: Ragged) -> list[Problem]:
    """What :func:`mirflow.annotations.validation.inspect` found that is no time at all, as problems.

    Examples
    --------
    >>> from mirflow.annotations.validation import inspect
    >>> from mirflow.annotations.schema import KINDS
    >>> rows = Ragged({"time": np.array([0.5, 1e300])}, (np.array([2]),))
    >>> ((mask, describe),) = impossible_times(inspect(KINDS["events"], rows), rows)
    >>> mask.tolist(), describe(1)
    ([False, True], 'time is not in seconds, as it is beyond 1e+09: 1e+300')
    """
    found = (findings[name] for name in ("not_finite", "too_late") if name in findings)
    return [(finding.items, partial(finding.describe, rows)) for finding in found]


def usable(annotation: Annotation, cleaned: Cleaned, side: str) -> Ragged:
    """The only row of a cleaned annotation; its flaw is an error that names the file and the line.

    Raises
    ------
    AnnotationError
        If the row has a flaw.
    """
    for flaw in cleaned.flaws.values():
        path = annotation.file(flaw.item) or annotation.attrs.get("source")
        raise AnnotationError(
            f"{side}: {flaw.told(annotation)}",
            path=None if path is None else str(path),
            line=annotation.line(flaw.item),
        )
    return cleaned.rows


def row_of_items(rows: Ragged) -> Int:
    """The row of each innermost item.

    Examples
    --------
    >>> row_of_items(Ragged({}, (np.array([1, 2]), np.array([2, 0, 1])))).tolist()
    [0, 0, 1]
    """
    owner = rows_of(rows.counts[0])
    for inner in rows.counts[1:]:
        owner = np.repeat(owner, inner)
    return owner


def emptied(given: Ragged, cleaned: Ragged) -> Bool:
    """The rows that held something before they were cleaned and hold nothing now: bool (rows,).

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1, 1, 0]),))
    >>> emptied(rows, rows.keep(np.array([True, False]))).tolist()
    [False, True, False]
    """
    before, now = (np.bincount(row_of_items(rows), minlength=len(rows)) for rows in (given, cleaned))
    gone: Bool = (before > 0) & (now == 0)
    return gone


def drop_items(rows: Ragged, dropped: Bool) -> Ragged:
    """Nested rows without some innermost items; what held them stays, perhaps empty.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1]), np.array([2])))
    >>> drop_items(rows, np.array([True, False])).columns["start"].tolist()
    [1.0]
    """
    holder = rows_of(rows.counts[-1])[~dropped]
    counts = np.bincount(holder, minlength=len(rows.counts[-1])).astype(np.int64)
    innermost = len(rows.counts)
    columns = {name: c[~dropped] if rows.depth(name) == innermost else c for name, c in rows.columns.items()}
    return Ragged(columns, (*rows.counts[:-1], counts), rows.labels, rows.depths)


def empty_rows(rows: Ragged, emptied: Bool) -> Ragged:
    """Nested rows of which some lose all they hold.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0])}, (np.array([1, 1]), np.array([1, 1])))
    >>> empty_rows(rows, np.array([True, False])).counts
    (array([0, 1]), array([1]))
    """
    counts = [np.where(emptied, 0, rows.counts[0])]
    kept = np.repeat(~emptied, rows.counts[0])
    masks = [kept]
    for inner in rows.counts[1:]:
        counts.append(inner[kept])
        kept = np.repeat(kept, inner)
        masks.append(kept)
    columns = {name: column[masks[rows.depth(name) - 1]] for name, column in rows.columns.items()}
    return Ragged(columns, tuple(counts), rows.labels, rows.depths)


def set_aside_nested(rows: Ragged, problems: Sequence[Problem], dropped: Bool) -> Cleaned:
    """Empty the rows that hold a flawed item, tell why, and drop items from the others.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs, two or more levels deep.
    problems : sequence of (bool (items,), callable)
        Where innermost items are flawed, and the message for one, given its place among all items.
    dropped : bool (items,)
        Items to drop; they are counted in `repairs`.

    Returns
    -------
    Cleaned

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, -1.0, 2.0])}, (np.array([1, 1]), np.array([2, 1])))
    >>> none = np.zeros(3, dtype=bool)
    >>> set_aside_nested(rows, [(rows.columns["start"] < 0, "item {} is negative".format)], none).flaws
    {0: Flaw(item=1, message='item 1 is negative')}
    """
    owner = row_of_items(rows)
    first = np.searchsorted(owner, np.arange(len(rows)))
    found: dict[int, Flaw] = {}
    for mask, describe in problems:
        for item in np.flatnonzero(mask).tolist():
            row = int(owner[item])
            place = item - int(first[row])
            if row not in found or place < found[row].item:
                found[row] = Flaw(place, describe(item))
    flawed = np.zeros(len(rows), dtype=np.bool_)
    flawed[list(found)] = True
    repairs = np.bincount(owner[dropped & ~flawed[owner]], minlength=len(rows)).astype(np.int64)
    if found:
        dropped = dropped[~flawed[owner]]
        rows = empty_rows(rows, flawed)
    return Cleaned(drop_items(rows, dropped) if dropped.any() else rows, repairs, dict(sorted(found.items())))


def number_labels(
    references: Ragged, estimates: Ragged, classes: Classes | None
) -> tuple[tuple[str, ...], tuple[Int, Int]]:
    """All labels that there may be, and the number of each item's label on both sides.

    Parameters
    ----------
    references, estimates : Ragged
        Column label.
    classes : Classes or None
        What there is; None: what occurs on either side, sorted.

    Returns
    -------
    names : tuple of str
    numbers : (int64 (items of the references,), int64 (items of the estimates,))
    """
    sides = references, estimates
    if classes is not None:
        names = classes.names
    else:
        used = (np.unique(side.columns["label"]).tolist() for side in sides)
        names = tuple(sorted({s.labels[code] for s, codes in zip(sides, used, strict=True) for code in codes}))
    place = {name: number for number, name in enumerate(names)}
    found = []
    for side in sides:
        of_label = np.array([*(place.get(label, -1) for label in side.labels), -1], dtype=np.int64)
        found.append(of_label[side.columns["label"]])
    return names, (found[0], found[1])


def label_problems(rows: Ragged, classes: Classes | None, what: str) -> list[Problem]:
    """Labels that are empty, and those outside of the classes that there are.

    Parameters
    ----------
    rows : Ragged
    classes : Classes or None
    what : {"class", "tag"}
    """
    label = rows.columns["label"]
    texts = [*rows.labels, ""]  # the last one serves items without a label
    empty = np.array([not text for text in texts], dtype=np.bool_)[label]
    problems: list[Problem] = [(empty, lambda _: f"a {what} without a name")]
    if classes is not None:
        names, say = classes.names, _text_of(texts, label)
        known = set(names)
        outside: Bool = np.array([text not in known for text in texts], dtype=np.bool_)[label]
        problems.append(
            (outside & ~empty, lambda item: f"not a {what} here: {say(item)!r}; {suggest(say(item), names)}")
        )
    return problems


def _text_of(texts: list[str], label: Int) -> Callable[[int], str]:
    return lambda item: texts[label[item]]
