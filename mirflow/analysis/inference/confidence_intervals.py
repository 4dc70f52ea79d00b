"""Confidence intervals by bootstrap, for every aggregate: units are drawn again, with what they contribute."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...metrics.aggregates import AGGREGATES
from ...ragged import Float, Int
from ..aggregation import Answer, answer_of
from ..scores import Grouping
from ..selection import Question, as_names
from .resampling import OrderedScores, Ratios, Resampling, Seed, Statistics, accelerations, bounds
from .sample import TRACK, Sample, columns_by_pattern, sample_of, select_numbers

if TYPE_CHECKING:
    import xarray as xr


def intervals(
    ds: xr.Dataset,
    question: Question | None = None,
    *,
    level: float = 0.95,
    method: str = "bca",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> Answer:
    """Figures over the tracks with confidence intervals.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question or None
        As for :func:`mirflow.analysis.aggregation.ask`.
    level : float
        The share of such intervals that hold the true figure.
    method : {"bca", "percentile"}
        Bias-corrected and accelerated (Efron 1987), or plain quantiles of the replicates.
    replicates : int
        How often the collection is drawn again.
    unit : str
        What is drawn: ``track``, or a coordinate along the tracks; then the figure is the mean (or the median, where
        that is the aggregate) of the figures of its values, each counted once.
    cluster : str or None
        A coordinate along the tracks (artist, album) whose tracks are drawn together; the figure is the same. Where
        several annotators of a track are in one figure they are drawn together, as if it were ``track``.
    rng : int or numpy.random.Generator
        The seed; the same one gives the same intervals.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    Answer
        With ``low`` and ``high``: NaN where there are fewer units (clusters) than
        :func:`mirflow.analysis.inference.resampling.least_units` (6 at 95 %), or a score in a mean is infinite.
        Each figure is resampled over its own tracks, so that an interval does not depend on what else was asked, the
        policy `common` aside.

    Raises
    ------
    QueryError
        For a level or a number of replicates that is none, a metric with extra dims, and as a plain question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    how = Resampling.of(level, method, replicates, rng)
    part = select_numbers(ds, question)
    answer = answer_of(part, question.by, group)
    grouping = Grouping.of(part, as_names(question.by) or [])
    value = answer.value.copy()
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    for place, members in grouping.members().items():
        whole = len(members) == part.sizes["track"]
        sample = sample_of(part, unit, cluster, None if whole else members)
        if cluster is None and sample.repeats:
            cluster = TRACK
        if unit != TRACK:
            value[..., place] = sample.values()
        low[..., place], high[..., place] = interval_of(sample, value[..., place], how)
    attrs = {**answer.attrs, **how.attrs(), "unit": unit, "cluster": cluster or ""}
    return replace(answer, value=value, low=low, high=high, attrs=attrs)


def interval_of(sample: Sample, value: Float, how: Resampling) -> tuple[Float, Float]:
    """The intervals of all figures of a sample.

    Parameters
    ----------
    sample : Sample
    value : float64 (systems, metrics)
    how : Resampling

    Returns
    -------
    low, high : float64 (systems, metrics)
    """
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    systems, metrics = value.shape
    forms = [kind if AGGREGATES[kind].statistic else "" for kind in sample.kinds]
    for form in sorted(set(forms)):
        chosen = [metric for metric in range(metrics) if forms[metric] == form]
        columns = [(system, metric) for metric in chosen for system in range(systems)]
        if not columns:
            continue
        included = np.array([sample.included[system, :, metric] for system, metric in columns])
        for units, places in columns_by_pattern(included):
            own = sample.take(np.flatnonzero(units))
            inside = [columns[place] for place in places]
            figures = figures_of(own, inside)
            if figures.clusters >= how.least:
                at = tuple(np.array(inside).T)
                low[at], high[at] = bounds(
                    draw(figures, len(inside), how), value[at], accelerations(figures.left_out()), how
                )
    return low, high


def figures_of(sample: Sample, columns: list[tuple[int, int]]) -> Statistics:
    """Some (system, metric) of a sample, all ratios or all of one statistic, in the form that can be computed again."""
    statistic = AGGREGATES[sample.kinds[columns[0][1]]].statistic
    return OrderedScores.of(sample, columns) if statistic else Ratios.of(sample, columns)


def draw(figures: Statistics, number: int, how: Resampling) -> Float:
    """The replicates of some figures: float64 (figures, replicates)."""
    found = np.empty((number, how.replicates))
    start = 0
    for counts in how.counts(figures.clusters):
        found[:, start : start + len(counts)] = figures.again(counts)
        start += len(counts)
    return found


def difference_bounds(
    value: Float, replicates: Float | None, left_out: Float | None, pairs: Int, how: Resampling
) -> dict[str, Float]:
    """Differences of a figure of every two systems, with their intervals.

    Parameters
    ----------
    value : float64 (systems,)
    replicates : float64 (systems, replicates) or None
        None: too few units for intervals.
    left_out : float64 (clusters, systems) or None
    pairs : int64 (pairs, 2)
    how : Resampling

    Returns
    -------
    dict of str to float64 (pairs,)
        ``difference``, ``low`` and ``high``.
    """
    with np.errstate(invalid="ignore"):  # of two infinite values, NaN says that they have no difference
        difference = value[pairs[:, 0]] - value[pairs[:, 1]]
    low, high = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    if replicates is not None and left_out is not None:
        # The pairs of one system at a time: replicates of all of them may not fit the memory.
        for first in np.unique(pairs[:, 0]).tolist():
            rows = np.flatnonzero(pairs[:, 0] == first)
            second = pairs[rows, 1]
            with np.errstate(invalid="ignore"):
                again = replicates[[first]] - replicates[second]
                acceleration = accelerations(left_out[:, [first]] - left_out[:, second])
            low[rows], high[rows] = bounds(again, difference[rows], acceleration, how)
    return {"difference": difference, "low": low, "high": high}
