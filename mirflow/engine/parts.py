"""Parts of a run: shares of its cells that processes score apart, each in a folder beside the store, to be published.

No state says which cells a part has: its journal does. So a killed part continues, and nothing can contradict it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from ..errors import RunError, StoreError, StoreLockedError, warn_caller
from ..pipeline.plan import fingerprint
from ..ragged import Bool
from ..store.generations import locked, remove, storing, write_atomically
from ..store.journal import Journal
from ..store.write import software_versions

_LAYOUT = 1
_SCORING = ("mirflow", "numpy")
"""The software of which parts of one store must have the same version."""


@dataclass(frozen=True, order=True)
class Part:
    """One of several parts of a run. `number`: number of this part, from 1."""

    of: int
    number: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Read a part as it is typed; raises a RunError where it is none."""
        match = re.fullmatch(r"0*(\d{1,9})/0*(\d{1,9})", text, re.ASCII)
        number, of = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= of:
            raise RunError(f"invalid part {text!r}: expected its number and how many there are, from 1/N to N/N")
        return cls(of, number)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, shape: tuple[int, int]) -> Bool:
        """The cells of an evaluation that belong to this part: bool (systems, tracks)."""
        own: Bool = numbers_of_parts(shape, self.of) == self.number
        return own


def numbers_of_parts(shape: tuple[int, int], of: int) -> npt.NDArray[np.int32]:
    """The number of the part that each cell belongs to: int32 (systems, tracks). Tracks are dealt out in turn, so that
    each reference is read once, and parts take about the same time if long tracks stand together. Of fewer tracks than
    parts, the systems of each are dealt out to several parts."""
    systems, tracks = (np.arange(size, dtype=np.int32) for size in shape)
    sharing = np.maximum(1, -(-(of - tracks) // max(1, len(tracks))))
    return np.asarray(1 + tracks % of + len(tracks) * (systems[:, np.newaxis] % sharing), dtype=np.int32)


class _Layout(msgspec.Struct):
    mirflow_part: int


class _PartNote(msgspec.Struct):
    """What the results of a part depend on, beside what its journal knows."""

    mirflow_part: int
    versions: dict[str, str]
    pipeline: str


class PartFolder:
    """Where one part of a store's run is kept: its journal, and a note on what it was computed with."""

    def __init__(self, folder: Path, store: Path, part: Part) -> None:
        self.part, self.store = part, store
        self.path = folder / "parts" / f"{part.number}-of-{part.of}"
        self.journal = Journal(self.path)

    @property
    def name(self) -> str:
        """For messages."""
        return f"part {self.part}"

    @property
    def _note(self) -> Path:
        return self.path / "part.json"

    @contextmanager
    def computing(self, pipeline: str) -> Iterator[Journal]:
        """Hold the part for computing it by a pipeline; its results of other versions of mirflow are removed."""
        with storing(self.store):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path, f"{self.store}, {self.name}"):
            before, now = self._read(), _PartNote(_LAYOUT, _scoring_versions(), fingerprint(pipeline))
            if before is not None and before.versions != now.versions:
                warn_caller(f"{self.name} is computed anew, as it was begun with {_named(before.versions)}")
                self.journal.clear()
            if before != now:
                with storing(self.store):
                    write_atomically(self._note, msgspec.json.encode(now))
            yield self.journal

    def flaw(self, pipeline: str) -> str:
        """Why its results cannot be published with this pipeline and this version of mirflow; empty if they can."""
        note, now = self._read(), _scoring_versions()
        if note is None:
            return ""
        again = f"compute it again, or remove {self.path}"
        if note.versions != now:
            return f"{self.name} was computed with {_named(note.versions)}, and this process has {_named(now)}: {again}"
        if note.pipeline != fingerprint(pipeline):
            return f"{self.name} was computed with another pipeline, or the file has changed since: {again}"
        return ""

    def _read(self) -> _PartNote | None:
        """The note; None before the part has begun."""
        try:
            data = self._note.read_bytes()
            layout = msgspec.json.decode(data, type=_Layout).mirflow_part
            if layout > _LAYOUT:
                raise StoreError(
                    f"{self.store}: {self.name} was written by a newer version of mirflow (layout {layout}); use that"
                )
            return msgspec.json.decode(data, type=_PartNote)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.store}: {self.name} is damaged ({error}): remove {self.path} and compute it again"
            ) from None

    def holder(self) -> str:
        """The process that computes the part now, in words; empty if none does."""
        try:
            with locked(self.path, self.name):
                return ""
        except StoreLockedError as error:
            return str(error).partition(";")[0]

    def remove(self) -> None:
        """Forget the part, which has been published, unless a process computes it again."""
        away = self.path.with_name(f"published-{self.path.name}")
        with suppress(StoreLockedError), storing(self.store), locked(self.path, self.name):
            remove(away)
            self.path.rename(away)
            remove(away)


def _scoring_versions() -> dict[str, str]:
    return {name: version for name, version in software_versions().items() if name in _SCORING}


def _named(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def parts_of(folder: Path, store: Path) -> list[PartFolder]:
    """All parts of a store, in order; `folder` is that of its generations."""
    found = []
    for path in (folder / "parts").glob("*-of-*"):
        match = re.fullmatch(r"([1-9]\d{0,8})-of-([1-9]\d{0,8})", path.name, re.ASCII)
        if match is not None:
            found.append(PartFolder(folder, store, Part(int(match[2]), int(match[1]))))
        elif path.name.startswith("published-"):  # by a process that was killed then
            remove(path)
    return sorted(found, key=lambda one: one.part)
