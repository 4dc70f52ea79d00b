"""The helpers of `mir_eval.util`: conversions, spans, checks, matching, lists of files, and keyword arguments."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence, Sized
from pathlib import PurePath
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..annotations.schema import LATEST
from ..kernels.matching import find_partners
from ..ragged import Float
from ..theory.pitch import hz_to_midi, midi_to_hz

__all__ = ["adjust_events", "adjust_intervals", "boundaries_to_intervals", "deprecated", "f_measure", "filter_kwargs"]
__all__ += ["generate_labels", "has_kwargs", "hz_to_midi", "index_labels", "interpolate_intervals", "intersect_files"]
__all__ += ["intervals_to_boundaries", "intervals_to_durations", "intervals_to_samples", "match_events"]
__all__ += ["merge_labeled_intervals", "midi_to_hz", "sort_labeled_intervals", "validate_events"]
__all__ += ["validate_frequencies", "validate_intervals"]

Array = npt.NDArray[Any]

BOUNDED = f"must be finite, and not beyond {LATEST:g}"


def are_times(times: npt.ArrayLike) -> bool:
    """True if all numbers are finite and not later than any recording could be."""
    return bool((np.abs(times) <= LATEST).all())


def validate_intervals(intervals: Array) -> None:
    """Check an array of intervals.

    Parameters
    ----------
    intervals : (n, 2), seconds
        Start and end of each interval.

    Raises
    ------
    ValueError
        If the shape is wrong, a time is negative, or an interval does not end after it starts.

    Examples
    --------
    >>> validate_intervals(np.array([[0.0, 1.0], [1.0, 2.5]]))
    """
    if intervals.ndim != 2 or intervals.shape[1] != 2:
        raise ValueError(f"Intervals should be n-by-2 numpy ndarray, but shape={intervals.shape}")
    if (intervals < 0).any():
        raise ValueError("Negative interval times found")
    if (intervals[:, 1] <= intervals[:, 0]).any():
        raise ValueError("All interval durations must be strictly positive")


def validate_events(events: Array, max_time: float = 30000.0) -> None:
    """Check an array of event times.

    Parameters
    ----------
    events : (n,), seconds
    max_time : float, seconds
        Later events are taken for a wrong unit.

    Raises
    ------
    ValueError
        If a time is later than `max_time`, the array is not one-dimensional, or times decrease.

    Examples
    --------
    >>> validate_events(np.array([0.5, 1.0, 1.0]))
    """
    if (events > max_time).any():
        raise ValueError(
            f"An event at time {events.max()} was found which is greater than the maximum allowable time of "
            f"max_time = {max_time} (did you supply event times in seconds?)"
        )
    if events.ndim != 1:
        raise ValueError(f"Event times should be 1-d numpy ndarray, but shape={events.shape}")
    if (np.diff(events) < 0).any():
        raise ValueError("Events should be in increasing order.")


def validate_frequencies(frequencies: Array, max_freq: float, min_freq: float, allow_negatives: bool = False) -> None:
    """Check an array of frequencies.

    Parameters
    ----------
    frequencies : (n,), Hz
    max_freq, min_freq : float, Hz
        Bounds of the absolute value.
    allow_negatives : bool
        Whether messages contain absolute values; as in mir_eval, the sign is never checked.

    Raises
    ------
    ValueError
        If an absolute value is out of bounds or the array is not one-dimensional.

    Examples
    --------
    >>> validate_frequencies(np.array([110.0, 440.0]), 5000.0, 20.0)
    """
    size = np.abs(frequencies)
    shown, unit = size if allow_negatives else frequencies, "(did you supply frequency values in Hz?)"
    if (size > max_freq).any():
        most = f"greater than the maximum allowable value of max_freq = {max_freq}"
        raise ValueError(f"A frequency of {shown.max()} was found which is {most} {unit}")
    if (size < min_freq).any():
        least = f"less than the minimum allowable value of min_freq = {min_freq}"
        raise ValueError(f"A frequency of {shown.min()} was found which is {least} {unit}")
    if frequencies.ndim != 1:
        raise ValueError(f"Frequencies should be 1-d numpy ndarray, but shape={frequencies.shape}")


def intervals_to_durations(intervals: Array) -> Array:
    """Compute the length of each interval.

    Parameters
    ----------
    intervals : (n, 2), seconds

    Returns
    -------
    (n,), seconds

    Raises
    ------
    ValueError
        See `validate_intervals`.

    Examples
    --------
    >>> intervals_to_durations(np.array([[0.0, 1.0], [1.0, 3.5]])).tolist()
    [1.0, 2.5]
    """
    validate_intervals(intervals)
    return np.asarray(intervals[:, 1] - intervals[:, 0])


def intervals_to_boundaries(intervals: Array, q: int = 5) -> Array:
    """Find the distinct times at which intervals start or end.

    Parameters
    ----------
    intervals : (n, 2), seconds
    q : int
        Decimals to which times are rounded before they are compared.

    Returns
    -------
    (m,), seconds, ascending

    Examples
    --------
    >>> intervals_to_boundaries(np.array([[0.0, 1.0], [1.0000001, 2.0]])).tolist()
    [0.0, 1.0, 2.0]
    """
    return np.unique(np.round(intervals, decimals=q))


def boundaries_to_intervals(boundaries: npt.ArrayLike) -> Array:
    """Make intervals between neighbouring boundaries.

    Parameters
    ----------
    boundaries : (n,), seconds
        Distinct and ascending.

    Returns
    -------
    (n - 1, 2), seconds

    Raises
    ------
    ValueError
        If they are not distinct and ascending.

    Examples
    --------
    >>> boundaries_to_intervals([0.0, 1.0, 2.5]).tolist()
    [[0.0, 1.0], [1.0, 2.5]]
    """
    times = np.asarray(boundaries)
    distinct = np.unique(times)
    if len(distinct) != len(times) or not np.allclose(times, distinct):
        raise ValueError("Boundary times are not unique or not ascending.")
    return np.column_stack((times[:-1], times[1:]))


def interpolate_intervals(
    intervals: Array, labels: Sequence[Any], time_points: npt.ArrayLike, fill_value: Any = None
) -> list[Any]:
    """Find the label of the interval that contains each time point.

    Parameters
    ----------
    intervals : (n, 2), seconds
        Intervals, including both ends; if two meet, the later row is used.
    labels : sequence
        One per interval.
    time_points : (m,), seconds, not decreasing
    fill_value : any
        Label of time points outside all intervals.

    Returns
    -------
    list, m items

    Raises
    ------
    ValueError
        If the time points decrease.

    Examples
    --------
    >>> interpolate_intervals(np.array([[0.0, 1.0], [2.0, 3.0]]), ["a", "b"], [0.5, 1.5, 3.0], "N")
    ['a', 'N', 'b']
    """
    points = np.asarray(time_points)
    if np.any(points[1:] < points[:-1]):
        raise ValueError("time_points must be in non-decreasing order")
    values = [fill_value] * len(points)
    firsts = np.searchsorted(points, intervals[:, 0], side="left").tolist()
    stops = np.searchsorted(points, intervals[:, 1], side="right").tolist()
    for first, stop, label in zip(firsts, stops, labels, strict=False):
        values[first:stop] = [label] * (stop - first)
    return values


def intervals_to_samples(
    intervals: Array, labels: Sequence[Any], offset: float = 0, sample_size: float = 0.1, fill_value: Any = None
) -> tuple[list[float], list[Any]]:
    """Sample labels at regular times, up to the last whole sample.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence
        One per interval.
    offset : float, seconds
        Time of the first sample.
    sample_size : float, seconds
        Time between samples.
    fill_value : any
        Label of times outside all intervals.

    Returns
    -------
    times : list of float, seconds
        Computed in single precision, as in mir_eval.
    labels : list

    Examples
    --------
    >>> intervals_to_samples(np.array([[0.0, 1.0], [1.0, 2.0]]), ["a", "b"], sample_size=0.5)
    ([0.0, 0.5, 1.0, 1.5], ['a', 'a', 'b', 'b'])
    """
    count = int(np.floor(intervals.max() / sample_size))
    times: list[float] = (np.arange(count, dtype=np.float32) * sample_size + offset).tolist()
    return times, interpolate_intervals(intervals, labels, times, fill_value)


@overload
def sort_labeled_intervals(intervals: Array, labels: None = None) -> Array: ...
@overload
def sort_labeled_intervals(intervals: Array, labels: Sequence[Any]) -> tuple[Array, list[Any]]: ...
def sort_labeled_intervals(intervals: Array, labels: Sequence[Any] | None = None) -> Array | tuple[Array, list[Any]]:
    """Sort intervals, and their labels if given, by start.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence or None
        One per interval.

    Returns
    -------
    intervals : (n, 2), seconds
        Sorted intervals; simultaneous starts keep their order.
    labels : list
        Only if labels are given.

    Examples
    --------
    >>> times, labels = sort_labeled_intervals(np.array([[1, 2], [0, 1]]), ["b", "a"])
    >>> times.tolist(), labels
    ([[0, 1], [1, 2]], ['a', 'b'])
    """
    order = np.argsort(intervals[:, 0], kind="stable")
    if labels is None:
        return intervals[order]
    return intervals[order], [labels[row] for row in order]


Labels = list[Any]


def adjust_intervals(
    intervals: Array,
    labels: Sequence[Any] | None = None,
    t_min: float | None = 0.0,
    t_max: float | None = None,
    start_label: Any = "__T_MIN",
    end_label: Any = "__T_MAX",
) -> tuple[Array, Labels | None]:
    """Crop or pad intervals so that they span ``[t_min, t_max]``.

    Parameters
    ----------
    intervals : (n, 2), seconds
        In order of time.
    labels : sequence or None
        One per interval; not modified.
    t_min, t_max : float or None, seconds
        None leaves that side unchanged.
    start_label, end_label : any
        Labels of the intervals added before and after.

    Returns
    -------
    intervals : (m, 2), seconds
        An interval that only touches `t_min` or `t_max` is kept with length zero, as in mir_eval.
    labels : list or None

    Raises
    ------
    ValueError
        If there is no interval and one of `t_min` and `t_max` is None, or all intervals begin after `t_max`.

    Examples
    --------
    >>> times, labels = adjust_intervals(np.array([[1.0, 2.0], [2.0, 5.0]]), ["C", "G"], 0.0, 4.0, "N", "N")
    >>> times.tolist(), labels
    ([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], ['N', 'C', 'G'])
    """
    if intervals.size == 0:
        if t_min is None or t_max is None:
            raise ValueError("Supplied intervals are empty, can't append new intervals")
        return np.array([[t_min, t_max]]), [start_label]
    begin = 0 if t_min is None else next(iter(np.flatnonzero(intervals[:, 1] >= t_min)), 0)
    texts = None if labels is None else list(labels)[begin:]
    intervals = intervals[begin:]
    if t_min is not None:
        intervals = np.maximum(t_min, intervals)
        if intervals.min() > t_min:
            intervals = np.vstack(([t_min, intervals.min()], intervals))
            texts = None if texts is None else [start_label, *texts]
    if t_max is not None:
        stop = next(iter(np.flatnonzero(intervals[:, 0] > t_max)), None)
        intervals, texts = intervals[:stop], None if texts is None else texts[:stop]
        if len(intervals) == 0:
            raise ValueError(f"all intervals begin after t_max = {t_max}")
        intervals = np.minimum(t_max, intervals)
        if intervals.max() < t_max:
            intervals = np.vstack((intervals, [intervals.max(), t_max]))
            texts = None if texts is None else [*texts, end_label]
    return intervals, texts


def adjust_events(
    events: Array,
    labels: Sequence[Any] | None = None,
    t_min: float | None = 0.0,
    t_max: float | None = None,
    label_prefix: str = "__",
) -> tuple[Array, Labels | None]:
    """Crop events to ``[t_min, t_max]`` and add events at both ends if these are missing.

    Parameters
    ----------
    events : (n,), seconds
        Events in order of time; at least one within the span.
    labels : sequence or None
        One per event; not modified.
    t_min, t_max : float or None, seconds
        None leaves that side unchanged.
    label_prefix : str
        Prefix of the labels ``T_MIN`` and ``T_MAX`` of new events.

    Returns
    -------
    events : (m,), seconds
    labels : list or None

    Raises
    ------
    IndexError
        If there are no events.

    Examples
    --------
    >>> times, labels = adjust_events(np.array([1.0, 2.0, 7.0]), ["a", "b", "c"], 0.0, 5.0)
    >>> times.tolist(), labels
    ([0.0, 1.0, 2.0, 5.0], ['__T_MIN', 'a', 'b', '__T_MAX'])
    """
    begin = 0 if t_min is None else next(iter(np.flatnonzero(events >= t_min)), 0)
    texts = None if labels is None else list(labels)[begin:]
    events = events[begin:]
    if t_min is not None and events[0] > t_min:
        events = np.concatenate(([t_min], events))
        texts = None if texts is None else [f"{label_prefix}T_MIN", *texts]
    stop = None if t_max is None else next(iter(np.flatnonzero(events > t_max)), None)
    events, texts = events[:stop], None if texts is None else texts[:stop]
    if t_max is not None and events[-1] < t_max:
        events = np.concatenate((events, [t_max]))
        texts = None if texts is None else [*texts, f"{label_prefix}T_MAX"]
    return events, texts


def check_aligned(x_intervals: Array, y_intervals: Array) -> None:
    """Raise a ValueError unless both sequences of intervals start and end together."""
    if x_intervals[0, 0] != y_intervals[0, 0] or x_intervals[-1, 1] != y_intervals[-1, 1]:
        raise ValueError("Time intervals do not align; did you mean to call 'adjust_intervals()' first?")


def merge_labeled_intervals(
    x_intervals: Array, x_labels: Sequence[Any], y_intervals: Array, y_labels: Sequence[Any]
) -> tuple[Float, Labels, Labels]:
    """Cut two labelled sequences at each other's boundaries.

    Parameters
    ----------
    x_intervals, y_intervals : (n, 2) and (m, 2), seconds
        Two sequences that start and end together.
    x_labels, y_labels : sequence
        One per interval.

    Returns
    -------
    intervals : float64 (k, 2), seconds
        Between neighbouring boundaries of either sequence.
    x_labels, y_labels : list
        Label of the last interval that has started, so labels continue through gaps.

    Raises
    ------
    ValueError
        If the sequences do not start and end together, or the numbers of labels and intervals differ.

    Examples
    --------
    >>> times, x, y = merge_labeled_intervals(np.array([[0.0, 1.0], [1.0, 3.0]]), ["C", "G"],
    ...                                       np.array([[0.0, 2.0], [2.0, 3.0]]), ["C", "N"])
    >>> times.tolist(), x, y
    ([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]], ['C', 'G', 'G'], ['C', 'C', 'N'])
    """
    check_aligned(x_intervals, y_intervals)
    bounds = np.unique(np.concatenate([x_intervals, y_intervals], axis=0))
    intervals = np.column_stack((bounds[:-1], bounds[1:]))
    merged = []
    for given, labels in ((x_intervals, x_labels), (y_intervals, y_labels)):
        if len(given) != len(labels):
            raise ValueError(f"{len(given)} intervals need as many labels, got {len(labels)}")
        # The last row that has started by each bound except the last.
        started = np.full(len(bounds), -1, dtype=np.int64)
        np.maximum.at(started, np.searchsorted(bounds, given[:, 0]), np.arange(len(labels)))
        rows = np.maximum.accumulate(started)[:-1]
        if len(rows) and rows[0] < 0:
            where = f"at {bounds[0]}, where the sequences begin"
            raise ValueError(f"no interval has started {where}; sort the intervals first")
        merged.append([labels[row] for row in rows])
    return intervals, merged[0], merged[1]


_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


def index_labels(labels: Iterable[Any], case_sensitive: bool = False) -> tuple[list[int], dict[int, Any]]:
    """Number the distinct labels in their sorted order.

    Parameters
    ----------
    labels : iterable
    case_sensitive : bool
        If False, labels are converted to lower case first.

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
    """Generate one distinct label for each item.

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
        Weight of recall relative to precision.

    Returns
    -------
    float
        0 where both are 0.

    Examples
    --------
    >>> f_measure(0.5, 1.0)
    0.6666666666666666
    """
    # On plain numbers, `kernels.ratios.harmonic_mean` with mir_eval's errors.
    if precision == 0 and recall == 0:
        return 0.0
    return (1 + beta**2) * precision * recall / ((beta**2) * precision + recall)


def match_events(
    ref: Array, est: Array, window: float, distance: Callable[[Array, Array], Array] | None = None
) -> list[tuple[int, int]]:
    """Find a largest matching of two sequences of numbers within a window.

    Among several largest matchings, it is the one found by mir_eval.

    Parameters
    ----------
    ref, est : (n,) and (m,)
    window : float
        Largest distance of matched numbers.
    distance : callable or None
        (ref, est) -> distances (n, m). None: the numbers' absolute difference.

    Returns
    -------
    list of (int, int)
        Indices into `ref` and `est`, sorted by the former.

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


_bipartite_match = find_partners  # not public in mir_eval, but called by many scripts


def deprecated(
    *, version: str, version_removed: str
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Make a function warn on each call that it will be removed.

    Parameters
    ----------
    version, version_removed : str
        Versions in which it was deprecated and will be removed.

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
    """Find the files of two lists with common names, ignoring folders and extensions.

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
    """True if a function accepts arbitrary keyword arguments.

    Examples
    --------
    >>> has_kwargs(filter_kwargs), has_kwargs(f_measure)
    (True, False)
    """
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def filter_kwargs(_function: Callable[..., _Result], *args: Any, **kwargs: Any) -> _Result:
    """Call a function with only those keyword arguments that it accepts.

    Misspelt parameters are silently dropped, so mirflow itself does not use this function.

    Parameters
    ----------
    _function : callable
    *args, **kwargs
        Keyword arguments that are not parameters of the function are dropped, unless it accepts arbitrary ones.

    Returns
    -------
    Return value of the function.

    Examples
    --------
    >>> filter_kwargs(f_measure, 0.5, 1.0, beta=1.0, window=0.07)
    0.6666666666666666
    """
    if not has_kwargs(_function):
        parameters = inspect.signature(_function).parameters
        kwargs = {name: value for name, value in kwargs.items() if name in parameters}
    return _function(*args, **kwargs)
