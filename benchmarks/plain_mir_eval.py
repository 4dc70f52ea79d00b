"""A plain script without mirflow: mir_eval over all files of all systems, into a csv file.

python benchmarks/plain_mir_eval.py DATA OUT.csv
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path

import mir_eval
import numpy as np


def read(path: Path) -> tuple[np.ndarray, list[str]]:
    """A lab file without the intervals that mir_eval refuses because they have no length."""
    intervals, labels = mir_eval.io.load_labeled_intervals(str(path))
    lasting = intervals[:, 1] > intervals[:, 0]
    return intervals[lasting], [label for label, keep in zip(labels, lasting, strict=True) if keep]


def main(data: Path, out: Path) -> None:
    """Score every pair and write a row for each."""
    warnings.simplefilter("ignore")
    rows = []
    for reference in sorted((data / "reference").glob("*.lab")):
        for system in sorted((data / "estimates").iterdir()):
            scores = mir_eval.chord.evaluate(*read(reference), *read(system / reference.name))
            rows.append({"system": system.name, "track": reference.stem, **scores})
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
