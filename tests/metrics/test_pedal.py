"""Pedals: stretches of time, read from MIDI files and text, and their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.errors import AnnotationError, MirflowError
from mirflow.metrics import pedal
from tests.commands import printed

NUMBERS = {"sustain": 64, "sostenuto": 66, "soft": 67}
RATES = ("precision", "recall", "f_measure")
OVERLAP = "average_overlap_ratio"
Side = tuple[np.ndarray, list[str]]
Span = tuple[int, int]

ORACLE = "03_pedal"


def side(rows: list[list[float]]) -> Side:
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return table[:, :2], [str(int(number)) for number in table[:, 2]]


def test_scores_are_those_of_transkun(shared_data: Path) -> None:
    path = shared_data / "oracles/04_frames/expected.json"
    if not path.is_file():
        pytest.skip(f"no known scores of pedals in {path}")
    for name, case in json.loads(path.read_text())["pedal"].items():
        sides = side(case["ref_pedal [start,end,cc]"]), side(case["est_pedal"])
        known = case["transkun"]["metrics [precision,recall,f1,overlap]"]
        for one, number in (("sustain", 64), ("soft", 67)):  # it leaves the sostenuto out
            for form, key in (("{}_no_offset", ""), ("{}", "+offset"), ("frame_{}", "frame")):
                names = (*RATES, "accuracy" if key == "frame" else OVERLAP)
                found = [getattr(pedal, form.format(metric))(*sides, pedal=one) for metric in names]
                wanted = known.get(f"pedal{number}{key}", [np.nan] * 4)
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12, err_msg=f"{name} {one} {key}")


@pytest.mark.filterwarnings("ignore:.*sustain pedal that is down:mirflow.errors.MirflowWarning")
def test_stretches_of_files_are_those_of_transkun(oracle: Path, expected: dict[str, Any]) -> None:
    for name, known in expected.items():
        wanted = known.get("transkun_pedals [start,end,-cc]")
        if wanted is None or name.startswith("24_"):  # two instruments; the pedal in a track without notes
            continue
        held = mirflow.load(oracle / f"inputs/{name}.mid", "pedal")
        assert isinstance(held, xr.Dataset)
        numbers = [-NUMBERS[label] for label in held.label.values.tolist()]
        found = np.column_stack([held.start, held.end, np.array(numbers, dtype=np.float64)])
        assert len(found) == len(wanted), name
        ours, theirs = (np.array(sorted(map(tuple, rows))).reshape(-1, 3) for rows in (found.tolist(), wanted))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9, err_msg=name)


steps = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=5)


@given(steps, steps)
def test_time_is_that_of_an_array_of_ticks(reference: list[Span], estimate: list[Span]) -> None:
    ticks = np.zeros((2, 40), dtype=bool)
    sides = []
    for row, spans in zip(ticks, (reference, estimate), strict=True):
        for start, length in spans:
            row[start : start + length] = True
        sides.append((np.array([[a / 4, (a + b) / 4] for a, b in spans]).reshape(-1, 2), ["64"] * len(spans)))
    found = pedal.frame_recall(*sides, frames="active")  # without cuts stretches that overlap are one
    assert found == pytest.approx(ticks.all(axis=0).sum() / ticks[0].sum()) if reference else np.isnan(found)


class TestDoors:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name, rows in (
            ("ref/a", "0,1,sustain\n2,3,sustain\n"),
            ("ref/b", "0,1,soft\n"),
            ("est/mine/a", "0,1,64\n"),
            ("est/mine/b", "0,1,64\n"),
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / f"{name}.csv").write_text(f"start,end,label\n{rows}")
        return tmp_path

    def test_a_mean_runs_over_the_tracks_that_use_the_pedal(self, folder: Path) -> None:
        (folder / "p.yaml").write_text(
            "evaluations:\n  - task: pedal\n    reference: ref/{track}.csv\n    estimates: est/{system}/{track}.csv\n"
            "    metrics: [recall, frame_f_measure, recall@soft]\nstore: x.zarr\n"
        )
        printed("run", folder / "p.yaml", "--store", folder / "x.zarr")
        scores = mirflow.open_store(folder / "x.zarr")["pedal"].score
        np.testing.assert_array_equal(scores.sel(metric="recall").values, [[0.5, np.nan]])
        np.testing.assert_array_equal(scores.sel(metric="recall@soft").values, [[np.nan, 0.0]])
        answer = printed("query", folder / "x.zarr", "-m", "recall", "-m", "recall@soft", "--format", "json")
        assert [row["value"] for row in json.loads(answer)] == [0.5, 0.0]

    def test_evidence(self, folder: Path) -> None:
        paths = folder / "ref/a.csv", folder / "est/mine/a.csv"
        found = mirflow.explain(*paths, "recall", "pedal")
        assert found.verdict.values.tolist() == ["hit", "missed"]
        assert mirflow.explain(*paths, "frame_recall", "pedal").end.values.tolist() == [1.0, 3.0]
        with pytest.raises(AnnotationError, match="the reference has no soft pedal"):
            mirflow.explain(*paths, "recall@soft", "pedal")

    def test_what_is_no_pedal_is_refused_with_its_line(self, folder: Path) -> None:
        (folder / "ref/a.csv").write_text("start,end,label\n0,1,sustain\n1,2,organ\n")
        with pytest.raises(MirflowError, match=r"a\.csv:3: not a pedal: 'organ'; known: sustain \(64\)"):
            mirflow.evaluate(folder / "ref/a.csv", folder / "est/mine/a.csv", "pedal")
        with pytest.raises(ValueError, match="not a pedal: 'organ'"):
            pedal.recall((np.array([[0.0, 1.0]]), ["organ"]), (np.zeros((0, 2)), []))


def test_pedals_have_no_parameters_of_pitch() -> None:
    parameters = {parameter.name for metric in pedal.METRICS for parameter in metric.parameters}
    assert {"pedal", "onset_tolerance", "offset_ratio", "frames"} <= parameters
    assert not {"pitch_tolerance", "chroma"} & parameters
