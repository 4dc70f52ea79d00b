"""The command ``sonify``."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
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
    from ..readers.audio_files import FileSignal
    from ..readers.options import split_sides

    if stereo and len(annotations) != 2:
        raise click.UsageError(f"--stereo needs two annotations, one per channel, not {len(annotations)}")
    if output.suffix.lower() not in _SUFFIXES:
        raise click.BadParameter(f"{output}: the suffix must be {', '.join(_SUFFIXES)}", param_hint="'--output'")
    signal = None if mix is None else FileSignal(str(mix))
    own_rate = 44100 if signal is None else round(signal.rate)
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
    if signal is not None:
        audio = signal.read(0, signal.frames).mean(axis=0)
        if own_rate != fs:
            from scipy.signal import resample_poly

            common = gcd(own_rate, fs)
            audio = np.asarray(resample_poly(audio, fs // common, own_rate // common))
        ears = [_add([ear, audio]) for ear in ears]
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
