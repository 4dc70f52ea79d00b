"""The linter: lists the problems of all files, with lines, before anything is scored.

It checks files, folders, or the references of a pipeline: whether they can be read and scored, agree with other
annotations of the track, and are perfect against themselves. Labels are compared over all files. With a reference,
files are also scored against it, and doubts about the pair are problems.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.audio import first_not_finite, is_silent
from ..annotations.schema import KINDS, kind_of
from ..annotations.source import HeldSource, Source
from ..annotations.validation import extents, inspect, odd_spacing
from ..engine.block import BlockWork, TrackWork, score_block
from ..engine.plausibility import SPACING, doubts_of, midi_numbers
from ..errors import AnnotationError, UnreadableError, counted
from ..metrics.base import Convention, get_task, tasks
from ..metrics.constants import WINS
from ..metrics.measures import LABELS, Measure
from ..pipeline.load import plan_pipeline
from ..pipeline.plan import Reference
from ..pipeline.sides import of_estimates
from ..ragged import Ragged
from ..readers import read_all, schema_problems
from ..readers.audio_files import audio_folders
from ..readers.beat_collections import without_positions
from ..readers.content import is_listed_file, unreadable
from ..readers.formats import TABLES, TASK_OF_SUFFIX, format_named
from ..readers.jams import describe_absent, open_jams
from ..readers.namespaces import NAMESPACES, OTHERS
from ..readers.options import MAX_BYTES, Reading, split_sides
from ..readers.sources import FileSource
from ..readers.tables.table import TableSource, is_table, open_table
from ..store.cells import EMPTY, Status, read_message, text_of
from ..store.format import list_cautions, nested_attrs
from ..store.packs import open_pack
from .consistency import RULES, SPELLING, VOCABULARY, Suspect, find_odd_labels, find_suspects
from .evaluate import annotation_files, evaluate_paths, is_pack, pack_sources

Severity = Literal["error", "warning", "note"]
Role = Literal["reference", "estimate"]
PERFECT_TOLERANCE = 1e-9
_TASKS = {**TASK_OF_SUFFIX, ".lab": "chord"}

_OF_REFERENCES = ("imperfect", *(rule.name for rule in RULES), SPELLING[0], VOCABULARY[0])
"""Rules that apply to references only."""
_UNLIKE = ("retrieval", "score_following", "similarity", "tagging")
"""Tasks whose sides differ in meaning, so that scoring an annotation against itself is meaningless."""

_ALONE: Mapping[str, Annotation] = MappingProxyType({})

_SEVERITIES: dict[str, Severity] = {
    "not_finite": "error",
    "too_late": "error",
    "negative": "error",
    "reversed": "error",
    "overlap": "error",
    "zero_length": "warning",
    "unsorted": "warning",
    "duplicate": "warning",
    "gap": "note",
}


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem with its severity, location and message. ``error``: the annotation cannot be scored. ``warning``: it is
    repaired, scored as empty, or hardly belongs to its reference. ``note``: it is scored unchanged, but should be
    checked."""

    severity: Severity
    rule: str
    message: str
    line: int | None = None
    annotator: str = ""
    second: float | None = None  # time of the place, in seconds; None: the problem has no single place
    strength: float | None = None
    """Of a note that music may break on purpose: how far it is from what its rule expects, 0 to 1; None: of others."""


@dataclass(frozen=True)
class FileCheck:
    """All problems of one file, of a folder with the audio files of one track, or of a track of a pack."""

    path: str
    problems: tuple[FileProblem, ...] = field(default=())
    what: Literal["file", "folder", "track"] = "file"
    track: str = ""  # name of the track, as in a pipeline or a run of the folder

    @property
    def worst(self) -> Severity | None:
        """The highest severity; None for a clean file."""
        severities = {problem.severity for problem in self.problems}
        order: tuple[Severity, ...] = ("error", "warning", "note")
        return next((severity for severity in order if severity in severities), None)


def check_paths(
    paths: Iterable[str | Path],
    task: str | None = None,
    *,
    convention: str | None = None,
    schema: bool = True,
    annotator: str | int | None = None,
    reference: str | Path | None = None,
    role: Role | None = None,
    beside: str | Path | None = None,
    beside_task: str | None = None,
    **options: Any,
) -> Iterator[FileCheck]:
    """Check files, and all annotation files in folders and their subfolders. Without a task, it follows from the
    namespaces of a JAMS file; ``.lab`` files then count as chords, ``.key`` files as keys, MIDI files as
    transcriptions, audio files as sources; other files are skipped with a note. The convention, by default the task's,
    defines errors. With `schema`, JAMS files are validated against the schemas of the jams library. Without an
    annotator, all those of JAMS files are checked. The reference, a file for a file and a folder for a folder, gives
    warnings about estimates whose times hardly match it. References are also scored against themselves, and unusual
    annotations are noted. Without a role, files are estimates if a reference is given or a folder above them has a name
    of estimates, such as ``est`` or ``systems``. Options of reading are those of :func:`mirflow.load`, also for the
    reference; with the prefix ``reference_``, only for the reference. References are searched for probable mistakes
    (:data:`mirflow.evaluation.consistency.RULES`), chords beside a key and sections beside downbeats if a JAMS file has
    both, or if `beside` is a file or folder with annotations of the same tracks, of the task `beside_task`. Options
    with the prefix ``beside_`` are for reading it. Yields a `FileCheck` per file, including clean ones, with its
    problems sorted by line; one per track of a pack."""
    listed = list(map(Path, paths))
    is_reference = None if reference is None else False
    if role is not None:
        is_reference = role == "reference"
    for side, path, what in (("reference", reference, "the reference"), ("beside", beside, "annotations beside")):
        aside = [name for name in options if name.startswith(f"{side}_")]
        if aside and path is None:
            raise AnnotationError(f"{aside[0]} applies to {what}, but none is given")
    companions = None
    if beside is not None:
        others = {name.removeprefix("beside_"): options.pop(name) for name in list(options) if name[:7] == "beside_"}
        companions = _companions(Path(beside), listed, beside_task, others)
    odd = {} if reference is None else _against(reference, listed, task, convention, options)
    words = {"annotator": annotator, **split_sides(options)[1]}
    settings = _Settings(task, convention, schema, words, companions, is_reference)
    checks = list(_check_each(listed, settings))
    for check in _with_odd_labels(checks, settings.labels):
        remaining = check.problems
        if not settings.has_reference(check.path):  # estimates are compared with another file
            remaining = tuple(
                replace(problem, severity="warning") if problem.rule == "refused" else problem
                for problem in check.problems
                if problem.rule not in _OF_REFERENCES
            )
        texts = {problem.message for problem in remaining}
        against = [problem for problem in odd.pop(check.path, ()) if problem.message not in texts]
        if any("are they MIDI numbers" in problem.message for problem in against):  # with the option of that side
            remaining = tuple(problem for problem in remaining if problem.rule != "pitch_unit")
        yield replace(check, problems=(*against, *remaining))
    for path, problems in odd.items():
        yield FileCheck(path, tuple(problems), "track")


Companion = Callable[[Path], Mapping[str, Annotation]]
"""Path of a file -> annotations of its track that it is checked beside, by task."""


@dataclass(frozen=True)
class _Settings:
    """What annotations are checked as."""

    task: str | None
    convention: str | None
    schema: bool
    options: Mapping[str, Any]  # options of reading, and the annotator
    companions: Companion | None = None
    is_reference: bool | None = True  # None: those below folders with a name of estimates are estimates
    labels: dict[str, dict[str, FileProblem]] = field(default_factory=dict)
    """Labels of each file, with a problem at the place of the first that has no message yet; it grows."""

    def has_reference(self, path: str) -> bool:
        """True if the annotations of a file are checked as references."""
        return not of_estimates(Path(path)) if self.is_reference is None else self.is_reference


def _companions(beside: Path, paths: Sequence[Path], task: str | None, options: dict[str, Any]) -> Companion:
    """Find the annotations beside files: those with the same names in a folder, or one file for one file."""
    if beside.is_dir() != any(path.is_dir() for path in paths) or (not beside.is_dir() and len(paths) > 1):
        raise AnnotationError("give two files or two folders, not one of each", path=beside)
    files = annotation_files(beside) if beside.is_dir() else [beside]
    by_name = {path.relative_to(beside).with_suffix("").as_posix() if path != beside else "": path for path in files}
    tasks = {path: task or _TASKS.get(path.suffix.lower()) for path in files}
    unclear = next((path for path in files if tasks[path] is None and format_named(path.name) != "jams"), None)
    if unclear is not None:
        raise AnnotationError(
            "the task of annotations beside others is unclear: give it, as in beside_task=beat", path=unclear
        )

    def companions(path: Path) -> Mapping[str, Annotation]:
        folder = next((parent for parent in paths if path.is_relative_to(parent)), path)
        other = by_name.get("" if path == folder else path.relative_to(folder).with_suffix("").as_posix())
        if other is None:
            return {}
        annotations = _annotations(other, tasks[other], None, {"annotator": None, **options})
        return {tasks[other] or _task_of(annotation) or "": annotation for annotation in reversed(annotations)}

    return companions


def _check_each(given: Sequence[Path], settings: _Settings) -> Iterator[FileCheck]:
    task = settings.task
    files = list(_files(given, task, "levels" in settings.options))
    twins = _unreadable_twins(files, settings)
    for suffix, paths in twins.items():
        reason = next(_check_file(paths[0], settings)).message
        message = f"{counted(len(paths), 'file')} {suffix} beside others of the same tracks left out: {reason}"
        yield FileCheck(str(paths[0].parent), (FileProblem("warning", "twin", message),), "folder")
    left_out = {path for paths in twins.values() for path in paths}
    tracks: dict[Path, list[Path]] = {}
    for path in (path for path in files if task is not None and path not in left_out and path.is_file()):
        tracks.setdefault(path.with_suffix(""), []).append(path)
    several = [paths for paths in tracks.values() if len(paths) > 1]
    if several:
        names = " and ".join(path.name for path in several[0])
        message = f"{counted(len(several), 'track')} with several files, such as {names}: runs and evaluate refuse them"
        yield FileCheck(str(several[0][0].parent), (FileProblem("warning", "twin", message),), "folder")
    bare: dict[Path, Source] = {}
    words = {name: value for name, value in settings.options.items() if name != "annotator"}
    if task == "downbeat":
        reading = Reading.of(task, **words)
        for folder in {path.parent for path in files if len(files) > 1}:
            inner = [path for path in files if path.parent == folder and not is_pack(path)]
            bare |= without_positions((path, FileSource(str(path), reading)) for path in inner)
    for path in files:
        if path in left_out:
            continue
        if path in bare:
            yield replace(_check_source(bare[path], path.stem, settings), what="file")
            continue
        if is_pack(path):
            sources = open_pack(path, str(path)) if task is None else pack_sources(path, kind_of(task).name)
            for track, source in sources.items():
                known = KINDS[source.kind].tasks
                named = task or (known[0] if len(known) == 1 else None)
                yield _check_source(source, track, replace(settings, task=named))
            continue
        how = None if task is None or not path.is_file() else Reading.of(task, **words)
        if how is None or not is_table(path, how):
            yield _check_whole(path, settings)
        elif how.format_of(path.name) in TABLES:
            yield from _check_table(path, how, settings)
        else:
            # As one track or as many, whichever has fewer errors. A file that is given by name is a table unless it
            # cannot be opened as one, as its header may name no tracks.
            rows = list(_check_table(path, how, settings)) if path in given else []
            if not any(check.what == "track" for check in rows):
                whole = [_check_whole(path, settings)]
                flawed = whole[0].worst in ("error", "warning")
                rows = rows or list(_check_table(path, how, settings) if flawed else ())
                of_rows, of_whole = ([*count_by_severity(checks).values()][:2] for checks in (rows, whole))
                rows = rows if flawed and rows and of_rows <= of_whole else whole
            yield from rows


def _unreadable_twins(files: Sequence[Path], settings: _Settings) -> dict[str, list[Path]]:
    """Files by suffix of which those tried cannot be read, where files of the same tracks with another suffix can."""
    by_track: dict[Path, list[Path]] = {}
    for path in files:
        by_track.setdefault(path.with_suffix(""), []).append(path)
    twins: dict[str, list[Path]] = {}
    for path in (path for alike in by_track.values() if len(alike) > 1 for path in alike):
        twins.setdefault(path.suffix.lower(), []).append(path)
    unread = {
        suffix
        for suffix, paths in twins.items()
        if len(paths) > 1
        and all(
            any(problem.rule in ("unreadable", "skipped") for problem in _check_file(path, settings))
            for path in paths[:3]
        )
    }
    return {suffix: twins[suffix] for suffix in unread} if unread < twins.keys() else {}


def _against(
    reference: str | Path, paths: Sequence[Path], task: str | None, convention: str | None, options: Mapping[str, Any]
) -> dict[str, list[FileProblem]]:
    if task is None:
        raise AnnotationError("a reference needs a task, for example --task beat", path=reference)
    rules = get_task(task).convention(convention)
    # All metrics give the same warnings, except those that compare labels and those that a constant estimate wins.
    measures = rules.select()
    won = {name for metrics in WINS.get(task, {}).values() for name in metrics}
    chosen = [str(measures[0]), *(str(measure) for measure in measures if measure.metric.name in won)]
    chosen += next(([metric.name] for metric in rules.metrics if metric.needs == LABELS), [])
    chosen = list(dict.fromkeys(chosen))
    odd: dict[str, list[FileProblem]] = {}
    for path in paths:
        ds = evaluate_paths(reference, path, task, metrics=chosen, convention=convention, **options)
        causes = [FileProblem("warning", "cause", text) for text in list_cautions(nested_attrs(ds.attrs))]
        if causes:
            odd.setdefault(str(path), []).extend(causes)
        for message in map(str, ds["message"].values.ravel().tolist()):
            for remark in read_message(message):
                if remark.kind == "warning" and remark.side == "pair":  # files are checked by themselves, too
                    label, _, text = remark.text.partition(": ")
                    label = re.sub(r":\d+$", "", label)  # the line of a remark of its reader
                    odd.setdefault(label, []).append(FileProblem("warning", "implausible", text))
    return odd


def _check_whole(path: Path, settings: _Settings) -> FileCheck:
    """A file, or a folder of audio, as the annotation of one track."""
    problems = sorted(_check_file(path, settings), key=_line)
    return FileCheck(str(path), tuple(problems), "folder" if path.is_dir() else "file", path.stem)


def _line(problem: FileProblem) -> int:
    return problem.line or 0


def _check_source(
    source: Source, track: str, settings: _Settings, beside: Mapping[str, Annotation] = _ALONE
) -> FileCheck:
    try:
        annotation, _ = source.read()
    except AnnotationError as error:
        return FileCheck(source.label, (FileProblem("error", "unreadable", error.message, error.line),), "track", track)
    problems = sorted(_check_annotation(annotation, settings, source.label, beside), key=_line)
    return FileCheck(source.label, tuple(problems), "track", track)


def _check_table(path: Path, reading: Reading, settings: _Settings) -> Iterator[FileCheck]:
    name = str(path)
    try:
        keys = list(open_table(name, reading, name).of_key)
    except AnnotationError as error:
        yield FileCheck(name, (FileProblem("error", "unreadable", error.message, error.line),))
        return
    for key in keys:
        yield _check_source(TableSource(name, key, reading, name), key.track, settings)


def _files(paths: Iterable[str | Path], task: str | None, levelled: bool) -> Iterator[Path]:
    """The files to check; for audio, the folders, each with the sources of one track."""
    for path in map(Path, paths):
        audio = task is not None and kind_of(task).name == "audio"
        if (levelled and "{level}" in path.name) or (audio and "{source}" in path.name) or is_pack(path):
            yield path
        elif audio and path.is_dir():
            yield from audio_folders(path)
        elif path.is_dir():
            yield from annotation_files(path)
        elif is_listed_file(path):
            yield path
        else:
            raise unreadable(path)


def _check_file(path: Path, settings: _Settings) -> Iterator[FileProblem]:
    task, options = settings.task, settings.options
    is_jams = format_named(path.name) == "jams"
    if task is None and not is_jams:
        task = _TASKS.get(path.suffix.lower())
        if task is None:
            yield FileProblem("note", "skipped", "not checked; give the task of the file, for example --task chord")
            return
    try:
        annotations = _annotations(path, task, settings.convention, options)
    except AnnotationError as error:
        inner = error.path is not None and error.path != str(path)  # one of several audio files
        yield FileProblem("error", "unreadable", str(error) if inner else error.message, error.line)
        return
    if is_jams and settings.schema:
        yield from (FileProblem("error", "schema", str(problem)) for problem in schema_problems(path))
    if is_jams and not annotations and (task is not None or "namespace" in options):
        choices = open_jams(str(path), options.get("max_bytes", MAX_BYTES), str(path)).choices
        yield FileProblem("error", "absent", describe_absent(choices, options.get("namespace") or task or ""))
    beside = settings.companions(path) if settings.companions and settings.has_reference(str(path)) else {}
    for annotation in annotations:
        if annotation.kind == "audio":  # silent, broken, or refused by the convention; each is read to its end
            of_audio = task or KINDS["audio"].tasks[0]
            rules = get_task(of_audio).convention(settings.convention) if of_audio in tasks() else None
            try:
                refused = {} if rules is None else dict(_flaws(rules, annotation, to_ragged([annotation]), set()))
                for item, signal in enumerate(annotation.columns["signal"]):
                    file, sample = annotation.file(item), first_not_finite(signal)
                    if sample is not None:
                        message = f"{file}: sample {sample} ({sample / signal.rate:.3f} s) is not a number"
                        yield FileProblem("error", "not_finite", message)
                    elif is_silent(signal):
                        severity: Severity = "error" if item in refused else "warning"
                        yield FileProblem(severity, "silent", f"{file}: is silent throughout")
                    elif item in refused:
                        yield FileProblem("error", "refused", f"{file}: {refused[item]}")
            except UnreadableError as error:
                yield FileProblem("error", "unreadable", str(error))
        else:
            others: dict[str, Annotation] = {}
            if is_jams and settings.has_reference(str(path)):  # of the same file, the first of each task of a rule
                of_task = task or _task_of(annotation)
                wanted = {name for rule in RULES if of_task in rule.tasks for name in rule.beside}
                rest = [other for other in reversed(annotations) if other is not annotation]
                others = {name: other for other in rest if (name := task or _task_of(other)) and name in wanted}
                for name in wanted - {task} if task is not None else ():
                    with suppress(AnnotationError):
                        others.update(zip([name], read_all(path, task=name), strict=False))
            yield from _check_annotation(annotation, replace(settings, task=task), str(path), {**others, **beside})


def _annotations(path: Path, task: str | None, convention: str | None, options: Mapping[str, Any]) -> list[Annotation]:
    """Every annotation of a file for the task, or else all that can be read; of one annotator where one is named."""
    defaults = {} if task is None else get_task(task).convention(convention).reading
    options = {**defaults, **options}
    annotator = options.pop("annotator")
    if task is not None or "namespace" in options:
        annotations = read_all(path, task=task, **options)
    else:
        annotations = []
        for namespace in NAMESPACES.values():
            if namespace.name in OTHERS:
                continue
            of_namespace = namespace.tasks[0] if namespace.tasks else None
            annotations += read_all(path, task=of_namespace, namespace=namespace.name, **options)
    if annotator is None or format_named(path.name) != "jams":
        return annotations
    if isinstance(annotator, int) and annotator < len(annotations):
        return [annotations[annotator]]
    names = [str(annotation.attrs.get("annotator", "")) for annotation in annotations]
    if annotator not in names:
        raise AnnotationError(f"has no annotator {annotator!r}; it has {', '.join(names) or 'none'}")
    return [annotation for annotation, name in zip(annotations, names, strict=True) if name == annotator]


def _check_annotation(
    annotation: Annotation, settings: _Settings, path: str, beside: Mapping[str, Annotation]
) -> Iterator[FileProblem]:
    task, convention = settings.task, settings.convention
    annotator = str(annotation.attrs.get("annotator", ""))
    for remark in annotation.account:
        severity: Severity = "warning" if remark.severity == "repair" else remark.severity
        yield FileProblem(severity, remark.rule, remark.message, remark.line, annotator)
    if not len(annotation):
        yield FileProblem("warning", "empty", "the annotation is empty", annotator=annotator)
        return
    rows = to_ragged([annotation])
    name = task or _task_of(annotation)
    rules = None if name is None else get_task(name).convention(convention)
    if name is not None and rules is not None:  # doubts of a run that do not depend on the other side
        spaced = odd_spacing(name, extents(annotation.schema, rows))
        yield from (FileProblem("warning", SPACING.rule, text, annotator=annotator) for text in spaced.values())
        for doubt in doubts_of(rules, rules.select()):
            if doubt.of_side is not None and (text := doubt.of_side(annotation)):
                yield FileProblem("warning", doubt.rule, text, annotator=annotator)
    if name is not None and kind_of(name).pitched and (message := midi_numbers(annotation)):
        yield FileProblem("warning", "pitch_unit", message, annotator=annotator)
    taken = rules is not None and not rules.clean(rows).flaws
    wrong: set[int] = set()
    for rule, finding in inspect(annotation.schema, rows).items():
        # An error in most conventions is only a warning if this one accepts it.
        severity = "warning" if taken and _SEVERITIES[rule] == "error" else _SEVERITIES[rule]
        for item in np.flatnonzero(finding.items).tolist():
            wrong |= {item} if severity == "error" else set()
            message = finding.describe(rows, item)
            if rule == "zero_length" and finding.items.all():
                message += "; write its end"
                message += ", such as 0 180 N for three minutes without a chord" if name == "chord" else ""
            yield FileProblem(severity, rule, message, annotation.line(item), annotator, _second(annotation, item))
    if name is None or rules is None:
        return
    flaws = list(_flaws(rules, annotation, rows, wrong))
    for item, message in flaws:
        rule = "label" if "label" in annotation.schema.required else "value"
        yield FileProblem("error", rule, message, annotation.line(item), annotator, _second(annotation, item))
    if settings.has_reference(path):
        labels = settings.labels.setdefault(path, {})  # to be compared with those of other files
        for consistency, suspect in find_suspects(name, annotation, beside):
            yield _located(annotation, consistency.name, suspect)
        for item, label in enumerate(annotation.labels or ()) if name in _LABELLED else ():
            if label not in labels:
                labels[label] = _located(annotation, SPELLING[0], Suspect(item, "", 0.0))
    if not wrong and not flaws and name not in _UNLIKE:
        yield from _check_perfect(annotation, name, rules, annotator)


def _task_of(annotation: Annotation) -> str | None:
    """The task of the namespace, if it has metrics."""
    namespace = NAMESPACES.get(str(annotation.attrs.get("namespace", "")))
    return next((name for name in namespace.tasks if name in tasks()), None) if namespace else None


def _flaws(rules: Convention, annotation: Annotation, rows: Ragged, known: set[int]) -> Iterator[tuple[int, str]]:
    """Flaws under a convention: the first of the whole annotation, then those of each item."""
    flaws = {flaw.item: flaw.text(annotation) for flaw in rules.clean(rows).flaws.values()}
    if flaws and len(rows.counts) == 1:
        # One item per row, so that flaws do not hide others.
        count = int(rows.counts[0].sum())
        single = Ragged(rows.columns, (np.ones(count, dtype=np.int64),), rows.labels, rows.depths)
        flaws |= {item: flaw.message for item, flaw in rules.clean(single).flaws.items()}
    for item, message in sorted(flaws.items()):
        if item not in known:
            yield item, message


def _check_perfect(annotation: Annotation, task: str, rules: Convention, annotator: str) -> Iterator[FileProblem]:
    """A reference scored against itself must be perfect, unless the metric's record has a reason."""
    measures = [item for item in rules.select() if not item.metric.dims and item.metric.perfect is not None]
    track = TrackWork(
        "itself",
        (Reference(HeldSource(annotation, "reference")),),
        ("itself",),
        (HeldSource(annotation, "estimate"),),
        (0,),
    )
    work = BlockWork("check", task, rules.name, rules.grids[0], tuple(measures), "", (track,))
    cells = score_block(work)
    if Status(int(cells.status[0])) in EMPTY:
        yield FileProblem("warning", "empty", "nothing is left of the annotation after repairs", annotator=annotator)
        return
    if message := text_of(cells.message[0]):
        # Both sides are the same file, whichever side the message names.
        for side in ("system 'itself', track 'itself'", "reference", "estimate"):
            message = message.removeprefix(f"{side}: ")
        yield FileProblem("error", "refused", message, annotator=annotator)
        return
    odd = [
        (measure, score, weight > 0)
        for measure, score, weight in zip(measures, cells.score[0].tolist(), cells.weight[0].tolist(), strict=True)
        if not abs(score - (measure.metric.perfect or 0.0)) <= PERFECT_TOLERANCE
    ]
    wrong = [item for item in odd if item[2] and not item[0].metric.perfect_exceptions]
    if wrong:
        yield FileProblem("error", "imperfect", _describe_imperfect(wrong), annotator=annotator)
    # Undefined by the metric's own rule, as rates of section breaks in lyrics without sections.
    known = [
        item for item in odd if item not in wrong and not (math.isnan(item[1]) and item[0].metric.perfect_exceptions)
    ]
    if known:
        yield FileProblem("note", "imperfect", _describe_imperfect(known), annotator=annotator)


def _describe_imperfect(odd: Sequence[tuple[Measure, float, bool]]) -> str:
    """Describe the metrics whose scores are not perfect."""
    by_score: dict[tuple[str, str], list[str]] = {}
    for measure, score, _ in odd:
        by_score.setdefault((f"{score:.6g}", f"{measure.metric.perfect or 0.0:g}"), []).append(str(measure))
    parts = [
        f"{score} on {names[0]}, not {perfect}" + (f", and on {', '.join(names[1:])}" if len(names) > 1 else "")
        for (score, perfect), names in by_score.items()
    ]
    reasons = dict.fromkeys(measure.metric.perfect_exceptions for measure, _, _ in odd)
    why = next(filter(None, reasons), "")
    why = f"{odd[0][0]}: {why}" if why and len(reasons) > 1 else why
    trims = {float(measure["trim"]) for measure, _, measured in odd if "trim" in measure.parameters and not measured}
    if trims and max(trims) > 0:
        why = f"nothing is left after the first {max(trims):g} s, which are not scored; trim=0 scores them"
    return f"against itself it scores {'; '.join(parts)}" + (f" ({why})" if why else "")


_LABELLED = ("segment", "hierarchy", "classification", "tagging", "drums")
"""Tasks whose labels are names of a list, in which a misspelt one is found by comparing files."""


def _located(annotation: Annotation, rule: str, suspect: Suspect) -> FileProblem:
    line = None if suspect.item is None else annotation.line(suspect.item)
    second = None if suspect.item is None else _second(annotation, suspect.item)
    annotator = str(annotation.attrs.get("annotator", ""))
    return FileProblem("note", rule, suspect.message, line, annotator, second, suspect.strength)


def _second(annotation: Annotation, item: int) -> float | None:
    """Time of an item in seconds; None where it has none."""
    column = annotation.columns.get("start", annotation.columns.get("time"))
    has_time = annotation.schema.times and column is not None and item < len(column) and np.isfinite(column[item])
    return float(column[item]) if has_time and column is not None else None


def _with_odd_labels(
    checks: Sequence[FileCheck], labels: Mapping[str, Mapping[str, FileProblem]]
) -> Iterator[FileCheck]:
    odd: dict[str, list[FileProblem]] = {}
    paths = list(labels)
    for number, rule, suspect, label in find_odd_labels([list(labels[path]) for path in paths]):
        problem = labels[paths[number]][label]
        renamed = replace(problem, rule=rule, message=suspect.message, strength=suspect.strength)
        odd.setdefault(paths[number], []).append(renamed)
    for check in checks:
        more = odd.pop(check.path, [])
        yield replace(check, problems=tuple(sorted((*check.problems, *more), key=_line))) if more else check


def check_pipeline(pipeline: str | Path, task: str | None = None) -> Iterator[FileCheck]:
    """Check the references of a pipeline's evaluations, each once and with its options of reading. References of a
    track in several evaluations are checked beside each other: chords beside keys, sections beside beats. With a task,
    only its references are checked. Yields a `FileCheck` per reference; raises a `PipelineError` for a pipeline that
    cannot be planned."""
    plans = plan_pipeline(pipeline, open_pack=open_pack).plans
    held: dict[str, dict[str, Source]] = {}
    for plan in plans:
        for track, references in zip(plan.tracks, plan.references, strict=True):
            for reference in references[:1]:
                held.setdefault(track, {}).setdefault(plan.task, reference.source)
    labels: dict[str, dict[str, FileProblem]] = {}
    checks: dict[tuple[str, Source], FileCheck] = {}
    for plan in plans:
        settings = _Settings(plan.task, plan.convention, False, {}, labels=labels)
        for track, references in zip(plan.tracks, plan.references, strict=True):
            for reference in references if task in (None, plan.task) else ():
                if (plan.task, reference.source) not in checks:
                    others: dict[str, Annotation] = {}
                    for name in dict.fromkeys(
                        name for rule in RULES if plan.task in rule.tasks for name in rule.beside
                    ):
                        if name != plan.task and name in held[track]:
                            with suppress(AnnotationError):
                                others[name] = held[track][name].read()[0]
                    checks[plan.task, reference.source] = _check_source(reference.source, track, settings, others)
    yield from _with_odd_labels(list(checks.values()), labels)


def count_by_severity(checks: Sequence[FileCheck]) -> dict[Severity, int]:
    """Number of problems of each severity."""
    counts = Counter(problem.severity for check in checks for problem in check.problems)
    severities: tuple[Severity, ...] = ("error", "warning", "note")
    return {severity: counts[severity] for severity in severities}
