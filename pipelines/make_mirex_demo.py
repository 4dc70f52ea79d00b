"""Write the bundled miniature of a MIREX campaign: four synthetic systems in every task of the years 2005-2008.

All of it comes from a seeded generator: six short pieces (key, tempo, chords, melody, bass, drums), what annotators
would have written about them, and what systems that are a little, more or much too hasty would have returned. What is
asked about collections (classes, tags, rankings, judgements) is written by `mirex_lists.py`. No number in it means
anything.

    python pipelines/make_mirex_demo.py [FOLDER]      # default: the folder mirex-demo beside this file
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mirex_lists import write, write_lists

SEED = 2005
PIECES, BARS, TAPPERS = 6, 6, 5
FRAME, EXCERPT = 0.01, 4.0
"""Seconds of a frame, and of the excerpts that are annotated frame by frame."""
TONICS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
SCALES = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 10)}
QUALITIES = {
    "major": ("maj", "min", "min", "maj", "maj", "min", "maj"),
    "minor": ("min", "maj", "maj", "min", "min", "maj", "maj"),
}
DRUMS = ("bass", "snare", "hihat")

Note = tuple[float, float, int]
"""Start and end in seconds, and the MIDI number."""


@dataclass(frozen=True)
class System:
    """Deviation of its times (seconds), and the shares of items that it misses and confuses."""

    name: str
    jitter: float
    miss: float
    wrong: float


SYSTEMS = (
    System("alder", 0.012, 0.04, 0.04),
    System("birch", 0.018, 0.08, 0.10),
    System("cedar", 0.025, 0.18, 0.20),
    System("dogwood", 0.045, 0.30, 0.38),
)


@dataclass(frozen=True)
class Piece:
    """A made-up piece of four beats to the bar, from half a second on."""

    name: str
    style: str
    tonic: int
    mode: str
    tempo: float
    chords: tuple[tuple[float, float, str], ...]
    melody: tuple[Note, ...]
    bass: tuple[Note, ...]
    drums: tuple[tuple[float, str], ...]

    @property
    def beats(self) -> np.ndarray:
        """Times of all beats, in seconds."""
        return 0.5 + np.arange(4 * BARS) * 60 / self.tempo

    @property
    def notes(self) -> list[Note]:
        """Melody and bass, in order of time."""
        return sorted([*self.melody, *self.bass])


def compose(number: int, rng: np.random.Generator) -> Piece:
    """Compose a piece by simple rules: a chord a bar, its root in the bass, steps and leaps above it."""
    mode = ("major", "minor")[number % 2]
    tonic, tempo = int(rng.integers(12)), float(rng.integers(90, 170))
    beat = 60 / tempo
    chords, melody, bass, drums = [], [], [], []
    step = 7
    for bar in range(BARS):
        degree = 0 if bar in (0, BARS - 1) else int(rng.choice([0, 1, 3, 4, 5]))
        start = 0.5 + 4 * bar * beat
        root = (tonic + SCALES[mode][degree]) % 12
        chords.append((start, start + 4 * beat, f"{TONICS[root]}:{QUALITIES[mode][degree]}"))
        bass.append((start, start + 3.5 * beat, 36 + root))
        for place in range(4):
            drums += [(start + place * beat, "snare" if place % 2 else "bass"), (start + (place + 0.5) * beat, "hihat")]
            if rng.random() < 0.8:
                step = int(np.clip(step + rng.integers(-2, 3), 0, 13))
                octave, within = divmod(step, 7)
                length = beat * rng.uniform(0.5, 0.95)
                melody.append(
                    (
                        start + place * beat,
                        start + place * beat + length,
                        60 + tonic + 12 * octave + SCALES[mode][within],
                    )
                )
    style = ("folk", "dance", "art")[number % 3]
    parts = (tuple(chords), tuple(melody), tuple(bass), tuple(drums))
    return Piece(f"piece{number + 1}", style, tonic, mode, tempo, *parts)


def hertz(midi: float) -> float:
    """The frequency of a MIDI number in equal temperament."""
    return 440.0 * 2 ** ((midi - 69) / 12)


def detect(times: Iterable[float], system: System, rng: np.random.Generator) -> list[float]:
    """Move some times, drop some and add some."""
    times = list(times)
    found = [time + rng.normal(0, system.jitter) for time in times if rng.random() > system.miss]
    found += rng.uniform(0, times[-1], int(system.wrong * len(times))).tolist()
    return sorted({round(max(time, 0.0), 3) for time in found})


def played(notes: Iterable[Note], system: System, rng: np.random.Generator) -> list[Note]:
    """Move some notes, drop some and add some."""
    found = []
    for start, end, midi in notes:
        if rng.random() < system.miss:
            continue
        onset = max(start + rng.normal(0, system.jitter), 0.0)
        length = (end - start) * max(1 + rng.normal(0, 4 * system.jitter), 0.2)
        found.append((onset, onset + length, midi + int(rng.choice([-12, 1, 12])) * (rng.random() < system.wrong)))
    return sorted(found)


def write_beats(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """Every tapper taps along, some at half the speed; systems track beats."""
    for tapper in range(TAPPERS):
        taps = piece.beats[tapper % 2 :: 2] if tapper == TAPPERS - 1 else piece.beats
        lines = (f"{time:.3f}" for time in taps + rng.normal(0, 0.01, len(taps)))
        write(folder / "beat" / "reference" / f"tapper{tapper + 1}" / f"{piece.name}.txt", lines)
    for system in SYSTEMS:
        taps = piece.beats[::2] if rng.random() < system.wrong else piece.beats
        write(
            folder / "beat" / system.name / f"{piece.name}.txt", (f"{time:.3f}" for time in detect(taps, system, rng))
        )


def write_tempo(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """Two tempi and the salience of the first."""
    slow, fast = piece.tempo / 2, piece.tempo
    write(folder / "tempo" / "reference" / f"{piece.name}.txt", [f"{slow:.1f} {fast:.1f} {rng.uniform(0.2, 0.6):.2f}"])
    for system in SYSTEMS:
        first = slow * (1.5 if rng.random() < system.wrong else rng.normal(1, system.jitter))
        second = fast * (0.75 if rng.random() < system.wrong else rng.normal(1, system.jitter))
        write(folder / "tempo" / system.name / f"{piece.name}.txt", [f"{first:.1f} {second:.1f} 0.5"])


def write_keys(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """Keys estimated from audio, and keys estimated from scores, which is easier."""
    write(folder / "key" / "reference" / f"{piece.name}.txt", [f"{TONICS[piece.tonic]} {piece.mode}"])
    for kind, share in (("audio", 1.5), ("symbolic", 0.75)):
        for system in SYSTEMS:
            tonic, mode = piece.tonic, piece.mode
            if rng.random() < share * system.wrong:
                tonic = (tonic + int(rng.choice([7, 7, 5, 2]))) % 12
            elif rng.random() < share * system.wrong:
                mode = "minor" if mode == "major" else "major"
            write(folder / "key" / kind / system.name / f"{piece.name}.txt", [f"{TONICS[tonic]} {mode}"])


def write_chords(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """A chord for each bar; systems mistake some for another one of the piece."""
    write(
        folder / "chord" / "reference" / f"{piece.name}.lab",
        (f"{s:.3f}\t{e:.3f}\t{label}" for s, e, label in piece.chords),
    )
    for system in SYSTEMS:
        times = [start + rng.normal(0, 2 * system.jitter) for start, _, _ in piece.chords]
        ends = [*times[1:], piece.chords[-1][1]]
        labels = [
            piece.chords[int(rng.integers(BARS))][2] if rng.random() < system.wrong else label
            for *_, label in piece.chords
        ]
        lines = (
            f"{max(start, 0):.3f}\t{end:.3f}\t{label}" for start, end, label in zip(times, ends, labels, strict=True)
        )
        write(folder / "chord" / system.name / f"{piece.name}.lab", lines)


def write_onsets(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """Onsets of everything that sounds, and of the drums by instrument."""
    everything = sorted({*(start for start, *_ in piece.notes), *(time for time, _ in piece.drums)})
    write(folder / "onset" / "reference" / f"{piece.name}.txt", (f"{time:.3f}" for time in everything))
    write(
        folder / "drum" / "reference" / f"{piece.name}.txt",
        (f"{time:.3f}\t{name}" for time, name in sorted(piece.drums)),
    )
    for system in SYSTEMS:
        write(
            folder / "onset" / system.name / f"{piece.name}.txt",
            (f"{time:.3f}" for time in detect(everything, system, rng)),
        )
        struck = [
            (time, drum)
            for drum in DRUMS
            for time in detect(sorted(t for t, d in piece.drums if d == drum), system, rng)
        ]
        write(
            folder / "drum" / system.name / f"{piece.name}.txt",
            (f"{time:.3f}\t{name}" for time, name in sorted(struck)),
        )


def pitches(notes: Iterable[Note], time: float) -> list[float]:
    """The frequencies that sound at a time."""
    return [hertz(midi) for start, end, midi in notes if start <= time < end]


def write_pitches(folder: Path, piece: Piece, rng: np.random.Generator) -> None:
    """The melody, all pitches, and all notes."""
    frames = np.arange(round(EXCERPT / FRAME)) * FRAME
    for name, melody, notes in [("reference", piece.melody, piece.notes)] + [
        (one.name, played(piece.melody, one, rng), played(piece.notes, one, rng)) for one in SYSTEMS
    ]:
        tune = ((time, max(pitches(melody, time), default=0.0)) for time in frames)
        write(folder / "melody" / name / f"{piece.name}.csv", (f"{time:.2f},{pitch:.2f}" for time, pitch in tune))
        sounding = ((time, pitches(notes, time)) for time in frames)
        lines = ("\t".join([f"{time:.2f}", *(f"{one:.2f}" for one in found)]) for time, found in sounding)
        write(folder / "multipitch" / name / f"{piece.name}.txt", lines)
        lines = (f"{start:.3f}\t{end:.3f}\t{hertz(midi):.2f}" for start, end, midi in notes)
        write(folder / "notes" / name / f"{piece.name}.txt", lines)


def main(folder: Path) -> None:
    """Write all files."""
    rng = np.random.default_rng(SEED)
    pieces = [compose(number, rng) for number in range(PIECES)]
    write(folder / "pieces.csv", ["track,style,tempo", *(f"{one.name},{one.style},{one.tempo:.0f}" for one in pieces)])
    for piece in pieces:
        for part in (write_beats, write_tempo, write_keys, write_chords, write_onsets, write_pitches):
            part(folder, piece, rng)
    write_lists(folder, [(one.name, one.miss, one.wrong) for one in SYSTEMS], rng)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "mirex-demo")
