"""The figure of how much systems agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import ClusterNode, average, to_tree
from scipy.spatial.distance import squareform
from scipy.stats import kendalltau, pearsonr

import mirflow
from mirflow.errors import FigureError
from mirflow.reports import figures

from ...commands import rows
from ...groups import make_group, write_store
from .looking import cut_off, overlapping, words


def world(systems: int = 6, tracks: int = 30):
    rng = np.random.default_rng(2)
    score = rng.uniform(0, 1, (2, tracks))[rng.integers(0, 2, systems)] + rng.normal(0, 0.2, (systems, tracks))
    return make_group(np.clip(score, 0, 1)[..., np.newaxis])


def best_first(fork: ClusterNode, rank: np.ndarray) -> list[int]:
    if fork.is_leaf():
        return [fork.id]
    sides = [best_first(side, rank) for side in (fork.left, fork.right)]
    return [row for side in sorted(sides, key=lambda rows: min(rank[rows])) for row in side]


@pytest.mark.parametrize(("coefficient", "oracle"), [("pearson", pearsonr), ("kendall", kendalltau)])
def test_cells_are_correlations_in_the_order_of_the_dendrogram(coefficient, oracle):
    ds = world()
    score = ds.score.values[..., 0]
    expected = np.array([[oracle(one, other)[0] for other in score] for one in score])
    distance = squareform(1 - expected, checks=False)
    ax = figures.agreement(ds, coefficient=coefficient)
    order = [int(text.get_text().removeprefix("S")) for text in ax.get_yticklabels()]
    # At each fork the side with the better best system comes first.
    rank = np.argsort(np.argsort(-ds.mirflow.query()["value"].values.ravel()))
    assert order == best_first(to_tree(average(distance)), rank)
    assert rank[order[0]] == 0
    shown = ax.images[0].get_array()
    rest = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(np.asarray(shown)[rest], expected[np.ix_(order, order)][rest], atol=1e-12)
    assert np.ma.getmaskarray(shown).diagonal().all()
    tree = ax.figure.axes[1]
    assert max(line.get_xdata().max() for line in tree.lines) == pytest.approx(average(distance)[-1, 2], abs=1e-12)


def test_of_outputs_it_shows_overlaps(demo_store):
    ax = figures.agreement(demo_store, "majmin", group="chord", of="outputs")
    order = [text.get_text() for text in ax.get_yticklabels()]
    expected = mirflow.overlap(demo_store, "majmin", group="chord")["value"].sel(system=order, other=order).values
    shown, rest = ax.images[0].get_array(), ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(np.asarray(shown)[rest], expected[rest])
    assert "with those of each column as the reference, WCSR over 4 to 5 tracks" in words(ax)


@pytest.mark.parametrize("systems", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_texts_are_whole_and_apart(systems):
    ax = figures.agreement(world(systems))
    assert (cut_off(ax), overlapping(ax)) == ([], [])


def test_constant_scores_have_no_correlation_and_a_place():
    ds = world(3)
    ds.score[1] = 0.5
    ax = figures.agreement(ds)
    assert np.ma.getmaskarray(ax.images[0].get_array()).sum() == 7


def test_programs_get_pearsons_correlation_beside_tau(tmp_path):
    ds = world(2)
    store = write_store(tmp_path / "s.zarr", {"chord": ds})
    (row,) = rows("agreement", store, "-m", "majmin", "--between", "system")
    first, second = ds.score.values[..., 0]
    assert row["r"] == pytest.approx(pearsonr(first, second)[0], abs=1e-12)
    assert row["tau"] == pytest.approx(kendalltau(first, second)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "files"}, "not a kind of agreement: 'files'; say scores or outputs"),
        ({"coefficient": "rho"}, "not a kind of coefficient: 'rho'; say pearson or kendall"),
        ({"system": "S0"}, "1 system to rank; at least two are needed"),
        ({"of": "outputs"}, "The store does not say which pipeline made it"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(FigureError, match=message):
        figures.agreement(world(), **options)
