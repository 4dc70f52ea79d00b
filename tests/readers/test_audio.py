"""Sound files as signals: their samples, how they are read, and everything that can be wrong with them."""

from __future__ import annotations

import pickle
import struct
import threading
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.io.wavfile
import soundfile

from mirflow.annotations.audio import Signal
from mirflow.errors import InvalidAnnotationError, UnreadableError
from mirflow.readers.audio_files import FileSignal, digest_file
from mirflow.readers.content import digest_of
from tests.audio_files import RATE, cut, noise, write


def test_16_bits_are_read_as_they_were_written(tmp_path: Path) -> None:
    samples = noise(1, channels=2)
    signal = FileSignal(str(write(tmp_path / "a.wav", samples)))
    assert isinstance(signal, Signal)
    assert (signal.rate, signal.channels, signal.frames) == (RATE, 2, 4000)
    read = signal.read(0, 4000)
    assert (read.shape, read.dtype, read.flags.c_contiguous) == ((2, 4000), np.float64, True)
    np.testing.assert_array_equal(read, samples.T)
    _, stored = scipy.io.wavfile.read(tmp_path / "a.wav")
    np.testing.assert_array_equal(read, stored.T / 2**15)


@pytest.mark.parametrize(
    ("name", "subtype", "accuracy"),
    [
        ("a.wav", "PCM_U8", 2**-7),
        ("a.wav", "PCM_24", 0.0),
        ("a.wav", "FLOAT", 0.0),
        ("a.wav", "DOUBLE", 0.0),
        ("a.flac", "PCM_16", 0.0),
        ("a.aiff", "PCM_16", 0.0),
        ("a.ogg", "VORBIS", 0.5),
    ],
)
def test_other_formats(tmp_path: Path, name: str, subtype: str, accuracy: float) -> None:
    samples = noise(2)
    signal = FileSignal(str(write(tmp_path / name, samples, subtype=subtype)))
    np.testing.assert_allclose(signal.read(0, 4000), samples.T, rtol=0, atol=accuracy)
    np.testing.assert_array_equal(signal.read(0, 4000), soundfile.read(tmp_path / name)[0][None])


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_pieces_in_any_order_are_those_of_the_whole(tmp_path: Path, name: str) -> None:
    samples = noise(3, channels=2)
    signal = FileSignal(str(write(tmp_path / name, samples)))
    for start, stop in [
        (0, 10),
        (10, 1500),
        (1500, 4000),
        (3, 3),
        (0, 4000),
        (3999, 4000),
        (17, 18),
        (18, 30),
        (20, 25),
        (22, 3000),
    ]:
        np.testing.assert_array_equal(signal.read(start, stop), samples[start:stop].T)


def test_what_was_read_may_be_changed(tmp_path: Path) -> None:
    samples = noise(3)
    signal = FileSignal(str(write(tmp_path / "a.wav", samples)))
    for start, stop in [(0, 100), (0, 100), (50, 150), (60, 70)]:
        read = signal.read(start, stop)
        np.testing.assert_array_equal(read, samples[start:stop].T)
        read[:] = 9


class Counted(soundfile.SoundFile):
    """A sound file that counts how often it is opened, and searched for another place than where it is."""

    calls: ClassVar[Counter[str]] = Counter()

    def __init__(self, *given: Any, **named: Any) -> None:
        self.calls["open"] += 1
        super().__init__(*given, **named)

    def seek(self, frames: int, whence: int = soundfile.SEEK_SET) -> int:
        before = super().seek(0, soundfile.SEEK_CUR)
        after = super().seek(frames, whence)
        self.calls["search"] += before != after
        return int(after)


def test_reading_on_neither_opens_nor_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signal = FileSignal(str(write(tmp_path / "a.wav", noise(4))))
    monkeypatch.setattr(soundfile, "SoundFile", Counted)
    Counted.calls.clear()
    for _ in range(2):
        for start in range(0, 4000, 100):
            signal.read(start, start + 100)
    assert Counted.calls == {"open": 1, "search": 1}, "the one search goes back to the start"
    for start in range(0, 3500, 100):
        signal.read(start, start + 500)
        signal.read(start + 20, start + 120)
    assert Counted.calls == {"open": 1, "search": 2}, "what overlaps is not read again"
    signal.close()
    signal.read(0, 10)
    assert Counted.calls["open"] == 2


def test_a_pickled_signal_opens_its_own_file(tmp_path: Path) -> None:
    samples = noise(5)
    signal = FileSignal(str(write(tmp_path / "a.wav", samples)), "ref/a.wav")
    signal.read(0, 100)
    other = pickle.loads(pickle.dumps(signal))
    assert (other.name, other.rate, other.channels, other.frames) == ("ref/a.wav", RATE, 1, 4000)
    np.testing.assert_array_equal(other.read(50, 60), samples[50:60].T)
    assert repr(other) == "FileSignal('ref/a.wav', 8000 Hz, 1 channels, 0.500 s)"


def test_threads_share_a_signal(tmp_path: Path) -> None:
    samples = noise(6, 40_000)
    signal = FileSignal(str(write(tmp_path / "a.wav", samples)))
    wrong = []

    def read(seed: int) -> None:
        for start in np.random.default_rng(seed).integers(0, 39_000, 200).tolist():
            if not np.array_equal(signal.read(start, start + 1000), samples[start : start + 1000].T):
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("name", ["a.wav", "a.aiff", "a.flac", "a.w64"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.98])
def test_a_file_that_is_cut_off(tmp_path: Path, name: str, share: float) -> None:
    path = cut(write(tmp_path / name, noise(7, 40_000, 2)), share)
    with pytest.raises(UnreadableError, match=rf"{name}: is truncated: its header says"):
        FileSignal(str(path))


def test_a_length_that_a_recorder_did_not_know_is_the_files_own(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(8))
    data = bytearray(path.read_bytes())
    data[4:8] = data[40:44] = struct.pack("<I", 0xFFFFFFFF)
    path.write_bytes(bytes(data))
    assert FileSignal(str(path)).frames == 4000


def test_a_container_that_counts_its_own_head_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(8))
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack("<I", len(data))
    path.write_bytes(bytes(data))
    assert FileSignal(str(path)).frames == 4000


def test_what_is_no_sound_file(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("0.0 1.0 C:maj\n" * 100)
    with pytest.raises(UnreadableError, match=r"a\.wav: cannot be read as audio: Format not recognised"):
        FileSignal(str(tmp_path / "a.wav"))
    (tmp_path / "b.wav").write_bytes(b"")
    with pytest.raises(UnreadableError, match=r"b\.wav: cannot be read as audio"):
        FileSignal(str(tmp_path / "b.wav"))
    (tmp_path / "c.raw").write_bytes(bytes(100))
    with pytest.raises(UnreadableError, match=r"c\.raw: cannot be read as audio"):
        FileSignal(str(tmp_path / "c.raw"))
    with pytest.raises(UnreadableError, match=r"d\.wav: cannot be read: No such file"):
        FileSignal(str(tmp_path / "d.wav"))


def test_a_codec_that_nobody_knows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(9))
    data = bytearray(path.read_bytes())
    data[20:22] = struct.pack("<H", 0x1234)
    path.write_bytes(bytes(data))
    with pytest.raises(UnreadableError, match=r"a\.wav: cannot be read as audio: "):
        FileSignal(str(path))


def test_a_file_without_samples(tmp_path: Path) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.wav: holds no samples"):
        FileSignal(str(write(tmp_path / "a.wav", np.zeros((0, 2)))))


def test_a_file_over_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(10))
    assert FileSignal(str(path), max_bytes=8044).frames == 4000
    with pytest.raises(UnreadableError, match="over the limit"):
        FileSignal(str(path), max_bytes=8043)


def test_a_file_that_is_damaged_in_the_middle(tmp_path: Path) -> None:
    path = write(tmp_path / "a.flac", noise(11, 40_000))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 20_000] = bytes(20_000)
    path.write_bytes(bytes(data))
    signal = FileSignal(str(path), "est/a.flac")
    with pytest.raises(UnreadableError, match=r"est/a\.flac: (cannot be decoded at|ends at)"):
        signal.read(0, 40_000)


def test_a_file_that_shrinks_after_its_header_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(12))
    signal = FileSignal(str(path))
    write(path, noise(12)[:1000])
    with pytest.raises(UnreadableError, match=r"a\.wav: ends at 0\.125 s, but its header says 0\.500 s"):
        signal.read(0, 4000)
    path.unlink()
    signal.close()
    with pytest.raises(UnreadableError, match=r"a\.wav: cannot be read: No such file"):
        signal.read(0, 10)


def test_the_digest_is_that_of_all_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", noise(13))
    assert digest_file(str(path)) == digest_of(path.read_bytes())
    with pytest.raises(UnreadableError, match=r"ref/b\.wav: cannot be read"):
        digest_file(str(tmp_path / "b.wav"), "ref/b.wav")
