"""Chord sequences as ragged rows, for the tests of the batched conventions."""

from __future__ import annotations

import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.ragged import Ragged

Segment = tuple[float, float, str]


def rows(*sequences: list[Segment]) -> Ragged:
    """Sequences of (start, end, label) as rows over one vocabulary."""
    return to_ragged([as_annotation(sequence) for sequence in sequences])


def as_annotation(segments: list[Segment]) -> Annotation:
    """One sequence as an annotation."""
    times = np.array([segment[:2] for segment in segments], dtype=np.float64).reshape(-1, 2)
    return Annotation("intervals", {"start": times[:, 0], "end": times[:, 1]}, [label for _, _, label in segments])


def span(label: str) -> list[Segment]:
    """One second of one label."""
    return [(0.0, 1.0, label)]
