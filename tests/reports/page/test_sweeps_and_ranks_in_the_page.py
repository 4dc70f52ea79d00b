"""A metric over its tolerance, and how sure ranks are: the numbers of queries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow

from .reading import values_in

WINDOWS = (0.02, 0.05, 0.07)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beats of eight tracks, of which `ada` is off by up to 60 ms and `bob` by up to 120 ms."""
    folder, rng = tmp_path_factory.mktemp("sweeps"), np.random.default_rng(3)
    beats = np.arange(6.0, 26.0, 0.5)
    for side, off in (("ref", 0.0), ("ada", 0.06), ("bob", 0.12)):
        (folder / side).mkdir()
        for track in range(8):
            own = beats + rng.uniform(-off, off, len(beats))
            (folder / side / f"{track}.txt").write_text("".join(f"{beat:.4f}\n" for beat in own))
    (folder / "p.yaml").write_text(
        "evaluations:\n- {task: beat, reference: 'ref/{track}.txt', estimates: '{system}/{track}.txt',\n"
        f"   systems: [ada, bob], metrics: ['f_measure@[{','.join(map(str, WINDOWS))}]']}}\nstore: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    mirflow.report(folder / "p.zarr", folder / "page.html")
    return folder


def test_curves_have_the_values_of_a_query(folder, visit):
    page = visit(folder / "page.html")
    assert page.locator("#tolerance svg polyline").count() == 2
    page.locator("#tolerance summary", has_text="Values").click()
    heads = page.locator("#tolerance thead th").all_inner_texts()
    assert heads == ["System", *(f"window {window}" for window in WINDOWS)]
    (found,) = mirflow.query(folder / "p.zarr", metric="f_measure")
    by_window = found.sortby("window")
    shown = values_in(page, "#tolerance table")
    for system in ("ada", "bob"):
        assert shown[system] == pytest.approx(by_window.value.sel(system=system).values.tolist(), abs=1e-12)


def test_shares_of_first_places_are_those_of_a_query_with_ranks(folder, visit):
    page = visit(folder / "page.html")
    heads = page.locator("#leaderboard thead th").all_inner_texts()
    shown = page.locator("#leaderboard tbody tr").evaluate_all("rows => rows.map(row => row.children[6].title)")
    assert heads[6] == "First"
    (found,) = mirflow.ranks(folder / "p.zarr", metric="f_measure@0.02")
    assert [float(share) for share in shown] == found["first"].sel(system=["ada", "bob"]).values.ravel().tolist()
