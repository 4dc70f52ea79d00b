"""mir_eval's beat functions for one pair: the same numbers, errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import beat, downbeat
from tests.event_strategies import pairs, sequences

METRICS = ("f_measure", "cemgil", "goto", "p_score", "continuity", "information_gain")
FUNCTIONS = (*METRICS, "evaluate", "trim_beats", "validate")
BEATS = np.arange(14.0)
OFF = (BEATS, BEATS + 0.25)
"""A quarter of a beat apart, which is exactly what some limits allow."""
LATE_AND_EXACT = (BEATS, np.concatenate([BEATS[:6] + 0.2, BEATS[7:12]]))
"""Two stretches of equal length between errors, late beats and exact ones: Goto looks at one of them."""
NEED_INTERVALS = ("p_score", "continuity", "information_gain")


def call(module: Any, name: str, *sides: np.ndarray, **kwargs: Any) -> Any:
    """The result as an array, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = getattr(module, name)(*(side.copy() for side in sides), **kwargs)
        except (ValueError, IndexError) as error:
            return error
    return np.array(list(found.values()) if isinstance(found, dict) else found, dtype=np.float64)


def compare(name: str, *sides: np.ndarray, **kwargs: Any) -> None:
    found, expected = call(beat, name, *sides, **kwargs), call(mir_eval.beat, name, *sides, **kwargs)
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    else:
        assert isinstance(found, ValueError)


@settings(deadline=None, max_examples=75)
@given(pair=pairs)
@example(pair=(np.array([6.0, 6.0]), np.array([6.0, 7.0])))
@example(pair=(np.array([5.0, 5.5, 5.5, 6.0]), np.array([5.0, 5.0, 5.5, 6.0])))
@example(pair=(np.array([1.0, 1.0]), np.array([1.0, 1.0])))
@example(pair=(np.array([1.0]), np.array([1.0, 2.0])))
@example(pair=(np.arange(10.0), np.full(4, 3.0)))
@example(pair=(np.arange(100.0), np.append(np.arange(80.0), np.arange(80.0, 100.0) + 0.2)))
def test_every_function_gives_mir_evals_numbers_and_errors(pair: tuple[np.ndarray, np.ndarray]) -> None:
    for name in METRICS:
        compare(name, *pair)
    compare("evaluate", *pair)


@settings(deadline=None)
@given(
    pair=pairs,
    window=st.sampled_from([0.01, 0.1, 0.5]),
    sigma=st.sampled_from([0.02, 0.3]),
    share=st.sampled_from([0.05, 0.35, 0.5, 0.99]),
    bins=st.sampled_from([2, 3, 40, 101]),
)
@example(pair=OFF, window=0.6, sigma=0.3, share=0.5, bins=41)
@example(pair=OFF, window=0.25, sigma=0.3, share=0.25, bins=41)
@example(pair=OFF, window=0.5, sigma=0.25, share=0.6, bins=41)
@example(pair=(BEATS, np.delete(BEATS, [4, 8, 10])), window=0.6, sigma=0.6, share=0.35, bins=41)  # three are right: 0
@example(pair=(BEATS, np.delete(BEATS, [5, 9, 11])), window=0.6, sigma=0.6, share=0.35, bins=41)  # four are right: 1
@example(pair=LATE_AND_EXACT, window=0.45, sigma=0.6, share=0.5, bins=41)
@example(pair=(BEATS, 13.0 - LATE_AND_EXACT[1][::-1]), window=0.45, sigma=0.6, share=0.5, bins=41)
def test_parameters_have_mir_evals_meaning(
    pair: tuple[np.ndarray, np.ndarray], window: float, sigma: float, share: float, bins: int
) -> None:
    compare("f_measure", *pair, f_measure_threshold=window)
    compare("cemgil", *pair, cemgil_sigma=sigma)
    compare("goto", *pair, goto_threshold=share, goto_mu=window, goto_sigma=sigma)
    compare("p_score", *pair, p_score_threshold=share)
    compare("continuity", *pair, continuity_phase_threshold=share, continuity_period_threshold=sigma)
    compare("information_gain", *pair, bins=bins)
    compare("evaluate", *pair, min_beat_time=2.0, f_measure_threshold=window, goto_mu=window, bins=bins)


@settings(deadline=None, max_examples=50)
@given(beats=sequences(min_size=5))
def test_evaluate_is_the_other_functions_after_trimming(beats: np.ndarray) -> None:
    later = beats + 0.04
    together = call(beat, "evaluate", beats, later)
    trimmed = [beat.trim_beats(side) for side in (beats, later)]
    one_by_one = [call(beat, name, *trimmed) for name in METRICS]
    if isinstance(together, np.ndarray):
        np.testing.assert_array_equal(np.hstack(one_by_one), together)
    else:
        assert not all(isinstance(found, np.ndarray) for found in one_by_one)


def test_downbeat_offers_the_same_functions() -> None:
    assert all(getattr(downbeat, name) is getattr(beat, name) for name in FUNCTIONS)
    assert beat.MAX_TIME == downbeat.MAX_TIME == mir_eval.beat.MAX_TIME


@pytest.mark.parametrize("name", METRICS)
def test_empty_sides_warn_and_score_0(name: str) -> None:
    function, beats = getattr(beat, name), np.arange(10.0)
    with pytest.warns(MirflowWarning, match=r"^Reference beats are empty\.$"):
        assert np.all(np.array(function(np.array([]), beats)) == 0)
    with pytest.warns(MirflowWarning, match=r"^Estimated beats are empty\.$"):
        assert np.all(np.array(function(beats, np.array([]))) == 0)


@pytest.mark.parametrize("name", NEED_INTERVALS)
def test_single_beats_warn_and_score_0(name: str) -> None:
    function, beats = getattr(beat, name), np.arange(10.0)
    message = "beat was provided, so beat intervals cannot be computed"
    with pytest.warns(MirflowWarning, match=f"Only one reference {message}"):
        assert np.all(np.array(function(np.array([1.0]), beats)) == 0)
    with pytest.warns(MirflowWarning, match=f"Only one estimated {message}"):
        assert np.all(np.array(function(beats, np.array([1.0]))) == 0)


def test_an_even_number_of_bins_warns() -> None:
    with pytest.warns(MirflowWarning, match="bins parameter is even"):
        beat.information_gain(np.arange(5.0), np.arange(5.0), bins=40)


@pytest.mark.parametrize("name", [*METRICS, "validate"])
@pytest.mark.parametrize(
    ("beats", "message"),
    [
        (np.array([[1.0, 2.0]]), r"Event times should be 1-d numpy ndarray, but shape=\(1, 2\)"),
        (np.array([1e10, 1e11]), "greater than the maximum allowable time"),
        (np.array([2.0, 1.0]), r"Events should be in increasing order\."),
        (np.array([1.0, np.nan]), "Event times must be finite"),
        (np.array([-np.inf, 1.0]), "Event times must be finite"),
    ],
)
def test_what_is_no_sequence_of_beats_is_refused(name: str, beats: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(beat, name)(beats, beats)


def test_the_p_score_of_references_in_one_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="all reference beats are in one frame of 10 ms"):
        beat.p_score(np.array([1.0, 1.0, 1.0]), np.arange(3.0))


def test_gotos_threshold_has_to_be_below_1() -> None:
    with pytest.raises(ValueError, match=r"the threshold must be below 1, got 1\.0"):
        beat.goto(np.arange(9.0), np.arange(9.0), goto_threshold=1.0)


def test_integers_are_taken_for_seconds() -> None:
    assert beat.evaluate(np.arange(20), np.arange(20)) == beat.evaluate(np.arange(20.0), np.arange(20.0))


@pytest.mark.parametrize("name", METRICS)
def test_warnings_point_at_the_caller(name: str) -> None:
    with pytest.warns(MirflowWarning) as caught:
        getattr(beat, name)(np.array([]), np.arange(9.0))
    assert {warning.filename for warning in caught} == {__file__}


def test_series_of_pandas_are_compared_by_position() -> None:
    """Also where their numbers of beats or their indices differ."""
    pd = pytest.importorskip("pandas")
    reference, estimate = pd.Series([6.0, 7.0, 8.0]), pd.Series([6.0, 7.0], index=[4, 5])
    arrays = reference.to_numpy(), estimate.to_numpy()
    assert beat.f_measure(reference, estimate) == mir_eval.beat.f_measure(reference, estimate) == 0.8
    for function in (beat.cemgil, beat.goto, beat.p_score, beat.continuity, beat.information_gain, beat.evaluate):
        assert function(reference, estimate) == function(*arrays)
