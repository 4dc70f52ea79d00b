"""Normal intervals of means and weighted ratios: against statsmodels, and against bootstraps of many units."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from mirflow.analysis.inference import resampling
from mirflow.analysis.policies import NORMAL_UNITS
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
