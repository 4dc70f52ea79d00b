"""mir_eval's functions for one pair of sets of patterns: the same numbers, errors and warnings."""

from __future__ import annotations

import warnings

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import pattern

from .patterns import Patterns, mir_eval_scores, pairs

THREE = ("standard_FPR", "establishment_FPR", "occurrence_FPR", "three_layer_FPR")
FIRST = ("first_n_three_layer_P", "first_n_target_proportion_R")

ONE: Patterns = [[[(0.0, 60.0), (1.0, 62.0)]]]


def both(name: str, pair: tuple[Patterns, Patterns], **kwargs: float) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(mir_eval.pattern, name)(*pair, **kwargs)
        ours = getattr(pattern, name)(*pair, **kwargs)
    return np.array(ours), np.array(theirs)


@given(pairs(), st.sampled_from((0.25, 0.5, 0.6, 1.0)), st.sampled_from((1e-5, 0.7)), st.integers(0, 6))
@example((ONE, [[[(0.0, 60.0), (1.5, 62.0)]]]), 0.5, 0.5, 1)  # just as far apart as it must not be
@settings(max_examples=75, deadline=None)
def test_the_functions_give_mir_evals_scores(pair, thres, tol, n) -> None:
    given_: dict[str, dict[str, float]] = {"standard_FPR": {"tol": tol}, "occurrence_FPR": {"thres": thres}}
    for name in THREE:
        ours, theirs = both(name, pair, **given_.get(name, {}))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    for name in FIRST:
        ours, theirs = both(name, pair, n=n)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
        assert ours.shape == ()


@given(pairs())
@settings(max_examples=40, deadline=None)
def test_evaluate_gives_mir_evals_scores(pair) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        found = pattern.evaluate(*pair)
    assert dict(found) == pytest.approx(mir_eval_scores(*pair), abs=1e-12)


@pytest.mark.parametrize("name", ["evaluate", *THREE, *FIRST, "validate"])
def test_sides_without_notes_are_warned_of_at_the_callers_line(name: str) -> None:
    for sides, message in (([[[[]]], ONE], "Reference"), ([ONE, [[[]]]], "Estimated"), ([[], ONE], "Reference")):
        with pytest.warns(MirflowWarning, match=f"^{message} patterns are empty.$") as seen:
            getattr(pattern, name)(*sides)
        assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("name", ["evaluate", *THREE, *FIRST, "validate"])
@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([[[(0.0, 60.0)]], []], "^Each pattern must contain at least one occurrence.$"),
        ([[[(0.0, 60.0, 1.0)]]], r"^The \(onset, midi\) tuple must contain exactly 2 elements.$"),
    ],
)
def test_malformed_patterns_are_refused_as_by_mir_eval(name: str, patterns: list, message: str) -> None:
    for module in (pattern, mir_eval.pattern):
        for sides in ((patterns, ONE), (ONE, patterns)):
            with pytest.raises(ValueError, match=message):
                getattr(module, name)(*sides)


def test_notes_must_be_finite() -> None:
    with pytest.raises(ValueError, match=r"^Onsets and pitches must be finite, and not beyond 1e\+09$"):
        pattern.evaluate(ONE, [[[(np.nan, 60.0)]]])


@pytest.mark.parametrize("name", ["establishment_FPR", "occurrence_FPR", "evaluate"])
def test_other_similarities_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="can only be: 'cardinality_score'"):
        getattr(pattern, name)(ONE, ONE, similarity_metric="other")


def test_evaluate_passes_its_parameters_on() -> None:
    estimate: Patterns = [[[(0.0, 60.0), (1.2, 62.0)]], *ONE]
    assert pattern.evaluate(ONE, estimate, tol=0.5)["P"] == 0.5
    assert pattern.evaluate(ONE, estimate[:1], tol=0.5)["P"] == 1.0
    assert pattern.evaluate(ONE, estimate, n=1)["FFTP_est"] == 0.5
