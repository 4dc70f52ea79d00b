from __future__ import annotations

import ast
import csv
import importlib
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import click
import numpy as np
import pytest
from click.testing import CliRunner

import mirflow.cli
from mirflow.analysis.query_options import OPTIONS, Query, QueryOptions
from mirflow.cli import Commands, cli
from mirflow.cli import output as exits
from mirflow.errors import (
    AnnotationError,
    MirflowWarning,
    PipelineError,
    Problem,
    QueryError,
    RunError,
    SchedulerError,
    StoreError,
    StoreLockedError,
    UnknownNameError,
)
from mirflow.metrics.base import get_task, tasks

from ..commands import invoke, rows
from ..datasets import write_dataset, write_pipeline
from ..groups import CODES, make_group, random_group, write_store
from ..waiting import PATIENCE

HEAVY = ("xarray", "dask", "zarr", "pandas", "pydantic", "rich", "jams", "numpy", "scipy", "yaml", "distributed")


def spawn(*arguments: str | Path, **keywords) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "mirflow", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **keywords)


def last_line(arguments: list[str], said: str) -> str:
    """What a process prints that ends a command and then prints an expression; `end` is its exit."""
    script = (
        f"import sys\nfrom mirflow.cli import main\ntry: main({arguments!r})\nexcept SystemExit as end: print({said})"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """Two systems under two conventions; `only` is a metric of the second, KO1 lacks a track in the first."""
    genres = {"genre": ["a", "b", "b", "a"]}
    first = random_group(2, 4, 2, systems=["KO1", "NG1"], track_meta=genres, pipeline="name: x\n")
    first["status"][0, 3] = CODES["missing_estimate"]
    first["score"][0, 3] = np.nan
    second = random_group(2, 4, 2, 1, systems=["KO1", "NG1"], metrics=["majmin", "only"], convention="mirex2013")
    return write_store(tmp_path_factory.mktemp("stores") / "a store.zarr", {"chord": first, "chord_mirex2013": second})


class TestQuery:
    def test_a_table_says_what_it_shows(self, store):
        result = invoke("query", store, "--metric", "root")
        assert result.exit_code == 0
        assert result.stderr == ""
        lines = result.stdout.splitlines()
        assert lines[0] == "chord: task chord, convention mir_eval"
        assert lines[1].split() == ["system", "root", "n", "missing"]
        assert sorted(line.split()[0] for line in lines[3:5]) == ["KO1", "NG1"]
        assert {line.split()[2] for line in lines[3:5]} == {"3"}
        assert lines[-2:] == [
            "wcsr: mean over the tracks, weighted by their evaluated seconds",
            "missing (common): 1 of 8 cells (system and track); only the tracks that every system has",
        ]

    def test_a_metric_of_two_groups_gets_a_table_for_each(self, store):
        result = invoke("query", store, "--metric", "majmin", "--aggregate", "wcsr")
        assert [line for line in result.stdout.splitlines() if line.startswith("chord")] == [
            "chord: task chord, convention mir_eval",
            "chord_mirex2013: task chord, convention mirex2013",
        ]

    def test_csv_has_the_policies_in_every_row(self, store):
        arguments = ("-m", "majmin", "-g", "chord", "--missing", "skip", "--by", "genre", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(invoke("query", store, *arguments).stdout)))
        assert {row["missing"] for row in rows} == {"skip"}
        assert {row["convention"] for row in rows} == {"mir_eval"}
        assert [row["genre"] for row in rows[:2]] == ["a", "b"]

    def test_json_is_strict_and_complete(self, store):
        result = invoke("query", store, "-m", "only", "--format", "json")
        rows = json.loads(result.stdout, parse_constant=pytest.fail)
        assert [(row["system"], row["metric"], row["aggregate"], row["n"]) for row in rows] == [
            ("KO1", "only", "wcsr", 4),
            ("NG1", "only", "wcsr", 4),
        ]

    @pytest.mark.parametrize(
        ("name", "start"), [("a.csv", "group,"), ("a.json", "["), ("a.md", "chord_m"), ("a", "chord")]
    )
    def test_a_file_gets_the_format_of_its_name(self, store, tmp_path, name, start):
        result = invoke("query", store, "-m", "only", "-o", tmp_path / name)
        assert (result.exit_code, result.stdout) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)

    def test_a_file_whose_name_says_nothing_is_refused(self, store, tmp_path):
        result = invoke("query", store, "-m", "only", "-o", tmp_path / "a.xlsx")
        assert result.exit_code == exits.BAD_INPUT
        assert "a.xlsx: unknown suffix '.xlsx'; known: .csv, .json, .md, .parquet, .tex, .txt" in result.stderr
        assert not (tmp_path / "a.xlsx").exists()
        assert invoke("query", store, "-m", "only", "-o", tmp_path / "a.xlsx", "--format", "csv").exit_code == 0

    def test_percent(self, store):
        plain, percent = (invoke("query", store, "-m", "only", *more).stdout for more in ((), ("--percent",)))
        score = float(plain.splitlines()[3].split()[1])
        assert float(percent.splitlines()[3].split()[1]) == pytest.approx(100 * score, abs=0.011)
        assert "ratios in percent" in percent

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("-m", "majmim"), "error: unknown metric 'majmim'; did you mean 'majmin'?"),
            (("-s", "KO2"), "error: unknown system 'KO2'; did you mean 'KO1'?"),
            (("-g", "chrod"), "error: unknown group 'chrod'; did you mean 'chord'?"),
            (("-g", "chord", "--by", "gender"), "error: unknown track coordinate 'gender'; did you mean 'genre'?"),
            (("-g", "chord", "--missing", "raise"), "error: 1 of 8 cells have no score; "),
            (("--aggregate", "wcrs"), "Invalid value for '--aggregate'"),
            (("--metrik", "x"), "No such option"),
            (("-f", "csv"), "Did you mean --format?"),
        ],
    )
    def test_mistakes_are_one_message_and_exit_code_2(self, store, arguments, message):
        result = invoke("query", store, *arguments)
        assert result.exit_code == exits.BAD_INPUT
        assert message in result.stderr
        assert result.stdout == ""

    def test_no_store_is_exit_code_4(self, tmp_path):
        result = invoke("query", tmp_path / "nothing.zarr")
        assert result.exit_code == exits.STORE
        assert result.stderr.startswith("error: ")
        assert "nothing.zarr" in result.stderr


class TestShow:
    def test_coverage_for_programs(self, store):
        found = rows("show", store, "-g", "chord")
        assert found == [
            {"group": "chord", "system": "KO1", "ok": 3, "missing_estimate": 1},
            {"group": "chord", "system": "NG1", "ok": 4, "missing_estimate": 0},
        ]

    def test_the_pipeline_comes_back_as_it_was(self, store):
        assert invoke("show", store, "--pipeline").stdout == "name: x\n"


class TestMetrics:
    def test_every_metric_of_every_convention_is_listed(self):
        found = rows("metrics", "chord")
        expected = [
            (rules.name, metric.name) for rules in get_task("chord").conventions.values() for metric in rules.metrics
        ]
        assert [(row["convention"], row["metric"]) for row in found] == expected

    def test_for_people_with_sources(self):
        result = invoke("metrics", "chord", "--convention", "mir_eval")
        rules = get_task("chord").convention("mir_eval")
        assert result.exit_code == 0
        assert result.stdout.startswith("task chord, convention mir_eval: ")
        unfolded = " ".join(result.stdout.split())
        for metric in rules.metrics:
            assert metric.name in unfolded
            assert metric.source in unfolded
            assert metric.weight in unfolded

    def test_begins_with_a_table_of_what_there_is(self):
        every = invoke("metrics").stdout.split("\n\n")[0]
        assert all(re.search(rf"^{task} ", every, re.MULTILINE) for task in tasks())
        beats = [line.split()[:3] for line in invoke("metrics", "beat").stdout.splitlines()]
        assert beats[0] == ["task", "convention", "metrics"]
        assert ["beat", "mir_eval", str(len(get_task("beat").convention("mir_eval").metrics))] in beats[:4]

    def test_without_a_task_all_of_them(self):
        assert rows("metrics") == [row for task in tasks() for row in rows("metrics", task)]

    def test_a_matrix_is_added_up_and_has_no_plain_mean_as_its_standard(self):
        found = rows("metrics", "chord", "--convention", "mir_eval")
        (row,) = [row for row in found if row["metric"] == "confusion"]
        of_classes = "precision recall f_measure iou accuracy negative_accuracy"
        assert (row["standard_aggregate"], row["aggregates"]) == ("sum", f"sum mean {of_classes} mcc")

    def test_unknown_names(self):
        assert "unknown task 'cord'; did you mean 'chord'?" in invoke("metrics", "cord").stderr
        result = invoke("metrics", "chord", "--convention", "mirex2103")
        assert result.exit_code == exits.BAD_INPUT
        assert "did you mean 'mirex2013'?" in result.stderr


LAB = "0.0 2.0 C:maj\n2.0 4.0 G:7\n"


class TestFiles:
    @pytest.fixture
    def folders(self, tmp_path) -> tuple[Path, Path]:
        """Two references; the estimate of the second is missing."""
        for name, tracks in (("ref", "ab"), ("est", "a")):
            (tmp_path / name).mkdir()
            for track in tracks:
                (tmp_path / name / f"{track}.lab").write_text(LAB)
        return tmp_path / "ref", tmp_path / "est"

    def test_two_files(self, folders):
        reference, estimate = folders
        result = invoke("evaluate", reference / "a.lab", estimate / "a.lab", "--task", "chord", "-m", "majmin")
        assert result.exit_code == 0
        lines = [line.split() for line in result.stdout.splitlines()]
        assert lines[0] == ["task", "chord,", "convention", "mir_eval"]
        assert lines[-1] == ["majmin", "1.0000", "4.0000", "s"]

    def test_two_folders_and_what_is_missing(self, folders):
        result = invoke("evaluate", *folders, "--task", "chord", "-m", "majmin", "--format", "json")
        assert result.exit_code == exits.FAILED
        assert result.stderr.startswith("track 'b': missing_estimate")
        (row,) = json.loads(result.stdout)
        assert (row["value"], row["n"], row["n_missing"], row["missing"]) == (1.0, 1, 1, "skip")

    def test_check_lists_problems_with_file_and_line(self, folders):
        path = folders[0] / "c.lab"
        path.write_text("0.0 2.0 C:maj\n2.0 4.0 H:maj\n")
        result = invoke("check", folders[0])
        assert result.exit_code == exits.FAILED
        assert result.stdout.startswith(f"{path}:2: error: ")
        assert "'H:maj'" in result.stdout
        assert result.stderr.startswith("3 files: 1 error, ")

    def test_check_of_clean_files_says_so(self, folders):
        result = invoke("check", folders[1], "--format", "csv")
        assert (result.exit_code, result.stdout) == (
            0,
            "file,line,severity,rule,message,annotator,track,second,strength\n",
        )
        assert result.stderr == "1 file: 0 errors, 0 warnings, 0 notes\n"

    def test_pack_and_its_refusal_to_replace(self, folders, tmp_path):
        arguments = ("pack", folders[0] / "{track}.lab", tmp_path / "refs.zarr", "--task", "chord")
        assert invoke(*arguments).stderr == f"{tmp_path / 'refs.zarr'}: 2 tracks\n"
        assert invoke(*arguments).exit_code == exits.STORE
        assert invoke(*arguments, "--overwrite").exit_code == exits.OK

    def test_run_ends_with_the_results_and_says_what_failed(self, folders, tmp_path):
        pipeline = tmp_path / "p.yaml"
        pipeline.write_text(
            "name: p\nevaluations:\n  - {task: chord, reference: 'ref/{track}.lab', estimates: '{system}/{track}.lab', "
            "systems: [est]}\nstore: unused.zarr\n"
        )
        store = tmp_path / "p.zarr"
        dry = invoke("run", pipeline, "--store", store, "--dry-run")
        assert (dry.exit_code, dry.stderr) == (0, "")
        assert not store.exists()
        result = invoke("run", pipeline, "--store", store)
        assert result.exit_code == exits.FAILED
        assert "majmin" in result.stdout
        assert "1 missing_estimate" in result.stderr
        assert f"{store} written" in result.stderr
        again = invoke("run", pipeline, "--store", store, "--on-error", "ignore", "--quiet")
        assert (again.exit_code, again.stdout) == (0, "")
        assert invoke("query", store, "-m", "majmin", "--format", "json").exit_code == 0

    def test_a_pair_that_cannot_be_scored_gets_no_table_of_dashes(self, folders):
        bad = folders[1] / "bad.lab"
        bad.write_text("0.0 2.0 H:maj\n")
        result = invoke("evaluate", folders[0] / "a.lab", bad, "--task", "chord")
        assert (result.exit_code, result.stdout) == (exits.FAILED, "")
        assert "'H:maj'" in result.stderr

    def test_without_a_store_there_is_no_column_for_a_group(self, folders):
        result = invoke("evaluate", folders[0], folders[0], "--task", "chord", "--format", "csv")
        assert result.stdout.startswith("task,convention,grid,metric,")

    @pytest.mark.parametrize("command", ["evaluate", "check", "run"])
    def test_paths_that_do_not_exist(self, command, tmp_path):
        missing = [tmp_path / "nothing"] * (2 if command == "evaluate" else 1)
        result = invoke(command, *missing)
        assert result.exit_code == exits.BAD_INPUT
        assert "nothing' does not exist" in result.stderr


class TestRun:
    def test_a_matrix_alone(self, tmp_path):
        """A pipeline whose only metric is no single number runs, and its store answers."""
        write_dataset(tmp_path)
        pipeline = write_pipeline(tmp_path, metrics="[confusion@sevenths]")
        store = tmp_path / "store.zarr"
        result = invoke("run", pipeline)
        assert (result.exit_code, result.exception) == (0, None)
        assert f"the store also holds confusion@sevenths: mirflow query {store}" in result.stdout
        assert "system ada" in invoke("query", store).stdout
        assert "confusion_sevenths(system, track, ref_class, est_class)" in invoke("show", store).stdout

    def test_the_table_and_the_summary_of_a_run_count_the_same_cells(self, tmp_path):
        write_dataset(tmp_path)
        # Fourths have a root and no mode; a bass outside of the chord has no inversion.
        for track, label in (("t00", "C:sus4"), ("t01", "C:maj/2"), ("t02", "C:maj/2")):
            (tmp_path / "ref" / f"{track}.lab").write_text(f"0.0 9.0 {label}\n")
        pipeline = write_pipeline(tmp_path, metrics="[root, majmin, majmin_inv, tetrads_inv]")
        result = invoke("run", pipeline)
        message = re.search(r"undefined \(keep\): (\d+) of 12 cells .*, for one or more of 4 metrics", result.stdout)
        assert message is not None, result.stdout
        assert f"chord: {message[1]} cells had nothing to measure for one or more of 4 metrics; " in result.stderr
        assert int(message[1]) == 6

    def test_the_summary_of_a_run_says_that_scores_without_a_value_do_not_count(self, tmp_path):
        for name, text in (("reference.t.txt", "1\n3\n"), ("ada.t.txt", "2\n4\n")):
            (tmp_path / name).write_text(text)
        pipeline = tmp_path / "pipeline.yaml"
        pipeline.write_text(
            "evaluations: [{task: beat, convention: madmom, reference: 'reference.{track}.txt', "
            "estimates: '{system}.{track}.txt', systems: {ada: {}}, metrics: [mean_error]}]\nstore: scores.zarr\n"
        )
        expected = "1 cell had nothing to measure for mean_error; scores with nothing to measure have no value"
        assert expected in invoke("run", pipeline).stderr

    def test_two_files_by_a_matrix_alone(self, tmp_path):
        write_dataset(tmp_path, tracks=1)
        files = tmp_path / "ref" / "t00.lab", tmp_path / "est" / "ada" / "t00.lab"
        result = invoke("evaluate", *files, "-t", "chord", "-m", "confusion@sevenths")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[1].split()[:3] == ["ref_class", "\\", "est_class"]
        found = rows("evaluate", *files, "-t", "chord", "-m", "confusion")
        assert {row["metric"] for row in found} == {"confusion"}

    def test_a_matrix_beside_numbers(self, tmp_path):
        write_dataset(tmp_path)
        pipeline = write_pipeline(tmp_path, metrics="[majmin, confusion]")
        store = tmp_path / "store.zarr"
        assert f"the store also holds confusion: mirflow query {store} --group chord --metric conf" in (
            invoke("run", pipeline).stdout.replace("\n  ", " ")
        )
        both = rows("query", store, "-m", "majmin", "-m", "confusion@majmin")
        assert {row["metric"] for row in both} == {"majmin", "confusion"}
        assert "confusion" not in invoke("query", store, "--format", "csv").stdout

    def test_metrics_that_do_not_fit_are_counted(self, tmp_path):
        write_dataset(tmp_path)
        out = invoke("run", write_pipeline(tmp_path), COLUMNS="400").stdout
        (line,) = [line for line in out.splitlines() if line.startswith("not shown: ")]
        assert line.startswith("not shown: 3 of 15 metrics (")
        assert line.endswith(f"mirflow query {tmp_path / 'store.zarr'} --group chord --all")
        asked = invoke("query", tmp_path / "store.zarr", COLUMNS="400").stdout
        assert out.split("not shown: 3")[0] == asked.split("not shown: 3")[0], "a query shows what the run does"
        assert asked.endswith("(underseg, overseg, seg): --all prints them\n")
        whole = invoke("query", tmp_path / "store.zarr", "--all", COLUMNS="400").stdout
        assert "overseg" in whole
        assert "not shown" not in whole
        assert len({row["metric"] for row in rows("query", tmp_path / "store.zarr")}) == 15, "programs get all"

    def test_reasons_are_counted_by_kind_also_when_quiet(self, tmp_path):
        pipeline = write_dataset(tmp_path)
        for track in range(4):
            (tmp_path / "est" / "ada" / f"t{track:02d}.lab").unlink()
        (tmp_path / "est" / "bob" / "t05.lab").write_text(f"0.0 1.0 {'H' * 300}\n")
        result = invoke("run", pipeline, "--quiet")
        assert result.exit_code == exits.FAILED
        first, second, *_, last = result.stderr.splitlines()
        assert first.startswith("  chord: 4 cells: missing_estimate: such as system 'ada' has no estimate of track 't0")
        assert second.startswith("  chord: 1 cell: invalid: est/bob/t05.lab:1: ")
        assert f"{'H' * 77}..." in second
        assert "H" * 78 not in second
        assert last == f"  all reasons: mirflow problems {tmp_path / 'store.zarr'}"
        found = [one for one in rows("problems", tmp_path / "store.zarr") if one["kind"] == "reason"]
        assert [(row["group"], row["system"], row["track"], row["status"]) for row in found] == [
            *(("chord", "ada", f"t{track:02d}", "missing_estimate") for track in range(4)),
            ("chord", "bob", "t05", "invalid"),
        ]
        assert "H" * 300 in found[-1]["message"]
        assert "H" * 78 not in invoke("problems", tmp_path / "store.zarr", COLUMNS="500").stdout

    def test_a_store_without_problems_lists_none(self, tmp_path):
        invoke("run", write_dataset(tmp_path))
        listed = invoke("problems", tmp_path / "store.zarr", "--format", "csv")
        assert listed.exit_code == 0
        assert listed.stdout == "group,system,track,status,scored,kind,side,message\n"

    def test_an_unusable_reference_is_no_systems_fault(self, tmp_path):
        pipeline = write_dataset(tmp_path)
        (tmp_path / "ref" / "t00.lab").write_text("0.0 9.0 H:maj\n")
        (tmp_path / "est" / "ada" / "t01.lab").write_text("0.0 9.0 H:maj\n")
        invoke("run", pipeline)
        question = ("-m", "majmin", "-a", "mean", "--missing", "zero", "--format", "json")
        rows = json.loads(invoke("query", tmp_path / "store.zarr", *question).stdout)
        assert [(row["system"], row["n"], row["n_missing"]) for row in rows] == [("ada", 5, 2), ("bob", 5, 1)]

    def test_an_interrupted_run_says_what_is_kept(self, tmp_path, monkeypatch):
        def stop(*_args, **_keywords):
            raise KeyboardInterrupt

        monkeypatch.setattr("mirflow.engine.runs.run", stop)
        result = invoke("run", write_dataset(tmp_path))
        assert result.exit_code == exits.INTERRUPTED
        assert result.stderr == "interrupted; computed scores are kept: run the same command to continue\n"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ("--scheduler", "proceses"),
                "unknown scheduler 'proceses': choose from auto, serial, processes, threads, tcp://host:port",
            ),
            (("--scheduler", "tcp://a:1", "--workers", "2"), "--workers does not apply to the cluster at tcp://a:1"),
        ],
    )
    def test_a_scheduler_is_checked_before_anything_runs(self, tmp_path, arguments, message):
        result = invoke("run", write_dataset(tmp_path), *arguments)
        assert result.exit_code == exits.BAD_INPUT
        assert message in result.stderr
        assert not (tmp_path / "store.zarr").exists()

    def test_variables_choose_the_scheduler_and_options_come_first(self, tmp_path, monkeypatch):
        write_dataset(tmp_path)
        monkeypatch.setenv("MIRFLOW_SCHEDULER", "threads")
        monkeypatch.setenv("MIRFLOW_WORKERS", "2")
        assert " s, threads)" in invoke("run", tmp_path / "pipeline.yaml").stderr
        assert " s, serial)" in invoke("run", tmp_path / "pipeline.yaml", "--force", "--scheduler", "serial").stderr
        monkeypatch.setenv("MIRFLOW_WORKERS", "none")
        assert "Invalid value for '--workers'" in invoke("run", tmp_path / "pipeline.yaml").stderr

    def test_the_only_pipeline_of_a_folder_needs_no_name(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "name a pipeline file, as this folder has none; `mirflow init FOLDER`" in invoke("run").stderr
        write_dataset(tmp_path)
        (tmp_path / "campaign.yaml").write_text("campaign: Chords\nevaluations: []\n")
        (tmp_path / "broken.yml").write_text("evaluations: [\n")
        assert invoke("run", "-q").exit_code == exits.OK
        assert (tmp_path / "store.zarr").exists()
        (tmp_path / "again.yml").write_text("evaluations: []\n")
        refused = invoke("run")
        assert refused.exit_code == exits.BAD_INPUT
        assert "name a pipeline file, as there are 2: again.yml, pipeline.yaml" in refused.stderr


def test_schema_is_json():
    assert "properties" in json.loads(invoke("schema").stdout)


def failing(error: BaseException) -> Commands:
    """A command line whose only command fails in this way."""

    @click.command("fail")
    def fail() -> None:
        raise error

    return Commands(
        "mirflow", commands={"fail": fail}, params=[option for option in cli.params if option.name == "debug"]
    )


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code", "message"),
        [
            (UnknownNameError("metric", "x", ["y"]), 2, "error: unknown metric 'x'; known: y"),
            (
                UnknownNameError("track", "song z", [f"t{n}" for n in range(250)] + ["my_song", "songs", "sung"]),
                2,
                "error: unknown track 'song z'; did you mean 'songs'?",
            ),
            (
                UnknownNameError("track", "zong", [f"t{n}" for n in range(250)] + ["gnu_album", "goz", "xnx"]),
                2,
                "error: unknown track 'zong'; the nearest of 253 are goz, gnu_album, xnx",
            ),
            (QueryError("no"), 2, "error: no"),
            (AnnotationError("bad", path="a.lab", line=3), 2, "error: a.lab:3: bad"),
            (PipelineError([Problem("a", "b")], "p.yaml"), 2, "error: p.yaml: 1 problem\n  a: b"),
            (click.UsageError("wrong"), 2, "Error: wrong"),
            (click.FileError("x", "gone"), 2, "Error: Could not open file 'x': gone"),
            (PermissionError(13, "Permission denied", "x.csv"), 2, "error: x.csv: Permission denied"),
            (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device"),
            (RunError("stopped"), 3, "error: stopped"),
            (SchedulerError("tcp://a:1: nobody answers"), 2, "error: tcp://a:1: nobody answers"),
            (AnnotationError(f"not a chord: {'C' * 500!r}"), 2, f"error: not a chord: '{'C' * 77}...'"),
            (StoreError("torn"), 4, "error: torn"),
            (StoreLockedError("locked by 12"), 4, "error: locked by 12"),
            (KeyboardInterrupt(), 130, "interrupted"),
            (KeyError("x"), 1, "internal error: KeyError: 'x'; please report it with the output of `mirflow --debug`"),
        ],
    )
    def test_one_message_and_its_exit_code(self, error, code, message):
        result = CliRunner().invoke(failing(error), ["fail"])
        assert result.exit_code == code
        assert result.stderr.endswith(f"{message}\n")
        assert "Traceback" not in result.output

    @pytest.mark.parametrize(("arguments", "environment"), [(["--debug"], {}), ([], {"MIRFLOW_DEBUG": "1"})])
    def test_tracebacks_are_for_those_who_ask(self, arguments, environment):
        result = CliRunner().invoke(failing(KeyError("x")), [*arguments, "fail"], env=environment)
        assert result.exit_code == exits.INTERNAL
        assert "Traceback" in result.stderr

    def test_debugging_ends_with_the_command(self):
        commands = failing(QueryError("no"))
        assert "Traceback" in CliRunner().invoke(commands, ["--debug", "fail"]).stderr
        assert "Traceback" not in CliRunner().invoke(commands, ["fail"]).stderr

    def test_exit_codes_are_in_the_help(self):
        shown = invoke("--help").stdout
        for code, meaning in exits.MEANINGS.items():
            assert f"{code}  {meaning}" in shown

    def test_our_warnings_are_a_line_for_people(self, recwarn):
        @click.command("warn")
        def warn() -> None:
            import warnings

            warnings.simplefilter("always")
            warnings.warn(MirflowWarning("look out"), stacklevel=1)
            warnings.warn(UserWarning("of somebody else"), stacklevel=1)

        result = CliRunner().invoke(Commands("mirflow", commands={"warn": warn}), ["warn"])
        assert result.exit_code == 0
        assert result.stderr == "warning: look out\n"
        assert [str(one.message) for one in recwarn] == ["of somebody else"]

    def test_called_from_python_errors_are_raised(self):
        with pytest.raises(QueryError, match="no"):
            failing(QueryError("no")).main(["fail"], standalone_mode=False)


@pytest.mark.skipif(not hasattr(click.exceptions, "NoSuchCommand"), reason="click 8.4 is the first to propose commands")
@pytest.mark.parametrize(("typed", "meant"), [("runn", "run"), ("compre", "compare")])
def test_an_unknown_command_comes_with_the_nearest(typed, meant, monkeypatch):
    monkeypatch.setattr(cli, "commands", {})
    result = invoke(typed)
    assert result.exit_code == exits.BAD_INPUT
    assert f"No such command {typed!r}. Did you mean {meant!r}?" in result.stderr


class TestHelp:
    def test_a_command_exists_under_the_name_that_is_listed(self, tmp_path, monkeypatch):
        (tmp_path / "greetings.py").write_text(
            "import click\n\n@click.command('greeting', short_help='Say hello.')\n"
            "def hello_command():\n    click.echo('hello')\n"
        )
        monkeypatch.setitem(mirflow.cli.FILES, "greetings", ("hello",))
        monkeypatch.setattr("mirflow.cli.__path__", [*mirflow.cli.__path__, str(tmp_path)])
        monkeypatch.setattr(cli, "commands", dict(cli.commands))
        monkeypatch.delitem(sys.modules, "mirflow.cli.greetings", raising=False)
        assert invoke("hello").stdout == "hello\n"
        assert re.search(r"^  hello +Say hello\.$", invoke("--help").stdout, re.MULTILINE)
        monkeypatch.delitem(sys.modules, "mirflow.cli.greetings")

    def test_every_command_of_a_file_is_listed(self):
        listed = {file: set(commands) for file, commands in mirflow.cli.FILES.items()}
        for info in pkgutil.iter_modules(mirflow.cli.__path__):
            module = vars(importlib.import_module(f"mirflow.cli.{info.name}"))
            made = {name: command for name, command in module.items() if isinstance(command, click.Command)}
            inner = [
                each for group in made.values() if isinstance(group, click.Group) for each in group.commands.values()
            ]
            commands = {name.removesuffix("_command") for name, command in made.items() if command not in inner}
            assert commands == listed.get(info.name, set()), info.name

    def test_a_command_does_not_import_the_others(self):
        loaded = last_line(["check", "--help"], "[name for name in sys.modules if name.startswith('mirflow.cli.')]")
        assert {*ast.literal_eval(loaded)} == {
            f"mirflow.cli.{name}" for name in ("output", "common_options", "annotation_files")
        }

    def test_every_command_has_help(self):
        for name in cli.list_commands(click.Context(cli)):
            result = invoke(name, "--help")
            assert result.exit_code == 0
            assert result.stdout.startswith(f"Usage: {cli.name} {name}")

    @pytest.mark.parametrize("arguments", [["--help"], ["query", "--help"], ["run", "--help"], ["--version"]])
    def test_help_imports_nothing_heavy(self, arguments):
        assert last_line(arguments, f"[name for name in {HEAVY!r} if name in sys.modules], end.code") == "[] 0"


def on_a_terminal(*arguments: object, **environment: str) -> str:
    """What a command shows on a terminal."""
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "mirflow", *map(str, arguments)]
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | environment
    subprocess.run(command, stdin=child, stdout=child, stderr=child, check=False, timeout=PATIENCE, env=env)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # as Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(parent)
    return shown.decode().replace("\r\n", "\n")


class TestProcess:
    @pytest.mark.slow
    def test_a_query_needs_no_models_and_nothing_that_draws(self, store):
        drawing = "[name for name in ('matplotlib', 'pydantic', 'jams') if name in sys.modules], end.code"
        assert last_line(["query", str(store)], drawing) == "[] 0"

    @pytest.mark.parametrize(
        "options", [["--ci"], *(pytest.param(one, marks=pytest.mark.slow) for one in ([], ["--by", "track"]))]
    )
    def test_a_query_of_a_stored_metric_imports_neither_its_task_nor_a_reader(self, store, options):
        command = ["query", str(store), "--group", "chord_mirex2013", "-m", "only", *options]
        loaded = "[name for name in ('mirflow.metrics.chord', 'mirflow.readers') if name in sys.modules], end.code"
        assert last_line(command, loaded) == "[] 0"

    @pytest.mark.slow
    def test_a_query_makes_no_noise(self, store):
        done = spawn("query", store, "-m", "only")
        assert (done.returncode, done.stderr) == (0, "")
        assert "KO1" in done.stdout

    def test_a_user_error_makes_no_traceback(self, tmp_path):
        done = spawn("query", tmp_path)
        assert done.returncode == exits.STORE
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
    @pytest.mark.parametrize(("environment", "styled"), [({}, True), ({"NO_COLOR": "1"}, False)])
    def test_a_terminal_shows_the_best_in_bold_and_errors_in_red(self, store, environment, styled):
        shown = on_a_terminal("query", store, "-m", "root", "--missing", "skip", **environment)
        best = shown.splitlines()[3]
        assert ("\x1b[1m" in best) == ("\x1b" in shown) == styled
        assert len(re.findall(r"\x1b\[1m\d\.\d{4}\x1b\[0m", shown)) == styled
        error = on_a_terminal("query", store, "-m", "rooot", **environment)
        assert error.startswith("\x1b[31merror: " if styled else "error: ")

    @pytest.mark.slow
    def test_a_file_has_no_codes_of_a_terminal(self, store, tmp_path):
        on_a_terminal("query", store, "-m", "root", "-o", tmp_path / "x.txt")
        assert "\x1b" not in (tmp_path / "x.txt").read_text()

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
    def test_a_narrow_terminal_shows_short_names_and_a_file_has_whole_ones(self, tmp_path):
        name = "a system with a name of many words"
        store = write_store(tmp_path / "long.zarr", {"chord": random_group(2, 4, 2, systems=["KO1", name])})
        shown = on_a_terminal("query", store, "-m", "root", COLUMNS="40")
        assert name not in shown
        assert "a system …ny words" in shown
        on_a_terminal("query", store, "-m", "root", "-o", tmp_path / "x.txt", COLUMNS="40")
        assert name in (tmp_path / "x.txt").read_text()

    @pytest.mark.slow
    def test_a_reader_that_goes_away_is_no_error(self, store):
        script = (
            f"{sys.executable} -m mirflow query '{store}' --by track --format json | head -c 1; echo ${{PIPESTATUS[0]}}"
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
        assert done.stderr == ""
        assert done.stdout.startswith("[")
        assert done.stdout.splitlines()[-1].lstrip("[") in ("0", str(exits.BROKEN_PIPE))

    @pytest.mark.slow
    def test_a_closed_output_is_quiet_for_certain(self, store):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "mirflow", "query", str(store)]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE)
        os.close(writing)
        assert (done.returncode, done.stderr) == (exits.BROKEN_PIPE, "")

    @pytest.mark.slow
    def test_an_output_that_lacks_characters_shows_the_rest(self, tmp_path):
        path = write_store(tmp_path / "x.zarr", {"chord": make_group([[[0.5]]], systems=["日本 ü"])})
        done = spawn("query", path, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, encoding="latin-1")
        assert done.returncode == 0
        assert "?? ü" in done.stdout
        assert "\n-----" in done.stdout


class TestOptionsForBothSides:
    """Who scales a file with an option of reading scales its reference as well, and is told so first."""

    @pytest.fixture
    def beats(self, tmp_path: Path) -> Path:
        path = tmp_path / "beats.txt"
        path.write_text("".join(f"{500 * beat}\n" for beat in range(1, 40)))
        return path

    def test_evaluate_says_in_its_first_line_what_it_applied_to_both(self, beats: Path) -> None:
        options = ("--task", "beat", "-m", "f_measure", "--time-unit", "ms", "--no-header")
        result = invoke("evaluate", beats, beats, *options)
        assert result.output.splitlines()[0] == "both sides read with --no-header, --time-unit ms"
        assert result.stdout.startswith("both sides")
        assert "both sides" not in invoke("evaluate", beats, beats, *options[:4]).output

    def test_tables_for_programs_begin_with_their_header(self, beats: Path) -> None:
        result = invoke("evaluate", beats, beats, "--task", "beat", "--time-unit", "ms", "--format", "csv")
        assert result.stdout.startswith("metric,score")
        assert result.stderr == "both sides read with --time-unit ms\n"

    def test_an_option_of_one_side_has_its_name_in_front(self, beats: Path, tmp_path: Path) -> None:
        seconds = tmp_path / "seconds.csv"
        seconds.write_text("".join(f"{beat / 2};x\n" for beat in range(1, 40)))
        given = ("--task", "beat", "-m", "f_measure", "--no-header", "--reference-time-unit", "ms")
        result = invoke("evaluate", beats, seconds, *given, "--estimate-delimiter", "semicolon")
        assert result.stdout.splitlines()[0] == (
            "both sides read with --no-header; reference read with --time-unit ms; "
            "estimate read with --delimiter semicolon"
        )
        assert "1.0000" in result.stdout
        given = ("--task", "beat", "--time-unit", "s", "--reference-time-unit", "ms", "--reference", beats)
        assert "implausible" not in invoke("check", seconds, *given).output
        result = invoke("check", seconds, *given[:6])
        assert "reference_time_unit applies to the reference, but none is given" in result.output

    @pytest.mark.parametrize("command", ["evaluate", "check"])
    def test_help_has_a_paragraph_and_no_further_options(self, command: str) -> None:
        shown = " ".join(invoke(command, "--help").stdout.split())
        assert "with the prefix --reference-" in shown
        assert "-time-unit ms, to " in shown
        assert shown.count("--time-unit TEXT") == 1
        assert "--reference-columns" not in shown

    def test_of_one_that_there_is_not_the_nearest_is_named(self, beats: Path) -> None:
        result = invoke("evaluate", beats, beats, "--task", "beat", "--estimate-time-unt", "ms")
        assert result.exit_code == 2
        assert "--estimate-time-unit" in result.output


class TestOptionsOfQueries:
    """Each is declared once."""

    def test_keywords_have_the_names_and_types_of_the_fields(self) -> None:
        fields = get_type_hints(Query)
        by_position = ("metric", "aggregate", "by")
        assert get_type_hints(QueryOptions) == {name: fields[name] for name in OPTIONS if name not in by_position}

    @pytest.mark.parametrize("name", OPTIONS)
    def test_the_command_has_the_option(self, name: str) -> None:
        declared = OPTIONS[name]
        command = cli.get_command(click.Context(cli), "query")
        assert command is not None
        (found,) = [one for one in command.params if one.name == name]
        assert isinstance(found, click.Option)
        assert {*found.opts} == {f"--{name}", *declared.flags}
        assert found.multiple == (declared.many or declared.pairs)
        assert str(found.help).startswith(declared.help.split(".")[0])
        if declared.choices is not None:
            assert isinstance(found.type, click.Choice)
            assert [*found.type.choices] == [*declared.choices()]


@pytest.mark.parametrize("task", tasks())
def test_the_metrics_of_every_convention_fit_a_terminal_of_80_columns(task: str) -> None:
    shown = CliRunner().invoke(cli, ["metrics", task], env={"COLUMNS": "80"}).stdout
    assert [line for line in shown.splitlines() if len(line) > 80] == []
