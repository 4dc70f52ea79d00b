"""Agreement of graders, their time on task, rankings without the middle category, and groups that they tell apart."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from mirflow.analysis.judgements import fine_within_broad, grader_agreement
from mirflow.campaign.grading.assignment import Pair
from mirflow.campaign.grading.judgement_tables import GraderJudgement, GradingEvent, to_time
from mirflow.campaign.grading.pool import pool
from mirflow.campaign.grading.rater_agreement import (
    MEASURES,
    GroundTruth,
    collection_of,
    grader_work,
    group_candidates,
    progress,
    reliability,
    self_agreement,
    time_on_task,
    without_middle,
    write_ground_truth,
)
from mirflow.errors import AnnotationError, GradingError, QueryError
from mirflow.kernels.agreement import Ratings, alpha_sums, intraclass_sums, kappa_sums
from mirflow.metrics.similarity import BROAD, average_dynamic_recall
from mirflow.store.read import read_scores

from ...commands import invoke


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
    def test_values_are_those_of_the_tables_of_pairs_and_graders(self, share):
        rows, level, fine = random_rows(1, share=share)
        found = reliability(collection_of(rows))
        value = dict(zip(found.measure.values.tolist(), found.value.values.tolist(), strict=True))
        several = (~np.isnan(level)).sum(axis=1) > 1
        assert value["weighted_kappa"] == pytest.approx(
            kappa_sums(Ratings.of(level[several]), 3, "linear").whole(), abs=1e-12
        )
        assert value["alpha_ordinal"] == pytest.approx(alpha_sums(Ratings.of(level), "ordinal").whole(), abs=1e-12)
        assert value["alpha_interval"] == pytest.approx(alpha_sums(Ratings.of(fine)).whole(), abs=1e-12)
        assert value["icc1"] == pytest.approx(intraclass_sums(Ratings.of(fine)).whole(), abs=1e-12)
        assert np.isnan(value["icc2"]) == (share < 1)
        assert set(found.compared.values.tolist()) == {int(several.sum())}

    def test_intervals_draw_queries_again_with_all_their_pairs(self):
        rows, level, _ = random_rows(2)
        found = reliability(collection_of(rows), 0.9, seed=3).sel(measure="alpha_ordinal")
        replicates = []
        for draw in np.random.default_rng(3).integers(0, 4, (1000, 4)):
            table = np.concatenate([level[10 * query : 10 * query + 10] for query in draw])
            replicates.append(alpha_sums(Ratings.of(table), "ordinal").whole())
        expected = np.quantile(replicates, [0.05, 0.95])
        assert [found.low.item(), found.high.item()] == pytest.approx(expected.tolist(), abs=1e-9)
        assert found.low.item() < found.value.item() < found.high.item()

    def test_every_measure_has_an_interval(self):
        found = reliability(collection_of(random_rows(4)[0]), 0.95)
        assert found.sizes["measure"] == len(MEASURES)
        assert bool((found.low < found.high).all())
        assert found.attrs == {"level": 0.95, "replicates": 1000, "unit": "query"}
        with pytest.raises(QueryError, match="level 95"):
            reliability(collection_of(random_rows(4)[0]), 95)

    def test_without_names_of_graders_measures_of_anybody_remain(self):
        rows, level, _ = random_rows(5)
        nameless = collection_of(
            [
                GraderJudgement(f"{number}", one.query, one.candidate, one.broad, one.fine)
                for number, one in enumerate(rows)
            ]
        )
        nameless.rows.columns["grader"][:] = ""
        found = reliability(nameless)
        assert found.value.sel(measure="alpha_nominal").item() == pytest.approx(
            alpha_sums(Ratings.of(level), "nominal").whole()
        )
        assert bool(found.value.sel(measure=["weighted_kappa", "icc2"]).isnull().all())

    def test_of_a_single_grader_nothing_is_defined(self):
        found = reliability(collection_of(random_rows(6, graders=1)[0]), 0.95)
        assert bool(found.value.isnull().all())
        assert set(found.compared.values.tolist()) == {0}


class TestCollection:
    def test_what_the_analysis_reads(self):
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

    def test_nothing_yet(self):
        with pytest.raises(AnnotationError, match="no judgements yet"):
            collection_of([GraderJudgement("g", "q", "c")])


class TestSelfAgreement:
    def test_first_and_second_judgements_of_each_grader_and_of_all(self):
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

    def test_without_repeats(self):
        (everybody,) = self_agreement([GraderJudgement("g", "q", "c", "NS")])
        assert everybody.repeats == 0
        assert np.isnan(everybody.same)


class TestTime:
    def test_what_leads_to_an_event_is_time_on_its_pair(self):
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
    def test_counts(self):
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

    def test_systems_change_places_where_the_middle_counts_otherwise(self):
        found = without_middle(self.rows(w="SS", x="SS", y="VV", z="NN"), KEY)
        score = {name: found.score.sel(scheme=name).values.tolist() for name in found.scheme.values.tolist()}
        assert score["NS, SS, VS"] == [0.5, 0.5]
        assert score["SS as VS"] == [1.0, 0.5]
        assert score["SS as NS"] == [0.0, 0.5]
        assert np.isnan(score["without SS"][0])
        assert found["rank"].sel(scheme="NS, SS, VS").values.tolist() == [1.5, 1.5]
        assert found["rank"].sel(scheme="SS as NS").values.tolist() == [2.0, 1.0]

    def test_a_candidate_counts_the_mean_of_its_graders(self):
        found = without_middle(self.rows(w="VN", x="VVS", y="N"), KEY)
        assert found.score.sel(scheme="NS, SS, VS").values.tolist() == pytest.approx([(0.5 + 2.5 / 3) / 2, 0.0])
        assert found.score.sel(scheme="without SS").values.tolist() == [0.75, 0.0]

    def test_systems_whose_judgements_add_up_to_the_same_are_equal(self):
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

    def test_tau_tells_how_much_the_ranking_changes(self):
        rng = np.random.default_rng(9)
        lists = {f"s{number}": {"q": [f"p{number}-{one}" for one in range(4)]} for number in range(6)}
        key = pool(lists, ["q"], 4, "s")
        rows = [GraderJudgement("g", "q", one.candidate, BROAD[rng.integers(3)]) for one in key.returned]
        found = without_middle(rows, key)
        for scheme in found.scheme.values.tolist():
            expected = kendalltau(found.score.sel(scheme="NS, SS, VS"), found.score.sel(scheme=scheme)).statistic
            assert found.tau.sel(scheme=scheme).item() == pytest.approx(expected)

    def test_without_broad_judgements(self):
        with pytest.raises(GradingError, match="no broad judgements yet"):
            without_middle([GraderJudgement("g", "q", "c", fine=1.0)], KEY)


def grouped(fine: dict[str, list[float]], level: float = 0.05, **options: object) -> GroundTruth:
    """The ground truth of a query by the fine judgements of graders, who judged every candidate in the same order."""
    rows = [
        GraderJudgement(f"g{number}", "q", name, fine=value)
        for name, own in fine.items()
        for number, value in enumerate(own)
    ]
    return group_candidates(collection_of(rows), level, **options)


def groups_of(found: GroundTruth) -> list[list[str]]:
    """The groups of the query, the most similar first."""
    groups: dict[int, list[str]] = {}
    for row in found.candidates:
        if row.group:
            groups.setdefault(row.group, []).append(row.candidate)
    return list(groups.values())


# Five graders, who found a and b more similar than c and d.
FINE = {"b": [8, 8.5, 9, 9.5, 7], "a": [8, 9, 9.2, 9.4, 7.5], "c": [4, 5, 5.5, 6, 3], "d": [4.5, 5, 5.2, 6.1, 2]}


class TestGroups:
    def test_a_group_begins_where_a_candidate_differs_from_all_before_it(self):
        found = grouped(FINE)
        assert groups_of(found) == [["a", "b"], ["c", "d"]]
        assert [one.grade for one in found.candidates] == [2, 2, 1, 1]
        assert [one.median for one in found.candidates] == [9.0, 8.5, 5.0, 5.0]  # the mean of c is above that of d
        assert found.undecided == ()

    @settings(deadline=None, max_examples=40)
    @given(
        st.lists(st.lists(st.integers(1, 100), min_size=5, max_size=5), min_size=2, max_size=6),
        st.sampled_from(["all", "any", "previous"]),
        st.sampled_from(["rank-sum", "signed-rank"]),
        st.sampled_from([0.05, 0.25]),
    )
    def test_borders_are_where_the_tests_of_scipy_say(self, values, differs_from, test, level):
        names = {f"c{number}": [float(one) for one in own] for number, own in enumerate(values)}
        found = grouped(names, level, differs_from=differs_from, test=test)
        order = [one.candidate for one in found.candidates]
        medians = [np.median(names[name]) for name in order]
        assert medians == sorted(medians, reverse=True)

        def p(one: str, other: str) -> float:
            left, right = np.array(names[one]), np.array(names[other])
            if test == "rank-sum":
                return 1.0 if len({*left, *right}) == 1 else stats.mannwhitneyu(left, right).pvalue
            return 1.0 if (left == right).all() else stats.wilcoxon((left - right)[left != right]).pvalue

        groups = groups_of(found)
        assert [name for group in groups for name in group] == order
        for before, group in itertools.pairwise(groups):
            compared = before[-1:] if differs_from == "previous" else before
            differences = [p(one, group[0]) <= level for one in compared]
            assert any(differences) if differs_from == "any" else all(differences)
        for group in groups:
            for place, name in enumerate(group[1:], 1):
                compared = group[place - 1 : place] if differs_from == "previous" else group[:place]
                differences = [p(one, name) <= level for one in compared]
                assert not (any(differences) if differs_from == "any" else all(differences))

    def test_candidates_that_most_graders_found_not_similar_are_in_no_group(self):
        rows = [GraderJudgement(f"g{n}", "q", "a", broad, 5.0) for n, broad in enumerate(("NS", "SS", "VS"))]
        rows += [GraderJudgement(f"g{n}", "q", "b", broad, 6.0) for n, broad in enumerate(("NS", "NS", "VS"))]
        found = group_candidates(collection_of(rows))
        assert groups_of(found) == [["a"]]
        assert [(one.candidate, one.group, one.grade) for one in found.candidates] == [("a", 1, 1), ("b", 0, 0)]
        assert groups_of(group_candidates(collection_of(rows), above=1.0)) == []

    def test_ranks_take_out_that_graders_use_the_scale_differently(self):
        kind, strict = [9, 8, 7, 6], [4, 3, 2, 1]
        fine = {name: [float(kind[n]), float(strict[n])] * 4 for n, name in enumerate("abcd")}
        assert groups_of(grouped(fine)) == [list("abcd")]
        assert groups_of(grouped(fine, by="rank")) == [["a"], ["b"], ["c"], ["d"]]

    def test_differences_of_each_grader_take_it_out_too(self):
        fine = {name: [one - n for one in (9.0, 4.0, 8.5, 3.5, 9.3, 5.0)] for n, name in enumerate("ab")}
        assert groups_of(grouped(fine)) == [["a", "b"]]
        assert groups_of(grouped(fine, test="signed-rank")) == [["a"], ["b"]]

    def test_queries_with_too_few_judgements_are_named(self):
        fine = {"a": [9.0, 8.0, 7.0], "b": [1.0, 2.0, 3.0]}
        found = grouped(fine)
        assert groups_of(found) == [["a", "b"]]
        assert found.undecided == ("q",)
        assert grouped(fine, level=0.1).undecided == ()
        assert groups_of(grouped(fine, level=0.1)) == [["a"], ["b"]]

    def test_what_cannot_be_compared(self):
        broad = [GraderJudgement("g", "q", "a", "VS")]
        with pytest.raises(GradingError, match="no fine judgements to group by"):
            group_candidates(collection_of(broad))
        assert groups_of(group_candidates(collection_of(broad), by="broad")) == [["a"]]
        with pytest.raises(GradingError, match="query 'q': not all of its graders judged 'b'"):
            grouped({"a": [1.0, 2.0], "b": [1.0]}, by="rank")
        with pytest.raises(QueryError, match="level 5"):
            grouped(FINE, 5)
        with pytest.raises(AnnotationError, match="nonesuch"):
            group_candidates("nonesuch.csv")


class TestScores:
    def test_average_dynamic_recall_of_the_table_is_that_of_the_groups(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        found = grouped(FINE)
        write_ground_truth(found, "truth.csv", {"level": 0.05})
        results = ["c", "a", "x", "b"]
        Path("lists").mkdir()
        Path("lists/S.csv").write_text("query,candidate\n" + "".join(f"q,{name}\n" for name in results))
        Path("adr.yaml").write_text(
            "name: adr\nevaluations:\n  - task: similarity\n    metrics: ['average_dynamic_recall@0(by=fine)']\n"
            "    reference: truth.csv\n    estimates: lists/{system}.csv\nstore: adr.zarr\n"
        )
        invoke("run", "adr.yaml", "--quiet", code=0)
        expected = average_dynamic_recall(groups_of(found), results)
        assert read_scores("adr.zarr")["similarity"].score.item() == pytest.approx(expected, abs=1e-12)

    def test_the_task_retrieval_reads_the_grades(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write_ground_truth(grouped(FINE), "truth.csv", {"level": 0.05})  # grades: a and b 2, c and d 1
        Path("S.csv").write_text("query,candidate\nq,c\nq,a\nq,x\n")
        Path("ranked.yaml").write_text(
            "name: ranked\nevaluations:\n  - task: retrieval\n    metrics: ['ndcg@3', 'recall@3']\n"
            "    reference: truth.csv\n    estimates: '{system}.csv'\n    systems: [S]\nstore: ranked.zarr\n"
        )
        invoke("run", "ranked.yaml", "--quiet", code=0)
        ndcg, recall = read_scores("ranked.zarr")["retrieval"].score.values.ravel().tolist()
        gains = 1 / np.log2([2, 3, 4])
        assert ndcg == pytest.approx((gains @ [1, 2, 0]) / (gains @ [2, 2, 1]), abs=1e-12)
        assert recall == 0.5

    def test_the_command(self, tmp_path):
        table = tmp_path / "judgements.csv"
        rows = [f"q,{name},g{number},{value}" for name, own in FINE.items() for number, value in enumerate(own)]
        table.write_text("\n".join(["query,candidate,grader,fine", *rows]) + "\n")
        out = tmp_path / "truth.csv"
        shown = invoke("grading", "groups", table, "-o", out, code=0)
        assert "queries with 2 groups" in shown.output
        assert out.read_text().startswith("# level: 0.05\n# by: fine\n# test: rank-sum\n")
        assert "truth.csv exists" in invoke("grading", "groups", table, "-o", out, code=2).output
        few = invoke("grading", "groups", table, "-o", out, "--force", "--level", "0.001", code=0)
        assert "too few graders for differences at level 0.001: 1 of 1 queries, such as 'q'" in few.output


def test_the_share_that_was_heard_is_the_median_of_a_grader() -> None:
    judgements = [
        GraderJudgement("g", "q", name, "NS", heard=heard) for name, heard in zip("abc", (0.5, 0.6, 1.0), strict=True)
    ]
    work = grader_work(judgements, graders=["h"])
    assert work["g"].median_heard == work[""].median_heard == 0.6
    assert np.isnan(work["h"].median_heard)
