"""Sources: one annotation that can be read, wherever it is, small enough to be sent to a worker and read there."""

from __future__ import annotations

from dataclasses import dataclass

from .annotation import Annotation


class Source:
    """One annotation that can be read: a file, an annotator of a file, an entry of a pack.

    Sources are immutable, hashable and picklable.
    """

    __slots__ = ()

    path: str
    name: str
    """Name of the file in messages; empty: its path."""
    found: tuple[int, int] | None
    """Result of `stat`, where it was read when the source was found."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files."""
        return (self.path,)

    @property
    def label(self) -> str:
        """Name in messages; equal for two sources exactly if they are the same annotation."""
        return self.name or self.path

    def stat(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns, as they were when it was found.

        Raises :class:`mirflow.errors.UnreadableError` if it is gone.
        """
        return self.stat_now() if self.found is None else self.found

    def stat_now(self) -> tuple[int, int]:
        """Size in bytes and time of modification in ns."""
        raise NotImplementedError

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest of the bytes that it was read from.

        Raises :class:`mirflow.errors.UnreadableError` or :class:`mirflow.errors.InvalidAnnotationError`.
        """
        raise NotImplementedError

    def open(self) -> Annotation:
        """The annotation; of audio without reading its samples."""
        return self.read()[0]


class MemorySource(Source):
    """A source in memory: nothing is known of its age, and it is called by its name."""

    __slots__ = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Its label."""
        return (self.label,)

    @property
    def label(self) -> str:
        """Its name."""
        return self.name

    def stat(self) -> tuple[int, int]:
        """Nothing."""
        return 0, 0


@dataclass(frozen=True, eq=False)
class HeldSource(MemorySource):
    """A source whose annotation is in memory, and has no bytes to digest.

    Parameters
    ----------
    name : str
        Name in messages.

    Examples
    --------
    >>> import numpy as np
    >>> source = HeldSource(Annotation("events", {"time": np.array([0.5])}), "reference")
    >>> source.read()[0].columns["time"].tolist()
    [0.5]
    """

    annotation: Annotation
    name: str

    def read(self) -> tuple[Annotation, str]:
        """The annotation, without a digest."""
        return self.annotation, ""
