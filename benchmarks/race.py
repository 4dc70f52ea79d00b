"""Two ways to the same numbers: compared first, then timed in one process."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def best_of(repeats: int, call: Callable[[], object]) -> float:
    """Seconds of the fastest of several calls."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def race(title: str, ours: Callable[[], np.ndarray], theirs: Callable[[], np.ndarray], peer: str = "mir_eval") -> float:
    """Print the largest difference and the ratio of the times; raise if the numbers differ by more than 1e-9."""
    found, expected = ours(), theirs()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    fast, slow = best_of(10, ours), best_of(2, theirs)
    print(title)
    print(f"  largest difference {np.abs(found - expected).max():.1e}")
    print(f"  {peer} {slow * 1e3:.1f} ms, mirflow {fast * 1e3:.2f} ms: {slow / fast:.0f} times")
    return slow / fast
