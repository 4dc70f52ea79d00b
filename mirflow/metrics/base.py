"""Tasks and their conventions, which score batches of pairs, and the registry of tasks.

Conventions also find the measures and grids that users name. Modules of tasks find here the cache of results that
metrics share, scores on frames, doubts (signs of likely mistakes in annotations), and tasks made from functions over
one pair.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.collection import Collection
from ..annotations.grids import GridForm, too_late
from ..annotations.schema import KINDS, TASK_KINDS, kind_of
from ..errors import MetricError, MirflowError, PluginError, UnknownNameError
from ..kernels.intervals import MOST_FRAMES, batches
from ..plugins import TASKS, declare, declared, find
from ..ragged import Bool, Column, Float, Int, Ragged
from .cleaning import Cleaned, set_aside
from .edits import KIND, LOST, OF, ErrorBudget
from .measures import Measure, Metric, expand, parse
from .pair_metrics import installed_metrics, load_metrics, metrics_from


@dataclass(frozen=True, slots=True)
class Sparse:
    """A result with extra dims, for many pairs, as coordinates and values."""

    dims: tuple[str, ...]  # The extra dims
    coords: tuple[tuple[str, ...], ...]  # Labels along each extra dim
    index: Int  # Pair and position along each dim: int64 (n, 1 + number of dims)
    value: Float  # float64 (n,)
    attrs: Mapping[str, str] = field(default_factory=dict)  # `long_name` and `units`
    fill: float = 0.0  # Value of absent entries: 0 for seconds and counts, NaN for scores


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a batch of pairs."""

    score: Float
    weight: Float
    """float64 (pairs, measures): one column for each requested scalar measure, in order; weights are never NaN. A
    kernel gives minus the numerator where the denominator is 0 (:func:`mirflow.kernels.ratios.open_share`)."""
    extras: Mapping[str, Sparse] = field(default_factory=dict)  # Results with extra dims, keyed by variable name
    refused: Mapping[int, str] = field(default_factory=dict)
    """Reasons why the convention cannot score a pair, keyed by pair."""
    repairs: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Irregularities that only show in the pair, such as an estimate that ends early: int64 (pairs,)."""
    partly: Mapping[int, str] = field(default_factory=dict)
    """Reasons why some measures of a pair have no score (NaN), keyed by pair."""
    broken: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Errors in the computation of single scores, keyed by the indices of pair and measure."""
    numerator: Float = field(default_factory=lambda: np.zeros((0, 0)))
    """Numerators of scores whose weight is 0, float64 (pairs, measures): errors without anything that they could be
    counted against. Empty if there are none."""

    def __post_init__(self) -> None:
        if (self.weight < 0).any():
            object.__setattr__(self, "numerator", np.maximum(-self.weight, 0.0))
            object.__setattr__(self, "weight", np.maximum(self.weight, 0.0))


_UNION = "union"
FRAMES = "frames"
GRIDS = (_UNION, FRAMES)  # Those of conventions that also score on frames of a common length
Grid = str | float  # A common time axis: `union`, `reference`, or the hop of frames in seconds

MetricLike = str | Metric | Measure | Callable[..., Any]  # Any form in which users specify a metric


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows, one of the references and one of the estimates each.

    Examples
    --------
    >>> references = Ragged({"time": np.array([1.0, 2.0, 3.0])}, (np.array([2, 1]),))
    >>> estimates = Ragged({"time": np.array([4.0])}, (np.array([1]),))
    >>> pairs = Pairs(references, estimates, np.array([0, 1]), np.array([0, 0]))
    >>> len(pairs), [counts.tolist() for counts in pairs.counts], pairs[1:].lay_out()[0].columns["time"].tolist()
    (2, [[2, 1], [1, 1]], [3.0])
    """

    references: Ragged
    estimates: Ragged  # Rows after the convention's `clean`
    reference_row: Int
    estimate_row: Int  # int64 (pairs,)

    @classmethod
    def in_order(cls, references: Ragged, estimates: Ragged) -> Pairs:
        """Pair the rows of both sides in order."""
        row = np.arange(len(references), dtype=np.int64)
        return cls(references, estimates, row, row)

    def __len__(self) -> int:
        return len(self.reference_row)

    def __getitem__(self, chosen: slice | Int) -> Pairs:
        return Pairs(self.references, self.estimates, self.reference_row[chosen], self.estimate_row[chosen])

    @property
    def sides(self) -> tuple[tuple[Ragged, Int], tuple[Ragged, Int]]:
        """References with the row of each pair, and estimates with the row of each pair."""
        return (self.references, self.reference_row), (self.estimates, self.estimate_row)

    @property
    def counts(self) -> tuple[Int, Int]:
        """Items of the reference and of the estimate of each pair: int64 (pairs,) each."""
        return self.references.counts[0][self.reference_row], self.estimates.counts[0][self.estimate_row]

    @property
    def sizes(self) -> Int:
        """Total number of items of each pair: int64 (pairs,)."""
        reference, estimate = self.counts
        return reference + estimate

    def lay_out(self) -> tuple[Ragged, Ragged]:
        """Expand references and estimates to one row per pair."""
        return self.references.take(self.reference_row), self.estimates.take(self.estimate_row)


Scorer = Callable[[Pairs, Sequence[Measure], Grid], Scores]
"""(pairs, measures, grid) -> scores.

A pair scores the same in any batch, to the bit. The grid is one of the convention's, by :meth:`Convention.grid`."""

Explainer = Callable[[Annotation, Annotation, Measure], Mapping[str, Column]]
"""(reference, estimate, measure) -> columns of the evidence: start, end, labels and verdict of each segment.

Raises an AnnotationError for an empty reference or a side that cannot be scored, and a MetricError for a measure that
does not judge items one by one."""

ManyExplainer = Callable[
    [Sequence[Annotation], Sequence[Annotation], Measure], Sequence[Mapping[str, Column] | MirflowError]
]
"""(references, estimates, measure) -> the evidence of each pair, or the error of one that cannot be scored."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A sign of a likely mistake in annotations: they are scored nevertheless, with a warning."""

    rule: str  # Name of the problem in the output of `mirflow check`
    sign: str  # Description in the documentation
    of_side: Callable[[Annotation], str | None] | None = None  # Annotation -> description of the oddity, None or empty
    of_pair: Callable[[Sequence[Measure], Annotation, Annotation], str | None] | None = None
    """(measures, reference, estimate) -> description of an oddity of the pair, None or empty."""
    suspects: Callable[[Sequence[Measure], Collection], Bool] | None = None
    """(measures, annotations) -> mask of those about which there may be a doubt; a pair is looked at for either side.
    None: all. It is about many at once, so that the usual ones take no time."""
    suspect_pairs: Callable[[Collection, Collection, Int, Int], Bool] | None = None
    """(references, estimates, rows of both) -> mask of the pairs, among those, about which there may be a doubt."""


@dataclass(frozen=True, slots=True)
class Convention:
    """A named set of rules and parameters, with metrics."""

    name: str
    summary: str
    metrics: tuple[Metric, ...]
    clean: Callable[[Ragged], Cleaned]  # Ragged rows of one side -> Cleaned
    score: Scorer  # The batched kernel
    grids: tuple[str, ...] = (_UNION,)  # Grids on which it is defined, the default first; `frames` is any hop
    framed: tuple[str, ...] = ()  # Metrics that are defined on frames; empty: all
    default_measures: tuple[Measure, ...] = ()
    """Measures computed by default; empty: the default metrics with default parameters."""
    explain: Explainer | None = None
    """(reference, estimate, measure) -> columns of the evidence for one score, by name. None if there is no
    evidence."""
    explain_many: ManyExplainer | None = None
    """The same for several pairs, of which some may have the same reference, if that is faster; then in place of
    `explain`."""
    bind: Callable[[Classes], Convention] | None = None
    """Classes or tags -> the convention restricted to them. None if it does not use classes."""
    unbound: tuple[str, ...] = ()  # Metrics that need classes, as long as none are given
    task: str = field(default="", compare=False)  # Task of the convention, set by `get_task`
    reading: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Default options of reading, such as ``{"pedal": "extend"}``."""
    doubts: tuple[Doubt, ...] = ()  # Doubts of this convention and of its task
    literature: str = ""  # Citations such as `"@raffel2014"`; see :mod:`mirflow.metrics.measures`
    counted: bool = False  # Whether `score` needs the `counts` of all weights, for pairs with too few items
    errors: ErrorBudget | None = None  # Kinds of errors among which losses are split; None: those of the task

    def __post_init__(self) -> None:
        object.__setattr__(self, "reading", dict(self.reading))  # any other mapping might not be pickled
        if self.explain_many is not None:
            object.__setattr__(self, "explain", partial(_explain_one, self.explain_many))
        for metric in self.metrics if self.counted else ():
            # Functions over a pair return their weight, and metrics restored from a store are not computed.
            if metric.read is not None and not metric.counts:
                raise MetricError(
                    f"convention {self.name!r}: the weight of {metric.name!r} is not derived from the "
                    'numbers of items; declare it with CountedWeight(words, unit, "larger")'
                )

    def grid(self, wanted: str | float | Mapping[str, float] | None = None) -> Grid:
        """Return the grid specified by a user: a name, or a hop in seconds as number, text or ``{"hop": seconds}``.

        Raise a MetricError if the convention is not defined on it.
        """
        if wanted is None:
            return self.grids[0]
        value = wanted["hop"] if isinstance(wanted, Mapping) and set(wanted) == {"hop"} else wanted
        try:
            hop = float(value)  # type: ignore[arg-type]  # other values are looked up as names
        except (TypeError, ValueError):
            if isinstance(value, str) and value in self.grids and value != FRAMES:
                return value
        else:
            if FRAMES in self.grids and math.isfinite(hop) and hop > 0:
                return hop
        names, why = ", ".join("{hop: seconds}" if name == FRAMES else name for name in self.grids), ""
        if FRAMES not in self.grids and has_task(self.task):
            kind = kind_of(self.task)
            others = [name for name, other in get_task(self.task).conventions.items() if FRAMES in other.grids]
            if not kind.gridded_as:
                why = f" ({kind.name} have no form on a time grid)"
            elif others:
                why = f" (of the task {self.task}, {' and '.join(others)} {'is' if len(others) == 1 else 'are'})"
            else:
                why = f" (the task {self.task} compares {kind.name} by their times, not frame by frame)"
        raise MetricError(f"convention {self.name!r} is not scored on the grid {wanted!r}; known: {names}{why}")

    def with_classes(self, classes: Classes) -> Convention:
        """Restrict the convention to classes or tags; raise a MetricError if it does not use them."""
        if self.bind is None:
            raise MetricError(f"convention {self.name!r} does not compare classes; leave the classes out")
        return self.bind(classes)

    def demand_classes(self, measures: Sequence[Measure]) -> None:
        """Raise a MetricError for measures that are undefined without classes."""
        for measure in measures:
            if measure.metric.name in self.unbound:
                raise MetricError(f"{measure} needs credits of errors; give classes with a tree or credits")

    def with_installed(self) -> Convention:
        """Add the metrics that installed packages declare for the task."""
        names = {metric.name for metric in self.metrics}
        more = [metric for metric in installed_metrics(self.task) if metric.name not in names]
        return replace(self, metrics=(*self.metrics, *more)) if more else self

    def losses(self, whole: Measure) -> tuple[Measure, ...]:
        """Return the losses by each kind of errors under a measure, or raise a MetricError."""
        if self.errors is None:
            raise MetricError(f"no kinds of errors are declared for task {self.task!r}, so its losses cannot be split")
        return self.errors.losses(whole)

    def headline(self, known: Sequence[Measure] = ()) -> Measure:
        """Return the first headline metric of those known, by default of the default ones."""
        default, task = known or self.select(), get_task(self.task)
        names = task.headlines.get(self.name, task.headline)
        measures = [one for name in names for one in default if one.metric.name == name]
        return (measures or [*default])[0]

    def on_grid(self, measures: Sequence[Measure], grid: Grid, *, asked: bool = True) -> tuple[Measure, ...]:
        """Return measures as they are defined on a grid: those that have frames of their own take its hop.

        Raise a MetricError for metrics that are not defined on it and for functions over a pair, which take plain
        arrays; unless they were asked for by name, leave them out.
        """
        if grid == self.grids[0]:
            return tuple(measures)
        defined = []
        for measure in measures:
            name = measure.metric.name
            if measure.metric.pair is not None:
                why = f"is a function over a pair, which cannot be scored on grid {grid!r}"
                raise MetricError(f"{measure} {why}; leave the grid out")
            if isinstance(grid, str) or not self.framed:
                defined.append(measure)
            elif name in self.framed:
                # Parameters with the length of a metric's own frames.
                for length in (each for each in measure.metric.parameters if each.name in ("frame_size", "hop")):
                    if measure[length.name] not in (length.default, grid):
                        frames = f"{measure} has frames of {measure[length.name]} s"
                        raise MetricError(f"{frames}, the grid of {grid:g} s; give only one of them")
                    measure = measure.metric.measure(**{**measure.parameters, length.name: grid})
                defined.append(measure)
            elif asked:
                names = ", ".join(self.framed)
                raise MetricError(f"{name} is not defined on frames: leave the grid out, or ask for one of {names}")
        return tuple(defined)

    def select(
        self, asked: MetricLike | Sequence[MetricLike] | None = None, folder: str | os.PathLike[str] = "."
    ) -> tuple[Measure, ...]:
        """Select measures without repetitions; None selects the default ones.

        Parameters
        ----------
        asked : str, callable, Metric, sequence of these, or None
            See `measures_of`.
        folder : path
            Folder to which paths of Python files are relative.
        """
        if asked is None:
            return self.default_measures or tuple(metric.measure() for metric in self.metrics if metric.default)
        several = [asked] if isinstance(asked, str | Metric | Measure) or callable(asked) else asked
        measures = tuple(dict.fromkeys(measure for one in several for measure in self.measures_of(one, folder)))
        refuse_namesakes(measures)
        return measures

    def measures_of(self, asked: MetricLike, folder: str | os.PathLike[str] = ".") -> list[Measure]:
        """Return the measures specified by one entry of a list of metrics.

        `asked`: an identity string or a sweep, of a metric of the convention or of an installed package; a metric by
        its module, such as ``my_metrics.py:swing_error@0.1``; a function over one pair; a record; or a measure.
        ``lost`` is the loss by each kind of errors, ``lost@missing(of=recall)`` by one, of another metric than the
        headline. `folder`: folder to which paths of Python files are relative.

        Examples
        --------
        >>> def first_error(reference_times, estimated_times):
        ...     return estimated_times[0] - reference_times[0]
        >>> [str(one) for one in get_task("beat").convention().measures_of(first_error)]
        ['first_error']
        """
        if isinstance(asked, Measure):
            return [asked]
        if not isinstance(asked, str):
            metrics = metrics_from(asked, self.task)
            texts = [metric.name for metric in metrics]
        elif loaded := load_metrics(asked, self.task, folder):
            metrics, texts = loaded
        else:
            try:
                return [parse(spelling, self.metrics) for spelling in expand(asked)]
            except UnknownNameError as error:
                name = error.name
                metrics = installed_metrics(self.task, name) if error.what == "metric" else ()
                if not metrics and (name != LOST or self.errors is None):
                    raise
            if not metrics:  # losses, of all kinds without one
                losses, headline = [], self.headline()
                for wanted in (parse(spelling, [self.losses(headline)[0].metric]) for spelling in expand(asked)):
                    for loss in self.losses(parse(str(wanted[OF]), self.metrics)):
                        if wanted[KIND] in ("", loss[KIND]):
                            kind, of = loss.metric.parameters
                            parameters = kind, replace(of, default=str(headline))
                            losses.append(Measure(replace(loss.metric, parameters=parameters), loss.values))
                return losses
            named = any(metric.name == name for metric in metrics)
            texts = [asked] if named else [asked.replace(name, metric.name, 1) for metric in metrics]
        for metric in metrics:
            if any(metric.name in (known.name, *known.aliases, known.key) for known in self.metrics):
                raise MetricError(
                    f"{metric.origin}: the convention {self.name!r} of task {self.task!r} has a metric "
                    f"{metric.name!r}; declare another name: name='my_{metric.name}'"
                )
        return [parse(spelling, metrics) for text in texts for spelling in expand(text)]

    def score_pair(self, reference: Ragged, estimate: Ragged, measures: Sequence[Measure]) -> Float:
        """Score a pair of single rows on the default grid: float64 (measures,). Raise a ValueError if it is refused."""
        scores = self.score(Pairs.in_order(reference, estimate), measures, self.grids[0])
        if scores.refused:
            raise ValueError(scores.refused[0])
        return np.asarray(scores.score[0])

    def score_arrays(
        self, row: Callable[[str, Any], Ragged], reference: Any, estimate: Any, measures: Sequence[Measure]
    ) -> Float:
        """Score a pair of plain arrays, of which `row` makes clean rows: see `score_pair`.

        `row`: (``"reference"`` or ``"estimate"``, arrays) -> a single row, or an error that names the side.
        """
        return self.score_pair(row("reference", reference), row("estimate", estimate), measures)


def _explain_one(
    explain_many: ManyExplainer, reference: Annotation, estimate: Annotation, measure: Measure
) -> Mapping[str, Column]:
    (evidence,) = explain_many([reference], [estimate], measure)
    if isinstance(evidence, MirflowError):
        raise evidence
    return evidence


@dataclass(frozen=True, slots=True)
class Task:
    """A task and its conventions, of which the first is the default."""

    name: str
    title: str
    conventions: Mapping[str, Convention]
    headline: tuple[str, ...]
    """Metrics by which the field (MIREX, if it has the task) ranks systems: the first that an evaluation has is
    used."""
    headlines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Headline metrics of conventions that differ from the task's."""
    kind: str = ""  # Kind of annotation, for tasks declared outside of mirflow
    doubts: tuple[Doubt, ...] = ()  # Doubts shared by all conventions
    errors: ErrorBudget | None = None  # Kinds of errors, of conventions without their own; None: losses cannot be split

    def convention(self, name: str | None = None, classes: Classes | None = None) -> Convention:
        """Return a convention by name (None: the default), restricted to `classes` if given."""
        if name is None:
            name = next(iter(self.conventions))
        if name not in self.conventions:
            raise UnknownNameError(f"{self.name} convention", name, self.conventions)
        rules = self.conventions[name]
        if classes is not None:
            rules = rules.with_classes(classes)
        doubts, errors = (*self.doubts, *rules.doubts), rules.errors or self.errors
        return replace(rules, task=self.name, doubts=doubts, errors=errors)


def by_name(*conventions: Convention) -> Mapping[str, Convention]:
    """Conventions of a task, the default one first."""
    return MappingProxyType({rules.name: rules for rules in conventions})


def tasks() -> tuple[str, ...]:
    """Names of the tasks of mirflow and of the plugins in use."""
    return (*TASK_KINDS, *declared(TASKS))


def has_task(name: str) -> bool:
    """True if mirflow or an installed package declares the task."""
    return name in TASK_KINDS or (bool(name) and find(TASKS, name) is not None)


def declare_task(task: Task) -> Task:
    """Declare a task, which makes its name available in pipelines, commands and queries.

    Parameters
    ----------
    task : Task
        With the `kind` of its annotations.

    Returns
    -------
    Task
        The same.

    Raises
    ------
    PluginError
        If `task` is not a task, its name is taken by mirflow, or its kind of annotation is unknown.

    Examples
    --------
    >>> declare_task(replace(get_task("beat"), kind="events"))
    Traceback (most recent call last):
    ...
    mirflow.errors.PluginError: task 'beat': mirflow has a task of this name; choose another
    """
    if not isinstance(task, Task):
        raise PluginError(f"not a task: {task!r}; make one with mirflow.pair_task")
    if task.name in TASK_KINDS:
        raise PluginError(f"task {task.name!r}: mirflow has a task of this name; choose another")
    if task.kind not in KINDS:
        raise PluginError(f"task {task.name!r}: {UnknownNameError('kind of annotation', task.kind, KINDS)}")
    declare(TASKS, task.name, task)
    return task


def get_task(name: str) -> Task:
    """Return a task by name, importing its module if needed.

    Examples
    --------
    >>> get_task("chord").convention().name
    'mir_eval'
    """
    if not isinstance(name, str) or name in TASK_KINDS:
        kind_of(name)  # refuses what is no text
        task: Task = importlib.import_module(f".{name}", __package__).TASK
        return task
    found = find(TASKS, name)
    if found is None:
        raise UnknownNameError("task", name, tasks())
    return declare_task(found)


def chosen_grid(task: str, convention: str, grid: str | float) -> str:
    """Describe the grid of scores; empty for the default grid of the convention."""
    name = str(grid)
    if name == "" or (name == _UNION and task in TASK_KINDS and not KINDS[TASK_KINDS[task]].sampled):
        return ""
    rules = get_task(task).conventions.get(convention) if has_task(task) else None
    if name == (rules.grids[0] if rules else _UNION):
        return ""
    return f"frames of {1000 * float(name):g} ms" if name[0].isdigit() else f"grid {name}"


def unknown_convention(name: str, metrics: Sequence[Metric]) -> Convention:
    """Return a convention whose task is not available: its metrics are known but cannot be computed."""

    def missing(*_: Any) -> Any:
        raise MetricError(f"convention {name!r}: its task is unknown; import or install the package that declares it")

    return Convention(name, "not known here", tuple(metrics), missing, missing)


def refuse_namesakes(measures: Iterable[Measure]) -> None:
    """Raise a MetricError for metrics with the same name but different origins."""
    known: dict[str, str] = {}
    for measure in measures:
        name, origin = measure.metric.name, measure.metric.origin
        if known.setdefault(name, origin) != origin:
            raise MetricError(f"{known[name]} and {origin} are both called {name!r}; declare another name for one")


def refuse_unjudged(measure: Measure, metrics: Iterable[Metric], what: str) -> None:
    """Raise a MetricError for a measure that does not judge items one by one and so has no evidence.

    The message suggests those of the task's metrics that do; `what` names the items.
    """
    if not measure.metric.itemwise:
        names = [metric.name for metric in metrics if metric.itemwise]
        if not names:
            remedy = "declare a metric that does with itemwise=True"
        else:
            remedy = f"ask for one of {', '.join(names)}" if len(names) > 1 else f"ask for {names[0]}"
        raise MetricError(f"{measure} does not judge {what} one by one; {remedy}")


_Result = TypeVar("_Result")
_Cache = TypeVar("_Cache", bound="Shared")
_Arguments = ParamSpec("_Arguments")


class Shared:
    """Cache of a kernel's results, which several metrics share."""

    def once(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """Return the result for a key, computing it on first use."""
        results: dict[Hashable, Any] = self.__dict__.setdefault("_results", {})
        if key not in results:
            results[key] = compute()
        result: _Result = results[key]
        return result


def computed_once(
    compute: Callable[Concatenate[_Cache, _Arguments], _Result],
) -> Callable[Concatenate[_Cache, _Arguments], _Result]:
    """Cache the results of a function, or a method, of a `Shared` by its other arguments."""

    @wraps(compute)
    def cached(cache: _Cache, /, *args: _Arguments.args, **parameters: _Arguments.kwargs) -> _Result:
        key = compute, args, tuple(parameters.items())
        return cache.once(key, lambda: compute(cache, *args, **parameters))

    return cached


def computed_by(
    *names: str,
) -> Callable[[Callable[Concatenate[_Cache, ...], _Result]], Callable[[_Cache, Measure], _Result]]:
    """Cache the results of a function, or a method, of a `Shared` by parameters of a measure.

    The function takes their values, of the types of the defaults; the cached one takes the measure.

    Examples
    --------
    >>> class Numbers(Shared):
    ...     @computed_by("window")
    ...     def wider(self, window):
    ...         print("computed")
    ...         return 2 * window
    >>> numbers, measure = Numbers(), get_task("onset").convention().select(["recall@0.25"])[0]
    >>> numbers.wider(measure), numbers.wider(measure)
    computed
    (0.5, 0.5)
    """

    def decorate(compute: Callable[Concatenate[_Cache, ...], _Result]) -> Callable[[_Cache, Measure], _Result]:
        @wraps(compute)
        def cached(cache: _Cache, measure: Measure) -> _Result:
            key = measure.derived.get(compute)
            if key is None:
                usual = {parameter.name: parameter.default for parameter in measure.metric.parameters}
                # Functions over one pair take any number, such as an array without dims.
                key = measure.derived[compute] = compute, *(type(usual[name])(measure[name]) for name in names)
            return cache.once(key, lambda: compute(cache, *key[1:]))

        return cached

    return decorate


def read_scores(measures: Sequence[Measure], computed: Any, pairs: int) -> Scores:
    """Read scores of measures from the results of the task's kernel.

    Measures with extra dims return `Sparse`; others return score and weight, float64 (pairs,) each.
    """
    scalars = [measure for measure in measures if not measure.metric.dims]
    arrays = np.zeros((2, pairs, len(scalars)))
    for column, measure in enumerate(scalars):
        arrays[0, :, column], arrays[1, :, column] = measure.read(computed)
    extras = {measure.variable: measure.read(computed) for measure in measures if measure.metric.dims}
    return Scores(arrays[0], arrays[1], extras)


def read_pair(measures: Sequence[Measure], computed: Any) -> list[float]:
    """Read scores of measures without extra dims from the kernel's results of a single pair."""
    return [float(measure.read(computed)[0][0]) for measure in measures]


def score_by(
    compute: Callable[[Pairs], Any],
    pairs: Pairs,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    at_once: int | None = None,
) -> Scores:
    """Read scores from the results of a kernel, which `compute` makes; a `Scorer` once that is bound.

    `at_once`: number of items of both sides that are computed at once, for metrics without numerators of their own
    (`surplus`) and with the same labels of extra dims for any pairs; None: all.
    """
    if at_once is None:
        return read_scores(measures, compute(pairs), len(pairs))
    parts = [*batches(pairs.sizes, at_once)] or [slice(0, 0)]
    scores = [read_scores(measures, compute(pairs[part]), part.stop - part.start) for part in parts]
    extras = {}
    for name, table in scores[0].extras.items():
        tables = [each.extras[name] for each in scores]
        index = np.concatenate([each.index for each in tables])
        index[:, 0] += np.repeat([part.start for part in parts], [len(each.index) for each in tables])
        extras[name] = replace(table, index=index, value=np.concatenate([each.value for each in tables]))
    score, weight = (np.concatenate([getattr(each, name) for each in scores]) for name in ("score", "weight"))
    return Scores(score, weight, extras)


def score_on_frames(
    score: Callable[..., Scores], kind: str, form: GridForm, pairs: Pairs, measures: Sequence[Measure], grid: Grid
) -> Scores:
    """Score pairs also on frames of a hop in seconds: both sides are sampled as by :func:`mirflow.align`.

    A `Scorer` once the first arguments are bound; `score`: scores (pairs, measures) on the default grid.
    """
    if isinstance(grid, str):
        return score(pairs, measures)
    of_kind = KINDS[kind]
    late = f"ends too late for frames of {grid:g} s (more than {MOST_FRAMES}); are its times in seconds?"
    refused = {
        pair: f"{name}: {late}"
        for name, (rows, row) in zip(("estimate", "reference"), reversed(pairs.sides), strict=True)
        for pair in np.flatnonzero(too_late(of_kind, rows, grid)[row]).tolist()
    }
    references, estimates = (form.sample(of_kind, rows, grid) for rows, _ in pairs.sides)
    in_frames = []  # the measures of the same quantities if a frame takes a second
    for measure in measures:
        parameters = zip(measure.metric.parameters, measure.values, strict=True)
        values = (round(v / grid, 9) if p.unit == "s" and isinstance(v, float) else v for p, v in parameters)
        in_frames.append(Measure(measure.metric, tuple(values)))
    scores = score(replace(pairs, references=references, estimates=estimates), in_frames)
    scores.score[list(refused)] = np.nan
    units = [measure.metric.weight_unit for measure in measures if not measure.metric.dims]
    weight = scores.weight * np.array([grid if unit == "s" else 1.0 for unit in units])
    return replace(scores, weight=weight, refused={**scores.refused, **refused})


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
    cleaning = clean or partial(set_aside, problems=())
    # There is no kernel: engines call the functions.
    convention = Convention("default", "functions over one pair", records, cleaning, partial(score_by, len))
    first = headline or next((record.name for record in records), "")
    words = title or name.replace("_", " ").capitalize()
    return Task(name, words, by_name(convention), (first,), kind=kind)
