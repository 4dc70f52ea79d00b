"""Fleiss's kappa against statsmodels, published examples, and its definition judgement by judgement."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from mirflow.errors import MetricError
from mirflow.kernels.agreement import RATIOS, Outcomes, fleiss_kappa, margins, matthews_correlation
from mirflow.ragged import Float

# A widely reprinted example: 10 subjects, 14 raters, 5 categories.
REPRINTED = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]
# Krippendorff's example, as Gwet uses it: 12 units, 4 raters of whom some are missing, 5 categories.
RATINGS = ["123321412...", "1233224125.3", ".33323422 51.".replace(" ", ""), "12332441251."]


def ratings_to_counts(ratings: list[str]) -> list[list[int]]:
    return [
        [unit.count(str(category)) for category in range(1, 6)] for unit in map("".join, zip(*ratings, strict=True))
    ]


def by_definition(table: list[list[int]]) -> tuple[float, float]:
    """Observed and expected agreement, pair of graders by pair of graders, in exact arithmetic."""
    observed, shares = [], []
    for row in table:
        chosen = [category for category, count in enumerate(row) for _ in range(count)]
        if chosen:
            shares.append([Fraction(count, len(chosen)) for count in row])
        pairs = list(itertools.combinations(chosen, 2))
        if pairs:
            observed.append(Fraction(sum(one == other for one, other in pairs), len(pairs)))
    expected = sum((sum(column) / len(shares)) ** 2 for column in zip(*shares, strict=True))
    return float(sum(observed) / len(observed)), float(expected)


equal = st.integers(2, 5).flatmap(
    lambda categories: st.integers(2, 8).flatmap(
        lambda graders: st.lists(
            st.lists(st.integers(0, categories - 1), min_size=graders, max_size=graders).map(
                lambda chosen: [chosen.count(category) for category in range(categories)]
            ),
            min_size=1,
            max_size=12,
        )
    )
)
unequal = st.integers(1, 5).flatmap(
    lambda categories: st.lists(
        st.lists(st.integers(0, 4), min_size=categories, max_size=categories), min_size=1, max_size=12
    )
)


class TestAsManyGradersEverywhere:
    @given(equal)
    def test_equals_statsmodels(self, table: list[list[int]]) -> None:
        found = fleiss_kappa(table)
        if sum(any(row[category] for row in table) for category in range(len(table[0]))) == 1:
            assert np.isnan(found.kappa)  # statsmodels divides 0 by 0
            return
        assert found.kappa == pytest.approx(statsmodels_kappa(np.array(table)), rel=1e-12, abs=1e-12)

    def test_an_example_that_is_widely_reprinted(self) -> None:
        found = fleiss_kappa(REPRINTED)
        assert round(found.observed, 3) == 0.378
        assert round(found.expected, 3) == 0.213
        assert round(found.kappa, 3) == 0.21

    def test_it_may_be_negative(self) -> None:
        assert fleiss_kappa([[1, 1], [1, 1]]).kappa == -1
        assert fleiss_kappa([[1, 1], [1, 1]]).strength == "poor"


class TestUnequalNumbersOfGraders:
    def test_gwets_example(self) -> None:
        """The coefficient that irrCAC 0.4.4, by Gwet's formulas, gives to 15 digits."""
        found = fleiss_kappa(ratings_to_counts(RATINGS))
        assert found.kappa == pytest.approx(0.761169275422411, rel=1e-13)
        assert (found.graded, found.compared) == (12, 11)

    @given(unequal)
    def test_is_its_definition_in_exact_arithmetic(self, table: list[list[int]]) -> None:
        found = fleiss_kappa(table)
        if not any(sum(row) > 1 for row in table):
            assert np.isnan(found.kappa)
            return
        observed, expected = by_definition(table)
        assert found.observed == pytest.approx(observed, rel=1e-12)
        assert found.expected == pytest.approx(expected, rel=1e-12)
        if expected < 1:
            assert found.kappa == pytest.approx((observed - expected) / (1 - expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1, 2], "got shape"),
        ([[1.5, 2]], r"not a number of graders: 1.5 \(item 0, category 0\)"),
        ([[1, 2], [3, -1]], r"not a number of graders: -1 \(item 1, category 1\)"),
        ([[np.nan, 1]], "not a number of graders: nan"),
        ([[]], "got shape"),
    ],
)
def test_what_is_no_table_of_graders(table: object, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        fleiss_kappa(table)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("kappa", "word"),
    [(-0.1, "poor"), (0.0, "slight"), (0.2141, "fair"), (0.3664, "fair"), (0.5, "moderate"), (0.7, "substantial")],
)
def test_landis_and_koch(kappa: float, word: str) -> None:
    from mirflow.kernels.agreement import GraderAgreement

    assert GraderAgreement(kappa, 0, 0, 1, 1, 0, 0, 0).strength == word


def test_ratios_of_decisions_are_those_of_scikit_learn() -> None:
    reference, estimate = np.random.default_rng(0).integers(0, 2, (2, 100))
    confusions = sklearn.confusion_matrix(reference, estimate).astype(float)
    outcomes = Outcomes.of_confusion(confusions)
    expected = {
        "precision": sklearn.precision_score(reference, estimate),
        "recall": sklearn.recall_score(reference, estimate),
        "f_measure": sklearn.f1_score(reference, estimate),
        "iou": sklearn.jaccard_score(reference, estimate),
        "accuracy": sklearn.accuracy_score(reference, estimate),
        "negative_accuracy": sklearn.recall_score(reference, estimate, pos_label=0),
    }
    assert {name: ratio(outcomes)[1] for name, ratio in RATIOS.items()} == pytest.approx(expected, abs=1e-12)
    found = matthews_correlation(margins(confusions))
    assert found == pytest.approx(sklearn.matthews_corrcoef(reference, estimate), abs=1e-12)


@pytest.mark.parametrize("ratio", RATIOS.values(), ids=RATIOS)
def test_a_ratio_of_no_decision_has_no_value(ratio: Callable[[Outcomes], Float]) -> None:
    nothing = Outcomes(*np.zeros((4, 1)))
    assert np.isnan(ratio(nothing)).all()


def test_counts_of_outcomes_are_read_along_any_axis() -> None:
    both = Outcomes.of_confusion(np.array([[3.0, 1.0], [2.0, 4.0]]))
    counts = np.array([both.hit, both.false_alarm, both.miss, both.rejection])
    for axis in (0, 1):
        found = Outcomes.of_counts(counts if axis == 0 else counts.T, axis)
        assert found.precision().tolist() == [0.6, 0.8]
        assert found.negative_accuracy().tolist() == both.negative_accuracy().tolist()


@pytest.mark.parametrize("items", range(2, 60))
def test_the_share_of_divided_items_is_never_below_zero(items: int) -> None:
    for unanimous in range(items + 1):
        found = fleiss_kappa([[3, 0, 0]] * unanimous + [[1, 1, 1]] * (items - unanimous))
        assert found.divided == 0
