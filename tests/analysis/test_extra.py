from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.analysis.queries import aggregate, answers, query
from mirflow.analysis.scoreboard import from_dataset, read_store
from mirflow.analysis.selection import Question, find_tables
from mirflow.cells import Status
from mirflow.errors import QueryError, UnknownNameError

from ..datasets import write_dataset, write_pipeline
from ..groups import make_group

CLASSES = ["C:maj", "A:min", "N"]


def matrices(**keywords) -> xr.Dataset:
    """Two systems over four tracks with a confusion matrix of distinct numbers; S1 lacks t3."""
    score = np.full((2, 4, 1), 0.5)
    score[1, 3] = np.nan
    status = np.full((2, 4), "ok")
    status[1, 3] = "missing_estimate"
    ds = make_group(score, status=status, track_meta={"genre": ["rock", "", "pop", "rock"]}, **keywords)
    values = np.arange(2 * 4 * 9, dtype=float).reshape(2, 4, 3, 3)
    values[1, 3] = 0.0
    ds["confusion_majmin"] = (("system", "track", "ref_class", "est_class"), values, {"units": "s"})
    return ds.assign_coords(ref_class=CLASSES, est_class=CLASSES)


class TestMatrix:
    def test_tracks_are_added_up(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion@majmin", missing="skip")
        assert answer["value"].dims == ("system", "ref_class", "est_class")
        np.testing.assert_array_equal(answer["value"], ds["confusion_majmin"].sum("track"))
        assert answer["n"].values.tolist() == [4, 3]
        assert answer["n_missing"].values.tolist() == [0, 1]
        assert (answer.attrs["metric"], answer.attrs["aggregate"]) == ("confusion", "sum")
        assert answer["value"].attrs["units"] == "s"

    def test_systems_are_compared_on_common_tracks(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion")
        assert answer.attrs["missing"] == "common"
        np.testing.assert_array_equal(answer["value"], ds["confusion_majmin"].isel(track=slice(3)).sum("track"))

    @pytest.mark.parametrize(("missing", "count"), [("skip", 3), ("zero", 4)])
    def test_the_mean_is_over_the_tracks_that_count(self, missing, count):
        ds = matrices()
        answer = ds.mirflow.query("confusion", "mean", missing=missing)
        expected = ds["confusion_majmin"].sel(system="S1").sum("track") / count
        np.testing.assert_allclose(answer["value"].sel(system="S1"), expected, rtol=1e-15)

    def test_raise_lists_what_is_missing(self):
        with pytest.raises(QueryError, match=r"1 of 8 cells have no score(.|\n)*system 'S1', track 't3': missing_est"):
            matrices().mirflow.query("confusion", missing="raise")

    def test_groups_of_tracks_come_first_and_those_without_a_value_last(self):
        ds = matrices()
        answer = ds.mirflow.query("confusion", by="genre", system="S0")
        assert answer["value"].dims == ("system", "genre", "ref_class", "est_class")
        assert answer["genre"].values.tolist() == ["pop", "rock", ""]
        rock = ds["confusion_majmin"].sel(system=["S0"]).isel(track=[0, 3]).sum("track")
        np.testing.assert_array_equal(answer["value"].sel(genre="rock"), rock)

    def test_many_tracks_are_read_in_parts(self):
        values = np.random.default_rng(0).uniform(size=(1, 600, 2, 2))
        ds = make_group(np.zeros((1, 600, 1)))
        ds["confusion_root"] = (("system", "track", "ref_class", "est_class"), values)
        ds = ds.assign_coords(ref_class=["C", "N"], est_class=["C", "N"])
        tracks = [f"t{number}" for number in range(599, 0, -7)]
        np.testing.assert_allclose(
            ds.mirflow.query("confusion@root", tracks=tracks)["value"][0], values[0, 599:0:-7].sum(axis=0), rtol=1e-13
        )

    def test_order_of_dims_does_not_matter(self):
        ds = matrices()
        turned = ds.transpose("est_class", "ref_class", "track", "system", "metric")
        # The variable's own order of its extra dims is the order of the answer.
        answer = turned.mirflow.query("confusion").transpose("system", "ref_class", "est_class")
        xr.testing.assert_allclose(answer, ds.mirflow.query("confusion"))


class TestNames:
    @pytest.mark.parametrize("name", ["confusion", "confusion@majmin", "confusion_majmin"])
    def test_by_identity_or_variable(self, name):
        assert matrices().mirflow.query(name).attrs["metric"] == "confusion"

    def test_a_bare_name_stands_for_the_parameters_that_are_stored(self):
        ds = matrices().rename(confusion_majmin="confusion_sevenths")
        assert find_tables(ds) == {"confusion_sevenths": "confusion@sevenths"}
        assert ds.mirflow.query("confusion").attrs["metric"] == "confusion@sevenths"
        with pytest.raises(UnknownNameError, match="unknown metric 'confusion@majmin'"):
            ds.mirflow.query("confusion@majmin")

    def test_unknown_names_are_told_of_it(self):
        with pytest.raises(UnknownNameError, match="unknown metric 'confusoin'; did you mean 'confusion'"):
            matrices().mirflow.query("confusoin")
        with pytest.raises(UnknownNameError, match="unknown metric 'confusoin'; did you mean 'confusion'"):
            xr.DataTree.from_dict({"chord": matrices()}).mirflow.query("confusoin")

    def test_aggregates_that_it_does_not_have(self):
        with pytest.raises(QueryError, match="'wcsr' is not defined for metric 'confusion'; it has: sum, mean"):
            matrices().mirflow.query("confusion", "wcsr")
        with pytest.raises(UnknownNameError, match="unknown aggregate 'smu'; did you mean 'sum'"):
            matrices().mirflow.query("confusion", "smu")

    def test_it_is_asked_for_alone(self):
        with pytest.raises(QueryError, match="ask for it alone: confusion"):
            matrices().mirflow.query(["majmin", "confusion"])
        assert len(answers(matrices(), Question(["majmin", "confusion"]))) == 2

    def test_without_a_name_the_numbers_answer(self):
        assert "metric" in matrices().mirflow.query().dims

    def test_a_name_of_another_answer(self):
        ds = matrices().assign_coords(system_year=("track", list("abcd"))).rename(genre="ref")
        assert ds.mirflow.query("confusion", by="ref")["value"].dims[1] == "ref"


class TestNothingButMatrices:
    """An evaluation without any metric that is one number."""

    @pytest.fixture
    def bare(self) -> xr.Dataset:
        return matrices().isel(metric=slice(0))

    def test_it_answers_without_a_name(self, bare):
        assert bare.mirflow.query().attrs["metric"] == "confusion"

    def test_from_a_store(self, tmp_path):
        write_dataset(tmp_path)
        report = mirflow.run(write_pipeline(tmp_path, metrics="[confusion@sevenths]"))
        tree = mirflow.open_store(report.store)
        answer = tree.mirflow.query()
        np.testing.assert_allclose(answer["value"], tree["chord"]["confusion_sevenths"].sum("track"), rtol=1e-13)
        (board,) = read_store(report.store).values()
        (plain,) = answers(board, Question(), "chord")
        xr.testing.assert_identical(plain.to_dataset(), answer)
