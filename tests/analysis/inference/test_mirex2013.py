"""Inference on the MIREX chord results of 2013, against the official tables computed by other means."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import mirflow


@pytest.fixture(scope="module")
def board(mirex2013_store: Path) -> xr.Dataset:
    return mirflow.open_store(mirex2013_store)["chord_mirex2013"].to_dataset()


@pytest.fixture(scope="module")
def official(board: xr.Dataset, shared_data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Scores (percent) and evaluated seconds of the official csv: (systems, tracks) each."""
    found = []
    for system in board["system"].values:
        path = shared_data / "mirex2013-ace/official/resultsMirexMajMin" / f"{system}.csv"
        lines = path.read_text().splitlines()[1:]
        rows = {row["File"]: row for row in csv.DictReader(lines)}
        found.append(
            [[float(rows[t][name]) for t in board["track"].values] for name in ("Pairwise score (%)", "Duration (s)")]
        )
    score, seconds = np.transpose(found, (1, 0, 2))
    return score, seconds


def test_an_oracle_reaches_the_best_official_score_of_each_track(board, official):
    score, seconds = official
    found = board.mirflow.oracle("majmin")
    # Official scores have six digits, so that systems that tie there may have other seconds.
    assert 100 * found["oracle"].item() == pytest.approx(np.average(score.max(axis=0), weights=seconds[0]), abs=1e-4)
    single = np.average(score, axis=1, weights=seconds[0]).max()
    assert 100 * found["gain"].item() == pytest.approx(
        np.average(score.max(axis=0), weights=seconds[0]) - single, abs=1e-4
    )


def test_ranking_and_friedmans_statistic(board, official):
    score, _ = official
    found = board.mirflow.compare("majmin", friedman=True)
    rank = stats.rankdata(-score, axis=0)
    np.testing.assert_allclose(found["mean_rank"].values[:, 0], rank.mean(axis=1), atol=1e-12)
    expected = stats.friedmanchisquare(*score)
    assert found["statistic"].item() == pytest.approx(expected.statistic, rel=1e-12)
    assert found["statistic"].item() == pytest.approx(512.1822, abs=0.0001)
    assert found["system"].values[np.argsort(found["mean_rank"].values[:, 0])].tolist() == [
        "CB4", "KO1", "CB3", "NMSD2", "NMSD1", "KO2", "NG1", "PP3", "CF2",
    ]  # fmt: skip


def test_tukeys_groups(board, official):
    score, _ = official
    found = board.mirflow.compare("majmin", friedman=True)
    systems, tracks = score.shape
    rank = stats.rankdata(-score, axis=0)
    # The variance of ranks within a track, and the distribution of the range of 9 normal means, by simulation.
    spread = rank.var(axis=0, ddof=1).mean()
    drawn = np.ptp(np.random.default_rng(0).normal(size=(400_000, systems)), axis=1)
    critical = np.quantile(drawn, 0.95) * np.sqrt(spread / tracks)
    assert found["critical_difference"].item() == pytest.approx(critical, abs=0.003)
    mean = rank.mean(axis=1)
    differs = np.abs(mean[:, np.newaxis] - mean) > critical
    np.testing.assert_array_equal(found["significant"].values[..., 0], differs)
    ranked = found.isel(system=np.argsort(found["mean_rank"].values[:, 0]), metric=0)
    named = [ranked["system"].values[[letter in own for own in ranked["letters"].values]].tolist() for letter in "abcd"]
    assert named == [["CB4", "KO1", "CB3"], ["CB3", "NMSD2"], ["NMSD2", "NMSD1", "KO2"], ["NG1", "PP3", "CF2"]]


def test_recalls_with_intervals(board, official):
    score, seconds = official
    found = board.mirflow.query("majmin", ci=0.95)

    def recall(score, seconds, axis):
        return (score * seconds).sum(axis) / seconds.sum(axis) / 100

    for system in range(0, 9, 4):
        theirs = stats.bootstrap(
            (score[system], seconds[system]), recall, paired=True, vectorized=True, n_resamples=10_000, rng=1
        )
        ours = [found[end].values[system, 0] for end in ("low", "high")]
        # Two sets of 10,000 replicates: an end varies by about a tenth of a point.
        assert ours == pytest.approx(list(theirs.confidence_interval), abs=0.0025)


@pytest.fixture(scope="module")
def compared(board: xr.Dataset) -> xr.Dataset:
    return board.mirflow.compare("majmin")


def test_differences_by_permutation(compared, official):
    score, seconds = official
    rng = np.random.default_rng(3)
    for first, second in ((0, 1), (6, 7), (4, 6)):
        swap = rng.random((4000, score.shape[1])) < 0.5
        right = score * seconds / 100
        moved = np.where(swap, right[second] - right[first], right[first] - right[second]).sum(axis=1)
        # Both systems are evaluated over the same seconds, so that swapping moves what is right alone.
        np.testing.assert_allclose(seconds[first], seconds[second], atol=2e-6)
        observed = abs((right[first] - right[second]).sum())
        p = (np.abs(moved) >= observed).mean()
        assert compared["p"].values[first, second, 0] == pytest.approx(p, abs=4 * np.sqrt(0.25 / 4000))


def test_who_differs_in_recall(compared):
    letters = dict(zip(compared["system"].values, compared["letters"].values[:, 0], strict=True))
    assert "a" in letters["CB4"]
    assert "a" in letters["NMSD2"]
    assert len({letters[system] for system in ("CF2", "NG1", "PP3")}) == 1
    assert not set(letters["CF2"]) & set(letters["KO2"])
    assert compared["difference"].values[1, 0, 0] == pytest.approx(0.8226 - 0.8178, abs=1e-4)
