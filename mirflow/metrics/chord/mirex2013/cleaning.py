"""What the convention takes: gaps, overlaps, unsorted and empty segments as they are; no impossible times or labels."""

from __future__ import annotations

import numpy as np

from ....annotations.rules import inspect
from ....annotations.schema import KINDS
from ....ragged import Bool, Int, Ragged, rows_of
from ....theory.spelling import encode_spelled
from ...base.task import Cleaned, Flaw

_REFUSED = ("not_finite", "too_late", "negative", "reversed")
_ACCEPTED = ("zero_length", "unsorted", "overlap", "gap")


def clean(rows: Ragged) -> Cleaned:
    """Find the rows that cannot be scored, and count what is irregular in the others.

    Nothing is dropped or moved: a zero-length segment, a gap, an overlap or a row out of order means what it means to
    the walk along the timeline.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns start, end (float64, seconds) and label.

    Returns
    -------
    Cleaned
        Flaws are times that are not finite, negative or reversed, and labels that are not chords.

    Examples
    --------
    >>> rows = Ragged({"start": np.array([0.0, 2.0]), "end": np.array([1.0, 3.0]), "label": np.array([0, 1])},
    ...               (np.array([2]),), ("C", "G:min"))
    >>> clean(rows).repairs.tolist()
    [1]
    """
    findings = inspect(KINDS["intervals"], rows)
    owner = rows_of(rows.counts[0])
    messages: dict[int, str] = {}
    for rule in _REFUSED:
        if rule in findings:
            for item in np.flatnonzero(findings[rule].items).tolist():
                messages.setdefault(item, findings[rule].describe(rows, item))
    messages = _invalid_labels(rows) | messages
    irregular = np.zeros(len(owner), dtype=np.bool_)
    for rule in _ACCEPTED:
        if rule in findings:
            irregular |= findings[rule].items
    return _without_flawed(rows, owner, messages, irregular)


def _invalid_labels(rows: Ragged) -> dict[int, str]:
    invalid = encode_spelled(rows.labels, spelled=True).invalid
    codes = rows.columns["label"]
    missing = dict.fromkeys(np.flatnonzero(codes < 0).tolist(), "has no label; write N where there is no chord")
    if not invalid:
        return missing
    items = np.flatnonzero(np.isin(codes, list(invalid)))
    return missing | {item: invalid[code] for item, code in zip(items.tolist(), codes[items].tolist(), strict=True)}


def _without_flawed(rows: Ragged, owner: Int, messages: dict[int, str], irregular: Bool) -> Cleaned:
    """Rows with a flaw are emptied; each names its first one."""
    repairs = np.bincount(owner[irregular], minlength=len(rows)).astype(np.int64)
    if not messages:
        return Cleaned(rows, repairs)
    flaws: dict[int, Flaw] = {}
    for item in sorted(messages):
        row = int(owner[item])
        flaws.setdefault(row, Flaw(item - int(rows.offsets[row]), messages[item]))
    flawed = np.zeros(len(rows), dtype=np.bool_)
    flawed[list(flaws)] = True
    repairs[flawed] = 0
    return Cleaned(rows.keep(~flawed[owner]), repairs, flaws)
