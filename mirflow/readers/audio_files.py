"""Audio files as signals, which soundfile decodes block by block; and the audio files in folders.

Files that are empty, too large or shorter than their headers say are refused.
"""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from ..ragged import Float
from .content import file_stat, files_below, is_hidden, is_listed_file, open_file, opened
from .downloads import local_path

# libsndfile's log entry for a header that promises more than the file holds: `data : 200000 (should be 119982)`.
_PROMISE = re.compile(r"^\s*(?P<chunk>[\w ]+?)\s*:\s*(?P<promised>\d+) \(should be (?P<held>\d+)\)", re.MULTILINE)
_SAMPLE_CHUNKS = ("data", "SSND", "Data Size")
# Recorders that write to a pipe do not know the length and write the largest number, or nearly, instead.
_LENGTH_UNKNOWN = 0x7FFFF000
# Kernels may read a block twice or read overlapping blocks, so the last block is kept unless it is this large.
_MOST_HELD = 2**19


class FileSignal:
    """The signal in an audio file: wav, flac, ogg, aiff, mp3 and the other formats of libsndfile.

    The attributes are ``rate`` (samples a second), ``channels``, and ``frames`` (samples of each channel). Samples are
    float64 from -1 to 1: integers of n bits are divided by ``2 ** (n - 1)``. The file is opened at the first read and
    stays open. The last block is kept, so that reading consecutive or overlapping blocks does not seek. Threads may
    share a signal; a pickled signal opens its file again, so its path should be absolute. Files larger than `max_bytes`
    are refused.
    """

    __slots__ = ("_held", "_lock", "_opened", "channels", "frames", "name", "path", "rate")

    def __init__(self, path: str, name: str = "", max_bytes: int | None = None) -> None:
        self.path, self.name = path, name or path
        self._opened: Any = None
        self._lock = threading.Lock()
        size, _ = file_stat(path, self.name)
        if max_bytes is not None and size > max_bytes:
            limit = f"{size / 2**20:.0f} MB is over the limit of {max_bytes / 2**20:.0f} MB"
            raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=self.name)
        with self._open() as file:
            self.rate, self.channels, self.frames = float(file.samplerate), int(file.channels), int(file.frames)
            if not self.frames:
                raise InvalidAnnotationError("holds no samples", path=self.name)
            self._held = _nothing(self.channels)
            for found in _PROMISE.finditer(file.extra_info):
                promised, held = int(found["promised"]), int(found["held"])
                # Some programs include the 8 bytes of the container's header, or a padding byte.
                slack = 1 if found["chunk"].strip() in _SAMPLE_CHUNKS else 8
                if slack < promised - held and promised < _LENGTH_UNKNOWN:
                    message = f"is truncated: its header says {promised} bytes, the file has {held}"
                    raise UnreadableError(message, path=self.name)
            from soundfile import SoundFileError

            missing = True
            with suppress(SoundFileError):  # of compressed files, the last samples are decoded
                file.seek(self.frames - 1)
                missing = not len(file.read(1))
            if missing:
                raise UnreadableError(f"is truncated: its header says {self._at(self.frames)}", path=self.name)

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        if stop <= start:
            return np.zeros((self.channels, 0))
        with self._lock:
            first, held = self._held
            last = first + held.shape[1]
            if not first <= start <= last:
                read = self._decode(start, stop)
            elif stop <= last:
                return held[:, start - first : stop - first].copy()
            else:
                read = np.concatenate([held[:, start - first :], self._decode(last, stop)], axis=1)
            if read.size > _MOST_HELD:
                self._held = _nothing(self.channels)
                return read
            self._held = start, read
        return read.copy()

    def _decode(self, start: int, stop: int) -> Float:
        """Decode samples from the file, seeking only if its position is not `start`."""
        from soundfile import SoundFileError

        if self._opened is None:
            self._opened = self._open()
        try:
            if self._opened.tell() != start:
                self._opened.seek(start)
            samples = self._opened.read(stop - start, dtype="float64", always_2d=True)
        except SoundFileError as error:
            raise UnreadableError(f"cannot be decoded at {self._at(start)}: {_reason(error)}", path=self.name) from None
        if samples.shape != (stop - start, self.channels):
            message = f"ends at {self._at(start + len(samples))}, but its header says {self._at(self.frames)}"
            raise UnreadableError(message, path=self.name)
        return np.ascontiguousarray(samples.T)

    def close(self) -> None:
        """Close the file; the next read opens it again."""
        with self._lock:
            self._held = _nothing(self.channels)
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _open(self) -> Any:
        from soundfile import SoundFile, SoundFileError

        open_file(self.path, self.name).close()  # libsndfile would wait for the writer of a pipe
        try:
            return SoundFile(local_path(self.path, self.name))
        except (SoundFileError, TypeError) as error:  # TypeError: the encoding of a .raw file is unknown
            raise UnreadableError(f"cannot be read as audio: {_reason(error)}", path=self.name) from None

    def _at(self, frame: int) -> str:
        return f"{frame / self.rate:.3f} s"

    def __getstate__(self) -> tuple[str, str, float, int, int]:
        return self.path, self.name, self.rate, self.channels, self.frames

    def __setstate__(self, state: tuple[str, str, float, int, int]) -> None:
        self.path, self.name, self.rate, self.channels, self.frames = state
        self._opened, self._lock, self._held = None, threading.Lock(), _nothing(self.channels)

    def __repr__(self) -> str:
        return f"FileSignal({self.name!r}, {self.rate:g} Hz, {self.channels} channels, {self._at(self.frames)})"


def _nothing(channels: int) -> tuple[int, Float]:
    return 0, np.zeros((channels, 0))


def _reason(error: Exception) -> str:
    return str(error).rpartition("': ")[2].removeprefix("Error : ").rstrip(".")


def digest_file(path: str, name: str = "") -> str:
    """The digest of a file's bytes, computed block by block; equal to that of `digest_of`."""
    with opened(path, name or path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


SUFFIXES = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".w64", ".rf64", ".caf", ".au")
"""Suffixes of audio files; other files in a folder are ignored."""


def audio_files(folder: Path) -> list[Path]:
    """The audio files in a folder, sorted, without those in subfolders."""
    paths = (path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and not is_hidden(path.name))
    found = sorted(filter(is_listed_file, paths))
    if not found:
        raise AnnotationError("no audio files in the folder", path=folder)
    return found


def audio_folders(folder: Path) -> list[Path]:
    """A folder and its subfolders that hold audio files, sorted."""
    found = {path.parent for path in files_below(folder) if path.suffix.lower() in SUFFIXES}
    if not found:
        raise AnnotationError(f"no audio files ({', '.join(SUFFIXES)}) in the folder", path=folder)
    return sorted(found)
