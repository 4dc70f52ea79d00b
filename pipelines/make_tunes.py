"""Write six bundled tunes: chords of traditional tunes and the output of three synthetic systems.

The harmonies are simple settings of public-domain tunes, written for this purpose. References are JAMS files; the
systems `oak` (careful), `elm` (major and minor only) and `ash` (hasty and untidy) are derived from them with a seeded
generator. Some of their files are missing or broken on purpose, so that examples and tests
show what happens then.

    python pipelines/make_tunes.py [FOLDER]      # default: the folder tunes beside this file
"""

from __future__ import annotations

import csv
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEED = 1905
Segment = tuple[float, float, str]


@dataclass(frozen=True)
class Tune:
    """A tune as bars of chords; two chords of a bar are separated by a blank."""

    name: str
    title: str
    origin: str
    beats: int
    tempo: float
    bars: str

    def segments(self) -> list[Segment]:
        """The chords in seconds, with two seconds of silence before and three after."""
        time, bar_length = 2.0, self.beats * 60 / self.tempo
        segments: list[Segment] = [(0.0, time, "N")]
        for bar in self.bars.split("|"):
            chords = bar.split()
            for chord in chords:
                end = time + bar_length / len(chords)
                segments.append((round(time, 3), round(end, 3), chord))
                time = end
        segments.append((round(time, 3), round(time + 3, 3), "N"))
        return merge(segments)


TUNES = (
    Tune(
        "amazing-grace",
        "Amazing Grace",
        "hymn",
        3,
        84,
        "G:maj | G:7 | C:maj | G:maj | G:maj/5 | E:min | A:7 | D:7 | G:maj | G:7 | C:maj | G:maj/3 | "
        "E:min | D:7 | C:maj/5 | G:maj",
    ),
    Tune(
        "auld-lang-syne",
        "Auld Lang Syne",
        "Scotland",
        4,
        100,
        "F:maj | C:7 | F:maj | Bb:maj | F:maj/5 | C:7 | D:min Bb:maj | F:maj | "
        "F:maj | C:7/3 | F:7 | Bb:maj | F:maj | C:sus4 C:7 | Bb:maj6 C:7 | F:maj",
    ),
    Tune(
        "greensleeves",
        "Greensleeves",
        "England",
        6,
        132,
        "A:min | G:maj | A:min | E:7 | A:min | G:maj | A:min E:7 | A:min | "
        "C:maj | G:maj/3 | A:min | E:7 | C:maj7 | G:maj | A:min E:7 | A:min",
    ),
    Tune(
        "scarborough-fair",
        "Scarborough Fair",
        "England",
        3,
        110,
        "D:min | D:min7 | C:maj | D:min | F:maj | D:min/5 | G:maj | D:min | "
        "D:min | F:maj | F:maj/3 | E:min | D:sus2 | C:maj | C:sus4 | D:min",
    ),
    Tune(
        "house-of-the-rising-sun",
        "House of the Rising Sun",
        "America",
        6,
        120,
        "A:min | C:maj | D:maj | F:maj | A:min | C:maj | E:maj | E:7 | "
        "A:min | C:maj/3 | D:min7 | F:maj7 | A:min | E:aug | A:min/b3 | E:7(b9)",
    ),
    Tune(
        "wayfaring-stranger",
        "Wayfaring Stranger",
        "America",
        3,
        76,
        "D:min | D:min | D:min7 | G:min | D:min | D:min/b7 | A:min | A:min7 | "
        "Bb:maj | F:maj | Bb:maj7 | A:sus4 | D:min | G:hdim7 | C:5 | D:min",
    ),
)


def merge(segments: list[Segment]) -> list[Segment]:
    """Neighbours with the same label as one segment."""
    merged: list[Segment] = []
    for start, end, label in segments:
        if merged and merged[-1][2] == label:
            merged[-1] = (merged[-1][0], end, label)
        else:
            merged.append((start, end, label))
    return merged


def simplify(label: str) -> str:
    """The nearest plain major or minor chord."""
    if label == "N":
        return label
    root, _, quality = label.split("/")[0].partition(":")
    return f"{root}:min" if quality.startswith(("min", "dim", "hdim")) else f"{root}:maj"


def perturb(
    segments: list[Segment], rng: np.random.Generator, jitter: float, wrong: float, split: float
) -> list[Segment]:
    """Boundaries moved by `jitter` seconds, a share of labels replaced by a neighbour's, a share of segments split."""
    inner = np.array([start for start, _, _ in segments[1:]])
    moved = np.clip(inner + rng.normal(0, jitter, len(inner)), 0.05, segments[-1][1] - 0.05)
    cuts = [segments[0][0], *np.maximum.accumulate(moved + np.arange(len(moved)) * 1e-3), segments[-1][1]]
    labels = [label for _, _, label in segments]
    result: list[Segment] = []
    for number, (start, end) in enumerate(itertools.pairwise(cuts)):
        label = labels[rng.integers(len(labels))] if rng.random() < wrong else labels[number]
        if rng.random() < split and end - start > 0.4:
            middle = start + (end - start) * rng.uniform(0.3, 0.7)
            result += [(start, middle, label), (middle, end, labels[rng.integers(len(labels))])]
        else:
            result.append((start, end, label))
    return [(round(float(start), 3), round(float(end), 3), label) for start, end, label in result]


def write_jams(path: Path, tune: Tune, segments: list[Segment]) -> None:
    """A reference as a JAMS file with one chord annotation."""
    data = [
        {"time": start, "duration": round(end - start, 3), "value": label, "confidence": 1.0}
        for start, end, label in segments
    ]
    annotation = {
        "namespace": "chord",
        "annotation_metadata": {
            "annotator": {"id": "mirflow"},
            "data_source": "program",
            "annotation_rules": "Harte syntax",
            "annotation_tools": "pipelines/make_demo.py",
            "corpus": "mirflow demo",
            "version": "1",
            "validation": "",
            "curator": {"name": "", "email": ""},
        },
        "data": data,
        "time": 0,
        "duration": segments[-1][1],
        "sandbox": {},
    }
    metadata = {
        "title": tune.title,
        "artist": "traditional",
        "release": "",
        "duration": segments[-1][1],
        "identifiers": {},
        "jams_version": "0.3.5",
    }
    document = {"annotations": [annotation], "file_metadata": metadata, "sandbox": {}}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def write_lab(path: Path, segments: list[Segment]) -> None:
    """An estimate as a lab file: start, end and label separated by tabs."""
    path.write_text("".join(f"{s:.3f}\t{e:.3f}\t{label}\n" for s, e, label in segments), encoding="utf-8")


def write_csv(path: Path, segments: list[Segment]) -> None:
    """An estimate as a csv file with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["start", "end", "chord"])
        writer.writerows(segments)


def write_metadata(path: Path) -> None:
    """Write the metadata of the tracks."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["track", "title", "origin", "meter", "tempo"])
        for tune in TUNES:
            writer.writerow(
                [tune.name, tune.title, tune.origin, f"{tune.beats}/{8 if tune.beats == 6 else 4}", tune.tempo]
            )


def main(folder: Path) -> None:
    """Write all files."""
    rng = np.random.default_rng(SEED)
    (folder / "reference").mkdir(parents=True, exist_ok=True)
    for system in ("oak", "elm", "ash"):
        (folder / "estimates" / system).mkdir(parents=True, exist_ok=True)
    write_metadata(folder / "metadata.csv")
    for tune in TUNES:
        segments = tune.segments()
        write_jams(folder / "reference" / f"{tune.name}.jams", tune, segments)
        oak = perturb(segments, rng, jitter=0.04, wrong=0.03, split=0.02)
        elm = [(start, end, simplify(label)) for start, end, label in perturb(segments, rng, 0.1, 0.1, 0.05)]
        ash = [(start, end, simplify(label)) for start, end, label in perturb(segments, rng, 0.25, 0.3, 0.4)]
        write_lab(folder / "estimates" / "oak" / f"{tune.name}.lab", oak)
        if tune.name != "wayfaring-stranger":  # elm never returned this one
            write_csv(folder / "estimates" / "elm" / f"{tune.name}.csv", elm)
        write_lab(folder / "estimates" / "ash" / f"{tune.name}.lab", ash)
    spoil(folder / "estimates")


def spoil(estimates: Path) -> None:
    """Add the defects of files that occur in practice."""
    oak = estimates / "oak" / "greensleeves.lab"
    lines = oak.read_text(encoding="utf-8").splitlines()
    end = lines[-1].split("\t")[1]
    oak.write_text("\n".join([*lines, f"{end}\t{end}\tN"]) + "\n", encoding="utf-8")  # a segment without length
    bad = estimates / "ash" / "auld-lang-syne.lab"
    lines = bad.read_text(encoding="utf-8").splitlines()
    start, end, _ = lines[4].split("\t")
    lines[4] = f"{start}\t{end}\tH:moll"  # a label that does not parse
    bad.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (estimates / "ash" / "amazing-grace.lab").write_text("", encoding="utf-8")  # nothing was found
    (estimates / "ash" / "danny-boy.lab").write_text("0.000\t9.000\tC:maj\n", encoding="utf-8")  # has no reference


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tunes")
