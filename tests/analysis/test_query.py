from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.aggregation import ask
from mirflow.analysis.queries import aggregate, boards_of, choose, coverage, headline_metrics, query
from mirflow.analysis.scoreboard import from_dataset, read_store
from mirflow.analysis.selection import Question, headline_metric
from mirflow.annotations.collection import Collection
from mirflow.cells import Status
from mirflow.errors import AnnotationError, QueryError, StoreError, UnknownNameError
from mirflow.ragged import Ragged
from mirflow.store.read import open_store

from ..groups import make_group, random_group, write_store


@pytest.fixture
def groups() -> dict[str, xr.Dataset]:
    """One evaluation under two conventions; only the second has a metric `only`."""
    return {
        "chord": random_group(2, 5, 2, track_meta={"genre": list("ababa")}),
        "chord_mirex2013": random_group(2, 5, 2, metrics=["majmin", "only"], convention="mirex2013"),
    }


@pytest.fixture
def tree(groups) -> xr.DataTree:
    return xr.DataTree.from_dict(groups)


class TestGroups:
    def test_a_metric_of_one_group_picks_it(self, tree, groups):
        answer = query(tree, "only")
        assert answer.attrs["group"] == "chord_mirex2013"
        xr.testing.assert_equal(answer, aggregate(groups["chord_mirex2013"], "only"))

    def test_a_metric_of_several_needs_a_choice(self, tree):
        expected = (
            r"several groups answer this: 'chord' \(convention mir_eval\), 'chord_mirex.*; say one \(group, --group\)"
        )
        with pytest.raises(QueryError, match=expected):
            query(tree, "majmin")
        assert query(tree, "majmin", group="chord").attrs["convention"] == "mir_eval"

    def test_all_that_have_the_metrics_can_be_listed(self, tree):
        assert list(choose(boards_of(tree), "majmin")) == ["chord", "chord_mirex2013"]
        assert list(choose(boards_of(tree), ["majmin", "root"])) == ["chord"]

    def test_no_group_has_all_of_them(self, tree):
        with pytest.raises(QueryError, match="no group has all of these metrics: root, only; groups: chord, chord_m"):
            query(tree, ["root", "only"])

    def test_unknown_metric_and_group(self, tree):
        with pytest.raises(UnknownNameError, match="unknown metric 'majmim'; did you mean 'majmin'"):
            query(tree, "majmim")
        with pytest.raises(UnknownNameError, match="unknown group 'chrod'; did you mean 'chord'"):
            query(tree, group="chrod")

    def test_a_metric_of_another_group(self, tree):
        with pytest.raises(QueryError, match="group 'chord' has no metric 'only'; groups that have it: chord_mirex"):
            query(tree, "only", group="chord")

    def test_a_word_that_no_question_has(self, tree):
        with pytest.raises(TypeError, match=r"query\(\) got an unexpected keyword argument 'wher'; did you mean 'wher"):
            tree["chord"].mirflow.query("majmin", wher="year > 1970")
        with pytest.raises(TypeError, match=r"worst\(\) got an unexpected keyword argument 'system_'"):
            tree["chord"].mirflow.worst("majmin", system_="S0")

    def test_a_tree_without_scores(self):
        with pytest.raises(QueryError, match="no scores in this store"):
            query(xr.DataTree())

    def test_one_node_of_a_tree_answers_alone(self, tree):
        assert query(tree["chord"], "majmin").attrs["group"] == "chord"


class TestStore:
    def test_answers_from_disk_equal_those_from_memory(self, tmp_path, groups):
        stored = open_store(write_store(tmp_path / "x.zarr", groups))
        for kind in ("mean", "median", "pooled", "wcsr_tn", "wcsr_total"):
            from_disk = query(stored, ["majmin", "root"], kind, "genre")
            from_memory = aggregate(groups["chord"], ["majmin", "root"], kind, "genre")
            for name in ("value", "n", "n_missing", "n_undefined", "n_tracks"):
                np.testing.assert_array_equal(from_disk[name].values, from_memory[name].values)

    def test_pooled_from_disk_equals_xarrays_weighted_mean(self, tmp_path, groups):
        path = write_store(tmp_path / "x.zarr", groups)
        ds = open_store(path)["chord"].to_dataset()
        expected = ds["score"].weighted(ds["weight"]).mean("track").transpose("system", "metric").values
        np.testing.assert_array_equal(query(open_store(path), aggregate="pooled", group="chord")["value"], expected)

    def test_plain_arrays_from_disk_answer_the_same(self, tmp_path, groups):
        path = write_store(tmp_path / "x.zarr", groups)
        tree = open_store(path)
        for name, board in read_store(path).items():
            for question in ({"aggregate": "wcsr_tn"}, {"system": "S1", "by": "track"}, {"tracks": ["t3", "t1"]}):
                plain = ask(board, Question(**question), name).to_dataset()
                xr.testing.assert_identical(plain, query(tree, group=name, **question))

    def test_no_store(self, tmp_path):
        with pytest.raises(StoreError):
            query(open_store(tmp_path / "nothing.zarr"))


class TestCoverage:
    def test_counts_each_status_of_each_system(self):
        status = [[Status.ok, Status.ok, Status.failed], [Status.ok, Status.missing_estimate, Status.invalid]]
        counts = coverage(make_group(np.zeros((2, 3, 1)), status=status))["cells"]
        assert counts.sel(status="ok").values.tolist() == [2, 1]
        assert counts.sel(system="S1", status="missing_estimate").item() == 1
        assert counts.sum("status").values.tolist() == [3, 3]
        assert counts["status"].values.tolist() == [one.name for one in Status]


class TestHeadline:
    def test_recalls_come_before_the_rest(self):
        ds = random_group(1, 2, 3, standard=["mean", "wcsr", "wcsr"], metrics=["seg", "root", "csr@root"])
        assert headline_metrics(from_dataset(ds)) == ["root"]

    def test_without_recalls_the_first_ones(self):
        ds = random_group(1, 2, 3, standard=["mean"] * 3)
        assert headline_metrics(from_dataset(ds), most=2) == ["majmin", "root"]

    def test_only_metrics_with_parameters(self):
        assert headline_metrics(from_dataset(random_group(1, 2, 1, metrics=["f@0.5"], standard=["mean"]))) == ["f@0.5"]

    def test_of_many_chord_recalls_those_that_campaigns_publish(self):
        published = ["majmin", "root", "majmin_inv", "sevenths", "sevenths_inv"]
        metrics = ["thirds", "triads", "root", "majmin", *published[2:]]
        board = from_dataset(random_group(1, 2, 7, metrics=metrics, standard=["wcsr"] * 7))
        assert headline_metrics(board, most=6) == published
        assert headline_metrics(board, most=4) == published[:4]
        assert headline_metrics(board, most=7) == ["majmin", *(name for name in metrics if name != "majmin")]

    def test_it_is_the_records_or_the_first_that_ranks(self):
        for metrics, found in (
            (["root", "majmin"], "majmin"),
            (["thirds", "majmin(tolerance=1)"], "majmin(tolerance=1)"),
            (["thirds", "triads"], "thirds"),
        ):
            assert headline_metric(from_dataset(random_group(1, 2, 2, metrics=metrics))) == found
        neither = random_group(1, 2, 2, metrics=["bias", "seg"], orientation=["none", "higher"])
        assert headline_metric(from_dataset(neither)) == "seg"


class TestAccessor:
    def test_on_a_tree(self, tree):
        xr.testing.assert_identical(tree.mirflow.query("only"), query(tree, "only"))
        assert list(tree.mirflow.coverage().children) == ["chord", "chord_mirex2013"]

    def test_on_a_dataset(self, groups):
        ds = groups["chord"]
        question = {"aggregate": "mean", "by": "genre", "system": "S1", "missing": "raise", "undefined": "skip"}
        xr.testing.assert_identical(ds.mirflow.query("root", **question), aggregate(ds, "root", **question))
        xr.testing.assert_identical(ds.mirflow.coverage(), coverage(ds))

    def test_an_opened_store_has_it(self, tmp_path, groups):
        tree = mirflow.open_store(write_store(tmp_path / "x.zarr", groups))
        np.testing.assert_array_equal(tree.mirflow.query("only")["value"], query(tree, "only")["value"])

    def test_a_collection_is_selected_with_its_values_and_refused_without(self):
        start = np.array([0.0, 1.0, 0.0])
        rows = Ragged({"start": start, "end": start + 1, "label": np.zeros(3, int)}, (np.array([2, 1]),), ("C",))
        ds = Collection("intervals", ("a", "b"), rows).to_dataset()
        assert ds.mirflow.sel(track="b").sizes == {"track": 1, "segment": 1, "code": 1}
        with pytest.raises(AnnotationError, match="the counts say 1"):
            ds.sel(track=["b"]).mirflow.sel(track="b")


def test_a_parameter_may_have_the_name_of_a_variable():
    group = random_group(3, 6, 1)
    group = group.assign_coords(n=("metric", [5]), value=("system", [1.5, 2.5, 3.5]))
    answer = aggregate(group)
    assert answer["meta_n"].values.tolist() == [5]
    assert answer["meta_value"].values.tolist() == [1.5, 2.5, 3.5]
    ranks = xr.DataTree.from_dict({"own": group}).mirflow.friedman()
    assert ranks["meta_n"].values.tolist() == [5]
