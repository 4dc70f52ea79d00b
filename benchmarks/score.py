"""Scores of data in memory, task by task: `mirflow.score` and single pairs beside mir_eval's functions.

    python benchmarks/score.py [--tracks 60] [--systems 30] [--beside CHECKOUT] [TASK ...]

Microseconds of CPU time a cell: of `mirflow.score` for all systems and tracks, of `mirflow.metrics.<task>.evaluate`
and of mir_eval's `evaluate` for one pair after the other, all by turns in one process. Their numbers are compared
first, and a difference of more than 1e-9 is an error. With the checkout of another commit, its `mirflow.score` is timed
by turns as well, in a process of its own for each turn. Annotations are made up: a small and a usual size of each task.
`--chart FILE` draws the ratios of the usual sizes as SVG.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import mirflow

Rng = np.random.Generator
KEYS = [f"{root} {mode}" for root in "CDEFGAB" for mode in ("major", "minor")]
CHORDS = [f"{root}:{quality}" for root in ("C", "D", "Eb", "F#", "G") for quality in ("maj", "min", "7", "maj7")]
SECTIONS = list("ABCDE")


def events(rng: Rng, size: int) -> Any:
    return np.sort(rng.uniform(5, 5 + size / 2, size))


def intervals(labels: list[str]) -> Callable[[Rng, int], Any]:
    def make(rng: Rng, size: int) -> Any:
        inner = np.sort(rng.choice(np.arange(1, size * 20), size - 1, replace=False)) / 10
        edges = np.concatenate([[0.0], inner, [size * 2.0]])
        codes = rng.integers(len(labels), size=size)
        codes[1] += codes.max() == codes.min()  # a single label is scored otherwise: docs/divergences.md
        return np.column_stack([edges[:-1], edges[1:]]), [labels[code % len(labels)] for code in codes]

    return make


def notes(rng: Rng, size: int) -> Any:
    start = np.sort(rng.integers(0, size, size) / 4)
    times = np.column_stack([start, start + rng.uniform(0.1, 1, size)])
    return times, 440 * 2 ** ((rng.integers(40, 80, size) - 69) / 12)


def played(rng: Rng, size: int) -> Any:
    return *notes(rng, size), rng.integers(20, 110, size).astype(float)


def melody(rng: Rng, size: int) -> Any:
    frequency = 220 * 2 ** (np.cumsum(rng.normal(0, 0.02, size)))
    return np.arange(size) * 0.01, np.where(rng.random(size) < 0.2, 0.0, frequency)


def frames(rng: Rng, size: int) -> Any:
    return np.arange(size) * 0.01, [rng.uniform(100, 800, count) for count in rng.integers(0, 4, size)]


def aligned(rng: Rng, size: int) -> Any:
    return np.linspace(1, size, size) + rng.normal(0, 0.05, size)


TASKS: dict[str, tuple[Callable[[Rng, int], Any], int, int]] = {
    "key": (lambda rng, _: KEYS[rng.integers(len(KEYS))], 1, 1),
    "tempo": (lambda rng, _: rng.uniform(60, 200, 2), 2, 2),
    "onset": (events, 20, 200),
    "beat": (events, 20, 200),
    "alignment": (aligned, 4, 150),
    "chord": (intervals(CHORDS), 8, 100),
    "segment": (intervals(SECTIONS), 5, 20),
    "transcription": (notes, 15, 150),
    "transcription_velocity": (played, 15, 150),
    "melody": (melody, 400, 3000),
    "multipitch": (frames, 100, 1000),
}
"""How annotations of a task are made, and their sizes."""
RATES = ("precision", "recall", "f_measure", "average_overlap_ratio")
VELOCITIES = [f"velocity_{rate}{ends}" for ends in ("", "_no_offset") for rate in RATES]


def annotations(task: str, size: int, tracks: int, systems: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    make, *sizes = TASKS[task]
    rng = np.random.default_rng(0)
    references = {f"t{track}": make(rng, sizes[size]) for track in range(tracks)}
    return references, {
        f"s{system}": {track: make(rng, sizes[size]) for track in references} for system in range(systems)
    }


def all_at_once(task: str, references: Any, estimates: Any) -> Any:
    """The dataset of the scores of all cells, with the metrics of mir_eval's `evaluate` in its order."""
    name, metrics = (task, None) if task != "transcription_velocity" else ("transcription", VELOCITIES)
    return mirflow.score(references, estimates, name, metrics=metrics)


def pair_by_pair(task: str, package: str, pairs: Iterable[tuple[Any, Any]]) -> list[list[float]]:
    """The numbers of a function of one pair, a row for each pair."""
    evaluate = import_module(f"{package}.{task}").evaluate
    if task == "tempo":
        scores = [evaluate(reference, 0.5, estimate) for reference, estimate in pairs]
    elif task in ("key", "onset", "beat", "alignment"):
        scores = [evaluate(reference, estimate) for reference, estimate in pairs]
    else:
        scores = [evaluate(*reference, *estimate) for reference, estimate in pairs]
    return [list(row.values()) for row in scores]


def seconds(call: Callable[..., object], *arguments: object) -> float:
    """CPU time of a call."""
    began = time.process_time()
    call(*arguments)
    return time.process_time() - began


def elsewhere(checkout: str, task: str, size: int, tracks: int, systems: int) -> float:
    """Time a cell of the package of another checkout."""
    shape = ["--tracks", str(tracks), "--systems", str(systems), "--only", str(size), task]
    environment = {**os.environ, "PYTHONPATH": checkout}
    done = subprocess.run(
        [sys.executable, __file__, *shape], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def measure(task: str, size: int, tracks: int, systems: int, beside: str | None, turns: int) -> float:
    """Compare the numbers, and print a line of the table: the fastest of some turns.

    Returns how many times faster all cells at once are than mir_eval.
    """
    references, estimates = annotations(task, size, tracks, systems)
    count = tracks * systems
    some = [(references[track], one[track]) for one in estimates.values() for track in references][
        : 64 if size else 256
    ]
    scores = all_at_once(task, references, estimates).score.sel(system=list(estimates), track=list(references))
    expected = pair_by_pair(task, "mir_eval", some)
    np.testing.assert_allclose(scores.values.reshape(count, -1)[: len(some)], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pair_by_pair(task, "mirflow.metrics", some), expected, rtol=0, atol=1e-9)
    found: dict[str, list[float]] = {name: [] for name in ("other", "batch", "pair", "mir_eval")}
    for _ in range(turns):
        if beside:
            found["other"].append(elsewhere(beside, task, size, tracks, systems))
        found["batch"].append(seconds(all_at_once, task, references, estimates) / count)
        found["pair"].append(seconds(pair_by_pair, task, "mirflow.metrics", some) / len(some))
        found["mir_eval"].append(seconds(pair_by_pair, task, "mir_eval", some) / len(some))
    other, ours, pair, theirs = (min(values) * 1e6 if values else np.nan for values in found.values())
    name = f"{task} {'usual' if size else 'small'}"
    before = f"{other:10.1f} {other / ours:6.1f}" if beside else ""
    print(
        f"{name:30}{before}{ours:10.1f}{pair:10.1f}{theirs:10.1f}{theirs / ours:9.1f}{theirs / pair:9.2f}", flush=True
    )
    return theirs / ours


STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1c2126; }
.quiet { fill: #5c6670; font-size: 12px; } rect { fill: #0067a3; }
@media (prefers-color-scheme: dark) { text { fill: #e6e9ec; } .quiet { fill: #9ba6b0; } rect { fill: #6bb8ea; } }
"""


def shown(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def chart(ratios: dict[str, float]) -> str:
    """Bars as SVG, the longest first, on a scale that begins at 0."""
    rows, longest = [], max(ratios.values())
    for place, (task, ratio) in enumerate(sorted(ratios.items(), key=lambda item: -item[1])):
        top, name = 20 * place, task.replace("_", " ").capitalize()
        rows.append(f'<text x="160" y="{top + 14}" text-anchor="end">{name}</text>')
        rows.append(f'<rect x="168" y="{top + 3}" width="{400 * ratio / longest:.1f}" height="14" rx="2"/>')
        rows.append(f'<text x="{174 + 400 * ratio / longest:.1f}" y="{top + 14}">{shown(ratio)} times</text>')
    below = "CPU time of mir_eval.TASK.evaluate for each pair, by that of mirflow.score for all pairs"
    rows.append(f'<text class="quiet" x="168" y="{20 * len(ratios) + 18}">{below}</text>')
    size = f'viewBox="0 0 760 {20 * len(ratios) + 26}" width="760"'
    told = ", ".join(f"{task} {shown(ratio)}" for task, ratio in ratios.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Times faster than mir_eval: {told}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *rows, "</svg>\n"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracks", type=int, default=60)
    parser.add_argument("--systems", type=int, default=30)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--beside", help="checkout of another commit")
    parser.add_argument("--chart", help="SVG to write")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.only is not None:
        sides = annotations(given.tasks[0], given.only, given.tracks, given.systems)
        count = given.tracks * given.systems
        print(min(seconds(all_at_once, given.tasks[0], *sides) for _ in range(3)) / count)
        sys.exit()
    before = f"{'before':>10} {'ratio':>6}" if given.beside else ""
    print(f"us a cell{'':21}{before}{'score':>10}{'pair':>10}{'mir_eval':>10}{'ratio':>9}{'of pair':>9}")
    ratios = {}
    for task in given.tasks:
        for size in range(1 if task in ("key", "tempo") else 2):
            ratios[task] = measure(task, size, given.tracks, given.systems, given.beside, given.turns)
    if given.chart:
        Path(given.chart).write_text(chart(ratios), encoding="utf-8")
