"""Agreement of graders against statsmodels, scikit-learn, published examples, and definitions in exact arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from mirflow.errors import MetricError
from mirflow.kernels.agreement import (
    Form,
    GraderAgreement,
    Ratings,
    Scale,
    Weights,
    alpha_sums,
    cohen_kappa,
    fleiss_kappa,
    intraclass_sums,
    kappa_sums,
)

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
    assert GraderAgreement(kappa, 0, 0, 1, 1, 0, 0, 0).strength == word


@pytest.mark.parametrize("items", range(2, 60))
def test_the_share_of_divided_items_is_never_below_zero(items: int) -> None:
    for unanimous in range(items + 1):
        found = fleiss_kappa([[3, 0, 0]] * unanimous + [[1, 1, 1]] * (items - unanimous))
        assert found.divided == 0


NAN = float("nan")
FORMS: tuple[Form, ...] = ("1,1", "1,k", "2,1", "3,1")
# Six targets and four judges of Shrout and Fleiss (1979), table 2.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
# Twelve units and four observers of Krippendorff (2011), example C.
UNITS = [
    [float(text) if text != "." else NAN for text in observer.split()]
    for observer in (
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    )
]
levels = st.integers(2, 4).flatmap(
    lambda graders: st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=graders, max_size=graders), min_size=2, max_size=9
    )
)


class TestCohen:
    @pytest.mark.parametrize("weights", ["nominal", "linear", "quadratic"])
    @pytest.mark.parametrize("seed", range(5))
    def test_equals_scikit_learn(self, weights: Weights, seed: int) -> None:
        rng = np.random.default_rng(seed)
        one = rng.integers(0, 3, 60)
        other = np.clip(one + rng.integers(-1, 2, 60), 0, 2)
        expected = cohen_kappa_score(one, other, weights=None if weights == "nominal" else weights, labels=[0, 1, 2])
        assert cohen_kappa(one, other, 3, weights) == pytest.approx(expected, abs=1e-12)

    def test_items_that_one_did_not_rate_do_not_count(self) -> None:
        assert cohen_kappa([0, 1, 2, NAN, 1], [0, 1, 1, 2, NAN], 3) == cohen_kappa([0, 1, 2], [0, 1, 1], 3)

    def test_it_is_not_defined_where_nothing_can_differ(self) -> None:
        assert np.isnan(cohen_kappa([1, 1], [1, 1], 3))
        assert np.isnan(cohen_kappa([NAN, 1], [1, NAN], 3))

    @pytest.mark.parametrize("seed", range(3))
    def test_of_several_it_is_the_mean_over_their_pairs(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        table = np.clip(rng.integers(0, 3, (40, 1)) + rng.integers(-1, 2, (40, 4)), 0, 2)
        pairs = itertools.combinations(range(4), 2)
        expected = np.mean([cohen_kappa_score(table[:, a], table[:, b], weights="quadratic") for a, b in pairs])
        assert kappa_sums(Ratings.of(table), 3).whole() == pytest.approx(expected, abs=1e-12)

    def test_pairs_of_graders_count_as_often_as_they_met(self) -> None:
        table = np.array([[0, 0, NAN], [1, 2, NAN], [2, 2, NAN], [0, NAN, 1], [1, NAN, 1]])
        one, other = cohen_kappa(table[:3, 0], table[:3, 1], 3), cohen_kappa(table[3:, 0], table[3:, 2], 3)
        assert kappa_sums(Ratings.of(table), 3, "nominal").whole() == pytest.approx((3 * one + 2 * other) / 5)


class TestIntraclassCorrelation:
    def test_example_of_shrout_and_fleiss(self) -> None:
        found = {form: round(intraclass_sums(Ratings.of(TARGETS), form).whole(), 2) for form in FORMS}
        assert found == {"1,1": 0.17, "1,k": 0.44, "2,1": 0.29, "3,1": 0.71}

    @pytest.mark.parametrize("seed", range(5))
    def test_equals_the_analysis_of_variance_of_statsmodels(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        table = rng.normal(0, 2, (12, 1)) + rng.normal(0, 1, (12, 4)) + rng.normal(0, 1, 4) + 1000
        long = pd.DataFrame(
            [(item, grader, value) for (item, grader), value in np.ndenumerate(table)], columns=["item", "grader", "y"]
        )
        squares = anova_lm(ols("y ~ C(item) + C(grader)", long).fit()).mean_sq
        between, graders, error = squares["C(item)"], squares["C(grader)"], squares["Residual"]
        within = anova_lm(ols("y ~ C(item)", long).fit()).mean_sq["Residual"]
        found = {form: intraclass_sums(Ratings.of(table), form).whole() for form in FORMS}
        assert found["1,1"] == pytest.approx((between - within) / (between + 3 * within), abs=1e-9)
        assert found["1,k"] == pytest.approx((between - within) / between, abs=1e-9)
        expected = (between - error) / (between + 3 * error + 4 * (graders - error) / 12)
        assert found["2,1"] == pytest.approx(expected, abs=1e-9)
        assert found["3,1"] == pytest.approx((between - error) / (between + 3 * error), abs=1e-9)

    @pytest.mark.parametrize("seed", range(5))
    def test_different_numbers_of_ratings(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        table = rng.normal(0, 2, (15, 1)) + rng.normal(0, 1, (15, 5))
        table[rng.random(table.shape) < 0.4] = NAN
        long = pd.DataFrame(
            [(item, value) for (item, _), value in np.ndenumerate(table) if not np.isnan(value)], columns=["item", "y"]
        )
        long = long[long.groupby("item").y.transform("count") > 1]
        number = long.groupby("item").y.count()
        squares = anova_lm(ols("y ~ C(item)", long).fit()).mean_sq
        between, within = squares["C(item)"], squares["Residual"]
        usual = (number.sum() - (number**2).sum() / number.sum()) / (len(number) - 1)
        found = {form: intraclass_sums(Ratings.of(table), form).whole() for form in FORMS}
        assert found["1,1"] == pytest.approx((between - within) / (between + (usual - 1) * within), abs=1e-9)
        assert np.isnan(found["2,1"])

    def test_a_grader_who_rates_higher_agrees_in_consistency_alone(self) -> None:
        table = [[0, 5], [1, 6], [3, 8]]
        assert intraclass_sums(Ratings.of(table), "3,1").whole() == pytest.approx(1)
        assert intraclass_sums(Ratings.of(table), "2,1").whole() < 0.5

    @pytest.mark.parametrize("table", [[[1, 2]], [[1, NAN], [2, NAN]], [[3, 3], [3, 3]]])
    def test_where_it_is_not_defined(self, table: list[list[float]]) -> None:
        assert np.isnan(intraclass_sums(Ratings.of(table)).whole())


def alpha_by_definition(table: list[list[float]], scale: Scale) -> float:
    """One minus the mean disagreement within items over that of all ratings, pair by pair in exact arithmetic."""
    items = [[value for value in row if value == value] for row in table]
    items = [row for row in items if len(row) > 1]
    ratings = [value for row in items for value in row]

    def apart(one: float, other: float) -> Fraction:
        if scale == "nominal":
            return Fraction(one != other)
        if scale == "interval":
            return Fraction(one - other) ** 2
        low, high = min(one, other), max(one, other)
        between = sum(low <= value <= high for value in ratings)
        ends = Fraction(ratings.count(low) + ratings.count(high), 2)
        return (between - ends) ** 2 if low != high else Fraction(0)

    observed = sum(
        (sum(apart(*pair) for pair in itertools.permutations(row, 2)) / Fraction(len(row) - 1) for row in items),
        Fraction(0),
    )
    expected = sum((apart(*pair) for pair in itertools.permutations(ratings, 2)), Fraction(0))
    return float(1 - (len(ratings) - 1) * observed / expected) if expected else NAN


class TestAlpha:
    @pytest.mark.parametrize(("scale", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
    def test_example_of_krippendorff(self, scale: Scale, value: float) -> None:
        assert round(alpha_sums(Ratings.of(np.array(UNITS).T), scale).whole(), 3) == value

    @settings(deadline=None)
    @given(levels, st.sampled_from(["nominal", "ordinal", "interval"]))
    def test_equals_its_definition(self, table: list[list[float]], scale: Scale) -> None:
        expected = alpha_by_definition(table, scale)
        assert alpha_sums(Ratings.of(table), scale).whole() == pytest.approx(expected, abs=1e-12, nan_ok=True)

    @given(arrays(np.float64, (5, 3), elements=st.integers(0, 100).map(lambda value: value / 10)))
    def test_the_scale_of_numbers_does_not_matter(self, table: np.ndarray) -> None:
        whole, tenth = alpha_sums(Ratings.of(table * 10)).whole(), alpha_sums(Ratings.of(table)).whole()
        assert whole == pytest.approx(tenth, abs=1e-9, nan_ok=True)


def test_what_is_no_table_of_ratings() -> None:
    with pytest.raises(MetricError, match=r"got shape \(2,\)"):
        alpha_sums(Ratings.of([1, 2])).whole()
    with pytest.raises(MetricError, match="not finite"):
        intraclass_sums(Ratings.of([[1, float("inf")]])).whole()
