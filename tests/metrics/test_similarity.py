"""Graded similarity: equations 13 and 14, the measures of table 4, several graders, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.collection import collect
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.metrics import similarity
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.measures import Measure
from mirflow.metrics.similarity import clean

AMS = get_task("similarity").convention()
SMS = get_task("similarity").convention("sms")
NAMES = "abcdefghij"
WEIGHTS = {"psum": (0, 1, 2), "wcsum": (0, 1, 3), "sdsum": (0, 1, 4), "greater0": (0, 1, 1), "greater1": (0, 0, 1)}
LEVELS = {"NS": 0, "SS": 1, "VS": 2}

Judgement = tuple[str, str, str, float]
"""Candidate, grader, broad category, fine judgement."""

judged_queries = st.lists(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from(["g1", "g2", "g3"]), st.sampled_from([*LEVELS]), st.integers(0, 20)
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one[:2],
).map(lambda rows: [(name, grader, broad, fine / 2) for name, grader, broad, fine in rows])
lists = st.lists(st.sampled_from([*NAMES, "nobody", "judged"]), unique=True, max_size=12)


def judgements(rows: Sequence[Judgement]) -> Annotation:
    names, graders, broad, fine = zip(*rows, strict=True)
    columns = {"grader": np.array(graders), "broad": np.array(broad), "value": np.array(fine, dtype=np.float64)}
    return Annotation("judgements", columns, list(names))


def listed(*names: str) -> Annotation:
    return Annotation("judgements", {}, list(names))


def scored(pairs: Sequence[tuple[Annotation, Annotation]], measures: Sequence[Measure]) -> Scores:
    references, estimates = (clean(to_ragged(side)).rows for side in zip(*pairs, strict=True))
    return AMS.score(Pairs.in_order(references, estimates), measures)


def one(rows: Sequence[Judgement], names: Sequence[str], *measures: str) -> list[float]:
    scores = scored([(judgements(rows), listed(*names))], AMS.select(measures))
    assert not scores.refused
    return scores.score[0].tolist()


def adr_by_the_equations(groups: Sequence[Sequence[str]], results: Sequence[str], n: int) -> Fraction:
    """Equations 13 and 14, place by place, in exact arithmetic."""
    recalls = []
    for i in range(1, n + 1):
        sizes = np.cumsum([len(group) for group in groups])
        c = int(np.argmax(sizes >= i)) + 1  # the group that contains the i-th item
        relevant = {name for group in groups[:c] for name in group}
        recalls.append(Fraction(len([name for name in results[:i] if name in relevant]), i))
    return sum(recalls, Fraction(0)) / n


def groups_of(rows: Sequence[Judgement], by: str) -> list[list[str]]:
    """Groups of equal mean relevance, the most relevant first, in exact arithmetic."""
    given_to: dict[str, list[Fraction]] = {}
    for name, _, broad, fine in rows:
        given_to.setdefault(name, []).append(Fraction(LEVELS[broad]) if by == "broad" else Fraction(fine))
    means = {name: sum(values) / len(values) for name, values in given_to.items()}
    grades = sorted({mean for mean in means.values() if mean > 0}, reverse=True)
    return [[name for name in means if means[name] == grade] for grade in grades]


class TestAverageDynamicRecall:
    GROUPS = (("1", "2"), ("3", "4", "5"))

    def test_the_chapters_groups_worked_out_by_hand(self) -> None:
        """<(1, 2), (3, 4, 5)>: at places 1 and 2 two items are relevant, from place 3 on all five.

        Returned: 1, 3, 9, 2, 4. Place 1: {1} of {1, 2}: 1/1. Place 2: 3 is not yet relevant: 1/2. Place 3: 1 and 3 are
        relevant now: 2/3. Place 4: 1, 3, 2: 3/4. Place 5: 1, 3, 2, 4: 4/5. The mean is 223/300.
        """
        recalls = [Fraction(1), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(4, 5)]
        found = similarity.average_dynamic_recall(self.GROUPS, ["1", "3", "9", "2", "4"])
        assert sum(recalls) / 5 == Fraction(223, 300)
        assert found == pytest.approx(223 / 300, rel=1e-15)

    @given(st.permutations("abcdefgh"), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
    def test_equals_the_equations(self, names: list[str], sizes: list[int], data: st.DataObject) -> None:
        groups = [part.tolist() for part in np.split(np.array(names), np.cumsum(sizes)) if len(part)]
        results = data.draw(st.lists(st.sampled_from("abcdefghxyz"), unique=True, max_size=11))
        n = data.draw(st.integers(1, len(names)))
        exact = adr_by_the_equations(groups, results, n)
        assert similarity.average_dynamic_recall(groups, results, n) == pytest.approx(
            float(exact), rel=1e-13, abs=1e-15
        )

    @given(judged_queries, lists, st.sampled_from(["broad", "fine"]))
    def test_groups_come_from_the_mean_judgement(self, rows: list[Judgement], names: list[str], by: str) -> None:
        groups = groups_of(rows, by)
        (found,) = one(rows, names, f"average_dynamic_recall@0(by={by})")
        if not groups:
            assert np.isnan(found)
            return
        size = sum(map(len, groups))
        exact = adr_by_the_equations(groups, names, size)
        assert found == pytest.approx(float(exact), rel=1e-13, abs=1e-15)

    def test_means_that_only_rounding_tells_apart_are_one_group(self) -> None:
        """0.1 + 0.2 is not 0.3 in floating point, but the two candidates are equally similar."""
        rows = [("a", "g1", "", 0.1), ("a", "g2", "", 0.2), ("b", "g1", "", 0.3), ("b", "g2", "", 0.0)]
        assert one(rows, ["b", "a"], "average_dynamic_recall@0(by=fine)") == [1.0]
        assert one(rows, ["a", "b"], "average_dynamic_recall@0(by=fine)") == [1.0]

    def test_a_ground_truth_of_grades_without_graders(self) -> None:
        truth = Annotation("judgements", {"value": np.array([2.0, 2.0, 1.0, 1.0, 1.0])}, list("12345"))
        measure = AMS.select(["average_dynamic_recall@0(by=fine)"])
        scores = scored([(truth, listed("1", "3", "9", "2", "4"))], measure)
        assert scores.score[0, 0] == pytest.approx(223 / 300, rel=1e-15)
        assert scores.weight[0, 0] == 5

    def test_above_raises_the_bar(self) -> None:
        rows = [("a", "g", "VS", 9), ("b", "g", "SS", 5), ("c", "g", "NS", 0)]
        assert one(rows, ["b", "a"], "average_dynamic_recall@0(above=1)") == [0.0]
        assert one(rows, ["a", "b"], "average_dynamic_recall@0(above=1)") == [1.0]


class TestTable4:
    ROWS = (
        *(("a", "g1", "VS", 9.5), ("a", "g2", "VS", 8.0), ("a", "g3", "SS", 6.5)),
        *(("b", "g1", "NS", 0.5), ("b", "g2", "NS", 1.0), ("b", "g3", "NS", 0.0)),
        *(("c", "g1", "SS", 4.0), ("c", "g2", "NS", 2.0), ("c", "g3", "VS", 7.0)),
    )

    @given(judged_queries, st.data(), st.integers(0, 6), st.sampled_from(["zero", "skip"]))
    def test_equals_the_definition(self, rows: list[Judgement], data: st.DataObject, n: int, unjudged: str) -> None:
        names = data.draw(lists)
        found = one(rows, names, *(f"{name}@{n}(unjudged={unjudged})" for name in ("fine", *WEIGHTS)))
        taken = names[:n] if n else names
        known = [[row for row in rows if row[0] == name] for name in taken]
        places = n or len(taken)
        nothing = 0.0
        if unjudged == "skip" and not all(known):
            places -= sum(not own for own in known)
            nothing = np.nan  # every place was left out
        total = sum(sum(Fraction(row[3]) for row in own) / len(own) / 10 for own in known if own)
        assert found[0] == pytest.approx(float(total / places) if places else nothing, rel=1e-13, nan_ok=True)
        for value, weights in zip(found[1:], WEIGHTS.values(), strict=True):
            worth = [[Fraction(weights[LEVELS[row[2]]], max(weights)) for row in own] for own in known if own]
            total = sum((sum(own) / len(own) for own in worth), Fraction(0))
            assert value == pytest.approx(float(total / places) if places else nothing, rel=1e-13, nan_ok=True)

    def test_places_that_a_list_does_not_fill_count_nothing(self) -> None:
        assert one(self.ROWS, ["a"], "fine@5", "fine@0") == pytest.approx([0.8 / 5, 0.8], rel=1e-15)
        scores = scored([(judgements(self.ROWS), listed("a"))], AMS.select(["fine@5", "fine@0"]))
        assert scores.weight.tolist() == [[5.0, 1.0]]

    def test_the_scale_of_later_years(self) -> None:
        rows = [("a", "g", "VS", 85.0)]
        assert one(rows, ["a"], "fine@1(scale=100)") == [0.85]
        scores = scored([(judgements(rows), listed("a"))], AMS.select(["fine", "psum"]))
        assert scores.refused[0].startswith("a fine judgement of 85 is not from 0 to 10; set the scale")
        assert np.isnan(scores.score).all()
        assert scores.weight.tolist() == [[5.0, 5.0]]

    def test_the_conventions_count_5_and_10_candidates(self) -> None:
        assert [str(one.metric.name) for one in AMS.select()][:2] == ["fine", "psum"]
        assert SMS.select()[0].metric.name == "average_dynamic_recall"
        assert {one["k"] for one in SMS.select()} == {10}
        assert AMS.select(["fine"])[0]["k"] == 5


class TestWhatIsNotJudged:
    def test_a_candidate_that_nobody_judged_is_named(self) -> None:
        scores = scored([(judgements([("a", "g", "VS", 9)]), listed("a", "x", "y", "z", "u"))], AMS.select())
        assert scores.refused == {
            0: "no fine judgement of 'x' (rank 2), 'y' (rank 3), 'z' (rank 4) and 1 more; "
            "fine(unjudged=zero) counts them as not similar, unjudged=skip leaves them out"
        }

    def test_policies(self) -> None:
        rows = [("a", "g", "VS", 9)]
        assert one(rows, ["x", "a"], "fine@2(unjudged=zero)", "fine@2(unjudged=skip)") == [0.45, 0.9]
        scores = scored([(judgements(rows), listed("x", "a"))], AMS.select(["fine@2(unjudged=skip)"]))
        assert (scores.weight.tolist(), scores.repairs.tolist()) == ([[1.0]], [1])

    def test_where_every_place_is_left_out_there_is_no_score(self) -> None:
        scores = scored([(judgements([("a", "g", "VS", 9)]), listed("x", "y"))], AMS.select(["psum@2(unjudged=skip)"]))
        assert np.isnan(scores.score[0, 0])
        assert scores.weight[0, 0] == 0

    def test_only_fine_judgements_say_nothing_of_broad_ones(self) -> None:
        scores = scored([(judgements([("a", "g", "", 9)]), listed("a"))], AMS.select(["psum@1", "fine@1"]))
        assert np.isnan(scores.score[0, 0])
        assert (scores.score[0, 1], scores.weight[0].tolist()) == (0.9, [0.0, 1.0])

    def test_empty_sides(self) -> None:
        none = Annotation("judgements", {}, [])
        scores = scored([(judgements([("a", "g", "VS", 9)]), none), (none, listed("a"))], AMS.select())
        assert scores.refused == {}
        assert scores.score[0].tolist() == [0.0] * 7
        assert scores.weight.tolist() == [[5.0] * 6 + [1.0], [0.0] * 7]


class TestBadInput:
    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            (
                judgements([("a", "g1", "VS", 9), ("b", "g1", "NS", 1), ("a", "g1", "SS", 5)]),
                "grader 'g1' judged 'a' twice",
            ),
            (judgements([("a", "g1", "VS", 9), ("a", "g1", "VS", 9)]), "grader 'g1' judged 'a' twice"),
            (judgements([("a", "g1", "similar", 9)]), "not a broad category: 'similar'; known: NS, SS, VS"),
            (judgements([("a", "g1", "VS", np.inf)]), "the value of 'a' is not finite: inf"),
            (judgements([("a", "g1", "", np.nan)]), "the judgement of 'a' has neither a broad nor a fine part"),
            (listed("a", "b", "a"), "candidate 'a' occurs twice, at ranks 1 and 3"),
        ],
    )
    def test_is_named(self, reference: Annotation, message: str) -> None:
        cleaned = clean(to_ragged([reference, listed("z")]))
        assert [flaw.message for flaw in cleaned.flaws.values()] == [message]
        assert cleaned.rows.counts[0].tolist() == [0, 1]

    def test_graders_without_a_name_may_be_several(self) -> None:
        rows = [("a", "", "VS", 9), ("a", "", "SS", 5)]
        assert one(rows, ["a"], "fine@1", "greater1@1") == [0.7, 0.5]

    @pytest.mark.parametrize("text", ["VS", "vs", " Very similar", "very_similar", "2"])
    def test_spellings_of_a_category(self, text: str) -> None:
        assert one([("a", "g", text, 9)], ["a"], "psum@1") == [1.0]

    def test_functions_raise(self) -> None:
        with pytest.raises(AnnotationError, match="reference: candidate '1' occurs twice"):
            similarity.average_dynamic_recall([["1"], ["1"]], ["1"])
        with pytest.raises(AnnotationError, match="estimate: candidate '2' occurs twice"):
            similarity.average_dynamic_recall([["1"]], ["2", "2"])
        with pytest.raises(InvalidAnnotationError, match="no fine judgement of 'x'"):
            similarity.evaluate(["a"], ["x"], fine=[1.0])
        with pytest.raises(ValueError, match="unknown value of 'unjudged'"):
            similarity.evaluate(["a"], ["a"], fine=[1.0], unjudged="drop")


class TestLabelledDoor:
    def test_evaluate_and_explain(self) -> None:
        reference = collect({"q": judgements(TestTable4.ROWS)})
        estimate = collect({"q": listed("a", "b")})
        found = mirflow.evaluate(reference, estimate, metrics=["fine@2"])
        assert found.score.squeeze().item() == pytest.approx(0.425)
        told = mirflow.explain(judgements(TestTable4.ROWS), listed("c", "x"), metric="average_dynamic_recall")
        assert told.verdict.values.tolist() == ["relevant", "not relevant"]
        # a is the first of two groups, so that c, second in the list of one, counts from place 2 on.
        assert told.counts_from.values.tolist() == [2, 0]

    def test_a_dataset_holds_graders_and_categories_and_gives_them_back(self) -> None:
        collection = collect({"q": judgements(TestTable4.ROWS), "r": listed("z")})
        dataset = collection.dataset
        assert dataset.grader.values.tolist()[:4] == ["g1", "g2", "g3", "g1"]
        assert dataset.broad.values.tolist()[-1] == ""
        again = collection.annotation("r")
        assert (list(again.columns), list(again.labels or ())) == ([], ["z"])
        one = collection["q"]
        assert mirflow.evaluate(one, listed("a"), metrics=["fine@1"], task="similarity").score.item() == pytest.approx(
            0.8
        )
