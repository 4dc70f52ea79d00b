"""Comparisons of chord labels pair by pair, under mir_eval's names.

Every rule takes the reference labels and the estimated labels of the same stretches of time, and gives 1 where the
estimate is right, 0 where it is wrong and -1 where the reference is outside the rule's vocabulary. The rules themselves
are in `rules`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...ragged import Float
from .accuracy import validate
from .labels import encode_table
from .rules import compare


class Comparison(Protocol):
    """A rule over two aligned sequences of labels."""

    def __call__(self, reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
        """Compare the labels of each stretch of time: float64 (n,)."""


_DOCSTRING = """{summary}

    Parameters
    ----------
    reference_labels, estimated_labels : sequence of str, n items

    Returns
    -------
    float64 (n,)
        1 right, 0 wrong, -1 not comparable: {left_out}.

    Raises
    ------
    ValueError, InvalidChordException
        As `validate` does, and for a quality without a meaning.

    Examples
    --------
    >>> {rule}({reference}, {estimate}).tolist()
    {verdicts}
    """


def _comparison(
    rule: str, summary: str, left_out: str, reference: list[str], estimate: list[str], verdicts: list[float]
) -> Comparison:
    """The public function of a rule; its docstring, with an executed example, comes from its row below."""

    def compared(reference_labels: Sequence[str], estimated_labels: Sequence[str]) -> Float:
        validate(reference_labels, estimated_labels)
        return compare(encode_table(reference_labels), encode_table(estimated_labels), rule)

    compared.__name__ = compared.__qualname__ = rule
    compared.__doc__ = _DOCSTRING.format(
        rule=rule, summary=summary, left_out=left_out, reference=reference, estimate=estimate, verdicts=verdicts
    )
    return compared


_X = "references of X"
_MAJMIN = "references other than major, minor and N up to the fifth"
_SEVENTHS = "references other than maj, min, maj7, 7, min7 and N"

thirds = _comparison(
    "thirds",
    "Whether root and third are right: minor thirds against all others.",
    *(_X, ["A:7", "C:min"], ["A:aug", "C"], [1.0, 0.0]),
)
thirds_inv = _comparison(
    "thirds_inv",
    "Whether root, third and bass are right.",
    *(_X, ["A:7/3", "C:min"], ["A/3", "C:min/5"], [1.0, 0.0]),
)
triads = _comparison(
    "triads",
    "Whether root and all semitones up to the fifth are right.",
    *(_X, ["A:7", "C"], ["A", "C:aug"], [1.0, 0.0]),
)
triads_inv = _comparison(
    "triads_inv",
    "Whether root, all semitones up to the fifth and bass are right.",
    *(_X, ["A:7/3", "C"], ["A/3", "C/5"], [1.0, 0.0]),
)
tetrads = _comparison(
    "tetrads",
    "Whether root and all semitones within the octave are right.",
    *(_X, ["A:7", "A:7"], ["A:9", "A:maj7"], [1.0, 0.0]),
)
tetrads_inv = _comparison(
    "tetrads_inv",
    "Whether root, all semitones within the octave and bass are right.",
    *(_X, ["A:7/3", "A:7"], ["A:9/3", "A:7/3"], [1.0, 0.0]),
)
root = _comparison(
    "root",
    "Whether the root is right.",
    *(_X, ["A:7", "N", "X"], ["A:dim", "C", "N"], [1.0, 0.0, -1.0]),
)
mirex = _comparison(
    "mirex",
    "Whether at least three pitch classes are right, whatever the root.",
    *(f"{_X} and of one or two pitch classes", ["C:maj6", "C:min", "C:5"], ["A:min7", "C", "C"], [1.0, 0.0, -1.0]),
)
majmin = _comparison(
    "majmin",
    "Whether root and triad are right, where the reference is a major or minor one.",
    *(_MAJMIN, ["C:7", "C:aug"], ["C", "C:aug"], [1.0, -1.0]),
)
majmin_inv = _comparison(
    "majmin_inv",
    "Whether root, triad and bass are right, where the reference is a major or minor one.",
    *(_MAJMIN, ["C:7/5", "C"], ["C/5", "C/3"], [1.0, 0.0]),
)
sevenths = _comparison(
    "sevenths",
    "Whether root and chord are right, where the reference is a triad or seventh chord of a short list.",
    *(_SEVENTHS, ["C:7", "C:min7", "C:maj6"], ["C:9", "C:min", "C"], [1.0, 0.0, -1.0]),
)
sevenths_inv = _comparison(
    "sevenths_inv",
    "Whether root, chord and bass are right, where the reference is of that short list.",
    *(_SEVENTHS, ["C:7/b7", "C:7"], ["C:9/b7", "C:7/3"], [1.0, 0.0]),
)
