"""The 15 scores of real annotations and real systems, against mir_eval."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from .chord_pairs import Sequence_, mir_eval_scores, read_lab
from .test_chord_scoring import score_pairs

Pairs = list[tuple[Sequence_, Sequence_]]


def check(pairs: Pairs) -> None:
    found = score_pairs(pairs)
    assert not found.refused
    expected = np.array([mir_eval_scores(reference, estimate) for reference, estimate in pairs])
    np.testing.assert_allclose(found.score, expected, rtol=0, atol=1e-12)
    assert np.isfinite(found.weight).all()


def mirex2013(folder: Path) -> Pairs:
    """All tracks of all systems."""
    references = {path.name: read_lab(path) for path in sorted((folder / "mirex2013-ace/reference").glob("*.lab"))}
    estimates = sorted((folder / "mirex2013-ace/estimates").glob("*/*.lab"))
    return [(references[path.name], read_lab(path)) for path in estimates]


def casd(folder: Path) -> Pairs:
    """Every annotator of a song against every other."""
    pairs: Pairs = []
    for path in sorted((folder / "casd").glob("*.jams")):
        annotators = []
        for annotation in json.loads(path.read_text())["annotations"]:
            rows = annotation["data"]
            starts = [float(row["time"]) for row in rows]
            ends = [start + float(row["duration"]) for start, row in zip(starts, rows, strict=True)]
            annotators.append((starts, ends, [row["value"] for row in rows]))
        pairs += itertools.permutations(annotators, 2)
    return pairs


def test_a_sample_of_mirex_2013(shared_data: Path) -> None:
    check(mirex2013(shared_data)[::24])


def test_a_sample_of_annotator_pairs(shared_data: Path) -> None:
    check(casd(shared_data)[::12])


def test_mir_evals_own_examples(shared_data: Path) -> None:
    folder = shared_data / "mir_eval-fixtures/chord"
    pairs = [(read_lab(path), read_lab(folder / path.name.replace("ref", "est"))) for path in folder.glob("ref*.lab")]
    assert pairs
    check(pairs)


@pytest.mark.slow
def test_all_of_mirex_2013(shared_data: Path) -> None:
    pairs = mirex2013(shared_data)
    assert len(pairs) == 217 * 9
    check(pairs)


@pytest.mark.slow
def test_all_annotator_pairs(shared_data: Path) -> None:
    pairs = casd(shared_data)
    assert len(pairs) == 25 * 12
    check(pairs)
