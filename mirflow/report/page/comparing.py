"""One track of an evaluation as the page shows it: who annotated it, what was judged, what is no longer as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...analysis.scoreboard import Array, Scoreboard
from ...annotations.annotation import Annotation
from ...plan import EvaluationPlan, Reference
from ...readers.sources import Source
from .encoding import Encoded, encode
from .judging import Judge
from .sources import Shelf
from .vocabulary import Vocabulary

REFERENCE = -1
"""Stands for the references among the systems whose files have changed."""
_GONE = "the pipeline no longer has this system"


@dataclass
class Track:
    """One track: annotations, each once, and for each evaluation which of them are compared and how."""

    annotations: list[Encoded] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    evaluations: dict[int, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the page."""
        return {"annotations": self.annotations, "evaluations": list(self.evaluations.items())}

    def put(self, annotation: Annotation | str, task: str, vocabulary: Vocabulary) -> int | str:
        """The place of an annotation among those of the track; what is wrong with it where there is none."""
        if isinstance(annotation, str):
            return annotation
        if id(annotation) not in self.places:
            self.places[id(annotation)] = len(self.annotations)
            self.annotations.append(encode(annotation, task, vocabulary))
        return self.places[id(annotation)]


class Comparer:
    """The tracks of an evaluation, from the files that there are now.

    Parameters
    ----------
    board : Scoreboard
        What was scored: its systems and their order, and the digests of the files.
    plan : EvaluationPlan
        The files.
    judge : Judge
    shelf : Shelf
    vocabulary : Vocabulary
        It grows.
    """

    def __init__(
        self, board: Scoreboard, plan: EvaluationPlan, judge: Judge, shelf: Shelf, vocabulary: Vocabulary
    ) -> None:
        self.plan, self.judge, self.shelf, self.vocabulary = plan, judge, shelf, vocabulary
        places = {name: place for place, name in enumerate(plan.systems)}
        self._rows = [plan.estimates[places[name]] if name in places else None for name in board.systems]
        self._scored = {track: place for place, track in enumerate(board.tracks)}
        self._planned = {track: place for place, track in enumerate(plan.tracks)}
        self._digests: Array = board.digests()

    def has(self, name: str) -> bool:
        """Whether there are files of a track."""
        return name in self._planned

    def compare(self, name: str, track: Track) -> dict[str, Any]:
        """Who annotated a track, how the estimates are judged by each of them, and which files have changed.

        Returns
        -------
        dict
            ``references``: place or trouble, and annotator; ``estimates``: place or trouble; ``evidence[reference]
            [system]``: by each rule; ``changed``: positions of systems, and `REFERENCE`.
        """
        place = self._planned[name]
        references = self.plan.references[place]
        shown = [self.shelf.read(one.source) for one in references]
        sources = [None if row is None else row[place] for row in self._rows]
        estimates = [self._read(row is not None, source) for row, source in zip(self._rows, sources, strict=True)]
        task = self.plan.task
        return {
            "references": [
                [track.put(one, task, self.vocabulary), _annotator(own, one)]
                for own, one in zip(references, shown, strict=True)
            ],
            "estimates": [track.put(one, task, self.vocabulary) for one in estimates],
            "evidence": [
                self._judged(own.source, one, sources, estimates) for own, one in zip(references, shown, strict=True)
            ],
            "changed": self._changed(name, references, sources),
        }

    def _read(self, planned: bool, source: Source | None) -> Annotation | str:
        if source is None:
            return "no estimate" if planned else _GONE
        return self.shelf.read(source)

    def _judged(
        self,
        own: Source,
        reference: Annotation | str,
        sources: Sequence[Source | None],
        estimates: Sequence[Annotation | str],
    ) -> list[list[Encoded | None]]:
        """What one reference says of each estimate; of the annotator's own nothing."""
        found: list[list[Encoded | None]] = [[] for _ in estimates]
        if isinstance(reference, str):
            return found
        judged: dict[int, Annotation] = {}
        for place, (source, estimate) in enumerate(zip(sources, estimates, strict=True)):
            if source != own and isinstance(estimate, Annotation):
                judged[place] = estimate
        if judged:
            for place, evidence in zip(judged, self.judge.explain(reference, list(judged.values())), strict=True):
                found[place] = evidence
        return found

    def _changed(self, name: str, references: Sequence[Reference], sources: Sequence[Source | None]) -> list[int]:
        """What is not what was scored; nothing where the store does not say what that was."""
        if self._digests.ndim != 2 or name not in self._scored:
            return []
        scored = [str(one).partition(":") for one in self._digests[:, self._scored[name]].tolist()]
        now = _merge([self.shelf.digest(one.source) for one in references])
        changed = [REFERENCE] if any(old and old != now for old, _, _ in scored) else []
        for place, ((_, _, old), source) in enumerate(zip(scored, sources, strict=True)):
            if old and old != ("" if source is None else self.shelf.digest(source)):
                changed.append(place)
        return changed


def _merge(digests: Sequence[str]) -> str:
    """The digest of all references of a track together."""
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()


def _annotator(reference: Reference, annotation: Annotation | str) -> str:
    said = "" if isinstance(annotation, str) else annotation.attrs.get("annotator", "")
    return reference.annotator or str(said)
