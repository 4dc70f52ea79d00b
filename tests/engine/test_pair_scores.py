"""Runs with metrics of the user's: scores, failures, staleness, and what a store tells without their module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.engine.runs import RunReport
from mirflow.errors import MirflowWarning, RunError, ScoreError
from mirflow.metrics.base import get_task
from mirflow.metrics.beat.kernel import Batch
from mirflow.metrics.measures import CountedWeight, Measure, Parameter, metric
from mirflow.store.cells import Status, text_of
from tests.commands import invoke, printed, rows

MODULE = '''"""Metrics of a laboratory."""

import mirflow
import numpy as np
from limits import LIMIT
from mirflow.metrics.measures import CountedWeight, Parameter, metric


def count_error(reference, estimate, limit=10.0):
    """Difference of the numbers of beats."""
    if len(reference) == 13:
        raise ZeroDivisionError("thirteen beats")
    return min(abs(len(reference) - len(estimate)), limit, LIMIT), len(reference)


@mirflow.pair_metric(title="Ends", unit="s", orientation="lower", values=["first", "last"], empty=99.0)
def ends(reference, estimate):
    reference -= estimate[0]  # the arrays are the function's
    return {"first": abs(reference[0]), "last": (abs(reference[-1]), 2)}


@metric("Batched error", CountedWeight("beats", "beats", "larger"), parameters=(Parameter("trim", 5.0, "s"),))
def batched(batch, measure):
    """The error of all pairs at once."""
    if BROKEN:
        raise RuntimeError("no pairs")
    return np.full(len(batch.reference), 0.5), np.ones(len(batch.reference))


BROKEN = False
'''
TABLES = '''import numpy as np
from mirflow.metrics.base import Sparse
from mirflow.metrics.measures import Weight, metric


@metric("Counts", Weight("none", "onsets"), orientation="none", pooling="none", perfect=None, dims=("where",))
def counts(onsets, measure):
    """Numbers of onsets of both sides."""
    both = np.column_stack([onsets.references, onsets.estimates]).astype(float)
    index = np.column_stack([axis.ravel() for axis in np.indices(both.shape)])
    return Sparse(("where",), (("reference", "estimate"),), index, both.ravel(), {"long_name": "onsets by side"})
'''
METRICS = ["f_measure", "lab/own.py:count_error@[5:10:5]", "lab/own.py:ends", "lab/own.py:batched"]
NAMES = ["f_measure", "count_error@5.0", "count_error", "ends.first", "ends.last", "batched"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for track in range(8):
        beats = np.cumsum(rng.uniform(0.4, 0.6, 10 + track)) + 5
        for side in ("ref", "est/ada", "est/bob"):
            path = tmp_path / side / f"t{track}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, beats + rng.normal(0, 0.03, len(beats)))
    (tmp_path / "est/bob/t7.txt").write_text("")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/limits.py").write_text("LIMIT = 100\n")
    (tmp_path / "lab/own.py").write_text(MODULE)
    (tmp_path / "lab/tables.py").write_text(TABLES)
    sides = {"reference": "ref/{track}.txt", "estimates": "est/{system}/{track}.txt"}
    both = [
        {"task": "beat", "metrics": METRICS, **sides},
        {"task": "onset", "metrics": ["f_measure", "lab/tables.py:counts"], **sides},
    ]
    text = {"evaluations": both, "store": str(tmp_path / "s.zarr"), "execution": {"block": 3}}
    (tmp_path / "p.yaml").write_text(json.dumps(text))
    return tmp_path


def run(folder: Path, **how: Any) -> RunReport:
    return mirflow.run(folder / "p.yaml", **{"scheduler": "serial", **how})


def beats(folder: Path) -> xr.Dataset:
    return mirflow.open_store(folder / "s.zarr")["beat"].to_dataset().load()


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "lab/own.py"
    path.write_text(path.read_text().replace(old, new))


def test_functions_of_a_file_are_scored_with_the_metrics_of_the_task(folder: Path) -> None:
    run(folder)
    ds = beats(folder)
    assert ds.metric.values.tolist() == NAMES
    pair = [np.loadtxt(folder / name) for name in ("ref/t1.txt", "est/ada/t1.txt")]
    cell = ds.sel(system="ada", track="t1")
    first, last = abs(pair[0][[0, -1]] - pair[1][0])
    assert cell.score.values[1:].tolist() == [0.0, 0.0, first, last, 0.5]
    assert cell.weight.values[1:].tolist() == [11.0, 11.0, 1.0, 2.0, 1.0]
    assert ds.title.values.tolist()[2:5] == ["Count error", "Ends: first", "Ends: last"]
    assert (ds.unit.values[3], ds.orientation.values[3], ds.limit.values[1]) == ("s", "lower", 5.0)


def test_a_failure_costs_its_score_alone(folder: Path) -> None:
    run(folder)
    clean = beats(folder)
    assert np.isnan(clean.score.sel(track="t3", metric=["count_error", "count_error@5.0"])).all()
    edit(folder, "BROKEN = False", "BROKEN = True")
    report = run(folder)
    ds = beats(folder)
    assert report.evaluations[0].status == {Status.ok: 15, Status.empty_estimate: 1}
    assert report.evaluations[0].partly == 15
    assert {name: count for name, (count, _) in report.evaluations[0].broken.items()} == {
        "batched": 15,
        "count_error": 2,
    }
    assert report.failed == 17
    failed = ds.failed_metrics.sel(system="ada", track="t3").to_series()
    assert failed[failed == 1].index.tolist() == ["count_error@5.0", "count_error", "batched"]
    assert text_of(ds.message.sel(system="ada", track="t3").item()) == (
        "the metric failed: batched: RuntimeError: no pairs (own.py:26); "
        "the metric failed: count_error: ZeroDivisionError: thirteen beats (own.py:12)"
    )
    xr.testing.assert_equal(clean.score.isel(metric=slice(5)), ds.score.isel(metric=slice(5)))
    # Missing, and not undefined: no mean is silently that of fewer tracks.
    assert (ds.weight.sel(metric="batched").values.ravel()[:-1] == 1).all()
    (row,) = rows("query", folder / "s.zarr", "-g", "beat", "-m", "count_error", "--param", "limit=10", "-s", "ada")
    assert (row["n"], row["n_missing"]) == (7, 1)


def test_the_command_counts_the_failures_of_each_metric_and_fails(folder: Path) -> None:
    edit(folder, "BROKEN = False", "BROKEN = True")
    reason = "the metric failed: batched: RuntimeError: no pairs (own.py:26)"
    line = f"beat: metric 'batched' failed in 15 of 16 cells, as in system 'ada', track 't0': {reason}"
    for _ in range(2):  # scored, and stored
        assert line in invoke("run", folder / "p.yaml", "--scheduler", "serial", code=3).stderr
    invoke("run", folder / "p.yaml", "--scheduler", "serial", "--on-error", "ignore", code=0)
    pair = folder / "ref/t1.txt", folder / "est/ada/t1.txt"
    found = invoke("evaluate", *pair, "--task", "beat", "-m", f"{folder}/lab/own.py:batched", "-m", "f_measure", code=3)
    assert "the metric failed: batched: RuntimeError: no pairs" in found.stderr


def test_a_failure_of_one_metric_stops_a_run_that_is_to_raise(folder: Path) -> None:
    stops = pytest.raises(
        RunError,
        match=r"^system 'ada', track 't3', metrics 'count_error@5\.0', 'count_error': the metric failed: count_error: "
        r"ZeroDivisionError: thirteen beats \(own\.py:12\) \(stopped, as on_error is raise; computed scores are kept",
    )
    with stops:
        run(folder, on_error="raise")
    with stops:  # as the journal knows
        run(folder, on_error="raise")
    run(folder)
    with stops:  # as the store knows
        run(folder, on_error="raise")
    edit(folder, "== 13", "== 1300")
    assert run(folder, on_error="raise").failed == 0
    assert "failed_metrics" not in beats(folder)


def test_a_failure_of_a_metric_with_dims_is_counted_and_stops(folder: Path) -> None:
    edit(folder, "== 13", "== 1300")
    tables = folder / "lab/tables.py"
    demand = "    assert (onsets.references != 12).all(), 'twelve'\n"
    tables.write_text(tables.read_text().replace("    both =", f"{demand}    both ="))
    for _ in range(2):  # scored, and stored
        (count, reason) = run(folder).evaluations[1].broken["counts"]
        assert (count, reason.partition(": ")[0]) == (2, "system 'ada', track 't2'")
    with pytest.raises(
        RunError, match=r"^system 'ada', track 't2', metric 'counts': the metric failed: counts: Assertion"
    ):
        run(folder, on_error="raise", force=True)


@pytest.mark.parametrize("failing", [True, False], ids=["failures in both", "failures in one"])
def test_stores_with_failures_of_metrics_are_queried_as_one(folder: Path, failing: bool) -> None:
    run(folder)
    path = folder / "p.yaml"
    path.write_text(path.read_text().replace("est/{system}", "new/{system}"))
    (folder / "new").mkdir()
    (folder / "est/ada").rename(folder / "new/eve")
    if not failing:
        (folder / "new/eve/t3.txt").unlink()
    again = run(folder, store=folder / "other.zarr")
    assert ("count_error" in again.evaluations[0].broken) == failing
    both = mirflow.query([folder / "s.zarr", folder / "other.zarr"], "count_error@5.0", group="beat", missing="skip")
    assert {"ada", "bob", "eve"} <= set(both["system"].values.tolist())


def test_a_failure_of_one_metric_stops_scoring_in_memory_that_is_to_raise() -> None:
    def fussy(reference: Any, estimate: Any) -> float:
        if len(estimate) == 3:
            raise ValueError("three onsets")
        return 1.0

    sides = {"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}
    with pytest.warns(MirflowWarning, match=r"some metrics \(fussy\) have no score of 1 of 2 scored cells: track 'b'"):
        scores = mirflow.score(sides, sides, "onset", metrics=["f_measure", fussy])
    assert scores.failed_metrics.sel(track="b", failed_metric="fussy").item() == 1
    stops = pytest.raises(
        ScoreError, match=r"track 'b', metric 'fussy': the metric failed: fussy: ValueError: three on"
    )
    with stops:
        mirflow.score(sides, sides, "onset", metrics=["f_measure", fussy], on_error="raise")
    accumulator = mirflow.Accumulator("onset", metrics=["f_measure", fussy], on_error="raise")
    with stops:
        accumulator.update(sides, sides)
    kept = mirflow.Accumulator("onset", metrics=["f_measure", fussy])
    kept.update(sides, sides)
    again = mirflow.Accumulator("onset", metrics=["f_measure", fussy])
    again.load_state(kept.state())
    assert json.dumps(again.state()) == json.dumps(kept.state())


def test_values_of_a_parameter_are_shown_where_there_are_several(folder: Path) -> None:
    run(folder)
    heads = printed("query", folder / "s.zarr", "-g", "beat").splitlines()[1].split()
    assert heads[1:4] == ["f_measure", "count_error@5.0", "count_error@10.0"]
    named = {row["metric"] for row in rows("query", folder / "s.zarr", "-g", "beat")}
    assert "count_error" in named  # the identity, for programs


def test_a_cell_without_any_score_has_failed(folder: Path) -> None:
    edit(folder, "== 13", "!= 0")
    path = folder / "p.yaml"
    path.write_text(path.read_text().replace(json.dumps(METRICS), '["lab/own.py:count_error"]'))
    report = run(folder)
    assert report.evaluations[0].status == {Status.failed: 15, Status.empty_estimate: 1}
    assert "count_error: ZeroDivisionError: thirteen beats (own.py:12)" in report.evaluations[0].messages[0]


def test_an_edited_module_makes_the_cells_of_its_evaluation_stale_and_no_other(folder: Path) -> None:
    run(folder)
    assert [one.counts["reused"] for one in run(folder).evaluations] == [16, 16]
    edit(folder, "abs(reference[0])", "abs(reference[0]) + 1")
    before = beats(folder).score.sel(metric="ends.first")
    assert [one.counts["changed"] for one in run(folder).evaluations] == [16, 0]
    difference = (beats(folder).score.sel(metric="ends.first") - before).values
    assert difference.ravel()[:-1] == pytest.approx(np.ones(15))
    assert difference[1, 7] == 0  # an empty estimate: the score that is declared


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_every_scheduler_gives_the_same(folder: Path, scheduler: str) -> None:
    run(folder)
    expected = beats(folder)
    run(folder, scheduler=scheduler, workers=2, force=True)
    xr.testing.assert_identical(beats(folder).drop_attrs(), expected.drop_attrs())


@pytest.mark.slow
def test_a_cluster_imports_the_module_too(folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    run(folder)
    expected = beats(folder)
    settings = {"dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **settings) as cluster:
        run(folder, scheduler=cluster.scheduler_address, force=True)
        xr.testing.assert_identical(beats(folder).drop_attrs(), expected.drop_attrs())
        edit(folder, "abs(reference[0])", "abs(reference[0]) + 1")
        run(folder, scheduler=cluster.scheduler_address)
    assert (beats(folder).score - expected.score).sel(metric="ends.first", track="t0").values.tolist() == [1.0, 1.0]


def test_scores_in_memory_by_a_metric_of_ones_own_are_saved_and_queried(folder: Path) -> None:
    def fewer(reference: Any, estimate: Any, least: float = 1.0) -> tuple[float, int]:
        """Whether the estimate has fewer beats."""
        return float(len(estimate) + least <= len(reference)), len(reference)

    references = {"a": [6.0, 7.0], "b": [6.0, 7.0, 8.0]}
    estimates = {"ada": references, "bob": {"a": [6.0], "b": [6.0, 7.0, 8.0]}}
    scores = mirflow.score(references, estimates, "beat", metrics=["f_measure", fewer])
    mirflow.save(scores, folder / "m.zarr", group="beat")
    for source in (scores, folder / "m.zarr"):
        assert mirflow.query(source, "fewer", system=["ada", "bob"])["value"].values.tolist() == [[0.0], [0.5]]
        pooled = mirflow.query(source, "fewer", "pooled", system=["ada", "bob"])
        assert pooled["value"].values.tolist() == [[0.0], [0.4]]
    (row,) = rows("query", folder / "m.zarr", "-m", "fewer", "-s", "bob")
    assert (row["metric"], row["n"], row["aggregate"]) == ("fewer", 2, "mean")


@pytest.mark.slow
def test_a_store_is_read_without_the_module(folder: Path) -> None:
    run(folder)
    for path in (folder / "lab").glob("*.py"):
        path.unlink()
    store = folder / "s.zarr"
    (row,) = rows("query", store, "-g", "beat", "-m", "ends.first", "--ci", "-s", "ada")
    assert row["n"] == 8
    assert row["low"] < row["value"] < row["high"]
    assert "ends.first" in printed("compare", store, "-g", "beat", "-m", "ends.first")
    (row,) = rows("query", store, "-g", "beat", "-m", "count_error@5", "-s", "ada")
    assert (row["metric"], row["n"], row["n_missing"]) == ("count_error@5.0", 7, 1)
    for kind, name in (("distributions", "ends.last"), ("heatmap", "batched"), ("tolerance", "count_error")):
        printed("plot", store, kind, "-g", "beat", "-m", name, "-o", folder / f"{kind}.svg")
    printed("report", store, "-o", folder / "page.html")
    assert "ends.first" in (folder / "page.html").read_text()
    tables = mirflow.open_store(store)["onset"].to_dataset().mirflow.query("counts")
    assert tables.sel(system="ada").value.values.ravel().tolist() == [108.0, 108.0]


def test_functions_and_records_in_memory(folder: Path) -> None:
    @metric("Ones", CountedWeight("tracks", "tracks", "track"), parameters=(Parameter("trim", 5.0, "s"),))
    def ones(batch: Batch, measure: Measure) -> Any:
        """One."""
        return np.ones(len(batch.reference)), np.ones(len(batch.reference))

    def last(reference: Any, estimate: Any) -> Any:
        return np.float32(estimate[-1])

    pair = folder / "ref/t0.txt", folder / "est/ada/t0.txt"
    found = mirflow.evaluate(*pair, "beat", metrics=[last, "cmlt", ones])
    assert found.metric.values.tolist() == ["last", "cmlt", "ones"]
    assert found.score.values[[0, 2]].tolist() == [np.float32(np.loadtxt(pair[1])[-1]), 1.0]
    assert get_task("beat").convention().select([last, last])[1:] == ()
