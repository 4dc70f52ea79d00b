"""Records of metrics as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..analysis.names import table_aggregates
from ..metrics.base import Convention, Metric, Parameter
from .tables import Table

_BETTER = {"higher": "higher", "lower": "lower", "none": "-"}


def overview_table(conventions: Sequence[tuple[str, Convention]]) -> Table:
    """What there is to choose from: a row for each task and convention, and how many metrics it has.

    Parameters
    ----------
    conventions : sequence of (str, Convention)
        Each with its task.

    Examples
    --------
    >>> from ..metrics.base import get_task
    >>> tempo = get_task("tempo")
    >>> print(overview_table([("tempo", tempo.convention("mir_eval"))]).columns)
    ('task', 'convention', 'metrics', 'rules')
    """
    rows = tuple((task, rules.name, len(rules.metrics), rules.summary) for task, rules in conventions)
    return Table(("task", "convention", "metrics", "rules"), rows, folds=("rules",))


def short_table(task: str, convention: Convention) -> Table:
    """The metrics of a convention for people; weights, parameters and sources stand below, each text once.

    Parameters
    ----------
    task : str
    convention : Convention
    """
    metrics = convention.metrics
    rows = [
        (
            metric.name,
            _span(metric),
            _BETTER[metric.orientation],
            _standard(metric),
            metric.weight_unit,
            metric.summary,
        )
        for metric in metrics
    ]
    columns = ("metric", "range", "better", "aggregate", "weight", "what it measures")
    notes = [f"weight of {names}: {text}" for text, names in _share(metrics, lambda one: [one.weight])]
    parameters = _share(metrics, lambda one: [_parameter(parameter) for parameter in one.parameters])
    notes += [f"parameter of {names}: {text}" for text, names in parameters]
    notes += [f"source of {names}: {text}" for text, names in _share(metrics, lambda one: [one.literature])]
    asked = [metric.name for metric in metrics if not metric.default]
    if asked and not convention.default_measures:
        notes.append(f"computed only when named: {', '.join(asked)}")
    title = f"task {task}, convention {convention.name}: {convention.summary}"
    return Table(columns, tuple(rows), title, tuple(notes), folds=("what it measures",))


def _share(metrics: Sequence[Metric], texts: Callable[[Metric], Sequence[str]]) -> list[tuple[str, str]]:
    """Each text with the names of the metrics that share it."""
    names: dict[str, list[str]] = {}
    for metric in metrics:
        for text in filter(None, texts(metric)):
            names.setdefault(text, []).append(metric.name)
    return [(text, ", ".join(sharing)) for text, sharing in names.items()]


def full_table(task: str, convention: Convention) -> Table:
    """Everything in the records of a convention's metrics, one row a metric."""
    columns = (
        *("task", "convention", "metric", "title", "summary", "key", "aliases", "low", "high", "orientation", "unit"),
        *("weight", "weight_unit", "pooling", "standard_aggregate", "aggregates", "perfect", "perfect_exceptions"),
        *("parameters", "dims", "default", "literature", "version"),
    )
    rows = tuple(
        (
            *(task, convention.name, metric.name, metric.title, metric.summary, metric.key, " ".join(metric.aliases)),
            *(*map(_end, metric.range), metric.orientation, metric.unit, metric.weight, metric.weight_unit),
            *(metric.pooling, _standard(metric), " ".join(_aggregates(metric)), metric.perfect),
            *(metric.perfect_exceptions, "; ".join(map(_parameter, metric.parameters)), " ".join(metric.dims)),
            *(metric.default, metric.literature, metric.version),
        )
        for metric in convention.metrics
    )
    return Table(columns, rows)


def _aggregates(metric: Metric) -> tuple[str, ...]:
    """The aggregates of a metric; those with extra dims have their own."""
    return tuple(table_aggregates(metric.orientation, metric.dims)) if metric.dims else metric.aggregates


def _standard(metric: Metric) -> str:
    counted = metric.dims and metric.orientation == "none"
    return _aggregates(metric)[0] if counted else metric.standard_aggregate


def _end(value: float) -> float | None:
    """An end of a range for programs; None where there is none."""
    return value if math.isfinite(value) else None


def _span(metric: Metric) -> str:
    low, high = (f"{end:g}" for end in metric.range)
    return f"{low} to {high}{f' {metric.unit}' if metric.unit else ''}"


def _parameter(parameter: Parameter) -> str:
    choices = f" (one of {', '.join(map(str, parameter.choices))})" if parameter.choices else ""
    return f"{parameter.name}={parameter.default}{f' {parameter.unit}' if parameter.unit else ''}{choices}"
