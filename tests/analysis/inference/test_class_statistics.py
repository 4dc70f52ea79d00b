"""Intervals, tests and ranks of values of classes and tags, against scikit-learn and scipy."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from mirflow.analysis.inference import friedman
from mirflow.analysis.inference.resampling import Orders, Rates, Resampling
from mirflow.analysis.query_options import make_query
from mirflow.errors import QueryError, UnknownNameError

from ...groups import make_group

CLASSES = ["blues", "jazz", "rock"]
VARIABLE = "confusion_majmin"
KINDS = ("precision", "recall", "f_measure")


class World:
    """What two or more systems say of the classes of some tracks, as a board and as plain labels."""

    def __init__(self, tracks: int, systems: int = 2, seed: int = 0, **keywords) -> None:
        rng = np.random.default_rng(seed)
        self.labels = np.append(np.arange(3), rng.integers(0, 3, tracks - 3))
        right = rng.random((systems, tracks)) < np.linspace(0.8, 0.4, systems)[:, np.newaxis]
        self.guessed = np.where(right, self.labels, rng.integers(0, 3, (systems, tracks)))
        self.board = self.dataset(**keywords)

    def dataset(self, lacking: int | None = None, **keywords) -> xr.Dataset:
        systems, tracks = self.guessed.shape
        score = (self.guessed == self.labels)[..., np.newaxis].astype(float)
        status = np.full((systems, tracks), "ok", dtype=object)
        values = np.zeros((systems, tracks, 3, 3))
        for system, track in np.ndindex(systems, tracks):
            values[system, track, self.labels[track], self.guessed[system, track]] = 1.0
        if lacking is not None:
            score[0, lacking], status[0, lacking], values[0, lacking] = np.nan, "missing_estimate", 0.0
        ds = make_group(score, status=status, **keywords)
        ds[VARIABLE] = (("system", "track", "ref_class", "est_class"), values)
        return ds.assign_coords(ref_class=CLASSES, est_class=CLASSES)

    def values(self, kind: str, system: int, tracks=slice(None)) -> np.ndarray:
        """Those of each class by scikit-learn; NaN where nothing is measured."""
        found = precision_recall_fscore_support(
            self.labels[tracks], self.guessed[system, tracks], labels=range(3), zero_division=np.nan
        )
        return np.asarray(found[KINDS.index(kind)])


def question(kind: str = "recall", **words) -> dict[str, Any]:
    return {"metric": "confusion", "aggregate": kind, **words}


def drawn(world: World, kind: str, replicates: int, cluster: np.ndarray | None = None, system: int = 0) -> np.ndarray:
    """Values of each class (replicates, classes), from the confusions of the drawn tracks."""
    tracks = len(world.labels)
    cluster = np.arange(tracks) if cluster is None else cluster
    how = Resampling.of(0.95, "percentile", replicates, 0)
    counts = np.concatenate(list(how.counts(int(cluster.max()) + 1)))[:, cluster]
    confusion = (counts @ world.board[VARIABLE].values[system].reshape(tracks, 9)).reshape(-1, 3, 3)
    right, labelled, guessed = confusion.diagonal(axis1=1, axis2=2), confusion.sum(axis=2), confusion.sum(axis=1)
    above, below = {
        "recall": (right, labelled),
        "precision": (right, guessed),
        "f_measure": (2 * right, labelled + guessed),
    }[kind]
    return np.divide(above, below, out=np.full(right.shape, np.nan), where=below > 0)


class TestReplicates:
    @pytest.mark.parametrize("kind", KINDS)
    def test_each_is_that_of_scikit_learn_on_a_collection_with_tracks_repeated(self, kind):
        world = World(12)
        counts = np.concatenate(list(Resampling.of(0.95, "percentile", 60, 0).counts(12))).astype(int)
        expected = [world.values(kind, 0, np.repeat(np.arange(12), count)) for count in counts]
        np.testing.assert_allclose(drawn(world, kind, 60), expected, rtol=0, atol=1e-12)

    def test_seconds_that_were_all_taken_away_leave_nothing(self):
        counts = np.array([[[0.1, 0.3], [0.2, 0.0], [0.0, 0.6]]])
        rates = Rates(counts, lambda sums: sums[:, :1] / np.where(sums[:, 1:] > 0, sums[:, 1:], np.nan))
        assert np.isfinite(rates.left_out()).all()
        assert np.isnan(Rates(counts[:, :2], rates.ratio).left_out()[0, 0])


class TestIntervals:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("method", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
    def test_ends_are_those_of_scipy_from_the_same_replicates(self, kind, method, theirs):
        world = World(40, seed=5)
        found = world.board.mirflow.query(**question(kind, system="S0"), method=method, replicates=2000, ci=0.95)
        for place, replicates in enumerate(drawn(world, kind, 2000).T):
            same = {"vectorized": False, "n_resamples": 0}
            expected = stats.bootstrap(
                (np.arange(40),),
                lambda *tracks, place=place: world.values(kind, 0, np.asarray(tracks[0]))[place],
                method=theirs,
                bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates),
                **same,
            ).confidence_interval
            ends = [found[end].values[0, place] for end in ("low", "high")]
            np.testing.assert_allclose(ends, (expected.low, expected.high), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kind", KINDS)
    def test_tracks_of_a_cluster_come_together(self, kind):
        cluster = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 5])
        world = World(12, track_meta={"artist": [f"a{code}" for code in cluster]})
        words = question(kind, system="S0", across={"class": "mean"})
        found = world.board.mirflow.query(**words, cluster="artist", method="percentile", replicates=60, ci=0.95)
        means = np.nanmean(drawn(world, kind, 60, cluster), axis=1)
        ends = [found["low"].item(), found["high"].item()]
        np.testing.assert_allclose(ends, np.quantile(means, [0.025, 0.975]), rtol=0, atol=1e-12)

    def test_the_values_are_those_of_a_query(self):
        world = World(30, track_meta={"fold": ["a", "b", "c"] * 10})
        for words in ({}, {"by": "fold"}):
            asked = question("f_measure", **words)
            found = world.board.mirflow.query(**asked, replicates=200, ci=0.95)
            np.testing.assert_array_equal(found["value"], world.board.mirflow.query(**asked)["value"])
            assert (found["low"] <= found["value"]).all()
            assert (found["value"] <= found["high"]).all()
            assert found["low"].dims == ("system", *words.values(), "class")

    def test_across_classes_they_are_of_the_mean(self):
        world = World(40)
        words = question(across={"class": "mean,std"})
        found = world.board.mirflow.query(**words, replicates=500, method="percentile", ci=0.95)
        assert found["class"].values.tolist() == ["mean", "std"]
        means = drawn(world, "recall", 500).mean(axis=1)
        np.testing.assert_allclose(found["low"].values[0, 0], np.quantile(means, 0.025), atol=1e-12)

    def test_little_memory_changes_nothing(self, monkeypatch):
        world = World(30)
        whole = world.board.mirflow.query(**question(), replicates=100, ci=0.95)
        monkeypatch.setattr("mirflow.analysis.inference.resampling._CHUNK", 100)
        np.testing.assert_array_equal(
            world.board.mirflow.query(**question(), replicates=100, ci=0.95)["low"], whole["low"]
        )

    def test_each_system_is_resampled_over_its_own_tracks(self):
        world = World(20, lacking=4)
        both = world.board.mirflow.query(**question(missing="skip"), replicates=200, ci=0.95)
        for system in ("S0", "S1"):
            alone = world.board.mirflow.query(**question(system=system), replicates=200, ci=0.95)
            np.testing.assert_array_equal(both["low"].sel(system=system), alone["low"][0])
        assert both["n"].values.tolist() == [19, 20]

    def test_seconds_leave_no_value_where_there_is_nothing_to_measure(self):
        """Every reference is of one class, which has no negative then, whatever rounding leaves of the seconds."""
        world = World(24)
        seconds = np.random.default_rng(5).uniform(0.1, 9.0, (2, 24, 3, 3))
        seconds[:, :, 1:] = 0.0
        ds = world.dataset()
        ds[VARIABLE] = (ds[VARIABLE].dims, seconds)
        board, asked = ds, question("negative_accuracy")
        found = board.mirflow.query(**asked, replicates=200, ci=0.95)
        assert np.isnan(found["value"].values[:, 0]).all()
        assert np.isnan(found["low"].values[:, 0]).all()
        assert np.isnan(board.mirflow.compare(**asked, replicates=100)["low"].values[..., 0]).all()

    def test_what_they_are_not_for(self):
        board = World(9, track_meta={"fold": ["a", "b", "c"] * 3}).board
        with pytest.raises(QueryError, match="across 'fold': statistics across groups of tracks have no intervals"):
            board.mirflow.query(**question(by="fold", across={"fold": "mean"}), ci=0.95)
        with pytest.raises(QueryError, match=r"aggregate 'recall' is read off all tracks(.|\n)*unit 'fold'"):
            board.mirflow.query(**question(), unit="fold", ci=0.95)
        with pytest.raises(QueryError, match="aggregate 'recall' needs one metric with classes or tags; name it"):
            board.mirflow.query(None, "recall", ci=0.95)
        with pytest.raises(
            QueryError, match="its statistics are those of all tracks together, by one of --aggregate precision, recall"
        ):
            board.mirflow.query(**question("sum"), ci=0.95)
        with pytest.raises(UnknownNameError, match="unknown reduction 'maen'; did you mean 'mean'"):
            board.mirflow.query(**question(across={"class": "maen"}), ci=0.95)


class TestAreas:
    """Figures of tags by affinity, against scikit-learn on collections with tracks repeated."""

    TRACKS = 30
    STATISTICS: ClassVar = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}

    def affinities(self, systems: int = 2) -> np.ndarray:
        """Relevance and affinity (systems, tracks, tags, 2), with ties, and tracks that are not about a tag."""
        rng = np.random.default_rng(8)
        relevance = np.broadcast_to(rng.integers(0, 2, (self.TRACKS, 3)), (systems, self.TRACKS, 3))
        affinity = np.round(relevance * 0.3 + rng.random(relevance.shape), 1)
        values = np.stack([relevance, affinity], axis=-1).astype(float)
        values[:, 4:9, 1] = np.nan
        return values

    def board(self, values: np.ndarray, **keywords) -> xr.Dataset:
        ds = make_group(np.ones((len(values), self.TRACKS, 1)), task="tagging", convention="mirex", **keywords)
        ds = ds.assign_coords(metric=["f_measure"])
        ds["affinities_0.5"] = (("system", "track", "tag", "side"), values)
        return ds.assign_coords(tag=["fast", "loud", "sad"], side=["relevance", "affinity"])

    def expected(self, kind: str, values: np.ndarray, tracks: np.ndarray) -> list[float]:
        found = []
        for tag in range(3):
            relevance, affinity = values[tracks, tag].T
            there = ~np.isnan(relevance)
            enough = 2 if kind == "roc_auc" else 1
            known = relevance[there].any() and len(np.unique(relevance[there])) >= enough
            found.append(self.STATISTICS[kind](relevance[there], affinity[there]) if known else np.nan)
        return found

    @pytest.mark.parametrize("kind", ["roc_auc", "average_precision"])
    @pytest.mark.parametrize("cluster", [None, "artist"])
    def test_ends_are_quantiles_of_what_scikit_learn_finds(self, kind, cluster):
        values, artists = self.affinities(), np.arange(self.TRACKS) // 4
        board = self.board(values, track_meta={"artist": [f"a{artist}" for artist in artists]})
        own = np.arange(self.TRACKS) if cluster is None else artists
        found = board.mirflow.query("affinities", kind, method="percentile", replicates=80, cluster=cluster, ci=0.95)
        counts = np.concatenate(list(Resampling.of(0.95, "percentile", 80, 0).counts(own.max() + 1))).astype(int)
        for system in range(2):
            drawn = [
                self.expected(kind, values[system], np.repeat(np.arange(self.TRACKS), count[own])) for count in counts
            ]
            np.testing.assert_allclose(
                found["low"].values[system], np.nanquantile(drawn, 0.025, axis=0), rtol=0, atol=1e-12
            )
            np.testing.assert_allclose(
                found["high"].values[system], np.nanquantile(drawn, 0.975, axis=0), rtol=0, atol=1e-12
            )

    @pytest.mark.parametrize("kind", ["roc_auc", "average_precision"])
    def test_those_without_a_track_are_of_all_others(self, kind):
        values, every = self.affinities()[0], np.arange(self.TRACKS)
        found = Orders.of(values, 1, every, kind, lambda figures: figures, together=False).left_out()
        expected = [self.expected(kind, values, np.delete(every, track)) for track in every]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)

    def test_little_memory_changes_nothing(self, monkeypatch):
        board = self.board(self.affinities())
        asked = {"metric": "affinities", "aggregate": "roc_auc", "across": {"tag": "mean"}}
        whole = board.mirflow.query(**asked, replicates=50, ci=0.95)
        monkeypatch.setattr("mirflow.analysis.inference.resampling._CHUNK", 100)
        parts = board.mirflow.query(**asked, replicates=50, ci=0.95)
        np.testing.assert_array_equal(parts["low"], whole["low"])
        assert whole["tag"].values.tolist() == ["mean"]

    def test_systems_are_ranked_on_tags_but_their_affinities_are_not_swapped(self):
        values = self.affinities(3)
        board = self.board(values)
        found = board.mirflow.compare("affinities", "roc_auc", unit="tag", friedman=True)
        every = np.array([self.expected("roc_auc", one, np.arange(self.TRACKS)) for one in values])
        assert found["statistic"].values.item() == pytest.approx(stats.friedmanchisquare(*every).statistic, abs=1e-12)
        with pytest.raises(QueryError, match="aggregate 'roc_auc': affinities of two systems have different scales"):
            board.mirflow.compare("affinities", "roc_auc")


class TestComparisons:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_swap_is_tried_where_there_are_few(self, kind):
        world = World(9, seed=1)
        found = world.board.mirflow.compare(**question(kind, across={"class": "mean"}))

        def difference(swaps):
            guessed = world.guessed.copy()
            guessed[:, swaps] = guessed[::-1, swaps]
            swapped = World.__new__(World)
            swapped.labels, swapped.guessed = world.labels, guessed
            return np.nanmean(swapped.values(kind, 0)) - np.nanmean(swapped.values(kind, 1))

        every = [abs(difference(np.array(swaps))) for swaps in product([False, True], repeat=9)]
        observed = difference(np.zeros(9, dtype=bool))
        expected = np.mean(np.array(every) >= abs(observed) - 1e-11)
        assert found["difference"].values[0, 1, 0] == pytest.approx(observed, abs=1e-12)
        assert found["p"].values[0, 1, 0] == pytest.approx(expected, abs=1e-12)
        assert found["p"].values[1, 0, 0] == found["p"].values[0, 1, 0]
        assert found["metric"].values.tolist() == ["confusion, mean"]

    def test_every_class_is_compared(self):
        world = World(40, systems=3)
        found = world.board.mirflow.compare(**question(), replicates=300)
        assert found["metric"].values.tolist() == [f"confusion, {name}" for name in CLASSES]
        for system in range(3):
            np.testing.assert_allclose(found["value"].values[system], world.values("recall", system), atol=1e-12)
        one = world.board.mirflow.compare(**question(over={}, system=["S0", "S2"]), replicates=300)
        assert (one["low"].values[0, 1] >= found["low"].values[0, 2]).all()  # of three pairs together
        np.testing.assert_array_equal(one["p"].values[0, 1], found["p"].values[0, 2])
        assert np.isnan(found["dz"]).all()
        assert found["n"].values[0, 1].tolist() == [40, 40, 40]

    def test_an_interval_is_nearly_that_of_paired_tracks_drawn_again(self):
        world = World(80)
        found = world.board.mirflow.compare(**question(), replicates=2000)
        differences = np.subtract(*(drawn(world, "recall", 2000, system=system) for system in (0, 1)))
        width = np.quantile(differences, 0.975, axis=0) - np.quantile(differences, 0.025, axis=0)
        np.testing.assert_allclose((found["high"] - found["low"]).values[0, 1], width, rtol=0.15)

    def test_pairs_are_compared_on_their_own_tracks(self):
        world = World(20, systems=3, lacking=5)
        found = world.board.mirflow.compare(**question(missing="skip"), replicates=100)
        assert found["n"].values[..., 0].tolist() == [[0, 19, 19], [19, 0, 20], [19, 20, 0]]
        alone = world.board.mirflow.compare(**question(system=["S1", "S2"]), replicates=100)
        np.testing.assert_array_equal(found["p"].values[1, 2], alone["p"].values[0, 1])

    def test_what_they_are_not_for(self):
        board = World(9, track_meta={"fold": ["a", "b", "c"] * 3}).board
        with pytest.raises(QueryError, match="1 system to compare; at least two are needed"):
            board.mirflow.compare(**question(system="S0"))
        with pytest.raises(QueryError, match=r"test 't' compares the tracks' scores(.|\n)*recall of 'confusion'"):
            board.mirflow.compare(**question(), test="t")
        with pytest.raises(QueryError, match="'compare' takes no 'by'"):
            board.mirflow.compare(**question(by="fold"))


class TestRanks:
    def test_classes_are_ranked_as_units(self):
        world = World(60, systems=4)
        found = world.board.mirflow.compare(**question(), unit="class", friedman=True)
        recalls = np.array([world.values("recall", system) for system in range(4)])
        expected = stats.friedmanchisquare(*recalls)
        assert found["statistic"].values.item() == pytest.approx(expected.statistic, abs=1e-12)
        assert found["p"].values.item() == pytest.approx(expected.pvalue, abs=1e-12)
        np.testing.assert_allclose(
            found["mean_rank"].values[:, 0], stats.rankdata(-recalls, axis=0).mean(axis=1), atol=1e-12
        )
        assert (found["n"].values.item(), found.attrs["unit_of_comparison"]) == (3, "class")
        assert found["letters"].shape == (4, 1)

    def test_normalised_accuracy_is_ranked_on_folds(self):
        world = World(60, systems=4, track_meta={"fold": ["a", "b", "c", "d", "e"] * 12})
        found = world.board.mirflow.compare(**question(across={"class": "mean"}), unit="fold", friedman=True)
        folds = [slice(fold, None, 5) for fold in range(5)]
        means = np.array([[np.nanmean(world.values("recall", s, fold)) for fold in folds] for s in range(4)])
        expected = stats.friedmanchisquare(*means.round(10))
        assert found["statistic"].values.item() == pytest.approx(expected.statistic, abs=1e-12)
        assert (found["n"].values.item(), found.attrs["unit_of_comparison"]) == (5, "fold")

    def test_a_column_of_the_tracks_called_class_is_another_thing(self):
        plain, other = (
            World(60, systems=3, **words).board for words in ({}, {"track_meta": {"class": ["a", "b"] * 30}})
        )
        one, other = (board.mirflow.compare(**question(), unit="class", friedman=True) for board in (plain, other))
        xr.testing.assert_equal(one, other)

    def test_a_class_that_a_system_has_no_value_of_does_not_count(self):
        world = World(30, systems=3)
        world.guessed[1] = np.where(world.guessed[1] == 2, 0, world.guessed[1])
        found = world.dataset().mirflow.compare(**question("precision"), unit="class", friedman=True)
        assert found["n"].values.item() == 2

    def test_what_they_are_not_for(self):
        board = World(9, track_meta={"fold": ["a", "b", "c"] * 3}).board
        with pytest.raises(UnknownNameError, match="unknown unit 'clas'; did you mean 'class'"):
            board.mirflow.compare(**question(), unit="clas", friedman=True)
        with pytest.raises(QueryError, match="ranked on each class over all tracks"):
            friedman(board, make_query("friedman", **question(by="fold")), unit="class")
        with pytest.raises(QueryError, match="across 'class': the values of the units are ranked one by one"):
            board.mirflow.compare(**question(across={"class": "mean"}), unit="class", friedman=True)
        with pytest.raises(QueryError, match=r"unit 'fold': metric 'confusion' has further dims \(class\)"):
            board.mirflow.compare(**question(), unit="fold", friedman=True)
        with pytest.raises(QueryError, match="across 'class': systems are ranked by one value that can be better"):
            board.mirflow.compare(**question(across={"class": "mean,std"}), unit="fold", friedman=True)
        lacking = World(9, track_meta={"fold": ["a", "b", "c"] * 2 + ["", "", "a"]}).board
        with pytest.raises(QueryError, match="unit 'fold': 2 tracks without a value of it"):
            lacking.mirflow.compare(**question(across={"class": "mean"}), unit="fold", friedman=True)
        with pytest.raises(QueryError, match="1 system to compare"):
            board.mirflow.compare(**question(system="S0"), unit="class", friedman=True)
        with pytest.raises(QueryError, match=r"unit 'ref_class': metric 'confusion' has further dims \(est_class\)"):
            board.mirflow.compare(**question("mean"), unit="ref_class", friedman=True)
        with pytest.raises(QueryError, match="metric 'confusion' has the dims ref_class and est_class"):
            board.mirflow.compare(**question(), friedman=True)


def test_of_several_stored_parameters_the_default_ones_are_compared() -> None:
    world = World(30, systems=3, track_meta={"fold": ["a", "b", "c"] * 10})
    ds = world.dataset(track_meta={"fold": ["a", "b", "c"] * 10})
    ds["confusion_tetrads"] = ds[VARIABLE][..., ::-1].assign_coords(est_class=CLASSES)
    board, asked = ds, question(across={"class": "mean"})
    named = asked | {"metric": "confusion@tetrads"}
    alone = world.board.mirflow.compare(**asked, replicates=50)
    for words in (asked, asked | {"param": {"vocabulary": "majmin"}}):
        np.testing.assert_array_equal(board.mirflow.compare(**words, replicates=50)["value"], alone["value"])
        ranks = board.mirflow.compare(**words, unit="fold", friedman=True)["statistic"].values
        np.testing.assert_array_equal(
            ranks, world.board.mirflow.compare(**asked, unit="fold", friedman=True)["statistic"].values
        )
    other = board.mirflow.compare(**asked | {"param": {"vocabulary": "tetrads"}}, replicates=50)
    np.testing.assert_array_equal(other["value"], board.mirflow.compare(**named, replicates=50)["value"])
    assert (other["value"].values != alone["value"].values).any()
    with pytest.raises(QueryError, match="of those with vocabulary=triads; name it alone"):
        board.mirflow.compare(**asked | {"param": {"vocabulary": "triads"}})


class TestBySimulation:
    """Systems of a known population: each class has its own recall, and errors fall on the other two alike."""

    SHARES, RECALLS = np.array([0.5, 0.3, 0.2]), np.array([0.8, 0.6, 0.7])

    @classmethod
    def draw(cls, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Confusions (..., tracks, 3, 3) of independent tracks."""
        labels = rng.choice(3, shape, p=cls.SHARES)
        wrong = (labels + rng.integers(1, 3, shape)) % 3
        guessed = np.where(rng.random(shape) < cls.RECALLS[labels], labels, wrong)
        return np.eye(3)[labels][..., np.newaxis] * np.eye(3)[guessed][..., np.newaxis, :]

    @classmethod
    def expected(cls, kind: str) -> float:
        wrong = (1 - cls.RECALLS) / 2 * cls.SHARES
        hits = cls.SHARES * cls.RECALLS
        guessed = hits + wrong.sum() - wrong
        return float({"recall": cls.RECALLS, "f_measure": 2 * hits / (cls.SHARES + guessed)}[kind].mean())

    @staticmethod
    def board(confusions: np.ndarray):
        systems, tracks = confusions.shape[:2]
        ds = make_group(np.ones((systems, tracks, 1)), status=np.full((systems, tracks), "ok", dtype=object))
        ds[VARIABLE] = (("system", "track", "ref_class", "est_class"), confusions)
        return ds.assign_coords(ref_class=CLASSES, est_class=CLASSES)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["recall", "f_measure"])
    def test_intervals_hold_the_true_value_as_often_as_their_level(self, kind):
        board = self.board(self.draw(np.random.default_rng(21), 2000, 200))
        found = board.mirflow.query(**question(kind, across={"class": "mean"}), replicates=1000, ci=0.95)
        held = (found["low"] <= self.expected(kind)) & (self.expected(kind) <= found["high"])
        assert 0.935 < held.mean() < 0.965

    @pytest.mark.slow
    def test_equal_systems_differ_as_rarely_as_they_should(self):
        rng, asked = np.random.default_rng(22), question("f_measure", across={"class": "mean"})
        p = [
            self.board(self.draw(rng, 2, 60)).mirflow.compare(**asked, replicates=500)["p"].values[0, 1, 0]
            for _ in range(1000)
        ]
        assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07
