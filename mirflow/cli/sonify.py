"""The command ``sonify``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .common_options import LocalPath, ReadingCommand, check_existing, option
from .output import echo

if TYPE_CHECKING:
    from ..ragged import Float

_FIFTH = 1.5
_SUFFIXES = (".wav", ".flac", ".ogg")


@click.command(
    "sonify",
    cls=ReadingCommand,
    sides=("reference", "estimate"),
    section="show",
    place=5,
    short_help="Write annotations as audio, to listen to.",
)
@click.argument(
    "annotations", nargs=-1, required=True, type=LocalPath(), metavar="ANNOTATION...", callback=check_existing
)
@click.option("--output", "-o", required=True, type=LocalPath(dir_okay=False), help="A wav, flac or ogg file.")
@option("task", required=True)
@option("annotator")
@click.option("--mix", type=LocalPath(exists=True, dir_okay=False), help="Audio to mix with the annotations.")
@click.option("--stereo", is_flag=True, help="Two annotations: the first one left, the second one right.")
@click.option(
    "--rate", type=click.IntRange(1000, 384000), help="Sampling rate in Hz. Default: that of --mix, otherwise 44100."
)
def sonify_command(
    annotations: tuple[Path, ...],
    output: Path,
    task: str,
    annotator: str | int | None,
    mix: Path | None,
    stereo: bool,
    rate: int | None,
    options: Mapping[str, Any],
) -> None:
    """Write annotations as audio: clicks, chords, tones.

    Several annotations are mixed, and clicks of every second one are a fifth higher. With --stereo, the reference is on
    the left channel and the estimate on the right one.

    Options of reading (--columns, --time-unit, ...) apply to all annotations; with the prefix --reference-, as in
    --reference-time-unit ms, to the first one, with --estimate- to the others.
    """
    import numpy as np

    from ..metrics.sonify import annotation as sonify
    from ..readers import read
    from ..readers.options import split_sides

    if stereo and len(annotations) != 2:
        raise click.UsageError(f"--stereo needs two annotations, one per channel, not {len(annotations)}")
    if output.suffix.lower() not in _SUFFIXES:
        raise click.BadParameter(f"{output}: the suffix must be {', '.join(_SUFFIXES)}", param_hint="'--output'")
    audio, own_rate = _read_audio(mix) if mix is not None else (None, 44100)
    fs = rate or own_rate
    sides = split_sides(options)
    signals = [
        sonify(
            read(path, task=task, annotator=annotator, **sides[min(index, 1)]),
            fs,
            task,
            click_frequency=1000.0 * (_FIFTH if index % 2 else 1.0),
        )
        for index, path in enumerate(annotations)
    ]
    ears = signals if stereo else [_add(signals)]
    if audio is not None:
        ears = [_add([ear, _resampled(audio, own_rate, fs)]) for ear in ears]
    size = max(map(len, ears))
    samples = np.stack([np.pad(ear, (0, size - len(ear))) for ear in ears], axis=1)
    _write(output, samples, fs)
    echo(f"{output} written ({size / fs:.1f} s)", err=True)


def _add(signals: list[Float]) -> Float:
    import numpy as np

    total = np.zeros(max(map(len, signals)))
    for signal in signals:
        total[: len(signal)] += signal
    return total


def _read_audio(path: Path) -> tuple[Float, int]:
    from ..readers.audio_files import FileSignal

    signal = FileSignal(str(path))
    return signal.read(0, signal.frames).mean(axis=0), round(signal.rate)


def _resampled(signal: Float, rate: int, fs: int) -> Float:
    if rate == fs:
        return signal
    from math import gcd

    import numpy as np
    from scipy.signal import resample_poly

    common = gcd(rate, fs)
    return np.asarray(resample_poly(signal, fs // common, rate // common))


def _write(path: Path, samples: Float, fs: int) -> None:
    import numpy as np
    import soundfile

    scale = max(float(np.abs(samples).max(initial=0.0)), 1.0)
    try:
        with soundfile.SoundFile(path, "w", fs, channels=samples.shape[1]) as file:
            # In blocks: libsndfile copies each call's samples to the stack, which minutes of Ogg Vorbis would overflow.
            for start in range(0, len(samples), 65536):
                file.write(samples[start : start + 65536] / scale)
    except soundfile.SoundFileError as error:
        raise click.UsageError(f"cannot write {path}: {error}") from error
