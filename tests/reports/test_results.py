"""Results as arrays: those of an evaluation in memory are those of its dataset."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.analysis.queries import evaluate_query, headline_metrics
from mirflow.analysis.query_options import BEST, Query
from mirflow.analysis.scores import as_scores
from mirflow.errors import QueryError
from mirflow.metrics.aggregates import AGGREGATES
from mirflow.reports.results import Result
from mirflow.store.cells import GroupContent
from mirflow.store.read import dataset_of

from ..store.strategies import cells, names


@st.composite
def evaluations(draw: st.DrawFn) -> GroupContent:
    systems, tracks = draw(names), draw(names)
    own = draw(cells(systems, tracks, extras=False).filter(lambda one: bool(one.measures)))
    values = {
        "unit": ["", "s"],
        "orientation": ["higher", "lower", "none"],
        "standard_aggregate": sorted(AGGREGATES),
        "title": ["", "a title"],
    }
    number = len(own.measures)
    coords = {
        name: draw(st.lists(st.sampled_from(of), min_size=number, max_size=number)) for name, of in values.items()
    }
    attrs = {"task": "none", "convention": "x", "warnings": [{"text": "odd", "system": one} for one in systems[:1]]}
    return GroupContent("x", systems, tracks, own, {**coords, "aggregates": coords["standard_aggregate"]}, attrs=attrs)


@given(evaluations())
def test_an_evaluation_in_memory_has_the_result_of_its_dataset(content: GroupContent) -> None:
    ds = as_scores(dataset_of(content))
    shown = headline_metrics(content)
    assert shown == headline_metrics(ds)
    try:
        (found,) = evaluate_query(ds, Query(shown, exact=True, sort=BEST), "x")
    except QueryError as error:
        with pytest.raises(QueryError, match=re.escape(str(error))):
            Result.of_contents(content, shown)
        return
    one, other = Result.of_contents(content, shown), Result.of(found)
    for field in fields(Result):
        np.testing.assert_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)
