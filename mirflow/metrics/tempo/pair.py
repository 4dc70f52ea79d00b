"""mir_eval's functions for one pair: its checks, then the kernel with a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ..base.arguments import refuse_unknown
from ..checks import Array
from .scoring import weigh
from .tempi import find_hits


def validate_tempi(tempi: Array, reference: bool = True) -> None:
    """Check that there are two tempi, and in a reference one above 0.

    Parameters
    ----------
    tempi : (2,), beats per minute
    reference : bool

    Raises
    ------
    ValueError
        For another number of tempi, for tempi that are negative or not finite, and for a reference of zeros.

    Examples
    --------
    >>> validate_tempi(np.array([0.0, 120.0]))
    """
    if tempi.size != 2:
        raise ValueError("tempi must have exactly two values")
    if not np.isfinite(tempi).all() or (tempi < 0).any():
        raise ValueError(f"tempi={tempi} must be non-negative numbers")
    if reference and not tempi.any():
        raise ValueError(f"reference tempi={tempi} must have one value greater than zero")


def validate(reference_tempi: Array, reference_weight: float, estimated_tempi: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    reference_tempi, estimated_tempi : (2,), beats per minute
    reference_weight : float
        Share of the salience that the first tempo of the reference has.

    Raises
    ------
    ValueError
        For tempi that `validate_tempi` refuses and a weight outside 0 to 1.
    """
    validate_tempi(reference_tempi, reference=True)
    validate_tempi(estimated_tempi, reference=False)
    if not 0 <= reference_weight <= 1:
        raise ValueError("Reference weight must lie in range [0, 1]")


def detection(
    reference_tempi: Array, reference_weight: float, estimated_tempi: Array, tol: float = 0.08
) -> tuple[float, bool, bool]:
    """Which of two tempi were found.

    Parameters
    ----------
    reference_tempi, estimated_tempi : (2,), beats per minute
        A reference of 0 cannot be found.
    reference_weight : float
        Share of the salience that the first tempo of the reference has, in [0, 1].
    tol : float
        Largest deviation, as a share of the reference, in [0, 1].

    Returns
    -------
    p_score : float
        The salience of the tempi that were found.
    one_correct, both_correct : bool
        Whether at least one, and whether both were found.

    Raises
    ------
    ValueError
        For what `validate` refuses and a tolerance outside 0 to 1.

    Warns
    -----
    MirflowWarning
        For a tolerance of 0.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equation 8.

    Examples
    --------
    >>> detection(np.array([60.0, 120.0]), 0.75, np.array([60.0, 180.0]))
    (0.75, True, False)
    """
    validate(reference_tempi, reference_weight, estimated_tempi)
    if not 0 <= tol <= 1:
        raise ValueError(f"invalid tolerance {tol}: must lie in the range [0, 1]")
    if tol == 0.0:
        warnings.warn("A tolerance of 0.0 may not lead to the results you expect.", MirflowWarning, stacklevel=2)
    reference, estimate = (
        np.asarray(tempi, dtype=np.float64).reshape(1, 2) for tempi in (reference_tempi, estimated_tempi)
    )
    hits = find_hits(reference, estimate, tol)
    share = np.array([reference_weight], dtype=np.float64)
    return float(weigh(hits, share)[0]), bool(hits.any()), bool(hits.all())


def evaluate(
    reference_tempi: Array, reference_weight: float, estimated_tempi: Array, **kwargs: Any
) -> OrderedDict[str, float]:
    """P-score, One-correct and Both-correct of one estimate.

    Parameters
    ----------
    reference_tempi, reference_weight, estimated_tempi
        See `detection`.
    **kwargs
        ``tol``, see `detection`.

    Returns
    -------
    OrderedDict of str to float or bool

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `detection`.

    Examples
    --------
    >>> evaluate(np.array([60.0, 120.0]), 0.75, np.array([60.0, 180.0]))["P-score"]
    0.75
    """
    refuse_unknown("evaluate", kwargs, ("reference_tempi", "reference_weight", "estimated_tempi", "tol"))
    found = detection(reference_tempi, reference_weight, estimated_tempi, **kwargs)
    return OrderedDict(zip(("P-score", "One-correct", "Both-correct"), found, strict=True))
