"""Separation scores beside mir_eval's, museval's and fast_bss_eval's: the same sources, the numbers compared first.

Noise with a leak, an echo and a lowered top, 44.1 kHz, everything in memory and on one thread. The other packages are
wanted for this alone: ``pip install --no-deps museval==0.4.1 fast_bss_eval``; what is not installed is left out.
``python benchmarks/separation.py`` takes some minutes; ``--seconds`` makes the sources shorter.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import mir_eval.separation as peer
import numpy as np
from scipy.signal import get_window

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.audio import HeldSignal
from mirflow.metrics import separation
from mirflow.metrics.base import Pairs, get_task
from mirflow.metrics.separation.kernel import RESOLUTIONS
from mirflow.ragged import Ragged

RATE = 44100
Sides = tuple[np.ndarray, np.ndarray]


def make(count: int, seconds: float, channels: int = 0) -> Sides:
    """Reference and estimate: (sources, samples) or (sources, samples, channels)."""
    rng = np.random.default_rng(0)
    frames = int(seconds * RATE)
    reference = rng.normal(size=(count, frames, channels) if channels else (count, frames))
    reference[:, 1:] += 0.7 * reference[:, :-1]
    estimate = reference + 0.5 * np.roll(reference, 20, axis=1) + 0.2 * reference[::-1]
    return reference, estimate + 0.1 * rng.normal(size=reference.shape)


def clock(call: Callable[[], object], repeats: int) -> tuple[object, float]:
    """The result of a call, and the seconds of the fastest of several."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - start)
    return found, best


def race(title: str, peers: dict[str, Callable[[], object]], ours: Callable[[], object], limit: float = 1e-6) -> None:
    """Print each peer's largest difference from our numbers and its time; the first peer's must equal ours."""
    found, fast = clock(ours, 3)
    own = np.array(found, dtype=np.float64)
    print(f"{title}\n  mirflow {fast:.3f} s")
    for number, (name, call) in enumerate(peers.items()):
        other, slow = clock(call, 1 if number == 0 else 3)
        difference = np.nanmax(np.abs(np.array(other, dtype=np.float64) - own))
        if number == 0 and not difference <= limit:
            raise AssertionError(f"{name} lies {difference} dB away")
        print(f"  {name} {slow:.3f} s: {slow / fast:.1f} times as long; largest difference {difference:.1e} dB")


def to_rows(sources: np.ndarray) -> Ragged:
    column = np.empty(len(sources), dtype=object)
    column[:] = [HeldSignal(one, float(RATE)) for one in np.atleast_3d(sources).transpose(0, 2, 1)]
    return to_ragged([Annotation("audio", {"signal": column})])


def find(package: str, module: str = "") -> ModuleType | None:
    """A package, or one of its modules without the package, whose other needs may not be met."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        print(f"({package} is not installed)")
        return None
    if not module:
        return importlib.import_module(package)
    alone = importlib.util.spec_from_file_location(module, Path(spec.origin).with_name(f"{module}.py"))
    assert alone is not None
    assert alone.loader is not None
    found = importlib.util.module_from_spec(alone)
    alone.loader.exec_module(found)
    return found


def whole(count: int, seconds: float, fast: ModuleType | None) -> None:
    reference, estimate = make(count, seconds)
    peers: dict[str, Callable[[], object]] = {"mir_eval": lambda: peer.bss_eval_sources(reference, estimate)[:3]}
    if fast is not None:
        peers["fast_bss_eval (solver)"] = lambda: fast.bss_eval_sources(reference, estimate)[:3]
        peers["fast_bss_eval (20 CGD iterations)"] = lambda: fast.bss_eval_sources(reference, estimate, use_cg_iter=20)[
            :3
        ]
    race(
        f"bss_eval_sources: {count} sources of {seconds:g} s",
        peers,
        lambda: separation.bss_eval_sources(reference, estimate)[:3],
    )


def frames(count: int, seconds: float) -> None:
    reference, estimate = make(count, seconds)
    spans = int(seconds / 5) * RATE, int(seconds / 5) * RATE
    race(
        f"bss_eval_sources_framewise: {count} sources of {seconds:g} s, windows of {spans[0] / RATE:g} s",
        {"mir_eval": lambda: peer.bss_eval_sources_framewise(reference, estimate, *spans)[:3]},
        lambda: separation.bss_eval_sources_framewise(reference, estimate, *spans)[:3],
    )


def images(count: int, seconds: float) -> None:
    reference, estimate = make(count, seconds, 2)
    race(
        f"bss_eval_images: {count} stereo sources of {seconds:g} s, in the given order",
        {"mir_eval": lambda: peer.bss_eval_images(reference, estimate, False)[:4]},
        lambda: separation.bss_eval_images(reference, estimate, False)[:4],
    )


def tracks(count: int, seconds: float, museval: ModuleType) -> None:
    """BSS Eval v4: one filter for the track, frames of a second."""
    reference, estimate = make(count, seconds, 2)
    rules, place = get_task("separation").convention("museval"), np.zeros(1, dtype=np.int64)
    measures = rules.select([f"frame_{name}" for name in ("sdr", "isr", "sir", "sar")])

    def ours() -> object:
        scores = rules.score(Pairs(to_rows(reference), to_rows(estimate), place, place), measures, "union")
        shape = count, int(seconds)
        return [scores.extras[measure.variable].value.reshape(shape) for measure in measures]

    race(
        f"museval: {count} stereo sources of {seconds:g} s",
        {"museval": lambda: museval.bss_eval(reference, estimate, RATE, RATE)[:4]},
        ours,
    )


def whole_tracks(count: int, seconds: float) -> None:
    """uSDR beside its formula on whole arrays, and the STFT distance beside one transform for each resolution."""
    reference, estimate = make(count, seconds, 2)

    def formula() -> object:
        sums = [np.sum(np.square(one), axis=(1, 2)) for one in (reference, reference - estimate)]
        return 10 * np.log10((sums[0] + 1e-7) / (sums[1] + 1e-7))

    race(
        f"usdr: {count} stereo sources of {seconds:g} s",
        {"its formula": formula},
        lambda: separation.usdr(reference, estimate),
    )

    def transforms() -> object:
        from scipy.signal import stft

        found = np.zeros(count)
        for size, hop, width in RESOLUTIONS:
            window = np.pad(get_window("hann", width), (size - width) // 2)
            sides = []
            for side in (reference, estimate):
                padded = np.pad(side.transpose(0, 2, 1), ((0, 0), (0, 0), (size // 2, size // 2)), mode="reflect")
                about = {"nperseg": size, "noverlap": size - hop, "boundary": None, "padded": False}
                values = stft(padded, window=window, **about)[2] * window.sum()
                sides.append(np.sqrt(np.maximum(np.abs(values) ** 2, 1e-8)))
            first, second = sides
            norms = [np.sqrt(np.sum(one**2, axis=(2, 3))) for one in (first - second, first)]
            found += (norms[0] / norms[1]).mean(axis=1) + np.abs(np.log(first / second)).mean(axis=(1, 2, 3))
        return found / len(RESOLUTIONS)

    race(
        f"mrstft: {count} stereo sources of {seconds:g} s",
        {"scipy.signal.stft of the whole track": transforms},
        lambda: separation.mrstft(reference, estimate),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    warnings.simplefilter("ignore")
    fast, museval = find("fast_bss_eval"), find("museval", "metrics")
    for count in (2, 3, 4):
        whole(count, seconds, fast)
    frames(2, seconds)
    frames(4, seconds)
    images(2, seconds)
    whole_tracks(4, seconds)
    if museval is not None:
        tracks(2, seconds, museval)
        tracks(4, seconds, museval)


if __name__ == "__main__":
    main()
