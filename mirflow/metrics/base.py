"""Tasks and conventions: what scores a batch of pairs, and what comes out."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.classes import Classes
from ..annotations.schema import KINDS, TASK_KINDS
from ..errors import MetricError, MirflowError, PluginError, UnknownNameError
from ..plugins import TASKS, declare, declared, find
from ..ragged import Column, Float, Int, Ragged
from .cleaning import Cleaned
from .measures import Measure, Metric, expand, parse, select
from .user_metrics import installed_metrics, is_reference, load_metrics, metrics_from


@dataclass(frozen=True, slots=True)
class Sparse:
    """A result with extra dims, for many pairs, as coordinates and values.

    Parameters
    ----------
    dims : tuple of str
        The extra dims.
    coords : tuple of tuples of str
        Labels along each of them.
    index : int64 (n, 1 + number of dims)
        Pair and position along each dim.
    value : float64 (n,)
    attrs : mapping
        ``long_name`` and ``units``.
    fill : float
        The value where there is no entry: 0 for seconds and counts, NaN for scores.
    """

    dims: tuple[str, ...]
    coords: tuple[tuple[str, ...], ...]
    index: Int
    value: Float
    attrs: Mapping[str, str] = field(default_factory=dict)
    fill: float = 0.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a batch of pairs.

    Parameters
    ----------
    score, weight : float64 (pairs, measures)
        In the order of the scalar measures asked for; a weight is never NaN.
    extras : mapping of str to Sparse
        Results with extra dims, by the name of their variable.
    refused : mapping of int to str
        Pairs that the convention cannot score, and why.
    repairs : int64 (pairs,)
        Irregularities that only the pair shows, such as an estimate that ends early.
    partly : mapping of int to str
        Pairs of which some measures have no score (NaN), and why.
    broken : mapping of (int, int) to str
        Pairs and measures, by their place among all of them, of which the computation of a score failed, and why.
    """

    score: Float
    weight: Float
    extras: Mapping[str, Sparse] = field(default_factory=dict)
    refused: Mapping[int, str] = field(default_factory=dict)
    repairs: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    partly: Mapping[int, str] = field(default_factory=dict)
    broken: Mapping[tuple[int, int], str] = field(default_factory=dict)


_UNION = "union"
FRAMES = "frames"
Grid = str | float
"""A common time axis: ``union``, ``reference``, or the hop of frames in seconds."""

MetricLike = str | Metric | Callable[..., Any]
"""A metric as users name it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows: a reference and an estimate each.

    Parameters
    ----------
    references, estimates : Ragged
        As `clean` of the convention leaves them.
    reference_row, estimate_row : int64 (pairs,)

    Examples
    --------
    >>> references = Ragged({"time": np.array([1.0, 2.0, 3.0])}, (np.array([2, 1]),))
    >>> estimates = Ragged({"time": np.array([4.0])}, (np.array([1]),))
    >>> pairs = Pairs(references, estimates, np.array([0, 1]), np.array([0, 0]))
    >>> len(pairs), [counts.tolist() for counts in pairs.counts], pairs[1:].lay_out()[0].columns["time"].tolist()
    (2, [[2, 1], [1, 1]], [3.0])
    """

    references: Ragged
    estimates: Ragged
    reference_row: Int
    estimate_row: Int

    @classmethod
    def in_order(cls, references: Ragged, estimates: Ragged) -> Pairs:
        """The first row of both sides, the second, and so on."""
        row = np.arange(len(references), dtype=np.int64)
        return cls(references, estimates, row, row)

    def __len__(self) -> int:
        return len(self.reference_row)

    def __getitem__(self, chosen: slice | Int) -> Pairs:
        return Pairs(self.references, self.estimates, self.reference_row[chosen], self.estimate_row[chosen])

    @property
    def sides(self) -> tuple[tuple[Ragged, Int], tuple[Ragged, Int]]:
        """Rows of references and the row of each pair, then those of estimates."""
        return (self.references, self.reference_row), (self.estimates, self.estimate_row)

    @property
    def counts(self) -> tuple[Int, Int]:
        """Items of the reference and of the estimate of each pair: int64 (pairs,) each."""
        return self.references.counts[0][self.reference_row], self.estimates.counts[0][self.estimate_row]

    @property
    def sizes(self) -> Int:
        """Items of both sides of each pair together: int64 (pairs,)."""
        reference, estimate = self.counts
        return reference + estimate

    def lay_out(self) -> tuple[Ragged, Ragged]:
        """References and estimates with a row for each pair."""
        return self.references.take(self.reference_row), self.estimates.take(self.estimate_row)


Scorer = Callable[[Pairs, Sequence[Measure], Grid], Scores]
"""(pairs, measures, grid) -> scores.

A pair's numbers do not depend on what it is batched with, to the bit; a MetricError refuses a grid that the convention
is not defined on."""

Explainer = Callable[[Annotation, Annotation, Measure], Mapping[str, Column]]
"""(reference, estimate, measure) -> what the score consists of: start, end, labels, verdict of each segment.

An AnnotationError refuses a side that cannot be scored and an empty reference, a MetricError a measure that does not
judge items one by one."""

ManyExplainer = Callable[[Annotation, Sequence[Annotation], Measure], Sequence[Mapping[str, Column] | MirflowError]]
"""(reference, estimates, measure) -> the same for each estimate; an error stands for one that cannot be scored."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Signs of a likely mistake in annotations, which are scored all the same, with a warning.

    Parameters
    ----------
    rule : str
        Name of the problem in the output of ``mirflow check``.
    sign : str
        Description in the documentation.
    attribute : str
        Attribute of annotations in which their reader says what is odd; empty: readers know nothing of it.
    of_side : callable or None
        Annotation -> what is odd about it by itself; None or empty text if nothing is.
    of_pair : callable or None
        (measures, reference, estimate) -> what is odd about the two together.
    """

    rule: str
    sign: str
    attribute: str = ""
    of_side: Callable[[Annotation], str | None] | None = None
    of_pair: Callable[[Sequence[Measure], Annotation, Annotation], str | None] | None = None


@dataclass(frozen=True, slots=True)
class Convention:
    """A named set of rules and parameters, with its own metrics.

    Parameters
    ----------
    name, summary : str
    metrics : tuple of Metric
    clean : callable
        Ragged rows of one side -> Cleaned.
    score : Scorer
        The batched kernel.
    grids : tuple of str
        The grids it is defined on; the first is the default. ``frames`` stands for any hop.
    default_measures : tuple of str
        Identities of what is computed where no metrics are named; empty: the default metrics at their defaults.
    explain : callable or None
        (reference, estimate, measure) -> columns of the evidence for one score, by name; None: it offers none.
    explain_many : callable or None
        The same for several estimates of a track together, where that is faster.
    bind : callable or None
        Classes or tags that there are -> the same convention for them; None: it has no use for them.
    unbound : tuple of str
        Metrics that need classes and have none yet.
    task : str
        The task that it was asked of.
    reading : mapping of str to object
        Options of reading that hold where none are given, such as ``{"pedal": "extend"}``.
    doubts : tuple of Doubt
        Those that only concern this convention or its task.
    literature : str
        Citations, as of a metric: ``"@raffel2014"``; see :mod:`mirflow.metrics.literature`.
    counted : bool
        Whether `score` needs the `counts` of all weights: where there are too few items to score a pair.
    """

    name: str
    summary: str
    metrics: tuple[Metric, ...]
    clean: Callable[[Ragged], Cleaned]
    score: Scorer
    grids: tuple[str, ...] = (_UNION,)
    default_measures: tuple[str, ...] = ()
    explain: Explainer | None = None
    explain_many: ManyExplainer | None = None
    bind: Callable[[Classes], Convention] | None = None
    unbound: tuple[str, ...] = ()
    task: str = field(default="", compare=False)
    reading: Mapping[str, Any] = field(default_factory=dict, hash=False)
    doubts: tuple[Doubt, ...] = ()
    literature: str = ""
    counted: bool = False

    def __post_init__(self) -> None:
        for metric in self.metrics if self.counted else ():
            # A function over a pair gives its weight itself, and the metric of a store's record is not computed.
            if metric.read is not None and not metric.counts:
                raise MetricError(
                    f"convention {self.name!r}: the weight of {metric.name!r} does not say how it follows from the "
                    'numbers of items; name it, as in Weight(words, unit, "larger")'
                )

    def grid(self, wanted: str | float | Mapping[str, float] | None = None) -> Grid:
        """The grid that a user means: a name, or the hop of frames as seconds, text or ``{"hop": seconds}``.

        A MetricError refuses one that the convention is not defined on.
        """
        if wanted is None:
            return self.grids[0]
        value = wanted["hop"] if isinstance(wanted, Mapping) and set(wanted) == {"hop"} else wanted
        try:
            hop = float(value)  # type: ignore[arg-type]  # anything that is no number is looked up as a name
        except (TypeError, ValueError):
            if isinstance(value, str) and value in self.grids and value != FRAMES:
                return value
        else:
            if FRAMES in self.grids and math.isfinite(hop) and hop > 0:
                return hop
        known = ", ".join("{hop: seconds}" if name == FRAMES else name for name in self.grids)
        raise MetricError(f"convention {self.name!r} is not scored on the grid {wanted!r}; known: {known}")

    def with_classes(self, classes: Classes | None) -> Convention:
        """The same convention for some classes or tags, None for any; a MetricError if it has no use for them."""
        if classes is None:
            return self
        if self.bind is None:
            raise MetricError(f"convention {self.name!r} compares no classes, so it needs none to be given")
        return self.bind(classes)

    def demand_classes(self, measures: Sequence[Measure]) -> None:
        """Raise a MetricError for measures that mean nothing without classes."""
        for measure in measures:
            if measure.metric.name in self.unbound:
                raise MetricError(f"{measure} needs to know what errors are worth: give classes with a tree or credits")

    def with_installed(self) -> Convention:
        """The same convention with the metrics that installed packages declare for its task."""
        names = {metric.name for metric in self.metrics}
        more = [metric for metric in installed_metrics(self.task) if metric.name not in names]
        return replace(self, metrics=(*self.metrics, *more)) if more else self

    def demand_grid(self, measures: Sequence[Measure], grid: Grid) -> None:
        """Raise a MetricError for functions over a pair on any grid but the default, of which they know nothing."""
        for measure in measures:
            if measure.metric.pair is not None and grid != self.grids[0]:
                raise MetricError(
                    f"{measure} is a function over a pair, which has no grid {grid!r}; leave the grid out"
                )

    def select(
        self, asked: MetricLike | Sequence[MetricLike] | None = None, folder: str | os.PathLike[str] = "."
    ) -> tuple[Measure, ...]:
        """The measures that are asked for, repeated ones once; None: the default ones.

        Parameters
        ----------
        asked : str, callable, Metric, sequence of these, or None
            See `measures_of`.
        folder : path
            Folder that paths of Python files are relative to.

        Raises
        ------
        MetricError
            See `measures_of`, and for two metrics of the same name.
        UnknownNameError
            For a name that is not known, with a suggestion.
        """
        if asked is None:
            return select(self.default_measures or None, self.metrics)
        several = [asked] if isinstance(asked, str | Metric) or callable(asked) else asked
        found = tuple(dict.fromkeys(measure for one in several for measure in self.measures_of(one, folder)))
        refuse_namesakes(found)
        return found

    def measures_of(self, asked: MetricLike, folder: str | os.PathLike[str] = ".") -> list[Measure]:
        """The measures that one entry of a list of metrics stands for.

        Parameters
        ----------
        asked : str, callable or Metric
            An identity string or a sweep, of a metric of the convention or of an installed package; a metric by its
            module, such as ``my_metrics.py:swing_error@0.1``; a function over one pair; or a record.
        folder : path
            Folder that paths of Python files are relative to.

        Raises
        ------
        MetricError
            For a module, function or parameter that cannot be, and the name of a metric of the convention.
        UnknownNameError
            For a name that is not known, with a suggestion.

        Examples
        --------
        >>> def first_error(reference_times, estimated_times):
        ...     return estimated_times[0] - reference_times[0]
        >>> [str(one) for one in get_task("beat").convention().measures_of(first_error)]
        ['first_error']
        """
        if not isinstance(asked, str):
            metrics = metrics_from(asked, self.task)
            self._refuse_taken(metrics)
            return [one.measure() for one in metrics]
        if is_reference(asked):
            metrics, texts = load_metrics(asked, self.task, folder)
        else:
            try:
                return [parse(one, self.metrics) for one in expand(asked)]
            except UnknownNameError as error:
                name = error.name
                metrics = installed_metrics(self.task, name) if error.what == "metric" else ()
                if not metrics:
                    raise
            named = any(one.name == name for one in metrics)
            texts = [asked] if named else [asked.replace(name, one.name, 1) for one in metrics]
        self._refuse_taken(metrics)
        return [parse(one, metrics) for text in texts for one in expand(text)]

    def _refuse_taken(self, metrics: Sequence[Metric]) -> None:
        for one in metrics:
            if any(one.name in (known.name, *known.aliases, known.key) for known in self.metrics):
                raise MetricError(
                    f"{one.origin}: the convention {self.name!r} of task {self.task!r} has a metric {one.name!r}; "
                    f"declare another name: name='my_{one.name}'"
                )

    def score_pair(self, reference: Ragged, estimate: Ragged, measures: Sequence[Measure]) -> Float:
        """Scores of a pair of single rows on the default grid, float64 (measures,); a ValueError if it is refused."""
        scores = self.score(Pairs.in_order(reference, estimate), measures, self.grids[0])
        if scores.refused:
            raise ValueError(scores.refused[0])
        found: Float = scores.score[0]
        return found


@dataclass(frozen=True, slots=True)
class Task:
    """One task: what is compared, and under which conventions; the first convention is the default.

    Parameters
    ----------
    name, title : str
    conventions : mapping of str to Convention
    headline : tuple of str
        The metric by which the field, and MIREX where it has the task, ranks systems: the first of these that an
        evaluation holds.
    headlines : mapping of str to tuple of str
        The same of conventions that have another one.
    kind : str
        Kind of the annotations, of tasks from outside of mirflow.
    doubts : tuple of Doubt
        Those of all its conventions.
    """

    name: str
    title: str
    conventions: Mapping[str, Convention]
    headline: tuple[str, ...]
    headlines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind: str = ""
    doubts: tuple[Doubt, ...] = ()

    def headline_of(self, convention: str) -> tuple[str, ...]:
        """The names of the headline metric under a convention; of one that is not known, those of the task.

        Examples
        --------
        >>> get_task("beat").headline_of("mir_eval"), get_task("beat").headline_of("mirex")
        (('f_measure',), ('p_score', 'f_measure'))
        """
        return self.headlines.get(convention, self.headline)

    def convention(self, name: str | None = None, classes: Classes | None = None) -> Convention:
        """A convention by name, perhaps for some classes; None: the default one."""
        if name is None:
            name = next(iter(self.conventions))
        if name not in self.conventions:
            raise UnknownNameError(f"{self.name} convention", name, self.conventions)
        rules = self.conventions[name].with_classes(classes)
        return replace(rules, task=self.name, doubts=(*self.doubts, *rules.doubts))


def tasks() -> tuple[str, ...]:
    """Names of the tasks that have metrics: those of mirflow, and those of plugins that are in use."""
    return (*TASK_KINDS, *declared(TASKS))


def has_task(name: str) -> bool:
    """True if there is a task of that name, also in an installed package."""
    return name in TASK_KINDS or (bool(name) and find(TASKS, name) is not None)


def declare_task(task: Task) -> Task:
    """Declare a task from outside of mirflow, which pipelines, commands and queries then take by its name.

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
        If it is none, or has the name of a task of mirflow or a kind of annotation that there is not.

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
    """The task of that name; its module is imported only now.

    Raises
    ------
    UnknownNameError
        If there is no such task.

    Examples
    --------
    >>> get_task("chord").convention().name
    'mir_eval'
    """
    if not isinstance(name, str):
        raise MetricError(f"a task is named by text, such as 'beat', not by {type(name).__name__}")
    if name in TASK_KINDS:
        task: Task = importlib.import_module(f".{name}", __package__).TASK
        return task
    found = find(TASKS, name)
    if found is None:
        raise UnknownNameError("task", name, tasks())
    return declare_task(found)


def chosen_grid(task: str, convention: str, grid: str | float) -> str:
    """Name the grid of scores in words; empty where it is the default of their convention.

    Examples
    --------
    >>> chosen_grid("chord", "mir_eval", "union"), chosen_grid("chord", "mir_eval", 0.01)
    ('', 'frames of 10 ms')
    >>> chosen_grid("melody", "mirex", "0.01"), chosen_grid("melody", "mirex", "reference")
    ('', 'grid reference')
    """
    name = str(grid)
    if name == "" or (name == _UNION and task in TASK_KINDS and not KINDS[TASK_KINDS[task]].sampled):
        return ""
    rules = get_task(task).conventions.get(convention) if has_task(task) else None
    if name == (rules.grids[0] if rules else _UNION):
        return ""
    return f"frames of {1000 * float(name):g} ms" if name[0].isdigit() else f"grid {name}"


def unknown_convention(name: str, metrics: Sequence[Metric]) -> Convention:
    """A convention of a task that is not at hand: its metrics are known, but nothing can be scored."""

    def missing(*_: Any) -> Any:
        raise MetricError(f"convention {name!r}: its task is not known here; import or install what declares it")

    return Convention(name, "not known here", tuple(metrics), missing, missing)


def refuse_namesakes(measures: Iterable[Measure]) -> None:
    """Raise a MetricError for metrics of the same name and different origins."""
    known: dict[str, str] = {}
    for measure in measures:
        name, origin = measure.metric.name, measure.metric.origin
        if known.setdefault(name, origin) != origin:
            raise MetricError(f"{known[name]} and {origin} are both called {name!r}; declare another name of one")


def refuse_unjudged(measure: Measure, metrics: Iterable[Metric], what: str) -> None:
    """Raise a MetricError for a measure that does not judge items one by one, so that there is no evidence of it.

    The metrics are the task's, to name those that do; `what` names the items in the message.
    """
    if not measure.metric.itemwise:
        names = [one.name for one in metrics if one.itemwise]
        if not names:
            remedy = "declare a metric that does with itemwise=True"
        else:
            remedy = f"ask for one of {', '.join(names)}" if len(names) > 1 else f"ask for {names[0]}"
        raise MetricError(f"{measure} does not judge {what} one by one; {remedy}")


_Result = TypeVar("_Result")


class Shared:
    """Results of a task's kernel for some pairs, each computed once for all metrics that read it."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """A result that several metrics share, computed when it is first asked for."""
        if key not in self._known:
            self._known[key] = compute()
        found: _Result = self._known[key]
        return found


def read_scores(measures: Sequence[Measure], computed: Any, pairs: int) -> Scores:
    """Scores of measures that are all read off what the task's kernel has computed of some number of pairs.

    Measures with extra dims are read as `Sparse`, the others as score and weight, float64 (pairs,) each.
    """
    scalars = [measure for measure in measures if not measure.metric.dims]
    found = np.zeros((2, pairs, len(scalars)))
    for column, measure in enumerate(scalars):
        found[0, :, column], found[1, :, column] = measure.read(computed)
    return Scores(found[0], found[1], {one.variable: one.read(computed) for one in measures if one.metric.dims})


def read_pair(measures: Sequence[Measure], computed: Any) -> list[float]:
    """Scores of measures without extra dims that are read off what the task's kernel has computed of a single pair."""
    return [float(measure.read(computed)[0][0]) for measure in measures]


def score_by(
    compute: Callable[[Pairs], Any], what: str, pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union"
) -> Scores:
    """Scores that are all read off what is computed of the pairs; a `Scorer` where the first two arguments are bound.

    Parameters
    ----------
    compute : callable
        Computes what metrics are read off.
    what : str
        What is compared one by one, so that a grid is refused; empty: a grid makes no difference.
    """
    if what:
        refuse_grid(grid, what)
    return read_scores(measures, compute(pairs), len(pairs))


def refuse_grid(grid: Grid, what: str) -> None:
    """Raise a MetricError for any grid but the default, where items are compared one by one or have no time."""
    if grid != "union":
        raise MetricError(f"{what} are not scored on grid {grid!r}; leave the grid out")
