"""What files of labels and of rankings must obey: a number that stands beside a name is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError


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
