"""Hierarchies of segments for tests, and mir_eval's scores of them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path

import mir_eval
import numpy as np
from hypothesis import strategies as st

from mirflow.ragged import Ragged

Hierarchy = tuple[list[np.ndarray], list[list[str]]]
"""For each level its intervals, float64 (n, 2), and their labels."""

LABELS = ("a", "A", "b", "B'", "verse", "Verse", "__T_MIN", "", "\u00c9")


@st.composite
def segmentations(draw: st.DrawFn, end: float, free: bool = False) -> tuple[np.ndarray, list[str]]:
    """Labelled segments from 0 to `end`; `free` ones leave gaps, overlap and start and end anywhere."""
    times = st.floats(0, end).map(lambda t: round(t, 2)) | st.integers(0, int(end * 2)).map(lambda n: n / 2)
    bounds = sorted({0.0, end, *(time for time in draw(st.lists(times, max_size=6)) if time <= end)})
    spans = [[a, b] for a, b in itertools.pairwise(bounds)]
    if free and len(spans) > 1:
        spans = [span for span in spans if draw(st.integers(0, 3))] or spans[:1]
        for place in range(len(spans)):
            if not draw(st.integers(0, 3)):
                spans[place][1] = min(end, spans[place][1] + draw(st.sampled_from((0.5, 1.37))))
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=len(spans), max_size=len(spans)))
    return np.array(spans, dtype=np.float64).reshape(-1, 2), labels


@st.composite
def hierarchies(draw: st.DrawFn, end: float = 12.0, free: bool = False, max_levels: int = 4) -> Hierarchy:
    """One to four levels that need not nest."""
    levels = draw(st.lists(segmentations(end, free), min_size=1, max_size=max_levels))
    return [times for times, _ in levels], [labels for _, labels in levels]


def to_rows(sides: Sequence[Hierarchy]) -> Ragged:
    """Hierarchies as the rows of one side."""
    vocabulary: dict[str, int] = {}
    codes = [vocabulary.setdefault(name, len(vocabulary)) for _, labels in sides for one in labels for name in one]
    times = np.concatenate([np.zeros((0, 2)), *(level for levels, _ in sides for level in levels)])
    levels = np.array([len(one) for one, _ in sides], dtype=np.int64)
    segments = np.array([len(level) for one, _ in sides for level in one], dtype=np.int64)
    columns = {"start": times[:, 0], "end": times[:, 1], "label": np.array(codes, dtype=np.int64)}
    return Ragged(columns, (levels, segments), tuple(vocabulary))


def before(end: float, given: Hierarchy) -> Hierarchy:
    """A hierarchy without the segments that only touch the end of a span; mir_eval refuses them."""
    inside = [times[:, 0] < end for times in given[0]]
    names = [list(itertools.compress(one, kept)) for one, kept in zip(given[1], inside, strict=True)]
    return [times[kept] for times, kept in zip(given[0], inside, strict=True)], names


def mir_eval_scores(reference: Hierarchy, estimate: Hierarchy, **kwargs: float | None) -> dict[str, float]:
    """mir_eval's nine scores; its warnings are silenced and the labels copied, because it changes them."""
    sides = [[list(names) for names in labels] for _, labels in (reference, estimate)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mir_eval.hierarchy.evaluate(reference[0], sides[0], estimate[0], sides[1], **kwargs)
    return {name: float(score) for name, score in found.items()}


def read_lab(path: Path) -> tuple[np.ndarray, list[str]]:
    """The segments of a lab file."""
    return mir_eval.io.load_labeled_intervals(str(path))


def read_boundaries(path: Path) -> tuple[np.ndarray, list[str]]:
    """Segments from a list of starts of which the last is the end; those without length are left out."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip()]
    times = [float(row[0]) for row in rows]
    spans = zip(times, times[1:], rows, strict=False)
    kept = [(start, end, row[1].strip()) for start, end, row in spans if end > start]
    return np.array([[start, end] for start, end, _ in kept]), [label for _, _, label in kept]


def salami(folder: Path) -> list[tuple[Hierarchy, Hierarchy]]:
    """Annotator 1 against annotator 2 in three layers, from the functions to the small letters."""
    pairs = []
    for song in sorted((folder / "salami").iterdir()):
        if song.is_dir():
            sides = []
            for annotator in (1, 2):
                layers = ("functions", "uppercase", "lowercase")
                levels = [read_boundaries(song / f"textfile{annotator}_{layer}.txt") for layer in layers]
                sides.append(([times for times, _ in levels], [labels for _, labels in levels]))
            pairs.append((sides[0], sides[1]))
    return pairs
