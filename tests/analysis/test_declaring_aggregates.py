"""An aggregate that is declared outside of the package is one of all others, wherever numbers are made of tracks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.errors import MetricError, QueryError
from mirflow.metrics.aggregates import TABLES, Aggregate, RatioOfSums, Statistic, StatisticOfSums, declare
from mirflow.metrics.base import get_task
from mirflow.ragged import Float, Int
from mirflow.reports.page import write_page

from ..commands import printed
from ..groups import make_group, write_store
from ..reports.page.reading import choose, values_in

GENRES = ["rock", "", "jazz", "pop"] * 10


def trimmed(ordered: Float, count: Int) -> Float:
    """The mean without the lowest and the highest tenth."""
    place, cut = np.arange(ordered.shape[-1]), count // 10
    kept = (place >= cut[..., np.newaxis]) & (place < (count - cut)[..., np.newaxis])
    return np.asarray(np.where(kept, ordered, 0.0).sum(axis=-1) / kept.sum(axis=-1))


def trimmed_list(scores: Float) -> float:
    """The same of a plain list of scores."""
    ordered, cut = sorted(scores.tolist()), len(scores) // 10
    return float(np.mean(ordered[cut : len(ordered) - cut]))


def forget(*names: str) -> None:
    """Take declared aggregates back."""
    for table, _ in TABLES:
        for name in names:
            table.pop(name, None)


@pytest.fixture
def declared() -> Iterator[None]:
    declare(Statistic("trimmed_mean", "mean over the tracks without the lowest and the highest tenth", trimmed))
    declare(RatioOfSums("late", "mean weighted by seconds and weights", above="weight", below="duration"))
    yield
    forget("trimmed_mean", "late")


@pytest.fixture
def group() -> Any:
    rng = np.random.default_rng(11)
    score = rng.uniform(0, 1, (3, 40, 1)) ** 3 + np.array([0.3, 0.0, 0.1])[:, np.newaxis, np.newaxis]
    meta = {"genre": GENRES, "album": [f"album {track // 4}" for track in range(40)]}
    return make_group(score, rng.uniform(1, 300, score.shape), duration=rng.uniform(300, 400, 40), track_meta=meta)


def expected(group: Any, rows: Any = slice(None)) -> list[float]:
    return [trimmed_list(one) for one in group["score"].values[:, rows, 0]]


@pytest.mark.usefixtures("declared")
class TestADeclaredAggregateIsAvailable:
    def test_in_a_query_of_a_store_that_was_written_before(self, group, tmp_path):
        forget("trimmed_mean")
        path = write_store(tmp_path / "s.zarr", {"chord": group})
        declare(Statistic("trimmed_mean", "mean without the tails", trimmed))
        found = mirflow.open_store(path).mirflow.query(aggregate="trimmed_mean")
        np.testing.assert_allclose(found["value"].values.ravel(), expected(group), rtol=1e-13)
        assert "trimmed_mean: mean without the tails" in printed("query", path, "-a", "trimmed_mean", "--by", "genre")

    def test_as_a_ratio_of_sums(self, group):
        ds = group
        found = ds.mirflow.query(aggregate="late")["value"].values.ravel()
        score, weight, duration = ds["score"].values[..., 0], ds["weight"].values[..., 0], ds["duration"].values
        np.testing.assert_allclose(found, (score * weight).sum(axis=1) / duration.sum(), rtol=1e-12)
        ds["duration"][3] = np.nan
        with pytest.raises(QueryError, match="aggregate 'late' needs the durations of the references"):
            ds.mirflow.query(aggregate="late")

    def test_in_an_interval(self, group):
        found = group.mirflow.query(aggregate="trimmed_mean", method="percentile", replicates=1000, ci=0.95)
        rng, scores = np.random.default_rng(1), group["score"].values[..., 0]
        again = [np.array([trimmed_list(one[rng.integers(0, 40, 40)]) for _ in range(1000)]) for one in scores]
        np.testing.assert_allclose(found["value"][:, 0], expected(group), rtol=1e-13)
        np.testing.assert_allclose(found["low"][:, 0], [np.quantile(one, 0.025) for one in again], atol=0.02)
        np.testing.assert_allclose(found["high"][:, 0], [np.quantile(one, 0.975) for one in again], atol=0.02)
        drawn = group.mirflow.query(aggregate="trimmed_mean", cluster="album", ci=0.95)
        assert (drawn["low"] < drawn["value"]).all()
        assert (drawn["high"] > drawn["value"]).all()

    def test_in_a_paired_test(self, group):
        found = group.mirflow.compare(aggregate="trimmed_mean", replicates=2000)
        first, second, third = expected(group)
        difference = found["difference"].values.squeeze()
        assert difference[0, 1:] == pytest.approx([first - second, first - third])
        assert difference[1, 2] == pytest.approx(second - third)
        assert found["p"].values.squeeze()[0, 1] < 0.01
        assert "trimmed_mean" in found["aggregate"].values
        with pytest.raises(QueryError, match="and not the trimmed_mean of 'majmin'; choose test permutation"):
            group.mirflow.compare(aggregate="trimmed_mean", test="t")

    def test_in_a_table_for_a_paper(self, group, tmp_path):
        path = write_store(tmp_path / "s.zarr", {"chord": group})
        assert "without the lowest and the highest tenth" in printed(
            "query", path, "-a", "trimmed_mean", "--ci", "--format", "latex"
        )

    def test_among_what_is_known_of_a_metric(self):
        metric = get_task("chord").convention(None).metrics[0]
        assert {"trimmed_mean", "late"} <= set(metric.aggregates)

    def test_in_the_page(self, group, tmp_path, visit):
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "s.html")
        page = visit(tmp_path / "s.html")
        choose(page, "aggregate", "trimmed_mean")
        shown = values_in(page)
        assert [shown[name][0] for name in group["system"].values] == pytest.approx(expected(group), abs=1e-12)
        assert "mean over the tracks without the lowest" in page.locator("#leaderboard").inner_text()
        choose(page, "by", "genre")
        rock = [place for place, genre in enumerate(GENRES) if genre == "rock"]
        names = [page.locator("#groups thead th").nth(place).text_content() for place in range(1, 5)]
        column = next(place for place, name in enumerate(names) if name.startswith("rock"))
        found = [values_in(page, "#groups")[name][column] for name in group["system"].values]
        assert found == pytest.approx(expected(group, rock), abs=1e-12)
        choose(page, "by", "")
        choose(page, "aggregate", "late")
        own = group.mirflow.query(aggregate="late")["value"].values.ravel()
        assert [values_in(page)[name][0] for name in group["system"].values] == pytest.approx(own.tolist(), abs=1e-12)


def test_an_aggregate_is_declared_once_and_says_how_it_is_computed():
    with pytest.raises(MetricError, match="aggregate 'median' is already declared; choose another name"):
        declare(Statistic("median", "middle", trimmed))
    with pytest.raises(
        MetricError, match=r"invalid aggregate Aggregate.*'other'.*: expected one of the classes RatioOf"
    ):
        declare(Aggregate("other", "nothing"))
    with pytest.raises(MetricError, match="aggregate 'other': unknown below 'length'; known: one, weight, duration"):
        declare(RatioOfSums("other", "by length", "weight", "length"))  # type: ignore[arg-type]
    with pytest.raises(
        MetricError, match="aggregate 'other': unknown requires 'weight'; known: scores, weights, recall"
    ):
        declare(Statistic("other", "without the tails", trimmed, requires="weight"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_statistic_of_sums_says_along_which_dim() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'along'"):
        StatisticOfSums("entropy", "of a histogram", lambda sums: sums.max(axis=-1))  # type: ignore[call-arg]
