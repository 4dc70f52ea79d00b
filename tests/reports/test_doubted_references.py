"""Places at which systems agree against the reference: planted ones are found, with few others."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.errors import QueryError, UnknownNameError

ROOT = Path(__file__).parents[2]
Planted = tuple[Path, dict[str, float]]


def run(folder: Path, task: str, metric: str, reference: str = "ref/{track}.txt", ending: str = "txt") -> Path:
    """Score the systems in a folder against its references."""
    (folder / "p.yaml").write_text(
        f"evaluations:\n- task: {task}\n  reference: '{reference}'\n  estimates: 'est/{{system}}/{{track}}.{ending}'\n"
        f"  metrics: [{metric}]\n  on_error: ignore\nstore: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    return folder / "p.zarr"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """The store of the bundled systems against references in which one chord of each tune is wrong, and where."""
    folder = tmp_path_factory.mktemp("planted")
    places = {}
    for path in sorted((ROOT / "pipelines" / "tunes" / "reference").glob("*.jams")):
        values = json.loads(path.read_text())
        rows = values["annotations"][0]["data"]
        chosen = next(row for row in rows[4:] if re.fullmatch("[A-G]b?:(maj|min)", row["value"]))
        places[path.stem] = chosen["time"]
        chosen["value"] = "F#:maj" if chosen["value"] != "F#:maj" else "C:maj"
        (folder / "ref").mkdir(exist_ok=True)
        (folder / "ref" / path.name).write_text(json.dumps(values))
    shutil.copytree(ROOT / "pipelines" / "tunes" / "estimates", folder / "est")
    return run(folder, "chord", "majmin", "ref/{track}.jams", "{format}"), places


@pytest.mark.parametrize("least", [1.0, 0.6])
def test_planted_errors_are_found_as_often_as_the_page_says(planted: Planted, least: float) -> None:
    store, places = planted
    (ds,) = mirflow.consensus(store, least=least)
    listed = [(track, start) for track, start in zip(ds.track.values.tolist(), ds.start.values.tolist(), strict=True)]
    found = {
        track for track, second in places.items() if any(track == one and abs(second - at) < 1 for one, at in listed)
    }
    right = sum(abs(places[track] - at) < 1 for track, at in listed)
    row = f"| {least:g} | {len(found)} of {len(places)} | {right} of {len(listed)} |"
    assert row in (ROOT / "docs" / "references.md").read_text()
    heaviest = [abs(places[track] - at) < 1 for track, at in listed[: len(found)]]
    assert sum(heaviest) >= len(found) - 1


def test_dataset_command_and_json_are_the_same_list(planted: Planted) -> None:
    store, _ = planted
    (ds,) = mirflow.consensus(store, least=0.6, worst=2)
    command = ["consensus", str(store), "--least", "0.6", "--worst", "2"]
    rows = json.loads(CliRunner().invoke(cli, [*command, "--format", "json"]).stdout)
    assert [row["weight"] for row in rows] == ds.weight.values.tolist() == sorted(ds.weight.values.tolist())[::-1]
    assert ds.weight.values == pytest.approx((ds.end - ds.start).values * ds.agreement.values)
    assert all(2 <= row["systems"] <= row["of"] for row in rows)
    shown = CliRunner().invoke(cli, command).stdout
    assert "chord: the systems agree against the reference" in shown
    assert f"{ds.attrs['total']} disagreements, {ds.attrs['total'] - 2} of them not shown" in shown


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        own = folder / "ref" if name == "ref" else folder / "est" / name
        own.mkdir(parents=True)
        (own / "a.txt").write_text(text)


def beats(*times: float) -> str:
    return "".join(f"{time}\n" for time in times)


def test_events_that_all_systems_have_or_lack_are_runs(tmp_path: Path) -> None:
    grid = np.arange(6, 30, 0.5)
    without = np.delete(grid, [10, 11, 30])
    write(tmp_path, {"ref": beats(*without, 28.25), "one": beats(*grid + 0.02), "two": beats(*grid - 0.03)})
    (ds,) = mirflow.consensus(run(tmp_path, "beat", "f_measure"))
    found = list(
        zip(*(ds[name].values.tolist() for name in ("start", "reference", "consensus", "weight")), strict=True)
    )
    assert found == [
        (pytest.approx(10.995), "", "11.00, 11.50", 2.0),
        (pytest.approx(20.995), "", "20.99", 1.0),
        (28.25, "28.25", "", 1.0),
    ]


def test_sections_are_compared_by_name_where_names_are_shared_and_else_by_boundaries(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "ref": "0 10 verse\n10 20 chorus\n20 30 verse\n",
            "one": "0 10 verse\n10 20 chorus\n20 30 Chorus\n",
            "two": "0 10.2 verse\n10.2 20 chorus\n20 30 chorus\n",
        },
    )
    store = run(tmp_path, "segment", "f_measure")
    (ds,) = mirflow.consensus(store)
    assert (ds.start.item(), ds.end.item(), ds.reference.item(), ds.consensus.item()) == (20, 30, "verse", "chorus")
    for name in ("one", "two"):
        (tmp_path / "est" / name / "a.txt").write_text("0 10 A\n10 15.1 B\n15.1 20 C\n20 30 A\n")
    (ds,) = mirflow.consensus(store)
    assert (ds.reference.item(), ds.consensus.item()) == ("", "15.10")


def test_keys_disagree_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path, {"ref": "C major\n", "one": "a minor\n", "two": "A:min\n", "three": "G major\n"})
    store = run(tmp_path, "key", "weighted_score")
    assert mirflow.consensus(store)[0].sizes["disagreement"] == 0
    (ds,) = mirflow.consensus(store, least=0.6)
    assert (ds.reference.item(), ds.systems.item(), ds.of.item()) == ("C major", 2, 3)
    assert np.isnan(ds.start.item())


def test_systems_of_several_stores_are_compared(tmp_path: Path) -> None:
    stores = []
    for system in ("one", "two"):
        folder = tmp_path / system
        folder.mkdir()
        write(folder, {"ref": "C major\n", system: "A minor\n"})
        stores.append(run(folder, "key", "weighted_score"))
    (ds,) = mirflow.consensus(stores)
    assert (ds.consensus.item(), ds.systems.item()) == ("A minor", 2)


def test_what_cannot_be_compared_is_said(tmp_path: Path, planted: Planted) -> None:
    write(tmp_path, {"ref": "0 440\n0.1 440\n", "one": "0 440\n0.1 440\n", "two": "0 440\n0.1 440\n"})
    store = run(tmp_path, "melody", "overall_accuracy")
    with pytest.raises(QueryError, match="neither labels nor events"):
        mirflow.consensus(store)
    with pytest.raises(QueryError, match="no consensus for task melody"):
        mirflow.consensus(store, group="melody")
    for words, error in (
        ({"least": 0.5}, QueryError),
        ({"group": "chords"}, UnknownNameError),
        ({"system": "oka"}, UnknownNameError),
    ):
        how: dict[str, Any] = words
        with pytest.raises(error):
            mirflow.consensus(planted[0], **how)
    shutil.rmtree(tmp_path / "ref")
    result = CliRunner().invoke(cli, ["consensus", str(store)])
    assert (result.exit_code, "cannot be found" in result.output) == (2, True), result.output


@pytest.mark.slow
def test_a_reference_of_mirex_2013_is_contradicted_throughout(shipped_store: Callable[[str], Path]) -> None:
    (ds,) = mirflow.consensus(shipped_store("mirex2013-ace"), group="chord")
    track, count = Counter(ds.track.values[:100].tolist()).most_common(1)[0]
    assert (ds.attrs["total"], track, count) == (678, "chord_mrx_09_000031", 31)
