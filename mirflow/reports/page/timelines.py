"""The timelines of a page: annotations of tracks and the evidence for their scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
class ShownMetrics:
    """The metrics whose evidence is shown for an evaluation."""

    asked: Sequence[str]
    others: Sequence[str]
    """Metrics that shall explain, and those that are tried where none of them can."""
    rules: list[str] = field(default_factory=list)
    """The metrics that do explain."""
    able: list[str] | None = None
    """All metrics that could, as far as the first pair shows it that any of them explains; None before that."""

    def settle(self, able: Sequence[str]) -> None:
        """Take over which metrics can explain."""
        self.able = list(able)
        self.rules = [rule for rule in able if rule in self.asked] or self.able[:1]


@dataclass(frozen=True)
class Explainer:
    """Evidence of the scores of an evaluation."""

    conventions: Sequence[Convention]
    """Those of its stores, whose classes may differ."""
    kind: str
    """Of the annotations."""
    rules: ShownMetrics
    """Settled by the first pair that any of them explains."""
    verdicts: dict[str, int]
    """It grows."""

    def explain(self, pairs: Sequence[tuple[Annotation, Annotation, int]]) -> list[list[Columns | None]]:
        """Explain pairs of a reference and an estimate, each with its convention, by each rule.

        The first pair that any metric explains settles which metrics do.
        """
        rules = self.rules
        for reference, estimate, convention in pairs:
            if rules.able is not None:
                break
            every = dict.fromkeys([*rules.asked, *rules.others])
            able = []
            for rule in every:
                # Evidence counts that says of single items whether they are right.
                packed = encode_evidence(
                    self._columns(convention, [(reference, estimate)], rule), self.kind, self.verdicts
                )[0]
                able += [rule] if packed is not None and ("x" in packed or packed.get("v")) else []
            if able:
                rules.settle(able)
        found: list[list[Columns | None]] = [[None] * len(rules.rules) for _ in pairs]
        for convention in dict.fromkeys(own for _, _, own in pairs):
            places = [place for place, (_, _, own) in enumerate(pairs) if own == convention]
            for column, rule in enumerate(rules.rules):
                explained = self._columns(convention, [pairs[place][:2] for place in places], rule)
                for place, one in zip(places, explained, strict=True):
                    found[place][column] = one
        return found

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
        return [one if isinstance(one, Mapping) else None for one in found]


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
class _Reference:
    """A reference of a track, and the files it is among: stores that have the same one share it."""

    shown: Annotation | str
    annotator: str
    owners: dict[int, Source]


@dataclass(frozen=True)
class _Estimate:
    """The estimate of one system: from which files, or why there is none."""

    owner: int
    source: Source | None
    shown: Annotation | str


_Sides = tuple[dict[int, Files], list[_Estimate], list[_Reference]]
"""The files that a track is among, the estimate of each system, and the references."""


@dataclass(frozen=True)
class Comparer:
    """Compare the annotations of a track, from the existing files."""

    systems: Sequence[str]
    """In the order of the evaluation."""
    files: Sequence[Files]
    """Of each store that it comes from."""
    explainer: Explainer
    rules: Sequence[int]
    """The explainer's convention for each of these stores."""
    shelf: Shelf
    vocabulary: PageLabels
    """It grows."""
    lost: Collection[str]
    """Systems of stores whose files cannot be found."""
    shows_references: bool
    """Whether references are shown, and what follows from them: evidence, and estimates that are references."""
    errors: dict[str, ErrorLists]
    """Of each metric that explains; it grows."""

    def compare(self, tracks: Mapping[str, Track]) -> list[dict[str, Any]]:
        """Compare the estimates of each track with each of its references.

        Returns
        -------
        list of dict
            ``references``: place or trouble, and annotator; ``estimates``: place or trouble; ``evidence[reference]
            [system]``: by each rule; ``changed``: positions of systems, and `REFERENCE_PLACE`.
        """
        task, sides = self.files[0].plan.task, {name: self._sides(name) for name in tracks}
        judged = iter(self._evidence(sides))
        found = []
        for name, (own, estimates, references) in sides.items():
            put = partial(tracks[name].put, task=task, vocabulary=self.vocabulary)
            changed = {one for files in own.values() for one in files.changed(name, self.shelf)}
            places = [index for index, system in enumerate(self.systems) if system in changed]
            which = [REFERENCE_PLACE] if REFERENCE in changed and self.shows_references else []
            found.append(
                {
                    "references": [[put(one.shown), one.annotator] for one in references],
                    "estimates": [put(estimate.shown) for estimate in estimates],
                    "evidence": [next(judged) for _ in references],
                    "changed": [*which, *places],
                }
            )
        return found

    def count_errors(self, tracks: Sequence[str]) -> None:
        """Count the errors in tracks that the page does not show, whose annotations are read and forgotten."""
        reader = replace(self, shelf=Shelf())
        sides = {name: reader._sides(name) for name in tracks}
        first = {name: (own, estimates, references[:1]) for name, (own, estimates, references) in sides.items()}
        reader._evidence(first, drawn=False)

    def _sides(self, name: str) -> _Sides:
        own = {place: file for place, file in enumerate(self.files) if name in file.references}
        estimates = [self._estimate(system, name, own) for system in self.systems]
        return own, estimates, self._references(name, own) if self.shows_references else []

    def _references(self, name: str, own: Mapping[int, Files]) -> list[_Reference]:
        """The references of a track, each once; those in which stores differ say which store has them."""
        found: dict[tuple[object, str, int], _Reference] = {}
        for place, files in own.items():
            alike: Counter[tuple[object, str]] = Counter()
            for one in files.references[name]:
                shown = self.shelf.read(one.source)
                attrs = {} if isinstance(shown, str) else shown.attrs
                person = str(attrs.get("annotator", ""))
                # A number stands for a missing name.
                annotator = one.annotator or ("" if person.isdecimal() else person)
                # What says the same in two folders, or in a pack and a file, is the same reference.
                which = (self.shelf.contents(one.source) if len(own) > 1 else "") or one.source, annotator
                reference = found.setdefault((*which, alike[which]), _Reference(shown, annotator, {}))
                reference.owners[place] = one.source
                alike[which] += 1
        for reference in found.values():
            if len(reference.owners) < len(own):
                stores = " + ".join(own[owner].store for owner in reference.owners)
                reference.annotator = ", ".join(filter(None, (reference.annotator, stores)))
        return list(found.values())

    def _estimate(self, system: str, track: str, own: Mapping[int, Files]) -> _Estimate:
        planned = {place: files.estimates[system][track] for place, files in own.items() if system in files.estimates}
        references = {one.source for files in own.values() for one in files.references[track]}
        for place, source in planned.items():
            if source is not None and not self.shows_references and source in references:
                return _Estimate(place, None, _WITHHELD)
            if source is not None:
                return _Estimate(place, source, self.shelf.read(source))
        if planned:
            return _Estimate(next(iter(planned)), None, "no estimate")
        if system in self.lost:
            return _Estimate(-1, None, _LOST)
        return _Estimate(-1, None, _ELSEWHERE if any(system in file.estimates for file in self.files) else _GONE)

    def _evidence(self, tracks: Mapping[str, _Sides], drawn: bool = True) -> list[list[Evidence]]:
        """Explain each estimate that was compared with a reference of its track; of the annotator's own nothing.

        Errors against the first reference of a track are gathered.
        """
        found: list[list[Evidence]] = []
        pairs: list[tuple[Annotation, Annotation, int]] = []
        of_pairs: list[tuple[int, int, str]] = []
        for name, (_, estimates, references) in tracks.items():
            for position, reference in enumerate(references):
                found.append([[] for _ in estimates])
                if isinstance(reference.shown, str):
                    continue
                by_convention: dict[int, dict[int, Annotation]] = {}
                for place, estimate in enumerate(estimates):
                    compared = (
                        estimate.owner in reference.owners and reference.owners[estimate.owner] != estimate.source
                    )
                    if compared and isinstance(estimate.shown, Annotation):
                        by_convention.setdefault(self.rules[estimate.owner], {})[place] = estimate.shown
                for convention, shown in by_convention.items():
                    pairs += [(reference.shown, estimate, convention) for estimate in shown.values()]
                    of_pairs += [(len(found) - 1, place, "" if position else name) for place in shown]
        explained = self.explainer.explain(pairs)
        if drawn:
            packed = iter(
                encode_evidence(
                    [columns for each in explained for columns in each], self.explainer.kind, self.explainer.verdicts
                )
            )
            for (number, place, _), each in zip(of_pairs, explained, strict=True):
                found[number][place] = [next(packed) for _ in each]
        for number, rule in enumerate(self.explainer.rules.rules):
            wrong: dict[str, dict[int, Errors]] = {}
            for convention, rules in enumerate(self.explainer.conventions):
                judged = [
                    (name, place, pair, columns)
                    for (_, place, name), (*pair, own), each in zip(of_pairs, pairs, explained, strict=True)
                    if name and own == convention and (columns := each[number]) is not None
                ]
                if not judged:
                    continue
                evidence = [columns for *_, columns in judged]
                sides = [(reference, estimate) for _, _, (reference, estimate), _ in judged]
                finder = ErrorFinder(rules, parse(rule, rules.metrics), self.explainer.kind)
                for (name, place, _, _), one in zip(judged, finder.find(evidence, sides), strict=True):
                    wrong.setdefault(name, {}).update({} if one is None else {place: one})
            lists = self.errors.setdefault(rule, ErrorLists(len(self.systems)))
            lists.add({name: wrong.get(name, {}) for name in tracks}, drawn)
        return found


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
    files = [made for made in (one.files(name) for one in origins) if made is not None]
    if files and kind_of(files[0].plan.task).name == "audio":
        return EvaluationOrigin([], [], "Recordings are not drawn.")
    gone = [origin for origin in origins if origin.reason(name)]
    lost = [f"{one.prefix}{own}" for one in gone for own in names_of(one.boards[name], "system")]
    return EvaluationOrigin(files, lost, " ".join(one.reason(name) for one in gone))


def add_evaluation(
    timelines: Timelines,
    systems: Sequence[str],
    origin: EvaluationOrigin,
    tracks: Sequence[str],
    rules: ShownMetrics,
    shelf: Shelf,
    references: bool,
    advance: Callable[[int], None] = lambda _: None,
    counted: Sequence[str] = (),
) -> dict[str, Any]:
    """Read and explain some tracks of the next evaluation.

    `references`: whether references are shown, and what follows from them. `counted`: further tracks, of which the
    errors count and nothing is drawn. Returns ``rules``, the metrics that explain, and ``able``, those that could.
    """
    number, files = len(timelines.evaluations), origin.files
    task = files[0].plan.task
    keys = [(file.plan.convention, file.plan.classes) for file in files]
    each = list(dict.fromkeys(keys))
    conventions = [get_task(task).convention(*key) for key in each]
    explainer = Explainer(conventions, kind_of(task).name, rules, timelines.verdicts)
    own = [each.index(key) for key in keys]
    errors = timelines.errors.setdefault(number, {})
    comparer = Comparer(systems, files, explainer, own, shelf, timelines.vocabulary, origin.lost, references, errors)
    size = max(1, _BLOCK // max(1, len(systems)))
    for first in range(0, len(tracks), size):
        names = tracks[first : first + size]
        held = {
            name: timelines.tracks.setdefault(name, Track())
            for name in names
            if any(name in one.references for one in files)
        }
        for name, compared in zip(held, comparer.compare(held), strict=True):
            held[name].evaluations[number] = compared
        advance(len(names))
    for first in range(0, len(counted), size):
        names = counted[first : first + size]
        comparer.count_errors([name for name in names if any(name in one.references for one in files)])
        advance(len(names))
    return {"rules": rules.rules, "able": rules.able or []}
