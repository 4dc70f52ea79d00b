"""Least squares with delayed signals: the filters that bring some recordings nearest to others."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int


class DelaySpan:
    """The space spanned by some signals and their delays, ready for projections onto it.

    The normal equations are solved by a Cholesky decomposition. Where signals are silent, repeat each other, or depend
    on each other to rounding, it is pivoted, and the delays that the others reproduce get filters of 0: the filters of
    such a system are not unique, but the projection is.

    Parameters
    ----------
    correlations : float64 (rows, rows, lags)
        As :func:`mirflow.kernels.correlations.correlate` gives them, of the signals with themselves.

    Examples
    --------
    >>> from mirflow.kernels.correlations import correlate
    >>> x = np.array([[1.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.5, 0.0]])
    >>> span = DelaySpan(correlate(lambda a, b: x[:, a:b], lambda a, b: x[:, a:b], 4, 2))
    >>> span.rank
    2
    """

    def __init__(self, correlations: Float) -> None:
        rows, _, self._lags = correlations.shape
        energy = correlations[np.arange(rows), np.arange(rows), 0]
        # Unit energy: what depends on others is told from what is merely quiet.
        with np.errstate(invalid="ignore"):
            self._scale = np.where(energy > 0, 1 / np.sqrt(np.where(energy > 0, energy, 1.0)), 1.0)
        self._order: Int | None = None
        self._factor = self._decompose(correlations * self._scale[:, None, None] * self._scale[None, :, None])

    @property
    def rank(self) -> int:
        """Dimensions of the space."""
        return len(self._factor) if self._order is None else len(self._order)

    def _decompose(self, correlations: Float) -> Float:
        from scipy.linalg.lapack import dpotrf, dpstrf

        factor, failed = dpotrf(to_gram(correlations), lower=1, clean=0, overwrite_a=1)
        if not failed:
            whole: Float = factor
            return whole
        del factor  # it may be large, and another one follows
        factor, pivots, rank, _ = dpstrf(to_gram(correlations), lower=1, overwrite_a=1)
        self._order = pivots[:rank].astype(np.int64) - 1
        part: Float = np.asfortranarray(factor[:rank, :rank])
        return part

    def filters(self, products: Float) -> Float:
        """The filters of the projections of some recordings.

        Parameters
        ----------
        products : float64 (rows, others, lags)
            Correlations of the signals with the recordings.

        Returns
        -------
        float64 (others, rows, lags)
            The projection of a recording is the sum over the rows of the signals filtered with these.
        """
        from scipy.linalg.lapack import dpotrs

        rows, others, lags = products.shape
        scaled = products * self._scale[:, None, None]
        right = np.asfortranarray(scaled.transpose(0, 2, 1).reshape(rows * lags, others))
        found = np.zeros_like(right)
        if self._order is None:
            found, _ = dpotrs(self._factor, right, lower=1)
        elif len(self._order):
            found[self._order], _ = dpotrs(self._factor, np.asfortranarray(right[self._order]), lower=1)
        taps = found.reshape(rows, lags, others) * self._scale[:, None, None]
        return np.ascontiguousarray(taps.transpose(2, 0, 1))


def to_gram(correlations: Float) -> Float:
    """Inner products of all delays of all signals.

    Parameters
    ----------
    correlations : float64 (rows, rows, lags)

    Returns
    -------
    float64 (rows * lags, rows * lags), in Fortran's order
        A symmetric matrix of Toeplitz blocks.

    Examples
    --------
    >>> to_gram(np.array([[[2.0, 1.0]]])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    rows, _, lags = correlations.shape
    gram = np.empty((rows * lags, rows * lags), order="F")
    for i in range(rows):
        for j in range(rows):
            # Delay a of signal i meets delay b of signal j at lag a - b; at a negative lag the two change places.
            both = np.concatenate([correlations[j, i, :0:-1], correlations[i, j]])
            block = np.lib.stride_tricks.sliding_window_view(both, lags)[:, ::-1]
            gram[i * lags : (i + 1) * lags, j * lags : (j + 1) * lags] = block
    return gram
