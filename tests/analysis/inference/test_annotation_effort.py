"""Tracks that show a difference by their number of annotators: variance components, and simulated campaigns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import QueryError

from .worlds import group_of

TRACK, ANNOTATOR, RESIDUAL, GAP = 0.1, 0.05, 0.12, 0.03
"""Standard deviations of the difference of two systems, and its mean."""


def differences(tracks: int, annotators: int, rng: np.random.Generator, cases: int = 1) -> np.ndarray:
    """Differences of two systems (tracks, annotators, cases)."""
    by_track, by_annotator = rng.normal(0, TRACK, (tracks, 1, cases)), rng.normal(0, ANNOTATOR, (1, annotators, cases))
    return GAP + by_track + by_annotator + rng.normal(0, RESIDUAL, (tracks, annotators, cases))


def annotated(difference: np.ndarray, weight: Any = 1.0) -> xr.Dataset:
    """An evaluation of two systems with these differences against each annotator; NaN: not annotated."""
    score = np.stack([0.5 + difference, np.where(np.isnan(difference), np.nan, 0.5)])
    ds = group_of(np.nanmean(score, axis=2))
    dims = ("system", "track", "annotator", "metric")
    ds["score_by_annotator"] = (dims, score)
    ds["weight_by_annotator"] = (dims, np.where(np.isnan(score), 0.0, np.broadcast_to(weight, score.shape)))
    return ds.assign_coords(annotator=[f"A{number}" for number in range(score.shape[2])])


def plan(ds: xr.Dataset, **words: Any) -> xr.Dataset:
    return mirflow.plan(ds, **{"metric": "majmin", "aggregate": "mean", "annotations": 3, **words}).dataset


def components(found: xr.Dataset) -> list[float]:
    return [found[f"{name}_variance"].values[0, 1, 0] for name in ("track", "annotator", "residual")]


def test_components_of_a_full_table_are_those_of_the_analysis_of_variance() -> None:
    """Searle, Casella and McCulloch (1992), section 4.3: two crossed factors without repetition."""
    table = differences(40, 4, np.random.default_rng(1))[..., 0]
    n, k, mean = *table.shape, table.mean()
    by_track = k * ((table.mean(axis=1) - mean) ** 2).sum() / (n - 1)
    by_annotator = n * ((table.mean(axis=0) - mean) ** 2).sum() / (k - 1)
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + mean
    residual = (rest**2).sum() / ((n - 1) * (k - 1))
    expected = [(by_track - residual) / k, max((by_annotator - residual) / n, 0.0), residual]
    assert components(plan(annotated(table[..., np.newaxis]))) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_what_one_system_lacks_counts_for_none() -> None:
    ds = annotated(differences(20, 3, np.random.default_rng(5)))
    one, both = ds.copy(deep=True), ds.copy(deep=True)
    one["score_by_annotator"][0, :4, 1] = np.nan
    both["score_by_annotator"][:, :4, 1] = np.nan
    for part in (one, both):
        part["weight_by_annotator"] = part["weight_by_annotator"].where(part["score_by_annotator"].notnull(), 0.0)
    assert components(plan(one)) == components(plan(both))


def test_empty_cells_do_not_bias_the_components() -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(12):
        table = differences(300, 6, rng)
        table[rng.random(table.shape) < 0.4] = np.nan
        table = table[~np.isnan(table).all(axis=(1, 2))]
        found.append(components(plan(annotated(table), replicates=2)))
    assert np.mean(found, axis=0) == pytest.approx([TRACK**2, ANNOTATOR**2, RESIDUAL**2], abs=0.0015)


def test_with_the_present_number_of_annotators_it_is_the_plan_of_the_tracks() -> None:
    table = differences(200, 2, np.random.default_rng(3))
    found = plan(annotated(table), difference=0.02)
    needed = found["needed_with"].sel(annotators=2).values[0, 1, 0]
    assert needed == pytest.approx(found["needed"].values[0, 1, 0], rel=0.05)
    counts = found["needed_with"].values[0, 1, 0]
    assert (np.diff(counts) < 0).all()


def test_weighted_ratios_take_the_weights_of_annotations() -> None:
    rng = np.random.default_rng(4)
    table, weight = differences(300, 3, rng), rng.uniform(20, 40, (1, 300, 1, 1))
    by_mean, by_seconds = (plan(annotated(table, weight), aggregate=kind) for kind in ("mean", "wcsr"))
    assert components(by_seconds)[2] == pytest.approx(components(by_mean)[2], rel=0.15)
    assert components(by_seconds)[2] != components(by_mean)[2]


def test_the_table_and_the_rows_for_programs_name_every_number() -> None:
    result = mirflow.plan(annotated(differences(40, 3, np.random.default_rng(5))), aggregate="mean", annotations=2)
    assert "track, annotator, residual: standard deviations of the difference" in result.to_text()
    rows = result.to_dataframe()
    assert rows["annotators"].tolist() == [1, 2]
    assert rows["needed_with"].tolist() == result.dataset["needed_with"].values[0, 1, 0].tolist()


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (lambda ds: ds, {"annotations": 0}, "invalid annotations 0"),
        (lambda ds: ds, {"aggregate": "median"}, "not for the median"),
        (lambda ds: ds, {"cluster": "track"}, "leave out unit and cluster"),
        (lambda ds: ds.isel(annotator=[0]), {}, "0 tracks have scores against two annotators"),
        (lambda ds: ds.drop_vars(["score_by_annotator", "weight_by_annotator"]), {}, "keeps no scores by annotator"),
    ],
)
def test_what_it_needs_is_said(change: Any, words: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        plan(change(annotated(differences(20, 2, np.random.default_rng(6)))), **words)


@pytest.mark.slow
@pytest.mark.parametrize("annotators", [1, 2, 4])
def test_planned_campaigns_find_the_difference_as_often_as_planned(annotators: int) -> None:
    """Each pilot has 400 tracks and four annotators; campaigns have other annotators on each track."""
    rng = np.random.default_rng(8)
    pilots = [annotated(differences(400, 4, rng)) for _ in range(25)]
    plans = [plan(one, difference=GAP, annotations=4, replicates=2000) for one in pilots]
    needed = np.mean([one["needed_with"].sel(annotators=annotators).values[0, 1, 0] for one in plans])
    variance = TRACK**2 + (ANNOTATOR**2 + RESIDUAL**2) / annotators
    # The numbers of the normal quantiles of 0.975 and 0.8.
    assert needed == pytest.approx((1.959964 + 0.841621) ** 2 * variance / GAP**2, rel=0.1)
    tracks, cases = round(needed), 200
    own = rng.normal(0, np.sqrt(ANNOTATOR**2 + RESIDUAL**2), (tracks, annotators, cases)).mean(axis=1)
    found = GAP + rng.normal(0, TRACK, (tracks, cases)) + own
    metrics = [f"case{case}" for case in range(cases)]
    ds = group_of(np.stack([0.5 + found, np.full(found.shape, 0.5)]), metrics=metrics)
    significant = ds.mirflow.compare(metrics, "mean", replicates=2000)["significant"].values[0, 1]
    assert significant.mean() == pytest.approx(0.8, rel=0.1)
