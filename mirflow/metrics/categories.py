"""Labels of both sides under one numbering, for classification and tagging."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..annotations.classes import Classes
from ..errors import suggest
from ..ragged import Bool, Int, Ragged
from .cleaning import Problem


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
