"""What a boundary score consists of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, MetricError
from mirflow.metrics.base import get_task

from .segment_pairs import Segments, segments
from .test_segment_scoring import CONVENTION, rows, score_pairs


def annotation(one: Segments) -> Annotation:
    return Annotation("intervals", {"start": np.array(one[0]), "end": np.array(one[1])}, one[2])


def explain(reference: Segments, estimate: Segments, text: str) -> dict[str, np.ndarray]:
    assert CONVENTION.explain is not None
    return dict(CONVENTION.explain(annotation(reference), annotation(estimate), CONVENTION.select([text])[0]))


@given(
    segments(min_size=1),
    segments(),
    st.sampled_from(["@0.5", "@3.0", "@0.5(trim=true)", "@3.0(matching=nearest)"]),
)
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


def test_every_convention_is_listed() -> None:
    assert list(get_task("segment").conventions) == ["mir_eval", "mirex"]
