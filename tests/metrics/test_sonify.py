"""Sounds of annotations: mir_eval's arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
import soundfile

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError
from mirflow.metrics import sonify

from ..commands import invoke, refused

FS = 8000


def test_chords_are_those_of_mir_eval() -> None:
    intervals = np.stack([np.arange(12) * 2.0, np.arange(12) * 2.0 + 2.0], axis=1)
    labels = ["C", "G:7", "N", "A:min/b3"] * 3
    given = Annotation("intervals", {"start": intervals[:, 0], "end": intervals[:, 1]}, labels)
    expected = mir_eval.sonify.chords(labels, intervals, FS)
    np.testing.assert_allclose(sonify.annotation(given, FS, "chord"), expected, rtol=0, atol=1e-9)


def test_a_single_chord_sounds() -> None:
    one = Annotation("intervals", {"start": np.zeros(1), "end": np.ones(1)}, ["C"])
    halves = Annotation("intervals", {"start": np.array([0.0, 0.5]), "end": np.array([0.5, 1.0])}, ["C", "C"])
    np.testing.assert_array_equal(sonify.annotation(one, FS, "chord"), sonify.annotation(halves, FS, "chord"))


def test_without_mir_eval_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["mir_eval"] = None
import mirflow
try:
    mirflow.sonify
except ImportError as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("sounds of annotations need mir_eval: pip install 'mirflow[mir_eval]'")


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
        np.testing.assert_array_equal(sonify.annotation(events, FS), sonify.clicks(np.array([0.5, 1.25]), FS))

    def test_boundaries_are_clicks_and_chords_are_chords(self, tmp_path: Path) -> None:
        text = "0.0 0.5 A\n0.5 0.5 G\n0.5 1.25 D:min\n"
        segments = self.loaded(tmp_path, "segment", text, ".lab")
        np.testing.assert_array_equal(sonify.annotation(segments, FS), sonify.clicks(np.array([0.0, 0.5]), FS))
        chords = self.loaded(tmp_path, "chord", text, ".lab")
        expected = sonify.chords(["A", "D:min"], np.array([[0.0, 0.5], [0.5, 1.25]]), FS)
        np.testing.assert_array_equal(sonify.annotation(chords, FS), expected)
        np.testing.assert_array_equal(sonify.annotation(segments, FS, "chord"), expected)

    def test_melodies_glide_and_are_silent_where_unvoiced(self, tmp_path: Path) -> None:
        melody = self.loaded(tmp_path, "melody", "0.0 220\n0.1 220\n0.2 0\n0.3 -220\n")
        signal = sonify.annotation(melody, FS)
        np.testing.assert_array_equal(
            signal,
            sonify.pitch_contour(
                np.array([0, 0.1, 0.2, 0.3]), np.array([220.0, 220, 0, 0]), FS, amplitudes=np.array([1.0, 1.0, 0, 0])
            ),
        )
        assert not signal[int(0.2 * FS) :].any()

    def test_notes_and_frames_are_a_piano_roll(self, tmp_path: Path) -> None:
        notes = self.loaded(tmp_path, "transcription", "0.0 0.5 440\n0.25 0.5 880\n")
        gram, pitches = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([440.0, 880.0])
        expected = sonify.time_frequency(gram, pitches, np.array([[0.0, 0.25], [0.25, 0.5]]), FS)
        np.testing.assert_array_equal(sonify.annotation(notes, FS), expected)
        frames = self.loaded(tmp_path, "multipitch", "0.0 440\n0.25 440 880\n")
        np.testing.assert_array_equal(sonify.annotation(frames, FS), expected)

    @pytest.mark.parametrize(
        ("label", "classes"),
        [("C major", {0, 4, 7}), ("A:min", {9, 0, 4}), ("B:locrian", {11, 2, 5}), ("G:lydian", {7, 11, 2})],
    )
    def test_a_key_is_its_triad(self, tmp_path: Path, label: str, classes: set[int]) -> None:
        key = self.loaded(tmp_path, "key", label)
        gram = np.array([[float(step in classes)] * 2 for step in range(12)])
        expected = sonify.chroma(gram, np.array([[0.0, 2.0], [2.0, 4.0]]), FS)
        np.testing.assert_array_equal(sonify.annotation(key, FS), expected)

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
        expected = sonify.clicks(np.array([0.0, 0.5]), FS)
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
