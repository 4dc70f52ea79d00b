"""Write the demonstration: chords and beats of thirty traditional tunes, and the output of six made-up systems.

The harmonies are simple settings of public-domain tunes, written for this purpose, and played by somebody who is not a
clock. The systems are derived from them with a seeded generator, and each has a character:

- `oak` is good, with all qualities of chords;
- `elm` writes plain triads, and hears half of the tunes as oak does;
- `fir` is displaced by a second on two tunes;
- `ash` is a semitone low on one tune;
- `yew` taps every other beat;
- `bay` is hasty: it has no chords of one tune, an empty file of another, and one with an interval without length.

One reference is wrong: in bars 5 and 6 of Clementine it has A minor, where the tune has the dominant, C.

    python pipelines/make_demo.py [FOLDER]      # default: the folder demo beside this file
"""

from __future__ import annotations

import csv
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_tunes import TUNES as SIX
from make_tunes import Segment, Tune, merge, simplify, write_lab

SEED = 1905
NOTES = ("C", "Db", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
PITCHES = {name: number for number, name in enumerate(NOTES)} | {"C#": 1, "D#": 3, "Gb": 6, "G#": 8, "A#": 10}
TUNES = (
    *SIX,
    Tune(
        "molly-malone",
        "Molly Malone",
        "Ireland",
        3,
        96,
        "G E:min | A:min D:7 | G E:min | A:min D | G E:min | A:min D:7/3 | G B:min | A:min7 D:7 | G E:min "
        "| C:maj7 D | G:maj/5 E:min | A:min D:7 | G E:min | A:min C | G:maj/5 D:7 | G",
    ),
    Tune(
        "danny-boy",
        "Danny Boy",
        "Ireland",
        4,
        72,
        "C C:7 | F | C A:min | D:7 G:7 | C C:7/3 | F F:min | C:maj/5 G:7 | C | C:maj/3 F | C A:min | "
        "D:min7 F | G:sus4 G:7 | C F | C:maj/5 A:min | D:min G:7 | C",
    ),
    Tune(
        "sally-gardens",
        "Down by the Salley Gardens",
        "Ireland",
        4,
        84,
        "D A | G D | G A:7 | D | D A:maj/3 | G D | G A:7 | D | B:min G | A F#:min | G A | B:min A:7 | D A "
        "| G D:maj/3 | E:min7 A:7 | D",
    ),
    Tune(
        "wild-rover",
        "The Wild Rover",
        "Ireland",
        3,
        132,
        "G | G | G | C | G | D:7 | G | G:7 | C | G | D:7 | G | D | D:7 | G | C | C:maj/3 | G | D:7 | G",
    ),
    Tune(
        "whiskey-in-the-jar",
        "Whiskey in the Jar",
        "Ireland",
        4,
        126,
        "C | A:min | F | C A:min | C | A:min | F:maj7 | C | G | G:7 | C | F | F C | G | C F | C",
    ),
    Tune(
        "star-of-the-county-down",
        "Star of the County Down",
        "Ireland",
        4,
        138,
        "E:min G | D | E:min | D E:min | E:min G | D | E:min D | E:min | G | D | E:min | D | E:min G | "
        "D/3 B:min | C D | E:min",
    ),
    Tune(
        "loch-lomond",
        "Loch Lomond",
        "Scotland",
        4,
        88,
        "F D:min | G:min C:7 | F Bb | C:sus4 C | F D:min | Bb F | G:min7 C:7 | F | D:min Bb | F C | D:min "
        "F | Bb C | F D:min | Bb F/3 | G:min C:7 | F",
    ),
    Tune(
        "skye-boat-song",
        "Skye Boat Song",
        "Scotland",
        6,
        112,
        "G E:min | A:min D | G C | G D:7 | G E:min | A:min D:7 | G C | G | E:min | A:min | E:min C | "
        "E:min B:min | E:min | A:min D | G C/5 | G D:7 | G",
    ),
    Tune(
        "ye-banks-and-braes",
        "Ye Banks and Braes",
        "Scotland",
        4,
        92,
        "A D | A | D A | D | D A | F#:min | B:min7 D | E:sus4 E | A D | A | D A/3 | D | A D | A F#:min | B:min E:7 | A",
    ),
    Tune(
        "ash-grove",
        "The Ash Grove",
        "Wales",
        3,
        108,
        "G | A:min | D | G | C | A:min | D:7 | G | G/3 | A:min7 | D | G | E:min | A:min | D:7 | G | G | D/5 | A:7 | D",
    ),
    Tune(
        "suo-gan",
        "Suo Gan",
        "Wales",
        4,
        76,
        "G | D:7 | G C | G D | G | D:7/3 | G C | D:7 G | G D | E:min | C G | A:min D | G/3 | C D | E:min "
        "A:min7 | D:7 G",
    ),
    Tune(
        "keel-row",
        "The Keel Row",
        "England",
        4,
        116,
        "G | C A:min | G E:min | A:min D:7 | G | C A:min7 | G D | G | E:min G | A:min C | G E:min | A:min "
        "D | E:min G/3 | C A:min | G D:7 | G",
    ),
    Tune(
        "water-is-wide",
        "The Water Is Wide",
        "England",
        4,
        80,
        "C F | C | A:min | F G | E:min | A:min7 | F:maj7 | G:sus4 G | C/3 F | C G/3 | A:min F | D:min7 | "
        "E:min A:min | F G:7 | C F | C",
    ),
    Tune(
        "barbara-allen",
        "Barbara Allen",
        "England",
        3,
        90,
        "D G | D | G E:min | A | D/3 | G D | A:7 | D | D G | D/5 B:min | G | A | D | G E:min7 | A:7 | D",
    ),
    Tune(
        "early-one-morning",
        "Early One Morning",
        "England",
        4,
        120,
        "F | G:min C:7 | F | Bb C | F/3 | G:min C:7 | F Bb | C:7 F | C F | C F | D:min G:7 | C | F | Bb "
        "F/5 | G:min C:7 | F",
    ),
    Tune(
        "shenandoah",
        "Shenandoah",
        "America",
        4,
        70,
        "D | D G | G D | G | D/3 | B:min | G F#:min | G D | B:min F#:min | G D | D A/3 | B:min | G D/5 | "
        "E:min7 A:7 | D G:min | D",
    ),
    Tune(
        "red-river-valley",
        "Red River Valley",
        "America",
        4,
        112,
        "G | D:7 | G | G | G | E:min | A:7 | D:7 | G | G:7 | C | C:min | D | D:7 | G C | G",
    ),
    Tune(
        "clementine",
        "Oh My Darling, Clementine",
        "America",
        3,
        124,
        "F | F | F | F/3 | C | C:7 | F | F | Bb | Bb | F/5 | D:min | C | C:7 | F | F",
    ),
    Tune(
        "home-on-the-range",
        "Home on the Range",
        "America",
        3,
        102,
        "F | F:7 | Bb | Bb:min | F | G:7 | C | C:7 | F | F:7/3 | Bb | Bb:min | F/5 | C:7 | F | F | C:7 | "
        "F | D:min | G:7 | C:7 | F",
    ),
    Tune(
        "cripple-creek",
        "Cripple Creek",
        "America",
        4,
        144,
        "A | D A | A | E A | A | D A | A/3 | E:7 A | A | A F#:min | A | E A | A | D F#:min | A | E:7 A",
    ),
    Tune(
        "swing-low",
        "Swing Low, Sweet Chariot",
        "spiritual",
        4,
        82,
        "F | Bb F | F D:min | C:7 | F F:7 | Bb F/5 | F C:7 | F | F | Bb F | D:min | G:min C | F/3 F:7 | "
        "Bb F | G:min7 C:7 | F",
    ),
    Tune(
        "go-down-moses",
        "Go Down, Moses",
        "spiritual",
        4,
        86,
        "A:min E:7 | A:min | E E:7 | A:min | A:min E:7/3 | A:min | E:7 | A:min | A:min A:7 | D:min | E:7 "
        "| A:min F | A:min D:min | E | A:min/5 E:7 | A:min",
    ),
    Tune(
        "motherless-child",
        "Motherless Child",
        "spiritual",
        4,
        68,
        "E:min | A:min E:min | E:min | A:min B:7 | A:min | E:min | C B:7 | E:min | E:min E:7 | A:min | "
        "E:min/b3 | F#:hdim7 B:7 | A:min | E:min C | B:7 | E:min",
    ),
    Tune(
        "down-by-the-riverside",
        "Down by the Riverside",
        "spiritual",
        4,
        140,
        "G | G | G | G:7 | D:7 | D:7 | G | G D | G | G/3 | G | C:7 | D:7 | D | G C | G",
    ),
)
"""Tunes as bars of chords; here a root alone is a major chord."""


FAR = {"fir": ("star-of-the-county-down", "skye-boat-song")}
"""Tunes on which a system is late by a second."""
LOW = {"ash": ("water-is-wide",)}
"""Tunes on which a system is a semitone low."""
ABSENT, EMPTY, UNTIDY = ("bay", "motherless-child"), ("bay", "early-one-morning"), ("bay", "suo-gan")
WRONG = "clementine"


@dataclass(frozen=True)
class Character:
    """How well a system hears: errors of boundaries in seconds, and chances of a wrong, split or joined segment."""

    jitter: float
    wrong: float
    split: float
    tap: float
    lost: float
    triads: bool = True


SYSTEMS = {
    "oak": Character(0.06, 0.075, 0.02, 0.012, 0.01, triads=False),
    "elm": Character(0.055, 0.066, 0.02, 0.018, 0.03),
    "fir": Character(0.08, 0.09, 0.03, 0.015, 0.02, triads=False),
    "ash": Character(0.12, 0.15, 0.06, 0.022, 0.04),
    "yew": Character(0.18, 0.21, 0.10, 0.018, 0.0),
    "bay": Character(0.22, 0.27, 0.22, 0.034, 0.10),
}
"""The systems by name."""


class Played:
    """A tune with the times of its beats, and its chords as they are and as the reference has them."""

    def __init__(self, tune: Tune) -> None:
        self.name, self.title, self.beats, self.tempo = tune.name, tune.title, tune.beats, tune.tempo
        self.origin = "England" if tune.name == "amazing-grace" else tune.origin
        rng = np.random.default_rng([SEED, *tune.name.encode()])
        self.difficulty = float(rng.lognormal(0, 0.45))
        rows = [bar.split() for bar in tune.bars.split("|")]
        gaps = 60 / tune.tempo * (1 + 0.015 * rng.standard_normal(tune.beats * len(rows)))
        self.times = np.round(2 + np.concatenate([[0], np.cumsum(gaps)]), 3)
        self.key = root(rows[-1][-1]) + ("m" if minor(rows[-1][-1]) else "")
        wrong = [["A:min"] if tune.name == WRONG and bar in (4, 5) else row for bar, row in enumerate(rows)]
        self.chords, self.reference = self.timed(rows), self.timed(wrong)

    def timed(self, rows: list[list[str]]) -> list[Segment]:
        """Bars of chords in seconds, with silence before and after."""
        segments: list[Segment] = [(0.0, float(self.times[0]), "N")]
        for bar, row in enumerate(rows):
            for part, chord in enumerate(row):
                first, last = (self.beats * bar + self.beats * p // len(row) for p in (part, part + 1))
                segments.append((float(self.times[first]), float(self.times[last]), full(chord)))
        end = float(self.times[-1])
        return merge([*segments, (end, round(end + 3, 3), "N")])


def full(chord: str) -> str:
    """A chord with its quality: a root alone is a major chord."""
    head, slash, bass = chord.partition("/")
    return (head if ":" in head else f"{head}:maj") + slash + bass


def root(chord: str) -> str:
    """The root of a chord."""
    return chord.split("/")[0].split(":")[0]


def minor(chord: str) -> bool:
    """Whether the third of a chord is minor."""
    return simplify(full(chord)).endswith(":min")


def shifted(chord: str, semitones: int) -> str:
    """A chord, transposed."""
    if chord == "N":
        return chord
    return NOTES[(PITCHES[root(chord)] + semitones) % 12] + full(chord)[len(root(chord)) :]


def mistaken(chord: str, neighbour: str, rng: np.random.Generator) -> str:
    """What is heard in place of a chord: its relative, a fifth above, its parallel, or the chord before."""
    if chord == "N":
        return neighbour
    kind, plain = rng.choice(4, p=[0.35, 0.25, 0.15, 0.25]), simplify(chord)
    if kind == 0:
        return f"{root(shifted(plain, 3))}:maj" if minor(chord) else f"{root(shifted(plain, -3))}:min"
    if kind == 1:
        return shifted(plain, 7)
    if kind == 2:
        return f"{root(chord)}:{'maj' if minor(chord) else 'min'}"
    return neighbour


def heard(segments: list[Segment], character: Character, difficulty: float, rng: np.random.Generator) -> list[Segment]:
    """Chords as a system hears them."""
    ends = np.array([end for _, end, _ in segments[:-1]]) + rng.normal(0, character.jitter, len(segments) - 1)
    last = segments[-1][1]
    cuts = [0.0, *np.clip(np.maximum.accumulate(ends), 0.1, last - 0.1).tolist(), last]
    result: list[Segment] = []
    for number, (start, end) in enumerate(itertools.pairwise(cuts)):
        chord = segments[number][2]
        before = result[-1][2] if result else chord
        if rng.random() < character.wrong * difficulty:
            chord = mistaken(chord, before, rng)
        if rng.random() < character.split * difficulty and end - start > 0.6:
            middle = start + (end - start) * rng.uniform(0.35, 0.65)
            result += [(start, middle, chord), (middle, end, mistaken(chord, before, rng))]
        else:
            result.append((start, end, chord))
    rounded = [(round(start, 3), round(end, 3), chord) for start, end, chord in result]
    named = [(start, end, simplify(chord) if character.triads else chord) for start, end, chord in rounded]
    return merge([row for row in named if row[0] < row[1]])


def tapped(times: np.ndarray, character: Character, rng: np.random.Generator) -> np.ndarray:
    """Beats as a system taps them: some are lost."""
    taps = times + rng.normal(0, character.tap, len(times))
    return taps[rng.random(len(taps)) >= character.lost]


def write_reference(path: Path, tune: Played) -> None:
    """Chords and beats of a tune as a JAMS file."""
    end = tune.reference[-1][1]
    chords = [{"time": s, "duration": round(e - s, 3), "value": v, "confidence": None} for s, e, v in tune.reference]
    beats = [
        {"time": float(time), "duration": 0.0, "value": number % tune.beats + 1, "confidence": None}
        for number, time in enumerate(tune.times)
    ]
    made = {"data_source": "program", "annotation_tools": "pipelines/make_demo.py", "corpus": "mirflow demo"}
    annotations = [
        {"namespace": name, "annotation_metadata": made, "data": data, "time": 0, "duration": end, "sandbox": {}}
        for name, data in (("chord", chords), ("beat", beats))
    ]
    about = {"title": tune.title, "artist": "traditional", "duration": end, "jams_version": "0.3.5"}
    document = {"annotations": annotations, "file_metadata": about, "sandbox": {}}
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    """Write all files."""
    tunes = [Played(tune) for tune in TUNES]
    for place in ("reference", *(f"estimates/{kind}/{system}" for kind in ("chords", "beats") for system in SYSTEMS)):
        (folder / place).mkdir(parents=True, exist_ok=True)
    with (folder / "tunes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["track", "title", "origin", "key", "meter", "tempo"])
        for tune in tunes:
            meter = f"{tune.beats}/{8 if tune.beats == 6 else 4}"
            writer.writerow([tune.name, tune.title, tune.origin, tune.key, meter, tune.tempo])
    for tune in tunes:
        write_reference(folder / "reference" / f"{tune.name}.jams", tune)
        oak: list[Segment] = []
        for number, (system, character) in enumerate(SYSTEMS.items()):
            rng = np.random.default_rng([SEED, number, *tune.name.encode()])
            chords = heard(tune.chords, character, tune.difficulty, rng)
            oak = chords if system == "oak" else oak
            if system == "elm" and rng.random() < 0.5:
                chords = merge([(start, end, simplify(chord)) for start, end, chord in oak])
            if tune.name in FAR.get(system, ()):
                moved = [(start + 1, end + 1, chord) for start, end, chord in chords]
                chords = merge([(0.0, moved[0][0], "N"), *moved])
            if tune.name in LOW.get(system, ()):
                chords = [(start, end, shifted(chord, -1)) for start, end, chord in chords]
            if (system, tune.name) == EMPTY:
                chords = []
            if (system, tune.name) == UNTIDY:
                chords.append((chords[-1][1], chords[-1][1], "N"))
            if (system, tune.name) != ABSENT:
                write_lab(folder / "estimates" / "chords" / system / f"{tune.name}.lab", chords)
            taps = tapped(tune.times[::2] if system == "yew" else tune.times, character, rng)
            text = "".join(f"{time:.3f}\n" for time in taps)
            (folder / "estimates" / "beats" / system / f"{tune.name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "demo")
