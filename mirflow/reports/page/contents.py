"""Contents of a page that are there at once: names, their meanings, and the places of its numbers.

The scores that a page is about are read here. Parts about doubted references, causes of low scores and errors are added
later, and the first screens are drawn when these are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...analysis.lookup import find_metrics, restrict
from ...analysis.queries import ScoresLike
from ...analysis.scores import by_annotator, has_annotators, names_of
from ...annotations.schema import kind_of
from ...errors import MirflowError, QueryError, UnknownNameError
from ...metrics.base import has_task
from ...metrics.measures import to_bibtex
from ...pipeline.document import without_folders
from ...store.format import told_patches
from ..captions import metric_title, task_title
from ..doubted_references import Disagreements, describe_disagreements
from ..origins import Origin, Roots, page_title, read_origins, store_names
from ..scorecard import ScoredEvaluation, scorecard
from ..standings import DECIMALS, Node
from .assembly import report_link
from .data import ALL, Shown, describe_evaluation, describe_inference, describe_words, inferred_metrics, main_metrics
from .embed import Parts, compress, pack_json
from .error_places import ErrorLists
from .first_screen import FirstScreen
from .timelines import EvaluationOrigin

if TYPE_CHECKING:
    import xarray as xr

    from ...causes.diagnosis import Board, Diagnosis


@dataclass(frozen=True)
class Subject:
    """Subject of a page."""

    title: str
    name: str
    where: str
    """Heading; names of the stores; the expression that holds for the tracks, or nothing."""
    boards: Mapping[str, xr.Dataset]
    """The evaluations, in the order of the pipeline."""
    origins: Sequence[Origin]
    """The stores that they come from."""
    asked: Mapping[str, Sequence[str]]
    """Of each evaluation the metrics that were named."""
    first: Mapping[str, Sequence[int]]
    """Of each evaluation the positions of its main metrics."""
    notes: tuple[str, ...] = ()
    """Parts that were left out."""


def read_subject(
    store: ScoresLike,
    metrics: Sequence[str] = (),
    root: Roots = None,
    title: str | None = None,
    where: str | None = None,
    name: str | None = None,
    trusted: bool = False,
) -> Subject:
    """Read the scores that a page is about; see ``write_page``, and `read_origins` for `trusted`."""
    boards, origins = read_origins(store, root, trusted)
    # As in the pipeline files; what these no longer name comes last.
    planned = [name for origin in origins for name in origin.pipeline.evaluations]
    boards = {name: boards[name] for name in dict.fromkeys([*planned, *boards]) if name in boards}
    notes: tuple[str, ...] = ()
    if where is not None:
        boards, notes = _restrict(boards, where)
    # The metrics that were named, as each evaluation that has them names them.
    asked: dict[str, list[str]] = {evaluation: [] for evaluation in boards}
    for metric in metrics:
        known = False
        for evaluation, ds in boards.items():
            try:
                asked[evaluation] += names_of(ds, "metric", find_metrics(ds, metric))
                known = True
            except UnknownNameError:
                continue
            except QueryError as error:
                hint = "the page shows it below the tables; name one with one number per track"
                raise QueryError(f"{str(error).partition(';')[0]}; {hint}") from None
        if not known:
            raise UnknownNameError(
                "metric", metric, {label for ds in boards.values() for label in names_of(ds, "metric")}
            )
    first = {name: main_metrics(ds, asked[name]) for name, ds in boards.items()}
    return Subject(
        title or page_title(boards), name or store_names(store), where or "", boards, origins, asked, first, notes
    )


Inference = Mapping[str, list[tuple[int, Any]]]
"""Of each evaluation its metrics with their intervals."""


def infer(subject: Subject) -> Inference:
    """The intervals of the metrics of each evaluation."""
    return {
        name: describe_inference(ds, inferred_metrics(ds, subject.first[name]), subject.first[name], name)
        for name, ds in subject.boards.items()
    }


def describe_page(
    subject: Subject,
    timelines: Sequence[Mapping[str, Any]],
    parts: Parts,
    shown: Shown,
    inference: Inference | None = None,
) -> dict[str, Any]:
    """Describe the contents that the page has at once.

    `timelines`: of each evaluation what there is to say of its timelines: ``note``, ``rules`` and ``able``.
    `inference`: as of `infer`; None: it is made here, or when the page asks for it.
    """
    boards, first, evaluations = subject.boards, subject.first, []
    for number, ((name, ds), timeline) in enumerate(zip(boards.items(), timelines, strict=True)):
        made = describe_evaluation(name, ds, first[name], parts, shown, number)
        form = kind_of(made["task"]).drawn_as if has_task(made["task"]) else ""
        # The stores that hold it: sizes, dates, versions, and patches of the references.
        stores = [
            {
                "store": place,
                "systems": own.sizes["system"],
                "tracks": own.sizes["track"],
                "versions": dict(own.attrs.get("versions", {})),
                "created": str(own.attrs.get("created", "")),
                "patches": told_patches(own.attrs),
            }
            for place, own in enumerate(origin.boards.get(name) for origin in subject.origins)
            if own is not None
        ]
        made |= {"stores": stores, "timeline": {**timeline, "form": form}}
        made["inference"] = inference[name] if inference else _inference(ds, made, parts, shown, number)
        evaluations.append(made)
    # Timelines are found by the numbers of the evaluations, so that these stand behind all of them.
    for number, (name, ds) in enumerate(boards.items()):
        if has_annotators(ds):
            named = f"{name} by annotator", by_annotator(ds), first[name], parts
            made, known = describe_evaluation(*named, shown, len(evaluations)), evaluations[number]
            timeline = {**known["timeline"], "of": number}
            evaluations.append({**made, "inference": [], "stores": known["stores"], "timeline": timeline})
    texts = [str(next(iter(origin.boards.values())).attrs.get("pipeline", "")) for origin in subject.origins]
    pipelines = [(text if shown.folders else without_folders(text)) if shown.by_track else "" for text in texts]
    names = [origin.name for origin in subject.origins]
    card = _scorecard(subject, evaluations, parts)
    # The name in the pipeline file, where there is one of one store.
    document = subject.origins[0].pipeline.document.data if shown.by_track and len(subject.origins) == 1 else None
    called = str(document.get("name") or subject.name) if isinstance(document, dict) else subject.name
    return {
        "title": subject.title,
        "name": subject.name,
        "called": called,
        "where": subject.where,
        "mirflow": version("mirflow"),
        "citation": to_bibtex("mirflow", version=version("mirflow")),
        "byTrack": shown.by_track,
        "stores": [{"name": name, "pipeline": text} for name, text in zip(names, pipelines, strict=True)],
        "evaluations": evaluations,
        "scorecard": card,
        **describe_words(),
    }


Doubts = Sequence[partial[Disagreements] | None]
"""Of each evaluation what gives its doubts, the same for equal ones; None where it has none.

It takes the annotations that were read, and reads them without.
"""


def find_doubts(
    subject: Subject, files: Mapping[str, EvaluationOrigin], tracks: Collection[str] | None = None, most: int = 0
) -> Doubts:
    """Prepare where the systems of each evaluation agree against the references.

    `most`: cells (systems times tracks) of an evaluation above which it has no such part; 0: any number.
    """
    makers: dict[object, partial[Disagreements]] = {}
    doubts: list[partial[Disagreements] | None] = []
    for name, ds in subject.boards.items():
        there = files[name].files
        if not there or 0 < most < ds.sizes["system"] * ds.sizes["track"]:
            doubts.append(None)
            continue
        chosen = [track for track in names_of(ds, "track") if tracks is None or track in tracks]
        systems = names_of(ds, "system")
        # Two conventions of a task have the same doubts about the same files.
        plans = tuple((one.store, one.plan.task, one.plan.references, one.plan.estimates) for one in there)
        make = partial(describe_disagreements, there, systems, chosen)
        doubts.append(makers.setdefault((tuple(systems), tuple(chosen), plans), make))
    return doubts


def add_doubts(
    contents: dict[str, Any],
    doubts: Doubts,
    parts: Parts,
    described: Mapping[partial[Disagreements], Disagreements] = MappingProxyType({}),
) -> None:
    """Add where the systems of each evaluation agree against the references, as parts of the page.

    `contents`: as `describe_page` gives it; the key ``doubts`` of evaluations is added. `described`: doubts that are
    known; others are looked for when the part is made.
    """

    def pack(make: partial[Disagreements]) -> bytes:
        return pack_json(described[make] if make in described else make())

    keys: dict[partial[Disagreements], int | str] = {}
    for number, make in enumerate(doubts):
        if make is not None:
            if make not in keys:
                keys[make] = parts.put(f"{number}/doubts", partial(pack, make))
            contents["evaluations"][number]["doubts"] = keys[make]


def cause_boards(
    subject: Subject, files: Mapping[str, EvaluationOrigin], tracks: Collection[str]
) -> list[Board | None]:
    """Of each evaluation what the causes of low scores are looked for in; None where nothing can be found."""
    from ..causes import board_of_files  # which imports all that scores

    boards = []
    for name, ds in subject.boards.items():
        there, chosen = files[name].files, [track for track in names_of(ds, "track") if track in tracks]
        boards.append(board_of_files(name, ds, there, tracks=chosen) if there and chosen else None)
    return boards


def add_causes(contents: dict[str, Any], diagnoses: Sequence[Diagnosis]) -> None:
    """Add what would make the low scores of each evaluation right, and how often the references seem wrong.

    `contents`: as `describe_page` gives it; the key ``causes`` of evaluations is added: how many references are
    ``suspect``, and ``rows`` of track and system (``*``: all), the side, what it is in words, the score, what this
    would be, the name of the cause, its amount if that is finite, the systems with it, and how many have the track.
    """
    for evaluation, diagnosis in zip(contents["evaluations"], diagnoses, strict=False):
        findings = diagnosis.findings
        if not findings:
            continue
        suspect = sum(one.change.side == "reference" and one.track != "*" for one in findings)
        rows = [
            [
                *(one.track, one.system, one.change.side, one.statement, one.score, one.would_be, one.change.cause),
                *(one.change.amount if isfinite(one.change.amount) else None, one.affected, one.of),
            ]
            for one in findings
        ]
        evaluation["causes"] = {"suspect": suspect, "rows": rows}


Described = Mapping[int, Sequence[Mapping[str, Any]]]
"""Of evaluations, by their numbers, the errors by each metric that judges, as the page lists them."""


def add_errors(contents: dict[str, Any], found: Mapping[int, Mapping[str, ErrorLists]], parts: Parts) -> Described:
    """Add what goes wrong in each evaluation, by the metrics that judge, as parts of the page.

    `contents`: as `describe_page` gives it; the key ``errors`` of evaluations is added.
    """
    room = TOTALS
    described: dict[int, list[dict[str, Any]]] = {}
    for number, by_rule in found.items():
        described[number] = []
        entries = contents["evaluations"][number]["errors"] = []
        for rule, lists in by_rule.items():
            one = lists.describe(rule)
            if not one:
                continue
            size = len(compress(pack_json(one["byTrack"])))
            if size > room:
                del one["byTrack"]
            else:
                room -= size
            entries.append([rule, parts.put(f"{number}/errors/{rule}", partial(pack_json, one)), "byTrack" in one])
            described[number].append(one)
    return described


TOTALS = 300_000
"""Compressed size that the totals of errors by track stay below in a page: those of further metrics are left out."""


def draw_first_screens(
    contents: dict[str, Any],
    subject: Subject,
    shown: Shown = ALL,
    errors: Described | None = None,
    timelines: Collection[str] = (),
) -> None:
    """Draw the standings and what is beside them, once causes and errors are known.

    `contents`: as `describe_page` gives it; in ``inference`` of evaluations elements take the place of standings.
    """
    for number, one in enumerate(contents["evaluations"][: len(subject.boards)]):
        told = (errors or {}).get(number, ())
        causes = one["causes"]["rows"] if "causes" in one else ()
        scores = subject.boards[one["name"]]
        screen = FirstScreen(scores, one, shown.by_track, causes, told, frozenset(timelines))
        one["inference"] = [
            (metric, screen.draw(metric, found) if isinstance(found, dict) else found)
            for metric, found in one["inference"]
        ]


def _scorecard(subject: Subject, evaluations: Sequence[Mapping[str, Any]], parts: Parts) -> list[Node] | int | str:
    """The systems by the first metric of each evaluation, or the part of the page that has this."""
    made: dict[str, Any] = {
        one["name"]: dict(one["inference"]).get(*one["main"][:1]) for one in evaluations if one["main"]
    }

    decimals = {
        one["name"]: one["metrics"][one["main"][0]].get("decimals", DECIMALS) for one in evaluations if one["main"]
    }

    def draw() -> list[Node]:
        columns = []
        for name, ds in subject.boards.items():
            first, found = subject.first[name][:1], made.get(name)
            if not isinstance(found, dict):
                found = next((own for _, own in describe_inference(ds, first, first, name)), {})
            if "standings" in found:
                title = metric_title(*(names_of(ds, key, first)[0] for key in ("metric", "title")))
                about = f"{task_title(str(ds.attrs.get('task', '')))}: {title}"
                standings = replace(found["standings"], decimals=decimals.get(name, DECIMALS))
                columns.append(ScoredEvaluation(name, about, report_link(name), standings))
        return scorecard(columns)

    shared = Counter(system for ds in subject.boards.values() for system in names_of(ds, "system"))
    if max(shared.values(), default=0) < 2:
        return []
    fetched = any(isinstance(found, str | int) for found in made.values())
    return parts.put("scorecard", lambda: pack_json(draw())) if fetched else draw()


def _inference(
    scores: xr.Dataset, made: Mapping[str, Any], parts: Parts, shown: Shown, number: int
) -> list[tuple[int, Any]]:
    """Of each metric its intervals, or where the page finds them when it shows the metric."""
    name, main = made["name"], made["main"]
    metrics = inferred_metrics(scores, main)
    if not shown.aggregates or not shown.by_track:
        return describe_inference(scores, metrics, main, name)
    screen = FirstScreen(scores, made)

    def pack(metric: int) -> bytes:
        described = describe_inference(scores, [metric], main, name)
        return pack_json(next((screen.draw(metric, found) for _, found in described), None))

    return [(metric, parts.put(f"{number}/{metric}/inference", partial(pack, metric))) for metric in metrics]


def _restrict(boards: Mapping[str, xr.Dataset], where: str) -> tuple[dict[str, xr.Dataset], tuple[str, ...]]:
    """The evaluations of the tracks for which an expression holds, and why others are left out."""
    found: dict[str, xr.Dataset] = {}
    lacking: dict[str, MirflowError] = {}
    for name, ds in boards.items():
        try:
            part = restrict(ds, where)
        except (UnknownNameError, QueryError) as error:
            lacking[name] = error
            continue
        if part.sizes["track"]:
            found[name] = part
        else:
            lacking[name] = QueryError(f"where {where!r}: no track is so")
    if not found:
        # What is nearest to an answer says most: a coordinate without this value, then a name that is near another.
        errors = sorted(
            lacking.values(), key=lambda error: (not str(error).endswith("is so"), type(error) is QueryError)
        )
        raise errors[0]
    return found, tuple(f"{name}: left out: {error}" for name, error in lacking.items())
