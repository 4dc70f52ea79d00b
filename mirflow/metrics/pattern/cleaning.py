"""What the pattern metrics take: patterns with occurrences, and notes at finite onsets and pitches."""

from __future__ import annotations

import numpy as np

from ...annotations.schema import LATEST
from ...ragged import Int, Ragged, offsets_of, rows_of
from ..base.nested import empty_rows, row_of_items, set_aside_nested
from ..base.task import Cleaned
from ..checks import BOUNDED


def clean(rows: Ragged) -> Cleaned:
    """Make rows fit for scoring.

    Occurrences without notes are dropped and counted; a row without any note is empty.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns onset and pitch (float64); counts of patterns, of occurrences and of notes.

    Returns
    -------
    Cleaned
        Flaws are onsets and pitches that are not finite, and patterns without a note beside others that have some.

    Examples
    --------
    >>> rows = Ragged({"onset": np.array([0.0, 1.0]), "pitch": np.array([60.0, 62.0])},
    ...               (np.array([1]), np.array([2]), np.array([2, 0])))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[1].tolist(), cleaned.repairs.tolist()
    ([1], [1])
    """
    mended, repairs = _drop_hollow_occurrences(rows)
    onset, pitch = mended.columns["onset"], mended.columns["pitch"]
    hollow = _hollow_patterns(mended)
    beside_hollow = np.zeros(len(onset), dtype=np.bool_)
    beside_hollow[list(hollow)] = True
    impossible = ~((np.abs(onset) <= LATEST) & (np.abs(pitch) <= LATEST))
    problems = (
        (impossible, lambda item: f"onset and pitch of a note {BOUNDED}: {onset[item]}, {pitch[item]}"),
        (beside_hollow, lambda item: f"pattern {hollow[item]} has no notes"),
    )
    cleaned = set_aside_nested(mended, problems, np.zeros(len(onset), dtype=np.bool_))
    repairs[list(cleaned.flaws)] = 0
    return Cleaned(cleaned.rows, repairs, cleaned.flaws)


def _drop_hollow_occurrences(rows: Ragged) -> tuple[Ragged, Int]:
    """Rows whose occurrences all have notes, or that are empty, and how many occurrences each row lost."""
    patterns, occurrences, notes = rows.counts
    kept = notes > 0
    pattern = rows_of(occurrences)
    counts = np.bincount(pattern[kept], minlength=len(occurrences)).astype(np.int64)
    repairs = np.bincount(rows_of(patterns)[pattern[~kept]], minlength=len(rows)).astype(np.int64)
    mended = Ragged(rows.columns, (patterns, counts, notes[kept]), rows.labels, rows.depths)
    noteless = np.bincount(row_of_items(mended), minlength=len(rows)) == 0
    return empty_rows(mended, noteless), repairs


def _hollow_patterns(rows: Ragged) -> dict[int, int]:
    """The number of the first pattern without occurrences of each place among the notes that has one before it."""
    _, occurrences, notes = rows.counts
    first_note = offsets_of(notes)[offsets_of(occurrences)]
    first_pattern = rows.offsets
    found: dict[int, int] = {}
    for pattern in np.flatnonzero(occurrences == 0).tolist():
        row = int(np.searchsorted(first_pattern, pattern, side="right")) - 1
        last_note = int(first_note[first_pattern[row + 1]]) - 1
        found.setdefault(min(int(first_note[pattern]), last_note), pattern - int(first_pattern[row]) + 1)
    return found
