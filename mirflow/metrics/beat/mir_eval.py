"""mir_eval's beat functions for one pair: its checks, then a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ..base import PairDoor, refuse_unknown
from ..events import score_pair, validate_pair
from ..util import Array
from .metrics import METRICS, MIR_EVAL

_DOOR = PairDoor(METRICS, partial(score_pair, MIR_EVAL), fixed={"trim": -np.inf})


def warn_of_single_beats(reference: Array, estimate: Array) -> None:
    """Warn of a side that has a single beat."""
    for side, name in ((reference, "reference"), (estimate, "estimated")):
        if side.size == 1:
            text = f"Only one {name} beat was provided, so beat intervals cannot be computed."
            warnings.warn(text, MirflowWarning, stacklevel=3)


def warn_of_even_bins(bins: int) -> None:
    """Warn of an even number of bins."""
    if not bins % 2:
        text = "bins parameter is even, so there will not be a bin centered at zero."
        warnings.warn(text, MirflowWarning, stacklevel=3)


def f_measure(reference_beats: Array, estimated_beats: Array, f_measure_threshold: float = 0.07) -> float:
    """F-measure of the beats that have a match within a window.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    f_measure_threshold : float, seconds
        Largest distance of matched beats.

    Returns
    -------
    float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    References
    ----------
    S. Dixon, "Evaluation of the audio beat tracking system BeatRoot", JNMR 36, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> f_measure(np.array([1.0, 2.0]), np.array([1.05, 1.5]))
    0.5
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    return _DOOR.call("f_measure", reference_beats, estimated_beats, window=f_measure_threshold)[0]


def cemgil(reference_beats: Array, estimated_beats: Array, cemgil_sigma: float = 0.04) -> tuple[float, float]:
    """Cemgil's score, against the annotated beats and against the best metrical level.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    cemgil_sigma : float, seconds
        Width of the Gaussian.

    Returns
    -------
    cemgil_score, cemgil_max : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    References
    ----------
    A. T. Cemgil et al., "On tempo tracking: tempogram representation and Kalman filtering", JNMR 28, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> cemgil(np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.5]))[1]
    1.0
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    annotated, best = _DOOR.call("cemgil", reference_beats, estimated_beats, sigma=cemgil_sigma)
    return annotated, best


def goto(
    reference_beats: Array,
    estimated_beats: Array,
    goto_threshold: float = 0.35,
    goto_mu: float = 0.2,
    goto_sigma: float = 0.2,
) -> float:
    """Goto's score: whether some stretch of at least a quarter of the beats is found precisely.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    goto_threshold : float
        Largest error of a beat that is right, in half intervals of the reference; below 1.
    goto_mu, goto_sigma : float
        Limits of the mean absolute error in the stretch, and of the standard deviation of the errors.

    Returns
    -------
    float
        1 or 0.

    Raises
    ------
    ValueError
        As `validate`, which also warns; and for a threshold that is not below 1.

    References
    ----------
    M. Goto and Y. Muraoka, "Issues in evaluating beat tracking systems", IJCAI workshop, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> goto(np.arange(10.0), np.arange(10.0) + 0.1)
    1.0
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    limits = {"threshold": goto_threshold, "mu": goto_mu, "sigma": goto_sigma}
    return _DOOR.call("goto", reference_beats, estimated_beats, **limits)[0]


def p_score(reference_beats: Array, estimated_beats: Array, p_score_threshold: float = 0.2) -> float:
    """McKinney's P-score: coincidences of impulses within a share of the beat.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    p_score_threshold : float
        Half width of the window, as a share of the reference's median interval.

    Returns
    -------
    float
        0 if a side has fewer than two beats.

    Raises
    ------
    ValueError
        As `validate`, which also warns; and if all reference beats fall into one frame of 10 ms.

    Warns
    -----
    MirflowWarning
        For a side with a single beat.

    References
    ----------
    M. F. McKinney et al., "Evaluation of audio beat tracking and music tempo extraction algorithms", JNMR 36, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> p_score(np.arange(5.0), np.arange(5.0) + 0.05)
    1.0
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    warn_of_single_beats(reference_beats, estimated_beats)
    return _DOOR.call("p_score", reference_beats, estimated_beats, window=p_score_threshold)[0]


def continuity(
    reference_beats: Array,
    estimated_beats: Array,
    continuity_phase_threshold: float = 0.175,
    continuity_period_threshold: float = 0.175,
) -> tuple[float, float, float, float]:
    """The shares of beats that are right in phase and period, in the longest run and in all.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    continuity_phase_threshold, continuity_period_threshold : float
        Largest deviation of a beat and of an interval, as shares of the reference's interval.

    Returns
    -------
    CMLc, CMLt, AMLc, AMLt : float
        At the annotated and at the best metrical level; 0 if a side has fewer than two beats.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    Warns
    -----
    MirflowWarning
        For a side with a single beat.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Evaluation methods for musical audio beat tracking algorithms",
    Queen Mary University of London, C4DM-TR-09-06, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> continuity(np.arange(4.0), np.array([0.0, 1.0, 2.5, 3.0]))
    (0.5, 0.5, 0.5, 0.5)
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    warn_of_single_beats(reference_beats, estimated_beats)
    limits = {"phase": continuity_phase_threshold, "period": continuity_period_threshold}
    cmlc, cmlt, amlc, amlt = _DOOR.call("continuity", reference_beats, estimated_beats, **limits)
    return cmlc, cmlt, amlc, amlt


def information_gain(reference_beats: Array, estimated_beats: Array, bins: int = 41) -> float:
    """How far the histogram of beat errors is from a uniform one.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time; not trimmed here.
    bins : int
        Number of bins of the histogram.

    Returns
    -------
    float
        In [0, 1]; 0 if a side has fewer than two beats, NaN if all estimated beats are at one time.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    Warns
    -----
    MirflowWarning
        For a side with a single beat, and for an even number of bins, none of which has its centre at 0.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Measuring the performance of beat tracking algorithms using a beat
    error histogram", IEEE Signal Processing Letters 18, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> information_gain(np.arange(5.0), np.arange(5.0))
    1.0
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    warn_of_even_bins(bins)
    warn_of_single_beats(reference_beats, estimated_beats)
    return _DOOR.call("information_gain", reference_beats, estimated_beats, bins=bins)[0]


def trim_beats(beats: Array, min_beat_time: float = 5.0) -> Array:
    """The beats that are not before a time.

    Parameters
    ----------
    beats : (n,), seconds
    min_beat_time : float, seconds

    Returns
    -------
    (m,), seconds

    Examples
    --------
    >>> import numpy as np
    >>> trim_beats(np.array([1.0, 5.0, 6.0])).tolist()
    [5.0, 6.0]
    """
    return beats[beats >= min_beat_time]


def validate(reference_beats: Array, estimated_beats: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds

    Raises
    ------
    ValueError
        For times that are not finite, later than `MAX_TIME` or not in order, and arrays that are not flat.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)


def evaluate(reference_beats: Array, estimated_beats: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """All beat scores of one estimate.

    Parameters
    ----------
    reference_beats, estimated_beats : (n,) and (m,), seconds
        In order of time.
    **kwargs
        Parameters of the other functions; `min_beat_time` of `trim_beats`, which is applied to both sides first.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As the other functions.

    Warns
    -----
    MirflowWarning
        As the other functions, each warning once.

    Examples
    --------
    >>> import numpy as np
    >>> scores = evaluate(np.arange(20.0), np.arange(20.0) + 0.05)
    >>> scores["F-measure"], scores["Any Metric Level Total"]
    (1.0, 1.0)
    """
    refuse_unknown("evaluate", kwargs, ("reference_beats", "estimated_beats", "min_beat_time", *_DOOR.parameters))
    trimming = {"min_beat_time": kwargs.pop("min_beat_time")} if "min_beat_time" in kwargs else {}
    reference_beats, estimated_beats = (trim_beats(side, **trimming) for side in (reference_beats, estimated_beats))
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    warn_of_even_bins(kwargs.get("bins", 1))
    warn_of_single_beats(reference_beats, estimated_beats)
    return _DOOR.evaluate(reference_beats, estimated_beats, kwargs)


FUNCTIONS = _DOOR.functions(validate)
"""Functions of the metrics that mir_eval does not have."""
