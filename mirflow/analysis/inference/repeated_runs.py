"""Repeated runs: intervals and tests of models by their runs (seeds), which are drawn again as the tracks are.

Tracks and runs are crossed: every run has a score of every track. The variance of a model's mean over its runs is taken
to be the sum of the variance between tracks and that between runs. Both are drawn again independently (Owen, "The
pigeonhole bootstrap", Annals of Applied Statistics 1, 2007); of `r` runs, `r - 1` are drawn, so that their variance is
not underestimated (Rao and Wu, "Resampling inference with complex survey data", JASA 83, 1988). As runs are few, the
quantiles are moved out by the ratio of Student's quantile to the normal one, with Satterthwaite's degrees of freedom
(Satterthwaite, Biometrics Bulletin 2, 1946; the expanded intervals of Hesterberg, American Statistician 69, 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from ...errors import QueryError, counted
from ...ragged import Float, Int
from ..aggregation import add_variables, origin_of
from ..dims import MODEL, RUN, group_systems, has_runs
from ..queries import evaluate_query, names_across
from ..query_options import INVERTED, Query, as_names
from ..scores import Array, group_tracks, members_of, names_of
from . import paired
from .resampling import Resampling, draw, statistics_of
from .sample import Sample, sample_of, select_numbers

if TYPE_CHECKING:
    import xarray as xr

TEST, METHOD = "runs", "crossed with runs"


def is_about_runs(ds: xr.Dataset, query: Query) -> bool:
    """True if a query is about models by their runs."""
    return RUN in (query.across or {}) and has_runs(ds)


@dataclass(frozen=True)
class RunMeans:
    """The mean of one metric over the runs of each of some models, and how it varies with the units and the runs."""

    value: Float
    """float64 (models,)."""
    replicates: Float
    """Of means over drawn runs on drawn units, which are the same for all models: float64 (models, replicates)."""
    left_out: Float
    """The means without each cluster of units: float64 (clusters, models)."""
    between: Float
    """Variance of each mean with the runs: float64 (models,)."""
    runs: Int
    """int64 (models,)."""

    def spread(self, first: int, second: int | None = None) -> tuple[float, float]:
        """Variance of a mean, or of the difference of two, and its degrees of freedom."""
        rows = [first] if second is None else [first, second]
        left = self.left_out[:, first] - (0.0 if second is None else self.left_out[:, second])
        units = len(left)
        parts = [((units - 1) / units * float(((left - left.mean()) ** 2).sum()), units - 1)]
        parts += [(float(self.between[row]), int(self.runs[row]) - 1) for row in rows]
        total = sum(part for part, _ in parts)
        below = sum(part**2 / free for part, free in parts if free)
        return total, total**2 / below if below else float(units - 1)

    def bounds(self, level: float, first: int) -> tuple[float, float]:
        """The interval of a mean."""
        from scipy.special import ndtri, stdtrit

        value, drawn = self.value[first], self.replicates[first]
        _, free = self.spread(first)
        tail = (1 - level) / 2
        wider = stdtrit(free, 1 - tail) / ndtri(1 - tail)
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return float(value - wider * (value - low)), float(value + wider * (high - value))

    def test(self, first: int, second: int, alpha: float = 1.0) -> tuple[float, float, float]:
        """A t-test with Satterthwaite's degrees of freedom: the chance of so large a difference where there is none,
        and the ends of the differences that are not excluded at `alpha`."""
        from scipy.special import stdtr, stdtrit

        variance, free = self.spread(first, second)
        difference, error = float(self.value[first] - self.value[second]), variance**0.5
        p = float(2 * stdtr(free, -abs(difference) / error)) if variance else float(difference == 0)
        half = float(stdtrit(free, 1 - alpha / 2)) * error
        return p, difference - half, difference + half


def mean_of_runs(sample: Sample, metric: int, runs: Mapping[str, Int], how: Resampling) -> RunMeans | None:
    """Means of one metric over the runs of models, on the units that all runs have; None where these are too few.

    `runs` (mapping of str to int64 arrays): the systems that are runs of each model, at least two. The draws of a model
    depend on its name, and not on the other models.
    """
    every = np.concatenate(list(runs.values()))
    included = sample.included[every, :, metric]
    whole = sample.take(np.flatnonzero(included[0]))
    if not (included == included[0]).all():
        raise QueryError("runs are compared on the tracks that all of them have; choose missing common, or zero")
    columns = [(int(row), metric) for row in every]
    if not len(whole.duration):
        return None
    statistics = statistics_of(whole, columns)
    if statistics.clusters < how.least:
        return None
    value = whole.values()[every, metric]
    drawn, left_out = draw(statistics, len(columns), how), statistics.left_out()
    ends = np.cumsum([len(rows) for rows in runs.values()])
    parts = [np.arange(end - len(rows), end) for rows, end in zip(runs.values(), ends.tolist(), strict=True)]
    replicates = np.empty((len(runs), how.replicates))
    for index, (name, part) in enumerate(zip(runs, parts, strict=True)):
        size = len(part)
        rng = np.random.default_rng([how.seed, crc32(name.encode())])
        weights = rng.multinomial(size - 1, np.full(size, 1 / size), how.replicates) / (size - 1)
        replicates[index] = (drawn[part] * weights.T).sum(axis=0)
    return RunMeans(
        np.array([value[part].mean() for part in parts]),
        replicates,
        np.stack([left_out[:, part].mean(axis=1) for part in parts], axis=1),
        np.array([value[part].var(ddof=1) / len(part) for part in parts]),
        np.array([len(part) for part in parts]),
    )


def intervals_of_runs(
    ds: xr.Dataset, query: Query, how: Resampling, unit: str, cluster: str | None, group: str
) -> xr.Dataset:
    """Means over the runs of each model with intervals over tracks and runs; other reductions have none."""
    plain, names = _plain(query)
    (result,) = evaluate_query(ds, replace(query, across={RUN: names}), group)
    part = select_numbers(ds, plain)
    models, codes = group_systems(part, MODEL)
    order = {name: index for index, name in enumerate(names_of(result, "system"))}
    value = result["value"].values
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    groups = members_of(group_tracks(part, as_names(plain.by) or [])[1])
    for flat, members in groups.items():
        at = tuple(int(index) for index in np.unravel_index(flat, value.shape[2:-1])) if value.ndim > 3 else ()
        sample = sample_of(part, unit, cluster, members if len(members) < part.sizes["track"] else None)
        for place, model in enumerate(models):
            rows = np.flatnonzero(codes == place)
            for metric in range(value.shape[-1]):
                means = mean_of_runs(sample, metric, {model: rows}, how) if len(rows) > 1 else None
                for column, name in enumerate(names):
                    if means is not None and name == "mean":
                        cell = (order[model], column, *at, metric)
                        low[cell], high[cell] = means.bounds(how.level, 0)
    bounded = add_variables(result, low=low, high=high)
    return bounded.assign_attrs({**how.attrs(), "method": METHOD, "unit": unit, "cluster": cluster or ""})


def _plain(query: Query) -> tuple[Query, list[str]]:
    """The query of the runs themselves, and the reductions across them."""
    others = [dim for dim in query.across or {} if dim != RUN]
    if others:
        raise QueryError(f"across {others[0]!r}: beside runs, nothing else can be reduced for intervals and tests")
    return replace(query, across=None, sort=None), names_across(query.across)[RUN]


def compare_runs(
    ds: xr.Dataset,
    query: Query,
    how: Resampling,
    attrs: dict[str, str],
    correction: str,
    cluster: str | None,
    group: str,
    *,
    sizes: bool = True,
) -> xr.Dataset:
    """Compare every two models by the means over their runs, on the tracks that all runs have."""
    plain, _ = _plain(query)
    if query.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")
    if attrs["test"] not in ("auto", TEST):
        raise QueryError(f"test {attrs['test']!r} takes no account of runs; choose test auto, or leave out across")
    part = select_numbers(ds, plain, single=True)
    groups, codes = group_systems(part, MODEL)
    runs = {name: np.flatnonzero(codes == index) for index, name in enumerate(groups)}
    if len(runs) < 2:
        raise QueryError(f"{counted(len(runs), 'model')} to compare; at least two are needed")
    for name in (name for name, rows in runs.items() if len(rows) < 2):
        raise QueryError(f"model {name!r} has one run, which cannot say how much runs differ; name others (system)")
    models = [*runs]
    sample = sample_of(part, attrs["unit_of_comparison"], cluster)
    metrics = names_of(part, "metric")
    correction = paired.choose_correction(correction, [TEST] * len(metrics))
    arrays = paired.empty_arrays(len(models), len(metrics))
    value = np.full((len(models), len(metrics)), np.nan)
    pairs = paired.every_pair(len(models))
    for metric in range(len(metrics)):
        means = mean_of_runs(sample, metric, runs, how)
        if means is None:
            value[:, metric] = [sample.values()[rows, metric].mean() for rows in runs.values()]
            continue
        value[:, metric] = means.value
        found: dict[str, Array] = {"difference": value[pairs[:, 0], metric] - value[pairs[:, 1], metric]}
        found["p"] = np.array([means.test(first, second)[0] for first, second in pairs.tolist()])
        units = np.flatnonzero(sample.included[runs[models[0]][0], :, metric])
        found["n"] = np.full(len(pairs), len(units))
        if sizes:
            score = np.stack([sample.score[rows][:, units, metric].mean(axis=0) for rows in runs.values()])
            found |= paired.effects(score, pairs, lower_is_better=names_of(part, "orientation")[metric] == "lower")
        paired.fill_pairs(arrays, metric, pairs, found)
        level = paired.correct_pairs(arrays, metric, correction, pairs, how.alpha)
        low, high = np.array([means.test(first, second, level)[1:] for first, second in pairs.tolist()]).T
        paired.write_bounds(arrays, metric, pairs, low, high, how.alpha)
    # Models in the place of their runs, without coordinates of single runs.
    names = [name for name in part.coords if part[name].dims == ("system",) and name != "system"]
    frame = part.isel(system=[int(rows[0]) for rows in runs.values()]).drop_vars(names).assign_coords(system=[*runs])
    attrs = {**attrs, "method": INVERTED, "correction": correction, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: part.attrs[name] for name in ("missing", "undefined", "left_out") if name in part.attrs}
    attrs["across"] = f"{RUN}=mean"
    along = {"aggregate": names_of(part, "_aggregate"), "test": [TEST] * len(metrics)}
    return paired.comparison_dataset(frame, value, arrays, np.zeros(len(metrics)), along, attrs)
