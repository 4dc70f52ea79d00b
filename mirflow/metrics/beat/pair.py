"""All of mir_eval's beat scores for one pair, and what it does before it compares."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..base.arguments import refuse_unknown
from ..base.record import Value
from ..checks import Array
from ..events import validate_pair
from .calls import measures_of, score_pair, warn_of_even_bins, warn_of_single_beats

_PARAMETERS: Mapping[str, tuple[str, str]] = {
    "f_measure_threshold": ("f_measure", "window"),
    "cemgil_sigma": ("cemgil", "sigma"),
    "goto_threshold": ("goto", "threshold"),
    "goto_mu": ("goto", "mu"),
    "goto_sigma": ("goto", "sigma"),
    "p_score_threshold": ("p_score", "window"),
    "continuity_phase_threshold": ("continuity", "phase"),
    "continuity_period_threshold": ("continuity", "period"),
    "bins": ("information_gain", "bins"),
}
"""mir_eval's name of a parameter -> the function it belongs to, and its name in the records."""

_FUNCTIONS = ("f_measure", "cemgil", "goto", "p_score", "continuity", "information_gain")


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
    refuse_unknown("evaluate", kwargs, ("reference_beats", "estimated_beats", "min_beat_time", *_PARAMETERS))
    trimming = {name: value for name, value in kwargs.items() if name == "min_beat_time"}
    reference_beats, estimated_beats = (trim_beats(side, **trimming) for side in (reference_beats, estimated_beats))
    validate_pair(reference_beats, estimated_beats, "beats", stacklevel=2)
    warn_of_even_bins(kwargs.get("bins", 1))
    warn_of_single_beats(reference_beats, estimated_beats)
    given: dict[str, dict[str, Value]] = {}
    for name, value in kwargs.items():
        if name in _PARAMETERS:
            function, parameter = _PARAMETERS[name]
            given.setdefault(function, {})[parameter] = value
    measures = [one for function in _FUNCTIONS for one in measures_of(function, given.get(function, {}))]
    found = score_pair(reference_beats, estimated_beats, measures)
    return OrderedDict((one.metric.key, float(value)) for one, value in zip(measures, found, strict=True))
