"""Benchmarks by name: the data that they demand, the table of a run, and the packages that add some."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import mirflow
from mirflow.errors import BenchmarkError, MirflowWarning, PipelineError, UnknownNameError

from ..commands import invoke, printed, refused, rows
from ..mirdata_sets import write_dataset

PIPELINES = Path(__file__).parents[2] / "pipelines"
PUBLISHED = {
    "harmonix-beats": ("harmonix/estimates/beats/Bock_1", 1e-9),
    "harmonix-downbeats": ("harmonix/estimates/downbeats/Durand", 1e-9),
    "jku-patterns-monophonic": ("jku-patterns/monophonic/estimates/nf1", 5e-6),
    "jku-patterns-polyphonic": ("jku-patterns/polyphonic/estimates/nf2", 5e-6),
    "mirex2013-chords": ("mirex2013-ace/estimates/KO2", 1e-7),
    "mirex2015-notes-su": ("mirex2015-su-transcription/estimates/BW2", 1.5e-3),
}
"""For each shipped benchmark the estimates of a baseline, and the precision of its published numbers."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the six tunes and of their benchmark, beside the working directory."""
    monkeypatch.delenv("MIRFLOW_DATA", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    shutil.copytree(PIPELINES / "tunes", tmp_path / "tunes")
    shutil.copytree(Path(__file__).parents[1] / "data" / "demo-benchmark", tmp_path / "demo-benchmark")
    monkeypatch.setattr("mirflow.published.benchmark_file.demonstration", lambda: tmp_path)
    return tmp_path / "tunes"


@pytest.fixture
def file(folder: Path) -> Path:
    """The benchmark file of that copy."""
    return folder.parent / "demo-benchmark" / "demo-chords.yaml"


def edit(path: Path, **changes: Any) -> Path:
    """Change keys of a benchmark file."""
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes, sort_keys=False))
    return path


def own(found: Any) -> Any:
    (row,) = (row for row in found if row.own)
    return row


def test_a_run_has_the_numbers_of_the_same_pipeline(folder: Path, file: Path) -> None:
    found = mirflow.run_benchmark(file, folder / "estimates" / "oak", system="ours")
    assert [row.system for row in found] == ["ours", "elm", "ash"]
    pipeline = {
        "root": str(folder),
        "evaluations": [
            {
                "task": "chord",
                "convention": "mirex2013",
                "reference": "reference/{track}.jams",
                "estimates": "estimates/oak/{track}.{format}",
                "metrics": ["majmin", "sevenths"],
                "on_error": "ignore",
            }
        ],
        "store": "same.zarr",
    }
    Path("same.yaml").write_text(yaml.safe_dump(pipeline))
    mirflow.run("same.yaml")
    same = mirflow.query("same.zarr", ["majmin", "sevenths"], missing="zero")
    row = own(found)
    assert list(row.values.values()) == same["value"].values[0].tolist()
    assert row.signature == mirflow.signature("same.zarr", ["majmin", "sevenths"], missing="zero")[0]
    edit(file, baselines=[{"source": "the same", "store": str(Path("same.zarr").absolute())}])
    (other,) = (row for row in mirflow.run_benchmark(file, folder / "estimates" / "oak") if not row.own)
    assert (other.values, other.source) == (row.values, "the same")
    assert row.signature.startswith("chord/majmin+sevenths;conv=mirex2013;agg=wcsr;miss=zero;n=6;ref=")


@pytest.mark.slow
def test_the_table_of_a_process(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mirflow",
        "bench",
        "run",
        "../demo-benchmark/demo-chords.yaml",
        "--estimates",
        str(folder / "estimates/elm"),
    ]
    done = subprocess.run([*command, "--format", "csv"], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    head, first, *_ = done.stdout.splitlines()
    assert head == "benchmark,system,this_run,metric,value,n,n_missing,letters,source,signature"
    assert first.startswith("demo-chords,elm,1,majmin,0.76677")
    assert "1 track without an estimate: 'wayfaring-stranger'" in done.stderr
    assert Path("stores/demo-chords/elm.zarr").exists()


def test_missing_tracks_count_as_asked(folder: Path) -> None:
    zero, skip = (
        own(mirflow.run_benchmark("demo-chords", folder / "estimates" / "elm", missing=missing))
        for missing in ("zero", "skip")
    )
    assert (zero.n, zero.missing, skip.n, skip.missing) == (6, 1, 5, 1)
    assert zero.values["majmin"] < skip.values["majmin"]
    message = refused("bench", "run", "demo-chords", "--estimates", folder / "estimates" / "elm", "--missing", "raise")
    assert "missing" in message


def test_misnamed_and_broken_estimates_are_named(folder: Path) -> None:
    ash = folder / "estimates" / "ash"
    (ash / "greensleeves.lab").rename(ash / "green-sleeves.lab")
    found = mirflow.run_benchmark("demo-chords", "../tunes/estimates/ash")
    assert own(found).missing == 2
    assert list(found.notes) == [
        "'danny-boy' is not a track of demo-chords and is not scored",
        "'green-sleeves' is not a track of demo-chords and is not scored; did you mean 'greensleeves'?",
        "1 track without an estimate: 'greensleeves'",
        "../tunes/estimates/ash/auld-lang-syne.lab:5: not a chord: 'H:moll'; chords are written like C, A:min7/b3, "
        "F#:(1,5) or N",
    ]
    assert "did you mean 'greensleeves'?" in " ".join(found.to_text().split())
    empty = folder / "estimates" / "other"
    empty.mkdir()
    with pytest.raises(
        BenchmarkError, match=r"no estimate of a track of demo-chords: no file; expected files of one system such as"
    ):
        mirflow.run_benchmark("demo-chords", empty)
    (empty / "danny-boy.lab").write_text("0 1 C\n")
    with pytest.raises(BenchmarkError, match=r"'danny-boy' is none of its tracks; expected .* amazing-grace\.\*"):
        mirflow.run_benchmark("demo-chords", empty)
    (ash / "greensleeves.lab").write_text("0 1 C\n")
    (ash / "greensleeves.txt").write_text("0 1 C\n")
    with pytest.raises(
        BenchmarkError, match=r"two estimates of 'greensleeves': .*\.lab and .*\.txt; remove one of them"
    ):
        mirflow.run_benchmark("demo-chords", ash)
    with pytest.raises(BenchmarkError, match=r"invalid name of a system 'a/b'"):
        mirflow.run_benchmark("demo-chords", ash, system="a/b")


def test_other_data_are_refused(folder: Path, file: Path) -> None:
    estimates = folder / "estimates" / "oak"
    path = folder / "reference" / "greensleeves.jams"
    path.write_text(path.read_text().replace("C", "D", 1))
    (folder / "reference" / "auld-lang-syne.jams").unlink()
    message = refused("bench", "run", file, "--estimates", estimates)
    assert "2 files of the data differ from those of demo-chords" in message
    assert re.search(r"greensleeves\.jams: expected digest 1df9c8120ba9494a, found [0-9a-f]{16}", message)
    assert "auld-lang-syne.jams" in message
    assert not Path("stores").exists()
    text = edit(file, data={"get": "Ask the lab.", "files": {"reference/x.jams": "0" * 16}})
    with pytest.raises(BenchmarkError, match=r"not here; get them: Ask the lab\.\nThen name their folder with --data"):
        mirflow.run_benchmark(text, estimates)


def test_the_folder_of_data_is_found_by_its_name(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = yaml.safe_load(file.read_text())["data"]
    path = edit(file, data={"folder": "tunes", "files": data["files"]})
    assert mirflow.benchmark(path).rows().rows[0][11] == "not here"
    monkeypatch.setenv("MIRFLOW_DATA", str(folder.parent))
    assert own(mirflow.run_benchmark(path, folder / "estimates" / "oak")).missing == 0
    monkeypatch.delenv("MIRFLOW_DATA")
    shutil.copytree(folder / "reference", folder.parent / "elsewhere" / "reference")
    (folder.parent / "elsewhere" / "reference" / "more.jams").write_text("{}")  # not of the benchmark
    (file.parent / "demo-baselines.csv").unlink()
    found = mirflow.run_benchmark(path, folder / "estimates" / "oak", data=folder.parent / "elsewhere")
    assert [row.letters for row in found] == ["", "", ""]  # without tables, baselines have only aggregates
    assert {row.system: row.values["majmin"] for row in found if not row.own} == {"elm": 0.76678, "ash": 0.44668}


def test_digests_are_those_of_the_file(folder: Path, file: Path) -> None:
    assert invoke("check", file, code=0).stderr.endswith("demo-chords.yaml: no problems\n")
    text = printed("bench", "digests", file)
    assert yaml.safe_load(text)["files"] == yaml.safe_load(file.read_text())["data"]["files"]


def test_list_and_show(folder: Path) -> None:
    listed = {row["name"]: row for row in rows("bench", "list")}
    assert set(PUBLISHED) < set(listed)
    facts = listed["demo-chords"]
    assert (facts["tracks"], facts["headline"], facts["baselines"]) == (6, "majmin, wcsr", 2)
    told = " ".join(printed("bench", "list").split())
    where = (
        "data from https://github.com/urinieto/harmonixset, as the folder harmonix in $MIRFLOW_DATA, or named by --data"
    )
    assert f"harmonix-beats: {where}" in told
    shown = printed("bench", "show", "mirex2013-chords")
    for text in ("217", "not here", "craffel/mir_eval-ismir", "Pauwels and Peeters", "KO2", "0.7926"):
        assert text in shown
    with pytest.raises(UnknownNameError, match=r"unknown benchmark 'mirex2013'; did you mean 'mirex2013-chords'\?"):
        mirflow.benchmark("mirex2013")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"headline": "majmim"}, r"headline: .*majmim.* \(line \d+\)"),
        ({"headline": "root"}, r"headline: 'root' is not among the metrics of the evaluation: majmin, sevenths"),
        ({"baseline": []}, r"baseline: unknown key; did you mean 'baselines'\? \(line \d+\)"),
        ({"benchmark": "Demo chords"}, r"benchmark: .*expected small letters, digits and hyphens.*\(line \d+\)"),
        ({"data": {"files": {"../x": "0" * 16}}}, r"data\.files: .*expected one inside the folder of the data"),
        ({"data": {"files": {"x.jams": "0" * 16}}}, r"data\.files: no file fits the reference"),
        ({"baselines": [{"source": "x"}]}, r"baselines\[0\]: .*expected values, tables or a store"),
    ],
    ids=str,
)
def test_problems_of_a_file_have_lines(folder: Path, file: Path, changes: dict[str, Any], problem: str) -> None:
    path = edit(file, **changes)
    with pytest.raises(PipelineError, match=problem) as caught:
        mirflow.benchmark(path)
    assert str(path) in str(caught.value)


def test_a_benchmark_of_an_installed_package(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = folder.parent / "site"
    (site / "our_benchmarks").mkdir(parents=True)
    (site / "our_benchmarks" / "__init__.py").touch()
    about = site / "our_benchmarks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: our-benchmarks\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mirflow.benchmarks]\nours = our_benchmarks\nlost = our_benchmarks:lost\n")
    shutil.copytree(folder, site / "our_benchmarks" / "data")
    text = file.read_text().replace("root: ../tunes", "root: data")
    (site / "our_benchmarks" / "six-tunes.yaml").write_text(text.replace("demo-chords", "six-tunes"))
    shutil.copy(site / "our_benchmarks" / "six-tunes.yaml", site / "our_benchmarks" / "demo-chords.yaml")
    (site / "our_benchmarks" / "broken.yaml").write_text("benchmark: broken\n")
    monkeypatch.syspath_prepend(site)
    groups = ("mirflow.tasks", "mirflow.readers", "mirflow.benchmarks")
    monkeypatch.setattr("mirflow.plugins._declared", {group: {} for group in groups})
    with pytest.warns(MirflowWarning) as caught:
        found = mirflow.benchmarks()
    assert {one.name: one.package for one in found}["six-tunes"] == "our-benchmarks"
    messages = [str(one.message) for one in caught]
    assert "benchmark 'demo-chords' of our-benchmarks is ignored, as mirflow has one of this name" in messages
    assert any("broken.yaml: 3 problems" in one for one in messages)
    assert any("has no 'lost', which its entry point 'lost' names" in one for one in messages)


def test_checksums_of_mirdata_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    index = write_dataset(tmp_path / "beatles", "beatles")
    listed = json.loads(index.read_text())
    for track, files in listed["tracks"].items():
        chords = tmp_path / "beatles" / track / "chords.lab"
        files["chords"][1] = hashlib.md5(chords.read_bytes()).hexdigest()
    index.write_text(json.dumps(listed))
    reference = {"mirdata": "beatles", "annotation": "chords", "data_home": "beatles", "index": "beatles/index.json"}
    benchmark = {
        "benchmark": "beatles-chords",
        "title": "Chords by the Beatles",
        "evaluation": {"task": "chord", "reference": reference},
        "headline": "majmin",
    }
    path = tmp_path / "beatles-chords.yaml"
    path.write_text(yaml.safe_dump(benchmark))
    estimates = tmp_path / "ours"
    estimates.mkdir()
    for track in ("a", "b"):
        shutil.copy(tmp_path / "beatles" / track / "chords.lab", estimates / f"{track}.lab")
    shutil.copy(estimates / "a.lab", estimates / "c.lab")
    found = mirflow.run_benchmark(path, estimates)
    assert (own(found).n, own(found).missing, own(found).values["majmin"]) == (2, 0, 1.0)
    assert found.notes == ("'c' is not a track of beatles-chords and is not scored",)
    (tmp_path / "beatles" / "a" / "chords.lab").write_text("0 4 C\n")
    with pytest.raises(
        BenchmarkError, match=r"1 file of the data differ.*\n  a/chords\.lab: expected digest \w{32}, found"
    ):
        mirflow.run_benchmark(path, estimates)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name.startswith("jku") else pytest.mark.slow) for name in PUBLISHED]
)
def test_published_baselines_are_reproduced(
    name: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRFLOW_DATA", str(shared_data))
    estimates, precision = PUBLISHED[name]
    found = mirflow.run_benchmark(
        name, shared_data / estimates, store=tmp_path / "s.zarr", missing="skip" if "downbeats" in name else None
    )
    by_tracks = {row.system: row for row in found if not row.own}
    assert own(found).values == pytest.approx(by_tracks[own(found).system].values, abs=precision)
    (file,) = mirflow.benchmark(name)
    for baseline in file.benchmark.baselines:
        for system, values in baseline.values.items():
            printed_values = {file.identities[metric]: value for metric, value in values.items()}
            assert by_tracks[system].values == pytest.approx(printed_values, abs=1e-6)  # MIREX cuts averages off
        if baseline.signature:
            assert baseline.signature == own(found).signature
