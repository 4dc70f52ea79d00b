"""Note transcription: mir_eval's numbers, matchings, errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import transcription, transcription_velocity
from tests.note_strategies import Notes, pairs, to_annotation

from .batches import score_pairs

TASK = transcription.TASK
Pair = tuple[Notes, Notes]
A4 = np.array([440.0])

parameters = st.fixed_dictionaries(
    {},
    optional={
        "onset_tolerance": st.sampled_from([0.0, 0.025, 0.05, 0.5]),
        "pitch_tolerance": st.sampled_from([0.0, 50.0, 100.0, 5000.0]),
        "offset_ratio": st.sampled_from([None, 0.0, 0.2, 1.0]),
        "offset_min_tolerance": st.sampled_from([0.0, 0.05, 0.2]),
        "strict": st.booleans(),
        "beta": st.sampled_from([0.5, 1.0, 2.0]),
    },
)


def arguments(pair: Pair, velocities: bool) -> list[np.ndarray]:
    return [part for notes in pair for part in (notes if velocities else notes[:2])]


def quietly(call: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


def assert_same(ours: dict[str, float], theirs: dict[str, float], tolerance: float = 1e-12) -> None:
    assert list(ours) == list(theirs)
    np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=0, atol=tolerance)


@given(pairs, parameters)
def test_scores_are_mir_evals(pair: Pair, given_: dict[str, Any]) -> None:
    sides = arguments(pair, False)
    found = quietly(transcription.evaluate, *sides, **given_)
    assert_same(found, quietly(mir_eval.transcription.evaluate, *sides, **given_))


@given(pairs, parameters, st.sampled_from([0.0, 0.05, 0.1, 1.0]))
def test_scores_with_velocities_are_mir_evals(pair: Pair, given_: dict[str, Any], tolerance: float) -> None:
    sides = arguments(pair, True)
    given_ = {**given_, "velocity_tolerance": tolerance}
    found = quietly(transcription_velocity.evaluate, *sides, **given_)
    assert_same(found, quietly(mir_eval.transcription_velocity.evaluate, *sides, **given_))


@given(pairs, st.sampled_from([None, 0.0, 0.2]), st.booleans())
def test_matchings_are_mir_evals_note_by_note(pair: Pair, ratio: float | None, strict: bool) -> None:
    sides, times = arguments(pair, False), [notes[0] for notes in pair]
    ours, theirs = transcription, mir_eval.transcription
    assert ours.match_note_onsets(*times, strict=strict) == theirs.match_note_onsets(*times, strict=strict)
    assert ours.match_note_offsets(*times, ratio or 0.3) == theirs.match_note_offsets(*times, ratio or 0.3)
    found = ours.match_notes(*sides, offset_ratio=ratio, strict=strict)
    assert found == theirs.match_notes(*sides, offset_ratio=ratio, strict=strict)
    overlap = ours.average_overlap_ratio(*times, found)
    assert overlap == pytest.approx(theirs.average_overlap_ratio(*times, found), abs=1e-12)
    if all(len(side) for side in sides):
        loud = arguments(pair, True)
        assert transcription_velocity.match_notes(*loud) == mir_eval.transcription_velocity.match_notes(*loud)


@given(pairs)
def test_a_pair_alone_scores_in_a_dataset_what_it_scores_as_arrays(pair: Pair) -> None:
    found = score_pairs(TASK.convention(), [(to_annotation(pair[0]), to_annotation(pair[1]))])
    assert found.score[0].tolist() == list(quietly(transcription.evaluate, *arguments(pair, False)).values())


def test_empty_sides_warn_and_score_0() -> None:
    notes, nothing = (np.array([[0.0, 1.0]]), A4), (np.zeros((0, 2)), np.zeros(0))
    with pytest.warns(MirflowWarning, match=r"^Reference notes are empty\.$"):
        assert transcription.precision_recall_f1_overlap(*nothing, *notes) == (0.0, 0.0, 0.0, 0.0)
    with pytest.warns(MirflowWarning, match=r"^Estimated notes are empty\.$"):
        assert transcription.onset_precision_recall_f1(notes[0], nothing[0]) == (0.0, 0.0, 0.0)
    with pytest.warns(MirflowWarning, match=r"^Estimated notes are empty\.$"):
        assert set(transcription_velocity.evaluate(*notes, A4, *nothing, np.zeros(0)).values()) == {0.0}
    assert transcription_velocity.match_notes(*nothing, np.zeros(0), *notes, A4) == []


@pytest.mark.parametrize(
    ("intervals", "pitches", "message"),
    [
        ([[0.0, 0.0]], [440.0], "All interval durations must be strictly positive"),
        ([[-1.0, 1.0]], [440.0], "Negative interval times found"),
        ([[0.0, np.inf]], [440.0], "Interval times must be finite"),
        ([[0.0, np.nan]], [440.0], "Interval times must be finite"),
        ([0.0, 1.0], [440.0], "Intervals should be n-by-2 numpy ndarray"),
        ([[0.0, 1.0]], [440.0, 220.0], r"intervals and pitches have different lengths\."),
        ([[0.0, 1.0]], [0.0], "contains at least one non-positive pitch value"),
        ([[0.0, 1.0]], [np.inf], "contains a pitch that is not finite"),
    ],
)
def test_what_are_no_notes_is_refused(intervals: Any, pitches: Any, message: str) -> None:
    good, bad = (np.array([[0.0, 1.0]]), A4), (np.array(intervals), np.array(pitches))
    for function in (transcription.validate, transcription.precision_recall_f1_overlap, transcription.evaluate):
        for sides in ((*good, *bad), (*bad, *good)):
            with pytest.raises(ValueError, match=message):
                function(*sides)


@pytest.mark.parametrize(
    ("velocities", "message"),
    [
        ([-1.0], r"^Estimated velocities must be positive\.$"),
        ([np.nan], r"^Estimated velocities must be finite\.$"),
        ([1.0, 2.0], r"^Estimated velocities must have the same length as pitches and intervals\.$"),
    ],
)
def test_what_are_no_velocities_is_refused(velocities: list[float], message: str) -> None:
    notes = np.array([[0.0, 1.0]]), A4
    for function in (transcription_velocity.validate, transcription_velocity.evaluate):
        with pytest.raises(ValueError, match=message):
            function(*notes, A4, *notes, np.array(velocities))
