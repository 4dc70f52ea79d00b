"""Normal intervals of means and weighted ratios: against statsmodels, and against bootstraps of many units."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
import xarray as xr

import mirflow
from mirflow.analysis.inference import resampling
from mirflow.analysis.query_options import NORMAL_UNITS
from mirflow.errors import QueryError

from .worlds import group_of, random_scores, random_world

ARTISTS = [f"artist {track // 3}" for track in range(60)]


def expected_of(score, weight, cluster=None):
    """Ends by the sandwich estimator of a weighted regression on a constant alone."""
    how = {"cov_type": "HC0"}
    if cluster is not None:
        how = {"cov_type": "cluster", "cov_kwds": {"groups": cluster, "use_correction": False}}
    return sm.WLS(score, np.ones(len(score)), weights=weight).fit(**how).conf_int(0.1)[0].tolist()


def ends_of(found):
    return [found[name].values.ravel().tolist() for name in ("low", "high")]


@pytest.mark.parametrize("cluster", [None, "artist"])
@pytest.mark.parametrize("kind", ["mean", "wcsr"])
def test_intervals_are_those_of_a_sandwich_estimator(kind, cluster):
    ds = random_world(2, 60, track_meta={"artist": ARTISTS})
    codes = np.arange(60) // 3 if cluster else None
    found = ds.mirflow.query(aggregate=kind, method="normal", ci=0.9, cluster=cluster)
    score, weight = ds["score"].values[..., 0], ds["weight"].values[..., 0] ** (kind == "wcsr")
    expected = [expected_of(*own, codes) for own in zip(score, weight, strict=True)]
    np.testing.assert_allclose(np.transpose(ends_of(found)), expected, rtol=1e-12)
    assert {"method": "normal", "replicates": "0"}.items() <= found.attrs.items()


def test_scores_that_do_not_count_add_nothing():
    score, weight = random_scores(2, 40)
    score[0, 5:9], weight[0, 11] = np.nan, 0
    found = group_of(score, weight).mirflow.query(method="normal", missing="skip", ci=0.9)
    known = ~np.isnan(score[0, :, 0])
    expected = expected_of(score[0, known, 0], weight[0, known, 0])
    np.testing.assert_allclose([found["low"].values[0, 0], found["high"].values[0, 0]], expected, rtol=1e-12)


def test_what_has_no_interval_or_none_with_a_width():
    equal = group_of(np.full((1, 7, 1), 0.7), random_scores(1, 7)[1]).mirflow.query(method="normal", ci=0.95)
    assert equal["low"].item() == equal["value"].item() == equal["high"].item()
    infinite = group_of([[[np.inf], *([[0.5]] * 8)]], standard=["mean"]).mirflow.query(method="normal", ci=0.95)
    few = random_world(1, 5).mirflow.query(method="normal", ci=0.95)
    assert np.isnan([infinite["low"], infinite["high"], few["low"], few["high"]]).all()


class TestDefault:
    """Many units are few here: the number from which on intervals are normal is 50."""

    @pytest.fixture(autouse=True)
    def fifty(self, monkeypatch):
        monkeypatch.setattr(resampling, "NORMAL_UNITS", 50)

    def test_of_many_units_is_normal_and_of_few_a_bootstrap(self):
        ds = random_world(2, 90, track_meta={"genre": ["pop"] * 60 + ["rock"] * 30})
        both, many, few = (
            ds.mirflow.query(**words, replicates=80, ci=0.95)
            for words in ({"by": "genre"}, {"where": "genre == 'pop'"}, {"where": "genre == 'rock'"})
        )
        assert [found.attrs["method"] for found in (both, many, few)] == ["normal, bca", "normal", "bca"]
        for end in ("low", "high"):
            np.testing.assert_allclose(both[end].values[..., 0], many[end], rtol=1e-14)
            np.testing.assert_array_equal(both[end].values[..., 1], few[end])

    @pytest.mark.parametrize("words", [{"aggregate": "median"}, {"method": "bca"}, {"cluster": "artist"}])
    def test_medians_few_clusters_and_what_is_asked_for_are_bootstraps(self, words):
        ds = random_world(2, 60, track_meta={"artist": ARTISTS})
        assert ds.mirflow.query(**words, replicates=80, ci=0.95).attrs["method"] == "bca"


def test_other_statistics_have_none():
    message = r"method 'normal' is for means and weighted ratios, not for the median of 'majmin'; choose bca"
    with pytest.raises(QueryError, match=message):
        random_world(2, 9).mirflow.query(aggregate="median", method="normal", ci=0.95)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mean", "wcsr", "wcsr_total"])
def test_of_twenty_thousand_tracks_both_agree_to_three_digits(kind):
    ds = random_world(2, NORMAL_UNITS, seed=1)
    drawn, normal = (ds.mirflow.query(aggregate=kind, method=method, ci=0.95) for method in ("bca", "auto"))
    assert normal.attrs["method"] == "normal"
    np.testing.assert_allclose(ends_of(normal), ends_of(drawn), atol=5e-4 * normal["value"].values.max())
    width = [found["high"].values - found["low"].values for found in (normal, drawn)]
    np.testing.assert_allclose(width[0], width[1], rtol=0.03)  # the width of 10,000 replicates is as uncertain


def compare(ds: xr.Dataset, **words: object) -> xr.Dataset:
    return mirflow.compare(ds, "majmin", **{"anytime": 100, "replicates": 1, **words}).dataset


def test_ends_and_p_values_are_those_of_the_paper() -> None:
    """Waudby-Smith et al. (2024), theorem 2.2, for the mean of the tracks' differences."""
    ds = random_world(2, 80, seed=4)
    found = compare(ds, aggregate="mean", level=0.9)
    difference = np.subtract(*ds.score.values[..., 0])
    mean, n, alpha = difference.mean(), 80, 0.1
    rho = np.sqrt((-2 * np.log(alpha) + np.log(-2 * np.log(alpha) + 1)) / 100)
    bound = np.sqrt(2 * (n * rho**2 + 1) / (n**2 * rho**2) * np.log(np.sqrt(n * rho**2 + 1) / alpha))
    low, high = (found[name].values[0, 1, 0] for name in ("low", "high"))
    assert (low, high) == pytest.approx((mean - difference.std() * bound, mean + difference.std() * bound), abs=1e-12)
    # At a level of 1 - p the interval ends at 0.
    p = found["p"].values[0, 1, 0]
    ratio = (mean / difference.std() * np.sqrt(n)) ** 2
    again = np.sqrt(n * rho**2 + 1) * np.exp(-ratio * n * rho**2 / (2 * (n * rho**2 + 1)))
    assert p == pytest.approx(min(again, 1.0), abs=1e-12)
    assert found.attrs["method"] == "sequence"
    assert found["test"].item() == "sequence"


@pytest.mark.parametrize("kind", ["mean", "wcsr", "wcsr_total"])
def test_a_system_is_significantly_different_where_its_interval_excludes_0(kind: str) -> None:
    for seed in range(6):
        score = np.clip(random_world(2, 60, seed=seed).score.values + np.array([[[0.0]], [[0.02 * seed]]]), 0, 1)
        found = compare(group_of(score, 30.0, duration=np.full(60, 40.0)), aggregate=kind)
        excluded = found["low"].values[0, 1, 0] > 0 or found["high"].values[0, 1, 0] < 0
        assert excluded == found["significant"].values[0, 1, 0]


def test_few_tracks_have_no_interval_and_equal_systems_none_without_width() -> None:
    ds = random_world(2, 29, seed=1)
    found = compare(ds)
    assert np.isnan(found["low"].values).all()
    assert found["p"].values[0, 1, 0] == 1
    score = np.repeat(random_world(1, 40).score.values, 2, axis=0)
    same = compare(group_of(score, 30.0))
    assert [same[name].values[0, 1, 0] for name in ("low", "high", "p")] == [0, 0, 1]
    assert "it takes 30 tracks or more" in mirflow.compare(ds, "majmin", anytime=100).to_text()


def test_gates_hold_at_every_look_and_the_note_says_so() -> None:
    ds = random_world(3, 60, seed=2)
    result = mirflow.compare(ds, "majmin", "mean", baseline="S0", anytime=50, margin=0.2)
    for row, name in enumerate(("S1", "S2")):
        pair = compare(ds, aggregate="mean", anytime=50, system=["S0", name])
        assert result["low"].values[row, 0] == pytest.approx(pair["low"].values[1, 0, 0], abs=1e-12)
    text = " ".join(result.to_text(details=True).split())
    assert "not all of 1,000 hold; narrowest at n = 50" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"test": "t"}, "anytime has tests of its own"),
        ({"aggregate": "median"}, "not for the median"),
        ({"anytime": 0}, "invalid anytime 0"),
        ({"correction": "max-t"}, "max-t"),
    ],
)
def test_what_it_is_not_for_is_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        compare(random_world(2, 40), **words)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["even", "skewed", "right or wrong"])
def test_equal_systems_are_called_different_at_any_of_many_looks_in_few_cases(shape: str) -> None:
    """A look every 15 tracks from 30 to 390; a test at 0.05 at every look is wrong in about a third of the cases."""
    rng, cases, looks = np.random.default_rng(7), 200, range(30, 391, 15)
    if shape == "right or wrong":
        score = (rng.random((2, 390, cases)) < 0.7).astype(float)
    else:
        score = rng.beta(*((4, 2) if shape == "even" else (6, 0.5)), (2, 390, cases))
    ds = group_of(score, metrics=[f"case{case}" for case in range(cases)])
    wrong, often = np.zeros(cases, dtype=bool), np.zeros(cases, dtype=bool)
    for n in looks:
        found = ds.isel(track=slice(n)).mirflow.compare(aggregate="mean", anytime=150)
        wrong |= found["significant"].values[0, 1]
        difference = np.subtract(*score[:, :n])
        often |= np.abs(difference.mean(axis=0)) > 1.96 * difference.std(axis=0) / np.sqrt(n)
    assert wrong.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / cases)
    assert often.mean() > 0.2
