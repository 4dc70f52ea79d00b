"""The five rules as codes over a vocabulary of labels: what each maps a chord to, and which references it skips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ....ragged import Int
from ....theory.spelling import NONE, SpelledTable, encode_spelled, tetrad_code, triad_code

RULES = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")
OUTSIDE: Final = -1
"""The quality of a chord that a rule has no class for."""

_MAJOR_MINOR = (triad_code("3", "5"), triad_code("b3", "5"))
_SEVENTHS = (
    tetrad_code("3", "5", None),
    tetrad_code("b3", "5", None),
    tetrad_code("3", "5", "b7"),
    tetrad_code("3", "5", "7"),
    tetrad_code("b3", "5", "b7"),
)
_BASSES = 13


@dataclass(frozen=True, slots=True)
class Mapped:
    """What one rule maps the labels of one side to.

    Parameters
    ----------
    quality : int16 (labels + 1,)
        Type, and bass where the rule has one, as one number; 0 for no chord; `OUTSIDE` where the rule has no class.
    chord : int64 (labels + 1,)
        Number of the mapped chord among the different ones of this vocabulary.
    chords : int
        How many different ones there are.
    """

    quality: npt.NDArray[np.int16]
    chord: Int
    chords: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The labels of one side, ready to be compared; one more row stands for silence.

    Parameters
    ----------
    root : int8 (labels + 1,)
        Semitones above C, `NONE` for no chord.
    rules : mapping of str to Mapped
    """

    root: npt.NDArray[np.int8]
    rules: dict[str, Mapped]


def encode(labels: Sequence[str], rules: Sequence[str], *, reference: bool) -> Vocabulary:
    """Map labels by each of the rules.

    Parameters
    ----------
    labels : sequence of str
        The last row of the result, beyond them, stands for silence.
    rules : sequence of str
        Names out of `RULES`.
    reference : bool
        A reference keeps the spelling of its degrees and is confined to the rule's classes; an estimate is neither.

    Examples
    --------
    >>> encode(["C", "C:aug", "N"], ["majmin"], reference=True).rules["majmin"].quality.tolist()
    [0, -1, 0, 0]
    """
    table = encode_spelled([*labels, "N"], spelled=reference)
    mapped = {}
    for rule in rules:
        quality = _quality(table, rule, reference)
        different, chord = np.unique(table.root.astype(np.int64) * 4096 + quality, return_inverse=True)
        mapped[rule] = Mapped(quality, chord.astype(np.int64), len(different))
    return Vocabulary(table.root, mapped)


def _quality(table: SpelledTable, rule: str, reference: bool) -> npt.NDArray[np.int16]:
    if rule == "root":
        return np.where(table.root < NONE, OUTSIDE, 0).astype(np.int16)
    thirds = rule.startswith("majmin")
    kind = (table.triad if thirds else table.tetrad).astype(np.int16)
    quality = kind * _BASSES
    if rule.endswith("_inv"):
        quality += (table.triad_bass if thirds else table.tetrad_bass) + 1
    known = np.isin(kind, _MAJOR_MINOR if thirds else _SEVENTHS) if reference else kind != NONE
    quality[~known] = OUTSIDE
    quality[table.root == NONE] = 0
    return quality
