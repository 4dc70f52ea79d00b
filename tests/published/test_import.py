from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.errors import StoreError
from mirflow.store import history

from ..commands import invoke
from ..groups import CODES, make_group, write_store

TABLE = "system,track,majmin,weight,runtime\nKO1,a,0.500,10,3.5\nKO1,b,0.750,30,4.5\nNG1,a,1.000,10,1\nNG1,b,,30,2\n"
MAPPING = """
name: published
groups:
- task: chord
  tables:
  - path: scores.csv
    system: system
    track: track
    metrics:
      majmin: {column: majmin, weight: weight}
      runtime: {column: runtime, orientation: lower, unit: s, title: Runtime}
"""


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    (tmp_path / "scores.csv").write_text(TABLE)
    path = tmp_path / "mapping.yaml"
    path.write_text(MAPPING)
    return path


def test_what_was_imported_can_be_asked(mapping: Path, tmp_path: Path) -> None:
    report = mirflow.import_scores(mapping, tmp_path / "x.zarr")
    assert (report.shapes, report.missing) == ({"chord": (2, 2, 2)}, {"chord": 0})
    tree = mirflow.open_store(tmp_path / "x.zarr")
    group = tree["chord"]
    assert group["status"].values.tolist() == [[CODES["ok"]] * 2] * 2
    assert group.attrs["imported"] == "published"
    recall = tree.mirflow.query("majmin", missing="skip")
    assert recall["aggregate"].item() == "wcsr"
    np.testing.assert_allclose(recall["value"].values.ravel(), [0.6875, 1.0])
    assert recall["n_missing"].values.ravel().tolist() == [0, 1]
    seconds = tree.mirflow.query("runtime", "mean", missing="skip")
    np.testing.assert_allclose(seconds["value"].values.ravel(), [4.0, 1.5])
    assert seconds["unit"].item() == "s"


@pytest.mark.parametrize(
    "question",
    [
        *("query", "query -m f --ci", "ranks -m f", "oracle -m f", "correlate -m f --against others"),
        *("agreement", "agreement --between system -m f", "query --primary", "worst -m f -n 2"),
        *("query -m f --significance", "show", "problems", "compare -m f", "compare -m f --friedman"),
        *("compare -m f --baseline A", "changes -m f --baseline A -n 2", "plan -m f"),
    ],
)
def test_scores_without_a_task_can_be_asked(tmp_path: Path, question: str) -> None:
    lines = [
        f"{system},t{track},{(track * at) % 7 / 7},{track}" for track in range(12) for at, system in enumerate("AB", 2)
    ]
    (tmp_path / "scores.csv").write_text("\n".join(["system,track,f,s", *lines]))
    table = "{path: scores.csv, system: system, track: track, metrics: {f: {column: f, orientation: higher}, "
    table += "s: {column: s, orientation: lower}}}"
    (tmp_path / "m.yaml").write_text(f"name: x\ngroups:\n- name: any\n  tables:\n  - {table}\n")
    mirflow.import_scores(tmp_path / "m.yaml", tmp_path / "x.zarr")
    command, *words = question.split()
    for style in ("table", "markdown", "latex", "csv", "json"):
        shown = invoke(command, tmp_path / "x.zarr", *words, "--format", style, code=0).stdout
        assert style != "latex" or r"\caption{: " not in shown


@pytest.mark.parametrize("task", ["task: chord", "name: any"])
def test_numbers_of_scores_that_name_no_rules_are_verified(mapping: Path, tmp_path: Path, task: str) -> None:
    text = MAPPING.replace("task: chord", task)
    own = "{column: majmin, orientation: higher," if task == "name: any" else "{column: majmin,"
    mapping.write_text(text.replace("{column: majmin,", own))
    mirflow.import_scores(mapping, tmp_path / "x.zarr")
    asked = mirflow.query(tmp_path / "x.zarr", missing="skip")
    for name, text in (("t.csv", asked.to_csv()), ("t.tex", asked.to_latex())):
        (tmp_path / name).write_text(text)
        assert "conv=unknown" in text
        checks = mirflow.verify(tmp_path / name, store=tmp_path / "x.zarr")
        assert {one.verdict for one in checks} == {"equal"}
    assert {one.verdict for one in mirflow.verify(tmp_path / "t.csv", reference=tmp_path, estimates=tmp_path)} == {
        "not computable"
    }


def test_scores_without_weights_cannot_be_pooled(mapping: Path, tmp_path: Path) -> None:
    mirflow.import_scores(mapping, tmp_path / "x.zarr")
    found = invoke("query", tmp_path / "x.zarr", "-m", "runtime", "-a", "pooled")
    assert found.exit_code == 2
    assert "aggregate 'pooled' is not defined for metric 'runtime'; it has: mean, median" in found.stderr


@pytest.fixture(params=["folder", "address"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | str:
    """Where stores are written: a folder, and a repository of Icechunk."""
    if request.param == "folder":
        return tmp_path / "x.zarr"
    pytest.importorskip("icechunk", reason="the extra 'cloud' is not installed")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return f"icechunk:{tmp_path / 'repository'}"


def test_importing_again_replaces_and_others_stay(mapping: Path, store: Path | str, tmp_path: Path) -> None:
    mirflow.import_scores(mapping, store)
    other = tmp_path / "other.yaml"
    other.write_text(MAPPING.replace("published", "others").replace("- task: chord", "- task: chord\n  name: more"))
    mirflow.import_scores(other, store)
    (tmp_path / "scores.csv").write_text(TABLE.replace("0.500", "0.250"))
    mirflow.import_scores(mapping, store)
    tree = mirflow.open_store(store)
    assert sorted(tree.children) == ["chord", "more"]
    assert tree["chord"]["score"].sel(system="KO1", track="a", metric="majmin").item() == 0.25


def test_nothing_is_replaced_that_another_mapping_brought(mapping: Path, store: Path | str, tmp_path: Path) -> None:
    mirflow.import_scores(mapping, store)
    other = tmp_path / "other.yaml"
    other.write_text(MAPPING.replace("published", "others"))
    with pytest.raises(StoreError, match="group 'chord' was imported from 'published'; --overwrite replaces it"):
        mirflow.import_scores(other, store)
    mirflow.import_scores(other, store, overwrite=True)
    assert mirflow.open_store(store)["chord"].attrs["imported"] == "others"


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_store_of_a_pipeline_is_left_alone(mapping: Path, tmp_path: Path, overwrite: bool) -> None:
    store = write_store(tmp_path / "x.zarr", {"chord": make_group([[[0.5]]])})
    with pytest.raises(StoreError, match=r"holds the scores of a pipeline.*name another store"):
        mirflow.import_scores(mapping, store, overwrite=overwrite)
    assert mirflow.open_store(store)["chord"]["score"].item() == 0.5


def test_imports_into_a_repository_are_commits(mapping: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("icechunk", reason="the extra 'cloud' is not installed")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    address = f"icechunk:{tmp_path / 'repository'}"
    assert f"{address} written" in invoke("import", "--mapping", mapping, "--store", address, code=0).output
    (tmp_path / "scores.csv").write_text(TABLE.replace("0.500", "0.250"))
    mirflow.import_scores(mapping, address)
    first, second = (commit.id for commit in reversed(history(address)))
    scores = [
        mirflow.open_store(f"{address}@{one}")["chord"]["score"].sel(system="KO1", track="a", metric="majmin").item()
        for one in (first, second)
    ]
    assert scores == [0.5, 0.25]
    with pytest.raises(StoreError, match="names a version, which cannot be written"):
        mirflow.import_scores(mapping, f"{address}@{first}")
    with pytest.raises(StoreError, match="holds imported scores, which a run would remove; name another store"):
        mirflow.run(Path(__file__).parents[2] / "pipelines" / "tunes.yaml", store=address, progress=False)


def test_a_run_does_not_remove_what_was_imported(mapping: Path, tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    mirflow.import_scores(mapping, store)
    pipeline = Path(__file__).parents[2] / "pipelines" / "tunes.yaml"
    for writes in (mirflow.run, partial(mirflow.run, part="1/2"), mirflow.publish):
        with pytest.raises(StoreError, match="holds imported scores, which a run would remove; name another store"):
            writes(pipeline, store=store)
    assert list(mirflow.open_store(store).children) == ["chord"]


def test_the_command_says_what_it_brought(mapping: Path, tmp_path: Path) -> None:
    found = invoke("import", "--mapping", mapping, "-o", tmp_path / "x.zarr")
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr.splitlines()[0] == "chord: 2 systems x 2 tracks x 2 metrics"
    shown = invoke("show", tmp_path / "x.zarr").stdout
    assert "imported" in shown
    assert "published" in shown


def test_the_command_takes_another_table(mapping: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("system,track,majmin,weight,runtime\nX,y,1,1,1\n")
    found = invoke("import", tmp_path / "mine.csv", "--mapping", mapping, "-o", tmp_path / "x.zarr")
    assert found.exit_code == 0
    assert mirflow.open_store(tmp_path / "x.zarr")["chord"]["system"].values.tolist() == ["X"]
    refused = invoke("import", tmp_path / "mine.csv", "--root", tmp_path, "--mapping", mapping, "-o", tmp_path / "x")
    assert refused.exit_code == 2


def test_a_mapping_that_is_wrong_is_one_message(mapping: Path, tmp_path: Path) -> None:
    mapping.write_text(MAPPING.replace("majmin:", "majmim:"))
    found = invoke("import", "--mapping", mapping, "-o", tmp_path / "x.zarr")
    assert found.exit_code == 2
    assert "groups[0].tables[0].metrics.majmim: unknown metric 'majmim'; did you mean 'majmin'?" in found.stderr
    assert not (tmp_path / "x.zarr").exists()


def test_a_store_against_a_table(mapping: Path, tmp_path: Path) -> None:
    scores = [[[0.5], [0.7504]], [[0.75], [0.1]]]
    store = write_store(
        tmp_path / "ours.zarr", {"chord": make_group(scores, systems=["KO1", "NG1"], tracks=["a", "b"])}
    )
    found = invoke("diff", store, mapping, "--format", "json")
    (row,) = json.loads(found.stdout)
    assert {name: row[name] for name in ("metric", "n", "n_agreeing", "missing_b")} == {
        "metric": "majmin",
        "n": 3,
        "n_agreeing": 2,
        "missing_b": 1,
    }
    assert row["max_difference"] == 0.25
    text = invoke("diff", store, mapping).stdout
    assert "NG1, a" in text
    assert "1 cells without a score in b alone: NG1, b" in text
    assert "metrics only in b: runtime" in text
    worst = invoke("diff", store, mapping, "--worst", 2, "--format", "csv").stdout.splitlines()
    assert worst[1].endswith("majmin,NG1,a,0.75,1.0,-0.25")
    assert len(worst) == 2


def test_an_imported_table_is_no_different_from_its_file(mapping: Path, tmp_path: Path) -> None:
    mirflow.import_scores(mapping, tmp_path / "x.zarr")
    found = mirflow.diff(tmp_path / "x.zarr", mapping)
    assert found["max_difference"].values.tolist() == [0, 0]
    np.testing.assert_allclose(found["tolerance"].values, [5e-4, 0.05], rtol=1e-5)


def test_a_score_on_one_side_only_fails_under_any_limit(mapping: Path, tmp_path: Path) -> None:
    scores = [[[0.5], [0.75]], [[0.75], [0.1]]]
    group = make_group(scores, systems=["KO1", "NG1"], tracks=["a", "b"])
    store = write_store(tmp_path / "ours.zarr", {"chord": group})
    found = invoke("diff", store, mapping, "--fail-above", 1)
    assert found.exit_code == 3
    assert "differ by more than" in found.stderr


def test_a_cell_that_the_table_has_no_row_of_is_told_and_does_not_fail(mapping: Path, tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("".join(line for line in table.read_text().splitlines(True) if not line.startswith("NG1,b")))
    scores = mirflow.diff(mapping, mapping)["a"].sel(metric="majmin").fillna(0.5).values[..., np.newaxis]
    group = make_group(scores.tolist(), systems=["KO1", "NG1"], tracks=["a", "b"])
    found = invoke("diff", write_store(tmp_path / "ours.zarr", {"chord": group}), mapping, "--fail-above", "tolerance")
    assert found.exit_code == 0, found.output
    assert "1 cells without a score in b alone: NG1, b" in found.stdout


@pytest.mark.parametrize(
    ("limit", "code"), [("0.25", 0), ("0.2", 3), ("tolerance", 3), ("-1", 2), ("nan", 2), ("x", 2)]
)
def test_a_limit_for_continuous_integration(mapping: Path, tmp_path: Path, limit: str, code: int) -> None:
    group = make_group([[[0.5], [0.75]], [[0.75], [0.1]]], systems=["KO1", "NG1"], tracks=["a", "b"])
    store = write_store(tmp_path / "ours.zarr", {"chord": group})
    assert invoke("diff", store, mapping, "--track", "a", "--fail-above", limit).exit_code == code


def test_what_agrees_to_the_printed_digits_passes(mapping: Path, tmp_path: Path) -> None:
    group = make_group([[[0.5004], [0.7496]]], systems=["KO1"], tracks=["a", "b"])
    store = write_store(tmp_path / "ours.zarr", {"chord": group})
    assert invoke("diff", store, mapping, "--fail-above", "tolerance").exit_code == 0
    assert invoke("diff", store, mapping, "--fail-above", "tolerance", "--tolerance", "0.0001").exit_code == 3
