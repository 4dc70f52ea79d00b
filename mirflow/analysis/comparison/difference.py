"""The difference of two evaluations, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...ragged import Bool, Float, Int
from ...status import SCORED
from ..question import Names
from ..selection import bare_name, find_labels, find_metrics, find_single
from .settings import Inputs, Setting, differing_inputs, differing_settings, label_of, of_metrics
from .sides import Side

if TYPE_CHECKING:
    import xarray as xr

LEAST_TOLERANCE = 1e-9
"""What two scores may differ by and still agree where no digits were printed: the rounding of another order of sums."""
_SIDES = ("a", "b")
Pairs = Mapping[str, str] | None


@dataclass(frozen=True)
class Difference:
    """Two evaluations side by side, over what both have.

    Parameters
    ----------
    sides : (Side, Side)
        a and b.
    systems, tracks, metrics : list of str
        What both have, in a's order; a metric is called ``A=B`` where a's A was paired with b's B.
    units : list of str
        Of the metrics; empty for ratios.
    orientations : list of str
        Of the metrics: whether ``higher`` or ``lower`` values are better, or ``none``.
    scores : (float64, float64), each (systems, tracks, metrics)
        NaN where a side has no score.
    tolerance : float64 (metrics,)
        Up to which scores agree.
    only : mapping of str to (list of str, list of str)
        Systems, tracks and metrics that only a, or only b has.
    settings : list of Setting
        What the two sides say differently of themselves.
    inputs : Inputs or None
        How many cells were scored from other files; None where a side does not say from which.
    akin : list of (str, str, str)
        Metrics of one name that are not compared as their parameters differ: a's, b's, and how they differ.
    """

    sides: tuple[Side, Side]
    systems: list[str]
    tracks: list[str]
    metrics: list[str]
    units: list[str]
    orientations: list[str]
    scores: tuple[Float, Float]
    tolerance: Float
    only: Mapping[str, tuple[list[str], list[str]]]
    settings: list[Setting]
    inputs: Inputs | None
    akin: list[tuple[str, str, str]]

    @property
    def both(self) -> Bool:
        """The cells that have a score on both sides: bool (systems, tracks, metrics)."""
        return ~np.isnan(self.scores[0]) & ~np.isnan(self.scores[1])

    @property
    def change(self) -> Float:
        """a - b, also 0 where both are the same infinity, NaN without a score: float64 (systems, tracks, metrics)."""
        a, b = self.scores
        return np.subtract(a, b, out=np.zeros_like(a), where=a != b)

    @property
    def relative(self) -> Float:
        """``|a - b| / ((|a| + |b|) / 2)``, 0 where both are equal: float64 (systems, tracks, metrics)."""
        middle = (np.abs(self.scores[0]) + np.abs(self.scores[1])) / 2
        change: Float = np.abs(self.change)
        # Towards infinity the ratio goes to 2; NaN stays NaN.
        out = np.where(np.isinf(middle) & (change != 0), 2.0, np.where(np.isnan(middle), np.nan, 0.0))
        return np.divide(change, middle, out=out, where=np.isfinite(middle) & (middle != 0))

    @property
    def agreeing(self) -> Bool:
        """The cells that agree to the tolerance: bool (systems, tracks, metrics)."""
        return np.abs(self.change) <= self.tolerance

    @property
    def n(self) -> Int:
        """How many cells are compared: int64 (metrics,)."""
        return np.asarray(self.both.sum(axis=(0, 1)))

    @property
    def n_agreeing(self) -> Int:
        """How many of them agree: int64 (metrics,)."""
        return np.asarray(self.agreeing.sum(axis=(0, 1)))

    @property
    def missing(self) -> tuple[Int, Int]:
        """How many cells only the other side has a score of, for a and for b: int64 (metrics,)."""
        has_a, has_b = (~np.isnan(one) for one in self.scores)
        return (~has_a & has_b).sum(axis=(0, 1)), (has_a & ~has_b).sum(axis=(0, 1))

    @property
    def mean_relative(self) -> Float:
        """Average relative change of the mir_eval paper: float64 (metrics,), NaN where nothing is compared."""
        return _mean(self.relative, self.both)

    @property
    def mean_absolute(self) -> Float:
        """Mean absolute difference: float64 (metrics,), NaN where nothing is compared."""
        return _mean(np.abs(self.change), self.both)

    @property
    def largest(self) -> Float:
        """Largest absolute difference: float64 (metrics,), NaN where nothing is compared."""
        whole = np.where(self.both, np.abs(self.change), 0.0).max(axis=(0, 1), initial=0.0)
        return np.where(self.n > 0, whole, np.nan)

    @property
    def largest_loss(self) -> Float:
        """By how much b is worse than a at most, 0 where it never is: float64 (metrics,), NaN without a comparison."""
        signs = np.array([{"higher": 1.0, "lower": -1.0}.get(one, 0.0) for one in self.orientations])
        with np.errstate(invalid="ignore"):  # infinite changes of metrics without an orientation
            loss = self.change * signs
        whole = np.where(self.both & ~np.isnan(loss), loss, 0.0).max(axis=(0, 1), initial=0.0)
        return np.where(self.n > 0, whole, np.nan)

    def worst(self, most: int) -> list[tuple[int, int, int]]:
        """For each metric the cells that do not agree and differ most, at most so many: (system, track, metric)."""
        found: list[tuple[int, int, int]] = []
        apart = np.where(self.both & ~self.agreeing, np.abs(self.change), 0.0)
        for metric in range(len(self.metrics)):
            flat = apart[..., metric].ravel()
            # Stable, so that of equal differences the first cells come first.
            order = np.argsort(-flat, kind="stable")[:most]
            cells = (divmod(int(at), len(self.tracks)) for at in order[flat[order] > 0])
            found += [(system, track, metric) for system, track in cells]
        return found

    def exceeds(self, most: float | None = None, *, worse: bool = False) -> list[str]:
        """The metrics that do not hold to a largest difference: too far apart, a score on one side only, or no scores.

        Parameters
        ----------
        most : float or None
            In the unit of each metric; None: its tolerance.
        worse : bool
            Only where b is worse than a, or has no score where a has one. Metrics of which neither high nor low values
            are better are never worse.
        """
        alone = (self.missing[1] if worse else self.missing[0] + self.missing[1]) > 0
        limit = self.tolerance if most is None else most
        # Written so that NaN, which is no small difference, counts as too large.
        far = ~((self.largest_loss if worse else self.largest) <= limit) | alone
        if worse:
            far &= np.array([one != "none" for one in self.orientations], dtype=np.bool_)
        return [name for name, one in zip(self.metrics, far.tolist(), strict=True) if one]

    def to_dataset(self) -> xr.Dataset:
        """The difference as labelled arrays; see :func:`mirflow.diff`."""
        import xarray as xr

        cell, metric = ("system", "track", "metric"), ("metric",)
        a, b = self.sides
        missing_a, missing_b = self.missing
        variables = {
            "a": (cell, self.scores[0], {"long_name": f"score in {a.label}"}),
            "b": (cell, self.scores[1], {"long_name": f"score in {b.label}"}),
            "difference": (cell, self.change, {"long_name": "a - b"}),
            "relative_change": (metric, self.mean_relative, {"long_name": "mean of |a - b| / ((|a| + |b|) / 2)"}),
            "mean_difference": (metric, self.mean_absolute, {"long_name": "mean of |a - b|"}),
            "max_difference": (metric, self.largest, {"long_name": "largest |a - b|"}),
            "n": (metric, self.n, {"long_name": "number of cells compared"}),
            "n_agreeing": (metric, self.n_agreeing, {"long_name": "number of cells that agree to the tolerance"}),
            "missing_a": (metric, missing_a, {"long_name": "number of cells that only b has a score of"}),
            "missing_b": (metric, missing_b, {"long_name": "number of cells that only a has a score of"}),
            "setting_a": ("setting", np.array([one.a for one in self.settings], dtype=str)),
            "setting_b": ("setting", np.array([one.b for one in self.settings], dtype=str)),
        }
        coords = {
            "system": np.array(self.systems, dtype=str),
            "track": np.array(self.tracks, dtype=str),
            "metric": np.array(self.metrics, dtype=str),
            "setting": np.array([one.name for one in self.settings], dtype=str),
            "unit": ("metric", np.array(self.units, dtype=str)),
            "tolerance": ("metric", self.tolerance),
        }
        only = {
            f"{what}_only_in_{side}": names
            for what, pair in self.only.items()
            for side, names in zip(_SIDES, pair, strict=True)
        }
        return xr.Dataset(variables, coords, {"a": a.label, "b": b.label, **only})


def compare_sides(
    a: Side,
    b: Side,
    metric: Names = None,
    system: Names = None,
    track: Names = None,
    tolerance: float | None = None,
    pair: Pairs = None,
) -> Difference:
    """Two evaluations side by side; systems and tracks are matched by name, metrics by name and parameters.

    Parameters
    ----------
    a, b : Side
    metric, system, track : str, sequence of str or None
        Only these; None: all that both have.
    tolerance : float or None
        Up to which scores agree; None: half of the last printed digit where a side is a table, at least 1e-9.
    pair : mapping of str to str or None
        Metrics of a and the one of b that each is compared with, whatever their names; then no others are compared
        unless `metric` names some.

    Raises
    ------
    QueryError
        If they have no system, no track or no metric in common, or a name to pair stands for several metrics.
    UnknownNameError
        For a name that one of them does not have, with a suggestion.
    """
    asked = {"system": system, "track": track, "metric": metric}
    chosen = [{dim: _chosen(one, dim, asked[dim]) for dim in asked} for one in (a, b)]
    common: dict[str, list[str]] = {}
    only: dict[str, tuple[list[str], list[str]]] = {}
    akin: list[tuple[str, str, str]] = []
    by_hand = [(_single(a, mine), _single(b, other)) for mine, other in (pair or {}).items()]
    for dim in asked:
        mine, others = chosen[0][dim], chosen[1][dim]
        common[dim] = [name for name in mine if name in set(others)]
        only[f"{dim}s"] = ([n for n in mine if n not in set(others)], [n for n in others if n not in set(mine)])
        if dim == "metric":
            akin = [] if by_hand else _akin(a, b, only["metrics"])
        if not common[dim] and not (dim == "metric" and by_hand):
            raise QueryError(
                f"{a.label} and {b.label} have no {dim} in common: {_few(mine)}; {_few(others)}{_hint(akin)}"
            )
    same = [] if by_hand and metric is None else [(name, name) for name in common["metric"]]
    pairs = list(dict.fromkeys([*by_hand, *same]))
    cells = (common["system"], common["track"])
    scores = (_scores(a, *cells, [one for one, _ in pairs]), _scores(b, *cells, [other for _, other in pairs]))
    places = [a.board.metrics.index(one) for one, _ in pairs]
    units, ways = ([a.board.texts(name)[place] for place in places] for name in ("unit", "orientation"))
    limits = np.array([_tolerance(a, b, one, tolerance) for one in pairs])
    for place, own in enumerate(zip(*by_hand, strict=True)):
        only["metrics"][place][:] = [name for name in only["metrics"][place] if name not in own]
    labels = [label_of(one) for one in pairs]
    said = differing_settings(a, b, pairs), differing_inputs(a, b, *cells)
    return Difference((a, b), *cells, labels, units, ways, scores, limits, only, *said, akin)


def _single(side: Side, name: str) -> str:
    """The only metric that a name stands for."""
    return side.board.metrics[find_single(side.board, name)]


def _akin(a: Side, b: Side, only: tuple[list[str], list[str]]) -> list[tuple[str, str, str]]:
    """Metrics of the same name but for their parameters, of which each side has one that the other has not."""
    found = []
    for mine in only[0]:
        others = [other for other in only[1] if bare_name(other) == bare_name(mine)]
        found += [(mine, other, said) for other in others if (said := _parameters_apart(a, b, (mine, other)))]
    return found


def _parameters_apart(a: Side, b: Side, pair: tuple[str, str]) -> str:
    """What differs in the parameters of two metrics: ``matching (optimal, greedy)``."""
    found = [one for one in of_metrics(a, b, [pair]) if not one.name.startswith(("version of ", "unit of "))]
    told = (f"{one.name.partition(' of ')[0]} ({one.a or 'not said'}, {one.b or 'not said'})" for one in found)
    return ", ".join(told)


def _hint(akin: Sequence[tuple[str, str, str]]) -> str:
    """Which metrics could be paired by hand."""
    if not akin:
        return ""
    mine, other, said = akin[0]
    return f". {mine} and {other} differ in {said}: to compare them all the same, pair them (--pair '{mine}={other}')"


def _chosen(side: Side, dim: str, names: Names) -> list[str]:
    """The names of a side that are asked for."""
    places = find_metrics(side.board, names) if dim == "metric" else find_labels(side.board, dim, names)
    return [side.board.names(dim)[place] for place in places]


def _scores(side: Side, *names: Sequence[str]) -> Float:
    """The scores of some systems, tracks and metrics; NaN where a cell was not scored."""
    board = side.board
    known = ({name: place for place, name in enumerate(board.names(dim))} for dim in ("system", "track", "metric"))
    systems, tracks, metrics = ([place[name] for name in own] for own, place in zip(names, known, strict=True))
    score, _, status, _ = board.load(systems)
    scored = np.isin(status, [int(one) for one in SCORED])
    return np.where(scored[:, tracks, np.newaxis], score[:, tracks][..., metrics], np.nan)


def _tolerance(a: Side, b: Side, pair: tuple[str, str], tolerance: float | None) -> float:
    if tolerance is not None:
        return tolerance
    step = max(a.printed_step.get(pair[0], 0.0), b.printed_step.get(pair[1], 0.0))
    # A score halfway between two printed ones is a little farther from either than half a step: binary fractions.
    return max(step / 2 * (1 + 1e-6), LEAST_TOLERANCE)


def _mean(values: Float, included: Bool) -> Float:
    count = included.sum(axis=(0, 1))
    total = np.where(included, values, 0.0).sum(axis=(0, 1))
    mean: Float = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    return mean


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
