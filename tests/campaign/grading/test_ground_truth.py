"""Groups of equally similar candidates: their order, their borders by Wilcoxon's tests, and what ADR makes of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mirflow.campaign.grading.judgement_tables import GraderJudgement
from mirflow.campaign.grading.rater_agreement import GroundTruth, collection_of, group_candidates, write_ground_truth
from mirflow.errors import AnnotationError, GradingError, QueryError
from mirflow.metrics.similarity import average_dynamic_recall
from mirflow.store.read import read_scores

from ...commands import invoke


def grouped(fine: dict[str, list[float]], level: float = 0.05, **options: object) -> GroundTruth:
    """The ground truth of a query by the fine judgements of graders, who judged every candidate in the same order."""
    rows = [
        GraderJudgement(f"g{number}", "q", name, fine=value)
        for name, own in fine.items()
        for number, value in enumerate(own)
    ]
    return group_candidates(collection_of(rows), level, **options)  # type: ignore[arg-type]


# Five graders, who found a and b more similar than c and d.
FINE = {"b": [8, 8.5, 9, 9.5, 7], "a": [8, 9, 9.2, 9.4, 7.5], "c": [4, 5, 5.5, 6, 3], "d": [4.5, 5, 5.2, 6.1, 2]}


class TestGroups:
    def test_a_group_begins_where_a_candidate_differs_from_all_before_it(self) -> None:
        found = grouped(FINE)
        assert found.groups("q") == [["a", "b"], ["c", "d"]]
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
    def test_borders_are_where_the_tests_of_scipy_say(
        self, values: list[list[int]], differs_from: str, test: str, level: float
    ) -> None:
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

        groups = found.groups("q")
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

    def test_candidates_that_most_graders_found_not_similar_are_in_no_group(self) -> None:
        rows = [GraderJudgement(f"g{n}", "q", "a", broad, 5.0) for n, broad in enumerate(("NS", "SS", "VS"))]
        rows += [GraderJudgement(f"g{n}", "q", "b", broad, 6.0) for n, broad in enumerate(("NS", "NS", "VS"))]
        found = group_candidates(collection_of(rows))
        assert found.groups("q") == [["a"]]
        assert [(one.candidate, one.group, one.grade) for one in found.candidates] == [("a", 1, 1), ("b", 0, 0)]
        assert group_candidates(collection_of(rows), above=1.0).groups("q") == []

    def test_ranks_take_out_that_graders_use_the_scale_differently(self) -> None:
        kind, strict = [9, 8, 7, 6], [4, 3, 2, 1]
        fine = {name: [float(kind[n]), float(strict[n])] * 4 for n, name in enumerate("abcd")}
        assert grouped(fine).groups("q") == [list("abcd")]
        assert grouped(fine, by="rank").groups("q") == [["a"], ["b"], ["c"], ["d"]]

    def test_differences_of_each_grader_take_it_out_too(self) -> None:
        fine = {name: [one - n for one in (9.0, 4.0, 8.5, 3.5, 9.3, 5.0)] for n, name in enumerate("ab")}
        assert grouped(fine).groups("q") == [["a", "b"]]
        assert grouped(fine, test="signed-rank").groups("q") == [["a"], ["b"]]

    def test_queries_with_too_few_judgements_are_named(self) -> None:
        fine = {"a": [9.0, 8.0, 7.0], "b": [1.0, 2.0, 3.0]}
        found = grouped(fine)
        assert found.groups("q") == [["a", "b"]]
        assert found.undecided == ("q",)
        assert grouped(fine, level=0.1).undecided == ()
        assert grouped(fine, level=0.1).groups("q") == [["a"], ["b"]]

    def test_what_cannot_be_compared(self) -> None:
        broad = [GraderJudgement("g", "q", "a", "VS")]
        with pytest.raises(GradingError, match="no fine judgements to group by"):
            group_candidates(collection_of(broad))
        assert group_candidates(collection_of(broad), by="broad").groups("q") == [["a"]]
        with pytest.raises(GradingError, match="query 'q': not all of its graders judged 'b'"):
            grouped({"a": [1.0, 2.0], "b": [1.0]}, by="rank")
        with pytest.raises(QueryError, match="level 5"):
            grouped(FINE, 5)
        with pytest.raises(AnnotationError, match="nonesuch"):
            group_candidates("nonesuch.csv")


class TestScores:
    def test_average_dynamic_recall_of_the_table_is_that_of_the_groups(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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
        expected = average_dynamic_recall(found.groups("q"), results)
        assert read_scores("adr.zarr")["similarity"].score.item() == pytest.approx(expected, abs=1e-12)

    def test_the_task_retrieval_reads_the_grades(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    def test_the_command(self, tmp_path: Path) -> None:
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
