"""Labels from single files and from JAMS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError
from mirflow.readers import read
from mirflow.readers.jams_writing import to_jams
from mirflow.readers.namespaces import NAMESPACES

TAG_NAMESPACES = sorted(name for name in NAMESPACES if name.startswith("tag_"))


def write_jams(path: Path, namespace: str, tags: list[tuple[Any, Any]]) -> Path:
    data = [{"time": 0.0, "duration": 9.0, "value": value, "confidence": confidence} for value, confidence in tags]
    held = {"annotations": [{"namespace": namespace, "data": data}], "file_metadata": {"duration": 9.0}}
    path.write_text(json.dumps(held))
    return path


def test_all_tag_namespaces_of_jams_are_known() -> None:
    import jams

    known = {name for name in jams.schema.__NAMESPACE__ if name.startswith("tag_")}
    assert set(TAG_NAMESPACES) == known


@pytest.mark.parametrize("namespace", TAG_NAMESPACES)
def test_tags_of_jams_have_their_confidence_as_value(tmp_path: Path, namespace: str) -> None:
    path = write_jams(tmp_path / "a.jams", namespace, [("rock", 0.75), ("folk", 1)])
    for task in ("tagging", "classification"):
        found = read(path, task=task)
        assert (found.kind, found.labels) == ("labels", ["rock", "folk"])
        assert found.columns["value"].tolist() == [0.75, 1.0]


def test_without_every_confidence_there_are_no_values(tmp_path: Path) -> None:
    found = read(write_jams(tmp_path / "a.jams", "tag_open", [("rock", None), ("folk", 1)]), task="tagging")
    assert "value" not in found.columns
    message = "1 confidence not read, since only some observations have one"
    assert [remark.message for remark in found.account] == [message]
    assert read(write_jams(tmp_path / "a.jams", "tag_open", [("rock", None)]), task="tagging").account == ()


def test_objects_of_jams_are_read_and_written_alike(tmp_path: Path) -> None:
    import jams

    path = write_jams(tmp_path / "a.jams", "tag_open", [("rock", 0.75), ("folk", 1)])
    plain, held = read(path, task="tagging"), read(jams.load(str(path), validate=False), task="tagging")
    assert held.labels == plain.labels
    np.testing.assert_array_equal(held.columns["value"], plain.columns["value"])
    again = read(to_jams(plain, namespace="tag_open"), task="tagging")
    assert again.labels == plain.labels
    np.testing.assert_array_equal(again.columns["value"], plain.columns["value"])
    assert read(to_jams(Annotation("labels", {}, ["rock"]), task="tagging"), task="tagging").columns == {}


def test_genres_of_jams_files_are_scored(tmp_path: Path) -> None:
    for name, value in (("ref", "rock"), ("est", "metal")):
        (tmp_path / name).mkdir()
        write_jams(tmp_path / name / "a.jams", "tag_gtzan", [(value, 1.0)])
    found = mirflow.evaluate(tmp_path / "ref" / "a.jams", tmp_path / "est" / "a.jams", "classification")
    assert found["score"].sel(metric="accuracy").item() == 0
    assert found["confusion"].sel(ref_class="rock", est_class="metal").item() == 1


def test_a_file_for_each_track_holds_a_label_on_each_row(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("female voice\t0.5\nslow\t1\n")
    found = read(path, task="tagging", delimiter="tab")
    assert (found.labels, found.columns["value"].tolist()) == (["female voice", "slow"], [0.5, 1.0])
    path.write_text("rock\n")
    assert read(path, task="classification").labels == ["rock"]
    path.write_text("rock nan\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.txt:1: the number of 'rock' is NaN"):
        read(path, task="tagging")
    path.write_text("")
    assert read(path, task="tagging").labels == []


@pytest.mark.parametrize("suffix", ["lab", "txt", "tsv", "csv"])
@pytest.mark.parametrize("text", ["guitar;0,9\nvery slow;0,5\n", "tag;score\nguitar;0,9\nvery slow;0,5\n"])
def test_a_tag_and_its_number_are_separated_in_any_file(tmp_path: Path, suffix: str, text: str) -> None:
    for written in (text, text.replace(",", ".").replace(";", ","), text.replace(",", ".").replace(";", "\t")):
        (tmp_path / f"a.{suffix}").write_text(written)
        tags = read(tmp_path / f"a.{suffix}", task="tagging")
        assert (tags.labels, tags.columns["value"].tolist()) == (["guitar", "very slow"], [0.9, 0.5])
