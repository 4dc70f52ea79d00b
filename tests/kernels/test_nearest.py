"""The nearest event is the one that `argmin` of all distances finds."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.kernels.matching import nearest
from tests.event_strategies import sequences


@settings(deadline=None)
@given(batch=st.lists(st.tuples(sequences(min_size=1), sequences()), min_size=1, max_size=4))
@example(batch=[(np.array([0.0, 1e-300, 1.0]), np.array([0.25, 0.5]))])  # equally near, but for rounding
@example(batch=[(np.array([0.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0]))])
def test_it_is_the_first_of_the_smallest_distances(batch: list[tuple[np.ndarray, np.ndarray]]) -> None:
    counts, query_counts = (np.array([len(row) for row in side]) for side in zip(*batch, strict=True))
    starts = np.cumsum(counts) - counts
    expected = [
        start + np.abs(query - times).argmin()
        for (times, queries), start in zip(batch, starts, strict=True)
        for query in queries
    ]
    times, queries = (np.concatenate(side) for side in zip(*batch, strict=True))
    assert nearest(times, counts, queries, query_counts).tolist() == expected
