"""The figure of ranks by several metrics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

import mirflow
from mirflow.errors import FigureError
from mirflow.reports import figures

from ...groups import make_group, random_group
from .looking import cut_off, overlapping, words


def ranks_of(ax) -> set[tuple[float, ...]]:
    """The ranks of each line."""
    return {tuple(line.get_ydata().tolist()) for line in ax.lines}


def test_lines_are_ranks_by_each_metric_and_tau_is_below():
    ds = random_group(6, 20, 3, orientation=["higher", "lower", "higher"])
    value = ds.mirflow.query(["majmin", "root", "seg"])["value"].values
    ranks = np.stack([rankdata(-value[:, 0]), rankdata(value[:, 1]), rankdata(-value[:, 2])], axis=1)
    ax = figures.bump(ds, ["majmin", "root", "seg"])
    assert ranks_of(ax) == {tuple(row) for row in ranks.tolist()}
    for one in (0, 1):
        tau = kendalltau(ranks[:, one], ranks[:, one + 1]).statistic
        assert f"{tau:.2f}" in [text.get_text() for text in ax.texts]
    ends = [[text.get_text() for text in ax.texts if text.xy[0] == at and text.xy[1] >= 1] for at in (0, 2)]
    assert ends == [[f"S{row}" for row in np.argsort(ranks[:, at])] for at in (0, 2)]


def test_equal_values_share_their_rank():
    ax = figures.bump(make_group(np.array([[[0.5, 0.1]], [[0.5, 0.2]], [[0.1, 0.3]]])), ["majmin", "root"])
    assert ranks_of(ax) == {(1.5, 3.0), (1.5, 2.0), (3.0, 1.0)}
    assert "S0, S1" in [text.get_text() for text in ax.texts]


def test_metrics_are_those_that_the_field_reports_by_default(mirex2013_store):
    ax = figures.bump(mirex2013_store, group="chord")
    tree = mirflow.open_store(mirex2013_store)
    value = tree.mirflow.query("majmin", group="chord", sort="best")
    names = [text.get_text() for text in ax.texts if text.xy[0] == 0]
    assert names == value["system"].values.tolist()
    assert ax.get_xticklabels()[0].get_text() == "Major/minor"
    assert "Kendall's tau-b between neighbouring metrics below" in words(ax)


@pytest.mark.parametrize("systems", [2, 30])
def test_texts_are_whole_and_apart(systems):
    ax = figures.bump(random_group(systems, 12, 4))
    assert (cut_off(ax), overlapping(ax)) == ([], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "majmin"}, "by 2 to 24 metrics, not 1"),
        ({"metric": ["majmin", "root"], "system": "S0"}, "1 system to rank; at least two are needed"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        figures.bump(random_group(3, 5, 2), **options)
    with pytest.raises(FigureError, match="a page has room for 60 systems, not 61"):
        figures.bump(random_group(61, 3, 2))
