"""Recordings in the organiser's folders, by opaque ids, for viewers who may hear them; their durations and waveforms.

Recordings for graders are found here by a pattern, but have separate addresses (`mirflow.campaign.server.graders`),
since an id would reveal repeats.
"""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from types import MappingProxyType

import msgspec
import numpy as np

from ...errors import AnnotationError, GradingError
from ...readers.audio_files import FileSignal
from ...readers.patterns import Pattern
from ..file import Audience, Campaign
from .accounts import Role, Viewer

# Media types by suffix; other files are not served.
TYPES: Mapping[str, str] = MappingProxyType(
    {
        **{f".{kind}": f"audio/{kind}" for kind in ("aac", "flac", "ogg", "wav", "webm")},
        ".m4a": "audio/mp4",
        ".mp3": "audio/mpeg",
        ".oga": "audio/ogg",
        ".opus": "audio/ogg",
    }
)
LOOK_AGAIN = 10.0  # seconds after which folders may be searched again for an unknown recording
_WHO: Mapping[Audience, Role | None] = MappingProxyType({"organiser": "organiser", "members": "reader", "public": None})


@dataclass(frozen=True)
class ServedRecording:
    """A file that may be played."""

    path: Path
    role: Role | None  # role that is required to listen; None: public

    def may_hear(self, viewer: Viewer | None) -> bool:
        """True if a viewer may listen to it."""
        return self.role is None or (viewer is not None and viewer.may(self.role))


@dataclass(eq=False)
class Recordings:
    """The recordings of a campaign's tracks."""

    campaign: Campaign | None
    root: Path  # folder that the campaign's paths are relative to
    secret: bytes = field(repr=False)
    private: Path | None  # the server's state folder, from which nothing is served: it contains uploads
    withheld: Collection[str] = ()  # splits whose tracks are not shown
    clock: Callable[[], float] = time.monotonic
    _listed: dict[str, ServedRecording] = field(default_factory=dict)
    _looked: float = -LOOK_AGAIN
    _lock: Lock = field(default_factory=Lock)

    def of_track(self, split: str, track: str, viewer: Viewer | None) -> str | None:
        """Return the id of a track's recording; None if the viewer may not listen to any."""
        id = self._id(split, track)
        recording = self.find(id)
        return id if recording is not None and recording.may_hear(viewer) else None

    def find(self, id: str) -> ServedRecording | None:
        """Find a recording by id; the folders are searched from time to time."""
        audio = None if self.campaign is None else self.campaign.audio
        with self._lock:
            if id in self._listed or self.campaign is None or audio is None:
                return self._listed.get(id)
            if self.clock() - self._looked < LOOK_AGAIN:
                return None
            listed, pattern = dict[str, ServedRecording](), Pattern(audio.pattern)
            private = None if self.private is None else self.private.resolve()
            for name, split in self.campaign.splits.items() if "track" in pattern.names else ():
                for match in pattern.find(self.root / split.root) if name not in self.withheld else ():
                    path, track = Path(match.path), match.values[pattern.names.index("track")]
                    is_private = private is not None and private in path.resolve().parents
                    if path.suffix.lower() in TYPES and not is_private:
                        listed[self._id(name, track)] = ServedRecording(path, _WHO[audio.who])
            self._listed, self._looked = listed, self.clock()
            return self._listed.get(id)

    def _id(self, split: str, track: str) -> str:
        text = "\0".join(("audio", "track", split, track))
        return hmac.new(self.secret, text.encode("utf-8", "surrogateescape"), sha256).hexdigest()[:32]


def find_recording(root: Path, pattern: str, piece: str) -> Path:
    """Return the path of a piece's recording, which may not exist, by a pattern with ``{piece}`` below the root."""
    before, _, _ = pattern.partition("{piece}")
    folder = root / before.rpartition("/")[0]
    path = root / pattern.replace("{piece}", piece)
    if "\0" in piece or not path.resolve().is_relative_to(folder.resolve()):
        raise GradingError(f"invalid name of a recording in {folder}: {piece!r}")
    return path


def find_duration(path: Path) -> float | None:
    """Return the duration of a recording in seconds; None if it is missing or cannot be decoded."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return _duration(str(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _duration(path: str, size: int, modified: int) -> float | None:
    try:
        signal = FileSignal(path)
    except AnnotationError:
        return None
    signal.close()
    return signal.frames / signal.rate


# Steps of a waveform, each with its lowest and its highest sample in a byte: as many as a screen has pixels.
PEAKS = 4000
_BLOCK = 2**18  # samples that are read at a time


@lru_cache(maxsize=2_000)
def find_peaks(path: str, size: int, modified: int) -> bytes:
    """Return the waveform of a recording as JSON, which is kept in memory; ``null`` if it cannot be decoded.

    It has the seconds of a step, and as Base64 the lowest samples of all steps and then the highest ones (int8).

    `size`, `modified`: bytes of the file, and nanoseconds of its last change.
    """
    try:
        signal = FileSignal(path)
    except AnnotationError:
        return b"null"
    step = -(-signal.frames // PEAKS)
    whole, many = step * max(1, _BLOCK // step), -(-signal.frames // step)
    low, high = np.zeros(many), np.zeros(many)
    try:
        for start in range(0, signal.frames, whole):
            samples = signal.read(start, min(start + whole, signal.frames))
            starts, steps = np.arange(0, samples.shape[1], step), slice(start // step, (start + whole) // step)
            low[steps] = np.minimum.reduceat(samples.min(axis=0), starts)
            high[steps] = np.maximum.reduceat(samples.max(axis=0), starts)
    except AnnotationError:
        return b"null"
    finally:
        signal.close()
    levels = np.rint(127 * np.clip([low, high], -1, 1)).astype(np.int8)
    return msgspec.json.encode({"step": step / signal.rate, "peaks": base64.b64encode(levels.tobytes()).decode()})
