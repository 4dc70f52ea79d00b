"""Checks of a submission before scoring (file names, contents, the linter), and its reading; run in child processes.

References are never read; the caller passes the names of the tracks. No other code parses submitted files: scores and
timelines come from what :func:`read_job` stores. The server lists for submitters which files are expected, as far as
the names of tracks may be revealed.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from ....annotations.schema import kind_of
from ....errors import AnnotationError, MirflowError, PipelineError, Problem, clean_text, counted
from ....evaluation.linter import check_paths
from ....pipeline.discovery import find_estimates
from ....pipeline.model import Evaluation, Trouble, resolve
from ....readers.formats import is_annotation_file
from ....readers.label_maps import anchored
from ....readers.options import OPTIONS
from ....readers.patterns import Pattern, fill
from ....readers.readings import write_readings
from ....store.generations import write_atomically
from ....theory.text_form import normal_form
from ...file import Campaign, Limits, reading_name, with_estimates
from .archives import ARCHIVES, ArchiveError, unpack
from .confinement import JobError, SendMessage

MAX_FINDINGS = 2000  # most findings that are stored for a submission
_SEVERITIES = ("error", "warning", "note")
_LONGEST = 1000
_NAMED = 10
_MORE_SUFFIXES = (".npy", ".sv")

Places = Sequence[Mapping[str, str]]  # values of the placeholders of references, such as ``{"track": "000017"}``
Severity = Literal["error", "warning", "note"]
Row = tuple[str, int | None, Severity, str, str]  # path, line, severity, rule and message of a finding


@dataclass(frozen=True, slots=True)
class Expected:
    """The tracks of an evaluation on a split."""

    split: str
    evaluation: str
    places: Places  # places of its references
    asked: bool  # whether the submission is to be scored on this split
    hidden: bool
    named: bool  # whether names of tracks may be revealed


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """A row of the table of findings."""

    path: str
    line: int | None
    severity: Severity
    rule: str
    message: str
    split: str = ""  # a hidden split that cannot be scored because of it


@dataclass(frozen=True)
class CheckAnswer:
    """Result of a check; findings are rows of path, line, severity, rule and message."""

    files: int
    digest: str
    findings: list[Row]
    errors: int
    warnings: int
    notes: int
    names: list[str]  # names of the files, which :func:`names_job` compares with those of the tracks
    without: list[str]  # splits that are left out, as files of some of their tracks are missing

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> CheckAnswer:
        """Parse the message of a job."""
        try:
            answer = msgspec.convert({name: message[name] for name in cls.__annotations__}, cls)
        except (msgspec.ValidationError, KeyError) as error:
            raise JobError(f"returned an invalid answer: {error}") from None
        if len(answer.findings) > MAX_FINDINGS or min(answer.files, answer.errors, answer.warnings, answer.notes) < 0:
            raise JobError("returned an inconsistent answer")
        return answer

    def with_findings(self, other: CheckAnswer) -> CheckAnswer:
        """Add the findings of another answer."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in ("errors", "warnings", "notes")}
        rows = _most_severe([*self.findings, *other.findings])
        return replace(self, findings=rows, without=[*self.without, *other.without], **counts)


def check_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Unpack and check a submission.

    `task`: ``sent`` (names and paths), ``out`` (an empty folder), ``limits``, ``evaluations`` (as in the file),
    ``root`` (folder of label maps).

    Returns: the fields of :class:`CheckAnswer`.
    """
    evaluations = [Evaluation.model_validate(row) for row in task["evaluations"]]
    out = Path(task["out"])
    try:
        sent = [(name, Path(path)) for name, path in task["sent"]]
        unpacked = unpack(sent, out, Limits.model_validate(task["limits"]), lambda name: misfit(name, evaluations))
    except ArchiveError as error:
        names = clean_text(task["sent"][0][0]) if len(task["sent"]) == 1 else "the upload"
        return _answer([FoundProblem(names, None, "error", "archive", error.message)])
    if unpacked.refused:
        refused = ((clean_text(path), clean_text(why)) for path, why in unpacked.refused)
        return _answer([FoundProblem(path, None, "error", "refused", why) for path, why in refused])
    files, rows, done = list(unpacked.files), list[FoundProblem](), set[tuple[str, str]]()
    for number, name in enumerate(files):
        if number % 10 == 0:
            send({"progress": number, "total": len(files)})
        for evaluation in evaluations:
            pattern = Pattern(evaluation.estimates.path)
            values = pattern.match(name)
            if values is None:
                continue
            options, path = reading_options(evaluation, str(task["root"])), name
            if "levels" in options and "level" in values:
                path = fill(pattern.text, {key: value for key, value in values.items() if key != "level"})
            way = f"{evaluation.task} {evaluation.convention} {options}"
            if (path, way) in done:
                continue
            done.add((path, way))
            settings = {"convention": evaluation.convention, "annotator": evaluation.estimates.annotator, **options}
            try:
                checks = [*check_paths([out / path], evaluation.task, schema=False, role="estimate", **settings)]
                for check in checks:
                    for row in check.problems:
                        rows.append(FoundProblem(check.path, row.line, row.severity, row.rule, row.message))
            except MirflowError as error:
                line, text = (error.line, error.message) if isinstance(error, AnnotationError) else (None, str(error))
                rows.append(FoundProblem(path, line, "error", "unreadable", text))
    found = _answer(rows, out)
    return {**found, "files": len(files), "digest": unpacked.digest, "names": files}


def _answer(rows: Sequence[FoundProblem], folder: Path | None = None) -> dict[str, Any]:
    """Return the fields of an answer; paths and messages are relative to the folder of the files."""
    if folder is not None:
        texts = [
            [text.replace(f"{folder}/", "").replace(str(folder), "") for text in (row.path, row.message)]
            for row in rows
        ]
        rows = [replace(row, path=path, message=text) for row, (path, text) in zip(rows, texts, strict=True)]
    rows = list(dict.fromkeys(rows))
    counts = {f"{name}s": sum(row.severity == name for row in rows) for name in _SEVERITIES}
    listed = _most_severe([(row.path, row.line, row.severity, row.rule, row.message) for row in rows])
    findings = [
        [clean_text(path)[:_LONGEST], line, severity, rule[:100], clean_text(message)[:_LONGEST]]
        for path, line, severity, rule, message in listed
    ]
    return {"files": 0, "digest": "", "findings": findings, **counts, "names": [], "without": []}


def _most_severe(rows: list[Row]) -> list[Row]:
    rows = sorted(rows, key=lambda row: (row[0], row[1] or 0, _SEVERITIES.index(row[2])))
    worst = sorted(rows, key=lambda row: _SEVERITIES.index(row[2]))[:MAX_FINDINGS]
    return sorted(worst, key=lambda row: (row[0], row[1] or 0, _SEVERITIES.index(row[2])))


def names_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Compare the names of submitted files with those of the tracks, which no job that opens the files may know.

    `task`: ``names`` of the files, ``evaluations`` (as in the file) and ``expected`` (the fields of :class:`Expected`).
    Returns: as of :func:`check_job`, with findings about names alone, and ``without``: splits that are left out.
    """
    evaluations = [Evaluation.model_validate(row) for row in task["evaluations"]]
    expected = [Expected(**row) for row in task["expected"]]
    rows = list(_track_problems(task["names"], evaluations, expected))
    without = sorted({row.split for row in rows if row.split})
    rest = sorted({row.split for row in expected if row.asked}.difference(without))
    if not without or not rest:
        return _answer(rows)
    # What is complete is scored.
    scored = f", so that the system is scored on {' and '.join(rest)} alone; submit all under another name for"
    for index, row in enumerate(rows):
        if row.split:
            rows[index] = replace(row, severity="warning", message=f"{row.message}{scored} {row.split}")
    return _answer(rows) | {"without": without}


def misfit(name: str, evaluations: Sequence[Evaluation]) -> str:
    """Return the reason why a file name is rejected; empty if some evaluation reads the file."""
    if name.lower().endswith(ARCHIVES):
        return "is an archive: send its files without packing them twice"
    fitting = [evaluation for evaluation in evaluations if Pattern(evaluation.estimates.path).match(name) is not None]
    if not fitting:
        patterns = ", ".join(dict.fromkeys(repr(row.estimates.path) for row in evaluations))
        return f"is not one of the expected files: {patterns}"
    suffix = Path(name).suffix.lower()
    for evaluation in fitting:
        literal = Path(evaluation.estimates.path).suffix
        if evaluation.estimates.reading(evaluation.task).format is not None or ("{" not in literal and literal):
            return ""
    if not is_annotation_file(Path(name).name) and suffix not in _MORE_SUFFIXES:
        return f"has a suffix of other files: {suffix!r}" if suffix else "has no suffix"
    return ""


def _track_problems(
    files: Sequence[str], evaluations: Sequence[Evaluation], expected: Sequence[Expected]
) -> Iterator[FoundProblem]:
    known_files: set[str] = set()
    judged: set[str] = set()
    for evaluation in evaluations:
        pattern = Pattern(evaluation.estimates.path)
        matched = {name: pattern.match(name) for name in files}
        matching = {
            name: {key: normal_form(text) for key, text in values.items() if key != "format"}
            for name, values in matched.items()
            if values is not None
        }
        splits = [row for row in expected if row.evaluation == evaluation.name]
        if not matching:
            yield FoundProblem("", None, "note", "left_out", f"no estimates for {evaluation.name}, which is not scored")
            continue
        if "track" not in pattern.names:
            judged -= set(matching)
            known_files |= set(matching)
            # Such a file has the tracks of all splits.
            if any(split.hidden for split in splits) and sum(split.asked for split in splits) > 1:
                message = "contains several tracks: submit it for one split at a time"
                yield FoundProblem(next(iter(matching)), None, "error", "splits", message)
            continue
        # Files that belong to the same track, such as a.lab and a.jams.
        fields, seen = ("track", kind_of(evaluation.task).part or "", "level"), dict[tuple[str, ...], str]()
        for name, values in matching.items():
            folder = tuple(value for field, value in values.items() if field not in fields)
            key = (*(values.get(field, "") for field in fields), *folder)
            if key in seen:
                message = f"belongs to the same track as {seen[key]!r}: send one file per track"
                yield FoundProblem(name, None, "error", "twice", message)
            seen.setdefault(key, name)
        judged |= set(matching)
        for split in splits:
            shared = [name for name in pattern.names if name != "format" and split.places and name in split.places[0]]
            tracks = {tuple(place.get(name, "") for name in shared) for place in split.places}
            keys = {name: tuple(values.get(key, "") for key in shared) for name, values in matching.items()}
            known_files |= {name for name, key in keys.items() if key in tracks}
            missing = sorted("/".join(key) for key in tracks - set(keys.values()))
            if missing and split.asked:
                yield _missing(split, missing, len(tracks))
    if not all(split.named for split in expected):
        return  # the names of the tracks are secret
    names = sorted({place["track"] for split in expected for place in split.places if "track" in place})
    for index, name in enumerate(sorted(judged - known_files)):
        # Finding similar names is slow; suggestions for a few files are enough.
        near: list[str] = []
        if index < _NAMED:
            parsed = (Pattern(evaluation.estimates.path).match(name) or {} for evaluation in evaluations)
            track = next((normal_form(values["track"]) for values in parsed if "track" in values), name)
            near = difflib.get_close_matches(track, names, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        yield FoundProblem(name, None, "warning", "unknown_track", f"does not belong to any scored track{hint}")


def _missing(split: Expected, missing: Sequence[str], tracks: int) -> FoundProblem:
    listed = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
    names = f": {listed}" if split.named else " (the organisers' data have the names of the tracks)"
    what = f"{len(missing)} of {counted(tracks, 'track')} of {split.split} ({split.evaluation}) have no estimate{names}"
    hint = "files must have the names of the tracks, including case" if len(missing) == tracks else ""
    # Scores over a subset of a hidden split would reveal those tracks.
    hint = "a hidden split requires all tracks" if split.hidden else hint
    severity: Severity = "error" if hint else "warning"
    message = f"{what}; {hint or 'they count as zero'}"
    return FoundProblem("", None, severity, "missing", message, split.split if split.hidden else "")


def reading_options(evaluation: Evaluation, root: str) -> dict[str, Any]:
    """Return the reading options that an evaluation sets for its estimates."""
    side = evaluation.estimates
    options = {name: getattr(side, name) for name in OPTIONS if name in side.model_fields_set}
    if options.get("labels") is not None:
        options["labels"] = anchored(options["labels"], root)
    # For lyrics it may be a column of the tracks' metadata, which is resolved during scoring.
    if str(options.get("language", "")).startswith("{"):
        del options["language"]
    return options


def read_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Read a system's files for the evaluations of a split, and store the annotations.

    `task`: ``evaluations`` (as in the campaign file), ``root`` (of the split), ``files`` (of the system, relative to
    it), ``split``, ``places`` (of the references, by evaluation), ``out`` (an empty folder).
    """
    root, files = str(task["root"]), str(task["files"])
    for values in task["evaluations"]:
        path = Evaluation.model_validate(values).estimates.path
        if not Pattern(path).find(Path(root, files)):
            continue
        evaluation = Evaluation.model_validate(with_estimates(values, f"{files}/{path}"))
        resolved = resolve(evaluation, root, None)
        if isinstance(resolved, list):
            raise PipelineError([Problem(".".join(map(str, place)), why) for place, why in resolved])
        troubles: list[Trouble] = []
        estimates = find_estimates(evaluation, resolved, root, task["places"].get(evaluation.name, ()), troubles)
        target = Path(task["out"], reading_name(task["split"], evaluation.name))
        target.parent.mkdir(exist_ok=True)
        problems = [([str(step) for step in place], why) for place, why in troubles]
        write_readings(target, resolved.estimates.kind, estimates, problems)
    return {}


# Names of the tracks in the campaign's folder: references are on the workers' host, which may be another one.
_FILE = "tracks.json"


def may_tell(campaign: Campaign, split: str, evaluation: Evaluation) -> bool:
    """True if names of tracks may be revealed; for a hidden split only if a table of tracks lists them."""
    return evaluation.tracks is not None or not campaign.splits[split].hidden


def keep_places(folder: Path, campaign: Campaign, places: Mapping[str, Mapping[str, Places]]) -> None:
    """Write the names of the tracks for the server, if they may be revealed and have changed.

    `places`: placeholders of the references by split and evaluation.
    """
    revealed = {
        split: {
            evaluation.name: evaluations.get(evaluation.name, ())
            for evaluation in campaign.evaluations
            if may_tell(campaign, split, evaluation)
        }
        for split, evaluations in places.items()
    }
    data, file = msgspec.json.encode(revealed), folder / _FILE
    if not file.is_file() or file.read_bytes() != data:
        write_atomically(file, data)


def asked_files(folder: Path, campaign: Campaign) -> list[dict[str, Any]]:
    """List the expected files by split and evaluation, in the form of the HTTP API.

    Returns: with the ``pattern`` of their paths in a submission, an ``example`` (else the pattern), their ``names``
      (none if they are unknown or secret; with ``one_file`` for all tracks those of the tracks in it), and whether
      names of tracks may be ``told``.
    """
    try:
        places = msgspec.json.decode((folder / _FILE).read_bytes(), type=dict[str, dict[str, list[dict[str, str]]]])
    except (OSError, msgspec.DecodeError):
        places = {}  # no worker has started yet
    listed: list[dict[str, Any]] = []
    for split, evaluation in itertools.product(campaign.splits, campaign.evaluations):
        told, path = may_tell(campaign, split, evaluation), evaluation.estimates.path
        fields = Pattern(path).names
        # Estimates may share the suffix of the references, if these are files.
        suffix = Path(evaluation.reference.path or "").suffix
        format = "" if "{" in suffix else suffix[1:]
        listing = places.get(split, {}).get(evaluation.name, ()) if told else ()
        rows = [{"format": format, **place} for place in listing]
        paths = [fill(path, {name: place[name] for name in fields if place.get(name)}) for place in rows]
        one_file = "track" not in fields
        names = [place.get("track", "") for place in rows] if one_file else paths
        about = {"split": split, "evaluation": evaluation.name, "task": evaluation.task, "pattern": path}
        about["example"] = next(iter(paths), path)
        listed.append({**about, "one_file": one_file, "names": sorted({*names}), "told": told})
    return listed
