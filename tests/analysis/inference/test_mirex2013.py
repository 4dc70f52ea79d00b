"""What the MIREX chord results of 2013 say about the systems, computed from the official tables by other means."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from mirflow.analysis.inference import Comparison, compare, friedman, intervals
from mirflow.analysis.scoreboard import Scoreboard, read_store
from mirflow.analysis.selection import Question
from mirflow.cli import cli

PIPELINE = Path(__file__).parents[3] / "pipelines" / "mirex2013-ace.yaml"
MAJMIN = Question("majmin")


@pytest.fixture(scope="module")
def board(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Scoreboard:
    store = tmp_path_factory.mktemp("stores") / "mirex2013-ace.zarr"
    words = ["run", PIPELINE, "--root", shared_data / "mirex2013-ace", "--store", store]
    assert CliRunner().invoke(cli, [str(word) for word in words]).exit_code == 0
    return read_store(store)["chord_mirex2013"]


@pytest.fixture(scope="module")
def official(board: Scoreboard, shared_data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Scores (percent) and evaluated seconds of the official csv: (systems, tracks) each."""
    found = []
    for system in board.systems:
        path = shared_data / "mirex2013-ace/official/resultsMirexMajMin" / f"{system}.csv"
        lines = path.read_text().splitlines()[1:]
        rows = {row["File"]: row for row in csv.DictReader(lines)}
        found.append([[float(rows[t][name]) for t in board.tracks] for name in ("Pairwise score (%)", "Duration (s)")])
    score, seconds = np.transpose(found, (1, 0, 2))
    return score, seconds


def test_ranking_and_friedmans_statistic(board, official):
    score, _ = official
    found = friedman(board, MAJMIN)
    rank = stats.rankdata(-score, axis=0)
    np.testing.assert_allclose(found.ranks.mean_rank[:, 0], rank.mean(axis=1), atol=1e-12)
    expected = stats.friedmanchisquare(*score)
    assert found.ranks.statistic.item() == pytest.approx(expected.statistic, rel=1e-12)
    assert found.ranks.statistic.item() == pytest.approx(512.1822, abs=0.0001)
    assert [found.systems[place] for place in found.ranked(0)] == [
        "CB4", "KO1", "CB3", "NMSD2", "NMSD1", "KO2", "NG1", "PP3", "CF2",
    ]  # fmt: skip


def test_tukeys_groups(board, official):
    score, _ = official
    found = friedman(board, MAJMIN)
    systems, tracks = score.shape
    rank = stats.rankdata(-score, axis=0)
    # The variance of ranks within a track, and the distribution of the range of 9 normal means, by simulation.
    spread = rank.var(axis=0, ddof=1).mean()
    drawn = np.ptp(np.random.default_rng(0).normal(size=(400_000, systems)), axis=1)
    critical = np.quantile(drawn, 0.95) * np.sqrt(spread / tracks)
    assert found.ranks.critical_difference.item() == pytest.approx(critical, abs=0.003)
    mean = rank.mean(axis=1)
    differs = np.abs(mean[:, np.newaxis] - mean) > critical
    np.testing.assert_array_equal(found.significant[..., 0], differs)
    named = [[found.systems[place] for place in members] for members in found.groups(0)]
    assert named == [["CB4", "KO1", "CB3"], ["CB3", "NMSD2"], ["NMSD2", "NMSD1", "KO2"], ["NG1", "PP3", "CF2"]]


def test_recalls_with_intervals(board, official):
    score, seconds = official
    found = intervals(board, MAJMIN)

    def recall(score, seconds, axis):
        return (score * seconds).sum(axis) / seconds.sum(axis) / 100

    for system in range(0, 9, 4):
        theirs = stats.bootstrap(
            (score[system], seconds[system]), recall, paired=True, vectorized=True, n_resamples=10_000, rng=1
        )
        ours = [found.low[system, 0, 0], found.high[system, 0, 0]]
        # Two sets of 10,000 replicates: an end varies by about a tenth of a point.
        assert ours == pytest.approx(list(theirs.confidence_interval), abs=0.0025)


@pytest.fixture(scope="module")
def compared(board: Scoreboard) -> Comparison:
    return compare(board, MAJMIN)


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
        assert compared.arrays["p"][first, second, 0] == pytest.approx(p, abs=4 * np.sqrt(0.25 / 4000))


def test_who_differs_in_recall(compared):
    letters = dict(zip(compared.systems, compared.letters[:, 0].tolist(), strict=True))
    assert letters["CB4"] == letters["NMSD2"] == "a"
    assert {letters[system] for system in ("CF2", "NG1", "PP3")} == {"d"}
    assert compared.arrays["difference"][1, 0, 0] == pytest.approx(0.8226 - 0.8178, abs=1e-4)
