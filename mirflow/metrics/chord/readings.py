"""How each chord measure is read off the totals: what it needs, its score and its weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...ragged import Float
from ..base.identity import Measure
from . import confusion
from .rules import RULES
from .totals import Totals, Wanted


@dataclass(frozen=True, slots=True)
class Reading:
    """One measure of one convention.

    Parameters
    ----------
    wanted : Wanted
        What has to be added up for it.
    read : callable
        Totals -> score and weight, float64 (pairs,) each.
    hop : float or None
        The frames that it is defined on; None: it follows the grid that was asked for.
    """

    wanted: Wanted
    read: Callable[[Totals], tuple[Float, Float]]
    hop: float | None = None


def ratio(part: Float, whole: Float) -> Float:
    """``part / whole``, and 0 where there is nothing to divide by.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, 0.0]
    """
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


_RULES = Wanted(rules=True)
_FRAGMENTATION = Wanted(fragmentation=True)


def rule(name: str) -> Reading:
    """Right seconds over comparable seconds under one rule."""

    def read(totals: Totals) -> tuple[Float, Float]:
        right, comparable = totals.rules[name]
        return ratio(right, comparable), comparable

    return Reading(_RULES, read)


def overall_recall(name: str, hop: float | None = None) -> Reading:
    """Right seconds under one rule over all seconds of the reference."""

    def read(totals: Totals) -> tuple[Float, Float]:
        return ratio(totals.rules[name][0], totals.seconds), totals.seconds

    return Reading(_RULES, read, hop)


def _kept(totals: Totals, side: int) -> Float:
    return 1 - ratio(totals.fragmentation[side], totals.span)


def _overseg(totals: Totals) -> tuple[Float, Float]:
    return _kept(totals, 0), totals.span


def _underseg(totals: Totals) -> tuple[Float, Float]:
    return _kept(totals, 1), totals.span


def _seg(totals: Totals) -> tuple[Float, Float]:
    return np.minimum(_kept(totals, 0), _kept(totals, 1)), totals.span


def class_recall(vocabulary: str) -> Reading:
    """Class-averaged recall in one vocabulary."""
    return Reading(
        Wanted(vocabularies=frozenset({vocabulary})),
        lambda totals: confusion.class_recall(totals.confusions[vocabulary], vocabulary),
    )


def _overlap(totals: Totals) -> tuple[Float, Float]:
    right, seconds = confusion.overlap(totals.confusions["25"])
    return ratio(right, seconds), seconds


def confused(vocabulary: str) -> Wanted:
    """What a confusion matrix needs."""
    return Wanted(vocabularies=frozenset({vocabulary}))


Builder = Callable[[Measure], Reading]

_SEGMENTATION = (
    Reading(_FRAGMENTATION, _underseg),
    Reading(_FRAGMENTATION, _overseg),
    Reading(_FRAGMENTATION, _seg),
)


def _always(reading: Reading) -> Builder:
    return lambda measure: reading


MIR_EVAL: dict[str, Builder] = {
    **{name: _always(rule(name)) for name in RULES},
    **{name: _always(one) for name, one in zip(("underseg", "overseg", "seg"), _SEGMENTATION, strict=True)},
    "csr": lambda measure: overall_recall(str(measure["rule"])),
    "csr_framewise": lambda measure: overall_recall(str(measure["rule"]), float(measure["hop"])),
    "overlap_2008": _always(Reading(Wanted(vocabularies=frozenset({"25"})), _overlap)),
    "class_recall": lambda measure: class_recall(str(measure["vocabulary"])),
}
"""The scalar measures of convention mir_eval."""

DECIBEL: dict[str, Builder] = {
    "csr": _always(rule("majmin")),
    "undersegmentation": _always(_SEGMENTATION[0]),
    "oversegmentation": _always(_SEGMENTATION[1]),
    "segmentation": _always(_SEGMENTATION[2]),
}
"""The scalar measures of convention decibel."""
