"""Systems reduced on each track: the best, the mean, the worst, and the one that another score chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.errors import QueryError, UnknownNameError

from ..commands import invoke, printed, refused, rows
from ..groups import make_group, random_group, write_store


def values(ds, how: str, **options) -> dict[str, float]:
    found = ds.mirflow.query("majmin", over={"system": how}, **options)["value"]
    return dict(zip(found["system"].values.tolist(), found.values[:, 0].tolist(), strict=True))


@settings(max_examples=20)
@given(st.sampled_from(["higher", "lower"]), st.sampled_from(["mean", "wcsr", "wcsr_tn", "median"]), st.integers(0, 9))
def test_each_track_is_that_of_a_plain_loop(way, aggregate, seed):
    ds = random_group(4, 9, 2, seed=seed, orientation=[way, "lower"])
    score, weight, judge = (ds[name].values[..., place] for name, place in (("score", 0), ("weight", 0), ("score", 1)))
    best, worst = (np.max, np.min) if way == "higher" else (np.min, np.max)
    rules = {
        "best of 4": lambda track: score[:, track].tolist().index(best(score[:, track])),
        "worst of 4": lambda track: score[:, track].tolist().index(worst(score[:, track])),
        "by root": lambda track: judge[:, track].tolist().index(min(judge[:, track])),
    }
    found = values(ds, "best,worst,root,mean", aggregate=aggregate)
    duration, tracks = ds.duration.values, range(9)
    for name, rule in rules.items():
        chosen = [rule(track) for track in tracks]
        picked = np.array([score[row, track] for track, row in enumerate(chosen)])
        own = np.array([weight[row, track] for track, row in enumerate(chosen)])
        expected = {
            "mean": picked.mean(),
            "median": np.median(picked),
            "wcsr": np.average(picked, weights=own),
            "wcsr_tn": np.average(picked, weights=duration),
        }[aggregate]
        assert found[name] == pytest.approx(expected, abs=1e-12)
    if aggregate in ("mean", "wcsr_tn"):
        average = np.average(score.mean(axis=0), weights=None if aggregate == "mean" else duration)
        assert found["mean of 4"] == pytest.approx(average, abs=1e-12)


class TestMissingEstimates:
    """Two tracks have three and two estimates, and one has none."""

    SCORES = np.array([[0.2, 0.9, np.nan], [0.6, np.nan, np.nan], [0.4, 0.1, np.nan]])[..., np.newaxis]
    STATUS = np.where(np.isnan(SCORES[..., 0]), "missing_estimate", "ok")

    def group(self):
        return make_group(self.SCORES, 10.0, status=self.STATUS, standard=["mean"])

    def test_are_left_out_of_their_track(self):
        found = values(self.group(), "worst,mean,best")
        assert found == pytest.approx({"worst of 3": 0.15, "mean of 3": 0.45, "best of 3": 0.75})

    def test_can_count_as_zero(self):
        found = values(self.group(), "worst,mean,best", missing="zero")
        assert found == pytest.approx({"worst of 3": 0.2 / 3, "mean of 3": (0.4 + 1 / 3) / 3, "best of 3": 0.5})

    def test_can_leave_out_the_track(self):
        assert values(self.group(), "worst,best", missing="common") == {"worst of 3": 0.2, "best of 3": 0.6}

    def test_that_another_score_chooses_leave_their_track_without_a_score(self):
        both = np.concatenate([self.SCORES, [[[1.0], [0.0], [0.0]], [[2.0], [3.0], [0.0]], [[3.0], [2.0], [0.0]]]], 2)
        ds = make_group(both, status="ok", metrics=["majmin", "likelihood"], standard=["mean"] * 2)
        found = ds.mirflow.query("majmin", over={"system": "likelihood"}, missing="skip")
        assert (found["value"].item(), found["n"].item()) == (0.4, 1)


def test_only_the_tracks_on_which_another_score_is_best_may_be_kept():
    ds = random_group(3, 10, 2, orientation=["higher", "lower"], standard=["mean"] * 2)
    judge = ds.score.values[..., 1]
    kept = np.argsort(judge.min(axis=0))[:4]
    picked = [ds.score.values[judge[:, track].argmin(), track, 0] for track in kept]
    options = {"by": "track", "across": {"track": "mean,std,min,max"}}
    found = ds.mirflow.query("majmin", over={"system": "root:4"}, **options)["value"]
    assert found["system"].item() == "by root:4"
    expected = [np.mean(picked), np.std(picked, ddof=1), min(picked), max(picked)]
    assert found.values.ravel() == pytest.approx(expected, abs=1e-12)


def test_real_beats_are_chosen_by_a_metric_with_parameters(shipped_store, shared_data):
    ds = mirflow.open_store(shipped_store("harmonix"))["beat"].to_dataset()
    metric, other = ds.metric.values.tolist()
    assert "," in other
    found = ds.mirflow.query(metric, over={"system": f"best,{other},worst"})["value"]
    score, judge = (ds.score.sel(metric=name).values for name in (metric, other))
    chosen = np.take_along_axis(score, judge.argmax(axis=0)[np.newaxis], axis=0)
    expected = [score.max(axis=0).mean(), chosen.mean(), score.min(axis=0).mean()]
    assert found.values.ravel() == pytest.approx(expected, abs=1e-12)


def test_runs_are_reduced_for_each_model():
    names = {"model": ("system", ["a", "a", "b"]), "run": ("system", ["1", "2", "1"])}
    ds = random_group(3, 5, 1, standard=["mean"]).assign_coords(names)
    found = ds.mirflow.query("majmin", over={"run": "best"})
    assert found["system"].values.tolist() == ["a", "b"]
    expected = [ds.score.values[:2, :, 0].max(axis=0).mean(), ds.score.values[2, :, 0].mean()]
    assert found["value"].values[:, 0] == pytest.approx(expected, abs=1e-12)


def test_questions_about_systems_are_about_the_reduced_ones(tmp_path):
    ds = random_group(3, 20, 2)
    found = ds.mirflow.compare("majmin", over={"system": "best,worst"})
    assert found["system"].values.tolist() == ["best of 3", "worst of 3"]
    assert found["wins"].values[0, 1].item() == 20
    store = write_store(tmp_path / "s.zarr", {"chord": ds})
    listed = rows("query", store, "-m", "majmin", "--over", "system=best", "--by", "track", "-a", "mean")
    best = ds.score.isel(metric=0).max("system").to_series().to_dict()
    assert {row["track"]: row["value"] for row in listed} == best
    words = ("-m", "majmin", "--over", "system=best")
    assert "'significance' is about stored systems" in refused("query", store, *words, "--significance")
    assert "'baseline' is about stored systems" in refused("compare", store, *words, "--baseline", "S0")


def test_signed_numbers_are_computed_again(demo_store, tmp_path):
    words = ("-g", "chord", "-m", "majmin", "--over", "system=worst,best")
    invoke("query", demo_store, *words, "-o", tmp_path / "t.tex", code=0)
    assert "2 signed numbers: 2 equal" in printed("verify", tmp_path / "t.tex", "--store", demo_store)


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        ({"system": "bset"}, UnknownNameError, "unknown word or metric for system 'bset'; did you mean 'best'"),
        ({"system": "best", "run": "mean"}, QueryError, "over 'system' or over 'run', not over both"),
        ({"run": "best"}, QueryError, "the systems have no coordinate 'model'"),
        ({"system": "majmin:0"}, QueryError, "'majmin:0' keeps no track; expected at least one"),
        ({"system": "root"}, QueryError, "neither high nor low values of 'root' are better"),
    ],
)
def test_refusals(over, error, message):
    with pytest.raises(error, match=message):
        random_group(2, 4, 2, orientation=["higher", "none"]).mirflow.query("majmin", over=over)
