"""Labelled segments for tests, and mir_eval's scores of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import mir_eval
import numpy as np
from hypothesis import strategies as st

Segments = tuple[list[float], list[float], list[str]]
"""Starts, ends and labels of one sequence."""

LABELS = ("A", "a", "B", "b'", "Verse", "VERSE", "none", "", "__T_MIN", "Silence", "Z" * 40)


@st.composite
def segments(draw: st.DrawFn, min_size: int = 0, max_size: int = 10) -> Segments:
    """Contiguous segments of a track, on a grid so that boundaries of two sides often meet, or nearly so."""
    size = draw(st.integers(min_size, max_size))
    steps = draw(
        st.lists(st.sampled_from((0.1, 0.25, 0.3, 1.0, 2.5, 7.0, 1e-6, 0.333333)), min_size=size, max_size=size)
    )
    bounds = draw(st.sampled_from((0.0, 0.0, 0.04, 0.3, 12.0))) + np.cumsum([0.0, *steps])
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=size, max_size=size))
    return bounds[:-1].tolist(), bounds[1:].tolist(), labels


@st.composite
def messy_segments(draw: st.DrawFn, min_size: int = 0) -> Segments:
    """Segments out of order, one over the other, with gaps between them, twice the same."""
    ticks = st.integers(0, 120)
    rows = draw(st.lists(st.tuples(ticks, ticks, st.sampled_from(LABELS)), min_size=min_size, max_size=8))
    spans = [(min(a, b), max(a, b) + (a == b), label) for a, b, label in rows]
    return [a / 12 for a, _, _ in spans], [b / 12 for _, b, _ in spans], [label for _, _, label in spans]


def intervals_of(one: Segments) -> np.ndarray:
    return np.array([one[0], one[1]], dtype=np.float64).T.reshape(-1, 2)


def mir_eval_scores(reference: Segments, estimate: Segments, **parameters: object) -> dict[str, float] | str:
    """mir_eval's scores, or the message of its ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = mir_eval.segment.evaluate(
                intervals_of(reference), list(reference[2]), intervals_of(estimate), list(estimate[2]), **parameters
            )
        except ValueError as error:
            return str(error)
    return {name: float(score) for name, score in scores.items()}


def frames_of(one: Segments, end: float, frame_size: float = 0.1) -> list[str]:
    """The labels at frames, lower-cased, by mir_eval."""
    found = mir_eval.util.intervals_to_samples(intervals_of(one), one[2], sample_size=frame_size)[-1]
    return [str(label).lower() for label in found]


def exact_information(reference: Segments, estimate: Segments, frame_size: float = 0.1) -> dict[str, float]:
    """Which of mir_eval's figures are nothing but rounding, and what they should be.

    Where a side has a single label, mir_eval divides what rounding leaves of a mutual information of 0 by 1e-10. Where
    every frame has a label of its own on both sides, it divides one such remainder by another.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spans, labels = mir_eval.util.adjust_intervals(intervals_of(reference), list(reference[2]), 0.0)
        end = spans.max()
        est_spans, est_labels = mir_eval.util.adjust_intervals(intervals_of(estimate), list(estimate[2]), 0.0, end)
    sides = [
        frames_of((one[:, 0].tolist(), one[:, 1].tolist(), named), end, frame_size)
        for one, named in ((spans, labels), (est_spans, est_labels))
    ]
    classes = [len(set(side)) for side in sides]
    if min(classes) == 1 < max(classes):
        return {"Normalized Mutual Information": 0.0}
    if classes[0] == classes[1] == len(sides[0]) > 1:
        return {"Adjusted Mutual Information": 1.0}
    return {}


def read_lab(path: Path) -> Segments:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        intervals, labels = mir_eval.io.load_labeled_intervals(str(path))
    return intervals[:, 0].tolist(), intervals[:, 1].tolist(), labels


def read_boundaries(path: Path) -> Segments:
    """A list of boundaries with labels, the last of which ends the last segment; segments without length left out."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    times = [float(row[0]) for row in rows]
    found = [(a, b, row[1]) for a, b, row in zip(times[:-1], times[1:], rows, strict=False) if b > a]
    return [a for a, _, _ in found], [b for _, b, _ in found], [label for _, _, label in found]
