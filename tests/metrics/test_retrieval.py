"""Retrieval against trec_eval, against definitions written out, and against the chapter's example."""

from __future__ import annotations

import math
import typing

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import MetricError
from mirflow.metrics import retrieval
from mirflow.metrics.base import Pairs, get_task
from mirflow.ragged import Ragged

MIREX = get_task("retrieval").convention("mirex")
TREC = get_task("retrieval").convention("trec_eval")

# What trec_eval calls a measure, and what it is here.
OF_TREC = {
    "map": "average_precision",
    "map_cut_5": "average_precision@5",
    "recip_rank": "reciprocal_rank",
    "P_5": "precision@5",
    "P_10": "precision",
    "set_P": "precision@0",
    "recall_5": "recall@5",
    "recall_10": "recall",
    "set_recall": "recall@0",
    "set_F": "f_measure@0",
    "Rprec": "r_precision",
    "ndcg": "ndcg@0",
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_10": "ndcg",
    "success_1": "hit_rate@1",
    "success_10": "hit_rate",
    "num_rel_ret": "covers_in_first@1000000",
}
TOLERANCE = {"rtol": 0, "atol": 1e-12}


def ranking(items, values=None, left_out=None) -> Annotation:
    columns = {"value": values, "left_out": left_out}
    return Annotation(
        "ranking", {name: np.array(one, dtype=float) for name, one in columns.items() if one is not None}, list(items)
    )


def score_all(references, estimates, measures, rules=MIREX):
    """Scores of reference and estimate of the same number."""
    sides = [rules.clean(to_ragged(side)) for side in (references, estimates)]
    assert not sides[0].flaws
    assert not sides[1].flaws
    return rules.score(Pairs.in_order(sides[0].rows, sides[1].rows), rules.select(measures))


def score_one(reference, estimate, measure, rules=MIREX):
    found = score_all([reference], [estimate], [measure], rules)
    return found.score[0, 0], found.weight[0, 0]


def collection(rng: np.random.Generator, queries: int, items: int, listed: int, *, ties: bool):
    """Judgements and runs as trec_eval takes them: some queries without relevant items, some items never judged."""
    qrels, runs = {}, {}
    for number in range(queries):
        names = [f"d{item}" for item in rng.permutation(items)]
        judged = names[: int(rng.integers(1, items))]
        grades = rng.integers(-1, 4, len(judged)) if number % 7 else np.zeros(len(judged), dtype=int)
        found = [f"d{item}" for item in rng.permutation(items + 20)[: int(rng.integers(1, listed))]]
        scores = rng.integers(0, 8, len(found)) / 4 if ties else rng.permutation(len(found)) / 64
        qrels[f"q{number}"] = dict(zip(judged, grades.tolist(), strict=True))
        runs[f"q{number}"] = dict(zip(found, scores.tolist(), strict=True))
    return qrels, runs


def in_rows(queries):
    return [ranking(one, list(one.values())) for one in queries.values()]


class TestAgainstTrecEval:
    @pytest.mark.parametrize("ties", [False, True])
    @pytest.mark.parametrize(("items", "listed"), [(8, 12), (60, 70), (300, 280)])
    def test_every_measure_that_both_have(self, items, listed, ties):
        qrels, runs = collection(np.random.default_rng(items), 80, items, listed, ties=ties)
        expected = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(runs)
        found = score_all(in_rows(qrels), in_rows(runs), list(OF_TREC.values()), TREC).score
        for column, name in enumerate(OF_TREC):
            theirs = [expected[query][name] for query in qrels]
            np.testing.assert_allclose(found[:, column], theirs, **TOLERANCE, err_msg=name)

    @pytest.mark.parametrize("level", [1, 2, 3])
    def test_the_grade_from_which_an_item_is_relevant(self, level):
        qrels, runs = collection(np.random.default_rng(level), 60, 40, 50, ties=False)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "P_5", "Rprec", "recip_rank"}, relevance_level=level)
        expected = evaluator.evaluate(runs)
        wanted = {
            "map": f"average_precision(level={level})",
            "P_5": f"precision@5(level={level})",
            "Rprec": f"r_precision@{level}",
            "recip_rank": f"reciprocal_rank(level={level})",
        }
        found = score_all(in_rows(qrels), in_rows(runs), list(wanted.values()), TREC).score
        for column, name in enumerate(wanted):
            np.testing.assert_allclose(found[:, column], [expected[query][name] for query in qrels], **TOLERANCE)

    def test_exponential_gain_is_trec_evals_gain_of_other_grades(self):
        qrels, runs = collection(np.random.default_rng(9), 60, 50, 60, ties=False)
        powers = {query: {item: max(2**grade - 1, 0) for item, grade in one.items()} for query, one in qrels.items()}
        powers = {query: {item: int(grade) for item, grade in one.items()} for query, one in powers.items()}
        expected = pytrec_eval.RelevanceEvaluator(powers, {"ndcg", "ndcg_cut_10"}).evaluate(runs)
        found = score_all(in_rows(qrels), in_rows(runs), ["ndcg@0(gain=exp2)", "ndcg(gain=exp2)"], TREC).score
        for column, name in enumerate(("ndcg", "ndcg_cut_10")):
            np.testing.assert_allclose(found[:, column], [expected[query][name] for query in qrels], **TOLERANCE)

    def test_ties_are_broken_by_name_from_the_last_to_the_first_in_bytes(self):
        run = {"a": 1.0, "Z": 1.0, "é": 1.0, "z": 1.0, "b": 2.0}
        for item in run:
            expected = pytrec_eval.RelevanceEvaluator({"q": {item: 1}}, {"recip_rank"}).evaluate({"q": run})
            found = score_one(ranking([item]), ranking(run, list(run.values())), "reciprocal_rank", TREC)
            assert found[0] == pytest.approx(expected["q"]["recip_rank"], abs=1e-12)

    @pytest.mark.parametrize("more", [1e-9, 1e-7])
    def test_scores_are_compared_in_single_precision(self, more):
        run = {"a": 1.0, "b": 1.0 + more, "c": 1.0}
        expected = pytrec_eval.RelevanceEvaluator({"q": {"b": 1}}, {"recip_rank"}).evaluate({"q": run})
        found = score_one(ranking("b"), ranking(run, list(run.values())), "reciprocal_rank", TREC)
        assert found[0] == expected["q"]["recip_rank"]


def plainly(relevant: set[str], listed: list[str]) -> dict[str, float]:
    """The definitions, one after the other, as they stand in textbooks."""
    ranks = [rank for rank, item in enumerate(listed, 1) if item in relevant]
    hit = [item in relevant for item in listed]
    size = len(relevant)
    return {
        "average_precision": sum(sum(hit[:rank]) / rank for rank in ranks) / size,
        "reciprocal_rank": 1 / ranks[0] if ranks else 0.0,
        "precision@5": sum(hit[:5]) / 5,
        "recall@5": sum(hit[:5]) / size,
        "f_measure@5": 2 * sum(hit[:5]) / (5 + size),
        "r_precision": sum(hit[:size]) / size,
        "hit_rate@5": float(any(hit[:5])),
        "covers_in_first@5": float(sum(hit[:5])),
        "rank_of_first@99": float(ranks[0]) if ranks else 99.0,
        "ndcg@5": sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 5)
        / sum(1 / math.log2(rank + 1) for rank in range(1, min(size, 5) + 1)),
    }


names = st.text("abcdefgh", min_size=1, max_size=2)
lists = st.lists(names, unique=True, max_size=20)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.lists(names, unique=True, min_size=1, max_size=8), lists), min_size=1, max_size=6))
def test_any_rankings_score_as_the_definitions_say(queries):
    expected = [plainly(set(relevant), listed) for relevant, listed in queries]
    references, estimates = (list(map(ranking, side)) for side in zip(*queries, strict=True))
    found = score_all(references, estimates, list(expected[0])).score
    np.testing.assert_allclose(found, [list(one.values()) for one in expected], **TOLERANCE)


class TestExamples:
    @pytest.mark.slow
    def test_twinkle_twinkle_at_rank_three_has_a_reciprocal_rank_of_a_third(self):
        """Section 3.3 of the MIREX chapter, and equation 7 over three queries."""
        lists = [["other", "another", "twinkle"], ["twinkle"], ["a", "b", "c", "twinkle"]]
        found = score_all([ranking(["twinkle"])] * 3, list(map(ranking, lists)), ["reciprocal_rank"])
        assert found.score[:, 0].tolist() == [1 / 3, 1.0, 0.25]
        assert found.score[:, 0].mean() == pytest.approx((1 / 3 + 1 + 1 / 4) / 3, abs=1e-15)
        assert found.weight[:, 0].tolist() == [1.0, 1.0, 1.0]


class TestWeights:
    MEASURES = ("average_precision", "reciprocal_rank", "precision@4", "precision@0", "recall", "f_measure@4")
    MORE = ("r_precision", "hit_rate", "covers_in_first", "rank_of_first")

    def test_they_are_the_denominators(self):
        found = score_all([ranking("xyz")], [ranking("ax")], [*self.MEASURES, *self.MORE])
        assert found.weight[0].tolist() == [3, 1, 4, 2, 3, 3.5, 3, 1, 1, 1]
        assert found.score[0].tolist() == [0.5 / 3, 0.5, 0.25, 0.5, 1 / 3, 1 / 3.5, 1 / 3, 1, 1, 2]

    def test_a_query_without_answers_has_none(self):
        for reference in (ranking([]), ranking("xy", [0.0, -1.0])):
            found = score_all([reference], [ranking("ax")], [*self.MEASURES, *self.MORE[:-1], "ndcg"])
            assert not found.score.any()
            assert not found.weight.any()

    def test_a_system_without_answers_scores_zero_with_the_full_weight(self):
        found = score_all([ranking("xyz")], [ranking([])], [*self.MEASURES, *self.MORE[:-1]])
        assert not found.score.any()
        assert found.weight[0].tolist() == [3, 1, 4, 0, 3, 3.5, 3, 1, 1]

    def test_the_rank_of_a_first_item_that_is_not_there(self):
        assert np.isnan(score_one(ranking("x"), ranking("ab"), "rank_of_first")[0])
        assert score_one(ranking("x"), ranking("ab"), "rank_of_first")[1] == 1
        assert score_one(ranking("x"), ranking("ab"), "rank_of_first@11") == (11.0, 1.0)


class TestLeftOut:
    def test_a_reference_without_them_beside_one_with_them(self):
        references = [ranking("qx", left_out=[1, 0]), ranking("qx"), ranking("qx", [1.0, 2.0])]
        found = score_all(references, [ranking("qax")] * 3, ["precision@2", "ndcg@2"])
        assert found.score[:, 0].tolist() == [0.5, 0.5, 0.5]
        assert found.score[2, 1] == pytest.approx(1 / (2 + 1 / math.log2(3)), abs=1e-15)

    @settings(max_examples=40, deadline=None)
    @given(lists, st.lists(names, unique=True, min_size=1, max_size=8), st.lists(names, unique=True, max_size=8))
    def test_it_is_as_if_they_had_not_been_listed(self, listed, relevant, gone):
        judged = list(dict.fromkeys([*relevant, *gone]))
        marked = ranking(judged, left_out=[item in gone for item in judged])
        plain = ranking([item for item in relevant if item not in gone])
        shorter = ranking([item for item in listed if item not in gone])
        names = [metric.name for metric in MIREX.metrics]
        found, expected = score_all([marked], [ranking(listed)], names), score_all([plain], [shorter], names)
        np.testing.assert_array_equal(found.score, expected.score)
        np.testing.assert_array_equal(found.weight, expected.weight)


class TestBadInput:
    @pytest.mark.parametrize(
        ("annotation", "item", "message"),
        [
            (ranking("xyx"), 2, "item 'x' occurs twice: as number 1 and number 3"),
            (ranking(["x", ""]), 1, "item without a name"),
            (ranking(["x", "", ""]), 1, "item without a name"),
            (ranking("xy", [1.0, np.nan]), 1, "value of item 'y' is not a number: nan"),
            (ranking("xy", [np.inf, 1.0]), 0, "value of item 'x' is not a number: inf"),
        ],
    )
    @pytest.mark.parametrize("rules", [MIREX, TREC])
    def test_the_first_flaw_is_told_and_spoils_its_row_only(self, annotation, item, message, rules):
        cleaned = rules.clean(to_ragged([ranking("xy", [2.0, 1.0]), annotation, ranking("ab", [2.0, 1.0])]))
        assert list(cleaned.flaws) == [1]
        assert (cleaned.flaws[1].item, cleaned.flaws[1].message) == (item, message)
        assert cleaned.rows.counts[0].tolist() == [2, 0, 2]

    def test_a_flaw_of_another_row_does_not_change_the_order_of_the_others(self):
        cleaned = TREC.clean(to_ragged([ranking("xx"), ranking("ab", [1.0, 2.0]), ranking("cd")]))
        texts = [cleaned.rows.labels[code] for code in cleaned.rows.columns["label"]]
        assert texts == ["b", "a", "c", "d"]

    def test_minus_infinity_is_the_last_score(self):
        rows = TREC.clean(to_ragged([ranking("xy", [-np.inf, 1.0])])).rows
        assert rows.columns["label"].tolist() == [1, 0]

    def test_gains_beyond_all_numbers_cost_their_metric_and_no_other(self):
        relevant = [ranking("x", [5000.0]), ranking("x", [1.0])]
        found = score_all(relevant, [ranking("x")] * 2, ["ndcg(gain=exp2)", "average_precision"])
        np.testing.assert_array_equal(found.score, [[np.nan, 1.0], [1.0, 1.0]])
        assert found.weight.tolist() == [[0.0, 1.0], [1.0, 1.0]]
        assert list(found.partly) == [0]


class TestBatches:
    def test_large_ones_are_cut_and_give_the_same(self, monkeypatch):
        rng = np.random.default_rng(5)
        qrels, runs = collection(rng, 40, 120, 140, ties=False)
        sides = [MIREX.clean(to_ragged(in_rows(one))).rows for one in (qrels, runs)]
        pairs = np.array([(i, j) for i in range(0, 40, 3) for j in range(40)]).T
        measures = MIREX.select()
        whole = MIREX.score(Pairs(sides[0], sides[1], *pairs), measures)
        for table, items in ((1, 1), (500, 64), (10**6, 7)):
            monkeypatch.setattr("mirflow.kernels.ranking._TABLE", table)
            monkeypatch.setattr("mirflow.kernels.ranking._ITEMS", items)
            cut = MIREX.score(Pairs(sides[0], sides[1], *pairs), measures)
            np.testing.assert_array_equal(cut.score, whole.score)
            np.testing.assert_array_equal(cut.weight, whole.weight)
            again = MIREX.clean(Ragged({"label": np.array([3, 1, 3, 0, 0])}, (np.array([3, 2]),), tuple("abcd")))
            assert {row: flaw.item for row, flaw in again.flaws.items()} == {0: 2, 1: 1}


class TestPairFunctions:
    def test_they_are_the_records(self):
        relevant, listed = {"x": 2.0, "y": 1.0}, ["a", "y", "x"]
        found = retrieval.evaluate(relevant, listed)
        expected = score_all([ranking(relevant, [2.0, 1.0])], [ranking(listed)], [m.name for m in MIREX.metrics])
        assert list(found.values()) == expected.score[0].tolist()
        for name, value in found.items():
            assert getattr(retrieval, name)(relevant, listed) == value

    def test_a_mapping_of_scores_is_put_in_order(self):
        assert retrieval.reciprocal_rank(["x"], {"x": 1.0, "a": 2.0}) == 0.5

    def test_a_first_item_just_at_the_depth_counts(self):
        assert [retrieval.reciprocal_rank(["x"], ["a", "x"], k=k) for k in (1, 2, 3)] == [0.0, 0.5, 0.5]

    def test_what_is_wrong_raises(self):
        with pytest.raises(ValueError, match="relevant: item 'x' occurs twice"):
            retrieval.validate(["x", "x"], ["y"])
        with pytest.raises(ValueError, match="expected a sequence of names, not a single string"):
            retrieval.recall("xy", ["x"])
        with pytest.raises(TypeError, match="did you mean 'level'"):
            retrieval.evaluate(["x"], ["x"], levl=2)
        with pytest.raises(ValueError, match="relevant: value of item 'x' is not a number: nan"):
            retrieval.recall({"x": np.nan}, ["x"])
        with pytest.raises(ValueError, match="relevant: the gains of the grades overflow"):
            retrieval.ndcg({"x": 5000.0}, ["x"], gain="exp2")
        with pytest.raises(MetricError, match="'k' must be at least 1"):
            retrieval.hit_rate(["x"], ["x"], k=0)


def test_evidence_follows_the_conventions_order():
    reference, estimate = ranking("xyz", [1.0, 2.0, 0.0]), ranking("xay", [1.0, 3.0, 2.0])
    measure = MIREX.select(["average_precision"])[0]
    assert MIREX.explain(reference, estimate, measure)["rank"].tolist() == [1.0, 3.0]
    found = TREC.explain(reference, estimate, measure)
    assert (found["item"].tolist(), found["rank"].tolist()) == (["y", "x"], [2.0, 3.0])
    only = MIREX.explain(reference, estimate, MIREX.select(["recall(level=2)"])[0])
    assert (only["item"].tolist(), only["grade"].tolist(), only["verdict"].tolist()) == (["y"], [2.0], ["found"])


def test_functions_tell_the_types_of_their_arguments():
    for name in ("precision", "r_precision", "ndcg", "rank_of_first"):
        types = typing.get_type_hints(getattr(retrieval, name))
        defaults = {
            one.name: type(one.default) for one in get_task("retrieval").convention().select(name)[0].metric.parameters
        }
        assert types == {"relevant": retrieval.Items, "ranking": retrieval.Items, **defaults, "return": float}


def test_functions_tell_what_they_return_where_nothing_is_found():
    assert retrieval.rank_of_first.__doc__.startswith(
        "Rank of the first relevant item (lower is better); NaN if there is none and `not_found` is not given."
    )
    assert math.isnan(retrieval.rank_of_first(["x"], ["a"]))
    assert retrieval.hit_rate.__doc__.startswith("1 if a relevant item is in the first `k` ranks, else 0.")
    assert retrieval.hit_rate(["x"], ["a"]) == 0
