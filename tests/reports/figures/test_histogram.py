"""The figure of histograms, a panel for each system."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.errors import FigureError, UnknownNameError
from mirflow.reports import figures

from ...commands import invoke
from ...groups import make_group, random_group, write_store
from .looking import cut_off, overlapping, words


def panels(ax) -> dict[str, object]:
    """The panels by the names of their systems."""
    return {one.get_title(loc="left"): one for one in ax.figure.axes}


def test_bars_are_the_numbers_of_tracks_in_bins_that_panels_share():
    ds = random_group(3, 40, 1)
    found = panels(figures.histogram(ds, "majmin", bins=10))
    value = ds.mirflow.query("majmin", sort="best")
    assert list(found) == value["system"].values.tolist()
    for row, system in enumerate(ds.system.values):
        expected, _ = np.histogram(ds.score.values[row, :, 0], 10, (0, 1))
        assert [bar.get_height() for bar in found[system].patches] == expected.tolist()


def test_outlines_are_those_of_the_baseline():
    ds = random_group(3, 40, 1)
    found = panels(figures.histogram(ds, "majmin", bins=10, baseline="S1"))
    assert set(found) == {"S0", "S2"}
    expected, _ = np.histogram(ds.score.values[1, :, 0], 10, (0, 1))
    for ax in found.values():
        outline = ax.patches[-1].get_xy()
        assert set(outline[:, 1].tolist()) == {0, *expected.tolist()}
    assert "outline: S1" in words(ax)


def test_two_labelled_stores_are_before_and_after(tmp_path):
    scores = np.random.default_rng(0).uniform(0, 1, (2, 2, 12, 1))
    old, new = (write_store(tmp_path / f"{at}.zarr", {"chord": make_group(one)}) for at, one in enumerate(scores))
    found = panels(figures.histogram({"old": old, "new": new}, "majmin", baseline="old"))
    assert set(found) == {"new/S0", "new/S1"}
    words = ("plot", old, new, "--label", "old", "--label", "new", "histogram", "--baseline", "old")
    invoke(*words, "-o", tmp_path / "h.svg", code=0)
    assert (tmp_path / "h.svg").exists()


@pytest.mark.parametrize("systems", [1, 5, pytest.param(30, marks=pytest.mark.slow)])
def test_texts_are_whole_and_apart_and_of_many_systems_the_best_are_shown(systems):
    ax = figures.histogram(random_group(systems, 30, 1))
    assert (cut_off(ax), overlapping(ax)) == ([], [])
    assert len(ax.figure.axes) == min(systems, 24)
    assert ("the best 24 of 30 systems" in words(ax)) == (systems > 24)


def test_other_scores_than_ratios_have_their_range():
    score = np.random.default_rng(0).normal(5, 3, (1, 30, 1))
    ax = figures.histogram(make_group(score, unit=["dB"], standard=["mean"]))
    assert ax.get_xlim() == (score.min(), score.max())


def test_refusals():
    import matplotlib.pyplot as plt

    ds = random_group(2, 5, 1)
    with pytest.raises(FigureError, match="2 to 200 bins, not 1"):
        figures.histogram(ds, bins=1)
    with pytest.raises(FigureError, match="each of 2 systems has a panel"):
        figures.histogram(ds, ax=plt.subplots()[1])
    with pytest.raises(UnknownNameError, match="unknown baseline 'S9'"):
        figures.histogram(ds, baseline="S9")
    plt.close("all")
