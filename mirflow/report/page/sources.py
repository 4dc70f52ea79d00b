"""The annotation files behind a store, as far as they are still there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, MirflowError, PipelineError
from ...pipeline import plan_text
from ...plan import EvaluationPlan
from ...readers.sources import Source
from ...store.pack import row_digests
from ...store.packs import open_pack
from .vocabulary import LONGEST, shorten


@dataclass(frozen=True)
class Found:
    """The plans of a store's evaluations, or why there are none."""

    plans: Mapping[str, EvaluationPlan] = field(default_factory=dict)
    reason: str = ""


def find_plans(attrs: Mapping[str, Any], root: str | Path | None = None) -> Found:
    """What the pipeline that made a store names, with the files that there are now.

    Parameters
    ----------
    attrs : mapping
        Of one evaluation of the store: ``pipeline``, the text, and ``root``.
    root : path or None
        Where the annotations are now; None: where they were.
    """
    text, folder = attrs.get("pipeline"), root if root is not None else attrs.get("root")
    if not text:
        return Found(reason="The store does not say which pipeline made it.")
    if not folder:
        return Found(reason="The store does not say where its annotations were; name their folder with --root.")
    if not os.path.isdir(folder):  # noqa: PTH112 - a folder as text, as everywhere in pipelines
        return Found(reason="The folder of the annotations is gone; name the one where they are now with --root.")
    try:
        planned = plan_text(str(text), folder, open_pack=open_pack)
    except PipelineError as error:
        return Found(reason=f"The annotations cannot be found: {error.problems[0]}")
    except MirflowError as error:
        return Found(reason=f"The annotations cannot be found: {error}")
    return Found({plan.name: plan for plan in planned.plans})


class Shelf:
    """Annotations by source, each read once, and what is wrong with those that cannot be read."""

    def __init__(self) -> None:
        self._read: dict[Source, tuple[Annotation | str, str]] = {}
        self._contents: dict[Source, str] = {}

    def read(self, source: Source) -> Annotation | str:
        """The annotation, or why there is none."""
        return self._find(source)[0]

    def digest(self, source: Source) -> str:
        """The digest of the annotation; empty where there is none."""
        return self._find(source)[1]

    def contents(self, source: Source) -> str:
        """A digest of what the annotation says, whatever it was read from; empty where there is none."""
        if source not in self._contents:
            found = self.read(source)
            self._contents[source] = "" if isinstance(found, str) else _digest_contents(found)
        return self._contents[source]

    def _find(self, source: Source) -> tuple[Annotation | str, str]:
        if source not in self._read:
            try:
                self._read[source] = source.read()
            except (AnnotationError, OSError) as error:
                self._read[source] = shorten(str(error), LONGEST), ""
        return self._read[source]


def _digest_contents(annotation: Annotation) -> str:
    (digest,) = row_digests(annotation.kind, to_ragged([annotation]))
    return digest
