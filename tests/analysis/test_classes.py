"""Several stores as one whose classes or tags are not the same: joined only where scores do not depend on it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import mirflow
from mirflow.analysis.combine import differing_classes
from mirflow.annotations.classes import Classes
from mirflow.engine.runs import run
from mirflow.errors import QueryError
from mirflow.store.format import CLASSES, kept_classes, nested_attrs

UNDER_ROCK = {"tree": {"rock": ["jazz", "blues"], "root": None}}
APART = {"tree": {"root": ["jazz"], "rock": ["blues"]}}


def scored(folder: Path, system: str, classes: Any, task: str = "classification") -> Path:
    """A store of one system, by such classes."""
    folder = folder / system
    folder.mkdir()
    truth, estimates = {"t0": "jazz", "t1": "rock"}, {"t0": "blues", "t1": "rock"}
    for name, labels in (("truth", truth), (system, estimates)):
        (folder / f"{name}.tsv").write_text("".join(f"{track}\t{label}\n" for track, label in labels.items()))
    evaluation = {"task": task, "reference": "truth.tsv", "estimates": "{system}.tsv", "systems": {system: {}}}
    known = {} if classes is None else {"classes": classes}
    pipeline = {"store": str(folder / f"{system}.zarr"), "evaluations": [{**evaluation, **known}]}
    (folder / "pipeline.yaml").write_text(json.dumps(pipeline))
    run(folder / "pipeline.yaml")
    return folder / f"{system}.zarr"


def opened(*stores: Path) -> xr.DataTree:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mirflow.open_store(stores)


class TestStoresAreRefused:
    def test_whose_errors_are_worth_something_else(self, tmp_path):
        stores = scored(tmp_path, "e", UNDER_ROCK), scored(tmp_path, "f", APART)
        with pytest.raises(QueryError) as caught:
            opened(*stores)
        assert str(caught.value) == (
            "group 'classification': the credit for 'jazz' where 'rock' is right is 0.5 in e and 0 in f, so that they "
            "cannot be opened as one; score them again by the same classes, or ask them one by one"
        )

    def test_of_which_one_decides_on_more_tags(self, tmp_path):
        few, more = ["jazz", "rock", "blues"], ["jazz", "rock", "blues", "pop"]
        stores = scored(tmp_path, "e", few, "tagging"), scored(tmp_path, "f", more, "tagging")
        with pytest.raises(QueryError, match="'pop' is one of the tags that there are in f and none of those in e, so"):
            opened(*stores)

    def test_of_which_one_decides_only_on_tags_that_are_listed(self, tmp_path):
        stores = scored(tmp_path, "e", ["jazz", "rock", "blues"], "tagging"), scored(tmp_path, "f", None, "tagging")
        with pytest.raises(QueryError, match="the tags that there are are named in e and not in f, so"):
            opened(*stores)


class TestStoresAreJoined:
    def test_by_the_same_tree_in_other_words(self, tmp_path):
        same = {"tree": {"root": None, "rock": ["blues", "jazz"]}}
        tree = opened(scored(tmp_path, "e", UNDER_ROCK), scored(tmp_path, "f", same))
        assert tree.mirflow.query("hierarchical_accuracy")["value"].values.ravel().tolist() == [0.75, 0.75]

    def test_whose_lists_of_classes_differ_as_no_score_depends_on_them(self, tmp_path):
        few, more = ["jazz", "rock", "blues"], ["jazz", "rock", "blues", "pop"]
        tree = opened(scored(tmp_path, "e", few), scored(tmp_path, "f", more))
        assert tree.mirflow.query("accuracy")["value"].values.ravel().tolist() == [0.5, 0.5]
        confusion = tree.mirflow.query("confusion")["value"]
        assert confusion.sel(ref_class="jazz", est_class="blues").values.ravel().tolist() == [1.0, 1.0]

    def test_if_one_of_them_does_not_say_which_classes_it_has(self):
        attrs = {"task": "tagging", **kept_classes(Classes(("slow", "loud")))}
        assert differing_classes({"a": attrs, "b": {"task": "tagging"}}) == ""


def test_a_store_keeps_the_classes_and_says_that_there_are_none(tmp_path):
    kept = [
        nested_attrs(mirflow.open_store(scored(tmp_path, name, classes))["classification"].attrs)[CLASSES]
        for name, classes in (("e", {"names": ["rock"], "credit": {"jazz": {"blues": 0.25}}}), ("f", None))
    ]
    assert kept == [
        {"names": ["rock", "jazz", "blues"], "credits": [["jazz", "blues", 0.25]]},
        {"names": [], "credits": []},
    ]


def test_stores_of_other_tasks_say_nothing_of_classes(tmp_path):
    from ..datasets import write_dataset

    run(write_dataset(tmp_path, tracks=1))
    assert CLASSES not in mirflow.open_store(tmp_path / "store.zarr")["chord"].attrs
