"""Metrics that are plain functions over one pair: their declaration and their results."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import MetricError, refuse_unknown
from ..plugins import origin_of
from .measures import Metric, Parameter, Pooling

if TYPE_CHECKING:
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
    numbers_and_texts = (one for one in _signature(function, origin) if isinstance(one.default, int | float | str))
    defaults = {one.name: one.default for one in numbers_and_texts}
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
    if not values:
        return (_metric(name=name, title=title, **common),)
    keys = values if isinstance(values, Mapping) else dict.fromkeys(values, _NOTHING)
    metrics = []
    for key, special in keys.items():
        fields = {"title": f"{title}: {key.replace('_', ' ')}", **common, "aliases": (), **special}
        metrics.append(_metric(name=f"{name}.{key}", value=key, **fields))
    return tuple(metrics)


_NAME = re.compile(r"[^\s@()\[\],:]+(?: [^\s@()\[\],:]+)*")


def _metric(**fields: Any) -> Metric:
    origin, name = fields["origin"], fields["name"]
    if not _NAME.fullmatch(name):
        raise MetricError(f"{origin}: invalid metric name {name!r}: '@', ':', ',' and brackets are not allowed")
    try:
        refuse_unknown("pair_metric", fields, Metric.__dataclass_fields__)
    except TypeError as error:
        raise MetricError(f"{origin}: {error}") from None
    for field, known in (("orientation", ("higher", "lower", "none")), ("pooling", ("exact", "micro", "none"))):
        if fields[field] not in known:
            raise MetricError(f"{origin}: {field} must be one of {', '.join(known)}, got {fields[field]!r}")
    return Metric(**fields)


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
        if len(layout) == len(needed):
            return layout
    if not needed and any(one.kind is one.VAR_POSITIONAL for one in every):
        return layouts[0]
    allowed = ", or ".join(f"{len(layout)}: {', '.join(layout.names)}" for layout in layouts)
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
