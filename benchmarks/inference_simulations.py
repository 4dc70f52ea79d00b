"""How often comparisons of systems are wrong, on simulated scores whose true differences are known.

``python benchmarks/inference_simulations.py pairs`` compares several systems, of which some are equal: the share of
simulations in which any two equal systems are told apart (promised: at most 0.05), and in which every interval holds
the true difference (0.95). ``gates`` judges a system that is worse than its baseline by just the margin (passes: at
most 0.025), ``plan`` asks how often new tracks show the resolution of a pilot of as many (0.8), and ``anytime`` looks
at two equal systems after every track from 30 to 1,000 (told apart at any look: at most 0.05). Standard errors of the
shares are in parentheses. Each design has a seed of its own, so that it can be run alone (``--only TEXT``).

Measured (docs/inference-methods.md has the ranges):

* ``anytime``, 1,500 boards each, planned for 50, 200 and 1,000 tracks: told apart in 1 to 5 % where differences are
  normal or of Student's t with 3 degrees of freedom, in 3 to 8 % where exponential (skewness 2), in 8 to 16 % where
  log-normal (skewness 6), the more the earlier N is. A difference of 0.3 standard deviations was found after 160 tracks
  or fewer in 80 % of the cases, one of 0.2 after 350; a single test takes 88 and 197.
* ``plan``, 1,000 to 2,000 pilots each of 20 to 100 tracks, equal or with log-normal weights, standard error 0.01: new
  tracks show the resolution in 0.77 to 0.82 where differences are normal, in 0.76 to 0.79 of Student's t with 3 degrees
  of freedom, in 0.80 to 0.85 of exponential ones where the long tail favours the better system, and in 0.72 to 0.76
  where it does not. Of 400 tracks with four annotators, planned numbers were within 10 % of the true ones, and found
  the difference in 72 to 88 %.
* ``gates``, 4,000 systems each, standard error 0.3 %, 12 to 200 tracks with equal or uneven weights: 1 to 3 % pass
  where gains are normal or as skewed as exponential losses (skewness -2), up to 5 % as log-normal ones (-6). By the
  interval of a comparison 6 to 11 % of those with exponential losses would pass.
* ``pairs``, 300 simulations each, 1,000 on 8 tracks and of two systems by weights, standard errors 0.005 to 0.015, over
  8, 20, 50 and 200 tracks; the others are better by 0.5, 1, ... standard deviations, and noise is normal unless it is
  named:

  ==========================================  ==============  ============  =================  ==================
  by                                          2 equal         5 equal       4 equal, 8 others  all intervals hold
  ==========================================  ==============  ============  =================  ==================
  mean, median, trimmed mean, lower quartile  0.02 to 0.06    0.02 to 0.06  0.00 to 0.01       0.93 to 0.99
  weighted mean, ratio of sums                0.04 to 0.06    0.03 to 0.06  0.00 to 0.01       0.94 to 0.99
  ranks (Friedman)                            0.00 to 0.04    0.03 to 0.04  0.00
  ==========================================  ==============  ============  =================  ==================

  Where one of three equal systems varies three times as much as the others, means told equal ones apart in 0.01,
  medians in up to 0.09, and ranks in 0.08, as it is no equal system for ranks.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from zlib import crc32

import numpy as np
import xarray as xr

from mirflow.analysis.inference.confidence_intervals import values_of_all
from mirflow.analysis.inference.interval_ends import Spreads, invert, sequence_p
from mirflow.analysis.inference.noninferiority import noninferiority
from mirflow.analysis.inference.paired import every_pair
from mirflow.analysis.inference.permutation import PooledScores, count_extremes, simultaneous, swap_scores
from mirflow.analysis.inference.rank_tests import rank_systems
from mirflow.analysis.inference.resampling import Resampling
from mirflow.analysis.inference.resolution import resolution
from mirflow.analysis.inference.sample import Sample
from mirflow.analysis.lookup import Query
from mirflow.metrics.aggregates import RATIOS, Statistic, declare


def _trimmed(ordered: np.ndarray, count: np.ndarray) -> np.ndarray:
    place = np.arange(ordered.shape[-1])
    cut = (count // 10)[..., np.newaxis]
    inside = (place >= cut) & (place < count[..., np.newaxis] - cut)
    return np.where(inside, ordered, 0.0).sum(axis=-1) / inside.sum(axis=-1)


def _quartile(ordered: np.ndarray, count: np.ndarray) -> np.ndarray:
    place = 0.25 * (count - 1)
    low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
    first, second = (np.take_along_axis(ordered, one[..., np.newaxis], -1)[..., 0] for one in (low, high))
    return first + (place - low) * (second - first)


declare(Statistic("trimmed_mean", "mean over the tracks without the tenths at both ends", _trimmed))
declare(Statistic("lower_quartile", "first quartile over the tracks", _quartile, quantile=0.25))

NOISE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "rare": lambda rng, shape: (rng.random(shape) < 0.1) / 0.3,
}
"""What systems differ by on each track, beside their means."""

MEANS = {"exponential": 1.0, "lognormal": np.exp(0.5), "rare": 1 / 3}
"""Of the noise, where it is not 0."""

ALPHA = 0.05


def board(score: np.ndarray, weight: np.ndarray, name: str) -> xr.Dataset:
    """Scores (systems, tracks) or (systems, tracks, metrics) as an evaluation."""
    dims = ("system", "track", "metric")
    score, weight = (one if one.ndim == 3 else one[..., np.newaxis] for one in (score, weight))
    about = {"aggregates": f"mean median pooled wcsr {name}", "standard_aggregate": name}
    about |= {"orientation": "higher", "unit": ""}
    names = {dim: [f"{dim[0]}{at}" for at in range(size)] for dim, size in zip(dims, score.shape, strict=True)}
    coords = {key: ("metric", [value] * score.shape[2]) for key, value in about.items()}
    cells = {"score": (dims, score), "weight": (dims, np.broadcast_to(weight, score.shape))}
    cells |= {"status": (dims[:2], np.ones(score.shape[:2], dtype=np.int8))}
    return xr.Dataset({**cells, "duration": ("track", np.ones(score.shape[1]))}, {**names, **coords})


@dataclass(frozen=True)
class Design:
    """Systems on tracks that are hard for all of them."""

    kind: str = "mean"
    tracks: int = 50
    equal: int = 2
    """Systems without a difference."""
    others: int = 0
    """Systems that are better by 0.5, 1, 1.5, ... standard deviations of the noise."""
    noise: str = "normal"
    hard: float = 1.0
    """Standard deviation of the tracks."""
    unequal: float = 1.0
    """How many times larger the noise of the last of the equal systems is."""
    weights: str = "equal"
    """``equal``; ``shared``, log-normal ones of the tracks; ``own``, log-normal ones of each system."""

    def __str__(self) -> str:
        spread = f", spread 1:{self.unequal:g}" if self.unequal != 1 else ""
        weights = f", {self.weights} weights" if self.weights != "equal" else ""
        return (
            f"{self.kind}, n={self.tracks}, {self.equal} equal + {self.others}, {self.noise}, tracks {self.hard:g}"
            f"{spread}{weights}"
        )

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores (systems, tracks), weights that fit them, and the true values of the systems up to a constant."""
        systems = self.equal + self.others
        offset = np.concatenate([np.zeros(self.equal), 0.5 * np.arange(1, self.others + 1)])
        noise = NOISE[self.noise](rng, (systems, self.tracks))
        noise[self.equal - 1] *= self.unequal
        score = self.hard * rng.normal(size=self.tracks) + noise + offset[:, np.newaxis]
        shape = {"equal": (1, 1, 1), "shared": (1, self.tracks, 1), "own": (*score.shape, 1)}[self.weights]
        return score, rng.lognormal(size=shape) if self.weights != "equal" else np.ones(shape), offset


def pairs() -> Iterator[Design]:
    """Designs of comparisons of all pairs."""
    for kind in ("mean", "median", "trimmed_mean", "lower_quartile", "ranks"):
        for tracks in (8, 20, 50, 200):
            yield Design(kind, tracks)
            yield Design(kind, tracks, equal=5)
            yield Design(kind, tracks, equal=4, others=8)
        yield Design(kind, 50, equal=4, others=8, noise="exponential")
        yield Design(kind, 50, equal=4, others=8, noise="t3", hard=3.0)
        yield Design(kind, 50, equal=3, others=3, unequal=3.0)
        yield Design(kind, 50, equal=40, others=10)
    for kind, weights in (("wcsr", "shared"), ("pooled", "own")):
        for tracks in (8, 20, 50, 200):
            yield Design(kind, tracks, weights=weights)
            yield Design(kind, tracks, equal=5, weights=weights)
            yield Design(kind, tracks, equal=4, others=8, weights=weights)
        yield Design(kind, 50, equal=40, others=10, weights=weights)


def try_pairs(design: Design, number: int, replicates: int, rng: np.random.Generator) -> str:
    """Compare all pairs by what `compare` is made of."""
    systems, tracks = design.equal + design.others, np.arange(design.tracks)
    pairs, wrong, held = every_pair(systems), 0, 0
    for _ in range(number):
        score, weight, offset = design.draw(rng)
        true = offset[pairs[:, 0]] - offset[pairs[:, 1]]
        if design.kind == "ranks":
            significant = (
                rank_systems(score[:, :, np.newaxis], np.ones((design.tracks, 1), dtype=bool)).p_pair[*pairs.T, 0]
                < ALPHA
            )
            wrong += bool((significant & (true == 0)).any())
            continue
        every = np.ones((*score.shape, 1))
        cells = score[..., np.newaxis], weight * every, every > 0
        sample = Sample([design.kind], *cells, np.ones(design.tracks), tracks)
        swaps, kept = swap_scores(sample, 0, pairs), []
        how = Resampling.of(1 - ALPHA, "auto", replicates, rng)
        p, spread = count_extremes(swaps, how, kept)
        corrected, critical = simultaneous([(swaps, tracks)], [spread], design.tracks, how, kept)
        wrong += bool(((np.maximum(corrected, p)[:, 0] <= ALPHA) & (true == 0)).any())
        if design.kind in RATIOS:
            value = values_of_all(sample, 0)
            low, high = invert(
                value[pairs[:, 0]] - value[pairs[:, 1]], spread[:, 0], critical, Spreads.of(sample, 0, pairs)
            )
            held += bool(((low <= true) & (true <= high)).all())
        else:
            moves = PooledScores(sample, 0, pairs).moves(true)
            held += bool(
                (np.abs(moves.sum(axis=1)) <= critical * np.sqrt(np.square(moves).sum(axis=1)) * (1 + 1e-9)).all()
            )
    text = f"any false {say(wrong, number)}"
    return text if design.kind == "ranks" else f"{text}; all intervals hold {say(held, number)}"


def say(count: int, number: int) -> str:
    """A share with its standard error."""
    share = count / number
    return f"{share:.3f} ({np.sqrt(max(share * (1 - share), 0.25 / number) / number):.3f})"


def try_gates(number: int, only: str) -> None:
    """Judge systems that are worse by the margin, a hundred at once, with gains of several shapes and weights."""
    shapes = ("normal", "exponential", "-exponential", "-lognormal", "-rare")
    for tracks, uneven, shape in product((12, 20, 40, 100, 200), (0.0, 0.5, 1.0), shapes):
        name = f"gate, n={tracks}, log-normal weights {uneven:g}, {shape} gains"
        if only not in name:
            continue
        rng, passed = np.random.default_rng(crc32(name.encode())), 0
        for _ in range(number // 100):
            gain = NOISE[shape.strip("-")](rng, (100, tracks)) - MEANS.get(shape.strip("-"), 0.0)
            gain = np.concatenate([np.zeros((1, tracks)), gain * (-1 if shape.startswith("-") else 1) - 0.5])
            ds = board(gain, rng.lognormal(0, uneven, (1, tracks)), "wcsr")
            found = noninferiority(ds, Query(), "s0", margin=0.5, replicates=999, rng=rng)
            passed += int((found["low"].values >= -0.5).sum())
        print(f"{name}: passed {say(passed, number // 100 * 100)}", flush=True)


def try_plan(number: int, only: str) -> None:
    """Two systems, each pilot beside new tracks on which they differ by its resolution."""
    shapes = ("normal", "t3", "exponential", "-exponential")
    for tracks, uneven, shape in product((20, 40, 60, 100), (0.0, 0.5, 1.0), shapes):
        name = f"plan, n={tracks}, log-normal weights {uneven:g}, {shape} differences"
        if only not in name:
            continue
        rng = np.random.default_rng(crc32(name.encode()))
        shape_of_all = (2, tracks, number)
        gains = NOISE[shape.strip("-")](rng, shape_of_all) - MEANS.get(shape.strip("-"), 0.0)
        gains, weights = gains * (-1 if shape.startswith("-") else 1), rng.lognormal(0, uneven, shape_of_all)
        # The pilots are the metrics of one evaluation.
        pilots = board(np.stack([gains[0], np.zeros_like(gains[0])]), weights[:1], "wcsr")
        names = pilots["metric"].values.tolist()
        least = resolution(pilots, Query(metric=names), replicates=300, rng=rng)["resolution"].values[0, 1]
        # So few tracks of any weight that nothing is ever significant show nothing.
        moves = np.where(np.isfinite(least), weights[1] * (gains[1] + least), 0.0)
        swapped = np.abs(rng.choice([-1.0, 1.0], (999, tracks)) @ moves)
        p = (1 + (swapped >= np.abs(moves.sum(axis=0)) - 1e-12).sum(axis=0)) / 1000
        shown = int((p <= ALPHA).sum())
        print(f"{name}: shown {say(shown, number)}", flush=True)


def try_anytime(number: int, only: str) -> None:
    """Look at two equal systems after every track."""
    looks = np.arange(30, 1001)
    for planned, (shape, draw) in product((50, 200, 1000), list(NOISE.items())[:4]):
        name = f"anytime, N={planned}, {shape} differences"
        if only not in name:
            continue
        rng = np.random.default_rng(crc32(name.encode()))
        gain = draw(rng, (number, looks[-1]))
        gain -= MEANS.get(shape, 0.0)
        mean = gain.cumsum(axis=1)[:, looks - 1] / looks
        spread = np.sqrt(np.maximum(np.square(gain).cumsum(axis=1)[:, looks - 1] / looks - mean**2, 0.0) / looks)
        p = np.stack(
            [sequence_p(mean[:, at], spread[:, at], int(units), planned, 0.95) for at, units in enumerate(looks)]
        )
        print(f"{name}: told apart {say(int((p <= 0.05).any(axis=0).sum()), number)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("pairs", "gates", "plan", "anytime"))
    parser.add_argument("--number", type=int, default=1000, help="simulations of each design")
    parser.add_argument("--replicates", type=int, default=999)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="designs whose names contain it, or of pairs begin with it"
    )
    words = parser.parse_args()
    if words.what == "gates":
        try_gates(words.number, words.only)
    elif words.what == "plan":
        try_plan(words.number, words.only)
    elif words.what == "anytime":
        try_anytime(words.number, words.only)
    for design in pairs() if words.what == "pairs" else ():
        if str(design).startswith(words.only):
            rng = np.random.default_rng(crc32(str(design).encode()))
            print(f"{design}: {try_pairs(design, words.number, words.replicates, rng)}", flush=True)


if __name__ == "__main__":
    main()
