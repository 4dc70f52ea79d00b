"""Chord sequences for tests, and mir_eval's scores of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path

import mir_eval
import numpy as np
from hypothesis import strategies as st

from mirflow.ragged import Ragged

Sequence_ = tuple[list[float], list[float], list[str]]
"""Starts, ends and labels of one sequence."""

ODD_LABELS = (
    *("N", "X", "C", "C:maj", "C:min", "A:min", "Db:7", "C#:7", "G:maj7", "E:min7", "F:sus4", "F:sus2", "B:dim"),
    *("C:aug", "C:5", "C:1", "C:9", "C:7", "C:maj9", "C:13", "C:min11", "C:min/b3", "C/5", "C/2", "C/7", "C:7/b7"),
    *(
        "C:maj(9)",
        "C:maj(*3)",
        "C:maj(*1)/5",
        "C:min(*b3,2)",
        "C:(1,5)",
        "Cb",
        "B#:hdim7",
        "Abb:maj6",
        "F:dim7",
        "E:min6",
    ),
    *("C:minmaj7", "G:(3,5,b7)", "C:min7(11)", "D:sus4(b7)", "C:maj(#11)", "C:7(#9)", "C:7(b9,13)", "C:maj/b9"),
)


def to_rows(sequences: Sequence[Sequence_]) -> Ragged:
    """Sequences as the rows of one side."""
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(label, len(vocabulary)) for _, _, labels in sequences for label in labels]
    columns = {
        "start": np.array([time for starts, _, _ in sequences for time in starts], dtype=np.float64),
        "end": np.array([time for _, ends, _ in sequences for time in ends], dtype=np.float64),
        "label": np.array(codes, dtype=np.int64),
    }
    return Ragged(columns, (np.array([len(labels) for _, _, labels in sequences], dtype=np.int64),), tuple(vocabulary))


@st.composite
def chord_sequences(draw: st.DrawFn, min_size: int = 0, labels: Sequence[str] = ODD_LABELS) -> Sequence_:
    """A sequence with late starts, gaps, repeated labels, and times that often coincide with another's."""
    times = st.sampled_from([number / 4 for number in range(60)]) | st.floats(0, 15).map(lambda t: round(t, 9) + 0.0)
    bounds = sorted(draw(st.lists(times, min_size=min_size + 1 if min_size else 0, max_size=12, unique=True)))
    spans = list(itertools.pairwise(bounds))
    if len(spans) > 1:
        gaps = draw(st.sets(st.integers(0, len(spans) - 1), max_size=min(2, len(spans) - 1)))
        spans = [span for place, span in enumerate(spans) if place not in gaps]
    chosen = draw(st.lists(st.sampled_from(labels), min_size=len(spans), max_size=len(spans)))
    return [start for start, _ in spans], [end for _, end in spans], chosen


def without_instants(reference: Sequence_, estimate: Sequence_) -> Sequence_:
    """The estimate without intervals of which at most an instant lies in the reference's span."""
    low, high = min(reference[0]), max(reference[1])
    return _columns([row for row in zip(*estimate, strict=True) if row[1] > low and row[0] < high])


def accepted(reference: Sequence_, estimate: Sequence_) -> Sequence_:
    """The estimate as mir_eval takes it.

    It refuses an interval of which only an instant lies in the reference's span, unless its neighbour continues the
    chord. Then it gets the estimate without the one that touches the start of the span, or its end, or both.
    """
    low, high = min(reference[0]), max(reference[1])
    rows = list(zip(*estimate, strict=True))
    after, before = [row for row in rows if row[1] > low], [row for row in rows if row[0] < high]
    for kept in (rows, after, before):
        try:
            _mir_eval_scores(reference, _columns(kept))
        except ValueError as error:
            if "strictly positive" not in str(error):
                raise
        else:
            return _columns(kept)
    return without_instants(reference, estimate)


def _columns(rows: list[tuple[float, float, str]]) -> Sequence_:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def mir_eval_scores(reference: Sequence_, estimate: Sequence_) -> list[float]:
    """mir_eval's 15 scores of the estimate as it takes it."""
    return _mir_eval_scores(reference, accepted(reference, estimate))


def _mir_eval_scores(reference: Sequence_, estimate: Sequence_) -> list[float]:
    sides = []
    for starts, ends, labels in (reference, estimate):
        sides += [np.array([starts, ends], dtype=np.float64).T.reshape(-1, 2), list(labels)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float(score) for score in mir_eval.chord.evaluate(*sides).values()]


def read_lab(path: Path) -> Sequence_:
    """The rows of a lab file, without those that have no length."""
    rows = [line.split(None, 2) for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    kept = [(float(start), float(end), label.strip()) for start, end, label in rows if float(end) > float(start)]
    return [row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept]
