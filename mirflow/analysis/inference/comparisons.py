"""Every two systems compared on the units that both have: difference, interval, test, effect sizes, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...ragged import Bool, Float, Int
from ..aggregate import VALUELESS, origin_of
from ..part import Part
from ..question import Question
from ..reduction import reduce
from ..scoreboard import Array, Scoreboard
from .bootstrap import draw, figures_of
from .corrections import correct
from .effects import effects
from .groups import letters, significance_groups
from .layout import dataset_of
from .paired import choose_tests, p_values
from .resampling import Resampling, Seed, accelerations, bounds
from .sample import TRACK, Sample, columns_by_pattern, sample_of, select_numbers

if TYPE_CHECKING:
    import xarray as xr

_SIGNED = ("difference", "dz", "rank_biserial", "cliffs_delta")
_FLOATS = ("difference", "low", "high", "p", "p_adjusted", "superiority", *_SIGNED[1:])
_COUNTS = ("n", "wins", "ties")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "letters": "systems that share a letter do not differ",
    "difference": "figure of system minus figure of other, on the units of both",
    "low": "lower end of the confidence interval of the difference",
    "high": "upper end of the confidence interval of the difference",
    "p": "p-value",
    "p_adjusted": "p-value, corrected for all pairs of a metric",
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
    attrs : mapping of str to str
    """

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    tests: list[str]
    system_coords: Mapping[str, Array]
    metric_coords: Mapping[str, Array]
    value: Float
    arrays: Mapping[str, Array]
    attrs: Mapping[str, str]

    @property
    def significant(self) -> Bool:
        """Whether the corrected p-values are below 1 - level: bool (systems, systems, metrics)."""
        return np.asarray(self.arrays["p_adjusted"] < 1 - float(self.attrs["level"]))

    @property
    def orientations(self) -> list[str]:
        """Which way is better, for each metric."""
        return [str(one) for one in self.metric_coords["orientation"].tolist()]

    def ranked(self, metric: int) -> list[int]:
        """The systems from the best to the worst; those without a figure last."""
        sign = 1.0 if self.orientations[metric] == "lower" else -1.0
        return [int(place) for place in np.argsort(sign * self.value[:, metric], kind="stable")]

    def groups(self, metric: int) -> list[list[int]]:
        """Sets of systems that do not differ, the best system's first; without systems that have no figure."""
        ranked = [place for place in self.ranked(metric) if not np.isnan(self.value[place, metric])]
        return significance_groups(self.significant[..., metric], ranked)

    @property
    def letters(self) -> Array:
        """The significance groups of each system as letters, none without a figure: str (systems, metrics)."""
        columns = [letters(self.groups(metric), len(self.systems)) for metric in range(len(self.metrics))]
        return np.array(columns, dtype=str).reshape(len(columns), len(self.systems)).T

    def to_dataset(self) -> xr.Dataset:
        """The comparison over (system, other, metric); ``value`` and ``letters`` over (system, metric)."""
        pairs = {**self.arrays, "significant": self.significant}
        systems: dict[str, Array] = {"value": self.value, "letters": self.letters}
        variables: dict[str, tuple[tuple[str, ...], Array]]
        variables = {name: (("system", "other", "metric"), array) for name, array in pairs.items()}
        variables |= {name: (("system", "metric"), array) for name, array in systems.items()}
        along = {"aggregate": self.aggregates, "test": self.tests}
        return dataset_of(self, variables, along, LONG_NAMES)


def compare(
    board: Scoreboard,
    question: Question | None = None,
    *,
    test: str = "auto",
    correction: str = "holm",
    level: float = 0.95,
    method: str = "bca",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
    sizes: bool = True,
) -> Comparison:
    """Compare every two systems by their figures.

    Parameters
    ----------
    board : Scoreboard
    question : Question or None
        As for :func:`mirflow.analysis.aggregate.ask`, without groups of tracks. Each name stands for one metric: where
        several parameters are stored, for the default ones.
    test : {"auto", "permutation", "wilcoxon", "t"}
        ``permutation`` swaps what two systems have on a unit (score times weight, and weight), and looks at the
        difference of the figures; for a mean that is the sign-flip test. All swaps are tried where they are no more
        than twice the replicates, otherwise random ones. Wilcoxon's signed ranks and Student's t compare the
        units' scores, each counted once, and are refused for weighted figures. ``auto`` is ``permutation``.
    correction : {"holm", "bh", "none"}
        Over all pairs of systems, for each metric.
    level : float
        Of the intervals, and of significance.
    method, replicates, unit, cluster, rng, group
        As for :func:`mirflow.analysis.inference.bootstrap.intervals`. The interval of a difference is that of paired
        units.
    sizes : bool
        Whether intervals and effect sizes are wanted; who differs from whom is known without them, in half the time.

    Returns
    -------
    Comparison
        Without sizes, intervals and effect sizes are NaN and all counts but ``n`` 0.

    Raises
    ------
    QueryError
        For fewer than two systems, a test that does not fit the figure, and as for intervals.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    how = Resampling.of(level, method, replicates, rng)
    part = comparable(board, question)
    sample = sample_of(part, unit, cluster)
    if cluster is None and sample.repeats:
        cluster = TRACK
    tests = choose_tests(test, sample.kinds, part.metric_names, cluster)
    correct(np.zeros(0), correction)
    shape = (len(part.systems), len(part.systems), len(part.metrics))
    arrays: dict[str, Array] = {name: np.full(shape, np.nan) for name in _FLOATS}
    arrays |= {name: np.zeros(shape, dtype=np.int64) for name in _COUNTS}
    lower = [orientation == "lower" for orientation in part.texts("orientation")]
    for metric, name in enumerate(tests):
        for pairs, units in _pairs_by_units(sample.included[..., metric]):
            own = sample.take(units)
            found = {"p": p_values(name, own, metric, pairs, how), "n": np.full(len(pairs), len(units), dtype=np.int64)}
            if sizes:
                found |= _compare_pairs(own, metric, pairs, how)
                found |= _sizes(own.score[..., metric], pairs, lower[metric])
            _fill(arrays, metric, pairs, found)
        _correct(arrays, metric, correction)
    attrs = {**origin_of(part.board, group), **how.attrs(), "correction": correction}
    attrs |= {"test": test, "unit_of_comparison": unit, "cluster": cluster or ""}
    attrs |= {"missing": part.missing, "undefined": part.undefined, "left_out": " ".join(part.left_out)}
    if part.valueless:
        attrs[VALUELESS] = part.valueless
    along = [
        {name: values[places] for name, values in part.board.coords[dim].items()}
        for dim, places in (("system", part.systems), ("metric", part.metrics))
    ]
    named = (part.system_names, part.metric_names, part.kinds, tests)
    return Comparison(*named, along[0], along[1], sample.values(), arrays, attrs)


def comparable(board: Scoreboard, question: Question) -> Part:
    """What a question selects, if systems can be compared on it.

    Raises
    ------
    QueryError
        For fewer than two systems, for groups of tracks, and as a plain question.
    """
    if question.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")
    part = select_numbers(board, question, single=True)
    if len(part.systems) < 2:
        raise QueryError(f"{len(part.systems)} system to compare; at least two are needed")
    return part


def _pairs_by_units(included: Bool) -> Iterator[tuple[Int, Int]]:
    """Pairs of systems, (pairs, 2), with the units that both have, for each different set of units."""
    every = np.array(list(combinations(range(len(included)), 2)), dtype=np.int64)
    if (included == included[0]).all():
        yield every, np.flatnonzero(included[0])
        return
    for units, places in columns_by_pattern(included[every[:, 0]] & included[every[:, 1]]):
        yield every[places], np.flatnonzero(units)


def _compare_pairs(sample: Sample, metric: int, pairs: Int, how: Resampling) -> dict[str, Array]:
    """Differences of the figures of pairs that have all units of a sample, with intervals."""
    one = slice(metric, metric + 1)
    every = np.ones((*sample.score.shape[:2], 1), dtype=bool)
    score = sample.score[..., one]
    scores = (np.where(np.isnan(score), 0.0, score), sample.weight[..., one], sample.duration, sample.kinds[metric])
    value = reduce(*scores, every)[:, 0]
    with np.errstate(invalid="ignore"):  # of two infinite figures, NaN says that they have no difference
        difference = value[pairs[:, 0]] - value[pairs[:, 1]]
    low, high = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    systems = np.unique(pairs)
    if len(sample.duration):
        figures = figures_of(sample, [(system, metric) for system in systems.tolist()])
        if figures.clusters > 1:
            replicates, left_out = draw(figures, len(systems), how), figures.left_out()
            place = np.searchsorted(systems, pairs)
            # The pairs of one system at a time: replicates of all of them may not fit the memory.
            for first in np.unique(place[:, 0]).tolist():
                rows = np.flatnonzero(place[:, 0] == first)
                second = place[rows, 1]
                with np.errstate(invalid="ignore"):
                    again = replicates[[first]] - replicates[second]
                    acceleration = accelerations(left_out[:, [first]] - left_out[:, second])
                low[rows], high[rows] = bounds(again, difference[rows], acceleration, how)
    return {"difference": difference, "low": low, "high": high}


def _sizes(score: Float, pairs: Int, lower: bool) -> dict[str, Array]:
    found = effects(score, pairs, lower_is_better=lower)
    counts = {"wins": found.wins, "losses": found.losses, "ties": found.ties}
    named = {name: getattr(found, name) for name in ("superiority", "dz", "rank_biserial", "cliffs_delta")}
    return counts | named


def _fill(arrays: Mapping[str, Array], metric: int, pairs: Int, found: Mapping[str, Array]) -> None:
    """Write what was found for pairs into both halves: a system against another, and the other way round."""
    first, second = pairs.T
    turned = {name: -values for name, values in found.items() if name in _SIGNED}
    turned |= {name: values for name, values in found.items() if name in ("p", "n", "ties")}
    if "low" in found:
        turned |= {"low": -found["high"], "high": -found["low"]}
        turned |= {"wins": found["losses"], "superiority": 1 - found["superiority"]}
    for name, values in turned.items():
        arrays[name][first, second, metric] = found[name]
        arrays[name][second, first, metric] = values


def _correct(arrays: Mapping[str, Array], metric: int, correction: str) -> None:
    upper = np.triu_indices(len(arrays["p"]), 1)
    corrected = correct(arrays["p"][..., metric][upper], correction)
    arrays["p_adjusted"][upper[0], upper[1], metric] = corrected
    arrays["p_adjusted"][upper[1], upper[0], metric] = corrected
