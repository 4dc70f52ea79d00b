"""Sets of patterns for tests, and mir_eval's scores of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import mir_eval
import numpy as np
from hypothesis import strategies as st

from mirflow.ragged import Ragged

Note = tuple[float, float]
Patterns = list[list[list[Note]]]

notes = st.tuples(st.integers(-2, 6).map(lambda n: n / 2), st.integers(58, 62).map(float))
occurrences = st.lists(notes, min_size=1, max_size=6)
shifts = st.tuples(st.sampled_from((0.0, 0.0, 0.5, 4.0, 1e-6)), st.sampled_from((0.0, 0.0, 1.0, -12.0)))


@st.composite
def patterns(draw: st.DrawFn, max_size: int = 7, like: Patterns | None = None) -> Patterns:
    """Patterns with occurrences of one note and more, some notes twice; some shifted ones of another set."""
    known = [occurrence for pattern in like or [] for occurrence in pattern]
    some = occurrences
    if known:
        some = occurrences | st.sampled_from(known) | st.tuples(st.sampled_from(known), shifts).map(_shift)
    return draw(st.lists(st.lists(some, min_size=1, max_size=4), max_size=max_size))


def _shift(given: tuple[list[Note], Note]) -> list[Note]:
    occurrence, (time, pitch) = given
    return [(onset + time, midi + pitch) for onset, midi in occurrence]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Patterns, Patterns]:
    """A reference and an estimate with something in common."""
    reference = draw(patterns())
    return reference, draw(patterns(like=reference))


def to_rows(sides: Sequence[Patterns]) -> Ragged:
    """Sets of patterns as the rows of one side."""
    all_patterns = [pattern for side in sides for pattern in side]
    all_occurrences = [occurrence for pattern in all_patterns for occurrence in pattern]
    flat = np.array([note for occurrence in all_occurrences for note in occurrence], dtype=np.float64).reshape(-1, 2)
    counts = tuple(
        np.array([len(one) for one in level], dtype=np.int64) for level in (sides, all_patterns, all_occurrences)
    )
    return Ragged({"onset": flat[:, 0], "pitch": flat[:, 1]}, counts)


def mir_eval_scores(reference: Patterns, estimate: Patterns) -> dict[str, float]:
    """mir_eval's scores, the occurrence scores at .5 from its own function at that threshold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mir_eval.pattern.evaluate(reference, estimate)
        at_half = mir_eval.pattern.occurrence_FPR(reference, estimate, thres=0.5)
    found |= dict(zip(("F_occ.5", "P_occ.5", "R_occ.5"), at_half, strict=True))
    # Without notes its functions of the first patterns return three zeros and not one.
    return {name: float(np.max(score)) for name, score in found.items()}


def jku(folder: Path) -> dict[tuple[str, str], tuple[Patterns, Patterns]]:
    """Reference and estimate by algorithm and piece, the pieces named as in the official table."""
    found = {}
    for path in sorted((folder / "jku-patterns").glob("*/estimates/*/*.txt")):
        texture, algorithm = path.parents[2], path.parent.name
        sides = [mir_eval.io.load_patterns(str(one)) for one in (texture / "reference" / path.name, path)]
        found[algorithm, f"{path.stem}-{texture.name}"] = (sides[0], sides[1])
    return found
