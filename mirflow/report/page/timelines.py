"""The timelines of a page: annotations of tracks and what explains their scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...analysis.scores import names_of
from ...annotations.annotation import Annotation
from ...annotations.schema import kind_of
from ...annotations.source import Source
from ...errors import MirflowError
from ...metrics.base import Convention, Measure, get_task
from ...pipeline.plan import EvaluationPlan
from ...progress import Progress
from ...ragged import Column
from ..origins import REFERENCE, Files, Shelf
from .data import order_tracks
from .embed import Encoded, PageLabels, encode, encode_evidence

if TYPE_CHECKING:
    import xarray as xr


@dataclass
class Judge:
    """What explains the scores of an evaluation.

    Parameters
    ----------
    conventions : sequence of Convention
        Those of its stores, whose classes may differ.
    kind : str
        Of the annotations.
    asked, others : sequence of str
        Metrics that shall judge, and those that are tried where none of them can.
    verdicts : dict of str to int
        It grows.
    rules : list of str
        The metrics that do judge.
    able : list of str
        All metrics that could, as far as the first pair shows it.
    """

    conventions: Sequence[Convention]
    kind: str
    asked: Sequence[str]
    others: Sequence[str]
    verdicts: dict[str, int]
    rules: list[str] = field(default_factory=list)
    able: list[str] = field(default_factory=list)

    def explain(
        self, reference: Annotation, estimates: Sequence[Annotation], convention: int = 0
    ) -> list[list[Encoded | None]]:
        """For each estimate the evidence under each rule of a convention; none where a pair cannot be scored."""
        chosen = self.conventions[convention]
        for estimate in () if self.rules else estimates:
            self._settle(reference, estimate, chosen)
        by_rule = [self._evidence(reference, estimates, chosen, rule) for rule in self.rules]
        return [[found[place] for found in by_rule] for place in range(len(estimates))]

    def _settle(self, reference: Annotation, estimate: Annotation, convention: Convention) -> None:
        """Which rules judge, found out on the first pair that any of them explains."""
        if self.rules:
            return
        every = dict.fromkeys([*self.asked, *self.others])
        self.able = [rule for rule in every if self._judges(rule, reference, estimate, convention)]
        asked = set(self.asked)
        self.rules = [rule for rule in self.able if rule in asked] or self.able[:1]

    def _judges(self, rule: str, reference: Annotation, estimate: Annotation, convention: Convention) -> bool:
        """Whether a rule tells right from wrong, item by item."""
        (found,) = self._evidence(reference, [estimate], convention, rule)
        return found is not None and ("x" in found or bool(found.get("v")))

    def _evidence(
        self, reference: Annotation, estimates: Sequence[Annotation], convention: Convention, rule: str
    ) -> list[Encoded | None]:
        (measure,) = convention.select([rule])
        found = _explain(convention, reference, estimates, measure)
        return [None if one is None else encode_evidence(one, self.kind, self.verdicts) for one in found]


def _explain(
    convention: Convention, reference: Annotation, estimates: Sequence[Annotation], measure: Measure
) -> list[Mapping[str, Column] | None]:
    """What explains the scores of several estimates; None for one that has none."""
    try:
        if convention.explain_many is not None:
            together = convention.explain_many(reference, estimates, measure)
            return [None if isinstance(one, MirflowError) else one for one in together]
    except MirflowError:
        return [None] * len(estimates)
    found: list[Mapping[str, Column] | None] = []
    for estimate in estimates:
        try:
            found.append(None if convention.explain is None else convention.explain(reference, estimate, measure))
        except MirflowError:
            found.append(None)
    return found


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

    def put(self, annotation: Annotation | str, task: str, vocabulary: PageLabels) -> int | str:
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
    vocabulary : PageLabels
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
        vocabulary: PageLabels,
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


CELLS = 5_000
"""Cells (systems times tracks, of all evaluations) whose timelines a page has unless more are asked for."""
BYTES = 8_000_000
"""Compressed size that the timelines of a page stay below unless more are asked for."""
WORST = 20
"""Tracks of each evaluation under ``worst``."""


@dataclass
class Drawn:
    """The timelines of one evaluation: which rules judge, which could, and why there are not more timelines."""

    rules: list[str] = field(default_factory=list)
    able: list[str] = field(default_factory=list)
    note: str = ""
    tracks: int = 0


@dataclass
class Timelines:
    """The timelines of a page, by track; evaluations of the same files share their annotations."""

    vocabulary: PageLabels = field(default_factory=PageLabels)
    verdicts: dict[str, int] = field(default_factory=dict)
    tracks: dict[str, Track] = field(default_factory=dict)
    evaluations: list[Drawn] = field(default_factory=list)


def tracks_wanted(ds: xr.Dataset, first: int, wanted: str, share: float) -> list[str]:
    """Tracks in the order of how much they are worth looking at, as many as are wanted.

    Parameters
    ----------
    ds : xr.Dataset
    first : int
        Position of the metric that decides.
    wanted : str
        ``all``, ``worst``, ``none``, ``auto`` or a number.
    share : float
        Of the tracks under ``auto``.
    """
    most = {
        "all": ds.sizes["track"],
        "worst": WORST,
        "none": 0,
        "auto": math.ceil(share * ds.sizes["track"]),
    }
    number = most[wanted] if wanted in most else int(wanted)
    return names_of(ds, "track", order_tracks(ds, first)[:number])


def add_evaluation(
    timelines: Timelines,
    ds: xr.Dataset,
    files: Sequence[Files],
    tracks: Sequence[str],
    asked: Sequence[str],
    others: Sequence[str],
    shelf: Shelf,
    lost: Collection[str] = (),
    *,
    references: bool = True,
    progress: Progress | None = None,
) -> Drawn:
    """Read and explain some tracks of an evaluation.

    Parameters
    ----------
    timelines : Timelines
        It grows.
    ds : xr.Dataset
        What was scored.
    files : sequence of Files
        The files that there are now, of each store.
    tracks : sequence of str
    asked : sequence of str
        Metrics that shall judge: all of them do that can judge single items.
    others : sequence of str
        Metrics that are tried where none of those can; the first that can judges.
    shelf : Shelf
    lost : collection of str
        Systems of stores whose files cannot be found.
    references : bool
        Whether references are shown, and what follows from them.
    progress : Progress or None
        Told of each track.
    """
    number = len(timelines.evaluations)
    drawn = Drawn()
    timelines.evaluations.append(drawn)
    conventions, rules = _conventions([one.plan for one in files])
    judge = Judge(conventions, kind_of(files[0].plan.task).name, asked, others, timelines.verdicts)
    comparer = Comparer(names_of(ds, "system"), files, judge, rules, shelf, timelines.vocabulary, lost, references)
    for name in tracks:
        if comparer.has(name):
            track = timelines.tracks.setdefault(name, Track())
            track.evaluations[number] = comparer.compare(name, track)
            drawn.tracks += 1
        if progress is not None:
            progress.advance(1)
    drawn.rules, drawn.able = judge.rules, judge.able
    return drawn


def _conventions(plans: Sequence[EvaluationPlan]) -> tuple[list[Convention], list[int]]:
    """The conventions, each once, with the classes that they are for, and the one of each plan."""
    keys = [(plan.convention, plan.classes) for plan in plans]
    each = list(dict.fromkeys(keys))
    task = get_task(plans[0].task)
    return [task.convention(*key) for key in each], [each.index(key) for key in keys]
