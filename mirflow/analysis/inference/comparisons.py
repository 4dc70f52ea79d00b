"""Comparisons of every two systems on their common units, and marks beside those that do not differ from the best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...errors import QueryError, counted
from ...ragged import Bool, Float, Int
from ..aggregation import EVERY, POLICIES, UNTESTED, Answer, origin_of, reduce, show_span
from ..per_class import ExtraAnswer, rated_kind
from ..scores import Array, coords_of, names_of, texts_of
from ..selection import Question
from .class_statistics import ComparisonOptions, compare_rates
from .confidence_intervals import difference_bounds, draw, figures_of
from .paired import (
    Compared,
    Comparison,
    choose_correction,
    choose_tests,
    correct_pairs,
    effects,
    empty_arrays,
    fill_pairs,
    least_of,
    p_values,
    pairs_by_units,
    swap_pairs,
    swap_scores,
)
from .resampling import Resampling, Seed
from .sample import TRACK, Sample, sample_of, select_numbers

if TYPE_CHECKING:
    import xarray as xr


def compare(
    ds: xr.Dataset,
    question: Question | None = None,
    *,
    test: str = "auto",
    correction: str = "auto",
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
    ds : xr.Dataset
    question : Question or None
        As for :func:`mirflow.analysis.aggregation.ask`, without groups of tracks. Each name stands for one metric:
        where several parameters are stored, for the default ones.
    test : {"auto", "permutation", "wilcoxon", "t"}
        ``permutation`` swaps what two systems have on a unit (score times weight, and weight), and looks at the
        difference of the figures; for a mean that is the sign-flip test. All swaps are tried where they are no more
        than twice the replicates, otherwise random ones. Wilcoxon's signed ranks and Student's t compare the
        units' scores, each counted once, and are refused for weighted figures. ``auto`` is ``permutation``.
    correction : {"auto", "max-t", "holm", "bh", "none"}
        Over all pairs of systems, for each metric. ``max-t`` swaps the same units in all pairs at once, and asks how
        often the largest difference of all is as large (Westfall and Young's step-down); it needs ``permutation``,
        whose ``auto`` it is. Of the other tests ``auto`` is ``holm``.
    level : float
        Of the intervals, and of significance.
    method, replicates, unit, cluster, rng, group
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`. The interval of a difference is that
        of paired units.
    sizes : bool
        Whether intervals and effect sizes are wanted; who differs from whom is known without them, in half the time.

    Returns
    -------
    Comparison
        Figures of classes and tags (``recall``, ...) are metrics of their own, and have neither wins nor effect sizes.
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
    if rated_kind(ds, question) is not None:
        choice = ComparisonOptions(test, correction, unit, cluster, sizes)
        return compare_rates(ds, question, how, choice, group)
    part = comparable(ds, question)
    sample = sample_of(part, unit, cluster)
    if cluster is None and sample.repeats:
        cluster = TRACK
    systems, metrics = names_of(part, "system"), names_of(part, "metric")
    tests = choose_tests(test, sample.kinds, metrics, cluster)
    correction = choose_correction(correction, tests)
    arrays = empty_arrays(len(systems), len(metrics))
    least = np.ones(len(metrics))
    lower = [orientation == "lower" for orientation in texts_of(part, "orientation")]
    for metric, name in enumerate(tests):
        patterns = [(pairs, units, sample.take(units)) for pairs, units in pairs_by_units(sample.included[..., metric])]
        for pairs, units, own in patterns:
            found: dict[str, Array] = {"n": np.full(len(pairs), len(units), dtype=np.int64)}
            if sizes:
                found |= _compare_pairs(own, metric, pairs, how)
                found |= _sizes(own.score[..., metric], pairs, lower[metric])
            fill_pairs(arrays, metric, pairs, found)
        parts = [Compared(pairs, np.unique(sample.cluster[units])) for pairs, units, _ in patterns]
        if name == "permutation":
            some = [place for place, (_, units, _) in enumerate(patterns) if len(units)]
            swaps = [swap_scores(patterns[place][2], metric, patterns[place][0]) for place in some]
            swap_pairs(arrays, [metric], [parts[place] for place in some], swaps, correction, how)
        else:
            for pairs, _, own in patterns:
                fill_pairs(arrays, metric, pairs, {"p": p_values(name, own, metric, pairs, how)})
            correct_pairs(arrays, metric, correction)
        least[metric] = least_of(name, correction, parts, how)
    attrs = {**origin_of(part, group, systems), **how.attrs(), "correction": correction}
    attrs |= {"test": test, "unit_of_comparison": unit, "cluster": cluster or ""}
    attrs |= {name: part.attrs[name] for name in POLICIES if name in part.attrs}
    along = coords_of(part, "metric")
    named = (systems, metrics, along.pop("aggregate").tolist(), tests)
    return Comparison(*named, coords_of(part, "system"), along, sample.values(), arrays, least, attrs)


def comparable(ds: xr.Dataset, question: Question) -> xr.Dataset:
    """What a question selects, if systems can be compared on it.

    Raises
    ------
    QueryError
        For fewer than two systems, for groups of tracks, and as a plain question.
    """
    if question.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")
    part = select_numbers(ds, question, single=True)
    if part.sizes["system"] < 2:
        raise QueryError(f"{counted(part.sizes['system'], 'system')} to compare; at least two are needed")
    return part


def _compare_pairs(sample: Sample, metric: int, pairs: Int, how: Resampling) -> dict[str, Array]:
    """Differences of the figures of pairs that have all units of a sample, with intervals."""
    one = slice(metric, metric + 1)
    every = np.ones((*sample.score.shape[:2], 1), dtype=bool)
    score = sample.score[..., one]
    scores = (np.where(np.isnan(score), 0.0, score), sample.weight[..., one], sample.duration, sample.kinds[metric])
    value = reduce(*scores, every)[:, 0]
    systems = np.unique(pairs)
    place = np.searchsorted(systems, pairs)
    if not len(sample.duration):
        return difference_bounds(value[systems], None, None, place, how)
    figures = figures_of(sample, [(system, metric) for system in systems.tolist()])
    if figures.clusters < how.least:
        return difference_bounds(value[systems], None, None, place, how)
    return difference_bounds(value[systems], draw(figures, len(systems), how), figures.left_out(), place, how)


def _sizes(score: Float, pairs: Int, lower: bool) -> dict[str, Array]:
    found = effects(score, pairs, lower_is_better=lower)
    counts = {"wins": found.wins, "losses": found.losses, "ties": found.ties}
    named = {name: getattr(found, name) for name in ("superiority", "dz", "rank_biserial", "cliffs_delta")}
    return counts | named


Marked = TypeVar("Marked", bound=Answer | ExtraAnswer)


def mark_best(
    ds: xr.Dataset,
    question: Question,
    answer: Marked,
    *,
    level: float = 0.95,
    correction: str = "auto",
    cluster: str | None = None,
) -> Marked:
    """An answer that says which systems do not differ significantly from the best one, itself among them.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question
        What was answered.
    answer : Answer or ExtraAnswer
        Of figures of classes or tags each one has a best system of its own.
    level, correction, cluster
        As for :func:`mirflow.analysis.inference.comparisons.compare`.

    Raises
    ------
    QueryError
        If tracks are grouped, or systems cannot be compared by such figures.
    """
    if answer.groupings:
        raise QueryError("significance is that of values over all tracks; ask without groups (by, --by)")
    names = answer.metrics if isinstance(answer, Answer) else answer.metric
    same = replace(question, metric=names, exact=True, system=answer.systems, sort=None)
    found = compare(ds, same, level=level, correction=correction, cluster=cluster, sizes=False)
    few = [name for metric, name in enumerate(found.metrics) if not found.can_tell(metric)]
    attrs = {"test": ", ".join(dict.fromkeys(found.tests)), "correction": found.attrs["correction"]}
    counts = found.arrays["n"][np.triu_indices(len(found.systems), 1)]
    attrs |= {"test_level": f"{level:g}", "tested_units": show_span(counts)}
    if few:
        attrs[UNTESTED] = EVERY if len(few) == len(found.metrics) else "\n".join(few)
    marks = _like_best(found).reshape(answer.value.shape)
    return replace(answer, like_best=marks, attrs={**answer.attrs, **attrs})


def _like_best(found: Comparison) -> Bool:
    """Whether a system is not told apart from the best one, for each figure: bool (systems, metrics)."""
    marks: Bool = np.zeros(found.value.shape, dtype=np.bool_)
    for metric, orientation in enumerate(found.orientations):
        figures = found.value[:, metric]
        if orientation == "none" or np.isnan(figures).all() or not found.can_tell(metric):
            continue
        best = int(np.nanargmin(figures) if orientation == "lower" else np.nanargmax(figures))
        marks[:, metric] = ~found.significant[best, :, metric] & ~np.isnan(figures)
    return marks
