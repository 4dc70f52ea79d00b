"""How each metric is read from what is worked out of a pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ...ragged import Float
from ..base.identity import Measure
from .decomposition import References
from .invariant import scale_invariant
from .measuring import NOT_FINITE, measure_frames, measure_frames_with_one_filter, measure_whole
from .meeting import Sides
from .ratios import NAMES, best_order

_Key = tuple[object, ...]


class Bench:
    """A pair, and what was worked out of it so far; the references stay for the next pair that has the same."""

    def __init__(self) -> None:
        self.sides: Sides
        self._row = -1
        self._references: dict[int, References] = {}
        self._done: dict[_Key, tuple[Float, Float]] = {}

    def lay(self, sides: Sides, row: int) -> None:
        """Take the next pair, whose reference is in this row."""
        if row != self._row:
            self._references.clear()
        self.sides, self._row = sides, row
        self._done.clear()

    def references(self, lags: int) -> References:
        """The references, made ready once."""
        if lags not in self._references:
            self._references.clear()  # of one length of filters at a time: they are large
            self._references[lags] = References(self.sides.reference, lags)
        return self._references[lags]

    def once(self, key: _Key, compute: Callable[[], tuple[Float, Float]]) -> tuple[Float, Float]:
        """Ratios and orders that were computed before, or now."""
        if key not in self._done:
            self._done[key] = compute()
        return self._done[key]

    def samples(self, measure: Measure) -> tuple[int, int]:
        """Window and hop of a measure in samples; what is left of a sample is dropped, but for rounding."""
        window, hop = (int(round(float(measure[name]) * self.sides.rate, 6)) for name in ("window", "hop"))
        return max(1, window), max(1, hop)


Reading = Callable[[Bench, Measure], Float]
"""Values in dB along source, and perhaps frame."""
Readings = Mapping[str, Reading]


def _whole(bench: Bench, measure: Measure) -> tuple[Float, Float]:
    lags, permutation = int(measure["filters_len"]), bool(measure["permutation"])

    def compute() -> tuple[Float, Float]:
        ratios, order = measure_whole(bench.references(lags), bench.sides.estimate, permutation)
        if np.isnan(ratios).all():
            raise FloatingPointError(NOT_FINITE)
        return ratios, order.astype(np.float64)

    return bench.once(("whole", lags, permutation), compute)


def _frames(bench: Bench, measure: Measure) -> tuple[Float, Float]:
    lags, permutation = int(measure["filters_len"]), bool(measure["permutation"])
    window, hop = bench.samples(measure)
    sides = bench.sides.reference, bench.sides.estimate
    key = "frames", window, hop, lags, permutation
    return bench.once(key, lambda: measure_frames(*sides, window, hop, permutation, lags))


def _track_frames(bench: Bench, measure: Measure) -> Float:
    """Frames as museval's: with the filters of the whole track, or with their own."""
    lags = int(measure["filters_len"])
    window, hop = bench.samples(measure)
    sides = bench.sides.reference, bench.sides.estimate

    def compute() -> tuple[Float, Float]:
        if measure["filters"] == "track":
            ratios = measure_frames_with_one_filter(bench.references(lags), sides[1], window, hop)
        elif window < sides[0].frames:
            # One frame of its own, where mir_eval would take the whole track instead.
            frames = 1 + (sides[0].frames - window) // hop
            single = [side.window(0, window) if frames == 1 else side for side in sides]
            ratios, _ = measure_frames(single[0], single[1], window, hop, False, lags)
        else:
            ratios, _ = measure_frames(*sides, window, hop, False, lags)
        return ratios, np.empty(0)

    return bench.once(("museval", window, hop, lags, measure["filters"]), compute)[0]


def _invariant(bench: Bench, measure: Measure) -> Float:
    zero_mean, permutation = bool(measure["zero_mean"]), bool(measure["permutation"])

    def compute() -> tuple[Float, Float]:
        return scale_invariant(bench.sides.reference, bench.sides.estimate, zero_mean), np.empty(0)

    table, _ = bench.once(("invariant", zero_mean), compute)
    sources = np.arange(len(table))
    order = best_order(table) if permutation else sources
    found: Float = table[order, sources]
    return found


def median_over_frames(ratios: Float) -> Float:
    """The median over the frames that have a ratio, of each source: float64 (sources,); NaN where none has.

    Examples
    --------
    >>> median_over_frames(np.array([[1.0, np.nan, 3.0], [np.nan] * 3])).tolist()
    [2.0, nan]
    """
    known = [row[~np.isnan(row)] for row in ratios]
    with np.errstate(invalid="ignore"):  # between an infinite ratio and its opposite there is no middle
        return np.array([np.median(row) if len(row) else np.nan for row in known])


def _of_whole(row: int) -> Reading:
    return lambda bench, measure: _whole(bench, measure)[0][row]


def _of_frames(row: int) -> Reading:
    return lambda bench, measure: _frames(bench, measure)[0][row]


def _of_track_frames(row: int) -> Reading:
    return lambda bench, measure: _track_frames(bench, measure)[row]


def _of_median(row: int) -> Reading:
    return lambda bench, measure: median_over_frames(_track_frames(bench, measure)[row])


def _mir_eval() -> Readings:
    rows = {name: NAMES.index(name) for name in NAMES}
    rows |= {"image_sir": rows["sir"], "image_sar": rows["sar"]}
    found: dict[str, Reading] = {"si_sdr": _invariant, "source_si_sdr": _invariant}
    for name, row in rows.items():
        found |= {name: _of_whole(row), f"source_{name}": _of_whole(row), f"frame_{name}": _of_frames(row)}
    found["source_permutation"] = lambda bench, measure: _whole(bench, measure)[1]
    return MappingProxyType(found)


def _museval() -> Readings:
    found: dict[str, Reading] = {"si_sdr": _invariant, "source_si_sdr": _invariant}
    for name, own in (("sdr", "image_sdr"), ("isr", "image_isr"), ("sir", "sir"), ("sar", "sar")):
        row = NAMES.index(own)
        found |= {name: _of_median(row), f"source_{name}": _of_median(row), f"frame_{name}": _of_track_frames(row)}
    return MappingProxyType(found)


MIR_EVAL, MUSEVAL = _mir_eval(), _museval()
