"""The bundled miniature of a MIREX campaign: its data, its tasks, its tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import mirflow
from mirflow.analysis.lookup import headline_metric
from mirflow.analysis.queries import headline_metrics
from mirflow.analysis.scores import names_of
from mirflow.reports.figures.track_scores import one_metric
from mirflow.reports.page.data import main_metrics
from mirflow.store.read import read_scores

from ..commands import printed, rows
from ..groups import CODES

ROOT = Path(__file__).parents[2]
PIPELINES = ROOT / "pipelines"
TASKS = {
    *("AAI", "ABT", "ACC", "ACD", "ACS", "ADD", "AGC", "AKF", "AMC", "AME", "AMS"),
    *("AOD", "ATC", "ATE", "MFE", "MFN", "QBSH", "QBT", "SF", "SGC", "SKF", "SMS"),
}
"""Table 2 of Downie et al., 2010."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mirex") / "mirex-demo.zarr"
    report = mirflow.run(PIPELINES / "mirex-demo.yaml", store=path, scheduler="serial")
    assert {one.plan.name for one in report.evaluations} == TASKS
    assert all(set(one.status) == {CODES["ok"]} for one in report.evaluations)
    return path


def test_the_data_are_what_the_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PIPELINES / "make_mirex_demo.py", tmp_path], check=True)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    folder = PIPELINES / "mirex-demo"
    bundled = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert written == bundled


@pytest.mark.slow
def test_the_primary_table_has_every_task(store: Path) -> None:
    lines = [line.split() for line in printed("query", store, "--primary").splitlines()]
    assert {words[0] for words in lines if words and words[0] in TASKS} == TASKS


@pytest.fixture(scope="module")
def primary(store: Path) -> dict[str, str]:
    """The first metric of each evaluation, as the command names it."""
    return {row["group"]: row["metric"] for row in rows("query", store, "--primary")}


@pytest.mark.slow
def test_the_page_of_tasks_says_what_the_pipeline_does(store: Path, primary: dict[str, str]) -> None:
    tree = mirflow.open_store(store)
    listed = re.findall(
        r"^\| ([A-Z]+) \|[^|]*\| `(\w+)`[^|]*\| `(\w+)`", (ROOT / "docs" / "mirex.md").read_text(), re.M
    )
    assert {name: metric for name, _, metric in listed} == primary
    assert set(primary) == TASKS
    assert all(tree[name].attrs["task"] == task for name, task, _ in listed)


def test_query_figures_report_and_the_table_of_a_run_begin_with_the_same_metric(
    store: Path, primary: dict[str, str]
) -> None:
    for name, board in read_scores(store).items():
        report, run = names_of(board, "metric")[main_metrics(board)[0]], headline_metrics(board)[0]
        assert {primary[name], one_metric(board, None), report, run} == {headline_metric(board)}


@pytest.mark.slow
def test_it_opens_lazily_with_what_its_store_has(store: Path) -> None:
    stored, tree = mirflow.open_store(store), mirflow.open_pipeline(PIPELINES / "mirex-demo.yaml")
    assert set(tree.children) == TASKS
    for name in TASKS:
        lazy, own = tree[name].to_dataset(), stored[name].to_dataset()
        assert set(lazy.variables) == set(own.variables)
        assert all(lazy[key].chunks is not None for key in lazy.data_vars)
        lazy = lazy.compute(scheduler="synchronous")
        for key in lazy.variables:
            assert lazy[key].dims == own[key].dims
            np.testing.assert_array_equal(lazy[key].values, own[key].values, err_msg=f"{name} {key}")


@pytest.mark.parametrize("name", sorted(TASKS))
def test_hasty_systems_do_not_win(store: Path, name: str) -> None:
    answer: xr.Dataset = mirflow.open_store(store)[name].mirflow.query()
    value = answer["value"].isel(metric=0).sel(system=["alder", "dogwood"]).values
    if name == "SKF":  # of six keys that are read from scores one or two are wrong, whoever reads them
        assert (value > 0.7).all()
    else:
        assert value[0] > value[1]


def test_ranks_are_tested_as_on_a_results_page(store: Path) -> None:
    group = mirflow.open_store(store)["AMS"]
    score = group["score"].sel(metric="fine").values
    expected = stats.friedmanchisquare(*score)
    found = group.mirflow.compare("fine", friedman=True)
    assert found["statistic"].item() == pytest.approx(expected.statistic, rel=1e-12)
    mean_rank = stats.rankdata(-score, axis=0).mean(axis=1)
    np.testing.assert_allclose(found["mean_rank"].values.ravel(), mean_rank, rtol=0, atol=1e-12)
