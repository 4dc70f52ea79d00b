"""The timelines of a page: annotations of tracks and the evidence for their scores.

Which tracks are drawn is chosen here: all, the worst, or as many as there is room for. Where an annotation is gone, the
reason takes its place. The errors of systems are gathered from the same evidence, also on tracks that are not drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ...analysis.scores import names_of
from ...annotations.annotation import Annotation
from ...annotations.schema import kind_of
from ...annotations.source import Source
from ...errors import MirflowError, QueryError
from ...metrics.base import Convention, get_task
from ...metrics.measures import parse
from ...ragged import Column
from ..origins import REFERENCE, Files, Origin, Shelf
from .data import order_tracks
from .embed import Encoded, PageLabels, encode, encode_evidence
from .error_places import ErrorFinder, ErrorLists, Errors

if TYPE_CHECKING:
    import xarray as xr

CELLS = 5_000
"""Cells (systems times tracks, of all evaluations) whose timelines a page has unless more are asked for."""
COUNTED = 20_000
"""Cells of all evaluations up to which errors are counted on all tracks; above, on those that have a timeline."""
_BLOCK = 1000
"""About how many cells are explained at once."""
BYTES = 3_400_000
"""Compressed size that the parts of a page stay below by leaving out timelines unless more are asked for, which have at
least a third of it: a page is then below 4 MB unless its scores take more."""
WORST = 20
"""Tracks of each evaluation under ``worst``."""
REFERENCE_PLACE = -1
"""Stands for the references among the positions of systems whose files have changed."""
_GONE = "the pipeline no longer has this system"
_LOST = "the annotations of its store cannot be found"
_ELSEWHERE = "its store does not have this track"
_WITHHELD = "left out: it is a reference"
Columns = Mapping[str, Column]
Evidence = list[Encoded | None]
"""What explains the scores of an estimate, under each metric that explains; None for one that cannot."""


@dataclass
class Explainer:
    """Evidence of the scores of an evaluation."""

    conventions: Sequence[Convention]
    """Those of its stores, whose classes may differ."""
    kind: str
    """Of the annotations."""
    asked: Sequence[str]
    """Metrics that shall explain."""
    others: Sequence[str]
    """Those that are tried where none of them can."""
    verdicts: dict[str, int]
    """It grows."""
    able: list[str] | None = None
    """All metrics that could, as far as the first pair shows it that any of them explains; None before that."""

    @property
    def rules(self) -> list[str]:
        """The metrics that do explain."""
        able = self.able or []
        return [rule for rule in able if rule in self.asked] or able[:1]

    def explain(self, pairs: Sequence[tuple[Annotation, Annotation, int]]) -> list[list[Columns | None]]:
        """Explain pairs of a reference and an estimate, each with its convention, by each rule.

        The first pair that any metric explains settles which metrics do.
        """
        for reference, estimate, convention in pairs:
            if self.able is not None:
                break
            able = []
            for rule in dict.fromkeys([*self.asked, *self.others]):
                # Evidence counts that says of single items whether they are right.
                columns = self._columns(convention, [(reference, estimate)], rule)
                (packed,) = encode_evidence(columns, self.kind, self.verdicts)
                able += [rule] if packed is not None and ("x" in packed or packed.get("v")) else []
            self.able = able or None
        rules = self.rules
        explained: list[list[Columns | None]] = [[None] * len(rules) for _ in pairs]
        for convention in dict.fromkeys(number for *_, number in pairs):
            places = [place for place, (*_, number) in enumerate(pairs) if number == convention]
            for column, rule in enumerate(rules):
                evidence = self._columns(convention, [pairs[place][:2] for place in places], rule)
                for place, one in zip(places, evidence, strict=True):
                    explained[place][column] = one
        return explained

    def _columns(self, number: int, pairs: Sequence[tuple[Annotation, Annotation]], rule: str) -> list[Columns | None]:
        convention = self.conventions[number]
        found: list[Columns | MirflowError | None] = [None] * len(pairs)
        try:
            measure = parse(rule, convention.metrics)
        except MirflowError:  # a convention from outside of mirflow has no evidence
            return [None] * len(pairs)
        if convention.explain_many is not None:
            with suppress(MirflowError):
                references, estimates = ([pair[side] for pair in pairs] for side in (0, 1))
                found = [*convention.explain_many(references, estimates, measure)]
        elif convention.explain is not None:
            for place, (reference, estimate) in enumerate(pairs):
                with suppress(MirflowError):
                    found[place] = convention.explain(reference, estimate, measure)
        return [columns if isinstance(columns, Mapping) else None for columns in found]


@dataclass
class Track:
    """One track: annotations, each once, and for each evaluation which of them are compared and how."""

    annotations: list[Encoded] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    evaluations: dict[int, dict[str, Any]] = field(default_factory=dict)

    def put(self, annotation: Annotation | str, task: str, vocabulary: PageLabels) -> int | str:
        """Return the index of an annotation among those of the track, or the reason why it has none."""
        if isinstance(annotation, str):
            return annotation
        if id(annotation) not in self.places:
            self.places[id(annotation)] = len(self.annotations)
            self.annotations.append(encode(annotation, task, vocabulary))
        return self.places[id(annotation)]

    def described(self) -> dict[str, Any]:
        """The track for the page."""
        return {"annotations": self.annotations, "evaluations": list(self.evaluations.items())}


@dataclass
class Timelines:
    """The timelines of a page, by track; evaluations of the same files share their annotations.

    Of each evaluation: ``rules``, the metrics that explain; ``able``, those that could; and a ``note``, why there are
    not more timelines.
    """

    vocabulary: PageLabels = field(default_factory=PageLabels)
    verdicts: dict[str, int] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    errors: dict[int, dict[str, ErrorLists]] = field(default_factory=dict)
    """Of each evaluation that has timelines, by metric."""


@dataclass
class _Side:
    """A reference or an estimate of a track, or why there is none."""

    shown: Annotation | str
    sources: dict[int, Source]
    """By the numbers of the stores that have it: those that have the same reference share it."""
    annotator: str = ""


@dataclass(frozen=True)
class _ComparedEstimate:
    """An estimate that was compared with a reference of its track."""

    track: str
    reference: int
    """Its number among those of the track."""
    system: int
    sides: tuple[Annotation, Annotation, int]
    """Both, and the number of the convention."""


@dataclass(frozen=True)
class Comparer:
    """Compare the annotations of tracks of an evaluation, from the existing files."""

    systems: Sequence[str]
    """In the order of the evaluation."""
    files: Sequence[Files]
    """Of each store that it comes from."""
    lost: Collection[str]
    """Systems of stores whose files cannot be found."""
    explainer: Explainer
    conventions: Sequence[int]
    """The explainer's convention for each of these stores."""
    shelf: Shelf
    shows_references: bool
    """Whether references are shown, and what follows from them: evidence, and estimates that are references."""

    def add(self, timelines: Timelines, number: int, names: Sequence[str], drawn: bool) -> None:
        """Compare the estimates of tracks with each of their references, and gather the errors against the first one.

        `number`: of the evaluation. Unless `drawn`, the page does not show the tracks: their errors count, and their
        annotations are read and forgotten.

        Of each track the evaluation has ``references``: place or trouble, and annotator; ``estimates``: place or
        trouble; ``evidence[reference][system]``: by each rule; ``changed``: positions of systems, and
        `REFERENCE_PLACE`.
        """
        shelf, systems = self.shelf if drawn else Shelf(), range(len(self.systems))
        estimates: dict[str, list[_Side]] = {}
        references: dict[str, list[_Side]] = {}
        pairs: list[_ComparedEstimate] = []
        for name in names:
            files = {place: file for place, file in enumerate(self.files) if name in file.references}
            estimates[name] = [self._estimate(system, name, files, shelf) for system in self.systems]
            every = self._references(name, files, shelf) if self.shows_references else []
            references[name] = every if drawn else every[:1]
            for index, reference in enumerate(references[name]):
                for system, estimate in enumerate(estimates[name]):
                    one, other = reference.shown, estimate.shown
                    for store, source in estimate.sources.items():
                        # Of the annotator's own there is nothing to explain.
                        compared = reference.sources.get(store, source) != source
                        if compared and isinstance(one, Annotation) and isinstance(other, Annotation):
                            pairs.append(_ComparedEstimate(name, index, system, (one, other, self.conventions[store])))
        explained = self.explainer.explain([pair.sides for pair in pairs])
        self._add_errors(timelines.errors.setdefault(number, {}), names, pairs, explained, drawn)
        if not drawn:
            return
        columns = [columns for each in explained for columns in each]
        packed = iter(encode_evidence(columns, self.explainer.kind, self.explainer.verdicts))
        evidence: dict[str, list[list[Evidence]]] = {
            name: [[[] for _ in systems] for _ in references[name]] for name in names
        }
        for pair, each in zip(pairs, explained, strict=True):
            evidence[pair.track][pair.reference][pair.system] = [next(packed) for _ in each]
        for name in names:
            track, task = timelines.tracks.setdefault(name, Track()), self.files[0].plan.task
            put = partial(track.put, task=task, vocabulary=timelines.vocabulary)
            changed = {one for file in self.files if name in file.references for one in file.changed(name, self.shelf)}
            which = [REFERENCE_PLACE] if REFERENCE in changed and self.shows_references else []
            track.evaluations[number] = {
                "references": [[put(side.shown), side.annotator] for side in references[name]],
                "estimates": [put(side.shown) for side in estimates[name]],
                "evidence": evidence[name],
                "changed": [*which, *(place for place in systems if self.systems[place] in changed)],
            }

    def _references(self, name: str, own: Mapping[int, Files], shelf: Shelf) -> list[_Side]:
        """The references of a track, each once; those in which stores differ say which store has them."""
        found: dict[tuple[object, str, int], _Side] = {}
        for place, files in own.items():
            alike: Counter[tuple[object, str]] = Counter()
            for one in files.references[name]:
                shown = shelf.read(one.source)
                attrs = {} if isinstance(shown, str) else shown.attrs
                person = str(attrs.get("annotator", ""))
                # A number stands for a missing name.
                annotator = one.annotator or ("" if person.isdecimal() else person)
                # What says the same in two folders, or in a pack and a file, is the same reference.
                which = (shelf.contents(one.source) if len(own) > 1 else "") or one.source, annotator
                reference = found.setdefault((*which, alike[which]), _Side(shown, {}, annotator))
                reference.sources[place] = one.source
                alike[which] += 1
        for reference in found.values():
            if len(reference.sources) < len(own):
                stores = " + ".join(own[place].store for place in reference.sources)
                reference.annotator = ", ".join(filter(None, (reference.annotator, stores)))
        return list(found.values())

    def _estimate(self, system: str, track: str, own: Mapping[int, Files], shelf: Shelf) -> _Side:
        planned = {place: files.estimates[system][track] for place, files in own.items() if system in files.estimates}
        references = {one.source for files in own.values() for one in files.references[track]}
        for place, source in planned.items():
            if source is not None and not self.shows_references and source in references:
                return _Side(_WITHHELD, {})
            if source is not None:
                return _Side(shelf.read(source), {place: source})
        if planned:
            return _Side("no estimate", {})
        if system in self.lost:
            return _Side(_LOST, {})
        return _Side(_ELSEWHERE if any(system in file.estimates for file in self.files) else _GONE, {})

    def _add_errors(
        self,
        lists: dict[str, ErrorLists],
        names: Sequence[str],
        pairs: Sequence[_ComparedEstimate],
        explained: Sequence[Sequence[Columns | None]],
        drawn: bool,
    ) -> None:
        """Gather what is wrong in the estimates of tracks, by each metric that explains."""
        for number, rule in enumerate(self.explainer.rules):
            wrong: dict[str, dict[int, Errors]] = {name: {} for name in names}
            for place, convention in enumerate(self.explainer.conventions):
                judged = {
                    (pair.track, pair.system): (columns, pair.sides[:2])
                    for pair, each in zip(pairs, explained, strict=True)
                    if not pair.reference and pair.sides[2] == place and (columns := each[number]) is not None
                }
                if not judged:
                    continue
                finder = ErrorFinder(convention, parse(rule, convention.metrics), self.explainer.kind)
                evidence, sides = zip(*judged.values(), strict=True)
                for (name, system), errors in zip(judged, finder.find(evidence, sides), strict=True):
                    wrong[name] |= {} if errors is None else {system: errors}
            lists.setdefault(rule, ErrorLists(len(self.systems))).add(wrong, drawn)


TIMELINES = ("auto", "all", "worst", "none")


def check_timelines(timelines: str | int) -> str:
    """Return a choice of timelines as a text; refuse one that is neither a word nor a number of tracks."""
    wanted = str(timelines)
    if wanted not in TIMELINES and not wanted.isdecimal():
        raise QueryError(f"timelines {wanted!r}: choose one of {', '.join(TIMELINES)}, or a number of tracks")
    return wanted


def tracks_wanted(ds: xr.Dataset, first: int, wanted: str, share: float) -> list[str]:
    """Choose tracks in the order of how much they are worth looking at."""
    size = ds.sizes["track"]
    most = {"all": size, "worst": WORST, "none": 0, "auto": math.ceil(share * size)}
    number = most[wanted] if wanted in most else int(wanted)
    return names_of(ds, "track", order_tracks(ds, first)[:number])


@dataclass(frozen=True)
class EvaluationOrigin:
    """The files of an evaluation, of each store that has it."""

    files: Sequence[Files]
    """The existing ones."""
    lost: Collection[str]
    """Systems of stores whose files cannot be found."""
    note: str
    """Why files of some stores are missing, or nothing can be drawn."""


def find_evaluation_files(name: str, origins: Sequence[Origin]) -> EvaluationOrigin:
    """Find the annotations of an evaluation that can be drawn."""
    every = [origin.files(name) for origin in origins]
    files = [one for one in every if not isinstance(one, str)]
    if files and kind_of(files[0].plan.task).name == "audio":
        return EvaluationOrigin([], [], "Recordings are not drawn.")
    gone = [(origin, one) for origin, one in zip(origins, every, strict=True) if isinstance(one, str) and one]
    lost = [f"{origin.prefix}{own}" for origin, _ in gone for own in names_of(origin.boards[name], "system")]
    return EvaluationOrigin(files, lost, " ".join(reason for _, reason in gone))


def add_evaluation(
    timelines: Timelines,
    systems: Sequence[str],
    origin: EvaluationOrigin,
    tracks: Sequence[str],
    asked: Sequence[str],
    others: Sequence[str],
    shelf: Shelf,
    *,
    references: bool = True,
    able: Sequence[str] = (),
    counted: Sequence[str] = (),
    advance: Callable[[int], None] = lambda _: None,
) -> dict[str, list[str]]:
    """Read and explain some tracks of the next evaluation.

    `asked`, `others`, `able`: metrics that shall explain, those that are tried where none of these can, and those that
    are known to be able to. `references`: whether references are shown, and what follows from them. `counted`: further
    tracks, of which the errors count and nothing is drawn. Returns ``rules``, the metrics that explain, and ``able``,
    those that could.
    """
    files = origin.files
    task = files[0].plan.task
    keys = [(file.plan.convention, file.plan.classes) for file in files]
    each = list(dict.fromkeys(keys))
    conventions = [get_task(task).convention(*key) for key in each]
    explainer = Explainer(conventions, kind_of(task).name, asked, others, timelines.verdicts, list(able) or None)
    comparer = Comparer(systems, files, origin.lost, explainer, [each.index(key) for key in keys], shelf, references)
    size = max(1, _BLOCK // max(1, len(systems)))
    for every, drawn in ((tracks, True), (counted, False)):
        for first in range(0, len(every), size):
            names = every[first : first + size]
            there = [name for name in names if any(name in file.references for file in files)]
            comparer.add(timelines, len(timelines.evaluations), there, drawn)
            advance(len(names))
    return {"rules": explainer.rules, "able": explainer.able or []}
