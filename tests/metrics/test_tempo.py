"""Tempo estimation: mir_eval's scores, the accuracies and octave errors of single tempi, and how rows are read."""

from __future__ import annotations

import math
import warnings

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import MetricError, MirflowWarning
from mirflow.metrics import tempo
from mirflow.metrics.tempo import clean

from .batches import score_pairs

CONVENTION = tempo.TASK.convention("mir_eval")
SINGLE = CONVENTION.select(["accuracy0", "absolute_error", "accuracy1", "accuracy2", "oe1", "oe2", "aoe1", "aoe2"])
ALL = (*CONVENTION.select(), *CONVENTION.select(["p_score@0.04", "both_correct@1.0"]), *SINGLE)
NAN = float("nan")

_some = st.sampled_from((0.0, 30.0, 40.0, 55.2, 60.0, 64.8, 65.0, 80.0, 120.0, 129.6, 180.0, 240.0))
tempi = st.lists(st.one_of(_some, st.floats(0, 500, allow_subnormal=False)), min_size=2, max_size=2)
shares = st.one_of(st.sampled_from((0.0, 0.25, 0.5, 1.0)), st.floats(0, 1))
tolerances = st.one_of(st.sampled_from((0.0, 0.04, 0.08, 1.0)), st.floats(0, 1))


def annotation(*values: float, salience: tuple[float, ...] | None = None) -> Annotation:
    columns = {"tempo": np.array(values, dtype=np.float64)}
    if salience is not None:
        columns["salience"] = np.array(salience, dtype=np.float64)
    return Annotation("tempo", columns)


def scores(reference: Annotation, estimate: Annotation, *names: str) -> list[float]:
    return score_pairs(CONVENTION, [(reference, estimate)], CONVENTION.select(names)).score[0].tolist()


@given(reference=tempi, share=shares, estimate=tempi, tol=tolerances)
@example([60.0, 120.0], 0.5, [55.2, 129.6], 0.08)
@example([0.0, 120.0], 0.5, [0.0, 0.0], 1.0)
def test_pair_and_batch_equal_mir_eval(reference: list[float], share: float, estimate: list[float], tol: float) -> None:
    sides = np.array(reference), share, np.array(estimate)
    if not any(reference):
        with pytest.raises(ValueError, match=r"^reference tempi=\[0\. 0\.\] must have one value greater than zero$"):
            tempo.evaluate(*sides)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = mir_eval.tempo.evaluate(*sides, tol=tol)
        found = tempo.evaluate(*sides, tol=tol)
    assert list(found.items()) == list(expected.items())
    measures = CONVENTION.select([f"{name}@{tol!r}" for name in ("p_score", "one_correct", "both_correct")])
    pair = annotation(*reference, salience=(share, 1 - share)), annotation(*estimate)
    batch = score_pairs(CONVENTION, [pair], measures)
    assert batch.score[0].tolist() == list(expected.values())
    assert batch.weight[0].tolist() == [1.0, 1.0, float(all(reference))]


@pytest.mark.parametrize(
    ("reference", "share", "estimate", "tol"),
    [
        ([60.0], 0.5, [60.0, 120.0], 0.08),
        ([60.0, 120.0], 0.5, [60.0, 80.0, 120.0], 0.08),
        ([-1.0, 120.0], 0.5, [60.0, 120.0], 0.08),
        ([60.0, 120.0], 0.5, [np.inf, 120.0], 0.08),
        ([60.0, 120.0], 0.5, [60.0, np.nan], 0.08),
        ([60.0, 120.0], 1.5, [60.0, 120.0], 0.08),
        ([60.0, 120.0], -0.1, [60.0, 120.0], 0.08),
        ([60.0, 120.0], 0.5, [60.0, 120.0], 1.1),
        ([60.0, 120.0], 0.5, [60.0, 120.0], -1),
    ],
)
def test_errors_are_mir_evals(reference: list[float], share: float, estimate: list[float], tol: float) -> None:
    messages = []
    for module in (mir_eval.tempo, tempo):
        with pytest.raises(ValueError, match=r".") as raised:
            module.detection(np.array(reference), share, np.array(estimate), tol)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(("share", "tol"), [(NAN, 0.08), (0.5, NAN)])
def test_what_is_no_number_is_refused(share: float, tol: float) -> None:
    with pytest.raises(ValueError, match=r"must lie in (the )?range \[0, 1\]$"):
        tempo.detection(np.array([60.0, 120.0]), share, np.array([60.0, 120.0]), tol)


def test_a_tolerance_of_0_is_a_warning() -> None:
    with pytest.warns(MirflowWarning, match=r"^A tolerance of 0\.0 may not lead to the results you expect\.$"):
        assert tempo.detection(np.array([60, 120]), 0.5, np.array([60, 121]), tol=0) == (0.5, True, False)


# -- single tempi ------------------------------------------------------------------------------------------------------


@given(reference=st.floats(1, 500), estimate=st.floats(1, 500))
@example(100.0, 104.0)
@example(100.0, 96.0)
@example(50.0, 104.0)
@example(90.0, 28.8)
def test_accuracies_and_octave_errors_follow_their_definitions(reference: float, estimate: float) -> None:
    factors = (1.0, 2.0, 0.5, 3.0, 1 / 3)
    near = [abs(reference * factor - estimate) <= 0.04 * (reference * factor) for factor in factors]
    errors = [math.log2(estimate * factor / reference) for factor in factors]
    smallest = min(errors, key=abs)
    found = scores(annotation(reference), annotation(estimate), *map(str, SINGLE))
    assert found[:2] == [float(round(reference) == round(estimate)), abs(reference - estimate)]
    del found[:2]
    assert found[:2] == [float(near[0]), float(any(near))]
    assert found[2] == pytest.approx(errors[0], abs=1e-12)
    assert abs(found[3]) == pytest.approx(abs(smallest), abs=1e-12)
    assert found[4:] == [abs(error) for error in found[2:4]]


def test_accuracy_0_compares_whole_beats_per_minute() -> None:
    assert scores(annotation(119.6), annotation(120.4), "Accuracy0", "MAE") == [1.0, pytest.approx(0.8)]
    assert scores(annotation(120.4), annotation(120.6), "accuracy0") == [0.0]
    assert scores(annotation(120.5), annotation(120), "accuracy0") == [1.0]


def test_the_tolerance_of_accuracy_2_is_a_share_of_the_multiple() -> None:
    assert scores(annotation(60), annotation(187.2), "accuracy2", "accuracy1") == [1.0, 0.0]
    assert scores(annotation(60), annotation(187.3), "accuracy2") == [0.0]
    assert scores(annotation(60), annotation(187.3), "accuracy2@0.05") == [1.0]


@pytest.mark.parametrize(
    ("reference", "right"),
    [
        (annotation(60, 120, salience=(0.7, 0.3)), 60),
        (annotation(60, 120, salience=(0.3, 0.7)), 120),
        (annotation(60, 120, salience=(0.5, 0.5)), 60),
        (annotation(60, 120), 60),
        (annotation(60, 120, salience=(NAN, 0.7)), 120),
        (annotation(60, 120, salience=(0.4, NAN)), 120),
        (annotation(60, 120, salience=(0, 0)), 60),
        (annotation(0, 120, salience=(1, 0)), 120),
        (annotation(90, salience=(0.2,)), 90),
    ],
)
def test_of_two_tempi_the_more_salient_one_counts(reference: Annotation, right: float) -> None:
    for pair in ((reference, annotation(right)), (annotation(right), reference)):
        assert scores(*pair, "accuracy1", "aoe1") == [1.0, 0.0]


# -- rows --------------------------------------------------------------------------------------------------------------


def test_a_single_reference_has_all_the_salience() -> None:
    found = score_pairs(CONVENTION, [(annotation(60), annotation(59, 120))])
    assert found.score[0].tolist() == [1.0, 1.0, 0.0]
    assert found.weight[0].tolist() == [1.0, 1.0, 0.0]


def test_saliences_are_shares_of_their_sum() -> None:
    assert scores(annotation(60, 120, salience=(3, 1)), annotation(60), "p_score") == [0.75]
    assert scores(annotation(60, 120), annotation(120), "p_score") == [0.5]
    assert scores(annotation(60, 120, salience=(1e308, 1e308)), annotation(60), "p_score") == [0.5]


def test_empty_sides() -> None:
    pairs = [(annotation(60, 120), annotation()), (annotation(), annotation(60)), (annotation(), annotation())]
    found = score_pairs(CONVENTION, pairs, ALL)
    errors = [measure.metric.unit != "" for measure in ALL]
    assert np.array_equal(np.isnan(found.score), np.tile(errors, (3, 1)))
    assert not found.score[:, ~np.array(errors)].any()
    assert found.weight.sum(axis=1).tolist() == [len(ALL), 0, 0]


def test_an_estimate_of_0_is_no_tempo() -> None:
    assert scores(annotation(60), annotation(0, 0), "accuracy1", "p_score") == [0.0, 0.0]
    assert math.isnan(scores(annotation(60), annotation(0), "aoe1")[0])


def test_a_reference_of_zeros_is_empty_and_spoils_nothing_else() -> None:
    good = annotation(60, 120), annotation(60, 120)
    found = score_pairs(CONVENTION, [good, (annotation(0, 0), annotation(60, 120)), good], ALL)
    alone, empty = (score_pairs(CONVENTION, [pair], ALL) for pair in (good, (annotation(), annotation(60, 120))))
    assert not found.refused
    assert not found.weight[1].any()
    assert found.score[1].tobytes() == empty.score[0].tobytes()
    assert found.score[0].tobytes() == found.score[2].tobytes() == alone.score[0].tobytes()


@pytest.mark.parametrize("name", ["p_score@1.5", "one_correct@2", "accuracy1@-0.1", "accuracy2@nan"])
def test_a_tolerance_out_of_range_is_an_error(name: str) -> None:
    with pytest.raises(MetricError, match=r"must lie in the range \[0, 1\]|must be at least 0|needs a finite number"):
        scores(annotation(60), annotation(60), name)


def test_absurd_tempi_do_no_harm() -> None:
    pairs = [(annotation(one), annotation(other)) for one, other in ((5e-324, 1e308), (1e308, 5e-324), (1e308, 1e308))]
    found = score_pairs(CONVENTION, [*pairs, (annotation(60), annotation(60))], ALL)
    assert (
        found.score[3].tobytes() == score_pairs(CONVENTION, [(annotation(60), annotation(60))], ALL).score[0].tobytes()
    )
    near, error = map(str, CONVENTION.select(["accuracy2", "aoe1"]))
    assert [scores(*pair, near)[0] for pair in pairs] == [0.0, 0.0, 1.0]
    assert scores(*pairs[0], error) == [np.inf]


@pytest.mark.parametrize(
    ("bad", "item", "message"),
    [
        (annotation(60, np.inf, salience=(1, 0)), 1, "tempo is not finite: inf"),
        (annotation(-60, 120, salience=(1, 0)), 0, "tempo is negative: -60.0 beats per minute"),
        (annotation(60, 90, 120, salience=(1, 1, 1)), 2, "a track has one or two tempi, but this is the third: 120.0"),
        (annotation(60, 120, salience=(0.5, -0.5)), 1, "salience must be 0 or more, but is -0.5"),
        (annotation(60, 120, salience=(np.inf, 0)), 0, "salience must be 0 or more, but is inf"),
        (annotation(60, -np.inf, salience=(-1, 0)), 0, "salience must be 0 or more, but is -1.0"),
    ],
)
def test_flaws(bad: Annotation, item: int, message: str) -> None:
    good = annotation(60, 0, salience=(NAN, NAN))
    cleaned = clean(to_ragged([good, bad, good]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (item, message)}
    assert cleaned.rows.counts[0].tolist() == [2, 0, 2]
    assert cleaned.repairs.tolist() == [0, 0, 0]


def test_nan_is_no_tempo_as_zero_is() -> None:
    missing, zero = (clean(to_ragged([annotation(60, tempo, salience=(1, 0))])).rows for tempo in (NAN, 0))
    assert missing.columns["tempo"].tolist() == zero.columns["tempo"].tolist() == [60, 0]


def test_evaluate_and_explain_from_annotations() -> None:
    reference, estimate = annotation(60, 120, salience=(0.7, 0.3)), annotation(61.0)
    found = mirflow.evaluate(reference, estimate, metrics=["p_score", "aoe1"])
    assert found.attrs["task"] == "tempo"
    assert found.score.values.tolist() == pytest.approx([0.7, math.log2(61 / 60)], abs=1e-12)
    evidence = mirflow.explain(reference, estimate, "p_score")
    assert evidence["verdict"].values.tolist() == ["right", "wrong"]
    assert evidence["estimate"].values.tolist() == [61.0, 61.0]
    assert evidence["share"].values.tolist() == pytest.approx([0.7, 0.3])
    with pytest.raises(MetricError, match="does not judge tempi one by one; ask for one of p_score"):
        mirflow.explain(reference, estimate, "aoe1")
