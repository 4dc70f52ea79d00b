"""Tasks of users, made from functions over one pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..ragged import Ragged
from .base import Convention, Grid, Pairs, Scores, Task
from .cleaning import Cleaned, set_aside
from .measures import Measure
from .user_metrics import metrics_from


def pair_task(
    name: str,
    *,
    kind: str,
    metrics: Sequence[Callable[..., Any]],
    title: str = "",
    headline: str = "",
    clean: Callable[[Ragged], Cleaned] | None = None,
) -> Task:
    """Make a task from functions over one pair.

    Parameters
    ----------
    name : str
    kind : str
        Kind of its annotations, as in :func:`mirflow.load`: ``events``, ``intervals``, ``notes``, ...
    metrics : sequence of callable
        Functions as for :func:`mirflow.pair_metric`; all of them are computed by default.
    title : str
        Title for tables; default: the name in words.
    headline : str
        Name of the metric that ranks systems; default: the first.
    clean : callable or None
        Rows of annotations -> `mirflow.metrics.cleaning.Cleaned`; None: rows are not cleaned.

    Returns
    -------
    Task
        Task with one convention, ``default``, for :func:`mirflow.declare_task`.

    Examples
    --------
    >>> def count_error(reference_times, estimated_times):
    ...     return abs(len(reference_times) - len(estimated_times))
    >>> task = pair_task("claps", kind="events", metrics=[count_error])
    >>> task.title, [metric.name for metric in task.convention().metrics]
    ('Claps', ['count_error'])
    """
    records = tuple(replace(one, default=True) for function in metrics for one in metrics_from(function, ""))
    convention = Convention(
        "default", "functions over one pair", records, clean or (lambda rows: set_aside(rows, [])), _no_scores
    )
    first = headline or next((record.name for record in records), "")
    words = title or name.replace("_", " ").capitalize()
    return Task(name, words, MappingProxyType({"default": convention}), (first,), kind=kind)


def _no_scores(pairs: Pairs, measures: Sequence[Measure], grid: Grid) -> Scores:
    nothing = np.zeros((len(pairs), len(measures)))
    return Scores(nothing, nothing)
