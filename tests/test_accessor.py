"""What a store looks like at a glance, in a terminal and in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.collection import Collection
from mirflow.cells import Status
from mirflow.ragged import Ragged

from .groups import make_group, random_group, write_store


class Reader(HTMLParser):
    """The tags and the texts of a page; raises where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def tree(tmp_path) -> xr.DataTree:
    groups = {"chord": random_group(2, 5, 2), "chord_mirex2013": random_group(3, 4, 1, convention="mirex2013")}
    return mirflow.open_store(write_store(tmp_path / "x.zarr", groups))


class TestText:
    def test_of_a_store(self, tree):
        expected = (
            "<mirflow store: chord 2 systems x 5 tracks x 2 metrics; chord_mirex2013 3 systems x 4 tracks x 1 metric>"
        )
        assert repr(tree.mirflow) == expected

    def test_of_an_evaluation(self, tree):
        assert repr(tree["chord"].to_dataset().mirflow) == "<mirflow scores: 2 systems x 5 tracks x 2 metrics>"

    def test_of_a_collection(self, tree):
        ragged = Ragged({"time": np.array([1.0, 2.0])}, (np.array([2]),))
        assert repr(Collection("events", ["t"], ragged).to_dataset().mirflow) == "<mirflow collection: 1 track>"

    def test_of_anything_else(self, tree):
        assert repr(xr.Dataset().mirflow) == "<mirflow accessor: neither scores nor a collection>"
        assert repr(xr.DataTree().mirflow) == "<mirflow store: no scores>"


class TestPage:
    def test_systems_and_figures_stand_in_a_table(self, tree):
        texts = read(tree.mirflow._repr_html_()).texts
        value = tree["chord"].mirflow.query("majmin")["value"].values[0, 0]
        assert {"S0", "S1", "majmin", "root", "wcsr", f"{value:.4f}", "5"} <= set(texts)
        assert "chord_mirex2013: task chord, convention mirex2013, grid union" in texts

    def test_missing_cells_are_counted(self):
        status = [[Status.ok, Status.failed], [Status.ok, Status.ok]]
        page = make_group(np.ones((2, 2, 1)), status=status).mirflow._repr_html_()
        assert "missing (common): 1 of 4 cells without any score" in read(page).texts

    def test_names_are_text(self):
        name = '<img src=x onerror="alert(1)">'
        page = make_group(np.ones((1, 1, 1)), systems=[name], metrics=["</td>"], task="<b>").mirflow._repr_html_()
        reader = read(page)
        assert "img" not in reader.tags
        assert {name, "</td>"} <= set(reader.texts)

    def test_nothing_to_show(self):
        assert "no scores of single numbers" in make_group(np.ones((0, 1, 1))).mirflow._repr_html_()
        assert read(xr.DataTree().mirflow._repr_html_()).texts[-1].strip() == "store: no scores"

    def test_many_metrics_and_systems_are_cut_and_counted(self):
        ds = random_group(70, 2, 8, metrics=[f"m{n}" for n in range(8)], standard=["mean"] * 8)
        texts = read(ds.mirflow._repr_html_()).texts
        assert "6 of 8 metrics shown" in texts
        assert "60 of 70 systems shown" in texts

    def test_a_figure_that_cannot_be_computed_says_why(self):
        ds = random_group(2, 3, 1, standard=["wcsr_tn"]).drop_vars("duration")
        assert "needs the durations of the references" in ds.mirflow._repr_html_()
