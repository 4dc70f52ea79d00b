"""Metrics and their parameters: declarations, identity strings, coordinates that describe them, and literature."""

from __future__ import annotations

import inspect
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cache, cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ..errors import MetricError, UnknownNameError
from ..ragged import Column, Int
from .aggregates import DECLARED, ScoreAggregate

_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^ +(\w+) = \{(.*)\},$", re.MULTILINE)
_CITATION = re.compile(r"(?<!\w)@(\w+)")
_ACCENT = re.compile(r"\\(['\"`^~v])\{?(\w)\}?")
_COMBINING = {"v": "\u030c", "'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
_VENUES = ("journal", "booktitle", "school", "institution", "howpublished", "publisher")


@cache
def bibliography() -> Mapping[str, Mapping[str, str]]:
    """Return the entries by key: fields as in BibTeX, and the type of the entry as ``type``."""
    text = Path(__file__).with_name("literature.bib").read_text(encoding="utf-8")
    entries = {key: {"type": type, **dict(_FIELD.findall(body))} for type, key, body in _ENTRY.findall(text)}
    return MappingProxyType(entries)


def cited(text: str) -> tuple[str, ...]:
    """Return the keys cited in a text, in order."""
    return tuple(key for key in _CITATION.findall(text) if key in bibliography())


def _reference(citation: re.Match[str]) -> str:
    """Authors, title, venue and year of the entry that is cited; the text itself if there is none."""
    entry = bibliography().get(citation[1])
    if entry is None:
        return citation[0]
    names = [author.partition(",")[0] for author in entry["author"].split(" and ")]
    few = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    authors = few if len(names) <= 3 else f"{names[0]} et al."
    venue = next((entry[field] for field in _VENUES if field in entry), "")
    text = ", ".join(filter(None, (authors, entry["title"], venue, entry.get("year"))))
    text = text.replace(r"\ss", "ß")
    text = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + _COMBINING[match[1]]), text)
    return re.sub(r"-{2,3}", "-", re.sub(r"[{}]|\\(?=[&_%])", "", text))


spell_out = partial(_CITATION.sub, _reference)
"""Replaces the citations in a text by authors, title, venue and year."""


def to_bibtex(key: str, **more: str) -> str:
    """Format an entry as BibTeX, with additional fields at its end."""
    fields = {**bibliography()[key], **more}
    kind = fields.pop("type")
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}"


Value = float | int | str | bool
Pooling = Literal["exact", "micro", "none"]


SIGN_OF: Mapping[str, int] = MappingProxyType({"higher": 1, "lower": -1, "none": 0})
"""Factors of values by the orientation of their metric, with which the larger one is better."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a metric."""

    name: str
    default: Value  # Its type is the type of the parameter: float, int, str or bool
    unit: str = ""  # Empty for pure numbers and names
    choices: tuple[Value, ...] = ()  # Allowed values; empty: any
    help: str = ""
    above: float | None = None
    least: float | None = None  # A number must be greater than `above`, and at least `least`
    mir_eval: str = ""  # Its name in mir_eval; empty if mir_eval does not have it
    words: tuple[str, ...] = ()  # Values other than numbers, such as `exact`


@dataclass(frozen=True, slots=True)
class Weight:
    """Weight of a score: its denominator."""

    words: str
    unit: str  # `s` or a counted thing


@dataclass(frozen=True, slots=True)
class CountedWeight(Weight):
    """Weight that is derived from the numbers of items of both sides."""

    counts: str  # Key of `COUNTS`


LABELS = "labels"  # The `needs` of metrics that compare items by class

FUNCTIONS = "functional labels"
"""The `needs` of metrics that compare labels across sides in a task whose other metrics do not."""

COUNTS: Mapping[str, Callable[[Int, Int], Column]] = MappingProxyType(
    {
        "mean": lambda references, estimates: 0.5 * (references + estimates),
        "larger": np.maximum,
        "reference": lambda references, estimates: references,
        "estimate": lambda references, estimates: estimates,
        "track": lambda references, estimates: references > 0,
    }
)
"""Weights derived from the numbers of items: their mean, the larger one, that of one side, or 1 for each pair with a
reference.
"""


@dataclass(frozen=True, slots=True)
class Metric:
    """The record of one metric."""

    name: str  # Name in pipelines, stores and on the command line
    title: str  # For tables and figures
    summary: str  # Summary in one line
    weight: str  # Meaning of the weight: the score's own denominator
    weight_unit: str = "s"  # Unit of the weight, `s` or a counted thing
    key: str = ""  # Key in the result of mir_eval's `evaluate`; empty if it does not return the metric
    aliases: tuple[str, ...] = ()  # Alternative names
    range: tuple[float, float] = (0.0, 1.0)
    """Smallest and largest possible score, with default parameters if a parameter scales the score: (float, float)."""
    orientation: Literal["higher", "lower", "none"] = "higher"  # Direction of better scores
    unit: str = ""  # Unit of the score; empty for ratios
    pooling: Pooling = "exact"
    """``exact`` if the weighted mean over tracks equals the score of their concatenation, ``micro`` if it is another
    meaningful ratio, ``none`` if it is not allowed."""
    standard_aggregate: str = "mean"
    """The aggregate that the field reports: a name of :data:`mirflow.metrics.aggregates.AGGREGATES`."""
    recall: bool = False  # Whether it is a chord symbol recall, for which `wcsr` and related aggregates are defined
    surplus: bool = False
    """Whether it counts errors where its weight is 0, such as words where none is sung: pooled values include them."""
    perfect: float | None = 1.0  # Score of a reference against itself; None if it is not fixed
    perfect_exceptions: str = ""  # Cases in which a reference against itself scores otherwise
    parameters: tuple[Parameter, ...] = ()  # Parameters; the first is the primary one, written after `@`
    dims: tuple[str, ...] = ()
    """Extra dims of results that are not a single number; they are stored as sibling variables."""
    default: bool = True  # Whether it is computed if a pipeline does not list metrics
    literature: str = ""  # Source of the definition, with citations such as `@dixon2007`: keys of `literature.bib`
    version: int = 1  # Increased when its numbers change; scores stored with another version are computed again
    nominal: bool = False
    """Whether its numbers are codes, such as the permutation of sources, which cannot be aggregated over tracks."""
    read: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """Results of the task's kernel -> score and weight of each pair, in a form chosen by the task."""
    needs: str = ""  # Property that a pair must have, as a keyword of the task's kernel
    counts: str = ""  # See `CountedWeight`; empty if the weight is not derived from the numbers of items
    mir_eval: str = ""  # Name of the mir_eval function that returns it; empty if it is that of the metric
    itemwise: bool = False  # Whether it judges items one by one, which makes evidence available
    tasks: tuple[str, ...] = ()  # Tasks of a metric declared outside of mirflow; empty: any with matching arrays
    pair: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    """Function over one pair of plain arrays that returns score and weight, instead of `read`."""
    value: str = ""  # Key of the score in the result of `pair`; empty if the result is the score
    empty: float | None = None  # Score of a pair with an empty side; None: `pair` is called
    origin: str = ""  # Module and name of a metric declared outside of mirflow
    digest: str = ""  # Digest of the source files of `origin`; scores stored with another digest are computed again
    error: bool = False  # Whether it is the loss by errors of a kind, of the metric in its parameter `of`

    def with_defaults(self, **values: Value) -> Metric:
        """Replace defaults of parameters; names that the metric does not have are ignored."""
        changed = (replace(record, default=values.get(record.name, record.default)) for record in self.parameters)
        return replace(self, parameters=tuple(changed))

    def measure(self, where: str = "", /, **values: Value) -> Measure:
        """Set parameters, with defaults for the others; names that the metric does not have are ignored.

        `where`: what messages about values begin with; empty: the name.
        """
        read: list[Value] = []
        for parameter in self.parameters:
            name, unit, usual = parameter.name, f" {parameter.unit}" if parameter.unit else "", parameter.default
            text = str(values.get(name, usual))
            if name not in values or text in parameter.words:
                read.append(text if name in values else usual)
                continue
            value: Value
            try:  # the type is that of the default
                value = {"true": True, "false": False}[text.lower()] if isinstance(usual, bool) else type(usual)(text)
            except (ValueError, KeyError):
                kind = " or ".join((type(usual).__name__, *map(repr, parameter.words)))
                raise MetricError(f"{where or self.name}: parameter {name!r} needs a {kind}, not {text!r}") from None
            wrong = ""
            if isinstance(value, float) and not math.isfinite(value):
                wrong = f"needs a finite number, not {text!r}"
            elif isinstance(value, int | float):
                if parameter.above is not None and not value > parameter.above:
                    wrong = f"must be greater than {parameter.above:g}{unit}"
                elif parameter.least is not None and not value >= parameter.least:
                    wrong = f"must be at least {parameter.least:g}{unit}"
                # Seconds of so many times the default are milliseconds.
                elif parameter.unit == "s" and isinstance(usual, float) and 0 < usual <= 1 and value >= 500 * usual:
                    times = f"of {value:g} s is {value / usual:g} times its default of {usual:g} s"
                    wrong = f"{times}: it is in seconds, not in milliseconds"
            if wrong:
                raise MetricError(f"{where or self.name}: parameter {name!r} {wrong}")
            if parameter.choices and value not in parameter.choices:
                raise UnknownNameError(f"value of {name!r} in {where or self.name}", text, map(str, parameter.choices))
            read.append(value)
        return Measure(self, tuple(read))

    @property
    def source(self) -> str:
        """Literature with citations spelled out."""
        return spell_out(self.literature)

    @property
    def aggregates(self) -> tuple[str, ...]:
        """Names of the aggregates that are defined for it."""
        met = {"scores": True, "weights": self.pooling != "none", "recall": self.recall}
        return tuple(one.name for one in DECLARED.values() if isinstance(one, ScoreAggregate) and met[one.requires])


def to_record(metric: Metric) -> dict[str, Any]:
    """Return the fields of a metric that differ from the defaults, except functions, as JSON.

    Examples
    --------
    >>> hits = Metric("hits", "Hits", "", "events", parameters=(Parameter("window", 0.05, "s"),), range=(0, math.inf))
    >>> record = to_record(hits)
    >>> record["parameters"], record["range"], from_record(record) == hits
    ([{'name': 'window', 'default': 0.05, 'unit': 's'}], [0, None], True)
    """
    records: list[dict[str, Any]] = []
    described: list[Metric | Parameter] = [metric, *metric.parameters]
    for record in described:
        changed: dict[str, Any] = {}
        for one in fields(record):
            value = getattr(record, one.name)
            if one.compare and one.name != "parameters" and (one.name == "default" or value != one.default):
                changed[one.name] = list(value) if isinstance(value, tuple) else value
        records.append(changed)
    if "range" in records[0]:
        records[0]["range"] = [end if math.isfinite(end) else None for end in metric.range]
    return {"parameters": records[1:], **records[0]}


def from_record(record: Mapping[str, Any]) -> Metric:
    """Restore a metric from its record; it cannot be computed."""

    def restore(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
        names = {field.name for field in fields(kind)}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name in names}

    low, high = record.get("range", (0.0, 1.0))
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    parameters = tuple(Parameter(**restore(Parameter, values)) for values in record.get("parameters", ()))
    return Metric(**{**restore(Metric, record), "range": bounds, "parameters": parameters})


def metric(title: str, weight: Weight, **declared: Any) -> Callable[[Callable[..., Any]], Metric]:
    """Declare a metric on the function that reads score and weight from the results of the kernel.

    Parameters
    ----------
    title : str
        For tables and figures.
    weight : Weight
    **declared
        Fields of `Metric`. The default name is that of the function without a leading underscore, which distinguishes
        it from a function over one pair. The summary is the first paragraph of its docstring.

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
        counts = weight.counts if isinstance(weight, CountedWeight) else ""
        if counts and counts not in COUNTS:
            raise MetricError(f"weight {weight.words!r}: unknown counts {counts!r}; known: {', '.join(COUNTS)}")
        about: dict[str, Any] = {
            "name": getattr(read, "__name__", "").removeprefix("_"),
            "title": title,
            "summary": line if line[1:2].isupper() else line[:1].lower() + line[1:],  # TP keeps its capitals
            "weight": weight.words,
            "weight_unit": weight.unit,
            "counts": counts,
            "read": read,
        }
        return Metric(**(about | declared))

    return declare


class Family(tuple[Metric, ...]):
    """Metrics declared together on one function, `read`."""

    read: Callable[..., Any]


def family(
    weight: Weight | Sequence[Weight] | Mapping[Any, Weight], members: Mapping[Any, Mapping[str, Any]], **common: Any
) -> Callable[[Callable[..., Any]], Family]:
    """Declare several metrics on one function, which takes a metric's key before the results of the kernel.

    `members`: title, summary and other fields that differ, by key; the key is the default name.

    Examples
    --------
    >>> @family(Weight("seconds", "s"), {"mean": {"title": "Mean"}, "sum": {"title": "Sum"}}, summary="of values")
    ... def statistics(name, values, measure):
    ...     return getattr(np, name)(values, axis=1), np.ones(len(values))
    >>> [(one.name, one.read(np.array([[1.0, 3.0]]), None)[0].tolist()) for one in statistics]
    [('mean', [2.0]), ('sum', [4.0])]
    """

    def declare(read: Callable[..., Any]) -> Family:
        metrics = []
        for key, about in members.items():
            fields = {"name": key, **common, **about}
            weighed = weight if isinstance(weight, Weight) else weight[key]
            metrics.append(metric(fields.pop("title"), weighed, **fields)(partial(read, key)))
        declared = Family(metrics)
        declared.read = read
        return declared

    return declare


def metrics_in(namespace: Mapping[str, object]) -> tuple[Metric, ...]:
    """Collect the metrics and families declared in a module, in order: ``METRICS = metrics_in(globals())``."""
    metrics: list[Metric] = []
    for name, value in namespace.items():
        if isinstance(value, Metric | Family):
            # A function of another module is pickled by its name there.
            defined_here = namespace.get("__name__") in (None, getattr(value.read, "__module__", ""))
            if defined_here and getattr(value.read, "__qualname__", "") == name:
                value.read.__qualname__ = f"{name}.read"  # type: ignore[union-attr]  # where pickle finds the function
            metrics += [value] if isinstance(value, Metric) else value
    return tuple(metrics)


_SWEEP = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)@\[(?P<values>[^\]]*)\](?P<rest>(?:\([^()]*\))?)$")
_MOST_STEPS = 1000
_FORM = re.compile(r"^(?P<name>[^@()\s]+(?: [^@()\s]+)*)(?:@(?P<primary>[^()\s]+))?(?:\((?P<rest>[^()]*)\))?$")


@dataclass(frozen=True)
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
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What kernels derive from the parameters, by their keys; single pairs are scored by the same measures."""

    def __reduce__(self) -> tuple[type[Measure], tuple[Metric, tuple[Value, ...]]]:
        return Measure, (self.metric, self.values)  # without the mapping, which cannot be pickled

    @cached_property
    def parameters(self) -> MappingProxyType[str, Value]:
        """Values of all parameters, including defaults."""
        return MappingProxyType(dict(zip((p.name for p in self.metric.parameters), self.values, strict=True)))

    @property
    def variable(self) -> str:
        """Name of the variable in a dataset, for metrics with extra dims: ``confusion_majmin``.

        It contains the value of the primary parameter, and names and values of others that differ from the defaults.
        """
        others = list(zip(self.metric.parameters, self.values, strict=True))[1:]
        changed = (f"{parameter.name}_{_show(value)}" for parameter, value in others if value != parameter.default)
        return "_".join([self.metric.name, *map(str, self.values[:1]), *changed])

    def read(self, computed: Any) -> Any:
        """Read score and weight of each pair from the results of the task's kernel."""
        assert self.metric.read is not None, f"metric {self.metric.name!r} is not declared on a function"
        return self.metric.read(computed, self)

    def __getitem__(self, name: str) -> Value:
        for index, parameter in enumerate(self.metric.parameters):
            if parameter.name == name:
                return self.values[index]
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


_USUAL = {
    **dict.fromkeys(("f", "f1", "fscore", "f1score", "f1measure"), "f_measure"),
    "p": "precision",
    "prec": "precision",
    "r": "recall",
    "rec": "recall",
    "acc": "accuracy",
}
"""Common names of metrics that are called differently in mirflow."""


def _look_up(
    name: str, metrics: Sequence[Metric], spellings: Sequence[Callable[[str], str]] = (str, str.casefold)
) -> Metric | None:
    for spelt in spellings:
        for level in range(3):  # names come before aliases and keys, and those before titles
            for metric in metrics:
                names = ((metric.name,), (*metric.aliases, *filter(None, [metric.key])), (metric.title,))[level]
                if spelt(name) in map(spelt, names):
                    return metric
    return None


def find(name: str, metrics: Iterable[Metric]) -> Metric:
    """Find a metric by name, alias, mir_eval's key or title, ignoring case.

    Exact spelling takes precedence over other case, and names over titles. If nothing matches, characters other than
    letters and digits are ignored, and common names such as ``F1`` are tried. Raise an UnknownNameError with a
    suggestion if that fails, too.

    Examples
    --------
    >>> hits = Metric("f_measure", "F-measure of hits", "hits", "events", key="F-measure")
    >>> [find(name, [hits]).name for name in ("F1", "f-score", "F measure")]
    ['f_measure', 'f_measure', 'f_measure']
    """
    metrics = list(metrics)

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name.casefold()))

    usual = _USUAL.get(bare(name), name)
    metric = _look_up(name, metrics) or _look_up(name, metrics, (bare,)) or _look_up(usual, metrics)
    if metric is None:
        raise UnknownNameError("metric", name, [metric.name for metric in metrics])
    return metric


def parse(text: str, metrics: Iterable[Metric]) -> Measure:
    """Parse an identity string.

    `text`: ``name``, ``name@value`` (the primary parameter) or ``name@value(parameter=value,...)``. An alias,
    mir_eval's key or the title can be used as name.
    """
    metrics = list(metrics)
    whole = _look_up(text.strip(), metrics)  # titles may have brackets
    if whole is not None:
        return whole.measure()
    form = _FORM.match(text.strip())
    if form is None:
        raise MetricError(f"not a metric: {text!r}; write it like majmin, csr@root or f_measure@0.05(trim=true)")
    metric = find(form["name"], metrics)
    pairs = []
    for item in filter(None, (part.strip() for part in (form["rest"] or "").split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise MetricError(f"{text}: write parameters as name=value, not {item!r}")
        pairs.append((name.strip(), value.strip()))
    if form["primary"] is not None:
        if not metric.parameters:
            raise MetricError(f"{text}: {metric.name} has no parameters")
        pairs.insert(0, (metric.parameters[0].name, form["primary"]))
    values_by_name = dict(pairs)
    if len(values_by_name) < len(pairs):
        raise MetricError(f"{text}: gives a parameter twice")
    parameters = {parameter.name: parameter for parameter in metric.parameters}
    for name in values_by_name:
        if name not in parameters:
            raise UnknownNameError(f"parameter of {metric.name}", name, parameters)
    return metric.measure(text, **values_by_name)


def expand(text: str) -> list[str]:
    """Expand a sweep over a metric's primary parameter to identity strings; other text is returned unchanged.

    `text`: ``name@[first:last:step]``, with both ends included, or ``name@[value,value,...]``, optionally followed by
    other parameters in parentheses.

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
    if ":" not in sweep["values"]:
        values = [value.strip() for value in sweep["values"].split(",")]
    else:
        try:  # in decimal arithmetic, which keeps them short
            first, last, step = (Decimal(part.strip()) for part in sweep["values"].split(":"))
            count = int((last - first) / step) + 1
        except (ValueError, ArithmeticError):
            raise MetricError(f"{text}: write a sweep as [first:last:step], with a step above 0") from None
        if step <= 0 or not 1 <= count <= _MOST_STEPS:
            raise MetricError(f"{text}: a sweep has 1 to {_MOST_STEPS} values, with a step above 0")
        values = [str(first + number * step) for number in range(count)]
    return [f"{sweep['name']}@{value}{sweep['rest']}" for value in values]


def select(texts: Sequence[str], metrics: Sequence[Metric]) -> tuple[Measure, ...]:
    """Parse identity strings and sweeps, dropping repetitions."""
    return tuple(dict.fromkeys(parse(spelling, metrics) for text in texts for spelling in expand(text)))


_FIELDS = ("title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit")
KEY = "mir_eval_key"  # The coordinate with the keys of mir_eval's `evaluate`
DESCRIBED = (*_FIELDS, KEY)
STORED = frozenset(
    ("system", "track", "score", "weight", "status", "repairs", "message", "digest", "stamp", "duration")
)
"""Names of dims and variables of stores."""


def describe(measures: Sequence[Measure]) -> dict[str, Column]:
    """Make the coordinates along ``metric``, (measures,) each.

    They are ``metric`` (identity strings), the fields in ``DESCRIBED`` (``aggregates`` separated by spaces), mir_eval's
    key (empty if there is none), and one for each parameter of any measure, with NaN or an empty string for measures
    without it.
    """
    columns: dict[str, Column] = {"metric": np.array([str(measure) for measure in measures], dtype=str)}
    for name in _FIELDS:
        values = [getattr(measure.metric, name) for measure in measures]
        columns[name] = np.array([" ".join(value) if isinstance(value, tuple) else value for value in values])
    keys = []
    for measure in measures:
        metric = measure.metric
        # The key contains the window, as in Precision@3.0, if mir_eval's evaluate does not take it as an argument.
        windowed = any(one.name == "window" and not one.mir_eval for one in metric.parameters)
        windowed = windowed and bool(metric.key) and not metric.dims
        plain = metric.measure(window=measure["window"]) if windowed else metric.measure()
        key = f"{metric.key}@{measure['window']}" if windowed else metric.key
        keys.append(key if measure == plain else "")
    columns[KEY] = np.array(keys, dtype=str)
    for name in dict.fromkeys(name for measure in measures for name in measure.parameters):
        values = [measure.parameters.get(name) for measure in measures]
        if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
            column = np.array([np.nan if value is None else float(value) for value in values])
        else:
            column = np.array(["" if value is None else str(value) for value in values], dtype=str)
        # Parameters must not shadow dims or variables of stores, or fields of the record.
        columns[f"parameter_{name}" if name in columns or name in STORED else name] = column
    return columns
