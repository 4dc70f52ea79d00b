"""Layout of results: readable tables, long tables, matrices, and what stores and pairs hold."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from rich.cells import cell_len

import mirflow
from mirflow.errors import QueryError
from mirflow.reports.layout import REST, long_table, readable_tables, wide_table
from mirflow.reports.summaries import cell_remarks, pair_table
from mirflow.reports.tables import Tabulation, to_text

from ..commands import printed
from ..groups import make_group, random_group, write_store

NAN = np.nan


def dirty_group(**keywords):
    """S1 lacks t0; t2 has nothing to measure."""
    score = [[[1.0], [0.5], [0.0]], [[NAN], [0.25], [0.0]]]
    weight = [[[10], [30], [0]]] * 2
    return make_group(score, weight, status=[[1, 1, 1], ["missing_estimate", 1, 1]], **keywords)


def with_matrix(ds: xr.Dataset) -> xr.Dataset:
    """A group with a confusion matrix."""
    systems, tracks = ds.sizes["system"], ds.sizes["track"]
    values = np.zeros((systems, tracks, 2, 2))
    ds = ds.assign(confusion_majmin=(("system", "track", "ref_class", "est_class"), values))
    return ds.assign_coords(ref_class=["a", "b"], est_class=["a", "b"])


def answer_to(ds, *question, group="", **more):
    tree = xr.DataTree.from_dict({group: ds}) if group else ds
    return tree.mirflow.query(*question, **more)


def readable_table(ds, **options):
    (table,) = readable_tables(ds, **options)
    return table


class TestLong:
    def test_every_row_can_be_read_alone(self):
        table = long_table(answer_to(dirty_group(), "majmin", "mean", group="g"))
        first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
        assert second == {
            "group": "g",
            "task": "chord",
            "convention": "mir_eval",
            "grid": "union",
            "metric": "majmin",
            "aggregate": "mean",
            "system": "S1",
            "value": 0.125,
            "unit": "",
            "n": 2,
            "n_missing": 1,
            "n_undefined": 1,
            "n_empty": 0,
            "n_tracks": 3,
            "missing": "common",
            "undefined": "keep",
        }
        assert (first["system"], first["value"]) == ("S0", 0.25)

    def test_groups_become_columns(self):
        ds = random_group(1, 3, 1, track_meta={"genre": ["a", "b", "b"], "year": [1963.0, NAN, 1964.0]})
        table = long_table(answer_to(ds, "majmin", "mean", ["genre", "year"]))
        place = table.columns.index("genre")
        assert table.columns[place : place + 2] == ("genre", "year")
        assert [row[place] for row in table.rows] == ["a", "b", "b"]
        assert [row[place + 1] for row in table.rows][:2] == [1963, 1964]

    def test_a_coordinate_with_the_name_of_a_column_is_renamed(self):
        ds = random_group(1, 2, 1, track_meta={"group": ["a", "b"]})
        assert "track_group" in long_table(answer_to(ds, by="group")).columns

    def test_values_are_those_of_the_answer(self):
        ds = random_group(3, 6, 2, track_meta={"genre": list("aabbcc")})
        answer = labelled = answer_to(ds, by="genre")
        rows = [dict(zip(long_table(answer).columns, row, strict=True)) for row in long_table(answer).rows]
        assert len(rows) == 3 * 2 * 3
        for row in rows:
            cell = labelled.sel(system=row["system"], metric=row["metric"], genre=row["genre"])
            assert row["value"] == cell["value"].item()


class TestWide:
    """A column for each system, metric or group, for programs that expect variables in columns."""

    def wide(self, ds, across, *metrics, **question):
        table = wide_table(answer_to(ds, list(metrics), "mean", missing="skip", **question), across)
        start = table.columns.index("grid") + 1
        return [row[start:] for row in (table.columns, *table.rows)]

    def test_tracks_in_rows_and_systems_in_columns(self):
        ds = random_group(2, 2, 2, metrics=["csr", "seg"])
        score = ds["score"].transpose("metric", "track", "system").values
        assert self.wide(ds, "system", "csr", "seg", by="track") == [
            ("metric", "aggregate", "track", "unit", "S0", "S1"),
            ("csr", "mean", "t0", "", *score[0, 0]),
            ("csr", "mean", "t1", "", *score[0, 1]),
            ("seg", "mean", "t0", "", *score[1, 0]),
            ("seg", "mean", "t1", "", *score[1, 1]),
        ]
        assert self.wide(ds, "metric", "csr", "seg", by="track")[:3] == [
            ("system", "track", "csr", "seg"),
            ("S0", "t0", *score[:, 0, 0]),
            ("S0", "t1", *score[:, 1, 0]),
        ]

    def test_groups_of_several_coordinates(self):
        ds = random_group(1, 3, 1, metrics=["csr"]).assign_coords(
            genre=("track", ["Pop", "Pop", ""]), year=("track", [1980.0, 1981.0, 1981.0])
        )
        (score,) = ds["score"].squeeze().values[None]
        assert self.wide(ds, "group", "csr", by=["genre", "year"]) == [
            ("metric", "aggregate", "system", "unit", "Pop, 1980", "Pop, 1981", "(none), 1981"),
            ("csr", "mean", "S0", "", *score),
        ]

    def test_labels_run_across_as_metrics_do(self):
        table = wide_table(confusion_of([[3.0, 1.0], [0.0, 2.0]], ["a", "b"]), "metric")
        assert table.columns[-4:] == ("ref_class", "unit", "a", "b")
        assert [row[-4:] for row in table.rows] == [("a", "s", 3.0, 1.0), ("b", "s", None, 2.0)]

    def test_a_missing_value_is_empty(self):
        table = wide_table(answer_to(dirty_group(), "majmin", "mean", by="track", missing="skip"), "system")
        assert Tabulation((), lambda width: [table], lambda: [table]).to_csv().splitlines()[1].endswith(",t0,,1.0,")

    def test_what_cannot_be_wide(self):
        ds = random_group(1, 9, 1, metrics=["csr"], systems=["track"])
        with pytest.raises(QueryError, match="nothing is grouped"):
            wide_table(answer_to(ds, "csr"), "group")
        with pytest.raises(QueryError, match="'track' is the name of another column"):
            wide_table(answer_to(ds, "csr", by="track"), "system")
        with pytest.raises(QueryError, match="intervals and marks already have columns"):
            mirflow.query(ds, "csr", pivot="system", ci=0.95).to_csv()


class TestReadable:
    def test_systems_down_and_metrics_across(self):
        table = readable_table(answer_to(random_group(2, 3, 2)))
        assert table.columns == ("system", "majmin", "root", "n")
        assert [row[0] for row in table.rows] == ["S0", "S1"]

    def test_turned_round_where_there_are_many_metrics(self):
        ds = random_group(2, 3, 20, metrics=[f"metric{i}" for i in range(20)])
        table = readable_table(answer_to(ds), width=80)
        assert table.columns == ("metric", "S0", "S1", "n")
        assert max(map(cell_len, to_text(table).splitlines())) <= 100

    def test_fifteen_metrics_of_nine_systems_are_two_blocks_of_fifteen_rows_on_80_columns(self):
        ds = random_group(
            9, 3, 15, metrics=[f"metric_{i:02d}" for i in range(15)], systems=[f"NMSD{i}" for i in range(9)]
        )
        lines = to_text(readable_table(answer_to(ds), width=80), 80).splitlines()
        assert max(map(cell_len, lines)) <= 80
        assert [line.split()[1:] for line in lines if line.startswith("metric ")] == [
            [f"NMSD{i}" for i in range(7)],
            ["NMSD7", "NMSD8", "n"],
        ]
        assert sum(line.startswith("metric_") for line in lines) == 2 * 15

    def test_blocks_hold_every_value_once(self):
        ds = random_group(20, 3, 20, metrics=[f"metric{i}" for i in range(20)], seed=1)
        answer = answer_to(ds)
        lines = to_text(readable_table(answer, width=80), 80).splitlines()
        shown = [entry for line in lines for entry in line.split() if re.fullmatch(r"0\.\d{4}", entry)]
        assert sorted(shown) == sorted(f"{value:.4f}" for value in answer["value"].values.ravel())

    def test_one_value_a_row_where_a_block_has_room_for_one_only(self):
        names = [f"a rather long name of a system, the one of {i}" for i in range(4)]
        metrics = [f"a_rather_long_name_{i}" * 2 for i in range(5)]
        table = readable_table(answer_to(random_group(4, 3, 5, systems=names, metrics=metrics)), width=80)
        assert table.columns == ("metric", "system", "value", "n")
        assert len(table.rows) == 20

    def test_different_aggregates_are_named_beside_the_metrics(self):
        table = readable_table(answer_to(random_group(1, 3, 2, standard=["wcsr", "mean"])))
        assert table.columns == ("system", "majmin [wcsr]", "root [mean]", "n")

    def test_numbers_have_four_decimals_and_percentages_two(self):
        ds = make_group([[[0.123456, 3.5]]], unit=["", "chords"], standard=["mean", "mean"])
        assert readable_table(answer_to(ds)).rows == (("S0", "0.1235", "3.5000", "1"),)
        percent = readable_table(answer_to(ds), percent=True)
        assert percent.rows == (("S0", "12.35", "3.5000", "1"),)
        assert "ratios in percent" in percent.notes

    def test_missing_and_undefined_cells_are_counted(self):
        table = readable_table(answer_to(dirty_group(), "majmin", "mean"))
        assert table.columns == ("system", "majmin", "n", "missing", "undefined")
        assert table.rows[1] == ("S1", "0.1250", "2", "1", "1")
        assert "missing (common): 1 of 6 cells (system and track); only the tracks that every system has" in table.notes
        assert (
            "undefined (keep): 2 of 6 cells (system and track); scores with nothing to measure count as they are"
            in table.notes
        )

    @pytest.mark.parametrize(
        ("score", "message"),
        [
            (NAN, "scores with nothing to measure have no value and are left out"),
            (0.0, "scores with nothing to measure count as they are, without a value not at all"),
        ],
    )
    def test_what_has_no_value_does_not_count_and_that_is_noted(self, score, message):
        ds = make_group([[[1.0], [NAN], [score]]], [[[9.0], [0.0], [0.0]]])
        assert f"undefined (keep): 2 of 3 cells (system and track); {message}" in readable_table(answer_to(ds)).notes

    def test_a_cell_that_lacks_one_metric_or_another_counts_once(self):
        weight = [[[0.0, 9.0], [9.0, 0.0], [0.0, 0.0], [9.0, 9.0]]]
        answer = answer_to(make_group(np.full((1, 4, 2), 0.5), weight))
        assert answer["n_undefined"].values.ravel().tolist() == [2, 2]
        message = "undefined (keep): 3 of 4 cells (system and track), for one or more of 2 metrics; scores with nothing"
        assert any(note.startswith(message) for note in readable_table(answer).notes)

    def test_captions_count_the_tracks(self):
        ds = make_group([[[1.0], [NAN], [0.5]], [[0.5], [0.5], [0.5]]], status=[[1, "failed", 1], [1, 1, 1]])
        assert (
            readable_table(answer_to(ds)).caption().startswith("Chord estimation: Majmin of 2 systems on 2 of 3 tracks")
        )
        own = answer_to(ds, missing="skip")
        assert "on 2-3 of 3 tracks" in readable_table(own).caption()

    def test_nothing_missing_has_no_note(self):
        notes = readable_table(answer_to(random_group(2, 3, 1))).notes
        assert notes == ("wcsr: mean over the tracks, weighted by their evaluated seconds",)

    def test_a_system_without_scores_is_named(self):
        ds = make_group([[[1.0]], [[NAN]]], status=[[1], ["missing_estimate"]])
        table = readable_table(answer_to(ds))
        assert table.rows[0][1] == "-"
        assert any(note.startswith("no score at all: S1;") for note in table.notes)

    def test_metrics_without_the_aggregate_are_named(self):
        ds = random_group(1, 2, 2, aggregates=["wcsr", "mean"])
        assert "not defined for: root" in readable_table(answer_to(ds, aggregate="wcsr")).notes

    def test_title_names_the_evaluation(self):
        title = readable_table(answer_to(random_group(1, 2, 1), group="g")).title
        assert title == "g: task chord, convention mir_eval"

    @pytest.mark.parametrize(("grid", "named"), [("0.01", ", frames of 10 ms"), ("union", "")])
    def test_title_names_a_grid_that_somebody_chose(self, grid, named):
        title = readable_table(answer_to(random_group(1, 2, 1).assign_attrs(grid=grid))).title
        assert title == f"task chord, convention mir_eval{named}"

    def test_tracks_without_a_value_have_a_name(self):
        ds = random_group(1, 2, 1, track_meta={"genre": ["", "rock"]})
        assert [row[1] for row in readable_table(answer_to(ds, by="genre")).rows] == ["rock", "(none)"]

    def test_empty_groups_of_a_product_are_left_out(self):
        ds = random_group(1, 2, 1, track_meta={"genre": ["a", "b"], "key": ["x", "y"]})
        assert len(readable_table(answer_to(ds, by=["genre", "key"])).rows) == 2


class TestContents:
    """What ``mirflow show`` prints of a store."""

    def test_what_an_evaluation_is(self, tmp_path):
        ds = with_matrix(random_group(2, 30, 2, track_meta={"genre": ["a"] * 30}, versions={"mirflow": "0.1.0"}))
        lines = printed("show", write_store(tmp_path / "s.zarr", {"chord": ds})).splitlines()
        rows = dict(re.split("  +", line, maxsplit=1) for line in lines if "  " in line)
        assert rows["systems (2)"] == "S0, S1"
        assert rows["tracks (30)"] == "t0, t1, t2, t3, t4, t5, ..., t29"
        assert rows["track coordinates"] == "genre"
        assert rows["more than scalars"] == "confusion_majmin(system, track, ref_class, est_class)"
        assert rows["versions"] == "mirflow 0.1.0"

    def test_cells_are_counted_by_evaluation_and_by_status(self, tmp_path):
        groups = {"a": dirty_group(), "b": with_matrix(random_group(2, 3, 1))}
        lines = printed("show", write_store(tmp_path / "s.zarr", groups)).splitlines()
        shown = [re.split("  +", line) for line in lines]
        assert shown[0][3:] == ["systems", "tracks", "metrics", "with dims", "cells scored"]
        assert ["a", "chord", "mir_eval", "2", "3", "1", "0", "5 of 6"] in shown
        assert ["b", "chord", "mir_eval", "2", "3", "1", "1", "6 of 6"] in shown
        assert ["group", "system", "ok", "missing_estimate"] in shown
        assert ["a", "S0", "3", "0"] in shown
        assert ["a", "S1", "2", "1"] in shown


class TestPairs:
    def test_one_pair(self):
        table = pair_table(make_group([[[0.5]]], 20.0))
        assert table.rows == (("majmin", 0.5, 20.0, "s"),)
        assert table.title == "task chord, convention mir_eval"

    @pytest.mark.parametrize(("score", "shown"), [(0.5, "50.00"), (1.0, "100.00")])
    def test_in_percent(self, score, shown):
        assert pair_table(make_group([[[score]]]), percent=True).rows[0][1] == shown

    def test_failed_cells_are_listed_with_their_reasons(self):
        ds = dirty_group()
        ds["message"] = (("system", "track"), np.array([["", "", ""], ["no file x.lab", "", ""]]))
        assert cell_remarks(ds)[0] == ["system 'S1', track 't0': missing_estimate: no file x.lab"]
        assert cell_remarks(ds.isel(system=[1]))[0] == ["track 't0': missing_estimate: no file x.lab"]


def confusion_of(values, labels, *, group="", **question):
    """The confusion of one system over two tracks, the values being those of both together."""
    ds = make_group(np.zeros((1, 2, 1)), track_meta={"genre": ["a", ""]})
    halves = np.stack([np.asarray(values, dtype=float) / 2] * 2)[np.newaxis]
    ds["confusion_majmin"] = (("system", "track", "ref_class", "est_class"), halves, {"units": "s"})
    ds = ds.assign_coords(ref_class=labels, est_class=labels)
    tree = xr.DataTree.from_dict({group: ds}) if group else ds
    return tree.mirflow.query("confusion@majmin", **question)


SMALL = [[4.0, 0.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]


class TestMatrices:
    def test_the_reference_is_down_the_estimate_across_and_what_does_not_occur_is_left_out(self):
        (table,) = readable_tables(confusion_of(SMALL, ["C", "D", "N"], group="chord"))
        assert table.columns == ("ref_class \\ est_class", "C", "N")
        assert table.rows == (("C", "4.0", "0.5"), ("N", "1.0", "2.0"))
        assert table.title.endswith("convention mir_eval, confusion [s], system S0")
        assert table.notes == ("sum: added up over the tracks; 2 of 2 tracks",)

    def test_means_are_all_of_one_format(self):
        (table,) = readable_tables(confusion_of([[4.0, 0.0], [1.0, 2.0]], ["C", "N"], aggregate="mean"))
        assert table.rows == (("C", "2.0000", "0.0000"), ("N", "0.5000", "1.0000"))

    def test_percentages_are_shares_of_what_the_reference_says(self):
        values = [[4.0, 0.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.5, 2.5]]
        (table,) = readable_tables(confusion_of(values, ["C", "D", "N"]), percent=True)
        assert table.rows == (("C", "88.89", "0.00", "11.11"), ("D", "-", "-", "-"), ("N", "25.00", "12.50", "62.50"))
        assert "[s]" not in table.title
        assert table.notes[-1] == "in percent of the sum of each row (ref_class)"

    def test_one_table_a_group_of_tracks(self):
        first, second = readable_tables(confusion_of(SMALL, ["C", "D", "N"], by="genre"))
        assert first.title.endswith("system S0, genre a")
        assert second.title.endswith("system S0, genre (none)")
        assert first.rows[0] == ("C", "2.0", "0.2")

    @pytest.mark.parametrize("width", [60, 100])
    def test_many_classes_are_cut_to_the_largest_and_nothing_is_lost(self, width):
        values = np.random.default_rng(0).uniform(1, 9, (40, 40))
        values[7] += 100
        (table,) = readable_tables(confusion_of(values, [f"class {number}" for number in range(40)]), width=width)
        assert max(map(cell_len, to_text(replace(table, title=""), width).splitlines())) <= width
        assert table.columns[-1] == table.rows[-1][0] == REST
        assert "class 7" in table.columns
        shown = [[float(entry) for entry in row[1:]] for row in table.rows]
        np.testing.assert_allclose(np.sum(shown), values.sum(), rtol=1e-3)
        assert table.notes[-1].startswith("(rest): the sum of all others")

    @pytest.mark.parametrize("labels", [["C", "N"], []])
    def test_nothing_at_all(self, labels):
        (table,) = readable_tables(confusion_of(np.zeros((len(labels), len(labels))), labels))
        assert table.rows == ()


class TestMatricesForPrograms:
    def test_one_row_an_entry_that_is_not_0(self):
        table = long_table(confusion_of(SMALL, ["C", "D", "N"], group="chord"))
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        assert [(row["ref_class"], row["est_class"], row["value"]) for row in rows] == [
            ("C", "C", 4.0),
            ("C", "N", 0.5),
            ("N", "C", 1.0),
            ("N", "N", 2.0),
        ]
        assert rows[0] == {
            "group": "chord",
            "task": "chord",
            "convention": "mir_eval",
            "grid": "union",
            "metric": "confusion",
            "aggregate": "sum",
            "system": "S0",
            "ref_class": "C",
            "est_class": "C",
            "value": 4.0,
            "unit": "s",
            "n": 2,
            "n_missing": 0,
            "n_empty": 0,
            "n_tracks": 2,
            "missing": "skip",
        }

    def test_groups_become_columns(self):
        table = long_table(confusion_of(SMALL, ["C", "D", "N"], by="genre"))
        assert "group" not in table.columns
        assert [row[table.columns.index("genre")] for row in table.rows] == ["a"] * 4 + [""] * 4
