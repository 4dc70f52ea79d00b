"""What is added up over the common timelines of pairs, once for all measures that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...ragged import Float
from . import confusion
from .cutting import Axis, cut, fragmented
from .encoding import Chords
from .recall import Verdicts


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be added up on one time axis: the rules, the fragmentation, confusions in some vocabularies."""

    rules: bool = False
    fragmentation: bool = False
    vocabularies: frozenset[str] = frozenset()

    def __or__(self, other: Wanted) -> Wanted:
        return Wanted(
            self.rules or other.rules,
            self.fragmentation or other.fragmentation,
            self.vocabularies | other.vocabularies,
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """What was added up on one time axis, over pairs.

    Parameters
    ----------
    span : float64 (pairs,), seconds
        Length of the reference.
    seconds : float64 (pairs,)
        The same, added up from the segments as those of `rules` are, so that none of them exceeds it.
    rules : mapping of str to (float64 (pairs,), float64 (pairs,))
        Seconds right and seconds comparable, by rule.
    fragmentation : (float64 (pairs,), float64 (pairs,))
        Seconds of the reference's runs outside their largest pieces, and of the estimate's.
    confusions : mapping of str to Confusion
    """

    span: Float
    seconds: Float
    rules: Mapping[str, tuple[Float, Float]]
    fragmentation: tuple[Float, Float]
    confusions: Mapping[str, confusion.Confusion]


def add_up(axis: Axis, chords: Chords, wanted: Wanted) -> Totals:
    """Go through all pairs once."""
    verdicts = Verdicts(chords)
    patterns: list[Float] = []
    pieces: list[tuple[Float, Float]] = []
    parts: dict[str, list[confusion.Confusion]] = {name: [] for name in sorted(wanted.vocabularies)}
    classifiers = {name: confusion.classifier(name) for name in parts}
    classes = {name: (classify(chords.table), size) for name, (classify, size) in classifiers.items()}
    for batch in cut(axis):
        if wanted.rules:
            chord = batch.reference_chord, batch.estimate_chord
            patterns.append(verdicts.add_up(batch.pair, len(batch), *chord, batch.seconds))
        if wanted.fragmentation:
            pieces.append(fragmented(batch))
        for name, part in parts.items():
            part.append(confusion.add_up(batch, *classes[name]))
    fragmentation = [np.concatenate([np.zeros(0), *side]) * axis.unit for side in zip(*pieces, strict=True)]
    return Totals(
        axis.span,
        *verdicts.by_rule(patterns),
        (fragmentation[0], fragmentation[1]) if pieces else (np.zeros(0), np.zeros(0)),
        {name: confusion.join(part) for name, part in parts.items()},
    )
