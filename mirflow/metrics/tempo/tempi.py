"""The tempi of many tracks as plain arrays, and the rules that compare them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ragged import Bool, Float, Int, Ragged, rows_of

FACTORS = (1.0, 2.0, 1 / 2, 3.0, 1 / 3)
"""The metrical levels that count as right where the level does not matter."""


@dataclass(frozen=True, slots=True)
class Tempi:
    """One or two tempi for each of some tracks.

    Parameters
    ----------
    tempo : float64 (n, 2), beats per minute
        0 where there is no second one.
    first_share : float64 (n,)
        How much of the two tempi's salience the first one has; 1 for a single tempo.
    given : int64 (n,)
        How many tempi the annotation has, those of 0 among them.
    """

    tempo: Float
    first_share: Float
    given: Int

    def take(self, rows: Int) -> Tempi:
        """Those of the given rows."""
        return Tempi(self.tempo[rows], self.first_share[rows], self.given[rows])

    @property
    def main(self) -> Float:
        """The more salient tempo, the first of two equals; 0 where there is none above 0: float64 (n,)."""
        first, second = self.tempo.T
        return np.asarray(np.where((second > 0) & ((first <= 0) | (self.first_share < 0.5)), second, first))

    @property
    def heard(self) -> Float:
        """What hits are looked for in: a single tempo stands for both, NaN stands for none at all: float64 (n, 2)."""
        heard = np.where(self.given[:, np.newaxis] == 0, np.nan, self.tempo)
        heard[:, 1] = np.where(self.given == 1, heard[:, 0], heard[:, 1])
        return heard


def lay_out(rows: Ragged) -> Tempi:
    """Rows of one or two tempi, with or without saliences, as arrays.

    Two tempi without a salience weigh the same. If only one has a salience it is the share of the whole.

    Examples
    --------
    >>> rows = Ragged({"tempo": np.array([60.0, 120.0, 90.0]), "salience": np.array([0.5, 1.5, 0.3])},
    ...               (np.array([2, 1]),))
    >>> lay_out(rows).first_share.tolist(), lay_out(rows).main.tolist()
    ([0.25, 1.0], [120.0, 90.0])
    """
    counts = rows.counts[0]
    owner = rows_of(counts)
    place = np.arange(len(owner)) - rows.offsets[:-1][owner]
    tempo = np.zeros((len(rows), 2))
    tempo[owner, place] = rows.columns["tempo"]
    salience = np.full((len(rows), 2), np.nan)
    if "salience" in rows.columns:
        salience[owner, place] = rows.columns["salience"]
    return Tempi(tempo, np.where(counts == 2, _first_share(salience), np.minimum(counts, 1)), counts)


def _first_share(salience: Float) -> Float:
    missing = np.isnan(salience)
    rest = np.maximum(1 - salience[:, ::-1], 0)
    salience = np.where(missing, rest, salience)
    total = salience.sum(axis=1)
    unknown = missing.all(axis=1) | (total == 0)
    return np.asarray(np.divide(salience[:, 0], total, out=np.full(len(total), 0.5), where=~unknown))


def find_hits(reference: Float, estimate: Float, tol: float) -> Bool:
    """Which tempi of the reference the estimate has.

    Parameters
    ----------
    reference, estimate : float64 (n, 2), beats per minute
        A reference of 0 is never hit, an estimate of NaN hits nothing.
    tol : float
        Largest deviation, as a share of the reference.

    Returns
    -------
    bool (n, 2)

    Examples
    --------
    >>> find_hits(np.array([[60.0, 120.0]]), np.array([[118.0, 240.0]]), 0.08).tolist()
    [[False, True]]
    """
    positive = reference > 0
    divisor = np.where(positive, reference, 1.0)[:, :, np.newaxis]
    with np.errstate(over="ignore"):
        error = np.abs(reference[:, :, np.newaxis] - estimate[:, np.newaxis, :]) / divisor
    return np.asarray((error <= tol).any(axis=2) & positive)


def is_near(reference: Float, estimate: Float, tol: float, factors: tuple[float, ...] = (1.0,)) -> Bool:
    """Whether an estimate lies near the reference or one of its multiples.

    Parameters
    ----------
    reference, estimate : float64 (n,), beats per minute
        0 stands for none and is near nothing.
    tol : float
        Largest deviation, as a share of the multiple.
    factors : tuple of float

    Returns
    -------
    bool (n,)

    References
    ----------
    F. Gouyon et al., "An experimental comparison of audio tempo induction algorithms", IEEE Transactions on Audio,
    Speech, and Language Processing 14(5), 2006.

    Examples
    --------
    >>> is_near(np.array([60.0, 60.0]), np.array([61.0, 121.0]), 0.04, (1.0, 2.0)).tolist()
    [True, True]
    """
    near = np.zeros(len(reference), dtype=np.bool_)
    for factor in factors:
        with np.errstate(over="ignore"):
            multiple = reference * factor
        near |= (np.abs(multiple - estimate) <= multiple * tol) & np.isfinite(multiple)
    return near & (reference > 0) & (estimate > 0)


def octave_error(reference: Float, estimate: Float, factors: tuple[float, ...] = (1.0,)) -> Float:
    """How many octaves an estimate lies above the reference.

    Parameters
    ----------
    reference, estimate : float64 (n,), beats per minute
        0 stands for none.
    factors : tuple of float
        By which the estimate may be multiplied first; the error nearest to 0 counts, of equally near ones the first.

    Returns
    -------
    float64 (n,), octaves
        NaN where either side has none.

    References
    ----------
    H. Schreiber, J. Urbano, M. Mueller, "Music tempo estimation: are we done yet?", TISMIR 3(1), 2020.

    Examples
    --------
    >>> octave_error(np.array([60.0]), np.array([120.0])).tolist()
    [1.0]
    >>> octave_error(np.array([60.0]), np.array([120.0]), FACTORS).tolist()
    [0.0]
    """
    both = (reference > 0) & (estimate > 0)
    nearest = np.full(len(reference), np.nan)
    # A ratio of absurd tempi may be too large or too small for a number; then the error is infinite.
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.divide(estimate, reference, out=np.ones_like(nearest), where=both)
    for factor in factors:
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            error = np.log2(ratio * factor)
        nearer = both & ~(np.abs(error) >= np.abs(nearest))
        nearest[nearer] = error[nearer]
    return nearest
