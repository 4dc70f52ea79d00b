"""The chord pipelines that mirflow ships, run as a user runs them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.metrics import chord

from ..commands import invoke, printed

PIPELINES = Path(__file__).parents[2] / "pipelines"
SYSTEMS = ("CB3", "CB4", "CF2", "KO1", "KO2", "NG1", "NMSD1", "NMSD2", "PP3")
RULES = {
    "root": "MirexRoot",
    "majmin": "MirexMajMin",
    "majmin_inv": "MirexMajMinBass",
    "sevenths": "MirexSevenths",
    "sevenths_inv": "MirexSeventhsBass",
}


def test_a_run_with_broken_files_ends_with_0_and_says_what_was_wrong(tmp_path: Path) -> None:
    output = invoke("run", PIPELINES / "tunes.yaml", "--store", tmp_path / "tunes.zarr", code=0).output
    assert "estimates/ash/auld-lang-syne.lab:5: not a chord: 'H:moll'" in output
    assert "system 'elm' has no estimate of track 'wayfaring-stranger'" in output


def official_average(shared_data: Path, rule: str, system: str) -> float:
    text = (shared_data / "mirex2013-ace" / "official" / f"results{rule}" / f"{system}.txt").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("Average score:")]
    return float(line.removeprefix("Average score:").strip().rstrip("%"))


def test_collection_values_are_the_official_ones(mirex2013_store: Path, shared_data: Path) -> None:
    output = printed(
        "query", mirex2013_store, "--group", "chord_mirex2013", "--aggregate", "wcsr", "--format", "csv",
        *(part for rule in RULES for part in ("--metric", rule)),
    )  # fmt: skip
    rows = list(csv.DictReader(output.splitlines()))
    assert len(rows) == len(SYSTEMS) * len(RULES)
    for row in rows:
        expected = official_average(shared_data, RULES[row["metric"]], row["system"])
        assert float(row["value"]) * 100 == pytest.approx(expected, abs=5.1e-5), row


def test_plain_xarray_reads_the_store_and_weighted_is_pooled(mirex2013_store: Path) -> None:
    with xr.open_datatree(mirex2013_store, engine="zarr") as tree:
        assert set(tree.children) == {"chord", "chord_mirex2013"}
    ds = xr.open_zarr(mirex2013_store, group="chord")
    metrics = ds.metric.values.tolist()
    pooled = ds.score.weighted(ds.weight).mean("track")
    answer = mirflow.open_store(mirex2013_store).mirflow.query(metrics, aggregate="pooled", group="chord")
    np.testing.assert_array_equal(answer["value"].transpose("system", "metric"), pooled.transpose("system", "metric"))


def test_one_system_scores_three_values_that_are_all_called_wcsr(mirex2013_store: Path) -> None:
    tree = mirflow.open_store(mirex2013_store)
    figures = {
        name: tree.mirflow.query("majmin", aggregate=name, group="chord_mirex2013", system="KO2")["value"].item()
        for name in ("wcsr", "wcsr_tn", "wcsr_total")
    }
    assert {name: round(100 * value, 2) for name, value in figures.items()} == {
        "wcsr": 79.26,
        "wcsr_tn": 79.09,
        "wcsr_total": 76.53,
    }


def test_each_annotator_is_scored_against_each_other_one(shared_data: Path, tmp_path: Path) -> None:
    store = tmp_path / "casd.zarr"
    printed("run", PIPELINES / "casd.yaml", "--root", shared_data / "casd", "--store", store)
    ds = mirflow.open_store(store)["chord"].to_dataset().load()
    assert ds.annotator.values.tolist() == ["A1", "A2", "A3", "A4"]
    each = ds.score_by_annotator
    for name in ds.system.values.tolist():
        assert each.sel(system=name, annotator=name).isnull().all()
    np.testing.assert_allclose(each.mean("annotator"), ds.score, rtol=1e-14)
    track = str(ds.track.values[3])
    a1, a3 = (mirflow.load(shared_data / "casd" / f"{track}.jams", task="chord", annotator=a) for a in ("A1", "A3"))
    plain = [(np.column_stack([a.start, a.end]), a.label.values.tolist()) for a in (a1, a3)]
    expected = chord.evaluate(*plain[0], *plain[1])
    found = each.sel(system="A3", annotator="A1", track=track)
    np.testing.assert_array_equal(found.values, [expected[name] for name in ds.metric.values.tolist()])
