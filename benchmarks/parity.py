"""How far scores are from the official ones of MIREX 2013: mir_eval's and those of convention mirex2013.

    python benchmarks/parity.py FOLDER

FOLDER holds ``mirex2013-ace`` (reference/, estimates/, official/); without it, $MIRFLOW_DATA is used. Prints the mean
relative change ``|m - c| / ((m + c) / 2)`` over all systems and tracks, per rule, where m is a score and c the official
one. A pair of zeros has no relative change and counts as 0; the last column says how many there are. Official scores
are printed with six decimals of a percent, which is what is left of the change of mirex2013.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
from pathlib import Path

import mir_eval
import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.chord.mirex2013 import CONVENTION
from mirflow.ragged import Float
from mirflow.readers.delimited import parse_delimited

OFFICIAL = {
    "root": "resultsMirexRoot",
    "majmin": "resultsMirexMajMin",
    "majmin_inv": "resultsMirexMajMinBass",
    "sevenths": "resultsMirexSevenths",
    "sevenths_inv": "resultsMirexSeventhsBass",
}
PAPER = {"root": 0.007, "majmin": 0.163, "majmin_inv": 1.005, "sevenths": 0.483, "sevenths_inv": 0.899}
"""Percent, from table 1 of Raffel et al., mir_eval: a transparent implementation of common MIR metrics, 2014."""


def read(path: Path) -> Annotation:
    return parse_delimited(path.read_bytes(), "intervals", "lab", name=path)


def official_scores(folder: Path, rule: str, systems: list[str], tracks: list[str]) -> Float:
    """Official scores, systems x tracks."""
    scores = np.empty((len(systems), len(tracks)))
    for row, system in enumerate(systems):
        with (folder / "official" / OFFICIAL[rule] / f"{system}.csv").open() as file:
            next(file)
            of_track = {line["File"]: float(line["Pairwise score (%)"]) / 100 for line in csv.DictReader(file)}
        scores[row] = [of_track[track] for track in tracks]
    return scores


def mirflow_scores(references: list[Annotation], estimates: list[list[Annotation]]) -> dict[str, Float]:
    """Scores by convention mirex2013, systems x tracks, per rule."""
    left = CONVENTION.clean(to_ragged(references)).rows
    right = CONVENTION.clean(to_ragged([one for system in estimates for one in system])).rows
    index = np.arange(len(right))
    found = CONVENTION.score(left, right, index % len(left), index, CONVENTION.select(list(OFFICIAL)), "union")
    return {rule: column.reshape(-1, len(left)) for rule, column in zip(OFFICIAL, found.score.T, strict=True)}


def mir_eval_scores(references: list[Annotation], estimates: list[list[Annotation]]) -> dict[str, Float]:
    """Scores by mir_eval, systems x tracks, per rule; segments without length are dropped, for it refuses them."""
    found = [[mir_eval_pair(*pair) for pair in zip(references, system, strict=True)] for system in estimates]
    return {rule: np.array([[pair[rule] for pair in system] for system in found]) for rule in OFFICIAL}


def mir_eval_pair(reference: Annotation, estimate: Annotation) -> dict[str, float]:
    """mir_eval's scores of one pair by the five rules."""
    (ref_intervals, ref_labels), (est_intervals, est_labels) = map(lasting, (reference, estimate))
    est_intervals, est_labels = mir_eval.util.adjust_intervals(
        est_intervals, est_labels, ref_intervals.min(), ref_intervals.max(), "N", "N"
    )
    intervals, ref_labels, est_labels = mir_eval.util.merge_labeled_intervals(
        ref_intervals, ref_labels, est_intervals, est_labels
    )
    durations = mir_eval.util.intervals_to_durations(intervals)
    return {
        rule: mir_eval.chord.weighted_accuracy(getattr(mir_eval.chord, rule)(ref_labels, est_labels), durations)
        for rule in OFFICIAL
    }


def lasting(annotation: Annotation) -> tuple[Float, list[str]]:
    """Intervals and labels of the segments that have some length."""
    intervals = np.column_stack([annotation.columns["start"], annotation.columns["end"]])
    kept = intervals[:, 1] > intervals[:, 0]
    labels = annotation.labels or []
    return intervals[kept], [label for label, keep in zip(labels, kept, strict=True) if keep]


def relative_change(scores: Float, official: Float) -> Float:
    """``|m - c| / ((m + c) / 2)``, 0 for a pair of zeros."""
    middle = (scores + official) / 2
    return np.divide(np.abs(scores - official), middle, out=np.zeros_like(middle), where=middle > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Relative change of scores against the official ones of MIREX 2013.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("MIRFLOW_DATA"), help="default: $MIRFLOW_DATA")
    given = parser.parse_args().folder
    if given is None or not (folder := Path(given) / "mirex2013-ace").is_dir():
        sys.exit(f"no folder mirex2013-ace in {given}: give the folder that holds it, or set MIRFLOW_DATA")
    tracks = sorted(path.stem for path in (folder / "reference").glob("*.lab"))
    systems = sorted(path.name for path in (folder / "estimates").iterdir())
    references = [read(folder / "reference" / f"{track}.lab") for track in tracks]
    estimates = [[read(folder / "estimates" / system / f"{track}.lab") for track in tracks] for system in systems]
    ours = mirflow_scores(references, estimates)
    with warnings.catch_warnings():
        # Tracks on which nothing is comparable, one warning each.
        warnings.simplefilter("ignore", UserWarning)
        theirs = mir_eval_scores(references, estimates)
    print(f"Mean relative change against the official scores, {len(systems)} systems x {len(tracks)} tracks\n")
    print(f"| {'rule':12} | mir_eval paper | mir_eval {mir_eval.__version__} | mirflow mirex2013 | pairs of zeros |")
    print("|--------------|---------------:|---------------:|------------------:|---------------:|")
    for rule in OFFICIAL:
        official = official_scores(folder, rule, systems, tracks)
        changes = [100 * float(relative_change(scores[rule], official).mean()) for scores in (theirs, ours)]
        zeros = int(((official == 0) & (theirs[rule] == 0)).sum())
        print(f"| {rule:12} | {PAPER[rule]:12.3f} % | {changes[0]:12.4f} % | {changes[1]:15.7f} % | {zeros:14} |")


if __name__ == "__main__":
    main()
