"""Multiple F0 estimation: mir_eval's numbers, errors and warnings, and what cannot be scored."""

from __future__ import annotations

import warnings

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow import evaluate, explain
from mirflow.annotations.annotation import Annotation
from mirflow.errors import MirflowWarning
from mirflow.metrics import multipitch
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.multipitch.scoring import MOST_PAIRS
from mirflow.ragged import Ragged

TASK = get_task("multipitch")
Frames = tuple[np.ndarray, list[np.ndarray]]
Pair = tuple[Frames, Frames]

# Semitones from a few notes: on them, at the edge of the window, and where one octave ends and the next begins.
_MIDI = st.sampled_from([48, 48.25, 48.5, 49, 49.5, 59.75, 59.9, 60, 60.2, 60.5, 71.6, 72, 71.999999999, 83.7, 36.3])
_WINDOWS = st.sampled_from([0.5, 0.0, 0.25, 1.0, 5.0, 7.0])


@st.composite
def frames(draw: st.DrawFn) -> Frames:
    """Frames in order of time, with any number of pitches, some of them repeated."""
    count = draw(st.integers(0, 8))
    times = draw(st.sampled_from([0.0, 0.004, -0.5])) + draw(st.sampled_from([0.01, 0.0058, 0.5])) * np.arange(count)
    if draw(st.booleans()):
        times = np.sort(np.round(times, 2))
    pitches = st.lists(_MIDI, max_size=6).map(lambda midi: 440 * 2 ** ((np.array(midi, dtype=float) - 69) / 12))
    return times, draw(st.lists(pitches, min_size=count, max_size=count))


def to_rows(side: list[Frames]) -> Ragged:
    columns = {
        "time": np.concatenate([np.zeros(0), *(times for times, _ in side)]),
        "frequency": np.concatenate([np.zeros(0), *(frame for _, row in side for frame in row)]),
    }
    inner = np.array([len(frame) for _, row in side for frame in row], dtype=np.int64)
    return Ragged(columns, (np.array([len(times) for times, _ in side], dtype=np.int64), inner), depths={"time": 1})


def score(batch: list[Pair], *metrics: str) -> Scores:
    rules, row = TASK.convention(), np.arange(len(batch))
    sides = (to_rows([pair[side] for pair in batch]) for side in (0, 1))
    return rules.score(Pairs(*sides, row, row), rules.select(metrics or None), "reference")


def call(function: object, pair: Pair, **kwargs: float) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(function(*pair[0], *pair[1], **kwargs).values())


def annotation(*rows: list[float]) -> Annotation:
    """Frames half a second apart."""
    columns = {"time": 0.5 * np.arange(len(rows)), "frequency": np.array([one for row in rows for one in row])}
    return Annotation("multipitch", columns, None, (np.array([len(row) for row in rows]),))


@settings(deadline=None, max_examples=75)
@given(batch=st.lists(st.tuples(frames(), frames()), min_size=1, max_size=5), window=_WINDOWS)
def test_scores_are_mir_evals_alone_and_in_batches_to_the_bit(batch: list[Pair], window: float) -> None:
    keyed = (metric.name for metric in TASK.convention().metrics if metric.key)
    together = score(batch, *(f"{name}@{window}" for name in keyed))
    for number, pair in enumerate(batch):
        alone = call(multipitch.evaluate, pair, window=window)
        assert together.score[number].tolist() == alone
        np.testing.assert_allclose(alone, call(mir_eval.multipitch.evaluate, pair, window=window), rtol=0, atol=1e-12)


def test_weights_are_the_scores_own_denominators() -> None:
    found = evaluate(annotation([220.0, 330.0], []), annotation([221.0], [440.0, 550.0]), "multipitch")
    weights = dict(zip(found.metric.values.tolist(), found.weight.values.ravel().tolist(), strict=True))
    scores = dict(zip(found.metric.values.tolist(), found.score.values.ravel().tolist(), strict=True))
    assert weights["precision"] == 3.0
    assert weights["accuracy"] == weights["chroma_accuracy"] == 4.0
    assert {weights[name] for name in ("recall", "miss_error", "false_alarm_error", "chroma_total_error")} == {2.0}
    assert scores["accuracy"] == 0.25
    assert scores["false_alarm_error"] == 1.0


def test_empty_sides() -> None:
    filled, nothing = (np.array([0.0]), [np.array([220.0])]), (np.zeros(0), [])
    found = score([(filled, nothing), (nothing, filled), (nothing, nothing)], "accuracy", "miss_error", "precision")
    assert found.score.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert found.weight.tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_frames_with_too_many_pitches_are_refused_and_others_scored() -> None:
    size = int(MOST_PAIRS**0.5) + 1
    crowd = np.zeros(1), [np.full(size, 220.0)]
    usual = np.zeros(1), [np.array([220.0])]
    found = score([(crowd, crowd), (usual, usual), (crowd, usual)], "recall")
    assert list(found.refused) == [0]
    assert np.isnan(found.score[0, 0])
    assert found.score[1:, 0].tolist() == [1.0, 1 / size]


class TestCleaning:
    """What dataset runs do with odd rows."""

    clean = staticmethod(TASK.convention().clean)

    @pytest.mark.parametrize(
        ("time", "frequency", "message"),
        [
            (np.nan, 220.0, "time is not finite: nan"),
            (1e6, 220.0, "time is later than 30000 s"),
            (0.5, 7.0, "frequency is not from 20 to 5000 Hz: 7.0"),
            (0.5, -220.0, "frequency is not from 20 to 5000 Hz: -220.0"),
            (0.5, np.nan, "frequency is not from 20 to 5000 Hz: nan"),
        ],
    )
    def test_flaws_name_the_frame_and_empty_the_row(self, time: float, frequency: float, message: str) -> None:
        good = np.array([0.0]), [np.array([440.0])]
        bad = np.array([0.0, time]), [np.array([220.0, 330.0]), np.array([440.0, frequency])]
        cleaned = self.clean(to_rows([bad, good]))
        assert cleaned.flaws[0].item == 1
        assert message in cleaned.flaws[0].message
        assert cleaned.rows.counts[0].tolist() == [0, 1]
        assert cleaned.rows.columns["frequency"].tolist() == [440.0]

    def test_frames_are_sorted_and_zeros_dropped(self) -> None:
        odd = np.array([0.5, 0.0]), [np.array([220.0, 0.0]), np.array([330.0])]
        cleaned = self.clean(to_rows([odd]))
        assert cleaned.rows.columns["time"].tolist() == [0.0, 0.5]
        assert cleaned.rows.columns["frequency"].tolist() == [330.0, 220.0]
        assert cleaned.rows.counts[1].tolist() == [1, 1]
        assert cleaned.repairs.tolist() == [2]


class TestPairFunctions:
    """mir_eval's interface."""

    pair = (np.array([0.0, 0.01]), [np.array([220.0]), np.array([])]), (np.array([0.0, 0.01]), [np.array([220.0])] * 2)

    def test_a_misspelt_argument_is_named_with_the_nearest_known_one(self) -> None:
        for function in (multipitch.evaluate, multipitch.metrics):
            with pytest.raises(TypeError, match=r"'windwo'; did you mean 'window'\?"):
                function(*self.pair[0], *self.pair[1], windwo=1)

    def test_frequencies_that_are_no_pitches_are_refused(self) -> None:
        for wrong in (np.nan, -220.0):
            with pytest.raises(ValueError, match="Frequencies must be finite and above 0 Hz"):
                multipitch.evaluate(np.zeros(1), [np.array([wrong])], np.zeros(1), [np.array([220.0])])

    def test_warnings_of_sides_without_pitches(self) -> None:
        with pytest.warns(MirflowWarning, match=r"^Estimate frequencies are all empty\.$"):
            multipitch.evaluate(np.zeros(1), [np.array([220.0])], np.zeros(1), [np.array([])])
        with pytest.warns(MirflowWarning, match=r"^Reference frequencies are all empty\.$"):
            multipitch.evaluate(np.zeros(1), [np.array([])], np.zeros(1), [np.array([220.0])])


def test_evidence_shows_hits_misses_and_extra_pitches() -> None:
    one, other = annotation([220.0, 330.0], []), annotation([221.0, 660.0], [440.0])
    found = explain(one, other, "accuracy", "multipitch")
    assert found.verdict.values.tolist() == ["hit", "missed", "extra", "extra"]
    assert found.start.values.tolist() == [0.0, 0.0, 0.0, 0.5]
    assert explain(one, other, "chroma_accuracy", "multipitch").verdict.values.tolist() == ["hit", "hit", "extra"]
