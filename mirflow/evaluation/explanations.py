"""Explain scores: what of an estimate is right and wrong, item by item.

The explanation of a pair is a dataset; that of two collections is a mapping of tracks to datasets, made on access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from ..annotations.annotation import Annotation, AnnotationLike
from ..annotations.classes import Classes, as_classes
from ..annotations.collection import Collection, TrackMapping
from ..annotations.schema import kind_of
from ..engine.lazy import LazyCollection
from ..errors import AnnotationError, MetricError
from ..metrics.base import get_task
from ..ragged import Column
from .evaluate import plain_pair
from .sides import TracksLike, demand_kind, task_of

if TYPE_CHECKING:
    import xarray as xr


@overload
def explain(
    reference: Collection | LazyCollection,
    estimate: Collection | LazyCollection,
    metric: str,
    task: str | None = None,
    *,
    convention: str | None = None,
    classes: Classes | Sequence[str] | None = None,
    **options: Any,
) -> Explanations: ...


@overload
def explain(
    reference: AnnotationLike,
    estimate: AnnotationLike,
    metric: str,
    task: str | None = None,
    *,
    convention: str | None = None,
    classes: Classes | Sequence[str] | None = None,
    **options: Any,
) -> xr.Dataset: ...


def explain(
    reference: AnnotationLike | TracksLike,
    estimate: AnnotationLike | TracksLike,
    metric: str,
    task: str | None = None,
    *,
    convention: str | None = None,
    classes: Classes | Sequence[str] | None = None,
    **options: Any,
) -> xr.Dataset | Explanations:
    """Explain the score of an estimate against a reference under one metric.

    Parameters
    ----------
    reference, estimate : xr.Dataset, Annotation, path or jams object; or two collections
        Two single annotations. Of two collections, lazy or not, each track is explained when it is asked for.
    metric : str
        An identity such as ``majmin``.
    task, convention, classes, **options
        As for `evaluate`.

    Returns
    -------
    xr.Dataset or Explanations
        For chords the segments on the common grid: ``start`` and ``end`` in seconds, both labels and the verdict. Of
        collections a mapping of the tracks that both have to such datasets.

    Raises
    ------
    MetricError
        If the metric cannot be explained.
    """
    left, right = plain_pair(reference, estimate, task, convention, options)
    task = task_of(reference) if task is None else task
    for side, value in (("reference", left), ("estimate", right)):
        demand_kind(task, side, value.kind)
    rules = get_task(task).convention(convention, as_classes(classes))
    (measure,) = rules.select([metric])
    if rules.explain is None:
        raise MetricError(f"convention {rules.name!r} of task {task!r} does not explain its scores")
    if isinstance(left, TrackMapping) and isinstance(right, TrackMapping):
        tracks = tuple(track for track in left.tracks if track in right)
        if not tracks:
            raise AnnotationError("the two collections have no track in common")
        return Explanations(left, right, tracks, metric, task, convention, classes, left.kind)
    if not isinstance(left, Annotation) or not isinstance(right, Annotation):
        raise AnnotationError("one side is a collection: select its track, as references['TRACK']")
    import xarray as xr

    dim, seconds = kind_of(task).dims[0], {"units": "s"}
    evidence = rules.explain(left, right, measure).items()
    variables = {name: (dim, values, seconds if name in ("start", "end") else {}) for name, values in evidence}
    return xr.Dataset(variables, attrs={"metric": str(measure)})


@dataclass(frozen=True, repr=False, eq=False)
class Explanations(TrackMapping):
    """What `explain` says of the tracks of two collections: each is read and compared when it is asked for."""

    references: Collection | LazyCollection
    estimates: Collection | LazyCollection
    tracks: tuple[str, ...]
    metric: str
    task: str
    convention: str | None
    classes: Classes | Sequence[str] | None
    kind: str
    metadata: Mapping[str, Column] = field(default_factory=dict)

    def __getitem__(self, track: str) -> xr.Dataset:
        sides = self.references[self.tracks[self.row_of(track)]], self.estimates[track]
        how: dict[str, Any] = {"convention": self.convention, "classes": self.classes}
        dataset: xr.Dataset = explain(*sides, self.metric, self.task, **how)
        return dataset
