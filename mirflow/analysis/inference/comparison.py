"""What every two systems differ by: the results of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ...ragged import Bool, Float, Int
from ..answer import show_span
from ..names import MAX_T, say_test
from ..scoreboard import Array
from .corrections import correct, least_corrected
from .groups import letters, significance_groups
from .layout import dataset_of
from .paired import Swaps, count_extremes, least_p, step_down
from .resampling import Resampling
from .sample import columns_by_pattern

if TYPE_CHECKING:
    import xarray as xr

_SIGNED = ("difference", "dz", "rank_biserial", "cliffs_delta")
_FLOATS = ("difference", "low", "high", "p", "p_adjusted", "superiority", *_SIGNED[1:])
_COUNTS = ("n", "wins", "ties")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "letters": "systems that share a letter are not told apart by the test",
    "difference": "figure of system minus figure of other, on the units of both",
    "low": "lower end of the confidence interval of the difference",
    "high": "upper end of the confidence interval of the difference",
    "p": "p-value",
    "p_adjusted": "p-value, corrected for all pairs of a metric",
    "least_p_adjusted": "smallest corrected p-value that so few units can give",
    "significant": "whether the corrected p-value is below 1 - level",
    "n": "number of units compared",
    "wins": "number of units on which system is better",
    "ties": "number of units on which both are equal",
    "superiority": "share of units on which system is better, equal ones counted half",
    "dz": "mean of the units' differences over their standard deviation",
    "rank_biserial": "matched-pairs rank-biserial correlation",
    "cliffs_delta": "Cliff's delta of the units' scores",
}


@dataclass(frozen=True)
class Comparison:
    """What every two systems differ by.

    Parameters
    ----------
    systems, metrics, aggregates, tests : list of str
        The last two are along the metrics.
    system_coords, metric_coords : mapping of str to array
    value : float64 (systems, metrics)
        The figures, as a query gives them.
    arrays : mapping of str to array (systems, systems, metrics)
        ``difference``, ``low``, ``high``, ``p``, ``p_adjusted``, ``superiority``, ``dz``, ``rank_biserial``,
        ``cliffs_delta`` float64; ``n``, ``wins``, ``ties`` int64: a system (first) against another. NaN or 0 for a
        system against itself.
    least : float64 (metrics,)
        The smallest corrected p-value that the units could give.
    attrs : mapping of str to str
    unitwise : bool
        Whether units were compared one by one too, which gives wins, ties and effect sizes; figures that are read off
        sums over tracks have no score on any.
    """

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    tests: list[str]
    system_coords: Mapping[str, Array]
    metric_coords: Mapping[str, Array]
    value: Float
    arrays: Mapping[str, Array]
    least: Float
    attrs: Mapping[str, str]
    unitwise: bool = True

    @property
    def significant(self) -> Bool:
        """Whether the corrected p-values are below 1 - level: bool (systems, systems, metrics)."""
        return np.asarray(self.arrays["p_adjusted"] < alpha_of(self.attrs))

    @property
    def orientations(self) -> list[str]:
        """Which way is better, for each metric."""
        return [str(one) for one in self.metric_coords["orientation"].tolist()]

    def can_tell(self, metric: int) -> bool:
        """Whether there are units enough for a corrected p-value below 1 - level."""
        return float(self.least[metric]) < alpha_of(self.attrs)

    def n_units(self, metric: int) -> str:
        """How many units were compared: a number, or the fewest and the most of all pairs."""
        return show_span(self.arrays["n"][..., metric][np.triu_indices(len(self.systems), 1)])

    def tested(self, metric: int) -> str:
        """By what systems are told apart: the test, its correction and the number of units."""
        return f"{say_test(self.tests[metric], self.attrs['correction'])}, n = {self.n_units(metric)}"

    def ranked(self, metric: int) -> list[int]:
        """The systems from the best to the worst; those without a figure last."""
        sign = 1.0 if self.orientations[metric] == "lower" else -1.0
        return [int(place) for place in np.argsort(sign * self.value[:, metric], kind="stable")]

    def groups(self, metric: int) -> list[list[int]]:
        """Sets of systems that are not told apart, the best system's first; without systems that have no figure.

        None where there are too few units for any two systems to be told apart.
        """
        if not self.can_tell(metric):
            return []
        ranked = [place for place in self.ranked(metric) if not np.isnan(self.value[place, metric])]
        return significance_groups(self.significant[..., metric], ranked)

    @property
    def letters(self) -> Array:
        """The significance groups of each system as letters: str (systems, metrics).

        None without a figure, and none at all where there are too few units for any two systems to be told apart.
        """
        columns = [letters(self.groups(metric), len(self.systems)) for metric in range(len(self.metrics))]
        return np.array(columns, dtype=str).reshape(len(columns), len(self.systems)).T

    def to_dataset(self) -> xr.Dataset:
        """The comparison over (system, other, metric); ``value`` and ``letters`` over (system, metric)."""
        pairs = {**self.arrays, "significant": self.significant}
        systems: dict[str, Array] = {"value": self.value, "letters": self.letters}
        variables: dict[str, tuple[tuple[str, ...], Array]]
        variables = {name: (("system", "other", "metric"), array) for name, array in pairs.items()}
        variables |= {name: (("system", "metric"), array) for name, array in systems.items()}
        variables["least_p_adjusted"] = (("metric",), self.least)
        along = {"aggregate": self.aggregates, "test": self.tests}
        return dataset_of(self, variables, along, LONG_NAMES)


def empty_arrays(systems: int, metrics: int) -> dict[str, Array]:
    """The arrays of a :class:`Comparison` in which nothing was compared yet."""
    shape = (systems, systems, metrics)
    arrays: dict[str, Array] = {name: np.full(shape, np.nan) for name in _FLOATS}
    return arrays | {name: np.zeros(shape, dtype=np.int64) for name in _COUNTS}


def fill_pairs(arrays: Mapping[str, Array], metric: int, pairs: Int, found: Mapping[str, Array]) -> None:
    """Write what was found for pairs into both halves: a system against another, and the other way round."""
    first, second = pairs.T
    turned = {name: -values for name, values in found.items() if name in _SIGNED}
    turned |= {name: values for name, values in found.items() if name in ("p", "n", "ties")}
    if "low" in found:
        turned |= {"low": -found["high"], "high": -found["low"]}
    if "wins" in found:
        turned |= {"wins": found["losses"], "superiority": 1 - found["superiority"]}
    for name, values in turned.items():
        arrays[name][first, second, metric] = found[name]
        arrays[name][second, first, metric] = values


def correct_pairs(arrays: Mapping[str, Array], metric: int, correction: str) -> None:
    """Write the corrected p-values of one metric, each pair's own ones being known."""
    upper = np.triu_indices(len(arrays["p"]), 1)
    write_corrected(arrays, metric, np.stack(upper, axis=1), correct(arrays["p"][..., metric][upper], correction))


def write_corrected(arrays: Mapping[str, Array], metric: int, pairs: Int, corrected: Float) -> None:
    """Write corrected p-values of pairs into both halves; none is below what it corrects."""
    first, second = pairs.T
    corrected = np.maximum(corrected, arrays["p"][first, second, metric])
    arrays["p_adjusted"][first, second, metric] = corrected
    arrays["p_adjusted"][second, first, metric] = corrected


@dataclass(frozen=True)
class Compared:
    """Pairs of systems, int64 (pairs, 2), and the clusters of the units that all of them have, int64 (clusters,)."""

    pairs: Int
    clusters: Int


def swap_pairs(
    arrays: Mapping[str, Array],
    metrics: Sequence[int],
    parts: Sequence[Compared],
    swaps: Sequence[Swaps],
    correction: str,
    how: Resampling,
) -> None:
    """Write the p-values of permutation tests, and the corrected ones.

    Parameters
    ----------
    arrays : mapping of str to array
        Of a :class:`Comparison`.
    metrics : sequence of int
        What the figures of the swaps are.
    parts : sequence of Compared
    swaps : sequence of Swaps
        Of each part.
    correction : str
    how : Resampling
    """
    spreads = []
    for part, one in zip(parts, swaps, strict=True):
        p, spread = count_extremes(one, how)
        spreads.append(spread)
        for place, metric in enumerate(metrics):
            fill_pairs(arrays, metric, part.pairs, {"p": p[:, place]})
    if correction != MAX_T:
        for metric in metrics:
            correct_pairs(arrays, metric, correction)
    elif parts:
        every = np.unique(np.concatenate([part.clusters for part in parts]))
        own = [np.searchsorted(every, part.clusters) for part in parts]
        corrected = step_down(list(zip(swaps, own, strict=True)), spreads, len(every), how)
        pairs = np.concatenate([part.pairs for part in parts])
        for place, metric in enumerate(metrics):
            write_corrected(arrays, metric, pairs, corrected[:, place])


def least_of(test: str, correction: str, parts: Sequence[Compared], how: Resampling) -> float:
    """The smallest corrected p-value that a test can give of some pairs."""
    least = min(least_p(test, len(part.clusters), how) for part in parts)
    if correction == MAX_T:
        every = np.unique(np.concatenate([part.clusters for part in parts]))
        return max(least, least_p(test, len(every), how))
    return least_corrected(least, sum(len(part.pairs) for part in parts), correction)


def alpha_of(attrs: Mapping[str, str]) -> float:
    """The chance of a false difference that a level leaves: 0.05 of 0.95, without what 1 - 0.95 leaves behind."""
    return round(1 - float(attrs["level"]), 12)


def pairs_by_units(included: Bool) -> Iterator[tuple[Int, Int]]:
    """Pairs of systems, (pairs, 2), with the units that both have, for each different set of units."""
    every = np.array(list(combinations(range(len(included)), 2)), dtype=np.int64)
    if (included == included[0]).all():
        yield every, np.flatnonzero(included[0])
        return
    for units, places in columns_by_pattern(included[every[:, 0]] & included[every[:, 1]]):
        yield every[places], np.flatnonzero(units)
