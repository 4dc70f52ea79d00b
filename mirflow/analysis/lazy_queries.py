"""Queries of lazy scores whose answer is lazy too: labels now, numbers when they are computed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError
from ..store.cells import NUMERATOR, Status
from .aggregation import sort_systems
from .queries import evaluate_query, only_answer
from .query_options import NAME, STORED, Query, as_names
from .scores import ANNOTATOR, as_scores
from .selected import COSTLIEST, EMPTY_COUNTED, UNCOUNTED, VALUELESS
from .selection import choose_tracks, find_labels, split_names

if TYPE_CHECKING:
    import xarray as xr

_OF_VALUES = ("missing_cells", "undefined_cells", EMPTY_COUNTED, UNCOUNTED, COSTLIEST, VALUELESS)
"""Attributes of an answer that depend on the scores, which are not known yet."""
_STAND_INS = {"score": 0.5, "weight": 1.0, "status": int(Status.ok), "duration": 1.0}


def lazy_query(ds: xr.Dataset, query: Query, group: str = "") -> xr.Dataset:
    """The answer to a query as lazy arrays: one task gathers the scores that are asked for, and aggregates them.

    Parameters
    ----------
    ds : xr.Dataset
        Scores of an evaluation.
    query : Query
    group : str

    Returns
    -------
    xr.Dataset
        As :func:`mirflow.analysis.queries.aggregate`, equal to the bit once it is computed, without the attributes that
        count missing and undefined cells, which ``n_missing`` and ``n_undefined`` hold.

    Raises
    ------
    QueryError
        If labels of the answer depend on the scores. What only the scores can tell, such as cells missing under
        ``raise``, raises when the answer is computed.
    """
    import xarray as xr

    from ..lazy_array import plain_variable

    ds = as_scores(ds)
    _refuse_unknown_labels(query)
    if query.system is not None or query.sort == NAME:
        ds = ds.isel(system=find_labels(ds, "system", sort_systems(ds, query)))
    if query.tracks is not None or query.where is not None:
        ds = choose_tracks(ds, query)
    tables = split_names(ds, query.metric, exact=query.exact)[1]
    names = [name for name in (*_STAND_INS, NUMERATOR, *tables) if name in ds.data_vars]
    given = [ds.variables[name] for name in names]
    frame = ds.drop_vars(list(ds.data_vars))

    def answer(*values: Any) -> xr.Dataset:
        held = {
            name: plain_variable(like.dims, value, like.attrs)
            for name, like, value in zip(names, given, values, strict=True)
        }
        return only_answer(evaluate_query(frame.assign(held), query, group))

    like = answer(*(np.full(one.shape, _STAND_INS.get(name, 0.0)) for name, one in zip(names, given, strict=True)))
    outputs = [name for name in like.data_vars if name != "n_tracks"]
    sizes = {f"_{dim}": size for dim, size in like.sizes.items()}
    found = xr.apply_ufunc(
        lambda *values: tuple(answer(*values)[name].values for name in outputs),
        *(xr.Variable(one.dims, one.data) for one in given),
        input_core_dims=[one.dims for one in given],
        output_core_dims=[[f"_{dim}" for dim in like[name].dims] for name in outputs],
        dask="parallelized",
        output_dtypes=[like[name].dtype for name in outputs],
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": sizes},
    )
    lazy = dict(zip(outputs, found, strict=True))
    result = like.assign({name: (like[name].dims, lazy[name].data, like[name].attrs) for name in outputs})
    result.attrs = {name: value for name, value in like.attrs.items() if name not in _OF_VALUES}
    return result


def _refuse_unknown_labels(query: Query) -> None:
    """Raise a QueryError for an order or a selection that depends on the scores."""
    asked = {
        f"sort={query.sort!r}": query.sort not in (None, NAME, STORED),
        f"where={query.where!r}": query.where is not None and bool(re.search(r"\bduration\b", query.where)),
        "annotator": query.annotator is not None or ANNOTATOR in (as_names(query.by) or []),
    }
    for said, refused in asked.items():
        if refused:
            raise QueryError(
                f"{said}: a lazy answer has its labels now, and these depend on the scores; leave it out, or ask "
                "without lazy=True"
            )
