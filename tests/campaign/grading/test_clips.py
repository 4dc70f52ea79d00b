"""Clips of recordings: the middle, of the wanted length, at the rate and with the channels of the recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from ...commands import invoke, refused

RATE = 1000


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    """Two recordings in which each sample says where it is, the second one shorter than a clip."""
    folder = tmp_path / "audio"
    folder.mkdir()
    for name, seconds in (("long", 100), ("short", 2)):
        ramp = np.arange(seconds * RATE) / 2**17
        soundfile.write(folder / f"{name}.wav", np.stack([ramp, -ramp], axis=1), RATE, subtype="DOUBLE")
    return folder


def test_a_clip_is_the_middle_of_its_recording(audio: Path, tmp_path: Path) -> None:
    out = tmp_path / "clips"
    invoke("grading", "clip", *sorted(audio.iterdir()), "-o", out, code=0)
    samples, rate = soundfile.read(out / "long.wav")
    assert (rate, samples.shape) == (RATE, (30 * RATE, 2))
    np.testing.assert_allclose(samples[[0, -1], 0] * 2**17, [35 * RATE, 65 * RATE - 1], atol=4)
    assert soundfile.info(out / "short.wav").duration == 2


def test_another_length_and_format(audio: Path, tmp_path: Path) -> None:
    invoke("grading", "clip", audio / "long.wav", "--seconds", 5, "--to", "flac", "-o", tmp_path / "clips", code=0)
    assert soundfile.info(tmp_path / "clips" / "long.flac").duration == 5


def test_what_cannot_be_cut_is_named(audio: Path, tmp_path: Path) -> None:
    (tmp_path / "no.wav").write_text("no sound")
    assert "no.wav: cannot read the recording" in refused("grading", "clip", tmp_path / "no.wav", "-o", tmp_path / "c")
    assert "is the recording" in refused("grading", "clip", audio / "long.wav", "-o", audio, "--force")
    (tmp_path / "c").mkdir(exist_ok=True)
    (tmp_path / "c" / "long.wav").touch()
    assert "exists" in refused("grading", "clip", audio / "long.wav", "-o", tmp_path / "c")
