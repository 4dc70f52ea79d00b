"""What can be scored as a global key: one label that names a key."""

from __future__ import annotations

import numpy as np

from ...ragged import Ragged, rows_of
from ...theory.keys import parse_key
from ..base.flaws import set_aside
from ..base.task import Cleaned


def clean(rows: Ragged) -> Cleaned:
    """Keep one key a row.

    A row that repeats its key, in whatever spelling, is cut to the first label; the others are counted as repairs.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label.

    Returns
    -------
    Cleaned
        Flaws are labels that name no key, and a second key: what is compared is the key of a whole track.

    Examples
    --------
    >>> cleaned = clean(Ragged({"label": np.array([0, 1, 2, 0, 3])}, (np.array([2, 1, 2]),),
    ...                        ("C# minor", "Db:minor", "H major", "A major")))
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist()
    ([1, 0, 0], [1, 0, 0])
    >>> [flaw.message for flaw in cleaned.flaws.values()]
    ["not a key: 'H major'", "a track has one key, and this is another one: 'A major'"]
    """
    label = rows.columns["label"]
    keys = [parse_key(text) for text in rows.labels]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    of_label = np.array([*(-1 if key is None else numbers[key] for key in keys), -1], dtype=np.int64)
    key = of_label[label]  # the last one serves items without a label
    owner = rows_of(rows.counts[0])
    first = rows.offsets[:-1][owner]
    texts = [*rows.labels, ""]
    problems = [
        (key < 0, lambda item: f"not a key: {texts[label[item]]!r}"),
        (key != key[first], lambda item: f"a track has one key, and this is another one: {texts[label[item]]!r}"),
    ]
    repeated = np.arange(len(label)) != first
    cleaned = set_aside(rows, problems, repeated)
    if not repeated.any():
        return cleaned
    leading = np.zeros(len(cleaned.rows.columns["label"]), dtype=np.bool_)
    leading[cleaned.rows.offsets[:-1][cleaned.rows.counts[0] > 0]] = True
    return Cleaned(cleaned.rows.keep(leading), cleaned.repairs, cleaned.flaws)
