"""The identity of a metric with its parameters: one string, one parser."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from ...errors import MetricError, UnknownNameError
from .record import Metric, Parameter, Value

_SWEEP = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)@\[(?P<values>[^\]]*)\](?P<rest>(?:\([^()]*\))?)$")
_MOST_STEPS = 1000
_FORM = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)(?:@(?P<primary>[^()\s]+))?(?:\((?P<rest>[^()]*)\))?$")


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric with all its parameters set.

    Examples
    --------
    >>> from mirflow.metrics.base.record import Parameter
    >>> hit = Metric("f_measure", "F", "hits", "events", parameters=(Parameter("window", 0.05, "s"),
    ...                                                               Parameter("trim", False)))
    >>> str(parse("f_measure", [hit])), str(parse("f_measure@0.1(trim=true)", [hit]))
    ('f_measure', 'f_measure@0.1(trim=true)')
    >>> parse("f_measure@0.05", [hit]) == parse("f_measure", [hit])
    True
    """

    metric: Metric
    values: tuple[Value, ...] = ()

    @property
    def parameters(self) -> MappingProxyType[str, Value]:
        """Every parameter with its value, defaults included."""
        return MappingProxyType(dict(zip((p.name for p in self.metric.parameters), self.values, strict=True)))

    @property
    def variable(self) -> str:
        """The name of its own variable in a dataset, for metrics with extra dims: ``confusion_majmin``.

        It holds the value of the primary parameter, and names and values of others that are not the defaults.
        """
        told = [str(value) for value in self.values[:1]]
        others = list(zip(self.metric.parameters, self.values, strict=True))[1:]
        told += [f"{parameter.name}_{_show(value)}" for parameter, value in others if value != parameter.default]
        return "_".join([self.metric.name, *told])

    def __getitem__(self, name: str) -> Value:
        return self.parameters[name]

    def __str__(self) -> str:
        text = self.metric.name
        changed = [(p, v) for p, v in zip(self.metric.parameters, self.values, strict=True) if v != p.default]
        if changed and changed[0][0] is self.metric.parameters[0]:
            text += f"@{_show(changed.pop(0)[1])}"
        if changed:
            text += f"({','.join(f'{p.name}={_show(v)}' for p, v in changed)})"
        return text


def _show(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _read(parameter: Parameter, text: str, where: str) -> Value:
    """A parameter's value from its text, of the type of its default."""
    value: Value
    try:
        if isinstance(parameter.default, bool):
            value = {"true": True, "false": False}[text.lower()]
        else:
            value = type(parameter.default)(text)
    except (ValueError, KeyError):
        kind = type(parameter.default).__name__
        raise MetricError(f"{where}: parameter {parameter.name!r} needs a {kind}, not {text!r}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise MetricError(f"{where}: parameter {parameter.name!r} needs a finite number, not {text!r}")
    if isinstance(value, int | float):
        _check_bounds(parameter, value, where)
    if parameter.choices and value not in parameter.choices:
        raise UnknownNameError(f"value of {parameter.name!r} in {where}", text, map(str, parameter.choices))
    return value


def _check_bounds(parameter: Parameter, value: float, where: str) -> None:
    unit = f" {parameter.unit}" if parameter.unit else ""
    if parameter.above is not None and not value > parameter.above:
        raise MetricError(f"{where}: parameter {parameter.name!r} must be greater than {parameter.above:g}{unit}")
    if parameter.least is not None and not value >= parameter.least:
        raise MetricError(f"{where}: parameter {parameter.name!r} must be at least {parameter.least:g}{unit}")


def _own_name(metric: Metric) -> tuple[str, ...]:
    return (metric.name,)


def _other_names(metric: Metric) -> tuple[str, ...]:
    return (*metric.aliases, metric.key) if metric.key else metric.aliases


def _title(metric: Metric) -> tuple[str, ...]:
    return (metric.title,)


def _look_up(name: str, metrics: Sequence[Metric]) -> Metric | None:
    for spelt in (str, str.casefold):
        for names in (_own_name, _other_names, _title):
            for metric in metrics:
                if spelt(name) in map(spelt, names(metric)):
                    return metric
    return None


def find(name: str, metrics: Iterable[Metric]) -> Metric:
    """The record that a name means: the metric's own name, an alias, mir_eval's key or the title, in any case.

    Where several records answer to it, its spelling decides before the case does, and names before titles.

    Raises
    ------
    UnknownNameError
        If none does, with a suggestion.
    """
    metrics = list(metrics)
    found = _look_up(name, metrics)
    if found is not None:
        return found
    raise UnknownNameError("metric", name, [metric.name for metric in metrics])


def parse(text: str, metrics: Iterable[Metric]) -> Measure:
    """The measure that an identity string names.

    Parameters
    ----------
    text : str
        ``name``, ``name@value`` (the primary parameter) or ``name@value(parameter=value,...)``; the name may also be an
        alias, mir_eval's key or the title.
    metrics : iterable of Metric
        The records to choose from.

    Raises
    ------
    UnknownNameError
        For a metric, parameter or choice that does not exist, with a suggestion.
    MetricError
        For a string or a value that does not parse.
    """
    metrics = list(metrics)
    whole = _look_up(text.strip(), metrics)  # titles may have brackets
    if whole is not None:
        return Measure(whole, tuple(one.default for one in whole.parameters))
    form = _FORM.match(text.strip())
    if form is None:
        raise MetricError(f"not a metric: {text!r}; write it like majmin, csr@root or f_measure@0.05(trim=true)")
    metric = find(form["name"], metrics)
    pairs = list(_pairs(form["rest"] or "", text))
    if form["primary"] is not None:
        if not metric.parameters:
            raise MetricError(f"{text}: {metric.name} has no parameters")
        pairs.insert(0, (metric.parameters[0].name, form["primary"]))
    given = dict(pairs)
    if len(given) < len(pairs):
        raise MetricError(f"{text}: gives a parameter twice")
    known = {parameter.name: parameter for parameter in metric.parameters}
    for name in given:
        if name not in known:
            raise UnknownNameError(f"parameter of {metric.name}", name, known)
    values = tuple(_read(p, given[p.name], text) if p.name in given else p.default for p in metric.parameters)
    return Measure(metric, values)


def _pairs(rest: str, text: str) -> Iterable[tuple[str, str]]:
    for item in filter(None, (part.strip() for part in rest.split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise MetricError(f"{text}: write parameters as name=value, not {item!r}")
        yield name.strip(), value.strip()


def defaults(metrics: Iterable[Metric]) -> tuple[Measure, ...]:
    """What is computed where no metrics are named."""
    return tuple(Measure(m, tuple(p.default for p in m.parameters)) for m in metrics if m.default)


def expand(text: str) -> list[str]:
    """The identity strings of a sweep over a metric's primary parameter; any other text is itself.

    Parameters
    ----------
    text : str
        ``name@[first:last:step]``, both ends included, or ``name@[value,value,...]``, perhaps followed by other
        parameters in brackets.

    Raises
    ------
    MetricError
        For a sweep that does not parse, has no steps or more than 1000.

    Examples
    --------
    >>> expand("f_measure@[0.05:0.2:0.05](trim=true)")[::3]
    ['f_measure@0.05(trim=true)', 'f_measure@0.20(trim=true)']
    >>> expand("csr@[root,majmin]")
    ['csr@root', 'csr@majmin']
    """
    sweep = _SWEEP.match(text.strip())
    if sweep is None:
        return [text]
    inner = sweep["values"]
    values = [value.strip() for value in inner.split(",")] if ":" not in inner else _steps(inner, text)
    return [f"{sweep['name']}@{value}{sweep['rest']}" for value in values]


def _steps(inner: str, text: str) -> list[str]:
    """The values of ``first:last:step``, in decimal arithmetic, so that they print as people write them."""
    try:
        first, last, step = (Decimal(part.strip()) for part in inner.split(":"))
        count = int((last - first) / step) + 1
    except (ValueError, ArithmeticError):
        raise MetricError(f"{text}: write a sweep as [first:last:step], with a step above 0") from None
    if step <= 0 or not 1 <= count <= _MOST_STEPS:
        raise MetricError(f"{text}: a sweep has 1 to {_MOST_STEPS} values, with a step above 0")
    return [str(first + number * step) for number in range(count)]


def select(texts: Sequence[str] | None, metrics: Sequence[Metric]) -> tuple[Measure, ...]:
    """The measures that identity strings and sweeps name, repeated ones once; None: the default ones."""
    if texts is None:
        return defaults(metrics)
    return tuple(dict.fromkeys(parse(one, metrics) for text in texts for one in expand(text)))
