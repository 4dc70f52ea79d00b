"""Records of metrics as tables."""

from __future__ import annotations

from ..metrics.base import Convention, Metric, Parameter
from .tables import Table

_BETTER = {"higher": "higher", "lower": "lower", "none": "-"}


def short_table(task: str, convention: Convention) -> Table:
    """The metrics of a convention for people, with the sources below.

    Parameters
    ----------
    task : str
    convention : Convention
    """
    rows = [
        (
            metric.name,
            _span(metric),
            _BETTER[metric.orientation],
            metric.standard_aggregate,
            f"{metric.weight} [{metric.weight_unit}]",
            ", ".join(map(_parameter, metric.parameters)),
            metric.summary,
        )
        for metric in convention.metrics
    ]
    columns = ("metric", "range", "better", "aggregate", "weight", "parameters", "what it measures")
    sources: dict[str, list[str]] = {}
    for metric in convention.metrics:
        if metric.literature:
            sources.setdefault(metric.literature, []).append(metric.name)
    notes = [f"{', '.join(names)}: {text}" for text, names in sources.items()]
    asked = [metric.name for metric in convention.metrics if not metric.default]
    if asked:
        notes.append(f"only computed when named: {', '.join(asked)}")
    title = f"task {task}, convention {convention.name}: {convention.summary}"
    return Table(columns, tuple(rows), title, tuple(notes), folds=("weight", "parameters", "what it measures"))


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
            *(metric.range[0], metric.range[1], metric.orientation, metric.unit, metric.weight, metric.weight_unit),
            *(metric.pooling, metric.standard_aggregate, " ".join(metric.aggregates), metric.perfect),
            *(metric.perfect_exceptions, "; ".join(map(_parameter, metric.parameters)), " ".join(metric.dims)),
            *(metric.default, metric.literature, metric.version),
        )
        for metric in convention.metrics
    )
    return Table(columns, rows)


def _span(metric: Metric) -> str:
    low, high = (f"{end:g}" for end in metric.range)
    return f"{low} to {high}{f' {metric.unit}' if metric.unit else ''}"


def _parameter(parameter: Parameter) -> str:
    choices = f" ({'|'.join(map(str, parameter.choices))})" if parameter.choices else ""
    return f"{parameter.name}={parameter.default}{f' {parameter.unit}' if parameter.unit else ''}{choices}"
