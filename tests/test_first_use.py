"""What somebody meets who uses mirflow for the first time, on melodies, notes and sound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, UnknownNameError

from .commands import invoke

LOUD = "start,end,pitch,velocity\n0,1,440,60\n1,2,220,80\n"
SOFT = "start,end,pitch\n0,1,440\n1,2,220\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def sing(folder: Path, *names: str) -> Path:
    for name in names:
        write(folder / f"{name}.txt", "0.0 220\n0.1 220\n0.2 0\n")
    return folder


class TestOneMetricWithoutAScore:
    """Velocities are compared on request; a track without them loses these metrics and no other."""

    @pytest.fixture
    def pipeline(self, tmp_path: Path) -> Path:
        for name, text in (("loud", LOUD), ("soft", SOFT)):
            write(tmp_path / "ref" / f"{name}.csv", text)
            write(tmp_path / "est" / "ada" / f"{name}.csv", text)
        return write(
            tmp_path / "notes.yaml",
            "evaluations:\n- task: transcription\n  reference: ref/{track}.csv\n"
            "  estimates: est/{system}/{track}.csv\n  metrics: [f_measure, velocity_f_measure]\n"
            f"store: {tmp_path}/s.zarr\n",
        )

    def test_the_other_metrics_count_and_the_cell_names_the_file(self, pipeline: Path) -> None:
        result = invoke("run", pipeline)
        assert result.exit_code == 0
        assert "without some metrics: ref/soft.csv: a note has no velocity, which velocity_f_measure" in result.stderr
        group = mirflow.open_store(pipeline.parent / "s.zarr")["transcription"].sel(system="ada")
        assert group.score.sel(metric="f_measure").values.tolist() == [1.0, 1.0]
        assert np.isnan(group.score.sel(metric="velocity_f_measure", track="soft"))
        assert (
            group.message.sel(track="soft")
            .item()
            .startswith("reason (reference): ref/soft.csv: a note has no velocity")
        )
        listed = invoke("problems", pipeline.parent / "s.zarr", "--format", "csv")
        assert 'transcription,ada,soft,ok,partly,reason,reference,"ref/soft.csv: a note' in listed.stdout

    def test_queries_count_it_as_missing(self, pipeline: Path) -> None:
        invoke("run", pipeline)
        asked = invoke("query", pipeline.parent / "s.zarr", "-m", "velocity_f_measure", "--missing", "raise")
        assert asked.exit_code == 2
        assert "1 of 2" in asked.stderr

    def test_a_pipeline_is_called_as_its_file(self, pipeline: Path) -> None:
        invoke("run", pipeline)
        assert mirflow.open_store(pipeline.parent / "s.zarr").attrs["name"] == "notes"

    def test_a_pair_says_so_once(self, tmp_path: Path) -> None:
        ref, est = write(tmp_path / "a.csv", SOFT), write(tmp_path / "b.csv", SOFT)
        result = invoke("evaluate", ref, est, "-t", "transcription", "-m", "velocity_f_measure")
        assert result.stderr.count("track 'a'") == 1
        assert f"invalid: {ref}: a note has no velocity" in result.stderr


class TestFolders:
    def test_a_folder_of_systems_is_recognised(self, tmp_path: Path) -> None:
        sing(tmp_path / "ref", "a", "b")
        sing(tmp_path / "est" / "SG2", "a", "b")
        result = invoke("evaluate", tmp_path / "ref", tmp_path / "est", "-t", "melody")
        assert result.exit_code == 2
        assert "but the folders SG2: if it is a folder of systems, give one of them" in result.stderr
        assert invoke("evaluate", tmp_path / "ref", tmp_path / "est" / "SG2", "-t", "melody").exit_code == 0

    def test_of_many_reasons_the_kinds_are_reported(self, tmp_path: Path) -> None:
        sing(tmp_path / "ref", *"abcdefghi")
        sing(tmp_path / "est", "a")
        result = invoke("evaluate", tmp_path / "ref", tmp_path / "est", "-t", "melody")
        assert result.stderr.startswith("melody: 8 cells: missing_estimate: such as ")
        assert len(result.stderr.splitlines()) == 1

    def test_packs_are_evaluated_and_checked(self, tmp_path: Path) -> None:
        sing(tmp_path / "ref", "a", "b")
        pack = tmp_path / "ref.zarr"
        invoke("pack", f"{tmp_path}/ref/{{track}}.txt", pack, "-t", "melody")
        for other in (pack, tmp_path / "ref"):
            assert invoke("evaluate", pack, other, "-t", "melody").exit_code == 0
        assert invoke("check", pack).stderr == "2 tracks: 0 errors, 0 warnings, 0 notes\n"
        wrong = invoke("evaluate", pack, pack, "-t", "chord")
        assert "ref.zarr: is a pack of series, not of intervals" in wrong.stderr
        assert "`mirflow check` says what is in it" in invoke("show", pack).stderr

    def test_files_are_read_as_in_a_pipeline(self, tmp_path: Path) -> None:
        ref = write(tmp_path / "a.dat", "0.0;1.0;C\n1.0;2.0;G\n")
        est = write(tmp_path / "b.dat", "0.0;1.0;C\n1.0;2.0;G\n")
        flags = ("--input-format", "csv", "--delimiter", "semicolon", "--no-header")
        assert invoke("evaluate", ref, est, "-t", "chord", "-m", "majmin", *flags).exit_code == 0
        wrong = invoke("evaluate", ref, est, "-t", "chord", "--input-format", "cvs")
        assert "unknown format 'cvs'; did you mean 'csv'?" in wrong.stderr


class TestSound:
    def stems(self, folder: Path, **samples: np.ndarray) -> Path:
        folder.mkdir(parents=True)
        for name, values in samples.items():
            soundfile.write(folder / f"{name}.wav", values, 8000, subtype="FLOAT")
        return folder

    def test_problems_name_the_file(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(0).normal(size=(2, 4000)) * 0.1
        folder = self.stems(tmp_path / "t1", voice=noise[0], bass=noise[1])
        whole = (folder / "bass.wav").read_bytes()
        (folder / "bass.wav").write_bytes(whole[:2000])
        result = invoke("check", folder, "-t", "separation")
        assert f"{folder / 'bass.wav'}: is truncated" in result.stdout
        assert result.stderr == "1 folder: 1 error, 0 warnings, 0 notes\n"
        assert "for its audio files, use --task separation" in invoke("check", folder).stderr

    def test_a_sample_that_is_no_number_is_reported_with_source_and_file(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(0).normal(size=(2, 4000)) * 0.1
        broken = noise[0].copy()
        broken[80] = np.nan
        ref = self.stems(tmp_path / "ref", voice=noise[0], bass=noise[1])
        est = self.stems(tmp_path / "est", voice=broken, bass=noise[1])
        result = invoke("evaluate", ref, est, "-t", "separation", "-m", "si_sdr")
        place = f"estimate source 'voice' ({est / 'voice.wav'}): sample 80 (0.010 s) is not a finite number"
        assert place in result.stderr

    def test_sources_are_in_the_order_that_was_asked_for(self, tmp_path: Path) -> None:
        noise = np.random.default_rng(0).normal(size=(2, 4000)) * 0.1
        ref = self.stems(tmp_path / "ref", drums=noise[0], vocals=noise[1])
        found = invoke(
            *("evaluate", ref, ref, "-t", "separation", "-m", "source_si_sdr", "--sources", "vocals,drums"),
            *("--format", "csv"),
        )
        rows = found.stdout.splitlines()
        assert rows.index(next(row for row in rows if "vocals" in row)) < rows.index(
            next(row for row in rows if "drums" in row)
        )


class TestMessages:
    def test_notes_are_not_called_intervals(self, tmp_path: Path) -> None:
        path = write(tmp_path / "bad.txt", "2 1 440\n0 1 -5\n3 3 440\n")
        lines = invoke("check", path, "-t", "transcription").stdout.splitlines()
        assert [line.removeprefix(f"{path}:") for line in lines][:3] == [
            "1: error: note ends before it starts: 2.0 to 1.0 s [reversed]",
            "2: error: pitch is not above 0 Hz: -5.0 [value]",
            "3: warning: note has no length: 3.0 s [zero_length]",
        ]

    def test_what_was_given_is_reported_where_another_kind_is_compared(self) -> None:
        melody = Annotation("series", {"time": np.zeros(1), "frequency": np.ones(1)})
        notes = Annotation("notes", {name: np.ones(1) for name in ("start", "end", "pitch")})
        with pytest.raises(AnnotationError, match="the estimate holds notes, the task melody compares series"):
            mirflow.evaluate(melody, notes, "melody")
        with pytest.raises(UnknownNameError, match=r"unknown melody convention 'mirx'; did you mean 'mirex'\?"):
            mirflow.evaluate(melody, melody, convention="mirx")

    def test_text_in_a_midi_file_is_no_midi_file(self, tmp_path: Path) -> None:
        with pytest.raises(AnnotationError, match="is not a MIDI file: it does not begin with a MIDI header"):
            mirflow.load(write(tmp_path / "a.mid", "hello"), "transcription")

    def test_a_store_without_problems_says_so(self, tmp_path: Path) -> None:
        ref = sing(tmp_path / "ref", "a")
        text = f"evaluations: [{{task: melody, reference: '{ref}/{{track}}.txt', estimates: '{ref}/{{track}}.txt'}}]"
        invoke("run", write(tmp_path / "p.yaml", f"{text}\nstore: {tmp_path}/s.zarr\n"))
        assert invoke("problems", tmp_path / "s.zarr").stdout == "every cell has a score\n"

    @pytest.mark.parametrize("name", ["Raw Pitch Accuracy", "rpa", "RPA", "raw_pitch_accuracy", "RAW_PITCH"])
    def test_metrics_answer_to_titles_keys_and_the_names_of_the_literature(self, tmp_path: Path, name: str) -> None:
        ref = sing(tmp_path / "ref", "a") / "a.txt"
        assert "raw_pitch_accuracy" in invoke("evaluate", ref, ref, "-t", "melody", "-m", name).stdout
