"""What convention mir_eval takes: sorted intervals with some length, valid times and labels, and no overlaps."""

from __future__ import annotations

import numpy as np

from ...annotations.rules import inspect
from ...annotations.schema import KINDS
from ...ragged import Int, Ragged, rows_of
from ...theory.chords import encode_vocabulary
from ...theory.harte import not_a_chord
from ..base.task import Cleaned, Flaw
from .encoding import encode_runs
from .refusals import disordered, overlapping

_IMPOSSIBLE = {"not_finite", "too_late", "negative", "reversed"}
_MENDED = {"zero_length", "unsorted", "gap"}


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for mir_eval's rules.

    Intervals without length are dropped and rows out of order sorted; both are counted, and so are gaps.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or reversed, labels that are not chords, and overlaps of
        intervals with different chords.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 1.0, 1.0]), "end": np.array([1.0, 1.0, 2.0]),
    ...                "label": np.array([0, 0, 1])}, (np.array([2, 1]),), ("C:maj", "H:maj"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([1, 0], [1, 0], "not a chord: 'H:maj'; chords are written like C, A:min7/b3, F#:(1,5) or N")
    """
    return _clean(rows, merging=True)


def clean_unmerged(rows: Ragged) -> Cleaned:
    """The same where neighbours are never merged, so that an overlap of equal chords is a flaw as well."""
    return _clean(rows, merging=False)


def _clean(rows: Ragged, merging: bool) -> Cleaned:
    owner = rows_of(rows.counts[0])
    findings = inspect(KINDS["intervals"], rows)
    flaws = _Flaws(rows.offsets)
    for name in _IMPOSSIBLE & findings.keys():
        for place in np.flatnonzero(findings[name].items).tolist():
            flaws.add(place, findings[name].describe(rows, place))
    invalid = encode_vocabulary(rows.labels).invalid
    if invalid:
        for place in np.flatnonzero(np.isin(rows.columns["label"], list(invalid))).tolist():
            flaws.add(place, not_a_chord(rows.labels[int(rows.columns["label"][place])]))
    irregular = np.zeros(len(owner), dtype=np.bool_)
    for name in _MENDED & findings.keys():
        irregular |= findings[name].items
    item = np.arange(len(owner))
    if "zero_length" in findings:
        item = item[~findings["zero_length"].items]
    item = flaws.spare(item, owner)
    if "unsorted" in findings:
        item = item[np.lexsort((rows.columns["start"][item], owner[item]))]
    if findings.keys() & {"overlap", "unsorted"}:
        _find_overlaps(flaws, rows, item, merging)
        item = flaws.spare(item, owner)
    repairs = np.bincount(owner[flaws.spare(np.flatnonzero(irregular), owner)], minlength=len(rows))
    as_read = len(item) == len(owner) and "unsorted" not in findings
    return Cleaned(rows if as_read else _only(rows, item), repairs, flaws.of_row)


class _Flaws:
    """The first flaw of each row."""

    def __init__(self, offsets: Int) -> None:
        self._offsets = offsets
        self.of_row: dict[int, Flaw] = {}

    def add(self, item: int, message: str) -> None:
        row = int(np.searchsorted(self._offsets, item, side="right")) - 1
        flaw = Flaw(item - int(self._offsets[row]), message)
        if row not in self.of_row or flaw.item < self.of_row[row].item:
            self.of_row[row] = flaw

    def spare(self, item: Int, owner: Int) -> Int:
        """The items whose rows, their owners, have no flaw."""
        return item[~np.isin(owner[item], list(self.of_row))] if self.of_row else item


def _find_overlaps(flaws: _Flaws, rows: Ragged, item: Int, merging: bool) -> None:
    """Flaws of sorted rows whose intervals still overlap."""
    ordered = _only(rows, item)
    run = encode_runs(rows.labels)[ordered.columns["label"]] if merging else None
    for place in np.flatnonzero(disordered(ordered) | overlapping(ordered, run)).tolist():
        end, start = ordered.columns["end"][place], ordered.columns["start"][place + 1]
        if end > start:
            flaws.add(int(item[place + 1]), f"overlaps the row before it: {start} s is before {end} s")


def _only(rows: Ragged, item: Int) -> Ragged:
    """The given items, grouped by row, in the given order."""
    counts = np.bincount(np.searchsorted(rows.offsets, item, side="right") - 1, minlength=len(rows))
    return Ragged({name: column[item] for name, column in rows.columns.items()}, (counts,), rows.labels)
