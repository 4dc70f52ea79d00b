"""Quotients of arrays, and harmonic means beside mir_eval."""

from __future__ import annotations

import mir_eval
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mirflow.kernels.ratios import divide, harmonic_mean, rate, standard_deviation

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=8)


@given(COUNTS, st.data())
def test_where_there_is_something_to_divide_by_it_divides(part, data):
    whole = np.array(data.draw(st.lists(st.integers(0, 50), min_size=len(part), max_size=len(part))))
    found = divide(np.array(part), whole, -1.0)
    assert found.tolist() == [one / other if other else -1.0 for one, other in zip(part, whole.tolist(), strict=True)]


def test_shapes_broadcast():
    found = divide(np.ones((2, 1)), np.array([1.0, 0.0, 4.0]), np.nan)
    np.testing.assert_array_equal(found, [[1.0, np.nan, 0.25]] * 2)
    assert divide(1, np.array([2.0])).tolist() == [0.5]


def test_the_result_elsewhere_may_differ_by_element():
    assert divide(np.ones(3), np.array([0.0, 2.0, 0.0]), np.array([7.0, 8.0, 9.0])).tolist() == [7.0, 0.5, 9.0]


def test_negative_denominators_divide_where_they_are_asked_for():
    assert divide(np.ones(2), np.array([-2.0, 0.0]), 3.0).tolist() == [3.0, 3.0]
    whole = np.array([-2.0, 0.0])
    assert divide(np.ones(2), whole, 3.0, where=whole != 0).tolist() == [-0.5, 3.0]


@given(st.floats(0, 1, allow_subnormal=False), st.floats(0, 1, allow_subnormal=False), st.floats(0.1, 10))
def test_the_harmonic_mean_has_the_bits_of_mir_eval(precision, recall, beta):
    expected = mir_eval.util.f_measure(precision, recall, beta)
    assert harmonic_mean(np.array([precision]), np.array([recall]), beta).item() == expected


def test_the_harmonic_mean_of_an_undefined_rate_is_undefined():
    assert np.isnan(harmonic_mean(np.array([np.nan, 0.0]), np.array([0.5, np.nan]))).all()
    assert harmonic_mean(np.zeros(1), np.zeros(1)).tolist() == [0.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=8), st.floats(0, 4))
def test_rates_of_counts_have_the_bits_of_mir_eval(counts, beta):
    hits, missed, extra = np.array(counts, dtype=np.int64).reshape(-1, 3).T
    sides = hits, hits + missed, hits + extra
    (precision, found), (recall, wanted) = rate("precision", *sides), rate("recall", *sides)
    f, weight = rate("f_measure", *sides, beta=beta)
    assert precision.tolist() == [hit / (hit + more) if hit else 0.0 for hit, _, more in counts]
    assert recall.tolist() == [hit / (hit + less) if hit else 0.0 for hit, less, _ in counts]
    expected = [mir_eval.util.f_measure(p, r, beta) for p, r in zip(precision.tolist(), recall.tolist(), strict=True)]
    assert f.tolist() == expected
    assert (found.tolist(), wanted.tolist()) == (sides[2].tolist(), sides[1].tolist())
    np.testing.assert_allclose(f * weight, hits, rtol=1e-14)


def test_rates_without_events_are_the_given_number():
    sides = np.array([0, 0]), np.array([0, 2]), np.array([3, 0])
    assert rate("precision", *sides, otherwise=1.0)[0].tolist() == [0.0, 1.0]
    assert rate("recall", *sides, otherwise=1.0)[0].tolist() == [1.0, 0.0]
    assert rate("f_measure", *sides, otherwise=1.0)[0].tolist() == [0.0, 0.0]
    assert np.isnan(rate("f_measure", *sides, otherwise=np.nan)[0]).all()


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8))
def test_the_standard_deviation_of_moments_is_that_of_the_values(values: list[float]) -> None:
    moments = np.array([len(values), np.sum(values), np.square(values).sum()])
    np.testing.assert_allclose(standard_deviation(moments), np.std(values), atol=1e-6)
