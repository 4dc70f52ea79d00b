"""The ratios of one estimate: of whole recordings, and frame by frame."""

from __future__ import annotations

import numpy as np

from ...ragged import Float, Int
from .decomposition import Meeting, Projections, References
from .ratios import NAMES, best_order, to_ratios
from .recording import Recording

NOT_FINITE = "a sample is not a finite number"

_SIR = NAMES.index("sir")


def measure_whole(references: References, estimates: Recording, permutation: bool) -> tuple[Float, Int]:
    """Ratios of whole recordings.

    Parameters
    ----------
    references : References
    estimates : Recording
        As many sources, channels and samples as the references have.
    permutation : bool
        Whether the estimates are brought into the order with the largest mean SIR first.

    Returns
    -------
    ratios : float64 (5, sources), dB
        Rows as in `NAMES`; NaN throughout if a sample is not finite.
    order : int64 (sources,)
        The estimated source that was held against each reference source.
    """
    count = len(references.recording)
    order = np.arange(count)
    if not references.finite:
        return np.full((len(NAMES), count), np.nan), order
    meetings: list[Meeting] = (
        [(estimate, source) for estimate in range(count) for source in range(count)]
        if permutation
        else [(source, source) for source in range(count)]
    )
    projections = Projections(references, estimates, meetings)
    if not projections.finite:
        return np.full((len(NAMES), count), np.nan), order
    ratios = to_ratios(projections.energies(references.recording, estimates))
    if not permutation:
        return ratios, order
    square = ratios.reshape(len(NAMES), count, count)
    order = best_order(square[_SIR])
    return square[:, order, np.arange(count)], order


def measure_frames(
    references: Recording, estimates: Recording, window: int, hop: int, permutation: bool, lags: int
) -> tuple[Float, Float]:
    """Ratios of stretches of time, each taken for a recording of its own, with filters of its own.

    Parameters
    ----------
    references, estimates : Recording
    window, hop : int
        Samples of a stretch, and from one to the next. If there is less than two, the whole recording is one.
    permutation : bool
        Whether each stretch has its own order of the estimates.
    lags : int
        Taps of the filters.

    Returns
    -------
    ratios : float64 (5, sources, stretches), dB
        NaN in stretches in which a source is silent.
    order : float64 (sources, stretches)
    """
    count = (references.frames - window + hop) // hop
    if count < 2:
        ratios, own = measure_whole(References(references, lags), estimates, permutation)
        return ratios[:, :, None], own[:, None].astype(np.float64)
    ratios = np.full((len(NAMES), len(references), count), np.nan)
    order = np.full((len(references), count), np.nan)
    for number in range(count):
        sides = [side.window(number * hop, number * hop + window) for side in (references, estimates)]
        if not sides[0].silent() and not sides[1].silent():
            ratios[:, :, number], order[:, number] = measure_whole(References(sides[0], lags), sides[1], permutation)
    return ratios, order


def measure_frames_with_one_filter(references: References, estimates: Recording, window: int, hop: int) -> Float:
    """Ratios of stretches of time with the filters of the whole recording, as in the fourth version of BSS Eval.

    Parameters
    ----------
    references : References
    estimates : Recording
        In the order of the references.
    window, hop : int
        Samples of a stretch, and from one to the next.

    Returns
    -------
    float64 (5, sources, stretches), dB
        NaN in stretches in which a source is silent.

    Raises
    ------
    FloatingPointError
        If a sample is not finite.

    References
    ----------
    F.-R. Stoeter, A. Liutkus and N. Ito, "The 2018 Signal Separation Evaluation Campaign", LVA/ICA 2018.
    """
    heard = references.recording
    window = min(window, heard.frames)
    count = (heard.frames - window + hop) // hop if window < heard.frames else 1
    if not references.finite:
        raise FloatingPointError(NOT_FINITE)
    projections = Projections(references, estimates, [(source, source) for source in range(len(heard))])
    if not projections.finite:
        raise FloatingPointError(NOT_FINITE)
    ratios = np.full((len(NAMES), len(heard), count), np.nan)
    for number in range(count):
        sides = [side.window(number * hop, number * hop + window) for side in (heard, estimates)]
        if not sides[0].silent() and not sides[1].silent():
            ratios[:, :, number] = to_ratios(projections.energies(sides[0], sides[1]))
    return ratios
