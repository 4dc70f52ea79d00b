"""Comparisons of chord labels pair by pair, under mir_eval's names.

Every rule takes the reference labels and the estimated labels of the same stretches of time, and gives 1 where the
estimate is right, 0 where it is wrong and -1 where the reference is outside the rule's vocabulary. The rules themselves
are in `rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ragged import Float
from .accuracy import validate
from .labels import encode_table
from .rules import compare


def _compared(reference_labels: Sequence[str], estimated_labels: Sequence[str], rule: str) -> Float:
    validate(reference_labels, estimated_labels)
    return compare(encode_table(reference_labels), encode_table(estimated_labels), rule)


def thirds(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root and third are right: minor thirds against all others.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> thirds(["A:7", "C:min"], ["A:aug", "C"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "thirds")


def thirds_inv(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root, third and bass are right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> thirds_inv(["A:7/3", "C:min"], ["A/3", "C:min/5"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "thirds_inv")


def triads(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root and all semitones up to the fifth are right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> triads(["A:7", "C"], ["A", "C:aug"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "triads")


def triads_inv(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root, all semitones up to the fifth and bass are right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> triads_inv(["A:7/3", "C"], ["A/3", "C/5"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "triads_inv")


def tetrads(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root and all semitones within the octave are right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> tetrads(["A:7", "A:7"], ["A:9", "A:maj7"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "tetrads")


def tetrads_inv(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root, all semitones within the octave and bass are right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> tetrads_inv(["A:7/3", "A:7"], ["A:9/3", "A:7/3"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "tetrads_inv")


def root(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether the root is right.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> root(["A:7", "N", "X"], ["A:dim", "C", "N"]).tolist()
    [1.0, 0.0, -1.0]
    """
    return _compared(reference_labels, estimated_labels, "root")


def mirex(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether at least three pitch classes are right, whatever the root.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references of X and of one or two pitch classes.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> mirex(["C:maj6", "C:min", "C:5"], ["A:min7", "C", "C"]).tolist()
    [1.0, 0.0, -1.0]
    """
    return _compared(reference_labels, estimated_labels, "mirex")


def majmin(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root and triad are right, where the reference is a major or minor one.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references other than major, minor and N up to the fifth.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> majmin(["C:7", "C:aug"], ["C", "C:aug"]).tolist()
    [1.0, -1.0]
    """
    return _compared(reference_labels, estimated_labels, "majmin")


def majmin_inv(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root, triad and bass are right, where the reference is a major or minor one.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references other than major, minor and N up to the fifth.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> majmin_inv(["C:7/5", "C"], ["C/5", "C/3"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "majmin_inv")


def sevenths(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root and chord are right, where the reference is a triad or seventh chord of a short list.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references other than maj, min, maj7, 7, min7 and N.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> sevenths(["C:7", "C:min7", "C:maj6"], ["C:9", "C:min", "C"]).tolist()
    [1.0, 0.0, -1.0]
    """
    return _compared(reference_labels, estimated_labels, "sevenths")


def sevenths_inv(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
    """Whether root, chord and bass are right, where the reference is of that short list.

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: references other than maj, min, maj7, 7, min7 and N.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> sevenths_inv(["C:7/b7", "C:7"], ["C:9/b7", "C:7/3"]).tolist()
    [1.0, 0.0]
    """
    return _compared(reference_labels, estimated_labels, "sevenths_inv")
