from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from mirflow.report.layout import REST, long_table, readable_tables
from mirflow.report.tables import text_width, to_text

from ..groups import make_group


def answer(values, labels, *, group="", **question):
    """The confusion of one system over two tracks, the values being those of both together."""
    ds = make_group(np.zeros((1, 2, 1)), track_meta={"genre": ["a", ""]})
    halves = np.stack([np.asarray(values, dtype=float) / 2] * 2)[np.newaxis]
    ds["confusion_majmin"] = (("system", "track", "ref_class", "est_class"), halves, {"units": "s"})
    ds = ds.assign_coords(ref_class=labels, est_class=labels)
    tree = xr.DataTree.from_dict({group: ds}) if group else ds
    return tree.mirflow.query("confusion@majmin", **question)


SMALL = [[4.0, 0.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]


class TestForPeople:
    def test_the_reference_is_down_the_estimate_across_and_what_does_not_occur_is_left_out(self):
        (table,) = readable_tables(answer(SMALL, ["C", "D", "N"], group="chord"))
        assert table.columns == ("ref_class \\ est_class", "C", "N")
        assert table.rows == (("C", "4.0", "0.5"), ("N", "1.0", "2.0"))
        assert table.title.endswith("grid union, confusion [s], system S0")
        assert table.notes == ("sum: added up over the tracks; 2 of 2 tracks",)

    def test_means_are_all_of_one_format(self):
        (table,) = readable_tables(answer([[4.0, 0.0], [1.0, 2.0]], ["C", "N"], aggregate="mean"))
        assert table.rows == (("C", "2.0000", "0.0000"), ("N", "0.5000", "1.0000"))

    def test_percentages_are_shares_of_what_the_reference_says(self):
        values = [[4.0, 0.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.5, 2.5]]
        (table,) = readable_tables(answer(values, ["C", "D", "N"]), percent=True)
        assert table.rows == (
            ("C", "88.89", "0.00", "11.11"),
            ("D", "-", "-", "-"),
            ("N", "25.00", "12.50", "62.50"),
        )
        assert "[s]" not in table.title
        assert table.notes[-1] == "in percent of what each row (ref_class) adds up to"

    def test_one_table_a_group_of_tracks(self):
        first, second = readable_tables(answer(SMALL, ["C", "D", "N"], by="genre"))
        assert first.title.endswith("system S0, genre a")
        assert second.title.endswith("system S0, genre (none)")
        assert first.rows[0] == ("C", "2.0", "0.2")

    @pytest.mark.parametrize("width", [60, 100])
    def test_many_classes_are_cut_to_the_largest_and_nothing_is_lost(self, width):
        values = np.random.default_rng(0).uniform(1, 9, (40, 40))
        values[7] += 100
        (table,) = readable_tables(answer(values, [f"class {number}" for number in range(40)]), width=width)
        assert text_width(to_text(replace(table, title=""), width)) <= width
        assert table.columns[-1] == table.rows[-1][0] == REST
        assert "class 7" in table.columns
        shown = [[float(entry) for entry in row[1:]] for row in table.rows]
        np.testing.assert_allclose(np.sum(shown), values.sum(), rtol=1e-3)
        assert table.notes[-1].startswith("(rest): the sum of what does not fit")

    @pytest.mark.parametrize("labels", [["C", "N"], []])
    def test_nothing_at_all(self, labels):
        (table,) = readable_tables(answer(np.zeros((len(labels), len(labels))), labels))
        assert table.rows == ()


class TestForPrograms:
    def test_one_row_an_entry_that_is_not_0(self):
        table = long_table(answer(SMALL, ["C", "D", "N"], group="chord"))
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
            "n_tracks": 2,
            "missing": "skip",
        }

    def test_groups_become_columns(self):
        table = long_table(answer(SMALL, ["C", "D", "N"], by="genre"))
        assert "group" not in table.columns
        assert [row[table.columns.index("genre")] for row in table.rows] == ["a"] * 4 + [""] * 4
