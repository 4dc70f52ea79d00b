"""The directional Hamming distance, against mir_eval's."""

from __future__ import annotations

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import directional_hamming, fragmentation

times = st.sampled_from([number / 4 for number in range(40)]) | st.floats(0, 10).map(lambda time: round(time, 6))


@st.composite
def intervals(draw: st.DrawFn) -> np.ndarray:
    """Intervals without overlap, some with gaps between them."""
    bounds = sorted(draw(st.lists(times, min_size=2, max_size=12, unique=True)))
    spans = np.array([bounds[:-1], bounds[1:]]).T
    kept = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    return spans[kept] if any(kept) else spans


def batch(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flat = np.concatenate(rows)
    return flat[:, 0], flat[:, 1], np.array([len(row) for row in rows])


@given(st.lists(st.tuples(intervals(), intervals()), min_size=1, max_size=5))
@settings(deadline=None)
def test_equals_mir_eval(rows) -> None:
    distance = directional_hamming(*batch([one for one, _ in rows]), *batch([one for _, one in rows]))
    for place, (one, other) in enumerate(rows):
        expected = mir_eval.chord.directional_hamming_distance(one, other)
        assert distance[place] == pytest.approx(expected, abs=1e-13)


@given(st.lists(st.tuples(intervals(), intervals()), min_size=2, max_size=5))
@settings(deadline=None)
def test_each_row_alone_equals_the_same_row_in_a_batch_to_the_bit(rows) -> None:
    together = directional_hamming(*batch([one for one, _ in rows]), *batch([one for _, one in rows]))
    alone = [directional_hamming(*batch([one]), *batch([other]))[0] for one, other in rows]
    assert together.tolist() == alone


def test_stretches_that_are_not_counted_add_nothing() -> None:
    points, opens = np.array([0.0, 1.0, 2.0, 5.0]), np.array([True, False, False, False])
    assert fragmentation(points, np.array([4]), opens, np.array([True])).tolist() == [2.0]
    assert fragmentation(points, np.array([4]), opens, np.array([False])).tolist() == [0.0]
    assert fragmentation(points, np.array([4]), opens & False, np.zeros(0, dtype=bool)).tolist() == [0.0]
