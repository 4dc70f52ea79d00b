"""Agreement of graders over tables of judgements, their time on task, and rankings without the middle category."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from mirflow.analysis.judgements import fine_within_broad, grader_agreement
from mirflow.campaign.grading.assignment import Pair
from mirflow.campaign.grading.judgement_tables import GraderJudgement, GradingEvent, to_time
from mirflow.campaign.grading.pool import pool
from mirflow.campaign.grading.rater_agreement import (
    MEASURES,
    collection_of,
    progress,
    reliability,
    self_agreement,
    time_on_task,
    without_middle,
)
from mirflow.errors import AnnotationError, GradingError, QueryError
from mirflow.kernels.agreement import intraclass_correlation, krippendorff_alpha, mean_kappa
from mirflow.metrics.similarity import BROAD


def random_rows(
    seed: int, graders: int = 4, share: float = 1.0
) -> tuple[list[GraderJudgement], np.ndarray, np.ndarray]:
    """Judgements, and their levels and fine parts as tables of pairs and graders."""
    rng = np.random.default_rng(seed)
    level = np.clip(rng.integers(0, 3, (40, 1)) + rng.integers(-1, 2, (40, graders)), 0, 2).astype(float)
    fine = np.round(np.clip(4 * level + rng.normal(1, 2, level.shape), 0, 10), 1)
    level[rng.random(level.shape) > share] = np.nan
    fine[np.isnan(level)] = np.nan
    rows = [
        GraderJudgement(f"g{grader}", f"q{item // 10}", f"c{item % 10}", BROAD[int(one)], float(fine[item, grader]))
        for (item, grader), one in np.ndenumerate(level)
        if not np.isnan(one)
    ]
    return rows, level, fine


class TestReliability:
    @pytest.mark.parametrize("share", [1.0, 0.6])
    def test_values_are_those_of_the_tables_of_pairs_and_graders(self, share: float) -> None:
        rows, level, fine = random_rows(1, share=share)
        found = reliability(collection_of(rows))
        value = dict(zip(found.measure.values.tolist(), found.value.values.tolist(), strict=True))
        several = (~np.isnan(level)).sum(axis=1) > 1
        assert value["weighted_kappa"] == pytest.approx(mean_kappa(level[several], 3, "linear"), abs=1e-12)
        assert value["alpha_ordinal"] == pytest.approx(krippendorff_alpha(level, "ordinal"), abs=1e-12)
        assert value["alpha_interval"] == pytest.approx(krippendorff_alpha(fine), abs=1e-12)
        assert value["icc1"] == pytest.approx(intraclass_correlation(fine), abs=1e-12)
        assert np.isnan(value["icc2"]) == (share < 1)
        assert set(found.compared.values.tolist()) == {int(several.sum())}

    def test_intervals_draw_queries_again_with_all_their_pairs(self) -> None:
        rows, level, _ = random_rows(2)
        found = reliability(collection_of(rows), 0.9, seed=3).sel(measure="alpha_ordinal")
        replicates = []
        for draw in np.random.default_rng(3).integers(0, 4, (1000, 4)):
            table = np.concatenate([level[10 * query : 10 * query + 10] for query in draw])
            replicates.append(krippendorff_alpha(table, "ordinal"))
        expected = np.quantile(replicates, [0.05, 0.95])
        assert [found.low.item(), found.high.item()] == pytest.approx(expected.tolist(), abs=1e-9)
        assert found.low.item() < found.value.item() < found.high.item()

    def test_every_measure_has_an_interval(self) -> None:
        found = reliability(collection_of(random_rows(4)[0]), 0.95)
        assert found.sizes["measure"] == len(MEASURES)
        assert bool((found.low < found.high).all())
        assert found.attrs == {"level": 0.95, "replicates": 1000, "unit": "query"}
        with pytest.raises(QueryError, match="level 95"):
            reliability(collection_of(random_rows(4)[0]), 95)

    def test_without_names_of_graders_measures_of_anybody_remain(self) -> None:
        rows, level, _ = random_rows(5)
        nameless = collection_of(
            [
                GraderJudgement(f"{number}", one.query, one.candidate, one.broad, one.fine)
                for number, one in enumerate(rows)
            ]
        )
        nameless.rows.columns["grader"][:] = ""
        found = reliability(nameless)
        assert found.value.sel(measure="alpha_nominal").item() == pytest.approx(krippendorff_alpha(level, "nominal"))
        assert bool(found.value.sel(measure=["weighted_kappa", "icc2"]).isnull().all())

    def test_of_a_single_grader_nothing_is_defined(self) -> None:
        found = reliability(collection_of(random_rows(6, graders=1)[0]), 0.95)
        assert bool(found.value.isnull().all())
        assert set(found.compared.values.tolist()) == {0}


class TestCollection:
    def test_what_the_analysis_reads(self) -> None:
        rows, level, _ = random_rows(7)
        changed = [
            *rows,
            GraderJudgement("g0", "q0", "c0", "NS", 0.0),
            GraderJudgement("g0", "q0", "c1", "VS", 9.0, repeat=True),
        ]
        found = collection_of(changed)
        assert len(found.rows.columns["label"]) == len(rows)
        assert grader_agreement(found).graded.values.tolist() == [40, 40]
        assert int(fine_within_broad(found).n.sum()) == level.size

    def test_nothing_yet(self) -> None:
        with pytest.raises(AnnotationError, match="no judgements yet"):
            collection_of([GraderJudgement("g", "q", "c")])


class TestSelfAgreement:
    def test_first_and_second_judgements_of_each_grader_and_of_all(self) -> None:
        rng = np.random.default_rng(8)
        rows, levels = [], {}
        for grader in ("ada", "bob"):
            first = rng.integers(0, 3, 30)
            second = np.clip(first + rng.integers(-1, 2, 30), 0, 2)
            levels[grader] = first, second
            for place, both in enumerate(zip(first, second, strict=True)):
                for repeat, level in enumerate(both):
                    rows.append(GraderJudgement(grader, "q", f"c{place}", BROAD[level], 4.0 * level, bool(repeat)))
        rows.append(GraderJudgement("ada", "q", "only", "NS", 0.0))
        found = self_agreement(rows)
        assert [one.grader for one in found] == ["ada", "bob", ""]
        for one in found[:2]:
            first, second = levels[one.grader]
            assert one.repeats == 30
            assert one.same == pytest.approx((first == second).mean())
            assert one.weighted_kappa == pytest.approx(cohen_kappa_score(first, second, weights="linear"), abs=1e-12)
            assert one.difference == pytest.approx(4 * np.abs(first - second).mean())
        assert found[2].repeats == 60

    def test_without_repeats(self) -> None:
        (everybody,) = self_agreement([GraderJudgement("g", "q", "c", "NS")])
        assert everybody.repeats == 0
        assert np.isnan(everybody.same)


class TestTime:
    def test_what_leads_to_an_event_is_time_on_its_pair(self) -> None:
        start = to_time("2027-03-01T12:00:00Z")

        def event(seconds: float, what: str, candidate: str = "", grader: str = "g") -> GradingEvent:
            return GradingEvent(start + timedelta(seconds=seconds), grader, what, "q" if candidate else "", candidate)

        log = [
            event(0, "came"),
            event(3, "played", "a"),
            event(4, "played", "b", grader="h"),
            event(20, "judged", "a"),
            event(25, "played", "b"),
            event(500, "judged", "b"),  # was away
            event(510, "judged", "b"),
            event(520, "went"),
        ]
        expected = {"g": {Pair("q", "a"): 20.0, Pair("q", "b"): 15.0}}
        assert time_on_task(log) == expected
        assert time_on_task(log[::-1]) == expected
        assert time_on_task(log, idle=600)["g"][Pair("q", "b")] == 490


class TestProgress:
    def test_counts(self) -> None:
        pairs = [Pair("q", "a"), Pair("q", "b"), Pair("q", "c")]
        rows = [
            GraderJudgement("g", "q", "a", "NS"),
            GraderJudgement("h", "q", "a", "NS", known=True),
            GraderJudgement("i", "q", "a", "NS"),
            GraderJudgement("g", "q", "b", "NS", cannot_hear=True),
            GraderJudgement("g", "q", "a", "SS", repeat=True),
        ]
        found = progress(rows, pairs, 2)
        assert (found.pairs, found.graders, found.wanted, found.judged) == (3, 3, 6, 2)
        assert found.by_count == {0: 2, 3: 1}
        assert (found.cannot_hear, found.known, found.repeats) == (1, 1, 1)
        assert found.share == pytest.approx(1 / 3)


KEY = pool({"A": {"q": ["w", "x"]}, "B": {"q": ["y", "z"]}}, ["q"], 2, "s")
ID = {one.piece: one.candidate for one in KEY.returned}


class TestMiddle:
    def rows(self, **said: str) -> list[GraderJudgement]:
        """Judgements of pieces, a letter each: N, S, V."""
        return [
            GraderJudgement(f"g{number}", "q", ID[piece], f"{letter}S")
            for piece, letters in said.items()
            for number, letter in enumerate(letters)
        ]

    def test_systems_change_places_where_the_middle_counts_otherwise(self) -> None:
        found = without_middle(self.rows(w="SS", x="SS", y="VV", z="NN"), KEY)
        score = {name: found.score.sel(scheme=name).values.tolist() for name in found.scheme.values.tolist()}
        assert score["NS, SS, VS"] == [0.5, 0.5]
        assert score["SS as VS"] == [1.0, 0.5]
        assert score["SS as NS"] == [0.0, 0.5]
        assert np.isnan(score["without SS"][0])
        assert found["rank"].sel(scheme="NS, SS, VS").values.tolist() == [1.5, 1.5]
        assert found["rank"].sel(scheme="SS as NS").values.tolist() == [2.0, 1.0]

    def test_a_candidate_counts_the_mean_of_its_graders(self) -> None:
        found = without_middle(self.rows(w="VN", x="VVS", y="N"), KEY)
        assert found.score.sel(scheme="NS, SS, VS").values.tolist() == pytest.approx([(0.5 + 2.5 / 3) / 2, 0.0])
        assert found.score.sel(scheme="without SS").values.tolist() == [0.75, 0.0]

    def test_systems_whose_judgements_add_up_to_the_same_are_equal(self) -> None:
        """Means of thirds in another order differ by a rounding."""
        key = pool({"A": {"q": ["1", "2", "3"]}, "B": {"q": ["4", "5", "6"]}}, ["q"], 3, "s")
        own = {one.piece: one.candidate for one in key.returned}
        said = {"1": "VVN", "2": "VNN", "3": "VVV", "4": "VVV", "5": "VVN", "6": "VNN"}
        rows = [
            GraderJudgement(f"g{number}", "q", own[piece], f"{letter}S")
            for piece, letters in said.items()
            for number, letter in enumerate(letters)
        ]
        assert without_middle(rows, key)["rank"].values.tolist() == [[1.5, 1.5]] * 4

    def test_tau_tells_how_much_the_ranking_changes(self) -> None:
        rng = np.random.default_rng(9)
        lists = {f"s{number}": {"q": [f"p{number}-{one}" for one in range(4)]} for number in range(6)}
        key = pool(lists, ["q"], 4, "s")
        rows = [GraderJudgement("g", "q", one.candidate, BROAD[rng.integers(3)]) for one in key.returned]
        found = without_middle(rows, key)
        for scheme in found.scheme.values.tolist():
            expected = kendalltau(found.score.sel(scheme="NS, SS, VS"), found.score.sel(scheme=scheme)).statistic
            assert found.tau.sel(scheme=scheme).item() == pytest.approx(expected)

    def test_without_broad_judgements(self) -> None:
        with pytest.raises(GradingError, match="no broad judgements yet"):
            without_middle([GraderJudgement("g", "q", "c", fine=1.0)], KEY)
