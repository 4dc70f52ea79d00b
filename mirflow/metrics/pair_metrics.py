"""Metrics declared outside of mirflow, in files, modules and packages: functions over one pair, and their results.

The decorator `pair_metric` is optional. Workers import such functions by their address, and failures are described with
name, file and line.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import MetricError, MirflowWarning, PluginError, refuse_unknown, suggest
from ..plugins import METRICS, describe_error, digest_of, import_module, installed, origin_of
from .measures import Family, Measure, Metric, Parameter, Pooling

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .arguments import ArgumentLayout

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DECLARED = "__mirflow_metric__"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def pair_metric(
    *,
    name: str = "",
    title: str = "",
    tasks: Sequence[str] = (),
    values: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    range: tuple[float, float] = (-math.inf, math.inf),
    orientation: Literal["higher", "lower", "none"] = "higher",
    unit: str = "",
    weight: str = "weight returned by the function, else 1 for each track",
    weight_unit: str = "tracks",
    pooling: Pooling = "micro",
    perfect: float | None = None,
    empty: float | None = None,
    parameters: Mapping[str, Mapping[str, Any]] = _NOTHING,
    aliases: Sequence[str] = (),
    literature: str = "",
) -> Callable[[_Function], _Function]:
    """Declare a function over one pair as a metric for pipelines, queries, tables and figures.

    The function takes the arrays of a pair in mir_eval's order for the task, reference first, or two arguments that are
    annotated as ``xr.Dataset``, and returns a number, a pair (score, weight), or a dict of these. Arguments with a
    number, a string or a bool as default are the parameters of the metric. Functions without this decorator are metrics
    with the defaults below.

    Parameters
    ----------
    name : str
        Default: name of the function.
    title : str
        Title for tables and figures; default: the name in words.
    tasks : sequence of str
        Tasks of the metric; empty: all tasks with matching arrays.
    values : sequence of str, or mapping of str to mapping
        Keys of the returned dict, each of which is a metric ``name.key``, optionally with ``title``, ``range``,
        ``orientation``, ``unit`` etc. of each.
    range : (float, float)
        Smallest and largest possible score.
    orientation : {"higher", "lower", "none"}
        Direction of better scores.
    unit : str
        Unit of the score; empty for ratios.
    weight, weight_unit : str
        Meaning and unit of the weight.
    pooling : {"exact", "micro", "none"}
        See `mirflow.metrics.measures.Metric`.
    perfect : float or None
        Score of a reference against itself; None if it is not fixed.
    empty : float or None
        Score if a side is empty; None: the function is called, as in mir_eval.
    parameters : mapping of str to mapping
        Properties of parameters by name: ``unit``, ``help``, ``choices``, ``least`` and ``above``.
    aliases : sequence of str
        Alternative names.
    literature : str
        Source of the definition.

    Returns
    -------
    callable
        Decorator that returns the function unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> @pair_metric(unit="s", orientation="lower", parameters={"window": {"unit": "s", "least": 0.0}})
    ... def drift(reference_times, estimated_times, window=0.07):
    ...     '''Mean distance of the estimates to the first reference.'''
    ...     return float(np.mean(np.abs(estimated_times - reference_times[0])))
    >>> (metric,) = metrics_of(drift, "beat")
    >>> metric.title, metric.summary, metric.unit, str(metric.measure(window=0.1))
    ('Drift', 'mean distance of the estimates to the first reference', 's', 'drift@0.1')
    """
    declared = dict(locals())

    def declare(function: _Function) -> _Function:
        setattr(function, _DECLARED, declared)
        return function

    return declare


_DEFAULTS: Mapping[str, Any] = pair_metric.__kwdefaults__ or {}


def metrics_of(
    function: Callable[..., Any],
    task: str,
    *,
    name: str = "",
    origin: str = "",
    digest: str = "",
    call: Callable[..., Any] | None = None,
) -> tuple[Metric, ...]:
    """Make the records of a function over one pair: one, or one for each key of the returned dict.

    `name`: default name; empty: the name of the function.
    """
    about: dict[str, Any] = dict(getattr(function, _DECLARED, _DEFAULTS))
    title, values, named = about.pop("title"), about.pop("values"), about.pop("name")
    name = named or name or getattr(function, "__name__", "").strip("<>")
    origin = origin or origin_of(function)
    tasks = tuple([about["tasks"]] if isinstance(about["tasks"], str) else about["tasks"])
    if task and tasks and task not in tasks:
        raise MetricError(f"{origin}: {name} is a metric of {' and '.join(tasks)}, not of {task}")
    more = about.pop("parameters")
    every = _signature(function, origin)
    defaults = {one.name: one.default for one in every if isinstance(one.default, int | float | str)}
    try:
        refuse_unknown("parameters", more, defaults)
        parameters = tuple(Parameter(key, default, **more.get(key, {})) for key, default in defaults.items())
    except TypeError as error:
        raise MetricError(f"{origin}: {error}") from None
    if task:
        layout_of(function, task, origin)
    text = " ".join(inspect.cleandoc(getattr(function, "__doc__", "") or "").split("\n\n")[0].split("\n")).rstrip(".")
    title = title or name.replace("_", " ").replace(".", " ").capitalize()
    common = {
        **about,
        "summary": text[:1].lower() + text[1:] or "no description",
        "tasks": tasks,
        "aliases": tuple(about["aliases"]),
        "parameters": parameters,
        "default": False,
        "pair": call or function,
        "origin": origin,
        "digest": digest,
    }
    members: list[dict[str, Any]] = [{"name": name, "title": title, **common}]
    if values:
        keys = values if isinstance(values, Mapping) else dict.fromkeys(values, _NOTHING)
        common |= {"aliases": ()}
        members = [
            dict(name=f"{name}.{key}", value=key, **{"title": f"{title}: {key.replace('_', ' ')}", **common, **special})
            for key, special in keys.items()
        ]
    for fields in members:
        if not _NAME.fullmatch(fields["name"]):
            wrong = f"invalid metric name {fields['name']!r}: '@', ':', ',' and brackets are not allowed"
            raise MetricError(f"{origin}: {wrong}")
        try:
            refuse_unknown("pair_metric", fields, Metric.__dataclass_fields__)
        except TypeError as error:
            raise MetricError(f"{origin}: {error}") from None
        for field, known in (("orientation", ("higher", "lower", "none")), ("pooling", ("exact", "micro", "none"))):
            if fields[field] not in known:
                raise MetricError(f"{origin}: {field} must be one of {', '.join(known)}, got {fields[field]!r}")
    return tuple(Metric(**fields) for fields in members)


_NAME = re.compile(r"[^\s@()\[\],:]+(?: [^\s@()\[\],:]+)*")


def _signature(function: Callable[..., Any], origin: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise MetricError(f"{origin}: not a Python function, so its parameters are unknown; wrap it") from None


def layout_of(function: Callable[..., Any], task: str, origin: str = "") -> ArgumentLayout:
    """Find the layout of a task's arrays that a function takes; raise a MetricError if none fits."""
    from .arguments import datasets_of, layouts_of

    every, layouts = _signature(function, origin), layouts_of(task)
    positional = [one for one in every if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one.name for one in positional if one.default is one.empty]
    lacking = [one.name for one in every if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if lacking:
        raise MetricError(f"{origin}: parameter {lacking[0]!r} needs a default")
    labelled = [one for one in positional[:2] if str(one.annotation).rstrip("'>").endswith("Dataset")]
    if len(labelled) == len(needed) == 2:
        return datasets_of(task)
    for layout in layouts:
        if len(layout.names) == len(needed):
            return layout
    if not needed and any(one.kind is one.VAR_POSITIONAL for one in every):
        return layouts[0]
    allowed = ", or ".join(f"{len(layout.names)}: {', '.join(layout.names)}" for layout in layouts)
    count = f"{len(needed)} ({', '.join(needed)})" if needed else "none"
    taken = f"takes {count} in front, but functions over a pair of {task} take {allowed}"
    raise MetricError(f"{origin}: {taken}; give others a default")


class ResultError(MetricError):
    """A function over one pair has returned an invalid result."""


def read_result(result: Any, key: str = "") -> tuple[float, float]:
    """Read score and weight from the result of a function over one pair.

    `result` (number, (score, weight), or dict of these): NaN if there is nothing to measure. Returns `score`, `weight`
    (float): the weight is 1 if none is returned, and 0 if there is nothing to measure.

    Examples
    --------
    >>> read_result(0.5), read_result((0.5, 3)), read_result({"early": 0.25}, "early"), read_result(math.nan)
    ((0.5, 1.0), (0.5, 3.0), (0.25, 1.0), (nan, 0.0))
    """
    if key:
        if not isinstance(result, Mapping):
            raise ResultError(f"returned {_shown(result)}, not a dict with {key!r}")
        if key not in result:
            raise ResultError(f"returned a dict without {key!r}; it has: {', '.join(map(repr, result))}")
        result = result[key]
    elif isinstance(result, Mapping):
        raise ResultError("returned a dict; declare its keys: @mirflow.pair_metric(values=[...])")
    pair = result if isinstance(result, tuple | list) else (result, 1.0)
    try:
        if len(pair) != 2 or any(isinstance(one, str | bytes) or getattr(one, "ndim", 0) for one in pair):
            raise TypeError
        score, weight = map(float, pair)
    except (TypeError, ValueError):
        message = f"returned {_shown(result)}; return a number, (score, weight), or a dict of these"
        raise ResultError(message) from None
    if math.isnan(score):
        return math.nan, 0.0
    if not (math.isfinite(weight) and weight >= 0):
        raise ResultError(f"returned the weight {weight:g}; weights must be finite and at least 0")
    return score, weight


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"an array of shape {tuple(shape)}"
    return "None (missing return statement?)" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"


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


def load_metrics(
    text: str, task: str, folder: str | os.PathLike[str] = "."
) -> tuple[tuple[Metric, ...], list[str]] | None:
    """Load metrics specified by their module, and the identity strings or sweeps of those selected; None without one.

    `text` is ``path.py:name`` or ``package.module:name``, optionally with one of several values and with parameters as
    in identity strings: ``my_metrics.py:swing.early@0.1``. Paths are relative to `folder`.
    """
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        return None
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
