"""Equal text is equal in each form: labels, items, names of notes, graders, tracks and systems."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mirflow
from mirflow.annotations.schema import TASK_KINDS, kind_of
from mirflow.errors import MirflowWarning
from mirflow.metrics.base import get_task

from ..commands import rows
from .objects import FORMS, Values, values_of

WORD = "caf\u00e9 noir"
FORMS_OF_TEXT: dict[str, Callable[[str], str]] = {
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "blank in front": lambda text: f" {text}",
    "blanks behind": lambda text: f"{text}\u00a0 ",
    "two blanks inside": lambda text: text.replace(" ", "  "),
    "other blank inside": lambda text: text.replace(" ", "\u00a0"),
}
each_form = pytest.mark.parametrize("form", FORMS_OF_TEXT)
LYRICS: Values = {"label": ["oh caf\u00e9 noir", "wait for me"]}
NOTES: Values = {
    "start": [0.0, 1.0],
    "end": [1.0, 2.0],
    "pitch": [220.0, 330.0],
    "label": ["Clav\u00e9 Grand", "Clav\u00e9 Grand"],
}
_LABELLED = {name for name, kind in TASK_KINDS.items() if kind_of(name).texts and kind not in ("audio", "sheet_music")}
"""Tasks with texts; the texts of sheet music are a notation of its own."""
_OTHERS: dict[str, Values] = {"lyrics": LYRICS, "transcription": NOTES, "key": {"label": ["C  major"]}}


def _columns(task: str) -> Values:
    values = dict(_OTHERS[task]) if task in _OTHERS else values_of(task)
    if task == "alignment":
        values["label"] = ["Caf\u00e9 noir"] * 5
    if task == "hierarchy":
        values |= {"start": [0.0, 0.0, 10.5], "end": [20.0, 10.5, 20.0]}
    return values


def _scores(task: str, convention: str, reference: Values, estimate: Values) -> tuple[np.ndarray, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = mirflow.evaluate(reference, estimate, task=task, convention=convention).score.values
    return scores, [str(one.message) for one in caught if issubclass(one.category, MirflowWarning)]


@each_form
@pytest.mark.parametrize("task", sorted(_LABELLED))
def test_texts_of_an_annotation_are_compared_in_one_form(task: str, form: str) -> None:
    """Or the convention says that it does not, as the program whose numbers it gives."""
    values, texts = _columns(task), kind_of(task).texts
    change = FORMS_OF_TEXT[form]
    other = {name: list(map(change, held)) if name in texts else held for name, held in values.items()}
    for convention in get_task(task).conventions:
        expected, before = _scores(task, convention, values, values)
        scores, told = _scores(task, convention, values, other)
        np.testing.assert_array_equal(scores, expected, err_msg=convention) if not set(told) - set(before) else None


def _tracks(form: str, names: tuple[str, ...] = (WORD, "b")) -> list[str]:
    return [FORMS_OF_TEXT[form](name) if name == WORD else name for name in names]


def _pair(form: str) -> tuple[dict[str, Any], dict[str, Any]]:
    times = np.array([0.5, 1.0, 1.7])
    return dict.fromkeys((WORD, "b"), times), dict.fromkeys(_tracks(form), times)


@each_form
def test_tracks_of_mappings_are_paired_in_any_form(form: str) -> None:
    references, estimates = _pair(form)
    scores = mirflow.score(references, {"oak": estimates}, "onset")
    assert (scores.score == 1).all(), scores
    assert scores.sizes["track"] == 2


@each_form
@pytest.mark.parametrize("table", [name for name in FORMS if name not in ("dict", "arrays")])
def test_tracks_of_tables_are_paired_in_any_form(table: str, form: str, tmp_path: Path) -> None:
    sides = []
    for names in ([WORD, "b"], _tracks(form)):
        columns = {"track": [name for name in names for _ in range(3)], "time": [0.5, 1.0, 1.7] * 2}
        held = FORMS[table].make(columns, tmp_path)
        if isinstance(held, Path):
            held = held.rename(tmp_path / f"{len(sides)}.parquet")
        sides.append(mirflow.load_collection(held, "onset") if isinstance(held, Path) else held)
    scores = mirflow.score(sides[0], sides[1], "onset")
    assert (scores.score == 1).all()
    assert scores.sizes["track"] == 2


def _write(folder: Path, names: list[str]) -> Path:
    for name in names:
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("0.5\n1.0\n1.7\n")
    return folder


@each_form
def test_files_are_paired_in_any_form(form: str, tmp_path: Path) -> None:
    references, estimates = _write(tmp_path / "ref", [WORD, "b"]), _write(tmp_path / "est", _tracks(form))
    (row,) = rows("evaluate", references, estimates, "--task", "onset", "--metric", "f_measure")
    assert (row["value"], row["n"], row["n_tracks"]) == (1.0, 2, 2)


@each_form
@pytest.mark.parametrize("listed", [False, True])
def test_runs_pair_tracks_and_systems_in_any_form(form: str, listed: bool, tmp_path: Path) -> None:
    _write(tmp_path / "ref", [WORD, "b"])
    change = FORMS_OF_TEXT[form]
    _write(tmp_path / "est" / "oak", _tracks(form))
    _write(tmp_path / "est" / change(WORD), [WORD, "b"])
    pd.DataFrame({"track": _tracks(form), "genre": ["jazz", "rock"]}).to_csv(tmp_path / "tracks.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "store: s.zarr\nevaluations:\n- name: onset\n  task: onset\n  reference: ref/{track}.txt\n"
        "  estimates: est/{system}/{track}.txt\n  tracks: tracks.csv\n"
        + (f"  systems: [oak, {WORD}]\n" if listed else ""),
        encoding="utf-8",
    )
    report = mirflow.run(tmp_path / "p.yaml", root=tmp_path, store=tmp_path / "s.zarr", scheduler="serial")
    assert report.failed == 0
    scores = mirflow.open_store(tmp_path / "s.zarr")["onset"].to_dataset().load()
    assert sorted(scores.track.values.tolist()) == ["b", WORD]
    assert sorted(scores.system.values.tolist()) == [WORD, "oak"]
    assert (scores.score == 1).all()
    assert set(scores.genre.values.tolist()) == {"jazz", "rock"}
