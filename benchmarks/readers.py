"""Reading files: mirflow against a bare split-and-float loop, mir_eval.io, json and jams, on the same warm files.

Run it with the folder of data sets: ``python benchmarks/readers.py ../shared/data``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jams
import mido
import mir_eval
import numpy as np
import pretty_midi

from mirflow.readers import DelimitedOptions, FileSource, Reading
from mirflow.readers.jams import annotators_of

Row = tuple[float, float, str]


def bare_loop(path: Path) -> tuple[list[float], list[float], list[str]]:
    """The smallest possible reader: split and convert."""
    starts, ends, labels = [], [], []
    with path.open() as file:
        for line in file:
            start, end, label = line.split(None, 2)
            starts.append(float(start))
            ends.append(float(end))
            labels.append(label.rstrip())
    return starts, ends, labels


def ours(reading: Reading) -> Callable[[Path], Any]:
    return lambda path: FileSource(str(path), reading).read()


def every_annotator(reading: Reading) -> Callable[[Path], Any]:
    def read(path: Path) -> list[Any]:
        name = str(path)
        return [FileSource(name, reading, annotator).read() for annotator in annotators_of(name, reading, name)]

    return read


def best_time(read: Callable[[Path], Any], files: list[Path], rounds: int) -> float:
    """Milliseconds a file, the best of several rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for path in files:
            read(path)
        times.append(time.perf_counter() - start)
    return min(times) / len(files) * 1000


def compare(title: str, files: list[Path], readers: dict[str, Callable[[Path], Any]], rounds: int) -> None:
    print(
        f"\n{title}: {len(files)} files, {sum(path.stat().st_size for path in files) / len(files) / 1000:.1f} kB each"
    )
    base = None
    for name, read in readers.items():
        took = best_time(read, files, rounds)
        base = base or took
        print(f"  {name:28} {took:8.3f} ms a file   {took / base:6.2f} times the first")


def check_lab(files: Iterable[Path]) -> None:
    """The same numbers and labels from every reader, before any is timed."""
    reading = Reading.of(task="chord")
    for path in files:
        annotation, _ = FileSource(str(path), reading).read()
        starts, ends, labels = bare_loop(path)
        assert annotation.labels == labels
        assert np.array_equal(annotation.columns["start"], starts)
        assert np.array_equal(annotation.columns["end"], ends)
        assert mir_eval.io.load_delimited(str(path), [float, float, str]) == (starts, ends, labels)


def check_jams(files: Iterable[Path]) -> None:
    reading = Reading.of(task="chord")
    for path in files:
        document = json.loads(path.read_bytes())
        for (annotation, _), theirs in zip(every_annotator(reading)(path), document["annotations"], strict=True):
            assert annotation.labels == [row["value"] for row in theirs["data"]]
            assert annotation.columns["start"].tolist() == [row["time"] for row in theirs["data"]]


def bare_times(path: Path) -> list[float]:
    with path.open() as file:
        return [float(line) for line in file]


def bare_rows(path: Path) -> tuple[list[float], list[str]]:
    """Times and the words after them."""
    times, labels = [], []
    with path.open() as file:
        for line in file:
            time, label, *_ = line.split("\t")
            times.append(float(time))
            labels.append(label.rstrip())
    return times, labels


def check_rows(files: Iterable[Path], reading: Reading, column: str) -> None:
    for path in files:
        annotation, _ = FileSource(str(path), reading).read()
        times, labels = (
            bare_rows(path) if reading.delimited.columns or "reference" in path.parts else (bare_times(path), None)
        )
        count = len(annotation)
        assert annotation.columns[column].tolist() == times[:count]
        assert annotation.labels is None or annotation.labels == (labels or [])[:count]


def compare_events(data: Path, rounds: int) -> None:
    """Beats with and without positions in the bar, and lists of boundaries."""
    beat, downbeat = Reading.of(task="beat"), Reading.of(task="beat", select="downbeat")
    listed = Reading.of(task="segment", delimited=DelimitedOptions(columns=(("start", 0), ("label", 1))))
    estimates = sorted((data / "harmonix" / "estimates" / "beats").glob("*/*.txt"))
    references = sorted((data / "harmonix" / "reference" / "beats_and_downbeats").glob("*.txt"))
    songs = sorted((data / "salami").glob("*/*.txt"))
    check_rows(estimates, beat, "time")
    check_rows(references, beat, "time")
    check_rows(songs, listed, "start")
    theirs = {"mir_eval.io.load_events": lambda path: mir_eval.io.load_events(str(path))}
    compare(
        "beats",
        estimates,
        {"bare split-and-float loop": bare_times, "mirflow (with digest)": ours(beat), **theirs},
        rounds,
    )
    readers = {
        "bare split-and-float loop": bare_rows,
        "mirflow (with digest)": ours(beat),
        "mirflow, downbeats only": ours(downbeat),
        "mir_eval.io.load_delimited": lambda path: mir_eval.io.load_delimited(str(path), [float, int, int]),
    }
    compare("positions in the bar", references, readers, rounds)
    readers = {
        "bare split-and-float loop": bare_rows,
        "mirflow (with digest)": ours(listed),
        "mir_eval.io.load_labeled_events": lambda path: mir_eval.io.load_labeled_events(str(path)),
    }
    compare("lists of boundaries", songs, readers, rounds)


def write_midi(folder: Path, files: int = 40) -> list[Path]:
    """Random piano pieces of 2000 notes."""
    rng = np.random.default_rng(0)
    paths = []
    for number in range(files):
        track = mido.MidiTrack()
        for pitch, wait in zip(rng.integers(30, 90, 2000).tolist(), rng.integers(0, 200, 2000).tolist(), strict=True):
            track.append(mido.Message("note_on", note=pitch, velocity=64, time=wait))
            track.append(mido.Message("note_off", note=pitch, time=100))
        paths.append(folder / f"{number}.mid")
        mido.MidiFile(tracks=[track]).save(paths[-1])
    return paths


def check_pitched(melodies: list[Path], frames: list[Path], notes: list[Path], pieces: list[Path]) -> None:
    """The same numbers as mir_eval and pretty_midi read."""
    for path in melodies:
        times, values = mir_eval.io.load_time_series(str(path))
        columns = ours(Reading.of(task="melody"))(path)[0].columns
        assert np.array_equal(columns["time"], times)
        assert np.array_equal(columns["frequency"], values)
    for path in frames:
        columns = ours(Reading.of(task="multipitch"))(path)[0].columns
        assert np.array_equal(columns["frequency"], np.concatenate(mir_eval.io.load_ragged_time_series(str(path))[1]))
    for path in notes:
        intervals, pitches = mir_eval.io.load_valued_intervals(str(path))
        columns = ours(Reading.of(task="transcription"))(path)[0].columns
        assert np.array_equal(columns["start"], intervals[:, 0])
        assert np.array_equal(columns["pitch"], pitches)
    for path in pieces[:3]:
        starts = sorted(note.start for note in pretty_midi.PrettyMIDI(str(path)).instruments[0].notes)
        assert np.allclose(ours(Reading.of(task="transcription"))(path)[0].columns["start"], starts, rtol=0, atol=1e-9)


def compare_pitched(data: Path, rounds: int) -> None:
    """Melodies, multipitch and notes from text, and notes from MIDI files."""
    melodies = sorted((data / "adc2004-melody").rglob("*.txt"))
    frames = sorted((data / "mir_eval-fixtures" / "multipitch").glob("*.txt"))
    notes = sorted((data / "mirex2015-su-transcription" / "estimates").rglob("*.txt"))
    melody, multipitch, transcription = map(ours, map(_reading, ("melody", "multipitch", "transcription")))
    with tempfile.TemporaryDirectory() as folder:
        pieces = write_midi(Path(folder))
        check_pitched(melodies, frames, notes, pieces)
        for title, files, read, name in (
            ("melodies", melodies, melody, "load_time_series"),
            ("multipitch", frames, multipitch, "load_ragged_time_series"),
            ("notes", notes, transcription, "load_valued_intervals"),
        ):
            loader = getattr(mir_eval.io, name)
            theirs = {f"mir_eval.io.{name}": lambda path, loader=loader: loader(str(path))}
            compare(title, files, {"mirflow (with digest)": read, **theirs}, rounds)
        readers = {
            "mirflow (with digest)": transcription,
            "mido alone": lambda path: mido.MidiFile(str(path)),
            "pretty_midi": lambda path: pretty_midi.PrettyMIDI(str(path)),
        }
        compare("MIDI", pieces, readers, max(1, rounds // 2))


def _reading(task: str) -> Reading:
    return Reading.of(task=task)


def uncached(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Clear the cache of decoded files."""
    from mirflow.readers.jams import _open

    def cold(path: Path) -> Any:
        _open.cache_clear()
        return read(path)

    return cold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    labs = sorted((asked.data / "mirex2013-ace").glob("**/*.lab"))[::4]
    casd = sorted((asked.data / "casd").glob("*.jams"))
    chord = Reading.of(task="chord")
    check_lab(labs)
    check_jams(casd)
    lab_readers: dict[str, Callable[[Path], Any]] = {
        "bare split-and-float loop": bare_loop,
        "mirflow (with digest)": ours(chord),
        "mir_eval.io.load_delimited": lambda path: mir_eval.io.load_delimited(str(path), [float, float, str]),
    }
    compare("lab", labs, lab_readers, asked.rounds)
    jams_readers: dict[str, Callable[[Path], Any]] = {
        "json.loads": lambda path: json.loads(path.read_bytes()),
        "mirflow (4 annotators)": uncached(every_annotator(chord)),
        "jams.load, not validated": lambda path: jams.load(str(path), validate=False),
    }
    compare("jams", casd, jams_readers, asked.rounds)
    compare_events(asked.data, asked.rounds)
    compare_pitched(asked.data, asked.rounds)


if __name__ == "__main__":
    main()
