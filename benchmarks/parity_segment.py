"""Differences of segmentation scores from those that MIREX published, and the effect of each of its choices.

    python benchmarks/parity_segment.py DATA

DATA holds ``mir_eval-fixtures/segment`` with MIREX's own scores of ten tracks in ``raw_data``; without it,
$MIRFLOW_DATA is used. Prints the mean relative change ``|m - c| / ((m + c) / 2)`` in percent, where m is a score and c
the official one, for mir_eval, for convention mirex, and for convention mirex with one of its choices taken back.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import mir_eval
import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import Convention, Pairs, get_task
from mirflow.readers import Reading
from mirflow.readers.delimited import parse_delimited

SCORES = {
    "S_o": ("nce_over", 3.182),
    "S_u": ("nce_under", 11.082),
    "pairwise F": ("pairwise_f_measure", 0.937),
    "pairwise P": ("pairwise_precision", 0.942),
    "pairwise R": ("pairwise_recall", 0.785),
    "Rand": ("rand_index", 0.291),
    "F@0.5": ("f_measure@0.5", 0.429),
    "P@0.5": ("precision@0.5", 0.088),
    "R@0.5": ("recall@0.5", 1.021),
    "F@3": ("f_measure@3.0", 0.393),
    "P@3": ("precision@3.0", 0.094),
    "R@3": ("recall@3.0", 0.954),
    "ref to est": ("deviation_ref_to_est", 0.935),
    "est to ref": ("deviation_est_to_ref", 0.0),
}
"""MIREX's scores in the order of its files, our names, and table 1 of Raffel et al., mir_eval, 2014 (other tracks)."""

BOUNDARY = ("f_measure", "precision", "recall")
CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "optimal matching": ("matching=optimal", BOUNDARY),
    "upper median": ("median=upper", ("deviation_ref_to_est", "deviation_est_to_ref")),
    "fitted to reference": ("extent=reference", ("",)),
    "single label 0": ("single_label=0", ("nce_over", "nce_under")),
    "500 points": ("points=500", ("nce_over", "nce_under", "rand_index")),
    "1000 points": ("points=1000", ("pairwise_f_measure", "pairwise_precision", "pairwise_recall")),
}
"""What is taken back or exchanged, and the metrics that it concerns (all, if empty)."""

ROUNDED = 7
"""The track whose boundary at 159.275 s lies half way between two points; the fixtures' times are rounded to 1 ms."""


def read(folder: Path) -> tuple[list[Annotation], list[Annotation], np.ndarray]:
    """References, estimates and official scores, tracks x scores."""
    sides = [
        [
            parse_delimited(path.read_bytes(), Reading.of("segment"), "lab", path)
            for path in sorted(folder.glob(f"{side}*.lab"))
        ]
        for side in ("ref", "est")
    ]
    files = sorted((folder / "raw_data").glob("*_results.txt"))
    official = [[float(word) for word in path.read_text().split()[2:]] for path in files]
    return sides[0], sides[1], np.array(official)


def score(convention: Convention, names: list[str], sides: tuple[list[Annotation], list[Annotation]]) -> np.ndarray:
    references, estimates = (convention.clean(to_ragged(side)).rows for side in sides)
    row = np.arange(len(sides[0]))
    return convention.score(Pairs(references, estimates, row, row), convention.select(names), "union").score


def score_with_mir_eval(sides: tuple[list[Annotation], list[Annotation]]) -> np.ndarray:
    keys = [
        measure.metric.key for measure in get_task("segment").convention().select([name for name, _ in SCORES.values()])
    ]
    windows = [f"@{name.partition('@')[2]}" if "@" in name else "" for name, _ in SCORES.values()]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in zip(*sides, strict=True):
            given = [part for one in pair for part in (intervals(one), list(one.labels or []))]
            scores = mir_eval.segment.evaluate(*given)
            found.append([scores[key + window] for key, window in zip(keys, windows, strict=True)])
    return np.array(found)


def intervals(annotation: Annotation) -> np.ndarray:
    return np.column_stack([annotation.columns["start"], annotation.columns["end"]])


def with_choice(name: str, choice: str) -> str:
    """The identity of a metric with another value of one parameter, if it has the parameter."""
    setting, concerned = CHOICES[choice]
    metric, _, primary = name.partition("@")
    if "" not in concerned and metric not in concerned:
        return name
    return f"{metric}@{primary}({setting})" if primary else f"{metric}({setting})"


def relative_change(scores: np.ndarray, official: np.ndarray) -> np.ndarray:
    """In percent, averaged over tracks; 0 for a pair of zeros."""
    middle = (scores + official) / 2
    change = np.divide(np.abs(scores - official), middle, out=np.zeros_like(middle), where=middle > 0)
    return 100 * change.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=os.environ.get("MIRFLOW_DATA"))
    data = parser.parse_args().data
    if data is None:
        parser.error("give the folder of real annotations, or set MIRFLOW_DATA")
    references, estimates, official = read(Path(data) / "mir_eval-fixtures/segment")
    sides, names = (references, estimates), [name for name, _ in SCORES.values()]
    mirex = get_task("segment").convention("mirex")
    ours = score(mirex, names, sides)
    columns = {
        "paper": np.array([change for _, change in SCORES.values()]),
        f"mir_eval {mir_eval.__version__}": relative_change(score_with_mir_eval(sides), official),
        "mirex": relative_change(ours, official),
    }
    for choice in CHOICES:
        columns[choice] = relative_change(score(mirex, [with_choice(name, choice) for name in names], sides), official)
    print(f"Mean relative change against MIREX's own scores, {len(official)} tracks, percent\n")
    print(f"| score | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for row, label in enumerate(SCORES):
        print(f"| {label} | {' | '.join(f'{column[row]:.3f}' for column in columns.values())} |")
    kept = np.delete(np.arange(len(official)), ROUNDED)
    print(
        f"\nwithout the track with the rounded boundary: S_o {relative_change(ours[kept], official[kept])[0]:.3f}, ",
        end="",
    )
    print(f"S_u {relative_change(ours[kept], official[kept])[1]:.3f}")
    difference = np.abs(ours - official)
    print(f"largest difference of any of {official.size} scores: {difference.max():.4f}; ", end="")
    print(f"without that track {difference[kept].max():.4f}")


if __name__ == "__main__":
    main()
