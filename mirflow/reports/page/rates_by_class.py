"""Values of the classes and tags of an evaluation with their intervals, for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.inference import intervals
from ...analysis.lookup import CLASS
from ...analysis.per_class import COUNT, OUTCOME, SIDE, aggregate_table, select_table, tell_outcomes
from ...analysis.query_options import Query, say_intervals, say_level
from ...errors import QueryError
from ...kernels.outcomes import COUNTED
from ...metrics.aggregates import AGGREGATES, DECLARED, ORDER_AGGREGATES, table_aggregates
from ...metrics.measures import Measure
from ...ragged import Float
from ..captions import few_notes
from .embed import Parts, pack_json

if TYPE_CHECKING:
    import xarray as xr

_RATIOS = ("f_measure", "recall", "precision")
"""Ratios that are shown, of those that a metric has."""
_MEAN = "mean"
_MOST_CELLS = 20_000_000
"""Systems times tracks times classes above which no intervals are computed for a page."""


def describe_classes(
    scores: xr.Dataset, variable: str, measure: Measure, parts: Parts, name: str, group: str
) -> list[list[Any]]:
    """Describe the tables of a metric with classes or tags; their numbers become separate parts.

    `name`: what the names of the parts begin with. Returns name, words and part of each aggregate; none for metrics
    without classes, or with other dims as well. A part has the ``labels``, one of each class, ``n`` (what the
    references have of it, or the tracks that are about it), over systems and classes ``value``, ``low`` and ``high``,
    as in a query with intervals; and ``how`` and ``count``, what intervals and `n` are.
    """
    dims = [dim for dim in measure.metric.dims if dim not in (OUTCOME, COUNT, SIDE)]
    table = scores[variable]
    known = table_aggregates(measure.metric.orientation, measure.metric.dims)
    kinds = [kind for kind in _RATIOS if kind in known] or [kind for kind in ORDER_AGGREGATES if kind in known][:2]
    if measure.metric.orientation != "none" and not measure.metric.nominal and len(dims) == 1:
        kinds = [_MEAN]
    confused = dims == ["ref_class", "est_class"]
    if not kinds or (len(dims) != 1 and not confused) or math.prod(table.shape) > _MOST_CELLS:
        return []
    return [
        [
            kind,
            (DECLARED.get(kind) or AGGREGATES[kind]).words,
            parts.put(f"{name}/{kind}", partial(_pack, scores, variable, measure, kind, group)),
        ]
        for kind in kinds
    ]


def _pack(scores: xr.Dataset, variable: str, measure: Measure, kind: str, group: str) -> bytes:
    asked = Query((str(measure),), exact=True, aggregate=None if kind == _MEAN else kind)
    try:
        found = intervals(scores, asked, group=group)
    except QueryError as error:
        return pack_json({"why": str(error)})
    value, low, high = (found[name].values for name in ("value", "low", "high"))
    (dim,) = found["value"].dims[1:]
    few = [f"{note[0].upper()}{note[1:]}." for note in few_notes(value, low, found.attrs)]
    level = say_level(found.attrs["level"])
    how = [] if np.isnan(low).all() else [f"{level} intervals: {say_intervals(found.attrs, 'tracks')}."]
    number, counted = found["n_values"].values.max(axis=0), "Tracks"
    if kind in _RATIOS:
        number, counted = _support(scores, variable, measure, [str(one) for one in found[dim].values]), "In references"
    order = [found["system"].values.tolist().index(name) for name in scores["system"].values.tolist()]
    return pack_json(
        {
            "dim": "class" if dim == CLASS else str(dim),
            "labels": [str(label) for label in found[dim].values.tolist()],
            "n": number.tolist(),
            "count": counted,
            "how": " ".join([*how, *few]),
            **{name: _finite(one[order]) for name, one in (("value", value), ("low", low), ("high", high))},
        }
    )


def _support(scores: xr.Dataset, variable: str, measure: Measure, labels: Sequence[str]) -> Float:
    """What the references have of each class, summed over the tracks."""
    sums = aggregate_table(select_table(scores, variable, Query()))
    names = {str(dim): tuple(map(str, sums[dim].values.tolist())) for dim in sums["value"].dims[1:]}
    outcomes, left = tell_outcomes("recall", str(measure), np.nan_to_num(sums["value"].values), names)
    (known,) = left.values()
    number = (outcomes[..., COUNTED.index("hit")] + outcomes[..., COUNTED.index("miss")]).max(axis=0)
    chosen: Float = number[[known.index(label) for label in labels]]
    return chosen


def _finite(values: Float) -> list[list[float | None]]:
    """JSON has no other than finite numbers."""
    return [[one if math.isfinite(one) else None for one in row] for row in values.tolist()]
