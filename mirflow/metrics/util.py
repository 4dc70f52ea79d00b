"""The helpers of `mir_eval.util` under their own names: what goes between loading annotations and comparing them."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from pathlib import PurePath
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..kernels.ordered import find_partners
from ..theory.pitch import hz_to_midi, midi_to_hz
from .checks import Array, validate_events, validate_frequencies, validate_intervals
from .conversions import (
    boundaries_to_intervals,
    interpolate_intervals,
    intervals_to_boundaries,
    intervals_to_durations,
    intervals_to_samples,
    sort_labeled_intervals,
)
from .spans import adjust_events, adjust_intervals, merge_labeled_intervals

__all__ = [
    "adjust_events",
    "adjust_intervals",
    "boundaries_to_intervals",
    "deprecated",
    "f_measure",
    "filter_kwargs",
    "generate_labels",
    "has_kwargs",
    "hz_to_midi",
    "index_labels",
    "interpolate_intervals",
    "intersect_files",
    "intervals_to_boundaries",
    "intervals_to_durations",
    "intervals_to_samples",
    "match_events",
    "merge_labeled_intervals",
    "midi_to_hz",
    "sort_labeled_intervals",
    "validate_events",
    "validate_frequencies",
    "validate_intervals",
]

_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


def index_labels(labels: Iterable[Any], case_sensitive: bool = False) -> tuple[list[int], dict[int, Any]]:
    """Number the distinct labels in their sorted order.

    Parameters
    ----------
    labels : iterable
    case_sensitive : bool
        Otherwise labels are lower-cased first.

    Returns
    -------
    indices : list of int
        The number of each label.
    index_to_label : dict
        The label of each number.

    Examples
    --------
    >>> index_labels(["verse", "Chorus", "Verse"])
    ([1, 0, 1], {0: 'chorus', 1: 'verse'})
    """
    named = list(labels) if case_sensitive else [str(label).lower() for label in labels]
    index_to_label = dict(enumerate(sorted(set(named))))
    numbers = {label: index for index, label in index_to_label.items()}
    return [numbers[label] for label in named], index_to_label


def generate_labels(items: Sized, prefix: str = "__") -> list[str]:
    """One distinct label for each item.

    Examples
    --------
    >>> generate_labels([0.5, 1.0])
    ['__0', '__1']
    """
    return [f"{prefix}{number}" for number in range(len(items))]


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """Weighted harmonic mean of precision and recall.

    Parameters
    ----------
    precision, recall : float
        In [0, 1].
    beta : float
        How many times as much recall counts.

    Returns
    -------
    float
        0 where both are 0.

    Examples
    --------
    >>> f_measure(0.5, 1.0)
    0.6666666666666666
    """
    if precision == 0 and recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / ((beta**2) * precision + recall)


def match_events(
    ref: Array, est: Array, window: float, distance: Callable[[Array, Array], Array] | None = None
) -> list[tuple[int, int]]:
    """The largest matching of two sequences of numbers that are at most a window apart.

    Of several largest matchings it is the one that mir_eval gives.

    Parameters
    ----------
    ref, est : (n,) and (m,)
    window : float
        Largest distance of what is matched.
    distance : callable or None
        (ref, est) -> distances (n, m). None: the numbers' absolute difference.

    Returns
    -------
    list of (int, int)
        Positions in `ref` and `est`, by the former.

    Examples
    --------
    >>> match_events(np.array([1.0, 2.0]), np.array([1.1, 2.2, 3.0]), 0.5)
    [(0, 0), (1, 1)]
    """
    graph: dict[int, list[int]] = {}
    if distance is not None:
        for reference, estimate in np.argwhere(np.asarray(distance(ref, est)) <= window).tolist():
            graph.setdefault(estimate, []).append(reference)
    else:
        order = np.argsort(ref)
        ordered = np.asarray(ref)[order]
        first = np.searchsorted(ordered, np.asarray(est) - window, side="left")
        last = np.searchsorted(ordered, np.asarray(est) + window, side="right")
        for estimate, (start, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            if start < stop:
                graph[estimate] = order[start:stop].tolist()
    return sorted(find_partners(graph).items())


def _bipartite_match(graph: Mapping[Any, Sequence[Any]]) -> dict[Any, Any]:
    """The left vertex that each right vertex is matched with; not public in mir_eval, but called by many scripts."""
    return find_partners(graph)


def deprecated(
    *, version: str, version_removed: str
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Make a function warn, whenever it is called, that it is going to be removed.

    Parameters
    ----------
    version, version_removed : str
        Since when it is deprecated, and in which version it will be gone.

    Returns
    -------
    callable
        A decorator; its functions warn with a `FutureWarning`.

    Examples
    --------
    >>> deprecated(version="0.1", version_removed="0.2")(len).__name__
    'len'
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def warn(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            name = f"{function.__module__}.{getattr(function, '__name__', function)}"
            message = f"{name} is deprecated since version {version} and will be removed in version {version_removed}"
            warnings.warn(message, FutureWarning, stacklevel=2)
            return function(*args, **kwargs)

        return warn

    return decorate


def intersect_files(flist1: Sequence[str], flist2: Sequence[str]) -> list[list[str]]:
    """The files of two lists that share a name, folder and extension aside.

    Parameters
    ----------
    flist1, flist2 : sequence of str
        Paths.

    Returns
    -------
    list of two lists of str
        From `flist1` and `flist2`, in the order of `flist2`.

    Examples
    --------
    >>> intersect_files(["ref/a.lab", "ref/b.lab"], ["est/b.txt", "est/c.txt"])
    [['ref/b.lab'], ['est/b.txt']]
    """
    first = {PurePath(path).stem: path for path in flist1}
    shared = [(first[stem], path) for path in flist2 if (stem := PurePath(path).stem) in first]
    return [[one for one, _ in shared], [two for _, two in shared]]


def has_kwargs(function: Callable[..., object]) -> bool:
    """Whether a function takes any keyword argument.

    Examples
    --------
    >>> has_kwargs(filter_kwargs), has_kwargs(f_measure)
    (True, False)
    """
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def filter_kwargs(_function: Callable[..., _Result], *args: Any, **kwargs: Any) -> _Result:
    """Call a function with those keyword arguments that it knows.

    A misspelt parameter is dropped without a word, so nothing in mirflow calls this; it is here for code that does.

    Parameters
    ----------
    _function : callable
    *args, **kwargs
        Keyword arguments that are not parameters of the function are dropped, unless it takes any.

    Returns
    -------
    What the function returns.

    Examples
    --------
    >>> filter_kwargs(f_measure, 0.5, 1.0, beta=1.0, window=0.07)
    0.6666666666666666
    """
    if not has_kwargs(_function):
        known = inspect.signature(_function).parameters
        kwargs = {name: value for name, value in kwargs.items() if name in known}
    return _function(*args, **kwargs)
