"""Classification and tagging from tables to queries, against scikit-learn; and what a changed row costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    precision_recall_fscore_support,
    recall_score,
    roc_auc_score,
)

import mirflow
from mirflow.cli import cli
from mirflow.errors import PipelineError, QueryError

CLASSES = ("blues", "classical", "jazz", "rock")
TAGS = ("dance", "guitar", "loud", "piano", "sad", "slow")
CLIPS = 60
Tagged = tuple[Path, np.ndarray, np.ndarray]
"""A store of clips; which tags they have, and with which affinity: (clips, tags)."""


def write_classes(folder: Path, tracks: int = 90) -> dict[str, list[str]]:
    """A table of references, one for each of two systems, and the folds; the classes by side."""
    rng = np.random.default_rng(3)
    annotated = rng.choice(CLASSES, tracks, p=[0.5, 0.3, 0.15, 0.05])
    sides = {"reference": annotated.tolist()}
    for system, share in (("ada", 0.8), ("bob", 0.5)):
        sides[system] = np.where(rng.random(tracks) < share, annotated, rng.choice(CLASSES, tracks)).tolist()
    for name, labels in sides.items():
        rows = [f"t{number:03d}\t{label}" for number, label in enumerate(labels)]
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    folds = [f"t{number:03d},{number % 3}" for number in range(tracks)]
    (folder / "folds.csv").write_text("\n".join(["track,fold", *folds]) + "\n")
    return sides


def write_pipeline(folder: Path, evaluation: str) -> Path:
    path = folder / "pipeline.yaml"
    path.write_text(f"name: labels\nstore: {folder / 'store.zarr'}\nevaluations:\n{evaluation}")
    return path


CLASSIFICATION = """  - task: classification
    reference: reference.tsv
    estimates: "{system}.tsv"
    systems: [ada, bob]
    tracks: folds.csv
    classes:
      tree: {roots: [blues, jazz], others: [classical, rock]}
"""


@pytest.fixture
def classified(tmp_path: Path) -> tuple[Path, dict[str, list[str]]]:
    sides = write_classes(tmp_path)
    mirflow.run(write_pipeline(tmp_path, CLASSIFICATION))
    return tmp_path, sides


def statuses(report: Any) -> dict[str, int]:
    """Cells of the evaluation, by their statuses."""
    (evaluation,) = report.evaluations
    return {status.name: number for status, number in evaluation.status.items()}


def query(folder: Path, *words: Any, **options: Any) -> xr.Dataset:
    return mirflow.open_store(folder / "store.zarr").mirflow.query(*words, **options)


def test_accuracy_and_its_kin_are_those_of_scikit_learn(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, sides = classified
    annotated = sides["reference"]
    for system in ("ada", "bob"):
        guessed = sides[system]
        accuracy = query(folder, "accuracy", system=system)["value"].item()
        assert accuracy == pytest.approx(accuracy_score(annotated, guessed), abs=1e-12)
        normalised = query(folder, "confusion", "recall", system=system, across={"class": "mean"})
        assert normalised["value"].item() == pytest.approx(balanced_accuracy_score(annotated, guessed), abs=1e-12)
        own = [str(name) for name in query(folder, "confusion", "recall", system=system)["class"].values]
        expected = precision_recall_fscore_support(annotated, guessed, labels=own, zero_division=np.nan)
        for kind, values in zip(("precision", "recall", "f_measure"), expected, strict=False):
            found = query(folder, "confusion", kind, system=system)["value"].values.ravel()
            np.testing.assert_allclose(found, values, rtol=0, atol=1e-12)


def test_folds_have_a_mean_and_a_deviation(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, sides = classified
    found = query(folder, "accuracy", by="fold", across={"fold": "mean,std"}, system="ada")
    right = np.array([a == b for a, b in zip(sides["reference"], sides["ada"], strict=True)])
    folds = [right[fold::3].mean() for fold in range(3)]
    assert found.value.dims == ("system", "metric", "fold")
    assert found["fold"].values.tolist() == ["mean", "std"]
    np.testing.assert_allclose(found["value"].values.ravel(), [np.mean(folds), np.std(folds, ddof=1)], atol=1e-12)
    assert found["n"].values.ravel().tolist() == [90, 90]
    assert found.attrs["across"] == "fold=mean,std"


def test_normalised_accuracy_of_the_folds(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, sides = classified
    found = query(folder, "confusion", "recall", by="fold", across={"class": "mean", "fold": ["mean"]}, system="bob")
    folds = []
    for fold in range(3):
        annotated, guessed = sides["reference"][fold::3], sides["bob"][fold::3]
        # Not balanced_accuracy_score, which is the same but warns of classes that the fold's references lack.
        folds.append(recall_score(annotated, guessed, labels=sorted(set(annotated)), average="macro"))
    assert found["value"].item() == pytest.approx(np.mean(folds), abs=1e-12)


def test_hierarchical_accuracy_follows_the_tree(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, sides = classified
    group = {"blues": 0, "jazz": 0, "classical": 1, "rock": 1}
    credit = [
        1.0 if annotated == guessed else 0.5 if group[annotated] == group[guessed] else 0.0
        for annotated, guessed in zip(sides["reference"], sides["bob"], strict=True)
    ]
    found = query(folder, "hierarchical_accuracy", system="bob")["value"].item()
    assert found == pytest.approx(np.mean(credit), abs=1e-12)


def test_a_changed_row_makes_its_track_stale_and_no_other(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, _ = classified
    pipeline = folder / "pipeline.yaml"
    rows = (folder / "ada.tsv").read_text().split("\n")
    # One row changed, one moved to the end, one left out.
    changed = [*rows[1:3], "t003\tclassical" if "classical" not in rows[3] else "t003\trock", *rows[4:-2], rows[0]]
    (folder / "ada.tsv").write_text("\n".join(changed) + "\n")
    report = mirflow.run(pipeline)
    counts = {name: count for name, count in report.evaluations[0].counts.items() if count}
    assert counts == {"changed": 2, "reused": 178}
    assert statuses(report) == {"ok": 179, "missing_estimate": 1}
    lines = (folder / "reference.tsv").read_text().replace("t007\t", "t007 \t").split("\n")
    (folder / "reference.tsv").write_text("\n".join(lines))
    counts = {name: count for name, count in mirflow.run(pipeline).evaluations[0].counts.items() if count}
    assert counts == {"changed": 2, "reused": 178}


def test_changed_classes_make_all_cells_stale(classified: tuple[Path, dict[str, list[str]]]) -> None:
    folder, _ = classified
    path = folder / "pipeline.yaml"
    path.write_text(
        path.read_text().replace(
            "roots: [blues, jazz], others: [classical, rock]", "a: [blues], b: [jazz, classical, rock]"
        )
    )
    counts = {name: count for name, count in mirflow.run(path).evaluations[0].counts.items() if count}
    assert counts == {"changed": 180}


def test_a_class_outside_of_the_tree_is_invalid_with_file_and_line(tmp_path: Path) -> None:
    write_classes(tmp_path, 5)
    (tmp_path / "ada.tsv").write_text("t000\tblues\nt001\tjaz\nt002\t\nt003\trock\nt003\tjazz\n")
    report = mirflow.run(write_pipeline(tmp_path, CLASSIFICATION))
    messages = "\n".join(report.evaluations[0].messages)
    assert "ada.tsv:2 [t001]: not a class here: 'jaz'; did you mean 'jazz'?" in messages
    assert "ada.tsv:3 [t002]: a class without a name" in messages
    second = "a track has one class, and this is another one: 'jazz'; the first is 'rock' on line 4"
    assert f"ada.tsv:5 [t003]: {second}" in messages
    assert statuses(report)["invalid"] == 3
    assert statuses(report)["missing_estimate"] == 1


def test_a_table_that_cannot_be_read_costs_its_system_and_no_other(tmp_path: Path) -> None:
    write_classes(tmp_path, 5)
    (tmp_path / "ada.tsv").write_bytes(b"t000\t\xff\xfe\n")
    report = mirflow.run(write_pipeline(tmp_path, CLASSIFICATION))
    assert statuses(report) == {"ok": 5, "unreadable": 5}
    assert any("ada.tsv:1" in one or "ada.tsv: cannot be decoded" in one for one in report.evaluations[0].messages)
    (tmp_path / "ada.tsv").write_text("")
    report = mirflow.run(tmp_path / "pipeline.yaml")
    assert any("ada.tsv: the file has no rows" in one for one in report.evaluations[0].messages)
    (tmp_path / "reference.tsv").write_bytes(b"t000\t\xff\xfe\n")
    with pytest.raises(PipelineError, match="cannot be decoded"):
        mirflow.run(tmp_path / "pipeline.yaml")


def test_what_is_wrong_with_classes_is_told_before_anything_runs(tmp_path: Path) -> None:
    write_classes(tmp_path, 5)
    plain = CLASSIFICATION[: CLASSIFICATION.index("    classes")]
    with pytest.raises(PipelineError, match="'jazz' occurs twice in the tree"):
        mirflow.run(write_pipeline(tmp_path, plain + "    classes: {tree: {a: [jazz], b: [jazz]}}\n"))
    with pytest.raises(PipelineError, match=r"absent\.csv: cannot be read"):
        mirflow.run(write_pipeline(tmp_path, plain + "    classes: absent.csv\n"))
    (tmp_path / "broken.csv").write_text("from,to,credit\njazz,blues,half\n")
    for classes in ("absent.csv", "broken.csv"):
        asked = plain + f"    metrics: [hierarchical_accuracy]\n    classes: {classes}\n"
        with pytest.raises(PipelineError, match=f"{classes}:") as error:
            mirflow.run(write_pipeline(tmp_path, asked))
        assert len(error.value.problems) == 1, "that metrics have no classes is no second problem"
    with pytest.raises(PipelineError, match="hierarchical_accuracy needs credits of errors"):
        mirflow.run(write_pipeline(tmp_path, plain + "    metrics: [hierarchical_accuracy]\n"))
    with pytest.raises(PipelineError, match=r"not between 0 and 1: 3\.0"):
        mirflow.run(write_pipeline(tmp_path, plain + "    classes: {credit: {jazz: {blues: 3}}}\n"))


def test_one_table_may_hold_all_systems(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("track,genre\na,jazz\nb,rock\n")
    (tmp_path / "e.csv").write_text("who,track,genre\nX,a,jazz\nX,b,jazz\nY,a,jazz\nY,b,rock\n")
    path = write_pipeline(
        tmp_path,
        "  - task: classification\n    reference: r.csv\n"
        "    estimates: {path: e.csv, columns: {system: who, track: track, label: genre}}\n",
    )
    mirflow.run(path)
    assert query(tmp_path, "accuracy")["value"].values.ravel().tolist() == [0.5, 1.0]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Tagged:
    folder = tmp_path_factory.mktemp("tags")
    rng = np.random.default_rng(11)
    has = rng.random((CLIPS, len(TAGS))) < np.linspace(0.1, 0.6, len(TAGS))
    affinity = np.round(0.5 * rng.random(has.shape) + 0.35 * has, 2)  # to two digits, so that there are ties
    (folder / "reference.tsv").write_text(
        "".join(f"c{clip:02d}\t{tag}\t{int(has[clip, at])}\n" for clip in range(CLIPS) for at, tag in enumerate(TAGS))
    )
    rows = [f"c{clip:02d},{tag},{affinity[clip, at]}" for clip in range(CLIPS) for at, tag in enumerate(TAGS)]
    (folder / "ada.csv").write_text("\n".join(["clip,tag,affinity", *rows]) + "\n")
    names = "[f_measure, precision, recall, accuracy, negative_accuracy, roc_auc, average_precision"
    mirflow.run(
        write_pipeline(
            folder,
            "  - task: tagging\n    reference: reference.tsv\n    estimates: '{system}.csv'\n"
            f"    metrics: {names}, outcomes, affinities]\n    classes: [{', '.join(TAGS)}]\n",
        )
    )
    return folder, has, affinity


@pytest.mark.parametrize(
    ("average", "how"), [("macro", {"across": {"tag": "mean"}}), ("micro", {"over": {"tag": "sum"}})]
)
def test_macro_and_micro_averages_are_those_of_scikit_learn(tagged: Tagged, average: str, how: dict[str, Any]) -> None:
    folder, has, affinity = tagged
    expected = precision_recall_fscore_support(has, affinity >= 0.5, average=average, zero_division=np.nan)
    for kind, value in zip(("precision", "recall", "f_measure"), expected, strict=False):
        assert query(folder, "outcomes", kind, **how)["value"].item() == pytest.approx(value, abs=1e-12)
    negative = recall_score(~has, ~(affinity >= 0.5), average=average, zero_division=np.nan)
    assert query(folder, "outcomes", "negative_accuracy", **how)["value"].item() == pytest.approx(negative, abs=1e-12)
    accuracy = np.mean(has == (affinity >= 0.5))
    assert query(folder, "outcomes", "accuracy", **how)["value"].item() == pytest.approx(accuracy, abs=1e-12)


def test_every_tag_has_the_figures_of_scikit_learn(tagged: Tagged) -> None:
    folder, has, affinity = tagged
    expected = precision_recall_fscore_support(has, affinity >= 0.5, average=None, zero_division=np.nan)
    for kind, values in zip(("precision", "recall", "f_measure"), expected, strict=False):
        found = query(folder, "outcomes", kind)["value"]
        assert found["tag"].values.tolist() == list(TAGS)
        np.testing.assert_allclose(found.values.ravel(), values, rtol=0, atol=1e-12)
    auc, precision = query(folder, "affinities", "roc_auc"), query(folder, "affinities", "average_precision")
    np.testing.assert_allclose(auc["value"].values.ravel(), roc_auc_score(has, affinity, average=None), atol=1e-12)
    single = average_precision_score(has, affinity, average=None)
    np.testing.assert_allclose(precision["value"].values.ravel(), single, atol=1e-12)
    macro = query(folder, "affinities", across={"tag": "mean"})["value"].item()
    assert macro == pytest.approx(roc_auc_score(has, affinity, average="macro"), abs=1e-12)


def test_clips_have_means_as_scikit_learns_averages_over_samples(tagged: Tagged) -> None:
    folder, has, affinity = tagged
    some = has.any(axis=1)
    expected = average_precision_score(has[some], affinity[some], average="samples")
    assert query(folder, "average_precision")["value"].item() == pytest.approx(expected, abs=1e-12)
    found = query(folder, ["precision", "recall", "f_measure"])["value"].values.ravel()
    values = precision_recall_fscore_support(has, affinity >= 0.5, average="samples", zero_division=0)
    np.testing.assert_allclose(found, values[:3], rtol=0, atol=1e-12)


def test_a_confusion_whose_classes_were_added_up_has_no_recall(classified: tuple[Path, dict[str, list[str]]]) -> None:
    with pytest.raises(QueryError, match="reduce none of its classes"):
        query(classified[0], "confusion", "recall", over={"ref_class": "sum"})


def invoke(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(cli, [str(one) for one in arguments])
    return found.exit_code, found.output


def test_tables_of_which_nothing_can_be_used_are_told(tmp_path: Path) -> None:
    path = tmp_path / "genres.csv"
    evaluate = ["evaluate", "-t", "classification", str(path), str(path)]
    path.write_text("track,label\n")
    empty = CliRunner().invoke(cli, evaluate)
    assert (empty.exit_code, "genres.csv: has nothing to score" in empty.output) == (2, True)
    path.write_text("track,label\na,\n")
    nameless = CliRunner().invoke(cli, evaluate)
    assert (nameless.exit_code, "a class without a name" in nameless.output) == (3, True)
    path.write_text(f'track,label\n"{"x" * 200_000}",jazz\n')
    vast = CliRunner().invoke(cli, evaluate)
    assert (vast.exit_code, "a row cannot be split: field larger than field limit" in vast.output) == (2, True)


def test_two_tables_are_scored_and_checked_without_a_pipeline(tmp_path: Path) -> None:
    sides = write_classes(tmp_path, 20)
    (tmp_path / "classes.csv").write_text("class,parent\nblues,roots\njazz,roots\nclassical,others\nrock,others\n")
    reference, estimate = tmp_path / "reference.tsv", tmp_path / "bob.tsv"
    classes = tmp_path / "classes.csv"
    code, shown = invoke(
        "evaluate", reference, estimate, "--task", "classification", "--classes", classes, "-m", "accuracy"
    )
    assert code == 0
    accuracy = accuracy_score(sides["reference"], sides["bob"])
    assert f"{accuracy:.4f}" in shown
    code, shown = invoke("evaluate", reference, estimate, "--task", "classification", "-m", "hierarchical_accuracy")
    assert code == 2
    assert "needs credits of errors" in shown
    assert invoke("check", reference, "--task", "classification")[0] == 0
    reference.write_text("a\tjazz\nb\tjazz\nb\trock\n")
    code, shown = invoke("check", reference, "--task", "classification")
    assert code == 3
    annotated = "a track has one class, and this is another one: 'rock'; the first is 'jazz' on line 2"
    assert f"reference.tsv:3 [b]: error: {annotated}" in shown
