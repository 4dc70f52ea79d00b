"""Annotations on frames beside pretty_midi, mir_eval and numpy: the same arrays, compared first, in one process.

Run it with the folder of real annotations: ``python benchmarks/time_grids.py DATA`` (or set MIRFLOW_DATA). Notes are
moved to frames first, and those that overlap are cut, as pretty_midi adds their velocities.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import mir_eval
import numpy as np
import pretty_midi
from race import best_of, race

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import collect
from mirflow.readers import read
from mirflow.theory.pitch import midi_to_hz

HOP = 1 / 64
"""Seconds; a power of 2, for which pretty_midi's frames are exact."""


def made_notes(count: int, seed: int) -> Annotation:
    """Notes of one track on frames, of one pitch never two at a time."""
    rng = np.random.default_rng(seed)
    pitch = rng.integers(21, 109, count)
    frame = np.zeros(count, dtype=np.int64)
    length = rng.integers(1, 60, count)
    for key in np.unique(pitch):
        own = np.flatnonzero(pitch == key)
        frame[own] = np.cumsum(rng.integers(60, 400, len(own)))
    order = np.argsort(frame, kind="stable")
    start, stop = frame[order] * HOP, (frame + length)[order] * HOP
    velocity = rng.integers(1, 128, count).astype(np.float64)
    columns = {"start": start, "end": stop, "pitch": midi_to_hz(pitch[order].astype(np.float64)), "velocity": velocity}
    return Annotation("notes", columns)


def player_of(one: Annotation) -> pretty_midi.Instrument:
    player = pretty_midi.Instrument(0)
    midi = np.rint(69 + 12 * np.log2(one.columns["pitch"] / 440)).astype(int).tolist()
    times = (one.columns[name].tolist() for name in ("start", "end"))
    velocity = one.columns["velocity"].astype(int).tolist()
    player.notes = [pretty_midi.Note(*row) for row in zip(velocity, midi, *times, strict=True)]
    return player


def compare_notes(count: int) -> None:
    one = made_notes(count, 0)
    player = player_of(one)
    race(
        f"piano roll of {count} notes",
        lambda: mirflow.align(one, {"hop": HOP}).velocity.values,
        lambda: player.get_piano_roll(fs=1 / HOP).T,
        "pretty_midi",
    )
    # Without the labels and the onsets around the array.
    active = best_of(5, lambda: mirflow.from_grid(mirflow.align(one, {"hop": HOP})))
    print(f"  there and back {active * 1e3:.1f} ms")


def compare_chords(tracks: Sequence[Annotation]) -> None:
    """Codes of labels at frames; mir_eval's intervals are closed on the right, so nothing lies on frames here."""
    place = {label: code for code, label in enumerate(sorted({text for one in tracks for text in one.labels or ()}))}
    moved = [
        Annotation("intervals", {name: column + 1e-4 for name, column in one.columns.items()}, one.labels)
        for one in tracks
    ]
    songs = collect({str(number): one for number, one in enumerate(moved)})
    grid = mirflow.align(songs, {"hop": 0.01})
    times, codes = grid.time.values, [place[text] for text in grid.vocabulary.values.tolist()]
    back = np.array([*codes, -1])

    def theirs() -> np.ndarray:
        found = []
        for one in moved:
            intervals = np.column_stack([one.columns["start"], one.columns["end"]])
            texts = mir_eval.util.interpolate_intervals(intervals, one.labels, times, None)
            found.append([-1 if text is None else place[text] for text in texts])
        return np.array(found)

    race(
        f"codes of the chords of {len(tracks)} tracks on {len(times)} frames",
        lambda: back[mirflow.align(songs, {"hop": 0.01}).code.compute(scheduler="synchronous").values],
        theirs,
    )


def compare_beats(tracks: Sequence[Annotation]) -> None:
    """Counts of beats in frames beside numpy's histogram, a call for each track."""
    songs = collect({str(number): one for number, one in enumerate(tracks)})
    grid = mirflow.align(songs, {"hop": HOP})
    edges = np.append(grid.time.values, grid.sizes["time"] * HOP)
    race(
        f"counts of the beats of {len(tracks)} tracks on {grid.sizes['time']} frames",
        lambda: mirflow.align(songs, {"hop": HOP})["count"].compute(scheduler="synchronous").values,
        lambda: np.array([np.histogram(one.columns["time"], edges)[0] for one in tracks]),
        "numpy.histogram",
    )


def time_collections(count: int) -> None:
    """Lazy rolls of a large collection: making the arrays, and computing batches."""
    songs = collect({f"t{number}": made_notes(500, number % 50) for number in range(count)})
    made = best_of(2, lambda: mirflow.align(songs, {"hop": 0.02}))
    rolls = mirflow.align(songs, {"hop": 0.02})
    tracks = np.random.default_rng(1).permutation(count)[:16].tolist()
    batch = best_of(3, lambda: rolls.active.isel(track=tracks).to_numpy())
    print(f"lazy rolls of {count} tracks, {rolls.active.nbytes / 2**30:.1f} GB, {rolls.active.chunks[0][:1]} a chunk")
    print(f"  made in {made:.2f} s; a batch of 16 tracks in {batch * 1e3:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    for count in (500, 5000, 50000):
        compare_notes(count)
    time_collections(2000)
    if data is None:
        return
    chords = sorted((Path(data) / "mirex2013-ace").rglob("*.lab"))[:100]
    compare_chords([read(path, task="chord") for path in chords])
    beats = sorted((Path(data) / "harmonix/reference/beats_and_downbeats").glob("*.txt"))
    compare_beats([read(path, task="beat") for path in beats])


if __name__ == "__main__":
    main()
