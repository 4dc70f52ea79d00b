"""Metrics with their parameters: declarations, identity strings, and the coordinates that describe them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ..errors import MetricError, UnknownNameError
from ..ragged import Column, Float, Int
from .aggregates import AGGREGATES
from .literature import spell_out

Value = float | int | str | bool
Pooling = Literal["exact", "micro", "none"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a metric.

    Parameters
    ----------
    name : str
    default : float, int, str or bool
        Its type is the parameter's type.
    unit : str
        Empty for pure numbers and names.
    choices : tuple
        Allowed values; empty: any.
    above, least : float or None
        A number must be greater than `above`, and at least `least`.
    words : tuple of str
        Values beside numbers, such as ``exact``.
    help : str
        One line.
    mir_eval : str
        Its name in mir_eval's functions; empty if they do not have it.
    """

    name: str
    default: Value
    unit: str = ""
    choices: tuple[Value, ...] = ()
    help: str = ""
    above: float | None = None
    least: float | None = None
    mir_eval: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Weight:
    """Weight of a score: its denominator.

    Parameters
    ----------
    words : str
    unit : str
        ``s`` or a counted thing.
    counts : str
        How it follows from the numbers of items of both sides, as a name in `COUNTS`; empty where it does not.
    """

    words: str
    unit: str
    counts: str = ""

    def __post_init__(self) -> None:
        if self.counts not in ("", *COUNTS):
            raise MetricError(f"weight {self.words!r}: counts is {self.counts!r}; known: {', '.join(COUNTS)}")


LABELS = "labels"
"""What metrics need that compare items of the same label alone."""

FUNCTIONS = "functional labels"
"""The same of metrics of a task whose other ones compare labels within a side alone."""

COUNTS: Mapping[str, Callable[[Int, Int], Column]] = MappingProxyType(
    {
        "mean": lambda references, estimates: 0.5 * (references + estimates),
        "larger": np.maximum,
        "reference": lambda references, estimates: references,
        "estimate": lambda references, estimates: estimates,
        "track": lambda references, estimates: references > 0,
    }
)
"""Weights that follow from the numbers of items of both sides: the mean of them, the larger one, one side's, or 1 for
each pair with a reference."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The record of one metric.

    Parameters
    ----------
    name : str
        The name in pipelines, stores and on the command line.
    title : str
        For tables and figures.
    summary : str
        Summary in one line.
    weight : str
        Meaning of the weight: the score's own denominator.
    weight_unit : str
        Unit of the weight, ``s`` or a counted thing.
    key : str
        The key in the result of mir_eval's ``evaluate``; empty if it has none.
    aliases : tuple of str
        Other names that mean the same.
    range : (float, float)
        Smallest and largest possible score; of scores that a parameter scales, such as points, at its default.
    orientation : {"higher", "lower", "none"}
        Direction of better scores.
    unit : str
        Unit of the score; empty for ratios.
    pooling : {"exact", "micro", "none"}
        Whether the weighted mean over tracks is the collection as one long file, a meaningful ratio but not that, or
        not allowed.
    standard_aggregate : str
        The aggregate that the field reports: a name of :data:`mirflow.metrics.aggregates.AGGREGATES`.
    recall : bool
        Whether it is a chord symbol recall, for which the weighted recalls (``wcsr`` and its kin) are defined.
    perfect : float or None
        The score of a reference against itself; None where it is not fixed.
    perfect_exceptions : str
        When a reference against itself scores otherwise.
    parameters : tuple of Parameter
        The first is the primary one, written after ``@``.
    dims : tuple of str
        Extra dims of the result, for metrics that are not one number; they are stored as sibling variables.
    default : bool
        Whether a pipeline that names no metrics computes it.
    literature : str
        Source of the definition, with citations such as ``@dixon2007``: keys of ``literature.bib``.
    version : int
        Raised when its numbers change; stored scores of another version are computed again.
    nominal : bool
        Whether its numbers are names, such as which source stands where, that nothing can be made of over tracks.
    read : callable or None
        What its task's kernel has computed of some pairs -> score and weight of each, in a form that the task chooses.
    needs : str
        What a pair must have for it to be read, in a word that the task's kernel knows.
    counts : str
        See `Weight`.
    mir_eval : str
        The function of mir_eval that returns it; empty: the one of its own name.
    itemwise : bool
        Whether it judges items one by one, so that there is evidence of it.
    tasks : tuple of str
        Tasks that a metric from outside of mirflow is for; empty: any that it fits.
    pair : callable or None
        A function over one pair of plain arrays that gives score and weight, in place of `read`.
    value : str
        Key of its value in what `pair` returns; empty: that is the value.
    empty : float or None
        Score of a pair with an empty side, for which `pair` is not called then.
    origin : str
        Module and name, where it is defined outside of mirflow.
    digest : str
        Digest of the source files of `origin`; stored scores of another digest are computed again.
    """

    name: str
    title: str
    summary: str
    weight: str
    weight_unit: str = "s"
    key: str = ""
    aliases: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    orientation: Literal["higher", "lower", "none"] = "higher"
    unit: str = ""
    pooling: Pooling = "exact"
    standard_aggregate: str = "mean"
    recall: bool = False
    perfect: float | None = 1.0
    perfect_exceptions: str = ""
    parameters: tuple[Parameter, ...] = ()
    dims: tuple[str, ...] = ()
    default: bool = True
    literature: str = ""
    version: int = 1
    nominal: bool = False
    read: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    needs: str = ""
    counts: str = ""
    mir_eval: str = ""
    itemwise: bool = False
    tasks: tuple[str, ...] = ()
    pair: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    value: str = ""
    empty: float | None = None
    origin: str = ""
    digest: str = ""

    def with_defaults(self, **values: Value) -> Metric:
        """The same metric with other defaults of those of the parameters that it has.

        Examples
        --------
        >>> hits = Metric("hits", "Hits", "", "events", parameters=(Parameter("window", 0.05, "s"),))
        >>> hits.with_defaults(window=0.1, trim=True).parameters[0].default
        0.1
        """
        changed = (replace(one, default=values.get(one.name, one.default)) for one in self.parameters)
        return replace(self, parameters=tuple(changed))

    def measure(self, **values: Value) -> Measure:
        """The measure with the given values of those of the parameters that it has, and defaults of the others.

        Raises
        ------
        UnknownNameError
            For a value that is not among the choices, with a suggestion.
        MetricError
            For a value of another type, not finite or out of bounds.

        Examples
        --------
        >>> hits = Metric("hits", "Hits", "", "events", parameters=(Parameter("window", 0.05, "s", least=0.0),))
        >>> str(hits.measure(window=0.1, trim=True))
        'hits@0.1'
        """
        return self._measure({name: str(value) for name, value in values.items()}, self.name)

    def _measure(self, given: Mapping[str, str], where: str) -> Measure:
        read = (_read(p, given[p.name], where) if p.name in given else p.default for p in self.parameters)
        return Measure(self, tuple(read))

    def few(self, references: Int, estimates: Int) -> Float:
        """The weight where there are too few items to measure it: float64 (pairs,)."""
        return COUNTS[self.counts](references, estimates).astype(np.float64)

    @property
    def source(self) -> str:
        """The source of the definition as text for people."""
        return spell_out(self.literature)

    @property
    def function(self) -> str:
        """The function of the pair door that returns it."""
        return self.mir_eval or self.name

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The aggregates that make sense for it."""
        met = {"scores": True, "weights": self.pooling != "none", "recall": self.recall}
        return tuple(name for name, one in AGGREGATES.items() if met[one.requires])


def to_record(metric: Metric) -> dict[str, Any]:
    """The fields of a metric that are not the defaults, as JSON; without its functions.

    Examples
    --------
    >>> hits = Metric("hits", "Hits", "", "events", parameters=(Parameter("window", 0.05, "s"),), range=(0, math.inf))
    >>> record = to_record(hits)
    >>> record["parameters"], record["range"], from_record(record) == hits
    ([{'name': 'window', 'default': 0.05, 'unit': 's'}], [0, None], True)
    """
    return {"parameters": [_changed(one) for one in metric.parameters], **_changed(metric, "parameters")}


def _changed(record: Metric | Parameter, *others: str) -> dict[str, Any]:
    found = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if one.compare and one.name not in others and (one.name == "default" or value != one.default):
            if one.name == "range":
                value = [end if math.isfinite(end) else None for end in value]
            found[one.name] = list(value) if isinstance(value, tuple) else value
    return found


def from_record(record: Mapping[str, Any]) -> Metric:
    """The metric of a record; it cannot be computed."""
    given = _known(Metric, record)
    low, high = record.get("range", (0.0, 1.0))
    given["range"] = (-math.inf if low is None else low, math.inf if high is None else high)
    given["parameters"] = tuple(Parameter(**_known(Parameter, one)) for one in record.get("parameters", ()))
    return Metric(**given)


def _known(kind: type[Metric | Parameter], record: Mapping[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in record.items() if name in names}


def metric(title: str, weight: Weight, **declared: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a metric on the function that reads its score and weight off what the kernel has computed.

    Parameters
    ----------
    title : str
        For tables and figures.
    weight : Weight
    **declared
        Fields of `Metric`. The name is the function's by default, less an underscore that it begins with, which keeps
        it apart from a function over one pair; the summary is the first paragraph of its docstring.

    Returns
    -------
    callable
        Takes the function and returns the record of the metric.

    Examples
    --------
    >>> @metric("Precision", Weight("number of estimates", "events"))
    ... def precision(hits, references, estimates):
    ...     '''Share of the estimates that are right.'''
    ...     return hits / estimates, estimates
    >>> precision.name, precision.summary, precision.read(np.array([1.0]), None, np.array([4.0]))[0].tolist()
    ('precision', 'share of the estimates that are right', [0.25])
    """

    def declare(read: Callable[..., Any]) -> Metric:
        line = " ".join(inspect.cleandoc(read.__doc__ or "").split("\n\n")[0].split("\n")).rstrip(".")
        about: dict[str, Any] = {
            "name": getattr(read, "__name__", "").removeprefix("_"),
            "title": title,
            "summary": line if line[1:2].isupper() else line[:1].lower() + line[1:],  # TP keeps its capitals
            "weight": weight.words,
            "weight_unit": weight.unit,
            "counts": weight.counts,
            "read": read,
        }
        return Metric(**(about | declared))

    return declare


class Family(tuple[Metric, ...]):
    """Metrics that are declared together on one function, `read`."""

    read: Callable[..., Any]


def family(
    weight: Weight | Sequence[Weight] | Mapping[Any, Weight], members: Mapping[Any, Mapping[str, Any]], **common: Any
) -> Callable[[Callable[..., Any]], Family]:
    """Declare several metrics on one function, which takes the key of a metric before what the kernel has computed.

    Parameters
    ----------
    weight : Weight, or those of the keys of `members`
    members : mapping to mappings
        Title, summary and what else is not common to all, by the key, which is the name where none is given.
    **common
        Fields of `Metric`.

    Examples
    --------
    >>> @family(Weight("seconds", "s"), {"mean": {"title": "Mean"}, "sum": {"title": "Sum"}}, summary="of values")
    ... def statistics(name, values, measure):
    ...     return getattr(np, name)(values, axis=1), np.ones(len(values))
    >>> [(one.name, one.read(np.array([[1.0, 3.0]]), None)[0].tolist()) for one in statistics]
    [('mean', [2.0]), ('sum', [4.0])]
    """

    def declare(read: Callable[..., Any]) -> Family:
        found = []
        for key, about in members.items():
            fields = {"name": key, **common, **about}
            own = weight if isinstance(weight, Weight) else weight[key]
            found.append(metric(fields.pop("title"), own, **fields)(partial(read, key)))
        declared = Family(found)
        declared.read = read
        return declared

    return declare


def metrics_in(namespace: Mapping[str, object]) -> tuple[Metric, ...]:
    """The metrics and families that a module declares, in their order: ``METRICS = metrics_in(globals())``."""
    found: list[Metric] = []
    for name, value in namespace.items():
        if isinstance(value, Metric | Family):
            if getattr(value.read, "__qualname__", "") == name:
                value.read.__qualname__ = f"{name}.read"  # type: ignore[union-attr]  # where pickle finds the function
            found += [value] if isinstance(value, Metric) else value
    return tuple(found)


_SWEEP = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)@\[(?P<values>[^\]]*)\](?P<rest>(?:\([^()]*\))?)$")
_MOST_STEPS = 1000
_FORM = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)(?:@(?P<primary>[^()\s]+))?(?:\((?P<rest>[^()]*)\))?$")


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric with all its parameters set.

    Examples
    --------
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
        others = list(zip(self.metric.parameters, self.values, strict=True))[1:]
        changed = (f"{parameter.name}_{_show(value)}" for parameter, value in others if value != parameter.default)
        return "_".join([self.metric.name, *map(str, self.values[:1]), *changed])

    def read(self, computed: Any) -> Any:
        """Score and weight of each pair, off what the task's kernel has computed of them."""
        assert self.metric.read is not None, f"metric {self.metric.name!r} is not declared on a function"
        return self.metric.read(computed, self)

    def __getitem__(self, name: str) -> Value:
        for place, parameter in enumerate(self.metric.parameters):
            if parameter.name == name:
                return self.values[place]
        raise KeyError(name)

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
    if text in parameter.words:
        return text
    try:
        if isinstance(parameter.default, bool):
            value = {"true": True, "false": False}[text.lower()]
        else:
            value = type(parameter.default)(text)
    except (ValueError, KeyError):
        kind = " or ".join((type(parameter.default).__name__, *map(repr, parameter.words)))
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


_USUAL = MappingProxyType(
    {
        **dict.fromkeys(("f", "f1", "fscore", "f1score", "f1measure"), "f_measure"),
        **dict.fromkeys(("p", "prec"), "precision"),
        **dict.fromkeys(("r", "rec"), "recall"),
        "acc": "accuracy",
    }
)
"""Usual names of metrics that have other names here."""


def _bare(name: str) -> str:
    """The letters and digits of a name, in lower case."""
    return "".join(filter(str.isalnum, name.casefold()))


def _look_up(
    name: str, metrics: Sequence[Metric], spellings: Sequence[Callable[[str], str]] = (str, str.casefold)
) -> Metric | None:
    for spelt in spellings:
        for names in (
            [(one, (one.name,)) for one in metrics],
            [(one, (*one.aliases, one.key) if one.key else one.aliases) for one in metrics],
            [(one, (one.title,)) for one in metrics],
        ):
            for metric, known in names:
                if spelt(name) in map(spelt, known):
                    return metric
    return None


def find(name: str, metrics: Iterable[Metric]) -> Metric:
    """The record that a name means: the metric's name, an alias, mir_eval's key or the title, in any case.

    Where several records have it, its spelling decides before the case does, and names before titles; then signs other
    than letters and digits do not count, and ``F1`` and the like are the usual names. An UnknownNameError with a
    suggestion if none does.

    Examples
    --------
    >>> hits = Metric("f_measure", "F-measure of hits", "hits", "events", key="F-measure")
    >>> [find(name, [hits]).name for name in ("F1", "f-score", "F measure")]
    ['f_measure', 'f_measure', 'f_measure']
    """
    metrics = list(metrics)
    bare = _bare(name)
    found = _look_up(name, metrics) or _look_up(bare, metrics, (_bare,)) or _look_up(_USUAL.get(bare, name), metrics)
    if found is not None:
        return found
    raise UnknownNameError("metric", name, [metric.name for metric in metrics])


def parse(text: str, metrics: Iterable[Metric]) -> Measure:
    """The measure that an identity string names, among some metrics.

    Parameters
    ----------
    text : str
        ``name``, ``name@value`` (the primary parameter) or ``name@value(parameter=value,...)``; the name may also be an
        alias, mir_eval's key or the title.
    metrics : iterable of Metric

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
        return whole.measure()
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
    return metric._measure(given, text)


def _pairs(rest: str, text: str) -> Iterator[tuple[str, str]]:
    for item in filter(None, (part.strip() for part in rest.split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise MetricError(f"{text}: write parameters as name=value, not {item!r}")
        yield name.strip(), value.strip()


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
        return tuple(metric.measure() for metric in metrics if metric.default)
    return tuple(dict.fromkeys(parse(one, metrics) for text in texts for one in expand(text)))


_FIELDS = ("title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit")
KEY = "mir_eval_key"
"""The coordinate with the keys that mir_eval's ``evaluate`` uses."""
DESCRIBED = (*_FIELDS, KEY)
STORED = frozenset(
    {"system", "track", "score", "weight", "status", "repairs", "message", "digest", "stamp", "duration"}
)
"""Names that a store gives to its own dims and variables."""


def describe(measures: Sequence[Measure]) -> dict[str, Column]:
    """Coordinates along ``metric`` for some measures.

    Parameters
    ----------
    measures : sequence of Measure

    Returns
    -------
    dict of str to array (measures,)
        ``metric`` (identity strings), the fields of the records named in ``DESCRIBED`` (``aggregates`` separated by
        blanks), mir_eval's key (empty where it has none), and one coordinate for each parameter that any of the
        measures has: NaN for numbers and an empty string for names where a measure lacks it.

    Examples
    --------
    >>> describe([Measure(Metric("majmin", "MajMin", "", "seconds"))])["aggregates"].tolist()
    ['mean median pooled']
    """
    columns: dict[str, Column] = {"metric": np.array([str(measure) for measure in measures], dtype=str)}
    for name in _FIELDS:
        values = [getattr(measure.metric, name) for measure in measures]
        columns[name] = np.array([" ".join(value) if isinstance(value, tuple) else value for value in values])
    columns[KEY] = np.array([_key(measure) for measure in measures], dtype=str)
    for name in dict.fromkeys(name for measure in measures for name in measure.parameters):
        column = _parameter(name, measures)
        # A parameter must not shadow a dim or variable of the store, or a field of the record.
        columns[f"parameter_{name}" if name in columns or name in STORED else name] = column
    return columns


def _key(measure: Measure) -> str:
    """The key in the result of mir_eval's ``evaluate``, empty where it has none.

    It names the window, as in ``Precision@3.0``, where `evaluate` takes no argument for that.
    """
    metric = measure.metric
    window = next((one for one in metric.parameters if one.name == "window" and not one.mir_eval), None)
    if metric.key and window is not None and not metric.dims:
        plain = metric.measure(window=measure["window"])
        return f"{metric.key}@{measure['window']}" if measure == plain else ""
    return metric.key if measure == metric.measure() else ""


def _parameter(name: str, measures: Sequence[Measure]) -> Column:
    values = [measure.parameters.get(name) for measure in measures]
    numbers = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    if numbers:
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values], dtype=str)
