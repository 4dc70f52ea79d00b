"""Sources: addresses of annotations, which are sent to workers and read there, and annotations in memory."""

from __future__ import annotations

from dataclasses import dataclass

from .annotation import Annotation


class Source:
    """Address of an annotation: a file, an annotator of a file, or an entry of a pack.

    Sources are immutable, hashable and picklable.
    """

    __slots__ = ()

    path: str
    name: str
    """Name of the file in messages; empty: its path."""
    found: tuple[int, int] | None
    """Result of `stat` if it was read when the source was found."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Files of the source; without any, its label."""
        return (self.path or self.label,)

    @property
    def label(self) -> str:
        """Name in messages; two sources have the same label only if they are the same annotation."""
        return self.name or self.path

    def stat(self) -> tuple[int, int]:
        """Size in bytes and a number that changes with the file (`content.version_of`), when the source was found.

        Sources that may be made without looking at the file look at it now, and raise
        :class:`mirflow.errors.UnreadableError` if it is gone.
        """
        assert self.found is not None
        return self.found

    def read(self) -> tuple[Annotation, str]:
        """Read the annotation, and the digest of its bytes.

        Raises :class:`mirflow.errors.UnreadableError` or :class:`mirflow.errors.InvalidAnnotationError`.
        """
        raise NotImplementedError

    def digest_now(self) -> str:
        """The digest of its bytes, as `read` gives it."""
        return self.read()[1]

    def open(self) -> Annotation:
        """Open the annotation, without reading samples of audio."""
        return self.read()[0]


class DerivedSource(Source):
    """A source whose annotation is made from that of another one, with its name and its place."""

    __slots__ = ()

    source: Source

    @property
    def path(self) -> str:  # type: ignore[override]
        """The path of the other source's file."""
        return str(getattr(self.source, "path", "")) or self.label

    @property
    def label(self) -> str:
        """The label of the other source."""
        return self.source.label

    @property
    def annotator(self) -> str | int | None:
        """The annotator of the other source, if its file has several."""
        found: str | int | None = getattr(self.source, "annotator", None)
        return found


class MemorySource(Source):
    """A source in memory, identified by its name, without a file and a time of modification."""

    __slots__ = ()

    path = ""
    found = (0, 0)


@dataclass(frozen=True, eq=False)
class HeldSource(MemorySource):
    """A source whose annotation is in memory and has no digest."""

    annotation: Annotation
    name: str
    """Name in messages."""

    def read(self) -> tuple[Annotation, str]:
        """Return the annotation with an empty digest."""
        return self.annotation, ""
