"""The annotations of one side of a block: read once each, cleaned together, with what went wrong kept by source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.schema import Kind
from ..errors import AnnotationError, InvalidAnnotationError
from ..metrics.base import Cleaned, Convention
from ..readers.sources import Source
from ..status import Status


@dataclass
class Side:
    """One row per source that could be read, and what became of the others."""

    row_of: dict[Source, int] = field(default_factory=dict)
    annotations: list[Annotation] = field(default_factory=list)
    digest_of: dict[Source, str] = field(default_factory=dict)
    trouble: dict[Source, tuple[Status, str]] = field(default_factory=dict)

    def read(self, source: Source) -> None:
        """Read a source, once."""
        if source in self.row_of or source in self.trouble:
            return
        self.digest_of[source] = ""
        try:
            annotation, self.digest_of[source] = source.read()
        except InvalidAnnotationError as error:
            self.trouble[source] = Status.invalid, str(error)
        except (AnnotationError, OSError) as error:
            self.trouble[source] = Status.unreadable, str(error)
        else:
            self.row_of[source] = len(self.annotations)
            self.annotations.append(annotation)

    def clean(self, kind: Kind, convention: Convention) -> Cleaned:
        """All rows made fit for the convention, and an empty row after the last: the empty annotation."""
        nothing = empty_annotation(kind, self.annotations)
        cleaned = convention.clean(to_ragged([*self.annotations, nothing]))
        sources = list(self.row_of)
        for row, flaw in cleaned.flaws.items():
            source, annotation = sources[row], self.annotations[row]
            error = AnnotationError(flaw.message, path=source.label, line=annotation.line(flaw.item))
            self.trouble[source] = Status.invalid, str(error)
        return cleaned

    @property
    def empty_row(self) -> int:
        """The row of the empty annotation."""
        return len(self.annotations)


def empty_annotation(kind: Kind, like: Sequence[Annotation] = ()) -> Annotation:
    """An annotation without any item, with the columns of the others."""
    names = like[0].columns if like else [v.name for v in kind.variables if v.dtype == "float64" and not v.optional]
    labels: list[str] | None = [] if (like and like[0].labels is not None) or "label" in kind.required else None
    no_counts = tuple(np.zeros(0, dtype=np.int64) for _ in kind.dims[1:])
    return Annotation(kind.name, {name: np.zeros(0) for name in names}, labels, no_counts)
