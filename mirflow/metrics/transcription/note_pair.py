"""Functions over one pair that mir_eval does not have: active pitches, and deviations of matched notes."""

from __future__ import annotations

from collections.abc import Sequence

from ..pair import documented
from ..util import Array
from .metrics import METRICS
from .mir_eval import RATES, one_row, score_one, validate

_documented = documented(
    """
    Raises
    ------
    ValueError
        As in :func:`mirflow.metrics.transcription.validate`, which also warns.

    References
    ----------
    C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018; MIREX, Polyphonic
    Transcription, 2024.
    """,
    METRICS,
)


@_documented
def frame_precision_recall_f1(
    reference: Sequence[Array], estimate: Sequence[Array], frames: str = "active", hop: float = 0.0
) -> tuple[float, float, float, float]:
    """Precision, recall, F-measure and accuracy of active pitches, in continuous time or in frames.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, pitches in Hz and, for ``loud``, velocities from 0 to 127.
    frames : {"active", "cut", "decoded", "loud"}
        Definition of active pitches: while notes sound; until the next note of their pitch, with 1e-8 s added to
        denominators; by the labels of Onsets and Frames; above velocity 30 in the reference, as in MT3.
    hop : float, seconds
        Distance of frames; 0: 32 ms if decoded, 16 ms if loud, else none.

    Returns
    -------
    precision, recall, f_measure, accuracy : float
        0 if a side is empty.

    Examples
    --------
    >>> import numpy as np
    >>> pitch = np.array([440.0])
    >>> frame_precision_recall_f1((np.array([[0.0, 2.0]]), pitch), (np.array([[1.0, 3.0]]), pitch))
    (0.5, 0.5, 0.5, 0.3333333333333333)
    """
    validate(*reference[:2], *estimate[:2])
    sides = one_row(*reference), one_row(*estimate)
    names = [f"frame_{name}" for name in (*RATES, "accuracy")]
    precision, recall, f_measure, accuracy = score_one(*sides, names, {"frames": frames, "hop": hop})
    return precision, recall, f_measure, accuracy


@_documented
def deviations(
    reference: tuple[Array, Array],
    estimate: tuple[Array, Array],
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    strict: bool = False,
    statistic: str = "mean_absolute",
) -> dict[str, float]:
    """Deviations of the onsets and ends of notes that match in onset and pitch.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, and pitches in Hz.
    statistic : {"mean_absolute", "median_absolute", "standard_deviation"}
        Statistic of the deviations; biases are mean differences, estimate minus reference.

    Returns
    -------
    dict of str to float, seconds
        ``onset_deviation``, ``onset_bias``, ``offset_deviation`` and ``offset_bias``; NaN without a match.

    Examples
    --------
    >>> import numpy as np
    >>> pitch = np.array([440.0])
    >>> deviations((np.array([[0.0, 2.0]]), pitch), (np.array([[0.03125, 1.5]]), pitch))["offset_bias"]
    -0.5
    """
    validate(*reference, *estimate)
    sides = one_row(*reference), one_row(*estimate)
    names = [f"{part}_{what}" for part in ("onset", "offset") for what in ("deviation", "bias")]
    parameters = {"onset_tolerance": onset_tolerance, "pitch_tolerance": pitch_tolerance, "strict": strict}
    scores = score_one(*sides, names, {**parameters, "statistic": statistic})
    return dict(zip(names, scores, strict=True))
