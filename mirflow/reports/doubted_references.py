"""References that systems contradict together: read from the files that a store names, and listed.

The places become datasets and tables. A page lists them with the rows of the reference that a patch replaces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.lookup import find_labels
from ..analysis.queries import ScoresLike
from ..analysis.query_options import Names, as_names
from ..analysis.scores import names_of
from ..analysis.where_to_look import Disagreement, TrackAnnotations, find_disagreements
from ..annotations.annotation import Annotation
from ..annotations.schema import kind_of
from ..errors import QueryError, counted, shorten
from .origins import Files, Roots, Shelf, evaluations_with_files
from .tables import Table, Tabulation, rows_of

if TYPE_CHECKING:
    import xarray as xr

COLUMNS = ("start", "end", "reference", "consensus", "systems", "of", "agreement", "weight")
"""Fields of a disagreement that datasets and tables have, beside its track and annotator."""
_LISTED = 20
"""Disagreements in tables for people."""
_LONGEST = 40
"""Characters of a label in tables for people."""


def consensus(
    store: ScoresLike,
    system: Names,
    tracks: Names,
    *,
    group: str | None,
    least: float,
    shortest: float,
    worst: int | None,
    root: Roots,
) -> Tabulation[xr.Dataset]:
    """Places at which the systems of a store agree against the reference; see :func:`mirflow.consensus`.

    See :func:`mirflow.analysis.where_to_look.find_disagreements` for how labels and events are compared.
    """
    import xarray as xr

    if not 0.5 < least <= 1:
        raise QueryError(f"invalid least {least}: expected a share above 0.5, up to 1")
    evaluations, reasons = evaluations_with_files(store, root, group)
    found: list[xr.Dataset] = []
    shelf = Shelf()
    for name, ds, files in evaluations:
        chosen_systems, chosen_tracks = (
            names_of(ds, dim, find_labels(ds, dim, as_names(names)))
            for dim, names in (("system", system), ("track", tracks))
        )
        task = files[0].plan.task
        try:
            listed = find_disagreements(
                task, list(read_annotations(files, chosen_systems, chosen_tracks, shelf)), least, shortest
            )
        except QueryError:
            if group is not None:
                raise
            reasons.append(f"{name}: left out, as its annotations are neither labels nor events")
            continue
        dtype = None if listed[:worst] else float
        columns: dict[str, Any] = {
            column: ("disagreement", np.array([getattr(one, column) for one in listed[:worst]], dtype=dtype))
            for column in ("track", "annotator", *COLUMNS)
        }
        for column in ("start", "end"):
            columns[column] = (*columns[column], {"units": "s"})
        found.append(xr.Dataset(columns, attrs={"group": name, "task": task, "total": len(listed)}))
    if not found:
        raise QueryError("; ".join(dict.fromkeys(reasons)))
    shown = [ds for ds in found if ds.attrs["total"]] or found[:1]
    more = [Table((), (), notes=tuple(reasons))] if reasons else []
    return Tabulation(
        found,
        lambda width: [*map(_readable, shown), *more],
        lambda: [rows_of(found, ("group", "task"), ("track", "annotator", *COLUMNS))],
        reasons,
    )


def read_annotations(
    files: Sequence[Files], systems: Collection[str], tracks: Collection[str], shelf: Shelf
) -> Iterator[TrackAnnotations]:
    """The annotations of an evaluation that can be read, for each reference of each track.

    An estimate that is the reference itself, as an annotator's own, is left out. Systems of several stores are compared
    if the references say the same.
    """
    found: dict[tuple[str, str, str], TrackAnnotations] = {}
    for file in files:
        for track, references in file.references.items():
            sources = {name: own.get(track) for name, own in file.estimates.items() if name in systems}
            for one in references if track in tracks else ():
                reference = shelf.read(one.source)
                others = {name: source for name, source in sources.items() if source is not None}
                read = {name: shelf.read(source) for name, source in others.items() if source.label != one.source.label}
                estimates = {name: made for name, made in read.items() if isinstance(made, Annotation) and len(made)}
                if isinstance(reference, Annotation):
                    key = track, one.annotator, shelf.contents(one.source) if len(files) > 1 else ""
                    known = found.get(key, TrackAnnotations(track, reference, {}, one.annotator))
                    found[key] = replace(known, estimates={**known.estimates, **estimates})
    yield from found.values()


MOST = 200
"""Disagreements of an evaluation that a page lists."""


Disagreements = dict[str, Any] | None
"""Those of an evaluation as a page lists them; None where systems cannot agree."""


def describe_disagreements(
    files: Sequence[Files], systems: Sequence[str], tracks: Collection[str], shelf: Shelf | None = None
) -> Disagreements:
    """The heaviest disagreements of an evaluation for a page, with the rows that a patch replaces.

    Returns None where systems cannot agree: there is one, or annotations have neither labels nor events.
    """
    task, shelf = files[0].plan.task, shelf or Shelf()
    if len(systems) < 2 or len(kind_of(task).dims) > 1:
        return None
    held = list(read_annotations(files, systems, tracks, shelf))
    try:
        found = find_disagreements(task, held)
    except QueryError:
        return None
    references = {(one.track, one.annotator): one.reference for one in held}
    sources = {
        (track, one.annotator): one.source for file in files for track, own in file.references.items() for one in own
    }
    listed = []
    for one in found[:MOST]:
        key = one.track, one.annotator
        system = next((place for place, name in enumerate(systems) if name in one.names), -1)
        described = {name: getattr(one, name) for name in ("annotator", *COLUMNS)}
        edits = {"digest": shelf.digest(sources[key], original=True), **_editable(references[key], one)}
        listed.append({"track": one.track, **described, "system": system, **edits})
    return {"task": task, "total": len(found), "rows": listed}


def _editable(reference: Annotation, one: Disagreement) -> dict[str, Any]:
    """What has to be edited for the reference to say what the systems do; nothing where rows have to be heard first.

    Labels: ``old`` are the rows of the reference that lie in the time. Events: ``old`` are those that the systems lack,
    ``new`` those that they have.
    """
    labels = reference.labels
    if "start" in reference.columns:
        start, end = reference.columns["start"], reference.columns["end"]
        inside = np.flatnonzero((end > one.start) & (start < one.end)).tolist() if one.consensus else []
        if one.missing or one.extra or labels is None:
            return {}
        return {"old": [{"start": start[at], "end": end[at], "label": labels[at]} for at in inside]}
    if "time" not in reference.columns:
        return {"old": [{"label": one.reference}]}
    named = {} if labels is None else dict(zip(reference.columns["time"].tolist(), labels, strict=True))
    more = {} if labels is None else {"label": ""}
    old = [{"time": time, **({} if labels is None else {"label": named[time]})} for time in one.extra]
    return {"old": old, "new": [{"time": round(time, 6), **more} for time in one.missing]}


def _readable(ds: xr.Dataset) -> Table:
    """The heaviest disagreements of an evaluation."""
    shown = ds.isel(disagreement=slice(_LISTED))
    labels = [shorten(str(label), _LONGEST) for name in ("reference", "consensus") for label in shown[name].values]
    half = len(labels) // 2
    several = any(shown["annotator"].values)
    rows = []
    for place in range(shown.sizes["disagreement"]):
        one = {name: shown[name].values[place].item() for name in shown}
        times = [f"{one[name]:.2f}" if np.isfinite(one[name]) else None for name in ("start", "end")]
        who = [one["annotator"]] if several else []
        sides = labels[place] or "nothing", labels[half + place] or "nothing"
        rows.append((one["track"], *who, *times, *sides, f"{one['systems']} of {one['of']}", one["weight"]))
    left = int(ds.attrs["total"]) - len(rows)
    notes = f"{counted(int(ds.attrs['total']), 'disagreement')}" + (f", {left} of them not shown" if left else "")
    who = ["annotator"] if several else []
    columns = ("track", *who, "start", "end", "reference", "consensus", "systems", "weight")
    return Table(columns, tuple(rows), f"{ds.attrs['group']}: the systems agree against the reference", (notes,))
