"""Systems, tracks and metrics of an evaluation looked up by name, and tracks by an expression.

Metrics are also found by their parameters, those with extra dims apart from those with one number per track. The
headline metric and the convention of an evaluation are read here.
"""

from __future__ import annotations

import ast
import difflib
import json
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import MetricError, MirflowError, QueryError, UnknownNameError
from ..metrics.aggregates import CLASS_AGGREGATES, ORDER_AGGREGATES, table_aggregates
from ..metrics.base import Convention, get_task, has_task, unknown_convention
from ..metrics.measures import Measure, expand, from_record, parse
from ..ragged import Bool
from ..store.format import DECLARED_METRICS
from .query_options import Names, Parameters, Query, as_names
from .scores import ANNOTATOR, Scores, by_annotator, computed, coords_of, labels_of, names_of, states_of, tables_of

if TYPE_CHECKING:
    import xarray as xr

Column = npt.NDArray[Any]
_Comparison = Callable[[Any, Any], Any]

_COMPARISONS: MappingProxyType[type[ast.cmpop], _Comparison] = MappingProxyType(
    {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
    }
)
_SINGLE = re.compile(r"(?<![=!<>])=(?!=)")
LONGEST = 10_000
"""Characters of an expression; deeper nesting than these allow would exhaust the parser."""


def holds(expression: str, columns: Mapping[str, Column], count: int) -> Bool:
    """For which items an expression over their coordinates holds.

    `expression`: names of coordinates, texts in quotes, numbers, ``True``, ``False``; ``==``, ``!=``, ``<``, ``<=``,
    ``>``, ``>=`` (also chained); ``in`` and ``not in`` a list, or a text in a coordinate (``'live' in title``);
    ``and``, ``or``, ``not``, parentheses. ``x is None`` and ``x is not None`` ask for what has no value; every
    comparison with it is false. Other names than words are written ``col('opus number')``. `columns` (mapping of str to
    array (count,)): numbers and texts; NaN and the empty text are missing values. Returns bool (count,). Raises
    `QueryError` for anything else, and for a text compared with a number. Raises `UnknownNameError` for a name that is
    not there, with a suggestion.

    Examples
    --------
    >>> tracks = {"genre": np.array(["Rock", "Pop", ""]), "year": np.array([1971.0, 1969.0, np.nan])}
    >>> holds("genre == 'Rock' and year < 1980", tracks, 3).tolist()
    [True, False, False]
    >>> holds("not 1970 <= year <= 1979 or genre in ['Rock']", tracks, 3).tolist()
    [True, True, True]
    """
    try:
        if len(expression) > LONGEST:
            raise QueryError(f"where: an expression has at most {LONGEST} characters, not {len(expression)}")
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, QueryError):
            raise
        hint = "equality is ==" if _SINGLE.search(expression) else "write it like genre == 'Rock' and year < 1980"
        raise QueryError(f"where: not an expression: {expression!r}; {hint}") from None
    try:
        return _ExpressionReader(expression, columns, count).truth(tree)
    except RecursionError:
        raise QueryError(f"where: nested too deeply: {expression[:40]!r}...") from None


@dataclass(frozen=True)
class _ExpressionReader:
    """One expression, read over whole columns."""

    expression: str
    columns: Mapping[str, Column]
    count: int

    def truth(self, node: ast.expr) -> Bool:
        """Mark the tracks for which a condition holds."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(part) for part in node.values]
            combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return np.asarray(combine.reduce(parts))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        if isinstance(node, ast.Compare):
            mask = np.ones(self.count, dtype=np.bool_)
            sides = [node.left, *node.comparators]
            for kind, left, right in zip(node.ops, sides, sides[1:], strict=False):
                mask &= self.compare(kind, left, right)
            return mask
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return np.full(self.count, node.value)
        if isinstance(node, ast.Name | ast.Call) and self.column(node).dtype.kind == "b":
            return self.column(node)
        raise self.wrong(node, "is not a condition; compare it with a value")

    def compare(self, kind: ast.cmpop, left: ast.expr, right: ast.expr) -> Bool:
        """Mark the tracks for which one comparison holds; it is false where a side has no value."""
        every = np.ones(self.count, dtype=np.bool_)
        if isinstance(kind, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise self.wrong(right, "follows 'is', where only None can; write ==")
            absent = np.asarray(_missing(self.value(left))) & every
            return ~absent if isinstance(kind, ast.IsNot) else absent
        one = self.value(left)
        if isinstance(kind, ast.In | ast.NotIn) and isinstance(right, ast.List | ast.Tuple | ast.Set):
            mask, decided = ~every, ~_missing(one) & every
            for item in right.elts:
                other = self.value(item)
                self.check_kinds(one, other, left, item)
                mask |= np.asarray(one == other)
            return (~mask if isinstance(kind, ast.NotIn) else mask) & decided
        other = self.value(right)
        decided = np.asarray(~_missing(one) & ~_missing(other))
        if isinstance(kind, ast.In | ast.NotIn):
            if one.dtype.kind != "U" or other.dtype.kind != "U":
                raise self.wrong(right, "is neither a list nor a text; write like year in [1971, 1972]")
            mask = np.strings.find(other, one) >= 0
            return (~mask if isinstance(kind, ast.NotIn) else mask) & decided
        self.check_kinds(one, other, left, right)
        return np.asarray(_COMPARISONS[type(kind)](one, other)) & decided

    def value(self, node: ast.expr) -> Column:
        """A coordinate, or a constant as an array without dims."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
            return np.asarray(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            number = self.value(node.operand)
            if number.ndim == 0 and number.dtype.kind in "if":
                return np.asarray(-number if isinstance(node.op, ast.USub) else number)
        if isinstance(node, ast.Name | ast.Call):
            return self.column(node)
        raise self.wrong(node, "is not allowed here; there are names, texts, numbers, comparisons, and, or, not, in")

    def column(self, node: ast.Name | ast.Call) -> Column:
        """The coordinate of a name."""
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node.func, ast.Name) and node.func.id == "col" and len(node.args) == 1 and not node.keywords:
            (argument,) = node.args
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise self.wrong(node, "needs a name in quotes")
            name = argument.value
        else:
            raise self.wrong(node, "is a call; only col('a name') is allowed")
        if name not in self.columns:
            raise UnknownNameError("coordinate", name, self.columns)
        column = np.asarray(self.columns[name])
        return np.array([str(value) for value in column.tolist()], dtype=str) if column.dtype.kind in "OT" else column

    def check_kinds(self, one: Column, other: Column, left: ast.expr, right: ast.expr) -> None:
        """A text is never compared with a number, which numpy would call unequal in silence."""
        if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
            text, number = (left, right) if one.dtype.kind == "U" else (right, left)
            raise self.wrong(text, f"is text, and {ast.unparse(number)} is a number: they cannot be compared")

    def wrong(self, node: ast.expr, what: str) -> QueryError:
        """An error about a part of the expression."""
        return QueryError(f"where {self.expression!r}: {ast.unparse(node)} {what}")


def _missing(values: Column) -> Bool:
    """Placeholder of a missing value."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return np.asarray(
        values == "" if values.dtype.kind == "U" and values.ndim else np.zeros(values.shape, dtype=np.bool_)
    )


_SHOWN, _LISTED = 5, 10
_MARKS = frozenset("@(")
"""What a name with parameters has in it."""


def metric_names(names: Names) -> list[str] | None:
    """List the names of metrics, with each metric of a sweep (``f_measure@[0.5,3.0]``)."""
    labels = as_names(names)
    if labels is None or not any("[" in name for name in labels):
        return labels
    return list(dict.fromkeys(single for name in labels for single in expand(name)))


def headline_metric(ds: Scores) -> str | None:
    """The metric by which an evaluation ranks its systems; None where none is one number.

    That of its task's record (:attr:`mirflow.metrics.base.Task.headline`), with other parameters where it was scored
    with others only; where it was not scored at all, the first metric of which high or low values are better.
    """
    task = str(ds.attrs.get("task", ""))
    names: tuple[str, ...] = ()
    if has_task(task):
        names = get_task(task).headlines.get(str(ds.attrs.get("convention", "")), get_task(task).headline)
    metrics = names_of(ds, "metric")
    for name in names:
        labels = [name] if name in metrics else [metric for metric in metrics if bare_name(metric) == name]
        if labels:
            return labels[0]
    ranking = [metric for metric, way in zip(metrics, names_of(ds, "orientation"), strict=True) if way != "none"]
    return next(iter([*ranking, *metrics]), None)


def find_labels(ds: xr.Dataset, dim: str, names: Names) -> list[int]:
    """Positions of names along ``system`` or ``track``; all of them for None.

    An unknown name with ``*``, ``?`` or ``[`` is a pattern: it selects all names that match.
    """
    indices = {label: index for index, label in enumerate(names_of(ds, dim))}
    chosen = as_names(names)
    if chosen is None:
        return list(indices.values())
    places: list[int] = []
    for name in chosen:
        matching = [indices[name]] if name in indices else []
        if not matching and not set("*?[") & set(name):
            raise UnknownNameError(dim, name, indices)
        matching = matching or [place for label, place in indices.items() if fnmatchcase(label, name)]
        if not matching:
            more = ", ..." if len(indices) > _SHOWN else ""
            raise QueryError(f"no {dim} matches {name!r}; there are: {', '.join(list(indices)[:_SHOWN])}{more}")
        places += matching
    return list(dict.fromkeys(places))


def find_metrics(ds: xr.Dataset, names: Names, *, exact: bool = False) -> list[int]:
    """Positions of metrics along ``metric``; all of them for None.

    `names`: a metric's bare name or alias selects all its stored parameters. A name with parameters selects only these,
    including the defaults: ``raw_pitch_accuracy@50``, or for several ``f_measure@[0.5,3.0]``. `exact`: the names are
    stored identities, of which the bare one has the default parameters.
    """
    indices = {label: index for index, label in enumerate(names_of(ds, "metric"))}
    chosen = metric_names(names)
    if chosen is None:
        return list(indices.values())
    families: dict[str, list[int]] = {}
    for label, index in indices.items():
        families.setdefault(bare_name(label), []).append(index)
    places: list[int] = []
    for name in chosen:
        plain = _MARKS.isdisjoint(name)
        if name in indices and (exact or not plain):
            places.append(indices[name])
            continue
        # The convention, which takes importing the task, is needed only for what is not stored under this name.
        measure = None if plain and name in families else _measure(convention_of(ds), name)
        family = name if measure is None else measure.metric.name
        if plain and family in families:
            places += families[family]
        elif measure is not None and str(measure) in indices:
            places.append(indices[str(measure)])
        else:
            variables = split_names(ds, name)[1]
            if variables:
                raise QueryError(explain_dims(ds, variables[0]))
            raise UnknownNameError("metric", name, [*indices, *find_tables(ds).values()])
    return list(dict.fromkeys(places))


def find_single(ds: xr.Dataset, name: str, among: Sequence[int] | None = None) -> int:
    """Find the position of one metric: of several parameters the default ones.

    `among`: the metrics that are left by what else is asked; None: all.
    """
    indices = [index for index in find_metrics(ds, name) if among is None or index in among]
    if len(indices) == 1:
        return indices[0]
    metrics = names_of(ds, "metric")
    default = [index for index in indices if _MARKS.isdisjoint(metrics[index])]
    if len(default) != 1:
        some = ", ".join(metrics[index] for index in indices[:_LISTED]) + (", ..." if indices[_LISTED:] else "")
        raise QueryError(f"{name!r} matches {len(indices)} metrics; choose one of: {some}")
    return default[0]


def spell_out(ds: xr.Dataset, place: int) -> str:
    """A metric with the value of its primary parameter, which an identity leaves out where it is the default."""
    label = names_of(ds, "metric")[place]
    measure = _measure(convention_of(ds), label)
    if measure is None or not measure.values or not _MARKS.isdisjoint(label):
        return label
    return f"{label}@{measure.values[0]}"


def bare_name(label: str) -> str:
    """The name of a metric without its parameters."""
    return label.partition("@")[0].partition("(")[0]


def explain_dims(ds: xr.Dataset, variable: str, done: Collection[str] = ()) -> str:
    """Message about a metric with extra dims where one number per track is needed, with the remedy."""
    measure, sibling = find_measures(ds)[variable], ds[variable]
    labelled = zip(measure.metric.dims, labels_of(sibling).values(), strict=True)
    left = {dim: labels for dim, labels in labelled if dim not in done}
    dims = f"the dim{'s' if len(left) > 1 else ''} {' and '.join(left)}"
    needs = f"metric {str(measure)!r} has {dims}; this needs one number per track"
    own = measure.metric.dims
    kinds = [kind for kind in table_aggregates(measure.metric.orientation, own) if kind in CLASS_AGGREGATES]
    if kinds:
        # Of counts by class or by outcome, and of affinities, a mean along these says nothing.
        ordered, unit = set(kinds) <= {*ORDER_AGGREGATES}, classes_of(own)
        takers = ["query (also with --ci)"] if ordered else ["query (also with --ci, --significance)", "compare"]
        takers += [f"--friedman with --unit {unit}"] if unit else []
        listed = " and ".join(filter(None, (", ".join(takers[:-1]), takers[-1])))
        return (
            f"{needs}, and its statistics are those of all tracks together, by one of --aggregate {', '.join(kinds)}: "
            f"{listed} take them, of this metric alone"
        )
    said = " ".join(f"--over {dim}=mean" for dim in left)
    one = "".join(
        f", or one alone: --over {dim}={labels[0]}" for dim, labels in left.items() if labels and len(left) == 1
    )
    return f"{needs}: {said}{one}"


CLASS = "class"
_CLASSES = (CLASS, "tag", "instrument", "label")
"""Names of the dim of classes; ``class`` means any of them."""


def classes_of(dims: Collection[str]) -> str:
    """The dim of the classes among those of a metric, of a confusion that of its values; empty if it has none.

    Examples
    --------
    >>> classes_of(("instrument", "count")), classes_of(("ref_class", "est_class")), classes_of(("frame",))
    ('instrument', 'class', '')
    """
    return CLASS if "ref_class" in dims else next((dim for dim in _CLASSES if dim in dims), "")


def convention_of(ds: xr.Dataset) -> Convention | None:
    """The convention of an evaluation, with the metrics from outside of mirflow that it keeps; None if not known."""
    task, kept = str(ds.attrs.get("task", "")), ds.attrs.get(DECLARED_METRICS, {})
    try:
        convention = get_task(task).convention(ds.attrs.get("convention")) if has_task(task) else None
    except MirflowError:
        convention = None
    if not kept:
        return convention
    records = json.loads(kept) if isinstance(kept, str) else kept
    metrics = [from_record(record) for record in records.values()]
    if convention is None:
        return unknown_convention(str(ds.attrs.get("convention", "")), metrics)
    names = {metric.name for metric in convention.metrics}
    return replace(
        convention, metrics=(*convention.metrics, *(metric for metric in metrics if metric.name not in names))
    )


def _measure(convention: Convention | None, name: str) -> Measure | None:
    if convention is None:
        return None
    try:
        return parse(name, convention.metrics)
    except (UnknownNameError, MetricError):
        return None


def find_tables(ds: xr.Dataset) -> dict[str, str]:
    """The metrics with extra dims that an evaluation holds: the name of each variable and the metric's identity."""
    return {variable: str(measure) for variable, measure in find_measures(ds).items()}


def find_measures(ds: xr.Dataset) -> dict[str, Measure]:
    """The metrics with extra dims that an evaluation holds, by the names of their variables."""
    tables = tables_of(ds)
    convention = convention_of(ds) if tables else None
    if convention is None:
        return {}
    measures = {}
    for variable, sibling in tables.items():
        identities = [str(sibling.attrs["metric"])] if "metric" in sibling.attrs else []
        # Without the name of its metric, as in a dataset of the user's own, a variable may be one of these.
        for metric in convention.metrics if not identities else ():
            value = variable.removeprefix(f"{metric.name}_")
            identities.append(metric.name if value == variable else f"{metric.name}@{value}")
        for identity in identities:
            measure = _measure(convention, identity)
            if measure is not None and measure.metric.dims and measure.variable == variable:
                measures[variable] = measure
    return measures


def split_names(ds: xr.Dataset, names: Names, *, exact: bool = False) -> tuple[list[str], list[str]]:
    """Names in a query, apart: those of metrics that are one number, and the variables of those with extra dims.

    A metric with extra dims is named by its bare name for all its stored parameters, by a name with parameters for
    these alone, or by its variable; `exact` as for :func:`find_metrics`. An unknown name counts as that of a number.
    """
    chosen = metric_names(names) or []
    metrics = set(names_of(ds, "metric"))
    if metrics.issuperset(chosen):
        return chosen, []
    tables, convention = find_tables(ds), convention_of(ds)
    numbers: list[str] = []
    variables: list[str] = []
    for name in chosen:
        measure = _measure(convention, name)
        same = [variable for variable in tables if variable in (name, measure.variable if measure else name)]
        bare = measure.metric.name if measure and not exact and _MARKS.isdisjoint(name) else None
        family = [variable for variable, table in tables.items() if bare is not None and bare_name(table) == bare]
        found = [] if name in metrics else family or same
        variables += found
        numbers += [] if found else [name]
    return numbers, list(dict.fromkeys(variables))


DURATION = "duration"
CHOSEN = ("where", "annotator", "param", "default", "over")
"""Attributes of an answer that say what narrowed it down."""

_ABOUT = ("title", "unit", "orientation", "pooling", "standard_aggregate", "aggregates", "version", "weight_unit")


def choose_tracks(ds: xr.Dataset, query: Query) -> xr.Dataset:
    """Select the tracks of a query, with a row for each annotation where annotators are asked for.

    Returns its attributes name what narrows the query down.
    """
    if query.tracks is not None:
        ds = ds.isel(track=find_labels(ds, "track", query.tracks))
    wanted = as_names(query.annotator)
    grouped = ANNOTATOR in (as_names(query.by) or [])
    if (grouped or wanted is not None) and ANNOTATOR not in coords_of(ds, "track"):
        if query.missing == "zero":
            raise QueryError(
                "by 'annotator': a missing score cannot count as 0, as the weights of empty estimates are not kept "
                "by annotator; choose missing skip or common (--missing)"
            )
        ds = by_annotator(ds)
    if wanted is not None:
        annotators = names_of(ds, ANNOTATOR)
        for name in wanted:
            if name not in annotators:
                raise UnknownNameError(ANNOTATOR, name, set(annotators))
        ds = ds.isel(track=[index for index, name in enumerate(annotators) if name in wanted])
    if query.where is not None:
        ds = restrict(ds, query.where)
    narrowed = {"annotator": wanted and ", ".join(wanted), "param": show_parameters(query.param)}
    return ds.assign_attrs({name: text for name, text in narrowed.items() if text})


def restrict(ds: xr.Dataset, expression: str) -> xr.Dataset:
    """Select the tracks for which an expression holds; the attribute ``where`` of the result names it."""
    columns = {"track": np.array(names_of(ds, "track"), dtype=str), **coords_of(ds, "track")}
    if DURATION in expression and DURATION not in columns:
        columns[DURATION] = states_of(computed(ds))[1]
    try:
        places = np.flatnonzero(holds(expression, columns, ds.sizes["track"]))
    except UnknownNameError as error:
        for dim in ("system", "metric"):
            if error.name == dim or error.name in coords_of(ds, dim):
                names = ", ".join(sorted(columns))
                raise QueryError(
                    f"where: {error.name!r} lies along {dim}; tracks are chosen here, by: {names}"
                ) from None
        if not difflib.get_close_matches(error.name, columns, n=1):
            raise QueryError(f"where: {error}; a text is quoted: {error.name!r}") from None
        raise
    return ds.isel(track=places).assign_attrs(where=expression)


def choose_metrics(ds: xr.Dataset, places: list[int], param: Parameters) -> list[int]:
    """The metrics among some that have the parameters of a query."""
    for name, wanted in (param or {}).items():
        coords = [coord for coord in coords_of(ds, "metric") if coord not in _ABOUT]
        if name not in coords:
            raise UnknownNameError("parameter", name, coords)
        every = ds[name].values.tolist()
        values = [every[place] for place in places]
        chosen = [place for place, value in zip(places, values, strict=True) if _is_one_of(value, wanted)]
        if not chosen:
            there = ", ".join(sorted({_show(value) for value in values if value == value and value != ""}, key=_number))
            raise QueryError(f"no metric of the question has {name} {_show(wanted)}; values there: {there or 'none'}")
        places = chosen
    return places


def has_parameters(measure: Measure, param: Parameters) -> bool:
    """True if a measure has the parameters of a query."""
    values: Mapping[str, object] = measure.parameters
    return all(name in values and _is_one_of(values[name], wanted) for name, wanted in (param or {}).items())


def show_parameters(param: Parameters) -> str:
    """The parameters of a query as text: ``window=0.05``."""
    return ", ".join(f"{name}={_show(wanted)}" for name, wanted in (param or {}).items())


def _is_one_of(value: object, wanted: object) -> bool:
    """True if a stored value is one of those wanted, whichever of them is text."""
    several = wanted if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [wanted]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (False, float(value), "") in [_number(str(text)) for text in several]
    return _show(value) in map(_show, several)


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_show, value))
    return str(value)


def _number(text: str) -> tuple[bool, float, str]:
    """Numbers before texts, each in their order."""
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text
