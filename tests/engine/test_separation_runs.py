"""Runs over sound: one track a block, what becomes of every bad file, what is computed again, and the doors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow import evaluate_paths
from mirflow.annotations.labelled import from_dataset
from mirflow.engine.runs import RunReport, preview
from mirflow.engine.schedule import AUDIO_BYTE_SECONDS, block_graph, choose_scheduler, estimate_seconds
from mirflow.errors import AnnotationError, InvalidAnnotationError, PipelineError
from mirflow.evaluation.linter import check_paths
from mirflow.pipeline import plan_evaluation
from mirflow.ragged import Ragged
from mirflow.readers.audio_files import FileSignal
from mirflow.store import write_pack
from mirflow.store.cells import text_of
from tests.audio_files import cut, noise, rehearsal, write, write_stems

from ..groups import STATUSES

__all__ = ["rehearsal"]
pytestmark = pytest.mark.usefixtures("rehearsal")

SYSTEMS = ("ada", "bob")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three tracks, two systems: bob hears the other source a little."""
    for seed in range(3):
        write_stems(tmp_path / "ref" / f"t{seed}", seed=seed)
        for leak, system in enumerate(SYSTEMS):
            write_stems(tmp_path / "est" / system / f"t{seed}", seed=seed, leak=leak / 4)
    (tmp_path / "pipeline.yaml").write_text(
        "name: sound\n"
        "evaluations:\n"
        "  - task: separation\n"
        "    reference: ref/{track}/{source}.wav\n"
        "    estimates: {path: 'est/{system}/{track}/{source}.wav', sources: [bass, voice]}\n"
        f"store: {tmp_path / 'store.zarr'}\n"
    )
    return tmp_path


def run(folder: Path, **how: Any) -> RunReport:
    return mirflow.run(folder / "pipeline.yaml", **{"scheduler": "serial", **how})


def group(folder: Path) -> xr.Dataset:
    return mirflow.open_store(folder / "store.zarr")["separation"].to_dataset().load()


def counts(report: RunReport) -> dict[str, int]:
    return {name: count for name, count in report.evaluations[0].counts.items() if count}


def outcome(folder: Path, system: str, track: str) -> tuple[str, str]:
    cell = group(folder).sel(system=system, track=track)
    return STATUSES[cell.status.item()], text_of(cell.message.item())


def test_a_run_scores_every_cell(folder: Path) -> None:
    report = run(folder)
    assert counts(report) == {"new": 6}
    ds = group(folder)
    assert ds.score.sel(system="ada").values.ravel().tolist() == [0.0, 0.0, 0.0]
    assert (ds.score.sel(system="bob") > 0.01).all()
    assert ds.duration.values.tolist() == [0.5, 0.5, 0.5]
    assert counts(run(folder)) == {"reused": 6}


def test_a_block_is_one_track(folder: Path) -> None:
    plan = plan_evaluation(
        {
            "task": "separation",
            "reference": "ref/{track}/{source}.wav",
            "estimates": "est/{system}/{track}/{source}.wav",
        },
        folder,
        block=64,
    )
    graph = block_graph(plan, np.ones(plan.shape, dtype=np.bool_), "")
    works = [task.work for (task,) in graph.values()]
    assert [len(work.tracks) for work in works] == [1, 1, 1]
    assert [len(work) for work in works] == [2, 2, 2]
    assert plan.system_meta == {} == plan.track_meta
    # 2 systems x 2 sources of 4000 samples of 2 bytes, and their headers.
    assert [estimate_seconds(work) for work in works] == pytest.approx([4 * 8044 * AUDIO_BYTE_SECONDS] * 3)
    assert choose_scheduler("auto", graph, guarded=True) == "serial"


def test_long_sound_is_worth_worker_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    plan = plan_evaluation(
        {"task": "separation", "reference": "ref/{track}/{source}.wav", "estimates": "est/ada/{track}/{source}.wav"},
        folder,
    )
    graph = block_graph(plan, np.ones(plan.shape, dtype=np.bool_), "")
    # Each byte of the short files, of which an estimate has two, stands for many of long ones.
    bytes_of_one = 3 * 60 * 44100 * 4 / (2 * 8044)
    monkeypatch.setattr("mirflow.engine.schedule.AUDIO_BYTE_SECONDS", bytes_of_one * AUDIO_BYTE_SECONDS)
    assert choose_scheduler("auto", graph, guarded=True) == "processes"
    assert choose_scheduler("auto", graph, guarded=False) == "serial"
    # One track is one block, which a second worker does not shorten.
    assert choose_scheduler("auto", dict([*graph.items()][:1]), guarded=True) == "serial"


def test_a_dry_run_reads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileSignal, "__init__", lambda *given: pytest.fail("a file was opened"))
    text = preview(folder / "pipeline.yaml")
    assert "separation: separation (mir_eval), 2 systems x 3 tracks, 1 metric" in text
    assert "to compute 6 of 6 cells: 6 new" in text


def test_a_changed_stem_recomputes_its_cell_only(folder: Path) -> None:
    run(folder)
    write(folder / "est" / "bob" / "t1" / "voice.wav", noise(77))
    assert counts(run(folder)) == {"changed": 1, "reused": 5}
    write(folder / "ref" / "t2" / "bass.wav", noise(78))
    assert counts(run(folder)) == {"changed": 2, "reused": 4}


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "cut":
        cut(path)
    elif how == "text":
        path.write_text("no sound")
    elif how == "empty":
        write(path, np.zeros((0, 1)))
    elif how == "short":
        write(path, noise(1, 3000))
    elif how == "stereo":
        write(path, noise(1, channels=2))
    elif how == "fast":
        write(path, noise(1), 16000)


BAD = [
    ("missing", "unreadable", "the source 'voice' has no file"),
    ("cut", "unreadable", "t1/voice.wav: is truncated: its header says 8036 bytes, the file has"),
    ("text", "unreadable", "t1/voice.wav: cannot be read as audio: Format not recognised"),
    ("empty", "invalid", "t1/voice.wav: holds no samples"),
    ("short", "invalid", "t1/voice.wav has 3000 samples"),
    ("stereo", "invalid", "t1/voice.wav has 2"),
    ("fast", "invalid", "t1/voice.wav has 16000 Hz"),
]


@pytest.mark.parametrize(("how", "status", "message"), BAD)
def test_a_bad_stem_of_an_estimate_costs_its_cell(folder: Path, how: str, status: str, message: str) -> None:
    damage(folder / "est" / "bob" / "t1" / "voice.wav", how)
    assert run(folder).failed == 1
    found = outcome(folder, "bob", "t1")
    assert found[0] == status
    assert message in found[1]
    assert int(group(folder).score.isnull().sum()) == 1


@pytest.mark.parametrize(("how", "status", "message"), BAD[1:])
def test_a_bad_stem_of_a_reference_costs_its_track(folder: Path, how: str, status: str, message: str) -> None:
    damage(folder / "ref" / "t1" / "voice.wav", how)
    assert run(folder).failed == 2
    for system in SYSTEMS:
        assert outcome(folder, system, "t1")[0] == status
        assert message in outcome(folder, system, "t1")[1]
    assert (group(folder).weight.sel(track="t1") == 0).all()


def test_estimates_that_do_not_fit_the_reference(folder: Path) -> None:
    for name in ("bass", "voice"):
        damage(folder / "est" / "bob" / "t1" / f"{name}.wav", "stereo")
        damage(folder / "est" / "ada" / "t2" / f"{name}.wav", "fast")
    assert run(folder).failed == 2
    refused = "system 'bob', track 't1': lengths, rates or channels differ"
    assert outcome(folder, "bob", "t1") == ("invalid", refused)
    assert outcome(folder, "ada", "t2")[0] == "invalid"


def test_samples_that_cannot_be_read_when_they_are_scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = FileSignal.read

    def damaged(self: FileSignal, start: int, stop: int) -> Any:
        if self.name == "est/bob/t1/voice.wav" and stop > 2000:
            (folder / self.name).unlink(missing_ok=True)
            self.close()
        return read(self, start, stop)

    monkeypatch.setattr(FileSignal, "read", damaged)
    assert run(folder).failed == 1
    status, message = outcome(folder, "bob", "t1")
    assert status == "unreadable"
    assert message.startswith("system 'bob', track 't1': lost while it was read: est/bob/t1/voice.wav: ")
    assert counts(run(folder)) == {"changed": 1, "reused": 5}


def test_what_is_wrong_with_a_pipeline_is_noted_before_it_runs(folder: Path) -> None:
    text = (folder / "pipeline.yaml").read_text()
    (folder / "pipeline.yaml").write_text(text.replace("[bass, voice]", "[bass, piano]"))
    with pytest.raises(PipelineError, match=r"estimates\.sources.*no file for the source 'piano'; found: bass, voice"):
        run(folder)
    (folder / "pipeline.yaml").write_text(text.replace("sources: [", "levels: ["))
    with pytest.raises(PipelineError, match="levels apply to hierarchies"):
        run(folder)


def test_packs_hold_no_sound(folder: Path) -> None:
    write_pack(folder / "refs.zarr", "events", ["t0"], Ragged({"time": np.array([0.5])}, (np.array([1]),)))
    text = (folder / "pipeline.yaml").read_text()
    (folder / "pipeline.yaml").write_text(text.replace("ref/{track}/{source}.wav", "refs.zarr"))
    with pytest.raises(PipelineError, match=r"reference: is a pack of events, not of audio: 'refs\.zarr'"):
        run(folder)


def test_two_annotations_from_wherever_they_come(folder: Path) -> None:
    own, other = folder / "ref" / "t0", folder / "est" / "bob" / "t0"
    expected = mirflow.evaluate(own, other, task="separation").score.item()
    assert expected > 0.01
    datasets = mirflow.load(own, task="separation"), mirflow.load(other / "{source}.wav", task="separation")
    lists = [own / "bass.wav", own / "voice.wav"], [other / "bass.wav", other / "voice.wav"]
    held = tuple(ds.load() for ds in datasets)
    for one, two in (datasets, lists, held, tuple(map(from_dataset, datasets))):
        assert mirflow.evaluate(one, two, task="separation").score.item() == expected
    assert mirflow.evaluate(*datasets).score.item() == expected


def test_a_dataset_of_ones_own_needs_no_kind(folder: Path) -> None:
    samples = np.stack([noise(0), noise(1)])[..., 0]
    own = xr.Dataset({"amplitude": (("source", "sample"), samples)}, {"source": ["bass", "voice"]}, {"rate": 8000})
    assert mirflow.evaluate(folder / "ref" / "t0", own, task="separation").score.item() == 0.0


def test_a_pair_that_does_not_fit_is_an_error(folder: Path) -> None:
    with pytest.raises(InvalidAnnotationError, match="lengths, rates or channels differ"):
        mirflow.evaluate(folder / "ref" / "t0", write(folder / "x.wav", noise(1)), task="separation")
    with pytest.raises(AnnotationError, match="intervals is not a number"):
        mirflow.evaluate([folder / "x.wav"], [folder / "x.wav"], task="chord")


def test_folders_of_stems_and_folders_of_such_folders(folder: Path) -> None:
    pair = evaluate_paths(folder / "ref" / "t0", folder / "est" / "bob" / "t0", "separation")
    assert (pair.track.values.tolist(), pair.system.values.tolist()) == (["t0"], ["t0"])
    whole = evaluate_paths(folder / "ref", folder / "est" / "bob", "separation")
    assert whole.track.values.tolist() == ["t0", "t1", "t2"]
    assert whole.score.sel(track="t0").item() == pair.score.item()
    patterns = [folder / "ref" / "t0" / "{source}.wav", folder / "est" / "bob" / "t0" / "{source}.wav"]
    assert evaluate_paths(*patterns, "separation").score.item() == pair.score.item()
    assert evaluate_paths(*patterns, "separation", sources=["bass"]).track.values.tolist() == ["t0"]
    assert evaluate_paths(folder / "ref", folder / "ref", "separation").score.values.ravel().tolist() == [0.0] * 3
    single = folder / "ref" / "t0" / "bass.wav"
    assert evaluate_paths(single, single, "separation").score.item() == 0.0


def test_check_finds_what_is_wrong_with_sound(folder: Path) -> None:
    def found(*paths: Path) -> list[tuple[str, str, str]]:
        checks = check_paths(paths, "separation")
        return [(Path(one.path).name, problem.severity, problem.rule) for one in checks for problem in one.problems]

    assert found(folder / "ref") == []
    write(folder / "ref" / "t0" / "bass.wav", np.zeros((4000, 1)))
    broken = noise(3)
    broken[1234] = np.nan
    write(folder / "ref" / "t1" / "voice.wav", broken, subtype="FLOAT")
    cut(folder / "ref" / "t2" / "voice.wav")
    assert found(folder / "ref") == [
        ("t0", "warning", "silent"),
        ("t1", "error", "not_finite"),
        ("t2", "error", "unreadable"),
    ]
    (one,) = check_paths([folder / "ref" / "t1"], "separation")
    assert one.problems[0].message.endswith("t1/voice.wav: sample 1234 (0.154 s) is not a number")
    write(folder / "ref" / "t0" / "bass.wav", noise(0, 4001))
    assert found(folder / "ref" / "t0") == [("t0", "error", "unreadable")]
    assert [one.problems for one in check_paths([folder / "est" / "ada" / "t0" / "bass.wav"])] == [()]
    pattern = folder / "ref" / "t0" / "{source}.wav"
    assert [one.problems for one in check_paths([pattern], "separation", sources=["voice"])] == [()]


def test_check_reports_damage_in_the_middle(folder: Path) -> None:
    path = write(folder / "x.flac", noise(11, 40_000))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 20_000] = bytes(20_000)
    path.write_bytes(bytes(data))
    (one,) = check_paths([path])
    assert [problem.rule for problem in one.problems] == ["unreadable"]
