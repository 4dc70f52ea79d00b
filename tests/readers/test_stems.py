"""The sources of a track: one file each, found by a pattern, in a folder or in a list; or a track in one file."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import Pattern, Reading, Source, read, read_all
from mirflow.readers.audio_files import digest_file
from mirflow.readers.options import MAX_AUDIO_BYTES, MAX_BYTES
from mirflow.readers.sources import gather, source_at
from tests.audio_files import cut, noise, write, write_stems

AUDIO = Reading.of(task="separation")
FOUR = ("vocals", "drums", "bass", "other")


def first_samples(annotation: Annotation) -> list[float]:
    return [float(signal.read(0, 1)[0, 0]) for signal in annotation.columns["signal"]]


def gathered(folder: Path, pattern: str, *sources: str) -> dict[str, Source]:
    matcher = Pattern(pattern)
    reading = Reading.of(task="separation", sources=sources)
    found = gather(matcher.find(folder), pattern, matcher.names, reading)
    return {values["track"]: source for source, values in found}


@pytest.fixture
def museval(tmp_path: Path) -> Path:
    """Folders as museval lays them out: a mixture beside its sources."""
    for seed, track in enumerate(("Al James - Schoolboy Facination", "AM Contra - Heart Peripheral")):
        write_stems(tmp_path / "test" / track, ("bass", "drums", "mixture", "other", "vocals"), seed)
    return tmp_path


def test_a_pattern_finds_the_sources_of_each_track_sorted_by_name(tmp_path: Path) -> None:
    write_stems(tmp_path / "ref" / "x", ("voice", "bass"))
    write_stems(tmp_path / "ref" / "y", ("drums",))
    found = gathered(tmp_path, "ref/{track}/{source}.wav")
    assert list(found) == ["x", "y"]
    annotation, digest = found["x"].read()
    assert (annotation.kind, annotation.labels, len(annotation)) == ("audio", ["bass", "voice"], 2)
    assert first_samples(annotation) == [noise(1)[0, 0], noise(0)[0, 0]]
    assert annotation.file(1) == "ref/x/voice.wav"
    assert annotation.line(1) is None
    assert annotation.attrs["source"] == found["x"].label == "ref/x/{source}.wav"
    assert len(digest) == 16
    assert isinstance(found["x"], Source)


def test_the_layout_of_museval_without_the_mixture_in_the_order_that_is_asked_for(museval: Path) -> None:
    found = gathered(museval, "test/{track}/{source}.wav", *FOUR)
    assert len(found) == 2
    for seed, source in enumerate(found[track] for track in sorted(found, reverse=True)):
        annotation = source.open()
        assert annotation.labels == list(FOUR)
        assert first_samples(annotation) == [noise(100 * seed + place)[0, 0] for place in (4, 1, 0, 3)]


def test_a_source_that_one_track_lacks_is_that_tracks_error(museval: Path) -> None:
    (museval / "test" / "AM Contra - Heart Peripheral" / "drums.wav").unlink()
    found = gathered(museval, "test/{track}/{source}.wav", *FOUR)
    assert len(found["Al James - Schoolboy Facination"].open()) == 4
    lacking = found["AM Contra - Heart Peripheral"]
    with pytest.raises(UnreadableError, match=r"Peripheral/\{source\}\.wav: the source 'drums' has no file"):
        lacking.read()
    assert lacking.stat()[0] > 0


def test_a_source_that_no_track_has(museval: Path) -> None:
    with pytest.raises(AnnotationError, match="no file for the source 'piano'; found: bass, drums, mixture"):
        gathered(museval, "test/{track}/{source}.wav", "bass", "piano")
    with pytest.raises(AnnotationError, match=r"sources are declared, but the path has no \{source\}"):
        gathered(museval, "test/{track}/bass.wav", "bass")


def test_a_file_for_each_track_is_one_source_without_a_name(tmp_path: Path) -> None:
    for place, track in enumerate("xy"):
        write(tmp_path / f"{track}.wav", noise(place))
    found = gathered(tmp_path, "{track}.wav")
    annotation, digest = found["y"].read()
    assert (annotation.labels, first_samples(annotation)) == (None, [noise(1)[0, 0]])
    assert digest == digest_file(str(tmp_path / "y.wav"))
    assert found["x"].stat() != found["y"].stat()


def test_a_folder_a_list_a_pattern_or_a_file(tmp_path: Path) -> None:
    folder = write_stems(tmp_path / "x", ("voice", "bass"))
    (folder / "notes.txt").write_text("recorded at night")
    assert read(folder, task="separation").labels == ["bass", "voice"]
    assert read(folder, task="separation", sources=["voice"]).labels == ["voice"]
    assert read(folder / "{source}.wav", task="separation").labels == ["bass", "voice"]
    assert read([folder / "voice.wav", folder / "bass.wav"], task="separation").labels == ["voice", "bass"]
    assert read(folder / "bass.wav", kind="audio").labels is None
    (one,) = read_all(folder, task="separation")
    assert first_samples(one) == [noise(1)[0, 0], noise(0)[0, 0]]


def test_paths_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stems(tmp_path / "x")
    monkeypatch.chdir(tmp_path)
    assert read("x/{source}.wav", task="separation").attrs["source"] == "x/{source}.wav"


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(AnnotationError, match="empty: no audio files in the folder"):
        read(tmp_path / "empty", task="separation")
    with pytest.raises(UnreadableError, match="no such file; the nearest folder that exists is"):
        read(tmp_path / "empty" / "{source}.wav", task="separation")
    with pytest.raises(AnnotationError, match=r"only the placeholder \{source\}"):
        read(tmp_path / "{track}" / "{source}.wav", task="separation")
    with pytest.raises(AnnotationError, match="the list of files is empty"):
        read([], task="separation")
    write_stems(tmp_path / "x")
    with pytest.raises(UnreadableError, match="the source 'drums' has no file"):
        read(tmp_path / "x", task="separation", sources=["bass", "drums"])
    with pytest.raises(AnnotationError, match=r"give a folder, or \{source\} in the path"):
        read(tmp_path / "x" / "bass.wav", task="separation", sources=["bass"])
    write(tmp_path / "y" / "bass.flac", noise(0))
    with pytest.raises(AnnotationError, match="two files of one source"):
        read([tmp_path / "x" / "bass.wav", tmp_path / "y" / "bass.flac"], task="separation")


@pytest.mark.parametrize(
    ("frames", "channels", "rate", "message"),
    [
        (3999, 1, 8000, "sources differ in their length: .*bass.wav has 4000 samples, .*voice.wav has 3999 samples"),
        (4000, 2, 8000, "sources differ in their channels: .*bass.wav has 1, .*voice.wav has 2"),
        (4000, 1, 16000, "sources differ in their rate: .*bass.wav has 8000 Hz, .*voice.wav has 16000 Hz"),
    ],
)
def test_sources_that_are_unlike(tmp_path: Path, frames: int, channels: int, rate: int, message: str) -> None:
    write(tmp_path / "x" / "bass.wav", noise(0))
    write(tmp_path / "x" / "voice.wav", noise(1, frames, channels), rate)
    with pytest.raises(InvalidAnnotationError, match=message):
        read(tmp_path / "x", task="separation")


def test_a_stem_that_is_cut_off(tmp_path: Path) -> None:
    cut(write_stems(tmp_path / "x") / "voice.wav")
    with pytest.raises(UnreadableError, match=r"voice\.wav: is truncated"):
        read(tmp_path / "x", task="separation")


def test_the_stamp_and_the_digest_follow_every_stem(tmp_path: Path) -> None:
    write_stems(tmp_path / "x")
    before, digest = gathered(tmp_path, "{track}/{source}.wav")["x"], None
    assert before.stat()[0] == 2 * 8044
    _, digest = before.read()
    voice, bass = tmp_path / "x" / "voice.wav", tmp_path / "x" / "bass.wav"
    shutil.copy(voice, tmp_path / "kept.wav")
    os.replace(bass, voice)  # noqa: PTH105 - beside shutil
    os.replace(tmp_path / "kept.wav", bass)  # noqa: PTH105 - beside shutil
    after = gathered(tmp_path, "{track}/{source}.wav")["x"]
    assert after.stat()[0] == before.stat()[0]
    assert after.stat() != before.stat()
    assert after.read()[1] != digest


def test_sources_are_equal_hashable_and_picklable(tmp_path: Path) -> None:
    write_stems(tmp_path / "x")
    one = source_at(str(tmp_path / "x"), AUDIO)
    assert pickle.loads(pickle.dumps(one)) == one == source_at(str(tmp_path / "x"), AUDIO)
    assert len({one, source_at(str(tmp_path / "x"), AUDIO)}) == 1
    annotation, _ = pickle.loads(pickle.dumps(one.read()))
    np.testing.assert_array_equal(annotation.columns["signal"][0].read(0, 4000), noise(0).T)


def test_how_sound_is_read() -> None:
    assert AUDIO.max_bytes == MAX_AUDIO_BYTES > MAX_BYTES
    assert Reading.of(task="separation", max_bytes=1000).max_bytes == 1000
    with pytest.raises(AnnotationError, match="sources apply to audio, which chord does not have"):
        Reading.of(task="chord", sources=["bass"])
    with pytest.raises(AnnotationError, match="a source occurs twice: bass, bass"):
        Reading.of(task="separation", sources=["bass", "bass"])
    with pytest.raises(AnnotationError, match="audio files declare their format"):
        Reading.of(task="separation", format="csv")
    with pytest.raises(AnnotationError, match="have a fixed layout: omit columns"):
        read("a.wav", task="separation", columns={"time": 0})
