"""What can be scored as tags: each tag once, with a number or without."""

from __future__ import annotations

import numpy as np

from ...annotations.classes import Classes
from ...ragged import Ragged, rows_of
from ..base.flaws import set_aside
from ..base.task import Cleaned
from ..labels import label_problems


def clean(rows: Ragged, classes: Classes | None = None) -> Cleaned:
    """Keep each tag of a row once.

    A tag that is merely told again is dropped and counted as a repair.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: column label, and perhaps value (affinity or degree, NaN for none).
    classes : Classes or None
        The tags that there are; None: any.

    Returns
    -------
    Cleaned
        Flaws are tags without a name, tags that are not among those that there are, tags that stand twice with
        different numbers, and tags without a number in a row that has numbers.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 1, 0, 0, 0]), "value": np.array([0.5, 1, 0.5, 0.1, 0.2])},
    ...               (np.array([3, 2]),), ("guitar", "slow"))
    >>> cleaned = clean(rows)
    >>> cleaned.rows.counts[0].tolist(), cleaned.repairs.tolist(), cleaned.flaws[1].message
    ([2, 0], [1, 0], "the tag 'guitar' stands twice, with 0.1 and with 0.2")
    """
    label, texts, owner = rows.columns["label"], [*rows.labels, ""], rows_of(rows.counts[0])
    problems = label_problems(rows, classes, "tag")
    first = np.arange(len(label))
    key = owner * len(texts) + label
    _, leader, place = np.unique(key, return_index=True, return_inverse=True)
    first = leader[place.reshape(-1)]
    if "value" in rows.columns:
        value = rows.columns["value"]
        absent = np.isnan(value)
        mixed = absent & (np.bincount(owner[~absent], minlength=len(rows))[owner] > 0)
        differs = ~((value == value[first]) | (absent & absent[first]))
        problems += [
            (mixed, lambda item: f"the tag {texts[label[item]]!r} has no number, but others have"),
            (
                differs,
                lambda item: (
                    f"the tag {texts[label[item]]!r} stands twice, with {value[first[item]]:g} and with {value[item]:g}"
                ),
            ),
        ]
    repeated = first != np.arange(len(label))
    cleaned = set_aside(rows, problems, repeated)
    if not repeated.any():
        return cleaned
    spared = ~np.isin(owner, list(cleaned.flaws))
    return Cleaned(cleaned.rows.keep(~repeated[spared]), cleaned.repairs, cleaned.flaws)
