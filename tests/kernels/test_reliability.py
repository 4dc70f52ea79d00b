"""Weighted kappa against scikit-learn, intraclass correlation against statsmodels, alpha against its definition."""

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

from mirflow.errors import MetricError
from mirflow.kernels.reliability import (
    Form,
    Scale,
    Weights,
    cohen_kappa,
    intraclass_correlation,
    krippendorff_alpha,
    mean_kappa,
)

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
        assert mean_kappa(table, 3) == pytest.approx(expected, abs=1e-12)

    def test_pairs_of_graders_count_as_often_as_they_met(self) -> None:
        table = np.array([[0, 0, NAN], [1, 2, NAN], [2, 2, NAN], [0, NAN, 1], [1, NAN, 1]])
        one, other = cohen_kappa(table[:3, 0], table[:3, 1], 3), cohen_kappa(table[3:, 0], table[3:, 2], 3)
        assert mean_kappa(table, 3, "nominal") == pytest.approx((3 * one + 2 * other) / 5)


class TestIntraclassCorrelation:
    def test_example_of_shrout_and_fleiss(self) -> None:
        found = {form: round(intraclass_correlation(TARGETS, form), 2) for form in FORMS}
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
        found = {form: intraclass_correlation(table, form) for form in FORMS}
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
        found = {form: intraclass_correlation(table, form) for form in FORMS}
        assert found["1,1"] == pytest.approx((between - within) / (between + (usual - 1) * within), abs=1e-9)
        assert np.isnan(found["2,1"])

    def test_a_grader_who_rates_higher_agrees_in_consistency_alone(self) -> None:
        table = [[0, 5], [1, 6], [3, 8]]
        assert intraclass_correlation(table, "3,1") == pytest.approx(1)
        assert intraclass_correlation(table, "2,1") < 0.5

    @pytest.mark.parametrize("table", [[[1, 2]], [[1, NAN], [2, NAN]], [[3, 3], [3, 3]]])
    def test_where_it_is_not_defined(self, table: list[list[float]]) -> None:
        assert np.isnan(intraclass_correlation(table))


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
        assert round(krippendorff_alpha(np.array(UNITS).T, scale), 3) == value

    @settings(deadline=None)
    @given(levels, st.sampled_from(["nominal", "ordinal", "interval"]))
    def test_equals_its_definition(self, table: list[list[float]], scale: Scale) -> None:
        expected = alpha_by_definition(table, scale)
        assert krippendorff_alpha(table, scale) == pytest.approx(expected, abs=1e-12, nan_ok=True)

    @given(arrays(np.float64, (5, 3), elements=st.integers(0, 100).map(lambda value: value / 10)))
    def test_the_scale_of_numbers_does_not_matter(self, table: np.ndarray) -> None:
        whole, tenth = krippendorff_alpha(table * 10), krippendorff_alpha(table)
        assert whole == pytest.approx(tenth, abs=1e-9, nan_ok=True)


def test_what_is_no_table_of_ratings() -> None:
    with pytest.raises(MetricError, match=r"got shape \(2,\)"):
        krippendorff_alpha([1, 2])
    with pytest.raises(MetricError, match="not finite"):
        intraclass_correlation([[1, float("inf")]])
