"""Convention mirex: the official scores of ten tracks of MIREX 2012 and 2013, and what single choices change."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirflow.metrics.base import Pairs, Scores, get_task

from .chord_pairs import to_rows
from .segment_pairs import Segments, read_lab
from .test_segment_scoring import rows, score_pairs

CONVENTION = get_task("segment").convention("mirex")
DEFAULT = CONVENTION.select()
FITTED = CONVENTION.select(["nce_under@1000(extent=reference)", "recall@3.0(extent=reference)", "rand_index@77"])

ROUNDED_REFERENCE = 7
"""A track on which one boundary lies half way between two points, and the fixtures' times are rounded to 1 ms."""


def mirex(pairs: list[tuple[Segments, Segments]], measures=DEFAULT) -> Scores:
    return score_pairs(pairs, measures, CONVENTION)


def official(folder: Path) -> tuple[list[tuple[Segments, Segments]], np.ndarray]:
    tracks = sorted((folder / "raw_data").glob("*_results.txt"))
    scores = [[float(word) for word in path.read_text().split()[2:]] for path in tracks]
    return [(read_lab(folder / f"ref{i:02}.lab"), read_lab(folder / f"est{i:02}.lab")) for i in range(10)], np.array(
        scores
    )


def test_all_official_scores_are_reproduced_to_the_printed_digits(shared_data: Path) -> None:
    pairs, expected = official(shared_data / "mir_eval-fixtures/segment")
    assert expected.shape == (10, len(DEFAULT))
    starts, ends, labels = pairs[ROUNDED_REFERENCE][0]
    earlier = (
        [time - 0.0003 if time == 159.275 else time for time in starts],
        [time - 0.0003 if time == 159.275 else time for time in ends],
    )
    pairs[ROUNDED_REFERENCE] = (*earlier, labels), pairs[ROUNDED_REFERENCE][1]
    found = mirex(pairs).score
    # Printed with four decimals, or with five digits; F-measures were rounded more than once.
    np.testing.assert_allclose(found[:, :12], expected[:, :12], rtol=0, atol=1.01e-4)
    np.testing.assert_allclose(found[:, 12:], expected[:, 12:], rtol=0, atol=5.01e-4 + 1e-12)


def test_the_nearest_boundaries_are_matched_first_and_a_window_excludes_its_edge() -> None:
    reference, estimate = rows((0.4, 1.1, "a")), rows((1.0, 1.7, "x"))
    names = ["precision@0.65", "precision@0.65(matching=optimal)", "recall@0.1", "recall@0.11"]
    assert mirex([(reference, estimate)], CONVENTION.select(names)).score.tolist() == [[0.5, 1.0, 0.0, 0.5]]
    exact = rows((0.0, 1.0, "a")), rows((0.5, 1.0, "x"))
    names = ["recall@0.5", "recall@0.5(matching=optimal)"]
    assert mirex([exact], CONVENTION.select(names)).score.tolist() == [[0.5, 1.0]]


def test_silence_has_no_boundaries() -> None:
    one = rows((0.0, 1.0, "silence"), (1.0, 4.0, "a"), (4.0, 6.0, "Silence"))
    names = ["recall", "recall@0.5(silence=counted)"]
    assert mirex([(one, one)], CONVENTION.select(names)).weight.tolist() == [[3.0, 4.0]]


def test_a_single_label_scores_1_by_default() -> None:
    one, two = rows((0.0, 4.0, "a")), rows((0.0, 2.0, "x"), (2.0, 4.0, "y"))
    names = ["nce_under", "nce_under@1000(single_label=0)", "nce_over@1001"]
    assert mirex([(one, two)], CONVENTION.select(names)).score.tolist() == [[1.0, 0.0, 0.0]]


def test_the_median_is_the_middle_by_default() -> None:
    reference, estimate = rows((0.0, 10.0, "a")), rows((1.0, 13.0, "x"))
    names = ["deviation_ref_to_est", "deviation_ref_to_est@upper"]
    assert mirex([(reference, estimate)], CONVENTION.select(names)).score.tolist() == [[2.0, 3.0]]


def test_time_that_one_side_does_not_cover_is_left_out_of_entropies_only() -> None:
    reference, estimate = rows((0.0, 10.0, "a"), (10.0, 20.0, "b")), rows((0.0, 10.0, "x"), (10.0, 40.0, "y"))
    found = mirex([(reference, estimate)], CONVENTION.select(["nce_over", "nce_under", "rand_index"])).score[0]
    assert found[:2].tolist() == [1.0, 1.0]
    assert found[2] < 0.8


def test_empty_sides_score_0() -> None:
    one = rows((0.0, 2.0, "a"), (2.0, 3.0, "b"))
    found = mirex([(rows(), one), (one, rows()), (rows(), rows())], (*DEFAULT, *FITTED))
    assert not found.score[:, :12].any()
    assert np.isnan(found.score[:, 12:14]).all()
    assert not found.weight[2].any()


def test_overlaps_are_taken_and_the_label_that_comes_up_later_counts() -> None:
    lines = rows((0.0, 8.0, "a"), (4.0, 10.0, "b"), (6.0, 7.0, "a"))
    cleaned = CONVENTION.clean(to_rows([lines]))
    assert (cleaned.flaws, cleaned.repairs.tolist()) == ({}, [2])
    plain = to_rows([rows((0.0, 4.0, "a"), (4.0, 10.0, "b"))])
    found = CONVENTION.score(
        Pairs.in_order(plain, cleaned.rows), CONVENTION.select(["rand_index", "nce_over"]), "union"
    )
    assert found.score.tolist() == [[1.0, 1.0]]
