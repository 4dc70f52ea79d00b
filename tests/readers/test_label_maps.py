"""Labels that are translated as they are read: by maps, and symbols of lead sheets."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mirdata.annotations import ChordData

import mirflow
from mirflow.annotations.annotation import Annotation, CodedLabels
from mirflow.annotations.classes import Classes
from mirflow.errors import AnnotationError, InvalidAnnotationError, MirflowError, MirflowWarning
from mirflow.readers import read
from mirflow.readers.label_maps import SHIPPED_MAPS, LabelMap, in_normal_form
from mirflow.readers.mirdata import convert
from mirflow.readers.options import Reading
from mirflow.readers.sources import parse_file
from tests.commands import printed

MAP = "equal: {refrain: chorus}\ncontain: {Verse: verse}\ndefault: other\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(MAP)
    return path


def song(path: Path, *labels: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{start}.0\t{start + 1}.0\t{label}\n" for start, label in enumerate(labels)))
    return path


def test_whole_labels_come_first_then_parts_in_their_order_and_then_the_others(own: Path) -> None:
    labels = mirflow.read_label_map(own)
    assert labels.map(["Refrain", "refrain 2", "VERSE 1", "", "x"]) == ["chorus", "other", "verse", "", "other"]
    assert LabelMap(contain=(("a", "1"), ("ab", "2"))).map(["AB", "xyz"]) == ["1", "xyz"]
    assert pickle.loads(pickle.dumps(labels)) == labels


@pytest.mark.parametrize(("name", "place"), [("functions7", 0), ("functions8", 1)])
def test_maps_of_functions_are_those_of_the_literature(shared_data: Path, name: str, place: int) -> None:
    published = json.loads((shared_data / "oracles" / "08_structure_labels" / "expected.json").read_text())
    labels = mirflow.read_label_map(name)
    for table in ("harmonix_label_table", "salami_label_table"):
        expected = [classes[place] for classes in published[table].values()]
        assert labels.map(published[table]) == expected
    rule = published["mapping_rule"]
    if place == 0:
        assert [list(pair) for pair in labels.contain] == rule["substrings_in_order"]
    classes = sorted({*dict(labels.contain).values(), labels.default})
    assert mirflow.read_label_map(name).map(classes) == classes


def test_all_that_is_read_has_mapped_labels(tmp_path: Path, own: Path) -> None:
    path = song(tmp_path / "a.lab", "Refrain", "verse 2", "solo")
    assert list(read(path, task="segment", labels=own).labels or ()) == ["chorus", "verse", "other"]
    levels = read(tmp_path / "{level}.lab", task="hierarchy", levels=["a"], labels=str(own))
    assert list(levels.labels or ()) == ["chorus", "verse", "other"]
    table = tmp_path / "genres.tsv"
    table.write_text("t1\tverses\nt2\tJazz\n")
    found = mirflow.evaluate_paths(table, table, "classification", labels=str(own), metrics=["confusion"])
    assert found["ref_class"].values.tolist() == ["other", "verse"]
    mirflow.pack(tmp_path / "{track}.lab", tmp_path / "songs.zarr", "segment")
    scores = mirflow.evaluate_paths(
        tmp_path / "songs.zarr", tmp_path / "songs.zarr", "segment", labels=str(own), metrics=["by_label"]
    )
    assert scores["label"].values.tolist() == ["chorus", "other", "verse"]


def test_jams_and_annotations_in_memory_have_mapped_labels(own: Path) -> None:
    times = np.array([[0.0, 1.0], [1.0, 2.0]])
    one = Annotation("intervals", {"start": times[:, 0], "end": times[:, 1]}, ["Refrain", "x"])
    jams = mirflow.to_jams(one, namespace="segment_open")
    assert list(read(jams, task="segment", labels=own).labels or ()) == ["chorus", "other"]
    sides = (times, ["Refrain", "x"]), (times, ["chorus", "other"])
    metrics = ["label_accuracy"]
    assert mirflow.evaluate(*sides, "segment", metrics=metrics).score.item() == 0.0
    assert mirflow.evaluate(*sides, "segment", metrics=metrics, reference_labels=own).score.item() == 1.0
    found = mirflow.explain(*sides, "label_accuracy", "segment", labels=own)
    assert found["reference"].values.tolist() == found["estimate"].values.tolist() == ["chorus", "other"]


def test_a_pipeline_maps_labels_of_each_side_and_scores_anew_when_the_map_changes(tmp_path: Path, own: Path) -> None:
    song(tmp_path / "ref" / "a.lab", "Refrain", "solo")
    song(tmp_path / "est" / "s" / "a.lab", "chorus", "inst")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(
        "evaluations:\n- task: segment\n  metrics: [label_accuracy]\n"
        "  reference: {path: 'ref/{track}.lab', labels: own.yaml}\n  estimates: 'est/{system}/{track}.lab'\n"
        f"store: {tmp_path / 'store.zarr'}\n"
    )
    for text, score in ((MAP, 0.5), (MAP.replace("other", "inst"), 1.0)):
        own.write_text(text)
        mirflow.run(pipeline)
        assert mirflow.open_store(tmp_path / "store.zarr")["segment"].score.item() == score


def test_commands_take_a_map(tmp_path: Path, own: Path) -> None:
    one, other = song(tmp_path / "a.lab", "Refrain", "x"), song(tmp_path / "b.lab", "chorus", "y")
    found = printed("evaluate", one, other, "--task", "segment", "--labels", own, "-m", "label_accuracy")
    assert "1.0000" in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("equal: [a]", "equal: expected labels and their replacements"),
        ("contain: {1: verse}", "contain: expected labels, not 1; quote them"),
        ("equals: {a: b}", r"equals.*did you mean 'equal'"),
        ("default: 3", "default: expected a label, not 3"),
        ("", "is not a map of labels: expected the keys equal, contain, default"),
        ("equal: {a: b", r"own.yaml:\d+: is not valid YAML"),
    ],
)
def test_a_file_that_is_no_map_is_refused(own: Path, text: str, message: str) -> None:
    own.write_text(text)
    with pytest.raises(AnnotationError, match=message):
        mirflow.read_label_map(own)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["A", "B", "A", ""],
            r"3 of 3 labels \('A', 'B'\) are not in the map and became 'inst'; check that this is the right map",
        ),
        (["chorus 1", "verse", "gtr"], ""),
        (["gtr"], ""),
    ],
)
def test_labels_that_the_map_hardly_knows_are_warned_of(tmp_path: Path, labels: list[str], message: str) -> None:
    reference, estimate = song(tmp_path / "R/a.txt", *labels), song(tmp_path / "E/a.txt", *labels)
    scores = mirflow.evaluate_paths(
        reference, estimate, task="segment", metrics=["label_accuracy"], labels="functions7"
    )
    assert scores.score.item() == 1.0
    assert bool(scores.message.item()) == bool(message)
    found = [one for check in mirflow.check(estimate, task="segment", labels="functions7") for one in check.problems]
    assert ("unmapped" in {one.rule for one in found}) == bool(message)
    if message:
        assert re.search(f"^warning \\(reference\\): {reference}: {message}", scores.message.item())


def test_labels_may_be_mapped_twice(own: Path) -> None:
    labels = mirflow.read_label_map(own)
    once = labels.map(["refrain", "Chorus", "Other", "x", "my verse"])
    assert once == labels.map(once) == ["chorus", "chorus", "other", "other", "verse"]


def test_names_and_kinds_without_a_map_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MirflowError, match="did you mean 'functions7'"):
        Reading.of("segment", labels="function7")
    with pytest.raises(MirflowError, match=r"absent.yaml: cannot be read"):
        Reading.of("segment", labels=tmp_path / "absent.yaml")
    with pytest.raises(AnnotationError, match=r"labels maps the labels of events, .*; tempo has no"):
        Reading.of("tempo", labels="functions7")
    assert SHIPPED_MAPS == ("functions7", "functions8")


LABELS = ["A:min7", "F:maj7/5", "C:hdim7"]
SYMBOLS = ["Am7", "Fmaj7/C", "Cm7b5"]


def test_text_and_jams(tmp_path: Path) -> None:
    rows = [(float(place), place + 1.0, symbol) for place, symbol in enumerate(SYMBOLS)]
    (tmp_path / "a.lab").write_text("".join(f"{start} {end} {symbol}\n" for start, end, symbol in rows))
    data = [{"time": start, "duration": 1.0, "value": symbol, "confidence": 1} for start, _, symbol in rows]
    annotation = {"namespace": "chord", "data": data, "annotation_metadata": {}}
    jam = {"annotations": [annotation], "file_metadata": {"duration": 3.0}, "sandbox": {}}
    (tmp_path / "a.jams").write_text(json.dumps(jam))
    for name in ("a.lab", "a.jams"):
        found = mirflow.load(tmp_path / name, task="chord", notation="leadsheet")
        assert found.label.values.tolist() == LABELS
    assert mirflow.load(tmp_path / "a.lab", task="chord").label.values.tolist() == SYMBOLS


def test_many_tracks_in_one_file(tmp_path: Path) -> None:
    rows = [f"t{place},0,1,{symbol}\n" for place, symbol in enumerate(SYMBOLS) if "/" not in symbol]
    (tmp_path / "all.csv").write_text("".join(["track,start,end,chord\n", *rows]))
    columns = {"track": "track", "start": "start", "end": "end", "label": "chord"}
    found = mirflow.load_collection(tmp_path / "all.csv", task="chord", columns=columns, notation="leadsheet")
    assert list(found.rows.labels) == [LABELS[0], LABELS[2]]


def test_annotations_of_mirdata() -> None:
    intervals = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    chords = ChordData(intervals, "s", SYMBOLS, "open")
    assert convert(chords, Reading.of("chord", notation="leadsheet")).labels == LABELS


def test_a_symbol_that_is_not_in_the_table_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.lab"
    path.write_text("0 1 Am7\n1 2 C7alt\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.lab:2: not a chord symbol of lead sheets: 'C7alt'"):
        mirflow.load(path, task="chord", notation="leadsheet")


def test_chords_of_one_side_alone(tmp_path: Path) -> None:
    (tmp_path / "ref.lab").write_text("0 1 A:min7\n1 3 F:maj7/5\n")
    (tmp_path / "est.lab").write_text("0 1 Am7\n1 3 Fmaj7/C\n")
    sides = tmp_path / "ref.lab", tmp_path / "est.lab"
    found = mirflow.evaluate(*sides, "chord", metrics=["tetrads_inv"], estimate_notation="leadsheet")
    assert found.score.values.tolist() == [1.0]


def test_labels_in_memory_are_translated_and_mapped() -> None:
    intervals = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    forms: list[Any] = [(intervals, SYMBOLS), {"intervals": intervals, "label": SYMBOLS}]
    for form in forms:
        assert mirflow.annotation("chord", form, notation="leadsheet").label.values.tolist() == LABELS
        own, options = ["tetrads_inv"], {"estimate_notation": "leadsheet"}
        assert mirflow.evaluate((intervals, LABELS), form, "chord", metrics=own, **options).score.item() == 1.0
        scores = mirflow.score({"a": (intervals, LABELS)}, {"a": form}, "chord", metrics=own, **options)
        assert scores.score.item() == 1.0
    segments = {"a": (intervals, ["refrain", "verse", "verse"])}, {"a": (intervals, ["Chorus", "Verse 2", "gtr"])}
    scores = mirflow.score(*segments, "segment", metrics=["label_accuracy"], labels="functions7")
    assert scores.score.item() == pytest.approx(2 / 3, abs=1e-12)
    with pytest.raises(InvalidAnnotationError, match="line 3: not a chord symbol of lead sheets: 'C7alt'"):
        mirflow.annotation("chord", intervals, ["C", "G", "C7alt"], notation="leadsheet")
    with pytest.raises(AnnotationError, match="give it to the function that reads the collection"):
        mirflow.score(mirflow.collection("segment", segments[0]), segments[1], "segment", labels="functions7")


@pytest.mark.parametrize("task", ["segment", "beat", "local_key"])
def test_it_is_that_of_chords(task: str) -> None:
    with pytest.raises(AnnotationError, match=f"notation applies to chord labels, which {task} does not have"):
        mirflow.load("a.lab", task=task, notation="leadsheet")


@pytest.mark.parametrize(
    ("task", "text", "other"),
    [
        ("segment", "0 1 caf\u00e9\n1 2 b\n", "0 1 cafe\u0301\n1 2 b\n"),
        ("segment", "0\t1\tverse 1\n1\t2\tb\n", "0\t1\tverse \u00a0 1\n1\t2\tb\n"),
        ("onset", "0.5 \u00c9\n", "0.5 E\u0301\n"),
        ("drums", "0.5 caj\u00f3n\n", "0.5 cajo\u0301n\n"),
    ],
)
def test_labels_are_read_in_one_form_with_a_remark_about_the_other(task: str, text: str, other: str) -> None:
    reading = Reading.of(task)
    one, two = (
        in_normal_form(parse_file(data.encode(), reading, "txt", "a.txt"), reading.labels) for data in (text, other)
    )
    assert one.labels == two.labels
    assert one.account == ()
    assert [(remark.rule, remark.line) for remark in two.account] == [("text_form", 1)]


def test_labels_of_a_shared_vocabulary_and_of_arrays_are_read_in_the_same_form() -> None:
    beats = Annotation("events", {"time": np.array([0.5, 1.0])}, CodedLabels(("e\u0301", "a"), np.array([1, 0])))
    read_back = in_normal_form(beats)
    assert read_back.labels == ["a", "\u00e9"]
    genres = [{"label": [text]} for text in ("\u00c9lectro", "E\u0301lectro ")]
    with pytest.warns(MirflowWarning, match="is read as"):
        assert mirflow.evaluate(*genres, task="classification")["score"].item() == 1
    sections = [{"a": (np.array([[0.0, 1.0], [1.0, 2.0]]), [text, "b"])} for text in ("\u00c9", "E\u0301")]
    with pytest.warns(MirflowWarning, match="is read as"):
        scores = mirflow.score(sections[0], {"x": sections[1]}, "segment", metrics=["label_accuracy"])
    assert scores["score"].item() == 1


def test_a_map_and_classes_know_labels_in_any_form(own: Path) -> None:
    own.write_text("equal: {caf\u00e9: bar}\n", encoding="utf-8")
    assert mirflow.read_label_map(own).map(["caf\u00e9"]) == ["bar"]
    assert Classes.of(tree={"E\u0301lectro": ["a  b"]}).names == ("\u00c9lectro", "a b")
    assert Classes.of(["e\u0301"], credit={"e\u0301": {"x ": 0.5}}).credits == (("\u00e9", "x", 0.5),)


def test_names_beside_labels_are_read_in_one_form() -> None:
    aligned = [{"score_id": ["e\u0301"], "performance_id": [name]} for name in ("p\u00a01", "p 1")]
    assert mirflow.evaluate(*aligned, task="note_alignment", metrics="f_measure")["score"].item() == 1
