"""Several references of one track: mean, maximum, or each."""

from __future__ import annotations

import numpy as np

from mirflow.engine.pair_scores import EACH_SCORE, EACH_WEIGHT, combine_references, name_extras
from mirflow.metrics.base import Scores, Sparse, get_task
from mirflow.metrics.measures import Measure, Metric

HIGH = Measure(Metric("f", "F", "", "events"))
LOW = Measure(Metric("deviation", "Deviation", "", "events", orientation="lower"))
CELL = np.array([0, 1, 1, 3])
ANNOTATORS = ("A", "A", "B", "B")


def scores(extras: dict[str, Sparse] | None = None) -> Scores:
    score = np.array([[0.5, 2.0], [0.2, 1.0], [0.8, 3.0], [1.0, 0.0]])
    weight = np.array([[10.0, 1.0], [20.0, 2.0], [40.0, 4.0], [5.0, 5.0]])
    return Scores(score, weight, extras or {})


def test_the_mean_is_that_of_scores_and_of_weights() -> None:
    score, weight, _ = combine_references("mean", [HIGH, LOW], scores(), CELL, ANNOTATORS, 4)
    np.testing.assert_allclose(score, [[0.5, 2.0], [0.5, 2.0], [np.nan, np.nan], [1.0, 0.0]])
    np.testing.assert_allclose(weight, [[10, 1], [30, 3], [0, 0], [5, 5]])


def test_the_best_is_the_smallest_where_smaller_is_better() -> None:
    score, weight, _ = combine_references("max", [HIGH, LOW], scores(), CELL, ANNOTATORS, 4)
    np.testing.assert_allclose(score[1], [0.8, 1.0])
    np.testing.assert_allclose(weight[1], [40.0, 2.0])


def test_each_keeps_every_annotator_beside_the_mean() -> None:
    score, _, extras = combine_references("each", [HIGH, LOW], scores(), CELL, ANNOTATORS, 4)
    np.testing.assert_allclose(score[1], [0.5, 2.0])
    each, weights = extras[EACH_SCORE], extras[EACH_WEIGHT]
    assert each.dims == ("annotator", "metric")
    assert each.coords == (("A", "B"), ("f", "deviation"))
    entries = dict(zip(map(tuple, each.index.tolist()), each.value.tolist(), strict=True))
    assert entries[1, 0, 0] == 0.2
    assert entries[1, 1, 1] == 3.0
    assert len(entries) == 8
    assert np.isnan(each.fill)
    assert weights.value.sum() == scores().weight.sum()


def test_extras_of_several_references_are_means() -> None:
    index = np.array([[1, 0], [2, 0], [2, 1], [3, 1]])
    seconds = Sparse(("class",), (("maj", "min"),), index, np.array([4.0, 8.0, 2.0, 7.0]))
    _, _, extras = combine_references("mean", [HIGH, LOW], scores({"seconds": seconds}), CELL, ANNOTATORS, 4)
    combined = extras["seconds"]
    entries = dict(zip(map(tuple, combined.index.tolist()), combined.value.tolist(), strict=True))
    assert entries == {(1, 0): 6.0, (1, 1): 1.0, (3, 1): 7.0}


def test_extra_scores_are_means_over_the_references_that_have_them() -> None:
    index = np.array([[1, 0], [2, 0], [2, 1], [3, 1]])
    by_class = Sparse(("class",), (("maj", "min"),), index, np.array([0.25, 0.75, 0.5, 1.0]), fill=np.nan)
    _, _, extras = combine_references("mean", [HIGH, LOW], scores({"by_class": by_class}), CELL, ANNOTATORS, 4)
    combined = extras["by_class"]
    entries = dict(zip(map(tuple, combined.index.tolist()), combined.value.tolist(), strict=True))
    assert entries == {(1, 0): 0.5, (1, 1): 0.5, (3, 1): 1.0}


def test_extras_carry_the_identity_of_their_measure() -> None:
    convention = get_task("separation").convention()
    measures = convention.select(["sdr", "source_sdr", "source_sdr(permutation=false)"])
    one = Sparse(("source",), (("bass",),), np.zeros((0, 2), dtype=np.int64), np.zeros(0), {"units": "dB"}, np.nan)
    named = name_extras({measure.variable: one for measure in measures[1:]}, measures)
    assert {name: sparse.attrs["metric"] for name, sparse in named.items()} == {
        "source_sdr_512": "source_sdr",
        "source_sdr_512_permutation_false": "source_sdr(permutation=false)",
    }
    assert named["source_sdr_512"].attrs["units"] == "dB"


def test_one_reference_a_cell_changes_nothing() -> None:
    score, weight, _ = combine_references("", [HIGH, LOW], scores(), np.arange(4), ("",) * 4, 4)
    np.testing.assert_array_equal(score, scores().score)
    np.testing.assert_array_equal(weight, scores().weight)
