"""Separation of long recordings from files: time and peak memory of the workers, beside mir_eval on an excerpt.

    OMP_NUM_THREADS=1 python benchmarks/long_audio.py [--minutes 10] [--tracks 2] [--sources 4] [--workers 2]
                                                      [--suffix wav] [--metric image_sdr ...] [--excerpt 10]
                                                      [--folder FOLDER]

Writes stereo stems at 44.1 kHz, references and estimates, below the folder, unless they are there already: tones and
noise from a seed; an estimate is its source through a short echo, with some of the others and some noise.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
import psutil
import soundfile

import mirflow

RATE = 44_100
PIECE = 5 * RATE
METRICS = ("image_sdr", "image_isr", "image_sir", "image_sar")
PIPELINE = """name: long-audio
root: {root}
evaluations:
  - task: separation
    reference: ref/{{track}}/{{source}}.{suffix}
    estimates: est/{{track}}/{{source}}.{suffix}
    metrics: [{metrics}]
store: {store}
"""


def sources(seed: int, count: int, start: int, size: int) -> np.ndarray:
    """Some seconds of all sources: (sources, samples, 2)."""
    times = (start + np.arange(size)) / RATE
    made = np.empty((count, size, 2))
    for source in range(count):
        rng = np.random.default_rng([seed, source, start])
        noise = np.cumsum(rng.normal(size=(size, 2)), axis=0)
        coloured = np.diff(noise, axis=0, prepend=0) + 0.5 * np.roll(
            np.diff(noise, axis=0, prepend=0), source + 1, axis=0
        )
        loudness = 0.6 + 0.4 * np.sin(2 * np.pi * (0.1 + 0.03 * source) * times)
        tone = np.sin(2 * np.pi * 110 * (source + 1) * times)[:, None] * [1.0, 0.3 + 0.1 * source]
        made[source] = loudness[:, None] * (0.04 * coloured + 0.1 * tone)
    return made


def estimated(clean: np.ndarray, seed: int, start: int) -> np.ndarray:
    """Simulate the output of a system."""
    rng = np.random.default_rng([seed, 99, start])
    echo = clean + 0.3 * np.roll(clean, 40, axis=1)
    leak = (clean.sum(axis=0) - clean) * rng.uniform(0.05, 0.1)
    return echo + leak + 0.005 * rng.normal(size=clean.shape)


def write(folder: Path, seed: int, count: int, seconds: int, suffix: str) -> None:
    """The stems of both sides of one track, piece by piece."""
    sides = [folder / side / f"t{seed}" for side in ("ref", "est")]
    if all(side.exists() for side in sides):
        return
    for side in sides:
        side.mkdir(parents=True)
    files = [
        [soundfile.SoundFile(side / f"s{source}.{suffix}", "w", RATE, 2, "PCM_16") for source in range(count)]
        for side in sides
    ]
    for start in range(0, seconds * RATE, PIECE):
        clean = sources(seed, count, start, min(PIECE, seconds * RATE - start))
        for side, made in zip(files, (clean, estimated(clean, seed, start)), strict=True):
            for file, samples in zip(side, made, strict=True):
                file.write(samples)
    for file in (file for side in files for file in side):
        file.close()


def workers() -> Iterator[tuple[int, int]]:
    """Process and peak resident memory, in bytes, of everything that this process has started."""
    for process in psutil.Process().children(recursive=True):
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            continue
        yield process.pid, next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


class Watch:
    """Looks at the workers ten times a second."""

    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.1):
            for process, peak in workers():  # 0 where a process is just ending
                self.peaks[process] = max(peak, self.peaks.get(process, 0))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def timed(call: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def run_pipeline(folder: Path, suffix: str, metrics: list[str], count: int) -> float:
    path = folder / "long-audio.yaml"
    store = folder / "store.zarr"
    path.write_text(PIPELINE.format(root=folder, suffix=suffix, metrics=", ".join(metrics), store=store))
    with Watch() as watch:
        report = mirflow.run(path, scheduler="processes", workers=count, force=True, guarded=True)
    assert report.failed == 0, report
    peaks = sorted((peak / 2**20 for peak in watch.peaks.values()), reverse=True)[:count]
    print(f"  {report.seconds:.1f} s; peak memory of each worker: {', '.join(f'{peak:.0f}' for peak in peaks)} MiB")
    group = mirflow.open_store(store)["separation"]
    for metric in group.metric.values:
        print(f"  {metric}: {group.score.sel(metric=metric).values.ravel().round(4).tolist()}")
    return report.seconds


def compare(folder: Path, suffix: str, metrics: list[str], seconds: int) -> tuple[float, float]:
    """An excerpt of the first track against mir_eval, both sides in memory; the seconds that each takes."""
    import mir_eval

    sides = [sorted((folder / side / "t0").glob(f"*.{suffix}")) for side in ("ref", "est")]
    held = [np.stack([soundfile.read(path, seconds * RATE)[0] for path in side]) for side in sides]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # mir_eval's own: separation is deprecated there
        peer, theirs = timed(lambda: mir_eval.separation.bss_eval_images(*held, compute_permutation=False))
    datasets = [mirflow.load(side, task="separation").isel(sample=slice(0, seconds * RATE)).load() for side in sides]
    own, ours = timed(lambda: mirflow.evaluate(*datasets, task="separation", metrics=metrics))
    assert isinstance(theirs, tuple)
    means = dict(zip(METRICS, (float(np.mean(values)) for values in theirs[:4]), strict=True))
    worst = max(abs(float(ours.score.sel(metric=name)) - means[name]) for name in metrics if name in means)
    print(f"  largest difference of the means over sources: {worst:.1e} dB")
    return own, peer


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("minutes", 10), ("tracks", 2), ("sources", 4), ("workers", 2), ("excerpt", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--suffix", default="wav", choices=("wav", "flac"))
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    metrics = asked.metric or list(METRICS)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.folder or Path(scratch)).absolute()
        for track in range(asked.tracks):
            write(folder, track, asked.sources, 60 * asked.minutes, asked.suffix)
        size = sum(path.stat().st_size for path in folder.rglob(f"*.{asked.suffix}"))
        print(f"{asked.tracks} tracks of {asked.minutes} min, {asked.sources} sources, stereo: {size / 2**20:.0f} MiB")
        print(f"mirflow run, {asked.workers} worker processes, {', '.join(metrics)}")
        seconds = run_pipeline(folder, asked.suffix, metrics, asked.workers)
        print(f"an excerpt of {asked.excerpt} s, in memory, one process")
        own, peer = compare(folder, asked.suffix, metrics, asked.excerpt)
        print(f"  mirflow {own:.2f} s, mir_eval {peer:.2f} s: {peer / own:.1f} times")
        audio = 60 * asked.minutes * asked.tracks
        print(
            f"a second of sound takes {1000 * seconds / audio:.0f} ms in the run, "
            f"{1000 * peer / asked.excerpt:.0f} ms in mir_eval"
        )


if __name__ == "__main__":
    main()
