"""Differences of note transcription scores from those that MIREX published in 2015 for the Su set.

    python benchmarks/parity_transcription.py DATA

DATA holds ``mirex2015-su-transcription``; without it, $MIRFLOW_DATA is used. Prints, for each official table of ten
pieces and six systems, in how many cells the number of correct notes is the official one, and the mean absolute
differences of the F-measure and of the average overlap ratio: under mir_eval's rules, under convention mirex2015, and
under convention mirex2015 with one of its choices taken back.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import Pairs, get_task

TABLES = {
    "onset, pitch, offset": ("", "", ""),
    "onset, pitch": (".onsetOnly", "_no_offset", ""),
    "onset, pitch, offset; octaves ignored": (".chroma", "", "chroma=true"),
    "onset, pitch; octaves ignored": (".onsetOnly.chroma", "_no_offset", "chroma=true"),
}
"""The official tables, the middle of their file names, the ending of our metrics' names and their parameters."""

RULES = {
    "mir_eval": ("mir_eval", ""),
    "mirex2015": ("mirex2015", ""),
    "mirex2015 with distances rounded instead of times": ("mirex2015", "rounding=distances"),
    "mirex2015 with a least tolerance of the ends": ("mirex2015", "offset_min_tolerance=0.05"),
}

REFERENCES = {"gt_textfrommidi": "_tutti.mid.txt", "gt_Note": "_note.txt"}


def read(path: Path) -> Annotation:
    start, end, pitch = np.array(path.read_text().replace(",", " ").split(), dtype=np.float64).reshape(-1, 3).T
    return Annotation("notes", {"start": start, "end": end, "pitch": pitch})


def official(folder: Path, table: str, systems: list[str], pieces: list[str]) -> np.ndarray:
    """Correct notes, F-measure and overlap of each cell; without a correct note the last two count as 0."""
    found = []
    for system in systems:
        path = folder / "official" / system / f"{system}{table}.results.csv"
        rows = {line[0]: line for line in csv.reader(path.read_text().splitlines()) if len(line) > 7}
        own = [rows[f"{piece}_tutti.mid"] for piece in pieces]
        found += [[float(row[3]), *np.nan_to_num([float(row[6]), float(row[7])])] for row in own]
    return np.array(found)


def compare(folder: Path, kind: str) -> None:
    """All tables under all rules, against one of the two references."""
    ending = REFERENCES[kind]
    pieces = sorted(path.name.removesuffix(ending) for path in (folder / "reference" / kind).iterdir())
    systems = sorted(path.name for path in (folder / "estimates").iterdir())
    references = to_ragged([read(folder / "reference" / kind / f"{piece}{ending}") for piece in pieces])
    estimates = to_ragged([read(folder / "estimates" / name / f"{piece}.txt") for name in systems for piece in pieces])
    row = np.arange(len(estimates))
    for title, (name, changed) in RULES.items():
        print(f"reference {kind}, {title}")
        rules = get_task("transcription").convention(name)
        for table, (part, suffix, chroma) in TABLES.items():
            if suffix and "offset_min_tolerance" in changed:
                continue
            given = ",".join(filter(None, (changed, chroma)))
            names = [f"{one}{suffix}({given})" for one in ("precision", "f_measure", "average_overlap_ratio")]
            measures = rules.select([one.replace("()", "") for one in names])
            found = rules.score(Pairs(references, estimates, row % len(pieces), row), measures, "union")
            expected = official(folder, part, systems, pieces)
            equal = np.count_nonzero(np.rint(found.score[:, 0] * found.weight[:, 0]) == expected[:, 0])
            f, overlap = np.abs(found.score[:, 1:] - expected[:, 1:]).mean(axis=0)
            print(f"  {table:40} equal {equal:2} of {len(row)}, F {f:.4f}, overlap {overlap:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    for kind in REFERENCES:
        compare(Path(data) / "mirex2015-su-transcription", kind)


if __name__ == "__main__":
    main()
