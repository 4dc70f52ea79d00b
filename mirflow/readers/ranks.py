"""Lists of names in the order of their ranks or scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int


def order_names(annotation: Annotation, name: str | Path | None) -> Annotation:
    """Sort a list by its ranks, or a ranking without ranks by its scores; other annotations are unchanged.

    The column ``rank`` is dropped. Equal scores keep the order of their rows. `name` is the file in messages, if any.
    """
    kind, columns = annotation.schema, dict(annotation.columns)
    graded = "grader" in kind.columns
    if not graded:
        demand_numbers(annotation, name)
    rank = columns.pop("rank", None)
    if rank is None:
        if "value" not in columns or kind.dims != ("rank",):
            return annotation
        return reorder(annotation, columns, np.argsort(-columns["value"], kind="stable"))
    # Ranks are distinct and, but for graded items, 1, 2, 3, ... or 0, 1, 2, ..., in any order.
    order = np.argsort(rank, kind="stable")
    ranks = rank[order]
    if graded:
        odd = np.flatnonzero(~(rank >= 1) | (rank != np.floor(rank)))
        wrong = np.flatnonzero(ranks[1:] == ranks[:-1]) + 1
        if len(odd):
            message = f"invalid rank {rank[odd[0]]:g}: ranks are integers from 1"
            raise InvalidAnnotationError(message, path=name, line=annotation.line(int(odd[0])))
    else:
        wrong = np.flatnonzero(ranks != np.arange(len(ranks)) + (0.0 if len(ranks) and ranks[0] == 0 else 1.0))
    if len(wrong):
        place, item = int(wrong[0]), int(order[wrong[0]])
        text = f"{rank[item]:g}"
        if place and ranks[place] == ranks[place - 1]:
            message = f"rank {text} occurs twice, first on line {annotation.line(int(order[place - 1]))}"
        elif place and ranks[place] > ranks[place - 1] and ranks[place] == np.floor(ranks[place]):
            message = f"missing rank {ranks[place - 1] + 1:g}: {ranks[place - 1]:g} is followed by {text}"
        else:
            message = f"invalid first rank {text}: ranks are integers from 1 (or 0)"
        message += "" if graded else "; or declare columns without the rank"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
    return reorder(annotation, columns, order)


def demand_numbers(annotation: Annotation, name: str | Path | None) -> None:
    """Raise if a value is NaN, such as that of a label without a number."""
    for item in np.flatnonzero(np.isnan(annotation.columns.get("value", np.zeros(0)))).tolist():
        text = (annotation.labels or [""])[item]
        raise InvalidAnnotationError(f"the number of {text!r} is NaN", path=name, line=annotation.line(item))


def order_by_score(annotation: Annotation) -> Annotation:
    """Sort a ranking by scores; among equal ones, the item with the later name is first, as in trec_eval."""
    labels = list(annotation.labels or ())
    value: Float = annotation.columns["value"]
    named = np.array(sorted(range(len(labels)), key=lambda item: labels[item].encode(), reverse=True), dtype=np.int64)
    return reorder(annotation, annotation.columns, named[np.argsort(-value[named], kind="stable")])


def reorder(annotation: Annotation, columns: Mapping[str, Column], order: Int) -> Annotation:
    """Reorder some columns of a list, its labels and its lines."""
    items = order.tolist()
    labels: Sequence[str] | None = annotation.labels
    labels = None if labels is None else [labels[item] for item in items]
    lines = [annotation.line(item) or 0 for item in items]
    moved = {column: values[order] for column, values in columns.items()}
    return replace(annotation, columns=moved, labels=labels, lines=lines)
