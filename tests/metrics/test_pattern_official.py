"""All 17 scores of the official MATLAB evaluation of the JKU patterns, and mir_eval's on the same pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .patterns import jku, mir_eval_scores
from .test_pattern_scoring import CONVENTION, DEFAULT, score_pairs

# In the order of the table's columns.
COLUMNS = (
    *("establishment_precision", "establishment_recall", "establishment_f_measure"),
    *("occurrence_precision@0.75", "occurrence_recall@0.75", "occurrence_f_measure@0.75"),
    *("three_layer_precision", "three_layer_recall", "three_layer_f_measure"),
    *("first_n_target_proportion_recall@5", "first_n_three_layer_precision@5"),
    *("occurrence_precision@0.5", "occurrence_recall@0.5", "occurrence_f_measure@0.5"),
    *("precision", "recall", "f_measure"),
)


def official(folder: Path) -> dict[tuple[str, str], list[float]]:
    """The 17 numbers by algorithm and piece."""
    rows = {}
    algorithm = piece = ""
    for line in (folder / "jku-patterns/official/resultsMATLAB.txt").read_text().splitlines():
        if line.startswith("Algorithm"):
            algorithm = line.split()[-1]
        elif line[:1].isalpha() and not line.startswith("P_est"):
            piece = line.strip()
        elif line[:1].isdigit():
            rows[algorithm, piece] = [float(number) for number in line.split(",")]
    return rows


def test_every_official_score_is_reproduced_to_its_five_decimals(shared_data: Path) -> None:
    table, pieces = official(shared_data), jku(shared_data)
    assert len(table) == 20
    assert set(table) == set(pieces)
    found = score_pairs([pieces[row] for row in table], CONVENTION.select(COLUMNS))
    np.testing.assert_allclose(found.score, list(table.values()), rtol=0, atol=5.001e-6)


@pytest.mark.parametrize("algorithm", ["nf1", "nf2", "nf3", "nf4"])
def test_equals_mir_eval(algorithm: str, shared_data: Path) -> None:
    pieces = [pair for (name, _), pair in jku(shared_data).items() if name == algorithm]
    expected = [list(mir_eval_scores(*pair).values()) for pair in pieces]
    assert len(expected[0]) == len(DEFAULT)
    np.testing.assert_allclose(score_pairs(pieces).score, expected, rtol=0, atol=1e-12)
