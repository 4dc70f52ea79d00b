"""What can be scored as a ranking: items with names, each once, with scores or grades that are numbers."""

from __future__ import annotations

import numpy as np

from ...kernels.judged import repeated
from ...ragged import Bool, Int, Ragged, rows_of
from ..base.flaws import Problem, set_aside
from ..base.task import Cleaned


def clean(rows: Ragged) -> Cleaned:
    """Rankings in the order in which they were read.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns label, and perhaps value and left_out.

    Returns
    -------
    Cleaned
        Flaws are items without a name, items that stand twice, and values that are NaN or infinite. (Minus infinity is
        a score like others: the last one.)

    Examples
    --------
    >>> cleaned = clean(Ragged({"label": np.array([0, 1, 0, 1])}, (np.array([3, 1]),), ("x", "y")))
    >>> cleaned.rows.counts[0].tolist(), cleaned.flaws[0].message
    ([0, 1], "item 'x' stands twice: as number 1 and number 3")
    """
    label = rows.columns["label"]
    names = [*rows.labels, ""]
    again, first = repeated(label + 1, rows.counts[0])
    start = rows.offsets[:-1][rows_of(rows.counts[0])] if len(again) else np.zeros(0, dtype=np.int64)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))

    def twice(item: int) -> str:
        one, two = (int(place - start[item]) + 1 for place in (before[item], item))
        return f"item {names[label[item]]!r} stands twice: as number {one} and number {two}"

    nameless: Bool = np.array([not name for name in names], dtype=np.bool_)[label]  # the last one serves -1
    problems: list[Problem] = [
        (nameless, lambda item: "an item without a name"),
        (_mask(again, len(label)) & ~nameless, twice),
    ]
    if "value" in rows.columns:
        value = rows.columns["value"]
        problems.append((_odd(rows), lambda item: f"value of item {names[label[item]]!r} is no number: {value[item]}"))
    return set_aside(rows, problems)


def clean_by_score(rows: Ragged) -> Cleaned:
    """Rankings in the order of their scores, as trec_eval takes them, whatever the order in which they were read.

    Scores are compared in single precision. Of items with the same score that one is ahead whose name is later in the
    order of its UTF-8 bytes, unless the column tie says which. Rows without scores stay as they are.

    Parameters
    ----------
    rows : Ragged
        As for `clean`; perhaps also tie.

    Returns
    -------
    Cleaned
        Flaws as those of `clean`.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 1, 2]), "value": np.array([0.5, 0.5, 0.9])}, (np.array([3]),),
    ...               ("x", "y", "z"))
    >>> clean_by_score(rows).rows.columns["label"].tolist()
    [2, 1, 0]
    """
    cleaned = clean(rows)
    rows = cleaned.rows
    if "value" not in rows.columns:
        return cleaned
    value, label = rows.columns["value"], rows.columns["label"]
    late = np.zeros(len(rows.labels), dtype=np.int64)
    late[sorted(range(len(rows.labels)), key=lambda code: rows.labels[code].encode())] = np.arange(len(rows.labels))
    scored = ~np.isnan(value)  # after cleaning, of a whole row or of none of it
    told = rows.columns.get("tie", np.full(len(value), np.nan))
    name = np.where(scored, -np.where(np.isnan(told), late[label], told), np.arange(len(value)))
    with np.errstate(over="ignore"):
        single = np.where(scored, -value, 0.0).astype(np.float32)
    order = np.lexsort((name, single, rows_of(rows.counts[0])))
    columns = {name: column[order] for name, column in rows.columns.items()}
    return Cleaned(Ragged(columns, rows.counts, rows.labels), cleaned.repairs, cleaned.flaws)


def _mask(items: Int, size: int) -> Bool:
    mask = np.zeros(size, dtype=np.bool_)
    mask[items] = True
    return mask


def _odd(rows: Ragged) -> Bool:
    """Values that are infinite, or NaN in a row that has others: a row without any has no column of values."""
    value = rows.columns["value"]
    odd: Bool = np.isposinf(value)
    absent = np.isnan(value)
    if absent.any():
        owner = rows_of(rows.counts[0])
        known = np.bincount(owner[~absent], minlength=len(rows)) > 0
        odd |= absent & known[owner]
    return odd
