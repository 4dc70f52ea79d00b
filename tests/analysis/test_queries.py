"""Queries of a store: which evaluation answers, from memory and from disk, and which metrics are shown first."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import QueryError, StoreError, UnknownNameError

from ..commands import rows
from ..groups import CODES, make_group, random_group, write_store


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
        answer = tree.mirflow.query("only")
        assert answer.attrs["group"] == "chord_mirex2013"
        xr.testing.assert_equal(answer, groups["chord_mirex2013"].mirflow.query("only"))

    def test_a_metric_of_several_needs_a_choice(self, tree):
        expected = (
            r"several groups match: 'chord' \(convention mir_eval\), 'chord_mirex.*; choose one \(group, --group\)"
        )
        with pytest.raises(QueryError, match=expected):
            tree.mirflow.query("majmin")
        assert tree.mirflow.query("majmin", group="chord").attrs["convention"] == "mir_eval"

    def test_every_group_that_has_the_metrics_is_printed(self, tmp_path, groups):
        store = write_store(tmp_path / "s.zarr", groups)
        for metrics, names in ((["majmin"], ["chord", "chord_mirex2013"]), (["majmin", "root"], ["chord"])):
            words = [word for name in metrics for word in ("-m", name)]
            assert list(dict.fromkeys(row["group"] for row in rows("query", store, *words))) == names

    def test_no_group_has_all_of_them(self, tree):
        with pytest.raises(QueryError, match="no group has all of these metrics: root, only; groups: chord, chord_m"):
            tree.mirflow.query(["root", "only"])

    def test_unknown_metric_and_group(self, tree):
        with pytest.raises(UnknownNameError, match="unknown metric 'majmim'; did you mean 'majmin'"):
            tree.mirflow.query("majmim")
        with pytest.raises(UnknownNameError, match="unknown group 'chrod'; did you mean 'chord'"):
            tree.mirflow.query(group="chrod")

    def test_a_metric_of_another_group(self, tree):
        with pytest.raises(QueryError, match="group 'chord' has no metric 'only'; groups that have it: chord_mirex"):
            tree.mirflow.query("only", group="chord")

    def test_a_word_that_no_question_has(self, tree):
        with pytest.raises(TypeError, match=r"query\(\) got an unexpected keyword argument 'wher'; did you mean 'wher"):
            tree["chord"].mirflow.query("majmin", wher="year > 1970")
        with pytest.raises(TypeError, match=r"worst\(\) got an unexpected keyword argument 'system_'"):
            tree["chord"].mirflow.worst("majmin", system_="S0")

    def test_a_tree_without_scores(self):
        with pytest.raises(QueryError, match="the store has no scores"):
            xr.DataTree().mirflow.query()

    def test_one_node_of_a_tree_answers_alone(self, tree):
        assert tree["chord"].mirflow.query("majmin").attrs["group"] == "chord"


class TestStore:
    def test_answers_from_disk_equal_those_from_memory(self, tmp_path, groups):
        stored = mirflow.open_store(write_store(tmp_path / "x.zarr", groups))
        for kind in ("mean", "median", "pooled", "wcsr_tn", "wcsr_total"):
            from_disk = stored.mirflow.query(["majmin", "root"], kind, "genre")
            from_memory = groups["chord"].mirflow.query(["majmin", "root"], kind, "genre")
            for name in ("value", "n", "n_missing", "n_undefined", "n_tracks"):
                np.testing.assert_array_equal(from_disk[name].values, from_memory[name].values)

    def test_no_store(self, tmp_path):
        with pytest.raises(StoreError):
            mirflow.open_store(tmp_path / "nothing.zarr").mirflow.query()


class TestCoverage:
    def test_counts_each_status_of_each_system(self):
        status = [["ok", "ok", "failed"], ["ok", "missing_estimate", "invalid"]]
        counts = make_group(np.zeros((2, 3, 1)), status=status).mirflow.show()["cells"]
        assert counts.sel(status="ok").values.tolist() == [2, 1]
        assert counts.sel(system="S1", status="missing_estimate").item() == 1
        assert counts.sum("status").values.tolist() == [3, 3]
        assert counts["status"].values.tolist() == list(CODES)


class TestHeadline:
    """What a notebook shows of many metrics, and which of them comes first."""

    @staticmethod
    def shown(*metrics: str, **options) -> list[str]:
        ds = random_group(1, 2, len(metrics), metrics=list(metrics), **{"standard": ["wcsr"] * len(metrics), **options})
        return re.findall('<th class="number">([^<]*)<br>', ds.mirflow._repr_html_())

    def test_recalls_come_before_the_rest(self):
        assert self.shown("seg", "root", "csr@root", standard=["mean", "wcsr", "wcsr"]) == ["root"]

    def test_without_recalls_the_first_ones(self):
        names = [f"m{number}" for number in range(8)]
        assert self.shown(*names, standard=["mean"] * 8) == names[:6]

    def test_only_metrics_with_parameters(self):
        assert self.shown("f@0.5", standard=["mean"]) == ["f@0.5"]

    def test_of_many_chord_recalls_those_that_campaigns_publish(self):
        published = ["majmin", "root", "majmin_inv", "sevenths", "sevenths_inv"]
        assert self.shown("thirds", "triads", "root", "majmin", *published[2:]) == published
        assert self.shown("thirds", "root", "majmin", *published[2:]) == ["majmin", "thirds", "root", *published[2:]]

    @pytest.mark.parametrize(
        ("metrics", "options", "first"),
        [
            (["root", "majmin"], {}, "majmin"),
            (["thirds", "majmin(tolerance=1)"], {}, "majmin(tolerance=1)"),
            (["thirds", "triads"], {}, "thirds"),
            (["bias", "seg"], {"orientation": ["none", "higher"]}, "seg"),
        ],
    )
    def test_the_primary_metric_is_the_records_or_the_first_that_ranks(self, tmp_path, metrics, options, first):
        store = write_store(tmp_path / "s.zarr", {"chord": random_group(1, 2, 2, metrics=metrics, **options)})
        assert [row["metric"] for row in rows("query", store, "--primary")] == [first]


def test_a_parameter_may_have_the_name_of_a_variable():
    group = random_group(3, 6, 1)
    group = group.assign_coords(n=("metric", [5]), value=("system", [1.5, 2.5, 3.5]))
    answer = group.mirflow.query()
    assert answer["meta_n"].values.tolist() == [5]
    assert answer["meta_value"].values.tolist() == [1.5, 2.5, 3.5]
    ranks = xr.DataTree.from_dict({"own": group}).mirflow.compare(friedman=True)
    assert ranks["meta_n"].values.tolist() == [5]


def test_dims_in_any_order_are_the_same_scores():
    ds = random_group(2, 3, 2)
    for dims in (("track", "system", "metric"), ("system", "metric", "track"), ("metric", "track", "system")):
        xr.testing.assert_identical(ds.transpose(*dims).mirflow.query(), ds.mirflow.query())
