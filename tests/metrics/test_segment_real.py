"""The 22 scores of real annotations, against mir_eval."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mirflow.metrics.base import get_task

from .segment_pairs import Segments, exact_information, mir_eval_scores, read_boundaries, read_lab, to_rows

Pairs = list[tuple[Segments, Segments]]

CONVENTION = get_task("segment").convention("mir_eval")
LAYERS = ("functions", "uppercase", "lowercase")


def score(pairs: Pairs) -> np.ndarray:
    sides = (CONVENTION.clean(to_rows(side)) for side in zip(*pairs, strict=True))
    references, estimates = (cleaned.rows for cleaned in sides)
    row = np.arange(len(pairs))
    found = CONVENTION.score(references, estimates, row, row, CONVENTION.select(), "union")
    assert not found.refused
    assert np.isfinite(found.weight).all()
    return found.score


def check(pairs: Pairs) -> None:
    expected = []
    for reference, estimate in pairs:
        scores = mir_eval_scores(reference, estimate)
        assert isinstance(scores, dict), scores
        expected.append(list((scores | exact_information(reference, estimate)).values()))
    np.testing.assert_allclose(score(pairs), expected, rtol=0, atol=1e-9)


def salami(folder: Path) -> Pairs:
    """Annotator 2 against annotator 1 on three layers."""
    songs = sorted((path for path in (folder / "salami").iterdir() if path.is_dir()), key=lambda path: int(path.name))
    return [
        (read_boundaries(song / f"textfile1_{layer}.txt"), read_boundaries(song / f"textfile2_{layer}.txt"))
        for layer in LAYERS
        for song in songs
    ]


def test_a_sample_of_salami(shared_data: Path) -> None:
    check(salami(shared_data)[::40])


@pytest.mark.slow
def test_all_of_salami_both_ways(shared_data: Path) -> None:
    pairs = salami(shared_data)
    assert len(pairs) == 120 * 3
    check(pairs + [(estimate, reference) for reference, estimate in pairs])


def test_mir_evals_own_examples_and_their_expected_scores(shared_data: Path) -> None:
    folder = shared_data / "mir_eval-fixtures/segment"
    references = sorted(folder.glob("ref*.lab"))
    pairs = [(read_lab(path), read_lab(folder / path.name.replace("ref", "est"))) for path in references]
    assert len(pairs) == 10
    check(pairs)
    expected = [
        json.loads((folder / path.name.replace("ref", "output")).with_suffix(".json").read_text())
        for path in references
    ]
    np.testing.assert_allclose(score(pairs), [list(one.values()) for one in expected], rtol=0, atol=1e-9)
