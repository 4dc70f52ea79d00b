"""Clips for graders: some seconds from the middle of recordings, as they were given to the systems."""

from __future__ import annotations

from pathlib import Path

from ...errors import GradingError, UnreadableError

_BLOCK = 65536
"""Frames to copy at a time."""


def clip(recording: Path, output: Path, seconds: float) -> float:
    """Write the middle of a recording, or all of a shorter one, in the format of the suffix of `output`.

    `recording`: any format that libsndfile reads.
    Returns: start of the clip in the recording, in seconds.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    section 4.3: clips of 30 seconds in AMS 2007, so that graders listen to what the systems were given.
    """
    import soundfile

    if output.exists() and output.samefile(recording):
        raise GradingError(f"{output} is the recording itself: choose another folder")
    try:
        source = soundfile.SoundFile(recording)
    except (OSError, soundfile.SoundFileError) as error:
        raise UnreadableError(f"cannot read the recording: {error}", path=recording) from None
    with source:
        wanted = min(round(seconds * source.samplerate), source.frames)
        start = (source.frames - wanted) // 2
        source.seek(start)
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            with soundfile.SoundFile(output, "w", source.samplerate, source.channels) as written:
                for at in range(0, wanted, _BLOCK):
                    written.write(source.read(min(_BLOCK, wanted - at)))
        except (OSError, TypeError, ValueError, soundfile.SoundFileError) as error:
            raise GradingError(f"cannot write {output}: {error}") from None
        return float(start / source.samplerate)
