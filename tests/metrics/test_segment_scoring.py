"""Scores of batches of segmentations, their cleaning and evidence, and mir_eval's scores of real data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics.base import Pairs, Scores, get_task

from .chord_pairs import to_rows
from .segment_pairs import Segments, exact_information, messy_segments, mir_eval_scores, read_boundaries, segments

CONVENTION = get_task("segment").convention("mir_eval")
DEFAULT = CONVENTION.select()
MORE = CONVENTION.select(
    [
        *map(str, DEFAULT),
        *("f_measure@0.5(beta=2.0,trim=true)", "precision@1.0(matching=nearest)", "deviation_ref_to_est@true"),
        *(
            "deviation_est_to_ref@false(median=upper)",
            "pairwise_f_measure@0.25(beta=0.5)",
            "nce_over@0.1(marginal=true)",
        ),
        *("adjusted_mutual_information@0.5", "nce_f@0.1(single_label=1.0)"),
    ]
)


def score_pairs(pairs: list[tuple[Segments, Segments]], measures=DEFAULT, convention=CONVENTION) -> Scores:
    references, estimates = to_rows([one for one, _ in pairs]), to_rows([one for _, one in pairs])
    return convention.score(Pairs.in_order(references, estimates), measures, "union")


def rows(*given: tuple[float, float, str]) -> Segments:
    return [row[0] for row in given], [row[1] for row in given], [row[2] for row in given]


def check(reference: Segments, estimate: Segments) -> None:
    expected = mir_eval_scores(reference, estimate)
    assume(isinstance(expected, dict))  # it refuses, for example, an interval that only touches the reference's end
    expected |= exact_information(reference, estimate)
    found = score_pairs([(reference, estimate)])
    assert not found.refused
    np.testing.assert_allclose(found.score[0], list(expected.values()), rtol=0, atol=1e-9)
    assert np.isfinite(found.weight).all()
    assert (found.weight >= 0).all()


@given(segments(min_size=1) | messy_segments(min_size=1), segments() | messy_segments())
@settings(max_examples=100, deadline=None)
@example(rows((0.0, 0.05, "A")), rows((0.0, 0.05, "A")))  # no frame at all
@example(rows((0.0, 0.15, "A")), rows((0.0, 0.15, "B")))  # a single frame
@example(rows((0.0, 3.0, "A"), (3.0, 5.0, "b")), rows((9.0, 12.0, "A")))  # starts after the reference ends
@example(rows((2.0, 3.0, "None")), rows((0.0, 1.0, "a"), (2.0, 3.0, "NONE")))  # a label that gaps have, too
def test_equals_mir_eval(reference: Segments, estimate: Segments) -> None:
    check(reference, estimate)


def test_batches_larger_than_the_cache_equal_single_pairs() -> None:
    rng = np.random.default_rng(4)

    def sequence(size: int) -> Segments:
        bounds = np.cumsum(rng.random(size + 1) * 20)
        return bounds[:-1].tolist(), bounds[1:].tolist(), rng.choice(list("ABCDEfghijk"), size).tolist()

    pairs = [(sequence(rng.integers(1, 60)), sequence(rng.integers(1, 60))) for _ in range(400)]
    together = score_pairs(pairs, MORE)
    for place in range(0, 400, 37):
        alone = score_pairs([pairs[place]], MORE)
        assert alone.score[0].tobytes() == together.score[place].tobytes()


def test_score_times_weight_adds_up_to_what_was_counted() -> None:
    reference = rows((0.0, 10.0, "a"), (10.0, 20.0, "b"), (20.0, 40.0, "a"))
    estimate = rows((0.0, 10.2, "x"), (10.2, 40.0, "y"))
    names = ["precision", "recall", "f_measure", "f_measure@0.5(beta=2.0)"]
    found = score_pairs([(reference, estimate)], CONVENTION.select(names))
    assert found.weight[0].tolist() == [3.0, 4.0, 3.5, (4 * 4 + 3) / 5]
    np.testing.assert_allclose(found.score * found.weight, [[3.0] * 4], atol=1e-12)


def test_weights_of_labels_are_their_own_denominators() -> None:
    reference, estimate = rows((0.0, 1.0, "a"), (1.0, 2.0, "b")), rows((0.0, 0.5, "x"), (0.5, 2.0, "y"))
    names = ["pairwise_precision", "pairwise_recall", "rand_index", "nce_over", "v_precision", "mutual_information"]
    weight = score_pairs([(reference, estimate)], CONVENTION.select(names)).weight[0]
    np.testing.assert_allclose(weight[:4], [10 + 105, 45 + 45, 190, 2.0])
    assert weight[4] == pytest.approx(2.0 * (0.25 * 2 + 0.75 * np.log2(4 / 3)))
    assert weight[5] == pytest.approx(2.0)


def test_a_single_label_scores_0_with_weight_0() -> None:
    one, two = rows((0.0, 4.0, "a")), rows((0.0, 2.0, "x"), (2.0, 4.0, "y"))
    found = score_pairs(
        [(one, two)], CONVENTION.select(["nce_over", "nce_under", "v_recall", "nce_under@0.1(single_label=1)"])
    )
    assert found.score[0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert found.weight[0, 1:].tolist() == [0.0, 0.0, 0.0]


def test_empty_reference_scores_0_with_weight_0_and_has_no_deviation() -> None:
    found = score_pairs([(rows(), rows((0.0, 1.0, "a"))), (rows(), rows())])
    deviations = [measure.metric.unit == "s" for measure in DEFAULT]
    assert np.isnan(found.score[:, deviations]).all()
    assert not found.score[:, np.logical_not(deviations)].any()
    assert not found.weight.any()


def test_ends_that_do_not_fit_are_counted_as_repairs() -> None:
    reference = rows((0.0, 4.0, "a"))
    estimates = [rows((0.0, 4.0, "a")), rows((1.0, 9.0, "a")), rows((1.0, 3.0, "a")), rows()]
    assert score_pairs([(reference, one) for one in estimates]).repairs.tolist() == [0, 2, 2, 0]


def test_a_reference_too_long_for_frames_is_refused_and_spoils_nothing_else() -> None:
    good, endless = rows((0.0, 4.0, "a"), (4.0, 5.0, "b")), rows((0.0, 1e12, "a"))
    found = score_pairs([(good, good), (endless, good), (good, endless)])
    assert list(found.refused) == [1]
    assert found.refused[1].startswith("reference: ends at 1000000000000.0 s, too late for frames of 0.1 s")
    assert np.isnan(found.score[1]).all()
    assert not found.weight[1].any()
    assert found.score[0].tobytes() == score_pairs([(good, good)]).score[0].tobytes()
    boundaries = score_pairs([(endless, good)], CONVENTION.select(["precision"]))
    assert (boundaries.refused, boundaries.score.tolist()) == ({}, [[0.5]])  # no frames are needed


TASK = get_task("segment")
CLEAN = TASK.convention("mir_eval").clean
CLEAN_MIREX = TASK.convention("mirex").clean


def test_time_before_0_is_cut_off_and_counted() -> None:
    cleaned = CLEAN(to_rows([rows((-3.0, -1.0, "a"), (-1.0, 1.0, "b"), (1.0, 2.0, "c"))]))
    assert cleaned.rows.columns["start"].tolist() == [0.0, 1.0]
    assert cleaned.repairs.tolist() == [2]


def test_gaps_overlaps_and_rows_out_of_order_are_taken_as_they_are_and_counted() -> None:
    given = to_rows([rows((0.0, 1.0, "a"), (2.0, 4.0, "b"), (3.0, 5.0, "c"), (1.0, 2.0, "d"))])
    cleaned = CLEAN(given)
    assert cleaned.rows is given
    assert cleaned.repairs.tolist() == [3]


def test_mirex_takes_all_that_has_a_time() -> None:
    given = to_rows([rows((-1.0, 1.0, "a"), (1.0, 1.0, "b"), (0.5, 2.0, "c"))])
    cleaned = CLEAN_MIREX(given)
    assert cleaned.rows is given
    assert cleaned.repairs.tolist() == [3]


def test_an_estimate_that_only_touches_the_references_end_is_scored_without_it() -> None:
    reference = rows((0.0, 2.0, "a"), (2.0, 4.0, "b"))
    found = score_pairs([(reference, rows((0.0, 4.0, "x"), (4.0, 9.0, "y"))), (reference, rows((0.0, 4.0, "x")))])
    assert np.array_equal(found.score[0], found.score[1])
    assert found.repairs.tolist() == [1, 0]


def annotation(one: Segments) -> Annotation:
    return Annotation("intervals", {"start": np.array(one[0]), "end": np.array(one[1])}, one[2])


def explain(reference: Segments, estimate: Segments, text: str) -> dict[str, np.ndarray]:
    assert CONVENTION.explain is not None
    return dict(CONVENTION.explain(annotation(reference), annotation(estimate), CONVENTION.select([text])[0]))


@given(segments(min_size=1), segments(), st.sampled_from(["@0.5", "@3.0", "@0.5(trim=true)", "@3.0(matching=nearest)"]))
def test_the_score_can_be_recounted_from_it(reference: Segments, estimate: Segments, parameters: str) -> None:
    verdicts = explain(reference, estimate, f"recall{parameters}")["verdict"].tolist()
    hits, missed, extra = (verdicts.count(verdict) for verdict in ("hit", "missed", "extra"))
    measures = CONVENTION.select([f"precision{parameters}", f"recall{parameters}"])
    found = score_pairs([(reference, estimate)], measures)
    assert found.weight.tolist() == [[hits + extra, hits + missed]]
    np.testing.assert_allclose(found.score * found.weight, [[hits, hits]], atol=1e-9)


def test_times_are_shown_as_they_were_compared() -> None:
    found = explain(rows((1.0, 6.0, "a"), (6.0, 9.0, "b")), rows((0.0, 6.2, "x"), (6.2, 20.0, "y")), "f_measure")
    assert found["verdict"].tolist() == ["hit", "missed", "hit", "hit"]
    assert found["reference"].tolist() == [0.0, 1.0, 6.0, 9.0]
    np.testing.assert_array_equal(found["estimate"], [0.0, np.nan, 6.2, 9.0])


def test_only_boundaries_are_judged_one_by_one() -> None:
    one = rows((0.0, 1.0, "a"))
    with pytest.raises(MetricError, match="does not judge boundaries one by one; ask for one of precision"):
        explain(one, one, "rand_index")


def test_sides_that_cannot_be_scored_are_named() -> None:
    one = rows((0.0, 1.0, "a"))
    with pytest.raises(AnnotationError, match="estimate: interval ends before it starts"):
        explain(one, rows((1.0, 0.5, "a")), "recall")
    with pytest.raises(AnnotationError, match="the reference is empty"):
        explain(rows(), one, "recall")


GivenPairs = list[tuple[Segments, Segments]]

LAYERS = ("functions", "uppercase", "lowercase")


def score(pairs: GivenPairs) -> np.ndarray:
    sides = (CONVENTION.clean(to_rows(side)) for side in zip(*pairs, strict=True))
    references, estimates = (cleaned.rows for cleaned in sides)
    found = CONVENTION.score(Pairs.in_order(references, estimates), CONVENTION.select(), "union")
    assert not found.refused
    assert np.isfinite(found.weight).all()
    return found.score


def check_real(pairs: GivenPairs) -> None:
    expected = []
    for reference, estimate in pairs:
        scores = mir_eval_scores(reference, estimate)
        assert isinstance(scores, dict), scores
        expected.append(list((scores | exact_information(reference, estimate)).values()))
    np.testing.assert_allclose(score(pairs), expected, rtol=0, atol=1e-9)


def salami(folder: Path) -> GivenPairs:
    """Annotator 2 against annotator 1 on three layers."""
    songs = sorted((path for path in (folder / "salami").iterdir() if path.is_dir()), key=lambda path: int(path.name))
    return [
        (read_boundaries(song / f"textfile1_{layer}.txt"), read_boundaries(song / f"textfile2_{layer}.txt"))
        for layer in LAYERS
        for song in songs
    ]


@pytest.mark.slow
def test_all_of_salami_half_of_it_the_other_way(shared_data: Path) -> None:
    pairs = salami(shared_data)
    assert len(pairs) == 120 * 3
    check_real(pairs[::2] + [(estimate, reference) for reference, estimate in pairs[1::2]])
