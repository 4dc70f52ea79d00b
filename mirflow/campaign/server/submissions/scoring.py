"""Scoring of a submission by an ordinary run, whose scores are then joined to the store of a split; in child processes.

Only the annotations that a confined process has read before (:func:`.checking.read_job`) are scored. A submission is
run alone, and its scores are kept as files until they are joined to the store of the split: no other submission is
read, and no score of it is computed again. Scores in a store are never replaced; metrics of new rules become new
columns. Another job publishes the public copy of a store, which has the public systems alone.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ....analysis.inference.confidence_intervals import intervals
from ....analysis.queries import headline_metrics
from ....analysis.query_options import Query
from ....analysis.scores import names_of
from ....causes.low_cells import causes_of_run, describe
from ....engine.runs import run_plans, same_content, same_results
from ....errors import AnnotationError, MirflowWarning, PipelineError, QueryError, StoreError
from ....pipeline.document import dump_document, values_without_folders
from ....pipeline.load import plan_pipeline
from ....pipeline.model import Pipeline
from ....progress import Progress
from ....store.cells import Entry, GroupContent, Status, concatenate_cells, read_message, with_measures, write_message
from ....store.format import PATCHES, SIGNATURES, WARNINGS, dense_cells, loaded, of_systems
from ....store.generations import remove
from ....store.journal import Journal, read_content, write_content
from ....store.packs import open_pack
from ....store.read import dataset_of, open_groups, read_scores
from ....store.write import StoreWriter, software_versions
from ...file import Campaign, pipeline_of, reading_name, reference_tracks, split_root
from .confinement import SendMessage
from .releases import MISSING, compare_pair, finite_or_none

_ROOT, _PIPELINE = "root", "pipeline"
_TURN = 60.0  # seconds to wait for another worker that writes to the same store
_MERGED = ("parameters", SIGNATURES, "declared_metrics")  # attributes that map metrics to values


class RulesError(StoreError):
    """The evaluations or references of a campaign differ from those that a store was scored with."""


class _SentProgress(Progress):
    send: SendMessage

    def start(self, tracks: int | None) -> None:
        """Start counting towards a number of tracks."""
        super().start(tracks)
        self.show(0)

    def show(self, seconds: float) -> None:
        """Send the number of finished tracks."""
        self.send({"progress": self.done, "total": self.total or 0})


def tracks_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """List the references of some ``splits`` of a ``campaign`` (its values for scoring, and its ``path``).

    Returns: ``places`` by split and evaluation, and their ``folders`` by split.
    """
    campaign = Campaign.of(task["campaign"])
    folders: dict[str, set[str]] = {split: set() for split in task["splits"]}
    places = {
        split: reference_tracks(task["path"], campaign, split, open_pack, found_in)
        for split, found_in in folders.items()
    }
    return {"places": places, "folders": {split: sorted(found_in) for split, found_in in folders.items()}}


def score_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Score a system on a split, and keep its scores as files.

    `task`: ``campaign`` (its values for scoring) and its ``path``, ``split``, ``system``, ``readings`` (folder with its
    annotations) and ``scratch`` (an existing folder for the scores).

    Returns: ``tracks``: number of scored tracks by evaluation, including those without an estimate. ``causes``: what
      would make low scores right, in a few lines; none of a hidden split, of whose references they would tell.
    """
    journal = Journal(Path(task["scratch"], f"{task['split']}.journal"))
    campaign, split = Campaign.of(task["campaign"]), str(task["split"])
    readings, system = Path(task["readings"]), str(task["system"])
    names = [evaluation.name for evaluation in campaign.evaluations]
    names = [name for name in names if (readings / system / reading_name(split, name)).is_file()]
    if not names:
        raise StoreError(f"{readings / system / split}: the readings of {system!r} are missing")
    values = pipeline_of(task["path"], campaign, split, readings, [system], evaluations=names)
    pipeline = Pipeline.model_validate(values)
    with warnings.catch_warnings():
        # Warnings concern the files of one system; the store keeps them.
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            plans = plan_pipeline(pipeline, code=Path(task["path"]).parent, open_pack=open_pack).plans
            progress = _SentProgress()
            progress.send = send
            reports = run_plans(plans, journal, scheduler=pipeline.execution.scheduler, progress=progress)
        except PipelineError as error:
            # Invalid estimates are the submission's fault; any other error is the organiser's.
            if all(".estimates" in problem.where for problem in error.problems):
                raise AnnotationError("; ".join(map(str, error.problems))) from None
            raise
    remove(Path(task["scratch"], task["split"]))
    for report in reports:
        write_content(Path(task["scratch"], task["split"], f"{report.plan.name}.scores"), report.content)
    remove(journal.folder)
    # Files for tracks of other splits have no reference here.
    counts = {report.plan.name: {**report.status, Status.missing_reference: 0} for report in reports}
    causes: list[str] = []
    if not campaign.splits[split].hidden:
        computed = [(report.plan, report.content, sum(report.counts.values())) for report in reports]
        causes = describe(causes_of_run(computed).findings)
    return {"tracks": {name: sum(status.values()) for name, status in counts.items()}, "causes": causes}


def release_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Join the scores of a system to the store of a split, and compare it with others.

    `task`: as for :func:`score_job`, with ``store`` and ``others`` (systems to compare with, by evaluation).
    Returns: ``values`` and ``comparisons`` by evaluation, each with its number of tracks (``asked``).
    """
    campaign, system, others = Campaign.of(task["campaign"]), str(task["system"]), task["others"]
    folder = Path(task["scratch"], task["split"])
    places = {evaluation.name: folder / f"{evaluation.name}.scores" for evaluation in campaign.evaluations}
    new = {name: read_content(place) for name, place in places.items() if place.is_file()}
    if not new:  # they were removed: the worker computes them again
        raise StoreError(f"{folder}: no scores of {system!r} are kept here")
    for name, content in new.items():
        if (content.name, content.systems) != (name, (system,)):
            raise StoreError(f"{places[name]}: contains scores of {content.name} and {', '.join(content.systems)}")
    split = str(task["split"])
    with StoreWriter(Path(task["store"]), _TURN) as writer:
        before = writer.contents()
        joined = before | {name: join(before.get(name), content) for name, content in new.items()}
        if any(content is not before.get(name) for name, content in joined.items()):
            text = dump_document(pipeline_of(task["path"], campaign, split, Path(task["readings"])))
            root = split_root(task["path"], campaign, split)
            attrs = {"versions": software_versions(), _PIPELINE: text, _ROOT: str(root)}
            contents = [replace(joined[name], attrs={**joined[name].attrs, **attrs}) for name in sorted(joined)]
            writer.publish(contents, {"name": split, **dict(sorted(attrs.items()))})
    scored = {
        name: dataset_of(
            loaded(joined[name].part([system, *(row for row in others.get(name, ()) if row in joined[name].systems)]))
        )
        for name in sorted(new)
    }
    comparisons: dict[str, dict[str, Any]] = {name: {} for name in others if name in new}
    for name, compared in comparisons.items():
        ds = scored[name]
        for other in others[name]:
            row = compare_pair(ds, system, other, headline_metrics(ds)[0]) if other in ds["system"].values else None
            compared |= {} if row is None else {other: {**row, "asked": ds.sizes["track"]}}
    return {"values": {name: values_of(ds, system) for name, ds in scored.items()}, "comparisons": comparisons}


def values_of(ds: Any, system: str) -> list[dict[str, Any]]:
    """Aggregate a system over the tracks of a split by the metrics of a short table; missing tracks count as zero.

    Returns: ``metric``, ``value`` with the ends of its interval (``low``, ``high``), numbers of ``tracks`` with a value
      and of those ``asked``, and ``orientation``.
    """
    metrics = headline_metrics(ds)
    if not metrics:
        return []
    query = Query(metric=metrics, exact=True, system=system, missing=MISSING)
    try:
        values = intervals(ds, query)
    except QueryError:
        return []
    columns = {name: values[name].transpose("system", ..., "metric").values for name in ("value", "low", "high", "n")}
    row = {name: column.reshape(-1, column.shape[-1])[0] for name, column in columns.items()}
    described = zip(names_of(values, "metric"), names_of(values, "orientation"), strict=True)
    return [
        {
            "metric": metric,
            **{name: finite_or_none(row[name][index]) for name in ("value", "low", "high")},
            "tracks": int(row["n"][index]),
            "asked": ds.sizes["track"],
            "orientation": orientation,
        }
        for index, (metric, orientation) in enumerate(described)
    ]


def join(before: GroupContent | None, new: GroupContent) -> GroupContent:
    """Add the scores of one system to those of others; returns `before` itself if nothing is new.

    Results of others stay where they are stored.

    `new`: scores of one system; its tracks without a reference are left out.
    """
    none = new.cells.status == Status.missing_reference
    gone = {track for track, missing in zip(new.cells.track, none.tolist(), strict=True) if missing}
    if gone:
        rows = [index for index, track in enumerate(new.tracks) if track not in gone]
        coords = {name: [values[index] for index in rows] for name, values in new.track_coords.items()}
        cells = new.cells.take(np.flatnonzero(~none))
        tracks = tuple(new.tracks[index] for index in rows)
        new = replace(new, tracks=tracks, cells=cells, track_coords=coords)
    if before is None:
        return new
    _demand_same_rules(before, new)
    (system,) = new.systems
    measures = (*before.measures, *(measure for measure in new.measures if measure not in before.measures))
    has = system in before.systems
    if has:
        digests = dense_cells(before.part([system]), ["digest"])["digest"][0].tolist()
        estimates = {track: digest.partition(":")[2] for track, digest in zip(before.tracks, digests, strict=True)}
        for track, digest in zip(new.cells.track, new.cells.digest, strict=True):
            if estimates.get(track, "") and estimates[track] != digest.partition(":")[2]:
                raise AnnotationError(f"another submission was already scored as {system!r}: choose another name")
    if has and measures == before.measures and set(new.tracks) <= set(before.tracks):
        return before
    # What is stored is kept, and what is new is added.
    stored = loaded(before.part([name for name in new.systems if name in before.systems])).cells
    kept, cells = with_measures(stored, measures), with_measures(new.cells, measures)
    columns = [index for index, name in enumerate(measures) if name in before.measures]
    rows_of = {cell: row for row, cell in enumerate(zip(kept.system, kept.track, strict=True))}
    for row, cell in enumerate(zip(cells.system, cells.track, strict=True)):
        if cell in rows_of:
            cells.score[row, columns] = kept.score[rows_of[cell], columns]
            cells.weight[row, columns] = kept.weight[rows_of[cell], columns]
    systems = before.systems if has else (*before.systems, system)
    tracks = tuple(sorted({*before.tracks, *new.tracks}))
    # The attributes of the first ones take precedence.
    old, added = before.attrs, new.attrs
    merged = {key: {**added.get(key, {}), **old.get(key, {})} for key in _MERGED if key in added or key in old}
    warned = [*old.get(WARNINGS, ()), *added.get(WARNINGS, ())]
    distinct = [warning for index, warning in enumerate(warned) if warning not in warned[:index]]
    return GroupContent(
        before.name,
        systems,
        tracks,
        concatenate_cells([with_measures(before.cells, measures), cells]),
        _coords(before.measures, before.metric_coords, new.measures, new.metric_coords, measures),
        _coords(before.systems, before.system_coords, new.systems, new.system_coords, systems),
        _coords(before.tracks, before.track_coords, new.tracks, new.track_coords, tracks),
        {**old, **merged, **({WARNINGS: distinct} if distinct else {})},
        before.stored,
    )


def _demand_same_rules(before: GroupContent, new: GroupContent) -> None:
    for measure, signature in new.attrs.get(SIGNATURES, {}).items():
        if before.attrs.get(SIGNATURES, {}).get(measure, signature) != signature:
            raise RulesError(
                f"{new.name}: {measure} is defined differently than for earlier submissions (convention, parameters, "
                f"options of reading): add the new definition as an evaluation with another name, such as {new.name}_2"
            )
    # All systems of a store were scored with the same references.
    references: dict[str, str] = {}
    lacking = set(new.tracks) & set(before.tracks)
    for system in reversed(before.systems):
        if not lacking:
            break
        digests = dense_cells(before.part([system]), ["digest"])["digest"][0].tolist()
        paired = zip(before.tracks, digests, strict=True)
        references |= {track: digest.partition(":")[0] for track, digest in paired if track in lacking}
        lacking -= {track for track, digest in references.items() if digest}
    for track, digest in zip(new.cells.track, new.cells.digest, strict=True):
        was, now = references.get(track, ""), digest.partition(":")[0]
        if was and now and was != now:
            raise RulesError(
                f"{new.name}: the reference of track {track!r} differs from the one used for earlier submissions: "
                "restore it, and put corrected references into a new folder and evaluation"
            )
    lost = sorted(set(before.tracks) - set(new.tracks))
    if lost:
        raise RulesError(
            f"{new.name}: the reference of track {lost[0]!r}, used for earlier submissions, is missing: restore it"
        )


_Coords = Mapping[str, Sequence[Entry]]


def _coords(
    names: Sequence[str], coords: _Coords, more: Sequence[str], others: _Coords, whole: Sequence[str]
) -> dict[str, list[Entry]]:
    merged: dict[str, list[Entry]] = {}
    for key in dict.fromkeys([*coords, *others]):
        values = dict(zip(more, others[key], strict=True)) if key in others else {}
        first = dict(zip(names, coords[key], strict=True)) if key in coords else {}
        values |= {name: value for name, value in first.items() if value not in (None, "") and value == value}
        listed = [values.get(name) for name in whole]
        texts = any(isinstance(value, str) for value in listed)
        # None and NaN stay as they are.
        merged[key] = [str(value) if texts and value is not None and value == value else value for value in listed]
    return merged


def publish_job(task: Mapping[str, Any], send: SendMessage) -> dict[str, Any]:
    """Write the public copy of a split's store, or remove it; an up-to-date copy is left alone. `task`: ``campaign``
    (its values for scoring) and its ``path``, ``split``, ``systems`` (folder with their files), ``readings`` (folder
    with their annotations), ``store``, ``copy``, and ``public`` (coordinates by name of the system).
    """
    store, copy = Path(task["store"]), Path(task["copy"])
    public: dict[str, dict[str, Entry]] = task["public"]
    with ExitStack() as stack:
        if store.exists():  # nobody publishes it while its files are linked
            stack.enter_context(StoreWriter(store, _TURN))
        groups = open_groups(store) if store.exists() else {}
        contents = []
        for content in groups.values():
            rows = [index for index, name in enumerate(content.systems) if name in public]
            if not rows:
                continue
            systems = tuple(content.systems[index] for index in rows)
            coords: dict[str, Sequence[Entry]] = {
                name: [values[index] for index in rows] for name, values in content.system_coords.items()
            }
            for key in dict.fromkeys(key for facts in public.values() for key in facts):
                coords[key] = [public[name].get(key) for name in systems]
            part = content.part(systems)
            contents.append(replace(part, system_coords=coords, attrs=of_systems(content.attrs, systems)))
        if not contents and not copy.exists():
            return {"systems": 0}
        return _publish_copy(task, contents, stack.enter_context(StoreWriter(copy, _TURN)))


def _publish_copy(task: Mapping[str, Any], contents: list[GroupContent], writer: StoreWriter) -> dict[str, Any]:
    """Publish the public part of a split's store; what is not new are links to its files, or to those of the copy."""
    from ...site.changes import CHANGES, Change, find_changes, retell, state_of

    public: dict[str, dict[str, Entry]] = task["public"]
    listed = [name for name in public if any(name in content.systems for content in contents)]
    published = writer.contents()
    attrs: dict[str, Any] = {}
    if listed:
        # The copy is served unchanged, so it must not contain details of this host.
        campaign = Campaign.of(task["campaign"])
        pipeline = pipeline_of(task["path"], campaign, task["split"], Path(task["readings"]), listed)
        attrs = {_PIPELINE: dump_document(values_without_folders(pipeline))}
        places = (os.path.relpath(task["systems"], pipeline["root"]), str(task["systems"]))
        contents = [_with_short_messages(part, published.get(part.name), places) for part in contents]
    for index, content in enumerate(contents):
        attributes = {key: value for key, value in content.attrs.items() if key not in (_ROOT, _PIPELINE, PATCHES)}
        contents[index] = replace(content, attrs={**attributes, **attrs})
    # Readers are notified of the changes of the newest generation: do not publish one without changes.
    if published.keys() != {part.name for part in contents} or not all(
        same_content(published[part.name], part) for part in contents
    ):
        shown = {name for name in listed if "withdrawn" not in public[name]}
        about: dict[str, Any] = {"name": task["split"], "versions": software_versions(), **attrs}
        # What the current generation changed or lists, for the next one.
        number = writer.current
        folders = {index: writer.folder / f"generation-{index:06d}" for index in (number - 1, number)}
        boards = {index: read_scores(folder) for index, folder in folders.items() if folder.is_dir()}
        if number in boards:
            states = {index: state_of(task["split"], board) for index, board in boards.items()}
            is_known = number == 1 or number - 1 in states
            changes = find_changes(states.get(number - 1, {}), states[number]) if is_known else []
            changes += msgspec.convert(writer.attrs().get(CHANGES, []), list[Change])
            systems = {name for board in boards.values() for ds in board.values() for name in names_of(ds, "system")}
            about[CHANGES] = msgspec.to_builtins(retell(changes, systems, shown))
        writer.publish(contents, about)
    earlier = {
        system for folder in writer.earlier() for content in open_groups(folder).values() for system in content.systems
    }
    if not earlier <= set(listed):
        writer.forget()
    return {"systems": len(listed)}


def _with_short_messages(
    content: GroupContent, published: GroupContent | None, folders: Collection[str]
) -> GroupContent:
    """Replace the folders of this host in messages by system and file name.

    Systems without such messages stay where they are stored; the others are those of the public copy, unless they
    changed. Files that both stores share need no look.
    """
    copies = {} if published is None else published.stored
    texts = tuple(_without_folders(message, folders) for message in content.cells.message)
    stored, parts = dict(content.stored), [replace(content.cells, message=texts)]
    for system, source in content.stored.items():
        if system in content.silent or (system in copies and copies[system].shares(source, system)):
            continue
        part = content.part([system])
        messages = dense_cells(part, ["message"])["message"][0].tolist()
        if all(_without_folders(message, folders) == message for message in messages):
            continue
        part = loaded(part)
        texts = tuple(_without_folders(message, folders) for message in part.cells.message)
        part = replace(part, cells=replace(part.cells, message=texts))
        if (
            published is not None
            and system in copies
            and (published.tracks, published.measures) == (content.tracks, content.measures)
            and same_results(published, part, system)
        ):
            stored[system] = copies[system]
        else:
            del stored[system]
            parts.append(part.cells)
    return replace(content, cells=concatenate_cells(parts), stored=stored)


def _without_folders(message: str, folders: Collection[str]) -> str:
    remarks = read_message(message)
    for folder in folders:
        remarks = tuple(replace(remark, text=remark.text.replace(f"{folder}{os.sep}", "")) for remark in remarks)
    return write_message(remarks)
