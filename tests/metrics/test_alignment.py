"""Alignment: mir_eval's scores for pairs and batches, and how rows are read."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random
from types import ModuleType

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics import alignment
from mirflow.metrics.alignment import clean

from .batches import Pair, assert_batches_do_not_matter, score_pairs

CONVENTION = alignment.TASK.convention("mir_eval")
DEFAULT = CONVENTION.select()
ALL = (*DEFAULT, *CONVENTION.select(["percentage_correct@0.1", "percentage_correct_segments@200.0"]))
Times = list[float]

_times = st.one_of(st.sampled_from((0.0, 0.5, 1.0, 1.3, 2.0, 2.3, 7.0)), st.floats(0, 100))


def sorted_times(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[Times]:
    return st.lists(_times, min_size=min_size, max_size=max_size).map(sorted)


@st.composite
def time_pairs(draw: st.DrawFn, min_size: int = 1) -> tuple[Times, Times]:
    """As many times on both sides, in order, some of them repeated."""
    reference = draw(sorted_times(min_size))
    return reference, draw(sorted_times(len(reference), len(reference)))


def annotation(times: Times) -> Annotation:
    return Annotation("events", {"time": np.array(times, dtype=np.float64)})


def annotations(*pairs: tuple[Times, Times]) -> list[Pair]:
    return [(annotation(reference), annotation(estimate)) for reference, estimate in pairs]


def outcome(module: ModuleType, reference: Times, estimate: Times, **kwargs: float) -> dict[str, float] | str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {
                key: float(value)
                for key, value in module.evaluate(np.array(reference), np.array(estimate), **kwargs).items()
            }
    except ValueError as error:
        return str(error)


@given(time_pairs(), st.one_of(st.none(), st.sampled_from((0.0, 0.3, 1.0)), st.floats(0, 10)))
@example(([1.0], [1.0]), None)
@example(([1.0, 1.0], [0.5, 2.0]), None)
@example(([1.0, 2.0], [1.3, 2.3]), 0.3)
def test_pair_and_batch_equal_mir_eval(pair: tuple[Times, Times], window: float | None) -> None:
    given_window = {} if window is None else {"window": window}
    expected = outcome(mir_eval.alignment, *pair, **given_window)
    found = outcome(alignment, *pair, **given_window)
    if isinstance(expected, str):
        assert found == expected == "Reference timestamps are all identical, can not compute PCS metric!"
        return
    assert isinstance(found, dict)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, abs=1e-12)
    names = ["percentage_correct" if window is None else f"percentage_correct@{window!r}", *map(str, DEFAULT[1:])]
    batch = score_pairs(CONVENTION, annotations(pair), CONVENTION.select(names))
    assert batch.score[0].tolist() == list(found.values())


@given(time_pairs(), st.sampled_from((0.0, -1.0, 0.5, 2.0, 7.0, 100.0, 1000.0)))
def test_a_duration_changes_the_segments_as_in_mir_eval(pair: tuple[Times, Times], duration: float) -> None:
    expected = outcome(mir_eval.alignment, *pair, duration=duration)
    found = outcome(alignment, *pair, duration=duration)
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert found.replace(" ", "") == expected.replace(" ", "")
        return
    assert found == pytest.approx(expected, abs=1e-12)
    batch = score_pairs(CONVENTION, annotations(pair), CONVENTION.select([f"percentage_correct_segments@{duration!r}"]))
    assert batch.score[0, 0] == pytest.approx(expected["pcs"], abs=1e-12)
    assert batch.weight[0, 0] == duration


@pytest.mark.parametrize(
    ("reference", "estimate"),
    [
        ([1.0, 2.0], [1.0]),
        ([], [1.0]),
        ([1.0], []),
        ([], []),
        ([2.0, 1.0], [1.0, 2.0]),
        ([1.0, 2.0], [2.0, 1.0]),
        ([-1.0, 2.0], [1.0, 2.0]),
        ([1.0, 2.0], [-1.0, 2.0]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([np.nan], [1.0]),
        ([1.0], [np.nan]),
        ([[1.0, 2.0]], [1.0, 2.0]),
        ([1.0, 2.0], [[1.0, 2.0]]),
        ([3.0, 3.0], [1.0, 2.0]),
    ],
)
def test_errors_are_mir_evals(reference: Times, estimate: Times) -> None:
    expected = outcome(mir_eval.alignment, reference, estimate)
    assert isinstance(expected, str)
    assert outcome(alignment, reference, estimate) == expected


def test_lists_are_refused_as_in_mir_eval() -> None:
    for sides in (([1.0], np.array([1.0])), (np.array([1.0]), [1.0])):
        messages = []
        for module in (mir_eval.alignment, alignment):
            with pytest.raises(ValueError, match="need to be a numpy array, but got <class 'list'>") as raised:
                module.validate(*sides)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("side", "sides"), [("Reference", ([1.0, np.inf], [1, 2])), ("Estimated", ([1, 2], [1, np.inf]))]
)
def test_infinite_times_are_refused(side: str, sides: tuple[Times, Times]) -> None:
    with pytest.raises(ValueError, match=rf"^{side} timestamps must be finite, and not beyond 1e\+09$"):
        alignment.absolute_error(*map(np.array, sides))


def test_durations_that_are_no_number_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Positive duration needs to be provided, but got nan$"):
        alignment.percentage_correct_segments(np.array([1.0]), np.array([1.0]), float("nan"))


def beat_pairs(folder: Path) -> list[tuple[Times, Times]]:
    """Real beats of two sources, cut to the same number: what an alignment of many events looks like."""
    pairs = []
    for path in sorted((folder / "mir_eval-fixtures" / "beat").glob("ref*.txt")):
        sides = [np.loadtxt(one).tolist() for one in (path, path.with_name(path.name.replace("ref", "est")))]
        count = min(map(len, sides))
        pairs.append((sides[0][:count], sides[1][:count]))
    return pairs


def test_real_beats_as_if_they_were_aligned(shared_data: Path) -> None:
    pairs = beat_pairs(shared_data)
    assert len(pairs) > 3
    found = score_pairs(CONVENTION, annotations(*pairs))
    for row, pair in zip(found.score, pairs, strict=True):
        expected = outcome(mir_eval.alignment, *pair)
        assert isinstance(expected, dict)
        assert row.tolist() == pytest.approx(list(expected.values()), abs=1e-12)


def test_asynchrony_has_the_shares_within_25_to_200_ms_and_the_median() -> None:
    rules = alignment.TASK.convention("asynchrony")
    found = score_pairs(rules, annotations(([1.0, 2.0, 3.0, 4.0], [1.0, 2.03, 3.125, 5.0])))
    names = [f"percentage_correct@{window}" for window in (0.025, 0.05, 0.1, 0.2)]
    assert [str(one) for one in rules.select()] == [*names, "median_absolute_error", "mean_absolute_error"]
    assert found.score[0].tolist() == pytest.approx([0.25, 0.5, 0.5, 0.75, 0.0775, 0.28875])
    assert str(rules.select(["median_asynchrony"])[0]) == "median_absolute_error"


# -- rows --------------------------------------------------------------------------------------------------------------


def test_weights_are_events_and_seconds() -> None:
    found = score_pairs(CONVENTION, annotations(([1.0, 2.0, 4.5], [1.0, 2.0, 9.0])))
    assert found.weight.tolist() == [[3.0, 3.0, 3.0, 3.5, 3.0]]


def test_empty_sides() -> None:
    found = score_pairs(CONVENTION, annotations(([1.0, 3.0], []), ([], [1.0]), ([], [])), ALL)
    errors = [measure.metric.orientation == "lower" for measure in ALL]
    assert np.array_equal(np.isnan(found.score), np.tile(errors, (3, 1)))
    assert not found.score[:, ~np.array(errors)].any()
    assert found.weight.tolist() == [[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 200.0], [0.0] * 7, [0.0] * 7]
    assert not found.refused


def test_sides_that_differ_in_number_are_refused_and_spoil_nothing_else() -> None:
    good = ([1.0, 2.0], [1.0, 2.5])
    found = score_pairs(CONVENTION, annotations(good, ([1.0, 2.0], [1.0]), good), ALL)
    assert found.refused == {
        1: "Number of timestamps must be the same in prediction and ground truth, "
        "but found 1 in prediction and 2 in ground truth"
    }
    assert np.isnan(found.score[1]).all()
    assert np.array_equal(found.weight[1], found.weight[0])
    assert found.score[0].tobytes() == found.score[2].tobytes()


def test_events_after_the_end_are_refused() -> None:
    measures = CONVENTION.select(["percentage_correct_segments@5.0", "percentage_correct"])
    found = score_pairs(
        CONVENTION, annotations(([1.0, 6.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 7.0]), ([1.0], [5.0])), measures
    )
    assert found.refused == {
        0: "Expected largest reference timestamp 6.0 to not be larger than duration 5.0",
        1: "Expected largest estimated timestamp 7.0 to not be larger than duration 5.0",
    }
    assert found.score[2].tolist() == [0.2, 0.0]


def test_events_all_at_one_time_have_no_segments() -> None:
    found = score_pairs(CONVENTION, annotations(([2.0, 2.0], [1.0, 2.0]), ([1.0], [1.0])))
    assert np.isnan(found.score[:, 3]).all()
    assert found.weight[:, 3].tolist() == [0.0, 0.0]
    assert found.score[:, :3].tolist() == [[0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]


def test_batches_larger_than_the_cache_equal_single_pairs() -> None:
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 4000, 40).tolist()
    pairs = annotations(*[tuple(np.sort(rng.random(size) * 150).tolist() for _ in range(2)) for size in sizes])
    assert_batches_do_not_matter(CONVENTION, pairs, ALL, Random(1))


@pytest.mark.parametrize("name", ["percentage_correct_segments@-1", "percentage_correct@-0.1"])
def test_a_parameter_below_0_is_an_error(name: str) -> None:
    with pytest.raises(MetricError, match="must be at least 0 s"):
        CONVENTION.select([name])


@pytest.mark.parametrize(
    ("bad", "item", "message"),
    [
        ([1.0, float("nan")], 1, "time is not finite: nan"),
        ([1.0, float("inf")], 1, "time is not finite: inf"),
        ([-0.5, 1.0], 0, "time is negative: -0.5 s"),
        ([1.0, 3.0, 2.0], 2, "is at 2.0 s, before the row above it (3.0 s)"),
    ],
)
def test_flaws(bad: Times, item: int, message: str) -> None:
    cleaned = clean(to_ragged([annotation([0.5, 0.5]), annotation(bad), annotation([])]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (item, message)}
    assert cleaned.rows.counts[0].tolist() == [2, 0, 0]
    assert cleaned.repairs.tolist() == [1, 0, 0]


def test_evaluate_and_explain_from_annotations() -> None:
    reference, estimate = annotation([1.0, 2.0]), annotation([1.25, 1.5])
    found = mirflow.evaluate(reference, estimate, "alignment", metrics=["percentage_correct", "mean_absolute_error"])
    assert found.score.values.tolist() == [0.5, 0.375]
    evidence = mirflow.explain(reference, estimate, "percentage_correct", task="alignment")
    assert evidence["verdict"].values.tolist() == ["right", "wrong"]
    assert evidence["deviation"].values.tolist() == [0.25, -0.5]
    with pytest.raises(AnnotationError, match="found 1 in prediction and 2 in ground truth"):
        mirflow.explain(reference, annotation([1.0]), "mean_absolute_error", task="alignment")
