"""Symbols of lead sheets in files of chords, which are translated as they are read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mirdata.annotations import ChordData

import mirflow
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.readers.mirdata import convert
from mirflow.readers.options import Reading

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


@pytest.mark.parametrize("task", ["segment", "beat", "local_key"])
def test_it_is_that_of_chords(task: str) -> None:
    with pytest.raises(AnnotationError, match=f"notation applies to chord labels, which {task} does not have"):
        mirflow.load("a.lab", task=task, notation="leadsheet")
