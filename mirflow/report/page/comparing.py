"""One track of an evaluation as the page shows it: who annotated it, what was judged, what is no longer as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...annotations.annotation import Annotation
from ...readers.sources import Source
from .encoding import Encoded, encode
from .files import REFERENCE, Files
from .judging import Judge
from .sources import Shelf
from .vocabulary import Vocabulary

REFERENCE_PLACE = -1
"""Stands for the references among the positions of systems whose files have changed."""
_GONE = "the pipeline no longer has this system"
_LOST = "the annotations of its store cannot be found"
_ELSEWHERE = "its store does not have this track"
_WITHHELD = "left out: it is a reference"


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


@dataclass
class _Truth:
    """A reference of a track, and the files it is among: stores that have the same one share it."""

    shown: Annotation | str
    annotator: str
    owners: dict[int, Source]


@dataclass(frozen=True)
class _Side:
    """The estimate of one system: from which files, or why there is none."""

    owner: int
    source: Source | None
    shown: Annotation | str


class Comparer:
    """The tracks of an evaluation, from the files that there are now.

    Parameters
    ----------
    systems : sequence of str
        In the order of the evaluation.
    files : sequence of Files
        Of each store that it comes from.
    judge : Judge
    rules : sequence of int
        The judge's convention for each of these stores.
    shelf : Shelf
    vocabulary : Vocabulary
        It grows.
    lost : collection of str
        Systems of stores whose files cannot be found.
    references : bool
        Whether references are shown, and what follows from them: evidence, and estimates that are references.
    """

    def __init__(
        self,
        systems: Sequence[str],
        files: Sequence[Files],
        judge: Judge,
        rules: Sequence[int],
        shelf: Shelf,
        vocabulary: Vocabulary,
        lost: Collection[str] = (),
        references: bool = True,
    ) -> None:
        self.systems, self.files, self.lost = systems, files, lost
        self.judge, self.rules, self.shelf, self.vocabulary = judge, rules, shelf, vocabulary
        self._references = references
        self._task = files[0].plan.task

    def has(self, name: str) -> bool:
        """Whether there are files of a track."""
        return any(one.has(name) for one in self.files)

    def compare(self, name: str, track: Track) -> dict[str, Any]:
        """Who annotated a track, how the estimates are judged by each of them, and which files have changed.

        Returns
        -------
        dict
            ``references``: place or trouble, and annotator; ``estimates``: place or trouble; ``evidence[reference]
            [system]``: by each rule; ``changed``: positions of systems, and `REFERENCE_PLACE`.
        """
        own = {place: one for place, one in enumerate(self.files) if one.has(name)}
        sides = [self._side(system, name, own) for system in self.systems]
        truths = self._truths(name, own) if self._references else []
        task = self._task
        return {
            "references": [[track.put(one.shown, task, self.vocabulary), one.annotator] for one in truths],
            "estimates": [track.put(one.shown, task, self.vocabulary) for one in sides],
            "evidence": [self._judged(one, sides) for one in truths],
            "changed": self._changed(name, own),
        }

    def _truths(self, name: str, own: Mapping[int, Files]) -> list[_Truth]:
        """The references of a track, each once; those in which stores differ say which store has them."""
        found: dict[tuple[object, str, int], _Truth] = {}
        for place, files in own.items():
            alike: Counter[tuple[object, str]] = Counter()
            for one in files.references(name):
                shown = self.shelf.read(one.source)
                annotator = one.annotator or _annotator(shown)
                # What says the same in two folders, or in a pack and a file, is the same reference.
                which = (self.shelf.contents(one.source) if len(own) > 1 else "") or one.source, annotator
                truth = found.setdefault((*which, alike[which]), _Truth(shown, annotator, {}))
                truth.owners[place] = one.source
                alike[which] += 1
        for truth in found.values():
            if len(truth.owners) < len(own):
                stores = " + ".join(own[place].store for place in truth.owners)
                truth.annotator = f"{truth.annotator}, {stores}" if truth.annotator else stores
        return list(found.values())

    def _side(self, system: str, track: str, own: Mapping[int, Files]) -> _Side:
        planned = {place: files.estimate(system, track) for place, files in own.items() if files.plans(system)}
        for place, source in planned.items():
            if source is not None and not self._references and source in self._own_references(track, own):
                return _Side(place, None, _WITHHELD)
            if source is not None:
                return _Side(place, source, self.shelf.read(source))
        if planned:
            return _Side(next(iter(planned)), None, "no estimate")
        if system in self.lost:
            return _Side(-1, None, _LOST)
        return _Side(-1, None, _ELSEWHERE if any(one.plans(system) for one in self.files) else _GONE)

    def _own_references(self, track: str, own: Mapping[int, Files]) -> set[Source]:
        return {one.source for files in own.values() for one in files.references(track)}

    def _judged(self, truth: _Truth, sides: Sequence[_Side]) -> list[list[Encoded | None]]:
        """What a reference says of each estimate that it was held against; of the annotator's own nothing."""
        found: list[list[Encoded | None]] = [[] for _ in sides]
        if isinstance(truth.shown, str):
            return found
        by_rules: dict[int, dict[int, Annotation]] = {}
        for place, side in enumerate(sides):
            against = side.owner in truth.owners and truth.owners[side.owner] != side.source
            if against and isinstance(side.shown, Annotation):
                by_rules.setdefault(self.rules[side.owner], {})[place] = side.shown
        for rules, judged in by_rules.items():
            explained = self.judge.explain(truth.shown, list(judged.values()), rules)
            for place, evidence in zip(judged, explained, strict=True):
                found[place] = evidence
        return found

    def _changed(self, name: str, own: Mapping[int, Files]) -> list[int]:
        """What is not what was scored."""
        names = {one for files in own.values() for one in files.changed(name, self.shelf)}
        systems = [place for place, system in enumerate(self.systems) if system in names]
        return [*([REFERENCE_PLACE] if REFERENCE in names and self._references else []), *systems]


def _annotator(annotation: Annotation | str) -> str:
    return "" if isinstance(annotation, str) else str(annotation.attrs.get("annotator", ""))
