"""Answers to queries of lazy scores are lazy, and equal to the bit to those of scores in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.scores import computed
from mirflow.errors import QueryError, UnknownNameError
from tests.datasets import write_dataset, write_pipeline


@pytest.fixture(scope="module")
def lazy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xr.DataTree]:
    folder = tmp_path_factory.mktemp("lazy")
    write_dataset(folder)
    (folder / "est/bob/t03.lab").unlink()
    (folder / "metadata.csv").write_text("track,genre\n" + "".join(f"t0{n},{'ab'[n % 2]}\n" for n in range(6)))
    metrics = "[majmin, thirds, 'csr@root', 'confusion@majmin']"
    write_pipeline(folder, metrics=metrics, tracks="metadata.csv", on_error="ignore")
    with dask.config.set(scheduler="synchronous"):
        yield mirflow.open_pipeline(folder / "pipeline.yaml")


@pytest.fixture(scope="module")
def held(lazy: xr.DataTree) -> xr.DataTree:
    return lazy.compute()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"metric": "majmin"},
        {"aggregate": "mean", "missing": "zero"},
        {"aggregate": "pooled", "missing": "skip", "by": "genre"},
        {"aggregate": "wcsr_tn"},
        {"aggregate": "median", "by": "genre", "across": {"genre": "mean,std"}},
        {"metric": "confusion@majmin", "aggregate": "sum", "by": "genre"},
        {"metric": "majmin", "by": "track", "system": "b*", "tracks": ["t05", "t01"], "undefined": "skip"},
        {"metric": "thirds", "where": "genre == 'a'", "over": {"system": "best"}, "sort": "name"},
    ],
)
def test_a_lazy_answer_is_computed_later_and_to_the_bit(
    asked: dict[str, Any], lazy: xr.DataTree, held: xr.DataTree
) -> None:
    started: list[object] = []
    with dask.callbacks.Callback(pretask=lambda key, *_: started.append(key)):
        answer = lazy.mirflow.query(lazy=True, **asked)
        assert not started
        assert all(dask.is_dask_collection(one.data) for name, one in answer.data_vars.items() if name != "n_tracks")
        computed = answer.compute()
        assert sum(str(key).startswith("chord-block-") for key in started) <= 3
    expected = held.mirflow.query(**asked)
    xr.testing.assert_identical(computed.drop_attrs(), expected.drop_attrs())
    assert computed.attrs.items() <= expected.attrs.items()
    assert answer.value.attrs == expected.value.attrs


def test_one_evaluation_is_asked_as_a_tree_is(lazy: xr.DataTree, held: xr.DataTree) -> None:
    answer = lazy["chord"].to_dataset().mirflow.query("majmin", lazy=True)
    xr.testing.assert_equal(answer.compute(), held.mirflow.query("majmin"))


def test_what_only_scores_can_tell_is_told_when_they_are_computed(lazy: xr.DataTree) -> None:
    answer = lazy.mirflow.query("majmin", missing="raise", lazy=True)
    with pytest.raises(QueryError, match="1 of 12 cells have no score"):
        answer.compute()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"sort": "best"}, "sort='best': a lazy answer has its labels now, and these depend on the scores"),
        ({"where": "duration > 3"}, "where='duration > 3': a lazy answer has its labels now"),
        ({"ci": 0.95}, "'ci' cannot stay lazy: it needs all scores at once; ask without lazy=True"),
        ({"by": "annotator"}, "annotator: a lazy answer has its labels now, .*, or ask without lazy=True"),
    ],
)
def test_labels_that_depend_on_scores_are_refused(asked: dict[str, Any], said: str, lazy: xr.DataTree) -> None:
    with pytest.raises(QueryError, match=said):
        lazy.mirflow.query("majmin", lazy=True, **asked)


def test_unknown_names_are_told_at_once(lazy: xr.DataTree) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'majmin'"):
        lazy.mirflow.query("majmn", lazy=True)


@pytest.mark.parametrize("function", ["oracle", "compare", "ranks"])
def test_inference_says_that_it_cannot_be_lazy(function: str, lazy: xr.DataTree) -> None:
    with pytest.raises(QueryError, match=f"{function} cannot stay lazy: it needs all scores at once"):
        getattr(lazy.mirflow, function)("majmin", lazy=True)


def test_scores_and_statuses_are_of_the_same_computation(lazy: xr.DataTree) -> None:
    calls: list[int] = []

    def count(graph: Any, keys: Any, **options: Any) -> Any:
        calls.append(len(keys))
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=count):
        computed(lazy["chord"].to_dataset())
    assert len(calls) == 1
