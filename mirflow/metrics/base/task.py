"""Tasks and conventions: what a room of metrics offers to the rest of the house."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation
from ...annotations.classes import Classes
from ...errors import MetricError, MirflowError, UnknownNameError
from ...ragged import Column, Float, Int, Ragged
from .identity import Measure, select
from .record import Metric


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a row cannot be scored.

    Parameters
    ----------
    item : int
        Counted in the row as it was read.
    message : str
        What is wrong with it.
    first : int or None
        The earlier item that it is at odds with, which the message ends with.
    """

    item: int
    message: str
    first: int | None = field(default=None, repr=False)

    def told(self, annotation: Annotation) -> str:
        """The message, with the line of the earlier item where the annotation that the row was has lines."""
        line = None if self.first is None else annotation.line(self.first)
        return self.message if line is None else f"{self.message} on line {line}"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Rows made fit for a convention.

    Parameters
    ----------
    rows : Ragged
        The same rows, perhaps with fewer items; flawed rows are empty.
    repairs : int64 (rows,)
        How many items were dropped or found irregular but acceptable.
    flaws : mapping of int to Flaw
        The rows that cannot be used.
    """

    rows: Ragged
    repairs: Int
    flaws: Mapping[int, Flaw] = field(default_factory=dict)


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
    """

    score: Float
    weight: Float
    extras: Mapping[str, Sparse] = field(default_factory=dict)
    refused: Mapping[int, str] = field(default_factory=dict)
    repairs: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    partly: Mapping[int, str] = field(default_factory=dict)


FRAMES = "frames"
Grid = str | float
"""A common time axis: ``union``, ``reference``, or the hop of frames in seconds."""

Scorer = Callable[[Ragged, Ragged, Int, Int, Sequence[Measure], Grid], Scores]
"""(references, estimates, reference row of each pair, estimate row of each pair, measures, grid) -> scores."""

Explainer = Callable[[Annotation, Annotation, Measure], Mapping[str, Column]]
"""(reference, estimate, measure) -> what the score consists of: start, end, labels, verdict of each segment."""

ManyExplainer = Callable[[Annotation, Sequence[Annotation], Measure], Sequence[Mapping[str, Column] | MirflowError]]
"""(reference, estimates, measure) -> the same for each estimate; an error stands for one that cannot be scored."""


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
    """

    name: str
    summary: str
    metrics: tuple[Metric, ...]
    clean: Callable[[Ragged], Cleaned]
    score: Scorer
    grids: tuple[str, ...] = ("union",)
    default_measures: tuple[str, ...] = ()
    explain: Explainer | None = None
    explain_many: ManyExplainer | None = None
    bind: Callable[[Classes], Convention] | None = None
    unbound: tuple[str, ...] = ()

    def grid(self, wanted: str | float | Mapping[str, float] | None = None) -> Grid:
        """The grid that a user means: a name, or the hop of frames as seconds, text or ``{"hop": seconds}``.

        Raises
        ------
        MetricError
            If the convention is not defined on it.
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
        """The same convention for some classes or tags; None: for any.

        Raises
        ------
        MetricError
            If it has no use for them.
        """
        if classes is None:
            return self
        if self.bind is None:
            raise MetricError(f"convention {self.name!r} compares no classes, so it needs none to be given")
        return self.bind(classes)

    def demand_classes(self, measures: Sequence[Measure]) -> None:
        """Refuse measures that mean nothing without classes.

        Raises
        ------
        MetricError
        """
        for measure in measures:
            if measure.metric.name in self.unbound:
                raise MetricError(f"{measure} needs to know what errors are worth: give classes with a tree or credits")

    def select(self, texts: Sequence[str] | None = None) -> tuple[Measure, ...]:
        """The measures that identity strings name; None: the default ones."""
        if texts is None and self.default_measures:
            texts = self.default_measures
        return select(texts, self.metrics)


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
    """

    name: str
    title: str
    conventions: Mapping[str, Convention]
    headline: tuple[str, ...]
    headlines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
        return self.conventions[name].with_classes(classes)


_ROOMS: MappingProxyType[str, str] = MappingProxyType(
    {
        "chord": "mirflow.metrics.chord",
        "segment": "mirflow.metrics.segment",
        "beat": "mirflow.metrics.beat",
        "downbeat": "mirflow.metrics.downbeat",
        "onset": "mirflow.metrics.onset",
        "hierarchy": "mirflow.metrics.hierarchy",
        "pattern": "mirflow.metrics.pattern",
        "tempo": "mirflow.metrics.tempo",
        "key": "mirflow.metrics.key",
        "alignment": "mirflow.metrics.alignment",
        "separation": "mirflow.metrics.separation",
        "multipitch": "mirflow.metrics.multipitch",
        "melody": "mirflow.metrics.melody",
        "transcription": "mirflow.metrics.transcription",
        "classification": "mirflow.metrics.classification",
        "tagging": "mirflow.metrics.tagging",
        "retrieval": "mirflow.metrics.retrieval",
        "similarity": "mirflow.metrics.similarity",
        "score_following": "mirflow.metrics.score_following",
    }
)


def tasks() -> tuple[str, ...]:
    """Names of the tasks that have metrics."""
    return tuple(_ROOMS)


def get_task(name: str) -> Task:
    """The task of that name; its room is imported only now.

    Raises
    ------
    UnknownNameError
        If no room scores the task.

    Examples
    --------
    >>> get_task("chord").convention().name
    'mir_eval'
    """
    if name not in _ROOMS:
        raise UnknownNameError("task", name, _ROOMS)
    room = importlib.import_module(_ROOMS[name])
    task = room.TASK
    assert isinstance(task, Task)
    return task
