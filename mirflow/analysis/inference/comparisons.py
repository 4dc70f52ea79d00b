"""Comparisons of every two systems on their common units, and marks beside those that do not differ from the best.

Of more than 100 systems the best one is compared with each other one, unless all pairs are asked for. Metrics with one
number per track are compared a block of systems at a time. Values of classes and tags are compared by permutation
tests, which swap what each track adds to their sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, counted
from ...metrics.aggregates import RATIOS
from ...ragged import Bool, Float, Int
from ..aggregation import EVERY, POLICIES, UNTESTED, add_variables, aggregate_in_blocks, origin_of, select_scores
from ..dims import RUN
from ..per_class import rated_kind
from ..queries import across_of, names_across
from ..query_options import AUTO, COMPARED_WITH, DEFAULT_LEVEL, INVERTED, MOST_SYSTEMS, Query, alpha_of
from ..scores import Array, names_of, show_span
from . import paired
from .blocks import SampleBlocks, tiles
from .confidence_intervals import differences_of_values, select_rates
from .interval_ends import Spreads, invert
from .permutation import PooledScores, SwappedBlocks, SwappedRatios, swap_rates, swap_scores
from .repeated_runs import compare_runs, is_about_runs
from .resampling import Rates, Resampling, Seed, add_up, ratio_of
from .sample import TRACK, Sample, check_numbers, codes_of, recount, select_numbers

if TYPE_CHECKING:
    import xarray as xr

Bounds = Callable[[Float, Float], tuple[Float, Float]]
"""The ends of intervals by what bounds them, float64 (pairs,) twice: see :meth:`_Comparison.fill`."""


def compare(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    test: str = "auto",
    correction: str = "auto",
    level: float = DEFAULT_LEVEL,
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
    sizes: bool = True,
    all_pairs: bool = False,
    anytime: int | None = None,
) -> xr.Dataset:
    """Compare every two systems by their aggregates; of more than 100, the best one with each other one.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks. Each name means one metric:
        where several parameters are stored, for the default ones.
    test : {"auto", "permutation", "wilcoxon", "t"}
        ``permutation`` swaps what two systems have on a unit (score times weight, and weight), and looks at the
        difference of the aggregates; for a mean that is the sign-flip test. All swaps are tried where they are no more
        than twice the replicates, otherwise random ones. Wilcoxon's signed ranks and Student's t compare the
        units' scores, each counted once, and are refused for weighted aggregates. ``auto`` is ``permutation``.
    correction : {"auto", "max-t", "holm", "bh", "none"}
        Over all pairs of systems, for each metric. ``max-t`` swaps the same units in all pairs at once, and asks how
        often the largest difference of all is as large (Westfall and Young); it needs ``permutation``, whose ``auto``
        it is. Of the other tests ``auto`` is ``holm``.
    level : float
        Of the intervals, and of significance. An interval holds the differences that the corrected test does not
        exclude (:mod:`mirflow.analysis.inference.interval_ends`), 0 among them just where ``significant`` is false;
        those of ``max-t`` hold the true differences of all pairs together. Wilcoxon's test has none.
    replicates, unit, cluster, rng, group
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`; the replicates are swaps.
    sizes : bool
        Whether intervals and effect sizes are wanted, without which it takes less time.
    all_pairs : bool
        Compare all pairs, however many systems there are. By default, of more than 100 systems, the best one by each
        metric is compared with each other one. As it is known from the scores which one that is, p-values are
        corrected for all pairs all the same (``max-t`` in a single step). Permutation tests of medians and other
        statistics that are no ratios of sums are of all pairs, and so are those of systems that lack different scores
        (``skip``).
    anytime : int or None
        Not None: intervals and p-values hold at every look while tracks are added, and are narrowest at so many units;
        choose these before the first look, at 30 units or more. For means and weighted ratios: intervals are confidence
        sequences (:mod:`mirflow.analysis.inference.interval_ends`), and so is the test, corrected by ``holm``.

    Returns
    -------
    xr.Dataset
        Over (system, other, metric) ``difference``, ``low``, ``high``, ``p``, ``p_corrected``, ``significant``,
        ``superiority``, ``dz``, ``rank_biserial``, ``cliffs_delta``, ``n``, ``wins`` and ``ties``; over (system,
        metric) ``value`` and ``letters``; over (metric) ``least_p_corrected``. Values of classes and tags (``recall``,
        ...) and those along dims, which the attribute ``along`` names, are separate metrics, and have neither wins
        nor effect sizes. Without sizes, intervals and effect sizes are NaN and all counts but ``n`` 0. Where not all
        pairs are compared, the coordinate ``compared_with`` along metric names the best system, what is about other
        pairs is NaN or 0, and there are no letters.

    Raises
    ------
    QueryError
        For fewer than two systems, a test that does not fit the value, and as for intervals.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    query = query or Query()
    how = Resampling.of(level, AUTO, replicates, rng, anytime)
    attrs = {**how.attrs(), "method": INVERTED, "correction": correction, "test": test, "unit_of_comparison": unit}
    if anytime is not None and (is_about_runs(ds, query) or rated_kind(ds, query) is not None):
        raise QueryError("anytime is for metrics with one number per track; leave out across, or reduce dims")
    if is_about_runs(ds, query):
        return compare_runs(ds, query, how, attrs, correction, cluster, group, sizes=sizes)
    kind = rated_kind(ds, query)
    if kind is not None:
        return _compare_rates(ds, query, how, attrs, correction, cluster, group, sizes=sizes)
    blocks, value = compared_blocks(ds, query, unit, cluster)
    return compare_blocks(blocks, value, how, test, correction, cluster, group, sizes=sizes, all_pairs=all_pairs)


def compare_blocks(
    blocks: SampleBlocks,
    value: Float,
    how: Resampling,
    test: str = "auto",
    correction: str = "auto",
    cluster: str | None = None,
    group: str = "",
    *,
    sizes: bool = True,
    all_pairs: bool = False,
) -> xr.Dataset:
    """Compare systems by scores that are already selected; see :func:`compare`, and `compared_blocks` for these."""
    frame, names = blocks.frame, blocks.selection.names("metric")
    how.check_normal(blocks.selection.aggregates, names)
    if cluster is None and blocks.repeats:
        cluster = TRACK
    tests = paired.choose_tests(test, blocks.kinds, names, cluster, how.anytime)
    correction = paired.choose_correction(correction, tests)
    arrays, least = paired.empty_arrays(len(value), len(names)), np.ones(len(names))
    leaders = [""] * len(names)
    for metric, orientation in enumerate(names_of(frame, "orientation")):
        own, lower, test_of = value[:, metric], orientation == "lower", tests[metric]
        # Where a permutation test of all pairs takes no more of systems than their sums under swaps.
        shares = bool(blocks.alike[metric]) and blocks.kinds[metric] in RATIOS
        leader = None
        by_sums = shares or test_of != paired.DEFAULT_TEST
        if not all_pairs and len(own) > MOST_SYSTEMS and not np.isnan(own).all() and by_sums:
            leader = int(np.nanargmin(own) if lower else np.nanargmax(own))
            leaders[metric] = names_of(frame, "system")[leader]
        compared = _Comparison(blocks, metric, test_of, correction, how, lower, shares)
        least[metric] = compared.fill(arrays, leader, sizes=sizes)
    attrs = {**how.attrs(), "correction": correction, "test": test, "unit_of_comparison": blocks.unit}
    attrs |= {"method": INVERTED} if how.anytime is None else {}
    attrs |= {"cluster": cluster or "", **origin_of(frame, group)}
    attrs |= {name: frame.attrs[name] for name in POLICIES if name in frame.attrs}
    along = {"aggregate": names_of(frame, "_aggregate"), "test": tests}
    along |= {COMPARED_WITH: leaders} if any(leaders) else {}
    return paired.comparison_dataset(frame, value, arrays, least, along, attrs)


def compared_blocks(
    ds: xr.Dataset, query: Query, unit: str = TRACK, cluster: str | None = None
) -> tuple[SampleBlocks, Float]:
    """The scores on which systems are compared, and the values of the systems, float64 (systems, metrics)."""
    _check_groups(query)
    check_numbers(ds, query)
    selection = select_scores(ds, query, single=True)
    result, frame, arrays = aggregate_in_blocks(selection)
    _check_systems(frame)
    blocks = SampleBlocks.of(selection, frame, arrays, unit, cluster)
    value = result["value"].values
    return blocks, value if unit == TRACK else blocks.sample(blocks.cells(np.arange(len(value)))).values()


@dataclass
class _Comparison:
    """The comparison of systems by one metric, a block of systems at a time."""

    blocks: SampleBlocks
    metric: int
    test: str
    correction: str
    how: Resampling
    lower: bool
    """Whether low values are better."""
    shares: bool
    """Whether systems are compared by their sums under swaps, on the same units."""

    def fill(self, arrays: dict[str, Array], leader: int | None, *, sizes: bool) -> float:
        """Compare all pairs, or those with the leader; return the smallest corrected p-value that is possible."""
        pairs = paired.every_pair(len(self.blocks.order))
        every = len(pairs)
        if leader is not None:
            pairs = pairs[(pairs == leader).any(axis=1)]
        # Pairs that have other units than others are tested together, and so are statistics that are no ratios of sums.
        most = self.blocks.most(1) if self.shares else len(self.blocks.order)
        blocks = list(tiles(pairs, most))
        self.how = replace(self.how, kept={} if len(blocks) > 1 else None)
        parts: list[paired.Compared] = []
        samples: list[tuple[Sample, Int]] = []
        bounds: list[tuple[Int, Bounds]] = []
        gathered: SwappedBlocks | None = None
        for systems, rows in blocks:
            sample = self.blocks.sample(self.blocks.cells(systems, self.metric), self.metric)
            local = np.searchsorted(systems, pairs[rows])
            for some, units in paired.pairs_by_units(sample.included[..., 0], local):
                own, two = sample.take(units), local[some]
                bounds.append((rows[some], self._fill_pairs(arrays, own, two, pairs[rows[some]], sizes=sizes)))
                parts.append(paired.Compared(pairs[rows[some]], np.unique(sample.cluster[units])))
                if self.test == paired.DEFAULT_TEST and len(units):
                    if len(blocks) > 1:
                        gathered = gathered or SwappedBlocks(own.clusters, self.how)
                        gathered.add(own, 0, systems)
                    else:
                        samples.append((own, two))
        # What bounds intervals: of permutations the largest difference that is not excluded, in standard deviations
        # under swaps, and these; of other tests the level of each pair alone.
        limits = critical, spread = np.full((2, len(pairs)), np.nan)
        if self.test != paired.DEFAULT_TEST:
            critical[:] = paired.correct_pairs(arrays, self.metric, self.correction, pairs, self.how.alpha)
        else:
            tested = [part for part in parts if len(part.clusters)]
            swaps = [swap_scores(own, 0, two) for own, two in samples] if leader is None else []
            leading = None
            if gathered is not None or (leader is not None and tested):
                ratios = SwappedRatios.of(samples[0][0], 0) if gathered is None else gathered.finish()
                tested, swaps = [paired.Compared(pairs, parts[0].clusters)], [ratios.swaps(pairs)]
                leading = None if leader is None else ratios
            found = paired.swap_pairs(arrays, [self.metric], tested, swaps, self.correction, self.how, leading)
            place = {tuple(pair): row for row, pair in enumerate(pairs.tolist())}
            for part, limit in zip(tested, found, strict=True):
                of_part = [place[tuple(pair)] for pair in part.pairs.tolist()]
                critical[of_part], spread[of_part] = (column[:, 0] for column in limit)
        for rows, bound in bounds if sizes else ():
            paired.write_bounds(
                arrays, self.metric, pairs[rows], *bound(*(limit[rows] for limit in limits)), self.how.alpha
            )
        return paired.least_of(self.test, self.correction, parts, every, self.how)

    def _fill_pairs(self, arrays: dict[str, Array], sample: Sample, two: Int, pairs: Int, *, sizes: bool) -> Bounds:
        """Write what is about pairs alone, which are rows `two` of a sample with all units that they have.

        The result gives the intervals of their differences by what bounds them.
        """
        found: dict[str, Array] = {"n": np.full(len(pairs), len(sample.duration), dtype=np.int64)}
        difference = differences_of_values(sample, 0, two)
        if sizes:
            found |= {"difference": difference}
            found |= paired.effects(sample.score[..., 0], two, lower_is_better=self.lower)
        nothing = np.full(len(pairs), np.nan)
        bounds: Bounds = lambda *_: (nothing, nothing)  # noqa: E731
        if self.test != paired.DEFAULT_TEST:
            tested = paired.test_pairs(self.test, sample, two, self.how)
            found["p"] = tested.p
            bounds = lambda level, _: tested.bounds(level[0])  # noqa: E731
        elif sizes and sample.clusters >= self.how.least:
            if sample.kinds[0] in RATIOS:
                spreads = Spreads.of(sample, 0, two)
                bounds = lambda critical, spread: invert(difference, spread, critical, spreads)  # noqa: E731
            else:
                bounds = lambda critical, _: PooledScores(sample, 0, two).bounds(difference, critical)  # noqa: E731
        paired.fill_pairs(arrays, self.metric, pairs, found)
        return bounds


def comparable(ds: xr.Dataset, query: Query) -> xr.Dataset:
    """Select scores on which systems can be compared."""
    _check_groups(query)
    part = select_numbers(ds, query, single=True)
    _check_systems(part)
    return part


def _check_groups(query: Query) -> None:
    if query.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")


def _check_systems(part: xr.Dataset) -> None:
    if part.sizes["system"] < 2:
        raise QueryError(f"{counted(part.sizes['system'], 'system')} to compare; at least two are needed")


def _compare_rates(
    ds: xr.Dataset,
    query: Query,
    how: Resampling,
    attrs: dict[str, str],
    correction: str,
    cluster: str | None,
    group: str,
    *,
    sizes: bool,
) -> xr.Dataset:
    """Compare every two systems by values of classes or tags: what each adds up on a track is swapped.

    Each value is a metric of the result: that of each class or tag, or what is across them.
    """
    _check_groups(query)
    selection, result = select_rates(ds, query, attrs["unit_of_comparison"], group)
    part, kind = selection.ds, selection.kind
    if not selection.adds_up:
        raise QueryError(
            f"aggregate {kind!r}: affinities of two systems have different scales, and cannot be swapped for a test; "
            "rank the systems on each tag instead (friedman with unit tag, --friedman --unit tag)"
        )
    _check_systems(part)
    metric = result.attrs["metric"]
    tests = paired.choose_tests(attrs["test"], [kind], [metric], cluster)
    if tests != [paired.DEFAULT_TEST]:
        raise QueryError(
            f"test {tests[0]!r} needs one number per track, and metric {metric!r} has dims; choose test permutation, "
            "or reduce them (over, --over)"
        )
    correction = paired.choose_correction(correction, tests)
    value = result["value"].values.reshape(part.sizes["system"], -1)
    arrays, columns = paired.empty_arrays(*value.shape), value.shape[1]
    ratio, codes = ratio_of(selection, names_across(query.across)), codes_of(part, TRACK, cluster)
    entries = np.stack([selection.read_all(row) for row in range(len(value))])
    parts, swaps, samples = [], [], []
    every = paired.every_pair(len(value))
    for rows, tracks in paired.pairs_by_units(part["_included"].values, every):
        pairs = every[rows]
        systems = np.unique(pairs)
        counts = np.stack([add_up(entries[row, tracks], recount(codes[tracks])) for row in systems.tolist()])
        rates, places = Rates(counts, ratio), np.searchsorted(systems, pairs)
        parts.append(paired.Compared(pairs, np.unique(codes[tracks])))
        values = np.full((len(systems), columns), np.nan)
        if rates.clusters:
            swaps.append(swap_rates(rates, places))
            samples.append((rates, places))
            values = ratio(counts.sum(axis=1))
        number = np.full(len(pairs), len(tracks), dtype=np.int64)
        for column in range(columns):
            found = {"difference": values[places[:, 0], column] - values[places[:, 1], column]} if sizes else {}
            paired.fill_pairs(arrays, column, pairs, {**found, "n": number})
    tested = [part for part in parts if len(part.clusters)]
    limits = paired.swap_pairs(arrays, range(columns), tested, swaps, correction, how)
    for one, (rates, places), limit in zip(tested, samples, limits, strict=True) if sizes else ():
        if rates.clusters < how.least:
            continue
        left_out = rates.left_out().reshape(rates.clusters, -1, columns)
        for column in range(columns):
            difference = arrays["difference"][one.pairs[:, 0], one.pairs[:, 1], column]
            critical, spread = (each[:, column] for each in limit)
            ends = invert(difference, spread, critical, Spreads.by_jackknife(left_out[..., column], places))
            paired.write_bounds(arrays, column, one.pairs, *ends, how.alpha)
    least = np.full(columns, paired.least_of(tests[0], correction, parts, len(every), how))
    attrs |= {"correction": correction, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: result.attrs[name] for name in ("missing", "over", "across") if name in result.attrs}
    attrs |= {"undefined": query.undefined, "left_out": "", "along": ", ".join(map(str, result["value"].dims[1:]))}
    along = {"aggregate": [kind] * columns, "test": tests * columns}
    return paired.comparison_dataset(_frame_of(part, result), value, arrays, least, along, attrs)


def _frame_of(part: xr.Dataset, result: xr.Dataset) -> xr.Dataset:
    """Systems, and a metric for each value of classes or tags: named with the class or tag that it is about."""
    dims = [str(dim) for dim in result["value"].dims[1:]]
    labels = list(product(*(result[dim].values.tolist() for dim in dims)))
    # Of deviations neither high nor low ones are better.
    spreads = {dim for dim, names in across_of(result.attrs).items() if "std" in names}
    deviates = [
        any(dim in spreads and name == "std" for dim, name in zip(dims, label, strict=True)) for label in labels
    ]
    orientation = ["none" if deviation else result.attrs["orientation"] for deviation in deviates]
    names = [", ".join([result.attrs["metric"], *label]) for label in labels]
    along = {"orientation": ("metric", np.array(orientation)), "unit": ("metric", np.array([""] * len(names)))}
    return part.drop_dims(["track", "metric"]).assign_coords({"metric": np.array(names, dtype=str), **along})


def tells_apart(compared: xr.Dataset) -> Bool:
    """True if a comparison has enough units for a significant difference: bool (metrics,)."""
    enough: Bool = compared["least_p_corrected"].values <= alpha_of(compared.attrs)
    return enough


def like_best(compared: xr.Dataset) -> Bool:
    """Find the systems that do not differ significantly from the best one, itself among them.

    `compared`: of :func:`compare`. Returns bool (systems, metrics): False for all systems where nothing can be told
    apart, or no value is better than another.
    """
    value, significant, tells = compared["value"].values, compared["significant"].values, tells_apart(compared)
    marks: Bool = np.zeros(value.shape, dtype=np.bool_)
    for metric, orientation in enumerate(names_of(compared, "orientation")):
        values = value[:, metric]
        if orientation != "none" and tells[metric] and not np.isnan(values).all():
            best = int(np.nanargmin(values) if orientation == "lower" else np.nanargmax(values))
            marks[:, metric] = ~significant[best, :, metric] & ~np.isnan(values)
    return marks


def gaps_to_best(compared: xr.Dataset, metric: int = 0) -> Float:
    """The ends of the intervals of the differences of all systems to the best one by a metric: float64 (2, systems).

    NaN of the best one itself, where there is none, and where no two systems can be told apart.
    """
    value, orientation = compared["value"].values[:, metric], names_of(compared, "orientation")[metric]
    if orientation == "none" or not tells_apart(compared)[metric] or np.isnan(value).all():
        return np.full((2, len(value)), np.nan)
    best = int(np.nanargmin(value) if orientation == "lower" else np.nanargmax(value))
    return np.stack([compared[end].values[:, best, metric] for end in ("low", "high")])


def mark_best(
    ds: xr.Dataset, query: Query, result: xr.Dataset, *, level: float = DEFAULT_LEVEL, cluster: str | None = None
) -> xr.Dataset:
    """Mark the systems that do not differ significantly from the best one, itself among them.

    `result`: of the query. Each class or tag has its best system.
    """
    if set(result["n_tracks"].dims) - {RUN}:
        raise QueryError("significance is that of values over all tracks; ask without groups (by, --by)")
    names = result.attrs["metric"] if "metric" in result.attrs else names_of(result, "metric")
    systems = query.system if is_about_runs(ds, query) else names_of(result, "system")
    same = replace(query, metric=names, exact=True, system=systems, sort=None)
    compared = compare(ds, same, level=level, cluster=cluster, sizes=False)
    tells, marks = tells_apart(compared), like_best(compared)
    counts = np.concatenate(
        [compared["n"].values[*paired.compared_pairs(compared, at).T, at] for at in range(len(tells))]
    )
    attrs = {"test": ", ".join(dict.fromkeys(names_of(compared, "test"))), "correction": compared.attrs["correction"]}
    attrs |= {"test_level": f"{level:g}", "tested_units": show_span(counts)}
    few = names_of(compared, "metric", np.flatnonzero(~tells))
    if few:
        attrs[UNTESTED] = EVERY if len(few) == len(tells) else "\n".join(few)
    if RUN in result["value"].dims:
        order = [names_of(compared, "system").index(name) for name in names_of(result, "system")]
        marks = np.stack([marks[order] & (name == "mean") for name in names_of(result, RUN)], axis=1)
    return add_variables(result, like_best=marks.reshape(result["value"].shape)).assign_attrs(attrs)
