"""Loudness is that of EBU R 128, checked by the signals of its technical document 3341."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from mirflow.campaign.server.graders.grader_pages import TARGET, find_gains, gain_of, measure_loudness
from mirflow.campaign.server.service import Service

from .rounds import make_service

RATE = 48_000


def sines(path: Path, levels: list[tuple[float, float]], channels: int = 2) -> Path:
    """A tone of 1 kHz, in dBFS for some seconds each."""
    parts = [
        10 ** (level / 20) * np.sin(2 * np.pi * 1000 * np.arange(int(length * RATE)) / RATE) for level, length in levels
    ]
    soundfile.write(path, np.tile(np.concatenate(parts)[:, None], (1, channels)), RATE, subtype="FLOAT")
    return path


@pytest.mark.parametrize(
    ("levels", "lufs"),
    [
        ([(-23, 20)], -23.0),  # test case 1
        ([(-33, 20)], -33.0),  # 2
        ([(-36, 10), (-23, 60), (-36, 10)], -23.0),  # 3: the gate
        ([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23.0),  # 4: both gates
        ([(-26, 20), (-20, 20.1), (-26, 20)], -23.0),  # 5
    ],
)
def test_signals_of_tech_3341(tmp_path, levels, lufs):
    assert measure_loudness(sines(tmp_path / "a.wav", levels)) == pytest.approx(lufs, abs=0.1)


def test_a_tone_of_full_scale_in_one_channel(tmp_path):
    """ITU-R BS.1770-4, annex 1: a sine of 997 Hz at 0 dBFS in one channel has -3.01 LKFS."""
    assert measure_loudness(sines(tmp_path / "a.wav", [(0, 5)], channels=1)) == pytest.approx(-3.01, abs=0.1)


def test_what_cannot_be_measured_stays_as_it_is(tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    soundfile.write(tmp_path / "short.wav", np.ones(100), RATE)
    (tmp_path / "text.wav").write_text("no sound")
    for name in ("silent", "short", "text", "missing"):
        assert measure_loudness(tmp_path / f"{name}.wav") is None
    assert gain_of(None) == 1.0


def test_louder_recordings_are_turned_down_to_the_same_loudness(tmp_path):
    loud, soft = sines(tmp_path / "loud.wav", [(-11, 3)]), sines(tmp_path / "soft.wav", [(-30, 3)])
    assert gain_of(measure_loudness(loud)) == pytest.approx(10 ** ((TARGET + 11) / 20), abs=0.01)
    assert gain_of(measure_loudness(soft)) == 1.0


def test_a_recording_is_measured_once_until_it_is_changed(tmp_path, monkeypatch):
    service: Service = make_service(tmp_path, audio=False)
    measured: list[Path] = []
    monkeypatch.setattr(
        "mirflow.campaign.server.graders.grader_pages.measure_loudness", lambda path: (measured.append(path), -17.0)[1]
    )
    path = sines(tmp_path / "a.wav", [(-11, 1)])
    for _ in range(2):
        assert find_gains(service.database, [path, path]) == {path: gain_of(-17.0)}
    sines(path, [(-11, 2)])
    find_gains(service.database, [path, tmp_path / "missing.wav"])
    assert measured == [path, path]
