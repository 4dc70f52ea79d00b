"""Metrics declared outside of mirflow: in Python files, modules and installed packages."""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MetricError, MirflowWarning, PluginError, suggest
from ..plugins import METRICS, describe_error, digest_of, import_module, installed, origin_of
from .measures import Family, Measure, Metric
from .pair_metrics import ResultError, layout_of, metrics_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_REFERENCE = re.compile(r"(?P<module>.+\.py|[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)(?P<value>(?:\.\w+)*)(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class Imported:
    """A function of a module that is imported where it is called, so that workers only receive its address."""

    module: str  # Path of a Python file, or the dotted name of a module
    name: str  # Name of a function or of records of metrics
    metric: str = ""  # Name of one of several records
    digest: str = ""  # Digest of the source; a worker with another one refuses to call

    def __call__(self, *arguments: Any, **parameters: Any) -> Any:
        """Call the function."""
        return _function_at(self)(*arguments, **parameters)


def function_of(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that is called."""
    return _function_at(call) if isinstance(call, Imported) else call


@lru_cache(maxsize=256)
def _function_at(address: Imported) -> Callable[..., Any]:
    module = import_module(address.module)
    named = getattr(module, address.name)
    if digest_of(module, named) != address.digest:
        raise PluginError(f"{address.module}: has changed since the run began; run again")
    records = _records(named)
    if not records:
        return named  # type: ignore[no-any-return]
    return next(record.read for record in records if record.name == address.metric and record.read is not None)


def _records(thing: Any) -> tuple[Metric, ...]:
    """Records that an object is or contains; none for functions."""
    if isinstance(thing, Metric):
        return (thing,)
    if isinstance(thing, Family | list | tuple) and thing and all(isinstance(record, Metric) for record in thing):
        return tuple(thing)
    return ()


def describe_failure(error: BaseException, measures: Sequence[Measure]) -> str:
    """Describe an error in the computation of measures, with name and line for metrics from outside of mirflow."""
    foreign = [measure for measure in measures if measure.metric.origin]
    if len(measures) != 1 or not foreign:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    metric = foreign[0].metric
    call, name = metric.pair or metric.read, metric.name.removesuffix(f".{metric.value}")
    if isinstance(error, ResultError):
        return f"{name} {error}"
    code = getattr(inspect.unwrap(function_of(call)), "__code__", None) if call is not None else None
    return f"{name}: {describe_error(error, getattr(code, 'co_filename', ''))}"


def is_reference(text: str) -> bool:
    """True if a text specifies a metric by its module: ``my_metrics.py:swing_error``."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def load_metrics(text: str, task: str, folder: str | os.PathLike[str] = ".") -> tuple[tuple[Metric, ...], list[str]]:
    """Load metrics specified by their module, and the identity strings or sweeps of those selected.

    `text` is ``path.py:name`` or ``package.module:name``, optionally with one of several values and with parameters as
    in identity strings: ``my_metrics.py:swing.early@0.1``. Paths are relative to `folder`.
    """
    match = _REFERENCE.fullmatch(text.strip())
    assert match is not None, text
    module, name, value, rest = match["module"], match["name"], match["value"], match["rest"]
    address = str(Path(folder, module)) if module.endswith(".py") else module
    metrics = _metrics_at(address, name, task, f"{module}:{name}")
    if not value:
        return metrics, [f"{metric.name}{rest}" for metric in metrics]
    meant = [metric for metric in metrics if metric.name.endswith(value)]
    if not meant:
        values = (metric.value for metric in metrics)
        raise MetricError(f"{module}:{name} has no {value[1:]!r}; {suggest(value[1:], values)}")
    return metrics, [f"{meant[0].name}{rest}"]


def _metrics_at(address: str, name: str, task: str, origin: str, named: str = "") -> tuple[Metric, ...]:
    module = import_module(address)
    if not hasattr(module, name):
        public = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise PluginError(f"{origin}: has no {name!r}; {suggest(name, public)}")
    target = getattr(module, name)
    path = os.path.realpath(address) if address.endswith(".py") else address
    digest = digest_of(module, target)
    records = _records(target)
    if records:
        for record in records:
            if record.tasks and task and task not in record.tasks:
                raise MetricError(f"{origin}: {record.name} is a metric of {' and '.join(record.tasks)}, not of {task}")
        return tuple(
            replace(record, read=Imported(path, name, record.name, digest), origin=origin, digest=digest, default=False)
            for record in records
        )
    if not callable(target) or isinstance(target, type):
        raise MetricError(f"{origin}: is a {type(target).__name__}, neither a function over one pair nor a metric")
    call = Imported(path, name, "", digest)
    return metrics_of(target, task, name=named, origin=origin, digest=digest, call=call)


def metrics_from(found: Any, task: str) -> tuple[Metric, ...]:
    """Return the metrics of a function over one pair, or of one or several records, in memory; else raise a
    MetricError.
    """
    records = _records(found)
    if records:
        return tuple(record if record.origin else replace(record, origin=origin_of(record.read)) for record in records)
    if not callable(found):
        raise MetricError(f"expected the name of a metric or a function over one pair, got {found!r}")
    module = sys.modules.get(getattr(found, "__module__", ""))
    return metrics_of(found, task, digest="" if module is None else digest_of(module, found))


def installed_metrics(task: str, name: str | None = None) -> tuple[Metric, ...]:
    """Return the metrics of a task that installed packages declare as entry points ``mirflow.metrics``.

    `name` is an entry point, optionally followed by a dot and a value; None: all, skipping those that cannot be loaded
    with a warning.
    """
    metrics: list[Metric] = []
    for point in installed(METRICS):
        if name is not None:
            if point.name in (name, name.partition(".")[0]):
                metrics += _of_entry_point(point, task)
            continue
        fitting = []
        try:
            for metric in _of_entry_point(point, ""):
                if metric.tasks or metric.pair is None:
                    fitting += [metric] if task in metric.tasks else []
                    continue
                function = function_of(metric.pair)
                with suppress(MetricError):  # if it does not take the arrays of the task
                    layout_of(function, task)
                    fitting.append(metric)
        except (MetricError, PluginError) as error:
            warnings.warn(str(error), MirflowWarning, stacklevel=2)
        else:
            metrics += fitting
    return tuple(metrics)


def _of_entry_point(point: EntryPoint, task: str) -> tuple[Metric, ...]:
    package = f"{point.dist.name} {point.dist.version}, " if point.dist is not None else ""
    if not point.attr:
        raise PluginError(f"{package}entry point {point.name!r}: names no function of {point.module}")
    metrics = _metrics_at(point.module, point.attr, task, f"{package}{point.module}:{point.attr}", point.name)
    for metric in metrics:
        if metric.pair is None and not metric.tasks:
            raise MetricError(f"{metric.origin}: {metric.name} does not declare its tasks")
    return metrics
