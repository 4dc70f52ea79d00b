"""Results of queries: what is shown of an evaluation in memory is what is shown of its dataset."""

from __future__ import annotations

import re
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.analysis.aggregation import COUNTS
from mirflow.analysis.queries import evaluate_query, headline_metrics, query_content
from mirflow.analysis.query_options import BEST, Query
from mirflow.analysis.scores import Results, as_scores, names_of
from mirflow.errors import QueryError
from mirflow.metrics.aggregates import AGGREGATES
from mirflow.reports.layout import readable_tables
from mirflow.reports.results import COLUMNS, axes_of, column_of, values_of
from mirflow.reports.tables import to_latex, to_text
from mirflow.store.cells import GroupContent
from mirflow.store.read import dataset_of

from ..store.strategies import cells, names


@st.composite
def evaluations(draw: st.DrawFn) -> GroupContent:
    systems, tracks = draw(names), draw(names)
    own = draw(cells(systems, tracks, extras=False).filter(lambda one: bool(one.measures)))
    values: dict[str, list[str | float]] = {
        "unit": ["", "s"],
        "orientation": ["higher", "lower", "none"],
        "standard_aggregate": sorted(AGGREGATES),
        "title": ["", "a title"],
        "n": [np.nan, 5.0],  # a parameter with the name of a variable of results, as that of first_n_... of patterns
    }
    number = len(own.measures)
    coords = {
        name: draw(st.lists(st.sampled_from(of), min_size=number, max_size=number)) for name, of in values.items()
    }
    attrs = {"task": "none", "convention": "x", "warnings": [{"text": "odd", "system": one} for one in systems[:1]]}
    return GroupContent("x", systems, tracks, own, {**coords, "aggregates": coords["standard_aggregate"]}, attrs=attrs)


@pytest.mark.slow
@given(evaluations())
def test_an_evaluation_in_memory_has_the_result_of_its_dataset(content: GroupContent) -> None:
    ds = as_scores(dataset_of(content))
    shown = headline_metrics(content)
    assert shown == headline_metrics(ds)
    try:
        (found,) = evaluate_query(ds, Query(shown, exact=True, sort=BEST), "x")
    except QueryError as error:
        with pytest.raises(QueryError, match=re.escape(str(error))):
            query_content(content, shown)
        return
    one, other = query_content(content, shown), found
    counts = [lambda ds, name=name: values_of(ds, name) for name in COUNTS]
    for read in (
        lambda ds: asdict(axes_of(ds)),
        values_of,
        *counts,
        lambda ds: [column_of(ds, name) for name in COLUMNS],
    ):
        np.testing.assert_equal(read(one), read(other))
    assert names_of(one, "system") == names_of(other, "system")
    assert {**one.attrs} == {**other.attrs}
    assert written(one) == written(other)


def written(result: Results) -> list[str]:
    return [write(table) for table in readable_tables(result) for write in (to_text, to_latex)]
