"""The twelve comparison rules of mir_eval over encoded chords: right, wrong or not comparable."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ...errors import UnknownNameError
from ...ragged import Bool, Float
from ...theory.chords import EVERY_SEMITONE, OCTAVE, ChordTable, encode_vocabulary

RIGHT, NOT_COMPARABLE = 1.0, -1.0

_THIRD = np.uint16(1 << 3)  # the minor third's bit alone: a chord without any third passes for one with a major third
_TRIAD = np.uint16((1 << 8) - 1)  # up to the fifth; the augmented fifth lies above, as in mir_eval
_ANY = np.uint16(EVERY_SEMITONE)

_MAJMIN = encode_vocabulary(["C:maj", "C:min"]).pitches
_SEVENTHS = encode_vocabulary(["C:maj", "C:min", "C:maj7", "C:7", "C:min7", "N"]).pitches
_SHARED_PITCHES = 3


def _same(reference: ChordTable, estimate: ChordTable, mask: np.uint16, bass: bool) -> Bool:
    """Whether roots, the masked semitones and, if asked, basses are the same."""
    # An X in the estimate sounds everywhere, so it never equals an N, which has no root either.
    same: Bool = (reference.root == estimate.root) & ((reference.pitches ^ estimate.pitches) & mask == 0)
    if bass:
        same &= reference.bass == estimate.bass
    return same


def _chroma(chords: ChordTable) -> npt.NDArray[np.uint16]:
    """Absolute pitch classes: bit i is i semitones above C."""
    shift = (chords.root % OCTAVE).astype(np.uint16)
    return (chords.pitches << shift | chords.pitches >> (np.uint16(OCTAVE) - shift)) & _ANY


def _mirex(reference: ChordTable, estimate: ChordTable) -> tuple[Bool, Bool]:
    """At least three pitch classes in common; references with one or two have nothing to compare."""
    shared = np.bitwise_count(_chroma(reference) & _chroma(estimate)) >= _SHARED_PITCHES
    both_rootless = (reference.root < 0) & (estimate.root < 0)
    count = np.bitwise_count(reference.pitches)
    return shared | both_rootless, ~reference.undefined & ((count == 0) | (count >= _SHARED_PITCHES))


def _majmin(chords: ChordTable) -> Bool:
    """Major and minor triads, whatever sounds above the fifth, and no-chord."""
    triad = chords.pitches & _TRIAD
    vocabulary: Bool = np.isin(triad, _MAJMIN) | (chords.pitches == 0)
    return vocabulary


def _sevenths(chords: ChordTable) -> Bool:
    return np.isin(chords.pitches, _SEVENTHS)


def _defined(chords: ChordTable) -> Bool:
    return ~chords.undefined


Rule = Callable[[ChordTable, ChordTable], tuple[Bool, Bool]]
"""(reference, estimate) -> (right, comparable)."""


def _rule(mask: np.uint16 | int, comparable: Callable[[ChordTable], Bool], bass: bool = False) -> Rule:
    return lambda reference, estimate: (_same(reference, estimate, np.uint16(mask), bass), comparable(reference))


# A bass always sounds in its own chord once it is encoded, so the rules' condition that it does never excludes one.
_RULES: MappingProxyType[str, Rule] = MappingProxyType(
    {
        "thirds": _rule(_THIRD, _defined),
        "thirds_inv": _rule(_THIRD, _defined, bass=True),
        "triads": _rule(_TRIAD, _defined),
        "triads_inv": _rule(_TRIAD, _defined, bass=True),
        "tetrads": _rule(_ANY, _defined),
        "tetrads_inv": _rule(_ANY, _defined, bass=True),
        "root": _rule(0, _defined),
        "mirex": _mirex,
        "majmin": _rule(_TRIAD, _majmin),
        "majmin_inv": _rule(_TRIAD, _majmin, bass=True),
        "sevenths": _rule(_ANY, _sevenths),
        "sevenths_inv": _rule(_ANY, _sevenths, bass=True),
    }
)

RULES: tuple[str, ...] = tuple(_RULES)
"""Names of the rules, in the order in which mir_eval reports them."""


def compare(reference: ChordTable, estimate: ChordTable, rule: str) -> Float:
    """Compare chords row by row.

    Parameters
    ----------
    reference, estimate : ChordTable
        Encoded without reducing extended chords; the same number of rows.
    rule : str
        One of `RULES`.

    Returns
    -------
    float64 (n,)
        1 where the estimate is right, 0 where it is wrong, -1 where the reference is outside the rule's vocabulary.

    Raises
    ------
    UnknownNameError
        For an unknown rule.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014; J. Pauwels and
    G. Peeters, "Evaluating automatically estimated chord sequences", ICASSP 2013.

    Examples
    --------
    >>> reference = encode_vocabulary(["C:7", "C:sus4", "N"])
    >>> estimate = encode_vocabulary(["C", "C:sus4", "A:min"])
    >>> compare(reference, estimate, "majmin").tolist()
    [1.0, -1.0, 0.0]
    """
    if rule not in _RULES:
        raise UnknownNameError("chord comparison rule", rule, RULES)
    right, comparable = _RULES[rule](reference, estimate)
    return np.where(comparable, right.astype(np.float64), NOT_COMPARABLE)
