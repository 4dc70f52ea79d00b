"""Sounds of annotations: mir_eval's arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.metrics import sonify
from mirflow.metrics.chord import InvalidChordException

from ..commands import invoke, refused

FS = 8000


def square(phase: Any) -> Any:
    return np.sign(np.sin(phase))


def restore(value: Any) -> Any:
    """An argument as it was before it became JSON."""
    if value == "<lambda>":
        return square
    return np.array(value) if isinstance(value, list) and not any(isinstance(one, str) for one in value) else value


def expected_cases(shared_data: Path) -> list[tuple[str, str, dict[str, Any]]]:
    text = (shared_data / "oracles" / "09_sonify_display" / "expected.json").read_text()
    functions: dict[str, dict[str, dict[str, Any]]] = json.loads(text)["sonify"]
    return [(function, name, case) for function, cases in functions.items() for name, case in cases.items()]


def test_signals_are_those_that_mir_eval_gave(shared_data: Path) -> None:
    for function, name, case in expected_cases(shared_data):
        args = [restore(value) for value in case["args"]]
        kwargs = {key: restore(value) for key, value in case["kwargs"].items()}
        result = case["result"]
        if (function, name) == ("time_frequency", "one_column"):
            continue  # mir_eval fails; test_one_column_is_a_constant_tone
        if "exception" in result:
            with pytest.raises((ValueError, InvalidChordException)):
                getattr(sonify, function)(*args, **kwargs)
            continue
        signal = getattr(sonify, function)(*args, **kwargs)
        assert list(signal.shape) == result["shape"], (function, name)
        (kept,) = [key for key in result if key == "values" or key.startswith("every_")]
        step = 1 if kept == "values" else int(kept.split("_")[1])
        values = np.array(result[kept])
        np.testing.assert_allclose(
            signal[::step][: len(values)], values, rtol=0, atol=1e-9, err_msg=f"{function} {name}"
        )
        assert np.abs(signal).sum() == pytest.approx(result["sum_abs"], abs=1e-7)


@st.composite
def rolls(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int | None]:
    """Magnitudes, frequencies, times in either form and in any order, and perhaps a length."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(2, 12))
    gram = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.6)
    starts = rng.uniform(-0.2, 1.0, columns)
    if draw(st.booleans()):
        times = np.sort(starts)
    else:
        order = np.argsort(starts) if draw(st.booleans()) else np.arange(columns)
        times = np.stack([starts, starts + rng.uniform(0, 0.4, columns)], axis=1)[order]
    length = draw(st.one_of(st.none(), st.integers(1, 2 * FS)))
    return gram, rng.uniform(20, 3900, rows), times, length


@given(rolls())
def test_piano_rolls_sound_as_those_of_mir_eval(roll: tuple[np.ndarray, np.ndarray, np.ndarray, int | None]) -> None:
    gram, frequencies, times, length = roll
    if length is None and (times.max() <= 0 or int(times.max() * FS) < 1):
        return
    try:
        expected = mir_eval.sonify.time_frequency(gram, frequencies, times, FS, length=length)
    except ValueError:  # of a single column that sounds
        return
    found = sonify.time_frequency(gram, frequencies, times, FS, length=length)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@given(
    st.lists(st.floats(0, 3), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(0, 4 * FS)),
    st.one_of(st.none(), st.lists(st.floats(-1, 1), min_size=1, max_size=50).map(np.array)),
)
def test_clicks_are_those_of_mir_eval(times: list[float], length: int | None, click: np.ndarray | None) -> None:
    expected = mir_eval.sonify.clicks(np.array(times), FS, click=click, length=length)
    np.testing.assert_array_equal(sonify.clicks(np.array(times), FS, click=click, length=length), expected)


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous"])
@given(seed=st.integers(0, 2**32 - 1), length=st.one_of(st.none(), st.integers(1, 3 * FS)), loud=st.booleans())
def test_contours_are_those_of_mir_eval(kind: str, seed: int, length: int | None, loud: bool) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.uniform(0, 2, 30))
    frequencies = rng.choice([0.0, -110.0, np.nan, 220.0, 440.0], 30)
    amplitudes = rng.uniform(0, 1, 30) if loud else None
    given_ = {"amplitudes": amplitudes, "length": length, "kind": kind}
    expected = mir_eval.sonify.pitch_contour(times, frequencies, FS, **given_)
    np.testing.assert_allclose(sonify.pitch_contour(times, frequencies, FS, **given_), expected, rtol=0, atol=1e-9)


def test_one_column_is_a_constant_tone() -> None:
    alone = sonify.time_frequency([[0.0], [1.0], [0.5]], [50.0, 100.0, 200.0], [[0.0, 0.1]], FS)
    halves = sonify.time_frequency(
        [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]], [50.0, 100.0, 200.0], [[0.0, 0.05], [0.05, 0.1]], FS
    )
    np.testing.assert_allclose(alone, halves, rtol=0, atol=1e-15)


def test_chords_of_a_long_song_repeat_their_waves_without_a_seam() -> None:
    intervals = np.stack([np.arange(12) * 2.0, np.arange(12) * 2.0 + 2.0], axis=1)
    labels = ["C", "G:7", "N", "A:min/b3"] * 3
    expected = mir_eval.sonify.chords(labels, intervals, FS)
    np.testing.assert_allclose(sonify.chords(labels, intervals, FS), expected, rtol=0, atol=1e-9)


def test_what_cannot_sound_is_an_error_that_says_why() -> None:
    with pytest.raises(ValueError, match="no times: the length of the signal"):
        sonify.clicks([], FS)
    with pytest.raises(ValueError, match="got 11"):
        sonify.chroma(np.ones((11, 2)), [0.0, 0.1, 0.2], FS)
    with pytest.raises(ValueError, match="9000 Hz is above the sampling rate of 8000 Hz"):
        sonify.time_frequency([[1.0, 1.0]], [9000.0], [[0.0, 0.1], [0.1, 0.2]], FS)
    with pytest.raises(ValueError, match="3 times are incompatible with the 2 columns"):
        sonify.time_frequency([[1.0, 1.0]], [100.0], [[0.0, 0.1], [0.1, 0.2], [0.2, 0.3]], FS)


class TestAnnotations:
    """An annotation sounds as the function for its form sounds with its arrays."""

    @staticmethod
    def loaded(tmp_path: Path, task: str, text: str, suffix: str = ".txt") -> Any:
        path = tmp_path / f"{task}{suffix}"
        path.write_text(text, encoding="utf-8")
        return mirflow.load(path, task)

    @pytest.mark.parametrize("task", ["beat", "onset"])
    def test_events_are_clicks(self, tmp_path: Path, task: str) -> None:
        events = self.loaded(tmp_path, task, "0.5\n1.25\n")
        np.testing.assert_array_equal(sonify.annotation(events, FS), sonify.clicks([0.5, 1.25], FS))

    def test_boundaries_are_clicks_and_chords_are_chords(self, tmp_path: Path) -> None:
        text = "0.0 0.5 A\n0.5 0.5 G\n0.5 1.25 D:min\n"
        segments = self.loaded(tmp_path, "segment", text, ".lab")
        np.testing.assert_array_equal(sonify.annotation(segments, FS), sonify.clicks([0.0, 0.5], FS))
        chords = self.loaded(tmp_path, "chord", text, ".lab")
        expected = sonify.chords(["A", "D:min"], [[0.0, 0.5], [0.5, 1.25]], FS)
        np.testing.assert_array_equal(sonify.annotation(chords, FS), expected)
        np.testing.assert_array_equal(sonify.annotation(segments, FS, "chord"), expected)

    def test_melodies_glide_and_are_silent_where_unvoiced(self, tmp_path: Path) -> None:
        melody = self.loaded(tmp_path, "melody", "0.0 220\n0.1 220\n0.2 0\n0.3 -220\n")
        signal = sonify.annotation(melody, FS)
        np.testing.assert_array_equal(
            signal, sonify.pitch_contour([0, 0.1, 0.2, 0.3], [220, 220, 0, 0], FS, amplitudes=[1.0, 1.0, 0, 0])
        )
        assert not signal[int(0.2 * FS) :].any()

    def test_notes_and_frames_are_a_piano_roll(self, tmp_path: Path) -> None:
        notes = self.loaded(tmp_path, "transcription", "0.0 0.5 440\n0.25 0.5 880\n")
        gram = [[1.0, 1.0], [0.0, 1.0]]
        expected = sonify.time_frequency(gram, [440.0, 880.0], [[0.0, 0.25], [0.25, 0.5]], FS)
        np.testing.assert_array_equal(sonify.annotation(notes, FS), expected)
        frames = self.loaded(tmp_path, "multipitch", "0.0 440\n0.25 440 880\n")
        np.testing.assert_array_equal(sonify.annotation(frames, FS), expected)

    @pytest.mark.parametrize(
        ("label", "classes"),
        [("C major", {0, 4, 7}), ("A:min", {9, 0, 4}), ("B:locrian", {11, 2, 5}), ("G:lydian", {7, 11, 2})],
    )
    def test_a_key_is_its_triad(self, tmp_path: Path, label: str, classes: set[int]) -> None:
        key = self.loaded(tmp_path, "key", label)
        gram = [[float(step in classes)] for step in range(12)]
        np.testing.assert_array_equal(sonify.annotation(key, FS), sonify.chroma(gram, [[0.0, 4.0]], FS))

    def test_a_tempo_is_clicks_of_the_stronger_one(self, tmp_path: Path) -> None:
        tempo = self.loaded(tmp_path, "tempo", "60 120 0.3")
        np.testing.assert_array_equal(sonify.annotation(tempo, FS), sonify.clicks(np.arange(40) / 2, FS))

    def test_what_has_no_times_is_refused(self) -> None:
        ranking = Annotation("ranking", {}, ["a", "b"])
        with pytest.raises(AnnotationError, match="ranking cannot be sonified"):
            sonify.annotation(ranking)
        with pytest.raises(AnnotationError, match="not an annotation: list; "):
            sonify.annotation([1.0])  # type: ignore[arg-type]
        with pytest.raises(AnnotationError, match="at most 6 hours long"):
            sonify.annotation(Annotation("events", {"time": np.array([1e8])}))


class TestCommand:
    """``mirflow sonify`` writes what the functions give."""

    @pytest.fixture
    def pair(self, tmp_path: Path) -> tuple[Path, Path]:
        paths = tmp_path / "ref.txt", tmp_path / "est.txt"
        for path, times in zip(paths, ("0.0\n0.5\n", "0.0\n0.75\n"), strict=True):
            path.write_text(times)
        return paths

    def test_the_reference_is_left_and_the_estimate_right_a_fifth_higher(self, tmp_path: Path, pair: Any) -> None:
        out = tmp_path / "x.wav"
        invoke("sonify", *pair, "--task", "beat", "--stereo", "-o", out, "--rate", FS, code=0)
        samples, rate = soundfile.read(out)
        assert (rate, samples.shape) == (FS, (FS * 17 // 20 + 1, 2))
        blips = [np.abs(np.fft.rfft(samples[: FS // 10, ear])).argmax() * 10 for ear in (0, 1)]
        assert blips == [1000, 1500]
        expected = sonify.clicks([0.0, 0.5], FS)
        np.testing.assert_allclose(samples[: len(expected), 0], expected, atol=2**-14)

    def test_options_of_reading_may_be_those_of_one_side(self, tmp_path: Path, pair: Any) -> None:
        outputs = tmp_path / "x.wav", tmp_path / "y.wav"
        invoke("sonify", *pair, "--task", "beat", "-o", outputs[0], "--rate", FS, code=0)
        pair[1].write_text("0\n750\n")
        given = ("--task", "beat", "--estimate-time-unit", "ms", "-o", outputs[1], "--rate", FS)
        invoke("sonify", *pair, *given, code=0)
        assert outputs[0].read_bytes() == outputs[1].read_bytes()

    def test_minutes_are_written_as_ogg_vorbis(self, tmp_path: Path, pair: Any) -> None:
        out = tmp_path / "x.ogg"
        pair[0].write_text("0.0\n240.0\n")
        invoke("sonify", pair[0], "--task", "beat", "--rate", 16000, "-o", out, code=0)
        assert soundfile.info(out).duration == pytest.approx(240.1, abs=0.1)

    def test_annotations_are_added_to_audio_of_another_rate(self, tmp_path: Path, pair: Any) -> None:
        audio, out = tmp_path / "song.wav", tmp_path / "x.flac"
        soundfile.write(audio, np.full((16000, 2), 0.25), 16000)
        invoke("sonify", pair[0], "--task", "beat", "--mix", audio, "--rate", FS, "-o", out, code=0)
        samples, rate = soundfile.read(out)
        assert (rate, len(samples)) == (FS, FS)
        middle = slice(FS * 7 // 10, FS * 9 // 10)
        np.testing.assert_allclose(samples[middle] / samples[middle].mean(), 1.0, atol=0.01)

    def test_mistakes_are_messages(self, tmp_path: Path, pair: Any) -> None:
        out = tmp_path / "x.wav"
        assert "--stereo needs two annotations" in refused("sonify", pair[0], "--task", "beat", "--stereo", "-o", out)
        assert "the suffix must be .wav, .flac, .ogg" in refused(
            "sonify", pair[0], "--task", "beat", "-o", tmp_path / "x.mp3"
        )
        assert "unknown task" in refused("sonify", pair[0], "--task", "beet", "-o", out)
        assert not out.exists()
