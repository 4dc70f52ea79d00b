"""What can be scored as a classification: one class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...annotations.classes import Classes
from ...ragged import Ragged, rows_of
from ..base.flaws import set_aside
from ..base.task import Cleaned
from ..labels import label_problems

_ANOTHER = "a track has one class, and this is another one"


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep one class a row.

    A row that repeats its class is cut to the first label; the others are counted as repairs.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label.
    classes : Classes or None
        Those that there are; None: any.

    Returns
    -------
    Cleaned
        Flaws are a second class, an empty name, and a class that is not among those that there are.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 0, 1, 0, 2])}, (np.array([2, 2, 1]),), ("jazz", "rock", "jzz"))
    >>> cleaned = clean(rows, Classes(("jazz", "rock")))
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist()
    ([1, 0, 0], [1, 0, 0])
    >>> [flaw.message for flaw in cleaned.flaws.values()]  # doctest: +NORMALIZE_WHITESPACE
    ["a track has one class, and this is another one: 'jazz'; the first is 'rock'",
     "not a class here: 'jzz'; did you mean 'jazz'?"]
    """
    label, texts = rows.columns["label"], [*rows.labels, ""]
    first = rows.offsets[:-1][rows_of(rows.counts[0])]
    problems = label_problems(rows, classes, "class")
    problems.append(
        (
            label != label[first],
            lambda item: f"{_ANOTHER}: {texts[label[item]]!r}; the first is {texts[label[first[item]]]!r}",
        )
    )
    repeated = np.arange(len(label)) != first
    cleaned = set_aside(rows, problems, repeated)
    if not repeated.any():
        return cleaned
    # The messages of second classes end with the first one, and its line is to follow.
    flaws = {
        row: replace(flaw, first=0) if flaw.message.startswith(_ANOTHER) else flaw
        for row, flaw in cleaned.flaws.items()
    }
    leading = np.zeros(len(cleaned.rows.columns["label"]), dtype=np.bool_)
    leading[cleaned.rows.offsets[:-1][cleaned.rows.counts[0] > 0]] = True
    return Cleaned(cleaned.rows.keep(leading), cleaned.repairs, flaws)
