"""Multiple pitches read from notes, in MIDI files and text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.rolls import frames_of
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.readers import Reading, read
from mirflow.readers.midi import parse_midi
from mirflow.readers.sources import parse_file
from tests.commands import printed
from tests.readers.test_midi import off, on, saved

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.sampled_from([220.0, 440.0])), max_size=6)


@given(spans)
def test_frames_are_those_of_a_walk_over_all_of_them(notes: list[tuple[int, int, float]]) -> None:
    start, length, pitch = np.array(notes, dtype=np.float64).reshape(-1, 3).T
    found = frames_of(Annotation("notes", {"start": start / 10, "end": (start + length) / 10, "pitch": pitch}), 0.1)
    last = max((one + more for one, more, _ in notes), default=-1)
    wanted = [sorted({hertz for one, more, hertz in notes if one <= frame < one + more}) for frame in range(last + 1)]
    assert found.inner_counts[0].tolist() == [len(frame) for frame in wanted]
    assert found.columns["frequency"].tolist() == [hertz for frame in wanted for hertz in frame]


def test_midi_files_are_frames_of_10_ms_or_another_hop() -> None:
    data = saved([on(69), off(69, 100)])
    assert len(parse_file(data, Reading.of("multipitch"), "midi")) == 51
    frames = parse_file(data, Reading.of("multipitch", hop=0.125), "midi")
    assert (frames.columns["time"].tolist(), frames.inner_counts[0].tolist()) == (
        [0, 0.125, 0.25, 0.375, 0.5],
        [1] * 4 + [0],
    )
    assert len(parse_midi(data, Reading.of("transcription"))) == 1


def test_text_with_notes_is_read_where_a_hop_is_given(tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text("start,end,pitch\n0,1,69\n0,2,57\n")
    (tmp_path / "est.txt").write_text("0.0 220 440\n0.5 220 440\n1.0 220\n1.5 220\n2.0\n")
    frames = read(tmp_path / "ref.csv", task="multipitch", hop=0.5, pitch_unit="MIDI")
    assert frames.inner_counts[0].tolist() == [2, 2, 1, 1, 0]
    words = "evaluate", tmp_path / "ref.csv", tmp_path / "est.txt", "--task", "multipitch", "-m", "f_measure"
    assert "1.0000" in printed(*words, "--reference-hop", "0.5", "--reference-pitch-unit", "MIDI")
    options = {"reference_hop": 0.5, "reference_pitch_unit": "MIDI"}
    found = mirflow.evaluate(tmp_path / "ref.csv", tmp_path / "est.txt", "multipitch", metrics=["accuracy"], **options)
    assert found.score.item() == 1.0


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("start,end,pitch\n0,1,440\n2,1,440\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:3: cannot convert a note from 2 to 1 s to frames"):
        read(tmp_path / "a.csv", task="multipitch", hop=0.1)
    (tmp_path / "a.csv").write_text("start,end,pitch\n0,1e8,440\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv: more than 8388608 frames .* use a larger hop"):
        read(tmp_path / "a.csv", task="multipitch", hop=0.1)
    with pytest.raises(AnnotationError, match=r"invalid hop 0: expected seconds from 0\.001 to 10"):
        Reading.of("multipitch", hop=0)
    with pytest.raises(AnnotationError, match="hop applies to frames of multiple pitches, not to events"):
        Reading.of("beat", hop=0.1)
