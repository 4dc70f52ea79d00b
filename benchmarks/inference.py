"""Intervals, comparisons and rank tests of whole campaigns: time and memory, on generated scores.

``python benchmarks/inference.py`` compares with a loop of scipy's bootstrap on a campaign of 12 systems, 217 tracks and
15 metrics; ``--large`` adds 50 systems, 20,000 tracks and 20 metrics, which takes about a minute and 2 GB.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import xarray as xr
from scipy import stats

from mirflow.analysis.inference import agreement, compare, friedman, intervals
from mirflow.analysis.lookup import Query

RECALL = "mean median pooled wcsr wcsr_tn wcsr_total"


def campaign(systems: int, tracks: int, metrics: int) -> xr.Dataset:
    """Random recalls; the evaluated seconds depend on the reference alone."""
    rng = np.random.default_rng(0)
    score = rng.random((systems, tracks, metrics))
    weight = np.broadcast_to(rng.uniform(1, 300, (1, tracks, metrics)), score.shape)
    status, duration = np.ones((systems, tracks), dtype=np.int8), rng.uniform(300, 400, tracks)
    about = {"aggregates": RECALL, "standard_aggregate": "wcsr", "orientation": "higher", "unit": ""}
    dims = ("system", "track", "metric")
    names = {dim: [f"{dim[0]}{place}" for place in range(size)] for dim, size in zip(dims, score.shape, strict=True)}
    coords = {name: ("metric", np.full(metrics, value)) for name, value in about.items()}
    cells = {"score": (dims, score), "weight": (dims, weight), "status": (dims[:2], status)}
    return xr.Dataset({**cells, "duration": ("track", duration)}, {**names, **coords})


def timed(title: str, call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {title}: {seconds:.2f} s (peak memory so far {peak:.0f} MB)", flush=True)
    return seconds


def race_scipy(board: xr.Dataset) -> None:
    """Compare our intervals with scipy's, which are made of other replicates; then time both."""
    score, weight = board["score"].values, board["weight"].values

    def recall(score: np.ndarray, weight: np.ndarray, axis: int) -> np.ndarray:
        return (score * weight).sum(axis) / weight.sum(axis)

    def theirs() -> np.ndarray:
        ends = [
            stats.bootstrap(
                (score[s, :, m], weight[s, :, m]), recall, paired=True, vectorized=True, n_resamples=10_000, rng=1
            ).confidence_interval
            for s in range(2)
            for m in range(board.sizes["metric"])
        ]
        return np.array(ends).reshape(2, board.sizes["metric"], 2)

    found = intervals(board)
    start = time.perf_counter()
    expected = theirs()
    slow = (time.perf_counter() - start) * board.sizes["system"] / 2
    ours = np.stack([found["low"].values[:2], found["high"].values[:2]], axis=-1)
    width = (expected[..., 1] - expected[..., 0]).mean()
    print(f"  ends differ from scipy's by at most {np.abs(ours - expected).max() / width:.3f} of an interval's width")
    fast = timed("WCSR, BCa, 10,000 replicates", lambda: intervals(board))
    print(f"  scipy.stats.bootstrap, one statistic at a time: {slow:.1f} s (from two systems): {slow / fast:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    small = campaign(12, 217, 15)
    large = parser.parse_args().large
    print("12 systems x 217 tracks x 15 metrics")
    race_scipy(small)
    timed("medians, BCa", lambda: intervals(small, Query(aggregate="median")))
    timed("all pairs: intervals and permutation tests of WCSR", lambda: compare(small))
    timed(
        "all pairs: intervals and Wilcoxon's test of means",
        lambda: compare(small, Query(aggregate="mean"), test="wilcoxon"),
    )
    timed("Friedman, Tukey-Kramer", lambda: friedman(small))
    timed("agreement of metrics", lambda: agreement(small))
    if large:
        print("50 systems x 20,000 tracks x 20 metrics")
        board = campaign(50, 20_000, 20)
        timed("WCSR, BCa, 10,000 replicates", lambda: intervals(board))
        timed("Friedman, Tukey-Kramer", lambda: friedman(board))
        timed("all pairs of one metric: intervals and permutation tests", lambda: compare(board, Query("m0")))


if __name__ == "__main__":
    main()
