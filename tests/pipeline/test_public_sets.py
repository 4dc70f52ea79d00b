"""Drafts for folders of the shape of public data sets: they run, or say in a sentence why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import mirflow
from mirflow.errors import AnnotationError
from mirflow.pipeline.draft import draft_pipeline
from mirflow.store.cells import Status

from .public_sets import SETS, TRACKS, write_set

STARTS = {"columns": {"time": "word_start"}}
DRAFTED: dict[str, dict[str, tuple[Any, Any]]] = {
    "jamendolyrics": {
        "alignment": (
            {"path": "annotations/words/{track}.csv", **STARTS},
            {"path": "predictions/{system}/{track}.csv", **STARTS},
        )
    },
    "ISMIR2019 beats and tempi": {
        "beat": ("set/annotations/beats/{track}.beats", "set/detections/{system}/{track}.beats.txt"),
        "tempo": ("set/annotations/tempo/{track}.bpm", "set/detections/{system}/{track}.bpm.txt"),
    },
    "giantsteps-mtg-key": {"key": ("annotations/key/{track}.key", "estimates/{system}/{track}.key")},
    "giantsteps-tempo": {"tempo": ("annotations/tempo/{track}.bpm", "estimates/{system}/{track}.bpm")},
    "MDBDrums": {
        "drums": ("MDB Drums/annotations/class/{track}_class.txt", "MDB Drums/estimates/{system}/{track}.txt")
    },
    "medleydb melody": {"melody": ("references/{track}.csv", "estimates/{system}/{track}.csv")},
    "beat_this": {
        "beat": ("gtzan/annotations/beats/{track}.beats", "gtzan/estimates/{system}/{track}.beats"),
        "beat_2": ("smc/annotations/beats/{track}.beats", "smc/estimates/{system}/{track}.beats"),
    },
    "tmc323 chords": {"chord": ("reference/RWC_Pop_Chords/{track}.lab", "estimates/{system}/{track}.lab")},
    "onset_db": {"onset": ("ref/{track}.onsets", "est/{system}/{track}.onsets")},
    "vienna4x22": {"note_alignment": ("match/{track}.match", "estimates/{system}/{track}.match")},
    "ISMIR2019 with genres": {"beat": ("annotations/beats/{track}.beats", "predictions/{system}/{track}.beats.txt")},
}
REFUSED = {
    "sigsep-mus-2018": r"no annotation files .*; not looked at: 8 files \.json, .*scores in JSON .* mirflow import",
    "mtg-jamendo": r"no references found: .* pass --reference; not looked at: 2 files \.npy",
    "asap": r"no estimates of the same tracks and task: .*\(segment; tracks as 't1'\) and .*\(beat, onset; tracks as",
    "saraga sections": r"no estimates of the same tracks and task: reference/.* and estimates/\{system\}/\{track\}",
    "DCMLab ABC": r"no task reads the 5 references: reference/harmonies/t1\.tsv:1: .*write the pipeline by hand",
}
UNUSED = {
    "vienna4x22": "# Uncertain: no folder is named as one of references; those beside the estimates are taken for them",
    "giantsteps-mtg-key": "# Not used: annotations/genre (4), files .genre: could be classification, but no estimates",
    "giantsteps-tempo": "# Not used: annotations_v2/mirex (4), files .mirex: neither their folder nor their names say",
    "MDBDrums": "# Not used: MDB Drums/annotations/beats (4), files .beats: could be beat or downbeat, but no",
    "tmc323 chords": "# Not used: reference/RWC_Pop_Chords (4), files .svl: reference/RWC_Pop_Chords/t1.svl: Sonic",
    "ISMIR2019 with genres": "# Not used: predictions (1), files .csv: predictions/scores.csv is a table of tracks",
}


def test_each_set_is_drafted_or_refused() -> None:
    assert {*DRAFTED, *REFUSED} == {*SETS}


@pytest.mark.parametrize("name", DRAFTED)
def test_what_is_drafted_runs(name: str, tmp_path: Path) -> None:
    write_set(tmp_path, name)
    text = draft_pipeline(tmp_path)
    drafted = yaml.safe_load(text)["evaluations"]
    assert {one.get("name", one["task"]): (one["reference"], one["estimates"]) for one in drafted} == DRAFTED[name]
    assert UNUSED.get(name, "# Scores: ") in text
    assert not any("tracks" in one for one in drafted)  # no table is one of metadata
    (tmp_path / "p.yaml").write_text(text)
    for one in mirflow.run(tmp_path / "p.yaml", progress=False, scheduler="serial").evaluations:
        assert one.status == {Status.ok: len(one.plan.systems) * len(TRACKS)}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str, tmp_path: Path) -> None:
    write_set(tmp_path, name)
    with pytest.raises(AnnotationError, match=REFUSED[name]):
        draft_pipeline(tmp_path)


class TestSidesThatAreNamed:
    def test_may_be_paths_of_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_set(tmp_path, "giantsteps-tempo")
        monkeypatch.chdir(tmp_path.parent)
        expected = [
            {
                "task": "tempo",
                "reference": "annotations_v2/tempo/{track}.bpm",
                "estimates": "annotations/tempo/{track}.bpm",
                "systems": ["estimate"],
            }
        ]
        for above in ("", "./", f"{tmp_path}/", f"{tmp_path.name}/"):
            folders = f"{above}annotations_v2/tempo", f"{above}annotations/tempo/"
            text = draft_pipeline(tmp_path, reference=[folders[0]], estimates=[folders[1]])
            assert yaml.safe_load(text)["evaluations"] == expected

    def test_have_to_be_there(self, tmp_path: Path) -> None:
        write_set(tmp_path, "giantsteps-tempo")
        with pytest.raises(AnnotationError, match=r"--reference v1/key: there is no such folder"):
            draft_pipeline(tmp_path, reference=["v1/key"])
        message = r"no folder named 'truths' has annotations; those that have: annotations,"
        with pytest.raises(AnnotationError, match=message):
            draft_pipeline(tmp_path, reference=["truths"])


def test_estimates_that_cannot_be_read_are_no_evaluation(tmp_path: Path) -> None:
    for track in TRACKS:
        for side, text in (("ref", "0 1 C:maj\n1 2 G:7\n"), ("est/oak", "0 1 C:foo\n1 2 D:maj\n2 3 G:7\n3 4 A:min\n")):
            (tmp_path / side).mkdir(parents=True, exist_ok=True)
            (tmp_path / side / f"{track}.lab").write_text(text)
    message = r"Problem: no estimate of 3 tried can be read: est/oak/t1\.lab: not a chord: 'C:foo'"
    with pytest.raises(AnnotationError, match=message):
        draft_pipeline(tmp_path)


def test_large_tables_are_not_read_for_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path, "medleydb melody")
    (tmp_path / "songs.csv").write_text("track,genre\n" + "".join(f"{track}_MELODY1,rock\n" for track in TRACKS))
    assert "tracks: songs.csv" in draft_pipeline(tmp_path)
    monkeypatch.setattr("mirflow.pipeline.table_contents.LARGEST_TABLE", 10)
    assert "tracks: " not in draft_pipeline(tmp_path)
