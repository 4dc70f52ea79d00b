"""The shipped mappings of published tables, against what the shipped pipelines compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow

from ..groups import CODES

PIPELINES = Path(__file__).parents[2] / "pipelines"
MAPPINGS = sorted((PIPELINES / "published").glob("*.yaml"))
FOLDERS = {"mirex2015-transcription": "mirex2015-su-transcription", "mirex-segment": PIPELINES / "published"}
RULES = ["root", "majmin", "majmin_inv", "sevenths", "sevenths_inv"]


def published(name: str, shared_data: Path) -> tuple[Path, Path]:
    """A shipped mapping and where its tables are."""
    return PIPELINES / "published" / f"{name}.yaml", shared_data / FOLDERS.get(name, name)


@pytest.mark.parametrize("path", MAPPINGS, ids=lambda path: path.stem)
def test_every_shipped_mapping_reads_its_tables(path: Path, shared_data: Path, tmp_path: Path) -> None:
    mirflow.import_scores(path, tmp_path / "s.zarr", root=published(path.stem, shared_data)[1])
    for group in mirflow.open_store(tmp_path / "s.zarr").children.values():
        scored = group.status == CODES["ok"]
        assert scored.any()
        assert not np.isnan(group.score.where(scored, 0.0)).any()


def differences(shipped_store, name: str, shared_data: Path, groups: dict[str, str]) -> list[xr.Dataset]:
    """A shipped table against evaluations of the pipeline, each by the name of the table's group."""
    mapping, root = published(name, shared_data)
    return [
        mirflow.diff(f"{shipped_store(name)}:{ours}", f"{mapping}:{theirs}", root=root).dataset
        for ours, theirs in groups.items()
    ]


def test_jku_table_is_reproduced(shipped_store, shared_data: Path) -> None:
    names = list(mirflow.open_store(shipped_store("jku-patterns")).children)
    for found in differences(shipped_store, "jku-patterns", shared_data, dict(zip(names, names, strict=True))):
        assert found["n"].values.tolist() == found["n_agreeing"].values.tolist() == [10] * 17


def test_segmentations_of_mirex_are_reproduced_but_for_its_rounding(shipped_store, shared_data: Path) -> None:
    (found,) = differences(shipped_store, "mirex-segment", shared_data, {"segment": "segment"})
    own = found.sel(metric=[name for name in found["metric"].values if not name.startswith("deviation")])
    # MIREX rounded 0.45454 to 0.4546; a boundary of one track lies half way between two of its points.
    assert int(own["n_agreeing"].sum()) == 107
    assert sorted(own["max_difference"].values)[-4] < 5.5e-5
    assert float(own["max_difference"].max()) < 0.005
    # The fixtures' times are rounded to 1 ms.
    assert float(found["max_difference"].max()) < 0.005


@pytest.mark.slow
def test_harmonix_tables_are_reproduced(shipped_store, shared_data: Path) -> None:
    counts = {"beat": [750, 750], "downbeat_published_bock": [250], "downbeat_published_durand": [247]}
    found = differences(shipped_store, "harmonix", shared_data, {name: name for name in counts})
    assert [one["n_agreeing"].values.tolist() for one in found] == list(counts.values())


@pytest.mark.slow
def test_every_official_number_of_mirex2013_is_reproduced(shipped_store, shared_data: Path) -> None:
    (found,) = differences(shipped_store, "mirex2013-ace", shared_data, {"chord_mirex2013": "chord_mirex2013"})
    assert (found.sizes["metric"], found.attrs["metrics_only_in_b"]) == (38, [])
    assert found["n_agreeing"].values.tolist() == [9 * 217] * 38
    expected = dict.fromkeys(RULES, 0.0) | {"root": 0.9e-8, "sevenths": 1.2e-8, "sevenths_inv": 1.2e-8}
    expected |= dict.fromkeys(("majmin", "majmin_inv"), 1.0e-8)
    changes = found["relative_change"]
    assert {rule: round(changes.sel(metric=rule).item(), 9) for rule in RULES} == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_how_far_mir_eval_is_from_mirex2013(shipped_store, shared_data: Path) -> None:
    mapping, root = published("mirex2013-ace", shared_data)
    found = mirflow.diff(f"{shipped_store('mirex2013-ace')}:chord", mapping, metric=RULES, root=root)
    percent = (100 * found["relative_change"]).round(4).values.tolist()
    assert percent == [0.0072, 0.9025, 1.4580, 1.0012, 1.0491]
    assert found["setting"].values.tolist() == ["convention"]


@pytest.mark.slow
def test_official_recalls_of_mirex2013_are_those_of_the_imported_scores(shared_data: Path, tmp_path: Path) -> None:
    store = tmp_path / "official.zarr"
    mapping, root = published("mirex2013-ace", shared_data)
    mirflow.import_scores(mapping, store, root=root)
    found = mirflow.open_store(store).mirflow.query("majmin")
    for system, value in zip(found["system"].values.tolist(), found["value"].values.ravel().tolist(), strict=True):
        text = (root / "official" / "resultsMirexMajMin" / f"{system}.txt").read_text()
        (official,) = [line.split(":")[1].strip(" %") for line in text.splitlines() if line.startswith("Average score")]
        assert 100 * value == pytest.approx(float(official), abs=10 ** -len(official.partition(".")[2]))


def test_how_far_the_official_transcription_scores_are(shipped_store, shared_data: Path) -> None:
    mapping, root = published("mirex2015-transcription", shared_data)
    ours, theirs = f"{shipped_store('mirex2015-transcription')}:transcription", f"{mapping}:transcription_mirex2015"
    means = mirflow.diff(ours, theirs, root=root)["mean_difference"]
    assert means.sel(metric="f_measure").item() == pytest.approx(0.017, abs=5e-4)
    assert means.sel(metric="f_measure_no_offset").item() == pytest.approx(0.013, abs=5e-4)


SCRIPTS = {100: [0.0072, 0.9026, 1.4581, 1.0014, 1.0493], 1: [0.0074, 0.8857, 1.4401, 0.9820, 1.0291]}


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCRIPTS)
def test_the_formula_of_the_paper_s_scripts_gives_what_the_docs_say(
    shipped_store, shared_data: Path, tmp_path: Path, scale: int
) -> None:
    mapping, root = published("mirex2013-ace", shared_data)
    mirflow.import_scores(mapping, tmp_path / "official.zarr", root=root)
    official = mirflow.open_store(tmp_path / "official.zarr")["chord_mirex2013"].score.sel(metric=RULES)
    ours = mirflow.open_store(shipped_store("mirex2013-ace"))["chord"].score.sel(
        system=official.system.values, track=official.track.values, metric=RULES
    )
    own, theirs = (np.round(scale * one.values, 3) for one in (ours, official))
    difference = np.abs(own - theirs)
    difference[difference <= 0.0010001] = 0
    mean = (own + theirs) / 2
    relative = difference / (mean + (mean == 0))
    assert np.round(100 * relative.mean(axis=(0, 1)), 4).tolist() == SCRIPTS[scale]
    table = (Path(__file__).parents[2] / "docs" / "mirex.md").read_text()
    assert all(f"{value:.4f} %" in table for value in SCRIPTS[scale])


def test_linear_interpolation_is_not_bounded_by_nearest(shipped_store) -> None:
    tree = mirflow.open_store(shipped_store("adc2004-melody"))
    linear, nearest, hold = (
        tree[name].score.sel(metric="overall_accuracy", system="SG2").values
        for name in ("melody", "melody_mirex", "melody_mirex_hold")
    )
    assert (int((linear < nearest).sum()), int((linear < hold).sum())) == (14, 9)
    assert hold.mean() < linear.mean() < nearest.mean()
