"""The tracks with the worst and the best scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.analysis.scoreboard import from_dataset
from mirflow.analysis.selection import Question
from mirflow.analysis.worst import extremes
from mirflow.cells import Status
from mirflow.errors import QueryError
from mirflow.report.summaries import extremes_long_table, extremes_table

from ..groups import make_group, random_group

SCORES = [[[0.9], [0.1], [0.5], [0.4]], [[0.2], [0.8], [0.3], [0.6]]]


def board(**more):
    return from_dataset(make_group(SCORES, track_meta={"genre": list("abab")}, **more))


def tracks(found) -> list[list[str]]:
    return found.track


class TestEachSystem:
    def test_its_own_worst_tracks(self):
        found = extremes(board(), Question("majmin"), 2)
        assert tracks(found) == [["t1", "t3"], ["t0", "t2"]]
        assert [own.tolist() for own in found.value] == [[0.1, 0.4], [0.2, 0.3]]

    def test_the_best(self):
        assert tracks(extremes(board(), Question("majmin"), 1, best=True)) == [["t0"], ["t1"]]

    def test_lower_is_better(self):
        assert tracks(extremes(board(orientation=["lower"]), Question("majmin"), 1)) == [["t0"], ["t1"]]

    @given(st.integers(1, 12), st.booleans(), st.integers(0, 5))
    def test_as_sorting_says(self, count, best, seed):
        ds = random_group(3, 8, 1, seed=seed)
        found = extremes(from_dataset(ds), Question("majmin"), count, best=best)
        for row, own in enumerate(found.track):
            series = ds["score"][row, :, 0].to_series().sort_values(ascending=not best)
            assert own == series.index[:count].tolist()

    def test_equal_ones_in_the_order_of_the_tracks(self):
        ds = make_group(np.zeros((1, 4, 1)))
        assert tracks(extremes(from_dataset(ds), Question("majmin"), 3)) == [["t0", "t1", "t2"]]

    def test_what_is_missing_is_no_bad_score(self):
        status = [[Status.ok, Status.failed, Status.ok, Status.ok], [Status.ok] * 4]
        scores = np.array(SCORES)
        scores[0, 1] = np.nan
        found = extremes(from_dataset(make_group(scores, status=status)), Question("majmin"), 4)
        assert tracks(found) == [["t3", "t2", "t0"], ["t0", "t2", "t3", "t1"]]
        assert found.left_out == 1
        assert found.attrs["missing"] == "skip"

    def test_what_had_nothing_to_measure_is_left_out_where_that_is_said(self):
        weight = np.ones((2, 4, 1))
        weight[0, 1] = 0
        group = from_dataset(make_group(SCORES, weight))
        assert tracks(extremes(group, Question("majmin", undefined="skip"), 1))[0] == ["t3"]
        assert tracks(extremes(group, Question("majmin"), 1))[0] == ["t1"]

    def test_of_some_tracks_and_systems(self):
        found = extremes(board(), Question("majmin", system="S1", where="genre == 'b'"), 1)
        assert (found.systems, tracks(found)) == (["S1"], [["t3"]])


class TestOverall:
    def test_by_the_mean_over_the_systems(self):
        found = extremes(board(), Question("majmin"), 2, overall=True)
        assert tracks(found) == [["t2", "t1"]]
        assert found.value[0].tolist() == [0.4, 0.45]
        assert found.score[0].tolist() == [[0.5, 0.1], [0.3, 0.8]]

    def test_only_tracks_that_all_have(self):
        status = [[Status.ok, Status.ok, Status.failed, Status.ok], [Status.ok] * 4]
        found = extremes(from_dataset(make_group(SCORES, status=status)), Question("majmin"), 9, overall=True)
        assert sorted(tracks(found)[0]) == ["t0", "t1", "t3"]
        assert found.attrs["missing"] == "common"


class TestRefused:
    def test_several_metrics(self):
        with pytest.raises(QueryError, match="tracks are listed by one metric; name one of: majmin, root"):
            extremes(from_dataset(random_group(2, 3, 2)), Question())

    def test_neither_way_is_better(self):
        with pytest.raises(QueryError, match="neither high nor low"):
            extremes(board(orientation=["none"]), Question("majmin"))

    def test_no_tracks(self):
        with pytest.raises(QueryError, match="ask for one at least"):
            extremes(board(), Question("majmin"), 0)


class TestShown:
    def test_a_row_for_each_track(self):
        table = extremes_table(extremes(board(), Question("majmin"), 1), percent=True)
        assert table.columns == ("system", "rank", "track", "majmin", "weight")
        assert table.rows == (("S0", 1, "t1", "10.00", "1"), ("S1", 1, "t0", "20.00", "1"))
        assert table.notes[0] == "worst tracks of each system; higher is better"

    def test_overall_every_system_has_a_column(self):
        table = extremes_table(extremes(board(), Question("majmin"), 1, overall=True))
        assert table.columns == ("rank", "track", "mean", "S0", "S1")
        assert table.rows == ((1, "t2", "0.4000", "0.5000", "0.3000"),)

    @pytest.mark.parametrize("overall", [False, True])
    def test_programs_get_the_coordinates_too(self, overall):
        table = extremes_long_table(extremes(board(), Question("majmin"), 2, overall=overall))
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        assert len(rows) == 4
        wanted = {"t0": "a", "t1": "b", "t2": "a", "t3": "b"}
        assert all(row["genre"] == wanted[row["track"]] for row in rows)
        assert all(row["order"] == "worst" and row["metric"] == "majmin" for row in rows)


class TestDataset:
    def test_of_each_system(self):
        ds = make_group(SCORES).mirflow.worst("majmin", 2)
        assert ds["track"].dims == ("system", "rank")
        assert ds["track"].sel(system="S1").values.tolist() == ["t0", "t2"]
        assert ds["value"].sel(system="S1", rank=1).item() == 0.2
        assert ds.attrs["order"] == "worst"

    def test_systems_with_fewer_tracks(self):
        status = [[Status.failed] * 3 + [Status.ok], [Status.ok] * 4]
        ds = make_group(SCORES, status=status).mirflow.worst("majmin", 2)
        assert ds["track"].values.tolist() == [["t3", ""], ["t0", "t2"]]
        assert np.isnan(ds["value"].values[0, 1])

    def test_overall(self):
        ds = make_group(SCORES).mirflow.worst("majmin", 2, overall=True, best=True)
        assert ds["track"].values.tolist() == ["t0", "t3"]
        assert ds["score"].sel(system="S0").values.tolist() == [0.9, 0.4]
