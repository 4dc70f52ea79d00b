"""Patches of references: made from corrected copies, applied, and what each does to aggregates and ranks of systems.

A patch lists corrections of single rows. For its effects, scores come from the store of the pipeline where this has
them, and the others are computed; the results are datasets with their tables.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ..analysis.aggregation import aggregate_query
from ..analysis.lookup import headline_metric
from ..analysis.query_options import Names, make_query
from ..analysis.scores import names_of
from ..annotations.annotation import Annotation, AnnotationLike
from ..annotations.labelled import to_dataset
from ..annotations.schema import kind_of
from ..engine.runs import open_plan, place_of_store
from ..errors import AnnotationError, QueryError, counted, shorten, suggest
from ..evaluation.evaluate import sources_by_track
from ..metrics.measures import SIGN_OF
from ..pipeline.load import load_pipeline, plan_pipeline
from ..pipeline.plan import EvaluationPlan, stale_cells
from ..ragged import Bool, Float
from ..readers.objects import to_annotation
from ..readers.options import Reading
from ..readers.patches import (
    PatchedSource,
    PatchedTrack,
    ReferencePatch,
    apply_edits,
    edits_between,
    parse_patch,
    read_patch,
)
from ..readers.sources import source_at
from ..reports.tables import Table, Tabulation
from ..store.packs import open_pack
from ..store.read import open_groups, read_scores

if TYPE_CHECKING:
    import xarray as xr

PatchLike = str | Path | Mapping[str, Any] | ReferencePatch
"""A patch file, its values, or a patch that was read."""
NO_DIGEST = "0" * 16  # digest of references in memory, which have no file
_LONGEST = 100  # characters of the names of tracks in tables for people


def make_patch(
    original: AnnotationLike,
    edited: AnnotationLike,
    task: str,
    *,
    author: str,
    reason: str,
    track: str | None = None,
    annotator: str = "",
    date: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Make a patch from references and their corrected copies.

    Parameters
    ----------
    original, edited : path or annotation
        Two files; two folders, whose files are matched by name; or two annotations in memory.
    task : str
    author, reason : str
        Who answers for the corrections, and why the references are wrong.
    track : str or None
        Name of the track; None: the file's name without suffix.
    annotator : str
        Of the reference, if its track has several.
    date : str or None
        As 2026-11-27; None: today.
    **options
        Options of reading, as for :func:`mirflow.load`.

    Returns
    -------
    dict
        The patch as JSON values, with a change for each reference that differs.

    Raises
    ------
    AnnotationError
        If nothing differs, or a file cannot be read.

    Examples
    --------
    >>> import mirflow
    >>> wrong, right = ([[0.0, 2.0]], ["C:maj"]), ([[0.0, 2.0]], ["C:min"])
    >>> patch = mirflow.make_patch(wrong, right, "chord", author="Ada", reason="by ear", track="a", date="2026-11-27")
    >>> patch["tracks"][0]["rows"][0]["new"]
    [{'start': 0.0, 'end': 2.0, 'label': 'C:min'}]
    >>> mirflow.apply_patch(wrong, patch).label.values.tolist()
    ['C:min']
    """
    when = datetime.date.today().isoformat() if date is None else date
    pairs: Iterable[tuple[str, Annotation, Annotation, str]]
    if not isinstance(original, str | Path) or not isinstance(edited, str | Path):
        if track is None:
            raise AnnotationError("annotations in memory need the name of their track")
        own, other = (to_annotation(annotation, task, **options) for annotation in (original, edited))
        pairs = [(track, own, other, NO_DIGEST)]
    else:
        paths, reading = (Path(original), Path(edited)), Reading.of(task, **options)
        for path in paths:
            if not path.exists():
                raise AnnotationError("no such file or folder", path=path)
        if paths[0].is_dir() != paths[1].is_dir():
            raise AnnotationError("give two files or two folders, not one of each", path=paths[1])
        if paths[0].is_dir():
            left, right = (sources_by_track(path, reading, annotator or None) for path in paths)
            unknown = next((name for name in right if name not in left), None)
            if unknown is not None:
                raise AnnotationError(f"track {unknown!r} has no original; {suggest(unknown, left)}", path=paths[1])
        else:
            name = track or paths[0].stem
            left, right = ({name: source_at(path, reading, annotator or None)} for path in paths)
        originals = ((name, *left[name].read(), source) for name, source in right.items())
        pairs = ((name, own, source.read()[0], digest) for name, own, digest, source in originals)
    tracks = []
    for name, own, other, digest in pairs:
        if edits := edits_between(own, other):
            tracks.append(PatchedTrack(name, digest, edits, author, reason, when, annotator))
    if not tracks:
        raise AnnotationError(
            "the edited references have the same rows as the original ones: there is nothing to patch"
        )
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(ReferencePatch(task, tuple(tracks))))
    parse_patch(made)
    return made


def apply_patch(annotation: AnnotationLike, patch: PatchLike, track: str | None = None) -> xr.Dataset:
    """Apply the corrections of one track to its reference.

    Parameters
    ----------
    annotation : annotation
        The reference, as :func:`mirflow.load` gives it. Its digest is not compared.
    patch : path, mapping or ReferencePatch
    track : str or None
        Needed if the patch is for several tracks.

    Returns
    -------
    xr.Dataset

    Raises
    ------
    AnnotationError
        If the patch is invalid or lacks the track, or a row is not there.
    """
    if not isinstance(patch, ReferencePatch):
        patch = parse_patch(patch) if isinstance(patch, Mapping) else read_patch(patch)
    tracks = [patched for patched in patch.tracks if track in (None, patched.track)]
    names = list(dict.fromkeys(patched.track for patched in patch.tracks))
    if len({(patched.track, patched.annotator) for patched in tracks}) != 1:
        why = "names several tracks" if track is None or tracks else f"does not name the track {track!r}"
        raise AnnotationError(f"the patch {why}: choose from {', '.join(names)}")
    own = to_annotation(annotation, patch.task)
    for one in tracks:
        own = apply_edits(own, one.rows)
    return to_dataset(own)


def patch_effects(
    pipeline: str | Path,
    patches: Sequence[str | Path] = (),
    *,
    metric: Names = None,
    group: str | None = None,
    root: str | Path | None = None,
    store: str | Path | None = None,
) -> Tabulation[xr.Dataset]:
    """Aggregates and ranks of all systems without and with each patch of a pipeline, as ``mirflow patch`` prints them.

    Scores of other tracks come from the store of the pipeline, if it has them; those of patched tracks are computed.

    Parameters
    ----------
    pipeline : path
    patches : sequence of paths
        Further patches to try, for all evaluations with references of their kind.
    metric : str or sequence of str
        None: the headline metric of each evaluation.
    group : str or None
        One of the evaluations; None: all.
    root, store : path or None
        In place of those of the file.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation and patch ``before``, ``after``, ``rank_before`` and ``rank_after`` over (system, metric);
        the attribute ``patch`` names the file, and ``tracks`` those that it corrects.

    Raises
    ------
    PipelineError, QueryError
        If the pipeline or a patch is invalid, or there is no patch.
    """
    if patches:
        model, folder = load_pipeline(pipeline), Path(pipeline).absolute().parent
        place = Path(folder, model.root) if root is None else Path(root).absolute()
        kinds = {os.path.realpath(path): kind_of(read_patch(path).task).name for path in patches}
        evaluations = []
        for one in model.evaluations:
            own = [os.path.realpath(Path(place, path)) for path in one.reference.patch]
            more = [path for path, kind in kinds.items() if kind == kind_of(one.task).name and path not in own]
            reference = one.reference.model_copy(update={"patch": [*one.reference.patch, *more]})
            evaluations.append(one.model_copy(update={"reference": reference}))
        changed = model.model_copy(update={"evaluations": evaluations, "store": str(Path(folder, model.store))})
        planned = plan_pipeline(changed, root=place, code=folder, open_pack=open_pack)
    else:
        planned = plan_pipeline(pipeline, root=root, open_pack=open_pack)
    path = place_of_store(planned, store)
    found: list[xr.Dataset] = []
    for plan in planned.plans:
        if plan.patches and group in (None, plan.name):
            found += _effects(plan, path, metric, {os.path.realpath(patch): str(patch) for patch in patches})
    if not found:
        raise QueryError("no evaluation has a patch; name one in reference.patch, or after the pipeline")

    of_all, values = ("patch", "group", "task", "tracks"), ("before", "after", "rank_before", "rank_after")
    return Tabulation(
        found,
        lambda width: [_readable(ds) for ds in found],
        lambda: [
            Table(
                (*of_all, "metric", "system", *values),
                tuple(
                    (*(ds.attrs[name] for name in of_all), name, system, *(float(cell[value]) for value in values))
                    for ds in found
                    for name in names_of(ds, "metric")
                    for system in names_of(ds, "system")
                    for cell in [ds.sel(system=system, metric=name)]
                ),
            )
        ],
    )


def _effects(plan: EvaluationPlan, store: str | Path, metric: Names, given: Mapping[str, str]) -> Iterator[xr.Dataset]:
    """The effects of each patch of a plan; those that were `given`, by their real paths, are named as they were."""
    scores = _scores(plan, store)
    query = make_query("query", metric or headline_metric(scores))
    after = aggregate_query(scores, query, plan.name)
    for patch in plan.patches:
        tracks = list(dict.fromkeys(change["track"] for change in patch["changes"]))
        without = scores.copy(deep=True)
        places = [plan.tracks.index(track) for track in tracks]
        references = []  # without what the patch corrects
        for of_track in plan.references:
            left = []
            for reference in of_track:
                source = reference.source
                if isinstance(source, PatchedSource):
                    edits = tuple(edit for edit in source.edits if edit[0] != str(patch["file"]))
                    reference = replace(reference, source=replace(source, edits=edits) if edits else source.source)
                left.append(reference)
            references.append(tuple(left))
        fresh = open_plan(_of_tracks(replace(plan, references=tuple(references)), places)).compute()
        for name in _VARIABLES:
            without[name].loc[{"track": tracks}] = fresh[name].sel(track=tracks).transpose(*without[name].dims).values
        before = aggregate_query(without, query, plan.name).sel(system=after["system"].values)
        made = {"before": before["value"], "after": after["value"]}
        for name, result in (("rank_before", before), ("rank_after", after)):
            # 1 and how many are better; NaN without a value or a better direction.
            value = result["value"].transpose("system", "metric")
            ways = names_of(result, "orientation")
            signed: Float = value.values * np.array([SIGN_OF.get(way) or np.nan for way in ways])
            better = (signed[np.newaxis, :, :] > signed[:, np.newaxis, :]).sum(axis=1)
            made[name] = value.copy(data=np.where(np.isnan(signed), np.nan, 1.0 + better))
        attrs = {
            "group": plan.name,
            "task": plan.task,
            "patch": given.get(patch["file"], patch["file"]),
            "tracks": ", ".join(tracks),
        }
        yield after[["value"]].drop_vars("value").assign(made).assign_attrs(attrs)


_VARIABLES = ("score", "weight", "status")


def _scores(plan: EvaluationPlan, store: str | Path) -> xr.Dataset:
    lazy = open_plan(plan)
    lazy = lazy.drop_vars([name for name in lazy.data_vars if name not in _VARIABLES and name != "duration"])
    stored = read_scores(store).get(plan.name) if Path(str(store)).exists() else None
    held = open_groups(store).get(plan.name) if stored is not None else None
    stale: Bool = np.asarray(stale_cells(plan, held).cells.any(axis=0))
    if stored is None or stale.all():
        return lazy.compute()
    fresh = open_plan(_of_tracks(plan, np.flatnonzero(stale).tolist())).compute() if stale.any() else None
    kept = [track for track, out in zip(plan.tracks, stale.tolist(), strict=True) if not out]
    found = {}
    for name in lazy.data_vars:
        values = np.empty(lazy[name].shape, dtype=lazy[name].dtype)
        dims = tuple(map(str, lazy[name].dims))
        for part, mask in ((stored, ~stale), (fresh, stale)):
            if part is not None and mask.any():
                tracks = kept if part is stored else list(np.array(plan.tracks)[stale])
                named = {dim: tracks if dim == "track" else names_of(lazy, dim) for dim in dims}
                index = tuple(mask if dim == "track" else slice(None) for dim in dims)
                values[index] = part[name].sel(named).transpose(*dims).values
        found[name] = (dims, values)
    return lazy.assign(found)


def _of_tracks(plan: EvaluationPlan, places: Sequence[int]) -> EvaluationPlan:
    return replace(
        plan,
        tracks=tuple(plan.tracks[index] for index in places),
        references=tuple(plan.references[index] for index in places),
        estimates=tuple(tuple(row[index] for index in places) for row in plan.estimates),
        stamps=plan.stamps[:, list(places)],
        track_meta={name: tuple(column[index] for index in places) for name, column in plan.track_meta.items()},
    )


def _readable(ds: xr.Dataset) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for metric in names_of(ds, "metric"):
        own = ds.sel(metric=metric)
        order = np.argsort(own["rank_after"].values, kind="stable").tolist()
        for system in (names_of(ds, "system")[row] for row in order):
            one = {name: float(own[name].sel(system=system)) for name in ds.data_vars}
            ranks = [f"{one[name]:.0f}" if np.isfinite(one[name]) else "" for name in ("rank_before", "rank_after")]
            rank = " -> ".join(dict.fromkeys(ranks)) or None
            rows.append((system, metric, one["before"], one["after"], one["after"] - one["before"], rank))
    moved = int((ds["rank_before"] != ds["rank_after"]).where(ds["rank_before"].notnull(), False).sum())
    notes = f"corrected: {shorten(ds.attrs['tracks'], _LONGEST)}", f"{counted(moved, 'rank')} changed"
    title = f"{ds.attrs['group']}: without and with {ds.attrs['patch']}"
    return Table(("system", "metric", "before", "after", "change", "rank"), tuple(rows), title, notes)
