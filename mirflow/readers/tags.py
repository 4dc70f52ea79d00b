"""What files of labels and of rankings must obey: a number that stands beside a name is one, and a tag has a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from .fields import Layout
from .options import KEYS, Reading


def demand_numbers(annotation: Annotation, name: str | Path) -> Annotation:
    """The annotation, if none of its values is NaN: among numbers that stands for a label without one.

    Raises
    ------
    InvalidAnnotationError
        With the line and the label.

    Examples
    --------
    >>> tags = Annotation("labels", {"value": np.array([0.5, np.nan])}, ["slow", "loud"])
    >>> demand_numbers(tags, "a.tsv")
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.tsv:2: the number of 'loud' is NaN
    """
    for item in np.flatnonzero(np.isnan(annotation.columns.get("value", np.zeros(0)))).tolist():
        text = (annotation.labels or [""])[item]
        raise InvalidAnnotationError(f"the number of {text!r} is NaN", path=name, line=annotation.line(item))
    return annotation


def has_numbers(reading: Reading) -> bool:
    """Whether numbers that stand beside names count: a class is told without one, whatever else a table says.

    Examples
    --------
    >>> has_numbers(Reading.of(task="tagging")), has_numbers(Reading.of(task="classification"))
    (True, False)
    """
    return reading.task != "classification"


def are_no_tags(kind: str, rows: Sequence[tuple[int, Sequence[str]]], layout: Layout) -> bool:
    """Whether the rows of a track say that it has no tags: there is one, and it names nothing but the track.

    Examples
    --------
    >>> layout = Layout({"track": 0, "label": 1, "value": 2}, ",", 2)
    >>> are_no_tags("labels", [(5, ["c04", "", ""])], layout), are_no_tags("labels", [(5, ["c04", "", "1"])], layout)
    (True, False)
    """
    if kind != "labels" or len(rows) != 1:
        return False
    fields, places = rows[0][1], (place for column, place in layout.places.items() if column not in KEYS)
    return not any(fields[place] for place in places if place < len(fields))
